"""The long-running halves of a cluster: its scheduler, and a machine that speaks.

Thin fronts of Dask's own. What they listen at wants a certificate, unless the user asked for an
insecure cluster of this machine. Dask's HTTP servers, which ask for none, are closed, but for the
dashboard where it was asked for. A machine that loses its scheduler keeps what it has loaded, and
comes back when the scheduler does.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.metadata import version
from typing import Any

import dask
from distributed import Scheduler, Worker
from distributed.comm.core import connect
from distributed.core import send_recv
from distributed.diagnostics.plugin import SchedulerPlugin
from distributed.worker import DEFAULT_METRICS

from narrator.engines.cluster import far
from narrator.engines.cluster.credentials import ClusterPlace, security
from narrator.engines.registry import ENGINES
from narrator.engines.spec import EngineSpec
from narrator.errors import EngineUnavailable, StorageError, UsageError
from narrator.installation import install_command

Tell = Callable[[str], None]
_UNREACHED = (OSError, TimeoutError, ValueError)
"""Where nobody answers who should; the last is tornado's, where one speaks before TLS."""

DASK = version("distributed")
MANY = 64
"""Slots that an engine may find to be the best, where nobody says how many."""
PATIENCE, PAUSE = 10.0, 2.0
"""Seconds for a first word with a scheduler, and before the next attempt."""
CONFIG: Mapping[str, object] = {
    "distributed.scheduler.work-stealing": False,  # narrator says who speaks what
    "distributed.scheduler.worker-ttl": "90s",
    "distributed.comm.timeouts.connect": f"{PATIENCE:.0f}s",
    "distributed.admin.large-graph-warning-threshold": "1GB",  # a clip is some megabytes
    "distributed.worker.memory.spill": False,
}


def schedule(place: ClusterPlace, dashboard: int | None, tell: Tell) -> None:
    """Bring clients and machines together at an address of this machine, until a signal; Dask's
    dashboard at a port. Raises UsageError, EngineUnavailable."""
    asyncio.run(_schedule(place, dashboard, tell))


def work(place: ClusterPlace, name: str, slots: int | None, engines: list[str], tell: Tell) -> None:
    """Speak what a scheduler sends, until a signal; `engines` are those that can.

    Raises UsageError, EngineUnavailable, StorageError.
    """
    asyncio.run(_work(place, name, slots, engines, tell))


def can_speak() -> list[str]:
    """The engines that a cluster's machine can have and that are installed here, by name."""
    return [kind.name for kind in ENGINES.values() if kind.runs_on_clusters and _is_installed(kind)]


def _is_installed(kind: EngineSpec) -> bool:
    if kind.model is not None:
        return not kind.missing_packages(kind.settings())
    try:
        kind.speaks("en")
    except EngineUnavailable:
        return False
    return True


@contextlib.contextmanager
def _until_signal() -> Iterator[asyncio.Event]:
    """Set by ctrl-C, or by who ends us."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in numbers:
        loop.add_signal_handler(number, stop.set)
    try:
        with dask.config.set(CONFIG):
            # what concerns people is told here
            logging.getLogger("distributed").setLevel(logging.CRITICAL)
            yield stop
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


async def _schedule(place: ClusterPlace, dashboard: int | None, tell: Tell) -> None:
    if dashboard is not None:
        _require_dashboard()
    with _until_signal() as stop:
        try:
            scheduler = Scheduler(
                host=f"[{place.host}]" if ":" in place.host else place.host,
                port=place.port,
                protocol=place.address.partition(":")[0],
                security=security(place) or {},
                dashboard=dashboard is not None,
                dashboard_address=f"127.0.0.1:{dashboard or 0}",
            )
            async with scheduler:
                everywhere = place.host in ("0.0.0.0", "::")
                more = ", and at every other address of this machine" if everywhere else ""
                tell(f"scheduler at {scheduler.address}{more}")
                scheduler.add_plugin(_Roll(tell))
                if dashboard is None:
                    scheduler.http_server.stop()
                else:
                    page: Any = scheduler.http_server  # at another port where that is taken
                    tell(f"Dask's dashboard at http://127.0.0.1:{page.port}/status")
                await stop.wait()
        except (OSError, RuntimeError) as error:
            why = _reason(error)
            if not isinstance(why, OSError):
                raise
            raise UsageError(f"cannot listen at {place.address}: {why.strerror or why}") from None


class _Roll(SchedulerPlugin):
    """Says which machines come and go."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._names: dict[str, str] = {}

    def add_worker(self, scheduler: Scheduler, worker: str) -> None:
        # without what makes each start of one a name of its own
        self._names[worker] = str(scheduler.workers[worker].name).rpartition(" ")[0]
        self._tell(f"{self._names[worker]} is here ({len(self._names)} in all)")

    def remove_worker(  # type: ignore[override]
        self, scheduler: Scheduler, worker: str, *, stimulus_id: str
    ) -> None:
        name = self._names.pop(worker, worker)
        self._tell(f"{name} has gone ({len(self._names)} in all)")


