"""Lines of all pages -> what a book is made of: paragraphs, headings, scene breaks, notes.

Goes by where lines begin and end, the room between them, and their type. Knows no markup.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from narrator.importers import matter
from narrator.importers.counting import bare_value, counted
from narrator.importers.headings import END, is_prose, is_title
from narrator.importers.prose import is_ordinal, is_scene_break
from narrator.importers.readers.pdf.lines import CELL, TextLine
from narrator.importers.readers.pdf.typesetting import INDENT, Typesetting

_LARGER = 1.12
"""Times the size of the text: a heading."""
_HEADING_WORDS = 30
_BOLD_WORDS = 14
_APART = 1.35
"""Times the usual room between two bases: more than that parts paragraphs."""
_SCENE = 0.65
"""Of that room, more than stands between paragraphs: a scene break."""
_FAR = 0.3
"""Of a column's width: a line that ends as far before its end is the last, whatever it says."""
_ENDS = re.compile(r"[.!?…:;—–*\])][”’\"'»“)\]\d*]*\s*$|[”»\"]\s*$")
_LEVELS = 4
_OFTEN = 3
"""So often no heading of the same words comes, in the size of the text."""
_COUNTED = 3
"""Numbers that plainly count chapters."""
_FILLED = 0.7
"""Of a page's height; one that ends above goes on with something new."""


@dataclass(slots=True)
class Portion:
    """A paragraph, a heading, a scene break, or lines that are left out for a reason."""

    kind: Literal["text", "heading", "scene", "left", "note"]
    lines: list[TextLine] = field(default_factory=list)
    level: int = 0
    begins_page: bool = False
    """Whether something new begins with its page."""

    @property
    def text(self) -> str:
        return " ".join(line.text.strip() for line in self.lines)


# -- parts -----------------------------------------------------------------------------------------


def parts_of(pages: Sequence[Sequence[TextLine]], habits: Typesetting) -> list[Portion]:
    """The parts of a book in reading order."""
    parts = list(_join(pages, habits))
    _find_headings(parts, habits)
    return list(_with_scenes(parts, habits))


def _join(pages: Sequence[Sequence[TextLine]], habits: Typesetting) -> Iterator[Portion]:
    """Lines joined to paragraphs; notes and what is left out follow the paragraph around them."""
    part = Portion("text")
    asides: list[Portion] = []
    """Of the paragraph in hand."""
    for lines in pages:
        for line in lines:
            if line.left is not None or line.note is not None:
                _add_aside(asides, line)
                continue
            if part.lines and not _goes_on(part.lines[-1], line, habits):
                yield part
                yield from asides
                part, asides = Portion("text"), []
            if not part.lines:
                part.begins_page = _begins_page(line, pages, habits)
            part.lines.append(line)
    if part.lines:
        yield part
    yield from asides


def _add_aside(asides: list[Portion], line: TextLine) -> None:
    kind: Literal["left", "note"] = "left" if line.left is not None else "note"
    last = asides[-1] if asides else None
    same = last is not None and last.kind == kind and (
        last.lines[0].note == line.note and last.lines[0].left == line.left
    )  # fmt: skip
    if last is not None and same and (kind == "note" or last.lines[0].page == line.page):
        last.lines.append(line)
    else:
        asides.append(Portion(kind, [line]))


def _begins_page(line: TextLine, pages: Sequence[Sequence[TextLine]], habits: Typesetting) -> bool:
    """Whether a line is the first of its page, and the page before ends early."""
    if next(one for one in pages[line.page] if one.left is None and one.note is None) is not line:
        return False
    if not line.page:
        return True
    before = [one for one in pages[line.page - 1] if one.left is None and one.note is None]
    if not before:
        return True
    lowest = min(one.base for one in before)
    return lowest > habits.foot + (habits.top - habits.foot) * (1 - _FILLED)


def _goes_on(above: TextLine, line: TextLine, habits: Typesetting) -> bool:
    """Whether a line goes on with the paragraph of the line above."""
    if _begins_anew(above, line):
        return False
    together = _is_right_above(above, line, habits)
    leading = habits.leading * max(1.0, line.size / habits.size)
    if together and above.base - line.base > leading * _APART:
        return False
    if line.initial:
        return line.initial == 2
    if above.text.rstrip().endswith("-") and line.text.lstrip()[:1].islower():
        return True
    if any(is_scene_break(one.text) or CELL in one.text for one in (above, line)):
        return False
    if _is_displayed(above, line, habits):
        return together and not is_ordinal(above.text)
    if _is_set_otherwise(above, line, habits):
        return False
    return not (_is_indented(line, habits) or _is_short(above, line, habits))


