"""Caches results of texts, for a page that reads a book again after each edit.

Knows neither the texts nor the results.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

ValueT = TypeVar("ValueT")


class MemoCache(Generic[ValueT]):
    """Caches values of the last two rounds, by key."""

    def __init__(self) -> None:
        self._previous_round: dict[Hashable, ValueT] = {}
        self._current_round: dict[Hashable, ValueT] = {}
        self._condition: object = None

    def begin(self, condition: object) -> None:
        """Begins a round.

        Values of another condition, and values not used in the last round, are dropped.
        """
        self._previous_round = self._current_round if condition == self._condition else {}
        self._current_round, self._condition = {}, condition

    def get(self, key: Hashable, make: Callable[[], ValueT]) -> ValueT:
        """Returns the cached value of a key, or the result of `make`. Raises what it raises."""
        if key not in self._current_round:
            self._current_round[key] = (
                self._previous_round[key] if key in self._previous_round else make()
            )
        return self._current_round[key]
