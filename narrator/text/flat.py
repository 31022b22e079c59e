"""A paragraph without its markup: its text, and the pauses, marks and spans set in it.

Knows no file and no cast; `markup.py` decides what markup means, `script.py` who speaks.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from markdown_it.token import Token

from narrator.text.lines import AttributedSpan, MusicMark, PauseMark, SpokenForm

FIXED = "\0"
"""Placeholder for a character that was escaped or is code, and so is no label or markup."""

Sign = float | MusicMark
"""A pause in seconds, or a music mark."""


@dataclass(frozen=True, slots=True)
class LanguageMark:
    """Sets the language of the lines that follow; None returns to the chapter's language."""

    tag: str | None
    number: int
    """Line number in the source."""
    written: str
    right: bool = True
    """True if it is spelt correctly; mistyped marks have been reported as slips."""


@dataclass(slots=True)
class Flat:
    """A paragraph without its markup, or one speaker's part of it; offsets are into `text`."""

    starts: list[tuple[int, int]]
    """Offset at which each line of the source begins, and the number of that line."""
    text: str = ""
    shadow: str = ""
    """`text`, with FIXED for each character that was escaped or is code."""
    says: list[SpokenForm] = field(default_factory=list)
    given: list[AttributedSpan] = field(default_factory=list)
    """An inner span comes after its outer one."""
    pauses: list[PauseMark] = field(default_factory=list)
    signs: list[tuple[int, Sign]] = field(default_factory=list)
    """Pauses and music marks in order, with their offsets."""
    languages: list[tuple[int, LanguageMark]] = field(default_factory=list)
    """Language marks in order, with their offsets."""
    last: int = 0
    """Number of the last line of its source."""
    size: int = 0
    """Number of characters added."""
    _pieces: list[tuple[str, str]] = field(default_factory=list)

    def line_at(self, offset: int) -> int:
        """Return the number of the source line in which an offset lies."""
        return self.starts[bisect_right(self.starts, (offset, 1 << 62)) - 1][1]

    def is_given(self, offset: int) -> bool:
        """Return True if an offset lies in a span that the text gives to a speaker."""
        return any(span.start <= offset < span.stop for span in self.given)

    def add(self, text: str, shadow: str) -> None:
        """Append to the text and to its shadow; `join` must be called to set both."""
        self._pieces.append((text, shadow))
        self.size += len(text)

    def join(self) -> None:
        """Set the text and its shadow from the pieces added."""
        self.text = "".join(text for text, _ in self._pieces)
        self.shadow = "".join(shadow for _, shadow in self._pieces)

    def part(self, begin: int, content: int, end: int) -> Flat:
        """Return the part from `begin` to `end`, single-spaced; its text begins at `content`."""

        def is_inside(offset: int) -> bool:
            return begin <= offset < end or offset == end == len(self.text)

        text, map_offset = _collapse(self.text, content, end)
        return Flat(
            [(0, self.line_at(begin))]
            + [
                (map_offset(offset), line) for offset, line in self.starts if content < offset < end
            ],
            text,
            says=[
                SpokenForm(map_offset(say.start), map_offset(say.stop - 1) + 1, say.spoken)
                for say in self.says
                if content <= say.start < end
            ],
            given=[
                replace(
                    span,
                    start=map_offset(span.start),
                    stop=map_offset(_last_character(self.text, span.stop)) + 1,
                )
                for span in self.given
                if content <= span.start < end
            ],
            pauses=[
                PauseMark(map_offset(max(pause.at, content)), pause.seconds)
                for pause in self.pauses
                if is_inside(pause.at)
            ],
            signs=[
                (map_offset(max(offset, content)), sign)
                for offset, sign in self.signs
                if is_inside(offset)
            ],
            languages=[
                (map_offset(max(offset, content)), mark)
                for offset, mark in self.languages
                if is_inside(offset)
            ],
            last=self.last if end == len(self.text) else self.line_at(end - 1),
        )

    def numbered(self, number: str) -> Flat:
        """Return a copy with the number of a list item before the text."""
        shift = len(number) + 1 if self.text else len(number)
        return Flat(
            [(offset + shift * (offset > 0), line) for offset, line in self.starts],
            f"{number} {self.text}" if self.text else number,
            says=[SpokenForm(say.start + shift, say.stop + shift, say.spoken) for say in self.says],
            given=[
                replace(span, start=span.start + shift, stop=span.stop + shift)
                for span in self.given
            ],
            pauses=[PauseMark(pause.at + shift, pause.seconds) for pause in self.pauses],
            signs=[(offset + shift, sign) for offset, sign in self.signs],
            languages=self.languages,
            last=self.last,
        )


def _last_character(text: str, stop: int) -> int:
    """Return the offset of the last character before `stop` that is not white space."""
    while stop > 1 and text[stop - 1].isspace():
        stop -= 1
    return stop - 1


class ListNumbers:
    """Numbers and lines of the open list items; an item's first paragraph takes its number."""

    def __init__(self) -> None:
        self.open_items: list[tuple[str, int]] = []

    def open(self, token: Token, line: int) -> None:
        self.open_items.append((token.info + token.markup if token.info else "", line))

    def take(self) -> str:
        """Return the numbers that no paragraph has taken yet, and mark them as taken."""
        pending_numbers = " ".join(number for number, _ in self.open_items if number)
        self.open_items = [("", line) for _, line in self.open_items]
        return pending_numbers

    def close(self) -> Flat | None:
        """Close an item; return its number as a paragraph if none has taken it."""
        number, line = self.open_items.pop()
        return Flat([(0, line)], number, FIXED * len(number), last=line) if number else None


def resolved(signs: Sequence[Sign], offset: int) -> Iterator[MusicMark]:
    """Yield the music marks among the signs of one offset, with the pauses on either side."""
    pauses = [0.0 if isinstance(sign, MusicMark) else sign for sign in signs]
    for index, sign in enumerate(signs):
        if isinstance(sign, MusicMark):
            yield replace(sign, at=offset, before=sum(pauses[:index]), after=sum(pauses[index:]))


def _collapse(text: str, start: int, stop: int) -> tuple[str, Callable[[int], int]]:
    """Return `text[start:stop]` with single spaces, and a map from offsets in `text` to it.

    An offset within white space maps to the next word, or to the end.
    """
    words = [run.span() for run in re.finditer(r"\S+", text[start:stop])]
    word_starts: list[int] = []
    word_start = 0
    for begin, end in words:
        word_starts.append(word_start)
        word_start += end - begin + 1
    squeezed = " ".join(text[start + begin : start + end] for begin, end in words)

    def map_offset(offset: int) -> int:
        """Map an offset in `text` to the squeezed text."""
        i = bisect_right(words, offset - start, key=lambda word: word[1])
        return (
            word_starts[i] + max(0, offset - start - words[i][0])
            if i < len(words)
            else len(squeezed)
        )

    return squeezed, map_offset
