"""Reads Word documents (.docx, and the variants with macros or for templates).

Mammoth converts an archive in memory, with two parts and no picture, link or macro, to HTML. What
it would drop is turned into styles first (`wordml.py`); headings are detected from the look of
paragraphs afterwards (`classify.py`). Comments, headers and footers are left out and listed.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import mammoth
from lxml import etree

from manuscripts.book import Book, Choices, count_characters
from manuscripts.chapters import OFFICE
from manuscripts.readers import markup
from manuscripts.readers.archive import Archive
from manuscripts.readers.elements import LANGUAGE_ATTRIBUTE, OMISSION_ATTRIBUTE
from manuscripts.readers.facts import Metadata
from manuscripts.readers.office import wordml
from manuscripts.readers.office.classify import classify_paragraphs
from manuscripts.readers.office.looks import FirstPage, ParagraphLook
from manuscripts.readers.office.properties import (
    add_first_page,
    guessed_heading_remarks,
    metadata_of,
)
from manuscripts.readers.office.wordnumbers import HeadingNumbers
from manuscripts.readers.office.wordstyles import Styles, W, attribute_of, name_of
from manuscripts.readers.pages import Pages, SourcePage, read_pages

_STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"
_OMITTED_PARTS = {
    "comments": "comment",
    "header": "header or footer of a page",
    "footer": "header or footer of a page",
}
"""Parts that are left out, by the type of their relationship, with the reason."""
_BOOKMARK = re.compile(r"(p|i)-(\d+)")
_MAMMOTH_ERRORS = (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError)
"""Exceptions that mammoth raises on malformed markup."""
_MAX_UNREMARKED_STRUCK = 40
"""Struck-through characters that are not worth a remark."""
_MAX_ELEMENTS = 300_000
"""Limit on the elements passed to mammoth, each of which takes a kilobyte or two."""


def read_docx(path: Path, choices: Choices) -> Book:
    """Reads the book in a Word document. Raises ImportFailed, Slow."""
    with Archive(path, "a Word document") as archive:
        word_parts = _WordParts(archive)
        pages = _build_pages(archive, word_parts)
    return read_pages(path, pages, choices)


class _WordParts:
    """The parts of a Word document, located through their relationships."""

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self.main = self._find_main()
        self._names_by_type: dict[str, list[str]] = {}
        """Names of parts by the type of their relationship."""
        for relationship_type, name in self._relationships(self.main):
            self._names_by_type.setdefault(relationship_type, []).append(name)

    def _find_main(self) -> str:
        """Returns the name of the main document part. Raises ImportFailed if there is none."""
        main_names = [
            name
            for relationship_type, name in self._relationships("")
            if relationship_type == "officeDocument"
        ]
        for name in (*main_names, "word/document.xml"):
            if part_name := self.archive.find(name):
                return part_name
        raise self.archive.failed("not a Word document, or broken: it lacks word/document.xml")

    def _relationships(self, part: str) -> Iterator[tuple[str, str]]:
        """Yields type and target of a part's internal relationships; "" is the package itself."""
        folder, name = posixpath.split(part)
        rels_name = self.archive.find(posixpath.join(folder, "_rels", f"{name}.rels"))
        if rels_name is None:
            return
        for relationship in self.archive.xml(rels_name).iter("{*}Relationship"):
            if relationship.get("TargetMode") != "External":
                target = posixpath.normpath(
                    posixpath.join("/", folder, relationship.get("Target", ""))
                )
                yield relationship.get("Type", "").rpartition("/")[2], target.lstrip("/")

    def names(self, relationship_type: str) -> list[str]:
        """Returns the names of the existing parts of a relationship type, without duplicates."""
        existing_names = (
            self.archive.find(name) for name in self._names_by_type.get(relationship_type, ())
        )
        return list(dict.fromkeys(name for name in existing_names if name))

    def xml(self, name: str) -> etree._Element:
        """Parses a part, with the strict namespace replaced by the usual one."""
        try:
            return markup.bounded_xml(self.archive.text(name), _STRICT, W)
        except markup.BadMarkup as error:
            raise self.archive.failed(str(error), name) from None

    def first_xml(self, relationship_type: str) -> etree._Element | None:
        """Parses the first part of a relationship type; None if there is none."""
        names = self.names(relationship_type)
        return self.xml(names[0]) if names else None


