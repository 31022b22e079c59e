"""Oddities of chapters: lengths, and numbers with gaps."""

from __future__ import annotations

from pathlib import Path

import pytest

from narrator.importing import book_oddities
from narrator.importing.doubts import ChapterShape, chapter_oddities
from tests.importing.books import PROSE, imported


def test_lengths_and_numbers_that_are_odd_are_told_once_with_the_mend() -> None:
    said = chapter_oddities([
        ChapterShape("I", 600, 1), ChapterShape("II", 25_000, 1), ChapterShape("IV", 600, 1),
        ChapterShape("IV", 5, 1),
        ChapterShape("I", 700, 1),
    ])  # fmt: skip
    assert [line.partition(":")[0] for line in said] == [
        "longer than chapters are", "much shorter than the others",
        "chapter numbers do not run on",
    ]  # fmt: skip
    assert "3 is missing between “II” and “IV”" in said[2]
    assert "same number" in said[2]
    assert "begins again" in said[2]
    assert all("--chapter-heading" in line for line in said)


@pytest.mark.parametrize(
    "named",
    [
        ["Part One, Chapter 1", "Part One, Chapter 2", "Part Two, Chapter 1"],
        ["CHAPTER X. The Mock", "CHAPTER XI. Who Stole the Tarts?", "CHAPTER XII"],
        ["A Scandal: I", "A Scandal: II", "The League: I"],
        ["The League", "I", "II", "The Knot", "I", "II"],
        ["1984", "2001"],
        ["Prologue", "One", "Two"],
    ],
)
def test_numbers_that_count_are_not_told(named: list[str]) -> None:
    assert chapter_oddities([ChapterShape(title, 600, 1) for title in named]) == []


def test_chapters_of_a_part_may_begin_to_count_anew(tmp_path: Path) -> None:
    part = f"{{}}\n\nCHAPTER I. The Gate\n\n{PROSE}\nCHAPTER II. The {{}}\n\n{PROSE}\n"
    text = part.format("BOOK ONE", "Sea") + part.format("BOOK TWO", "Wave")
    assert book_oddities(imported(tmp_path, text)) == []
