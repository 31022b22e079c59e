"""LoRA: the official result unmerged and merged, and what does not fit."""

from __future__ import annotations

import json
import shutil

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest

from speechbase.errors import CheckpointError
from speechbase.weights import parameters
from tests.effort import quick
from voxcpm2 import lora
from voxcpm2.cfm import CFM
from voxcpm2.load import load
from voxcpm2.prompt import Tokens

VARIANTS = ["base", "stress", "square", "v1"]


def first_step(network, arrays):
    """State, condition and patch of the first step of a recorded generation."""
    ids, audio = arrays["text_token"], arrays["audio_mask"].astype(bool)
    tokens = Tokens(ids.astype(np.int32), audio, arrays["audio_feat"][audio])
    state = network.prefill([tokens], [None])
    decoder: CFM = network.feat_decoder
    patch = network.sample(state, mx.array(arrays["noise"][:1]), decoder.plan([(10, 2.0)]))
    return state.h[0], state.r[0], network.condition(state).reshape(-1), patch[0]


@pytest.mark.parametrize("variant", quick(VARIANTS, "square"))
def test_it_matters_and_merging_equals_it(golden, checkpoint, variant):
    arrays = golden(variant).arrays("lora_zero_shot")
    applied = load(golden(variant).checkpoint, lora=golden(variant).lora).network
    merged = load(golden(variant).checkpoint).network
    lora.merge(merged, lora.read(golden(variant).lora))
    plain = checkpoint(variant).network
    for a, m, p in zip(*(first_step(n, arrays) for n in (applied, merged, plain)), strict=True):
        assert mx.abs(a - m).max() < 1e-4
        assert mx.abs(a - p).max() > 1e-3


def test_adapter_covers_what_its_configuration_says(golden):
    adapter = lora.read(golden("base").lora)
    assert adapter.scale == 2
    assert len(adapter.layers) == 4 * (3 + 2 + 3) + 4


def test_bfloat16_and_quantised_layers_keep_their_weights(golden):
    directory = golden("bf16").checkpoint
    network = load(directory, lora=golden("base").lora).network
    layer = network.base_lm.layers[0].self_attn.q_proj
    assert layer.lora_A.dtype == layer(mx.ones((1, 64), mx.bfloat16)).dtype == mx.bfloat16
    plain = load(directory).network
    nn.quantize(plain.base_lm, 32, 8, class_predicate=lambda name, _: name.endswith("q_proj"))
    lora.apply(plain, lora.read(golden("base").lora))
    assert plain.base_lm.layers[0].self_attn.q_proj(mx.ones((1, 64), mx.bfloat16)).shape == (1, 96)
    assert "base_lm.layers.0.self_attn.q_proj.linear.scales" in parameters(plain)


def test_quantised_layers_are_not_merged_into(golden):
    network = load(golden("base").checkpoint).network
    nn.quantize(network.base_lm, 32, 8, class_predicate=lambda name, _: name.endswith("q_proj"))
    with pytest.raises(CheckpointError, match="is quantised; merge into the unquantised"):
        lora.merge(network, lora.read(golden("base").lora))


@pytest.fixture
def altered(golden, tmp_path):
    """A copy of the LoRA with tensors or configuration changed."""

    def make(change=None, **options):
        directory = tmp_path / "lora"
        shutil.copytree(golden("base").lora, directory)
        file = directory / "lora_weights.safetensors"
        tensors = mx.load(str(file))
        mx.eval(tensors)
        if change is not None:
            change(tensors)
        mx.save_safetensors(str(file), tensors)
        data = json.loads((directory / "lora_config.json").read_text())
        data["lora_config"] |= options
        (directory / "lora_config.json").write_text(json.dumps(data))
        return directory

    return make


def test_ckpt_equals_safetensors(golden, altered, save_torch):
    directory = altered()
    tensors = mx.load(str(directory / "lora_weights.safetensors"))
    mx.eval(tensors)
    save_torch(directory / "lora_weights.ckpt", {"state_dict": tensors})
    (directory / "lora_weights.safetensors").unlink()
    loaded, expected = lora.read(directory), lora.read(golden("base").lora)
    assert loaded.layers.keys() == expected.layers.keys()
    for name, pair in expected.layers.items():
        for a, b in zip(loaded.layers[name], pair, strict=True):
            assert mx.array_equal(a, b)


def test_without_its_json_the_official_default_is_taken(golden, altered):
    directory = altered()
    (directory / "lora_config.json").unlink()
    adapter = lora.read(directory)
    assert (adapter.scale, adapter.rank) == (2, 8)
    with pytest.raises(CheckpointError, match=r"fusion_concat_proj: no such layer|shapes"):
        load(golden("base").checkpoint, lora=directory)


def drop(tensors):
    del tensors["enc_to_lm_proj.lora_A"]


def drop_layer(tensors):
    drop(tensors)
    del tensors["enc_to_lm_proj.lora_B"]


def widen(tensors):
    tensors["enc_to_lm_proj.lora_A"] = mx.zeros((4, 41))


def foreign_type(tensors):
    tensors["enc_to_lm_proj.lora_A"] = tensors["enc_to_lm_proj.lora_A"].astype(mx.int32)


def foreign(tensors):
    tensors["stop_proj.lora_A"] = mx.zeros((4, 64))
    tensors["stop_proj.lora_B"] = mx.zeros((64, 4))


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (drop, {}, "not pairs of .lora_A and .lora_B: enc_to_lm_proj.lora_A"),
        (drop_layer, {}, "enc_to_lm_proj: missing"),
        (widen, {}, "enc_to_lm_proj: shapes"),
        (foreign, {}, "stop_proj: no such layer"),
        (None, {"r": 8}, "shapes"),
        (None, {"enable_proj": False}, "enc_to_lm_proj: no such layer"),
        (None, {"r": 0}, "r and alpha must be numbers above 0"),
        (None, {"alpha": "many"}, "r and alpha must be numbers above 0"),
        (None, {"alpha": float("nan")}, "r and alpha must be numbers above 0"),
        (None, {"alpha": float("inf")}, "alpha 1000000 at most"),
        (None, {"r": True}, "r and alpha must be numbers above 0"),
        (None, {"r": 10**9}, "r must be a whole number up to 65536"),
        (None, {"r": 0.5}, "r must be a whole number"),
        (None, {"enable_lm": "yes"}, "enable_lm must be true or false"),
        (None, {"target_modules_lm": 3}, "target_modules_lm must be a list of names"),
        (None, {"target_modules_dit": ["q_proj", None]}, "must be a list of names"),
        (foreign_type, {}, "its numbers are not floats"),
    ],
)
def test_what_does_not_fit_is_named(golden, altered, change, options, message):
    with pytest.raises(CheckpointError) as caught:
        load(golden("base").checkpoint, lora=altered(change, **options))
    assert message in str(caught.value)


def test_a_directory_without_lora_is_named(golden, tmp_path):
    with pytest.raises(CheckpointError, match="no LoRA; looked for"):
        load(golden("base").checkpoint, lora=tmp_path)
    with pytest.raises(CheckpointError, match="no such directory"):
        load(golden("base").checkpoint, lora=tmp_path / "none")


def test_truncated_lora_is_named(golden, altered):
    file = altered() / "lora_weights.safetensors"
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(CheckpointError, match="truncated"):
        load(golden("base").checkpoint, lora=file.parent)