def _is_right_above(above: TextLine, line: TextLine, habits: Typesetting) -> bool:
    """Whether two lines stand in one column, or under a heading over both columns."""
    if above.page != line.page:
        return False
    over = above.size >= habits.size * _LARGER and above.base > line.base
    return above.column == line.column or over


def _begins_anew(above: TextLine, line: TextLine) -> bool:
    """Whether a line is of another size, or a chapter's at the top of a page."""
    other = abs(above.size - line.size) > max(above.size, line.size) * 0.08
    return other or (above.page != line.page and _is_chapter(line.text))


def _is_displayed(above: TextLine, line: TextLine, habits: Typesetting) -> bool:
    """Whether lines are set as headings are: larger than the text, or smaller and centred."""
    if line.size >= habits.size * _LARGER:
        return True
    return line.size < habits.size * 0.95 and _is_centred([above, line], habits)


def _is_set_otherwise(above: TextLine, line: TextLine, habits: Typesetting) -> bool:
    """Whether one of two lines is bold or quoted, and the other is not."""
    if above.is_strong != line.is_strong and min(len(above.text), len(line.text)) < 60:
        return True
    quoted = (id(above) in habits.quoted) != (id(line) in habits.quoted)
    return quoted and above.page == line.page


def _is_indented(line: TextLine, habits: Typesetting) -> bool:
    """Whether a line begins farther in than the lines of its column do."""
    return line.x0 - habits.frame(line).left > habits.size * INDENT


def _is_short(above: TextLine, line: TextLine, habits: Typesetting) -> bool:
    """Whether a line ends where the first word below would have found room, and a sentence does."""
    frame = habits.frame(above)
    room = frame.right - above.x1
    word = line.text.strip().split(" ", 1)[0]
    width = (line.x1 - line.x0) * len(word) / max(1, len(line.text.strip()))
    least = max(habits.size * 1.5, width + habits.size * 0.5)
    ends = _ENDS.search(above.text) is not None
    return room > (least if ends else max(least, (frame.right - frame.left) * _FAR))


# -- headings --------------------------------------------------------------------------------------


def _find_headings(parts: Sequence[Portion], habits: Typesetting) -> None:
    """Make headings of short parts in larger or heavier type, or that name chapters."""
    found: list[tuple[Portion, float]] = []
    texts = [part for part in parts if part.kind == "text"]
    counts = Counter(part.text for part in texts if len(part.lines) == 1)
    for above, part, below in zip((None, *texts), texts, (*texts[1:], None), strict=False):
        rank = _rank(part, above, below, habits)
        often = counts[part.text] >= _OFTEN and rank < habits.size * _LARGER
        is_speaker = often and not counted(part.text)  # at the top of a page
        if rank and not is_speaker:
            found.append((part, rank))
    if max((rank for _, rank in found), default=math.inf) > habits.size + 0.3:
        found += [(part, habits.size + 0.3) for part in _count_up(texts, habits)]
    _mark_headings(found)


def _mark_headings(found: Sequence[tuple[Portion, float]]) -> None:
    ranks = _levels([rank for _, rank in found])
    for part, rank in found:
        part.kind, part.level = "heading", ranks[rank]


def _rank(
    part: Portion, above: Portion | None, below: Portion | None, habits: Typesetting
) -> float:
    """How large a heading is, its size and a little more for bold; 0 for what is none."""
    text = part.text
    words = len(text.split())
    if words > _HEADING_WORDS or _is_no_title(text):
        return 0.0
    size = max(line.size for line in part.lines)
    strong = all(line.is_strong for line in part.lines)
    if size >= habits.size * _LARGER and not (is_prose(text) and words > 14):
        return size + 0.1 * strong
    opens = part.begins_page and strong and not is_prose(text)
    if size < habits.size * 0.9 or (words > _BOLD_WORDS and not opens) or len(part.lines) > 3:
        return 0.0
    if _is_chapter(text) and _room(above, part) > habits.leading * 1.1:
        return habits.size + 0.3
    if not _is_isolated(part, above, below, habits):
        return 0.0
    return _rank_in_text_size(part, strong, habits)


