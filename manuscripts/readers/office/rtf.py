"""Reads RTF (from Word, LibreOffice or TextEdit).

A reader of our own: libraries that convert RTF to text lose headings, notes and emphasis. Knows
which groups contain text; an unknown group is skipped only where the file marks it as skippable.
Headings are detected from the look of paragraphs afterwards (`classify.py`).
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path

from manuscripts.book import Book, Choices, word_set
from manuscripts.errors import ImportFailed
from manuscripts.plaintext import read_data
from manuscripts.readers.elements import INCOMPLETE_REASON
from manuscripts.readers.office.document import build_pages, metadata_of, side_page
from manuscripts.readers.office.rtftokens import CHARACTER_WORDS, RtfToken, tokenize
from manuscripts.readers.office.rtfwords import (
    DESTINATION_WORDS,
    DOCUMENT_WORDS,
    GROUP_WORDS,
    RtfGroup,
    RtfHeader,
    RtfStyle,
)
from manuscripts.readers.office.rtfwriter import RtfWriter
from manuscripts.readers.office.styles import NO_PROPERTIES, Properties, StyleSheet
from manuscripts.readers.office.writer import clean_text
from manuscripts.readers.pages import Pages, read_pages
from textbase.errors import Problem

_MAX_DEPTH = 2_000
"""Limit on the nesting of groups."""

_MAX_PIECES = 1_000_000
"""Limit on paragraphs and text runs. A long novel has 100,000."""
_MAX_CHARACTERS = 20_000_000
"""Limit on characters. The longest novels have 10 million."""

_READ_DESTINATIONS = word_set("shppict shpinst shprslt moMath moMathPara mmath do result")
"""Groups that are read although they are marked as skippable."""
_BOXES = word_set("shptxt dptxbxtext")
_SIDE_TEXTS = dict.fromkeys(
    word_set("header headerl headerr headerf footer footerl footerr footerf"),
    "header or footer of a page",
) | {"annotation": "comment"}
_INFO_FIELDS = {
    "title": "title",
    "author": "creator",
    "subject": "subject",
    "doccomm": "description",
}
_OMITTED_FIELDS = {"TOC": "table of contents", "INDEX": "index", "PAGE": "page number",
           "NUMPAGES": "page number"}  # fmt: skip
_PICTURE_PLACEHOLDER = re.compile(r"SPECIAL_IMAGE-.*REPLACE_ME")
"""Placeholder that Calibre writes for a picture it cannot convert."""


def read_rtf(path: Path, choices: Choices) -> Book:
    """Reads the book in an RTF file. Raises ImportFailed, SlowPattern."""
    reader = _RtfReader(path)
    for token in tokenize(read_data(path)):
        reader.process(token)
    return read_pages(path, reader.build_pages(), choices)


class _RtfReader:
    """Tracks the groups of a document and passes their text to a writer."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.header = RtfHeader()
        self.writer = RtfWriter()
        self.group = RtfGroup()
        self.stack: list[RtfGroup] = []
        self.is_group_start = False
        """True if the next control word may name the destination of a group."""
        self.is_optional = False
        """True if the group is marked as skippable (`\\*`)."""
        self.pending_bytes = bytearray()
        """Encoded text that is not decoded yet."""
        self.bytes_to_skip = 0
        """Remaining fallback characters of a Unicode character."""
        self.style_sheet: StyleSheet | None = None
        """The styles of the header, once a paragraph has ended."""
        self.is_unbalanced = False
        self.character_count = 0
        """Number of characters, visible or not."""
        self.picture_property = ""
        """Name of the picture property whose value follows."""

    def build_pages(self) -> Pages:
        """Returns the document's pages; call it after the last token."""
        self._flush()
        writer = self.writer
        is_cut = self.is_unbalanced or bool(self.stack)
        remark = "The file's braces do not match, as if it were cut off; compare its end."
        while len(writer.texts) > 1:
            writer.close_text()
        return build_pages(
            self.path,
            writer,
            metadata_of(self.header.document_properties),
            default_language=self.header.language,
            side_pages=[
                side_page(f"{text.reason} {number}", text.container, text.reason)
                for number, text in enumerate(writer.side_texts, 1)
            ],
            character_count=None,
            remarks=[remark] if is_cut else [],
        )

    def process(self, token: RtfToken) -> None:
        """Processes one token."""
        if token.kind in ("text", "code"):
            self._add_bytes(token)
            self.is_group_start = self.is_optional = False
            return
        self._flush()
        if self.writer.piece_count > _MAX_PIECES or self.character_count > _MAX_CHARACTERS:
            raise ImportFailed(Problem(self.path, None, "has more text than a book needs"))
        if token.kind == "open":
            if len(self.stack) >= _MAX_DEPTH:
                message = f"not RTF, or broken: groups more than {_MAX_DEPTH} deep"
                raise ImportFailed(Problem(self.path, None, message))
            self.stack.append(self.group)
            self.group = replace(self.group, opens_side_text=False)
            self.is_group_start, self.bytes_to_skip = True, 0
        elif token.kind == "close":
            self._close()
        elif token.word == "*":
            self.is_optional = True
        else:
            self._process_control_word(token)

    def _close(self) -> None:
        """Handles the end of a group."""
        self.is_group_start = self.is_optional = False
        self.bytes_to_skip = 0
        if not self.stack:
            self.is_unbalanced = True
            return
        closed_group, self.group = self.group, self.stack.pop()
        if closed_group.opens_side_text:
            self.writer.close_text()

    # -- text --------------------------------------------------------------------------------------

    def _add_bytes(self, token: RtfToken) -> None:
        """Buffers encoded text, without the fallback of a Unicode character."""
        encoded_text = token.content
        if self.bytes_to_skip:
            skipped_count = min(self.bytes_to_skip, len(encoded_text))
            self.bytes_to_skip -= skipped_count
            encoded_text = encoded_text[skipped_count:]
        self.pending_bytes += encoded_text

    def _flush(self) -> None:
        if self.pending_bytes:
            encoding = self.header.fonts.get(self.group.font or 0, self.header.encoding)
            text = bytes(self.pending_bytes).decode(encoding, "replace")
            self.pending_bytes.clear()
            self._write_text(text)

    def _write_text(self, text: str) -> None:
        """Writes text to the destination of the current group."""
        group, destination = self.group, self.group.destination
        self.character_count += len(text)
        if destination == "body":
            self.writer.add_text(text, self._text_properties(), self._omission_reason(text))
        elif destination == "marker":
            self.writer.text.marker += text
        elif destination == "code" and group.field is not None:
            group.field.code = (group.field.code + text)[:500]
        elif destination == "styles":
            self._name_style(text)
        elif destination == "property name":
            self.picture_property = text.strip()
        elif destination == "property value" and self.picture_property == "wzDescription":
            self.writer.add_picture(text)
        elif destination in _INFO_FIELDS.values():
            document_properties = self.header.document_properties
            document_properties[destination] = (
                document_properties.get(destination, "") + clean_text(text)
            )[:5_000]

    def _text_properties(self) -> Properties:
        """Returns the properties of the current text."""
        is_link = self.group.shown_field == "HYPERLINK"
        properties = self.group.run_properties
        return replace(properties, link=True) if is_link else properties

    def _omission_reason(self, text: str) -> str:
        """Returns why text of the current group is left out; "" if it is read."""
        group = self.group
        reasons = {
            "picture": _PICTURE_PLACEHOLDER.search(text),
            "deleted by a tracked change": group.is_deleted,
            "hidden": group.run_properties.hidden,
            INCOMPLETE_REASON: group.is_formula,
            _OMITTED_FIELDS.get(group.shown_field, ""): True,
        }
        return next(reason for reason, is_given in reasons.items() if is_given)

    def _name_style(self, text: str) -> None:
        style = self.header.styles.setdefault(self.group.style or 0, RtfStyle())
        style.level = self.group.paragraph_properties.level
        style.name = (style.name + text).strip().removesuffix(";")[:200]

    # -- control words -----------------------------------------------------------------------------

    def _process_control_word(self, token: RtfToken) -> None:
        """Processes a control word."""
        word, number = token.word, token.number
        is_group_start, is_optional = self.is_group_start, self.is_optional
        self.is_group_start = self.is_optional = False
        if (is_group_start or is_optional) and self._set_destination(word, is_optional):
            return
        if word == "u":
            self._write_text(chr((number or 0) % 65_536))
            self.bytes_to_skip = self.group.fallback_length
        elif word in CHARACTER_WORDS:
            self._write_symbol(CHARACTER_WORDS[word])
        elif (change := GROUP_WORDS.get(word)) is not None:
            self._recover_text(word)
            self.group = change(self.group, number)
        elif word in DOCUMENT_WORDS:
            DOCUMENT_WORDS[word](self.header, self.group, number)
        elif self.group.destination == "body":
            self._end_element(word)

    def _recover_text(self, word: str) -> None:
        """Returns to the text where a paragraph begins in a header table that was never closed."""
        is_in_header = self.group.destination in ("fonts", "styles", "info")
        if (word == "pard" and is_in_header) or (
            word == "sectd" and self.group.destination == "skip"
        ):
            self.group, self.is_unbalanced = RtfGroup(), True

    def _write_symbol(self, symbol: str) -> None:
        if self.bytes_to_skip:
            self.bytes_to_skip -= 1
        else:
            self._write_text(symbol)

    def _set_destination(self, word: str, is_optional: bool) -> bool:
        """Sets the group's destination by a control word; returns whether the word named one."""
        group = self.group
        if group.destination == "skip":
            self._resume_skipped(word)
        elif word in _INFO_FIELDS and group.destination == "info":
            self.group = replace(group, destination=_INFO_FIELDS[word])
        elif word == "footnote" or word in _BOXES or word in _SIDE_TEXTS:
            self._begin_side_text(word)
        elif (change := DESTINATION_WORDS.get(word)) is not None:
            self.group = change(group)
        elif is_optional and word not in _READ_DESTINATIONS and word != "cs":
            self.group = replace(group, destination="skip")
        else:
            return word in _READ_DESTINATIONS
        return True

    def _resume_skipped(self, word: str) -> None:
        """Resumes reading inside a skipped group, at Unicode text or a picture's properties."""
        if word == "ud":
            outer = [group.destination for group in self.stack if group.destination != "skip"]
            self.group = replace(self.group, destination=outer[-1] if outer else "body")
        elif word in ("sn", "sv"):
            destination = "property name" if word == "sn" else "property value"
            self.group = replace(self.group, destination=destination)

    def _begin_side_text(self, word: str) -> None:
        """Begins a note, a text box, a comment, a header or a footer."""
        if self.group.destination != "body":
            self.group = replace(self.group, destination="skip")
            return
        if word == "footnote":
            self.writer.open_note()
        elif word in _BOXES:
            self.writer.open_float("div")
        else:
            self.writer.open_side_text(_SIDE_TEXTS[word])
        self.group = replace(
            self.group,
            opens_side_text=True,
            in_table=False,
            paragraph_properties=NO_PROPERTIES,
            style=None,
        )

    def _end_element(self, word: str) -> None:
        """Handles control words that end a line, a paragraph, a cell or a page."""
        writer = self.writer
        if word in ("line", "lbr"):
            writer.add_break()
        elif word in ("par", "sect", "nestcell"):
            writer.end_block(self._resolve_paragraph(), self.group.in_table)
            writer.text.starts_page = writer.text.starts_page or word == "sect"
        elif word == "cell":
            writer.end_cell(self._resolve_paragraph())
        elif word == "row":
            writer.end_row()
        elif word == "page":
            writer.break_page()
        elif word == "sbknone":
            writer.text.starts_page = False

    def _resolve_paragraph(self) -> Properties:
        """Returns the current paragraph's properties, with its style's level and role."""
        if self.style_sheet is None:
            self.style_sheet = StyleSheet()
            for number, style in self.header.styles.items():
                self.style_sheet.add(
                    number, style.name, style.base or None, partial(_own_properties, style)
                )
        style_properties = self.style_sheet.resolve(self.group.style or 0)
        return self.group.paragraph_properties.with_base(style_properties)


def _own_properties(style: RtfStyle, base: Properties) -> Properties:
    return Properties(level=style.level)
