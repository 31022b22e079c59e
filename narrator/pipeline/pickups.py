"""Pickups: what somebody who listened wants spoken again or otherwise, a list for people.

    done,chapter,time,chunk,speaker,source,text,note
    ,3,00:12:34.0,3.12,Ada,chapters/03.md:45,"Take a bow, Ben.",“bow” as in arrow

It lies beside the manifest, and spreadsheets write it as well as we do. A row is found again by its
words, so edits move nothing; where they have changed it stays, and is said to be lost.
"""

from __future__ import annotations

import csv
import difflib
import io
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path

from narrator import files
from narrator.characters import decoded
from narrator.errors import Problem, StorageError, UsageError
from narrator.pipeline import places, proofnotes
from narrator.pipeline.bookplan import BookPlan, find_step
from narrator.pipeline.places import Passage
from narrator.project.project import Project
from narrator.sound.clock import fine_clock
from narrator.text.markup import squeeze

_LARGEST = 16_000_000
"""Bytes; a hundred thousand rows have as many."""
_NEAR = 0.6
"""Of two texts at least alike, for one to be the other, edited."""
_AROUND = 40
"""Chunks before and behind, among which an edited one is looked for."""
_YES = frozenset("x yes y true 1 done ok ✓ ✔ ja oui sí sì".split())


@dataclass(frozen=True, slots=True)
class Pickup:
    """One row."""

    chapter: str
    """Its number, from 1."""
    time: str
    """In its chapter, as it was last made; empty where it was not."""
    chunk: str
    speaker: str
    source: str
    """file:line."""
    text: str
    note: str
    done: bool = False
    is_lost: bool = False
    """Whether the book has no such text any more."""
    more: tuple[tuple[str, str], ...] = ()
    """Names and cells of columns that somebody added."""


_COLUMNS = ("done", "chapter", "time", "chunk", "speaker", "source", "text", "note")


def path_of(project: Project) -> Path:
    """The list of a manifest."""
    return project.root / f"{project.stem}.pickups.csv"


# -- reading and writing ---------------------------------------------------------------------------


def read(path: Path) -> tuple[list[Pickup], list[Problem]]:
    """The rows of a list; what cannot be read of it costs nothing else. None where there is no
    list. Raises StorageError for one that cannot be read at all."""
    try:
        with files.storage(path):
            data = files.read_whole(path, _LARGEST)
    except files.TooLarge:
        raise StorageError(f"{path}: larger than 16 MB, which no list of pickups is") from None
    except StorageError:
        if path.exists():
            raise
        return [], []
    return _rows(decoded(data)[0], path)


def _rows(text: str, path: Path) -> tuple[list[Pickup], list[Problem]]:
    head, rows = proofnotes.table(text)
    names = [name.casefold() for name in head]
    if not names:
        return [], []
    if not {"note", "text"} <= set(names):
        what = f"its first line names no columns `text` and `note`: {', '.join(_COLUMNS)}"
        return [], [Problem(path, 1, what)]
    return [_row(dict(zip(names, cells, strict=False))) for _, cells in rows], []


def _row(cells: Mapping[str, str]) -> Pickup:
    def cell(name: str) -> str:
        return cells.get(name, "")

    return Pickup(
        chapter=cell("chapter"),
        time=cell("time"),
        chunk=cell("chunk"),
        speaker=cell("speaker"),
        source=cell("source"),
        text=cell("text"),
        note=cell("note"),
        done=cell("done").casefold() in _YES,
        more=tuple((name, text) for name, text in cells.items() if name not in _COLUMNS),
    )


def write(path: Path, rows: Sequence[Pickup]) -> None:
    """Raises StorageError."""
    files.write(path, table_of(rows))


