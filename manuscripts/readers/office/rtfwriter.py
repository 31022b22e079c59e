"""Writes the paragraphs, lists and tables of an RTF file, which come without elements around them.

Takes ends of paragraphs, cells and rows, in order; knows nothing of groups.
"""

from __future__ import annotations

import re

from lxml import etree

from manuscripts.book import count_characters
from manuscripts.readers.elements import last_child
from manuscripts.readers.office.styles import Properties
from manuscripts.readers.office.writer import Text, TextWriter, append_item, clean_text

_TYPED_MARKER = re.compile(r"\s*([•·▪◦]|\d{1,3}[.)])\t")
"""A list marker that was typed as text."""
_NUMBER = re.compile(r"\W*(\d{1,4})\b")


class RtfWriter(TextWriter):
    """Writes a document from its beginning to its end."""

    def __init__(self) -> None:
        super().__init__()
        self.side_texts: list[Text] = []
        """Comments, headers and footers."""

    def open_side_text(self, reason: str) -> None:
        """Begins a text outside of the main text, which is left out."""
        self.texts.append(Text(etree.Element("body"), reason))

    def close_text(self) -> Text:
        text = super().close_text()
        if text.reason:
            self.side_texts.append(text)
        return text

    def close_paragraph(self, parent: etree._Element | None = None) -> None:
        super().close_paragraph(self.text.cell if parent is None else parent)

    def end_block(self, properties: Properties, in_cell: bool = False) -> None:
        """Ends the open paragraph, which may be a list item, in the open table cell or outside."""
        self.flush()
        text = self.text
        marker = clean_text(text.marker).strip() or self._take_typed_marker()
        parent = self._open_cell() if in_cell else text.container
        if not in_cell:
            text.row = text.cell = None
        if marker and properties.level:
            self.prepend(marker)
        elif marker and text.runs:
            number = _NUMBER.match(marker)
            parent = append_item(
                parent, "ol" if number else "ul", start=number[1] if number else ""
            )
        self.end_paragraph(parent, properties)

    def end_cell(self, properties: Properties) -> None:
        """Ends the open paragraph and the table cell with it."""
        self.end_block(properties, in_cell=True)
        self.text.cell = None

    def end_row(self) -> None:
        """Ends a table row; the table goes on with the next row if nothing stands between."""
        self.close_paragraph(self._open_cell() if self.text.paragraph is not None else None)
        self.text.row = self.text.cell = None

    def _open_cell(self) -> etree._Element:
        """Returns the open table cell, or a new one in the open row or a new one."""
        text = self.text
        if text.row is None:
            table = last_child(text.container)
            if table is None or table.tag != "table":
                table = etree.SubElement(text.container, "table")
            text.row = etree.SubElement(table, "tr")
        if text.cell is None:
            text.cell = etree.SubElement(text.row, "td")
        return text.cell

    def _take_typed_marker(self) -> str:
        """Removes a typed list marker from the open paragraph and returns it; "" for none."""
        paragraph = self.text.paragraph
        match = None if paragraph is None else _TYPED_MARKER.match(paragraph.text or "")
        if paragraph is None or match is None:
            return ""
        paragraph.text = (paragraph.text or "")[match.end() :]
        self.characters -= count_characters(match[1])
        return match[1]
