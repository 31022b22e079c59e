"""Serves many clients with one engine session: texts concurrently, takes of a text in order.

The engine runs in its own thread and speaks chunks of all texts at once. The next slot goes to the
client that has waited longest, and among its texts to the one that has waited longest, so that a
long text never holds up another client's sentence. A faulty take is tried again as in a render:
other noise, then two halves, then the least bad try. Nothing is stored. The number of texts, and of
takes ahead of the listener, is bounded. Knows nothing of projects, addresses and formats.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np

from narrator.engines import Engine, Outcome, Prompt, Request, ignore_message, speak
from narrator.engines.voice import Reference
from narrator.errors import EngineFailure, EngineUnavailable, NarratorError
from narrator.sound import audio
from narrator.speech.attempts import Action, Attempts
from narrator.speech.plan import Step
from narrator.speech.requests import (
    CheckedAnswer,
    ChunkJob,
    check_answer,
    join_parts,
    prompt_after,
    request_for,
)

MAX_TEXTS = 128
"""Texts that may be active or waiting at a time."""
MAX_CHUNKS_AHEAD = 4
"""Chunks of a text that may be in progress or ready before the listener has consumed them."""
MAX_RETRY_SECONDS = 60.0
"""Most seconds after which a refused client is asked to come back."""


class QueueFull(Exception):
    """Too many texts are waiting already."""

    def __init__(self, after: float) -> None:
        self.after = after
        """Seconds until there may be room."""


class SpeechCallback(Protocol):
    """Receives the speech of a text. Called in the engine's thread, and must not block."""

    def spoken(self, samples: audio.Samples, faults: Sequence[str]) -> None:
        """The next chunk, from its first to its last sound, at the engine's rate; a chunk with
        faults is the least bad of its tries."""
        ...

    def ended(self, error: NarratorError | None) -> None:
        """The text is complete, or failed with an error. The last call."""
        ...


class SpeechJob:
    """A text in progress."""

    def __init__(
        self,
        service: SpeechService,
        client: str,
        steps: Sequence[Step],
        reference: Reference | None,
        callback: SpeechCallback,
    ) -> None:
        self.client, self.steps, self.reference = client, steps, reference
        self.callback, self.service = callback, service
        self.started_at = time.monotonic()
        self.last_turn = 0
        """The clock's value at its last turn."""
        self.begun_count = self.delivered_count = self.consumed_count = 0
        """Chunks that were begun, delivered in order, and consumed by the listener."""
        self.retries: deque[_ServedChunk] = deque()
        self.ready_takes: dict[int, tuple[audio.Samples, Sequence[str]] | NarratorError] = {}
        """Takes, or an error, by chunk, that are ready but wait for earlier chunks."""
        self.prompts: dict[int, Prompt | None] = {}
        """Prompts by the index of the chunk that continues them."""

    def mark_consumed(self) -> None:
        """Notes that the listener has consumed a chunk, so another may be begun."""
        with self.service.changed:
            self.consumed_count += 1
            self.service.changed.notify()

    def leave(self) -> None:
        """Cancels the text: chunks outside the engine are dropped, chunks in it not delivered."""
        self.service.drop(self)

    @property
    def is_ready(self) -> bool:
        """Returns whether it has a chunk that the engine could speak now."""
        if self.retries:
            return True
        place = self.begun_count
        if place >= len(self.steps) or place >= self.consumed_count + MAX_CHUNKS_AHEAD:
            return False
        return self.steps[place].parent is None or place in self.prompts


@dataclass(slots=True, eq=False, kw_only=True)
class _ServedChunk(ChunkJob):
    """A chunk of a text in progress."""

    job: SpeechJob
    place: int
    """Its index in the text."""
    key: str
    """Key of its requests: several texts may have the same chunk."""


