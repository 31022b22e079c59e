"""Two lists of texts, an older and a newer one -> which is which, as a comparison of texts does it.

Equal ones come first, in order and with their neighbours; between them near ones. In time that is
about proportional to their number. Knows nothing of what the texts are.
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

NEAR = 0.5
"""Of two texts at least alike, for one to be the other, edited."""
ALONE = 0.3
"""The same where each is the only one between others that are equal."""
_CELLS = 40_000
"""Pairs that are compared each with each; larger stretches are parted where texts are equal."""
_FEW = 5
"""Words of two texts that are compared by their letters."""
_BESIDE = 0.2
"""What a pair is worth beside another one, on top of how far its texts are alike."""

_Stretch = tuple[int, int, int, int]
"""Of the old ones from and to, of the new ones from and to."""


def matched(old: Sequence[str], new: Sequence[str]) -> list[int | None]:
    """For each of the new texts the place of the old one that it is."""
    ours, theirs = [*map(_key, old)], [*map(_key, new)]
    found: dict[int, int] = {}
    stretches: list[_Stretch] = [(0, len(ours), 0, len(theirs))]
    while stretches:
        stretch = _between_equal_ends(ours, theirs, stretches.pop(), found)
        begin, end, first, last = stretch
        if end - begin == last - first == 1:  # between equal ones: the same, edited
            pairs = [(begin, first)] * (_alike(ours[begin], theirs[first]) >= ALONE)
        elif (end - begin) * (last - first) <= _CELLS:
            pairs = list(_aligned(ours, theirs, stretch))
        else:
            pairs = _in_order(_anchors(ours, theirs, stretch))
            edges = [(begin - 1, first - 1), *pairs, (end, last)]
            stretches += [
                (i + 1, after_i, j + 1, after_j)
                for (i, j), (after_i, after_j) in pairwise(edges if pairs else ())
            ]
        found.update((j, i) for i, j in pairs)
    _add_moved(ours, theirs, found)
    return [found.get(place) for place in range(len(new))]


def _between_equal_ends(
    ours: Sequence[str], theirs: Sequence[str], stretch: _Stretch, found: dict[int, int]
) -> _Stretch:
    """What is left of a stretch when its equal beginnings and ends are found."""
    begin, end, first, last = stretch
    while begin < end and first < last and ours[begin] == theirs[first]:
        found[first] = begin
        begin, first = begin + 1, first + 1
    while begin < end and first < last and ours[end - 1] == theirs[last - 1]:
        end, last = end - 1, last - 1
        found[last] = end
    return begin, end, first, last


@lru_cache(maxsize=1 << 15)
def _key(text: str) -> str:
    """A text as it is compared: its words in small letters; its marks where it has none."""
    return " ".join(re.findall(r"\w+", text.casefold())) or text.strip()


def _anchors(
    ours: Sequence[str], theirs: Sequence[str], stretch: _Stretch
) -> list[tuple[int, int]]:
    """Equal pairs: of texts that stand once on either side, with their neighbours first; where
    there are none, each first one with the first, each second with the second."""
    begin, end, first, last = stretch
    for size in (3, 2, 1):
        places = _places(ours, begin, end, size)
        others = _places(theirs, first, last, size)
        pairs = [
            (own[0], others[gram][0])
            for gram, own in places.items()
            if len(own) == 1 and len(others.get(gram, ())) == 1
        ]
        if pairs:
            return pairs
    others = _places(theirs, first, last, 1)
    return [
        pair
        for gram, own in _places(ours, begin, end, 1).items()
        for pair in zip(own, others.get(gram, ()), strict=False)
    ]


def _places(
    keys: Sequence[str], begin: int, end: int, size: int
) -> dict[tuple[str, ...], list[int]]:
    """Rows of so many keys -> where they begin."""
    found: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for place in range(begin, end - size + 1):
        found[tuple(keys[place : place + size])].append(place)
    return found


def _in_order(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest row of pairs in which both places rise."""
    rows = sorted(pairs)
    ends: list[int] = []
    best: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(rows):
        k = bisect_left(ends, place)
        ends[k : k + 1] = [place]
        best[k : k + 1] = [number]
        before.append(best[k - 1] if k else -1)
    chosen = []
    number = best[-1] if best else -1
    while number >= 0:
        chosen.append(rows[number])
        number = before[number]
    return chosen[::-1]


def _aligned(
    ours: Sequence[str], theirs: Sequence[str], stretch: _Stretch
) -> Iterator[tuple[int, int]]:
    """The pairs of a small stretch that are worth most: each with each compared."""
    begin, end, first, last = stretch
    width = last - first
    # what is gained up to each pair, and the same where the pair itself is one
    gains = [[0.0] * (width + 1)]
    paired = [[-1.0] * (width + 1)]
    for i in range(begin, end):
        gain, pair = [0.0], [-1.0]
        for j in range(width):
            alike = _alike(ours[i], theirs[first + j])
            here = -1.0
            if alike >= NEAR:
                beside = paired[-1][j]
                here = alike + max(gains[-1][j], beside + _BESIDE if beside >= 0 else 0.0)
            pair.append(here)
            gain.append(max(here, gains[-1][j + 1], gain[j]))
        gains.append(gain)
        paired.append(pair)
    i, j = end - begin, width
    beside = False
    while i and j:
        here = paired[i][j]
        if here >= 0 and (beside or here >= max(gains[i - 1][j], gains[i][j - 1])):
            yield begin + i - 1, first + j - 1
            before = paired[i - 1][j - 1]
            beside = before >= 0 and before + _BESIDE >= gains[i - 1][j - 1]
            i, j = i - 1, j - 1
        elif gains[i - 1][j] >= gains[i][j - 1]:
            i -= 1
        else:
            j -= 1


@lru_cache(maxsize=1 << 16)
def _alike(one: str, other: str) -> float:
    """How far two keys are alike: their words, of very short ones their letters."""
    if one == other:
        return 1.0
    ours, theirs = _words(one), _words(other)
    words = len(ours) + len(theirs)
    alike = 2 * len(ours & theirs) / words
    if alike < NEAR and words <= _FEW and len(one) <= 3 * len(other) <= 9 * len(one):
        alike = difflib.SequenceMatcher(None, one, other, autojunk=False).ratio()
    return min(alike, 0.99)


@lru_cache(maxsize=1 << 15)
def _words(key: str) -> frozenset[str]:
    return frozenset(key.split() or [key])


def _add_moved(ours: Sequence[str], theirs: Sequence[str], found: dict[int, int]) -> None:
    """What stands once on either side is the same wherever it stands."""
    taken = set(found.values())
    counts, others = Counter(ours), Counter(theirs)
    left = {key: i for i, key in enumerate(ours) if i not in taken and counts[key] == 1}
    for j, key in enumerate(theirs):
        if j not in found and others[key] == 1 and key in left:
            found[j] = left[key]
