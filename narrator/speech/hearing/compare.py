"""Compares what was heard with what should be said, both as spoken words.

Both are turned into spoken words without case, marks and accents (`likeness.py` decides which words
count as the same) and aligned. The differences tell what is missing, repeated, added, moved, or
heard as something else, and where in the text. Languages without spaces between words are compared
by character.

Long equal stretches are found first, and only the gaps between them are aligned word by word; a
chapter is split at runs of words that occur once on both texts. So memory grows with the text, not
with its square. Knows no takes and no recogniser, and does not decide what is a fault.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from narrator.speech.hearing import likeness
from narrator.speech.hearing.likeness import ComparedUnit
from narrator.text.alignment import find_anchors
from narrator.text.normalize import Lexicon, normalize
from narrator.text.words import is_split_by_characters

Kind = Literal["missing", "added", "repeated", "moved", "other"]

WINDOW_WORDS, WINDOW_LETTERS = 6, 12
"""Length of a window."""
MAX_UNSPLIT_UNITS = 400
"""Units above which a text is split at runs that occur once on both texts."""
_ANCHOR_UNITS = 4
"""Units of such a run."""
_MAX_PAIRS = 4_000
"""Most pairs of units in a gap that is aligned exactly; in a larger one little is alike."""
_MAX_JOINED_WORDS = 4
"""Most words that may be joined to match a compound."""
_MIN_MOVED_UNITS = 2
"""Fewest units of a passage that is looked for elsewhere."""
_MAX_ALIKE_COST = 0.5
"""Cost below which two units count as the same."""
_SUBSTITUTIONS = {"other", "added"}
_MAX_ECHO_UNITS = 12
"""Most units of an immediate repetition."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A place where the heard words differ from the text."""

    kind: Kind
    """"missing": not heard. "added": heard in addition. "repeated": heard once more. "moved":
    heard elsewhere. "other": something else was heard."""
    first: int
    last: int
    """`text[first:last]`: of what is added, empty, after the word before; of what is repeated, the
    words that come again, or in whose place they do."""
    word_span: tuple[int, int]
    """The same as indices into `text.words`, the last one excluded; of what is added, empty, before
    the word that follows."""
    text: str
    """`text[first:last]`."""
    heard_text: str
    """The heard text there, as the recogniser wrote it; "" where the passage was moved."""
    unlikeness: float
    """0 to 1: difference of the two for each word; a name in another spelling is near 0."""
    cost: float
    """Number of errors that it counts for."""


@dataclass(frozen=True, slots=True)
class Fidelity:
    """Distance of the heard words from the text; errors are per word, or per character."""

    error: float
    """Overall: 0 is equal, 1 is nothing alike; above 1 where much was added."""
    window_error: float
    """That of the worst window."""
    error_count: float
    """Total errors; a word that is nearly right counts for less than one."""
    unit_count: int
    """Words, or characters, of the text."""
    differences: tuple[Difference, ...] = ()


def fidelity(text: str, heard_text: str, language: str) -> Fidelity:
    """Compares the spoken text of a take, or of any passage, with a recogniser's text.

    The heard text is normalised like any text: "£23" is "twenty-three pounds".
    """
    text_units = likeness.split_units(text, language)
    normalized = _normalize_heard(heard_text, language)
    heard_units = likeness.split_units(normalized, language)
    if not text_units:
        count = float(len(heard_units))
        return Fidelity(min(count, 1.0), min(count, 1.0), count, 0)
    moves = _align_units(text_units, heard_units, language)
    costs = np.zeros(len(text_units))  # of each unit of the text
    for move in moves:
        if move.cost:
            # an addition belongs to the word before it
            first = (
                move.text_span[0]
                if move.text_span[1] > move.text_span[0]
                else max(0, move.text_span[0] - 1)
            )
            last = max(move.text_span[1], first + 1)
            costs[first:last] += move.cost / (last - first)
    window_length = min(
        len(text_units), WINDOW_LETTERS if is_split_by_characters(language) else WINDOW_WORDS
    )
    windows = np.convolve(costs, np.ones(window_length), "valid") / window_length
    return Fidelity(
        error=round(float(costs.sum()) / len(text_units), 3),
        window_error=round(float(windows.max()), 3),
        error_count=round(float(costs.sum()), 2),
        unit_count=len(text_units),
        differences=tuple(
            _find_differences(moves, _Texts(text, normalized, text_units, heard_units), language)
        ),
    )


# -- the heard text --------------------------------------------------------------------------------

