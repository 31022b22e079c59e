"""Markdown: parted at headings, facts from front matter, labels only where there is a script."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from manuscripts import Book
from narrator.importing import import_book
from tests.build_epub import PNG
from tests.effort import examples
from tests.manuscripts.imports import reasons, titles


def imported(folder: Path, text: str) -> Book:
    path = folder / "the door.md"
    path.write_text(text, "utf-8")
    return import_book(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# One\n\na\n\n# Two\n\nb\n", ["One", "Two"]),
        ("## One\n\na\n\n## Two\n\nb\n", ["One", "Two"]),
        ("# Book\n\n## One\n\na\n\n## Two\n\nb\n", ["One", "Two"]),
        ("# One\n\na\n\n## Section\n\nb\n\n# Two\n\nc\n", ["One", "Two"]),
        ("One\n===\n\na\n\nTwo\n===\n\nb\n", ["One", "Two"]),
        ("# Part A\n\n## One\n\na\n\n# Part B\n\n## One\n\nb\n", ["Part A, One", "Part B, One"]),
        ("# Part A\n\n## One\n\na\n\n## Two\n\nb\n\n# End\n\nc\n", ["One", "Two", "End"]),
        ("# Chapter 1\n\na\n\n## Section\n\nb\n", ["Chapter 1"]),
        ("# Chapter 1\n\n### 1\n\na\n\n### 2\n\nb\n", ["Chapter 1"]),
        ("# A Scandal\n\n## I\n\na\n\n## II\n\nb\n\n# The League\n\nc\n",
         ["A Scandal: I", "A Scandal: II", "The League"]),
        ("# Tales\n\n## A Scandal\n\n### I\n\na\n\n### II\n\nb\n\n## The League\n\nc\n",
         ["A Scandal: I", "A Scandal: II", "The League"]),
        ("# Tale\n\n## Part One\n\n### Chapter 1\n\na\n\n## Part Two\n\n### Chapter 1\n\nb\n",
         ["Part One, Chapter 1", "Part Two, Chapter 1"]),
        ("# Part One\n\n# Chapter 1\n\na\n\n# Part Two\n\n# Chapter 1\n\nb\n",
         ["Part One, Chapter 1", "Part Two, Chapter 1"]),
        ("# The *Gate* & `more`\n\na\n", ["The Gate & more"]),
        ("just text\n", ["the door"]),
        ("```\n# no heading\n```\n\ntext\n", ["the door"]),
        ("# Story\n\nby Jane Roe\n\ntext\n", ["Story"]),
    ],
)  # fmt: skip
def test_chapters_begin_at_headings(tmp_path: Path, text: str, expected: list[str]) -> None:
    book = imported(tmp_path, text)
    assert titles(book) == expected
    assert book.characters == book.characters_kept + book.characters_left_out


def test_a_part_with_much_to_say_is_a_chapter_and_holds_others(tmp_path: Path) -> None:
    book = imported(tmp_path, f"# Part A\n\n{'word ' * 130}\n\n## 1\n\na\n\n## 2\n\nb\n")
    assert titles(book) == ["Part A", "Part A, 1", "Part A, 2"]


def test_braces_of_a_manual_say_themselves_and_it_is_told(tmp_path: Path) -> None:
    book = imported(tmp_path, "# One\n\nIt is {a|b}, `{c|d}`.\n\n```\n{e|f}\n```\n\nAnd {g|h}.\n")
    assert book.chapters[0].markdown == (
        "# One\n\nIt is \\{a|b}, `{c|d}`.\n\n```\n{e|f}\n```\n\nAnd \\{g|h}.\n"
    )
    assert any("is text here, 2 times (first: One)" in remark for remark in book.remarks)


def test_front_matter_gives_the_facts_of_the_book(tmp_path: Path) -> None:
    front = """---
title: "The Sea: Door"
subtitle: A Tale
author: [Jane Roe, {name: John Doe}]
lang: en_GB
date: 2020-01-02
isbn: 0123456789
series: {name: Doors, part: 2}
publisher: Reef
rights: CC0
abstract: >
  A door.
  A sea.
