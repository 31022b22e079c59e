"""Marks of chunks that somebody has listened to and approved, each with the take they heard.

`build/reviewed-STEM.json` holds keys and contents of takes, with the name of the person who
approved them where it is known: `{"KEY": "CONTENT NAME"}`. A chunk that is spoken again is no
longer reviewed, but is again when its earlier take comes back.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from narrator import files
from narrator.pipeline.book_plan import BookPlan
from narrator.pipeline.session import lock_folder
from narrator.project.project import Project
from narrator.speech.plan import Step

_HASH_DIGITS = 16
"""Number of digits stored of a take's content hash."""


def path_of(project: Project) -> Path:
    """The file of a manifest's marks."""
    return project.build / f"reviewed-{project.stem}.json"


def reviewers(book: BookPlan) -> dict[str, str]:
    """The names of those who reviewed the present takes of steps, by the steps' keys; a name is
    empty where it is not known. Raises StorageError."""
    marks = _load_marks(path_of(book.project))
    names = {}
    for step in book.steps:
        if step.key in marks:
            take_hash, _, name = marks[step.key].partition(" ")
            if take_hash == _take_hash(book, step):
                names[step.key] = name
    return names


def mark_reviewed(
    book: BookPlan, steps: Iterable[Step], is_reviewed: bool, reviewer: str = ""
) -> None:
    """Mark takes as reviewed, or remove the marks; chunks without a take stay as they are.

    Raises Locked, StorageError.
    """
    path = path_of(book.project)
    with lock_folder(path.parent / "edits"):
        reviewed_takes = _load_marks(path)
        for step in steps:
            if take_hash := _take_hash(book, step):
                reviewed_takes[step.key] = f"{take_hash} {reviewer}".rstrip()
            if not is_reviewed:
                reviewed_takes.pop(step.key, None)
        files.save_json(path, reviewed_takes)


def _load_marks(path: Path) -> dict[str, str]:
    """The start of the content hash of each reviewed take and the name of who reviewed it, by key.
    Raises StorageError."""
    return files.load_work(
        path,
        dict[str, str],
        {},
        title="a list of reviewed takes",
        remedy=f"restore it, or move '{path.name}' away to review the book anew",
    )


def _take_hash(book: BookPlan, step: Step) -> str:
    """The start of the content hash of a step's present take; empty if it has none."""
    take = book.takes.current(step)
    return "" if take is None else take.content[:_HASH_DIGITS]
