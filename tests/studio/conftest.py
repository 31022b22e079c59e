"""What holds for tests of the studio: a small book, rendered once."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

for name in ("starlette", "uvicorn", "espeakng_loader"):
    pytest.importorskip(name, reason="the extras `studio` and `draft` are not installed")

from tests import studios  # noqa: E402
from tests.studios import Opened  # noqa: E402


@pytest.fixture(scope="session")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A rendered book that nobody changes."""
    return studios.rendered(tmp_path_factory.mktemp("spoken"))


@pytest.fixture(scope="session")
def shared(spoken: Path) -> Iterator[Opened]:
    """A studio of a book that nobody changes."""
    with studios.opened(spoken) as studio:
        yield studio


@pytest.fixture
def studio(spoken: Path, tmp_path: Path) -> Iterator[Opened]:
    """A studio of a book of one's own, rendered."""
    folder = tmp_path / "book"
    shutil.copytree(spoken, folder)
    with studios.opened(folder) as found:
        yield found
