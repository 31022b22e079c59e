"""Publishes a run's progress to the clients of the project's owner, and starts concurrent jobs.

The terminal of this process is informed in the same way as clients that joined from others. Knows
no terminal, and not how jobs of clients are done.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from narrator.pipeline.book_plan import BookPlan
from narrator.pipeline.jobs.protocol import Event
from narrator.pipeline.jobs.server import JobHandle, JobServer
from narrator.pipeline.jobs.tally import (
    ChunkProgress,
    ProgressCounter,
    ProgressSink,
    initial_progress,
)
from narrator.speech.plan import Step
from narrator.speech.store import Record

MIN_PROGRESS_INTERVAL = 0.25
"""Shortest time between two progress events, in seconds."""


class ProgressPublisher:
    """An observer of runs that publishes events.

    `between` is called between the turns of the engine, with the plan.
    """

    def __init__(
        self,
        owner: JobServer,
        ticket: JobHandle,
        progress_sink: ProgressSink,
        between: Callable[[BookPlan], None] = lambda book: None,
    ) -> None:
        self._owner, self._ticket, self._progress_sink = owner, ticket, progress_sink
        self._between = between
        self._book: BookPlan | None = None
        self._tally = ProgressCounter()
        self._finished_keys: set[str] = set()
        """Keys of the steps that have been rendered or given up."""
        self._last_progress = ("", 0.0)
        """Stage and time of the last progress event."""
        self._chapter = 0
        ticket.outlook = self._current_outlook

    def planned(self, book: BookPlan) -> None:
        self._book = book
        self._finished_keys.clear()
        outlook = initial_progress(book)
        self._progress_sink.planned(outlook)
        with self._owner.mutex:
            self._tally.planned(outlook)
            self._send_event("planned", {"outlook": outlook.to_json()})

    def rendered(self, step: Step, record: Record) -> None:
        chunk = self._describe_chunk(step, record.faults, record.seconds)
        self._progress_sink.rendered(chunk)
        with self._owner.mutex:
            self._tally.rendered(chunk)
            self._send_event("rendered", chunk.to_json())

    def retried(self, step: Step, faults: Sequence[str]) -> None:
        chunk = self._describe_chunk(step, faults, is_finished=False)
        self._progress_sink.retried(chunk)
        with self._owner.mutex:
            self._tally.retried(chunk)
            self._send_event("retried", chunk.to_json())

    def flagged(self, step: Step, faults: Sequence[str]) -> None:
        chunk = self._describe_chunk(step, faults)
        self._progress_sink.flagged(chunk)
        with self._owner.mutex:
            self._tally.flagged(chunk)
            self._send_event("flagged", chunk.to_json())

    def starting(self, message: str) -> None:
        self._progress_sink.starting(message)
        self._send_progress("starting", {"what": message}, is_urgent=True)

    def running(self, slots: int, busy: float, note: str) -> None:
        self._tally.running(slots, busy, note)
        self._progress_sink.running(slots, busy, note)

    def tick(self) -> None:
        if self._book is not None:
            self._between(self._book)
        self._progress_sink.tick()
        self._send_progress("render", self._render_progress())

    def exporting(self, stage: str, done: int, total: int) -> None:
        self._tally.exporting(stage, done, total)
        self._progress_sink.exporting(stage, done, total)
        row = {
            "what": stage,
            "done": done,
            "of": total,
            "unit": "seconds" if stage == "encode" else "files",
            "left": self._tally.making_left(done, total),
            "speed": None,
        }
        self._send_progress(stage, row, is_urgent=done == total)

    def _describe_chunk(
        self, step: Step, faults: Sequence[str], seconds: float = 0.0, *, is_finished: bool = True
    ) -> ChunkProgress:
        is_repeated = step.key in self._finished_keys
        if is_finished:
            self._finished_keys.add(step.key)
            self._chapter = step.chapter
        return ChunkProgress(
            step.id,
            step.key,
            step.chapter,
            step.expected,
            round(seconds, 3),
            tuple(faults),
            is_repeated,
        )

    def _current_outlook(self) -> Event | None:
        """The progress so far for a client that connects now; called on another thread, under the
        mutex."""
        outlook = self._tally.outlook
        return outlook.to_json() if outlook.titles else None

    def _render_progress(self) -> dict[str, Any]:
        tally, chapter_number = self._tally, self._chapter
        title = tally.titles[chapter_number] if chapter_number < len(tally.titles) else ""
        return {
            "what": f"chapter {chapter_number + 1}: {title}",
            "done": round(tally.expected, 1),
            "of": round(tally.expected + tally.left, 1),
            "unit": "seconds",
            "left": tally.remaining,
            "speed": round(tally.factor, 2),
            "chunks_done": tally.done.total(),
            "chunks": tally.total.total(),
            "slots": tally.slots,
            "busy": round(tally.busy, 3),
            "note": tally.note,
        }

    def _send_progress(self, stage: str, row: Event, *, is_urgent: bool = False) -> None:
        """Send a progress event, at most four times a second for each stage."""
        time_now = time.monotonic()
        last_stage, last_time = self._last_progress
        if stage == last_stage and time_now < last_time + MIN_PROGRESS_INTERVAL and not is_urgent:
            return
        self._last_progress = stage, time_now
        self._ticket.progress = {**row, "event": "progress", "job": self._ticket.id, "phase": stage}
        self._owner.tell(self._ticket.progress)

    def _send_event(self, event: str, row: Event) -> None:
        self._owner.tell({**row, "event": event, "job": self._ticket.id})
