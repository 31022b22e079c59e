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


def test_hard_wrapped_lines_are_joined(tmp_path: Path) -> None:
    assert markdown(tmp_path, "one line\nand its end.\n\nTwo more\nlines.\n") == (
        "one line and its end.\n\nTwo more lines."
    )


def test_short_dialogue_does_not_hide_that_a_text_is_wrapped(tmp_path: Path) -> None:
    text = '"Yes."\n\n"No."\n\n"Yes."\n\n"He went on\nand on."\n\n"Stop."\n'
    assert '"He went on and on."' in markdown(tmp_path, text)


def test_long_lines_are_paragraphs_without_blank_lines(tmp_path: Path) -> None:
    line = "word " * 60 + "end."
    assert markdown(tmp_path, f"{line}\n{line}\n") == f"{line}\n\n{line}"


def test_lines_that_end_as_sentences_are_paragraphs(tmp_path: Path) -> None:
    assert (
        markdown(tmp_path, "it was so.\nwas it?\nit was!\n") == "it was so.\n\nwas it?\n\nit was!"
    )


def test_short_lines_without_a_blank_one_are_paragraphs(tmp_path: Path) -> None:
    rows = ["It was a day like all the others that anyone there could name.", "Nobody came —",
            "“Yes,” said Ann, and so it went on for a very long time that morning, as it did then,",
            "He nodded;", "And then, at the very end of it all, the ferry came back"]  # fmt: skip
    assert markdown(tmp_path, "\n".join(rows)).split("\n\n") == rows


def test_wrapped_lines_without_a_blank_one_are_joined(tmp_path: Path) -> None:
    assert markdown(tmp_path, PROSE.strip()).count("\n") == 0


def test_a_number_in_words_may_skip_some(tmp_path: Path) -> None:
    heads = ("One", "Two", "Three", "Interlude", "Twenty-One")
    book = imported(tmp_path, "".join(f"{head}\n{PROSE.replace(chr(10), ' ')}\n" for head in heads))
    assert titles(book) == list(heads)


def test_indentation_begins_a_paragraph(tmp_path: Path) -> None:
    text = "  the ferry left at seven as it\nhad done before.\n  nobody asked it\nto wait.\n"
    assert markdown(tmp_path, text) == (
        "the ferry left at seven as it had done before.\n\nnobody asked it to wait."
    )


def test_indented_short_lines_are_verse(tmp_path: Path) -> None:
    text = f"{PROSE}\n    Roses are red,\n    Violets are blue\n\n{PROSE}"
    assert "\n\n> Roses are red,\\\n> Violets are blue\n\n" in markdown(tmp_path, text)


def test_indented_long_lines_are_a_quotation(tmp_path: Path) -> None:
    quoted = "".join(f"  {row}\n" for row in PROSE.splitlines())
    written = markdown(tmp_path, f"{PROSE}\n{quoted}\n{PROSE}")
    assert "\n\n> The ferry left at seven" in written
    assert "\\\n" not in written


def test_underscores_are_emphasis(tmp_path: Path) -> None:
    text = "it was _so very\nlate_ in snake_case _ and __ here, _yes_.\n"
    assert markdown(tmp_path, text) == (
        "it was *so very late* in snake\\_case \\_ and \\_\\_ here, *yes*."
    )


@pytest.mark.parametrize("mark", ["* * *", "***", "#", "-----", "⁂", "      *      *      *"])
def test_ornaments_are_scene_breaks(tmp_path: Path, mark: str) -> None:
    assert markdown(tmp_path, f"one thing.\n\n{mark}\n\nanother.\n") == (
        "one thing.\n\n***\n\nanother."
    )


def test_rare_large_gaps_are_scene_breaks(tmp_path: Path) -> None:
    text = "one thing.\n\n" * 6 + "\n\nanother.\n"
    assert markdown(tmp_path, text).endswith("one thing.\n\n***\n\nanother.")


def test_words_that_look_like_markup_are_escaped(tmp_path: Path) -> None:
    assert markdown(tmp_path, "Note: a [b] *c*\n\n1. d\n\n> e\n") == (
        "Note\\: a \\[b] \\*c\\*\n\n1\\. d\n\n\\> e"
    )


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


