"""Finite scalar quantisation: the bottleneck between the base LM and everything after it."""

from __future__ import annotations

import mlx.core as mx
import mlx.nn as nn

from speechbase.device import elementwise
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
        """(..., H) -> (..., H). Rounds in float32, half to even, as upstream.

        bfloat16 could not distinguish the steps from the halves between them.
        """
        return self.out_proj(_round_to_levels(self.in_proj(x), self._scale))


@elementwise
def _round_to_levels(x: mx.array, scale: float) -> mx.array:
    levels = mx.tanh(x.astype(mx.float32)) * scale
    return (mx.round(levels) / scale).astype(x.dtype)
