"""A checkpoint's tensors in NumPy, checked against the names and shapes that config.json implies.

Loads no MLX. `checkpoint.py` loads the same files for the MLX network, whose own parameters are the
expected shapes there; a test holds the two lists of shapes together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from kokoro82m.config import (
    DECODER_BLOCKS,
    HARMONICS,
    MAX_WIDTH,
    NOISE_DILATIONS,
    NOISE_KERNELS,
    Config,
    Widths,
)
from speechbase import files, pth
from speechbase.errors import CheckpointError

WEIGHTS = ("kokoro-v1_0.safetensors", "kokoro-v1_0.pth")
UNUSED = ("bert.pooler.weight", "bert.pooler.bias")
"""Tensors of the official checkpoint that synthesis does not need."""

T = TypeVar("T")
Arrays = dict[str, np.ndarray]
Shapes = Iterator[tuple[str, tuple[int, ...]]]


def weights_file(folder: Path) -> Path:
    """Returns the file of weights in a folder, safetensors first. Raises CheckpointError."""
    for name in WEIGHTS:
        if (folder / name).is_file():
            return folder / name
    raise CheckpointError(f"{folder}: no weights: neither {' nor '.join(WEIGHTS)}")


def read_flat(
    file: Path,
    read: Callable[[Path], Mapping[str, T]],
    read_nested: Callable[[Path], Mapping[str, Mapping[str, T]]],
) -> dict[str, T]:
    """Returns a file's tensors by their flat names, without unused ones: `read` is for safetensors,
    `read_nested` for the .pth. Raises CheckpointError."""
    if file.suffix == ".safetensors":
        tensors = read(file)
    else:
        tensors = {
            f"{part}.{name.removeprefix('module.')}": tensor
            for part, group in read_nested(file).items()
            for name, tensor in group.items()
        }
    return {name: tensor for name, tensor in tensors.items() if name not in UNUSED}


def read_tensors(file: Path, config: Config) -> Arrays:
    """Reads all tensors by flat names, float32, weight norms folded. Raises CheckpointError."""
    tensors = read_flat(file, files.read_arrays, pth.load_nested_arrays)
    try:
        for name, tensor in tensors.items():
            if tensor.dtype.kind != "f":
                raise CheckpointError(f"the numbers of {name} are {tensor.dtype}, not fractions")
        folded = fold_weight_norm(tensors)
        shapes = {name: tensor.shape for name, tensor in folded.items()}
        files.compare_shapes(expected_shapes(config, folded), shapes)
        for name, tensor in folded.items():
            if not np.isfinite(tensor).all():
                raise CheckpointError(f"damaged: {name} holds NaN or infinity")
    except CheckpointError as error:
        raise CheckpointError(f"{file}: {error}") from error
    return folded


def fold_weight_norm(tensors: Mapping[str, np.ndarray]) -> Arrays:
    """Replaces each pair g, v by the weight g v / |v|, with |v| over all axes but the first."""
    folded = {}
    for name, tensor in tensors.items():
        base = name.removesuffix("_g").removesuffix("_v")
        g, v = tensors.get(f"{base}_g"), tensors.get(f"{base}_v")
        if base == name or g is None or v is None or g.shape != (len(v),) + (1,) * (v.ndim - 1):
            folded[name] = np.asarray(tensor, np.float32)
        elif name.endswith("_g"):
            v = np.asarray(v, np.float32)
            norm = np.sqrt(np.square(v).sum(axis=tuple(range(1, v.ndim)), keepdims=True))
            folded[base] = v * (np.asarray(g, np.float32) / norm)
    return folded


def expected_shapes(
    config: Config, tensors: Mapping[str, np.ndarray]
) -> dict[str, tuple[int, ...]]:
    """Returns the shapes by name, in PyTorch's axis order. Raises CheckpointError."""
    widths = read_widths(tensors)
    shapes = [_albert(config, widths.embedding), _predictor(config), _text_encoder(config)]
    shapes += [_decoder(config, widths.decoder, widths.residual), _generator(config)]
    return dict(pair for part in shapes for pair in part)


def read_widths(tensors: Mapping[str, Any]) -> Widths:
    """Reads the widths off tensors of NumPy or MLX with their weight norms folded. Raises
    CheckpointError."""

    def width(name: str, axis: int) -> int:
        shape = tensors[name].shape if name in tensors else ()
        if len(shape) <= axis or not 0 < shape[axis] <= MAX_WIDTH:
            raise CheckpointError(f"{name} is missing, or not of a sensible size")
        return int(shape[axis])

    return Widths(
        embedding=width("bert.embeddings.word_embeddings.weight", 1),
        decoder=width("decoder.encode.conv2.weight", 0),
        residual=width("decoder.asr_res.0.weight", 0),
    )


# ---- layers


def _linear(name: str, inputs: int, outputs: int) -> Shapes:
    yield f"{name}.weight", (outputs, inputs)
    yield f"{name}.bias", (outputs,)


def _norm(name: str, channels: int, parts: tuple[str, str] = ("weight", "bias")) -> Shapes:
    for part in parts:
        yield f"{name}.{part}", (channels,)


def _conv(name: str, inputs: int, outputs: int, kernel: int) -> Shapes:
    yield f"{name}.weight", (outputs, inputs, kernel)
    yield f"{name}.bias", (outputs,)


def _lstm(name: str, inputs: int, hidden: int) -> Shapes:
    for end in ("", "_reverse"):
        yield f"{name}.weight_ih_l0{end}", (4 * hidden, inputs)
        yield f"{name}.weight_hh_l0{end}", (4 * hidden, hidden)
        yield f"{name}.bias_ih_l0{end}", (4 * hidden,)
        yield f"{name}.bias_hh_l0{end}", (4 * hidden,)


