"""Decides which steps are ready. No arrays, no I/O.

Steps form chains (a step waits for its parent). The ready step with the longest remaining chain
goes first, so that a book does not end in one long chain; without chains, in reading order.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from typing import Protocol

from narrator.engines import RemainingWork


class Task(Protocol):
    """The fields of a step that scheduling needs."""

    @property
    def key(self) -> str: ...

    @property
    def parent(self) -> str | None:
        """Key of the step that it continues; one that is not among the tasks is done already."""
        ...

    @property
    def expected(self) -> float:
        """Seconds of speech."""
        ...


class Scheduler:
    """Gives out tasks whose parents are done, longest remaining chain first."""

    def __init__(self, tasks: Mapping[str, Task]) -> None:
        self._children: dict[str, list[str]] = {}
        self._remaining: dict[str, float] = {}
        self._ready: list[tuple[float, int, str]] = []
        self._order = {key: i for i, key in enumerate(tasks)}
        self._unfinished = set(tasks)
        self._seconds = {key: task.expected for key, task in tasks.items()}
        self._unasked_seconds = sum(self._seconds.values())
        for task in tasks.values():
            if task.parent in tasks:
                self._children.setdefault(task.parent or "", []).append(task.key)
        for key in reversed(list(tasks)):  # parents stand before their children
            longest_child = max(
                (self._remaining[c] for c in self._children.get(key, ())), default=0.0
            )
            self._remaining[key] = tasks[key].expected + longest_child
        for task in tasks.values():
            if task.parent not in tasks:
                self._push(task.key)

    def take(self) -> str | None:
        """Returns the next ready task, or None while all remaining tasks wait for others."""
        if not self._ready:
            return None
        key = heapq.heappop(self._ready)[2]
        self._unasked_seconds -= self._seconds[key]
        return key

    def put_back(self, key: str) -> None:
        """Puts a task back, to be given out again before all others."""
        self._unasked_seconds += self._seconds[key]
        heapq.heappush(self._ready, (float("-inf"), self._order[key], key))

    def ahead(self, key: str) -> RemainingWork:
        """Returns the work that remains after a task that was given out."""
        return RemainingWork(
            self._remaining[key] - self._seconds[key], max(0.0, self._unasked_seconds)
        )

    def done(self, key: str) -> None:
        """Marks a task as finished or given up: its children become ready."""
        self._unfinished.discard(key)
        for child in self._children.get(key, ()):
            self._push(child)

    @property
    def left(self) -> int:
        """Tasks that have not ended."""
        return len(self._unfinished)

    def _push(self, key: str) -> None:
        weight = -self._remaining[key] if self._children else 0.0
        heapq.heappush(self._ready, (weight, self._order[key], key))
