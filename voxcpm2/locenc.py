"""LocEnc: one patch of latents -> one vector, by a small unmasked transformer.

Patches do not see each other, so it runs on audio positions only.
"""

from __future__ import annotations

import mlx.core as mx
import mlx.nn as nn

from voxcpm2.config import Config
from voxcpm2.minicpm4 import MiniCPM4


class LocEnc(nn.Module):
    """The local encoder, `feat_encoder` in checkpoints."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config.encoder.hidden_size
        self.special_token = mx.zeros((1, 1, 1, width))
        self.in_proj = nn.Linear(config.feat_dim, width)
        self.encoder = MiniCPM4(config.encoder, positions=config.patch_size + 1)

    def __call__(self, patches: mx.array) -> mx.array:
        """(N, patch_size, feat_dim) -> (N, width): the output at the learned first position."""
        x = self.in_proj(patches.astype(self.special_token.dtype))
        first = mx.broadcast_to(self.special_token[0], (x.shape[0], 1, x.shape[2]))
        x = mx.concatenate([first, x], axis=1)
        return self.encoder(x, output_slice=slice(0, 1))[:, 0]
