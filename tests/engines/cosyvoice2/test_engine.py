"""CosyVoice2 as an engine: what is asked of it, clips, rows; on a small checkpoint."""

from __future__ import annotations

import functools
import importlib.util
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import cosyvoice2
from narrator.engines import Prompt, Request, speak, spec
from narrator.engines.cosyvoice2 import loaded_model as loading
from narrator.engines.cosyvoice2.engine import CosyVoice2Engine
from narrator.engines.cosyvoice2.loaded_model import LoadedCosyVoice2
from narrator.engines.cosyvoice2.settings import CosyVoice2Settings, CosyVoice2Voice
from narrator.engines.mlx.loaded_model import load_arrays, save_arrays
from narrator.engines.voice import Voice
from narrator.errors import EngineFailure, EngineUnavailable
from speechbase.audio import resample_audio
from tests.effort import quick
from tests.engines.builders import ADA, clip, request

CHECKPOINT = Path(__file__).parents[2] / "golden" / "cosyvoice2" / "cosy_s0" / "checkpoint"
CY = Voice("Cy", own={"cosyvoice2": CosyVoice2Voice(speaker="tiny_spk")})


@pytest.fixture(scope="module", autouse=True)
def loaded_once() -> Iterator[None]:
    """The checkpoint is read once for all engines of these tests."""
    with mock.patch.object(cosyvoice2, "load", functools.cache(cosyvoice2.load)):
        yield


Make = Callable[..., CosyVoice2Engine]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """`make(slots=…)`: an engine with a project and a library of its own."""
    monkeypatch.setenv("NARRATOR_HOME", str(tmp_path / "home"))

    def make(model: Path = CHECKPOINT, **settings: Any) -> CosyVoice2Engine:
        chosen = CosyVoice2Settings(model=str(model), **{"slots": 2, **settings})
        return CosyVoice2Engine(chosen, cache=tmp_path / "voices")

    return make


def loaded(engine: CosyVoice2Engine, told: list[str] | None = None) -> LoadedCosyVoice2:
    model = engine._load(([] if told is None else told).append)
    assert isinstance(model, LoadedCosyVoice2)
    return model


STATE = np.arange(30, dtype=np.int32)
BEFORE = Prompt("It rained", lambda: np.zeros(0, np.float32), STATE)


# -- before it is started --------------------------------------------------------------------------


def test_identity_names_weights_and_precision_and_no_stored_speaker(make, tmp_path):
    identity = make().identity()
    assert set(identity) == {"name", "sampler", "weights", "dtype"}
    assert make(dtype="bfloat16").identity() != identity
    other = shutil.copytree(CHECKPOINT, tmp_path / "other")
    (other / "spk2info.pt").write_bytes(b"another")
    assert make(other).identity() == identity
    assert make(other).voice_content(CY, "en") != make().voice_content(CY, "en")
    (other / "campplus.onnx").write_bytes(b"another")
    assert make(other).identity() != identity


def test_what_is_not_here_is_what_is_remembered(make, tmp_path):
    gone = CosyVoice2Settings(model=str(tmp_path / "gone"))
    remembered = {**make().identity_record(), "model": gone.model}
    engine = CosyVoice2Engine(gone, cache=tmp_path, remembered=remembered)
    assert engine.identity() == make().identity()
    assert engine.voice_content(CY, "en") == make().voice_content(CY, "en")
    with pytest.raises(EngineUnavailable, match="no such directory"):
        engine.start()
    blank = CosyVoice2Engine(gone, cache=tmp_path)
    assert str(blank.voice_content(CY, "en")["speakers"]).startswith("absent:")


def test_a_voice_is_its_clip_or_its_stored_speaker(make):
    engine, heard = make(), replace(ADA, content="abc")
    assert engine.voice_content(heard, "en") == {"reference": "abc"}
    assert engine.voice_content(CY, "en")["stored"] == "tiny_spk"
    assert (engine.needs_reference(heard), engine.needs_reference(CY)) == (True, False)


