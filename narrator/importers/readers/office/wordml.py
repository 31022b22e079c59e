"""Word's markup, made ready for mammoth: what this drops in silence is told to it as styles.

Mammoth makes HTML of paragraphs, runs, lists, tables and notes. It does not say what was deleted
or hidden, in what language words are, or how a paragraph looks by its style. Here each paragraph
gets a bookmark by whose number its look is found again, and each run a style that says why it is
left out. Knows WordprocessingML, not zips and not chapters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from lxml import etree
from mammoth.docx.dingbats import dingbats

from narrator.importers.book import count_characters, names
from narrator.importers.readers.elements import INCOMPLETE
from narrator.importers.readers.office.looks import CONTENTS, ParagraphLook
from narrator.importers.readers.office.styles import NONE, Properties, look_of
from narrator.importers.readers.office.wordnumbers import HeadingNumbers
from narrator.importers.readers.office.wordstyles import (
    Styles,
    W,
    child_of,
    is_on,
    name_of,
    paragraph_properties,
    run_properties,
    value_of,
)

DELETED = "deleted by a tracked change"
HIDDEN = "hidden"
PAGE_NUMBER = "page number"
LEFT_STYLES = {
    "left-deleted": DELETED, "left-hidden": HIDDEN, "left-formula": INCOMPLETE,
    "left-page": PAGE_NUMBER, "left-ruby": "ruby annotation",
}  # fmt: skip
"""Styles of runs that are left out, and why."""
_STYLE_OF = {why: style for style, why in LEFT_STYLES.items()}

_AROUND = names(
    "fldSimple bdo dir ruby rubyBase rt ins del moveFrom moveTo sdt sdtContent subDoc smartTag "
    "customXml oMathPara"
)
"""Elements around runs and paragraphs, which say no more once they are followed."""
_BARE = "bare"
_NEEDLESS = names(
    "proofErr bookmarkEnd lastRenderedPageBreak commentRangeStart commentRangeEnd "
    "commentReference permStart permEnd sdtPr sdtEndPr rubyPr fldData annotationRef"
)
_OURS = re.compile(r"n-\d+")
"""Names of the bookmarks of notes (`docx.py`)."""
_FIELD = re.compile(r"\s*([A-Za-z]+)")
_PAGE_NUMBERS = names("PAGE NUMPAGES SECTIONPAGES")
_LISTS = {"TOC": CONTENTS, "INDEX": "index", "TOA": CONTENTS}
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
_KNOWN = 5_000
"""Kinds of runs that are kept in mind."""
_LANGUAGES = 40
"""Languages that one document may mark."""


@dataclass(slots=True)
class Prepared:
    """What mammoth does not tell of a document, by number."""

    looks: list[ParagraphLook] = field(default_factory=list)
    pictures: list[str] = field(default_factory=list)
    languages: dict[str, int] = field(default_factory=dict)
    """Letters in each that runs are marked with."""
    struck: int = 0
    """Characters that are struck through."""
    counted: int = 0
    """Characters of the numbers that headings have, which stand in no text."""

    @property
    def language(self) -> str | None:
        """That of the most letters, if they are marked."""
        return max(self.languages, key=lambda one: self.languages[one], default="") or None


@dataclass(slots=True)
class _Field:
    code: str = ""
    shown: bool = False

    @property
    def kind(self) -> str:
        found = _FIELD.match(self.code)
        return found[1].upper() if found else ""


class Preparer:
    """Changes the parts of one document in place; its `prepared` is then what they say."""

    def __init__(self, styles: Styles, numbers: HeadingNumbers) -> None:
        self.styles = styles
        self.numbers = numbers
        self.prepared = Prepared()
        self._fields: list[_Field] = []
        self._known: dict[tuple[bytes, int], tuple[Properties, str | None, bool]] = {}
        self._page = False
        """Whether the next paragraph begins a page."""

    def prepare(self, root: etree._Element) -> None:
        """Change one part: a document, or all its notes."""
        _unfold(root)
        self._fields.clear()
        for paragraph in list(root.iter(f"{{{W}}}p")):
            self._paragraph(paragraph)

    def _paragraph(self, paragraph: etree._Element) -> None:
        ppr = child_of(paragraph, "pPr")
        direct = paragraph_properties(ppr)
        style = value_of(child_of(ppr, "pStyle")) or self.styles.normal
        base = self.styles.paragraph(style)
        own = direct.over(base)
        within = self._list()
        shown: list[tuple[int, Properties]] = []
        page = self._page or bool(own.page)
        self._page = False
        for run in list(paragraph.iter(f"{{{W}}}r")):
            said = self._run(run, base)
            within = within or self._list()
            letters = len("".join(_text_of(run).split()))
            if letters:
                shown.append((letters, said))
            if any(value_of(b, "type") == "page" for b in run.iter(f"{{{W}}}br")):
                page, self._page = page or not shown, bool(shown)
        if (section := child_of(ppr, "sectPr")) is not None:
            self._page = value_of(child_of(section, "type")) != "continuous"
        _join_runs(paragraph)
        look = look_of(own, shown, page)
        if own.number and look.level:
            self._number(paragraph, own.number, not shown)
        if own.role == "toc" or within is not None:
            look = replace(look, left=_LISTS.get(within.kind, CONTENTS) if within else CONTENTS)
        self._rewrite(paragraph, ppr, own, look)

    def _number(self, paragraph: etree._Element, number: tuple[str, str], is_empty: bool) -> None:
        """Write what Word counts before a heading, as a line of its own."""
        said = self.numbers.counted(number, is_empty)
        if not said:
            return
        self.prepared.counted += count_characters(said)
        run = etree.Element(f"{{{W}}}r")
        etree.SubElement(run, f"{{{W}}}t").text = said
        if not is_empty:
            etree.SubElement(run, f"{{{W}}}br")
        ppr = child_of(paragraph, "pPr")
        paragraph.insert(0 if ppr is None else 1, run)

    def _list(self) -> _Field | None:
        """The field around what is in hand that lists contents."""
        return next((f for f in self._fields if f.kind in _LISTS), None)

    def _rewrite(
        self,
        paragraph: etree._Element,
        ppr: etree._Element | None,
        own: Properties,
        look: ParagraphLook,
    ) -> None:
        """Say of a paragraph only what mammoth should make of it, and which it is."""
        mark = child_of(child_of(ppr, "rPr"), "del")
        if ppr is not None:
            paragraph.remove(ppr)
        if mark is not None:  # it flows into the next one
            made = etree.Element(f"{{{W}}}pPr")
            etree.SubElement(etree.SubElement(made, f"{{{W}}}rPr"), f"{{{W}}}del")
            paragraph.insert(0, made)
            return
        number = etree.Element(f"{{{W}}}bookmarkStart")
        number.set(f"{{{W}}}name", f"p-{len(self.prepared.looks)}")
        paragraph.insert(0, number)
        self.prepared.looks.append(look)
        if own.number and not look.level and not self.numbers.is_bare(own.number):
            made = etree.Element(f"{{{W}}}pPr")
            listed = etree.SubElement(made, f"{{{W}}}numPr")
            for name, said in zip(("numId", "ilvl"), own.number, strict=True):
                _tell(listed, name, said)
            paragraph.insert(0, made)

    def _run(self, run: etree._Element, base: Properties) -> Properties:
        """Say of a run only what mammoth should make of it; what holds for its words."""
        rpr = child_of(run, "rPr")
        said, raised, struck = self._said(rpr, base)
        self._follow(run)
        why = self._why_left(run, said)
        if struck and not why:
            self.prepared.struck += len("".join(_text_of(run).split()))
        made = self._told(run, said, raised, why)
        if rpr is not None:
            run.remove(rpr)
        if len(made):
            run.insert(0, made)
        self._draw(run)
        return NONE if why else said

    def _why_left(self, run: etree._Element, said: Properties) -> str | None:
        if said.hidden or run.get("left"):
            return run.get("left") or HIDDEN
        numbered = any(field.shown and field.kind in _PAGE_NUMBERS for field in self._fields)
        return PAGE_NUMBER if numbered else None

    def _told(
        self, run: etree._Element, said: Properties, raised: str | None, why: str | None
    ) -> etree._Element:
        """The properties of a run by which mammoth makes what it should."""
        linked = said.link or name_of(run.getparent()) == "hyperlink"
        linked = linked or any(field.kind == "HYPERLINK" for field in self._fields)
        made = etree.Element(f"{{{W}}}rPr")
        if why:
            _tell(made, "rStyle", _STYLE_OF[why])
        elif self._speaks(said.language, run):
            _tell(made, "rStyle", f"in-{said.language}")
        if said.italic or (said.underline and not linked):
            _tell(made, "i")
        if said.bold:
            _tell(made, "b")
        if raised:
            _tell(made, "vertAlign", raised)
        return made

    def _said(
        self, rpr: etree._Element | None, base: Properties
    ) -> tuple[Properties, str | None, bool]:
        """What holds for the words of a run, whether they are raised, and struck through."""
        if rpr is None:
            return base, None, False
        key = etree.tostring(rpr, with_tail=False), id(base)
        if key not in self._known:
            if len(self._known) > _KNOWN:
                self._known.clear()
            own = run_properties(rpr).over(self.styles.of(value_of(child_of(rpr, "rStyle"))))
            struck = bool(is_on(rpr, "strike") or is_on(rpr, "dstrike"))
            self._known[key] = own.over(base), value_of(child_of(rpr, "vertAlign")), struck
        return self._known[key]

    def _speaks(self, language: str | None, run: etree._Element) -> bool:
        """Whether a run is to be marked with its language."""
        known = self.prepared.languages
        if language not in known and len(known) >= _LANGUAGES:
            return False
        known[language or ""] = known.get(language or "", 0) + len(_text_of(run))
        return bool(language)

    def _follow(self, run: etree._Element) -> None:
        """Keep count of the fields that a run stands in."""
        for child in run:
            name = name_of(child)
            if name == "instrText" and self._fields:
                self._fields[-1].code += (child.text or "")[:200]
            elif name == "fldChar":
                kind = value_of(child, "fldCharType")
                if kind == "begin":
                    self._fields.append(_Field())
                elif kind == "separate" and self._fields:
                    self._fields[-1].shown = True
                elif kind == "end" and self._fields:
                    self._fields.pop()

    def _draw(self, run: etree._Element) -> None:
        """Name the pictures of a run by their number."""
        for child in list(run):
            if name_of(child) in ("drawing", "pict", "object"):
                alts = [alt for alt in alts_of(child) if alt]
                for alt in alts:
                    mark = etree.Element(f"{{{W}}}bookmarkStart")
                    mark.set(f"{{{W}}}name", f"i-{len(self.prepared.pictures)}")
                    self.prepared.pictures.append(alt)
                    run.insert(run.index(child), mark)
                run.remove(child)


def _tell(properties: etree._Element, name: str, value: str | None = None) -> None:
    """Add a property."""
    made = etree.SubElement(properties, f"{{{W}}}{name}")
    if value is not None:
        made.set(f"{{{W}}}val", value)


def _join_runs(paragraph: etree._Element) -> None:
    """Join runs of words that are alike, of which Word makes many, and drop empty ones."""
    above: etree._Element | None = None
    alike: tuple[tuple[object, ...], ...] | None = None
    for run in list(paragraph):
        if name_of(run) != "r":
            above = None
            continue
        words = [child for child in run if name_of(child) != "rPr"]
        if not words:
            paragraph.remove(run)
            continue
        said = _told_of(run)
        plain = len(words) == 1 and name_of(words[0]) == "t"
        if plain and above is not None and said == alike:
            above.text = (above.text or "") + (words[0].text or "")
            paragraph.remove(run)
        else:
            above, alike = (words[0] if plain else None), said


def _told_of(run: etree._Element) -> tuple[tuple[object, ...], ...]:
    """The properties of a run, to be compared."""
    rprs = [rpr for rpr in run[:1] if name_of(rpr) == "rPr"]
    return tuple((e.tag, *e.attrib.values()) for rpr in rprs for e in rpr)


def _text_of(run: etree._Element) -> str:
    return "".join(t.text or "" for t in run.iterchildren(f"{{{W}}}t"))


def alts_of(drawing: etree._Element) -> Iterator[str]:
    """What is said of the pictures in a drawing."""
    for element in drawing.iter("{*}docPr", "{*}shape", "{*}imagedata"):
        said = element.get("descr") or element.get("alt") or element.get("title") or ""
        yield " ".join(said.split())


# -- what mammoth does not look into -----------------------------------------------------------


def _unfold(root: etree._Element) -> None:
    """Bring all text to where mammoth looks: in runs, in paragraphs."""
    for either in list(root.iter("{*}AlternateContent")):
        _choose(either)
    for link in root.iter(f"{{{W}}}hyperlink"):
        for name in [n for n in link.attrib if n.endswith("}id")]:
            del link.attrib[name]
    for math in list(root.iter("{*}oMath")):
        _write_formula(math)
    for removed in root.iter(f"{{{W}}}del", f"{{{W}}}moveFrom"):
        _leave_runs(removed, DELETED)
    for properties in list(root.iter(f"{{{W}}}trPr", f"{{{W}}}tcPr", f"{{{W}}}tblPr")):
        _drop_properties(properties)
    for spoken in root.iter(f"{{{W}}}rt"):
        _leave_runs(spoken, "ruby annotation")
    for element in list(root.iter(f"{{{W}}}*", "{*}oMathPara")):
        _rename(element)
    _name_targets(root)
    etree.strip_elements(root, *(f"{{{W}}}{name}" for name in _NEEDLESS), with_tail=False)
    etree.strip_tags(root, _BARE)
    for box in list(root.iter(f"{{{W}}}txbxContent")):
        _lift(box)


def _leave_runs(element: etree._Element, why: str) -> None:
    for run in element.iter(f"{{{W}}}r"):
        run.set("left", why)


def _rename(element: etree._Element) -> None:
    """Give text the names that mammoth knows, and one name to all that is only around it."""
    name = name_of(element)
    if name in _AROUND and name_of(element.getparent()) not in ("rPr", "trPr", "pPr"):
        element.tag = _BARE
    elif name == "delText":
        element.tag = f"{{{W}}}t"
    elif name == "sym":
        element.tag, element.text = f"{{{W}}}t", sign_of(element)


def _name_targets(root: etree._Element) -> None:
    """Keep of the bookmarks those that links lead to, under names that are not ours."""
    links = list(root.iter(f"{{{W}}}hyperlink"))
    named = (value_of(link, "anchor") or "" for link in links)
    anchors = {name for name in named if not _OURS.fullmatch(name)}
    for link in links:
        if (anchor := value_of(link, "anchor")) in anchors:
            link.set(f"{{{W}}}anchor", f"b-{anchor}")
    for mark in list(root.iter(f"{{{W}}}bookmarkStart")):
        name = value_of(mark, "name") or ""
        if name in anchors:
            mark.set(f"{{{W}}}name", f"b-{name}")
        elif not _OURS.fullmatch(name):
            mark.tag = _BARE


def _drop_properties(properties: etree._Element) -> None:
    """Say no more of a table than its rows and cells; a deleted row's words are left out."""
    holder = properties.getparent()
    if holder is None:
        return
    if child_of(properties, "del") is not None:
        _leave_runs(holder, DELETED)
    holder.remove(properties)


