"""Server-sent events: messages to all open pages.

A page that reads too slowly loses its old events, and is told to load everything again. Knows
nothing of the events' contents.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from typing import Any

_MAX_QUEUED = 256
"""Most waiting events of one page."""
_HEARTBEAT_S = 15.0
"""Seconds between comments on a silent line, which reveal closed pages."""
MAX_PAGES = 24
MAX_PAGES_OF_GUEST = 4


class _Page:
    def __init__(self, guest: str, topics: Collection[str]) -> None:
        self.guest, self.topics = guest, topics
        self.loop = asyncio.get_running_loop()
        self.queue: asyncio.Queue[str | None] = asyncio.Queue(_MAX_QUEUED)

    def put(self, line: str | None) -> None:
        """Queues a line. Runs in the loop of the page."""
        if self.queue.full():
            while not self.queue.empty():
                self.queue.get_nowait()
            self.queue.put_nowait(json.dumps({"type": "lost"}))
        self.queue.put_nowait(line)


class Events:
    """The open pages."""

    def __init__(self) -> None:
        self._listeners: set[_Page] = set()
        self._mutex = threading.Lock()
        self._closed = False

    def send(self, event: Mapping[str, Any]) -> None:
        """Sends an event to all pages; from any thread."""
        self._put(json.dumps(event, ensure_ascii=False), event["type"])

    def close(self) -> None:
        """Ends the streams of all pages."""
        self._closed = True
        self._put(None)

    def _put(self, line: str | None, topic: str = "") -> None:
        with self._mutex:
            for listener in self._listeners:
                is_wanted = not (topic and listener.topics) or topic in listener.topics
                if is_wanted and not listener.loop.is_closed():
                    listener.loop.call_soon_threadsafe(listener.put, line)

    @property
    def is_unheard(self) -> bool:
        """True if no page is open."""
        return not self._listeners

    async def listen(
        self,
        guest: str = "",
        topics: Collection[str] = (),
        is_admitted: Callable[[], bool] = lambda: True,
    ) -> AsyncIterator[bytes]:
        """Yields the lines of one page's stream, until the page or the studio closes or
        `is_admitted` is false; events of some topics alone if there are any.

        The first is empty, and says that there is room; nothing is yielded if there is no room for
        another page, or another page of the guest.
        """
        listener = _Page(guest, topics)
        with self._mutex:
            guest_pages = [page for page in self._listeners if guest and page.guest == guest]
            if len(self._listeners) >= MAX_PAGES or len(guest_pages) >= MAX_PAGES_OF_GUEST:
                return
            self._listeners.add(listener)
        try:
            yield b""
            yield b": hello\n\n"
            while not self._closed:
                try:
                    line = await asyncio.wait_for(listener.queue.get(), _HEARTBEAT_S)
                except TimeoutError:
                    line = ""
                if line is None or not is_admitted():
                    return
                text = f"data: {line}" if line else ": still here"
                yield f"{text}\n\n".encode("utf-8", "replace")
        finally:
            with self._mutex:
                self._listeners.discard(listener)
