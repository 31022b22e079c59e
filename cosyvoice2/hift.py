"""HiFT, the vocoder: mel -> pitch, and mel with a source signal -> samples, in float32.

A neural source filter: the network predicts a spectrum of 16 samples every 4 samples, from the mel
and from the spectrum of the `source` (harmonics of the pitch, and noise; see `source.py`). Every
layer is centred: a frame's samples depend on `reach` frames on either side, and `vocoder.py` cuts
rows into windows accordingly. Modules are named as the keys of hift.pt, with weight norms folded;
arrays are (batch, time, channels). Knows no rows, windows or randomness.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from cosyvoice2.config import MELS, VocoderConfig
from cosyvoice2.layers import padded, taps
from speechbase.device import RunOnce, elementwise, on_cuda, on_gpu
from speechbase.functions import snake

PITCH_LAYERS = 5
"""Convolutions of kernel 3, and so the frames on either side that a frame's pitch depends on."""
LAST_SLOPE = 0.01  # of the last leaky ReLU; the others' is a setting
MAX_MAGNITUDE = 100.0  # limit of a bin's magnitude

_snake = elementwise(snake)


@elementwise
def _snake_of_sum(x: mx.array, bias: mx.array, alpha: mx.array) -> mx.array:
    return snake(x + bias, alpha)


@elementwise
def _sum(x: mx.array, y: mx.array, bias: mx.array) -> mx.array:
    return x + y + bias


@elementwise
def _sum_and_snake(
    x: mx.array, y: mx.array, bias: mx.array, alpha: mx.array
) -> tuple[mx.array, mx.array]:
    x = x + y + bias
    return x, snake(x, alpha)


@elementwise
def _leaky_mean(slope: float, *parts: mx.array) -> mx.array:
    """The leaky ReLU of the mean of the parts."""
    x = sum(parts[1:], parts[0]) * (1 / len(parts))
    return mx.maximum(x, x * slope)


@elementwise
def _elu(x: mx.array) -> mx.array:
    return mx.where(x > 0, x, mx.expm1(x))


@elementwise
def _spectrum(loudness: mx.array, angle: mx.array, quarter: mx.array) -> mx.array:
    """Real and imaginary parts, from sines alone: a cosine is a sine shifted by `quarter`."""
    return mx.minimum(mx.exp(loudness), MAX_MAGNITUDE) * mx.sin(mx.sin(angle) + quarter)


@elementwise
def _clipped(x: mx.array, envelope: mx.array, limit: float) -> mx.array:
    return mx.minimum(mx.maximum(x * envelope, -limit), limit)


class CentredConv(nn.Conv1d):
    """A centred convolution, computed as one matrix product of each output's gathered inputs.

    On a CPU this is several times faster than MLX's convolution, and on CUDA it needs no cuDNN plan
    for every length. On Metal MLX's own is used: one kernel, without copies of the inputs.
    """

    def __init__(self, inputs: int, outputs: int, kernel: int, *, dilation: int = 1) -> None:
        pad = dilation * (kernel - 1) // 2
        super().__init__(inputs, outputs, kernel, padding=pad, dilation=dilation)

    def lay_out(self) -> None:
        """Arranges the weight in memory for the product; its axes do not change."""
        self.weight = mx.contiguous(self.weight.transpose(1, 2, 0)).transpose(2, 0, 1)

    def without_bias(self, x: mx.array) -> mx.array:
        """Convolves without the bias, which the caller adds in a kernel of its own."""
        if on_gpu() and not on_cuda():
            return mx.conv1d(x, self.weight, self.stride, self.padding, self.dilation)
        return self._inputs_of_outputs(x) @ self._matrix()

    def __call__(self, x: mx.array) -> mx.array:
        if on_gpu() and not on_cuda():
            return self.without_bias(x) + self.bias
        return mx.addmm(self.bias, self._inputs_of_outputs(x), self._matrix())

    def _inputs_of_outputs(self, x: mx.array) -> mx.array:
        x = padded(x, self.padding, self.padding)
        return taps(x, self.weight.shape[1], self.stride, self.dilation)

    def _matrix(self) -> mx.array:
        outputs, kernel, inputs = self.weight.shape
        return self.weight.transpose(1, 2, 0).reshape(kernel * inputs, outputs)


