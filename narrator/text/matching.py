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

MIN_SIMILARITY = 0.5
"""Of two texts at least alike, for one to be the other, edited."""
MIN_LONE_SIMILARITY = 0.3
"""The same where each is the only one between others that are equal."""
_MAX_COMPARISONS = 40_000
"""Pairs that are compared each with each; larger stretches are parted where texts are equal."""
_FEW_WORDS = 5
"""Words of two texts that are compared by their letters."""
_NEIGHBOUR_BONUS = 0.2
"""What a pair is worth beside another one, on top of how far its texts are alike."""

_Stretch = tuple[int, int, int, int]
"""Of the old ones from and to, of the new ones from and to."""


def matched(old: Sequence[str], new: Sequence[str]) -> list[int | None]:
    """For each of the new texts the place of the old one that it is."""
    old_keys, new_keys = [*map(_comparison_key, old)], [*map(_comparison_key, new)]
    matches: dict[int, int] = {}
    stretches: list[_Stretch] = [(0, len(old_keys), 0, len(new_keys))]
    while stretches:
        stretch = _trim_equal_ends(old_keys, new_keys, stretches.pop(), matches)
        old_start, old_end, new_start, new_end = stretch
        if old_end - old_start == new_end - new_start == 1:  # between equal ones: the same, edited
            pairs = [(old_start, new_start)] * (
                _similarity(old_keys[old_start], new_keys[new_start]) >= MIN_LONE_SIMILARITY
            )
        elif (old_end - old_start) * (new_end - new_start) <= _MAX_COMPARISONS:
            pairs = list(_align_stretch(old_keys, new_keys, stretch))
        else:
            pairs = _longest_increasing(_find_anchors(old_keys, new_keys, stretch))
            edges = [(old_start - 1, new_start - 1), *pairs, (old_end, new_end)]
            stretches += [
                (i + 1, next_i, j + 1, next_j)
                for (i, j), (next_i, next_j) in pairwise(edges if pairs else ())
            ]
        matches.update((j, i) for i, j in pairs)
    _match_moved(old_keys, new_keys, matches)
    return [matches.get(place) for place in range(len(new))]


def _trim_equal_ends(
    old_keys: Sequence[str], new_keys: Sequence[str], stretch: _Stretch, matches: dict[int, int]
) -> _Stretch:
    """What is left of a stretch when its equal beginnings and ends are found."""
    old_start, old_end, new_start, new_end = stretch
    while (
        old_start < old_end and new_start < new_end and old_keys[old_start] == new_keys[new_start]
    ):
        matches[new_start] = old_start
        old_start, new_start = old_start + 1, new_start + 1
    while (
        old_start < old_end
        and new_start < new_end
        and old_keys[old_end - 1] == new_keys[new_end - 1]
    ):
        old_end, new_end = old_end - 1, new_end - 1
        matches[new_end] = old_end
    return old_start, old_end, new_start, new_end


@lru_cache(maxsize=1 << 15)
def _comparison_key(text: str) -> str:
    """Return a text as it is compared: its words in small letters; its marks where it has none."""
    return " ".join(re.findall(r"\w+", text.casefold())) or text.strip()


def _find_anchors(
    old_keys: Sequence[str], new_keys: Sequence[str], stretch: _Stretch
) -> list[tuple[int, int]]:
    """Return equal pairs: of texts that stand once on either side, with their neighbours first;
    where there are none, each first one with the first, each second with the second."""
    old_start, old_end, new_start, new_end = stretch
    for gram_size in (3, 2, 1):
        old_places = _gram_places(old_keys, old_start, old_end, gram_size)
        new_places = _gram_places(new_keys, new_start, new_end, gram_size)
        pairs = [
            (offsets[0], new_places[gram][0])
            for gram, offsets in old_places.items()
            if len(offsets) == 1 and len(new_places.get(gram, ())) == 1
        ]
        if pairs:
            return pairs
    new_places = _gram_places(new_keys, new_start, new_end, 1)
    return [
        pair
        for gram, offsets in _gram_places(old_keys, old_start, old_end, 1).items()
        for pair in zip(offsets, new_places.get(gram, ()), strict=False)
    ]


