"""A book as it was imported: its facts, its chapters as Markdown, and what was left out of them.

Also the one way of counting words, so that all sums speak of the same thing. Knows no format.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from narrator.characters import seen

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def file_name(path: Path) -> str:
    """A file's name as a text: bytes that are no UTF-8 are left out."""
    return seen(path.name) or "book"


def stem(path: Path) -> str:
    """A file's name without its ending, for a title."""
    return seen(path.stem) or "Book"


def count_characters(text: str) -> int:
    """Visible characters, not counting whitespace."""
    return len("".join(seen(text).split()))


def count_words(text: str) -> int:
    """Runs of letters and digits; an apostrophe inside belongs to its word."""
    return len(_WORD.findall(seen(text)))


def names(text: str) -> frozenset[str]:
    """A set of names that are written in a row."""
    return frozenset(text.split())


Notes = Literal["in-place", "end", "omit"]
"""Where footnotes are spoken: after the paragraph that refers to them, the chapter, or nowhere."""

Treatment = Literal["read", "omit"]
"""Whether the narrator reads what is no plain text: stage directions, tables, code, pictures."""


Reading = Literal["script", "prose"]
"""Whether names that begin paragraphs are speakers', or text as all else is."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What a user says about a source; it counts more than what the source says."""

    title: str | None = None
    authors: tuple[str, ...] = ()
    language: str | None = None
    encoding: str | None = None
    """Of a text."""
    heading: re.Pattern[str] | None = None
    """What a line that begins a chapter begins with."""
    notes: Notes = "omit"
    reading: Reading | None = None
    """Unsaid, it is a script where there is strong evidence."""
    directions: Treatment = "read"
    """Of plays and screenplays."""
    pictures: Treatment = "omit"
    """Their alternative texts and captions."""
    tables: Treatment | None = None
    """Unsaid, they are read row by row, but for those of Markdown, which stay as they are."""
    code: Treatment = "omit"


Begin = Callable[[Path], None]
"""Called with each file before it is read."""


@dataclass(frozen=True, slots=True)
class CoverImage:
    """A picture that players take."""

    data: bytes
    suffix: str
    """".jpg" or ".png"."""


@dataclass(frozen=True, slots=True)
class ImportedChapter:
    """A chapter in reading order. `characters` and `words` count what the source says."""

    title: str
    markdown: str
    source: str
    """Where it begins: a document's name in an EPUB, `name:line` in a text."""
    characters: int
    words: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """Source text that no chapter holds, and why."""

    source: str
    title: str
    reason: str
    characters: int
    words: int
    markdown: str | None = None
    """Its text, where a user may want to take it back into the book."""
    place: int = 0
    """How many chapters stand before it."""
    count: int = 1
    """How many pieces of text it stands for."""


@dataclass(frozen=True, slots=True)
class PrintedSpeaker:
    """One of the cast that a source names in print."""

    name: str
    aliases: tuple[str, ...] = ()
    """Other labels that are the same one's."""
    pronoun: str | None = None
    """Where the source says it plainly."""


@dataclass(frozen=True, slots=True)
class Book:
    """What `book.yaml` and the text files are written from."""

    title: str
    authors: tuple[str, ...]
    language: str
    """A tag; "" where the source says none."""
    chapters: tuple[ImportedChapter, ...]
    left_out: tuple[Skipped, ...] = ()
    source: str = ""
    format: str = ""
    """As people call it."""
    characters: int = 0
    """Of all documents of the source, counted apart from what became of them."""
    identifiers: Mapping[str, str] = field(default_factory=dict)
    cover: CoverImage | None = None
    subtitle: str | None = None
    series: str | None = None
    series_part: str | None = None
    publisher: str | None = None
    date: str | None = None
    description: str | None = None
    genre: str | None = None
    copyright: str | None = None
    is_titled: bool = True
    """Whether the source says its title; else a file's name stands for it."""
    speakers: tuple[PrintedSpeaker, ...] = ()
    """Those whose labels a source prints; none where one voice reads all."""
    dialogue: str = ""
    """What of it is printed with its speakers: `a play: 12 speakers, 843 speeches`."""
    remarks: tuple[str, ...] = ()
    """What was guessed, missing or read in an unusual way."""

    @property
    def words(self) -> int:
        return self.words_kept + self.words_left_out

    @property
    def words_kept(self) -> int:
        return sum(chapter.words for chapter in self.chapters)

    @property
    def words_left_out(self) -> int:
        return sum(skipped.words for skipped in self.left_out)

    @property
    def characters_kept(self) -> int:
        return sum(chapter.characters for chapter in self.chapters)

    @property
    def characters_left_out(self) -> int:
        return sum(skipped.characters for skipped in self.left_out)
