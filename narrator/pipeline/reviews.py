"""Marks of chunks that somebody has listened to and approved, each with the take they heard.

`build/reviewed-STEM.json` holds keys and contents of takes. A chunk that is spoken again is no
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


def reviewed_keys(book: BookPlan) -> set[str]:
    """The keys of the steps whose present takes were reviewed. Raises StorageError."""
    reviewed_takes = _load_marks(path_of(book.project))
    return {
        step.key
        for step in book.steps
        if step.key in reviewed_takes and reviewed_takes[step.key] == _take_hash(book, step)
    }


def mark_reviewed(book: BookPlan, steps: Iterable[Step], is_reviewed: bool) -> None:
    """Mark takes as reviewed, or remove the marks; chunks without a take stay as they are.

    Raises Locked, StorageError.
    """
    path = path_of(book.project)
    with lock_folder(path.parent / "edits"):
        reviewed_takes = _load_marks(path)
        for step in steps:
            if take_hash := _take_hash(book, step):
                reviewed_takes[step.key] = take_hash
            if not is_reviewed:
                reviewed_takes.pop(step.key, None)
        files.save_json(path, reviewed_takes)


def _load_marks(path: Path) -> dict[str, str]:
    """The start of the content hash of each reviewed take, by key. Raises StorageError."""
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
