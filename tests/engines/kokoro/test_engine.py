"""Kokoro as an engine, with a small random checkpoint: keys, sessions, a book."""

from __future__ import annotations

import functools
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest

from kokoro82m import FRAME_SAMPLES, SAMPLE_RATE, tensors
from narrator.engines import Outcome, Request, Speech, models, speak
from narrator.engines.kokoro import SPEC, checkpoint, wording
from narrator.engines.kokoro.engine import KokoroEngine
from narrator.engines.kokoro.settings import KokoroSettings, KokoroVoice
from narrator.engines.voice import Voice
from narrator.errors import EngineUnavailable
from tests.engines import builders
from tests.engines.builders import TEXT
from tests.engines.kokoro.conftest import make_checkpoint

pytest.importorskip("onnxruntime")

NARRATOR = Voice("narrator")
Spoken = Callable[..., list[Outcome]]
request = functools.partial(builders.request, language="en", voice=NARRATOR, expected=2.0)


class Started:
    """An engine's session, which many tests ask; what it told when it was started."""

    def __init__(self, engine: KokoroEngine) -> None:
        self.told: list[str] = []
        self._session = engine.start(self.told.append)

    def spoken(self, *requests: Request) -> list[Outcome]:
        found = {id(asked): outcome for asked, outcome in speak(self._session, requests)}
        return [found[id(asked)] for asked in requests]

    def close(self) -> None:
        self._session.close()


@pytest.fixture(scope="module")
def started(
    checkpoint: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Started]]:
    """By device."""
    engines, cache = [], tmp_path_factory.mktemp("cache")
    for device in ("cpu", "gpu"):
        chosen = {"model": str(checkpoint), "device": device, "slots": 1}
        engines.append(KokoroEngine(KokoroSettings.model_validate(chosen), cache=cache))
    sessions = [Started(engine) for engine in engines]
    yield dict(zip(("cpu", "gpu"), sessions, strict=True))
    for session, engine in zip(sessions, engines, strict=True):
        session.close()
        engine.release()


@pytest.fixture
def spoken(started: dict[str, Started]) -> Spoken:
    return started["cpu"].spoken


def speech_of(outcome: Outcome) -> Speech:
    assert outcome.speech is not None, outcome.failure
    return outcome.speech


# -- keys


def test_neither_device_nor_precision_is_part_of_its_identity(make):
    identities = [make(device=device).identity() for device in ("cpu", "gpu")]
    assert identities[0] == identities[1] == make(dtype="float32").identity()
    assert make(device="gpu", dtype="bfloat16").identity() != identities[0]


def test_finished_files_name_the_model_with_the_beginning_of_its_commit(make):
    engine = make(model="auto")
    assert re.match(r"kokoro \(hexgrad/Kokoro-82M@f3ff3571791e[;)]", engine.public_name)


def content(
    engine: KokoroEngine, text: str, pronunciations: Mapping[str, str] = MappingProxyType({})
) -> object:
    return engine.text_content(text, "en", NARRATOR, pronunciations)


def test_phonemes_are_part_of_a_key(make):
    engine = make()
    assert content(engine, "Wait.") == {"phonemes": "wˈAt."}
    assert content(engine, "Wait.", {"Wait": "vɑːt"}) == {"phonemes": "vˈɑt."}
    british = Voice("x", own={"kokoro": KokoroVoice(voice="bf_emma")})
    assert engine.text_content("Wait.", "en", british, {}) == {"phonemes": "wˈAt."}
    assert engine.text_content("Car.", "en", british, {}) == {"phonemes": "kˈɑː."}


@pytest.mark.parametrize(
    ("text", "phonemes"),
    [("Don waits.", "dˈɔn wˈAts."), ("Don't wait, Don.", "dˈOnt wˈAt, dˈɔn."),
     ("Don’t wait.", "dˈOnt wˈAt.")],
)  # fmt: skip
def test_ipa_is_for_whole_words(make, text, phonemes):
    assert content(make(), text, {"Don": "dɔn"}) == {"phonemes": phonemes}


def test_ipa_without_a_sound_in_a_language_is_left_out(make):
    french = Voice("x", language="fr")
    said = {"Küssnacht": "ˈkʏsnaxt"}
    with_ipa = make().text_content("Küssnacht.", "fr", french, said)
    assert with_ipa == make().text_content("Küssnacht.", "fr", french, {})
    parts = SPEC.silent_parts("Küssnacht.", "fr", said)
    assert [part.text for part in parts] == ["/ˈkʏsnaxt/"]


def test_a_voice_is_known_by_what_it_holds(make, tmp_path):
    adam = Voice("x", own={"kokoro": KokoroVoice(voice="am_adam")})
    before = make().voice_content(adam, "en")
    folder = make_checkpoint(tmp_path / "other")
    shutil.copy(folder / "voices" / "bf_emma.npy", folder / "voices" / "am_adam.npy")
    assert make(model=str(folder)).voice_content(adam, "en") != before
    assert make().voice_content(replace(adam, speed=1.1), "en") != before
    assert make().voice_content(replace(adam, seed=4, style="loud"), "en") == before


