"""Aligns an older and a newer list of texts, or of words, and finds a text again that was edited.

Equal parts are matched first, in order and with their neighbours; then similar ones between them.
The time is about proportional to their number. Knows nothing of the texts' meaning.
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

MIN_SIMILARITY = 0.5
"""Minimum similarity of two texts of which one is an edit of the other."""
MIN_LONE_SIMILARITY = 0.3
"""The same if both are the only ones between equal neighbours."""
_MAX_COMPARISONS = 40_000
"""Pairs that are compared exhaustively; larger stretches are split at equal texts."""
_FEW_WORDS = 5
"""Total number of words up to which two texts are compared by letters."""
_NEIGHBOUR_BONUS = 0.2
"""Bonus of a pair next to another pair, added to its similarity."""
_MAX_COMPARED_TEXTS, _MAX_COMPARED_LINES, _MAX_COMPARED_WORDS = 1000, 50, 400
"""Texts among which another is looked for, and lines and words of each that are compared."""
_SEARCH_RADIUS = 2000
"""Number of lines searched before and after the expected one."""

_Stretch = tuple[int, int, int, int]
"""Start and end in the old texts, start and end in the new texts."""


def similarity(first: Sequence[Hashable], second: Sequence[Hashable]) -> float:
    """Returns the share of units, letters or words, that two sequences have in common in one order,
    0 to 1."""
    return difflib.SequenceMatcher(None, first, second, autojunk=False).ratio()


def nearest_first(count: int, expected_index: int) -> list[int]:
    """Returns the indices of `count` texts, those next to the expected one first."""
    return sorted(range(count), key=lambda index: abs(index - expected_index))


def most_similar_index(
    texts: Sequence[str],
    original: str,
    candidates: Sequence[int],
    *,
    min_similarity: float = MIN_SIMILARITY,
) -> int | None:
    """Returns the first candidate whose text is the original, else the one most like it by its
    words; None if none is.

    `candidates` are indices of `texts`, the likeliest first.
    """
    same_index = next((index for index in candidates if texts[index] == original), None)
    if same_index is not None or not original.strip():
        return same_index
    best_index = None
    matcher = difflib.SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(_words_and_marks(original))
    for index in candidates[:_MAX_COMPARED_TEXTS]:
        matcher.set_seq1(_words_and_marks(texts[index]))
        if matcher.real_quick_ratio() > min_similarity and matcher.quick_ratio() > min_similarity:
            ratio = matcher.ratio()
            if ratio > min_similarity:
                min_similarity, best_index = ratio, index
    return best_index


def _words_and_marks(text: str) -> list[str]:
    words = re.findall(r"\w+|[^\w\s]", text[: 10 * _MAX_COMPARED_WORDS])
    return words[:_MAX_COMPARED_WORDS]


def find_moved_lines(
    rows: Sequence[str], original_lines: Sequence[str], expected_index: int
) -> Sequence[str]:
    """Returns the present state of lines that began at an index; empty if they are gone."""
    first = max(0, expected_index - _SEARCH_RADIUS)
    line_count = min(len(original_lines), _MAX_COMPARED_LINES)
    starts = range(first, min(len(rows), expected_index + _SEARCH_RADIUS))
    blocks = ["".join(rows[start : start + line_count]) for start in starts]
    original = "".join(original_lines[:line_count])
    start = most_similar_index(blocks, original, nearest_first(len(blocks), expected_index - first))
    return [] if start is None else rows[first + start : first + start + len(original_lines)]


def longest_rise(values: Sequence[int], *, allow_equal: bool = False) -> list[int]:
    """Returns the indices of the longest subsequence of values in which each is larger than the one
    before, or as large where equal ones are allowed."""
    find_length = bisect_right if allow_equal else bisect_left
    tail_values: list[int] = []
    tail_indices: list[int] = []
    predecessors: list[int] = []
    for index, value in enumerate(values):
        length = find_length(tail_values, value)
        tail_values[length : length + 1] = [value]
        tail_indices[length : length + 1] = [index]
        predecessors.append(tail_indices[length - 1] if length else -1)
    rise = []
    index = tail_indices[-1] if tail_indices else -1
    while index >= 0:
        rise.append(index)
        index = predecessors[index]
    return rise[::-1]


def find_anchors(old: Sequence[str], new: Sequence[str], run_length: int) -> list[tuple[int, int]]:
    """Returns where runs of `run_length` equal units begin that occur once on either side: the most
    pairs of which both indices rise."""
    old_places, new_places = _run_places(old, run_length), _run_places(new, run_length)
    return _rising_pairs(
        (places[0], new_places[run][0])
        for run, places in old_places.items()
        if len(places) == 1 and len(new_places.get(run, ())) == 1
    )


def _run_places(units: Sequence[str], run_length: int) -> dict[tuple[str, ...], list[int]]:
    """Maps each run of units to the indices at which it begins."""
    places: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for index in range(len(units) - run_length + 1):
        places[tuple(units[index : index + run_length])].append(index)
    return places


def _rising_pairs(pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Returns the longest subsequence of pairs in which both indices rise."""
    sorted_pairs = sorted(pairs)
    return [sorted_pairs[index] for index in longest_rise([place for _, place in sorted_pairs])]