---
"""
    book = imported(tmp_path, f"{front}\n# One\n\ntext\n\n# Two\n\ntext\n")
    assert (book.title, book.subtitle, book.authors) == (
        "The Sea: Door",
        "A Tale",
        ("Jane Roe", "John Doe"),
    )
    assert (book.language, book.date, book.copyright) == ("en-GB", "2020-01-02", "CC0")
    assert book.identifiers == {"isbn": "0123456789"}
    assert (book.series, book.series_part, book.publisher) == ("Doors", "2", "Reef")
    assert book.description == "A door. A sea."
    assert book.left_out[0].reason == "front matter: the facts of the book"
    assert "title" not in book.chapters[0].markdown


def test_front_and_back_matter_is_left_out_and_kept_aside(tmp_path: Path) -> None:
    book = imported(tmp_path, "# One\n\na\n\n# Acknowledgements\n\nThanks.\n")
    assert titles(book) == ["One"]
    assert book.left_out[0].reason == "acknowledgements"
    assert book.left_out[0].markdown == "# Acknowledgements\n\nThanks.\n"


def test_the_cover_of_front_matter_is_taken(tmp_path: Path) -> None:
    (tmp_path / "c.png").write_bytes(PNG)
    book = imported(tmp_path, "---\ntitle: A\ncover: c.png\n---\n\ntext\n")
    assert book.cover is not None
    assert (book.cover.data, book.cover.suffix) == (PNG, ".png")


@pytest.mark.parametrize(("data", "said"), [(b"words", "not a JPEG"), (None, "cannot be read")])
def test_a_cover_that_is_none_is_left_out_and_told(
    tmp_path: Path, data: bytes | None, said: str
) -> None:
    if data is not None:
        (tmp_path / "c.png").write_bytes(data)
    book = imported(tmp_path, "---\ntitle: A\ncover: c.png\n---\n\ntext\n")
    assert book.cover is None
    assert any(said in remark for remark in book.remarks)


def test_front_matter_that_is_no_yaml_is_read_row_by_row(tmp_path: Path) -> None:
    book = imported(tmp_path, "---\ntitle: The Sea: A Door\nauthor: [a\n---\n\nText\n")
    assert (book.title, book.authors) == ("The Sea: A Door", ("a",))
    assert "the door.md:2: front matter is not valid YAML" in book.remarks[0]
    assert book.chapters[0].markdown == "Text\n"


_rows = st.sampled_from(
    ["# One", "## Two", "### Three", "===", "---", "", "", "", "words of text", "Note: a", "Ann: b",
     "> quoted", "- item", "```", "    code", "by Jane Roe", "# Contents", "***", "title: A",
     "[a]: b", "| a | b |", "|---|---|"]
)  # fmt: skip


@given(st.lists(_rows, max_size=20))
@settings(max_examples=examples(300), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_character_is_in_a_chapter_or_left_out(tmp_path: Path, rows: list[str]) -> None:
    text = "\n".join(["# First", "", "It began so.", "", *rows])
    book = imported(tmp_path, text)
    assert book.characters == len("".join(text.split()))
    assert book.characters_kept + book.characters_left_out == book.characters


def test_chapters_that_have_sections_are_no_parts(tmp_path: Path) -> None:
    path = tmp_path / "hens.md"
    words = "Hens are simple, and they want food and water."
    rows = ["# Introduction", words, "# Housing", "## Size", words, "## Place", words]
    rows += ["# Feeding", words, "## Grain", words]
    path.write_text("\n\n".join(rows), "utf-8")
    titles = [chapter.title for chapter in import_book(path).chapters]
    assert titles == ["Introduction", "Housing", "Feeding"]


def test_an_interview_with_a_single_transition_is_no_play(tmp_path: Path) -> None:
    question, answer = "**Interviewer:** And then?\n\n", "**Maria:** Then it rained.\n\n"
    book = imported(tmp_path, f"{(question + answer) * 3}CUT TO:\n\n{question}{answer}")
    assert book.dialogue == "an interview: 2 speakers, 8 speeches"
    assert reasons(book) == {"transition": 2}
