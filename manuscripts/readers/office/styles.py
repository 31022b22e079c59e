"""Combines the properties of styles, in word processor files of any format.

Knows no format: readers find styles and their parents; this module merges their properties, and
derives the look of paragraphs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Literal

from manuscripts.readers.office.looks import ParagraphLook

_HEADING_NAME = re.compile(
    r"(?:heading|überschrift|titre|título|titolo|encabezado|kop|rubrik|otsikko|nagłówek|заголовок|"
    r"標題|标题|見出し)\s*(\d)",
    re.IGNORECASE,
)
_ROLE_NAMES = {
    "title": r"(book )?title|titel|titre|título|titolo",
    "subtitle": r"subtitle|untertitel|sous-titre|subtítulo|sottotitolo",
    "author": r"author|authors?( name)?|by-?line|autor|auteur|autore",
    "date": r"date|datum",
    "caption": r"((image|figure|picture) )?caption|figure|illustration|beschriftung|légende",
    "code": r"(source )?code( block)?|html preformatted|preformatted text|macro text|quelltext",
    "toc": r"toc( heading)?( \d)?|contents( heading)?( \d)?|table of contents",
}
_MAX_DEPTH = 30
"""Limit on the parents of a style, which may be each other's."""
_ROLE_PATTERNS = {role: re.compile(pattern, re.IGNORECASE) for role, pattern in _ROLE_NAMES.items()}


@dataclass(frozen=True, slots=True)
class Properties:
    """Properties set by a style, a paragraph or a run; None where it does not set one."""

    level: int | None = None
    role: str | None = None
    centred: bool | None = None
    starts_page: bool | None = None
    space_above: float | None = None
    numbering: tuple[str, int] | None = None
    """List identifier and level, from 0."""
    bold: bool | None = None
    italic: bool | None = None
    underline: bool | None = None
    hidden: bool | None = None
    size: float | None = None
    language: str | None = None
    link: bool | None = None
    raised: Literal["sup", "sub"] | None = None
    """Raised above the line, or lowered below it."""

    def with_base(self, base: Properties) -> Properties:
        """Returns these properties, with those of `base` where these are None."""
        overrides = {
            each.name: setting
            for each in fields(self)
            if (setting := getattr(self, each.name)) is not None
        }
        return replace(base, **overrides) if overrides else base


NO_PROPERTIES = Properties()


def apply_style_name(name: str, properties: Properties) -> Properties:
    """Adds the properties that follow from a style's name, such as `Heading 1`."""
    if match := _HEADING_NAME.fullmatch(name.strip()):
        return replace(properties, level=min(9, int(match[1])) or 1)
    role = next(
        (role for role, pattern in _ROLE_PATTERNS.items() if pattern.fullmatch(name.strip())), None
    )
    link = True if "hyperlink" in name.lower() or "internet" in name.lower() else None
    return replace(properties, role=role, link=link)


@dataclass(slots=True)
class StyleSheet:
    """The styles of a document by their keys."""

    _styles: dict[Hashable, tuple[str, Hashable, Callable[[Properties], Properties]]] = field(
        default_factory=dict
    )
    """Name, key of the parent, and a function that reads the style's own properties."""
    _resolved: dict[Hashable, Properties] = field(default_factory=dict)

    def add(
        self,
        key: Hashable,
        name: str,
        parent: Hashable,
        read: Callable[[Properties], Properties],
    ) -> None:
        """Adds a style, unless its key is taken; `read` gets the properties of its parent."""
        self._styles.setdefault(key, (name, parent, read))

    def resolve(self, key: Hashable, depth: int = 0) -> Properties:
        """Returns a style's properties, with those of its parents."""
        if key not in self._styles or depth > _MAX_DEPTH:
            return NO_PROPERTIES
        if key not in self._resolved:
            name, parent, read = self._styles[key]
            base = self.resolve(parent, depth + 1)
            self._resolved[key] = apply_style_name(name, read(base)).with_base(base)
        return self._resolved[key]


def when_set(setting: str | None, is_on: Callable[[str], bool]) -> bool | None:
    """Returns whether a property is on by its setting; None where it is not set."""
    return None if setting is None else is_on(setting)


def look_of(
    properties: Properties, runs: Sequence[tuple[int, Properties]], starts_page: bool
) -> ParagraphLook:
    """Returns a paragraph's look by its own properties, and its runs with their letter counts."""
    total_letters = sum(letter_count for letter_count, _ in runs)
    sizes: dict[float, int] = {}
    for letter_count, run in runs:
        sizes[run.size or 0] = sizes.get(run.size or 0, 0) + letter_count
    return ParagraphLook(
        level=min(6, properties.level or 0),
        role=properties.role or "",
        centred=bool(properties.centred),
        bold=bool(runs) and 10 * sum(n for n, run in runs if run.bold) >= 9 * total_letters,
        size=max(sizes, key=lambda size: sizes[size], default=properties.size or 0),
        starts_page=starts_page,
        space_above=properties.space_above or 0,
    )
