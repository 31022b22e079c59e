"""What styles say, in word processors' files of any format: of words, and of a paragraph's look.

Knows no format: readers find styles and their parents, here is what they add up to.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from lxml import etree

from narrator.importers.readers.elements import LANG, LEFT
from narrator.importers.readers.office.looks import ParagraphLook

_HEADING = re.compile(
    r"(?:heading|überschrift|titre|título|titolo|encabezado|kop|rubrik|otsikko|nagłówek|заголовок|"
    r"標題|标题|見出し)\s*(\d)",
    re.IGNORECASE,
)
_ROLES = {
    "title": r"(book )?title|titel|titre|título|titolo",
    "subtitle": r"subtitle|untertitel|sous-titre|subtítulo|sottotitolo",
    "author": r"author|authors?( name)?|by-?line|autor|auteur|autore",
    "date": r"date|datum",
    "caption": r"((image|figure|picture) )?caption|figure|illustration|beschriftung|légende",
    "code": r"(source )?code( block)?|html preformatted|preformatted text|macro text|quelltext",
    "toc": r"toc( heading)?( \d)?|contents( heading)?( \d)?|table of contents",
}
_ROLE = {role: re.compile(pattern, re.IGNORECASE) for role, pattern in _ROLES.items()}


@dataclass(frozen=True, slots=True)
class Properties:
    """What a style, a paragraph or a run says of itself; None where it says nothing."""

    level: int | None = None
    role: str | None = None
    centred: bool | None = None
    page: bool | None = None
    space: float | None = None
    number: tuple[str, str] | None = None
    """List and level."""
    bold: bool | None = None
    italic: bool | None = None
    underline: bool | None = None
    hidden: bool | None = None
    size: float | None = None
    language: str | None = None
    link: bool | None = None

    def over(self, base: Properties) -> Properties:
        """What holds where these stand on those of a style."""
        said = {f.name: value for f in fields(self) if (value := getattr(self, f.name)) is not None}
        return replace(base, **said) if said else base


NONE = Properties()


def named(name: str, own: Properties) -> Properties:
    """What a style says, by its name, too."""
    if found := _HEADING.fullmatch(name.strip()):
        return replace(own, level=min(9, int(found[1])) or 1)
    role = next((role for role, said in _ROLE.items() if said.fullmatch(name.strip())), None)
    link = True if "hyperlink" in name.lower() or "internet" in name.lower() else None
    return replace(own, role=role, link=link)


def look_of(own: Properties, shown: Sequence[tuple[int, Properties]], page: bool) -> ParagraphLook:
    """How a paragraph looks: by its own properties, and those of its runs with their letters."""
    letters = sum(count for count, _ in shown)
    sizes: dict[float, int] = {}
    for count, said in shown:
        sizes[said.size or 0] = sizes.get(said.size or 0, 0) + count
    return ParagraphLook(
        level=min(6, own.level or 0),
        role=own.role or "",
        centred=bool(own.centred),
        bold=bool(shown) and 10 * sum(n for n, said in shown if said.bold) >= 9 * letters,
        size=max(sizes, key=lambda size: sizes[size], default=own.size or 0),
        page=page,
        space=own.space or 0,
    )


def styled(
    parent: etree._Element, said: Properties, main: str | None, left: str = ""
) -> etree._Element:
    """An element in `parent` for words with these properties; `main` is the text's language."""
    language = said.language if said.language != main else None
    if left or language:
        parent = etree.SubElement(parent, "span")
        if left:
            parent.set(LEFT, left)
        elif language:
            parent.set(LANG, language)
    if said.bold:
        parent = etree.SubElement(parent, "strong")
    if said.italic or (said.underline and not said.link):
        parent = etree.SubElement(parent, "em")
    return parent
