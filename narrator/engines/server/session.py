"""Concurrent requests to a speech server: sent, sent again where that helps, or given up.

Threads wait for answers; all decisions are made on the thread that calls `advance`. The number of
concurrent requests adapts to the server: it grows while answers come, and is halved when the server
is overloaded or slow. A request with a complete answer is never sent again.
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from narrator.engines import Outcome, Request, Speech, ignore_message
from narrator.engines.preparation import noise_seed
from narrator.engines.server.audio import ServerSound, decode_answer, resample
from narrator.engines.server.dialects import (
    STEP_SECONDS,
    DialectSpec,
    PreparedRequest,
    format_of,
    max_steps,
)
from narrator.engines.server.remote_server import AttemptCounter, RemoteServer
from narrator.engines.server.wire import Call, Setback
from narrator.errors import EngineFailure, EngineUnavailable
from textbase.characters import excerpt

ADVANCE_SECONDS, SPARE_SECONDS = 0.5, 0.05
"""Seconds that `advance` waits for answers: with all slots full, and with free slots."""
INITIAL_REQUESTS, MAX_REQUESTS = 2, 32
"""Concurrent requests: at the beginning, and at most if the manifest sets no number."""
ANSWER_SECONDS, ANSWER_FACTOR = 60.0, 10.0
"""The longest accepted answer has this many seconds of sound, plus this many times the expected
seconds."""


@dataclass(slots=True)
class ConcurrencyLimit:
    """The number of concurrent requests that a server can handle."""

    maximum: int
    limit: int = 0
    reason: str = ""
    """Why it was lowered last."""
    _is_growing_fast: bool = True
    _success_count: int = 0
    _lowered_at: float = 0.0

    def __post_init__(self) -> None:
        self.limit = min(INITIAL_REQUESTS, self.maximum)

    def record_success(self, was_full: bool) -> None:
        """Records an answer; `was_full` when the limit was reached. Until the first overload every
        such answer raises the limit by one, afterwards every round of them."""
        self._success_count += was_full
        if (
            self._success_count >= (1 if self._is_growing_fast else self.limit)
            and self.limit < self.maximum
        ):
            self.limit += 1
            self._success_count = 0

    def lower(self, sent_at: float, reason: str) -> None:
        """Halves the limit after an overload of a request sent at a time; once for all requests
        that were in flight together."""
        if sent_at < self._lowered_at:
            return
        self.limit = max(1, self.limit // 2)
        self.reason, self._lowered_at = reason, time.monotonic()
        self._is_growing_fast, self._success_count = False, 0


@dataclass(slots=True, eq=False)
class _PendingRequest:
    """A request that has no outcome yet."""

    prepared: PreparedRequest
    attempts: AttemptCounter
    sent_at: float = 0.0
    was_full: bool = False
    """Whether the limit of concurrent requests was reached when it was sent."""
    call: Call | None = None

    @property
    def request(self) -> Request:
        return self.prepared.request


@dataclass(slots=True)
class _Outage:
    """A time in which the server accepts no requests."""

    since: float
    next_check_at: float = 0.0
    """When requests are tried again, or the server is checked."""
    check_count: int = 0
    needs_check: bool = False
    """Whether the server must first be asked whether it is ready, and still the same."""
    is_announced: bool = False
    check: Future[Mapping[str, Any]] | None = None


@dataclass(slots=True)
class ServerSession:
    """A `Session` whose requests are spoken by a speech server."""

    server: RemoteServer
    dialect_spec: DialectSpec
    tell: Callable[[str], None] = ignore_message
    slots: int = 0
    busy: float = 0.0
    note: str = ""
    _limit: ConcurrencyLimit = field(init=False)
    _pool: ThreadPoolExecutor = field(init=False)
    _in_flight: dict[Future[ServerSound], _PendingRequest] = field(default_factory=dict)
    _waiting: list[tuple[float, int, _PendingRequest]] = field(default_factory=list)
    """A heap of (time when it is due, order of arrival, request)."""
    _order: itertools.count[int] = field(default_factory=itertools.count)
    _outcomes: list[Outcome] = field(default_factory=list)
    _outage: _Outage | None = None
    _final_error: EngineUnavailable | None = None
    """Why nothing more is sent; requests in flight may still succeed."""
    _failed_keys: set[str] = field(default_factory=set)
    """Keys of the requests that failed since the last success."""
    _reported_rate: int = 0
    _started_at: float | None = None
    _busy_seconds: float = 0.0

    def __post_init__(self) -> None:
        slots = self.server.settings.slots
        self._limit = ConcurrencyLimit(MAX_REQUESTS if slots == "auto" else slots)
        # one more thread for the check whether the server is back
        self._pool = ThreadPoolExecutor(self._limit.maximum + 1, "speech-server")
        self._update_figures()

    def add(self, request: Request) -> None:
        """Accepts a request; a fault in it is returned as its outcome.

        Raises DamagedTake.
        """
        self._started_at = self._started_at or time.monotonic()
        previous_take = request.prompt.samples() if request.prompt is not None else None
        prepared = PreparedRequest(request, self.server.rate, previous_take)
        attempts = AttemptCounter(self.server.patience)
        self._enqueue(_PendingRequest(prepared, attempts), delay_s=0.0)
        self._run_guarded(self._send)

    def advance(self) -> list[Outcome]:
        """Returns what has come back, after at most half a second.

        Raises EngineUnavailable when the server will speak nothing of this, or is gone for long;
        not before all requests in flight have come back, so that no answer is lost.
        """
        started_at = time.monotonic()
        self._run_guarded(self._send)
        has_spare_slot = len(self._in_flight) + len(self._waiting) < self._limit.limit
        deadline = started_at + (SPARE_SECONDS if has_spare_slot else ADVANCE_SECONDS)
        while not self._outcomes and (remaining_seconds := deadline - time.monotonic()) > 0:
            if not (self._in_flight or self._waiting):
                break
            self._run_guarded(partial(self._collect, remaining_seconds))
            self._run_guarded(self._send)
        self._busy_seconds += (
            (time.monotonic() - started_at) if self._in_flight or self._outcomes else 0.0
        )
        outcomes, self._outcomes = self._outcomes, []
        self._update_figures()
        if self._final_error is not None and not outcomes and not self._in_flight:
            raise self._final_error
        return outcomes

    def _run_guarded(self, work: Callable[[], None]) -> None:
        """Runs a step; keeps an error that ends the session until all requests have come back."""
        try:
            work()
        except EngineUnavailable as error:
            self._final_error = self._final_error or error
        if self._final_error is not None:
            self._waiting.clear()

    def close(self) -> None:
        """Drops all requests, in flight or waiting."""
        for pending in self._in_flight.values():
            if pending.call is not None:
                pending.call.abort()
        self._waiting.clear()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._in_flight.clear()

    # -- sending

    def _enqueue(self, pending: _PendingRequest, delay_s: float) -> None:
        due_at = time.monotonic() + delay_s
        heapq.heappush(self._waiting, (due_at, next(self._order), pending))

    def _send(self) -> None:
        """Sends requests that are due, up to the server's limit."""
        now = time.monotonic()
        if self._final_error is not None:
            return
        if self._outage is not None and not self._is_back(self._outage, now):
            return
        limit, timeout = self._limit.limit, self.server.settings.timeout
        while self._waiting and len(self._in_flight) < limit and self._waiting[0][0] <= now:
            _, _, pending = heapq.heappop(self._waiting)
            pending.sent_at, pending.was_full = now, len(self._in_flight) + 1 >= limit
            call = self.server.wire.call("POST", self.dialect_spec.path, timeout=timeout)
            pending.call = call
            future = self._pool.submit(self._request_sound, call, pending.prepared)
            self._in_flight[future] = pending

    def _request_sound(self, call: Call, prepared: PreparedRequest) -> ServerSound:
        """Sends one request and waits for its answer. Raises Setback, EngineFailure."""
        settings, rate = self.server.settings, self.server.rate
        body = self.dialect_spec.body(settings, prepared)
        max_seconds = ANSWER_SECONDS + ANSWER_FACTOR * prepared.request.expected
        answer = call.send(body, max_bytes=round(max_seconds * max(rate, 48_000) * 4))
        try:
            sound = decode_answer(answer, format_of(settings))
        except Setback as setback:  # its message may quote the server
            raise Setback(setback.category, self.server.wire.clean(setback.message)) from None
        source_rate = rate if sound.rate is None else sound.rate
        return ServerSound(resample(sound.samples, source_rate, rate), source_rate)

    # -- receiving

    def _collect(self, seconds: float) -> None:
        """Waits for answers, so long at most, and handles those that are there."""
        futures: list[Future[Any]] = list(self._in_flight)
        check = self._outage.check if self._outage else None
        if check is not None:
            futures.append(check)
        elif self._waiting and len(self._in_flight) < self._limit.limit:
            due_at = max(self._waiting[0][0], self._outage.next_check_at if self._outage else 0.0)
            seconds = max(0.001, min(seconds, due_at - time.monotonic()))
        if futures:
            wait(futures, seconds, FIRST_COMPLETED)
        else:
            time.sleep(seconds)
        for future in [future for future in self._in_flight if future.done()]:
            self._handle_answer(self._in_flight.pop(future), future)

    def _handle_answer(self, pending: _PendingRequest, future: Future[ServerSound]) -> None:
        """Handles a request's answer or error. Raises EngineUnavailable."""
        try:
            sound = future.result()
        except EngineFailure as failure:
            self._fail(pending, str(failure))
        except Setback as setback:
            self._handle_setback(pending, setback)
        else:
            self._limit.record_success(pending.was_full)
            self._failed_keys.clear()
            if self._outage is not None and self._outage.needs_check:
                self._outage.since = time.monotonic()  # an answer from before it went
            else:
                self._outage = None
            self._report_rate(sound)
            request = pending.request
            self._outcomes.append(
                Outcome(request.key, request.attempt, speech=self._make_speech(pending, sound))
            )

    def _make_speech(self, pending: _PendingRequest, sound: ServerSound) -> Speech:
        request, rate = pending.request, self.server.rate
        seed = noise_seed(request) if "seed" in self.dialect_spec.sound_parameters else 0
        stop = "stop"
        if self.server.settings.dialect == "nano-vllm-voxcpm":
            previous_take = pending.prepared.previous_take
            prompt_seconds = 0.0 if previous_take is None else len(previous_take) / rate
            max_seconds = (max_steps(request, prompt_seconds) - 0.5) * STEP_SECONDS
            stop = "cap" if len(sound.samples) / rate >= max_seconds else "stop"
        return Speech(sound.samples, stop=stop, seed=seed)

    def _report_rate(self, sound: ServerSound) -> None:
        """Reports once that answers have another rate than the takes."""
        rate = self.server.rate
        if sound.rate not in (rate, self._reported_rate):
            self._reported_rate = sound.rate or 0
            self.tell(
                f"the server answers at {sound.rate} Hz, which is resampled to {rate}: "
                f"`engine.sample_rate: {sound.rate}` leaves it as it is, and has takes made anew"
            )

    # -- failures

    def _handle_setback(self, pending: _PendingRequest, setback: Setback) -> None:
        """Schedules or gives up a request. Raises EngineUnavailable, which ends the session."""
        if setback.category == "closed":
            raise EngineUnavailable(self.server.describe_setback(setback))
        if setback.category == "bad":
            self._fail(pending, setback.message)
            return
        if setback.category in ("busy", "gone", "slow"):
            self._limit.lower(pending.sent_at, setback.message)
        if setback.category in ("busy", "gone"):
            self._back_off(setback)
        elif setback.category == "cut" and not setback.status:
            self._check_restart()
        attempts = pending.attempts
        attempts.record(setback)
        if attempts.is_exhausted:
            self._fail(pending, f"{setback.message} ({attempts.count} times)")
        else:
            self._enqueue(pending, self.server.patience.pause(attempts.count))

    def _check_restart(self) -> None:
        """Has the server checked, since an answer that broke off may mean that it was restarted."""
        self._outage = self._outage or _Outage(time.monotonic())
        self._outage.needs_check = True

    def _back_off(self, setback: Setback) -> None:
        """Begins or extends an outage. Raises EngineUnavailable when it lasts too long."""
        now, patience = time.monotonic(), self.server.patience
        outage = self._outage = self._outage or _Outage(now)
        if setback.category == "gone":
            outage.needs_check = True
            if not outage.is_announced:
                self.tell(f"the speech server is away ({setback.message}); waiting for it")
            outage.is_announced = True
        pause = patience.pause(outage.check_count + 1, setback)
        outage.next_check_at = max(outage.next_check_at, now + pause)
        if now + (setback.retry_after or 0.0) - outage.since > patience.max_outage_s:
            raise EngineUnavailable(
                f"{self.server.describe_setback(setback)}; it did not come back in "
                f"{patience.max_outage_s:.0f} s. All takes are kept: the same command goes on"
            )

    def _is_back(self, outage: _Outage, now: float) -> bool:
        """Returns whether requests may be sent: the pause is over, and a server that was gone is
        back and the same. Raises EngineUnavailable."""
        if now < outage.next_check_at:
            return False
        if not outage.needs_check:
            return True
        if outage.check is None:
            outage.check = self._pool.submit(self.server.request_facts)
        if not outage.check.done():
            return False
        check, outage.check = outage.check, None
        outage.check_count += 1
        try:
            facts = check.result()
        except Setback as setback:
            if setback.category == "closed":
                raise EngineUnavailable(self.server.describe_setback(setback)) from setback
            self._back_off(Setback("gone", setback.message, retry_after=setback.retry_after))
            return False
        self.server.check_identity(facts, ignore_message)
        outage.needs_check = False
        return True

    def _fail(self, pending: _PendingRequest, reason: str) -> None:
        """Gives a request up. Raises EngineUnavailable after too many failures in a row."""
        request = pending.request
        message = f"speech server: {reason}"
        self._failed_keys.add(request.key)
        if len(self._failed_keys) >= self.server.patience.max_failed_chunks:
            raise EngineUnavailable(
                f"{message}; so for {len(self._failed_keys)} chunks one after another. "
                "All takes are kept: the same command goes on"
            )
        failure = EngineFailure(f"{message}: '{excerpt(request.text)}'")
        self._outcomes.append(Outcome(request.key, request.attempt, failure=failure))

    def _update_figures(self) -> None:
        if self._started_at is not None:
            self.busy = min(
                1.0, self._busy_seconds / max(1e-9, time.monotonic() - self._started_at)
            )
        self.slots = self._limit.limit
        request_count = "1 request" if self.slots == 1 else f"{self.slots} requests"
        reduction = f" (fewer: {self._limit.reason})" if self._limit.reason else ""
        self.note = f"{request_count} at a time{reduction}"
