"""Measures the typesetting of a book: type size, space between lines, edges of columns.

`layout` detects what deviates from it. Knows no paragraphs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from statistics import median

from manuscripts.readers.pdf.lines import TextLine

INDENT = 0.6
"""Minimum indent, in ems."""
_STRAY_HYPHEN_SHARE = 0.008
"""Share of lines that end with a hyphen in a book without hyphenation; with it, 2 to 10 % do."""
_MIN_LINES = 500
"""Lines below which the share of hyphens is not conclusive."""
_SIZE_TOLERANCE = 0.06
"""Difference from the usual size, relative to it, of lines of the text."""
_MIN_STEP = 0.8
"""Minimum distance of successive baselines, in ems."""
_PARAGRAPH_RATIO = 1.2
"""Distance of baselines, relative to the usual, from which there is space between paragraphs."""
_LEADING_PARTS, _START_PARTS, _INDENT_PARTS = 8, 7, 20
"""A distance, a left edge and an indent are usual from one in so many lines."""
_MIN_PAGE_LINES = 8
"""Least lines of a column of a page, for its edges to be measured by themselves."""
_EDGE_TOLERANCE = 0.4
"""Tolerance of the left edge of lines, in ems."""
_MAX_INDENT = 4
"""Maximum indent of a first line, in ems."""
_FULL_WIDTH_SHARE = 0.95
"""Share of lines that end within their column; the others hang out."""
_RIGHT_INDENT, _INDENT_TOLERANCE = 0.8, 0.25
"""Least indent of an indented block on its right, and the tolerance of its left one, in ems."""
_MAX_STEP = 6
"""Maximum distance of successive baselines in ems; there may be an empty paragraph between."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The left and right edge of a column, in points."""

    x0: float
    x1: float


Frames = Mapping[tuple[int, int, int], Frame]
"""Frames by parity of the page, page (-1 for all of that parity) and column."""


@dataclass(frozen=True, slots=True)
class Typesetting:
    """Usual measures of a book."""

    size: float
    """Type size of most text, in points."""
    leading: float
    """Distance of baselines, in points."""
    paragraph_step: float
    """Distance of baselines between paragraphs; `leading` where only indents separate them."""
    frames: Frames
    indented_frames: Mapping[int, Frame]
    """Frames of lines in indented blocks, such as quotations, by the `id()` of the line."""
    top: float
    foot: float
    """Heights of the first and the last baseline on a page."""
    is_hyphenated: bool
    """True if words are hyphenated at line ends, and not only broken at hyphens of their own."""

    def frame(self, line: TextLine) -> Frame:
        """Returns the frame of the indented block or column that a line is in."""
        return self.indented_frames.get(id(line)) or _column_frame(self.frames, line)


def measure_typesetting(lines: Sequence[TextLine]) -> Typesetting:
    """Measures the typesetting of a book by its lines."""
    if not lines:
        return Typesetting(
            size=10.0, leading=12.0, paragraph_step=12.0, frames={}, indented_frames={},
            top=0.0, foot=0.0, is_hyphenated=True,
        )  # fmt: skip
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[line.size] += len(line.text)
    size = sizes.most_common(1)[0][0]
    body_lines = [line for line in lines if abs(line.size - size) <= size * _SIZE_TOLERANCE]
    steps = _baseline_steps(body_lines, size)
    leading = _usual_leading(steps, size)
    paragraph_steps = [step for step in steps if step > leading * _PARAGRAPH_RATIO]
    frames = _column_frames(body_lines, size)
    baselines_by_page = [
        [line.baseline for line in page_lines]
        for _, page_lines in groupby(body_lines, key=lambda line: line.page)
    ]
    are_spaced_apart = len(paragraph_steps) * 10 > len(steps)
    return Typesetting(
        size,
        leading,
        paragraph_step=median(paragraph_steps) if are_spaced_apart else leading,
        frames=frames,
        indented_frames=_indented_frames(lines, frames, size),
        top=median(map(max, baselines_by_page)),
        foot=median(map(min, baselines_by_page)),
        is_hyphenated=_is_hyphenated(lines),
    )


def _is_hyphenated(lines: Sequence[TextLine]) -> bool:
    """Decides by the share of lines that end with a hyphen; True for few lines."""
    hyphen_count = sum(line.text.rstrip().endswith("-") for line in lines)
    return len(lines) < _MIN_LINES or hyphen_count > len(lines) * _STRAY_HYPHEN_SHARE


def _baseline_steps(lines: Sequence[TextLine], size: float) -> list[float]:
    """Returns the distances between successive baselines of a column."""
    return [
        round(previous.baseline - line.baseline, 1)
        for previous, line in pairwise(lines)
        if previous.page == line.page and previous.column == line.column
        and size * _MIN_STEP < previous.baseline - line.baseline < size * _MAX_STEP
    ]  # fmt: skip


