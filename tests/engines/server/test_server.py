"""Speech by servers: what goes out, what comes back, and what is made of what goes wrong."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from narrator.engines import Outcome, Prompt, Request, speak
from narrator.engines.server.engine import ServerEngine
from narrator.engines.server.remote_server import Patience
from narrator.engines.server.session import ConcurrencyLimit, ServerSession
from narrator.engines.server.settings import ServerSettings, ServerVoice, parse_address
from narrator.engines.server.wire import Wire
from narrator.engines.voice import Reference, Voice
from narrator.errors import EngineUnavailable
from narrator.text.pace import expected_seconds
from tests.effort import quick
from tests.engines.server import standins
from tests.engines.server.standins import Answering, StandIn, serving

QUICK = Patience(first_pause=0.01, max_pause=0.05, max_outage_s=1.5)
KEY = "sk-Not-A-Real-Key-0123456789"
DIALECTS = ("openai", "vllm-omni", "nano-vllm-voxcpm")
VOICE = Voice("narrator", own={"server": ServerVoice(voice="alloy")})
CLIP = standins.speech("A clip of a voice, all of it.", 24_000)
REFERENCE = Reference("clip", CLIP, 24_000, "A clip of a voice, all of it.")


def engine(standin: StandIn, folder: Path, **more: Any) -> ServerEngine:
    settings: dict[str, Any] = {"url": standin.url, "dialect": standin.dialect, **more}
    if standin.dialect == "openai":
        settings.setdefault("model", "tts-1")
    return ServerEngine(ServerSettings(**settings), cache=folder, patience=QUICK)


def request(text: str = "The ferry left at seven.", **more: Any) -> Request:
    made = Request(
        key=f"key of {text}",
        text=text,
        language="en-GB",
        voice=VOICE,
        style=None,
        parameters={},
        seed=0,
        attempt=0,
        expected=expected_seconds(text, "en"),
        mode="reference",
        reference=REFERENCE,
    )
    return replace(made, **more)


def said(made: ServerEngine, asked: Sequence[Request]) -> dict[str, Outcome]:
    with contextlib.closing(made.start()) as session:
        return {r.text: outcome for r, outcome in speak(session, iter(asked))}


def one(made: ServerEngine, asked: Request | None = None) -> Outcome:
    asked = asked or request()
    return said(made, [asked])[asked.text]


Faulty = Callable[..., StandIn]


@pytest.fixture
def faulty() -> Iterator[Faulty]:
    """A stand-in whose first answers are these; those that follow are as they should be."""
    with contextlib.ExitStack() as stack:

        def made(*faults: standins.Fault, dialect: str = "openai", always: bool = False) -> StandIn:
            def fault(number: int, body: Mapping[str, Any]) -> standins.Fault | None:
                if always:
                    return faults[number % len(faults)]
                return faults[number] if number < len(faults) else None

            return stack.enter_context(serving(StandIn(dialect, fault)))

        yield made


# -- what goes out ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_chunk_comes_as_it_was_said_and_nothing_that_was_asked_is_dropped(
    faulty, tmp_path, dialect
):
    standin = faulty(dialect=dialect)
    outcome = one(engine(standin, tmp_path))
    assert standin.dropped == []
    assert outcome.speech is not None
    (body,) = standin.bodies
    text = standins.text_of(body)
    expected = standins.speech(text, standin.rate, standins.conditioned(body))
    np.testing.assert_array_equal(outcome.speech.samples, expected)
    assert standin.whole == [text]


@pytest.mark.parametrize("kind", ["wav", "flac", "pcm"])
def test_every_format_that_may_be_asked_for_gives_the_same_samples(faulty, tmp_path, kind):
    standin = faulty()
    outcome = one(engine(standin, tmp_path, format=kind))
    assert standin.bodies[0]["response_format"] == kind
    assert outcome.speech is not None
    expected = standins.speech(request().text, 24_000, standins.conditioned(standin.bodies[0]))
    np.testing.assert_array_equal(outcome.speech.samples, expected)


def test_nano_is_given_the_reference_and_the_take_before(faulty, tmp_path):
    standin = faulty(dialect="nano-vllm-voxcpm")
    take = standins.speech("The take before.", 48_000)
    prompt = Prompt("The take before", lambda: take)
    made = engine(standin, tmp_path)
    outcome = one(made, request(mode="anchored", prompt=prompt, parameters={"cfg": 2.5}))
    assert outcome.speech is not None
    (body,) = standin.bodies
    assert body["prompt_text"] == "The take before. "
    assert {"prompt_wav_base64", "ref_audio_wav_base64"} <= body.keys()
    assert body["cfg_value"] == 2.5
    assert standin.dropped == []


@pytest.mark.parametrize(
    ("mode", "style", "text"),
    [
        ("zero-shot", None, "(An old man)Go."),
        ("zero-shot", "whispering", "(An old man, whispering)Go."),
        ("reference", "whispering", "(whispering)Go."),
        ("continuation", None, "Go."),
    ],
)
def test_nano_is_told_a_manner_as_the_model_is(faulty, tmp_path, mode, style, text):
    standin = faulty(dialect="nano-vllm-voxcpm")
    voice = replace(VOICE, description="An old man")
    reference = None if mode == "zero-shot" else REFERENCE
    asked = request("Go", mode=mode, style=style, voice=voice, reference=reference)
    one(engine(standin, tmp_path), asked)
    assert standin.bodies[0]["target_text"] == text
    assert ("prompt_text" in standin.bodies[0]) == (mode == "continuation")


def test_vllm_omni_is_given_one_clip(faulty, tmp_path):
    standin = faulty(dialect="vllm-omni")
    take = standins.speech("The take before.", 24_000)
    prompt = Prompt("The take before.", lambda: take)
    made = engine(standin, tmp_path)
    one(made, request())
    one(made, request(mode="continuation", prompt=prompt))
    assert [body["ref_text"] for body in standin.bodies] == [REFERENCE.transcript, prompt.text]
    assert standin.bodies[0]["ref_audio"] != standin.bodies[1]["ref_audio"]


@pytest.mark.parametrize("dialect", quick(["vllm-omni", "nano-vllm-voxcpm"], "vllm-omni"))
def test_another_attempt_draws_another_seed(faulty, tmp_path, dialect):
    standin = faulty(dialect=dialect)
    made = engine(standin, tmp_path)
    for attempt in (0, 1, 0):
        speech = one(made, request(attempt=attempt)).speech
        assert speech is not None
        assert speech.seed == standin.bodies[-1]["seed"]
    first, second, third = (body["seed"] for body in standin.bodies)
    assert first == third != second


def test_a_style_travels_as_instructions_where_the_manifest_says_so(faulty, tmp_path):
    standin = faulty()
    one(engine(standin, tmp_path), request(style="whispering"))
    one(engine(standin, tmp_path, instructions=True), request(style="whispering"))
    assert [body.get("instructions") for body in standin.bodies] == [None, "whispering"]


def test_an_address_may_end_in_v1(faulty, tmp_path):
    standin = faulty()
    assert one(engine(standin, tmp_path, url=f"{standin.url}/v1/")).speech is not None


def test_a_speech_that_fills_its_steps_was_cut_off(faulty, tmp_path):
    asked = request(expected=1.0)  # its text takes longer than 2.5 times that
    text = "The ferry left at seven, as it had on every morning, and nobody asked it to wait."
    standin = faulty(dialect="nano-vllm-voxcpm")
    speech = one(engine(standin, tmp_path), replace(asked, text=text)).speech
    assert speech is not None
    assert speech.stop == "cap"


# -- what comes back -------------------------------------------------------------------------------


AGAIN: Mapping[str, standins.Fault] = {
    "half": standins.half,
    "half in chunks": standins.half_chunked,
    "half a WAV": standins.half_wav,
    "hung up": standins.hang_up,
    "500": standins.status(500),
    "502": standins.status(502, {"detail": "Bad Gateway"}),
    "503": standins.status(503, {"detail": "Model server not ready"}),
    "504": standins.status(504),
    "429": standins.status(429, Retry_After="0"),
}


@pytest.mark.parametrize("name", quick(AGAIN, "half", "half a WAV", "hung up", "429"))
def test_what_may_pass_is_sent_again_and_comes_once(faulty, tmp_path, name):
    standin = faulty(AGAIN[name])
    outcome = one(engine(standin, tmp_path))
    assert outcome.speech is not None
    assert len(standin.bodies) == 2
    assert standin.whole == [request().text]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_half_an_answer_is_never_a_take(faulty, tmp_path, dialect):
    standin = faulty(standins.half_chunked, standins.half, dialect=dialect)
    outcome = one(engine(standin, tmp_path))
    assert outcome.speech is not None
    (body, *_) = standin.bodies
    expected = standins.speech(standins.text_of(body), standin.rate, standins.conditioned(body))
    assert len(outcome.speech.samples) == len(expected)


GIVEN_UP: Mapping[str, tuple[standins.Fault, str]] = {
    "422": (
        standins.status(422, {"detail": [{"loc": ["body", "input"], "msg": "too long"}]}),
        "422 Unprocessable.*too long",
    ),
    "400": (standins.status(400), r"400 Bad Request: no \(400\)"),
    "a page": (standins.body(standins.HTML, "text/html"), "a web page instead of sound"),
    "a page as sound": (standins.body(standins.HTML), "a web page instead of sound"),
    "a message": (
        standins.body(b'{"error": {"message": "no GPU"}}', "application/json"),
        r"a message \(no GPU\) instead of sound",
    ),
    "a deep message": (
        standins.body(b"[" * 60_000, "application/json"),
        r"a message \(\[+…",
    ),
    "a deep refusal": (
        lambda one: one.handler.give(400, {}, b"[" * 60_000),
        r"400 Bad Request: \[+…",
    ),
    "a type that terminals obey": (
        standins.body(b"sound", "audio/\x1b[2Jx"),
        r"audio/[^\x1b]+ instead of WAV",
    ),
    "integers as floats": (standins.loud, "samples up to .* where 1 is full scale"),
    "MP3": (standins.body(standins.MP3, "audio/mpeg"), "MP3 instead of WAV: set `engine.format`"),
    "nothing": (standins.body(b""), "an empty answer"),
    "silence": (standins.silence, "silence instead of speech"),
    "huge": (standins.huge, "an answer of more than .* bytes"),
    "half, always": (standins.half, r"half an answer: it broke off \(3 times\)"),
    "packed": (
        lambda one: one.handler.give(200, {"Content-Encoding": "gzip"}, one.sound),
        "packs its answer",
    ),
}


@pytest.mark.parametrize(
    "name", quick(GIVEN_UP, "422", "a page", "a message", "MP3", "silence", "half, always")
)
def test_what_will_not_pass_fails_the_request_by_name(faulty, tmp_path, name):
    fault, why = GIVEN_UP[name]
    outcome = one(engine(faulty(fault, always=True), tmp_path))
    assert outcome.speech is None
    assert re.fullmatch(f"speech server: .*{why}.*The ferry left.*", str(outcome.failure))


def test_raw_samples_are_taken_in_no_other_format(faulty, tmp_path):
    standin = faulty(standins.body(standins.MP3, "audio/mpeg"), dialect="nano-vllm-voxcpm")
    assert "audio/mpeg instead of PCM" in str(one(engine(standin, tmp_path)).failure)


@pytest.mark.parametrize("trickle", [standins.trickle, standins.trickle_without_length])
def test_no_whole_answer_in_time_is_asked_for_again(faulty, tmp_path, trickle):
    standin = faulty(standins.hang, trickle)
    made = engine(standin, tmp_path, timeout=1.0)
    made.settings.__dict__["timeout"] = 0.3  # less than people may set
    assert one(made).speech is not None
    assert len(standin.bodies) == 3


def test_a_rate_that_nobody_set_is_resampled_and_said_once(faulty, tmp_path):
    standin = faulty(standins.other_rate(48_000), standins.other_rate(48_000))
    told: list[str] = []
    with contextlib.closing(engine(standin, tmp_path).start(told.append)) as session:
        outcomes = [out for _, out in speak(session, iter([request(), request("And then?")]))]
    lengths = [len(out.speech.samples) for out in outcomes if out.speech]
    expected = len(standins.speech(request().text, 24_000))
    assert any(abs(length - expected) <= 2 for length in lengths)
    assert len([line for line in told if "`engine.sample_rate: 48000`" in line]) == 1


@pytest.mark.parametrize(
    ("kind", "fault"), [("wav", standins.unsized), ("flac", standins.unsized_flac)]
)
def test_a_stream_need_not_know_its_length(faulty, tmp_path, kind, fault):
    standin = faulty(fault)
    outcome = one(engine(standin, tmp_path, format=kind))
    assert outcome.speech is not None
    expected = standins.speech(request().text, 24_000, standins.conditioned(standin.bodies[0]))
    np.testing.assert_array_equal(outcome.speech.samples, expected)


# -- what ends a run -------------------------------------------------------------------------------


ENDS: Mapping[str, tuple[standins.Fault, str]] = {
    "401": (standins.status(401, {"error": {"message": f"Bad key {KEY}"}}), "refuses the key"),
    "403": (standins.status(403), "refuses the key"),
    "402": (standins.status(402), "asks to be paid"),
    "404": (standins.status(404, {"detail": "no model"}), "no such address, model or voice"),
    "no quota": (
        standins.status(429, {"error": {"message": "You have none", "code": "insufficient_quota"}}),
        "nothing left",
    ),
}


@pytest.mark.parametrize(("fault", "why"), ENDS.values(), ids=ENDS.keys())
def test_what_no_request_will_pass_ends_the_run_at_once(faulty, tmp_path, monkeypatch, fault, why):
    monkeypatch.setenv("TTS_KEY", KEY)
    standin = faulty(fault, always=True)
    with pytest.raises(EngineUnavailable, match=why) as caught:
        one(engine(standin, tmp_path, key="TTS_KEY"))
    assert KEY not in str(caught.value)
    assert len(standin.bodies) == 1


def test_what_was_out_when_a_run_ends_is_not_lost(tmp_path):
    refused = threading.Event()

    def late(one: Answering) -> None:
        refused.wait(10)
        one.handler.give(200, one.headers, one.sound)

    def refuse(one: Answering) -> None:
        one.handler.tell(401, {})

    class Watched(ServerSession):
        def _run_guarded(self, work: Callable[[], None]) -> None:
            super()._run_guarded(work)
            if self._final_error is not None:
                refused.set()

    def fault(number: int, body: Mapping[str, Any]) -> standins.Fault | None:
        return refuse if "refused" in body["input"] else late

    spoken: list[Outcome] = []
    with serving(StandIn("openai", fault)) as standin:
        with mock.patch("narrator.engines.server.engine.ServerSession", Watched):
            session = engine(standin, tmp_path).start()
        asked = [request("The other one."), request("It is refused."), request("Never sent.")]
        answers = (outcome for _, outcome in speak(session, iter(asked)))
        with contextlib.closing(session), pytest.raises(EngineUnavailable, match="refuses the key"):
            spoken.extend(answers)
        assert len(standin.bodies) == 2
    assert [outcome.key for outcome in spoken if outcome.speech] == [asked[0].key]


def test_a_redirect_is_not_followed_and_takes_neither_key_nor_clip_along(
    faulty, tmp_path, monkeypatch
):
    monkeypatch.setenv("TTS_KEY", KEY)
    other = faulty(dialect="vllm-omni")
    to = f"{other.url}/v1/audio/speech"
    for code in (301, 302, 307, 308):
        standin = faulty(standins.status(code, Location=to), dialect="vllm-omni")
        with pytest.raises(EngineUnavailable, match=r"sends elsewhere to 127.0.0.1:\d+"):
            one(engine(standin, tmp_path, key="TTS_KEY"))
    assert other.paths == []


def test_proxies_of_the_environment_are_not_used(faulty, tmp_path, monkeypatch):
    proxy = faulty()
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, proxy.url)
    assert one(engine(faulty(), tmp_path)).speech is not None
    assert proxy.paths == []


def test_flac_that_promises_hours_fills_no_memory(faulty, tmp_path):
    def hours(one: Answering) -> None:
        sound = bytearray(one.sound)
        sound[22:26] = (100_000_000).to_bytes(4, "big")
        one.handler.give(200, one.headers, bytes(sound))

    outcome = one(engine(faulty(hours), tmp_path, format="flac"))
    assert "more than 30 minutes" in str(outcome.failure)


@pytest.mark.parametrize(
    "fault",
    [
        standins.status(400, {"error": {"message": f"not with {KEY}"}}),
        standins.body(f'{{"error": "not with {KEY}"}}'.encode(), "application/json"),
    ],
)
def test_the_key_goes_into_the_header_and_into_no_message(faulty, tmp_path, monkeypatch, fault):
    monkeypatch.setenv("TTS_KEY", f" {KEY}\n")
    standin = faulty(fault)
    outcome = one(engine(standin, tmp_path, key="TTS_KEY"))
    assert standin.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert "not with …" in str(outcome.failure)


def test_the_key_is_not_in_the_representation_of_a_wire():
    assert KEY not in repr(Wire(parse_address("http://127.0.0.1:9"), KEY))


@pytest.mark.parametrize("held", [None, "", "two words", "läuft"])
def test_a_key_that_is_not_there_is_said_before_anything_is_sent(
    faulty, tmp_path, monkeypatch, held
):
    monkeypatch.delenv("TTS_KEY", raising=False)
    if held is not None:
        monkeypatch.setenv("TTS_KEY", held)
    standin = faulty()
    with pytest.raises(EngineUnavailable, match="TTS_KEY") as caught:
        engine(standin, tmp_path, key="TTS_KEY").start()
    assert not held or held not in str(caught.value)
    assert standin.paths == []


def test_nobody_at_the_address_is_said_at_the_start(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        standin = StandIn("openai", url=f"http://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(EngineUnavailable, match="is it running there"):
            engine(standin, tmp_path).start()


def test_many_chunks_that_fail_one_after_another_end_the_run(faulty, tmp_path):
    standin = faulty(standins.body(standins.HTML, "text/html"), always=True)
    asked = [request(f"Sentence number {n}.") for n in range(40)]
    with pytest.raises(EngineUnavailable, match="8 chunks one after another"):
        said(engine(standin, tmp_path), asked)
    assert len(standin.bodies) < 20


def test_a_server_that_stays_away_ends_the_run(faulty, tmp_path):
    standin = faulty(standins.status(503), always=True)
    asked = [request(f"Sentence number {n}.") for n in range(9)]
    made = engine(standin, tmp_path)
    made.patience = replace(QUICK, max_outage_s=0.3, max_rejected_attempts=1000)
    with pytest.raises(EngineUnavailable, match=r"503.*did not come back in 0 s"):
        said(made, asked)


def test_a_server_that_asks_to_come_back_after_long_ends_the_run(faulty, tmp_path):
    standin = faulty(standins.status(429, Retry_After="3600"), always=True)
    with pytest.raises(EngineUnavailable, match="429 Too Many Requests"):
        one(engine(standin, tmp_path))
    assert len(standin.bodies) == 1


def test_a_restart_in_the_middle_costs_a_wait(tmp_path):
    """It hangs up, is not ready for a while, and goes on."""
    away = threading.Event()
    looks: list[bool] = []

    def ready() -> bool:
        looks.append(True)
        if away.is_set() and len(looks) > 4:
            away.clear()
        return not away.is_set()

    def fault(number: int, body: Mapping[str, Any]) -> standins.Fault | None:
        if number == 3:
            away.set()
        return standins.status(503, {"detail": "not ready"}) if away.is_set() else None

    with serving(StandIn("nano-vllm-voxcpm", fault, ready)) as standin:
        asked = [request(f"Sentence number {n}.") for n in range(12)]
        outcomes = said(engine(standin, tmp_path), asked)
    assert all(outcome.speech for outcome in outcomes.values())
    assert sorted(standin.whole) == sorted(r.text for r in asked)


def test_a_server_that_is_not_there_for_a_while_is_waited_for(tmp_path):
    told: list[str] = []
    first, second = StandIn("openai"), StandIn("openai")
    with serving(first):
        session = engine(first, tmp_path).start(told.append)
    with contextlib.closing(session):
        session.add(request())
        while not told:
            assert session.advance() == []
        with serving(second, int(first.url.rpartition(":")[2])):
            while not (outcomes := session.advance()):
                pass
    assert [outcome.speech is not None for outcome in outcomes] == [True]
    assert re.search("is away .no connection to .*; waiting for it", told[0])
    assert len(told) == len(second.bodies) == 1


def test_a_server_that_comes_back_as_another_ends_the_run(tmp_path):
    other = threading.Event()

    def fault(number: int, body: Mapping[str, Any]) -> standins.Fault | None:
        if number != 3:
            return None
        other.set()
        return standins.status(502)

    def says() -> Mapping[str, Any]:
        return {"model_path": "/models/another"} if other.is_set() else {}

    with serving(StandIn("nano-vllm-voxcpm", fault, says=says)) as standin:
        asked = [request(f"Sentence number {n}.") for n in range(12)]
        with pytest.raises(EngineUnavailable, match=r"another.*Set another `engine.version`"):
            said(engine(standin, tmp_path), asked)


def test_a_server_that_is_loading_is_waited_for(tmp_path):
    looks: list[bool] = []

    def ready() -> bool:
        looks.append(True)
        return len(looks) > 3

    told: list[str] = []
    with serving(StandIn("nano-vllm-voxcpm", ready=ready)) as standin:
        engine(standin, tmp_path).start(told.append).close()
    assert len([line for line in told if "not ready" in line]) == 1


# -- how many at a time ----------------------------------------------------------------------------


def test_a_server_that_bears_more_is_given_more(faulty, tmp_path):
    standin = faulty()
    asked = [request(f"Sentence number {n}.") for n in range(60)]
    with contextlib.closing(engine(standin, tmp_path, slots=6).start()) as session:
        assert session.slots == 2
        for _ in speak(session, iter(asked)):
            pass
        assert session.slots == 6
        assert session.note == "6 requests at a time"
    assert standin.most <= 6


def test_what_a_server_bears_is_grown_by_one_and_halved():
    bearing = ConcurrencyLimit(16)
    for _ in range(6):
        bearing.record_success(was_full=True)
    assert bearing.limit == 8
    bearing.record_success(was_full=False)
    assert bearing.limit == 8
    bearing.lower(1.0, "429")
    assert bearing.limit == 4
    bearing.lower(1.0, "429")  # it was out at the same time
    assert bearing.limit == 4
    for _ in range(4):
        bearing.record_success(was_full=True)
    assert bearing.limit == 5
    for _ in range(200):
        bearing.record_success(was_full=True)
    assert bearing.limit == 16


def test_a_session_that_is_closed_waits_for_nobody(faulty, tmp_path):
    standin = faulty(standins.hang, always=True)
    session = engine(standin, tmp_path).start()
    session.add(request())
    while not standin.bodies:
        session.advance()
    session.close()
    assert not standin.released.is_set()


# -- a thousand ------------------------------------------------------------------------------------


def broken(one: Answering) -> None:
    """In the way that its number says."""
    ways: list[standins.Fault] = [
        standins.half,
        standins.half_chunked,
        standins.half_wav,
        standins.hang_up,
        standins.silence,
        standins.status(500),
        standins.status(503),
        standins.status(429, Retry_After="0"),
        standins.body(standins.HTML, "text/html"),
        standins.body(b""),
    ]
    ways[one.number // 2 % len(ways)](one)


@pytest.fixture
def memory() -> Iterator[list[int]]:
    """What is held each time that somebody asks."""
    tracemalloc.start()
    yield []
    tracemalloc.stop()


@pytest.mark.parametrize("many", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_of_many_requests_every_take_is_right_or_given_up_by_name(tmp_path, many, memory):
    """Half of all answers are broken, a twentieth of all in each of ten ways."""

    def fault(number: int, body: Mapping[str, Any]) -> standins.Fault | None:
        return broken if number % 2 else None

    asked = [request(f"Sentence {n}.") for n in range(many)]
    made_right, given_up = 0, 0
    with (
        serving(StandIn("openai", fault)) as standin,
        contextlib.closing(engine(standin, tmp_path).start()) as session,
    ):
        for sent, outcome in speak(session, iter(asked)):
            memory.append(tracemalloc.get_traced_memory()[0])
            if outcome.speech is None:
                assert sent.text in str(outcome.failure)
                given_up += 1
                continue
            expected = standins.speech(sent.text, 24_000, standins.conditioned({"voice": "alloy"}))
            np.testing.assert_array_equal(outcome.speech.samples, expected)
            made_right += 1
    assert made_right + given_up == many
    assert made_right > many // 2
    assert len(standin.whole) == made_right  # nothing that came whole was asked for again
    # the stand-in keeps what it was asked: a few hundred bytes each
    # how many answers are in flight at one time is chance: of few requests nothing can be said
    if many >= 1000:
        assert max(memory[-many // 4 :]) < max(memory[: many // 2]) + 10_000_000
