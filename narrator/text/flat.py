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

MASK = "\0"
"""Placeholder for a character that was escaped or is code, and so is never label or markup."""


Sign = PauseMark | MusicMark


@dataclass(frozen=True, slots=True)
class LanguageMark:
    """Sets the language of the lines that follow; None returns to the chapter's language."""

    offset: int
    """Offset in the paragraph's text."""
    tag: str | None
    number: int
    """Line number in the source."""
    written: str
    is_well_formed: bool = True
    """True if it is spelt correctly; mistyped marks have been reported as slips."""


@dataclass(slots=True)
class Flat:
    """A paragraph without its markup, or one speaker's part of it; offsets are into `text`."""

    line_starts: list[tuple[int, int]]
    """Offset at which each line of the source begins, and the number of that line."""
    text: str = ""
    masked_text: str = ""
    """`text`, with FIXED for each character that was escaped or is code."""
    spoken_forms: list[SpokenForm] = field(default_factory=list)
    attributed_spans: list[AttributedSpan] = field(default_factory=list)
    """An inner span comes after its outer one."""
    marks: list[PauseMark | MusicMark | LanguageMark] = field(default_factory=list)
    """In order."""
    last_source_line: int = 0
    """Number of the last line of its source."""
    size: int = 0
    """Number of characters added."""
    _pieces: list[tuple[str, str]] = field(default_factory=list)

    def line_at(self, offset: int) -> int:
        """Returns the number of the source line in which an offset lies."""
        return self.line_starts[bisect_right(self.line_starts, (offset, 1 << 62)) - 1][1]

    def is_given(self, offset: int) -> bool:
        """Returns whether an offset lies in a span that the text gives to a speaker."""
        return any(span.start <= offset < span.stop for span in self.attributed_spans)

    def add(self, text: str, masked_text: str) -> None:
        """Appends to the text and to its masked_text; `join` must be called to set both."""
        self._pieces.append((text, masked_text))
        self.size += len(text)

    def join(self) -> None:
        """Sets the text and its masked_text from the pieces added."""
        self.text = "".join(text for text, _ in self._pieces)
        self.masked_text = "".join(masked_text for _, masked_text in self._pieces)

    @property
    def pauses(self) -> list[PauseMark]:
        return [mark for mark in self.marks if isinstance(mark, PauseMark)]

    @property
    def signs(self) -> list[Sign]:
        """Pauses and music marks in order."""
        return [mark for mark in self.marks if not isinstance(mark, LanguageMark)]

    @property
    def languages(self) -> list[LanguageMark]:
        return [mark for mark in self.marks if isinstance(mark, LanguageMark)]

    def part(self, begin: int, content: int, end: int) -> Flat:
        """Returns the part of one speaker up to `end`, with single spaces between words.

        It has the marks from `begin` on, where its label is, and the text from `content` on.
        """
        text, map_offset = _collapse(self.text, content, end)
        part = self._mapped(text, map_offset, content, end)
        part.line_starts.insert(0, (0, self.line_at(begin)))
        part.marks = [
            replace(mark, offset=map_offset(max(mark.offset, content)))
            for mark in self.marks
            if begin <= mark.offset < end or mark.offset == end == len(self.text)
        ]
        part.last_source_line = (
            self.last_source_line if end == len(self.text) else self.line_at(end - 1)
        )
        return part

    def numbered(self, number: str) -> Flat:
        """Returns a copy with the number of a list item before the text."""
        text = f"{number} {self.text}" if self.text else number
        shift = len(text) - len(self.text)
        numbered_copy = self._mapped(text, lambda offset: offset + shift, 0, len(self.text) + 1)
        numbered_copy.line_starts = [
            (offset + shift * (offset > 0), line) for offset, line in self.line_starts
        ]
        numbered_copy.marks = [replace(mark, offset=mark.offset + shift) for mark in self.marks]
        numbered_copy.last_source_line = self.last_source_line
        return numbered_copy

    def _mapped(self, text: str, map_offset: Callable[[int], int], start: int, stop: int) -> Flat:
        """Returns a text with the line starts and spans between two offsets, mapped to it."""

        def map_stop(offset: int) -> int:
            while offset > 1 and self.text[offset - 1].isspace():
                offset -= 1
            return map_offset(offset - 1) + 1

        return Flat(
            [
                (map_offset(offset), line)
                for offset, line in self.line_starts
                if start < offset < stop
            ],
            text,
            spoken_forms=[
                replace(say, start=map_offset(say.start), stop=map_stop(say.stop))
                for say in self.spoken_forms
                if start <= say.start < stop
            ],
            attributed_spans=[
                replace(span, start=map_offset(span.start), stop=map_stop(span.stop))
                for span in self.attributed_spans
                if start <= span.start < stop
            ],
        )


class ListNumbers:
    """Numbers and lines of the open list items; an item's first paragraph takes its number."""

    def __init__(self) -> None:
        self.open_items: list[tuple[str, int]] = []

    def open(self, token: Token, line: int) -> None:
        self.open_items.append((token.info + token.markup if token.info else "", line))

    def take(self) -> str:
        """Returns the numbers that no paragraph has taken yet, and marks them as taken."""
        pending_numbers = " ".join(number for number, _ in self.open_items if number)
        self.open_items = [("", line) for _, line in self.open_items]
        return pending_numbers

    def close(self) -> Flat | None:
        """Closes an item; return its number as a paragraph if none has taken it."""
        number, line = self.open_items.pop()
        return (
            Flat([(0, line)], number, MASK * len(number), last_source_line=line) if number else None
        )


def music_marks_at(signs: Sequence[Sign], offset: int) -> Iterator[MusicMark]:
    """Yields the music marks among the signs at an offset, with the pauses around each."""
    pauses = [sign.seconds if isinstance(sign, PauseMark) else 0.0 for sign in signs]
    for index, sign in enumerate(signs):
        if isinstance(sign, MusicMark):
            yield replace(
                sign, offset=offset, before=sum(pauses[:index]), after=sum(pauses[index:])
            )


def _collapse(text: str, start: int, stop: int) -> tuple[str, Callable[[int], int]]:
    """Returns `text[start:stop]` with single spaces, and a map from offsets in `text` to it.

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
        """Maps an offset in `text` to the squeezed text."""
        i = bisect_right(words, offset - start, key=lambda word: word[1])
        return (
            word_starts[i] + max(0, offset - start - words[i][0])
            if i < len(words)
            else len(squeezed)
        )

    return squeezed, map_offset
