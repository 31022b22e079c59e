"""Reads OpenDocument texts (.odt, and the flat .fodt).

Maps the text's XML to XHTML, style by style; headings are detected from the look of paragraphs
afterwards (`classify.py`). Comments, deleted text, tables of contents, headers and footers are left
out and listed. Pictures and objects are not opened.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lxml import etree

from manuscripts.book import Book, Choices, count_characters, word_set
from manuscripts.chapters import OFFICE
from manuscripts.errors import ImportFailed
from manuscripts.plaintext import read_data
from manuscripts.readers import markup
from manuscripts.readers.archive import Archive
from manuscripts.readers.elements import (
    INCOMPLETE_REASON,
    LANGUAGE_ATTRIBUTE,
    OMISSION_ATTRIBUTE,
    append_text,
    element_name,
)
from manuscripts.readers.facts import Metadata
from manuscripts.readers.office.classify import classify_paragraphs
from manuscripts.readers.office.looks import ParagraphLook
from manuscripts.readers.office.odf import OdfStyles, attribute_of
from manuscripts.readers.office.properties import (
    add_first_page,
    guessed_heading_remarks,
    metadata_of,
)
from manuscripts.readers.office.styles import Properties, append_run_elements, look_of
from manuscripts.readers.pages import Pages, SourcePage, read_pages
from textbase.errors import Problem

_SKIPPED = word_set(
    "change-info creator date creator-initials sender-initials binary-data forms script "
    "event-listeners sequence-decls variable-decls user-field-decls dde-connection-decls "
    "title desc"
)
"""Elements whose text is not part of the book and not listed either."""
_OMITTED_BLOCKS = {
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
"""Block elements that are left out, with the reason."""
_OMITTED_INLINE = {
    "annotation": "comment",
    "page-number": "page number",
    "page-count": "page number",
    "page-continuation": "page number",
    "ruby-text": "ruby annotation",
    "hidden-text": "hidden",
    "hidden-paragraph": "hidden",
}
_ROW_GROUPS = word_set("table-header-rows table-rows table-row-group")
_BLOCKS = word_set("p h list table section numbered-paragraph index-body index-title") | set(
    _OMITTED_BLOCKS
)
_SHAPES = word_set(
    "frame custom-shape rect ellipse circle line polyline polygon path regular-polygon connector "
    "measure caption g scene control page-thumbnail"
)
"""Drawn elements, and elements that contain them."""
_MATH = "http://www.w3.org/1998/Math/MathML"
_MAX_ELEMENTS = 300_000
"""Limit on the elements of a text. A long novel has 100,000."""
_HEADER_OR_FOOTER = "header or footer of a page"


def read_odt(path: Path, choices: Choices) -> Book:
    """Reads the book in an OpenDocument text. Raises ImportFailed, Slow."""
    remarks: list[str] = []
    if zipfile.is_zipfile(path):
        with Archive(path, "an OpenDocument text") as archive:
            parts = _read_parts(archive)
            remarks = archive.remarks
    else:
        root = _parse_flat_file(path)
        parts = _OdtParts(root, root, root)
    return read_pages(path, _build_pages(path, parts, remarks), choices)


@dataclass(frozen=True, slots=True)
class _OdtParts:
    content: etree._Element
    styles: etree._Element | None
    meta: etree._Element | None


def _read_parts(archive: Archive) -> _OdtParts:
    """Parses the parts of a zipped text. Raises ImportFailed for encrypted or broken files."""
    manifest = archive.find("META-INF/manifest.xml")
    if manifest and any(True for _ in archive.xml(manifest).iter("{*}encryption-data")):
        raise archive.failed("locked with a password; save it without one first")

    def part(name: str) -> etree._Element | None:
        """Parses a part; None if it is missing."""
        part_name = archive.find(name)
        if part_name is None:
            return None
        try:
            return markup.bounded_xml(archive.text(part_name))
        except markup.BadMarkup as error:
            raise archive.failed(str(error), part_name) from None

    content = part("content.xml")
    if content is None:
        raise archive.failed("not an OpenDocument text, or broken: it lacks content.xml")
    return _OdtParts(content, part("styles.xml"), part("meta.xml"))


def _parse_flat_file(path: Path) -> etree._Element:
    try:
        return markup.bounded_xml(markup.decode_markup(read_data(path))[0])
    except markup.BadMarkup as error:
        raise ImportFailed(Problem(path, None, f"not OpenDocument, or broken: {error}")) from None


def _build_pages(path: Path, parts: _OdtParts, remarks: list[str]) -> Pages:
    """Builds the main page, and pages for headers and footers."""
    text = next(parts.content.iter("{urn:oasis:names:tc:opendocument:xmlns:office:1.0}text"), None)
    if text is None:
        raise ImportFailed(Problem(path, None, "has no text; is it another OpenDocument file?"))
    if sum(1 for _ in text.iter()) > _MAX_ELEMENTS:
        raise ImportFailed(Problem(path, None, "has more elements than a book needs"))
    styles = OdfStyles([parts.content, *([] if parts.styles is None else [parts.styles])])
    metadata = _read_metadata(parts.meta)
    language = metadata.language or styles.default.language
    writer = _OdtWriter(styles, language)
    root = etree.Element("html")
    body = etree.SubElement(root, "body")
    writer.write_blocks(text, body)
    first_page = classify_paragraphs(body, writer.looks)
    if language:
        root.set(LANGUAGE_ATTRIBUTE, language)
    omitted_pages = list(_headers_and_footers(parts.styles))
    return Pages(
        [SourcePage("document", root), *omitted_pages],
        add_first_page(metadata, first_page),
        rules=OFFICE,
        characters=_count_visible(text) + sum(_count_visible(page.root) for page in omitted_pages),
        remarks=[*guessed_heading_remarks(first_page), *_unopened_objects_remark(text), *remarks],
    )


def _read_metadata(meta: etree._Element | None) -> Metadata:
    """Reads the metadata of `meta.xml`."""
    if meta is None:
        return Metadata()
    properties = next(meta.iter("{urn:oasis:names:tc:opendocument:xmlns:office:1.0}meta"), meta)

    def property_text(name: str) -> str:
        return " ".join((properties.findtext(f"{{*}}{name}") or "").split())

    author = property_text("initial-creator") or property_text("creator")
    return metadata_of(
        property_text("title"),
        author,
        property_text("language"),
        property_text("description"),
        property_text("subject"),
    )


def _headers_and_footers(styles: etree._Element | None) -> Iterator[SourcePage]:
    """Yields headers and footers, as pages outside of the reading order."""
    tags = [
        f"{{*}}{side}{variant}"
        for side in ("header", "footer")
        for variant in ("", "-left", "-first")
    ]
    for master_page in () if styles is None else styles.iter("{*}master-page"):
        for number, part in enumerate(master_page.iter(*tags), 1):
            root = etree.Element("html")
            paragraph = etree.SubElement(etree.SubElement(root, "body"), "p")
            paragraph.text = " ".join("".join(_visible_text(part)).split())
            if paragraph.text:
                name = (
                    f"{element_name(part)} {number} of "
                    f"{attribute_of(master_page, 'name') or 'pages'}"
                )
                yield SourcePage(name, root, _HEADER_OR_FOOTER)


def _visible_text(element: etree._Element) -> Iterator[str]:
    """Yields the text of an element and the alternative texts of its pictures."""
    name = element_name(element)
    if not name or name in _SKIPPED:
        return
    if name in _SHAPES:
        yield _alt_text(element)
    yield " " if name in _BLOCKS else ""
    yield element.text or ""
    for child in element:
        yield from _visible_text(child)
        yield child.tail or ""


def _alt_text(shape: etree._Element) -> str:
    """Returns title and description of a picture, a drawn shape or an object; "" for neither."""
    texts = [" ".join((shape.findtext(f"{{*}}{name}") or "").split()) for name in ("title", "desc")]
    return ": ".join(dict.fromkeys(filter(None, texts)))


def _unopened_objects_remark(text: etree._Element) -> Iterator[str]:
    """Yields a remark if a text has objects without alternative text, such as formulas."""
    objects = [
        child
        for frame in text.iter("{*}frame")
        for child in frame
        if element_name(child) == "object" and not len(child) and not _alt_text(frame)
    ]
    if objects:
        object_count = "1 object" if len(objects) == 1 else f"{len(objects)} objects"
        yield (
            f"{object_count} in the text (formulas, charts) not opened: "
            "see whether sentences are whole."
        )


def _count_visible(element: etree._Element) -> int:
    return sum(map(count_characters, _visible_text(element)))


def _space_count(source: etree._Element) -> int:
    """Returns how many spaces an `s` element stands for."""
    count = attribute_of(source, "c") or "1"
    return min(int(count), 80) if count.isdigit() and len(count) < 4 else 1


class _OdtWriter:
    """Writes the blocks of an OpenDocument text as XHTML."""

    def __init__(self, styles: OdfStyles, language: str | None) -> None:
        self.styles = styles
        self.language = language
        self.looks: dict[etree._Element, ParagraphLook] = {}
        self.notes = 0
        self.runs: list[tuple[int, Properties]] = []
        """Letter count and properties of the current paragraph's runs."""
        self.floating: list[etree._Element] = []
        """Text boxes anchored in the current paragraph, and its notes; they are placed after it."""
        self.starts_page = False
        self.lists: list[str] = []
        """Styles of the lists around the current element, outermost first."""

    # -- blocks ------------------------------------------------------------------------------------

    def write_blocks(self, source: etree._Element, parent: etree._Element) -> None:
        """Writes the children of `source` as blocks."""
        for child in source:
            name = element_name(child)
            if name in _SKIPPED or not name:
                continue
            if name in _OMITTED_BLOCKS:
                omitted = etree.SubElement(parent, "div")
                omitted.set(OMISSION_ATTRIBUTE, _OMITTED_BLOCKS[name])
                self.write_blocks(child, omitted)
            elif (write_block := _WRITERS.get(name)) is not None:
                write_block(self, child, parent)
            elif name in _SHAPES or name == "a":
                self._write_loose_shape(child, parent)
            else:
                self.write_blocks(child, parent)

    def _write_loose_shape(self, shape: etree._Element, parent: etree._Element) -> None:
        """Writes a shape between paragraphs as a paragraph of its own."""
        paragraph = etree.SubElement(parent, "p")
        self.write_inline_element(shape, paragraph, Properties())
        self._append_floating(parent)
        if not (paragraph.text or len(paragraph)):
            parent.remove(paragraph)

    def write_section(self, source: etree._Element, parent: etree._Element) -> None:
        if attribute_of(source, "display") in ("none", "condition"):
            parent = etree.SubElement(parent, "div")
            parent.set(OMISSION_ATTRIBUTE, "hidden")
        self.write_blocks(source, parent)

    def write_paragraph(self, source: etree._Element, parent: etree._Element) -> None:
        """Writes a paragraph or heading, and records its look."""
        properties = self.styles.paragraph_style(attribute_of(source, "style-name"))
        paragraph = etree.SubElement(parent, "p")
        self.runs = []
        starts_page, self.starts_page = self.starts_page or bool(properties.starts_page), False
        self.write_inline(source, paragraph, properties)
        level = properties.level
        if element_name(source) == "h":
            outline_level = attribute_of(source, "outline-level") or ""
            level = (
                int(outline_level) if outline_level.isdigit() and 0 < len(outline_level) < 3 else 1
            )
        look = look_of(properties, self.runs, starts_page)
        reason = "hidden" if properties.hidden else ""
        if properties.role == "toc":
            reason = "table of contents"
        self.looks[paragraph] = ParagraphLook(
            min(6, level or 0),
            look.role,
            look.centred,
            look.bold,
            look.size,
            starts_page,
            look.space_above,
            reason,
        )
        self.starts_page = self.styles.ends_page(attribute_of(source, "style-name"))
        self._append_floating(parent)

    def _append_floating(self, parent: etree._Element) -> None:
        """Appends text boxes and notes of the current paragraph."""
        floating, self.floating = self.floating, []
        parent.extend(floating)

    def write_list(self, source: etree._Element, parent: etree._Element) -> None:
        """Writes a list; one that contains headings, or shows no markers, as plain blocks."""
        style = attribute_of(source, "style-name") or (self.lists[-1] if self.lists else "")
        self.lists.append(style)
        list_tag = self.styles.list_kind(style, len(self.lists))
        if list_tag is None or any(element_name(e) == "h" for e in source.iter()):
            self.write_blocks(source, parent)
        else:
            list_element = etree.SubElement(parent, list_tag)
            for child in source:
                self.write_blocks(child, etree.SubElement(list_element, "li"))
        self.lists.pop()

    def write_table(self, source: etree._Element, parent: etree._Element) -> None:
        """Writes a table or a group of its rows."""
        table = parent if element_name(parent) == "table" else etree.SubElement(parent, "table")
        for child in source:
            name = element_name(child)
            if name in _ROW_GROUPS:
                self.write_table(child, table)
            elif name == "table-row":
                row = etree.SubElement(table, "tr")
                for cell in child:
                    self.write_blocks(cell, etree.SubElement(row, "td"))
            else:
                self.write_blocks(child, parent)

    # -- words -------------------------------------------------------------------------------------

    def write_inline(
        self, source: etree._Element, parent: etree._Element, properties: Properties
    ) -> None:
        """Writes the text of an element and of its children, with these text properties."""
        self._write_text(source.text, parent, properties)
        for child in source:
            self.write_inline_element(child, parent, properties)
            self._write_text(child.tail, parent, properties)

    def write_inline_element(
        self, source: etree._Element, parent: etree._Element, properties: Properties
    ) -> None:
        """Writes one element within a paragraph."""
        name = element_name(source)
        if not name or name in _SKIPPED:
            return
        if name == "s":
            self._write_text(" " * _space_count(source), parent, properties)
        elif name == "tab":
            self._write_text("\t", parent, properties)
        elif name == "line-break":
            etree.SubElement(parent, "br")
        elif name == "note":
            self._write_note(source, parent)
        elif name in _OMITTED_INLINE:
            omitted = etree.SubElement(parent, "span")
            omitted.set(OMISSION_ATTRIBUTE, _OMITTED_INLINE[name])
            append_text(omitted, " ".join("".join(_visible_text(source)).split()))
        elif name in _SHAPES:
            self._write_shape(source, parent)
        elif name in ("p", "h", "list", "table"):
            self._write_floating(source)
        elif name == "span":
            self.write_inline(
                source,
                parent,
                self.styles.text_style(attribute_of(source, "style-name")).with_base(properties),
            )
        elif name == "a":
            self._write_link(source, parent, properties)
        elif etree.QName(source).namespace == _MATH:
            self._omit_formula(source, parent)
        else:
            self.write_inline(source, parent, properties)

    def _write_link(
        self, source: etree._Element, parent: etree._Element, properties: Properties
    ) -> None:
        """Writes a link; addresses outside of the text are dropped."""
        link = etree.SubElement(parent, "a")
        href = source.get("{http://www.w3.org/1999/xlink}href", "")
        link.set("href", href if href.startswith("#") else "http:")
        self.write_inline(source, link, Properties(link=True).with_base(properties))

    def _write_text(self, text: str | None, parent: etree._Element, properties: Properties) -> None:
        """Writes text with its properties, and counts its letters for the paragraph's look."""
        if not text:
            return
        omission_reason = "hidden" if properties.hidden else ""
        if not text.isspace() and not omission_reason:
            self.runs.append((len("".join(text.split())), properties))
        is_plain = not (
            omission_reason or properties.bold or properties.italic or properties.underline
        ) and (properties.language in (None, self.language))
        if not is_plain:
            parent = append_run_elements(parent, properties, self.language, omission_reason)
        append_text(parent, text)

    def _write_note(self, source: etree._Element, parent: etree._Element) -> None:
        """Writes the reference to a note; the note itself is placed after the paragraph."""
        self.notes += 1
        link = etree.SubElement(parent, "a", href=f"#note-{self.notes}")
        link.set("class", "noteref")
        body = etree.Element("aside", id=f"note-{self.notes}")
        body.set("class", "footnote")
        for child in source:
            if element_name(child) == "note-citation":
                append_text(etree.SubElement(link, "sup"), "".join(child.itertext()))
            else:
                self._write_nested_blocks(child, body)
        self.floating.append(body)

    def _write_shape(self, source: etree._Element, parent: etree._Element) -> None:
        """Writes the alternative text of a picture, a shape or an object, and the text in it."""
        if alt := _alt_text(source):
            etree.SubElement(parent, "img", alt=alt)
        for child in source:
            if element_name(child) == "text-box":
                self._write_floating(child)
            elif element_name(child) not in ("image", *_SKIPPED):
                self.write_inline_element(child, parent, Properties())

    def _write_floating(self, source: etree._Element) -> None:
        """Writes the content of a text box, to be placed after the current paragraph."""
        container = etree.Element("div")
        if element_name(source) in _WRITERS:
            wrapper = etree.Element("box")
            parent = source.getparent()
            position = parent.index(source) if parent is not None else 0
            wrapper.append(source)
            self._write_nested_blocks(wrapper, container)
            if parent is not None:
                parent.insert(position, source)
        else:
            self._write_nested_blocks(source, container)
        self.floating.append(container)

    def _write_nested_blocks(self, source: etree._Element, parent: etree._Element) -> None:
        """Writes blocks inside a paragraph, and restores the paragraph's state afterwards."""
        paragraph_state = self.runs, self.floating, self.starts_page, self.lists
        self.runs, self.floating, self.starts_page, self.lists = [], [], False, []
        self.write_blocks(source, parent)
        self.runs, self.floating, self.starts_page, self.lists = paragraph_state

    def _omit_formula(self, source: etree._Element, parent: etree._Element) -> None:
        omitted = etree.SubElement(parent, "span")
        omitted.set(OMISSION_ATTRIBUTE, INCOMPLETE_REASON)
        append_text(omitted, " ".join("".join(_visible_text(source)).split()))


_WRITERS: Mapping[str, Callable[[_OdtWriter, etree._Element, etree._Element], None]] = {
    "p": _OdtWriter.write_paragraph,
    "h": _OdtWriter.write_paragraph,
    "list": _OdtWriter.write_list,
    "table": _OdtWriter.write_table,
    "section": _OdtWriter.write_section,
}
