"""How paragraphs of a word processor's file look, for all formats that have looks.

Knows XHTML, no format of a source, and not what becomes of a paragraph (`judging.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from lxml import etree

from narrator.importers.headings import Heading, read_heading
from narrator.importers.readers.elements import LEFT

CONTENTS = "table of contents"
LONGEST = 15
"""Words of a heading."""
_LARGER = 1.15


@dataclass(frozen=True, slots=True)
class ParagraphLook:
    """How a paragraph looks, and what its style says of it."""

    level: int = 0
    """Of a heading, by its style; 0 for none."""
    role: str = ""
    """title, subtitle, author or date, caption or code, by its style."""
    centred: bool = False
    bold: bool = False
    """All of it."""
    size: float = 0
    """Of most of its letters, in points; 0 where that is not known."""
    page: bool = False
    """Whether a page begins with it."""
    space: float = 0
    """Points of room above it."""
    left: str = ""
    """Why it is left out, if it is."""


@dataclass(slots=True)
class FirstPage:
    """What a text's first page says of it."""

    title: str | None = None
    subtitle: str | None = None
    authors: tuple[str, ...] = ()
    likely_title: str | None = None
    """Where nothing says it plainly."""
    likely_author: str | None = None
    guessed: int = 0
    """Headings that only look so."""


@dataclass(slots=True)
class LookedAt:
    """A paragraph that stands in no list and no table."""

    element: etree._Element
    look: ParagraphLook
    text: str
    words: int
    alone: bool = True
    """Whether it may be a heading: no picture, no scene break, nothing that is left out."""
    gap: int = 0
    """Empty paragraphs above it."""
    heading: Heading | None = None
    level: int = 0


def heading_of(line: LookedAt) -> Heading | None:
    """What a line says if it is a heading."""
    parted = [row.strip() for row in line.text.split("\n") if row.strip()]
    return read_heading(parted, 2 if line.look.page or line.gap or line.look.centred else 0)


def may_be(line: LookedAt) -> bool:
    """Whether a line is short enough for a heading, and nothing else yet."""
    return line.alone and not line.level and 0 < line.words <= LONGEST and len(line.text) <= 120


def usual_size(lines: Sequence[LookedAt]) -> float:
    """The size of most words, in points."""
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[line.look.size] += line.words
    return sizes.most_common(1)[0][0] if sizes else 0


def weight(line: LookedAt, usual: float) -> int:
    """How much a line looks like a heading."""
    look = line.look
    larger = 2 * is_larger(line, usual)
    return look.centred + look.bold + larger + 2 * look.page + line.text.isupper()


def is_larger(line: LookedAt, usual: float) -> bool:
    """Whether a line is in larger type than most."""
    return bool(usual) and line.look.size >= _LARGER * usual


def leave(line: LookedAt, why: str = "title page") -> None:
    """Mark a line as one that is left out."""
    line.alone, line.level = False, 0
    line.element.set(LEFT, why)
