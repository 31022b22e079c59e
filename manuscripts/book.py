"""An imported book: its facts, its chapters as Markdown, and what was left out of them.

Also the only functions that count words and characters, so that all sums agree. Knows no format.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from textbase.characters import strip_invisible

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def file_name(path: Path) -> str:
    """Returns a file's name as text, without bytes that are not UTF-8."""
    return strip_invisible(path.name) or "book"


def title_from_file_name(path: Path) -> str:
    """Returns a file's name without its suffix, for a title."""
    return strip_invisible(path.stem) or "Book"


def natural_key(name: str) -> list[tuple[int, int, str]]:
    """Returns a key that sorts `2-b` before `10-a`, and a file before the folder of its name."""
    key: list[tuple[int, int, str]] = []
    for component in posixpath.splitext(name)[0].split("/"):
        for piece in re.findall(r"\d+|\D+", component.casefold()):
            key.append((0, int(piece), "") if piece.isdecimal() else (1, 0, piece))
        key.append((-1, 0, ""))  # the end of a name sorts before anything longer
    return key


def count_characters(text: str) -> int:
    """Returns the number of visible characters, without whitespace."""
    return len("".join(strip_invisible(text).split()))


def count_words(text: str) -> int:
    """Returns the number of runs of letters and digits; an apostrophe inside belongs to its
    word."""
    return len(_WORD.findall(strip_invisible(text)))


def word_set(text: str) -> frozenset[str]:
    """Returns the set of words in a space-separated text."""
    return frozenset(text.split())


Notes = Literal["in-place", "end", "omit"]
"""Place of spoken footnotes: after the paragraph that refers to them, after the chapter, or
nowhere."""

Treatment = Literal["read", "omit"]
"""Treatment of stage directions, tables, code or pictures by the narrator."""

Reading = Literal["script", "prose"]
"""Reading of names at the beginning of paragraphs: as speakers, or as ordinary text."""


@dataclass(frozen=True, slots=True)
class Choices:
    """The user's choices about a source; they take precedence over what the source says."""

    title: str | None = None
    authors: tuple[str, ...] = ()
    language: str | None = None
    encoding: str | None = None
    """Of a text file."""
    heading: re.Pattern[str] | None = None
    """Pattern that begins the first line of each chapter."""
    notes: Notes = "omit"
    reading: Reading | None = None
    """If None, the text is a script only on strong evidence."""
    directions: Treatment = "read"
    """Of plays and screenplays."""
    pictures: Treatment = "omit"
    """Alternative texts and captions."""
    tables: Treatment | None = None
    """If None, tables are read row by row, except Markdown's, which stay as written."""
    code: Treatment = "omit"


FileCallback = Callable[[Path], None]
"""Called with each file before it is read."""


@dataclass(frozen=True, slots=True)
class CoverImage:
    """A picture in a format that players accept."""

    data: bytes
    suffix: str
    """".jpg" or ".png"."""


@dataclass(frozen=True, slots=True)
class ImportedChapter:
    """A chapter in reading order. `characters` and `words` are counts of the source text."""

    title: str
    markdown: str
    source: str
    """Place where it begins: a document's name in an EPUB, `name:line` in a text."""
    characters: int
    words: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """Source text that is in no chapter, and the reason."""

    source: str
    title: str
    reason: str
    characters: int
    words: int
    markdown: str | None = None
    """Its text, if a user may want to restore it."""
    place: int = 0
    """Number of chapters before it."""
    count: int = 1
    """Number of pieces of text that it stands for."""


@dataclass(frozen=True, slots=True)
class PrintedSpeaker:
    """A member of the cast that the source names in print."""

    name: str
    aliases: tuple[str, ...] = ()
    """Other labels of the same speaker."""
    pronoun: str | None = None
    """"he" or "she" if the source says so plainly."""


@dataclass(frozen=True, slots=True)
class Book:
    """Everything that `book.yaml` and the text files are written from."""

    title: str
    authors: tuple[str, ...]
    """Empty, until the book is read, if the source states none."""
    language: str
    """Language tag; likewise "" until then."""
    chapters: tuple[ImportedChapter, ...]
    left_out: tuple[Skipped, ...] = ()
    source: str = ""
    format: str = ""
    """Name of the format, for people."""
    characters: int = 0
    """Characters of all documents of the source, counted independently of the chapters."""
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
    """True if the source states its title; if not, the file's name stands in."""
    speakers: tuple[PrintedSpeaker, ...] = ()
    """Speakers whose labels the source prints; empty if one voice reads everything."""
    dialogue: str = ""
    """The printed dialogue, counted: `a play: 12 speakers, 843 speeches`."""
    remarks: tuple[str, ...] = ()
    """Remarks on what was guessed, missing or read in an unusual way."""

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
