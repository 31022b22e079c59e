"""What verification finds of folders."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class FolderFinding:
    """What is wrong with a folder, and what to do about it."""

    folder: Path
    file: Path | None
    """The one that it is about; None where that is not there, or is the folder."""
    what: str
    mend: str
