"""Speech from worker processes: requests go out over pipes, and samples come back.

A session keeps each worker supplied with a request to speak and one to go on with. A worker that
dies or hangs is replaced. Knows no engine: a `WorkerProgram` says how a worker is started, and how
a request and its answer travel.

An answer is a kind (uint8), two uint32 lengths and that many bytes: a payload and what goes with
it. A worker's first answer has the kind `READY`, or a message that says why it cannot speak.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import struct
import subprocess
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from narrator import processes
from narrator.engines import Outcome, Request
from narrator.errors import EngineFailure, EngineUnavailable

ANSWER = struct.Struct("<BII")
READY = 0
AHEAD = 2
"""Requests at a worker at a time: one being spoken, one for when it is done."""
SHUTDOWN = 5.0
"""Seconds that a worker may take to end."""


class WorkerProgram(ABC):
    """How an engine's workers are started and what passes between them and a session."""

    title: str
    """The engine's name in messages: "the draft voice"."""
    timeout: float = 60.0
    """Seconds without a sign of life from a worker that has work."""
    start_timeout: float = 60.0
    """Seconds until a new worker must be ready."""
    retries_alone: bool = False
    """Whether the request of a worker that died is tried once more, with no other beside it:
    memory may have run out. Then one worker fewer goes on."""

    @property
    @abstractmethod
    def command(self) -> Sequence[str]: ...

    @property
    def folder(self) -> Path | None:
        """The folder that a worker runs in; this process's where it is None."""
        return None

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables of a worker beside those of this process."""
        return {}

    @abstractmethod
    def pack(self, request: Request) -> bytes:
        """A request as it goes to a worker."""

    @abstractmethod
    def unpack(self, request: Request, kind: int, payload: bytes, extra: bytes) -> Outcome:
        """A worker's answer to a request."""

    def fail(self, request: Request, reason: str) -> Outcome:
        """A request that a worker cannot speak."""
        text = request.text if len(request.text) <= 60 else request.text[:59] + "…"
        failure = EngineFailure(f"{self.title.removeprefix('the ')}: {reason}: {text!r}")
        return Outcome(request.key, request.attempt, failure=failure)


