"""Where what is made of a manifest lies in `build`. Knows no files but by their endings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from narrator.engines.registry import ENGINES
from narrator.project import buildfolder, other_engine
from narrator.project.project import Project

_FOLDER_NAME = re.compile(rf"(book|{'|'.join(ENGINES)})(-|$)")
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
        engine = " --draft" if self.draft else other_engine.option()
        return engine + buildfolder.option()

    @property
    def kind(self) -> str:
        """What tells the book from itself as another engine speaks it: that engine's name."""
        return "draft" if self.draft else self.project.other_engine or "book"

    @property
    def finished(self) -> Path:
        """Of finished files: `build/book`, `build/draft`, `build/kokoro`; a manifest by another
        name than book.yaml has its own."""
        kind, stem = self.kind, self.project.stem
        return self.project.build / (kind if stem == "book" else f"{kind}-{stem}")

    def work(self, content: str) -> Path:
        """Of what finished files are made from."""
        return self.project.build / content / f"{self.project.stem}-{self.kind}"

    def sounds(self) -> list[Path]:
        """Sound in the folder of finished files, current or not, in order."""
        paths = self.finished.rglob("*")
        return sorted(path for path in paths if path.suffix in SOUNDS and path.is_file())


def kind_of(folder: str) -> str:
    """`Folders.kind` of a folder of finished files, by its name; "" where it is none."""
    match = _FOLDER_NAME.match(folder)
    return match[1] if match else ""
