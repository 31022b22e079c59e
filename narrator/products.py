"""Finished files: which there are, and whether they are of the project as it is now.

What decided a file when it was made is noted beside the build, one list for each manifest of the
folder. Knows nothing of engines and of how files are made.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from narrator import export, files, finish
from narrator.manifest import Project
from narrator.plan import Step
from narrator.script import Chapter
from narrator.store import Store
from narrator.voices import Cast


def own(project: Project, name: str) -> Path:
    """A small file of this manifest alone in `build`: "made" is made.json, made-other.json …"""
    stem = project.path.stem
    return project.build / (f"{name}.json" if stem == "book" else f"{name}-{stem}.json")


def listed(
    project: Project,
    chapters: Sequence[Chapter],
    cast: Cast,
    steps: Sequence[Step],
    store: Store,
    *,
    draft: bool,
) -> list[tuple[Path, str]]:
    """Finished files, each with what is to be said of it: nothing where it is as it should be.

    Every byte of them is read: a second for some twenty hours.
    """
    made, paths = made_of(project), finish.products(project, draft=draft)
    altered = export.altered(finish.work_folder(project, "encoded", draft), paths)

    def is_current(path: Path) -> bool:
        numbers, state = made.get(in_build(project, path), ([], ""))
        now = finish.state_of(project, chapters, cast, steps, store, numbers, draft=draft)
        return state == now

    def note_of(path: Path) -> str:
        if not is_current(path):
            return "not of the project as it is now"
        return "altered since it was made; `narrator export` makes it again" * (path in altered)

    return [(path, note_of(path)) for path in paths]


def made_of(project: Project) -> dict[str, tuple[list[int], str]]:
    """Chapters and state of delivered files when they were made, by path within `build`."""
    rows = files.load_json(own(project, "made"), {})
    known = set(range(len(project.chapters)))
    try:
        found = {path: (list(row[0]), str(row[1])) for path, row in rows.items()}
        return {path: row for path, row in found.items() if set(row[0]) <= known}
    except (AttributeError, IndexError, KeyError, TypeError):
        return {}


def note(project: Project, finished: finish.Finished) -> None:
    """Remember what was made. Raises OSError."""
    made = made_of(project) | {in_build(project, p): row for p, row in finished.made().items()}
    there = {path: row for path, row in made.items() if (project.build / path).exists()}
    files.save_json(own(project, "made"), there)


def in_build(project: Project, path: Path) -> str:
    """A file's path within `build`, the same wherever the project lies."""
    return path.resolve().relative_to(project.build.resolve()).as_posix()
