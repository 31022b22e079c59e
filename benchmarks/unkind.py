"""A cluster whose processes are killed: no take is lost or wrong, and what is spoken twice counts.

    python -m benchmarks.unkind [--kills 50] [--seed 0]

A book with chains is rendered by a scheduler, three machines and a client, each a process. At
random moments one of them is killed (`kill -9`), and started again a little later. In the end every
take must be there and be what one process alone makes of it; what the machines spoke is counted
beside what there was to speak. Ends with one JSON line. Exit code 1 where anything is lost or
otherwise.

Measured on two cores of an x86 server: see the last lines of this text.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from narrator import keys
from narrator.engines import Engine, Outcome, Request, Speech, ignore_message
from narrator.engines.cluster import credentials
from narrator.engines.cluster.engine import ClusterEngine
from narrator.engines.draft import DraftSpec
from narrator.engines.registry import ENGINES
from narrator.engines.voice import Voice
from narrator.project.load import load
from narrator.speech.store import Store
from tests import books

NAME = "mumble"
RATE = 8000
PACE = float(os.environ.get("UNKIND_PACE", "0.25"))
"""Seconds that a second of speech takes in a slot."""
SLOTS = 4
MACHINES = ("a", "b", "c")


class Mumbling:
    """A session whose requests take their time, side by side."""

    def __init__(self, engine: MumbleEngine) -> None:
        self.engine, self.slots, self.busy, self.note = engine, SLOTS, 1.0, ""
        self._flying: list[tuple[float, Request]] = []

    def add(self, request: Request) -> None:
        self._flying.append((time.monotonic() + PACE * request.expected, request))
        self._flying.sort(key=lambda pair: pair[0])

    def advance(self) -> Sequence[Outcome]:
        if self._flying:
            time.sleep(min(0.1, max(0.0, self._flying[0][0] - time.monotonic())))
        now = time.monotonic()
        done = [request for at, request in self._flying if at <= now]
        self._flying = [pair for pair in self._flying if pair[0] > now]
        return [Outcome(r.key, r.attempt, speech=self.engine.say(r)) for r in done]

    def close(self) -> None:
        self._flying.clear()


class MumbleEngine(Engine):
    """Noise that follows from text, seed, attempt and prompt alone, in its own time."""

    name, sample_rate = NAME, RATE
    continues, anchors, max_context_seconds = True, True, 25.0
    sound_parameters = ("seed",)

    def __init__(self, log: Path | None = None) -> None:
        self._log = log

    def say(self, request: Request) -> Speech:
        before = request.prompt.state if request.prompt else None
        mark = "" if before is None else keys.content(np.ascontiguousarray(before).tobytes())
        seed = keys.number(f"{request.text} {request.seed} {request.attempt} {mark}")
        if self._log is not None:
            with self._log.open("a") as file:
                file.write(f"{seed}\n")
        draw = np.random.default_rng(seed)
        sound = draw.normal(0, 0.05, round(max(0.3, request.expected) * RATE)).astype(np.float32)
        edge = np.zeros(RATE // 10, np.float32)
        return Speech(
            np.concatenate([edge, sound, edge]), draw.normal(size=(20, 4, 3)).astype("f4")
        )

    def identity(self) -> Mapping[str, Any]:
        return {"name": NAME}

    def voice_content(self, voice: Voice, language: str) -> Mapping[str, Any]:
        return {"speaker": voice.speaker}

    def start(self, tell: Callable[[str], None] = ignore_message) -> Mumbling:
        return Mumbling(self)


# -- processes -------------------------------------------------------------------------------------


def scheduler(port: int) -> None:
    from narrator.engines.cluster import programs

    programs.run_scheduler(
        credentials.listening_place("127.0.0.1", port, insecure=True), None, print
    )


def machine(port: int, name: str, log: Path) -> None:
    from narrator.engines.cluster import programs

    class MumbleSpec(DraftSpec):
        name = NAME

        def make(self, *_: object) -> MumbleEngine:
            return MumbleEngine(log)

    ENGINES[NAME] = MumbleSpec()
    programs.run_machine(place(port), name, None, [NAME], print)


def client(port: int, book: Path) -> None:
    engine: Engine = ClusterEngine(MumbleEngine(), {"name": NAME}, place(port))
    watcher = books.Watcher()
    watcher.starting = print
    report, _ = books.speak(book, engine, watcher)
    print(report.result.note, flush=True)


def place(port: int) -> credentials.ClusterPlace:
    return credentials.ClusterPlace("127.0.0.1", port)


class Cast:
    """The processes of a run, each of which can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.book = folder, book_in(folder / "book")
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = found.getsockname()[1]
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, who: str) -> None:
        role, given = {
            "scheduler": ("scheduler", []),
            "client": ("client", [str(self.book)]),
        }.get(who, ("machine", [who, str(self.folder / f"spoken-{who}")]))
        command = [sys.executable, __file__, "--role", role, str(self.port), *given]
        said = (self.folder / f"{who}.txt").open("ab")
        environment = {**os.environ, "NARRATOR_HOME": str(self.folder / "home")}
        self.running[who] = subprocess.Popen(
            command, stdout=said, stderr=said, env=environment, start_new_session=True
        )
        said.close()

    def kill(self, who: str) -> None:
        process = self.running[who]
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def end(self) -> None:
        for who in self.running:
            self.kill(who)


