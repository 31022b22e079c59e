"""Publishes a run's progress to the clients of the project's owner, and starts concurrent jobs.

The terminal of this process is told the same as clients that joined from others. Knows no terminal,
and not how jobs of clients are done.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from narrator.decoding import decode_value
from narrator.pipeline.jobs.protocol import Event
from narrator.pipeline.jobs.server import JobHandle, JobServer
from narrator.progress import (
    ChunkEvent,
    ChunkGivenUp,
    ChunkRendered,
    ChunkRetried,
    Exporting,
    Planned,
    ProgressCounter,
    ProgressEvent,
    ProgressSink,
    Running,
    Starting,
)

MIN_PROGRESS_INTERVAL = 0.25
"""Shortest time between two progress events, in seconds."""
MALFORMED_EVENT_ERRORS = (ValueError, TypeError, LookupError, AttributeError)
"""Exceptions raised by reading a malformed event."""
_CHUNK_EVENTS = {"rendered": ChunkRendered, "retried": ChunkRetried, "flagged": ChunkGivenUp}
_CHUNK_NAMES = {event_type: name for name, event_type in _CHUNK_EVENTS.items()}


class ProgressPublisher:
    """A sink that passes events on, and publishes them.

    `between` is called between the turns of the engine.
    """

    def __init__(
        self,
        owner: JobServer,
        handle: JobHandle,
        sink: ProgressSink,
        between: Callable[[], None] = lambda: None,
    ) -> None:
        self._owner, self._handle, self._sink, self._between = owner, handle, sink, between
        self._counter = ProgressCounter()
        self._finished_keys: set[str] = set()
        """Keys of the chunks that have been rendered or given up."""
        self._last_progress = ("", 0.0)
        """Stage and time of the last progress event."""
        self._chapter = 0
        handle.outlook = self._current_state

    def __call__(self, event: ProgressEvent) -> None:
        """Pass an event on to the sink, count it, and publish it."""
        if isinstance(event, ChunkEvent):
            event = replace(event, again=event.key in self._finished_keys)
            if not isinstance(event, ChunkRetried):
                self._finished_keys.add(event.key)
                self._chapter = event.chapter
        elif isinstance(event, Planned):
            self._finished_keys.clear()
        elif isinstance(event, Running):
            self._between()
        self._sink(event)
        with self._owner.mutex:
            self._counter(event)
            self._publish(event)

    def _publish(self, event: ProgressEvent) -> None:
        """Send the published form of an event to all clients."""
        match event:
            case Planned():
                self._send("planned", {"outlook": asdict(event)})
            case ChunkEvent():
                self._send(_CHUNK_NAMES[type(event)], asdict(event))
            case Starting(what):
                self._send_progress("starting", {"what": what}, is_urgent=True)
            case Running():
                self._send_progress("render", self._render_row(event))
            case Exporting(what, done, total):
                row = {
                    "what": what,
                    "done": done,
                    "of": total,
                    "unit": "seconds" if what == "encode" else "files",
                    "left": self._counter.stage_seconds_left(done, total),
                    "speed": None,
                }
                self._send_progress(what, row, is_urgent=done == total)

    def _current_state(self) -> Event | None:
        """The progress so far for a client that connects now; called on another thread, under the
        mutex."""
        state = self._counter.state
        return asdict(state) if state.titles else None

    def _render_row(self, engine: Running) -> dict[str, Any]:
        """The progress of a render as a JSON object, with the state of its engine."""
        counter, number = self._counter, self._chapter
        title = counter.titles[number] if number < len(counter.titles) else ""
        return {
            "what": f"chapter {number + 1}: {title}",
            "done": round(counter.expected_seconds, 1),
            "of": round(counter.expected_seconds + counter.expected_seconds_left, 1),
            "unit": "seconds",
            "left": counter.remaining_seconds,
            "speed": round(counter.real_time_factor, 2),
            **asdict(replace(engine, busy=round(engine.busy, 3))),
        }

    def _send_progress(self, stage: str, row: Event, *, is_urgent: bool = False) -> None:
        """Send a progress event, at most four times a second for each stage."""
        time_now = time.monotonic()
        last_stage, last_time = self._last_progress
        if stage == last_stage and time_now < last_time + MIN_PROGRESS_INTERVAL and not is_urgent:
            return
        self._last_progress = stage, time_now
        self._handle.progress = {**row, "event": "progress", "job": self._handle.id, "phase": stage}
        self._owner.broadcast(self._handle.progress)

    def _send(self, event: str, row: Event) -> None:
        self._owner.broadcast({**row, "event": event, "job": self._handle.id})


def show_event(event: Event, sink: ProgressSink) -> None:
    """Show a published event; other events and those of other versions are ignored."""
    with contextlib.suppress(*MALFORMED_EVENT_ERRORS):
        name = event.get("event")
        if name == "planned":
            sink(decode_value(Planned, event["outlook"]))
        elif chunk_event := _CHUNK_EVENTS.get(str(name)):
            fields = {key: field for key, field in event.items() if key not in ("event", "job")}
            sink(decode_value(chunk_event, fields))
        elif name == "progress" and event["phase"] == "starting":
            sink(Starting(str(event["what"])))
        elif name == "progress" and event["phase"] == "render":
            sink(Running(int(event["slots"]), float(event["busy"]), str(event["note"])))
        elif name == "progress":
            sink(Exporting(str(event["what"]), int(event["done"]), int(event["of"])))
