"""From start to stop: a port, a server in a thread of its own, errands in the main thread.

Prints nothing: who starts it is told the link.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from narrator import files
from narrator.errors import StorageError, UsageError
from narrator.studio import server
from narrator.studio.casting import Casting
from narrator.studio.desk import LOOK, Desk
from narrator.studio.guard import Guard, Hosts, Keys, is_local
from narrator.studio.jobs import Jobs
from narrator.studio.looking import Looking
from narrator.studio.mending import Mending, PickupsPage

PORT = 4747
"""Taken where it is free, none was named, and the project had none before."""
_KEPT = "studio.port"
"""In `build`: the port of the last studio, so that a page that is open finds the next one."""
_CONNECTIONS = 128
_BEGIN = 15.0
"""Seconds in which a request must have come, once its connection is there."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a studio listens."""

    socket: socket.socket
    address: str
    port: int

    @property
    def url(self) -> str:
        """Without its token."""
        host = f"[{self.address}]" if ":" in self.address else self.address
        if self.address in ("0.0.0.0", "::"):
            host = socket.gethostname()
        return f"http://{host}:{self.port}/"

    def close(self) -> None:
        self.socket.close()

    @property
    def is_local(self) -> bool:
        """Whether it is reached from this machine alone."""
        return is_local(self.address)


def listen(address: str, port: int | None, build: Path | None = None) -> Endpoint:
    """A port to listen at; where none was named that of the last time, the usual one, or any.

    Raises UsageError where it cannot be had.
    """
    ports = (*_last(build), PORT, 0) if port is None else (port,)
    for wanted in ports:
        try:
            return _bound(address, wanted)
        except OSError as error:
            if error.errno == errno.EADDRINUSE and wanted != ports[-1]:
                continue
            if error.errno == errno.EADDRINUSE:
                raise UsageError(
                    f"port {wanted} is in use: name another with --port, or none"
                ) from None
            reason = error.strerror or str(error)
            raise UsageError(f"cannot listen at {address}, port {wanted}: {reason}") from None
    raise AssertionError("unreachable")


def _last(build: Path | None) -> Iterator[int]:
    """The port of a project's last studio, if it had one that people's programs may have."""
    if build is not None:
        with contextlib.suppress(OSError, ValueError):
            port = int((build / _KEPT).read_bytes()[:6])
            if 1024 <= port < 65536:
                yield port


def _bound(address: str, port: int) -> Endpoint:
    family = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0][0]
    found = socket.socket(family)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((address, port))
        found.listen(_CONNECTIONS)
    except BaseException:
        found.close()
        raise
    return Endpoint(found, address, found.getsockname()[1])


class _Patient(H11Protocol):
    """A connection on which a request must begin, and its head end, within some seconds."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self._wait()
        else:
            self._stop()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._waiting is None:
            self._waiting = self.loop.call_later(_BEGIN, self._give_up)

    def _stop(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._waiting = None
        if (self.cycle is None or self.cycle.response_complete) and not self.transport.is_closing():
            self.transport.close()


@dataclass(frozen=True, slots=True)
class Studio:
    """What a studio is made of."""

    desk: Desk
    keys: Keys
    place: Endpoint
    print_pickups: PickupsPage | None = None


@contextlib.contextmanager
def served(studio: Studio) -> Iterator[None]:
    """The server at work in a thread, until the block ends."""
    desk, place = studio.desk, studio.place
    with contextlib.suppress(StorageError):
        files.write(desk.view.project.build / _KEPT, str(place.port).encode())
    jobs = Jobs(desk)
    routes = [
        *Looking(desk, jobs).routes(),
        *Mending(desk, jobs, studio.print_pickups).routes(),
        *Casting(desk).routes(),
    ]
    guard = Guard(server.app(routes), studio.keys, Hosts(place.address, place.port))
    config = uvicorn.Config(
        guard,
        http=_Patient,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_CONNECTIONS,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=1,
    )
    faults = logging.getLogger("uvicorn.error")  # our own, with where they happened
    faults.setLevel(logging.ERROR)
    faults.parent = logging.getLogger("narrator")
    served = uvicorn.Server(config)
    thread = threading.Thread(
        target=served.run, kwargs={"sockets": [place.socket]}, name="studio", daemon=True
    )
    thread.start()
    jobs.start()
    try:
        yield
    finally:
        jobs.close()
        desk.events.close()
        served.should_exit = True
        thread.join(10.0)


def work(studio: Studio, ready: Callable[[], None]) -> None:
    """Serve until a signal ends it; in the main thread, where the text is read.

    `ready` is called once requests are answered.
    """
    asyncio.run(_work(studio, ready))


async def _work(studio: Studio, ready: Callable[[], None]) -> None:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    studio.desk.begin(loop)
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if name != signal.SIGHUP or signal.getsignal(name) != signal.SIG_IGN:  # under nohup
            loop.add_signal_handler(name, ended.set)
    with served(studio):
        ready()
        while not ended.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), LOOK)
            if not ended.is_set():
                studio.desk.look()
