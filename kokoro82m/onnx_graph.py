"""Kokoro's networks as ONNX graphs, from weights under their official names.

Two graphs, because noise has to be drawn for as many samples as the first says:

    predictor   tokens (tokens,), style (256,), speed () -> durations (tokens,), pitch (2 frames,),
                energy (2 frames,), phonemes (1, hidden, frames)
    decoder     style, phonemes, pitch, energy, source (1, 22, 120 frames + 1): magnitudes and
                phases -> samples (600 frames,)

Style is a whole row of a voice in both; pitch is F0 in Hz; `phonemes` are the text encoder's
features, repeated for the frames of each token. Factors and biases are folded into the next weights
where that saves a pass over long arrays.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kokoro82m import windows
from kokoro82m.config import (
    ALBERT_EPSILON,
    DECODER_BLOCKS,
    LAST_SLOPE,
    NOISE_DILATIONS,
    OVERLAPS,
    SLOPE,
    UPSAMPLING_SLOPE,
    Config,
)
from kokoro82m.onnx_file import Graph
from kokoro82m.onnx_layers import Layers

Tensors = Mapping[str, np.ndarray]

INT64 = 7
"""ONNX's number of this type, for casts."""


# ---- predictor


def write_predictor(graph: Graph, tensors: Tensors, config: Config) -> None:
    """Adds the networks from tokens to durations, pitch, energy and phonemes."""
    net = Layers(graph, tensors)
    tokens = graph.input("tokens", ["tokens"], "int64")
    style = graph.input("style", [2 * config.style_size])
    speed = graph.input("speed", [])
    style = graph.slice(style, config.style_size, 2 * config.style_size, 0)
    net.project_style(style, "predictor.")

    x = net.linear(_albert(net, tokens, config), "bert_encoder")
    x = _duration_encoder(net, x, style, config)
    logits = net.linear(net.lstm(x, "predictor.lstm"), "predictor.duration_proj.linear_layer")
    durations, places = _durations(graph, logits, speed)
    graph.output("durations", durations, ["tokens"], "int64")

    x = net.channels_first(net.lstm(graph.add("Gather", x, places), "predictor.shared"))
    for name, part in (("pitch", "F0"), ("energy", "N")):
        y = x
        for block in range(3):
            y = net.residual_block(y, f"predictor.{part}.{block}")
        y = net.convolution(y, f"predictor.{part}_proj")
        graph.output(name, graph.reshape(y, [-1]), ["half frames"])
    phonemes = graph.add("Gather", _text_encoder(net, tokens, config), places)
    graph.output("phonemes", net.channels_first(phonemes), [1, config.hidden_size, "frames"])


def _albert(net: Layers, tokens: str, config: Config) -> str:
    """Returns ALBERT's output (tokens, hidden of ALBERT); its repeated layer is a loop."""
    graph, tensors, constant = net.graph, net.tensors, net.graph.constant
    table = "bert.embeddings.{}_embeddings.weight".format
    words = graph.add("Gather", net.weight(table("word")), tokens)
    positions = constant(tensors[table("position")] + tensors[table("token_type")][0])
    positions = graph.add("Slice", positions, constant([0]), graph.size(tokens, 0), constant([0]))
    x = _albert_norm(net, graph.add("Add", words, positions), "bert.embeddings.LayerNorm")
    x = net.linear(x, "bert.encoder.embedding_hidden_mapping_in")
    hidden = config.albert.hidden_size
    body = graph.nested()
    body.input("round", [], "int64")
    condition = body.input("condition", [], "bool")
    state = body.input("state", ["tokens", hidden])
    layer = _albert_layer(Layers(body, tensors), state, config)
    body.output("next condition", condition, [], "bool")
    body.output("next state", layer, ["tokens", hidden])
    layers = constant(config.albert.num_layers)
    return graph.add("Loop", layers, "", x, attributes={"body": body})


def _albert_norm(net: Layers, x: str, name: str) -> str:
    scale, shift = (net.weight(f"{name}.{part}") for part in ("weight", "bias"))
    return net.layer_norm(x, scale, shift, ALBERT_EPSILON)


