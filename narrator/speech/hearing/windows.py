"""Cuts a long sound into windows for a recogniser, at quiet places, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MIN_SECONDS, MAX_SECONDS = 12.0, 28.0
"""Seconds of a window: a recogniser's own is 30."""
_FRAME_SECONDS = 0.02
_SMOOTHING_FRAMES = 10
"""Frames over which the level is taken: a pause, not the closure of a consonant."""


@dataclass(frozen=True, slots=True, eq=False)
class SoundWindow:
    """A part of a sound: mono samples, and the second at which it begins."""

    start: float
    samples: NDArray[np.float32]


def split_windows(blocks: Iterable[NDArray[np.float32]], rate: int) -> Iterator[SoundWindow]:
    """Yields windows of a stream of mono samples; each cut lies in the longest, quietest pause."""
    buffer = np.zeros(0, np.float32)
    position = 0
    max_samples = round(MAX_SECONDS * rate)
    for block in blocks:
        buffer = np.concatenate([buffer, block])
        while len(buffer) > max_samples:
            cut = _find_cut(buffer[:max_samples], rate)
            yield SoundWindow(position / rate, buffer[:cut])
            buffer, position = buffer[cut:], position + cut
    if len(buffer):
        yield SoundWindow(position / rate, buffer)


def _find_cut(samples: NDArray[np.float32], rate: int) -> int:
    """Returns the sample at which a window ends, after `MIN_SECONDS`."""
    hop = round(_FRAME_SECONDS * rate)
    frames = samples[: len(samples) // hop * hop].reshape(-1, hop)
    power = np.square(frames).mean(axis=1, dtype=np.float64)
    level = np.convolve(power, np.ones(_SMOOTHING_FRAMES) / _SMOOTHING_FRAMES, "same")
    first = round(MIN_SECONDS / _FRAME_SECONDS)
    return (first + int(level[first:-_SMOOTHING_FRAMES].argmin())) * hop
