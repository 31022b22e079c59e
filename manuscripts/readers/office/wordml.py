"""Prepares Word's markup for mammoth, so that nothing is dropped in silence.

Mammoth converts paragraphs, runs, lists, tables and notes to HTML. Its output does not show which
text was deleted or hidden, the language of text, or the look of a paragraph by its style. This
module gives each paragraph a bookmark whose number identifies its look, and each left-out run a
style that names the reason. Knows WordprocessingML, not zip archives and not chapters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from lxml import etree
from mammoth.docx.dingbats import dingbats

from manuscripts.book import count_characters, word_set
from manuscripts.readers.elements import INCOMPLETE_REASON
from manuscripts.readers.office.looks import CONTENTS, ParagraphLook
from manuscripts.readers.office.styles import NO_PROPERTIES, Properties, look_of
from manuscripts.readers.office.wordnumbers import HeadingNumbers
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

DELETED = "deleted by a tracked change"
HIDDEN = "hidden"
PAGE_NUMBER = "page number"
LEFT_STYLES = {
    "left-deleted": DELETED, "left-hidden": HIDDEN, "left-formula": INCOMPLETE_REASON,
    "left-page": PAGE_NUMBER, "left-ruby": "ruby annotation",
}  # fmt: skip
"""Names of styles for left-out runs, with the reason."""
_STYLE_OF = {why: style for style, why in LEFT_STYLES.items()}

_WRAPPERS = word_set(
    "fldSimple bdo dir ruby rubyBase rt ins del moveFrom moveTo sdt sdtContent subDoc smartTag "
    "customXml oMathPara"
)
"""Wrappers around runs and paragraphs, to be removed once they were evaluated."""
_UNWRAPPED = "bare"
_NEEDLESS_ELEMENTS = word_set(
    "proofErr bookmarkEnd lastRenderedPageBreak commentRangeStart commentRangeEnd "
    "commentReference permStart permEnd sdtPr sdtEndPr rubyPr fldData annotationRef"
)
_NOTE_BOOKMARK = re.compile(r"n-\d+")
"""Names of bookmarks set for notes by `docx.py`."""
_FIELD_NAME = re.compile(r"\s*([A-Za-z]+)")
_PAGE_NUMBER_FIELDS = word_set("PAGE NUMPAGES SECTIONPAGES")
_LIST_FIELDS = {"TOC": CONTENTS, "INDEX": "index", "TOA": CONTENTS}
_PLAIN_MATH = {
    "oMath",
    "oMathPara",
    "oMathParaPr",
    "r",
    "rPr",
    "t",
    "ctrlPr",
    "jc",
    "sty",
    "rFonts",
}
_MAX_CACHED_RUNS = 5_000
"""Size of the cache of run properties."""
_MAX_LANGUAGES = 40
"""Limit on the languages that a document may mark."""


@dataclass(slots=True)
class WordDetails:
    """Details of a document that are lost in mammoth's output.

    Looks and pictures are listed by the numbers of their bookmarks.
    """

    looks: list[ParagraphLook] = field(default_factory=list)
    pictures: list[str] = field(default_factory=list)
    languages: dict[str, int] = field(default_factory=dict)
    """Letter count of each language of runs; "" for unmarked ones."""
    struck_characters: int = 0
    """Number of characters that are struck through."""
    heading_number_characters: int = 0
    """Number of characters of automatic heading numbers, which are not in the text."""

    @property
    def language(self) -> str | None:
        """The language of most letters; None if they are unmarked."""
        return max(self.languages, key=self.languages.__getitem__, default="") or None


@dataclass(slots=True)
class _Field:
    """An open field: its code, and whether its result has begun."""

    code: str = ""
    is_result: bool = False

    @property
    def kind(self) -> str:
        match = _FIELD_NAME.match(self.code)
        return match[1].upper() if match else ""


class Preparer:
    """Changes the parts of one document in place, and collects their details in `details`."""

    def __init__(self, styles: Styles, numbers: HeadingNumbers) -> None:
        self.styles = styles
        self.numbers = numbers
        self.details = WordDetails()
        self._fields: list[_Field] = []
        self._run_cache: dict[tuple[bytes, int], tuple[Properties, str | None, bool]] = {}
        self._starts_page = False
        """True if the next paragraph begins a page."""

    def prepare(self, root: etree._Element) -> None:
        """Changes one part: the document, with all its notes."""
        _normalize(root)
        self._fields.clear()
        for paragraph in list(root.iter(f"{{{W}}}p")):
            self._prepare_paragraph(paragraph)

    def _prepare_paragraph(self, paragraph: etree._Element) -> None:
        """Prepares a paragraph and its runs, and records its look."""
        ppr = child_of(paragraph, "pPr")
        direct = paragraph_properties(ppr)
        style = attribute_of(child_of(ppr, "pStyle")) or self.styles.normal
        base = self.styles.paragraph_style(style)
        properties = direct.with_base(base)
        list_field = self._open_list_field()
        runs: list[tuple[int, Properties]] = []
        starts_page = self._starts_page or bool(properties.starts_page)
        self._starts_page = False
        for run in list(paragraph.iter(f"{{{W}}}r")):
            run_properties = self._prepare_run(run, base)
            list_field = list_field or self._open_list_field()
            letter_count = len("".join(_text_of(run).split()))
            if letter_count:
                runs.append((letter_count, run_properties))
            if any(
                attribute_of(break_element, "type") == "page"
                for break_element in run.iter(f"{{{W}}}br")
            ):
                starts_page, self._starts_page = starts_page or not runs, bool(runs)
        if (section := child_of(ppr, "sectPr")) is not None:
            self._starts_page = attribute_of(child_of(section, "type")) != "continuous"
        _join_runs(paragraph)
        look = look_of(properties, runs, starts_page)
        if properties.numbering and look.level:
            self._write_number(paragraph, properties.numbering, not runs)
        if properties.role == "toc" or list_field is not None:
            look = replace(
                look,
                omission_reason=_LIST_FIELDS.get(list_field.kind, CONTENTS)
                if list_field
                else CONTENTS,
            )
        self._replace_properties(paragraph, ppr, properties, look)

    def _write_number(
        self, paragraph: etree._Element, numbering: tuple[str, str], is_empty: bool
    ) -> None:
        """Writes the automatic number of a heading as a line of its own before its text."""
        heading_number = self.numbers.count_heading(numbering, is_empty)
        if not heading_number:
            return
        self.details.heading_number_characters += count_characters(heading_number)
        run = etree.Element(f"{{{W}}}r")
        etree.SubElement(run, f"{{{W}}}t").text = heading_number
        if not is_empty:
            etree.SubElement(run, f"{{{W}}}br")
        ppr = child_of(paragraph, "pPr")
        paragraph.insert(0 if ppr is None else 1, run)

    def _open_list_field(self) -> _Field | None:
        """Returns the open field of a table of contents or an index; None outside of one."""
        return next((f for f in self._fields if f.kind in _LIST_FIELDS), None)

    def _replace_properties(
        self,
        paragraph: etree._Element,
        ppr: etree._Element | None,
        properties: Properties,
        look: ParagraphLook,
    ) -> None:
        """Replaces a paragraph's properties by those that mammoth needs, and a bookmark."""
        deleted_mark = child_of(child_of(ppr, "rPr"), "del")
        if ppr is not None:
            paragraph.remove(ppr)
        if deleted_mark is not None:
            # Mammoth joins the paragraph with the next one.
            new_ppr = etree.Element(f"{{{W}}}pPr")
            etree.SubElement(etree.SubElement(new_ppr, f"{{{W}}}rPr"), f"{{{W}}}del")
            paragraph.insert(0, new_ppr)
            return
        bookmark = etree.Element(f"{{{W}}}bookmarkStart")
        bookmark.set(f"{{{W}}}name", f"p-{len(self.details.looks)}")
        paragraph.insert(0, bookmark)
        self.details.looks.append(look)
        if (
            properties.numbering
            and not look.level
            and not self.numbers.is_bare(properties.numbering)
        ):
            new_ppr = etree.Element(f"{{{W}}}pPr")
            list_properties = etree.SubElement(new_ppr, f"{{{W}}}numPr")
            for name, text in zip(("numId", "ilvl"), properties.numbering, strict=True):
                _add_property(list_properties, name, text)
            paragraph.insert(0, new_ppr)

    def _prepare_run(self, run: etree._Element, base: Properties) -> Properties:
        """Replaces a run's properties by those that mammoth needs; returns the resolved ones.

        Returns no properties for a run that is left out.
        """
        rpr = child_of(run, "rPr")
        properties, vertical_alignment, is_struck = self._resolve_run(rpr, base)
        self._track_fields(run)
        reason = self._omission_reason(run, properties)
        if is_struck and not reason:
            self.details.struck_characters += len("".join(_text_of(run).split()))
        new_rpr = self._build_run_properties(run, properties, vertical_alignment, reason)
        if rpr is not None:
            run.remove(rpr)
        if len(new_rpr):
            run.insert(0, new_rpr)
        self._replace_pictures(run)
        return NO_PROPERTIES if reason else properties

    def _omission_reason(self, run: etree._Element, properties: Properties) -> str | None:
        """Returns why a run is left out; None if it is read."""
        if properties.hidden or run.get("left"):
            return run.get("left") or HIDDEN
        is_page_number = any(
            field.is_result and field.kind in _PAGE_NUMBER_FIELDS for field in self._fields
        )
        return PAGE_NUMBER if is_page_number else None

    def _build_run_properties(
        self,
        run: etree._Element,
        properties: Properties,
        vertical_alignment: str | None,
        reason: str | None,
    ) -> etree._Element:
        """Builds the properties of a run that mammoth needs."""
        is_link = properties.link or name_of(run.getparent()) == "hyperlink"
        is_link = is_link or any(field.kind == "HYPERLINK" for field in self._fields)
        new_rpr = etree.Element(f"{{{W}}}rPr")
        if reason:
            _add_property(new_rpr, "rStyle", _STYLE_OF[reason])
        elif self._count_language(properties.language, run):
            _add_property(new_rpr, "rStyle", f"in-{properties.language}")
        if properties.italic or (properties.underline and not is_link):
            _add_property(new_rpr, "i")
        if properties.bold:
            _add_property(new_rpr, "b")
        if vertical_alignment:
            _add_property(new_rpr, "vertAlign", vertical_alignment)
        return new_rpr

    def _resolve_run(
        self, rpr: etree._Element | None, base: Properties
    ) -> tuple[Properties, str | None, bool]:
        """Resolves a run's properties, its vertical alignment, and whether it is struck through."""
        if rpr is None:
            return base, None, False
        key = etree.tostring(rpr, with_tail=False), id(base)
        if key not in self._run_cache:
            if len(self._run_cache) > _MAX_CACHED_RUNS:
                self._run_cache.clear()
            properties = run_properties(rpr).with_base(
                self.styles.resolve(attribute_of(child_of(rpr, "rStyle")))
            )
            is_struck = bool(is_on(rpr, "strike") or is_on(rpr, "dstrike"))
            self._run_cache[key] = (
                properties.with_base(base),
                attribute_of(child_of(rpr, "vertAlign")),
                is_struck,
            )
        return self._run_cache[key]

    def _count_language(self, language: str | None, run: etree._Element) -> bool:
        """Counts a run's language; returns whether the run is to be marked with it."""
        letter_counts = self.details.languages
        if language not in letter_counts and len(letter_counts) >= _MAX_LANGUAGES:
            return False
        letter_counts[language or ""] = letter_counts.get(language or "", 0) + len(_text_of(run))
        return bool(language)

    def _track_fields(self, run: etree._Element) -> None:
        """Updates the open fields by the field characters and codes in a run."""
        for child in run:
            name = name_of(child)
            if name == "instrText" and self._fields:
                self._fields[-1].code += (child.text or "")[:200]
            elif name == "fldChar":
                kind = attribute_of(child, "fldCharType")
                if kind == "begin":
                    self._fields.append(_Field())
                elif kind == "separate" and self._fields:
                    self._fields[-1].is_result = True
                elif kind == "end" and self._fields:
                    self._fields.pop()

    def _replace_pictures(self, run: etree._Element) -> None:
        """Replaces the pictures of a run by numbered bookmarks."""
        for child in list(run):
            if name_of(child) in ("drawing", "pict", "object"):
                alts = [alt for alt in alt_texts(child) if alt]
                for alt in alts:
                    bookmark = etree.Element(f"{{{W}}}bookmarkStart")
                    bookmark.set(f"{{{W}}}name", f"i-{len(self.details.pictures)}")
                    self.details.pictures.append(alt)
                    run.insert(run.index(child), bookmark)
                run.remove(child)


