"""The owner of a project: one process, which does the jobs of all clients and reports on them.

It is found by `build/.owner` and reached through a socket. Jobs wait in a queue in the order of
their arrival, unless a client moves them; a job that the running one already covers joins it. While
the queue is paused, renders and exports wait. Knows nothing of how a job is done, nor of the
project's lock, which is held during a job.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event as Flag
from typing import Any

from narrator import files
from narrator.decoding import decode
from narrator.errors import EnvironmentFailed, NarratorError
from narrator.pipeline.jobs import sockets
from narrator.pipeline.jobs.protocol import (
    PAUSABLE_KINDS,
    STOPPED,
    ClientRequest,
    Event,
    Job,
    job_row,
)
from narrator.pipeline.jobs.sockets import Client

MAX_WAITING_JOBS = 1000
"""Largest number of jobs in the queue."""
INTERNAL_ERROR = 70
"""Exit code of a job that failed because of a bug in narrator."""


@dataclass(slots=True, eq=False)
class JobHandle:
    """A job with its client, its state and its outcome."""

    id: str
    job: Job
    client: Client | None = None
    """The client that submitted the job; None for this process itself."""
    cancel: Flag = field(default_factory=Flag)
    since: float = field(default_factory=time.time)
    covers: Callable[[Job], bool] = field(default=lambda job: False)
    """True if this job does the work of another one as well."""
    is_concurrent: bool = False
    """True if the job is done while another one runs."""
    is_pausing: bool = False
    """True if the job is being stopped because the queue is paused, and will go on later."""
    joined: list[tuple[Client, str]] = field(default_factory=list)
    """Clients that wait for it too, each with the id of its own job."""
    outlook: Callable[[], Event | None] = field(default=lambda: None)
    progress: Event | None = None
    """The last progress event."""
    exit_code: int = 0
    error: str = ""
    summary: Event = field(default_factory=dict)

    @property
    def row(self) -> dict[str, Any]:
        """The job as events describe it."""
        return {
            **job_row(self.id, self.job, self.since),
            "beside": self.is_concurrent,
            "pausable": self.is_pausable,
        }

    @property
    def is_pausable(self) -> bool:
        """True if the job can wait for the queue: it goes on where it stopped, and is no command
        that runs in this process."""
        return self.job.kind in PAUSABLE_KINDS and self.client is not None

    def reset(self) -> None:
        """Make the job as if it had not begun."""
        self.cancel, self.is_pausing, self.progress = Flag(), False, None
        self.record_outcome(0)

    def record_outcome(self, exit_code: int, error: str = "", summary: Event | None = None) -> None:
        """Record the outcome of the job."""
        self.exit_code, self.error, self.summary = exit_code, error, summary or {}


class JobServer:
    """Accepts jobs from other processes, and is announced in `build` until it is closed."""

    def __init__(self, build: Path) -> None:
        self._build = build
        self.mutex = threading.RLock()
        """Held while the state in greetings changes and while clients are told of the change."""
        self._queue_changed = threading.Condition(self.mutex)
        self._running: JobHandle | None = None
        self._concurrent: list[JobHandle] = []
        self._queue: list[JobHandle] = []
        self._is_paused = False
        """True if renders and exports wait."""
        self._closing = False
        self._job_numbers = iter(range(1, 1 << 62))
        self._server = self._start_server()

    def _start_server(self) -> sockets.Server | None:
        """Start the server and announce it; None if that fails, and the owner works alone."""
        server = None
        try:
            server = sockets.Server(
                self.mutex, self._build_greeting, self._handle_request, self._handle_disconnect
            )
            sockets.announce(self._build, server.place)
        except OSError as error:
            files.log.warning("nobody can join: %s", files.reason(error))
            if server is not None:
                server.close()
            return None
        return server

    def close(self) -> None:
        """Part with all clients, who have to do their waiting jobs themselves."""
        self.end()
        if self._server is not None:
            sockets.withdraw(self._build, self._server.place)
            self._server.close()

    def end(self) -> None:
        """Stop the running job and take no more; may be called from any thread."""
        with self._queue_changed:
            self._closing = True
            if self._running is not None:
                self._running.cancel.set()
            self._queue_changed.notify_all()

    # -- jobs

    def new_handle(self, job: Job, cancel: Flag) -> JobHandle:
        """A handle for a job of this process itself."""
        return JobHandle(f"j{next(self._job_numbers)}", job, cancel=cancel)

    def waiting(self) -> Iterator[JobHandle]:
        """Yields the jobs of others one by one; waits for them until the owner ends."""
        while True:
            with self._queue_changed:
                while (handle := self._next_job()) is None and not self._closing:
                    self._queue_changed.wait(1.0)
                if handle is None or self._closing:
                    return
                self._queue.remove(handle)
            yield handle

    def _next_job(self) -> JobHandle | None:
        """Returns the first waiting job that may begin."""
        return next(
            (handle for handle in self._queue if not (self._is_paused and handle.is_pausable)), None
        )

    def take(self, is_suitable: Callable[[JobHandle], bool]) -> JobHandle | None:
        """Take the first fitting job from the queue, to be done beside the running one."""
        with self.mutex:
            handle = next(
                (queued_handle for queued_handle in self._queue if is_suitable(queued_handle)), None
            )
            if handle is not None:
                self._queue.remove(handle)
        return handle

    def put_back(self, handle: JobHandle) -> None:
        """Return a job that was taken but not done to the head of the queue."""
        with self._queue_changed:
            handle.is_concurrent = False
            self._concurrent.remove(handle)
            self._queue_first(handle)

    def _queue_first(self, handle: JobHandle) -> None:
        """Put a job at the head of the queue."""
        self._queue.insert(0, handle)
        self.broadcast({"event": "queued", "job": handle.row})
        self._report_order()
        self._queue_changed.notify_all()

    def _report_order(self) -> None:
        self.broadcast({"event": "order", "jobs": [handle.id for handle in self._queue]})

    @contextlib.contextmanager
    def doing(self, handle: JobHandle, is_concurrent: bool = False) -> Iterator[None]:
        """Mark a job as running within the block and report its outcome; errors are passed on."""
        self.mark_started(handle, is_concurrent)
        try:
            yield
        except NarratorError as error:
            handle.record_outcome(error.exit_code, str(error))
            raise
        except KeyboardInterrupt:
            handle.record_outcome(STOPPED)
            raise
        except BaseException as error:
            handle.record_outcome(INTERNAL_ERROR, f"{type(error).__name__}: {error}")
            raise
        finally:
            self.mark_ended(handle)

    def mark_started(self, handle: JobHandle, is_concurrent: bool = False) -> None:
        """Mark a job as running and report that it started."""
        with self.mutex:
            handle.is_concurrent, handle.since = is_concurrent, time.time()
            if is_concurrent:
                self._concurrent.append(handle)
            else:
                self._running = handle
                if self._closing:
                    handle.cancel.set()
            self.broadcast({"event": "started", "job": handle.row})

    def mark_ended(self, handle: JobHandle) -> None:
        """Report the outcome of a job to all clients, and to those who joined it under their
        ids."""
        with self.mutex:
            if handle.is_concurrent:
                self._concurrent.remove(handle)
            elif handle is self._running:
                self._running = None
            if handle.is_pausing and handle.is_pausable and handle.exit_code == STOPPED:
                handle.reset()
                self._queue_first(handle)
                return
            self.broadcast(_ended_event(handle, handle.id))
            for client, id in handle.joined:
                self._send(_ended_event(handle, id), client)
            if self._is_paused and not any(handle.is_pausable for handle in self._queue):
                self._pause(False)  # nothing is left that would have to be resumed

    def broadcast(self, event: Event) -> None:
        """Send an event to all clients; never waits."""
        self._send(event)

    def _send(self, event: Event, client: Client | None = None) -> None:
        if self._server is not None:
            self._server.tell(event, client)

    # -- clients: on the server's thread, under the mutex

    def _build_greeting(self) -> Event:
        """The first event for a new client: the running and the waiting jobs."""
        running = self._running
        return {
            "event": "hello",
            "pid": os.getpid(),
            "running": running.row if running else None,
            "queue": [handle.row for handle in self._queue],
            "paused": self._is_paused,
            "outlook": running.outlook() if running else None,
            "progress": running.progress if running else None,
        }

    def _handle_request(self, client: Client, line: bytes) -> None:
        """Do what a line of a client asks for, or refuse it."""
        try:
            request = decode(ClientRequest, line)
            if request.do == "submit" and (request.job is None or not request.id):
                raise ValueError("a job is submitted with its id")
        except ValueError as error:
            self._send({"event": "refused", "error": str(error)}, client)
            return
        match request.do:
            case "submit" if request.job is not None:
                self._handle_submission(client, request.id, request.job)
            case "stop":
                self._stop(client, request.id)
            case "move":
                self._move(request.id, request.before)
            case "pause" | "resume":
                self._pause(request.do == "pause")

    def _pause(self, is_paused: bool) -> None:
        """Pause or resume the queue; a running render is stopped, and waits at the queue's head."""
        self._is_paused = is_paused
        running = self._running
        if running is not None and is_paused and running.is_pausable:
            running.is_pausing = True
            running.cancel.set()
        self.broadcast({"event": "paused", "paused": is_paused})
        self._queue_changed.notify_all()

    def _move(self, id: str, before: str) -> None:
        """Move a waiting job before another one, or to the end."""
        for handle in [queued_handle for queued_handle in self._queue if queued_handle.id == id]:
            self._queue.remove(handle)
            ids = [queued_handle.id for queued_handle in self._queue]
            self._queue.insert(ids.index(before) if before in ids else len(ids), handle)
            self._report_order()

    def _handle_submission(self, client: Client, id: str, job: Job) -> None:
        """Queue a job, or have its client join the running job that covers it."""
        handle, running = JobHandle(id, job, client), self._running
        if self._closing:
            return  # its link ends, and it does the job itself
        if (
            any(queued_handle.id == id for queued_handle in self._queue)
            or len(self._queue) >= MAX_WAITING_JOBS
        ):
            handle.record_outcome(
                EnvironmentFailed.exit_code, "too many jobs wait, or two have one name"
            )
            self._send(_ended_event(handle, id), client)
        elif running and not running.cancel.is_set() and running.covers(job):
            running.joined.append((client, id))
            self._send({"event": "joined", "job": id, "to": running.row}, client)
        else:
            self._queue.append(handle)
            self.broadcast({"event": "queued", "job": handle.row})
            self._queue_changed.notify_all()

    def _stop(self, client: Client, id: str) -> None:
        """Stop the running job, a concurrent one, a waiting one, or a client's wait for one that it
        joined; "" stands for the running job."""
        running = self._running
        if running is not None and id in ("", running.id):
            running.is_pausing = False
            running.cancel.set()
            return
        for handle in self._concurrent:
            if handle.id == id:
                handle.cancel.set()
        for handle in [queued_handle for queued_handle in self._queue if queued_handle.id == id]:
            self._withdraw(handle)
        if running is not None and (client, id) in running.joined:
            running.joined.remove((client, id))
            stopped_handle = JobHandle(id, running.job, exit_code=STOPPED)
            self._send(_ended_event(stopped_handle, id), client)

    def _withdraw(self, handle: JobHandle) -> None:
        self._queue.remove(handle)
        handle.record_outcome(STOPPED)
        self.mark_ended(handle)

    def _handle_disconnect(self, client: Client) -> None:
        """Withdraw the jobs of a client that has disconnected."""
        if self._running is not None:
            if self._running.client is client:
                self._running.is_pausing = False
            self._running.joined = [
                (joined_client, id)
                for joined_client, id in self._running.joined
                if joined_client is not client
            ]
        for handle in [
            queued_handle for queued_handle in self._queue if queued_handle.client is client
        ]:
            if not self._closing:
                self._withdraw(handle)


def _ended_event(handle: JobHandle, id: str) -> Event:
    """The event that tells of a job's outcome, under the id by which a client knows it."""
    return {
        "event": "ended",
        "job": id,
        "kind": handle.job.kind,
        "exit": handle.exit_code,
        "error": handle.error,
        "summary": handle.summary,
    }
