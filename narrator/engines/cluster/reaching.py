"""A cluster as its client sees it: which machines there are, and what is sent to them.

Nothing here waits for the network but threads of its own: a scheduler that is cut off, restarted or
gone is looked for again, and what was on its way then is said to be lost. Knows no engines.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import queue
import socket
import threading
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, ThreadPoolExecutor
from concurrent.futures import Future as Fetched
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import dask
from distributed import Client, Future
from distributed.scheduler import KilledWorker

from narrator.engines.cluster.credentials import ClusterPlace, security
from narrator.engines.cluster.hosting import CONFIG, PATIENCE, agree, unreached
from narrator.errors import EngineUnavailable

LOOK = 1.0
"""Seconds between looks at who is there."""
ANSWER = 30.0
"""Seconds for a scheduler to say who is there."""
FETCH = 60.0
"""Seconds for a take to come home."""
FETCHERS = 16
LEAVING = 5.0
"""Seconds to say goodbye."""
_CUT_OFF = (CancelledError, asyncio.CancelledError, KilledWorker, OSError, TimeoutError)
"""What a future ends with whose task did not."""


@dataclass(frozen=True, slots=True)
class MachineSeen:
    """A machine, as the scheduler knows it."""

    address: str
    name: str
    engines: frozenset[str]
    beat: float
    """When it was last heard of, by the scheduler's clock."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What it says of itself: `far.Machine.facts`."""

    def booth(self, engine: str) -> Mapping[str, Any]:
        """Of the booths of an engine the one that is at work, or any."""
        booths = [booth for booth in self.facts.get("booths", ()) if booth["engine"] == engine]
        return max(booths, key=lambda booth: booth["at_work"], default={})


@dataclass(slots=True, eq=False)
class Sent:
    """Something that was sent to a machine."""

    address: str
    what: str
    future: Future[Any] | None = None


@dataclass(frozen=True, slots=True)
class Arrival:
    """What came of it: an answer, or why there is none."""

    sent: Sent
    answer: Any = None
    error: str = ""
    """The task failed."""
    lost: str = ""
    """Nobody knows what came of it: who had it went, or we were cut off."""


class Cluster(Protocol):
    """What a session needs of a cluster."""

    arrived: queue.SimpleQueue[Arrival]

    def machines(self) -> Mapping[str, MachineSeen] | None:
        """By address; None as long as the scheduler is away."""
        ...

    def send(
        self, address: str, task: Callable[..., Any], *given: bytes | str | Sent | None,
        resource: str | None = None,
    ) -> Sent:  # fmt: skip
        """Have a machine do a task; what comes of it arrives. What was sent to it before may be
        given, too: then what came of it."""
        ...

    def drop(self, sent: Sent) -> None:
        """Nobody waits for it any more."""
        ...

    def close(self) -> None: ...


