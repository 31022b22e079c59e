"""Feeds of series: the oldest item first, texts beside the feed, nothing from the network."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from manuscripts.errors import ImportFailed
from narrator.importing import import_book
from tests.effort import examples
from tests.manuscripts.damage import assert_read_or_refused, damaged
from tests.manuscripts.imports import text_of, titles

SPACES = (
    'xmlns:content="http://purl.org/rss/1.0/modules/content/" '
    'xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/"'
)
FACTS = (
    "<title>The Sea Door</title><itunes:author>Ann Author</itunes:author><language>en-gb</language>"
    "<description>A &lt;b&gt;serial&lt;/b&gt;.</description>"
)
TITLES = ["Chapter 1", "Chapter 2", "Chapter 3"]


def written(folder: Path, text: str, name: str = "feed.xml") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def rss(folder: Path, *items: str, facts: str = FACTS) -> Path:
    inside = "".join(f"<item>{item}</item>" for item in items)
    text = f'<?xml version="1.0"?><rss version="2.0" {SPACES}><channel>{facts}{inside}'
    return written(folder, f"{text}</channel></rss>")


def dated(number: int, text: str = "Words of the chapter here.") -> str:
    date = f"<pubDate>Mon, 0{number} Jan 2024 10:00:00 GMT</pubDate>"
    return f"<title>Chapter {number}</title>{date}<description>{text}</description>"


def atom(folder: Path) -> Path:
    contents = (
        '<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>It was <em>her</em>.'
        "</p></div></content>",
        '<content type="html">&lt;p&gt;It was &lt;em&gt;her&lt;/em&gt;.&lt;/p&gt;</content>',
        "<content>It was her &lt; me.</content>",
    )
    entries = "".join(
        f"<entry><title>Chapter {n}</title><published>2024-01-0{n}T10:00:00Z</published>{content}"
        "</entry>"
        for n, content in reversed(list(enumerate(contents, 1)))
    )
    facts = "<title>The Sea Door</title><author><name>Ann Author</name></author>"
    return written(
        folder,
        f'<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en-gb">{facts}{entries}</feed>',
    )


def rdf(folder: Path) -> Path:
    items = "".join(
        f"<item><title>Chapter {n}</title><dc:date>2024-01-0{n}</dc:date>"
        f"<description>Words of chapter {n}.</description></item>"
        for n in (3, 2, 1)
    )
    facts = "<title>The Sea Door</title><dc:creator>Ann Author</dc:creator>"
    facts += "<dc:language>en-gb</dc:language>"
    root = f'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" {SPACES}>'
    return written(folder, f"{root}<channel>{facts}</channel>{items}</rdf:RDF>")


def json_feed(folder: Path) -> Path:
    shapes = ({"content_html": "<p>It was <em>her</em>.</p>"}, {"content_text": "One.\n\nTwo."},
              {"summary": "Short words."})  # fmt: skip
    items = [
        {"title": f"Chapter {n}", "date_published": f"2024-01-0{n}T10:00:00+01:00"} | shape
        for n, shape in enumerate(shapes, 1)
    ]
    feed = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": "The Sea Door",
        "authors": [{"name": "Ann Author"}],
        "language": "en-gb",
        "items": list(reversed(items)),
    }
    return written(folder, json.dumps(feed), "feed.json")


def newest_first(folder: Path) -> Path:
    return rss(folder, *(dated(n) for n in (3, 2, 1)))


@pytest.mark.parametrize("make", [newest_first, atom, rdf, json_feed])
def test_every_kind_of_feed_is_read_from_its_oldest_item(make, tmp_path: Path) -> None:
    book = import_book(make(tmp_path))
    assert titles(book) == TITLES
    assert (book.title, book.authors, book.language) == ("The Sea Door", ("Ann Author",), "en-gb")
    assert book.characters == book.characters_kept + book.characters_left_out


def test_contents_count_more_than_summaries(tmp_path: Path) -> None:
    content = "<content:encoded><![CDATA[<p>It was <em>her</em>&nbsp;door.</p><script>x()</script>"
    item = f"{dated(1, 'Short.')}{content}]]></content:encoded>"
    assert text_of(import_book(rss(tmp_path, item))) == "# Chapter 1\n\nIt was *her* door.\n"


def test_the_contents_of_atom_are_text_html_or_xhtml(tmp_path: Path) -> None:
    text = text_of(import_book(atom(tmp_path)))
    assert text.count("It was *her*.") == 2
    assert "It was her \\< me." in text


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("texts/one.md", "# Chapter 1\n\nIt was *her*.\n", "# Chapter 1\n\nIt was *her*.\n"),
        ("one.txt", "It was her.\n\nDoor.\n", "# Chapter 1\n\nIt was her.\n\nDoor.\n"),
        ("one.html", "<p>It was <b>her</b>.</p>", "# Chapter 1\n\nIt was **her**.\n"),
    ],
)
def test_a_text_beside_the_feed_is_read(tmp_path: Path, name: str, text: str, shown: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    book = import_book(rss(tmp_path, f"<title>Chapter 1</title><link>{name}</link>"))
    assert text_of(book) == shown


@pytest.mark.parametrize(
    "link",
    ["../secret.txt", "/etc/passwd", "file:///etc/passwd", "https://x.org/1.txt", "link.txt"],
)
def test_nothing_outside_of_the_folder_is_read(tmp_path: Path, link: str) -> None:
    (tmp_path / "secret.txt").write_text("Secret words.")
    folder = tmp_path / "feed"
    folder.mkdir()
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    book = import_book(rss(folder, dated(1), f"<title>Two</title><link>{link}</link>"))
    assert "Secret" not in text_of(book)
    assert any("1 of 2 items hold no text (“Two”): save the pages" in r for r in book.remarks)


def test_a_feed_of_links_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ImportFailed, match="only links; save the pages beside the feed"):
        import_book(rss(tmp_path, "<title>One</title><link>https://x.org/1</link>"))


def test_numbers_say_the_order_where_dates_do_not(tmp_path: Path) -> None:
    items = [f"<title>Chapter {n}</title><description>Words.</description>" for n in (3, 2, 1)]
    assert titles(import_book(rss(tmp_path, *items))) == TITLES


def test_who_wrote_every_item_wrote_the_series(tmp_path: Path) -> None:
    items = [f"{dated(n)}<dc:creator>Ann Author</dc:creator>" for n in (1, 2)]
    facts = "<title>The Sea Door</title>"
    assert import_book(rss(tmp_path, *items, facts=facts)).authors == ("Ann Author",)
    other = f"{dated(3)}<dc:creator>Guest</dc:creator>"
    assert import_book(rss(tmp_path, *items, other, facts=facts)).authors == ("Unknown",)


def test_a_feed_without_dates_and_numbers_stands_as_it_is(tmp_path: Path) -> None:
    items = [f"<title>{n}</title><description>Words.</description>" for n in ("Dawn", "Noon")]
    book = import_book(rss(tmp_path, *items))
    assert titles(book) == ["Dawn", "Noon"]
    assert any("stand in the feed's order" in remark for remark in book.remarks)


def test_notes_to_recordings_and_excerpts_are_remarked(tmp_path: Path) -> None:
    audio = '<enclosure url="https://x.org/1.mp3" type="audio/mpeg"/>'
    book = import_book(rss(tmp_path, dated(1, "It was her […]") + audio))
    assert any("are recordings; what is read are the notes" in r for r in book.remarks)
    assert any("excerpts that end in the middle" in r for r in book.remarks)


def test_a_title_in_the_content_is_not_read_twice(tmp_path: Path) -> None:
    item = dated(1, "&lt;h2&gt;Chapter 1&lt;/h2&gt;&lt;p&gt;Words.&lt;/p&gt;")
    assert text_of(import_book(rss(tmp_path, item))) == "# Chapter 1\n\nWords.\n"


def test_pictures_and_menus_of_a_blog_s_export_are_no_items(tmp_path: Path) -> None:
    space = 'xmlns:wp="http://wordpress.org/export/1.2/"'
    kind = f"<wp:post_type {space}>attachment</wp:post_type>"
    assert titles(import_book(rss(tmp_path, dated(1), dated(2) + kind))) == ["Chapter 1"]


@pytest.mark.parametrize(
    "text",
    [
        '{"version": "https://jsonfeed.org/version/1", "items": ' + "[" * 99999,
        '{"version": "https://jsonfeed.org/version/1", "items": [1, {"title": 2}]}',
        "<rss version='2.0'/>",
        "<rss><channel/></rss>",
    ],
)
def test_what_holds_no_items_is_refused_in_a_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(ImportFailed) as failure:
        import_book(written(tmp_path, text))
    assert "\n" not in str(failure.value)


@pytest.mark.parametrize("make", [newest_first, atom, json_feed])
def test_damaged_feeds_are_read_or_refused_in_a_line(make, tmp_path: Path) -> None:
    path = make(tmp_path)
    data = path.read_bytes()
    for number in range(examples(50)):
        path.write_bytes(damaged(data, random.Random(number)))
        assert_read_or_refused(path)
