"""Compares what was heard with what should be said, both as spoken words.

Both are turned into spoken words without case, marks and accents (`likeness.py` decides which words
count as the same) and aligned. The differences tell what is missing, repeated, added, moved, or
heard as something else, and where in the text. Languages without spaces between words are compared
by character.

Long equal stretches are found first, and only the gaps between them are aligned word by word; a
chapter is split at runs of words that occur once on both sides. So memory grows with the text, not
with its square. Knows no takes and no recogniser, and does not decide what is a fault.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np

from narrator.speech.hearing import likeness
from narrator.speech.hearing.likeness import Compared
from narrator.text.alignment import find_anchors
from narrator.text.normalize import Lexicon, normalize
from narrator.text.words import is_lettered

Kind = Literal["missing", "added", "repeated", "moved", "other"]

WORDS_ACROSS, LETTERS_ACROSS = 6, 12
"""Length of a window."""
LONG = 400
"""Units above which a text is split at runs that occur once on both sides."""
_RUN_LENGTH = 4
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
_MAX_ECHO = 12
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
    words: tuple[int, int]
    """The same as places in `text.words`: from the first to before the last; of what is added,
    empty, before the word that follows."""
    meant: str
    got: str
    """The heard text there, as the recogniser wrote it; "" where the passage was moved."""
    surely: float
    """0 to 1: difference of the two for each word; a name in another spelling is near 0."""
    cost: float
    """Number of errors that it counts for."""


@dataclass(frozen=True, slots=True)
class Fidelity:
    """Distance of the heard words from the text; errors are per word, or per character."""

    error: float
    """Overall: 0 is equal, 1 is nothing alike; above 1 where much was added."""
    window: float
    """Errors of the worst window."""
    count: float
    """Total errors; a word that is nearly right counts for less than one."""
    size: int
    """Words, or characters, of the text."""
    differences: tuple[Difference, ...] = ()


def fidelity(text: str, heard: str, language: str) -> Fidelity:
    """Compares the spoken text of a take, or of any passage, with a recogniser's text.

    The heard text is normalised like any text: "£23" is "twenty-three pounds".
    """
    text_units = likeness.units(text, language)
    normalized = _normalize_heard(heard, language)
    heard_units = likeness.units(normalized, language)
    if not text_units:
        count = float(len(heard_units))
        return Fidelity(min(count, 1.0), min(count, 1.0), count, 0)
    steps = _align_units(text_units, heard_units, language)
    costs = np.zeros(len(text_units))
    for step in steps:
        if step.cost:
            # an addition belongs to the word before it
            first = step.meant[0] if step.meant[1] > step.meant[0] else max(0, step.meant[0] - 1)
            last = max(step.meant[1], first + 1)
            costs[first:last] += step.cost / (last - first)
    window_length = min(len(text_units), LETTERS_ACROSS if is_lettered(language) else WORDS_ACROSS)
    windows = np.convolve(costs, np.ones(window_length), "valid") / window_length
    return Fidelity(
        error=round(float(costs.sum()) / len(text_units), 3),
        window=round(float(windows.max()), 3),
        count=round(float(costs.sum()), 2),
        size=len(text_units),
        differences=tuple(
            _find_differences(steps, _Sides(text, normalized, text_units, heard_units), language)
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

    meant: tuple[int, int]
    heard: tuple[int, int]
    cost: float

    @property
    def kind(self) -> Kind:
        if self.heard[0] == self.heard[1]:
            return "missing"
        return "added" if self.meant[0] == self.meant[1] else "other"


def _align_units(
    text_units: Sequence[Compared], heard_units: Sequence[Compared], language: str
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


def _find_equal_runs(
    text_forms: Sequence[str], heard_forms: Sequence[str]
) -> list[tuple[int, int, int]]:
    """Returns the equal runs as (start in text, start in heard, length), then the end of both.

    A single equal word may be chance, and hide a better alignment: it is left to its gap, unless
    the gap is too large to be aligned exactly; there longer words count.
    """
    is_long = max(len(text_forms), len(heard_forms)) > LONG
    anchors = find_anchors(text_forms, heard_forms, _RUN_LENGTH) if is_long else []
    split_points = [(0, 0), *anchors, (len(text_forms), len(heard_forms))]
    blocks: list[tuple[int, int, int]] = []
    for (first, heard_first), (last, heard_last) in pairwise(split_points):
        matcher = difflib.SequenceMatcher(
            None, text_forms[first:last], heard_forms[heard_first:heard_last], autojunk=False
        )
        for a, b, count in matcher.get_matching_blocks():
            a, b = a + first, b + heard_first
            if blocks and (a, b) == (blocks[-1][0] + blocks[-1][2], blocks[-1][1] + blocks[-1][2]):
                blocks[-1] = (*blocks[-1][:2], blocks[-1][2] + count)
            elif count:
                blocks.append((a, b, count))
    runs: list[tuple[int, int, int]] = []
    single_units: list[tuple[int, int, int]] = []
    """Runs of one unit since the last longer one."""
    for block in (*blocks, (len(text_forms), len(heard_forms), 0)):
        a, b, count = block
        if count == 1:
            single_units.append(block)
            continue
        last_run = runs[-1] if runs else (0, 0, 0)
        if (a - last_run[0] - last_run[2]) * (b - last_run[1] - last_run[2]) > _MAX_PAIRS:
            runs += [single for single in single_units if len(text_forms[single[0]]) > 3]
        runs.append(block)
        single_units = []
    return runs


def _align_gap(
    all_text_units: Sequence[Compared],
    all_heard_units: Sequence[Compared],
    text_span: tuple[int, int],
    heard_span: tuple[int, int],
    language: str,
) -> list[_Move]:
    """Returns the cheapest alignment of a gap."""
    text_units, heard_units = all_text_units[slice(*text_span)], all_heard_units[slice(*heard_span)]
    if len(text_units) * len(heard_units) > _MAX_PAIRS:
        return _pair_in_order(text_span, heard_span)
    best = [[0.0] * (len(heard_units) + 1) for _ in range(len(text_units) + 1)]
    best_steps: dict[tuple[int, int], tuple[int, int]] = {}
    for i in range(len(text_units) + 1):
        for j in range(len(heard_units) + 1):
            if i or j:
                options = _step_options(
                    text_units[max(0, i - _MAX_JOINED_WORDS) : i],
                    heard_units[max(0, j - _MAX_JOINED_WORDS) : j],
                    language,
                )
                best[i][j], best_steps[i, j] = min(
                    (best[i - step_size[0]][j - step_size[1]] + cost, step_size)
                    for cost, step_size in options
                )
    moves: list[_Move] = []
    i, j = len(text_units), len(heard_units)
    while i or j:
        step_size = best_steps[i, j]
        cost = best[i][j] - best[i - step_size[0]][j - step_size[1]]
        spans = (
            (text_span[0] + i - step_size[0], text_span[0] + i),
            (heard_span[0] + j - step_size[1], heard_span[0] + j),
        )
        moves.append(_Move(*spans, round(cost, 6)))
        i, j = i - step_size[0], j - step_size[1]
    return moves[::-1]


def _pair_in_order(text_span: tuple[int, int], heard_span: tuple[int, int]) -> list[_Move]:
    """Pairs the units of a gap one to one; the surplus is missing or added."""
    count = min(text_span[1] - text_span[0], heard_span[1] - heard_span[0])
    a, b = text_span[0], heard_span[0]
    moves = [_Move((a + n, a + n + 1), (b + n, b + n + 1), 1.0) for n in range(count)]
    moves += [
        _Move((n, n + 1), (heard_span[1], heard_span[1]), 1.0)
        for n in range(a + count, text_span[1])
    ]
    return moves + [
        _Move((text_span[1], text_span[1]), (n, n + 1), 1.0)
        for n in range(b + count, heard_span[1])
    ]


def _step_options(
    text_units: Sequence[Compared], heard_units: Sequence[Compared], language: str
) -> Iterator[tuple[float, tuple[int, int]]]:
    """Yields the costs of aligning the last units, and how many of each side that takes."""
    if text_units and heard_units:
        yield likeness.otherness(text_units[-1].form, heard_units[-1].form, language), (1, 1)
        if not is_lettered(language):
            for count in range(2, _MAX_JOINED_WORDS + 1):
                yield from _joined_option(text_units, heard_units, (count, 1), language)
                yield from _joined_option(text_units, heard_units, (1, count), language)
            yield from _joined_option(text_units, heard_units, (2, 2), language)
    if text_units:
        yield likeness.alone(text_units[-1].form, language), (1, 0)
    if heard_units:
        yield likeness.alone(heard_units[-1].form, language), (0, 1)


def _joined_option(
    text_units: Sequence[Compared],
    heard_units: Sequence[Compared],
    counts: tuple[int, int],
    language: str,
) -> Iterator[tuple[float, tuple[int, int]]]:
    if len(text_units) >= counts[0] and len(heard_units) >= counts[1]:
        text_word = "".join(unit.form for unit in text_units[-counts[0] :])
        heard_word = "".join(unit.form for unit in heard_units[-counts[1] :])
        cost = likeness.joined(text_word, heard_word, language)
        if cost < 1:
            yield cost, counts


# -- differences -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Sides:
    text: str
    heard_text: str
    meant: Sequence[Compared]
    heard_units: Sequence[Compared]


def _find_differences(steps: Sequence[_Move], sides: _Sides, language: str) -> list[Difference]:
    runs = _merge_moves(steps)
    moved_runs = _match_moved_runs(runs, sides, language)
    differences = []
    for run_index, run in enumerate(runs):
        if run_index in moved_runs.values():
            continue  # reported at its place in the text
        difference = _make_difference(run, sides)
        if run_index in moved_runs:
            difference = replace(difference, kind="moved", got="")
        elif run.kind == "added":
            difference = _as_repeated(run, sides, difference, language)
        if difference.kind in _SUBSTITUTIONS and _is_echo(run, sides.heard_units):
            difference = replace(difference, kind="repeated")
        differences.append(difference)
    return differences


def _merge_moves(steps: Sequence[_Move]) -> list[_Move]:
    """Merges consecutive moves of one kind, and additions with the substitutions next to them.

    So "a bridge" for "Ukridge" is one difference.
    """
    runs: list[_Move] = []
    for step in steps:
        if not step.cost:
            continue
        last = runs[-1] if runs else None
        follows = last and (last.meant[1], last.heard[1]) == (step.meant[0], step.heard[0])
        if (
            last
            and follows
            and (last.kind == step.kind or {last.kind, step.kind} == _SUBSTITUTIONS)
        ):
            cost = round(last.cost + step.cost, 6)
            runs[-1] = _Move((last.meant[0], step.meant[1]), (last.heard[0], step.heard[1]), cost)
        else:
            runs.append(step)
    return runs


def _make_difference(run: _Move, sides: _Sides) -> Difference:
    text_units, heard_units = sides.meant[slice(*run.meant)], sides.heard_units[slice(*run.heard)]
    if text_units:
        first, last = text_units[0].first, text_units[-1].last
        words = text_units[0].word, text_units[-1].word + 1
    else:
        first = last = sides.meant[run.meant[0] - 1].last if run.meant[0] else 0
        next_units = sides.meant[run.meant[0] :][:1]
        word = next_units[0].word if next_units else sides.meant[-1].word + 1
        words = word, word
    return Difference(
        kind=run.kind,
        first=first,
        last=last,
        words=words,
        meant=sides.text[first:last],
        got=sides.heard_text[heard_units[0].first : heard_units[-1].last] if heard_units else "",
        surely=round(min(1.0, run.cost / max(len(text_units), len(heard_units))), 3),
        cost=round(run.cost, 3),
    )


def _as_repeated(run: _Move, sides: _Sides, difference: Difference, language: str) -> Difference:
    """Turns an addition into a repetition if it equals the words before or after it."""
    size = run.heard[1] - run.heard[0]
    added = sides.heard_units[slice(*run.heard)]
    position = run.meant[0]
    for first in (position - size, position):
        text_units = sides.meant[max(0, first) : first + size]
        if first >= 0 and len(text_units) == size and _is_alike(text_units, added, language):
            return replace(
                difference, kind="repeated", first=text_units[0].first, last=text_units[-1].last,
                words=(text_units[0].word, text_units[-1].word + 1),
                meant=sides.text[text_units[0].first : text_units[-1].last],
            )  # fmt: skip
    return difference


def _is_echo(run: _Move, heard_units: Sequence[Compared]) -> bool:
    """Returns whether the surplus repeats the words heard just before: "brooted brooted"."""
    first, last = run.heard
    excess = last - first - (run.meant[1] - run.meant[0])
    forms = [unit.form for unit in heard_units]
    for size in range(min(excess, _MAX_ECHO), 0, -1):
        for start in range(max(0, first - size), last - size + 1):
            if forms[start : start + size] == forms[start + size : start + 2 * size]:
                return True
    return False


def _is_alike(
    text_units: Sequence[Compared], heard_units: Sequence[Compared], language: str
) -> bool:
    return all(
        likeness.otherness(a.form, b.form, language) <= likeness.SOUNDS
        for a, b in zip(text_units, heard_units, strict=True)
    )


def _match_moved_runs(runs: Sequence[_Move], sides: _Sides, language: str) -> dict[int, int]:
    """Matches missing runs with added ones of the same words, by index."""
    added_by_missing: dict[int, int] = {}
    for missing_index, run in enumerate(runs):
        text_units = sides.meant[slice(*run.meant)]
        if run.kind != "missing" or len(text_units) < _MIN_MOVED_UNITS:
            continue
        for added_index, added in enumerate(runs):
            heard_units = sides.heard_units[slice(*added.heard)]
            if (
                added.kind != "added"
                or added_index in added_by_missing.values()
                or len(heard_units) < _MIN_MOVED_UNITS
            ):
                continue
            pairs = zip(text_units, heard_units, strict=False)
            alike_count = sum(
                likeness.otherness(a.form, b.form, language) < _MAX_ALIKE_COST for a, b in pairs
            )
            if alike_count > 0.6 * max(len(text_units), len(heard_units)):
                added_by_missing[missing_index] = added_index
                break
    return added_by_missing
