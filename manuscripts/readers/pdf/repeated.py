"""Detects running heads and feet and page numbers, by lines at the same height on many pages.

A running head is repeated, has the number of its page, or repeats a heading in larger type. In type
larger than the text, most lines at its height must do so, as they could be headings of chapters.
Knows lines, not paragraphs or headings.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, takewhile
from statistics import median

from manuscripts.chapters.outline import letters
from manuscripts.counting import ROMAN, bare_value, parse_numbering
from manuscripts.readers.pdf.lines import TextLine, remaining

RUNNING_HEAD = "running head or foot"
PAGE_NUMBER = "page number"
_MAX_EDGE_LINES = 2
"""Maximum lines of running heads at the top, and of feet at the bottom, of a page."""
_HEIGHT_TOLERANCE = 3.0
"""Tolerance for the height of repeated lines, in points."""
_MIN_PAGES = 3
"""Minimum number of pages with a running head."""
_MAX_CHARACTERS = 120
"""Maximum characters of a running head."""
_LARGE_RATIO = 1.15
"""Size relative to the text above which a running head may instead be a heading."""
_HEADING_RATIO = 1.05
"""Minimum size of headings relative to running heads."""
_COVERED_SHARE = 0.4
"""Minimum share of pages with a running head in larger type, above that of chapter headings."""
_INTERRUPTED_SHARE = 0.15
"""Minimum share of these that interrupt a sentence, if the book has no larger type."""
_SENTENCE_END = re.compile(r"[.!?…:][\W\d]*$")
_MAX_HEAD_LINES = 3
"""Maximum lines of a wrapped running head."""
_MIN_PART_LETTERS = 8
"""Minimum letters of a running head that is part of a heading."""
_FEW_PAGES = 6
"""Number of pages of a source up to which two repetitions are enough."""
_PAGE_NUMBER = re.compile(r"^\W*(\d{1,4})(?!\d)|(?<!\d)(\d{1,4})\W*$")
_NUMBER_AT_EDGE = re.compile(r"^\W*\d{1,4}\b|\b\d{1,4}\W*$")
_SLOT_SHARE = 0.25
"""Share of pages with a running head at a height, from which all lines there are one."""
_NUMERAL = re.compile(rf"\d+|\b{ROMAN}\b", re.IGNORECASE)
_BARE_PAGE_NUMBER = re.compile(
    rf"\W*(?:\d{{1,4}}|{ROMAN}|(?:page|seite|p\.|pag\.|página|s\.)?\s*\d{{1,4}}"
    r"(?:\s*(?:/|of|von|de|di|van)\s*\d{1,4})?)\W*",
    re.IGNORECASE,
)


def omit_repeated(pages: Sequence[Sequence[TextLine]]) -> None:
    """Marks running heads, feet and page numbers as left out."""
    for is_top in (True, False):
        for _ in range(_MAX_EDGE_LINES):
            if not _omit_outermost([remaining(lines) for lines in pages], is_top):
                break


class _LargeHeadings:
    """The lines in large type, to detect running heads that repeat them."""

    def __init__(self, pages: Sequence[Sequence[TextLine]]) -> None:
        sizes = Counter(round(line.size, 1) for lines in pages for line in lines for _ in line.text)
        self.body_size = body_size = max(sizes, key=sizes.__getitem__, default=0.0)
        """Size of the body text, in points."""
        self.headings: list[tuple[float, int, str]] = []
        """Size, page index and letters of each heading."""
        for page_index, lines in enumerate(pages):
            for size, size_lines in groupby(lines, key=lambda line: round(line.size, 1)):
                if size > body_size * _HEADING_RATIO:
                    text = letters(" ".join(line.text for line in size_lines))
                    self.headings.append((size, page_index, text))

    def has_larger(self, size: float) -> bool:
        """Returns whether several pages have headings in type larger than this."""
        pages = {page for large, page, _ in self.headings if large > size * _HEADING_RATIO}
        return len(pages) > 1

    def repeat_heading(self, *lines: TextLine) -> bool:
        """Returns whether lines repeat a heading in larger type, or a part of one."""
        text = letters("".join(_NUMBER_AT_EDGE.sub("", line.text) for line in lines))
        return bool(text) and any(
            size > lines[0].size * _HEADING_RATIO
            and (text == heading or (len(text) >= _MIN_PART_LETTERS and text in heading))
            for size, _, heading in self.headings
        )


def _omit_outermost(pages: Sequence[Sequence[TextLine]], is_top: bool) -> bool:
    """Marks running heads, or feet, in the outermost lines; returns whether there were any."""
    headings = _LargeHeadings(pages)
    page_count = sum(map(bool, pages))
    min_pages = 2 if page_count <= _FEW_PAGES else _MIN_PAGES
    max_size = headings.body_size * _LARGE_RATIO
    edge_lines = list(_edge_lines(pages, is_top))
    large_lines = [line for line in edge_lines if line.size > max_size]
    small_lines = [line for line in edge_lines if line.size <= max_size]
    heading_lines = [line for line in small_lines if headings.repeat_heading(line)]
    heading_pages = _pages_by_height(heading_lines)
    repeated_lines = [
        *_repeated_lines(small_lines, _inner_text_counts(pages, small_lines)),
        *_lines_with_page_number(small_lines, min_pages),
        *(line for line in heading_lines if len(heading_pages[round(line.baseline)]) >= min_pages),
    ]
    heads = [
        *_large_running_heads(pages, large_lines, headings, page_count),
        *_lines_beside(repeated_lines, small_lines, max(_MIN_PAGES, page_count * _SLOT_SHARE)),
    ]
    for line in heads:
        is_number = _BARE_PAGE_NUMBER.fullmatch(line.text.strip())
        line.omission_reason = PAGE_NUMBER if is_number else RUNNING_HEAD
    for line in _wrapped_running_heads(pages, heads, headings) if is_top else ():
        line.omission_reason = RUNNING_HEAD
    return bool(heads)


def _edge_lines(pages: Sequence[Sequence[TextLine]], is_top: bool) -> Iterator[TextLine]:
    """Yields the short lines at the height of each page's highest or lowest line."""
    outermost = max if is_top else min
    for lines in filter(None, pages):
        height = outermost(line.baseline for line in lines)
        for line in lines:
            is_level = abs(line.baseline - height) < _HEIGHT_TOLERANCE
            if is_level and len(line.text) <= _MAX_CHARACTERS:
                yield line


