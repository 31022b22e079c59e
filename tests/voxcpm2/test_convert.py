"""`convert`: what it writes loads as it is and holds the same model."""

from __future__ import annotations

import json
import subprocess
import sys

import mlx.core as mx
import mlx.nn as nn
import pytest

from speechbase.errors import CheckpointError, RequestError
from speechbase.weights import parameters
from tests.effort import quick
from voxcpm2.__main__ import main
from voxcpm2.convert import convert
from voxcpm2.load import load

ALL = ["base", "bf16", "stress", "square", "v1"]


def assert_same(one, other):
    for part in ("network", "vae"):
        first, second = (parameters(getattr(c, part)) for c in (one, other))
        assert first.keys() == second.keys()
        for name, array in first.items():
            assert array.dtype == second[name].dtype
            assert mx.array_equal(array, second[name]), name


@pytest.mark.parametrize("variant", quick(ALL, "bf16"))
def test_converted_checkpoint_equals_its_source(golden, tmp_path, variant):
    convert(golden(variant).checkpoint, tmp_path / "new")
    assert_same(load(tmp_path / "new"), load(golden(variant).checkpoint))
    assert not (tmp_path / "new" / "audiovae.pth").exists()
    text = "你好 hello"
    encode = load(golden(variant).checkpoint).tokenizer.encode
    assert load(tmp_path / "new").tokenizer.encode(text) == encode(text)


def test_converting_twice_changes_nothing(golden, tmp_path):
    convert(golden("stress").checkpoint, tmp_path / "one")
    convert(tmp_path / "one", tmp_path / "two")
    first, second = load(tmp_path / "one"), load(tmp_path / "two")
    assert_same(first, second)
    assert first.fingerprint == second.fingerprint


@pytest.mark.slow
def test_dtype_is_written_and_the_codec_stays_float32(golden, tmp_path):
    convert(golden("base").checkpoint, tmp_path / "new", dtype="bfloat16")
    stored = mx.load(str(tmp_path / "new" / "model.safetensors"))
    for name, array in stored.items():
        assert array.dtype == (mx.float32 if name.startswith("audio_vae.") else mx.bfloat16)
    assert_same(load(tmp_path / "new"), load(golden("base").checkpoint, dtype="bfloat16"))


def test_quantising_covers_the_language_models_alone(golden, checkpoint, tmp_path):
    convert(golden("base").checkpoint, tmp_path / "new", quantize=8, group_size=32)
    loaded = load(tmp_path / "new")
    quantised = {
        name
        for name, module in loaded.network.named_modules()
        if isinstance(module, nn.QuantizedLinear | nn.QuantizedEmbedding)
    }
    assert {name.split(".")[0] for name in quantised} == {"base_lm", "residual_lm"}
    assert "base_lm.embed_tokens" in quantised
    assert "base_lm.layers.0.mlp.down_proj" not in quantised  # 112 inputs, not whole groups
    x = mx.random.normal((3, 64), key=mx.random.key(0))
    for lm in ("base_lm", "residual_lm"):
        layer = getattr(loaded.network, lm).layers[0].self_attn.k_proj
        exact = getattr(checkpoint("base").network, lm).layers[0].self_attn.k_proj
        assert mx.abs(layer(x) - exact(x)).max() < 0.01 * mx.abs(exact(x)).max()


def test_other_parts_are_quantised_if_asked(golden, tmp_path):
    convert(
        golden("base").checkpoint, tmp_path / "new", quantize=4, also=["stop_head", "stop_proj"]
    )
    network = load(tmp_path / "new").network
    assert isinstance(network.stop_head, nn.QuantizedLinear)
    assert isinstance(network.stop_proj, nn.QuantizedLinear)
    assert not isinstance(network.fusion_concat_proj, nn.QuantizedLinear)


@pytest.mark.parametrize("variant", quick(["base", "v1"], "base"))
def test_merged_lora_equals_the_applied_one(golden, tmp_path, variant):
    convert(golden(variant).checkpoint, tmp_path / "new", lora=golden(variant).lora)
    merged = load(tmp_path / "new").network
    applied = load(golden(variant).checkpoint, lora=golden(variant).lora).network
    plain = load(golden(variant).checkpoint).network
    x = mx.random.normal((3, 64), key=mx.random.key(0))
    for name in ("lm_to_dit_proj", "res_to_dit_proj"):
        m, a, p = (getattr(network, name)(x) for network in (merged, applied, plain))
        assert mx.abs(m - a).max() < 1e-5
        assert mx.abs(m - p).max() > 1e-3


def test_lora_is_merged_before_quantising(golden, tmp_path):
    lora = golden("base").lora
    convert(golden("base").checkpoint, tmp_path / "new", lora=lora, quantize=8, group_size=32)
    network = load(tmp_path / "new").network
    merged = load(golden("base").checkpoint, lora=lora).network
    x = mx.random.normal((3, 64), key=mx.random.key(0))
    got, expected = (n.base_lm.layers[0].self_attn.q_proj(x) for n in (network, merged))
    assert mx.abs(got - expected).max() < 0.01 * mx.abs(expected).max()


def test_quantised_source_keeps_its_quantisation(golden, tmp_path):
    convert(golden("base").checkpoint, tmp_path / "one", quantize=8, group_size=32)
    convert(tmp_path / "one", tmp_path / "two", dtype="bfloat16")
    data = json.loads((tmp_path / "two" / "config.json").read_text())
    assert data["quantization"] == {"group_size": 32, "bits": 8, "mode": "affine"}
    assert data["dtype"] == "bfloat16"
    loaded = load(tmp_path / "two")
    assert isinstance(loaded.network.base_lm.embed_tokens, nn.QuantizedEmbedding)
    with pytest.raises(CheckpointError, match="is quantised already"):
        convert(tmp_path / "one", tmp_path / "three", quantize=4)
    assert not (tmp_path / "three").exists()


@pytest.mark.parametrize(
    "options",
    [{"quantize": 7}, {"quantize": 8, "group_size": 48}, {"also": ["stop_head"]},
     {"quantize": 8, "also": ["audio_vae"]}, {"dtype": "int8"}],
)  # fmt: skip
def test_bad_options_are_refused(golden, tmp_path, options):
    with pytest.raises(RequestError):
        convert(golden("base").checkpoint, tmp_path / "new", **options)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_target_is_left_alone(golden, tmp_path):
    with pytest.raises(CheckpointError, match="exists already"):
        convert(golden("base").checkpoint, tmp_path)


def test_failure_leaves_nothing_behind(golden, tmp_path):
    source = golden("base").assemble(tmp_path / "source")
    (source / "audiovae.pth").unlink()
    with pytest.raises(CheckpointError, match="missing"):
        convert(source, tmp_path / "new")
    assert [path.name for path in tmp_path.iterdir()] == ["source"]


def test_command_line(golden, tmp_path, capsys):
    source, target = str(golden("base").checkpoint), str(tmp_path / "new")
    assert main(["convert", source, target, "--dtype", "bfloat16", "--quantize", "8"]) == 0
    assert load(target).dtype == mx.bfloat16
    assert main(["convert", source, target]) == 1
    assert "error:" in capsys.readouterr().err


def test_runs_as_a_module(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "voxcpm2", "convert", str(tmp_path), str(tmp_path / "new")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    assert "no config.json" in run.stderr
    assert "Traceback" not in run.stderr
