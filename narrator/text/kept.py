"""What was made of texts before, for a page that reads a book again after each edit.

Knows neither texts nor what is made of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Made = TypeVar("Made")


class Kept(Generic[Made]):
    """What was made in the last two rounds, by all that decides it."""

    def __init__(self) -> None:
        self._before: dict[Hashable, Made] = {}
        self._now: dict[Hashable, Made] = {}
        self._condition: object = None

    def begin(self, condition: object) -> None:
        """A new round. What was made under another condition counts no more, and what was not asked
        for in the last round goes."""
        self._before = self._now if condition == self._condition else {}
        self._now, self._condition = {}, condition

    def get(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What was made under a key; else what `make` makes. Raises what it raises."""
        if key not in self._now:
            self._now[key] = self._before[key] if key in self._before else make()
        return self._now[key]