def _add_property(properties: etree._Element, name: str, text: str | None = None) -> None:
    """Appends a property element."""
    element = etree.SubElement(properties, f"{{{W}}}{name}")
    if text is not None:
        element.set(f"{{{W}}}val", text)


def _join_runs(paragraph: etree._Element) -> None:
    """Joins consecutive text runs with equal properties, of which Word writes many.

    Removes empty runs.
    """
    previous_text: etree._Element | None = None
    previous_key: tuple[tuple[object, ...], ...] | None = None
    for run in list(paragraph):
        if name_of(run) != "r":
            previous_text = None
            continue
        children = [child for child in run if name_of(child) != "rPr"]
        if not children:
            paragraph.remove(run)
            continue
        run_key = _run_key(run)
        is_text_only = len(children) == 1 and name_of(children[0]) == "t"
        if is_text_only and previous_text is not None and run_key == previous_key:
            previous_text.text = (previous_text.text or "") + (children[0].text or "")
            paragraph.remove(run)
        else:
            previous_text, previous_key = (children[0] if is_text_only else None), run_key


def _run_key(run: etree._Element) -> tuple[tuple[object, ...], ...]:
    """Returns the properties of a run in comparable form."""
    rprs = [rpr for rpr in run[:1] if name_of(rpr) == "rPr"]
    return tuple((e.tag, *e.attrib.values()) for rpr in rprs for e in rpr)


