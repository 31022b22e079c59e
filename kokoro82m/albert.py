"""PLBERT, an ALBERT over phonemes: a single layer's weights, applied repeatedly.

Modules are named as the checkpoint's keys. Arrays are (batch, time, channels).
"""

from __future__ import annotations

import math

import mlx.core as mx
import mlx.nn as nn

from kokoro82m.config import ALBERT_EPSILON, AlbertConfig
from kokoro82m.layers import Rows
from speechbase.device import elementwise


@elementwise
def _gelu(x: mx.array) -> mx.array:
    """GELU by the tanh approximation, "gelu_new"."""
    return 0.5 * x * (1 + mx.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


class Embeddings(nn.Module):
    def __init__(self, tokens: int, positions: int, size: int) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(tokens, size)
        self.position_embeddings = nn.Embedding(positions, size)
        self.token_type_embeddings = nn.Embedding(2, size)
        self.LayerNorm = nn.LayerNorm(size, ALBERT_EPSILON)

    def __call__(self, ids: mx.array) -> mx.array:
        positions = self.position_embeddings.weight[: ids.shape[1]]
        x = self.word_embeddings(ids) + positions + self.token_type_embeddings.weight[0]
        return self.LayerNorm(x)


class Attention(nn.Module):
    def __init__(self, config: AlbertConfig) -> None:
        super().__init__()
        size = config.hidden_size
        self.query = nn.Linear(size, size)
        self.key = nn.Linear(size, size)
        self.value = nn.Linear(size, size)
        self.dense = nn.Linear(size, size)
        self.LayerNorm = nn.LayerNorm(size, ALBERT_EPSILON)
        self._heads, self._head_dim = config.num_heads, size // config.num_heads

    def __call__(self, x: mx.array, mask: mx.array | None) -> mx.array:
        shape = (*x.shape[:2], self._heads, self._head_dim)
        q, k, v = (
            project(x).reshape(shape).swapaxes(1, 2)
            for project in (self.query, self.key, self.value)
        )
        scale = self._head_dim**-0.5
        y = mx.fast.scaled_dot_product_attention(q, k, v, scale=scale, mask=mask)
        return self.LayerNorm(x + self.dense(y.swapaxes(1, 2).reshape(x.shape)))


class AlbertLayer(nn.Module):
    def __init__(self, config: AlbertConfig) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.ffn = nn.Linear(config.hidden_size, config.intermediate_size)
        self.ffn_output = nn.Linear(config.intermediate_size, config.hidden_size)
        self.full_layer_layer_norm = nn.LayerNorm(config.hidden_size, ALBERT_EPSILON)

    def __call__(self, x: mx.array, mask: mx.array | None) -> mx.array:
        x = self.attention(x, mask)
        return self.full_layer_layer_norm(x + self.ffn_output(_gelu(self.ffn(x))))


class Albert(nn.Module):
    """Token ids (batch, time) -> (batch, time, hidden)."""

    def __init__(self, config: AlbertConfig, tokens: int, embedding_size: int) -> None:
        super().__init__()
        group = nn.Module()
        group.albert_layers = [AlbertLayer(config)]
        self.embeddings = Embeddings(tokens, config.max_positions, embedding_size)
        self.encoder = nn.Module()
        self.encoder.embedding_hidden_mapping_in = nn.Linear(embedding_size, config.hidden_size)
        self.encoder.albert_layer_groups = [group]
        self._num_layers = config.num_layers

    def __call__(self, ids: mx.array, rows: Rows) -> mx.array:
        x = self.encoder.embedding_hidden_mapping_in(self.embeddings(ids))
        layer = self.encoder.albert_layer_groups[0].albert_layers[0]
        for _ in range(self._num_layers):
            x = layer(x, rows.attention_mask)
        return x
