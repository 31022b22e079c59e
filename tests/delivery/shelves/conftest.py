"""A finished book, an empty folder, and files to send."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from narrator.delivery.shelves import sending
from tests.shelves import MANIFEST


@pytest.fixture(scope="session")
def _finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("finished") / "book.yaml"
    path.write_text(MANIFEST)
    command = [sys.executable, "-m", "narrator", "render", path, "--draft"]
    subprocess.run(command, check=True, capture_output=True)
    return path


@pytest.fixture
def finished(_finished: Path, tmp_path: Path) -> Path:
    shutil.copytree(_finished.parent, tmp_path, dirs_exist_ok=True)
    return tmp_path / _finished.name


@pytest.fixture
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shelf")


@pytest.fixture
def items(tmp_path: Path) -> Callable[..., list[sending.Item]]:
    steps = {".mp3": sending.Step.SOUND, ".vtt": sending.Step.PAGES, ".xml": sending.Step.FEED}

    def make(**contents: str) -> list[sending.Item]:
        made = []
        for stem, text in contents.items():
            path = tmp_path / stem.replace("_", ".")
            path.write_text(text)
            step = steps[path.suffix]
            made.append(sending.Item(path, path.name, len(text), f"sha of {text}", step))
        return made

    return make