def _text_of(run: etree._Element) -> str:
    return "".join(t.text or "" for t in run.iterchildren(f"{{{W}}}t"))


def alt_texts(drawing: etree._Element) -> Iterator[str]:
    """Yields the alternative texts of the pictures in a drawing."""
    for element in drawing.iter("{*}docPr", "{*}shape", "{*}imagedata"):
        text = element.get("descr") or element.get("alt") or element.get("title") or ""
        yield " ".join(text.split())


# -- elements that mammoth does not read -------------------------------------------------------


def _normalize(root: etree._Element) -> None:
    """Moves all text to where mammoth reads it: into runs in paragraphs."""
    for alternatives in list(root.iter("{*}AlternateContent")):
        _resolve_alternatives(alternatives)
    for link in root.iter(f"{{{W}}}hyperlink"):
        for name in [n for n in link.attrib if n.endswith("}id")]:
            del link.attrib[name]
    for math in list(root.iter("{*}oMath")):
        _write_formula(math)
    for deletion in root.iter(f"{{{W}}}del", f"{{{W}}}moveFrom"):
        _omit_runs(deletion, DELETED)
    for properties in list(root.iter(f"{{{W}}}trPr", f"{{{W}}}tcPr", f"{{{W}}}tblPr")):
        _drop_properties(properties)
    for ruby_text in root.iter(f"{{{W}}}rt"):
        _omit_runs(ruby_text, "ruby annotation")
    for element in list(root.iter(f"{{{W}}}*", "{*}oMathPara")):
        _rename_for_mammoth(element)
    _keep_link_targets(root)
    etree.strip_elements(root, *(f"{{{W}}}{name}" for name in _NEEDLESS_ELEMENTS), with_tail=False)
    etree.strip_tags(root, _UNWRAPPED)
    for box in list(root.iter(f"{{{W}}}txbxContent")):
        _lift_text_box(box)


