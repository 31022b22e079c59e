"""The application of one book: its routes, and the jobs that they follow."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

from starlette.applications import Starlette

from narrator import files
from narrator.errors import StorageError
from narrator.studio import people, server
from narrator.studio.cast_routes import CastRoutes
from narrator.studio.edit_routes import EditRoutes
from narrator.studio.find_routes import FindRoutes
from narrator.studio.hearing_routes import HearingRoutes
from narrator.studio.job_routes import JobRoutes
from narrator.studio.jobs import Jobs
from narrator.studio.lexicon_routes import LexiconRoutes
from narrator.studio.people import Guests, LinkKeys
from narrator.studio.people_routes import PeopleRoutes
from narrator.studio.quick_speech import QuickVoice
from narrator.studio.report_routes import ReportRoutes
from narrator.studio.session import ProjectSession
from narrator.studio.take_routes import TakeRoutes
from narrator.studio.view_routes import ViewRoutes
from narrator.studio.voice_routes import VoiceRoutes
from narrator.web.listening import Endpoint

PORT_FILE = "studio.port"
"""File in `build` with the port of the last studio, so that an open page finds the next one."""


class BookApp:
    """The application of one book, which has been read."""

    def __init__(
        self, session: ProjectSession, guests: Guests | None = None, served_path: Path | None = None
    ) -> None:
        """`guests` are those of the book, where they were read before; `served_path` is what the
        studio was started with, if not the book. Raises StorageError if the list of guests is
        damaged."""
        self.session, self.jobs = session, Jobs(session)
        self.guests = guests or Guests(people.path_of(session.view.project))
        # tells all pages, and ends those of people who are not welcome any more
        self.guests.on_change = lambda: session.events.send({"type": "people"})
        self._people_routes = PeopleRoutes(self.guests, served_path or session.path)
        self._report = ReportRoutes(session)
        self._quick_voice = quick_voice = QuickVoice()
        self.hearing = HearingRoutes(session, self.jobs)
        self.app: Starlette = server.app(
            [
                *ViewRoutes(session, self.jobs, self.guests).routes(),
                *EditRoutes(session, self.guests).routes(),
                *CastRoutes(session, quick_voice).routes(),
                *LexiconRoutes(session, quick_voice).routes(),
                *VoiceRoutes(session, self.jobs, quick_voice).routes(),
                *FindRoutes(session).routes(),
                *TakeRoutes(session).routes(),
                *JobRoutes(session, self.jobs).routes(),
                *self._people_routes.routes(),
                *self._report.routes(),
                *self.hearing.routes(),
            ]
        )

    @property
    def is_idle(self) -> bool:
        """True if no page of it is open, and no job runs or waits."""
        state = self.jobs.state()
        return self.session.events.is_unheard and not (state["running"] or state["queue"])

    def set_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        """Sets the main thread's event loop, which runs all tasks."""
        self.session.set_loop(loop)

    def start(self, place: Endpoint, keys: LinkKeys, address: str = "") -> None:
        """Begins to follow jobs, lets guests in, and remembers the port. `address` is that of the
        book, as in /book/1f, where a server has many."""
        with contextlib.suppress(StorageError):
            files.write(self.session.view.project.build / PORT_FILE, str(place.port).encode())
        self.guests.book = address
        self._people_routes.place, self._people_routes.keys = place, keys
        keys.admit(self.guests)
        self.jobs.start()

    def refresh(self) -> None:
        """Reads again what has changed on disk; in the main thread."""
        self.session.refresh()
        self.hearing.follow_names()

    def close(self) -> None:
        if self._people_routes.keys is not None:
            self._people_routes.keys.dismiss(self.guests)
        self._report.close()
        self._quick_voice.close()
        self.jobs.close()
        self.session.events.close()
