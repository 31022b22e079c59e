"""Layers of one input in one product: the same numbers, names and memory."""

from __future__ import annotations

from collections.abc import Sequence

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest

from speechbase.linear import LoRALinear, SeparateLayers, add_product, join_layers

OUTPUTS = (64, 32, 96)


def plain(seed: int, outputs: int, bias: bool = False) -> nn.Linear:
    layer = nn.Linear(64, outputs, bias)
    layer.weight = mx.random.normal((outputs, 64), key=mx.random.key(seed))
    return layer


def quantised(seed: int, outputs: int, bits: int = 8) -> nn.Module:
    return nn.QuantizedLinear.from_linear(plain(seed, outputs), 32, bits)


def adapted(layer: nn.Module, outputs: int, scale: float = 2.0) -> LoRALinear:
    a, b = (
        mx.random.normal(shape, key=mx.random.key(outputs + n))
        for n, shape in enumerate([(4, 64), (outputs, 4)])
    )
    return LoRALinear(layer, a, b, scale)


def made(kind: str) -> list[nn.Module]:
    match kind:
        case "plain":
            return [plain(n, outputs) for n, outputs in enumerate(OUTPUTS)]
        case "with biases":
            return [plain(n, outputs, bias=True) for n, outputs in enumerate(OUTPUTS)]
        case "with biases, quantised":
            layers = made("with biases")
            return [nn.QuantizedLinear.from_linear(layer, 32, 8) for layer in layers]
        case "with biases on some":
            return [plain(n, outputs, bias=n > 0) for n, outputs in enumerate(OUTPUTS)]
        case "quantised":
            return [quantised(n, outputs) for n, outputs in enumerate(OUTPUTS)]
        case "with LoRA":
            return [adapted(plain(n, outputs), outputs) for n, outputs in enumerate(OUTPUTS)]
        case "with LoRA on some, quantised":
            first, *others = made("quantised")
            return [first, *map(adapted, others, OUTPUTS[1:])]
        case "of different bits":
            return [quantised(n, outputs, 4 + 4 * (n % 2)) for n, outputs in enumerate(OUTPUTS)]
        case "of different LoRA":
            return [adapted(plain(n, out), out, n + 1.0) for n, out in enumerate(OUTPUTS)]
    raise AssertionError(kind)


def side_by_side(layers: Sequence[nn.Module], x: mx.array) -> np.ndarray:
    return np.array(mx.concatenate([layer(x) for layer in layers], axis=-1))


@pytest.mark.parametrize(
    "kind",
    [
        "plain",
        "with biases",
        "with biases, quantised",
        "quantised",
        "with LoRA",
        "with LoRA on some, quantised",
    ],
)
def test_one_product_in_place_of_several(kind):
    layers, x = made(kind), mx.random.normal((2, 3, 64), key=mx.random.key(9))
    expected = side_by_side(layers, x)
    one = join_layers(layers)
    assert not isinstance(one, SeparateLayers)
    np.testing.assert_allclose(np.array(one(x)), expected, atol=1e-4)
    # and the layers are what they were
    np.testing.assert_allclose(side_by_side(layers, x), expected, atol=1e-4)


@pytest.mark.parametrize("kind", ["with biases on some", "of different bits", "of different LoRA"])
def test_what_is_not_alike_stays_apart(kind):
    layers, x = made(kind), mx.random.normal((2, 3, 64), key=mx.random.key(9))
    one = join_layers(layers)
    assert isinstance(one, SeparateLayers)
    np.testing.assert_array_equal(np.array(one(x)), side_by_side(layers, x))


def test_no_weight_is_held_twice():
    layers = [nn.Linear(512, 512, bias=False) for _ in range(3)]
    mx.eval([layer.parameters() for layer in layers])
    before = mx.get_active_memory()
    one = join_layers(layers)
    assert mx.get_active_memory() - before < 1e5
    assert one.weight.nbytes == 3 * 512 * 512 * 4


@pytest.mark.parametrize("scale", [1.0, 0.3])
@pytest.mark.parametrize("layer", [plain(1, 64), quantised(1, 64), adapted(plain(1, 64), 64)])
def test_a_sum_in_the_product_is_the_sum(layer, scale):
    x, to = (mx.random.normal((2, 3, 64), key=mx.random.key(n)) for n in (1, 2))
    expected = np.array(to + scale * layer(x))
    np.testing.assert_allclose(np.array(add_product(layer, x, to, scale)), expected, atol=1e-4)
