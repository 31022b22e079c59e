"""Turns one XHTML document into blocks: headings, paragraphs, scene breaks, and what is left out.

Every text node of the body ends in exactly one block. Knows the markup of words (verse, note, page
number), not where chapters begin and end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import partial

from lxml import etree

from manuscripts import hyphens
from manuscripts.blocks import Block, Container, block_of_lines, left_out_block
from manuscripts.book import Choices, count_characters, count_words, word_set
from manuscripts.matter import kind_of_type, omission_reason
from manuscripts.prose import BREAK, StyledSpan, is_scene_break, plain_text, split_paragraphs
from manuscripts.readers import stage
from manuscripts.readers.elements import (
    BLOCKS,
    HEADING_TYPE,
    INCOMPLETE_REASON,
    LANGUAGE_ATTRIBUTE,
    OMISSION_ATTRIBUTE,
    PAGE_CLASS,
    PICTURES,
    SILENT,
    SOURCE_ATTRIBUTE,
    SPOKEN_PICTURES,
    block_texts,
    body_of,
    element_name,
    emphasis_of,
    holds_verse_lines,
    is_code,
    is_heading,
    is_hidden,
    is_page_mark,
    is_plain_formula,
    is_subtitle,
    language_of,
    level_of,
    may_be_caption,
    single_line_text,
    spoken_formula,
    texts_of,
    types_of,
)
from manuscripts.readers.facts import GUTENBERG_NOTICE
from manuscripts.readers.references import (
    holds_heading,
    is_reference,
    is_reference_around,
    note_bodies,
    note_keys,
    referenced_note_keys,
)
from textbase.characters import strip_invisible

_MAX_DEPTH = 6
"""Depth of nested quotations and lists; deeper ones are written at this depth."""


@dataclass(frozen=True, slots=True)
class Document:
    """The blocks of a document."""

    path: str
    title: str
    language: str | None
    blocks: tuple[Block, ...]
    trailing: tuple[str, ...]
    """Ids after the last block."""
    characters: int
    """Characters of the body, counted independently of the blocks."""


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
"""Begins an address out of the book."""
_MAX_CELL_WORDS = 40
"""Maximum words of a cell of data; a table with longer ones is a layout."""
_SECTIONS = word_set("article aside body div main section")

_NOTE_BODY = word_set("footnote endnote rearnote note doc-footnote doc-endnote")
_NOTE_CLASS = re.compile(r"\b(foot|end)notes?(-?(body|text|content))?\b", re.IGNORECASE)
_MAX_QUOTED_LENGTH = 120
"""Characters of a paragraph that are quoted to find it again."""
_FORMULA_CLASS = re.compile(r"\b(math|formula|equation|tex|latex)\b", re.IGNORECASE)
_BREAK_CLASS = re.compile(
    r"(scene|section|thought|time|context|text|line|space)[-_]?(break|separator)|ornament|asterism|"
    r"separator|dinkus|fleuron|divider|\btb\b",
    re.IGNORECASE,
)
_SPACE_CLASS = re.compile(
    r"\b((space|scene|section)[-_]?(break|before|above)|(break|space)[-_]?(before|above)|"
    r"after[-_]?(scene[-_]?)?break|first[-_]after[-_]break)\b",
    re.IGNORECASE,
)
_VERSE = re.compile(r"\b(poem|poetry|verse|stanza|line-?group|lg|song|lyrics?)\b", re.IGNORECASE)
_NUMBER_CLASS = re.compile(r"\b((chapter|chap|ch)?[-_]?num(ber)?|label|ordinal)\b", re.IGNORECASE)
_BOILERPLATE = re.compile(r"\b(pg-boilerplate|pg-header|pg-footer|pgheader|pgfooter)\b")
_PICTURE_REASON = "picture"
_MAX_LEAD_LENGTH = 80
"""Largest number of characters at the beginning of a paragraph that may be a name with its
additions."""


def read_document(
    root: etree._Element,
    path: str,
    notes: frozenset[str],
    known_words: Collection[str],
    choices: Choices,
) -> Document:
    """Returns the blocks of a document.

    `notes` are the ids that note references point to; `known_words` are the book's words, needed to
    join divided words; `choices` say whether tables, code and pictures are read.
    """
    body = body_of(root)
    title = next(root.iter("{*}title"), None)
    language = body.get(LANGUAGE_ATTRIBUTE) or root.get(LANGUAGE_ATTRIBUTE) or root.get("lang")
    reader = _BodyWalker(path, note_bodies(body, notes), known_words, choices)
    reader.read_block(body)
    return Document(
        path,
        single_line_text(title),
        language,
        tuple(reader.blocks),
        tuple(reader.anchors),
        sum(count_characters(text) for text in texts_of(body)),
    )


@dataclass(frozen=True, slots=True)
class _Context:
    """The effect of the elements around a place."""

    is_em: bool = False
    is_strong: bool = False
    is_direction: bool = False
    is_link: bool = False
    """True if a link into the book is around it."""
    is_preformatted: bool = False
    is_row: bool = False
    """True if it is in a row of a table of data."""
    language: str | None = None


@dataclass(slots=True)
class _Paragraph:
    """A paragraph that is being read."""

    spans: list[StyledSpan] = field(default_factory=list)
    lead_words: str = ""
    """Words that markup sets apart at its beginning."""
    is_name: bool = False
    is_narrated: bool = False
    is_tabular: bool = False
    languages: set[str | None] = field(default_factory=set)
    """Languages of its words."""
    has_words: bool = False
    added_characters: int = 0
    """Characters that are not the source's."""
    linked_characters: int = 0


