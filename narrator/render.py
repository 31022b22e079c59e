"""The loop: ready steps -> engine -> checks -> store.

Work that is not the engine's (checks, FLAC, disk) runs in threads beside it. A bad take is tried
again under another attempt number, then its text is rendered in two halves, then the step is given
up with a flag and the run goes on. Knows nothing of chapters' audio or files for listeners.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from narrator import audio, checks
from narrator.chunk import halve
from narrator.engines import Engine, Outcome, Prompt, Request, Session, Speech
from narrator.plan import Step
from narrator.scheduler import Scheduler, Task
from narrator.store import Flag, Record, Store

ATTEMPTS = 3
"""Tries of a whole chunk, and of each half."""
MOST_WAITING = 32
"""Takes that may wait for their checks before the engine is given more."""
HALVES_GAP = 0.25
"""Seconds of silence between the two halves of a chunk."""


class Cancel(Protocol):
    """What `threading.Event` is: set once, the run ends after what is in flight is stored."""

    def is_set(self) -> bool: ...


class Observer(Protocol):
    """Who is told of a render's progress."""

    def rendered(self, step: Step, record: Record) -> None: ...

    def retried(self, step: Step, faults: Sequence[str]) -> None: ...

    def flagged(self, step: Step, faults: Sequence[str]) -> None: ...

    def starting(self, what: str) -> None:
        """Something that takes long before the first take: a model is loaded, a voice is cast."""
        ...

    def tick(self) -> None:
        """Called at least every second or so while the run goes on."""
        ...


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
    cancelled: bool = False


@dataclass(slots=True)
class _Job:
    """A step on its way: its parts (one, or two halves), and the part in the engine."""

    step: Step
    parts: tuple[str, ...]
    began: float
    attempt: int = 0
    retries: int = 0
    prompted_by: str | None = None
    prompt: Prompt | None = None
    done: list[Speech] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def render(
    steps: Sequence[Step],
    engine: Engine,
    store: Store,
    result: Result,
    *,
    forced: Callable[[Step], bool],
    observer: Observer,
    cancel: Cancel,
) -> None:
    """Render what of `steps` has no fitting take, and add to `result`.

    Raises EngineUnavailable, StorageError, and DamagedTake for a prompt that is not what was
    stored: the next call renders it again. However it ends, every take that passed its checks is in
    the store.
    """
    todo = {step.key: step for step in steps}
    scheduler = Scheduler({k: Task(k, s.parent, s.expected) for k, s in todo.items()})
    began = time.monotonic()
    loop = _Loop(engine, store, todo, scheduler, forced, observer, cancel, result)
    try:
        loop.run()
    finally:
        result.wall += time.monotonic() - began


