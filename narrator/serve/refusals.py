"""Errors as answers, in the form that OpenAI documents: `{error: {message, type, param, code}}`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from narrator.cast.voicebook import UnknownVoice
from narrator.errors import EngineUnavailable, NarratorError, UserError
from narrator.files import TooLarge
from narrator.speech.service import QueueFull
from narrator.web import bodies

CLIENT_ERROR, SERVER_ERROR = "invalid_request_error", "server_error"


class Refusal(Exception):
    """An error answer to a request."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = CLIENT_ERROR,
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.status, self.headers = status, headers
        self.error = {"message": message, "type": kind, "param": param, "code": code}

    def answer(self) -> Response:
        return JSONResponse({"error": self.error}, self.status, self.headers)


def refusal_for(error: Exception) -> Refusal:
    """Converts an error to a refusal."""
    if isinstance(error, Refusal):
        return error
    for kind, make_refusal in _REFUSALS:
        if isinstance(error, kind):
            return make_refusal(error)
    message = f"a fault of narrator's own: {type(error).__name__}"
    return Refusal(500, message, kind=SERVER_ERROR)


def handle_error(request: Request, error: Exception) -> Response:
    """Answers an error; an exception handler of Starlette."""
    return refusal_for(error).answer()


def _refuse_full(error: Exception) -> Refusal:
    retry_after = str(math.ceil(error.retry_seconds)) if isinstance(error, QueueFull) else "1"
    return Refusal(
        429,
        f"too many texts wait already; try again in {retry_after} s",
        kind="requests",
        code="rate_limit_exceeded",
        headers={"retry-after": retry_after},
    )


def _refuse_mistake(error: Exception) -> Refusal:
    return Refusal(400, str(error))


def _refuse_http(error: Exception) -> Refusal:
    status = error.status_code if isinstance(error, HTTPException) else 500
    messages = {
        404: "there is no such address: speech is POST /v1/audio/speech",
        405: "this is asked with another method: POST /v1/audio/speech, GET the others",
    }
    return Refusal(status, messages.get(status, "this cannot be asked"))


def _refuse_and_close(status: int, message: str) -> Callable[[Exception], Refusal]:
    """Refuses a request whose body is not read to its end."""
    return lambda error: Refusal(status, message, headers={"connection": "close"})


_REFUSALS: tuple[tuple[type[Exception], Callable[[Exception], Refusal]], ...] = (
    (QueueFull, _refuse_full),
    (TooLarge, _refuse_and_close(413, "this is more than is taken here")),
    (bodies.BodyTimeout, _refuse_and_close(408, "what was sent did not come to its end")),
    (bodies.UnsupportedMediaType, _refuse_and_close(415,
    "this is taken as application/json alone")),
    (ClientDisconnect, _refuse_and_close(400, "who sent it has gone")),
    (
        UnknownVoice,
        lambda error: Refusal(404, str(error), param="voice", code="voice_not_found"),
    ),
    (UserError, _refuse_mistake),
    (EngineUnavailable, lambda error: Refusal(503, str(error), kind=SERVER_ERROR)),
    (NarratorError, lambda error: Refusal(500, str(error), kind=SERVER_ERROR)),
    (HTTPException, _refuse_http),
)  # fmt: skip
"""Subclasses come before their bases."""
HANDLED_ERRORS = (*(kind for kind, _ in _REFUSALS), Refusal, Exception)
"""Errors that `handle_error` handles."""
