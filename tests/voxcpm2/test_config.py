"""config.json: defaults, the two architectures, and what is refused."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from speechbase.errors import ConfigError
from voxcpm2.config import Config

from .conftest import ROOT


@pytest.fixture
def shipped() -> dict[str, Any]:
    return json.loads((ROOT / "shipped_config.json").read_text())


def test_shipped_sizes(shipped):
    config = Config.from_dict(shipped)
    assert (config.base_lm.num_layers, config.residual_lm.num_layers) == (28, 8)
    assert config.residual_lm.rope is None
    assert config.base_lm.rope is not None
    assert config.base_lm.rope.scale == 1
    assert (config.vae.hop, config.vae.out_hop) == (640, 1920)
    assert (config.vae.sample_rate, config.vae.out_sample_rate) == (16000, 48000)


def test_absent_keys_have_upstreams_defaults(shipped):
    for key in ("audio_vae_config", "patch_size", "feat_dim", "max_length", "dtype"):
        del shipped[key]
    del shipped["encoder_config"]["num_layers"]
    config = Config.from_dict(shipped)
    assert config.vae.sr_bin_boundaries == (20000, 30000, 40000)
    assert config.vae.decoder_rates == (8, 6, 5, 2, 2, 2)
    assert (config.patch_size, config.max_length, config.dtype) == (4, 8192, "bfloat16")
    assert config.encoder.num_layers == 4


def test_no_architecture_means_the_first_generation(shipped):
    del shipped["architecture"], shipped["audio_vae_config"], shipped["patch_size"]
    config = Config.from_dict(shipped)
    assert config.first_generation
    assert config.patch_size == 2
    assert config.vae.sr_bin_boundaries is None
    assert config.vae.out_sample_rate == config.vae.sample_rate
    assert config.residual_lm.rope is not None


def test_long_factors_are_chosen_by_the_configured_lengths(golden):
    data = golden("stress").config
    scaling = data["lm_config"]["rope_scaling"]
    rope = Config.from_dict(data).base_lm.rope
    assert rope is not None
    assert rope.factors == tuple(scaling["long_factor"])
    data = copy.deepcopy(data)
    data["lm_config"]["max_position_embeddings"] = scaling["original_max_position_embeddings"]
    rope = Config.from_dict(data).base_lm.rope
    assert rope is not None
    assert rope.factors == tuple(scaling["short_factor"])


def test_unknown_keys_are_tolerated(shipped):
    expected = Config.from_dict(shipped)
    for section in (shipped, shipped["lm_config"], shipped["dit_config"]["cfm_config"]):
        section["something_new"] = {"a": 1}
    assert Config.from_dict(shipped) == expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(architecture="voxcpm3"), "unknown architecture 'voxcpm3'"),
        (lambda c: c["lm_config"].pop("hidden_size"), "lm_config: 'hidden_size' is missing"),
        (lambda c: c.pop("lm_config"), "'lm_config' is missing"),
        (lambda c: c.update(patch_size="four"), "'patch_size' must be a whole number above 0"),
        (lambda c: c.update(dit_config=3), "dit_config: expected an object, found 3"),
        (lambda c: c.update(feat_dim=32), "feat_dim 32 is not the VAE's latent_dim 64"),
        (lambda c: c["lm_config"].update(kv_channels=64), "64 factors, a head of 64 needs 32"),
        (lambda c: c["lm_config"].update(num_key_value_heads=3), "cannot share 3"),
        (lambda c: c["lm_config"].update(use_mup=1), "'use_mup' must be true or false, found 1"),
        (lambda c: c["lm_config"].update(num_hidden_layers=10**7), "must be 256 at most, found 1"),
        (lambda c: c.update(residual_lm_num_layers=10**7), "must be 256 at most"),
        (lambda c: c["dit_config"].update(num_layers=10**7), "must be 256 at most"),
        (lambda c: c["lm_config"].update(vocab_size=104), "'vocab_size' must be .* above 104"),
        (lambda c: c["lm_config"].update(num_attention_heads=4096), "1024 at most"),
        (lambda c: c["lm_config"].update(kv_channels=None, hidden_size=8), "makes heads of 0"),
        (lambda c: c["lm_config"].update(rms_norm_eps=float("nan")), "a number above 0, found nan"),
        (lambda c: c["lm_config"].update(rope_theta=0), "'rope_theta' must be a number above 0"),
        (lambda c: c["lm_config"].update(rope_theta=10**400), "a number above 0, found 1000"),
        (
            lambda c: c["lm_config"]["rope_scaling"].update(long_factor=[0] * 64, short_factor=[0]),
            "'short_factor' must be a list of numbers above 0",
        ),
        (
            lambda c: c["lm_config"]["rope_scaling"].update(original_max_position_embeddings=1),
            "must be a whole number above 1",
        ),
        (lambda c: c.update(max_length=2**20), "max_length 1048576 with heads of 128 is more"),
        (lambda c: c["dit_config"].update(hidden_dim=2), "'hidden_dim' must be even and above 2"),
        (lambda c: c["audio_vae_config"].update(sample_rate=0), "'sample_rate' must be a whole"),
        (lambda c: c["audio_vae_config"].update(out_sample_rate=10**9), "must be 768000 at most"),
        (lambda c: c["audio_vae_config"].update(encoder_rates=[2, 0]), "'encoder_rates' must be"),
        (lambda c: c["audio_vae_config"].update(decoder_rates=[2] * 10**6), "12 whole numbers"),
        (lambda c: c["audio_vae_config"].update(decoder_rates=[64] * 4), "'decoder_rates' must be"),
        (
            lambda c: c["audio_vae_config"].update(decoder_dim=63),
            "'decoder_dim' must be .* above 63",
        ),
        (lambda c: c["audio_vae_config"].update(sr_bin_boundaries=[True]), "whole numbers of Hz"),
        (lambda c: c.update(architecture="\ud800" * 1000), "unknown architecture '.{1,100}; known"),
    ],
)
def test_a_broken_config_is_named(shipped, change, message):
    change(shipped)
    with pytest.raises(ConfigError, match=message) as caught:
        Config.from_dict(shipped)
    assert len(str(caught.value)) < 250
    assert str(caught.value).isprintable()
