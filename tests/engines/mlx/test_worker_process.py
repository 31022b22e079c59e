"""The model in another process: what it is sent, what comes back, and every way in which it dies.

The other process is a thread here that hums, and dies where it is told to; real ones are in
voxcpm2/test_engine.py.
"""

from __future__ import annotations

import functools
import gc
import operator
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, Pipe
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, Literal

import numpy as np
import pytest

from narrator.engines import Outcome, Prompt, Request, Speech, speak
from narrator.engines.mlx import worker, worker_process
from narrator.engines.mlx.loaded_model import CorruptProcess, Loading
from narrator.engines.mlx.worker_process import (
    ModelProcess,
    ModelProcesses,
    ProcessDied,
    ProcessSession,
)
from narrator.engines.voice import Reference, Voice
from narrator.engines.voxcpm2.loaded_model import LoadingVoxCPM2
from narrator.engines.voxcpm2.settings import VoxCPM2Settings
from narrator.errors import EngineFailure, EngineUnavailable, NarratorError, StorageError
from tests import forks
from tests.engines import builders

When = Literal["before", "after", "within", "hangs"]
"""When a process dies of a message: before it does what it says, then, or within its answer."""
LOADING = LoadingVoxCPM2("m", Path("m"), VoxCPM2Settings(), "w", Path("voices"))


def hum(request: Request, patches: int = 3) -> Speech:
    draw = np.random.default_rng(request.seed + len(request.text) + 100 * request.attempt)
    state = draw.normal(size=(patches, 4, 16)).astype(np.float32)
    return Speech(draw.normal(size=8 * patches).astype(np.float32), state, patches=patches)


@dataclass
class Machine:
    """What the processes of a test have in common."""

    die: Callable[[int, str], When | None] = lambda number, name: None
    """At which message of all, from 1, and what its name is."""
    fault: Callable[[Request], Outcome | NarratorError | None] = lambda request: None
    poison: frozenset[str] = frozenset()
    """Texts that a process dies of."""
    spoil: Callable[[Speech], Speech] = lambda speech: speech
    spoiled: int = 0
    """Takes so far; the first alone is spoilt."""
    messages: list[str] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    ran: list[int] = field(default_factory=list)
    processes: list[Thread] = field(default_factory=list)


@dataclass
class Hummed:
    """A session in the thread; two slots, and two turns to every request."""

    waiting: list[tuple[Request, bool]] = field(default_factory=list)
    turn: int = 0


class Hummer:
    """What `worker.Answering` is in a process."""

    def __init__(self, machine: Machine, tell: Callable[[str], None]) -> None:
        self.machine, self.tell = machine, tell
        self.sessions: dict[int, Hummed] = {}

    def load(self, what: Loading) -> None:
        self.tell(f"loading {what.spec}")

    def encoded(self, reference: Reference) -> dict[str, np.ndarray]:
        return {"e1": reference.samples}

    def start(self, number: int, memory: Path, ran: int) -> Any:
        self.machine.ran.append(ran)
        self.sessions[number] = Hummed()
        return None, (2, 0.5, "2 slots")

    def add(self, number: int, request: Request, suspect: bool) -> Any:
        fault = self.machine.fault(request)
        if isinstance(fault, NarratorError):
            raise fault
        self.machine.requests.append(request)
        self.sessions[number].waiting.append((request, suspect))
        return None, (2, 0.5, "2 slots")

    def advance(self, number: int) -> Any:
        session, machine = self.sessions[number], self.machine
        alone = any(suspect for _, suspect in session.waiting)
        running = session.waiting[: 1 if alone else 2]
        if any(request.text in machine.poison for request, _ in running):
            raise Killed
        session.turn += 1
        if session.turn % 2 or not running:
            return [], (2, 0.5, "2 slots")
        request, _ = session.waiting.pop(0)
        fault = machine.fault(request)
        if isinstance(fault, NarratorError):
            raise fault
        if isinstance(fault, Outcome):
            return [fault], (2, 0.5, "2 slots")
        speech = hum(request)
        machine.spoiled += 1
        if machine.spoiled == 1:
            speech = machine.spoil(speech)
        return [Outcome(request.key, request.attempt, speech)], (2, 0.5, "2 slots")

    def close(self, number: int) -> Any:
        del self.sessions[number]
        return None, (2, 0.5, "2 slots")


class Killed(BaseException):
    """kill -9."""


