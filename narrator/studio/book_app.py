"""The application of one book: its routes, and the jobs that they follow."""

from __future__ import annotations

import asyncio
import contextlib

from starlette.applications import Starlette

from narrator import files
from narrator.errors import StorageError
from narrator.studio import server
from narrator.studio.cast_routes import CastRoutes
from narrator.studio.desk_routes import DeskRoutes
from narrator.studio.edit_routes import EditRoutes, PickupsPage
from narrator.studio.find_routes import FindRoutes
from narrator.studio.jobs import Jobs
from narrator.studio.lexicon_routes import LexiconRoutes
from narrator.studio.queue_routes import QueueRoutes
from narrator.studio.quick_speech import QuickVoice
from narrator.studio.session import ProjectSession
from narrator.studio.view_routes import ViewRoutes
from narrator.studio.voice_routes import VoiceRoutes

PORT_FILE = "studio.port"
"""File in `build` with the port of the last studio, so that an open page finds the next one."""


class BookApp:
    """The application of one book, which has been read."""

    def __init__(self, session: ProjectSession, print_pickups: PickupsPage | None = None) -> None:
        self.session, self.jobs = session, Jobs(session)
        quick_voice = QuickVoice()
        self.app: Starlette = server.app(
            [
                *ViewRoutes(session, self.jobs).routes(),
                *EditRoutes(session, self.jobs, print_pickups).routes(),
                *CastRoutes(session, quick_voice).routes(),
                *LexiconRoutes(session, quick_voice).routes(),
                *VoiceRoutes(session, self.jobs).routes(),
                *FindRoutes(session).routes(),
                *DeskRoutes(session).routes(),
                *QueueRoutes(self.jobs).routes(),
            ]
        )

    @property
    def is_idle(self) -> bool:
        """True if no page of it is open, and no job runs or waits."""
        state = self.jobs.state()
        return self.session.events.is_unheard and not state["running"] and not state["queue"]

    def set_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        """Sets the main thread's event loop, which runs all tasks."""
        self.session.set_loop(loop)

    def start(self, port: int) -> None:
        """Begins to follow jobs, and remembers the port."""
        with contextlib.suppress(StorageError):
            files.write(self.session.view.project.build / PORT_FILE, str(port).encode())
        self.jobs.start()

    def refresh(self) -> None:
        """Reads again what has changed on disk; in the main thread."""
        self.session.refresh()

    def close(self) -> None:
        self.jobs.close()
        self.session.events.close()
