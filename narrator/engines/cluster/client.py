"""A cluster as its client sees it: which machines it has, and the tasks sent to them.

Only threads of this module wait for the network. A scheduler that is cut off, restarted or gone is
looked for again, and the tasks in flight are reported as lost. Knows no engines.
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
from concurrent.futures import Future as FetchFuture
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import dask
from distributed import Client, Future
from distributed.scheduler import KilledWorker

from narrator.engines.cluster.credentials import ClusterPlace, tls_settings
from narrator.engines.cluster.programs import (
    CONNECT_TIMEOUT,
    DASK_CONFIG,
    check_scheduler,
    describe_connection_error,
)
from narrator.errors import EngineUnavailable

POLL_SECONDS = 1.0
"""Seconds between requests for the list of machines."""
ANSWER_TIMEOUT = 30.0
"""Seconds that a scheduler may take to list its machines."""
FETCH_TIMEOUT = 60.0
"""Seconds that fetching an answer may take."""
FETCH_THREADS = 16
CLOSE_TIMEOUT = 5.0
"""Seconds that closing the client may take."""
_CONNECTION_ERRORS = (CancelledError, asyncio.CancelledError, KilledWorker, OSError, TimeoutError)
"""Errors of a future whose task did not fail itself."""


@dataclass(frozen=True, slots=True)
class MachineInfo:
    """A machine, as the scheduler knows it."""

    address: str
    name: str
    engines: frozenset[str]
    last_seen: float
    """When the scheduler last heard from it, by the scheduler's clock."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Its own report: `far.Machine.facts`."""

    def booth(self, engine: str) -> Mapping[str, Any]:
        """Returns the facts of the engine's busiest booth; empty when it has none."""
        booths = [booth for booth in self.facts.get("booths", ()) if booth["engine"] == engine]
        return max(booths, key=lambda booth: booth["at_work"], default={})


@dataclass(slots=True, eq=False)
class SentTask:
    """A task that was sent to a machine."""

    address: str
    task_name: str
    future: Future[Any] | None = None


@dataclass(frozen=True, slots=True)
class Arrival:
    """The end of a task: an answer, or why there is none."""

    sent_task: SentTask
    answer: Any = None
    error: str = ""
    """Why the task failed."""
    lost: str = ""
    """Why the outcome is unknown: the machine disappeared, or the connection was cut off."""


class Cluster(Protocol):
    """The part of a cluster that a session uses."""

    arrivals: queue.SimpleQueue[Arrival]

    def machines(self) -> Mapping[str, MachineInfo] | None:
        """Returns the machines by address; None while the scheduler does not answer."""
        ...

    def send(
        self, address: str, task: Callable[..., Any], *arguments: bytes | str | SentTask | None,
        resource: str | None = None,
    ) -> SentTask:  # fmt: skip
        """Sends a task to a machine; its outcome comes as an arrival. An argument may be a task
        sent to the machine before, which stands for its answer."""
        ...

    def drop(self, sent_task: SentTask) -> None:
        """Forgets a task: nothing arrives for it any more."""
        ...

    def close(self) -> None: ...


