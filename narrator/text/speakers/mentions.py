"""Analyses paragraphs: their words, their quotations, and the people they mention.

A mention is a name of the cast, a pronoun, or a common noun for a person ("the old man"). Knows
nothing of who speaks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from narrator.text.quotations import Quotation
from narrator.text.speakers.names import KnownNames, Token, elides, tokens
from narrator.text.speakers.words import (
    PERSONS,
    PLACE_WORDS,
    PRONOUNS,
    SAID,
    SUBJECTS,
    TITLES,
)
from narrator.text.speech_words import speech_of
from textbase.languages import primary


@dataclass(slots=True)
class Mention:
    """A mention of a person."""

    kind: str
    """"name", "noun", "pronoun", or "self" (the narrator's I)."""
    start: int
    stop: int
    """Offsets in the passage's text."""
    first: int
    last: int
    """Indices of its words; `last` is the index after the last word."""
    is_quoted: bool
    """True if it is within a quotation."""
    characters: tuple[int, ...] = ()
    """Possible characters, as indices in the cast; empty for a noun or pronoun."""
    pronoun: str | None = None
    """Pronoun of the person, as far as a pronoun or noun implies it."""
    is_possessive: bool = False
    is_another: bool = False
    """True if it means another person than the one mentioned before: "her brother", "the other"."""
    noun: str = ""
    """The noun, folded, if it is one that no name of the cast has."""


@dataclass(slots=True)
class Passage:
    """A paragraph with its words, quotations and mentions."""

    number: int
    """Index of the passage in the book."""
    chapter: int
    scene: int
    """Index of its scene in the book. A scene ends with its chapter, and at a paragraph without
    words ("* * *"), unless a quotation goes on after it."""
    text: str
    words: list[Token]
    pieces: list[Quotation]
    mentions: list[Mention]
    language: str
    """BCP 47 tag."""

    @property
    def is_english(self) -> bool:
        """True if all rules know its words; other languages have tags, nouns and pronouns."""
        return primary(self.language) == "en"

    def between(self, start: int, stop: int) -> range:
        """Returns the indices of the words between two offsets."""
        first = bisect_left(self.words, start, key=lambda word: word.start)
        return range(first, bisect_left(self.words, stop, key=lambda word: word.start))

    def mentions_in(self, words: range) -> list[Mention]:
        """Returns the mentions that begin within a range of words."""
        first = bisect_left(self.mentions, words.start, key=lambda mention: mention.first)
        last = bisect_left(self.mentions, words.stop, key=lambda mention: mention.first)
        return self.mentions[first:last]

    def norm(self, word: int) -> str:
        """Returns a word, folded; empty outside of the paragraph."""
        return self.words[word].norm if 0 <= word < len(self.words) else ""

    def is_subject_form(self, mention: Mention) -> bool:
        """Returns whether a mention's form allows it to be the subject of a verb."""
        if mention.is_possessive:
            return False
        if mention.kind in ("name", "noun"):
            return True
        pronouns = SUBJECTS if self.is_english else speech_of(self.language).pronouns
        return self.norm(mention.first) in pronouns


def passages(
    chapters: Sequence[Sequence[str]],
    quoted: Sequence[Sequence[Quotation]],
    names: KnownNames,
    language: str,
) -> list[Passage]:
    """Analyses the paragraphs of all chapters; `quoted` are the quotations of each chapter."""
    all_passages: list[Passage] = []
    scene = 0
    is_scene_over = False
    for chapter_index, (paragraphs, quotations) in enumerate(zip(chapters, quoted, strict=True)):
        pieces: dict[int, list[Quotation]] = {}
        for quotation in quotations:
            pieces.setdefault(quotation.paragraph, []).append(quotation)
        for index, text in enumerate(paragraphs):
            paragraph_pieces = pieces.get(index, [])
            if is_scene_over and (paragraph_pieces or any(map(str.isalnum, text))):
                is_scene_over = False
                scene += not (paragraph_pieces and paragraph_pieces[0].continues_previous)
            passage = Passage(
                number=len(all_passages),
                chapter=chapter_index,
                scene=scene,
                text=text,
                words=tokens(text, elides=elides(language)),
                pieces=paragraph_pieces,
                mentions=[],
                language=language,
            )
            passage.mentions = list(_MentionFinder(passage, names).mentions())
            all_passages.append(passage)
            is_scene_over |= bool(text.strip()) and not (passage.words or paragraph_pieces)
        is_scene_over = True
    return all_passages


_POSSESSIVE = frozenset("his her my our their its".split())
_DETERMINERS = frozenset("the a an that this another".split()) | _POSSESSIVE
_OTHER_PERSON_WORDS = frozenset("other latter companion".split())
_NARRATOR_PRONOUNS = frozenset("i me my myself".split())
_AGES = frozenset("old young other one elder younger".split())
_AMBIGUOUS_NAMES = frozenset("will may grace hope mark frank rose violet joy dick art".split())
"""Names that are also ordinary words at the beginning of a sentence."""
ACTION_WORDS = frozenset(
    "was had did came went took gave got put shook sat stood rose ran felt knew saw made heard "
    "held kept left let threw turned who and himself herself is has does could would might".split()
)
"""Words that follow a name but not an ordinary word, besides verbs of speech and words in -ed."""


class _MentionFinder:
    """Finds the mentions of one passage."""

    def __init__(self, passage: Passage, names: KnownNames) -> None:
        self.passage = passage
        self.words, self.text = passage.words, passage.text
        self.names = names
        self._piece_index = 0
        """Index of the first quotation that does not end before the current word."""
        self.speech = speech_of(passage.language)

    def mentions(self) -> Iterator[Mention]:
        """Yields the mentions of the passage in order."""
        index = 0
        while index < len(self.words):
            is_quoted = self._is_quoted(self.words[index].start)
            mention = self._match_name(index, is_quoted=is_quoted)
            if mention is None and not is_quoted:
                mention = (
                    self._match_noun(index) or self._match_pronoun(index)
                    if self.passage.is_english
                    else self._match_foreign_noun(index) or self._match_foreign_pronoun(index)
                )
            if mention is not None:
                yield mention
            index = mention.last if mention is not None else index + 1

    def _mention(
        self,
        kind: str,
        words: range,
        *,
        is_quoted: bool = False,
        characters: tuple[int, ...] = (),
        pronoun: str | None = None,
        is_possessive: bool = False,
        is_another: bool = False,
    ) -> Mention:
        """Makes a mention of these words, given by their indices."""
        return Mention(
            kind,
            start=self.words[words[0]].start,
            stop=self.words[words[-1]].stop,
            first=words.start,
            last=words.stop,
            is_quoted=is_quoted,
            characters=characters,
            pronoun=pronoun,
            is_possessive=is_possessive,
            is_another=is_another,
            noun=self.words[words[-1]].norm if kind == "noun" else "",
        )

    def _is_quoted(self, start: int) -> bool:
        """Returns whether an offset lies in a quotation; offsets must rise from call to call."""
        pieces = self.passage.pieces
        while self._piece_index < len(pieces) and pieces[self._piece_index].stop <= start:
            self._piece_index += 1
        return self._piece_index < len(pieces) and pieces[self._piece_index].start <= start

    def _match_name(self, index: int, *, is_quoted: bool = False) -> Mention | None:
        """Matches a name of the cast at a word."""
        name_match = self.names.match_at(self.words, index, self.text)
        if name_match is None:
            return self._match_inflected_name(index, is_quoted=is_quoted)
        word_count, entry = name_match
        first_word, last_word = self.words[index], self.words[index + word_count - 1]
        if (
            word_count == 1
            and first_word.norm in _AMBIGUOUS_NAMES
            and self._is_ordinary_word(index)
        ):
            return None
        if self._is_place(index + word_count):
            return None
        # "the painter" may be anybody who paints: the cast's own is the likeliest
        is_loose = (
            (entry.is_common or entry.is_noun)
            and last_word.norm in PERSONS
            and not last_word.is_capitalised
        )
        return self._mention(
            "noun" if is_loose else "name",
            range(index, index + word_count),
            is_quoted=is_quoted,
            characters=entry.characters,
            pronoun=(PERSONS[last_word.norm] or None) if is_loose else None,
            is_possessive=last_word.is_possessive,
        )

    def _is_place(self, next_index: int) -> bool:
        """Returns whether the word after a name makes it a place's: Baker Street."""
        if next_index >= len(self.words):
            return False
        last_word, next_word = self.words[next_index - 1 : next_index + 1]
        return (
            next_word.norm in PLACE_WORDS
            and next_word.is_capitalised
            and not last_word.is_possessive
            and self.text[last_word.stop : next_word.start] == " "
        )

    def _match_inflected_name(self, index: int, *, is_quoted: bool) -> Mention | None:
        """Matches a name in a case of an object, which like a possessive is not a subject."""
        entry = self.names.match_inflected(self.words, index)
        if entry is None:
            return None
        return self._mention(
            "name",
            range(index, index + 1),
            is_quoted=is_quoted,
            characters=entry.characters,
            is_possessive=True,
        )

    def _match_foreign_noun(self, index: int) -> Mention | None:
        """Matches a noun for a person with its article, and up to two words between; in languages
        without articles, the noun alone."""
        speech, words = self.speech, self.words
        first, article_pronoun = index, None
        if words[index].norm in speech.articles:
            article_pronoun = speech.articles[words[index].norm]
            first += 1
        elif "bare-noun" not in speech.traits:
            return None
        for word_index in range(first, min(first + (3 if first > index else 1), len(words))):
            word = words[word_index]
            text_before = self.text[words[word_index - 1].stop : word.start]
            if word_index > index and text_before.strip(" '’"):
                return None
            if name_mention := self._match_name(word_index):  # the brave Ada
                return replace(name_mention, start=words[index].start, first=index)
            if word.norm in speech.nouns:
                stop_index = word_index + 1
                is_joined = (
                    stop_index < len(words)
                    and self.text[word.stop : words[stop_index].start] == " "
                )
                if is_joined and (name_mention := self._match_name(stop_index)):
                    return replace(name_mention, start=words[index].start, first=index)
                pronoun = speech.nouns[word.norm] or article_pronoun
                return self._mention("noun", range(index, stop_index), pronoun=pronoun)
        return None

    def _match_foreign_pronoun(self, index: int) -> Mention | None:
        """Matches a pronoun that can be a subject, or the narrator's I."""
        pronoun = self.speech.pronouns.get(self.words[index].norm)
        if pronoun is None or self.speech.is_unspaced:
            return None
        if pronoun == "I":
            return self._mention("self", range(index, index + 1), pronoun="i")
        return self._mention("pronoun", range(index, index + 1), pronoun=pronoun)

    def _is_ordinary_word(self, index: int) -> bool:
        """Returns whether a possible name is an ordinary word that begins a sentence: no comma or
        action follows."""
        word = self.words[index]
        text_before = self.text[self.words[index - 1].stop if index else 0 : word.start].strip()
        if word.is_possessive or (
            index and (not text_before or text_before[-1] not in ".!?\"“”‘’'—:;")
        ):
            return False
        next_norm = self.passage.norm(index + 1)
        if next_norm in SAID or next_norm in ACTION_WORDS or next_norm.endswith("ed"):
            return False
        return self.text[word.stop : word.stop + 1] not in tuple(",.!?;:")

    def _match_noun(self, index: int) -> Mention | None:
        """Matches "the poor old man", a noun within five words of its article."""
        article = self.words[index]
        if article.norm not in _DETERMINERS:
            return None
        end_index = None
        for word_index in range(index + 1, min(index + 6, len(self.words))):
            word = self.words[word_index]
            if self.text[self.words[word_index - 1].stop : word.start].strip(" -"):
                break
            if word.norm in PERSONS:
                end_index = word_index + 1
                if word.norm not in _AGES:
                    break
            elif word.norm in SAID and word_index > index + 1:
                break
        if end_index is None:
            return None
        name_mention = self._match_name(end_index - 1)
        if name_mention is not None and name_mention.kind == "name":  # "the old Captain"
            return replace(name_mention, start=article.start, first=index)
        head = self.words[end_index - 1]
        if end_index < len(self.words) and not head.is_possessive:
            name_mention = self._match_name(end_index)
            is_joined = self.text[head.stop : self.words[end_index].start] == " "
            if name_mention is not None and name_mention.kind == "name" and is_joined:
                return replace(name_mention, start=article.start, first=index)  # the poet Ada
        return self._mention(
            "noun",
            range(index, end_index),
            pronoun=PERSONS[head.norm] or None,
            is_possessive=head.is_possessive,
            is_another=article.norm in _POSSESSIVE or head.norm in _OTHER_PERSON_WORDS,
        )

    def _match_pronoun(self, index: int) -> Mention | None:
        """Matches a pronoun, or the narrator's I, at a word."""
        word = self.words[index]
        if word.norm in PRONOUNS:
            is_possessive = word.norm in _POSSESSIVE and not (
                word.norm == "her" and self._ends_clause(index)
            )
            pronoun, kind = PRONOUNS[word.norm], "pronoun"
        elif word.norm in _NARRATOR_PRONOUNS and (word.norm != "i" or word.is_capitalised):
            is_possessive, pronoun, kind = word.norm == "my", "i", "self"
        else:
            return None
        return self._mention(
            kind, range(index, index + 1), pronoun=pronoun, is_possessive=is_possessive
        )

    def _ends_clause(self, index: int) -> bool:
        """Returns whether a clause ends with this word, so that "her" is not a possessive."""
        if index + 1 >= len(self.words):
            return True
        return bool(self.text[self.words[index].stop : self.words[index + 1].start].strip())


def is_title(word: str) -> bool:
    """Returns whether a word is a title, whose full stop may not end a sentence."""
    return word.casefold() in TITLES
