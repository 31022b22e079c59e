"""One request to a server, and its complete answer or a `Setback`.

HTTP/1.1 with the standard library. It follows no redirect and ignores proxies of the environment,
since keys, clips and texts are sent only to the address that was named. Every request has its own
connection, since it takes seconds anyway and a kept one may be dead. Every answer is limited in
time and size. Knows nothing of speech, nor of language models.
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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from threading import Event, Lock, Timer
from typing import Any, Literal
from urllib.parse import urlsplit

from narrator import __version__
from narrator.engines.server.settings import Address
from narrator.errors import EngineUnavailable
from textbase.characters import excerpt

CONNECT_TIMEOUT = 10.0
"""Seconds to connect."""
BLOCK_BYTES = 1 << 16
MAX_MESSAGE_BYTES = 1 << 16
"""Most bytes of an answer, unless a request allows more."""

SetbackCategory = Literal["busy", "gone", "cut", "slow", "bad", "closed"]
"""How to handle a setback.

busy     overloaded (429): try later, with fewer requests
gone     not reachable, or not ready (refused, 502, 503, 504): try when it is back
cut      the answer broke off, or the server failed (500): try again
slow     no complete answer in time: try again, with fewer requests
bad      this request cannot be answered; others may be
closed   no request can be answered: the run ends
"""

_BUSY_STATUSES = frozenset((429,))
_GONE_STATUSES = frozenset((502, 503, 504, 520, 521, 522, 523, 524, 529))
_CLOSED_REASONS = {
    402: "asks to be paid: look at the account",
    404: "has no such {names.parts}: look at {names.target}",
    405: "does not take this here: look at {names.api}",
    407: "is behind a proxy, which is not used",
    410: "has this no more: look at {names.url} and {names.model}",
}
"""HTTP status -> why no other request can succeed; `names` are SettingNames."""


@dataclass(frozen=True, slots=True)
class SettingNames:
    """Names of a server's settings in messages: by default, those in a manifest."""

    url: str = "`engine.url`"
    key: str = "`engine.key`"
    model: str = "`engine.model`"
    api: str = "`engine.url` and `engine.dialect`"
    """The settings that choose the server's API."""
    target: str = "`engine.url`, `engine.dialect`, `engine.model` and the voices"
    """The settings that choose what is asked of the server."""
    parts: str = "address, model or voice"
    """Parts of a request that a server may not have."""


MANIFEST_NAMES = SettingNames()


class Setback(Exception):
    """Why a request has no answer: a category that decides what to do, and one line for people."""

    def __init__(
        self,
        category: SetbackCategory,
        message: str,
        *,
        status: int = 0,
        retry_after: float | None = None,
    ) -> None:
        self.category, self.message = category, message
        self.status = status
        """HTTP status; 0 without one."""
        self.retry_after = retry_after
        """Seconds after which the server asks to be tried again, if it says so."""
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """The complete answer of a server that accepted the request."""

    headers: Mapping[str, str]
    """By lower-case name."""
    body: bytes

    @property
    def kind(self) -> str:
        """Its media type, in lower case and without parameters; "" if none is given."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


@dataclass(frozen=True, slots=True)
class Upload:
    """A request body that is sent in blocks, and never held as a whole."""

    content_type: str
    size: int
    """Bytes of all blocks."""
    blocks: Iterable[bytes]


@dataclass(slots=True)
class Wire:
    """Address, key and TLS context of one server."""

    address: Address
    key: str | None = field(default=None, repr=False)
    """Sent in the header of each request, and never part of a message."""
    context: ssl.SSLContext = field(default_factory=ssl.create_default_context)
    names: SettingNames = MANIFEST_NAMES

    def call(self, method: str, path: str, *, timeout: float) -> Call:
        return Call(self, method, path, timeout)

    def explain(self, setback: Setback) -> str:
        """Explains a setback by the address, and what to do."""
        prefix = "" if str(self.address) in setback.message else f"{self.address}: "
        is_gone = setback.category == "gone"
        advice = f": is it running there? Look at {self.names.url}" if is_gone else ""
        return f"{prefix}{setback.message}{advice}"

    def clean(self, text: str) -> str:
        """Cleans a server's text for a message: one line, without the key that it may repeat."""
        text = text.replace(self.key, "…") if self.key else text
        return excerpt(" ".join(text.split()), 200)


