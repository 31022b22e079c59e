"""HTML: what programs and sites write around a text is left out, listed, and nothing else is."""

from __future__ import annotations

import time
import zipfile
from html.parser import HTMLParser
from pathlib import Path

import pytest

from manuscripts import Book, Choices
from manuscripts.book import count_characters
from manuscripts.errors import ImportFailed
from narrator.importing import import_book
from tests.manuscripts.imports import SAMPLES, reasons, text_of, titles

PAGES = sorted(p.name for p in SAMPLES.glob("*.htm*") if p.suffix != ".htmlz")


def imported(folder: Path, text: str | bytes, name: str = "page.html", **choices: str) -> Book:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return import_book(path, Choices(**choices))  # type: ignore[arg-type]


class _Counted(HTMLParser):
    """Visible characters in a body, as the standard library reads it."""

    def __init__(self) -> None:
        super().__init__()
        self.silent, self.text = 1, ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.silent += tag in ("script", "style", "title")
        self.silent -= tag == "body"
        if tag == "img":
            self.text += dict(attrs).get("alt") or ""

    def handle_endtag(self, tag: str) -> None:
        self.silent -= tag in ("script", "style", "title")
        self.silent += tag == "body"

    def handle_data(self, data: str) -> None:
        self.text += "" if self.silent else data


@pytest.mark.parametrize("name", PAGES)
def test_every_character_of_the_page_is_kept_or_listed(name: str) -> None:
    data = (SAMPLES / name).read_bytes()
    counter = _Counted()
    counter.feed(data.decode("cp1252" if "word" in name else "utf-8"))
    assert import_book(SAMPLES / name).characters == count_characters(counter.text)


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("tide-libreoffice.html", "the coat had been his. She had never sewn them up."),
        ("tide-calibre.htmlz", "the coat had been his. She had never sewn them up."),
        ("sea-door-word.htm", "\n\nA note on the door. Its second paragraph."),
        ("sea-door-google.html", "\n\nA note on the door. Second paragraph of it."),
        ("sea-door-gutenberg.html", "\n\nA baker."),
        ("sea-door-wikisource.html", "\n\nA wooden door."),
    ],
)
def test_notes_follow_the_chapter_that_refers_to_them(name: str, note: str) -> None:
    assert note in import_book(SAMPLES / name, Choices(notes="end")).chapters[0].markdown


def test_the_facts_of_project_gutenberg_are_in_the_title() -> None:
    book = import_book(SAMPLES / "sea-door-gutenberg.html")
    assert (book.title, book.authors) == ("The Sea Door", ("Ann Author",))
    assert not any("UTF-8" in remark for remark in book.remarks)


def test_facts_of_libraries_count_more_than_a_site_s_title(tmp_path: Path) -> None:
    head = (
        '<title>Tide | A Site</title><meta name="DC.Title" content="The Tide House">'
        '<meta name="citation_author" content="Ann Author"><meta name="citation_author" '
        'content="Ben Other"><meta name="author" content="webmaster">'
    )
    book = imported(tmp_path, f'<html lang="en_GB"><head>{head}</head><body><p>Words.</p></body>')
    assert (book.title, book.authors) == ("The Tide House", ("Ann Author", "Ben Other"))
    assert book.language == "en-GB"


def test_words_of_windows_are_read_as_meta_declares(tmp_path: Path) -> None:
    page = '<meta charset="windows-1252"><title>A</title><p>“Über” – ja.</p>'
    book = imported(tmp_path, page.encode("cp1252"))
    assert "“Über” – ja." in text_of(book)
    assert not any("read as" in remark for remark in book.remarks)


def test_a_page_that_declares_nothing_is_read_as_it_looks(tmp_path: Path) -> None:
    page = "<html><body><p>Все счастливые семьи похожи друг на друга.</p></body></html>"
    book = imported(tmp_path, page.encode("cp1251"))
    assert "Все счастливые" in text_of(book)
    assert any("Windows-1251" in remark for remark in book.remarks)


def test_an_encoding_that_a_user_names_counts(tmp_path: Path) -> None:
    page = '<meta charset="utf-8"><p>Дом у моря и дверь.</p>'
    assert "Дом у моря" in text_of(imported(tmp_path, page.encode("koi8-r"), encoding="koi8-r"))


