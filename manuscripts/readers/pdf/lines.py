"""Builds the lines of a page in reading order, with its columns, raised marks and initials.

Knows a single page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise
from statistics import median
from typing import Literal

from manuscripts.readers.pdf.characters import Box, Glyph, PageText, Snippet, is_leftward

_BASELINE_TOLERANCE = 0.15
"""Maximum difference of baselines within a line, in ems."""
_MIN_RISE = 0.12
"""Minimum rise of a raised snippet, in ems of the line."""
_MAX_FALL, _MAX_RISE = 0.4, 0.8
"""Maximum height of a lowered and of a raised snippet from the line, in ems of the line."""
_MAX_ATTACHED_GAP = 0.5
"""Maximum gap of a raised or lowered snippet and its neighbour, in ems of the line."""
_SMALL_RATIO = 0.85
"""Maximum size of a raised or lowered snippet, relative to the line."""
_MIN_SPACE = 0.22
"""Minimum width of a space between two snippets, in ems."""
_MIN_CELL_GAP = 2.0
"""Minimum gap between two table cells, in ems."""
_SURE_CELL_GAP = 4.0
"""Gap that always separates table cells, however loose the line is, in ems."""
_CELL_GAP_RATIO = 2.5
"""Gap between table cells, relative to the smallest gap of the line."""
CELL_SEPARATOR = "\t"
"""Separator of table cells in the text of a line."""
_STRIP_WIDTH = 2.0
"""Resolution of the search for columns, in points."""
_MIN_COLUMN_LINES = 5
_MIN_COLUMN_CHARACTERS = 14
"""Minimum median characters of a column's lines; columns of tables are narrower."""
_MAX_STRIPS = 5000
"""Maximum strips of a page; one with more is wider than any book."""
_COLUMN_EDGE = 0.15
"""Share of the width at each side in which no gutter is searched for."""
_MAX_CROSSING_SHARE = 0.4
"""Maximum share of snippets that cross a gutter."""
_MIN_GUTTER = 0.5
"""Minimum width of a gutter, in ems."""
_MAX_COLUMN_INDENT = 2.5
"""Maximum distance of the beginning of a right column's lines from the gutter, in ems."""
_MIN_FLUSH_SHARE = 0.6
"""Minimum share of a right column's lines that begin at the gutter."""
_MAX_COLUMN_DEPTH = 3
_INITIAL_RATIO = 1.7
"""Minimum size of an initial, relative to the text."""
_INITIAL_HEIGHT = 0.9
"""Height of an initial above its baseline, relative to its size."""
_INITIAL_OVERLAP = 0.2
"""Overlap of an initial and the lines beside it, relative to its size."""
_INITIAL_WORD_GAP = 0.4
"""Gap after an initial that is a word, in ems of the line."""
_MAX_INITIALS = 20
"""Maximum initials of a page; with more, large letters are something else."""
_MIN_SPACED_LETTERS, _SPACED_SHARE = 5, 0.7
"""Minimum letters of a letter-spaced text, and minimum share of them that a space follows."""
_WORD_GAP_RATIO = 1.6
"""Gap between words of a letter-spaced text, relative to that between letters."""
_SURE_SPACE = 0.5
"""Gap that is a space though the file has none, in ems."""
_MAX_ROW_SNIPPETS = 500
"""Snippets of a row above which raised ones are not searched, as that would take long."""
_CJK = re.compile(r"[\u2e80-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]|[\U00020000-\U0003ffff]")


@dataclass(frozen=True, slots=True)
class Run:
    """Text in one style."""

    text: str
    is_italic: bool = False
    is_bold: bool = False
    is_raised: bool = False
    note_id: str | None = None
    """Id of the note to which this mark refers, "" if unknown; None for text that is no mark."""


