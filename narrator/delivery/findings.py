"""Faults of folders, as verification reports them."""

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

    def as_json(self) -> dict[str, object]:
        """Returns the finding for programs."""
        file = str(self.file) if self.file else None
        return {"folder": str(self.folder), "file": file, "what": self.what, "mend": self.mend}


def fault_of(file: Path, what: str, mend: str) -> FolderFinding:
    """Returns the finding on a file."""
    return FolderFinding(file.parent, file, what, mend)
