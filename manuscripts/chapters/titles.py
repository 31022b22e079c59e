"""Titles of chapters for marks, tags and files, with those of their holders if needed.

The spoken heading stays as written; a title must also tell listeners where they are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from manuscripts import matter
from manuscripts.counting import ROMAN
from manuscripts.prose import is_ordinal

_BARE_NUMBER = re.compile(rf"\W*(?:(?:no|nr|n[o°]|num)\W+)?(?:\d{{1,4}}|{ROMAN})\W*", re.IGNORECASE)
_MAX_PARENT_LENGTH = 60
"""Characters of one parent in a title."""

TitleWithParents = tuple[str, tuple[str, ...]]
"""A title, and those of its chapter's holders, the outermost first."""


def distinguish_titles(titles: Sequence[TitleWithParents]) -> list[str]:
    """Returns the titles, each with as many parents as make it meaningful and unique: `A Scandal in
    Bohemia: II`, `Part One, Chapter 1`.

    If a bare number gets a parent, its siblings get theirs, too.
    """
    depths = [_min_depth(title, parents) for title, parents in titles]
    while True:
        _equalize_depths(titles, depths)
        names = [
            _join_title(*title_with_parents, depth)
            for title_with_parents, depth in zip(titles, depths, strict=True)
        ]
        name_counts = Counter(name.casefold() for name in names)
        ambiguous_indexes = [
            index
            for index, (name, (_, parents)) in enumerate(zip(names, titles, strict=True))
            if name_counts[name.casefold()] > 1 and depths[index] < len(parents)
        ]
        if not ambiguous_indexes:
            return names
        for index in ambiguous_indexes:
            depths[index] += 1


def is_bare(title: str) -> bool:
    """Returns whether a title is only a number: `IV.`, `12`, `No. 3`."""
    return bool(_BARE_NUMBER.fullmatch(title))


def _min_depth(title: str, parents: tuple[str, ...]) -> int:
    """Returns the number of parents that a title needs, up to one that is more than a number."""
    depth = 0
    while depth < len(parents) and is_bare(title):
        depth += 1
        title = parents[-depth]
    return depth


def _equalize_depths(titles: Sequence[TitleWithParents], depths: list[int]) -> None:
    """Raises the depths of numbered titles to the largest among those of the same holder."""
    max_depth_by_holder: dict[tuple[str, ...], int] = {}
    numbered_titles = [
        (index, len(parents), parents[: max(1, len(parents) - 1)])
        for index, (title, parents) in enumerate(titles)
        if is_ordinal(title)
    ]
    for index, _, holder in numbered_titles:
        max_depth_by_holder[holder] = max(max_depth_by_holder.get(holder, 0), depths[index])
    for index, parent_count, holder in numbered_titles:
        depths[index] = min(parent_count, max_depth_by_holder[holder])


def _join_title(title: str, parents: tuple[str, ...], depth: int) -> str:
    joined_title = title.rstrip(".:—–- ") or title if depth and is_ordinal(title) else title
    for parent in reversed(parents[len(parents) - depth :]):
        parent = _shorten_parent(parent.rstrip(".:,;—–- ") or parent)
        is_number = is_ordinal(parent) or matter.part_title(parent) == ""
        joined_title = f"{parent}{', ' if is_number or ':' in parent else ': '}{joined_title}"
    return joined_title


def _shorten_parent(parent: str) -> str:
    if len(parent) <= _MAX_PARENT_LENGTH:
        return parent
    return f"{parent[:_MAX_PARENT_LENGTH].rpartition(' ')[0] or parent[:_MAX_PARENT_LENGTH]}…"