def test_numbers_under_named_chapters_are_sections(tmp_path: Path) -> None:
    text = f"CHAPTER I\n\nI\n\n{PROSE}\nII\n\n{PROSE}\nCHAPTER II\n\n{PROSE}"
    book = imported(tmp_path, text)
    assert titles(book) == ["CHAPTER I", "CHAPTER II"]
    assert "\n\n## II\n\n" in book.chapters[0].markdown


def test_parts_are_announced_at_their_first_chapter(tmp_path: Path) -> None:
    text = f"PART ONE\n\nCHAPTER I\n\n{PROSE}\nPART TWO\n\nCHAPTER I\n\n{PROSE}"
    book = imported(tmp_path, text)
    assert titles(book) == ["PART ONE, CHAPTER I", "PART TWO, CHAPTER I"]
    assert book.chapters[1].markdown.startswith("# PART TWO\n\n## CHAPTER I\n")


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


def test_the_title_of_a_book_above_its_first_chapter_holds_nothing(tmp_path: Path) -> None:
    book = imported(tmp_path, f"EMMA\n\nI\n\n{PROSE}\nPART TWO\n\nI\n\n{PROSE}")
    assert (book.title, titles(book)) == ("EMMA", ["I", "PART TWO, I"])


def test_text_right_under_a_heading_is_text(tmp_path: Path) -> None:
    book = imported(tmp_path, f"Chapter 1\n{PROSE}\nChapter 2\n{PROSE}")
    assert titles(book) == ["Chapter 1", "Chapter 2"]
    assert book.chapters[0].markdown.startswith("# Chapter 1\n\nThe ferry")


def test_a_text_without_headings_is_one_chapter(tmp_path: Path) -> None:
    assert titles(imported(tmp_path, PROSE)) == ["the door"]


# -- what is left out ------------------------------------------------------------------------------


def test_a_table_of_contents_is_reasons(tmp_path: Path) -> None:
    listed = "CONTENTS\n\nCHAPTER I. The Gate\n\nCHAPTER II. The Wave\n\nCHAPTER III. The End\n\n\n"
    body = "".join(f"CHAPTER {n}. {t}\n\n{PROSE}\n" for n, t in
                   (("I", "The Gate"), ("II", "The Wave"), ("III", "The End")))  # fmt: skip
    book = imported(tmp_path, listed + body)
    assert len(book.chapters) == 3
    assert sum(item.words for item in book.left_out) == 13
    assert {item.reason.partition(" (")[0] for item in book.left_out} == {"table of contents"}


def test_a_table_of_contents_in_one_block_is_reasons(tmp_path: Path) -> None:
    listed = "CONTENTS\n\n I. The Gate ..... 5\n II. The Wave ..... 9\n III. The End ..... 12\n\n"
    book = imported(tmp_path, f"{listed}\nI. The Gate\n\n{PROSE}\n\nII. The Wave\n\n{PROSE}")
    assert titles(book) == ["I. The Gate", "II. The Wave"]


def test_a_title_page_gives_title_and_author(tmp_path: Path) -> None:
    book = imported(tmp_path, f"THE SEA DOOR\n\nby Jane Roe\n\n\nCHAPTER I\n\n{PROSE}")
    assert (book.title, book.authors) == ("THE SEA DOOR", ("Jane Roe",))
    assert reasons(book) == {"title page": 6}


def test_prose_before_the_first_heading_is_kept(tmp_path: Path) -> None:
    book = imported(tmp_path, f"The Sea Door\n\n{PROSE}\nCHAPTER I\n\n{PROSE}")
    assert titles(book) == ["The Sea Door", "CHAPTER I"]
    assert reasons(book) == {"title page": 3}


def test_title_lines_of_a_story_without_headings_are_reasons(tmp_path: Path) -> None:
    book = imported(tmp_path, f"The Sea Door\nby Jane Roe\n\n{PROSE}")
    assert (book.title, book.authors) == ("The Sea Door", ("Jane Roe",))
    assert book.chapters[0].markdown.startswith("The ferry")


