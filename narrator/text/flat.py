"""A paragraph without its markup: its text, what is set in it, and where each of it stands.

Knows no file and no cast; which markup means what is `markup.py`'s, who speaks is `script.py`'s.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from markdown_it.token import Token

from narrator.text.lines import Given, MusicMark, Rest, Say

FIXED = "\0"
"""Stands for a character that was escaped or is code: no label, no markup."""

Sign = float | MusicMark
"""A pause of so many seconds, or a mark."""


@dataclass(frozen=True, slots=True)
class LanguageMark:
    """From here on lines are said in a language; None: in that of their chapter again."""

    tag: str | None
    number: int
    """Of its line in the source."""
    written: str
    right: bool = True
    """Whether it is written as it should be; others are slips, and said already."""


@dataclass(slots=True)
class Flat:
    """A paragraph without its markup, or what one speaker says of it; offsets are into `text`."""

    starts: list[tuple[int, int]]
    """Offset at which a line of the source begins, and the number of that line."""
    text: str = ""
    shadow: str = ""
    """`text`, with FIXED for what was escaped or is code."""
    says: list[Say] = field(default_factory=list)
    given: list[Given] = field(default_factory=list)
    """Those within another one after it."""
    rests: list[Rest] = field(default_factory=list)
    signs: list[tuple[int, Sign]] = field(default_factory=list)
    """In order, with their offsets."""
    languages: list[tuple[int, LanguageMark]] = field(default_factory=list)
    """Likewise."""
    last: int = 0
    """Number of the last line of the source that it stands in."""
    size: int = 0
    """Characters that were added."""
    _pieces: list[tuple[str, str]] = field(default_factory=list)

    def line_at(self, at: int) -> int:
        """The line of the source in which an offset lies."""
        return self.starts[bisect_right(self.starts, (at, 1 << 62)) - 1][1]

    def is_given(self, at: int) -> bool:
        """Whether an offset lies in what is given to somebody."""
        return any(one.start <= at < one.stop for one in self.given)

    def add(self, written: str, seen: str) -> None:
        """What comes next in the text, and in its shadow; both are there after `join`."""
        self._pieces.append((written, seen))
        self.size += len(written)

    def join(self) -> None:
        """Set the text and its shadow to what was added."""
        self.text = "".join(written for written, _ in self._pieces)
        self.shadow = "".join(seen for _, seen in self._pieces)

    def part(self, begin: int, content: int, end: int) -> Flat:
        """What stands from `begin` to `end`, with single spaces; text begins at `content`."""

        def holds(at: int) -> bool:
            return begin <= at < end or at == end == len(self.text)

        text, where = _collapse(self.text, content, end)
        return Flat(
            [(0, self.line_at(begin))]
            + [(where(at), line) for at, line in self.starts if content < at < end],
            text,
            says=[
                Say(where(say.start), where(say.stop - 1) + 1, say.spoken)
                for say in self.says
                if content <= say.start < end
            ],
            given=[
                replace(one, start=where(one.start), stop=where(_last(self.text, one.stop)) + 1)
                for one in self.given
                if content <= one.start < end
            ],
            rests=[
                Rest(where(max(rest.at, content)), rest.seconds)
                for rest in self.rests
                if holds(rest.at)
            ],
            signs=[(where(max(at, content)), sign) for at, sign in self.signs if holds(at)],
            languages=[(where(max(at, content)), mark) for at, mark in self.languages if holds(at)],
            last=self.last if end == len(self.text) else self.line_at(end - 1),
        )

    def numbered(self, number: str) -> Flat:
        """The same after the number of a list item."""
        shift = len(number) + 1 if self.text else len(number)
        return Flat(
            [(at + shift * (at > 0), line) for at, line in self.starts],
            f"{number} {self.text}" if self.text else number,
            says=[Say(say.start + shift, say.stop + shift, say.spoken) for say in self.says],
            given=[
                replace(one, start=one.start + shift, stop=one.stop + shift) for one in self.given
            ],
            rests=[Rest(rest.at + shift, rest.seconds) for rest in self.rests],
            signs=[(at + shift, sign) for at, sign in self.signs],
            languages=self.languages,
            last=self.last,
        )


def _last(text: str, stop: int) -> int:
    """Place of the last character before `stop` that is no white space."""
    while stop > 1 and text[stop - 1].isspace():
        stop -= 1
    return stop - 1


class ListNumbers:
    """Numbers and lines of the open list items; a number goes to its item's first paragraph."""

    def __init__(self) -> None:
        self.items: list[tuple[str, int]] = []

    def open(self, token: Token, line: int) -> None:
        self.items.append((token.info + token.markup if token.info else "", line))

    def take(self) -> str:
        """The numbers that no paragraph has taken yet."""
        taken = " ".join(number for number, _ in self.items if number)
        self.items = [("", line) for _, line in self.items]
        return taken

    def close(self) -> Flat | None:
        """The number of an item that has no paragraph, as one."""
        number, line = self.items.pop()
        return Flat([(0, line)], number, FIXED * len(number), last=line) if number else None


def resolved(signs: Sequence[Sign], at: int) -> Iterator[MusicMark]:
    """The marks among signs that stand at one place, each with the pauses on either side."""
    pauses = [0.0 if isinstance(sign, MusicMark) else sign for sign in signs]
    for i, sign in enumerate(signs):
        if isinstance(sign, MusicMark):
            yield replace(sign, at=at, before=sum(pauses[:i]), after=sum(pauses[i:]))


def _collapse(text: str, start: int, stop: int) -> tuple[str, Callable[[int], int]]:
    """`text[start:stop]` with single spaces, and a map of offsets in `text` to offsets in it.

    An offset within whitespace goes to the next word, or to the end.
    """
    words = [run.span() for run in re.finditer(r"\S+", text[start:stop])]
    places: list[int] = []
    place = 0
    for first, last in words:
        places.append(place)
        place += last - first + 1
    squeezed = " ".join(text[start + first : start + last] for first, last in words)

    def where(offset: int) -> int:
        i = bisect_right(words, offset - start, key=lambda word: word[1])
        return places[i] + max(0, offset - start - words[i][0]) if i < len(words) else len(squeezed)

    return squeezed, where
