"""The application: all routes, and errors as answers.

Errors that a user can mend are one or two lines of JSON; internal ones say that they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from narrator import files
from narrator.errors import EnvironmentFailed, FileChanged, NarratorError, UsageError, UserError
from narrator.studio.people import OWNER
from narrator.studio.session import NotFound
from narrator.web import bodies

_PATH = re.compile(r"/\S*/")
"""A path up to a file's name, which guests are not told."""
_MAX_ERROR_LINES = 3
"""Most lines of an error in an answer."""


def app(routes: Sequence[BaseRoute]) -> Starlette:
    """Returns the application of these routes."""
    return Starlette(
        routes=list(routes),
        exception_handlers={
            NotFound: _error_handler(404),
            FileChanged: _handle_changed_file,
            UsageError: _error_handler(400),
            UserError: _error_handler(422),
            EnvironmentFailed: _error_handler(503),
            NarratorError: _error_handler(409),
            OSError: _error_handler(503),
            files.TooLarge: _closing_handler(413, "the request is too large"),
            bodies.BodyTimeout: _closing_handler(408, "the request did not arrive in time"),
            bodies.UnsupportedMediaType: _closing_handler(
                415, "the request must be application/json"
            ),
            ClientDisconnect: _closing_handler(400, "the client has disconnected"),
            HTTPException: _handle_http_error,
            Exception: _handle_internal_error,
        },
    )


_Handler = Callable[[Request, Exception], Response]


def _error_handler(status: int) -> _Handler:
    def answer(request: Request, error: Exception) -> Response:
        person = request.scope.get("person", OWNER)
        message = files.reason(error) if isinstance(error, OSError) else str(error)
        message = message if person is OWNER else _PATH.sub("", message)
        lines = message.splitlines()
        more = (
            f" (and {len(lines) - _MAX_ERROR_LINES} more)" if len(lines) > _MAX_ERROR_LINES else ""
        )
        return _error(status, "\n".join(lines[:_MAX_ERROR_LINES]) + more)

    return answer


def _closing_handler(status: int, message: str) -> _Handler:
    """Handles errors of request bodies that are not read to their end."""

    def answer(request: Request, error: Exception) -> Response:
        return _error(status, message, {"connection": "close"})

    return answer


def _handle_changed_file(request: Request, error: Exception) -> Response:
    assert isinstance(error, FileChanged)
    facts = {"error": str(error), "there": error.present_text, "wanted": error.intended_text}
    return JSONResponse(facts, 409)


def _handle_http_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    message = {404: "there is no such address", 405: "this address does not take such requests"}
    return _error(status, message.get(status, "the request cannot be answered"))


def _handle_internal_error(request: Request, error: Exception) -> Response:
    return _error(500, f"a fault of narrator's own: {type(error).__name__}; its log has more")


def _error(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    # a message may repeat half of a character, which JSON sent by its code
    message = message.encode("utf-8", "replace").decode()
    return JSONResponse({"error": message}, status, headers)
