"""Speech from worker processes: requests go out over pipes, and samples come back.

A session keeps each worker supplied with a request to speak and a next one. A worker that dies or
hangs is replaced. Knows no engine: a `WorkerProgram` defines how a worker is started, and how
requests and answers are encoded.

An answer is a kind (uint8), two uint32 lengths and that many bytes: a payload and extra data. A
worker's first answer has the kind `READY`, or a message that says why it cannot speak.
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

from narrator.engines import Outcome, Request
from narrator.engines.preparation import failed_outcome
from narrator.errors import EngineFailure, EngineUnavailable
from textbase import processes

ANSWER = struct.Struct("<BII")
READY = 0
REQUESTS_PER_WORKER = 2
"""Requests at a worker at a time: one being spoken and the next."""
SHUTDOWN_TIMEOUT = 5.0
"""Seconds that a worker may take to exit."""


class WorkerProgram(ABC):
    """Defines how an engine's workers are started and how requests and answers are encoded."""

    title: str
    """The engine's name in messages: "the draft voice"."""
    timeout: float = 60.0
    """Seconds without output from a worker that has work."""
    start_timeout: float = 60.0
    """Seconds until a new worker must be ready."""
    retries_alone: bool = False
    """Whether the request of a worker that died is tried once more, while no other runs, since
    memory may have run out. Then one worker fewer is used."""

    @property
    @abstractmethod
    def command(self) -> Sequence[str]: ...

    @property
    def folder(self) -> Path | None:
        """The working folder of a worker; None for this process's."""
        return None

    @property
    def environment(self) -> Mapping[str, str]:
        """Environment variables of a worker in addition to those of this process."""
        return {}

    @abstractmethod
    def pack(self, request: Request) -> bytes:
        """Encodes a request for a worker. Raises EngineFailure if none can speak it."""

    @abstractmethod
    def unpack(self, request: Request, kind: int, payload: bytes, extra: bytes) -> Outcome:
        """Decodes a worker's answer to a request."""

    def fail(self, request: Request, reason: str) -> Outcome:
        """Returns the outcome of a request that no worker can speak."""
        return failed_outcome(self.title.removeprefix("the "), request, reason)