def _omit_runs(element: etree._Element, reason: str) -> None:
    for run in element.iter(f"{{{W}}}r"):
        run.set("left", reason)


def _rename_for_mammoth(element: etree._Element) -> None:
    """Renames text elements to what mammoth knows, and wrappers to a tag that is then removed."""
    name = name_of(element)
    if name in _WRAPPERS and name_of(element.getparent()) not in ("rPr", "trPr", "pPr"):
        element.tag = _UNWRAPPED
    elif name == "delText":
        element.tag = f"{{{W}}}t"
    elif name == "sym":
        element.tag, element.text = f"{{{W}}}t", symbol_text(element)


def _keep_link_targets(root: etree._Element) -> None:
    """Keeps the bookmarks that links point to, under names that do not clash with ours."""
    links = list(root.iter(f"{{{W}}}hyperlink"))
    anchor_names = (attribute_of(link, "anchor") or "" for link in links)
    anchors = {name for name in anchor_names if not _NOTE_BOOKMARK.fullmatch(name)}
    for link in links:
        if (anchor := attribute_of(link, "anchor")) in anchors:
            link.set(f"{{{W}}}anchor", f"b-{anchor}")
    for bookmark in list(root.iter(f"{{{W}}}bookmarkStart")):
        name = attribute_of(bookmark, "name") or ""
        if name in anchors:
            bookmark.set(f"{{{W}}}name", f"b-{name}")
        elif not _NOTE_BOOKMARK.fullmatch(name):
            bookmark.tag = _UNWRAPPED


