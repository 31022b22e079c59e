"""How to reach whoever owns a project, to have jobs done and to hear how they go.

    link = join(project) or started(project)
    id = link.submit(Job(kind="retake", draft=True, chunks=("2.14",)))
    for event in link.events(): ...

`engage` is how a command comes to a project: it owns it, or has its job done by who does. Knows
nothing of how jobs are done.
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
from dataclasses import dataclass, field
from typing import Any

from narrator.errors import EnvironmentFailed, Locked
from narrator.pipeline.owning import wire
from narrator.pipeline.owning.jobs import STOPPED, Event, Job
from narrator.pipeline.owning.owner import Owner
from narrator.pipeline.owning.tally import Outlook, Shown, Spoken
from narrator.pipeline.session import locked
from narrator.project.project import Project

GREETED = 5.0
"""Seconds within which an owner greets who comes."""
PATIENCE = 2.0
"""Seconds in which one who has the lock may come to listen, or be done."""
ENDS = 60.0
"""Seconds that a process of our own has to store what is finished."""
_LARGEST = 64_000_000
"""Bytes of an event."""
_TURN = 0.5
"""Seconds after which the next in the queue of an owner who has gone takes the lock."""
BROKEN = (ValueError, TypeError, LookupError, AttributeError)
"""What reading an event raises that holds something else than it should."""


class Link:
    """A connection to the owner of a project. `submit`, `stop` and `close` may be called from any
    thread; one thread hears events.

    Every job that is submitted ends by an event "ended" with its id, or goes down with the owner:
    then `events` ends, and `unfinished` are the jobs to be done by somebody else. Jobs that wait
    are dropped when their link is closed.
    """

    def __init__(
        self, line: socket.socket, book: str, process: subprocess.Popen[bytes] | None = None
    ) -> None:
        """Of a connection to an owner. Raises EOFError, ValueError where that is none."""
        self._line, self._book, self._process = line, book, process
        self._heard = bytearray()
        self._unfinished: dict[str, Job] = {}
        self._speaking, self._listening = threading.Lock(), threading.Lock()
        self._selector = selectors.DefaultSelector()
        self._selector.register(line, selectors.EVENT_READ)
        hello = self.read(GREETED)
        if hello is None or hello.get("event") != "hello" or type(hello.get("pid")) is not int:
            raise ValueError("no owner of a project")
        self.hello = hello
        """What the owner said first: what runs, and what waits."""
        self.pid: int = hello["pid"]

    def submit(self, job: Job, id: str = "") -> str:
        """Ask for a job; its id, a new one unless given.

        Raises BrokenPipeError where the owner has gone; then it is none of `unfinished`.
        """
        id = id or secrets.token_hex(8)
        job = job if job.book else job.model_copy(update={"book": self._book})
        with self._speaking:
            self._unfinished[id] = job
            try:
                self._say({"do": "submit", "id": id, "job": job.model_dump(mode="json")})
            except BrokenPipeError:
                self._unfinished.pop(id, None)
                raise
        return id

    def stop(self, id: str = "") -> None:
        """Stop a job, or what runs; takes that are finished are kept."""
        with self._speaking, contextlib.suppress(BrokenPipeError):
            self._say({"do": "stop", "id": id})

    def _say(self, wish: Event) -> None:
        try:
            self._line.sendall(wire.line_of(wish))
        except OSError as error:
            raise BrokenPipeError(f"the owner of the project has gone: {error}") from error

    def events(self) -> Iterator[Event]:
        """All that is told from now on, until the owner goes or the link is closed."""
        with contextlib.suppress(EOFError):
            while True:
                event = self.read()
                if event is not None:
                    yield event

    def read(self, timeout: float | None = None) -> Event | None:
        """The next event; None where there is none within so many seconds. Raises EOFError."""
        until = None if timeout is None else time.monotonic() + timeout
        with self._listening:
            while (end := self._heard.find(b"\n")) < 0:
                rest = None if until is None else max(0.0, until - time.monotonic())
                if not self._more(rest):
                    return None
            line = bytes(self._heard[:end])
            del self._heard[: end + 1]
        return self._event(line)

    def _more(self, timeout: float | None) -> bool:
        """Whether there was anything to hear. Raises EOFError."""
        try:
            if not self._selector.select(timeout):
                return False
            data = self._line.recv(65_536)
        except (OSError, ValueError):  # closed meanwhile
            data = b""
        self._heard += data
        if not data or len(self._heard) > _LARGEST:
            raise EOFError
        return True

    def _event(self, line: bytes) -> Event | None:
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
        """Jobs that this link submitted and that have not ended, by id, in their order."""
        return dict(self._unfinished)

    def close(self) -> None:
        """Leave. What was `started` ends; a render of it after what is in flight is stored."""
        with contextlib.suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)  # wakes who listens
        with self._listening:
            self._selector.close()
            self._line.close()
        if self._process is not None:
            _end(self._process)


def join(project: Project) -> Link | None:
    """A link to whoever owns a project; None where nobody does who can be talked to."""
    return _joined(project, None)


def _joined(project: Project, process: subprocess.Popen[bytes] | None) -> Link | None:
    line = wire.reached(project.build)
    if line is None:
        return None
    try:
        return Link(line, project.path.name, process)
    except (EOFError, ValueError):
        line.close()
        return None


def started(project: Project) -> Link:
    """A link to the project's owner, a process of its own that waits for jobs if there is none yet.

    It keeps what its engines have loaded from job to job, and holds the project's lock while it has
    any. It ends with the link. Raises EnvironmentFailed where it cannot be started.
    """
    if link := join(project):
        return link
    command = [sys.executable, "-m", "narrator", "own", os.fspath(project.path)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    process.stdout.readline()  # it listens, or has ended
    link = _joined(project, process)
    if link is None:
        _end(process)
        raise EnvironmentFailed(f"{project.build}: nobody comes to own it: `narrator doctor`")
    return link


def _end(process: subprocess.Popen[bytes]) -> None:
    """Let a process of ours store what is finished, and go."""
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(OSError):
        process.stdin.close()
    try:
        process.wait(ENDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()


# -- commands --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answer:
    """How a job ended that the owner of its project did."""

    pid: int
    """Of the owner; 0 where there was none."""
    exit: int
    error: str = ""
    summary: Mapping[str, Any] = field(default_factory=dict)
    left: bool = False
    """Whether it goes on without us."""


@contextlib.contextmanager
def engage(
    project: Project,
    job: Job,
    shown: Shown,
    cancel: threading.Event,
    joined: threading.Event,
) -> Iterator[Owner | Answer]:
    """The project, to do a job with while the block lasts; or how its owner has done the job.

    A job that is done already is joined, another one waits for its turn; `joined` is set as long as
    to stop now would leave it to go on. Where the owner goes before the end, we take its place.
    Raises Locked, StorageError.
    """
    with contextlib.ExitStack() as held:
        answer = _lock_or_answer(held, project, job, shown, cancel, joined)
        if answer is not None:
            yield answer
            return
        owner = Owner(project.build)
        held.callback(owner.close)
        yield owner


def _lock_or_answer(
    held: contextlib.ExitStack,
    project: Project,
    job: Job,
    shown: Shown,
    cancel: threading.Event,
    joined: threading.Event,
) -> Answer | None:
    """None where the lock is ours, and held."""
    turn = time.monotonic()
    while not cancel.is_set():
        if link := join(project):
            with contextlib.closing(link):
                following = _Following(link, job, shown, cancel, joined)
                answer = following.answer()
            joined.clear()
            if answer:
                return answer
            turn = time.monotonic() + _TURN * len(following.before)
        elif time.monotonic() >= turn:
            try:
                held.enter_context(locked(project))
            except Locked:  # maybe by one who does not listen yet, or who is leaving
                if time.monotonic() >= turn + PATIENCE:
                    raise
            else:
                return None
        cancel.wait(0.05)
    return Answer(0, STOPPED)


class _Following:
    """A job that is left to the owner of its project, and what is heard of it."""

    def __init__(
        self,
        link: Link,
        job: Job,
        shown: Shown,
        cancel: threading.Event,
        joined: threading.Event,
    ) -> None:
        self._link, self._job, self._shown = link, job, shown
        self._cancel, self._joined = cancel, joined
        self._id = ""
        self._stopped = self._queued = self._waits = False
        self._patience = time.monotonic() + PATIENCE
        self.before: list[str] = []
        """Jobs that wait before ours."""

    def answer(self) -> Answer | None:
        """How it ended; None where the owner has gone before."""
        try:
            self._id = self._link.submit(self._job)
            self._see()
            while True:
                event = self._link.read(0.25)
                answer = self._hear(event) if event else None
                self._say_that_we_wait()
                if answer is None and self._cancel.is_set():
                    answer = self._leave()
                if answer:
                    return answer
        except (EOFError, BrokenPipeError):
            return None

    def _see(self) -> None:
        """What was there when we came."""
        hello = self._link.hello
        with contextlib.suppress(*BROKEN):
            self.before = [str(row["id"]) for row in hello["queue"]]
            if hello["outlook"]:
                show({"event": "planned", "outlook": hello["outlook"]}, self._shown)
            if hello["progress"]:
                show(hello["progress"], self._shown)

    def _leave(self) -> Answer | None:
        """What is stopped of ours ends by an event; what others do as well goes on."""
        if self._joined.is_set():
            return Answer(self._link.pid, STOPPED, left=True)
        if not self._stopped:
            self._stopped = True
            self._link.stop(self._id)
        return None

    def _hear(self, event: Event) -> Answer | None:
        kind, job = event.get("event"), event.get("job")
        id = str(job.get("id")) if isinstance(job, Mapping) else str(job)
        if kind == "ended" and id == self._id:
            return _answer(self._link.pid, event)
        if kind == "refused":
            raise EnvironmentFailed(f"process {self._link.pid} does not take the job: is it older?")
        if kind == "joined":
            self._joined.set()
            self._shown.starting(f"joined process {self._link.pid}, which does this already")
        elif kind in ("queued", "started", "ended"):
            self._moved(str(kind), id)
        else:
            show(event, self._shown)
        return None

    def _moved(self, kind: str, id: str) -> None:
        """The queue has changed."""
        if kind == "queued" and id == self._id:
            self._waits = self._queued = True
        elif kind == "queued" and not self._queued:
            self.before.append(id)
        elif kind == "started" and id == self._id:
            self._waits = False
        elif kind != "queued" and id in self.before:
            self.before.remove(id)

    def _say_that_we_wait(self) -> None:
        """Once, where it takes long."""
        if self._waits and time.monotonic() >= self._patience:
            self._patience = math.inf
            self._shown.starting(f"waiting for process {self._link.pid}, which is at work")


def _answer(pid: int, event: Event) -> Answer:
    code, summary = event.get("exit"), event.get("summary")
    return Answer(
        pid,
        code if type(code) is int else EnvironmentFailed.exit_code,
        str(event.get("error") or ""),
        summary if isinstance(summary, dict) else {},
    )


def show(event: Event, shown: Shown) -> None:
    """What an event says of a render; nothing where it is none, or of another version."""
    with contextlib.suppress(*BROKEN):
        match event.get("event"):
            case "planned":
                shown.planned(Outlook.from_json(event["outlook"]))
            case "rendered":
                shown.rendered(Spoken.from_json(event))
            case "retried":
                shown.retried(Spoken.from_json(event))
            case "flagged":
                shown.flagged(Spoken.from_json(event))
            case "progress":
                _show_progress(event, shown)


def _show_progress(event: Event, shown: Shown) -> None:
    if event["phase"] == "starting":
        shown.starting(str(event["what"]))
    elif event["phase"] == "render":
        shown.running(int(event["slots"]), float(event["busy"]), str(event["note"]))
        shown.tick()
    else:
        shown.exporting(str(event["what"]), int(event["done"]), int(event["of"]))
