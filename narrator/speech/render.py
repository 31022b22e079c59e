"""The render loop: ready steps -> engine -> checks -> store.

Checks, FLAC and disk run in threads beside the engine. A bad take is tried again under another
attempt number; then its text is rendered in two halves; then the least bad try becomes the take: a
doubtful one, with its faults in its record, which is never a prompt. A step without any audible try
is given up, with a flag, and the run continues. Bad tries are kept as tries. Knows nothing of
chapters' audio or files for listeners.
"""

from __future__ import annotations

import contextlib
import time
from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import chain
from threading import Event
from typing import Any, Protocol

import numpy as np

from narrator.engines import (
    Engine,
    Outcome,
    Request,
    Session,
    Speech,
    make_room,
    speak,
    unique_engines,
)
from narrator.engines.voice import Reference
from narrator.errors import DamagedTake, UserError
from narrator.sound import audio, timing
from narrator.speech import checks
from narrator.speech.hearing import word_timings
from narrator.speech.hearing.listening import HearingQueue, Opinion, TakeListener
from narrator.speech.plan import Step, find_prompt_take, is_doubtful
from narrator.speech.requests import (
    FullAttempt,
    PartialAttempt,
    StepJob,
    TakeRules,
    check_answer,
    close_sentence,
    join_parts,
    part_offsets,
    prompt_of,
    prompt_state,
    record_of,
    request_for,
    sound_of,
    store_try,
)
from narrator.speech.scheduler import Scheduler, Task
from narrator.speech.store import Flag, Record
from narrator.speech.takes import TakeResolver
from narrator.text.chunks import split_in_half

MAX_UNCHECKED = 32
"""Takes that may wait for their checks before the engine gets more requests."""
MIN_MEDIAN_TAKES = 5
"""Takes of a speaker that are needed for a median."""
INAUDIBLE_FAULTS = frozenset(("finite", "silent"))
"""Kinds of faults that leave nothing to hear."""


class RenderObserver(Protocol):
    """Receives the progress of a render."""

    def rendered(self, step: Step, record: Record) -> None:
        """A step has its take; a take with faults is doubtful."""
        ...

    def retried(self, step: Step, faults: Sequence[str]) -> None: ...

    def flagged(self, step: Step, faults: Sequence[str]) -> None: ...

    def starting(self, what: str) -> None:
        """Something slow begins before the first take: a model is loaded, a voice is cast."""
        ...

    def running(self, slots: int, busy: float, note: str) -> None:
        """The engine's slots, the share of its time spent on speech, and its note."""
        ...

    def tick(self) -> None:
        """Called at least every second or so while the run goes on."""
        ...


class RequestSource(Protocol):
    """A source of foreign requests to a running engine, besides the render's own."""

    def request(self, engine: Engine) -> Request | None:
        """Returns the next request, if any; its key is no step's."""
        ...

    def answered(self, request: Request, outcome: Outcome) -> None: ...


@dataclass(slots=True)
class EngineWork:
    """The work of all engines of one name in a render."""

    rendered: int = 0
    expected: float = 0.0
    """Seconds of speech that the plan expected."""
    wall: float = 0.0


@dataclass(slots=True)
class RenderResult:
    """The outcome of a render."""

    rendered: int = 0
    seconds: float = 0.0
    """Of speech."""
    expected: float = 0.0
    """Seconds that the plan expected of it."""
    wall: float = 0.0
    retries: int = 0
    flags: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Faults of the steps that were given up, by key."""
    renewed: set[str] = field(default_factory=set)
    """Keys of the steps that were rendered: a forced step is rendered once."""
    cancelled: bool = False
    slots: int = 0
    """Of the engine, at its end."""
    busy: float = 0.0
    """Share of its time in which the engine made speech."""
    note: str = ""
    """The engine's note on the run; of several engines, all notes."""
    work: dict[str, EngineWork] = field(default_factory=dict)
    """By the engine's name."""


