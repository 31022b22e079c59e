"""The pieces of a page -> its lines, in reading order: columns, raised marks, initials.

Knows one page, not what stands on others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from statistics import median

from narrator.importers.readers.pdf.characters import (
    Box,
    Face,
    Glyph,
    PageText,
    Snippet,
    is_leftward,
)

_SAME_BASE = 0.15
"""Ems by which the bases of one line may differ."""
_RAISED = 0.12
_SMALLER = 0.85
_SPACE = 0.22
"""Ems between two pieces of a line that are a space."""
_CELL = 2.0
"""Ems between two cells of a table."""
_FAR = 4.0
"""Ems between them, however far apart the words of the line are."""
CELL = "\t"
"""What stands between them in a line."""
_STRIP = 2.0
"""Points: the grain in which columns are looked for."""
_COLUMN_LINES = 5
_COLUMN_CHARACTERS = 14
"""Of its lines in the middle: columns of tables are narrower."""
_DEEPEST = 3
_INITIAL = 1.7
"""Times the size of the text beside it."""
_INITIALS = 20
"""Of a page; with more, large letters are something else."""
_SPACED_LETTERS = 5
_CROWDED = 500
"""Pieces of a row that is no line of text; looking for raised ones in it would take long."""
_CJK = re.compile(r"[\u2e80-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]|[\U00020000-\U0003ffff]")


@dataclass(frozen=True, slots=True)
class Run:
    """Words in one face."""

    text: str
    em: bool = False
    strong: bool = False
    raised: bool = False
    note: str | None = None
    """The id of the note that it is the mark of; "" where that is not known."""


@dataclass(slots=True)
class TextLine:
    """A line of a page."""

    page: int
    """From 0."""
    runs: list[Run]
    x0: float
    x1: float
    base: float
    size: float
    column: int = 0
    """From the left, as far as it stands beside others; 0 for one as wide as the page."""
    is_leftward: bool = False
    """Whether it runs from right to left; then it begins and ends at places below 0."""
    initial: int = 0
    """1 where it begins with an initial, 2 where it stands beside one."""
    left: str | None = None
    """Why it is left out."""
    note: str | None = None
    """The id of the note that it belongs to."""

    @property
    def text(self) -> str:
        return "".join(run.text for run in self.runs)

    @property
    def is_strong(self) -> bool:
        return all(run.strong for run in self.runs if run.text.strip() and not run.raised)


def lines_of(page: PageText, number: int) -> list[TextLine]:
    """The lines of a page in reading order; those that are turned come last, left out."""
    upright = [piece for piece in page.pieces if piece.glyphs[0].face.is_upright]
    initials, rest = _initials(upright)
    lines: list[TextLine] = []
    for column, pieces in _columns(rest, 0):
        lines += [_line(row, number, column) for row in _rows(pieces)]
    for initial in initials:
        _give(initial, lines)
    for line in lines:
        if _is_outside(line, page.box):
            line.left = "outside of the page"
        if line.is_leftward:
            line.x0, line.x1 = -line.x1, -line.x0
    turned = (piece for piece in page.pieces if not piece.glyphs[0].face.is_upright)
    for piece in turned:
        line = _line([piece], number, 0)
        line.left = "text turned on its side"
        lines.append(line)
    return lines


def _is_outside(line: TextLine, box: Box) -> bool:
    """Whether a line cannot be seen, as marks of printers beside the page cannot."""
    left, foot, right, top = box
    middle = (line.x0 + line.x1) / 2
    return not (left <= middle <= right and foot - line.size <= line.base <= top)


def is_cjk(text: str) -> bool:
    """Whether a character is of a script that has no spaces."""
    return text >= "\u2e80" and bool(_CJK.match(text))


# -- columns ---------------------------------------------------------------------------------------


def _columns(pieces: Sequence[Snippet], depth: int) -> Iterator[tuple[int, list[Snippet]]]:
    """Pieces in reading order of their columns, each with its number; what is as wide as two
    columns parts them."""
    strip = _gutter(pieces) if depth < _DEEPEST else None
    if strip is None:
        if pieces:
            yield 0, list(pieces)
        return
    begin, end = strip
    left: list[Snippet] = []
    right: list[Snippet] = []
    wide: list[Snippet] = []

    def beside() -> Iterator[tuple[int, list[Snippet]]]:
        if wide:
            yield 0, list(wide)
        for number, side in enumerate((left, right), 1):
            for column, held in _columns(side, depth + 1):
                yield number + 2 * column, held
        for side in (left, right, wide):
            side.clear()

    for piece in sorted(pieces, key=lambda one: -one.base):
        if piece.x1 <= end:
            left.append(piece)
        elif piece.x0 >= begin:
            right.append(piece)
        else:
            if left or right:
                yield from beside()
            wide.append(piece)
    yield from beside()


def _gutter(pieces: Sequence[Snippet]) -> tuple[float, float] | None:
    """The white strip between two columns, if there is one."""
    if len(pieces) < 2 * _COLUMN_LINES:
        return None
    spans = [(piece.x0, piece.x1, len(piece.glyphs)) for piece in pieces]
    left, right = min(s[0] for s in spans), max(s[1] for s in spans)
    count = int((right - left) / _STRIP) + 1
    if count > 5000:
        return None
    changes = [0] * (count + 1)
    for x0, x1, _ in spans:
        changes[int((x0 - left) / _STRIP)] += 1
        changes[min(count, int((x1 - left) / _STRIP) + 1)] -= 1
    low, high = int(count * 0.15), int(count * 0.85)
    middle = list(accumulate(changes))[low:high]
    least = min(middle, default=0)
    if not middle or least > len(pieces) * 0.4:
        return None
    # More than the least: a title, the number of the page.
    begin, end = _longest(middle, least + max(1, len(pieces) // 30))
    strip = left + (low + begin) * _STRIP, left + (low + end) * _STRIP
    size = median(piece.size for piece in pieces)
    if strip[1] - strip[0] < size * 0.5:
        return None
    return strip if _parts(spans, *strip, size) else None


def _longest(counts: Sequence[int], most: int) -> tuple[int, int]:
    """Where the longest row of counts up to `most` begins and ends."""
    best, begin = (0, 0), 0
    for place, count in enumerate((*counts, most + 1)):
        if count > most:
            best = max(best, (begin, place), key=lambda row: row[1] - row[0])
            begin = place + 1
    return best


def _parts(
    spans: Sequence[tuple[float, float, int]], begin: float, end: float, size: float
) -> bool:
    """Whether a strip parts columns of text: lines on both sides, those on the right flush."""
    before = [span for span in spans if span[1] <= end]
    after = [span for span in spans if span[0] >= begin]
    if min(len(before), len(after)) < _COLUMN_LINES:
        return False
    if min(median(s[2] for s in side) for side in (before, after)) < _COLUMN_CHARACTERS:
        return False
    flush = sum(x0 - end < size * 2.5 for x0, _, _ in after)
    return flush * 5 >= len(after) * 3


# -- rows ------------------------------------------------------------------------------------------


def _rows(pieces: Iterable[Snippet]) -> list[list[Snippet]]:
    """Pieces on one line each, from the top; raised and lowered ones with those beside them."""
    rows: list[list[Snippet]] = []
    for piece in sorted(pieces, key=lambda one: -one.base):
        if rows and rows[-1][0].base - piece.base < piece.size * _SAME_BASE:
            rows[-1].append(piece)
        else:
            rows.append([piece])
    for place, row in enumerate(rows):
        if len(row) <= _CROWDED:
            around = rows[max(0, place - 2) : place + 3]
            _join_raised(row, [o for o in around if o is not row and len(o) <= _CROWDED])
    return [row for row in rows if row]


def _join_raised(row: list[Snippet], near: Sequence[list[Snippet]]) -> None:
    """Put small pieces of a row in the row near it beside whose pieces they stand."""
    for piece in list(row):
        beside = next((other for other in near if other and _is_beside(piece, other)), None)
        if beside is not None:
            row.remove(piece)
            piece.raised = piece.base - beside[0].base > beside[0].size * _RAISED
            beside.append(piece)


def _is_beside(piece: Snippet, row: Sequence[Snippet]) -> bool:
    """Whether a small piece stands right beside larger ones, a little above or below them."""
    sizes = [other.size for other in row if not other.raised]
    size = max(sizes, default=0.0)
    above = piece.base - row[0].base
    if piece.size > size * _SMALLER or not -0.4 * size < above < 0.8 * size:
        return False
    near = size * 0.5
    return any(
        -near < piece.x0 - other.x1 < near or -near < other.x0 - piece.x1 < near
        for other in row
        if other.size > piece.size
    )


def _line(row: Sequence[Snippet], page: int, column: int) -> TextLine:
    letters = [c for piece in row for c in piece.text if c.isalpha()]  # no dots of a leader
    leftward = 2 * sum(map(is_leftward, letters)) > len(letters)
    ordered = sorted(row, key=lambda one: -one.x1 if leftward else one.x0)
    gaps = _gaps(ordered)
    runs: list[Run] = []
    for number, piece in enumerate(ordered):
        gap = 0.0
        if number:
            last = ordered[number - 1]
            gap = last.x0 - piece.x1 if leftward else piece.x0 - last.x1
        size = max(piece.size, ordered[number - 1].size)
        if _parts_cells(gap, size, gaps):
            runs.append(Run(CELL))
        spaced = gap > size * _SPACE or (piece.glyphs[0].spaced and gap > 0)
        runs += _runs(piece, bool(number) and spaced)
    flat = [piece for piece in row if not piece.raised] or row
    widest = max(flat, key=lambda piece: len(piece.glyphs))
    return TextLine(
        page, _merged(runs), min(piece.x0 for piece in row), max(piece.x1 for piece in row),
        widest.base, widest.size, column, leftward,
    )  # fmt: skip


def _parts_cells(gap: float, size: float, gaps: Sequence[float]) -> bool:
    """Whether a space is too wide for one between words, also for those of its line."""
    if gap <= size * _CELL:
        return False
    return gap > size * _FAR or len(gaps) == 1 or gap > 2.5 * min(gaps)


def _gaps(row: Sequence[Snippet]) -> list[float]:
    """The spaces between the words of a line: in a loose one all are wide."""
    within = [
        glyph.x0 - last.x1
        for piece in row
        for last, glyph in pairwise(piece.glyphs)
        if glyph.spaced
    ]
    return within + [abs(piece.x0 - last.x1) for last, piece in pairwise(row)]


def _runs(piece: Snippet, spaced: bool) -> Iterator[Run]:
    """The characters of a piece, those of one look together."""
    said: list[str] = []
    last: Glyph | None = None
    for glyph, between in zip(piece.glyphs, (spaced, *_spaces(piece.glyphs)), strict=True):
        if last is not None and _style(last.face) != _style(glyph.face):
            yield Run("".join(said), *_style(last.face), piece.raised)
            said = []
        if between and not (last is not None and is_cjk(last.text) and is_cjk(glyph.text)):
            said.append(" ")
        said.append(glyph.text)
        last = glyph
    if last is not None:
        yield Run("".join(said), *_style(last.face), piece.raised)


def _style(face: Face) -> tuple[bool, bool]:
    return face.em, face.strong


def _spaces(glyphs: Sequence[Glyph]) -> list[bool]:
    """Whether spaces stand between characters, but for those that set apart `C H A P T E R`."""
    gaps = [glyph.x0 - last.x1 for last, glyph in pairwise(glyphs)]
    spaced = sum(glyph.spaced for glyph in glyphs[1:])
    if spaced + 1 >= _SPACED_LETTERS and spaced > len(glyphs) * 0.7:
        usual = median(gaps)
        return [gap > usual * 1.6 for gap in gaps]
    near = zip(gaps, glyphs, glyphs[1:], strict=False)
    return [glyph.spaced or gap > last.face.size * 0.5 for gap, last, glyph in near]


def _merged(runs: Iterable[Run]) -> list[Run]:
    """Runs of one face as one."""
    merged: list[Run] = []
    for run in runs:
        if merged and _look(merged[-1]) == _look(run):
            merged[-1] = replace(run, text=merged[-1].text + run.text)
        else:
            merged.append(run)
    return merged


def _look(run: Run) -> tuple[bool, bool, bool]:
    return run.em, run.strong, run.raised


# -- initials --------------------------------------------------------------------------------------


def _initials(pieces: Sequence[Snippet]) -> tuple[list[Snippet], list[Snippet]]:
    """Large letters with lines beside them, and the rest."""
    sizes = [piece.size for piece in pieces]
    usual = median(sizes) if sizes else 0.0
    large = [
        piece
        for piece in pieces
        if piece.size >= usual * _INITIAL and re.fullmatch(r"\W*[^\W\d_]\W*", piece.text)
    ]
    few = large if len(large) <= _INITIALS else []
    initials = [piece for piece in few if len(_lines_beside(piece, pieces)) >= 2]
    held = set(map(id, initials))
    return initials, [piece for piece in pieces if id(piece) not in held]


def _lines_beside(initial: Snippet, pieces: Iterable[Snippet]) -> set[float]:
    top = initial.base + initial.size * 0.9
    return {
        round(piece.base)
        for piece in pieces
        if piece is not initial
        and piece.x0 >= initial.x1 - initial.size * 0.2
        and piece.x0 - initial.x1 < initial.size
        and initial.base - piece.size * 0.2 < piece.base < top
    }


def _give(initial: Snippet, lines: list[TextLine]) -> None:
    """Put an initial before the first of the lines beside it."""
    top = initial.base + initial.size * 0.9
    beside = [
        line
        for line in lines
        if initial.base - line.size * 0.2 < line.base < top
        and -initial.size * 0.2 <= line.x0 - initial.x1 < initial.size
    ]
    if not beside:
        lines.append(_line([initial], lines[0].page if lines else 0, 0))
        return
    first = beside[0]
    spaced = first.x0 - initial.x1 > first.size * 0.4 and initial.text in ("A", "I", "O")
    letter = initial.text.strip() + " " * spaced
    first.runs = [Run(letter), *first.runs]
    for number, line in enumerate(beside):
        line.initial = 2 if number else 1
        line.x0 = initial.x0
