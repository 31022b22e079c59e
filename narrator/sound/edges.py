"""The edges of a clip as it will be heard: does it click, is a breath torn?

Pure; of samples and the bounds within which they are heard. What begins or ends in the middle of a
sound is told by `speech.checks`, which says how bad all this is.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from narrator.sound.audio import SILENCE, Samples

AT_START, AT_END = 0.15, 0.25
"""Seconds from the edges in which a click is looked for."""
AROUND, NEXT = 10, 1
"""Milliseconds on both sides that a click is compared with, but for those that are next to it."""
AUDIBLE = -25.0
"""dB of a click's highest step against those of clear speech."""
BREATH = (-38.0, -8.0)
"""dB against speech of a breath's first or last 10 ms."""
STEADY = 6.0
"""dB between three parts of 60 ms of a breath that neither sets in nor dies away."""
LOW, FLAT, VOICED = 0.85, -6.0, 0.45
"""Of a breath: the share of its power from 300 Hz to 4 kHz, which is less in sibilants; dB of its
flatness there, and its likeness to itself a period later, which tell it from voices."""


@dataclass(frozen=True, slots=True)
class Edges:
    """What is heard at the edges of a clip, in dB."""

    click: float = 0.0
    """By which a lone step or impulse stands out of the 10 ms on both sides."""
    torn: float = SILENCE
    """Of a breath that begins or ends at an edge all at once, against clear speech."""


def edges(samples: Samples, bounds: tuple[int, int], rate: int, loud: float) -> Edges:
    """What is heard at the edges of a take within its bounds; `loud` is the dB full scale of its
    clear speech."""
    clip = samples[slice(*bounds)]
    if len(clip) < round(0.06 * rate):
        return Edges()
    torn = max(_torn(clip, rate, loud), _torn(clip[::-1], rate, loud))
    return Edges(_click(clip, rate), torn)


def _level(samples: Samples) -> float:
    return float(10 * np.log10(np.square(samples, dtype=np.float64).mean() + 1e-12))


def _click(clip: Samples, rate: int) -> float:
    """Of the steps from sample to sample in each millisecond, which a lone step stands out of."""
    hop = max(1, round(0.001 * rate))
    count = len(clip) // hop
    steps = np.square(np.diff(clip, prepend=clip[:1])[: count * hop].reshape(count, hop))
    power = 10 * np.log10(steps.mean(axis=1, dtype=np.float64) + 1e-14)
    highest = 10 * np.log10(steps.max(axis=1) + 1e-14)
    loud = float(np.percentile(power[power > power.max() - 60], 90))
    around = np.lib.stride_tricks.sliding_window_view(
        np.pad(power, AROUND, constant_values=-140.0), 2 * AROUND + 1
    )
    others = np.delete(around, range(AROUND - NEXT, AROUND + NEXT + 1), axis=1).max(axis=1)
    above = np.where(highest > loud + AUDIBLE, power - others, 0.0)
    first, last = round(AT_START / 0.001), round(AT_END / 0.001)
    return float(np.clip(max(above[:first].max(), above[-last:].max()), 0.0, 60.0))


def _torn(clip: Samples, rate: int, loud: float) -> float:
    """dB of a breath that a clip begins with all at once; `SILENCE` where it does not."""
    edge = clip[: round(0.06 * rate)]
    bounds = (0, round(0.01 * rate), round(0.03 * rate), len(edge))
    parts = [_level(edge[a:b]) - loud for a, b in pairwise(bounds)]
    if not BREATH[0] < parts[0] < BREATH[1] or max(parts) - min(parts) > STEADY:
        return SILENCE
    return parts[0] if _is_breath(edge, rate) else SILENCE


def _is_breath(edge: Samples, rate: int) -> bool:
    size = 2 << (len(edge) - 1).bit_length()
    power = np.square(np.abs(np.fft.rfft(edge * np.hanning(len(edge)), size)))
    hertz = np.fft.rfftfreq(size, 1 / rate)
    low: NDArray[np.float64] = power[(hertz > 300) & (hertz < 4000)] + 1e-14
    flatness = 10 * float(np.log10(np.exp(np.log(low).mean()) / low.mean()))
    if flatness < FLAT or low.sum() < LOW * power[hertz > 100].sum():
        return False
    alike = np.fft.irfft(power)
    periods = alike[round(0.0025 * rate) : round(0.016 * rate)]
    return bool(periods.max() < VOICED * alike[0])
