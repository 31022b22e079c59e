"""Finds who says "I" in each part of a book: the person whom a heading names as its author ("Mina
Murray's Journal", "Letter, Lucy to Mina", "Narrative continued by the Doctor"), else the book's
narrator.

A part ends at the next such heading, and with its chapter, unless it is told "by" somebody.
Knows nothing of who speaks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from narrator.text.speakers.mentions import Passage
from narrator.text.speakers.names import KnownNames, Token, tokens
from narrator.text.speakers.tags import SpeechTurn
from narrator.text.speakers.words import (
    ARTICLES,
    LETTERS,
    PRONOUNS,
    RECORDS,
    TALES,
    TOLD,
)

_MAX_HEADING_WORDS = 30
_MAX_PARAGRAPH_WORDS = 14
"""Words of a paragraph that may be a heading without being marked as one."""
_MIN_TAGS = 2
"""Tags in a chapter by which somebody is not its I."""
_CONTINUED = frozenset("continued resumed concluded again".split())
_NUMBERS = frozenset("chapter part book letter".split())


@dataclass(frozen=True, slots=True)
class _Author:
    """The author of a part, as its heading tells."""

    character: int | None
    """Index in the cast; None if the cast lacks the person."""
    is_name_alone: bool = False
    """True if the heading is nothing but a name."""
    goes_on: bool = False
    """True if the end of the chapter does not end the part."""
    is_sender: bool = False
    """True if the part is a letter."""


@dataclass(frozen=True, slots=True)
class _Name:
    """A name of the cast in a heading, with the indices of its words."""

    first: int
    last: int
    character: int


def find_narrators(
    passages: Sequence[Passage],
    names: KnownNames,
    headings: Mapping[tuple[int, int], str],
    unknown: int,
) -> tuple[list[int | None], dict[int, int]]:
    """Returns the narrator of each passage as headings tell, None where none does; and the senders
    of letters, by the numbers of the passages that begin these parts.

    `headings` are by chapter and paragraph. `unknown` stands for anybody whom the cast lacks.
    """
    authors = dict(_find_authors(passages, names, headings))
    titular_names = {author.character for author in authors.values() if author.is_name_alone}
    narrators: list[int | None] = []
    current: _Author | None = None
    chapter = -1
    for passage in passages:
        if passage.chapter != chapter and not (current is not None and current.goes_on):
            current = None
        chapter = passage.chapter
        author = authors.get(passage.number)
        if author is not None and not (author.is_name_alone and len(titular_names) < 2):
            current = author
        if current is None:
            narrators.append(None)
        else:
            narrators.append(unknown if current.character is None else current.character)
    senders = {
        number: unknown if author.character is None else author.character
        for number, author in authors.items()
        if author.is_sender
    }
    return narrators, senders


def exclude_named(
    narrators: Sequence[int | None],
    passages: Sequence[Passage],
    turns: Sequence[SpeechTurn],
    unknown: int,
) -> list[int | None]:
    """Returns the narrators of the passages, unknown in chapters whose tags name that narrator: who
    says "I" does not write "said Ada" of herself."""
    tag_counts = Counter[tuple[int, int]]()
    for turn in turns:
        if turn.tag is not None and turn.tag.is_explicit and turn.tag.mention.kind == "name":
            tag_counts.update(
                (turn.passage.chapter, character)
                for character in turn.tag.mention.characters
                if narrators[turn.passage.number] == character
            )
    return [
        narrator
        if narrator is None or tag_counts[passage.chapter, narrator] < _MIN_TAGS
        else unknown
        for passage, narrator in zip(passages, narrators, strict=True)
    ]


def _find_authors(
    passages: Sequence[Passage], names: KnownNames, headings: Mapping[tuple[int, int], str]
) -> Iterator[tuple[int, _Author]]:
    """Yields the passages at which a part begins, by number, each with the part's author."""
    chapter_start = 0
    last_title: _Author | None = None
    for passage in passages:
        if passage.chapter != passages[chapter_start].chapter:
            chapter_start = passage.number
        heading = headings.get((passage.chapter, passage.number - chapter_start))
        author = None
        if heading:
            author = _HeadingReader(heading, names).author(is_marked=True)
            if author is not None and author.goes_on and author == last_title:
                continue  # a part's title over each of its chapters
            last_title = author or last_title
        elif not passage.pieces and 0 < len(passage.words) <= _MAX_PARAGRAPH_WORDS:
            author = _HeadingReader(passage.text, names).author(is_marked=False)
        if author is not None:
            yield passage.number, author


