"""Writes paragraphs, lists, tables and notes of an RTF file as XHTML.

Takes text with its properties and ends of paragraphs, in order; knows nothing of groups.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from lxml import etree

from manuscripts.book import count_characters
from manuscripts.readers.elements import append_text, last_child
from manuscripts.readers.office.looks import ParagraphLook
from manuscripts.readers.office.styles import Properties, append_run_elements, look_of
from manuscripts.readers.pages import SourcePage

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]")

_TYPED_MARKER = re.compile(r"\s*([•·▪◦]|\d{1,3}[.)])\t")
"""A list marker that was typed as text."""


def clean_text(text: str) -> str:
    """Joins surrogate pairs, and removes characters that XML does not allow."""
    joined_text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _CONTROL.sub("", joined_text)


@dataclass(slots=True)
class _RtfText:
    """A text being written: the main text, a note, a comment, a header or a footer."""

    container: etree._Element
    reason: str = ""
    """Reason to leave the text out; "" for the main text and notes."""
    paragraph: etree._Element | None = None
    """The current paragraph."""
    text: list[str] = field(default_factory=list)
    """Pieces of the current run."""
    run_format: tuple[Properties, str] = (Properties(), "")
    """Properties of the current run, and the reason to leave it out or ""."""
    runs: list[tuple[int, Properties]] = field(default_factory=list)
    """Letter count and properties of the paragraph's runs."""
    omission_reasons: set[str] = field(default_factory=set)
    """Reasons to leave out its runs; "" for those that are read."""
    marker: str = ""
    """List marker before the paragraph."""
    notes: list[etree._Element] = field(default_factory=list)
    cell: etree._Element | None = None
    row: list[etree._Element] = field(default_factory=list)
    in_table: bool = False


