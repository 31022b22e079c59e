"""The render loop: ready steps -> engine -> checks -> store.

Checks, FLAC and disk run in threads beside the engine. A bad take is tried again under another
attempt number; then its text is rendered in two halves; then the least bad try becomes the take: a
doubtful one, with its faults in its record, which is never a prompt. A step without any audible try
is given up, with a flag, and the run continues. Bad tries are kept as tries. Knows nothing of
chapters' audio or files for listeners.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
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
from narrator.progress import (
    ChunkGivenUp,
    ChunkRendered,
    ChunkRetried,
    ProgressSink,
    Running,
    Starting,
)
from narrator.speech import checks, scores
from narrator.speech.attempts import Action, Attempts
from narrator.speech.hearing.listening import HearingQueue, Opinion, TakeListener
from narrator.speech.plan import Step, find_prompt_take, is_doubtful
from narrator.speech.requests import (
    CheckedAnswer,
    ChunkJob,
    TakeRules,
    add_opinion,
    check_answer,
    prompt_of,
    prompt_state,
    record_of,
    request_for,
    sound_of,
    store_try,
    take_of,
)
from narrator.speech.scheduler import Scheduler
from narrator.speech.scores import Standard, voice_of_reference
from narrator.speech.steadiness import (
    LOUDNESS,
    Deviation,
    SpeakerMedians,
    UsualVoice,
    VoicedTake,
    find_usual_voices,
    speaker_medians,
    voice_name,
)
from narrator.speech.store import Flag, Record
from narrator.speech.takes import TakeResolver

NO_SPEECH = Speech(np.zeros(0, np.float32))
"""Stands for the sound of a try that is in the store."""
log = logging.getLogger("narrator")

MAX_UNCHECKED = 32
"""Takes that may wait for their checks before the engine gets more requests."""
_LoopCall = Callable[[], None]
"""A call that a thread asks the loop to make."""


class RequestSource(Protocol):
    """A source of foreign requests to a running engine, besides the render's own."""

    def request(self, engine: Engine) -> Request | None:
        """Returns the next request, if any; its key differs from those of all steps."""
        ...

    def answered(self, request: Request, outcome: Outcome) -> None:
        """Receives the outcome of one of its requests."""
        ...


@dataclass(slots=True)
class EngineWork:
    """The work of all engines of one name in a render."""

    rendered: int = 0
    """Takes."""
    expected: float = 0.0
    """Seconds of speech that the plan expected."""
    wall: float = 0.0
    """Seconds that it took."""


@dataclass(slots=True)
class RenderResult:
    """The outcome of a render."""

    rendered: int = 0
    """Takes."""
    seconds: float = 0.0
    """Of speech."""
    expected: float = 0.0
    """Seconds of speech that the plan expected."""
    wall: float = 0.0
    """Seconds that the render took."""
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


@dataclass(frozen=True, slots=True)
class RenderSettings:
    """The rules of a render, its voices, and its observer."""

    reference: Callable[[str], Reference]
    """Returns a speaker's reference, for engines that clone; raises UserError for a missing
    voice."""
    rules: TakeRules
    is_forced: Callable[[Step], bool]
    """True if a step is rendered though it has a fitting take."""
    sink: ProgressSink
    cancel: Event
    listener: TakeListener | None = None
    request_source: RequestSource | None = None
    """Its requests go first, while steps remain."""


