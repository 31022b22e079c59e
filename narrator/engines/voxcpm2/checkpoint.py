"""The files of a VoxCPM checkpoint, and of a voice that it was tuned to; loads nothing."""

from __future__ import annotations

from pathlib import Path

from narrator.engines import models
from narrator.engines.models import (
    TOKENIZER_FILES,
    Family,
    IncompleteModel,
    Layout,
    read_tensor_header,
    weight_files,
)

CODEC = ("audiovae.safetensors", "audiovae.pth")
LORA = ("lora_weights.safetensors", "lora_weights.ckpt")
SMALL_MEMORY_BYTES = 14.5e9
"""Bytes of memory under which `auto` is the 8-bit conversion; systems report a machine of 16 GB as
15 to 17.2e9."""


def _model_files(path: Path) -> list[Path]:
    if not (path / "config.json").is_file():
        raise IncompleteModel("no config.json; is this a VoxCPM checkpoint?")
    if not models.load_config(path):
        raise IncompleteModel("config.json cannot be read")
    if not (path / "tokenizer.json").is_file():
        raise IncompleteModel("tokenizer.json is missing")
    weights = weight_files(path)
    names = [name for file in weights for name in read_tensor_header(file)]
    codec = [path / name for name in CODEC if (path / name).is_file()][:1]
    for file in codec:
        read_tensor_header(file)  # checks that it is complete
    if not codec and not any(name.startswith("audio_vae.") for name in names):
        raise IncompleteModel("the codec is missing (audiovae.pth)")
    tokenizer = [path / name for name in TOKENIZER_FILES if (path / name).is_file()]
    return [path / "config.json", *tokenizer, *weights, *codec]


def _lora_files(path: Path) -> list[Path]:
    for name in LORA:
        if (path / name).is_file():
            read_tensor_header(path / name)
            options = path / "lora_config.json"
            return [path / name] + [options] * options.is_file()
    raise IncompleteModel(f"no LoRA; looked for {' and '.join(LORA)}")


def _is_model(path: Path) -> bool:
    return str(models.load_config(path).get("architecture", "")).startswith("voxcpm")


def _is_lora(path: Path) -> bool:
    return not (path / "config.json").is_file() and any((path / name).is_file() for name in LORA)


TUNED = Layout(("lora_*",), _lora_files, _is_lora)
"""A LoRA: `engine.lora`."""
FAMILY = Family(
    (
        "config.json",
        "model*.safetensors",
        "model.safetensors.index.json",
        "pytorch_model.bin",
        "audiovae.*",
        "lora_*",
        *TOKENIZER_FILES,
    ),
    _model_files,
    _is_model,
    engine="voxcpm2",
    download=4_900_000_000,
    package="voxcpm2",
    hub="openbmb/VoxCPM2",
    small=SMALL_MEMORY_BYTES,
    tuned=TUNED,
)
