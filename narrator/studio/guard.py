"""Access control of the studio: one-time tokens, cookies, Host and Origin, security headers.

Runs before every route. Pages of other sites can send requests to this machine, and their host
names may resolve to it (DNS rebinding): both are refused. Knows nothing of books.
"""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from narrator.web.hosts import Hosts

_SECURITY_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; media-src 'self' blob:; connect-src 'self'; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
"""Security headers of every answer."""

_PAGE = re.compile("/(?:book/[0-9a-f]+/)?")
"""Paths of pages: the only ones that may be opened from elsewhere, by a link."""

_LOCKED_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>narrator studio</title>
<h1>Open the studio's link again</h1>
<p>This browser has no key to the studio. The terminal that <code>narrator studio</code> runs in
shows a link that has one; each link opens it once.</p>
</html>
"""


class LinkKeys:
    """The token of the next link, and the cookies issued for earlier ones."""

    def __init__(self, on_used: Callable[[str], None]) -> None:
        """`on_used` is called with the token of the next link once a link has been used."""
        self._on_used, self._mutex = on_used, threading.Lock()
        self._sessions: set[str] = set()
        self.token = secrets.token_urlsafe(32)

    def redeem(self, token: str) -> str | None:
        """Returns a cookie for the current token, which becomes invalid; None for any other."""
        with self._mutex:
            if not secrets.compare_digest(token.encode(), self.token.encode()):
                return None
            session, self.token = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
            self._sessions.add(session)
            next_token = self.token
        self._on_used(next_token)
        return session

    def is_valid(self, session: str) -> bool:
        """True if a cookie was issued here."""
        is_valid = False
        for issued in self._sessions:  # all of them, so that the time taken says nothing
            is_valid |= secrets.compare_digest(session.encode(), issued.encode())
        return is_valid


class Guard:
    """Admits requests with the cookie that come from this page, or from no page at all."""

    def __init__(self, app: ASGIApp, keys: LinkKeys, hosts: Hosts) -> None:
        self._app, self._keys, self._hosts = app, keys, hosts
        self.cookie = f"narrator-{hosts.port}"
        """The cookie's name has the port: cookies are shared by all ports of a host."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def send_with_security_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self._refusal(scope)
        await (answer or self._app)(scope, receive, send_with_security_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        """Returns the answer to a request that is refused or redirected; None admits it."""
        headers, path, method = Headers(scope=scope), scope["path"], scope["method"]
        host = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or not self._hosts.knows(host):
            return _error(
                403, "this server is not called so; open the link that the terminal shows"
            )
        is_page = bool(_PAGE.fullmatch(path)) and method in ("GET", "HEAD")
        if not is_page and (why := _foreign_reason(headers, method, f"http://{host}".casefold())):
            return _error(403, why)
        if is_page and (tokens := parse_qs(scope["query_string"].decode("latin-1")).get("token")):
            if session := self._keys.redeem(tokens[0]):
                answer = RedirectResponse("/", 303)
                answer.set_cookie(self.cookie, session, httponly=True, samesite="strict")
                return answer
            if self._is_known(headers):
                return RedirectResponse("/", 303)
        if self._is_known(headers):
            return None
        if is_page:
            return Response(_LOCKED_PAGE, 401, media_type="text/html")
        return _error(401, "open the link again that the terminal shows")

    def _is_known(self, headers: Headers) -> bool:
        """True if a request holds a cookie that was issued here."""
        try:
            cookie = SimpleCookie("; ".join(headers.getlist("cookie"))).get(self.cookie)
        except CookieError:
            return False
        return cookie is not None and self._keys.is_valid(cookie.value)


def _foreign_reason(headers: Headers, method: str, own_origin: str) -> str:
    """Returns why a request seems to come from another site; empty if it does not."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    is_foreign_origin = origin is not None and origin.casefold() != own_origin
    if is_foreign_origin or site not in (None, "same-origin", "none"):
        return "this comes from a page of another site"
    changes_something = method not in ("GET", "HEAD")
    if changes_something and origin is None and site != "same-origin":
        return "what changes something must say where it comes from: an Origin is missing"
    return ""


def _error(status: int, message: str) -> Response:
    return JSONResponse({"error": message}, status)
