"""Measures two faults that levels do not show: tops that were cut flat, at any level, and long
quiet.

One pass in bounded memory: a histogram for the current half minute, and a byte for each tenth of a
second. The limits were chosen on speech of the draft voice, plain, limited by 12 dB, saturated and
clipped, as PCM and through MP3, AAC and Opus of 48 to 192 kbit/s.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import NDArray

from narrator.sound.audio import SILENCE, Samples, find_runs

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
    _channels: dict[int, _Channel] = field(default_factory=dict)

    def feed(self, block: Samples) -> None:
        """Measures the next block."""
        for number, samples in enumerate(block.reshape(len(block), -1).T):
            channel = self._channels.setdefault(number, _Channel())
            if lobes := channel.ended_lobes(samples, max_length=self.rate // 10):
                self._count_flat_lobes(channel, lobes)

    def finish(self) -> None:
        """Ends the last segment of every channel."""
        for channel in self._channels.values():
            self._finish_segment(channel)

    def _count_flat_lobes(self, channel: _Channel, lobes: _Lobes) -> None:
        """Adds lobes to the histograms of their segments."""
        is_flat = lobes.are_flat(corners=not self.coarse)
        peak_levels = np.clip(
            (20 * np.log10(lobes.peaks) + 40) / _LEVEL_STEP, 0, _LEVEL_COUNT - 1
        ).astype(np.int64)
        segments = lobes.starts // (SEGMENT_SECONDS * self.rate)
        for segment in np.unique(segments).tolist():
            if segment != channel.segment:
                self._finish_segment(channel)
                channel.segment = segment
            is_in_segment = segments == segment
            is_flat_here = is_in_segment & is_flat
            channel.lobe_counts += np.bincount(peak_levels[is_in_segment], minlength=_LEVEL_COUNT)
            channel.flat_counts += np.bincount(peak_levels[is_flat_here], minlength=_LEVEL_COUNT)
            if channel.first_flat is None and bool(is_flat_here.any()):
                channel.first_flat = int(lobes.starts[is_flat_here][0])

    def _finish_segment(self, channel: _Channel) -> None:
        """Adds the faulty lobes of a segment to the count, and clears its histograms."""
        window = np.ones(_LEVEL_WINDOW, np.int64)
        lobe_counts = np.convolve(channel.lobe_counts, window, "valid")
        flat_counts = np.convolve(channel.flat_counts, window, "valid")
        loudest_level = int(np.flatnonzero(channel.lobe_counts)[-1]) if lobe_counts.any() else 0
        flat_counts[: max(0, loudest_level - _LEVELS_BELOW_LOUDEST)] = 0
        is_fault = (flat_counts >= _MIN_FLAT_COUNT) & (flat_counts >= _MIN_FLAT_SHARE * lobe_counts)
        if is_fault.any() and channel.first_flat is not None:
            if not self.count or channel.first_flat / self.rate < self.first_second:
                self.first_second = channel.first_flat / self.rate
            self.count += int(flat_counts[is_fault].max())
        channel.lobe_counts[:] = channel.flat_counts[:] = 0
        channel.first_flat = None


@dataclass(slots=True)
class _Channel:
    """The state of a channel: its histograms of the current segment, and the unfinished lobe."""

    segment: int = 0
    first_flat: int | None = None
    """First sample of the first flat lobe of the segment."""
    lobe_counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(_LEVEL_COUNT, np.int64))
    """Lobes of the segment by the level of their peak."""
    flat_counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(_LEVEL_COUNT, np.int64))
    """Those of them that are flat."""
    _leftover: Samples = field(default_factory=lambda: np.zeros(0, np.float32))
    _leftover_start: int = 0
    """Position of `_leftover` in the file, in samples."""
    _is_too_long: bool = False
    """True while the current lobe is too long to be one; its start was dropped."""

    def ended_lobes(self, samples: Samples, *, max_length: int) -> _Lobes | None:
        """Returns the lobes that end within the next samples of the channel, if any do.

        Leaves out the quietest, and those of more than `max_length` samples.
        """
        sound = np.concatenate([self._leftover, samples])
        sound_start, is_negative = self._leftover_start, sound < 0
        crossings = np.flatnonzero(is_negative[1:] != is_negative[:-1]) + 1
        ended_length = int(crossings[-1]) if len(crossings) else 0
        is_first_too_long = self._is_too_long
        if ended_length:
            self._is_too_long = False
        self._leftover, self._leftover_start = sound[ended_length:], sound_start + ended_length
        if len(self._leftover) > max_length:
            self._leftover, self._leftover_start = self._leftover[-1:], sound_start + len(sound) - 1
            self._is_too_long = True
        if not ended_length:
            return None
        lobe_starts = np.concatenate([[0], crossings[:-1]])
        lobes = _Lobes.of(np.abs(sound[:ended_length]), lobe_starts, max_length, sound_start)
        return lobes.without(sound_start) if is_first_too_long else lobes


@dataclass(frozen=True, slots=True)
class _Lobes:
    """Lobes that are loud enough, in order; an element of every array for each."""

    starts: NDArray[np.int64]
    """First samples, counted in the file."""
    peaks: NDArray[np.float32]
    top_counts: NDArray[np.int64]
    """Samples above `_TOP_SHARE` of the peak."""
    wide_counts: NDArray[np.int64]
    """Samples above `_WIDTH_SHARE` of the peak."""
    equal_counts: NDArray[np.int64]
    """Samples within `_EQUAL_STEP` of the peak."""
    knee_counts: NDArray[np.int64]
    """Samples above `_KNEE_SHARE` of the peak."""

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

    def without(self, start: int) -> _Lobes:
        """Returns these lobes without the one that begins at sample `start`, if it is here."""
        is_other = self.starts != start
        return _Lobes(*(getattr(self, column.name)[is_other] for column in fields(self)))

    def are_flat(self, *, corners: bool) -> NDArray[np.bool_]:
        """Returns which lobes are flat; with `corners`, also those with a corner at their peak."""
        has_flat_top = self.top_counts >= _FLAT_SHARE * self.wide_counts
        has_corner = (self.equal_counts >= 3) & (self.knee_counts - self.equal_counts <= 1)
        has_corner &= self.peaks >= 3 * _MIN_PEAK
        return (self.wide_counts >= _MIN_LOBE_WIDTH) & has_flat_top | (has_corner & corners)


# -- quiet -----------------------------------------------------------------------------------------

TENTH_SECONDS = 0.1
_QUIET_BELOW_SPEECH = 26.0
"""dB below the loudest twentieth that count as quiet in any room: speech lies 5 to 8 below it."""
_ROOM_SHARE = 0.4
"""Share of the way from the floor up to that twentieth: in a noisy room, quiet lies below it."""
_NEVER_QUIET_WITHIN = 12.0
"""dB below that twentieth that never count as quiet."""
_MAX_CLICK_TENTHS = 2
"""Tenths of sound that do not end a quiet stretch: a click, a turned page."""


def encode_levels(powers: NDArray[np.float64], lowest_db: float = SILENCE) -> bytes:
    """Encodes mean powers as dB over `lowest_db`, in steps of half a dB, a byte each."""
    decibels = 10 * np.log10(np.maximum(powers, 10 ** (lowest_db / 10)))
    return np.clip(np.rint((decibels - lowest_db) * 2), 0, 255).astype(np.uint8).tobytes()


def _decode_levels(encoded_levels: bytes) -> NDArray[np.float32]:
    """Decodes the output of `encode_levels` to dB."""
    return (np.frombuffer(encoded_levels, np.uint8) / 2 + SILENCE).astype(np.float32)


def longest_quiet(encoded_levels: bytes) -> tuple[float, float]:
    """Returns length and start, in seconds, of the longest stretch without any sound but that of a
    room.

    `encoded_levels` are those of every tenth of a second. Stretches at the edges count.
    """
    tenth_levels = _decode_levels(encoded_levels)
    audible_levels = tenth_levels[tenth_levels > -70]
    if not len(audible_levels):
        return 0.0, 0.0
    loud_level = float(np.percentile(audible_levels, 95))
    floor_level = float(np.percentile(tenth_levels, 1))
    room_level = min(
        floor_level + _ROOM_SHARE * (loud_level - floor_level), loud_level - _NEVER_QUIET_WITHIN
    )
    is_quiet = tenth_levels < max(loud_level - _QUIET_BELOW_SPEECH, room_level)
    stretches: list[tuple[int, int]] = []  # start and stop of each, in tenths
    for run_start, run_stop in find_runs(is_quiet).tolist():
        if stretches and run_start - stretches[-1][1] <= _MAX_CLICK_TENTHS:
            stretches[-1] = stretches[-1][0], run_stop
        else:
            stretches.append((run_start, run_stop))
    start, stop = max(stretches, key=lambda stretch: stretch[1] - stretch[0], default=(0, 0))
    return (stop - start) * TENTH_SECONDS, start * TENTH_SECONDS


_DIGITAL_LEVEL = -95.0
"""dB below which there is not even room noise."""
_MIN_HOLE_TENTHS = 8
"""Tenths of digital silence from which on it is a hole in a recording with room tone."""
_MIN_ROOM_TONE_TENTHS = 10
"""Tenths of room tone that a recording must have for that."""
_ROOM_TONE_BELOW_SPEECH = 35.0
"""dB below the loudest twentieth from which on sound is room tone."""
_MAX_HOLES = 3
"""Digital silences of a recording, more of which are its way of making pauses."""


def longest_hole(encoded_levels: bytes) -> tuple[float, float] | None:
    """Returns length and start, in seconds, of the longest digital silence in a recording with room
    tone.

    `encoded_levels` are those of every tenth of a second. None where there is none, and where
    pauses are digital throughout.
    """
    tenth_levels = _decode_levels(encoded_levels)
    is_digital = tenth_levels < _DIGITAL_LEVEL
    if not is_digital.any() or is_digital.all():
        return None
    loud_level = float(np.percentile(tenth_levels[~is_digital], 95))
    room_tone_count = np.count_nonzero(
        ~is_digital & (tenth_levels < loud_level - _ROOM_TONE_BELOW_SPEECH)
    )
    inner_silences = [
        (stop - start, start)
        for start, stop in find_runs(is_digital).tolist()
        if start > 0 and stop < len(tenth_levels) and stop - start >= _MIN_HOLE_TENTHS
    ]
    if not 0 < len(inner_silences) <= _MAX_HOLES or room_tone_count < _MIN_ROOM_TONE_TENTHS:
        return None
    length, start = max(inner_silences)
    return length * TENTH_SECONDS, start * TENTH_SECONDS
