"""Numbers that Word counts for paragraphs, and that stand in no text: `Chapter 1` of a heading.

Knows the part of a document that defines them, and which were counted so far.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lxml import etree

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PLACE = re.compile(r"%([1-9])")
_ROMAN = ((1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"),
          (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"))  # fmt: skip
_LARGEST = 10_000


@dataclass(frozen=True, slots=True)
class _NumberLevel:
    """How one level of a numbering looks."""

    format: str
    text: str
    """With `%1` for the number of the first level."""
    start: int


class HeadingNumbers:
    """The numberings of a document. Levels are counted from 0, and named by text, as Word does."""

    def __init__(self, root: etree._Element | None) -> None:
        self._kinds: dict[str, str] = {}
        self._levels: dict[str, list[_NumberLevel]] = {}
        self._counts: dict[str, list[int]] = {}
        """Of each kind, how far its levels have counted."""
        if root is None:
            return
        for kind in root.iter(f"{_W}abstractNum"):
            levels = sorted(kind.iter(f"{_W}lvl"), key=lambda level: _value(level, "ilvl"))
            self._levels[_value(kind, "abstractNumId")] = list(map(_level, levels))
        for one in root.iter(f"{_W}num"):
            self._kinds[_value(one, "numId")] = _value(one.find(f"{_W}abstractNumId"))

    def is_bare(self, number: tuple[str, str]) -> bool:
        """Whether a paragraph of this list and level shows neither a number nor a bullet."""
        level = self._level(number)
        return level is not None and level.format == "none"

    def counted(self, number: tuple[str, str], is_empty: bool) -> str:
        """What stands before a heading of this list and level, which is counted; "" where it is no
        more than a number before words."""
        level = self._level(number)
        if level is None or level.format in ("none", "bullet"):
            return ""
        kind, depth = self._kinds[number[0]], int(number[1])
        levels = self._levels[kind]
        counts = self._counts.setdefault(kind, [one.start - 1 for one in levels])
        counts[depth] = min(counts[depth] + 1, _LARGEST)
        counts[depth + 1 :] = [one.start - 1 for one in levels[depth + 1 :]]
        says_more = any(map(str.isalpha, _PLACE.sub("", level.text)))
        if not (is_empty or says_more):
            return ""
        shown = [_shown(max(count, 1), one.format)
                 for count, one in zip(counts, levels, strict=True)]  # fmt: skip
        return _PLACE.sub(lambda place: (shown[int(place[1]) - 1 :] or [""])[0], level.text).strip()

    def _level(self, number: tuple[str, str]) -> _NumberLevel | None:
        levels = self._levels.get(self._kinds.get(number[0], ""), [])
        depth = int(number[1]) if number[1].isdecimal() and len(number[1]) < 3 else 0
        return levels[depth] if depth < len(levels) else None


def _value(element: etree._Element | None, name: str = "val") -> str:
    return "" if element is None else element.get(f"{_W}{name}", "")


def _level(level: etree._Element) -> _NumberLevel:
    start = _value(level.find(f"{_W}start"))
    return _NumberLevel(
        _value(level.find(f"{_W}numFmt")) or "decimal",
        _value(level.find(f"{_W}lvlText")),
        int(start) if start.isdecimal() and len(start) < 5 else 1,
    )


def _shown(count: int, form: str) -> str:
    """A number in one of Word's formats; in figures where it is no other that is known."""
    if form in ("upperRoman", "lowerRoman"):
        roman, rest = "", count
        for value, sign in _ROMAN:
            roman, rest = roman + sign * (rest // value), rest % value
        return roman if form == "upperRoman" else roman.lower()
    if form in ("upperLetter", "lowerLetter") and count <= 26:
        return chr(ord("A" if form == "upperLetter" else "a") + count - 1)
    return str(count)