def _usual_leading(steps: Sequence[float], size: float) -> float:
    """Returns the smallest frequent step; many are larger where paragraphs are spaced apart."""
    counts = Counter(round(step * 2) / 2 for step in steps)
    frequent = [step for step, count in counts.items() if count * _LEADING_PARTS >= len(steps)]
    return min(frequent, default=median(steps) if steps else size * 1.2)


def _column_frames(lines: Sequence[TextLine], size: float) -> Frames:
    """Measures the frames of columns, for each page with enough lines and for each side."""
    groups: dict[tuple[int, int, int], list[TextLine]] = defaultdict(list)
    for line in lines:
        for page in (-1, line.page):
            groups[line.page % 2, page, line.column].append(line)
    return {
        key: _lines_frame(group, size)
        for key, group in groups.items()
        if len(group) >= (_MIN_PAGE_LINES if key[1] >= 0 else 1)
    }


def _lines_frame(lines: Sequence[TextLine], size: float) -> Frame:
    """Measures the frame of lines by their leftmost common start and 95 % of their ends."""
    start_counts = Counter(round(line.x0 / 2) for line in lines)
    frequent_starts = [
        start for start, count in start_counts.items() if count * _START_PARTS >= len(lines)
    ]
    first_start = min(frequent_starts, default=min(start_counts))
    tolerance = size * _EDGE_TOLERANCE
    lefts = [line.x0 for line in lines if abs(line.x0 - first_start * 2) <= tolerance]
    rights = sorted(line.x1 for line in lines)
    right = rights[int((len(rights) - 1) * _FULL_WIDTH_SHARE)]
    return Frame(min(lefts, default=first_start * 2.0), right)


def _column_frame(frames: Frames, line: TextLine) -> Frame:
    """Returns the frame of left or right pages, unless this page's lines exceed it."""
    page_frame = frames.get((line.page % 2, line.page, line.column))
    side_frame = frames.get((line.page % 2, -1, line.column))
    if page_frame is None or side_frame is None:
        return page_frame or side_frame or Frame(line.x0, line.x1)
    tolerance = line.size * INDENT
    is_inside = (
        page_frame.x0 > side_frame.x0 - tolerance and page_frame.x1 < side_frame.x1 + tolerance
    )
    return side_frame if is_inside else page_frame


def _indented_frames(lines: Sequence[TextLine], frames: Frames, size: float) -> dict[int, Frame]:
    """Returns frames of indented blocks, such as letters and quotations, by `id()` of the line."""
    usual_indent = _usual_indent(lines, frames, size)
    frames_by_line: dict[int, Frame] = {}
    for block in _indented_blocks(lines, frames, size):
        column_frame = _column_frame(frames, block[0])
        left, right = min(line.x0 for line in block), max(line.x1 for line in block)
        is_narrow = right < column_frame.x1 - size * _RIGHT_INDENT
        indent = left - column_frame.x0
        has_usual_indent = abs(indent - usual_indent) < size * _INDENT_TOLERANCE
        filled_share = sum(right - line.x1 < size for line in block) / len(block)
        # Lines with the indent of paragraphs may be a dialogue of first lines.
        min_filled_share = 0.6 if has_usual_indent else 0.3
        is_filled = is_narrow and filled_share > min_filled_share
        most_common_start = Counter(round(line.x0) for line in block).most_common(1)
        have_common_start = most_common_start[0][1] > 1
        if (is_filled and len(block) > 2) or (have_common_start and not has_usual_indent):
            frame = Frame(left, right if is_filled else column_frame.x1)
            frames_by_line |= {id(line): frame for line in block}
    return frames_by_line


def _indented_blocks(
    lines: Sequence[TextLine], frames: Frames, size: float
) -> Iterator[list[TextLine]]:
    """Yields runs of indented lines that begin at about the same place."""
    block: list[TextLine] = []
    tolerance = size * _EDGE_TOLERANCE
    for line, next_line in zip(lines, (*lines[1:], None), strict=False):
        is_indented = line.x0 - _column_frame(frames, line).x0 > size * INDENT
        if block:
            left = min(block_line.x0 for block_line in block)
            is_same_column = (line.page, line.column) == (block[0].page, block[0].column)
            begins_deeper_block = next_line is not None and (
                min(line.x0, next_line.x0) > left + tolerance
                and abs(line.x0 - next_line.x0) < tolerance
            )
            continues = is_indented and is_same_column and line.x0 >= left - tolerance
            if not continues or begins_deeper_block:
                yield block
                block = []
        if is_indented:
            block.append(line)
    if block:
        yield block


def _usual_indent(lines: Sequence[TextLine], frames: Frames, size: float) -> float:
    """Returns the usual indent of first lines; 0 if they are not indented."""
    indents = (
        round(line.x0 - _column_frame(frames, line).x0)
        for line, next_line in pairwise(lines)
        if line.x0 - next_line.x0 > size * INDENT
    )
    max_indent = size * _MAX_INDENT
    counts = Counter(indent for indent in indents if size * INDENT < indent < max_indent)
    indent, count = counts.most_common(1)[0] if counts else (0, 0)
    return indent if count * _INDENT_PARTS >= len(lines) else 0.0
