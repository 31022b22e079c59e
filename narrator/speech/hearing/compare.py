"""What was heard against what was to be said, fairly: the two as spoken words, and how they differ.

Both are brought to words as they are spoken, without case, marks and accents (`likeness.py` says
which words are as good as the same), and laid beside each other: what is missing, repeated, added,
put elsewhere, or heard as something else, and where in the text. In languages without spaces
between words, by character.

Long stretches that are the same on both sides are found first, and only what lies between them is
weighed word by word; a chapter is parted at runs of words that come once on both sides. So memory
grows with the text, not with its square. Knows no takes and no recogniser, and not what of it is a
fault.
"""

from __future__ import annotations

import bisect
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
from narrator.text.normalize import Lexicon, normalize
from narrator.text.words import is_lettered

Kind = Literal["missing", "added", "repeated", "moved", "other"]

WORDS_ACROSS, LETTERS_ACROSS = 6, 12
"""Length of a window."""
LONG = 400
"""Units of a text that is parted at what comes once on both sides."""
_RUN = 4
"""Units of such a run."""
_MOST = 4_000
"""Pairs of units of a gap that are weighed one by one; in a larger one little is alike."""
_JOINED = 4
"""Words of a compound."""
_MOVED = 2
"""Units of a passage that is looked for elsewhere, at least."""
_ALIKE = 0.5
"""Cost under which two units are the same one."""
_OTHERWISE = {"other", "added"}
_ECHO = 12
"""Units that may be said again among others."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A place where what was heard is not the text."""

    kind: Kind
    """"missing": was not heard. "added": was heard besides. "repeated": was heard once more.
    "moved": was heard, elsewhere. "other": something else was heard."""
    first: int
    last: int
    """`text[first:last]`: of what is added, empty, after the word before; of what is repeated, the
    words that come again, or in whose place they do."""
    words: tuple[int, int]
    """The same as places in `text.words`: from the first to before the last; of what is added,
    empty, before the word that follows."""
    meant: str
    got: str
    """What was heard there, as the recogniser wrote it; of what was moved, "" (it is known)."""
    surely: float
    """0 to 1: how unlike the two are for each word; a name in another spelling is near 0."""
    cost: float
    """Errors that it counts for."""


@dataclass(frozen=True, slots=True)
class Fidelity:
    """How far what was heard is from the text; errors are for each word, or character."""

    error: float
    """In all: 0 is the same, 1 nothing alike; more where much was added."""
    window: float
    """The worst of all windows."""
    count: float
    """Errors in all, a word that is nearly right for less than one."""
    size: int
    """Words, or characters, of the text."""
    differences: tuple[Difference, ...] = ()


def fidelity(text: str, heard: str, language: str) -> Fidelity:
    """Compare the spoken text of a take, or a passage of any length, with what a recogniser heard.

    What was heard is normalised as a text would be: "£23" is "twenty-three pounds".
    """
    meant = likeness.units(text, language)
    spoken = _spoken(heard, language)
    got = likeness.units(spoken, language)
    if not meant:
        count = float(len(got))
        return Fidelity(min(count, 1.0), min(count, 1.0), count, 0)
    steps = _moves(meant, got, language)
    costs = np.zeros(len(meant))
    for step in steps:
        if step.cost:
            # what is added belongs to the word before it
            first = step.meant[0] if step.meant[1] > step.meant[0] else max(0, step.meant[0] - 1)
            last = max(step.meant[1], first + 1)
            costs[first:last] += step.cost / (last - first)
    across = min(len(meant), LETTERS_ACROSS if is_lettered(language) else WORDS_ACROSS)
    windows = np.convolve(costs, np.ones(across), "valid") / across
    return Fidelity(
        error=round(float(costs.sum()) / len(meant), 3),
        window=round(float(windows.max()), 3),
        count=round(float(costs.sum()), 2),
        size=len(meant),
        differences=tuple(_differences(steps, _Sides(text, spoken, meant, got), language)),
    )


# -- what was heard --------------------------------------------------------------------------------

