"""The structure of the networks: `config.json` of a checkpoint as frozen dataclasses, and constants
that are the same in every checkpoint. Loads no MLX.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from speechbase.errors import CheckpointError, ConfigError, printable
from speechbase.sections import Section, is_whole, read_object

CONFIG_FILE = "config.json"
SAMPLE_RATE = 24_000
FRAME_SAMPLES = 600
"""Samples per frame: durations are counted in frames of 25 ms."""
PITCH_STEPS = 2
"""Values of F0 (pitch) and N (energy) per frame."""
OVERLAPS = 4
"""Hops per window, in the Fourier transforms of the source and of the samples."""
HARMONICS = 9
"""Sines of the source: the fundamental and eight above it."""
DECODER_BLOCKS = 4
"""Residual blocks of the decoder after `encode`; the last one doubles the steps."""
NOISE_KERNELS, NOISE_DILATIONS = (7, 11), (1, 3, 5)
"""Of the residual blocks that process the source's spectrum: the kernel in all stages of the
generator but the last, and in the last; the dilations in every stage."""
EPSILON, ALBERT_EPSILON = 1e-5, 1e-12
"""Added to the variance in norms: in all networks but PLBERT, and in PLBERT."""
SLOPE, UPSAMPLING_SLOPE, LAST_SLOPE = 0.2, 0.1, 0.01
"""Slopes of leaky ReLUs below zero: in text encoder and residual blocks, before the generator's
transposed convolutions, and before its last convolution."""
# Limits on what a config.json may ask for: networks are built before any weight is checked.
MAX_BYTES, MAX_LAYERS, MAX_WIDTH, MAX_TOKENS = 1 << 20, 64, 1 << 13, 1 << 16
MAX_KERNEL, MAX_BLOCKS = 64, 16


@dataclass(frozen=True, slots=True)
class AlbertConfig:
    """PLBERT: one layer that is applied `num_layers` times."""

    hidden_size: int
    num_heads: int
    intermediate_size: int
    max_positions: int
    num_layers: int


@dataclass(frozen=True, slots=True)
class GeneratorConfig:
    """iSTFTNet: the decoder's output to samples."""

    channels: int  # of the input; each transposed convolution halves them
    rates: tuple[int, ...]  # of the transposed convolutions; their kernels are twice as long
    kernels: tuple[int, ...]  # of the residual blocks behind each of them
    dilations: tuple[tuple[int, ...], ...]  # of each residual block
    n_fft: int  # samples per window; a hop is a quarter of it


@dataclass(frozen=True, slots=True)
class Widths:
    """Layer widths that config.json does not state: `tensors.read_widths` takes them from the
    weights."""

    embedding: int  # 128, of PLBERT's tokens
    decoder: int  # 1024
    residual: int  # 64, of the projected text that each block of the decoder gets again


@dataclass(frozen=True, slots=True)
class Config:
    """A checkpoint's settings that inference needs."""

    vocabulary: Mapping[str, int]  # symbol to id; 0 is the pad at both ends
    num_tokens: int
    hidden_size: int
    style_size: int  # of each half of a style row: the decoder's, then the predictor's
    num_layers: int  # of the text encoder and of the duration encoder
    max_duration: int  # frames of a token at speed 1, at most
    text_kernel: int  # of the text encoder's convolutions
    albert: AlbertConfig
    generator: GeneratorConfig


def read_config(folder: Path) -> Config:
    """Reads the settings in a checkpoint's folder. Raises CheckpointError, ConfigError."""
    try:
        settings = read_object(folder / CONFIG_FILE, MAX_BYTES, ConfigError)
    except FileNotFoundError:
        raise CheckpointError(
            f"{folder}: no {CONFIG_FILE}, so it is no Kokoro checkpoint"
        ) from None
    return parse_config(settings)