class _Loop:
    def __init__(
        self,
        engine: Engine,
        store: Store,
        todo: Mapping[str, Step],
        scheduler: Scheduler,
        forced: Callable[[Step], bool],
        observer: Observer,
        cancel: Cancel,
        result: Result,
    ) -> None:
        self.engine, self.store, self.todo, self.scheduler = engine, store, todo, scheduler
        self.forced, self.observer, self.cancel, self.result = forced, observer, cancel, result
        self.jobs: dict[str, _Job] = {}
        self.in_engine = 0
        self.judging: dict[Future[Record | tuple[str, ...]], _Job] = {}

    def run(self) -> None:
        session: Session | None = None
        workers = ThreadPoolExecutor(2, "judge")
        try:
            while self.scheduler.left:
                if self.cancel.is_set():
                    self.result.cancelled = True
                    break
                while self._room(session):
                    job = self._next()
                    if job is None:
                        break
                    session = session or self.engine.start(self.observer.starting)
                    session.add(self._request(job))
                    self.in_engine += 1
                outcomes = session.advance() if session and self.in_engine else ()
                for outcome in outcomes:
                    self.in_engine -= 1
                    job = self.jobs[outcome.key]
                    self.judging[workers.submit(self._judge, job, outcome)] = job
                self._collect(0.0 if self.in_engine else 0.5)
                self.observer.tick()
            while self.judging:
                self._collect(0.5)
        finally:
            workers.shutdown(wait=True)
            if session:
                session.close()

    def _room(self, session: Session | None) -> bool:
        """Whether a slot is free, and the judges keep up: takes that wait for them fill memory."""
        return session is None or (
            self.in_engine < session.slots and len(self.judging) < MOST_WAITING
        )

    def _next(self) -> _Job | None:
        """The next step that the engine must speak; steps whose takes fit are done on the way."""
        while (key := self.scheduler.take()) is not None:
            if key in self.jobs:  # given back for another try
                return self.jobs[key]
            step = self.todo[key]
            parent = self.store.find(step.parent) if step.parent else None
            prompted_by = parent.content if parent else None
            record = self.store.find(key)
            if record and record.prompted_by == prompted_by and not self.forced(step):
                self.scheduler.done(key)
                continue
            job = _Job(step, (step.text,), time.monotonic())
            if parent and step.parent:
                latents = self.store.latents(step.parent)
                if latents is not None:
                    job.prompt = Prompt(parent.prompt_text or parent.text, latents)
                    job.prompted_by = prompted_by
            self.jobs[key] = job
            return job
        return None

    def _request(self, job: _Job) -> Request:
        step, part = job.step, len(job.done)
        prompt, expected = job.prompt, step.expected
        if len(job.parts) > 1:
            expected *= len(job.parts[part]) / max(1, sum(map(len, job.parts)))
            if part and (latents := job.done[-1].latents) is not None:
                prompt = Prompt(job.parts[part - 1], latents)
        return Request(
            key=step.key,
            text=job.parts[part],
            language=step.language,
            voice=step.voice,
            # a step whose parent was given up starts a chain of its own
            style=None if prompt else step.style or step.chunk.style or step.voice.style,
            parameters=step.parameters,
            seed=step.seed,
            attempt=job.attempt,
            expected=expected,
            prompt=prompt,
        )

    def _judge(self, job: _Job, outcome: Outcome) -> Record | tuple[str, ...]:
        """In a thread: the faults of one part, or the record of a take that was stored.

        An empty tuple asks for the next half.
        """
        if outcome.speech is None:
            return (f"engine: {outcome.failure}",)
        speech, rate = outcome.speech, self.engine.sample_rate
        expected = self._request(job).expected
        faults = checks.check(speech.samples, rate, expected, capped=speech.stop == "cap")
        if faults:
            return tuple(map(str, faults))
        if self.engine.continues and speech.latents is None:
            return ("engine: a take without latents, which nothing can continue",)
        job.done.append(speech)
        if len(job.done) < len(job.parts):
            return ()
        samples, latents = _joined(job.done, rate)
        start, stop = audio.speech_bounds(samples, rate)
        level, peak = audio.level(samples[start:stop], rate)
        record = Record(
            key=job.step.key,
            content="",
            samples=len(samples),
            sample_rate=rate,
            start=start,
            stop=stop,
            level=round(level, 2),
            peak=round(peak, 2),
            attempt=job.attempt,
            halves=len(job.parts),
            prompted_by=job.prompted_by,
            engine=self.engine.name,
            text=job.step.text,
            prompt_text=job.parts[-1] if len(job.parts) > 1 else "",
            wall=round(time.monotonic() - job.began, 3),
        )
        return self.store.put(record, samples, latents)

    def _collect(self, timeout: float) -> None:
        if not self.judging:
            return
        done, _ = wait(self.judging, timeout=timeout, return_when=FIRST_COMPLETED)
        for future in done:
            job = self.judging.pop(future)
            verdict = future.result()
            if isinstance(verdict, Record):
                self._finish(job)
                self.result.rendered += 1
                self.result.seconds += (verdict.stop - verdict.start) / verdict.sample_rate
                self.result.expected += job.step.expected
                self.observer.rendered(job.step, verdict)
            elif not verdict:
                job.attempt = 0
                self.scheduler.put_back(job.step.key)
            else:
                self._again(job, verdict)

    def _again(self, job: _Job, faults: tuple[str, ...]) -> None:
        """Another try, then halves, then the end."""
        job.faults += faults
        job.attempt += 1
        if job.attempt >= ATTEMPTS:
            halves = halve(job.step.text, job.step.language) if len(job.parts) == 1 else None
            if halves is None:
                self.store.give_up(Flag(job.step.key, tuple(job.faults)))
                self.result.flags[job.step.key] = tuple(job.faults)
                self._finish(job)
                self.observer.flagged(job.step, job.faults)
                return
            job.parts, job.attempt = (_closed(halves[0]), halves[1]), 0
        self.result.retries += 1
        self.scheduler.put_back(job.step.key)
        self.observer.retried(job.step, faults)

    def _finish(self, job: _Job) -> None:
        del self.jobs[job.step.key]
        self.scheduler.done(job.step.key)


def _closed(text: str) -> str:
    """A first half that broke off at a comma ends on a full stop: engines clip other endings."""
    text = text.rstrip(",;:，；：、، ")
    return text if text.endswith((".", "!", "?", "。", "！", "？", "…")) else f"{text}."


def _joined(parts: Sequence[Speech], rate: int) -> tuple[np.ndarray, np.ndarray | None]:
    """One take from its halves, with a short silence between; the latents are the last half's."""
    if len(parts) == 1:
        return parts[0].samples, parts[0].latents
    gap = np.zeros(round(HALVES_GAP * rate), np.float32)
    pieces: list[np.ndarray] = []
    for part in parts:
        start, stop = audio.speech_bounds(part.samples, rate)
        pieces += [audio.fade(part.samples[start:stop], rate), gap]
    return np.concatenate(pieces[:-1]), parts[-1].latents
