"""The MiniCPM4 transformer: the block that all four networks of VoxCPM2 are stacks of.

Base LM and residual LM run it causally over a `KVCache`; LocEnc and LocDiT run it unmasked over a
handful of positions. It knows no text, no audio and no sampling.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from voxcpm2.config import RopeConfig, TransformerConfig

Rotation = tuple[mx.array, mx.array]  # cos and sin, float32, (B or 1, T, 1, head_dim / 2)
ALL = slice(None)


def rope_table(config: RopeConfig, head_dim: int, positions: np.ndarray) -> Rotation:
    """cos and sin of `positions` (T,), each (T, head_dim / 2) float32.

    The order of the float32 products is upstream's: at position 8000 another order is off by 1e-3.
    """
    power = np.arange(0, head_dim, 2, dtype=np.float32) / np.float32(head_dim)
    frequency = np.float32(1) / np.power(float(config.theta), power, dtype=np.float64).astype(
        np.float32
    )
    scaled = np.outer(
        positions.astype(np.float32), np.float32(1) / np.array(config.factors, np.float32)
    )
    angle = (scaled * frequency).astype(np.float64)
    return (
        mx.array(np.cos(angle).astype(np.float32) * np.float32(config.scale)),
        mx.array(np.sin(angle).astype(np.float32) * np.float32(config.scale)),
    )


def rotate(x: mx.array, rotation: Rotation) -> mx.array:
    """Turn (B, T, heads, head_dim), halves paired, in float32; returns x's dtype."""
    cos, sin = rotation
    first, second = mx.split(x.astype(mx.float32), 2, axis=-1)
    turned = mx.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)
    return turned.astype(x.dtype)


class KVCache:
    """Keys and values of every layer of one stack, for B rows of different length.

    Rows end together: row b fills columns `starts[b]` to `length`, left of that is padding. Space
    is made in buckets of `BUCKET` columns, and padding that all rows share is cut off, so the size
    follows the longest row alive and not the time that the batch has run.
    """

    BUCKET = 256

    def __init__(
        self, keys: list[mx.array], values: list[mx.array], starts: list[int], length: int
    ) -> None:
        self.keys = keys  # per layer (B, kv_heads, columns, head_dim)
        self.values = values
        self.starts = starts
        self.length = length

    @classmethod
    def for_rows(
        cls,
        config: TransformerConfig,
        dtype: mx.Dtype,
        counts: Sequence[int],
        prefixes: Sequence[KVCache | None],
    ) -> KVCache:
        """Space for `counts[b]` new positions in row b, after what `prefixes[b]` holds already.

        The new positions will be computed as one left-padded block of max(counts) columns. Where
        a row has fewer, its prefix reaches into the block; `update` spares it.
        """
        held = [0 if prefix is None else prefix.length for prefix in prefixes]
        end = max(count + n for count, n in zip(counts, held, strict=True))
        columns = _buckets(end)

        def place(layer: int, kind: str) -> mx.array:
            rows = []
            for prefix, count, n in zip(prefixes, counts, held, strict=True):
                if prefix is None:
                    shape = (1, config.num_kv_heads, columns, config.head_dim)
                    rows.append(mx.zeros(shape, dtype))
                else:
                    known = getattr(prefix, kind)[layer][..., :n, :]
                    rows.append(_pad(known, end - count - n, columns))
            return mx.concatenate(rows)

        return cls(
            [place(layer, "keys") for layer in range(config.num_layers)],
            [place(layer, "values") for layer in range(config.num_layers)],
            [end - count - n for count, n in zip(counts, held, strict=True)],
            end - max(counts),
        )

    @property
    def columns(self) -> int:
        """Columns allocated."""
        return self.keys[0].shape[2]

    def open(self, count: int) -> None:
        """Take the next `count` columns; every layer then writes them by `update`."""
        if self.length + count > self.columns:
            self._move(0, _buckets(self.length + count))
        self.length += count

    def positions(self, count: int) -> mx.array:
        """Rotary positions of the last `count` columns, (B, count); padding counts as 0."""
        columns = np.arange(self.length - count, self.length)
        return mx.array(np.maximum(columns - np.array(self.starts)[:, None], 0))

    def mask(self, count: int) -> mx.array | str | None:
        """Who may see whom, for queries in the last `count` columns: causal, and never padding."""
        if not any(self.starts):
            return "causal" if count > 1 else None
        query = np.arange(self.length - count, self.length)[:, None]
        key = np.arange(self.length)
        seen = (key <= query) & (key >= np.array(self.starts)[:, None, None])
        seen |= key == query  # padding sees itself: a softmax over nothing would be NaN
        return mx.array(seen[:, None])

    def update(
        self, layer: int, keys: mx.array, values: mx.array, valid: mx.array | None = None
    ) -> tuple[mx.array, mx.array]:
        """Write (B, kv_heads, count, head_dim) into the open columns; returns all up to there.

        Where `valid` (B, 1, count, 1) is false a column keeps what it held: a prefix, or nothing.
        """
        first = self.length - keys.shape[2]
        for held, new in ((self.keys[layer], keys), (self.values[layer], values)):
            if valid is not None:
                new = mx.where(valid, new, held[..., first : self.length, :])
            held[..., first : self.length, :] = new
        return self.keys[layer][..., : self.length, :], self.values[layer][..., : self.length, :]

    def filter(self, rows: list[int]) -> None:
        """Keep these rows, in this order, and cut off what padding they share."""
        chosen = mx.array(rows)
        self.keys = [array[chosen] for array in self.keys]
        self.values = [array[chosen] for array in self.values]
        self.starts = [self.starts[row] for row in rows]
        shared = min(self.starts)
        if shared:
            self._move(-shared, _buckets(self.length - shared))

    def extend(self, other: KVCache) -> None:
        """Append the other cache's rows; `other` is used up."""
        length = max(self.length, other.length)
        for cache in (self, other):
            cache._move(length - cache.length, _buckets(length))
        self.keys = [mx.concatenate(list(pair)) for pair in zip(self.keys, other.keys, strict=True)]
        self.values = [
            mx.concatenate(list(pair)) for pair in zip(self.values, other.values, strict=True)
        ]
        self.starts += other.starts

    def snapshot(self) -> KVCache:
        """A copy of exactly what is held, for use as a prefix."""
        keys = [mx.contiguous(array[..., : self.length, :]) for array in self.keys]
        values = [mx.contiguous(array[..., : self.length, :]) for array in self.values]
        return KVCache(keys, values, list(self.starts), self.length)

    def _move(self, shift: int, columns: int) -> None:
        """Shift the contents right (left where negative), into `columns` columns."""
        first, last = max(0, -shift), self.length
        self.length += shift
        self.starts = [start + shift for start in self.starts]
        for arrays in (self.keys, self.values):
            arrays[:] = [
                _pad(array[..., first:last, :], max(0, shift), columns) for array in arrays
            ]


