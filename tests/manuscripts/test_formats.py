"""One book in many formats: whatever it is read from, it has the same chapters and words."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.manuscripts import WRITERS, novel, pdf
from manuscripts.kinds import READABLE, Kind
from narrator.importing import import_book

BOOK = novel(5000)
WORDS = [sum(len(paragraph.split()) for paragraph in chapter) for chapter in BOOK]


@pytest.mark.parametrize("ending", WRITERS)
def test_a_book_is_the_same_in_every_format(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"book.{ending}"
    WRITERS[ending](path, BOOK)
    book = import_book(path)
    assert [chapter.title for chapter in book.chapters] == ["Chapter 1", "Chapter 2"]
    assert [chapter.words - 2 for chapter in book.chapters] == WORDS
    assert book.words_left_out <= len("The Sea Door by Jane Roe Contents".split())
    assert book.characters == book.characters_kept + book.characters_left_out


def test_lines_of_a_pdf_are_its_paragraphs_again(tmp_path: Path) -> None:
    words = pdf(tmp_path / "book.pdf", 20)
    book = import_book(tmp_path / "book.pdf")
    assert [chapter.title for chapter in book.chapters] == ["Chapter 1", "Chapter 2"]
    assert book.words_kept == words + 4
    assert book.words_left_out == 20  # numbers of pages
    paragraphs = book.chapters[0].markdown.split("\n\n")[1:]
    assert {len(paragraph.split()) for paragraph in paragraphs} == {70}


@pytest.mark.parametrize("kind", READABLE, ids=lambda kind: kind.name)
def test_every_kind_has_a_reader(kind: Kind) -> None:
    assert callable(kind.load_reader())
