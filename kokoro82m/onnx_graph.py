"""Kokoro's networks as ONNX graphs, from weights under their official names.

Two graphs, because noise has to be drawn for as many samples as the first says:

    predictor   tokens (tokens,), style (256,), speed () -> durations (tokens,), pitch (2 frames,),
                energy (2 frames,), phonemes (1, hidden, frames)
    decoder     style, phonemes, pitch, energy, source (1, 22, 120 frames + 1): magnitudes and
                phases -> samples (600 frames,)

Layout (1, channels, time) in convolutions and (time, channels) elsewhere. What follows a value
linearly is folded into the next weights where that saves a pass over long arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kokoro82m.config import OVERLAPS, Config
from kokoro82m.onnx_convolution import Transform, make_transform
from kokoro82m.onnx_file import Graph

Tensors = Mapping[str, np.ndarray]

EPSILON = 1e-5
STRETCH = 32
"""Samples of a stretch in convolutions by Fourier transform."""


def write_predictor(graph: Graph, tensors: Tensors, config: Config) -> None:
    """Adds the network up to pitch and energy."""
    net = _Layers(graph, tensors)
    tokens = graph.input("tokens", ["tokens"], "int64")
    style = graph.input("style", [2 * config.style_size])
    speed = graph.input("speed", [])
    net.project_style(net.slice(style, config.style_size, 2 * config.style_size, 0), "predictor.")
    style_row = net.reshape(net.slice(style, config.style_size, 2 * config.style_size, 0), [1, -1])

    x = net.linear(net.albert(tokens, config), "bert_encoder")
    rows = graph.add("Expand", style_row, net.concat([net.size(tokens, 0), graph.constant([1])], 0))
    x = net.concat([x, rows], 1)
    for layer in range(config.num_layers):
        x = net.lstm(x, f"predictor.text_encoder.lstms.{2 * layer}")
        scale, shift = net.affine[f"predictor.text_encoder.lstms.{2 * layer + 1}"]
        x = net.layer_norm(x, scale, shift, EPSILON)
        x = net.concat([x, rows], 1)
    logits = net.linear(net.lstm(x, "predictor.lstm"), "predictor.duration_proj.linear_layer")
    total = graph.add(
        "ReduceSum", graph.add("Sigmoid", logits), graph.constant([1]), attributes={"keepdims": 0}
    )
    rounded = graph.add("Round", graph.add("Div", total, speed))
    durations = graph.add("Cast", graph.add("Max", rounded, graph.constant(1.0)), attributes={"to": 7})

    # Frame f belongs to the token before which f or fewer frames have ended.
    ends = graph.add("CumSum", durations, graph.constant(0))
    frames = graph.add("ReduceMax", ends, attributes={"keepdims": 0})
    frame = graph.add("Range", graph.constant(0), frames, graph.constant(1))
    passed = graph.add("GreaterOrEqual", net.reshape(frame, [-1, 1]), ends)
    index = graph.add(
        "ReduceSum", graph.add("Cast", passed, attributes={"to": 7}), graph.constant([1]),
        attributes={"keepdims": 0},
    )  # fmt: skip

    x = net.channels_first(net.lstm(graph.add("Gather", x, index), "predictor.shared"))
    for name, part in (("pitch", "F0"), ("energy", "N")):
        y = x
        for block in range(3):
            y = net.residual_block(y, f"predictor.{part}.{block}")
        y = net.convolution(y, f"predictor.{part}_proj")
        graph.output(name, net.reshape(y, [-1]), ["half frames"])
    phonemes = graph.add("Gather", net.text_encoder(tokens, config), index)
    graph.output("durations", durations, ["tokens"], "int64")
    graph.output("phonemes", net.channels_first(phonemes), [1, config.hidden_size, "frames"])


def write_decoder(graph: Graph, tensors: Tensors, config: Config) -> None:
    """Adds the network from phonemes, pitch, energy and the source's spectrum to samples."""
    net = _Layers(graph, tensors)
    style = graph.input("style", [2 * config.style_size])
    phonemes = graph.input("phonemes", [1, config.hidden_size, "frames"])
    curves = []
    for name, part in (("pitch", "F0_conv"), ("energy", "N_conv")):
        curve = net.reshape(graph.input(name, ["half frames"]), [1, 1, -1])
        curves.append(net.convolution(curve, f"decoder.{part}", stride=2))
    source = graph.input("source", [1, config.generator.n_fft + 2, "steps"])
    net.project_style(net.slice(style, 0, config.style_size, 0), "decoder.")

    x = net.residual_block(net.concat([phonemes, *curves], 1), "decoder.encode")
    reduced = net.convolution(phonemes, "decoder.asr_res.0")
    for block in range(4):
        x = net.residual_block(net.concat([x, reduced, *curves], 1), f"decoder.decode.{block}")
    samples = net.generator(x, source, config)
    graph.output("samples", samples, ["samples"])


