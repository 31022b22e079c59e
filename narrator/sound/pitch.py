"""The pitch of a voice, by the autocorrelation of short frames."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FRAME_SECONDS = 0.05
"""Three periods of the lowest voice."""
_RANGE_HZ = (60.0, 450.0)
_MIN_LIKENESS = 0.5
"""Likeness of a voiced frame to itself a period later, 0 to 1."""
_OCTAVE_COST = 0.03
"""Likeness by which twice the period must be better: it is as like."""
_MIN_POWER = 1e-5
"""Mean square of a frame that is not silent."""


class PitchTracker:
    """Measures frames of sound at one sample rate."""

    def __init__(self, rate: int) -> None:
        self.frame_samples = round(FRAME_SECONDS * rate)
        shortest, longest = (round(rate / hertz) for hertz in reversed(_RANGE_HZ))
        self._periods = np.arange(shortest, longest)
        self._hertz = rate / self._periods
        self._costs = _OCTAVE_COST * np.log2(self._periods / shortest)
        self._window = np.hanning(self.frame_samples).astype(np.float32)
        window_correlation = self._correlate(self._window[np.newaxis])[0]
        self._window_likeness = window_correlation[self._periods] / window_correlation[0]

    def pitches(self, frames: NDArray[np.float32]) -> NDArray[np.float64]:
        """Returns the pitch of each row of (n, frame_samples), in Hz; NaN without a voice."""
        correlation = self._correlate(frames * self._window)
        power = np.maximum(correlation[:, :1], 1e-20)
        likeness = correlation[:, self._periods] / power / self._window_likeness
        best = np.argmax(likeness - self._costs, axis=1)
        best_likeness = np.take_along_axis(likeness, best[:, np.newaxis], axis=1)[:, 0]
        is_voiced = best_likeness > _MIN_LIKENESS
        is_voiced &= power[:, 0] > _MIN_POWER * np.square(self._window).sum()
        # at an end of the range likeness only grows towards a period that lies outside
        is_voiced &= (best > 0) & (best < len(self._periods) - 1)
        return np.where(is_voiced, self._hertz[best], np.nan)

    def _correlate(self, frames: NDArray[np.float32]) -> NDArray[np.float64]:
        """Returns the autocorrelation of each frame."""
        spectra = np.fft.rfft(frames, 2 * self.frame_samples, axis=1)
        # double precision: residues of coded silence are denormal floats, which are slow
        power = np.square(spectra.real, dtype=np.float64) + np.square(
            spectra.imag, dtype=np.float64
        )
        return np.fft.irfft(power, axis=1)
