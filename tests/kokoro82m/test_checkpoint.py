"""Both layouts are loaded, strictly; what does not fit or is damaged is named in a line."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest
from mlx.utils import tree_flatten

import kokoro82m
from kokoro82m.checkpoint import load_checkpoint, read_weights
from kokoro82m.config import read_config
from kokoro82m.tensors import read_tensors
from speechbase.errors import CheckpointError, RequestError
from tests.kokoro82m.conftest import KokoroGolden

Tensors = dict[str, mx.array]
NORMED = "predictor.F0.0.conv1"


@pytest.fixture(scope="session")
def tensors(golden: KokoroGolden) -> Tensors:
    return read_weights(golden.checkpoint / "kokoro-v1_0.pth")


@pytest.fixture
def write(golden: KokoroGolden, tmp_path: Path) -> Callable[[Tensors], Path]:
    """A folder with these tensors, flat."""

    def written(tensors: Tensors) -> Path:
        shutil.copy(golden.checkpoint / "config.json", tmp_path)
        mx.save_safetensors(str(tmp_path / "kokoro-v1_0.safetensors"), tensors)
        return tmp_path

    return written


def test_both_layouts_hold_the_same_weights(model, tensors, write):
    flat = dict(tree_flatten(load_checkpoint(write(tensors)).network.parameters()))
    nested = dict(tree_flatten(model.network.parameters()))
    assert flat.keys() == nested.keys()
    assert all(mx.array_equal(flat[name], nested[name]) for name in flat)


def test_weight_norms_are_folded_over_all_axes_but_the_first(model, tensors):
    for name in (NORMED, "decoder.generator.ups.0"):
        v, g = (np.array(tensors[f"{name}.weight_{part}"]) for part in "vg")
        folded = g * v / np.sqrt((v**2).sum(axis=(1, 2), keepdims=True))
        turned = folded.transpose(0, 2, 1) if name == NORMED else folded.transpose(1, 2, 0)
        weight = dict(tree_flatten(model.network.parameters()))[f"{name}.weight"]
        np.testing.assert_allclose(np.array(weight), turned, rtol=1e-5)


def test_the_unused_pooler_is_left_out(tensors, write):
    pooler = {f"bert.pooler.{part}": mx.zeros((36,)) for part in ("weight", "bias")}
    load_checkpoint(write(tensors | pooler))


def test_weights_in_bfloat16_are_computed_with_in_float32(tensors, write):
    halves = {name: tensor.astype(mx.bfloat16) for name, tensor in tensors.items()}
    network = load_checkpoint(write(halves)).network
    assert {array.dtype for _, array in tree_flatten(network.parameters())} == {mx.float32}


def test_only_convolutions_of_the_decoder_take_another_precision(golden):
    network = load_checkpoint(golden.checkpoint, "float16").network
    halves = {
        name for name, array in tree_flatten(network.parameters()) if array.dtype == mx.float16
    }
    assert all(name.startswith("decoder.") for name in halves)
    assert {name.rpartition(".")[2] for name in halves} == {"weight", "bias"}
    assert "decoder.generator.resblocks.0.convs1.0.weight" in halves
    float32 = ("fc", "noise_convs", "m_source", "F0_conv", "N_conv", "conv_post")
    assert not [name for name in halves if any(part in name.split(".") for part in float32)]


def drop(tensors: Tensors) -> None:
    del tensors["text_encoder.cnn.0.1.gamma"]


def drop_width(tensors: Tensors) -> None:
    del tensors["decoder.asr_res.0.weight_g"]


def add(tensors: Tensors) -> None:
    tensors["decoder.encode.norm1.norm.weight"] = mx.ones((22,))


def turn(tensors: Tensors) -> None:
    tensors[f"{NORMED}.weight_v"] = tensors[f"{NORMED}.weight_v"].swapaxes(1, 2)


def widen(tensors: Tensors) -> None:
    tensors["bert_encoder.weight"] = mx.zeros((20, 37))


def count(tensors: Tensors) -> None:
    tensors["bert_encoder.bias"] = mx.zeros((20,), mx.int32)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (drop, "1 missing: text_encoder.cnn.0.1.gamma"),
        (drop_width, "decoder.asr_res.0.weight is missing"),
        (add, "1 unexpected: decoder.encode.norm1.norm.weight"),
        (turn, "1 misshapen: predictor.F0.0.conv1.weight"),
        (widen, "1 misshapen: bert_encoder.weight"),
        (count, "bert_encoder.bias are mlx.core.int32"),
    ],
)
def test_a_tensor_that_does_not_fit_is_named(tensors, write, change, message):
    changed = dict(tensors)
    change(changed)
    with pytest.raises(CheckpointError, match=message) as caught:
        load_checkpoint(write(changed))
    assert "kokoro-v1_0.safetensors" in str(caught.value)


def test_a_folder_without_weights_is_named(golden, tmp_path):
    shutil.copy(golden.checkpoint / "config.json", tmp_path)
    with pytest.raises(CheckpointError, match="no weights"):
        load_checkpoint(tmp_path)


@pytest.mark.parametrize("name", ["kokoro-v1_0.pth", "kokoro-v1_0.safetensors"])
@pytest.mark.parametrize("content", [b"", b"<html>404</html>", b"half"])
def test_a_damaged_file_is_named_in_a_line(golden, tmp_path, name, content):
    shutil.copy(golden.checkpoint / "config.json", tmp_path)
    if content == b"half":
        weights = (golden.checkpoint / "kokoro-v1_0.pth").read_bytes()
        content = weights[: len(weights) // 2]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CheckpointError, match=name) as caught:
        load_checkpoint(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_flat_file_of_torch_is_refused(golden, tensors, tmp_path, save_torch):
    shutil.copy(golden.checkpoint / "config.json", tmp_path)
    some = {name: tensors[name] for name in list(tensors)[:3]}
    save_torch(tmp_path / "kokoro-v1_0.pth", some)
    with pytest.raises(CheckpointError, match="is not a dict of tensors"):
        load_checkpoint(tmp_path)


def test_an_unknown_precision_is_refused(golden):
    with pytest.raises(RequestError, match="float32, bfloat16, float16"):
        kokoro82m.load(golden.checkpoint, dtype="int8")


def test_weights_that_are_no_numbers_are_refused(tensors, write):
    name = "predictor.duration_proj.linear_layer.weight"
    folder = write({**tensors, name: tensors[name] * float("nan")})
    with pytest.raises(CheckpointError, match=f"damaged: {name} holds NaN or infinity"):
        read_tensors(folder / "kokoro-v1_0.safetensors", read_config(folder))
