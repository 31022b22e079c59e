"""What is sent here, bounded in size and time, and never more of it in memory than is wanted.

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

JSON_MOST = 1_000_000
"""Bytes of what a page asks for."""
LIST_MOST = 16_000_000
"""Bytes of a list of pickups."""
CLIP_MOST = 50_000_000
"""Bytes of a clip."""
PATIENCE = 30.0
"""Seconds that may pass without a byte."""
_LONGEST = 300.0
"""Seconds that a whole body may take."""
JSON_LONGEST = 10.0
"""Seconds that what a page asks for may take."""


class TooSlow(Exception):
    """What is sent does not come."""


class NotTaken(Exception):
    """It is sent as something that is not taken."""


async def pieces(request: Request, most: int, longest: float = _LONGEST) -> AsyncIterator[bytes]:
    """A body as it comes. Raises TooLarge, at once where it is announced; TooSlow."""
    announced = request.headers.get("content-length", "0")
    if not announced.isdecimal() or int(announced) > most:
        raise TooLarge
    count, stream = 0, aiter(request.stream())
    until = asyncio.get_running_loop().time() + longest
    while True:
        left = min(PATIENCE, until - asyncio.get_running_loop().time())
        try:
            piece = await asyncio.wait_for(anext(stream), max(0.0, left))
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise TooSlow from None
        count += len(piece)
        if count > most:
            raise TooLarge
        if piece:
            yield piece


async def whole(request: Request, most: int, longest: float = _LONGEST) -> bytes:
    """All of a small body. Raises TooLarge, TooSlow."""
    return b"".join([piece async for piece in pieces(request, most, longest)])


async def asked(request: Request) -> Mapping[str, Any]:
    """A JSON object. Raises TooLarge, TooSlow, NotTaken, UsageError for nonsense."""
    kind = request.headers.get("content-type", "").partition(";")[0]
    if kind.strip().casefold() != "application/json":
        raise NotTaken
    try:
        value = json.loads(await whole(request, JSON_MOST, JSON_LONGEST))
    except (ValueError, RecursionError):
        raise UsageError("what was sent is no JSON") from None
    if not isinstance(value, dict):
        raise UsageError("what was sent is no JSON object")
    return value


async def to_file(request: Request, path: Path, most: int) -> int:
    """Write a body to a file; its bytes. Raises TooLarge, TooSlow, OSError."""
    size = 0
    with path.open("wb") as file:
        async for piece in pieces(request, most):
            size += await asyncio.to_thread(file.write, piece)
    return size


# -- fields of what is asked -----------------------------------------------------------------------


def text(asked: Mapping[str, Any], name: str, most: int = 10_000) -> str:
    """A text that must be there. Raises UsageError."""
    value = asked.get(name)
    if not isinstance(value, str):
        raise UsageError(f"`{name}` is to be a text")
    if len(value) > most:
        raise UsageError(f"`{name}` is longer than {most:,} characters")
    return value


def text_or_none(asked: Mapping[str, Any], name: str, most: int = 10_000) -> str | None:
    """A text, or none. Raises UsageError."""
    return None if asked.get(name) is None else text(asked, name, most)


def flag(asked: Mapping[str, Any], name: str) -> bool:
    """Yes or no. Raises UsageError."""
    value = asked.get(name)
    if not isinstance(value, bool):
        raise UsageError(f"`{name}` is to be true or false")
    return value


def texts(asked: Mapping[str, Any], name: str, most: int = 20_000) -> tuple[str, ...]:
    """A list of texts, empty where there is none. Raises UsageError."""
    value = asked.get(name, [])
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise UsageError(f"`{name}` is to be a list of texts")
    if len(value) > most:
        raise UsageError(f"`{name}` has more than {most:,} texts")
    return tuple(value)


def number(asked: Mapping[str, Any], name: str, least: int, most: int, default: int) -> int:
    """A whole number within bounds. Raises UsageError."""
    value = asked.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise UsageError(f"`{name}` is to be a whole number from {least} to {most}")
    return value