def test_languages_and_voices_that_it_has_not_are_problems(make):
    cast = {"Ada": replace(ADA, reference=Path("a.wav")), "Cy": CY, "Bea": Voice("Bea")}
    problems = make().problems(cast, ["en-GB", "zh-Hant", "yue", "de", "ja"])
    assert [problem.message.split('"')[1] for problem in problems[:-1]] == ["de"]
    assert "'Bea' has none" in problems[-1].message


def test_what_must_be_installed_is_said(make, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        spec, "find_spec", lambda name: None if name == "onnxruntime" else found(name)
    )
    with pytest.raises(EngineUnavailable, match=r"needs onnxruntime: .*pip install .*cosyvoice2"):
        make().start()


# -- what the model is given -----------------------------------------------------------------------


def test_each_mode_gives_the_model_its_sequence(make):
    model, voice = loaded(make()), clip(1.2)
    heard = model.model.reference(voice.samples, voice.rate)
    own, none = heard.tokens.tolist(), None
    # what is asked -> text before, tokens before, instruction, stored speaker
    cases: list[tuple[Request, tuple[Any, Any, Any, Any]]] = [
        (request(mode="reference", reference=voice), ("This is the clip.", own, none, none)),
        (request(mode="continuation", reference=voice), ("This is the clip.", own, none, none)),
        (
            request(mode="reference", reference=voice, style="whispering"),
            (none, none, "whispering", none),
        ),
        (
            request("下雨了", language="zh", mode="reference", reference=voice),
            (none, none, none, none),
        ),
        (
            request(mode="anchored", reference=voice, prompt=BEFORE),
            ("It rained.", STATE.tolist(), none, none),
        ),
        (
            request(mode="continuation", reference=voice, prompt=BEFORE),
            ("It rained.", STATE.tolist(), none, none),
        ),
        (request(voice=CY), (none, none, none, "tiny_spk")),
        (request(voice=CY, style="tired"), (none, none, "tired", "tiny_spk")),
        (
            request(voice=CY, mode="continuation", prompt=BEFORE),
            ("It rained.", STATE.tolist(), none, "tiny_spk"),
        ),
    ]
    for asked, (text, prefix, instruction, speaker) in cases:
        given = model.model_request(asked, print)
        tokens = None if given.prefix_tokens is None else given.prefix_tokens.tolist()
        assert (given.prompt_text, tokens) == (text, prefix), asked
        assert (given.instruction, given.speaker) == (instruction, speaker), asked
        assert given.text.endswith((".", "。"))
        if speaker:
            assert given.reference is None
        else:
            assert np.array_equal(given.reference.mel, heard.mel)


def test_lengths_and_seed_come_with_the_request(make):
    model = loaded(make(earliest_stop=0.5))
    first = model.model_request(request(voice=CY, expected=3.0), print)
    own = {"earliest_stop": 0.1}
    second = model.model_request(request(voice=CY, expected=3.0, attempt=1, parameters=own), print)
    assert (first.min_len, first.max_len) == (37, 225)
    assert second.min_len == 7
    assert first.seed != second.seed
    long = Prompt("Long.", BEFORE.samples, np.zeros(600, np.int32))
    asked = request(voice=CY, mode="continuation", prompt=long, expected=10.0)
    assert (
        model.model_request(asked, print).max_len == 350
    )  # 29 s are not to be had, but 14 s are needed


@pytest.mark.parametrize(
    "asked",
    [
        request(),
        request(mode="reference"),
        request(mode="anchored", reference=clip(1.2)),
        request(mode="anchored", reference=clip(1.2), prompt=replace(BEFORE, state=None)),
    ],
)
def test_what_a_mode_lacks_is_the_requests_failure(make, asked):
    with pytest.raises(EngineFailure, match="lacks its reference or prompt"):
        loaded(make()).model_request(asked, print)


