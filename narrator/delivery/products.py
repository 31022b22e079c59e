"""Finished files: which there are, and whether they are of the project as it is now.

What decided a file when it was made is noted beside the build, one list for each manifest of the
folder. Knows nothing of engines and of how files are made.
"""

from __future__ import annotations

import os
from pathlib import Path

from narrator import files
from narrator.delivery import export, finish, shelf
from narrator.delivery.companions import feed
from narrator.delivery.layout import RenderedBook
from narrator.delivery.shelf import MadeFile, Shelf
from narrator.project.project import Project


def own(project: Project, name: str) -> Path:
    """A small file of this manifest alone in `build`: "made" is made.json, made-other.json …"""
    stem = project.stem
    return project.build / (f"{name}.json" if stem == "book" else f"{name}-{stem}.json")


def listed(book: RenderedBook) -> list[tuple[Path, str]]:
    """Finished files, each with what is to be said of it: nothing where it is as it should be.

    Every byte of them is read: a second for some twenty hours.
    """
    made, paths = made_of(book.project), book.folders.sounds()
    entries = {path: made.get(in_build(book.project, path), MadeFile()) for path in paths}
    states = finish.states(book, {entry.chapters for entry in entries.values()})
    altered = export.altered(book.folders.work("encoded"), paths)

    def note_of(path: Path) -> str:
        if entries[path].state != states[entries[path].chapters]:
            return "not of the project as it is now"
        again = f"`narrator export{book.folders.option}` makes it again"
        return f"altered since it was made; {again}" * (path in altered)

    return [(path, note_of(path)) for path in paths]


def outdated(book: RenderedBook) -> list[Path]:
    """Finished files that the next render or export replaces, since what decides them has changed;
    none of their bytes are read."""
    made, paths = made_of(book.project), book.folders.sounds()
    entries = {path: made.get(in_build(book.project, path), MadeFile()) for path in paths}
    states = finish.states(book, {entry.chapters for entry in entries.values()})
    return [path for path in paths if entries[path].state != states[entries[path].chapters]]


def made_of(project: Project) -> dict[str, MadeFile]:
    """Delivered files as they were made, by path within `build`; of chapters that are there."""
    known = set(range(len(project.chapters)))
    found = shelf.entries(own(project, "made"))
    return {name: entry for name, entry in found.items() if set(entry.chapters) <= known}


def shelf_of(book: RenderedBook) -> Shelf:
    """The folder of finished files, with all that was ever made there. Raises StorageError."""
    kept = book.folders.work("encoded")
    return Shelf(
        book.project.build,
        book.folders.finished,
        own(book.project, "made"),
        older=[kept / "files.json", kept / _COMPANIONS],
    )


_COMPANIONS = "companions.json"
"""Version 0.1 noted companions there."""


def delivered(project: Project, shelf: Shelf) -> set[int]:
    """Chapters, counted from 0, that listeners have in any file."""
    return {
        number
        for name, entry in made_of(project).items()
        for number in entry.chapters
        if shelf.holds(name) and shelf.path(name).is_file()
    }


def settle(book: RenderedBook, finished: finish.Finished, shelf: Shelf) -> None:
    """Remember what was made, and move aside what is delivered no more. Raises StorageError."""
    with files.storage(shelf.folder):
        made = finished.made()
    shelf.settle(made)
    for path in sorted(shelf.folder.rglob("*.xml")):
        if not all(episode.exists() for episode in feed.names(path)):
            shelf.take(path)
    (book.folders.work("encoded") / _COMPANIONS).unlink(missing_ok=True)


def in_build(project: Project, path: Path) -> str:
    """A file's path within `build`, the same wherever the project lies."""
    return Path(os.path.relpath(path, project.build)).as_posix()
