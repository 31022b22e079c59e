"""Requests to a speech server side by side: sent, sent again where that helps, given up by name.

Threads wait for answers; all that is decided, is decided on the thread that calls `advance`. How
many go out at a time follows from what the server bears: one more while all is well, half where it
says that it is too much, or lets wait. Nothing goes out again once an answer came whole.
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

from narrator.characters import quoted
from narrator.engines import Outcome, Request, Speech, quiet
from narrator.engines.asking import noise_seed
from narrator.engines.server.dialects import PATCH, Manner, Wanted, format_of, longest
from narrator.engines.server.meeting import RemoteServer
from narrator.engines.server.sounds import ServerSound, at_rate, heard
from narrator.engines.server.wire import Call, Setback
from narrator.errors import EngineFailure, EngineUnavailable

SLICE, SPARE = 0.5, 0.05
"""Seconds that `advance` waits for answers: with all slots full, and with some to spare."""
FEW, MANY = 2, 32
"""Requests at a time: at the beginning, and at most where the manifest does not say."""
ROOM, TIMES = 60.0, 10.0
"""Seconds, and times the expected ones, of sound in the longest answer that is taken."""


@dataclass(slots=True)
class Bearing:
    """How many requests a server bears at a time."""

    most: int
    limit: int = 0
    why: str = ""
    """What lowered it last."""
    _steep: bool = True
    _good: int = 0
    _lowered: float = 0.0

    def __post_init__(self) -> None:
        self.limit = min(FEW, self.most)

    def well(self, full: bool) -> None:
        """An answer came; `full` says that as many as may be were out. Until it first was too much
        each answer makes room for one more, then each round of them."""
        self._good += full
        if self._good >= (1 if self._steep else self.limit) and self.limit < self.most:
            self.limit += 1
            self._good = 0

    def lower(self, sent: float, why: str) -> None:
        """It was too much, for a request that was sent then: once for all that were out at once."""
        if sent < self._lowered:
            return
        self.limit = max(1, self.limit // 2)
        self.why, self._steep, self._good, self._lowered = why, False, 0, time.monotonic()


@dataclass(slots=True, eq=False)
class _Outgoing:
    """A request on its way."""

    wanted: Wanted
    cuts: int = 0
    turned: int = 0
    sent: float = 0.0
    full: bool = False
    call: Call | None = None

    @property
    def request(self) -> Request:
        return self.wanted.request


@dataclass(slots=True)
class _Away:
    """A server that does not take requests at present."""

    since: float
    until: float = 0.0
    """When it is looked for again."""
    looks: int = 0
    gone: bool = False
    """It is asked first whether it is there, and still the same."""
    told: bool = False
    looking: Future[Mapping[str, Any]] | None = None


@dataclass(slots=True)
class ServerSession:
    """What is out, what waits, and what came back."""

    server: RemoteServer
    manner: Manner
    tell: Callable[[str], None] = quiet
    slots: int = 0
    busy: float = 0.0
    note: str = ""
    _bearing: Bearing = field(init=False)
    _pool: ThreadPoolExecutor = field(init=False)
    _out: dict[Future[ServerSound], _Outgoing] = field(default_factory=dict)
    _waiting: list[tuple[float, int, _Outgoing]] = field(default_factory=list)
    _order: itertools.count[int] = field(default_factory=itertools.count)
    _outcomes: list[Outcome] = field(default_factory=list)
    _away: _Away | None = None
    _ended: EngineUnavailable | None = None
    """Why nothing more is sent: what is out may still come back whole."""
    _failed: set[str] = field(default_factory=set)
    """Keys of the requests that failed since one was spoken."""
    _resampled: int = 0
    _began: float | None = None
    _worked: float = 0.0

    def __post_init__(self) -> None:
        slots = self.server.settings.slots
        self._bearing = Bearing(MANY if slots == "auto" else slots)
        # one more asks whether the server is back
        self._pool = ThreadPoolExecutor(self._bearing.most + 1, "speech-server")
        self._report()

    def add(self, request: Request) -> None:
        """Take a request on; what is wrong with it comes back as its outcome.

        Raises DamagedTake.
        """
        self._began = self._began or time.monotonic()
        before = request.prompt.samples() if request.prompt is not None else None
        self._wait(_Outgoing(Wanted(request, self.server.rate, before)), 0.0)
        self._work(self._send)

    def advance(self) -> list[Outcome]:
        """What has come back, after at most half a second.

        Raises EngineUnavailable where the server will speak nothing of this, or is gone for long:
        when all that was out has come back, so that none of it is asked for again.
        """
        began = time.monotonic()
        self._work(self._send)
        spare = len(self._out) + len(self._waiting) < self._bearing.limit
        until = began + (SPARE if spare else SLICE)
        while not self._outcomes and (left := until - time.monotonic()) > 0:
            if not (self._out or self._waiting):
                break
            self._work(partial(self._collect, left))
            self._work(self._send)
        self._worked += (time.monotonic() - began) if self._out or self._outcomes else 0.0
        outcomes, self._outcomes = self._outcomes, []
        self._report()
        if self._ended is not None and not outcomes and not self._out:
            raise self._ended
        return outcomes

    def _work(self, work: Callable[[], None]) -> None:
        """Do it; what ends the run is kept until all that was out is back."""
        try:
            work()
        except EngineUnavailable as error:
            self._ended = self._ended or error
        if self._ended is not None:
            self._waiting.clear()

    def close(self) -> None:
        """Drop what is out, and what waits."""
        for errand in self._out.values():
            if errand.call is not None:
                errand.call.abort()
        self._waiting.clear()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._out.clear()

    # -- out

    def _wait(self, errand: _Outgoing, seconds: float) -> None:
        heapq.heappush(self._waiting, (time.monotonic() + seconds, next(self._order), errand))

    def _send(self) -> None:
        """Send what is due, as far as the server bears it."""
        now = time.monotonic()
        if self._ended is not None:
            return
        if self._away is not None and not self._is_back(self._away, now):
            return
        while self._waiting and len(self._out) < self._bearing.limit and self._waiting[0][0] <= now:
            _, _, errand = heapq.heappop(self._waiting)
            errand.sent, errand.full = now, len(self._out) + 1 >= self._bearing.limit
            manner = self.manner
            errand.call = self.server.wire.call(
                "POST", manner.path, timeout=self.server.settings.timeout
            )
            self._out[self._pool.submit(self._spoken, errand.call, errand.wanted)] = errand

    def _spoken(self, call: Call, wanted: Wanted) -> ServerSound:
        """In a thread: one request and its answer. Raises Setback, EngineFailure."""
        settings, rate = self.server.settings, self.server.rate
        body = self.manner.body(settings, wanted)
        seconds = ROOM + TIMES * wanted.request.expected
        answer = call.send(body, most=round(seconds * max(rate, 48_000) * 4))
        try:
            sound = heard(answer, format_of(settings))
        except Setback as setback:  # which may have words, or a type, of the server's own
            raise Setback(setback.sort, self.server.wire.clean(setback.said)) from None
        source = rate if sound.rate is None else sound.rate
        return ServerSound(at_rate(sound.samples, source, rate), source)

    # -- back

    def _collect(self, seconds: float) -> None:
        """Wait for answers so long at most, and take what there is."""
        waits: list[Future[Any]] = list(self._out)
        looking = self._away.looking if self._away else None
        if looking is not None:
            waits.append(looking)
        elif self._waiting and len(self._out) < self._bearing.limit:
            due = max(self._waiting[0][0], self._away.until if self._away else 0.0)
            seconds = max(0.001, min(seconds, due - time.monotonic()))
        if waits:
            wait(waits, seconds, FIRST_COMPLETED)
        else:
            time.sleep(seconds)
        for future in [future for future in self._out if future.done()]:
            self._take(self._out.pop(future), future)

    def _take(self, errand: _Outgoing, future: Future[ServerSound]) -> None:
        """What became of a request. Raises EngineUnavailable."""
        try:
            sound = future.result()
        except EngineFailure as failure:
            self._fail(errand, str(failure))
        except Setback as setback:
            self._hold(errand, setback)
        else:
            self._bearing.well(errand.full)
            self._failed.clear()
            if self._away is not None and self._away.gone:
                self._away.since = time.monotonic()  # an answer from before it went
            else:
                self._away = None
            self._remark(sound)
            request = errand.request
            self._outcomes.append(
                Outcome(request.key, request.attempt, speech=self._speech(errand, sound))
            )

    def _speech(self, errand: _Outgoing, sound: ServerSound) -> Speech:
        request, rate = errand.request, self.server.rate
        seed = noise_seed(request) if "seed" in self.manner.sound_parameters else 0
        stop = "stop"
        if self.server.settings.dialect == "nano-vllm-voxcpm":
            before = errand.wanted.before
            held = 0.0 if before is None else len(before) / rate
            most = (longest(request, held) - 0.5) * PATCH
            stop = "cap" if len(sound.samples) / rate >= most else "stop"
        return Speech(sound.samples, stop=stop, seed=seed)

    def _remark(self, sound: ServerSound) -> None:
        """Tell once of a rate that nobody set."""
        rate = self.server.rate
        if sound.rate not in (rate, self._resampled):
            self._resampled = sound.rate or 0
            self.tell(
                f"the server answers at {sound.rate} Hz, which is resampled to {rate}: "
                f"`engine.sample_rate: {sound.rate}` leaves it as it is, and has takes made anew"
            )

    # -- when there is none

    def _hold(self, errand: _Outgoing, setback: Setback) -> None:
        """Send a request again, later; or give it up; or end. Raises EngineUnavailable."""
        patience = self.server.patience
        if setback.sort == "closed":
            raise EngineUnavailable(self.server.unreached(setback))
        if setback.sort == "bad":
            self._fail(errand, setback.said)
            return
        if setback.sort in ("busy", "gone", "slow"):
            self._bearing.lower(errand.sent, setback.said)
        if setback.sort in ("busy", "gone"):
            self._retreat(setback)
            errand.turned += 1
            given_up = errand.turned >= patience.turned
        else:
            if setback.sort == "cut" and not setback.status:
                self._doubt()
            errand.cuts += 1
            given_up = errand.cuts >= patience.cuts
        if given_up:
            times = errand.turned + errand.cuts
            self._fail(errand, f"{setback.said} ({times} times)")
        else:
            self._wait(errand, patience.pause(errand.turned + errand.cuts))

    def _doubt(self) -> None:
        """It broke off, as servers do that are started anew: what is it now?"""
        self._away = self._away or _Away(time.monotonic())
        self._away.gone = True

    def _retreat(self, setback: Setback) -> None:
        """The server takes nothing at present. Raises EngineUnavailable where that lasts."""
        now, patience = time.monotonic(), self.server.patience
        away = self._away = self._away or _Away(now)
        if setback.sort == "gone":
            away.gone = True
            if not away.told:
                self.tell(f"the speech server is away ({setback.said}); waiting for it")
            away.told = True
        pause = patience.pause(away.looks + 1) if setback.after is None else setback.after
        away.until = max(away.until, now + pause)
        if max(now, now + (setback.after or 0.0)) - away.since > patience.gone:
            raise EngineUnavailable(
                f"{self.server.unreached(setback)}; it did not come back in "
                f"{patience.gone:.0f} s. All takes are kept: the same command goes on"
            )

    def _is_back(self, away: _Away, now: float) -> bool:
        """Whether requests may go out: it is time, and a server that was gone is here again and
        the same. Raises EngineUnavailable."""
        if now < away.until:
            return False
        if not away.gone:
            return True
        if away.looking is None:
            away.looking = self._pool.submit(self.server.look)
        if not away.looking.done():
            return False
        looking, away.looking = away.looking, None
        away.looks += 1
        try:
            said = looking.result()
        except Setback as setback:
            if setback.sort == "closed":
                raise EngineUnavailable(self.server.unreached(setback)) from setback
            self._retreat(Setback("gone", setback.said, after=setback.after))
            return False
        self.server.recognise(said, quiet)
        away.gone = False
        return True

    def _fail(self, errand: _Outgoing, why: str) -> None:
        """Give a request up; the run, where it is one of many. Raises EngineUnavailable."""
        request = errand.request
        said = f"speech server: {why}"
        self._failed.add(request.key)
        if len(self._failed) >= self.server.patience.failed:
            raise EngineUnavailable(
                f"{said}; so for {len(self._failed)} chunks one after another. All takes are kept: "
                "the same command goes on"
            )
        failure = EngineFailure(f"{said}: '{quoted(request.text)}'")
        self._outcomes.append(Outcome(request.key, request.attempt, failure=failure))

    def _report(self) -> None:
        if self._began is not None:
            self.busy = min(1.0, self._worked / max(1e-9, time.monotonic() - self._began))
        self.slots = self._bearing.limit
        many = "1 request" if self.slots == 1 else f"{self.slots} requests"
        why = f" (fewer: {self._bearing.why})" if self._bearing.why else ""
        self.note = f"{many} at a time{why}"