def _residual(name: str, inputs: int, outputs: int, style: int, *, upsample: bool) -> Shapes:
    yield from _linear(f"{name}.norm1.fc", style, 2 * inputs)
    yield from _linear(f"{name}.norm2.fc", style, 2 * outputs)
    yield from _conv(f"{name}.conv1", inputs, outputs, 3)
    yield from _conv(f"{name}.conv2", outputs, outputs, 3)
    if inputs != outputs:
        yield f"{name}.conv1x1.weight", (outputs, inputs, 1)
    if upsample:
        yield from _conv(f"{name}.pool", 1, inputs, 3)


def _snakes(name: str, channels: int, kernel: int, blocks: int, style: int) -> Shapes:
    for part in (1, 2):
        for n in range(blocks):
            yield from _conv(f"{name}.convs{part}.{n}", channels, channels, kernel)
            yield from _linear(f"{name}.adain{part}.{n}.fc", style, 2 * channels)
            yield f"{name}.alpha{part}.{n}", (1, channels, 1)


# ---- networks


def _albert(config: Config, embedding: int) -> Shapes:
    albert, table = config.albert, "bert.embeddings.{}_embeddings.weight"
    hidden, layer = albert.hidden_size, "bert.encoder.albert_layer_groups.0.albert_layers.0"
    yield table.format("word"), (config.num_tokens, embedding)
    yield table.format("position"), (albert.max_positions, embedding)
    yield table.format("token_type"), (2, embedding)
    yield from _norm("bert.embeddings.LayerNorm", embedding)
    yield from _linear("bert.encoder.embedding_hidden_mapping_in", embedding, hidden)
    for part in ("query", "key", "value", "dense"):
        yield from _linear(f"{layer}.attention.{part}", hidden, hidden)
    yield from _norm(f"{layer}.attention.LayerNorm", hidden)
    yield from _linear(f"{layer}.ffn", hidden, albert.intermediate_size)
    yield from _linear(f"{layer}.ffn_output", albert.intermediate_size, hidden)
    yield from _norm(f"{layer}.full_layer_layer_norm", hidden)
    yield from _linear("bert_encoder", hidden, config.hidden_size)


def _predictor(config: Config) -> Shapes:
    hidden, style = config.hidden_size, config.style_size
    half = hidden // 2
    for n in range(config.num_layers):
        yield from _lstm(f"predictor.text_encoder.lstms.{2 * n}", hidden + style, half)
        yield from _linear(f"predictor.text_encoder.lstms.{2 * n + 1}.fc", style, 2 * hidden)
    yield from _lstm("predictor.lstm", hidden + style, half)
    yield from _linear("predictor.duration_proj.linear_layer", hidden, config.max_duration)
    yield from _lstm("predictor.shared", hidden + style, half)
    for curve in ("F0", "N"):
        yield from _residual(f"predictor.{curve}.0", hidden, hidden, style, upsample=False)
        yield from _residual(f"predictor.{curve}.1", hidden, half, style, upsample=True)
        yield from _residual(f"predictor.{curve}.2", half, half, style, upsample=False)
        yield from _conv(f"predictor.{curve}_proj", half, 1, 1)


def _text_encoder(config: Config) -> Shapes:
    hidden = config.hidden_size
    yield "text_encoder.embedding.weight", (config.num_tokens, hidden)
    for n in range(config.num_layers):
        yield from _conv(f"text_encoder.cnn.{n}.0", hidden, hidden, config.text_kernel)
        yield from _norm(f"text_encoder.cnn.{n}.1", hidden, ("gamma", "beta"))
    yield from _lstm("text_encoder.lstm", hidden, hidden // 2)


def _decoder(config: Config, width: int, residual: int) -> Shapes:
    hidden, style = config.hidden_size, config.style_size
    for curve in ("F0_conv", "N_conv"):
        yield from _conv(f"decoder.{curve}", 1, 1, 3)
    yield from _conv("decoder.asr_res.0", hidden, residual, 1)
    yield from _residual("decoder.encode", hidden + 2, width, style, upsample=False)
    for n in range(DECODER_BLOCKS):
        last = n == DECODER_BLOCKS - 1
        outputs = config.generator.channels if last else width
        inputs = width + residual + 2
        yield from _residual(f"decoder.decode.{n}", inputs, outputs, style, upsample=last)


def _generator(config: Config) -> Shapes:
    settings, style, name = config.generator, config.style_size, "decoder.generator"
    bins, stages, blocks = settings.n_fft + 2, len(settings.rates), len(NOISE_DILATIONS)
    yield from _linear(f"{name}.m_source.l_linear", HARMONICS, 1)
    for n, rate in enumerate(settings.rates):
        inputs, width = settings.channels >> n, settings.channels >> n + 1
        last = n == stages - 1
        stride = int(np.prod(settings.rates[n + 1 :]))
        yield f"{name}.ups.{n}.weight", (inputs, width, 2 * rate)
        yield f"{name}.ups.{n}.bias", (width,)
        yield from _conv(f"{name}.noise_convs.{n}", bins, width, 1 if last else 2 * stride)
        yield from _snakes(f"{name}.noise_res.{n}", width, NOISE_KERNELS[last], blocks, style)
        kinds = zip(settings.kernels, settings.dilations, strict=True)
        for k, (kernel, dilations) in enumerate(kinds, n * len(settings.kernels)):
            yield from _snakes(f"{name}.resblocks.{k}", width, kernel, len(dilations), style)
    yield from _conv(f"{name}.conv_post", settings.channels >> stages, bins, 7)
