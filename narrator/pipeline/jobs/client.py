"""Connects to the owner of a project, to have jobs done and to follow their progress.

    link = connect_or_start(project)
    id = link.submit(Job(kind="retake", engine="draft", chunks=("2.14",)))
    for event in link.events(): ...

Commands use `submit_or_run`: it makes this process the owner, or has the present owner do the job.
Knows nothing of how jobs are done.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import secrets
import selectors
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from narrator.errors import EnvironmentFailed, Locked
from narrator.pipeline.jobs import sockets
from narrator.pipeline.jobs.protocol import STOPPED, ClientRequest, Event, Job, encode
from narrator.pipeline.jobs.publishing import MALFORMED_EVENT_ERRORS, show_event
from narrator.pipeline.jobs.server import JobServer
from narrator.pipeline.session import locked
from narrator.progress import ProgressSink, Starting
from narrator.project.project import Project

GREETING_TIMEOUT = 5.0
"""Seconds within which an owner has to greet a new client."""
LOCK_TIMEOUT_S = 2.0
"""Seconds that the holder of the lock has to start listening or to finish."""
EXIT_TIMEOUT = 60.0
"""Seconds that a process of ours has to store its finished takes."""
_MAX_EVENT_BYTES = 64_000_000
"""Largest event in bytes."""
_TAKEOVER_DELAY = 0.5
"""Delay in seconds, for each place in the queue, before a client takes over from a gone owner."""


class Link:
    """A connection to the owner of a project.

    `submit`, `stop` and `close` may be called from any thread; one thread reads events. Every
    submitted job ends with an event "ended" with its id, unless the owner exits: then `events`
    ends, and the jobs in `unfinished` have to be done by somebody else. Waiting jobs are dropped
    when their link is closed.
    """

    def __init__(
        self, connection: socket.socket, book: str, process: subprocess.Popen[bytes] | None = None
    ) -> None:
        """Raises EOFError, ValueError if the other side is not an owner."""
        self._connection, self._book, self._process = connection, book, process
        self._received = bytearray()
        self._unfinished: dict[str, Job] = {}
        self._send_lock, self._read_lock = threading.Lock(), threading.Lock()
        self._selector = selectors.DefaultSelector()
        self._selector.register(connection, selectors.EVENT_READ)
        greeting = self.read(GREETING_TIMEOUT)
        if (
            greeting is None
            or greeting.get("event") != "hello"
            or type(greeting.get("pid")) is not int
        ):
            raise ValueError("no owner of a project")
        self.hello = greeting
        """The owner's first event, with the running and the waiting jobs."""
        self.pid: int = greeting["pid"]

    def submit(self, job: Job, id: str = "") -> str:
        """Submit a job and return its id, which is a new one unless given.

        Raises BrokenPipeError if the owner has gone; the job is not added to `unfinished` then.
        """
        id = id or secrets.token_hex(8)
        job = job if job.book else replace(job, book=self._book)
        with self._send_lock:
            self._unfinished[id] = job
            try:
                self._send(ClientRequest("submit", id, job))
            except BrokenPipeError:
                self._unfinished.pop(id, None)
                raise
        return id

    def stop(self, id: str = "") -> None:
        """Stop a job, or the running one; finished takes are kept."""
        self._request(ClientRequest("stop", id))

    def move(self, id: str, before: str) -> None:
        """Move a waiting job before another one, or to the end of the queue."""
        self._request(ClientRequest("move", id, before=before))

    def pause(self, is_paused: bool) -> None:
        """Pause or resume the queue; a running render waits at its head meanwhile."""
        self._request(ClientRequest("pause" if is_paused else "resume"))

    def _request(self, request: ClientRequest) -> None:
        """Send a request, unless the owner has gone."""
        with self._send_lock, contextlib.suppress(BrokenPipeError):
            self._send(request)

    def _send(self, request: ClientRequest) -> None:
        try:
            self._connection.sendall(encode(request))
        except OSError as error:
            raise BrokenPipeError(f"the owner of the project has gone: {error}") from error

    def events(self) -> Iterator[Event]:
        """Yields all events from now on, until the owner exits or the link is closed."""
        with contextlib.suppress(EOFError):
            while True:
                event = self.read()
                if event is not None:
                    yield event

    def read(self, timeout: float | None = None) -> Event | None:
        """The next event; None if there is none within `timeout` seconds. Raises EOFError."""
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._read_lock:
            while (line_end := self._received.find(b"\n")) < 0:
                remaining_seconds = (
                    None if deadline is None else max(0.0, deadline - time.monotonic())
                )
                if not self._receive(remaining_seconds):
                    return None
            line = bytes(self._received[:line_end])
            del self._received[: line_end + 1]
        return self._parse_event(line)

    def _receive(self, timeout: float | None) -> bool:
        """Receive bytes, and return whether there were any in time. Raises EOFError."""
        try:
            if not self._selector.select(timeout):
                return False
            received_bytes = self._connection.recv(65_536)
        except (OSError, ValueError):  # closed meanwhile
            received_bytes = b""
        self._received += received_bytes
        if not received_bytes or len(self._received) > _MAX_EVENT_BYTES:
            raise EOFError
        return True

    def _parse_event(self, line: bytes) -> Event | None:
        """The event of a line; None if the line is not a JSON object. A job of ours that has ended
        is no longer unfinished."""
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(event, dict):
            return None
        if event.get("event") == "ended":
            self._unfinished.pop(str(event.get("job")), None)
        return event

    @property
    def unfinished(self) -> dict[str, Job]:
        """Jobs submitted through this link that have not ended, by id, in their order."""
        return dict(self._unfinished)

    def close(self) -> None:
        """Close the link.

        A process of `connect_or_start` exits, after it has stored takes in progress.
        """
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)  # wakes the reading thread
        with self._read_lock:
            self._selector.close()
            self._connection.close()
        if self._process is not None:
            _end_process(self._process)


