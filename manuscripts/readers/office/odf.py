"""Resolves OpenDocument styles of paragraphs, text runs and lists, with their parent styles.

Knows the XML of styles, not that of texts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from lxml import etree

from manuscripts.readers.elements import element_name
from manuscripts.readers.facts import LANGUAGE_TAG
from manuscripts.readers.office.styles import NO_PROPERTIES, Properties, apply_style_name

_FO = "{urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_ENCODED = re.compile(r"_([0-9a-f]{2,4})_")
_POINTS = {"pt": 1.0, "in": 72.0, "cm": 28.35, "mm": 2.835, "px": 0.75, "pc": 12.0}
_LENGTH = re.compile(r"(-?\d{1,6}(?:\.\d{1,6})?)(pt|in|cm|mm|px|pc)")
_MAX_DEPTH = 30


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
        self._styles: dict[tuple[str, str], etree._Element] = {}
        self._lists: dict[str, etree._Element] = {}
        self._resolved: dict[tuple[str, str], Properties] = {}
        self.default = Properties(size=12)
        for root in roots:
            for style in root.iter(f"{_STYLE}style"):
                key = attribute_of(style, "family") or "", attribute_of(style, "name") or ""
                self._styles.setdefault(key, style)
            for style in root.iter("{*}list-style"):
                self._lists.setdefault(attribute_of(style, "name") or "", style)
            for style in root.iter(f"{_STYLE}default-style"):
                if attribute_of(style, "family") == "paragraph":
                    self.default = _read_style(style, NO_PROPERTIES).with_base(self.default)

    def paragraph_style(self, name: str | None) -> Properties:
        """Returns a paragraph style's properties, with those of its parents and the default."""
        return self._resolve("paragraph", name or "Standard").with_base(self.default)

    def text_style(self, name: str | None) -> Properties:
        """Returns the properties of a text style, with those of its parents."""
        return self._resolve("text", name or "")

    def _resolve(self, family: str, name: str, depth: int = 0) -> Properties:
        """Returns a style's properties, with those of its parents."""
        key = family, name
        style = self._styles.get(key)
        if style is None or depth > _MAX_DEPTH:
            return NO_PROPERTIES
        if key not in self._resolved:
            parent = attribute_of(style, "parent-style-name")
            base = self._resolve(family, parent, depth + 1) if parent else NO_PROPERTIES
            visible_name = attribute_of(style, "display-name") or _decode_name(name)
            self._resolved[key] = apply_style_name(
                visible_name, _read_style(style, base)
            ).with_base(base)
        return self._resolved[key]

    def ends_page(self, name: str | None) -> bool:
        """Returns whether the page ends after a paragraph of this style."""
        style = self._styles.get(("paragraph", name or ""))
        if style is None:
            return False
        return any(e.get(f"{_FO}break-after") == "page" for e in style)

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


def _decode_name(name: str) -> str:
    """Decodes a style's internal name to the visible one: `Heading_20_1` is `Heading 1`."""
    return _ENCODED.sub(lambda match: chr(int(match[1], 16)), name)


def _read_style(style: etree._Element, base: Properties) -> Properties:
    """Reads the properties that a style itself sets; `base` are those of its parent."""
    text_element = style.find(f"{_STYLE}text-properties")
    paragraph_element = style.find(f"{_STYLE}paragraph-properties")
    level = attribute_of(style, "default-outline-level") or ""
    properties = replace(
        NO_PROPERTIES if text_element is None else _read_text_properties(text_element, base),
        level=int(level) if level.isdigit() and len(level) < 3 else None,
    )
    if attribute_of(style, "master-page-name"):
        properties = replace(properties, starts_page=True)
    return (
        properties
        if paragraph_element is None
        else _read_paragraph_properties(paragraph_element).with_base(properties)
    )


def _read_paragraph_properties(element: etree._Element) -> Properties:
    """Reads the properties of a `paragraph-properties` element."""
    alignment, page_break = element.get(f"{_FO}text-align"), element.get(f"{_FO}break-before")
    return Properties(
        centred=None if alignment is None else alignment == "center",
        starts_page=None if page_break is None else page_break == "page",
        space_above=_points(element.get(f"{_FO}margin-top")),
    )


def _read_text_properties(element: etree._Element, base: Properties) -> Properties:
    """Reads the properties of a `text-properties` element; sizes in % are relative to `base`."""
    weight, slant = element.get(f"{_FO}font-weight"), element.get(f"{_FO}font-style")
    underline, display = (
        element.get(f"{_STYLE}text-underline-style"),
        attribute_of(element, "display"),
    )
    size = element.get(f"{_FO}font-size", "")
    points = _points(size)
    if points is None and re.fullmatch(r"\d{1,3}%", size):
        points = (base.size or 12) * int(size[:-1]) / 100
    language, country = element.get(f"{_FO}language", ""), element.get(f"{_FO}country", "")
    language_tag = f"{language}-{country}" if country not in ("", "none") else language
    return Properties(
        bold=None if weight is None else weight not in ("normal", "100", "200", "300", "400"),
        italic=None if slant is None else slant != "normal",
        underline=None if underline is None else underline != "none",
        hidden=None if display is None else display == "none",
        size=points,
        language=language_tag
        if LANGUAGE_TAG.fullmatch(language_tag) and language not in ("none", "zxx")
        else None,
    )
