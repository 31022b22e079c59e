"""LoRA of the official fine-tuning: y = W x + b + (alpha / r) B (A x), unmerged or merged.

Unmerged it is exact even for bfloat16 or quantised W, where a merged W would round the small
difference away; merged it is faster. It covers attention in the language models and in LocDiT, and
the projections between the networks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_unflatten

from speechbase import files
from speechbase.errors import CheckpointError, printable
from speechbase.linear import LoRALinear
from speechbase.sections import read_object

# Upstream's configuration where lora_config.json is missing.
_DEFAULT = {"enable_lm": True, "enable_dit": True, "enable_proj": False, "r": 8, "alpha": 16}
_ATTENTION = ["q_proj", "v_proj", "k_proj", "o_proj"]
_MAX_OPTIONS_BYTES = 1 << 20  # bytes of lora_config.json
_MAX_RANK, _MAX_ALPHA = 1 << 16, 1e6
_PROJECTIONS = ["enc_to_lm_proj", "lm_to_dit_proj", "res_to_dit_proj", "fusion_concat_proj"]


@dataclass(frozen=True, slots=True, eq=False)
class Adapter:
    """A LoRA as read: names of linear layers -> A (r, in) and B (out, r)."""

    file: Path
    scale: float  # alpha / r
    rank: int
    layers: Mapping[str, tuple[mx.array, mx.array]]
    covers: re.Pattern[str]  # the names that its configuration gives a LoRA to


def read(directory: Path) -> Adapter:
    """Read lora_weights.safetensors (or .ckpt) and lora_config.json. Raises CheckpointError."""
    options = _read_options(directory / "lora_config.json")
    for name in ("lora_weights.safetensors", "lora_weights.ckpt"):
        file = directory / name
        if file.is_file():
            break
    else:
        raise CheckpointError(
            f"{directory}: no LoRA; looked for lora_weights.safetensors and lora_weights.ckpt"
        )
    tensors = files.read(file)
    names = {name.rpartition(".lora_")[0] for name in tensors}
    expected = {f"{name}.lora_{part}" for name in names for part in "AB"}
    if expected != tensors.keys():
        odd_names = ", ".join(map(printable, sorted(expected ^ tensors.keys())[:8]))
        raise CheckpointError(f"{file}: not pairs of .lora_A and .lora_B: {odd_names}")
    layers = {
        name: (tensors[f"{name}.lora_A"], tensors[f"{name}.lora_B"]) for name in sorted(names)
    }
    rank = int(options["r"])
    return Adapter(file, options["alpha"] / rank, rank, layers, _covered_names(options))


def apply(network: nn.Module, adapter: Adapter) -> None:
    """Adds the unmerged LoRA to the network's linear layers, in the network's dtype."""
    linears = _find_targets(network, adapter)
    wrapped = [
        (name, LoRALinear(linears[name], *pair, adapter.scale))
        for name, pair in adapter.layers.items()
    ]
    network.update_modules(tree_unflatten(wrapped))


def merge(network: nn.Module, adapter: Adapter) -> None:
    """Adds B A to the weights in float32, and rounds the sums to the weights' dtype."""
    for name, linear in _find_targets(network, adapter).items():
        if not isinstance(linear, nn.Linear):
            raise CheckpointError(
                f"{name} is quantised; merge into the unquantised checkpoint, then quantise"
            )
        a, b = (matrix.astype(mx.float32) for matrix in adapter.layers[name])
        weight = linear.weight.astype(mx.float32) + adapter.scale * (b @ a)
        linear.weight = weight.astype(linear.weight.dtype)


def _read_options(file: Path) -> dict[str, Any]:
    try:
        document = read_object(file, _MAX_OPTIONS_BYTES)
    except FileNotFoundError:
        return _DEFAULT
    custom_options = document.get("lora_config", document)
    if not isinstance(custom_options, dict):
        raise CheckpointError(f"{file}: not a LoRA configuration: lora_config is not an object")
    options = {**_DEFAULT, **custom_options}
    fault = _find_fault(options)
    if fault:
        raise CheckpointError(f"{file}: not a LoRA configuration: {fault}")
    return options


def _find_fault(options: Mapping[str, Any]) -> str:
    """Describes what is wrong with the options; returns "" if nothing is."""
    rank, alpha = options["r"], options["alpha"]
    if not (_is_positive(rank) and _is_positive(alpha)):
        return "r and alpha must be numbers above 0"
    if rank > _MAX_RANK or rank != int(rank) or alpha > _MAX_ALPHA:
        return f"r must be a whole number up to {_MAX_RANK}, alpha {_MAX_ALPHA:.0f} at most"
    for key in ("enable_lm", "enable_dit", "enable_proj"):
        if not isinstance(options[key], bool):
            return f"{key} must be true or false"
    for key in ("target_modules_lm", "target_modules_dit", "target_proj_modules"):
        names = options.get(key, [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            return f"{key} must be a list of names"
    return ""


def _is_positive(number: Any) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and number > 0


def _covered_names(options: Mapping[str, Any]) -> re.Pattern[str]:
    def any_of(key: str, default: list[str]) -> str:
        return "|".join(map(re.escape, options.get(key, default)))

    parts = []
    if options["enable_lm"]:
        targets = any_of("target_modules_lm", _ATTENTION)
        parts.append(rf"(base|residual)_lm\.layers\.\d+\.self_attn\.({targets})")
    if options["enable_dit"]:
        targets = any_of("target_modules_dit", _ATTENTION)
        parts.append(rf"feat_decoder\.estimator\.decoder\.layers\.\d+\.self_attn\.({targets})")
    if options["enable_proj"]:
        parts.append(f"({any_of('target_proj_modules', _PROJECTIONS)})")
    return re.compile("|".join(parts) or r"(?!)")


def _find_targets(network: nn.Module, adapter: Adapter) -> dict[str, nn.Module]:
    """Returns the layers that the adapter covers; one error names all that do not fit."""
    linears: dict[str, nn.Module] = {
        name: module
        for name, module in network.named_modules()
        if isinstance(module, nn.Linear | nn.QuantizedLinear) and adapter.covers.fullmatch(name)
    }
    problems = [
        f"{printable(name)}: no such layer" for name in adapter.layers if name not in linears
    ]
    for name, linear in linears.items():
        if name not in adapter.layers:
            problems.append(f"{name}: missing")
            continue
        outputs, inputs = _layer_size(linear)
        shapes = tuple(matrix.shape for matrix in adapter.layers[name])
        expected_shapes = ((adapter.rank, inputs), (outputs, adapter.rank))
        if shapes != expected_shapes:
            problems.append(f"{name}: shapes {shapes} instead of {expected_shapes}")
        elif not all(mx.issubdtype(matrix.dtype, mx.floating) for matrix in adapter.layers[name]):
            problems.append(f"{name}: its numbers are not floats")
    if problems:
        remainder = f"; and {len(problems) - 8} more" if len(problems) > 8 else ""
        raise CheckpointError(
            f"{adapter.file}: does not fit the model or its lora_config.json: "
            + "; ".join(problems[:8])
            + remainder
        )
    return linears


def _layer_size(linear: nn.Module) -> tuple[int, int]:
    """(out, in) of a linear layer, quantised or not."""
    outputs, inputs = linear.weight.shape
    return (
        outputs,
        inputs * 32 // linear.bits if isinstance(linear, nn.QuantizedLinear) else inputs,
    )
