"""Routes that show the book: the page, chapters, chunks, their sound.

No part of an address becomes the path of a file: names are looked up among the existing ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from narrator.delivery import layout
from narrator.errors import DamagedTake, UserError
from narrator.pipeline import edits, places
from narrator.speech.plan import Step
from narrator.studio import peaks, ranges, rows, sounds
from narrator.studio.jobs import Jobs
from narrator.studio.pages import page, static_response
from narrator.studio.people import OWNER, Guests, Person, Rights
from narrator.studio.session import NotFound, ProjectSession, ProjectSnapshot
from narrator.web import bodies

_KEY = re.compile("[0-9a-f]{40}")
_LISTENERS_TOPICS = ("book", "chapter", "people")
"""Events for guests who listen."""
_WITHHELD: rows.Row = {
    "jobs": {"running": None, "queue": [], "progress": None, "last": None, "earlier": []},
    "warnings": [],
    "trouble": "",
    "undo": None,
    "redo": None,
}
"""What guests who listen are shown of work on the book, whose messages may name files."""


class ViewRoutes:
    """Routes that show the book and play its sound."""

    def __init__(self, session: ProjectSession, jobs: Jobs, guests: Guests) -> None:
        self.session, self.jobs, self.guests = session, jobs, guests
        self._book_rows = rows.BookRows()

    def routes(self) -> list[Route]:
        return [
            Route("/", self.page),
            Route("/static/{name}", self.static),
            Route("/api/events", self.events),
            Route("/api/book", self.book),
            Route("/api/chapters/{number}", self.chapter),
            Route("/api/chunks/{id}", self.chunk),
            Route("/api/peaks/{number}", self.peaks),
            Route("/api/draft", self.draft, methods=["POST"]),
            Route("/sound/chapters/{number}/{key}", self.chapter_sound),
            Route("/sound/tries/{key}/{number}", self.try_sound),
        ]

    # -- the page ----------------------------------------------------------------------------------

    async def page(self, request: Request) -> Response:
        person = request.scope["person"]
        place = str(request.scope.get("root_path", "")) if person is OWNER else ""
        text = page(self.session.view, place.rpartition("/")[2], person)
        return Response(text, media_type="text/html")

    async def static(self, request: Request) -> Response:
        return static_response(request.path_params["name"])

    async def events(self, request: Request) -> Response:
        person: Person = request.scope["person"]
        topics = _LISTENERS_TOPICS if person.rights is Rights.LISTEN else ()
        lines = self.session.events.listen(
            person.id, topics, lambda: self.guests.is_welcome(person)
        )
        if await anext(lines, None) is None:
            return JSONResponse({"error": "too many pages are open: close some"}, 503)
        return StreamingResponse(lines, media_type="text/event-stream")

    # -- what is looked at -------------------------------------------------------------------------

    async def book(self, request: Request) -> Response:
        person: Person = request.scope["person"]

        def make_row(view: ProjectSnapshot) -> rows.Row:
            states = partial(self.session.chunk_states, view=view)
            row = rows.book(view, states, self.session.lengths, self._book_rows)
            row |= {"busy": self.session.busy, "jobs": self.jobs.state()}
            row["you"] = {"name": self.guests.name_of(person), "rights": person.rights}
            if person.rights is Rights.LISTEN:
                row |= {**_WITHHELD, "can": {**view.available_voices, "why_not": ""}}
            return row

        return await self._row_response(make_row)

    async def chapter(self, request: Request) -> Response:
        def make_row(view: ProjectSnapshot) -> rows.Row:
            number = view.number(request.path_params["number"])
            return rows.chapter(
                view, number, self.session.sound(number), self.session.chunk_states(number, view)
            )

        return await self._row_response(make_row)

    async def chunk(self, request: Request) -> Response:
        person: Person = request.scope["person"]

        def make_row(view: ProjectSnapshot) -> rows.Row:
            step = view.step(request.path_params["id"])
            row = rows.chunk(view, step)
            if person.rights is Rights.LISTEN:
                return row
            return row | {"paragraph": _paragraph_row(view, step)}

        return await self._row_response(make_row)

    async def draft(self, request: Request) -> Response:
        is_draft = bodies.boolean_field(await bodies.read_json(request), "draft")
        await self.session.run("reading the takes", lambda: self.session.choose_voice(is_draft))
        view = self.session.view
        return JSONResponse(
            {
                "draft": view.draft,
                "version": view.version,
                "why_not": view.available_voices["why_not"],
            }
        )

    async def _row_response(
        self, make_row: Callable[[ProjectSnapshot], Mapping[str, object]]
    ) -> Response:
        """Answers with a row of the current snapshot, made in a thread."""
        return await run_in_threadpool(lambda: JSONResponse(make_row(self.session.view)))

    # -- sound -------------------------------------------------------------------------------------

    async def chapter_sound(self, request: Request) -> Response:
        number = self.session.view.number(request.path_params["number"])
        key = request.path_params["key"]
        sound = await run_in_threadpool(self.session.find_sound, number, key)
        return ranges.answer(request, sound.bytes)

    async def peaks(self, request: Request) -> Response:
        """Serves the waveform of a chapter's sound; `v` is the tag of that sound."""

        def make_peaks() -> bytes:
            view = self.session.view
            number = view.number(request.path_params["number"])
            sound = self.session.current_sound(number, request.query_params.get("v"))
            words = layout.lay_out_words(view.book, view.chapters.get(number, ()), view.book_sound)
            if words is None or len(words.timeline.takes) != len(sound.timeline.cues):
                raise NotFound("the takes of this chapter have changed: load the chapter again")
            cache_path = view.book.folders.work("peaks") / f"{number + 1:03}.json"
            return peaks.chapter_peaks(sound, words, cache_path)

        return Response(await run_in_threadpool(make_peaks), media_type="application/octet-stream")

    async def try_sound(self, request: Request) -> Response:
        key, number = request.path_params["key"], request.path_params["number"]

        def read_sound() -> sounds.PlainBytes:
            if not (_KEY.fullmatch(key) and re.fullmatch("[0-9]{1,6}", number)):
                raise NotFound("there is no such try")
            store = self.session.view.book.store
            try:
                samples, rate = store.read_try(key, int(number)) if int(number) else store.read(key)
            except DamagedTake as error:
                raise NotFound(str(error)) from None
            return sounds.PlainBytes(sounds.wav(samples, rate), f"{key}-{number}")

        return ranges.answer(request, await run_in_threadpool(read_sound))


def _paragraph_row(view: ProjectSnapshot, step: Step) -> rows.Row:
    """Returns the source paragraph of a chunk, or why it cannot be edited here."""
    try:
        paragraph = edits.paragraph(view.book, step)
    except UserError as error:
        return {"error": str(error)}
    return {
        "file": places.relative_path(paragraph.path, view.book),
        "first": paragraph.first,
        "last": paragraph.last,
        "text": paragraph.text,
        "sha": paragraph.sha,
    }
