"""Settings are read strictly; what is wrong is said in a line."""

from __future__ import annotations

import json
from typing import Any

import pytest

import kokoro82m
from kokoro82m.config import parse_config
from speechbase.errors import CheckpointError, ConfigError
from tests.kokoro82m.conftest import KokoroGolden

Data = dict[str, Any]


@pytest.fixture
def data(golden: KokoroGolden) -> Data:
    text = (golden.checkpoint / "config.json").read_text("utf-8")
    settings: Data = json.loads(text)
    return settings


def test_the_structure_is_read(golden):
    config = kokoro82m.read_config(golden.checkpoint)
    assert config.generator.rates == (10, 6)
    assert config.generator.dilations == ((1, 3, 5),) * 3
    assert (config.style_size, config.albert.num_layers) == (128, 12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("hidden_dim"), "'hidden_dim' is missing"),
        (lambda d: d.update(hidden_dim=21), "must be even"),
        (lambda d: d.update(hidden_dim=1 << 40), "at most"),
        (lambda d: d.update(text_encoder_kernel_size=4), "must be odd"),
        (lambda d: d.update(n_layer="3"), "must be a whole number"),
        (lambda d: d.update(vocab=[]), "expected an object"),
        (lambda d: d["vocab"].update(ab=1), "not a single character"),
        (lambda d: d["vocab"].update(a=178), "177 at most"),
        (lambda d: d["vocab"].update(a=0), "above 0"),
        (lambda d: d["plbert"].update(num_attention_heads=5), "do not divide"),
        (lambda d: d["istftnet"].update(upsample_rates=[10, 5]), "samples a frame"),
        (lambda d: d["istftnet"].update(upsample_rates=[20, 3]), "must be even"),
        (lambda d: d["istftnet"].update(upsample_kernel_sizes=[20, 13]), "twice the rates"),
        (lambda d: d["istftnet"].update(gen_istft_n_fft=24), "must be 4 hops"),
        (lambda d: d["istftnet"].update(upsample_initial_channel=18), "halved"),
        (lambda d: d["istftnet"].update(resblock_kernel_sizes=[3, 6]), "odd"),
        (lambda d: d["istftnet"].update(resblock_dilation_sizes=[[1]]), "list of dilations"),
        (lambda d: d["istftnet"].update(resblock_dilation_sizes=[[1], [0], [1]]), "dilations"),
    ],
)
def test_wrong_settings_are_named(data, change, message):
    change(data)
    with pytest.raises(ConfigError, match=message) as caught:
        parse_config(data)
    assert "\n" not in str(caught.value)


def test_a_folder_without_settings_is_no_checkpoint(tmp_path):
    with pytest.raises(CheckpointError, match=r"no config\.json"):
        kokoro82m.read_config(tmp_path)


@pytest.mark.parametrize("text", ["{", "[]", "[" * 100_000])
def test_a_damaged_file_is_named(tmp_path, text):
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ConfigError, match=r"config\.json"):
        kokoro82m.read_config(tmp_path)