def match_texts(old: Sequence[str], new: Sequence[str]) -> list[int | None]:
    """Returns for each new text the index of the old one that it matches, or None."""
    old_keys, new_keys = [*map(_comparison_key, old)], [*map(_comparison_key, new)]
    matches: dict[int, int] = {}
    stretches: list[_Stretch] = [(0, len(old_keys), 0, len(new_keys))]
    while stretches:
        stretch = _trim_equal_ends(old_keys, new_keys, stretches.pop(), matches)
        old_start, old_end, new_start, new_end = stretch
        if old_end - old_start == new_end - new_start == 1:  # between equal ones: the same, edited
            ratio = _key_similarity(old_keys[old_start], new_keys[new_start])
            pairs = [(old_start, new_start)] if ratio >= MIN_LONE_SIMILARITY else []
        elif (old_end - old_start) * (new_end - new_start) <= _MAX_COMPARISONS:
            pairs = list(_align_stretch(old_keys, new_keys, stretch))
        else:
            anchors = _equal_texts(old_keys[old_start:old_end], new_keys[new_start:new_end])
            pairs = [(old_start + i, new_start + j) for i, j in anchors]
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
    """Matches the equal texts at both ends of a stretch, and returns what remains."""
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
    """Returns a text's words in lower case; its marks if it has no words."""
    return " ".join(re.findall(r"\w+", text.casefold())) or text.strip()


def _equal_texts(old_keys: Sequence[str], new_keys: Sequence[str]) -> list[tuple[int, int]]:
    """Returns pairs of equal texts.

    Texts that occur once on either side come first, in runs of up to three; without any, first
    occurrences are paired with first, second with second.
    """
    for run_length in (3, 2, 1):
        if anchors := find_anchors(old_keys, new_keys, run_length):
            return anchors
    new_places = _run_places(new_keys, 1)
    return _rising_pairs(
        pair
        for run, places in _run_places(old_keys, 1).items()
        for pair in zip(places, new_places.get(run, ()), strict=False)
    )


def _align_stretch(
    old_keys: Sequence[str], new_keys: Sequence[str], stretch: _Stretch
) -> Iterator[tuple[int, int]]:
    """Yields the best alignment of a small stretch, by dynamic programming over all pairs."""
    old_start, old_end, new_start, new_end = stretch
    width = new_end - new_start
    best_scores = [[0.0] * (width + 1)]
    """The best score of the first i old texts and the first j new ones."""
    paired_scores = [[-1.0] * (width + 1)]
    """The best score if the last two of them are a pair; -1 if they cannot be."""
    for i in range(old_start, old_end):
        score_row, paired_row = [0.0], [-1.0]
        for j in range(width):
            pair_similarity = _key_similarity(old_keys[i], new_keys[new_start + j])
            paired_score = -1.0
            if pair_similarity >= MIN_SIMILARITY:
                neighbour_score = paired_scores[-1][j]
                paired_score = pair_similarity + max(
                    best_scores[-1][j],
                    neighbour_score + _NEIGHBOUR_BONUS if neighbour_score >= 0 else 0.0,
                )
            paired_row.append(paired_score)
            score_row.append(max(paired_score, best_scores[-1][j + 1], score_row[j]))
        best_scores.append(score_row)
        paired_scores.append(paired_row)
    i, j = old_end - old_start, width
    is_next_to_pair = False
    while i and j:
        paired_score = paired_scores[i][j]
        if paired_score >= 0 and (
            is_next_to_pair or paired_score >= max(best_scores[i - 1][j], best_scores[i][j - 1])
        ):
            yield old_start + i - 1, new_start + j - 1
            previous_score = paired_scores[i - 1][j - 1]
            is_next_to_pair = (
                previous_score >= 0
                and previous_score + _NEIGHBOUR_BONUS >= best_scores[i - 1][j - 1]
            )
            i, j = i - 1, j - 1
        elif best_scores[i - 1][j] >= best_scores[i][j - 1]:
            i -= 1
        else:
            j -= 1


@lru_cache(maxsize=1 << 16)
def _key_similarity(key: str, other_key: str) -> float:
    """Returns the similarity of two keys, 0 to 1: by words, of very short keys by letters."""
    if key == other_key:
        return 1.0
    key_words, other_words = _words(key), _words(other_key)
    word_count = len(key_words) + len(other_words)
    share = 2 * len(key_words & other_words) / word_count
    if (
        share < MIN_SIMILARITY
        and word_count <= _FEW_WORDS
        and len(key) <= 3 * len(other_key) <= 9 * len(key)
    ):
        share = similarity(key, other_key)
    return min(share, 0.99)


@lru_cache(maxsize=1 << 15)
def _words(key: str) -> frozenset[str]:
    return frozenset(key.split() or [key])


def _match_moved(old_keys: Sequence[str], new_keys: Sequence[str], matches: dict[int, int]) -> None:
    """Matches keys that occur once on either side, wherever they are."""
    matched_places = set(matches.values())
    old_counts, new_counts = Counter(old_keys), Counter(new_keys)
    unmatched = {
        key: i for i, key in enumerate(old_keys) if i not in matched_places and old_counts[key] == 1
    }
    for j, key in enumerate(new_keys):
        if j not in matches and new_counts[key] == 1 and key in unmatched:
            matches[j] = unmatched[key]