class SourceDown(CentredConv):
    """Reduces the source's spectrum to a stage's rate, 1 / stride of its frames."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        nn.Conv1d.__init__(
            self, inputs, outputs, 2 * stride if stride > 1 else 1, stride, stride // 2
        )


class Upsampling(nn.ConvTranspose1d):
    """A transposed convolution: a group of `stride` outputs is one product of its few inputs."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int) -> None:
        super().__init__(inputs, outputs, kernel, stride, (kernel - stride) // 2)
        self.sees = -(-kernel // stride)
        self._phases: mx.array | None = None

    def lay_out(self) -> mx.array:
        """The product's matrix (sees * inputs, stride * outputs), oldest input first; cached."""
        if self._phases is None:
            outputs, kernel, inputs = self.weight.shape
            missing = self.sees * self.stride - kernel
            weight = mx.pad(self.weight, [(0, 0), (0, missing), (0, 0)])
            weight = weight.reshape(outputs, self.sees, self.stride, inputs)[:, ::-1]
            shape = (self.sees * inputs, self.stride * outputs)
            self._phases = mx.contiguous(weight.transpose(1, 3, 2, 0)).reshape(shape)
        return self._phases

    def __call__(self, x: mx.array) -> mx.array:
        batch, time, _ = x.shape
        inputs = taps(padded(x, self.sees - 1, self.sees - 1), self.sees, 1, 1)
        groups = inputs @ self.lay_out()
        y = groups.reshape(batch, -1, self.bias.size)
        return y[:, self.padding : self.padding + time * self.stride] + self.bias


class Alpha(nn.Module):
    """The parameter of a snake activation, x + sin(alpha x)^2 / alpha: one alpha per channel."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.alpha = mx.ones((channels,))


class ResBlock(nn.Module):
    """For each dilation: x + conv(snake(conv_dilated(snake(x))))."""

    def __init__(self, channels: int, kernel: int, dilations: tuple[int, ...]) -> None:
        super().__init__()
        self.convs1 = [
            CentredConv(channels, channels, kernel, dilation=dilation) for dilation in dilations
        ]
        self.convs2 = [CentredConv(channels, channels, kernel) for _ in dilations]
        self.activations1 = [Alpha(channels) for _ in dilations]
        self.activations2 = [Alpha(channels) for _ in dilations]

    def __call__(self, x: mx.array) -> mx.array:
        active = _snake(x, self.activations1[0].alpha)
        next_alphas = [alpha.alpha for alpha in self.activations1[1:]]
        for n, (dilated, conv, between) in enumerate(
            zip(self.convs1, self.convs2, self.activations2, strict=True)
        ):
            y = dilated.without_bias(active)
            y = conv.without_bias(_snake_of_sum(y, dilated.bias, between.alpha))
            if n < len(next_alphas):
                x, active = _sum_and_snake(x, y, conv.bias, next_alphas[n])
        return _sum(x, y, conv.bias)


class ELU(nn.Module):
    """The ELU activation, uncompiled on a CPU, unlike MLX's own."""

    def __call__(self, x: mx.array) -> mx.array:
        return _elu(x)


class PitchPredictor(nn.Module):
    """Mel (batch, frames, 80) -> Hz (batch, frames)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        widths = [MELS, *[channels] * PITCH_LAYERS]
        pairs = ([CentredConv(a, b, 3), ELU()] for a, b in itertools.pairwise(widths))
        self.condnet = list(itertools.chain.from_iterable(pairs))
        self.classifier = nn.Linear(channels, 1)

    def __call__(self, mel: mx.array) -> mx.array:
        x = mel
        for layer in self.condnet:
            x = layer(x)
        return mx.abs(self.classifier(x)[..., 0])


class SourceModule(nn.Module):
    """The source's only layer, which weighs the harmonics."""

    def __init__(self, sines: int) -> None:
        super().__init__()
        self.l_linear = nn.Linear(sines, 1)


class HiFT(nn.Module):
    """The vocoder of hift.pt."""

    def __init__(self, config: VocoderConfig) -> None:
        super().__init__()
        self.config = config
        bins = config.n_fft // 2 + 1
        widths = [config.base_channels >> n for n in range(len(config.rates) + 1)]
        self.m_source = SourceModule(config.harmonics + 1)
        self.conv_pre = CentredConv(MELS, config.base_channels, 7)
        self.ups = [
            Upsampling(inputs, outputs, kernel, rate)
            for (inputs, outputs), kernel, rate in zip(
                itertools.pairwise(widths), config.kernels, config.rates, strict=True
            )
        ]
        self.source_downs = [
            SourceDown(2 * bins, width, math.prod(config.rates[n + 1 :]))
            for n, width in enumerate(widths[1:])
        ]
        self.source_resblocks = [
            ResBlock(*each)
            for each in zip(widths[1:], config.source_kernels, config.source_dilations, strict=True)
        ]
        self.resblocks = [
            ResBlock(width, kernel, dilations)
            for width in widths[1:]
            for kernel, dilations in zip(config.res_kernels, config.res_dilations, strict=True)
        ]
        self.conv_post = CentredConv(widths[-1], 2 * bins, 7)
        self.f0_predictor = PitchPredictor(config.f0_channels)
        rates = itertools.accumulate(config.rates, operator.mul)
        self.widest = max(width * rate for width, rate in zip(widths[1:], rates, strict=True))
        """Numbers in the widest layer's output for each mel frame."""
        self._prepare_once = RunOnce()

    def ready(self) -> None:
        """Arranges and evaluates the weights, once; called before every computation.

        Raises RuntimeError if a GPU failed on them, also on later calls.
        """

        def make() -> list[object]:
            layers = [x for x in self.modules() if isinstance(x, CentredConv | Upsampling)]
            return [[layer.lay_out() for layer in layers], self.parameters()]

        self._prepare_once(make)

    def pitch(self, mel: mx.array) -> mx.array:
        """Mel (batch, frames, 80) -> fundamental frequency in Hz (batch, frames)."""
        return self.f0_predictor(mel)

    def decode(self, mel: mx.array, source: mx.array) -> mx.array:
        """Mel (batch, frames, 80), source (batch, n) -> samples (batch, n), n = frames * 480.

        If the start of the source is replaced by the end of an earlier call's, this equals the
        official inference with a cached source.
        """
        c = self.config
        spectrum, parts = self.analyse(source), [self.conv_pre(mel)]
        blocks = len(c.res_kernels)
        for n, up in enumerate(self.ups):
            x = up(_leaky_mean(c.slope, *parts))
            if n + 1 == len(self.ups):  # one frame of the spectrum more than there are hops
                x = mx.concatenate([x[:, 1:2], x], axis=1)
            x = x + self.source_resblocks[n](self.source_downs[n](spectrum))
            parts = [block(x) for block in self.resblocks[n * blocks : (n + 1) * blocks]]
        return self.synthesise(self.conv_post(_leaky_mean(LAST_SLOPE, *parts)))

    def analyse(self, source: mx.array) -> mx.array:
        """Samples (batch, n) -> their spectrum (batch, n / hop + 1, 2 * bins), real parts first."""
        half, hop = self.config.n_fft // 2, self.config.hop
        mirrored_start, mirrored_end = source[:, half:0:-1], source[:, -2 : -half - 2 : -1]
        mirrored = mx.concatenate([mirrored_start, source, mirrored_end], axis=1)[..., None]
        return taps(mirrored, 2 * half, hop, 1) @ _analysis(2 * half)

    def synthesise(self, x: mx.array) -> mx.array:
        """The last layer (batch, n / hop + 1, 2 * bins) -> samples (batch, n)."""
        c = self.config
        loudness, angle = mx.split(x[..., None, :], 2, axis=-1)
        quarter = mx.array([[math.pi / 2], [0.0]])
        spectrum = _spectrum(loudness, angle, quarter).reshape(x.shape)
        parts, ahead = c.n_fft // c.hop, c.n_fft // 2 // c.hop
        spectrum = padded(spectrum, parts - 1 - ahead, ahead - 1)
        samples = taps(spectrum, parts, 1, 1) @ _synthesis(c.n_fft, c.hop)
        envelope = _envelope(samples.shape[1], c.n_fft, c.hop)
        return _clipped(samples, envelope, c.limit).reshape(x.shape[0], -1)


def reach(config: VocoderConfig) -> int:
    """Returns how many frames on either side a frame's samples depend on, by mel or source.

    Follows the samples of frame 0 back through the layers, in the time steps of each layer.
    """
    ahead, hops = config.n_fft // 2 // config.hop, math.prod(config.rates)
    first, last = ahead + 1 - config.n_fft // config.hop - 3, hops - 1 + ahead + 3
    furthest = 0
    stages = list(zip(config.rates, config.kernels, strict=True))
    for n, (rate, kernel) in reversed(list(enumerate(stages))):
        blocks = zip(config.res_kernels, config.res_dilations, strict=True)
        block_reach = max(_block_reach(*block) for block in blocks)
        first, last = first - block_reach, last + block_reach
        source_reach = _block_reach(config.source_kernels[n], config.source_dilations[n])
        stride = math.prod(config.rates[n + 1 :])
        # The strided convolution reaches a stride, the source's spectrum half its length.
        begin, end = (
            (first - source_reach) * stride - stride - ahead,
            (last + source_reach + 1) * stride + ahead,
        )
        furthest = max(furthest, -(begin // hops), (end - 1) // hops)
        mirrored = n + 1 == len(stages)
        pad = (kernel - rate) // 2
        first = -((kernel - 1 - pad - (first - mirrored)) // rate)
        last = (last - mirrored + pad) // rate
    return max(furthest, 3 - first, last + 3)


def _block_reach(kernel: int, dilations: tuple[int, ...]) -> int:
    """Steps on either side that an output of a `ResBlock` depends on."""
    return sum((kernel - 1) // 2 * (dilation + 1) for dilation in dilations)


# ---- fixed matrices


def _hann(length: int) -> np.ndarray:
    """A periodic Hann window, float64."""
    return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(length) / length)


def _waves(n_fft: int) -> tuple[np.ndarray, np.ndarray]:
    """Cosines and sines (n_fft, bins)."""
    angles = 2 * np.pi * np.outer(np.arange(n_fft), np.arange(n_fft // 2 + 1)) / n_fft
    return np.cos(angles), np.sin(angles)


@functools.cache
def _analysis(n_fft: int) -> mx.array:
    """(n_fft, 2 * bins): a windowed Fourier transform."""
    cosines, sines = _waves(n_fft)
    return mx.array((_hann(n_fft)[:, None] * np.hstack([cosines, -sines])).astype(np.float32))


@functools.cache
def _synthesis(n_fft: int, hop: int) -> mx.array:
    """(parts * 2 * bins, hop): the inverse transform of the frames that overlap in a hop.

    The oldest frame comes first. Divided by the sum of the squared windows, a constant.
    """
    cosines, sines = _waves(n_fft)
    weights = np.full(n_fft // 2 + 1, 2.0)
    weights[[0, -1]] = 1
    window, squares = _hann(n_fft), _squares(n_fft, hop)
    inverse = np.hstack([cosines * weights, -sines * weights]) * window[:, None] / n_fft
    parts = inverse.reshape(-1, hop, inverse.shape[1])[::-1] / squares.sum(axis=0)[:, None]
    return mx.array(parts.transpose(0, 2, 1).reshape(-1, hop).astype(np.float32))


def _squares(n_fft: int, hop: int) -> np.ndarray:
    """The squared window, (parts, hop)."""
    return (_hann(n_fft) ** 2).reshape(-1, hop)


@functools.lru_cache(maxsize=16)
def _envelope(hops: int, n_fft: int, hop: int) -> mx.array:
    """Gains (hops, hop) that exceed 1 at both ends, where the overlap lacks frames."""
    squares = _squares(n_fft, hop)
    parts, ahead = len(squares), n_fft // 2 // hop
    has_frame = np.ones((hops, parts), bool)
    for part in range(parts):
        frames = np.arange(hops) + ahead - part  # the frame whose part this is in each hop
        has_frame[:, part] = (frames >= 0) & (frames <= hops)
    return mx.array((squares.sum(axis=0) / (has_frame @ squares)).astype(np.float32))