class _BodyWalker:
    """Walks a body once and collects blocks."""

    def __init__(
        self,
        path: str,
        notes: set[etree._Element],
        known_words: Collection[str],
        choices: Choices,
    ) -> None:
        self.path = path
        self.source = path
        """Place in the source of the current paragraph."""
        self.known_words = known_words
        self.choices = choices
        self.note_elements = notes
        self.blocks: list[Block] = []
        self.paragraph = _Paragraph()
        self.context = _Context()
        self.omitted_blocks: list[Block] = []
        """Blocks left out of the current paragraph; they follow it."""
        self.anchors: list[str] = []
        self.containers: list[Container] = []
        self.sections: list[tuple[str | None, int]] = [(None, 0)]
        """Kind of matter and number of each enclosing section, the innermost last."""
        self.section_count = 0
        self.heading: Block | None = None
        """The heading that is being read."""
        self.holds_pictures: dict[etree._Element, bool] = {}
        """Parents of captions -> whether they contain pictures."""

    # -- blocks ------------------------------------------------------------------------------------

    def read_block(self, element: etree._Element) -> None:
        """Reads a block element, which ends the paragraph before it and its own last one."""
        is_row = self.context.is_row
        if not is_row:
            self.end_paragraph()
        self.source = element.get(SOURCE_ATTRIBUTE) or self.source
        name, types = element_name(element), types_of(element)
        if reason := self._omission_reason(element, name, types.split()):
            self.omit(element, reason)
            return
        if is_row:
            self.paragraph.spans.append(StyledSpan(" "))
            self.walk_children(element)
            self.paragraph.spans.append(StyledSpan(" "))
            return
        self._add_anchors(element)
        kind = kind_of_type(types) if name in _SECTIONS else None
        # Whether it is a part of the enclosing section rather than a sibling.
        is_nested = self.sections[-1][0] not in (None, "part", "volume") and kind != "chapter"
        if is_nested and kind and (reason := omission_reason(kind)):
            self.omit(element, reason)
            return
        if kind and not is_nested:
            self.section_count += 1
            self.sections.append((kind, self.section_count))
        self._read_paragraphs(element, name, types.split())
        if kind and not is_nested:
            self.sections.pop()

    def _read_paragraphs(self, element: etree._Element, name: str, types: list[str]) -> None:
        """Reads a block element that is neither left out nor within a table row."""
        classes = element.get("class", "")
        if name == "p" and _SPACE_CLASS.search(classes):
            self._add_block(Block("scene", self.source))
        first_block, outer = len(self.blocks), self.context
        self.context = replace(
            outer, is_direction=outer.is_direction or stage.is_direction(element)
        )
        self._read_contents(element, name, types, classes)
        is_term = name == "dt" or stage.is_first_of_two(element)
        self._note_lead_words(element, first_span=0, may_be_name=is_term)
        self.context = outer
        self.paragraph.is_tabular |= is_term
        self.paragraph.is_narrated = stage.is_narrated(element)
        self.end_paragraph()
        new_blocks = self.blocks[first_block:]
        if name in ("p", "div") and all(block.reason == _PICTURE_REASON for block in new_blocks):
            self._add_break(element, classes)

    def _note_lead_words(
        self, element: etree._Element, first_span: int, may_be_name: bool = True
    ) -> None:
        """Notes an element's words, from a span of the paragraph on, as those that lead it; these
        may be a speaker's name."""
        paragraph = self.paragraph
        words = " ".join(plain_text(paragraph.spans[first_span:]).split())
        is_name = stage.is_name(element)
        is_inner = paragraph.is_name and words.startswith(paragraph.lead_words)
        may_lead = (may_be_name or is_name) and not (self.context.is_direction or is_inner)
        if may_lead and 0 < len(words) <= _MAX_LEAD_LENGTH:
            paragraph.lead_words, paragraph.is_name = words, is_name

    def _omission_reason(self, element: etree._Element, name: str, types: list[str]) -> str | None:
        """Returns why a block is left out; None if it is not."""
        if reason := element.get(OMISSION_ATTRIBUTE):
            return str(reason)
        classes = element.get("class", "")
        is_note = element in self.note_elements or not _NOTE_BODY.isdisjoint(types)
        reasons = {
            "note": is_note or (name != "body" and _NOTE_CLASS.search(classes)),
            "table of contents": name == "nav",
            "header or footer of a page": "navigation" in types or "contentinfo" in types,
            GUTENBERG_NOTICE: _BOILERPLATE.search(f"{classes} {element.get('id')}"),
            "page number": is_page_mark(types, classes),
            "caption of a picture": self.choices.pictures == "omit"
            and may_be_caption(name, classes)
            and self._is_beside_picture(element),
            "code": self.choices.code == "omit" and name == "pre" and is_code(element),
            "hidden": is_hidden(element),
        }
        return next((reason for reason, applies in reasons.items() if applies), None)

    def _is_beside_picture(self, caption: etree._Element) -> bool:
        parent = caption.getparent()
        if parent is None:
            return False
        if parent not in self.holds_pictures:
            self.holds_pictures[parent] = _has_picture(parent)
        return self.holds_pictures[parent]

    def _read_contents(
        self, element: etree._Element, name: str, types: list[str], classes: str
    ) -> None:
        """Reads a block element by its kind: a heading, quotation, list, table, verse or text."""
        if name == "hgroup" or is_heading(name, types, classes):
            self._read_heading(element)
        elif name == "blockquote":
            self._read_in_container(Container("> ", "> "), partial(self.walk_children, element))
        elif name in ("ul", "ol", "menu"):
            self._read_list(element, is_ordered=name == "ol")
        elif name == "pre":
            outer, self.context = self.context, replace(self.context, is_preformatted=True)
            self.walk_children(element)
            self.context = outer
        elif name == "table":
            self._read_table(element)
        elif _VERSE.search(f"{classes} {' '.join(types)}") and holds_verse_lines(element):
            self._add_source_text(element.text)
            for child in element:
                self._add_anchors(child)
                self.walk_children(child)
                self.paragraph.spans.append(BREAK)
                self._add_source_text(child.tail)
        else:
            self.walk_children(element)

    def _read_heading(self, element: etree._Element) -> None:
        """Reads a heading; a subtitle is joined with the heading above."""
        if self.heading is not None or self.containers:
            # Inside a quotation or an hgroup, a heading is only a strong line.
            outer = self.context
            self.context = replace(outer, is_strong=outer.is_strong or self.heading is None)
            self.walk_children(element)
            self.end_paragraph()
            self.context = outer
            return
        levels = filter(None, map(level_of, element.iter("{*}*")))
        block = self.heading = Block("heading", self.source, level=min(levels, default=2))
        self.walk_children(element)
        self.end_paragraph()
        self.heading = None
        if self.blocks and self.blocks[-1].kind == "heading" and is_subtitle(element):
            self.blocks[-1].merge(block)
        elif block.lines or _has_picture(element):
            self._add_block(block)
        self._add_omitted_blocks()

    def _read_in_container(self, container: Container, read: Callable[[], None]) -> None:
        """Reads blocks with `read` as those of a quotation or a list item."""
        self.end_paragraph()
        if len(self.containers) >= _MAX_DEPTH:
            read()
            return
        self.containers.append(container)
        read()
        self.end_paragraph()
        self.containers.pop()

    def _read_list(self, element: etree._Element, is_ordered: bool) -> None:
        """Reads a list with its numbers; what stands between items is read as blocks."""
        start = element.get("start", "1")
        number = int(start) if start.isascii() and start.isdigit() and len(start) < 8 else 1
        is_ordered = is_ordered and "none" not in element.get("style", "")
        self._add_source_text(element.text)
        for child in element:
            if element_name(child) == "li":
                marker = f"{number}. " if is_ordered else "- "
                number += 1
                container = Container(marker, " " * len(marker))
                self._read_in_container(container, partial(self.read_block, child))
            else:
                self.walk_node(child)
            self._add_source_text(child.tail)

    def _read_table(self, element: etree._Element) -> None:
        """Reads rows of data as lines with semicolons between cells; a layout table as ordinary
        blocks."""
        cells = list(element.iter("{*}td", "{*}th"))
        rows = list(element.iter("{*}tr"))
        has_short_cells = all(
            count_words("".join(cell.itertext())) <= _MAX_CELL_WORDS for cell in cells
        )
        inner_table = next(element.iterdescendants("{*}table"), None)
        if len(cells) <= len(rows) or not has_short_cells or inner_table is not None:
            self.walk_children(element)
        elif self.choices.tables == "omit":
            self.omit(element, "table")
        else:
            self._read_rows(element)

    def _read_rows(self, parent: etree._Element) -> None:
        """Reads the rows in a table or a part of one."""
        self._add_source_text(parent.text)
        for part in parent:
            if element_name(part) == "tr":
                self._read_row(part)
            elif element_name(part) in ("tbody", "thead", "tfoot"):
                self._read_rows(part)
            else:
                self.walk_node(part)
            self._add_source_text(part.tail)

    def _read_row(self, row: etree._Element) -> None:
        """Reads a row of data as a paragraph."""
        self.end_paragraph()
        if reason := row.get(OMISSION_ATTRIBUTE) or ("note" if row in self.note_elements else None):
            self.omit(row, reason)
            return
        self._add_anchors(row)
        outer, self.context = self.context, replace(self.context, is_row=True)
        self._add_source_text(row.text)
        for cell in row:
            if "".join(cell.itertext()).strip():
                self._separate_cells()
            is_first = not self.paragraph.has_words
            self.walk_node(cell)
            if is_first:
                may_be_name = stage.is_first_of_two(cell)
                self._note_lead_words(cell, first_span=0, may_be_name=may_be_name)
            self._add_source_text(cell.tail)
        self.context = outer
        self.paragraph.is_tabular = True
        self.end_paragraph()

    def _separate_cells(self) -> None:
        """Adds a semicolon after the cell above, unless it ends with a mark."""
        spans = self.paragraph.spans
        while spans and not spans[-1].text.strip():
            spans.pop()
        if self.paragraph.has_words and spans[-1].text.rstrip()[-1:] not in ";:,.!?":
            spans[-1] = replace(spans[-1], text=spans[-1].text.rstrip())
            spans.append(StyledSpan(";"))
            self.paragraph.added_characters += 1
        spans.append(StyledSpan(" "))

    def _add_break(self, element: etree._Element, classes: str) -> None:
        """Adds a break for a paragraph without words: a scene break by its markup, or a gap if it
        takes up room."""
        pictures = list(element.iter("{*}img", "{*}image", "{*}svg"))
        descriptions = [classes] + [
            " ".join(e.get(key, "") for key in ("class", "alt", "src")) for e in pictures
        ]
        if any(_BREAK_CLASS.search(words) or is_scene_break(words) for words in descriptions):
            self._add_block(Block("scene", self.source))
        elif not pictures and element_name(element) == "p":
            text = "".join(element.itertext())
            if "\xa0" in text or next(element.iter("{*}br"), None) is not None:
                self._add_block(Block("gap", self.source))

    def _add_block(self, block: Block) -> None:
        block.matter, block.section = self.sections[-1]
        block.anchors = (*self.anchors, *block.anchors)
        self.anchors.clear()
        self.blocks.append(block)

    def end_paragraph(self) -> None:
        """Ends the current paragraph."""
        ended, self.paragraph = self.paragraph, _Paragraph()
        paragraphs = split_paragraphs(ended.spans)
        for block in self.omitted_blocks:
            if block.reason == INCOMPLETE_REASON and paragraphs:
                sentence = " ".join(plain_text(line) for lines in paragraphs for line in lines)
                block.reason = f"{INCOMPLETE_REASON}: “{sentence[:_MAX_QUOTED_LENGTH]}”"
        for index, lines in enumerate(paragraphs):
            text = " ".join(map(plain_text, lines))
            block = block_of_lines("scene" if is_scene_break(text) else "text", self.source, lines)
            block.language = next(iter(ended.languages)) if len(ended.languages) == 1 else None
            block.is_narrated, block.is_tabular = ended.is_narrated, ended.is_tabular
            if not index:
                block.characters -= ended.added_characters
                block.lead_words, block.is_name = ended.lead_words, ended.is_name
            if self.heading is not None:
                self.heading.merge(block)
                continue
            block.containers = tuple(self.containers)
            block.linked_characters = ended.linked_characters if len(paragraphs) == 1 else 0
            self._add_block(block)
        if self.heading is None:
            self._add_omitted_blocks()

    def _add_omitted_blocks(self) -> None:
        for block in self.omitted_blocks:
            block.matter, block.section = self.sections[-1]
        self.blocks += self.omitted_blocks
        self.omitted_blocks.clear()

    # -- inside a paragraph ------------------------------------------------------------------------

    def walk_children(self, element: etree._Element) -> None:
        outer, self.context = self.context, replace(self.context, language=language_of(element))
        self._add_source_text(element.text)
        for child in element:
            self.walk_node(child)
            self._add_source_text(child.tail)
        self.context = outer

    def walk_node(self, element: etree._Element) -> None:
        """Reads an element of any kind."""
        name = element_name(element)
        if not name or name in SILENT:
            return
        if name in BLOCKS:
            self.read_block(element)
        elif name == "br":
            self.paragraph.spans.append(BREAK)
            self.walk_children(element)
        elif name == "hr":
            self.end_paragraph()
            self._add_anchors(element)
            if not (PAGE_CLASS.search(element.get("class", "")) or is_hidden(element)):
                self._add_block(Block("scene", self.source))
            self.walk_children(element)
        else:
            self._read_inline(element, name)

    def _read_inline(self, element: etree._Element, name: str) -> None:
        """Reads an element within a paragraph, or leaves it out for a reason."""
        types, classes = types_of(element).split(), element.get("class", "")
        self._add_anchors(element)
        is_picture = name in PICTURES
        is_note_reference = (name == "a" and is_reference(element)) or (
            name == "sup" and is_reference_around(element)
        )
        reasons = {
            _PICTURE_REASON: is_picture,
            "ruby annotation": name in ("rt", "rp", "rtc"),
            "page number": is_page_mark(types, classes),
            "reference to a note": is_note_reference,
            "note": not _NOTE_BODY.isdisjoint(types),
            "hidden": is_hidden(element),
        }
        stated_reason = element.get(OMISSION_ATTRIBUTE)
        reason = stated_reason or next((why for why, applies in reasons.items() if applies), None)
        if is_picture and not stated_reason:
            self._read_picture(element, name)
        elif reason:
            self.omit(element, reason)
        else:
            self._read_styled(element, name, types, classes)

    def _read_styled(
        self, element: etree._Element, name: str, types: list[str], classes: str
    ) -> None:
        """Reads an element within a paragraph that may be emphasised, a link or a quotation."""
        outer, href = self.context, element.get("href", "")
        is_link = name == "a" and bool(href) and not _SCHEME.match(href)
        is_em, is_strong = emphasis_of(element)
        is_first, first_span = not self.paragraph.has_words, len(self.paragraph.spans)
        self.context = replace(
            outer,
            is_em=outer.is_em or is_em,
            is_strong=outer.is_strong or is_strong,
            is_direction=outer.is_direction or stage.is_direction(element),
            is_link=outer.is_link or is_link,
        )
        self._add_inserted_text("“" if name == "q" else "")
        self.walk_children(element)
        self._add_inserted_text("”" if name == "q" else "")
        if is_first:
            self._note_lead_words(element, first_span)
        self.context = outer
        is_number = HEADING_TYPE.intersection(types) - {"title"} or _NUMBER_CLASS.search(classes)
        if self.heading is not None and is_number:
            self.paragraph.spans.append(BREAK)

    def _read_picture(self, element: etree._Element, name: str) -> None:
        """Reads a picture: an initial, a formula, an alternative text; leaves out others."""
        alt = element.get("alt", "").strip()
        following = (element.tail or "").strip()
        if name == "img" and re.fullmatch(r"[“‘\"']?\w", alt) and following[:1].isalpha():
            # An initial drawn as a picture; without it the first word would be cut.
            self._add_span(alt)
        elif name == "math" or (_FORMULA_CLASS.search(element.get("class", "")) and alt):
            self._read_formula(element, alt)
        elif self.choices.pictures == "read" and name == "img" and count_words(alt):
            # As a paragraph, or within the current one.
            is_within_paragraph = self.paragraph.has_words or self.heading is not None
            if not is_within_paragraph:
                self.end_paragraph()
            self._add_span(f" {alt} ")
            if not is_within_paragraph:
                self.end_paragraph()
        else:
            self.omit(element, _PICTURE_REASON)

    def _read_formula(self, element: etree._Element, alt: str) -> None:
        """Reads a formula by its alternative text, or by its signs if it is a plain row of them."""
        spoken_text = spoken_formula(element, alt)
        if spoken_text is None:
            self.omit(element, INCOMPLETE_REASON)
            return
        self._add_span(f" {spoken_text} ")
        if element_name(element) in SPOKEN_PICTURES:
            return
        self.paragraph.added_characters += count_characters(spoken_text)
        if is_plain_formula(element) and not alt:
            self.paragraph.added_characters -= sum(map(count_characters, texts_of(element)))
        else:
            self.omit(element, "formula, spoken by its alternative text")

    def omit(self, element: etree._Element, reason: str) -> None:
        """Leaves out the words of `element`."""
        if reason == "note" and self._holds_notes(element):
            self._omit_notes(element)
            return
        text = strip_invisible(" ".join(block_texts(element)))
        block = left_out_block(self.source, hyphens.join(text, self.known_words), reason)
        block.characters = count_characters(text)
        if reason == "note":
            block.note_keys = tuple(note_keys(self.path, element))
        elif reason == "reference to a note":
            block.note_references = tuple(referenced_note_keys(self.path, element))
        if self.paragraph.spans or self.heading is not None:
            self.omitted_blocks += [block] if block.characters else []
            return
        block.anchors = tuple(e.get("id", "") for e in element.iter("{*}*") if e.get("id"))
        if block.characters:
            self._add_block(block)
        else:
            self.anchors += block.anchors

    def _holds_notes(self, element: etree._Element) -> bool:
        """Returns whether an element is not a note itself but holds several, or one with a heading
        above."""
        note_count = sum(
            descendant in self.note_elements for descendant in element.iterdescendants("{*}*")
        )
        is_headed = element not in self.note_elements and holds_heading(element)
        return note_count > 1 or (note_count == 1 and is_headed)

    def _omit_notes(self, element: etree._Element) -> None:
        """Leaves out the notes of an element, each by itself."""
        self._add_block(left_out_block(self.source, strip_invisible(element.text or ""), "note"))
        for child in element:
            if element_name(child):
                self.omit(child, "note")
            self._add_block(left_out_block(self.source, strip_invisible(child.tail or ""), "note"))

    def _add_source_text(self, text: str | None) -> None:
        """Adds a text node of the source."""
        if not text:
            return
        paragraph, context = self.paragraph, self.context
        if context.is_link:
            paragraph.linked_characters += count_characters(text)
        if any(map(str.isalpha, text)):
            paragraph.languages.add(context.language)
        if context.is_preformatted:
            for index, line in enumerate(text.split("\n")):
                paragraph.spans += [BREAK] if index else []
                self._add_span(line)
            return
        if hyphens.DIVIDED_WORD.search(text):
            joined_text = hyphens.join(text, self.known_words)
            paragraph.added_characters += count_characters(joined_text) - count_characters(text)
            text = joined_text
        if not text.isspace() or "\xa0" not in text or paragraph.spans:
            self._add_span(text)

    def _add_inserted_text(self, text: str) -> None:
        """Adds words that are not the source's."""
        if text:
            self._add_span(text)
            self.paragraph.added_characters += count_characters(text)

    def _add_span(self, text: str) -> None:
        context = self.context
        self.paragraph.has_words |= bool(text.strip())
        self.paragraph.spans.append(
            StyledSpan(text, context.is_em, context.is_strong, context.is_direction)
        )

    def _add_anchors(self, element: etree._Element) -> None:
        self.anchors += filter(None, (element.get("id"), element.get("name")))


def _has_picture(element: etree._Element) -> bool:
    return any(element_name(e) in PICTURES for e in element.iter("{*}*"))
