"""Pickups: a list for people of passages that should be spoken again or differently.

    done,chapter,time,chunk,speaker,source,text,note
    ,3,00:12:34.0,3.12,Ada,chapters/03.md:45,"Take a bow, Ben.",“bow” as in arrow

A column `who` names people who flag in the studio, once there is one with a name.

The list lies beside the manifest and may be edited in a spreadsheet. A row is found by its words,
so edits elsewhere do not move it. If its words are gone from the book, the row stays and is
reported as lost.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path

from narrator import files
from narrator.errors import Problem, StorageError, UsageError
from narrator.pipeline import places, proof_notes
from narrator.pipeline.book_plan import BookPlan, find_step
from narrator.pipeline.places import Passage
from narrator.project.project import Project
from narrator.sound.clock import format_fine_clock
from narrator.text.alignment import most_similar_index, nearest_first
from narrator.text.markup import squeeze
from textbase.characters import decode_text

_MAX_BYTES = 16_000_000
"""Bytes of a list, enough for a hundred thousand rows."""
_MIN_LIKENESS = 0.6
"""Share of common words from which a text counts as an edited version of another."""
_SEARCH_RADIUS = 40
"""Number of passages before and after the expected one that are searched for an edited text."""
_YES_WORDS = frozenset("x yes y true 1 done ok ✓ ✔ ja oui sí sì".split())


@dataclass(frozen=True, slots=True)
class Pickup:
    """A row of the list."""

    chapter: str
    """Chapter number, counted from 1."""
    time: str
    """Time in the sound of its chapter; empty if that has not been made."""
    chunk: str
    speaker: str
    source: str
    """file:line."""
    text: str
    note: str
    done: bool = False
    is_lost: bool = False
    """True if the text is gone from the book."""
    who: str = ""
    """Name of the person who noted it; empty if it is not known."""
    more: tuple[tuple[str, str], ...] = ()
    """Names and cells of columns added by users."""


_COLUMNS = ("done", "chapter", "time", "chunk", "speaker", "source", "text", "note")
_NAME_COLUMN = "who"


def path_of(project: Project) -> Path:
    """The list of a project's manifest."""
    return project.root / f"{project.stem}.pickups.csv"


# -- reading and writing ---------------------------------------------------------------------------


def read(path: Path) -> tuple[list[Pickup], list[Problem]]:
    """Read the rows of a list, with a problem for what cannot be read.

    Both are empty if there is no list. Raises StorageError if the file cannot be read at all.
    """
    try:
        with files.translating_errors(path):
            content = files.read_bounded(path, _MAX_BYTES)
    except files.TooLarge:
        raise StorageError(f"{path}: larger than 16 MB, too large for a list of pickups") from None
    except StorageError:
        if path.exists():
            raise
        return [], []
    return _parse_rows(decode_text(content)[0], path)


def _parse_rows(text: str, path: Path) -> tuple[list[Pickup], list[Problem]]:
    """Parse a list, whose first row names its columns."""
    header, rows = proof_notes.read_table(text)
    names = [name.casefold() for name in header]
    if not names:
        return [], []
    if not {"note", "text"} <= set(names):
        message = f"its first line names no columns `text` and `note`: {', '.join(_COLUMNS)}"
        return [], [Problem(path, 1, message)]
    return [_parse_row(dict(zip(names, cells, strict=False))) for _, cells in rows], []


def _parse_row(cells: Mapping[str, str]) -> Pickup:
    """Build a row from its cells by column name."""

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
        done=cell("done").casefold() in _YES_WORDS,
        who=cell(_NAME_COLUMN),
        more=tuple(
            (name, text) for name, text in cells.items() if name not in (*_COLUMNS, _NAME_COLUMN)
        ),
    )


def write(path: Path, rows: Sequence[Pickup]) -> None:
    """Write the list. Raises StorageError."""
    files.write(path, table_of(rows))


