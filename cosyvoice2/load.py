"""Loads the networks with their weights and the tokenizer from a folder or a hub id.

Layouts, distinguished by file names:

    official    llm.pt, flow.pt, hift.pt
    converted   as `python -m cosyvoice2 convert` writes: the same names in llm.safetensors,
                flow.safetensors and hift.safetensors, weight norms folded, and config.json, which
                says in which precision

together with cosyvoice2.yaml, CosyVoice-BlankEN/, the two encoders (.onnx) and optionally
spk2info.pt. Every tensor must be expected, and every expected tensor present in its shape.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from cosyvoice2.config import CONFIG_FILE, QWEN_FOLDER, Config, read_config
from cosyvoice2.flow import Flow
from cosyvoice2.hift import HiFT
from cosyvoice2.lm import UNUSED_WEIGHTS, Qwen2LM
from cosyvoice2.reference import ENCODERS
from cosyvoice2.tokenizer import Tokenizer
from speechbase.errors import CheckpointError, ConfigError
from speechbase.files import Tensors, compare_shapes, identity
from speechbase.files import read as read_tensors
from speechbase.hub import locate
from speechbase.sections import read_object
from speechbase.weights import (
    DTYPES,
    check_numbers,
    fold_weight_norm,
    parameters,
    parse_dtype,
    quantize_like,
    to_mlx_axes,
)

PARTS = ("llm", "flow", "hift")
"""Files of weights; the first is the one whose precision may be chosen."""
SPEAKERS = "spk2info.pt"
TOKENIZER_FILES = ("config.json", "vocab.json", "merges.txt", "tokenizer_config.json")
"""Files needed from CosyVoice-BlankEN, whose weights belong to another model."""
HUB_FILES = (
    CONFIG_FILE,
    "config.json",
    *(f"{part}.{ending}" for part in PARTS for ending in ("pt", "safetensors")),
    *ENCODERS,
    SPEAKERS,
    *(f"{QWEN_FOLDER}/{name}" for name in TOKENIZER_FILES),
)
MAX_CONFIG_BYTES = 1 << 20
"""Bytes of a converted folder's config.json."""


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """A loaded checkpoint."""

    config: Config
    lm: Qwen2LM
    flow: Flow
    vocoder: HiFT
    tokenizer: Tokenizer
    path: Path
    revision: str | None  # the hub's commit; None for a directory
    fingerprint: str  # of the files that decide the sound


def load(path_or_repo: str | Path, *, dtype: Any = None) -> Checkpoint:
    """Loads a checkpoint from a directory or a hub id, "owner/name" or "owner/name@revision".

    The language model computes in `dtype` (a name or an MLX dtype), by default the files' own. The
    flow and the vocoder always compute in float32. Everything that can be checked before weights
    are read is. Raises CheckpointError, ConfigError, RequestError.
    """
    chosen_dtype = None if dtype is None else parse_dtype(dtype)
    path, revision = locate(path_or_repo, HUB_FILES)
    config, settings = read_config(path), converted_settings(path)
    tokenizer = Tokenizer.load(path / QWEN_FOLDER)
    files = [find_weights_file(path, part) for part in PARTS]
    checkpoint_fingerprint = fingerprint(path, files)
    lm, flow, vocoder = build_networks(config)
    for network, file in zip((lm, flow, vocoder), files, strict=True):
        fill_network(network, read_named_tensors(file), settings, file.name)
    lm.set_dtype(chosen_dtype or _stored_dtype(settings))
    for network in (flow, vocoder):
        network.set_dtype(mx.float32)
    mx.eval(lm.parameters(), flow.parameters(), vocoder.parameters())
    return Checkpoint(config, lm, flow, vocoder, tokenizer, path, revision, checkpoint_fingerprint)


def build_networks(config: Config) -> tuple[Qwen2LM, Flow, HiFT]:
    """Builds the networks with untrained weights."""
    return Qwen2LM(config.lm), Flow(config.flow), HiFT(config.vocoder)


def converted_settings(path: Path) -> Mapping[str, Any]:
    """Reads config.json of a converted folder; returns an empty dict for an official one."""
    try:
        return read_object(path / "config.json", MAX_CONFIG_BYTES, ConfigError)
    except FileNotFoundError:
        return {}


def _stored_dtype(settings: Mapping[str, Any]) -> mx.Dtype:
    name = settings.get("dtype", "float32")
    if not isinstance(name, str) or name not in DTYPES:
        raise ConfigError(f"config.json: dtype is not known; known: {', '.join(DTYPES)}")
    return DTYPES[name]


def find_weights_file(path: Path, part: str) -> Path:
    """Returns the file of a part's weights, converted or official."""
    for name in (f"{part}.safetensors", f"{part}.pt"):
        if (path / name).is_file():
            return path / name
    raise CheckpointError(f"{path}: no weights: neither {part}.safetensors nor {part}.pt")


def read_named_tensors(file: Path) -> Tensors:
    """Reads a file's tensors under the networks' names, weight norms folded, without unused ones.

    Tensors of a safetensors file are read from disk when they are evaluated.
    """
    tensors = {
        name.removeprefix("generator."): tensor for name, tensor in read_tensors(file).items()
    }
    return fold_weight_norm({n: tensor for n, tensor in tensors.items() if n not in UNUSED_WEIGHTS})


def fill_network(
    network: nn.Module, tensors: Tensors, settings: Mapping[str, Any], file: str
) -> None:
    """Loads all tensors into a network; one CheckpointError names all that do not fit."""
    quantize_like(network, tensors, settings.get("quantization"))
    placed = to_mlx_axes(network, tensors)
    expected = parameters(network)
    try:
        compare_shapes(
            {name: tensor.shape for name, tensor in expected.items()},
            {name: tensor.shape for name, tensor in placed.items()},
            CONFIG_FILE,
        )
        check_numbers(placed, expected)
    except CheckpointError as error:
        raise CheckpointError(f"{file}: {error}") from error
    network.load_weights(list(placed.items()))


def fingerprint(path: Path, weights: list[Path]) -> str:
    """Hashes what affects the sound, apart from voices: settings, tokenizer and weights.

    Weights enter by `files.identity`. The same files have the same hash, wherever they are.
    """
    digest = hashlib.sha256()
    for file in (path / CONFIG_FILE, *(path / QWEN_FOLDER / name for name in TOKENIZER_FILES)):
        digest.update(file.name.encode() + hashlib.sha256(file.read_bytes()).digest())
    for file in weights:
        digest.update(file.name.encode() + identity(file))
    return digest.hexdigest()
