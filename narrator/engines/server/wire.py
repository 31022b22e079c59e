"""One request to a speech server and its whole answer, or why there is none.

HTTP/1.1 by the standard library: it follows no redirect, and goes past the proxies that the
environment names, since a key and a clip go to the address of the manifest and to nobody between.
A connection serves one request, which takes seconds: so none is found dead. Every answer is bounded
in time and size. Knows nothing of speech.
"""

from __future__ import annotations

import contextlib
import email.utils
import http.client
import json
import os
import re
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Event, Lock, Timer
from typing import Any, Literal
from urllib.parse import urlsplit

from narrator import __version__
from narrator.characters import quoted
from narrator.engines.server.settings import Address
from narrator.errors import EngineUnavailable

CONNECT = 10.0
"""Seconds for a connection."""
BLOCK = 1 << 16
MOST_SAID = 1 << 16
"""Bytes of an answer that is no sound."""

Sort = Literal["busy", "gone", "cut", "slow", "bad", "closed"]
"""What a setback asks for.

busy     too much at once (429): later, and less
gone     nobody is there, or not yet (refused, 502, 503, 504): when it is back
cut      an answer that broke off, or a fault of the server's (500): again
slow     no whole answer in time: again, and less
bad      this request will not be spoken: none of the others is to blame
closed   no request will be: the run ends
"""

_BUSY = frozenset((429,))
_GONE = frozenset((502, 503, 504, 520, 521, 522, 523, 524, 529))
_CLOSED = {
    402: "asks to be paid: look at the account",
    404: "has no such address, model or voice: look at `engine.url`, `engine.dialect`, "
    "`engine.model` and the voices",
    405: "does not take this here: look at `engine.url` and `engine.dialect`",
    407: "is behind a proxy, which is not used",
    410: "has this no more: look at `engine.url` and `engine.model`",
}


class Setback(Exception):
    """Why there is no sound: what to do about it, and one line for people."""

    def __init__(
        self, sort: Sort, said: str, *, status: int = 0, after: float | None = None
    ) -> None:
        self.sort, self.said = sort, said
        self.status = status
        """Of HTTP, where there was one."""
        self.after = after
        """Seconds after which the server wants to be asked again, where it says so."""
        super().__init__(said)


@dataclass(frozen=True, slots=True)
class WholeAnswer:
    """A whole answer of a server that took the request."""

    headers: Mapping[str, str]
    """By their names in lower case."""
    body: bytes

    @property
    def kind(self) -> str:
        """Its media type, in lower case, without parameters; "" where none is said."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


@dataclass(slots=True)
class Wire:
    """The way to one server, with what opens it."""

    address: Address
    key: str | None = None
    """Goes into the header of each request, and into no message."""
    context: ssl.SSLContext = field(default_factory=ssl.create_default_context)

    def call(self, method: str, path: str, *, timeout: float) -> Call:
        return Call(self, method, path, timeout)

    def clean(self, text: str) -> str:
        """A server's own words for a message: one line, without the key that it may repeat."""
        text = text.replace(self.key, "…") if self.key else text
        return quoted(" ".join(text.split()), 200)


def key_from(name: str | None) -> str | None:
    """The key in an environment variable. Raises EngineUnavailable, never with what it holds."""
    if name is None:
        return None
    key = os.environ.get(name, "").strip()
    if not key:
        raise EngineUnavailable(f"engine.key: the environment has no {name}: `export {name}=…`")
    if not re.fullmatch("[!-~]+", key):
        raise EngineUnavailable(f"engine.key: what {name} holds is no key: it has other characters")
    return key


