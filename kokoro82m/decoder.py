"""Encoded text by frames, pitch, energy and style -> the generator's input."""

from __future__ import annotations

import mlx.core as mx
import mlx.nn as nn

from kokoro82m.config import DECODER_BLOCKS, GeneratorConfig
from kokoro82m.generator import Generator
from kokoro82m.layers import AdainResBlk1d, Conv1d, Rows, pad_time


class CurveConv(nn.Conv1d):
    """A curve (B, 2F, 1) -> (B, F, 1): kernel 3, stride 2, padding 1."""

    def __init__(self) -> None:
        super().__init__(1, 1, 3, 2, 1)

    def __call__(self, curve: mx.array) -> mx.array:
        pairs = curve.reshape(len(curve), -1, 2)
        before = pad_time(pairs, 1, 0)[:, :-1, 1:]
        return mx.concatenate([before, pairs], axis=-1) @ self.weight.reshape(3, 1) + self.bias


class Decoder(nn.Module):
    """(B, F, inputs) -> (B, 2F, the generator's channels)."""

    def __init__(
        self, inputs: int, width: int, residual: int, style_size: int, config: GeneratorConfig
    ) -> None:
        super().__init__()
        self.F0_conv, self.N_conv = CurveConv(), CurveConv()
        self.encode = AdainResBlk1d(inputs + 2, width, style_size)
        outputs = [*[width] * (DECODER_BLOCKS - 1), config.channels]
        self.decode = [
            AdainResBlk1d(width + residual + 2, size, style_size, upsample=n == DECODER_BLOCKS - 1)
            for n, size in enumerate(outputs)
        ]
        self.asr_res = [Conv1d(inputs, residual, 1)]
        self.generator = Generator(config, style_size)

    def __call__(
        self, text: mx.array, f0: mx.array, energy: mx.array, style: mx.array, rows: Rows
    ) -> mx.array:
        """`f0` and `energy` (B, 2F, 1); values beyond a row's end are arbitrary."""
        dtype = self.asr_res[0].weight.dtype
        curves = mx.concatenate([self.F0_conv(f0), self.N_conv(energy)], axis=-1).astype(dtype)
        text = text.astype(dtype)
        x = self.encode(mx.concatenate([text, curves], axis=-1), style, rows)
        again = mx.concatenate([self.asr_res[0](text), curves], axis=-1)
        for block in self.decode:
            x = block(mx.concatenate([x, again], axis=-1), style, rows)
        return x
