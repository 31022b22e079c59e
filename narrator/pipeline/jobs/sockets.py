"""Lines of JSON over a Unix socket: finds the owner of a project and serves its clients.

A client may be broken or malicious: if it sends no valid lines, an endless line, or does not read,
its connection ends, and nothing else happens. Knows nothing of jobs.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import selectors
import socket
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from narrator import files
from narrator.pipeline.jobs.protocol import Event, encode

log = logging.getLogger("narrator")

MAX_CLIENTS = 32
"""Largest number of clients at one time; others are rejected."""
MAX_LINE_BYTES = 1_000_000
"""Longest line in bytes that a client may send, and most bytes that may wait for it to read."""
LINGER_SECONDS = 2.0
"""Seconds that clients have to read the last events."""
_CONNECT_TIMEOUT = 1.0
"""Seconds to connect to an owner that many clients connect to at one time."""
_FOLDER_PREFIX = "narrator-"
_SOCKET_NAME = "owner"
_MAX_ADDRESS_BYTES = 100
"""Bytes that the address of a Unix socket may have on all systems, with a margin."""


# -- finding an owner ------------------------------------------------------------------------------


def announce(build: Path, address: Path) -> None:
    """Write the address of an owner's socket into `build`, in place of an earlier one.

    Raises OSError.
    """
    path = build / ".owner"
    earlier_address = announced_address(build)
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    build.mkdir(parents=True, exist_ok=True)
    announcement = {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "socket": str(address),
        "folder": _identity(build),
    }
    temporary = path.with_name(f".{os.urandom(8).hex()}.part")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(announcement, file)
    temporary.replace(path)
    if earlier_address is not None and _is_gone(earlier_address):
        _remove_socket(earlier_address)


def withdraw(build: Path, address: Path) -> None:
    """Remove an announcement, unless another owner has replaced it."""
    with contextlib.suppress(OSError):
        if announced_address(build) == address:
            (build / ".owner").unlink()
    _remove_socket(address)


def announced_address(build: Path) -> Path | None:
    """The announced address of an owner on this machine and of this user; it may have exited.

    The file may come with a project from anywhere, or with a copy of a project that is being
    rendered. An address counts only if it was announced in this very folder, and is a socket of
    narrator's in a folder that nobody else may enter.
    """
    try:
        announcement = json.loads(files.read_bounded(build / ".owner", 10_000))
        address = Path(announcement["socket"])
        is_here = (announcement["host"], announcement["folder"]) == (
            socket.gethostname(),
            _identity(build),
        )
        if not is_here or address.name != _SOCKET_NAME:
            return None
        folder = address.parent.lstat()
    except (OSError, files.TooLarge, ValueError, TypeError, LookupError, RecursionError):
        return None
    is_private = stat.S_ISDIR(folder.st_mode) and not folder.st_mode & 0o077
    is_ours = (
        is_private
        and folder.st_uid == os.getuid()
        and address.parent.name.startswith(_FOLDER_PREFIX)
    )
    return address if is_ours and address.is_absolute() else None


def connect_to_owner(build: Path) -> socket.socket | None:
    """A connection to the announced owner; None if it does not listen."""
    address = announced_address(build)
    if address is None:
        return None
    try:
        return _connect(address)
    except OSError:
        return None


def _connect(address: Path) -> socket.socket:
    """Connect to an owner.

    Raises OSError; ConnectionRefusedError or FileNotFoundError if nobody listens any more.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    deadline = time.monotonic() + _CONNECT_TIMEOUT
    try:
        connection.settimeout(_CONNECT_TIMEOUT)
        while True:
            try:
                connection.connect(os.fspath(address))
                break
            except BlockingIOError:  # too many clients at one time
                if time.monotonic() >= deadline:
                    raise
                time.sleep(0.01)
        connection.settimeout(None)
    except OSError:
        connection.close()
        raise
    return connection


def _identity(folder: Path) -> list[int]:
    """What tells a folder from its copies; a renamed folder keeps it. Raises OSError."""
    status = folder.stat()
    return [status.st_dev, status.st_ino]


def _is_gone(address: Path) -> bool:
    """True if nobody listens at an address any more."""
    try:
        _connect(address).close()
    except (ConnectionRefusedError, FileNotFoundError):
        return True
    except OSError:
        pass
    return False


def _remove_socket(address: Path) -> None:
    with contextlib.suppress(OSError):
        address.unlink(missing_ok=True)
        address.parent.rmdir()


def _open_listener() -> tuple[socket.socket, Path]:
    """A socket that no other user of the machine can reach, and its address. Raises OSError."""
    folder = Path(tempfile.mkdtemp(prefix=_FOLDER_PREFIX))
    if len(os.fsencode(folder / _SOCKET_NAME)) > _MAX_ADDRESS_BYTES:
        folder.rmdir()
        folder = Path(tempfile.mkdtemp(prefix=_FOLDER_PREFIX, dir="/tmp"))
    address = folder / _SOCKET_NAME
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(os.fspath(address))
        listener.listen(4 * MAX_CLIENTS)
        listener.setblocking(False)
    except OSError:
        listener.close()
        _remove_socket(address)
        raise
    return listener, address