_SOUND_NOTE = re.compile(r"\[[^\]]*\]|\([^)]*\)|[♪♫]+")
"""Recognisers' notes on sounds that are no words: "[MUSIC]"."""
_UNSPOKEN_FORM = re.compile(r"\d|[^\w\s.,;:?!'’…-]|\b[^\W\d_]{1,4}\.|\b[A-Z]{2}")
"""Text that is not in spoken form: figures, signs, abbreviations."""


def _normalize_heard(heard: str, language: str) -> str:
    """Spells out the figures and abbreviations in a recogniser's text."""
    heard = _SOUND_NOTE.sub(" ", heard)
    if not _UNSPOKEN_FORM.search(heard):
        return heard
    return normalize(heard, language=language, speaker="", lexicon=_empty_lexicon()).text


@functools.cache
def _empty_lexicon() -> Lexicon:
    return Lexicon([])


# -- alignment -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Move:
    """A span of the text's units, the span of heard units there, and the cost of equating them."""

    text_span: tuple[int, int]
    heard_span: tuple[int, int]
    cost: float

    @property
    def kind(self) -> Kind:
        if self.heard_span[0] == self.heard_span[1]:
            return "missing"
        return "added" if self.text_span[0] == self.text_span[1] else "other"


def _align_units(
    text_units: Sequence[ComparedUnit], heard_units: Sequence[ComparedUnit], language: str
) -> list[_Move]:
    """Aligns the units of the text with the heard ones; returns moves in order."""
    moves: list[_Move] = []
    position = (0, 0)
    for first, heard_first, count in _find_equal_runs(
        [unit.form for unit in text_units], [unit.form for unit in heard_units]
    ):
        if (first, heard_first) != position:
            moves += _align_gap(
                text_units, heard_units, (position[0], first), (position[1], heard_first), language
            )
        moves += (
            _Move((first + n, first + n + 1), (heard_first + n, heard_first + n + 1), 0.0)
            for n in range(count)
        )
        position = first + count, heard_first + count
    return moves


class _EqualRun(NamedTuple):
    """Consecutive units that are equal in the text and in the heard text."""

    first: int
    heard_first: int
    length: int

    @property
    def ends(self) -> tuple[int, int]:
        return self.first + self.length, self.heard_first + self.length


def _find_equal_runs(text_forms: Sequence[str], heard_forms: Sequence[str]) -> list[_EqualRun]:
    """Returns the equal runs in order, and an empty one at the end of both sides.

    A single equal word may be chance, and hide a better alignment: it is left to its gap, unless
    the gap is too large to be aligned exactly; there longer words count.
    """
    is_long = max(len(text_forms), len(heard_forms)) > MAX_UNSPLIT_UNITS
    anchors = find_anchors(text_forms, heard_forms, _ANCHOR_UNITS) if is_long else []
    split_points = [(0, 0), *anchors, (len(text_forms), len(heard_forms))]
    blocks: list[_EqualRun] = []
    for (first, heard_first), (last, heard_last) in pairwise(split_points):
        matcher = difflib.SequenceMatcher(
            None, text_forms[first:last], heard_forms[heard_first:heard_last], autojunk=False
        )
        for match in matcher.get_matching_blocks():
            block = _EqualRun(match.a + first, match.b + heard_first, match.size)
            if blocks and block[:2] == blocks[-1].ends:
                blocks[-1] = blocks[-1]._replace(length=blocks[-1].length + block.length)
            elif block.length:
                blocks.append(block)
    runs: list[_EqualRun] = []
    single_units: list[_EqualRun] = []
    """Runs of one unit since the last longer one."""
    for block in (*blocks, _EqualRun(len(text_forms), len(heard_forms), 0)):
        if block.length == 1:
            single_units.append(block)
            continue
        gap_start, heard_gap_start = runs[-1].ends if runs else (0, 0)
        gap_pairs = (block.first - gap_start) * (block.heard_first - heard_gap_start)
        if gap_pairs > _MAX_PAIRS:
            runs += [unit for unit in single_units if len(text_forms[unit.first]) > 3]
        runs.append(block)
        single_units = []
    return runs