# -- sessions


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_it_says_words_and_when_they_are_heard(started, device):
    speech = speech_of(*started[device].spoken(request()))
    words = [TEXT[word.first : word.last] for word in speech.words]
    assert words == ["The", "rain", "fell"]
    times = [time for word in speech.words for time in (word.start, word.stop)]
    assert times == sorted(times)
    assert times[-1] <= len(speech.samples) / 24_000


def test_both_devices_give_one_take(started):
    on_cpu, on_gpu = (speech_of(*started[d].spoken(request())) for d in ("cpu", "gpu"))
    assert len(on_cpu.samples) == len(on_gpu.samples)
    assert on_cpu.words == on_gpu.words


def test_it_has_one_reading_of_a_text(make, spoken):
    first, again, other = spoken(
        request(), request(attempt=1, seed=3), request(text="Nobody waited for it.")
    )
    assert np.array_equal(speech_of(first).samples, speech_of(again).samples)
    assert len(speech_of(other).samples) > 0
    assert make().sound_parameters == ()


def test_speed_is_its_own(make, spoken):
    assert make().has_speed
    slow, fast = spoken(
        request(voice=replace(NARRATOR, speed=0.5)),
        request(voice=replace(NARRATOR, speed=2.0), attempt=1),
    )
    assert len(speech_of(slow).samples) > len(speech_of(fast).samples)


@pytest.mark.parametrize("text", ["…", "☃ ☃"])
def test_what_has_no_sound_fails_by_name(spoken, text):
    good, bad = spoken(request(), request(text=text))
    assert good.speech is not None
    assert "nothing to pronounce" in str(bad.failure)


def test_a_text_that_is_too_long_fails_and_can_be_halved(spoken):
    [outcome] = spoken(request(text="The ferry left at seven and came back. " * 30))
    assert "510" in str(outcome.failure)


# -- models


def test_a_damaged_model_is_named_before_anything_is_spoken(make, tmp_path):
    folder = make_checkpoint(tmp_path / "damaged")
    weights = folder / "kokoro-v1_0.pth"
    weights.write_bytes(weights.read_bytes()[:-2000])
    with pytest.raises(EngineUnavailable, match=r"kokoro-v1_0\.pth"):
        make(model=str(folder)).start()


def test_weights_that_are_not_the_published_ones_are_told(started):
    [line] = [line for line in started["cpu"].told if "not the published model" in line]
    assert "kokoro-v1_0.pth: SHA-256 " in line


def test_damage_of_the_model_that_packages_make_is_an_error(make, tmp_path, monkeypatch):
    monkeypatch.setenv("NARRATOR_HOME", str(tmp_path))
    folder = make_checkpoint(models.conversion_path("hexgrad/Kokoro-82M"))
    with pytest.raises(EngineUnavailable, match="damaged; remove it, then `narrator models pull"):
        make(model=str(folder)).start()


def test_a_published_voice_that_a_folder_lacks_is_said(make):
    puck = Voice("Ada", own={"kokoro": KokoroVoice(voice="am_puck")})
    [problem] = make().problems({"Ada": puck, "narrator": NARRATOR}, ["en"])
    assert "has no voice 'am_puck'" in problem.message
    assert "af_bella, af_heart" in problem.message


def test_languages_that_it_lacks_are_said(make, monkeypatch):
    engine = make()
    [problem] = engine.problems({"narrator": NARRATOR}, ["en", "de"])
    assert 'does not speak "de"' in problem.message
    monkeypatch.setattr("narrator.pronunciation.missing_extra", lambda tag: "japanese")
    monkeypatch.setattr(KokoroEngine, "speaks", lambda self, tag: False)
    [problem] = engine.problems({}, ["ja"])
    assert "[japanese]" in problem.message


def test_a_default_voice_that_a_folder_lacks_is_said(make, tmp_path):
    folder = make_checkpoint(tmp_path / "model")
    (folder / "voices" / "af_heart.npy").unlink()
    engine = make(model=str(folder))
    [problem] = engine.problems({"narrator": NARRATOR}, ["en"])
    assert "has no voice 'af_heart'" in problem.message


def test_a_damaged_voice_stops_those_alone_who_speak_with_it(make, tmp_path):
    folder = make_checkpoint(tmp_path / "model")
    np.save(folder / "voices" / "am_adam.npy", np.full((510, 1, 256), 1e30, np.float32))
    (folder / "voices" / "notes.bin").write_bytes(b"hi")
    engine = make(model=str(folder))
    adam = Voice("Ada", own={"kokoro": KokoroVoice(voice="am_adam")})
    assert not engine.problems({"narrator": NARRATOR}, ["en"])
    [problem] = engine.problems({"Ada": adam}, ["en"])
    assert "am_adam.npy: no voice: its numbers are not finite, or far too large" in problem.message
    assert "`narrator models pull kokoro`" in problem.message


def test_figures_that_are_not_imported_equal_those_of_the_model() -> None:
    assert wording.SAMPLE_RATE == SAMPLE_RATE
    assert wording.FRAME_SECONDS == FRAME_SAMPLES / SAMPLE_RATE
    assert checkpoint.WEIGHTS == tensors.WEIGHTS
