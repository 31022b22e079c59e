"""A port, a server in a thread of its own, and patience with what does not come.

Prints nothing, and knows no routes.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import resource
import socket
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from narrator.errors import UsageError
from narrator.web.hosts import is_local

_CONNECTIONS = 128
HEAD = 5.0
"""Seconds in which the head of a request must come, from its connection or its first byte on."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a server listens."""

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


def listen(address: str, ports: Sequence[int]) -> Endpoint:
    """The first of these ports that is free; 0 is any.

    Raises UsageError where none can be had.
    """
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
            raise UsageError(
                f"cannot listen at {address}, port {wanted}: {reason}; --listen wants an address "
                "of this machine, or 0.0.0.0 for all of them"
            ) from None
    raise AssertionError("unreachable")


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


class _Connection(H11Protocol):
    """A connection on which the head of a request must be complete within `HEAD` seconds, and that
    makes room for a new one as long as it holds no complete request."""

    _deadline: asyncio.TimerHandle | None = None
    _waits_since = 0.0
    """When the wait for its latest request began, by the loop's clock."""
    most = _CONNECTIONS
    """Connections at a time."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()
        self._make_room()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._has_head:
            self._stop()
        else:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    @property
    def _has_head(self) -> bool:
        """Whether the head of a request has come that is not answered yet."""
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def _has_request(self) -> bool:
        """Whether a request has come, with its body, that is not answered yet."""
        return self._has_head and not self.cycle.more_body

    def _make_room(self) -> None:
        """Where there are too many connections, close the one that has waited longest for a
        request; the new one only where all others have theirs."""
        others = [one for one in self.connections if isinstance(one, _Connection)]
        there = [one for one in others if not one.transport.is_closing()]
        if len(there) > self.most:
            waiting = (one for one in there if one is not self and not one._has_request)
            min(waiting, key=lambda one: one._waits_since, default=self).transport.abort()

    def _wait(self) -> None:
        if self._deadline is None:
            self._waits_since = self.loop.time()
            self._deadline = self.loop.call_later(HEAD, self._give_up)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if not self._has_head and not self.transport.is_closing():
            self.transport.close()


def _most(connections: int) -> int:
    """So many connections, or fewer where the system grants fewer files: half are for the rest."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return connections if files == resource.RLIM_INFINITY else min(connections, files // 2)


@contextlib.contextmanager
def serving(
    app: ASGIApp, place: Endpoint, name: str, connections: int = _CONNECTIONS
) -> Iterator[None]:
    """An application at work in a thread of this name, until the block ends; `connections` at a
    time. Beyond these, one without a complete request is closed."""
    protocol = type("Connection", (_Connection,), {"most": _most(connections)})
    config = uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=1,
    )
    faults = logging.getLogger("uvicorn.error")  # our own, with where they happened
    faults.setLevel(logging.ERROR)
    faults.parent = logging.getLogger("narrator")
    served = uvicorn.Server(config)
    thread = threading.Thread(
        target=served.run, kwargs={"sockets": [place.socket]}, name=name, daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        served.should_exit = True
        thread.join(10.0)
