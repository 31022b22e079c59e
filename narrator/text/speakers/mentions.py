"""Paragraphs -> passages: their words, their quotations, and whom they mention.

A mention is a name of the cast, a pronoun, or a common noun for a person ("the old man"). Knows
nothing of who speaks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from narrator.text.quotations import Quotation
from narrator.text.sentences import primary
from narrator.text.speakers.names import KnownNames, Token, tokens
from narrator.text.speakers.words import PERSONS, PRONOUNS, SAID, SUBJECTS, TITLES


@dataclass(slots=True)
class Mention:
    """A place where somebody is named."""

    kind: str
    """"name", "noun", "pronoun", "self" (the narrator's I)."""
    start: int
    stop: int
    """Offsets in the passage's text."""
    first: int
    last: int
    """The same in its words; `last` is the word behind."""
    quoted: bool
    """Whether it stands within a quotation."""
    characters: tuple[int, ...] = ()
    """Who it may be, by place in the cast; none for a noun or pronoun."""
    pronoun: str | None = None
    """What a pronoun or noun tells of the person."""
    possessive: bool = False
    other: bool = False
    """Whether it tells of another than the one told of before: "her brother", "the other"."""


@dataclass(slots=True)
class Prose:
    """A paragraph."""

    number: int
    """In the book."""
    chapter: int
    scene: int
    """In the book; one ends with its chapter, and where a paragraph has no words ("* * *")."""
    text: str
    words: list[Token]
    pieces: list[Quotation]
    mentions: list[Mention]
    language: str
    """BCP 47 tag."""

    @property
    def is_english(self) -> bool:
        """Whether all rules know its words; of other languages explicit tags are known."""
        return primary(self.language) == "en"

    def between(self, start: int, stop: int) -> range:
        """The words of a stretch of the text."""
        first = bisect_left(self.words, start, key=lambda word: word.start)
        return range(first, bisect_left(self.words, stop, key=lambda word: word.start))

    def mentioned(self, words: range) -> list[Mention]:
        """The mentions that begin within some of its words."""
        first = bisect_left(self.mentions, words.start, key=lambda mention: mention.first)
        last = bisect_left(self.mentions, words.stop, key=lambda mention: mention.first)
        return self.mentions[first:last]

    def norm(self, word: int) -> str:
        """A word, folded; empty outside of the passage."""
        return self.words[word].norm if 0 <= word < len(self.words) else ""

    def is_subject_form(self, mention: Mention) -> bool:
        """Whether a mention can be the subject of a verb, by its form."""
        if mention.possessive:
            return False
        return mention.kind in ("name", "noun") or self.norm(mention.first) in SUBJECTS


def passages(
    chapters: Sequence[Sequence[str]],
    quoted: Sequence[Sequence[Quotation]],
    names: KnownNames,
    language: str,
) -> list[Prose]:
    """The paragraphs of all chapters, with their quotations and mentions."""
    found: list[Prose] = []
    scene = 0
    for number, (paragraphs, quotations) in enumerate(zip(chapters, quoted, strict=True)):
        pieces: dict[int, list[Quotation]] = {}
        for quotation in quotations:
            pieces.setdefault(quotation.paragraph, []).append(quotation)
        for place, text in enumerate(paragraphs):
            own = pieces.get(place, [])
            passage = Prose(len(found), number, scene, text, tokens(text), own, [], language)
            passage.mentions = list(_Finder(passage, names).mentions())
            found.append(passage)
            scene += bool(text.strip()) and not (passage.words or own)
        scene += 1
    return found


_POSSESSIVE = frozenset("his her my our their its".split())
_DETERMINERS = frozenset("the a an that this another".split()) | _POSSESSIVE
_OTHERS = frozenset("other latter companion".split())
_SELF = frozenset("i me my myself".split())
_AGES = frozenset("old young other one elder younger".split())
_WORDS_TOO = frozenset("will may grace hope mark frank rose violet joy dick art".split())
"""Names that begin sentences as other words do."""
_ACTS = frozenset(
    "was had did came went took gave got shook sat stood rose ran felt knew saw made heard held "
    "kept left let threw turned who and himself herself is has does could would might".split()
)
"""Words that follow a name rather than such a word; with verbs of speech, and those in -ed."""


class _Finder:
    """Finds the mentions of one passage."""

    def __init__(self, passage: Prose, names: KnownNames) -> None:
        self.passage = passage
        self.words, self.text = passage.words, passage.text
        self.names = names
        self._piece = 0

    def mentions(self) -> Iterator[Mention]:
        at = 0
        while at < len(self.words):
            quoted = self._is_quoted(self.words[at].start)
            mention = self._named(at, quoted)
            if mention is None and not quoted and self.passage.is_english:
                mention = self._noun(at) or self._pronoun(at)
            if mention is not None:
                yield mention
            at = mention.last if mention is not None else at + 1

    def _is_quoted(self, start: int) -> bool:
        pieces = self.passage.pieces
        while self._piece < len(pieces) and pieces[self._piece].stop <= start:
            self._piece += 1
        return self._piece < len(pieces) and pieces[self._piece].start <= start

    def _named(self, at: int, quoted: bool) -> Mention | None:
        hit = self.names.at(self.words, at, self.text)
        if hit is None:
            return None
        size, entry = hit
        first, last = self.words[at], self.words[at + size - 1]
        if size == 1 and first.norm in _WORDS_TOO and self._is_word(at):
            return None
        # "the painter" may be anybody who paints: the cast's own is the likeliest
        loose = (entry.common or entry.noun) and last.norm in PERSONS and not last.capital
        return Mention(
            "noun" if loose else "name",
            first.start,
            last.stop,
            at,
            at + size,
            quoted,
            entry.characters,
            (PERSONS[last.norm] or None) if loose else None,
            last.possessive,
        )

    def _is_word(self, at: int) -> bool:
        """Whether what may be a name begins a sentence as a word: no comma or act follows."""
        word = self.words[at]
        before = self.text[self.words[at - 1].stop if at else 0 : word.start].strip()
        if word.possessive or (at and (not before or before[-1] not in ".!?\"“”‘’'—:;")):
            return False
        after = self.passage.norm(at + 1)
        if after in SAID or after in _ACTS or after.endswith("ed"):
            return False
        return self.text[word.stop : word.stop + 1] not in tuple(",.!?;:")

    def _noun(self, at: int) -> Mention | None:
        """ "the poor old man", within five words of its article."""
        article = self.words[at]
        if article.norm not in _DETERMINERS:
            return None
        end = None
        for place in range(at + 1, min(at + 6, len(self.words))):
            word = self.words[place]
            if self.text[self.words[place - 1].stop : word.start].strip(" -"):
                break
            if word.norm in PERSONS:
                end = place + 1
                if word.norm not in _AGES:
                    break
            elif word.norm in SAID and place > at + 1:
                break
        if end is None:
            return None
        named = self._named(end - 1, False)
        if named is not None and named.kind == "name":  # "the old Captain"
            return replace(named, start=article.start, first=at)
        head = self.words[end - 1]
        return Mention(
            "noun",
            article.start,
            head.stop,
            at,
            end,
            False,
            (),
            PERSONS[head.norm] or None,
            head.possessive,
            article.norm in _POSSESSIVE or head.norm in _OTHERS,
        )

    def _pronoun(self, at: int) -> Mention | None:
        word = self.words[at]
        if word.norm in PRONOUNS:
            owns = word.norm in _POSSESSIVE and not (word.norm == "her" and self._ends(at))
            pronoun, kind = PRONOUNS[word.norm], "pronoun"
        elif word.norm in _SELF and (word.norm != "i" or word.capital):
            owns, pronoun, kind = word.norm == "my", "i", "self"
        else:
            return None
        return Mention(kind, word.start, word.stop, at, at + 1, False, (), pronoun, owns)

    def _ends(self, at: int) -> bool:
        """Whether a clause ends with this word, so that "her" is no possessive."""
        if at + 1 >= len(self.words):
            return True
        return bool(self.text[self.words[at].stop : self.words[at + 1].start].strip())


def is_title(word: str) -> bool:
    """Whether a full stop after a word may be that of a title."""
    return word.casefold() in TITLES
