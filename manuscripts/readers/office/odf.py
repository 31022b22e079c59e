"""Resolves OpenDocument styles of paragraphs, text runs and lists, with their parent styles.

Knows the XML of styles, not that of texts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Literal

from lxml import etree

from manuscripts.book import word_set
from manuscripts.readers.elements import element_name
from manuscripts.readers.facts import valid_language
from manuscripts.readers.office.styles import (
    NO_PROPERTIES,
    Properties,
    StyleSheet,
    when_set,
)

_FO = "{urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_ENCODED = re.compile(r"_([0-9a-f]{2,4})_")
_POINTS = {"pt": 1.0, "in": 72.0, "cm": 28.35, "mm": 2.835, "px": 0.75, "pc": 12.0}
_LENGTH = re.compile(r"(-?\d{1,6}(?:\.\d{1,6})?)(pt|in|cm|mm|px|pc)")
_LIGHT_WEIGHTS = word_set("normal 100 200 300 400")


def attribute_of(element: etree._Element, name: str) -> str | None:
    """Returns the value of an attribute, whatever its namespace."""
    return next(
        (str(text) for key, text in element.attrib.items() if key.rpartition("}")[2] == name), None
    )


def _points(length: str | None) -> float | None:
    """Converts a length such as `1.5cm` to points; None for anything else."""
    match = _LENGTH.fullmatch(length or "")
    return float(match[1]) * _POINTS[match[2]] if match else None


class OdfStyles:
    """The styles of a text, looked up by name."""

    def __init__(self, roots: Sequence[etree._Element]) -> None:
        self._sheet = StyleSheet()
        self._page_ends: set[str] = set()
        """Paragraph styles after which a page ends."""
        self._lists: dict[str, etree._Element] = {}
        self.default = Properties(size=12)
        for root in roots:
            for style in root.iter(f"{_STYLE}style"):
                family, name, parent, visible_name = (
                    attribute_of(style, attribute) or ""
                    for attribute in ("family", "name", "parent-style-name", "display-name")
                )
                self._sheet.add(
                    (family, name),
                    # `Heading_20_1` is the internal name of `Heading 1`.
                    visible_name or _ENCODED.sub(lambda code: chr(int(code[1], 16)), name),
                    (family, parent),
                    partial(_read_style, style),
                )
                if any(element.get(f"{_FO}break-after") == "page" for element in style):
                    self._page_ends.add(name)
            for style in root.iter("{*}list-style"):
                self._lists.setdefault(attribute_of(style, "name") or "", style)
            for style in root.iter(f"{_STYLE}default-style"):
                if attribute_of(style, "family") == "paragraph":
                    self.default = _read_style(style, NO_PROPERTIES).with_base(self.default)

    def paragraph_style(self, name: str | None) -> Properties:
        """Returns a paragraph style's properties, with those of its parents and the default."""
        return self._sheet.resolve(("paragraph", name or "Standard")).with_base(self.default)

    def text_style(self, name: str | None) -> Properties:
        """Returns the properties of a text style, with those of its parents."""
        return self._sheet.resolve(("text", name or ""))

    def ends_page(self, name: str | None) -> bool:
        """Returns whether the page ends after a paragraph of this style."""
        return name in self._page_ends

    def list_kind(self, name: str, depth: int) -> Literal["ol", "ul"] | None:
        """Returns the HTML tag of a list level; None where it shows neither numbers nor bullets."""
        style = self._lists.get(name)
        for level in () if style is None else style:
            if attribute_of(level, "level") != str(depth):
                continue
            if element_name(level) == "list-level-style-number":
                return "ol" if attribute_of(level, "num-format") else None
            return "ul"
        return "ul"


def _read_style(style: etree._Element, base: Properties) -> Properties:
    """Reads the properties that a style itself sets; sizes in % are relative to `base`."""
    level = attribute_of(style, "default-outline-level") or ""
    text, paragraph = (
        next(style.iterchildren(f"{_STYLE}{kind}-properties"), etree.Element("none"))
        for kind in ("text", "paragraph")
    )
    size = text.get(f"{_FO}font-size", "")
    points = _points(size)
    if re.fullmatch(r"\d{1,3}%", size):
        points = (base.size or 12) * int(size[:-1]) / 100
    language, country = text.get(f"{_FO}language", ""), text.get(f"{_FO}country", "")
    language_tag = f"{language}-{country}" if country not in ("", "none") else language
    starts_page = when_set(paragraph.get(f"{_FO}break-before"), "page".__eq__)
    return Properties(
        level=int(level) if level.isdigit() and len(level) < 3 else None,
        centred=when_set(paragraph.get(f"{_FO}text-align"), "center".__eq__),
        starts_page=bool(attribute_of(style, "master-page-name")) or starts_page,
        space_above=_points(paragraph.get(f"{_FO}margin-top")),
        bold=when_set(text.get(f"{_FO}font-weight"), lambda weight: weight not in _LIGHT_WEIGHTS),
        italic=when_set(text.get(f"{_FO}font-style"), "normal".__ne__),
        underline=when_set(text.get(f"{_STYLE}text-underline-style"), "none".__ne__),
        hidden=when_set(attribute_of(text, "display"), "none".__eq__),
        size=points,
        language=valid_language(language_tag) if language not in ("none", "zxx") else None,
    )
