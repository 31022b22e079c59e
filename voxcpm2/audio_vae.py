"""The audio codec, in float32: samples -> latents and back, at once, in batches, or as a stream.

Float32 whatever the network computes in, as upstream: dozens of layers add up, and the last place
of a bfloat16 sample would be audible as noise at -50 dB. (A GPU rounds the inputs of products to
TF32 unless MLX_ENABLE_TF32 is 0, as `environment.py` sets it.)

Every layer is causal, and needs only its last few inputs of the past, stored in `Tails`. So there
is one code path: a complete decode is a stream with a single push, and pushes of any length give
the same samples. Modules are named as the checkpoint's keys; arrays are (batch, time, channels);
convolutions are matrix products or shifted multiply-adds, several times faster on a CPU than MLX's
own. Knows both generations of the codec, but no files, text or patches.
"""

from __future__ import annotations

import itertools
import math
import operator
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import mlx.core as mx
import mlx.nn as nn

from speechbase.device import RunOnce, elementwise, memory_left, on_gpu
from speechbase.errors import ConfigError, RequestError
from speechbase.functions import snake
from voxcpm2.config import VAEConfig

# Latent frames that an encode or decode pushes at once, at most and at least, to bound memory.
MAX_CHUNK, MIN_CHUNK = 100, 4
# Outputs of a decoder's widest layer in memory at once: 34 to 35 by MLX's count for the shipped
# configuration (2026-11-22, the branches of a GPU, computed on a CPU).
LAYERS_AT_ONCE = 35
DECODINGS = 2
"""Rows that should be decoded at once: a window takes 0.3 to 1 GB while it runs."""
# Numbers that a block processes at once on a CPU, to fit its cache. A GPU takes all at once.
CACHE_NUMBERS = 1 << 19


