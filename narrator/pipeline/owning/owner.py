"""Who owns a project: one process, which does the jobs of all and tells them how they go.

It is found by `build/.owner` and heard through a socket; the jobs of others wait in a queue, in the
order in which they came. A job that does what is being done already joins it. Knows nothing of how
a job is done, nor of the project's lock, which is held while one is.
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
from narrator.errors import EnvironmentFailed, NarratorError
from narrator.pipeline.owning import jobs, wire
from narrator.pipeline.owning.jobs import STOPPED, Asked, Event, Job
from narrator.pipeline.owning.wire import Client

MOST_WAITING = 1000
"""Jobs in the queue."""
OWN_FAULT = 70
"""How a job ends that a fault of narrator's own ended."""


@dataclass(slots=True, eq=False)
class Ticket:
    """A job that somebody waits for, and how it ended."""

    id: str
    job: Job
    client: Client | None = None
    """Whose it is; None for this process itself."""
    cancel: Flag = field(default_factory=Flag)
    since: float = field(default_factory=time.time)
    covers: Callable[[Job], bool] = field(default=lambda job: False)
    """Whether another job need not be done beside this one."""
    beside: bool = False
    """Whether it is done while another runs."""
    joined: list[tuple[Client, str]] = field(default_factory=list)
    """Who waits for it, too, and by which id."""
    outlook: Callable[[], Event | None] = field(default=lambda: None)
    progress: Event | None = None
    """The last that was told."""
    exit: int = 0
    error: str = ""
    summary: Event = field(default_factory=dict)

    @property
    def row(self) -> dict[str, Any]:
        return {**jobs.row(self.id, self.job, self.since), "beside": self.beside}

    def ended(self, exit: int, error: str = "", summary: Event | None = None) -> None:
        """Note how it ended."""
        self.exit, self.error, self.summary = exit, error, summary or {}