def table_of(rows: Sequence[Pickup]) -> bytes:
    """The list as bytes."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    names = [_NAME_COLUMN] if any(row.who for row in rows) else []
    columns = [*_COLUMNS, *names, *dict.fromkeys(name for row in rows for name, _ in row.more)]
    writer.writerow(columns)
    for row in rows:
        cells = {**asdict(row), **dict(row.more), "done": "x" if row.done else ""}
        writer.writerow([proof_notes.escape_formula(cells.get(column, "")) for column in columns])
    # spreadsheets recognise UTF-8 by its byte order mark only
    return buffer.getvalue().encode("utf-8-sig", errors="replace")


# -- finding rows in the book ----------------------------------------------------------------------


def new_pickup(passage: Passage, note: str) -> Pickup:
    """A new row for a note on a passage."""
    return _place_row(Pickup("", "", "", "", "", "", squeeze(note)), passage)


def _place_row(row: Pickup, passage: Passage) -> Pickup:
    """The row with the place and words of a passage."""
    return replace(
        row,
        chapter=str(passage.chapter + 1),
        time="" if passage.start is None else format_fine_clock(passage.start),
        chunk=passage.chunk,
        speaker=passage.speaker,
        source=passage.source,
        text=squeeze(passage.text),
        is_lost=False,
    )


def place_rows(book: BookPlan, rows: Sequence[Pickup]) -> list[Pickup]:
    """Find the passages of rows in the book's present state, by their words.

    The chunk that the row names is tried first, then the nearest passage of the same file, with the
    same words or edited ones. Rows that are not found are marked as lost and otherwise unchanged.
    """
    timelines = [places.timeline_of(book, number) for number in range(len(book.chapters))]
    passages = list(places.all_passages(book, timelines).values())
    finder = _PassageFinder(passages)
    return [
        replace(row, is_lost=True) if index is None else _place_row(row, passages[index])
        for row, index in ((row, finder.find_index(row)) for row in rows)
    ]


class _PassageFinder:
    """Finds the passages of rows by their words."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self.passages = passages
        self.texts = [squeeze(passage.text) for passage in passages]
        self.index_by_chunk = {passage.chunk: index for index, passage in enumerate(passages)}
        self.indices_by_text: dict[str, list[int]] = {}
        for index, text in enumerate(self.texts):
            self.indices_by_text.setdefault(text, []).append(index)

    def find_index(self, row: Pickup) -> int | None:
        """The index of a row's passage, or None."""
        expected_index = self._expected_index(row)
        source = _file_of(row)
        if exact_indices := self.indices_by_text.get(row.text):

            def distance(index: int) -> tuple[bool, int]:
                return _file_of(self.passages[index]) != source, abs(index - expected_index)

            return min(exact_indices, key=distance)
        nearby_indices = [
            index
            for index in nearest_first(len(self.texts), expected_index)
            if abs(index - expected_index) <= _SEARCH_RADIUS
            and _file_of(self.passages[index]) == source
        ]
        return most_similar_index(
            self.texts, row.text, nearby_indices, min_similarity=_MIN_LIKENESS
        )

    def _expected_index(self, row: Pickup) -> int:
        """The index of a row's passage if nothing had been edited."""
        if row.chunk in self.index_by_chunk:
            return self.index_by_chunk[row.chunk]
        chapter_indices = [
            index
            for index, passage in enumerate(self.passages)
            if str(passage.chapter + 1) == row.chapter
        ]
        return chapter_indices[-1] if chapter_indices else 0


def _file_of(place: Passage | Pickup) -> str:
    """The file of a passage's or a row's source."""
    return place.source.rpartition(":")[0]


# -- changing the list -----------------------------------------------------------------------------


def read_pickups(book: BookPlan) -> tuple[list[Pickup], list[Problem]]:
    """Read the list and find its rows in the book, with the problems of what cannot be read.

    Raises StorageError.
    """
    rows, problems = read(path_of(book.project))
    return place_rows(book, rows), problems


def add(book: BookPlan, candidates: Sequence[Pickup]) -> list[Pickup]:
    """Add rows to the list and return those that it did not have yet.

    Raises UsageError if the list has rows that cannot be read, which would get lost, StorageError.
    """
    rows = _read_all_rows(book)
    open_notes = {(row.text, row.note, row.who) for row in rows if not row.done}
    added_rows = [row for row in candidates if (row.text, row.note, row.who) not in open_notes]
    write(path_of(book.project), sorted(place_rows(book, [*rows, *added_rows]), key=_sort_key))
    return added_rows


def mark_done(book: BookPlan, chunks: Sequence[str]) -> int:
    """Mark the rows of chunks as done and return their number. Raises as `add`."""
    rows = place_rows(book, _read_all_rows(book))
    finished_rows = [
        row for row in rows if row.chunk in chunks and not row.done and not row.is_lost
    ]
    write(
        path_of(book.project), [replace(row, done=row.done or row in finished_rows) for row in rows]
    )
    return len(finished_rows)


def set_done(book: BookPlan, chunk: str, note: str, is_done: bool) -> int:
    """Mark the rows of a chunk with this note as done or to do, and return their number.

    Raises as `add`.
    """
    rows = place_rows(book, _read_all_rows(book))
    matching_rows = [
        row for row in rows if (row.chunk, row.note) == (chunk, note) and not row.is_lost
    ]
    write(
        path_of(book.project),
        [replace(row, done=is_done) if row in matching_rows else row for row in rows],
    )
    return len(matching_rows)