_UNSAID = re.compile(r"\[[^\]]*\]|\([^)]*\)|[♪♫]+")
"""What recognisers write of sounds that are no words: "[MUSIC]"."""
_WRITTEN = re.compile(r"\d|[^\w\s.,;:?!'’…-]|\b[^\W\d_]{1,4}\.|\b[A-Z]{2}")
"""What is not yet as it is spoken: figures, signs, abbreviations."""


def _spoken(heard: str, language: str) -> str:
    """A recogniser's text with its figures and abbreviations in words."""
    heard = _UNSAID.sub(" ", heard)
    if not _WRITTEN.search(heard):
        return heard
    return normalize(heard, language=language, speaker="", lexicon=_no_lexicon()).text


@functools.cache
def _no_lexicon() -> Lexicon:
    return Lexicon([])


# -- alignment -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Move:
    """Units of the text, those of what was heard there, and what it costs to take one for the
    other."""

    meant: tuple[int, int]
    got: tuple[int, int]
    cost: float

    @property
    def kind(self) -> Kind:
        if self.got[0] == self.got[1]:
            return "missing"
        return "added" if self.meant[0] == self.meant[1] else "other"


def _moves(meant: Sequence[Compared], got: Sequence[Compared], language: str) -> list[_Move]:
    """The way from one to the other, in order."""
    found: list[_Move] = []
    at = (0, 0)
    for first, other, count in _same([unit.form for unit in meant], [unit.form for unit in got]):
        if (first, other) != at:
            found += _weighed(meant, got, (at[0], first), (at[1], other), language)
        found += (
            _Move((first + n, first + n + 1), (other + n, other + n + 1), 0.0) for n in range(count)
        )
        at = first + count, other + count
    return found


def _same(meant: Sequence[str], got: Sequence[str]) -> list[tuple[int, int, int]]:
    """Runs that are the same on both sides: where they begin, and their length; at last, the end.

    A word that is the same alone may be so by chance, and hide a better way: it belongs to the gap
    that it is in, unless that is too large to be weighed; there the longer ones count.
    """
    marks = [(0, 0), *_marks(meant, got), (len(meant), len(got))]
    blocks: list[tuple[int, int, int]] = []
    for (first, other), (last, stop) in pairwise(marks):
        matcher = difflib.SequenceMatcher(None, meant[first:last], got[other:stop], autojunk=False)
        for a, b, count in matcher.get_matching_blocks():
            a, b = a + first, b + other
            if blocks and (a, b) == (blocks[-1][0] + blocks[-1][2], blocks[-1][1] + blocks[-1][2]):
                blocks[-1] = (*blocks[-1][:2], blocks[-1][2] + count)
            elif count:
                blocks.append((a, b, count))
    kept: list[tuple[int, int, int]] = []
    alone: list[tuple[int, int, int]] = []
    """Since the last that was kept."""
    for block in (*blocks, (len(meant), len(got), 0)):
        a, b, count = block
        if count == 1:
            alone.append(block)
            continue
        before = kept[-1] if kept else (0, 0, 0)
        if (a - before[0] - before[2]) * (b - before[1] - before[2]) > _MOST:
            kept += [one for one in alone if len(meant[one[0]]) > 3]
        kept.append(block)
        alone = []
    return kept


def _marks(meant: Sequence[str], got: Sequence[str]) -> list[tuple[int, int]]:
    """Where a long text may be parted: runs that come once on both sides, in the same order."""
    if max(len(meant), len(got)) <= LONG:
        return []
    ours, theirs = _once(meant), _once(got)
    pairs = sorted((ours[run], theirs[run]) for run in ours.keys() & theirs.keys())
    # the longest chain that grows on both sides
    ends: list[int] = []
    chain: list[int] = []
    before: list[int] = []
    for place, (_, other) in enumerate(pairs):
        at = bisect.bisect_left(ends, other)
        before.append(chain[at - 1] if at else -1)
        ends[at:], chain[at:] = ([other], [place]) if at == len(ends) else (
            [other, *ends[at + 1 :]], [place, *chain[at + 1 :]]
        )  # fmt: skip
    found: list[tuple[int, int]] = []
    place = chain[-1] if chain else -1
    while place >= 0:
        found.append(pairs[place])
        place = before[place]
    return found[::-1]


