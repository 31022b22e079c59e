"""Faults of folders that verification reports."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class FolderFinding:
    """A fault of a folder, and its remedy."""

    folder: Path
    file: Path | None
    """The faulty file; None where it is missing, or where the folder itself is at fault."""
    what: str
    mend: str
