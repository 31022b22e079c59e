"""What the flow's two networks are both made of: causal convolutions, who sees whom, attention.

Rows are padded on the right. What lies left of a position is all that a causal convolution sees,
so padding can leak through attention alone, where `Sight` keeps it out. What a layer needs of
inputs that went through it before is kept in a `Past`; without one, nothing was before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from speechbase.device import elementwise, on_cuda, on_gpu

MAX_SCORES = 1 << 28
"""Of a query for a key that are there at once, at most: 1 GB where they are written at all."""


class Past:
    """What each causal layer of one network keeps of what it saw; a copy costs nothing."""

    def __init__(self) -> None:
        self._arrays: dict[int, mx.array] = {}

    @property
    def arrays(self) -> list[mx.array]:
        """All of it, to be evaluated with what was made of it."""
        return list(self._arrays.values())

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self._arrays.values())

    def copy(self) -> Past:
        clone = Past()
        clone._arrays = dict(self._arrays)
        return clone

    def prepend(self, layer: nn.Module, x: mx.array, count: int) -> mx.array:
        """`x` (batch, time, channels) after the `count` inputs before it, zeros at first."""
        before = self._arrays.get(id(layer))
        if before is None:
            before = mx.zeros((x.shape[0], count, x.shape[2]), x.dtype)
        x = mx.concatenate([before, x], axis=1)
        self._arrays[id(layer)] = mx.contiguous(x[:, -count:])  # a slice would keep all of x alive
        return x

    def append(self, layer: nn.Module, x: mx.array) -> mx.array:
        """All that the layer saw, `x` (batch, time, ...) at its end."""
        before = self._arrays.get(id(layer))
        if before is not None:
            x = mx.concatenate([before, x], axis=1)
        self._arrays[id(layer)] = x
        return x

    def has_inputs_of(self, layer: nn.Module) -> bool:
        return id(layer) in self._arrays


@dataclass(frozen=True, slots=True)
class Sight:
    """Which keys the queries see: a mask (B or 1, 1, n or 1, keys), true where one is seen.

    None where all see all there is. `start` is the position of the first query.
    """

    mask: mx.array | None
    start: int = 0

    def mask_of(self, queries: slice) -> mx.array | None:
        """The mask of some of the queries."""
        if self.mask is None or self.mask.shape[2] == 1:
            return self.mask
        return self.mask[:, :, queries]


def row_sight(ends: Sequence[int], total: int, chunk: int | None = None, start: int = 0) -> Sight:
    """Who sees whom in rows that end at `ends`, of `total` positions with padding.

    The queries are those from `start` on. With `chunk` a position sees its whole chunk and what is
    before that, without all of its row.
    """
    limits = np.array(ends if len(set(ends)) > 1 else ends[:1], np.int32)[:, None]
    if chunk is not None:
        positions = np.arange(start, total, dtype=np.int32)
        limits = np.minimum((positions // chunk + 1) * chunk, limits)
    if limits.min() >= total:
        return Sight(None, start)
    return Sight((mx.arange(total) < mx.array(limits)[..., None])[:, None], start)


def blocks(queries: int, scores_per_query: int) -> list[slice]:
    """All queries, in as many parts as `MAX_SCORES` asks for where one has `scores_per_query` scores."""
    step = max(1, MAX_SCORES // max(1, scores_per_query))
    return [slice(first, min(first + step, queries)) for first in range(0, queries, step)]


def attend(
    q: mx.array,
    k: mx.array,
    v: mx.array,
    scale: float,
    bias: Callable[[slice], mx.array | None],
) -> mx.array:
    """Attention of (B, heads, n, d) to (B, kv_heads, L, d) -> (B, n, heads, d).

    `bias` gives the mask of some of the queries, or what is added to their scores.
    """
    scores_per_query = q.shape[0] * q.shape[1] * k.shape[2]
    parts = [
        mx.fast.scaled_dot_product_attention(
            q[:, :, block], k, v, scale=scale, mask=bias(block)
        ).swapaxes(1, 2)
        for block in blocks(q.shape[2], scores_per_query)
    ]
    return parts[0] if len(parts) == 1 else mx.concatenate(parts, axis=1)


def taps(x: mx.array, kernel: int, stride: int, dilation: int) -> mx.array:
    """(batch, time, channels) -> (batch, outputs, kernel * channels): what each output sees."""
    batch, time, channels = x.shape
    outputs = (time - dilation * (kernel - 1) - 1) // stride + 1
    strides = (time * channels, stride * channels, dilation * channels, 1)
    inputs = mx.as_strided(x, (batch, outputs, kernel, channels), strides)
    return inputs.reshape(batch, outputs, kernel * channels)


def padded(x: mx.array, before: int, after: int) -> mx.array:
    """With zeros before and after in time."""
    return mx.pad(x, [(0, 0), (before, after), (0, 0)]) if before or after else x


def convolved(
    x: mx.array, weight: mx.array, bias: mx.array | None = None, before: int = 0
) -> mx.array:
    """x (B, T, in) with `before` zeros in front, by weights (out, k, in), by stride 1.

    As a product of what each output sees, but on Metal: see `hift.CentredConv`.
    """
    if on_gpu() and not on_cuda():
        y = mx.conv_general(x, weight, padding=([before], [0]))
        return y if bias is None else y + bias
    inputs = taps(padded(x, before, 0), weight.shape[1], 1, 1)
    matrix = weight.reshape(weight.shape[0], -1).T
    return inputs @ matrix if bias is None else mx.addmm(bias, inputs, matrix)


class CausalConv(nn.Conv1d):
    """A convolution of stride 1 that sees the kernel - 1 inputs before each."""

    def __call__(self, x: mx.array, past: Past | None = None) -> mx.array:
        before = self.weight.shape[1] - 1
        if past is None:
            return convolved(x, self.weight, self.bias, before)
        return convolved(past.prepend(self, x, before), self.weight, self.bias)


def pointwise(conv: nn.Conv1d, x: mx.array) -> mx.array:
    """A convolution of kernel 1, as a product."""
    return mx.addmm(conv.bias, x, conv.weight[:, 0].T)


@elementwise
def mish(x: mx.array) -> mx.array:
    """x tanh(ln(1 + e^x)), with one exponential."""
    e = mx.exp(mx.minimum(x, 20.0))
    n = e * (e + 2.0)
    return x * (n / (n + 2.0))


@elementwise
def mish_plus(x: mx.array, addend: mx.array) -> mx.array:
    """mish(x) + other."""
    e = mx.exp(mx.minimum(x, 20.0))
    n = e * (e + 2.0)
    return x * (n / (n + 2.0)) + addend


@elementwise
def gelu(x: mx.array) -> mx.array:
    """By the error function, not by the tangent."""
    return 0.5 * x * (1.0 + mx.erf(x * 2**-0.5))
