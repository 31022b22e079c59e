"""Manuscripts whose authors use no styles: headings, title pages and breaks by their looks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from manuscripts import Book
from narrator.importing import import_book
from tests.build_docx import CENTRED, NEW_PAGE, build_docx, p
from tests.manuscripts.corpus import prose

_BOLD = "<w:b/>"
_LARGE = '<w:sz w:val="36"/>'


def _prose(number: int, look: str = "") -> str:
    return "".join(p(" ".join(part.split()), look) for part in prose("en", 3, number).split("\n\n"))


def _headed(headings: Sequence[str], look: str = "", run: str = "") -> str:
    return "".join(p(text, look, run) + _prose(n) for n, text in enumerate(headings))


def _import(path: Path, body: str, core: str = "", **parts: str) -> Book:
    return import_book(build_docx(path / "book.docx", body, core=core, parts=parts))


def _titles(book: Book) -> list[str]:
    return [chapter.title for chapter in book.chapters]


def test_standard_manuscript_format(tmp_path: Path) -> None:
    front = "".join(
        p(text) for text in ("Jane Roe", "12 Harbour St", "jane@example.org", "about 80,000 words")
    )
    body = front + p() * 6 + p("THE SEA DOOR", CENTRED) + p("by Jane Roe", CENTRED)
    for number, name in enumerate(("One", "Two")):
        body += p(f"Chapter {name}", CENTRED + NEW_PAGE) + p() + _prose(number)
        body += p("#", CENTRED) + _prose(number + 3)
    book = _import(tmp_path, body + p("THE END", CENTRED), header=p("Roe / SEA DOOR / 3"))
    assert _titles(book) == ["Chapter One", "Chapter Two"]
    assert (book.title, book.authors) == ("The Sea Door", ("Jane Roe",))
    assert "\n***\n" in book.chapters[0].markdown
    assert book.chapters[1].markdown.endswith("THE END\n")
    assert {item.reason for item in book.left_out} == {"title page", "header or footer of a page"}


@pytest.mark.parametrize(
    ("headings", "look", "run"),
    [
        (("1", "2", "3"), CENTRED, ""),
        (("ONE", "TWO", "THREE"), CENTRED, _BOLD),
        (("I", "II", "III"), NEW_PAGE, ""),
        (("Chapter 1", "Chapter 2", "Chapter 3"), "", ""),
        (("Prologue", "Chapter One: The Gate", "Epilogue"), "", _BOLD),
        (("The Gate", "Low Water", "High Tide"), CENTRED, _LARGE),
        (("The gate at low water", "We meet again", "What he said"), NEW_PAGE, _BOLD),
    ],
)
def test_lines_that_look_like_headings_begin_chapters(
    tmp_path: Path, headings: Sequence[str], look: str, run: str
) -> None:
    assert _titles(_import(tmp_path, _headed(headings, look, run))) == list(headings)


def test_a_break_of_page_above_an_empty_line_counts(tmp_path: Path) -> None:
    page = '<w:p><w:r><w:br w:type="page"/></w:r></w:p>'
    body = "".join(
        page + p() + p(title, CENTRED, _LARGE) + _prose(0) for title in ("The Gate", "Low Water")
    )
    book = _import(tmp_path, p("Sea Door", CENTRED, _LARGE) + p("Jane Roe", CENTRED) + body)
    assert _titles(book) == ["The Gate", "Low Water"]
    assert (book.title, book.authors) == ("Sea Door", ("Jane Roe",))


@pytest.mark.parametrize("line", ["KEEP OUT", "“Never!”", "THE END", "* * *"])
def test_a_line_that_stands_out_once_is_no_heading(tmp_path: Path, line: str) -> None:
    body = _headed(("Chapter 1", "Chapter 2"), CENTRED) + p(line, CENTRED, _BOLD) + _prose(5)
    assert _titles(_import(tmp_path, body)) == ["Chapter 1", "Chapter 2"]


def test_the_first_page_counts_more_than_the_properties(tmp_path: Path) -> None:
    body = p("Sea Door", CENTRED) + p("by Jane Roe", CENTRED) + _prose(0)
    core = "<dc:title>Old draft</dc:title><dc:creator>Ed</dc:creator>"
    book = _import(tmp_path, body, core)
    assert (book.title, book.authors) == ("Sea Door", ("Jane Roe",))
