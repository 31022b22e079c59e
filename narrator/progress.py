"""The progress of a render as events, and the count of them that displays are made of.

Events are small values without steps and records, so that they reach displays in this process and
in others alike. Knows no terminal and no socket.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Planned:
    """A render begins, or goes on with another plan. Of a render that is joined: its state."""

    titles: tuple[str, ...]
    """Titles of all chapters."""
    total: Mapping[int, int]
    """Chunks to render, by chapter counted from 0."""
    expected_seconds_left: float
    """Expected seconds of the chunks that remain."""
    done: Mapping[int, int] = field(default_factory=dict)
    retries: Mapping[int, int] = field(default_factory=dict)
    speech_seconds: float = 0.0
    """Seconds of rendered speech."""
    expected_seconds: float = 0.0
    """Expected seconds of the rendered speech."""
    elapsed_seconds: float = 0.0
    """Seconds since it began."""
    measured_seconds: float = 0.0
    """Seconds since the first chunk was finished."""
    measured_expected_seconds: float = 0.0
    """Expected seconds of the chunks that were finished since then."""


@dataclass(frozen=True, slots=True)
class Starting:
    """Something slow begins before the first take: a model is loaded, a voice is cast."""

    what: str


@dataclass(frozen=True, slots=True)
class ChunkEvent:
    """The fate of a chunk."""

    chunk: str
    """Its id, "3.12"."""
    key: str
    chapter: int
    """Counted from 0."""
    expected: float
    """Seconds."""
    seconds: float = 0.0
    """Seconds of its take, if it has one."""
    faults: tuple[str, ...] = ()
    again: bool = False
    """Whether it was finished before: an outlier, or a chunk that continues one."""


class ChunkRendered(ChunkEvent):
    """A chunk has its take; one with faults is doubtful."""

    __slots__ = ()


class ChunkRetried(ChunkEvent):
    """A chunk is spoken again because of its faults."""

    __slots__ = ()


class ChunkGivenUp(ChunkEvent):
    """A chunk has no try that can be heard."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Running:
    """The engine at work; sent at least every second or so."""

    slots: int
    busy: float
    """Share of its time spent on speech."""
    note: str
    """The engine's note on itself."""


@dataclass(frozen=True, slots=True)
class Exporting:
    """Files are made."""

    what: str
    """The stage."""
    done: int
    total: int


ProgressEvent = Planned | Starting | ChunkEvent | Running | Exporting
ProgressSink = Callable[[ProgressEvent], None]
"""Whoever is told of a render: a display, a log, the clients of a job server."""


def message_callback(sink: ProgressSink) -> Callable[[str], None]:
    """A callback for messages of what is starting, as engines and voices take one."""
    return lambda message: sink(Starting(message))


def estimate_remaining_seconds(share: float, elapsed_seconds: float) -> float | None:
    """Seconds that something still takes of which a share is done; None if it is too early to
    say."""
    if not 0 < share < 1 or elapsed_seconds < 2:
        return None
    return elapsed_seconds / share * (1 - share)


MIN_MEASURED_SECONDS, MAX_MEASURED_SECONDS = 5.0, 30.0
"""Bounds of the time for which a render is measured before its remaining time is estimated: as long
as its first chunk took, with which the engine starts."""


class ProgressCounter:
    """Counts the progress of a render."""

    def __init__(self, now: Clock = time.monotonic) -> None:
        self.now = now
        self.began = now()
        self.titles: Sequence[str] = ()
        self.total: Counter[int] = Counter()
        self.done: Counter[int] = Counter()
        self.retries: Counter[int] = Counter()
        self.speech_seconds = 0.0
        self.expected_seconds = 0.0
        """Expected seconds of the finished chunks: compared with those left, which are expected
        too, they give the remaining time even if a voice is faster than expected."""
        self.expected_seconds_left = 0.0
        self._first: tuple[float, float] | None = None
        """Time when the first chunk was finished, and the expected seconds of it."""
        self.ended: float | None = None
        """Time of the last take; from then on files are made."""
        self.stage: tuple[str, float] | None = None
        """The stage of making files, and the time at which it began."""
        self.engine = Running(0, 0.0, "")

    def __call__(self, event: ProgressEvent) -> None:
        """Counts an event."""
        match event:
            case Planned():
                self.titles = event.titles
                self.expected_seconds_left = event.expected_seconds_left
                self.total, self.done = Counter(event.total), Counter(event.done)
                self.retries = Counter(event.retries)
                self.speech_seconds = event.speech_seconds
                self.expected_seconds = event.expected_seconds
                time_now = self.now()
                self.began = time_now - event.elapsed_seconds
                self._first = None
                if event.expected_seconds:
                    first_expected_seconds = (
                        event.expected_seconds - event.measured_expected_seconds
                    )
                    self._first = time_now - event.measured_seconds, first_expected_seconds
                self.ended = self.stage = None
            case ChunkRetried():
                self.retries[event.chapter] += 1
            case ChunkEvent():
                self.speech_seconds += event.seconds
                if not event.again:
                    self.done[event.chapter] += 1
                    self.expected_seconds += event.expected
                    self.expected_seconds_left = max(
                        0.0, self.expected_seconds_left - event.expected
                    )
                    self._first = self._first or (self.now(), self.expected_seconds)
            case Running():
                self.engine = event
            case Exporting():
                time_now = self.now()
                if self.titles:  # all that is spoken is there
                    self.ended = self.ended or time_now
                if self.stage is None or self.stage[0] != event.what:
                    self.stage = (event.what, time_now)

    def stage_seconds_left(self, done: int, total: int) -> float | None:
        """Seconds that the present stage of file making still takes."""
        elapsed_seconds = self.now() - self.stage[1] if self.stage else 0.0
        return estimate_remaining_seconds(done / max(1, total), elapsed_seconds)

    @property
    def state(self) -> Planned:
        """The event that brings another counter to the present count."""
        measured_seconds, measured_expected_seconds = self._measured
        return Planned(
            titles=tuple(self.titles),
            total=dict(self.total),
            expected_seconds_left=self.expected_seconds_left,
            done=dict(self.done),
            retries=dict(self.retries),
            speech_seconds=self.speech_seconds,
            expected_seconds=self.expected_seconds,
            elapsed_seconds=self.now() - self.began,
            measured_seconds=measured_seconds,
            measured_expected_seconds=measured_expected_seconds,
        )

    @property
    def _measured(self) -> tuple[float, float]:
        """Seconds since the first chunk was finished, and the expected seconds finished since."""
        if self._first is None:
            return 0.0, 0.0
        return self.now() - self._first[0], self.expected_seconds - self._first[1]

    @property
    def real_time_factor(self) -> float:
        """Seconds of speech for each second of this run."""
        return self.speech_seconds / max(1e-6, (self.ended or self.now()) - self.began)

    @property
    def remaining_seconds(self) -> float | None:
        """Seconds until everything is spoken, or None if it is too early to say.

        What came before the first chunk is not counted: the engine's start would be counted for
        all that is left.
        """
        measured_seconds, measured_expected_seconds = self._measured
        if self._first is None or self.done.total() >= self.total.total():
            return None
        first_seconds = self._first[0] - self.began
        wanted_seconds = min(max(first_seconds, MIN_MEASURED_SECONDS), MAX_MEASURED_SECONDS)
        if measured_seconds < wanted_seconds or measured_expected_seconds <= 0:
            return None
        return self.expected_seconds_left * measured_seconds / measured_expected_seconds
