"""Splits spoken text into words, which are timed, counted and compared one by one.

In scripts without spaces between words each character is a word. Knows no grammar.
"""

from __future__ import annotations

import re
import unicodedata

from textbase.languages import primary

UNSPACED_LANGUAGES = frozenset("bo ja km ko lo my th yue zh".split())
"""Languages written without spaces between words, or with optional ones."""
_RUN = re.compile(r"\S+")


def is_split_by_characters(language: str) -> bool:
    """Returns whether a language, a BCP 47 tag, is split by characters."""
    return primary(language) in UNSPACED_LANGUAGES


def words(text: str, language: str) -> list[tuple[int, int]]:
    """Returns the span of each word with its adjacent marks; lone marks belong to the word before.

    Without spaces each character, with its marks and accents, is a word.
    """
    spans: list[tuple[int, int]] = []
    for match in _RUN.finditer(text):
        pieces = (
            _character_spans(text, *match.span())
            if is_split_by_characters(language)
            else [match.span()]
        )
        for first, last in pieces:
            if any(map(str.isalnum, text[first:last])):
                spans.append((first, last))
            elif spans:
                spans[-1] = spans[-1][0], last
    return spans


def _character_spans(text: str, first: int, last: int) -> list[tuple[int, int]]:
    starts = [
        offset for offset in range(first, last) if unicodedata.category(text[offset])[0] != "M"
    ]
    return list(zip(starts, [*starts[1:], last], strict=True))