def _lines_beside(
    repeated_lines: Sequence[TextLine], lines: Iterable[TextLine], min_pages: float
) -> Iterator[TextLine]:
    """Yields repeated lines, and lines at a height where enough pages have repeated ones."""
    pages_by_height = _pages_by_height(repeated_lines)
    repeated_ids = set(map(id, repeated_lines))
    sizes = {round(line.size) for line in repeated_lines}
    for line in lines:
        is_beside = (
            len(pages_by_height[round(line.baseline)]) >= min_pages and round(line.size) in sizes
        )
        if id(line) in repeated_ids or (is_beside and _is_complete(line)):
            yield line


def _wrapped_running_heads(
    pages: Sequence[Sequence[TextLine]], heads: Iterable[TextLine], headings: _LargeHeadings
) -> Iterator[TextLine]:
    """Yields the lines of wrapped running heads, near the height of known ones."""
    sizes_and_baselines = {
        (round(line.size), line.baseline) for line in heads if line.omission_reason == RUNNING_HEAD
    }

    def is_near(line: TextLine) -> bool:
        return any(
            size == round(line.size) and abs(line.baseline - baseline) < 2 * size
            for size, baseline in sizes_and_baselines
        )

    for lines in pages:
        top_lines = sorted(remaining(lines), key=lambda line: -line.baseline)[:_MAX_HEAD_LINES]
        head_lines = list(takewhile(is_near, top_lines))
        for count in range(len(head_lines), 1, -1):
            if headings.repeat_heading(*head_lines[:count]):
                yield from head_lines[:count]
                break


def _large_running_heads(
    pages: Sequence[Sequence[TextLine]],
    lines: Sequence[TextLine],
    headings: _LargeHeadings,
    page_count: int,
) -> Iterator[TextLine]:
    """Yields running heads in type larger than the text.

    They are at one height on many pages, and most are repeated soon, have the number of the page,
    or repeat a larger heading.
    """
    lines_by_slot: dict[tuple[int, int], list[TextLine]] = defaultdict(list)
    """Lines by their rounded height and size."""
    for line in lines:
        line_size = round(line.size)
        slots = (
            (height, size)
            for height, size in lines_by_slot
            if size == line_size and abs(height - line.baseline) < _HEIGHT_TOLERANCE
        )
        lines_by_slot[next(slots, (round(line.baseline), line_size))].append(line)
    for (_, size), slot_lines in lines_by_slot.items():
        slot_page_count = len({line.page for line in slot_lines})
        if slot_page_count < max(_MIN_PAGES, page_count * _COVERED_SHARE):
            continue
        min_interruptions = max(2, slot_page_count * _INTERRUPTED_SHARE)
        interrupts_sentences = _count_interruptions(pages, slot_lines) >= min_interruptions
        if not headings.has_larger(size) and not interrupts_sentences:
            continue
        if 2 * len(_confirmed_pages(slot_lines, headings)) >= slot_page_count:
            yield from slot_lines