def _drop_properties(properties: etree._Element) -> None:
    """Removes properties of table rows and cells; marks the text of deleted ones as left out."""
    parent = properties.getparent()
    if parent is None:
        return
    if child_of(properties, "del") is not None:
        _omit_runs(parent, DELETED)
    parent.remove(properties)


def _resolve_alternatives(alternatives: etree._Element) -> None:
    """Replaces alternative contents by the preferred one."""
    chosen, parent = preferred_alternative(alternatives), alternatives.getparent()
    if parent is not None:
        position = parent.index(alternatives)
        parent[position : position + 1] = [] if chosen is None else list(chosen)


def preferred_alternative(alternatives: etree._Element) -> etree._Element | None:
    """Returns the fallback of alternative contents, which is plainer, else the first choice."""
    choices = [choice for choice in alternatives if name_of(choice) in ("Fallback", "Choice")]
    return next(
        (choice for choice in choices if name_of(choice) == "Fallback"), next(iter(choices), None)
    )


def _write_formula(math: etree._Element) -> None:
    """Replaces a formula by a run, which is left out if the formula is no plain row of symbols."""
    text = "".join(t.text or "" for t in math.iter("{*}t"))
    is_plain = {name_of(e) for e in math.iter("{*}*")} <= _PLAIN_MATH
    run = etree.Element(f"{{{W}}}r")
    etree.SubElement(run, f"{{{W}}}t").text = text
    if not is_plain:
        run.set("left", INCOMPLETE_REASON)
    run.tail = None
    parent = math.getparent()
    if parent is not None:
        parent.replace(math, run)


def symbol_text(element: etree._Element) -> str:
    """Converts a character of a symbol font to Unicode; "" where Unicode has none."""
    font, code = attribute_of(element, "font") or "", attribute_of(element, "char") or ""
    if not re.fullmatch(r"[0-9A-Fa-f]{1,5}", code):
        return ""
    symbol_code = int(code, 16)
    code_point = dingbats.get((font, symbol_code)) or dingbats.get((font, symbol_code & 0xFF))
    if code_point is None and 0xE000 <= symbol_code < 0xF900:
        return ""
    return chr(code_point or symbol_code) if (code_point or symbol_code) >= 32 else ""


def _lift_text_box(box: etree._Element) -> None:
    """Moves the paragraphs of a text box after the paragraph in which it is anchored."""
    paragraph = next(
        (ancestor for ancestor in box.iterancestors() if name_of(ancestor) == "p"), None
    )
    if paragraph is None:
        return
    for child in reversed(
        [block for block in box if name_of(block) in ("p", "tbl", "sdt", "smartTag")]
    ):
        paragraph.addnext(child)
