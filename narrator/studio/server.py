"""The routes: what is asked at which address, and errors as answers. Thin: each asks a neighbour.

No part of an address becomes the path of a file: names are looked up among those there are.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Mapping

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from narrator.delivery import layout
from narrator.errors import (
    DamagedTake,
    EnvironmentFailed,
    NarratorError,
    UsageError,
    UserError,
)
from narrator.speech.plan import Step
from narrator.studio import bodies, desk, peaks, ranges, rows, sounds
from narrator.studio.desk import Desk, View
from narrator.studio.pages import page, static

log = logging.getLogger("narrator.studio")
_KEY = re.compile("[0-9a-f]{40}")
Answer = Callable[[Request], Awaitable[Response]]


class NotThere(Exception):
    """What an address names is not there, or not any more."""


class Studio:
    """What the routes ask."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    # -- the page ----------------------------------------------------------------------------------

    async def page(self, request: Request) -> Response:
        return Response(page(self.desk.view), media_type="text/html")

    async def static(self, request: Request) -> Response:
        found = static(request.path_params["name"])
        if found is None:
            raise NotThere("there is no such file")
        data, kind = found
        return Response(data, media_type=kind)

    async def events(self, request: Request) -> Response:
        if self.desk.events.full:
            return _error(503, "too many pages are open: close some")
        return StreamingResponse(self.desk.events.listen(), media_type="text/event-stream")

    # -- what is looked at -------------------------------------------------------------------------

    async def book(self, request: Request) -> Response:
        return await self._told(lambda view: rows.book(view, frozenset()) | self._state())

    def _state(self) -> rows.Row:
        return {"busy": self.desk.busy, "undo": None, "redo": None,
                "jobs": {"running": None, "queue": [], "progress": None, "last": None}}  # fmt: skip

    async def chapter(self, request: Request) -> Response:
        def told(view: View) -> Mapping[str, object]:
            number = self._number(view, request)
            return rows.chapter(view, number, self.desk.sound(number), frozenset())

        return await self._told(told)

    async def chunk(self, request: Request) -> Response:
        return await self._told(lambda view: rows.chunk(view, self._step(view, request)))

    async def draft(self, request: Request) -> Response:
        wanted = bodies.flag(await bodies.asked(request), "draft")
        await self.desk.run("reading the takes", lambda: self.desk.look_at(wanted))
        return JSONResponse({"draft": self.desk.view.draft, "version": self.desk.view.version})

    async def _told(self, told: Callable[[View], Mapping[str, object]]) -> Response:
        """What is said of the reading there is, worked out in a thread."""
        return _json(await run_in_threadpool(lambda: told(self.desk.view)))

    # -- sound -------------------------------------------------------------------------------------

    async def chapter_sound(self, request: Request) -> Response:
        number = self._number(self.desk.view, request)
        tag = request.path_params["key"]
        found = await run_in_threadpool(self.desk.sound_named, number, tag)
        if found is None:
            raise NotThere("this chapter sounds otherwise now; ask for it again")
        return ranges.answer(request, found.bytes)

    async def peaks(self, request: Request) -> Response:
        def made() -> bytes:
            view = self.desk.view
            number = self._number(view, request)
            steps = view.chapters.get(number, ())
            sound = self.desk.sound(number)
            words = layout.words_of(view.book, steps, view.shared) if sound else None
            if sound is None or words is None or len(words.clips) != len(sound.timeline.cues):
                raise NotThere("nothing of this chapter is there yet")
            wanted = request.query_params.get("v")
            if wanted not in (None, sound.bytes.tag):
                raise NotThere("this chapter sounds otherwise now; ask for it again")
            kept = view.book.folders.work("peaks") / f"{number + 1:03}.json"
            return peaks.of_chapter(sound, words, kept)

        return Response(await run_in_threadpool(made), media_type="application/octet-stream")

    async def try_sound(self, request: Request) -> Response:
        key, number = request.path_params["key"], request.path_params["number"]

        def made() -> sounds.PlainBytes:
            if not _KEY.fullmatch(key) or not re.fullmatch(r"[0-9]{1,6}", number):
                raise NotThere("there is no such try")
            store = self.desk.view.book.store
            try:
                samples, rate = store.read_try(key, int(number)) if int(number) else store.read(key)
            except DamagedTake as error:
                raise NotThere(str(error)) from None
            return sounds.PlainBytes(sounds.wav(samples, rate), f"{key}-{number}")

        return ranges.answer(request, await run_in_threadpool(made))

    # -- names in addresses ------------------------------------------------------------------------

    def _number(self, view: View, request: Request) -> int:
        try:
            return desk.numbered(view, request.path_params["number"])
        except UsageError as error:
            raise NotThere(str(error)) from None

    def _step(self, view: View, request: Request) -> Step:
        try:
            return view.step(request.path_params["id"])
        except KeyError:
            raise NotThere("there is no such chunk; the text has changed") from None


def routes(studio: Studio) -> list[Route]:
    """Every address there is."""
    return [
        Route("/", studio.page),
        Route("/static/{name}", studio.static),
        Route("/api/events", studio.events),
        Route("/api/book", studio.book),
        Route("/api/chapters/{number}", studio.chapter),
        Route("/api/chunks/{id}", studio.chunk),
        Route("/api/peaks/{number}", studio.peaks),
        Route("/api/draft", studio.draft, methods=["POST"]),
        Route("/sound/chapters/{number}/{key}", studio.chapter_sound),
        Route("/sound/tries/{key}/{number}", studio.try_sound),
    ]


def app(studio: Studio) -> Starlette:
    """The application, errors and all."""
    return Starlette(
        routes=routes(studio),
        exception_handlers={
            NotThere: _answering(404),
            UserError: _answering(422),
            EnvironmentFailed: _answering(503),
            NarratorError: _answering(409),
            OSError: _answering(503),
            bodies.TooLarge: _too_large,
            bodies.TooSlow: _too_slow,
            bodies.NotTaken: _not_taken,
            UsageError: _answering(400),
            HTTPException: _http,
            Exception: _fault,
        },
    )


def _answering(status: int) -> Callable[[Request, Exception], Response]:
    def answer(request: Request, error: Exception) -> Response:
        return _error(status, _short(error))

    return answer


def _short(error: Exception) -> str:
    """The first lines of what is wrong."""
    lines = str(error).splitlines()
    more = f" (and {len(lines) - 3} more)" if len(lines) > 3 else ""
    return "\n".join(lines[:3]) + more


def _too_large(request: Request, error: Exception) -> Response:
    return _error(413, "this is more than is taken here", {"connection": "close"})


def _too_slow(request: Request, error: Exception) -> Response:
    return _error(408, "what was sent did not come to its end", {"connection": "close"})


def _not_taken(request: Request, error: Exception) -> Response:
    return _error(415, "this is taken as application/json alone")


def _http(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    what = {404: "there is no such address", 405: "this is asked otherwise here"}
    return _error(status, what.get(status, "this cannot be asked"))


def _fault(request: Request, error: Exception) -> Response:
    return _error(500, f"a fault of narrator's own: {type(error).__name__}")


def _error(status: int, what: str, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse({"error": what}, status, headers)


def _json(value: object) -> Response:
    return JSONResponse(value)
