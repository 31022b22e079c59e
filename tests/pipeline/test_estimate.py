"""What a render would cost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from narrator import files
from narrator.delivery.export import encode
from narrator.pipeline.book_plan import Selection
from narrator.pipeline.estimate import estimate, speed_path
from tests import books
from tests.fakes import HumEngine


def test_samples_of_the_chapters_that_are_encoded_at_one_time_need_room(tmp_path, monkeypatch):
    book = books.plan(books.write(tmp_path), HumEngine())
    disk = {}
    for workers in (0, 1, 2, 3):
        monkeypatch.setattr(encode, "WORKERS", workers)
        disk[workers] = estimate(book).disk_bytes
    longer, shorter = disk[1] - disk[0], disk[2] - disk[1]
    assert longer > shorter > 0
    assert disk[3] == disk[2]
    # 32-bit samples of all that is said, and the pauses between
    said = sum(step.expected for step in book.steps) * book.sample_rate * 4
    assert said < longer + shorter < 1.5 * said


def test_chapters_that_are_not_selected_need_no_room(tmp_path, monkeypatch):
    monkeypatch.setattr(encode, "WORKERS", 1)
    book = books.plan(books.write(tmp_path), HumEngine())
    whole = estimate(book)
    parts = [estimate(replace(book, selection=Selection(frozenset({n})))) for n in (0, 1)]
    assert sum(part.file_bytes for part in parts) == pytest.approx(whole.file_bytes, abs=2)
    assert max(part.disk_bytes for part in parts) < whole.disk_bytes


def test_the_best_of_several_tries_costs_all_of_them(tmp_path):
    plans = [
        books.plan(books.write(tmp_path / name, books.MANIFEST + settings), HumEngine())
        for name, settings in (("one", ""), ("three", "checks: {best_of: 3}\n"))
    ]
    for book in plans:
        files.save_json(speed_path(book.project), {"hum": 2.0})
    one, three = map(estimate, plans)
    assert three.wall_seconds == pytest.approx(3 * one.wall_seconds)
    assert three.speech_seconds == one.speech_seconds
    assert three.disk_bytes > one.disk_bytes
