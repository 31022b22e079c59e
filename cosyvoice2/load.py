"""A folder -> the networks with their weights."""

from __future__ import annotations

from collections.abc import Mapping

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_flatten


def in_place(module: nn.Module, tensors: Mapping[str, mx.array]) -> dict[str, mx.array]:
    """Tensors as PyTorch has them, in the axis order of a module's layers.

    A convolution's weight is (out, in, k) there and (out, k, in) here, a transposed one's
    (in, out, k) and (out, k, in).
    """
    kinds = dict(module.named_modules())

    def turned(name: str, tensor: mx.array) -> mx.array:
        layer = kinds.get(name.removesuffix(".weight"))
        if isinstance(layer, nn.ConvTranspose1d):
            return tensor.transpose(1, 2, 0)
        return tensor.transpose(0, 2, 1) if isinstance(layer, nn.Conv1d) else tensor

    return {name: turned(name, tensor) for name, tensor in tensors.items()}


def parameters(module: nn.Module) -> dict[str, mx.array]:
    """All arrays of a module by name."""
    return dict(tree_flatten(module.parameters()))


_NORM = (".parametrizations.weight.original0", ".parametrizations.weight.original1")


def fold_weight_norm(tensors: Mapping[str, mx.array]) -> dict[str, mx.array]:
    """Replace each pair g, v of a weight norm by the weight g v / |v|, |v| over all but axis 0."""
    folded = dict(tensors)
    for name in tensors:
        base = name.removesuffix(_NORM[0])
        if base == name or base + _NORM[1] not in tensors:
            continue
        g, v = folded.pop(name), folded.pop(base + _NORM[1])
        norm = mx.sqrt(mx.sum(v * v, axis=tuple(range(1, v.ndim)), keepdims=True))
        folded[f"{base}.weight"] = v * (g / norm)
    return folded