def _choose(either: etree._Element) -> None:
    """Put one of alternatives in their place: that for old readers, which is plainer."""
    chosen, parent = chosen_of(either), either.getparent()
    if parent is not None:
        place = parent.index(either)
        parent[place : place + 1] = [] if chosen is None else list(chosen)


def chosen_of(either: etree._Element) -> etree._Element | None:
    """Of alternatives that for old readers, which is plainer."""
    choices = [c for c in either if name_of(c) in ("Fallback", "Choice")]
    return next((c for c in choices if name_of(c) == "Fallback"), next(iter(choices), None))


def _write_formula(math: etree._Element) -> None:
    """A formula as a run: its signs, where they are a plain row, else left out."""
    text = "".join(t.text or "" for t in math.iter("{*}t"))
    plain = {name_of(e) for e in math.iter("{*}*")} <= _PLAIN_MATH
    run = etree.Element(f"{{{W}}}r")
    etree.SubElement(run, f"{{{W}}}t").text = text
    if not plain:
        run.set("left", INCOMPLETE)
    run.tail = None
    parent = math.getparent()
    if parent is not None:
        parent.replace(math, run)


def sign_of(element: etree._Element) -> str:
    """A sign of a font of signs in Unicode; "" where that has none."""
    font, code = value_of(element, "font") or "", value_of(element, "char") or ""
    if not re.fullmatch(r"[0-9A-Fa-f]{1,5}", code):
        return ""
    number = int(code, 16)
    found = dingbats.get((font, number)) or dingbats.get((font, number & 0xFF))
    if found is None and 0xE000 <= number < 0xF900:
        return ""
    return chr(found or number) if (found or number) >= 32 else ""


def _lift(box: etree._Element) -> None:
    """Put the paragraphs of a text box after the one that it is anchored in."""
    holder = next((a for a in box.iterancestors() if name_of(a) == "p"), None)
    if holder is None:
        return
    for child in reversed([c for c in box if name_of(c) in ("p", "tbl", "sdt", "smartTag")]):
        holder.addnext(child)
