"""Readers of request bodies, limited in size, time and memory.

Knows no routes.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from starlette.requests import Request

from narrator.errors import UsageError
from narrator.files import TooLarge

MAX_JSON_BYTES = 1_000_000
"""Most bytes of a JSON request."""
MAX_LIST_BYTES = 16_000_000
"""Most bytes of a list of pickups."""
MAX_CLIP_BYTES = 50_000_000
"""Most bytes of a clip."""
IDLE_TIMEOUT = 30.0
"""Most seconds without a byte."""
_MAX_SECONDS = 300.0
"""Most seconds for a body."""
MAX_JSON_SECONDS = 10.0
"""Most seconds for a JSON request."""


class BodyTimeout(Exception):
    """The body did not arrive in time."""


class UnsupportedMediaType(Exception):
    """The body's media type is not accepted."""


async def stream_body(
    request: Request, max_bytes: int, max_seconds: float = _MAX_SECONDS
) -> AsyncIterator[bytes]:
    """Yields a body as it arrives. Raises TooLarge (at once if its length says so), BodyTimeout."""
    announced_size = request.headers.get("content-length", "0")
    if not announced_size.isdecimal() or int(announced_size) > max_bytes:
        raise TooLarge
    count, stream = 0, aiter(request.stream())
    deadline = asyncio.get_running_loop().time() + max_seconds
    while True:
        remaining_seconds = min(IDLE_TIMEOUT, deadline - asyncio.get_running_loop().time())
        try:
            piece = await asyncio.wait_for(anext(stream), max(0.0, remaining_seconds))
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise BodyTimeout from None
        count += len(piece)
        if count > max_bytes:
            raise TooLarge
        if piece:
            yield piece


async def read_body(request: Request, max_bytes: int, max_seconds: float = _MAX_SECONDS) -> bytes:
    """Reads all of a small body. Raises TooLarge, BodyTimeout."""
    return b"".join([piece async for piece in stream_body(request, max_bytes, max_seconds)])


async def read_json(request: Request) -> Mapping[str, Any]:
    """Reads a JSON object.

    Raises TooLarge, BodyTimeout, UnsupportedMediaType, UsageError for malformed JSON.
    """
    kind = request.headers.get("content-type", "").partition(";")[0]
    if kind.strip().casefold() != "application/json":
        raise UnsupportedMediaType
    try:
        value = json.loads(await read_body(request, MAX_JSON_BYTES, MAX_JSON_SECONDS))
    except (ValueError, RecursionError):
        raise UsageError("the body is not valid JSON") from None
    if not isinstance(value, dict):
        raise UsageError("the body is not a JSON object")
    return value


async def save_body(
    request: Request, path: Path, max_bytes: int, max_seconds: float = _MAX_SECONDS
) -> int:
    """Writes a body to a file and returns its size. Raises TooLarge, BodyTimeout, OSError."""
    size = 0
    with path.open("wb") as file:
        async for piece in stream_body(request, max_bytes, max_seconds):
            size += await asyncio.to_thread(file.write, piece)
    return size


# -- fields of a JSON request ----------------------------------------------------------------------


def text_field(fields: Mapping[str, Any], name: str, max_characters: int = 10_000) -> str:
    """Returns a required text field. Raises UsageError."""
    value = fields.get(name)
    if not isinstance(value, str):
        raise UsageError(f"`{name}` must be a text")
    if len(value) > max_characters:
        raise UsageError(f"`{name}` is longer than {max_characters:,} characters")
    return value


def optional_text_field(
    fields: Mapping[str, Any], name: str, max_characters: int = 10_000
) -> str | None:
    """Returns an optional text field. Raises UsageError."""
    return None if fields.get(name) is None else text_field(fields, name, max_characters)


def boolean_field(fields: Mapping[str, Any], name: str) -> bool:
    """Returns a required boolean field. Raises UsageError."""
    value = fields.get(name)
    if not isinstance(value, bool):
        raise UsageError(f"`{name}` must be true or false")
    return value


def text_list_field(
    fields: Mapping[str, Any], name: str, max_texts: int = 20_000
) -> tuple[str, ...]:
    """Returns a list of texts, empty if the field is missing. Raises UsageError."""
    value = fields.get(name, [])
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise UsageError(f"`{name}` must be a list of texts")
    if len(value) > max_texts:
        raise UsageError(f"`{name}` has more than {max_texts:,} texts")
    return tuple(value)