class DaskCluster:
    """A cluster behind Dask's client."""

    def __init__(self, place: ClusterPlace, tell: Callable[[str], None]) -> None:
        """Raises EngineUnavailable where nothing answers, or another Dask does."""
        self.place, self._tell = place, tell
        self.arrived: queue.SimpleQueue[Arrival] = queue.SimpleQueue()
        self._numbers = itertools.count()
        # tasks of one name are one task to a scheduler, whoever sends them
        self._name = uuid.uuid4().hex
        self._lock = threading.Lock()
        self._out: set[Sent] = set()
        self._seen: Mapping[str, MachineSeen] | None = None
        self._end = threading.Event()
        self._config = contextlib.ExitStack()
        self._config.enter_context(dask.config.set(CONFIG))
        for name in ("distributed.client", "distributed.core", "distributed.comm"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # what concerns people is told
        self._fetchers = ThreadPoolExecutor(FETCHERS, "cluster-home")
        self._client: Client | None = None
        self._watcher: threading.Thread | None = None
        try:
            self._connect()
            self._look()
        except BaseException:
            self.close()
            raise
        self._watcher = threading.Thread(target=self._watch, name="cluster", daemon=True)
        self._watcher.start()

    def machines(self) -> Mapping[str, MachineSeen] | None:
        return self._seen

    def send(
        self, address: str, task: Callable[..., Any], *given: bytes | str | Sent | None,
        resource: str | None = None,
    ) -> Sent:  # fmt: skip
        sent = Sent(address, task.__name__)
        with self._lock:
            client = self._client
            if client is None:
                self.arrived.put(Arrival(sent, lost="the scheduler is away"))
                return sent
            self._out.add(sent)
        try:
            sent.future = client.submit(
                task,
                *(one.future if isinstance(one, Sent) else one for one in given),
                key=f"narrator-{sent.what}-{next(self._numbers)}-{self._name}",
                workers=[address],
                allow_other_workers=False,
                resources={resource: 1} if resource else None,
                pure=False,
            )
        except (OSError, RuntimeError, TimeoutError) as error:  # it goes away meanwhile
            self._landed(Arrival(sent, lost=_said(error)))
            return sent
        sent.future.add_done_callback(partial(self._bring, sent))
        return sent

    def drop(self, sent: Sent) -> None:
        with self._lock:
            self._out.discard(sent)
            future, sent.future = sent.future, None
        if future is not None:
            future.release()

    def close(self) -> None:
        """Leave; what is out is nobody's."""
        self._end.set()
        if self._watcher is not None:
            self._watcher.join(LOOK)  # what it asks is answered first, where anybody answers
        with self._lock:
            client, self._client = self._client, None
            self._out.clear()
        _leave(client).join(LEAVING)
        self._fetchers.shutdown(wait=False, cancel_futures=True)
        self._config.close()

    # -- what comes home

    def _bring(self, sent: Sent, future: Future[Any]) -> None:
        """In a thread of Dask's: the future has ended."""
        if future.status not in ("finished", "error"):
            self._landed(Arrival(sent, lost=str(future.status)))
            return
        with contextlib.suppress(RuntimeError):  # we have left meanwhile
            fetched: Fetched[Any] = self._fetchers.submit(future.result, FETCH)
            fetched.add_done_callback(partial(self._brought, sent))

    def _brought(self, sent: Sent, fetched: Fetched[Any]) -> None:
        if fetched.cancelled():
            return
        error = fetched.exception()
        if error is None:
            self._landed(Arrival(sent, fetched.result()))
        elif isinstance(error, _CUT_OFF):
            self._landed(Arrival(sent, lost=_said(error)))
        else:
            self._landed(Arrival(sent, error=_said(error)))

    def _landed(self, arrival: Arrival) -> None:
        with self._lock:
            if arrival.sent not in self._out:
                return
            self._out.discard(arrival.sent)
        self.drop(arrival.sent)
        self.arrived.put(arrival)

    # -- the scheduler

    def _connect(self) -> None:
        """Raises EngineUnavailable."""
        try:  # Dask tries for long where nobody listens
            socket.create_connection((self.place.host, self.place.port), timeout=PATIENCE).close()
        except OSError as refused:
            raise EngineUnavailable(unreached(self.place, refused)) from None
        made: Fetched[Client] = Fetched()
        # the end of the program waits for no daemon
        threading.Thread(target=self._make, args=[made], name="cluster-join", daemon=True).start()
        try:
            client = made.result(3 * PATIENCE)
        except OSError as error:
            made.add_done_callback(_leave_late)
            raise EngineUnavailable(unreached(self.place, error)) from None
        with self._lock:
            if not self._end.is_set():
                self._client = client
                return
        _leave(client)

    def _make(self, made: Fetched[Client]) -> None:
        """A client, or why there is none."""
        try:
            asyncio.run(agree(self.place))
            client = Client(
                self.place.address,
                security=security(self.place),
                timeout=PATIENCE,
                set_as_default=False,
                name="narrator",
            )
        except (OSError, EngineUnavailable) as error:
            made.set_exception(error)
        except (ValueError, RuntimeError) as error:  # it went while it was asked
            made.set_exception(ConnectionError(str(error)))
        else:
            made.set_result(client)

    def _look(self) -> None:
        """Raises EngineUnavailable where the scheduler does not answer."""
        with self._lock:
            client = self._client
        if client is None:
            return
        scheduler: Any = client.scheduler
        try:
            said = client.sync(scheduler.identity, n_workers=-1, callback_timeout=ANSWER)
        except (OSError, RuntimeError, CancelledError, asyncio.CancelledError) as error:
            raise EngineUnavailable(unreached(self.place, error)) from None
        self._seen = _seen(said)

    def _watch(self) -> None:
        while not self._end.wait(LOOK):
            try:
                if self._client is None:
                    self._connect()
                    self._tell(f"{self.place.address} is back")
                self._look()
            except EngineUnavailable:
                self._lose()

    def _lose(self) -> None:
        """The scheduler is away, and with it what was on its way."""
        with self._lock:
            client, self._client = self._client, None
            out, self._out = self._out, set()
            self._seen = None
        _leave(client)
        for sent in out:
            self.arrived.put(Arrival(sent, lost="the scheduler went away"))


def _leave(client: Client | None) -> threading.Thread:
    """Beside us: it may wait for a scheduler that is no more."""

    def close() -> None:
        if client is not None:
            client.close(timeout=2)

    leaving = threading.Thread(target=close, name="cluster-leave", daemon=True)
    leaving.start()
    return leaving


def _leave_late(made: Fetched[Client]) -> None:
    """A client that came when nobody waited for it any more."""
    if made.exception() is None:
        _leave(made.result())


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]


def _seen(said: Mapping[str, Any]) -> Mapping[str, MachineSeen]:
    found: dict[str, MachineSeen] = {}
    for address, row in said["workers"].items():
        engines = frozenset(row.get("resources") or ())
        facts = (row.get("metrics") or {}).get("narrator")
        if facts is None:  # no machine of ours, or none that has said a word yet
            continue
        name = str(facts.get("name") or address)
        found[address] = MachineSeen(
            address, name, engines, float(row.get("last_seen") or 0.0), facts
        )
    return found
