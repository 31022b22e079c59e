"""From start to stop: a port, a server in a thread of its own, errands in the main thread.

Prints nothing: who starts it is told the link.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from narrator import files
from narrator.errors import StorageError
from narrator.studio import server
from narrator.studio.casting import CastRoutes
from narrator.studio.desk import POLL_SECONDS, ProjectSession
from narrator.studio.guard import Guard, Keys
from narrator.studio.jobs import Jobs
from narrator.studio.looking import ViewRoutes
from narrator.studio.mending import EditRoutes, PickupsPage
from narrator.web import listening
from narrator.web.hosts import Hosts
from narrator.web.listening import Endpoint

PORT = 4747
"""Taken where it is free, none was named, and the project had none before."""
_PORT_FILE = "studio.port"
"""In `build`: the port of the last studio, so that a page that is open finds the next one."""


def listen(address: str, port: int | None, build: Path | None = None) -> Endpoint:
    """A port to listen at; where none was named that of the last time, the usual one, or any.

    Raises UsageError where it cannot be had.
    """
    return listening.listen(address, (*_last_port(build), PORT, 0) if port is None else (port,))


def _last_port(build: Path | None) -> Iterator[int]:
    """The port of a project's last studio, if it had one that people's programs may have."""
    if build is not None:
        with contextlib.suppress(OSError, ValueError):
            port = int((build / _PORT_FILE).read_bytes()[:6])
            if 1024 <= port < 65536:
                yield port


@dataclass(frozen=True, slots=True)
class Studio:
    """What a studio is made of."""

    desk: ProjectSession
    keys: Keys
    place: Endpoint
    print_pickups: PickupsPage | None = None


@contextlib.contextmanager
def serving_studio(studio: Studio) -> Iterator[None]:
    """The server at work in a thread, until the block ends."""
    desk, place = studio.desk, studio.place
    with contextlib.suppress(StorageError):
        files.write(desk.view.project.build / _PORT_FILE, str(place.port).encode())
    jobs = Jobs(desk)
    routes = [
        *ViewRoutes(desk, jobs).routes(),
        *EditRoutes(desk, jobs, studio.print_pickups).routes(),
        *CastRoutes(desk).routes(),
    ]
    guard = Guard(server.app(routes), studio.keys, Hosts(place.address, place.port))
    jobs.start()
    with listening.running_server(guard, place, "studio"):
        try:
            yield
        finally:
            jobs.close()
            desk.events.close()


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
    with serving_studio(studio):
        ready()
        while not ended.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), POLL_SECONDS)
            if not ended.is_set():
                studio.desk.look()
