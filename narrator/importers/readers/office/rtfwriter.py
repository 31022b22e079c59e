"""Paragraphs, lists, tables and notes of an RTF file, as XHTML.

Takes words with their properties and ends of paragraphs, in order; knows nothing of groups.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from lxml import etree

from narrator.importers.book import count_characters
from narrator.importers.readers.elements import last_of, say
from narrator.importers.readers.office.looks import ParagraphLook
from narrator.importers.readers.office.styles import Properties, look_of, styled
from narrator.importers.readers.pages import SourcePage

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]")

_TYPED = re.compile(r"\s*([•·▪◦]|\d{1,3}[.)])\t")
"""What a list has that an author or a program typed."""


def whole(text: str) -> str:
    """Text whose halves of characters are joined, without what XML cannot hold."""
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _CONTROL.sub("", joined)


@dataclass(slots=True)
class _RtfText:
    """A text that is written: the book's, a note, or one that stands beside it."""

    into: etree._Element
    why: str = ""
    line: etree._Element | None = None
    """The paragraph in hand."""
    text: list[str] = field(default_factory=list)
    """Words in hand, which have these properties."""
    said: tuple[Properties, str] = (Properties(), "")
    shown: list[tuple[int, Properties]] = field(default_factory=list)
    reasons: set[str] = field(default_factory=set)
    marker: str = ""
    """What a list writes before the paragraph."""
    notes: list[etree._Element] = field(default_factory=list)
    cell: etree._Element | None = None
    row: list[etree._Element] = field(default_factory=list)
    in_table: bool = False


