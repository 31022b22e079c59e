"""Manuscripts whose authors use no styles: headings, title pages and breaks by their looks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from manuscripts import Book
from narrator.importing import import_book
from tests.build_docx import CENTRED, NEW_PAGE, build_docx, p, style, styled
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


def test_a_number_and_the_title_below_it_are_one_heading(tmp_path: Path) -> None:
    body = "".join(
        p(number, CENTRED, _BOLD) + p(title, CENTRED, _BOLD) + _prose(0)
        for number, title in (("1", "The Gate"), ("2", "Low Water"))
    )
    assert _titles(_import(tmp_path, body)) == ["1. The Gate", "2. Low Water"]


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


def test_parts_hold_chapters(tmp_path: Path) -> None:
    body = "".join(
        p(f"PART {part}", NEW_PAGE + CENTRED, _BOLD) + _headed(("1", "2"), CENTRED)
        for part in ("ONE", "TWO")
    )
    titles = _titles(_import(tmp_path, body))
    assert titles == ["PART ONE, 1", "PART ONE, 2", "PART TWO, 1", "PART TWO, 2"]


def test_a_typed_table_of_contents_is_left_out(tmp_path: Path) -> None:
    names = ("Prologue", "The Gate", "Low Water", "Epilogue")
    listed = p("Contents", CENTRED) + "".join(p(f"{name} {n * 9}") for n, name in enumerate(names))
    book = _import(tmp_path, listed + _headed(names, NEW_PAGE, _BOLD))
    assert _titles(book) == list(names)
    assert {item.reason for item in book.left_out} == {"table of contents"}


def test_typed_contents_are_known_by_headings_of_two_lines(tmp_path: Path) -> None:
    titles = ("The Gate", "Low Water", "High Tide")
    listed = "".join(p(f"Chapter {n}: {title} {n * 9}") for n, title in enumerate(titles, 1))
    body = "".join(
        p(f"Chapter {n}", CENTRED, _BOLD) + p(title, CENTRED, _BOLD) + _prose(n)
        for n, title in enumerate(titles, 1)
    )
    book = _import(tmp_path, listed + p("For my mother, who kept hens.") + body)
    assert _titles(book)[1:] == [f"Chapter {n}. {title}" for n, title in enumerate(titles, 1)]
    assert {item.reason for item in book.left_out} == {"table of contents"}


def test_short_lines_that_come_again_are_no_contents(tmp_path: Path) -> None:
    said = "".join(p(text) for text in ("Nora", "Who?", "Owen", "Me!"))
    book = _import(tmp_path, _headed(("Chapter 1", "Chapter 2")) + (said + _prose(2)) * 3)
    assert book.left_out == ()


def test_what_kind_of_book_it_is_is_no_author(tmp_path: Path) -> None:
    front = p("The Hen Farm", CENTRED, _LARGE) + p("A Novel", CENTRED)
    book = _import(tmp_path, front + _headed(("Chapter 1", "Chapter 2"), NEW_PAGE))
    assert (book.title, book.authors) == ("The Hen Farm", ("Unknown",))


def test_captions_of_pictures_and_code_are_known_by_their_styles(tmp_path: Path) -> None:
    styles = style("ImageCaption", "Image Caption") + style("SourceCode", "Source Code")
    lines = [("A red house", "ImageCaption"), ("Table 1: Eggs", "ImageCaption")]
    body = "".join(p(text, styled(name)) for text, name in (*lines, ("print(1)", "SourceCode")))
    book = _import(tmp_path, _prose(0) + body + _prose(1), styles=styles)
    reasons = {item.reason for item in book.left_out}
    assert reasons == {"caption of a picture", "code"}
    assert "Table 1" in book.chapters[0].markdown
    assert "house" not in book.chapters[0].markdown


def test_what_is_seen_below_a_scenes_number_is_not_its_title(tmp_path: Path) -> None:
    scenes = "".join(
        p(f"Scene {n}", CENTRED) + p("[A kitchen. Evening.]", CENTRED) + _prose(n) for n in (1, 2)
    )
    assert _titles(_import(tmp_path, scenes)) == ["Scene 1", "Scene 2"]


def test_a_title_and_a_name_that_look_as_text_are_a_title_page(tmp_path: Path) -> None:
    front = p("The Hen Farm") + p("Jane Roe") + p()
    book = _import(tmp_path, front + _headed(("Chapter One", "Chapter Two")))
    assert (book.title, book.authors, len(book.chapters)) == ("The Hen Farm", ("Jane Roe",), 2)


def test_a_short_story_has_a_title_page_and_no_chapters(tmp_path: Path) -> None:
    body = p("THE SEA DOOR", CENTRED) + p("by", CENTRED) + p("Jane Roe", CENTRED) + _prose(0)
    book = _import(tmp_path, body)
    assert (book.title, book.authors, len(book.chapters)) == ("The Sea Door", ("Jane Roe",), 1)


def test_the_first_page_counts_more_than_the_properties(tmp_path: Path) -> None:
    body = p("Sea Door", CENTRED) + p("by Jane Roe", CENTRED) + _prose(0)
    core = "<dc:title>Old draft</dc:title><dc:creator>Ed</dc:creator>"
    book = _import(tmp_path, body, core)
    assert (book.title, book.authors) == ("Sea Door", ("Jane Roe",))


def test_a_story_that_begins_at_once_loses_nothing(tmp_path: Path) -> None:
    book = _import(tmp_path, _prose(0))
    assert book.left_out == ()


def test_empty_paragraphs_and_wide_gaps_are_scene_breaks(tmp_path: Path) -> None:
    wide = '<w:spacing w:before="480"/>'
    body = _headed(("Chapter 1",)) + _prose(1) + p() + _prose(2) + p("Later on.", wide) + _prose(3)
    assert _import(tmp_path, body).chapters[0].markdown.count("\n***\n") == 2


def test_empty_paragraphs_between_all_others_are_none(tmp_path: Path) -> None:
    body = p("Chapter 1") + "".join(p("It was so, as all of them said.") + p() for _ in range(9))
    assert "***" not in _import(tmp_path, body).chapters[0].markdown
