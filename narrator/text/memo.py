"""Caches results of texts, for a page that reads a book again after each edit.

Knows neither the texts nor the results.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

ValueT = TypeVar("ValueT")


class LastValues(Generic[ValueT]):
    """The last value of each slot, a chapter for example, with the key that it was made for.

    Keys are compared with `==`, which is fast where they share their parts: Python compares the
    elements of tuples by identity first.
    """

    def __init__(self) -> None:
        self._entries: dict[Hashable, tuple[object, ValueT]] = {}

    def get(self, slot: Hashable, key: object, make: Callable[[], ValueT]) -> ValueT:
        """Returns the last value of a slot if it has this key, else the result of `make`, which is
        kept unless it raises."""
        entry = self._entries.get(slot)
        if entry is None or entry[0] != key:
            entry = self._entries[slot] = (key, make())
        return entry[1]

    def copy(self) -> LastValues[ValueT]:
        """Returns a cache of the same values, for somebody who may need others."""
        values = LastValues[ValueT]()
        values._entries = dict(self._entries)
        return values

    def forget(self, slot: Hashable) -> None:
        """Drops the value of a slot."""
        self._entries.pop(slot, None)

    def last(self, slot: Hashable) -> ValueT | None:
        """Returns the last value of a slot, whatever its key, or None."""
        entry = self._entries.get(slot)
        return None if entry is None else entry[1]
