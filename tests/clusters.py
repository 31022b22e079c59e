"""Requests for tests of clusters; a cluster in one thread, by a clock of its own; and programs."""

from __future__ import annotations

import os
import queue
import shutil
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from narrator import __version__
from narrator.engines import Request, State
from narrator.engines.cluster import codec
from narrator.engines.cluster.client import Arrival, MachineInfo, SentTask
from narrator.engines.registry import ENGINES
from narrator.engines.voice import Reference, Voice
from narrator.errors import EngineFailure
from tests.fakes import RATE, HumEngine, hum

Facts = dict[str, Any]
CERTIFICATES = Path(__file__).parent / "engines" / "cluster" / "certificates"


def certificate(folder: Path, name: str = "ours") -> Path:
    """A copy of a certificate of the tests, safe from other users."""
    shutil.copytree(CERTIFICATES / name, folder)
    folder.chmod(0o700)
    for path in folder.iterdir():
        path.chmod(0o600)
    return folder


def request(key: str = "1", text: str = "The ferry left at seven.", **more: Any) -> Request:
    made = Request(
        key=key,
        text=text,
        language="en-GB",
        voice=Voice("narrator", description="An old ferryman", seed=3),
        style=None,
        parameters={"cfg": 2.0, "seed": 7},
        seed=7,
        attempt=0,
        expected=1.5,
    )
    return replace(made, **more)


def reference(content: str = "clip", seconds: float = 0.5) -> Reference:
    samples = np.random.default_rng(len(content)).normal(0, 0.1, round(seconds * RATE))
    latents = {"encoder": np.arange(6, dtype=np.float32).reshape(2, 3)}
    return Reference(content, samples.astype(np.float32), RATE, "I was a ferryman.", latents)


# -- a cluster that is none ------------------------------------------------------------------------


class Clock:
    """Time that passes when somebody waits for an answer."""

    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time


class Answers:
    """What `Cluster.arrived` is, by a clock: whoever waits in vain has waited."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._there: deque[Arrival] = deque()

    def put(self, arrival: Arrival) -> None:
        self._there.append(arrival)

    def get(self, timeout: float) -> Arrival:
        if not self._there:
            self._clock.time += timeout
        return self.get_nowait()

    def get_nowait(self) -> Arrival:
        if not self._there:
            raise queue.Empty
        return self._there.popleft()


@dataclass
class FakeMachine:
    """Answers as `far` does, with an engine that hums; or as a test has it."""

    name: str
    engine: HumEngine = field(default_factory=HumEngine)
    engines: frozenset[str] = frozenset({"hum"})
    slots: int = 2
    precision: str = "float32"
    version: str = __version__
    last_seen: float = 0.0
    beats: bool = True
    """Whether it still says that it is there."""
    silent: float = 0.0
    """As its booth says."""
    works: bool = True
    """Whether it does what it is asked, or keeps it for later."""
    keeps: bool = True
    """Whether it keeps references and takes."""
    answers: list[bytes | str] = field(default_factory=list)
    """To the next requests: bytes of its own, or an error's text."""
    torn: int = 0
    """References that it does not get."""
    refuses: str = ""
    """To be ready, in words."""
    asked: list[tuple[str, Facts]] = field(default_factory=list)
    """Tasks, and what their parcels said."""
    states: list[bool] = field(default_factory=list)
    """For each request, whether a prompt's state came with it."""
    waiting: list[tuple[SentTask, Callable[[], Arrival]]] = field(default_factory=list)
    held: dict[str, Reference] = field(default_factory=dict)
    made: dict[str, State] = field(default_factory=dict)

    def tasks(self, name: str) -> list[Facts]:
        return [facts for task, facts in self.asked if task == name]

    @property
    def texts(self) -> list[str]:
        return [facts["text"] for facts in self.tasks("say")]

    def seen(self, address: str) -> MachineInfo:
        booth = {"engine": self.engine.name, "slots": self.slots, "silent": self.silent,
                 "at_work": len(self.waiting)}  # fmt: skip
        facts = {"narrator": self.version, "system": "Linux", "booths": [booth]}
        return MachineInfo(address, self.name, self.engines, self.last_seen, facts)

    def meet(self, facts: Facts) -> bytes:
        said: Facts = {"narrator": self.version, "form": codec.FORMAT_VERSION}
        if self.version == facts["narrator"]:
            said |= {"identity": dict(self.engine.identity()), "memory": {},
                     "precision": self.precision, "rate": self.engine.sample_rate}  # fmt: skip
        return codec.pack_parcel(said)

    def ready(self, facts: Facts) -> bytes:
        return codec.pack_parcel(
            {"refused": self.refuses} if self.refuses else {"slots": self.slots}
        )

    def say(self, facts: Facts, arrays: codec.Arrays, held: Reference | None) -> bytes:
        if facts["reference"] and held is None:
            return codec.pack_parcel({"lacks": "reference"})
        made = self.made.get if self.keeps else {}.get
        asked = codec.decode_request(facts, arrays, ENGINES["draft"], held, made)
        if asked is None:
            return codec.pack_parcel({"lacks": "prompt"})
        said = self.engine.fault(asked) or hum(asked)
        plain = {"took": 0.5, "slots": self.slots, "mark": facts["mark"]}
        if isinstance(said, EngineFailure):
            return codec.pack_parcel({**plain, "speech": None, "failure": str(said)})
        self.made[facts["mark"]] = said.state
        speech, found = codec.encode_speech(said, RATE)
        return codec.pack_parcel({**plain, "speech": speech, "failure": None}, found)


