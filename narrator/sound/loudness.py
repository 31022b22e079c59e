"""Loudness targets: measures a stream, and masters a stream to a target.

Everything streams: blocks of float32 in, (n,) mono or (n, 2) stereo; blocks or one set of figures
out. Knows nothing of files and codecs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from narrator.sound.audio import (
    Samples,
    amplitude,
    count_channels,
    decibels,
    filter_stream,
    make_silence,
)

# -- targets ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Loudness:
    """Measured figures of one stream."""

    integrated: float
    """LUFS by ITU-R BS.1770 and EBU R 128, at least `SILENT_LUFS`."""
    rms: float
    """dB full scale over everything, silence and both channels included: the RMS of ACX."""
    true_peak: float
    """dBTP; the sample peak where true peak was not asked for."""
    peak: float
    """Highest sample, dB full scale."""
    seconds: float


@dataclass(frozen=True, slots=True)
class Target:
    """The levels that finished audio must have."""

    kind: Literal["LUFS", "dB RMS", "as it is"]
    """The measure of `level`; "as it is" leaves the sound at its own level."""
    level: float
    """The level that the gain aims at."""
    lowest: float
    highest: float
    """Bounds of the accepted level of the encoded file."""
    true_peak: float
    """Highest accepted dBTP."""

    def level_of(self, measured: Loudness) -> float:
        """Returns the figure that this target limits."""
        return measured.rms if self.kind == "dB RMS" else measured.integrated

    def accepts(self, measured: Loudness) -> bool:
        """Returns whether figures meet this target."""
        return (
            self.lowest <= self.level_of(measured) <= self.highest
            and measured.true_peak <= self.true_peak
        )

    def __str__(self) -> str:
        level = self.kind if self.kind == "as it is" else f"{self.level:g} {self.kind}"
        return f"{level}, at most {self.true_peak:g} dBTP"


SILENT_LUFS = -70.0
"""Integrated loudness of a sound in which nothing is louder: the absolute gate of BS.1770."""
STEREO_GAIN = 10 * math.log10(2)
"""LU by which a sound is louder in two channels than in one; its RMS is not."""

# -- measuring -------------------------------------------------------------------------------------


def measure(blocks: Iterable[Samples], rate: int, *, true_peak: bool = True) -> Loudness:
    """Measures a stream by FFmpeg's ebur128; without `true_peak` in a quarter of the time."""
    channels, blocks = count_channels(blocks)
    energy_meter = _EnergyMeter(tenth_samples=rate // 10, channels=channels)
    options = f"metadata=1:framelog=quiet:peak={'true' if true_peak else 'none'}"
    previous_integrated = integrated = SILENT_LUFS  # up to each tenth of a second
    true_peak_amplitude = 0.0
    for frame in filter_stream(energy_meter.pass_through(blocks), rate, "ebur128", options):
        previous_integrated, integrated = integrated, float(frame.metadata["lavfi.r128.I"])
        if true_peak:
            true_peak_amplitude = float(frame.metadata["lavfi.r128.true_peak"])
    peak = decibels(energy_meter.peak)
    mean_power = energy_meter.energy / max(1, energy_meter.count * energy_meter.channels)
    return Loudness(
        integrated=max(previous_integrated if energy_meter.padded else integrated, SILENT_LUFS),
        rms=decibels(mean_power**0.5),
        true_peak=max(peak, decibels(true_peak_amplitude)),
        peak=peak,
        seconds=energy_meter.count / rate,
    )


class _EnergyMeter:
    """Measures energy and peak of the blocks that pass through.

    The ebur128 filter works in tenths of a second and ignores an incomplete one: silence completes
    it for the sake of its peak. Its loudness does not count, as the standard demands.
    """

    def __init__(self, tenth_samples: int, channels: int) -> None:
        self.tenth_samples = tenth_samples
        self.channels = channels
        self.energy = 0.0
        self.peak = 0.0
        self.count = 0
        """Samples of one channel."""
        self.padded = False

    def pass_through(self, blocks: Iterable[Samples]) -> Iterator[Samples]:
        """Yields the blocks unchanged, then the silence that completes the last tenth of a
        second."""
        for block in blocks:
            self.energy += float(np.vdot(block, block))
            self.peak = max(self.peak, float(np.abs(block).max(initial=0.0)))
            self.count += len(block)
            yield block
        if missing := -self.count % self.tenth_samples:
            self.padded = True
            yield make_silence(missing, self.channels)


# -- mastering -------------------------------------------------------------------------------------

LOOK_AHEAD_SECONDS = 0.015
"""A dip of the limiter's gain takes twice this to come and twice this to go."""
INTERPOLATOR_TAPS = 24
"""Taps of the interpolator that computes peaks between samples."""
PEAK_SEARCH_SHARE = 0.5
"""Peaks between samples are computed only next to samples that reach this share of the ceiling: 6
dB, which a tone of up to a third of the sample rate never exceeds."""


def master(blocks: Iterable[Samples], rate: int, gain: float, ceiling: float) -> Iterator[Samples]:
    """Applies a gain (dB) to a stream, and holds its true peaks at a ceiling (dBTP); keeps its
    length.

    The limiter looks ahead: its gain is the lowest that any peak within `LOOK_AHEAD_SECONDS` needs,
    smoothed by two moving averages of that width, so it is down before the peak comes and moves too
    slowly to be heard. Where no peak needs it, samples are only multiplied by the gain. Peaks
    between samples are computed at four times the rate (within 0.2 dB up to a quarter of the sample
    rate). Both channels of stereo get the gain that the louder one needs, so that the stereo image
    does not move.
    """
    channels, blocks = count_channels(blocks)
    gain_factor = np.float32(amplitude(gain))
    limit = amplitude(ceiling)
    look_samples = max(1, round(LOOK_AHEAD_SECONDS * rate))
    half_taps = INTERPOLATOR_TAPS // 2
    # a peak lowers the gain from `delay` samples before it to `delay` after it
    delay = 2 * look_samples
    pending = make_silence(half_taps, channels)  # interpolator context, then samples to come
    needed_gains = np.ones(delay, np.float32)  # of each sample, beginning `delay` before `pending`
    for block in chain(blocks, [make_silence(delay + half_taps, channels)]):
        pending = np.concatenate([pending, block * gain_factor])
        unmeasured = pending[len(needed_gains) - delay :]  # with context on either side
        if len(unmeasured) < INTERPOLATOR_TAPS:
            continue
        channel_gains = [_limiter_gain(channel, limit) for channel in np.atleast_2d(unmeasured.T)]
        needed_gains = np.concatenate([needed_gains, np.minimum.reduce(channel_gains)])
        ready_count = len(needed_gains) - 2 * delay
        if ready_count <= 0:
            continue
        ready_block = pending[half_taps : half_taps + ready_count]
        if float(needed_gains.min()) < 1:
            ready_block = (ready_block.T * _smooth_gain(needed_gains, look_samples)).T
        yield ready_block
        pending, needed_gains = pending[ready_count:], needed_gains[ready_count:]


def _limiter_gain(samples: Samples, limit: float) -> Samples:
    """Returns the gain that each sample needs, without `INTERPOLATOR_TAPS / 2` samples of context
    at either end."""
    half_taps = INTERPOLATOR_TAPS // 2
    first, stop = half_taps, len(samples) - half_taps
    peaks = np.abs(samples[first:stop])
    is_high = np.abs(samples[first - 1 : stop + 1]) > PEAK_SEARCH_SHARE * limit
    high_samples = np.flatnonzero(is_high) + first - 1
    # a gap lies between a sample, whose index it has, and the next
    gaps = np.unique(np.concatenate([high_samples - 1, high_samples]))
    gaps = gaps[(gaps >= first - 1) & (gaps < stop)]
    if len(gaps):
        windows = samples[gaps[:, np.newaxis] + np.arange(1 - half_taps, half_taps + 1)]
        gap_peaks = np.abs(windows @ _INTERPOLATOR).max(axis=1)
        for neighbours in (gaps - first, gaps - first + 1):  # the samples on both sides
            is_inside = (neighbours >= 0) & (neighbours < len(peaks))
            affected = neighbours[is_inside]
            peaks[affected] = np.maximum(peaks[affected], gap_peaks[is_inside])
    return np.minimum(np.float32(1), np.float32(limit) / np.maximum(peaks, np.float32(1e-9)))


def _smooth_gain(needed_gains: Samples, look_samples: int) -> NDArray[np.float32]:
    """Takes the lowest gain within `look_samples` on either side, then two moving averages as
    wide."""
    lowest_gains = needed_gains
    width, full_width = 1, 2 * look_samples + 1
    while width < full_width:  # running minimum by doubling
        step = min(width, full_width - width)
        lowest_gains = np.minimum(lowest_gains[: len(lowest_gains) - step], lowest_gains[step:])
        width += step
    smooth_gains = lowest_gains.astype(np.float64)
    for _ in range(2):
        sums = np.concatenate([[0.0], np.cumsum(smooth_gains)])
        smooth_gains = (sums[look_samples + 1 :] - sums[: len(sums) - look_samples - 1]) / (
            look_samples + 1
        )
    return smooth_gains.astype(np.float32)


def _windowed_sinc() -> Samples:
    """Returns a windowed sinc for positions a quarter, a half and three quarters after the middle
    sample."""
    half_taps = INTERPOLATOR_TAPS // 2
    taps = np.arange(1 - half_taps, half_taps + 1)
    offsets = taps[:, np.newaxis] - np.array([0.25, 0.5, 0.75])
    kaiser_beta = 7
    window = np.i0(kaiser_beta * np.sqrt(np.maximum(0, 1 - (offsets / half_taps) ** 2)))
    kernel = np.sinc(offsets) * window / np.i0(kaiser_beta)
    return (kernel / kernel.sum(axis=0)).astype(np.float32)


_INTERPOLATOR = _windowed_sinc()
