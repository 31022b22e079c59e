"""Pages of a table of contents: lines with dots, or numbers of pages, at their ends."""

from __future__ import annotations

import re
from collections.abc import Sequence

from narrator.importers import matter
from narrator.importers.readers.pdf.lines import CELL, TextLine

CONTENTS = "table of contents"
_LEADER = re.compile(r"(?:[.·…_]\s?){4,}\s*(?:\d{1,4}|[ivxlc]{1,7})?\s*$", re.IGNORECASE)
_NUMBERED = re.compile(r"\S.*\s(?:\d{1,4}|[ivxlc]{1,7})\s*$", re.IGNORECASE | re.DOTALL)
_LEAST = 3
_SHARE = 0.5
"""Of a page's lines: then all of it is a table of contents."""


def leave_contents(pages: Sequence[Sequence[TextLine]]) -> None:
    """Set aside tables of contents."""
    before = False
    """Whether the page before is one."""
    for lines in pages:
        kept = [line for line in lines if line.left is None]
        headed = any(matter.kind_of_title(line.text.strip()) == "toc" for line in kept[:3])
        dotted = [line for line in kept if _LEADER.search(line.text)]
        entries = dotted
        if headed or before:
            entries = [line for line in kept if _LEADER.search(line.text) or _is_entry(line)]
        before = len(entries) >= _LEAST and len(entries) >= len(kept) * _SHARE
        if before:
            entries = kept
        for line in entries if len(entries) >= _LEAST else ():
            line.left = CONTENTS


def _is_entry(line: TextLine) -> bool:
    """Whether a line ends with a number that stands apart."""
    return CELL in line.text and _NUMBERED.match(line.text) is not None
