"""narrator in a process of its own, to be killed: forked from one that has imported everything."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["narrator.cli", "narrator.pipeline.run"])


def start(said: Path, *arguments: str | Path) -> BaseProcess:
    """`narrator` with these arguments, in a session of its own; what it says goes to a file."""
    return forked(_into, os.fspath(said), ["narrator", *map(str, arguments)])


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


def _into(said: str, command: list[str]) -> None:
    from narrator import cli

    os.setsid()
    file = os.open(said, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(file, stream)
    sys.argv = command
    cli.main()
