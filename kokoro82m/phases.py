"""F0 -> phases of the source's sines. Loads no MLX.

Phases are counted in turns, in float64 and in NumPy: over a minute they reach 1e5, of which float32
would leave two digits. The official code adds a random start phase to the first sample alone, which
its resampling never reads, so there is none here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kokoro82m.config import FRAME_SAMPLES, HARMONICS, PITCH_STEPS, SAMPLE_RATE

THRESHOLD = 10.0  # Hz; above it a step is voiced
AMPLITUDE = 0.1  # of a sine
VOICED_NOISE, UNVOICED_NOISE = 0.003, AMPLITUDE / 3
STEP_SAMPLES = FRAME_SAMPLES // PITCH_STEPS


@dataclass(frozen=True, slots=True)
class Phases:
    """Phases of the sines, as straight lines over half steps of F0: a phase runs from the middle of
    a step to the middle of the next, and stands still before the first and after the last.

    starts  (B, 2 * steps, 9) float32: turns at the beginning of a half step
    slopes  (B, 2 * steps, 9) float32: turns in a whole step
    voiced  (B, 2 * steps) float32: 1 or 0
    """

    starts: np.ndarray
    slopes: np.ndarray
    voiced: np.ndarray


def find_phases(f0: np.ndarray, lengths: Sequence[int]) -> Phases:
    """Of F0 in Hz (B, steps), float32, of which each row has `lengths`; beyond that all is 0."""
    shape = (len(f0), 2 * f0.shape[1], HARMONICS)
    phases = Phases(
        np.zeros(shape, np.float32), np.zeros(shape, np.float32), np.zeros(shape[:2], np.float32)
    )
    for row, length in enumerate(lengths):
        pitch, size = f0[row, :length], 2 * length
        # As officially in float32 up to here: at 100 Hz a rounding is 3e-4 turns after a minute.
        turns = pitch[:, None] * np.arange(1, HARMONICS + 1, dtype=np.float32) / SAMPLE_RATE % 1
        middles = np.cumsum(turns, axis=0, dtype=np.float64) * STEP_SAMPLES
        before = np.concatenate([middles[:1], middles[:-1]])
        after = np.concatenate([middles[1:], middles[-1:]])
        starts = np.stack([(before + middles) / 2, middles], axis=1) % 1
        slopes = np.stack([middles - before, after - middles], axis=1)
        phases.starts[row, :size] = starts.reshape(size, HARMONICS)
        phases.slopes[row, :size] = slopes.reshape(size, HARMONICS)
        phases.voiced[row, :size] = (pitch > THRESHOLD).repeat(2)
    return phases
