"""Words that a line's end has parted: joined, with or without their hyphen, as the book has them.

`con-` / `versation` is one word; `well-` / `known` stays `well-known`, if the book says so
elsewhere or both halves are words of it; `pre-` / `and postwar` are two.
"""

from __future__ import annotations

import re
from collections.abc import Collection

BROKEN = re.compile(r"(?<![^\W_])(?<![^\W_]-)([^\W_]+(?:-[^\W_]+)*)-[ \t]*\n[ \t]*([^\W_]+)")
_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_AND = frozenset(
    "and or nor to as und oder bis bzw et ou y o e ed och og eller en of ja tai i lub и или".split()
)
_BEFORE = frozenset("well self half twenty thirty forty fifty sixty seventy eighty ninety".split())
"""Of English: what stands before a hyphen, but for these endings."""
_ENDINGS = frozenset("ish less hood ness ing ed er ers est fold pence penny".split())


def words_of(text: str) -> frozenset[str]:
    """The words of a book that no line's end parts, without case."""
    return frozenset(_WORD.findall(BROKEN.sub(" ", text).casefold()))


def join(text: str, known: Collection[str]) -> str:
    """`text` without line ends within words; `known` are those of the book."""
    return BROKEN.sub(lambda broken: joined(broken[1], broken[2], known), text)


def joined(first: str, second: str, known: Collection[str]) -> str:
    """The word, or the two, that two halves at a line's end are."""
    hyphened, whole = f"{first}-{second}".casefold(), f"{first}{second}".casefold()
    if second.casefold() in _AND and hyphened not in known:
        return f"{first}- {second}"
    name = second[0].isupper() and not first.isupper()
    figures = first[-1].isdigit() or second[0].isdigit()
    if name or figures or hyphened in known:
        return f"{first}-{second}"
    if whole in known:
        return f"{first}{second}"
    halves = first.casefold() in known and second.casefold() in known
    common = first.casefold() in _BEFORE and second.casefold() not in _ENDINGS
    compound = "-" in first or common or (halves and min(len(first), len(second)) > 2)
    return f"{first}-{second}" if compound else f"{first}{second}"
