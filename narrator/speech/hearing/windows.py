"""A long sound in windows that a recogniser takes, cut where it is quiet, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEAST, MOST = 12.0, 28.0
"""Seconds of a window: a recogniser's own is 30."""
_FRAME = 0.02
_QUIET = 10
"""Frames over which the level is taken: a pause, not the closure of a consonant."""


@dataclass(frozen=True, slots=True, eq=False)
class SoundWindow:
    """A part of a sound: mono samples, and the second at which it begins."""

    start: float
    samples: NDArray[np.float32]


def windows(blocks: Iterable[NDArray[np.float32]], rate: int) -> Iterator[SoundWindow]:
    """All of a stream of mono samples, in order; each cut lies in the middle of the longest and
    quietest pause in reach."""
    held = np.zeros(0, np.float32)
    at = 0
    most = round(MOST * rate)
    for block in blocks:
        held = np.concatenate([held, block])
        while len(held) > most:
            cut = _cut(held[:most], rate)
            yield SoundWindow(at / rate, held[:cut])
            held, at = held[cut:], at + cut
    if len(held):
        yield SoundWindow(at / rate, held)


def _cut(samples: NDArray[np.float32], rate: int) -> int:
    """Where a window ends: a place after `LEAST`."""
    hop = round(_FRAME * rate)
    frames = samples[: len(samples) // hop * hop].reshape(-1, hop)
    power = np.square(frames).mean(axis=1, dtype=np.float64)
    level = np.convolve(power, np.ones(_QUIET) / _QUIET, "same")
    first = round(LEAST / _FRAME)
    return (first + int(level[first:-_QUIET].argmin())) * hop
