"""FictionBook 2 (FB2), plain or zipped -> pages: each section of the text is one.

Knows sections, titles, notes and verse of the format, and that many files are not well-formed.
Pictures are left where they are, but for the cover.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

from lxml import etree

from narrator.errors import ImportFailed, Problem
from narrator.importers.book import (
    Book,
    Choices,
    count_characters,
    file_name,
    names,
)
from narrator.importers.encoding import NoText, decode
from narrator.importers.plaintext import read_data
from narrator.importers.prose import is_scene_break
from narrator.importers.readers import markup
from narrator.importers.readers.archive import Archive
from narrator.importers.readers.elements import LEFT, SOURCE, name_of, say
from narrator.importers.readers.facts import TocEntry
from narrator.importers.readers.pages import Pages, SourcePage, read_pages
from narrator.importers.readers.web.fb2facts import (
    cover_in,
    facts_of_book,
    href_of,
    said_in,
    without_pictures,
)
from narrator.importers.readers.web.fb2repair import well_formed

_TYPE = "{http://www.idpf.org/2007/ops}type"
_BODY = re.compile(r"<body\b.*?</body\s*>", re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")
_ALT = re.compile(r"<(?:\w+:)?image\b[^<>]*?\salt\s*=\s*(?:\"([^\"<>]*)\"|'([^'<>]*)')")
_NOTES = names("notes comments footnotes endnotes note comment")
_DEEPEST = 99
"""The depth that notes have, whose titles are no headings."""
_INLINE = {
    "strong": "strong", "emphasis": "em", "strikethrough": "span", "sub": "sub", "sup": "sup",
    "code": "code", "style": "span",
}  # fmt: skip
_BLOCK = {
    "p": "p", "v": "p", "text-author": "p", "date": "p", "cite": "blockquote", "poem": "div",
    "table": "table", "tr": "tr", "td": "td", "th": "th", "annotation": "div",
}  # fmt: skip


def read_fictionbook(path: Path, choices: Choices) -> Book:
    """The book in a FictionBook file. Raises ImportFailed, Slow."""
    return _read(path, read_data(path), choices)


def read_fictionbook_archive(path: Path, choices: Choices) -> Book:
    """The book in a zipped FictionBook file. Raises ImportFailed, Slow."""
    with Archive(path, "a zipped FB2") as archive:
        found = [name for name in archive.names if name.lower().endswith(".fb2")]
        found = [name for name in found if not name.startswith("__MACOSX")] or found
        if len(found) > 1:
            what = f"holds {len(found):,} books; unpack it and import one of them"
            raise archive.failed(what)
        data = archive.read(found[0])
    return _read(path, data, choices)


def _read(path: Path, data: bytes, choices: Choices) -> Book:
    try:
        whole, remarks = _text(data, choices.encoding)
        text, root, told = _root(without_pictures(whole))
    except markup.BadMarkup as error:
        raise ImportFailed(Problem(path, None, str(error))) from None
    remarks += told
    book = _FictionBook(root, file_name(path))
    book.read()
    cover, told = cover_in(whole, root)
    return read_pages(
        path,
        Pages(
            book.pages,
            facts_of_book(root),
            book.contents,
            characters=_count(text),
            cover=cover,
            remarks=[*remarks, *told],
        ),
        choices,
    )


def _text(data: bytes, encoding: str | None) -> tuple[str, list[str]]:
    """The text of a file, and what is odd about its encoding. Raises BadMarkup, ImportFailed."""
    if encoding is None:
        try:
            text, told = markup.text_of(data)
        except markup.BadMarkup:
            pass
        else:
            return text, [f"The file {told}"] if told else []
    try:
        decoded = decode(data, encoding)
    except NoText as error:
        raise markup.BadMarkup(str(error)) from None
    return decoded.text, [decoded.remark] if decoded.remark else []


def _root(text: str) -> tuple[str, etree._Element, list[str]]:
    """A file's text and root, and a remark if it is not well-formed. Raises BadMarkup."""
    told = []
    try:
        root = markup.xml_of(text)
    except markup.BadMarkup as error:
        text = well_formed(markup.safe(text))
        root = markup.xml_of(text)
        told = [f"The file is {error}; it was read as well as it can be: look at its chapters."]
    markup.check_depth(root)
    if name_of(root) != "fictionbook":
        raise markup.BadMarkup(f"no FB2, but <{name_of(root)}>")
    return text, root, told