def book_in(folder: Path) -> Path:
    draw = random.Random(1)
    words = [f"{a}{b}{c}" for a in "bdfglmnprst" for b in "aeiou" for c in ("l", "n", "r", "st")]

    def chapter() -> str:
        return "\n\n".join(
            " ".join(draw.choices(words, k=draw.randrange(8, 30))).capitalize() + "."
            for _ in range(70)
        )

    return books.write(folder, one=f"{chapter()}\n", two=f"{chapter()}\n")


def contents(book: Path) -> dict[str, str]:
    """What each take of a book holds, by key."""
    store = Store.open(load(book).takes, writing=False)
    return {key: keys.content(store.read(key)[0].tobytes()) for key, _ in store.stored()}


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--kills", type=int, default=50)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--role")
    options.add_argument("given", nargs="*")
    asked = options.parse_args()
    if asked.role == "scheduler":
        return scheduler(int(asked.given[0]))
    if asked.role == "machine":
        return machine(int(asked.given[0]), asked.given[1], Path(asked.given[2]))
    if asked.role == "client":
        return client(int(asked.given[0]), Path(asked.given[1]))
    with tempfile.TemporaryDirectory(prefix="unkind-") as folder:
        sys.exit(run(Path(folder), asked.kills, random.Random(asked.seed)))


def run(folder: Path, kills: int, draw: random.Random) -> int:
    alone = book_in(folder / "alone")
    books.speak(alone, MumbleEngine(folder / "spoken-alone"))
    wanted = contents(alone)
    assert wanted
    there = len((folder / "spoken-alone").read_text().split())
    killed: Counter[str] = Counter()
    runs = lost = wrong = spoken = 0
    began = time.monotonic()
    while killed.total() < kills:
        runs += 1
        cast = Cast(folder / f"run-{runs}")
        try:
            torment(cast, kills, killed, draw)
        finally:
            cast.end()
        found = contents(cast.book)
        lost += len(wanted.keys() - found.keys())
        wrong += sum(found[key] != wanted[key] for key in wanted.keys() & found.keys())
        wrong += len(found.keys() - wanted.keys())
        spoken += sum(len(path.read_text().split()) for path in cast.folder.glob("spoken-*"))
        print(f"run {runs}: {dict(killed)}, lost {lost}, otherwise {wrong}, "
              f"spoken {spoken} of {runs * there}", flush=True)  # fmt: skip
    again = spoken - runs * there
    print(json.dumps({
        "kills": dict(killed), "runs": runs, "takes": runs * len(wanted), "lost": lost,
        "otherwise": wrong, "spoken": spoken, "spoken_again": again,
        "share_again": round(again / spoken, 4), "seconds": round(time.monotonic() - began),
    }))  # fmt: skip
    return 1 if lost or wrong else 0


def torment(cast: Cast, kills: int, killed: Counter[str], draw: random.Random) -> None:
    """A render until it is through, with kills at random moments."""
    cast.start("scheduler")
    for name in MACHINES:
        cast.start(name)
    time.sleep(4.0)
    cast.start("client")
    while True:
        until = time.monotonic() + draw.uniform(1.0, 8.0)
        while time.monotonic() < until:
            code = cast.running["client"].poll()
            if code == 0:
                return
            if code is not None:
                cast.start("client")  # what an author does who finds it stopped
            time.sleep(0.05)
        if killed.total() < kills:
            who = draw.choice(("scheduler", "client", *MACHINES))
            cast.kill(who)
            killed["machine" if who in MACHINES else who] += 1
            threading.Timer(draw.uniform(0.0, 3.0), cast.start, [who]).start()
            time.sleep(0.1)
            while cast.running[who].poll() is not None:
                time.sleep(0.05)


if __name__ == "__main__":
    main()
