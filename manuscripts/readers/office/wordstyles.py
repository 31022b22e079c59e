"""Resolves Word's paragraph and character styles, with the styles on which they are based.

Knows the XML of styles and properties, not that of texts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

from lxml import etree

from manuscripts.readers.facts import LANGUAGE_TAG
from manuscripts.readers.office.styles import NO_PROPERTIES, Properties, apply_style_name

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_RAISED: Mapping[str | None, Literal["sup", "sub"]] = {"superscript": "sup", "subscript": "sub"}


def name_of(element: etree._Element) -> str:
    """Returns an element's name without its namespace; "" for comments."""
    return _strip_namespace(element.tag) if isinstance(element.tag, str) else ""


@lru_cache(1_000)
def _strip_namespace(tag: str) -> str:
    return tag.rpartition("}")[2]


def attribute_of(element: etree._Element | None, name: str = "val") -> str | None:
    """Returns an attribute in Word's namespace; None if it or the element is missing."""
    if element is None:
        return None
    return element.get(f"{{{W}}}{name}")


def child_of(element: etree._Element | None, name: str) -> etree._Element | None:
    """Returns the first child of a name in Word's namespace."""
    return None if element is None else element.find(f"{{{W}}}{name}")


def is_on(parent: etree._Element | None, name: str) -> bool | None:
    """Returns a switch property: on if it is present, unless its value says off; None if absent."""
    switch = child_of(parent, name)
    return None if switch is None else attribute_of(switch) not in ("0", "false", "off", "none")


def _parse_number(text: str | None) -> float | None:
    return float(text) if text and re.fullmatch(r"-?\d{1,6}(\.\d{1,4})?", text) else None


def run_properties(rpr: etree._Element | None) -> Properties:
    """Reads the run properties of an `rPr` element."""
    if rpr is None or not len(rpr):
        return NO_PROPERTIES
    size = _parse_number(attribute_of(child_of(rpr, "sz")))
    language = attribute_of(child_of(rpr, "lang"))
    underline = child_of(rpr, "u")
    is_underlined = (
        None if underline is None else attribute_of(underline) not in (None, "none", "0", "false")
    )
    return Properties(
        bold=is_on(rpr, "b"),
        italic=is_on(rpr, "i"),
        underline=is_underlined,
        hidden=is_on(rpr, "vanish"),
        size=None if size is None else size / 2,
        language=language if language and LANGUAGE_TAG.fullmatch(language) else None,
        raised=_RAISED.get(attribute_of(child_of(rpr, "vertAlign"))),
    )


def paragraph_properties(ppr: etree._Element | None) -> Properties:
    """Reads the paragraph properties of a `pPr` element."""
    if ppr is None or not len(ppr):
        return NO_PROPERTIES
    alignment = attribute_of(child_of(ppr, "jc"))
    outline = _parse_number(attribute_of(child_of(ppr, "outlineLvl")))
    list_properties = child_of(ppr, "numPr")
    numbering = None
    if list_properties is not None and (
        list_id := attribute_of(child_of(list_properties, "numId"))
    ):
        depth = _parse_number(attribute_of(child_of(list_properties, "ilvl"))) or 0
        numbering = list_id, max(int(depth), 0)
    space = _parse_number(attribute_of(child_of(ppr, "spacing"), "before"))
    return Properties(
        level=None if outline is None else (int(outline) + 1 if 0 <= outline < 9 else 0),
        centred=None if alignment is None else alignment == "center",
        starts_page=is_on(ppr, "pageBreakBefore"),
        space_above=None if space is None else space / 20,
        numbering=numbering,
    )


class Styles:
    """The styles of a document, with the styles on which they are based."""

    def __init__(self, root: etree._Element | None) -> None:
        self._styles: dict[str, etree._Element] = {}
        self._resolved: dict[str, Properties] = {}
        self._paragraphs: dict[str, Properties] = {}
        self.default = Properties(size=10)  # Word's default if a file sets none
        self.normal = ""
        for style in () if root is None else root.iter(f"{{{W}}}style"):
            style_id, is_default = (
                attribute_of(style, "styleId") or "",
                attribute_of(style, "default"),
            )
            self._styles.setdefault(style_id, style)
            if attribute_of(style, "type") == "paragraph" and is_default in ("1", "true"):
                self.normal = style_id
        if root is not None and (defaults := child_of(root, "docDefaults")) is not None:
            rpr, ppr = (
                child_of(child_of(defaults, f"{tag}Default"), tag) for tag in ("rPr", "pPr")
            )
            properties = run_properties(rpr).with_base(paragraph_properties(ppr))
            self.default = properties.with_base(self.default)

    def paragraph_style(self, name: str) -> Properties:
        """Returns a paragraph style's properties with the defaults, the same object each time."""
        if name not in self._paragraphs:
            self._paragraphs[name] = self.resolve(name).with_base(self.default)
        return self._paragraphs[name]

    def resolve(self, name: str | None, depth: int = 0) -> Properties:
        """Returns the properties of a style, with those of the styles on which it is based."""
        style = self._styles.get(name or "")
        if style is None or name is None or depth > 20:
            return NO_PROPERTIES
        if name not in self._resolved:
            base = self.resolve(attribute_of(child_of(style, "basedOn")), depth + 1)
            properties = run_properties(child_of(style, "rPr")).with_base(
                paragraph_properties(child_of(style, "pPr"))
            )
            self._resolved[name] = apply_style_name(
                attribute_of(child_of(style, "name")) or name, properties
            ).with_base(base)
        return self._resolved[name]
