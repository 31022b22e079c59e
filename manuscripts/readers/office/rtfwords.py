"""Effects of RTF control words, on the rest of their group and on the whole document.

Knows single control words and their numbers, not which groups contain text.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from manuscripts.book import word_set
from manuscripts.readers.office.rtftokens import CODE_PAGES, LANGUAGES
from manuscripts.readers.office.styles import NO_PROPERTIES, Properties

_PLAIN_TEXT = Properties(size=12)
"""Properties of text without any formatting."""


@dataclass(slots=True)
class RtfField:
    """A field, such as a link or a page number."""

    code: str = ""

    @property
    def kind(self) -> str:
        return (self.code.split() or [""])[0].upper()


@dataclass(frozen=True, slots=True)
class RtfGroup:
    """The state of a group, in force until the group is closed."""

    destination: str = "body"
    """Target of the group's text: body, skip, fonts, styles, info, marker, code (of a field),
    property name or property value (of a picture), or the name of a document property."""
    run_properties: Properties = _PLAIN_TEXT
    paragraph_properties: Properties = NO_PROPERTIES
    style: int | None = None
    font: int | None = None
    fallback_length: int = 1
    """Number of fallback characters after each Unicode character."""
    is_deleted: bool = False
    is_formula: bool = False
    field: RtfField | None = None
    is_field_result: bool = False
    """True if the group is the visible result of its field."""
    in_table: bool = False
    """True if its paragraphs are in a table."""
    opens_side_text: bool = False
    """True if the group is a note, a text box, a comment, a header or a footer."""

    @property
    def shown_field(self) -> str:
        """The kind of the field whose visible result this is; "" for none."""
        return self.field.kind if self.field is not None and self.is_field_result else ""


@dataclass(slots=True)
class RtfStyle:
    """A style: its name, the number of its parent, and its outline level from 1."""

    name: str = ""
    base: int | None = None
    level: int | None = None


@dataclass(slots=True)
class RtfHeader:
    """Settings of a document from its header."""

    encoding: str = "cp1252"
    language: str | None = None
    fonts: dict[int, str] = field(default_factory=dict)
    """Encodings of fonts by font number, where they differ from the document's."""
    styles: dict[int, RtfStyle] = field(default_factory=dict)
    document_properties: dict[str, str] = field(default_factory=dict)


_GroupChange = Callable[[RtfGroup, int | None], RtfGroup]


def _is_on(number: int | None) -> bool:
    return number != 0


def _setter(target: str, name: str, convert: Callable[[int | None], object]) -> _GroupChange:
    """Returns the change that sets a property of runs or paragraphs to a word's number."""

    def change(group: RtfGroup, number: int | None) -> RtfGroup:
        properties = replace(getattr(group, target), **{name: convert(number)})
        return replace(group, **{target: properties})

    return change


_RUN_WORDS: Mapping[str, tuple[str, Callable[[int | None], object]]] = {
    "b": ("bold", _is_on),
    "i": ("italic", _is_on),
    **dict.fromkeys(
        word_set("ul uld uldb ulw uldash uldashd uldashdd ulth ulwave"), ("underline", _is_on)
    ),
    "ulnone": ("underline", lambda number: False),
    "v": ("hidden", _is_on),
    "fs": ("size", lambda number: (number or 24) / 2),
    "lang": ("language", lambda number: LANGUAGES.get(number or 0)),
}
_PARAGRAPH_WORDS: Mapping[str, tuple[str, Callable[[int | None], object]]] = {
    **dict.fromkeys(word_set("ql qr qj"), ("centred", lambda number: False)),
    "qc": ("centred", lambda number: True),
    "pagebb": ("starts_page", _is_on),
    "sb": ("space_above", lambda number: (number or 0) / 20),
    "outlinelevel": (
        "level", lambda number: number + 1 if number is not None and 0 <= number < 9 else None
    ),
}  # fmt: skip


def _skip_character_style(group: RtfGroup, number: int | None) -> RtfGroup:
    return replace(group, destination="skip") if group.destination == "styles" else group


