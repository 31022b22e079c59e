"""A folder becomes networks with every tensor in its place, or one error says what does not fit."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from benchmarks.cosyvoice import RELEASED
from cosyvoice2.config import CONFIG_FILE, QWEN_FOLDER
from cosyvoice2.lm import UNUSED_WEIGHTS
from cosyvoice2.load import build_networks, load
from speechbase import pth
from speechbase.errors import CheckpointError, ConfigError, RequestError
from speechbase.weights import fold_weight_norm, to_torch_axes
from tests.cosyvoice2.conftest import SIZES, CosyGolden
from tests.effort import quick


@pytest.fixture
def folder(golden: CosyGolden, tmp_path: Path) -> Path:
    """A copy of the golden checkpoint, to be altered."""
    return Path(shutil.copytree(golden.checkpoint, tmp_path / "model"))


def test_every_released_tensor_has_its_place():
    """All 1,744 of the three files, by name and shape, and no other; nothing is computed."""
    released: dict[str, tuple[int, ...]] = {}
    sizes = json.loads(SIZES.read_text())
    for file in ("llm.pt", "flow.pt", "hift.pt"):
        released |= {name: tuple(shape) for name, shape in sizes[file].items()}
    assert len(released) == 1744
    plain = fold_weight_norm({name: mx.zeros(shape) for name, shape in released.items()})
    wanted: dict[str, tuple[int, ...]] = {UNUSED_WEIGHTS[0]: (151936, 896)}
    for network in build_networks(RELEASED):
        wanted |= {name: tensor.shape for name, tensor in to_torch_axes(network).items()}
    assert wanted == {name: tensor.shape for name, tensor in plain.items()}


def test_the_weights_are_the_files(golden):
    found = load(golden.checkpoint)
    for network, file in (
        (found.lm, "llm.pt"),
        (found.flow, "flow.pt"),
        (found.vocoder, "hift.pt"),
    ):
        written = {n: t for n, t in golden.tensors(file).items() if n not in UNUSED_WEIGHTS}
        kept = to_torch_axes(network)
        assert kept.keys() == written.keys()
        assert all(mx.array_equal(kept[name], written[name]).item() for name in kept)


@pytest.mark.parametrize("dtype", quick(["float32", "bfloat16", "float16"], "bfloat16"))
def test_only_the_language_model_has_another_precision(golden, dtype):
    found = load(golden.checkpoint, dtype=dtype)
    assert found.lm.dtype == getattr(mx, dtype)
    for network in (found.flow, found.vocoder):
        assert {t.dtype for t in to_torch_axes(network).values()} == {mx.float32}


def test_the_same_files_have_the_same_fingerprint_wherever_they_lie(golden, folder):
    name = load(golden.checkpoint).fingerprint
    assert load(folder).fingerprint == name
    text = (folder / CONFIG_FILE).read_text("utf-8")
    (folder / CONFIG_FILE).write_text(text.replace("top_p: 0.8", "top_p: 0.7"), "utf-8")
    assert load(folder).fingerprint != name


def rewritten(path: Path, change: Callable[[dict[str, Any]], None], save: Any) -> None:
    tensors = {name: np.array(tensor) for name, tensor in pth.load(path).items()}
    change(tensors)
    save(path, {name: mx.array(tensor) for name, tensor in tensors.items()})


def drop(tensors: dict[str, Any]) -> None:
    del tensors["encoder.after_norm.weight"]


def add(tensors: dict[str, Any]) -> None:
    tensors["another.weight"] = np.zeros(3, np.float32)


def turn(tensors: dict[str, Any]) -> None:
    name = "encoder.up_layer.conv.weight"
    tensors[name] = tensors[name].transpose(1, 2, 0)


def flatten(tensors: dict[str, Any]) -> None:
    name = "encoder.up_layer.conv.weight"
    tensors[name] = tensors[name].reshape(-1)


def count(tensors: dict[str, Any]) -> None:
    tensors["encoder_proj.bias"] = tensors["encoder_proj.bias"].astype(np.int32)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (drop, "1 missing: encoder.after_norm.weight"),
        pytest.param(add, "1 unexpected: another.weight", marks=pytest.mark.slow),
        (turn, "1 misshapen: encoder.up_layer.conv.weight"),
        pytest.param(flatten, "1 misshapen: encoder.up_layer.conv.weight", marks=pytest.mark.slow),
        pytest.param(count, "encoder_proj.bias are mlx.core.int32", marks=pytest.mark.slow),
    ],
)
def test_a_tensor_that_does_not_fit_is_named(folder, save_torch, change, said):
    rewritten(folder / "flow.pt", change, save_torch)
    with pytest.raises(CheckpointError, match=said) as caught:
        load(folder)
    assert str(caught.value).startswith("flow.pt: ")


@pytest.mark.parametrize(
    "name", ["llm.pt", "flow.pt", "hift.pt", CONFIG_FILE, f"{QWEN_FOLDER}/vocab.json"]
)
@pytest.mark.parametrize(
    "what", quick(["missing", "empty", "torn", "a folder", "rubbish"], "torn", "rubbish")
)
def test_a_file_that_is_not_whole_is_said(folder, name, what):
    path = folder / name
    data = path.read_bytes()
    path.unlink()
    match what:
        case "empty":
            path.touch()
        case "torn":
            path.write_bytes(data[: math.floor(len(data) * 0.3)])
        case "a folder":
            path.mkdir()
        case "rubbish":
            path.write_bytes(b"\x80\x02}q\x00." + bytes(range(256)) * 9)
    with pytest.raises((CheckpointError, ConfigError)) as caught:
        load(folder)
    assert len(str(caught.value).splitlines()) == 1


def test_an_odd_precision_is_refused_before_anything_is_read(golden):
    with pytest.raises(RequestError, match="known: float32, bfloat16, float16"):
        load(golden.checkpoint, dtype="int4")


def test_what_is_no_folder_and_no_hub_id_is_said(tmp_path):
    with pytest.raises(CheckpointError, match="no such directory"):
        load(tmp_path / "nowhere")
    with pytest.raises(CheckpointError, match="not NoneType"):
        load(None)  # type: ignore[arg-type]
