"""Whole EPUBs: where chapters begin, what is front and back matter, and that nothing is lost."""

from __future__ import annotations

import html
import os
import re
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from manuscripts import Book
from narrator.importing import import_book
from narrator.text.labels import Roles
from narrator.text.script import read_chapter
from tests.build_epub import METADATA, build_epub, page
from tests.effort import examples
from tests.manuscripts.imports import titles

WORDS = "Nobody had asked the ferryman to wait and he had never been asked to hurry. " * 4
TEXT = f"<p>{WORDS}</p>"
ROLES = Roles({"narrator": "narrator"}, "narrator")


def why_left_out(book: Book) -> dict[str, str]:
    """Documents that were left out -> the reason."""
    return {item.source.removeprefix("OEBPS/"): item.reason for item in book.left_out}


def spoken(book: Book) -> list[str]:
    """All words that the script layer reads in the chapters."""
    lines = [
        line.text
        for chapter in book.chapters
        for scene in read_chapter(
            chapter.markdown,
            path=Path("text.md"),
            title=chapter.title,
            language=book.language,
            roles=ROLES,
            speaker=None,
        ).scenes
        for line in scene.lines
    ]
    return letters(" ".join(lines))


ReadEpub = Callable[..., Book]


@pytest.fixture
def read(tmp_path: Path) -> ReadEpub:
    """The book in an EPUB of documents, with entries of a table of contents."""

    def read_epub(documents: dict[str, str], contents: Sequence = (), **options: object) -> Book:
        return import_book(build_epub(tmp_path / "b.epub", documents, contents=contents, **options))

    return read_epub


# -- reading order and titles ----------------------------------------------------------------------


@pytest.mark.parametrize("version", [2, 3])
def test_titles_come_from_the_navigation_of_both_versions(read: ReadEpub, version: int) -> None:
    documents = {"a.xhtml": f"<p>1</p>{TEXT}", "b.xhtml": f"<h1>II</h1>{TEXT}"}
    entries = [("1. The Gate", "a.xhtml"), ("2. The Wave", "b.xhtml")]
    book = read(documents, entries, version=version)
    assert titles(book) == ["1. The Gate", "2. The Wave"]


def test_a_book_in_one_document_without_navigation_parts_at_its_headings(read: ReadEpub) -> None:
    body = f"<h1>The Sea Door</h1><h2>Gate</h2>{TEXT}<h3>Aside</h3>{TEXT}<h2>Wave</h2>{TEXT}"
    book = read({"all.xhtml": body})
    assert len(book.chapters) == 2
    assert book.chapters[1].title == "Wave"
    assert any("no table of contents" in remark for remark in book.remarks)


def test_a_heading_that_is_a_picture_is_spoken_from_the_navigation(read: ReadEpub) -> None:
    body = f'<h1><img src="one.png" alt="ornate"/></h1>{TEXT}'
    book = read({"a.xhtml": body}, [("The Gate", "a.xhtml")])
    assert book.chapters[0].markdown.startswith("# The Gate\n")
    assert book.chapters[0].words == 15 * 4
    assert any("no heading in words" in remark for remark in book.remarks)


# -- parts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("subjects", "genre"),
    [
        (["Fiction -- Social life -- England; Country homes"], "Fiction"),
        (["England -- Social life and customs", "Humorous stories"], "Humorous stories"),
        (["FICTION / Mystery & Detective / General"], "Fiction"),
        (["Chickens", "Farm life -- England -- Fiction", "Comedy"], "Comedy"),
        (["Detective and mystery stories", "Holmes, Sherlock (Fictitious character)"],
         "Detective and mystery stories"),
        (["Chickens", "Great Britain -- 19th century", "FIC022000"], None),
    ],
)  # fmt: skip
def test_a_genre_is_what_players_list_and_no_librarys_subject(
    tmp_path: Path, subjects: list[str], genre: str | None
) -> None:
    said = "".join(f"<dc:subject>{html.escape(subject)}</dc:subject>" for subject in subjects)
    path = build_epub(tmp_path / "b.epub", {"a.xhtml": TEXT}, metadata=METADATA + said)
    assert import_book(path).genre == genre


SCANDAL = "A Scandal in Bohemia"


