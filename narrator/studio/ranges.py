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


def answer(request: Request, content: Bytes) -> Response:
    """The range that is asked for, or all of it."""
    tag = f'"{content.tag}"'
    headers = {"accept-ranges": "bytes", "etag": tag}
    range_header = request.headers.get("range")
    span: tuple[int, int] | None = (0, content.size)
    is_part = range_header is not None and request.headers.get("if-range") in (None, tag)
    if range_header is not None and is_part:
        span = _parse_range(range_header, content.size)
    if span is None:
        headers["content-range"] = f"bytes */{content.size}"
        return JSONResponse({"error": "it has no such range"}, 416, headers)
    start, stop = span
    headers["content-length"] = str(stop - start)
    if is_part:
        headers["content-range"] = f"bytes {start}-{stop - 1}/{content.size}"
    status = 206 if is_part else 200
    if request.method == "HEAD":
        return Response(None, status, headers, content.media_type)
    return StreamingResponse(content.read(start, stop), status, headers, content.media_type)


def _parse_range(range_header: str, size: int) -> tuple[int, int] | None:
    """First byte and the one after the last; None for what is no one range, or lies behind."""
    match = _RANGE.fullmatch(range_header.strip())
    if match is None or not (match[1] or match[2]):
        return None
    if not match[1]:  # the last so many
        start, stop = max(0, size - int(match[2])), size
    else:
        start = int(match[1])
        stop = min(size, int(match[2]) + 1) if match[2] else size
    return (start, stop) if start < stop else None
