"""What is odd about a book's chapters: lengths that no chapter has, numbers that do not run on.

Said by `new` and by `check`, each kind once, with the mend: a heading that was not seen leaves a
chapter of many hours and a gap in the numbers. Knows titles and lengths, no text beyond them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from statistics import median

from narrator.importers.book import Book, ImportedChapter
from narrator.importers.counting import ROMAN, bare_value, counted
from narrator.text.pace import expected_seconds

_LONG = 3 * 3600
"""Seconds; the longest chapters of novels have two hours and a half."""
_TINY, _TINY_SHARE = 20, 60
"""Seconds, and how many times as long the median chapter is at least."""
_MANY = 200
"""Numbers above are years."""
_SHOWN = 3
MEND = "`narrator new --chapter-heading` says what begins a chapter; or edit text and book.yaml"
_BARE = re.compile(rf"(\d{{1,3}}|{ROMAN.upper()})(?=[.:)—–]|\s*$)")


@dataclass(frozen=True, slots=True)
class Shape:
    """A chapter as a listener meets it."""

    title: str
    seconds: float
    headings: int
    """How many stand above its text: with more than one, something that holds it begins here."""


def shapes_of(book: Book) -> list[Shape]:
    """The chapters of an imported book as a listener meets them."""
    return [_shape(chapter, book.language) for chapter in book.chapters]


def doubts_of(book: Book) -> list[str]:
    """What is odd about the chapters of an imported book, a line each."""
    return doubts(shapes_of(book))


def _shape(chapter: ImportedChapter, language: str) -> Shape:
    rows = [row for row in chapter.markdown.split("\n") if row.strip()]
    headings = sum(1 for _ in takewhile(lambda row: row.startswith("#"), rows))
    return Shape(chapter.title, expected_seconds(chapter.markdown, language), headings)


def doubts(chapters: Sequence[Shape]) -> list[str]:
    """A line for each kind of oddity, with the mend."""
    long = [f"“{c.title}” ({c.seconds / 3600:.1f} h)" for c in chapters if c.seconds > _LONG]
    said = []
    if long:
        said.append(f"longer than chapters are: {_several(long)}; headings may have been missed")
    usual = median(c.seconds for c in chapters) if chapters else 0.0
    tiny = [f"“{c.title}” ({c.seconds:.0f} s)" for c in chapters
            if 0 < c.seconds < _TINY and c.seconds * _TINY_SHARE < usual]  # fmt: skip
    if tiny:
        said.append(f"much shorter than the others: {_several(tiny)}; are they chapters?")
    if gaps := list(_uncounted(chapters)):
        said.append(f"chapter numbers do not run on: {_several(gaps)}")
    return [f"{what}{'' if what.endswith('?') else '.'} {MEND}" for what in said]


def _several(items: Sequence[str]) -> str:
    more = len(items) - _SHOWN
    return ", ".join(items[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _uncounted(chapters: Sequence[Shape]) -> Iterator[str]:
    """Where a chapter's number is not the one after that of the chapter before it."""
    last: dict[tuple[str, str], tuple[int, str]] = {}
    families = [_number(chapter.title) for chapter in chapters]
    before: tuple[str, str, int] | None = ("", "", 0)
    for chapter, number in zip(chapters, families, strict=True):
        if chapter.headings > 1:
            last.clear()  # a part or a story begins
        if number is not None and number[2] <= _MANY:
            family, value = number[:2], number[2]
            if before is None and value == 1:
                last.clear()
            expected, above = last.get(family, (0, ""))
            yield from _odd(value, expected, chapter.title, above)
            last[family] = value, chapter.title
        before = number


def _odd(value: int, last: int, title: str, above: str) -> Iterator[str]:
    """What is odd about a number after another one; 0 is none."""
    missing = range(last + 1, value)
    if missing and above:
        which = f"{missing[0]} to {missing[-1]} are" if len(missing) > 1 else f"{missing[0]} is"
        yield f"{which} missing between “{above}” and “{title}”"
    elif value == last:
        yield f"“{above}” is followed by “{title}”, which has the same number"
    elif value == 1 and last:
        yield f"“{title}” begins again after “{above}”, and no part is named"
    elif value < last:
        yield f"“{title}” stands after “{above}”"


def _number(title: str) -> tuple[str, str, int] | None:
    """What holds a chapter, what is counted, and its number."""
    for mark in (", ", ": "):
        held, _, own = title.rpartition(mark)
        if held and (counted(own) or _BARE.fullmatch(own)) and (inside := _number(own)):
            return held, inside[1], inside[2]
    said = counted(title)
    if said is not None:
        return None if said.value is None else ("", said.word, said.value)
    if bare := _BARE.match(title):
        value = bare_value(bare[1])
        return None if value is None else ("", "", value)
    return None
