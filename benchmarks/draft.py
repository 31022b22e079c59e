"""How fast the draft voice speaks: lines of three lengths through a session, by number of workers.

    python -m benchmarks.draft

Prints a table, then one line of JSON. Where other programs run too, the figure to trust is speech
for a second of processor time, of this process and its workers together.
"""

from __future__ import annotations

import json
import os
import random
import resource
import time
import zlib
from collections.abc import Sequence

import psutil

from narrator.engines import Request
from narrator.engines.draft.espeak import TAIL_SECONDS, DraftEngine
from narrator.engines.voice import Voice
from narrator.engines.workers import WorkerSession

TEXT = """
the of and to in was her with that had for not but at his as they from on all were by which old
captain letter morning river nothing daughter window carriage remembered slowly answered gentleman
whispered mountain yesterday, evening, silence; between suddenly understood garden
"""
WORDS = TEXT.split()
LENGTHS = {"short": 6, "chunk": 28, "long": 85}
"""Words: about 2, 10 and 30 seconds."""
SPEAKERS = ("narrator", "Alice", "Bob", "Maya", "Theo")
LINES = 400


def lines(words: int) -> list[Request]:
    draw = random.Random(words)
    return [
        Request(
            key=f"{words}-{number}",
            text=" ".join(draw.choices(WORDS, k=words)).capitalize() + ".",
            language="en-GB",
            voice=Voice(SPEAKERS[number % len(SPEAKERS)]),
            style=None,
            parameters={},
            seed=0,
            attempt=0,
            expected=0.0,
        )
        for number in range(LINES)
    ]


def speak(session: WorkerSession, requests: Sequence[Request]) -> tuple[float, dict[str, int]]:
    """Seconds of speech without the silence after each line; a checksum of each line's samples."""
    waiting = list(reversed(requests))
    busy = samples = 0
    sums: dict[str, int] = {}
    while waiting or busy:
        while waiting and busy < session.slots:
            session.add(waiting.pop())
            busy += 1
        for outcome in session.advance():
            busy -= 1
            assert outcome.speech is not None, outcome.failure
            samples += len(outcome.speech.samples) - round(TAIL_SECONDS * DraftEngine.sample_rate)
            sums[outcome.key] = zlib.crc32(outcome.speech.samples.tobytes())
    return samples / DraftEngine.sample_rate, sums


def resident() -> float:
    """Megabytes that this process and its children hold now."""
    this_process = psutil.Process()
    family = [this_process, *this_process.children()]
    return sum(process.memory_info().rss for process in family) / (1 << 20)


def processor() -> float:
    """Seconds that this process and its ended children have used."""
    usage = [
        resource.getrusage(usage_kind)
        for usage_kind in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    ]
    return sum(each.ru_utime + each.ru_stime for each in usage)


def main() -> None:
    everyone = os.cpu_count() or 1
    print(f"{'workers':>8} {'lines':>8} {'speech s':>9} {'wall s':>7} {'x real':>7} {'ms/line':>8}")
    rows = []
    totals = []
    checksums: dict[str, int] = {}
    for workers in sorted({1, everyone}):
        used, speech_s = processor(), 0.0
        began = time.perf_counter()
        session = DraftEngine(workers).start()
        start = time.perf_counter() - began
        for name, words in LENGTHS.items():
            began = time.perf_counter()
            speech, sums = speak(session, lines(words))
            wall = time.perf_counter() - began
            speech_s += speech
            assert all(
                checksums.setdefault(key, checksum) == checksum for key, checksum in sums.items()
            )
            rows.append(
                {
                    "workers": workers,
                    "lines": name,
                    "speech_s": round(speech, 1),
                    "wall_s": round(wall, 3),
                    "times_real_time": round(speech / wall),
                    "ms_per_line": round(1000 * wall / LINES, 2),
                }
            )
            print(
                f"{workers:8} {name:>8} {speech:9.1f} {wall:7.2f} {speech / wall:7.0f} "
                f"{1000 * wall / LINES:8.2f}"
            )
        resident_mb = resident()
        session.close()
        used = processor() - used
        print(
            f"{workers:8} started in {1000 * start:.0f} ms, held {resident_mb:.0f} MB with this "
            f"process, spoke {speech_s / used:.0f} s for a second of processor time"
        )
        totals.append(
            {
                "workers": workers,
                "start_ms": round(1000 * start),
                "resident_mb": round(resident_mb),
                "speech_per_cpu_s": round(speech_s / used),
            }
        )
    print(json.dumps({"bench": "draft", "cores": everyone, "rows": rows, "totals": totals}))


if __name__ == "__main__":
    main()
