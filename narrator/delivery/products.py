"""The finished files of a project, and whether they match the project as it is now.

The inputs of each file are recorded beside the build, in one list for each manifest of the folder.
Knows nothing of engines and of how files are made.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from narrator import files
from narrator.delivery import finish, output_manifest
from narrator.delivery.export import altered_encodings
from narrator.delivery.folders import Folders
from narrator.delivery.layout import RenderedBook
from narrator.delivery.output_manifest import MadeFile, OutputManifest
from narrator.project.project import Project


def state_file(project: Project, name: str) -> Path:
    """Returns the path of a small state file of this manifest in `build`: "made" is made.json, or
    made-other.json for other.yaml."""
    stem = project.stem
    return project.build / (f"{name}.json" if stem == "book" else f"{name}-{stem}.json")


def list_sound_files(book: RenderedBook) -> list[tuple[Path, str]]:
    """Returns finished sound files, each with a note: empty where it is current and intact.

    Reads every byte of them: a second for some twenty hours. Raises StorageError.
    """
    made_files, stale_files = load_records(book.project), {*list_outdated_files(book)}

    def note_of(path: Path) -> str:
        entry = made_files.get(in_build(book.project, path))
        if entry is None or path in stale_files:
            return "out of date"
        return _note_of(book, path, entry)

    return [(path, note_of(path)) for path in book.folders.sounds()]


def list_outdated_files(book: RenderedBook, chapters: Collection[int] = ()) -> list[Path]:
    """Returns finished files that the next render or export replaces, since their inputs have
    changed.

    `chapters`, counted from 0, limits them; empty stands for all. Reads none of their bytes.
    """
    made_files = load_records(book.project)
    entries = {
        path: entry
        for path in book.folders.sounds()
        if (entry := made_files.get(in_build(book.project, path)))
        and (not chapters or {*entry.chapters} <= {*chapters})
    }
    states = finish.states(book, {entry.chapters for entry in entries.values()})
    return [path for path, entry in entries.items() if entry.state != states[entry.chapters]]


def list_faulty_files(book: RenderedBook) -> list[tuple[Path, str]]:
    """Returns files of the inventory that are missing or altered, apart from sound files that
    exist.

    Companions, a feed, encoded chapters and missing files, each with a note. Reads every byte.
    Raises StorageError.
    """
    sound_files = set(book.folders.sounds())
    outputs = open_output_manifest(book.folders)
    faulty_files = [
        (path, note)
        for path, entry in sorted(outputs.finished())
        if path not in sound_files and (note := _note_of(book, path, entry))
    ]
    encoding_note = "altered since it was written; it is encoded again when it is needed"
    return faulty_files + [
        (path, encoding_note) for path in altered_encodings(book.folders.work("encoded"))
    ]


def _note_of(book: RenderedBook, path: Path, entry: MadeFile) -> str:
    """Returns how a file differs from what was delivered, and the command that makes it again; ""
    where it is intact."""
    with files.translating_errors(path):
        difference = entry.difference(path)
    if not difference:
        return ""
    fault = "missing" if not path.exists() else "altered since it was made"
    command = "narrator feed" if entry.is_feed else f"narrator export{book.folders.option}"
    return f"{fault}; `{command}` makes it again"


def record_feed(project: Project, path: Path) -> None:
    """Adds a feed that lies among finished files to the inventory. Raises StorageError."""
    folders = Folders(project)
    if path.is_relative_to(folders.finished) and folders.finished.is_dir():
        outputs = open_output_manifest(folders)
        with files.translating_errors(path):
            facts = output_manifest.content_facts(path)
        outputs.record(path, MadeFile(facts={"kind": "feed", **facts}))


def load_records(project: Project) -> dict[str, MadeFile]:
    """Returns the records of delivered files by path within `build`, as far as their chapters
    exist."""
    chapter_numbers = set(range(len(project.chapters)))
    made_files = output_manifest.read_ledger(state_file(project, "made"))
    return {
        name: entry for name, entry in made_files.items() if set(entry.chapters) <= chapter_numbers
    }


def open_output_manifest(folders: Folders) -> OutputManifest:
    """Returns the folder of finished files with the records of all that was ever made there. Raises
    StorageError."""
    project = folders.project
    return OutputManifest(project.build, folders.finished, state_file(project, "made"))


def delivered_chapters(project: Project, outputs: OutputManifest) -> set[int]:
    """Returns the chapters, counted from 0, that any delivered file contains."""
    return {
        number
        for name, entry in load_records(project).items()
        for number in entry.chapters
        if outputs.holds(name) and outputs.path(name).is_file()
    }


def settle(book: RenderedBook, finished: finish.Finished, outputs: OutputManifest) -> None:
    """Records what was made, and moves superseded files aside. Raises StorageError."""
    # feeds are made elsewhere, and stay as long as their episodes
    feeds = {path: entry for path, entry in outputs.finished() if entry.is_feed and path.is_file()}
    outputs.settle({**finished.made_files, **feeds})
    for path in sorted(outputs.folder.rglob("*.xml")):
        from narrator.delivery.companions import feed  # loads lxml, which few commands need

        if not all(episode.exists() for episode in feed.referenced_files(path)):
            outputs.supersede(path)


def in_build(project: Project, path: Path) -> str:
    """Returns a file's path within `build`, the same wherever the project lies."""
    return Path(os.path.relpath(path, project.build)).as_posix()
