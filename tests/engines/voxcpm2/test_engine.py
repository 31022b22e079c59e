"""VoxCPM2 as an engine: modes, seeds, slots, decoding, and trouble; on a small checkpoint."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import mlx.core as mx
import numpy as np
import pytest

import voxcpm2
from narrator import engines, files
from narrator.engines import Outcome, Prompt, Request, Speech, machine
from narrator.engines.mlx import engine as engine_module
from narrator.engines.mlx import memory as mlx_memory
from narrator.engines.mlx import session as room
from narrator.engines.mlx.loaded_model import Tell
from narrator.engines.mlx.session import ModelSession
from narrator.engines.mlx.worker_process import ProcessSession
from narrator.engines.preparation import noise_seed, step_limits
from narrator.engines.voice import Reference, Voice
from narrator.engines.voxcpm2 import loaded_model
from narrator.engines.voxcpm2.engine import VoxCPM2Engine
from narrator.engines.voxcpm2.loaded_model import Side
from narrator.engines.voxcpm2.settings import VoxCPM2Settings
from narrator.errors import EngineFailure, EngineUnavailable, StorageError
from speechbase.device import CACHE_LIMIT
from tests import hubs
from tests.engines.builders import ADA, clip, request
from tests.engines.builders import outcomes_of as speak
from voxcpm2 import generate
from voxcpm2.prompt import Continuation, Text, build_tokens

PATCH = 0.16
OUT = "[metal::malloc] Attempting to allocate 123 bytes which is greater than the maximum"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hubs.checkpoint(tmp_path_factory.mktemp("models") / "small")


@pytest.fixture(scope="module", autouse=True)
def loaded_once() -> Iterator[None]:
    """A checkpoint is read from its files once for all engines of these tests."""
    with mock.patch.object(voxcpm2, "load", functools.cache(voxcpm2.load)):
        yield


Make = Callable[..., VoxCPM2Engine]


@pytest.fixture
def make(checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """`make(slots=…)`: an engine with a project and a library of its own; its model is in this
    process on any device, where tests reach it."""
    monkeypatch.setenv("NARRATOR_HOME", str(tmp_path / "home"))

    def make(model: Path = checkpoint, **settings: Any) -> VoxCPM2Engine:
        usual = {"slots": 3, "steps": 2, "process": "same"}
        chosen = VoxCPM2Settings(model=str(model), **{**usual, **settings})
        return VoxCPM2Engine(chosen, cache=tmp_path / "voices")

    return make


Start = Callable[..., ModelSession]


@pytest.fixture
def start(make: Make) -> Iterator[Start]:
    """`start(slots=…)`: a session of such an engine, closed at the end."""
    with contextlib.ExitStack() as stack:
        yield lambda **settings: stack.enter_context(contextlib.closing(make(**settings).start()))


def latents(count: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, 4, 16), np.float32)


def after(text: str, state: np.ndarray) -> Prompt:
    return Prompt(text, lambda: np.zeros(0, np.float32), state)


def said(outcome: Outcome) -> Speech:
    assert outcome.failure is None
    assert outcome.speech is not None
    return outcome.speech


def latents_of(
    engine: VoxCPM2Engine,
    reference: Reference,
    side: Side = "right",
    tell: Tell = engines.ignore_message,
) -> np.ndarray:
    """The latents of a clip, as the engine's model has them here."""
    model = engine._load(tell)
    assert isinstance(model, loaded_model.LoadedVoxCPM2)
    return model.latents(reference, side, tell)


def fingerprint(engine: VoxCPM2Engine) -> str:
    """Of what encodes."""
    return engine._load(engines.ignore_message).model.encoder_fingerprint


MIXED = (
    request("The rain fell."),
    request("It fell all night, and then it stopped.", mode="reference", reference=clip()),
    request("Who?", mode="reference", reference=clip(0.3, "another"), style="whispering"),
    request("Nobody knew.", mode="anchored", reference=clip(), prompt=after("Before.", latents())),
    request("So it went.", mode="continuation", prompt=after("Before.", latents(5, 1))),
    request("And went.", mode="continuation", reference=clip(), expected=0.3),
    request("A voice.", voice=replace(ADA, description="A warm voice"), expected=0.2),
    request("It stopped.", parameters={"steps": 3, "cfg": 1.5}),
    request("It rose.", attempt=1),
)
FEW = MIXED[2:7]


# -- before it is started --------------------------------------------------------------------------


def test_identity_names_weights_and_precision(make):
    identity = make().identity()
    assert set(identity) == {"name", "sampler", "weights", "dtype"}
    assert not identity["weights"].startswith("absent")
    assert make(dtype="bfloat16").identity() != identity
    assert make(slots=7, steps=3, process="own").identity() == identity


def test_finished_files_name_the_weights_and_no_folder(make):
    weights = make().identity()["weights"][:12]
    assert make().public_name == f"voxcpm2 (weights {weights})"
    assert make(model="/srv/ann/secret").public_name == "voxcpm2"
    assert make(model="nobody/model").public_name == "voxcpm2 (nobody/model)"
    assert make(model="auto").public_name.startswith("voxcpm2 (openbmb/VoxCPM2")
    assert make().is_trained