class FakeCluster:
    """`reaching.Cluster` in one thread: a machine answers when it is asked, or is let to."""

    def __init__(self, *machines: FakeMachine) -> None:
        self.clock = Clock()
        self.arrivals: Any = Answers(self.clock)
        self.there: dict[str, FakeMachine] = {}
        self.away = self.closed = False
        self._torn: list[SentTask] = []
        for one in machines:
            self.come(one)

    def come(self, machine: FakeMachine) -> None:
        self.there[f"tcp://{machine.name}"] = machine

    def go(self, machine: FakeMachine) -> None:
        """It dies: what it had never comes."""
        del self.there[f"tcp://{machine.name}"]
        machine.waiting.clear()

    def leave(self) -> None:
        """The scheduler goes away, and with it what was out."""
        self.away = True
        for machine in self.there.values():
            for sent, _ in machine.waiting:
                self.arrivals.put(Arrival(sent, lost="the scheduler went away"))
            machine.waiting.clear()

    def work(self, machine: FakeMachine, most: int = 1000) -> None:
        """Have it do what it was asked."""
        doing, machine.waiting = machine.waiting[:most], machine.waiting[most:]
        for _, work in doing:
            self.arrivals.put(work())

    # -- what a session asks

    def machines(self) -> Mapping[str, MachineInfo] | None:
        if self.away:
            return None
        for one in self.there.values():
            if one.beats:
                one.last_seen = self.clock.time
        return {at: one.seen(at) for at, one in self.there.items()}

    def send(
        self, address: str, task: Callable[..., Any], *given: bytes | SentTask | None,
        resource: str | None = None,
    ) -> SentTask:  # fmt: skip
        sent = SentTask(address, task.__name__)
        machine = None if self.away else self.there.get(address)
        if machine is None:
            self.arrivals.put(Arrival(sent, lost="gone"))
            return sent
        name, (parcel, *more) = task.__name__, given
        assert isinstance(parcel, bytes)
        facts, arrays = codec.unpack_parcel(parcel)
        machine.asked.append((name, facts))

        def work() -> Arrival:
            if name == "hold":
                if machine.torn:
                    machine.torn -= 1
                    self._torn.append(sent)
                    return Arrival(sent, error="Damaged: a parcel came altered")
                clip = codec.decode_reference(parcel)
                machine.held[clip.content] = clip
                return Arrival(sent, clip.content)
            if name != "say":
                return Arrival(sent, getattr(machine, name)(facts))
            assert resource == machine.engine.name
            if any(one is more[0] for one in self._torn):  # what it wants has failed
                return Arrival(sent, error="Damaged: a parcel came altered")
            machine.states.append("state" in arrays)
            if machine.answers:
                answer = machine.answers.pop(0)
                is_error = isinstance(answer, str)
                return Arrival(sent, error=answer) if is_error else Arrival(sent, answer)
            held = more[0] is not None and machine.held.get(facts["reference"])
            if not machine.keeps:
                machine.held.clear()
            return Arrival(sent, machine.say(facts, arrays, held or None))

        if machine.works or name != "say":
            self.arrivals.put(work())
        else:
            machine.waiting.append((sent, work))
        return sent

    def drop(self, sent: SentTask) -> None:
        for machine in self.there.values():
            machine.waiting = [(one, work) for one, work in machine.waiting if one is not sent]

    def close(self) -> None:
        self.closed = True