def _gram_places(
    keys: Sequence[str], begin: int, end: int, gram_size: int
) -> dict[tuple[str, ...], list[int]]:
    """Return rows of so many keys -> where they begin."""
    places: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for index in range(begin, end - gram_size + 1):
        places[tuple(keys[index : index + gram_size])].append(index)
    return places


def _longest_increasing(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest row of pairs in which both places rise."""
    sorted_pairs = sorted(pairs)
    tail_places: list[int] = []
    tail_indices: list[int] = []
    predecessors: list[int] = []
    for pair_index, (_, place) in enumerate(sorted_pairs):
        row_length = bisect_left(tail_places, place)
        tail_places[row_length : row_length + 1] = [place]
        tail_indices[row_length : row_length + 1] = [pair_index]
        predecessors.append(tail_indices[row_length - 1] if row_length else -1)
    increasing = []
    pair_index = tail_indices[-1] if tail_indices else -1
    while pair_index >= 0:
        increasing.append(sorted_pairs[pair_index])
        pair_index = predecessors[pair_index]
    return increasing[::-1]


def _align_stretch(
    old_keys: Sequence[str], new_keys: Sequence[str], stretch: _Stretch
) -> Iterator[tuple[int, int]]:
    """Yield the pairs of a small stretch that are worth most: each with each compared."""
    old_start, old_end, new_start, new_end = stretch
    width = new_end - new_start
    # what is gained up to each pair, and the same where the pair itself is one
    best_scores = [[0.0] * (width + 1)]
    paired_scores = [[-1.0] * (width + 1)]
    for i in range(old_start, old_end):
        score_row, paired_row = [0.0], [-1.0]
        for j in range(width):
            similarity = _similarity(old_keys[i], new_keys[new_start + j])
            paired_score = -1.0
            if similarity >= MIN_SIMILARITY:
                beside = paired_scores[-1][j]
                paired_score = similarity + max(
                    best_scores[-1][j], beside + _NEIGHBOUR_BONUS if beside >= 0 else 0.0
                )
            paired_row.append(paired_score)
            score_row.append(max(paired_score, best_scores[-1][j + 1], score_row[j]))
        best_scores.append(score_row)
        paired_scores.append(paired_row)
    i, j = old_end - old_start, width
    beside = False
    while i and j:
        paired_score = paired_scores[i][j]
        if paired_score >= 0 and (
            beside or paired_score >= max(best_scores[i - 1][j], best_scores[i][j - 1])
        ):
            yield old_start + i - 1, new_start + j - 1
            previous_score = paired_scores[i - 1][j - 1]
            beside = (
                previous_score >= 0
                and previous_score + _NEIGHBOUR_BONUS >= best_scores[i - 1][j - 1]
            )
            i, j = i - 1, j - 1
        elif best_scores[i - 1][j] >= best_scores[i][j - 1]:
            i -= 1
        else:
            j -= 1


@lru_cache(maxsize=1 << 16)
def _similarity(key: str, other_key: str) -> float:
    """How far two keys are alike: their words, of very short ones their letters."""
    if key == other_key:
        return 1.0
    key_words, other_words = _words(key), _words(other_key)
    word_count = len(key_words) + len(other_words)
    similarity = 2 * len(key_words & other_words) / word_count
    if (
        similarity < MIN_SIMILARITY
        and word_count <= _FEW_WORDS
        and len(key) <= 3 * len(other_key) <= 9 * len(key)
    ):
        similarity = difflib.SequenceMatcher(None, key, other_key, autojunk=False).ratio()
    return min(similarity, 0.99)


@lru_cache(maxsize=1 << 15)
def _words(key: str) -> frozenset[str]:
    return frozenset(key.split() or [key])


def _match_moved(old_keys: Sequence[str], new_keys: Sequence[str], matches: dict[int, int]) -> None:
    """What stands once on either side is the same wherever it stands."""
    matched_places = set(matches.values())
    old_counts, new_counts = Counter(old_keys), Counter(new_keys)
    unmatched = {
        key: i for i, key in enumerate(old_keys) if i not in matched_places and old_counts[key] == 1
    }
    for j, key in enumerate(new_keys):
        if j not in matches and new_counts[key] == 1 and key in unmatched:
            matches[j] = unmatched[key]
