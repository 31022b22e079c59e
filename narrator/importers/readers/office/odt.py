"""OpenDocument texts (.odt, and the flat .fodt) -> pages.

An own mapping of the text's XML to XHTML, style by style; how paragraphs look is judged after
(`judging.py`). Comments, deleted text, tables of contents, and what stands at the top and bottom of
pages, are left out and listed. Pictures and objects are not opened.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lxml import etree

from narrator.errors import ImportFailed, Problem
from narrator.importers.book import Book, Choices, count_characters, names
from narrator.importers.chapters import OFFICE
from narrator.importers.plaintext import read_data
from narrator.importers.readers import markup
from narrator.importers.readers.archive import Archive
from narrator.importers.readers.elements import INCOMPLETE, LANG, LEFT, name_of, say
from narrator.importers.readers.facts import Metadata
from narrator.importers.readers.office.judging import judge
from narrator.importers.readers.office.looks import ParagraphLook
from narrator.importers.readers.office.odf import OdfStyles, value_of
from narrator.importers.readers.office.properties import facts_of, guessed, taken
from narrator.importers.readers.office.styles import Properties, look_of, styled
from narrator.importers.readers.pages import Pages, SourcePage, read_pages

_SKIPPED = names(
    "change-info creator date creator-initials sender-initials binary-data forms script "
    "event-listeners sequence-decls variable-decls user-field-decls dde-connection-decls "
    "title desc"
)
"""Elements whose text is none of the book's."""
_LISTS = {
    "table-of-content": "table of contents",
    "alphabetical-index": "index",
    "illustration-index": "list of illustrations",
    "table-index": "list of tables",
    "object-index": "index",
    "user-index": "index",
    "bibliography": "bibliography",
    "tracked-changes": "deleted by a tracked change",
    "annotation": "comment",
}
"""Elements that are left out whole, and why."""
_INLINE_LEFT = {
    "annotation": "comment",
    "page-number": "page number",
    "page-count": "page number",
    "page-continuation": "page number",
    "ruby-text": "ruby annotation",
    "hidden-text": "hidden",
    "hidden-paragraph": "hidden",
}
_ROWS = names("table-header-rows table-rows table-row-group")
_BLOCKS = names("p h list table section numbered-paragraph index-body index-title") | set(_LISTS)
_SHAPES = names(
    "frame custom-shape rect ellipse circle line polyline polygon path regular-polygon connector "
    "measure caption g scene control page-thumbnail"
)
"""What is drawn, or holds what is."""
_MATH = "http://www.w3.org/1998/Math/MathML"
_ELEMENTS = 300_000
"""Elements of a text. A long novel has 100,000."""
_ASIDE = "header or footer of a page"


def read_odt(path: Path, choices: Choices) -> Book:
    """The book in an OpenDocument text. Raises ImportFailed, Slow."""
    remarks: list[str] = []
    if zipfile.is_zipfile(path):
        with Archive(path, "an OpenDocument text") as archive:
            parts = _parts(archive)
            remarks = archive.remarks
    else:
        root = _flat(path)
        parts = _OdtParts(root, root, root)
    return read_pages(path, _pages(path, parts, remarks), choices)


@dataclass(frozen=True, slots=True)
class _OdtParts:
    content: etree._Element
    styles: etree._Element | None
    meta: etree._Element | None


def _parts(archive: Archive) -> _OdtParts:
    manifest = archive.find("META-INF/manifest.xml")
    if manifest and any(True for _ in archive.xml(manifest).iter("{*}encryption-data")):
        raise archive.failed("locked with a password; save it without one first")

    def part(name: str) -> etree._Element | None:
        found = archive.find(name)
        if found is None:
            return None
        try:
            return markup.bounded_xml(archive.text(found))
        except markup.BadMarkup as error:
            raise archive.failed(str(error), found) from None

    content = part("content.xml")
    if content is None:
        raise archive.failed("not an OpenDocument text, or broken: it lacks content.xml")
    return _OdtParts(content, part("styles.xml"), part("meta.xml"))