@pytest.mark.parametrize(
    ("remembered", "weights", "lora"),
    [
        ({"lora": "l1", "lora_spec": "me/voice"}, "w1", "l1"),
        ({"lora": "l1", "lora_spec": "me/other"}, "w1", "absent:me/voice"),
        ({"model": "other/model"}, "absent:nobody/model", "absent:me/voice"),
        ({"weights": ["w1"]}, "absent:nobody/model", "absent:me/voice"),
        *((torn, "absent:nobody/model", "absent:me/voice") for torn in ([], None, "w1", 5)),
    ],
)
def test_what_is_not_here_is_what_is_remembered_of_it(tmp_path, remembered, weights, lora):
    if isinstance(remembered, dict):
        remembered = {"model": "nobody/model", "weights": "w1", **remembered}
    settings = VoxCPM2Settings(model="nobody/model", lora="me/voice")
    engine = VoxCPM2Engine(settings, cache=tmp_path, remembered=remembered)
    assert (engine.identity()["weights"], engine.identity()["lora"]) == (weights, lora)
    assert engine.sample_rate == 48_000


def test_missing_weights_name_the_three_ways_on(tmp_path):
    engine = VoxCPM2Engine(VoxCPM2Settings(model=str(tmp_path / "gone")), cache=tmp_path)
    with pytest.raises(EngineUnavailable) as caught:
        engine.start()
    for way in ("narrator models pull", "engine: {model:", "--draft"):
        assert way in str(caught.value)


def test_a_damaged_checkpoint_is_one_error(checkpoint, make, tmp_path):
    broken = hubs.checkpoint(tmp_path / "broken")
    config = (broken / "config.json").read_text().replace('"hidden_size": 64', '"hidden_size": 32')
    (broken / "config.json").write_text(config)
    with pytest.raises(EngineUnavailable, match="do not fit"):
        make(broken).start()


def test_a_voice_is_its_clip_or_its_casting(make):
    engine = make()
    heard = replace(ADA, content="abc", description="left out", seed=3)
    assert engine.voice_content(heard, "en") == {"reference": "abc"}
    cast = [
        engine.voice_content(voice, "en")
        for voice in (
            replace(ADA, description="old"),
            replace(ADA, description="old", speaker="Bea"),
            replace(ADA, description="old", seed=1),
            ADA,
            replace(ADA, speaker="Bea"),
        )
    ]
    assert cast[0] == cast[1]
    assert len({str(content) for content in cast}) == 4


def test_languages_that_it_was_not_trained_on_are_problems(make):
    tags = ["en-GB", "zh-Hant-TW", "nb", "yue", "cs-CZ", "tlh"]
    problems = make().problems({"Ada": ADA}, tags)
    assert [problem.message.split('"')[1] for problem in problems] == ["cs-CZ", "tlh"]


def test_the_first_generation_has_no_references(make, tmp_path):
    engine = make(hubs.checkpoint(tmp_path / "v1", "v1_s0"))
    assert not engine.clones
    cast = {"Ada": replace(ADA, reference=Path("ada.wav")), "Bea": replace(ADA, speaker="Bea")}
    (problem,) = engine.problems(cast, ["en"])
    assert "Ada" in problem.message
    session = engine.start()
    outcomes = speak(session, [request("It rained.")])
    session.close()
    assert len(said(outcomes["It rained."]).samples)
    assert engine.sample_rate == engine._load(print).model.sample_rate


# -- what the model is given -----------------------------------------------------------------------


def given(session: ModelSession, asked: Request) -> tuple[np.ndarray | None, Any]:
    """The reference, and all that follows it, that a request's row was made of."""
    session.add(asked)
    row = list(session._jobs)[-1]
    return row.reference, row.tokens