class DaskCluster:
    """A cluster behind Dask's client."""

    def __init__(self, place: ClusterPlace, tell: Callable[[str], None]) -> None:
        """Raises EngineUnavailable when nothing answers, or another version of Dask does."""
        self.place, self._tell = place, tell
        self.arrivals: queue.SimpleQueue[Arrival] = queue.SimpleQueue()
        self._task_numbers = itertools.count()
        # tasks of one name are one task to a scheduler, whoever sends them
        self._client_id = uuid.uuid4().hex
        self._lock = threading.Lock()
        self._pending: set[SentTask] = set()
        self._machines: Mapping[str, MachineInfo] | None = None
        self._is_closing = threading.Event()
        self._config = contextlib.ExitStack()
        self._config.enter_context(dask.config.set(DASK_CONFIG))
        for name in ("distributed.client", "distributed.core", "distributed.comm"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # the session reports the rest
        self._fetchers = ThreadPoolExecutor(FETCH_THREADS, "cluster-home")
        self._client: Client | None = None
        self._watcher: threading.Thread | None = None
        try:
            self._connect()
            self._update_machines()
        except BaseException:
            self.close()
            raise
        self._watcher = threading.Thread(target=self._watch, name="cluster", daemon=True)
        self._watcher.start()

    def machines(self) -> Mapping[str, MachineInfo] | None:
        return self._machines

    def send(
        self, address: str, task: Callable[..., Any], *arguments: bytes | str | SentTask | None,
        resource: str | None = None,
    ) -> SentTask:  # fmt: skip
        sent_task = SentTask(address, task.__name__)
        with self._lock:
            client = self._client
            if client is None:
                self.arrivals.put(Arrival(sent_task, lost="the scheduler is away"))
                return sent_task
            self._pending.add(sent_task)
        try:
            sent_task.future = client.submit(
                task,
                *(
                    argument.future if isinstance(argument, SentTask) else argument
                    for argument in arguments
                ),
                key=f"narrator-{sent_task.task_name}-{next(self._task_numbers)}-{self._client_id}",
                workers=[address],
                allow_other_workers=False,
                resources={resource: 1} if resource else None,
                pure=False,
            )
        except (OSError, RuntimeError, TimeoutError) as error:  # the scheduler went away
            self._deliver(Arrival(sent_task, lost=_describe_error(error)))
            return sent_task
        sent_task.future.add_done_callback(partial(self._fetch_answer, sent_task))
        return sent_task

    def drop(self, sent_task: SentTask) -> None:
        with self._lock:
            self._pending.discard(sent_task)
            future, sent_task.future = sent_task.future, None
        if future is not None:
            future.release()

    def close(self) -> None:
        """Leaves the cluster and forgets unanswered tasks."""
        self._is_closing.set()
        if self._watcher is not None:
            self._watcher.join(POLL_SECONDS)  # let its current request finish, if it can
        with self._lock:
            client, self._client = self._client, None
            self._pending.clear()
        _close_client(client).join(CLOSE_TIMEOUT)
        self._fetchers.shutdown(wait=False, cancel_futures=True)
        self._config.close()

    # -- answers

    def _fetch_answer(self, sent_task: SentTask, future: Future[Any]) -> None:
        """Fetches the answer of a future that has ended; called on a thread of Dask."""
        if future.status not in ("finished", "error"):
            self._deliver(Arrival(sent_task, lost=str(future.status)))
            return
        with contextlib.suppress(RuntimeError):  # closed meanwhile
            fetch: FetchFuture[Any] = self._fetchers.submit(future.result, FETCH_TIMEOUT)
            fetch.add_done_callback(partial(self._finish_fetch, sent_task))

    def _finish_fetch(self, sent_task: SentTask, fetch: FetchFuture[Any]) -> None:
        if fetch.cancelled():
            return
        error = fetch.exception()
        if error is None:
            self._deliver(Arrival(sent_task, fetch.result()))
        elif isinstance(error, _CONNECTION_ERRORS):
            self._deliver(Arrival(sent_task, lost=_describe_error(error)))
        else:
            self._deliver(Arrival(sent_task, error=_describe_error(error)))

    def _deliver(self, arrival: Arrival) -> None:
        with self._lock:
            if arrival.sent_task not in self._pending:
                return
            self._pending.discard(arrival.sent_task)
        self.drop(arrival.sent_task)
        self.arrivals.put(arrival)

    # -- the scheduler

    def _connect(self) -> None:
        """Raises EngineUnavailable."""
        try:  # where nothing listens, Dask itself would keep trying for long
            socket.create_connection(
                (self.place.host, self.place.port), timeout=CONNECT_TIMEOUT
            ).close()
        except OSError as connect_error:
            raise EngineUnavailable(describe_connection_error(self.place, connect_error)) from None
        new_client: FetchFuture[Client] = FetchFuture()
        # a daemon thread does not delay the end of the program
        threading.Thread(
            target=self._make_client, args=[new_client], name="cluster-join", daemon=True
        ).start()
        try:
            client = new_client.result(3 * CONNECT_TIMEOUT)
        except OSError as error:
            new_client.add_done_callback(_close_late_client)
            raise EngineUnavailable(describe_connection_error(self.place, error)) from None
        with self._lock:
            if not self._is_closing.is_set():
                self._client = client
                return
        _close_client(client)

    def _make_client(self, new_client: FetchFuture[Client]) -> None:
        """Sets the future to a connected client, or to the error."""
        try:
            asyncio.run(check_scheduler(self.place))
            client = Client(
                self.place.address,
                security=tls_settings(self.place),
                timeout=CONNECT_TIMEOUT,
                set_as_default=False,
                name="narrator",
            )
        except (OSError, EngineUnavailable) as error:
            new_client.set_exception(error)
        except (ValueError, RuntimeError) as error:  # the scheduler went away meanwhile
            new_client.set_exception(ConnectionError(str(error)))
        else:
            new_client.set_result(client)

    def _update_machines(self) -> None:
        """Asks the scheduler for its machines. Raises EngineUnavailable when it does not answer."""
        with self._lock:
            client = self._client
        if client is None:
            return
        scheduler: Any = client.scheduler
        try:
            identity = client.sync(
                scheduler.identity, n_workers=-1, callback_timeout=ANSWER_TIMEOUT
            )
        except (OSError, RuntimeError, CancelledError, asyncio.CancelledError) as error:
            raise EngineUnavailable(describe_connection_error(self.place, error)) from None
        self._machines = _list_machines(identity)

    def _watch(self) -> None:
        while not self._is_closing.wait(POLL_SECONDS):
            try:
                if self._client is None:
                    self._connect()
                    self._tell(f"{self.place.address} is back")
                self._update_machines()
            except EngineUnavailable:
                self._lose_scheduler()

    def _lose_scheduler(self) -> None:
        """Drops the client and reports all pending tasks as lost."""
        with self._lock:
            client, self._client = self._client, None
            lost_tasks, self._pending = self._pending, set()
            self._machines = None
        _close_client(client)
        for sent_task in lost_tasks:
            self.arrivals.put(Arrival(sent_task, lost="the scheduler went away"))


def _close_client(client: Client | None) -> threading.Thread:
    """Closes a client on a thread of its own, since it may wait for a scheduler that is gone."""

    def close() -> None:
        if client is not None:
            client.close(timeout=2)

    thread = threading.Thread(target=close, name="cluster-leave", daemon=True)
    thread.start()
    return thread


def _close_late_client(new_client: FetchFuture[Client]) -> None:
    """Closes a client that connected after the timeout."""
    if new_client.exception() is None:
        _close_client(new_client.result())


def _describe_error(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]


def _list_machines(identity: Mapping[str, Any]) -> Mapping[str, MachineInfo]:
    machines: dict[str, MachineInfo] = {}
    for address, worker in identity["workers"].items():
        engines = frozenset(worker.get("resources") or ())
        facts = (worker.get("metrics") or {}).get("narrator")
        if facts is None:  # not a machine of narrator, or it has not reported yet
            continue
        name = str(facts.get("name") or address)
        machines[address] = MachineInfo(
            address, name, engines, float(worker.get("last_seen") or 0.0), facts
        )
    return machines
