"""How long each phoneme is, and the pitch (F0) and energy (N) of what is spoken."""

from __future__ import annotations

import mlx.core as mx
import mlx.nn as nn

from kokoro82m.config import EPSILON
from kokoro82m.layers import AdainResBlk1d, BiLSTM, Conv1d, Rows


class AdaLayerNorm(nn.Module):
    """Layer norm over channels, then scale and shift by the style."""

    def __init__(self, style_size: int, channels: int) -> None:
        super().__init__()
        self.fc = nn.Linear(style_size, 2 * channels)

    def __call__(self, x: mx.array, style: mx.array) -> mx.array:
        gamma, beta = mx.split(self.fc(style), 2, axis=-1)
        return mx.fast.layer_norm(x, None, None, EPSILON) * (1 + gamma) + beta


class DurationEncoder(nn.Module):
    """(B, T, channels) -> (B, T, channels + style): the style is appended after every layer."""

    def __init__(self, channels: int, style_size: int, depth: int) -> None:
        super().__init__()
        self.lstms: list[nn.Module] = []
        for _ in range(depth):
            self.lstms.append(BiLSTM(channels + style_size, channels // 2))
            self.lstms.append(AdaLayerNorm(style_size, channels))

    def __call__(self, x: mx.array, style: mx.array, rows: Rows) -> mx.array:
        spread = mx.broadcast_to(style, (*x.shape[:2], style.shape[-1]))
        x = mx.concatenate([x, spread], axis=-1)
        for lstm, norm in zip(self.lstms[::2], self.lstms[1::2], strict=True):
            x = mx.concatenate([norm(lstm(x, rows), style), spread], axis=-1)
        return x


class ProsodyPredictor(nn.Module):
    """Phonemes -> durations; these, repeated, -> pitch and energy."""

    def __init__(self, channels: int, style_size: int, depth: int, max_duration: int) -> None:
        super().__init__()
        self.text_encoder = DurationEncoder(channels, style_size, depth)
        self.lstm = BiLSTM(channels + style_size, channels // 2)
        self.duration_proj = nn.Module()
        self.duration_proj.linear_layer = nn.Linear(channels, max_duration)
        self.shared = BiLSTM(channels + style_size, channels // 2)
        self.F0 = self._blocks(channels, style_size)
        self.N = self._blocks(channels, style_size)
        self.F0_proj = Conv1d(channels // 2, 1, 1)
        self.N_proj = Conv1d(channels // 2, 1, 1)

    @staticmethod
    def _blocks(channels: int, style_size: int) -> list[AdainResBlk1d]:
        half = channels // 2
        return [
            AdainResBlk1d(channels, channels, style_size),
            AdainResBlk1d(channels, half, style_size, upsample=True),
            AdainResBlk1d(half, half, style_size),
        ]

    def duration_logits(self, encoded: mx.array, rows: Rows) -> mx.array:
        """The encoder's output (B, T, channels + style) -> (B, T, max_duration)."""
        return self.duration_proj.linear_layer(self.lstm(encoded, rows))

    def curves(self, x: mx.array, style: mx.array, rows: Rows) -> tuple[mx.array, mx.array]:
        """The encoder's output by frames (B, F, channels + style) -> F0 in Hz and N, (B, 2F, 1)."""
        shared = self.shared(x, rows)
        twice = rows.scale(2)

        def curve(blocks: list[AdainResBlk1d], project: Conv1d) -> mx.array:
            y = blocks[1](blocks[0](shared, style, rows), style, rows)
            return project(blocks[2](y, style, twice)) * twice.mask

        return curve(self.F0, self.F0_proj), curve(self.N, self.N_proj)
