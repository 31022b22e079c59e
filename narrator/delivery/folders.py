"""Folders in `build` for the products of a manifest. Knows files only by their endings."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from narrator.engines.registry import ENGINES
from narrator.project import buildfolder
from narrator.project.project import Project
from narrator.sound.formats import OUTPUT_SUFFIXES


@dataclass(frozen=True, slots=True)
class Folders:
    """The folders of one manifest (a project may hold several), as an engine speaks it."""

    project: Project

    @property
    def draft(self) -> bool:
        """Whether the draft voice speaks a book that has a real engine."""
        return self.project.other_engine == "draft"

    @property
    def engine_option(self) -> str:
        """Command-line option that selects the engine; empty for the book's own."""
        engine = self.project.other_engine
        return " --draft" if self.draft else f" --engine {engine}" if engine else ""

    @property
    def option(self) -> str:
        """Command-line options that select these folders."""
        return self.engine_option + buildfolder.build_option()

    @property
    def kind(self) -> str:
        """The name that distinguishes renditions of one book by several engines."""
        return self.project.other_engine or "book"

    @property
    def finished(self) -> Path:
        """Folder of finished files: `build/book`, `build/draft`, `build/kokoro`; a manifest by
        another name than book.yaml has its own."""
        kind, stem = self.kind, self.project.stem
        return self.project.build / (kind if stem == "book" else f"{kind}-{stem}")

    def work(self, content: str) -> Path:
        """Returns the folder of intermediate files of one kind, such as "timeline"."""
        return self.project.build / content / f"{self.project.stem}-{self.kind}"

    @property
    def delivered(self) -> Path:
        """Folder of the records of deliveries, which all renditions of a manifest share."""
        return self.project.build / "delivered" / self.project.stem

    def renditions(self) -> list[Folders]:
        """Returns the folders of the same manifest as each engine speaks it, the book's own
        first."""
        engines = ("", *ENGINES.names())
        return [Folders(replace(self.project, other_engine=name)) for name in engines]

    def hint_at_others(self) -> str:
        """Returns the end of a message: which other engine has finished files, and how to name it;
        "" if none has."""
        for other in self.renditions():
            if other.engine_option and other.kind != self.kind and other.sounds():
                return f"; {other.finished} has finished files: add{other.engine_option}"
        return ""

    def sounds(self) -> list[Path]:
        """Returns the sound files in the folder of finished files, current or not, in order."""
        paths = self.finished.rglob("*")
        return sorted(path for path in paths if path.suffix in OUTPUT_SUFFIXES and path.is_file())


def kind_of(folder: str) -> str:
    """Returns `Folders.kind` of a folder of finished files by its name; "" for other folders."""
    kinds = "|".join(map(re.escape, ["book", *ENGINES.names()]))
    match = re.match(rf"({kinds})(-|$)", folder)
    return match[1] if match else ""
