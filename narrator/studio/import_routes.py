"""Routes from a manuscript to a project: uploads, what is read of them, the new project.

The client's file name is text only; the project's folder is named by the title, and never one that
exists.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, cast, get_args

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from manuscripts import Book, Choices, CoverImage, ImportedChapter, Notes, Reading, Skipped
from narrator import files, importing
from narrator.delivery.export.cover import check_cover
from narrator.errors import UsageError
from narrator.files import TooLarge
from narrator.importing.doubts import HEADING_ADVICE
from narrator.project.place import MANIFEST_NAME
from narrator.quantities import format_bytes
from narrator.studio.projects import id_of
from narrator.studio.session import NotFound
from narrator.studio.uploads import MAX_UPLOAD_BYTES, Upload, Uploads
from narrator.studio.uploads import root as uploads_folder
from narrator.text.markup import plain_text
from narrator.text.normalize import grammars
from narrator.text.pace import expected_seconds
from narrator.web import bodies
from textbase import languages
from textbase.characters import strip_invisible

_MAX_UPLOAD_SECONDS = 3600.0
MAX_COVER_BYTES = 20_000_000
MAX_TITLE_LENGTH = 300
MAX_AUTHORS = 50
_EXCERPT_LENGTH = 160
_OPTION_ADVICE = re.compile(r";?\s*--[a-z-]+ [^.;]*(?=[.;]|$)")
"""Advice on options of the command line, which the page has fields for."""


class ImportRoutes:
    """Routes that make a project in a folder of projects."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.uploads = folder, Uploads()
        self._making = threading.Lock()

    def routes(self) -> list[Route]:
        return [
            Route("/api/manuscripts", self.add, methods=["POST"]),
            Route("/api/manuscripts/{id}", self.show),
            Route("/api/manuscripts/{id}", self.remove, methods=["DELETE"]),
            Route("/api/manuscripts/{id}/read", self.read, methods=["POST"]),
            Route("/api/manuscripts/{id}/cover", self.cover),
            Route("/api/manuscripts/{id}/cover", self.set_cover, methods=["PUT"]),
            Route("/api/manuscripts/{id}/project", self.make_project, methods=["POST"]),
        ]

    def _upload(self, request: Request) -> Upload:
        return self.uploads.find(request.path_params["id"])

    async def add(self, request: Request) -> Response:
        """Takes a manuscript, and begins to read it."""
        name = request.query_params.get("name", "")
        upload = await run_in_threadpool(self.uploads.add, name)
        try:
            await bodies.save_body(request, upload.path, MAX_UPLOAD_BYTES, _MAX_UPLOAD_SECONDS)
        except BaseException as error:  # the client may be gone, which is a cancellation
            self.uploads.remove(upload)
            if isinstance(error, TooLarge):
                message = f"{upload.name} is larger than {format_bytes(MAX_UPLOAD_BYTES)}"
                return JSONResponse({"error": message}, 413, {"connection": "close"})
            if isinstance(error, OSError):
                message = f"{upload.name} was not kept: {files.reason(error)} ({uploads_folder()})"
                return JSONResponse({"error": message}, 503, {"connection": "close"})
            raise
        self.uploads.read(upload, Choices())
        return JSONResponse({"id": upload.id})

    async def show(self, request: Request) -> Response:
        """Answers with the state of a manuscript, and with its book once it is read."""
        upload = self._upload(request)
        row: dict[str, Any] = {
            "id": upload.id,
            "name": upload.name,
            "state": upload.state,
            "error": upload.error,
            "seconds": round(time.monotonic() - upload.began, 1),
        }
        if (book := upload.book) is not None:
            row["book"] = await run_in_threadpool(_book_row, book, upload)
        return JSONResponse(row)

    async def remove(self, request: Request) -> Response:
        """Stops reading a manuscript, and deletes it."""
        await run_in_threadpool(self.uploads.remove, self._upload(request))
        return JSONResponse({})

    async def read(self, request: Request) -> Response:
        """Reads a manuscript again, with other choices."""
        body = await bodies.read_json(request)
        self.uploads.read(self._upload(request), _choices(body))
        return JSONResponse({})

    async def cover(self, request: Request) -> Response:
        upload = self._upload(request)
        cover = _cover_of(upload)
        if cover is None:
            raise NotFound("this manuscript has no cover")
        kind = "image/png" if cover.suffix == ".png" else "image/jpeg"
        return Response(cover.data, media_type=kind)

    async def set_cover(self, request: Request) -> Response:
        """Takes another cover."""
        upload = self._upload(request)
        data = await bodies.read_body(request, MAX_COVER_BYTES)
        kind = (await run_in_threadpool(check_cover, data)).kind
        upload.cover = CoverImage(data, ".png" if kind == "png" else ".jpg")
        return JSONResponse({})

    async def make_project(self, request: Request) -> Response:
        """Makes a project of a manuscript as the page shows it."""
        body = await bodies.read_json(request)
        upload = self._upload(request)
        if upload.book is None:
            raise UsageError("the manuscript is not read yet")
        book = _corrected_book(upload.book, _cover_of(upload), body)
        id = await run_in_threadpool(self._write, book, upload)
        await run_in_threadpool(self.uploads.remove, upload)
        return JSONResponse({"id": id})

    def _write(self, book: Book, upload: Upload) -> str:
        """Writes a project into a new folder, and returns its id. Raises NarratorError."""
        original = upload.path if book.format == "EPUB" else None
        with self._making:
            name = importing.folder_name(book.title)
            names = (f"{name}-{number}" if number > 1 else name for number in count(1))
            free_name = next(name for name in names if not os.path.lexists(self._folder / name))
            importing.write_project(book, self._folder / free_name, original)
        return id_of(self._folder / free_name / MANIFEST_NAME)