def _flat(path: Path) -> etree._Element:
    try:
        return markup.bounded_xml(markup.text_of(read_data(path))[0])
    except markup.BadMarkup as error:
        raise ImportFailed(Problem(path, None, f"not OpenDocument, or broken: {error}")) from None


def _pages(path: Path, parts: _OdtParts, remarks: list[str]) -> Pages:
    text = next(parts.content.iter("{urn:oasis:names:tc:opendocument:xmlns:office:1.0}text"), None)
    if text is None:
        raise ImportFailed(Problem(path, None, "has no text; is it another OpenDocument file?"))
    if sum(1 for _ in text.iter()) > _ELEMENTS:
        raise ImportFailed(Problem(path, None, "has more elements than a book needs"))
    styles = OdfStyles([parts.content, *([] if parts.styles is None else [parts.styles])])
    facts = _facts(parts.meta)
    language = facts.language or styles.default.language
    writer = _OdtWriter(styles, language)
    root = etree.Element("html")
    body = etree.SubElement(root, "body")
    writer.blocks(text, body)
    said = judge(body, writer.looks)
    if language:
        root.set(LANG, language)
    asides = list(_asides(parts.styles))
    return Pages(
        [SourcePage("document", root), *asides],
        taken(facts, said),
        rules=OFFICE,
        characters=_characters(text) + sum(_characters(page.root) for page in asides),
        remarks=[*guessed(said), *_unopened(text), *remarks],
    )


def _facts(meta: etree._Element | None) -> Metadata:
    if meta is None:
        return Metadata()
    held = next(meta.iter("{urn:oasis:names:tc:opendocument:xmlns:office:1.0}meta"), meta)

    def said(what: str) -> str:
        return " ".join((held.findtext(f"{{*}}{what}") or "").split())

    author = said("initial-creator") or said("creator")
    return facts_of(said("title"), author, said("language"), said("description"), said("subject"))


def _asides(styles: etree._Element | None) -> Iterator[SourcePage]:
    """What stands at the top and bottom of pages."""
    kinds = [
        f"{{*}}{side}{end}" for side in ("header", "footer") for end in ("", "-left", "-first")
    ]
    for master in () if styles is None else styles.iter("{*}master-page"):
        for number, part in enumerate(master.iter(*kinds), 1):
            root = etree.Element("html")
            line = etree.SubElement(etree.SubElement(root, "body"), "p")
            line.text = " ".join("".join(_signs(part)).split())
            if line.text:
                name = f"{name_of(part)} {number} of {value_of(master, 'name') or 'pages'}"
                yield SourcePage(name, root, _ASIDE)


def _signs(element: etree._Element) -> Iterator[str]:
    """The words of an element, and what is said of its pictures."""
    name = name_of(element)
    if not name or name in _SKIPPED:
        return
    if name in _SHAPES:
        yield _alt(element)
    yield " " if name in _BLOCKS else ""
    yield element.text or ""
    for child in element:
        yield from _signs(child)
        yield child.tail or ""


def _alt(shape: etree._Element) -> str:
    """The title and the description of a picture, a drawn shape or an object."""
    texts = [" ".join((shape.findtext(f"{{*}}{name}") or "").split()) for name in ("title", "desc")]
    return ": ".join(dict.fromkeys(filter(None, texts)))


def _unopened(text: etree._Element) -> Iterator[str]:
    """A remark on objects in a text that say nothing of themselves, as formulas do not."""
    objects = [
        one
        for frame in text.iter("{*}frame")
        for one in frame
        if name_of(one) == "object" and not len(one) and not _alt(frame)
    ]
    if objects:
        which = "1 object" if len(objects) == 1 else f"{len(objects)} objects"
        yield f"{which} in the text (formulas, charts) not opened: see whether sentences are whole."


def _characters(element: etree._Element) -> int:
    return sum(map(count_characters, _signs(element)))


def _spaces(source: etree._Element) -> int:
    """How many spaces an element stands for."""
    count = value_of(source, "c") or "1"
    return min(int(count), 80) if count.isdigit() and len(count) < 4 else 1


