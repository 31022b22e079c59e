"""Jobs of clients that are done during a render, between the turns of its engine.

Pins are set and removed at once. Retakes and auditions for the running engine are spoken between
the render's own requests. All other jobs wait for the end of the render. If the book has been
edited meanwhile, it is read again for these jobs, but not for the render. Knows no sockets.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from narrator.engines import Engine, Outcome, Request
from narrator.errors import EnvironmentFailed, NarratorError, UsageError
from narrator.pipeline import auditioning, book_engines, book_plan, retakes
from narrator.pipeline.auditioning import Auditioning
from narrator.pipeline.book_engines import BookEngines
from narrator.pipeline.book_plan import BookPlan, Selection
from narrator.pipeline.book_reading import BookReading
from narrator.pipeline.jobs.protocol import STOPPED, Job
from narrator.pipeline.jobs.server import JobHandle, JobServer
from narrator.pipeline.retakes import RetakeSettings
from narrator.project.project import Project


def settings_of(reading: BookReading, job: Job) -> RetakeSettings:
    """The settings of a retake. Raises UsageError."""
    typed_settings = [f"{name}={setting}" for name, setting in job.parameters.items()]
    parameters = book_engines.parse_typed_settings(reading.manuscript, job.chunks, typed_settings)
    seed = parameters.pop("seed", job.seed)
    return RetakeSettings(job.count, seed, parameters, job.style, job.speed)


def record_retake(handle: JobHandle, retaken_chunks: list[retakes.RetakenChunk]) -> None:
    """Record the outcome of a retake in its handle."""
    has_failures = any(chunk.pinned is None for chunk in retaken_chunks)
    exit_code = STOPPED if handle.cancel.is_set() else 1 if has_failures else 0
    handle.record_outcome(
        exit_code, summary={"retaken": [chunk.to_json() for chunk in retaken_chunks]}
    )


def prepare_audition(
    job: Job, reading: BookReading, engines: BookEngines, on_message: Callable[[str], None]
) -> Auditioning:
    """Prepare an audition. Raises as `auditioning.begin`."""
    if job.line is None:
        raise UsageError("an audition is of a line")
    line = job.line
    engine = engines.of(line.speaker)
    return auditioning.begin(
        reading.manuscript, engine, line.speaker, line.text, line.voice, on_message
    )


def record_audition(handle: JobHandle, auditioning: Auditioning) -> None:
    """Record the outcome of an audition in its handle. Raises UserError, StorageError."""
    if handle.cancel.is_set():
        handle.record_outcome(STOPPED)
    else:
        handle.record_outcome(0, summary={"audition": auditioning.finish()})


def pin_or_unpin(handle: JobHandle, book: BookPlan) -> None:
    """Do a pin or unpin; the caller holds the lock and writes the plan's store. Raises UsageError,
    StorageError."""
    job = handle.job
    steps = book_plan.find_steps(book, job.chunks)
    replaced, home_key = None, ""
    if len(steps) == 1:
        pin_before = retakes.find_current_pin(book, steps[0])
        replaced, home_key = retakes.number_and_home(pin_before)
    replaced_row = {"replaced": replaced, "replaced_home": home_key}
    if job.kind == "unpin":
        lost_pins = () if job.chunks else book.lost
        retakes.remove_lost_pins(book, lost_pins)
        pinned_steps = retakes.unpin(book, steps)
        unpinned = {step.id: step in pinned_steps for step in steps}
        summary = {"unpinned": unpinned, "forgotten": len(lost_pins), **replaced_row}
        handle.record_outcome(0, summary=summary)
        return
    if len(steps) != 1 or job.number is None:
        raise UsageError("one chunk is pinned, to the number of one of its tries")
    retakes.pin(book, steps[0], job.number, job.home)
    summary = {"pinned": steps[0].id, "number": job.number, **replaced_row}
    handle.record_outcome(0, summary=summary)


class _RequestSource(Protocol):
    """The source of an errand's requests."""

    def answered(self, request: Request, outcome: Outcome) -> Sequence[Request]:
        """The follow-up requests after an outcome."""
        ...


@dataclass(slots=True, eq=False)
class _Errand:
    """The requests of one job to a running engine."""

    handle: JobHandle
    engine: Engine
    request_source: _RequestSource
    settle: Callable[[], None]
    """Records the outcome, once all requests have been answered."""
    remaining_requests: int = 0
    """Number of requests without an answer."""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """The book in its present state, as jobs during the render see it."""

    reading: BookReading
    book: BookPlan
    engines: BookEngines