def _is_no_title(text: str) -> bool:
    """Whether a line has no letters, leads to a page, or says that the book ends."""
    no_words = not any(map(str.isalnum, text))
    return no_words or _is_leader(text) or END.fullmatch(text.strip(". ")) is not None


def _rank_in_text_size(part: Portion, strong: bool, habits: Typesetting) -> float:
    """How large a heading is in type as large as the text: by its words, capitals, bold."""
    text = part.text
    said = counted(text) if len(text) <= 120 else None
    names = bool(said and (not said.title or said.mark or is_title(said.title)))
    names = names or matter.kind_of_title(text) is not None
    shouts = text.isupper() and sum(map(str.isalpha, text)) > 3
    if (names or shouts) and (strong or shouts or _is_centred(part.lines, habits)):
        return habits.size + 0.3
    if strong and not text.rstrip().endswith((",", ";")):
        return habits.size + 0.1
    return 0.0


def _is_chapter(text: str) -> bool:
    """Whether a line says that it counts, and nothing else: `Chapter One`, `第一章`."""
    text = text.strip()
    said = counted(text) if len(text) <= 40 and not text[:1].islower() else None
    return said is not None and not said.title and text[-1] not in ".,;"


def _count_up(texts: Sequence[Portion], habits: Typesetting) -> list[Portion]:
    """Numbers in lines of their own, centred, that count chapters: 1, 2, 3 and so on."""
    bare: list[tuple[Portion, int]] = []
    for part in texts:
        value = bare_value(part.text.strip().rstrip(".").lower())
        if value is not None and _is_centred(part.lines, habits):
            bare.append((part, value))
    run = len(bare) >= _COUNTED and all(value == n for n, (_, value) in enumerate(bare, 1))
    return [part for part, _ in bare] if run else []


def _is_isolated(
    part: Portion, above: Portion | None, below: Portion | None, habits: Typesetting
) -> bool:
    """Whether there is room above a part, or its page begins with it, and some below."""
    return _room(above, part) > habits.between * 1.1 and (
        _room(part, below) > habits.leading * 1.1 or part.begins_page
    )


def _room(above: Portion | None, below: Portion | None) -> float:
    if above is None or below is None:
        return 1000.0
    last, first = above.lines[-1], below.lines[0]
    if (last.page, last.column) != (first.page, first.column):
        return 1000.0
    return last.base - first.base


def _is_centred(lines: Sequence[TextLine], habits: Typesetting) -> bool:
    for line in lines:
        frame = habits.frame(line)
        before, after = line.x0 - frame.left, frame.right - line.x1
        if before < habits.size or abs(before - after) > max(habits.size * 2, before * 0.2):
            return False
    return True


def _is_leader(text: str) -> bool:
    return re.search(r"(?:[.·…_]\s?){5,}\s*\S{0,6}$", text) is not None


def _levels(ranks: Sequence[float]) -> dict[float, int]:
    """Level of each rank, the largest first."""
    levels: dict[float, int] = {}
    level, last = 0, 0.0
    for rank in sorted(set(ranks), reverse=True):
        if not level or last - rank > 0.25:
            level = min(level + 1, _LEVELS)
        levels[rank], last = level, rank
    return levels


# -- scenes ----------------------------------------------------------------------------------------


def _with_scenes(parts: Sequence[Portion], habits: Typesetting) -> Iterator[Portion]:
    """Parts, with a scene break where much room is between two paragraphs of a page."""
    above: Portion | None = None
    for part in parts:
        if part.kind == "text":
            if above is not None and _is_scene(above, part, habits):
                yield Portion("scene")
            above = part
        elif part.kind == "heading":
            above = None
        yield part


def _is_scene(above: Portion, below: Portion, habits: Typesetting) -> bool:
    last, first = above.lines[-1], below.lines[0]
    body = all(abs(line.size - habits.size) <= habits.size * 0.06 for line in (last, first))
    if not body or last.page != first.page or last.column != first.column:
        return False
    if is_scene_break(above.text) or is_scene_break(below.text):
        return False
    if id(last) in habits.quoted or id(first) in habits.quoted:
        return False
    if any(
        p.lines[0].x0 - habits.frame(p.lines[0]).left > habits.size * 2.2 for p in (above, below)
    ):
        return False  # what is set in stands apart anyway
    room = last.base - first.base
    return habits.between + habits.leading * _SCENE < room < habits.between + habits.leading * 4