def test_each_mode_gives_the_model_its_sequence(make):
    engine = make(slots=9)
    session = engine.start()
    tokenize, shape = session._model.tokenize, (4, 16)
    voice, prompt = clip(), after("It rained", latents())
    right = session._model.encode(voice.samples, sample_rate=48_000)
    left = session._model.encode(voice.samples, sample_rate=48_000, pad="left")
    assert not np.array_equal(right, left)
    style = "tired (very)"
    cases = [
        (request("It fell"), None, [Text(tokenize("It fell."))]),
        (
            request("It fell.", voice=replace(ADA, description="(old)\nman"), style="sad"),
            None,
            [Text(tokenize("(old man, sad)It fell."))],
        ),
        (
            request("It fell.", mode="reference", reference=voice),
            right,
            [Text(tokenize("It fell."))],
        ),
        (
            request("It fell.", mode="reference", reference=voice, style=style),
            right,
            [Text(tokenize("(tired very)It fell."))],
        ),
        (
            request("It fell.", mode="anchored", reference=voice, prompt=prompt, style=style),
            right,
            [Text(tokenize("It rained. It fell.")), Continuation(prompt.state)],
        ),
        (
            request("It fell.", mode="continuation", reference=voice, prompt=prompt),
            None,
            [Text(tokenize("It rained. It fell.")), Continuation(prompt.state)],
        ),
        (
            request("It fell.", mode="continuation", reference=voice),
            None,
            [Text(tokenize("This is the clip. It fell.")), Continuation(left)],
        ),
        (
            request("你好", language="zh-CN", mode="continuation", prompt=after("你好", latents())),
            None,
            [Text(tokenize("你好。你好。")), Continuation(latents())],
        ),
    ]
    for asked, reference, parts in cases:
        found, tokens = given(session, asked)
        expected = build_tokens(parts, shape)
        assert tokens.ids.tolist() == expected.ids.tolist(), asked
        assert tokens.audio.tolist() == expected.audio.tolist()
        assert np.array_equal(tokens.latents, expected.latents)
        assert (found is None) == (reference is None)
        assert reference is None or np.array_equal(found, reference)
    session.close()


def test_solver_guards_and_seed_come_with_the_request(start):
    session = start(steps=6, cfg=1.7, earliest_stop=0.5)
    session.add(request(expected=3.0))
    own = {"steps": 4, "cfg": 2.5, "earliest_stop": 0.1}
    session.add(request(expected=3.0, parameters=own, attempt=1))
    first, second = (row.request for row in session._jobs)
    assert (first.steps, first.cfg, first.min_len, first.max_len) == (6, 1.7, 9, 57)
    assert (second.steps, second.cfg, second.min_len) == (4, 2.5, 1 + 1)
    assert first.retries == 0
    assert first.seed != second.seed


def test_lengths_follow_the_text_and_the_horizon():
    assert step_limits(10.0, 0.25, 0.0, PATCH) == (15, 166)
    least, most = step_limits(10.0, 0.25, 15.0, PATCH)
    assert (least, most) == (15, 88)  # 29 s less 15, not 26.5 s
    assert step_limits(10.0, 0.25, 28.0, PATCH)[1] == 88  # never less than the text needs
    least, most = step_limits(0.1, 0.0, 0.0, PATCH)
    assert least == 2
    assert most >= 4


def test_noise_depends_on_seed_attempt_and_text_alone():
    one = request()
    others = [
        replace(one, seed=8),
        replace(one, attempt=1),
        replace(one, text="It rained."),
        # neighbours of each other's sums
        replace(one, seed=6, attempt=1),
    ]
    seeds = {noise_seed(each) for each in (one, *others)}
    assert len(seeds) == 5
    assert all(0 <= seed < 2**32 for seed in seeds)
    same = replace(one, key="other", voice=Voice("Bea"), prompt=after("A.", latents()))
    assert noise_seed(same) == noise_seed(one)
    assert noise_seed(one) == 3638434416  # a change of this renders everybody's books again


def test_what_a_mode_lacks_is_the_requests_failure(start):
    session = start()
    wrong = [
        request("One.", mode="reference"),
        request("Two.", mode="anchored", reference=clip()),
        request("Three.", mode="continuation"),
        request("Four.", mode="anchored", reference=clip(), prompt=after("A.", latents() * np.nan)),
        request(
            "Five.", mode="reference", reference=replace(clip(content="c0"), samples=np.zeros(1))
        ),
        request(" "),
    ]
    outcomes = speak(session, [*wrong, request("Six.")])
    failed = [key for key, outcome in outcomes.items() if outcome.failure]
    assert failed == [asked.key for asked in wrong]
    assert len(said(outcomes["Six."]).samples)


# -- side by side ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def alone(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """Every request of FEW, spoken by a session of one slot."""
    return one_by_one(checkpoint, tmp_path_factory.mktemp("alone"), FEW)


def one_by_one(checkpoint: Path, folder: Path, requests: Iterable[Request]) -> dict[str, Outcome]:
    settings = VoxCPM2Settings(model=str(checkpoint), slots=1, steps=2, process="same")
    session = VoxCPM2Engine(settings, cache=folder, memory=folder).start()
    outcomes = speak(session, requests)
    session.close()
    return outcomes


def assert_alike(found: dict[str, Outcome], expected: dict[str, Outcome]) -> None:
    """`found` has the takes that `expected` has of the same requests."""
    assert len(found) >= len(FEW) - 1
    for key, outcome in found.items():
        one, other = said(outcome), said(expected[key])
        assert (one.stop, one.patches, one.tokens, one.seed) == (
            other.stop,
            other.patches,
            other.tokens,
            other.seed,
        )
        assert one.state is not None
        assert other.state is not None
        scale = np.abs(other.state).max()
        assert np.abs(one.state - other.state).max() < 1e-4 * scale
        assert np.abs(one.samples - other.samples).max() < 1e-3


