"""How the jobs of a project are done by its owner, one after another.

Knows no sockets and no terminal.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from narrator.cast import auditions
from narrator.engines import make_room
from narrator.errors import UsageError
from narrator.pipeline import bookengines, bookplan, retakes, run
from narrator.pipeline.bookengines import BookEngines
from narrator.pipeline.bookplan import Selection
from narrator.pipeline.owning import beside, inputs
from narrator.pipeline.owning.beside import Beside
from narrator.pipeline.owning.inputs import BookReading
from narrator.pipeline.owning.jobs import Job, wish_of
from narrator.pipeline.owning.owner import Owner, Ticket
from narrator.pipeline.owning.tally import Shown
from narrator.pipeline.owning.telling import Telling
from narrator.pipeline.run import Report
from narrator.pipeline.session import locked
from narrator.project import other_engine
from narrator.project.preferences import ClusterWish
from narrator.project.project import Project
from narrator.speech.store import Store

GONE_SOON = 10.0
"""Seconds that a job waits for one who holds the lock and takes no jobs, as gc."""


class BetweenJobs:
    """What stays as it is from job to job: engines as they are loaded, while their settings are the
    same, and what was read of books."""

    def __init__(self) -> None:
        self._engines: dict[tuple[Path, str, bool, ClusterWish], BookEngines] = {}
        self._readings: dict[tuple[Path, str], BookReading] = {}

    def engines(self, project: Project, job: Job) -> BookEngines:
        """Raises EngineUnavailable."""
        place = project.path, job.engine, job.draft, wish_of(job)
        known = self._engines.get(place)
        found = bookengines.engines_for(
            project, draft=job.draft, known=known.settings if known else (), wish=wish_of(job)
        )
        self._engines[place] = found
        return found

    def forget_engines(self) -> None:
        """One that could not be started may be mended."""
        self._engines.clear()

    def reading(self, path: Path, job: Job) -> BookReading:
        """The book as it is now. Raises ManifestError, ScriptError."""
        place = path, job.engine
        known = self._readings.get(place)
        self._readings[place] = known.again() if known else inputs.read(path)
        return self._readings[place]


def render(
    owner: Owner, ticket: Ticket, reading: BookReading, selection: Selection,
    engines: BookEngines, shown: Shown,
) -> Report:  # fmt: skip
    """A render or an export, beside which pins and retakes of others are done.

    Raises as `run.run`.
    """
    others = Beside(owner, reading, engines, ticket.job.draft, ticket.job.engine, shown.starting)
    ticket.covers = _covering(ticket.job, reading, selection)
    try:
        report = run.run(
            reading.manuscript, engines.main, selection, engines=engines.own,
            observer=Telling(owner, ticket, shown, others.attend), cancel=ticket.cancel,
            speak=ticket.job.kind == "render", aside=others,
        )  # fmt: skip
    finally:
        others.give_up()
    failed = "\n".join(map(str, report.failures))
    ticket.ended(report.exit_code, failed, run.summary(report))
    return report


def retake(
    owner: Owner, ticket: Ticket, reading: BookReading, engines: BookEngines, shown: Shown
) -> None:
    """Chunks spoken anew, a row each in its summary. Raises as `retakes.retake`."""
    job = ticket.job
    seed, parameters = beside.settings_of(reading, job)
    made = retakes.retake(
        reading.manuscript, engines.main, job.chunks, engines=engines.own, count=job.count,
        seed=seed, parameters=parameters, observer=Telling(owner, ticket, shown),
        cancel=ticket.cancel,
    )  # fmt: skip
    beside.retaken(ticket, made)


def audition(
    owner: Owner, ticket: Ticket, reading: BookReading, engines: BookEngines, shown: Shown
) -> None:
    """A line in somebody's voice. Raises as `auditioning.begin`, EngineUnavailable."""
    tell = Telling(owner, ticket, shown).starting
    line = beside.begun(ticket.job, reading, engines, tell)
    make_room(line.audition.engine, engines.all)
    auditions.speak_line(line.audition, tell, ticket.cancel)
    beside.auditioned(ticket, line)


def mark(ticket: Ticket, reading: BookReading, engines: BookEngines) -> None:
    """Pin a try of a chunk, or unpin chunks. Raises as `retakes.pin`."""
    project = reading.manuscript.project
    with locked(project):
        store = Store.open(project.takes, writing=True)
        book = bookplan.plan(
            reading.manuscript, engines.main, Selection(), engines=engines.own, store=store
        )
        beside.mark(ticket, book)


def do(owner: Owner, ticket: Ticket, root: Path, kept: BetweenJobs, shown: Shown) -> None:
    """A job of somebody else, from the reading of the book on. Raises NarratorError."""
    job = ticket.job
    with owner.doing(ticket), ExitStack() as held:
        if not job.book or Path(job.book).name != job.book:
            raise UsageError(f"no manifest of {root}: {job.book}")
        held.enter_context(other_engine.speaking_with(job.engine))
        reading = kept.reading(root / job.book, job)
        manuscript = reading.manuscript
        selection = bookplan.select(manuscript, job.chapters, job.speakers, job.force)
        engines = kept.engines(manuscript.project, job)
        held.enter_context(locked(manuscript.project, GONE_SOON))
        if job.kind in ("render", "export"):
            render(owner, ticket, reading, selection, engines, shown)
        elif job.kind == "retake":
            retake(owner, ticket, reading, engines, shown)
        elif job.kind == "audition":
            audition(owner, ticket, reading, engines, shown)
        else:
            mark(ticket, reading, engines)


def _covering(job: Job, reading: BookReading, selection: Selection) -> Callable[[Job], bool]:
    """Which other jobs a render does: such of the same book and engine, as it is in its files now,
    and of no more than it renders."""
    project = reading.manuscript.project

    def covers(other: Job) -> bool:
        if other.force or (other.kind, other.book) != (job.kind, project.path.name):
            return False
        if other.engine != job.engine:
            return False
        if wish_of(other) != wish_of(job):  # spoken elsewhere
            return False
        speaks = bookengines.settings_of(project, draft=job.draft)
        if (
            bookengines.settings_of(project, draft=other.draft) != speaks
            or not reading.is_current()
        ):
            return False
        try:
            asked = bookplan.select(reading.manuscript, other.chapters, other.speakers, False)
        except UsageError:
            return False
        return _within(asked.chapters, selection.chapters) and _within(
            asked.speakers, selection.speakers
        )

    return covers


def _within(asked: frozenset[Any], chosen: frozenset[Any]) -> bool:
    """Whether all that is asked for is chosen, where none stands for all."""
    return not chosen or (bool(asked) and asked <= chosen)