def test_a_page_that_closes_no_element_is_read_without_emphasis(tmp_path: Path) -> None:
    book = imported(tmp_path, "<html><body>" + "<p><font size=2>Some words." * 200)
    assert book.words_kept == 400
    assert any("emphasis was dropped" in remark for remark in book.remarks)


def site(folder: Path) -> Path:
    """Chapters whose order only the index says, and a page of notes."""
    top = '<a href="index.html">Contents</a> | <a href="{}">Next</a>'
    notes = '<p><a id="n1" href="10.html">1</a> A cold day.</p>'
    pages = {
        "index.html": "<title>The Tide House</title><h1>The Tide House</h1>"
        '<li><a href="10.html">The Ferry</a><li><a href="2.html">The Lamp</a>'
        '<li><a href="ch/9.html">The Door</a>',
        "10.html": f"<link rel=stylesheet href=s.css><p>{top.format('2.html')}</p><h1>The Ferry"
        '</h1><p>It <span class="x">left</span><a href="notes.html#n1"><sup>1</sup></a>.</p>',
        "2.html": f"<p>The lamp was lit, and no heading was there.</p><p>{top.format('ch/9.html')}",
        "ch/9.html": "<h1>The Door</h1><p>It opened.</p>",
        "notes.html": f"<h1>Notes</h1>{notes}",
        "s.css": ".x{font-style:italic}",
        ".hidden.html": "<p>Hidden.</p>",
    }
    for name, text in pages.items():
        path = folder / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder / "site"


def zipped(folder: Path) -> Path:
    path = folder.with_suffix(".zip")
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(folder.rglob("*")):
            archive.write(file, file.relative_to(folder))
    return path


@pytest.mark.parametrize("packed", [False, True])
def test_an_index_says_the_order_of_pages(tmp_path: Path, packed: bool) -> None:
    folder = site(tmp_path)
    book = import_book(zipped(folder) if packed else folder, Choices(notes="end"))
    assert titles(book) == ["The Ferry", "The Lamp", "The Door"]
    assert book.chapters[0].markdown == "# The Ferry\n\nIt *left*.\n\nA cold day.\n"
    assert book.title == "The Tide House"
    assert reasons(book)["table of contents"] == 9
    assert reasons(book)["links to other pages"] == 4


def test_pages_without_an_index_stand_as_people_count(tmp_path: Path) -> None:
    folder = tmp_path / "tide"
    folder.mkdir()
    for number in (10, 2, 1):
        (folder / f"{number}.htm").write_text(f"<h1>Door {number}</h1><p>Some words.</p>")
    assert titles(import_book(folder)) == ["Door 1", "Door 2", "Door 10"]


@pytest.mark.parametrize(
    "page",
    ["<html><body>" + "<div>" * 9999, "<html><body></body></html>", "<!DOCTYPE html>\0\0<p>"],
)
def test_what_holds_no_text_is_refused_in_a_line(tmp_path: Path, page: str) -> None:
    with pytest.raises(ImportFailed) as failure:
        imported(tmp_path, page)
    assert "\n" not in str(failure.value)


def test_a_damaged_name_in_an_archive_is_told(tmp_path: Path) -> None:
    path = tmp_path / "tide.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("é.html", "<p>Words.</p>")
    path.write_bytes(path.read_bytes().replace("é".encode(), b"\xff\xff", 1))
    with pytest.raises(ImportFailed, match="the archive is damaged"):
        import_book(path)


@pytest.mark.slow
def test_a_row_of_many_cells_takes_no_time_squared(tmp_path: Path) -> None:
    begun = time.process_time()
    imported(tmp_path, f"<p>Words.</p><table><tr>{'<td>word</td>' * 20_000}</tr></table>")
    assert time.process_time() - begun < 20


def test_a_style_sheet_that_is_a_link_out_of_the_folder_is_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "book"
    folder.mkdir()
    (tmp_path / "other.css").write_text(".a { display: none }")
    (folder / "own.css").symlink_to(tmp_path / "other.css")
    (folder / "1.html").write_text('<link rel="stylesheet" href="own.css"><p class="a">A door.</p>')
    assert "A door." in text_of(import_book(folder))
