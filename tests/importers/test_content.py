"""What a file is, whatever its name says."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from narrator.errors import ImportFailed
from narrator.importers.readers.content import kind_of

SLUGS = "FADE IN:\n\nINT. HOUSE - NIGHT\n\nRain.\n\nANNA\nStay.\n\nEXT. ROAD - DAY\n\nBEN\nNo.\n"


def holding(folder: Path, names: dict[str, str]) -> bytes:
    path = folder / "archive"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in names.items():
            archive.writestr(name, data)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"%PDF-1.7\n", "pdf"),
        (b"\xef\xbb\xbf\n%PDF-1.4\n", "pdf"),
        (b"{\\rtf1\\ansi Hello}", "rtf"),
        (b"Novel".ljust(60, b"\0") + b"BOOKMOBI", "mobi"),
        (b"<?xml version='1.0'?><FictionBook xmlns='x'><body/></FictionBook>", "fb2"),
        (b"<?xml version='1.0'?><FinalDraft DocumentType='Script'/>", "fdx"),
        (b"<rss version='2.0'><channel/></rss>", "feed"),
        (b"<feed xmlns='http://www.w3.org/2005/Atom'/>", "feed"),
        (b'{"version": "https://jsonfeed.org/version/1.1", "items": []}', "feed"),
        (b"<!DOCTYPE html><title>a</title><p>b", "html"),
        (b"<?xml version='1.0'?>\n<html xmlns='x'><body/></html>", "html"),
        (b"<p>One paragraph.</p>\n<p>Another.</p>", "html"),
        (b"<p>One paragraph.\n<P>Another.", "html"),
        (b"<p><b>" + b"a " * 200_000 + b"</b></p>", "text"),
        (b"WEBVTT\n\n00:01.000 --> 00:02.000\nHi", "vtt"),
        (b"1\r\n00:00:01,000 --> 00:00:02,000\r\nHi\r\n", "srt"),
        (SLUGS.encode(), "fountain"),
        (b"# One\n\nText.\n\n# Two\n\nText.\n", "markdown"),
        (b"---\ntitle: A\n---\n\nText.\n", "markdown"),
        (b"Once upon a time.\n", "text"),
        (b"WEBVTT is a format of subtitles.\n", "text"),
        (b"\n\nWEBVTT\n\n00:01.000 --> 00:02.000\nHi", "vtt"),
        (b"{\\rtf is how RTF begins.", "text"),
        (b"INT. is short for interior.\n", "text"),
        (b"CONTENTS\n\nChapter 1\n", "text"),
        (b"<3 is a heart, she wrote.", "text"),
    ],
)
def test_a_file_is_told_by_what_is_in_it(tmp_path: Path, data: bytes, kind: str) -> None:
    path = tmp_path / "book.bin"
    path.write_bytes(data)
    assert kind_of(path) == kind


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        ({"mimetype": "application/epub+zip"}, "epub"),
        ({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": ""}, "odt"),
        ({"[Content_Types].xml": "", "word/document.xml": ""}, "docx"),
        ({"novel.fb2": ""}, "fb2-archive"),
        ({"TheSeaDoor.html": "", "images/image1.png": ""}, "html-archive"),
    ],
)
def test_an_archive_is_told_by_its_members(
    tmp_path: Path, names: dict[str, str], kind: str
) -> None:
    path = tmp_path / "book.zip"
    path.write_bytes(holding(tmp_path, names))
    assert kind_of(path) == kind


@pytest.mark.parametrize(
    ("data", "advice"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "save it as .docx"),
        (b"\x89PNG\r\n\x1a\n", "OCR"),
        (b"\\documentclass{book}\n\\begin{document}", "pandoc"),
        (b"<?xml version='1.0'?><TEI/>", "make EPUB or HTML of it"),
        (b"CONT\x02\0", "EPUB or AZW3"),
        (b"bplist00\xd1", "save the page as its source"),
        (
            b"From: <Saved by Blink>\r\nContent-Type: multipart/related;\r\n",
            "save the page as HTML",
        ),
        (bytes(range(256)) * 9, "what can be imported: EPUB, Word"),
    ],
)
def test_what_is_not_read_is_refused_with_what_to_do(
    tmp_path: Path, data: bytes, advice: str
) -> None:
    path = tmp_path / "book.epub"
    path.write_bytes(data)
    with pytest.raises(ImportFailed, match=advice):
        kind_of(path)


@pytest.mark.parametrize(
    ("names", "advice"),
    [
        ({"[Content_Types].xml": "", "xl/workbook.xml": ""}, "spreadsheet"),
        ({"Index/Document.iwa": ""}, "Pages document; export it"),
        ({"a.scriv/a.scrivx": ""}, "compile it to Word"),
        ({"photo.jpg": ""}, "unpack it"),
    ],
)
def test_archives_of_other_programs_are_refused_with_what_to_do(
    tmp_path: Path, names: dict[str, str], advice: str
) -> None:
    path = tmp_path / "book.docx"
    path.write_bytes(holding(tmp_path, names))
    with pytest.raises(ImportFailed, match=advice):
        kind_of(path)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a.md", "markdown"), ("a.fountain", "fountain"), ("a.txt", "text"), ("a", "text")],
)
def test_a_name_decides_where_no_content_does(tmp_path: Path, name: str, kind: str) -> None:
    (tmp_path / name).write_text("Plain words.")
    assert kind_of(tmp_path / name) == kind


def test_what_never_begins_costs_no_time(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("<!-- a --> " * 4000 + "<")
    assert kind_of(tmp_path / "a") == "text"
