"""A cluster in virtual time: machines whose takes are done when a clock says so, which nobody waits
for. Behind it stand the real session, its placing, its parcels and the render's scheduler.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import queue
import random
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.sleeper import RATE, SleeperEngine
from narrator import __version__
from narrator.engines import Request, speak
from narrator.engines.cluster import codec, worker_tasks
from narrator.engines.cluster.client import POLL_SECONDS, Arrival, MachineInfo, SentTask
from narrator.engines.cluster.session import ClusterSession
from narrator.engines.voice import Voice
from narrator.speech.scheduler import Scheduler

ENGINES = frozenset(("sleeper",))
OUT, HOME = 0.005, 0.03
"""Seconds that a request and a take travel."""
JUDGE = 0.3
"""Seconds of checks and disk, before what goes on from a take is ready."""
SOUND = codec.encode_speech(codec.Speech(np.zeros(480, np.float32)), RATE)


class _Arrived(queue.SimpleQueue[Arrival]):
    """Gives what has arrived; to wait is to move the clock."""

    cluster: VirtualCluster

    def get(self, block: bool = True, timeout: float | None = None) -> Arrival:
        return self.cluster.next(timeout or 0.0)

    def get_nowait(self) -> Arrival:
        return self.cluster.next(0.0)


@dataclass(slots=True, eq=False)
class _VirtualMachine:
    name: str
    speed: float
    slots: int
    """That are free."""
    queued: deque[tuple[SentTask, Mapping[str, Any], float]] = field(default_factory=deque)


class VirtualCluster:
    """Machines of speeds; a slot of one of speed 1 speaks in real time, give or take `jitter`.

    Where it is `thinking`, what the session computes takes its time, too; speeds that are `known`
    were measured in an earlier render.
    """

    def __init__(
        self,
        speeds: Sequence[float],
        slots: int,
        jitter: float,
        seed: int,
        *,
        thinking: bool,
        are_speeds_known: bool,
    ) -> None:
        self._are_speeds_known = are_speeds_known
        self.clock_seconds = 0.0
        self._thinking, self._left_at = thinking, 0.0
        self.worked = 0.0
        """Seconds of slots that spoke."""
        self.last_take_seconds = 0.0
        """Time of the last take."""
        self.cpu = 0.0
        """Seconds of CPU that went into this, and are no session's."""
        self.arrivals = _Arrived()
        self.arrivals.cluster = self
        self._jitter, self._draw = jitter, random.Random(seed)
        self._numbers = itertools.count()
        self._events: list[tuple[float, int, Callable[[], Arrival | None]]] = []
        self._slots = slots
        self._machines = {
            f"tcp://m{n}": _VirtualMachine(f"m{n}", speed, slots) for n, speed in enumerate(speeds)
        }
        self._listed_machines: Mapping[str, MachineInfo] = {}
        self._looked = -POLL_SECONDS

    def time(self) -> float:
        return self.clock_seconds + (time.thread_time() - self._left_at if self._thinking else 0.0)

    @contextlib.contextmanager
    def _inside(self) -> Iterator[None]:
        """Within this context, work does not count as the session's, and takes no time."""
        began, self.clock_seconds = time.thread_time(), self.time()
        try:
            yield
        finally:
            self._left_at = time.thread_time()
            self.cpu += self._left_at - began

    def machines(self) -> Mapping[str, MachineInfo]:
        if self.clock_seconds >= self._looked + POLL_SECONDS:
            with self._inside():
                self._looked = self.clock_seconds
                self._listed_machines = {
                    address: MachineInfo(
                        address, machine.name, ENGINES, self.clock_seconds, self._facts(machine)
                    )
                    for address, machine in self._machines.items()
                }
        return self._listed_machines

    def _facts(self, machine: _VirtualMachine) -> Mapping[str, Any]:
        speed = self._slots * machine.speed if self._are_speeds_known else None
        return {"booths": [{"engine": "sleeper", "slots": self._slots, "at_work": 1, "silent": 0.0,
                            "speed": speed}]}  # fmt: skip

    def send(
        self, address: str, task: Callable[..., Any], *arguments: bytes | SentTask | None,
        resource: str | None = None,
    ) -> SentTask:  # fmt: skip
        sent = SentTask(address, task.__name__)
        with self._inside():
            if task is worker_tasks.say:
                parcel = arguments[0]
                assert isinstance(parcel, bytes)
                facts, _ = codec.unpack_parcel(parcel)
                self._schedule(self.clock_seconds + OUT, lambda: self._queue_request(sent, facts))
            else:
                answer = codec.pack_parcel({
                    "narrator": __version__, "form": codec.FORMAT_VERSION,
                    "precision": "", "rate": RATE,
                    "identity": SleeperEngine().identity(), "slots": self._slots,
                })  # fmt: skip
                self._schedule(self.clock_seconds + HOME, lambda: Arrival(sent, answer))
        return sent

    def drop(self, sent: SentTask) -> None:
        """Does nothing: what was dropped arrives all the same, and is ignored."""

    def close(self) -> None:
        pass

    def next(self, seconds: float) -> Arrival:
        """Returns the next arrival within so many seconds. Raises queue.Empty."""
        with self._inside():
            until = self.clock_seconds + seconds
            while self._events and self._events[0][0] <= until:
                event_seconds, _, event = heapq.heappop(self._events)
                self.clock_seconds = max(self.clock_seconds, event_seconds)
                if arrival := event():
                    return arrival
            self.clock_seconds = until
            raise queue.Empty

    def _schedule(self, event_seconds: float, event: Callable[[], Arrival | None]) -> None:
        heapq.heappush(self._events, (event_seconds, next(self._numbers), event))

    def _queue_request(self, sent: SentTask, facts: Mapping[str, Any]) -> None:
        machine = self._machines[sent.address]
        slow = self._draw.uniform(1 - self._jitter, 1 + self._jitter) / machine.speed
        machine.queued.append((sent, facts, facts["expected"] * slow))
        self._fill_slots(machine)

    def _fill_slots(self, machine: _VirtualMachine) -> None:
        while machine.slots and machine.queued:
            machine.slots -= 1
            sent, facts, took = machine.queued.popleft()
            self._schedule(
                self.clock_seconds + took, partial(self._finish_take, machine, sent, facts, took)
            )

    def _finish_take(
        self, machine: _VirtualMachine, sent: SentTask, facts: Mapping[str, Any], took: float
    ) -> None:
        self.worked += took
        self.last_take_seconds = self.clock_seconds
        machine.slots += 1
        self._fill_slots(machine)
        speech_facts, arrays = SOUND
        answer = codec.pack_parcel(
            {"speech": speech_facts, "took": took, "slots": self._slots, "mark": facts["mark"]},
            arrays,
        )
        self._schedule(self.clock_seconds + HOME, lambda: Arrival(sent, answer))