def _count(text: str) -> int | None:
    """Visible characters of the text in all bodies, counted apart from the elements."""
    total = 0
    for body in _BODY.finditer(markup.safe(text)):
        inner = re.sub(r"<!--.*?-->|<\?.*?\?>", "", body[0], flags=re.DOTALL)
        alts = [a or b for a, b in _ALT.findall(inner)]
        written = _TAG.sub("", _CDATA.sub(lambda found: escape(found[1]), inner))
        total += sum(count_characters(_unescaped(piece)) for piece in (*alts, written))
    return total


_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)


def _unescaped(text: str) -> str:
    text = re.sub(r"&#(?:x([0-9A-Fa-f]{1,6})|(\d{1,7}));", _character, text)
    for name, sign in (("lt", "<"), ("gt", ">"), ("quot", '"'), ("apos", "'"), ("amp", "&")):
        text = text.replace(f"&{name};", sign)
    return text


def _character(found: re.Match[str]) -> str:
    code = int(found[1], 16) if found[1] else int(found[2])
    return chr(code) if code < 0x110000 else ""


# -- the text --------------------------------------------------------------------------------------


@dataclass(slots=True)
class _FictionBook:
    """The bodies of a file, which become pages."""

    root: etree._Element
    name: str
    pages: list[SourcePage] = field(default_factory=list)
    contents: list[TocEntry] = field(default_factory=list)
    places: dict[str, str] = field(default_factory=dict)
    """Ids -> the page that they are on."""
    notes: set[str] = field(default_factory=set)
    """Ids of notes."""

    def read(self) -> None:
        bodies = [element for element in self.root if name_of(element) == "body"]
        bodies.sort(key=_is_notes)
        for number, section in enumerate(self.root.iter("{*}section")):
            if not section.get("id"):
                section.set("id", f"section-{number}")
        sources = [(_is_notes(body), part) for body in bodies for part in _parts(body)]
        for number, (is_note, part) in enumerate(sources):
            self._find_places(part, f"p{number}", is_note)
        section = 0
        for number, (is_note, part) in enumerate(sources):
            root = etree.Element("html")
            body = etree.SubElement(root, "body")
            section += name_of(part[0]) == "section" and not is_note
            body.set(SOURCE, f"{self.name}, {'notes' if is_note else f'section {section}'}")
            page = f"p{number}"
            say(body, None if is_note or number else self._beginning())
            for element in part:
                if is_note:
                    self._note(element, body)
                else:
                    self._block(element, body, 1)
                    self.contents += self._entries(element, page)
            self.pages.append(SourcePage(page, root))

    def _find_places(self, part: Sequence[etree._Element], page: str, is_note: bool) -> None:
        """Write down what ids are on a page, and which are of notes."""
        for one in (e for element in part for e in element.iter("{*}*")):
            if key := one.get("id"):
                self.places.setdefault(key, page)
                if is_note:
                    self.notes.add(key)

    def _beginning(self) -> str:
        """What stands in bodies before their first elements, where nothing should."""
        bodies = (element for element in self.root if name_of(element) == "body")
        return " ".join(body.text or "" for body in bodies if not _is_notes(body))

    def _entries(self, element: etree._Element, page: str) -> Iterator[TocEntry]:
        """The titles of a section and those in it, as a table of contents."""
        if name_of(element) != "section":
            return
        inside = tuple(entry for child in element for entry in self._entries(child, page))
        title = next((child for child in element if name_of(child) == "title"), None)
        said = "" if title is None else said_in(title)
        if said:
            yield TocEntry(said, page, element.get("id", ""), inside)
        else:
            yield from inside

    def _note(self, element: etree._Element, parent: etree._Element) -> None:
        """A note, or what holds notes."""
        holds = any(name_of(child) == "section" for child in element)
        if name_of(element) == "section" and not holds:
            made = etree.SubElement(parent, "aside", id=element.get("id", ""))
            made.set(_TYPE, "footnote")
            self._blocks(element, made, _DEEPEST)
        elif name_of(element) in ("section", "body"):
            made = etree.SubElement(parent, "div")
            say(made, element.text)
            for child in element:
                self._note(child, made)
        else:
            made = etree.SubElement(parent, "div")
            made.set(LEFT, "note")
            self._block(element, made, _DEEPEST)
            return
        if name_of(element) != "body":
            say(parent, element.tail)

    def _block(self, element: etree._Element, parent: etree._Element, depth: int) -> None:
        """An element of blocks, as XHTML; `depth` is that of the sections around it."""
        name = name_of(element)
        if name == "section":
            made = self._made(parent, "section", element)
            self._blocks(element, made, depth + 1)
        elif name == "title":
            self._title(element, parent, depth)
        elif name == "subtitle":
            self._subtitle(element, parent, depth)
        elif name == "empty-line":
            etree.SubElement(parent, "p").text = "\xa0"
        elif name == "epigraph":
            made = self._made(parent, "div", element)
            made.set(_TYPE, "epigraph")
            self._blocks(element, made, depth)
        elif name == "stanza":
            made = self._made(parent, "div", element)
            made.set("class", "stanza")
            self._blocks(element, made, depth)
        elif name in ("cite", "poem", "table", "tr", "annotation"):
            self._blocks(element, self._made(parent, _BLOCK[name], element), depth)
        elif name in _BLOCK:
            self._spans(element, self._made(parent, _BLOCK[name], element))
        else:
            self._span(element, parent)
        say(parent, element.tail)

    def _made(self, parent: etree._Element, name: str, element: etree._Element) -> etree._Element:
        made = etree.SubElement(parent, name)
        if key := element.get("id"):
            made.set("id", key)
        return made

    def _blocks(self, element: etree._Element, made: etree._Element, depth: int) -> None:
        say(made, element.text)
        for child in element:
            if isinstance(child.tag, str):
                self._block(child, made, depth)

    def _title(self, element: etree._Element, parent: etree._Element, depth: int) -> None:
        """A heading, of the book where no section is around; in verse and notes a line."""
        around = name_of(element.getparent()) if element.getparent() is not None else ""
        if depth == _DEEPEST:
            made = self._made(parent, "p", element)
        elif around in ("poem", "stanza", "cite", "epigraph"):
            made = etree.SubElement(etree.SubElement(parent, "p"), "strong")
        else:
            made = self._made(parent, f"h{min(6, max(1, depth - 1))}", element)
            if around == "body":
                made.set(LEFT, "title page")
        say(made, element.text)
        for number, line in enumerate(e for e in element if isinstance(e.tag, str)):
            if number:
                etree.SubElement(made, "br")
            self._spans(line, made)
            say(made, line.tail)

    def _subtitle(self, element: etree._Element, parent: etree._Element, depth: int) -> None:
        """A heading within a section, or what parts scenes."""
        said = " ".join("".join(element.itertext()).split())
        shape = "p" if not said or is_scene_break(said) else f"h{min(6, depth)}"
        self._spans(element, self._made(parent, shape, element))

    # -- inside a paragraph ------------------------------------------------------------------------

    def _spans(self, element: etree._Element, made: etree._Element) -> None:
        say(made, element.text)
        for child in element:
            if isinstance(child.tag, str):
                self._span(child, made)
                say(made, child.tail)

    def _span(self, element: etree._Element, parent: etree._Element) -> None:
        name = name_of(element)
        if name == "image":
            etree.SubElement(parent, "img", alt=element.get("alt", ""))
            self._spans(element, parent)
        elif name == "a":
            self._link(element, parent)
        else:
            made = self._made(parent, _INLINE.get(name, "span"), element)
            if name == "style" and element.get("name"):
                made.set("class", element.get("name", ""))
            self._spans(element, made)

    def _link(self, element: etree._Element, parent: etree._Element) -> None:
        target = href_of(element)
        key = target.removeprefix("#")
        made = self._made(parent, "a", element)
        is_note = target.startswith("#") and (element.get("type") == "note" or key in self.notes)
        if target.startswith("#") and key in self.places:
            made.set("href", f"{self.places[key]}#{key}")
        elif target:
            made.set("href", target)
        if is_note:
            made.set(_TYPE, "noteref")
        self._spans(element, made)


def _is_notes(body: etree._Element) -> bool:
    return (body.get("name") or "").strip().lower() in _NOTES


def _parts(body: etree._Element) -> Iterator[list[etree._Element]]:
    """What becomes a page each: the sections of a body, and what stands between them."""
    if _is_notes(body):
        yield [body]
        return
    between: list[etree._Element] = []
    for child in body:
        if not isinstance(child.tag, str):
            continue
        if name_of(child) != "section":
            between.append(child)
            continue
        if between:
            yield between
        between = []
        yield [child]
    if between:
        yield between
