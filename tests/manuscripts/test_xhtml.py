"""The markup of one document: what is kept, how it is written, what is left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from manuscripts import Book
from narrator.importing import import_book
from tests.build_epub import build_epub


def imported(folder: Path, body: str) -> Book:
    return import_book(build_epub(folder / "book.epub", {"one.xhtml": f"<h1>One</h1>{body}"}))


def markdown(folder: Path, body: str) -> str:
    """What is written below the heading."""
    return imported(folder, body).chapters[0].markdown.removeprefix("# One\n\n").strip("\n")


def test_a_table_that_is_a_layout_is_read_through(tmp_path: Path) -> None:
    words = "word " * 50
    body = f"<table><tr><td><p>a</p></td><td><p>{words}</p></td></tr></table>"
    assert markdown(tmp_path, body).startswith("a\n\nword word")


@pytest.mark.parametrize(
    ("heading", "written"),
    [
        ("<hgroup><h2>I</h2><p>A Letter</p></hgroup>", "# I. A Letter"),
        ("<h2>Chapter 1<br/>The Gate</h2>", "# Chapter 1. The Gate"),
        ("<h2>CHAPTER I.</h2><h3>THE GATE</h3>", "# CHAPTER I. THE GATE"),
        ('<h2><span class="num">1</span> <span>The Gate</span></h2>', "# 1. The Gate"),
        ('<p class="chapter-number">1</p><p class="chapter-title">The Gate</p>', "# 1. The Gate"),
        ("<h2>The Gate</h2><p epub:type='subtitle'>A Tale</p>", "# The Gate: A Tale"),
        ("<hgroup><h2>The Gate</h2><p>A Tale</p></hgroup>", "# The Gate: A Tale"),
        ("<h2>What is C#</h2>", "# What is C\\#"),
        ("<h2>The <i>Wave</i></h2>", "# The *Wave*"),
        ("<p>CHAPTER ONE</p>", "# CHAPTER ONE"),
    ],
)
def test_headings_are_one_line_as_they_are_spoken(
    tmp_path: Path, heading: str, written: str
) -> None:
    book = import_book(build_epub(tmp_path / "book.epub", {"one.xhtml": f"{heading}<p>a</p>"}))
    assert book.chapters[0].markdown == f"{written}\n\na\n"


def test_what_is_not_well_formed_is_read_as_html_and_told(tmp_path: Path) -> None:
    book = imported(tmp_path, '<p>a<br>b<a id="x"/> &amp; c<p>d &unknown; e')
    assert "a\\\nb & c\n\nd" in book.chapters[0].markdown
    assert any("not well-formed" in remark for remark in book.remarks)


def test_quotations_nested_without_end_stay_readable(tmp_path: Path) -> None:
    body = "<blockquote>" * 60 + "<p>deep</p>" + "</blockquote>" * 60
    assert markdown(tmp_path, body) == "> " * 6 + "deep"
