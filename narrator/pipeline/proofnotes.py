"""What listeners write of a book, as lines with times, tables or labels -> when, and what.

    3 00:12:34 — “bow” as in arrow     Chapter 3 / 12:34 wrong name     3.12 too fast
    Chapter,Timecode,Comment           754.2<tab>756.0<tab>too fast

Knows no book.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from narrator.characters import seen
from narrator.text.markup import squeeze

TIME = re.compile(r"(?:(?P<hours>\d{1,3}):)?(?P<minutes>\d{1,3}):(?P<seconds>\d{2}(?:[.,]\d+)?)")
"""12:34, 1:12:34, 00:12:34,567 as subtitles have it."""
_CHAPTER = r"(?:ch(?:apter|\.)? ?)?(?P<chapter>\d{1,4})"
_BETWEEN = r"[\s,.:;|\]–—-]+"
_LINE = re.compile(
    rf"(?:{_CHAPTER}(?:\s*[,.;|–—-]\s*|:?\s+))?(?P<time>{TIME.pattern})"
    rf"(?:{_BETWEEN}(?P<words>.*))?",
    re.IGNORECASE,
)
_CHUNK = re.compile(rf"(?P<chunk>\d{{1,4}}\.\d{{1,6}})(?:{_BETWEEN}(?P<words>.*))?")
_LABEL = re.compile(r"(?P<start>\d+(?:[.,]\d+)?)\t\d+(?:[.,]\d+)?\t(?P<words>.+)")
"""Audacity's: seconds, seconds, words."""
_HEADING = re.compile(r"ch(?:apter|\.)? ?(?P<chapter>\d{1,4})\b.*", re.IGNORECASE)
_COLUMNS = {
    "chapter": "chapter chap track kapitel chapitre capítulo capitolo",
    "time": "time start timecode timestamp in position zeit",
    "words": "note notes comment comments issue correction pickup description bemerkung remarque",
}
"""What columns of tables are called."""


@dataclass(frozen=True, slots=True)
class Note:
    """A place, by its chunk or by its time, and what is to be done there."""

    line: int
    words: str
    chunk: str = ""
    chapter: int | None = None
    """From 1; None where nothing says it."""
    seconds: float = 0.0
    is_unread: bool = False
    """Whether it is no note: a line that says no place."""


def seconds_of(time: str) -> float | None:
    """Seconds of a time as people write it."""
    written = TIME.fullmatch(time.strip())
    if written is None:
        return None
    hours, minutes = int(written["hours"] or 0), int(written["minutes"])
    return hours * 3600 + minutes * 60 + float(written["seconds"].replace(",", "."))


def read(text: str) -> Iterator[Note]:
    """The notes of a list, in order, and the lines that are none."""
    names, rows = table(text)
    if columns := _named([name.casefold() for name in names]):
        yield from _tabled(rows, columns)
        return
    chapter: int | None = None
    for number, line in enumerate(text.splitlines(), 1):
        plain = squeeze(seen(line)).lstrip("*#-•[ ")
        if label := _LABEL.fullmatch(line.strip()):
            start = float(label["start"].replace(",", "."))
            yield Note(number, squeeze(seen(label["words"])), chapter=chapter, seconds=start)
        elif said := _LINE.fullmatch(plain):
            own = int(said["chapter"]) if said["chapter"] else chapter
            seconds = seconds_of(said["time"]) or 0.0
            yield Note(number, said["words"] or "", chapter=own, seconds=seconds)
        elif chunk := _CHUNK.fullmatch(plain):
            yield Note(number, chunk["words"] or "", chunk=chunk["chunk"])
        elif heading := _HEADING.fullmatch(plain):
            chapter = int(heading["chapter"])
        elif any(map(str.isalnum, plain)):
            yield Note(number, plain, is_unread=True)


def _named(names: Sequence[str]) -> dict[str, int]:
    """Where a table's columns are, if its first row names those of times and notes."""
    found: dict[str, int] = {}
    for place, cell in enumerate(names):
        for name, words in _COLUMNS.items():
            if set(cell.split()) & set(words.split()):
                found.setdefault(name, place)
    return found if {"time", "words"} <= found.keys() else {}


def _tabled(rows: Iterable[tuple[int, Sequence[str]]], columns: dict[str, int]) -> Iterator[Note]:
    for line, cells in rows:
        cells = [*cells, *[""] * (1 + max(columns.values()) - len(cells))]
        seconds = seconds_of(cells[columns["time"]])
        chapter = re.search(r"\d{1,4}", cells[columns["chapter"]]) if "chapter" in columns else None
        if seconds is not None:
            number = int(chapter[0]) if chapter else None
            yield Note(line, cells[columns["words"]], chapter=number, seconds=seconds)
        else:
            yield Note(line, " ".join(filter(None, cells)), is_unread=True)


# -- tables ----------------------------------------------------------------------------------------


def table(text: str) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """A CSV's first row, and its other ones with their lines, parted by what parts the first row;
    cells without what cannot be seen."""
    lines = text.replace("\0", "").splitlines(keepends=True)
    head = lines[0] if lines else ""
    reader = csv.reader(lines, delimiter=max(",;\t", key=head.count))
    found: list[tuple[int, list[str]]] = []
    while True:
        begin = reader.line_num + 1
        try:
            cells = [_shown(cell) for cell in next(reader)]
        except StopIteration:
            break
        except csv.Error:  # a cell of more than 131,072 characters
            continue
        if any(cells):
            found.append((begin, cells))
    return (found[0][1], found[1:]) if found else ([], [])


def _shown(cell: str) -> str:
    return squeeze(seen(_APOSTROPHE.sub("", cell)))


_APOSTROPHE = re.compile(r"\A'(?='*[=+\-@])")
"""Keeps spreadsheets from calculating a cell."""
_FORMULA = re.compile(r"'*[=+\-@＝＋－＠]")


def as_text(cell: str) -> str:
    """A cell as spreadsheets read it: as text, and `table` as it was."""
    return f"'{cell}" if _FORMULA.match(cell) else cell