def table_of(rows: Sequence[Pickup]) -> bytes:
    """The bytes of a list."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    others = list(dict.fromkeys(name for row in rows for name, _ in row.more))
    writer.writerow([*_COLUMNS, *others])
    for row in rows:
        cells = {**asdict(row), **dict(row.more), "done": "x" if row.done else ""}
        writer.writerow([proofnotes.as_text(cells.get(n, "")) for n in (*_COLUMNS, *others)])
    # spreadsheets know UTF-8 by its mark alone
    return text.getvalue().encode("utf-8-sig", errors="replace")


# -- finding them again ----------------------------------------------------------------------------


def pickup(passage: Passage, note: str) -> Pickup:
    """A new row."""
    return _placed(Pickup("", "", "", "", "", "", squeeze(note)), passage)


def _placed(row: Pickup, passage: Passage) -> Pickup:
    return replace(
        row,
        chapter=str(passage.chapter + 1),
        time="" if passage.start is None else fine_clock(passage.start),
        chunk=passage.chunk,
        speaker=passage.speaker,
        source=passage.source,
        text=squeeze(passage.text),
        is_lost=False,
    )


def placed(book: BookPlan, rows: Sequence[Pickup]) -> list[Pickup]:
    """Rows as the book has them now, found by their words: in the chunk of their name, else in the
    nearest one of their file, whole or edited. What is not found is lost, and stays as it was."""
    timelines = [places.timeline_of(book, number) for number in range(len(book.chapters))]
    passages = list(places.passages(book, timelines).values())
    finder = _Placing(passages)
    return [
        replace(row, is_lost=True) if place is None else _placed(row, passages[place])
        for row, place in ((row, finder.place(row)) for row in rows)
    ]


class _Placing:
    """Passages by their words."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self.passages = passages
        self.texts = [squeeze(one.text) for one in passages]
        self.ids = {one.chunk: place for place, one in enumerate(passages)}
        self.same: dict[str, list[int]] = {}
        for place, text in enumerate(self.texts):
            self.same.setdefault(text, []).append(place)

    def place(self, row: Pickup) -> int | None:
        near = self._expected(row)
        if exact := self.same.get(row.text):
            return min(exact, key=lambda place: (not self._in_file(place, row), abs(place - near)))
        around = range(max(0, near - _AROUND), min(len(self.texts), near + _AROUND + 1))
        alike = {place: self._alike(place, row) for place in around if self._in_file(place, row)}
        best = max(alike, key=lambda place: alike[place], default=None)
        return best if best is not None and alike[best] >= _NEAR else None

    def _expected(self, row: Pickup) -> int:
        """Where a row would stand if nothing had been edited."""
        if row.chunk in self.ids:
            return self.ids[row.chunk]
        chapter = [n for n, one in enumerate(self.passages) if str(one.chapter + 1) == row.chapter]
        return chapter[-1] if chapter else 0

    def _in_file(self, place: int, row: Pickup) -> bool:
        return self.passages[place].source.rpartition(":")[0] == row.source.rpartition(":")[0]

    def _alike(self, place: int, row: Pickup) -> float:
        ours, theirs = self.texts[place].split(), row.text.split()
        return difflib.SequenceMatcher(None, ours, theirs, autojunk=False).ratio()


# -- changing the list -----------------------------------------------------------------------------


def listed(book: BookPlan) -> tuple[list[Pickup], list[Problem]]:
    """The list as the book is now; what of it cannot be read. Raises StorageError."""
    rows, problems = read(path_of(book.project))
    return placed(book, rows), problems


def add(book: BookPlan, new: Sequence[Pickup]) -> list[Pickup]:
    """Write more rows into the list; those that it did not have yet.

    Raises UsageError where it has rows that cannot be read, which must not get lost, StorageError.
    """
    rows = _whole(book)
    known = {(row.text, row.note) for row in rows if not row.done}
    more = [row for row in new if (row.text, row.note) not in known]
    write(path_of(book.project), sorted(placed(book, [*rows, *more]), key=_order))
    return more


def settle(book: BookPlan, chunks: Sequence[str]) -> int:
    """Mark the rows of chunks as done; how many there were. Raises as `add`."""
    rows = placed(book, _whole(book))
    found = [row for row in rows if row.chunk in chunks and not row.done and not row.is_lost]
    write(path_of(book.project), [replace(row, done=row.done or row in found) for row in rows])
    return len(found)


def tick(book: BookPlan, chunk: str, note: str, done: bool) -> int:
    """Mark the rows of a chunk with this note as done, or as still to do; how many there were.
    Raises as `add`."""
    rows = placed(book, _whole(book))
    found = [row for row in rows if (row.chunk, row.note) == (chunk, note) and not row.is_lost]
    write(path_of(book.project), [replace(row, done=done) if row in found else row for row in rows])
    return len(found)


