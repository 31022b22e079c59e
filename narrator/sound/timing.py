"""When words are heard: where each word of a text lies in a sound.

Who times words (an engine that knows, an aligner that listens) is not known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from narrator.sound.audio import Samples, audible, hop_of

PAUSE = 0.08
"""Seconds of silence that are no part of a word: the closure of a p or t is shorter."""
NEAR = 0.2
"""Seconds from a pause within which a word's edge is moved into it."""
_MS = 1000


@dataclass(frozen=True, slots=True)
class TimedWord:
    """`text[first:last]` of a text, and when it is heard: seconds from the sound's beginning."""

    first: int
    last: int
    start: float
    stop: float


@dataclass(frozen=True, slots=True)
class WordTimes:
    """The words of a text, in order, none of them before the end of the one before."""

    by: str
    """Who timed them: "draft", "whisper", "pocketsphinx" …"""
    words: tuple[TimedWord, ...]


def packed(words: Iterable[TimedWord]) -> str:
    """Words as text, `first last start stop` of each, times in milliseconds."""
    return ";".join(
        f"{word.first} {word.last} {round(word.start * _MS)} {round(word.stop * _MS)}"
        for word in words
    )


def unpacked(text: str) -> tuple[TimedWord, ...]:
    """The words of `packed`. Raises ValueError."""
    rows = (map(int, row.split(" ")) for row in text.split(";") if row)
    return tuple(TimedWord(a, b, c / _MS, d / _MS) for a, b, c, d in rows)


def settled(words: Sequence[TimedWord], samples: Samples, rate: int) -> tuple[TimedWord, ...]:
    """The words without the silence at their ends: a pause is nobody's. One in which nothing is
    heard stays as it is."""
    heard, hop = np.flatnonzero(audible(samples, rate)), hop_of(rate) / rate
    found = []
    for word in words:
        # what lies across a word's edge may be the next one's
        low, high = np.searchsorted(heard, (word.start / hop, word.stop / hop - 1))
        if low < high:
            start, stop = float(heard[low]) * hop, float(heard[high - 1] + 1) * hop
            word = replace(
                word,
                start=start if start - word.start > hop else word.start,
                stop=stop if word.stop - stop > 2 * hop else word.stop,
            )
        found.append(word)
    return tuple(found)


def snapped(
    words: Sequence[TimedWord], samples: Samples, rate: int, lag: float = 0.0
) -> tuple[TimedWord, ...]:
    """Words that were timed `lag` seconds late, each until the next: where the sound is silent one
    ends and the next begins, whichever are nearest; all without the silence at their ends."""
    if not words:
        return ()
    edges = [max(0.0, one.start - lag) for one in words] + [max(0.0, words[-1].stop - lag)]
    ends = dict[int, float]()
    for low, high in _silences(samples, rate):
        place = min(range(len(edges)), key=lambda n: abs(edges[n] - (low + high) / 2))
        if low - NEAR <= edges[place] <= high + NEAR:
            edges[place], ends[place] = high, low
    edges = list(accumulate(edges, max))
    found = [
        replace(one, start=edges[n], stop=max(edges[n], ends.get(n + 1, edges[n + 1])))
        for n, one in enumerate(words)
    ]
    return settled(found, samples, rate)


def _silences(samples: Samples, rate: int) -> list[tuple[float, float]]:
    """Seconds from and to which nothing is heard, those of `PAUSE` or more."""
    heard, hop = audible(samples, rate), hop_of(rate) / rate
    changes = np.flatnonzero(np.diff(np.concatenate(([True], heard, [True])).astype(np.int8)))
    pairs = changes.reshape(-1, 2) * hop
    return [(float(low), float(high)) for low, high in pairs if high - low >= PAUSE]