class RtfWriter:
    """Writes a document from its beginning to its end."""

    def __init__(self) -> None:
        self.looks: dict[etree._Element, ParagraphLook] = {}
        self.characters = 0
        """Visible characters that were taken."""
        self.languages: Counter[str | None] = Counter()
        """Letters in each; None where none is marked."""
        self.page = False
        """Whether the next paragraph begins a page."""
        self.taken = 0
        """Characters that were taken, visible or not."""
        self.pieces = 0
        """Paragraphs, and runs of words."""
        self._page_after = False
        self._notes = 0
        self._sinks = [_RtfText(etree.Element("body"))]
        self._asides: list[_RtfText] = []

    def say(self, text: str, words: Properties, left: str) -> None:
        """Add words to the paragraph in hand."""
        sink = self._sinks[-1]
        self.taken += len(text)
        if sink.said != (words, left):
            self._flush(sink)
            sink.said = words, left
        sink.text.append(text)

    def _flush(self, sink: _RtfText) -> None:
        text = whole("".join(sink.text))
        sink.text.clear()
        if not text:
            return
        words, left = sink.said
        self.pieces += 1
        line = self._line(sink)
        letters = count_characters(text)
        self.characters += letters
        self.languages[words.language] += letters
        if letters:
            sink.reasons.add(left)
        if letters and not left:
            sink.shown.append((letters, words))
        plain = not (left or words.bold or words.italic or words.underline or words.language)
        say(line if plain else styled(line, words, None, left), text)

    def _line(self, sink: _RtfText) -> etree._Element:
        if sink.line is None:
            sink.line = etree.Element("p")
        return sink.line

    # -- notes, and what stands beside the text ----------------------------------------------------

    def begin_note(self) -> None:
        """Begin a note to the words in hand."""
        sink = self._sinks[-1]
        self._flush(sink)
        self._notes += 1
        link = etree.SubElement(self._line(sink), "a", href=f"#note-{self._notes}")
        link.set("class", "noteref")
        etree.SubElement(link, "sup").text = str(self._notes)
        self.characters += len(str(self._notes))
        body = etree.Element("aside", id=f"note-{self._notes}")
        body.set("class", "footnote")
        sink.notes.append(body)
        self._sinks.append(_RtfText(body))

    def begin_aside(self, why: str) -> None:
        """Begin a text that stands beside the book's."""
        self._sinks.append(_RtfText(etree.Element("body"), why))

    def end_aside(self) -> None:
        """End a note, or what stands beside the text."""
        if len(self._sinks) > 1:
            self._finish(self._sinks[-1])
            sink = self._sinks.pop()
            if sink.why:
                self._asides.append(sink)

    def asides(self) -> Iterator[SourcePage]:
        """What stands beside the text, as pages."""
        for number, sink in enumerate(self._asides, 1):
            root = etree.Element("html")
            root.append(sink.into)
            yield SourcePage(f"{sink.why} {number}", root, sink.why)

    def finished(self) -> etree._Element:
        """The body of the document, once all is taken."""
        while len(self._sinks) > 1:
            self.end_aside()
        self._finish(self._sinks[0])
        return self._sinks[0].into

    def _finish(self, sink: _RtfText) -> None:
        self._flush(sink)
        if sink.line is not None or sink.notes:
            self.end_paragraph(Properties(), sink.cell is not None, ends_cell=False)
        if sink.row or sink.cell is not None:
            self.end_row()

    # -- paragraphs --------------------------------------------------------------------------------

    def break_line(self) -> None:
        sink = self._sinks[-1]
        self._flush(sink)
        etree.SubElement(self._line(sink), "br")

    def break_page(self) -> None:
        sink = self._sinks[-1]
        self._flush(sink)
        if sink.shown:
            self._page_after = True
        else:
            self.page = True

    def show(self, alt: str) -> None:
        """Place a picture of which this is said."""
        sink = self._sinks[-1]
        self._flush(sink)
        alt = whole(alt)
        etree.SubElement(self._line(sink), "img", alt=alt)
        self.characters += count_characters(alt)

    def mark(self, text: str) -> None:
        """Add to what a list writes before the paragraph in hand."""
        self._sinks[-1].marker += text

    def end_paragraph(self, block: Properties, in_cell: bool, ends_cell: bool) -> None:
        """End the paragraph in hand, which may be empty."""
        sink = self._sinks[-1]
        self.pieces += 1
        self._flush(sink)
        line = self._line(sink)
        marker = whole(sink.marker).strip() or self._typed(line)
        page = self.page or bool(block.page)
        why = next(iter(sink.reasons)) if len(sink.reasons) == 1 else ""
        if block.role == "toc":
            why = why or "table of contents"
        look = look_of(block, sink.shown, page)
        self.looks[line] = replace(look, left=why)
        if len(self._sinks) == 1:
            self.page, self._page_after = self._page_after, False
        into = self._holder(sink, in_cell or ends_cell)
        if marker and look.level:
            self.characters += count_characters(marker)
            line.text = f"{marker} {line.text or ''}"
        elif marker and sink.shown:
            into = _item(into, marker)
        into.append(line)
        sink.into.extend(sink.notes)
        sink.notes.clear()
        sink.line, sink.marker = None, ""
        sink.shown.clear()
        sink.reasons.clear()
        if ends_cell and sink.cell is not None:
            sink.row.append(sink.cell)
            sink.cell = None

    def _typed(self, line: etree._Element) -> str:
        """What a list has before its words, taken from where an author has typed it."""
        typed = _TYPED.match(line.text or "")
        if typed is None:
            return ""
        line.text = (line.text or "")[typed.end() :]
        self.characters -= count_characters(typed[1])
        return typed[1]

    def _holder(self, sink: _RtfText, in_cell: bool) -> etree._Element:
        """What a paragraph is put into: a cell, or the text."""
        if in_cell:
            if sink.cell is None:
                sink.cell = etree.Element("td")
            return sink.cell
        if sink.row or sink.cell is not None:
            self.end_row()
        sink.in_table = False
        return sink.into

    def end_row(self) -> None:
        """End a row of a table."""
        sink = self._sinks[-1]
        self._flush(sink)
        if sink.line is not None:
            self.end_paragraph(Properties(), in_cell=True, ends_cell=True)
        cells = [*sink.row, *([] if sink.cell is None else [sink.cell])]
        sink.row, sink.cell = [], None
        if not cells:
            return
        table = last_of(sink.into) if sink.in_table else None
        if table is None or table.tag != "table":
            table = etree.SubElement(sink.into, "table")
        etree.SubElement(table, "tr").extend(cells)
        sink.in_table = True


def _item(into: etree._Element, marker: str) -> etree._Element:
    """A new item of the list that goes on, or of a new one."""
    number = re.match(r"\W*(\d{1,4})\b", marker)
    kind = "ol" if any(map(str.isalnum, marker)) and number else "ul"
    held = last_of(into)
    if held is None or held.tag != kind:
        held = etree.SubElement(into, kind)
        if number:
            held.set("start", number[1])
    return etree.SubElement(held, "li")