def _cover_of(upload: Upload) -> CoverImage | None:
    """Returns the cover that was chosen, else that of the manuscript."""
    return upload.cover or (upload.book.cover if upload.book else None)


# -- a request's fields ----------------------------------------------------------------------------


def _choices(body: Mapping[str, Any]) -> Choices:
    """Returns choices for another reading. Raises UsageError."""
    notes = bodies.optional_text_field(body, "notes", 20) or "omit"
    reading = bodies.optional_text_field(body, "reading", 20)
    heading = bodies.optional_text_field(body, "heading", 200)
    if notes not in get_args(Notes):
        raise UsageError(f"`notes` is one of {', '.join(get_args(Notes))}")
    if reading not in (None, *get_args(Reading)):
        raise UsageError(f"`reading` is one of {', '.join(get_args(Reading))}")
    return Choices(
        language=read_language(bodies.optional_text_field(body, "language", 40)),
        notes=cast("Notes", notes),
        reading=cast("Reading | None", reading),
        # words, not a pattern: who knows those has `narrator new`
        heading=re.compile(re.escape(heading.strip())) if heading and heading.strip() else None,
    )


def read_language(tag: str | None) -> str | None:
    """Returns a valid tag, or None for an empty one. Raises UsageError."""
    try:
        return languages.validate_tag(tag.strip()) if tag and tag.strip() else None
    except ValueError as error:
        raise UsageError(str(error)) from None


def _corrected_book(book: Book, cover: CoverImage | None, body: Mapping[str, Any]) -> Book:
    """Returns the book with title, authors, cover and chapters of the page. Raises UsageError."""
    title = _one_line(bodies.text_field(body, "title", MAX_TITLE_LENGTH))
    authors = [_one_line(author) for author in bodies.text_list_field(body, "authors", MAX_AUTHORS)]
    numbers = body.get("parts")
    if not isinstance(numbers, list) or not all(type(number) is int for number in numbers):
        raise UsageError("`parts` must be a list of numbers")
    if not title:
        raise UsageError("the book needs a title")
    return replace(
        importing.select_parts(book, set(numbers)),
        title=title,
        authors=tuple(filter(None, authors)) or ("Unknown",),
        cover=cover if bodies.boolean_field(body, "cover") else None,
    )


def known_languages(language: str) -> list[str]:
    """Returns the languages that a book can be given, with the one that it has."""
    return sorted({*grammars.languages(), "en", "ja", "zh", language})


def _one_line(text: str) -> str:
    return " ".join(strip_invisible(text).split())


# -- what the page shows ---------------------------------------------------------------------------


def _book_row(book: Book, upload: Upload) -> dict[str, Any]:
    """Returns what `narrator new` says of a book."""
    left_out = Counter[str]()
    places = Counter[str]()
    for skipped in book.left_out:
        if skipped.markdown is None:
            reason = skipped.reason.partition(": “")[0]
            left_out[reason] += skipped.words
            places[reason] += skipped.count
    oddities = [
        oddity.removesuffix(f" {HEADING_ADVICE}") for oddity in importing.book_oddities(book)
    ]
    remarks = [_OPTION_ADVICE.sub("", remark).strip() for remark in book.remarks]
    return {
        "title": book.title,
        "authors": [] if book.authors == ("Unknown",) else list(book.authors),
        "language": book.language,
        "languages": known_languages(book.language),
        "dialogue": book.dialogue,
        "notes": upload.choices.notes,
        "has_cover": _cover_of(upload) is not None,
        "parts": [_part_row(part, book.language) for part in importing.parts_of(book)],
        "left_out": [
            {"reason": reason, "words": words, "places": places[reason]}
            for reason, words in left_out.most_common()
        ],
        "remarks": [*oddities, *filter(None, remarks)],
        "quotations": 0 if book.speakers else importing.count_quotations(book),
    }


def _part_row(part: ImportedChapter | Skipped, language: str) -> dict[str, Any]:
    markdown = part.markdown or ""
    body = "\n".join(row for row in markdown.split("\n") if not row.startswith("#"))
    return {
        "title": part.title or (part.reason if isinstance(part, Skipped) else ""),
        "seconds": round(expected_seconds(markdown, language), 1),
        "words": part.words,
        "is_read": isinstance(part, ImportedChapter),
        "reason": part.reason if isinstance(part, Skipped) else "",
        "begin": _one_line(plain_text(body[: 8 * _EXCERPT_LENGTH]))[:_EXCERPT_LENGTH],
    }
