"""Files that programs and sites have written: their chapters and words, checked, and damaged."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from narrator.importing import write_project
from narrator.pipeline import checking
from narrator.pipeline.manuscript import read_manuscript
from tests.effort import examples, quick
from tests.manuscripts.damage import assert_read_or_refused, damaged
from tests.manuscripts.imports import SAMPLES, titles, whole

TIDE = ["Chapter One. The Ferry", "Chapter Two. The Lamp", "Chapter Three. The Door"]
SEA = ["Chapter One", "Chapter Two"]
DOOR = ["Epigraph", "Глава 1. Дверь", "Глава 2", "Глава 1"]
CONTENTS: dict[str, tuple[list[str], int, int]] = {
    "tide-libreoffice.html": (TIDE, 215, 0),
    "tide-calibre.htmlz": (TIDE, 215, 0),
    "sea-door-word.htm": (SEA, 29, 0),
    "sea-door-google.html": (SEA, 22, 0),
    "sea-door-archive.html": (["Chapter 1: The Door", "Chapter 2: The End"], 30, 0),
    "sea-door-gutenberg.html": (["CHAPTER I. The Door", "CHAPTER II. The Sea"], 62, 0),
    "sea-door-wikisource.html": (["Chapter 1"], 37, 0),
    "sea-door-blog.html": (["Chapter 3: The Tide"], 42, 0),
    "tide-pandoc.fb2": (TIDE, 215, 0),
    "tide-calibre.fb2": (TIDE, 243, 0),  # with its notes, which are marked as nothing
    "sea-door-windows-1251.fb2": (DOOR, 71, 0),
    "sea-door-broken.fb2": (DOOR, 73, 0),
    "harbour.fountain": (["Act One", "Act Two"], 235, 10),
    "harbour.fdx": (["Act One", "Act Two"], 233, 10),
    "kitchen.fountain": (["Teaser", "Act One", "Act Two"], 143, 7),
    "kitchen.fdx": (["Teaser", "Act One", "Act Two"], 144, 7),
    "harbour.srt": (["harbour"], 53, 3),
    "harbour.vtt": (["harbour"], 18, 2),
    "captions.vtt": (["captions"], 11, 0),
}
"""Chapters, words that are to be read, and speakers, counted by hand or in the text that was
converted."""


@pytest.mark.parametrize("name", CONTENTS)
def test_chapters_words_and_speakers_are_those_of_the_source(name: str) -> None:
    book = whole(SAMPLES / name)
    assert (titles(book), book.words_kept, len(book.speakers)) == CONTENTS[name]


@pytest.mark.parametrize("name", quick(CONTENTS, *list(CONTENTS)[1::3]))
def test_check_takes_every_import(name: str, tmp_path: Path) -> None:
    book = whole(SAMPLES / name)
    manuscript = read_manuscript(write_project(book, tmp_path / "book").manifest)
    told: list[object] = []
    checking.check_manuscript(manuscript, told.append)
    assert len(manuscript.chapters) == len(book.chapters)
    assert not [line for line in told if "names nobody" in str(line)]


@pytest.mark.parametrize(
    "name",
    quick(
        ["sea-door-word.htm", "sea-door-google.html", "sea-door-windows-1251.fb2",
         "harbour.fountain", "harbour.fdx", "harbour.srt", "harbour.vtt"],
        "sea-door-google.html", "sea-door-windows-1251.fb2", "harbour.fdx",
    ),
)  # fmt: skip
def test_damaged_files_are_read_or_refused_in_a_line(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    for number in range(examples(40)):
        path.write_bytes(damaged((SAMPLES / name).read_bytes(), random.Random(number)))
        assert_read_or_refused(path)
