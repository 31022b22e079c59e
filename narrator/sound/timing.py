"""When words are heard: where each word of a text lies in a sound.

Who times words (an engine that knows, an aligner that listens) is not known here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from narrator.sound.audio import Samples, audible, hop_of


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
