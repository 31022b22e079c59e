"""LocDiT: the velocity of one noisy patch, by a small unmasked transformer.

Its input is one patch at one moment: condition, time, the patch before, the noisy patch. `cfm.py`
has the time grid, the guidance and the noise.
"""

from __future__ import annotations

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from speechbase.functions import silu, time_embedding
from voxcpm2.config import Config
from voxcpm2.minicpm4 import MiniCPM4


class TimestepEmbedding(nn.Module):
    """linear_2(silu(linear_1(x)))."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear_1 = nn.Linear(width, width)
        self.linear_2 = nn.Linear(width, width)

    def __call__(self, x: mx.array) -> mx.array:
        return self.linear_2(silu(self.linear_1(x)))


class LocDiT(nn.Module):
    """The local diffusion transformer, `feat_decoder.estimator` in checkpoints.

    Tokens: [mu_1, mu_2, time, patch before, noisy patch]; in VoxCPM 1.x [mu + time, ...].
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config.dit.hidden_size
        self._patch = config.patch_size
        self._adds_time = config.first_generation
        self.in_proj = nn.Linear(config.feat_dim, width)
        self.cond_proj = nn.Linear(config.feat_dim, width)
        self.out_proj = nn.Linear(width, config.feat_dim)
        self.time_mlp = TimestepEmbedding(width)
        self.delta_time_mlp = TimestepEmbedding(width)
        positions = 2 * config.patch_size + (1 if config.first_generation else 3)
        self.decoder = MiniCPM4(config.dit, positions=positions)

    def time_tokens(self, t: np.ndarray, dt: np.ndarray, *, rounded: bool = False) -> mx.array:
        """Embeds K moments t and widths dt as time tokens: (K,), (K,) -> (K, Hd)."""
        width, dtype = self.decoder.config.hidden_size, self.decoder.norm.weight.dtype
        moment = time_embedding(t, width, rounded=rounded).astype(dtype)
        step = time_embedding(dt, width, rounded=rounded).astype(dtype)
        return self.time_mlp(moment) + self.delta_time_mlp(step)

    def __call__(self, x: mx.array, mu: mx.array, time: mx.array, cond: mx.array) -> mx.array:
        """The velocity at x, float32.

        x and cond (N, patch_size, feat_dim), mu (N, 2, Hd) or in 1.x (N, 1, Hd), time (N, Hd).
        """
        return self.velocity(self.context_tokens(mu, time, cond), x)

    def context_tokens(self, mu: mx.array, time: mx.array, cond: mx.array) -> mx.array:
        """Returns the tokens before the noisy patch, (..., n, Hd), which do not depend on it.

        Arguments are as in a call, with any broadcastable shapes in place of N.
        """
        cond_tokens = self.cond_proj(cond.astype(mu.dtype))
        time = time[..., None, :]
        parts = [mu + time, cond_tokens] if self._adds_time else [mu, time, cond_tokens]
        shape = np.broadcast_shapes(*(part.shape[:-2] for part in parts))
        return mx.concatenate(
            [mx.broadcast_to(part, (*shape, *part.shape[-2:])) for part in parts], axis=-2
        )

    def velocity(self, context: mx.array, x: mx.array) -> mx.array:
        """Returns the velocity at x, float32 (N, patch_size, feat_dim).

        `context` are N `context_tokens`, in any shape to which the shape of x broadcasts.
        """
        shape = context.shape
        noisy = self.in_proj(x.astype(context.dtype))
        noisy = mx.broadcast_to(noisy, (*shape[:-2], *noisy.shape[-2:]))
        tokens = mx.concatenate([context, noisy], axis=-2)
        hidden = self.decoder(
            tokens.reshape(-1, *tokens.shape[-2:]), output_slice=slice(-self._patch, None)
        )
        return self.out_proj(hidden).astype(mx.float32)  # the solver's; see `cfm`