class _HeadingReader:
    """Reads one heading."""

    def __init__(self, text: str, names: KnownNames) -> None:
        self.text = text
        self.words: list[Token] = tokens(text)
        self.names: list[_Name] = []
        index = 0
        while index < len(self.words) <= _MAX_HEADING_WORDS:
            match = names.match_at(self.words, index, text)
            word_count, characters = (match[0], match[1].characters) if match else (1, ())
            if characters:
                self.names.append(_Name(index, index + word_count, characters[0]))
            index += word_count

    def author(self, *, is_marked: bool) -> _Author | None:
        """Returns the author of the part that the heading begins, or None if it names none.

        `is_marked`: it is known to be a heading, and not a paragraph that looks like one.
        """
        if len(self.words) > _MAX_HEADING_WORDS:
            return None
        if is_marked and (name := self._sole_name()) is not None:
            return _Author(name.character, is_name_alone=True)
        if not (is_marked or self._looks_like_heading()):
            return None
        return self._author_after_by() or self._owner() or self._sender()

    def _norm(self, index: int) -> str:
        return self.words[index].norm if 0 <= index < len(self.words) else ""

    def _name_at(self, *places: int) -> _Name | None:
        return next((name for name in self.names if name.first in places), None)

    def _sole_name(self) -> _Name | None:
        """Returns the name that is all of the heading, besides "Chapter 4"."""
        if len(self.names) != 1:
            return None
        name = self.names[0]
        words_before = self.words[: name.first]
        is_alone = name.last == len(self.words) and not self.words[-1].is_possessive
        is_numbered = all(
            word.norm in _NUMBERS or word.norm.isdigit() or set(word.norm) <= set("ivxlc")
            for word in words_before
        )
        return name if is_alone and is_numbered else None

    def _looks_like_heading(self) -> bool:
        """Returns whether a paragraph is no sentence: it begins with a record or its author, and
        does not go on after "Ada's journal"."""
        if self.text.rstrip()[-1:] in ("!", "?", ":", ",") or not self.text[:1].isupper():
            return False
        if any(word.norm in PRONOUNS or word.norm in ("i", "me", "my") for word in self.words):
            return False
        first = self._norm(0) == "the"
        if self._norm(first) in RECORDS | TALES | TOLD:
            return True
        last = len(self.words)
        while last and self._norm(last - 1) in _CONTINUED:
            last -= 1
        return self._norm(last - 1) in RECORDS | TALES and any(
            word.is_possessive for word in self.words[: last - 1]
        )

    def _author_after_by(self) -> _Author | None:
        """Matches "The Story continued by Ada"; the author may be nobody of the cast."""
        for index in range(len(self.words) - 1, 0, -1):
            if self._norm(index) == "by" and self._norm(index - 1) in RECORDS | TALES | TOLD:
                name = self._name_at(index + 1, index + 2)
                return _Author(name.character if name else None, goes_on=True)
        return None

    def _owner(self) -> _Author | None:
        """Matches "Ada's journal" and "Ada Hart's full statement of the case"."""
        for index, word in enumerate(self.words):
            next_norms = {self._norm(index + offset) for offset in (1, 2, 3)}
            if word.is_possessive and word.is_capitalised and next_norms & (RECORDS | TALES):
                name = next((name for name in self.names if name.last == index + 1), None)
                if name is not None or next_norms & RECORDS:
                    is_letter = bool(next_norms & LETTERS)
                    return _Author(name.character if name else None, is_sender=is_letter)
        return None

    def _sender(self) -> _Author | None:
        """Matches "Letter from Ada", "Narrative of Ada", "Letter, Ada to Ben" and "Ada to Ben"."""
        records = [index for index in range(len(self.words)) if self._norm(index) in RECORDS]
        for name in self.names:
            is_letter = bool(records) and self._norm(records[0]) in LETTERS
            title_first = name.first - (self._norm(name.first - 1) in ARTICLES)
            is_after_record = bool(records) and records[0] < name.first
            if is_after_record and self._norm(title_first - 1) in ("of", "from"):
                return _Author(name.character, is_sender=is_letter)
            is_letter &= is_after_record
            if name is self.names[0] and (is_letter or not name.first):
                words_after = [word.norm for word in self.words[name.last :]]
                if "to" in words_after if is_letter else words_after[:1] == ["to"]:
                    return _Author(name.character, is_sender=True)
        return None
