"""Fixed matrices of short-time Fourier transforms. Loads no MLX."""

from __future__ import annotations

import numpy as np


def hann(n_fft: int) -> np.ndarray:
    """A periodic Hann window (n_fft,)."""
    return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n_fft) / n_fft)


def analysis(n_fft: int) -> np.ndarray:
    """(n_fft, n_fft + 2): a window's samples to its real, then its imaginary parts."""
    return hann(n_fft)[:, None] * _waves(n_fft)


def synthesis(n_fft: int) -> np.ndarray:
    """(n_fft, n_fft + 2): from these parts to samples, windowed again."""
    twice = np.full(n_fft // 2 + 1, 2.0)
    twice[[0, -1]] = 1
    return analysis(n_fft) * np.tile(twice, 2) / n_fft


def _waves(n_fft: int) -> np.ndarray:
    """(n_fft, n_fft + 2): cosines and negative sines; the first and the last sine are exactly 0."""
    bins = n_fft // 2 + 1
    angles = 2 * np.pi * np.outer(np.arange(n_fft), np.arange(bins)) / n_fft
    sines = np.sin(angles)
    sines[:, [0, -1]] = 0
    return np.concatenate([np.cos(angles), -sines], axis=1)
