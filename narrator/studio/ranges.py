"""Answers HTTP range requests.

Holds only the piece that is being sent: a browser that stops reading stops its production. Knows
nothing of sound.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Protocol

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

_RANGE = re.compile(r"bytes=(\d{0,15})-(\d{0,15})", re.IGNORECASE)


class Bytes(Protocol):
    """Content that is served by ranges."""

    @property
    def size(self) -> int: ...

    @property
    def media_type(self) -> str: ...

    @property
    def tag(self) -> str:
        """Identifies the content (an ETag)."""
        ...

    def read(self, start: int, stop: int) -> Iterator[bytes]:
        """Yields the bytes `start` to `stop` in pieces; in a thread."""
        ...


def answer(request: Request, content: Bytes) -> Response:
    """Answers with the requested range, or with everything."""
    tag = f'"{content.tag}"'
    headers = {"accept-ranges": "bytes", "etag": tag}
    range_header = request.headers.get("range")
    span: tuple[int, int] | None = (0, content.size)
    is_part = range_header is not None and request.headers.get("if-range") in (None, tag)
    if range_header is not None and is_part:
        span = _parse_range(range_header, content.size)
    if span is None:
        headers["content-range"] = f"bytes */{content.size}"
        return JSONResponse({"error": "this range lies outside the file"}, 416, headers)
    start, stop = span
    headers["content-length"] = str(stop - start)
    if is_part:
        headers["content-range"] = f"bytes {start}-{stop - 1}/{content.size}"
    status = 206 if is_part else 200
    if request.method == "HEAD":
        return Response(None, status, headers, content.media_type)
    return StreamingResponse(content.read(start, stop), status, headers, content.media_type)


def _parse_range(range_header: str, size: int) -> tuple[int, int] | None:
    """Returns start and stop; None for several ranges, or one beyond the end."""
    match = _RANGE.fullmatch(range_header.strip())
    if match is None or not (match[1] or match[2]):
        return None
    if not match[1]:  # the last so many
        start, stop = max(0, size - int(match[2])), size
    else:
        start = int(match[1])
        stop = min(size, int(match[2]) + 1) if match[2] else size
    return (start, stop) if start < stop else None
