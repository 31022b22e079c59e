"""iSTFTNet: the decoder's output and the source's spectrum -> samples.

Modules are named as the checkpoint's keys, weight norms folded. Arrays are (batch, time, channels).
"""

from __future__ import annotations

import math

import mlx.core as mx
import mlx.nn as nn

from kokoro82m.config import (
    LAST_SLOPE,
    NOISE_DILATIONS,
    NOISE_KERNELS,
    UPSAMPLING_SLOPE,
    GeneratorConfig,
)
from kokoro82m.layers import AdaIN1d, Conv1d, Moments, Rows, convolve, pad_time
from kokoro82m.source import Source
from kokoro82m.stft import synthesise
from speechbase.device import compute_now, elementwise
from speechbase.functions import snake


@elementwise
def _snake(
    x: mx.array, scale: mx.array, shift: mx.array, alpha: mx.array, mask: mx.array
) -> mx.array:
    return (snake(x.astype(mx.float32) * scale + shift, alpha) * mask).astype(x.dtype)


@elementwise
def _sum(x: mx.array, y: mx.array, bias: mx.array) -> mx.array:
    return x + y + bias


@elementwise
def _leaky_mean(slope: float, mask: mx.array, *parts: mx.array) -> mx.array:
    x = sum(parts[1:], parts[0]) * (1 / len(parts))
    return mx.maximum(x, slope * x) * mask.astype(x.dtype)


class AdaINResBlock1(nn.Module):
    """For each dilation: x + conv(snake(norm(conv_dilated(snake(norm(x))))))."""

    def __init__(
        self, channels: int, kernel: int, dilations: tuple[int, ...], style_size: int
    ) -> None:
        super().__init__()
        self.convs1 = [
            Conv1d(channels, channels, kernel, dilation=dilation) for dilation in dilations
        ]
        self.convs2 = [Conv1d(channels, channels, kernel) for _ in dilations]
        self.adain1 = [AdaIN1d(style_size, channels) for _ in dilations]
        self.adain2 = [AdaIN1d(style_size, channels) for _ in dilations]
        self.alpha1 = [mx.ones((1, channels, 1)) for _ in dilations]
        self.alpha2 = [mx.ones((1, channels, 1)) for _ in dilations]

    def __call__(self, x: mx.array, moments: Moments, style: mx.array, rows: Rows) -> mx.array:
        """`moments` are those of x, which blocks of the same input share."""
        for n, (dilated, conv) in enumerate(zip(self.convs1, self.convs2, strict=True)):
            moments = rows.moments(x) if n else moments
            alpha1, alpha2 = self.alpha1[n].reshape(-1), self.alpha2[n].reshape(-1)
            y = _snake(x, *self.adain1[n](moments, style), alpha1, rows.mask)
            y = dilated.without_bias(y)
            y = _snake(y, *self.adain2[n](rows.moments(y), style), alpha2, rows.mask)
            x = _sum(x, conv.without_bias(y), conv.bias)
        return x


