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
from narrator.speech.switchboard import Full
from narrator.web import bodies

MISTAKE, FAULT = "invalid_request_error", "server_error"


class Refusal(Exception):
    """Why a request is not done, as it is told."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = MISTAKE,
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.status, self.headers = status, headers
        self.error = {"message": message, "type": kind, "param": param, "code": code}

    def answer(self) -> Response:
        return JSONResponse({"error": self.error}, self.status, self.headers)


def of(error: Exception) -> Refusal:
    """What somebody is told of an error."""
    if isinstance(error, Refusal):
        return error
    for kind, refused in _KINDS:
        if isinstance(error, kind):
            return refused(error)
    what = f"a fault of narrator's own: {type(error).__name__}"
    return Refusal(500, what, kind=FAULT)


def answered(request: Request, error: Exception) -> Response:
    """For Starlette."""
    return of(error).answer()


def _full(error: Exception) -> Refusal:
    after = str(math.ceil(error.after)) if isinstance(error, Full) else "1"
    return Refusal(
        429,
        f"too many texts wait already; try again in {after} s",
        kind="requests",
        code="rate_limit_exceeded",
        headers={"retry-after": after},
    )


def _mistaken(error: Exception) -> Refusal:
    return Refusal(400, str(error))


def _http(error: Exception) -> Refusal:
    status = error.status_code if isinstance(error, HTTPException) else 500
    what = {
        404: "there is no such address: speech is POST /v1/audio/speech",
        405: "this is asked with another method: POST /v1/audio/speech, GET the others",
    }
    return Refusal(status, what.get(status, "this cannot be asked"))


def _closing(status: int, message: str) -> Callable[[Exception], Refusal]:
    """For bodies that are not read to their end."""
    return lambda error: Refusal(status, message, headers={"connection": "close"})


_KINDS: tuple[tuple[type[Exception], Callable[[Exception], Refusal]], ...] = (
    (Full, _full),
    (TooLarge, _closing(413, "this is more than is taken here")),
    (bodies.TooSlow, _closing(408, "what was sent did not come to its end")),
    (bodies.NotTaken, _closing(415, "this is taken as application/json alone")),
    (ClientDisconnect, _closing(400, "who sent it has gone")),
    (
        UnknownVoice,
        lambda error: Refusal(404, str(error), param="voice", code="voice_not_found"),
    ),
    (UserError, _mistaken),
    (EngineUnavailable, lambda error: Refusal(503, str(error), kind=FAULT)),
    (NarratorError, lambda error: Refusal(500, str(error), kind=FAULT)),
    (HTTPException, _http),
)  # fmt: skip
"""The more special ones first."""
KINDS = (*(kind for kind, _ in _KINDS), Refusal, Exception)
"""What Starlette is to hand over."""
