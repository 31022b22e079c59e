"""A take in short frames: levels, spectra, where there is sound. Pure; knows no rules."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from narrator.sound import audio

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]
_Real = TypeVar("_Real", np.float32, np.float64)

HOP_SECONDS = 0.01
"""Seconds between two frames, which are twice as long."""
POOLED_FRAMES = 4
"""Frames of a slow frame: 40 ms, as long as one of the model's latents."""
BANDS = 32
"""Bands of `mel_bands`."""
_BAND_HERTZ = (100.0, 7500.0)
"""The lowest and the highest frequency of the bands."""
SLOW_FRAME_SECONDS = POOLED_FRAMES * HOP_SECONDS

PAUSE_DB, PAUSE_OVER_NOISE_DB = -40.0, 6.0
"""Level of a pause relative to speech, and relative to the take's own noise where that is louder.
"""
_CLOSURE_FRAMES = 3
"""Frames of silence that belong to a sound: most are the closure of a stop consonant."""
_NOISE_FLATNESS_DB = -5.0
"""Geometric to arithmetic mean power from 300 Hz to 7 kHz: vowels -25, [s] -8, noise -1."""
_OWN_FLATNESS_SPARE_DB = 6.0
"""Flatness over the take's own median, so that whispered takes are not noise."""


@dataclass(frozen=True, slots=True, eq=False)
class Frames:
    """A take in frames of `HOP_SECONDS`, and in slow frames of `POOLED_FRAMES` of them."""

    levels: NDArray[np.float64]
    """dB full scale of each frame."""
    power: Floats
    """(frames, bins)."""
    slow_power: Floats
    """`power`, averaged over slow frames."""
    bin_hertz: NDArray[np.float64]
    """Centre frequency of each bin."""
    speech_level: float
    """dB full scale of clear speech: nine tenths of the audible frames are softer."""
    silence_level: float
    """dB full scale below which a frame is silent."""
    sounds: NDArray[np.intp]
    """(n, 2): start and end frames of each stretch of sound."""
    is_noise: Flags
    """Slow frames that are noise."""


