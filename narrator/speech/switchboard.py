"""One session for many who ask: their texts side by side, each one's takes in order.

An engine speaks in a thread of its own, chunks of all texts at a time. The next slot goes to the
client who has waited longest, and among its texts to the one that has, so that nobody's long text
holds up another's sentence. A faulty take is tried again as a render does: other noise, then in two
halves, then the least bad of what was said. Nothing is stored. Texts and their takes ahead of who
hears them are bounded. Knows nothing of projects, addresses and formats.
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

from narrator.engines import Engine, Outcome, Prompt, Request, Speech, quiet, speak
from narrator.engines.voice import Reference
from narrator.errors import EngineFailure, EngineUnavailable, NarratorError
from narrator.sound import audio
from narrator.speech import checks
from narrator.speech.plan import Step
from narrator.speech.render import UNHEARD
from narrator.speech.requests import (
    Half,
    Rules,
    StepJob,
    closed,
    examined,
    joined,
    prompt_after,
    request_for,
)
from narrator.text.chunks import halve

MOST = 128
"""Texts that are spoken or wait at a time."""
AHEAD = 4
"""Chunks of a text that may be spoken, or ready, before who hears it has taken them."""
RETRY = 60.0
"""Seconds after which somebody who was refused is asked to come back at the latest."""


class Full(Exception):
    """Too many texts wait already."""

    def __init__(self, after: float) -> None:
        self.after = after
        """Seconds in which there may be room."""


class Hearer(Protocol):
    """Who hears a text; told in the engine's thread, and never to wait there."""

    def spoken(self, samples: audio.Samples, faults: Sequence[str]) -> None:
        """The next chunk, from its first to its last sound, at the engine's rate; one with faults
        is the least bad of its tries."""
        ...

    def ended(self, error: NarratorError | None) -> None:
        """All is said, or what came in between. Nothing is told after."""
        ...


class TextCall:
    """A text that is being spoken, and how far it is."""

    def __init__(
        self,
        board: Switchboard,
        client: str,
        steps: Sequence[Step],
        reference: Reference | None,
        hearer: Hearer,
    ) -> None:
        self.client, self.steps, self.reference = client, steps, reference
        self.hearer, self.board = hearer, board
        self.since = time.monotonic()
        self.turn = 0
        """When it was its turn last."""
        self.begun = self.told = self.taken = 0
        """Chunks that were begun, told in order, and taken by who hears them."""
        self.again: deque[_OnWay] = deque()
        self.made: dict[int, tuple[audio.Samples, Sequence[str]] | NarratorError] = {}
        """By place, what is ready before one of its own text's that comes first."""
        self.prompts: dict[int, Prompt | None] = {}
        """By the place of the chunk that goes on from it."""

    def took(self) -> None:
        """Who hears it has taken a chunk: another may be begun."""
        with self.board.news:
            self.taken += 1
            self.board.news.notify()

    def leave(self) -> None:
        """Nobody hears it any more: what is not in the engine yet is not spoken, and what is, is
        not told."""
        self.board.drop(self)

    @property
    def is_ready(self) -> bool:
        """Whether there is anything of it that the engine could speak now."""
        if self.again:
            return True
        place = self.begun
        if place >= len(self.steps) or place >= self.taken + AHEAD:
            return False
        return self.steps[place].parent is None or place in self.prompts


@dataclass(slots=True, eq=False)
class _OnWay:
    """A chunk between call and take."""

    call: TextCall
    place: int
    job: StepJob
    key: str
    whole: Half | None = None
    """The least bad try of all of it."""


@dataclass(frozen=True, slots=True)
class _Tried:
    """What the checks made of an answer."""

    chunk: _OnWay
    request: Request
    speech: Speech | None
    verdict: checks.Verdict | None
    failure: EngineFailure | None


