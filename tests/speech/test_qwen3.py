"""Qwen3 behind its two seams, with networks of noise in the layout of the published ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from narrator.engines import models
from narrator.engines.models import Layout, Model
from narrator.errors import EngineUnavailable
from narrator.speech.hearing import SpokenSound, qwen3
from narrator.speech.hearing.qwen3 import ALIGNER_LAYOUT, LAYOUT, QwenAligner, QwenRecogniser
from narrator.text.words import words
from tests.sounds import RATE, voice

TEXT = "“Well,” said he, it's a *fine* morning — isn't it?"
MARKS = {
    "<|endoftext|>": 151643, "<|im_start|>": 151644, "<|im_end|>": 151645,
    "<|audio_start|>": 151669, "<|audio_end|>": 151670, "<|audio_pad|>": 151676,
    "<asr_text>": 151704, "<timestamp>": 151705,
}  # fmt: skip


@pytest.fixture(autouse=True)
def own_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NARRATOR_HOME", str(tmp_path / "home"))


def checkpoint(folder: Path, *, aligner: bool) -> Path:
    """Config, weights as they are published, and a tokenizer of bytes."""
    pytest.importorskip("mlx_qwen3_asr", reason="the extra qwen3 is not installed")
    import mlx.core as mx
    from mlx.utils import tree_flatten
    from mlx_qwen3_asr.config import Qwen3ASRConfig
    from mlx_qwen3_asr.model import Qwen3ASRModel
    from mlx_qwen3_asr.tokenizer import _bytes_to_unicode

    folder.mkdir()
    letters = dict(zip(_bytes_to_unicode().values(), range(256), strict=True))
    added = {n: {"content": mark, "special": mark[1] == "|"} for mark, n in MARKS.items()}
    (folder / "vocab.json").write_text(json.dumps(letters))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    (folder / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": added}))
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16}
    rope = {"mrope_section": [4, 2, 2], "mrope_interleaved": True}
    thinker = {
        "audio_config": {
            "encoder_layers": 1, "encoder_attention_heads": 2, "encoder_ffn_dim": 32, "d_model": 16,
            "output_dim": 16, "downsample_hidden_size": 8,
        },
        "text_config": {
            "vocab_size": 151936, "hidden_size": 16, "intermediate_size": 48,
            "num_hidden_layers": 1, "rope_scaling": rope,
            "tie_word_embeddings": not aligner, **heads,
        },
        "audio_token_id": MARKS["<|audio_pad|>"],
        **({"classify_num": 100} if aligner else {}),
    }  # fmt: skip
    config = {
        "model_type": "qwen3_asr", "thinker_config": thinker,
        "timestamp_token_id": MARKS["<timestamp>"], "timestamp_segment_time": 80,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    mx.random.seed(1)
    network = Qwen3ASRModel(Qwen3ASRConfig.from_dict(config))
    weights = {f"thinker.{name}": array for name, array in tree_flatten(network.parameters())}
    if not aligner:
        del weights["thinker.lm_head.weight"]
    for name, array in weights.items():
        if array.ndim == 4:
            weights[name] = array.transpose(0, 3, 1, 2)
    mx.save_safetensors(str(folder / "model.safetensors"), weights)
    return folder


def found(path: Path, layout: Layout) -> Model:
    return models.find_with_layout(layout, str(path))


def sound(text: str = TEXT, language: str = "en-GB") -> SpokenSound:
    return SpokenSound(voice(4.0), RATE, text, language)


def test_a_network_hears_something(tmp_path: Path) -> None:
    model = found(checkpoint(tmp_path / "asr", aligner=False), LAYOUT)
    assert model.note == ""
    recogniser = QwenRecogniser(model)
    assert model.weights in recogniser.identity
    first, again = recogniser.hear([sound(), sound()])
    assert first == again
    assert first.doubts == ()


def test_what_a_network_times_is_the_words_of_the_text(tmp_path: Path) -> None:
    aligner = QwenAligner(found(checkpoint(tmp_path / "aligner", aligner=True), ALIGNER_LAYOUT))
    (times,) = aligner.align([sound()])
    if times is not None:  # noise may put all in one place
        assert [(word.first, word.last) for word in times] == words(TEXT, "en")


def test_a_folder_is_of_one_kind(tmp_path: Path) -> None:
    hears = checkpoint(tmp_path / "asr", aligner=False)
    aligns = checkpoint(tmp_path / "aligner", aligner=True)
    assert [LAYOUT.matches(hears), LAYOUT.matches(aligns)] == [True, False]
    assert [ALIGNER_LAYOUT.matches(hears), ALIGNER_LAYOUT.matches(aligns)] == [False, True]


def test_a_folder_that_lacks_a_file_says_which(tmp_path: Path) -> None:
    path = checkpoint(tmp_path / "asr", aligner=False)
    (path / "vocab.json").unlink()
    model = found(path, LAYOUT)
    assert "vocab.json is missing" in model.note
    with pytest.raises(EngineUnavailable, match=r"vocab\.json is missing"):
        QwenRecogniser(model)


def test_a_network_that_is_not_what_its_config_says_is_unavailable(tmp_path: Path) -> None:
    path = checkpoint(tmp_path / "asr", aligner=False)
    said = (path / "config.json").read_text()
    (path / "config.json").write_text(said.replace('"hidden_size": 16', '"hidden_size": 48'))
    with pytest.raises(EngineUnavailable, match="Qwen3 cannot listen"):
        QwenRecogniser(found(path, LAYOUT)).hear([sound()])


@pytest.mark.parametrize("make", [QwenRecogniser, QwenAligner])
def test_without_the_package_it_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, make: Callable[[Model], object]
) -> None:
    monkeypatch.setattr(qwen3.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(EngineUnavailable, match=r"pip install .*\[qwen3\]"):
        make(found(tmp_path, LAYOUT))


@pytest.mark.parametrize(
    ("text", "own", "placed"),
    [
        (TEXT, ["Well", "said", "he", "it's"], ["Well", "said", "he", "it's"]),
        ("河边 AI 房", ["河", "边", "AI", "房"], ["河", "边", "AI", "房"]),
        ("twenty-two.", ["twentytwo"], ["twenty-two"]),
    ],
)
def test_its_words_are_found_in_the_text(text: str, own: list[str], placed: list[str]) -> None:
    times = qwen3._locate_words(text, [(word, n, n + 1.5) for n, word in enumerate(own)], 3.0)
    rows = [(text[word.first : word.last], word.start, word.stop) for word in times]
    assert [word for word, *_ in rows] == placed
    assert all(start <= stop <= 3.0 for _, start, stop in rows)
