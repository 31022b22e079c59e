"""Who may ask: whoever has the token, or, without one, who asks this machine by a name of its own.

A page of another site can send requests to this machine, and a name of its own may lead here
(rebinding): neither comes past, for no page knows the token, and where there is none Host and
Origin are checked. Browsers' pages are let in by their origins alone, where these were named.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection
from dataclasses import dataclass

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from narrator.serve.refusals import Refusal
from narrator.web.hosts import Hosts

HEALTH = "/health"
"""Asked by what watches servers, which has no token."""


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms somebody is let in."""

    hosts: Hosts
    token: str | None
    """None: whoever is on this machine."""
    origins: Collection[str] = ()
    """Of pages that may ask; "*" is any."""


class Door:
    """Stands before every route."""

    def __init__(self, app: ASGIApp, terms: Terms) -> None:
        self._app, self._terms = app, terms

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        scope["request_id"] = name = secrets.token_hex(6)
        allowed = self._allowed(headers.get("origin"))

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                said = MutableHeaders(scope=message)
                said["x-request-id"] = name
                said["x-content-type-options"] = "nosniff"
                said["cache-control"] = "no-store"
                if self._terms.origins:
                    said["vary"] = "Origin"
                if allowed:
                    said["access-control-allow-origin"] = allowed
                    said["access-control-expose-headers"] = "*"
            await send(message)

        if allowed and scope["method"] == "OPTIONS":
            await _preflight()(scope, receive, marked)
            return
        refused = self._refusal(scope, headers, allowed)
        await (refused.answer() if refused else self._app)(scope, receive, marked)

    def _allowed(self, origin: str | None) -> str | None:
        """The origin that an answer lets read it."""
        if origin is None:
            return None
        named = {one.rstrip("/").casefold() for one in self._terms.origins}
        return origin if "*" in named or origin.casefold() in named else None

    def _refusal(self, scope: Scope, headers: Headers, allowed: str | None) -> Refusal | None:
        token = self._terms.token
        if token is not None and scope["path"] != HEALTH:
            return None if _holds(headers, token) else _locked()
        host = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or not self._terms.hosts.knows(host):
            return Refusal(
                403,
                "this server is not called so: ask it at localhost, or set NARRATOR_SERVE_TOKEN "
                "for it and send that",
            )
        origin = headers.get("origin")
        if origin is not None and allowed is None and origin.casefold() != f"http://{host}":
            return Refusal(403, "pages of this origin may not ask: --cors lets them")
        return None


def _holds(headers: Headers, token: str) -> bool:
    kind, _, given = headers.get("authorization", "").partition(" ")
    fits = secrets.compare_digest(given.strip().encode(), token.encode())
    return fits and kind.casefold() == "bearer"


def _locked() -> Refusal:
    return Refusal(
        401,
        "no token, or a wrong one: send the one that `narrator serve` shows, as "
        "Authorization: Bearer TOKEN (an API key, in most programs)",
        code="invalid_api_key",
        headers={"www-authenticate": "Bearer"},
    )


def _preflight() -> Response:
    return Response(
        status_code=204,
        headers={
            "access-control-allow-methods": "GET, POST",
            "access-control-allow-headers": "authorization, content-type, *",
            "access-control-max-age": "600",
        },
    )