@pytest.mark.slow
def test_any_number_of_slots_and_any_order_make_the_same_takes(start, checkpoint, tmp_path):
    session = start(slots=8)
    assert_alike(speak(session, reversed(MIXED)), one_by_one(checkpoint, tmp_path / "alone", MIXED))


def test_a_take_is_what_the_model_says(make, alone):
    engine = make()
    asked = MIXED[3]
    assert asked.reference is not None
    assert asked.prompt is not None
    session = engine.start()
    least, most = step_limits(asked.expected, 0.25, 3 * PATCH, PATCH)
    speech = session._model.generate(
        "Nobody knew.",
        reference=latents_of(engine, asked.reference),
        prompt=voxcpm2.Prompt("Before. ", asked.prompt.state),
        steps=2,
        seed=noise_seed(asked),
        min_len=least,
        max_len=most,
    )
    session.close()
    found = said(alone[asked.key])
    assert np.abs(speech.samples - found.samples).max() < 1e-3
    assert found.patches == len(speech.latents)
    assert len(found.samples) == found.patches * PATCH * 48_000
    assert (found.tokens, found.stop) == (speech.token_count, speech.stop_reason)


def test_a_slot_is_free_before_its_take_has_come(start):
    session = start(slots=2)
    session.add(request("Short.", parameters={"earliest_stop": 0.0}, expected=0.1))
    session.add(request("Long.", parameters={"earliest_stop": 0.9}, expected=6.0))
    while session.slots == 2:
        assert not session.advance()
    assert session.slots == 3
    session.add(request("Next."))
    outcomes = list(session.advance())
    assert [outcome.key for outcome in outcomes] == ["Short."]
    assert session.slots == 2


def test_the_last_take_waits_for_nothing(start):
    session = start(slots=1)
    session.add(request())
    while session.slots == 1:
        assert not session.advance()
    assert len(session.advance()) == 1
    assert session.advance() == []
    assert session.busy > 0.5


# -- references ------------------------------------------------------------------------------------


@pytest.fixture
def encodings(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Side, float]]:
    """The side and the seconds of each clip that is encoded."""
    found, encode = list[tuple[Side, float]](), voxcpm2.VoxCPM2.encode

    def counted(self: Any, audio: Any, *, sample_rate: int, pad: Side = "right") -> Any:
        found.append((pad, len(audio) / sample_rate))
        return encode(self, audio, sample_rate=sample_rate, pad=pad)

    monkeypatch.setattr(voxcpm2.VoxCPM2, "encode", counted)
    return found


def test_a_clip_is_encoded_once(make, tmp_path, encodings):
    told: list[str] = []
    first = make()
    right = latents_of(first, clip(), tell=told.append)
    assert told[-1].startswith("encoding")
    assert np.array_equal(latents_of(first, clip()), right)
    latents_of(first, clip(), "left")
    assert np.array_equal(latents_of(make(), clip()), right)
    assert [side for side, _ in encodings] == ["right", "left"]
    latents_of(first, clip(0.5, "altered"))
    assert len(encodings) == 3
    for path in (tmp_path / "voices").iterdir():
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    assert np.array_equal(latents_of(make(), clip()), right)
    assert len(encodings) == 4


def test_a_preset_brings_its_latents(make, tmp_path):
    engine, voice = make(), clip(3.0)
    (own,) = engine.encode_reference(voice).values()
    (tmp_path / "voices").rename(tmp_path / "encoded")
    theirs = own.copy()
    theirs[-1] += 0.1  # to be known by
    given = replace(voice, latents={fingerprint(engine): theirs})
    assert np.array_equal(latents_of(make(), given), theirs)
    assert not (tmp_path / "voices").exists()
    other = replace(voice, latents={"another encoder": theirs})
    assert np.array_equal(latents_of(make(), other), own)


def test_latents_are_looked_at_for_less_than_encoding_takes(make, encodings):
    engine, voice = make(), clip(8.0)
    given = replace(voice, latents=engine.encode_reference(voice))
    encodings.clear()
    latents_of(make(), given)
    assert 1 < sum(seconds for _, seconds in encodings) < 2


WRONG: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "negated": lambda own: -own,
    "louder than numbers are": lambda own: own * np.float32(1e30),
    "not numbers": lambda own: own * np.float32(np.nan),
    "one patch": lambda own: own[:1],
    "none": lambda own: own[:0],
    "forty times as long": lambda own: np.tile(own, (40, 1, 1)),
    "of another width": lambda own: np.zeros((len(own), 4, 8), np.float32),
    "flat": lambda own: own[:, :, 0],
    "later": lambda own: np.roll(own, 1, axis=0),
}


