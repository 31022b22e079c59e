"""Jobs of others that are done beside a render, between the turns of its engine.

Pins are chosen and dropped at once; what is to be spoken by the same engine, anew or to hear a
voice, goes to it beside the render's own requests; all other jobs wait for the render's end. What
was edited meanwhile is read again for those who come, and not for the render. Knows no sockets.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from narrator.engines import Engine, Outcome, Request
from narrator.errors import EnvironmentFailed, NarratorError, UsageError
from narrator.pipeline import auditioning, bookengines, bookplan, retakes
from narrator.pipeline.auditioning import Auditioning
from narrator.pipeline.bookengines import BookEngines
from narrator.pipeline.bookplan import BookPlan, Selection
from narrator.pipeline.owning.inputs import BookReading
from narrator.pipeline.owning.jobs import STOPPED, Job, wish_of
from narrator.pipeline.owning.owner import Owner, Ticket
from narrator.project.project import Project


def settings_of(reading: BookReading, job: Job) -> tuple[int | None, dict[str, Any]]:
    """Seed and settings of a retake, as its engine has them. Raises UsageError."""
    written = [f"{name}={value}" for name, value in job.parameters.items()]
    found = bookengines.typed(reading.manuscript, job.chunks, written, draft=job.draft)
    return found.pop("seed", job.seed), found


def retaken(ticket: Ticket, made: list[retakes.Retaken]) -> None:
    failed = any(one.pinned is None for one in made)
    code = STOPPED if ticket.cancel.is_set() else 1 if failed else 0
    ticket.ended(code, summary={"retaken": [one.to_json() for one in made]})


def begun(
    job: Job, reading: BookReading, engines: BookEngines, tell: Callable[[str], None]
) -> Auditioning:
    """An audition. Raises as `auditioning.begin`."""
    if job.line is None:
        raise UsageError("an audition is of a line")
    line = job.line
    engine = engines.of(line.speaker)
    return auditioning.begin(reading.manuscript, engine, line.speaker, line.text, line.voice, tell)


def auditioned(ticket: Ticket, made: Auditioning) -> None:
    """Raises UserError, StorageError."""
    if ticket.cancel.is_set():
        ticket.ended(STOPPED)
    else:
        ticket.ended(0, summary={"audition": made.settled()})


def mark(ticket: Ticket, book: BookPlan) -> None:
    """Of who holds the lock and writes the plan's store. Raises UsageError, StorageError."""
    job = ticket.job
    steps = bookplan.find_steps(book, job.chunks)
    if job.kind == "unpin":
        lost = () if job.chunks else book.lost
        retakes.forget(book, lost)
        held = retakes.unpin(book, steps)
        unpinned = {step.id: step in held for step in steps}
        ticket.ended(0, summary={"unpinned": unpinned, "forgotten": len(lost)})
        return
    if len(steps) != 1 or job.number is None:
        raise UsageError("one chunk is pinned, to the number of one of its tries")
    retakes.pin(book, steps[0], job.number)
    ticket.ended(0, summary={"pinned": steps[0].id, "number": job.number})


class _ToBeAsked(Protocol):
    def answered(self, request: Request, outcome: Outcome) -> Sequence[Request]:
        """What is to be asked next."""
        ...


@dataclass(slots=True, eq=False)
class _Errand:
    """What a running engine speaks for somebody."""

    ticket: Ticket
    engine: Engine
    asked: _ToBeAsked
    settle: Callable[[], None]
    """Note how it ended, once all has been answered."""
    left: int = 0
    """Requests that have no answer yet."""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """The book as those see it who come while it is rendered."""

    reading: BookReading
    book: BookPlan
    engines: BookEngines


