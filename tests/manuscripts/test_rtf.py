"""RTF: what of it is read, what is left out, and what is mended."""

from __future__ import annotations

from pathlib import Path

import pytest

from manuscripts import Book, Choices
from manuscripts.errors import ImportFailed
from manuscripts.readers.office.rtf import read_rtf
from narrator.importing import import_book
from tests.manuscripts.imports import reasons, whole

_HEAD = (
    r"{\rtf1\ansi\ansicpg1252\deff0\deflang2057{\fonttbl{\f0\fcharset0 Times;}"
    r"{\f1\fcharset204 Times Cyr;}{\f2\fcharset128 Mincho;}}{\stylesheet{\s0 Normal;}"
    r"{\s1\outlinelevel0 heading 1;}{\s5\sbasedon1 My Head;}{\*\cs10 \i Emphasis;}}"
    r"{\info{\title The Tide}{\author Jane Roe}}\pard\s1 One\par\pard "
)
_REST = r"\pard And so the tide went out, and she with it, and nobody said a word.\par "


def _import(path: Path, body: str, end: str = "}") -> Book:
    file = path / "book.rtf"
    file.write_bytes((_HEAD + body + _REST + end).encode("cp1252"))
    return whole(file)


def _text(book: Book) -> str:
    return book.chapters[0].markdown


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r"\'93yes\'94 caf\'e9", "“yes” café"),
        (r"{\f1\'cf\'f0\'e8\'e2\'e5\'f2}", "Привет"),
        (r"{\f2\'83A\'83C}", "アイ"),
        (r"a\u8217?b \u8217\'92c", "a’b ’c"),
        (r"{\uc0\u8212}dash", "—dash"),
        (r"{\uc2\u26085\'93\'fa}x", "日x"),
        (r"\u-10179?\u-8704?", "😀"),
        (r"a\emdash b\~c\_d\rquote", "a—b c‑d’"),
        (r"{\upr{ansi}{\*\ud{uni\u1078?}}}", "uniж"),
        (r"\{brace\} \\ back", "\\{brace} \\\\ back"),
    ],
)
def test_characters(tmp_path: Path, written: str, read: str) -> None:
    assert _text(_import(tmp_path, written + r"\par ")).startswith(f"# One\n\n{read}\n")


def test_emphasis(tmp_path: Path) -> None:
    link = r"{\field{\*\fldinst HYPERLINK x}{\fldrslt{\ul  link}}}"
    body = rf"{{\i odd}} and {{\b bold\b0  not}} and {{\ul more}}{link}\par "
    assert "*odd* and **bold** not and *more* link" in _text(_import(tmp_path, body))


def test_what_is_hidden_deleted_and_beside_the_text_is_left_out(tmp_path: Path) -> None:
    body = (
        r"{\header Roe / TIDE\par}He {\deleted went}{\revised ran}{\v secretly} off."
        r"{\*\atnauthor Ed}\chatn{\*\annotation Is it right?}\par "
        r"Page {\field{\*\fldinst  PAGE }{\fldrslt 7}}.\par "
        r"{\field{\*\fldinst TOC \\o}{\fldrslt One 1\par Two 9\par}}"
    )
    book = _import(tmp_path, body)
    assert "He ran off." in _text(book)
    assert reasons(book) == {
        "header or footer of a page": 2, "deleted by a tracked change": 1, "hidden": 1,
        "comment": 3, "page number": 1, "table of contents": 4,
    }  # fmt: skip


def test_notes_stand_where_they_are_wanted(tmp_path: Path) -> None:
    body = r"So{\super\chftn}{\footnote\pard {\super\chftn} Not quite.} it was.\par "
    book = _import(tmp_path, body)
    assert reasons(book) == {"reference to a note": 1, "note": 2}
    placed = _text(read_rtf(tmp_path / "book.rtf", Choices(notes="in-place")))
    assert "So it was.\n\nNot quite." in placed