def _align_gap(
    all_text_units: Sequence[ComparedUnit],
    all_heard_units: Sequence[ComparedUnit],
    text_span: tuple[int, int],
    heard_span: tuple[int, int],
    language: str,
) -> list[_Move]:
    """Returns the cheapest alignment of a gap between equal runs, by dynamic programming.

    `text_span` and `heard_span` are the gap's units of both sides.
    """
    text_units, heard_units = all_text_units[slice(*text_span)], all_heard_units[slice(*heard_span)]
    if len(text_units) * len(heard_units) > _MAX_PAIRS:
        return _pair_in_order(text_span, heard_span)
    costs = [[0.0] * (len(heard_units) + 1) for _ in range(len(text_units) + 1)]
    """Least cost of aligning the first i units of the text with the first j heard ones."""
    step_sizes: dict[tuple[int, int], tuple[int, int]] = {}
    """Units of both sides that the last step of that alignment takes."""
    for i in range(len(text_units) + 1):
        for j in range(len(heard_units) + 1):
            if i or j:
                options = _step_options(
                    text_units[max(0, i - _MAX_JOINED_WORDS) : i],
                    heard_units[max(0, j - _MAX_JOINED_WORDS) : j],
                    language,
                )
                costs[i][j], step_sizes[i, j] = min(
                    (costs[i - text_count][j - heard_count] + cost, (text_count, heard_count))
                    for cost, (text_count, heard_count) in options
                )
    moves: list[_Move] = []
    stop = len(text_units), len(heard_units)
    while stop != (0, 0):
        start = stop[0] - step_sizes[stop][0], stop[1] - step_sizes[stop][1]
        cost = costs[stop[0]][stop[1]] - costs[start[0]][start[1]]
        move_text = text_span[0] + start[0], text_span[0] + stop[0]
        move_heard = heard_span[0] + start[1], heard_span[0] + stop[1]
        moves.append(_Move(move_text, move_heard, round(cost, 6)))
        stop = start
    return moves[::-1]


def _pair_in_order(text_span: tuple[int, int], heard_span: tuple[int, int]) -> list[_Move]:
    """Pairs the units of a gap one to one; the surplus is missing or added."""
    (text_start, text_stop), (heard_start, heard_stop) = text_span, heard_span
    moves = []
    for n in range(max(text_stop - text_start, heard_stop - heard_start)):
        text_first, heard_first = min(text_start + n, text_stop), min(heard_start + n, heard_stop)
        text_last, heard_last = min(text_first + 1, text_stop), min(heard_first + 1, heard_stop)
        moves.append(_Move((text_first, text_last), (heard_first, heard_last), cost=1.0))
    return moves


def _step_options(
    text_units: Sequence[ComparedUnit], heard_units: Sequence[ComparedUnit], language: str
) -> Iterator[tuple[float, tuple[int, int]]]:
    """Yields the costs of aligning the last units, and how many of each side that takes."""
    if text_units and heard_units:
        yield likeness.unit_cost(text_units[-1].form, heard_units[-1].form, language), (1, 1)
        if not is_split_by_characters(language):
            for count in range(2, _MAX_JOINED_WORDS + 1):
                yield from _joined_option(text_units, heard_units, (count, 1), language)
                yield from _joined_option(text_units, heard_units, (1, count), language)
            yield from _joined_option(text_units, heard_units, (2, 2), language)
    if text_units:
        yield likeness.unmatched_cost(text_units[-1].form, language), (1, 0)
    if heard_units:
        yield likeness.unmatched_cost(heard_units[-1].form, language), (0, 1)


def _joined_option(
    text_units: Sequence[ComparedUnit],
    heard_units: Sequence[ComparedUnit],
    counts: tuple[int, int],
    language: str,
) -> Iterator[tuple[float, tuple[int, int]]]:
    """Yields the cost of aligning so many last units of each side as one word, if alike."""
    if len(text_units) >= counts[0] and len(heard_units) >= counts[1]:
        text_word = "".join(unit.form for unit in text_units[-counts[0] :])
        heard_word = "".join(unit.form for unit in heard_units[-counts[1] :])
        cost = likeness.joined_cost(text_word, heard_word, language)
        if cost < 1:
            yield cost, counts


# -- differences -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Texts:
    """The text and the heard text, and the units of each."""

    text: str
    heard_text: str
    text_units: Sequence[ComparedUnit]
    heard_units: Sequence[ComparedUnit]


def _find_differences(moves: Sequence[_Move], texts: _Texts, language: str) -> list[Difference]:
    runs = _merge_moves(moves)
    moved_runs = _match_moved_runs(runs, texts, language)
    differences = []
    for run_index, run in enumerate(runs):
        if run_index in moved_runs.values():
            continue  # reported at its place in the text
        difference = _make_difference(run, texts)
        if run_index in moved_runs:
            difference = replace(difference, kind="moved", heard_text="")
        elif run.kind == "added":
            difference = _as_repeated(run, texts, difference, language)
        if difference.kind in _SUBSTITUTIONS and _is_echo(run, texts.heard_units):
            difference = replace(difference, kind="repeated")
        differences.append(difference)
    return differences


