"""Reports oddities of a book's chapters: implausible lengths, and numbers with gaps.

`new` and `check` show each kind once, with advice: a missed heading leaves a chapter of many hours
and a gap in the numbers. Knows titles and lengths, but no text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from statistics import median

from manuscripts.book import Book, ImportedChapter
from manuscripts.counting import parse_bare_number, parse_numbering
from narrator.text.pace import expected_seconds

_MAX_CHAPTER_SECONDS = 3 * 3600
"""Seconds; the longest chapters of novels last two and a half hours."""
_MIN_CHAPTER_SECONDS, _MIN_MEDIAN_RATIO = 20, 60
"""Seconds, and how many times as long the median chapter is at least."""
_MAX_CHAPTER_NUMBER = 200
"""Larger numbers are years."""
_MAX_SHOWN = 3
HEADING_ADVICE = (
    "`narrator new --chapter-heading` says what begins a chapter; or edit text and book.yaml"
)


@dataclass(frozen=True, slots=True)
class ChapterShape:
    """A chapter as a listener meets it."""

    title: str
    seconds: float
    heading_count: int
    """Number of headings above its text; more than one means that a part or a story begins here."""


def chapter_shapes(book: Book) -> list[ChapterShape]:
    """Returns title, length and headings of each chapter of an imported book."""
    return [_chapter_shape(chapter, book.language) for chapter in book.chapters]


def book_oddities(book: Book) -> list[str]:
    """Returns the oddities of an imported book's chapters, a line each."""
    return chapter_oddities(chapter_shapes(book))


def _chapter_shape(chapter: ImportedChapter, language: str) -> ChapterShape:
    rows = [row for row in chapter.markdown.split("\n") if row.strip()]
    headings = sum(1 for _ in takewhile(lambda row: row.startswith("#"), rows))
    return ChapterShape(chapter.title, expected_seconds(chapter.markdown, language), headings)


def chapter_oddities(chapters: Sequence[ChapterShape]) -> list[str]:
    """Returns a line for each kind of oddity, with advice."""
    median_seconds = median(c.seconds for c in chapters) if chapters else 0.0
    min_seconds = min(_MIN_CHAPTER_SECONDS, median_seconds / _MIN_MEDIAN_RATIO)
    long_chapters = [
        f"“{c.title}” ({c.seconds / 3600:.1f} h)"
        for c in chapters
        if c.seconds > _MAX_CHAPTER_SECONDS
    ]
    short_chapters = [
        f"“{c.title}” ({c.seconds:.0f} s)" for c in chapters if 0 < c.seconds < min_seconds
    ]
    oddities = (
        ("longer than chapters are: {}; headings may have been missed.", long_chapters),
        ("much shorter than the others: {}; are they chapters?", short_chapters),
        ("chapter numbers do not run on: {}.", list(_find_number_gaps(chapters))),
    )
    messages = []
    for message, places in oddities:
        hidden_count = len(places) - _MAX_SHOWN
        more = f" and {hidden_count} more" if hidden_count > 0 else ""
        shown_places = f"{', '.join(places[:_MAX_SHOWN])}{more}"
        messages += [f"{message.format(shown_places)} {HEADING_ADVICE}"] * bool(places)
    return messages


def _find_number_gaps(chapters: Sequence[ChapterShape]) -> Iterator[str]:
    """Yields a description where a chapter's number does not follow the one before it."""
    last_by_family: dict[tuple[str, str], tuple[int, str]] = {}
    numbers = [_numbering_in_title(chapter.title) for chapter in chapters]
    previous_number: tuple[str, str, int] | None = ("", "", 0)
    for chapter, numbering in zip(chapters, numbers, strict=True):
        if chapter.heading_count > 1:
            last_by_family.clear()  # a part or a story begins
        if numbering is not None and numbering[2] <= _MAX_CHAPTER_NUMBER:
            family, current_number = numbering[:2], numbering[2]
            if previous_number is None and current_number == 1:
                last_by_family.clear()
            last_number, title_above = last_by_family.get(family, (0, ""))
            yield from _describe_oddity(current_number, last_number, chapter.title, title_above)
            last_by_family[family] = current_number, chapter.title
        previous_number = numbering


def _describe_oddity(number: int, last_number: int, title: str, title_above: str) -> Iterator[str]:
    """Yields what is odd about a number after the previous one; 0 means no previous number."""
    missing_numbers = range(last_number + 1, number)
    if missing_numbers and title_above:
        subject = (
            f"{missing_numbers[0]} to {missing_numbers[-1]} are"
            if len(missing_numbers) > 1
            else f"{missing_numbers[0]} is"
        )
        yield f"{subject} missing between “{title_above}” and “{title}”"
    elif number == last_number:
        yield f"“{title_above}” is followed by “{title}”, which has the same number"
    elif number == 1 and last_number:
        yield f"“{title}” begins again after “{title_above}”, and no part is named"
    elif number < last_number:
        yield f"“{title}” stands after “{title_above}”"


def _numbering_in_title(title: str) -> tuple[str, str, int] | None:
    """Returns the holder of a chapter, its counted word, and its number."""
    for mark in (", ", ": "):
        holder, _, own_title = title.rpartition(mark)
        if holder and (inner_numbering := _numbering_in_title(own_title)):
            return holder, *inner_numbering[1:]
    numbering = parse_numbering(title) or parse_bare_number(title)
    if numbering is None or numbering.value is None:
        return None
    is_apart = numbering.word or numbering.mark or numbering.title[:1] in ("", "—", "–")
    return ("", numbering.word, numbering.value) if is_apart else None
