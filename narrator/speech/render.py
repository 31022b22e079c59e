"""The loop: ready steps -> engine -> checks -> store.

Work that is not the engine's (checks, FLAC, disk) runs in threads beside it. A bad take is tried
again under another attempt number, then its text is rendered in two halves, then the least bad of
what was said is the take: a doubtful one, with its faults in its record, which prompts nobody. A
step is given up, with a flag, where nothing of it can be heard. The run goes on; bad tries are kept
as such. Knows nothing of chapters' audio or files for listeners.
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

from narrator.engines import Engine, Outcome, Request, Session, Speech, distinct, make_room, speak
from narrator.engines.voice import Reference
from narrator.errors import DamagedTake, UserError
from narrator.sound import audio, timing
from narrator.speech import checks
from narrator.speech.hearing import told
from narrator.speech.hearing.listening import Ear, Listening, Opinion
from narrator.speech.plan import Step, is_doubtful, prompting
from narrator.speech.requests import (
    Half,
    Rules,
    StepJob,
    Whole,
    closed,
    examined,
    joined,
    keep_try,
    places,
    prompt_of,
    record_of,
    request_for,
    rested,
    sound_of,
)
from narrator.speech.scheduler import Scheduler, Task
from narrator.speech.store import Flag, Record
from narrator.speech.takes import Takes
from narrator.text.chunks import halve

MOST_WAITING = 32
"""Takes that may wait for their checks before the engine is given more."""
ENOUGH = 5
"""Takes of a speaker that make a median."""
UNHEARD = frozenset(("finite", "silent"))
"""Faults of what nobody can hear."""


class RenderObserver(Protocol):
    """Who is told of a render's progress."""

    def rendered(self, step: Step, record: Record) -> None:
        """A step has its take; one with faults is doubtful."""
        ...

    def retried(self, step: Step, faults: Sequence[str]) -> None: ...

    def flagged(self, step: Step, faults: Sequence[str]) -> None: ...

    def starting(self, what: str) -> None:
        """Something that takes long before the first take: a model is loaded, a voice is cast."""
        ...

    def running(self, slots: int, busy: float, note: str) -> None:
        """How the engine runs: its slots, and the share of its time in which it makes speech."""
        ...

    def tick(self) -> None:
        """Called at least every second or so while the run goes on."""
        ...


class Aside(Protocol):
    """What others have a running engine speak, between a render's own requests."""

    def request(self, engine: Engine) -> Request | None:
        """The next, if there is any; its key is none of a step's."""
        ...

    def answered(self, request: Request, outcome: Outcome) -> None: ...


@dataclass(slots=True)
class EngineWork:
    """What engines of one name did in a render."""

    rendered: int = 0
    expected: float = 0.0
    """Seconds of speech that the plan expected of it."""
    wall: float = 0.0


@dataclass(slots=True)
class Result:
    """What a render did."""

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
    """Keys of the steps that were rendered: what is forced is forced once."""
    cancelled: bool = False
    slots: int = 0
    """Of the engine, at its end."""
    busy: float = 0.0
    """Share of its time in which the engine made speech."""
    note: str = ""
    """What the engine says of how it ran; of several engines, what each says."""
    work: dict[str, EngineWork] = field(default_factory=dict)
    """By the engine's name."""