@dataclass(slots=True)
class TextLine:
    """A line of a page."""

    page: int
    """Page index, from 0."""
    runs: list[Run]
    x0: float
    x1: float
    baseline: float
    size: float
    column: int = 0
    """Number of the column from the left, from 1; 0 for a line across the page."""
    is_leftward: bool = False
    """True if it runs from right to left; then `x0` and `x1` are negated."""
    initial: Literal["begins", "beside"] | None = None
    """Place of a drop cap: the line begins with it, or is a further line beside it."""
    omission_reason: str | None = None
    """Reason to leave the line out; None if it is read."""
    note_id: str | None = None
    """Id of the note that it is part of."""

    @property
    def text(self) -> str:
        return "".join(run.text for run in self.runs)

    @property
    def is_bold(self) -> bool:
        return all(run.is_bold for run in self.runs if run.text.strip() and not run.is_raised)


def remaining(lines: Iterable[TextLine]) -> list[TextLine]:
    """Returns the lines that are not left out."""
    return [line for line in lines if line.omission_reason is None]


def build_lines(page: PageText, page_index: int) -> list[TextLine]:
    """Returns the lines of a page in reading order; turned text is last and left out."""
    turned_snippets, upright_snippets = (
        [s for s in page.snippets if s.glyphs[0].face.is_upright == is_upright]
        for is_upright in (False, True)
    )
    initials, body_snippets = _find_initials(upright_snippets)
    lines: list[TextLine] = []
    for column, column_snippets in _split_columns(body_snippets, depth=0):
        lines += [_build_line(row, page_index, column) for row in _group_rows(column_snippets)]
    for initial in initials:
        _attach_initial(initial, lines)
    for line in lines:
        if _is_outside(line, page.box):
            line.omission_reason = "outside of the page"
        if line.is_leftward:
            line.x0, line.x1 = -line.x1, -line.x0
    for snippet in turned_snippets:
        line = _build_line([snippet], page_index, column=0)
        line.omission_reason = "text turned on its side"
        lines.append(line)
    return lines


def _is_outside(line: TextLine, box: Box) -> bool:
    """Returns whether a line is outside of the visible page, such as printer's marks."""
    left, foot, right, top = box
    middle = (line.x0 + line.x1) / 2
    return not (left <= middle <= right and foot - line.size <= line.baseline <= top)


def is_cjk(text: str) -> bool:
    """Returns whether a text begins with a character of a script without spaces."""
    return text >= "\u2e80" and bool(_CJK.match(text))


# -- columns ---------------------------------------------------------------------------------------


def _split_columns(snippets: Sequence[Snippet], depth: int) -> Iterator[tuple[int, list[Snippet]]]:
    """Yields column numbers and their snippets in reading order.

    Snippets across two columns separate the columns above from those below.
    """
    gutter = _find_gutter(snippets) if depth < _MAX_COLUMN_DEPTH else None
    if gutter is None:
        if snippets:
            yield 0, list(snippets)
        return
    gutter_start, gutter_end = gutter
    left_side: list[Snippet] = []
    right_side: list[Snippet] = []
    wide_snippets: list[Snippet] = []

    def column_groups() -> Iterator[tuple[int, list[Snippet]]]:
        """Yields the wide snippets and the columns collected so far, and clears them."""
        if wide_snippets:
            yield 0, list(wide_snippets)
        for number, side in enumerate((left_side, right_side), 1):
            for inner_number, column_snippets in _split_columns(side, depth + 1):
                # Left and right columns have odd and even numbers, so that all differ.
                yield number + 2 * inner_number, column_snippets
        for side in (left_side, right_side, wide_snippets):
            side.clear()

    for snippet in sorted(snippets, key=lambda snippet: -snippet.baseline):
        if snippet.x1 <= gutter_end:
            left_side.append(snippet)
        elif snippet.x0 >= gutter_start:
            right_side.append(snippet)
        else:
            if left_side or right_side:
                yield from column_groups()
            wide_snippets.append(snippet)
    yield from column_groups()


