"""Layers of the flow's encoder and estimator: causal convolutions, masks, attention.

Rows are padded on the right. A causal convolution sees only earlier positions, so padding could
leak through attention alone; `Sight` masks it there. A `Past` stores what a layer needs of its
earlier inputs; without one, inputs begin the row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from speechbase.device import elementwise, on_cuda, on_gpu

MAX_SCORES = 1 << 28
"""Attention scores that are computed at once, at most: 1 GB where they are written to memory."""


class Past:
    """Earlier inputs of each causal layer of a network; copies share their arrays."""

    def __init__(self) -> None:
        self._arrays: dict[int, mx.array] = {}

    @property
    def arrays(self) -> list[mx.array]:
        """All stored arrays, which callers evaluate together with the outputs."""
        return list(self._arrays.values())

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self._arrays.values())

    def copy(self) -> Past:
        clone = Past()
        clone._arrays = dict(self._arrays)
        return clone

    def prepend(self, layer: nn.Module, x: mx.array, count: int) -> mx.array:
        """Returns `x` (batch, time, channels) with the `count` inputs before it in front, at first
        zeros; stores the last `count` inputs."""
        before = self._arrays.get(id(layer))
        if before is None:
            before = mx.zeros((x.shape[0], count, x.shape[2]), x.dtype)
        x = mx.concatenate([before, x], axis=1)
        self._arrays[id(layer)] = mx.contiguous(x[:, -count:])  # a slice would keep all of x alive
        return x

    def append(self, layer: nn.Module, x: mx.array) -> mx.array:
        """Stores `x` (batch, time, ...), and returns all inputs of the layer so far."""
        before = self._arrays.get(id(layer))
        if before is not None:
            x = mx.concatenate([before, x], axis=1)
        self._arrays[id(layer)] = x
        return x

    def has_inputs_of(self, layer: nn.Module) -> bool:
        return id(layer) in self._arrays


@dataclass(frozen=True, slots=True)
class Sight:
    """An attention mask (B or 1, 1, n or 1, keys), true where a query sees a key.

    None if every query sees every key. `start` is the position of the first query.
    """

    mask: mx.array | None
    start: int = 0

    def mask_of(self, queries: slice) -> mx.array | None:
        """Returns the mask of a slice of the queries."""
        if self.mask is None or self.mask.shape[2] == 1:
            return self.mask
        return self.mask[:, :, queries]


def row_sight(ends: Sequence[int], total: int, chunk: int | None = None, start: int = 0) -> Sight:
    """Builds the mask for rows that end at `ends`, of `total` positions including padding.

    The queries begin at `start`. With `chunk` a position sees its own chunk and all before it;
    otherwise it sees its whole row.
    """
    limits = np.array(ends if len(set(ends)) > 1 else ends[:1], np.int32)[:, None]
    if chunk is not None:
        positions = np.arange(start, total, dtype=np.int32)
        limits = np.minimum((positions // chunk + 1) * chunk, limits)
    if limits.min() >= total:
        return Sight(None, start)
    return Sight((mx.arange(total) < mx.array(limits)[..., None])[:, None], start)


def blocks(queries: int, scores_per_query: int) -> list[slice]:
    """Splits queries of `scores_per_query` scores each into slices of at most `MAX_SCORES`."""
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

    `bias` returns the mask of a slice of the queries, or a term to add to their scores.
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
    """Gathers the inputs of each output of a convolution.

    (batch, time, channels) -> (batch, outputs, kernel * channels).
    """
    batch, time, channels = x.shape
    outputs = (time - dilation * (kernel - 1) - 1) // stride + 1
    strides = (time * channels, stride * channels, dilation * channels, 1)
    inputs = mx.as_strided(x, (batch, outputs, kernel, channels), strides)
    return inputs.reshape(batch, outputs, kernel * channels)


def padded(x: mx.array, before: int, after: int) -> mx.array:
    """Adds `before` and `after` steps of zeros along time."""
    return mx.pad(x, [(0, 0), (before, after), (0, 0)]) if before or after else x


def convolved(
    x: mx.array, weight: mx.array, bias: mx.array | None = None, before: int = 0
) -> mx.array:
    """Convolves x (B, T, in), with `before` zeros in front, by weights (out, k, in) at stride 1.

    Computed as one product of each output's inputs, except on Metal: see `hift.CentredConv`.
    """
    if on_gpu() and not on_cuda():
        y = mx.conv_general(x, weight, padding=([before], [0]))
        return y if bias is None else y + bias
    inputs = taps(padded(x, before, 0), weight.shape[1], 1, 1)
    matrix = weight.reshape(weight.shape[0], -1).T
    return inputs @ matrix if bias is None else mx.addmm(bias, inputs, matrix)


class CausalConv(nn.Conv1d):
    """A convolution of stride 1 whose outputs see the kernel - 1 inputs before their own."""

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
    """GELU by the error function, not by the tanh approximation."""
    return 0.5 * x * (1.0 + mx.erf(x * 2**-0.5))