def stories(heading: str, apart: bool) -> tuple[dict, Sequence]:
    """A story of two numbered sections, in one document or in two, and one without."""
    one = f'{heading}<h3 id="i">I</h3>{TEXT}'
    two = f'<h3 id="ii">II</h3>{TEXT}'
    documents = {"s.xhtml": one, "t.xhtml": two} if apart else {"s.xhtml": one + two}
    below = [("I", "s.xhtml#i"), ("II", "t.xhtml" if apart else "s.xhtml#ii")]
    league = ("The Red-Headed League", "z.xhtml")
    return (
        documents | {"z.xhtml": f"<h2>The Red-Headed League</h2>{TEXT}"},
        [(SCANDAL, "s.xhtml", below), league],
    )


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("apart", [False, True])
def test_bare_numbers_carry_the_title_of_their_story(
    tmp_path: Path, version: int, apart: bool
) -> None:
    documents, entries = stories(f"<h2>{SCANDAL}</h2>", apart)
    path = build_epub(tmp_path / "b.epub", documents, contents=entries, version=version)
    book = import_book(path)
    assert titles(book) == [f"{SCANDAL}: I", f"{SCANDAL}: II", "The Red-Headed League"]
    assert book.chapters[0].markdown.startswith(f"# {SCANDAL}\n\n## I\n")
    assert book.chapters[1].markdown.startswith("# II\n")


def test_titles_carry_as_many_parents_as_they_need(read: ReadEpub) -> None:
    documents, entries = {}, []
    for b in (1, 2):
        parts = []
        for p in (1, 2):
            name = f"c{b}{p}.xhtml"
            above = f"<h1>Book {b}</h1>" if p == 1 else ""
            documents[name] = f"{above}<h2>Part {p}</h2><h3>1</h3>{TEXT}"
            parts.append((f"Part {p}", name, [("1", name)]))
        entries.append((f"Book {b}", f"c{b}1.xhtml", parts))
    book = read(documents, entries)
    assert titles(book) == [f"Book {b}, Part {p}, 1" for b in (1, 2) for p in (1, 2)]


def test_the_book_itself_is_no_parent(read: ReadEpub) -> None:
    documents = {"a.xhtml": f"<h2>I</h2>{TEXT}", "b.xhtml": f"<h2>II</h2>{TEXT}"}
    entries = [("The Sea Door", "a.xhtml", [("I", "a.xhtml"), ("II", "b.xhtml")])]
    book = read(documents, entries)
    assert titles(book) == ["I", "II"]


@pytest.mark.parametrize("said", ["Part of it was true.", "Book one. He read it at once.", "End"])
def test_sentences_announce_no_part(read: ReadEpub, said: str) -> None:
    documents = {"a.xhtml": f"<h2>One</h2>{TEXT}<p>{said}</p>", "b.xhtml": f"<h2>Two</h2>{TEXT}"}
    entries = [("One", "a.xhtml"), ("Two", "b.xhtml")]
    book = read(documents, entries)
    assert said.rstrip(".") in book.chapters[0].markdown


# -- front and back matter -------------------------------------------------------------------------


def with_chapter(matter: str, title: str = "", name: str = "x.xhtml") -> tuple[dict, Sequence]:
    entries = [(title, name)] if title else []
    documents = {name: matter, "c.xhtml": f"<h1>Chapter 1</h1>{TEXT}"}
    return documents, [*entries, ("Chapter 1", "c.xhtml")]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("titlepage", "title page"),
        ("halftitlepage", "half title"),
        ("copyright-page", "copyright page"),
        ("imprint", "imprint"),
        ("colophon", "colophon"),
        ("dedication", "dedication"),
        ("acknowledgments", "acknowledgements"),
        ("index", "index"),
        ("endnotes", "notes"),
        ("bibliography", "bibliography"),
    ],
)
def test_matter_is_known_by_its_markup(read: ReadEpub, kind: str, reason: str) -> None:
    for attribute in (f'epub:type="{kind}"', f'role="doc-{kind}"'):
        documents, entries = with_chapter(f"<section {attribute}><p>Some words</p></section>")
        book = read(documents, entries)
        assert titles(book) == ["Chapter 1"]
        assert why_left_out(book)["x.xhtml"] == reason


@pytest.mark.parametrize(
    ("title", "reason"),
    [
        ("Title Page", "title page"),
        ("Copyright", "copyright page"),
        ("Dedication", "dedication"),
        ("Acknowledgements", "acknowledgements"),
        ("Contents", "table of contents"),
        ("Notes", "notes"),
        ("Index", "index"),
        ("About the Author", "about the author"),
        ("Also by Jane Roe", "list of books"),
        ("Praise for The Sea Door", "advertisement"),
        ("An excerpt from The Land Door", "advertisement"),
        ("Danksagung", "acknowledgements"),
    ],
)
def test_matter_is_known_by_its_title(read: ReadEpub, title: str, reason: str) -> None:
    documents, entries = with_chapter("<p>Some words of it</p>", title)
    book = read(documents, entries)
    assert titles(book) == ["Chapter 1"]
    assert why_left_out(book)["x.xhtml"] == reason