class _OdtWriter:
    """Writes the blocks of an OpenDocument text as XHTML."""

    def __init__(self, styles: OdfStyles, language: str | None) -> None:
        self.styles = styles
        self.language = language
        self.looks: dict[etree._Element, ParagraphLook] = {}
        self.notes = 0
        self.shown: list[tuple[int, Properties]] = []
        """Letters and properties of the runs of the paragraph in hand."""
        self.floating: list[etree._Element] = []
        """Boxes that are anchored in the paragraph in hand, and its notes; they follow it."""
        self.page = False
        self.lists: list[str] = []
        """Styles of the lists around what is in hand."""

    # -- blocks ------------------------------------------------------------------------------------

    def blocks(self, source: etree._Element, into: etree._Element) -> None:
        """Write what stands in `source`."""
        for child in source:
            name = name_of(child)
            if name in _SKIPPED or not name:
                continue
            if name in _LISTS:
                held = etree.SubElement(into, "div")
                held.set(LEFT, _LISTS[name])
                self.blocks(child, held)
            elif (write := _WRITERS.get(name)) is not None:
                write(self, child, into)
            elif name in _SHAPES or name == "a":
                self._floated(child, into)
            else:
                self.blocks(child, into)

    def _floated(self, shape: etree._Element, into: etree._Element) -> None:
        """What is drawn between paragraphs."""
        line = etree.SubElement(into, "p")
        self.inside(shape, line, Properties())
        self._place(into)
        if not (line.text or len(line)):
            into.remove(line)

    def section(self, source: etree._Element, into: etree._Element) -> None:
        if value_of(source, "display") in ("none", "condition"):
            into = etree.SubElement(into, "div")
            into.set(LEFT, "hidden")
        self.blocks(source, into)

    def paragraph(self, source: etree._Element, into: etree._Element) -> None:
        base = self.styles.paragraph(value_of(source, "style-name"))
        line = etree.SubElement(into, "p")
        self.shown = []
        page, self.page = self.page or bool(base.page), False
        self.inline(source, line, base)
        level = base.level
        if name_of(source) == "h":
            said = value_of(source, "outline-level") or ""
            level = int(said) if said.isdigit() and 0 < len(said) < 3 else 1
        look = look_of(base, self.shown, page)
        why = "table of contents" if base.role == "toc" else "hidden" if base.hidden else ""
        self.looks[line] = ParagraphLook(
            min(6, level or 0), look.role, look.centred, look.bold, look.size, page, look.space, why
        )
        self.page = self.styles.ends_page(value_of(source, "style-name"))
        self._place(into)

    def _place(self, into: etree._Element) -> None:
        """Put what floats below the paragraph."""
        floating, self.floating = self.floating, []
        into.extend(floating)

    def list(self, source: etree._Element, into: etree._Element) -> None:
        style = value_of(source, "style-name") or (self.lists[-1] if self.lists else "")
        self.lists.append(style)
        kind = self.styles.list_kind(style, len(self.lists))
        if kind is None or any(name_of(e) == "h" for e in source.iter()):
            self.blocks(source, into)
        else:
            held = etree.SubElement(into, kind)
            for child in source:
                self.blocks(child, etree.SubElement(held, "li"))
        self.lists.pop()

    def table(self, source: etree._Element, into: etree._Element) -> None:
        held = into if name_of(into) == "table" else etree.SubElement(into, "table")
        for child in source:
            name = name_of(child)
            if name in _ROWS:
                self.table(child, held)
            elif name == "table-row":
                row = etree.SubElement(held, "tr")
                for cell in child:
                    self.blocks(cell, etree.SubElement(row, "td"))
            else:
                self.blocks(child, into)

    # -- words -------------------------------------------------------------------------------------

    def inline(self, source: etree._Element, into: etree._Element, said: Properties) -> None:
        """Write the words of an element, and of those in it."""
        self._say(source.text, into, said)
        for child in source:
            self.inside(child, into, said)
            self._say(child.tail, into, said)

    def inside(self, source: etree._Element, into: etree._Element, said: Properties) -> None:
        """Write one element within a paragraph."""
        name = name_of(source)
        if not name or name in _SKIPPED:
            return
        if name == "s":
            self._say(" " * _spaces(source), into, said)
        elif name == "tab":
            self._say("\t", into, said)
        elif name == "line-break":
            etree.SubElement(into, "br")
        elif name == "note":
            self._note(source, into)
        elif name in _INLINE_LEFT:
            held = etree.SubElement(into, "span")
            held.set(LEFT, _INLINE_LEFT[name])
            say(held, " ".join("".join(_signs(source)).split()))
        elif name in _SHAPES:
            self._shape(source, into)
        elif name in ("p", "h", "list", "table"):
            self._float(source)
        elif name == "span":
            self.inline(source, into, self.styles.words(value_of(source, "style-name")).over(said))
        elif name == "a":
            self._link(source, into, said)
        elif etree.QName(source).namespace == _MATH:
            self._leave_formula(source, into)
        else:
            self.inline(source, into, said)

    def _link(self, source: etree._Element, into: etree._Element, said: Properties) -> None:
        link = etree.SubElement(into, "a")
        href = source.get("{http://www.w3.org/1999/xlink}href", "")
        link.set("href", href if href.startswith("#") else "http:")
        self.inline(source, link, Properties(link=True).over(said))

    def _say(self, text: str | None, into: etree._Element, said: Properties) -> None:
        if not text:
            return
        left = "hidden" if said.hidden else ""
        if not text.isspace() and not left:
            self.shown.append((len("".join(text.split())), said))
        plain = not (left or said.bold or said.italic or said.underline) and (
            said.language in (None, self.language)
        )
        say(into if plain else styled(into, said, self.language, left), text)

    def _note(self, source: etree._Element, into: etree._Element) -> None:
        self.notes += 1
        link = etree.SubElement(into, "a", href=f"#note-{self.notes}")
        link.set("class", "noteref")
        body = etree.Element("aside", id=f"note-{self.notes}")
        body.set("class", "footnote")
        for child in source:
            if name_of(child) == "note-citation":
                say(etree.SubElement(link, "sup"), "".join(child.itertext()))
            else:
                self._apart(child, body)
        self.floating.append(body)

    def _shape(self, source: etree._Element, into: etree._Element) -> None:
        """Write what is said of a picture, a shape or an object, and the paragraphs in it."""
        if alt := _alt(source):
            etree.SubElement(into, "img", alt=alt)
        for child in source:
            if name_of(child) == "text-box":
                self._float(child)
            elif name_of(child) not in ("image", *_SKIPPED):
                self.inside(child, into, Properties())

    def _float(self, source: etree._Element) -> None:
        """Write what a box holds, below the paragraph in hand."""
        held = etree.Element("div")
        if name_of(source) in _WRITERS:
            whole = etree.Element("box")
            parent = source.getparent()
            place = parent.index(source) if parent is not None else 0
            whole.append(source)
            self._apart(whole, held)
            if parent is not None:
                parent.insert(place, source)
        else:
            self._apart(source, held)
        self.floating.append(held)

    def _apart(self, source: etree._Element, into: etree._Element) -> None:
        """Write blocks within a paragraph, which goes on after them."""
        kept = self.shown, self.floating, self.page, self.lists
        self.shown, self.floating, self.page, self.lists = [], [], False, []
        self.blocks(source, into)
        self.shown, self.floating, self.page, self.lists = kept

    def _leave_formula(self, source: etree._Element, into: etree._Element) -> None:
        held = etree.SubElement(into, "span")
        held.set(LEFT, INCOMPLETE)
        say(held, " ".join("".join(_signs(source)).split()))


_WRITERS: Mapping[str, Callable[[_OdtWriter, etree._Element, etree._Element], None]] = {
    "p": _OdtWriter.paragraph,
    "h": _OdtWriter.paragraph,
    "list": _OdtWriter.list,
    "table": _OdtWriter.table,
    "section": _OdtWriter.section,
}
