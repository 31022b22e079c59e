"""Reads Word documents (.docx, and the variants with macros or for templates).

The text is written as XHTML by `wordml.py`; headings are detected from the look of paragraphs
afterwards (`classify.py`). Comments, headers and footers are left out and listed.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from manuscripts.book import Book, Choices, count_characters
from manuscripts.readers.archive import Archive
from manuscripts.readers.office.document import (
    build_pages,
    metadata_of,
    properties_of,
    side_page,
)
from manuscripts.readers.office.wordml import (
    WordWriter,
    replace_alternatives,
    visible_text,
)
from manuscripts.readers.office.wordnumbers import Numbering
from manuscripts.readers.office.wordstyles import Styles, W, attribute_of, name_of
from manuscripts.readers.office.writer import MAX_ELEMENTS
from manuscripts.readers.pages import Pages, read_pages

_STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"
_OMITTED_PARTS = {
    "comments": "comment",
    "header": "header or footer of a page",
    "footer": "header or footer of a page",
}
"""Parts that are left out, by the type of their relationship, with the reason."""
_MAX_UNREMARKED_STRUCK = 40
"""Struck-through characters that are not worth a remark."""


def read_docx(path: Path, choices: Choices) -> Book:
    """Reads the book in a Word document. Raises ImportFailed, SlowPattern."""
    with Archive(path, "a Word document") as archive:
        pages = _build_pages(archive, _WordParts(archive))
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
        existing_names = map(self.archive.find, self._names_by_type.get(relationship_type, ()))
        return list(dict.fromkeys(filter(None, existing_names)))

    def xml(self, name: str) -> etree._Element:
        """Parses a part, with the strict namespace replaced by the usual one."""
        root = self.archive.bounded_xml(name, _STRICT, W)
        replace_alternatives(root)
        return root

    def first_xml(self, relationship_type: str) -> etree._Element | None:
        """Parses the first part of a relationship type; None if there is none."""
        names = self.names(relationship_type)
        return self.xml(names[0]) if names else None

    def notes(self) -> dict[tuple[str, str | None], etree._Element]:
        """Returns footnotes and endnotes by kind and id, without the separators above them."""
        roots = map(self.first_xml, ("footnotes", "endnotes"))
        return {
            (name_of(note), attribute_of(note, "id")): note
            for root in roots
            for note in (() if root is None else root)
            if name_of(note) in ("footnote", "endnote")
            and "separator" not in (attribute_of(note, "type") or "").lower()
        }


def _build_pages(archive: Archive, parts: _WordParts) -> Pages:
    """Builds the main page, and pages for comments, headers and footers."""
    document, notes = parts.xml(parts.main), parts.notes()
    body = next(document.iter(f"{{{W}}}body"), None)
    if body is None:
        raise archive.failed("broken: it has no body", parts.main)
    roots = (body, *notes.values())
    if sum(1 for root in roots for _ in root.iter()) > MAX_ELEMENTS:
        raise archive.failed("has more elements than a book needs", parts.main)
    omitted_texts = [
        (reason, "".join(visible_text(parts.xml(name))))
        for relationship_type, reason in _OMITTED_PARTS.items()
        for name in parts.names(relationship_type)
    ]
    characters = sum(count_characters(text) for root in roots for text in visible_text(root))
    characters += sum(count_characters(text) for _, text in omitted_texts)
    styles = Styles(parts.first_xml("styles"))
    writer = WordWriter(styles, Numbering(parts.first_xml("numbering")), notes)
    writer.write_body(body)
    properties_name = archive.find("docProps/core.xml")
    properties = properties_of(archive.xml(properties_name)) if properties_name else {}
    remarks = list(archive.remarks)
    if writer.struck_characters > _MAX_UNREMARKED_STRUCK:
        remarks.insert(
            0, f"{writer.struck_characters:,} characters are struck through; they are read."
        )
    return build_pages(
        archive.path,
        writer,
        metadata_of(properties),
        default_language=styles.default.language,
        side_pages=[
            side_page(f"{reason} {number}", text, reason)
            for number, (reason, text) in enumerate(omitted_texts, 1)
        ],
        character_count=characters,
        remarks=remarks,
    )