def _require_dashboard() -> None:
    try:
        import bokeh  # noqa: F401
    except ImportError:
        raise EngineUnavailable(
            f"the dashboard needs bokeh: {install_command('dashboard')}, or leave out --dashboard"
        ) from None


async def _work(
    place: ClusterPlace, name: str, slots: int | None, engines: list[str], tell: Tell
) -> None:
    threads = 2 * (slots or MANY) + 2  # some wait for a slot, and some are no speech
    far.MACHINE.tell = tell
    with _until_signal() as stop, _scratch() as scratch:
        first = True
        while not stop.is_set():
            try:
                await agree(place)
                worker = Worker(
                    place.address,
                    nthreads=threads,
                    # of its own each time: after a cut line the scheduler may still have the last
                    name=f"{name} {secrets.token_hex(4)}",
                    host="127.0.0.1" if place.is_local else None,
                    security=security(place) or {},
                    resources=dict.fromkeys(engines, threads),
                    dashboard=False,
                    dashboard_address="127.0.0.1:0",
                    memory_limit=0,
                    local_directory=scratch,
                    metrics={**DEFAULT_METRICS, "narrator": partial(_facts, name)},
                )
                async with worker:
                    worker.http_server.stop()
                    tell(f"{name} at {place.address}: {', '.join(engines)}")
                    await _either(worker.finished(), stop.wait())
                if not stop.is_set():
                    tell(f"{place.address} has gone: looking for it")
            except (*_UNREACHED, RuntimeError) as error:
                why = _reason(error)
                if not isinstance(why, _UNREACHED):
                    raise
                if first:
                    raise EngineUnavailable(unreached(place, why)) from None
            first = False
            await _either(asyncio.sleep(PAUSE), stop.wait())


def _facts(name: str, worker: Worker) -> dict[str, Any]:
    return {**far.MACHINE.facts(), "name": name}


def _reason(error: BaseException) -> BaseException:
    """What keeps a part of Dask from starting: it wraps that in an error of its own."""
    return error.__cause__ or error if isinstance(error, RuntimeError) else error


@contextlib.contextmanager
def _scratch() -> Iterator[str]:
    """A folder for Dask's own. Raises StorageError."""
    try:
        with tempfile.TemporaryDirectory(prefix="narrator-", ignore_cleanup_errors=True) as folder:
            yield folder
    except OSError as error:
        raise StorageError(f"{tempfile.gettempdir()}: {error.strerror}") from None


async def agree(place: ClusterPlace) -> None:
    """Whether a scheduler answers, and has our Dask: Dask itself would wait for ever for the first
    word of what is none. Raises EngineUnavailable, OSError."""
    try:
        said = await asyncio.wait_for(_versions(place), PATIENCE)
        theirs = str(said["packages"]["distributed"])
    except (ValueError, LookupError, TypeError, MemoryError) as error:  # of any bytes at all
        raise ConnectionError(f"what answers is no scheduler: {error}") from None
    if theirs != DASK:
        raise EngineUnavailable(other_dask(place, theirs))


async def _versions(place: ClusterPlace) -> Any:
    kept = security(place)
    arguments = {} if kept is None else kept.get_connection_args("worker")
    comm = await connect(place.address, timeout=PATIENCE, **arguments)
    try:
        return await send_recv(comm, op="versions")
    finally:
        comm.abort()  # at once: the loop may end with us


def other_dask(place: ClusterPlace, theirs: str) -> str:
    return (
        f"{place.address} has Dask {theirs}, here is {DASK}: "
        f"all machines need one: pip install 'distributed=={theirs}'"
    )


def unreached(place: ClusterPlace, error: BaseException) -> str:
    """Why a scheduler cannot be reached, in words."""
    said = " ".join(str(error).split()) or type(error).__name__
    if "CERTIFICATE" in said.upper() or "SSL" in said.upper() or "TLSV1" in said.upper():
        return (
            f"{place.address} does not let us in: {place.tls} must hold the scheduler's "
            "certificate; one that was started with --insecure has none"
        )
    if place.tls is not None:
        return (
            f"nothing lets us in at {place.address}: is `narrator scheduler` at work there, with "
            f"the certificate that {place.tls} has?"
        )
    return (
        f"nothing answers at {place.address}: is `narrator scheduler` at work there? "
        "One with certificates is tls://…"
    )


async def _either(*waits: Any) -> None:
    """Until one of these has come."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
