"""A text as words, marks and spaces, and the types that its languages exchange.

Knows no language.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from narrator.pronunciation.alphabet import MARKS, STOPS

_SIGNS = (
    r"\u0300-\u036f\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u00ad\u200b-\u200d\u2060"
)
"""Signs that belong to the letter before them, and invisible characters inside words."""
_LETTER = rf"[^\W\d_][{_SIGNS}]*"
_INITIALS = r"(?<![^\W_])[^\W\d_](?:\.[^\W\d_])+(?![^\W_])(?:\.(?=,|\s+[a-z]))?"
"""Letters with points between: U.S.A. The last point stays a mark where a sentence may end."""
_TOKEN = re.compile(
    rf"(?P<initials>{_INITIALS})"
    rf"|(?P<word>['’‘]?(?:{_LETTER})+(?:['’‘‐‑-](?:{_LETTER})+)*['’‘]?)"
    r"|(?P<mark>\.{3,}|-{2,}|[^\w\s])|(?P<space>\s+)|(?P<digits>\d+)|(?P<character>.)",
    re.DOTALL,
)
_PLAIN = str.maketrans(
    {"’": "'", "‘": "'", "‐": "-", "‑": "-"} | dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060", "")
)


@dataclass(frozen=True, slots=True)
class Token:
    """`text` as it is written, from `start` on. `kind` is "word", "mark", "space", "digits" or
    "character". `phonemes` are the author's own; a span that has them is a "word"."""

    start: int
    text: str
    kind: str
    phonemes: str = ""

    @property
    def stop(self) -> int:
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class Segment:
    """`phonemes` of the text from `start` to `stop`: empty if the language cannot say it.
    `is_known` is false if English guessed them from the letters."""

    start: int
    stop: int
    phonemes: str
    is_known: bool = True


Transcriber = Callable[[Sequence[Token]], Sequence[Segment]]
"""A language's rules: the segments of all word tokens, in order. Each word is covered; one word may
be several segments where a script has no spaces."""


def transcribe_words(
    parts: Sequence[Token], segments: Callable[[Token], Iterable[Segment]]
) -> list[Segment]:
    """Returns the segments of all word tokens: `segments` makes those of a word for which the
    author has no phonemes."""
    all_segments: list[Segment] = []
    for token in parts:
        if token.phonemes:
            all_segments.append(Segment(token.start, token.stop, token.phonemes))
        elif token.kind == "word":
            all_segments += segments(token)
    return all_segments


def tokens(text: str, spans: Sequence[tuple[int, int, str]]) -> Iterator[Token]:
    """Yields all of `text`, in order. `spans` (start, stop, phonemes) are sorted, without overlaps;
    each becomes a word, whatever it contains."""
    position = 0
    for start, stop, phonemes in spans:
        yield from _split_tokens(text, position, start)
        yield Token(start, text[start:stop], "word", phonemes)
        position = stop
    yield from _split_tokens(text, position, len(text))


def _split_tokens(text: str, start: int, stop: int) -> Iterator[Token]:
    for match in _TOKEN.finditer(text, start, stop):
        kind = "word" if match.lastgroup == "initials" else match.lastgroup or ""
        yield Token(match.start(), match.group(), kind)


def plain_form(word: str) -> str:
    """Returns a word composed (NFC), with typewriter apostrophes and hyphens, without invisible
    characters."""
    return unicodedata.normalize("NFC", word.translate(_PLAIN))


def mark_of(text: str) -> str:
    """Returns the mark of Kokoro's alphabet for one in a text; empty if there is none."""
    if text.startswith("--"):
        return "—"
    return "…" if text.startswith("...") else MARKS.get(text, "")


def is_stop(text: str) -> bool:
    """Returns True if the voice stops at a mark in a text."""
    return bool(mark_of(text)) and mark_of(text) in STOPS


def is_wide(text: str) -> bool:
    """Returns True if a mark is of a script that writes no space after it."""
    return unicodedata.east_asian_width(text[0]) in "WF"
