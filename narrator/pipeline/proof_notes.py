"""Reads notes of listeners on a book, as lines with times, tables or labels.

    3 00:12:34 — “bow” as in arrow     Chapter 3 / 12:34 wrong name     3.12 too fast
    Chapter,Timecode,Comment           754.2<tab>756.0<tab>too fast

Knows no book.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from narrator.text.markup import squeeze
from textbase.characters import strip_invisible

TIME_PATTERN = re.compile(
    r"(?:(?P<hours>\d{1,3}):)?(?P<minutes>\d{1,3}):(?P<seconds>\d{2}(?:[.,]\d+)?)"
)
"""12:34, 1:12:34, or 00:12:34,567 as in subtitles."""
_CHAPTER = r"(?:ch(?:apter|\.)? ?)?(?P<chapter>\d{1,4})"
_BETWEEN = r"[\s,.:;|\]–—-]+"
_LINE = re.compile(
    rf"(?:{_CHAPTER}(?:\s*[,.;|–—-]\s*|:?\s+))?(?P<time>{TIME_PATTERN.pattern})"
    rf"(?:{_BETWEEN}(?P<words>.*))?",
    re.IGNORECASE,
)
_CHUNK = re.compile(rf"(?P<chunk>\d{{1,4}}\.\d{{1,6}})(?:{_BETWEEN}(?P<words>.*))?")
_LABEL = re.compile(r"(?P<start>\d+(?:[.,]\d+)?)\t\d+(?:[.,]\d+)?\t(?P<words>.+)")
"""A label of Audacity: start, end (in seconds), words."""
_HEADING = re.compile(r"ch(?:apter|\.)? ?(?P<chapter>\d{1,4})\b.*", re.IGNORECASE)
_COLUMNS = {
    "chapter": "chapter chap track kapitel chapitre capítulo capitolo",
    "time": "time start timecode timestamp in position zeit",
    "words": "note notes comment comments issue correction pickup description bemerkung remarque",
}
"""Column -> its names in the tables of listeners."""


@dataclass(frozen=True, slots=True)
class Note:
    """A listener's note, with its place by chunk or by time."""

    line: int
    words: str
    chunk: str = ""
    chapter: int | None = None
    """Counted from 1; None if the note names none."""
    seconds: float = 0.0
    is_unread: bool = False
    """True if the line is no note, since it names no place."""


def seconds_of(time: str) -> float | None:
    """The seconds of a time as people write it, or None."""
    match = TIME_PATTERN.fullmatch(time.strip())
    if match is None:
        return None
    hours, minutes = int(match["hours"] or 0), int(match["minutes"])
    return hours * 3600 + minutes * 60 + float(match["seconds"].replace(",", "."))


def read_notes(text: str) -> Iterator[Note]:
    """Yields the notes of a list in order, and lines that are no notes."""
    names, rows = read_table(text)
    if columns := _column_indices([name.casefold() for name in names]):
        yield from _read_table_notes(rows, columns)
        return
    chapter: int | None = None
    for number, line in enumerate(text.splitlines(), 1):
        plain = squeeze(strip_invisible(line)).lstrip("*#-•[ ")
        if label_match := _LABEL.fullmatch(line.strip()):
            start = float(label_match["start"].replace(",", "."))
            yield Note(
                number,
                squeeze(strip_invisible(label_match["words"])),
                chapter=chapter,
                seconds=start,
            )
        elif note_match := _LINE.fullmatch(plain):
            note_chapter = int(note_match["chapter"]) if note_match["chapter"] else chapter
            seconds = seconds_of(note_match["time"]) or 0.0
            yield Note(number, note_match["words"] or "", chapter=note_chapter, seconds=seconds)
        elif chunk_match := _CHUNK.fullmatch(plain):
            yield Note(number, chunk_match["words"] or "", chunk=chunk_match["chunk"])
        elif heading_match := _HEADING.fullmatch(plain):
            chapter = int(heading_match["chapter"])
        elif any(map(str.isalnum, plain)):
            yield Note(number, plain, is_unread=True)


def _column_indices(names: Sequence[str]) -> dict[str, int]:
    """The index of each column, if the first row of a table names times and notes."""
    column_indices: dict[str, int] = {}
    for index, cell in enumerate(names):
        for name, synonyms in _COLUMNS.items():
            if set(cell.split()) & set(synonyms.split()):
                column_indices.setdefault(name, index)
    return column_indices if {"time", "words"} <= column_indices.keys() else {}


def _read_table_notes(
    rows: Iterable[tuple[int, Sequence[str]]], column_indices: dict[str, int]
) -> Iterator[Note]:
    """Yields a note for each row of a table with a time, and the other rows as unread."""
    for line, cells in rows:
        cells = [*cells, *[""] * (1 + max(column_indices.values()) - len(cells))]
        seconds = seconds_of(cells[column_indices["time"]])
        chapter_match = (
            re.search(r"\d{1,4}", cells[column_indices["chapter"]])
            if "chapter" in column_indices
            else None
        )
        if seconds is not None:
            number = int(chapter_match[0]) if chapter_match else None
            yield Note(line, cells[column_indices["words"]], chapter=number, seconds=seconds)
        else:
            yield Note(line, " ".join(filter(None, cells)), is_unread=True)


# -- tables ----------------------------------------------------------------------------------------


def read_table(text: str) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The first row of a CSV file, and its other rows with their line numbers.

    The separator is the most frequent one in the first row. Invisible characters are removed.
    """
    lines = text.replace("\0", "").splitlines(keepends=True)
    header = lines[0] if lines else ""
    reader = csv.reader(lines, delimiter=max(",;\t", key=header.count))
    numbered_rows: list[tuple[int, list[str]]] = []
    while True:
        line_number = reader.line_num + 1
        try:
            cells = [_clean_cell(cell) for cell in next(reader)]
        except StopIteration:
            break
        except csv.Error:  # a cell of more than 131,072 characters
            continue
        if any(cells):
            numbered_rows.append((line_number, cells))
    return (numbered_rows[0][1], numbered_rows[1:]) if numbered_rows else ([], [])


def _clean_cell(cell: str) -> str:
    return squeeze(strip_invisible(_APOSTROPHE.sub("", cell)))


_APOSTROPHE = re.compile(r"\A'(?='*[=+\-@])")
"""The apostrophe that keeps spreadsheets from calculating a cell."""
_FORMULA = re.compile(r"'*[=+\-@＝＋－＠]")


def escape_formula(cell: str) -> str:
    """A cell that spreadsheets read as text, not as a formula; `read_table` reads it unchanged."""
    return f"'{cell}" if _FORMULA.match(cell) else cell