class Call:
    """One request; `abort` ends it from another thread."""

    def __init__(self, wire: Wire, method: str, path: str, timeout: float) -> None:
        self._wire, self._method, self._path, self._timeout = wire, method, path, timeout
        self._lock = Lock()
        self._socket: socket.socket | None = None
        self._aborted, self._late = Event(), Event()

    def abort(self, late: bool = False) -> None:
        """End it now, wherever it is."""
        with self._lock:
            if late:
                self._late.set()
            self._aborted.set()
            self._shut()

    def send(self, body: Mapping[str, Any] | None = None, *, most: int = MOST_SAID) -> WholeAnswer:
        """Send it once; the answer has at most `most` bytes. Raises Setback."""
        # a server that sends a byte a minute is never silent: only a clock ends that
        clock = Timer(self._timeout, self.abort, (True,))
        clock.daemon = True
        clock.start()
        connection = self._connection()
        try:
            return self._exchange(connection, body, most)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._setback(error) from error
        finally:
            clock.cancel()
            with self._lock:
                self._socket = None
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        to, timeout = self._wire.address, min(CONNECT, self._timeout)
        if to.secure:
            context = self._wire.context
            return http.client.HTTPSConnection(to.host, to.port, timeout=timeout, context=context)
        return http.client.HTTPConnection(to.host, to.port, timeout=timeout)

    def _exchange(
        self, connection: http.client.HTTPConnection, body: Mapping[str, Any] | None, most: int
    ) -> WholeAnswer:
        if self._aborted.is_set():
            raise ConnectionAbortedError
        connection.connect()
        with self._lock:
            self._socket = connection.sock
            self._socket.settimeout(self._timeout)
            if self._aborted.is_set():
                self._shut()
        data = None if body is None else json.dumps(body).encode()
        # what refuses a long request may answer before it was read: the answer says why
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            path = self._wire.address.path + self._path
            connection.request(self._method, path, data, self._headers(data))
        response = connection.getresponse()
        headers = {name.lower(): value for name, value in response.getheaders()}
        if response.status // 100 != 2:
            said = b""
            with contextlib.suppress(Setback):
                said = _body(response, MOST_SAID)
            raise self._refusal(response.status, headers, said)
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise Setback("bad", "the server packs its answer, which was not asked for")
        return WholeAnswer(headers, _body(response, most))

    def _headers(self, data: bytes | None) -> dict[str, str]:
        headers = {
            "Accept-Encoding": "identity",
            "Connection": "close",
            "User-Agent": f"narrator/{__version__}",
        }
        if data is not None:
            headers["Content-Type"] = "application/json"
        if self._wire.key:
            headers["Authorization"] = f"Bearer {self._wire.key}"
        return headers

    def _shut(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def _setback(self, error: Exception) -> Setback:
        """What went wrong on the way, in words."""
        if self._late.is_set() or isinstance(error, TimeoutError):
            if self._socket is None and not self._late.is_set():
                return Setback("gone", f"no connection to {self._wire.address} in {CONNECT:.0f} s")
            return Setback("slow", f"no whole answer in {self._timeout:.0f} s")
        if isinstance(error, ssl.SSLCertVerificationError):
            why = error.verify_message or "certificate"
            return Setback(
                "closed",
                f"{self._wire.address} does not prove who it is ({why}): nothing was sent; where "
                "its certificate is your own, name it in SSL_CERT_FILE",
            )
        if isinstance(error, OSError) and self._socket is None:
            why = error.strerror or type(error).__name__
            return Setback("gone", f"no connection to {self._wire.address} ({why})")
        if isinstance(error, http.client.IncompleteRead):
            return Setback("cut", "half an answer: it broke off")
        if isinstance(error, OSError | http.client.RemoteDisconnected):
            return Setback("cut", "the server hung up before it had answered")
        return Setback("cut", f"no answer in HTTP ({type(error).__name__})")

    def _refusal(self, status: int, headers: Mapping[str, str], body: bytes) -> Setback:
        """A status that is none of success, in words."""
        said = self._wire.clean(_said(body))
        what = f"{status} {http.client.responses.get(status, '')}".strip()
        what += f": {said}" if said else ""
        if closed := self._closed(status, headers, body, what):
            return Setback("closed", closed, status=status)
        sort: Sort = "bad"
        if status in _BUSY or status in _GONE:
            sort = "busy" if status in _BUSY else "gone"
        elif status >= 500 or status in (408, 425):
            sort = "cut"
        return Setback(sort, what, status=status, after=_after(headers))

    def _closed(
        self, status: int, headers: Mapping[str, str], body: bytes, what: str
    ) -> str | None:
        """Why no other request will fare better, and what to do; None where one may."""
        if status // 100 == 3:
            host = self._wire.clean(urlsplit(headers.get("location", "")).netloc)
            to = f" to {host}" if host else ""
            mend = "which is not followed: name the right address in `engine.url`"
            return f"the server sends elsewhere{to} ({status}), {mend}"
        if status in (401, 403):  # without its own words, which may hold a part of the key
            return f"the server refuses the key ({status}): look at `engine.key` and its variable"
        if status == 429 and b"insufficient_quota" in body:
            return f"the account has nothing left ({what})"
        return f"the server {_CLOSED[status]} ({what})" if status in _CLOSED else None


def _body(response: http.client.HTTPResponse, most: int) -> bytes:
    """All of an answer. Raises Setback where it is longer than that, or broke off."""
    parts, size = list[bytes](), 0
    if (response.length or 0) > most:
        raise Setback(
            "bad", f"an answer of {response.length:,} bytes, far more than its text takes"
        )
    while block := response.read(BLOCK):
        parts.append(block)
        size += len(block)
        if size > most:
            raise Setback("bad", f"an answer of more than {most:,} bytes, far more than its text "
                          "takes")  # fmt: skip
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
    return b"".join(parts)


def _said(body: bytes) -> str:
    """The reason in an answer that is no sound: of OpenAI's form, FastAPI's, or plain."""
    text = body.decode("utf-8", "replace").strip()
    if text[:1] == "<":
        return "a web page"
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    for name in ("error", "detail", "message", "msg"):
        while isinstance(found, dict) and name in found:
            found = found[name]
    if isinstance(found, list):  # of FastAPI, for fields that are wrong
        rows = [row for row in found if isinstance(row, dict)]
        return "; ".join(f"{row.get('loc', '')} {row.get('msg', '')}".strip() for row in rows)
    return found if isinstance(found, str) else text


def sort_of(heard: WholeAnswer) -> str:
    """What an answer is that should be sound and is text, in words; "" where it may be sound."""
    begin = heard.body[:64].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if heard.kind in ("text/html", "application/xhtml+xml") or begin.startswith(
        (b"<!doc", b"<htm")
    ):
        return "a web page"
    if heard.kind == "application/json" or begin.startswith((b'{"', b"[{")):
        return f"a message ({_said(heard.body[:MOST_SAID])})"
    return "a text" if heard.kind.startswith("text/") else ""


def _after(headers: Mapping[str, str]) -> float | None:
    """Seconds of a Retry-After, which is a number or a date."""
    said = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,7}(\.\d{1,6})?", said):
        return float(said)
    try:
        when = email.utils.parsedate_to_datetime(said)
    except ValueError:
        return None
    return max(0.0, when.timestamp() - time.time())