def _albert_layer(net: Layers, x: str, config: Config) -> str:
    graph, layer = net.graph, "bert.encoder.albert_layer_groups.0.albert_layers.0"
    mixed = net.linear(_attention(net, x, f"{layer}.attention", config), f"{layer}.attention.dense")
    x = _albert_norm(net, graph.add("Add", x, mixed), f"{layer}.attention.LayerNorm")
    y = net.linear(x, f"{layer}.ffn")
    y = graph.add("Gelu", y, attributes={"approximate": "tanh"})
    y = graph.add("Add", x, net.linear(y, f"{layer}.ffn_output"))
    return _albert_norm(net, y, f"{layer}.full_layer_layer_norm")


def _attention(net: Layers, x: str, name: str, config: Config) -> str:
    """Returns attention's output (tokens, hidden), before the layer that mixes the heads."""
    graph, heads = net.graph, config.albert.num_heads
    width = config.albert.hidden_size // heads
    weights, biases = (
        [net.tensors[f"{name}.{part}.{kind}"] for part in ("query", "key", "value")]
        for kind in ("weight", "bias")
    )
    weights[0], biases[0] = weights[0] / np.sqrt(width), biases[0] / np.sqrt(width)
    projected = net.product(x, np.concatenate(weights), np.concatenate(biases))
    parts = graph.transpose(graph.reshape(projected, [-1, 3 * heads, width]), [1, 0, 2])
    q, k, v = graph.add_outputs("Split", parts, count=3, attributes={"axis": 0, "num_outputs": 3})
    scores = graph.add("MatMul", q, graph.transpose(k, [0, 2, 1]))
    mixed = graph.add("MatMul", graph.add("Softmax", scores), v)
    return graph.reshape(graph.transpose(mixed, [1, 0, 2]), [-1, heads * width])


def _duration_encoder(net: Layers, x: str, style: str, config: Config) -> str:
    """(tokens, hidden) -> (tokens, hidden + style): the style is appended after every layer."""
    graph = net.graph
    shape = graph.concat([graph.size(x, 0), graph.constant([1])], 0)
    styles = graph.add("Expand", graph.reshape(style, [1, -1]), shape)
    x = graph.concat([x, styles], 1)
    for layer in range(config.num_layers):
        x = net.lstm(x, f"predictor.text_encoder.lstms.{2 * layer}")
        x = net.layer_norm(x, *net.affine[f"predictor.text_encoder.lstms.{2 * layer + 1}"])
        x = graph.concat([x, styles], 1)
    return x


def _durations(graph: Graph, logits: str, speed: str) -> tuple[str, str]:
    """Returns the frames of each token, and the token of each frame."""
    constant, flat = graph.constant, {"keepdims": 0}
    shares = graph.add("Sigmoid", logits)
    total = graph.add("ReduceSum", shares, constant([1]), attributes=flat)
    rounded = graph.add("Round", graph.add("Div", total, speed))
    durations = graph.add("Max", rounded, constant(1.0))
    durations = graph.add("Cast", durations, attributes={"to": INT64})
    # The token of a frame is the number of tokens that have ended before it.
    ends = graph.add("CumSum", durations, constant(0))
    count = graph.add("ReduceMax", ends, attributes=flat)
    frames = graph.add("Range", constant(0), count, constant(1))
    passed = graph.add("GreaterOrEqual", graph.reshape(frames, [-1, 1]), ends)
    passed = graph.add("Cast", passed, attributes={"to": INT64})
    return durations, graph.add("ReduceSum", passed, constant([1]), attributes=flat)


def _text_encoder(net: Layers, tokens: str, config: Config) -> str:
    """Returns the text encoder's output (tokens, hidden)."""
    x = net.graph.add("Gather", net.weight("text_encoder.embedding.weight"), tokens)
    for layer in range(config.num_layers):
        x = net.convolution(net.channels_first(x), f"text_encoder.cnn.{layer}.0")
        gamma, beta = (net.weight(f"text_encoder.cnn.{layer}.1.{p}") for p in ("gamma", "beta"))
        x = net.leaky(net.layer_norm(net.channels_last(x), gamma, beta), SLOPE)
    return net.lstm(x, "text_encoder.lstm")


# ---- decoder