@dataclass(frozen=True, slots=True)
class VirtualRun:
    wall: float
    """Seconds until the last take."""
    busy: float
    """Share of the slots' time in which they spoke, until then."""
    cpu: float
    """Seconds of the session and of placing, parcels without sound included."""


class Task(NamedTuple):
    """A step as the scheduler sees it."""

    key: str
    parent: str | None
    expected: float


def request_of(task: Task, scheduler: Scheduler) -> Request:
    return Request(
        key=task.key, text=task.key, language="en", voice=Voice("narrator"), style=None,
        parameters={}, seed=0, attempt=0, expected=task.expected,
        ahead=scheduler.remaining_work(task.key),
    )  # fmt: skip


def simulate(
    tasks: Mapping[str, Task],
    speeds: Sequence[float],
    slots: int,
    jitter: float,
    seed: int,
    *,
    thinking: bool = False,
    are_speeds_known: bool = False,
) -> VirtualRun:
    """All of a book's chunks by machines of speeds."""
    cluster = VirtualCluster(
        speeds, slots, jitter, seed, thinking=thinking, are_speeds_known=are_speeds_known
    )
    ours = ClusterSession(SleeperEngine(), {"name": "sleeper"}, cluster, now=cluster.time)
    while ours.slots < slots * len(speeds):
        ours.advance()
    began, scheduler = cluster.clock_seconds, Scheduler(tasks)
    flying, judging = set[str](), deque[tuple[float, str]]()

    def requests() -> Iterator[Request | None]:
        while scheduler.unfinished_count:
            while judging and judging[0][0] <= cluster.clock_seconds:
                scheduler.mark_done(judging.popleft()[1])
            if key := scheduler.next_ready():
                flying.add(key)
            elif not flying:
                cluster.clock_seconds = judging[0][0] if judging else cluster.clock_seconds
                continue
            yield request_of(tasks[key], scheduler) if key else None

    cpu, theirs = time.thread_time(), cluster.cpu
    for request, _ in speak(ours, requests()):
        flying.remove(request.key)
        judging.append((cluster.clock_seconds + JUDGE, request.key))
    cpu = time.thread_time() - cpu - (cluster.cpu - theirs)
    wall = cluster.last_take_seconds - began
    return VirtualRun(wall, cluster.worked / (wall * slots * len(speeds)), cpu)


def ideal(tasks: Mapping[str, Task], speeds: Sequence[float], slots: int) -> float:
    """Seconds at least: all work by all slots, or the longest chain on the fastest machine."""
    chains: dict[str, float] = {}
    for task in tasks.values():
        chains[task.key] = chains.get(task.parent or "", 0.0) + task.expected
    work = sum(task.expected for task in tasks.values()) / (slots * sum(speeds))
    return max(work, max(chains.values()) / max(speeds))
