"""Converts a checkpoint: to safetensors, another precision, or a quantised language model.

The result has the official names and axes, with weight norms folded, and loads unchanged.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from cosyvoice2.config import CONFIG_FILE, QWEN_FOLDER, read_config
from cosyvoice2.load import (
    HUB_FILES,
    PARTS,
    SPEAKERS,
    TOKENIZER_FILES,
    build_networks,
    converted_settings,
    fill_network,
    find_weights_file,
    read_named_tensors,
)
from cosyvoice2.reference import ENCODERS
from cosyvoice2.tokenizer import Tokenizer
from speechbase.device import settle
from speechbase.errors import CheckpointError, RequestError
from speechbase.files import new_folder
from speechbase.hub import locate
from speechbase.weights import parse_dtype, to_torch_axes


def convert(
    source: str | Path,
    target: str | Path,
    *,
    dtype: Any = None,
    quantize: int | None = None,
    group_size: int = 64,
) -> None:
    """Converts `source`, a directory or hub id, into a new directory `target`.

    The language model is stored and computes in `dtype`. Quantisation covers the linear layers of
    its backbone whose input sizes are multiples of the group size; its embeddings, the flow and
    the vocoder keep their precision. Raises CheckpointError, ConfigError, RequestError.
    """
    target = Path(target)
    if target.exists():
        raise CheckpointError(f"{target}: exists already; give a new directory")
    if quantize not in (None, 2, 3, 4, 5, 6, 8) or group_size not in (32, 64, 128):
        raise RequestError("quantize takes 2, 3, 4, 5, 6 or 8 bits, in groups of 32, 64 or 128")
    chosen_dtype = None if dtype is None else parse_dtype(dtype)
    path, _ = locate(source, HUB_FILES)
    config, settings = read_config(path), dict(converted_settings(path))
    if quantize is not None and "quantization" in settings:
        raise CheckpointError(f"{path} is quantised already; convert the original checkpoint")
    Tokenizer.load(path / QWEN_FOLDER)
    parts = dict(zip(PARTS, build_networks(config), strict=True))
    for part, network in parts.items():
        file = find_weights_file(path, part)
        fill_network(network, read_named_tensors(file), settings, file.name)
    if chosen_dtype is not None:
        parts["llm"].set_dtype(chosen_dtype)
        settings["dtype"] = str(chosen_dtype).removeprefix("mlx.core.")
    if quantize is not None:
        settings["quantization"] = _quantise(parts["llm"], quantize, group_size)
    settings["architecture"] = "cosyvoice2"
    with new_folder(target) as folder:
        for part, network in parts.items():
            mx.save_safetensors(
                str(folder / f"{part}.safetensors"), to_torch_axes(network), {"format": "mlx"}
            )
            settle()
        (folder / "config.json").write_text(json.dumps(settings, indent=2) + "\n", "ascii")
        (folder / QWEN_FOLDER).mkdir()
        copied_files = (
            CONFIG_FILE,
            *ENCODERS,
            SPEAKERS,
            *(f"{QWEN_FOLDER}/{name}" for name in TOKENIZER_FILES),
        )
        for name in copied_files:
            if (path / name).is_file():
                shutil.copyfile(path / name, folder / name)


def _quantise(lm: nn.Module, bits: int, group_size: int) -> dict[str, Any]:
    def should_quantise(name: str, module: nn.Module) -> bool:
        fits = isinstance(module, nn.Linear) and not module.weight.shape[1] % group_size
        return fits and name.startswith("llm.model.model.layers.")

    nn.quantize(lm, group_size, bits, class_predicate=should_quantise)
    return {"group_size": group_size, "bits": bits, "mode": "affine"}
