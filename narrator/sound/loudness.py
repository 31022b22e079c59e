"""Loudness: what a target asks for, measure a stream, bring a stream to it.

Everything streams: blocks of float32 in, (n,) mono or (n, 2) stereo, blocks or one set of figures
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

from narrator.sound.audio import Samples, amplitude, channels_of, decibels, filtered, silent

# -- targets ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Loudness:
    """Measured figures of one stream."""

    integrated: float
    """LUFS by ITU-R BS.1770 and EBU R 128; -70 where nothing is louder than that."""
    rms: float
    """dB full scale over everything, silence and both channels too: what ACX calls RMS."""
    true_peak: float
    """dBTP; the sample peak where true peak was not asked for."""
    peak: float
    """Highest sample, dB full scale."""
    seconds: float


@dataclass(frozen=True, slots=True)
class Target:
    """What finished audio must measure."""

    kind: Literal["LUFS", "dB RMS", "as it is"]
    """The last leaves the sound at its own level, whatever that is."""
    level: float
    """What gain is chosen for."""
    lowest: float
    highest: float
    """What is accepted of the encoded file."""
    true_peak: float
    """Highest accepted dBTP."""

    def level_of(self, measured: Loudness) -> float:
        """The figure that this target is about."""
        return measured.rms if self.kind == "dB RMS" else measured.integrated

    def accepts(self, measured: Loudness) -> bool:
        return (
            self.lowest <= self.level_of(measured) <= self.highest
            and measured.true_peak <= self.true_peak
        )

    def __str__(self) -> str:
        level = self.kind if self.kind == "as it is" else f"{self.level:g} {self.kind}"
        return f"{level}, at most {self.true_peak:g} dBTP"


BOTH = 10 * math.log10(2)
"""LU by which the same sound is louder in two channels than in one; its RMS is not."""

# -- measuring -------------------------------------------------------------------------------------


def measure(blocks: Iterable[Samples], rate: int, *, true_peak: bool = True) -> Loudness:
    """Figures of a stream, by FFmpeg's ebur128; without `true_peak` in a quarter of the time."""
    channels, blocks = channels_of(blocks)
    tally = _Energy(step=rate // 10, channels=channels)
    options = f"metadata=1:framelog=quiet:peak={'true' if true_peak else 'none'}"
    integrated = [-70.0, -70.0]
    highest = 0.0
    for frame in filtered(tally.watch(blocks), rate, "ebur128", options):
        integrated = [integrated[1], float(frame.metadata["lavfi.r128.I"])]
        if true_peak:
            highest = float(frame.metadata["lavfi.r128.true_peak"])
    peak = decibels(tally.peak)
    return Loudness(
        integrated=max(integrated[0] if tally.padded else integrated[1], -70.0),
        rms=decibels((tally.energy / max(1, tally.count * tally.channels)) ** 0.5),
        true_peak=max(peak, decibels(highest)),
        peak=peak,
        seconds=tally.count / rate,
    )


class _Energy:
    """Energy and peak of the blocks that pass.

    The filter reads tenths of a second and says nothing of a rest: silence fills it up, for its
    peak; its loudness does not count, as the standard has it.
    """

    def __init__(self, step: int, channels: int) -> None:
        self.step = step
        self.channels = channels
        self.energy = 0.0
        self.peak = 0.0
        self.count = 0
        self.padded = False

    def watch(self, blocks: Iterable[Samples]) -> Iterator[Samples]:
        for block in blocks:
            self.energy += float(np.vdot(block, block))
            self.peak = max(self.peak, float(np.abs(block).max(initial=0.0)))
            self.count += len(block)
            yield block
        if rest := -self.count % self.step:
            self.padded = True
            yield silent(rest, self.channels)


# -- mastering -------------------------------------------------------------------------------------

LOOK = 0.015
"""Seconds: a dip of the limiter's gain takes twice this to come and twice this to go."""
TAPS = 24
"""Of the interpolator that finds peaks between samples."""
NEAR = 0.5
"""Peaks between samples are looked for only next to samples that reach this share of the ceiling:
6 dB, which a tone up to a third of the sample rate stays within."""


def master(blocks: Iterable[Samples], rate: int, gain: float, ceiling: float) -> Iterator[Samples]:
    """The stream at another gain (dB), true peaks held at a ceiling (dBTP); equal length.

    The limiter looks ahead: its gain is the lowest that any peak within `LOOK` needs, smoothed by
    two moving averages of that width, so it is down before the peak comes and moves too slowly to
    be heard. Where no peak asks for it, samples are only multiplied by the gain. Peaks between
    samples are taken at four times the rate (within 0.2 dB up to a quarter of the sample rate).
    Both channels of stereo get the gain that the louder one needs: the picture stays where it is.
    """
    channels, blocks = channels_of(blocks)
    factor = np.float32(amplitude(gain))
    limit = amplitude(ceiling)
    look = max(1, round(LOOK * rate))
    half = TAPS // 2
    wait = 2 * look  # a peak's gain works from `wait` samples before it to `wait` after it
    sound = silent(half, channels)  # context of the interpolator, then what is not out yet
    needed = np.ones(wait, np.float32)  # each sample's gain, from `wait` before that on
    for block in chain(blocks, [silent(wait + half, channels)]):
        sound = np.concatenate([sound, block * factor])
        fresh = sound[len(needed) - wait :]  # with context, what `needed` does not know yet
        if len(fresh) < TAPS:
            continue
        gains = [_needed(channel, limit) for channel in np.atleast_2d(fresh.T)]
        needed = np.concatenate([needed, np.minimum.reduce(gains)])
        ready = len(needed) - 2 * wait
        if ready <= 0:
            continue
        out = sound[half : half + ready]
        if float(needed.min()) < 1:
            out = (out.T * _smoothed(needed, look)).T
        yield out
        sound, needed = sound[ready:], needed[ready:]


def _needed(sound: Samples, limit: float) -> Samples:
    """The gain that each sample needs, but for `TAPS / 2` of context at either end."""
    half = TAPS // 2
    end = len(sound) - half
    high = np.abs(sound[half:end])
    near = np.flatnonzero(np.abs(sound[half - 1 : end + 1]) > NEAR * limit) + half - 1
    near = np.unique(np.concatenate([near - 1, near]))  # each the place after that sample
    near = near[(near >= half - 1) & (near < end)]
    if len(near):
        windows = sound[near[:, np.newaxis] + np.arange(1 - half, half + 1)]
        between = np.abs(windows @ _INTERPOLATOR).max(axis=1)
        for neighbour in (near - half, near - half + 1):
            inside = (neighbour >= 0) & (neighbour < len(high))
            at = neighbour[inside]
            high[at] = np.maximum(high[at], between[inside])
    return np.minimum(np.float32(1), np.float32(limit) / np.maximum(high, np.float32(1e-9)))


def _smoothed(needed: Samples, look: int) -> NDArray[np.float32]:
    """Lowest gain within `look` on either side, then two moving averages over as much."""
    lowest = needed
    width = 1
    while width < 2 * look + 1:  # running minimum by doubling
        step = min(width, 2 * look + 1 - width)
        lowest = np.minimum(lowest[: len(lowest) - step], lowest[step:])
        width += step
    smooth = lowest.astype(np.float64)
    for _ in range(2):
        sums = np.concatenate([[0.0], np.cumsum(smooth)])
        smooth = (sums[look + 1 :] - sums[: len(sums) - look - 1]) / (look + 1)
    return smooth.astype(np.float32)


def _interpolator() -> Samples:
    """Windowed sinc for places a quarter, a half and three quarters after the middle sample."""
    places = np.arange(1 - TAPS // 2, TAPS // 2 + 1)[:, np.newaxis] - np.array([0.25, 0.5, 0.75])
    window = np.i0(7 * np.sqrt(np.maximum(0, 1 - (places / (TAPS / 2)) ** 2))) / np.i0(7)
    kernel = np.sinc(places) * window
    return (kernel / kernel.sum(axis=0)).astype(np.float32)


_INTERPOLATOR = _interpolator()