def _once(units: Sequence[str]) -> dict[tuple[str, ...], int]:
    """Runs that come once, and where."""
    places: dict[tuple[str, ...], int] = {}
    for place in range(len(units) - _RUN + 1):
        run = tuple(units[place : place + _RUN])
        places[run] = -1 if run in places else place
    return {run: place for run, place in places.items() if place >= 0}


def _weighed(
    meant: Sequence[Compared],
    got: Sequence[Compared],
    own: tuple[int, int],
    other: tuple[int, int],
    language: str,
) -> list[_Move]:
    """The cheapest way through a gap."""
    mine, theirs = meant[slice(*own)], got[slice(*other)]
    if len(mine) * len(theirs) > _MOST:
        return _unweighed(own, other)
    best = [[0.0] * (len(theirs) + 1) for _ in range(len(mine) + 1)]
    came: dict[tuple[int, int], tuple[int, int]] = {}
    for i in range(len(mine) + 1):
        for j in range(len(theirs) + 1):
            if i or j:
                ways = _ways(
                    mine[max(0, i - _JOINED) : i], theirs[max(0, j - _JOINED) : j], language
                )
                best[i][j], came[i, j] = min(
                    (best[i - back[0]][j - back[1]] + cost, back) for cost, back in ways
                )
    steps: list[_Move] = []
    i, j = len(mine), len(theirs)
    while i or j:
        back = came[i, j]
        cost = best[i][j] - best[i - back[0]][j - back[1]]
        spans = (own[0] + i - back[0], own[0] + i), (other[0] + j - back[1], other[0] + j)
        steps.append(_Move(*spans, round(cost, 6)))
        i, j = i - back[0], j - back[1]
    return steps[::-1]


def _unweighed(own: tuple[int, int], other: tuple[int, int]) -> list[_Move]:
    """One for one, and what is left over."""
    count = min(own[1] - own[0], other[1] - other[0])
    a, b = own[0], other[0]
    steps = [_Move((a + n, a + n + 1), (b + n, b + n + 1), 1.0) for n in range(count)]
    steps += [_Move((n, n + 1), (other[1], other[1]), 1.0) for n in range(a + count, own[1])]
    return steps + [_Move((own[1], own[1]), (n, n + 1), 1.0) for n in range(b + count, other[1])]


def _ways(
    meant: Sequence[Compared], got: Sequence[Compared], language: str
) -> Iterator[tuple[float, tuple[int, int]]]:
    """What the last units of both cost, and how many of each that takes."""
    if meant and got:
        yield likeness.otherness(meant[-1].form, got[-1].form, language), (1, 1)
        if not is_lettered(language):
            for count in range(2, _JOINED + 1):
                yield from _joined(meant, got, (count, 1), language)
                yield from _joined(meant, got, (1, count), language)
            yield from _joined(meant, got, (2, 2), language)
    if meant:
        yield likeness.alone(meant[-1].form, language), (1, 0)
    if got:
        yield likeness.alone(got[-1].form, language), (0, 1)


def _joined(
    meant: Sequence[Compared], got: Sequence[Compared], counts: tuple[int, int], language: str
) -> Iterator[tuple[float, tuple[int, int]]]:
    if len(meant) >= counts[0] and len(got) >= counts[1]:
        ours = "".join(unit.form for unit in meant[-counts[0] :])
        theirs = "".join(unit.form for unit in got[-counts[1] :])
        cost = likeness.joined(ours, theirs, language)
        if cost < 1:
            yield cost, counts


# -- differences -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Sides:
    text: str
    heard: str
    meant: Sequence[Compared]
    got: Sequence[Compared]


def _differences(steps: Sequence[_Move], sides: _Sides, language: str) -> list[Difference]:
    runs = _runs(steps)
    moved = _moved(runs, sides, language)
    found = []
    for place, run in enumerate(runs):
        if place in moved.values():
            continue  # it is told where it should be
        own = _difference(run, sides)
        if place in moved:
            own = replace(own, kind="moved", got="")
        elif run.kind == "added":
            own = _repeated(run, sides, own, language)
        if own.kind in _OTHERWISE and _is_echo(run, sides.got):
            own = replace(own, kind="repeated")
        found.append(own)
    return found


