"""`narrator doctor --probe`, with small checkpoints whose decoded sound is replaced here: random
weights make noise, of which nothing is asserted."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from huggingface_hub import constants

from narrator.engines import Speech, machine
from narrator.engines.cosyvoice2.loaded_model import LoadedCosyVoice2
from narrator.engines.mlx.engine import ModelEngine
from narrator.engines.registry import ENGINES
from narrator.engines.voxcpm2.loaded_model import LoadedVoxCPM2
from narrator.pipeline import precision
from narrator.sound import audio
from narrator.speech.checks import Fault, TakeFigures, Verdict
from narrator.speech.requests import CheckedAnswer
from tests import fakes, hubs, small_model, sounds
from tests.test_book_cosyvoice2 import MANIFEST as COSYVOICE2_MANIFEST

NOT_A_NUMBER = np.full(48_000, np.nan, np.float32)
SPOKEN = sounds.voice(3.0, seed=1) * np.float32(0.3)
VOICE = audio.resample(SPOKEN, sounds.RATE, 48_000)


@pytest.fixture(scope="session")
def source(tmp_path_factory):
    return hubs.checkpoint(tmp_path_factory.mktemp("source") / "checkpoint")


@pytest.fixture(autouse=True)
def fit(tmp_path, source, monkeypatch):
    """A machine with VoxCPM2 on which a render can run."""
    metal = machine.Device("Metal", "Apple M1", 48_000_000_000, "0.32.4")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("NARRATOR_HOME", str(tmp_path / "library"))
    monkeypatch.setattr(machine, "memory", lambda: machine.Memory(64_000_000_000, 50_000_000_000))
    monkeypatch.setattr(machine, "device", lambda: metal)
    monkeypatch.setattr(machine, "free", lambda path: 90_000_000_000)
    monkeypatch.setattr(precision, "TAKE_COUNT", 2)
    hubs.cached(tmp_path / "hub", source)
    with small_model.lenient():
        yield


@pytest.fixture
def decoded(monkeypatch) -> Callable[..., None]:
    """Replaces what both models decode by a sound for each precision."""

    def decode_to(bfloat16: Any, float32: Any) -> None:
        sound_by_dtype = {"bfloat16": bfloat16, "float32": float32}
        for model in (LoadedVoxCPM2, LoadedCosyVoice2):
            to_speech = model.to_speech

            def replaced(loaded: Any, *arguments: Any, to_speech: Any = to_speech) -> Speech:
                speech = to_speech(loaded, *arguments)
                return replace(speech, samples=sound_by_dtype[loaded.loading.settings.dtype])

            monkeypatch.setattr(model, "to_speech", replaced)

    return decode_to


def probed(narrator, *arguments) -> tuple[int, dict[str, dict[str, Any]]]:
    code, said, errors = narrator("doctor", *arguments, "--probe", "--json")
    assert errors == ""
    return code, {check["name"]: check for check in json.loads(said)["checks"]}


def test_both_precisions_speak_the_same_sentences_and_are_compared(narrator, decoded, monkeypatch):
    monkeypatch.setattr(precision, "TAKE_COUNT", 5)
    decoded(VOICE, VOICE)
    code, found = probed(narrator)
    assert code == 0
    for name in precision.PRECISIONS:
        figures = found[name]["figures"]
        assert (figures["good_takes"], figures["passes"], figures["faults"]) == (5, True, [])
        assert figures["speech_seconds"] == pytest.approx(15, abs=0.1)
        assert figures["speed"] > 0
        assert figures["peak_bytes"] > 0
    difference = found["difference"]["figures"]
    assert difference.pop("takes") == 5
    assert difference.pop("noticeable") == []
    assert set(difference.values()) == {0.0}
    assert found["precision"]["said"].startswith("use ")


def test_a_precision_whose_takes_are_no_sound_is_not_used(narrator, decoded):
    decoded(NOT_A_NUMBER, VOICE)
    code, said, _ = narrator("doctor", "--probe")
    assert code == 0
    assert "warn  bfloat16: VoxCPM2: 0 of 2 takes pass" in said
    assert "finite: 48000 samples are not numbers" in said
    # the small model is stored in float32
    assert "ok    precision: use float32 for VoxCPM2\n      nothing to set" in said
    assert "difference" not in said


def test_where_none_passes_the_exit_code_says_so(narrator, decoded):
    decoded(NOT_A_NUMBER, NOT_A_NUMBER)
    code, said, _ = narrator("doctor", "--probe")
    assert code == 3
    assert "fail  precision: VoxCPM2 passes the checks in no precision" in said
    assert "--draft" in said


def test_a_precision_that_sounds_different_yields_to_float32(narrator, decoded):
    decoded(VOICE * np.float32(3), VOICE)
    code, found = probed(narrator)
    assert code == 0
    assert found["difference"]["state"] == "warn"
    assert found["difference"]["figures"]["loudness"] == pytest.approx(9.5, abs=0.1)
    assert found["precision"]["said"].endswith("bfloat16 sounds different (loudness)")


def test_a_precision_that_memory_does_not_hold_is_not_tried(narrator, decoded, monkeypatch):
    decoded(VOICE, VOICE)
    monkeypatch.setattr(
        ModelEngine,
        "required_memory",
        lambda engine: 99_000_000_000 if engine.settings.dtype == "float32" else 1,
    )
    code, found = probed(narrator)
    assert code == 0
    assert found["float32"]["said"] == (
        "VoxCPM2: it needs about 99.0 GB of memory; this machine has 48.0 GB"
    )
    assert found["precision"]["said"] == "use bfloat16 for VoxCPM2"
    assert "`engine: {name: voxcpm2, dtype: bfloat16}`" in found["precision"]["todo"]


@pytest.mark.parametrize(
    ("kinds", "passes"),
    [
        ([None] * 5, True),
        (["gap", None, None, None, None], True),
        (["gap", "gap", None, None, None], False),
        (["finite", None, None, None, None], False),
        ([None] * 4, False),
    ],
    ids=["good", "one fault", "two faults", "no sound once", "one take too few"],
)
def test_one_take_may_have_a_fault_as_long_as_it_is_sound(kinds, passes, monkeypatch):
    monkeypatch.setattr(precision, "TAKE_COUNT", 5)
    run = precision._Run(fakes.HumEngine(), "float32")
    for kind in kinds:
        faults = () if kind is None else (Fault(kind, ""),)
        request = SimpleNamespace(key="", attempt=0)
        run.answers.append(CheckedAnswer(request, Speech(VOICE), Verdict(TakeFigures(), faults)))
    assert run.figures().passes == passes


@pytest.mark.parametrize(
    ("present", "speeds", "recommended"),
    [
        ("bfloat16", (1.0, 1.05), "bfloat16"),
        ("bfloat16", (1.0, 1.2), "float32"),
        ("float32", (1.0, 0.5), "bfloat16"),
        ("", (1.0, 0.9), "bfloat16"),
        ("bfloat16", (0.0, 0.0), ""),
    ],
)
def test_of_two_that_pass_the_faster_is_used_unless_it_saves_little(present, speeds, recommended):
    figures = [
        precision.PrecisionFigures(name, passes=speed > 0, speed=speed)
        for name, speed in zip(precision.PRECISIONS, speeds, strict=True)
    ]
    assert precision.PrecisionProbe(present, figures, None).recommended == recommended


@pytest.mark.parametrize(("language", "spoken"), [("de", "de"), ("en-GB", "en"), ("ca", "es")])
def test_sentences_are_in_the_language_of_the_book_or_the_nearest(language, spoken, monkeypatch):
    monkeypatch.setattr(precision, "TAKE_COUNT", 5)
    voice = precision.ProbeVoice(language=language)
    requests = precision._requests(fakes.HumEngine(), ENGINES["voxcpm2"].settings(), voice)
    assert {request.language for request in requests} == {spoken}
    assert len({(request.text, request.seed) for request in requests}) == 5
    assert all(request.expected > 2 for request in requests)


@pytest.mark.parametrize("engine", ["kokoro", "draft", "server"])
def test_an_engine_without_precisions_says_so(narrator, engine):
    found = probed(narrator, "--engine", engine)[1]
    assert found["precision"]["state"] == "none"
    assert found["precision"]["said"].endswith(" has no precisions to choose from")
    assert "bfloat16" not in found


def test_cosyvoice2_speaks_in_a_voice_of_the_book(narrator, decoded, tmp_path):
    voice = audio.resample(SPOKEN, sounds.RATE, 24_000)
    decoded(voice, voice)
    folder = tmp_path / "book"
    book = small_model.write(
        folder, hubs.COSYVOICE2, manifest=COSYVOICE2_MANIFEST, clips=(3.2, 3.2)
    )
    found = probed(narrator, book)[1]
    for name in precision.PRECISIONS:
        assert found[name]["figures"]["good_takes"] == 2


def test_cosyvoice2_without_a_voice_asks_for_one(narrator, tmp_path):
    hubs.cached(tmp_path / "hub", hubs.COSYVOICE2, repo="FunAudioLLM/CosyVoice2-0.5B")
    code, found = probed(narrator, "--engine", "cosyvoice2")
    assert code == 3
    assert "--voice NAME" in found["precision"]["todo"]


def test_a_voice_is_for_the_probe(narrator):
    assert narrator("doctor", "--voice", "me")[0] == 2
