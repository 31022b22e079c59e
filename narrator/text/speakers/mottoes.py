"""Finds the mottoes of chapters: what stands before the text, with its source.

They are quoted, but nobody in the book says them, and their authors are not its people. Knows
nothing of who speaks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_MAX_PARAGRAPHS = 8
"""Paragraphs at the beginning of a chapter that may be headings and mottoes."""
_MAX_STANZA_LENGTH = 700
"""Characters of a paragraph of a motto."""
_CAPITALS = r"[^\W\d_a-zß-ÿ](?:[^\W_a-zß-ÿ]|[.,'’&: -]){2,60}"
"""MRS. HEMANS: a source in capitals."""
_SOURCE = re.compile(
    rf"""(?:[\"'”’»] \s* (?:>\s*)? (?:--|—|–) \s* [_*]* [A-Z][^.!?;“”\"—–-]{{2,60}}  # —Old Play
    | (?<![A-Z]) [\"'”’».,!?—-] \s+ (?:>\s*)?
       (?:(?:--|—|–)\s*)? {_CAPITALS} (?::\s[^.!?“”\"]{{2,60}})?
    ) [.]? [_*]* \s* \Z""",
    re.VERBOSE,
)
"""The source of a motto at the end of its paragraph."""
_SEPARATE_SOURCE = re.compile(
    rf"(?:>\s*)?(?:{_CAPITALS}|(?:--|—|–)\s*[_*]*[A-Z][\w.'’]*"
    r"(?:[ ,]+(?:[A-Z][\w.'’]*|of|the)){0,6})[.]?[_*]*"
)
"""A source in a paragraph of its own."""
_OPENING = re.compile(r"\s*(?:>\s*)?[_*]*[\"'“‘«]")


def count_motto_paragraphs(paragraphs: Sequence[str]) -> int:
    """Returns the number of paragraphs at the beginning of a chapter that are headings in capitals
    and mottoes."""
    count = 0
    has_quotation = False
    for number, text in enumerate(paragraphs[:_MAX_PARAGRAPHS]):
        if len(text) > _MAX_STANZA_LENGTH:
            break
        is_quotation = _OPENING.match(text) is not None
        is_heading = text.isupper() and not is_quotation
        has_source = _SOURCE.search(text) is not None and not text.isupper()
        if (
            is_heading
            or (has_quotation and _SEPARATE_SOURCE.fullmatch(text))
            or ((has_quotation or is_quotation) and has_source)
        ):
            count = number + 1
        has_quotation |= is_quotation
    return count
