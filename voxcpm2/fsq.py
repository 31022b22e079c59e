"""Finite scalar quantisation: the bottleneck between the base LM and everything after it."""

from __future__ import annotations

import mlx.core as mx
import mlx.nn as nn

from voxcpm2.config import Config


class FSQ(nn.Module):
    """Project down, round tanh to steps of 1 / scale, project up."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config.base_lm.hidden_size
        self._scale = config.fsq_scale
        self.in_proj = nn.Linear(width, config.fsq_dim)
        self.out_proj = nn.Linear(config.fsq_dim, width)

    def __call__(self, x: mx.array) -> mx.array:
        """(..., H) -> (..., H). Rounds in float32, half to even, as upstream."""
        levels = mx.tanh(self.in_proj(x).astype(mx.float32)) * self._scale
        return self.out_proj((mx.round(levels) / self._scale).astype(x.dtype))
