"""Kokoro on processor cores: a worker process for each, with one thread.

Knows no network: `worker.py` loads it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from narrator import files
from narrator.engines import Outcome, Request, Speech, machine, models
from narrator.engines.kokoro import worker
from narrator.engines.kokoro.hiss import fade_hiss
from narrator.engines.kokoro.settings import KokoroSettings
from narrator.engines.kokoro.wording import SAMPLE_RATE, prepare, word_times
from narrator.engines.workers import WorkerProgram, WorkerSession
from textbase import processes

WORKER_BYTES, SHARED_BYTES = 700_000_000, 500_000_000
"""Memory of one worker that speaks chunks of 18 s, and of the weights that all of them share; see
kokoro82m/BENCHMARKS.md."""
MAX_WORKERS = 64
_START = """\
from narrator.engines.kokoro.worker import main
main(sys.argv[1])
"""


class KokoroProgram(WorkerProgram):
    """Worker processes of Kokoro: `worker.py` is their side of the pipes."""

    title = "Kokoro"
    timeout = 600.0  # a slow machine with a long chunk
    start_timeout = 600.0  # the first one makes the graphs
    retries_alone = True

    def __init__(self, folder: Path, cache: Path) -> None:
        self._folder, self._cache = folder, cache

    @property
    def command(self) -> Sequence[str]:
        folders = json.dumps([str(self._folder), str(self._cache)])
        return processes.python_command(_START, folders)

    @property
    def environment(self) -> Mapping[str, str]:
        return {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

    def pack(self, request: Request) -> bytes:
        spoken = prepare(request)
        arguments = {  # of `kokoro82m.Voices.request`
            "phonemes": spoken.pronunciation.phonemes,
            "blend": dict(spoken.blend),
            "speed": spoken.speed,
            "seed": spoken.seed,
        }
        text = json.dumps(arguments).encode()
        return worker.REQUEST.pack(len(text)) + text

    def unpack(self, request: Request, kind: int, payload: bytes, extra: bytes) -> Outcome:
        if kind != worker.SPEECH:
            return self.fail(request, payload.decode("utf-8", "replace"))
        samples = np.frombuffer(payload, "<f4").astype(np.float32)
        durations = np.frombuffer(extra, "<i4")
        words = word_times(prepare(request).pronunciation, durations)
        speech = Speech(fade_hiss(samples, SAMPLE_RATE), words=words)
        return Outcome(request.key, request.attempt, speech=speech)


def count_workers(chosen: int | str) -> int:
    """Returns the number of workers: the manifest's, or as many as cores and memory allow."""
    if isinstance(chosen, int):
        return chosen
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    available = machine.memory().available
    if available is None:
        return min(cores or 1, MAX_WORKERS)
    affordable = (available - SHARED_BYTES) // WORKER_BYTES
    return max(1, min(cores or 1, affordable, MAX_WORKERS))


def start_workers(
    settings: KokoroSettings, folder: Path, tell: Callable[[str], None]
) -> WorkerSession:
    """Starts the workers. Raises EngineUnavailable."""
    count = count_workers(settings.slots)
    number = "1 process" if count == 1 else f"{count} processes"
    tell(f"loading Kokoro ({settings.model}) in {number} …")
    program = KokoroProgram(folder, files.library() / "models" / models.GRAPHS)
    return WorkerSession(program, count, 2 * count)
