"""What stands on many pages at one height: running heads and feet, and the numbers of pages.

A head comes again, has the number of its page, or says what a heading in larger type says. In type
larger than the text, all of its place on most pages must: chapters may have such headings there.
Knows lines, not what they are lines of.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, takewhile
from statistics import median

from narrator.importers.chapters.outline import letters
from narrator.importers.counting import ROMAN, bare_value, counted
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
"""Times the size of the text: a running head in larger type may be a heading."""
_HEADING = 1.05
"""Times the size of a running head: the headings of its book are larger at least so much."""
_COVERED = 0.4
"""Of the pages: so many have a head in larger type, as headings of chapters have not."""
_INTERRUPTED = 0.15
"""Of them: so many stand amid a sentence, where no type is larger."""
_ENDS = re.compile(r"[.!?…:][\W\d]*$")
_WRAPPED = 3
"""Lines of a running head."""
_PART = 8
"""Letters of a part of a heading that is known again."""
_SHORT = 6
"""Pages of a source in which two are enough."""
_PAGE_NUMBER = re.compile(r"^\W*(\d{1,4})(?!\d)")
_NUMBER_AT_EDGE = re.compile(r"^\W*\d{1,4}\b|\b\d{1,4}\W*$")
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
            kept = [[line for line in lines if line.left is None] for lines in pages]
            if not _leave_outermost(kept, at_top, _Headings(kept)):
                break


class _Headings:
    """What stands in large type, by which running heads are known that say the same."""

    def __init__(self, pages: Sequence[Sequence[TextLine]]) -> None:
        sizes = Counter(round(line.size, 1) for lines in pages for line in lines for _ in line.text)
        self.usual = usual = max(sizes, key=sizes.__getitem__, default=0.0)
        """Size of the text."""
        self.large: list[tuple[float, int, str]] = []
        """Size, page and letters."""
        for number, lines in enumerate(pages):
            for size, group in groupby(lines, key=lambda line: round(line.size, 1)):
                if size > usual * _HEADING:
                    text = letters(" ".join(line.text for line in group))
                    self.large.append((size, number, text))

    def are_above(self, size: float) -> bool:
        """Whether there are headings on several pages in type larger than this."""
        return len({page for large, page, _ in self.large if large > size * _HEADING}) > 1

    def say(self, *lines: TextLine) -> bool:
        """Whether a heading in larger type says what lines do, or a part of it does."""
        text = letters("".join(_NUMBER_AT_EDGE.sub("", line.text) for line in lines))
        return bool(text) and any(
            size > lines[0].size * _HEADING
            and (text == heading or (len(text) >= _PART and text in heading))
            for size, _, heading in self.large
        )


def _leave_outermost(
    pages: Sequence[Sequence[TextLine]], at_top: bool, headings: _Headings
) -> bool:
    edges = [list(_outermost(lines, at_top)) for lines in pages]
    shown = sum(bool(edge) for edge in edges)
    few = 2 if shown <= _SHORT else _OFTEN
    lines = [line for edge in edges for line in edge if len(line.text) <= _LONGEST]
    small = [line for line in lines if line.size <= headings.usual * _LARGER]
    inside = _inside(pages, {id(line) for line in small})
    again = [*_coming_again(small, inside), *_numbered(small, few)]
    again += _saying_headings(small, headings, few)
    large = [line for line in lines if line.size > headings.usual * _LARGER]
    heads = list(_large_heads(pages, large, headings, shown))
    _mark(small, again, max(_OFTEN, shown * _SLOT_SHARE))
    for line in heads:
        line.left = NUMBER if _BARE.fullmatch(line.text.strip()) else HEAD
    for line in _wrapped_heads(pages, (*again, *heads), headings) if at_top else ():
        line.left = HEAD
    return bool(again or heads)


def _saying_headings(
    lines: Iterable[TextLine], headings: _Headings, few: int
) -> Iterator[TextLine]:
    """Lines that say what headings do, at a height where some pages have such."""
    alike = [line for line in lines if headings.say(line)]
    heights = _pages_by_height(alike)
    yield from (line for line in alike if len(heights[round(line.base)]) >= few)


def _wrapped_heads(
    pages: Sequence[Sequence[TextLine]], heads: Iterable[TextLine], headings: _Headings
) -> Iterator[TextLine]:
    """Heads of several lines, as those of long titles are, about where the others stand."""
    places = {(round(line.size), line.base) for line in heads if line.left == HEAD}

    def is_near(line: TextLine) -> bool:
        sizes = (size for size, base in places if abs(line.base - base) < 2 * size)
        return round(line.size) in sizes

    for lines in pages:
        kept = [line for line in lines if line.left is None]
        first = sorted(kept, key=lambda line: -line.base)[:_WRAPPED]
        group = list(takewhile(is_near, first))
        for count in range(len(group), 1, -1):
            if headings.say(*group[:count]):
                yield from group[:count]
                break


def _large_heads(
    pages: Sequence[Sequence[TextLine]],
    lines: Sequence[TextLine],
    headings: _Headings,
    shown: int,
) -> Iterator[TextLine]:
    """Heads in type larger than the text: they stand at one height on many pages, most come again
    soon, have the page's number or say what a larger heading does."""
    slots: dict[tuple[int, int], list[TextLine]] = defaultdict(list)
    for line in lines:
        near = (
            key for key in slots if abs(key[0] - line.base) < _NEAR and key[1] == round(line.size)
        )
        slots[next(near, (round(line.base), round(line.size)))].append(line)
    for (_, size), slot in slots.items():
        count = len({line.page for line in slot})
        if count < max(_OFTEN, shown * _COVERED):
            continue
        amid = _interrupted(pages, slot)
        if not headings.are_above(size) and amid < max(2, count * _INTERRUPTED):
            continue
        alike: dict[str, list[int]] = defaultdict(list)
        for line in slot:
            alike[_without_figures(line.text)].append(line.page)
        numbered = {id(line) for line in _numbered(slot, _OFTEN) if counted(line.text) is None}
        known = {
            line.page
            for line in slot
            if id(line) in numbered or headings.say(line)
            or any(0 < abs(page - line.page) <= 2 for page in alike[_without_figures(line.text)])
        }  # fmt: skip
        if 2 * len(known) >= count:
            yield from slot


def _interrupted(pages: Sequence[Sequence[TextLine]], slot: Iterable[TextLine]) -> int:
    """How many of these lines stand amid a sentence, as no heading does."""
    count = 0
    for line in slot:
        kept = [other for other in pages[line.page] if other is not line and other.left is None]
        before = pages[line.page - 1] if line.page else []
        last = next((other for other in reversed(before) if other.left is None), None)
        goes_on = bool(kept) and kept[0].text.lstrip()[:1].islower()
        count += goes_on and last is not None and not _ENDS.search(last.text)
    return count


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
    """The lines at the top or at the foot of a page, side by side."""
    kept = [line for line in lines if line.left is None]
    if kept:
        edge = max(x.base for x in kept) if at_top else min(x.base for x in kept)
        yield from (x for x in kept if abs(x.base - edge) < _NEAR)


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