def _runs(steps: Sequence[_Move]) -> list[_Move]:
    """Steps of one kind in a row as one, and what is added beside what was heard otherwise with
    that: "a bridge" for "Ukridge"."""
    runs: list[_Move] = []
    for step in steps:
        if not step.cost:
            continue
        last = runs[-1] if runs else None
        follows = last and (last.meant[1], last.got[1]) == (step.meant[0], step.got[0])
        if last and follows and (last.kind == step.kind or {last.kind, step.kind} == _OTHERWISE):
            cost = round(last.cost + step.cost, 6)
            runs[-1] = _Move((last.meant[0], step.meant[1]), (last.got[0], step.got[1]), cost)
        else:
            runs.append(step)
    return runs


def _difference(run: _Move, sides: _Sides) -> Difference:
    mine, theirs = sides.meant[slice(*run.meant)], sides.got[slice(*run.got)]
    if mine:
        first, last = mine[0].first, mine[-1].last
        words = mine[0].word, mine[-1].word + 1
    else:
        first = last = sides.meant[run.meant[0] - 1].last if run.meant[0] else 0
        after = sides.meant[run.meant[0] :][:1]
        word = after[0].word if after else sides.meant[-1].word + 1
        words = word, word
    return Difference(
        kind=run.kind,
        first=first,
        last=last,
        words=words,
        meant=sides.text[first:last],
        got=sides.heard[theirs[0].first : theirs[-1].last] if theirs else "",
        surely=round(min(1.0, run.cost / max(len(mine), len(theirs))), 3),
        cost=round(run.cost, 3),
    )


def _repeated(run: _Move, sides: _Sides, own: Difference, language: str) -> Difference:
    """What is added, as what is repeated, where it is what stands before or after it."""
    size = run.got[1] - run.got[0]
    added = sides.got[slice(*run.got)]
    at = run.meant[0]
    for first in (at - size, at):
        same = sides.meant[max(0, first) : first + size]
        if first >= 0 and len(same) == size and _is_alike(same, added, language):
            return replace(
                own, kind="repeated", first=same[0].first, last=same[-1].last,
                words=(same[0].word, same[-1].word + 1),
                meant=sides.text[same[0].first : same[-1].last],
            )  # fmt: skip
    return own


def _is_echo(run: _Move, got: Sequence[Compared]) -> bool:
    """Whether what is too much there says again what was heard just before: "brooted brooted"."""
    first, last = run.got
    excess = last - first - (run.meant[1] - run.meant[0])
    forms = [unit.form for unit in got]
    for size in range(min(excess, _ECHO), 0, -1):
        for at in range(max(0, first - size), last - size + 1):
            if forms[at : at + size] == forms[at + size : at + 2 * size]:
                return True
    return False


def _is_alike(meant: Sequence[Compared], got: Sequence[Compared], language: str) -> bool:
    return all(
        likeness.otherness(a.form, b.form, language) <= likeness.SOUNDS
        for a, b in zip(meant, got, strict=True)
    )


def _moved(runs: Sequence[_Move], sides: _Sides, language: str) -> dict[int, int]:
    """Which missing run was heard as which added one."""
    found: dict[int, int] = {}
    for place, run in enumerate(runs):
        mine = sides.meant[slice(*run.meant)]
        if run.kind != "missing" or len(mine) < _MOVED:
            continue
        for other, added in enumerate(runs):
            theirs = sides.got[slice(*added.got)]
            if added.kind != "added" or other in found.values() or len(theirs) < _MOVED:
                continue
            pairs = zip(mine, theirs, strict=False)
            alike = sum(likeness.otherness(a.form, b.form, language) < _ALIKE for a, b in pairs)
            if alike > 0.6 * max(len(mine), len(theirs)):
                found[place] = other
                break
    return found
