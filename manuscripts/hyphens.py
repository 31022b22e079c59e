"""Joins words that a line end has divided, with or without their hyphen, as the book spells them.

`con-` / `versation` is one word; `well-` / `known` stays `well-known` if the book spells it so
elsewhere or both halves are words of it; `pre-` / `and postwar` are two.
"""

from __future__ import annotations

import re
from collections.abc import Collection

DIVIDED_WORD = re.compile(r"(?<![^\W_])(?<![^\W_]-)([^\W_]+(?:-[^\W_]+)*)-[ \t]*\n[ \t]*([^\W_]+)")
_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_CONJUNCTIONS = frozenset(
    "and or nor to as und oder bis bzw et ou y o e ed och og eller en of ja tai i lub и или".split()
)
_COMPOUND_FIRST_WORDS = frozenset(
    "well self half twenty thirty forty fifty sixty seventy eighty ninety".split()
)
"""English words that keep their hyphen, except before these suffixes."""
_ENGLISH_SUFFIXES = frozenset("ish less hood ness ing ed er ers est fold pence penny".split())


def words_of(text: str) -> frozenset[str]:
    """Returns the undivided words of a book, without case."""
    return frozenset(_WORD.findall(DIVIDED_WORD.sub(" ", text).casefold()))


def join(text: str, known_words: Collection[str]) -> str:
    """Returns `text` without line ends inside words; `known_words` are those of the book."""
    return DIVIDED_WORD.sub(lambda broken: join_halves(broken[1], broken[2], known_words), text)


def join_halves(first: str, second: str, known_words: Collection[str]) -> str:
    """Returns the word, or the two words, that two halves at a line end make."""
    hyphenated, joined_word = f"{first}-{second}".casefold(), f"{first}{second}".casefold()
    if second.casefold() in _CONJUNCTIONS and hyphenated not in known_words:
        return f"{first}- {second}"
    is_name = second[0].isupper() and not first.isupper()
    has_digits = first[-1].isdigit() or second[0].isdigit()
    if is_name or has_digits or hyphenated in known_words:
        return f"{first}-{second}"
    if joined_word in known_words:
        return f"{first}{second}"
    are_both_words = first.casefold() in known_words and second.casefold() in known_words
    is_usual_compound = (
        first.casefold() in _COMPOUND_FIRST_WORDS and second.casefold() not in _ENGLISH_SUFFIXES
    )
    is_compound = (
        "-" in first or is_usual_compound or (are_both_words and min(len(first), len(second)) > 2)
    )
    return f"{first}-{second}" if is_compound else f"{first}{second}"