@pytest.mark.parametrize(
    "title",
    ["Prologue", "Preface", "Foreword", "Introduction", "Epilogue", "Afterword", "Author’s Note",
     "XII. Dedication", "Chapter 5: Contents", "Interlude", "Appendix A", "The Index of Love"],
)  # fmt: skip
def test_what_the_author_tells_the_reader_is_kept(read: ReadEpub, title: str) -> None:
    documents, entries = with_chapter("<p>Some words of it</p>", title)
    book = read(documents, entries)
    assert titles(book) == [title, "Chapter 1"]


def test_matter_is_known_by_its_words(read: ReadEpub) -> None:
    documents = {
        "a.xhtml": "<h1>The Sea Door</h1><p>a novel</p><p>Jane Roe</p>",
        "b.xhtml": "<p>© 2020 by Jane Roe. All rights reserved. First published in 2019.</p>",
        "c.xhtml": f"<h1>Chapter 1</h1>{TEXT}",
    }
    book = read(documents, [("Chapter 1", "c.xhtml")])
    assert why_left_out(book) == {
        "a.xhtml": "title page",
        "b.xhtml": "copyright page",
        "nav.xhtml": "table of contents",
    }


def test_matter_is_known_by_the_guide_and_by_landmarks(tmp_path: Path) -> None:
    documents, entries = with_chapter("<p>For nobody</p>")
    guide = '<reference type="dedication" href="x.xhtml"/>'
    landmarks = '<nav epub:type="landmarks"><a epub:type="dedication" href="x.xhtml">x</a></nav>'
    for number, options in enumerate(({"guide": guide, "version": 2}, {"landmarks": landmarks})):
        path = build_epub(tmp_path / f"{number}.epub", documents, contents=entries, **options)
        assert why_left_out(import_book(path))["x.xhtml"] == "dedication"


def test_matter_can_be_taken_back(read: ReadEpub) -> None:
    documents, entries = with_chapter("<h2>Dedication</h2><p>For <i>nobody</i></p>", "Dedication")
    book = read(documents, entries)
    assert book.left_out[0].markdown == "# Dedication\n\nFor *nobody*\n"
    assert book.left_out[0].place == 0


def test_what_follows_a_title_page_is_not_part_of_it(read: ReadEpub) -> None:
    documents = {
        "title.xhtml": "<h1>The Sea Door</h1>",
        "motto.xhtml": "<p>Who would not go down to the sea?</p>",
        "c.xhtml": f"<h1>Chapter 1</h1>{TEXT}",
    }
    entries = [("Title Page", "title.xhtml"), ("Chapter 1", "c.xhtml")]
    book = read(documents, entries)
    assert book.chapters[0].markdown == "Who would not go down to the sea?\n"


def test_what_is_outside_of_the_linear_reading_is_left_out(read: ReadEpub) -> None:
    documents = {"a.xhtml": f"<h1>One</h1>{TEXT}", "x.xhtml": "<p>An extra</p>"}
    extra = {"y.xhtml": page("<p>In no spine</p>")}
    book = read(documents, nonlinear=["x.xhtml"], files=extra)
    assert why_left_out(book) == {
        "x.xhtml": "outside of the reading order",
        "y.xhtml": "outside of the reading order",
    }


# -- facts of the book -----------------------------------------------------------------------------


def test_metadata_becomes_the_facts_of_the_book(read: ReadEpub) -> None:
    metadata = """
    <dc:title id="t1">The Sea Door</dc:title><meta refines="#t1" property="title-type">main</meta>
    <dc:title id="t2">A Tale</dc:title><meta refines="#t2" property="title-type">subtitle</meta>
    <dc:creator id="a">Jane Roe</dc:creator><meta refines="#a" property="role">aut</meta>
    <dc:creator id="b">John Doe</dc:creator><meta refines="#b" property="role">ill</meta>
    <dc:language>en_GB</dc:language><dc:publisher>Reef</dc:publisher>
    <dc:identifier>urn:isbn:9780306406157</dc:identifier>
    <dc:identifier>https://example.org/1</dc:identifier>
    <dc:date>2020-02-03T00:00:00Z</dc:date><dc:subject>Sea stories</dc:subject>
    <dc:description>&lt;p&gt;A door.&lt;/p&gt; &lt;p&gt;A sea.&lt;/p&gt;</dc:description>
    <dc:rights>CC0</dc:rights>
    <meta property="belongs-to-collection" id="s">Doors</meta>
    <meta refines="#s" property="group-position">2</meta>"""
    documents = {"a.xhtml": f"<h1>One</h1>{TEXT}"}
    book = read(documents, metadata=metadata)
    assert (book.title, book.subtitle, book.authors) == ("The Sea Door", "A Tale", ("Jane Roe",))
    assert (book.language, book.publisher, book.date) == ("en-GB", "Reef", "2020-02-03")
    assert book.identifiers == {"isbn": "9780306406157", "uri": "https://example.org/1"}
    assert (book.genre, book.copyright, book.description) == (
        "Sea stories",
        "CC0",
        "A door. A sea.",
    )
    assert (book.series, book.series_part) == ("Doors", "2")


