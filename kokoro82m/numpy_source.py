"""The source in NumPy, as `source.py` and `stft.py` have it: F0 and noise -> signal -> spectrum."""

from __future__ import annotations

import numpy as np

from kokoro82m import windows
from kokoro82m.config import OVERLAPS
from kokoro82m.phases import AMPLITUDE, STEP_SAMPLES, UNVOICED_NOISE, VOICED_NOISE, find_phases


def make_signal(
    pitch: np.ndarray, noise: np.ndarray, weight: np.ndarray, bias: np.ndarray
) -> np.ndarray:
    """F0 in Hz (steps,) and noise (300 * steps,) as `draw_noise` makes it -> (300 * steps,).

    `weight` (9,) and `bias` (1,) are those of the layer that adds up the sines.
    """
    phases = find_phases(pitch[None], [len(pitch)])
    half = STEP_SAMPLES // 2
    part = ((np.arange(half, dtype=np.float32) + 0.5) / STEP_SAMPLES)[:, None]
    turns = phases.starts[0][:, None] + phases.slopes[0][:, None] * part  # (2 * steps, 150, 9)
    turns -= np.floor(turns)
    turns *= np.float32(2 * np.pi)
    voiced = phases.voiced[0][:, None]
    sines = AMPLITUDE * voiced * (np.sin(turns, out=turns) @ weight) + bias
    loudness = voiced * VOICED_NOISE + (1 - voiced) * UNVOICED_NOISE
    scaled = noise.reshape(sines.shape) * np.linalg.norm(weight)
    return np.tanh(sines + scaled * loudness).astype(np.float32).reshape(-1)


def analyse(samples: np.ndarray, n_fft: int) -> np.ndarray:
    """(n,) -> magnitudes, then phases (n_fft + 2, n / hop + 1), of centred windows.

    At DC and Nyquist the imaginary part is +0: the phase of a negative number is pi, never -pi.
    """
    hop, bins = n_fft // OVERLAPS, n_fft // 2 + 1
    padded = np.pad(samples, n_fft // 2, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, n_fft)[::hop]
    parts = windows.analysis(n_fft).astype(np.float32).T @ frames.T
    real, imaginary = parts[:bins], parts[bins:]
    imaginary[[0, -1]] = 0  # the matrix has zeros there, whose products may be -0
    return np.concatenate([np.hypot(real, imaginary), np.arctan2(imaginary, real)])
