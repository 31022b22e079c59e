"""Starts and stops the studio: its port, the server's thread, tasks in the main thread.

Prints nothing: the caller shows the link.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from starlette.types import ASGIApp

from narrator import files
from narrator.studio.book_app import PORT_FILE
from narrator.studio.guard import Guard
from narrator.studio.people import LinkKeys
from narrator.studio.session import POLL_SECONDS
from narrator.web import certificates, listening
from narrator.web.hosts import Hosts
from narrator.web.listening import Endpoint

PORT = 4747
"""The port that is tried where none was named and the project has none yet."""


def listen(address: str, port: int | None, build: Path | None = None) -> Endpoint:
    """Binds a port: the named one, else the project's last one, `PORT`, or any free one.

    Raises UsageError if it is taken.
    """
    return listening.listen(address, (*_last_port(build), PORT, 0) if port is None else (port,))


def encrypting(place: Endpoint) -> Endpoint:
    """Returns the place with a certificate, made for it if there is none. Raises StorageError,
    EnvironmentFailed without the package that makes certificates."""
    folder = certificates.browser_certificate(files.library() / "studio", place.host_names)
    return replace(place, certificate=folder)


def _last_port(build: Path | None) -> Iterator[int]:
    """Yields the port of a project's last studio, unless it is a privileged one."""
    if build is not None:
        with contextlib.suppress(OSError, ValueError):
            port = int((build / PORT_FILE).read_bytes()[:6])
            if 1024 <= port < 65536:
                yield port


class ServedApp(Protocol):
    """An application with what it does besides answering: that of a book, or of many."""

    @property
    def app(self) -> ASGIApp: ...

    def set_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        """Sets the main thread's event loop, which runs all tasks that read text."""
        ...

    def start(self, place: Endpoint, keys: LinkKeys) -> None:
        """Begins its work, once it is known where it is served, and who may come in."""
        ...

    def refresh(self) -> None:
        """Looks for changes on disk; in the main thread, every second."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Studio:
    """The parts of a studio."""

    served: ServedApp
    keys: LinkKeys
    place: Endpoint


@contextlib.contextmanager
def serving_studio(studio: Studio) -> Iterator[None]:
    """Runs the server in a thread until the block ends."""
    served, place = studio.served, studio.place
    guard = Guard(served.app, studio.keys, Hosts(place.address, place.port))
    served.start(place, studio.keys)
    with listening.running_server(guard, place, "studio"):
        try:
            yield
        finally:
            served.close()


def serve_until_signal(studio: Studio, ready: Callable[[], None]) -> None:
    """Serves until a signal. Runs in the main thread, which reads the text.

    `ready` is called once requests are answered.
    """
    asyncio.run(_serve_until_signal(studio, ready))


async def _serve_until_signal(studio: Studio, ready: Callable[[], None]) -> None:
    loop, should_stop = asyncio.get_running_loop(), asyncio.Event()
    studio.served.set_loop(loop)
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if name != signal.SIGHUP or signal.getsignal(name) != signal.SIG_IGN:  # under nohup
            loop.add_signal_handler(name, should_stop.set)
    with serving_studio(studio):
        ready()
        while not should_stop.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(should_stop.wait(), POLL_SECONDS)
            if not should_stop.is_set():
                studio.served.refresh()
