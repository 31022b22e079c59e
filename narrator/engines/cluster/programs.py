"""The long-running programs of a cluster: its scheduler, and a machine that speaks.

Both are thin wrappers of Dask's. Their ports require a certificate, unless the user asked for an
insecure cluster on this machine. Dask's HTTP servers, which require none, are closed, except for
the dashboard if requested. A machine that loses its scheduler keeps its models loaded and
reconnects when the scheduler is back.
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

from narrator.engines.cluster import worker_tasks
from narrator.engines.cluster.credentials import ClusterPlace, tls_settings
from narrator.engines.registry import ENGINES
from narrator.engines.spec import EngineSpec
from narrator.errors import EngineUnavailable, StorageError, UsageError
from narrator.installation import install_command

Tell = Callable[[str], None]
_CONNECTION_ERRORS = (OSError, TimeoutError, ValueError)
"""Errors of a failed connection; ValueError is tornado's, from a server that speaks before TLS."""

DASK_VERSION = version("distributed")
MAX_SLOTS = 64
"""Most slots that an engine may choose for itself when the user sets no number."""
CONNECT_TIMEOUT = 10.0
"""Seconds to connect to a scheduler."""
RETRY_SECONDS = 2.0
"""Seconds before the next attempt."""
DASK_CONFIG: Mapping[str, object] = {
    "distributed.scheduler.work-stealing": False,  # narrator places the requests itself
    "distributed.scheduler.worker-ttl": "90s",
    "distributed.comm.timeouts.connect": f"{CONNECT_TIMEOUT:.0f}s",
    "distributed.admin.large-graph-warning-threshold": "1GB",  # a clip has a few megabytes
    "distributed.worker.memory.spill": False,
}


def run_scheduler(place: ClusterPlace, dashboard: int | None, tell: Tell) -> None:
    """Runs a scheduler at an address of this machine until a signal, with Dask's dashboard at a
    port if one is given. Raises UsageError, EngineUnavailable."""
    asyncio.run(_run_scheduler(place, dashboard, tell))


def run_machine(
    place: ClusterPlace, name: str, slots: int | None, engines: list[str], tell: Tell
) -> None:
    """Speaks the requests that a scheduler sends, with these engines, until a signal.

    Raises UsageError, EngineUnavailable, StorageError.
    """
    asyncio.run(_run_worker(place, name, slots, engines, tell))


def installed_engines() -> list[str]:
    """Returns the names of the engines that run on clusters and are installed here; of those of
    other packages all that nobody has asked for yet."""
    return [
        name
        for name in ENGINES.names()
        if name not in ENGINES or (ENGINES[name].runs_on_clusters and _is_installed(ENGINES[name]))
    ]


def _is_installed(spec: EngineSpec) -> bool:
    if spec.model is not None:
        return not spec.missing_packages(spec.settings())
    try:
        spec.speaks("en")
    except EngineUnavailable:
        return False
    return True


@contextlib.contextmanager
def _stop_event() -> Iterator[asyncio.Event]:
    """Yields an event that ctrl-C or a termination signal sets."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for signal_number in signals:
        loop.add_signal_handler(signal_number, stop.set)
    try:
        with dask.config.set(DASK_CONFIG):
            # this module reports what users need to know
            logging.getLogger("distributed").setLevel(logging.CRITICAL)
            yield stop
    finally:
        for signal_number in signals:
            loop.remove_signal_handler(signal_number)


async def _run_scheduler(place: ClusterPlace, dashboard: int | None, tell: Tell) -> None:
    if dashboard is not None:
        _require_dashboard()
    with _stop_event() as stop:
        try:
            scheduler = Scheduler(
                host=f"[{place.host}]" if ":" in place.host else place.host,
                port=place.port,
                protocol=place.address.partition(":")[0],
                security=tls_settings(place) or {},
                dashboard=dashboard is not None,
                dashboard_address=f"127.0.0.1:{dashboard or 0}",
            )
            async with scheduler:
                listens_everywhere = place.host in ("0.0.0.0", "::")
                suffix = (
                    ", and at every other address of this machine" if listens_everywhere else ""
                )
                tell(f"scheduler at {scheduler.address}{suffix}")
                scheduler.add_plugin(_MachineAnnouncer(tell))
                if dashboard is None:
                    scheduler.http_server.stop()
                else:
                    server: Any = scheduler.http_server  # at another port where that is taken
                    tell(f"Dask's dashboard at http://127.0.0.1:{server.port}/status")
                await stop.wait()
        except (OSError, RuntimeError) as error:
            cause = _root_cause(error)
            if not isinstance(cause, OSError):
                raise
            raise UsageError(
                f"cannot listen at {place.address}: {cause.strerror or cause}"
            ) from None


class _MachineAnnouncer(SchedulerPlugin):
    """Reports which machines join and leave."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._names: dict[str, str] = {}

    def add_worker(self, scheduler: Scheduler, worker: str) -> None:
        # without the random suffix that makes the name unique
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