@dataclass(slots=True)
class Beside:
    """Jobs of others that are done between the turns of a render."""

    owner: Owner
    reading: BookReading
    engines: BookEngines
    draft: bool
    """Whether the render is a draft."""
    engine: str
    """What speaks in place of the manifest's engines, or ""."""
    tell: Callable[[str], None]
    _running: Engine | None = None
    """The engine whose turn it is, once it has asked for anything."""
    _waiting: deque[tuple[_Errand, Request]] = field(default_factory=deque)
    _flying: dict[str, tuple[_Errand, Request]] = field(default_factory=dict)
    """By the key that the loop knows them by: a step may be spoken by both at one time."""
    _views: dict[bool, _Snapshot] = field(default_factory=dict)
    """By whether they are of the draft voice."""
    _later: set[str] = field(default_factory=set)
    """Jobs that prove to be none for an engine that runs."""
    _count: int = 0
    _newest: BookReading = field(init=False)

    def __post_init__(self) -> None:
        self._newest = self.reading

    def attend(self, running: BookPlan) -> None:
        """Begin what waits and can be done now; on the loop's thread."""
        while ticket := self.owner.take(self._fits):
            self.owner.begun(ticket, beside=True)
            try:
                self._begin(ticket, self._view(ticket.job, running))
            except (NarratorError, OSError) as error:
                self._fail(ticket, error)

    def request(self, engine: Engine) -> Request | None:
        """As `render.Aside`."""
        self._running = engine
        while (place := self._next_of(engine)) is not None:
            errand, request = self._waiting[place]
            del self._waiting[place]
            if errand.failed or errand.ticket.cancel.is_set():
                self._is_less(errand)
                continue
            self._count += 1
            name = f"aside {self._count}"
            self._flying[name] = errand, request
            return replace(request, key=name)
        return None

    def _next_of(self, engine: Engine) -> int | None:
        """The place of the first that waits for an engine."""
        waiting = enumerate(self._waiting)
        return next((place for place, (errand, _) in waiting if errand.engine is engine), None)

    def answered(self, request: Request, outcome: Outcome) -> None:
        """As `render.Aside`."""
        errand, asked = self._flying.pop(request.key)
        if not errand.failed:
            try:
                self._ask(errand, errand.asked.answered(asked, replace(outcome, key=asked.key)))
            except (NarratorError, OSError) as error:
                errand.failed = True
                self._fail(errand.ticket, error)
        self._is_less(errand)

    def give_up(self) -> None:
        """What is not done when the render has ended waits again, unless it was stopped, too."""
        unfinished = (one for one, _ in (*self._flying.values(), *self._waiting) if not one.failed)
        for ticket in reversed(list(dict.fromkeys(one.ticket for one in unfinished))):
            if ticket.cancel.is_set():
                ticket.ended(STOPPED)
                self.owner.done(ticket)
            else:
                self.owner.put_back(ticket)
        self._waiting.clear()
        self._flying.clear()

    def _fits(self, ticket: Ticket) -> bool:
        job, project = ticket.job, self.reading.manuscript.project
        if job.book != project.path.name or ticket.id in self._later:
            return False
        if job.engine != self.engine:
            return False
        if job.kind in ("retake", "audition"):
            return self._is_spoken_here(project, job) and self._runs_for(self.reading, job)
        return job.kind in ("pin", "unpin")

    def _runs_for(self, reading: BookReading, job: Job) -> bool:
        """Whether the engine that runs now is that of all that a job is about."""
        if not self.engines.own or job.draft:
            return self._running is None or self._running is self.engines.main
        if job.line is not None:
            said = {job.line.speaker}
        else:
            spoken = reading.manuscript.spoken
            speakers = {one.id: one.chunk.speaker for one in spoken if one.id in job.chunks}
            said = {speakers.get(name, "") for name in job.chunks}
        return "" not in said and all(self.engines.of(name) is self._running for name in said)

    def _begin(self, ticket: Ticket, view: _Snapshot) -> None:
        job, book = ticket.job, view.book
        if job.kind in ("pin", "unpin"):
            mark(ticket, book)
            self.owner.done(ticket)
            return
        engine = self._running or self.engines.main
        if view.engines is not self.engines or not self._runs_for(view.reading, job):
            self._later.add(ticket.id)
            self.owner.put_back(ticket)
        elif job.kind == "audition":
            line = begun(job, view.reading, self.engines, self.tell)
            errand = _Errand(ticket, engine, line, lambda: auditioned(ticket, line))
            self._ask(errand, line.begin())
        else:
            seed, parameters = settings_of(view.reading, job)
            again = retakes.RetakeJob.of(
                book,
                job.chunks,
                count=job.count,
                seed=seed,
                parameters=parameters,
                on_message=self.tell,
            )
            errand = _Errand(ticket, engine, again, lambda: retaken(ticket, again.settled()))
            self._ask(errand, again.requests)

    def _view(self, job: Job, running: BookPlan) -> _Snapshot:
        """The book as it is in its files now. A long one takes seconds to be read or planned, in
        which the engine waits: it is done where the last one will not do."""
        view = self._views.get(job.draft)
        if view is None and self._is_spoken_here(self.reading.manuscript.project, job):
            view = _Snapshot(self.reading, running, self.engines)
        if view is None or not view.reading.is_current() or _is_past(view.book, job):
            reading = self._newest = self._newest.again()
            engines = self._engines(reading.manuscript.project, job)
            book = bookplan.plan(
                reading.manuscript, engines.main, Selection(), engines=engines.own,
                store=running.store,
            )  # fmt: skip
            view = _Snapshot(reading, book, engines)
        self._views[job.draft] = view
        return view

    def _is_spoken_here(self, project: Project, job: Job) -> bool:
        """Whether a job is spoken by the engines of the render."""
        ours = bookengines.settings_of(self.reading.manuscript.project, draft=self.draft)
        return bookengines.settings_of(project, draft=job.draft) == ours

    def _engines(self, project: Project, job: Job) -> BookEngines:
        if self._is_spoken_here(project, job):
            return self.engines
        return bookengines.engines_for(project, draft=job.draft, tell=self.tell, wish=wish_of(job))

    def _ask(self, errand: _Errand, requests: Sequence[Request]) -> None:
        errand.left += len(requests)
        self._waiting += ((errand, request) for request in requests)

    def _is_less(self, errand: _Errand) -> None:
        """One request of an errand has its answer, or needs none."""
        errand.left -= 1
        if errand.left or errand.failed:
            return
        try:
            errand.settle()
            self.owner.done(errand.ticket)
        except (NarratorError, OSError) as error:
            self._fail(errand.ticket, error)

    def _fail(self, ticket: Ticket, error: NarratorError | OSError) -> None:
        """Whatever is wrong with somebody's job, the render goes on."""
        known = error if isinstance(error, NarratorError) else EnvironmentFailed(str(error))
        ticket.ended(known.exit_code, str(known))
        self.owner.done(ticket)


def _is_past(book: BookPlan, job: Job) -> bool:
    """Whether pins came or went since a plan that a job would be done otherwise with."""
    if not book.is_pinned_otherwise:
        return False
    if job.kind == "retake":
        return True
    steps = bookplan.find_steps(book, job.chunks)
    return not job.chunks or any(
        one.pinned and not retakes.find_current_pin(book, one) for one in steps
    )
