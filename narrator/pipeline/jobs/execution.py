"""Does the jobs of a project for its owner, one after another.

Knows no sockets and no terminal.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from narrator.cast import auditions
from narrator.engines import make_room
from narrator.errors import UsageError
from narrator.pipeline import book_engines, book_plan, book_reading, hearing, retakes, run
from narrator.pipeline.book_engines import BookEngines
from narrator.pipeline.book_plan import Selection
from narrator.pipeline.book_reading import BookReading
from narrator.pipeline.jobs import concurrent
from narrator.pipeline.jobs.concurrent import ConcurrentJobs
from narrator.pipeline.jobs.protocol import STOPPED, Job
from narrator.pipeline.jobs.publishing import ProgressPublisher
from narrator.pipeline.jobs.server import JobHandle, JobServer
from narrator.pipeline.run import Report
from narrator.pipeline.session import locked
from narrator.progress import Exporting, ProgressSink, Starting, message_callback
from narrator.project.preferences import ClusterOptions
from narrator.project.project import Project
from narrator.speech.hearing import choosing
from narrator.speech.store import Store

LOCK_TIMEOUT_S = 10.0
"""Seconds that a job waits for a lock held by a command that takes no jobs, such as gc."""


class JobCaches:
    """Caches that last from job to job: loaded engines and books that were read."""

    def __init__(self) -> None:
        self._engines: dict[tuple[Path, str, ClusterOptions], BookEngines] = {}
        self._readings: dict[Path, BookReading] = {}

    def engines(self, project: Project, job: Job) -> BookEngines:
        """The engines for a job, reused if settings are the same. Raises EngineUnavailable."""
        cache_key = project.path, job.engine, job.cluster
        previous_engines = self._engines.get(cache_key)
        loaded_engines = book_engines.engines_for(
            project,
            job.cluster,
            existing_engines=previous_engines.settings if previous_engines else (),
        )
        self._engines[cache_key] = loaded_engines
        return loaded_engines

    def forget_engines(self) -> None:
        """Drop all engines, since one that failed to start may be mended."""
        self._engines.clear()

    def reading(self, path: Path, job: Job) -> BookReading:
        """The book in its present state. Raises ManifestError, ScriptError."""
        previous = self._readings.get(path)
        self._readings[path] = previous.again() if previous else book_reading.read_book(path)
        return self._readings[path].spoken_by(job.engine)


def render(
    owner: JobServer, handle: JobHandle, reading: BookReading, selection: Selection,
    engines: BookEngines, progress_sink: ProgressSink,
) -> Report:  # fmt: skip
    """Render or export, with pins and retakes of others done in between. Raises as `run.run`."""
    concurrent_jobs = ConcurrentJobs(owner, reading, engines, message_callback(progress_sink))
    handle.covers = _make_cover_predicate(handle.job, reading, selection)
    try:
        report = run.run(
            reading.manuscript, engines.main, selection, engines=engines.by_speaker,
            sink=ProgressPublisher(owner, handle, progress_sink, concurrent_jobs.attend),
            cancel=handle.cancel, speak=handle.job.kind == "render", request_source=concurrent_jobs,
        )  # fmt: skip
    finally:
        concurrent_jobs.give_up()
    failure_text = "\n".join(map(str, report.failures))
    handle.record_outcome(report.exit_code, failure_text, run.summary(report))
    return report


def retake(
    owner: JobServer,
    handle: JobHandle,
    reading: BookReading,
    engines: BookEngines,
    progress_sink: ProgressSink,
) -> None:
    """Speak chunks again and list the tries in the handle's summary. Raises as `retakes.retake`."""
    job = handle.job
    retaken_chunks = retakes.retake(
        reading.manuscript, engines.main, job.chunks, concurrent.settings_of(reading, job),
        engines=engines.by_speaker, sink=ProgressPublisher(owner, handle, progress_sink),
        cancel=handle.cancel,
    )  # fmt: skip
    concurrent.record_retake(handle, retaken_chunks)


def audition(
    owner: JobServer,
    handle: JobHandle,
    reading: BookReading,
    engines: BookEngines,
    progress_sink: ProgressSink,
) -> None:
    """Speak a line in a speaker's voice. Raises as `auditioning.begin`, EngineUnavailable."""
    on_message = message_callback(ProgressPublisher(owner, handle, progress_sink))
    auditioning = concurrent.prepare_audition(handle.job, reading, engines, on_message)
    make_room(auditioning.audition.engine, engines.all)
    auditions.speak_line(auditioning.audition, on_message, handle.cancel)
    concurrent.record_audition(handle, auditioning)


