"""Writes Word's paragraphs, lists, tables and notes as XHTML.

Every element is either written, left out for a reason, or known to hold no text; an unknown one is
read for what is in it. Knows WordprocessingML, not archives and not chapters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

from lxml import etree

from manuscripts.book import word_set
from manuscripts.readers.elements import INCOMPLETE_REASON
from manuscripts.readers.office.looks import CONTENTS
from manuscripts.readers.office.styles import NO_PROPERTIES, Properties
from manuscripts.readers.office.wordnumbers import Numbering
from manuscripts.readers.office.wordstyles import (
    Styles,
    W,
    attribute_of,
    child_of,
    is_on,
    name_of,
    paragraph_properties,
    run_properties,
)
from manuscripts.readers.office.writer import TextWriter, append_item

_SILENT = word_set("pPr rPr tblPr tblGrid trPr tcPr sdtPr sdtEndPr rubyPr sectPr fldData")
"""Elements without text of the document."""
_DELETED = "deleted by a tracked change"
_OMITTED = {"del": _DELETED, "moveFrom": _DELETED, "rt": "ruby annotation"}
"""Elements whose text is left out, with the reason."""
_CHARACTERS = {"tab": "\t", "noBreakHyphen": "\u2011", "softHyphen": "\u00ad"}
_FIELD_NAME = re.compile(r"\s*([A-Za-z]+)")
_INNER_LINK = re.compile(r'\s*HYPERLINK\s+\\l\s+"?([^"\s]+)')
_PAGE_FIELDS = word_set("PAGE NUMPAGES SECTIONPAGES")
_LIST_FIELDS = {"TOC": CONTENTS, "INDEX": "index", "TOA": CONTENTS}
_PLAIN_MATH = word_set("oMath oMathPara oMathParaPr r rPr t ctrlPr jc sty rFonts")
_MAX_CACHED_RUNS = 5_000
"""Size of the cache of run properties."""


# -- text that the source shows --------------------------------------------------------------------


def visible_text(root: etree._Element) -> Iterator[str]:
    """Yields the text of a part and the alternative texts of its pictures, in document order."""
    name = name_of(root)
    if name in ("t", "delText"):
        yield root.text or ""
    elif name == "sym":
        yield symbol_text(root)
    elif name == "noBreakHyphen":
        yield "-"
    elif name in ("p", "br", "tab", "cr", "tr"):
        yield " "
    elif name in ("drawing", "pict", "object"):
        yield from alt_texts(root)
    if name not in _SILENT:
        for child in root:
            yield from visible_text(child)


def alt_texts(drawing: etree._Element) -> Iterator[str]:
    """Yields the alternative texts of the pictures in a drawing."""
    for element in drawing.iter("{*}docPr", "{*}shape", "{*}imagedata"):
        text = element.get("descr") or element.get("alt") or element.get("title") or ""
        yield " ".join(text.split())


@cache
def _symbol_fonts() -> dict[str, str]:
    """Returns the characters of symbol fonts, from code 32 on."""
    rows = resources.files(__package__).joinpath("symbols.txt").read_text("utf-8").splitlines()
    return dict(row.split("\t", 1) for row in rows if "\t" in row)


def symbol_text(element: etree._Element) -> str:
    """Converts a character of a symbol font to Unicode; "" where Unicode has none."""
    font, code = attribute_of(element, "font") or "", attribute_of(element, "char") or ""
    if not re.fullmatch(r"[0-9A-Fa-f]{1,5}", code):
        return ""
    number = int(code, 16)
    is_private = 0xE000 <= number < 0xF900
    index = (number & 0xFF if is_private else number) - 32
    character = _symbol_fonts().get(font, "")[max(index, 0) : index + 1].strip("\ufffd")
    return character or ("" if is_private or number < 32 else chr(number))


def replace_alternatives(root: etree._Element) -> None:
    """Replaces alternative contents by the fallback, which is plainer, else by the first choice."""
    for alternatives in list(root.iter("{*}AlternateContent")):
        parent = alternatives.getparent()
        choices = sorted(alternatives, key=lambda choice: name_of(choice) != "Fallback")
        if parent is not None:
            position = parent.index(alternatives)
            parent[position : position + 1] = list(choices[0]) if choices else []


# -- writing ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Field:
    """An open field: its code, and whether its result has begun."""

    code: str = ""
    is_result: bool = False

    @property
    def kind(self) -> str:
        match = _FIELD_NAME.match(self.code)
        return match[1].upper() if match else ""


class WordWriter(TextWriter):
    """Writes the text of a Word document; `notes` are the elements of its notes by kind and id."""

    def __init__(
        self,
        styles: Styles,
        numbering: Numbering,
        notes: dict[tuple[str, str | None], etree._Element],
    ) -> None:
        super().__init__()
        self.struck_characters = 0
        """Number of characters that are struck through."""
        self._styles = styles
        self._numbering = numbering
        self._notes = notes
        self._targets: set[str] = set()
        """Bookmarks that links point to."""
        self._fields: list[_Field] = []
        self._paragraph_reason = ""
        """Reason to leave out the open paragraph, in a field of a table of contents or an index."""
        self._outer_reason = ""
        """Reason to leave out the text of the elements around the current one."""
        self._is_link = False
        """True in a link, whose underline is no emphasis."""
        self._style_properties = NO_PROPERTIES
        """Properties of the style of the current paragraph."""
        self._run_properties = NO_PROPERTIES
        """Properties of the current run."""
        self._run_cache: dict[tuple[bytes, int], tuple[Properties, bool]] = {}

    # -- blocks ------------------------------------------------------------------------------------

    def write_body(self, body: etree._Element) -> None:
        """Writes the document, and at its end the notes that nothing refers to."""
        for root in (body, *self._notes.values()):
            codes = (code.text or "" for code in root.iter(f"{{{W}}}instrText"))
            self._targets |= {match[1] for match in map(_INNER_LINK.match, codes) if match}
            links = root.iter(f"{{{W}}}hyperlink")
            self._targets |= {attribute_of(link, "anchor") or "" for link in links}
        self._write_blocks(body, self.body)
        for key in list(self._notes):
            self._write_note(self._notes.pop(key))

    def _write_note(self, note: etree._Element) -> None:
        """Writes a note without a reference."""
        self.open_float("aside", {"class": "footnote"})
        self._write_text(note)

    def _write_text(self, source: etree._Element) -> None:
        """Writes a note or a text box that was opened, with fields of its own, and closes it."""
        outer_reasons = self._paragraph_reason, self._outer_reason
        outer_run = self._fields, self._is_link, self._style_properties, self._run_properties
        self._paragraph_reason = self._outer_reason = ""
        self._fields, self._is_link = [], False
        self._write_blocks(source, self.text.container)
        self.close_text()
        self._paragraph_reason, self._outer_reason = outer_reasons
        self._fields, self._is_link, self._style_properties, self._run_properties = outer_run

    def _write_blocks(self, source: etree._Element, parent: etree._Element) -> None:
        """Writes the children of `source` as blocks."""
        for child in source:
            name = name_of(child)
            if name == "p":
                self._write_paragraph(child, parent)
            elif name == "tbl":
                self.close_paragraph(parent)
                self._write_rows(child, etree.SubElement(parent, "table"))
            elif name in _INLINE:
                self._write_inline(child)
            elif name not in _SILENT:
                self._write_blocks(child, parent)

    def _write_rows(self, source: etree._Element, table: etree._Element) -> None:
        """Writes rows of a table, or cells of a row; deleted rows are left out."""
        for child in source:
            name = name_of(child)
            if name == "tr":
                outer_reason = self._outer_reason
                if child_of(child_of(child, "trPr"), "del") is not None:
                    self._outer_reason = _DELETED
                self._write_rows(child, etree.SubElement(table, "tr"))
                self._outer_reason = outer_reason
            elif name == "tc":
                cell = etree.SubElement(table, "td")
                self._write_blocks(child, cell)
                self.close_paragraph(cell)
            elif name not in _SILENT:
                self._write_rows(child, table)

    def _write_paragraph(self, source: etree._Element, parent: etree._Element) -> None:
        """Writes a paragraph; one whose end was deleted goes on with the next."""
        ppr = child_of(source, "pPr")
        style = attribute_of(child_of(ppr, "pStyle")) or self._styles.normal
        self._style_properties = self._styles.paragraph_style(style)
        properties = paragraph_properties(ppr).with_base(self._style_properties)
        self._write_children(source)
        if child_of(child_of(ppr, "rPr"), "del") is not None:
            return
        self.flush()
        if properties.numbering and properties.level:
            is_empty = not self.text.runs
            number = self._numbering.count_heading(properties.numbering, is_empty)
            if number:
                self.prepend(number, line_break=not is_empty)
        elif properties.numbering and (list_tag := self._numbering.list_tag(properties.numbering)):
            parent = append_item(parent, list_tag, properties.numbering[1])
        if (section := child_of(ppr, "sectPr")) is not None:
            kind = attribute_of(child_of(section, "type"))
            self.text.breaks_page_after = kind != "continuous"
        self.end_paragraph(parent, properties, self._paragraph_reason)
        self._paragraph_reason = next(
            (_LIST_FIELDS[field.kind] for field in self._fields if field.kind in _LIST_FIELDS), ""
        )

    # -- words -------------------------------------------------------------------------------------

    def _write_children(self, source: etree._Element) -> None:
        for child in source:
            self._write_inline(child)

    def _write_inline(self, source: etree._Element) -> None:
        """Writes an element within a paragraph; an unknown one by what is in it."""
        name = name_of(source)
        if name not in _SILENT:
            _INLINE.get(name, WordWriter._write_children)(self, source)

    def _write_omitted(self, source: etree._Element) -> None:
        """Writes an element whose text is left out."""
        outer_reason = self._outer_reason
        self._outer_reason = self._outer_reason or _OMITTED[name_of(source)]
        self._write_children(source)
        self._outer_reason = outer_reason

    def _write_run(self, run: etree._Element) -> None:
        """Writes a run, in a link if a field around it is one."""
        self._run_properties, is_struck = self._resolve_run(child_of(run, "rPr"))
        link_field = next((field for field in self._fields if field.kind == "HYPERLINK"), None)
        if link_field or self._is_link:
            self._run_properties = replace(self._run_properties, link=True)
        if is_struck and not self._omission_reason():
            self.struck_characters += len("".join(_text_of(run).split()))
        inner_link = _INNER_LINK.match(link_field.code) if link_field else None
        if inner_link:
            self.open_link(f"#b-{inner_link[1]}")
        self._write_children(run)
        if inner_link:
            self.close_link()

    def _resolve_run(self, rpr: etree._Element | None) -> tuple[Properties, bool]:
        """Resolves a run's properties, and whether it is struck through."""
        if rpr is None:
            return self._style_properties, False
        key = etree.tostring(rpr, with_tail=False), id(self._style_properties)
        if key not in self._run_cache:
            if len(self._run_cache) > _MAX_CACHED_RUNS:
                self._run_cache.clear()
            style = self._styles.resolve(attribute_of(child_of(rpr, "rStyle")))
            properties = run_properties(rpr).with_base(style).with_base(self._style_properties)
            is_struck = bool(is_on(rpr, "strike") or is_on(rpr, "dstrike"))
            self._run_cache[key] = properties, is_struck
        return self._run_cache[key]

    def _omission_reason(self) -> str:
        """Returns why the current run is left out; "" if it is read."""
        if self._outer_reason or self._run_properties.hidden:
            return self._outer_reason or "hidden"
        is_page_number = any(
            field.is_result and field.kind in _PAGE_FIELDS for field in self._fields
        )
        return "page number" if is_page_number else ""

    def _write_words(self, source: etree._Element) -> None:
        name = name_of(source)
        words = symbol_text(source) if name == "sym" else _CHARACTERS.get(name, source.text or "")
        self.add_text(words, self._run_properties, self._omission_reason())

    def _write_formula(self, math: etree._Element) -> None:
        """Writes a formula, which is left out if it is no plain row of symbols."""
        is_plain = {name_of(element) for element in math.iter("{*}*")} <= _PLAIN_MATH
        words = "".join(text.text or "" for text in math.iter("{*}t"))
        self.add_text(
            words,
            self._style_properties,
            self._outer_reason or ("" if is_plain else INCOMPLETE_REASON),
        )

    def _write_break(self, source: etree._Element) -> None:
        kind = attribute_of(source, "type")
        if kind == "page":
            self.break_page()
        elif kind in (None, "textWrapping"):
            self.add_break()

    def _write_pictures(self, drawing: etree._Element) -> None:
        """Writes the alternative texts of a drawing, and the text boxes in it."""
        for alt in filter(None, alt_texts(drawing)):
            self.add_picture(alt)
        self._write_children(drawing)

    def _write_box(self, box: etree._Element) -> None:
        self.open_float("div")
        self._write_text(box)

    def _write_link(self, link: etree._Element) -> None:
        """Writes a link; one out of the document is only text that may be underlined."""
        anchor = attribute_of(link, "anchor")
        outer_link, self._is_link = self._is_link, True
        if anchor:
            self.open_link(f"#b-{anchor}")
        self._write_children(link)
        if anchor:
            self.close_link()
        self._is_link = outer_link

    def _write_bookmark(self, bookmark: etree._Element) -> None:
        if (name := attribute_of(bookmark, "name")) in self._targets:
            self.add_element("a", {"id": f"b-{name}"})

    def _write_reference(self, reference: etree._Element) -> None:
        """Writes a reference to a note, and the note below the paragraph."""
        kind = name_of(reference).removesuffix("Reference")
        note = self._notes.pop((kind, attribute_of(reference, "id")), None)
        if note is None:
            return
        if self._omission_reason():
            self._write_note(note)
            return
        has_mark = attribute_of(reference, "customMarkFollows") not in (None, "0", "false")
        self.open_note("" if not has_mark else _text_of(reference.getparent()))
        self._write_text(note)

    # -- fields ------------------------------------------------------------------------------------

    def _write_simple_field(self, source: etree._Element) -> None:
        """Writes a field whose code is an attribute."""
        self._fields.append(_Field(is_result=True))
        self._add_code(attribute_of(source, "instr") or "")
        self._write_children(source)
        self._fields.pop()

    def _add_code(self, code: str) -> None:
        """Adds to the code of the innermost field."""
        field = self._fields[-1]
        field.code += code[:200]
        self._paragraph_reason = self._paragraph_reason or _LIST_FIELDS.get(field.kind, "")

    def _write_code(self, source: etree._Element) -> None:
        if self._fields:
            self._add_code(source.text or "")

    def _write_field_mark(self, mark: etree._Element) -> None:
        """Opens a field, begins its result, or closes it."""
        kind = attribute_of(mark, "fldCharType")
        if kind == "begin":
            self._fields.append(_Field())
        elif kind == "separate" and self._fields:
            self._fields[-1].is_result = True
        elif kind == "end" and self._fields:
            self._fields.pop()


def _text_of(run: etree._Element | None) -> str:
    return "" if run is None else "".join(t.text or "" for t in run.iterchildren(f"{{{W}}}t"))


_INLINE: Mapping[str, Callable[[WordWriter, etree._Element], None]] = {
    "r": WordWriter._write_run,
    **dict.fromkeys(("t", "delText", "sym", *_CHARACTERS), WordWriter._write_words),
    **dict.fromkeys(_OMITTED, WordWriter._write_omitted),
    **dict.fromkeys(("drawing", "pict", "object"), WordWriter._write_pictures),
    **dict.fromkeys(("footnoteReference", "endnoteReference"), WordWriter._write_reference),
    "br": WordWriter._write_break,
    "cr": WordWriter._write_break,
    "oMath": WordWriter._write_formula,
    "txbxContent": WordWriter._write_box,
    "hyperlink": WordWriter._write_link,
    "bookmarkStart": WordWriter._write_bookmark,
    "fldSimple": WordWriter._write_simple_field,
    "fldChar": WordWriter._write_field_mark,
    "instrText": WordWriter._write_code,
}
"""Elements within a paragraph; others are written by what is in them."""
