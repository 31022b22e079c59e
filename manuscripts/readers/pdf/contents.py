"""Detects a table of contents, by lines that end with dot leaders or page numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from manuscripts import matter
from manuscripts.readers.pdf.lines import CELL_SEPARATOR, TextLine

CONTENTS = "table of contents"
_LEADER = re.compile(r"(?:[.·…_]\s?){4,}\s*(?:\d{1,4}|[ivxlc]{1,7})?\s*$", re.IGNORECASE)
_NUMBERED = re.compile(r"\S.*\s(?:\d{1,4}|[ivxlc]{1,7})\s*$", re.IGNORECASE | re.DOTALL)
_MIN_ENTRIES = 3
"""Minimum entries of a page of a table of contents."""
_MIN_ENTRY_SHARE = 0.5
"""Minimum share of entries for the whole page to be a table of contents."""


def omit_contents(pages: Sequence[Sequence[TextLine]]) -> None:
    """Marks tables of contents as left out."""
    is_previous_contents = False
    """True if the previous page is part of a table of contents."""
    for lines in pages:
        remaining_lines = [line for line in lines if line.omission_reason is None]
        has_title = any(
            matter.kind_of_title(line.text.strip()) == "toc" for line in remaining_lines[:3]
        )
        may_have_entries = has_title or is_previous_contents
        entries = [
            e
            for e in remaining_lines
            if _LEADER.search(e.text) or (may_have_entries and _is_entry(e))
        ]
        is_previous_contents = (
            len(entries) >= _MIN_ENTRIES and len(entries) >= len(remaining_lines) * _MIN_ENTRY_SHARE
        )
        if is_previous_contents:
            entries = remaining_lines
        for line in entries if len(entries) >= _MIN_ENTRIES else ():
            line.omission_reason = CONTENTS


def _is_entry(line: TextLine) -> bool:
    """Returns whether a line ends with a page number after a wide gap."""
    return CELL_SEPARATOR in line.text and _NUMBERED.match(line.text) is not None
