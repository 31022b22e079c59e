"""One XHTML document -> blocks: headings, paragraphs, scene breaks, and what is left out.

Every text node of the body ends in exactly one block. Knows what markup says of its words (verse,
note, page number), not where chapters begin and end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial

from lxml import etree

from narrator.characters import seen
from narrator.importers import hyphens
from narrator.importers.blocks import Block, Container, left_out, made_of
from narrator.importers.book import Choices, count_characters, count_words, names
from narrator.importers.matter import kind_of_type, reason
from narrator.importers.prose import BREAK, StyledSpan, is_scene_break, paragraphs, plain
from narrator.importers.readers import stage
from narrator.importers.readers.archive import types_of
from narrator.importers.readers.elements import (
    BLOCKS,
    HEADING_TYPE,
    INCOMPLETE,
    LANG,
    LEFT,
    PAGE_CLASS,
    PICTURES,
    SHOWN,
    SILENT,
    SOURCE,
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
    name_of,
    runs_of,
    said_of_formula,
    texts_of,
)
from narrator.importers.readers.references import (
    holds_heading,
    is_reference,
    is_reference_around,
    keys_of,
    note_bodies,
    targets_of,
)

_DEEPEST = 6
"""Quotations and lists inside each other; what is nested deeper is written at this depth."""


@dataclass(frozen=True, slots=True)
class Document:
    """A document's blocks."""

    path: str
    title: str
    language: str | None
    blocks: tuple[Block, ...]
    trailing: tuple[str, ...]
    """Ids that no block follows."""
    characters: int
    """Of the body, counted apart from the blocks."""


_SECTIONS = names("article aside body div main section")
_EM = names("em i cite dfn var")
_STRONG = names("strong b")

_NOTE_BODY = names("footnote endnote rearnote note doc-footnote doc-endnote")
_NOTE_CLASS = re.compile(r"\b(foot|end)notes?(-?(body|text|content))?\b", re.IGNORECASE)
_SENTENCE = 120
"""Characters of a paragraph by which it is found again."""
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
_PICTURE = "picture"
_APART = 80
"""Characters at a paragraph's beginning that may be a name with what stands beside it."""
_STRONG_CLASS = re.compile(r"(?<!\S)(b|bold|strong)(?!\S)", re.IGNORECASE)


def read_document(
    root: etree._Element,
    path: str,
    notes: frozenset[str],
    is_internal: Callable[[str], bool],
    known: Collection[str] = frozenset(),
    choices: Choices = Choices(),  # noqa: B008  # frozen
) -> Document:
    """The blocks of a document.

    `notes` are the ids that note references point to; `is_internal` tells links into the book from
    others; `known` are the book's words, by which those that a line's end parts are joined;
    `choices` say whether tables, code and pictures are read.
    """
    body = next(root.iter("{*}body"), root)
    title = next(root.iter("{*}title"), None)
    language = body.get(LANG) or root.get(LANG) or root.get("lang")
    reader = _BodyWalker(path, note_bodies(body, notes), is_internal, known, choices)
    reader.block(body)
    return Document(
        path,
        "" if title is None else " ".join(seen("".join(title.itertext())).split()),
        language,
        tuple(reader.blocks),
        tuple(reader.anchors),
        sum(count_characters(text) for text in texts_of(body)),
    )


