"""Access control: clients with the token, or, without a token, those that use this machine's name.

A page of another site can send requests to this machine, and its domain may resolve to this address
(DNS rebinding). Neither is admitted: no page knows the token, and without one Host and Origin are
checked. Pages are admitted only from origins that were named.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection
from dataclasses import dataclass, field

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from narrator.serve.refusals import Refusal
from narrator.web.hosts import Hosts

HEALTH = "/health"
"""Path for health checks, which need no token."""


@dataclass(frozen=True, slots=True)
class AccessTerms:
    """The conditions for access."""

    hosts: Hosts
    token: str | None = field(repr=False)
    """None to admit everyone on this machine."""
    origins: Collection[str] = ()
    """Origins of pages that are admitted; "*" is any."""


class AccessControl:
    """Middleware that checks every request before its route."""

    def __init__(self, app: ASGIApp, terms: AccessTerms) -> None:
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

        async def send_marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                response_headers = MutableHeaders(scope=message)
                response_headers["x-request-id"] = name
                response_headers["x-content-type-options"] = "nosniff"
                response_headers["cache-control"] = "no-store"
                if self._terms.origins:
                    response_headers["vary"] = "Origin"
                if allowed:
                    response_headers["access-control-allow-origin"] = allowed
                    response_headers["access-control-expose-headers"] = "*"
            await send(message)

        if allowed and scope["method"] == "OPTIONS":
            await _preflight()(scope, receive, send_marked)
            return
        refusal = self._refusal(scope, headers, allowed)
        await (refusal.answer() if refusal else self._app)(scope, receive, send_marked)

    def _allowed(self, origin: str | None) -> str | None:
        """Returns the origin if its pages may read the answer."""
        if origin is None:
            return None
        origins = {allowed_origin.rstrip("/").casefold() for allowed_origin in self._terms.origins}
        return origin if "*" in origins or origin.casefold() in origins else None

    def _refusal(self, scope: Scope, headers: Headers, allowed: str | None) -> Refusal | None:
        token = self._terms.token
        if token is not None and scope["path"] != HEALTH:
            return None if _has_token(headers, token) else _unauthorized()
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


def _has_token(headers: Headers, token: str) -> bool:
    kind, _, sent_token = headers.get("authorization", "").partition(" ")
    is_equal = secrets.compare_digest(sent_token.strip().encode(), token.encode())
    return is_equal and kind.casefold() == "bearer"


def _unauthorized() -> Refusal:
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