def _find_gutter(snippets: Sequence[Snippet]) -> tuple[float, float] | None:
    """Returns the left and right edge of the white strip between two columns; None for none."""
    if len(snippets) < 2 * _MIN_COLUMN_LINES:
        return None
    spans = [(snippet.x0, snippet.x1, len(snippet.glyphs)) for snippet in snippets]
    left, right = min(span[0] for span in spans), max(span[1] for span in spans)
    strip_count = int((right - left) / _STRIP_WIDTH) + 1
    if strip_count > _MAX_STRIPS:
        return None
    count_changes = [0] * (strip_count + 1)
    for x0, x1, _ in spans:
        count_changes[int((x0 - left) / _STRIP_WIDTH)] += 1
        count_changes[min(strip_count, int((x1 - left) / _STRIP_WIDTH) + 1)] -= 1
    first_strip, last_strip = (int(strip_count * edge) for edge in (_COLUMN_EDGE, 1 - _COLUMN_EDGE))
    middle_counts = list(accumulate(count_changes))[first_strip:last_strip]
    lowest_count = min(middle_counts, default=0)
    if not middle_counts or lowest_count > len(snippets) * _MAX_CROSSING_SHARE:
        return None
    # A little more than the minimum, for a title or a page number across the strip.
    begin, end = _longest_run(middle_counts, lowest_count + max(1, len(snippets) // 30))
    strip = left + (first_strip + begin) * _STRIP_WIDTH, left + (first_strip + end) * _STRIP_WIDTH
    size = median(snippet.size for snippet in snippets)
    if strip[1] - strip[0] < size * _MIN_GUTTER:
        return None
    return strip if _separates_columns(spans, *strip, size) else None


def _longest_run(counts: Sequence[int], limit: int) -> tuple[int, int]:
    """Returns start and end of the longest run of counts that are at most `limit`."""
    longest, begin = (0, 0), 0
    for position, count in enumerate((*counts, limit + 1)):
        if count > limit:
            longest = max(longest, (begin, position), key=lambda row: row[1] - row[0])
            begin = position + 1
    return longest


def _separates_columns(
    spans: Sequence[tuple[float, float, int]], begin: float, end: float, size: float
) -> bool:
    """Returns whether a strip separates columns of text: enough lines, the right ones flush."""
    left_spans = [span for span in spans if span[1] <= end]
    right_spans = [span for span in spans if span[0] >= begin]
    if min(len(left_spans), len(right_spans)) < _MIN_COLUMN_LINES:
        return False
    usual_characters = [median(span[2] for span in side) for side in (left_spans, right_spans)]
    flush_count = sum(x0 - end < size * _MAX_COLUMN_INDENT for x0, _, _ in right_spans)
    is_flush = flush_count >= len(right_spans) * _MIN_FLUSH_SHARE
    return min(usual_characters) >= _MIN_COLUMN_CHARACTERS and is_flush


# -- rows ------------------------------------------------------------------------------------------


def _group_rows(snippets: Iterable[Snippet]) -> list[list[Snippet]]:
    """Groups snippets by line, from the top; raised and lowered ones join their neighbours."""
    rows: list[list[Snippet]] = []
    for snippet in sorted(snippets, key=lambda snippet: -snippet.baseline):
        if rows and rows[-1][0].baseline - snippet.baseline < snippet.size * _BASELINE_TOLERANCE:
            rows[-1].append(snippet)
        else:
            rows.append([snippet])
    for row_index, row in enumerate(rows):
        nearby_rows = [
            nearby_row
            for nearby_row in rows[max(0, row_index - 2) : row_index + 3]
            if nearby_row is not row and len(nearby_row) <= _MAX_ROW_SNIPPETS
        ]
        if len(row) <= _MAX_ROW_SNIPPETS:
            _join_raised(row, nearby_rows)
    return [row for row in rows if row]


def _join_raised(row: list[Snippet], nearby_rows: Sequence[list[Snippet]]) -> None:
    """Moves small snippets of a row to a nearby row with adjacent larger ones."""
    for snippet in list(row):
        for target_row in nearby_rows:
            if target_row and _is_attached(snippet, target_row):
                row.remove(snippet)
                rise = snippet.baseline - target_row[0].baseline
                snippet.is_raised = rise > target_row[0].size * _MIN_RISE
                target_row.append(snippet)
                break


def _is_attached(snippet: Snippet, row: Sequence[Snippet]) -> bool:
    """Returns whether a small snippet is adjacent to larger ones, slightly above or below."""
    sizes = [neighbour.size for neighbour in row if not neighbour.is_raised]
    row_size = max(sizes, default=0.0)
    rise = snippet.baseline - row[0].baseline
    is_near = -_MAX_FALL * row_size < rise < _MAX_RISE * row_size
    if snippet.size > row_size * _SMALL_RATIO or not is_near:
        return False
    tolerance = row_size * _MAX_ATTACHED_GAP
    return any(
        -tolerance < snippet.x0 - neighbour.x1 < tolerance
        or -tolerance < neighbour.x0 - snippet.x1 < tolerance
        for neighbour in row
        if neighbour.size > snippet.size
    )


def _build_line(row: Sequence[Snippet], page: int, column: int) -> TextLine:
    """Builds a line from its snippets, with spaces and cell separators between them."""
    letters = [
        letter for snippet in row for letter in snippet.text if letter.isalpha()
    ]  # without the dots of a leader
    runs_leftward = 2 * sum(map(is_leftward, letters)) > len(letters)
    sorted_row = sorted(row, key=lambda snippet: -snippet.x1 if runs_leftward else snippet.x0)
    word_gaps = _word_gaps(sorted_row)
    runs = list(_split_runs(sorted_row[0], follows_space=False))
    for previous, snippet in pairwise(sorted_row):
        gap = previous.x0 - snippet.x1 if runs_leftward else snippet.x0 - previous.x1
        size = max(snippet.size, previous.size)
        if _separates_cells(gap, size, word_gaps):
            runs.append(Run(CELL_SEPARATOR))
        has_space = gap > size * _MIN_SPACE or (snippet.glyphs[0].follows_space and gap > 0)
        runs += _split_runs(snippet, has_space)
    level_snippets = [snippet for snippet in row if not snippet.is_raised] or row
    longest = max(level_snippets, key=lambda snippet: len(snippet.glyphs))
    return TextLine(
        page,
        _merge_runs(runs),
        x0=min(snippet.x0 for snippet in row),
        x1=max(snippet.x1 for snippet in row),
        baseline=longest.baseline,
        size=longest.size,
        column=column,
        is_leftward=runs_leftward,
    )


def _separates_cells(gap: float, size: float, gaps: Sequence[float]) -> bool:
    """Returns whether a gap is too wide for a word space, also by the other gaps of its line."""
    if gap <= size * _MIN_CELL_GAP:
        return False
    return gap > size * _SURE_CELL_GAP or len(gaps) == 1 or gap > _CELL_GAP_RATIO * min(gaps)


def _word_gaps(row: Sequence[Snippet]) -> list[float]:
    """Returns the gaps between the words of a line; in a loose line all are wide."""
    inner_gaps = [
        glyph.x0 - previous.x1
        for snippet in row
        for previous, glyph in pairwise(snippet.glyphs)
        if glyph.follows_space
    ]
    return inner_gaps + [abs(snippet.x0 - previous.x1) for previous, snippet in pairwise(row)]


def _split_runs(snippet: Snippet, follows_space: bool) -> Iterator[Run]:
    """Splits a snippet into runs of one style; `follows_space`: a space precedes it."""
    spaced_glyphs = zip(snippet.glyphs, (follows_space, *_space_flags(snippet.glyphs)), strict=True)
    for (is_italic, is_bold), group in groupby(
        spaced_glyphs, key=lambda pair: (pair[0].face.is_italic, pair[0].face.is_bold)
    ):
        text = "".join(f" {glyph.text}" if has_space else glyph.text for glyph, has_space in group)
        yield Run(text, is_italic, is_bold, snippet.is_raised)


def _space_flags(glyphs: Sequence[Glyph]) -> list[bool]:
    """Returns whether each gap is a space; letter-spacing as in `C H A P T E R` is none."""
    gaps = [glyph.x0 - previous.x1 for previous, glyph in pairwise(glyphs)]
    space_count = sum(glyph.follows_space for glyph in glyphs[1:])
    if space_count + 1 >= _MIN_SPACED_LETTERS and space_count > len(glyphs) * _SPACED_SHARE:
        usual_gap = median(gaps)
        flags = [gap > usual_gap * _WORD_GAP_RATIO for gap in gaps]
    else:
        flags = [
            glyph.follows_space or gap > previous.face.size * _SURE_SPACE
            for gap, previous, glyph in zip(gaps, glyphs, glyphs[1:], strict=False)
        ]
    return [
        has_space and not (is_cjk(previous.text) and is_cjk(glyph.text))
        for has_space, (previous, glyph) in zip(flags, pairwise(glyphs), strict=True)
    ]


def _merge_runs(runs: Iterable[Run]) -> list[Run]:
    """Merges adjacent runs of one style."""
    groups = groupby(runs, key=lambda run: (run.is_italic, run.is_bold, run.is_raised))
    return [Run("".join(run.text for run in group), *style) for style, group in groups]


# -- initials --------------------------------------------------------------------------------------


def _find_initials(snippets: Sequence[Snippet]) -> tuple[list[Snippet], list[Snippet]]:
    """Separates initials (drop caps, with lines beside them) from the other snippets."""
    sizes = [snippet.size for snippet in snippets]
    usual_size = median(sizes) if sizes else 0.0
    large = [
        snippet
        for snippet in snippets
        if snippet.size >= usual_size * _INITIAL_RATIO
        and re.fullmatch(r"\W*[^\W\d_]\W*", snippet.text)
    ]
    candidates = large if len(large) <= _MAX_INITIALS else []
    initials = [snippet for snippet in candidates if len(_baselines_beside(snippet, snippets)) >= 2]
    initial_ids = set(map(id, initials))
    return initials, [snippet for snippet in snippets if id(snippet) not in initial_ids]


def _baselines_beside(initial: Snippet, snippets: Iterable[Snippet]) -> set[float]:
    """Returns the rounded baselines of snippets right of an initial."""
    return {
        round(snippet.baseline)
        for snippet in snippets
        if snippet is not initial and _is_beside_initial(snippet, initial)
    }


def _is_beside_initial(text: Snippet | TextLine, initial: Snippet) -> bool:
    """Returns whether a snippet or a line begins right of an initial, below its top."""
    top = initial.baseline + initial.size * _INITIAL_HEIGHT
    foot = initial.baseline - text.size * _INITIAL_OVERLAP
    gap = text.x0 - initial.x1
    return -initial.size * _INITIAL_OVERLAP <= gap < initial.size and foot < text.baseline < top


def _attach_initial(initial: Snippet, lines: list[TextLine]) -> None:
    """Adds an initial to the first of the lines beside it."""
    lines_beside = [line for line in lines if _is_beside_initial(line, initial)]
    if not lines_beside:
        lines.append(_build_line([initial], lines[0].page if lines else 0, column=0))
        return
    first_line = lines_beside[0]
    has_gap = first_line.x0 - initial.x1 > first_line.size * _INITIAL_WORD_GAP
    is_word = has_gap and initial.text in ("A", "I", "O")
    letter = initial.text.strip() + " " * is_word
    first_line.runs = [Run(letter), *first_line.runs]
    for index, line in enumerate(lines_beside):
        line.initial = "beside" if index else "begins"
        line.x0 = initial.x0
