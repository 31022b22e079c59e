"""The MiniCPM4 transformer, which all four networks of VoxCPM2 use.

Base LM and residual LM run it causally over a `KVCache`; LocEnc and LocDiT run it unmasked over a
few positions. Knows no text, audio or sampling.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from speechbase.cache import KVCache
from speechbase.device import elementwise, on_gpu
from speechbase.functions import swiglu
from speechbase.linear import add_product, join_layers
from voxcpm2.config import RopeConfig, TransformerConfig

Rotation = tuple[mx.array, mx.array]
"""(cos, sin) and (-sin, cos), each (B or 1, T, 1, 2, head_dim / 2) float32."""
ALL_POSITIONS = slice(None)
MAX_FEW_QUERIES, MAX_GROUP_QUERIES = 8, 32
"""Metal's attention kernel for few queries: the most queries, and the most in a group of heads; see
`should_fold_heads`."""


def rope_table(
    config: RopeConfig, head_dim: int, positions: np.ndarray
) -> tuple[mx.array, mx.array]:
    """Returns cos and sin of `positions` (T,), each (T, head_dim / 2) float32.

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
    """Rotates (B, T, heads, head_dim), with its halves paired; returns x's dtype.

    Computed in float32 whatever x is, as upstream: in bfloat16, the cosines of far positions are
    off by more than the difference between neighbours. For halves a and b the result is
    a (cos, sin) + b (-sin, cos), so that nothing is split or concatenated.
    """
    halves = x.reshape(*x.shape[:-1], 2, -1)
    return _rotate_halves(halves[..., :1, :], halves[..., 1:, :], *rotation).reshape(x.shape)


@elementwise
def _rotate_halves(a: mx.array, b: mx.array, a_factors: mx.array, b_factors: mx.array) -> mx.array:
    return (a.astype(mx.float32) * a_factors + b.astype(mx.float32) * b_factors).astype(a.dtype)


@dataclass(frozen=True, slots=True)
class PassContext:
    """Arguments that all layers share in one pass through a stack."""

    rotation: Rotation | None
    mask: mx.array | str | None
    cache: KVCache | None
    valid: mx.array | None  # (B, 1, T, 1), false where a column is left padding
    output_slice: slice  # the positions whose output is read


