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
    is_contents_page = False
    for lines in map(remaining, pages):
        has_title = any(matter.kind_of_title(line.text.strip()) == "toc" for line in lines[:3])
        # Without dot leaders, entries are known by the title above or on a page before.
        may_lack_leaders = has_title or is_contents_page
        entries = [
            line
            for line in lines
            if _LEADER.search(line.text)
            or (may_lack_leaders and CELL_SEPARATOR in line.text and _NUMBERED.match(line.text))
        ]
        is_contents_page = len(entries) >= max(_MIN_ENTRIES, len(lines) * _MIN_ENTRY_SHARE)
        if len(entries) >= _MIN_ENTRIES:
            for line in lines if is_contents_page else entries:
                line.omission_reason = CONTENTS
