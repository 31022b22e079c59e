"""What somebody has heard and found good: chunks, each with the take that was heard.

`build/reviewed-STEM.json` holds keys and contents of takes, so that a chunk that is spoken anew is
not reviewed any more, and one whose take comes back is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from narrator import files
from narrator.pipeline.bookplan import BookPlan
from narrator.pipeline.edits.history import held
from narrator.project.project import Project
from narrator.speech.plan import Step

_DIGITS = 16
"""Of a take's content that are kept."""


def path_of(project: Project) -> Path:
    """The marks of a manifest."""
    return project.build / f"reviewed-{project.stem}.json"


def reviewed(book: BookPlan) -> set[str]:
    """The keys of the steps whose takes, as they are now, were reviewed."""
    known = _known(path_of(book.project))
    return {step.key for step in book.steps if known.get(step.key, "-") == _content(book, step)}


def mark(book: BookPlan, steps: Iterable[Step], yes: bool) -> None:
    """Mark takes as reviewed, or as not; chunks without a take stay as they are.

    Raises Locked, StorageError.
    """
    path = path_of(book.project)
    with held(path.parent / "edits"):
        known = dict(_known(path))
        for step in steps:
            if content := _content(book, step):
                known[step.key] = content
            if not yes:
                known.pop(step.key, None)
        files.save_json(path, known)


def _known(path: Path) -> Mapping[str, str]:
    data = files.load_json(path, {})
    return data if isinstance(data, dict) else {}


def _content(book: BookPlan, step: Step) -> str:
    """Of the take that a step has now; empty where it has none."""
    take = book.takes.current(step)
    return "" if take is None else take.content[:_DIGITS]
