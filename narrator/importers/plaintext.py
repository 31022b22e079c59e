"""Files of text: read as UTF-8 or UTF-16, and searched for the speakers of a script."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from narrator import files
from narrator.errors import ImportFailed, Problem
from narrator.importers.prose import BREAK, Span

SIZE_LIMIT = 64_000_000
"""Bytes. The longest novels have 20 MB."""

_ENDS = re.compile("\r\n|[\r\v\x85\u2028]")
_PAGE_ENDS = re.compile("[\f\u2029]")
_LABEL = re.compile(
    r"([^\W\d_][\w’'. -]{0,38}[\w.]|[^\W\d_])\s?(?:\([^()\n]{0,200}\)\s?)?:\s+(?=\S)"
)
_EMPHASIS = re.compile(r"(?<![^\W_])_(?=[^\s_])([^_]*[^\s_])_(?![^\W_])")


def read_text(path: Path) -> str:
    """A file's text with `\\n` as the only line end. Raises ImportFailed."""
    try:
        data = files.read_whole(path, SIZE_LIMIT)
    except files.TooLarge:
        raise ImportFailed(Problem(path, None, "larger than 64 MB, which no book is")) from None
    except OSError as error:
        raise ImportFailed(Problem(path, None, f"cannot be read: {error.strerror}")) from None
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        text = data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise ImportFailed(_not_decoded(path, data, error, wide)) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        what = "no text: it holds zero bytes. Save it as UTF-8, or import the EPUB"
        raise ImportFailed(Problem(path, line, what))
    return _PAGE_ENDS.sub("\n\n", _ENDS.sub("\n", text))


def _not_decoded(path: Path, data: bytes, error: UnicodeDecodeError, wide: bool) -> Problem:
    if wide:
        return Problem(path, None, f"broken UTF-16 at byte {error.start}; save it as UTF-8")
    at = error.start + data.startswith(b"\xef\xbb\xbf") * 3
    line = data.count(b"\n", 0, at) + 1
    return Problem(
        path,
        line,
        f"not UTF-8: byte 0x{data[at]:02X} at offset {at}; save it as UTF-8, from an older "
        "encoding with: iconv -f WINDOWS-1252 -t UTF-8 OLD > NEW",
    )


def find_label(paragraph: str) -> re.Match[str] | None:
    """`Name: ` or `Name (style): ` at the beginning of a paragraph; group 1 is the name."""
    label = _LABEL.match(paragraph)
    return label if label and len(label[1].split()) <= 3 else None


def find_speakers(paragraphs: Sequence[str]) -> tuple[str, ...]:
    """The speakers of a script, as first written; none where the text is no script.

    A script is a text of which at least half the paragraphs begin with labels, two of them more
    than once. So a novel with a `Note: …` in it is none.
    """
    written: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for paragraph in paragraphs:
        if label := find_label(paragraph):
            key = label_key(label)
            written.setdefault(key, " ".join(label[1].split()))
            counts[key] += 1
    again = sum(count > 1 for count in counts.values())
    if again < 2 or 2 * counts.total() < len(paragraphs):
        return ()
    return tuple(written.values())


def label_key(match: re.Match[str]) -> str:
    """The name in a label, as it is compared."""
    return " ".join(match[1].split()).casefold()


def spans(text: str) -> Iterator[Span]:
    """Text with `_emphasis_`; its rows are lines."""
    for number, piece in enumerate(_EMPHASIS.split(text)):
        for row, line in enumerate(piece.split("\n")):
            if row:
                yield BREAK
            yield Span(line, em=number % 2 == 1)