def _merge_moves(moves: Sequence[_Move]) -> list[_Move]:
    """Merges consecutive moves of one kind, and additions with the substitutions next to them.

    So "a bridge" for "Ukridge" is one difference.
    """
    runs: list[_Move] = []
    for move in moves:
        if not move.cost:
            continue
        last = runs[-1] if runs else None
        follows = last and (last.text_span[1], last.heard_span[1]) == (
            move.text_span[0],
            move.heard_span[0],
        )
        if (
            last
            and follows
            and (last.kind == move.kind or {last.kind, move.kind} == _SUBSTITUTIONS)
        ):
            cost = round(last.cost + move.cost, 6)
            runs[-1] = _Move(
                (last.text_span[0], move.text_span[1]),
                (last.heard_span[0], move.heard_span[1]),
                cost,
            )
        else:
            runs.append(move)
    return runs


def _make_difference(run: _Move, texts: _Texts) -> Difference:
    """Describes a run of moves by its place in the text and by what was heard."""
    text_units, heard_units = (
        texts.text_units[slice(*run.text_span)],
        texts.heard_units[slice(*run.heard_span)],
    )
    if text_units:
        first, last = text_units[0].first, text_units[-1].last
        word_span = text_units[0].word, text_units[-1].word + 1
    else:
        first = last = texts.text_units[run.text_span[0] - 1].last if run.text_span[0] else 0
        next_units = texts.text_units[run.text_span[0] :][:1]
        word = next_units[0].word if next_units else texts.text_units[-1].word + 1
        word_span = word, word
    return Difference(
        kind=run.kind,
        first=first,
        last=last,
        word_span=word_span,
        text=texts.text[first:last],
        heard_text=texts.heard_text[heard_units[0].first : heard_units[-1].last]
        if heard_units
        else "",
        unlikeness=round(min(1.0, run.cost / max(len(text_units), len(heard_units))), 3),
        cost=round(run.cost, 3),
    )


def _as_repeated(run: _Move, texts: _Texts, difference: Difference, language: str) -> Difference:
    """Turns an addition into a repetition if it equals the words before or after it."""
    size = run.heard_span[1] - run.heard_span[0]
    added = texts.heard_units[slice(*run.heard_span)]
    position = run.text_span[0]
    for first in (position - size, position):
        text_units = texts.text_units[max(0, first) : first + size]
        if first >= 0 and len(text_units) == size and _is_alike(text_units, added, language):
            return replace(
                difference, kind="repeated", first=text_units[0].first, last=text_units[-1].last,
                word_span=(text_units[0].word, text_units[-1].word + 1),
                text=texts.text[text_units[0].first : text_units[-1].last],
            )  # fmt: skip
    return difference


def _is_echo(run: _Move, heard_units: Sequence[ComparedUnit]) -> bool:
    """Returns whether the surplus repeats the words heard just before: "brooted brooted"."""
    first, last = run.heard_span
    excess = last - first - (run.text_span[1] - run.text_span[0])
    forms = [unit.form for unit in heard_units]
    for size in range(min(excess, _MAX_ECHO_UNITS), 0, -1):
        for start in range(max(0, first - size), last - size + 1):
            if forms[start : start + size] == forms[start + size : start + 2 * size]:
                return True
    return False


def _is_alike(
    text_units: Sequence[ComparedUnit], heard_units: Sequence[ComparedUnit], language: str
) -> bool:
    return all(
        likeness.unit_cost(a.form, b.form, language) <= likeness.SOUND_ALIKE_COST
        for a, b in zip(text_units, heard_units, strict=True)
    )


def _match_moved_runs(runs: Sequence[_Move], texts: _Texts, language: str) -> dict[int, int]:
    """Matches missing runs with added ones of the same words, by index."""
    added_by_missing: dict[int, int] = {}
    for missing_index, run in enumerate(runs):
        text_units = texts.text_units[slice(*run.text_span)]
        if run.kind != "missing" or len(text_units) < _MIN_MOVED_UNITS:
            continue
        for added_index, added in enumerate(runs):
            heard_units = texts.heard_units[slice(*added.heard_span)]
            if (
                added.kind != "added"
                or added_index in added_by_missing.values()
                or len(heard_units) < _MIN_MOVED_UNITS
            ):
                continue
            pairs = zip(text_units, heard_units, strict=False)
            alike_count = sum(
                likeness.unit_cost(a.form, b.form, language) < _MAX_ALIKE_COST for a, b in pairs
            )
            if alike_count > 0.6 * max(len(text_units), len(heard_units)):
                added_by_missing[missing_index] = added_index
                break
    return added_by_missing