# -- lines -----------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Client:
    """A client of an owner."""

    connection: socket.socket
    received: bytearray = field(default_factory=bytearray)
    """Bytes received of a line that has not ended yet."""
    unsent: bytearray = field(default_factory=bytearray)
    """Bytes of events that have not been sent to it yet."""
    is_gone: bool = False

    def lines(self) -> Iterator[bytes]:
        """Yields the complete lines that it has sent."""
        while (line_end := self.received.find(b"\n")) >= 0:
            line = bytes(self.received[:line_end])
            del self.received[: line_end + 1]
            yield line


class Server:
    """Serves the clients of an owner in a thread.

    `greeting` makes the first event for a new client, `on_line` receives each line of a client, and
    `on_disconnect` a client that has gone. They are called on the server's thread and under
    `mutex`, which the owner holds too while it changes the state that they read. Raises OSError if
    it cannot listen.
    """

    def __init__(
        self,
        mutex: threading.RLock,
        greeting: Callable[[], Event],
        on_line: Callable[[Client, bytes], None],
        on_disconnect: Callable[[Client], None],
    ) -> None:
        self.mutex = mutex
        self._greeting, self._on_line, self._on_disconnect = greeting, on_line, on_disconnect
        self._listener, self.place = _open_listener()
        self._clients: list[Client] = []
        self._wake, self._waker = socket.socketpair()
        for wake_socket in (self._wake, self._waker):
            wake_socket.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        self._selector.register(self._wake, selectors.EVENT_READ, self._drain_wake_socket)
        self._deadline: float | None = None
        """Time at which the server ends, once it is being closed."""
        self._thread = threading.Thread(target=self._serve, name="owner", daemon=True)
        self._thread.start()

    def tell(self, event: Event, client: Client | None = None) -> None:
        """Send an event to a client, or to all of them; never waits."""
        line = encode(event)
        with self.mutex:
            for recipient in self._clients if client is None else (client,):
                if not recipient.is_gone:
                    recipient.unsent += line
        self._wake_thread()

    def close(self) -> None:
        """End once clients have read their last events, or had the time to."""
        with self.mutex:
            self._deadline = time.monotonic() + LINGER_SECONDS
        self._wake_thread()
        self._thread.join()

    def _wake_thread(self) -> None:
        with contextlib.suppress(OSError):  # the thread is awake already
            self._waker.send(b".")

    # -- on its thread

    def _serve(self) -> None:
        """Serve all clients until the server is closed; the body of its thread."""
        try:
            while not self._is_over():
                for key, _ in self._selector.select(None if self._deadline is None else 0.1):
                    key.data()
                with self.mutex:
                    for client in tuple(self._clients):
                        self._flush(client)
        finally:
            self._close_sockets()

    def _is_over(self) -> bool:
        with self.mutex:
            if self._deadline is None:
                return False
            return time.monotonic() >= self._deadline or not any(
                client.unsent for client in self._clients
            )

    def _close_sockets(self) -> None:
        with self.mutex:
            for client in tuple(self._clients):
                self.dismiss(client)
        self._selector.close()
        for open_socket in (self._listener, self._wake, self._waker):
            open_socket.close()

    def _drain_wake_socket(self) -> None:
        with contextlib.suppress(OSError):
            self._wake.recv(4096)

    def _accept(self) -> None:
        """Accept a client and greet it, unless there are too many."""
        try:
            connection, _ = self._listener.accept()
        except OSError:  # it has gone again, or too many files are open
            time.sleep(0.01)
            return
        if len(self._clients) >= MAX_CLIENTS or self._deadline is not None:
            connection.close()
            return
        connection.setblocking(False)
        client = Client(connection)
        with self.mutex:
            self._clients.append(client)
            client.unsent += encode(self._greeting())
        self._selector.register(connection, selectors.EVENT_READ, lambda: self._receive(client))

    def _receive(self, client: Client) -> None:
        """Receive bytes of a client and handle the lines that are complete."""
        if client.is_gone:
            return
        try:
            received_bytes = client.connection.recv(65_536)
        except BlockingIOError:
            return
        except OSError:
            received_bytes = b""
        with self.mutex:
            if not received_bytes:
                self.dismiss(client)
                return
            client.received += received_bytes
            for line in client.lines():
                if not client.is_gone:
                    self._on_line(client, line)
            if len(client.received) > MAX_LINE_BYTES:
                self.dismiss(client)

    def _flush(self, client: Client) -> None:
        """Send as much as a client takes; under the mutex."""
        if client.is_gone:
            return
        try:
            while client.unsent:
                del client.unsent[: client.connection.send(client.unsent[:65_536])]
        except BlockingIOError:
            pass
        except OSError:
            self.dismiss(client)
            return
        if len(client.unsent) > MAX_LINE_BYTES:
            log.warning("a client that does not read was sent away")
            self.dismiss(client)
            return
        event_mask = selectors.EVENT_READ | (selectors.EVENT_WRITE if client.unsent else 0)
        if self._selector.get_key(client.connection).events != event_mask:
            key = self._selector.get_key(client.connection)
            self._selector.modify(client.connection, event_mask, key.data)

    def dismiss(self, client: Client) -> None:
        """Disconnect a client; on the server's thread and under the mutex."""
        if client.is_gone:
            return
        client.is_gone = True
        self._clients.remove(client)
        self._selector.unregister(client.connection)
        client.connection.close()
        client.unsent.clear()
        self._on_disconnect(client)
