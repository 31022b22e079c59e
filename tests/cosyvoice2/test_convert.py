"""What is converted loads as it is, and says the same, or nearly."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest

from cosyvoice2.__main__ import main
from cosyvoice2.convert import convert
from cosyvoice2.load import load
from speechbase.errors import CheckpointError, ConfigError, RequestError
from speechbase.weights import to_torch_axes
from tests.cosyvoice2.conftest import CosyGolden, of_seed_0


@pytest.fixture(scope="module")
def quantised(golden: CosyGolden, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("quantised") / "new"
    convert(golden.checkpoint, folder, quantize=8, group_size=32)
    return folder


IDS, PREFIX, TOKENS = [300, 301, 302, 20], [5, 6, 7, 8], [1, 2, 3, 400]


def logits(path: Path) -> np.ndarray:
    return np.array(load(path).lm.logits(IDS, PREFIX, TOKENS), np.float32)


def test_a_converted_folder_holds_the_same_weights(golden, tmp_path):
    convert(golden.checkpoint, tmp_path / "new")
    before, after = load(golden.checkpoint), load(tmp_path / "new")
    for one, other in (
        (before.lm, after.lm),
        (before.flow, after.flow),
        (before.vocoder, after.vocoder),
    ):
        kept, made = to_torch_axes(one), to_torch_axes(other)
        assert all(mx.array_equal(kept[name], made[name]).item() for name in kept | made)
    there = {path.name for path in (tmp_path / "new").iterdir()}
    assert there >= {"campplus.onnx", "speech_tokenizer_v2.onnx", "spk2info.pt", "config.json"}
    assert not (tmp_path / "new" / "llm.pt").exists()


@of_seed_0
@pytest.mark.parametrize(
    ("bits", "apart"), [pytest.param(8, 0.02, marks=pytest.mark.slow), (4, 0.4)]
)
def test_a_quantised_language_model_says_nearly_the_same(golden, tmp_path, bits, apart):
    convert(golden.checkpoint, tmp_path / "new", quantize=bits, group_size=32)
    expected, found = logits(golden.checkpoint), logits(tmp_path / "new")
    assert 0 < np.linalg.norm(found - expected) < apart * np.linalg.norm(expected)
    with pytest.raises(CheckpointError, match="quantised already"):
        convert(tmp_path / "new", tmp_path / "newer", quantize=4)


def test_a_precision_is_kept(golden, tmp_path):
    convert(golden.checkpoint, tmp_path / "new", dtype="bfloat16")
    assert load(tmp_path / "new").lm.dtype == mx.bfloat16
    assert json.loads((tmp_path / "new/config.json").read_text())["dtype"] == "bfloat16"
    assert load(tmp_path / "new", dtype="float32").lm.dtype == mx.float32


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"quantization": None}, "no quantization with group_size and bits"),
        ({"quantization": {"group_size": 32, "bits": 3}}, "do not fit|does not fit|misshapen"),
        ({"quantization": {"group_size": "x", "bits": 8}}, "whole numbers"),
        ({"dtype": "int7"}, "dtype is not known"),
    ],
)
def test_settings_that_do_not_fit_the_weights_are_said(quantised, tmp_path, settings, said):
    path = Path(shutil.copytree(quantised, tmp_path / "new")) / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **settings}))
    with pytest.raises((CheckpointError, ConfigError), match=said):
        load(tmp_path / "new")


def test_nothing_is_overwritten_and_nothing_half_written(golden, tmp_path, capsys):
    (tmp_path / "there").mkdir()
    assert main(["convert", str(golden.checkpoint), str(tmp_path / "there")]) == 1
    assert "exists already" in capsys.readouterr().err
    with pytest.raises(RequestError, match="in groups of 32, 64 or 128"):
        convert(golden.checkpoint, tmp_path / "new", quantize=7)
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
    assert main(["convert", str(golden.checkpoint), str(tmp_path / "new"), "--quantize", "8"]) == 0
