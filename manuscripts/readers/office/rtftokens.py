"""Splits RTF into tokens: braces, control words, bytes of text; tables of RTF's code numbers.

Knows the syntax of RTF, not its meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

_TOKEN = re.compile(
    rb"\\(?P<word>[A-Za-z]{1,32})(?P<number>-?\d+)?[ ]?"
    rb"|\\'(?P<code>[0-9A-Fa-f]{2})"
    rb"|\\(?P<sign>[^A-Za-z])"
    rb"|(?P<brace>[{}])"
    rb"|(?P<text>[^\\{}\r\n\0]+)"
    rb"|[\r\n\0]+|\\",
    re.DOTALL,
)
_BINARY_LIMIT = 64_000_000

CODE_PAGES = {
    77: "mac-roman", 128: "cp932", 129: "cp949", 130: "johab", 134: "gbk", 136: "big5",
    161: "cp1253", 162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257",
    204: "cp1251", 222: "cp874", 238: "cp1250", 254: "cp437",
}  # fmt: skip
"""Python encoding names by RTF character set; other fonts use the document's encoding."""

LANGUAGES = {
    1025: "ar", 1026: "bg", 1027: "ca", 1028: "zh-TW", 1029: "cs", 1030: "da", 1031: "de-DE",
    1032: "el", 1033: "en-US", 1034: "es-ES", 1035: "fi", 1036: "fr-FR", 1037: "he", 1038: "hu",
    1039: "is", 1040: "it-IT", 1041: "ja", 1042: "ko", 1043: "nl-NL", 1044: "nb", 1045: "pl",
    1046: "pt-BR", 1048: "ro", 1049: "ru", 1050: "hr", 1051: "sk", 1053: "sv", 1055: "tr",
    1058: "uk", 1060: "sl", 1142: "la", 2052: "zh-CN", 2055: "de-CH", 2057: "en-GB", 2058: "es-MX",
    2060: "fr-BE", 2070: "pt-PT", 3079: "de-AT", 3081: "en-AU", 3082: "es-ES", 3084: "fr-CA",
    4105: "en-CA", 5129: "en-NZ", 6153: "en-IE",
}  # fmt: skip
"""Language tags by Microsoft's language identifiers."""

CHARACTER_WORDS = {
    "emdash": "—", "endash": "–", "lquote": "‘", "rquote": "’", "ldblquote": "“",
    "rdblquote": "”", "bullet": "•", "emspace": "\u2003", "enspace": "\u2002",
    "qmspace": "\u2005", "tab": "\t", "~": "\u00a0", "_": "\u2011", "-": "\u00ad",
    "zwj": "\u200d", "zwnj": "\u200c", "ltrmark": "\u200e", "rtlmark": "\u200f",
}  # fmt: skip
"""Characters by the control word that stands for them."""


@dataclass(frozen=True, slots=True)
class RtfToken:
    """A token of RTF."""

    kind: Literal["open", "close", "word", "text", "code"]
    """`code` is a byte written as a hexadecimal number."""
    word: str = ""
    number: int | None = None
    content: bytes = b""


_OPEN, _CLOSE = RtfToken("open"), RtfToken("close")


def tokenize(document: bytes) -> Iterator[RtfToken]:
    """Yields the tokens of a document. Binary data is skipped."""
    position = 0
    while match := _TOKEN.match(document, position):
        position = match.end()
        token_kind = match.lastgroup
        if token_kind == "text":
            yield RtfToken("text", content=match["text"])
        elif token_kind == "brace":
            yield _OPEN if match["brace"] == b"{" else _CLOSE
        elif token_kind == "code":
            yield RtfToken("code", content=bytes([int(match["code"], 16)]))
        elif token_kind == "sign":
            yield _symbol_token(match["sign"])
        elif match["word"]:
            number = None if match["number"] is None else int(match["number"][:10])
            word = match["word"].decode("ascii")
            if word == "bin":
                position += min(max(number or 0, 0), _BINARY_LIMIT)
            else:
                yield RtfToken("word", word, number)


def _symbol_token(symbol: bytes) -> RtfToken:
    """Converts a control symbol: an escaped brace is text, an escaped line end ends a paragraph."""
    if symbol in b"{}\\":
        return RtfToken("text", content=symbol)
    if symbol in b"\r\n":
        return RtfToken("word", "par")
    return RtfToken("word", symbol.decode("latin-1"))