def parse_config(settings: Mapping[str, Any]) -> Config:
    """Checks the settings of a config.json. Raises ConfigError."""
    section = Section(CONFIG_FILE, settings)
    num_tokens = section.integer("n_token", maximum=MAX_TOKENS)
    return Config(
        vocabulary=_vocabulary(section.section("vocab"), num_tokens),
        num_tokens=num_tokens,
        hidden_size=_even_number(section, "hidden_dim"),
        style_size=section.integer("style_dim", maximum=MAX_WIDTH),
        num_layers=section.integer("n_layer", maximum=MAX_LAYERS),
        max_duration=section.integer("max_dur", maximum=MAX_WIDTH),
        text_kernel=_odd_number(section, "text_encoder_kernel_size"),
        albert=_albert(section.section("plbert")),
        generator=_generator(section.section("istftnet")),
    )


def _vocabulary(section: Section, num_tokens: int) -> Mapping[str, int]:
    for symbol in section.fields:
        if len(symbol) != 1:
            raise ConfigError(
                f"{section.location}: {printable(symbol)!r} is not a single character"
            )
        section.integer(symbol, maximum=num_tokens - 1)
    return MappingProxyType(dict(section.fields))


def _even_number(section: Section, key: str) -> int:
    number = section.integer(key, maximum=MAX_WIDTH)
    if number % 2:
        raise ConfigError(f"{section.location}: {key!r} must be even, found {number}")
    return number


def _odd_number(section: Section, key: str) -> int:
    number = section.integer(key, maximum=MAX_KERNEL)
    if number % 2 == 0:
        raise ConfigError(f"{section.location}: {key!r} must be odd, found {number}")
    return number


def _albert(section: Section) -> AlbertConfig:
    hidden_size = section.integer("hidden_size", maximum=MAX_WIDTH)
    num_heads = section.integer("num_attention_heads", maximum=MAX_WIDTH)
    if hidden_size % num_heads:
        raise ConfigError(
            f"{section.location}: {num_heads} heads do not divide a width of {hidden_size}"
        )
    return AlbertConfig(
        hidden_size,
        num_heads,
        section.integer("intermediate_size", maximum=MAX_WIDTH),
        section.integer("max_position_embeddings", minimum=3, maximum=MAX_WIDTH),
        section.integer("num_hidden_layers", maximum=MAX_LAYERS),
    )


def _generator(section: Section) -> GeneratorConfig:
    location = section.location
    rates = section.rates("upsample_rates", ())
    hop = section.integer("gen_istft_hop_size", maximum=MAX_KERNEL)
    n_fft = section.integer("gen_istft_n_fft", maximum=MAX_WIDTH)
    channels = section.integer("upsample_initial_channel", maximum=MAX_WIDTH)
    if PITCH_STEPS * math.prod(rates) * hop != FRAME_SAMPLES or any(rate % 2 for rate in rates):
        raise ConfigError(
            f"{location}: 'upsample_rates' must be even and make {FRAME_SAMPLES} samples a frame"
        )
    if section.rates("upsample_kernel_sizes", ()) != tuple(2 * rate for rate in rates):
        raise ConfigError(f"{location}: 'upsample_kernel_sizes' must be twice the rates")
    if n_fft != OVERLAPS * hop:
        raise ConfigError(f"{location}: 'gen_istft_n_fft' must be {OVERLAPS} hops")
    if channels % 2 ** len(rates):
        raise ConfigError(f"{location}: 'upsample_initial_channel' cannot be halved for each rate")
    kernels = _odd_kernels(section, "resblock_kernel_sizes")
    rows = section.fields.get("resblock_dilation_sizes")
    if (
        not isinstance(rows, list)
        or len(rows) != len(kernels)
        or not all(map(_are_dilations, rows))
    ):
        raise ConfigError(
            f"{location}: 'resblock_dilation_sizes' must be a list of dilations a kernel"
        )
    dilations = tuple(tuple(row) for row in rows)
    return GeneratorConfig(channels, rates, kernels, dilations, n_fft)


def _odd_kernels(section: Section, key: str) -> tuple[int, ...]:
    kernels = section.rates(key, ())
    if len(kernels) > MAX_BLOCKS or not all(kernel % 2 for kernel in kernels):
        raise ConfigError(f"{section.location}: {key!r} must be odd numbers")
    return kernels


def _are_dilations(row: Any) -> bool:
    return (
        isinstance(row, list)
        and 0 < len(row) <= MAX_BLOCKS
        and all(is_whole(dilation) and 0 < dilation <= MAX_KERNEL for dilation in row)
    )