def _buckets(columns: int) -> int:
    return -(-columns // KVCache.BUCKET) * KVCache.BUCKET


def _pad(array: mx.array, left: int, columns: int) -> mx.array:
    right = columns - left - array.shape[2]
    return mx.pad(array, [(0, 0), (0, 0), (left, right), (0, 0)])


def silu(x: mx.array) -> mx.array:
    """x * sigmoid(x), in x's dtype.

    On a CPU, where MLX's exp costs as much as the matrix products around it, it is h + h * tanh(h)
    with h = x / 2 and tanh as Eigen's ratio of polynomials: within 2e-7 of |x|.
    """
    if mx.default_device() == mx.gpu:
        return nn.silu(x)
    half = x.astype(mx.float32) * 0.5
    z = mx.clip(half, -7.90531110763549805, 7.90531110763549805)
    square = z * z
    above, below = (
        functools.reduce(lambda sum, term: sum * square + term, terms) for terms in _TANH
    )
    return (half * z * above / below + half).astype(x.dtype)


_TANH = (
    (
        -2.76076847742355e-16,
        2.00018790482477e-13,
        -8.60467152213735e-11,
        5.12229709037114e-08,
        1.48572235717979e-05,
        6.37261928875436e-04,
        4.89352455891786e-03,
    ),
    (1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03),
)


@dataclass(frozen=True, slots=True)
class Pass:
    """What the layers share in one pass through a stack."""

    rotation: Rotation | None
    mask: mx.array | str | None
    cache: KVCache | None
    valid: mx.array | None  # (B, 1, T, 1), false where a column is left padding
    wanted: slice  # the positions whose output is read


class Attention(nn.Module):
    """Grouped-query attention without biases; heads * head_dim need not equal the width."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        c = self._config = config
        self.q_proj = nn.Linear(c.hidden_size, c.num_heads * c.head_dim, bias=False)
        self.k_proj = nn.Linear(c.hidden_size, c.num_kv_heads * c.head_dim, bias=False)
        self.v_proj = nn.Linear(c.hidden_size, c.num_kv_heads * c.head_dim, bias=False)
        self.o_proj = nn.Linear(c.num_heads * c.head_dim, c.hidden_size, bias=False)

    def __call__(self, x: mx.array, shared: Pass, layer: int) -> mx.array:
        c, (batch, length, _) = self._config, x.shape
        queries = x[:, shared.wanted]
        q = self.q_proj(queries).reshape(batch, -1, c.num_heads, c.head_dim)
        k = self.k_proj(x).reshape(batch, length, c.num_kv_heads, c.head_dim)
        v = self.v_proj(x).reshape(batch, length, c.num_kv_heads, c.head_dim)
        if shared.rotation is not None:
            cos, sin = shared.rotation
            q = rotate(q, (cos[:, shared.wanted], sin[:, shared.wanted]))
            k = rotate(k, shared.rotation)
        q, k, v = (array.transpose(0, 2, 1, 3) for array in (q, k, v))
        if shared.cache is not None:
            k, v = shared.cache.update(layer, k, v, shared.valid)
        y = mx.fast.scaled_dot_product_attention(q, k, v, scale=c.head_dim**-0.5, mask=shared.mask)
        return self.o_proj(y.transpose(0, 2, 1, 3).reshape(batch, -1, c.num_heads * c.head_dim))


class MLP(nn.Module):
    """down(silu(gate(x)) * up(x))."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def __call__(self, x: mx.array) -> mx.array:
        return self.down_proj(silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    """Attention and MLP, each after a norm and added to its input."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self._scale = config.residual_scale
        self.input_layernorm = nn.RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.self_attn = Attention(config)
        self.post_attention_layernorm = nn.RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.mlp = MLP(config)

    def __call__(self, x: mx.array, shared: Pass, layer: int) -> mx.array:
        y = self.self_attn(self.input_layernorm(x), shared, layer)
        x = x[:, shared.wanted] + self._scale * y
        return x + self._scale * self.mlp(self.post_attention_layernorm(x))


class MiniCPM4(nn.Module):
    """A stack of layers and a final norm; with a vocabulary, also the token embedding.

    `positions` is how far the rotary table reaches.
    """

    def __init__(
        self, config: TransformerConfig, *, positions: int, vocab_size: int | None = None
    ) -> None:
        super().__init__()
        self.config = config
        if vocab_size is not None:
            self.embed_tokens = nn.Embedding(vocab_size, config.hidden_size)
        self.layers = [Layer(config) for _ in range(config.num_layers)]
        self.norm = nn.RMSNorm(config.hidden_size, config.rms_norm_eps)
        # The underscore keeps the table out of the parameters: checkpoints do not store it.
        self._rotation = (
            None
            if config.rope is None
            else rope_table(config.rope, config.head_dim, np.arange(positions))
        )

    def __call__(
        self,
        x: mx.array,
        *,
        cache: KVCache | None = None,
        valid: mx.array | None = None,
        wanted: slice = ALL,
    ) -> mx.array:
        """(B, T, width) -> the normed output at the `wanted` positions, all unless said.

        With a cache: causal, at the positions that follow those held; `valid` (B, T) is false on
        left padding. Without: every position sees every other, counted from 0.
        """
        length = x.shape[1]
        mask: mx.array | str | None = None
        if cache is not None:
            cache.open(length)
            mask = cache.mask(length)
        if valid is not None:
            valid = valid[:, None, :, None]
        rotation = self._rotation
        if rotation is not None:
            at = slice(length) if cache is None else cache.positions(length)
            cos, sin = (table[at] for table in rotation)
            shape = (1 if cache is None else x.shape[0], length, 1, -1)
            rotation = cos.reshape(shape), sin.reshape(shape)
        everything = Pass(rotation, mask, cache, valid, ALL)
        for index, layer in enumerate(self.layers[:-1]):
            x = layer(x, everything, index)
        # Nobody reads the last layer's other positions. (A causal "wanted" is always a tail.)
        if isinstance(mask, mx.array):
            mask = mask[:, :, wanted]
        last = replace(everything, mask=mask, wanted=wanted)
        x = self.layers[-1](x, last, len(self.layers) - 1)
        return self.norm(x)