class Owner:
    """Announced in `build` from the first to the last; see `owning`."""

    def __init__(self, build: Path) -> None:
        self._build = build
        self.mutex = threading.RLock()
        """Held while what those who come are told is changed, and told to those who are there."""
        self._news = threading.Condition(self.mutex)
        self._running: Ticket | None = None
        self._beside: list[Ticket] = []
        self._queue: list[Ticket] = []
        self._closing = False
        self._numbers = iter(range(1, 1 << 62))
        self._server = self._served()

    def _served(self) -> wire.Server | None:
        """Who cannot be reached works alone."""
        server = None
        try:
            server = wire.Server(self.mutex, self._greeting, self._heard, self._left)
            wire.announce(self._build, server.place)
        except OSError as error:
            files.log.warning("nobody can join: %s", files.reason(error))
            if server is not None:
                server.close()
            return None
        return server

    def close(self) -> None:
        """Part with all clients: what still waits is theirs to do."""
        self.end()
        if self._server is not None:
            wire.withdraw(self._build, self._server.place)
            self._server.close()

    def end(self) -> None:
        """Take no job any more, and stop the one that runs; from any thread."""
        with self._news:
            self._closing = True
            if self._running is not None:
                self._running.cancel.set()
            self._news.notify_all()

    # -- jobs

    def own(self, job: Job, cancel: Flag) -> Ticket:
        """A ticket for a job of this process itself."""
        return Ticket(f"j{next(self._numbers)}", job, cancel=cancel)

    def waiting(self) -> Iterator[Ticket]:
        """The jobs of others, one by one, until the end; waits for them."""
        while True:
            with self._news:
                while not (self._queue or self._closing):
                    self._news.wait(1.0)
                if self._closing:
                    return
                ticket = self._queue.pop(0)
            yield ticket

    def take(self, fits: Callable[[Ticket], bool]) -> Ticket | None:
        """The first job that waits and fits, to be done beside the one that runs."""
        with self.mutex:
            ticket = next((one for one in self._queue if fits(one)), None)
            if ticket is not None:
                self._queue.remove(ticket)
        return ticket

    def put_back(self, ticket: Ticket) -> None:
        """What was taken and not done waits again, before all others."""
        with self._news:
            ticket.beside = False
            self._beside.remove(ticket)
            self._queue.insert(0, ticket)
            self.tell({"event": "queued", "job": ticket.row})
            self._news.notify_all()

    @contextlib.contextmanager
    def doing(self, ticket: Ticket, beside: bool = False) -> Iterator[None]:
        """While a job is done; how it ended is told, errors included, which go on."""
        self.begun(ticket, beside)
        try:
            yield
        except NarratorError as error:
            ticket.ended(error.exit_code, str(error))
            raise
        except KeyboardInterrupt:
            ticket.ended(STOPPED)
            raise
        except BaseException as error:
            ticket.ended(OWN_FAULT, f"{type(error).__name__}: {error}")
            raise
        finally:
            self.done(ticket)

    def begun(self, ticket: Ticket, beside: bool = False) -> None:
        with self.mutex:
            ticket.beside, ticket.since = beside, time.time()
            if beside:
                self._beside.append(ticket)
            else:
                self._running = ticket
                if self._closing:
                    ticket.cancel.set()
            self.tell({"event": "started", "job": ticket.row})

    def done(self, ticket: Ticket) -> None:
        """Tell everybody how a job ended, and those who joined it that theirs did, too."""
        with self.mutex:
            if ticket.beside:
                self._beside.remove(ticket)
            elif ticket is self._running:
                self._running = None
            self.tell(_ended(ticket, ticket.id))
            for client, id in ticket.joined:
                self._tell(_ended(ticket, id), client)

    def tell(self, event: Event) -> None:
        """Tell everybody; never waits."""
        self._tell(event)

    def _tell(self, event: Event, client: Client | None = None) -> None:
        if self._server is not None:
            self._server.tell(event, client)

    # -- clients: on the server's thread, under the mutex

    def _greeting(self) -> Event:
        running = self._running
        return {
            "event": "hello",
            "pid": os.getpid(),
            "running": running.row if running else None,
            "queue": [ticket.row for ticket in self._queue],
            "outlook": running.outlook() if running else None,
            "progress": running.progress if running else None,
        }

    def _heard(self, client: Client, line: bytes) -> None:
        try:
            asked = jobs.asked(line)
        except ValueError as error:
            self._tell({"event": "refused", "error": str(error)}, client)
            return
        if asked.do == "stop":
            self._stop(client, asked.id)
        elif asked.job is not None:
            self._submitted(client, asked, asked.job)

    def _submitted(self, client: Client, asked: Asked, job: Job) -> None:
        ticket, running = Ticket(asked.id, job, client), self._running
        if self._closing:
            return  # its link ends, and it does the job itself
        if any(one.id == asked.id for one in self._queue) or len(self._queue) >= MOST_WAITING:
            ticket.ended(EnvironmentFailed.exit_code, "too many jobs wait, or two have one name")
            self._tell(_ended(ticket, asked.id), client)
        elif running and not running.cancel.is_set() and running.covers(job):
            running.joined.append((client, asked.id))
            self._tell({"event": "joined", "job": asked.id, "to": running.row}, client)
        else:
            self._queue.append(ticket)
            self.tell({"event": "queued", "job": ticket.row})
            self._news.notify_all()

    def _stop(self, client: Client, id: str) -> None:
        running = self._running
        if running is not None and id in ("", running.id):
            running.cancel.set()
            return
        for ticket in self._beside:
            if ticket.id == id:
                ticket.cancel.set()
        for ticket in [one for one in self._queue if one.id == id]:
            self._withdraw(ticket)
        if running is not None and (client, id) in running.joined:
            running.joined.remove((client, id))
            left = Ticket(id, running.job, exit=STOPPED)
            self._tell(_ended(left, id), client)

    def _withdraw(self, ticket: Ticket) -> None:
        self._queue.remove(ticket)
        ticket.ended(STOPPED)
        self.done(ticket)

    def _left(self, client: Client) -> None:
        """What somebody waited for who has gone is nobody's job any more."""
        if self._running is not None:
            self._running.joined = [one for one in self._running.joined if one[0] is not client]
        for ticket in [one for one in self._queue if one.client is client]:
            if not self._closing:
                self._withdraw(ticket)


def _ended(ticket: Ticket, id: str) -> Event:
    return {
        "event": "ended",
        "job": id,
        "kind": ticket.job.kind,
        "exit": ticket.exit,
        "error": ticket.error,
        "summary": ticket.summary,
    }
