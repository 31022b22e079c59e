"""What words of RTF mean: for the rest of their group, and for the whole document.

Knows single words and their numbers, not which groups hold text.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from narrator.importers.book import names
from narrator.importers.readers.office.rtftokens import CODE_PAGES, LANGUAGES
from narrator.importers.readers.office.styles import NONE, Properties

_UNSAID = Properties(size=12)
"""Of words of which nothing is said."""


@dataclass(slots=True)
class RtfField:
    """A field of RTF: what it is, and what it shows."""

    code: str = ""

    @property
    def kind(self) -> str:
        return (self.code.split() or [""])[0].upper()


@dataclass(frozen=True, slots=True)
class RtfGroup:
    """What holds within a group, until it is closed."""

    goal: str = "body"
    """Where its words go: body, skip, fonts, styles, marker, code, or a fact's name."""
    words: Properties = _UNSAID
    block: Properties = NONE
    style: int | None = None
    font: int | None = None
    skip: int = 1
    """Characters that stand for each in Unicode."""
    deleted: bool = False
    formula: bool = False
    field: RtfField | None = None
    shown: bool = False
    """Whether it is what the field shows."""
    cell: bool = False
    """Whether its paragraphs are of a table."""
    begun: int = 0
    """Which side text it began, if it did."""


@dataclass(slots=True)
class RtfStyle:
    name: str = ""
    base: int | None = None
    level: int | None = None


@dataclass(slots=True)
class RtfHead:
    """What the head of a document says."""

    encoding: str = "cp1252"
    language: str | None = None
    fonts: dict[int, str] = field(default_factory=dict)
    """Encodings that are not the document's."""
    styles: dict[int, RtfStyle] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)


_Change = Callable[[RtfGroup, int | None], RtfGroup]


def _on(number: int | None) -> bool:
    return number != 0


def _plain(group: RtfGroup, number: int | None) -> RtfGroup:
    return replace(group, words=_UNSAID, font=None, deleted=False)


def _pard(group: RtfGroup, number: int | None) -> RtfGroup:
    return replace(group, block=NONE, style=None, cell=False)


def _bold(group: RtfGroup, number: int | None) -> RtfGroup:
    return replace(group, words=replace(group.words, bold=_on(number)))


def _italic(group: RtfGroup, number: int | None) -> RtfGroup:
    return replace(group, words=replace(group.words, italic=_on(number)))


def _underlined(group: RtfGroup, number: int | None) -> RtfGroup:
    return replace(group, words=replace(group.words, underline=_on(number)))


def _not_underlined(group: RtfGroup, number: int | None) -> RtfGroup:
    return replace(group, words=replace(group.words, underline=False))


def _hidden(group: RtfGroup, number: int | None) -> RtfGroup:
    return replace(group, words=replace(group.words, hidden=_on(number)))


def _sized(group: RtfGroup, number: int | None) -> RtfGroup:
    return replace(group, words=replace(group.words, size=(number or 24) / 2))


def _speaks(group: RtfGroup, number: int | None) -> RtfGroup:
    return replace(group, words=replace(group.words, language=LANGUAGES.get(number or 0)))


def _aligned(group: RtfGroup, number: int | None) -> RtfGroup:
    return replace(group, block=replace(group.block, centred=False))


def _centred(group: RtfGroup, number: int | None) -> RtfGroup:
    return replace(group, block=replace(group.block, centred=True))


def _begins_page(group: RtfGroup, number: int | None) -> RtfGroup:
    return replace(group, block=replace(group.block, page=_on(number)))


def _spaced(group: RtfGroup, number: int | None) -> RtfGroup:
    return replace(group, block=replace(group.block, space=(number or 0) / 20))


def _levelled(group: RtfGroup, number: int | None) -> RtfGroup:
    level = number + 1 if number is not None and 0 <= number < 9 else None
    return replace(group, block=replace(group.block, level=level))


def _char_style(group: RtfGroup, number: int | None) -> RtfGroup:
    return replace(group, goal="skip") if group.goal == "styles" else group


CHANGES: Mapping[str, _Change] = {
    "plain": _plain,
    "pard": _pard,
    "sectd": lambda group, number: group,
    "b": _bold,
    "i": _italic,
    **dict.fromkeys(names("ul uld uldb ulw uldash uldashd uldashdd ulth ulwave"), _underlined),
    "ulnone": _not_underlined,
    "v": _hidden,
    "fs": _sized,
    "lang": _speaks,
    **dict.fromkeys(names("ql qr qj"), _aligned),
    "qc": _centred,
    "pagebb": _begins_page,
    "sb": _spaced,
    "outlinelevel": _levelled,
    **dict.fromkeys(names("cs ds ts"), _char_style),
    "deleted": lambda group, number: replace(group, deleted=_on(number)),
    "f": lambda group, number: replace(group, font=number),
    "uc": lambda group, number: replace(group, skip=min(max(number or 0, 0), 10)),
    "s": lambda group, number: replace(group, style=number),
    "intbl": lambda group, number: replace(group, cell=True),
}
"""What a word changes for the rest of its group."""


def _code_page(said: RtfHead, group: RtfGroup, number: int | None) -> None:
    said.encoding = _encoding(number) or said.encoding


def _encoding(number: int | None) -> str | None:
    """Python's name of a code page of Windows."""
    special = {10000: "mac-roman", 65001: "utf-8", 936: "gbk", 1361: "johab", 20866: "koi8-r"}
    name = special.get(number or 0, f"cp{number}")
    try:
        codecs.lookup(name)
    except LookupError:
        return None
    return name


def _charset(said: RtfHead, group: RtfGroup, number: int | None) -> None:
    if group.goal == "fonts" and number in CODE_PAGES:
        said.fonts[group.font or 0] = CODE_PAGES[number]


def _font_page(said: RtfHead, group: RtfGroup, number: int | None) -> None:
    if group.goal == "fonts" and (name := _encoding(number)):
        said.fonts[group.font or 0] = name


def _language(said: RtfHead, group: RtfGroup, number: int | None) -> None:
    said.language = LANGUAGES.get(number or 0, said.language)


def _based(said: RtfHead, group: RtfGroup, number: int | None) -> None:
    if group.goal == "styles":
        said.styles.setdefault(group.style or 0, RtfStyle()).base = number


def _mac(said: RtfHead, group: RtfGroup, number: int | None) -> None:
    said.encoding = "mac-roman"


def _dos(said: RtfHead, group: RtfGroup, number: int | None) -> None:
    said.encoding = "cp437"


DOCUMENT: Mapping[str, Callable[[RtfHead, RtfGroup, int | None], None]] = {
    "ansicpg": _code_page,
    "mac": _mac,
    "pc": _dos,
    "deflang": _language,
    "fcharset": _charset,
    "cpg": _font_page,
    "sbasedon": _based,
}
"""What a word says of the whole document."""
