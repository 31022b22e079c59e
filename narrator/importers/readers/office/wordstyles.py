"""The styles of Word: of paragraphs and words, each with what it is based on.

Knows the XML of styles and properties, not that of texts.
"""

from __future__ import annotations

import re
from functools import lru_cache

from lxml import etree

from narrator.importers.readers.office.styles import NONE, Properties, named

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")


def name_of(element: etree._Element) -> str:
    """An element's name without its namespace; "" for what is none."""
    return _bare_name(element.tag) if isinstance(element.tag, str) else ""


@lru_cache(1_000)
def _bare_name(tag: str) -> str:
    return tag.rpartition("}")[2]


def value_of(element: etree._Element | None, name: str = "val") -> str | None:
    """An attribute of Word's own namespace."""
    if element is None:
        return None
    return element.get(f"{{{W}}}{name}")


def child_of(element: etree._Element | None, name: str) -> etree._Element | None:
    """The first element of a name, of Word's own namespace."""
    return None if element is None else element.find(f"{{{W}}}{name}")


def is_on(parent: etree._Element | None, name: str) -> bool | None:
    """A property that is on where it stands, unless it says that it is off."""
    found = child_of(parent, name)
    return None if found is None else value_of(found) not in ("0", "false", "off", "none")


def _number(text: str | None) -> float | None:
    return float(text) if text and re.fullmatch(r"-?\d{1,6}(\.\d{1,4})?", text) else None


def run_properties(rpr: etree._Element | None) -> Properties:
    """What an `rPr` says."""
    if rpr is None or not len(rpr):
        return NONE
    size = _number(value_of(child_of(rpr, "sz")))
    language = value_of(child_of(rpr, "lang"))
    underline = child_of(rpr, "u")
    drawn = None if underline is None else value_of(underline) not in (None, "none", "0", "false")
    return Properties(
        bold=is_on(rpr, "b"),
        italic=is_on(rpr, "i"),
        underline=drawn,
        hidden=is_on(rpr, "vanish"),
        size=None if size is None else size / 2,
        language=language if language and _LANGUAGE.fullmatch(language) else None,
    )


def paragraph_properties(ppr: etree._Element | None) -> Properties:
    """What a `pPr` says."""
    if ppr is None or not len(ppr):
        return NONE
    align = value_of(child_of(ppr, "jc"))
    outline = _number(value_of(child_of(ppr, "outlineLvl")))
    numbered = child_of(ppr, "numPr")
    number = None
    if numbered is not None and (listed := value_of(child_of(numbered, "numId"))):
        number = (listed, value_of(child_of(numbered, "ilvl")) or "0")
    space = _number(value_of(child_of(ppr, "spacing"), "before"))
    return Properties(
        level=None if outline is None else (int(outline) + 1 if 0 <= outline < 9 else 0),
        centred=None if align is None else align == "center",
        page=is_on(ppr, "pageBreakBefore"),
        space=None if space is None else space / 20,
        number=number,
    )


class Styles:
    """The styles of a document, each with what it is based on."""

    def __init__(self, root: etree._Element | None) -> None:
        self._styles: dict[str, etree._Element] = {}
        self._known: dict[str, Properties] = {}
        self._paragraphs: dict[str, Properties] = {}
        self.default = Properties(size=10)  # Word's own, where a file says none
        self.normal = ""
        for style in () if root is None else root.iter(f"{{{W}}}style"):
            name, is_default = value_of(style, "styleId") or "", value_of(style, "default")
            self._styles.setdefault(name, style)
            if value_of(style, "type") == "paragraph" and is_default in ("1", "true"):
                self.normal = name
        if root is not None and (defaults := child_of(root, "docDefaults")) is not None:
            rpr, ppr = (
                child_of(child_of(defaults, f"{kind}Default"), kind) for kind in ("rPr", "pPr")
            )
            said = run_properties(rpr).over(paragraph_properties(ppr))
            self.default = said.over(self.default)

    def paragraph(self, name: str) -> Properties:
        """What holds for a paragraph of a style, the same object each time."""
        if name not in self._paragraphs:
            self._paragraphs[name] = self.of(name).over(self.default)
        return self._paragraphs[name]

    def of(self, name: str | None, depth: int = 0) -> Properties:
        """What a style says, with all that it is based on."""
        style = self._styles.get(name or "")
        if style is None or name is None or depth > 20:
            return NONE
        if name not in self._known:
            base = self.of(value_of(child_of(style, "basedOn")), depth + 1)
            own = run_properties(child_of(style, "rPr")).over(
                paragraph_properties(child_of(style, "pPr"))
            )
            self._known[name] = named(value_of(child_of(style, "name")) or name, own).over(base)
        return self._known[name]