@pytest.fixture(scope="module")
def encoded(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of three seconds that were encoded."""
    folder = tmp_path_factory.mktemp("encoded")
    latents_of(VoxCPM2Engine(VoxCPM2Settings(model=str(checkpoint)), cache=folder), clip(3.0))
    return folder


@pytest.mark.parametrize("kind", WRONG)
def test_latents_that_are_not_of_the_sound_are_told_and_made_anew(make, encoded, tmp_path, kind):
    shutil.copytree(encoded, tmp_path / "voices")
    engine, voice, told = make(), clip(3.0), list[str]()
    own = latents_of(engine, voice)
    wrong = replace(voice, latents={fingerprint(engine): WRONG[kind](own)})
    assert np.array_equal(latents_of(make(), wrong, tell=told.append), own)
    assert any("not of its sound" in line for line in told)


def test_latents_of_our_own_that_do_not_fit_are_made_anew(make, encoded, tmp_path):
    shutil.copytree(encoded, tmp_path / "voices")
    own = latents_of(make(), clip(3.0))
    (path,) = (tmp_path / "voices").iterdir()
    np.savez(path, latents=own[:5])
    assert np.array_equal(latents_of(make(), clip(3.0)), own)


def test_a_full_disk_is_not_hidden(start, monkeypatch):
    def full(path: Path) -> Any:
        raise StorageError(f"{path}: the disk is full")

    monkeypatch.setattr(files, "replacing", full)
    session = start()
    with pytest.raises(StorageError):
        session.add(request(mode="reference", reference=clip()))


# -- memory and other trouble ----------------------------------------------------------------------


def test_out_of_memory_lowers_the_slots_and_loses_nothing(start, alone, monkeypatch):
    step = generate.Batch.step

    def small(self: generate.Batch) -> Any:
        if self.running > 2:
            raise RuntimeError(OUT)
        return step(self)

    monkeypatch.setattr(generate.Batch, "step", small)
    session = start(slots=8)
    assert_alike(speak(session, FEW), alone)
    assert session.slots == 2
    assert "lowered to 2" in session.note


def failing(monkeypatch: pytest.MonkeyPatch, when: Callable[[int], bool]) -> list[int]:
    """Decodings, counted from 1, of which some run out of memory."""
    speech, counted = generate.Decoding.speech, list[int]()

    def scarce(self: generate.Decoding) -> Any:
        counted.append(len(counted) + 1)
        if when(counted[-1]):
            raise RuntimeError(OUT)
        return speech(self)

    monkeypatch.setattr(generate.Decoding, "speech", scarce)
    return counted


def test_the_last_take_that_does_not_fit_says_nothing_of_the_slots(start, alone, monkeypatch):
    # the last of them is decoded with nothing beside it
    tries = failing(monkeypatch, lambda number: number == len(FEW))
    session = start(slots=8)
    assert_alike(speak(session, FEW), alone)
    assert len(tries) == len(FEW) + 1
    assert (session.slots, session.note) == (8, "8 slots")


def test_takes_that_are_decoded_count_as_rows_that_ran(start, monkeypatch):
    failing(monkeypatch, lambda number: number == 1)
    session = start(slots=8)
    monkeypatch.setattr(
        loaded_model, "step_limits", lambda *_: (3, 3)
    )  # all of them end with one step
    assert len(speak(session, [request(f"{n}.") for n in range(8)])) == 8
    assert session.slots == 4  # half of eight that were decoded, while no row ran


def test_a_single_slot_is_not_tried_for_ever(start, monkeypatch):
    tries = failing(monkeypatch, lambda number: number > 1)
    session = start(slots=1)
    with pytest.raises(EngineUnavailable, match="single chunk"):
        speak(session, FEW)
    assert len(tries) <= 4


def cramped(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """An encoder that runs out of memory so many times."""
    encode, left = voxcpm2.VoxCPM2.encode, [None] * times

    def scarce(self: Any, audio: Any, *, sample_rate: Any = None, pad: Any = "right") -> Any:
        if left:
            left.pop()
            raise RuntimeError(OUT)
        return encode(self, audio, sample_rate=sample_rate, pad=pad)

    monkeypatch.setattr(voxcpm2.VoxCPM2, "encode", scarce)


@pytest.mark.slow
def test_a_voice_that_does_not_fit_beside_the_rows_lowers_the_slots(start, alone, monkeypatch):
    session = start(slots=4)
    first = [each for each in MIXED if each.reference is None][:4]
    for each in first:
        session.add(replace(each, expected=1.0, parameters={"earliest_stop": 0.9}))
    assert not session.advance()
    cramped(monkeypatch, 1)
    session.add(MIXED[2])
    assert (session._tuner.slots, session._batch.running) == (2, 0)
    outcomes = dict[str, Outcome]()
    while len(outcomes) < 5:
        outcomes |= {outcome.key: outcome for outcome in session.advance()}
    assert not any(outcome.failure for outcome in outcomes.values())
    assert said(outcomes[MIXED[2].key]).patches == said(alone[MIXED[2].key]).patches


def test_a_voice_that_fits_nowhere_is_the_machines(make, monkeypatch):
    engine = make(slots=4)
    session = engine.start()
    cramped(monkeypatch, 9)
    with pytest.raises(EngineUnavailable, match="8-bit"):
        session.add(MIXED[1])
    session.close()
    with pytest.raises(EngineUnavailable, match="while a voice is encoded"):
        engine.encode_reference(clip())


def test_what_cannot_be_encoded_to_be_kept_is_no_chunk_s_failure(make):
    with pytest.raises(EngineUnavailable, match="cannot read the reference"):
        make().encode_reference(replace(clip(), samples=np.zeros(1, np.float32)))


def test_one_poisoned_row_fails_alone(start, alone, monkeypatch):
    draw = generate.Row.draw

    def poisoned(self: generate.Row, shape: tuple[int, int]) -> Any:
        if self.text == "Nobody knew." and len(self.patches) == 2:
            raise RuntimeError("[matmul] something odd\nand more")
        return draw(self, shape)

    monkeypatch.setattr(generate.Row, "draw", poisoned)
    session = start(slots=4)
    outcomes = speak(session, FEW)
    failure = outcomes.pop("Nobody knew.").failure
    assert isinstance(failure, EngineFailure)
    assert "[matmul] something odd: 'Nobody knew.'" in str(failure)
    assert_alike(outcomes, alone)
    assert session.slots == 4


THREE = FEW[:3]
BRIEF = (replace(MIXED[2], parameters={"steps": 1}), replace(MIXED[4], parameters={"steps": 1}))


def same(found: dict[str, Outcome], expected: dict[str, Outcome]) -> None:
    """They are the same takes to the last bit, and as many as there are."""
    for key, outcome in found.items():
        one, other = said(outcome), said(expected[key])
        assert np.array_equal(one.samples, other.samples)
        assert np.array_equal(one.state, other.state)


def failing_once(
    monkeypatch: pytest.MonkeyPatch, place: Any, name: str, error: str, *, late: bool
) -> Callable[[int], list[int]]:
    """`arm(n)`: the n-th call of something fails from now on, before it or when it is done; what it
    returns counts the calls."""
    act, calls, at = getattr(place, name), list[int](), [0]

    def fail(*given: Any) -> Any:
        calls.append(len(calls) + 1)
        done = act(*given) if late or calls[-1] != at[0] else None
        if calls[-1] == at[0]:
            raise RuntimeError(error)
        return done

    def arm(first: int) -> list[int]:
        calls.clear()
        at[0] = first
        return calls

    monkeypatch.setattr(place, name, fail)
    return arm


TIMEOUT = "Caused GPU Timeout Error (00000002:kIOGPUCommandBufferCallbackErrorTimeout)"


@pytest.mark.parametrize("error", [OUT, TIMEOUT], ids=["memory", "another"])
@pytest.mark.parametrize(
    ("place", "name", "late", "min_calls"),
    [
        (generate.Batch, "step", False, 6),
        (generate.Batch, "step", True, 6),
        (generate.Decoding, "push", False, 2),
        # the samples are there, and only now are they known to be nothing
        (generate, "settle", True, 2),
    ],
    ids=["a step", "a step that was made", "a window", "an evaluation, late"],
)
@pytest.mark.slow
def test_whatever_fails_wherever_no_take_is_lost_and_none_is_wrong(
    make, monkeypatch, place, name, late, min_calls, error
):
    """Once in a run of two takes of three patches, at every call of it."""
    monkeypatch.setattr(loaded_model, "step_limits", lambda *_: (2, 3))
    arm = failing_once(monkeypatch, place, name, error, late=late)
    engine = make(slots=1)

    def run(first: int) -> tuple[dict[str, Outcome], int]:
        calls, session = arm(first), engine.start()
        found = speak(session, BRIEF)
        session.close()
        assert len(found) == len(BRIEF)
        return found, len(calls)

    undisturbed, many = run(0)
    assert many >= min_calls
    for first in range(1, many + 1):
        found, calls = run(first)
        assert calls > many
        same(found, undisturbed)


def test_out_of_memory_at_any_step_of_several_rows_loses_nothing(make, monkeypatch):
    monkeypatch.setattr(loaded_model, "step_limits", lambda *_: (2, 4))
    arm = failing_once(monkeypatch, generate.Batch, "step", OUT, late=True)
    engine = make(slots=2)
    undisturbed, many, first = dict[str, Outcome](), 1, 0
    while first < many:
        calls, session = arm(first), engine.start()
        found = speak(session, BRIEF)
        lowered = session.slots == 1
        session.close()
        if not first:
            undisturbed, many = found, len(calls)
        assert len(found) == len(BRIEF)
        for key, outcome in found.items():
            one, other = said(outcome), said(undisturbed[key])
            assert np.abs(one.samples - other.samples).max() < 1e-3
        assert lowered == (0 < first <= many)  # two rows from the first step to the last
        first += 1


THRASHING = (
    "Cache thrashing is happening, please set the environment variable "
    "MLX_CUDA_GRAPH_CACHE_SIZE to a larger value than 400 to fix degraded performance."
)


@pytest.mark.parametrize(
    ("message", "is_memory", "is_beyond_repair"),
    [
        (OUT, True, False),
        ("cublasLtMatmul failed: CUBLAS_STATUS_ALLOC_FAILED", True, False),
        ("CUDNN_STATUS_ALLOC_FAILED", True, False),
        ("CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED", True, False),
        ("CUDA_ERROR_OUT_OF_MEMORY", True, False),
        ("mmap: Cannot allocate memory", True, False),
        ("cudaMallocAsync(&data, size, stream) failed: out of memory", True, False),
        ("[METAL] Command buffer execution failed: Insufficient Memory", True, False),
        (TIMEOUT, False, False),
        ("[matmul] Last dimension of first input with shape (1,2)", False, False),
        (THRASHING, False, True),
        ("cudaGraphInstantiate(&exec, graph, nullptr, 0) failed: out of memory", True, True),
        ("cudaStreamSynchronize(s) failed: an illegal memory access was encountered", False, True),
        ("cuLaunchKernelEx(&config, kernel) failed: unspecified launch failure", False, True),
        ("CUDA error: device-side assert triggered", False, True),
        ("the model's weights could not be made ready; load it again", False, True),
        ("[METAL] Command buffer execution failed: Ignored (for causing prior/excessive GPU "
         "errors) (00000004:kIOGPUCommandBufferCallbackErrorSubmissionsIgnored)", False, True),
    ],
)  # fmt: skip
def test_errors_of_mlx_are_known_by_their_messages(message, is_memory, is_beyond_repair):
    error = RuntimeError(message)
    assert mlx_memory.is_out_of_memory(error) == is_memory
    assert mlx_memory.is_beyond_repair(error) == is_beyond_repair


STEP, ENCODE = (generate.Batch, "step"), (voxcpm2.VoxCPM2, "encode")
THRASHES = r"in this process \(Cache.*run the same again"


@pytest.mark.parametrize(
    ("place", "error", "kind", "said", "most"),
    [
        (STEP, RuntimeError(THRASHING), EngineUnavailable, THRASHES, 1),
        (ENCODE, RuntimeError(THRASHING), EngineUnavailable, THRASHES, 1),
        (STEP, RuntimeError("Insufficient Memory"), EngineUnavailable, "8-bit", 99),
        (STEP, RuntimeError("device lost"), EngineUnavailable, "device lost", 99),
        (STEP, KeyboardInterrupt("^C"), KeyboardInterrupt, "C", 1),
    ],
)
def test_what_always_fails_ends_the_session(start, monkeypatch, place, error, kind, said, most):
    """At once, where this process cannot go on."""
    calls = []

    def fail(*given: Any, **more: Any) -> Any:
        calls.append(given)
        raise error

    monkeypatch.setattr(*place, fail)
    session = start(slots=4)
    with pytest.raises(kind, match=said):
        speak(session, FEW)
    assert len(calls) <= most
    session.close()
    session.close()


def test_what_a_process_died_of_is_spoken_alone_and_in_fewer_slots(start, alone):
    """As another process is asked for it."""
    session = start(slots=8)
    session.lower(len(FEW), "its process died")
    assert (session.slots, session.note) == (2, "slots lowered to 2: its process died")
    for asked in FEW[:2]:
        session.add(asked, is_suspect=True)
    session.add(FEW[2])
    found = dict[str, Outcome]()
    while len(found) < 2:
        assert session._batch.running <= 1
        found |= {outcome.key: outcome for outcome in session.advance()}
    same(found, alone)
    assert list(found) == [asked.key for asked in FEW[:2]]


# -- in a process of its own -----------------------------------------------------------------------


def test_a_process_that_is_killed_costs_no_take(make, alone, tmp_path):
    engine, told, killed = make(slots=1, process="own"), list[str](), list[int]()
    session = engine.start(told.append)
    assert isinstance(session, ProcessSession)

    def kill() -> None:
        process = session._process._process
        os.kill(process.pid, signal.SIGINT)  # ctrl-C is not for it
        if not killed:
            os.kill(process.pid, signal.SIGKILL)
        killed.append(process.pid)

    found = {asked.key: out for asked, out in engines.speak(session, THREE, tick=kill)}
    same(found, alone)
    assert len(set(killed)) == 2
    assert [line.split(" (")[0] for line in told][1:] == [
        "encoding a voice …",
        "the model's process was killed",
        "loading VoxCPM2",
        "encoding a voice …",  # of another take
    ]
    assert session.note == "1 slot, process 2"
    assert engine.encode_reference(clip()).keys() == {fingerprint(make())}
    session.close()
    assert engine._loaded is None  # the weights are not here, too


def test_what_is_wrong_there_is_said_here(make, tmp_path):
    broken = hubs.checkpoint(tmp_path / "broken")
    (broken / "tokenizer.json").write_text("{}")
    with pytest.raises(EngineUnavailable) as here:
        make(broken).start()
    with pytest.raises(EngineUnavailable) as there:
        make(broken, process="own").start()
    assert str(there.value) == str(here.value)


@pytest.mark.parametrize(("kind", "own"), [("CUDA", True), ("CPU", False), ("", False)])
def test_the_model_has_a_process_of_its_own_on_cuda(make, monkeypatch, kind, own):
    asked = []

    def device() -> machine.Device:
        asked.append(kind)
        return machine.Device(kind, "it", None, "0.32")

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(machine, "device", device)
    monkeypatch.setattr(
        engine_module, "_on_cuda", functools.cache(engine_module._on_cuda.__wrapped__)
    )
    automatic = [make(process="auto") for _ in range(2)]
    assert [engine._processes is not None for engine in automatic] == [own, own]
    assert len(asked) == 1
    assert make(process="same")._processes is None
    assert make(process="own")._processes is not None


def test_limits_are_set_and_restored(start, monkeypatch):
    before = mx.set_cache_limit(123 << 20)
    try:
        wired = [0]

        def set_wired(limit: int) -> int:
            wired.append(limit)
            return wired[-2]

        monkeypatch.setattr(mx.metal, "is_available", lambda: True)
        monkeypatch.setattr(mx, "set_wired_limit", set_wired)
        session = start()
        assert mx.set_cache_limit(CACHE_LIMIT) == CACHE_LIMIT
        assert wired[-1] > 1 << 28
        session.add(request())
        session.advance()
        session.close()
        assert wired[-1] == 0
        assert mx.set_cache_limit(123 << 20) == 123 << 20
    finally:
        mx.set_cache_limit(before)


def test_one_model_serves_all_sessions(make, monkeypatch):
    told: list[str] = []
    engine = make()
    first = engine.start(told.append)
    model = first._model
    first.close()
    second = engine.start(told.append)
    assert second._model is model
    assert len(told) == 1
    assert said(speak(second, [request()])["The rain fell."]).patches
    second.close()


def test_auto_finds_the_slots_while_it_works_and_keeps_them(make, alone, monkeypatch):
    monkeypatch.setattr(room.SlotTuner, "WARM_UP_STEPS", 0)
    monkeypatch.setattr(room.SlotTuner, "MEASURED_STEPS", 2)
    monkeypatch.setattr(room.SlotTuner, "MIN_GAIN", 0.0)
    monkeypatch.setattr(room.SlotTuner, "MAX_SLOTS", 4)
    engine = make(slots="auto")
    session = engine.start()
    assert (session.slots, session.note) == (2, "2 slots so far")
    assert_alike(speak(session, FEW), alone)
    assert (session.slots, session.note) == (4, "4 slots")
    session.close()
    again = make(slots="auto").start()
    assert (again.slots, again.note) == (4, "4 slots")
    again.close()


@pytest.mark.parametrize(("rows", "slots"), [(1.5, 1), (2.5, 2)])
def test_the_first_slots_are_those_that_memory_is_known_to_hold(make, monkeypatch, rows, slots):
    """With what they will take, of which nothing has happened yet."""
    engine = make(slots="auto")
    model = engine._load(print).model
    one, two = model.estimate_bytes(1), model.estimate_bytes(2)
    limit = mx.get_active_memory() + one + (two - one) * (rows - 1)
    monkeypatch.setattr(room, "usable_memory", lambda: limit)
    session = engine.start()
    assert session.slots == slots
    session.close()


def test_what_a_doubling_needs_is_known_before_it_has_happened(make, monkeypatch):
    """Nothing was decoded so far, and no row is long."""
    engine = make(slots="auto")
    model = engine._load(print).model
    monkeypatch.setattr(mx, "get_peak_memory", mx.get_active_memory)
    monkeypatch.setattr(
        room, "usable_memory", lambda: mx.get_active_memory() + model.estimate_bytes(4) - 1
    )
    session = engine.start()
    assert session._tuner._fits(2, 3)
    assert not session._tuner._fits(2, 4)
    session.close()


def test_room_is_left_to_others_and_to_what_hears(monkeypatch):
    for total, hears, left in ((16e9, False, 12.8e9), (16e9, True, 12.8e9), (8e9, True, 6e9)):
        monkeypatch.setattr(mlx_memory, "device_memory", lambda total=total: int(total))
        found = object() if hears else None
        monkeypatch.setattr("importlib.util.find_spec", lambda name, found=found: found)
        assert mlx_memory.usable_memory() == left


def test_a_fine_tuned_voice_is_named_and_heard(make, tmp_path):
    folder = tmp_path / "lora"
    folder.mkdir()
    for path in (hubs.GOLDEN / "base_s0" / "lora").iterdir():
        shutil.copyfile(path, folder / path.name)
    plain, tuned = make(), make(lora=str(folder))
    assert tuned.identity() == {**plain.identity(), "lora": tuned.identity()["lora"]}
    takes = []
    for engine in (plain, tuned):
        session = engine.start()
        takes.append(said(speak(session, [request()])["The rain fell."]))
        session.close()
    assert not np.array_equal(takes[0].samples[:100], takes[1].samples[:100])
    with pytest.raises(EngineUnavailable, match="gone"):
        make(lora=str(tmp_path / "gone")).start()
