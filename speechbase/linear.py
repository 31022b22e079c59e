"""Linear layers: with a LoRA, several joined to one product, and with a fused sum.

With few rows a GPU waits for launches, not for arithmetic, so products of the same input are worth
joining. Knows no network.
"""

from __future__ import annotations

from collections.abc import Sequence

import mlx.core as mx
import mlx.nn as nn

ROW_ARRAYS = ("weight", "scales", "biases", "bias")
"""Arrays of a plain or a quantised layer that have a row for each output."""


class LoRALinear(nn.Module):
    """A linear layer, plain or quantised, with an unmerged LoRA."""

    def __init__(self, linear: nn.Module, a: mx.array, b: mx.array, scale: float) -> None:
        super().__init__()
        self.linear = linear
        dtype = (linear.scales if "scales" in linear else linear.weight).dtype
        self.lora_A, self.lora_B = a.astype(dtype), b.astype(dtype)
        self._scale = scale

    def __call__(self, x: mx.array) -> mx.array:
        return self.linear(x) + (x @ self.lora_A.T @ self.lora_B.T) * self._scale


class SeparateLayers(nn.Module):
    """Layers that cannot be one product: runs them in turn, and concatenates their outputs."""

    def __init__(self, layers: Sequence[nn.Module]) -> None:
        super().__init__()
        self.layers = list(layers)

    def __call__(self, x: mx.array) -> mx.array:
        return mx.concatenate([layer(x) for layer in self.layers], axis=-1)


def join_layers(layers: Sequence[nn.Module]) -> nn.Module:
    """Returns one layer whose output concatenates those of `layers`, in one product if possible.

    That is possible for plain layers, for layers quantised alike, and for both with a LoRA on some
    or all. Weights are not stored twice: those of `layers` become views into the new ones.
    """
    if any(isinstance(layer, LoRALinear) for layer in layers):
        return _join_lora_layers(layers)
    if len({_layer_format(layer) for layer in layers}) > 1:
        return SeparateLayers(layers)
    first = layers[0]
    bias = "bias" in first
    if isinstance(first, nn.QuantizedLinear):
        joined_layer: nn.Module = nn.QuantizedLinear(
            first.group_size, 1, bias, first.group_size, first.bits, first.mode
        )
    elif isinstance(first, nn.Linear):
        joined_layer = nn.Linear(1, 1, bias)
    else:
        return SeparateLayers(layers)
    for name in ROW_ARRAYS:
        if name in first:
            joined_layer[name] = mx.concatenate([layer[name] for layer in layers])
    mx.eval(joined_layer.parameters())
    end = 0
    for layer in layers:
        start, end = end, end + layer.weight.shape[0]
        for name in ROW_ARRAYS:
            if name in layer:
                layer[name] = joined_layer[name][start:end]
        mx.eval(layer.parameters())  # frees its old arrays before the next layer
    return joined_layer


def _layer_format(layer: nn.Module) -> tuple[object, ...]:
    """Returns the properties that must be equal for layers to be joined."""
    arrays = tuple((name, layer[name].dtype) for name in ROW_ARRAYS if name in layer)
    if isinstance(layer, nn.QuantizedLinear):
        return type(layer), arrays, layer.group_size, layer.bits, layer.mode
    return type(layer), arrays


def _join_lora_layers(layers: Sequence[nn.Module]) -> nn.Module:
    """Joins layers with LoRAs: all A in one product, then all B in one with zeros elsewhere.

    Exact, as sums with zeros are, and cheap at the rank of a LoRA.
    """
    adapted = [layer for layer in layers if isinstance(layer, LoRALinear)]
    if len({layer._scale for layer in adapted}) > 1:
        return SeparateLayers(layers)
    joined_layer = join_layers(
        [layer.linear if isinstance(layer, LoRALinear) else layer for layer in layers]
    )
    if isinstance(joined_layer, SeparateLayers):
        return SeparateLayers(layers)
    ranks = sum(layer.lora_A.shape[0] for layer in adapted)
    rows, before = [], 0
    for layer in layers:
        if isinstance(layer, LoRALinear):
            after = ranks - before - layer.lora_A.shape[0]
            rows.append(mx.pad(layer.lora_B, [(0, 0), (before, after)]))
            before += layer.lora_A.shape[0]
        else:
            rows.append(mx.zeros((layer.weight.shape[0], ranks), adapted[0].lora_B.dtype))
    a = mx.concatenate([layer.lora_A for layer in adapted])
    lora_layer = LoRALinear(joined_layer, a, mx.concatenate(rows), adapted[0]._scale)
    mx.eval(lora_layer.lora_A, lora_layer.lora_B)
    return lora_layer


def add_product(layer: nn.Module, x: mx.array, addend: mx.array, scale: float = 1.0) -> mx.array:
    """to + scale * layer(x), with the sum inside of the product where the layer is plain.

    There it is rounded once, not after each of the two. In two dimensions: with more, a CPU would
    make a product for each row of the batch.
    """
    if type(layer) is nn.Linear and "bias" not in layer:
        flat_inputs = x.reshape(-1, x.shape[-1]), addend.reshape(-1, addend.shape[-1])
        return mx.addmm(flat_inputs[1], flat_inputs[0], layer.weight.T, alpha=scale).reshape(
            addend.shape
        )
    y = layer(x)
    return addend + (y if scale == 1.0 else scale * y)