class _Layers:
    """Layers by their names in the checkpoint, added to a graph."""

    def __init__(self, graph: Graph, tensors: Tensors) -> None:
        self.graph, self.tensors = graph, tensors
        self.affine: dict[str, tuple[str, str]] = {}
        """Scale and shift of each norm that follows the style."""

    # ---- operations

    def reshape(self, x: str, shape: Sequence[int]) -> str:
        return self.graph.add("Reshape", x, self.graph.constant(shape))

    def slice(self, x: str, start: int, stop: int, axis: int) -> str:
        c = self.graph.constant
        return self.graph.add("Slice", x, c([start]), c([stop]), c([axis]))

    def concat(self, values: Sequence[str], axis: int) -> str:
        return self.graph.add("Concat", *values, attributes={"axis": axis})

    def size(self, x: str, axis: int) -> str:
        """A dimension, (1,)."""
        return self.graph.add("Shape", x, attributes={"start": axis, "end": axis + 1})

    def transpose(self, x: str, axes: Sequence[int]) -> str:
        return self.graph.add("Transpose", x, attributes={"perm": axes})

    def channels_first(self, x: str) -> str:
        """(time, channels) -> (1, channels, time)."""
        return self.graph.add("Unsqueeze", self.transpose(x, [1, 0]), self.graph.constant([0]))

    def leaky(self, x: str, slope: float) -> str:
        return self.graph.add("LeakyRelu", x, attributes={"alpha": slope})

    # ---- layers

    def linear(self, x: str, name: str) -> str:
        return self._linear(x, self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"])

    def _linear(self, x: str, weight: np.ndarray, bias: np.ndarray) -> str:
        product = self.graph.add("MatMul", x, self.graph.constant(weight.T))
        return self.graph.add("Add", product, self.graph.constant(bias))

    def layer_norm(self, x: str, scale: str, shift: str, epsilon: float) -> str:
        attributes = {"axis": -1, "epsilon": epsilon}
        return self.graph.add("LayerNormalization", x, scale, shift, attributes=attributes)

    def _layer_norm(self, x: str, name: str, epsilon: float) -> str:
        scale, shift = (self.graph.constant(self.tensors[f"{name}.{p}"]) for p in ("weight", "bias"))
        return self.layer_norm(x, scale, shift, epsilon)

    def lstm(self, x: str, name: str) -> str:
        """Both directions over (time, in) -> (time, 2 hidden)."""

        def gates(part: str, direction: str) -> np.ndarray:
            i, f, g, o = np.split(self.tensors[f"{name}.{part}_l0{direction}"], 4)
            return np.concatenate([i, o, f, g])

        def both(part: str) -> np.ndarray:
            return np.stack([gates(part, direction) for direction in ("", "_reverse")])

        biases = np.concatenate([both("bias_ih"), both("bias_hh")], axis=1)
        recurrent = both("weight_hh")
        hidden = recurrent.shape[-1]
        constants = map(self.graph.constant, (both("weight_ih"), recurrent, biases))
        x = self.graph.add("Unsqueeze", x, self.graph.constant([1]))
        attributes = {"direction": "bidirectional", "hidden_size": hidden}
        y = self.graph.add("LSTM", x, *constants, attributes=attributes)  # (time, 2, 1, hidden)
        return self.reshape(y, [-1, 2 * hidden])

    def convolution(
        self, x: str, name: str, *, stride: int = 1, padding: int | None = None, dilation: int = 1, factor: float = 1
    ) -> str:
        """Padded to the length of `x` unless said; `factor` is that of its input."""
        weight, bias = self.tensors[f"{name}.weight"] * factor, self.tensors.get(f"{name}.bias")
        return self._convolution(x, weight, bias, stride, padding, dilation)

    def _convolution(
        self, x: str, weight: np.ndarray, bias: np.ndarray | None, stride: int = 1, padding: int | None = None, dilation: int = 1
    ) -> str:
        padding = (weight.shape[2] - 1) // 2 * dilation if padding is None else padding
        attributes = {"pads": [padding] * 2, "strides": [stride], "dilations": [dilation]}
        arrays = (weight,) if bias is None else (weight, bias)
        return self.graph.add("Conv", x, *map(self.graph.constant, arrays), attributes=attributes)

    # ---- style

    def project_style(self, style: str, part: str) -> None:
        """Scales and shifts of all norms of a part from its half of a style row, in one product."""
        names = [n.removesuffix(".fc.weight") for n in self.tensors if n.startswith(part) and n.endswith(".fc.weight")]
        weights, biases = [], []
        for name in names:
            weight, bias = self.tensors[f"{name}.fc.weight"], self.tensors[f"{name}.fc.bias"]
            half = len(bias) // 2
            bias = np.concatenate([bias[:half] + 1, bias[half:]])
            # Behind a norm of residual blocks, a y is what the sine is taken of (`snake`).
            factor = np.tile(self._alpha(name), 2) if ".adain" in name else np.ones(2 * half)
            weights.append(weight * factor[:, None])
            biases.append(bias * factor)
        values = self._linear(style, np.concatenate(weights), np.concatenate(biases))
        halves = [len(bias) // 2 for bias in biases for _ in range(2)]
        parts = self.graph.split(
            "Split", values, self.graph.constant(halves), count=len(halves), attributes={"axis": 0}
        )
        self.affine.update(zip(names, zip(parts[::2], parts[1::2], strict=True), strict=True))

    def _alpha(self, norm: str) -> np.ndarray:
        return self.tensors[norm.replace(".adain", ".alpha")].reshape(-1)

    def instance_norm(self, x: str, name: str) -> str:
        return self.graph.add(
            "InstanceNormalization", x, *self.affine[name], attributes={"epsilon": EPSILON}
        )

    # ---- text

    def albert(self, tokens: str, config: Config) -> str:
        """(tokens, hidden of ALBERT)."""
        graph, tensors = self.graph, self.tensors
        table = "bert.embeddings.{}_embeddings.weight".format
        positions = tensors[table("position")] + tensors[table("token_type")][0]
        words = graph.add("Gather", graph.constant(tensors[table("word")]), tokens)
        c = graph.constant
        places = graph.add("Slice", c(positions), c([0]), self.size(tokens, 0), c([0]))
        x = self._layer_norm(graph.add("Add", words, places), "bert.embeddings.LayerNorm", 1e-12)
        x = self.linear(x, "bert.encoder.embedding_hidden_mapping_in")
        body = graph.nested()
        body.input("round", [], "int64")
        going = body.input("going", [], "bool")
        state = body.input("state", ["tokens", config.albert.hidden_size])
        layers = _Layers(body, tensors)
        y = layers.albert_layer(state, config)
        body.output("going on", going, [], "bool")
        body.output("next", y, ["tokens", config.albert.hidden_size])
        return graph.add("Loop", c(config.albert.num_layers), "", x, attributes={"body": body})

    def albert_layer(self, x: str, config: Config) -> str:
        layer = "bert.encoder.albert_layer_groups.0.albert_layers.0."
        attention = layer + "attention."
        heads = config.albert.num_heads
        width = config.albert.hidden_size // heads
        weights, biases = (
            [self.tensors[f"{attention}{part}.{kind}"] for part in ("query", "key", "value")]
            for kind in ("weight", "bias")
        )
        weights[0], biases[0] = weights[0] / np.sqrt(width), biases[0] / np.sqrt(width)
        projected = self._linear(x, np.concatenate(weights), np.concatenate(biases))
        split = self.transpose(self.reshape(projected, [-1, 3 * heads, width]), [1, 0, 2])
        q, k, v = self.graph.split("Split", split, count=3, attributes={"axis": 0, "num_outputs": 3})
        scores = self.graph.add("MatMul", q, self.transpose(k, [0, 2, 1]))
        mixed = self.graph.add("MatMul", self.graph.add("Softmax", scores), v)
        mixed = self.reshape(self.transpose(mixed, [1, 0, 2]), [-1, heads * width])
        mixed = self.graph.add("Add", x, self.linear(mixed, attention + "dense"))
        x = self._layer_norm(mixed, attention + "LayerNorm", 1e-12)
        y = self.linear(x, layer + "ffn")
        y = self.graph.add("Gelu", y, attributes={"approximate": "tanh"})
        y = self.graph.add("Add", x, self.linear(y, layer + "ffn_output"))
        return self._layer_norm(y, layer + "full_layer_layer_norm", 1e-12)

    def text_encoder(self, tokens: str, config: Config) -> str:
        """(tokens, hidden)."""
        x = self.graph.add("Gather", self.graph.constant(self.tensors["text_encoder.embedding.weight"]), tokens)
        for layer in range(config.num_layers):
            x = self.convolution(self.channels_first(x), f"text_encoder.cnn.{layer}.0")
            x = self.transpose(self.graph.add("Squeeze", x, self.graph.constant([0])), [1, 0])
            gamma, beta = (self.graph.constant(self.tensors[f"text_encoder.cnn.{layer}.1.{p}"]) for p in ("gamma", "beta"))
            x = self.leaky(self.layer_norm(x, gamma, beta, EPSILON), 0.2)
        return self.lstm(x, "text_encoder.lstm")

    # ---- decoder

    def residual_block(self, x: str, name: str) -> str:
        """AdainResBlk1d, twice as long where it has a pool."""
        doubles = f"{name}.pool.weight" in self.tensors
        y = self.leaky(self.instance_norm(x, f"{name}.norm1"), 0.2)
        if doubles:
            weight, bias = self.tensors[f"{name}.pool.weight"], self.tensors[f"{name}.pool.bias"]
            attributes = {"group": len(weight), "strides": [2], "pads": [1, 1], "output_padding": [1]}
            y = self.graph.add("ConvTranspose", y, self.graph.constant(weight), self.graph.constant(bias), attributes=attributes)
        y = self.convolution(y, f"{name}.conv1")
        y = self.leaky(self.instance_norm(y, f"{name}.norm2"), 0.2)
        y = self.convolution(y, f"{name}.conv2", factor=1)
        if f"{name}.conv1x1.weight" in self.tensors:
            x = self.convolution(x, f"{name}.conv1x1")
        if doubles:  # behind the convolution of width 1, which then has half to do
            x = self.graph.add("Unsqueeze", x, self.graph.constant([3]))
            x = self.graph.add("Expand", x, self.graph.constant([1, 1, 1, 2]))
            x = self.reshape(x, [1, len(self.tensors[f"{name}.conv2.weight"]), -1])
        return self.graph.add("Mul", self.graph.add("Add", y, x), self.graph.constant(np.sqrt(0.5)))

    def generator(self, x: str, source: str, config: Config) -> str:
        """(samples,)."""
        settings, graph = config.generator, self.graph
        name = "decoder.generator."
        kinds = len(settings.kernels)
        factor = 1.0
        for i, rate in enumerate(settings.rates):
            last = i == len(settings.rates) - 1
            x = self.leaky(x, 0.1)
            step = int(np.prod(settings.rates[i + 1 :]))
            harmonics = self.convolution(source, f"{name}noise_convs.{i}", stride=step, padding=(step + 1) // 2 if not last else 0)
            kernel = self.tensors[f"{name}noise_res.{i}.convs1.0.weight"].shape[2]
            harmonics, bias = self.snake_block(harmonics, f"{name}noise_res.{i}", kernel, (1, 3, 5))
            attributes = {"strides": [rate], "pads": [rate // 2] * 2}
            weight = self.tensors[f"{name}ups.{i}.weight"] * np.float32(factor)
            x = graph.add("ConvTranspose", x, graph.constant(weight), graph.constant(self.tensors[f"{name}ups.{i}.bias"] + bias), attributes=attributes)
            if last:
                x = graph.add("Pad", x, graph.constant([0, 0, 1, 0, 0, 0]), attributes={"mode": "reflect"})
            x = graph.add("Add", x, harmonics)
            blocks = [
                self.snake_block(x, f"{name}resblocks.{kinds * i + j}", kernel, dilations)
                for j, (kernel, dilations) in enumerate(zip(settings.kernels, settings.dilations, strict=True))
            ]
            x = blocks[0][0]
            for y, _ in blocks[1:]:
                x = graph.add("Add", x, y)
            x = graph.add("Add", x, graph.constant(sum(b for _, b in blocks)[:, None]))
            factor = 1 / kinds
        x = self.convolution(self.leaky(x, 0.01), f"{name}conv_post", factor=np.float32(factor))
        return self.inverse_stft(x, settings.n_fft, settings.n_fft // OVERLAPS)

    def snake_block(self, x: str, name: str, kernel: int, dilations: Sequence[int]) -> tuple[str, np.ndarray]:
        """AdaINResBlock1 without the biases of its second convolutions, and their sum.

        Norms take no notice of a bias, so it can be added at the end. Those of the first
        convolutions come to nothing.
        """
        bias = np.zeros(self.tensors[f"{name}.convs2.0.bias"].shape, np.float32)
        for i, dilation in enumerate(dilations):
            y = x
            for j, spread in ((1, dilation), (2, 1)):
                y = self.snake(self.instance_norm(y, f"{name}.adain{j}.{i}"))
                weight = self.tensors[f"{name}.convs{j}.{i}.weight"] / self._alpha(f"{name}.adain{j}.{i}")[:, None]
                y = self.long_convolution(y, weight, spread)
            x = self.graph.add("Add", x, y)
            bias = bias + self.tensors[f"{name}.convs2.{i}.bias"]
        return x, bias

    def snake(self, x: str) -> str:
        """x + sin(x)**2: of x = a y it is a times the snake of y; the weights that follow divide."""
        sine = self.graph.add("Sin", x)
        return self.graph.add("Add", x, self.graph.add("Mul", sine, sine))

    def long_convolution(self, x: str, weight: np.ndarray, dilation: int) -> str:
        if weight.shape[2] < 7 or DIRECT:
            return self._convolution(x, weight, None, dilation=dilation)
        return self.fourier_convolution(x, weight, dilation, make_transform(STRETCHES[weight.shape[2]], weight.shape[2]))

    def fourier_convolution(self, x: str, weight: np.ndarray, dilation: int, transform: Transform) -> str:
        graph = self.graph
        outputs, inputs, kernel = weight.shape
        length = self.size(x, 2)
        c = graph.constant
        left = (kernel - 1) // 2
        pads = [left, transform.length - 1 - left]
        forward = transform.forward.astype(np.float32)
        rows = transform.rows
        spectra = np.einsum("pk,oik->poi", transform.kernels, weight.astype(np.float64))
        if dilation == 1:
            y = self.reshape(x, [inputs, 1, -1])
            y = graph.add("Conv", y, c(forward[:, None]), attributes={"strides": [transform.step], "pads": pads})
            y = self.transpose(y, [1, 0, 2])
        else:
            more = graph.add("Mod", graph.add("Neg", length), c([dilation]))
            y = graph.add("Pad", x, self.concat([c([0] * 5), more], 0))
            if VARIANT == 0:
                y = self.reshape(y, [inputs, 1, -1, dilation])
                y = graph.add("Conv", y, c(forward[:, None, :, None]), attributes={"strides": [transform.step, 1], "pads": [pads[0], 0, pads[1], 0]})
                y = self.reshape(self.transpose(y, [1, 0, 2, 3]), [rows, inputs, -1])
            else:
                y = self.transpose(self.reshape(y, [inputs, -1, dilation]), [0, 2, 1])
                shape = self.concat([c([inputs * dilation, 1]), self.size(y, 2)], 0)
                y = graph.add("Conv", graph.add("Reshape", y, shape), c(forward[:, None]), attributes={"strides": [transform.step], "pads": pads})
                y = self.reshape(self.transpose(y, [1, 0, 2]), [rows, inputs, -1])
        y = graph.add("MatMul", c(spectra), y)
        y = graph.add("MatMul", c(transform.inverse), self.reshape(y, [rows, -1]))
        if dilation == 1:
            y = self.transpose(self.reshape(y, [transform.step, outputs, -1]), [1, 2, 0])
        elif VARIANT == 0:
            y = self.transpose(self.reshape(y, [transform.step, outputs, -1, dilation]), [1, 2, 0, 3])
        else:
            y = self.reshape(y, [transform.step, outputs * dilation, -1])
            y = self.reshape(self.transpose(y, [1, 2, 0]), [outputs, dilation, -1])
            y = self.transpose(y, [0, 2, 1])
        y = self.reshape(y, [1, outputs, -1])
        return graph.add("Slice", y, c([0]), length, c([2]))

    def inverse_stft(self, x: str, n_fft: int, hop: int) -> str:
        """Logarithms of magnitudes and sines of phases (1, n_fft + 2, steps) -> samples."""
        graph, bins = self.graph, n_fft // 2 + 1
        magnitude = graph.add("Exp", self.slice(x, 0, bins, 1))
        phase = graph.add("Sin", self.slice(x, bins, 2 * bins, 1))
        parts = [graph.add("Mul", magnitude, graph.add(op, phase)) for op in ("Cos", "Sin")]
        window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n_fft) / n_fft)
        angle = 2 * np.pi * np.outer(np.arange(bins), np.arange(n_fft)) / n_fft
        share = np.full((bins, 1), 2.0)
        share[[0, -1]] = 1
        basis = np.concatenate([share * np.cos(angle), -share * np.sin(angle)]) * window / n_fft
        attributes = {"strides": [hop], "pads": [n_fft // 2] * 2}
        sum_ = graph.add("ConvTranspose", self.concat(parts, 1), graph.constant(basis[:, None]), attributes=attributes)
        ones = graph.add("Expand", graph.constant([[[1.0]]]), self.concat([graph.constant([1, 1]), self.size(x, 2)], 0))
        weight = graph.add("ConvTranspose", ones, graph.constant(window[None, None] ** 2), attributes=attributes)
        return self.reshape(graph.add("Div", sum_, weight), [-1])


DIRECT = False
STRETCHES = {7: 32, 11: 32}

VARIANT = 0
