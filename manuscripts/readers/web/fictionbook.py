"""Reads FictionBook 2 (FB2), plain or zipped; each section of the text becomes a page.

Knows sections, titles, notes, verse and metadata of the format, and that many files are not
well-formed. Pictures are not extracted, except for the cover.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from manuscripts.book import Book, Choices, CoverImage, count_characters, file_name, word_set
from manuscripts.errors import ImportFailed
from manuscripts.plaintext import read_data
from manuscripts.prose import is_scene_break
from manuscripts.readers import markup
from manuscripts.readers.archive import Archive
from manuscripts.readers.ebook.cover import cover_of
from manuscripts.readers.elements import (
    EPUB_TYPE,
    OMISSION_ATTRIBUTE,
    SOURCE_ATTRIBUTE,
    append_text,
    element_name,
    heading_tag,
)
from manuscripts.readers.facts import Metadata, TocEntry, genre_of, valid_language
from manuscripts.readers.pages import Pages, SourcePage, read_pages
from manuscripts.readers.web.fb2_repair import CDATA, COMMENT, repair
from textbase.characters import strip_invisible
from textbase.errors import Problem

_BODY = re.compile(r"<body\b.*?</body\s*>", re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")
_ALT = re.compile(r"<(?:\w+:)?image\b[^<>]*?\salt\s*=\s*(?:\"([^\"<>]*)\"|'([^'<>]*)')")
_BINARY = re.compile(r"<binary\b([^<>]*)>([^<]*)</binary\s*>")
_COVER_LIMIT = 32_000_000
"""Limit on the encoded characters of a cover."""
_NOTE_BODY_NAMES = word_set("notes comments footnotes endnotes note comment")
_NOTE_DEPTH = 99
"""Depth for notes, whose titles are no headings."""
_ELEMENTS = {
    "section": "section", "p": "p", "v": "p", "text-author": "p", "date": "p", "empty-line": "p",
    "cite": "blockquote", "poem": "div", "stanza": "div", "epigraph": "div", "annotation": "div",
    "table": "table", "tr": "tr", "td": "td", "th": "th", "strong": "strong", "emphasis": "em",
    "sub": "sub", "sup": "sup", "code": "code", "image": "img", "a": "a",
}  # fmt: skip
"""Elements -> those of XHTML; others become `span`."""


def read_fictionbook(path: Path, choices: Choices) -> Book:
    """Reads the book in a FictionBook file. Raises ImportFailed, SlowPattern."""
    return _read_book(path, read_data(path), choices)


def read_fictionbook_archive(path: Path, choices: Choices) -> Book:
    """Reads the book in a zipped FictionBook file. Raises ImportFailed, SlowPattern."""
    with Archive(path, "a zipped FB2") as archive:
        book_names = [name for name in archive.names if name.lower().endswith(".fb2")]
        book_names = [name for name in book_names if not name.startswith("__MACOSX")] or book_names
        if len(book_names) > 1:
            message = f"holds {len(book_names):,} books; unpack it and import one of them"
            raise archive.failed(message)
        content = archive.read(book_names[0])
    return _read_book(path, content, choices)


def _read_book(path: Path, content: bytes, choices: Choices) -> Book:
    """Reads the book in the bytes of a file. Raises ImportFailed, SlowPattern."""
    try:
        full_text, remarks = markup.decode_document(content, choices.encoding, file_name(path))
        text, root, repair_remarks = _parse(_BINARY.sub("", full_text))
    except markup.BadMarkup as error:
        raise ImportFailed(Problem(path, None, str(error))) from None
    cover, cover_remarks = _find_cover(full_text, root)
    metadata = _read_metadata(root)
    pages, contents = _read_pages(root, file_name(path))
    source = Pages(
        pages,
        metadata,
        contents,
        characters=_count_characters(text),
        cover=cover,
        remarks=[*remarks, *repair_remarks, *cover_remarks],
    )
    return read_pages(path, source, choices)


def _parse(text: str) -> tuple[str, etree._Element, list[str]]:
    """Parses a file; returns its text, perhaps repaired, its root, and remarks on repairs.

    Raises BadMarkup.
    """
    remarks = []
    try:
        root = markup.xml_of(text)
    except markup.BadMarkup as error:
        text = repair(markup.sanitize(text))
        root = markup.xml_of(text)
        remarks = [f"The file is {error}; it was read as well as it can be: look at its chapters."]
    markup.check_depth(root)
    if element_name(root) != "fictionbook":
        raise markup.BadMarkup(f"not FB2, but <{element_name(root)}>")
    return text, root, remarks


def _count_characters(text: str) -> int:
    """Counts the visible characters in all bodies, independently of the parsed elements."""
    bodies = [COMMENT.sub("", body[0]) for body in _BODY.finditer(markup.sanitize(text))]
    alts = [a or b for body in bodies for a, b in _ALT.findall(body)]
    texts = [_TAG.sub("", CDATA.sub(lambda match: html.escape(match[1]), body)) for body in bodies]
    return sum(count_characters(html.unescape(piece)) for piece in (*alts, *texts))


# -- metadata --------------------------------------------------------------------------------------


def _read_metadata(root: etree._Element) -> Metadata:
    """Returns the metadata in the description of a file."""
    date = next(root.iterfind(".//{*}title-info/{*}date"), None)
    date_text = "" if date is None else date.get("value") or text_in(date)
    isbn = _first_text(root, "publish-info", "isbn")
    sequences = [
        (name, sequence.get("number") or None)
        for holder in ("title-info", "publish-info")
        for sequence in root.iterfind(f".//{{*}}{holder}/{{*}}sequence")
        if (name := " ".join(strip_invisible(sequence.get("name", "")).split()))
    ]
    series, series_part = (*sequences, (None, None))[0]
    return Metadata(
        title=_first_text(root, "title-info", "book-title")
        or _first_text(root, "publish-info", "book-name"),
        authors=tuple(_author_names(root)),
        language=valid_language(_first_text(root, "title-info", "lang")),
        identifiers={"isbn": isbn} if isbn else {},
        publisher=_first_text(root, "publish-info", "publisher"),
        date=date_text.partition("T")[0] or _first_text(root, "publish-info", "year"),
        description=_first_text(root, "title-info", "annotation"),
        genre=genre_of(map(text_in, root.iterfind(".//{*}title-info/{*}genre"))),
        series=series,
        series_part=series_part,
    )


def _first_text(root: etree._Element, *names: str) -> str | None:
    """Returns the first text of the elements at a path below an element; None for none."""
    elements = root.iterfind(".//" + "/".join(f"{{*}}{name}" for name in names))
    return next(filter(None, map(text_in, elements)), None)


def _author_names(root: etree._Element) -> Iterator[str]:
    for author in root.iterfind(".//{*}title-info/{*}author"):
        parts = (_first_text(author, name) for name in ("first-name", "middle-name", "last-name"))
        if author_name := " ".join(filter(None, parts)) or _first_text(author, "nickname"):
            yield author_name


def text_in(element: etree._Element) -> str:
    """Returns the text of an element on one line."""
    return " ".join(strip_invisible(" ".join(element.itertext())).split())


def _find_cover(text: str, root: etree._Element) -> tuple[CoverImage | None, list[str]]:
    """Returns the embedded cover that a file declares, and remarks on it."""
    hrefs = [href_of(image) for image in root.iterfind(".//{*}coverpage//{*}image")]
    cover_id = next((name.removeprefix("#") for name in hrefs if name.startswith("#")), None)
    if cover_id is None:
        return None, []
    for attributes, encoded in _BINARY.findall(text):
        if not re.search(rf"\bid\s*=\s*[\"']{re.escape(cover_id)}[\"']", attributes):
            continue
        try:
            content = base64.b64decode("".join(encoded[:_COVER_LIMIT].split()), validate=False)
        except (binascii.Error, ValueError):
            return None, [f"The cover ({cover_id}) is broken, so it is left out."]
        return cover_of(content, cover_id)
    return None, [f"The book names a cover, {cover_id}, that it does not hold."]


def href_of(element: etree._Element) -> str:
    """Returns the `href` of a link, whatever its prefix; "" for none."""
    hrefs = (str(href) for name, href in element.attrib.items() if str(name).endswith("href"))
    return next(hrefs, "").strip()


# -- the text --------------------------------------------------------------------------------------


def _read_pages(root: etree._Element, name: str) -> tuple[list[SourcePage], list[TocEntry]]:
    """Returns the pages of a file, of which notes come last, and the table of contents.

    The elements are moved to the pages and become those of XHTML.
    """
    for number, section in enumerate(root.iter("{*}section")):
        if not section.get("id"):
            section.set("id", f"section-{number}")
    bodies = sorted(root.iterchildren("{*}body"), key=_is_notes)
    stray_text = " ".join(body.text or "" for body in bodies if not _is_notes(body))
    groups = [(_is_notes(body), elements) for body in bodies for elements in _split_pages(body)]
    """The elements of each page, and whether it has notes."""
    converter = _ElementConverter()
    for number, (is_note, elements) in enumerate(groups):
        for element_id in (e.get("id") for element in elements for e in element.iter()):
            if element_id:
                converter.page_by_id.setdefault(element_id, f"p{number}")
                converter.note_ids |= {element_id} if is_note else set()
    pages: list[SourcePage] = []
    contents: list[TocEntry] = []
    section_count = 0
    for number, (is_note, elements) in enumerate(groups):
        for element in elements:
            contents += () if is_note else _contents_entries(element, f"p{number}")
            converter.convert(element, "body", _NOTE_DEPTH if is_note else 1)
        page_root = etree.Element("html")
        body = etree.SubElement(page_root, "body")
        section_count += elements[0].tag == "section" and not is_note
        place = "notes" if is_note else f"section {section_count}"
        body.set(SOURCE_ATTRIBUTE, f"{name}, {place}")
        append_text(body, None if is_note or number else stray_text)
        body.extend(elements)
        pages.append(SourcePage(f"p{number}", page_root))
    return pages, contents


def _is_notes(body: etree._Element) -> bool:
    return (body.get("name") or "").strip().lower() in _NOTE_BODY_NAMES


def _split_pages(body: etree._Element) -> Iterator[list[etree._Element]]:
    """Yields the elements of each page: a section, or what is between sections."""
    if _is_notes(body):
        body.tail = None
        yield [body]
        return
    loose_elements: list[etree._Element] = []
    for child in body:
        if element_name(child) != "section":
            loose_elements.append(child)
            continue
        if loose_elements:
            yield loose_elements
        loose_elements = []
        yield [child]
    if loose_elements:
        yield loose_elements


def _contents_entries(element: etree._Element, page: str) -> Iterator[TocEntry]:
    """Yields the titles of a section and its subsections as entries of a table of contents."""
    if element_name(element) != "section":
        return
    inner_entries = tuple(entry for child in element for entry in _contents_entries(child, page))
    title = next(element.iterchildren("{*}title"), None)
    if title is not None and (title_text := text_in(title)):
        yield TocEntry(title_text, page, element.get("id", ""), inner_entries)
    else:
        yield from inner_entries


class _ElementConverter:
    """Turns elements into those of XHTML."""

    def __init__(self) -> None:
        self.page_by_id: dict[str, str] = {}
        """Path of the page that has each id."""
        self.note_ids: set[str] = set()
        """Ids in notes."""

    def convert(self, element: etree._Element, parent_name: str, depth: int) -> None:
        """Converts an element and those within; `depth` is the number of sections around it and
        one, or _NOTE_DEPTH."""
        name, children = element_name(element), list(element)
        attributes, href = dict(element.attrib), href_of(element)
        element.attrib.clear()
        if element_id := attributes.get("id"):
            element.set("id", element_id)
        element.tag = _ELEMENTS.get(name, "span")
        is_note = depth == _NOTE_DEPTH
        if is_note:
            _convert_note(element, name, parent_name)
        if name == "title":
            _convert_title(element, parent_name, depth)
        elif name == "subtitle":
            text = " ".join("".join(element.itertext()).split())
            element.tag = "p" if not text or is_scene_break(text) else heading_tag(depth)
        elif name == "empty-line":
            element.text = "\xa0"
        elif name == "epigraph":
            element.set(EPUB_TYPE, "epigraph")
        elif name == "image":
            element.set("alt", attributes.get("alt", ""))
        elif name in ("stanza", "style"):
            element.set("class", attributes.get("name", name))
        elif name == "a" and href:
            self._convert_link(element, href, attributes.get("type", ""))
        for child in children:
            self.convert(child, name, depth + (name == "section" and not is_note))

    def _convert_link(self, link: etree._Element, href: str, link_type: str) -> None:
        """Points a link to the page with its target, and marks references to notes."""
        target = href.removeprefix("#")
        is_inner = href.startswith("#")
        is_known = is_inner and target in self.page_by_id
        link.set("href", f"{self.page_by_id[target]}#{target}" if is_known else href)
        if is_inner and (link_type == "note" or target in self.note_ids):
            link.set(EPUB_TYPE, "noteref")


def _convert_note(element: etree._Element, name: str, parent_name: str) -> None:
    """Turns a section of notes into a note, or into what holds several; leaves out what is beside
    these."""
    parent = element.getparent()
    if name in ("body", "section"):
        holds_notes = name == "body" or next(element.iterchildren("{*}section"), None) is not None
        element.tag = "div" if holds_notes else "aside"
        if not holds_notes:
            element.set(EPUB_TYPE, "footnote")
    elif parent is not None and parent.tag == "div" and parent_name in ("body", "section"):
        element.set(OMISSION_ATTRIBUTE, "note")
        append_text(element, element.tail)
        element.tail = None


def _convert_title(title: etree._Element, parent_name: str, depth: int) -> None:
    """Turns a title into a heading; in verse and notes into a line.

    The title of a body is left out, as the title page.
    """
    title.tag = "p" if depth == _NOTE_DEPTH else heading_tag(depth - 1)
    for number, line in enumerate(list(title)):
        if number:
            line.addprevious(etree.Element("br"))
        line.tag = "line"
    etree.strip_tags(title, "line")
    if parent_name == "body" and depth != _NOTE_DEPTH:
        title.set(OMISSION_ATTRIBUTE, "title page")
    elif parent_name in ("poem", "stanza", "cite", "epigraph") and depth != _NOTE_DEPTH:
        title.tag = "p"
        strong = etree.Element("strong")
        strong.text, title.text = title.text, None
        strong.extend(list(title))
        title.append(strong)
