"""Spectra of tenths of a second, to tell whether two stretches of sound are the same, however
coded.

Levels alone are no fingerprint: any two short readings go up and down alike. Each tenth of a second
has the levels of a dozen bands, and stretches are alike where these move together, band by band,
around their own means. The limits were chosen on speech of the draft voice through MP3, AAC, Opus
and FLAC; see benchmarks/folders.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy import fft
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from narrator.sound.audio import Samples, find_runs
from narrator.sound.meters import TENTH_SECONDS, encode_levels

BANDS = 12
_BAND_EDGES = np.geomspace(100, 3800, BANDS + 1)
"""Hz; the sample rates of all speech reach that far."""
_LOWEST_LEVEL = -100.0
_LEVEL_RANGE = 45.0
"""dB below a band's loudest twentieth at which levels are cut off: below lie room, coders and
dither."""
_ACTIVE_SHARE = 0.3
"""Share of that range above which the mean level of all bands counts as sound."""
MIN_TENTHS = 30
"""Least number of tenths with sound for a comparison of two stretches."""
SAME_SOUND_LIKENESS = 0.85
"""Likeness from which on files hold the same sound. Measured: coded twice, and begun up to 30 ms
earlier, 0.87 and more (0.72 at 50 ms); different texts of one voice 0.12 and less."""


@dataclass(slots=True)
class SpectrumMeter:
    """Measures the spectra of blocks, over two tenths of a second at every tenth, so that it
    matters little at which part of a tenth a sound begins. Takes 12 bytes a tenth."""

    rate: int
    levels: bytearray = field(default_factory=bytearray)
    _leftover: Samples = field(default_factory=lambda: np.zeros(0, np.float32))

    def feed(self, block: Samples) -> None:
        """Measures the next block."""
        sound = np.concatenate([self._leftover, block if block.ndim == 1 else block.mean(axis=1)])
        tenth_samples = self.rate // 10
        frame_samples = 2 * tenth_samples
        frame_count = len(sound) // tenth_samples - 1
        if frame_count < 1:
            self._leftover = sound
            return
        self._leftover = sound[frame_count * tenth_samples :]
        frames = sliding_window_view(sound, frame_samples)[::tenth_samples][:frame_count]
        window = np.hanning(frame_samples).astype(np.float32)
        power = np.abs(fft.rfft(frames * window, axis=1)) ** 2
        band_bins = np.searchsorted(fft.rfftfreq(frame_samples, 1 / self.rate), _BAND_EDGES)
        sums = np.concatenate([np.zeros((frame_count, 1)), np.cumsum(power, axis=1)], axis=1)
        band_powers = (sums[:, band_bins[1:]] - sums[:, band_bins[:-1]]) / tenth_samples**2
        self.levels += encode_levels(band_powers, _LOWEST_LEVEL)


@dataclass(frozen=True, slots=True)
class Spectra:
    """The spectra of a file, prepared for comparison."""

    bands: NDArray[np.float32]
    """(tenths, BANDS), relative to the mean of each band where there is sound."""
    active: NDArray[np.bool_]
    """True for tenths with sound."""

    @classmethod
    def of(cls, levels: bytes) -> Spectra:
        """Builds them from the levels of a `SpectrumMeter`."""
        decibels = (np.frombuffer(levels, np.uint8).reshape(-1, BANDS) / 2).astype(np.float32)
        if not len(decibels):
            return cls(decibels, np.zeros(0, bool))
        lowest = np.percentile(decibels, 95, axis=0).astype(np.float32) - np.float32(_LEVEL_RANGE)
        bands = np.maximum(decibels, lowest)
        active = (bands - lowest).mean(axis=1) > _ACTIVE_SHARE * _LEVEL_RANGE
        mean = bands[active].mean(axis=0) if active.any() else bands.mean(axis=0)
        return cls((bands - mean).astype(np.float32), active)

    def part(self, start_seconds: float, stop_seconds: float) -> Spectra:
        """Returns the part between two positions."""
        first, stop = (
            max(0, round(seconds / TENTH_SECONDS)) for seconds in (start_seconds, stop_seconds)
        )
        return Spectra(self.bands[first:stop], self.active[first:stop])

    def from_tenth(self, first: int) -> Spectra:
        """Returns the part from a tenth on; all of it for a negative one."""
        return Spectra(self.bands[max(0, first) :], self.active[max(0, first) :])

    def __len__(self) -> int:
        return len(self.bands)


def likeness(first: Spectra, second: Spectra) -> float:
    """Returns how alike two stretches are that begin together, from -1 to 1.

    0 for stretches that are too short or have too little sound.
    """
    count = min(len(first), len(second))
    is_active = first.active[:count] | second.active[:count]
    if np.count_nonzero(is_active) < MIN_TENTHS:
        return 0.0
    first_bands, second_bands = first.bands[:count][is_active], second.bands[:count][is_active]
    norm = float(np.sqrt(np.sum(first_bands**2) * np.sum(second_bands**2)))
    return float(np.sum(first_bands * second_bands)) / norm if norm else 0.0


_MAX_SHIFT = 5
"""Tenths by which two stretches may begin apart."""


def best_shift(first: Spectra, second: Spectra) -> tuple[int, float]:
    """Returns the shift by which `second` begins later than `first` where they are most alike, in
    tenths, and their likeness there."""
    candidates = [
        (likeness(first.from_tenth(-shift), second.from_tenth(shift)), -abs(shift), shift)
        for shift in range(-_MAX_SHIFT, _MAX_SHIFT + 1)
    ]
    best_likeness, _, shift = max(candidates)
    return shift, best_likeness


def alike(first: Spectra, second: Spectra) -> bool:
    """Returns whether two files hold the same sound and have the same length."""
    if abs(len(first) - len(second)) > max(10, 0.005 * len(first)):
        return False
    return best_shift(first, second)[1] > SAME_SOUND_LIKENESS


_WINDOW_TENTHS = 10
"""Tenths that are compared together."""
_DIFFERENT_LIKENESS = 0.4
"""Likeness below which a second is not the same sound."""


_OPENING_SECONDS = 30
"""Seconds by which two files are aligned."""


def first_difference(first: Spectra, second: Spectra) -> float | None:
    """Returns the second of the first file from which on it differs from the second file.

    None where they do not differ, or are too short to tell. Both should begin with the same sound.
    """
    if np.count_nonzero(first.active) < MIN_TENTHS:
        return None
    # for a start half a tenth later, spectra lie between those of `second`
    halfway = (second.bands[:-1] + second.bands[1:]) / np.float32(2)
    half_shifted = Spectra(halfway.astype(np.float32), second.active[:-1])
    opening = first.part(0, _OPENING_SECONDS)
    (shift, _), better = max(
        (
            (best_shift(opening, candidate.part(0, _OPENING_SECONDS)), candidate)
            for candidate in (second, half_shifted)
        ),
        key=lambda row: row[0][1],
    )
    first_aligned, second_aligned = first.from_tenth(-shift), better.from_tenth(shift)
    count = min(len(first_aligned), len(second_aligned))
    likenesses = _local_likeness(first_aligned, second_aligned, 0, count)
    is_active = first_aligned.active[:count] | second_aligned.active[:count]
    active_counts = _window_sums(is_active.astype(np.float64))
    is_different = (likenesses < _DIFFERENT_LIKENESS) & (active_counts >= _WINDOW_TENTHS / 2)
    if not is_different.any():
        return None
    return (int(is_different.argmax()) + max(0, -shift)) * TENTH_SECONDS


def _local_likeness(first: Spectra, second: Spectra, lag: int, count: int) -> NDArray[np.float64]:
    """Returns the likeness of each second of `first` to that `lag` tenths later in `second`."""
    first_bands = first.bands[:count].astype(np.float64)
    second_bands = second.bands[lag : lag + count].astype(np.float64)
    products = _window_sums((first_bands * second_bands).sum(axis=1))
    first_squares = _window_sums((first_bands**2).sum(axis=1))
    second_squares = _window_sums((second_bands**2).sum(axis=1))
    return np.asarray(products / np.maximum(np.sqrt(first_squares * second_squares), 1e-9))


def _window_sums(series: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the sum of every `_WINDOW_TENTHS` consecutive numbers."""
    sums = np.concatenate([[0.0], np.cumsum(series)])
    return sums[_WINDOW_TENTHS:] - sums[: max(0, len(sums) - _WINDOW_TENTHS)]