def hear(
    owner: JobServer,
    handle: JobHandle,
    reading: BookReading,
    selection: Selection,
    engines: BookEngines,
    progress_sink: ProgressSink,
) -> None:
    """Listen to the takes that were not listened to yet. Raises as `hearing.hear_book`."""
    publisher = ProgressPublisher(owner, handle, progress_sink)
    project = reading.manuscript.project
    listener = choosing.make_listener(project.manifest.checks, project.root)
    publisher(Starting(f"loading {listener.recogniser.title if listener.recogniser else ''}"))

    def show_share(share: float) -> None:
        publisher(Exporting("listening", round(share * 1000), 1000))

    _, book_hearing = hearing.hear_book(
        reading.manuscript, engines, selection, listener,
        on_progress=show_share, cancel=handle.cancel,
    )  # fmt: skip
    misheard_count = sum(not misheard.is_accepted for misheard in book_hearing.misheard)
    summary = {"heard": book_hearing.heard_count, "misheard": misheard_count,
               "relieved": book_hearing.relieved_count}  # fmt: skip
    handle.record_outcome(STOPPED if book_hearing.cancelled else 0, summary=summary)


def judge(handle: JobHandle, reading: BookReading, engines: BookEngines) -> None:
    """Judge takes anew by what was heard of them. Raises as `hearing.judge_again`."""
    misheard, relieved = hearing.judge_again(reading.manuscript, engines, handle.job.chunks)
    handle.record_outcome(0, summary={"heard": 0, "misheard": misheard, "relieved": relieved})


def pin_or_unpin(handle: JobHandle, reading: BookReading, engines: BookEngines) -> None:
    """Pin a try of a chunk, or unpin chunks. Raises as `retakes.pin`."""
    project = reading.manuscript.project
    with locked(project):
        store = Store.open(project.takes, writing=True)
        book = book_plan.plan(
            reading.manuscript, engines.main, Selection(), engines=engines.by_speaker, store=store
        )
        concurrent.pin_or_unpin(handle, book)


def do_job(
    owner: JobServer, handle: JobHandle, root: Path, caches: JobCaches, progress_sink: ProgressSink
) -> None:
    """Do a job of another process, from reading the book on. Raises NarratorError."""
    job = handle.job
    with owner.doing(handle), ExitStack() as resources:
        if not job.book or Path(job.book).name != job.book:
            raise UsageError(f"no manifest of {root}: {job.book}")
        reading = caches.reading(root / job.book, job)
        manuscript = reading.manuscript
        selection = book_plan.select(manuscript, job)
        engines = caches.engines(manuscript.project, job)
        resources.enter_context(locked(manuscript.project, LOCK_TIMEOUT_S))
        if job.kind in ("render", "export"):
            render(owner, handle, reading, selection, engines, progress_sink)
        elif job.kind == "retake":
            retake(owner, handle, reading, engines, progress_sink)
        elif job.kind == "audition":
            audition(owner, handle, reading, engines, progress_sink)
        elif job.kind == "hear":
            hear(owner, handle, reading, selection, engines, progress_sink)
        elif job.kind == "judge":
            judge(handle, reading, engines)
        else:
            pin_or_unpin(handle, reading, engines)


def _make_cover_predicate(
    job: Job, reading: BookReading, selection: Selection
) -> Callable[[Job], bool]:
    """Returns a predicate for the jobs that a render covers.

    Those are jobs for the same book and engines with equal options, and with no more chapters and
    speakers than it renders, while the files of the book are unchanged.
    """
    project = reading.manuscript.project

    def covers(other_job: Job) -> bool:
        """True if the render does the work of another job too."""
        own_part = replace(
            other_job,
            book=job.book, engine=job.engine, chapters=job.chapters, speakers=job.speakers,
            force=job.force,
        )  # fmt: skip
        # forced takes are wanted anew, even if the running render is forced too
        if own_part != job or other_job.force or other_job.book != project.path.name:
            return False
        if project.spoken_by(other_job.engine).other_engine != project.other_engine:
            return False
        if not reading.is_current():
            return False
        try:
            other_selection = book_plan.select(reading.manuscript, other_job)
        except UsageError:
            return False
        return _includes(other_selection.chapters, selection.chapters) and _includes(
            frozenset(other_job.speakers), frozenset(job.speakers)
        )

    return covers


def _includes(requested: frozenset[Any], selected: frozenset[Any]) -> bool:
    """True if a selection includes all of another; an empty one stands for everything."""
    return not selected or (bool(requested) and requested <= selected)
