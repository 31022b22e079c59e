"""Encodes phonemes for the decoder: convolutions and an LSTM over their embeddings."""

from __future__ import annotations

import mlx.core as mx
import mlx.nn as nn

from kokoro82m.config import EPSILON, SLOPE
from kokoro82m.layers import BiLSTM, Conv1d, Rows


class ChannelNorm(nn.Module):
    """Layer norm over channels, leaky ReLU, zeros beyond a row's end."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.gamma = mx.ones((channels,))
        self.beta = mx.zeros((channels,))

    def __call__(self, x: mx.array, rows: Rows) -> mx.array:
        x = mx.fast.layer_norm(x, self.gamma, self.beta, EPSILON)
        return mx.maximum(x, SLOPE * x) * rows.mask


class TextEncoder(nn.Module):
    """Token ids (B, T) -> (B, T, channels)."""

    def __init__(self, tokens: int, channels: int, kernel: int, depth: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(tokens, channels)
        self.cnn = [
            [Conv1d(channels, channels, kernel), ChannelNorm(channels)] for _ in range(depth)
        ]
        self.lstm = BiLSTM(channels, channels // 2)

    def __call__(self, ids: mx.array, rows: Rows) -> mx.array:
        x = self.embedding(ids) * rows.mask
        for conv, norm in self.cnn:
            x = norm(conv(x), rows)
        return self.lstm(x, rows)
