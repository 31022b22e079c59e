"""Kokoro's layers as nodes of an ONNX graph, by their names in the checkpoint.

Layout (1, channels, time) in convolutions and (time, channels) elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kokoro82m.config import EPSILON, SLOPE
from kokoro82m.onnx_convolution import STRETCH, add_convolution
from kokoro82m.onnx_file import Graph

FOURIER_KERNELS = range(7, STRETCH // 2)
"""Kernels that are faster by `onnx_convolution.py`; one of 3 takes as long either way."""


class Layers:
    """Adds layers to a graph."""

    def __init__(self, graph: Graph, tensors: Mapping[str, np.ndarray]) -> None:
        self.graph, self.tensors = graph, tensors
        self.affine: dict[str, tuple[str, str]] = {}
        """Scale and shift of each norm that follows the style; see `project_style`."""

    def weight(self, name: str) -> str:
        """Adds a tensor of the checkpoint as a constant."""
        return self.graph.constant(self.tensors[name])

    # ---- (time, channels)

    def linear(self, x: str, name: str) -> str:
        return self.product(x, self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"])

    def product(self, x: str, weight: np.ndarray, bias: np.ndarray) -> str:
        """Multiplies x (…, inputs) by `weight` (outputs, inputs) and adds `bias` (outputs,)."""
        product = self.graph.add("MatMul", x, self.graph.constant(weight.T))
        return self.graph.add("Add", product, self.graph.constant(bias))

    def layer_norm(self, x: str, scale: str, shift: str, epsilon: float = EPSILON) -> str:
        attributes = {"axis": -1, "epsilon": epsilon}
        return self.graph.add("LayerNormalization", x, scale, shift, attributes=attributes)

    def lstm(self, x: str, name: str) -> str:
        """Both directions over (time, in) -> (time, 2 hidden)."""

        def gates(part: str, end: str) -> np.ndarray:
            i, f, g, o = np.split(self.tensors[f"{name}.{part}_l0{end}"], 4)
            return np.concatenate([i, o, f, g])  # ONNX's order

        def stack_directions(part: str) -> np.ndarray:
            return np.stack([gates(part, end) for end in ("", "_reverse")])

        recurrent = stack_directions("weight_hh")
        hidden = recurrent.shape[-1]
        biases = np.concatenate([stack_directions("bias_ih"), stack_directions("bias_hh")], axis=1)
        constants = map(self.graph.constant, (stack_directions("weight_ih"), recurrent, biases))
        x = self.graph.add("Unsqueeze", x, self.graph.constant([1]))
        attributes = {"direction": "bidirectional", "hidden_size": hidden}
        y = self.graph.add("LSTM", x, *constants, attributes=attributes)  # (time, 2, 1, hidden)
        return self.graph.reshape(y, [-1, 2 * hidden])

    # ---- (1, channels, time)

    def channels_first(self, x: str) -> str:
        """(time, channels) -> (1, channels, time)."""
        turned = self.graph.transpose(x, [1, 0])
        return self.graph.add("Unsqueeze", turned, self.graph.constant([0]))

    def channels_last(self, x: str) -> str:
        """(1, channels, time) -> (time, channels)."""
        return self.graph.transpose(self.graph.add("Squeeze", x, self.graph.constant([0])), [1, 0])

    def leaky(self, x: str, slope: float) -> str:
        return self.graph.add("LeakyRelu", x, attributes={"alpha": slope})

    def convolution(
        self, x: str, name: str, *, stride: int = 1, padding: int | None = None, factor: float = 1
    ) -> str:
        """Adds a convolution of the checkpoint, centred if `padding` is None.

        `factor` is folded into the weight: it is one that the input still lacks.
        """
        weight, bias = self.tensors[f"{name}.weight"], self.tensors.get(f"{name}.bias")
        return self.convolve(x, weight * np.float32(factor), bias, stride=stride, padding=padding)

    def convolve(
        self,
        x: str,
        weight: np.ndarray,
        bias: np.ndarray | None = None,
        *,
        stride: int = 1,
        padding: int | None = None,
        dilation: int = 1,
    ) -> str:
        """Convolves by `weight` (outputs, inputs, kernel), centred if `padding` is None."""
        padding = (weight.shape[2] - 1) // 2 * dilation if padding is None else padding
        attributes = {"pads": [padding] * 2, "strides": [stride], "dilations": [dilation]}
        arrays = (weight,) if bias is None else (weight, bias)
        return self.graph.add("Conv", x, *map(self.graph.constant, arrays), attributes=attributes)

    def transposed(
        self, x: str, weight: np.ndarray, bias: np.ndarray, attributes: Mapping[str, object]
    ) -> str:
        """Adds a transposed convolution by `weight` (inputs, outputs, kernel)."""
        constants = map(self.graph.constant, (weight, bias))
        return self.graph.add("ConvTranspose", x, *constants, attributes=attributes)

    # ---- style

    def project_style(self, style: str, part: str) -> None:
        """Computes scales and shifts of all norms of a part from its half of a style row, in one
        product, and keeps them in `affine`. To be called before the norms are added.

        Those of residual blocks with sines are multiplied by the sine's frequency; see `snake`.
        """
        ending = ".fc.weight"
        names = [name.removesuffix(ending) for name in self.tensors if name.endswith(ending)]
        names = [name for name in names if name.startswith(part)]
        weights, biases = [], []
        for name in names:
            weight, bias = self.tensors[f"{name}.fc.weight"], self.tensors[f"{name}.fc.bias"]
            half = len(bias) // 2
            factor = np.tile(self._frequency(name), 2) if ".adain" in name else np.ones(2 * half)
            weights.append(weight * factor[:, None])
            biases.append((bias + np.repeat([1, 0], half)) * factor)
        projected = self.product(style, np.concatenate(weights), np.concatenate(biases))
        halves = [len(bias) // 2 for bias in biases for _ in range(2)]
        parts = self.graph.add_outputs(
            "Split",
            projected,
            self.graph.constant(halves),
            count=len(halves),
            attributes={"axis": 0},
        )
        self.affine.update(zip(names, zip(parts[::2], parts[1::2], strict=True), strict=True))

    def instance_norm(self, x: str, name: str) -> str:
        attributes = {"epsilon": EPSILON}
        return self.graph.add("InstanceNormalization", x, *self.affine[name], attributes=attributes)

    def residual_block(self, x: str, name: str) -> str:
        """Adds an AdainResBlk1d; its output has twice the steps if it has a pool."""
        graph, tensors = self.graph, self.tensors
        doubles = f"{name}.pool.weight" in tensors
        y = self.leaky(self.instance_norm(x, f"{name}.norm1"), SLOPE)
        if doubles:
            weight, bias = tensors[f"{name}.pool.weight"], tensors[f"{name}.pool.bias"]
            attributes = {"strides": [2], "pads": [1, 1], "output_padding": [1]}
            y = self.transposed(y, weight, bias, {"group": len(weight), **attributes})
        y = self.convolution(y, f"{name}.conv1")
        y = self.leaky(self.instance_norm(y, f"{name}.norm2"), SLOPE)
        y = self.convolution(y, f"{name}.conv2")
        if f"{name}.conv1x1.weight" in tensors:
            x = self.convolution(x, f"{name}.conv1x1")
        if doubles:  # officially before the convolution of width 1, which sees single steps
            x = graph.add("Unsqueeze", x, graph.constant([3]))
            x = graph.add("Expand", x, graph.constant([1, 1, 1, 2]))
            x = graph.reshape(x, [1, len(tensors[f"{name}.conv2.weight"]), -1])
        return graph.add("Mul", graph.add("Add", y, x), graph.constant(np.sqrt(0.5)))

    def snake_block(self, x: str, name: str, dilations: Sequence[int]) -> tuple[str, np.ndarray]:
        """Adds an AdaINResBlock1 without the biases of its second convolutions; returns its output
        and the sum of these biases (channels,).

        An instance norm removes a bias, so these can be added at the end, and those of the first
        convolutions have no effect at all.
        """
        bias = np.zeros_like(self.tensors[f"{name}.convs2.0.bias"])
        for n, dilation in enumerate(dilations):
            y = x
            for part, spread in ((1, dilation), (2, 1)):
                norm = f"{name}.adain{part}.{n}"
                weight = self.tensors[f"{name}.convs{part}.{n}.weight"]
                weight = weight / self._frequency(norm)[:, None]
                y = self.snake(self.instance_norm(y, norm))
                if weight.shape[2] in FOURIER_KERNELS:
                    y = add_convolution(self.graph, y, weight, spread)
                else:
                    y = self.convolve(y, weight, dilation=spread)
            x = self.graph.add("Add", x, y)
            bias = bias + self.tensors[f"{name}.convs2.{n}.bias"]
        return x, bias

    def snake(self, x: str) -> str:
        """Computes x + sin(x)**2. For x = a y this is a times snake(y) = y + sin(a y)**2 / a.

        The factor a is in the scales of `project_style`; the weights after it are divided by a.
        """
        sine = self.graph.add("Sin", x)
        return self.graph.add("Add", x, self.graph.add("Mul", sine, sine))

    def _frequency(self, norm: str) -> np.ndarray:
        return self.tensors[norm.replace(".adain", ".alpha")].reshape(-1)