GROUP_WORDS: Mapping[str, _GroupChange] = {
    **{word: _setter("run_properties", *change) for word, change in _RUN_WORDS.items()},
    **{word: _setter("paragraph_properties", *change) for word, change in _PARAGRAPH_WORDS.items()},
    "plain": lambda group, number: replace(
        group, run_properties=_PLAIN_TEXT, font=None, is_deleted=False
    ),
    "pard": lambda group, number: replace(
        group, paragraph_properties=NO_PROPERTIES, style=None, in_table=False
    ),
    "sectd": lambda group, number: group,
    **dict.fromkeys(word_set("cs ds ts"), _skip_character_style),
    "deleted": lambda group, number: replace(group, is_deleted=_is_on(number)),
    "f": lambda group, number: replace(group, font=number),
    "uc": lambda group, number: replace(group, fallback_length=min(max(number or 0, 0), 10)),
    "s": lambda group, number: replace(group, style=number),
    "intbl": lambda group, number: replace(group, in_table=True),
}
"""Control words that change the rest of their group: functions of the group and the number."""


def _goes_to(destination: str) -> Callable[[RtfGroup], RtfGroup]:
    return lambda group: replace(group, destination=destination)


DESTINATION_WORDS: Mapping[str, Callable[[RtfGroup], RtfGroup]] = {
    "fonttbl": _goes_to("fonts"),
    "stylesheet": _goes_to("styles"),
    "info": _goes_to("info"),
    "listtext": _goes_to("marker"),
    "pntext": _goes_to("marker"),
    "fldinst": _goes_to("code"),
    "field": lambda group: replace(group, field=RtfField(), is_field_result=False),
    "fldrslt": lambda group: replace(group, is_field_result=True),
    "moMath": lambda group: replace(group, is_formula=True),
    "mmath": lambda group: replace(group, is_formula=True),
    **dict.fromkeys(
        word_set(
            "colortbl pict nonshppict objdata sp tc xe rxe ftnsep ftnsepc ftncn aftnsep aftnsepc "
            "aftncn nonesttables template mmathPict filetbl listtable revtbl bkmkstart bkmkend upr"
        ),
        _goes_to("skip"),
    ),
}
"""Control words at the beginning of a group that say what becomes of its text."""


def _set_encoding(encoding: str, header: RtfHeader, group: RtfGroup, number: int | None) -> None:
    header.encoding = encoding


def _set_code_page(header: RtfHeader, group: RtfGroup, number: int | None) -> None:
    header.encoding = _encoding(number) or header.encoding


def _encoding(number: int | None) -> str | None:
    """Returns Python's name of a Windows code page; None if Python has none."""
    special = {10000: "mac-roman", 65001: "utf-8", 936: "gbk", 1361: "johab", 20866: "koi8-r"}
    name = special.get(number or 0, f"cp{number}")
    try:
        codecs.lookup(name)
    except LookupError:
        return None
    return name


def _set_font_charset(header: RtfHeader, group: RtfGroup, number: int | None) -> None:
    if group.destination == "fonts" and number in CODE_PAGES:
        header.fonts[group.font or 0] = CODE_PAGES[number]


def _set_font_code_page(header: RtfHeader, group: RtfGroup, number: int | None) -> None:
    if group.destination == "fonts" and (name := _encoding(number)):
        header.fonts[group.font or 0] = name


def _set_document_language(header: RtfHeader, group: RtfGroup, number: int | None) -> None:
    header.language = LANGUAGES.get(number or 0, header.language)


def _set_style_base(header: RtfHeader, group: RtfGroup, number: int | None) -> None:
    if group.destination == "styles":
        header.styles.setdefault(group.style or 0, RtfStyle()).base = number


DOCUMENT_WORDS: Mapping[str, Callable[[RtfHeader, RtfGroup, int | None], None]] = {
    "ansicpg": _set_code_page,
    "mac": partial(_set_encoding, "mac-roman"),
    "pc": partial(_set_encoding, "cp437"),
    "deflang": _set_document_language,
    "fcharset": _set_font_charset,
    "cpg": _set_font_code_page,
    "sbasedon": _set_style_base,
}
"""Control words that change the settings of the whole document."""