def render(
    steps: Sequence[Step],
    engines: Mapping[str, Engine],
    takes: TakeResolver,
    result: RenderResult,
    settings: RenderSettings,
) -> None:
    """Renders the `steps` without a fitting take, and adds to `result`.

    `engines` are by speaker. They run one after another, each for its own speakers; no step waits
    for a step of another engine. Where memory is short, one engine is unloaded before the next is
    loaded. References must have the content that `takes` knows. Raises EngineUnavailable,
    StorageError, UserError for a missing voice, and DamagedTake for a prompt or a pinned take that
    is not what was stored. However it ends, every take that passed its checks is in the store.

    Levels, paces and voices are compared with what is usual for the speaker at the end, over all
    takes, so that neither order nor slots decide what is an outlier.
    """
    began, all_engines = time.monotonic(), unique_engines(engines)
    try:
        for engine in all_engines:
            pending = {s.key: s for s in steps if engines[s.chunk.speaker] is engine}
            if pending and not result.cancelled:
                with _count_work(result, engine.name):
                    _RenderLoop(engine, all_engines, takes, pending, result, settings).run()
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
    """The render of one engine's steps."""

    def __init__(
        self,
        engine: Engine,
        all_engines: Sequence[Engine],
        takes: TakeResolver,
        pending: Mapping[str, Step],
        result: RenderResult,
        settings: RenderSettings,
    ) -> None:
        self.engine, self.all_engines = engine, all_engines
        self.takes, self.store, self.pending = takes, takes.store, pending
        self.result, self.settings, self.sink = result, settings, settings.sink
        self.rules = settings.rules
        self.scheduler = Scheduler(pending)
        self.jobs: dict[str, ChunkJob] = {}
        """Chunks in progress, by the key of their step."""
        self.in_engine = 0
        """Number of requests that the engine is working on."""
        self.futures: set[Future[_LoopCall]] = set()
        """Checks and stores in threads; each returns the call that the loop must make."""
        self.speaker_medians: dict[str, SpeakerMedians] = {}
        """By speaker; empty until all takes are in."""
        self.usual_voices: dict[tuple[str, str], UsualVoice] = {}
        """By `voice_name`; empty until all takes are in."""
        self.reference_voices: dict[str, UsualVoice | None] = {}
        """By content of the reference."""
        self.session: Session | None = None
        self.check_pool = ThreadPoolExecutor(2, "judge")
        listener = settings.listener
        self.hearing = HearingQueue[tuple[ChunkJob, CheckedAnswer]](listener) if listener else None

    def run(self) -> None:
        """Renders all steps, then those again whose takes are outliers, until none is."""
        try:
            self._run_pass()
            while not self.result.cancelled and self._reject_outliers():
                self.scheduler = Scheduler(self.pending)
                self._run_pass()
            if not self.result.cancelled:
                self.store.mark_compared(self.pending)
        finally:
            self.check_pool.shutdown(wait=True)
            if self.hearing:
                self.hearing.close()
            if self.session:
                self.session.close()

    def _run_pass(self) -> None:
        """Sends every step without a fitting take through the engine and the checks."""
        requests = self._requests()
        if (first := next(requests, None)) is not None:  # else all takes fit
            if self.session is None:
                make_room(self.engine, self.all_engines)
                self.session = self.engine.start(self._announce_start)
            all_requests = chain((first,), requests)
            for request, outcome in speak(
                self.session, all_requests, tick=self._tick, cancel=self.settings.cancel
            ):
                job = self.jobs.get(request.key)
                if job is None:
                    assert self.settings.request_source is not None
                    self.settings.request_source.answered(request, outcome)
                    continue
                self.in_engine -= 1
                self._submit(self._check, job, request, outcome)
        self.result.cancelled = self.scheduler.unfinished_count > 0
        while self.futures or self._unheard_count:
            self._collect(timeout_seconds=0.5)

    def _requests(self) -> Iterator[Request | None]:
        """Yields requests until every step has ended.

        Yields None while all remaining steps wait for their parents' takes, or while too many
        takes wait for checks, which fills memory.
        """
        while not self.settings.cancel.is_set():
            source = self.settings.request_source
            if source and (foreign_request := source.request(self.engine)):
                yield foreign_request
                continue
            if not self.scheduler.unfinished_count:
                return
            slots = self.session.slots if self.session else 0
            unchecked_count = len(self.futures) + self._unheard_count
            job = self._next_job() if unchecked_count < max(MAX_UNCHECKED, slots) else None
            if job is None:
                yield None
                continue
            job.attempts.request_count += 1
            self.in_engine += 1
            ahead = self.scheduler.remaining_work(job.step.key)
            yield replace(request_for(job, self.engine), ahead=ahead)

    def _tick(self) -> None:
        """Collects checked answers and reports progress; waits only while the engine is idle."""
        self._collect(timeout_seconds=0.0 if self.in_engine else 0.5)
        assert self.session is not None
        self.result.slots, self.result.busy = self.session.slots, self.session.busy
        self.result.note = self.session.note
        self.sink(Running(self.session.slots, self.session.busy, self.session.note))

    def _reject_outliers(self) -> bool:
        """Turns new takes that are far from their speaker's others into tries, to be tried again.

        Takes of a run that was stopped are as new as those of this one. Returns whether there were
        any.
        """
        if not self.engine.is_random:
            return False
        new_keys = self.result.renewed | self.store.uncompared
        new_keys &= self.pending.keys() - self.result.flags.keys()
        if not new_keys:
            return False
        self.speaker_medians = speaker_medians(self.pending.values(), self.takes.current)
        self.usual_voices = find_usual_voices(self.pending.values(), self.takes.current)
        has_rejected = False
        # in the order of the book: a take whose parent is rejected is spoken anew in any case
        for key in (key for key in self.pending if key in new_keys):
            step = self.pending[key]
            record = self.takes.current(step)
            if record is None or record.faults or step.pinned:
                continue
            if faults := self._outlier_faults(step, record):
                has_rejected = True
                self._reject(step, record, faults, self._find_substitute(step, record))
            elif self.rules.best_of > 1:
                faults = self._outlier_faults(step, record, is_strict=True)
                if faults and (substitute := self._find_substitute(step, record, is_strict=True)):
                    has_rejected = True
                    self._reject(step, record, faults, substitute)
        return has_rejected

    def _outlier_faults(
        self, step: Step, record: Record, *, is_strict: bool = False
    ) -> tuple[checks.Fault, ...]:
        """Returns the faults of a good take, or try, that is far from its speaker's others.

        `is_strict`: whatever sticks out is a fault, for takes that another good try can replace.
        """
        medians = self.speaker_medians[step.voice.speaker]
        usual, take = self.usual_voices.get(voice_name(step)), VoicedTake.of(record)
        return checks.find_outliers(
            record.figures,
            median_level=medians.level,
            max_deviation=self.rules.loudness,
            median_ratio=medians.ratio,
            deviations=_faulty_deviations(usual, take, is_strict=is_strict),
        )

    def _reject(
        self,
        step: Step,
        record: Record,
        faults: tuple[checks.Fault, ...],
        substitute: int | None,
    ) -> None:
        """Turns a stored take into a faulty try, and replaces it: by the number of a good try, else
        by further tries."""
        number = self.store.reject(step.key, tuple(map(str, faults)))
        self.result.seconds -= record.seconds
        if substitute:
            settled = self.store.settle(step.key, substitute, tries=record.tries, wall=record.wall)
            self.result.seconds += settled.seconds
        else:
            self._try_again(step, record, number, faults)

    def _try_again(
        self, step: Step, record: Record, number: int, faults: tuple[checks.Fault, ...]
    ) -> None:
        """Makes a job that continues after a rejected take, which is stored as a try."""
        self.result.expected -= step.expected
        job = self.jobs[step.key] = self._make_job(step)
        job.attempts.first_number = record.attempt - record.attempt % self.rules.max_requests
        # good tries have numbers, too
        last_number = job.attempts.first_number + record.tries - 1
        job.attempts.number = max(record.attempt, last_number)
        job.attempts.request_count = record.tries
        job.attempts.tries, job.attempts.best_of = self.rules.max_requests, 1
        if record.halves > 1:  # halves were the last resort already
            job.attempts.tries, job.attempts.can_halve = 0, False
        verdict = checks.Verdict(checks.TakeFigures(), faults)
        answer = CheckedAnswer(
            request_for(job, self.engine), NO_SPEECH, verdict, record.prompted_by, number=number
        )
        action = job.attempts.note_answer(answer)
        self._do_action(job, tuple(map(str, faults)), action)

    def _find_substitute(
        self, step: Step, rejected: Record, *, is_strict: bool = False
    ) -> int | None:
        """Returns the number of the best good try, with the same prompt, that is no outlier; those
        that are become faulty ones."""
        if self.rules.best_of == 1:
            return None
        tries = self.store.tries(step.key)
        # a substitute that was rejected in its turn is there twice: without faults, and with them
        bad = {record.content for record in tries.values() if record.faults}
        bad.add(rejected.content)
        candidates: list[tuple[float, int]] = []
        for number, record in tries.items():
            if (
                record.content in bad
                or record.text != step.text
                or record.prompted_by != rejected.prompted_by
                or (record.seed, record.parameters) != (rejected.seed, rejected.parameters)
            ):
                continue
            if faults := self._outlier_faults(step, record):
                self.store.mark_try(step.key, number, tuple(map(str, faults)))
            elif not (is_strict and self._outlier_faults(step, record, is_strict=True)):
                candidates.append((scores.total(record.score), number))
        return min(candidates)[1] if candidates else None

    def _next_job(self) -> ChunkJob | None:
        """Returns the next step for the engine; marks steps with fitting takes as done."""
        while (key := self.scheduler.next_ready()) is not None:
            step = self.pending[key]
            if job := self.jobs.get(key):  # put back for another try
                if not job.attempts.accepted:  # the take that it continues may have changed
                    self._set_prompt(job)
                return job
            is_unforced = step.pinned or not self.settings.is_forced(step)
            if key in self.result.flags or (is_unforced and self.takes.current(step)):
                self.scheduler.mark_done(key)
                continue
            if step.pinned:
                raise DamagedTake(f"the pinned take of chunk {step.id} has gone")
            self.jobs[key] = self._make_job(step)
            return self.jobs[key]
        return None

    def _make_job(self, step: Step) -> ChunkJob:
        """Makes the job of a step, with the voice's reference and the prompt.

        Its attempt numbers follow those of earlier runs, so that it does not repeat their takes.
        """
        flag, take, rules = self.store.flag(step.key), self.takes.current(step), self.rules
        first_number = flag.attempts if flag else 0
        if take and is_doubtful(take, step):
            first_number = take.attempt - take.attempt % rules.max_requests + rules.max_requests
        job = ChunkJob(
            step,
            Attempts(
                step.text,
                step.language,
                rules.tries,
                rules.best_of,
                self.engine.is_random,
                first_number=first_number,
            ),
        )
        speaker = step.chunk.speaker
        if speaker in self.takes.voices:
            job.reference = self.settings.reference(speaker)
            if job.reference.content != self.takes.voice(speaker):
                raise UserError(f"the voice of '{speaker}' changed meanwhile; render again")
        self._set_prompt(job)
        return job

    def _set_prompt(self, job: ChunkJob) -> None:
        """Sets a job's prompt from the present take of its parent, if that is good."""
        step = job.step
        parent = find_prompt_take(step, self.store.find)
        job.prompt = job.attempts.prompted_by = None
        if parent and step.parent:
            # it decides this take even where it proves too long to be its prompt
            job.attempts.prompted_by = parent.content
            job.prompt = prompt_of(self.store, step.parent, parent, step.expected, self.engine)

    # -- in threads: from an answer to a take ------------------------------------------------------

    def _check(self, job: ChunkJob, request: Request, outcome: Outcome) -> _LoopCall:
        """Checks an outcome by its signal; queues it for recognition, or judges it at once."""
        if outcome.speech is None:
            failure = f"engine: {outcome.failure}"
            return self._conclude(job, (failure,), job.attempts.note_failure(failure))
        answer = check_answer(
            outcome.speech,
            request,
            self.engine,
            self.rules,
            self.speaker_medians.get(job.step.voice.speaker, SpeakerMedians()),
            prompted_by=job.attempts.prompted_by,
        )
        if answer.faults or self.hearing is None:
            return self._judge(job, answer)
        return partial(
            self.hearing.add, (job, answer), sound_of(answer, self.engine), answer.verdict
        )

    def _judge(self, job: ChunkJob, answer: CheckedAnswer) -> _LoopCall:
        """Stores a faulty answer as a try, and the take that a good one completes."""
        if answer.faults:
            stored_try = store_try(self.store, answer, self.engine)
            answer = replace(answer, number=stored_try[0] if stored_try else 0)
            if len(job.attempts.parts) == 1:  # halves are needed again, to be joined
                answer = replace(answer, speech=NO_SPEECH)
        return self._conclude(job, answer.faults, job.attempts.note_answer(answer))

    def _choose(self, job: ChunkJob) -> Action:
        """Accepts the best of a job's good answers."""
        answers = job.attempts.candidates
        records = [record_of(answer, self.engine) for answer in answers]
        parent = find_prompt_take(job.step, self.store.find)
        standard = Standard.of_tries(records, self._reference_voice(job), parent)
        scored = [
            replace(answer, score=standard.score(record, answer.word_odds))
            for answer, record in zip(answers, records, strict=True)
        ]
        best = min(scored, key=lambda answer: scores.total(answer.score))
        job.runners_up = [answer for answer in scored if answer is not best]
        return job.attempts.choose(best)

    def _reference_voice(self, job: ChunkJob) -> UsualVoice | None:
        """Returns the voice of a job's reference; a style is meant to sound otherwise."""
        if job.reference is None or job.step.style:
            return None
        content = job.reference.content
        if content not in self.reference_voices:
            self.reference_voices[content] = voice_of_reference(job.reference)
        return self.reference_voices[content]

    def _conclude(self, job: ChunkJob, faults: Iterable[object], action: Action) -> _LoopCall:
        """Stores the take if a job is complete; returns what the loop must do then."""
        if action is Action.CHOOSE:
            action = self._choose(job)
        if action is Action.ACCEPT:
            return partial(self._finish_rendered, job, self._store_take(job))
        return partial(self._do_action, job, tuple(map(str, faults)), action)

    def _store_take(self, job: ChunkJob) -> Record:
        """Stores the take of a job's accepted answers, and first what was heard of it."""
        answers = job.attempts.accepted
        opinion = answers[0].opinion if len(answers) == 1 else None
        for answer in job.runners_up:  # before the take: after a kill they can replace it, too
            if stored_try := store_try(self.store, answer, self.engine):
                self._keep_opinion(job.step, answer.opinion, stored_try[1])
        record, samples = take_of(job, self.engine)
        return self.store.put(
            record,
            samples,
            prompt_state(answers[-1].speech, self.engine),
            before_write=partial(self._keep_opinion, job.step, opinion),
        )

    def _keep_opinion(self, step: Step, opinion: Opinion | None, record: Record) -> None:
        """Stores the transcript of a take. It is written before the take: if the disk is full, no
        take remains that looks unheard."""
        if self.hearing and opinion:
            self.hearing.listener.store(
                self.store.transcripts, record.content, step.text, step.language, opinion
            )

    # -- in the loop: from an answer to the next request -------------------------------------------

    def _do_action(self, job: ChunkJob, faults: tuple[str, ...], action: Action) -> None:
        """Does the action that follows an answer with these faults; the take is not complete."""
        if action is Action.SETTLE:
            self._settle(job)
            return
        self.scheduler.put_back(job.step.key)
        if action is Action.RETRY:
            self.result.retries += 1
            log.warning("again %s %s: %s", job.step.id, job.step.key, "; ".join(faults))
            self.sink(ChunkRetried(*_place_of(job.step), faults=faults))

    def _settle(self, job: ChunkJob) -> None:
        """Makes the least bad try the take, unless a good take exists; else gives the step up."""
        key, current_take, attempts = job.step.key, self.takes.current(job.step), job.attempts
        is_good = current_take is not None and not current_take.faults
        while not is_good and (best := attempts.least_bad()):
            wall = round(time.monotonic() - job.began, 3)
            keep_opinion = partial(self._keep_opinion, job.step, best.opinion)
            try:
                record = self.store.settle(
                    key,
                    best.number,
                    tries=attempts.request_count,
                    wall=wall,
                    before_write=keep_opinion,
                )
            except DamagedTake:  # the try was damaged on disk meanwhile
                attempts.whole_answers.remove(best)
            else:
                self._finish_rendered(job, record)
                return
        faults = tuple(attempts.faults)
        self.store.give_up(Flag(key, faults, attempts.first_number + self.rules.max_requests))
        self.result.flags[key] = faults
        self._finish(job)
        log.error("given up %s %s: %s", job.step.id, key, "; ".join(faults))
        self.sink(ChunkGivenUp(*_place_of(job.step), faults=faults))

    def _finish_rendered(self, job: ChunkJob, record: Record) -> None:
        """Ends a job with its stored take, which is counted and reported."""
        self._finish(job)
        self.result.rendered += job.step.key not in self.result.renewed
        self.result.renewed.add(job.step.key)
        self.result.seconds += record.seconds
        self.result.expected += job.step.expected
        _log_take(job.step, record)
        seconds = round(record.seconds, 3)
        self.sink(ChunkRendered(*_place_of(job.step), seconds=seconds, faults=record.faults))

    def _announce_start(self, message: str) -> None:
        log.info("%s", message)
        self.sink(Starting(message))

    def _finish(self, job: ChunkJob) -> None:
        del self.jobs[job.step.key]
        self.scheduler.mark_done(job.step.key)

    def _submit(self, call: Callable[..., _LoopCall], *arguments: object) -> None:
        self.futures.add(self.check_pool.submit(call, *arguments))

    def _collect(self, *, timeout_seconds: float) -> None:
        """Waits for an answer from a thread, and makes the calls that the finished ones ask for."""
        awaited: list[Future[Any]] = [*self.futures]
        if self.hearing and self.hearing.future:
            awaited.append(self.hearing.future)
        if awaited:
            wait(awaited, timeout=timeout_seconds, return_when=FIRST_COMPLETED)
        for future in [future for future in self.futures if future.done()]:
            self.futures.remove(future)
            loop_call = future.result()
            loop_call()
        for (job, answer), opinion in self.hearing.pop_opinions() if self.hearing else ():
            self._submit(self._judge, job, add_opinion(answer, opinion))

    @property
    def _unheard_count(self) -> int:
        return self.hearing.unheard_count if self.hearing else 0


def _place_of(step: Step) -> tuple[str, str, int, float]:
    """Returns the fields of a `ChunkEvent` that identify its chunk."""
    return step.id, step.key, step.chapter, step.expected


def _faulty_deviations(
    usual: UsualVoice | None, take: VoicedTake | None, *, is_strict: bool
) -> list[Deviation]:
    """Returns the deviations for which a render rejects a take."""
    if usual is None or take is None:
        return []
    deviations = usual.deviations(take)
    if is_strict:
        return [deviation for deviation in deviations if deviation.sticks_out]
    # loudness has a check, with its own limit
    return [d for d in deviations if d.is_glaring and d.measure != LOUDNESS]


def _log_take(step: Step, record: Record) -> None:
    seconds = (record.stop - record.start) / record.sample_rate
    log.info("take %s %s: %.2f s, %.1f dB, try %d, %d part(s), %.1f s after its request",
             step.id, step.key, seconds, record.level, record.attempt + 1, record.halves,
             record.wall)  # fmt: skip
    if record.faults:
        log.warning("doubtful %s %s: %s", step.id, step.key, "; ".join(record.faults))
