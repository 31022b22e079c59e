"""Worker processes: what becomes of the requests of one that dies."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from narrator.engines import Outcome, Request, Speech
from narrator.engines.workers import WorkerProgram, WorkerSession
from narrator.errors import EngineUnavailable
from tests.engines.builders import outcomes_of, request

SCRIPT = """\
import os, pathlib, signal, struct, sys
answer = struct.Struct("<BII")
def say(kind, payload=b""):
    sys.stdout.buffer.write(answer.pack(kind, len(payload), 0) + payload)
    sys.stdout.buffer.flush()
say(0)
for line in sys.stdin.buffer:
    mark = pathlib.Path(sys.argv[1])
    if line == b"die\\n" or (line == b"die once\\n" and not mark.exists()):
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    say(1, line)
"""


class EchoProgram(WorkerProgram):
    title = "the echo"
    retries_alone = True

    def __init__(self, mark: Path) -> None:
        self._mark = mark

    @property
    def command(self) -> Sequence[str]:
        return [sys.executable, "-I", "-S", "-c", SCRIPT, str(self._mark)]

    def pack(self, request: Request) -> bytes:
        return f"{request.text}\n".encode()

    def unpack(self, request: Request, kind: int, payload: bytes, extra: bytes) -> Outcome:
        samples = np.frombuffer(payload, np.uint8).astype(np.float32)
        return Outcome(request.key, request.attempt, speech=Speech(samples))


@pytest.fixture
def session(tmp_path: Path) -> Iterator[WorkerSession]:
    with closing(WorkerSession(EchoProgram(tmp_path / "died"), 2, 8)) as session:
        yield session


def test_a_request_whose_worker_died_is_spoken_alone_by_another(session):
    outcomes = outcomes_of(session, map(request, ("one", "die once", "two", "three", "four")))
    assert all(outcome.speech for outcome in outcomes.values())
    assert session.note == "1 at a time: a worker was killed (SIGKILL)"


def test_a_request_that_two_workers_die_of_is_given_up_by_name(session):
    outcomes = outcomes_of(session, map(request, ("one", "die", "two", "three")))
    assert str(outcomes.pop("die").failure) == "echo: its worker was killed (SIGKILL): 'die'"
    assert all(outcome.speech for outcome in outcomes.values())


def test_workers_are_gone_when_a_session_is_closed(session):
    workers = list(session._workers)
    session.close()
    assert {worker.process.returncode for worker in workers} == {-signal.SIGTERM}


class CrowdedProgram(EchoProgram):
    """Memory for one worker: others are killed while they load."""

    @property
    def command(self) -> Sequence[str]:
        load = (
            "import os, pathlib, signal, sys\n"
            "try: pathlib.Path(sys.argv[1] + '.lock').open('x')\n"
            "except FileExistsError: os.kill(os.getpid(), signal.SIGKILL)\n"
        )
        return [sys.executable, "-I", "-S", "-c", load + SCRIPT, str(self._mark)]


def test_workers_that_are_killed_while_they_load_leave_fewer(tmp_path):
    with closing(WorkerSession(CrowdedProgram(tmp_path / "died"), 3, 8)) as session:
        assert all(
            outcome.speech
            for outcome in outcomes_of(session, map(request, ("one", "two"))).values()
        )
        assert session.note == "1 at a time: a worker was killed (SIGKILL) while it loaded"


def test_where_no_worker_loads_the_run_ends(tmp_path):
    (tmp_path / "died.lock").touch()
    with pytest.raises(EngineUnavailable, match=r"does not start: its worker was killed \(SIGKILL"):
        WorkerSession(CrowdedProgram(tmp_path / "died"), 2, 8)
