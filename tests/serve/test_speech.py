"""What other programs ask and hear."""

from __future__ import annotations

import base64
import contextlib
import http.client
import io
import json
import re
import struct
import threading
import time
import urllib.request
import wave
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from narrator.cast import presets
from narrator.cast.voicebook import OPENAI_NAMES
from narrator.engines import Request, SilentPart
from narrator.errors import EngineFailure
from narrator.serve.answering import TakeQueue
from narrator.text.normalize import Lexicon, LexiconEntry
from narrator.web import bodies
from tests import serving
from tests.effort import quick
from tests.fakes import RATE, HumEngine
from tests.owners import GatedEngine
from tests.serving import SAID, SPEECH, Served, heard
from tests.studios import Visitor

NIGHTS = ("first", "second", "third", "fourth")
LONG = " ".join(f"On the {n} night {SAID.lower()} Nobody had asked for it." for n in NIGHTS)
"""Two chunks."""


# -- formats ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("format", "kind", "rate"),
    [
        ("mp3", "audio/mpeg", 22050),
        ("opus", "audio/ogg", 48000),
        ("aac", "audio/aac", 22050),
        ("flac", "audio/flac", 22050),
        ("wav", "audio/wav", 22050),
        ("pcm", "audio/pcm", 24000),
    ],
)
def test_each_format_has_all_of_the_sound(
    shared: Served, format: str, kind: str, rate: int
) -> None:
    plain = heard(shared.say(response_format="pcm").data, "pcm")
    answer = shared.say(response_format=format)
    assert (answer.status, answer.headers["content-type"]) == (200, kind)
    found, seconds, level = heard(answer.data, format)
    assert found == rate
    assert seconds == pytest.approx(plain[1], abs=0.15)  # what coders put before and after
    assert level == pytest.approx(plain[2], rel=0.1)


def test_mp3_is_what_comes_unless_another_format_is_asked_for(shared: Served) -> None:
    assert shared.say().headers["content-type"] == "audio/mpeg"


