"""What a log is told of long work: a line every ten seconds, by a clock that tests turn."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from narrator.cli.progress import (
    LINE_INTERVAL_S,
    LineProgress,
    StageLine,
    print_progress_lines,
    stage,
)
from narrator.progress import ChunkRendered, Exporting, Planned, ProgressCounter, Starting


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def log() -> Console:
    return Console(file=io.StringIO(), force_terminal=False, width=200)


def told(log: Console, now: Clock, *steps) -> list[str]:
    """The lines of a log in which `steps` happen, each after ten more seconds."""
    acts = iter(steps)

    def wait(seconds: float) -> bool:
        assert seconds == LINE_INTERVAL_S == 10
        now.seconds += seconds
        act = next(acts, None)
        if act is not None:
            act()
        return act is None

    print_progress_lines(log, "narrator new", wait, now)
    return log.file.getvalue().splitlines()


def idle() -> None:
    pass


def test_whatever_says_nothing_is_said_to_be_at_work(log):
    assert told(log, Clock(), idle, idle) == [
        "narrator new: 0:10 so far", "narrator new: 0:20 so far",
    ]  # fmt: skip


def test_a_stage_is_named_while_it_lasts(log):
    now = Clock()
    with stage(log, "reading the manuscript", now):
        lines = told(log, now, idle)
    assert lines == ["reading the manuscript: 0:10 so far"]
    assert told(log, now, idle)[-1] == "narrator new: 0:10 so far"


def test_a_share_is_told_with_the_time_left(log):
    now = Clock()
    with StageLine(log, now) as line:
        line("measuring 12 files", 0.0)
        lines = told(log, now, lambda: line("measuring 12 files", 0.25), idle)
    assert lines == ["measuring 12 files: 25%, 0:30 left", "measuring 12 files: 25%, 0:20 left"]


def test_the_time_that_loading_took_is_not_in_the_time_left(log):
    now = Clock()
    with StageLine(log, now) as line:
        line("loading whisper small.en", 0.0)
        lines = told(
            log,
            now,
            idle,
            lambda: line("listening", 0.1),
            lambda: line("listening", 0.2),
            idle,
        )
    assert lines == [
        "loading whisper small.en: 0:10 so far",
        "listening: 10%",
        "listening: 20%, 1:20 left",
        "listening: 20%, 1:10 left",
    ]


def outlook(chunks: int) -> Planned:
    return Planned(("Morning",), {0: chunks}, 5.0 * chunks)


def chunk(number: int) -> ChunkRendered:
    return ChunkRendered(f"1.{number}", f"key {number}", 0, 5.0, 5.0)


def test_a_render_tells_what_it_does_before_it_speaks_while_it_does_and_afterwards(log):
    now = Clock()
    with LineProgress(log, now) as progress:
        spoken = map(chunk, range(4))

        def speak() -> None:
            progress(next(spoken))

        lines = told(
            log,
            now,
            lambda: progress(Exporting("measure music", 1, 4)),
            lambda: progress(outlook(4)),
            speak,
            speak,
            lambda: progress(Exporting("encode", 30, 60)),
            idle,
        )
    assert lines == [
        "measure music: 1 of 4",
        "planning: 0:20 so far",
        "1/4  0.5 x real time",
        "2/4  0.5 x real time  0:20 left",
        "encode: 0:30 of 1:00",
        "encode: 0:30 of 1:00, 0:10 left",
    ]


def test_the_start_of_an_engine_is_not_in_the_time_left():
    now = Clock()
    counter = ProgressCounter(now)
    counter(outlook(100))
    told_at = []
    for number in range(100):
        now.seconds += 60 if number == 0 else 2
        counter(chunk(number))
        other = ProgressCounter(now)
        other(counter.state)  # somebody who joins is told the same
        assert other.remaining_seconds == counter.remaining_seconds
        told_at.append(counter.remaining_seconds)
    assert told_at[:15] == [None] * 15  # until half a minute was measured
    assert told_at[15:99] == [2.0 * (99 - number) for number in range(15, 99)]
    assert told_at[99] is None


def test_what_is_started_is_told_at_once_and_then_how_long_it_takes(log):
    now = Clock()
    with LineProgress(log, now) as progress:
        lines = told(log, now, lambda: progress(Starting("casting Ada")), idle)
    assert lines == ["casting Ada", "casting Ada: 0:00 so far", "casting Ada: 0:10 so far"]


def test_a_terminal_is_not_told_what_it_shows():
    screen = Console(file=io.StringIO(), force_terminal=True, width=80)
    told(screen, Clock(), idle, idle)
    assert screen.file.getvalue() == ""
