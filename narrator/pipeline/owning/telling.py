"""What a render's observer does of whoever owns the project: tell all who wait, and let them in.

One who is shown the render in this process hears the same as those who joined it from others.
Knows no terminal, and not how what others want is done.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from narrator.pipeline.bookplan import BookPlan
from narrator.pipeline.owning.jobs import Event
from narrator.pipeline.owning.owner import Owner, Ticket
from narrator.pipeline.owning.tally import Shown, Spoken, Tally, outlook_of
from narrator.speech.plan import Step
from narrator.speech.store import Record

OFTEN = 0.25
"""Seconds between two events of progress, at least."""


class Telling:
    """An observer of runs; `between` is called between the turns of the engine, with the plan."""

    def __init__(
        self,
        owner: Owner,
        ticket: Ticket,
        shown: Shown,
        between: Callable[[BookPlan], None] = lambda book: None,
    ) -> None:
        self._owner, self._ticket, self._shown = owner, ticket, shown
        self._between = between
        self._book: BookPlan | None = None
        self._tally = Tally()
        self._ended: set[str] = set()
        """Keys of the steps that have their takes."""
        self._last = ("", 0.0)
        """The stage that was told last, and when."""
        self._chapter = 0
        ticket.outlook = self._outlook

    def planned(self, book: BookPlan) -> None:
        self._book = book
        self._ended.clear()
        outlook = outlook_of(book)
        self._shown.planned(outlook)
        with self._owner.mutex:
            self._tally.planned(outlook)
            self._tell("planned", {"outlook": outlook.to_json()})

    def rendered(self, step: Step, record: Record) -> None:
        chunk = self._spoken(step, record.faults, record.seconds)
        self._shown.rendered(chunk)
        with self._owner.mutex:
            self._tally.rendered(chunk)
            self._tell("rendered", chunk.to_json())

    def retried(self, step: Step, faults: Sequence[str]) -> None:
        chunk = self._spoken(step, faults, ends=False)
        self._shown.retried(chunk)
        with self._owner.mutex:
            self._tally.retried(chunk)
            self._tell("retried", chunk.to_json())

    def flagged(self, step: Step, faults: Sequence[str]) -> None:
        chunk = self._spoken(step, faults)
        self._shown.flagged(chunk)
        with self._owner.mutex:
            self._tally.flagged(chunk)
            self._tell("flagged", chunk.to_json())

    def starting(self, what: str) -> None:
        self._shown.starting(what)
        self._progress("starting", {"what": what}, at_once=True)

    def running(self, slots: int, busy: float, note: str) -> None:
        self._tally.running(slots, busy, note)
        self._shown.running(slots, busy, note)

    def tick(self) -> None:
        if self._book is not None:
            self._between(self._book)
        self._shown.tick()
        self._progress("render", self._far())

    def exporting(self, what: str, done: int, total: int) -> None:
        self._tally.exporting(what, done, total)
        self._shown.exporting(what, done, total)
        row = {
            "what": what,
            "done": done,
            "of": total,
            "unit": "seconds" if what == "encode" else "files",
            "left": self._tally.making_left(done, total),
            "speed": None,
        }
        self._progress(what, row, at_once=done == total)

    def _spoken(
        self, step: Step, faults: Sequence[str], seconds: float = 0.0, *, ends: bool = True
    ) -> Spoken:
        again = step.key in self._ended
        if ends:
            self._ended.add(step.key)
            self._chapter = step.chapter
        return Spoken(
            step.id, step.key, step.chapter, step.expected, round(seconds, 3), tuple(faults), again
        )

    def _outlook(self) -> Event | None:
        """For who comes now, on another thread: all that was told until now, under the mutex."""
        outlook = self._tally.outlook
        return outlook.to_json() if outlook.titles else None

    def _far(self) -> dict[str, Any]:
        tally, number = self._tally, self._chapter
        title = tally.titles[number] if number < len(tally.titles) else ""
        return {
            "what": f"chapter {number + 1}: {title}",
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

    def _progress(self, stage: str, row: Event, *, at_once: bool = False) -> None:
        """Of one stage at most four times a second."""
        now = time.monotonic()
        last, when = self._last
        if stage == last and now < when + OFTEN and not at_once:
            return
        self._last = stage, now
        self._ticket.progress = {**row, "event": "progress", "job": self._ticket.id, "phase": stage}
        self._owner.tell(self._ticket.progress)

    def _tell(self, event: str, row: Event) -> None:
        self._owner.tell({**row, "event": event, "job": self._ticket.id})
