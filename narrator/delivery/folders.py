"""Where what is made of a manifest lies in `build`. Knows no files but by their endings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from narrator.project import buildfolder
from narrator.project.project import Project

SOUNDS = (".m4b", ".mp3", ".flac", ".opus", ".wav")
"""What finished sound ends in; companions lie beside it."""


@dataclass(frozen=True, slots=True)
class Folders:
    """The folders of one manifest, of which a project may hold several, or of its draft."""

    project: Project
    draft: bool
    """Whether a book that has a real engine is spoken by the draft voice."""

    @property
    def option(self) -> str:
        """What commands are given so that they mean these folders."""
        return (" --draft" if self.draft else "") + buildfolder.option()

    @property
    def finished(self) -> Path:
        """Of finished files: `build/book`, or `build/draft`; a manifest by another name than
        book.yaml has its own."""
        kind, stem = "draft" if self.draft else "book", self.project.stem
        return self.project.build / (kind if stem == "book" else f"{kind}-{stem}")

    def work(self, what: str) -> Path:
        """Of what finished files are made from."""
        kind = "draft" if self.draft else "book"
        return self.project.build / what / f"{self.project.stem}-{kind}"

    def sounds(self) -> list[Path]:
        """Sound in the folder of finished files, current or not, in order."""
        found = self.finished.rglob("*")
        return sorted(path for path in found if path.suffix in SOUNDS and path.is_file())
