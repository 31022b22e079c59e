"""Starts and stops the studio: its port, the server's thread, tasks in the main thread.

Prints nothing: the caller shows the link.
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
from narrator.studio.cast_routes import CastRoutes
from narrator.studio.edit_routes import EditRoutes, PickupsPage
from narrator.studio.guard import Guard, LinkKeys
from narrator.studio.jobs import Jobs
from narrator.studio.session import POLL_SECONDS, ProjectSession
from narrator.studio.view_routes import ViewRoutes
from narrator.web import listening
from narrator.web.hosts import Hosts
from narrator.web.listening import Endpoint

PORT = 4747
"""The port that is tried where none was named and the project has none yet."""
_PORT_FILE = "studio.port"
"""File in `build` with the port of the last studio, so that an open page finds the next one."""


def listen(address: str, port: int | None, build: Path | None = None) -> Endpoint:
    """Binds a port: the named one, else the project's last one, `PORT`, or any free one.

    Raises UsageError if it is taken.
    """
    return listening.listen(address, (*_last_port(build), PORT, 0) if port is None else (port,))


def _last_port(build: Path | None) -> Iterator[int]:
    """Yields the port of a project's last studio, unless it is a privileged one."""
    if build is not None:
        with contextlib.suppress(OSError, ValueError):
            port = int((build / _PORT_FILE).read_bytes()[:6])
            if 1024 <= port < 65536:
                yield port


@dataclass(frozen=True, slots=True)
class Studio:
    """The parts of a studio."""

    session: ProjectSession
    keys: LinkKeys
    place: Endpoint
    print_pickups: PickupsPage | None = None


@contextlib.contextmanager
def serving_studio(studio: Studio) -> Iterator[None]:
    """Runs the server in a thread until the block ends."""
    session, place = studio.session, studio.place
    with contextlib.suppress(StorageError):
        files.write(session.view.project.build / _PORT_FILE, str(place.port).encode())
    jobs = Jobs(session)
    routes = [
        *ViewRoutes(session, jobs).routes(),
        *EditRoutes(session, jobs, studio.print_pickups).routes(),
        *CastRoutes(session).routes(),
    ]
    guard = Guard(server.app(routes), studio.keys, Hosts(place.address, place.port))
    jobs.start()
    with listening.running_server(guard, place, "studio"):
        try:
            yield
        finally:
            jobs.close()
            session.events.close()


def serve_until_signal(studio: Studio, ready: Callable[[], None]) -> None:
    """Serves until a signal. Runs in the main thread, which reads the text.

    `ready` is called once requests are answered.
    """
    asyncio.run(_serve_until_signal(studio, ready))


async def _serve_until_signal(studio: Studio, ready: Callable[[], None]) -> None:
    loop, should_stop = asyncio.get_running_loop(), asyncio.Event()
    studio.session.set_loop(loop)
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if name != signal.SIGHUP or signal.getsignal(name) != signal.SIG_IGN:  # under nohup
            loop.add_signal_handler(name, should_stop.set)
    with serving_studio(studio):
        ready()
        while not should_stop.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(should_stop.wait(), POLL_SECONDS)
            if not should_stop.is_set():
                studio.session.refresh()
