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
MEAN_WEIGHT = 0.2
"""Weight of the latest text in the moving average of their seconds."""


class QueueFull(Exception):
    """Too many texts are waiting already."""

    def __init__(self, retry_seconds: float) -> None:
        self.retry_seconds = retry_seconds
        """Seconds until there may be room."""


class SpeechCallback(Protocol):
    """Receives the speech of a text. Called in the engine's thread, and must not block."""

    def spoken(self, samples: audio.Samples, faults: Sequence[str]) -> None:
        """Receives the next chunk, from its first to its last sound, at the engine's rate; a chunk
        with faults is the least bad of its tries."""
        ...

    def ended(self, error: NarratorError | None) -> None:
        """Learns that the text is complete, or failed with an error. The last call."""
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
        """The service's turn count at its last turn."""
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
        next_index = self.begun_count
        if next_index >= min(len(self.steps), self.consumed_count + MAX_CHUNKS_AHEAD):
            return False
        return self.steps[next_index].parent is None or next_index in self.prompts


@dataclass(slots=True, eq=False, kw_only=True)
class _ServedChunk(ChunkJob):
    """A chunk of a text in progress."""

    job: SpeechJob
    index: int
    """In the text."""
    key: str
    """Key of its requests: several texts may have the same chunk."""


class SpeechService:
    """The texts in progress, and the thread of the engine that speaks them."""

    def __init__(self, engine: Engine, max_texts: int = MAX_TEXTS) -> None:
        self.engine, self.max_texts = engine, max_texts
        self.changed = threading.Condition()
        self._jobs: list[SpeechJob] = []
        self._last_turns: dict[str, int] = {}
        """The turn count at each client's last turn."""
        self._turn_count = self._chunk_count = 0
        self._mean_seconds = 1.0
        """Moving average of the seconds that a text takes."""
        self._chunks_in_engine: dict[str, _ServedChunk] = {}
        """By the key of their request."""
        self._checked_chunks: list[tuple[_ServedChunk, Future[Action]]] = []
        """Chunks whose last answer was checked, with the action that follows."""
        self._stop = threading.Event()
        self._engine_error: EngineUnavailable | None = None
        """The reason why the engine is unavailable."""
        self._is_random = engine.is_random
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
        """Queues a text of a client. Raises QueueFull, EngineUnavailable."""
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
        return len(self._jobs) >= self.max_texts

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
        """Runs sessions of the engine, one after another, until the service is closed."""
        check_pool = ThreadPoolExecutor(2, "judge")
        try:
            while not self._stop.is_set():
                try:
                    self._serve_session(tell, check_pool)
                except EngineUnavailable as error:
                    self._engine_error = error
                    if not self._is_started.is_set():
                        return
                    self._end_all(error)
                    self._await_jobs()  # the next one starts a new session
        finally:
            check_pool.shutdown(wait=True, cancel_futures=True)
            self._stop.set()
            self._end_all(EngineUnavailable("the engine has stopped"))
            self._is_started.set()

    def _serve_session(self, tell: Callable[[str], None], check_pool: ThreadPoolExecutor) -> None:
        """Serves requests with one session of the engine until it ends."""
        with closing(self.engine.start(tell)) as session:
            self._engine_error = None
            self._is_started.set()
            for request, outcome in speak(
                session, self._requests(), tick=self._tick, cancel=self._stop
            ):
                chunk = self._chunks_in_engine.pop(request.key)
                checking = check_pool.submit(self._check, chunk, request, outcome)
                checking.add_done_callback(partial(self._queue_checked, chunk))

    def _await_jobs(self) -> None:
        with self.changed:
            self.changed.wait_for(lambda: self._jobs or self._stop.is_set())

    def _end_all(self, error: NarratorError) -> None:
        self._chunks_in_engine.clear()
        for job in list(self._jobs):
            self._end(job, error)

    def _end(self, job: SpeechJob, error: NarratorError | None) -> None:
        if self.drop(job):
            seconds = time.monotonic() - job.started_at
            self._mean_seconds += MEAN_WEIGHT * (seconds - self._mean_seconds)
            job.callback.ended(error)

    def _requests(self) -> Iterator[Request | None]:
        """Yields the next request of all texts; None while none is ready."""
        while True:
            with self.changed:
                chunk = self._next_chunk()
            if chunk is None:
                yield None
                continue
            self._chunks_in_engine[chunk.key] = chunk
            yield replace(request_for(chunk, self.engine), key=chunk.key)

    def _next_chunk(self) -> _ServedChunk | None:
        """Takes the next chunk of the job whose turn it is; None while no job is ready."""
        ready = [job for job in self._jobs if job.is_ready]
        if not ready:
            return None
        job = min(ready, key=lambda job: (self._last_turns[job.client], job.last_turn))
        self._turn_count += 1
        self._last_turns[job.client] = job.last_turn = self._turn_count
        if job.retries:
            return job.retries.popleft()
        index, step = job.begun_count, job.steps[job.begun_count]
        job.begun_count += 1
        self._chunk_count += 1
        return _ServedChunk(
            step,
            Attempts(step.text, step.language, is_random=self._is_random),
            job.prompts.pop(index, None),
            job.reference,
            job=job,
            index=index,
            key=f"served {self._chunk_count}",
        )

    def _tick(self) -> None:
        """Handles checked answers; waits while there is nothing to do."""
        with self.changed:
            self.changed.wait_for(self._has_work)
            checked_chunks, self._checked_chunks = self._checked_chunks, []
        for chunk, checking in checked_chunks:
            if chunk.job in self._jobs:
                self._do_action(chunk, checking.result())

    def _has_work(self) -> bool:
        return bool(
            self._chunks_in_engine
            or self._checked_chunks
            or self._stop.is_set()
            or any(job.is_ready for job in self._jobs)
        )

    def _do_action(self, chunk: _ServedChunk, action: Action) -> None:
        """Queues a chunk for its next request, or finishes it; a failed chunk ends the text."""
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
            chunk.job.ready_takes[chunk.index] = EngineFailure(
                f"this could not be spoken: {reasons}"
            )
            chunk.job.begun_count = len(chunk.job.steps)  # nothing after it is needed
            self._deliver_ready(chunk.job)

    def _finish(self, chunk: _ServedChunk, answers: Sequence[CheckedAnswer]) -> None:
        """Makes a chunk's take of its answers, to be delivered after all earlier ones."""
        job, rate = chunk.job, self.engine.sample_rate
        faults = tuple(dict.fromkeys(str(fault) for answer in answers for fault in answer.faults))
        samples = np.clip(join_parts([answer.speech for answer in answers], rate), -1.0, 1.0)
        start, stop = audio.speech_bounds(samples, rate)
        if len(answers) == 1:
            samples = samples[start:stop]
        with self.changed:
            job.ready_takes[chunk.index] = (samples, faults)
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
        job, next_index = chunk.job, chunk.index + 1
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
            return chunk.attempts.note_failure(f"engine: {outcome.failure}")
        return chunk.attempts.note_answer(check_answer(outcome.speech, request, self.engine))

    def _queue_checked(self, chunk: _ServedChunk, checking: Future[Action]) -> None:
        if not checking.cancelled():
            with self.changed:
                self._checked_chunks.append((chunk, checking))
                self.changed.notify()
