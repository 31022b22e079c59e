"""How many slots: doubled while it pays, kept, lowered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from narrator import files
from narrator.engines.mlx.slot_tuning import SlotTuner, load_tuner, save_tuner
from narrator.errors import StorageError


def always(now: int, then: int) -> bool:
    return True


def run(tuner: SlotTuner, seconds: Callable[[int], float], steps: int = 1000) -> None:
    """Steps of full slots that take so many seconds by their rows."""
    for _ in range(steps):
        tuner.step(tuner.slots, seconds(tuner.slots))


def test_slots_double_until_they_do_not_pay():
    tuner = SlotTuner(2, False, always)
    run(tuner, lambda rows: max(1.0, rows / 8))  # as fast up to 8 rows, then by the row
    assert (tuner.slots, tuner.is_settled) == (8, True)


def test_what_pays_for_ever_ends_at_the_most():
    tuner = SlotTuner(2, False, always)
    run(tuner, lambda rows: 1.0)
    assert (tuner.slots, tuner.is_settled) == (SlotTuner.MAX_SLOTS, True)


def test_memory_ends_it():
    asked: list[tuple[int, int]] = []

    def fits(now: int, then: int) -> bool:
        asked.append((now, then))
        return then <= 4

    tuner = SlotTuner(2, False, fits)
    run(tuner, lambda rows: 1.0)
    assert (tuner.slots, tuner.is_settled) == (4, True)
    assert asked == [(2, 4), (4, 8)]


def test_steps_with_empty_slots_say_nothing():
    tuner = SlotTuner(4, False, always)
    for _ in range(1000):
        tuner.step(3, 1.0)
    assert (tuner.slots, tuner.is_settled) == (4, False)


def test_a_hiccup_decides_nothing():
    tuner = SlotTuner(2, False, always)
    for _ in range(SlotTuner.WARM_UP_STEPS + SlotTuner.MEASURED_STEPS):
        tuner.step(2, 1.0)
    for count in range(SlotTuner.WARM_UP_STEPS + SlotTuner.MEASURED_STEPS):
        tuner.step(4, 50.0 if count % 3 == 0 else 1.0)
    assert tuner.slots == 8


def test_lowering_halves_what_was_there():
    tuner = SlotTuner(16, False, always)
    tuner.lower(12)
    assert (tuner.slots, tuner.is_settled) == (6, True)
    tuner.lower(6)
    tuner.lower(3)
    tuner.lower(1)
    assert tuner.slots == 1


def test_what_was_found_is_kept(tmp_path):
    tuner = SlotTuner(2, False, always)
    run(tuner, lambda rows: max(1.0, rows / 8))
    save_tuner(tmp_path / "slots.json", "this", tuner)
    found = load_tuner(tmp_path / "slots.json", "this", always)
    assert (found.slots, found.is_settled) == (8, True)
    other = load_tuner(tmp_path / "slots.json", "another", always)
    assert (other.slots, other.is_settled) == (SlotTuner.FIRST_SLOTS, False)


def test_where_the_first_slots_do_not_fit_there_is_one(tmp_path):
    asked: list[tuple[int, int]] = []

    def fits(now: int, then: int) -> bool:
        asked.append((now, then))
        return False

    found = load_tuner(tmp_path / "slots.json", "this", fits)
    assert (found.slots, found.is_settled) == (1, False)
    assert asked == [(0, SlotTuner.FIRST_SLOTS)]


def test_an_unfinished_search_goes_on_from_what_it_knew(tmp_path):
    tuner = SlotTuner(2, False, always)
    run(tuner, lambda rows: 1.0, 2 * (SlotTuner.WARM_UP_STEPS + SlotTuner.MEASURED_STEPS) + 1)
    assert tuner.slots == 8
    save_tuner(tmp_path / "slots.json", "this", tuner)
    found = load_tuner(tmp_path / "slots.json", "this", always)
    assert (found.slots, found.is_settled) == (4, False)


def test_what_memory_did_not_hold_may_be_tried_again(tmp_path):
    tuner = SlotTuner(16, True, always)
    tuner.lower(16)
    save_tuner(tmp_path / "slots.json", "this", tuner)
    found = load_tuner(tmp_path / "slots.json", "this", always)
    assert (found.slots, found.is_settled) == (8, False)


@pytest.mark.parametrize(
    "torn", ["", "{", "[]", "[" * 100_000, '{"this": {"slots": -3}}', '{"this": 7}', "\xff"]
)
def test_a_torn_file_costs_finding_it_again(tmp_path, torn):
    path = tmp_path / "slots.json"
    path.write_text(torn, "latin-1")
    assert load_tuner(path, "this", always).slots == SlotTuner.FIRST_SLOTS
    save_tuner(path, "this", SlotTuner(8, True, always))
    assert load_tuner(path, "this", always).slots == 8


def test_a_file_that_cannot_be_written_stops_nothing(tmp_path, monkeypatch):
    def full(path: Path, data: bytes) -> None:
        raise StorageError("the disk is full")

    monkeypatch.setattr(files, "write", full)
    save_tuner(tmp_path / "slots.json", "this", SlotTuner(8, True, always))
    assert not list(tmp_path.iterdir())
