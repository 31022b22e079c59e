"""Every manuscript of the corpus: imported, all its chapters found, and read by `check`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from manuscripts import Book
from narrator.importing import book_oddities, import_book, write_project
from narrator.pipeline import checking
from narrator.pipeline.manuscript import read_manuscript
from tests.effort import quick
from tests.manuscripts import corpus

NAMES = sorted(corpus.manuscripts())


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, corpus.Manuscript]:
    return {one.name: one for one in corpus.write(tmp_path_factory.mktemp("corpus"))}


@cache
def imported(path: Path) -> Book:
    return import_book(path)


def test_there_are_many() -> None:
    assert len(NAMES) >= 30


@pytest.mark.parametrize("name", quick(NAMES, *NAMES[::2]))
def test_all_chapters_are_found_and_no_word_is_lost(
    written: dict[str, corpus.Manuscript], name: str
) -> None:
    one = written[name]
    book = imported(one.path)
    titles = [chapter.title for chapter in book.chapters]
    assert len(titles) == one.chapters, titles
    assert book.language == one.language
    assert book.characters == book.characters_kept + book.characters_left_out
    text = " ".join(chapter.markdown for chapter in book.chapters)
    assert all(said in " ".join(text.split()) for said in one.says)
    assert book_oddities(book) == []


@pytest.mark.parametrize("name", quick(NAMES, *NAMES[::6]))
def test_check_takes_every_import(
    written: dict[str, corpus.Manuscript], name: str, tmp_path: Path
) -> None:
    path = written[name].path
    project = write_project(imported(path), tmp_path / "book")
    manuscript = read_manuscript(project.manifest)
    checking.check_manuscript(manuscript, lambda said: None)
    assert len(manuscript.chapters) == written[name].chapters
