"""Layers of several parts: rows of different length, convolutions, LSTMs, blocks with a style.

Arrays are (batch, time, channels); rows are padded on the right. Padding leaks through everything
that looks along time, so convolutions get zeros beyond a row's end, means leave padding out, and
the backward half of an LSTM begins at each row's own end (`Rows`). A style is (batch, 1, size).
Modules are named as the checkpoint's keys.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import mlx.core as mx
import mlx.nn as nn

from kokoro82m.config import EPSILON, SLOPE
from speechbase.device import elementwise, on_cuda, on_gpu

MIN_BLOCK = 16


# ---- elementwise kernels


@elementwise
def _leaky_affine(x: mx.array, scale: mx.array, shift: mx.array, mask: mx.array) -> mx.array:
    y = x.astype(mx.float32) * scale + shift
    return (mx.maximum(y, SLOPE * y) * mask).astype(x.dtype)


@elementwise
def _squared_distance(x: mx.array, mean: mx.array) -> mx.array:
    return mx.square(x - mean)


@elementwise
def _affine(
    gamma: mx.array, beta: mx.array, mean: mx.array, variance: mx.array
) -> tuple[mx.array, mx.array]:
    scale = (1 + gamma) * mx.rsqrt(variance + EPSILON)
    return scale, beta - mean * scale


@elementwise
def _residual(x: mx.array, y: mx.array, bias: mx.array) -> mx.array:
    return (x + y + bias) * math.sqrt(0.5)


@elementwise
def _lstm_cell(
    i: mx.array, f: mx.array, g: mx.array, o: mx.array, c: mx.array
) -> tuple[mx.array, mx.array]:
    """One step of an LSTM: the gates and the cells before -> the cells and the outputs."""
    c = mx.sigmoid(f) * c + mx.sigmoid(i) * mx.tanh(g)
    return c, mx.sigmoid(o) * mx.tanh(c)


class Rows:
    """The lengths of a batch's rows, which are padded to `size` time steps.

    `block` is the number of steps of a frame (or a token), a divisor of `size`.
    """

    def __init__(self, lengths: Sequence[int], size: int, block: int = 1) -> None:
        self.lengths, self.size, self.block = tuple(lengths), size, block
        self.is_ragged = min(lengths) < size

    def scale(self, factor: int, extra: int = 0) -> Rows:
        """Returns rows with `factor` times the steps, and `extra` steps in a block at the end."""
        lengths = [factor * length + extra for length in self.lengths]
        block = factor * self.block
        return Rows(lengths, factor * self.size + (block if extra else 0), block)

    @cached_property
    def ends(self) -> mx.array:
        """(batch, 1) lengths."""
        return mx.array(self.lengths)[:, None]

    @cached_property
    def mask(self) -> mx.array:
        """(batch or 1, time or 1, 1): 1 within a row, 0 beyond its end."""
        if not self.is_ragged:
            return mx.ones((1, 1, 1))
        return (mx.arange(self.size) < self.ends)[..., None].astype(mx.float32)

    @cached_property
    def attention_mask(self) -> mx.array | None:
        """(batch, 1, 1, time), true within a row."""
        return (mx.arange(self.size) < self.ends)[:, None, None] if self.is_ragged else None

    def reverse(self, x: mx.array) -> mx.array:
        """Reverses each row (time, channels) up to its own end; padding stays in place."""
        if not self.is_ragged:
            return x[:, ::-1]
        steps = mx.arange(self.size)
        order = mx.where(steps < self.ends, self.ends - 1 - steps, steps)
        return mx.take_along_axis(x, order[..., None], axis=1)

    def moments(self, x: mx.array) -> Moments:
        """Computes mean and variance over the steps within each row."""
        x = x.astype(mx.float32)
        mean = self._mean(x)
        return Moments(mean, self._mean(_squared_distance(x, mean)))

    def _mean(self, x: mx.array) -> mx.array:
        """Averages over each row, as a product with each step's share.

        Long rows are first summed by blocks: a GPU has more parallel work, and float32 loses less.
        """
        sums = self._shares @ x.reshape(len(x), -1, self._shares.shape[-1], x.shape[-1])
        return sums[:, 0] if sums.shape[1] == 1 else mx.sum(sums, axis=1)

    @cached_property
    def _shares(self) -> mx.array:
        """(batch, blocks, 1, steps of a block)."""
        shares = (mx.arange(self.size) < self.ends) / self.ends
        block = self.block if self.block >= MIN_BLOCK else self.size
        return shares.reshape(len(self.lengths), -1, 1, block)


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Mean and variance over time, (batch, 1, channels) float32."""

    mean: mx.array
    variance: mx.array


# ---- convolutions


def pad_time(x: mx.array, before: int, after: int) -> mx.array:
    """Adds `before` and `after` steps of zeros along time."""
    return mx.pad(x, [(0, 0), (before, after), (0, 0)]) if before or after else x


def convolve(x: mx.array, weight: mx.array, padding: int = 0, dilation: int = 1) -> mx.array:
    """Convolves x (B, n, in) by a weight (out, k, in) -> (B, n + 2 p - (k - 1) d, out).

    Computed as a sum of products, one for each step of the kernel: on a CPU 1.6 times as fast as
    one product of gathered inputs, without a copy of these; on CUDA without a cuDNN plan for every
    length. On Metal, MLX's own convolution is one kernel.
    """
    kernel = weight.shape[1]
    if on_gpu() and not on_cuda() and kernel > 1:
        return mx.conv1d(x, weight, padding=padding, dilation=dilation)
    x = pad_time(x, padding, padding)
    size = x.shape[1] - dilation * (kernel - 1)
    y = x[:, :size] @ weight[:, 0].T
    for k in range(1, kernel):
        start = dilation * k
        y = mx.addmm(y, x[:, start : start + size], weight[:, k].T)
    return y