def key_from(name: str | None, setting: str = "engine.key") -> str | None:
    """Reads the key from the environment variable that a setting names. Raises EngineUnavailable,
    without its value."""
    if name is None:
        return None
    key = os.environ.get(name, "").strip()
    if not key:
        raise EngineUnavailable(f"{setting}: the environment has no {name}: `export {name}=…`")
    if not re.fullmatch("[!-~]+", key):
        raise EngineUnavailable(f"{setting}: {name} does not hold a key: it has other characters")
    return key


class Call:
    """One request; `abort` ends it from another thread."""

    def __init__(self, wire: Wire, method: str, path: str, timeout: float) -> None:
        self._wire, self._method, self._path, self._timeout = wire, method, path, timeout
        self._lock = Lock()
        self._socket: socket.socket | None = None
        self._is_aborted, self._has_timed_out = Event(), Event()

    def abort(self, is_late: bool = False) -> None:
        """Ends the request at once, whatever it is doing."""
        with self._lock:
            if is_late:
                self._has_timed_out.set()
            self._is_aborted.set()
            self._shut_socket()

    def send(
        self, body: Mapping[str, Any] | Upload | None = None, *, max_bytes: int = MAX_MESSAGE_BYTES
    ) -> ServerAnswer:
        """Sends it once, a mapping as JSON; the answer has at most `max_bytes` bytes.

        Raises Setback.
        """
        # a timer also ends an answer that trickles in; socket timeouts do not
        timer = Timer(self._timeout, self.abort, (True,))
        timer.daemon = True
        timer.start()
        connection = self._open_connection()
        try:
            answer = self._exchange(connection, body, max_bytes)
            if self._is_aborted.is_set():  # an answer of unknown length then seems complete
                raise ConnectionAbortedError
            return answer
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._setback(error) from error
        finally:
            timer.cancel()
            with self._lock:
                self._socket = None
            connection.close()

    def _open_connection(self) -> http.client.HTTPConnection:
        address, timeout = self._wire.address, min(CONNECT_TIMEOUT, self._timeout)
        if address.secure:
            context = self._wire.context
            return http.client.HTTPSConnection(
                address.host, address.port, timeout=timeout, context=context
            )
        return http.client.HTTPConnection(address.host, address.port, timeout=timeout)

    def _exchange(
        self,
        connection: http.client.HTTPConnection,
        body: Mapping[str, Any] | Upload | None,
        max_bytes: int,
    ) -> ServerAnswer:
        if self._is_aborted.is_set():
            raise ConnectionAbortedError
        connection.connect()
        with self._lock:
            self._socket = connection.sock
            self._socket.settimeout(self._timeout)
            if self._is_aborted.is_set():
                self._shut_socket()
        upload = body if isinstance(body, Upload) else None
        if body is not None and upload is None:
            data = json.dumps(body).encode()
            upload = Upload("application/json", len(data), [data])
        # a server may refuse a long request before it has read all: its answer says why
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            path = self._wire.address.path + self._path
            blocks = upload.blocks if upload else None
            connection.request(self._method, path, blocks, self._headers(upload))
        response = connection.getresponse()
        headers = {name.lower(): value for name, value in response.getheaders()}
        if response.status // 100 != 2:
            error_body = b""
            with contextlib.suppress(Setback):
                error_body = _read_body(response, MAX_MESSAGE_BYTES)
            raise self._refusal(response.status, headers, error_body)
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise Setback("bad", "the server packs its answer, which was not asked for")
        return ServerAnswer(headers, _read_body(response, max_bytes))

    def _headers(self, upload: Upload | None) -> dict[str, str]:
        headers = {
            "Accept-Encoding": "identity",
            "Connection": "close",
            "User-Agent": f"narrator/{__version__}",
        }
        if upload:
            headers |= {"Content-Type": upload.content_type, "Content-Length": f"{upload.size}"}
        if self._wire.key:
            headers["Authorization"] = f"Bearer {self._wire.key}"
        return headers

    def _shut_socket(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def _setback(self, error: Exception) -> Setback:
        """Converts a network error to a setback."""
        if self._has_timed_out.is_set() or isinstance(error, TimeoutError):
            if self._socket is None and not self._has_timed_out.is_set():
                return Setback(
                    "gone", f"no connection to {self._wire.address} in {CONNECT_TIMEOUT:.0f} s"
                )
            return Setback("slow", f"no whole answer in {self._timeout:.0f} s")
        if isinstance(error, ssl.SSLCertVerificationError):
            reason = error.verify_message or "certificate"
            return Setback(
                "closed",
                f"{self._wire.address} does not prove who it is ({reason}): nothing was sent; "
                "where its certificate is your own, name it in SSL_CERT_FILE",
            )
        if isinstance(error, OSError) and self._socket is None:
            reason = error.strerror or type(error).__name__
            return Setback("gone", f"no connection to {self._wire.address} ({reason})")
        if isinstance(error, http.client.IncompleteRead):
            return Setback("cut", "half an answer: it broke off")
        if isinstance(error, OSError | http.client.RemoteDisconnected):
            return Setback("cut", "the server hung up before it had answered")
        return Setback("cut", f"no answer in HTTP ({type(error).__name__})")

    def _refusal(self, status: int, headers: Mapping[str, str], body: bytes) -> Setback:
        """Converts an HTTP status other than success to a setback."""
        server_message = self._wire.clean(_error_message(body))
        message = f"{status} {http.client.responses.get(status, '')}".strip()
        message += f": {server_message}" if server_message else ""
        if final_reason := self._final_reason(status, headers, body, message):
            return Setback("closed", final_reason, status=status)
        category: SetbackCategory = "bad"
        if status in _BUSY_STATUSES or status in _GONE_STATUSES:
            category = "busy" if status in _BUSY_STATUSES else "gone"
        elif status >= 500 or status in (408, 425):
            category = "cut"
        return Setback(category, message, status=status, retry_after=_retry_after_seconds(headers))

    def _final_reason(
        self, status: int, headers: Mapping[str, str], body: bytes, message: str
    ) -> str | None:
        """Explains why no other request can succeed, and what to do; None if one may."""
        if status // 100 == 3:
            host = self._wire.clean(urlsplit(headers.get("location", "")).netloc)
            destination = f" to {host}" if host else ""
            advice = f"which is not followed: name the right address in {self._wire.names.url}"
            return f"the server sends elsewhere{destination} ({status}), {advice}"
        if status in (401, 403):  # the server's message may contain a part of the key
            names = self._wire.names
            return f"the server refuses the key ({status}): look at {names.key} and its variable"
        if status == 429 and b"insufficient_quota" in body:
            return f"the account has nothing left ({message})"
        if status not in _CLOSED_REASONS:
            return None
        reason = _CLOSED_REASONS[status].format(names=self._wire.names)
        return f"the server {reason} ({message})"


def _read_body(response: http.client.HTTPResponse, max_bytes: int) -> bytes:
    """Reads the body of an answer. Raises Setback if it is too long, or broke off."""
    parts, size = list[bytes](), 0
    if (response.length or 0) > max_bytes:
        raise Setback(
            "bad", f"an answer of {response.length:,} bytes, far more than its text takes"
        )
    while block := response.read(BLOCK_BYTES):
        parts.append(block)
        size += len(block)
        if size > max_bytes:
            raise Setback(
                "bad", f"an answer of more than {max_bytes:,} bytes, far more than its text takes"
            )
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
    return b"".join(parts)


def _error_message(body: bytes) -> str:
    """Extracts the message of an error answer in OpenAI's form, FastAPI's, or plain text."""
    text = body.decode("utf-8", "replace").strip()
    if text[:1] == "<":
        return "a web page"
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return text
    for name in ("error", "detail", "message", "msg"):
        while isinstance(message, dict) and name in message:
            message = message[name]
    if isinstance(message, list):  # of FastAPI, for fields that are wrong
        rows = [row for row in message if isinstance(row, dict)]
        return "; ".join(f"{row.get('loc', '')} {row.get('msg', '')}".strip() for row in rows)
    return message if isinstance(message, str) else text


def describe_text_answer(answer: ServerAnswer) -> str:
    """Describes an answer that is text instead of sound; "" if it may be sound."""
    first_bytes = answer.body[:64].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if answer.kind in ("text/html", "application/xhtml+xml") or first_bytes.startswith(
        (b"<!doc", b"<htm")
    ):
        return "a web page"
    if answer.kind == "application/json" or first_bytes.startswith((b'{"', b"[{")):
        return f"a message ({_error_message(answer.body[:MAX_MESSAGE_BYTES])})"
    return "a text" if answer.kind.startswith("text/") else ""


def _retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """Returns the seconds of a Retry-After header, which is a number or a date."""
    header = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,7}(\.\d{1,6})?", header):
        return float(header)
    try:
        retry_time = email.utils.parsedate_to_datetime(header)
    except ValueError:
        return None
    return max(0.0, retry_time.timestamp() - time.time())