def test_lists_by_their_marks(tmp_path: Path) -> None:
    body = (
        r"{\listtext 1.\tab}first\par{\listtext 2.\tab}second\par"
        r"\pard plain\par\bullet\tab typed\par{\pntext\'b7\tab}dot\par "
    )
    book = _import(tmp_path, body)
    assert "1. first\n\n2. second\n\nplain\n\n- typed\n\n- dot" in _text(book)


def test_tables_boxes_and_pictures(tmp_path: Path) -> None:
    row = r"\trowd\pard\intbl {}\cell {}\cell\row "
    body = (
        row.format("a", "b") + row.format("c", "d") + r"\pard Here"
        r"{\*\shppict{\pict{\*\picprop{\sp{\sn wzDescription}{\sv A sad dog}}}\pngblip 89504e}}"
        r"{\shp{\*\shpinst{\sp{\sn a}{\sv 1}}{\shptxt In the box.\par}}} it is.\par "
    )
    book = _import(tmp_path, body)
    assert "a; b\n\nc; d" in _text(book)
    assert "In the box." in _text(book)
    assert reasons(book) == {"picture": 3}


def test_headings_by_style_and_what_it_stands_on(tmp_path: Path) -> None:
    book = _import(tmp_path, _REST + r"\pard\s5 Two\par ")
    assert [chapter.title for chapter in book.chapters] == ["One", "Two"]
    assert (book.title, book.authors, book.language) == ("The Tide", ("Jane Roe",), "en-GB")


def test_a_file_of_textedit(tmp_path: Path) -> None:
    text = (
        "She went down to the harbour again that night, as she had on every night before.\\\n" * 3
    )
    path = tmp_path / "book.rtf"
    path.write_text(
        "{\\rtf1\\ansi\\ansicpg1252\\cocoartf2639\n{\\fonttbl\\f0\\fswiss\\fcharset0 Helvetica;}\n"
        "{\\*\\expandedcolortbl;;}\n\\pard\\qc\n\n\\f0\\b\\fs48 \\cf0 The Sea Door\\\n"
        "\\fs24 by Jane Roe\\\n\\page \\fs36 The Gate\\\n\\pard\\b0\\fs24 \\\n"
        "\\uc0\\u8220 Yes\\u8221 .\\\n"
        f"{text}\\page \\pard\\qc\\b\\fs36 Low Tide\\\n\\pard\\b0\\fs24 {text}}}",
        "ascii",
    )
    book = import_book(path)
    assert [chapter.title for chapter in book.chapters] == ["The Gate", "Low Tide"]
    assert (book.title, book.authors) == ("The Sea Door", ("Jane Roe",))
    assert "“Yes”." in _text(book)


@pytest.mark.parametrize("end", ["", "}}} more here"])
def test_braces_that_do_not_match_are_remarked_and_lose_nothing(tmp_path: Path, end: str) -> None:
    book = _import(tmp_path, r"{\b Here", end)
    assert any("braces" in remark for remark in book.remarks)
    assert "Here" in _text(book)
    assert ("more here" in _text(book)) is ("more" in end)


def test_binary_data_is_passed_over(tmp_path: Path) -> None:
    assert "seen" in _text(_import(tmp_path, r"{\pict\bin6 }}{{\\}seen\par "))


def test_notes_within_notes_beyond_reason_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportFailed, match="deep"):
        _import(tmp_path, r"{\footnote note " * 600)


def test_an_unknown_code_page_is_read_as_that_of_windows(tmp_path: Path) -> None:
    assert "café" in _text(_import(tmp_path, r"\ansicpg99999\cpg37 caf\'e9"))


def test_groups_deeper_than_reason_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportFailed, match="deep"):
        _import(tmp_path, "{" * 5_000)


def test_a_code_page_that_nobody_knows_is_none(tmp_path: Path) -> None:
    path = tmp_path / "a.rtf"
    path.write_bytes(rb"{\rtf1\ansi\ansicpg1200 caf\'e9 and more\par}")
    assert "café" in import_book(path).chapters[0].markdown
