"""A folder -> the networks with their weights."""

from __future__ import annotations

from collections.abc import Mapping

import mlx.core as mx
import mlx.nn as nn


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