async def _run_worker(
    place: ClusterPlace, name: str, slots: int | None, engines: list[str], tell: Tell
) -> None:
    # as many tasks again wait for a slot, and some do not speak
    threads = 2 * (slots or MAX_SLOTS) + 2
    worker_tasks.MACHINE.tell = tell
    with _stop_event() as stop, _temporary_folder() as scratch:
        is_first = True
        while not stop.is_set():
            try:
                await check_scheduler(place)
                worker = Worker(
                    place.address,
                    nthreads=threads,
                    # unique: after a lost connection the scheduler may still have the old name
                    name=f"{name} {secrets.token_hex(4)}",
                    host="127.0.0.1" if place.is_local else None,
                    security=tls_settings(place) or {},
                    resources=dict.fromkeys(engines, threads),
                    dashboard=False,
                    dashboard_address="127.0.0.1:0",
                    memory_limit=0,
                    local_directory=scratch,
                    metrics={**DEFAULT_METRICS, "narrator": partial(_worker_facts, name)},
                )
                async with worker:
                    worker.http_server.stop()
                    tell(f"{name} at {place.address}: {', '.join(engines)}")
                    await _wait_for_first(worker.finished(), stop.wait())
                if not stop.is_set():
                    tell(f"{place.address} has gone: looking for it")
            except (*_CONNECTION_ERRORS, RuntimeError) as error:
                cause = _root_cause(error)
                if not isinstance(cause, _CONNECTION_ERRORS):
                    raise
                if is_first:
                    raise EngineUnavailable(describe_connection_error(place, cause)) from None
            is_first = False
            await _wait_for_first(asyncio.sleep(RETRY_SECONDS), stop.wait())


def _worker_facts(name: str, worker: Worker) -> dict[str, Any]:
    return {**worker_tasks.MACHINE.facts(), "name": name}


def _root_cause(error: BaseException) -> BaseException:
    """Returns the error that a RuntimeError of Dask wraps, or the error itself."""
    return error.__cause__ or error if isinstance(error, RuntimeError) else error


@contextlib.contextmanager
def _temporary_folder() -> Iterator[str]:
    """Yields a temporary folder for Dask's files. Raises StorageError."""
    try:
        with tempfile.TemporaryDirectory(prefix="narrator-", ignore_cleanup_errors=True) as folder:
            yield folder
    except OSError as error:
        raise StorageError(f"{tempfile.gettempdir()}: {error.strerror}") from None


async def check_scheduler(place: ClusterPlace) -> None:
    """Checks that a scheduler answers and has the same version of Dask; Dask itself would wait for
    ever for the first bytes of another kind of server. Raises EngineUnavailable, OSError."""
    try:
        versions = await asyncio.wait_for(_request_versions(place), CONNECT_TIMEOUT)
        dask_version = str(versions["packages"]["distributed"])
    except (ValueError, LookupError, TypeError, MemoryError) as error:  # of any bytes at all
        raise ConnectionError(f"what answers is not a scheduler: {error}") from None
    if dask_version != DASK_VERSION:
        raise EngineUnavailable(describe_dask_mismatch(place, dask_version))


async def _request_versions(place: ClusterPlace) -> Any:
    credentials = tls_settings(place)
    arguments = {} if credentials is None else credentials.get_connection_args("worker")
    comm = await connect(place.address, timeout=CONNECT_TIMEOUT, **arguments)
    try:
        return await send_recv(comm, op="versions")
    finally:
        comm.abort()  # at once: the event loop may end now


def describe_dask_mismatch(place: ClusterPlace, dask_version: str) -> str:
    return (
        f"{place.address} has Dask {dask_version}, here is {DASK_VERSION}: "
        f"all machines need one: pip install 'distributed=={dask_version}'"
    )


def describe_connection_error(place: ClusterPlace, error: BaseException) -> str:
    """Explains why a scheduler cannot be reached."""
    message = " ".join(str(error).split()) or type(error).__name__
    if "CERTIFICATE" in message.upper() or "SSL" in message.upper() or "TLSV1" in message.upper():
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


async def _wait_for_first(*awaitables: Any) -> None:
    """Waits until one of the awaitables is done, and cancels the others."""
    tasks = [asyncio.ensure_future(wait) for wait in awaitables]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
