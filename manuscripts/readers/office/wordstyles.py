"""Resolves Word's paragraph and character styles, with the styles on which they are based.

Knows the XML of styles and properties, not that of texts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Literal

from lxml import etree

from manuscripts.readers.facts import valid_language
from manuscripts.readers.office.styles import (
    NO_PROPERTIES,
    Properties,
    StyleSheet,
    when_set,
)

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


def _scaled(text: str | None, divisor: int = 1) -> float | None:
    """Returns a number in units of `divisor`; None where there is none."""
    is_number = text is not None and re.fullmatch(r"-?\d{1,6}(\.\d{1,4})?", text)
    return float(text or 0) / divisor if is_number else None


def run_properties(rpr: etree._Element | None) -> Properties:
    """Reads the run properties of an `rPr` element."""
    if rpr is None or not len(rpr):
        return NO_PROPERTIES
    is_underlined = is_on(rpr, "u")
    return Properties(
        bold=is_on(rpr, "b"),
        italic=is_on(rpr, "i"),
        underline=is_underlined and attribute_of(child_of(rpr, "u")) is not None,
        hidden=is_on(rpr, "vanish"),
        size=_scaled(attribute_of(child_of(rpr, "sz")), 2),
        language=valid_language(attribute_of(child_of(rpr, "lang"))),
        raised=_RAISED.get(attribute_of(child_of(rpr, "vertAlign"))),
    )


def paragraph_properties(ppr: etree._Element | None) -> Properties:
    """Reads the paragraph properties of a `pPr` element."""
    if ppr is None or not len(ppr):
        return NO_PROPERTIES
    outline = _scaled(attribute_of(child_of(ppr, "outlineLvl")))
    list_id = attribute_of(child_of(child_of(ppr, "numPr"), "numId"))
    depth = _scaled(attribute_of(child_of(child_of(ppr, "numPr"), "ilvl"))) or 0
    return Properties(
        level=None if outline is None else (int(outline) + 1 if 0 <= outline < 9 else 0),
        centred=when_set(attribute_of(child_of(ppr, "jc")), "center".__eq__),
        starts_page=is_on(ppr, "pageBreakBefore"),
        space_above=_scaled(attribute_of(child_of(ppr, "spacing"), "before"), 20),
        numbering=(list_id, max(int(depth), 0)) if list_id else None,
    )


class Styles:
    """The styles of a document, with the styles on which they are based."""

    def __init__(self, root: etree._Element | None) -> None:
        self._sheet = StyleSheet()
        self._paragraphs: dict[str, Properties] = {}
        self.default = Properties(size=10)  # Word's default if a file sets none
        self.normal = ""
        for style in () if root is None else root.iter(f"{{{W}}}style"):
            style_id = attribute_of(style, "styleId") or ""
            name = attribute_of(child_of(style, "name")) or style_id
            base_id = attribute_of(child_of(style, "basedOn"))
            self._sheet.add(style_id, name, base_id, partial(_own_properties, style))
            is_default = attribute_of(style, "default") in ("1", "true")
            if is_default and attribute_of(style, "type") == "paragraph":
                self.normal = style_id
        defaults = child_of(root, "docDefaults")
        run_defaults = run_properties(child_of(child_of(defaults, "rPrDefault"), "rPr"))
        paragraph_defaults = child_of(child_of(defaults, "pPrDefault"), "pPr")
        properties = run_defaults.with_base(paragraph_properties(paragraph_defaults))
        self.default = properties.with_base(self.default)

    def paragraph_style(self, style_id: str) -> Properties:
        """Returns a paragraph style's properties with the defaults, the same object each time."""
        if style_id not in self._paragraphs:
            self._paragraphs[style_id] = self.resolve(style_id).with_base(self.default)
        return self._paragraphs[style_id]

    def resolve(self, style_id: str | None) -> Properties:
        """Returns the properties of a style, with those of the styles on which it is based."""
        return self._sheet.resolve(style_id)


def _own_properties(style: etree._Element, base: Properties) -> Properties:
    """Reads the properties that a style itself sets."""
    paragraph = paragraph_properties(child_of(style, "pPr"))
    return run_properties(child_of(style, "rPr")).with_base(paragraph)
