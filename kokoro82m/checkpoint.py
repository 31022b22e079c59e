"""Loads the networks with their weights from a folder or a hub id.

Layouts, told apart by file names:

    kokoro-v1_0.safetensors    flat official names: "bert.…", "predictor.…"
    kokoro-v1_0.pth            the hub's: {"bert": {"module.…": …}, …}

beside config.json. Every tensor must be expected, and every expected one there in its shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlx.core as mx

from kokoro82m.config import CONFIG_FILE, Config, read_config
from kokoro82m.generator import UpConv
from kokoro82m.layers import Conv1d
from kokoro82m.network import Network
from kokoro82m.tensors import WEIGHTS, read_flat, read_widths, weights_file
from kokoro82m.voices import VOICES_FOLDER
from speechbase import files, pth
from speechbase.device import on_cuda, on_gpu
from speechbase.errors import CheckpointError
from speechbase.files import Tensors, compare_shapes
from speechbase.hub import locate
from speechbase.weights import (
    check_numbers,
    fold_weight_norm,
    parameters,
    parse_dtype,
    to_mlx_axes,
)

HUB_FILES = (CONFIG_FILE, *WEIGHTS, f"{VOICES_FOLDER}/*.pt")
FLOAT32_CONVOLUTIONS = ("noise_convs", "conv_post")
"""Convolutions of the decoder that stay float32 whatever is chosen: their inputs or outputs are
phases and logarithms of magnitudes."""


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """A loaded checkpoint."""

    config: Config
    network: Network
    path: Path
    revision: str | None  # the hub's commit; None for a directory


def load_checkpoint(path_or_repo: str | Path, dtype: Any = None) -> Checkpoint:
    """Loads a checkpoint from a directory or a hub id, "owner/name" or "owner/name@revision".

    Raises CheckpointError, ConfigError, RequestError.
    """
    chosen = mx.float32 if dtype is None else parse_dtype(dtype)
    path, revision = locate(path_or_repo, HUB_FILES)
    config, file = read_config(path), weights_file(path)
    tensors = fold_weight_norm(read_weights(file))
    try:
        network = Network(config, read_widths(tensors))
        fill(network, tensors)
    except CheckpointError as error:
        raise CheckpointError(f"{file}: {error}") from error
    prepare(network, chosen)
    return Checkpoint(config, network, path, revision)


def read_weights(file: Path) -> Tensors:
    """Reads a file's tensors by flat names, without unused ones. Raises CheckpointError."""
    return read_flat(file, files.read, pth.load_nested)


def fill(network: Network, tensors: Tensors) -> None:
    """Loads all tensors into a network; one CheckpointError names all that do not fit."""
    placed, expected = to_mlx_axes(network, tensors), parameters(network)
    compare_shapes(
        {name: tensor.shape for name, tensor in expected.items()},
        {name: tensor.shape for name, tensor in placed.items()},
    )
    check_numbers(placed, expected)
    network.load_weights(list(placed.items()))


def prepare(network: Network, dtype: mx.Dtype) -> None:
    """Sets the precision, and arranges the weights for this device.

    `dtype` is that of the decoder's convolutions (`Conv1d`, `UpConv`); all other layers stay
    float32, `DownConv` and `CurveConv` among them.
    """
    network.set_dtype(mx.float32)
    for name, module in network.decoder.named_modules():
        if isinstance(module, Conv1d | UpConv) and not any(
            part in FLOAT32_CONVOLUTIONS for part in name.split(".")
        ):
            module.set_dtype(dtype)
    for module in network.modules():
        if isinstance(module, UpConv) or (isinstance(module, Conv1d) and needs_layout()):
            module.lay_out()
    mx.eval(network.parameters())


def needs_layout() -> bool:
    """Returns True if convolutions are products here, which need another order of weights."""
    return on_cuda() or not on_gpu()
