"""Converts a checkpoint: to another dtype, quantised, or with a LoRA merged.

The result has official names, and the codec inside model.safetensors in float32 with its weight
norm folded; it loads unchanged.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from speechbase.device import settle
from speechbase.errors import CheckpointError, RequestError
from speechbase.files import Tensors, new_folder
from speechbase.hub import locate
from speechbase.weights import parameters, parse_dtype
from voxcpm2 import lora as lora_
from voxcpm2.audio_vae import AudioVAE
from voxcpm2.config import Config
from voxcpm2.load import (
    HUB_FILES,
    TOKENIZER_FILES,
    config_dtype,
    fill,
    read_config,
    read_tensors,
    weight_files,
)
from voxcpm2.model import Network
from voxcpm2.tokenizer import Tokenizer

LANGUAGE_MODELS = ("base_lm", "residual_lm")
# Parts quantised only on request: 4-bit stop heads and 8-bit acoustics are known to go wrong.
PARTS = (
    "feat_encoder",
    "feat_decoder",
    "fsq_layer",
    "enc_to_lm_proj",
    "lm_to_dit_proj",
    "res_to_dit_proj",
    "fusion_concat_proj",
    "stop_proj",
    "stop_head",
)


def convert(
    source: str | Path,
    target: str | Path,
    *,
    dtype: Any = None,
    quantize: int | None = None,
    group_size: int = 64,
    also: Sequence[str] = (),
    lora: str | Path | None = None,
) -> None:
    """Converts `source`, a directory or hub id, into a new directory `target`.

    Quantisation covers the two language models and the `PARTS` listed in `also`; layers whose
    input sizes are no multiples of the group size keep their precision. Raises CheckpointError,
    RequestError.
    """
    target = Path(target)
    if target.exists():
        raise CheckpointError(f"{target}: exists already; give a new directory")
    if quantize not in (None, 2, 3, 4, 5, 6, 8) or group_size not in (32, 64, 128):
        raise RequestError("quantize takes 2, 3, 4, 5, 6 or 8 bits, in groups of 32, 64 or 128")
    unknown = sorted(set(also) - set(PARTS))
    if unknown or (also and quantize is None):
        raise RequestError(
            f"also {', '.join(unknown or also)}: it names parts to quantise, of {', '.join(PARTS)}"
        )
    chosen_dtype = None if dtype is None else parse_dtype(dtype)
    path, _ = locate(source, HUB_FILES)
    settings = read_config(path)
    config = Config.from_dict(settings)
    Tokenizer.load(path)
    adapter = None if lora is None else lora_.read(locate(lora, HUB_FILES)[0])

    network, vae = Network(config), AudioVAE(config.vae)
    tensors, vae_tensors = read_tensors(weight_files(path), config)
    vae_tensors = fill(network, vae, tensors, vae_tensors, settings)
    network.set_dtype(config_dtype(config) if chosen_dtype is None else chosen_dtype)
    if adapter is not None:
        lora_.merge(network, adapter)
    if quantize is not None:
        settings = {**settings, "quantization": _quantize(network, quantize, group_size, also)}
    if chosen_dtype is not None:
        settings = {**settings, "dtype": str(chosen_dtype).removeprefix("mlx.core.")}
    weights = parameters(network)
    weights |= {f"audio_vae.{name}": t.astype(mx.float32) for name, t in vae_tensors.items()}
    _write(target, path, settings, weights)


def _quantize(
    network: nn.Module, bits: int, group_size: int, also: Sequence[str]
) -> dict[str, Any]:
    chosen = (*LANGUAGE_MODELS, *also)

    def should_quantise(name: str, module: nn.Module) -> bool:
        if isinstance(module, nn.QuantizedLinear | nn.QuantizedEmbedding):
            raise CheckpointError(f"{name} is quantised already; convert the original checkpoint")
        fits = (
            isinstance(module, nn.Linear | nn.Embedding) and not module.weight.shape[1] % group_size
        )
        return fits and name.split(".")[0] in chosen

    nn.quantize(network, group_size, bits, class_predicate=should_quantise)
    return {"group_size": group_size, "bits": bits, "mode": "affine"}


def _write(target: Path, source: Path, settings: dict[str, Any], weights: Tensors) -> None:
    with new_folder(target) as directory:
        mx.save_safetensors(str(directory / "model.safetensors"), weights, {"format": "mlx"})
        settle()
        (directory / "config.json").write_text(
            json.dumps(settings, indent=2) + "\n", encoding="ascii"
        )
        for name in TOKENIZER_FILES:
            if (source / name).exists():
                shutil.copyfile(source / name, directory / name)