class UpConv(nn.ConvTranspose1d):
    """Upsamples by `rate` with a transposed convolution of kernel 2 * rate.

    A group of `rate` outputs depends on two inputs, so it is computed as a convolution of kernel 2
    whose output channels are then laid out in time.
    """

    def __init__(self, inputs: int, outputs: int, rate: int) -> None:
        super().__init__(inputs, outputs, 2 * rate, rate, rate // 2)
        self._groups = mx.zeros((rate * outputs, 2, inputs))

    def lay_out(self) -> None:
        """Computes the weight of that convolution; to be called once the weights are loaded."""
        outputs, kernel, inputs = self.weight.shape
        halves = self.weight.reshape(outputs, 2, kernel // 2, inputs)[:, ::-1]
        groups = halves.transpose(1, 3, 2, 0).reshape(2, inputs, -1)
        self._groups = mx.contiguous(groups).transpose(2, 0, 1)

    def __call__(self, x: mx.array) -> mx.array:
        batch, time, _ = x.shape
        groups = convolve(x, self._groups, padding=1)
        start = self.padding
        y = groups.reshape(batch, -1, self.bias.size)[:, start : start + time * self.stride]
        return y + self.bias


class DownConv(nn.Conv1d):
    """Downsamples by `rate` with a convolution of kernel 2 * rate."""

    def __init__(self, inputs: int, outputs: int, rate: int) -> None:
        super().__init__(inputs, outputs, 2 * rate, rate, rate // 2)

    def __call__(self, x: mx.array) -> mx.array:
        rate, inputs = self.stride, x.shape[-1]
        groups = pad_time(x, self.padding, self.padding).reshape(len(x), -1, rate * inputs)
        return convolve(groups, self.weight.reshape(-1, 2, rate * inputs)) + self.bias


class Generator(nn.Module):
    """The decoder's output (B, 2F, channels) -> samples (B, 600F)."""

    def __init__(self, config: GeneratorConfig, style_size: int) -> None:
        super().__init__()
        self._config = config
        bins, rates = config.n_fft + 2, config.rates
        widths = [config.channels >> n for n in range(len(rates) + 1)]
        self.m_source = Source()
        self.ups = [UpConv(*stage) for stage in zip(widths, widths[1:], rates, strict=False)]
        strides = [math.prod(rates[n:]) for n in range(1, len(rates))]
        self.noise_convs: list[nn.Module] = [
            DownConv(bins, width, stride)
            for width, stride in zip(widths[1:], strides, strict=False)
        ]
        self.noise_convs.append(Conv1d(bins, widths[-1], 1))
        kernel, last_kernel = NOISE_KERNELS
        kernels = [*[kernel] * len(strides), last_kernel]
        self.noise_res = [
            AdaINResBlock1(width, kernel, NOISE_DILATIONS, style_size)
            for width, kernel in zip(widths[1:], kernels, strict=True)
        ]
        self.resblocks = [
            AdaINResBlock1(width, kernel, dilations, style_size)
            for width in widths[1:]
            for kernel, dilations in zip(config.kernels, config.dilations, strict=True)
        ]
        self.conv_post = Conv1d(widths[-1], bins, 7)

    def __call__(self, x: mx.array, style: mx.array, spectrum: mx.array, rows: Rows) -> mx.array:
        """`spectrum` (B, 120F + 120, 22) is `analyse` of the source, of which 120F + 1 windows are
        in use; `rows` are the rows of x.

        Values beyond a row's end are arbitrary. On a GPU each block is evaluated by itself, so that
        the memory of one is free before the next.
        """
        parts, blocks = [x], len(self._config.kernels)
        for n, (up, rate) in enumerate(zip(self.ups, self._config.rates, strict=True)):
            x = up(_leaky_mean(UPSAMPLING_SLOPE, rows.mask, *parts))
            rows = rows.scale(rate, extra=n + 1 == len(self.ups))
            missing_steps = rows.size - x.shape[1]
            if missing_steps:  # in the last stage: the spectrum has a step more than there are hops
                x = pad_time(mx.concatenate([x[:, 1:2], x], axis=1), 0, missing_steps - 1)
            x = x + self._source_features(n, spectrum, style, rows).astype(x.dtype)
            moments = rows.moments(x)
            parts = [
                compute_now(block(x, moments, style, rows))
                for block in self.resblocks[n * blocks : (n + 1) * blocks]
            ]
        x = self.conv_post(_leaky_mean(LAST_SLOPE, rows.mask, *parts).astype(mx.float32))
        return synthesise(x, rows, self._config.n_fft)

    def _source_features(self, n: int, spectrum: mx.array, style: mx.array, rows: Rows) -> mx.array:
        """Returns the source's features for stage `n`."""
        x = self.noise_convs[n](spectrum)[:, : rows.size]
        return compute_now(self.noise_res[n](x, rows.moments(x), style, rows))