def test_a_short_text_comes_whole_with_its_length(shared: Served) -> None:
    answer = shared.say(response_format="wav")
    assert int(answer.headers["content-length"]) == len(answer.data)
    with wave.open(io.BytesIO(answer.data)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (22050, 1, 2)
        assert file.getnframes() * 2 + 44 == len(answer.data)


def test_a_long_one_comes_in_pieces_behind_a_header_without_a_length(shared: Served) -> None:
    answer = shared.say(LONG, response_format="wav")
    assert "content-length" not in answer.headers
    assert answer.headers["transfer-encoding"] == "chunked"
    assert struct.unpack("<I", answer.data[40:44]) == (0xFFFFFFFF,)


@pytest.mark.parametrize("format", quick(["mp3", "opus", "flac", "wav", "aac"], "mp3", "wav"))
def test_sound_leaves_while_the_rest_is_not_spoken_yet(format: str) -> None:
    """Of a text of which the engine holds all but its first chunk back."""
    engine = GatedEngine(free=1)
    with (
        serving.opened(engine) as served,
        contextlib.closing(begun(served, response_format=format)) as wire,
    ):
        answer = wire.getresponse()
        begin = answer.read1(1 << 20)
        while len(begin) < 8_000:  # of 12 s
            begin += answer.read1(1 << 20)
        engine.gate.set()
        whole = begin + answer.read()
    assert heard(whole, format)[1] > 20


def test_events_carry_the_same_sound(shared: Served) -> None:
    plain = shared.say(LONG, response_format="pcm").data
    answer = shared.say(LONG, response_format="pcm", stream_format="sse")
    assert answer.headers["content-type"] == "text/event-stream"
    rows = answer.data.decode().split("\n\n")
    events = [json.loads(row.removeprefix("data: ")) for row in rows if row]
    assert {event["type"] for event in events[:-1]} == {"speech.audio.delta"}
    assert b"".join(base64.b64decode(event["audio"]) for event in events[:-1]) == plain
    assert events[-1]["type"] == "speech.audio.done"
    assert events[-1]["usage"]["input_tokens"] == len(LONG)


@pytest.mark.parametrize("speed", [0.25, 0.5, 1, 1.5, 4.0])
def test_speed_shortens_it_at_the_same_rate(shared: Served, speed: float) -> None:
    usual = heard(shared.say(response_format="pcm").data, "pcm")[1]
    found = heard(shared.say(response_format="pcm", speed=speed).data, "pcm")[1]
    assert found == pytest.approx(usual / speed, abs=0.02)


# -- voices ----------------------------------------------------------------------------------------


def test_the_names_that_other_tools_have_are_voices(shared: Served) -> None:
    listed = shared.client.get("/v1/audio/voices").json
    assert set(OPENAI_NAMES) <= set(listed["voices"])
    assert [row["id"] for row in listed["data"]] == listed["voices"]
    sounds = {name: shared.say(voice=name, response_format="pcm").data for name in ("nova", "onyx")}
    assert sounds["nova"] != sounds["onyx"]
    assert shared.say(voice={"id": "nova"}, response_format="pcm").data == sounds["nova"]
    assert shared.say(voice="Nova", response_format="wav").status == 200


def test_the_models_are_the_engine_and_openai_s_names(shared: Served) -> None:
    rows = shared.client.get("/v1/models").json["data"]
    assert [row["id"] for row in rows][:2] == ["draft", "tts-1"]
    assert shared.client.get("/v1/models/tts-1-hd").json["object"] == "model"
    assert shared.client.get("/v1/models/gpt-5").json["error"]["code"] == "model_not_found"
    assert shared.say(model="gpt-4o-mini-tts-2025-12-15").status == 200


def test_a_language_may_be_asked_for(shared: Served) -> None:
    english = shared.say("Am 3. Mai", response_format="pcm").data
    german = shared.say("Am 3. Mai", response_format="pcm", language="de").data
    assert english != german


def test_instructions_are_the_style_of_every_chunk() -> None:
    engine = HumEngine()
    with serving.opened(engine) as served:
        assert served.say(LONG, model="hum", instructions=" In a\nwhisper. ").status == 200
        assert {request.style for request in engine.requests} == {"In a whisper."}
        assert {request.prompt for request in engine.requests} == {None}
        engine.requests.clear()
        assert served.say(model="hum", instructions="None").status == 200
        assert [request.style for request in engine.requests] == [None]


def test_fields_of_other_servers_are_named_and_left_alone(shared: Served) -> None:
    answer = shared.say(stream=True, lang_code="a", **{"evil\r\nx": 1})
    assert answer.status == 200
    assert answer.headers["x-narrator-ignored"] == "lang_code, stream"


# -- requests as they are made ---------------------------------------------------------------------


def test_home_assistant_s_custom_integration_is_answered(shared: Served) -> None:
    """sfortis/openai_tts: urllib, an API key that means nothing here, its extra fields."""
    asked = {
        "model": "tts-1", "input": SAID, "voice": "shimmer", "response_format": "mp3",
        "speed": 1.0, "instructions": "Speak softly.", "chime": False,
    }  # fmt: skip
    request = urllib.request.Request(
        f"http://127.0.0.1:{shared.place.port}{SPEECH}",
        data=json.dumps(asked).encode(),
        headers={
            "Content-Type": "application/json",
            "User-Agent": "HomeAssistant-OpenAI-TTS",
            "Authorization": "Bearer sk-nothing",
        },
        method="POST",
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == 200
        assert heard(answer.read(), "mp3")[1] > 1


def test_home_assistant_s_own_integration_is_answered(shared: Served) -> None:
    """openai_conversation: `str(None)` for instructions that were not set, a streamed answer."""
    for format in ("mp3", "wav"):
        answer = shared.say(
            model="gpt-4o-mini-tts", voice="marin", instructions="None", speed=1.0,
            response_format=format, headers={"accept": "application/octet-stream"},
        )  # fmt: skip
        assert answer.status == 200


def test_an_e_reader_asks_for_page_after_page_on_one_connection(shared: Served) -> None:
    """As OpenReader and its like do: voices first, then sentence by sentence, no speed."""
    wire = http.client.HTTPConnection("127.0.0.1", shared.place.port, timeout=30)
    with contextlib.closing(wire):
        wire.request("GET", "/v1/audio/voices", headers={"authorization": "Bearer none"})
        voices = json.loads(wire.getresponse().read())["voices"]
        assert all(isinstance(name, str) for name in voices)
        for text in ("“It is late,” she said.", "He did not answer.\nThe lamp went out."):
            asked = {"model": "tts-1", "voice": voices[0], "input": text, "response_format": "mp3"}
            wire.request("POST", SPEECH, json.dumps(asked), {"content-type": "application/json"})
            answer = wire.getresponse()
            assert heard(answer.read(), "mp3")[1] > 1


# -- what is wrong ---------------------------------------------------------------------------------

WRONG: list[tuple[dict[str, Any], int, str | None, str | None]] = [
    ({"model": None}, 400, "model", "missing_required_parameter"),
    ({"model": "whisper-1"}, 404, "model", "model_not_found"),
    ({"model": 1}, 400, "model", "invalid_type"),
    ({"text": ""}, 400, "input", None),
    ({"text": " … \n"}, 400, "input", None),
    ({"text": "x" * 20_001}, 400, "input", "string_above_max_length"),
    ({"text": "a \ud800 b"}, 400, "input", None),
    ({"voice": None}, 400, "voice", "missing_required_parameter"),
    ({"voice": {}}, 400, "voice", "missing_required_parameter"),
    ({"voice": 7}, 400, "voice", "invalid_type"),
    ({"voice": "x" * 150}, 404, "voice", "voice_not_found"),
    ({"response_format": "ogg"}, 400, "response_format", "invalid_value"),
    ({"response_format": ["mp3"]}, 400, "response_format", "invalid_value"),
    ({"speed": 0.2}, 400, "speed", "invalid_value"),
    ({"speed": 4.1}, 400, "speed", "invalid_value"),
    ({"speed": "1"}, 400, "speed", "invalid_value"),
    ({"speed": True}, 400, "speed", "invalid_value"),
    ({"speed": float("nan")}, 400, "speed", "invalid_value"),
    ({"speed": 10**400}, 400, "speed", "invalid_value"),
    ({"instructions": "x" * 4097}, 400, "instructions", "string_above_max_length"),
    ({"stream_format": "chunks"}, 400, "stream_format", "invalid_value"),
    ({"language": "klingonish!"}, 400, "language", "invalid_value"),
    ({"language": "ja"}, 400, "language", "invalid_value"),
]


@pytest.mark.parametrize(("fields", "status", "param", "code"), WRONG, ids=str)
def test_what_is_wrong_is_said_as_openai_says_it(
    shared: Served, fields: dict[str, Any], status: int, param: str | None, code: str | None
) -> None:
    answer = shared.say(**{"text": SAID, **fields})
    error = answer.json["error"]
    assert (answer.status, error["param"], error["code"]) == (status, param, code)
    assert error["type"] == "invalid_request_error"
    assert "\n" not in error["message"]


@pytest.mark.parametrize("sent", [b"", b"{", b"[]", b'"x"', b"\xff\xfe", b"[" * 100_000])
def test_nonsense_is_refused(shared: Served, sent: bytes) -> None:
    answer = shared.client.ask("POST", SPEECH, sent, content_type="application/json")
    assert answer.status == 400
    assert answer.json["error"]["type"] == "invalid_request_error"


def test_too_many_bytes_are_refused_when_they_are_announced(shared: Served) -> None:
    wire = http.client.HTTPConnection("127.0.0.1", shared.place.port, timeout=20)
    with contextlib.closing(wire):
        wire.putrequest("POST", SPEECH)
        wire.putheader("content-type", "application/json")
        wire.putheader("content-length", str(bodies.MAX_JSON_BYTES + 1))
        wire.endheaders()
        answer = wire.getresponse()
        assert (answer.status, json.loads(answer.read())["error"]["param"]) == (413, None)


def test_a_text_of_too_much_speech_is_refused_before_any_is_spoken() -> None:
    """Digits are few characters and much speech."""
    engine = HumEngine()
    with serving.opened(engine) as served:
        error = served.say("7" * 20_000, model="hum").json["error"]
    assert (error["type"], error["param"]) == ("invalid_request_error", "input")
    assert error["code"] == "string_above_max_length"
    assert error["message"].startswith("`input` would be more than 30 minutes of speech")
    assert not engine.requests


@pytest.mark.parametrize(("speed", "status"), [(0.25, 400), (1.0, 200), (4.0, 200)])
def test_slow_speech_is_longer(speed: float, status: int) -> None:
    with serving.opened(HumEngine(), max_speech_seconds=6.0) as served:
        assert served.say(model="hum", speed=speed).status == status


def test_the_length_of_speech_can_be_set(narrator: Callable[..., tuple[int, str, str]]) -> None:
    """Whatever may be wrong, it is another option's."""
    code, _, said = narrator("serve", "--draft", "--minutes", "1441")
    assert (code, "'--minutes'" in said) == (2, True)
    code, _, said = narrator("serve", "--draft", "--minutes", "5", "--cors", "nonsense")
    assert (code, "'--minutes'" in said) == (2, False)


def test_texts_that_are_prepared_have_a_place() -> None:
    with serving.opened(HumEngine(), most=2) as served:
        served.server.preparing_count = 2
        assert served.say(model="hum").status == 429
        served.server.preparing_count = 1
        assert served.say(model="hum").status == 200


def test_what_a_form_could_send_is_not_taken(shared: Served) -> None:
    assert shared.client.post(SPEECH, {}, content_type="text/plain").status == 415


def test_a_media_type_may_be_in_capitals(shared: Served) -> None:
    assert shared.client.post(SPEECH, {}, content_type="Application/JSON").status == 400


def test_another_address_and_method_are_none_of_ours(shared: Served) -> None:
    assert shared.client.get("/v1/chat/completions").json["error"]["message"]
    assert shared.client.get("/v1/chat/completions").status == 404
    assert shared.client.get(SPEECH).status == 405


def test_what_cannot_be_spoken_is_an_error_and_no_sound() -> None:
    failing = HumEngine(fault=lambda request: EngineFailure("it is hoarse"))
    with serving.opened(failing) as served:
        answer = served.say(model="hum")
        assert answer.status == 500
        assert "hoarse" in answer.json["error"]["message"]
        assert answer.json["error"]["type"] == "server_error"
        assert served.server.service.count == 0


class HalfDeaf(HumEngine):
    """Has no sound for “ja”."""

    def can_say(self, text: str, language: str, pronunciations: Mapping[str, str]) -> bool:
        return bool(pronunciations) or text.strip(" .").casefold() != "ja"

    def silent_parts(
        self, text: str, language: str, pronunciations: Mapping[str, str]
    ) -> list[SilentPart]:
        return [SilentPart(part) for part in re.findall("jä", text)]


def test_a_text_without_a_sound_is_refused() -> None:
    with serving.opened(HalfDeaf()) as served:
        answer = served.say("Ja.", model="hum")
    assert (answer.status, answer.json["error"]["param"]) == (400, "input")


def test_a_text_that_the_lexicon_pronounces_has_a_sound() -> None:
    with serving.opened(HalfDeaf()) as served:
        served.server.lexicon = Lexicon([LexiconEntry(word="Ja", ipa="jaː")])
        assert served.say("Ja.", model="hum").status == 200


def test_parts_without_a_sound_are_named() -> None:
    with serving.opened(HalfDeaf()) as served:
        answer = served.say("Well, jä, it is so.", model="hum")
    assert (answer.status, answer.headers["x-narrator-unspoken"]) == (200, "j%C3%A4")


def test_an_answer_that_breaks_off_is_never_whole() -> None:
    def fault(request: Request) -> EngineFailure | None:
        return EngineFailure("it is hoarse") if "fourth" in request.text else None

    with serving.opened(HumEngine(slots=1, fault=fault)) as served:
        with pytest.raises(http.client.IncompleteRead):
            served.say(LONG, model="hum", response_format="pcm")
        assert "broken off: this could not be spoken: engine: it is hoarse" in last(served)


def test_an_error_within_events_is_an_event() -> None:
    def fault(request: Request) -> EngineFailure | None:
        return EngineFailure("it is hoarse") if "fourth" in request.text else None

    with serving.opened(HumEngine(slots=1, fault=fault)) as served:
        asked = begun(served, response_format="pcm", stream_format="sse")
        with contextlib.closing(asked) as wire, pytest.raises(http.client.IncompleteRead) as broken:
            wire.getresponse().read()
    *_, event, rest = broken.value.partial.decode().split("\n\n")
    error = json.loads(event.removeprefix("data: "))
    assert (error["type"], rest) == ("error", "")
    assert "hoarse" in error["error"]["message"]


def begun(served: Served, text: str = LONG, **fields: str) -> http.client.HTTPConnection:
    """A request whose answer nobody has read yet."""
    wire = http.client.HTTPConnection("127.0.0.1", served.place.port, timeout=20)
    asked = json.dumps({"model": "hum", "input": text, "voice": "ann", **fields})
    wire.request("POST", SPEECH, asked, {"content-type": "application/json"})
    return wire


def until(there: Callable[[], object], limit: float = 20) -> None:
    end = time.monotonic() + limit
    while not there():
        assert time.monotonic() < end
        time.sleep(0.005)


def last(served: Served) -> str:
    """What was told of the last request, once it was."""
    until(lambda: served.lines)
    return served.lines[-1]


def test_what_is_told_of_a_request_has_nothing_of_its_text(shared: Served) -> None:
    shared.lines.clear()
    answer = shared.say("Xylophones at dawn.", voice="nova", response_format="wav")
    line = last(shared)
    assert line.startswith(f"{answer.headers['x-request-id']} 200 nova wav: 19 characters, ")
    assert "ylophone" not in line


# -- many ------------------------------------------------------------------------------------------


def test_who_comes_to_a_full_queue_is_asked_back() -> None:
    engine = GatedEngine()
    with serving.opened(engine, most=1) as served:
        with contextlib.closing(begun(served)) as wire:
            until(lambda: engine.requests)
            answer = served.say(model="hum")
            assert answer.status == 429
            assert int(answer.headers["retry-after"]) >= 1
            assert answer.json["error"]["code"] == "rate_limit_exceeded"
            engine.gate.set()
            assert wire.getresponse().read()
        assert served.say(model="hum").status == 200


def test_who_has_all_of_it_and_goes_did_not_leave(
    shared: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared.lines.clear()
    monkeypatch.setattr(TakeQueue, "ended", lambda hearing, error: None)  # they are faster than it
    with contextlib.closing(begun(shared, "Hi.", model="tts-1", voice="ada")) as wire:
        answer = wire.getresponse()
        assert len(answer.read()) == int(answer.headers["content-length"])
    assert "gone" not in last(shared)


def test_who_leaves_frees_the_place_and_is_spoken_to_no_longer() -> None:
    engine = GatedEngine(slots=1)
    with serving.opened(engine, most=1) as served:
        wire = begun(served)
        until(lambda: engine.requests)
        wire.close()
        line = last(served)
        assert line.endswith("; who asked has gone")
        assert " 499 ann mp3: " in line
        assert served.server.service.count == 0
        engine.gate.set()
        assert served.say("Next one, please.", model="hum").status == 200
        texts = [request.text for request in engine.requests]
        assert len(texts) == 2  # what was in the engine when the first one left
        assert texts[-1] == "Next one, please."


def test_one_who_takes_nothing_is_spoken_to_a_little_ahead_and_then_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("narrator.serve.answering.SEND_TIMEOUT", 0.3)
    engine = HumEngine(continues=False)
    with serving.opened(engine, max_characters=100_000) as served:
        with contextlib.closing(begun(served, LONG * 30, response_format="flac")):
            assert last(served).endswith("; broken off: nobody takes it")
        assert served.server.service.count == 0
    assert len(engine.requests) < 50  # of 60


def test_many_at_once_each_hear_their_own(shared: Served) -> None:
    alone = {n: shared.say(f"This is number {n}.", response_format="pcm").data for n in range(4)}
    found: dict[int, list[bytes]] = {n: [] for n in alone}

    def ask(n: int) -> None:
        text, visitor = f"This is number {n}.", Visitor(shared.place.port)
        asked = {"model": "tts-1", "input": text, "voice": "alloy", "response_format": "pcm"}
        found[n].append(visitor.post(SPEECH, asked, origin=None).data)

    threads = [threading.Thread(target=ask, args=[n % 4]) for n in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert all(len(one) == 6 and set(one) == {alone[n]} for n, one in found.items())


def test_a_server_that_is_about_to_stop_takes_no_more(shared: Served) -> None:
    shared.server.is_stopping = True
    try:
        answer = shared.say()
        assert (answer.status, answer.json["error"]["code"]) == (503, "stopping")
        assert shared.client.get("/health").json["status"] == "stopping"
    finally:
        shared.server.is_stopping = False


def test_a_preset_that_is_damaged_is_said(shared: Served) -> None:
    path = presets.folder(None) / "torn.voice"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"PK")
    try:
        answer = shared.say(voice="torn")
        assert answer.status == 400
        assert "not a voice preset that can be used" in answer.json["error"]["message"]
    finally:
        path.unlink()


def test_the_rate_is_the_engine_s() -> None:
    with serving.opened(HumEngine()) as served:
        assert heard(served.say(model="hum", response_format="wav").data, "wav")[0] == RATE
