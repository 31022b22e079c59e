"""FB2: sections, notes, verse and facts; files that are not well-formed; archives of one."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest

from manuscripts import Book, Choices
from manuscripts.book import count_characters
from manuscripts.errors import ImportFailed
from narrator.importing import import_book
from tests.manuscripts.corpus import prose
from tests.manuscripts.imports import SAMPLES, text_of, titles


def imported(folder: Path, body: str, about: str = "", **choices: str) -> Book:
    path = folder / "book.fb2"
    path.write_text(
        '<?xml version="1.0" encoding="utf-8"?><FictionBook xmlns:l="http://www.w3.org/1999/xlink">'
        f"<description><title-info><book-title>The Sea Door</book-title>{about}</title-info>"
        f"</description>{body}</FictionBook>",
        "utf-8",
    )
    return import_book(path, Choices(**choices))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["tide-pandoc.fb2", "tide-calibre.fb2"])
def test_every_character_of_the_bodies_is_kept_or_listed(name: str) -> None:
    text = (SAMPLES / name).read_text("utf-8")
    bodies = "".join(re.findall(r"<body.*?</body>", text, re.DOTALL))
    book = import_book(SAMPLES / name)
    assert book.characters == count_characters(re.sub(r"<[^>]*>", "", bodies))
    assert book.characters == book.characters_kept + book.characters_left_out


def test_a_description_gives_the_facts_and_the_cover() -> None:
    book = import_book(SAMPLES / "sea-door-windows-1251.fb2")
    assert (book.title, book.authors) == ("Морская дверь", ("Лев Николаевич Толстой",))
    assert (book.series, book.series_part, book.publisher) == ("Двери", "2", "Дом")
    assert (book.language, book.date, book.description) == (
        "ru",
        "1877-01-01",
        "О двери. И о море.",
    )
    assert book.identifiers == {"isbn": "978-5-00-000000-1"}
    assert book.cover is not None
    assert book.cover.suffix == ".png"


def test_notes_and_comments_are_spoken_where_they_are_wanted() -> None:
    chapter = import_book(SAMPLES / "sea-door-windows-1251.fb2", Choices(notes="end")).chapters[1]
    assert chapter.markdown.endswith("\n\nНачало романа. Второй абзац.\n\nКомментарий.\n")


def test_a_file_that_is_not_well_formed_is_remarked() -> None:
    remarks = import_book(SAMPLES / "sea-door-broken.fb2").remarks
    assert any("not well-formed" in remark and "\n" not in remark for remark in remarks)


@pytest.mark.parametrize("encoding", ["koi8-r", "windows-1251", "utf-16"])
def test_declared_encodings_are_read(tmp_path: Path, encoding: str) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?><FictionBook><body><section>'
    path = tmp_path / "book.fb2"
    path.write_bytes((text + "<p>Дом у моря.</p></section></body></FictionBook>").encode(encoding))
    assert text_of(import_book(path)) == "Дом у моря.\n"


def test_an_encoding_that_is_declared_wrongly_is_recognised(tmp_path: Path) -> None:
    text = '<?xml version="1.0" encoding="utf-8"?><FictionBook><body><section><p>'
    path = tmp_path / "book.fb2"
    end = "</p></section></body></FictionBook>"
    path.write_bytes((text + prose("ru") + end).encode("cp1251"))
    assert "счастливые" in text_of(import_book(path))


def test_sections_in_chapters_are_no_chapters(tmp_path: Path) -> None:
    inner = "<section><title><p>{}</p></title><p>Words of it.</p></section>"
    outer = "<section><title><p>Chapter {}</p></title><p>Some words.</p>{}</section>"
    chapters = (outer.format(n, inner.format("Dawn") + inner.format("Dusk")) for n in (1, 2))
    book = imported(tmp_path, f"<body>{''.join(chapters)}</body>")
    assert titles(book) == ["Chapter 1", "Chapter 2"]


def test_sections_without_titles_stand_each_for_itself(tmp_path: Path) -> None:
    sections = "".join(f"<section><p>{n}</p><p>Some words.</p></section>" for n in ("I", "II"))
    book = imported(tmp_path, f"<body>{sections}</body>")
    assert titles(book) == ["I", "II"]


def test_a_picture_s_description_is_listed(tmp_path: Path) -> None:
    picture = '<image l:href="#p" alt="A house by the sea"/>'
    book = imported(tmp_path, f"<body><section><p>Words.</p>{picture}</section></body>")
    assert [(item.reason, item.words) for item in book.left_out] == [("picture", 5)]
    assert not any("on the way in" in remark for remark in book.remarks)


def test_a_cover_that_is_not_there_is_remarked(tmp_path: Path) -> None:
    cover = '<coverpage><image l:href="#c.jpg"/></coverpage>'
    book = imported(tmp_path, "<body><section><p>Words.</p></section></body>", cover)
    assert book.cover is None
    assert any("c.jpg, that it does not hold" in remark for remark in book.remarks)


def test_an_archive_of_one_book_is_read(tmp_path: Path) -> None:
    path = tmp_path / "tide.fb2.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(SAMPLES / "tide-pandoc.fb2", "tide.fb2")
    assert titles(import_book(path)) == titles(import_book(SAMPLES / "tide-pandoc.fb2"))


def test_an_archive_of_several_books_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tide.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("a.fb2", "b.fb2"):
            archive.write(SAMPLES / "tide-pandoc.fb2", name)
    with pytest.raises(ImportFailed, match="holds 2 books; unpack it and import one"):
        import_book(path)


@pytest.mark.parametrize(
    "body",
    [
        "<body><section>" + "<section>" * 5000,
        "<body><section>" + "<emphasis>" * 5000,
        '<!DOCTYPE a [<!ENTITY b "c">]><body><p>&b;</p></body>',
        "<body></body>",
    ],
)
def test_what_harms_or_holds_nothing_is_refused_in_a_line(tmp_path: Path, body: str) -> None:
    with pytest.raises(ImportFailed) as failure:
        imported(tmp_path, body)
    assert "\n" not in str(failure.value)
