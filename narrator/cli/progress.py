"""How far a command is: for a terminal, for a log, for nobody.

Each class but `StageLine` is an observer of `pipeline.run`; what they say goes to the console they
are given.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Column

from narrator.sound.clock import clock

if TYPE_CHECKING:  # the command line answers before the rooms below are loaded
    from narrator.pipeline.bookplan import BookPlan
    from narrator.speech.plan import Step
    from narrator.speech.store import Record

LINES = 8
"""Chapters shown at once on a terminal; finished ones move up into the scrollback."""


def _fitted(title: str, room: int) -> str:
    return title if len(title) <= room else f"{title[: room - 1].rstrip()}…"


class _Tally:
    """What every kind of progress counts."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.began = time.monotonic()
        self.titles: list[str] = []
        self.total: Counter[int] = Counter()
        self.done: Counter[int] = Counter()
        self.keys: set[str] = set()
        """Of the steps that have ended."""
        self.retries: Counter[int] = Counter()
        self.speech = 0.0
        self.expected = 0.0
        """Of what is done, as `left`: the estimate's own measure, so that time left is right even
        where a voice is faster than expected."""
        self.left = 0.0
        self.ended: float | None = None
        """When the last take was in; from there on files are made."""
        self.making: tuple[str, float] | None = None
        """The stage that files are in, and since when."""
        self.busy = 0.0
        self.note = ""
        """What the engine says of itself."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    def planned(self, book: BookPlan) -> None:
        self.titles = [chapter.title for chapter in book.manuscript.chapters]
        for step in book.todo:
            self.total[step.chapter] += 1
            self.left += step.expected
        self.began = time.monotonic()

    def rendered(self, step: Step, record: Record) -> None:
        self.speech += record.seconds
        self._ended(step)

    def flagged(self, step: Step, faults: Sequence[str]) -> None:
        self._ended(step)

    def retried(self, step: Step, faults: Sequence[str]) -> None:
        self.retries[step.chapter] += 1

    def starting(self, what: str) -> None:
        pass

    def running(self, slots: int, busy: float, note: str) -> None:
        self.busy, self.note = busy, note

    def tick(self) -> None:
        pass

    def exporting(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        self.ended = self.ended or now
        if self.making is None or self.making[0] != what:
            self.making = (what, now)

    def far(self, what: str, done: int, total: int) -> str:
        """How far the files are, with the time left; encoding counts seconds of sound."""
        if what != "encode":
            return f"{done} of {total}"
        line = f"{clock(done)} of {clock(total)}"
        spent = time.monotonic() - self.making[1] if self.making else 0.0
        if done and done < total and spent > 2:
            line += f"  {clock(spent / done * (total - done))} left"
        return line

    def _ended(self, step: Step) -> None:
        if step.key in self.keys:
            return  # spoken once more: an outlier, or what continues one
        self.keys.add(step.key)
        self.done[step.chapter] += 1
        self.expected += step.expected
        self.left = max(0.0, self.left - step.expected)

    @property
    def factor(self) -> float:
        """Seconds of speech a second of this run."""
        return self.speech / max(1e-6, (self.ended or time.monotonic()) - self.began)

    def whole(self) -> str:
        """One line on the whole run."""
        done, total = self.done.total(), self.total.total()
        line = f"{done}/{total}  {self.factor:.1f} x real time"
        if self.expected and done < total:
            left = self.left * max(1e-6, time.monotonic() - self.began) / self.expected
            line += f"  {clock(left)} left"
            if left > 120:
                end = datetime.now() + timedelta(seconds=left)
                line += f", until {end:%H:%M}" if left < 43200 else f", until {end:%a %H:%M}"
        if self.note:
            line += f"  {self.note}, {self.busy:.0%} busy"
        retries = self.retries.total()
        return line + (f"  {retries} retries" if retries else "")


class JsonProgress(_Tally):
    """Says nothing: the caller prints one object at the end."""


class LineProgress(_Tally):
    """For a log or a pipe: a line a chapter, and one for the whole every few seconds."""

    EVERY = 10.0

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._next = time.monotonic() + self.EVERY
        self._last = ("", 0, 0)

    def rendered(self, step: Step, record: Record) -> None:
        super().rendered(step, record)
        if record.faults:
            self.console.print(f"doubtful: {step.id}: {record.faults[0]}")

    def flagged(self, step: Step, faults: Sequence[str]) -> None:
        super().flagged(step, faults)
        self.console.print(f"given up: {step.id}: {faults[-1]}")

    def _ended(self, step: Step) -> None:
        super()._ended(step)
        n = step.chapter
        if self.done[n] == self.total[n]:
            retries = f", {self.retries[n]} retries" if self.retries[n] else ""
            self.console.print(
                f"chapter {n + 1}: {self.titles[n]}: {self.total[n]} chunks{retries}"
            )

    def starting(self, what: str) -> None:
        self.console.print(what)

    def tick(self) -> None:
        if self.total and time.monotonic() >= self._next:
            self._next = time.monotonic() + self.EVERY
            self.console.print(self.whole())

    def exporting(self, what: str, done: int, total: int) -> None:
        super().exporting(what, done, total)
        if ((what, done, total) != self._last and done == total) or time.monotonic() >= self._next:
            self._next = time.monotonic() + self.EVERY
            self._last = (what, done, total)
            self.console.print(f"{what}: {self.far(what, done, total)}")


class LiveProgress(_Tally):
    """For a terminal: one line for each chapter at work, and one for the whole."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self.bars = Progress(
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
            BarColumn(bar_width=12),
            TextColumn("{task.fields[note]}", markup=False, table_column=Column(no_wrap=True)),
            console=console,
            refresh_per_second=4,
            transient=True,  # what is lasting is printed above, and told at the end
        )
        self.lines: dict[int, TaskID] = {}
        self.book: TaskID | None = None
        self.export: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        self.bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.bars.stop()

    def planned(self, book: BookPlan) -> None:
        super().planned(book)
        if self.total:
            self.book = self.bars.add_task("whole", total=self.total.total(), note="")

    def retried(self, step: Step, faults: Sequence[str]) -> None:
        super().retried(step, faults)
        self._show(step.chapter)

    def rendered(self, step: Step, record: Record) -> None:
        super().rendered(step, record)
        if record.faults:
            self.bars.console.print(f"doubtful: {step.id}: {record.faults[0]}")

    def flagged(self, step: Step, faults: Sequence[str]) -> None:
        super().flagged(step, faults)
        self.bars.console.print(f"given up: {step.id}: {faults[-1]}")

    def _ended(self, step: Step) -> None:
        super()._ended(step)
        self._show(step.chapter)

    def _show(self, n: int) -> None:
        retries = f"  {self.retries[n]} retries" if self.retries[n] else ""
        note = f"{self.done[n]}/{self.total[n]}{retries}"
        if n not in self.lines and len(self.lines) < LINES:
            title = _fitted(self.titles[n], 20)
            self.lines[n] = self.bars.add_task(f"{n + 1:3} {title}", total=self.total[n], note="")
        if n in self.lines:
            self.bars.update(self.lines[n], completed=self.done[n], note=note)
        if self.done[n] == self.total[n]:
            if n in self.lines:
                self.bars.remove_task(self.lines.pop(n))
            room = max(12, self.bars.console.width - len(note) - 7)
            self.bars.console.print(f"{n + 1:3} {_fitted(self.titles[n], room)}  {note}")

    def starting(self, what: str) -> None:
        self.bars.console.print(what)

    def tick(self) -> None:
        if self.book is not None:
            self.bars.update(self.book, completed=self.done.total(), note=self.whole())

    def exporting(self, what: str, done: int, total: int) -> None:
        super().exporting(what, done, total)
        self.tick()
        if what not in self.export:
            self.export[what] = self.bars.add_task(what, total=total, note="")
        note = self.far(what, done, total)
        self.bars.update(self.export[what], completed=done, total=total, note=note)


class StageLine:
    """How far a share of something is: one line on a terminal; in a log a line for each stage that
    takes long."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.stage = ""
        self.last = time.monotonic()
        self.shown = 0

    def __call__(self, what: str, share: float) -> None:
        now = time.monotonic()
        if what != self.stage:
            self.stage, self.last = what, now
        wait = 0.2 if sys.stderr.isatty() else 30.0
        if now - self.last < wait:
            return
        self.last = now
        said = f"{what}: {share:4.0%}"
        if sys.stderr.isatty():
            self.console.print(said.ljust(self.shown), end="\r")
            self.shown = len(said)
        else:
            self.console.print(said)

    def clear(self) -> None:
        if self.shown:
            self.console.print(" " * self.shown, end="\r")
