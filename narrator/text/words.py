"""The words of a spoken text, as spans: what is timed, counted and compared one by one.

In scripts without spaces between words each character is one. Knows no language's grammar.
"""

from __future__ import annotations

import re
import unicodedata

from narrator.text.sentences import primary

UNSPACED_LANGUAGES = frozenset("bo ja km ko lo my th yue zh".split())
"""Languages without spaces between words, or with spaces at will."""
_RUN = re.compile(r"\S+")


def is_lettered(language: str) -> bool:
    """Return True if a language, by BCP 47 tag, is taken by character."""
    return primary(language) in UNSPACED_LANGUAGES


def words(text: str, language: str) -> list[tuple[int, int]]:
    """Where each word lies: `text[first:last]`, with the marks that touch it; those of marks alone
    belong to the word before. Without spaces: a character with its marks and accents."""
    spans: list[tuple[int, int]] = []
    for match in _RUN.finditer(text):
        pieces = _character_spans(text, *match.span()) if is_lettered(language) else [match.span()]
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
