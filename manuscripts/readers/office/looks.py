"""The look of paragraphs in word processor files of all formats.

Knows XHTML, but no source format, and not how paragraphs are classified (`classify.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from lxml import etree

from manuscripts.headings import Heading, read_heading
from manuscripts.readers.elements import OMISSION_ATTRIBUTE

CONTENTS = "table of contents"
MAX_HEADING_WORDS = 15
"""Maximum words of a heading."""
MAX_HEADING_CHARACTERS = 120
_LARGE_RATIO = 1.15
"""Size relative to the body text from which type counts as larger."""


@dataclass(frozen=True, slots=True)
class ParagraphLook:
    """The look of a paragraph, and what its style says about it."""

    level: int = 0
    """Heading level by its style; 0 for no heading."""
    role: str = ""
    """title, subtitle, author, date, caption, code or toc, by its style; "" for none."""
    centred: bool = False
    bold: bool = False
    """True if at least 90 % of its letters are bold."""
    size: float = 0
    """Type size of most of its letters, in points; 0 if unknown."""
    starts_page: bool = False
    """True if a page begins with this paragraph."""
    space_above: float = 0
    """Space above the paragraph, in points."""
    omission_reason: str = ""
    """Reason to leave the paragraph out; "" if it is read."""


@dataclass(slots=True)
class FirstPage:
    """Title and author as stated on the first page of a text."""

    title: str | None = None
    subtitle: str | None = None
    authors: tuple[str, ...] = ()
    likely_title: str | None = None
    """A guess from the lines above the first heading, where no style or byline names the title."""
    likely_author: str | None = None
    guessed_headings: int = 0
    """Number of headings known by their look alone."""


@dataclass(slots=True)
class ParagraphLine:
    """A paragraph outside of lists and tables."""

    element: etree._Element
    look: ParagraphLook
    text: str
    word_count: int
    is_candidate: bool = True
    """True if it may be a heading or title: no caption, code or scene break, and not left out."""
    gap: int = 0
    """Number of empty paragraphs above it."""
    heading: Heading | None = None
    level: int = 0


def parse_heading(line: ParagraphLine) -> Heading | None:
    """Parses a line as a heading; None if it is none."""
    rows = [row.strip() for row in line.text.split("\n") if row.strip()]
    return read_heading(rows, 2 if line.look.starts_page or line.gap or line.look.centred else 0)


def may_be_heading(line: ParagraphLine) -> bool:
    """Returns whether a line is short enough for a heading and not classified yet."""
    return (
        line.is_candidate
        and not line.level
        and 0 < line.word_count <= MAX_HEADING_WORDS
        and len(line.text) <= MAX_HEADING_CHARACTERS
    )


def body_text_size(paragraphs: Sequence[ParagraphLine]) -> float:
    """Returns the type size of most words, in points."""
    sizes: Counter[float] = Counter()
    for line in paragraphs:
        sizes[line.look.size] += line.word_count
    return sizes.most_common(1)[0][0] if sizes else 0


def heading_score(line: ParagraphLine, body_size: float) -> int:
    """Scores how much a line looks like a heading, from 0 to 7."""
    look = line.look
    size_score = 2 * is_larger(line, body_size)
    return look.centred + look.bold + size_score + 2 * look.starts_page + line.text.isupper()


def is_larger(line: ParagraphLine, body_size: float) -> bool:
    """Returns whether a line is set in larger type than the body text."""
    return bool(body_size) and line.look.size >= _LARGE_RATIO * body_size


def omit_line(line: ParagraphLine, reason: str = "title page") -> None:
    """Marks a line as left out, for a reason."""
    line.is_candidate, line.level = False, 0
    line.element.set(OMISSION_ATTRIBUTE, reason)
