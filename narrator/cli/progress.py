"""Shows the progress of a command: on a terminal, in a log, or not at all.

A log gets a line every ten seconds, whatever is at work: `beat` asks it. `JsonProgress`,
`LineProgress` and `LiveProgress` are sinks of a render's events, in this process or in another one.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Self

from rich.console import Console

from narrator.progress import (
    ChunkEvent,
    ChunkGivenUp,
    ChunkRendered,
    Clock,
    Exporting,
    Planned,
    ProgressCounter,
    ProgressEvent,
    Running,
    Starting,
    estimate_remaining_seconds,
)
from narrator.sound.clock import format_clock

if TYPE_CHECKING:
    from rich.progress import TaskID

EVERY = 10.0
"""Seconds between the lines of a log."""
_said_by: list[Callable[[], str]] = []
"""Sources of progress lines of the running work; the last one is used."""


def beat(
    console: Console,
    command: str,
    wait: Callable[[float], bool],
    read_clock: Clock = time.monotonic,
) -> None:
    """Prints the progress of the running work every ten seconds, until `wait` returns true.

    Work without a progress line gets a line with the time so far, except on a terminal.
    """
    began = read_clock()
    while not wait(EVERY):
        if _said_by:
            line = _said_by[-1]()
        else:
            line = (
                ""
                if console.is_terminal
                else f"{command}: {format_clock(read_clock() - began)} so far"
            )
        if line:
            console.print(line)


@contextlib.contextmanager
def beating(console: Console, command: str) -> Iterator[None]:
    """Runs `beat` in a thread while a command runs."""
    end = threading.Event()
    thread = threading.Thread(target=beat, args=(console, command, end.wait), daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


@contextlib.contextmanager
def stage(console: Console, activity: str, read_clock: Clock = time.monotonic) -> Iterator[None]:
    """Shows a stage of unknown length, with the time that it has taken."""
    began = read_clock()

    def line() -> str:
        return f"{activity}: {format_clock(read_clock() - began)} so far"

    if console.is_terminal:
        with console.status(activity):
            yield
        return
    _said_by.append(line)
    try:
        yield
    finally:
        _said_by.remove(line)


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Prints no progress for work that goes on until it is ended."""

    def line() -> str:
        return ""

    _said_by.append(line)
    try:
        yield
    finally:
        _said_by.remove(line)


def _format_remaining(seconds: float | None) -> str:
    """The time left of something, once it can be said."""
    return "" if seconds is None else f", {format_clock(seconds)} left"


LINES = 8
"""Chapters shown at once on a terminal; finished ones move up into the scrollback."""


def _fitted(title: str, room: int) -> str:
    return title if len(title) <= room else f"{title[: room - 1].rstrip()}…"


class _Progress(ProgressCounter):
    """Counts a render's progress, and describes it."""

    def __init__(self, console: Console, clock: Clock = time.monotonic) -> None:
        super().__init__(clock)
        self.console = console

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def describe_stage(self, activity: str, done_count: int, total: int) -> str:
        """Describes a stage of making files; encoding counts seconds of sound."""
        line = (
            f"{format_clock(done_count)} of {format_clock(total)}"
            if activity in ("encode", "check")
            else f"{done_count} of {total}"
        )
        return line + _format_remaining(self.stage_seconds_left(done_count, total))

    def describe_total(self) -> str:
        """Describes the whole run in a line."""
        line = f"{self.done.total()}/{self.total.total()}  {self.real_time_factor:.1f} x real time"
        if (seconds_left := self.remaining_seconds) is not None:
            line += f"  {format_clock(seconds_left)} left"
            if seconds_left > 120:
                end = datetime.now() + timedelta(seconds=seconds_left)
                line += (
                    f", until {end:%H:%M}" if seconds_left < 43200 else f", until {end:%a %H:%M}"
                )
        if self.engine.note:
            line += f"  {self.engine.note}, {self.engine.busy:.0%} busy"
        retries = self.retries.total()
        return line + (f"  {_count_retries(retries)}" if retries else "")

    def print_faults(self, event: ChunkEvent) -> None:
        """Prints what became of a chunk that has no faultless take."""
        if isinstance(event, ChunkGivenUp):
            self.console.print(f"given up: {event.chunk}: {event.faults[-1]}")
        elif isinstance(event, ChunkRendered) and event.faults:
            self.console.print(f"doubtful: {event.chunk}: {event.faults[0]}")


class JsonProgress(_Progress):
    """Prints nothing: the caller prints one object at the end."""


