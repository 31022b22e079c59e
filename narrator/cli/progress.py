"""Shows the progress of a command: on a terminal, in a log, or not at all.

A log gets a line every ten seconds from whatever is at work: `print_progress_lines` asks for it.
`JsonProgress`, `LineProgress` and `LiveProgress` are sinks of a render's events, which may come
from another process.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Self

from rich.console import Console

from narrator.cli.shared import shorten
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

LINE_INTERVAL_S = 10.0
"""Seconds between the lines of a log."""
_line_sources: list[Callable[[], str]] = []
"""Functions that return the progress line of the running work; the last one is asked."""


def print_progress_lines(
    console: Console,
    command: str,
    wait: Callable[[float], bool],
    read_clock: Clock = time.monotonic,
) -> None:
    """Prints the progress of the running work every ten seconds, until `wait` returns true.

    Work without a progress line gets a line with the time so far, except on a terminal.
    """
    start_s = read_clock()
    while not wait(LINE_INTERVAL_S):
        line = ""
        if _line_sources:
            line = _line_sources[-1]()
        elif not console.is_terminal:
            line = _describe_elapsed(command, read_clock() - start_s)
        if line:
            console.print(line)


def _describe_elapsed(activity: str, seconds: float) -> str:
    return f"{activity}: {format_clock(seconds)} so far"


@contextlib.contextmanager
def progress_lines(console: Console, command: str) -> Iterator[None]:
    """Runs `print_progress_lines` in a thread while a command runs."""
    end = threading.Event()
    thread = threading.Thread(
        target=print_progress_lines, args=(console, command, end.wait), daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


@contextlib.contextmanager
def stage(console: Console, activity: str, read_clock: Clock = time.monotonic) -> Iterator[None]:
    """Shows a stage of unknown length: a status on a terminal, the time so far in a log."""
    start_s = read_clock()
    if console.is_terminal:
        with console.status(activity):
            yield
    else:
        with _line_source(lambda: _describe_elapsed(activity, read_clock() - start_s)):
            yield


@contextlib.contextmanager
def _line_source(describe: Callable[[], str]) -> Iterator[None]:
    """Takes the lines of a log from this function during a block."""
    _line_sources.append(describe)
    try:
        yield
    finally:
        _line_sources.remove(describe)


def without_progress_lines() -> AbstractContextManager[None]:
    """Prints no progress during a block: a server runs until it is stopped."""
    return _line_source(lambda: "")


def _format_remaining(seconds: float | None) -> str:
    """Describes the remaining time; an empty text while it is unknown."""
    return "" if seconds is None else f", {format_clock(seconds)} left"


MAX_CHAPTER_BARS = 8
"""Chapters shown at once on a terminal; finished ones move up into the scrollback."""


class _Progress(ProgressCounter):
    """Counts a render's progress, and describes it."""

    def __init__(self, console: Console, clock: Clock = time.monotonic) -> None:
        super().__init__(clock)
        self.console = console

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def describe_stage(self, stage: Exporting) -> str:
        """Describes a stage of making files: seconds of sound, or the number of files."""
        done, total = stage.done, stage.total
        count = f"{done} of {total}"
        if stage.what in ("encode", "check"):
            count = f"{format_clock(done)} of {format_clock(total)}"
        return count + _format_remaining(self.stage_seconds_left(done, total))

    def describe_total(self) -> str:
        """Describes the whole run in a line."""
        line = f"{self.done.total()}/{self.total.total()}  {self.real_time_factor:.1f} x real time"
        if (seconds_left := self.remaining_seconds) is not None:
            line += f"  {format_clock(seconds_left)} left"
            if seconds_left > 120:
                end = datetime.now() + timedelta(seconds=seconds_left)
                is_within_half_a_day = seconds_left < 12 * 3600
                line += (
                    f", until {end:%H:%M}" if is_within_half_a_day else f", until {end:%a %H:%M}"
                )
        if self.engine.note:
            line += f"  {self.engine.note}, {self.engine.busy:.0%} busy"
        retries = self.retries.total()
        return line + (f"  {_count_retries(retries)}" if retries else "")

    def print_faults(self, event: ChunkEvent) -> None:
        """Prints the fault of a chunk that was given up, or has a doubtful take."""
        if isinstance(event, ChunkGivenUp):
            self.console.print(f"given up: {event.chunk}: {event.faults[-1]}")
        elif isinstance(event, ChunkRendered) and event.faults:
            self.console.print(f"doubtful: {event.chunk}: {event.faults[0]}")


class JsonProgress(_Progress):
    """Prints nothing: the caller prints one object at the end."""


