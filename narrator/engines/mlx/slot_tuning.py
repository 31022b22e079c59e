"""Finds the best number of concurrent requests of an engine during real work, and stores it.

Pure except for `load_tuner` and `save_tuner`, which use a small file of the user; if it is lost or
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


class SlotTuner:
    """The number of rows in a batch: doubled as long as that pays, lowered when memory runs out.

    Rates are medians over steps with all slots full, since rows that join or end have the same cost
    at any number.
    """

    FIRST_SLOTS, MAX_SLOTS = 2, 64
    WARM_UP_STEPS, MEASURED_STEPS = 4, 40
    MIN_GAIN = 1.1
    """A doubling that does not raise the patches per second by this factor is taken back."""

    def __init__(self, slots: int, is_settled: bool, fits: Callable[[int, int], bool]) -> None:
        """`fits(rows, next_rows)`: whether memory that holds `rows` (0: the weights alone) holds
        `next_rows`. A settled number is not tried to be raised."""
        self.slots, self.is_settled = slots, is_settled
        self.was_lowered = False
        self._fits = fits
        self._step_seconds: list[float] = []
        self._previous: tuple[int, float] | None = None
        """Slots before the last doubling, and their rows per second."""

    def step(self, rows: int, seconds: float) -> None:
        """Records a step of so many rows, and doubles or settles the slots after enough steps."""
        if self.is_settled or rows != self.slots:
            return
        self._step_seconds.append(seconds)
        if len(self._step_seconds) < self.WARM_UP_STEPS + self.MEASURED_STEPS:
            return
        rows_per_second = rows / max(
            1e-9, statistics.median(self._step_seconds[self.WARM_UP_STEPS :])
        )
        self._step_seconds.clear()
        if self._previous and rows_per_second < self._previous[1] * self.MIN_GAIN:
            self.slots, self.is_settled = self._previous[0], True
        elif 2 * rows > self.MAX_SLOTS or not self._fits(rows, 2 * rows):
            self.is_settled = True
        else:
            self._previous = (rows, rows_per_second)
            self.slots = 2 * rows

    def lower(self, rows: int) -> None:
        """Lowers the slots after memory did not hold so many rows, those being decoded included."""
        self.slots = max(1, min(self.slots, rows) // 2)
        self.is_settled = self.was_lowered = True

    @property
    def best_slots(self) -> int:
        """The best number so far."""
        return self._previous[0] if self._previous and not self.is_settled else self.slots


def load_tuner(path: Path, name: str, fits: Callable[[int, int], bool]) -> SlotTuner:
    """Returns the stored tuner of a name, or a new one that starts with as many slots as fit."""
    note = _load_notes(path).get(name)
    if note and 1 <= note.slots <= SlotTuner.MAX_SLOTS:
        return SlotTuner(note.slots, note.settled, fits)
    first_slots = SlotTuner.FIRST_SLOTS if fits(0, SlotTuner.FIRST_SLOTS) else 1
    return SlotTuner(first_slots, is_settled=False, fits=fits)


@dataclass(frozen=True, slots=True)
class _Note:
    """The stored number of slots of a name."""

    slots: int
    settled: bool


def _load_notes(path: Path) -> dict[str, _Note]:
    """Loads the stored notes; empty if the file is damaged."""
    return files.load_json(path, dict[str, _Note], {})


def save_tuner(path: Path, name: str, tuner: SlotTuner) -> None:
    """Stores the best number of slots under a name."""
    # After a lowering it is not settled: the next session may have more memory.
    note = _Note(tuner.best_slots, tuner.is_settled and not tuner.was_lowered)
    notes = _load_notes(path)
    if notes.get(name) == note:
        return
    notes[name] = note
    with contextlib.suppress(StorageError):  # then it is found again
        files.save_json(path, {name: asdict(note) for name, note in notes.items()})
