"""What the yaml says is read, and nothing that it names is run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cosyvoice2.config import (
    CONFIG_FILE,
    QWEN_FOLDER,
    read_config,
)
from speechbase.errors import CheckpointError, ConfigError
from tests.cosyvoice2.conftest import TINY, CosyGolden, of_seed_0


@pytest.fixture
def folder(golden: CosyGolden, tmp_path: Path) -> Path:
    """The settings of the golden checkpoint, to be altered."""
    (tmp_path / QWEN_FOLDER).mkdir()
    for name in (CONFIG_FILE, f"{QWEN_FOLDER}/config.json"):
        shutil.copyfile(golden.checkpoint / name, tmp_path / name)
    return tmp_path


def alter(folder: Path, old: str, new: str, name: str = CONFIG_FILE) -> None:
    text = (folder / name).read_text("utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new), "utf-8")


def test_references_and_their_products_are_values(folder):
    alter(folder, "chunk_size: 25", "chunk_size: 20")
    config = read_config(folder)
    assert (config.chunk, config.flow.encoder.chunk, config.flow.estimator.chunk) == (20, 20, 40)


def test_comments_and_other_training_settings_change_nothing(folder):
    alter(folder, "max_epoch: 200", "max_epoch: 3 # none\n    another: !new:some.Thing [1, {a: 2}]")
    assert read_config(folder) == TINY


@of_seed_0
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("sample_rate: 24000", "sample_rate: 22050", "'sample_rate' must be 24000, found 22050"),
        ("sample_rate: 24000", "sample_rate: 24000.0", "must be 24000, found 24000.0"),
        ("    speech_token_size: 729\n", "", "llm: 'speech_token_size' is missing"),
        ("num_blocks: 2", "num_blocks: 3000", "'num_blocks' must be 256 at most"),
        ("num_blocks: 2", "num_blocks: !new:os.system [ls]", "must be a whole number"),
        ("macaron_style: False", "macaron_style: True", "'macaron_style' must be False"),
        ("channels: [32]", "channels: [32, 32]", "must be one number"),
        ("upsample_rates: [8, 5, 3]", "upsample_rates: [8, 5, 4]", "do not make frames of 480"),
        ("hop_len: 4", "hop_len: 0", "'hop_len' must be a whole number above 0"),
        ("[[1, 3, 5], [1, 3, 5], [1, 3, 5]]", "[[1, 3], 5]", "resblock_dilation_sizes"),
        ("!ref <chunk_size> *", "!ref <chunk_size> **", "is not understood"),
        ("!ref <chunk_size> * <token_mel_ratio>", "!ref <chunk_size> * <no>", "whole numbers"),
        ("token_frame_rate: 25", "token_frame_rate: !foo 25", "could not determine"),
        ("token_frame_rate: 25", "token_frame_rate: !!python/name:os.system", "cannot be read"),
        ("token_frame_rate: 25", "a: &a [1]\nb: *a", "alias"),
        ("token_frame_rate: 25", "a: " + "[" * 400, "nested without end|cannot be read"),
        ("token_frame_rate: 25", "a: \x00", "cannot be read"),
    ],
)
def test_what_no_such_model_has_is_said(folder, old, new, said):
    alter(folder, old, new)
    with pytest.raises(ConfigError, match=said) as caught:
        read_config(folder)
    assert "\n" not in str(caught.value)


@of_seed_0
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"num_attention_heads": 4', '"num_attention_heads": 5', "cannot have 5 heads"),
        ('"hidden_size": 64', '"hidden_size": 128', "llm_input_size' must be 128, found 64"),
        ('"rope_scaling": null', '"rope_scaling": {"type": "yarn"}', "rope_scaling"),
        ('"vocab_size": 544', '"vocab_size": 1e30', "'vocab_size' must be a whole number"),
        ('"hidden_size": 64', '"hidden_size": ' + "[" * 3000, "cannot be read"),
    ],
)
def test_the_same_of_its_language_model(folder, old, new, said):
    alter(folder, old, new, f"{QWEN_FOLDER}/config.json")
    with pytest.raises(ConfigError, match=said):
        read_config(folder)


def test_a_folder_of_another_model_is_said(tmp_path):
    with pytest.raises(CheckpointError, match="is this a CosyVoice2 checkpoint"):
        read_config(tmp_path)


def test_a_yaml_without_end_is_not_read(folder):
    with (folder / CONFIG_FILE).open("a") as file:
        file.write("# " + "x" * (1 << 20))
    with pytest.raises(ConfigError, match="at most"):
        read_config(folder)
