"""Plain text: headings, hard-wrapped paragraphs, scene breaks, notices, and nothing lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from manuscripts import Book
from manuscripts.book import count_words
from narrator.importing import import_book
from tests.effort import examples
from tests.manuscripts.imports import reasons, titles

PROSE = """\
The ferry left at seven, as it had on every morning that anyone in the
village could remember, and nobody had ever asked it to wait.
"""


def imported(folder: Path, text: str, encoding: str = "utf-8") -> Book:
    path = folder / "the door.txt"
    path.write_bytes(text.encode(encoding))
    return import_book(path)


def markdown(folder: Path, text: str) -> str:
    return imported(folder, text).chapters[0].markdown.strip("\n")


# -- paragraphs ------------------------------------------------------------------------------------


def test_long_lines_are_paragraphs_without_blank_lines(tmp_path: Path) -> None:
    line = "word " * 60 + "end."
    assert markdown(tmp_path, f"{line}\n{line}\n") == f"{line}\n\n{line}"


# -- headings --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("CHAPTER I", "CHAPTER II", ["CHAPTER I", "CHAPTER II"]),
        ("Chapter 1. The Gate", "Chapter 2. The Wave",
         ["Chapter 1. The Gate", "Chapter 2. The Wave"]),
        ("Chapter One: The Gate", "Chapter Two - The Wave",
         ["Chapter One: The Gate", "Chapter Two - The Wave"]),
        ("CHAPTER I.\nTHE GATE", "CHAPTER II.\nTHE WAVE",
         ["CHAPTER I. THE GATE", "CHAPTER II. THE WAVE"]),
        ("CHAPTER I\n\nTHE GATE", "CHAPTER II\n\nTHE WAVE",
         ["CHAPTER I. THE GATE", "CHAPTER II. THE WAVE"]),
        ("I.", "II.", ["I", "II"]),
        ("1", "2", ["1", "2"]),
        ("I. THE GATE", "II. THE WAVE", ["I. THE GATE", "II. THE WAVE"]),
        ("1. The Gate", "2. The Wave", ["1. The Gate", "2. The Wave"]),
        ("PROLOGUE", "Epilogue", ["PROLOGUE", "Epilogue"]),
        ("Letter 1", "Letter 2", ["Letter 1", "Letter 2"]),
        ("CHAPTER I. The Gate is shut", "CHAPTER II. The Wave",
         ["CHAPTER I. The Gate is shut", "CHAPTER II. The Wave"]),
        ("Kapitel Eins", "Kapitel Zwei", ["Kapitel Eins", "Kapitel Zwei"]),
        ("Chapitre premier", "Chapitre II", ["Chapitre premier", "Chapitre II"]),
        ("第一章 海门", "第二章", ["第一章. 海门", "第二章"]),
    ],
)  # fmt: skip
def test_chapters_begin_at_headings(
    tmp_path: Path, first: str, second: str, expected: list[str]
) -> None:
    book = imported(tmp_path, f"{first}\n\n{PROSE}\n\n{second}\n\n{PROSE}")
    assert titles(book) == expected
    assert book.chapters[0].markdown.startswith(f"# {expected[0]}")


@pytest.mark.parametrize(
    "paragraph",
    [
        "Chapter one of my life was over, and I was glad of it.",
        "I am not a heading.",
        "I. went home",
        "1999 was a good year.",
        "Part of it was true.",
        "Introduction of the guests took an hour.",
        "12",
        "Index",
    ],
)
def test_sentences_are_no_headings(tmp_path: Path, paragraph: str) -> None:
    book = imported(tmp_path, f"Chapter 1\n\n{PROSE}\n{paragraph}\n\n{PROSE}")
    assert titles(book) == ["Chapter 1"]
    assert book.words == book.words_kept


STORIES = {
    "numbered": ("I. A SCANDAL", "II. THE LEAGUE", "{}"),
    "in capitals": ("A SCANDAL", "THE LEAGUE", "{}"),
    "set apart": ("\n\nA Scandal", "\n\nThe League", "{}"),
    "under chapters": ("A SCANDAL", "THE LEAGUE", "CHAPTER {}"),
}


@pytest.mark.parametrize("case", STORIES)
def test_numbers_carry_the_title_of_their_story(tmp_path: Path, case: str) -> None:
    first, second, number = STORIES[case]
    one, two = number.format("I"), number.format("II")
    text = "".join(f"{t}\n\n{one}\n\n{PROSE}\n{two}\n\n{PROSE}\n" for t in (first, second))
    book = imported(tmp_path, f"TALES\nby Jane Roe\n\n{text}")
    first, second = first.strip(), second.strip()
    assert titles(book) == [f"{t}: {n}" for t in (first, second) for n in (one, two)]
    assert book.chapters[2].markdown.startswith(f"# {second}\n\n## {one}\n")
    assert second not in book.chapters[1].markdown


@pytest.mark.parametrize(
    "part",
    ["PART II", "PART THE SECOND", "SECOND PART", "THE SECOND EPOCH", "Phase the Second: The Sea",
     "PART TWO.--THE SEA", "BOOK TWO\n\nPART I"],
)  # fmt: skip
def test_a_part_is_never_the_last_words_of_the_chapter_before(tmp_path: Path, part: str) -> None:
    text = f"CHAPTER I\n\n{PROSE}\n{part}\n\nCHAPTER II\n\n{PROSE}"
    book = imported(tmp_path, text)
    assert titles(book) == ["CHAPTER I", "CHAPTER II"]
    assert book.chapters[0].words == 2 + count_words(PROSE)


# -- what is left out ------------------------------------------------------------------------------


def test_a_section_of_back_matter_is_left_out_and_kept_aside(tmp_path: Path) -> None:
    book = imported(tmp_path, f"CHAPTER I\n\n{PROSE}\n\nACKNOWLEDGMENTS\n\nThanks to all of you.\n")
    assert reasons(book) == {"acknowledgements": 6}
    assert book.left_out[0].markdown == "# ACKNOWLEDGMENTS\n\nThanks to all of you.\n"


def test_a_bracket_that_nothing_closes_costs_one_paragraph(tmp_path: Path) -> None:
    text = f"CHAPTER I\n\n[Footnote 1: see below.\n\n{PROSE}\n" + f"{PROSE}\n" * 9
    assert reasons(imported(tmp_path, text)) == {"note": 4}


# -- scripts ---------------------------------------------------------------------------------------


def test_a_novel_with_a_few_labels_is_no_script(tmp_path: Path) -> None:
    text = f"Note: one.\n\nNote: two.\n\nLog: a.\n\nLog: b.\n\n{PROSE}\n" + f"{PROSE}\n" * 9
    assert imported(tmp_path, text).speakers == ()


# -- files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_utf_8_and_marked_utf_16_are_read(tmp_path: Path, encoding: str) -> None:
    assert imported(tmp_path, "café au lait\n", encoding).chapters[0].markdown == "café au lait\n"


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
def test_line_ends_of_all_systems_are_read(tmp_path: Path, end: str) -> None:
    assert markdown(tmp_path, f"a b{end}c{end}{end}d e.{end}") == "a b c\n\nd e."


_lines = st.sampled_from(
    ["CHAPTER I", "CHAPTER II. The Gate", "Chapter 3", "I.", "II", "12", "PART ONE", "PROLOGUE",
     "CONTENTS", "INDEX", "NOTES", "* * *", "", "", "", "", "it was so, and it was not", "Yes.",
     "THE GATE", "The Wave", "by Jane Roe", "  indented line of text", "_so_ it [1] was", "Ann: a",
     "Bob: b", "[Illustration: A door]", "[Footnote 1: of old", "and on]", "The Gate ..... 5",
     "*** START OF THE PROJECT GUTENBERG EBOOK X ***", "Produced by Q"]
)  # fmt: skip


@given(st.lists(_lines, max_size=30))
@settings(max_examples=examples(300), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_character_is_in_a_chapter_or_reasons(tmp_path: Path, rows: list[str]) -> None:
    text = "\n".join([*rows, "", "CHAPTER 99", "", "and so it ended, as it had to."])
    book = imported(tmp_path, text)
    assert book.characters == len("".join(text.split()))
    assert book.characters_kept + book.characters_left_out == book.characters


# -- headings of all kinds -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headings",
    [
        ["CHAPTER X. The Lobster", "CHAPTER XI. Who Stole the Tarts?", "CHAPTER XII. Alas!"],
        ["CHAPTER I. In which much happens\nto him, who is not ready.", "CHAPTER II. “Who goes?”"],
        ["THE FIRST ACT", "THE SECOND ACT"],
        ["ACT I. SCENE I. A room.", "SCENE II. Another.", "ACT II. SCENE I. A room."],
        ["A", "B", "C", "D", "E", "F", "G", "H", "I", "J"],
        ["One", "Two", "Three"],
        ["I. Why?", "II. Because!", "III. So."],
        ["_Chapter I_", "_Chapter II_"],
        ["Capítulo I.", "CAPÍTULO VIGÉSIMO SEGUNDO"],
        ["Prolog", "1. Kapitel", "Zweites Kapitel", "Einundzwanzigstes Kapitel"],
        ["Chapitre premier", "Chapitre II. Le bal !", "Chapitre vingt et unième"],
        ["Глава первая", "Глава двадцать первая. Кто там?", "ЭПИЛОГ"],
        ["第一回　甄士隱", "第十二回", "尾声"],
        ["一", "二", "三"],
        ["（一）", "（二）"],
        ["一、开始", "二、结束"],
        ["上卷", "下卷"],
        ["[CHAPTER I]", "[CHAPTER II]"],
        ["ΚΕΦΑΛΑΙΟ Α΄", "Κεφάλαιο δεύτερο", "ΕΠΙΛΟΓΟΣ"],
        ["제1장 시작", "제2장"],
        ["Rozdział pierwszy", "Rozdział drugi"],
        ["Ensimmäinen luku", "Toinen luku"],
        ["Birinci Bölüm", "2. Bölüm"],
        ["الفصل الأول", "الفصل الثاني"],
        ["פרק א", "פרק ב"],
        ["अध्याय १", "अध्याय २"],
        ["บทที่ ๑", "บทที่ ๒"],
        ["Chương một", "Chương hai"],
        ["Bab 1", "Bab 2"],
        ["Letter the First. To Isabel.", "Letter the Second."],
    ],
    ids=lambda headings: headings[0],
)
def test_headings_are_known_by_what_they_count(tmp_path: Path, headings: list[str]) -> None:
    book = imported(tmp_path, "".join(f"{heading}\n\n{PROSE}\n{PROSE}\n" for heading in headings))
    assert len(book.chapters) == len(headings), titles(book)
    assert all(chapter.words >= 2 * count_words(PROSE) for chapter in book.chapters)


@pytest.mark.parametrize(
    "paragraph",
    [
        "One Act was not enough for him.", "Kapitel davon", "Act one’s part was long.",
        "Tom I think that you should go.", "Book a table. It was late.", "The second day was fine.",
        "Scene after scene went by.", "A", "Letter by letter he read it.",
    ],
)  # fmt: skip
def test_words_that_count_nothing_are_no_headings(tmp_path: Path, paragraph: str) -> None:
    book = imported(tmp_path, f"Chapter 1\n\n{PROSE}\n{paragraph}\n\n{PROSE}")
    assert titles(book) == ["Chapter 1"]


def test_a_sentence_without_an_end_is_read(tmp_path: Path) -> None:
    path = tmp_path / "heard.txt"
    path.write_text("and then he said " * 6_000)
    book = import_book(path)
    assert book.words_kept == 24_000
    assert max(map(len, book.chapters[0].markdown.split("\n"))) <= 20_000