@dataclass(slots=True)
class SpeakerStats:
    """Levels and paces of a speaker's takes."""

    levels: list[float] = field(default_factory=list)
    """dB, sorted."""
    paces: list[float] = field(default_factory=list)
    """Ratios of seconds of speech to expected seconds, sorted."""

    def add(self, level: float, pace: float) -> None:
        insort(self.levels, level)
        if pace:
            insort(self.paces, pace)

    def medians(self) -> tuple[float | None, float | None]:
        """Returns the medians of level and pace; None while there are too few takes."""
        level = self.levels[len(self.levels) // 2] if len(self.levels) >= MIN_MEDIAN_TAKES else None
        pace = self.paces[len(self.paces) // 2] if len(self.paces) >= MIN_MEDIAN_TAKES else None
        return level, pace


@dataclass(frozen=True, slots=True)
class _ExaminedPart:
    """An answer to a part's request, with the verdict of the signal checks."""

    job: StepJob
    request: Request
    speech: Speech
    verdict: checks.Verdict


@dataclass(frozen=True, slots=True)
class _Judgement:
    """The outcome of the checks of a part.

    Either faults, or the record of a complete take, or a part that recognition must hear; none of
    them where the next part can be requested.
    """

    faults: tuple[str, ...] = ()
    record: Record | None = None
    examined_part: _ExaminedPart | None = None
    """A part that recognition must still hear."""
    answered: bool = True
    """Whether the engine produced any speech."""


def render(
    steps: Sequence[Step],
    engines: Mapping[str, Engine],
    takes: TakeResolver,
    result: RenderResult,
    *,
    reference: Callable[[str], Reference],
    rules: TakeRules,
    forced: Callable[[Step], bool],
    observer: RenderObserver,
    cancel: Event,
    ear: TakeListener | None = None,
    aside: RequestSource | None = None,
) -> None:
    """Renders the `steps` without a fitting take, and adds to `result`.

    `engines` are by speaker. They run one after another, each for its own speakers; no step waits
    for a step of another engine. Where memory is short, one engine is unloaded before the next is
    loaded. For engines that clone, `reference` returns a speaker's reference, whose content must
    match `takes`. Raises EngineUnavailable, StorageError, UserError for a missing voice, and
    DamagedTake for a prompt or a pinned take that is not what was stored. However it ends, every
    take that passed its checks is in the store. Requests of `aside` go first, while steps remain.

    Levels and paces are compared with the speaker's medians at the end, over all takes, so that
    neither order nor slots decide what is an outlier.
    """
    began = time.monotonic()
    try:
        for engine in unique_engines(engines):
            pending = {s.key: s for s in steps if engines[s.chunk.speaker] is engine}
            if pending and not result.cancelled:
                loop = _RenderLoop(
                    engine, takes, pending, reference, rules, forced, observer, cancel, ear, result,
                    aside,
                )  # fmt: skip
                loop.all_engines = unique_engines(engines)
                with _count_work(result, engine.name):
                    loop.run()
    finally:
        result.wall += time.monotonic() - began


@contextlib.contextmanager
def _count_work(result: RenderResult, name: str) -> Iterator[None]:
    """Counts the work done within the context for the engine of this name."""
    work, began = result.work.setdefault(name, EngineWork()), time.monotonic()
    rendered, expected, note = result.rendered, result.expected, result.note
    result.note = ""
    try:
        yield
    finally:
        work.rendered += result.rendered - rendered
        work.expected += result.expected - expected
        work.wall += time.monotonic() - began
        result.note = "; ".join(dict.fromkeys(filter(None, (note, result.note))))


class _RenderLoop:
    all_engines: Sequence[Engine] = ()
    """The engines of the book."""

    def __init__(
        self,
        engine: Engine,
        takes: TakeResolver,
        pending: Mapping[str, Step],
        reference: Callable[[str], Reference],
        rules: TakeRules,
        forced: Callable[[Step], bool],
        observer: RenderObserver,
        cancel: Event,
        ear: TakeListener | None,
        result: RenderResult,
        aside: RequestSource | None,
    ) -> None:
        self.engine, self.takes, self.store, self.pending = engine, takes, takes.store, pending
        self.scheduler = _make_scheduler(pending)
        self.reference, self.rules = reference, rules
        self.forced, self.observer, self.cancel, self.result = forced, observer, cancel, result
        self.aside = aside
        self.jobs: dict[str, StepJob] = {}
        self.in_engine = 0
        self.judging: dict[Future[_Judgement], StepJob] = {}
        self.speaker_stats: dict[str, SpeakerStats] = {}
        """By speaker; empty until all takes are in."""
        self.session: Session | None = None
        self.varies = "seed" in engine.sound_parameters
        """Whether the engine speaks the same text differently on another attempt."""
        self.workers = ThreadPoolExecutor(2, "judge")
        self.listening = HearingQueue[_ExaminedPart](ear) if ear else None

    def run(self) -> None:
        try:
            self._run_pass()
            while not self.result.cancelled and self._reject_outliers():
                self.scheduler = _make_scheduler(self.pending)
                self._run_pass()
        finally:
            self.workers.shutdown(wait=True)
            if self.listening:
                self.listening.close()
            if self.session:
                self.session.close()

    def _run_pass(self) -> None:
        """Sends every step without a fitting take through the engine and the checks."""
        requests = self._requests()
        if (first := next(requests, None)) is not None:  # else all takes fit
            if self.session is None:
                make_room(self.engine, self.all_engines)
                self.session = self.engine.start(self.observer.starting)
            all_requests = chain((first,), requests)
            for request, outcome in speak(
                self.session, all_requests, tick=self._tick, cancel=self.cancel
            ):
                job = self.jobs.get(request.key)
                if job is None:
                    assert self.aside is not None
                    self.aside.answered(request, outcome)
                    continue
                self.in_engine -= 1
                self._submit(job, self._judge, job, request, outcome)
        self.result.cancelled = self.scheduler.left > 0
        while self.judging or self._unheard_count:
            self._collect(0.5)

    def _requests(self) -> Iterator[Request | None]:
        """Yields requests until every step has ended.

        Yields None while all remaining steps wait for their parents' takes, or while too many
        takes wait for checks, which fills memory.
        """
        while not self.cancel.is_set():
            if self.aside and (foreign_request := self.aside.request(self.engine)):
                yield foreign_request
                continue
            if not self.scheduler.left:
                return
            slots = self.session.slots if self.session else 0
            waiting = len(self.judging) + self._unheard_count
            job = self._next_job() if waiting < max(MAX_UNCHECKED, slots) else None
            if job is None:
                yield None
                continue
            job.tries += 1
            self.in_engine += 1
            ahead = self.scheduler.ahead(job.step.key)
            yield replace(request_for(job, self.engine), ahead=ahead)

    def _tick(self) -> None:
        self._collect(0.0 if self.in_engine else 0.5)
        assert self.session is not None
        self.result.slots, self.result.busy = self.session.slots, self.session.busy
        self.result.note = self.session.note
        self.observer.running(self.session.slots, self.session.busy, self.session.note)
        self.observer.tick()

    def _reject_outliers(self) -> bool:
        """Turns takes of this run far from their speaker's medians into tries, to be tried again.

        Returns whether there were any.
        """
        if not self.varies:
            return False
        self.speaker_stats = collect_stats(self.pending.values(), self.takes.current)
        has_rejected = False
        for key in sorted(self.result.renewed & self.pending.keys() - self.result.flags.keys()):
            step = self.pending[key]
            record, speaker_stats = (
                self.takes.current(step),
                self.speaker_stats.get(step.voice.speaker),
            )
            if record is None or record.faults or speaker_stats is None:
                continue
            level, pace = speaker_stats.medians()
            faults = checks.find_outliers(
                record.figures, median=level, spread=self.rules.loudness, pace=pace
            )
            if faults:
                has_rejected = True
                self._reject(step, record, faults)
        return has_rejected

    def _reject(self, step: Step, record: Record, faults: tuple[checks.Fault, ...]) -> None:
        fault_texts = tuple(map(str, faults))
        self.result.seconds -= (record.stop - record.start) / record.sample_rate
        self.result.expected -= step.expected
        number = self.store.reject(step.key, fault_texts)
        job = self.jobs[step.key] = self._make_job(step)
        job.first_attempt = self._first_attempt(record)
        job.attempt, job.tries = record.attempt + 1, record.tries
        badness = sum(fault.weight for fault in faults)
        job.full_attempts.append(FullAttempt(badness, number, record.prompted_by))
        if record.halves > 1:  # the last resort already
            job.faults += fault_texts
            self._settle(job)
        elif job.attempt < job.first_attempt + self.rules.tries:
            self._retry(job, fault_texts)
        else:
            self._halve(job, fault_texts)

    def _first_attempt(self, record: Record) -> int:
        """Returns the first attempt of the series of tries that a take belongs to."""
        return record.attempt - record.attempt % self.rules.tries

    def _next_job(self) -> StepJob | None:
        """Returns the next step for the engine; marks steps with fitting takes as done."""
        while (key := self.scheduler.take()) is not None:
            step = self.pending[key]
            if job := self.jobs.get(key):  # put back for another try
                # what it continues may have changed since it was made
                return job if job.done else self._add_prompt(job)
            if key in self.result.flags:
                self.scheduler.done(key)
                continue
            is_unforced = step.pinned or not self.forced(step)
            if is_unforced and self.takes.current(step):
                self.scheduler.done(key)
                continue
            if step.pinned:
                raise DamagedTake(f"the pinned take of chunk {step.id} has gone")
            self.jobs[key] = self._make_job(step)
            return self.jobs[key]
        return None

    def _make_job(self, step: Step) -> StepJob:
        flag, take = self.store.flag(step.key), self.takes.current(step)
        first = flag.attempts if flag else 0
        if take and is_doubtful(take, step):  # forced: not the same again
            first = self._first_attempt(take) + self.rules.tries
        job = StepJob(step, (step.text,), time.monotonic(), attempt=first, first_attempt=first)
        speaker = step.chunk.speaker
        if speaker in self.takes.voices:
            job.reference = self.reference(speaker)
            if job.reference.content != self.takes.voice(speaker):
                raise UserError(f"the voice of '{speaker}' changed meanwhile; render again")
        return self._add_prompt(job)

    def _add_prompt(self, job: StepJob) -> StepJob:
        step = job.step
        parent = find_prompt_take(step, self.store.find)
        job.prompt = job.prompted_by = None
        if parent and step.parent:
            # it decides this take even where it proves too long to be its prompt
            job.prompted_by = parent.content
            job.prompt = prompt_of(self.store, step.parent, parent, step.expected, self.engine)
        return job

    def _submit(self, job: StepJob, work: Callable[..., _Judgement], *arguments: object) -> None:
        self.judging[self.workers.submit(work, *arguments)] = job

    def _judge(self, job: StepJob, request: Request, outcome: Outcome) -> _Judgement:
        """Checks one part. Runs in a thread."""
        medians = self.speaker_stats.get(job.step.voice.speaker, SpeakerStats()).medians()
        if outcome.speech is None:
            return _Judgement((f"engine: {outcome.failure}",), answered=False)
        speech = outcome.speech
        verdict = check_answer(speech, request, self.engine, self.rules, *medians)
        examined_part = _ExaminedPart(job, request, speech, verdict)
        if verdict.faults:
            return self._refuse(examined_part, verdict)
        if self.listening is None:
            return self._accept(job, speech, verdict)
        return _Judgement(examined_part=examined_part)

    def _handle_opinion(self, examined_part: _ExaminedPart, opinion: Opinion) -> None:
        """Accepts a part that recognition found good; refuses it otherwise."""
        job, verdict = examined_part.job, replace(examined_part.verdict, faults=opinion.faults)
        if verdict:
            self._submit(job, self._accept, job, examined_part.speech, verdict, opinion)
        else:
            self._submit(job, self._refuse, examined_part, verdict, opinion)

    def _refuse(
        self, examined_part: _ExaminedPart, verdict: checks.Verdict, opinion: Opinion | None = None
    ) -> _Judgement:
        """Keeps a bad part as a try. Runs in a thread."""
        self._keep_try(
            examined_part.job, examined_part.request, examined_part.speech, verdict, opinion
        )
        return _Judgement(tuple(map(str, verdict.faults)))

    def _keep_try(
        self,
        job: StepJob,
        request: Request,
        speech: Speech,
        verdict: checks.Verdict,
        opinion: Opinion | None,
    ) -> None:
        stored_try = store_try(self.store, request, speech, verdict, self.engine, job.prompted_by)
        if stored_try is None:
            return  # nothing that could be heard
        number, _ = stored_try
        if any(fault.kind in INAUDIBLE_FAULTS for fault in verdict.faults):
            return
        badness = checks.severity(verdict)
        if len(job.parts) == 1:
            keep_opinion = partial(self._keep_heard, job, opinion)
            job.full_attempts.append(FullAttempt(badness, number, job.prompted_by, keep_opinion))
        elif job.best_half is None or badness < job.best_half.badness:
            job.best_half = PartialAttempt(badness, request.attempt, speech, verdict)

    def _accept(
        self, job: StepJob, speech: Speech, verdict: checks.Verdict, opinion: Opinion | None = None
    ) -> _Judgement:
        """Accepts one part; the last part completes the take. Runs in a thread."""
        request, rate = request_for(job, self.engine), self.engine.sample_rate
        job.done.append(speech)
        job.badness += checks.severity(verdict)
        job.doubts += tuple(map(str, verdict.faults))
        job.best_half = None
        if len(job.done) < len(job.parts):
            return _Judgement()
        record = record_of(job.step.key, request, speech, verdict, self.engine)
        samples = np.clip(join_parts(job.done, rate), -1.0, 1.0)
        start, stop = audio.speech_bounds(samples, rate)
        level, peak = audio.measure_level(samples[start:stop], rate)
        figures, words = record.figures, record.words
        if len(job.parts) > 1:
            parts = list(zip(job.parts, job.done, part_offsets(job.done, rate), strict=True))
            words = timing.pack_words(
                word_timings.spoken_words(job.step.text, job.step.language, parts, samples, rate)
            )
            full_verdict = checks.examine(samples, rate, job.step.expected, text=job.step.text)
            figures = asdict(full_verdict.figures)
        record = replace(
            record,
            samples=len(samples),
            start=start,
            stop=stop,
            level=round(level, 2),
            peak=round(peak, 2),
            halves=len(job.parts),
            tries=job.tries,
            prompted_by=job.prompted_by,
            figures=figures,
            faults=tuple(dict.fromkeys(job.doubts)),
            text=job.step.text,
            prompt_text=job.parts[-1] if len(job.parts) > 1 else "",
            wall=round(time.monotonic() - job.began, 3),
            words=words,
        )
        keep_opinion = partial(self._keep_heard, job, opinion if len(job.parts) == 1 else None)
        record = self.store.put(
            record, samples, prompt_state(speech, self.engine), before=keep_opinion
        )
        return _Judgement(record=record)

    def _keep_heard(self, job: StepJob, opinion: Opinion | None, record: Record) -> None:
        """Stores the transcript of a take. It is written before the take: if the disk is full, no
        take remains that looks unheard."""
        if self.listening and opinion:
            step = job.step
            self.listening.ear.keep(
                self.store.heard, record.content, step.text, step.language, opinion
            )

    def _collect(self, timeout: float) -> None:
        hearing = self.listening.future if self.listening else None
        if self.judging or hearing:
            futures: list[Future[Any]] = [*self.judging, *([hearing] if hearing else [])]
            wait(futures, timeout=timeout, return_when=FIRST_COMPLETED)
        for future in [pending_future for pending_future in self.judging if pending_future.done()]:
            self._handle_judgement(self.judging.pop(future), future.result())
        for examined_part, opinion in self.listening.heard() if self.listening else ():
            self._handle_opinion(examined_part, opinion)

    @property
    def _unheard_count(self) -> int:
        return self.listening.waiting if self.listening else 0

    def _handle_judgement(self, job: StepJob, judged: _Judgement) -> None:
        if judged.examined_part:
            assert self.listening is not None
            examined_part = judged.examined_part
            sound = sound_of(examined_part.speech, examined_part.request, self.engine)
            self.listening.add(examined_part, sound, examined_part.verdict)
        elif judged.record:
            self._finish_rendered(job, judged.record)
        elif not judged.faults:
            job.attempt = job.first_attempt
            self.scheduler.put_back(job.step.key)
        else:
            self._try_again(job, judged)

    def _finish_rendered(self, job: StepJob, record: Record) -> None:
        self._finish(job)
        self.result.rendered += job.step.key not in self.result.renewed
        self.result.renewed.add(job.step.key)
        self.result.seconds += (record.stop - record.start) / record.sample_rate
        self.result.expected += job.step.expected
        self.observer.rendered(job.step, record)

    def _try_again(self, job: StepJob, judged: _Judgement) -> None:
        """Tries again, then in halves, then settles for the least bad try.

        An engine that would repeat the same speech is tried again only if it produced none.
        """
        job.attempt += 1
        may_vary = self.varies or not judged.answered
        if may_vary and job.attempt < job.first_attempt + self.rules.tries:
            self._retry(job, judged.faults)
        elif len(job.parts) == 1:
            self._halve(job, judged.faults)
        else:
            job.faults += judged.faults
            self._make_do(job)

    def _retry(self, job: StepJob, faults: tuple[str, ...]) -> None:
        job.faults += faults
        self.result.retries += 1
        self.scheduler.put_back(job.step.key)
        self.observer.retried(job.step, faults)

    def _halve(self, job: StepJob, faults: tuple[str, ...]) -> None:
        halves = split_in_half(job.step.text, job.step.language)
        if halves is None:
            job.faults += faults
            self._settle(job)
            return
        job.parts, job.attempt = (close_sentence(halves[0]), halves[1]), job.first_attempt
        self._retry(job, faults)

    def _make_do(self, job: StepJob) -> None:
        """Accepts the least bad try of a half if both halves are better than any full attempt."""
        half, best_full = job.best_half, job.best()
        if half and (best_full is None or job.badness + half.badness < best_full.badness):
            job.attempt = half.attempt
            self._submit(job, self._accept, job, half.speech, half.verdict)
        else:
            self._settle(job)

    def _settle(self, job: StepJob) -> None:
        """Makes the least bad try the take, unless a good take exists; else gives the step up."""
        key, current_take = job.step.key, self.takes.current(job.step)
        is_good = current_take is not None and not current_take.faults
        while not is_good and (best := job.best()):
            wall = round(time.monotonic() - job.began, 3)
            try:
                record = self.store.settle(
                    key, best.number, tries=job.tries, wall=wall, before=best.keep
                )
            except DamagedTake:  # meanwhile, on disk
                job.full_attempts.remove(best)
            else:
                self._finish_rendered(job, record)
                return
        attempts = job.first_attempt + self.rules.tries
        self.store.give_up(Flag(key, tuple(job.faults), attempts))
        self.result.flags[key] = tuple(job.faults)
        self._finish(job)
        self.observer.flagged(job.step, job.faults)

    def _finish(self, job: StepJob) -> None:
        del self.jobs[job.step.key]
        self.scheduler.done(job.step.key)


def _make_scheduler(todo: Mapping[str, Step]) -> Scheduler:
    return Scheduler({key: Task(key, step.parent, step.expected) for key, step in todo.items()})


def collect_stats(
    steps: Iterable[Step], current: Callable[[Step], Record | None]
) -> dict[str, SpeakerStats]:
    """Returns the levels and paces of the good current takes, by speaker."""
    stats_by_speaker: dict[str, SpeakerStats] = {}
    for step in steps:
        record = current(step)
        if record and not record.faults:
            speaker_stats = stats_by_speaker.setdefault(step.voice.speaker, SpeakerStats())
            speaker_stats.add(record.level, record.figures.get("ratio", 0.0))
    return stats_by_speaker
