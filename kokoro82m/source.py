"""The source of a neural source filter: F0 -> sines and noise -> one signal -> its spectrum."""

from __future__ import annotations

import math

import mlx.core as mx
import mlx.nn as nn

from kokoro82m.config import HARMONICS
from kokoro82m.phases import AMPLITUDE, STEP_SAMPLES, UNVOICED_NOISE, VOICED_NOISE, Phases
from speechbase.device import elementwise


@elementwise
def _sines(starts: mx.array, slopes: mx.array, part: mx.array, voiced: mx.array) -> mx.array:
    phase = starts + slopes * part
    return (AMPLITUDE * voiced) * mx.sin((phase - mx.floor(phase)) * (2 * math.pi))


@elementwise
def _signal(sines: mx.array, voiced: mx.array, noise: mx.array) -> mx.array:
    """`noise` is that of unit variance times the length of the weight."""
    return mx.tanh(sines + noise * (voiced * VOICED_NOISE + (1 - voiced) * UNVOICED_NOISE))


class Source(nn.Module):
    """The layer that adds up the sines."""

    def __init__(self) -> None:
        super().__init__()
        self.l_linear = nn.Linear(HARMONICS, 1)

    def __call__(self, phases: Phases, noise: mx.array) -> mx.array:
        """`noise` (B, n) is as `draw_noise` makes it -> (B, n)."""
        half = STEP_SAMPLES // 2
        part = ((mx.arange(half) + 0.5) / STEP_SAMPLES)[:, None]
        starts, slopes = (mx.array(a)[:, :, None] for a in (phases.starts, phases.slopes))
        voiced = mx.array(phases.voiced)[..., None]
        sines = self.l_linear(_sines(starts, slopes, part, voiced[..., None]))[..., 0]
        noise = noise.reshape(sines.shape) * mx.linalg.norm(self.l_linear.weight)
        return _signal(sines, voiced, noise).reshape(noise.shape[0], -1)
