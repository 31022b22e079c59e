"""What a machine does: many threads' requests are one batch, and whoever asks is answered."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from narrator import __version__
from narrator.engines import Engine, Prompt, Request, Speech, machine
from narrator.engines.cluster import codec, worker_tasks
from narrator.engines.cluster.worker_tasks import Booth, Machine
from narrator.engines.registry import ENGINES
from narrator.engines.spec import EngineContext, EngineSettings, EngineSpec
from narrator.errors import EngineFailure, EngineUnavailable, NarratorError
from tests.clusters import RATE, reference, request
from tests.fakes import HumEngine, hum

SETTINGS = {"name": "hum"}


@dataclass
class FarEngine(HumEngine):
    encodes: list[str] = field(default_factory=list)
    precisely: str = "float32"

    def encode_reference(self, reference: Any) -> dict[str, np.ndarray]:
        assert not any(session.waiting for session in self.sessions)
        self.encodes.append(reference.content)
        return {"encoder": reference.samples[:3]}

    def precision(self) -> str:
        return self.precisely


def until(done: Callable[[], object]) -> None:
    end = time.monotonic() + 30
    while not done():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.001)


@pytest.fixture(autouse=True)
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What one test learns of speed is not another's."""
    monkeypatch.setenv("NARRATOR_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture(autouse=True)
def threads_end_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_tasks, "IDLE_SECONDS", 3.0)


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that nobody asks is closed at once."""
    monkeypatch.setattr(worker_tasks, "IDLE_SECONDS", 0.02)


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(32) as pool:
        yield pool


def booth_of(engine: Engine) -> Booth:
    return Booth(engine, list)


def opened(answer: bytes) -> tuple[dict[str, Any], Speech | None]:
    facts, arrays = codec.unpack_parcel(answer)
    speech = facts.get("speech")
    return facts, speech and codec.decode_speech(speech, arrays)


def at_work(booth: Booth) -> int:
    return int(booth.facts()["at_work"])


# -- a booth ---------------------------------------------------------------------------------------


def test_what_many_threads_ask_is_one_batch(threads):
    engine = FarEngine()
    engine.gate.clear()
    booth = booth_of(engine)
    asked = [threads.submit(booth.speak, f"mark {n}", request(str(n), f"{n}.")) for n in range(12)]
    until(lambda: at_work(booth) == 12 and engine.sessions and engine.sessions[0].most == 3)
    engine.gate.set()
    for n, one in enumerate(asked):
        facts, speech = opened(one.result(30))
        assert (facts["mark"], facts["slots"], facts["failure"]) == (f"mark {n}", 3, None)
        assert speech is not None
        wanted = hum(request(f"mark {n}", f"{n}."))  # by its parcel, not by the caller's key
        np.testing.assert_allclose(speech.samples, wanted.samples, atol=2.0**-23)
    assert len(engine.sessions) == 1
    assert engine.sessions[0].most == 3


def test_a_parcel_that_comes_twice_is_spoken_once(threads):
    engine = FarEngine()
    engine.gate.clear()
    booth = booth_of(engine)
    asked = [threads.submit(booth.speak, "mark", request()) for _ in range(5)]
    until(lambda: engine.requests)
    engine.gate.set()
    answers = {one.result(30) for one in asked}
    answers.add(booth.speak("mark", request()))  # after its answer, too
    assert len(answers) == 1
    assert len(engine.requests) == 1


def test_two_of_one_key_are_two_takes(threads):
    """Other clients may ask for the same step."""
    engine = FarEngine()
    engine.gate.clear()
    booth = booth_of(engine)
    asked = [threads.submit(booth.speak, mark, request("1")) for mark in ("mine", "theirs")]
    until(lambda: len(engine.requests) == 2)
    engine.gate.set()
    assert asked[0].result(30) != asked[1].result(30)


def test_a_failure_of_the_engine_is_an_answer():
    booth = booth_of(HumEngine(fault=lambda asked: EngineFailure("it lost its voice")))
    facts, speech = opened(booth.speak("mark", request()))
    assert speech is None
    assert facts["failure"] == "it lost its voice"


def test_an_engine_that_cannot_start_refuses_all_who_wait_and_begins_anew(threads):
    engine = FarEngine(start_errors=[EngineUnavailable("no room for the model")])
    engine.gate.clear()
    booth = booth_of(engine)
    asked = [threads.submit(booth.speak, f"mark {n}", request()) for n in range(5)]
    until(lambda: at_work(booth) == 5)
    engine.gate.set()
    for one in asked:
        with pytest.raises(EngineUnavailable, match="no room for the model"):
            one.result(30)
    assert not booth.busy
    assert opened(booth.speak("mark 0", request()))[1] is not None


def test_an_engine_that_dies_leaves_nobody_waiting(threads, monkeypatch):
    heard: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", heard.append)

    def fault(asked: Request) -> EngineFailure | None:
        if asked.text == "Die.":
            raise ZeroDivisionError("a fault of the engine's own")
        return None

    engine = FarEngine(fault=fault)
    engine.gate.clear()
    booth = booth_of(engine)
    asked = [threads.submit(booth.speak, f"mark {n}", request(text="Die.")) for n in range(5)]
    until(lambda: at_work(booth) == 5 and len(engine.requests) == 3)
    engine.gate.set()
    for one in asked:
        with pytest.raises(EngineUnavailable, match="its engine's thread ended"):
            one.result(30)
    until(lambda: heard)
    assert [one.exc_type for one in heard] == [ZeroDivisionError]
    assert booth.facts()["slots"] == 0
    assert opened(booth.speak("mark", request()))[1] is not None
    assert engine.sessions[0].closed


def test_an_idle_session_is_closed_and_opened_again(idle):
    engine = HumEngine()
    booth = booth_of(engine)
    booth.speak("1", request())
    until(lambda: engine.sessions[0].closed)
    until(lambda: booth.facts()["slots"] == 0)
    assert engine.loaded
    booth.speak("2", request())
    assert len(engine.sessions) == 2


def test_a_booth_says_how_it_runs(threads):
    engine = FarEngine()
    engine.gate.clear()
    booth = booth_of(engine)
    assert (booth.facts()["slots"], booth.facts()["silent"]) == (0, 0.0)
    asked = threads.submit(booth.speak, "mark", request())
    until(lambda: engine.requests)
    facts = booth.facts()
    assert (facts["engine"], facts["slots"], facts["at_work"]) == ("hum", 3, 1)
    engine.gate.set()
    asked.result(30)
    until(lambda: at_work(booth) == 0)


def test_an_engine_that_does_not_come_back_is_silent(threads):
    stuck, free = threading.Event(), threading.Event()

    def fault(asked: Request) -> EngineFailure | None:
        stuck.set()
        assert free.wait(30)
        return None

    booth = booth_of(HumEngine(fault=fault))
    asked = threads.submit(booth.speak, "mark", request())
    assert stuck.wait(30)
    until(lambda: booth.facts()["silent"] > 0.1)
    free.set()
    asked.result(30)


# -- speed -----------------------------------------------------------------------------------------


def test_speed_is_learnt_with_all_slots_full_and_kept(idle, threads, monkeypatch):
    monkeypatch.setattr(worker_tasks, "MIN_MEASURED_SECONDS", 1e-4)
    booth = booth_of(HumEngine())
    assert booth.facts()["speed"] is None
    list(threads.map(lambda n: booth.speak(f"{n}", request(str(n))), range(60)))
    until(lambda: booth.facts()["slots"] == 0)  # it has left its session, and kept it
    known = booth.facts()["speed"]
    assert known > 0
    until(lambda: booth_of(HumEngine()).facts()["speed"] == known)
    assert booth_of(HumEngine(version=2)).facts()["speed"] is None


def test_what_is_spoken_with_slots_to_spare_says_nothing_of_speed(monkeypatch):
    monkeypatch.setattr(worker_tasks, "MIN_MEASURED_SECONDS", 1e-9)
    booth = booth_of(HumEngine())
    for n in range(5):
        booth.speak(str(n), request())
    assert booth.facts()["speed"] is None


@pytest.mark.parametrize("kept", ["[]", '{"x": true}', "no JSON", '{"x": -1}'])
def test_a_file_of_speeds_that_is_none_is_no_trouble(library, kept):
    (library / "speeds.json").write_text(kept)
    assert booth_of(HumEngine()).facts()["speed"] is None


# -- a machine -------------------------------------------------------------------------------------


class HumSettings(EngineSettings):
    slots: int = 3
    model: str = "auto"
    version: int = 1


class PlainSettings(EngineSettings):
    """Of an engine that is not told its slots."""


class LoudSettings(HumSettings):
    process: str = "auto"


@dataclass
class There:
    """This machine, with engines that hum."""

    machine: Machine
    engines: list[FarEngine] = field(default_factory=list)
    made: list[EngineSettings] = field(default_factory=list)

    def make(
        self, settings: EngineSettings, context: EngineContext, tell: Callable[[str], None]
    ) -> Engine:
        if isinstance(settings, PlainSettings):
            self.engines.append(FarEngine(name=settings.name, slots=3))
            return self.engines[-1]
        assert isinstance(settings, HumSettings)
        if settings.version > 90:
            raise EngineUnavailable("no such model here")
        self.made.append(settings)
        self.engines.append(
            FarEngine(name=settings.name, slots=settings.slots, version=settings.version)
        )
        return self.engines[-1]


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> There:
    found = There(Machine())

    class HumSpec(EngineSpec):
        def __init__(self, name: str, settings: type[EngineSettings]) -> None:
            self.name, self.settings = name, settings

        def make(
            self, settings: EngineSettings, context: EngineContext, tell: Callable[[str], None]
        ) -> Engine:
            return found.make(settings, context, tell)

        def sample_rate(self, settings: EngineSettings) -> int:
            return RATE

    settings = {"hum": HumSettings, "loud": LoudSettings, "plain": PlainSettings}
    for name, model in settings.items():
        monkeypatch.setitem(ENGINES, name, HumSpec(name, model))
    monkeypatch.setattr(worker_tasks, "MACHINE", found.machine)
    return found


def asked(task: Callable[..., bytes], *given: Any, **facts: Any) -> dict[str, Any]:
    parcel = {
        "settings": SETTINGS,
        "narrator": __version__,
        "form": codec.FORMAT_VERSION,
        **facts,
    }
    return opened(task(codec.pack_parcel(parcel), *given))[0]


def test_a_machine_that_is_met_says_what_it_has_and_loads_nothing(there):
    said = asked(worker_tasks.meet)
    assert said == {
        "narrator": __version__, "form": codec.FORMAT_VERSION,
        "identity": {"name": "hum", "version": 1},
        "memory": {}, "precision": "float32", "rate": RATE,
    }  # fmt: skip
    assert not there.engines[0].sessions


def test_it_refuses_nobody_for_what_another_would_not_have(there):
    there.machine.local_settings = {"version": 7}
    said = asked(worker_tasks.meet)
    assert said["identity"] == {"name": "hum", "version": 7}


@pytest.mark.parametrize("other", [{"narrator": "0.1"}, {"form": 0}])
def test_another_narrator_gets_no_more_than_the_version(there, other):
    assert asked(worker_tasks.meet, **other) == {
        "narrator": __version__,
        "form": codec.FORMAT_VERSION,
    }
    assert not there.made


@pytest.mark.parametrize("task", [worker_tasks.meet, worker_tasks.ready])
def test_an_engine_that_is_not_here_is_refused_in_words(there, task):
    assert asked(task, settings={"name": "sing"}) == {"refused": "no engine sing here"}
    said = asked(task, settings={"name": "hum", "version": 99})
    assert said == {"refused": "no such model here"}


def test_what_this_machine_has_of_its_own_stands_over_what_is_asked(there):
    there.machine.local_settings = {"model": "/models/mine", "slots": 5, "unheard": 1}
    settings = {"name": "hum", "model": "org/model", "slots": 2, "version": 4}
    assert asked(worker_tasks.ready, settings=settings) == {"slots": 5}
    (made,) = there.made
    assert isinstance(made, HumSettings)
    assert (made.model, made.slots, made.version) == ("/models/mine", 5, 4)


def test_an_engine_that_is_not_told_its_slots_has_no_more_than_the_machine_says(there):
    there.machine.local_settings = {"slots": 2}
    assert asked(worker_tasks.ready, settings={"name": "plain"}) == {"slots": 2}
    assert there.engines[0].slots == 3


def test_a_model_that_can_die_has_a_process_of_its_own(there):
    asked(worker_tasks.meet, settings={"name": "loud", "process": "here"})
    there.machine.local_settings = {"process": "here"}
    asked(worker_tasks.meet, settings={"name": "loud", "process": "own", "version": 2})
    assert [made.process for made in there.made if isinstance(made, LoudSettings)] == [
        "own",
        "here",
    ]


def test_engines_of_the_same_settings_are_one(there):
    asked(worker_tasks.meet)
    asked(worker_tasks.ready)
    asked(worker_tasks.meet, settings={"name": "hum", "version": 2})
    assert len(there.engines) == 2


def test_an_engine_gives_back_memory_for_another_with_its_session_closed(there, monkeypatch):
    monkeypatch.setattr(machine, "memory", lambda: machine.Memory(8, 1))
    asked(worker_tasks.ready)
    (first,) = there.engines
    second = {"name": "hum", "version": 2}
    asked(worker_tasks.meet, settings=second)
    there.engines[1].size = 4
    asked(worker_tasks.ready, settings=second)
    assert first.sessions[0].closed
    assert not first.loaded
    asked(worker_tasks.ready)
    assert first.loaded
    assert all(booth.close_if_idle() for booth in there.machine._booths.values())


def test_an_engine_that_is_at_work_keeps_its_memory(there, threads, monkeypatch):
    monkeypatch.setattr(machine, "memory", lambda: machine.Memory(8, 1))
    asked(worker_tasks.meet)
    (first,) = there.engines
    first.gate.clear()
    saying = say(threads, request())
    until(lambda: first.requests)
    second = {"name": "hum", "version": 2}
    asked(worker_tasks.meet, settings=second)
    there.engines[1].size = 4
    asked(worker_tasks.ready, settings=second)
    assert first.loaded
    assert not first.sessions[0].closed
    first.gate.set()
    assert opened(saying.result(30))[1] is not None


def say(
    threads: ThreadPoolExecutor, one: Request, made: str | None = None, held: str | None = None
) -> Future[bytes]:
    return threads.submit(worker_tasks.say, codec.encode_request(one, SETTINGS, made), held)


def test_a_request_that_its_engine_cannot_speak_is_refused(there, threads):
    asked(worker_tasks.meet)
    there.engines[0].start_errors = [EngineUnavailable("no room for the model")]
    facts, _ = opened(say(threads, request()).result(30))
    assert facts == {"refused": "no room for the model"}


def test_a_reference_that_is_held_goes_to_the_engine(there, threads):
    clip = reference()
    assert worker_tasks.hold(codec.encode_reference(clip)) == clip.content
    say(threads, request(reference=clip), held=clip.content).result(30)
    (spoken,) = there.engines[0].requests
    assert spoken.reference is not None
    assert np.array_equal(spoken.reference.samples, clip.samples)


def test_a_reference_that_is_not_here_is_said_to_lack(there, threads):
    facts, _ = opened(say(threads, request(reference=reference()), held="clip").result(30))
    assert facts == {"lacks": "reference"}


def test_references_that_were_used_last_are_kept(there, monkeypatch):
    parcel = codec.encode_reference(reference("1"))
    there.machine.references = worker_tasks._ByteCache(int(2.5 * len(parcel)))
    for content in ("1", "2"):
        worker_tasks.hold(codec.encode_reference(reference(content)))
    assert there.machine.references.get("1")
    worker_tasks.hold(codec.encode_reference(reference("3")))
    assert [content for content in "123" if there.machine.references.get(content)] == ["1", "3"]


def after(speech: Speech) -> Request:
    return request("2", prompt=Prompt("Before that.", lambda: speech.samples, speech.state))


def test_a_request_goes_on_from_a_take_that_was_made_here(there, threads):
    facts, speech = opened(say(threads, request()).result(30))
    assert speech is not None
    assert opened(say(threads, after(speech), facts["mark"]).result(30))[1] is not None
    prompt = there.engines[0].requests[-1].prompt
    assert prompt is not None
    assert np.array_equal(prompt.state, speech.state)


def test_a_prompt_that_is_not_here_is_said_to_lack(there, threads):
    facts, _ = opened(say(threads, after(hum(request())), "nobody's mark").result(30))
    assert facts == {"lacks": "prompt"}
    assert not there.engines[0].requests


def test_a_clip_is_encoded_in_the_engines_own_thread(there, threads):
    clip = reference()
    held = worker_tasks.hold(codec.encode_reference(clip))
    parcel = codec.pack_parcel({"settings": SETTINGS})
    answers = list(threads.map(lambda _: worker_tasks.encode(parcel, held), range(3)))
    facts, arrays = codec.unpack_parcel(answers[0])
    assert facts == {"names": ["encoder"]}
    assert np.array_equal(arrays["latents0"], clip.samples[:3])
    assert there.engines[0].encodes == [clip.content]


def test_a_clip_that_is_not_here_is_not_encoded(there):
    assert asked(worker_tasks.encode, "clip") == {"lacks": "reference"}


def test_a_clip_that_cannot_be_encoded_is_refused_in_words(there, monkeypatch):
    def encoded(engine: FarEngine, clip: Any) -> dict[str, np.ndarray]:
        raise EngineFailure("the clip is too short")

    monkeypatch.setattr(FarEngine, "encode_reference", encoded)
    held = worker_tasks.hold(codec.encode_reference(reference()))
    assert asked(worker_tasks.encode, held) == {"refused": "the clip is too short"}


def test_a_machine_says_who_it_is(there):
    asked(worker_tasks.ready)
    facts = there.machine.facts()
    assert facts["narrator"] == __version__
    assert facts["system"]
    assert [booth["engine"] for booth in facts["booths"]] == ["hum"]


def test_a_damaged_parcel_is_not_answered(there):
    with pytest.raises(codec.DamagedParcel):
        worker_tasks.say(codec.encode_request(request(), SETTINGS)[:-1], None)
    assert not issubclass(codec.DamagedParcel, NarratorError)