class LineProgress(_Progress):
    """For a log or a pipe: a line for each chapter and stage, and at times one for the whole."""

    def __init__(self, console: Console, clock: Clock = time.monotonic) -> None:
        super().__init__(console, clock)
        self._started = ("", self.began)
        self._exported = Exporting("", 0, 0)

    def __enter__(self) -> Self:
        _said_by.append(self.line)
        return self

    def __exit__(self, *error: object) -> None:
        _said_by.remove(self.line)

    def line(self) -> str:
        """The progress so far."""
        if self.stage:
            stage = self._exported
            return f"{stage.what}: {self.describe_stage(stage.what, stage.done, stage.total)}"
        if self.done or (self.total and self.engine.busy):
            return self.describe_total()
        activity, since = self._started
        return f"{activity or 'planning'}: {format_clock(self.now() - since)} so far"

    def __call__(self, event: ProgressEvent) -> None:
        super().__call__(event)
        match event:
            case Starting(what):
                self._started = (what, self.now())
                self.console.print(what)
            case ChunkRendered() | ChunkGivenUp():
                self._print_chapter(event)
                self.print_faults(event)
            case Exporting(what, done, total):
                if event != self._exported and done == total:
                    self.console.print(f"{what}: {self.describe_stage(what, done, total)}")
                self._exported = event

    def _print_chapter(self, event: ChunkEvent) -> None:
        n = event.chapter
        if self.done[n] == self.total[n] and not event.again:
            retries = f", {_count_retries(self.retries[n])}" if self.retries[n] else ""
            self.console.print(
                f"chapter {n + 1}: {self.titles[n]}: {self.total[n]} chunks{retries}"
            )


class LiveProgress(_Progress):
    """For a terminal: one line for each chapter at work, and one for the whole."""

    def __init__(self, console: Console) -> None:
        from rich.progress import BarColumn, Progress, TextColumn  # 15 ms, for terminals alone
        from rich.table import Column

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

    def __exit__(self, *error: object) -> None:
        self.bars.stop()

    def __call__(self, event: ProgressEvent) -> None:
        super().__call__(event)
        match event:
            case Planned():
                for task in self.bars.task_ids:  # of a render before
                    self.bars.remove_task(task)
                self.lines.clear()
                self.export.clear()
                self.book = None
                if self.total:
                    self.book = self.bars.add_task("whole", total=self.total.total(), note="")
            case ChunkEvent():
                if not event.again:
                    self._show(event.chapter)
                self.print_faults(event)
            case Starting(what):
                self.console.print(what)
            case Running():
                self._show_total()
            case Exporting(what, done, total):
                self._show_total()
                if what not in self.export:
                    self.export[what] = self.bars.add_task(what, total=total, note="")
                note = self.describe_stage(what, done, total)
                self.bars.update(self.export[what], completed=done, total=total, note=note)

    def _show(self, n: int) -> None:
        retries = f"  {_count_retries(self.retries[n])}" if self.retries[n] else ""
        note = f"{self.done[n]}/{self.total[n]}{retries}"
        if n not in self.lines and len(self.lines) < LINES:
            title = _fitted(self.titles[n], 20)
            self.lines[n] = self.bars.add_task(f"{n + 1:3} {title}", total=self.total[n], note="")
        if n in self.lines:
            self.bars.update(self.lines[n], completed=self.done[n], note=note)
        if self.done[n] == self.total[n]:
            if n in self.lines:
                self.bars.remove_task(self.lines.pop(n))
            room = max(12, self.console.width - len(note) - 7)
            self.console.print(f"{n + 1:3} {_fitted(self.titles[n], room)}  {note}")

    def _show_total(self) -> None:
        if self.book is not None:
            self.bars.update(self.book, completed=self.done.total(), note=self.describe_total())


class StageLine:
    """Shows the share that is done: a changing line on a terminal, a line at times in a log."""

    def __init__(self, console: Console, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._status = console.status("") if console.is_terminal else None
        self._stage = ""
        self._first = self._latest = (clock(), 0.0)
        """Time and share of the stage's first and last report."""

    def __enter__(self) -> Self:
        if self._status:
            self._status.start()
        _said_by.append(self.line)
        return self

    def __exit__(self, *error: object) -> None:
        _said_by.remove(self.line)
        if self._status:
            self._status.stop()

    def __call__(self, what: str, share: float) -> None:
        self._latest = (self._clock(), share)
        if what != self._stage:
            self._stage, self._first = what, self._latest
        if self._status:
            self._status.update(f"{what}: {share:4.0%}" if share else what)

    def line(self) -> str:
        if self._status or not self._stage:
            return ""
        share = self._latest[1]
        if not share:
            return f"{self._stage}: {format_clock(self._clock() - self._first[0])} so far"
        return f"{self._stage}: {share:.0%}{_format_remaining(self._seconds_left())}"

    def _seconds_left(self) -> float | None:
        """By the rate between the first report of the stage and the last, so that it counts down
        until the next one."""
        (began, before), (reported, share) = self._first, self._latest
        if before == 1:
            return None
        seconds_left = estimate_remaining_seconds((share - before) / (1 - before), reported - began)
        if seconds_left is None or seconds_left <= (passed := self._clock() - reported):
            return None
        return seconds_left - passed


def _count_retries(count: int) -> str:
    return f"{count} retry" if count == 1 else f"{count} retries"
