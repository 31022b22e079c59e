"""What was made of texts before, for a page that reads a book again after each edit.

Knows neither texts nor what is made of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

ValueT = TypeVar("ValueT")


class Kept(Generic[ValueT]):
    """What was made in the last two rounds, by all that decides it."""

    def __init__(self) -> None:
        self._previous_round: dict[Hashable, ValueT] = {}
        self._current_round: dict[Hashable, ValueT] = {}
        self._condition: object = None

    def begin(self, condition: object) -> None:
        """A new round. What was made under another condition counts no more, and what was not asked
        for in the last round goes."""
        self._previous_round = self._current_round if condition == self._condition else {}
        self._current_round, self._condition = {}, condition

    def get(self, key: Hashable, make: Callable[[], ValueT]) -> ValueT:
        """What was made under a key; else what `make` makes. Raises what it raises."""
        if key not in self._current_round:
            self._current_round[key] = (
                self._previous_round[key] if key in self._previous_round else make()
            )
        return self._current_round[key]
