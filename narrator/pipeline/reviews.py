"""Marks of chunks that somebody has listened to and approved, each with the take they heard.

`build/reviewed-STEM.json` holds takes at their places, with the name of the person who approved
them where it is known: `{"KEY PLACE": "CONTENT NAME"}`. The same words may have one take in several
places of a book, and only those that were heard are reviewed; a mark without a place, as narrator
wrote them first, is for all of them. A chunk that is spoken again is no longer reviewed, but is
again when its earlier take comes back.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from narrator import files, keys
from narrator.pipeline.book_plan import BookPlan
from narrator.pipeline.session import lock_folder
from narrator.project.project import Project
from narrator.speech.plan import Step

_HASH_DIGITS = 16
"""Number of digits stored of the hashes of a take's content and of its place."""


def path_of(project: Project) -> Path:
    """The file of a manifest's marks."""
    return project.build / f"reviewed-{project.stem}.json"


def reviewers(book: BookPlan) -> dict[str, str]:
    """The names of those who reviewed the present takes of steps, by the steps' ids; a name is
    empty where it is not known. Raises StorageError."""
    marks = _load_marks(path_of(book.project))
    marks_by_key: dict[str, dict[str, str]] = defaultdict(dict)
    for name, mark in marks.items():
        marks_by_key[name.partition(" ")[0]][name] = mark
    names = {}
    for key, places in _find_places(book, marks_by_key).items():
        key_marks = marks_by_key[key]
        for step, place in places:
            mark = key_marks.get(place) or key_marks.get(key, "")
            if len(places) == 1:  # the text around it may have changed since
                mark = mark or next(iter(key_marks.values()))
            take_hash, _, name = mark.partition(" ")
            if take_hash and take_hash == _take_hash(book, step):
                names[step.id] = name
    return names


def mark_reviewed(
    book: BookPlan, steps: Iterable[Step], is_reviewed: bool, reviewer: str = ""
) -> None:
    """Mark takes as reviewed at the places of steps, or remove the marks; chunks without a take
    stay as they are.

    Raises Locked, StorageError.
    """
    path = path_of(book.project)
    steps_by_id = {step.id: step for step in steps}
    with lock_folder(path.parent / "edits"):
        marks = _load_marks(path)
        for key, places in _find_places(book, {step.key for step in steps_by_id.values()}).items():
            if not is_reviewed:
                _spread_mark(marks, key, places)
            for step, place in places:
                if step.id not in steps_by_id:
                    continue
                if not is_reviewed:
                    marks.pop(place, None)
                elif take_hash := _take_hash(book, step):
                    marks[place] = f"{take_hash} {reviewer}".rstrip()
        files.save_json(path, marks)


def _spread_mark(marks: dict[str, str], key: str, places: Sequence[tuple[Step, str]]) -> None:
    """Puts the mark that is for all places of a take at each of them; a take with one place has
    no mark elsewhere then."""
    key_marks = {name: marks.pop(name) for name in list(marks) if name.partition(" ")[0] == key}
    for _, place in places:
        if mark := key_marks.pop(place, None) or key_marks.get(key):
            marks[place] = mark
    key_marks.pop(key, None)
    if len(places) > 1:
        marks |= key_marks


def _find_places(book: BookPlan, step_keys: Collection[str]) -> dict[str, list[tuple[Step, str]]]:
    """The steps that have these keys, each with the name of its mark, by key."""
    steps = book.steps
    places: dict[str, list[tuple[Step, str]]] = defaultdict(list)
    times: Counter[str] = Counter()
    for index, step in enumerate(steps):
        if step.key in step_keys:
            around = [
                steps[other].chunk.text
                if 0 <= other < len(steps) and steps[other].chapter == step.chapter
                else ""
                for other in (index - 1, index + 1)
            ]
            place = keys.key({"key": step.key, "around": around})[:_HASH_DIGITS]
            times[place] += 1
            number = f".{times[place]}" if times[place] > 1 else ""
            places[step.key].append((step, f"{step.key} {place}{number}"))
    return places


def _load_marks(path: Path) -> dict[str, str]:
    """The start of the content hash of each reviewed take and the name of who reviewed it, by key
    and place. Raises StorageError."""
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