def test_a_stored_speaker_that_is_not_there_ends_the_run(make):
    nobody = replace(CY, own={"cosyvoice2": CosyVoice2Voice(speaker="nobody")})
    with pytest.raises(EngineUnavailable, match=r"Cy: no speaker 'nobody'.*there are: 'tiny_spk'"):
        loaded(make()).model_request(request(voice=nobody), print)


def test_a_stored_speaker_that_is_not_there_is_a_problem_before_anything_is_loaded(make, tmp_path):
    nobody = replace(CY, own={"cosyvoice2": CosyVoice2Voice(speaker="nobody")})
    (problem,) = make().problems({"Cy": nobody, "Di": CY}, [])
    assert problem.message.startswith("Cy: no speaker 'nobody' is stored with ")
    assert problem.message.endswith("there are: 'tiny_spk'")
    bare = shutil.copytree(CHECKPOINT, tmp_path / "bare")
    (bare / "spk2info.pt").unlink()
    (problem,) = make(bare).problems({"Cy": CY}, [])
    assert problem.message.endswith("there are: none")
    (bare / "spk2info.pt").write_bytes(b"no zip")
    (problem,) = make(bare).problems({"Cy": CY}, [])
    assert "spk2info.pt" in problem.message
    assert not make(tmp_path / "nowhere").problems({"Cy": nobody}, [])


# -- references ------------------------------------------------------------------------------------


def test_a_preset_brings_its_encoding(make, tmp_path):
    own = make().encode_reference(clip(1.2))
    assert {array.dtype for array in own.values()} == {np.dtype(np.float32)}
    assert sorted(name.rpartition(".")[2] for name in own) == ["mel", "speaker", "tokens"]
    shutil.rmtree(tmp_path / "voices")
    theirs = {name: array + 1 if name.endswith("speaker") else array for name, array in own.items()}
    heard = loaded(make()).encode_clip(replace(clip(1.2), latents=theirs))
    speaker = next(array for name, array in theirs.items() if name.endswith("speaker"))
    assert np.array_equal(heard.speaker, speaker)
    assert not (tmp_path / "voices").exists()