class SpeechService:
    """The texts in progress, and the thread of the engine that speaks them."""

    def __init__(self, engine: Engine, most: int = MAX_TEXTS) -> None:
        self.engine, self.most = engine, most
        self.changed = threading.Condition()
        self._jobs: list[SpeechJob] = []
        self._last_turns: dict[str, int] = {}
        """The clock's value at each client's last turn."""
        self._clock = self._number = 0
        self._mean_seconds = 1.0
        """Moving average of the seconds that a text takes."""
        self._in_engine: dict[str, _ServedChunk] = {}
        self._judged: list[tuple[_ServedChunk, Future[Action]]] = []
        self._stop = threading.Event()
        self._engine_error: EngineUnavailable | None = None
        """The reason why the engine is unavailable."""
        self._varies = "seed" in engine.sound_parameters
        self._is_started = threading.Event()
        self._thread: threading.Thread | None = None

    # -- from any thread ---------------------------------------------------------------------------

    def start(self, tell: Callable[[str], None] = ignore_message) -> None:
        """Loads the engine. Raises EngineUnavailable."""
        self._thread = threading.Thread(target=self._run, args=[tell], name="engine", daemon=True)
        self._thread.start()
        self._is_started.wait()
        if self._engine_error:
            raise self._engine_error

    def say(
        self,
        client: str,
        steps: Sequence[Step],
        reference: Reference | None,
        callback: SpeechCallback,
    ) -> SpeechJob:
        """Queues a text of a client. Raises Full, EngineUnavailable."""
        with self.changed:
            if self._stop.is_set() or self._thread is None or not self._thread.is_alive():
                raise self._engine_error or EngineUnavailable("the engine has stopped")
            if self.is_full:
                raise QueueFull(self.retry_seconds)
            job = SpeechJob(self, client, steps, reference, callback)
            self._last_turns.setdefault(client, 0)
            self._jobs.append(job)
            self.changed.notify()
        return job

    def drop(self, job: SpeechJob) -> bool:
        """Removes a job; returns whether it was still present."""
        with self.changed:
            if job not in self._jobs:
                return False
            self._jobs.remove(job)
            if all(other_job.client != job.client for other_job in self._jobs):
                del self._last_turns[job.client]
            self.changed.notify_all()
            return True

    @property
    def count(self) -> int:
        """Number of texts in progress or waiting."""
        return len(self._jobs)

    @property
    def is_full(self) -> bool:
        return len(self._jobs) >= self.most

    @property
    def retry_seconds(self) -> float:
        """Seconds until there may be room: the recent average of a text."""
        return min(max(1.0, self._mean_seconds), MAX_RETRY_SECONDS)

    @property
    def state(self) -> str:
        """ "ok", or the reason why it cannot speak."""
        if self._thread is None or not self._thread.is_alive():
            return "stopped"
        return "ok" if self._engine_error is None else str(self._engine_error)

    def close(self) -> None:
        """Stops at once; remaining listeners get an error."""
        self._stop.set()
        with self.changed:
            self.changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    # -- in the engine's thread --------------------------------------------------------------------

    def _run(self, tell: Callable[[str], None]) -> None:
        judges = ThreadPoolExecutor(2, "judge")
        try:
            while not self._stop.is_set():
                try:
                    self._run_session(tell, judges)
                except EngineUnavailable as error:
                    self._engine_error = error
                    if not self._is_started.is_set():
                        return
                    self._end_all(error)
                    self._await_jobs()  # then it is begun anew
        finally:
            judges.shutdown(wait=True, cancel_futures=True)
            self._stop.set()
            self._end_all(EngineUnavailable("the engine has stopped"))
            self._is_started.set()

    def _run_session(self, tell: Callable[[str], None], judges: ThreadPoolExecutor) -> None:
        """Runs one session until it ends."""
        with closing(self.engine.start(tell)) as session:
            self._engine_error = None
            self._is_started.set()
            for request, outcome in speak(
                session, self._requests(), tick=self._tick, cancel=self._stop
            ):
                chunk = self._in_engine.pop(request.key)
                checking = judges.submit(self._check, chunk, request, outcome)
                checking.add_done_callback(partial(self._hand_back, chunk))

    def _await_jobs(self) -> None:
        with self.changed:
            self.changed.wait_for(lambda: self._jobs or self._stop.is_set())

    def _end_all(self, error: NarratorError) -> None:
        self._in_engine.clear()
        for job in list(self._jobs):
            self._end(job, error)

    def _end(self, job: SpeechJob, error: NarratorError | None) -> None:
        if self.drop(job):
            self._mean_seconds += 0.2 * (time.monotonic() - job.started_at - self._mean_seconds)
            job.callback.ended(error)

    def _requests(self) -> Iterator[Request | None]:
        while True:
            with self.changed:
                chunk = self._next_chunk()
            if chunk is None:
                yield None
                continue
            self._in_engine[chunk.key] = chunk
            yield replace(request_for(chunk, self.engine), key=chunk.key)

    def _next_chunk(self) -> _ServedChunk | None:
        """Returns the next chunk of the job whose turn it is."""
        ready = [job for job in self._jobs if job.is_ready]
        if not ready:
            return None
        job = min(ready, key=lambda job: (self._last_turns[job.client], job.last_turn))
        self._clock += 1
        self._last_turns[job.client] = job.last_turn = self._clock
        if job.retries:
            return job.retries.popleft()
        place, step = job.begun_count, job.steps[job.begun_count]
        job.begun_count += 1
        self._number += 1
        return _ServedChunk(
            step,
            Attempts(step.text, step.language, varies=self._varies),
            job.prompts.pop(place, None),
            job.reference,
            job=job,
            place=place,
            key=f"said {self._number}",
        )

    def _tick(self) -> None:
        """Handles checked answers; waits while there is nothing to do."""
        with self.changed:
            self.changed.wait_for(self._has_work)
            judged, self._judged = self._judged, []
        for chunk, checking in judged:
            if chunk.job in self._jobs:
                self._follow(chunk, checking.result())

    def _has_work(self) -> bool:
        return bool(
            self._in_engine
            or self._judged
            or self._stop.is_set()
            or any(job.is_ready for job in self._jobs)
        )

    def _follow(self, chunk: _ServedChunk, action: Action) -> None:
        attempts = chunk.attempts
        if action in (Action.RETRY, Action.CONTINUE):
            with self.changed:
                chunk.job.retries.append(chunk)
        elif action is Action.ACCEPT:
            self._finish(chunk, attempts.accepted)
        elif best := attempts.least_bad():
            self._finish(chunk, [best])
        else:
            reasons = "; ".join(dict.fromkeys(attempts.faults))
            chunk.job.ready_takes[chunk.place] = EngineFailure(
                f"this could not be spoken: {reasons}"
            )
            chunk.job.begun_count = len(chunk.job.steps)  # nothing after it is needed
            self._deliver_ready(chunk.job)

    def _finish(self, chunk: _ServedChunk, answers: Sequence[CheckedAnswer]) -> None:
        """Stores a chunk's take, to be delivered after all earlier ones."""
        job, rate = chunk.job, self.engine.sample_rate
        faults = tuple(dict.fromkeys(str(fault) for answer in answers for fault in answer.faults))
        samples = np.clip(join_parts([answer.speech for answer in answers], rate), -1.0, 1.0)
        start, stop = audio.speech_bounds(samples, rate)
        if len(answers) == 1:
            samples = samples[start:stop]
        with self.changed:
            job.ready_takes[chunk.place] = (samples, faults)
            self._set_next_prompt(chunk, answers[-1], is_doubtful=bool(faults))
        self._deliver_ready(job)

    def _deliver_ready(self, job: SpeechJob) -> None:
        """Delivers the takes that are ready, in order; an error ends the text."""
        while (ready := job.ready_takes.pop(job.delivered_count, None)) is not None:
            if isinstance(ready, NarratorError):
                self._end(job, ready)
                return
            job.delivered_count += 1
            job.callback.spoken(*ready)
        if job.delivered_count == len(job.steps):
            self._end(job, None)

    def _set_next_prompt(
        self, chunk: _ServedChunk, answer: CheckedAnswer, *, is_doubtful: bool
    ) -> None:
        """Sets the prompt of the next chunk; a doubtful take is no prompt."""
        job, next_index = chunk.job, chunk.place + 1
        if next_index >= len(job.steps) or job.steps[next_index].parent is None:
            return
        seconds = len(answer.speech.samples) / self.engine.sample_rate
        is_too_long = seconds + job.steps[next_index].expected > self.engine.max_context_seconds
        job.prompts[next_index] = (
            None
            if is_doubtful or is_too_long
            else prompt_after(answer.speech, answer.request.text, self.engine)
        )

    # -- in the checking threads -------------------------------------------------------------------

    def _check(self, chunk: _ServedChunk, request: Request, outcome: Outcome) -> Action:
        if outcome.speech is None:
            return chunk.attempts.failed(f"engine: {outcome.failure}")
        return chunk.attempts.answered(check_answer(outcome.speech, request, self.engine))

    def _hand_back(self, chunk: _ServedChunk, checking: Future[Action]) -> None:
        if not checking.cancelled():
            with self.changed:
                self._judged.append((chunk, checking))
                self.changed.notify()