class Thread(threading.Thread):
    """A process, as far as `ModelProcess` sees one."""

    def __init__(self, machine: Machine, connection: Connection, said: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self.machine, self.connection, self.said = machine, connection, said
        self.code: int | None = None
        self.start()

    def run(self) -> None:
        hummer = Hummer(self.machine, lambda what: self.connection.send(("tell", what)))
        try:
            worker.serve(self, self.receive, hummer)  # type: ignore[arg-type]
        except (Killed, EOFError, OSError):
            self.code = -signal.SIGKILL
        except CorruptProcess as error:
            self.said.write(f"{error}\n".encode())
            self.code = 1
        self.connection.close()

    def receive(self) -> Any:
        message = self.connection.recv()
        self.machine.messages.append(message[0])
        self.dies = self.machine.die(len(self.machine.messages), message[0])
        if self.dies == "before":
            raise Killed
        return message

    def send(self, answer: object) -> None:
        if self.dies == "hangs":
            self.connection.recv()  # until the other end is closed
        if self.dies == "within":
            data = bytes(ForkingPickler.dumps(answer))
            head = struct.pack("!i", len(data))
            os.write(self.connection.fileno(), head + data[: len(data) // 2])
        if self.dies:
            raise Killed
        self.connection.send(answer)

    def poll(self) -> int | None:
        return self.code

    def wait(self, timeout: float | None = None) -> int:
        self.join(timeout)
        assert self.code is not None
        return self.code

    def kill(self) -> None:
        """It ends with the connection, which its parent has closed before."""


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    machine = Machine()

    def started(said: IO[bytes]) -> tuple[Connection, Thread]:
        ours, theirs = Pipe()
        machine.processes.append(Thread(machine, theirs, said))
        return ours, machine.processes[-1]

    monkeypatch.setattr(worker_process, "start_process", started)
    yield machine
    gc.collect()  # what a test caught holds on to the frames that it came through
    for process in machine.processes:
        process.join(5)
        assert not process.is_alive()


request = functools.partial(builders.request, language="en", expected=1.0)
TEXTS = ("One.", "Two of them.", "Three, and more.", "Four.", "Five or so.")


def spoken(
    texts: tuple[str, ...] = TEXTS, tell: Callable[[str], None] = lambda what: None
) -> dict[str, Outcome]:
    """All of them by a session, each once."""
    session = ProcessSession(ModelProcesses(LOADING, Path("slots.json")), tell)
    found: dict[str, Outcome] = {}
    try:
        for asked, outcome in speak(session, map(request, texts)):
            assert asked.key not in found
            found[asked.key] = outcome
    finally:
        session.close()
    return found


def takes(outcomes: dict[str, Outcome]) -> dict[str, bytes]:
    return {
        key: outcome.speech.samples.tobytes() + outcome.speech.state.tobytes()
        for key, outcome in outcomes.items()
        if outcome.speech and outcome.speech.state is not None
    }


EXPECTED = {text: hum(request(text)) for text in TEXTS}


def test_takes_come_whole_and_as_they_were_made(machine):
    told: list[str] = []
    found = spoken(tell=told.append)
    assert takes(found) == {
        text: speech.samples.tobytes() + speech.state.tobytes()
        for text, speech in EXPECTED.items()
        if speech.state is not None
    }
    assert told == ["loading m"]
    assert len(machine.processes) == 1


@pytest.mark.parametrize("when", ["before", "after", "within"])
def test_a_death_at_any_message_costs_no_take_and_alters_none(machine, when):
    undisturbed = takes(spoken())
    many = len(machine.messages)
    assert many > 15
    for first in range(1, many):  # the last one is the session's end
        machine.messages.clear()
        machine.die = lambda number, name, first=first: when if number == first else None
        told: list[str] = []
        assert takes(spoken(tell=told.append)) == undisturbed
        assert [line for line in told if "SIGKILL" in line] == [
            "the model's process was killed (SIGKILL): memory may have run out; a new one goes on"
        ]


def test_a_process_that_hangs_is_ended_and_costs_no_take(machine, monkeypatch):
    undisturbed, told = takes(spoken()), list[str]()
    machine.messages.clear()
    machine.die = lambda number, name: "hangs" if number == 6 else None
    monkeypatch.setattr(worker_process, "ANSWER_TIMEOUT", 0.2)
    assert takes(spoken(tell=told.append)) == undisturbed
    assert "the model's process has not answered for 0 s; a new one goes on" in told


def test_what_was_in_flight_is_asked_for_as_it_was(machine):
    machine.die = lambda number, name: "after" if number == 5 else None
    spoken(TEXTS[:2])
    assert [each.text for each in machine.requests] == [*TEXTS[:2], *TEXTS[:2]]
    assert machine.requests[0] == machine.requests[2]
    assert machine.ran == [0, 0]


def test_one_that_processes_die_of_fails_alone(machine):
    machine.poison = frozenset({"Three, and more."})
    found = spoken()
    failure = found["Three, and more."].failure
    assert isinstance(failure, EngineFailure)
    assert "its process was killed (SIGKILL)" in str(failure)
    assert len(takes(found)) == 4
    # together, together again, alone; the rest then speaks in a fourth
    assert len(machine.processes) == 4
    assert machine.ran[:2] == [0, 0]
    assert machine.ran[2] == 2  # fewer slots, should it have been memory


@pytest.mark.parametrize("name", ["load", "start", "add", "advance"])
def test_process_after_process_that_dies_is_the_machines(machine, name):
    machine.die = lambda number, what: "after" if what == name else None
    with pytest.raises(EngineUnavailable, match=r"SIGKILL.*5 in a row.*narrator doctor"):
        spoken()
    assert len(machine.processes) == worker_process.MAX_DEATHS


def test_a_take_between_two_deaths_begins_the_count_anew(machine):
    there = []

    def after_each_take(number: int, name: str) -> When | None:
        if machine.spoiled == len(there):
            return None
        there.append(number)
        return "before"

    machine.die = after_each_take
    assert len(takes(spoken(tuple(f"{n}." for n in range(12))))) == 12
    assert len(machine.processes) > worker_process.MAX_DEATHS


@pytest.mark.parametrize("error", [EngineUnavailable("no room\nat all"), StorageError("full")])
def test_errors_arrive_as_they_were_raised(machine, error):
    machine.fault = lambda asked: error if asked.text == "Two of them." else None
    with pytest.raises(type(error)) as caught:
        spoken()
    assert str(caught.value) == str(error)
    assert caught.value.problems == error.problems
    assert len(machine.processes) == 1


def test_a_chunk_that_failed_there_has_failed_here(machine):
    failure = EngineFailure("VoxCPM2: odd: 'Two of them.'")
    outcome = Outcome("Two of them.", 0, failure=failure)
    machine.fault = lambda asked: outcome if asked.key == outcome.key else None
    found = spoken()
    assert str(found[outcome.key].failure) == str(failure)
    assert len(takes(found)) == 4


SPOILT: dict[str, Callable[[Speech], Speech]] = {
    "short": lambda speech: replace(speech, samples=speech.samples[:-1]),
    "nothing": lambda speech: replace(speech, samples=speech.samples[:0]),
    "of other numbers": lambda speech: replace(speech, samples=speech.samples.astype(np.float64)),
    "without latents": lambda speech: replace(speech, state=None),
    "with fewer latents": lambda speech: replace(speech, state=speech.state[:2]),
    "with a state of odd numbers": lambda speech: replace(
        speech, state=speech.state.astype(np.float64)
    ),
    "of two channels": lambda speech: replace(speech, samples=speech.samples.reshape(2, -1)),
}


@pytest.mark.parametrize("kind", SPOILT)
def test_a_take_that_is_not_whole_is_the_processs_death(machine, kind):
    machine.spoil = SPOILT[kind]
    told: list[str] = []
    found = spoken(tell=told.append)
    assert takes(found).keys() == EXPECTED.keys()
    assert len(machine.processes) == 2
    assert any("not whole" in line for line in told)


def test_a_state_may_be_tokens(machine):
    machine.spoil = lambda speech: replace(speech, state=np.arange(3, dtype=np.int32))
    told: list[str] = []
    assert spoken(tell=told.append).keys() == EXPECTED.keys()
    assert len(machine.processes) == 1


def test_what_cannot_go_on_there_goes_on_in_another_process(machine):
    told: list[str] = []
    failed: list[str] = []

    def thrashing(asked: Request) -> NarratorError | None:
        failed.append(asked.key)
        return CorruptProcess("Cache thrashing is happening") if len(failed) == 3 else None

    machine.fault = thrashing
    assert len(takes(spoken(tell=told.append))) == 5
    assert any("ended with code 1: Cache thrashing is happening; a new" in line for line in told)


def test_slots_and_notes_are_the_other_sides_and_tell_of_deaths(machine):
    session = ProcessSession(ModelProcesses(LOADING, Path("slots.json")))
    assert (session.slots, session.busy, session.note) == (2, 0.5, "2 slots")
    machine.die = lambda number, name: "after" if number == 3 else None
    session.add(request("One."))
    assert session.note == "2 slots, process 2"
    session.close()


def test_all_of_a_request_goes_there_but_what_stays_with_its_owner(machine):
    latents = np.ones((2, 4, 16), np.float32)
    clip = Reference("c", np.ones(9, np.float32), 48_000, "Said", MappingProxyType({"e": latents}))
    asked = request(
        "One.",
        voice=Voice("Ada", own=MappingProxyType({"draft": VoxCPM2Settings()})),
        parameters=MappingProxyType({"steps": 3}),
        reference=clip,
        prompt=Prompt("Before.", lambda: np.ones(5, np.float32), latents),
    )
    session = ProcessSession(ModelProcesses(LOADING, Path("slots.json")))
    session.add(asked)
    while not session.advance():
        pass
    session.close()
    (there,) = machine.requests
    assert there.parameters == {"steps": 3}
    assert there.voice.own == {"draft": VoxCPM2Settings()}
    assert there.reference is not None
    assert np.array_equal(there.reference.latents["e"], latents)
    assert np.array_equal(there.reference.samples, clip.samples)
    assert there.prompt is not None
    assert there.prompt.text == "Before."
    assert np.array_equal(there.prompt.state, latents)


def test_sessions_and_encodings_share_a_process_and_its_death(machine):
    shared, clip = (
        ModelProcesses(LOADING, Path("slots.json")),
        Reference("c", np.ones(9), 48_000, "Said"),
    )
    for _ in range(2):
        session = ProcessSession(shared)
        session.add(request("One."))
        assert "e1" in shared.encoded(clip)
        while not session.advance():
            pass
        session.close()
    assert len(machine.processes) == 1
    session = ProcessSession(shared)
    session.add(request("One."))
    died = len(machine.messages) + 1
    machine.die = lambda number, name: "before" if number == died else None
    assert "e1" in shared.encoded(clip)
    while not (found := session.advance()):
        pass
    assert found[0].speech
    session.close()
    assert len(machine.processes) == 2


def test_an_encoding_is_tried_twice(machine):
    machine.die = lambda number, name: "after" if name == "encoded" else None
    with pytest.raises(EngineUnavailable, match="2 in a row"):
        ModelProcesses(LOADING, Path("slots.json")).encoded(
            Reference("c", np.ones(9), 48_000, "Said")
        )
    assert len(machine.processes) == 2


def test_a_process_that_was_left_in_the_middle_is_not_asked_again(machine):
    def interrupted(what: str) -> None:
        raise KeyboardInterrupt

    shared = ModelProcesses(LOADING, Path("slots.json"))
    with pytest.raises(KeyboardInterrupt):
        ProcessSession(shared, interrupted)
    session = ProcessSession(shared)
    session.close()
    assert len(machine.processes) == 2


# -- processes -------------------------------------------------------------------------------------


def test_what_mlx_cannot_go_on_after_ends_a_process_with_a_line(monkeypatch):
    thrashing = """\
from narrator.engines.mlx import loaded_model
from narrator.engines.voxcpm2.loaded_model import LoadingVoxCPM2
def load(what, tell):
    try:
        raise RuntimeError("Cache thrashing is happening")
    except RuntimeError as error:
        raise loaded_model.make_corrupt_error(error) from error
LoadingVoxCPM2.load = load
main(int"""
    monkeypatch.setattr(
        worker_process, "_START", worker_process._START.replace("main(int", thrashing)
    )
    process = ModelProcess()
    with pytest.raises(
        ProcessDied, match="ended with code 1: RuntimeError: Cache thrashing is happening"
    ):
        process.call("load", LOADING)
    assert not process.is_alive


class Unreadable:
    """Nothing can be made of it over there."""

    def __reduce__(self) -> Any:
        return operator.truediv, (1, 0)


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("load", Unreadable(), "ZeroDivisionError"),
        pytest.param("nothing", None, "AttributeError", marks=pytest.mark.slow),
    ],
)
def test_a_mistake_of_ours_is_no_endless_wait(name, given, said):
    process = ModelProcess()
    with pytest.raises(ProcessDied, match=f"ended with code 1: {said}"):
        process.call(name, given)
    with pytest.raises(ProcessDied, match=f"ended with code 1: {said}"):
        process.call("load", LOADING)


ORPHANING = """\
import sys
from narrator.engines.mlx.worker_process import ModelProcess
process = ModelProcess()
print(process._process.pid, flush=True)
sys.stdin.read()
"""


def test_no_process_outlives_the_one_that_started_it():
    parent = subprocess.Popen(
        [sys.executable, "-c", ORPHANING], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert parent.stdout
    pid = int(parent.stdout.readline())
    # a group of its own: ctrl-C in a terminal does not reach it
    assert pid in forks.running_in_group(pid)
    parent.kill()
    parent.communicate()
    for _ in range(1000):
        if not forks.running_in_group(pid):
            return
        time.sleep(0.01)
    raise AssertionError("still running")
