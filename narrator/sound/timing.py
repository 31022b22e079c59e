"""Word times: the position of each word of a text in its sound.

Does not know where they come from: an engine that knows them, or an aligner that listens.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from narrator.sound.audio import Samples, audible, find_runs, samples_per_hop

PAUSE = 0.08
"""Seconds of silence that cannot be part of a word: the closure of a p or t is shorter."""
SNAP_DISTANCE = 0.2
"""Seconds from a pause within which a word's edge is moved into it."""
_MS = 1000


@dataclass(frozen=True, slots=True)
class TimedWord:
    """The word `text[first:last]` and its start and stop, in seconds from the sound's beginning."""

    first: int
    last: int
    start: float
    stop: float


@dataclass(frozen=True, slots=True)
class WordTimes:
    """The timed words of a text, in order and without overlap."""

    by: str
    """Their source: "draft", "whisper", "pocketsphinx" …"""
    words: tuple[TimedWord, ...]


def pack_words(words: Iterable[TimedWord]) -> str:
    """Serializes words as `first last start stop`, with times in milliseconds, joined by `;`."""
    return ";".join(
        f"{word.first} {word.last} {round(word.start * _MS)} {round(word.stop * _MS)}"
        for word in words
    )


def unpack_words(text: str) -> tuple[TimedWord, ...]:
    """Reads the output of `pack_words`. Raises ValueError."""
    rows = (map(int, row.split(" ")) for row in text.split(";") if row)
    return tuple(
        TimedWord(first, last, start_ms / _MS, stop_ms / _MS)
        for first, last, start_ms, stop_ms in rows
    )


def trim_words(words: Sequence[TimedWord], samples: Samples, rate: int) -> tuple[TimedWord, ...]:
    """Trims the silence at the ends of words. A word without audible sound stays unchanged."""
    hop_seconds = samples_per_hop(rate) / rate
    audible_hops = np.flatnonzero(audible(samples, rate))

    def trimmed(word: TimedWord) -> TimedWord:
        # a hop that crosses the word's edge may belong to the next word
        first_index, stop_index = np.searchsorted(
            audible_hops, (word.start / hop_seconds, word.stop / hop_seconds - 1)
        )
        if first_index >= stop_index:
            return word
        sound_start = float(audible_hops[first_index]) * hop_seconds
        sound_stop = float(audible_hops[stop_index - 1] + 1) * hop_seconds
        return replace(
            word,
            start=sound_start if sound_start - word.start > hop_seconds else word.start,
            stop=sound_stop if word.stop - sound_stop > 2 * hop_seconds else word.stop,
        )

    return tuple(map(trimmed, words))


def snap_words(
    words: Sequence[TimedWord], samples: Samples, rate: int, lag_seconds: float = 0.0
) -> tuple[TimedWord, ...]:
    """Moves word boundaries into the silences of the sound, and trims the silence at their ends.

    The words were timed `lag_seconds` late, each until the next. Every silence takes the nearest
    boundary, if that lies within `SNAP_DISTANCE`.
    """
    if not words:
        return ()
    # boundary n is the start of word n, and the stop of the word before unless a silence sets it
    late_boundaries = [*(word.start for word in words), words[-1].stop]
    boundaries = [max(0.0, boundary - lag_seconds) for boundary in late_boundaries]
    stops_before: dict[int, float] = {}
    for silence_start, silence_stop in _silences(samples, rate):
        nearest = min(
            range(len(boundaries)),
            key=lambda n: abs(boundaries[n] - (silence_start + silence_stop) / 2),
        )
        if silence_start - SNAP_DISTANCE <= boundaries[nearest] <= silence_stop + SNAP_DISTANCE:
            boundaries[nearest], stops_before[nearest] = silence_stop, silence_start
    boundaries = list(accumulate(boundaries, max))
    snapped_words = [
        replace(
            word,
            start=boundaries[index],
            stop=max(boundaries[index], stops_before.get(index + 1, boundaries[index + 1])),
        )
        for index, word in enumerate(words)
    ]
    return trim_words(snapped_words, samples, rate)


def _silences(samples: Samples, rate: int) -> list[tuple[float, float]]:
    """Returns start and stop, in seconds, of all silences of at least `PAUSE`."""
    silences = find_runs(~audible(samples, rate)) * (samples_per_hop(rate) / rate)
    return [(start, stop) for start, stop in silences.tolist() if stop - start >= PAUSE]