def remove(book: BookPlan, named: Collection[tuple[str, str]]) -> int:
    """Take rows off the list, by their chunks and notes: of those that are alike the newest, one
    for each; how many there were. Raises as `add`."""
    rows, kept = placed(book, _whole(book)), list[Pickup]()
    left = Counter((chunk, squeeze(note)) for chunk, note in named)
    for row in reversed(rows):
        name = row.chunk, squeeze(row.note)
        if left[name] and not row.is_lost:
            left[name] -= 1
        else:
            kept.append(row)
    if len(kept) < len(rows):
        write(path_of(book.project), kept[::-1])
    return len(rows) - len(kept)


def _whole(book: BookPlan) -> list[Pickup]:
    rows, problems = read(path_of(book.project))
    if problems:
        raise UsageError(f"{problems[0]}; mend it first")
    return rows


def _order(row: Pickup) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d{1,9}", row.chunk))


def write_labels(rows: Sequence[Pickup], folder: Path) -> list[Path]:
    """A file of labels for an audio editor, for each chapter that has pickups to do; what is not
    heard has none. Raises StorageError."""
    paths = []
    for chapter, labels in labels_of(rows).items():
        paths.append(folder / f"{chapter} pickups.txt")
        files.write(paths[-1], labels.encode("utf-8", "replace"))
    return paths


def labels_of(rows: Sequence[Pickup]) -> dict[str, str]:
    """The labels of each chapter that has pickups to do and is heard, by its number."""
    chapters: dict[str, list[str]] = {}
    for row in rows:
        seconds = proofnotes.seconds_of(row.time)
        if seconds is not None and not row.done:
            label = f"{seconds:.6f}\t{seconds:.6f}\t{row.chunk} {row.note}\n"
            chapters.setdefault(row.chapter, []).append(label)
    return {chapter: "".join(labels) for chapter, labels in chapters.items()}


# -- lists of others -------------------------------------------------------------------------------


def brought(book: BookPlan, path: Path, chapter: int | None) -> tuple[list[Pickup], list[Problem]]:
    """The rows of somebody's list, ours or one that `proofnotes` reads, and what of it stands
    nowhere in the book. `chapter`, counted from 0, is that of times without one.

    Raises StorageError, UsageError.
    """
    with files.storage(path):
        try:
            text, _ = decoded(files.read_whole(path, _LARGEST))
        except files.TooLarge:
            raise UsageError(f"{path}: larger than 16 MB, which no list of pickups is") from None
    return read_of(book, text, path, chapter)


def read_of(
    book: BookPlan, text: str, path: Path, chapter: int | None
) -> tuple[list[Pickup], list[Problem]]:
    """As `brought`, of a list's text; `path` is what it is called. Raises UsageError."""
    own, problems = _rows(text, path)
    if own:
        return placed(book, own), problems
    found: list[Pickup] = []
    faults: list[Problem] = []
    unread: list[Problem] = []
    chapter_of = cache(partial(places.HeardChapter, book))
    for note in proofnotes.read(text):
        if note.is_unread:
            unread.append(Problem(path, note.line, f"no time and no chunk: {note.words}"))
            continue
        try:
            found.append(pickup(_noted(book, note, chapter, chapter_of), note.words))
        except UsageError as error:
            faults.append(Problem(path, note.line, f"{error}: {note.words}"))
    if not (found or faults):
        raise UsageError(f"{path}: no line of it has a time and a note, as in: 3 00:12:34 — note")
    return found, sorted([*faults, *unread], key=lambda problem: problem.line or 0)


def _noted(
    book: BookPlan,
    note: proofnotes.Note,
    chapter: int | None,
    chapter_of: Callable[[int], places.HeardChapter],
) -> Passage:
    """What a note is on. Raises UsageError."""
    if note.chunk:
        return places.passages_of(book, [find_step(book, note.chunk)])[0]
    number = chapter if note.chapter is None else note.chapter - 1
    if number is None:
        _, number, seconds = places.in_book(book, note.seconds)
        return chapter_of(number).at(seconds)[0].passage
    if not 0 <= number < len(book.chapters):
        raise UsageError(f"there is no chapter {number + 1}")
    return chapter_of(number).at(note.seconds)[0].passage