# -- programs --------------------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Program:
    """`narrator` with some arguments, on its own; what it says goes to a file."""

    def __init__(
        self, folder: Path, *arguments: object, module: str = "narrator", strict: bool = True,
        home: Path | None = None,
    ) -> None:  # fmt: skip
        """`home` is its library, else that of the tests."""
        folder.mkdir(parents=True, exist_ok=True)
        self.log, self.is_asked = folder / "said.txt", False
        with self.log.open("w") as said:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-W",
                    "error" if strict else "ignore",
                    "-m",
                    module,
                    *map(str, arguments),
                ],
                cwd=Path(__file__).parent.parent,
                env={
                    **os.environ,
                    "NARRATOR_HOME": str(home or os.environ["NARRATOR_HOME"]),
                    "COLUMNS": "400",
                },
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
            )

    @property
    def said(self) -> str:
        return self.log.read_text()

    def wait_for(self, words: str) -> None:
        end = time.monotonic() + 120
        while words not in self.said:
            assert self.process.poll() is None, self.said
            assert time.monotonic() < end, self.said
            time.sleep(0.01)

    def ask_to_end(self) -> None:
        """Once: a second signal would end it at once."""
        if not self.is_asked:
            self.process.terminate()
        self.is_asked = True

    def stop(self) -> int:
        """Ask it to end; its exit code."""
        self.ask_to_end()
        try:
            return self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    @property
    def listens(self) -> set[tuple[str, int]]:
        """Where it, and what it started, can be reached."""
        here = psutil.Process(self.process.pid)
        return {
            (found.laddr.ip, found.laddr.port)
            for one in (here, *here.children(recursive=True))
            if one.status() != psutil.STATUS_ZOMBIE  # only root may look into one
            for found in one.net_connections("inet")
            if found.status == psutil.CONN_LISTEN
        }


@dataclass
class AtWork:
    """A scheduler and its machines, as programs."""

    address: str
    scheduler: Program
    machines: list[Program] = field(default_factory=list)


@contextmanager
def at_work(
    folder: Path, *names: str, tls: Path | None = None, listen: str = "127.0.0.1",
    given: Sequence[object] = ("--engine", "draft", "--slots", 2), module: str = "narrator",
) -> Iterator[AtWork]:  # fmt: skip
    """A cluster of this machine, reached at loopback, whose machines have such arguments; its
    library, and so its certificate, is that of the tests."""
    port = free_port()
    shown = [] if tls is None else ["--tls", tls]
    chosen = ("scheduler", "--listen", listen, "--port", port, *shown)
    found = AtWork(f"tls://127.0.0.1:{port}", Program(folder / "scheduler", *chosen))
    try:
        found.scheduler.wait_for("scheduler at")
        for number, name in enumerate(names):
            arguments = ("worker", found.address, "--name", name, *shown, *given)
            found.machines.append(Program(folder / str(number), *arguments, module=module))
        for name, machine in zip(names, found.machines, strict=True):
            machine.wait_for(f"{name} at {found.address}")
        yield found
    finally:
        for one in found.machines:  # all at once
            one.ask_to_end()
        codes = [one.stop() for one in (*found.machines, found.scheduler)]
    assert codes == [0] * len(codes)