# -- what comes twice ------------------------------------------------------------------------------

_MIN_REPEAT_TENTHS, _MAX_REPEAT_TENTHS = 8, 60
"""Shortest and longest passage, in tenths, that is searched for an immediate repetition."""
_CANDIDATE_LIKENESS = 0.65
"""Likeness from which on a passage may be repeated; the samples themselves decide."""
_MAX_CANDIDATES = 300


def repeat_candidates(spectra: Spectra) -> list[tuple[float, float]]:
    """Returns passages that may be repeated at once, the likeliest first.

    Each has the second at which it begins, and the seconds after which it comes again. Repetitions
    after a pause do not count: a text may say things twice.
    """
    candidates: list[tuple[float, float, float]] = []  # likeness, start, seconds until the copy
    for lag in range(_MIN_REPEAT_TENTHS, min(_MAX_REPEAT_TENTHS, len(spectra) // 2) + 1):
        count = len(spectra) - lag
        likenesses = _local_likeness(spectra, spectra, lag, count)
        active_counts = _window_sums(spectra.active[:count].astype(np.float64))
        is_alike = (likenesses > _CANDIDATE_LIKENESS) & (active_counts >= 0.6 * _WINDOW_TENTHS)
        for start, stop in find_runs(is_alike).tolist():
            length = stop - start + _WINDOW_TENTHS - 1
            if 0.5 * lag <= length <= 1.7 * lag + 5:  # about as long as its copy is late
                best_likeness = float(likenesses[start:stop].max())
                passage_start = (start + (length - lag) / 2) * TENTH_SECONDS
                candidates.append((best_likeness, passage_start, lag * TENTH_SECONDS))
    distinct: list[tuple[float, float]] = []
    for _, start, period in sorted(candidates, reverse=True):
        if all(
            abs(start - other_start) > 1 or abs(period - other_period) > 0.25
            for other_start, other_period in distinct
        ):
            distinct.append((max(0.0, start), period))
    return distinct[:_MAX_CANDIDATES]


COPY_CORRELATION = 0.85
"""Correlation of a passage with its copy, through any coder; that of words spoken twice is at most
0.6."""


def find_repeated(sound: Samples, rate: int, lag_seconds: float) -> tuple[float, float] | None:
    """Returns start and length, in seconds, of a passage that is repeated at once.

    It ends, and its copy begins, near the middle of `sound`; `lag_seconds` is about how much later
    the copy begins. None where there is no copy, where the passage repeats more than twice, as in
    music, and where a pause parts the two.
    """
    # low frequencies alone: the copy may lie between two samples
    sound = np.convolve(sound, np.full(max(1, rate // 1600), 1600 / rate, np.float32), "same")
    margin, lag_samples = round(0.15 * rate), round(lag_seconds * rate)
    step_samples = round(0.02 * rate)
    # the middle half of the passage is searched for where its copy should be
    probe_start = max(0, len(sound) // 2 - lag_samples + lag_samples // 4)
    probe = sound[probe_start : probe_start + lag_samples // 2]
    search_start = probe_start + lag_samples - margin
    search_area = sound[search_start : search_start + len(probe) + 2 * margin]
    if len(search_area) < len(probe) + margin or not probe.any():
        return None
    fft_size = 1 << (len(search_area) + len(probe)).bit_length()
    spectrum = fft.rfft(search_area, fft_size) * np.conj(fft.rfft(probe, fft_size))
    products = fft.irfft(spectrum, fft_size)[: len(search_area) - len(probe) + 1]
    energies = np.concatenate([[0.0], np.cumsum(search_area.astype(np.float64) ** 2)])
    norms = np.sqrt((energies[len(probe) :] - energies[: -len(probe)]) * np.sum(probe**2))
    correlation = products / np.maximum(norms, 1e-9)
    best_offset = int(np.argmax(correlation))
    if correlation[best_offset] < COPY_CORRELATION:
        return None
    period = search_start + best_offset - probe_start
    step_count = (len(sound) - period) // step_samples
    original, copy = (
        sound[start:][: step_count * step_samples]
        .reshape(step_count, step_samples)
        .astype(np.float64)
        for start in (0, period)
    )
    power_sums = (original**2).sum(axis=1) + (copy**2).sum(axis=1)
    is_same = ((original - copy) ** 2).sum(axis=1) <= 0.2 * power_sums + 1e-9
    # the passage grows from the probe in both directions, over single steps that differ
    probe_step = (probe_start + len(probe) // 2) // step_samples
    first_step, last_step = probe_step, probe_step
    while first_step > 0 and is_same[first_step - 1 : first_step + 2].any():
        first_step -= 1
    while last_step < step_count - 1 and is_same[last_step - 1 : last_step + 2].any():
        last_step += 1
    if not 0.7 * period <= (last_step - first_step) * step_samples <= 1.4 * period:
        return None
    seam = first_step * step_samples + period
    seam_power = float(np.mean(sound[seam - 2 * step_samples : seam + 2 * step_samples] ** 2))
    if seam_power < 0.01 * float(np.mean(probe.astype(np.float64) ** 2)):
        return None  # a pause
    return first_step * step_samples / rate, period / rate