def _build_pages(archive: Archive, parts: _WordParts) -> Pages:
    """Builds the main page, and pages for comments, headers and footers."""
    styles = Styles(parts.first_xml("styles"))
    numbering = parts.first_xml("numbering")
    metadata = _read_metadata(archive)
    document = parts.xml(parts.main)
    notes = _note_parts(parts)
    omitted_parts = [
        (reason, parts.xml(name))
        for relationship_type, reason in _OMITTED_PARTS.items()
        for name in parts.names(relationship_type)
    ]
    characters = sum(map(_count_visible, (document, *notes, *(root for _, root in omitted_parts))))
    preparer = wordml.Preparer(styles, HeadingNumbers(numbering))
    body = next(document.iter(f"{{{W}}}body"), None)
    if body is None:
        raise archive.failed("broken: it has no body", parts.main)
    note_number_characters = _append_notes(body, notes)
    preparer.prepare(document)
    details = preparer.details
    language = metadata.language or details.language or styles.default.language
    if sum(1 for _ in document.iter()) > _MAX_ELEMENTS:
        raise archive.failed("has more elements than a book needs", parts.main)
    root = _convert_to_html(archive, _zip_parts(document, numbering), list(details.languages))
    first_page = classify_paragraphs(root[0], _resolve_markers(root, details, language or ""))
    if language:
        root.set(LANGUAGE_ATTRIBUTE, language)
    pages = [SourcePage("document", root)]
    pages += [
        SourcePage(f"{reason} {number}", _omitted_page(part), reason)
        for number, (reason, part) in enumerate(omitted_parts, 1)
    ]
    return Pages(
        pages,
        add_first_page(metadata, first_page),
        rules=OFFICE,
        characters=characters + note_number_characters + details.heading_number_characters,
        remarks=[*_list_remarks(details, first_page), *archive.remarks],
    )


# -- metadata --------------------------------------------------------------------------------------


def _read_metadata(archive: Archive) -> Metadata:
    """Returns the file's properties, without those that a program wrote."""
    properties_name = archive.find("docProps/core.xml")
    if properties_name is None:
        return Metadata()
    root = archive.xml(properties_name)

    def property_text(name: str) -> str:
        return " ".join((root.findtext(f"{{*}}{name}") or "").split())

    return metadata_of(
        property_text("title"),
        property_text("creator"),
        property_text("language"),
        property_text("description"),
        property_text("subject"),
    )


def _list_remarks(details: wordml.WordDetails, first_page: FirstPage) -> Iterator[str]:
    yield from guessed_heading_remarks(first_page)
    if details.struck_characters > _MAX_UNREMARKED_STRUCK:
        yield f"{details.struck_characters:,} characters are struck through; they are read."


# -- counted text, and parts outside of the text ---------------------------------------------------


def _visible_text(root: etree._Element) -> Iterator[str]:
    """Yields the text of a part and the alternative texts of its pictures, in document order."""
    name = name_of(root)
    if name in ("t", "delText"):
        yield root.text or ""
    elif name == "sym":
        yield wordml.symbol_text(root)
    elif name == "noBreakHyphen":
        yield "-"
    elif name in ("p", "br", "tab", "cr", "tr"):
        yield " "
    elif name in ("drawing", "pict", "object"):
        yield from wordml.alt_texts(root)
    elif name in ("rPr", "pPr", "tblPr", "tcPr"):
        return
    if name == "AlternateContent":
        alternative = wordml.preferred_alternative(root)
        yield from () if alternative is None else _visible_text(alternative)
        return
    for child in root:
        yield from _visible_text(child)


def _count_visible(root: etree._Element) -> int:
    """Counts the visible characters of a part; call it before the part is changed."""
    return sum(map(count_characters, _visible_text(root)))


def _omitted_page(part: etree._Element) -> etree._Element:
    """Returns the text of a part outside of the main text as an HTML page."""
    root = etree.Element("html")
    body = etree.SubElement(root, "body")
    etree.SubElement(body, "p").text = " ".join("".join(_visible_text(part)).split())
    return root


# -- notes -----------------------------------------------------------------------------------------


def _note_parts(parts: _WordParts) -> list[etree._Element]:
    """Returns the roots of the footnote and endnote parts, without their separators."""
    note_parts = [
        n
        for relationship_type in ("footnotes", "endnotes")
        if (n := parts.first_xml(relationship_type)) is not None
    ]
    for note_part in note_parts:
        for separator in filter(_is_separator, list(note_part)):
            note_part.remove(separator)
    return note_parts


def _is_separator(note: etree._Element) -> bool:
    """Returns whether a note is only the separator line above the notes."""
    return "separator" in (attribute_of(note, "type") or "").lower()


def _append_notes(body: etree._Element, note_parts: list[etree._Element]) -> int:
    """Moves notes to the end of the body, each below a bookmark with its number.

    References become links to them. Returns the number of characters of the reference numbers.
    """
    notes = {
        (name_of(note), attribute_of(note, "id")): note
        for part in note_parts
        for note in part
        if name_of(note) in ("footnote", "endnote")
    }
    for part in (body, *note_parts):
        _rename_clashing_bookmarks(part)
    numbers = {key: number for number, key in enumerate(notes, 1)}
    characters = 0
    reference_tags = f"{{{W}}}footnoteReference", f"{{{W}}}endnoteReference"
    for reference in [
        element for part in (body, *note_parts) for element in part.iter(*reference_tags)
    ]:
        note_kind = name_of(reference).removesuffix("Reference")
        number = numbers.get((note_kind, attribute_of(reference, "id")))
        run = reference.getparent()
        reference.tag = f"{{{W}}}t"
        if number is None or run is None or name_of(run) != "r":
            continue
        if attribute_of(reference, "customMarkFollows") in (None, "0", "false"):
            reference.text = str(number)
            characters += len(reference.text)
        link = etree.Element(f"{{{W}}}hyperlink")
        link.set(f"{{{W}}}anchor", f"n-{number}")
        run.addprevious(link)
        link.append(run)
    for key, number in numbers.items():
        bookmark = etree.SubElement(etree.SubElement(body, f"{{{W}}}p"), f"{{{W}}}bookmarkStart")
        bookmark.set(f"{{{W}}}name", f"n-{number}")
        body.extend(list(notes[key]))
    return characters