class RtfWriter:
    """Writes a document from its beginning to its end."""

    def __init__(self) -> None:
        self.looks: dict[etree._Element, ParagraphLook] = {}
        self.characters = 0
        """Number of visible characters written."""
        self.languages: Counter[str | None] = Counter()
        """Letter count of each language; None for unmarked text."""
        self.starts_page = False
        """True if the next paragraph begins a page."""
        self.character_count = 0
        """Number of characters received, visible or not."""
        self.pieces = 0
        """Number of paragraphs and text runs."""
        self._breaks_page_after = False
        self._note_count = 0
        self._texts = [_RtfText(etree.Element("body"))]
        self._side_texts: list[_RtfText] = []

    def add_text(self, text: str, properties: Properties, omission_reason: str) -> None:
        """Adds text to the current paragraph; `omission_reason` is "" for text that is read."""
        target = self._texts[-1]
        self.character_count += len(text)
        if target.run_format != (properties, omission_reason):
            self._flush_run(target)
            target.run_format = properties, omission_reason
        target.text.append(text)

    def _flush_run(self, target: _RtfText) -> None:
        """Writes the current run to its paragraph."""
        text = clean_text("".join(target.text))
        target.text.clear()
        if not text:
            return
        properties, omission_reason = target.run_format
        self.pieces += 1
        paragraph = self._current_paragraph(target)
        letter_count = count_characters(text)
        self.characters += letter_count
        self.languages[properties.language] += letter_count
        if letter_count:
            target.omission_reasons.add(omission_reason)
        if letter_count and not omission_reason:
            target.runs.append((letter_count, properties))
        is_plain = not (
            omission_reason
            or properties.bold
            or properties.italic
            or properties.underline
            or properties.language
        )
        if not is_plain:
            paragraph = append_run_elements(paragraph, properties, None, omission_reason)
        append_text(paragraph, text)

    def _current_paragraph(self, target: _RtfText) -> etree._Element:
        if target.paragraph is None:
            target.paragraph = etree.Element("p")
        return target.paragraph

    # -- notes, comments, headers and footers ------------------------------------------------------

    def begin_note(self) -> None:
        """Begins a note, with a link to it in the current paragraph."""
        target = self._texts[-1]
        self._flush_run(target)
        self._note_count += 1
        link = etree.SubElement(
            self._current_paragraph(target), "a", href=f"#note-{self._note_count}"
        )
        link.set("class", "noteref")
        etree.SubElement(link, "sup").text = str(self._note_count)
        self.characters += len(str(self._note_count))
        body = etree.Element("aside", id=f"note-{self._note_count}")
        body.set("class", "footnote")
        target.notes.append(body)
        self._texts.append(_RtfText(body))

    def begin_side_text(self, reason: str) -> None:
        """Begins a text outside of the main text."""
        self._texts.append(_RtfText(etree.Element("body"), reason))

    def end_side_text(self) -> None:
        """Ends a note or another text outside of the main text."""
        if len(self._texts) > 1:
            self._finish(self._texts[-1])
            side_text = self._texts.pop()
            if side_text.reason:
                self._side_texts.append(side_text)

    def side_pages(self) -> Iterator[SourcePage]:
        """Yields the texts outside of the main text, except notes, as pages."""
        for number, side_text in enumerate(self._side_texts, 1):
            root = etree.Element("html")
            root.append(side_text.container)
            yield SourcePage(f"{side_text.reason} {number}", root, side_text.reason)

    def finish(self) -> etree._Element:
        """Ends all open texts and returns the body of the document."""
        while len(self._texts) > 1:
            self.end_side_text()
        self._finish(self._texts[0])
        return self._texts[0].container

    def _finish(self, target: _RtfText) -> None:
        self._flush_run(target)
        if target.paragraph is not None or target.notes:
            self.end_paragraph(Properties(), target.cell is not None, ends_cell=False)
        if target.row or target.cell is not None:
            self.end_row()

    # -- paragraphs --------------------------------------------------------------------------------

    def break_line(self) -> None:
        target = self._texts[-1]
        self._flush_run(target)
        etree.SubElement(self._current_paragraph(target), "br")

    def break_page(self) -> None:
        """Begins a page: with the current paragraph if it is empty, else with the next."""
        target = self._texts[-1]
        self._flush_run(target)
        if target.runs:
            self._breaks_page_after = True
        else:
            self.starts_page = True

    def add_picture(self, alt: str) -> None:
        """Adds a picture with an alternative text to the current paragraph."""
        target = self._texts[-1]
        self._flush_run(target)
        alt = clean_text(alt)
        etree.SubElement(self._current_paragraph(target), "img", alt=alt)
        self.characters += count_characters(alt)

    def add_marker(self, text: str) -> None:
        """Adds to the list marker before the current paragraph."""
        self._texts[-1].marker += text

    def end_paragraph(self, properties: Properties, in_cell: bool, ends_cell: bool) -> None:
        """Ends the current paragraph, which may be empty."""
        target = self._texts[-1]
        self.pieces += 1
        self._flush_run(target)
        paragraph = self._current_paragraph(target)
        marker = clean_text(target.marker).strip() or self._take_typed_marker(paragraph)
        starts_page = self.starts_page or bool(properties.starts_page)
        reason = next(iter(target.omission_reasons)) if len(target.omission_reasons) == 1 else ""
        if properties.role == "toc":
            reason = reason or "table of contents"
        look = look_of(properties, target.runs, starts_page)
        self.looks[paragraph] = replace(look, omission_reason=reason)
        if len(self._texts) == 1:
            self.starts_page, self._breaks_page_after = self._breaks_page_after, False
        parent = self._paragraph_parent(target, in_cell or ends_cell)
        if marker and look.level:
            self.characters += count_characters(marker)
            paragraph.text = f"{marker} {paragraph.text or ''}"
        elif marker and target.runs:
            parent = _append_list_item(parent, marker)
        parent.append(paragraph)
        target.container.extend(target.notes)
        target.notes.clear()
        target.paragraph, target.marker = None, ""
        target.runs.clear()
        target.omission_reasons.clear()
        if ends_cell and target.cell is not None:
            target.row.append(target.cell)
            target.cell = None

    def _take_typed_marker(self, paragraph: etree._Element) -> str:
        """Removes a typed list marker from a paragraph and returns it; "" for none."""
        match = _TYPED_MARKER.match(paragraph.text or "")
        if match is None:
            return ""
        paragraph.text = (paragraph.text or "")[match.end() :]
        self.characters -= count_characters(match[1])
        return match[1]

    def _paragraph_parent(self, target: _RtfText, in_cell: bool) -> etree._Element:
        """Returns the element for a paragraph: the current table cell or the text."""
        if in_cell:
            if target.cell is None:
                target.cell = etree.Element("td")
            return target.cell
        if target.row or target.cell is not None:
            self.end_row()
        target.in_table = False
        return target.container

    def end_row(self) -> None:
        """Ends a table row."""
        target = self._texts[-1]
        self._flush_run(target)
        if target.paragraph is not None:
            self.end_paragraph(Properties(), in_cell=True, ends_cell=True)
        cells = [*target.row, *([] if target.cell is None else [target.cell])]
        target.row, target.cell = [], None
        if not cells:
            return
        table = last_child(target.container) if target.in_table else None
        if table is None or table.tag != "table":
            table = etree.SubElement(target.container, "table")
        etree.SubElement(table, "tr").extend(cells)
        target.in_table = True


def _append_list_item(container: etree._Element, marker: str) -> etree._Element:
    """Appends an item to the list at the end of `container`, or to a new one."""
    number = re.match(r"\W*(\d{1,4})\b", marker)
    list_tag = "ol" if any(map(str.isalnum, marker)) and number else "ul"
    list_element = last_child(container)
    if list_element is None or list_element.tag != list_tag:
        list_element = etree.SubElement(container, list_tag)
        if number:
            list_element.set("start", number[1])
    return etree.SubElement(list_element, "li")
