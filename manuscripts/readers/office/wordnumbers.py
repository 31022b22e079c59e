"""Automatic numbers of Word's paragraphs, which are not in the text: `Chapter 1` of a heading.

Knows the part of a document that defines numberings, and counts their numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from lxml import etree

from manuscripts.readers.office.wordstyles import W, attribute_of, child_of

_PLACEHOLDER = re.compile(r"%([1-9])")
_ROMAN = ((1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"),
          (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"))  # fmt: skip
_MAX_NUMBER = 10_000


@dataclass(frozen=True, slots=True)
class _NumberLevel:
    """The format of one level of a numbering."""

    format: str
    text: str
    """Template, with `%1` for the number of the first level."""
    start: int


class Numbering:
    """The numberings of a document; a list and a level of it, from 0, are a `tuple[str, int]`."""

    def __init__(self, root: etree._Element | None) -> None:
        self._abstract_ids: dict[str, str] = {}
        self._levels: dict[str, list[_NumberLevel]] = {}
        self._counts: dict[str, list[int]] = {}
        """Current number of each level, by abstract numbering."""
        if root is None:
            return
        for definition in root.iter(f"{{{W}}}abstractNum"):
            levels = sorted(
                definition.iter(f"{{{W}}}lvl"), key=lambda level: attribute_of(level, "ilvl") or ""
            )
            abstract_id = attribute_of(definition, "abstractNumId") or ""
            self._levels[abstract_id] = list(map(_parse_level, levels))
        for numbering in root.iter(f"{{{W}}}num"):
            abstract_id = attribute_of(child_of(numbering, "abstractNumId")) or ""
            self._abstract_ids[attribute_of(numbering, "numId") or ""] = abstract_id

    def list_tag(self, numbering: tuple[str, int]) -> Literal["ol", "ul"] | None:
        """Returns the HTML tag of a list level; None where it shows neither numbers nor bullets."""
        level = self._find_level(numbering)
        if level is None or level.format == "none":
            return None
        return "ul" if level.format == "bullet" else "ol"

    def count_heading(self, numbering: tuple[str, int], is_empty: bool) -> str:
        """Counts a heading of this list and level, and returns its automatic number.

        Returns "" for a plain number before the heading's text, and for no number at all.
        """
        level = self._find_level(numbering)
        if level is None or level.format in ("none", "bullet"):
            return ""
        abstract_id, depth = self._abstract_ids[numbering[0]], numbering[1]
        levels = self._levels[abstract_id]
        initial_counts = [number_level.start - 1 for number_level in levels]
        counts = self._counts.setdefault(abstract_id, list(initial_counts))
        counts[depth] = min(counts[depth] + 1, _MAX_NUMBER)
        counts[depth + 1 :] = initial_counts[depth + 1 :]
        has_words = any(map(str.isalpha, _PLACEHOLDER.sub("", level.text)))
        if not (is_empty or has_words):
            return ""
        formatted_numbers = {
            str(level_number): _format_number(max(count, 1), number_level.format)
            for level_number, (count, number_level) in enumerate(
                zip(counts, levels, strict=True), 1
            )
        }
        return _PLACEHOLDER.sub(
            lambda match: formatted_numbers.get(match[1], ""), level.text
        ).strip()

    def _find_level(self, numbering: tuple[str, int]) -> _NumberLevel | None:
        levels = self._levels.get(self._abstract_ids.get(numbering[0], ""), [])
        return levels[numbering[1]] if numbering[1] < len(levels) else None


def _parse_level(element: etree._Element) -> _NumberLevel:
    """Parses an `lvl` element of a numbering."""
    start = attribute_of(child_of(element, "start")) or ""
    return _NumberLevel(
        format=attribute_of(child_of(element, "numFmt")) or "decimal",
        text=attribute_of(child_of(element, "lvlText")) or "",
        start=int(start) if start.isdecimal() and len(start) < 5 else 1,
    )


def _format_number(count: int, number_format: str) -> str:
    """Formats a number in one of Word's formats; in digits for other formats."""
    if number_format in ("upperRoman", "lowerRoman"):
        roman, remainder = "", count
        for numeral_value, numeral in _ROMAN:
            repetitions, remainder = divmod(remainder, numeral_value)
            roman += numeral * repetitions
        return roman if number_format == "upperRoman" else roman.lower()
    if number_format in ("upperLetter", "lowerLetter") and count <= 26:
        return chr(ord("A" if number_format == "upperLetter" else "a") + count - 1)
    return str(count)