class Switchboard:
    """The texts that are being spoken, and the thread of the engine that speaks them."""

    def __init__(self, engine: Engine, most: int = MOST) -> None:
        self.engine, self.most = engine, most
        self.news = threading.Condition()
        self._rules = Rules()
        self._calls: list[TextCall] = []
        self._turns: dict[str, int] = {}
        """When it was a client's turn last."""
        self._clock = self._number = 0
        self._usual = 1.0
        """Seconds that a text takes, as they have taken of late."""
        self._flying: dict[str, _OnWay] = {}
        self._judged: list[Future[_Tried]] = []
        self._stop = threading.Event()
        self._trouble: EngineUnavailable | None = None
        """Why the engine is not there."""
        self._varies = "seed" in engine.sound_parameters
        self._up = threading.Event()
        self._thread: threading.Thread | None = None

    # -- from any thread ---------------------------------------------------------------------------

    def start(self, tell: Callable[[str], None] = quiet) -> None:
        """Load what speaking needs. Raises EngineUnavailable."""
        self._thread = threading.Thread(target=self._run, args=[tell], name="engine", daemon=True)
        self._thread.start()
        self._up.wait()
        if self._trouble:
            raise self._trouble

    def say(
        self, client: str, steps: Sequence[Step], reference: Reference | None, hearer: Hearer
    ) -> TextCall:
        """Have a text spoken for a client. Raises Full, EngineUnavailable."""
        with self.news:
            if self._stop.is_set() or self._thread is None or not self._thread.is_alive():
                raise self._trouble or EngineUnavailable("the engine has stopped")
            if self.is_full:
                raise Full(self.patience)
            call = TextCall(self, client, steps, reference, hearer)
            self._turns.setdefault(client, 0)
            self._calls.append(call)
            self.news.notify()
        return call

    def drop(self, call: TextCall) -> bool:
        """Whether a call was still there; it is gone then."""
        with self.news:
            if call not in self._calls:
                return False
            self._calls.remove(call)
            if all(other.client != call.client for other in self._calls):
                del self._turns[call.client]
            self.news.notify_all()
            return True

    @property
    def count(self) -> int:
        """Texts that are spoken or wait."""
        return len(self._calls)

    @property
    def is_full(self) -> bool:
        return len(self._calls) >= self.most

    @property
    def patience(self) -> float:
        """Seconds in which there may be room: what a text takes, of late."""
        return min(max(1.0, self._usual), RETRY)

    @property
    def state(self) -> str:
        """ "ok", or what keeps it from speaking."""
        if self._thread is None or not self._thread.is_alive():
            return "stopped"
        return "ok" if self._trouble is None else str(self._trouble)

    def close(self) -> None:
        """Stop at once; who still hears something is told."""
        self._stop.set()
        with self.news:
            self.news.notify_all()
        if self._thread is not None:
            self._thread.join()

    # -- in the engine's thread --------------------------------------------------------------------

    def _run(self, tell: Callable[[str], None]) -> None:
        judges = ThreadPoolExecutor(2, "judge")
        try:
            while not self._stop.is_set():
                try:
                    self._serve(tell, judges)
                except EngineUnavailable as error:
                    self._trouble = error
                    if not self._up.is_set():
                        return
                    self._end_all(error)
                    self._await_calls()  # then it is begun anew
        finally:
            judges.shutdown(wait=True, cancel_futures=True)
            self._stop.set()
            self._end_all(EngineUnavailable("the engine has stopped"))
            self._up.set()

    def _serve(self, tell: Callable[[str], None], judges: ThreadPoolExecutor) -> None:
        """One session, as long as it lives."""
        with closing(self.engine.start(tell)) as session:
            self._trouble = None
            self._up.set()
            for request, outcome in speak(
                session, self._requests(), tick=self._tick, cancel=self._stop
            ):
                chunk = self._flying.pop(request.key)
                judging = judges.submit(self._judge, chunk, request, outcome)
                judging.add_done_callback(self._hand_back)

    def _await_calls(self) -> None:
        with self.news:
            self.news.wait_for(lambda: self._calls or self._stop.is_set())

    def _end_all(self, error: NarratorError) -> None:
        self._flying.clear()
        for call in list(self._calls):
            self._end(call, error)

    def _end(self, call: TextCall, error: NarratorError | None) -> None:
        if self.drop(call):
            self._usual += 0.2 * (time.monotonic() - call.since - self._usual)
            call.hearer.ended(error)

    def _requests(self) -> Iterator[Request | None]:
        while True:
            with self.news:
                chunk = self._next()
            if chunk is None:
                yield None
                continue
            self._flying[chunk.key] = chunk
            yield replace(request_for(chunk.job, self.engine), key=chunk.key)

    def _next(self) -> _OnWay | None:
        """Of whom it is the turn."""
        ready = [call for call in self._calls if call.is_ready]
        if not ready:
            return None
        call = min(ready, key=lambda call: (self._turns[call.client], call.turn))
        self._clock += 1
        self._turns[call.client] = call.turn = self._clock
        if call.again:
            return call.again.popleft()
        place, step = call.begun, call.steps[call.begun]
        call.begun += 1
        self._number += 1
        job = StepJob(
            step,
            (step.text,),
            time.monotonic(),
            prompt=call.prompts.pop(place, None),
            reference=call.reference,
        )
        return _OnWay(call, place, job, f"said {self._number}")

    def _tick(self) -> None:
        """What was judged goes on; without anything to do, wait for it."""
        with self.news:
            self.news.wait_for(self._has_work)
            judged, self._judged = self._judged, []
        for one in judged:
            tried = one.result()
            if tried.chunk.call in self._calls:
                self._go_on(tried)

    def _has_work(self) -> bool:
        return bool(
            self._flying
            or self._judged
            or self._stop.is_set()
            or any(call.is_ready for call in self._calls)
        )

    def _go_on(self, tried: _Tried) -> None:
        chunk, speech, verdict = tried.chunk, tried.speech, tried.verdict
        if speech is not None and verdict is not None and not verdict.faults:
            self._accept(chunk, speech, verdict)
            return
        if speech is not None and verdict is not None:
            self._remember(chunk, speech, verdict)
            chunk.job.faults += map(str, verdict.faults)
        else:
            chunk.job.faults.append(f"engine: {tried.failure}")
        chunk.job.attempt += 1
        if (self._varies or speech is None) and chunk.job.attempt < self._rules.tries:
            self._put_back(chunk)
        elif len(chunk.job.parts) == 1 and (halves := _halves(chunk.job.step)):
            chunk.job.parts, chunk.job.attempt = halves, 0
            self._put_back(chunk)
        else:
            self._make_do(chunk)

    def _remember(self, chunk: _OnWay, speech: Speech, verdict: checks.Verdict) -> None:
        """The least bad try that can be heard, of the whole or of this half."""
        if any(fault.kind in UNHEARD for fault in verdict.faults):
            return
        found = Half(checks.badness(verdict), chunk.job.attempt, speech, verdict)
        if len(chunk.job.parts) == 1:
            chunk.whole = min(filter(None, (chunk.whole, found)), key=lambda one: one.badness)
        else:
            others = filter(None, (chunk.job.half, found))
            chunk.job.half = min(others, key=lambda one: one.badness)

    def _make_do(self, chunk: _OnWay) -> None:
        """As a render does: the least bad half, as long as both are better than any whole."""
        job, half, whole = chunk.job, chunk.job.half, chunk.whole
        if half and (whole is None or job.badness + half.badness < whole.badness):
            self._accept(chunk, half.speech, half.verdict)
        elif whole:
            self._made(chunk, [whole.speech], [str(fault) for fault in whole.verdict.faults])
        else:
            why = "; ".join(dict.fromkeys(job.faults))
            chunk.call.made[chunk.place] = EngineFailure(f"this could not be spoken: {why}")
            chunk.call.begun = len(chunk.call.steps)  # nothing after it is of use
            self._tell(chunk.call)

    def _accept(self, chunk: _OnWay, speech: Speech, verdict: checks.Verdict) -> None:
        job = chunk.job
        job.done.append(speech)
        job.badness += checks.badness(verdict)
        job.doubts += tuple(map(str, verdict.faults))
        job.half = None
        if len(job.done) < len(job.parts):
            job.attempt = 0
            self._put_back(chunk)
        else:
            self._made(chunk, job.done, job.doubts)

    def _put_back(self, chunk: _OnWay) -> None:
        with self.news:
            chunk.call.again.append(chunk)

    def _made(self, chunk: _OnWay, parts: Sequence[Speech], faults: Sequence[str]) -> None:
        """A chunk has its take: it is told when all before it are."""
        call, rate = chunk.call, self.engine.sample_rate
        samples = np.clip(joined(parts, rate), -1.0, 1.0)
        start, stop = audio.speech_bounds(samples, rate)
        if len(parts) == 1:
            samples = samples[start:stop]
        with self.news:
            call.made[chunk.place] = (samples, tuple(dict.fromkeys(faults)))
            self._prompt(chunk, parts[-1], faults)
        self._tell(call)

    def _tell(self, call: TextCall) -> None:
        """What is ready, in order; an error in its place."""
        while (ready := call.made.pop(call.told, None)) is not None:
            if isinstance(ready, NarratorError):
                self._end(call, ready)
                return
            call.told += 1
            call.hearer.spoken(*ready)
        if call.told == len(call.steps):
            self._end(call, None)

    def _prompt(self, chunk: _OnWay, last: Speech, faults: Sequence[str]) -> None:
        """What the chunk after goes on from; a doubtful take prompts nobody."""
        call, after = chunk.call, chunk.place + 1
        if after >= len(call.steps) or call.steps[after].parent is None:
            return
        text = chunk.job.parts[-1] if len(chunk.job.done) > 1 else chunk.job.step.text
        seconds = len(last.samples) / self.engine.sample_rate
        fits = seconds + call.steps[after].expected <= self.engine.max_context_seconds
        good = fits and not faults
        call.prompts[after] = prompt_after(last, text, self.engine) if good else None

    # -- in the judges' ----------------------------------------------------------------------------

    def _judge(self, chunk: _OnWay, request: Request, outcome: Outcome) -> _Tried:
        tried = partial(_Tried, chunk, request)
        if outcome.speech is None:
            return tried(None, None, outcome.failure)
        verdict = examined(outcome.speech, request, self.engine, self._rules)
        return tried(outcome.speech, verdict, None)

    def _hand_back(self, judged: Future[_Tried]) -> None:
        if not judged.cancelled():
            with self.news:
                self._judged.append(judged)
                self.news.notify()


def _halves(step: Step) -> tuple[str, str] | None:
    halves = halve(step.text, step.language)
    return halves and (closed(halves[0]), halves[1])
