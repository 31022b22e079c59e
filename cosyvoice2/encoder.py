"""The flow's encoder: a conformer from embedded tokens at 25 Hz to frames at 50 Hz.

Every token looks at the three after it; attention with relative positions follows, before and
after the rate is doubled. Knows nothing of mels, speakers or texts.
"""

from __future__ import annotations

from collections.abc import Sequence

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from cosyvoice2.config import LOOK_AHEAD, EncoderConfig
from cosyvoice2.layers import CausalConv, Past, Sight, attend, convolved, row_sight
from speechbase.functions import silu

DOUBLED_LAYERS = 4  # after the doubling, in every checkpoint
DOUBLED_KERNEL = 5
MIN_POSITIONS, MAX_KEPT_POSITIONS = 256, 2048
"""Positions that the first distance table covers, and the most that a cached table covers."""


def distance_table(width: int, reach: int) -> mx.array:
    """Encodes the distances from reach - 1 down to 1 - reach: (2 reach - 1, width) float32.

    Sines and cosines alternate; the angle is a float32 product, as upstream.
    """
    channels = np.arange(0, width, 2, dtype=np.float32)
    frequency = np.exp((channels * np.float32(-np.log(10000) / width)).astype(np.float64))
    offsets = np.arange(reach - 1, -reach, -1, dtype=np.float32)
    angles = (offsets[:, None] * frequency.astype(np.float32)).astype(np.float64)
    table = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
    return mx.array(table.reshape(len(offsets), width).astype(np.float32))


def distance_scores(q: mx.array, table: mx.array, start: int, keys: int) -> mx.array:
    """Returns the products of queries and distances, (B, heads, n, keys).

    q (B, heads, n, d) begins at position `start`; table (heads, 2 reach - 1, d) is a projected
    `distance_table`. A row of `products` covers all distances that any query needs. The span of one
    query begins a column further left than that of the query before, so a strided view aligns them.
    """
    rows, heads, n, _ = q.shape
    first, count = (table.shape[1] + 1) // 2 - start - n, keys + n - 1
    products = q @ table[:, first : first + count].swapaxes(-1, -2)
    strides = (heads * n * count, n * count, count - 1, 1)
    return mx.as_strided(products, (rows, heads, n, keys), strides, n - 1)


class RelativeAttention(nn.Module):
    """Attention with scores (q + u) k + (q + v) p, scaled, where p encodes the distance.

    The projections of the input are computed as a single product.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self._shape = (heads, width // heads)
        self.linear_q = nn.Linear(width, width)
        self.linear_k = nn.Linear(width, width)
        self.linear_v = nn.Linear(width, width)
        self.linear_out = nn.Linear(width, width)
        self.linear_pos = nn.Linear(width, width, bias=False)
        self.pos_bias_u = mx.zeros(self._shape)
        self.pos_bias_v = mx.zeros(self._shape)
        self._joined: list[mx.array] = []

    def join(self) -> list[mx.array]:
        """Joins the projections to q + u, the scaled q + v, k and v; returns the new arrays."""
        q, k, v, scale = self.linear_q, self.linear_k, self.linear_v, self._shape[1] ** -0.5
        weights = [q.weight, q.weight * scale, k.weight, v.weight]
        u, position_bias = self.pos_bias_u.reshape(-1), self.pos_bias_v.reshape(-1)
        biases = [q.bias + u, (q.bias + position_bias) * scale, k.bias, v.bias]
        self._joined = [mx.concatenate(weights), mx.concatenate(biases)]
        return self._joined

    def table(self, distances: mx.array) -> mx.array:
        """Projects encoded distances: (2 reach - 1, width) -> (heads, 2 reach - 1, d)."""
        return self.linear_pos(distances).reshape(-1, *self._shape).swapaxes(0, 1)

    def __call__(
        self, x: mx.array, table: mx.array, sight: Sight, past: Past | None = None
    ) -> mx.array:
        weight, bias = self._joined or self.join()
        projected = mx.addmm(bias, x, weight.T).reshape(*x.shape[:2], 4, *self._shape)
        kv = projected[:, :, 2:] if past is None else past.append(self, projected[:, :, 2:])
        keys = kv.shape[1]
        q, position_q = projected[:, :, 0].swapaxes(1, 2), projected[:, :, 1].swapaxes(1, 2)
        k, v = kv[:, :, 0].swapaxes(1, 2), kv[:, :, 1].swapaxes(1, 2)

        def scores(block: slice) -> mx.array:
            position_scores = distance_scores(
                position_q[:, :, block], table, sight.start + block.start, keys
            )
            mask = sight.mask_of(block)
            return position_scores if mask is None else mx.where(mask, position_scores, -mx.inf)

        y = attend(q, k, v, self._shape[1] ** -0.5, scores)
        return self.linear_out(y.reshape(x.shape))


class FeedForward(nn.Module):
    """w_2(swish(w_1(x)))."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.w_1 = nn.Linear(width, inner)
        self.w_2 = nn.Linear(inner, width)

    def __call__(self, x: mx.array) -> mx.array:
        return self.w_2(silu(self.w_1(x)))