def write_decoder(graph: Graph, tensors: Tensors, config: Config) -> None:
    """Adds the network from phonemes, pitch, energy and the source's spectrum to samples."""
    net = Layers(graph, tensors)
    style = graph.input("style", [2 * config.style_size])
    phonemes = graph.input("phonemes", [1, config.hidden_size, "frames"])
    curves = []
    for name, part in (("pitch", "F0_conv"), ("energy", "N_conv")):
        curve = graph.reshape(graph.input(name, ["half frames"]), [1, 1, -1])
        curves.append(net.convolution(curve, f"decoder.{part}", stride=2))
    source = graph.input("source", [1, config.generator.n_fft + 2, "steps"])
    net.project_style(graph.slice(style, 0, config.style_size, 0), "decoder.")

    x = net.residual_block(graph.concat([phonemes, *curves], 1), "decoder.encode")
    again = [net.convolution(phonemes, "decoder.asr_res.0"), *curves]
    for block in range(DECODER_BLOCKS):
        x = net.residual_block(graph.concat([x, *again], 1), f"decoder.decode.{block}")
    graph.output("samples", _generator(net, x, source, config), ["samples"])


def _generator(net: Layers, x: str, source: str, config: Config) -> str:
    """The decoder's output (1, channels, 2 frames) -> samples (600 frames,)."""
    settings, graph, name = config.generator, net.graph, "decoder.generator"
    kinds = len(settings.kernels)
    factor = 1.0  # of the mean of a stage's blocks: they are summed, and the next weights divide
    for stage, rate in enumerate(settings.rates):
        source_features, source_bias = _add_source_features(net, source, stage, config)
        up = f"{name}.ups.{stage}"
        attributes = {"strides": [rate], "pads": [rate // 2] * 2}
        weight = net.tensors[f"{up}.weight"] * np.float32(factor)
        bias = net.tensors[f"{up}.bias"] + source_bias
        x = net.transposed(net.leaky(x, UPSAMPLING_SLOPE), weight, bias, attributes)
        if stage == len(settings.rates) - 1:  # the spectrum has a step more than there are hops
            pads = graph.constant([0, 0, 1, 0, 0, 0])
            x = graph.add("Pad", x, pads, attributes={"mode": "reflect"})
        x = graph.add("Add", x, source_features)
        blocks = [
            net.snake_block(x, f"{name}.resblocks.{kinds * stage + kind}", dilations)
            for kind, dilations in enumerate(settings.dilations)
        ]
        x = graph.constant(np.sum([bias for _, bias in blocks], axis=0)[:, None])
        for block, _ in blocks:
            x = graph.add("Add", block, x)
        factor = 1 / kinds
    x = net.convolution(net.leaky(x, LAST_SLOPE), f"{name}.conv_post", factor=factor)
    return _inverse_stft(graph, x, settings.n_fft)


def _add_source_features(
    net: Layers, source: str, stage: int, config: Config
) -> tuple[str, np.ndarray]:
    """Returns the source's features for a stage without their bias, and this bias (channels,)."""
    rates, name = config.generator.rates, "decoder.generator"
    stride = int(np.prod(rates[stage + 1 :]))
    padding = 0 if stage == len(rates) - 1 else stride // 2
    x = net.convolution(source, f"{name}.noise_convs.{stage}", stride=stride, padding=padding)
    return net.snake_block(x, f"{name}.noise_res.{stage}", NOISE_DILATIONS)


def _inverse_stft(graph: Graph, x: str, n_fft: int) -> str:
    """Logarithms of magnitudes and sines of phases (1, n_fft + 2, steps) -> samples."""
    bins, constant = n_fft // 2 + 1, graph.constant
    magnitude = graph.add("Exp", graph.slice(x, 0, bins, 1))
    phase = graph.add("Sin", graph.slice(x, bins, 2 * bins, 1))
    parts = [graph.add("Mul", magnitude, graph.add(op, phase)) for op in ("Cos", "Sin")]
    attributes = {"strides": [n_fft // OVERLAPS], "pads": [n_fft // 2] * 2}
    basis = constant(windows.synthesis(n_fft).T[:, None])
    total = graph.add("ConvTranspose", graph.concat(parts, 1), basis, attributes=attributes)
    shape = graph.concat([constant([1, 1]), graph.size(x, 2)], 0)
    ones = graph.add("Expand", constant([[[1.0]]]), shape)
    squares = constant(windows.hann(n_fft)[None, None] ** 2)
    overlap = graph.add("ConvTranspose", ones, squares, attributes=attributes)
    return graph.reshape(graph.add("Div", total, overlap), [-1])
