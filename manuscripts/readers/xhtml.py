"""Turns one XHTML document into blocks: headings, paragraphs, scene breaks, and what is left out.

Every text node of the body ends in exactly one block. Knows the markup of words (verse, note, page
number), not where chapters begin and end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial

from lxml import etree

from manuscripts import hyphens
from manuscripts.blocks import Block, Container, block_of_lines, left_out_block
from manuscripts.book import Choices, count_characters, count_words, word_set
from manuscripts.matter import kind_of_type, omission_reason
from manuscripts.prose import BREAK, StyledSpan, is_scene_break, plain_text, split_paragraphs
from manuscripts.readers import stage
from manuscripts.readers.archive import types_of
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
    element_name,
    is_code,
    is_heading,
    is_hidden,
    is_lines,
    is_page_mark,
    is_plain_formula,
    is_subtitle,
    language_of,
    level_of,
    may_be_caption,
    runs_of,
    spoken_formula,
    texts_of,
)
from manuscripts.readers.references import (
    holds_heading,
    is_reference,
    is_reference_around,
    keys_of,
    note_bodies,
    targets_of,
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


_SECTIONS = word_set("article aside body div main section")
_EM = word_set("em i cite dfn var")
_STRONG = word_set("strong b")

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
_ITALIC = re.compile(r"font-style\s*:\s*(italic|oblique)", re.IGNORECASE)
_BOLD = re.compile(r"font-weight\s*:\s*(bold|[6-9]00)", re.IGNORECASE)
_EM_CLASS = re.compile(r"(?<!\S)(i|it|ital|italics?|em|emph|emphasis)(?!\S)", re.IGNORECASE)
_PICTURE_REASON = "picture"
_MAX_LEAD_LENGTH = 80
"""Largest number of characters at the beginning of a paragraph that may be a name with its
additions."""
_STRONG_CLASS = re.compile(r"(?<!\S)(b|bold|strong)(?!\S)", re.IGNORECASE)


def read_document(
    root: etree._Element,
    path: str,
    notes: frozenset[str],
    is_internal: Callable[[str], bool],
    known_words: Collection[str] = frozenset(),
    choices: Choices = Choices(),  # noqa: B008  # frozen
) -> Document:
    """Returns the blocks of a document.

    `notes` are the ids that note references point to; `is_internal` recognises links into the book;
    `known_words` are the book's words, needed to join divided words; `choices` say whether tables,
    code and pictures are read.
    """
    body = next(root.iter("{*}body"), root)
    title = next(root.iter("{*}title"), None)
    language = body.get(LANGUAGE_ATTRIBUTE) or root.get(LANGUAGE_ATTRIBUTE) or root.get("lang")
    reader = _BodyWalker(path, note_bodies(body, notes), is_internal, known_words, choices)
    reader.block(body)
    return Document(
        path,
        "" if title is None else " ".join(strip_invisible("".join(title.itertext())).split()),
        language,
        tuple(reader.blocks),
        tuple(reader.anchors),
        sum(count_characters(text) for text in texts_of(body)),
    )


class _BodyWalker:
    """Walks a body once and collects blocks."""

    def __init__(
        self,
        path: str,
        notes: set[etree._Element],
        is_internal: Callable[[str], bool],
        known_words: Collection[str],
        choices: Choices,
    ) -> None:
        self.path = path
        self.source = path
        """Place in the source of the current paragraph."""
        self.known_words = known_words
        self.choices = choices
        self.notes = notes
        self.is_internal = is_internal
        self.blocks: list[Block] = []
        self.spans: list[StyledSpan] = []
        self.omitted: list[Block] = []
        """Blocks left out of the current paragraph; they follow it."""
        self.anchors: list[str] = []
        self.containers: list[Container] = []
        self.matter: list[tuple[str | None, int]] = [(None, 0)]
        self.section_count = 0
        self.heading: Block | None = None
        self.em_depth = self.strong_depth = self.direction_depth = self.link_depth = (
            self.preformatted_depth
        ) = self.row_depth = 0
        self.lead_words = ""
        """Words that markup sets apart at the beginning of the current paragraph."""
        self.is_name = self.is_narrated = self.is_tabular = False
        self.language: str | None = None
        """Language of the current element."""
        self.languages: set[str | None] = set()
        """Languages of the current paragraph's words."""
        self.has_words = False
        """Whether the current paragraph has words yet."""
        self.added_characters = 0
        """Characters of the current paragraph that are not the source's."""
        self.linked_characters = 0
        self.holds_pictures: dict[etree._Element, bool] = {}
        """Parents of captions -> whether they contain pictures."""

    # -- blocks ------------------------------------------------------------------------------------

    def block(self, element: etree._Element) -> None:
        """Reads a block element, which ends the paragraph before it and its own last one."""
        if not self.row_depth:
            self.flush()
        self.source = element.get(SOURCE_ATTRIBUTE) or self.source
        name, types, classes = (
            element_name(element),
            types_of(element).split(),
            element.get("class", ""),
        )
        if reason_left := self._omission_reason(element, name, types, classes):
            self.leave(element, reason_left)
            return
        if self.row_depth:
            self.spans.append(StyledSpan(" "))
            self.children(element)
            self.spans.append(StyledSpan(" "))
            return
        self._add_anchors(element)
        kind = kind_of_type(types_of(element)) if name in _SECTIONS else None
        is_nested = kind is not None and self._is_nested(kind)
        if is_nested and (reason_left := omission_reason(kind)):
            self.leave(element, reason_left)
            return
        if kind is None or is_nested:
            self._read_paragraphs(element, name, types, classes)
            return
        self.section_count += 1
        self.matter.append((kind, self.section_count))
        self._read_paragraphs(element, name, types, classes)
        self.matter.pop()

    def _read_paragraphs(
        self, element: etree._Element, name: str, types: list[str], classes: str
    ) -> None:
        """Reads a block element that is neither left out nor within a table row."""
        if name == "p" and _SPACE_CLASS.search(classes):
            self._add_block(Block("scene", self.source))
        first_block = len(self.blocks)
        is_direction = stage.is_direction(element)
        self.direction_depth += is_direction
        self._read_contents(element, name, types, classes)
        is_term = name == "dt" or stage.is_first_of_two(element)
        self.is_tabular = self.is_tabular or is_term
        self._note_lead_words(element, 0, is_term)
        self.direction_depth -= is_direction
        self.is_narrated = stage.is_narrated(element)
        self.flush()
        if name in ("p", "div") and all(
            b.reason == _PICTURE_REASON for b in self.blocks[first_block:]
        ):
            self._add_break(element, classes)

    def _note_lead_words(
        self, element: etree._Element, first_span: int, may_be_name: bool = True
    ) -> None:
        """Notes an element's words at the beginning of a paragraph, which may be a speaker's
        name."""
        words = " ".join(plain_text(self.spans[first_span:]).split())
        is_name = stage.is_name(element)
        is_inner = self.is_name and words.startswith(self.lead_words)
        if (
            (may_be_name or is_name)
            and 0 < len(words) <= _MAX_LEAD_LENGTH
            and not self.direction_depth
            and not is_inner
        ):
            self.lead_words, self.is_name = words, is_name

    def _is_caption(self, element: etree._Element, name: str, classes: str) -> bool:
        """Returns whether an element is the caption of a picture beside it."""
        if not may_be_caption(name, classes):
            return False
        parent = element.getparent()
        if parent is not None and parent not in self.holds_pictures:
            self.holds_pictures[parent] = any(
                element_name(e) in PICTURES for e in parent.iter("{*}*")
            )
        return parent is not None and self.holds_pictures[parent]

    def _is_nested(self, kind: str) -> bool:
        """Returns whether a section of this kind is part of the enclosing one rather than a
        sibling."""
        outer_kind = self.matter[-1][0]
        return outer_kind not in (None, "part", "volume") and kind != "chapter"

    def _omission_reason(
        self, element: etree._Element, name: str, types: list[str], classes: str
    ) -> str | None:
        if reason_left := element.get(OMISSION_ATTRIBUTE):
            return str(reason_left)
        if self._is_note(element, name, types, classes):
            return "note"
        if name == "nav":
            return "table of contents"
        if "navigation" in types or "contentinfo" in types:
            return "header or footer of a page"
        if _BOILERPLATE.search(f"{classes} {element.get('id', '')}"):
            return "notice of Project Gutenberg"
        if is_page_mark(types, classes):
            return "page number"
        if self.choices.pictures == "omit" and self._is_caption(element, name, classes):
            return "caption of a picture"
        if self.choices.code == "omit" and name == "pre" and is_code(element):
            return "code"
        return "hidden" if is_hidden(element) else None

    def _is_note(self, element: etree._Element, name: str, types: list[str], classes: str) -> bool:
        is_named = name != "body" and _NOTE_CLASS.search(classes)
        return element in self.notes or bool(_NOTE_BODY.intersection(types) or is_named)

    def _read_contents(
        self, element: etree._Element, name: str, types: list[str], classes: str
    ) -> None:
        if name == "hgroup" or is_heading(name, types, classes):
            self._read_heading(element, name)
        elif name == "blockquote":
            self._read_in_container(Container("> ", "> "), partial(self.children, element))
        elif name in ("ul", "ol", "menu"):
            self._read_list(element, ordered=name == "ol")
        elif name == "pre":
            self.preformatted_depth += 1
            self.children(element)
            self.preformatted_depth -= 1
        elif name == "table":
            self._read_table(element)
        elif _VERSE.search(f"{classes} {' '.join(types)}") and is_lines(element):
            self._add_source_text(element.text)
            for child in element:
                self._add_anchors(child)
                self.children(child)
                self.spans.append(BREAK)
                self._add_source_text(child.tail)
        else:
            self.children(element)

    def _read_heading(self, element: etree._Element, name: str) -> None:
        if self.heading is not None or self.containers:
            # Inside a quotation or an hgroup, a heading is only a strong line.
            self.strong_depth += self.heading is None
            self.children(element)
            self.flush()
            self.strong_depth -= self.heading is None
            return
        levels = [level_of(e) for e in element.iter("{*}*") if level_of(e)]
        block = self.heading = Block("heading", self.source, level=min(levels, default=2))
        self.children(element)
        self.flush()
        self.heading = None
        block_above = self.blocks[-1] if self.blocks else None
        if block_above is not None and block_above.kind == "heading" and is_subtitle(element):
            block_above.merge(block)
        elif block.lines or any(element_name(e) in PICTURES for e in element.iter("{*}*")):
            self._add_block(block)
        self._add_omitted()

    def _read_in_container(self, container: Container, read: Callable[[], None]) -> None:
        self.flush()
        if len(self.containers) >= _MAX_DEPTH:
            read()
            return
        self.containers.append(container)
        read()
        self.flush()
        self.containers.pop()

    def _read_list(self, element: etree._Element, ordered: bool) -> None:
        start = element.get("start", "1")
        number = int(start) if start.isascii() and start.isdigit() and len(start) < 8 else 1
        ordered = ordered and "none" not in element.get("style", "")
        self._add_source_text(element.text)
        for child in element:
            if element_name(child) == "li":
                marker = f"{number}. " if ordered else "- "
                number += 1
                container = Container(marker, " " * len(marker))
                self._read_in_container(container, partial(self.block, child))
            else:
                self.node(child)
            self._add_source_text(child.tail)

    def _read_table(self, element: etree._Element) -> None:
        """Reads rows of data as lines with semicolons between cells; a layout table as ordinary
        blocks."""
        cells = list(element.iter("{*}td", "{*}th"))
        rows = list(element.iter("{*}tr"))
        is_table = len(cells) > len(rows) and all(
            count_words("".join(cell.itertext())) <= 40 for cell in cells
        )
        if not is_table or any(
            True for inner_table in element.iter("{*}table") if inner_table is not element
        ):
            self.children(element)
            return
        if self.choices.tables == "omit":
            self.leave(element, "table")
            return
        self._add_source_text(element.text)
        for part in element:
            if element_name(part) in ("tr", "tbody", "thead", "tfoot"):
                rows_of_part = [part] if element_name(part) == "tr" else list(part)
                self._add_source_text(None if element_name(part) == "tr" else part.text)
                for row in rows_of_part:
                    self._read_row(row)
                    self._add_source_text(row.tail if row is not part else None)
            else:
                self.node(part)
            self._add_source_text(part.tail)

    def _read_row(self, row: etree._Element) -> None:
        self.flush()
        if reason_left := row.get(OMISSION_ATTRIBUTE) or ("note" if row in self.notes else None):
            self.leave(row, reason_left)
            return
        self._add_anchors(row)
        self.row_depth += 1
        self._add_source_text(row.text)
        for cell in row:
            if "".join(cell.itertext()).strip():
                self._separate_cells()
            is_first = not self.has_words
            self.node(cell)
            if is_first:
                self._note_lead_words(cell, 0, stage.is_first_of_two(cell))
            self._add_source_text(cell.tail)
        self.row_depth -= 1
        self.is_tabular = True
        self.flush()

    def _separate_cells(self) -> None:
        while self.spans and not self.spans[-1].text.strip():
            self.spans.pop()
        if self.has_words and self.spans[-1].text.rstrip()[-1:] not in ";:,.!?":
            last_span = self.spans.pop()
            self.spans += [
                StyledSpan(last_span.text.rstrip(), last_span.em, last_span.strong),
                StyledSpan(";"),
            ]
            self.added_characters += 1
        self.spans.append(StyledSpan(" "))

    def _add_break(self, element: etree._Element, classes: str) -> None:
        """Adds a break for a paragraph without words: a scene break by its markup, or a gap if it
        takes up room."""
        pictures = list(element.iter("{*}img", "{*}image", "{*}svg"))
        descriptions = [classes] + [
            f"{e.get('class', '')} {e.get('alt', '')} {e.get('src', '')}" for e in pictures
        ]
        if any(_BREAK_CLASS.search(words) or is_scene_break(words) for words in descriptions):
            self._add_block(Block("scene", self.source))
        elif not pictures and element_name(element) == "p":
            text = "".join(element.itertext())
            if "\xa0" in text or next(element.iter("{*}br"), None) is not None:
                self._add_block(Block("gap", self.source))

    def _add_block(self, block: Block) -> None:
        block.matter, block.section = self.matter[-1]
        block.anchors = (*self.anchors, *block.anchors)
        self.anchors.clear()
        self.blocks.append(block)

    def flush(self) -> None:
        """Ends the current paragraph."""
        paragraphs = split_paragraphs(self.spans)
        added_characters, linked_characters = self.added_characters, self.linked_characters
        language = self.languages.pop() if len(self.languages) == 1 else None
        self.languages.clear()
        for block in self.omitted:
            if block.reason == INCOMPLETE_REASON and paragraphs:
                sentence = " ".join(plain_text(line) for lines in paragraphs for line in lines)
                block.reason = f"{INCOMPLETE_REASON}: “{sentence[:_MAX_QUOTED_LENGTH]}”"
        self.spans.clear()
        self.has_words = False
        self.added_characters = self.linked_characters = 0
        lead_words, is_name = self.lead_words, self.is_name
        self.lead_words, self.is_name = "", False
        is_tabular, self.is_tabular = self.is_tabular, False
        for index, lines in enumerate(paragraphs):
            text = " ".join(map(plain_text, lines))
            block = block_of_lines("scene" if is_scene_break(text) else "text", self.source, lines)
            block.characters -= added_characters
            block.language = language
            block.is_narrated, block.is_tabular = self.is_narrated, is_tabular
            if not index:
                block.lead_words, block.is_name = lead_words, is_name
            added_characters = 0
            if self.heading is not None:
                self.heading.merge(block)
                continue
            block.containers = tuple(self.containers)
            block.linked_characters = linked_characters if len(paragraphs) == 1 else 0
            self._add_block(block)
        self.is_narrated = False
        if self.heading is None:
            self._add_omitted()

    def _add_omitted(self) -> None:
        for block in self.omitted:
            block.matter, block.section = self.matter[-1]
        self.blocks += self.omitted
        self.omitted.clear()

    # -- inside a paragraph ------------------------------------------------------------------------

    def children(self, element: etree._Element) -> None:
        outer_language, self.language = self.language, language_of(element)
        self._add_source_text(element.text)
        for child in element:
            self.node(child)
            self._add_source_text(child.tail)
        self.language = outer_language

    def node(self, element: etree._Element) -> None:
        name = element_name(element)
        if not name or name in SILENT:
            return
        if name in BLOCKS:
            self.block(element)
        elif name == "br":
            self.spans.append(BREAK)
            self.children(element)
        elif name == "hr":
            self.flush()
            self._add_anchors(element)
            if not (PAGE_CLASS.search(element.get("class", "")) or is_hidden(element)):
                self._add_block(Block("scene", self.source))
            self.children(element)
        else:
            self._read_inline(element, name)

    def _read_inline(self, element: etree._Element, name: str) -> None:
        types, classes = types_of(element).split(), element.get("class", "")
        self._add_anchors(element)
        if reason_left := element.get(OMISSION_ATTRIBUTE):
            self.leave(element, reason_left)
        elif name in PICTURES:
            self._read_picture(element, name)
        elif name in ("rt", "rp", "rtc"):
            self.leave(element, "ruby annotation")
        elif is_page_mark(types, classes):
            self.leave(element, "page number")
        elif (name == "a" and is_reference(element)) or (
            name == "sup" and is_reference_around(element)
        ):
            self.leave(element, "reference to a note")
        elif _NOTE_BODY.intersection(types):
            self.leave(element, "note")
        elif is_hidden(element):
            self.leave(element, "hidden")
        else:
            self._read_styled(element, name, types, classes)

    def _read_styled(
        self, element: etree._Element, name: str, types: list[str], classes: str
    ) -> None:
        style = element.get("style", "")
        is_plain_span = name in ("span", "font", "a")
        is_em = name in _EM or bool(
            is_plain_span and (_EM_CLASS.search(classes) or _ITALIC.search(style))
        )
        is_strong = name in _STRONG or bool(
            is_plain_span and (_STRONG_CLASS.search(classes) or _BOLD.search(style))
        )
        is_link = name == "a" and self.is_internal(element.get("href", ""))
        is_direction = stage.is_direction(element)
        is_first, first_span = not self.has_words, len(self.spans)
        self.em_depth += is_em
        self.strong_depth += is_strong
        self.direction_depth += is_direction
        self.link_depth += is_link
        if name == "q":
            self._add_text("“")
        self.children(element)
        if name == "q":
            self._add_text("”")
        self.direction_depth -= is_direction
        if is_first and not is_direction:
            self._note_lead_words(element, first_span)
        self.em_depth -= is_em
        self.strong_depth -= is_strong
        self.link_depth -= is_link
        is_number = HEADING_TYPE.intersection(types) - {"title"} or _NUMBER_CLASS.search(classes)
        if self.heading is not None and is_number:
            self.spans.append(BREAK)

    def _read_picture(self, element: etree._Element, name: str) -> None:
        alt = element.get("alt", "").strip()
        following = (element.tail or "").strip()
        if name == "img" and re.fullmatch(r"[“‘\"']?\w", alt) and following[:1].isalpha():
            # An initial drawn as a picture; without it the first word would be cut.
            self._add_span(alt)
        elif name == "math" or (_FORMULA_CLASS.search(element.get("class", "")) and alt):
            self._read_formula(element, alt)
        elif self.choices.pictures == "read" and name == "img" and count_words(alt):
            self._read_alternative_text(alt)
        else:
            self.leave(element, _PICTURE_REASON)

    def _read_alternative_text(self, alt: str) -> None:
        """Reads a picture's alternative text as a paragraph, or within the current one."""
        is_within_paragraph = self.has_words or self.heading is not None
        if not is_within_paragraph:
            self.flush()
        self._add_span(f" {alt} ")
        if not is_within_paragraph:
            self.flush()

    def _read_formula(self, element: etree._Element, alt: str) -> None:
        """Reads a formula by its alternative text, or by its signs if it is a plain row of them."""
        spoken_text = spoken_formula(element, alt)
        if spoken_text is None:
            self.leave(element, INCOMPLETE_REASON)
        elif element_name(element) in SPOKEN_PICTURES:
            self._add_span(f" {spoken_text} ")
        elif is_plain_formula(element) and not alt:
            self.spans.append(StyledSpan(f" {spoken_text} "))
            self.has_words = True
            self.added_characters += count_characters(spoken_text) - sum(
                map(count_characters, texts_of(element))
            )
        else:
            self.spans.append(StyledSpan(" "))
            self._add_text(spoken_text)
            self.spans.append(StyledSpan(" "))
            self.leave(element, "formula, spoken by its alternative text")

    def leave(self, element: etree._Element, reason: str) -> None:
        """Leaves out the words of `element`."""
        if reason == "note" and self._holds_notes(element):
            self._leave_notes(element)
            return
        text = strip_invisible(" ".join(runs_of(element)))
        block = left_out_block(self.source, hyphens.join(text, self.known_words), reason)
        block.characters = count_characters(text)
        block.note = tuple(keys_of(self.path, element)) if reason == "note" else ()
        block.refs = (
            tuple(targets_of(self.path, element)) if reason == "reference to a note" else ()
        )
        if self.spans or self.heading is not None:
            if block.characters:
                self.omitted.append(block)
            return
        block.anchors = tuple(e.get("id", "") for e in element.iter("{*}*") if e.get("id"))
        if block.characters:
            self._add_block(block)
        else:
            self.anchors += block.anchors

    def _holds_notes(self, element: etree._Element) -> bool:
        """Returns whether an element is not a note itself but holds several, or one with a heading
        above."""
        note_count = sum(descendant in self.notes for descendant in element.iterdescendants("{*}*"))
        return note_count > 1 or (
            note_count == 1 and element not in self.notes and holds_heading(element)
        )

    def _leave_notes(self, element: etree._Element) -> None:
        """Leaves out the notes of an element, each by itself."""
        self._add_block(left_out_block(self.source, strip_invisible(element.text or ""), "note"))
        for child in element:
            if element_name(child):
                self.leave(child, "note")
            self._add_block(left_out_block(self.source, strip_invisible(child.tail or ""), "note"))

    def _add_source_text(self, text: str | None) -> None:
        if not text:
            return
        if self.link_depth:
            self.linked_characters += count_characters(text)
        if any(map(str.isalpha, text)):
            self.languages.add(self.language)
        if not self.preformatted_depth and hyphens.DIVIDED_WORD.search(text):
            joined_text = hyphens.join(text, self.known_words)
            self.added_characters += count_characters(joined_text) - count_characters(text)
            text = joined_text
        if self.preformatted_depth:
            for index, line in enumerate(text.split("\n")):
                if index:
                    self.spans.append(BREAK)
                self._add_span(line)
        elif not text.isspace() or "\xa0" not in text or self.spans:
            self._add_span(text)

    def _add_text(self, text: str) -> None:
        self._add_span(text)
        self.added_characters += count_characters(text)

    def _add_span(self, text: str) -> None:
        self.has_words = self.has_words or bool(text.strip())
        self.spans.append(
            StyledSpan(text, self.em_depth > 0, self.strong_depth > 0, self.direction_depth > 0)
        )

    def _add_anchors(self, element: etree._Element) -> None:
        for name in (element.get("id"), element.get("name")):
            if name:
                self.anchors.append(name)
