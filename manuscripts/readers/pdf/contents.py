"""Detects a table of contents, by lines that end with dot leaders or page numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from manuscripts import matter
from manuscripts.readers.pdf.lines import CELL_SEPARATOR, TextLine, remaining

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
    for lines in map(remaining, pages):
        has_title = any(matter.kind_of_title(line.text.strip()) == "toc" for line in lines[:3])
        may_have_entries = has_title or is_previous_contents
        entries = [
            line
            for line in lines
            if _LEADER.search(line.text)
            or (may_have_entries and CELL_SEPARATOR in line.text and _NUMBERED.match(line.text))
        ]
        is_previous_contents = len(entries) >= max(_MIN_ENTRIES, len(lines) * _MIN_ENTRY_SHARE)
        for line in lines if is_previous_contents else entries:
            if len(entries) >= _MIN_ENTRIES:
                line.omission_reason = CONTENTS
