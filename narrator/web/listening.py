"""Binds a port and runs a server on its own thread, with timeouts for slow clients.

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
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from narrator.errors import UsageError
from narrator.web.certificates import CERTIFICATE, KEY
from narrator.web.hosts import is_local

_MAX_CONNECTIONS = 128
HEAD_TIMEOUT = 5.0
"""Seconds for the head of a request, from its connection or its first byte on."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The socket, address and port that a server listens at."""

    socket: socket.socket
    address: str
    port: int
    certificate: Path | None = None
    """Folder of the certificate of a server that encrypts."""

    @property
    def url(self) -> str:
        """The URL, without a token."""
        return self._url(socket.gethostname() if self._is_everywhere else self.address)

    @property
    def network_url(self) -> str:
        """The URL for other machines, by a number where there is one: not all know our name."""
        address = _network_address() if self._is_everywhere else ""
        return self._url(address) if address else self.url

    def _url(self, host: str) -> str:
        scheme = "http" if self.certificate is None else "https"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}/"

    @property
    def _is_everywhere(self) -> bool:
        return self.address in ("0.0.0.0", "::")

    @property
    def host_names(self) -> list[str]:
        """Names and numbers by which browsers may call this server."""
        names = ["localhost", "127.0.0.1", "::1", self.address]
        if not self.is_local:
            hostname = socket.gethostname().casefold()
            names += [hostname, f"{hostname}.local", _network_address()]
        return [name for name in names if name not in ("", "0.0.0.0", "::")]

    def close(self) -> None:
        self.socket.close()

    @property
    def is_local(self) -> bool:
        """True if it can be reached from this machine alone."""
        return is_local(self.address)


def _network_address() -> str:
    """Returns this machine's address in its network; empty without a network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # of no machine (RFC 5737), and nothing is sent
        except OSError:
            return ""
        return str(probe.getsockname()[0])


class _Listener(socket.socket):
    """A socket that ends the oldest connection before TLS if there are too many: asyncio knows
    limits of connections only once they are encrypted."""

    max_handshakes = _MAX_CONNECTIONS

    def __init__(self, family: int) -> None:
        super().__init__(family)
        self._handshakes: weakref.WeakKeyDictionary[socket.socket, None] = (
            weakref.WeakKeyDictionary()
        )

    def accept(self) -> tuple[socket.socket, Any]:
        connection, peer = super().accept()
        waiting = [each for each in self._handshakes if each.fileno() >= 0]
        if len(waiting) >= self.max_handshakes:
            with contextlib.suppress(OSError):
                waiting[0].shutdown(socket.SHUT_RDWR)
            del self._handshakes[waiting[0]]
        self._handshakes[connection] = None
        return connection, peer

    def end_handshake(self, number: int) -> None:
        """Counts a connection no more, by its file's number, since it has its limits now."""
        for connection in list(self._handshakes):
            if connection.fileno() in (number, -1):
                del self._handshakes[connection]


def listen(address: str, ports: Sequence[int]) -> Endpoint:
    """Binds the first of these ports that is free; 0 is any port.

    Raises UsageError if none is free.
    """
    for port in ports:
        try:
            return _bind(address, port)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                if port != ports[-1]:
                    continue
                raise UsageError(
                    f"port {port} is in use: name another with --port, or none"
                ) from None
            reason = error.strerror or str(error)
            raise UsageError(
                f"cannot listen at {address}, port {port}: {reason}; --listen wants an address "
                "of this machine, or 0.0.0.0 for all of them"
            ) from None
    raise AssertionError("unreachable")


def _bind(address: str, port: int) -> Endpoint:
    family = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0][0]
    listener = _Listener(family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(_MAX_CONNECTIONS)
    except BaseException:
        listener.close()
        raise
    return Endpoint(listener, address, listener.getsockname()[1])


class _Connection(H11Protocol):
    """A connection on which the head of a request must be complete within `HEAD_TIMEOUT` seconds,
    and that makes room for a new one as long as it holds no complete request."""

    _deadline: asyncio.TimerHandle | None = None
    _waits_since = 0.0
    """When the wait for its latest request began, by the loop's clock."""
    max_connections = _MAX_CONNECTIONS
    """Connections at a time."""
    listener: socket.socket | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if isinstance(self.listener, _Listener):
            self.listener.end_handshake(transport.get_extra_info("socket").fileno())
        self._start_deadline()
        self._make_room()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._has_head:
            self._cancel_deadline()
        else:
            self._start_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_deadline()
        super().connection_lost(exc)

    @property
    def _has_head(self) -> bool:
        """True if the head of a request has arrived that is not answered yet."""
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def _has_request(self) -> bool:
        """True if a complete request has arrived that is not answered yet."""
        return self._has_head and not self.cycle.more_body

    def _make_room(self) -> None:
        """Closes the connection that has waited longest for a request if there are too many; the
        new one if all others have a request."""
        connections = [
            connection for connection in self.connections if isinstance(connection, _Connection)
        ]
        open_connections = [
            connection for connection in connections if not connection.transport.is_closing()
        ]
        if len(open_connections) > self.max_connections:
            waiting = (
                connection
                for connection in open_connections
                if connection is not self and not connection._has_request
            )
            longest_waiting = min(
                waiting, key=lambda connection: connection._waits_since, default=self
            )
            longest_waiting.transport.abort()

    def _start_deadline(self) -> None:
        if self._deadline is None:
            self._waits_since = self.loop.time()
            self._deadline = self.loop.call_later(HEAD_TIMEOUT, self._close_late)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _close_late(self) -> None:
        self._deadline = None
        if not self._has_head and not self.transport.is_closing():
            self.transport.abort()  # no farewell by TLS, for which a silent client keeps us


def _connection_limit(max_connections: int) -> int:
    """Limits connections to half of the files that the system allows this process."""
    max_files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return (
        max_connections
        if max_files == resource.RLIM_INFINITY
        else min(max_connections, max_files // 2)
    )


@contextlib.contextmanager
def running_server(
    app: ASGIApp, place: Endpoint, name: str, max_connections: int = _MAX_CONNECTIONS
) -> Iterator[None]:
    """Runs an application on a thread of this name until the block ends.

    Beyond `max_connections`, a connection without a complete request is closed.
    """
    limit = _connection_limit(max_connections)
    protocol = type(
        "Connection", (_Connection,), {"max_connections": limit, "listener": place.socket}
    )
    if isinstance(place.socket, _Listener):
        place.socket.max_handshakes = limit // 2
    tls = place.certificate
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
        ssl_certfile=None if tls is None else tls / CERTIFICATE,
        ssl_keyfile=None if tls is None else tls / KEY,
    )
    fault_log = logging.getLogger("uvicorn.error")  # our own, with where they happened
    fault_log.setLevel(logging.ERROR)
    fault_log.parent = logging.getLogger("narrator")
    server = uvicorn.Server(config)
    thread = threading.Thread(
        target=server.run, kwargs={"sockets": [place.socket]}, name=name, daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(10.0)