WRONG: dict[str, Callable[[str, np.ndarray], np.ndarray]] = {
    "another sound": lambda part, own: own + 1 if part == "mel" else own,
    "half of it": lambda part, own: own if part == "speaker" else own[: len(own) // 2],
    "no tokens": lambda part, own: own + 0.5 if part == "tokens" else own,
    "tokens of another model": lambda part, own: own + 9000 if part == "tokens" else own,
    "no ids at all": lambda part, own: own + np.float32(1e30) if part == "tokens" else own,
    "another end": lambda part, own: (
        np.append(own[:-1], own[-1:] + 1e9, 0) if part == "mel" else own
    ),
    "fewer frames": lambda part, own: own[1:] if part == "mel" else own,
    "not numbers": lambda part, own: own * np.float32(np.nan),
    "nothing": lambda part, own: own[:0],
    "of another shape": lambda part, own: own[None],
}


@pytest.mark.parametrize(
    "how", quick(WRONG, "another sound", "tokens of another model", "not numbers")
)
def test_an_encoding_that_is_not_of_the_sound_is_told_and_made_anew(make, how):
    own, told = make().encode_reference(clip(1.2)), list[str]()
    wrong = {name: WRONG[how](name.rpartition(".")[2], array) for name, array in own.items()}
    heard = loaded(make()).encode_clip(replace(clip(1.2), latents=wrong), told.append)
    assert any("not of its sound" in line for line in told)
    assert {f"{name.rpartition('.')[0]}.mel" for name in own} <= own.keys()
    assert any(np.array_equal(heard.mel, array) for array in own.values())


def test_what_was_kept_with_tokens_that_the_model_has_not_is_made_anew(make, tmp_path):
    own = loaded(make()).encode_clip(clip(1.2))
    path = next((tmp_path / "voices").glob("*.npz"))
    save_arrays(path, {**load_arrays(path), "tokens": own.tokens.astype(np.float32) + 9000})
    assert np.array_equal(loaded(make()).encode_clip(clip(1.2)).tokens, own.tokens)


def test_a_clip_that_is_too_long_is_refused_but_for_a_pause_at_its_end(make):
    model = loaded(make())
    with pytest.raises(EngineFailure, match=r"hears 30 s of a reference.*has 31.0: cut it"):
        model.encode_clip(clip(31.0, "long"))
    assert len(model._audible_samples(clip(30.3))) == 30 * 48_000


# -- what a row becomes ----------------------------------------------------------------------------


def became(tokens: np.ndarray) -> cosyvoice2.Speech:
    return cosyvoice2.Speech(np.zeros(960 * len(tokens), np.float32), tokens, np.zeros((0, 80)))


def test_a_take_has_its_tokens_and_what_they_show_to_be_wrong(make):
    model = loaded(make())
    asked = model.model_request(request(voice=CY, mode="continuation", prompt=BEFORE), print)
    said = np.random.default_rng(0).integers(0, 700, 100).astype(np.int32)
    speech = model.to_speech(asked, became(said))
    assert (speech.patches, speech.wrong) == (100, "")
    assert speech.state is not None
    assert np.array_equal(speech.state, said)
    assert "of the prompt" in model.to_speech(asked, became(np.append(STATE, said))).wrong
    assert "second time" in model.to_speech(asked, became(np.append(said, said))).wrong
    with pytest.raises(EngineFailure, match="said nothing"):
        model.to_speech(asked, became(said[:0]))


def test_a_take_has_the_vector_of_who_speaks_as_a_clip_has(make):
    model, voice = loaded(make()), clip(1.2)
    asked = model.model_request(request(voice=CY), print)
    tokens = np.arange(30, dtype=np.int32)
    samples = resample_audio(voice.samples, voice.rate, 24_000, sinc=True)

    def heard(samples: np.ndarray) -> np.ndarray | None:
        spoken = cosyvoice2.Speech(samples, tokens, np.zeros((0, 80)))
        return model.to_speech(asked, spoken).speaker

    vector, of_clip = heard(samples), model.encode_clip(voice).speaker
    assert vector is not None
    assert vector @ of_clip > 0.99 * np.linalg.norm(vector) * np.linalg.norm(of_clip)
    assert heard(samples[: 24_000 // 2]) is None
    assert heard(np.full_like(samples, np.nan)) is None


def test_a_take_without_an_encoder_is_a_take(make, tmp_path):
    broken = shutil.copytree(CHECKPOINT, tmp_path / "broken")
    (broken / "campplus.onnx").write_bytes(b"broken")
    model = loaded(make(broken))
    asked = model.model_request(request(voice=CY), print)
    speech = model.to_speech(asked, became(np.arange(30, dtype=np.int32)))
    assert speech.speaker is None
    assert len(speech.samples)


@pytest.mark.slow
def test_rows_of_all_kinds_are_spoken_side_by_side_as_they_are_alone(make):
    asked = [
        request(mode="reference", reference=clip(0.5)),
        request("It stopped.", mode="anchored", reference=clip(0.5), prompt=BEFORE),
        request("It rose.", voice=CY, style="tired"),
    ]
    takes = []
    with mock.patch.object(loading, "step_limits", return_value=(3, 4)):
        for slots in (3, 1):
            session = make(slots=slots).start()
            takes.append({one.key: outcome.speech for one, outcome in speak(session, asked)})
            session.close()
    assert takes[0].keys() == {one.key for one in asked}
    for key, one in takes[0].items():
        other = takes[1][key]
        assert one is not None
        assert other is not None
        assert np.array_equal(one.state, other.state)
        assert len(one.samples) == 960 * one.patches
        assert np.abs(one.samples - other.samples).max() < 1e-3
