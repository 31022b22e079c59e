"""Measures two faults that levels do not show: tops that were cut flat, at any level, and long
quiet.

One pass in bounded memory: a histogram for the current half minute, and a byte for each tenth of a
second. The limits were chosen on speech of the draft voice, plain, limited by 12 dB, saturated and
clipped, as PCM and through MP3, AAC and Opus of 48 to 192 kbit/s.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from narrator.sound.audio import Samples, find_runs

# -- flat tops -------------------------------------------------------------------------------------

SEGMENT_SECONDS = 30
"""Seconds that are judged together."""
_TOP_SHARE, _WIDTH_SHARE, _FLAT_SHARE = 0.94, 0.70, 0.80
"""A lobe, the wave between two zero crossings, is flat where it stays at `_TOP_SHARE` of its peak
for `_FLAT_SHARE` of the time that it is at `_WIDTH_SHARE`: a sine for 0.45 of it, a sine cut at
half its height for 0.86."""
_MIN_LOBE_WIDTH = 6
"""Least width in samples of a lobe whose shape can be judged."""
_EQUAL_STEP = 2 / 32768
"""Samples closer than two steps of 16 bits count as equal: three equal samples at a peak, and at
most one more between them and `_KNEE_SHARE` of it, are a corner, which no natural wave has."""
_KNEE_SHARE = 0.995
_MIN_PEAK = 0.01
"""Share of full scale: lower peaks are ignored; corners count from three times that on."""
_LEVEL_STEP = 0.25
_LEVEL_COUNT = 200
"""Number of peak levels, in steps of `_LEVEL_STEP` dB from -40 dB."""
_LEVEL_WINDOW = 4
"""Levels that are counted together: clipped lobes end at one level, but for what a coder
changes."""
_LEVELS_BELOW_LOUDEST = 48
"""Levels below the loudest peak of the half minute in which flat lobes count."""
_MIN_FLAT_COUNT = 8
_MIN_FLAT_SHARE = 0.02
"""Flat lobes at one level are a fault from this count and this share of all lobes at that level on.
Coders make at most 0.003 of them flat, and saturation 0.018."""


@dataclass(slots=True)
class FlatTopCounter:
    """Counts flat tops, channel by channel."""

    rate: int
    coarse: bool = False
    """True for sound with coarse steps, such as 8 bits, in which corners mean nothing."""
    count: int = 0
    first_second: float = 0.0
    """Second of the first flat top."""
    _samples: int = 0
    _channels: dict[int, _Channel] = field(default_factory=dict)

    def feed(self, block: Samples) -> None:
        """Measures the next block."""
        for number, samples in enumerate(block.reshape(len(block), -1).T):
            channel_state = self._channels.setdefault(number, _Channel())
            for lobes in channel_state.lobes(samples, self.rate // 10):
                self._count_flat_lobes(channel_state, lobes)
        self._samples += len(block)

    def finish(self) -> None:
        """Ends the last segment of every channel."""
        for channel in self._channels.values():
            self._finish_segment(channel)

    def _count_flat_lobes(self, channel: _Channel, lobes: _Lobes) -> None:
        """Adds lobes to the histograms of their segments."""
        is_flat = lobes.flat(corners=not self.coarse)
        peak_levels = np.clip(
            (20 * np.log10(lobes.peaks) + 40) / _LEVEL_STEP, 0, _LEVEL_COUNT - 1
        ).astype(np.int64)
        segments = lobes.starts // (SEGMENT_SECONDS * self.rate)
        for segment in np.unique(segments).tolist():
            if segment != channel.segment:
                self._finish_segment(channel)
                channel.segment = segment
            is_in_segment = segments == segment
            channel.all += np.bincount(peak_levels[is_in_segment], minlength=_LEVEL_COUNT)
            channel.flat += np.bincount(
                peak_levels[is_in_segment & is_flat], minlength=_LEVEL_COUNT
            )
            if channel.first is None and bool((is_in_segment & is_flat).any()):
                channel.first = int(lobes.starts[is_in_segment & is_flat][0])

    def _finish_segment(self, channel: _Channel) -> None:
        """Adds the faulty lobes of a segment to the count, and clears its histograms."""
        window = np.ones(_LEVEL_WINDOW, np.int64)
        lobe_counts, flat_counts = (
            np.convolve(counts, window, "valid") for counts in (channel.all, channel.flat)
        )
        loudest = int(np.flatnonzero(channel.all)[-1]) if channel.all.any() else 0
        flat_counts[: max(0, loudest - _LEVELS_BELOW_LOUDEST)] = 0
        faulty_counts = np.where(
            (flat_counts >= _MIN_FLAT_COUNT) & (flat_counts >= _MIN_FLAT_SHARE * lobe_counts),
            flat_counts,
            0,
        )
        if faulty_counts.any() and channel.first is not None:
            if not self.count or channel.first / self.rate < self.first_second:
                self.first_second = channel.first / self.rate
            self.count += int(faulty_counts.max())
        channel.all[:] = channel.flat[:] = 0
        channel.first = None


@dataclass(slots=True)
class _Channel:
    """The state of a channel: its histograms of the current segment, and the unfinished lobe."""

    segment: int = 0
    first: int | None = None
    all: NDArray[np.int64] = field(default_factory=lambda: np.zeros(_LEVEL_COUNT, np.int64))
    flat: NDArray[np.int64] = field(default_factory=lambda: np.zeros(_LEVEL_COUNT, np.int64))
    _leftover: Samples = field(default_factory=lambda: np.zeros(0, np.float32))
    _leftover_start: int = 0
    """Position of `_leftover` in the file, in samples."""
    _is_broken: bool = False
    """True while the current lobe is too long to be one; its start was dropped."""

    def lobes(self, samples: Samples, max_length: int) -> list[_Lobes]:
        """Returns the lobes that have ended, without the quietest and those longer than
        `max_length`."""
        sound = np.concatenate([self._leftover, samples])
        sound_start, is_negative = self._leftover_start, sound < 0
        starts = np.flatnonzero(is_negative[1:] != is_negative[:-1]) + 1
        last_start = int(starts[-1]) if len(starts) else 0
        was_broken, self._is_broken = self._is_broken, self._is_broken and not last_start
        self._leftover, self._leftover_start = sound[last_start:], sound_start + last_start
        if len(self._leftover) > max_length:
            self._leftover, self._leftover_start = self._leftover[-1:], sound_start + len(sound) - 1
            self._is_broken = True
        if not last_start:
            return []
        starts = np.concatenate([[0], starts[:-1]])
        lobes = _Lobes.of(np.abs(sound[:last_start]), starts, max_length, sound_start)
        return [lobes.after(sound_start) if was_broken else lobes]


@dataclass(frozen=True, slots=True)
class _Lobes:
    """Lobes that are loud enough, in order: for each its first sample, its peak, and the number of
    its samples above each limit."""

    starts: NDArray[np.int64]
    """First samples, counted in the file."""
    peaks: NDArray[np.float32]
    tops: NDArray[np.int64]
    wides: NDArray[np.int64]
    equals: NDArray[np.int64]
    knees: NDArray[np.int64]

    @classmethod
    def of(
        cls, magnitudes: Samples, starts: NDArray[np.int64], max_length: int, sound_start: int
    ) -> _Lobes:
        """Measures the lobes that begin at `starts` in `magnitudes`, absolute samples from
        `sound_start` on."""
        lengths = np.diff(np.concatenate([starts, [len(magnitudes)]]))
        peaks = np.maximum.reduceat(magnitudes, starts)
        peak_at_sample = np.repeat(peaks, lengths)

        def count_per_lobe(mask: NDArray[np.bool_]) -> NDArray[np.int64]:
            return np.add.reduceat(mask, starts, dtype=np.int64)

        is_usable = (peaks >= _MIN_PEAK) & (lengths <= max_length)
        masks = (
            magnitudes >= _TOP_SHARE * peak_at_sample,
            magnitudes >= _WIDTH_SHARE * peak_at_sample,
            magnitudes >= peak_at_sample - _EQUAL_STEP,
            magnitudes >= _KNEE_SHARE * peak_at_sample,
        )
        return cls(
            starts[is_usable] + sound_start,
            peaks[is_usable],
            *(count_per_lobe(mask)[is_usable] for mask in masks),
        )

    def after(self, start: int) -> _Lobes:
        """Returns these lobes without one that begins at `start`."""
        remaining = slice(1 if len(self.starts) and self.starts[0] == start else 0, None)
        return _Lobes(
            self.starts[remaining],
            self.peaks[remaining],
            self.tops[remaining],
            self.wides[remaining],
            self.equals[remaining],
            self.knees[remaining],
        )

    def flat(self, *, corners: bool) -> NDArray[np.bool_]:
        """Returns which lobes are flat; with `corners`, also those with a corner at their peak."""
        has_flat_shape = (self.wides >= _MIN_LOBE_WIDTH) & (self.tops >= _FLAT_SHARE * self.wides)
        has_corner = (self.equals >= 3) & (self.knees - self.equals <= 1)
        has_corner &= self.peaks >= 3 * _MIN_PEAK
        return has_flat_shape | (has_corner & corners)


# -- quiet -----------------------------------------------------------------------------------------

TENTH_SECONDS = 0.1
LOWEST_LEVEL = -120.0
_QUIET_BELOW_SPEECH = 26.0
"""dB below the loudest twentieth that count as quiet in any room: speech lies 5 to 8 below it."""
_ROOM_SHARE = 0.4
"""Share of the way from the floor up to that twentieth: in a noisy room, quiet lies below it."""
_NEVER_QUIET_WITHIN = 12.0
"""dB below that twentieth that never count as quiet."""
_MAX_CLICK_TENTHS = 2
"""Tenths of sound that do not end a quiet stretch: a click, a turned page."""


def levels(energies: NDArray[np.float64]) -> bytes:
    """Encodes mean energies of tenths of a second in steps of half a dB, a byte each."""
    decibels = 10 * np.log10(np.maximum(energies, 10 ** (LOWEST_LEVEL / 10)))
    return np.clip(np.rint((decibels - LOWEST_LEVEL) * 2), 0, 255).astype(np.uint8).tobytes()


def decibels(tenths: bytes) -> NDArray[np.float32]:
    """Decodes the output of `levels` to dB."""
    return (np.frombuffer(tenths, np.uint8) / 2 + LOWEST_LEVEL).astype(np.float32)


def longest_quiet(tenths: bytes) -> tuple[float, float]:
    """Returns length and start, in seconds, of the longest stretch without any sound but that of a
    room.

    Stretches at the edges count.
    """
    tenth_levels = decibels(tenths)
    audible_levels = tenth_levels[tenth_levels > -70]
    if not len(audible_levels):
        return 0.0, 0.0
    loud_level, floor_level = (
        float(np.percentile(audible_levels, 95)),
        float(np.percentile(tenth_levels, 1)),
    )
    room_level = min(
        floor_level + _ROOM_SHARE * (loud_level - floor_level), loud_level - _NEVER_QUIET_WITHIN
    )
    is_quiet = tenth_levels < max(loud_level - _QUIET_BELOW_SPEECH, room_level)
    longest, begin, end = (0, 0), 0, -_MAX_CLICK_TENTHS - 1
    for start, stop in find_runs(is_quiet).tolist():
        if start - end > _MAX_CLICK_TENTHS:
            begin = start
        end = stop
        longest = max(longest, (end - begin, -begin))
    return longest[0] * TENTH_SECONDS, -longest[1] * TENTH_SECONDS


_DIGITAL_LEVEL = -95.0
"""dB below which there is not even room noise."""
_MIN_HOLE_TENTHS = 8
"""Tenths of digital silence from which on it is a hole in a recording with room tone."""
_MIN_ROOM_TONE_TENTHS = 10
"""Tenths of room tone that a recording must have for that."""


def hole(tenths: bytes) -> tuple[float, float] | None:
    """Returns length and start, in seconds, of the longest digital silence in a recording with room
    tone.

    None where there is none, and where pauses are digital throughout.
    """
    tenth_levels = decibels(tenths)
    is_digital = tenth_levels < _DIGITAL_LEVEL
    if not is_digital.any() or is_digital.all():
        return None
    loud_level = float(np.percentile(tenth_levels[~is_digital], 95))
    room_tone_count = np.count_nonzero(~is_digital & (tenth_levels < loud_level - 35))
    inner_silences = [
        (stop - start, start)
        for start, stop in find_runs(is_digital).tolist()
        if start > 0 and stop < len(tenth_levels) and stop - start >= _MIN_HOLE_TENTHS
    ]
    if not inner_silences or room_tone_count < _MIN_ROOM_TONE_TENTHS or len(inner_silences) > 3:
        return None
    length, start = max(inner_silences)
    return length * TENTH_SECONDS, start * TENTH_SECONDS
