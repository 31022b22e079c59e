"""Many clients of `narrator serve` with the draft voice: latencies, and the server's memory.

    python -m benchmarks.serve [--clients 64] [--seconds 600] [--format mp3]

Each client asks for one text after another, of a sentence to half a page, on a connection of its
own; one in twenty leaves before the end. The last line is JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORDS = (
    "river lamp walked over under the a of and with quiet stone morning she he they said went "
    "window road letter house garden winter slowly once again never always small great old new "
    "harbour ship captain storm night day light dark hand voice door table bread water"
).split()
VOICES = ("alloy", "echo", "nova", "onyx", "Ada", "Ben")
LEAVES = 0.05
"""Share of requests whose client does not hear the end."""


@dataclass
class Tally:
    """What clients have found, together."""

    firsts: list[float] = field(default_factory=list)
    wholes: list[float] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)
    bytes: int = 0
    mutex: threading.Lock = field(default_factory=threading.Lock)

    def add(self, outcome: str, first: float = 0.0, whole: float = 0.0, size: int = 0) -> None:
        with self.mutex:
            self.outcomes[outcome] += 1
            self.bytes += size
            if outcome == "heard":
                self.firsts.append(first)
                self.wholes.append(whole)


def text(draw: random.Random) -> str:
    count = draw.choice((1, 1, 1, 2, 3, 8))
    sentences = (" ".join(draw.choices(WORDS, k=draw.randint(5, 16))) for _ in range(count))
    return " ".join(f"{sentence.capitalize()}." for sentence in sentences)


def client(number: int, port: int, form: str, until: float, tally: Tally) -> None:
    draw = random.Random(number)
    while time.monotonic() < until:
        wire = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        with contextlib.closing(wire):
            while time.monotonic() < until:
                try:
                    if not ask(draw, wire, form, tally):
                        break
                except (OSError, http.client.HTTPException) as error:
                    tally.add(type(error).__name__)
                    break


def ask(draw: random.Random, wire: http.client.HTTPConnection, form: str, tally: Tally) -> bool:
    """One text; whether the connection may be used again."""
    asked = {"model": "tts-1", "voice": draw.choice(VOICES), "input": text(draw)}
    began = time.monotonic()
    wire.request(
        "POST",
        "/v1/audio/speech",
        json.dumps({**asked, "response_format": form}),
        {"content-type": "application/json"},
    )
    if draw.random() < LEAVES:
        tally.add("left")
        return False
    answer = wire.getresponse()
    first = answer.read(1)
    at = time.monotonic() - began
    whole = first + answer.read()
    if answer.status != 200:
        tally.add(str(answer.status))
    else:
        tally.add("heard", at, time.monotonic() - began, len(whole))
    return True


def memory(process: int) -> float:
    """MB that a process has, without its workers."""
    status = Path(f"/proc/{process}/status")
    if not status.exists():
        said = subprocess.run(
            ["ps", "-o", "rss=", "-p", str(process)], capture_output=True, text=True, check=True
        )
        return int(said.stdout) / 1024
    rows = dict(row.split(":", 1) for row in status.read_text().splitlines() if ":" in row)
    return int(rows["VmRSS"].split()[0]) / 1024


def share(values: list[float], part: float) -> float:
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, int(part * len(ordered)))], 3) if ordered else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--format", default="mp3")
    given = parser.parse_args()
    command = [sys.executable, "-m", "narrator", "serve", "--draft"]
    log = Path(os.environ.get("TMPDIR", "/tmp")) / f"narrator-serve-{os.getpid()}.log"
    with (
        log.open("w") as said,
        subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=said, text=True
        ) as server,
    ):
        assert server.stdout is not None
        port = int(server.stdout.readline().rpartition(":")[2].partition("/")[0])
        tally, began = Tally(), time.monotonic()
        until = began + given.seconds
        threads = [
            threading.Thread(target=client, args=[n, port, given.format, until, tally])
            for n in range(given.clients)
        ]
        for thread in threads:
            thread.start()
        held = []
        while any(thread.is_alive() for thread in threads):
            time.sleep(min(5.0, given.seconds / 20))
            held.append(memory(server.pid))
            print(f"{time.monotonic() - began:6.0f} s  {held[-1]:6.0f} MB  {dict(tally.outcomes)}")
        wall = time.monotonic() - began
        server.terminate()
        code = server.wait(60)
    half = held[len(held) // 2 :] or held
    print(json.dumps({
        "clients": given.clients, "seconds": round(wall), "format": given.format,
        "outcomes": dict(tally.outcomes), "requests_per_second": round(len(tally.wholes) / wall, 1),
        "first": {name: share(tally.firsts, part) for name, part in PARTS.items()},
        "whole": {name: share(tally.wholes, part) for name, part in PARTS.items()},
        "memory_mb": {"at_half": round(half[0]), "most": round(max(held)), "end": round(held[-1])},
        "exit": code, "log": str(log),
    }))  # fmt: skip


PARTS = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "most": 1.0}

if __name__ == "__main__":
    main()