def _confirmed_pages(lines: Sequence[TextLine], headings: _LargeHeadings) -> set[int]:
    """Returns the pages on which a line is a running head by its words: it is repeated on one of
    the next pages, has the number of the page, or repeats a larger heading."""
    pages_by_text: dict[str, list[int]] = defaultdict(list)
    for line in lines:
        pages_by_text[_mask_numbers(line.text)].append(line.page)
    numbered_ids = {
        id(line)
        for line in _lines_with_page_number(lines, _MIN_PAGES)
        if parse_numbering(line.text) is None
    }
    return {
        line.page
        for line in lines
        if id(line) in numbered_ids
        or headings.repeat_heading(line)
        or any(0 < abs(p - line.page) <= 2 for p in pages_by_text[_mask_numbers(line.text)])
    }


def _count_interruptions(pages: Sequence[Sequence[TextLine]], lines: Iterable[TextLine]) -> int:
    """Counts the lines that interrupt a sentence, as no heading does."""
    count = 0
    for line in lines:
        below = next((other for other in pages[line.page] if other is not line), None)
        above = next(reversed(pages[line.page - 1]), None) if line.page else None
        is_continued = below is not None and below.text.lstrip()[:1].islower()
        count += is_continued and above is not None and not _SENTENCE_END.search(above.text)
    return count


def _inner_text_counts(
    pages: Sequence[Sequence[TextLine]], edge_lines: Iterable[TextLine]
) -> Counter[str]:
    """Counts the texts of short lines that are not at the edge of a page."""
    edge_ids = set(map(id, edge_lines))
    return Counter(
        _mask_numbers(line.text)
        for lines in pages
        for line in lines
        if id(line) not in edge_ids and len(line.text) <= _MAX_CHARACTERS
    )


def _pages_by_height(lines: Iterable[TextLine]) -> Mapping[int, set[int]]:
    """Maps heights to the pages with one of these lines near that height."""
    pages_by_height: dict[int, set[int]] = defaultdict(set)
    for line in lines:
        for height in range(
            round(line.baseline - _HEIGHT_TOLERANCE), round(line.baseline + _HEIGHT_TOLERANCE) + 1
        ):
            pages_by_height[height].add(line.page)
    return pages_by_height


def _is_complete(line: TextLine) -> bool:
    """Returns whether a line does not end like a line of continuing text."""
    return not line.text.rstrip().endswith(("-", ",", ";"))


def _repeated_lines(lines: Iterable[TextLine], inner_counts: Mapping[str, int]) -> list[TextLine]:
    """Returns lines that are repeated at the same height on other pages, apart from numbers.

    Excludes texts as frequent inside of pages (`inner_counts`), such as the speakers of a play.
    """
    lines_by_text: dict[str, list[TextLine]] = defaultdict(list)
    for line in lines:
        if _is_complete(line):
            lines_by_text[_mask_numbers(line.text)].append(line)
    repeated_lines: list[TextLine] = []
    for text, text_lines in lines_by_text.items():
        height = median(line.baseline for line in text_lines)
        level_lines = [
            line for line in text_lines if abs(line.baseline - height) < _HEIGHT_TOLERANCE
        ]
        is_frequent = len(level_lines) >= max(_MIN_PAGES, inner_counts.get(text, 0) + 1)
        if is_frequent and ("#" not in text or _are_running_heads(level_lines)):
            repeated_lines += level_lines
    return repeated_lines


def _mask_numbers(text: str) -> str:
    return " ".join(_NUMERAL.sub("#", text).casefold().split())


def _lines_with_page_number(lines: Sequence[TextLine], min_pages: int) -> Iterator[TextLine]:
    """Yields lines that begin or end with a page number, at a height where others do.

    Also yields lines that are just the number of their page.
    """
    lines_by_slot: dict[tuple[int, int], list[TextLine]] = defaultdict(list)
    """Lines by their height and the difference of their number and the page's index."""
    for line in lines:
        for match in _PAGE_NUMBER.finditer(line.text):
            offset = int(match[1] or match[2]) - line.page
            for slot_offset in (-1, 0, 1):
                height = round(line.baseline / _HEIGHT_TOLERANCE) + slot_offset
                lines_by_slot[height, offset].append(line)
    for slot_lines in lines_by_slot.values():
        if len({line.page for line in slot_lines}) >= min_pages:
            yield from slot_lines
    for line in lines:
        digits = line.text.strip(" -–—[]()|")
        if line.page and digits == str(line.page + 1):
            yield line


def _are_running_heads(lines: Sequence[TextLine]) -> bool:
    """Returns whether lines with numbers are running heads rather than chapter headings.

    Their first or last numbers grow with the pages, or they repeat.
    """
    texts = Counter(line.text.strip() for line in lines)
    if 2 * sum(count for count in texts.values() if count > 1) >= len(lines):
        return True
    for numeral_index in (0, -1):
        numbers = [bare_value(_NUMERAL.findall(line.text)[numeral_index]) for line in lines]
        offsets = Counter(
            number - line.page
            for number, line in zip(numbers, lines, strict=True)
            if number is not None
        )
        if offsets and 2 * offsets.most_common(1)[0][1] >= len(lines):
            return True
    return False