class Conv1d(nn.Conv1d):
    """A centred convolution of stride 1, by an odd kernel."""

    def __init__(
        self, inputs: int, outputs: int, kernel: int, *, dilation: int = 1, bias: bool = True
    ) -> None:
        super().__init__(inputs, outputs, kernel, dilation=dilation, bias=bias)

    def lay_out(self) -> None:
        """Arranges the weight in memory for the products; its axes do not change."""
        self.weight = mx.contiguous(self.weight.transpose(1, 2, 0)).transpose(2, 0, 1)

    def without_bias(self, x: mx.array) -> mx.array:
        """Convolves without the bias, which the caller adds in a kernel of its own, or which a norm
        would remove."""
        padding = self.dilation * (self.weight.shape[1] // 2)
        return convolve(x, self.weight, padding, self.dilation)

    def __call__(self, x: mx.array) -> mx.array:
        return self.without_bias(x) + self.bias


class Pool(nn.Module):
    """Doubles the steps by a depthwise transposed convolution.

    Kernel 3, stride 2, padding 1 at both ends, and one more output at the end.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = mx.zeros((channels, 1, 3))
        self.bias = mx.zeros((channels,))

    def __call__(self, x: mx.array) -> mx.array:
        batch, time, channels = x.shape
        after, centre, before = self.weight[:, 0].T
        even = x * centre + self.bias
        odd = x * before + pad_time(x, 0, 1)[:, 1:] * after + self.bias
        return mx.stack([even, odd], axis=2).reshape(batch, 2 * time, channels)


# ---- recurrence


class BiLSTM(nn.Module):
    """A bidirectional LSTM of one layer: (B, T, inputs) -> (B, T, 2 * hidden), zero beyond the end.

    Both directions of all rows take each step together; what the inputs add to the gates is one
    product for all steps.
    """

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        for end in ("", "_reverse"):
            self[f"weight_ih_l0{end}"] = mx.zeros((4 * hidden, inputs))
            self[f"weight_hh_l0{end}"] = mx.zeros((4 * hidden, hidden))
            self[f"bias_ih_l0{end}"] = mx.zeros((4 * hidden,))
            self[f"bias_hh_l0{end}"] = mx.zeros((4 * hidden,))

    def __call__(self, x: mx.array, rows: Rows) -> mx.array:
        weight = mx.concatenate([self.weight_ih_l0, self.weight_ih_l0_reverse])
        recurrent = mx.stack([self.weight_hh_l0.T, self.weight_hh_l0_reverse.T])
        bias = mx.concatenate(
            [self.bias_ih_l0 + self.bias_hh_l0, self.bias_ih_l0_reverse + self.bias_hh_l0_reverse]
        )
        forward, backward = mx.split(mx.addmm(bias, x, weight.T), 2, axis=-1)
        # (T, 2, B, 4 * hidden), so that a step lies in one piece.
        steps = mx.stack([forward, rows.reverse(backward)]).transpose(2, 0, 1, 3)
        c = h = mx.zeros((2, x.shape[0], self.weight_hh_l0.shape[1]))
        outputs = []
        for step in mx.contiguous(steps):
            c, h = _lstm_cell(*mx.split(mx.addmm(step, h, recurrent), 4, axis=-1), c)
            outputs.append(h)
        forward, backward = mx.stack(outputs, axis=2)
        return mx.concatenate([forward, rows.reverse(backward)], axis=-1) * rows.mask


# ---- style


class AdaIN1d(nn.Module):
    """Instance norm over a row's steps, then scale and shift by the style.

    Returns both as one scale and one shift (B, 1, channels), which the caller applies. A bias of
    its input changes nothing.
    """

    def __init__(self, style_size: int, channels: int) -> None:
        super().__init__()
        self.fc = nn.Linear(style_size, 2 * channels)

    def __call__(self, moments: Moments, style: mx.array) -> tuple[mx.array, mx.array]:
        gamma, beta = mx.split(self.fc(style), 2, axis=-1)
        return _affine(gamma, beta, moments.mean, moments.variance)


class AdainResBlk1d(nn.Module):
    """Two convolutions with a style and a shortcut, maybe to twice as many steps.

    `rows` are those of the input; beyond their ends, inputs and outputs are arbitrary.
    """

    def __init__(
        self, inputs: int, outputs: int, style_size: int, *, upsample: bool = False
    ) -> None:
        super().__init__()
        self.conv1 = Conv1d(inputs, outputs, 3)
        self.conv2 = Conv1d(outputs, outputs, 3)
        self.norm1 = AdaIN1d(style_size, inputs)
        self.norm2 = AdaIN1d(style_size, outputs)
        if inputs != outputs:
            self.conv1x1 = Conv1d(inputs, outputs, 1, bias=False)
        if upsample:
            self.pool = Pool(inputs)

    def __call__(self, x: mx.array, style: mx.array, rows: Rows) -> mx.array:
        y = _leaky_affine(x, *self.norm1(rows.moments(x), style), rows.mask)
        if "conv1x1" in self:
            x = self.conv1x1.without_bias(x)
        if "pool" in self:
            rows = rows.scale(2)
            y = self.pool(y) * rows.mask.astype(y.dtype)
            x = mx.repeat(x, 2, axis=1)  # officially before conv1x1, which sees single steps
        y = self.conv1.without_bias(y)
        y = _leaky_affine(y, *self.norm2(rows.moments(y), style), rows.mask)
        return _residual(x, self.conv2.without_bias(y), self.conv2.bias)
