"""Two things that no level shows: tops that were cut flat, at any level, and long quiet.

In one pass, in bounded memory: a histogram for the half minute at hand, and a byte for each tenth
of a second. Figures were chosen on speech of the draft voice, plain, limited by 12 dB, saturated
and clipped, as PCM and through MP3, AAC and Opus of 48 to 192 kbit/s.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from narrator.sound.audio import Samples

# -- flat tops -------------------------------------------------------------------------------------

SEGMENT = 30
"""Seconds that are judged together."""
_TOP, _WIDE, _FLAT = 0.94, 0.70, 0.80
"""A lobe, between two crossings of zero, is flat where it is at `_TOP` of its peak for `_FLAT` of
the time that it is at `_WIDE`: a sine for 0.45 of it, a sine cut at half its height for 0.86."""
_WIDEST = 6
"""Samples that a lobe must be wide for its shape to be told."""
_EQUAL = 2 / 32768
"""What is nearer than two steps of 16 bits is equal: three samples at a peak, and none between
them and `_KNEE` of it but one, are a corner, which nothing that swings has."""
_KNEE = 0.995
_QUIETEST = 0.01
"""Of full scale: lower peaks are not looked at; corners, from three times that on."""
_STEP = 0.25
_BINS = 200
"""Levels of peaks, in steps of `_STEP` dB from -40 dB."""
_WINDOW = 4
"""Steps: what was clipped ends at one level, but for what a coder makes of it."""
_NEAR = 48
"""Steps under the loudest peak of its half minute."""
_LEAST = 8
_SHARE = 0.02
"""Flat lobes at one level that are a fault: so many, and so many of all at that level. Coders make
at most 0.003 of them flat, and saturation 0.018."""


@dataclass(slots=True)
class Flats:
    """Counts flat tops of one channel after the other."""

    rate: int
    coarse: bool = False
    """Of sound whose steps are wide, of 8 bits, corners mean nothing."""
    count: int = 0
    at: float = 0.0
    """Seconds of the first."""
    _samples: int = 0
    _channels: dict[int, _Channel] = field(default_factory=dict)

    def feed(self, block: Samples) -> None:
        for number, channel in enumerate(block.reshape(len(block), -1).T):
            state = self._channels.setdefault(number, _Channel())
            for lobes in state.lobes(channel, self.rate // 10):
                self._judge(state, lobes)
        self._samples += len(block)

    def finish(self) -> None:
        for state in self._channels.values():
            self._close(state)

    def _judge(self, state: _Channel, lobes: _Lobes) -> None:
        flat = lobes.flat(corners=not self.coarse)
        levels = np.clip((20 * np.log10(lobes.peaks) + 40) / _STEP, 0, _BINS - 1).astype(np.int64)
        segments = lobes.starts // (SEGMENT * self.rate)
        for segment in np.unique(segments).tolist():
            if segment != state.segment:
                self._close(state)
                state.segment = segment
            here = segments == segment
            state.all += np.bincount(levels[here], minlength=_BINS)
            state.flat += np.bincount(levels[here & flat], minlength=_BINS)
            if state.first is None and bool((here & flat).any()):
                state.first = int(lobes.starts[here & flat][0])

    def _close(self, state: _Channel) -> None:
        """The end of a half minute."""
        window = np.ones(_WINDOW, np.int64)
        every, flat = (np.convolve(rows, window, "valid") for rows in (state.all, state.flat))
        loudest = int(np.flatnonzero(state.all)[-1]) if state.all.any() else 0
        flat[: max(0, loudest - _NEAR)] = 0
        found = np.where((flat >= _LEAST) & (flat >= _SHARE * every), flat, 0)
        if found.any() and state.first is not None:
            if not self.count or state.first / self.rate < self.at:
                self.at = state.first / self.rate
            self.count += int(found.max())
        state.all[:] = state.flat[:] = 0
        state.first = None


@dataclass(slots=True)
class _Channel:
    """What is known of a channel up to here."""

    segment: int = 0
    first: int | None = None
    all: NDArray[np.int64] = field(default_factory=lambda: np.zeros(_BINS, np.int64))
    flat: NDArray[np.int64] = field(default_factory=lambda: np.zeros(_BINS, np.int64))
    _rest: Samples = field(default_factory=lambda: np.zeros(0, np.float32))
    _begin: int = 0
    """Of `_rest`, in samples of the file."""
    _broken: bool = False
    """Whether the lobe at hand is too long to be one; its begin was dropped."""

    def lobes(self, samples: Samples, longest: int) -> list[_Lobes]:
        """Those that have ended, but for the quietest and for what is longer than `longest`."""
        sound = np.concatenate([self._rest, samples])
        begin, below = self._begin, sound < 0
        starts = np.flatnonzero(below[1:] != below[:-1]) + 1
        last = int(starts[-1]) if len(starts) else 0
        broken, self._broken = self._broken, self._broken and not last
        self._rest, self._begin = sound[last:], begin + last
        if len(self._rest) > longest:
            self._rest, self._begin = self._rest[-1:], begin + len(sound) - 1
            self._broken = True
        if not last:
            return []
        starts = np.concatenate([[0], starts[:-1]])
        found = _Lobes.of(np.abs(sound[:last]), starts, longest, begin)
        return [found.after(begin) if broken else found]


@dataclass(frozen=True, slots=True)
class _Lobes:
    """Lobes that are loud enough, in order."""

    starts: NDArray[np.int64]
    """In samples of the file."""
    peaks: NDArray[np.float32]
    tops: NDArray[np.int64]
    wides: NDArray[np.int64]
    equals: NDArray[np.int64]
    knees: NDArray[np.int64]

    @classmethod
    def of(cls, high: Samples, starts: NDArray[np.int64], longest: int, begin: int) -> _Lobes:
        lengths = np.diff(np.concatenate([starts, [len(high)]]))
        peaks = np.maximum.reduceat(high, starts)
        each = np.repeat(peaks, lengths)

        def count(over: NDArray[np.bool_]) -> NDArray[np.int64]:
            return np.add.reduceat(over, starts, dtype=np.int64)

        good = (peaks >= _QUIETEST) & (lengths <= longest)
        rows = (high >= _TOP * each, high >= _WIDE * each, high >= each - _EQUAL,
                high >= _KNEE * each)  # fmt: skip
        return cls(starts[good] + begin, peaks[good], *(count(row)[good] for row in rows))

    def after(self, start: int) -> _Lobes:
        """Without the one that begins there."""
        one = slice(1 if len(self.starts) and self.starts[0] == start else 0, None)
        return _Lobes(self.starts[one], self.peaks[one], self.tops[one], self.wides[one],
                      self.equals[one], self.knees[one])  # fmt: skip

    def flat(self, *, corners: bool) -> NDArray[np.bool_]:
        shape = (self.wides >= _WIDEST) & (self.tops >= _FLAT * self.wides)
        corner = (self.equals >= 3) & (self.knees - self.equals <= 1)
        corner &= self.peaks >= 3 * _QUIETEST
        return shape | (corner & corners)


# -- quiet -----------------------------------------------------------------------------------------

TENTH = 0.1
LOWEST = -120.0
_UNDER = 26.0
"""dB under the loudest twentieth that are quiet in any room: speech lies 5 to 8 under it."""
_ROOM = 0.4
"""Of the way from the floor up to that twentieth: in a room with noise, quiet is what is nearer the
floor."""
_SPEECH = 12.0
"""dB under that twentieth that are never quiet."""
_CLICK = 2
"""Tenths of sound that do not end a quiet: a click, a page."""


def levels(energies: NDArray[np.float64]) -> bytes:
    """Mean energies of tenths of a second in steps of half a dB, a byte each."""
    decibels = 10 * np.log10(np.maximum(energies, 10 ** (LOWEST / 10)))
    return np.clip(np.rint((decibels - LOWEST) * 2), 0, 255).astype(np.uint8).tobytes()


def decibels(tenths: bytes) -> NDArray[np.float32]:
    """What `levels` made, in dB."""
    return (np.frombuffer(tenths, np.uint8) / 2 + LOWEST).astype(np.float32)


def longest_quiet(tenths: bytes) -> tuple[float, float]:
    """The longest stretch, edges too, in which there is no sound but that of a room; where it
    begins. Both in seconds."""
    found = decibels(tenths)
    heard = found[found > -70]
    if not len(heard):
        return 0.0, 0.0
    loud, floor = float(np.percentile(heard, 95)), float(np.percentile(found, 1))
    room = min(floor + _ROOM * (loud - floor), loud - _SPEECH)
    quiet = found < max(loud - _UNDER, room)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], quiet, [False]])))
    best, begin, end = (0, 0), 0, -_CLICK - 1
    for start, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        if start - end > _CLICK:
            begin = start
        end = stop
        best = max(best, (end - begin, -begin))
    return best[0] * TENTH, -best[1] * TENTH


_DIGITAL = -95.0
"""dB under which there is not even a room."""
_HOLE = 8
"""Tenths of digital silence that are a hole, where pauses have room tone."""
_ROOM_LEAST = 10
"""Tenths of room tone that a file must have for that."""


def hole(tenths: bytes) -> tuple[float, float] | None:
    """The longest digital silence within a file whose other pauses hold room tone: seconds, and
    where it begins. None where there is none, or where pauses are digital throughout."""
    found = decibels(tenths)
    digital = found < _DIGITAL
    if not digital.any() or digital.all():
        return None
    loud = float(np.percentile(found[~digital], 95))
    room = np.count_nonzero(~digital & (found < loud - 35))
    edges = np.flatnonzero(np.diff(np.concatenate([[False], digital, [False]])))
    inner = [
        (stop - start, start)
        for start, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
        if start > 0 and stop < len(found) and stop - start >= _HOLE
    ]
    if not inner or room < _ROOM_LEAST or len(inner) > 3:
        return None
    length, start = max(inner)
    return length * TENTH, start * TENTH
