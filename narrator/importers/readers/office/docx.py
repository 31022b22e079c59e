"""Word documents (.docx, and their kin with macros or as templates) -> pages.

Mammoth makes HTML of an archive in memory that holds two parts and no picture, link or macro; what
it drops is told to it before (`wordml.py`), and how paragraphs look is judged after (`judging.py`).
Comments, and what stands at the top and bottom of pages, are left out and listed.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import mammoth
from lxml import etree

from narrator.importers.book import Book, Choices, count_characters
from narrator.importers.chapters import OFFICE
from narrator.importers.readers import markup
from narrator.importers.readers.archive import Archive
from narrator.importers.readers.elements import LANG, LEFT
from narrator.importers.readers.facts import Metadata
from narrator.importers.readers.office import wordml
from narrator.importers.readers.office.judging import judge
from narrator.importers.readers.office.looks import FirstPage, ParagraphLook
from narrator.importers.readers.office.properties import facts_of, guessed, taken
from narrator.importers.readers.office.wordnumbers import HeadingNumbers
from narrator.importers.readers.office.wordstyles import Styles, W, name_of, value_of
from narrator.importers.readers.pages import Pages, SourcePage, read_pages

_STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"
_ASIDE = {
    "comments": "comment",
    "header": "header or footer of a page",
    "footer": "header or footer of a page",
}
"""Parts whose words are no text of the book, by the type of their relationship."""
_MARK = re.compile(r"(p|i)-(\d+)")
_FAULTS = (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError)
"""What mammoth raises where markup breaks its rules."""
_STRUCK = 40
_ELEMENTS = 300_000
"""Elements that mammoth is given, each of which takes a kilobyte or two."""


def read_docx(path: Path, choices: Choices) -> Book:
    """The book in a Word document. Raises ImportFailed, Slow."""
    with Archive(path, "a Word document") as archive:
        parts = _WordParts(archive)
        pages = _pages(archive, parts)
    return read_pages(path, pages, choices)


class _WordParts:
    """The parts of a document, found by their relationships."""

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self.main = self._main()
        self._named: dict[str, list[str]] = {}
        """Kind of relationship -> names of parts."""
        for kind, name in self._relationships(self.main):
            self._named.setdefault(kind, []).append(name)

    def _main(self) -> str:
        named = [name for kind, name in self._relationships("") if kind == "officeDocument"]
        for name in (*named, "word/document.xml"):
            if found := self.archive.find(name):
                return found
        raise self.archive.failed("not a Word document, or broken: it lacks word/document.xml")

    def _relationships(self, part: str) -> Iterator[tuple[str, str]]:
        folder, name = posixpath.split(part)
        found = self.archive.find(posixpath.join(folder, "_rels", f"{name}.rels"))
        if found is None:
            return
        for one in self.archive.xml(found).iter("{*}Relationship"):
            if one.get("TargetMode") != "External":
                target = posixpath.normpath(posixpath.join("/", folder, one.get("Target", "")))
                yield one.get("Type", "").rpartition("/")[2], target.lstrip("/")

    def names(self, kind: str) -> list[str]:
        """The parts of a kind that there are."""
        known = (self.archive.find(name) for name in self._named.get(kind, ()))
        return list(dict.fromkeys(name for name in known if name))

    def xml(self, name: str) -> etree._Element:
        """A part, in the namespace that most have."""
        try:
            return markup.bounded_xml(self.archive.text(name), _STRICT, W)
        except markup.BadMarkup as error:
            raise self.archive.failed(str(error), name) from None

    def first(self, kind: str) -> etree._Element | None:
        names = self.names(kind)
        return self.xml(names[0]) if names else None


def _pages(archive: Archive, parts: _WordParts) -> Pages:
    styles = Styles(parts.first("styles"))
    numbering = parts.first("numbering")
    facts = _facts(archive)
    document = parts.xml(parts.main)
    notes = _notes(parts)
    asides = [(why, parts.xml(n)) for kind, why in _ASIDE.items() for n in parts.names(kind)]
    characters = sum(map(_characters, (document, *notes, *(root for _, root in asides))))
    preparer = wordml.Preparer(styles, HeadingNumbers(numbering))
    body = next(document.iter(f"{{{W}}}body"), None)
    if body is None:
        raise archive.failed("broken: it has no body", parts.main)
    marks = _bring_notes(body, notes)
    preparer.prepare(document)
    prepared = preparer.prepared
    language = facts.language or prepared.language or styles.default.language
    if sum(1 for _ in document.iter()) > _ELEMENTS:
        raise archive.failed("has more elements than a book needs", parts.main)
    root = _html(archive, _zipped(document, numbering), list(prepared.languages))
    said = judge(root[0], _found(root, prepared, language or ""))
    if language:
        root.set(LANG, language)
    pages = [SourcePage("document", root)]
    pages += [
        SourcePage(f"{why} {number}", _aside(part), why)
        for number, (why, part) in enumerate(asides, 1)
    ]
    return Pages(
        pages,
        taken(facts, said),
        rules=OFFICE,
        characters=characters + marks + prepared.counted,
        remarks=[*_remarks(prepared, said), *archive.remarks],
    )


# -- what the source says --------------------------------------------------------------------------


def _facts(archive: Archive) -> Metadata:
    """What the file's properties say, where that is no program's."""
    name = archive.find("docProps/core.xml")
    if name is None:
        return Metadata()
    root = archive.xml(name)

    def said(what: str) -> str:
        return " ".join((root.findtext(f"{{*}}{what}") or "").split())

    return facts_of(
        said("title"), said("creator"), said("language"), said("description"), said("subject")
    )


def _remarks(prepared: wordml.Prepared, said: FirstPage) -> Iterator[str]:
    yield from guessed(said)
    if prepared.struck > _STRUCK:
        yield f"{prepared.struck:,} characters are struck through; they are read."


# -- words that are counted, and those beside the text --------------------------------------------


def _signs(root: etree._Element) -> Iterator[str]:
    """The words of a part, and what is said of its pictures, as they stand."""
    name = name_of(root)
    if name in ("t", "delText"):
        yield root.text or ""
    elif name == "sym":
        yield wordml.sign_of(root)
    elif name == "noBreakHyphen":
        yield "-"
    elif name in ("p", "br", "tab", "cr", "tr"):
        yield " "
    elif name in ("drawing", "pict", "object"):
        yield from wordml.alts_of(root)
    elif name in ("rPr", "pPr", "tblPr", "tcPr"):
        return
    if name == "AlternateContent":
        chosen = wordml.chosen_of(root)
        yield from () if chosen is None else _signs(chosen)
        return
    for child in root:
        yield from _signs(child)


def _characters(root: etree._Element) -> int:
    """Visible characters of a part, before anything becomes of it."""
    return sum(map(count_characters, _signs(root)))


def _aside(part: etree._Element) -> etree._Element:
    """What stands beside the text, as a page."""
    root = etree.Element("html")
    body = etree.SubElement(root, "body")
    etree.SubElement(body, "p").text = " ".join("".join(_signs(part)).split())
    return root


# -- notes -----------------------------------------------------------------------------------------


def _notes(parts: _WordParts) -> list[etree._Element]:
    """The parts that hold notes, without the lines above them."""
    notes = [n for kind in ("footnotes", "endnotes") if (n := parts.first(kind)) is not None]
    for part in notes:
        for line in filter(_is_separator, list(part)):
            part.remove(line)
    return notes


def _is_separator(note: etree._Element) -> bool:
    """Whether a note is no note, but the line above notes."""
    return "separator" in (value_of(note, "type") or "").lower()


def _bring_notes(body: etree._Element, parts: list[etree._Element]) -> int:
    """Put notes at the end of the body, each under its number; the characters of the numbers."""
    notes = {
        (name_of(note), value_of(note, "id")): note
        for part in parts
        for note in part
        if name_of(note) in ("footnote", "endnote")
    }
    for part in (body, *parts):
        _rename_notes(part)
    numbers = {key: number for number, key in enumerate(notes, 1)}
    characters = 0
    kinds = f"{{{W}}}footnoteReference", f"{{{W}}}endnoteReference"
    for reference in [found for part in (body, *parts) for found in part.iter(*kinds)]:
        kind = name_of(reference).removesuffix("Reference")
        number = numbers.get((kind, value_of(reference, "id")))
        run = reference.getparent()
        reference.tag = f"{{{W}}}t"
        if number is None or run is None or name_of(run) != "r":
            continue
        if value_of(reference, "customMarkFollows") in (None, "0", "false"):
            reference.text = str(number)
            characters += len(reference.text)
        link = etree.Element(f"{{{W}}}hyperlink")
        link.set(f"{{{W}}}anchor", f"n-{number}")
        run.addprevious(link)
        link.append(run)
    for key, number in numbers.items():
        begin = etree.SubElement(etree.SubElement(body, f"{{{W}}}p"), f"{{{W}}}bookmarkStart")
        begin.set(f"{{{W}}}name", f"n-{number}")
        body.extend(list(notes[key]))
    return characters


def _rename_notes(part: etree._Element) -> None:
    """Give a source's own bookmarks other names than those of notes get here."""
    for mark in part.iter(f"{{{W}}}bookmarkStart", f"{{{W}}}hyperlink"):
        for name in ("name", "anchor"):
            if (value_of(mark, name) or "").startswith("n-"):
                mark.set(f"{{{W}}}{name}", f"own-{value_of(mark, name)}")