class _BodyWalker:
    """Walks a body once, collecting blocks."""

    def __init__(
        self,
        path: str,
        notes: set[etree._Element],
        is_internal: Callable[[str], bool],
        known: Collection[str],
        choices: Choices,
    ) -> None:
        self.path = path
        self.source = path
        """Where the words in hand stand."""
        self.known = known
        self.choices = choices
        self.notes = notes
        self.is_internal = is_internal
        self.blocks: list[Block] = []
        self.spans: list[StyledSpan] = []
        self.left: list[Block] = []
        """What was left out of the paragraph in hand; follows it."""
        self.anchors: list[str] = []
        self.containers: list[Container] = []
        self.matter: list[tuple[str | None, int]] = [(None, 0)]
        self.sections = 0
        self.heading: Block | None = None
        self.em = self.strong = self.told = self.links = self.preformatted = self.rows = 0
        self.apart = ""
        """What markup sets apart at the beginning of the paragraph in hand."""
        self.is_name = self.is_narrated = self.is_tabular = False
        self.language: str | None = None
        """Of the words that are read."""
        self.languages: set[str | None] = set()
        """Of the words in hand."""
        self.begun = False
        """Whether words are in hand."""
        self.added = 0
        """Characters in hand that are not the source's own."""
        self.linked = 0
        self.pictured: dict[etree._Element, bool] = {}
        """Elements that hold captions -> whether there are pictures in them."""

    # -- blocks ------------------------------------------------------------------------------------

    def block(self, element: etree._Element) -> None:
        """Read a block element: what stood before it ends, and it ends what is in it."""
        if not self.rows:
            self.flush()
        self.source = element.get(SOURCE) or self.source
        name, types, classes = name_of(element), types_of(element).split(), element.get("class", "")
        if why := self._why_left(element, name, types, classes):
            self.leave(element, why)
            return
        if self.rows:
            self.spans.append(StyledSpan(" "))
            self.children(element)
            self.spans.append(StyledSpan(" "))
            return
        self._anchor(element)
        kind = kind_of_type(types_of(element)) if name in _SECTIONS else None
        nested = kind is not None and self._nested(kind)
        if nested and (why := reason(kind)):
            self.leave(element, why)
            return
        if kind is None or nested:
            self._paragraphs(element, name, types, classes)
            return
        self.sections += 1
        self.matter.append((kind, self.sections))
        self._paragraphs(element, name, types, classes)
        self.matter.pop()

    def _paragraphs(
        self, element: etree._Element, name: str, types: list[str], classes: str
    ) -> None:
        """Read what a block element holds that is neither left out nor within a row."""
        if name == "p" and _SPACE_CLASS.search(classes):
            self._add(Block("scene", self.source))
        count = len(self.blocks)
        told = stage.is_told(element)
        self.told += told
        self._inside(element, name, types, classes)
        is_term = name == "dt" or stage.is_first_of_two(element)
        self.is_tabular = self.is_tabular or is_term
        self._set_apart(element, 0, is_term)
        self.told -= told
        self.is_narrated = stage.is_narrated(element)
        self.flush()
        if name in ("p", "div") and all(b.reason == _PICTURE for b in self.blocks[count:]):
            self._empty(element, classes)

    def _set_apart(self, element: etree._Element, begin: int, may: bool = True) -> None:
        """Note what an element holds that begins a paragraph: it may be a speaker's name."""
        said = " ".join(plain(self.spans[begin:]).split())
        is_name = stage.is_name(element)
        inner = self.is_name and said.startswith(self.apart)
        if (may or is_name) and 0 < len(said) <= _APART and not self.told and not inner:
            self.apart, self.is_name = said, is_name

    def _is_caption(self, element: etree._Element, name: str, classes: str) -> bool:
        """Whether an element says what a picture beside it shows."""
        if not may_be_caption(name, classes):
            return False
        parent = element.getparent()
        if parent is not None and parent not in self.pictured:
            self.pictured[parent] = any(name_of(e) in PICTURES for e in parent.iter("{*}*"))
        return parent is not None and self.pictured[parent]

    def _nested(self, kind: str) -> bool:
        """Whether a section of this kind is a piece of the one around it, not one beside others."""
        around = self.matter[-1][0]
        return around not in (None, "part", "volume") and kind != "chapter"

    def _why_left(
        self, element: etree._Element, name: str, types: list[str], classes: str
    ) -> str | None:
        if why := element.get(LEFT):
            return str(why)
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

    def _inside(self, element: etree._Element, name: str, types: list[str], classes: str) -> None:
        if name == "hgroup" or is_heading(name, types, classes):
            self._heading(element, name)
        elif name == "blockquote":
            self._contained(Container("> ", "> "), partial(self.children, element))
        elif name in ("ul", "ol", "menu"):
            self._list(element, ordered=name == "ol")
        elif name == "pre":
            self.preformatted += 1
            self.children(element)
            self.preformatted -= 1
        elif name == "table":
            self._table(element)
        elif _VERSE.search(f"{classes} {' '.join(types)}") and is_lines(element):
            self._text(element.text)
            for child in element:
                self._anchor(child)
                self.children(child)
                self.spans.append(BREAK)
                self._text(child.tail)
        else:
            self.children(element)

    def _heading(self, element: etree._Element, name: str) -> None:
        if self.heading is not None or self.containers:
            # Inside a quotation or an hgroup a heading is a line of its own.
            self.strong += self.heading is None
            self.children(element)
            self.flush()
            self.strong -= self.heading is None
            return
        levels = [level_of(e) for e in element.iter("{*}*") if level_of(e)]
        block = self.heading = Block("heading", self.source, level=min(levels, default=2))
        self.children(element)
        self.flush()
        self.heading = None
        above = self.blocks[-1] if self.blocks else None
        if above is not None and above.kind == "heading" and is_subtitle(element):
            above.take(block)
        elif block.lines or any(name_of(e) in PICTURES for e in element.iter("{*}*")):
            self._add(block)
        self._add_left()

    def _contained(self, container: Container, read: Callable[[], None]) -> None:
        self.flush()
        if len(self.containers) >= _DEEPEST:
            read()
            return
        self.containers.append(container)
        read()
        self.flush()
        self.containers.pop()

    def _list(self, element: etree._Element, ordered: bool) -> None:
        start = element.get("start", "1")
        number = int(start) if start.isascii() and start.isdigit() and len(start) < 8 else 1
        ordered = ordered and "none" not in element.get("style", "")
        self._text(element.text)
        for child in element:
            if name_of(child) == "li":
                marker = f"{number}. " if ordered else "- "
                number += 1
                item = Container(marker, " " * len(marker))
                self._contained(item, partial(self.block, child))
            else:
                self.node(child)
            self._text(child.tail)

    def _table(self, element: etree._Element) -> None:
        """Rows of data become lines, their cells parted by semicolons; a layout is read through."""
        cells = list(element.iter("{*}td", "{*}th"))
        rows = list(element.iter("{*}tr"))
        data = len(cells) > len(rows) and all(
            count_words("".join(cell.itertext())) <= 40 for cell in cells
        )
        if not data or any(True for inner in element.iter("{*}table") if inner is not element):
            self.children(element)
            return
        if self.choices.tables == "omit":
            self.leave(element, "table")
            return
        self._text(element.text)
        for part in element:
            if name_of(part) in ("tr", "tbody", "thead", "tfoot"):
                rows_of_part = [part] if name_of(part) == "tr" else list(part)
                self._text(None if name_of(part) == "tr" else part.text)
                for row in rows_of_part:
                    self._row(row)
                    self._text(row.tail if row is not part else None)
            else:
                self.node(part)
            self._text(part.tail)

    def _row(self, row: etree._Element) -> None:
        self.flush()
        if why := row.get(LEFT) or ("note" if row in self.notes else None):
            self.leave(row, why)
            return
        self._anchor(row)
        self.rows += 1
        self._text(row.text)
        for cell in row:
            if "".join(cell.itertext()).strip():
                self._part_cells()
            begins = not self.begun
            self.node(cell)
            if begins:
                self._set_apart(cell, 0, stage.is_first_of_two(cell))
            self._text(cell.tail)
        self.rows -= 1
        self.is_tabular = True
        self.flush()

    def _part_cells(self) -> None:
        while self.spans and not self.spans[-1].text.strip():
            self.spans.pop()
        if self.begun and self.spans[-1].text.rstrip()[-1:] not in ";:,.!?":
            last = self.spans.pop()
            self.spans += [StyledSpan(last.text.rstrip(), last.em, last.strong), StyledSpan(";")]
            self.added += 1
        self.spans.append(StyledSpan(" "))

    def _empty(self, element: etree._Element, classes: str) -> None:
        """A paragraph without words: a scene break, if its markup says so or it takes up room."""
        pictures = list(element.iter("{*}img", "{*}image", "{*}svg"))
        said = [classes] + [
            f"{e.get('class', '')} {e.get('alt', '')} {e.get('src', '')}" for e in pictures
        ]
        if any(_BREAK_CLASS.search(words) or is_scene_break(words) for words in said):
            self._add(Block("scene", self.source))
        elif not pictures and name_of(element) == "p":
            inner = "".join(element.itertext())
            if "\xa0" in inner or next(element.iter("{*}br"), None) is not None:
                self._add(Block("gap", self.source))

    def _add(self, block: Block) -> None:
        block.matter, block.section = self.matter[-1]
        block.anchors = (*self.anchors, *block.anchors)
        self.anchors.clear()
        self.blocks.append(block)

    def flush(self) -> None:
        """End the paragraph in hand."""
        parted = paragraphs(self.spans)
        added, linked = self.added, self.linked
        language = self.languages.pop() if len(self.languages) == 1 else None
        self.languages.clear()
        for block in self.left:
            if block.reason == INCOMPLETE and parted:
                sentence = " ".join(plain(line) for lines in parted for line in lines)
                block.reason = f"{INCOMPLETE}: “{sentence[:_SENTENCE]}”"
        self.spans.clear()
        self.begun = False
        self.added = self.linked = 0
        apart, is_name = self.apart, self.is_name
        self.apart, self.is_name = "", False
        is_tabular, self.is_tabular = self.is_tabular, False
        for number, lines in enumerate(parted):
            text = " ".join(map(plain, lines))
            block = made_of("scene" if is_scene_break(text) else "text", self.source, lines)
            block.characters -= added
            block.language = language
            block.is_narrated, block.is_tabular = self.is_narrated, is_tabular
            if not number:
                block.apart, block.is_name = apart, is_name
            added = 0
            if self.heading is not None:
                self.heading.take(block)
                continue
            block.containers = tuple(self.containers)
            block.linked = linked if len(parted) == 1 else 0
            self._add(block)
        self.is_narrated = False
        if self.heading is None:
            self._add_left()

    def _add_left(self) -> None:
        for block in self.left:
            block.matter, block.section = self.matter[-1]
        self.blocks += self.left
        self.left.clear()

    # -- inside a paragraph ------------------------------------------------------------------------

    def children(self, element: etree._Element) -> None:
        around, self.language = self.language, language_of(element)
        self._text(element.text)
        for child in element:
            self.node(child)
            self._text(child.tail)
        self.language = around

    def node(self, element: etree._Element) -> None:
        name = name_of(element)
        if not name or name in SILENT:
            return
        if name in BLOCKS:
            self.block(element)
        elif name == "br":
            self.spans.append(BREAK)
            self.children(element)
        elif name == "hr":
            self.flush()
            self._anchor(element)
            if not (PAGE_CLASS.search(element.get("class", "")) or is_hidden(element)):
                self._add(Block("scene", self.source))
            self.children(element)
        else:
            self._inline(element, name)

    def _inline(self, element: etree._Element, name: str) -> None:
        types, classes = types_of(element).split(), element.get("class", "")
        self._anchor(element)
        if why := element.get(LEFT):
            self.leave(element, why)
        elif name in PICTURES:
            self._picture(element, name)
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
            self._styled(element, name, types, classes)

    def _styled(self, element: etree._Element, name: str, types: list[str], classes: str) -> None:
        style = element.get("style", "")
        plain_span = name in ("span", "font", "a")
        em = name in _EM or bool(
            plain_span and (_EM_CLASS.search(classes) or _ITALIC.search(style))
        )
        strong = name in _STRONG or bool(
            plain_span and (_STRONG_CLASS.search(classes) or _BOLD.search(style))
        )
        link = name == "a" and self.is_internal(element.get("href", ""))
        told = stage.is_told(element)
        begins, begin = not self.begun, len(self.spans)
        self.em += em
        self.strong += strong
        self.told += told
        self.links += link
        if name == "q":
            self._add_text("“")
        self.children(element)
        if name == "q":
            self._add_text("”")
        self.told -= told
        if begins and not told:
            self._set_apart(element, begin)
        self.em -= em
        self.strong -= strong
        self.links -= link
        number = HEADING_TYPE.intersection(types) - {"title"} or _NUMBER_CLASS.search(classes)
        if self.heading is not None and number:
            self.spans.append(BREAK)

    def _picture(self, element: etree._Element, name: str) -> None:
        alt = element.get("alt", "").strip()
        following = (element.tail or "").strip()
        if name == "img" and re.fullmatch(r"[“‘\"']?\w", alt) and following[:1].isalpha():
            # An initial drawn as a picture: without it the first word is cut.
            self._span(alt)
        elif name == "math" or (_FORMULA_CLASS.search(element.get("class", "")) and alt):
            self._formula(element, alt)
        elif self.choices.pictures == "read" and name == "img" and count_words(alt):
            self._said_of_picture(alt)
        else:
            self.leave(element, _PICTURE)

    def _said_of_picture(self, alt: str) -> None:
        """Read a picture by its alternative text: as a paragraph, or within the one in hand."""
        within = self.begun or self.heading is not None
        if not within:
            self.flush()
        self._span(f" {alt} ")
        if not within:
            self.flush()

    def _formula(self, element: etree._Element, alt: str) -> None:
        """A formula by its alternative text, or by its own where it is a plain row of signs."""
        said = said_of_formula(element, alt)
        if said is None:
            self.leave(element, INCOMPLETE)
        elif name_of(element) in SHOWN:
            self._span(f" {said} ")
        elif is_plain_formula(element) and not alt:
            self.spans.append(StyledSpan(f" {said} "))
            self.begun = True
            self.added += count_characters(said) - sum(map(count_characters, texts_of(element)))
        else:
            self.spans.append(StyledSpan(" "))
            self._add_text(said)
            self.spans.append(StyledSpan(" "))
            self.leave(element, "formula, spoken by its alternative text")

    def leave(self, element: etree._Element, why: str) -> None:
        """Set the words of `element` aside."""
        if why == "note" and self._holds_notes(element):
            self._leave_notes(element)
            return
        text = seen(" ".join(runs_of(element)))
        block = left_out(self.source, hyphens.join(text, self.known), why)
        block.characters = count_characters(text)
        block.note = tuple(keys_of(self.path, element)) if why == "note" else ()
        block.refs = tuple(targets_of(self.path, element)) if why == "reference to a note" else ()
        if self.spans or self.heading is not None:
            if block.characters:
                self.left.append(block)
            return
        block.anchors = tuple(e.get("id", "") for e in element.iter("{*}*") if e.get("id"))
        if block.characters:
            self._add(block)
        else:
            self.anchors += block.anchors

    def _holds_notes(self, element: etree._Element) -> bool:
        """Whether an element is no note, but holds several, or has a heading above one."""
        held = sum(one in self.notes for one in element.iterdescendants("{*}*"))
        return held > 1 or (held == 1 and element not in self.notes and holds_heading(element))

    def _leave_notes(self, element: etree._Element) -> None:
        """Set aside what holds several notes, each by itself."""
        self._add(left_out(self.source, seen(element.text or ""), "note"))
        for child in element:
            if name_of(child):
                self.leave(child, "note")
            self._add(left_out(self.source, seen(child.tail or ""), "note"))

    def _text(self, text: str | None) -> None:
        if not text:
            return
        if self.links:
            self.linked += count_characters(text)
        if any(map(str.isalpha, text)):
            self.languages.add(self.language)
        if not self.preformatted and hyphens.BROKEN.search(text):
            whole = hyphens.join(text, self.known)
            self.added += count_characters(whole) - count_characters(text)
            text = whole
        if self.preformatted:
            for number, line in enumerate(text.split("\n")):
                if number:
                    self.spans.append(BREAK)
                self._span(line)
        elif not text.isspace() or "\xa0" not in text or self.spans:
            self._span(text)

    def _add_text(self, text: str) -> None:
        self._span(text)
        self.added += count_characters(text)

    def _span(self, text: str) -> None:
        self.begun = self.begun or bool(text.strip())
        self.spans.append(StyledSpan(text, self.em > 0, self.strong > 0, self.told > 0))

    def _anchor(self, element: etree._Element) -> None:
        for name in (element.get("id"), element.get("name")):
            if name:
                self.anchors.append(name)
