"""narrator in a process of its own, to be killed: forked from one that has imported everything
that a render takes."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

import psutil

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    [
        "narrator.cli",
        "narrator.delivery.finish",
        "narrator.engines.draft.espeak",
        "narrator.pipeline.jobs.execution",
        "narrator.pipeline.jobs.client",
        "narrator.pipeline.run",
        "numpy.random",
        "pysbd",
    ]
)


def start(said: Path, *arguments: str | Path, answers: Path | None = None) -> BaseProcess:
    """`narrator` with these arguments, in a session of its own; what it says goes to a file, which
    may be a pipe, and what it answers to another one, if any."""
    places = [os.fspath(answers or said), os.fspath(said)]
    return forked(_into, places, ["narrator", *map(str, arguments)])


def forked(run: Callable[..., None], *arguments: object) -> BaseProcess:
    """A process that calls a function of a module's own level."""
    process = _FORKS.Process(target=run, args=arguments)
    process.start()
    return process


def code(process: BaseProcess, seconds: float = 60) -> int:
    """What a process ends with, within so many seconds."""
    process.join(seconds)
    assert process.exitcode is not None, "still at work"
    return process.exitcode


def _into(places: list[str], command: list[str]) -> None:
    from narrator import cli

    os.setsid()
    files = {place: os.open(place, os.O_CREAT | os.O_WRONLY | os.O_TRUNC) for place in set(places)}
    for stream, place in enumerate(places, 1):
        os.dup2(files[place], stream)
    for file in files.values():
        os.close(file)
    # new ones: what these were may have been a file, which can be sought
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.argv = command
    cli.main()


def running_in_group(group: int) -> list[int]:
    """The processes of a group that have not ended."""
    running = []
    for process in psutil.process_iter(["status"]):
        with contextlib.suppress(ProcessLookupError):
            is_member = os.getpgid(process.pid) == group
            if is_member and process.info["status"] != psutil.STATUS_ZOMBIE:
                running.append(process.pid)
    return running