# -- mammoth ---------------------------------------------------------------------------------------


def _zipped(document: etree._Element, numbering: etree._Element | None) -> io.BytesIO:
    """An archive of these parts and nothing else."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("word/document.xml", etree.tostring(document))
        if numbering is not None:
            archive.writestr("word/numbering.xml", etree.tostring(numbering))
    return made


def _html(archive: Archive, made: io.BytesIO, languages: list[str]) -> etree._Element:
    """What mammoth makes of an archive, as an element with a body."""
    styles = [*wordml.LEFT_STYLES, *(f"in-{language}" for language in filter(None, languages))]
    try:
        found = mammoth.convert_to_html(
            made,
            style_map="\n".join(f"r.{style} => span.{style}" for style in styles),
            include_embedded_style_map=False,
            ignore_empty_paragraphs=False,
        )
        root = markup.parse_xml(f"<html><body>{found.value}</body></html>")
        markup.check_depth(root)
    except (*_FAULTS, etree.XMLSyntaxError) as error:
        what = f"broken, its markup is not Word's: {markup.short(error)}"
        raise archive.failed(what) from None
    return root


def _found(
    root: etree._Element, prepared: wordml.Prepared, main: str
) -> dict[etree._Element, ParagraphLook]:
    """Write down what mammoth was told by numbers and styles; how each paragraph looks."""
    body = root[0]
    looks: dict[etree._Element, ParagraphLook] = {}
    for link in list(body.iter("a")):
        mark = _MARK.fullmatch(link.get("id", ""))
        holder = link.getparent()
        if holder is None:
            continue
        if mark and mark[1] == "p":
            looks.setdefault(holder, prepared.looks[int(mark[2])])
            _drop(link)
        elif mark:
            link.tag = "img"
            link.set("alt", prepared.pictures[int(mark[2])])
        elif link.get("href", "").startswith("#n-"):
            link.set("class", "noteref")
    for span in list(body.iter("span")):
        _tell(span, main)
    _gather_notes(body, looks)
    return looks


def _tell(span: etree._Element, main: str) -> None:
    """Make attributes of the style of a run."""
    style = span.attrib.pop("class", "")
    if style in wordml.LEFT_STYLES:
        span.set(LEFT, wordml.LEFT_STYLES[style])
    elif style.startswith("in-") and style[3:] != main:
        span.set(LANG, style[3:])


def _drop(element: etree._Element) -> None:
    """Remove an element, not what follows it."""
    parent = element.getparent()
    if parent is not None:
        element.tag = "drop"
        etree.strip_tags(parent, "drop")


def _gather_notes(body: etree._Element, looks: dict[etree._Element, ParagraphLook]) -> None:
    """Put each note into an element of its own, below the block that refers to it."""
    notes: dict[str, etree._Element] = {}
    note: etree._Element | None = None
    for child in list(body):
        marks = [e for e in child.iter("a") if e.get("id", "").startswith("n-")]
        if marks and not "".join(child.itertext()).strip():
            note = etree.SubElement(body, "aside", id=marks[0].get("id", ""))
            notes[note.get("id", "")] = note
            note.set("class", "footnote")
            looks.pop(child, None)
            body.remove(child)
        elif note is not None:
            note.append(child)
    for link in reversed(body.findall(".//a[@class='noteref']")):
        held = notes.pop(link.get("href", "")[1:], None)
        place = next((e for e in (link, *link.iterancestors()) if e.getparent() is body), None)
        if held is not None and place is not None and held is not place:
            place.addnext(held)