class ConformerLayer(nn.Module):
    """Attention and feed-forward, each after a norm and added to its input."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.self_attn = RelativeAttention(config.width, config.heads)
        self.feed_forward = FeedForward(config.width, config.feed_forward)
        self.norm_mha = nn.LayerNorm(config.width, eps=1e-12)
        self.norm_ff = nn.LayerNorm(config.width, eps=1e-12)

    def __call__(
        self, x: mx.array, table: mx.array, sight: Sight, past: Past | None = None
    ) -> mx.array:
        x = x + self.self_attn(self.norm_mha(x), table, sight, past)
        return x + self.feed_forward(self.norm_ff(x))


class InputLayer(nn.Module):
    """A linear layer and a norm, times the root of the width."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.out = [nn.Linear(width, width), nn.LayerNorm(width)]
        self._scale = width**0.5

    def __call__(self, x: mx.array) -> mx.array:
        product, norm = self.out
        return norm(product(x)) * self._scale


class LookAhead(nn.Module):
    """Adds to each token a convolution of the three tokens after it."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(width, width, LOOK_AHEAD + 1)
        self.conv2 = CausalConv(width, width, 3)

    def __call__(self, x: mx.array, past: Past | None = None) -> mx.array:
        """(B, L + 3, width) -> (B, L, width)."""
        y = convolved(x, self.conv1.weight, self.conv1.bias)
        y = mx.maximum(y, 0.01 * y)  # a leaky ReLU; MLX's own would compile on a CPU
        return x[:, :-LOOK_AHEAD] + self.conv2(y, past)


class Doubling(nn.Module):
    """Repeats each input, then applies a causal convolution."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv = CausalConv(width, width, DOUBLED_KERNEL)

    def __call__(self, x: mx.array, past: Past | None = None) -> mx.array:
        return self.conv(mx.repeat(x, 2, axis=1), past)


class Encoder(nn.Module):
    """The conformer, `encoder` in flow.pt."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self._config = config
        self.embed = InputLayer(config.width)
        self.pre_lookahead_layer = LookAhead(config.width)
        self.encoders = [ConformerLayer(config) for _ in range(config.layers)]
        self.up_layer = Doubling(config.width)
        self.up_embed = InputLayer(config.width)
        self.up_encoders = [ConformerLayer(config) for _ in range(DOUBLED_LAYERS)]
        self.after_norm = nn.LayerNorm(config.width)
        self._tables: dict[str, list[mx.array]] = {}  # the longest distance tables, by stack

    def join(self) -> list[mx.array]:
        """Joins the layers' projections once the weights are loaded; returns the new arrays."""
        layers = [*self.encoders, *self.up_encoders]
        return [array for layer in layers for array in layer.self_attn.join()]

    def __call__(
        self,
        x: mx.array,
        counts: Sequence[int],
        *,
        streaming: bool = False,
        finalize: bool = True,
        past: Past | None = None,
        start: int = 0,
    ) -> mx.array:
        """Embedded tokens (B, L, width) -> frames (B, 2 n, width), n = L or without `finalize` L-3.

        Row b has counts[b] tokens, followed by padding. Without `finalize` its last three tokens
        are looked at but give no frames. With a `past`, the tokens follow the `start` tokens that
        it has seen.
        """
        x = self.embed(x)
        if finalize:
            if min(counts) < x.shape[1]:
                is_token = mx.arange(x.shape[1]) < mx.array(np.array(counts))[:, None]
                x = mx.where(is_token[..., None], x, 0.0)
            x = mx.pad(x, [(0, 0), (0, LOOK_AHEAD), (0, 0)])
        else:
            counts = [count - LOOK_AHEAD for count in counts]
        x = self.pre_lookahead_layer(x, past)
        chunk = self._config.chunk if streaming else None
        x = self._run_stack("encoders", x, counts, chunk, past, start)
        x = self.up_embed(self.up_layer(x, past))
        doubled = [2 * count for count in counts]
        x = self._run_stack(
            "up_encoders", x, doubled, None if chunk is None else 2 * chunk, past, 2 * start
        )
        return self.after_norm(x)

    def _run_stack(
        self,
        name: str,
        x: mx.array,
        counts: Sequence[int],
        chunk: int | None,
        past: Past | None,
        start: int,
    ) -> mx.array:
        total = start + x.shape[1]
        sight = row_sight([start + count for count in counts], total, chunk, start)
        for layer, table in zip(self[name], self._distance_tables(name, total), strict=True):
            x = layer(x, table, sight, past)
        return x

    def _distance_tables(self, name: str, positions: int) -> list[mx.array]:
        """Returns the distance table of each layer of a stack, for `positions` or more."""
        cached = self._tables.get(name)
        if cached is not None and cached[0].shape[1] >= 2 * positions - 1:
            return cached
        reach = max(MIN_POSITIONS, 1 << (positions - 1).bit_length())
        if reach > MAX_KEPT_POSITIONS:
            reach = positions
        table = distance_table(self._config.width, reach)
        tables = [layer.self_attn.table(table) for layer in self[name]]
        if reach <= MAX_KEPT_POSITIONS:
            self._tables[name] = tables
        return tables
