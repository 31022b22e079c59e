"""Reads OpenDocument texts (.odt, and the flat .fodt).

Maps the text's XML to XHTML, style by style; headings are detected from the look of paragraphs
afterwards (`classify.py`). Comments, deleted text, tables of contents, headers and footers are left
out and listed. Pictures and objects are not opened.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from lxml import etree

from manuscripts.book import Book, Choices, count_characters, word_set
from manuscripts.errors import ImportFailed
from manuscripts.plaintext import read_data
from manuscripts.readers import markup
from manuscripts.readers.archive import Archive
from manuscripts.readers.elements import (
    INCOMPLETE_REASON,
    OMISSION_ATTRIBUTE,
    element_name,
)
from manuscripts.readers.office.document import (
    build_pages,
    metadata_of,
    properties_of,
    side_page,
)
from manuscripts.readers.office.odf import OdfStyles, attribute_of
from manuscripts.readers.office.styles import NO_PROPERTIES, Properties
from manuscripts.readers.office.writer import MAX_ELEMENTS, TextWriter
from manuscripts.readers.pages import Pages, SourcePage, read_pages
from textbase.errors import Problem

_SKIPPED = word_set(
    "change-info creator date creator-initials sender-initials binary-data forms script "
    "event-listeners sequence-decls variable-decls user-field-decls dde-connection-decls "
    "title desc index-title-template index-entry-span"
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
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"


def read_odt(path: Path, choices: Choices) -> Book:
    """Reads the book in an OpenDocument text. Raises ImportFailed, SlowPattern."""
    if zipfile.is_zipfile(path):
        with Archive(path, "an OpenDocument text") as archive:
            content, styles, meta = _read_parts(archive)
            remarks = archive.remarks
    else:
        content = styles = meta = _parse_flat_file(path)
        remarks = []
    return read_pages(path, _build_pages(path, content, styles, meta, remarks), choices)


def _read_parts(archive: Archive) -> list[etree._Element]:
    """Parses the parts of a zipped text. Raises ImportFailed for encrypted or broken files."""
    manifest = archive.find("META-INF/manifest.xml")
    if manifest and archive.xml(manifest).find(".//{*}encryption-data") is not None:
        raise archive.failed("locked with a password; save it without one first")
    names = [archive.find(name) for name in ("content.xml", "styles.xml", "meta.xml")]
    if names[0] is None:
        raise archive.failed("not an OpenDocument text, or broken: it lacks content.xml")
    return [archive.bounded_xml(name) if name else etree.Element("missing") for name in names]


def _parse_flat_file(path: Path) -> etree._Element:
    try:
        return markup.bounded_xml(markup.decode_markup(read_data(path))[0])
    except markup.BadMarkup as error:
        raise ImportFailed(Problem(path, None, f"not OpenDocument, or broken: {error}")) from None


def _build_pages(
    path: Path,
    content: etree._Element,
    styles: etree._Element,
    meta: etree._Element,
    remarks: list[str],
) -> Pages:
    """Builds the main page, and pages for headers and footers."""
    text = next(content.iter(f"{_OFFICE}text"), None)
    if text is None:
        raise ImportFailed(Problem(path, None, "has no text; is it another OpenDocument file?"))
    if sum(1 for _ in text.iter()) > MAX_ELEMENTS:
        raise ImportFailed(Problem(path, None, "has more elements than a book needs"))
    sheet = OdfStyles([content, styles])
    writer = _OdtWriter(sheet)
    writer.write_blocks(text, writer.body)
    side_pages = list(_headers_and_footers(styles))
    return build_pages(
        path,
        writer,
        metadata_of(properties_of(next(meta.iter(f"{_OFFICE}meta"), meta))),
        default_language=sheet.default.language,
        side_pages=side_pages,
        character_count=sum(map(_count_visible, (text, *(page.root for page in side_pages)))),
        remarks=[*_unopened_objects_remark(text), *remarks],
    )


def _headers_and_footers(styles: etree._Element) -> Iterator[SourcePage]:
    """Yields headers and footers, as pages outside of the reading order."""
    tags = [
        f"{{*}}{side}{variant}"
        for side in ("header", "footer")
        for variant in ("", "-left", "-first")
    ]
    for master_page in styles.iter("{*}master-page"):
        for number, part in enumerate(master_page.iter(*tags), 1):
            if text := "".join(_visible_text(part)).strip():
                page_name = attribute_of(master_page, "name") or "pages"
                name = f"{element_name(part)} {number} of {page_name}"
                yield side_page(name, text, "header or footer of a page")


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


class _OdtWriter(TextWriter):
    """Writes the blocks of an OpenDocument text."""

    def __init__(self, styles: OdfStyles) -> None:
        super().__init__()
        self._styles = styles
        self._properties = NO_PROPERTIES
        """Properties of the current words."""
        self._lists: list[str] = []
        """Styles of the lists around the current element, outermost first."""

    # -- blocks ------------------------------------------------------------------------------------

    def write_blocks(self, source: etree._Element, parent: etree._Element) -> None:
        """Writes the children of `source` as blocks."""
        for child in source:
            name = element_name(child)
            if name in _OMITTED_BLOCKS:
                reason = _OMITTED_BLOCKS[name]
                self.write_blocks(
                    child, etree.SubElement(parent, "div", {OMISSION_ATTRIBUTE: reason})
                )
            elif (write_block := _BLOCK_WRITERS.get(name)) is not None:
                write_block(self, child, parent)
            elif name in _SHAPES or name == "a":
                self._write_inline(child)
                self.close_paragraph(parent)
            elif name and name not in _SKIPPED:
                self.write_blocks(child, parent)

    def _write_section(self, source: etree._Element, parent: etree._Element) -> None:
        if attribute_of(source, "display") in ("none", "condition"):
            parent = etree.SubElement(parent, "div", {OMISSION_ATTRIBUTE: "hidden"})
        self.write_blocks(source, parent)

    def _write_paragraph(self, source: etree._Element, parent: etree._Element) -> None:
        """Writes a paragraph or heading."""
        style_name = attribute_of(source, "style-name")
        properties = self._styles.paragraph_style(style_name)
        if element_name(source) == "h":
            level = attribute_of(source, "outline-level") or ""
            is_level = level.isdigit() and 0 < len(level) < 3
            properties = replace(properties, level=int(level) if is_level else 1)
        self._write_children(source, properties)
        self.text.breaks_page_after = self._styles.ends_page(style_name)
        self.end_paragraph(parent, properties)

    def _write_list(self, source: etree._Element, parent: etree._Element) -> None:
        """Writes a list; one that contains headings, or shows no markers, as plain blocks."""
        style = attribute_of(source, "style-name") or (self._lists[-1] if self._lists else "")
        self._lists.append(style)
        list_tag = self._styles.list_kind(style, len(self._lists))
        if list_tag is None or any(element_name(e) == "h" for e in source.iter()):
            self.write_blocks(source, parent)
        else:
            list_element = etree.SubElement(parent, list_tag)
            for child in source:
                self.write_blocks(child, etree.SubElement(list_element, "li"))
        self._lists.pop()

    def _write_table(self, source: etree._Element, parent: etree._Element) -> None:
        """Writes a table or a group of its rows."""
        table = parent if parent.tag == "table" else etree.SubElement(parent, "table")
        for child in source:
            name = element_name(child)
            if name in _ROW_GROUPS:
                self._write_table(child, table)
            elif name == "table-row":
                row = etree.SubElement(table, "tr")
                for cell in child:
                    self.write_blocks(cell, etree.SubElement(row, "td"))
            else:
                self.write_blocks(child, parent)

    # -- words -------------------------------------------------------------------------------------

    def _write_children(self, source: etree._Element, properties: Properties) -> None:
        """Writes the words of an element and its children, with these properties."""
        outer_properties, self._properties = self._properties, properties
        self._write_words(source.text)
        for child in source:
            self._write_inline(child)
            self._write_words(child.tail)
        self._properties = outer_properties

    def _write_words(self, words: str | None) -> None:
        if words:
            self.add_text(words, self._properties, "hidden" if self._properties.hidden else "")

    def _write_inline(self, source: etree._Element) -> None:
        """Writes an element within a paragraph; an unknown one by what is in it."""
        name = element_name(source)
        if not name or name in _SKIPPED:
            return
        if (write_inline := _INLINE_WRITERS.get(name)) is not None:
            write_inline(self, source)
        elif name in _OMITTED_INLINE or etree.QName(source).namespace == _MATH:
            reason = _OMITTED_INLINE.get(name, INCOMPLETE_REASON)
            self.add_omitted("".join(_visible_text(source)), reason)
        else:
            self._write_children(source, self._properties)

    def _write_spaces(self, source: etree._Element) -> None:
        count = attribute_of(source, "c") or "1"
        is_number = count.isdigit() and len(count) < 4
        self._write_words(" " * (min(int(count), 80) if is_number else 1))

    def _write_span(self, source: etree._Element) -> None:
        style = self._styles.text_style(attribute_of(source, "style-name"))
        self._write_children(source, style.with_base(self._properties))

    def _write_link(self, source: etree._Element) -> None:
        """Writes a link; addresses outside of the text are dropped."""
        href = source.get("{http://www.w3.org/1999/xlink}href", "")
        self.open_link(href if href.startswith("#") else "http:")
        self._write_children(source, replace(self._properties, link=True))
        self.close_link()

    def _write_note(self, source: etree._Element) -> None:
        """Writes a note below the paragraph, and its mark in it."""
        citation = source.find("{*}note-citation")
        self.open_note("" if citation is None else "".join(citation.itertext()))
        for child in source:
            if child is not citation:
                self._write_text(child)
        self.close_text()

    def _write_shape(self, source: etree._Element) -> None:
        """Writes the alternative text of a picture, a shape or an object, and the text in it."""
        if alt := _alt_text(source):
            self.add_picture(alt)
        for child in source:
            if element_name(child) == "text-box":
                self._write_box(child)
            elif element_name(child) != "image":
                self._write_inline(child)

    def _write_box(self, source: etree._Element) -> None:
        """Writes blocks in a paragraph, to be placed below it."""
        self.open_float("div")
        self._write_text(source)
        self.close_text()

    def _write_text(self, source: etree._Element) -> None:
        """Writes the blocks of a text that was opened."""
        outer = self._lists, self._properties
        self._lists, self._properties = [], NO_PROPERTIES
        write_block = _BLOCK_WRITERS.get(element_name(source), _OdtWriter.write_blocks)
        write_block(self, source, self.text.container)
        self._lists, self._properties = outer


_BLOCK_WRITERS: Mapping[str, Callable[[_OdtWriter, etree._Element, etree._Element], None]] = {
    "p": _OdtWriter._write_paragraph,
    "h": _OdtWriter._write_paragraph,
    "list": _OdtWriter._write_list,
    "table": _OdtWriter._write_table,
    "section": _OdtWriter._write_section,
}
_INLINE_WRITERS: Mapping[str, Callable[[_OdtWriter, etree._Element], None]] = {
    "s": _OdtWriter._write_spaces,
    "tab": lambda writer, source: writer._write_words("\t"),
    "line-break": lambda writer, source: writer.add_break(),
    "note": _OdtWriter._write_note,
    "span": _OdtWriter._write_span,
    "a": _OdtWriter._write_link,
    **dict.fromkeys(_SHAPES, _OdtWriter._write_shape),
    **dict.fromkeys(("p", "h", "list", "table"), _OdtWriter._write_box),
}