def test_a_section_of_back_matter_is_left_out_and_kept_aside(tmp_path: Path) -> None:
    book = imported(tmp_path, f"CHAPTER I\n\n{PROSE}\n\nACKNOWLEDGMENTS\n\nThanks to all of you.\n")
    assert reasons(book) == {"acknowledgements": 6}
    assert book.left_out[0].markdown == "# ACKNOWLEDGMENTS\n\nThanks to all of you.\n"


GUTENBERG = """\
\ufeffThe Project Gutenberg eBook of The Sea Door

Title: The Sea Door

Author: Jane Roe

Language: German

*** START OF THE PROJECT GUTENBERG EBOOK
THE SEA DOOR ***

Produced by Some People

THE SEA DOOR

[Illustration: A door]

CHAPTER I

{prose}
It had been so[1] always.

[Footnote 1: Since 1801.]

End of the Project Gutenberg EBook of The Sea Door

*** END OF THE PROJECT GUTENBERG EBOOK THE SEA DOOR ***

Licence
"""


def test_notices_of_project_gutenberg_are_stripped(tmp_path: Path) -> None:
    book = imported(tmp_path, GUTENBERG.format(prose=PROSE))
    assert (book.title, book.authors, book.language) == ("The Sea Door", ("Jane Roe",), "de")
    assert book.chapters[0].markdown == (
        f"# CHAPTER I\n\n{' '.join(PROSE.split())}\n\nIt had been so always.\n"
    )
    assert {item.reason for item in book.left_out} == {
        "notice of Project Gutenberg",
        "notes on this edition",
        "title page",
        "picture",
        "reference to a note",
        "note",
    }


def test_brackets_are_text_where_there_are_no_footnotes(tmp_path: Path) -> None:
    assert markdown(tmp_path, "It had been so[1] always.\n") == r"It had been so\[1] always."


def test_a_bracket_that_nothing_closes_costs_one_paragraph(tmp_path: Path) -> None:
    text = f"CHAPTER I\n\n[Footnote 1: see below.\n\n{PROSE}\n" + f"{PROSE}\n" * 9
    assert reasons(imported(tmp_path, text)) == {"note": 4}


# -- scripts ---------------------------------------------------------------------------------------

SCRIPT = (
    "Ann: Hello there,\nBob.\nBob (softly): Hello.\nAnn: Note: we are live.\nBob: Yes.\nCy: No.\n"
)


@pytest.mark.parametrize("gap", ["", "\n"])
def test_a_script_keeps_its_labels_and_names_its_cast(tmp_path: Path, gap: str) -> None:
    text = SCRIPT.replace("\n", f"\n{gap}").replace(f",\n{gap}", ",\n")
    book = imported(tmp_path, text)
    assert tuple(s.name for s in book.speakers) == ("Ann", "Bob", "Cy")
    assert book.chapters[0].markdown == (
        "Ann: Hello there, Bob.\n\nBob (softly): Hello.\n\nAnn: Note\\: we are live.\n\n"
        "Bob: Yes.\n\nCy: No.\n"
    )


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


def test_a_heading_at_the_top_of_each_page_begins_no_chapter(tmp_path: Path) -> None:
    page = f"{PROSE}\nCHAPTER I. The Gate\n\n{PROSE}\nTHE SEA 12\n\n{PROSE}\nTHE SEA 13\n\n{PROSE}"
    text = (
        f"THE SEA\n\nCHAPTER I. The Gate\n\n{page}\nTHE SEA 14\n\nCHAPTER II. The Wave\n\n{PROSE}"
    )
    book = imported(tmp_path, text)
    assert titles(book) == ["CHAPTER I. The Gate", "CHAPTER II. The Wave"]
    assert reasons(book)["running head"] == 13


def test_a_sentence_without_an_end_is_read(tmp_path: Path) -> None:
    path = tmp_path / "heard.txt"
    path.write_text("and then he said " * 6_000)
    book = import_book(path)
    assert book.words_kept == 24_000
    assert max(map(len, book.chapters[0].markdown.split("\n"))) <= 20_000