class LineProgress(_Progress):
    """For a log or a pipe: a line for each chapter and stage, and at intervals one for the book."""

    def __init__(self, console: Console, clock: Clock = time.monotonic) -> None:
        super().__init__(console, clock)
        self._activity, self._activity_start_s = "planning", self.began
        self._latest_export = Exporting("", 0, 0)

    def __enter__(self) -> Self:
        _line_sources.append(self.line)
        return self

    def __exit__(self, *error: object) -> None:
        _line_sources.remove(self.line)

    def line(self) -> str:
        """Describes the progress so far."""
        if self.stage:
            return f"{self._latest_export.what}: {self.describe_stage(self._latest_export)}"
        if self.done or (self.total and self.engine.busy):
            return self.describe_total()
        return _describe_elapsed(self._activity, self.now() - self._activity_start_s)

    def __call__(self, event: ProgressEvent) -> None:
        super().__call__(event)
        match event:
            case Starting(activity):
                self._activity, self._activity_start_s = activity, self.now()
                self.console.print(activity)
            case ChunkRendered() | ChunkGivenUp():
                self._print_complete_chapter(event)
                self.print_faults(event)
            case Exporting(activity, done, total):
                if event != self._latest_export and done == total:
                    self.console.print(f"{activity}: {self.describe_stage(event)}")
                self._latest_export = event

    def _print_complete_chapter(self, event: ChunkEvent) -> None:
        chapter = event.chapter
        chunk_count = self.total[chapter]
        if self.done[chapter] == chunk_count and not event.again:
            retries = f", {_count_retries(self.retries[chapter])}" if self.retries[chapter] else ""
            self.console.print(
                f"chapter {chapter + 1}: {self.titles[chapter]}: {chunk_count} chunks{retries}"
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
            transient=True,  # results are printed above the bars, and again at the end
        )
        self._chapter_bars: dict[int, TaskID] = {}
        self._book_bar: TaskID | None = None
        self._export_bars: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        self.bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.bars.stop()

    def __call__(self, event: ProgressEvent) -> None:
        super().__call__(event)
        match event:
            case Planned():
                for bar in self.bars.task_ids:  # of an earlier render
                    self.bars.remove_task(bar)
                self._chapter_bars.clear()
                self._export_bars.clear()
                self._book_bar = None
                if self.total:
                    self._book_bar = self.bars.add_task("whole", total=self.total.total(), note="")
            case ChunkEvent():
                if not event.again:
                    self._update_chapter(event.chapter)
                self.print_faults(event)
            case Starting(activity):
                self.console.print(activity)
            case Running():
                self._update_total()
            case Exporting(activity, done, total):
                self._update_total()
                if activity not in self._export_bars:
                    self._export_bars[activity] = self.bars.add_task(activity, total=total, note="")
                bar = self._export_bars[activity]
                note = self.describe_stage(event)
                self.bars.update(bar, completed=done, total=total, note=note)

    def _update_chapter(self, chapter: int) -> None:
        """Moves the bar of a chapter, counted from 0; a complete one becomes a printed line."""
        done_count, chunk_count = self.done[chapter], self.total[chapter]
        number, title = f"{chapter + 1:3}", self.titles[chapter]
        retries = f"  {_count_retries(self.retries[chapter])}" if self.retries[chapter] else ""
        note = f"{done_count}/{chunk_count}{retries}"
        if chapter not in self._chapter_bars and len(self._chapter_bars) < MAX_CHAPTER_BARS:
            self._chapter_bars[chapter] = self.bars.add_task(
                f"{number} {shorten(title, 20)}", total=chunk_count, note=""
            )
        if chapter in self._chapter_bars:
            self.bars.update(self._chapter_bars[chapter], completed=done_count, note=note)
        if done_count == chunk_count:
            if chapter in self._chapter_bars:
                self.bars.remove_task(self._chapter_bars.pop(chapter))
            title_width = max(12, self.console.width - len(number) - len(note) - 4)
            self.console.print(f"{number} {shorten(title, title_width)}  {note}")

    def _update_total(self) -> None:
        if self._book_bar is not None:
            note = self.describe_total()
            self.bars.update(self._book_bar, completed=self.done.total(), note=note)


class StageLine:
    """Shows the share that is done: a changing line on a terminal, a line at intervals in a log."""

    def __init__(self, console: Console, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._status = console.status("") if console.is_terminal else None
        self._activity = ""
        self._first = self._latest = (clock(), 0.0)
        """Time in seconds and share of the first and the latest report of this activity."""

    def __enter__(self) -> Self:
        if self._status:
            self._status.start()
        _line_sources.append(self.line)
        return self

    def __exit__(self, *error: object) -> None:
        _line_sources.remove(self.line)
        if self._status:
            self._status.stop()

    def __call__(self, activity: str, share: float) -> None:
        self._latest = (self._clock(), share)
        if activity != self._activity:
            self._activity, self._first = activity, self._latest
        if self._status:
            self._status.update(f"{activity}: {share:4.0%}" if share else activity)

    def line(self) -> str:
        """Describes the progress for a log; empty on a terminal, which shows it already."""
        if self._status or not self._activity:
            return ""
        share = self._latest[1]
        if not share:
            return _describe_elapsed(self._activity, self._clock() - self._first[0])
        return f"{self._activity}: {share:.0%}{_format_remaining(self._seconds_left())}"

    def _seconds_left(self) -> float | None:
        """Estimates the rest by the rate between the first and the latest report of the activity.

        Counts down between reports; None while unknown.
        """
        (first_s, first_share), (latest_s, latest_share) = self._first, self._latest
        if first_share == 1:
            return None
        progress = (latest_share - first_share) / (1 - first_share)
        seconds_left = estimate_remaining_seconds(progress, latest_s - first_s)
        if seconds_left is None:
            return None
        seconds_left -= self._clock() - latest_s
        return seconds_left if seconds_left > 0 else None


def _count_retries(count: int) -> str:
    return f"{count} retry" if count == 1 else f"{count} retries"
