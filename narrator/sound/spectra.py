"""Spectra of tenths of a second: whether two stretches of sound are the same, however coded.

Levels alone are no fingerprint: any two short readings go up and down alike. Here each tenth of a
second has the levels of a dozen bands, and stretches are alike where these go together, band by
band, around their own means. Figures were chosen on speech of the draft voice through MP3, AAC,
Opus and FLAC; see tests/bench/folders.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from narrator.sound.audio import Samples

BANDS = 12
TENTH = 0.1
_EDGES = np.geomspace(100, 3800, BANDS + 1)
"""Hz; all rates of speech reach so far."""
_LOWEST = -100.0
_RANGE = 45.0
"""dB under a band's loudest twentieth at which levels end: below lie room, coders and dither."""
LEAST = 30
"""Tenths that two stretches need to be told to be the same."""
ALIKE = 0.85
"""Likeness from which on files hold the same sound. Measured: coded twice, and begun up to 30 ms
earlier, 0.87 and more (0.72 at 50 ms); different texts of one voice 0.12 and less."""


@dataclass(slots=True)
class SpectrumMeter:
    """Takes the spectra of blocks that pass, of two tenths of a second at every tenth, so that it
    matters little at which part of a tenth a sound begins. 12 bytes a tenth."""

    rate: int
    levels: bytearray = field(default_factory=bytearray)
    _rest: Samples = field(default_factory=lambda: np.zeros(0, np.float32))

    def feed(self, block: Samples) -> None:
        sound = np.concatenate([self._rest, block if block.ndim == 1 else block.mean(axis=1)])
        size = self.rate // 10
        count = len(sound) // size - 1
        if count < 1:
            self._rest = sound
            return
        self._rest = sound[count * size :]
        frames = sliding_window_view(sound, 2 * size)[: count * size : size]
        window = np.hanning(2 * size).astype(np.float32)
        power = np.abs(np.fft.rfft(frames * window, axis=1)) ** 2
        bounds = np.searchsorted(np.fft.rfftfreq(2 * size, 1 / self.rate), _EDGES)
        sums = np.concatenate([np.zeros((count, 1)), np.cumsum(power, axis=1)], axis=1)
        bands = (sums[:, bounds[1:]] - sums[:, bounds[:-1]]) / size**2
        decibels = 10 * np.log10(np.maximum(bands, 10 ** (_LOWEST / 10)))
        self.levels += np.clip(np.rint((decibels - _LOWEST) * 2), 0, 255).astype(np.uint8).tobytes()


@dataclass(frozen=True, slots=True)
class Spectra:
    """The spectra of a file, ready to be compared."""

    bands: NDArray[np.float32]
    """(tenths, BANDS), around the mean of each band where there is sound."""
    active: NDArray[np.bool_]
    """Tenths in which there is sound."""

    @classmethod
    def of(cls, levels: bytes) -> Spectra:
        """From what a `SpectrumMeter` took."""
        decibels = (np.frombuffer(levels, np.uint8).reshape(-1, BANDS) / 2).astype(np.float32)
        if not len(decibels):
            return cls(decibels, np.zeros(0, bool))
        loudest = np.percentile(decibels, 95, axis=0).astype(np.float32)
        bands = np.maximum(decibels, loudest - np.float32(_RANGE))
        heights = bands - (loudest - _RANGE)
        active = heights.mean(axis=1) > 0.3 * _RANGE
        mean = bands[active].mean(axis=0) if active.any() else bands.mean(axis=0)
        return cls((bands - mean).astype(np.float32), active)

    def part(self, start: float, stop: float) -> Spectra:
        """From one second to another."""
        cut = slice(max(0, round(start / TENTH)), max(0, round(stop / TENTH)))
        return Spectra(self.bands[cut], self.active[cut])

    def __len__(self) -> int:
        return len(self.bands)


def likeness(one: Spectra, other: Spectra) -> float:
    """How alike two stretches are that begin together, from -1 to 1; 0 of what is too short or has
    too little sound."""
    count = min(len(one), len(other))
    heard = one.active[:count] | other.active[:count]
    if np.count_nonzero(heard) < LEAST:
        return 0.0
    a, b = one.bands[:count][heard], other.bands[:count][heard]
    norm = float(np.sqrt(np.sum(a**2) * np.sum(b**2)))
    return float(np.sum(a * b)) / norm if norm else 0.0


def best_shift(one: Spectra, other: Spectra, most: int = 5) -> tuple[int, float]:
    """Tenths by which `other` begins later than `one` where both are the most alike, and how much
    that is."""
    found = []
    for shift in range(-most, most + 1):
        a = Spectra(one.bands[max(0, -shift) :], one.active[max(0, -shift) :])
        b = Spectra(other.bands[max(0, shift) :], other.active[max(0, shift) :])
        found.append((likeness(a, b), -abs(shift), shift))
    like, _, shift = max(found)
    return shift, like


def alike(one: Spectra, other: Spectra) -> bool:
    """Whether two files hold the same sound, and are as long."""
    if abs(len(one) - len(other)) > max(10, 0.005 * len(one)):
        return False
    return best_shift(one, other)[1] > ALIKE


_WINDOW = 10
"""Tenths that are compared together."""
_UNLIKE = 0.4
"""Likeness of a second that is not the same sound."""


