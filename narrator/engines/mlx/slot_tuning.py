"""Finds the best number of concurrent requests of an engine during real work, and stores it.

Pure except for `recall` and `remember`, which use a small file of the user; if it is lost or
damaged, the number is found again.
"""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from narrator import files
from narrator.errors import StorageError


class Growth:
    """The number of rows in a batch: doubled as long as that pays, lowered when memory runs out.

    Rates are medians over steps with all slots full, since rows that join or end have the same cost
    at any number.
    """

    FIRST_SLOTS, MAX_SLOTS = 2, 64
    WARM_UP_STEPS, MEASURED_STEPS = 4, 40
    MIN_GAIN = 1.1
    """A doubling that does not raise the patches per second by this factor is taken back."""

    def __init__(self, slots: int, settled: bool, fits: Callable[[int, int], bool]) -> None:
        """`fits(now, then)`: whether memory that holds `now` rows, maybe none, holds `then`."""
        self.slots, self.settled = slots, settled
        self.lowered = False
        self._fits = fits
        self._times: list[float] = []
        self._previous: tuple[int, float] | None = None

    def step(self, rows: int, seconds: float) -> None:
        """Records a step of so many rows that took so long."""
        if self.settled or rows != self.slots:
            return
        self._times.append(seconds)
        if len(self._times) < self.WARM_UP_STEPS + self.MEASURED_STEPS:
            return
        rate = rows / max(1e-9, statistics.median(self._times[self.WARM_UP_STEPS :]))
        self._times.clear()
        if self._previous and rate < self._previous[1] * self.MIN_GAIN:
            self.slots, self.settled = self._previous[0], True
        elif 2 * rows > self.MAX_SLOTS or not self._fits(rows, 2 * rows):
            self.settled = True
        else:
            self._previous = (rows, rate)
            self.slots = 2 * rows

    def lower(self, rows: int) -> None:
        """Lowers the slots after memory did not hold so many rows, those being decoded included."""
        self.slots = max(1, min(self.slots, rows) // 2)
        self.settled = self.lowered = True

    @property
    def best_slots(self) -> int:
        """The best number so far."""
        return self._previous[0] if self._previous and not self.settled else self.slots


def recall(path: Path, name: str, fits: Callable[[int, int], bool]) -> Growth:
    """Returns the stored growth of a name, or a new one that starts with the slots that fit."""
    note = _load_notes(path).get(name)
    if note and 1 <= note.slots <= Growth.MAX_SLOTS:
        return Growth(note.slots, note.settled, fits)
    return Growth(Growth.FIRST_SLOTS if fits(0, Growth.FIRST_SLOTS) else 1, False, fits)


@dataclass(frozen=True, slots=True)
class _Note:
    """The stored growth of a name."""

    slots: int
    settled: bool


def _load_notes(path: Path) -> dict[str, _Note]:
    """Loads the stored notes; empty if the file is damaged."""
    return files.load_json(path, dict[str, _Note], {})


def remember(path: Path, name: str, growth: Growth) -> None:
    """Stores the best number of slots under a name."""
    # After a lowering it is not settled: the next session may have more memory.
    note = _Note(growth.best_slots, growth.settled and not growth.lowered)
    notes = _load_notes(path)
    if notes.get(name) == note:
        return
    notes[name] = note
    with contextlib.suppress(StorageError):  # a convenience
        files.save_json(path, {name: asdict(note) for name, note in notes.items()})
