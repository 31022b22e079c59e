"""Access control of the studio: links, cookies, rights, Host and Origin, security headers.

Runs before every route, and tells it whose request it is (`scope["person"]`). Pages of other sites
can send requests to this machine, and their host names may resolve to it (DNS rebinding): both are
refused. Knows nothing of books.
"""

from __future__ import annotations

import re
from collections import Counter
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from narrator.errors import StorageError
from narrator.studio.people import LinkKeys, Person, Rights, may
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
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>narrator studio</title>
<h1>Open the studio's link again</h1>
<p>This browser has no key to the studio. The terminal that <code>narrator studio</code> runs in
shows a link that has one; each link opens it once.</p>
<p>If you were invited, ask for a new link. If yours did not open the studio at its first use, say
so: somebody else may have used it.</p>
</html>
"""

_GUEST_SECONDS = 90 * 24 * 3600
"""Seconds for which a guest's browser keeps its cookie, unless they are removed; the owner's keeps
its own until it is closed."""

_MAX_REQUESTS_OF_GUEST = 24
"""Most requests of a guest at a time, so that those who read slowly leave connections to others."""

_WELCOME_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>narrator studio</title>
<meta http-equiv="refresh" content="0;url={address}">
<link rel="icon" href="data:,">
<p><a href="{address}">Open the studio</a></p>
</html>
"""
"""What a guest's link answers. A redirection from another site's page, such as one with mail, would
not carry the cookie, which is for requests from our own pages alone."""


class Guard:
    """Admits requests with the cookie that come from this page, or from no page at all."""

    def __init__(self, app: ASGIApp, keys: LinkKeys, hosts: Hosts) -> None:
        self._app, self._keys, self._hosts = app, keys, hosts
        self.cookie = f"narrator-{hosts.port}"
        """The cookie's name has the port: cookies are shared by all ports of a host."""
        self._guest_requests: Counter[str] = Counter()
        """Requests in progress of each guest, by their id."""

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
        guest = "" if answer else scope["person"].id
        if guest and self._guest_requests[guest] >= _MAX_REQUESTS_OF_GUEST:
            answer, guest = _error(503, "you ask for too much at once: close some pages"), ""
        self._guest_requests[guest] += 1
        try:
            await (answer or self._app)(scope, receive, send_with_security_headers)
        finally:
            self._guest_requests[guest] -= 1

    def _refusal(self, scope: Scope) -> Response | None:
        """Returns the answer to a request that is refused or redirected; None admits it."""
        headers, path, method = Headers(scope=scope), scope["path"], scope["method"]
        host = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or not self._hosts.knows(host):
            return _error(
                403, "this is not the studio's host name: open the link that the terminal shows"
            )
        is_page = bool(_PAGE.fullmatch(path)) and method in ("GET", "HEAD")
        own_origin = f"{scope['scheme']}://{host}".casefold()
        if not is_page and (why := _foreign_reason(headers, method, own_origin)):
            return _error(403, why)
        person = self._person(headers)
        query = scope["query_string"].decode("latin-1")
        if is_page and method == "GET" and (tokens := parse_qs(query).get("token")):
            return self._open_link(tokens[0], person, is_encrypted=scope["scheme"] == "https")
        if person is None:
            if is_page:
                return Response(_LOCKED_PAGE, 401, media_type="text/html")
            return _error(401, "open the link again that the terminal shows")
        if not may(person, method, path):
            if is_page:
                return RedirectResponse(f"{person.book}/", 303)
            return _error(403, "your link only lets you listen and flag: ask whoever invited you")
        scope["person"] = person
        return None

    def _open_link(self, token: str, person: Person | None, is_encrypted: bool) -> Response:
        """Answers a link: with a cookie if it is a new one and the browser is not the owner's."""
        if person is not None and person.rights is Rights.OWNER and token != self._keys.token:
            return RedirectResponse("/", 303)  # the owner looks at a guest's link, or goes back
        try:
            opened = self._keys.redeem(token)
        except StorageError as error:
            return _error(503, str(error))
        if opened is None:
            if person is not None:
                return RedirectResponse(f"{person.book}/", 303)
            return Response(_LOCKED_PAGE, 401, media_type="text/html")
        session, newcomer = opened
        answer: Response = RedirectResponse("/", 303)
        max_age_s = None
        if newcomer.rights is not Rights.OWNER:
            max_age_s = _GUEST_SECONDS
            page = _WELCOME_PAGE.format(address=f"{newcomer.book}/")
            answer = Response(page, media_type="text/html")
        answer.set_cookie(
            self.cookie,
            session,
            max_age_s,
            httponly=True,
            samesite="strict",
            secure=is_encrypted,
        )
        return answer

    def _person(self, headers: Headers) -> Person | None:
        """Returns whose cookie a request has, if it was issued here."""
        try:
            cookie = SimpleCookie("; ".join(headers.getlist("cookie"))).get(self.cookie)
        except CookieError:
            return None
        return None if cookie is None else self._keys.person(cookie.value)


def _foreign_reason(headers: Headers, method: str, own_origin: str) -> str:
    """Returns why a request seems to come from another site; empty if it does not."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    is_foreign_origin = origin is not None and origin.casefold() != own_origin
    if is_foreign_origin or site not in (None, "same-origin", "none"):
        return "this request comes from a page of another site"
    changes_something = method not in ("GET", "HEAD")
    if changes_something and origin is None and site != "same-origin":
        return "a request that changes something needs an Origin header"
    return ""


def _error(status: int, message: str) -> Response:
    return JSONResponse({"error": message}, status)
