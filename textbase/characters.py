"""Handles invisible characters: removes them from texts and names, escapes them in messages.

A title may turn the rest of a line around, clear a terminal, or name a file that looks like another
one. Knows which characters can, not where texts are from.
"""

from __future__ import annotations

import re

_INVISIBLE_RANGES = (
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f"
    "\u034f\u061c\u115f\u1160\u180e\u200b\u200e\u200f"
    "\u202a-\u202e"  # embeddings and overrides of direction
    "\u2060-\u206f"  # word joiner and its kin, isolates
    "\u3164\uffa0"  # Hangul fillers: letters to Unicode, nothing to the eye
    "\ud800-\udfff"  # of file names that are not UTF-8
    "\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f"
)
INVISIBLE = re.compile(f"[{_INVISIBLE_RANGES}]")
"""Characters that no text needs. The joiners U+200C and U+200D shape letters."""
_STRIPPED = re.compile(f"[{_INVISIBLE_RANGES}\xad]+")
"""With the soft hyphen, by which texts are typeset."""
_ESCAPED = re.compile(f"[{_INVISIBLE_RANGES}\xad\x0b\x0c\x85\u2028\u2029\ufffe\uffff]")


def strip_invisible(text: str) -> str:
    """Removes characters that have neither a shape nor a sound."""
    return _STRIPPED.sub("", text)


def escape_invisible(text: str) -> str:
    """Escapes control and invisible characters for a terminal, as in \\u202e.

    Line breaks, tabs and carriage returns stay. Within strings of JSON these codes mean what they
    replace.
    """
    return _ESCAPED.sub(_escape_code, text)


def _escape_code(match: re.Match[str]) -> str:
    hex_digits = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{hex_digits[i : i + 4]}" for i in range(0, len(hex_digits), 4))


def excerpt(text: str, max_length: int = 60) -> str:
    """Prepares `text` for a message: on one line, shortened, without control characters."""
    text = text if len(text) <= max_length else f"{text[:max_length]}…"
    return escape_invisible(text).replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")


def decode_text(data: bytes) -> tuple[str, int | None]:
    """Decodes a text file that people edit: as UTF-8, as UTF-16 if it has a byte order mark, or
    else as Windows-1252.

    Also returns the offset of the first byte that is not UTF-8; None for the former two.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace"), None
    try:
        return data.decode("utf-8-sig"), None
    except UnicodeDecodeError as error:
        return data.decode("cp1252", "replace"), error.start
