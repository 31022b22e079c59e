"""Titles of chapters for marks, tags and files, with what holds them where they need it.

What is spoken stays what the text says; a title must also tell a listener where he is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from narrator.importers import matter
from narrator.importers.counting import ROMAN
from narrator.importers.prose import is_ordinal

_BARE = re.compile(rf"\W*(?:(?:no|nr|n[o°]|num)\W+)?(?:\d{{1,4}}|{ROMAN})\W*", re.IGNORECASE)
_LONGEST = 60
"""Characters of one parent in a title."""

Titled = tuple[str, tuple[str, ...]]
"""A title, and those of what holds its chapter, the outermost first."""


def distinct(titles: Sequence[Titled]) -> list[str]:
    """The titles, each with as many of its parents as it takes to say something, and to be no
    other's: `A Scandal in Bohemia: II`, `Part One, Chapter 1`.

    Where one that only counts has a parent, those beside it have it too.
    """
    depths = [_least(title, parents) for title, parents in titles]
    while True:
        _even(titles, depths)
        names = [_named(*titled, depth) for titled, depth in zip(titles, depths, strict=True)]
        counts = Counter(name.casefold() for name in names)
        again = [
            number
            for number, (name, (_, parents)) in enumerate(zip(names, titles, strict=True))
            if counts[name.casefold()] > 1 and depths[number] < len(parents)
        ]
        if not again:
            return names
        for number in again:
            depths[number] += 1


def is_bare(title: str) -> bool:
    """Whether a title is a number and nothing else: `IV.`, `12`, `No. 3`."""
    return bool(_BARE.fullmatch(title))


def _least(title: str, parents: tuple[str, ...]) -> int:
    """Parents that a title needs to say anything: up to one that is more than a number."""
    depth = 0
    while depth < len(parents) and is_bare(title):
        depth += 1
        title = parents[-depth]
    return depth


def _even(titles: Sequence[Titled], depths: list[int]) -> None:
    most: dict[tuple[str, ...], int] = {}
    counting = [
        (number, len(parents), parents[: max(1, len(parents) - 1)])
        for number, (title, parents) in enumerate(titles)
        if is_ordinal(title)
    ]
    for number, _, around in counting:
        most[around] = max(most.get(around, 0), depths[number])
    for number, count, around in counting:
        depths[number] = min(count, most[around])


def _named(title: str, parents: tuple[str, ...], depth: int) -> str:
    named = title.rstrip(".:—–- ") or title if depth and is_ordinal(title) else title
    for parent in reversed(parents[len(parents) - depth :]):
        parent = _short(parent.rstrip(".:,;—–- ") or parent)
        counts = is_ordinal(parent) or matter.title_of_part(parent) == ""
        named = f"{parent}{', ' if counts or ':' in parent else ': '}{named}"
    return named


def _short(parent: str) -> str:
    if len(parent) <= _LONGEST:
        return parent
    return f"{parent[:_LONGEST].rpartition(' ')[0] or parent[:_LONGEST]}…"