def frames_at_once(frame_numbers: int) -> int:
    """Returns how many latent frames to push at once.

    `frame_numbers` is the size of the widest layer's output for a frame. On a GPU MAX_CHUNK is
    halved until all windows that decode at once fit the free memory: running out of memory costs
    more than smaller windows do. The samples are the same but for the last bits.
    """
    frames, free_bytes = MAX_CHUNK, memory_left()
    frame_bytes = DECODINGS * LAYERS_AT_ONCE * 4 * frame_numbers
    while free_bytes is not None and frames > MIN_CHUNK and frame_bytes * frames > free_bytes:
        frames = max(MIN_CHUNK, frames // 2)
    return frames


class Tails:
    """The last inputs of each causal layer; zeros before the first."""

    def __init__(self) -> None:
        self._arrays: dict[int, mx.array] = {}

    @property
    def arrays(self) -> list[mx.array]:
        """All stored arrays; evaluate them with the outputs, or they keep the inputs alive."""
        return list(self._arrays.values())

    def prepend(self, layer: nn.Module, x: mx.array, count: int) -> mx.array:
        """Returns `x` (batch, time, channels) with the `count` inputs before it in front."""
        if count == 0:
            return x
        before = self._arrays.get(id(layer))
        if before is None:
            before = mx.zeros((x.shape[0], count, x.shape[2]), x.dtype)
        x = mx.concatenate([before, x], axis=1)
        # A copy: a slice would keep the whole chunk alive.
        self._arrays[id(layer)] = mx.contiguous(x[:, -count:])
        return x


_snake = elementwise(snake)


@elementwise
def _weighted_sum(bias: mx.array, *inputs_and_weights: mx.array) -> mx.array:
    """Sums each input times its weight, plus bias; all inputs come first, then all weights."""
    half = len(inputs_and_weights) // 2
    inputs, weights = inputs_and_weights[:half], inputs_and_weights[half:]
    y = inputs[0] * weights[0] + bias
    for x, weight in zip(inputs[1:], weights[1:], strict=True):
        y = y + x * weight
    return y


class _WeightedLayer(nn.Module):
    """A layer that states the shapes of its tensors in a checkpoint, and loads them."""

    def expected_shapes(self) -> dict[str, tuple[int, ...]]:
        """Returns shapes of the tensors in PyTorch's layout, with the weight norm folded."""
        raise NotImplementedError

    def take(self, tensors: Mapping[str, mx.array]) -> None:
        """Loads float32 tensors of those shapes, arranged for the layer's products."""
        raise NotImplementedError


class Snake(_WeightedLayer):
    """The activation x + sin(alpha x)^2 / alpha, with one alpha per channel."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.alpha = mx.ones((channels,))

    def expected_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"alpha": (1, self.alpha.size, 1)}

    def take(self, tensors: Mapping[str, mx.array]) -> None:
        self.alpha = tensors["alpha"].reshape(-1)

    def __call__(self, x: mx.array, tails: Tails) -> mx.array:
        return _snake(x, self.alpha)


class DepthwiseConv(_WeightedLayer):
    """Causal convolution of each channel by itself."""

    def __init__(self, channels: int, kernel: int, dilation: int = 1) -> None:
        super().__init__()
        self.dilation = dilation
        self.weight = mx.zeros((kernel, channels))
        self.bias = mx.zeros((channels,))

    def expected_shapes(self) -> dict[str, tuple[int, ...]]:
        kernel, channels = self.weight.shape
        return {"weight": (channels, 1, kernel), "bias": (channels,)}

    def take(self, tensors: Mapping[str, mx.array]) -> None:
        self.weight = mx.contiguous(tensors["weight"][:, 0].T)
        self.bias = tensors["bias"]

    def __call__(self, x: mx.array, tails: Tails) -> mx.array:
        kernel, length = self.weight.shape[0], x.shape[1]
        x = tails.prepend(self, x, (kernel - 1) * self.dilation)
        taps = [x[:, k * self.dilation : k * self.dilation + length] for k in range(kernel)]
        # `split` gives views of the weights, where an index would be a kernel for each.
        return _weighted_sum(self.bias, *taps, *mx.split(self.weight, kernel))


class Conv(_WeightedLayer):
    """A causal convolution of stride 1, as one product.

    Either the inputs of all taps are concatenated before the product, or, if that moves less
    memory, each input is multiplied by the weights of all taps, and the products are summed.
    """

    def __init__(self, inputs: int, outputs: int, kernel: int, dilation: int = 1) -> None:
        super().__init__()
        self.inputs, self.kernel, self.dilation = inputs, kernel, dilation
        self.gathers = inputs <= outputs or kernel == 1
        rows, columns = (kernel, 1) if self.gathers else (1, kernel)
        self.weight = mx.zeros((rows * inputs, columns * outputs))
        self.bias = mx.zeros((outputs,))

    def expected_shapes(self) -> dict[str, tuple[int, ...]]:
        outputs = self.bias.size
        return {"weight": (outputs, self.inputs, self.kernel), "bias": (outputs,)}

    def take(self, tensors: Mapping[str, mx.array]) -> None:
        weight = tensors["weight"].transpose((2, 1, 0) if self.gathers else (1, 2, 0))
        self.weight = mx.contiguous(weight).reshape(self.weight.shape)
        self.bias = tensors["bias"]

    def __call__(self, x: mx.array, tails: Tails) -> mx.array:
        length, past = x.shape[1], (self.kernel - 1) * self.dilation
        starts = range(0, past + 1, self.dilation)
        if self.gathers:
            x = tails.prepend(self, x, past)
            taps = mx.concatenate([x[:, start : start + length] for start in starts], axis=-1)
            return mx.addmm(self.bias, taps, self.weight)
        products = tails.prepend(self, x @ self.weight, past)
        y = self.bias
        for start, part in zip(starts, mx.split(products, self.kernel, axis=-1), strict=True):
            y = y + part[:, start : start + length]
        return y


class StridedConv(_WeightedLayer):
    """Causal convolution with kernel 2s and stride s: each output sees two frames of s inputs."""

    def __init__(self, inputs: int, outputs: int, stride: int, pad: int) -> None:
        super().__init__()
        self.stride, self.pad = stride, pad
        self.weight = mx.zeros((2, stride * inputs, outputs))
        self.bias = mx.zeros((outputs,))

    def expected_shapes(self) -> dict[str, tuple[int, ...]]:
        _, width, outputs = self.weight.shape
        shape = (outputs, width // self.stride, 2 * self.stride)
        return {"weight": shape, "bias": (outputs,)}

    def take(self, tensors: Mapping[str, mx.array]) -> None:
        self.weight = mx.contiguous(tensors["weight"].transpose(2, 1, 0)).reshape(self.weight.shape)
        self.bias = tensors["bias"]

    def __call__(self, x: mx.array, tails: Tails) -> mx.array:
        batch, length, channels = x.shape
        x = tails.prepend(self, x, self.pad)[:, : length + self.stride]
        frames = x.reshape(batch, length // self.stride + 1, self.stride * channels)
        first = mx.addmm(self.bias, frames[:, :-1], self.weight[0])
        return mx.addmm(first, frames[:, 1:], self.weight[1])


class TransposedConv(_WeightedLayer):
    """Causal transposed convolution with kernel 2s and stride s: each input gives two frames of s
    outputs; the second overlaps the first of the next input."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        self.weight = mx.zeros((inputs, 2 * stride * outputs))
        self.bias = mx.zeros((outputs,))

    def expected_shapes(self) -> dict[str, tuple[int, ...]]:
        inputs, outputs = self.weight.shape[0], self.bias.size
        return {"weight": (inputs, outputs, 2 * self.stride), "bias": (outputs,)}

    def take(self, tensors: Mapping[str, mx.array]) -> None:
        weight = mx.contiguous(tensors["weight"].transpose(0, 2, 1))
        self.weight = weight.reshape(self.weight.shape)
        self.bias = tensors["bias"]

    def __call__(self, x: mx.array, tails: Tails) -> mx.array:
        batch, length, _ = x.shape
        first, second = mx.split(x @ self.weight, 2, axis=-1)
        y = first + tails.prepend(self, second, 1)[:, :-1]
        return y.reshape(batch, length * self.stride, self.bias.size) + self.bias


class ResidualUnit(nn.Module):
    """x + conv1(snake(conv7(snake(x))))."""

    def __init__(self, channels: int, dilation: int, depthwise: bool) -> None:
        super().__init__()
        self.block = [
            Snake(channels),
            DepthwiseConv(channels, 7, dilation)
            if depthwise
            else Conv(channels, channels, 7, dilation),
            Snake(channels),
            Conv(channels, channels, 1),
        ]

    def __call__(self, x: mx.array, tails: Tails) -> mx.array:
        return x + _run_layers(self.block, x, tails)


class EncoderBlock(nn.Module):
    """Three residual units, then twice the channels at 1/stride of the rate."""

    def __init__(self, channels: int, stride: int, pad: int, depthwise: bool) -> None:
        super().__init__()
        self.block = [
            *(ResidualUnit(channels, dilation, depthwise) for dilation in (1, 3, 9)),
            Snake(channels),
            StridedConv(channels, 2 * channels, stride, pad),
        ]

    def __call__(self, x: mx.array, tails: Tails) -> mx.array:
        stride = self.block[-1].stride
        run = partial(_run_layers, self.block, tails=tails)
        return _run_in_parts(run, x, _steps_in_cache(stride * x.shape[2]) * stride)


class Encoder(nn.Module):
    """Samples (batch, time, 1) -> means of the latents (batch, time / hop, latent_dim)."""

    def __init__(self, config: VAEConfig) -> None:
        super().__init__()
        channels = config.encoder_dim
        self.block: list[nn.Module] = [Conv(1, channels, 7)]
        for stride in config.encoder_rates:
            # The generations differ for odd strides only: 1.x pads one sample more.
            pad = 2 * math.ceil(stride / 2) if config.first_generation else stride
            self.block.append(EncoderBlock(channels, stride, pad, config.depthwise))
            channels *= 2
        self.fc_mu = Conv(channels, config.latent_dim, 3)

    def __call__(self, x: mx.array, tails: Tails) -> mx.array:
        return self.fc_mu(_run_layers(self.block, x, tails), tails)


class DecoderBlock(nn.Module):
    """Half the channels at stride times the rate, then three residual units."""

    def __init__(self, channels: int, stride: int, depthwise: bool) -> None:
        super().__init__()
        self.block = [
            Snake(channels),
            TransposedConv(channels, channels // 2, stride),
            *(ResidualUnit(channels // 2, dilation, depthwise) for dilation in (1, 3, 9)),
        ]

    def __call__(self, x: mx.array, tails: Tails) -> mx.array:
        stride = self.block[1].stride
        run = partial(_run_layers, self.block, tails=tails)
        return _run_in_parts(run, x, _steps_in_cache(stride * x.shape[2] // 2))


class Embedding(_WeightedLayer):
    """A table with a row for each bucket of sample rates."""

    def __init__(self, rows: int, channels: int) -> None:
        super().__init__()
        self.weight = mx.zeros((rows, channels))

    def expected_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"weight": self.weight.shape}

    def take(self, tensors: Mapping[str, mx.array]) -> None:
        self.weight = tensors["weight"]


class SampleRateCondition(nn.Module):
    """Conditions a decoder block on the requested sample rate."""

    def __init__(self, channels: int, config: VAEConfig) -> None:
        super().__init__()
        assert config.sr_bin_boundaries is not None
        rows, kind = len(config.sr_bin_boundaries) + 1, config.cond_type
        width = channels
        if kind in ("scale_bias", "scale_bias_init"):
            self.scale_embed = Embedding(rows, channels)
            self.bias_embed = Embedding(rows, channels)
        elif kind == "add":
            self.cond_embed = Embedding(rows, channels)
        elif kind == "concat" and config.cond_out_layer:
            self.cond_embed = Embedding(rows, config.cond_dim)
            width += config.cond_dim
        else:
            raise ConfigError(
                f"config.json: audio_vae_config: cond_type {kind!r}"
                + (" needs cond_out_layer" if kind == "concat" else " is not known")
                + "; known: scale_bias, scale_bias_init, add, concat"
            )
        self.kind = kind
        self.out_layer = [Snake(width), Conv(width, channels, 1)] if config.cond_out_layer else []

    def __call__(self, x: mx.array, bucket: int, tails: Tails) -> mx.array:
        if self.kind == "add":
            x = x + self.cond_embed.weight[bucket]
        elif self.kind == "concat":
            row = self.cond_embed.weight[bucket]
            x = mx.concatenate([x, mx.broadcast_to(row, (*x.shape[:2], row.size))], axis=-1)
        else:
            x = x * self.scale_embed.weight[bucket] + self.bias_embed.weight[bucket]
        return _run_layers(self.out_layer, x, tails)


class Decoder(nn.Module):
    """Latents (batch, time, latent_dim) -> samples (batch, time * out_hop, 1)."""

    def __init__(self, config: VAEConfig) -> None:
        super().__init__()
        channels = config.decoder_dim
        self.model: list[nn.Module] = (
            [DepthwiseConv(config.latent_dim, 7), Conv(config.latent_dim, channels, 1)]
            if config.depthwise
            else [Conv(config.latent_dim, channels, 7)]
        )
        # Keyed by the number of the block in `model`, as in the checkpoint.
        self.sr_cond_model: dict[str, SampleRateCondition] = {}
        for stride in config.decoder_rates:
            if config.sr_bin_boundaries is not None:
                condition = SampleRateCondition(channels, config)
                self.sr_cond_model[str(len(self.model))] = condition
            self.model.append(DecoderBlock(channels, stride, config.depthwise))
            channels //= 2
        self.model += [Snake(channels), Conv(channels, 1, 7)]

    def __call__(self, x: mx.array, bucket: int, tails: Tails) -> mx.array:
        for number, layer in enumerate(self.model):
            condition = self.sr_cond_model.get(str(number))
            if condition is not None:
                x = condition(x, bucket, tails)
            x = layer(x, tails)
        return mx.tanh(x)


def _run_layers(layers: Sequence[nn.Module], x: mx.array, tails: Tails) -> mx.array:
    for layer in layers:
        x = layer(x, tails)
    return x


def _steps_in_cache(step_numbers: int) -> int:
    """Returns how many time steps of `step_numbers` numbers each to process at once."""
    return sys.maxsize if on_gpu() else max(1, CACHE_NUMBERS // step_numbers)


def _run_in_parts(
    run: Callable[[mx.array], mx.array], x: mx.array, size: int, tails: Tails | None = None
) -> mx.array:
    """Feeds x (batch, time, ...) to `run`, which has a state, in parts of `size` time steps."""
    if x.shape[1] <= size:
        return run(x)
    parts = []
    for start in range(0, x.shape[1], size):
        parts.append(run(x[:, start : start + size]))
        # so that the next part reuses this one's memory
        mx.eval(parts[-1], *(tails.arrays if tails else ()))
    return mx.concatenate(parts, axis=1)


class AudioVAE(nn.Module):
    """Encoder and decoder. Weights are unallocated zeros until `take`."""

    def __init__(self, config: VAEConfig) -> None:
        super().__init__()
        if config.use_noise_block:
            raise ConfigError(
                "config.json: audio_vae_config: use_noise_block is not supported; "
                "no published checkpoint has it"
            )
        self.config = config
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        self._prepare_once = RunOnce()
        # Numbers in the widest layer's output for each latent frame.
        self._encoder_numbers = config.encoder_dim * config.hop
        rates = itertools.accumulate(config.decoder_rates, operator.mul)
        self._decoder_numbers = max(
            config.decoder_dim // 2**n * rate for n, rate in enumerate(rates, 1)
        )

    def expected_shapes(self) -> dict[str, tuple[int, ...]]:
        """Returns each tensor's name and shape, in PyTorch's layout with the weight norm folded."""
        return {
            f"{name}.{tensor}": shape
            for name, layer in self._layers()
            for tensor, shape in layer.expected_shapes().items()
        }

    def take(self, tensors: Mapping[str, mx.array]) -> None:
        """Loads tensors with the names and shapes of `expected_shapes`, in any float dtype."""
        for name, layer in self._layers():
            layer.take(
                {
                    key: tensors[f"{name}.{key}"].astype(mx.float32)
                    for key in layer.expected_shapes()
                }
            )

    def ready(self) -> None:
        """Evaluate the weights, unless that was done; `encode` and streams see to it.

        RuntimeError where a GPU failed on them, then and ever after.
        """
        self._prepare_once(self.parameters)

    def _layers(self) -> Iterator[tuple[str, _WeightedLayer]]:
        for name, module in self.named_modules():
            if isinstance(module, _WeightedLayer):
                yield name, module

    def bucket(self, sample_rate: int | None) -> int:
        """Returns the row of the conditioning tables for a rate in Hz; None is the codec's own."""
        if sample_rate is None:
            sample_rate = self.config.out_sample_rate
        elif self.config.sr_bin_boundaries is None:
            raise RequestError("this checkpoint's decoder knows one sample rate only; give none")
        return sum(boundary < sample_rate for boundary in self.config.sr_bin_boundaries or ())

    def encode(self, audio: mx.array) -> mx.array:
        """Encodes samples (batch, n) at the encoder's rate: (batch, ceil(n / hop), latent_dim)."""
        self.ready()
        hop = self.config.hop
        x = mx.pad(audio.astype(mx.float32), [(0, 0), (0, -audio.shape[1] % hop)])[..., None]
        tails = Tails()
        frames = frames_at_once(self._encoder_numbers * x.shape[0])
        return _run_in_parts(partial(self.encoder, tails=tails), x, frames * hop, tails)

    def decode(self, latents: mx.array, sample_rate: int | None = None) -> mx.array:
        """Decodes latents (batch, n, latent_dim) to samples (batch, n * out_hop).

        `sample_rate` in Hz conditions the timbre only; the output is always at `out_sample_rate`.
        """
        stream = DecodeStream(self, sample_rate)
        return _run_in_parts(stream.push, latents, self.frames(latents.shape[0]), stream.tails)

    def frames(self, rows: int = 1) -> int:
        """Returns how many latent frames of `rows` rows to decode at once, for the free memory."""
        return frames_at_once(self._decoder_numbers * rows)

    def window(self) -> int:
        """Estimates the bytes that decoding `MAX_CHUNK` frames takes."""
        return 4 * MAX_CHUNK * self._decoder_numbers * LAYERS_AT_ONCE

    def stream(self, sample_rate: int | None = None) -> DecodeStream:
        """Returns a stream whose pushes in order equal one `decode` of all latents."""
        return DecodeStream(self, sample_rate)


class DecodeStream:
    """Decodes latents in pushes of any length, without seams."""

    def __init__(self, vae: AudioVAE, sample_rate: int | None) -> None:
        vae.ready()
        self._vae = vae
        self._bucket = vae.bucket(sample_rate)
        self.tails = Tails()

    def push(self, latents: mx.array) -> mx.array:
        """Decodes the next latents (batch, n, latent_dim) to samples (batch, n * out_hop)."""
        return self._vae.decoder(latents.astype(mx.float32), self._bucket, self.tails)[..., 0]