@dataclass(slots=True)
class Usual:
    """What a speaker's takes measure, as they come in."""

    levels: list[float] = field(default_factory=list)
    """dB, sorted."""
    paces: list[float] = field(default_factory=list)
    """Seconds of speech to those expected, sorted."""

    def add(self, level: float, pace: float) -> None:
        insort(self.levels, level)
        if pace:
            insort(self.paces, pace)

    def medians(self) -> tuple[float | None, float | None]:
        """Level and pace; None before there are enough."""
        level = self.levels[len(self.levels) // 2] if len(self.levels) >= ENOUGH else None
        pace = self.paces[len(self.paces) // 2] if len(self.paces) >= ENOUGH else None
        return level, pace


@dataclass(frozen=True, slots=True)
class _Passed:
    """A part that was examined."""

    job: StepJob
    request: Request
    speech: Speech
    verdict: checks.Verdict


@dataclass(frozen=True, slots=True)
class _Judged:
    """What the checks made of a part: faults, or the next part, or a whole take's record."""

    faults: tuple[str, ...] = ()
    record: Record | None = None
    passed: _Passed | None = None
    """What is yet to be heard."""
    answered: bool = True
    """Whether the engine said anything."""


def render(
    steps: Sequence[Step],
    engines: Mapping[str, Engine],
    takes: Takes,
    result: Result,
    *,
    reference: Callable[[str], Reference],
    rules: Rules,
    forced: Callable[[Step], bool],
    observer: RenderObserver,
    cancel: Event,
    ear: Ear | None = None,
    aside: Aside | None = None,
) -> None:
    """Render what of `steps` has no fitting take, and add to `result`.

    `engines` go by speaker; they speak one after another, each what is its own: no step waits for
    one of another. Where memory is short, what one has loaded is given back before the next. For
    those that clone, `reference` gives each speaker's, which `takes` names by its content. Raises
    EngineUnavailable, StorageError, UserError for a voice that is not there, and DamagedTake for a
    prompt or a pinned take that is not what was stored. However it ends, every take that passed its
    checks is in the store. What `aside` asks for goes before the steps, as long as there are any.

    Levels and paces are compared with the speaker's medians at the end, over all takes, so that
    neither order nor slots decide what is an outlier.
    """
    began = time.monotonic()
    try:
        for engine in distinct(engines):
            todo = {s.key: s for s in steps if engines[s.chunk.speaker] is engine}
            if todo and not result.cancelled:
                loop = _Loop(
                    engine, takes, todo, reference, rules, forced, observer, cancel, ear, result,
                    aside,
                )  # fmt: skip
                loop.others = distinct(engines)
                with _counted(result, engine.name):
                    loop.run()
    finally:
        result.wall += time.monotonic() - began


@contextlib.contextmanager
def _counted(result: Result, name: str) -> Iterator[None]:
    """What is done meanwhile is work of the engine of a name."""
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


class _Loop:
    others: Sequence[Engine] = ()
    """The engines of the book."""

    def __init__(
        self,
        engine: Engine,
        takes: Takes,
        todo: Mapping[str, Step],
        reference: Callable[[str], Reference],
        rules: Rules,
        forced: Callable[[Step], bool],
        observer: RenderObserver,
        cancel: Event,
        ear: Ear | None,
        result: Result,
        aside: Aside | None,
    ) -> None:
        self.engine, self.takes, self.store, self.todo = engine, takes, takes.store, todo
        self.scheduler = _scheduler(todo)
        self.reference, self.rules = reference, rules
        self.forced, self.observer, self.cancel, self.result = forced, observer, cancel, result
        self.aside = aside
        self.jobs: dict[str, StepJob] = {}
        self.in_engine = 0
        self.judging: dict[Future[_Judged], StepJob] = {}
        self.usual: dict[str, Usual] = {}
        """By speaker; empty until all takes are in."""
        self.session: Session | None = None
        self.varies = "seed" in engine.sound_parameters
        """Whether the engine says the same text in another way when it is asked again."""
        self.workers = ThreadPoolExecutor(2, "judge")
        self.listening = Listening[_Passed](ear) if ear else None

    def run(self) -> None:
        try:
            self._pass()
            while not self.result.cancelled and self._reject_outliers():
                self.scheduler = _scheduler(self.todo)
                self._pass()
        finally:
            self.workers.shutdown(wait=True)
            if self.listening:
                self.listening.close()
            if self.session:
                self.session.close()

    def _pass(self) -> None:
        """Every step that has no fitting take, once through the engine and the checks."""
        requests = self._requests()
        if (first := next(requests, None)) is not None:  # else all takes fit
            if self.session is None:
                make_room(self.engine, self.others)
                self.session = self.engine.start(self.observer.starting)
            asked = chain((first,), requests)
            for request, outcome in speak(self.session, asked, tick=self._tick, cancel=self.cancel):
                job = self.jobs.get(request.key)
                if job is None:
                    assert self.aside is not None
                    self.aside.answered(request, outcome)
                    continue
                self.in_engine -= 1
                self._submit(job, self._judge, job, request, outcome)
        self.result.cancelled = self.scheduler.left > 0
        while self.judging or self._unheard:
            self._collect(0.5)

    def _requests(self) -> Iterator[Request | None]:
        """What the engine is to speak, until every step has ended; None while what is left waits
        for takes, or for the judges: what waits for them fills memory."""
        while not self.cancel.is_set():
            if self.aside and (other := self.aside.request(self.engine)):
                yield other
                continue
            if not self.scheduler.left:
                return
            slots = self.session.slots if self.session else 0
            waiting = len(self.judging) + self._unheard
            job = self._next() if waiting < max(MOST_WAITING, slots) else None
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
        """Takes of this run far from their speaker's medians become tries, and are tried again."""
        if not self.varies:
            return False
        self.usual = usual_of(self.todo.values(), self.takes.current)
        found = False
        for key in sorted(self.result.renewed & self.todo.keys() - self.result.flags.keys()):
            step = self.todo[key]
            record, usual = self.takes.current(step), self.usual.get(step.voice.speaker)
            if record is None or record.faults or usual is None:
                continue
            level, pace = usual.medians()
            faults = checks.unusual(
                record.figures, median=level, spread=self.rules.loudness, pace=pace
            )
            if faults:
                found = True
                self._reject(step, record, faults)
        return found

    def _reject(self, step: Step, record: Record, faults: tuple[checks.Fault, ...]) -> None:
        said = tuple(map(str, faults))
        self.result.seconds -= (record.stop - record.start) / record.sample_rate
        self.result.expected -= step.expected
        number = self.store.reject(step.key, said)
        job = self.jobs[step.key] = self._job(step)
        job.first = self._lot(record)
        job.attempt, job.tries = record.attempt + 1, record.tries
        badness = sum(fault.weight for fault in faults)
        job.wholes.append(Whole(badness, number, record.prompted_by))
        if record.halves > 1:  # the last resort already
            job.faults += said
            self._settle(job)
        elif job.attempt < job.first + self.rules.tries:
            self._retry(job, said)
        else:
            self._halve(job, said)

    def _lot(self, record: Record) -> int:
        """The attempt that the lot of a take's tries began with."""
        return record.attempt - record.attempt % self.rules.tries

    def _next(self) -> StepJob | None:
        """The next step that the engine must speak; steps whose takes fit are done on the way."""
        while (key := self.scheduler.take()) is not None:
            step = self.todo[key]
            if job := self.jobs.get(key):  # given back for another try
                # what it continues may have changed since it was made
                return job if job.done else self._prompted(job)
            if key in self.result.flags:
                self.scheduler.done(key)
                continue
            spared = step.pinned or not self.forced(step)
            if spared and self.takes.current(step):
                self.scheduler.done(key)
                continue
            if step.pinned:
                raise DamagedTake(f"the pinned take of chunk {step.id} has gone")
            self.jobs[key] = self._job(step)
            return self.jobs[key]
        return None

    def _job(self, step: Step) -> StepJob:
        flag, take = self.store.flag(step.key), self.takes.current(step)
        first = flag.attempts if flag else 0
        if take and is_doubtful(take, step):  # forced: not the same again
            first = self._lot(take) + self.rules.tries
        job = StepJob(step, (step.text,), time.monotonic(), attempt=first, first=first)
        speaker = step.chunk.speaker
        if speaker in self.takes.voices:
            job.reference = self.reference(speaker)
            if job.reference.content != self.takes.voice(speaker):
                raise UserError(f"the voice of '{speaker}' changed meanwhile; render again")
        return self._prompted(job)

    def _prompted(self, job: StepJob) -> StepJob:
        step = job.step
        parent = prompting(step, self.store.find)
        job.prompt = job.prompted_by = None
        if parent and step.parent:
            # it decides this take even where it proves too long to be its prompt
            job.prompted_by = parent.content
            job.prompt = prompt_of(self.store, step.parent, parent, step.expected, self.engine)
        return job

    def _submit(self, job: StepJob, work: Callable[..., _Judged], *arguments: object) -> None:
        self.judging[self.workers.submit(work, *arguments)] = job

    def _judge(self, job: StepJob, request: Request, outcome: Outcome) -> _Judged:
        """In a thread: the checks of one part."""
        usual = self.usual.get(job.step.voice.speaker, Usual()).medians()
        if outcome.speech is None:
            return _Judged((f"engine: {outcome.failure}",), answered=False)
        speech = outcome.speech
        verdict = examined(speech, request, self.engine, self.rules, *usual)
        passed = _Passed(job, request, speech, verdict)
        if verdict.faults:
            return self._refuse(passed, verdict)
        if self.listening is None:
            return self._accept(job, speech, verdict)
        return _Judged(passed=passed)

    def _heard(self, passed: _Passed, opinion: Opinion) -> None:
        """A part that says its text goes on to be stored; another is a bad one."""
        job, verdict = passed.job, replace(passed.verdict, faults=opinion.faults)
        if verdict:
            self._submit(job, self._accept, job, passed.speech, verdict, opinion)
        else:
            self._submit(job, self._refuse, passed, verdict, opinion)

    def _refuse(
        self, passed: _Passed, verdict: checks.Verdict, opinion: Opinion | None = None
    ) -> _Judged:
        """In a thread: one part will not do."""
        self._keep_try(passed.job, passed.request, passed.speech, verdict, opinion)
        return _Judged(tuple(map(str, verdict.faults)))

    def _keep_try(
        self,
        job: StepJob,
        request: Request,
        speech: Speech,
        verdict: checks.Verdict,
        opinion: Opinion | None,
    ) -> None:
        one = keep_try(self.store, request, speech, verdict, self.engine, job.prompted_by)
        if one is None:
            return  # nothing that could be heard
        number, _ = one
        if any(fault.kind in UNHEARD for fault in verdict.faults):
            return
        badness = checks.badness(verdict)
        if len(job.parts) == 1:
            keep = partial(self._keep_heard, job, opinion)
            job.wholes.append(Whole(badness, number, job.prompted_by, keep))
        elif job.half is None or badness < job.half.badness:
            job.half = Half(badness, request.attempt, speech, verdict)

    def _accept(
        self, job: StepJob, speech: Speech, verdict: checks.Verdict, opinion: Opinion | None = None
    ) -> _Judged:
        """In a thread: one part will do; the last one makes the take."""
        request, rate = request_for(job, self.engine), self.engine.sample_rate
        job.done.append(speech)
        job.badness += checks.badness(verdict)
        job.doubts += tuple(map(str, verdict.faults))
        job.half = None
        if len(job.done) < len(job.parts):
            return _Judged()
        record = record_of(job.step.key, request, speech, verdict, self.engine)
        samples = np.clip(joined(job.done, rate), -1.0, 1.0)
        start, stop = audio.speech_bounds(samples, rate)
        level, peak = audio.level(samples[start:stop], rate)
        figures, words = record.figures, record.words
        if len(job.parts) > 1:
            parts = list(zip(job.parts, job.done, places(job.done, rate), strict=True))
            words = timing.packed(
                told.spoken_words(job.step.text, job.step.language, parts, samples, rate)
            )
            whole = checks.examine(samples, rate, job.step.expected, text=job.step.text)
            figures = asdict(whole.figures)
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
        keep = partial(self._keep_heard, job, opinion if len(job.parts) == 1 else None)
        record = self.store.put(record, samples, rested(speech, self.engine), before=keep)
        return _Judged(record=record)

    def _keep_heard(self, job: StepJob, opinion: Opinion | None, record: Record) -> None:
        """Keeps what was heard in a take. It is written before the take: where the disk is full,
        there is no take that passes for one that nobody heard."""
        if self.listening and opinion:
            step = job.step
            self.listening.ear.keep(
                self.store.heard, record.content, step.text, step.language, opinion
            )

    def _collect(self, timeout: float) -> None:
        hearing = self.listening.future if self.listening else None
        if self.judging or hearing:
            waited: list[Future[Any]] = [*self.judging, *([hearing] if hearing else [])]
            wait(waited, timeout=timeout, return_when=FIRST_COMPLETED)
        for future in [one for one in self.judging if one.done()]:
            self._judged(self.judging.pop(future), future.result())
        for passed, opinion in self.listening.heard() if self.listening else ():
            self._heard(passed, opinion)

    @property
    def _unheard(self) -> int:
        return self.listening.waiting if self.listening else 0

    def _judged(self, job: StepJob, judged: _Judged) -> None:
        if judged.passed:
            assert self.listening is not None
            passed = judged.passed
            sound = sound_of(passed.speech, passed.request, self.engine)
            self.listening.add(passed, sound, passed.verdict)
        elif judged.record:
            self._rendered(job, judged.record)
        elif not judged.faults:
            job.attempt = job.first
            self.scheduler.put_back(job.step.key)
        else:
            self._again(job, judged)

    def _rendered(self, job: StepJob, record: Record) -> None:
        self._finish(job)
        self.result.rendered += job.step.key not in self.result.renewed
        self.result.renewed.add(job.step.key)
        self.result.seconds += (record.stop - record.start) / record.sample_rate
        self.result.expected += job.step.expected
        self.observer.rendered(job.step, record)

    def _again(self, job: StepJob, judged: _Judged) -> None:
        """Another try, then halves, then the least bad of what was said.

        An engine that says the same again is asked again only where it said nothing.
        """
        job.attempt += 1
        more = self.varies or not judged.answered
        if more and job.attempt < job.first + self.rules.tries:
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
        halves = halve(job.step.text, job.step.language)
        if halves is None:
            job.faults += faults
            self._settle(job)
            return
        job.parts, job.attempt = (closed(halves[0]), halves[1]), job.first
        self._retry(job, faults)

    def _make_do(self, job: StepJob) -> None:
        """The least bad try of a half will do, as long as both are better than any whole."""
        half, whole = job.half, job.best()
        if half and (whole is None or job.badness + half.badness < whole.badness):
            job.attempt = half.attempt
            self._submit(job, self._accept, job, half.speech, half.verdict)
        else:
            self._settle(job)

    def _settle(self, job: StepJob) -> None:
        """The least bad try is the take, unless a good one is there; without either the step is
        given up."""
        key, there = job.step.key, self.takes.current(job.step)
        is_good = there is not None and not there.faults
        while not is_good and (best := job.best()):
            wall = round(time.monotonic() - job.began, 3)
            try:
                record = self.store.settle(
                    key, best.number, tries=job.tries, wall=wall, before=best.keep
                )
            except DamagedTake:  # meanwhile, on disk
                job.wholes.remove(best)
            else:
                self._rendered(job, record)
                return
        attempts = job.first + self.rules.tries
        self.store.give_up(Flag(key, tuple(job.faults), attempts))
        self.result.flags[key] = tuple(job.faults)
        self._finish(job)
        self.observer.flagged(job.step, job.faults)

    def _finish(self, job: StepJob) -> None:
        del self.jobs[job.step.key]
        self.scheduler.done(job.step.key)


def _scheduler(todo: Mapping[str, Step]) -> Scheduler:
    return Scheduler({key: Task(key, step.parent, step.expected) for key, step in todo.items()})


def usual_of(steps: Iterable[Step], current: Callable[[Step], Record | None]) -> dict[str, Usual]:
    """What the current takes of each voice measure, those that are good."""
    found: dict[str, Usual] = {}
    for step in steps:
        record = current(step)
        if record and not record.faults:
            usual = found.setdefault(step.voice.speaker, Usual())
            usual.add(record.level, record.figures.get("ratio", 0.0))
    return found
