"""Text files: reads them in their encoding, and interprets `_emphasis_`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from manuscripts.book import file_name
from manuscripts.encoding import Decoded, NoText, decode
from manuscripts.errors import ImportFailed
from manuscripts.prose import BREAK, StyledSpan
from textbase import files
from textbase.errors import Problem

MAX_FILE_SIZE = 64_000_000
"""Bytes. The longest novels have 20 MB."""

_LINE_END = re.compile("\r\n|[\r\v\x85\u2028]")
_PAGE_END = re.compile("[\f\u2029]")
_EMPHASIS = re.compile(r"(?<![^\W_])_(?=[^\s_])([^_]*[^\s_])_(?![^\W_])")


def read_data(path: Path) -> bytes:
    """Returns the bytes of a source. Raises ImportFailed."""
    try:
        return files.read_bounded(path, MAX_FILE_SIZE)
    except files.TooLarge:
        raise ImportFailed(Problem(path, None, "larger than 64 MB, which no book is")) from None
    except OSError as error:
        raise ImportFailed(Problem(path, None, f"cannot be read: {error.strerror}")) from None


def read_text(path: Path, encoding: str | None = None) -> Decoded:
    """Returns a file's text with `\\n` as the only line end, and a remark on its encoding.

    Raises ImportFailed.
    """
    try:
        decoded = decode(read_data(path), encoding)
    except NoText as error:
        raise ImportFailed(Problem(path, None, str(error))) from None
    text = _PAGE_END.sub("\n\n", _LINE_END.sub("\n", decoded.text))
    remark = f"{file_name(path)}: {decoded.remark}" if decoded.remark else None
    return Decoded(text, remark)


def emphasized_spans(text: str) -> Iterator[StyledSpan]:
    """Yields text with `_emphasis_` as spans; its rows are lines."""
    for index, piece in enumerate(_EMPHASIS.split(text)):
        for line_index, line in enumerate(piece.split("\n")):
            if line_index:
                yield BREAK
            yield StyledSpan(line, em=index % 2 == 1)