def connect(project: Project) -> Link | None:
    """A link to the owner of a project; None if there is none that responds."""
    return _connect(project, None)


def _connect(project: Project, process: subprocess.Popen[bytes] | None) -> Link | None:
    """A link to the announced owner, with the process that this client has started for it; None if
    nobody answers."""
    connection = sockets.connect_to_owner(project.build)
    if connection is None:
        return None
    try:
        return Link(connection, project.path.name, process)
    except (EOFError, ValueError):
        connection.close()
        return None


def connect_or_start(project: Project) -> Link:
    """A link to the project's owner, which is started as a new process if there is none yet.

    That process keeps its engines loaded from job to job, and holds the project's lock during each
    job. It exits when the link is closed. Raises EnvironmentFailed if it cannot be started.
    """
    if link := connect(project):
        return link
    command = [sys.executable, "-m", "narrator", "own", os.fspath(project.path)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    process.stdout.readline()  # returns when the process listens or has ended
    link = _connect(project, process)
    if link is None:
        _end_process(process)
        raise EnvironmentFailed(f"{project.build}: nobody comes to own it: `narrator doctor`")
    return link


def _end_process(process: subprocess.Popen[bytes]) -> None:
    """Let a process of ours store its finished takes and exit."""
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(OSError):
        process.stdin.close()
    try:
        process.wait(EXIT_TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()


# -- commands --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of a job that the owner of the project did."""

    pid: int
    """Process id of the owner; 0 if there was none."""
    exit_code: int
    error: str = ""
    summary: Mapping[str, Any] = field(default_factory=dict)
    goes_on: bool = False
    """True if the job goes on without this process."""


@contextlib.contextmanager
def submit_or_run(
    project: Project,
    job: Job,
    progress_sink: ProgressSink,
    cancel: threading.Event,
    joined: threading.Event,
) -> Iterator[JobServer | Answer]:
    """Yields the project's owner, which is this process, or the outcome of the job from another.

    A job that the running one covers joins it; others wait for their turn. `joined` is set while
    the job would go on even if this process stopped. If the owner exits before the job has ended,
    this process takes its place. Raises Locked, StorageError.
    """
    with contextlib.ExitStack() as resources:
        answer = _lock_or_answer(resources, project, job, progress_sink, cancel, joined)
        if answer is not None:
            yield answer
            return
        owner = JobServer(project.build)
        resources.callback(owner.close)
        yield owner


def _lock_or_answer(
    resources: contextlib.ExitStack,
    project: Project,
    job: Job,
    progress_sink: ProgressSink,
    cancel: threading.Event,
    joined: threading.Event,
) -> Answer | None:
    """The outcome of the job, or None once this process holds the lock."""
    takeover_time = time.monotonic()
    while not cancel.is_set():
        if link := connect(project):
            with contextlib.closing(link):
                follower = _JobFollower(link, job, progress_sink, cancel, joined)
                answer = follower.answer()
            joined.clear()
            if answer:
                return answer
            takeover_time = time.monotonic() + _TAKEOVER_DELAY * len(follower.ids_ahead)
        elif time.monotonic() >= takeover_time:
            try:
                resources.enter_context(locked(project))
            except Locked:  # perhaps by a process that does not listen yet, or is about to exit
                if time.monotonic() >= takeover_time + LOCK_TIMEOUT_S:
                    raise
            else:
                return None
        cancel.wait(0.05)
    return Answer(0, STOPPED)


class _JobFollower:
    """Follows a job that is left to the owner of its project."""

    def __init__(
        self,
        link: Link,
        job: Job,
        progress_sink: ProgressSink,
        cancel: threading.Event,
        joined: threading.Event,
    ) -> None:
        self._link, self._job, self._progress_sink = link, job, progress_sink
        self._cancel, self._joined = cancel, joined
        self._id = ""
        self._is_stop_requested = self._was_queued = self._is_waiting = False
        self._notice_time = time.monotonic() + LOCK_TIMEOUT_S
        self.ids_ahead: list[str] = []
        """Ids of the jobs that wait before ours."""

    def answer(self) -> Answer | None:
        """The outcome of the job; None if the owner exits before."""
        try:
            self._id = self._link.submit(self._job)
            self._show_greeting()
            while True:
                event = self._link.read(0.25)
                answer = self._handle_event(event) if event else None
                self._notify_waiting()
                if answer is None and self._cancel.is_set():
                    answer = self._stop_or_leave()
                if answer:
                    return answer
        except (EOFError, BrokenPipeError):
            return None

    def _show_greeting(self) -> None:
        """Show what was going on when we connected."""
        greeting = self._link.hello
        with contextlib.suppress(*MALFORMED_EVENT_ERRORS):
            self.ids_ahead = [str(row["id"]) for row in greeting["queue"]]
            if greeting["outlook"]:
                show_event(
                    {"event": "planned", "outlook": greeting["outlook"]}, self._progress_sink
                )
            if greeting["progress"]:
                show_event(greeting["progress"], self._progress_sink)

    def _stop_or_leave(self) -> Answer | None:
        """Stop the job, or leave it if it goes on for others.

        A stopped job ends with an event; a joined one gives an answer at once.
        """
        if self._joined.is_set():
            return Answer(self._link.pid, STOPPED, goes_on=True)
        if not self._is_stop_requested:
            self._is_stop_requested = True
            self._link.stop(self._id)
        return None

    def _handle_event(self, event: Event) -> Answer | None:
        """Show an event of the owner; returns the outcome if it ends our job. Raises
        EnvironmentFailed if the owner refuses the job."""
        event_kind, job = event.get("event"), event.get("job")
        id = str(job.get("id")) if isinstance(job, Mapping) else str(job)
        if event_kind == "ended" and id == self._id:
            return _parse_answer(self._link.pid, event)
        if event_kind == "refused":
            raise EnvironmentFailed(f"process {self._link.pid} does not take the job: is it older?")
        if event_kind == "joined":
            self._joined.set()
            self._progress_sink(
                Starting(f"joined process {self._link.pid}, which does this already")
            )
        elif event_kind in ("queued", "started", "ended"):
            self._update_queue(str(event_kind), id)
        else:
            show_event(event, self._progress_sink)
        return None

    def _update_queue(self, event_kind: str, id: str) -> None:
        """Update our view of the queue."""
        if event_kind == "queued" and id == self._id:
            self._is_waiting = self._was_queued = True
        elif event_kind == "queued" and not self._was_queued:
            self.ids_ahead.append(id)
        elif event_kind == "started" and id == self._id:
            self._is_waiting = False
        elif event_kind != "queued" and id in self.ids_ahead:
            self.ids_ahead.remove(id)

    def _notify_waiting(self) -> None:
        """Say so once if waiting takes long."""
        if self._is_waiting and time.monotonic() >= self._notice_time:
            self._notice_time = math.inf
            self._progress_sink(Starting(f"waiting for process {self._link.pid}, which is at work"))


def _parse_answer(pid: int, event: Event) -> Answer:
    exit_code, summary = event.get("exit"), event.get("summary")
    return Answer(
        pid,
        exit_code if type(exit_code) is int else EnvironmentFailed.exit_code,
        str(event.get("error") or ""),
        summary if isinstance(summary, dict) else {},
    )
