"""Checkpoint -> checkpoint: safetensors, another precision, a quantised language model.

What is written has official names and axes, weight norms folded, and loads without any change.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from cosyvoice2.config import BLANK, NAME, read
from cosyvoice2.load import (
    HUB_FILES,
    PARTS,
    SPEAKERS,
    TOKENIZER_FILES,
    as_named,
    converted_settings,
    fill,
    networks,
    weights_file,
)
from cosyvoice2.reference import ENCODERS
from cosyvoice2.tokenizer import Tokenizer
from speechbase.device import settle
from speechbase.errors import CheckpointError, RequestError
from speechbase.files import new_folder
from speechbase.hub import locate
from speechbase.weights import out_of_place, parse_dtype


def convert(
    source: str | Path,
    target: str | Path,
    *,
    dtype: Any = None,
    quantize: int | None = None,
    group_size: int = 64,
) -> None:
    """Write `source`, a directory or hub id, as a new directory `target`.

    `dtype` is what the language model is stored and computes in. Quantising covers the layers of
    its backbone; those whose inputs do not divide by the group size, its embeddings, flow and
    vocoder stay as they are. Raises CheckpointError, ConfigError, RequestError.
    """
    target = Path(target)
    if target.exists():
        raise CheckpointError(f"{target}: exists already; give a new directory")
    if quantize not in (None, 2, 3, 4, 5, 6, 8) or group_size not in (32, 64, 128):
        raise RequestError("quantize takes 2, 3, 4, 5, 6 or 8 bits, in groups of 32, 64 or 128")
    wanted = None if dtype is None else parse_dtype(dtype)
    path, _ = locate(source, HUB_FILES)
    config, settings = read(path), dict(converted_settings(path))
    if quantize is not None and "quantization" in settings:
        raise CheckpointError(f"{path} is quantised already; convert the original checkpoint")
    Tokenizer.load(path / BLANK)
    made = dict(zip(PARTS, networks(config), strict=True))
    for part, network in made.items():
        file = weights_file(path, part)
        fill(network, as_named(file), settings, file.name)
    if wanted is not None:
        made["llm"].set_dtype(wanted)
        settings["dtype"] = str(wanted).removeprefix("mlx.core.")
    if quantize is not None:
        settings["quantization"] = _quantise(made["llm"], quantize, group_size)
    settings["architecture"] = "cosyvoice2"
    with new_folder(target) as folder:
        for part, network in made.items():
            mx.save_safetensors(
                str(folder / f"{part}.safetensors"), out_of_place(network), {"format": "mlx"}
            )
            settle()
        (folder / "config.json").write_text(json.dumps(settings, indent=2) + "\n", "ascii")
        (folder / BLANK).mkdir()
        beside = (NAME, *ENCODERS, SPEAKERS, *(f"{BLANK}/{name}" for name in TOKENIZER_FILES))
        for name in beside:
            if (path / name).is_file():
                shutil.copyfile(path / name, folder / name)


def _quantise(lm: nn.Module, bits: int, group_size: int) -> dict[str, Any]:
    def wanted(name: str, module: nn.Module) -> bool:
        fits = isinstance(module, nn.Linear) and not module.weight.shape[1] % group_size
        return fits and name.startswith("llm.model.model.layers.")

    nn.quantize(lm, group_size, bits, class_predicate=wanted)
    return {"group_size": group_size, "bits": bits, "mode": "affine"}
