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
        """`tasks` by key, each parent before its children."""
        self._children: dict[str, list[str]] = {}
        self._chain_seconds: dict[str, float] = {}
        """Seconds of the longest chain that begins with a task, by the task's key."""
        self._ready: list[tuple[float, int, str]] = []
        """Heap of (priority, index in reading order, key); the lowest goes first."""
        self._order = {key: i for i, key in enumerate(tasks)}
        self._unfinished = set(tasks)
        self._seconds = {key: task.expected for key, task in tasks.items()}
        self._waiting_seconds = sum(self._seconds.values())
        """Seconds of the tasks that are not given out."""
        for task in tasks.values():
            if task.parent in tasks:
                self._children.setdefault(task.parent or "", []).append(task.key)
        for key in reversed(list(tasks)):
            longest_child = max(
                (self._chain_seconds[child] for child in self._children.get(key, ())), default=0.0
            )
            self._chain_seconds[key] = self._seconds[key] + longest_child
        for task in tasks.values():
            if task.parent not in tasks:
                self._push(task.key)

    def next_ready(self) -> str | None:
        """Gives out the next ready task by its key; None while all remaining ones must wait."""
        if not self._ready:
            return None
        key = heapq.heappop(self._ready)[2]
        self._waiting_seconds -= self._seconds[key]
        return key

    def put_back(self, key: str) -> None:
        """Puts a task back, to be given out again before all others."""
        self._waiting_seconds += self._seconds[key]
        heapq.heappush(self._ready, (float("-inf"), self._order[key], key))

    def remaining_work(self, key: str) -> RemainingWork:
        """Returns the work that remains after a task that was given out."""
        return RemainingWork(
            self._chain_seconds[key] - self._seconds[key], max(0.0, self._waiting_seconds)
        )

    def mark_done(self, key: str) -> None:
        """Marks a task as finished or given up: its children become ready."""
        self._unfinished.discard(key)
        for child in self._children.get(key, ()):
            self._push(child)

    @property
    def unfinished_count(self) -> int:
        """Tasks that have not ended."""
        return len(self._unfinished)

    def _push(self, key: str) -> None:
        priority = -self._chain_seconds[key] if self._children else 0.0
        heapq.heappush(self._ready, (priority, self._order[key], key))
