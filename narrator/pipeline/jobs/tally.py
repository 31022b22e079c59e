"""Counts the progress of a render, for display in this process or another.

A render's observer receives steps and records; a display receives only the few values here, which
are also sent over the wire. Knows no terminal and no socket.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:  # the command line answers before the rooms below are loaded
    from narrator.pipeline.book_plan import BookPlan

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class RenderProgress:
    """The work of a render and how much of it is done."""

    titles: tuple[str, ...]
    """Titles of all chapters."""
    total: Mapping[int, int]
    """Chunks to render, by chapter counted from 0."""
    left: float
    """Expected seconds of the chunks that remain."""
    done: Mapping[int, int] = field(default_factory=dict)
    retries: Mapping[int, int] = field(default_factory=dict)
    speech: float = 0.0
    """Seconds of rendered speech."""
    expected: float = 0.0
    """Expected seconds of the rendered speech."""
    spent: float = 0.0
    """Seconds since it began."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> RenderProgress:
        """Raises KeyError, TypeError, ValueError, AttributeError for other JSON."""
        return cls(
            tuple(map(str, row["titles"])),
            _parse_counts(row["total"]),
            float(row["left"]),
            _parse_counts(row["done"]),
            _parse_counts(row["retries"]),
            float(row["speech"]),
            float(row["expected"]),
            float(row["spent"]),
        )


def _parse_counts(row: Mapping[str, Any]) -> dict[int, int]:
    """Counts by chapter, whose numbers are strings in JSON."""
    return {int(chapter): int(count) for chapter, count in row.items()}


@dataclass(frozen=True, slots=True)
class ChunkProgress:
    """A chunk of a render that is finished or retried."""

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

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "faults": list(self.faults)}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> ChunkProgress:
        """Raises KeyError, TypeError, ValueError for other JSON."""
        return cls(
            str(row["chunk"]),
            str(row["key"]),
            int(row["chapter"]),
            float(row["expected"]),
            float(row["seconds"]),
            tuple(map(str, row["faults"])),
            bool(row["again"]),
        )


class ProgressSink(Protocol):
    """Displays the progress of a render, whichever process does it."""

    def planned(self, outlook: RenderProgress) -> None: ...

    def rendered(self, chunk: ChunkProgress) -> None: ...

    def retried(self, chunk: ChunkProgress) -> None: ...

    def flagged(self, chunk: ChunkProgress) -> None: ...

    def starting(self, what: str) -> None: ...

    def running(self, slots: int, busy: float, note: str) -> None: ...

    def exporting(self, what: str, done: int, total: int) -> None: ...

    def tick(self) -> None: ...


def initial_progress(book: BookPlan) -> RenderProgress:
    """The outlook of a render that is about to begin."""
    total = dict(Counter(step.chapter for step in book.todo))
    remaining_seconds = sum(step.expected for step in book.todo)
    return RenderProgress(
        tuple(chapter.title for chapter in book.chapters), total, remaining_seconds
    )


def estimate_remaining_seconds(share: float, spent: float) -> float | None:
    """Seconds that something still takes, or None if it is too early to say."""
    if not 0 < share < 1 or spent < 2:
        return None
    return spent / share * (1 - share)


class ProgressCounter:
    """Counts the progress of a render."""

    def __init__(self, now: Clock = time.monotonic) -> None:
        self.now = now
        self.began = now()
        self.titles: Sequence[str] = ()
        self.total: Counter[int] = Counter()
        self.done: Counter[int] = Counter()
        self.retries: Counter[int] = Counter()
        self.speech = 0.0
        self.expected = 0.0
        """Expected seconds of the finished chunks. Like `left`, it is in expected time, so that the
        remaining time is right even if a voice is faster than expected."""
        self.left = 0.0
        self.ended: float | None = None
        """Time of the last take; from then on files are made."""
        self.making: tuple[str, float] | None = None
        """The stage of making files, and the time at which it began."""
        self.slots = 0
        self.busy = 0.0
        self.note = ""
        """The engine's note on itself."""

    def planned(self, outlook: RenderProgress) -> None:
        self.titles, self.left = outlook.titles, outlook.left
        self.total, self.done = Counter(outlook.total), Counter(outlook.done)
        self.retries = Counter(outlook.retries)
        self.speech, self.expected = outlook.speech, outlook.expected
        self.began = self.now() - outlook.spent
        self.ended = self.making = None

    def rendered(self, chunk: ChunkProgress) -> None:
        self.speech += chunk.seconds
        self._count_finished(chunk)

    def flagged(self, chunk: ChunkProgress) -> None:
        self._count_finished(chunk)

    def retried(self, chunk: ChunkProgress) -> None:
        self.retries[chunk.chapter] += 1

    def running(self, slots: int, busy: float, note: str) -> None:
        self.slots, self.busy, self.note = slots, busy, note

    def exporting(self, what: str, done: int, total: int) -> None:
        time_now = self.now()
        if self.titles:  # all that is spoken is there
            self.ended = self.ended or time_now
        if self.making is None or self.making[0] != what:
            self.making = (what, time_now)

    def making_left(self, done: int, total: int) -> float | None:
        """Seconds that the present stage of file making still takes."""
        spent = self.now() - self.making[1] if self.making else 0.0
        return estimate_remaining_seconds(done / max(1, total), spent)

    def _count_finished(self, chunk: ChunkProgress) -> None:
        if chunk.again:
            return
        self.done[chunk.chapter] += 1
        self.expected += chunk.expected
        self.left = max(0.0, self.left - chunk.expected)

    @property
    def outlook(self) -> RenderProgress:
        """The present progress."""
        return RenderProgress(
            tuple(self.titles), dict(self.total), self.left, dict(self.done), dict(self.retries),
            self.speech, self.expected, self.now() - self.began,
        )  # fmt: skip

    @property
    def factor(self) -> float:
        """Seconds of speech for each second of this run."""
        return self.speech / max(1e-6, (self.ended or self.now()) - self.began)

    @property
    def remaining(self) -> float | None:
        """Seconds until everything is spoken, or None if it is too early to say."""
        if not self.expected or self.done.total() >= self.total.total():
            return None
        return self.left * max(1e-6, self.now() - self.began) / self.expected
