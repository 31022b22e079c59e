"""Measures the gain and the costs of a cluster. Four parts:

    python -m benchmarks.cluster [BOOK.epub] [--only virtual way thousand processes]

    virtual     a whole book by machines in virtual time: how full their slots are until the last
                take, and how near to what is possible
    way         a take's way home, a prompt's and a reference's out: bytes and milliseconds
    thousand    what the client and Dask's scheduler compute for a thousand machines
    processes   a scheduler and 1, 2 and 4 workers as processes of this machine, whose engine sleeps
                as a model would work, against what is possible

Possible is no less than all speech by full batches of all machines, nor than the longest chain
alone on the fastest. Behind all of it are the real session, placing, parcels and scheduler; checks,
store and samples are left out, but for the way. Prompts travel as VoxCPM2's do.

In processes, `--scale` makes a chunk a fifth as long as it would be at a machine that speaks eight
in real time: two seconds, so that a run lasts a minute. What a request costs weighs five times as
much as it does in a render. Without a book, one is made that is shaped like a novel. Prints tables;
the last line is JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks import crowd, virtual
from benchmarks.sleeper import RATE, SLOTS, SleeperEngine, patches, step_seconds
from benchmarks.slots import book_steps
from benchmarks.virtual import Task
from narrator.engines import Prompt, Request, Speech, State, ignore_message, speak
from narrator.engines.cluster import codec
from narrator.engines.cluster.client import DaskCluster
from narrator.engines.cluster.credentials import ClusterPlace
from narrator.engines.cluster.session import ClusterSession
from narrator.engines.voice import Reference, Voice
from narrator.speech.scheduler import Scheduler
from tests import sounds, spoken

ROOT = Path(__file__).parents[1]
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
    selected: dict[str, Task] = {}
    for key, task in tasks.items():
        if seconds <= 0:
            break
        selected[key] = task
        seconds -= task.expected
    return selected


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


@contextlib.contextmanager
def processes(
    port: int, others: Sequence[Sequence[object]]
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """A scheduler, and other modules with their arguments; each says a line once it is there."""
    commands: list[Sequence[object]] = [("narrator", "scheduler", "--port", port), *others]
    started: list[subprocess.Popen[bytes]] = []
    try:
        for number, command in enumerate(commands):
            # what each knows of its own speed is no other's
            home = f"{os.environ['NARRATOR_HOME']}/{port}-{number}"
            process = subprocess.Popen(
                [sys.executable, "-m", *map(str, command)],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                env={**os.environ, "NARRATOR_HOME": home},
            )
            started.append(process)
            assert process.stdout is not None
            assert process.stdout.readline(), "it did not start"
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
    work = sum(patches(task.expected) for task in tasks.values())
    full = work / SLOTS * step_seconds(SLOTS) / sum(speeds)
    chains: dict[str, int] = {}
    for task in tasks.values():
        chains[task.key] = chains.get(task.parent or "", 0) + patches(task.expected)
    alone = max(chains.values()) * step_seconds(1) / max(speeds)
    return scale * max(full, alone)


def real(tasks: Tasks, speeds: Sequence[float], scale: float, port: int) -> RealRun:
    engine, rate = SleeperEngine(), RATE
    clip = np.random.default_rng(1).uniform(-0.1, 0.1, 8 * rate).astype(np.float32)
    reference = Reference("a clip", clip, rate, "What the clip says.")
    states: dict[str, State | None] = {}
    scheduler = Scheduler(tasks)

    def requests() -> Iterator[Request | None]:
        while scheduler.unfinished_count:
            key = scheduler.next_ready()
            if key is None:
                yield None
                continue
            task, prompt = tasks[key], None
            if task.parent in tasks:
                assert task.parent is not None
                prompt = Prompt(task.parent, lambda: clip[:0], states.pop(task.parent))
            yield Request(
                key=key, text=f"What is said in {key}.", language="en", voice=Voice("narrator"),
                style=None, parameters={"cfg": 2.0}, seed=7, attempt=0, expected=task.expected,
                mode="anchored" if prompt else "reference", reference=reference, prompt=prompt,
                ahead=scheduler.remaining_work(key),
            )  # fmt: skip

    workers = [("benchmarks.sleeper", port, f"m{n}", v, scale) for n, v in enumerate(speeds)]
    with processes(port, workers) as running:
        cluster = DaskCluster(ClusterPlace("127.0.0.1", port), ignore_message)
        try:
            session = ClusterSession(engine, {"name": engine.name}, cluster)
            while session.slots < SLOTS * len(speeds):
                session.advance()
            before = _cpu(running)
            began = time.monotonic()
            for request, outcome in speak(session, requests()):
                assert outcome.speech is not None
                states[request.key] = outcome.speech.state
                scheduler.mark_done(request.key)
            wall = time.monotonic() - began
            cpu = {name: seconds - before[name] for name, seconds in _cpu(running).items()}
            session.close()
        finally:
            cluster.close()
    return RealRun(len(tasks), wall, ideal(tasks, speeds, scale), session.busy, cpu)


def _cpu(running: Sequence[subprocess.Popen[bytes]]) -> dict[str, float]:
    each = [sum(psutil.Process(process.pid).cpu_times()[:2]) for process in running]
    return {"client": time.process_time(), "scheduler": each[0], "workers": sum(each[1:])}


def processes_table(tasks: Tasks, seconds: float, scale: float, port: int) -> dict[str, Any]:
    rows = {}
    print(f"real processes, chunks {scale} times as long, for about {seconds:.0f} s")
    print(f"{'speeds':>16} {'takes':>6} {'ideal s':>8} {'wall s':>8} {'of ideal':>9} {'busy':>7}"
          "   CPU ms a take: client, scheduler, workers")  # fmt: skip
    for number, speeds in enumerate(SPEEDS):
        run_tasks = part(tasks, seconds * SLOTS * sum(speeds) / scale)
        run = real(run_tasks, speeds, scale, port + number)
        share = run.ideal / run.wall
        each = {name: round(1000 * spent / run.takes, 1) for name, spent in run.cpu.items()}
        name = ", ".join(f"{speed:g}" for speed in speeds)
        print(f"{name:>16} {run.takes:6} {run.ideal:8.1f} {run.wall:8.1f} {share:9.1%} "
              f"{run.busy:7.1%}   {', '.join(map(str, each.values()))}", flush=True)  # fmt: skip
        rows[name] = {"takes": run.takes, "ideal_s": round(run.ideal, 2),
                      "wall_s": round(run.wall, 2), "of_ideal": round(share, 4),
                      "cpu_ms": each}  # fmt: skip
    return rows


# -- virtual time ----------------------------------------------------------------------------------


def virtual_table(tasks: Tasks, jitter: float) -> dict[str, Any]:
    rows = {}
    print(f"virtual time, {len(tasks)} chunks, {SLOTS} slots a machine, takes +-{jitter:.0%}")
    print(f"{'speeds':>16} {'ideal s':>8} {'wall s':>8} {'of ideal':>9} {'slots busy':>11}")
    for speeds in ((1.0,), (1.0, 1.0), (1.0,) * 4, (1.0, 1.0, 0.5, 0.25)):
        best = virtual.ideal(tasks, speeds, SLOTS)
        runs = [virtual.simulate(tasks, speeds, SLOTS, jitter, seed) for seed in range(3)]
        wall, busy = max(run.wall for run in runs), min(run.busy for run in runs)
        name = ", ".join(f"{speed:g}" for speed in speeds)
        print(f"{name:>16} {best:8.1f} {wall:8.1f} {best / wall:9.1%} {busy:11.1%}", flush=True)
        rows[name] = {"of_ideal": round(best / wall, 4), "busy": round(busy, 4)}
    return rows


# -- the way of a take -----------------------------------------------------------------------------


def timed(call: Callable[[], object], times: int = 15) -> float:
    """Milliseconds, the median."""
    milliseconds = []
    for _ in range(times):
        began = time.perf_counter()
        call()
        milliseconds.append(1000 * (time.perf_counter() - began))
    return statistics.median(milliseconds)


def take_parcel(speech: Speech, rate: int) -> bytes:
    """As a machine sends it home."""
    facts, arrays = codec.encode_speech(speech, rate)
    return codec.pack_parcel({"speech": facts}, arrays)


def opened(parcel: bytes) -> Speech:
    facts, arrays = codec.unpack_parcel(parcel)
    return codec.decode_speech(facts["speech"], arrays)


def continuation_request(latents: State) -> Request:
    """Returns a request that continues from a take of ten seconds."""
    prompt = Prompt("What was said before. " * 8, lambda: sounds.silence(0.0), latents)
    return Request(
        key="a" * 64, text="What is to be said. " * 8, language="en", voice=Voice("narrator"),
        style=None, parameters={"cfg": 2.0, "steps": 10}, seed=7, attempt=0, expected=10.0,
        prompt=prompt,
    )  # fmt: skip


def way_table(port: int) -> dict[str, Any]:
    latents = np.random.default_rng(1).standard_normal((patches(10.0), 4, 64)).astype(np.float32)
    settings = {"name": "sleeper"}
    draft = np.resize(spoken.draft(), 10 * spoken.RATE)
    speech = Speech(sounds.voice(10.0, rate=RATE), latents)
    noise = Speech(np.clip(sounds.noise(10.0, rate=RATE), -1, 1), latents)
    clip = Reference("a clip", sounds.voice(10.0, rate=RATE), RATE, "What it says.", {"": latents})
    request = continuation_request(latents)
    ways: dict[str, tuple[Callable[[], bytes], Callable[[bytes], object], bool]] = {
        "like speech, 48 kHz": (lambda: take_parcel(speech, RATE), opened, True),
        "noise, 48 kHz": (lambda: take_parcel(noise, RATE), opened, True),
        "draft voice": (lambda: take_parcel(Speech(draft), spoken.RATE), opened, True),
        "request and prompt": (
            lambda: codec.encode_request(request, settings), codec.unpack_parcel, False,
        ),
        "request, prompt there": (
            lambda: codec.encode_request(request, settings, "a" * 64), codec.unpack_parcel,
            False,
        ),
        "reference, once": (
            lambda: codec.encode_reference(clip), codec.decode_reference, False,
        ),
    }  # fmt: skip
    rows: dict[str, Any] = {}
    with processes(port, [("benchmarks.crowd", port, 0, 1)]):
        cluster = DaskCluster(ClusterPlace("127.0.0.1", port), ignore_message)
        try:
            while not (machines := cluster.machines()):
                time.sleep(0.1)
            (address,) = machines

            def travel(parcel: bytes, length: int) -> None:
                cluster.send(address, crowd.answer, parcel, length, resource="sleeper")
                assert not cluster.arrivals.get(timeout=30).error

            nothing = timed(lambda: travel(b"x", 1))
            print("ten seconds of speech, through the scheduler on loopback (there and back with "
                  f"nothing: {nothing:.1f} ms)")  # fmt: skip
            print(f"{'':>22} {'kB':>6} {'pack ms':>8} {'travel ms':>10} {'open ms':>8}")
            for name, (pack, unpack, home) in ways.items():
                parcel = pack()
                size = len(parcel)
                row = {
                    "kB": size / 1000,
                    "pack_ms": timed(pack),
                    "travel_ms": timed(partial(travel, b"x" if home else parcel,
                                               size if home else 1)),
                    "open_ms": timed(partial(unpack, parcel)),
                }  # fmt: skip
                rows[name] = {key: round(figure, 2) for key, figure in row.items()}
                print(f"{name:>22} {row['kB']:6.0f} {row['pack_ms']:8.1f} "
                      f"{row['travel_ms']:10.1f} {row['open_ms']:8.1f}", flush=True)  # fmt: skip
        finally:
            cluster.close()
    return rows | {"nothing_ms": round(nothing, 2)}


# -- a thousand machines ---------------------------------------------------------------------------


def thousand_table(count: int, port: int) -> dict[str, Any]:
    """Measures the computing time of the client and of Dask's scheduler for so many machines."""
    takes = count * SLOTS / 10
    print(f"{count} machines of {SLOTS} slots, {takes:.0f} takes of ten seconds a second")
    tasks = {
        f"{n} {key}": Task(f"{n} {key}", task.parent and f"{n} {task.parent}", task.expected)
        for n in range(1 + 4 * count * SLOTS // 2000)
        for key, task in generated().items()
    }
    speeds = list(itertools.islice(itertools.cycle((1.0, 1.0, 0.5, 0.25)), count))
    run = virtual.simulate(tasks, speeds, SLOTS, 0.2, 1, thinking=True)
    ours = 1000 * run.cpu / len(tasks)
    print(f"session and placing, {len(tasks)} takes: {ours:.2f} ms of CPU a take", flush=True)
    rows: dict[str, Any] = {"client_ms": round(ours, 3)}
    # descriptors: the scheduler has some for each
    _, limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    with processes(port, [("benchmarks.crowd", port, 0, count)]) as running:
        cluster = DaskCluster(ClusterPlace("127.0.0.1", port), ignore_message)
        try:
            while len(cluster.machines() or {}) < count:
                time.sleep(0.5)
            began, before = time.monotonic(), _cpu(running)["scheduler"]
            time.sleep(10)
            idle = (_cpu(running)["scheduler"] - before) / (time.monotonic() - began)
            print(f"Dask's scheduler, nothing to do: {idle:.1%} of a core", flush=True)
            rows["scheduler_idle"] = round(idle, 4)
            for length in (1_000, 600_000):
                each = 1000 * _through(cluster, running, idle, length, 2000)
                share = idle + each * takes / 1000
                print(f"Dask's scheduler, takes of {length / 1000:.0f} kB: {each:.2f} ms of CPU a "
                      f"take, {share:.2f} cores in all", flush=True)  # fmt: skip
                rows[f"scheduler_ms_{length // 1000}_kB"] = round(each, 3)
        finally:
            cluster.close()
    return rows


def _through(
    cluster: DaskCluster,
    running: Sequence[subprocess.Popen[bytes]],
    idle: float,
    length: int,
    takes: int,
) -> float:
    """CPU seconds of the scheduler for each take of so many bytes, beside what it has idle."""
    addresses = itertools.cycle(cluster.machines() or {})
    sent_count = arrived_count = 0
    began, before = time.monotonic(), _cpu(running)["scheduler"]
    while arrived_count < takes:
        while sent_count - arrived_count < 100 and sent_count < takes:
            cluster.send(next(addresses), crowd.answer, bytes(70_000), length, resource="sleeper")
            sent_count += 1
        assert not cluster.arrivals.get(timeout=60).error
        arrived_count += 1
    spent = _cpu(running)["scheduler"] - before - idle * (time.monotonic() - began)
    return spent / takes


PARTS = ("virtual", "way", "thousand", "processes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("book", nargs="?", type=Path, help="none: a made book of like shape")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--seconds", type=float, default=60.0, help="of each run of processes")
    parser.add_argument("--scale", type=float, default=0.2, help="seconds slept for a model's one")
    parser.add_argument("--jitter", type=float, default=0.2)
    parser.add_argument("--machines", type=int, default=1000)
    parser.add_argument("--port", type=int, default=18786)
    options = parser.parse_args()
    tasks, report = tasks_of(options.book), dict[str, Any]()
    with tempfile.TemporaryDirectory(prefix="narrator-bench-") as scratch:
        os.environ["NARRATOR_HOME"] = scratch
        if "virtual" in options.only:
            report["virtual"] = virtual_table(tasks, options.jitter)
        if "way" in options.only:
            report["way"] = way_table(options.port)
        if "thousand" in options.only:
            report["thousand"] = thousand_table(options.machines, options.port + 1)
        if "processes" in options.only:
            report["processes"] = processes_table(
                tasks, options.seconds, options.scale, options.port + 2
            )
    print(json.dumps({"bench": "cluster", "cores": os.cpu_count(), "chunks": len(tasks), **report}))


if __name__ == "__main__":
    main()
