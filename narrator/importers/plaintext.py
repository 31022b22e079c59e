"""Files of text: read in their encoding, and searched for the speakers of a script."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from narrator import files
from narrator.errors import ImportFailed, Problem
from narrator.importers.book import file_name
from narrator.importers.encoding import Decoded, NoText, decode
from narrator.importers.prose import BREAK, Span

SIZE_LIMIT = 64_000_000
"""Bytes. The longest novels have 20 MB."""

_ENDS = re.compile("\r\n|[\r\v\x85\u2028]")
_PAGE_ENDS = re.compile("[\f\u2029]")
_LABEL = re.compile(
    r"([^\W\d_][\w’'. -]{0,38}[\w.]|[^\W\d_])\s?(?:\([^()\n]{0,200}\)\s?)?:\s+(?=\S)"
)
_EMPHASIS = re.compile(r"(?<![^\W_])_(?=[^\s_])([^_]*[^\s_])_(?![^\W_])")


def read_text(path: Path, encoding: str | None = None) -> Decoded:
    """A file's text with `\\n` as the only line end, and what is odd about its encoding.

    Raises ImportFailed.
    """
    try:
        data = files.read_whole(path, SIZE_LIMIT)
    except files.TooLarge:
        raise ImportFailed(Problem(path, None, "larger than 64 MB, which no book is")) from None
    except OSError as error:
        raise ImportFailed(Problem(path, None, f"cannot be read: {error.strerror}")) from None
    try:
        decoded = decode(data, encoding)
    except NoText as error:
        raise ImportFailed(Problem(path, None, str(error))) from None
    except LookupError:
        what = f"--encoding {encoding}: no such encoding; for example utf-8, cp1252, gb18030"
        raise ImportFailed(what) from None
    text = _PAGE_ENDS.sub("\n\n", _ENDS.sub("\n", decoded.text))
    remark = f"{file_name(path)}: {decoded.remark}" if decoded.remark else None
    return Decoded(text, remark)


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
