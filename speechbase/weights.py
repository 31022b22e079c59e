"""Fits named tensors to modules: dtypes, weight norms, axes, and quantisation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_flatten

from speechbase.errors import CheckpointError, RequestError, printable
from speechbase.files import Tensors

DTYPES = {
    "float32": mx.float32,
    "fp32": mx.float32,
    "bfloat16": mx.bfloat16,
    "bf16": mx.bfloat16,
    "float16": mx.float16,
    "fp16": mx.float16,
}


def parse_dtype(dtype: Any) -> mx.Dtype:
    """Parses a name in `DTYPES`, or accepts one of their MLX dtypes. Raises RequestError."""
    mlx_dtype: Any = DTYPES.get(dtype) if isinstance(dtype, str) else dtype
    if not isinstance(mlx_dtype, mx.Dtype) or mlx_dtype not in DTYPES.values():
        raise RequestError(f"dtype {dtype!r} is not known; known: float32, bfloat16, float16")
    return mlx_dtype


_NORM_NAMES = (
    (".weight_g", ".weight_v"),
    (".parametrizations.weight.original0", ".parametrizations.weight.original1"),
)


def fold_weight_norm(tensors: Tensors) -> Tensors:
    """Replaces each pair g, v of a weight norm by the weight g v / |v|, |v| over all but axis 0."""
    folded = dict(tensors)
    for name in tensors:
        for gain, direction in _NORM_NAMES:
            base = name.removesuffix(gain)
            if base == name or base + direction not in tensors:
                continue
            g, v = tensors[name].astype(mx.float32), tensors[base + direction].astype(mx.float32)
            if v.ndim == 0 or g.shape != (v.shape[0],) + (1,) * (v.ndim - 1):
                continue  # left as they are, so that both are named as unexpected
            del folded[name], folded[base + direction]
            norm = mx.sqrt(mx.sum(v * v, axis=tuple(range(1, v.ndim)), keepdims=True))
            folded[f"{base}.weight"] = v * (g / norm)
    return folded


def parameters(module: nn.Module) -> Tensors:
    """Returns all arrays of a module by name."""
    return dict(tree_flatten(module.parameters()))


def to_mlx_axes(module: nn.Module, tensors: Mapping[str, mx.array]) -> Tensors:
    """Converts PyTorch's tensors to the axis order of a module's layers.

    A convolution's weight is (out, in, k) there and (out, k, in) here, a transposed one's
    (in, out, k) and (out, k, in).
    """
    return _reorder_axes(module, tensors, (0, 2, 1), (1, 2, 0))


def to_torch_axes(module: nn.Module) -> Tensors:
    """Returns a module's arrays in PyTorch's axis order, the reverse of `to_mlx_axes`."""
    return _reorder_axes(module, parameters(module), (0, 2, 1), (2, 0, 1))


def _reorder_axes(
    module: nn.Module,
    tensors: Mapping[str, mx.array],
    plain: tuple[int, int, int],
    transposed: tuple[int, int, int],
) -> Tensors:
    layers = dict(module.named_modules())
    reordered = dict(tensors)
    for name, tensor in tensors.items():
        layer = layers.get(name.removesuffix(".weight"))
        if tensor.ndim == 3 and isinstance(layer, nn.ConvTranspose1d):
            reordered[name] = tensor.transpose(transposed)
        elif tensor.ndim == 3 and isinstance(layer, nn.Conv1d):
            reordered[name] = tensor.transpose(plain)
    return reordered


def check_numbers(tensors: Tensors, expected: Tensors) -> None:
    """Checks that all tensors are floats, except for packed ones of quantised modules.

    Raises CheckpointError.
    """
    for name, tensor in tensors.items():
        dtype = expected[name].dtype if name in expected else mx.float32
        is_float = mx.issubdtype(dtype, mx.floating)
        if not (mx.issubdtype(tensor.dtype, mx.floating) if is_float else tensor.dtype == dtype):
            raise CheckpointError(
                f"the numbers of {name} are {tensor.dtype}, which no checkpoint has; "
                "download it again"
            )


def quantised_as(quantization: Any, module: str) -> dict[str, Any]:
    """Returns how one module is quantised: group_size, bits, mode. Raises CheckpointError."""
    if not isinstance(quantization, Mapping) or "bits" not in quantization:
        raise CheckpointError(
            f"{module} is quantised, but config.json has no quantization with group_size and bits"
        )
    override = quantization.get(module)
    merged = {**quantization, **override} if isinstance(override, Mapping) else quantization
    settings = {"group_size": merged.get("group_size", 64), "bits": merged["bits"]}
    settings["mode"] = merged.get("mode", "affine")
    if not all(type(settings[key]) is int for key in ("group_size", "bits")) or not isinstance(
        settings["mode"], str
    ):
        raise CheckpointError(
            f"config.json: quantization of {printable(module)}: group_size and bits must be whole "
            "numbers, mode a word"
        )
    return settings


def quantize_like(network: nn.Module, tensors: Tensors, quantization: Any) -> None:
    """Quantises the modules of a network whose tensors come with scales."""

    def quantisation_of(name: str, module: nn.Module) -> bool | dict[str, Any]:
        if f"{name}.scales" not in tensors or not hasattr(module, "to_quantized"):
            return False
        return quantised_as(quantization, name)

    if any(name.endswith(".scales") for name in tensors):
        try:
            nn.quantize(network, class_predicate=quantisation_of)
        except (ValueError, TypeError, RuntimeError) as error:
            raise CheckpointError(
                f"config.json: quantization does not fit: {printable(str(error))}"
            ) from error
