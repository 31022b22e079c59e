"""Routes of the report: its numbers, and the measuring of finished files that it needs.

Files are measured in a thread, once at a time; pages are told how far that is. Knows nothing of how
the report looks.
"""

from __future__ import annotations

import threading
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from narrator.delivery.export.names import file_name
from narrator.errors import NarratorError
from narrator.report import data, facts, sound
from narrator.studio import saved_report
from narrator.studio.session import ProjectSession

_MIN_SHARE = 0.01
"""Least progress that pages are told of."""


class _Closed(Exception):
    """The studio closes."""


class ReportRoutes:
    """Routes of the report."""

    def __init__(self, session: ProjectSession) -> None:
        self.session = session
        self._measuring = threading.Lock()
        self._is_closed = False

    def routes(self) -> list[Route]:
        return [
            Route("/api/report", self.report),
            Route("/api/report/measure", self.measure, methods=["POST"]),
            Route("/report.html", self.page),
        ]

    def close(self) -> None:
        """Stops measuring."""
        self._is_closed = True

    async def report(self, request: Request) -> Response:
        """Serves the report, with the sound that was measured before."""

        def make_row() -> data.Row:
            book = self.session.view.book
            book.store.refresh()
            row = data.report_row(book, facts.gather(book))
            return {**row, "measuring": self._measuring.locked()}

        return JSONResponse(await run_in_threadpool(make_row))

    async def page(self, request: Request) -> Response:
        """Serves the report as one file to keep."""

        def make_page() -> bytes:
            return saved_report.page(book, data.report_row(book, facts.gather(book)))

        book = self.session.view.book
        name = f"{file_name(f'{book.project.manifest.title} - report')}.html"
        headers = {"content-disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}
        return Response(await run_in_threadpool(make_page), 200, headers, "text/html")

    async def measure(self, request: Request) -> Response:
        """Begins to measure the finished files, unless that is under way."""
        if self._measuring.acquire(blocking=False):
            threading.Thread(target=self._measure, name="report", daemon=True).start()
        return JSONResponse({"measuring": True})

    def _measure(self) -> None:
        last_activity, last_share = "", 0.0

        def send_progress(activity: str, share: float) -> None:
            nonlocal last_activity, last_share
            if self._is_closed:
                raise _Closed
            if activity != last_activity or share >= last_share + _MIN_SHARE:
                last_activity, last_share = activity, share
                event = {"type": "report", "activity": activity, "share": round(share, 3)}
                self.session.events.send(event)

        error = "the files were not measured: a fault of narrator's own"
        try:
            book = self.session.view.book
            sound.measure(book, facts.gather(book), send_progress)
            error = ""
        except _Closed:
            pass
        except NarratorError as failure:
            error = str(failure)
        finally:  # whatever else it may be, the page must not wait for ever
            self._measuring.release()
            self.session.events.send({"type": "report", "activity": "", "error": error})