def _rename_clashing_bookmarks(part: etree._Element) -> None:
    """Renames bookmarks of the source that would clash with the `n-…` bookmarks of notes."""
    for element in part.iter(f"{{{W}}}bookmarkStart", f"{{{W}}}hyperlink"):
        for attribute in ("name", "anchor"):
            if (attribute_of(element, attribute) or "").startswith("n-"):
                element.set(f"{{{W}}}{attribute}", f"own-{attribute_of(element, attribute)}")


# -- mammoth ---------------------------------------------------------------------------------------


def _zip_parts(document: etree._Element, numbering: etree._Element | None) -> io.BytesIO:
    """Returns an archive in memory with these parts alone."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("word/document.xml", etree.tostring(document))
        if numbering is not None:
            archive.writestr("word/numbering.xml", etree.tostring(numbering))
    return buffer


def _convert_to_html(
    archive: Archive, docx_file: io.BytesIO, languages: list[str]
) -> etree._Element:
    """Converts an archive to HTML by mammoth; returns the `html` element with its body."""
    run_styles = [*wordml.LEFT_STYLES, *(f"in-{language}" for language in filter(None, languages))]
    try:
        conversion = mammoth.convert_to_html(
            docx_file,
            style_map="\n".join(f"r.{style} => span.{style}" for style in run_styles),
            include_embedded_style_map=False,
            ignore_empty_paragraphs=False,
        )
        root = markup.parse_xml(f"<html><body>{conversion.value}</body></html>")
        markup.check_depth(root)
    except (*_MAMMOTH_ERRORS, etree.XMLSyntaxError) as error:
        message = f"broken, its markup is not Word's: {markup.summarize_error(error)}"
        raise archive.failed(message) from None
    return root


def _resolve_markers(
    root: etree._Element, details: wordml.WordDetails, main_language: str
) -> dict[etree._Element, ParagraphLook]:
    """Replaces the bookmarks and styles set for mammoth by attributes and pictures.

    Returns the look of each paragraph by its element.
    """
    body = root[0]
    looks: dict[etree._Element, ParagraphLook] = {}
    for link in list(body.iter("a")):
        match = _BOOKMARK.fullmatch(link.get("id", ""))
        parent = link.getparent()
        if parent is None:
            continue
        if match and match[1] == "p":
            looks.setdefault(parent, details.looks[int(match[2])])
            _unwrap(link)
        elif match:
            link.tag = "img"
            link.set("alt", details.pictures[int(match[2])])
        elif link.get("href", "").startswith("#n-"):
            link.set("class", "noteref")
    for span in list(body.iter("span")):
        _set_run_attributes(span, main_language)
    _gather_notes(body, looks)
    return looks


def _set_run_attributes(span: etree._Element, main_language: str) -> None:
    """Replaces the class that names a run's style by attributes."""
    style = span.attrib.pop("class", "")
    if style in wordml.LEFT_STYLES:
        span.set(OMISSION_ATTRIBUTE, wordml.LEFT_STYLES[style])
    elif style.startswith("in-") and style[3:] != main_language:
        span.set(LANGUAGE_ATTRIBUTE, style[3:])


def _unwrap(element: etree._Element) -> None:
    """Removes an element's tags, and keeps the text after it."""
    parent = element.getparent()
    if parent is not None:
        element.tag = "drop"
        etree.strip_tags(parent, "drop")


def _gather_notes(body: etree._Element, looks: dict[etree._Element, ParagraphLook]) -> None:
    """Moves each note into an `aside` element below the block that refers to it."""
    notes: dict[str, etree._Element] = {}
    note: etree._Element | None = None
    for child in list(body):
        anchors = [element for element in child.iter("a") if element.get("id", "").startswith("n-")]
        if anchors and not "".join(child.itertext()).strip():
            note = etree.SubElement(body, "aside", id=anchors[0].get("id", ""))
            notes[note.get("id", "")] = note
            note.set("class", "footnote")
            looks.pop(child, None)
            body.remove(child)
        elif note is not None:
            note.append(child)
    for link in reversed(body.findall(".//a[@class='noteref']")):
        footnote = notes.pop(link.get("href", "")[1:], None)
        block = next(
            (element for element in (link, *link.iterancestors()) if element.getparent() is body),
            None,
        )
        if footnote is not None and block is not None and footnote is not block:
            block.addnext(footnote)