def first_difference(one: Spectra, other: Spectra) -> float | None:
    """Seconds into `one` from where on it is not what `other` is; None where it is throughout, or
    is too short to tell.

    Both are expected to begin with the same sound.
    """
    if np.count_nonzero(one.active) < LEAST:
        return None
    # where it begins half a tenth later, its spectra lie between those of `other`
    halfway = (other.bands[:-1] + other.bands[1:]) / np.float32(2)
    between = Spectra(halfway.astype(np.float32), other.active[:-1])
    first = one.part(0, 30)
    other = max(other, between, key=lambda begun: best_shift(first, begun.part(0, 30))[1])
    shift, _ = best_shift(first, other.part(0, 30))
    skipped = max(0, -shift)
    a = Spectra(one.bands[skipped:], one.active[skipped:])
    b = Spectra(other.bands[max(0, shift) :], other.active[max(0, shift) :])
    count = min(len(a), len(b))
    like = _local_likeness(a, b, 0, count)
    heard = _sums((a.active[:count] | b.active[:count]).astype(np.float64))
    places = np.flatnonzero((like < _UNLIKE) & (heard >= _WINDOW / 2))
    if len(places):
        return (int(places[0]) + skipped) * TENTH
    return None


def _local_likeness(a: Spectra, b: Spectra, lag: int, count: int) -> NDArray[np.float64]:
    """Likeness of each second of `a` and of what is in `b` by `lag` tenths later."""
    x, y = a.bands[:count].astype(np.float64), b.bands[lag : lag + count].astype(np.float64)
    products, left, right = ((x * y).sum(1), (x * x).sum(1), (y * y).sum(1))
    norms = np.sqrt(_sums(left) * _sums(right))
    return np.asarray(_sums(products) / np.maximum(norms, 1e-9))


def _sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Over each `_WINDOW` that lies in them."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    return total[_WINDOW:] - total[:-_WINDOW] if len(values) >= _WINDOW else np.zeros(0)


# -- what comes twice ------------------------------------------------------------------------------

_SHORTEST, _LONGEST = 8, 60
"""Tenths of a passage that is looked for twice in a row."""
_CANDIDATE = 0.65
"""Likeness from which on a passage may be there twice: the sound itself decides."""


def repeat_candidates(spectra: Spectra, most: int = 300) -> list[tuple[float, float]]:
    """Where a passage may come twice in a row, the likeliest first: the second at which it begins,
    and the seconds after which it comes again. Passages that are parted by a pause are none: a text
    may say things twice."""
    found: list[tuple[float, float, float]] = []
    for lag in range(_SHORTEST, min(_LONGEST, len(spectra) // 2) + 1):
        count = len(spectra) - lag
        like = _local_likeness(spectra, spectra, lag, count)
        heard = _sums(spectra.active[:count].astype(np.float64))
        good = (like > _CANDIDATE) & (heard >= 0.6 * _WINDOW)
        edges = np.flatnonzero(np.diff(np.concatenate([[False], good, [False]])))
        for start, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            length = stop - start + _WINDOW - 1
            if 0.5 * lag <= length <= 1.7 * lag + 5:
                peak = float(like[start:stop].max())
                found.append((peak, (start + (length - lag) / 2) * TENTH, lag * TENTH))
    found.sort(reverse=True)
    kept: list[tuple[float, float]] = []
    for _, start, after in found:
        if all(abs(start - s) > 1 or abs(after - n) > 0.25 for s, n in kept):
            kept.append((max(0.0, start), after))
    return kept[:most]


EXACT = 0.85
"""Correlation of a passage with its copy, through any coder; of words that are said twice it is at
most 0.6."""


def repeated(sound: Samples, rate: int, lag: float) -> tuple[float, float] | None:
    """Where in a short piece of sound a passage comes twice in a row, as it is said to do after
    about `lag` seconds: second and length of the passage. None where it does not, where it goes on
    and on, as music does, and where a pause parts the two."""
    # low frequencies alone: the copy may lie between two samples
    sound = np.convolve(sound, np.full(max(1, rate // 1600), 1600 / rate, np.float32), "same")
    around, size = round(0.15 * rate), round(lag * rate)
    step = round(0.02 * rate)
    middle = len(sound) // 2 - size  # of the first passage, about
    probe = sound[max(0, middle + size // 4) : max(0, middle + size // 4) + size // 2]
    first = max(0, middle + size // 4)
    low = first + size - around
    place = sound[low : low + len(probe) + 2 * around]
    if len(place) < len(probe) + around or not probe.any():
        return None
    points = 1 << (len(place) + len(probe)).bit_length()
    spectrum = np.fft.rfft(place, points) * np.conj(np.fft.rfft(probe, points))
    products = np.fft.irfft(spectrum, points)[: len(place) - len(probe) + 1]
    energies = np.concatenate([[0.0], np.cumsum(place.astype(np.float64) ** 2)])
    norms = np.sqrt((energies[len(probe) :] - energies[: -len(probe)]) * np.sum(probe**2))
    correlation = products / np.maximum(norms, 1e-9)
    best = int(np.argmax(correlation))
    if correlation[best] < EXACT:
        return None
    exact = low + best - first
    count = (len(sound) - exact) // step
    one = sound[: count * step].reshape(count, step).astype(np.float64)
    two = sound[exact : exact + count * step].reshape(count, step).astype(np.float64)
    power = (one**2).sum(1) + (two**2).sum(1)
    same = ((one - two) ** 2).sum(1) <= 0.2 * power + 1e-9
    here = (first + len(probe) // 2) // step
    begin, end = here, here
    while begin > 0 and same[begin - 1 : begin + 2].any():
        begin -= 1
    while end < count - 1 and same[end - 1 : end + 2].any():
        end += 1
    if not 0.7 * exact <= (end - begin) * step <= 1.4 * exact:
        return None
    seam = begin * step + exact
    joint = float(np.mean(sound[seam - 2 * step : seam + 2 * step] ** 2))
    if joint < 0.01 * float(np.mean(probe.astype(np.float64) ** 2)):
        return None
    return begin * step / rate, exact / rate
