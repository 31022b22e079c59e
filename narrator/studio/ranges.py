"""Ranges of bytes: what a browser asks of a sound, and the answer.

Nothing is held but the piece that is on its way: a browser that stops reading stops the making.
Knows nothing of sound.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Protocol

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

_RANGE = re.compile(r"bytes=(\d{0,15})-(\d{0,15})", re.IGNORECASE)


class Bytes(Protocol):
    """Something of which any range can be had."""

    @property
    def size(self) -> int: ...

    @property
    def media_type(self) -> str: ...

    @property
    def tag(self) -> str:
        """Names its content."""
        ...

    def read(self, start: int, stop: int) -> Iterator[bytes]:
        """The bytes from one to another, in pieces; from a thread."""
        ...


def answer(request: Request, whole: Bytes) -> Response:
    """The range that is asked for, or all of it."""
    tag = f'"{whole.tag}"'
    headers = {"accept-ranges": "bytes", "etag": tag}
    wanted = request.headers.get("range")
    span: tuple[int, int] | None = (0, whole.size)
    is_part = wanted is not None and request.headers.get("if-range") in (None, tag)
    if wanted is not None and is_part:
        span = _span(wanted, whole.size)
    if span is None:
        headers["content-range"] = f"bytes */{whole.size}"
        return JSONResponse({"error": "it has no such range"}, 416, headers)
    start, stop = span
    headers["content-length"] = str(stop - start)
    if is_part:
        headers["content-range"] = f"bytes {start}-{stop - 1}/{whole.size}"
    status = 206 if is_part else 200
    if request.method == "HEAD":
        return Response(None, status, headers, whole.media_type)
    return StreamingResponse(whole.read(start, stop), status, headers, whole.media_type)


def _span(wanted: str, size: int) -> tuple[int, int] | None:
    """First byte and the one after the last; None for what is no one range, or lies behind."""
    found = _RANGE.fullmatch(wanted.strip())
    if found is None or not (found[1] or found[2]):
        return None
    if not found[1]:  # the last so many
        start, stop = max(0, size - int(found[2])), size
    else:
        start = int(found[1])
        stop = min(size, int(found[2]) + 1) if found[2] else size
    return (start, stop) if start < stop else None
