"""Which of the texts that stand somewhere now is the one that stood there. Knows no files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

_WORDS = re.compile(r"\w+|[^\w\s]")
_LEAST = 0.5
"""Share of words that a text has kept, or it is another one."""
_NEAR, _MOST = 1000, 400
"""Texts that are looked at, and words of each."""
_AROUND, _COMPARED = 2000, 50
"""Lines before and after a place that are looked at, and lines of a block that are compared."""


def likest(texts: Sequence[str], wanted: str, at: int) -> int | None:
    """The place of a text, or of the one that is most like it: the nearest of several; None where
    none is."""
    order = sorted(range(len(texts)), key=lambda n: abs(n - at))
    same = next((n for n in order if texts[n] == wanted), None)
    if same is not None or not wanted.strip():
        return same
    best, found = _LEAST, None
    matcher = SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(_words(wanted))
    for n in order[:_NEAR]:
        matcher.set_seq1(_words(texts[n]))
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best:
            ratio = matcher.ratio()
            best, found = (ratio, n) if ratio > best else (best, found)
    return found


def likest_lines(rows: Sequence[str], wanted: Sequence[str], at: int) -> Sequence[str]:
    """What lines, of which the first was at a place, have become; none where they are gone."""
    first, size = max(0, at - _AROUND), min(len(wanted), _COMPARED)
    starts = range(first, min(len(rows), at + _AROUND))
    blocks = ["".join(rows[n : n + size]) for n in starts]
    n = likest(blocks, "".join(wanted[:size]), at - first)
    return [] if n is None else rows[first + n : first + n + len(wanted)]


def _words(text: str) -> list[str]:
    return _WORDS.findall(text[: _MOST * 10])[:_MOST]