def attend(q: mx.array, k: mx.array, v: mx.array, mask: mx.array | str | None) -> mx.array:
    """Attention of q (B, heads, T, head_dim) to k and v (B, kv_heads, L, head_dim) -> (B, T, -1).

    The queries of a group of heads are treated as those of one head if `should_fold_heads`.
    """
    batch, heads, length, width = q.shape
    if mask is None and should_fold_heads(length, heads // k.shape[1]):
        q = q.reshape(batch, k.shape[1], -1, width)
    y = mx.fast.scaled_dot_product_attention(q, k, v, scale=width**-0.5, mask=mask)
    return y.reshape(batch, heads, length, width).swapaxes(1, 2).reshape(batch, length, -1)


def should_fold_heads(length: int, group: int) -> bool:
    """Returns True if unmasked heads of a group run faster as one head with more queries.

    That is so for LocEnc's five positions. Metal has a kernel for up to MAX_FEW_QUERIES queries and
    MAX_GROUP_QUERIES in a group, and one for many queries; other shapes take four kernels. Without
    a mask, it does not matter which head a query belongs to.
    """
    return length <= MAX_FEW_QUERIES and length * group > MAX_GROUP_QUERIES


class Attention(nn.Module):
    """Grouped-query attention without biases; heads * head_dim need not equal the width."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        c = self._config = config
        self.q_proj = nn.Linear(c.hidden_size, c.num_heads * c.head_dim, bias=False)
        self.k_proj = nn.Linear(c.hidden_size, c.num_kv_heads * c.head_dim, bias=False)
        self.v_proj = nn.Linear(c.hidden_size, c.num_kv_heads * c.head_dim, bias=False)
        self.o_proj = nn.Linear(c.num_heads * c.head_dim, c.hidden_size, bias=False)
        self._qkv: nn.Module | None = None

    def join(self) -> None:
        """Joins the three projections to one product."""
        self._qkv = join_layers([self.q_proj, self.k_proj, self.v_proj])

    def project(
        self, x: mx.array, rotation: Rotation | None
    ) -> tuple[mx.array, mx.array, mx.array]:
        """Queries, keys and values of (B, T, width), each (B, heads, T, head_dim)."""
        c, (batch, length, _) = self._config, x.shape
        if self._qkv is None:
            projected = mx.concatenate([self.q_proj(x), self.k_proj(x), self.v_proj(x)], axis=-1)
        else:
            projected = self._qkv(x)
        projected = projected.reshape(batch, length, -1, c.head_dim)
        rotated_heads = c.num_heads + c.num_kv_heads
        qk, v = projected[:, :, :rotated_heads], projected[:, :, rotated_heads:].swapaxes(1, 2)
        if rotation is None:
            qk = qk.swapaxes(1, 2)
        elif should_fold_heads(length, c.num_heads // c.num_kv_heads):
            # Rotation writes new arrays, here in an order whose heads fold without a copy.
            a_factors, b_factors = rotation
            qk = rotate(qk.swapaxes(1, 2), (a_factors.swapaxes(1, 2), b_factors.swapaxes(1, 2)))
        else:
            qk = rotate(qk, rotation).swapaxes(1, 2)
        return qk[:, : c.num_heads], qk[:, c.num_heads :], v


class MLP(nn.Module):
    """down(silu(gate(x)) * up(x))."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)
        self._gate_up: nn.Module | None = None

    def join(self) -> None:
        """Joins the two projections to one product."""
        self._gate_up = join_layers([self.gate_proj, self.up_proj])

    def middle(self, x: mx.array) -> mx.array:
        """Computes the input of `down_proj`."""
        if self._gate_up is None:
            return swiglu(self.gate_proj(x), self.up_proj(x))
        return swiglu(*mx.split(self._gate_up(x), 2, axis=-1))


class Layer(nn.Module):
    """Attention and MLP, each after a norm and added to its input."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self._scale = config.residual_scale
        self.input_layernorm = nn.RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.self_attn = Attention(config)
        self.post_attention_layernorm = nn.RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.mlp = MLP(config)

    def join(self) -> None:
        self.self_attn.join()
        self.mlp.join()

    def before_attention(
        self, x: mx.array, rotation: Rotation | None
    ) -> tuple[mx.array, mx.array, mx.array]:
        """Runs the layer up to attention; returns queries, keys and values."""
        return self.self_attn.project(self.input_layernorm(x), rotation)

    def after_attention(self, x: mx.array, attended: mx.array) -> mx.array:
        """From attention's result `attended` on, with `x` the layer's input there."""
        x = add_product(self.self_attn.o_proj, attended, x, self._scale)
        middle = self.mlp.middle(self.post_attention_layernorm(x))
        return add_product(self.mlp.down_proj, middle, x, self._scale)

    def __call__(self, x: mx.array, shared: PassContext, layer: int) -> mx.array:
        q, k, v = self.before_attention(x, shared.rotation)
        if shared.cache is not None:
            k, v = shared.cache.update(layer, k, v, shared.valid)
        attended = attend(q[:, :, shared.output_slice], k, v, shared.mask)
        return self.after_attention(x[:, shared.output_slice], attended)


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
        self._joined = False
        # (positions, 4, head_dim / 2): both of `Rotation` in one look-up. The underscore keeps the
        # table out of the parameters: checkpoints do not store it.
        self._table: mx.array | None = None
        if config.rope is not None:
            cos, sin = rope_table(config.rope, config.head_dim, np.arange(positions))
            self._table = mx.stack([cos, sin, -sin, cos], axis=1)

    def join(self) -> None:
        """Join the products of one input, once. The weights may not change afterwards."""
        if not self._joined:
            self._joined = True
            if self._table is not None:
                mx.eval(self._table)
            for layer in self.layers:
                layer.join()

    def __call__(
        self,
        x: mx.array,
        *,
        cache: KVCache | None = None,
        valid: mx.array | None = None,
        output_slice: slice = ALL_POSITIONS,
    ) -> mx.array:
        """(B, T, width) -> the normed output at the positions of `output_slice`, by default all.

        With a cache, attention is causal, and positions follow the cached ones; `valid` (B, T) is
        false on left padding. Without one, positions count from 0, and all see each other.
        """
        length = x.shape[1]
        mask: mx.array | str | None = None
        if cache is not None:
            self.join()
            cache.open(length)
            mask = cache.mask(length, self.config.num_heads)
        if valid is not None:
            valid = valid[:, None, :, None]
        full_pass = PassContext(self._rotation(length, cache), mask, cache, valid, ALL_POSITIONS)
        if length == 1 and cache is not None and on_gpu():
            return self._step(x, full_pass)
        for index, layer in enumerate(self.layers[:-1]):
            x = layer(x, full_pass, index)
        # Nobody reads the last layer's other positions. (A causal "wanted" is always a tail.)
        if isinstance(mask, mx.array):
            mask = mask[:, :, output_slice]
        last_pass = replace(full_pass, mask=mask, output_slice=output_slice)
        x = self.layers[-1](x, last_pass, len(self.layers) - 1)
        return self.norm(x)

    def _rotation(self, length: int, cache: KVCache | None) -> Rotation | None:
        if self._table is None:
            return None
        if cache is None:
            table = self._table[None, :length]
        else:
            table = self._table[cache.positions(length)]
        table = table[:, :, None]
        return table[..., :2, :], table[..., 2:, :]

    def _step(self, x: mx.array, shared: PassContext) -> mx.array:
        """Runs one new position per row, compiled for each number of rows but for the attention."""
        assert shared.cache is not None
        first_part, *later_parts = self._compiled_parts
        q, k, v = first_part(x, shared.rotation)
        for layer, part in enumerate(later_parts):
            k, v = shared.cache.update(layer, k, v)
            x, *projected = part(x, attend(q, k, v, shared.mask), shared.rotation)
            if projected:
                q, k, v = projected
        return x

    @functools.cached_property
    def _compiled_parts(self) -> list[Callable[..., tuple[mx.array, ...]]]:
        """The compiled parts before, between and after the attentions of the layers."""

        def first(x: mx.array, rotation: Rotation | None) -> tuple[mx.array, ...]:
            return self.layers[0].before_attention(x, rotation)

        def between(layer: Layer, following: Layer) -> Callable[..., tuple[mx.array, ...]]:
            def piece(
                x: mx.array, attended: mx.array, rotation: Rotation | None
            ) -> tuple[mx.array, ...]:
                x = layer.after_attention(x, attended)
                return x, *following.before_attention(x, rotation)

            return piece

        def last(x: mx.array, attended: mx.array, _: Rotation | None) -> tuple[mx.array, ...]:
            return (self.norm(self.layers[-1].after_attention(x, attended)),)

        pairs = zip(self.layers[:-1], self.layers[1:], strict=True)
        return [
            mx.compile(first, inputs=self.layers[0].state),
            *(
                mx.compile(between(*pair), inputs=[member.state for member in pair])
                for pair in pairs
            ),
            mx.compile(last, inputs=[self.layers[-1].state, self.norm.state]),
        ]
