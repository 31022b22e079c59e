"""Measures the edges of a clip as it will be heard: clicks and cut-off breaths.

Pure: takes samples and the bounds within which they are heard. `speech.checks` judges how bad the
figures are, and detects clips that begin or end in the middle of a sound.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy import fft
from numpy.typing import NDArray

from narrator.sound.audio import SILENCE, Samples

CLICK_SEARCH_START, CLICK_SEARCH_END = 0.15, 0.25
"""Seconds from the start and the end of a clip that are searched for clicks."""
CLICK_CONTEXT, CLICK_WIDTH = 10, 1
"""Milliseconds on both sides that a click is compared with, and how many of them next to the click
are left out."""
AUDIBLE_CLICK = -25.0
"""dB of a click's highest sample step, relative to clear speech, from which on it is heard."""
BREATH_LEVELS = (-38.0, -8.0)
"""Lowest and highest level of a breath's first or last 10 ms, in dB relative to speech."""
EDGE_SECONDS = 0.06
"""Seconds at an edge in which a breath is looked for; a shorter clip has no edges."""
STEADY_RANGE = 6.0
"""Most dB between the parts of those seconds, for a breath that neither sets in nor dies away."""
LOW_BAND_SHARE, MIN_FLATNESS, VOICED_LIKENESS = 0.85, -6.0, 0.45
"""Limits that identify a breath: the least share of power from 300 Hz to 4 kHz (sibilants have
less), the least spectral flatness there in dB, and the autocorrelation at a pitch period from which
on a sound is a voice."""


@dataclass(frozen=True, slots=True)
class Edges:
    """Faults at the edges of a clip, in dB."""

    click: float = 0.0
    """How far a lone step or impulse stands out of the 10 ms on both sides."""
    torn: float = SILENCE
    """Level, relative to clear speech, of a breath that an edge cuts off; `SILENCE` without one."""


def measure_edges(
    samples: Samples, bounds: tuple[int, int], rate: int, speech_level: float
) -> Edges:
    """Measures the edges of a take within its bounds, in samples.

    `speech_level` is the level of its clear speech in dB full scale.
    """
    clip = samples[slice(*bounds)]
    if len(clip) < round(EDGE_SECONDS * rate):
        return Edges()
    torn = max(
        _torn_breath_level(clip, rate, speech_level),
        _torn_breath_level(clip[::-1], rate, speech_level),
    )
    return Edges(_click_level(clip, rate), torn)


def _level(samples: Samples) -> float:
    """Returns the mean level of samples in dB full scale."""
    return float(10 * np.log10(np.square(samples, dtype=np.float64).mean() + 1e-12))


def _click_level(clip: Samples, rate: int) -> float:
    """Returns how many dB the loudest lone step near an edge stands out of its neighbourhood.

    Compares the steps from sample to sample, millisecond by millisecond.
    """
    samples_per_ms = max(1, round(0.001 * rate))
    window_count = len(clip) // samples_per_ms
    steps = np.square(
        np.diff(clip, prepend=clip[:1])[: window_count * samples_per_ms].reshape(
            window_count, samples_per_ms
        )
    )
    mean_levels = 10 * np.log10(steps.mean(axis=1, dtype=np.float64) + 1e-14)
    highest_levels = 10 * np.log10(steps.max(axis=1) + 1e-14)
    loud_level = float(np.percentile(mean_levels[mean_levels > mean_levels.max() - 60], 90))
    neighbourhoods = np.lib.stride_tricks.sliding_window_view(
        np.pad(mean_levels, CLICK_CONTEXT, constant_values=-140.0), 2 * CLICK_CONTEXT + 1
    )
    neighbour_levels = np.delete(
        neighbourhoods, range(CLICK_CONTEXT - CLICK_WIDTH, CLICK_CONTEXT + CLICK_WIDTH + 1), axis=1
    ).max(axis=1)
    is_audible = highest_levels > loud_level + AUDIBLE_CLICK
    click_levels = np.where(is_audible, mean_levels - neighbour_levels, 0.0)
    start_ms, end_ms = round(CLICK_SEARCH_START * 1000), round(CLICK_SEARCH_END * 1000)
    loudest_click = max(click_levels[:start_ms].max(), click_levels[-end_ms:].max())
    return float(np.clip(loudest_click, 0.0, 60.0))


def _torn_breath_level(clip: Samples, rate: int, speech_level: float) -> float:
    """Returns the level in dB, relative to speech, of a breath that the start of a clip cuts off.

    `SILENCE` where the clip does not begin with a breath.
    """
    edge = clip[: round(EDGE_SECONDS * rate)]
    part_bounds = (0, round(0.01 * rate), round(0.03 * rate), len(edge))
    part_levels = [_level(edge[start:stop]) - speech_level for start, stop in pairwise(part_bounds)]
    if (
        not BREATH_LEVELS[0] < part_levels[0] < BREATH_LEVELS[1]
        or max(part_levels) - min(part_levels) > STEADY_RANGE
    ):
        return SILENCE
    return part_levels[0] if _is_breath(edge, rate) else SILENCE


def _is_breath(edge: Samples, rate: int) -> bool:
    """Returns whether a sound is a breath, by its spectrum: neither a sibilant nor a voice."""
    fft_size = 2 << (len(edge) - 1).bit_length()
    power = np.square(np.abs(fft.rfft(edge * np.hanning(len(edge)), fft_size)))
    hertz = fft.rfftfreq(fft_size, 1 / rate)
    low_band: NDArray[np.float64] = power[(hertz > 300) & (hertz < 4000)] + 1e-14
    flatness = 10 * float(np.log10(np.exp(np.log(low_band).mean()) / low_band.mean()))
    if flatness < MIN_FLATNESS or low_band.sum() < LOW_BAND_SHARE * power[hertz > 100].sum():
        return False
    autocorrelation = fft.irfft(power)
    shortest_pitch_period, longest_pitch_period = round(0.0025 * rate), round(0.016 * rate)
    pitch_strength = autocorrelation[shortest_pitch_period:longest_pitch_period].max()
    return bool(pitch_strength < VOICED_LIKENESS * autocorrelation[0])