class WorkerSession:
    """Worker processes, each with a request to speak and a next one; the others wait here."""

    def __init__(self, program: WorkerProgram, workers: int, slots: int) -> None:
        """Starts the workers, and waits until they can speak. Raises EngineUnavailable."""
        self._program = program
        self._count = workers
        self._selector = selectors.DefaultSelector()
        self._queue: deque[Request] = deque()
        self._suspects: set[tuple[str, int]] = set()
        """(key, attempt) of requests during which a worker died: each is spoken alone."""
        self._workers: list[Worker] = []
        self._outcomes: list[Outcome] = []
        """Failures of requests that were never sent."""
        self.slots = slots
        self.busy = 1.0
        self.note = ""
        try:
            for _ in range(workers):
                self._start_worker()
            while not all(worker.is_ready for worker in self._workers):
                self.advance()
        except EngineUnavailable:
            self.close()
            raise

    def add(self, request: Request) -> None:
        """Accepts a request; never waits."""
        self._queue.append(request)
        self._distribute()

    def advance(self) -> list[Outcome]:
        """Returns outcomes of what has finished, after at most half a second.

        Raises EngineUnavailable when a worker cannot be replaced.
        """
        outcomes, self._outcomes = self._outcomes, []
        if outcomes or all(worker.is_ready and not worker.requests for worker in self._workers):
            return outcomes
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
            limit = self._program.timeout if worker.is_ready else self._program.start_timeout
            if (worker.requests or not worker.is_ready) and now > worker.last_sign + limit:
                worker.is_overdue = True
                worker.kill()  # its pipe ends, and the next call replaces it
        self._distribute()
        return outcomes

    def close(self) -> None:
        """Ends the workers. Requests in flight are dropped."""
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
            if len(worker.requests) >= REQUESTS_PER_WORKER or not self._may_send(self._queue[0]):
                return
            request = self._queue.popleft()
            try:
                message = self._program.pack(request)
            except EngineFailure as error:
                self._outcomes.append(Outcome(request.key, request.attempt, failure=error))
                continue
            if not worker.requests:
                worker.last_sign = time.monotonic()
            worker.requests.append(request)
            worker.outbox += message
            self._send(worker)

    def _may_send(self, request: Request) -> bool:
        """Returns whether a request may be sent now: a suspect is spoken alone."""
        sent = [sent_request for worker in self._workers for sent_request in worker.requests]
        has_suspect = any((each.key, each.attempt) in self._suspects for each in (request, *sent))
        return not (has_suspect and sent)

    def _send(self, worker: Worker) -> None:
        """Writes as much as the worker's pipe takes, and the rest when it is writable again."""
        try:
            while worker.outbox:
                del worker.outbox[: os.write(worker.stdin.fileno(), worker.outbox)]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            worker.outbox.clear()  # it has ended, which `_receive` notices
        is_registered = worker.stdin in self._selector.get_map()
        if worker.outbox and not is_registered:
            self._selector.register(worker.stdin, selectors.EVENT_WRITE, worker)
        elif is_registered and not worker.outbox:
            self._selector.unregister(worker.stdin)

    def _receive(self, worker: Worker) -> list[Outcome]:
        try:
            chunk = os.read(worker.stdout.fileno(), 1 << 20)
        except BlockingIOError:
            return []
        if not chunk:
            return self._replace(worker)
        worker.last_sign = time.monotonic()
        worker.inbox += chunk
        outcomes: list[Outcome] = []
        while (answer := worker.next_answer()) is not None:
            kind, payload, extra = answer
            if not worker.is_ready:
                if kind != READY:
                    message = payload.decode("utf-8", "replace")
                    raise EngineUnavailable(f"{self._program.title} does not start: {message}")
                worker.is_ready = True
                continue
            request = worker.requests.popleft()
            self._suspects.discard((request.key, request.attempt))
            outcomes.append(self._program.unpack(request, kind, payload, extra))
        return outcomes

    def _replace(self, worker: Worker) -> list[Outcome]:
        """Replaces a worker that has ended: its current request fails or is tried alone, its next
        one waits again."""
        self._workers.remove(worker)
        self._dismiss(worker)
        ending = processes.ending(worker.process.returncode)
        if not worker.is_ready:
            return self._start_fewer(worker, ending)
        outcomes: list[Outcome] = []
        if worker.requests:
            request = worker.requests.popleft()
            request_id = (request.key, request.attempt)
            self._queue.extendleft(reversed(worker.requests))
            overtime = f"took more than {self._program.timeout:.0f} s"
            reason = overtime if worker.is_overdue else ending
            if self._program.retries_alone and request_id not in self._suspects:
                self._suspects.add(request_id)
                self._queue.appendleft(request)
                self._count = max(1, self._count - 1)
                self.note = f"{self._count} at a time: a worker {reason}"
            else:
                self._suspects.discard(request_id)
                outcomes.append(self._program.fail(request, f"its worker {reason}"))
        if len(self._workers) < self._count:
            self._start_worker()
        return outcomes

    def _start_fewer(self, worker: Worker, ending: str) -> list[Outcome]:
        """Handles a worker that ended before it was ready: if it was killed, memory may hold fewer.

        Raises EngineUnavailable when none is left to try.
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
    """One process, with its requests and the bytes in transit."""

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
        self.is_ready = False
        self.is_overdue = False
        self.last_sign = time.monotonic()
        self.requests: deque[Request] = deque()
        self.outbox = bytearray()
        self.inbox = bytearray()

    def next_answer(self) -> tuple[int, bytes, bytes] | None:
        """Returns the next answer that has arrived completely, or None."""
        start = ANSWER.size
        if len(self.inbox) < start:
            return None
        kind, length, extra_length = ANSWER.unpack_from(self.inbox)
        payload_end, end = start + length, start + length + extra_length
        if len(self.inbox) < end:
            return None
        payload, extra = bytes(self.inbox[start:payload_end]), bytes(self.inbox[payload_end:end])
        del self.inbox[:end]
        return kind, payload, extra

    def kill(self) -> None:
        """Kills the process and its forks, also when only a fork is left."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def end(self) -> None:
        """Closes the pipes and waits for the process, which was told to end or has ended."""
        self.stdin.close()
        self.stdout.close()
        try:
            self.process.wait(SHUTDOWN_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.kill()
            self.process.wait()
