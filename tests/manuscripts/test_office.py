"""Word, OpenDocument and RTF as real programs write them, against the text they were made from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from manuscripts.book import Book
from narrator.importing import import_book, write_project
from narrator.pipeline import checking
from narrator.pipeline.manuscript import read_manuscript

_FOLDER = Path(__file__).parents[1] / "golden" / "manuscripts"
_TITLES = ["Down the Hole", "The Pool", "Evidence"]


def _source_words() -> list[str]:
    """The words of the chapters of `hall.md`, without its front matter, notes and marks."""
    text = (_FOLDER / "hall.md").read_text("utf-8").split("---\n", 2)[2].split("\n[^1]: ")[0]
    text = re.sub(r"\[\^\d\]|^\|[-| ]+$|^\d\. ", "", text, flags=re.MULTILINE)
    return re.findall(r"[^\W_]+", text)


def _words(book: Book) -> list[str]:
    text = " ".join(chapter.markdown for chapter in book.chapters)
    return re.findall(r"[^\W_]+", re.sub(r"^\d\. ", "", text, flags=re.MULTILINE))


FILES = sorted(path.name for path in _FOLDER.glob("hall-*"))
NOTED = [name for name in FILES if "calibre" not in name]


@pytest.mark.parametrize("name", NOTED)
def test_all_words_of_the_source_are_read_in_order(name: str) -> None:
    assert _words(import_book(_FOLDER / name)) == _source_words()


@pytest.mark.parametrize("name", FILES)
def test_all_chapters_are_found_and_no_character_is_lost(name: str) -> None:
    book = import_book(_FOLDER / name)
    assert [chapter.title for chapter in book.chapters] == _TITLES
    assert book.characters == book.characters_kept + book.characters_left_out
    assert not any("on the way in" in remark for remark in book.remarks)
    assert (book.title, book.authors) == ("The Long Hall", ("Jane Roe",))


@pytest.mark.parametrize("name", NOTED)
def test_emphasis_scene_breaks_lists_and_notes_are_kept(name: str) -> None:
    book = import_book(_FOLDER / name)
    first, second, third = (chapter.markdown for chapter in book.chapters)
    assert "*very* odd" in first
    assert "**quite**" in first
    assert "\n***\n" in first
    assert "a key of gold" in second
    assert "bottle; cherry" in second
    assert "- knaves" in third
    assert "😀" in third
    assert sum(item.words for item in book.left_out if item.reason == "note") == 12


@pytest.mark.parametrize("name", FILES)
def test_check_takes_the_import(name: str, tmp_path: Path) -> None:
    project = write_project(import_book(_FOLDER / name), tmp_path / "book")
    manuscript = read_manuscript(project.manifest)
    checking.check_manuscript(manuscript, lambda said: None)
    assert len(manuscript.chapters) == len(_TITLES)
