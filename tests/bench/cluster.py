"""What a cluster gives and costs: real processes, virtual time, and the way of a take.

python -m tests.bench.cluster [BOOK.epub] [--only processes virtual way thousand]
"""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil

from narrator.engines import Prompt, Request, State, speak
from narrator.engines.cluster.credentials import ClusterPlace
from narrator.engines.cluster.reaching import DaskCluster
from narrator.engines.cluster.session import ClusterSession
from narrator.engines.voice import Reference, Voice
from narrator.speech.scheduler import Scheduler, Task
from tests.bench.sleeper import RATE, SLOTS, SleeperEngine, patches, step_seconds
from tests.bench.slots import book_steps

ROOT = Path(__file__).parents[2]
SPEEDS = ((1.0,), (1.0, 1.0), (1.0, 1.0, 0.5, 0.25))
CHAINS = {1: 177, 2: 75, 3: 153, 4: 103, 5: 70, 6: 46, 7: 19, 8: 16}
"""How many chains of so many chunks a novel of 50,000 words has."""
SECONDS = (1.5, 18.0, 9.0)
"""Of its chunks, about: the least, the most, the usual."""

Tasks = Mapping[str, Task]


def generated() -> Tasks:
    """A book of a novel's shape."""
    draw, tasks = random.Random(17), dict[str, Task]()
    chains = [chunks for chunks, count in CHAINS.items() for _ in range(count)]
    draw.shuffle(chains)
    for number, chunks in enumerate(chains):
        parent = None
        for place in range(chunks):
            key = f"{number}-{place}"
            tasks[key] = Task(key, parent, draw.triangular(*SECONDS))
            parent = key
    return tasks


def tasks_of(book: Path | None) -> Tasks:
    if book is None:
        return generated()
    return {s.key: Task(s.key, s.parent, s.expected) for s in book_steps(book, "anchored")}


def part(tasks: Tasks, seconds: float) -> Tasks:
    """The first so many seconds of speech."""
    found: dict[str, Task] = {}
    for key, task in tasks.items():
        if seconds <= 0:
            break
        found[key] = task
        seconds -= task.seconds
    return found


# -- real processes --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RealRun:
    takes: int
    wall: float
    ideal: float
    busy: float
    """As the session says."""
    cpu: Mapping[str, float]
    """Seconds of this process, of the scheduler's, and of all workers'."""
    sent: int
    """Prompts that travelled, of those that there were."""
    prompts: int


@contextlib.contextmanager
def processes(
    port: int, speeds: Sequence[float], scale: float
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """A scheduler, and workers of speeds."""
    commands = [["-m", "narrator", "scheduler", "--port", str(port)]]
    commands += [
        ["-m", "tests.bench.sleeper", str(port), f"m{n}", str(speed), str(scale)]
        for n, speed in enumerate(speeds)
    ]
    started: list[subprocess.Popen[bytes]] = []
    try:
        for command in commands:
            process = subprocess.Popen([sys.executable, *command], cwd=ROOT, stdout=subprocess.PIPE)
            started.append(process)
            assert process.stdout is not None and process.stdout.readline()
        yield started
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait(timeout=30)
            assert process.stdout is not None
            process.stdout.close()


def ideal(tasks: Tasks, speeds: Sequence[float], scale: float) -> float:
    """Seconds at least: all work by full batches of all machines, or the longest chain alone on the
    fastest."""
    work = sum(patches(task.seconds) for task in tasks.values())
    full = work / SLOTS * step_seconds(SLOTS) / sum(speeds)
    chains: dict[str, int] = {}
    for task in tasks.values():
        chains[task.key] = chains.get(task.parent or "", 0) + patches(task.seconds)
    alone = max(chains.values()) * step_seconds(1) / max(speeds)
    return scale * max(full, alone)


def real(tasks: Tasks, speeds: Sequence[float], scale: float, port: int) -> RealRun:
    engine, rate = SleeperEngine(), RATE
    clip = np.random.default_rng(1).uniform(-0.1, 0.1, 8 * rate).astype(np.float32)
    reference = Reference("a clip", clip, rate, "What the clip says.")
    states: dict[str, State | None] = {}
    scheduler = Scheduler(tasks)

    def requests() -> Iterator[Request | None]:
        while scheduler.left:
            key = scheduler.take()
            if key is None:
                yield None
                continue
            task, prompt = tasks[key], None
            if task.parent in tasks:
                assert task.parent is not None
                prompt = Prompt(task.parent, lambda: clip[:0], states.pop(task.parent))
            yield Request(
                key=key, text=f"What is said in {key}.", language="en", voice=Voice("narrator"),
                style=None, parameters={"cfg": 2.0}, seed=7, attempt=0, expected=task.seconds,
                mode="anchored" if prompt else "reference", reference=reference, prompt=prompt,
                ahead=scheduler.ahead(key),
            )  # fmt: skip

    with processes(port, speeds, scale) as running:
        cluster = DaskCluster(ClusterPlace("127.0.0.1", port), lambda what: None)
        try:
            session = ClusterSession(engine, {"name": engine.name}, cluster)
            while session.slots < 2 * SLOTS * len(speeds):
                session.advance()
            before = _cpu(running)
            began = time.monotonic()
            for request, outcome in speak(session, requests()):
                assert outcome.speech is not None
                states[request.key] = outcome.speech.state
                scheduler.done(request.key)
            wall = time.monotonic() - began
            cpu = {name: seconds - before[name] for name, seconds in _cpu(running).items()}
            session.close()
        finally:
            cluster.close()
    prompts = sum(task.parent in tasks for task in tasks.values())
    return RealRun(len(tasks), wall, ideal(tasks, speeds, scale), session.busy, cpu, 0, prompts)


def _cpu(running: Sequence[subprocess.Popen[bytes]]) -> dict[str, float]:
    each = [sum(psutil.Process(one.pid).cpu_times()[:2]) for one in running]
    return {"client": time.process_time(), "scheduler": each[0], "workers": sum(each[1:])}
