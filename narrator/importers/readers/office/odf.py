"""The styles of OpenDocument: of paragraphs, words and lists, each with what it stands on.

Knows the XML of styles, not that of texts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from lxml import etree

from narrator.importers.readers.elements import name_of
from narrator.importers.readers.facts import LANGUAGE
from narrator.importers.readers.office.styles import NONE, Properties, named

_FO = "{urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_ENCODED = re.compile(r"_([0-9a-f]{2,4})_")
_POINTS = {"pt": 1.0, "in": 72.0, "cm": 28.35, "mm": 2.835, "px": 0.75, "pc": 12.0}
_LENGTH = re.compile(r"(-?\d{1,6}(?:\.\d{1,6})?)(pt|in|cm|mm|px|pc)")
_DEEPEST = 30


def value_of(element: etree._Element, name: str) -> str | None:
    """An attribute in whatever namespace."""
    return next(
        (str(said) for key, said in element.attrib.items() if key.rpartition("}")[2] == name), None
    )


def _points(length: str | None) -> float | None:
    found = _LENGTH.fullmatch(length or "")
    return float(found[1]) * _POINTS[found[2]] if found else None


class OdfStyles:
    """The styles of a text, by name."""

    def __init__(self, roots: Sequence[etree._Element]) -> None:
        self._styles: dict[tuple[str, str], etree._Element] = {}
        self._lists: dict[str, etree._Element] = {}
        self._known: dict[tuple[str, str], Properties] = {}
        self.default = Properties(size=12)
        for root in roots:
            for style in root.iter(f"{_STYLE}style"):
                key = value_of(style, "family") or "", value_of(style, "name") or ""
                self._styles.setdefault(key, style)
            for style in root.iter("{*}list-style"):
                self._lists.setdefault(value_of(style, "name") or "", style)
            for style in root.iter(f"{_STYLE}default-style"):
                if value_of(style, "family") == "paragraph":
                    self.default = _said(style, NONE).over(self.default)

    def paragraph(self, name: str | None) -> Properties:
        """What a style of paragraphs says, with all that it stands on."""
        return self._of("paragraph", name or "Standard").over(self.default)

    def words(self, name: str | None) -> Properties:
        """What a style of words says."""
        return self._of("text", name or "")

    def _of(self, family: str, name: str, depth: int = 0) -> Properties:
        key = family, name
        style = self._styles.get(key)
        if style is None or depth > _DEEPEST:
            return NONE
        if key not in self._known:
            parent = value_of(style, "parent-style-name")
            base = self._of(family, parent, depth + 1) if parent else NONE
            shown = value_of(style, "display-name") or _decoded(name)
            self._known[key] = named(shown, _said(style, base)).over(base)
        return self._known[key]

    def ends_page(self, name: str | None) -> bool:
        """Whether a page ends below a paragraph of this style."""
        style = self._styles.get(("paragraph", name or ""))
        if style is None:
            return False
        return any(e.get(f"{_FO}break-after") == "page" for e in style)

    def list_kind(self, name: str, depth: int) -> Literal["ol", "ul"] | None:
        """What a list is at a depth; None where it shows neither numbers nor bullets."""
        style = self._lists.get(name)
        for level in () if style is None else style:
            if value_of(level, "level") != str(depth):
                continue
            if name_of(level) == "list-level-style-number":
                return "ol" if value_of(level, "num-format") else None
            return "ul"
        return "ul"


def _decoded(name: str) -> str:
    """A style's name as people see it: `Heading_20_1` is `Heading 1`."""
    return _ENCODED.sub(lambda found: chr(int(found[1], 16)), name)


def _said(style: etree._Element, base: Properties) -> Properties:
    """What a style itself says; `base` is what it stands on."""
    words = style.find(f"{_STYLE}text-properties")
    block = style.find(f"{_STYLE}paragraph-properties")
    level = value_of(style, "default-outline-level") or ""
    said = replace(
        NONE if words is None else _of_words(words, base),
        level=int(level) if level.isdigit() and len(level) < 3 else None,
    )
    if value_of(style, "master-page-name"):
        said = replace(said, page=True)
    return said if block is None else _of_block(block).over(said)


def _of_block(block: etree._Element) -> Properties:
    align, before = block.get(f"{_FO}text-align"), block.get(f"{_FO}break-before")
    return Properties(
        centred=None if align is None else align == "center",
        page=None if before is None else before == "page",
        space=_points(block.get(f"{_FO}margin-top")),
    )


def _of_words(words: etree._Element, base: Properties) -> Properties:
    weight, slant = words.get(f"{_FO}font-weight"), words.get(f"{_FO}font-style")
    line, shown = words.get(f"{_STYLE}text-underline-style"), value_of(words, "display")
    size = words.get(f"{_FO}font-size", "")
    points = _points(size)
    if points is None and re.fullmatch(r"\d{1,3}%", size):
        points = (base.size or 12) * int(size[:-1]) / 100
    language, country = words.get(f"{_FO}language", ""), words.get(f"{_FO}country", "")
    tag = f"{language}-{country}" if country not in ("", "none") else language
    return Properties(
        bold=None if weight is None else weight not in ("normal", "100", "200", "300", "400"),
        italic=None if slant is None else slant != "normal",
        underline=None if line is None else line != "none",
        hidden=None if shown is None else shown == "none",
        size=points,
        language=tag if LANGUAGE.fullmatch(tag) and language not in ("none", "zxx") else None,
    )