def test_metadata_of_epub_2_is_read(read: ReadEpub) -> None:
    metadata = """<dc:title>The Sea Door</dc:title>
    <dc:creator opf:role="aut">Jane Roe</dc:creator><dc:creator opf:role="trl">X</dc:creator>
    <dc:identifier opf:scheme="ISBN">0123456789</dc:identifier><dc:language>de</dc:language>
    <dc:date opf:event="modification">2021</dc:date><dc:date opf:event="publication">1999</dc:date>
    <meta name="calibre:series" content="Doors"/>
    <meta name="calibre:series_index" content="3.0"/>"""
    documents = {"a.xhtml": f"<h1>One</h1>{TEXT}"}
    book = read(documents, metadata=metadata, version=2)
    assert (book.authors, book.date) == (("Jane Roe",), "1999")
    assert book.identifiers == {"isbn": "0123456789"}
    assert (book.series, book.series_part) == ("Doors", "3")


def test_missing_facts_are_filled_in_and_told(tmp_path: Path) -> None:
    path = build_epub(tmp_path / "door.epub", {"a.xhtml": TEXT}, metadata="")
    book = import_book(path)
    assert (book.title, book.authors, book.language) == ("door", ("Unknown",), "en")
    assert len([remark for remark in book.remarks if "does not say" in remark]) == 2
    assert book.remarks[-1].startswith("language: en, recognised")


def test_an_undetermined_language_is_none(tmp_path: Path) -> None:
    metadata = "<dc:title>A</dc:title><dc:language>und</dc:language><dc:language>fr</dc:language>"
    path = build_epub(tmp_path / "b.epub", {"a.xhtml": TEXT}, metadata=metadata)
    assert import_book(path).language == "fr"


def test_names_in_the_archive_may_be_encoded_or_in_another_case(
    tmp_path: Path, read: ReadEpub
) -> None:
    documents = {"Chapter é 1.xhtml": f"<h1>One</h1>{TEXT}"}
    path = build_epub(tmp_path / "b.epub", documents)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    opf = members["OEBPS/content.opf"].decode()
    opf = opf.replace('href="Chapter é 1.xhtml"', 'href="CHAPTER%20%C3%A9%201.xhtml"')
    members["OEBPS/content.opf"] = opf.encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    assert titles(import_book(path)) == ["One"]


# -- nothing is lost -------------------------------------------------------------------------------

_names = st.sampled_from(
    "p div span em b blockquote section h2 h3 ul li table tr td aside figure figcaption sup a ruby "
    "rt pre br hr q svg header nav hgroup dl dd center".split()
)
_texts = st.sampled_from(["word ", "two words", " a", "“so”", "* * *", "1", " ", "…", "note: b"])
_classes = st.sampled_from(
    ["", ' class="footnote"', ' class="poem"', ' class="pagenum"', ' href="#n1" id="n1"',
     ' epub:type="noteref" href="#n2"', ' epub:type="index"', ' id="n2"', ' class="caption"',
     ' epub:type="chapter"', ' class="chapter-title"', ' hidden="hidden"', ' class="subtitle"']
)  # fmt: skip
_markup = st.recursive(
    _texts,
    lambda inner: st.builds(
        lambda name, attributes, children: f"<{name}{attributes}>{''.join(children)}</{name}>",
        _names,
        _classes,
        st.lists(inner, max_size=4),
    ),
    max_leaves=25,
)


_contents = st.sampled_from(
    [
        [],
        [("One", "a.xhtml"), ("Two", "b.xhtml"), ("Last", "c.xhtml")],
        [("One", "a.xhtml"), ("Notes", "a.xhtml#n2"), ("Two", "b.xhtml#n2"), ("Last", "c.xhtml")],
        [("Book", "a.xhtml", [("Part One", "b.xhtml", [("1", "b.xhtml#n1")])])],
    ]
)


