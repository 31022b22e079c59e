"""Runs narrator for the pictures and sounds of the site."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "narrator", *map(str, arguments)]


def render(*arguments: str | Path, environment: Mapping[str, str] | None = None) -> None:
    """Renders a book, or ends this program with the errors."""
    done = subprocess.run(
        command("render", *arguments),
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        sys.exit(done.stderr)


def find_kokoro() -> Path | None:
    """Returns the folder of Kokoro's model; None where there is none."""
    where = command("models", "where", "kokoro")
    done = subprocess.run(where, cwd=ROOT, capture_output=True, text=True, check=False)
    return Path(done.stdout.strip()) if done.returncode == 0 else None
