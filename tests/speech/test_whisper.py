"""A Whisper of random weights: what it hears is nothing, how it is loaded and asked is real."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from narrator.errors import EngineUnavailable
from narrator.speech.hearing import SpokenSound, choosing
from narrator.speech.hearing.whisper import Whisper
from tests.speech import tiny_whisper


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_whisper.make(tmp_path_factory.mktemp("models") / "whisper")


@pytest.fixture(scope="module")
def whisper(folder):
    return Whisper(choosing.find_model(str(folder)), threads=1)


def noise(seconds: float, text: str, rate: int = 16_000) -> SpokenSound:
    draw = np.random.default_rng(round(seconds * 10))
    samples = draw.normal(0, 0.1, round(seconds * rate)).astype(np.float32)
    return SpokenSound(samples, rate, text, "en-GB")


def test_a_model_is_named_by_its_bytes(folder, tmp_path):
    other_model = tiny_whisper.make(tmp_path / "other", seed=1)
    copy = shutil.copytree(folder, tmp_path / "copy")
    names = [choosing.find_model(str(path)).weights for path in (folder, copy, other_model)]
    assert names[0] == names[1] != names[2]


def test_every_word_has_a_doubt_and_a_time(whisper):
    sounds = [noise(3.0, "Thank you, sir."), noise(1.5, "Go — now!", rate=24_000)]
    transcripts, times = whisper.hear(sounds), whisper.align(sounds)
    assert [len(result.doubts) for result in transcripts] == [3, 2]
    assert all(doubt > 0 for result in transcripts for doubt in result.doubts)
    assert [(word.first, word.last) for word in times[1]] == [(0, 4), (5, 9)]
    for result, seconds in zip(times, (3.0, 1.5), strict=True):
        edges = [edge for word in result for edge in (word.start, word.stop)]
        assert edges == sorted(edges)
        assert 0 <= edges[0] <= edges[-1] <= seconds


def test_a_sound_is_heard_alike_alone_and_in_a_batch(whisper):
    sounds = [noise(2.0, "Thank you."), noise(3.0, "Good evening, sir.")]
    alone = [whisper.hear([result])[0] for result in sounds]
    for result, other_model in zip(whisper.hear(sounds), alone, strict=True):
        # not the texts: of random weights the last bit decides on a letter
        assert result.doubts == pytest.approx(other_model.doubts, abs=0.05)


def test_what_is_longer_than_its_window_or_its_memory_is_not_timed(whisper):
    assert whisper.align([noise(31.0, "Thank you.")]) == [None]
    assert whisper.align([noise(1.0, "word " * 200)]) == [None]


@pytest.mark.parametrize("seconds", [0.0, 0.009])
def test_nothing_is_heard_in_what_is_shorter_than_a_frame(whisper, seconds):
    sounds = [noise(seconds, "Thank you."), noise(1.0, "Thank you.")]
    assert [len(result.doubts) for result in whisper.hear(sounds)] == [0, 2]
    assert [bool(result) for result in whisper.align(sounds)] == [False, True]


def test_a_text_without_words_has_no_times(whisper):
    assert whisper.align([noise(1.0, "…")]) == [None]


def test_an_english_model_knows_no_other_language(whisper):
    assert set(whisper.languages) == {"en"}


@pytest.mark.parametrize("name", ["model.bin", "tokenizer.json", "vocabulary.json"])
def test_a_folder_that_is_not_whole_is_said(folder, tmp_path, name):
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / name).unlink()
    model = choosing.find_model(str(copy))
    assert model.path is None
    with pytest.raises(EngineUnavailable, match=name.split(".")[0]):
        Whisper(model)


def test_a_name_of_whispers_own_that_is_not_here_says_what_fetches_it():
    with pytest.raises(EngineUnavailable, match=r"`narrator models pull small.en` fetches it"):
        Whisper(choosing.find_model("small.en"))


def test_a_damaged_model_is_said(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "model.bin").write_bytes(b"no model")
    with pytest.raises(EngineUnavailable, match="cannot be loaded"):
        Whisper(choosing.find_model(str(copy))).hear([noise(1.0, "Go.")])
