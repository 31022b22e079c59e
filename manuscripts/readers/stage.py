"""Markup of plays: elements that are speakers' names, and elements that are directions."""

from __future__ import annotations

import re

from lxml import etree

from manuscripts.book import word_set
from manuscripts.readers.elements import element_name, types_of

NARRATED = "narrated"
"""Class of an element that ends a speech and is the narrator's: the heading of a scene."""
_NAME_TYPES = word_set("persona z3998:persona")
_NAME_CLASS = re.compile(
    r"(?<![\w-])(speaker|spkr|persona|char(acter)?-?name|dramatis)\d?(?![\w-])", re.IGNORECASE
)
_DIRECTION_CLASS = re.compile(
    r"(?<![\w-])(z3998:)?(stage-?(dir(ections?)?)?|direction|didascalie|sd)\d?(?![\w-])",
    re.IGNORECASE,
)


def is_name(element: etree._Element) -> bool:
    """Returns whether an element's types or classes are those of a speaker's name."""
    types, classes = types_of(element).split(), element.get("class", "")
    return bool(_NAME_TYPES.intersection(types) or _NAME_CLASS.search(classes))


def is_direction(element: etree._Element) -> bool:
    """Returns whether an element's types or classes are those of a stage direction."""
    return bool(_DIRECTION_CLASS.search(f"{types_of(element)} {element.get('class', '')}"))


def is_narrated(element: etree._Element) -> bool:
    """Returns whether an element's class marks it as neither spoken by a character nor a
    direction."""
    return element.get("class") == NARRATED


def is_first_of_two(cell: etree._Element) -> bool:
    """Returns whether an element is the first cell of a row that has two."""
    if element_name(cell) not in ("td", "th"):
        return False
    row = cell.getparent()
    next_cell = cell.getnext()
    if row is None or cell.getprevious() is not None or next_cell is None:
        return False
    return next_cell.getnext() is None
