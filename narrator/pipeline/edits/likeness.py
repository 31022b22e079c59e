"""Finds a text again that has been edited or moved. Knows no files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

_WORD = re.compile(r"\w+|[^\w\s]")
_MIN_LIKENESS = 0.5
"""Share of words that have to be the same in a text for it to be an edited version."""
_MAX_TEXTS, _MAX_WORDS = 1000, 400
"""Number of texts that are compared, and of words in each."""
_SEARCH_RADIUS, _MAX_COMPARED_LINES = 2000, 50
"""Number of lines searched before and after the expected one, and compared in each block."""


def most_similar_index(texts: Sequence[str], original: str, expected_index: int) -> int | None:
    """The index of a text, or else of the one most like it; None if there is none.

    Of several equal texts, the one nearest to index `expected_index` counts.
    """
    nearest_first = sorted(range(len(texts)), key=lambda n: abs(n - expected_index))
    same_index = next((index for index in nearest_first if texts[index] == original), None)
    if same_index is not None or not original.strip():
        return same_index
    best_ratio, best_index = _MIN_LIKENESS, None
    matcher = SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(_split_words(original))
    for index in nearest_first[:_MAX_TEXTS]:
        matcher.set_seq1(_split_words(texts[index]))
        if matcher.real_quick_ratio() > best_ratio and matcher.quick_ratio() > best_ratio:
            ratio = matcher.ratio()
            if ratio > best_ratio:
                best_ratio, best_index = ratio, index
    return best_index


def find_moved_lines(
    rows: Sequence[str], original_lines: Sequence[str], expected_index: int
) -> Sequence[str]:
    """The present state of lines that began at index `expected_index`; empty if they are gone."""
    first = max(0, expected_index - _SEARCH_RADIUS)
    compared_count = min(len(original_lines), _MAX_COMPARED_LINES)
    starts = range(first, min(len(rows), expected_index + _SEARCH_RADIUS))
    blocks = ["".join(rows[start : start + compared_count]) for start in starts]
    start = most_similar_index(
        blocks, "".join(original_lines[:compared_count]), expected_index - first
    )
    return [] if start is None else rows[first + start : first + start + len(original_lines)]


def _split_words(text: str) -> list[str]:
    return _WORD.findall(text[: _MAX_WORDS * 10])[:_MAX_WORDS]