@given(st.lists(_markup, min_size=1, max_size=6), _contents)
@example(["* * *", '<p class="chapter-title">word </p>'], [])
@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_character_is_in_a_chapter_or_left_out(
    read: ReadEpub, pieces: list[str], contents: list
) -> None:
    body = "".join(pieces)
    documents = {"a.xhtml": f"<h1>One</h1>{TEXT}{body}", "b.xhtml": body, "c.xhtml": TEXT}
    book = read(documents, contents, version=2)
    shown = re.sub(r"<[^>]*>", "", body)
    expected = len("".join(f"One{WORDS}{shown}{shown}{WORDS}".split()))
    assert book.characters == expected
    assert book.characters_kept + book.characters_left_out == expected


def novel() -> Path:
    named = os.environ.get("NARRATOR_TEST_EPUB")
    folder = Path(__file__).parents[3] / "shared" / "books"
    found = [Path(named)] if named else sorted(folder.glob("*love-among-the-chickens.epub"))
    if not found:
        pytest.skip("no novel: set NARRATOR_TEST_EPUB, or put it in ../shared/books")
    return found[0]


def text_of(raw: str) -> str:
    """What a document's body says, pictures by their alternative texts, found without a parser."""
    body = raw.partition("<body")[2].partition(">")[2].partition("</body>")[0]
    body = re.sub(r"</?(a|abbr|b|em|i|span|strong|time)\b[^>]*>", "", body)
    body = re.sub(r'<img\b[^>]*\balt="([^"]*)"[^>]*>', r" \1 ", body)
    text = html.unescape(re.sub(r"<[^>]*>", " ", body))
    return re.sub("[\u00ad\u200b\u2060\ufeff]", "", text)


def letters(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text)


@pytest.fixture(scope="module")
def imported() -> Book:
    return import_book(novel())


def test_the_novel_has_its_chapters_in_order(imported: Book) -> None:
    assert len(imported.chapters) == 23
    assert titles(imported)[0] == "I. A Letter with a Postscript"
    assert titles(imported)[8] == "IX. Dies Irae"
    assert titles(imported)[22] == "XXIII. After the Storm"
    assert [c.source.rpartition("-")[2] for c in imported.chapters] == [
        f"{number}.xhtml" for number in range(1, 24)
    ]


def test_the_rest_of_the_novel_is_left_out_and_listed(imported: Book) -> None:
    assert {item.source.rpartition("/")[2]: item.reason for item in imported.left_out} == {
        "titlepage.xhtml": "title page",
        "imprint.xhtml": "imprint",
        "dedication.xhtml": "dedication",
        "halftitlepage.xhtml": "half title",
        "colophon.xhtml": "colophon",
        "uncopyright.xhtml": "copyright page",
        "toc.xhtml": "table of contents",
    }


def test_all_words_of_the_novel_are_accounted_for(imported: Book) -> None:
    with zipfile.ZipFile(novel()) as archive:
        names = [name for name in archive.namelist() if name.endswith(".xhtml")]
        texts = {name: text_of(archive.read(name).decode()) for name in names}
    counts = {name: len(re.findall(r"\w+(?:['’]\w+)*", text)) for name, text in texts.items()}
    kept = {chapter.source: chapter.words for chapter in imported.chapters}
    left = {item.source: item.words for item in imported.left_out}
    assert kept | left == counts
    assert imported.words_kept + imported.words_left_out == sum(counts.values())
    assert imported.characters == sum(len("".join(text.split())) for text in texts.values())


def test_the_novel_is_read_back_word_for_word(imported: Book) -> None:
    with zipfile.ZipFile(novel()) as archive:
        texts = [text_of(archive.read(chapter.source).decode()) for chapter in imported.chapters]
    assert spoken(imported) == letters(" ".join(texts))


def test_the_facts_and_the_cover_of_the_novel_are_taken(imported: Book) -> None:
    assert (imported.title, imported.authors) == ("Love Among the Chickens", ("P. G. Wodehouse",))
    assert imported.language == "en-GB"
    assert imported.cover is not None
    assert imported.cover.data.startswith(b"\xff\xd8\xff")


def test_scene_breaks_and_verse_of_the_novel_are_kept(imported: Book) -> None:
    assert sum(chapter.markdown.count("\n***\n") for chapter in imported.chapters) == 10
    assert "> “In his hand he bore the brand\\\n> Which none but he might smoke.”" in (
        imported.chapters[2].markdown
    )
