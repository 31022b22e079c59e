"""What stands on many pages at one height: running heads and feet, and the numbers of pages.

Knows lines, not what they are lines of.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from statistics import median

from narrator.importers.counting import ROMAN, bare_value
from narrator.importers.readers.pdf.lines import TextLine

HEAD = "running head or foot"
NUMBER = "page number"
_EDGE = 2
"""Lines at the top and at the foot of a page that may come again."""
_NEAR = 3.0
"""Points by which the heights of what comes again differ."""
_OFTEN = 3
_LONGEST = 120
"""Characters of a running head."""
_LARGER = 1.15
"""Times the size of the text: no running head is in larger type, as headings are."""
_SHORT = 6
"""Pages of a source in which two are enough."""
_PAGE_NUMBER = re.compile(r"^\W*(\d{1,4})(?!\d)")
_SLOT_SHARE = 0.25
"""Of the pages that have a running head at a height: then what else stands there is one."""
_FIGURES = re.compile(rf"\d+|\b{ROMAN}\b", re.IGNORECASE)
_BARE = re.compile(
    rf"\W*(?:\d{{1,4}}|{ROMAN}|(?:page|seite|p\.|pag\.|página|s\.)?\s*\d{{1,4}}"
    r"(?:\s*(?:/|of|von|de|di|van)\s*\d{1,4})?)\W*",
    re.IGNORECASE,
)


def leave_repeated(pages: Sequence[Sequence[TextLine]]) -> None:
    """Set aside running heads, feet and page numbers."""
    for at_top in (True, False):
        for _ in range(_EDGE):
            if not _leave_outermost(pages, at_top):
                break


def _leave_outermost(pages: Sequence[Sequence[TextLine]], at_top: bool) -> bool:
    edges = [list(_outermost(lines, at_top)) for lines in pages]
    shown = sum(bool(edge) for edge in edges)
    lines = [line for edge in edges for line in edge if len(line.text) <= _LONGEST]
    inside = _inside(pages, {id(line) for edge in edges for line in edge})
    again = [*_coming_again(lines, inside), *_numbered(lines, 2 if shown <= _SHORT else _OFTEN)]
    _mark(lines, again, max(_OFTEN, shown * _SLOT_SHARE))
    return bool(again)


def _mark(lines: Iterable[TextLine], again: Sequence[TextLine], often: float) -> None:
    """Set aside those that come again, and what stands where they do on other pages."""
    heights = _pages_by_height(again)
    taken = {id(line) for line in again}
    sizes = {round(line.size) for line in again}
    for line in lines:
        of_slot = len(heights[round(line.base)]) >= often and round(line.size) in sizes
        if id(line) in taken or (of_slot and _is_apart(line)):
            line.left = NUMBER if _BARE.fullmatch(line.text.strip()) else HEAD


def _inside(pages: Sequence[Sequence[TextLine]], at_edge: Collection[int]) -> Counter[str]:
    """How often the words of short lines come that are not at the edge of a page."""
    kept = (line for page in pages for line in page if line.left is None)
    short = (line for line in kept if id(line) not in at_edge and len(line.text) <= _LONGEST)
    return Counter(_without_figures(line.text) for line in short)


def _pages_by_height(lines: Iterable[TextLine]) -> Mapping[int, set[int]]:
    """The pages on which one of these lines stands about at a height."""
    heights: dict[int, set[int]] = defaultdict(set)
    for line in lines:
        for near in range(round(line.base - _NEAR), round(line.base + _NEAR) + 1):
            heights[near].add(line.page)
    return heights


def _outermost(lines: Iterable[TextLine], at_top: bool) -> Iterator[TextLine]:
    """The lines at the top or at the foot of a page, side by side; none in larger type."""
    kept = [line for line in lines if line.left is None]
    if kept:
        edge = max(x.base for x in kept) if at_top else min(x.base for x in kept)
        most = median(line.size for line in kept) * _LARGER
        yield from (x for x in kept if abs(x.base - edge) < _NEAR and x.size <= most)


def _is_apart(line: TextLine) -> bool:
    """Whether a line does not end as one of a text does that goes on."""
    return not line.text.rstrip().endswith(("-", ",", ";"))


def _coming_again(lines: Iterable[TextLine], inside: Mapping[str, int]) -> list[TextLine]:
    """Of lines those whose words come again at the same height on other pages, but for figures;
    not what pages have `inside` as often, as a play has its speakers."""
    alike: dict[str, list[TextLine]] = defaultdict(list)
    for line in lines:
        if len(line.text) <= _LONGEST and _is_apart(line):
            alike[_without_figures(line.text)].append(line)
    again: list[TextLine] = []
    for words, group in alike.items():
        middle = median(line.base for line in group)
        level = [line for line in group if abs(line.base - middle) < _NEAR]
        often = len(level) >= _OFTEN and inside.get(words, 0) < len(level)
        if often and ("#" not in words or _is_head(level)):
            again += level
    return again


def _without_figures(text: str) -> str:
    return " ".join(_FIGURES.sub("#", text).casefold().split())


def _numbered(lines: Sequence[TextLine], often: int) -> Iterator[TextLine]:
    """Lines that begin or end with the number of their page, at a height where others do, or that
    are nothing else."""
    found: dict[tuple[int, int], list[TextLine]] = defaultdict(list)
    for line in lines:
        for number in filter(None, map(_PAGE_NUMBER.search, (line.text, line.text[::-1]))):
            figures = number[1] if line.text.lstrip().startswith(number[1]) else number[1][::-1]
            for near in (-1, 0, 1):
                height = round(line.base / _NEAR) + near
                found[height, int(figures) - line.page].append(line)
    for group in found.values():
        if len({line.page for line in group}) >= often:
            yield from group
    for line in lines:
        figures = line.text.strip(" -–—[]()|")
        if line.page and figures == str(line.page + 1):
            yield line


def _is_head(lines: Sequence[TextLine]) -> bool:
    """Whether lines with figures are no headings of chapters, which have a figure each: their
    figures grow with the pages, or they come again with the same."""
    texts = Counter(line.text.strip() for line in lines)
    again = sum(count for count in texts.values() if count > 1)
    return 2 * again >= len(lines) or _count_on(lines, 0) or _count_on(lines, -1)


def _count_on(lines: Sequence[TextLine], place: int) -> bool:
    """Whether the first or the last figures of lines grow as their pages do, most of them."""
    values = [(line.page, bare_value(_FIGURES.findall(line.text)[place])) for line in lines]
    offsets = Counter(value - page for page, value in values if value is not None)
    return bool(offsets) and offsets.most_common(1)[0][1] * 2 >= len(lines)