@dataclass(slots=True)
class ConcurrentJobs:
    """Jobs of clients that are done between the turns of a render."""

    owner: JobServer
    reading: BookReading
    engines: BookEngines
    tell: Callable[[str], None]
    _plan: BookPlan | None = None
    """The plan of the render."""
    _running_engine: Engine | None = None
    """The engine that asked for a request last."""
    _waiting: deque[tuple[_Errand, Request]] = field(default_factory=deque)
    _in_flight: dict[str, tuple[_Errand, Request]] = field(default_factory=dict)
    """Requests by the key that the loop uses; the render may speak the same step meanwhile."""
    _snapshots: dict[str, _Snapshot] = field(default_factory=dict)
    """Snapshots by the engines of jobs."""
    _postponed_ids: set[str] = field(default_factory=set)
    """Ids of jobs that turned out not to be for the running engine."""
    _request_count: int = 0
    _latest_reading: BookReading = field(init=False)

    def __post_init__(self) -> None:
        self._latest_reading = self.reading

    def planned(self, book: BookPlan) -> None:
        """Take the plan of the render, and each new one."""
        self._plan = book

    def attend(self) -> None:
        """Begin the waiting jobs that can be done now; called on the render's thread."""
        running = self._plan
        if running is None:
            return
        while handle := self.owner.take(self._can_run_now):
            self.owner.mark_started(handle, is_concurrent=True)
            try:
                self._begin(handle, self._current_snapshot(handle.job, running))
            except (NarratorError, OSError) as error:
                self._fail(handle, error)

    def request(self, engine: Engine) -> Request | None:
        """The next waiting request for an engine, under a key of its own; None if there is none."""
        self._running_engine = engine
        while (index := self._find_next_index(engine)) is not None:
            errand, request = self._waiting[index]
            del self._waiting[index]
            if errand.failed or errand.handle.cancel.is_set():
                self._finish_request(errand)
                continue
            self._request_count += 1
            key = f"aside {self._request_count}"
            self._in_flight[key] = errand, request
            return replace(request, key=key)
        return None

    def _find_next_index(self, engine: Engine) -> int | None:
        """The index of the first waiting request for an engine."""
        waiting = enumerate(self._waiting)
        return next((index for index, (errand, _) in waiting if errand.engine is engine), None)

    def answered(self, request: Request, outcome: Outcome) -> None:
        """Take the outcome of a request: queue what its errand asks for next, or finish it."""
        errand, original_request = self._in_flight.pop(request.key)
        if not errand.failed:
            try:
                self._queue_requests(
                    errand,
                    errand.request_source.answered(
                        original_request, replace(outcome, key=original_request.key)
                    ),
                )
            except (NarratorError, OSError) as error:
                errand.failed = True
                self._fail(errand.handle, error)
        self._finish_request(errand)

    def give_up(self) -> None:
        """Return unfinished jobs to the queue when the render ends; stopped ones end."""
        unfinished_errands = (
            errand for errand, _ in (*self._in_flight.values(), *self._waiting) if not errand.failed
        )
        for handle in reversed(list(dict.fromkeys(errand.handle for errand in unfinished_errands))):
            if handle.cancel.is_set():
                handle.record_outcome(STOPPED)
                self.owner.mark_ended(handle)
            else:
                self.owner.put_back(handle)
        self._waiting.clear()
        self._in_flight.clear()

    def _can_run_now(self, handle: JobHandle) -> bool:
        """True if a job can be done during this render."""
        job, project = handle.job, self.reading.manuscript.project
        if job.book != project.path.name or handle.id in self._postponed_ids:
            return False
        if job.kind in ("retake", "audition"):
            return self._speaks_like_render(project, job) and self._is_engine_running_for(
                self.reading, job
            )
        return job.kind in ("pin", "unpin")

    def _is_engine_running_for(self, reading: BookReading, job: Job) -> bool:
        """True if the running engine speaks everything that a job is about."""
        if not self.engines.by_speaker:
            return self._running_engine is None or self._running_engine is self.engines.main
        if job.line is not None:
            required_speakers = {job.line.speaker}
        else:
            utterances = reading.manuscript.spoken
            speakers_by_chunk = {
                utterance.id: utterance.chunk.speaker
                for utterance in utterances
                if utterance.id in job.chunks
            }
            required_speakers = {speakers_by_chunk.get(name, "") for name in job.chunks}
        return "" not in required_speakers and all(
            self.engines.of(name) is self._running_engine for name in required_speakers
        )

    def _begin(self, handle: JobHandle, snapshot: _Snapshot) -> None:
        """Do a job, queue its requests, or put it back for later."""
        job, book = handle.job, snapshot.book
        if job.kind in ("pin", "unpin"):
            pin_or_unpin(handle, book)
            self.owner.mark_ended(handle)
            return
        engine = self._running_engine or self.engines.main
        if snapshot.engines is not self.engines or not self._is_engine_running_for(
            snapshot.reading, job
        ):
            self._postponed_ids.add(handle.id)
            self.owner.put_back(handle)
        elif job.kind == "audition":
            auditioning = prepare_audition(job, snapshot.reading, self.engines, self.tell)
            errand = _Errand(
                handle, engine, auditioning, lambda: record_audition(handle, auditioning)
            )
            self._queue_requests(errand, auditioning.begin())
        else:
            retake_settings = settings_of(snapshot.reading, job)
            retake_job = retakes.RetakeJob.of(book, job.chunks, retake_settings, self.tell)
            errand = _Errand(
                handle, engine, retake_job, lambda: record_retake(handle, retake_job.finish())
            )
            self._queue_requests(errand, retake_job.requests)

    def _current_snapshot(self, job: Job, running: BookPlan) -> _Snapshot:
        """The book in the present state of its files.

        Reading or planning a long book takes seconds, in which the engine waits, so that the last
        snapshot is reused while it is valid.
        """
        snapshot = self._snapshots.get(job.engine)
        if snapshot is None and self._speaks_like_render(self.reading.manuscript.project, job):
            snapshot = _Snapshot(self.reading, running, self.engines)
        if (
            snapshot is None
            or not snapshot.reading.is_current()
            or _is_outdated(snapshot.book, job)
        ):
            self._latest_reading = self._latest_reading.again()
            reading = self._latest_reading.spoken_by(job.engine)
            engines = self._engines_for(reading.manuscript.project, job)
            book = book_plan.plan(
                reading.manuscript, engines.main, Selection(), engines=engines.by_speaker,
                store=running.store,
            )  # fmt: skip
            snapshot = _Snapshot(reading, book, engines)
        self._snapshots[job.engine] = snapshot
        return snapshot

    def _speaks_like_render(self, project: Project, job: Job) -> bool:
        """True if the engines of the render speak a job."""
        render_project = self.reading.manuscript.project
        return book_engines.settings_of(project.spoken_by(job.engine)) == book_engines.settings_of(
            render_project
        )

    def _engines_for(self, project: Project, job: Job) -> BookEngines:
        if self._speaks_like_render(project, job):
            return self.engines
        return book_engines.engines_for(project, job.cluster, on_message=self.tell)

    def _queue_requests(self, errand: _Errand, requests: Sequence[Request]) -> None:
        errand.remaining_requests += len(requests)
        self._waiting += ((errand, request) for request in requests)

    def _finish_request(self, errand: _Errand) -> None:
        """Count a request of an errand as done, and finish the errand after its last one."""
        errand.remaining_requests -= 1
        if errand.remaining_requests or errand.failed:
            return
        try:
            errand.settle()
            self.owner.mark_ended(errand.handle)
        except (NarratorError, OSError) as error:
            self._fail(errand.handle, error)

    def _fail(self, handle: JobHandle, error: NarratorError | OSError) -> None:
        """End a job with an error, which does not affect the render."""
        reported_error = (
            error if isinstance(error, NarratorError) else EnvironmentFailed(str(error))
        )
        handle.record_outcome(reported_error.exit_code, str(reported_error))
        self.owner.mark_ended(handle)


def _is_outdated(book: BookPlan, job: Job) -> bool:
    """True if a plan is outdated for a job, since pins were added or removed."""
    if not book.is_pinned_otherwise:
        return False
    if job.kind == "retake":
        return True
    steps = book_plan.find_steps(book, job.chunks)
    return not job.chunks or any(
        step.pinned and not retakes.find_current_pin(book, step) for step in steps
    )
