"""Sound processing other than levels: filters over a speaker's takes, room tone under a chapter.

Knows nothing of manifests, targets and files.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy import fft
from numpy.typing import NDArray

from narrator.sound.audio import Samples, amplitude, filter_stream, measure_level, raised_cosine

# -- filters ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Polish:
    """Filters for a speaker's takes; None and 0 leave the sound unchanged."""

    high_pass: float | None = None
    """Cut-off in Hz; 12 dB an octave below it."""
    de_ess: float = 0.0
    """How far sharp s sounds are lowered, from 0 to 1 (12 dB)."""

    def __bool__(self) -> bool:
        return bool(self.high_pass or self.de_ess)


SIBILANCE_BAND = (4500.0, 10_000.0)
"""Hz in which s sounds are sharp."""
SIBILANCE_THRESHOLD = 16.0
"""dB below a take's level from which on that band counts as sharp."""
SIBILANCE_SLOPE = 0.75
"""dB by which that band is lowered for each dB over the threshold."""
MAX_DE_ESS_DB = 12.0
GAIN_WINDOW_SECONDS = 0.006
"""Seconds over which the level of the band is measured, and over which its gain comes and goes."""


def apply_polish(samples: Samples, rate: int, polish: Polish) -> Samples:
    """Applies the filters to a take, without changing its length or timing."""
    if polish.high_pass and len(samples):
        frames = filter_stream([samples], rate, "highpass", f"f={polish.high_pass:g}")
        samples = np.concatenate([frame.to_ndarray().reshape(-1) for frame in frames])
    if polish.de_ess and len(samples) and rate > 2 * SIBILANCE_BAND[0]:
        samples = _de_ess(samples, rate, max_reduction_db=MAX_DE_ESS_DB * polish.de_ess)
    return samples


def _de_ess(samples: Samples, rate: int, *, max_reduction_db: float) -> Samples:
    """Lowers the sharp band of a take where its level exceeds the threshold.

    Not by FFmpeg: measured, its `deesser` takes 18 dB at once, from 3 kHz on at 22 kHz and from 7
    kHz on at 48 kHz, by the sound's level; its `adynamicequalizer` cuts a hiss by 4 or by 12 dB for
    3 dB of threshold. Here the threshold follows the take's level, and the band is extracted
    without phase shift and added back less loud.
    """
    band = _extract_sibilance(samples, rate)
    window_samples = max(1, round(GAIN_WINDOW_SECONDS * rate))
    band_power = _moving_mean(np.square(band, dtype=np.float64), window_samples)
    take_level, _ = measure_level(samples, rate)
    excess_db = 10 * np.log10(band_power + 1e-12) - (take_level - SIBILANCE_THRESHOLD)
    reduction_db = np.clip(excess_db * SIBILANCE_SLOPE, 0, max_reduction_db)
    band_gain = 10 ** (-_moving_mean(reduction_db, window_samples) / 20)
    return samples + (band * (band_gain - 1)).astype(np.float32)


def _extract_sibilance(samples: Samples, rate: int) -> Samples:
    """Extracts the sharp band of a take, with flanks of a third of an octave."""
    fft_size = 1 << (len(samples) + rate // 50).bit_length()
    hertz = np.maximum(fft.rfftfreq(fft_size, 1 / rate), 1)
    octaves = (
        np.minimum(np.log2(hertz / SIBILANCE_BAND[0]), np.log2(SIBILANCE_BAND[1] / hertz)) * 3 + 1
    )
    spectrum = fft.rfft(samples, fft_size) * raised_cosine(octaves)
    return fft.irfft(spectrum, fft_size)[: len(samples)].astype(np.float32)


def _moving_mean(series: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Returns the mean of the `width` numbers around each number."""
    before = width // 2
    sums = np.concatenate([[0.0], np.cumsum(np.pad(series, (before, width - 1 - before)))])
    means: NDArray[np.float64] = np.maximum(sums[width:] - sums[:-width], 0) / width
    return means


# -- room tone -------------------------------------------------------------------------------------

ROOM_TONE_SECONDS = 12
"""Seconds after which room tone repeats: it is too quiet for that to be heard."""


def with_room_tone(blocks: Iterable[Samples], rate: int, rms: float) -> Iterator[Samples]:
    """Adds room tone to a stream at a level in dB RMS; each channel gets its own.

    The tone is synthesized, not sampled: the edges of takes hold an engine's artefacts rather than
    a room, and differ between speakers, so that joins would be heard. It lies under words too, so
    that it neither begins nor ends anywhere.
    """
    tone = _room_tone(rate) * np.float32(amplitude(rms))
    position = 0
    for block in blocks:
        left_indices = np.arange(position, position + len(block)) % len(tone)
        if block.ndim == 1:
            yield block + tone[left_indices]
        else:
            right_indices = (left_indices + len(tone) // 2) % len(tone)
            yield block + np.stack([tone[left_indices], tone[right_indices]], 1)
        position = (position + len(block)) % len(tone)


@functools.lru_cache(maxsize=2)
def _room_tone(rate: int) -> Samples:
    """Returns one period of noise like that of a quiet room, at an RMS of 1, which loops without a
    seam.

    Shaped on the bins of its spectrum: 5 dB an octave downwards from 150 Hz, nothing below 60 Hz.
    """
    length = ROOM_TONE_SECONDS * rate
    hertz = fft.rfftfreq(length, 1 / rate)
    phases = np.random.default_rng(1).random(len(hertz)) * 2 * np.pi
    slope = np.maximum(hertz, 150.0) ** (-5 / 6.02)
    low_cut = np.clip((hertz - 40) / 40, 0, 1)
    tone = fft.irfft(slope * low_cut * np.exp(1j * phases), length)
    return (tone / np.sqrt(np.mean(tone**2))).astype(np.float32)
