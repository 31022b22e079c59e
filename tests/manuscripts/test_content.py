"""What a file is, whatever its name says."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from manuscripts import kinds
from manuscripts.errors import ImportFailed
from manuscripts.kinds import Kind
from manuscripts.readers.content import kind_of
from narrator.importing import import_book
from tests.effort import cpu_seconds

SLUGS = "FADE IN:\n\nINT. HOUSE - NIGHT\n\nRain.\n\nANNA\nStay.\n\nEXT. ROAD - DAY\n\nBEN\nNo.\n"


def holding(folder: Path, names: dict[str, str]) -> bytes:
    path = folder / "archive"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in names.items():
            archive.writestr(name, data)
    return path.read_bytes()


BY_CONTENT = [
    (b"%PDF-1.7\n", kinds.PDF),
    (b"\xef\xbb\xbf\n%PDF-1.4\n", kinds.PDF),
    (b"{\\rtf1\\ansi Hello}", kinds.RTF),
    (b"Novel".ljust(60, b"\0") + b"BOOKMOBI", kinds.MOBI),
    (b"<?xml version='1.0'?><FictionBook xmlns='x'><body/></FictionBook>", kinds.FB2),
    (b"<?xml version='1.0'?><FinalDraft DocumentType='Script'/>", kinds.FINAL_DRAFT),
    (b"<rss version='2.0'><channel/></rss>", kinds.FEED),
    (b"<feed xmlns='http://www.w3.org/2005/Atom'/>", kinds.FEED),
    (b'{"version": "https://jsonfeed.org/version/1.1", "items": []}', kinds.FEED),
    (b"<!DOCTYPE html><title>a</title><p>b", kinds.HTML),
    (b"<?xml version='1.0'?>\n<html xmlns='x'><body/></html>", kinds.HTML),
    (b"<p>One paragraph.</p>\n<p>Another.</p>", kinds.HTML),
    (b"<p>One paragraph.\n<P>Another.", kinds.HTML),
    (b"<p><b>" + b"a " * 200_000 + b"</b></p>", kinds.TEXT),
    (b"WEBVTT\n\n00:01.000 --> 00:02.000\nHi", kinds.VTT),
    (b"1\r\n00:00:01,000 --> 00:00:02,000\r\nHi\r\n", kinds.SRT),
    (SLUGS.encode(), kinds.FOUNTAIN),
    (b"# One\n\nText.\n\n# Two\n\nText.\n", kinds.MARKDOWN),
    (b"---\ntitle: A\n---\n\nText.\n", kinds.MARKDOWN),
    (b"Once upon a time.\n", kinds.TEXT),
    (b"WEBVTT is a format of subtitles.\n", kinds.TEXT),
    (b"\n\nWEBVTT\n\n00:01.000 --> 00:02.000\nHi", kinds.VTT),
    (b"{\\rtf is how RTF begins.", kinds.TEXT),
    (b"INT. is short for interior.\n", kinds.TEXT),
    (b"CONTENTS\n\nChapter 1\n", kinds.TEXT),
    (b"<3 is a heart, she wrote.", kinds.TEXT),
]


PARAGRAPHS = "Once upon a time there was a king.\n\nHe had three sons.\n\n" * 4
PAGE = "<h1>One</h1>\n<p>It was late.</p>\n<p>Nobody came.</p>\n"
SCRIPT = "<script>var a = '<p>' < 3;\n\nif (a) { document.write('x'); }\n</script>\n"
COMMENT = "<!-- saved from\n\nurl=(0014)about:internet <p> -->\n"
WORD = "<![if !mso]>\n<!--[if gte mso 9]><xml></xml><![endif]-->\n"


ENCODINGS = ("utf-8", "utf-16")
HTML = [
    SCRIPT + PAGE,
    SCRIPT * 3 + "<style>p { color: red }</style>" + PAGE,
    "\ufeff\n  " + SCRIPT + "<html><body>" + PARAGRAPHS + "</body></html>",
    COMMENT + PAGE,
    COMMENT + "<!DOCTYPE html>\n" + PAGE,
    WORD + "<html xmlns:v='urn:x'>" + PAGE + "</html>",
    "<?php if ($a > 1) { echo 1; } ?>\n" + PAGE,
    "<?xml version='1.0'?><?xml-stylesheet type='text/xsl' href='a'?>\n<h:html xmlns:h='x'>"
    "<h:body/></h:html>",
    "<?xml version='1.0'?>\n<!-- a -->\n<div xmlns='http://www.w3.org/1999/xhtml'><p>a</p></div>",
    "The King\n<p>Once upon a time.\n<p>He had three sons.\n<p>All of them left.\n",
    "Title<br>\n<br>\nOnce upon a time.<br>\nHe had three sons.<br>\n",
    "<a name='top'></a><img src='a.png'>\n" + PAGE,
    "<html><body><pre>" + PARAGRAPHS + "</pre>",
    "<center><b>The King</b></center>\n<pre>" + PARAGRAPHS + "</pre>",
    "Ein Titel\n<!-- a --><script>b()</script>\n" + PAGE,
]
"""Pages that are known by their tags, whatever stands above these."""
TEXTS = [
    "A word in <b>bold</b> and one in <i>italics</i>.\n\n" + PARAGRAPHS,
    "In HTML, <p>this</p> is a paragraph, and <br> ends a line.\n\n" + PARAGRAPHS,
    "<p>This</p> is how a paragraph is written.\n\n" + PARAGRAPHS,
    "<html> is the first tag of a page. It needs a <body> too.\n\n" + PARAGRAPHS,
    "<script> is no way to begin.\n\n" + PARAGRAPHS,
    "<!-- a note to myself -->\n\n" + PARAGRAPHS,
    "1 < 2 and 3 > 2.\n\n" + PARAGRAPHS,
    "An example:\n\n```html\n" + PAGE + "\n\n" + PAGE + "```\n\nThat is all.\n",
    PARAGRAPHS + PAGE,
]
"""Texts that mention tags, or have an example."""
MARKDOWN = [
    "<p align='center'>\n  <img src='a.png'>\n</p>\n\n# One\n\nText.\n",
    SCRIPT + "# One\n\nText.\n",
    COMMENT + "# One\n\nText.\n",
    "<div>\n\n" + PARAGRAPHS + "</div>",
    "One<br>\nTwo<br>\nThree<br>\n",
]
"""Markdown with tags."""
BY_NAME = [
    ("a.htm", SCRIPT + PARAGRAPHS, kinds.HTML),
    ("a.htm", "Once upon a time <i>there</i> was a king.\n", kinds.HTML),
    ("a.htm", "Fish &amp; chips.\n", kinds.HTML),
    ("a.htm", PARAGRAPHS, kinds.TEXT),
    ("a.md", "Plain words.", kinds.MARKDOWN),
    ("a.fountain", "Plain words.", kinds.FOUNTAIN),
    ("a.txt", "Plain words.", kinds.TEXT),
    ("a", "Plain words.", kinds.TEXT),
]


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        *(("book.bin", data, kind) for data, kind in BY_CONTENT),
        *(("book.txt", page.encode(code), kinds.HTML) for page in HTML for code in ENCODINGS),
        *(("book.txt", text, kinds.TEXT) for text in TEXTS),
        *(("book.md", text, kinds.MARKDOWN) for text in MARKDOWN),
        *BY_NAME,
    ],
)
def test_a_file_is_known_by_its_content_and_in_doubt_by_its_name(
    tmp_path: Path, name: str, content: str | bytes, kind: Kind
) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert kind_of(path) is kind


def test_scripts_above_a_page_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "book.txt"
    path.write_text(SCRIPT + COMMENT + PAGE, encoding="utf-8")
    [chapter] = import_book(path).chapters
    assert chapter.markdown == "# One\n\nIt was late.\n\nNobody came.\n"


@pytest.mark.parametrize("piece", ["<!-- ", "<script>", "<?x ", "<![a", "<p>", "~~~a\n"])
def test_tags_that_never_end_cost_no_time(tmp_path: Path, piece: str) -> None:
    (tmp_path / "a.html").write_text("a " + piece * 20_000, encoding="utf-8")
    (tmp_path / "a").write_text("a " + piece * 20_000, encoding="utf-8")
    assert kind_of(tmp_path / "a.html") in (kinds.HTML, kinds.TEXT)
    assert kind_of(tmp_path / "a") in (kinds.HTML, kinds.TEXT)


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        ({"mimetype": "application/epub+zip"}, kinds.EPUB),
        (
            {"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": ""},
            kinds.OPENDOCUMENT,
        ),
        ({"[Content_Types].xml": "", "word/document.xml": ""}, kinds.WORD),
        ({"novel.fb2": ""}, kinds.FB2_ARCHIVE),
        ({"TheSeaDoor.html": "", "images/image1.png": ""}, kinds.HTML_ARCHIVE),
    ],
)
def test_an_archive_is_told_by_its_members(
    tmp_path: Path, names: dict[str, str], kind: Kind
) -> None:
    path = tmp_path / "book.zip"
    path.write_bytes(holding(tmp_path, names))
    assert kind_of(path) is kind


@pytest.mark.parametrize(
    ("content", "advice"),
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
        (bytes(range(256)) * 9, "EPUB file is damaged"),
        ({"[Content_Types].xml": "", "xl/workbook.xml": ""}, "spreadsheet"),
        ({"Index/Document.iwa": ""}, "Pages document; export it"),
        ({"a.scriv/a.scrivx": ""}, "compile it to Word"),
        ({"photo.jpg": ""}, "unpack it"),
    ],
)
def test_what_is_not_read_is_refused_with_what_to_do(
    tmp_path: Path, content: bytes | dict[str, str], advice: str
) -> None:
    path = tmp_path / "book.epub"
    path.write_bytes(content if isinstance(content, bytes) else holding(tmp_path, content))
    with pytest.raises(ImportFailed, match=advice):
        kind_of(path)


@pytest.mark.parametrize("text", ["<!-- a --> " * 4000 + "<", " " * 40_000 + "1", "1" * 40_000])
def test_what_never_begins_costs_no_time(tmp_path: Path, text: str) -> None:
    (tmp_path / "a").write_text(text)
    found: list[Kind] = []
    assert cpu_seconds(lambda: found.append(kind_of(tmp_path / "a"))) < 2  # 0.02 s; else minutes
    assert found == [kinds.TEXT]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("novel.docx", "this Word file is damaged (not a zip archive)"),
        ("novel.epub", "this EPUB file is damaged (not a zip archive)"),
        ("novel.fodt", "is not a manuscript of a known kind"),
        ("novel.bin", "is not a manuscript of a known kind"),
    ],
)
def test_a_damaged_archive_is_known_by_its_suffix(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / name).write_bytes(bytes(range(256)) * 20)
    with pytest.raises(ImportFailed) as caught:
        kind_of(tmp_path / name)
    assert message in str(caught.value)
