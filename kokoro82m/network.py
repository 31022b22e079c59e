"""All networks of Kokoro-82M and the arrays that go between them. Knows no requests and no files.

In shapes, B is the rows of a batch, T its tokens, F its frames, padding included.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from kokoro82m.albert import Albert
from kokoro82m.config import Config, Widths
from kokoro82m.decoder import Decoder
from kokoro82m.layers import Rows
from kokoro82m.phases import find_phases
from kokoro82m.prosody import ProsodyPredictor
from kokoro82m.stft import analyse
from kokoro82m.text_encoder import TextEncoder


@dataclass(frozen=True, slots=True, eq=False)
class EncodedText:
    """Encoded tokens, the inputs of predictor and decoder."""

    prosody: mx.array  # (B, T, hidden + style)
    text: mx.array  # (B, T, hidden)
    duration_logits: mx.array  # (B, T, max_duration)


@dataclass(frozen=True, slots=True, eq=False)
class DecoderInput:
    """The decoder's inputs, by frames."""

    text: mx.array  # (B, F, hidden): `EncodedText.text`
    f0: mx.array  # (B, 2F, 1) Hz
    energy: mx.array  # (B, 2F, 1)
    spectrum: mx.array  # (B, 120F + 120, 22): magnitudes and phases of the source
    style: mx.array  # (B, 1, 2 * style_size)
    rows: Rows  # of frames


class Network(nn.Module):
    """Modules are named as the checkpoint's keys. A style is (B, 1, 2 * style_size)."""

    def __init__(self, config: Config, widths: Widths) -> None:
        super().__init__()
        hidden, style = config.hidden_size, config.style_size
        self.bert = Albert(config.albert, config.num_tokens, widths.embedding)
        self.bert_encoder = nn.Linear(config.albert.hidden_size, hidden)
        self.predictor = ProsodyPredictor(hidden, style, config.num_layers, config.max_duration)
        self.text_encoder = TextEncoder(
            config.num_tokens, hidden, config.text_kernel, config.num_layers
        )
        self.decoder = Decoder(hidden, widths.decoder, widths.residual, style, config.generator)
        self._config = config

    def encode(self, ids: mx.array, style: mx.array, rows: Rows) -> EncodedText:
        """Encodes token ids (B, T)."""
        x = self.bert_encoder(self.bert(ids, rows))
        prosody = self.predictor.text_encoder(x, self._predictor_style(style), rows)
        logits = self.predictor.duration_logits(prosody, rows)
        return EncodedText(prosody, self.text_encoder(ids, rows), logits)

    def curves(self, prosody: mx.array, style: mx.array, rows: Rows) -> tuple[mx.array, mx.array]:
        """`EncodedText.prosody` by frames (B, F, …) -> F0 in Hz and energy, (B, 2F, 1)."""
        return self.predictor.curves(prosody, self._predictor_style(style), rows)

    def source(self, f0: np.ndarray, noise: mx.array, rows: Rows) -> mx.array:
        """F0 (B, 2F) and noise (B, 600F) -> `DecoderInput.spectrum`."""
        generator = self.decoder.generator
        signal = generator.m_source(find_phases(f0, rows.scale(2).lengths), noise)
        return analyse(signal, self.spectrum_rows(rows), self._config.generator.n_fft)

    def decode(self, inputs: DecoderInput) -> mx.array:
        """Returns samples (B, 600F)."""
        style = inputs.style[..., : self._config.style_size]
        x = self.decoder(inputs.text, inputs.f0, inputs.energy, style, inputs.rows)
        return self.decoder.generator(x, style, inputs.spectrum, inputs.rows.scale(2))

    def spectrum_rows(self, rows: Rows) -> Rows:
        """Returns the rows of the spectrum for rows of frames: 120 windows per frame, and one more.

        The extra window is padded to a whole frame (`Rows.scale`): 120F + 120 in all.
        """
        return rows.scale(2 * math.prod(self._config.generator.rates), extra=1)

    def _predictor_style(self, style: mx.array) -> mx.array:
        return style[..., self._config.style_size :]


def find_durations(logits: np.ndarray, speed: float) -> np.ndarray:
    """Logits (T, max_duration) -> whole frames (T,): one at least, halves to even."""
    halves = 1 + np.tanh(logits.astype(np.float64) / 2)  # twice the sigmoid, and never overflows
    frames = halves.sum(axis=-1) / (2 * speed)
    return np.maximum(np.rint(frames), 1).astype(np.int32)
