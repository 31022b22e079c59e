"""Reads FictionBook 2 (FB2), plain or zipped; each section of the text becomes a page.

Knows sections, titles, notes and verse of the format, and that many files are not well-formed.
Pictures are not extracted, except for the cover.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

from lxml import etree

from manuscripts.book import Book, Choices, count_characters, file_name, word_set
from manuscripts.encoding import NoText, decode
from manuscripts.errors import ImportFailed
from manuscripts.plaintext import read_data
from manuscripts.prose import is_scene_break
from manuscripts.readers import markup
from manuscripts.readers.archive import Archive
from manuscripts.readers.elements import (
    OMISSION_ATTRIBUTE,
    SOURCE_ATTRIBUTE,
    append_text,
    element_name,
)
from manuscripts.readers.facts import TocEntry
from manuscripts.readers.pages import Pages, SourcePage, read_pages
from manuscripts.readers.web.fb2_metadata import (
    find_cover,
    href_of,
    metadata_of_book,
    remove_pictures,
    text_in,
)
from manuscripts.readers.web.fb2_repair import repair
from textbase.errors import Problem

_EPUB_TYPE = "{http://www.idpf.org/2007/ops}type"
_BODY = re.compile(r"<body\b.*?</body\s*>", re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")
_ALT = re.compile(r"<(?:\w+:)?image\b[^<>]*?\salt\s*=\s*(?:\"([^\"<>]*)\"|'([^'<>]*)')")
_NOTE_BODY_NAMES = word_set("notes comments footnotes endnotes note comment")
_NOTE_DEPTH = 99
"""Depth for notes, whose titles are no headings."""
_INLINE = {
    "strong": "strong", "emphasis": "em", "strikethrough": "span", "sub": "sub", "sup": "sup",
    "code": "code", "style": "span",
}  # fmt: skip
_BLOCK = {
    "p": "p", "v": "p", "text-author": "p", "date": "p", "cite": "blockquote", "poem": "div",
    "table": "table", "tr": "tr", "td": "td", "th": "th", "annotation": "div",
}  # fmt: skip


def read_fictionbook(path: Path, choices: Choices) -> Book:
    """Reads the book in a FictionBook file. Raises ImportFailed, Slow."""
    return _read_book(path, read_data(path), choices)


def read_fictionbook_archive(path: Path, choices: Choices) -> Book:
    """Reads the book in a zipped FictionBook file. Raises ImportFailed, Slow."""
    with Archive(path, "a zipped FB2") as archive:
        book_names = [name for name in archive.names if name.lower().endswith(".fb2")]
        book_names = [name for name in book_names if not name.startswith("__MACOSX")] or book_names
        if len(book_names) > 1:
            message = f"holds {len(book_names):,} books; unpack it and import one of them"
            raise archive.failed(message)
        content = archive.read(book_names[0])
    return _read_book(path, content, choices)


def _read_book(path: Path, content: bytes, choices: Choices) -> Book:
    """Reads the book in the bytes of a file. Raises ImportFailed, Slow."""
    try:
        full_text, remarks = _decode_text(content, choices.encoding)
        text, root, parse_remarks = _parse(remove_pictures(full_text))
    except markup.BadMarkup as error:
        raise ImportFailed(Problem(path, None, str(error))) from None
    remarks += parse_remarks
    book = _FictionBook(root, file_name(path))
    book.convert()
    cover, parse_remarks = find_cover(full_text, root)
    return read_pages(
        path,
        Pages(
            book.pages,
            metadata_of_book(root),
            book.contents,
            characters=_count_characters(text),
            cover=cover,
            remarks=[*remarks, *parse_remarks],
        ),
        choices,
    )


def _decode_text(content: bytes, encoding: str | None) -> tuple[str, list[str]]:
    """Decodes a file; returns its text and remarks on the encoding.

    Raises BadMarkup, ImportFailed.
    """
    if encoding is None:
        try:
            text, remark = markup.decode_markup(content)
        except markup.BadMarkup:
            pass
        else:
            return text, [f"The file {remark}"] if remark else []
    try:
        decoded = decode(content, encoding)
    except NoText as error:
        raise markup.BadMarkup(str(error)) from None
    return decoded.text, [decoded.remark] if decoded.remark else []


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
        raise markup.BadMarkup(f"no FB2, but <{element_name(root)}>")
    return text, root, remarks


def _count_characters(text: str) -> int | None:
    """Counts the visible characters in all bodies, independently of the parsed elements."""
    count = 0
    for body in _BODY.finditer(markup.sanitize(text)):
        inner = re.sub(r"<!--.*?-->|<\?.*?\?>", "", body[0], flags=re.DOTALL)
        alts = [a or b for a, b in _ALT.findall(inner)]
        plain_text = _TAG.sub("", _CDATA.sub(lambda match: escape(match[1]), inner))
        count += sum(count_characters(_unescape(piece)) for piece in (*alts, plain_text))
    return count


_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)


def _unescape(text: str) -> str:
    text = re.sub(r"&#(?:x([0-9A-Fa-f]{1,6})|(\d{1,7}));", _decode_reference, text)
    for name, character in (("lt", "<"), ("gt", ">"), ("quot", '"'), ("apos", "'"), ("amp", "&")):
        text = text.replace(f"&{name};", character)
    return text


def _decode_reference(reference: re.Match[str]) -> str:
    code = int(reference[1], 16) if reference[1] else int(reference[2])
    return chr(code) if code < 0x110000 else ""


# -- the text --------------------------------------------------------------------------------------


@dataclass(slots=True)
class _FictionBook:
    """Converts the bodies of a file to pages."""

    root: etree._Element
    name: str
    pages: list[SourcePage] = field(default_factory=list)
    contents: list[TocEntry] = field(default_factory=list)
    pages_by_id: dict[str, str] = field(default_factory=dict)
    """Page of each id."""
    note_ids: set[str] = field(default_factory=set)
    """Ids of notes."""

    def convert(self) -> None:
        """Writes the pages and the table of contents; notes come last."""
        bodies = [element for element in self.root if element_name(element) == "body"]
        bodies.sort(key=_is_notes)
        for number, section in enumerate(self.root.iter("{*}section")):
            if not section.get("id"):
                section.set("id", f"section-{number}")
        sources = [
            (_is_notes(body), elements) for body in bodies for elements in _split_pages(body)
        ]
        for number, (is_note, elements) in enumerate(sources):
            self._record_ids(elements, f"p{number}", is_note)
        section = 0
        for number, (is_note, elements) in enumerate(sources):
            root = etree.Element("html")
            body = etree.SubElement(root, "body")
            section += element_name(elements[0]) == "section" and not is_note
            body.set(
                SOURCE_ATTRIBUTE, f"{self.name}, {'notes' if is_note else f'section {section}'}"
            )
            page = f"p{number}"
            append_text(body, None if is_note or number else self._stray_text())
            for element in elements:
                if is_note:
                    self._write_note(element, body)
                else:
                    self._write_block(element, body, 1)
                    self.contents += self._contents_entries(element, page)
            self.pages.append(SourcePage(page, root))

    def _record_ids(self, elements: Sequence[etree._Element], page: str, is_note: bool) -> None:
        """Records the ids on a page, and which of them belong to notes."""
        for descendant in (e for element in elements for e in element.iter("{*}*")):
            if element_id := descendant.get("id"):
                self.pages_by_id.setdefault(element_id, page)
                if is_note:
                    self.note_ids.add(element_id)

    def _stray_text(self) -> str:
        """Returns text in bodies before their first elements, where none should be."""
        bodies = (element for element in self.root if element_name(element) == "body")
        return " ".join(body.text or "" for body in bodies if not _is_notes(body))

    def _contents_entries(self, element: etree._Element, page: str) -> Iterator[TocEntry]:
        """Yields the titles of a section and its subsections as entries of a table of contents."""
        if element_name(element) != "section":
            return
        inner_entries = tuple(
            entry for child in element for entry in self._contents_entries(child, page)
        )
        title = next((child for child in element if element_name(child) == "title"), None)
        title_text = "" if title is None else text_in(title)
        if title_text:
            yield TocEntry(title_text, page, element.get("id", ""), inner_entries)
        else:
            yield from inner_entries

    def _write_note(self, element: etree._Element, parent: etree._Element) -> None:
        """Writes a note, or a section that contains notes."""
        holds_notes = any(element_name(child) == "section" for child in element)
        if element_name(element) == "section" and not holds_notes:
            container = etree.SubElement(parent, "aside", id=element.get("id", ""))
            container.set(_EPUB_TYPE, "footnote")
            self._write_blocks(element, container, _NOTE_DEPTH)
        elif element_name(element) in ("section", "body"):
            container = etree.SubElement(parent, "div")
            append_text(container, element.text)
            for child in element:
                self._write_note(child, container)
        else:
            container = etree.SubElement(parent, "div")
            container.set(OMISSION_ATTRIBUTE, "note")
            self._write_block(element, container, _NOTE_DEPTH)
            return
        if element_name(element) != "body":
            append_text(parent, element.tail)

    def _write_block(self, element: etree._Element, parent: etree._Element, depth: int) -> None:
        """Writes a block element as XHTML; `depth` is that of the sections around it."""
        name = element_name(element)
        if name == "section":
            container = self._append_with_id(parent, "section", element)
            self._write_blocks(element, container, depth + 1)
        elif name == "title":
            self._write_title(element, parent, depth)
        elif name == "subtitle":
            self._write_subtitle(element, parent, depth)
        elif name == "empty-line":
            etree.SubElement(parent, "p").text = "\xa0"
        elif name == "epigraph":
            container = self._append_with_id(parent, "div", element)
            container.set(_EPUB_TYPE, "epigraph")
            self._write_blocks(element, container, depth)
        elif name == "stanza":
            container = self._append_with_id(parent, "div", element)
            container.set("class", "stanza")
            self._write_blocks(element, container, depth)
        elif name in ("cite", "poem", "table", "tr", "annotation"):
            self._write_blocks(element, self._append_with_id(parent, _BLOCK[name], element), depth)
        elif name in _BLOCK:
            self._write_inline(element, self._append_with_id(parent, _BLOCK[name], element))
        else:
            self._write_inline_element(element, parent)
        append_text(parent, element.tail)

    def _append_with_id(
        self, parent: etree._Element, name: str, element: etree._Element
    ) -> etree._Element:
        """Appends a child of this name, with the id of a source element."""
        child = etree.SubElement(parent, name)
        if element_id := element.get("id"):
            child.set("id", element_id)
        return child

    def _write_blocks(self, element: etree._Element, parent: etree._Element, depth: int) -> None:
        append_text(parent, element.text)
        for child in element:
            if isinstance(child.tag, str):
                self._write_block(child, parent, depth)

    def _write_title(self, element: etree._Element, parent: etree._Element, depth: int) -> None:
        """Writes a title as a heading; in verse and notes as a line.

        The title of a body is left out, as the title page.
        """
        parent_name = element_name(element.getparent()) if element.getparent() is not None else ""
        if depth == _NOTE_DEPTH:
            heading = self._append_with_id(parent, "p", element)
        elif parent_name in ("poem", "stanza", "cite", "epigraph"):
            heading = etree.SubElement(etree.SubElement(parent, "p"), "strong")
        else:
            heading = self._append_with_id(parent, f"h{min(6, max(1, depth - 1))}", element)
            if parent_name == "body":
                heading.set(OMISSION_ATTRIBUTE, "title page")
        append_text(heading, element.text)
        for number, line in enumerate(e for e in element if isinstance(e.tag, str)):
            if number:
                etree.SubElement(heading, "br")
            self._write_inline(line, heading)
            append_text(heading, line.tail)

    def _write_subtitle(self, element: etree._Element, parent: etree._Element, depth: int) -> None:
        """Writes a subtitle as a heading within a section, or as a scene break."""
        text = " ".join("".join(element.itertext()).split())
        tag = "p" if not text or is_scene_break(text) else f"h{min(6, depth)}"
        self._write_inline(element, self._append_with_id(parent, tag, element))

    # -- inside a paragraph ------------------------------------------------------------------------

    def _write_inline(self, element: etree._Element, parent: etree._Element) -> None:
        append_text(parent, element.text)
        for child in element:
            if isinstance(child.tag, str):
                self._write_inline_element(child, parent)
                append_text(parent, child.tail)

    def _write_inline_element(self, element: etree._Element, parent: etree._Element) -> None:
        """Writes an inline element, a picture or a link."""
        name = element_name(element)
        if name == "image":
            etree.SubElement(parent, "img", alt=element.get("alt", ""))
            self._write_inline(element, parent)
        elif name == "a":
            self._write_link(element, parent)
        else:
            inline = self._append_with_id(parent, _INLINE.get(name, "span"), element)
            if name == "style" and element.get("name"):
                inline.set("class", element.get("name", ""))
            self._write_inline(element, inline)

    def _write_link(self, element: etree._Element, parent: etree._Element) -> None:
        """Writes a link, to the page of its target if that is in the file."""
        target = href_of(element)
        target_id = target.removeprefix("#")
        link = self._append_with_id(parent, "a", element)
        is_note = target.startswith("#") and (
            element.get("type") == "note" or target_id in self.note_ids
        )
        if target.startswith("#") and target_id in self.pages_by_id:
            link.set("href", f"{self.pages_by_id[target_id]}#{target_id}")
        elif target:
            link.set("href", target)
        if is_note:
            link.set(_EPUB_TYPE, "noteref")
        self._write_inline(element, link)


def _is_notes(body: etree._Element) -> bool:
    return (body.get("name") or "").strip().lower() in _NOTE_BODY_NAMES


def _split_pages(body: etree._Element) -> Iterator[list[etree._Element]]:
    """Yields the elements of each page: a section, or what is between sections."""
    if _is_notes(body):
        yield [body]
        return
    loose_elements: list[etree._Element] = []
    for child in body:
        if not isinstance(child.tag, str):
            continue
        if element_name(child) != "section":
            loose_elements.append(child)
            continue
        if loose_elements:
            yield loose_elements
        loose_elements = []
        yield [child]
    if loose_elements:
        yield loose_elements