class WorkerSession:
    """Worker processes, each with a request to speak and one to go on with; the rest wait here."""

    def __init__(self, program: WorkerProgram, workers: int, slots: int) -> None:
        """Starts the workers, and waits until they can speak. Raises EngineUnavailable."""
        self._program = program
        self._count = workers
        self._selector = selectors.DefaultSelector()
        self._queue: deque[Request] = deque()
        self._suspects: set[tuple[str, int]] = set()
        """Requests that a worker died of: each is spoken alone."""
        self._workers: list[Worker] = []
        self.slots = slots
        self.busy = 1.0
        self.note = ""
        try:
            for _ in range(workers):
                self._start_worker()
            while not all(worker.ready for worker in self._workers):
                self.advance()
        except EngineUnavailable:
            self.close()
            raise

    def add(self, request: Request) -> None:
        """Take a request on; never waits."""
        self._queue.append(request)
        self._distribute()

    def advance(self) -> list[Outcome]:
        """Outcomes of what has finished, after at most half a second.

        Raises EngineUnavailable when a worker cannot be replaced.
        """
        if all(worker.ready and not worker.requests for worker in self._workers):
            return []
        outcomes: list[Outcome] = []
        for key, events in self._selector.select(0.5):
            worker: Worker = key.data
            if worker not in self._workers:
                continue  # replaced a moment ago
            if events & selectors.EVENT_WRITE:
                self._send(worker)
            if events & selectors.EVENT_READ:
                outcomes += self._receive(worker)
        now = time.monotonic()
        for worker in self._workers:
            limit = self._program.timeout if worker.ready else self._program.start_timeout
            if (worker.requests or not worker.ready) and now > worker.last_sign + limit:
                worker.is_overdue = True
                worker.kill()  # its pipe ends, and the next call replaces it
        self._distribute()
        return outcomes

    def close(self) -> None:
        """End the workers and what they are speaking. Requests in flight are dropped."""
        for worker in self._workers:
            worker.process.terminate()
        for worker in self._workers:
            self._dismiss(worker)
        self._workers.clear()
        self._queue.clear()
        self._selector.close()

    def _start_worker(self) -> None:
        try:
            worker = Worker(self._program)
        except OSError as error:
            raise EngineUnavailable(f"{self._program.title} does not start: {error}") from error
        self._workers.append(worker)
        self._selector.register(worker.stdout, selectors.EVENT_READ, worker)

    def _dismiss(self, worker: Worker) -> None:
        for pipe in (worker.stdout, worker.stdin):
            if pipe in self._selector.get_map():
                self._selector.unregister(pipe)
        worker.end()

    def _distribute(self) -> None:
        while self._queue and self._workers:
            worker = min(self._workers, key=lambda worker: len(worker.requests))
            if len(worker.requests) >= AHEAD or not self._may_send(self._queue[0]):
                return
            request = self._queue.popleft()
            if not worker.requests:
                worker.last_sign = time.monotonic()
            worker.requests.append(request)
            worker.outbox += self._program.pack(request)
            self._send(worker)

    def _may_send(self, request: Request) -> bool:
        """Whether a request must not wait until nothing else is spoken."""
        running = [other for worker in self._workers for other in worker.requests]
        alone = any((one.key, one.attempt) in self._suspects for one in (request, *running))
        return not (alone and running)

    def _send(self, worker: Worker) -> None:
        """Write what the worker's pipe takes, and the rest when it takes more."""
        try:
            while worker.outbox:
                del worker.outbox[: os.write(worker.stdin.fileno(), worker.outbox)]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            worker.outbox.clear()  # it is gone: the end of its stdout tells
        is_registered = worker.stdin in self._selector.get_map()
        if worker.outbox and not is_registered:
            self._selector.register(worker.stdin, selectors.EVENT_WRITE, worker)
        elif is_registered and not worker.outbox:
            self._selector.unregister(worker.stdin)

    def _receive(self, worker: Worker) -> list[Outcome]:
        try:
            data = os.read(worker.stdout.fileno(), 1 << 20)
        except BlockingIOError:
            return []
        if not data:
            return self._replace(worker)
        worker.last_sign = time.monotonic()
        worker.inbox += data
        outcomes: list[Outcome] = []
        while (answer := worker.answer()) is not None:
            kind, payload, extra = answer
            if not worker.ready:
                if kind != READY:
                    message = payload.decode("utf-8", "replace")
                    raise EngineUnavailable(f"{self._program.title} does not start: {message}")
                worker.ready = True
                continue
            request = worker.requests.popleft()
            self._suspects.discard((request.key, request.attempt))
            outcomes.append(self._program.unpack(request, kind, payload, extra))
        return outcomes

    def _replace(self, worker: Worker) -> list[Outcome]:
        """The worker is gone: what it was speaking failed, or is tried alone; what it had not begun
        waits again."""
        self._workers.remove(worker)
        self._dismiss(worker)
        ending = processes.ending(worker.process.returncode)
        if not worker.ready:
            return self._start_fewer(worker, ending)
        outcomes: list[Outcome] = []
        if worker.requests:
            request = worker.requests.popleft()
            name = (request.key, request.attempt)
            self._queue.extendleft(reversed(worker.requests))
            limit = f"took more than {self._program.timeout:.0f} s"
            end = limit if worker.is_overdue else ending
            if self._program.retries_alone and name not in self._suspects:
                self._suspects.add(name)
                self._queue.appendleft(request)
                self._count = max(1, self._count - 1)
                self.note = f"{self._count} at a time: a worker {end}"
            else:
                self._suspects.discard(name)
                outcomes.append(self._program.fail(request, f"its worker {end}"))
        if len(self._workers) < self._count:
            self._start_worker()
        return outcomes

    def _start_fewer(self, worker: Worker, ending: str) -> list[Outcome]:
        """A worker is gone before it could speak: where it was killed, memory may bear fewer.

        Raises EngineUnavailable where none is left to try.
        """
        was_killed = worker.process.returncode < 0 and not worker.is_overdue
        if not was_killed or self._count == 1:
            raise EngineUnavailable(f"{self._program.title} does not start: its worker {ending}")
        self._count -= 1
        self.note = f"{self._count} at a time: a worker {ending} while it loaded"
        if len(self._workers) < self._count:
            self._start_worker()
        return []


class Worker:
    """One process, and what is on its way to and from it."""

    def __init__(self, program: WorkerProgram) -> None:
        self.process = subprocess.Popen(
            program.command,
            cwd=program.folder,
            env={**os.environ, **program.environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            process_group=0,  # ctrl-C in a terminal is for us
        )
        assert self.process.stdin
        assert self.process.stdout
        self.stdin: IO[bytes] = self.process.stdin
        self.stdout: IO[bytes] = self.process.stdout
        os.set_blocking(self.stdin.fileno(), False)
        os.set_blocking(self.stdout.fileno(), False)
        self.ready = False
        self.is_overdue = False
        self.last_sign = time.monotonic()
        self.requests: deque[Request] = deque()
        self.outbox = bytearray()
        self.inbox = bytearray()

    def answer(self) -> tuple[int, bytes, bytes] | None:
        """The next answer that has arrived whole."""
        start = ANSWER.size
        if len(self.inbox) < start:
            return None
        kind, length, extra_length = ANSWER.unpack_from(self.inbox)
        middle, end = start + length, start + length + extra_length
        if len(self.inbox) < end:
            return None
        payload, extra = bytes(self.inbox[start:middle]), bytes(self.inbox[middle:end])
        del self.inbox[:end]
        return kind, payload, extra

    def kill(self) -> None:
        """End the process and its forks at once, also when a fork alone is left."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def end(self) -> None:
        """Close the pipes and wait for the process, which was told to end or has ended."""
        self.stdin.close()
        self.stdout.close()
        try:
            self.process.wait(SHUTDOWN)
        except subprocess.TimeoutExpired:
            self.kill()
            self.process.wait()
