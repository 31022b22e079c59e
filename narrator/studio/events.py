"""What pages are told as it happens: server-sent events.

A page that does not read in time loses what is old, and is told to ask for everything again. Knows
nothing of what is said.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Mapping
from typing import Any

_MAX_QUEUED = 256
"""Events that wait for one page."""
_HEARTBEAT = 15.0
"""Seconds after which a silent line shows that a page has gone."""
MAX_PAGES = 24


class _Page:
    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.queue: asyncio.Queue[str | None] = asyncio.Queue(_MAX_QUEUED)

    def put(self, line: str | None) -> None:
        """In its own loop."""
        if self.queue.full():
            while not self.queue.empty():
                self.queue.get_nowait()
            self.queue.put_nowait(json.dumps({"type": "lost"}))
        self.queue.put_nowait(line)


class Events:
    """The pages that listen."""

    def __init__(self) -> None:
        self._listeners: set[_Page] = set()
        self._mutex = threading.Lock()
        self._closed = False

    def send(self, event: Mapping[str, Any]) -> None:
        """Tell all pages; from any thread."""
        self._put(json.dumps(event, ensure_ascii=False))

    def close(self) -> None:
        """There will be no more."""
        self._closed = True
        self._put(None)

    def _put(self, line: str | None) -> None:
        with self._mutex:
            for listener in self._listeners:
                if not listener.loop.is_closed():
                    listener.loop.call_soon_threadsafe(listener.put, line)

    @property
    def full(self) -> bool:
        return len(self._listeners) >= MAX_PAGES

    async def listen(self) -> AsyncIterator[bytes]:
        """The lines for one page, until it goes or there are no more."""
        listener = _Page()
        with self._mutex:
            self._listeners.add(listener)
        try:
            yield b": hello\n\n"
            while not self._closed:
                try:
                    line = await asyncio.wait_for(listener.queue.get(), _HEARTBEAT)
                except TimeoutError:
                    yield b": still here\n\n"
                    continue
                if line is None:
                    return
                yield f"data: {line}\n\n".encode("utf-8", "replace")
        finally:
            with self._mutex:
                self._listeners.discard(listener)
