"""The start page's server: the projects of a folder, and the studios of those that are open.

A book opens under `/book/ID/`, with the routes that it has in a studio of its own. All are behind
one guard, and read their texts one after the other in the main thread. Knows nothing of requests
to a book.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from narrator.errors import NarratorError
from narrator.importing import remove_abandoned_folders
from narrator.pipeline.session import logging_to
from narrator.project import load
from narrator.studio import people, server
from narrator.studio.book_app import BookApp
from narrator.studio.events import Events
from narrator.studio.import_routes import ImportRoutes
from narrator.studio.model_fetch import ModelFetch
from narrator.studio.pages import start_page, static_response
from narrator.studio.people import OWNER, Guests, LinkKeys
from narrator.studio.projects import ProgressCounts, find_project, find_projects, project_row
from narrator.studio.session import NotFound, ProjectSession
from narrator.web import bodies
from narrator.web.listening import Endpoint

MAX_OPEN_BOOKS = 6
"""Books that stay open though no page of them is: a long one takes 250 MB of memory."""


class Library:
    """The projects of a folder, and the open books."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self._imports = ImportRoutes(self.folder)
        self._model_fetch = ModelFetch()
        self.app: Starlette = server.app(
            [
                Route("/", self.page),
                Route("/static/{name}", self.static),
                Route("/api/projects", self.list_projects),
                Route("/api/projects/{id}/cover", self.cover),
                Route("/api/projects/{id}/progress", self.progress),
                Route("/api/projects/{id}/open", self.open, methods=["POST"]),
                *self._imports.routes(),
                *self._model_fetch.routes(),
                Mount("/book/{id}", _Dispatcher(self)),
            ]
        )
        self._books: dict[str, BookApp] = {}
        """By id, the one that was opened last at the end."""
        self._guests: dict[str, Guests] = {}
        """Those of all books that have some, by the book's id."""
        self._logs: dict[str, contextlib.ExitStack] = {}
        self._opening = asyncio.Lock()
        self._progress = ProgressCounts()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._place: Endpoint | None = None
        self._keys: LinkKeys | None = None

    # -- its life ----------------------------------------------------------------------------------

    def set_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def start(self, place: Endpoint, keys: LinkKeys) -> None:
        self._place, self._keys = place, keys
        remove_abandoned_folders(self.folder)
        for project in find_projects(self.folder):
            with contextlib.suppress(NarratorError):  # who opens the book is told
                guests = Guests(people.path_of(load.load(project.manifest)))
                self._guests[project.id] = guests
                guests.book = f"/book/{project.id}"
                keys.admit(guests)

    def refresh(self) -> None:
        for book in list(self._books.values()):
            book.refresh()
        self._imports.uploads.remove_old()

    def close(self) -> None:
        self._progress.close()
        self._imports.uploads.close()
        self._model_fetch.close()
        for id in list(self._books):
            self._close_book(id)

    # -- routes ------------------------------------------------------------------------------------

    async def page(self, request: Request) -> Response:
        return Response(start_page(), media_type="text/html")

    async def static(self, request: Request) -> Response:
        return static_response(request.path_params["name"])

    async def list_projects(self, request: Request) -> Response:
        def make_rows() -> dict[str, Any]:
            rows = [project_row(place) for place in find_projects(self.folder)]
            return {"folder": self.folder.name or str(self.folder), "projects": rows}

        return JSONResponse(await run_in_threadpool(make_rows))

    async def cover(self, request: Request) -> Response:
        """Serves the cover that the manifest names, which has been found to be a picture."""

        def find_cover() -> Path:
            place = find_project(self.folder, request.path_params["id"])
            cover = load.load(place.manifest).facts.cover
            if cover is None:
                raise NotFound("this book has no cover")
            return cover

        cover = await run_in_threadpool(find_cover)
        return FileResponse(
            cover, media_type="image/png" if cover.suffix.casefold() == ".png" else "image/jpeg"
        )

    async def progress(self, request: Request) -> Response:
        """Counts what is rendered of a project."""

        def count() -> Mapping[str, Any]:
            return self._progress.count(find_project(self.folder, request.path_params["id"]))

        return JSONResponse(await run_in_threadpool(count))

    async def open(self, request: Request) -> Response:
        """Opens a project's studio, which may take as long as its text takes to be read."""
        await bodies.read_json(request)
        id = request.path_params["id"]
        await self.open_book(id)
        return JSONResponse({"address": f"/book/{id}/"})

    # -- open books --------------------------------------------------------------------------------

    def find_book(self, id: str) -> BookApp | None:
        """Returns an open book, or None."""
        return self._books.get(id)

    async def open_book(self, id: str) -> BookApp:
        """Opens a book, unless it is open. Raises NotFound, NarratorError."""
        place = await run_in_threadpool(find_project, self.folder, id)
        async with self._opening:
            if id not in self._books:
                await self._close_idle_books()
                await self._read_book(id, place.manifest)
        return self._books[id]

    async def _read_book(self, id: str, manifest: Path) -> None:
        session = ProjectSession(manifest, Events())
        assert self._loop is not None
        assert self._place is not None
        assert self._keys is not None
        session.set_loop(self._loop)
        await session.run("reading the manuscript", session.open)
        book = BookApp(session, self._guests.get(id), self.folder)
        self._guests[id] = book.guests
        self._logs[id] = contextlib.ExitStack()
        self._logs[id].enter_context(logging_to(session.view.project))
        book.start(self._place, self._keys, f"/book/{id}")
        self._books[id] = book

    async def _close_idle_books(self) -> None:
        """Closes those opened first of which no page is open, to make room for one."""
        for id, book in list(self._books.items()):
            if len(self._books) >= MAX_OPEN_BOOKS and book.is_idle:
                await run_in_threadpool(self._close_book, id)

    def _close_book(self, id: str) -> None:
        self._books.pop(id).close()
        self._logs.pop(id).close()
        assert self._keys is not None
        self._keys.admit(self._guests[id])  # they may come again, which opens the book


class _Dispatcher:
    """Sends requests to the open book that they name."""

    def __init__(self, library: Library) -> None:
        self._library = library

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        id = scope["path_params"]["id"]
        book = self._library.find_book(id)
        if book is None and scope["person"] is not OWNER:
            book = await self._library.open_book(id)  # the guard lets guests into their own alone
        answer: ASGIApp
        if book is not None:
            answer = book.app
        elif scope["path"] == f"/book/{id}/" and id.isalnum():
            answer = RedirectResponse(f"/#open={id}", 303)  # the start page opens it
        else:
            answer = JSONResponse(
                {"error": "this book is not open; open it on the start page"}, 404
            )
        await answer(scope, receive, send)