def analyse_frames(samples: Floats, rate: int) -> Frames:
    """Measures the frames of a take, for all rules; `rate` is in Hz."""
    hop = max(1, round(rate * HOP_SECONDS))
    count = max(1, len(samples) // hop)
    padded = np.zeros((count + 1) * hop, np.float32)
    padded[: min(len(samples), count * hop)] = samples[: count * hop]
    blocks = padded[: count * hop].reshape(count, hop)
    levels = decibels(np.square(blocks).mean(axis=1, dtype=np.float64))
    audible_levels = levels[levels >= levels.max() - 60]
    speech_level = float(np.percentile(audible_levels, 90))
    noise_level = min(float(np.percentile(levels, 5)), speech_level - 25)
    silence_level = max(speech_level + PAUSE_DB, noise_level + PAUSE_OVER_NOISE_DB)
    sounds = join_runs(levels > silence_level, _CLOSURE_FRAMES)
    sounds = sounds[sounds[:, 1] - sounds[:, 0] > 1]  # one frame is a click

    size = 1 << (2 * hop - 1).bit_length()
    frames = np.lib.stride_tricks.sliding_window_view(padded, 2 * hop)[::hop]
    spectrum = np.fft.rfft(frames * np.hanning(2 * hop).astype(np.float32), size)
    power: Floats = np.square(spectrum.real) + np.square(spectrum.imag)
    bin_hertz = np.linspace(0, rate / 2, size // 2 + 1)
    slow_power = pool_frames(power)
    band = slow_power[:, np.searchsorted(bin_hertz, 300) : np.searchsorted(bin_hertz, 7000)]
    band = band + (1e-9 * slow_power.max() + 1e-20)
    flatness = 10 / math.log(10) * (np.log(band).mean(axis=1) - np.log(band.mean(axis=1)))
    is_strong = pool_frames(levels[:, None])[:, 0] > max(speech_level - 30, noise_level + 10)
    median_flatness = float(np.median(flatness[is_strong])) if is_strong.any() else 0.0
    is_noise = is_strong & (
        flatness > max(_NOISE_FLATNESS_DB, median_flatness + _OWN_FLATNESS_SPARE_DB)
    )
    return Frames(
        levels=levels,
        power=power,
        slow_power=slow_power,
        bin_hertz=bin_hertz,
        speech_level=speech_level,
        silence_level=silence_level,
        sounds=sounds,
        is_noise=is_noise,
    )


def decibels(power: NDArray[np.float64]) -> NDArray[np.float64]:
    return 10.0 * np.log10(power + 1e-12)


def pool_frames(frames: NDArray[_Real]) -> NDArray[_Real]:
    """Averages `POOLED_FRAMES` rows at a time; an incomplete last group counts only alone."""
    count = len(frames) // POOLED_FRAMES
    if not count:
        return frames.mean(axis=0, keepdims=True)
    return frames[: count * POOLED_FRAMES].reshape(count, POOLED_FRAMES, -1).mean(axis=1)


def longest_run(flags: Flags) -> int:
    runs = audio.find_runs(flags)
    return int((runs[:, 1] - runs[:, 0]).max(initial=0))


def join_runs(flags: Flags, max_gap: int) -> NDArray[np.intp]:
    """Returns (n, 2): runs of true values, joined over gaps of up to `max_gap` false ones."""
    runs = audio.find_runs(flags)
    is_wide_gap = runs[1:, 0] - runs[:-1, 1] > max_gap
    starts, stops = runs[:, 0], runs[:, 1]
    return np.stack(
        [
            starts[np.append(True, is_wide_gap)[: len(runs)]],
            stops[np.append(is_wide_gap, True)[: len(runs)]],
        ],
        axis=1,
    )


def mel_bands(frames: Frames) -> Floats:
    """Returns (slow frames, BANDS): the power in bands from 100 Hz to 7.5 kHz on the mel scale."""
    return _filter_bands(frames.slow_power, frames.bin_hertz)


def fast_mel_bands(frames: Frames, count: int | None = None) -> Floats:
    """Returns (frames, BANDS): as `mel_bands`, of the first `count` frames, or of all."""
    return _filter_bands(frames.power[:count], frames.bin_hertz)


def _filter_bands(power: Floats, bin_hertz: NDArray[np.float64]) -> Floats:
    filters = _mel_filters(len(bin_hertz), float(bin_hertz[1]))
    return np.einsum("ij,kj->ik", power, filters)


def band_octaves() -> NDArray[np.float64]:
    """Returns (BANDS,): the octaves of the bands' centres above the lowest one."""
    lowest_mel, highest_mel = _to_mel(np.array(_BAND_HERTZ))
    mels = np.linspace(lowest_mel, highest_mel, BANDS + 2)[1:-1]
    hertz = 700 * (10 ** (mels / 2595) - 1)
    octaves: NDArray[np.float64] = np.log2(hertz / hertz[0])
    return octaves


@functools.lru_cache(maxsize=4)
def _mel_filters(bin_count: int, bin_width: float) -> Floats:
    """Returns (BANDS, bins): triangles from 100 Hz to 7.5 kHz on the mel scale.

    Each has a sum of 1; `bin_width` is in Hz.
    """
    hertz = np.arange(bin_count) * bin_width
    lowest, highest = _BAND_HERTZ
    lowest_mel, highest_mel = _to_mel(np.array([lowest, min(highest, hertz[-1])]))
    corners = np.linspace(lowest_mel, highest_mel, BANDS + 2)
    mels = _to_mel(hertz)[:, None]
    rising = (mels - corners[:-2]) / (corners[1:-1] - corners[:-2])
    falling = (corners[2:] - mels) / (corners[2:] - corners[1:-1])
    weights = np.clip(np.minimum(rising, falling), 0, None)
    return np.ascontiguousarray((weights / np.maximum(weights.sum(axis=0), 1e-9)).T, np.float32)


def _to_mel(hertz: NDArray[np.floating]) -> NDArray[np.floating]:
    mels: NDArray[np.floating] = 2595 * np.log10(1 + hertz / 700)
    return mels
