"""The words of a spoken text, as spans: what is timed, counted and compared one by one.

In scripts without spaces between words each character is one. Knows no language's grammar.
"""

from __future__ import annotations

import re
import unicodedata

from narrator.text.sentences import primary

LETTERED = frozenset("bo ja km ko lo my th yue zh".split())
"""Languages without spaces between words, or with spaces at will."""
_RUN = re.compile(r"\S+")


def is_lettered(language: str) -> bool:
    """Whether a language, by BCP 47 tag, is taken by character."""
    return primary(language) in LETTERED


def words(text: str, language: str) -> list[tuple[int, int]]:
    """Where each word lies: `text[first:last]`, with the marks that touch it; those of marks alone
    belong to the word before. Without spaces: a character with its marks and accents."""
    found: list[tuple[int, int]] = []
    for run in _RUN.finditer(text):
        pieces = _characters(text, *run.span()) if is_lettered(language) else [run.span()]
        for first, last in pieces:
            if any(map(str.isalnum, text[first:last])):
                found.append((first, last))
            elif found:
                found[-1] = found[-1][0], last
    return found


def _characters(text: str, first: int, last: int) -> list[tuple[int, int]]:
    starts = [at for at in range(first, last) if unicodedata.category(text[at])[0] != "M"]
    return list(zip(starts, [*starts[1:], last], strict=True))