def remove(
    book: BookPlan, chunks_and_notes: Collection[tuple[str, str]], who: str | None = None
) -> int:
    """Remove rows by their chunks and notes, those of one person alone if `who` is a name, and
    return their number.

    Each pair removes one row, the newest of several that are alike. Raises as `add`.
    """
    rows, kept_rows = place_rows(book, _read_all_rows(book)), list[Pickup]()
    unremoved_counts = Counter((chunk, squeeze(note)) for chunk, note in chunks_and_notes)
    for row in reversed(rows):
        chunk_and_note = row.chunk, squeeze(row.note)
        is_theirs = who is None or row.who == who
        if unremoved_counts[chunk_and_note] and is_theirs and not row.is_lost:
            unremoved_counts[chunk_and_note] -= 1
        else:
            kept_rows.append(row)
    if len(kept_rows) < len(rows):
        write(path_of(book.project), kept_rows[::-1])
    return len(rows) - len(kept_rows)


def _read_all_rows(book: BookPlan) -> list[Pickup]:
    """The rows of the list. Raises UsageError if any of them cannot be read."""
    rows, problems = read(path_of(book.project))
    if problems:
        raise UsageError(f"{problems[0]}; mend it first")
    return rows


def _sort_key(row: Pickup) -> tuple[int, ...]:
    """Sort key: the numbers in the id of a row's chunk."""
    return tuple(int(number) for number in re.findall(r"\d{1,9}", row.chunk))


def write_labels(rows: Sequence[Pickup], folder: Path) -> list[Path]:
    """Write a label file for an audio editor for each chapter with open pickups.

    Chapters without sound have none. Raises StorageError.
    """
    paths = []
    for chapter, labels in labels_of(rows).items():
        paths.append(folder / f"{chapter} pickups.txt")
        files.write(paths[-1], labels.encode("utf-8", "replace"))
    return paths


def labels_of(rows: Sequence[Pickup]) -> dict[str, str]:
    """The label file of each chapter with open pickups and with sound, by chapter number."""
    chapters: dict[str, list[str]] = {}
    for row in rows:
        seconds = proof_notes.seconds_of(row.time)
        if seconds is not None and not row.done:
            label = f"{seconds:.6f}\t{seconds:.6f}\t{row.chunk} {row.note}\n"
            chapters.setdefault(row.chapter, []).append(label)
    return {chapter: "".join(labels) for chapter, labels in chapters.items()}


# -- lists from other people -----------------------------------------------------------------------


def import_list(
    book: BookPlan, path: Path, chapter: int | None
) -> tuple[list[Pickup], list[Problem]]:
    """Read somebody's list, which may be ours or one that `proof_notes` reads.

    Returns its rows, and problems for lines that cannot be placed in the book. `chapter`, counted
    from 0, is the chapter of times without one. Raises StorageError, UsageError.
    """
    with files.translating_errors(path):
        try:
            text, _ = decode_text(files.read_bounded(path, _MAX_BYTES))
        except files.TooLarge:
            raise UsageError(
                f"{path}: larger than 16 MB, too large for a list of pickups"
            ) from None
    return import_text(book, text, path, chapter)


def import_text(
    book: BookPlan, text: str, path: Path, chapter: int | None
) -> tuple[list[Pickup], list[Problem]]:
    """Like `import_list`, for the text of a list; `path` is its name in messages.

    Raises UsageError.
    """
    own_rows, problems = _parse_rows(text, path)
    if own_rows:
        return place_rows(book, own_rows), problems
    rows: list[Pickup] = []
    placing_problems: list[Problem] = []
    unread_lines: list[Problem] = []
    chapter_of = cache(partial(places.HeardChapter, book))
    for note in proof_notes.read_notes(text):
        if note.is_unread:
            unread_lines.append(Problem(path, note.line, f"no time and no chunk: {note.words}"))
            continue
        try:
            rows.append(
                new_pickup(_find_noted_passage(book, note, chapter, chapter_of), note.words)
            )
        except UsageError as error:
            placing_problems.append(Problem(path, note.line, f"{error}: {note.words}"))
    if not (rows or placing_problems):
        raise UsageError(f"{path}: no line of it has a time and a note, as in: 3 00:12:34 — note")
    return rows, sorted([*placing_problems, *unread_lines], key=lambda problem: problem.line or 0)


def _find_noted_passage(
    book: BookPlan,
    note: proof_notes.Note,
    chapter: int | None,
    chapter_of: Callable[[int], places.HeardChapter],
) -> Passage:
    """The passage of a note. Raises UsageError."""
    if note.chunk:
        return places.passages_of(book, [find_step(book, note.chunk)])[0]
    number = chapter if note.chapter is None else note.chapter - 1
    if number is None:
        _, number, seconds = places.locate_in_book(book, note.seconds)
        return chapter_of(number).passages_at(seconds)[0].passage
    if not 0 <= number < len(book.chapters):
        raise UsageError(f"there is no chapter {number + 1}")
    return chapter_of(number).passages_at(note.seconds)[0].passage
