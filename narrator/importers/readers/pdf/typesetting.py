"""What is usual in the lines of a book: its type, the room between lines, where they begin and end.

By this, `layout` tells what is unusual. Knows no paragraphs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from narrator.importers.readers.pdf.lines import TextLine

INDENT = 0.6
"""Ems that a line begins farther in than others."""
_HYPHENS = 0.008
"""Of the lines: so many end with one where no word is parted; where some are, it is 2 to 10 %."""
_FEW = 500
_STEP = 6
"""Ems from one base to the next, at most: an empty paragraph may stand between two others."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Where the lines of a column begin and end."""

    left: float
    right: float


Frames = Mapping[tuple[int, int, int], Frame]
"""By parity of the page, page (-1 for all of that parity) and column."""


@dataclass(frozen=True, slots=True)
class Typesetting:
    """What is usual in a book."""

    size: float
    """That most of its text has, in points."""
    leading: float
    """From one base to the next, in points."""
    between: float
    """From one paragraph to the next; `leading` where indents alone part them."""
    frames: Frames
    quoted: Mapping[int, Frame]
    """By a line's id: of lines that are set in on both sides."""
    top: float
    foot: float
    """Of the text on a page."""
    is_hyphenated: bool
    """Whether words are parted at lines' ends, not only at the hyphens that they have."""

    def frame(self, line: TextLine) -> Frame:
        return self.quoted.get(id(line)) or _usual(self.frames, line)


def habits_of(lines: Sequence[TextLine]) -> Typesetting:
    """What is usual in a book's lines."""
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[line.size] += len(line.text)
    size = sizes.most_common(1)[0][0] if sizes else 10.0
    body = [line for line in lines if abs(line.size - size) <= size * 0.06]
    steps = _steps(body, size)
    leading = _leading(steps, size)
    apart = [step for step in steps if step > leading * 1.2]
    between = median(apart) if len(apart) * 10 > len(steps) else leading
    tops = [max(group) for group in _by_page(body).values()]
    feet = [min(group) for group in _by_page(body).values()]
    frames = _frames(body, size)
    return Typesetting(
        size, leading, between, frames, _quoted(lines, frames, size),
        median(tops) if tops else 0.0, median(feet) if feet else 0.0, _is_hyphenated(lines),
    )  # fmt: skip


def _is_hyphenated(lines: Sequence[TextLine]) -> bool:
    """By how many lines end with a hyphen; a few lines say nothing."""
    ends = sum(line.text.rstrip().endswith("-") for line in lines)
    return len(lines) < _FEW or ends > len(lines) * _HYPHENS


def _steps(lines: Sequence[TextLine], size: float) -> list[float]:
    """From the base of each line to the next one's in its column."""
    return [
        round(above.base - line.base, 1)
        for above, line in pairwise(lines)
        if above.page == line.page and above.column == line.column
        and size * 0.8 < above.base - line.base < size * _STEP
    ]  # fmt: skip


def _leading(steps: Sequence[float], size: float) -> float:
    """The least step that is frequent: where paragraphs stand apart, many are larger."""
    counts = Counter(round(step * 2) / 2 for step in steps)
    frequent = [step for step, count in counts.items() if count * 8 >= len(steps)]
    return min(frequent, default=median(steps) if steps else size * 1.2)


def _by_page(lines: Sequence[TextLine]) -> dict[int, list[float]]:
    bases: dict[int, list[float]] = defaultdict(list)
    for line in lines:
        bases[line.page].append(line.base)
    return bases


def _frames(lines: Sequence[TextLine], size: float) -> Frames:
    groups: dict[tuple[int, int, int], list[TextLine]] = defaultdict(list)
    for line in lines:
        for page in (-1, line.page):
            groups[line.page % 2, page, line.column].append(line)
    return {
        key: _frame(group, size)
        for key, group in groups.items()
        if len(group) >= (8 if key[1] >= 0 else 1)
    }


def _frame(lines: Sequence[TextLine], size: float) -> Frame:
    begins = Counter(round(line.x0 / 2) for line in lines)
    frequent = [place for place, count in begins.items() if count * 7 >= len(lines)]
    first = min(frequent, default=min(begins))
    near = [line.x0 for line in lines if abs(line.x0 - first * 2) <= size * 0.4]
    ends = sorted(line.x1 for line in lines)
    return Frame(min(near), ends[int((len(ends) - 1) * 0.95)])


def _usual(frames: Frames, line: TextLine) -> Frame:
    """That of pages on this side, unless this page's lines lie beyond it."""
    own = frames.get((line.page % 2, line.page, line.column))
    usual = frames.get((line.page % 2, -1, line.column))
    if own is None or usual is None:
        return own or usual or Frame(line.x0, line.x1)
    near = line.size * INDENT
    inside = own.left > usual.left - near and own.right < usual.right + near
    return usual if inside else own


def _quoted(lines: Sequence[TextLine], frames: Frames, size: float) -> dict[int, Frame]:
    """Frames of lines that are set in, as those of letters and quotations are."""
    usual = _usual_indent(lines, frames, size)
    found: dict[int, Frame] = {}
    for block in _set_in(lines, frames, size):
        around = _usual(frames, block[0])
        left, right = min(line.x0 for line in block), max(line.x1 for line in block)
        narrow = right < around.right - size * 0.8
        as_usual = abs(left - around.left - usual) < size * 0.25
        filled = sum(right - line.x1 < size for line in block) / len(block)
        full = narrow and filled > (0.6 if as_usual else 0.3)
        same = Counter(round(line.x0) for line in block).most_common(1)[0][1]
        if len(block) > 1 and ((full and len(block) > 2) or (same > 1 and not as_usual)):
            frame = Frame(left, right if full else around.right)
            found |= {id(line): frame for line in block}
    return found


def _set_in(lines: Sequence[TextLine], frames: Frames, size: float) -> Iterator[list[TextLine]]:
    """Runs of lines that begin farther in than their column does, at about the same place."""
    block: list[TextLine] = []
    near = size * 0.4
    for line, below in pairwise((*lines, None)):
        assert line is not None
        is_in = line.x0 - _usual(frames, line).left > size * INDENT
        if block:
            left = min(one.x0 for one in block)
            here = (line.page, line.column) == (block[0].page, block[0].column)
            deeper = below is not None and min(line.x0, below.x0) > left + near
            deeper = deeper and below is not None and abs(line.x0 - below.x0) < near
            if not (is_in and here) or line.x0 < left - near or deeper:
                yield block
                block = []
        if is_in:
            block.append(line)
    if block:
        yield block


def _usual_indent(lines: Sequence[TextLine], frames: Frames, size: float) -> float:
    """Of first lines, below which others begin farther out; 0 where none are set in."""
    indents = (
        round(line.x0 - _usual(frames, line).left)
        for line, below in pairwise(lines)
        if line.x0 - below.x0 > size * INDENT
    )
    counts = Counter(indent for indent in indents if size * INDENT < indent < size * 4)
    indent, count = counts.most_common(1)[0] if counts else (0, 0)
    return indent if count * 20 >= len(lines) else 0.0
