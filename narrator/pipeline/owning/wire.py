"""Lines over a Unix socket: how those who own a project are found, and how clients are served.

A client may be broken or ill-willed: what it sends that is no line, or no end of one, and what it
does not read ends its connection, and nothing else. Knows nothing of jobs.
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
from narrator.pipeline.owning.jobs import Event

log = logging.getLogger("narrator")

CLIENTS = 32
"""At one time; who comes then is sent away."""
LONGEST = 1_000_000
"""Bytes of a line that a client may send, and of what may wait until it reads."""
LINGER = 2.0
"""Seconds that clients have to read the last events."""
_BUSY = 1.0
"""Seconds in which an owner that many come to at one time may be reached."""
_PREFIX = "narrator-"
_NAME = "owner"
_LONGEST_PATH = 100
"""Bytes that the address of a Unix socket may have on all systems, and some to spare."""


# -- where an owner is found -----------------------------------------------------------------------


def announce(build: Path, place: Path) -> None:
    """Say in `build` where an owner listens, in the stead of one that has gone. Raises OSError."""
    path = build / ".owner"
    before = announced(build)
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    said = {"pid": os.getpid(), "host": socket.gethostname(), "socket": str(place)}
    build.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{os.urandom(8).hex()}.part")
    number = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(number, "w", encoding="utf-8") as file:
        json.dump(said, file)
    temporary.replace(path)
    if before is not None and _is_gone(before):
        _clear(before)


def withdraw(build: Path, place: Path) -> None:
    """Take back what was announced, unless another has come since."""
    with contextlib.suppress(OSError):
        if announced(build) == place:
            (build / ".owner").unlink()
    _clear(place)


def announced(build: Path) -> Path | None:
    """Where an owner of this machine and user was to be found, who may have gone.

    The file may be anybody's, as it comes with a project: what it names is a socket of narrator's
    in a folder that nobody else may enter, or is nothing.
    """
    try:
        said = json.loads(files.read_whole(build / ".owner", 10_000))
        place = Path(said["socket"])
        if said["host"] != socket.gethostname() or place.name != _NAME:
            return None
        folder = place.parent.lstat()
    except (OSError, files.TooLarge, ValueError, TypeError, LookupError, RecursionError):
        return None
    private = stat.S_ISDIR(folder.st_mode) and not folder.st_mode & 0o077
    ours = private and folder.st_uid == os.getuid() and place.parent.name.startswith(_PREFIX)
    return place if ours and place.is_absolute() else None


def reached(build: Path) -> socket.socket | None:
    """A connection to the owner that was announced; None where it does not listen."""
    place = announced(build)
    if place is None:
        return None
    try:
        return _connected(place)
    except OSError:
        return None


def _connected(place: Path) -> socket.socket:
    """Raises OSError; ConnectionRefusedError or FileNotFoundError where nobody listens any more."""
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    until = time.monotonic() + _BUSY
    try:
        line.settimeout(_BUSY)
        while True:
            try:
                line.connect(os.fspath(place))
                break
            except BlockingIOError:  # too many come at one time
                if time.monotonic() >= until:
                    raise
                time.sleep(0.01)
        line.settimeout(None)
    except OSError:
        line.close()
        raise
    return line


def _is_gone(place: Path) -> bool:
    try:
        _connected(place).close()
    except (ConnectionRefusedError, FileNotFoundError):
        return True
    except OSError:
        pass
    return False


def _clear(place: Path) -> None:
    with contextlib.suppress(OSError):
        place.unlink(missing_ok=True)
        place.parent.rmdir()


def _listening() -> tuple[socket.socket, Path]:
    """A socket that nobody else of the machine can reach. Raises OSError."""
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    if len(os.fsencode(folder / _NAME)) > _LONGEST_PATH:
        folder.rmdir()
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir="/tmp"))
    place = folder / _NAME
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(os.fspath(place))
        listener.listen(4 * CLIENTS)
        listener.setblocking(False)
    except OSError:
        listener.close()
        _clear(place)
        raise
    return listener, place


# -- lines -----------------------------------------------------------------------------------------


def line_of(event: Event) -> bytes:
    return json.dumps(event, ensure_ascii=False).encode(errors="replace") + b"\n"


@dataclass(slots=True, eq=False)
class Client:
    """Somebody who has come to an owner."""

    line: socket.socket
    heard: bytearray = field(default_factory=bytearray)
    """Of a line that has not ended yet."""
    untold: bytearray = field(default_factory=bytearray)
    """What it has not read yet."""
    gone: bool = False

    def lines(self) -> Iterator[bytes]:
        """The whole lines that it has said."""
        while (end := self.heard.find(b"\n")) >= 0:
            line = bytes(self.heard[:end])
            del self.heard[: end + 1]
            yield line


class Server:
    """The clients of an owner, served by a thread.

    `greeting` is what somebody who comes is told first, `heard` is given each line that one says,
    and `left` who has gone; all of them on the server's thread and under `mutex`, which an owner
    holds as well while it changes what they read. Raises OSError where nothing can listen.
    """

    def __init__(
        self,
        mutex: threading.RLock,
        greeting: Callable[[], Event],
        heard: Callable[[Client, bytes], None],
        left: Callable[[Client], None],
    ) -> None:
        self.mutex = mutex
        self._greeting, self._heard, self._left = greeting, heard, left
        self._listener, self.place = _listening()
        self._clients: list[Client] = []
        self._wake, self._waker = socket.socketpair()
        for end in (self._wake, self._waker):
            end.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        self._selector.register(self._wake, selectors.EVENT_READ, self._woken)
        self._until: float | None = None
        """When the last word is over."""
        self._thread = threading.Thread(target=self._serve, name="owner", daemon=True)
        self._thread.start()

    def tell(self, event: Event, client: Client | None = None) -> None:
        """Tell a client, or all of them; never waits."""
        line = line_of(event)
        with self.mutex:
            for one in self._clients if client is None else (client,):
                if not one.gone:
                    one.untold += line
        self._nudge()

    def close(self) -> None:
        """End, once clients have read what was said, or had the time to."""
        with self.mutex:
            self._until = time.monotonic() + LINGER
        self._nudge()
        self._thread.join()

    def _nudge(self) -> None:
        with contextlib.suppress(OSError):  # it is awake already
            self._waker.send(b".")

    # -- on its thread

    def _serve(self) -> None:
        try:
            while not self._is_over():
                for key, _ in self._selector.select(None if self._until is None else 0.1):
                    key.data()
                with self.mutex:
                    for client in tuple(self._clients):
                        self._speak(client)
        finally:
            self._end()

    def _is_over(self) -> bool:
        with self.mutex:
            if self._until is None:
                return False
            return time.monotonic() >= self._until or not any(c.untold for c in self._clients)

    def _end(self) -> None:
        with self.mutex:
            for client in tuple(self._clients):
                self.dismiss(client)
        self._selector.close()
        for line in (self._listener, self._wake, self._waker):
            line.close()

    def _woken(self) -> None:
        with contextlib.suppress(OSError):
            self._wake.recv(4096)

    def _accept(self) -> None:
        try:
            line, _ = self._listener.accept()
        except OSError:  # it has gone again, or too many files are open
            time.sleep(0.01)
            return
        if len(self._clients) >= CLIENTS or self._until is not None:
            line.close()
            return
        line.setblocking(False)
        client = Client(line)
        with self.mutex:
            self._clients.append(client)
            client.untold += line_of(self._greeting())
        self._selector.register(line, selectors.EVENT_READ, lambda: self._listen(client))

    def _listen(self, client: Client) -> None:
        if client.gone:
            return
        try:
            data = client.line.recv(65_536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        with self.mutex:
            if not data:
                self.dismiss(client)
                return
            client.heard += data
            for line in client.lines():
                if not client.gone:
                    self._heard(client, line)
            if len(client.heard) > LONGEST:
                self.dismiss(client)

    def _speak(self, client: Client) -> None:
        """Say what waits, as far as it is taken; under the mutex."""
        if client.gone:
            return
        try:
            while client.untold:
                del client.untold[: client.line.send(client.untold[:65_536])]
        except BlockingIOError:
            pass
        except OSError:
            self.dismiss(client)
            return
        if len(client.untold) > LONGEST:
            log.warning("a client that does not read was sent away")
            self.dismiss(client)
            return
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if client.untold else 0)
        if self._selector.get_key(client.line).events != wanted:
            key = self._selector.get_key(client.line)
            self._selector.modify(client.line, wanted, key.data)

    def dismiss(self, client: Client) -> None:
        """Part with a client, on the server's thread and under the mutex."""
        if client.gone:
            return
        client.gone = True
        self._clients.remove(client)
        self._selector.unregister(client.line)
        client.line.close()
        client.untold.clear()
        self._left(client)
