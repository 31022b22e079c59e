"""Words by which languages tell who speaks: verbs of speech, pronouns, titles, given names.

`speech_words.txt` has the words, a section for each language. Knows no texts.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from textbase.languages import primary
from textbase.word_lists import read_word_lists


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a tag: `text[start:stop]`, empty after a verb whose form alone tells it."""

    start: int
    stop: int
    is_pronoun: bool
    """True if it has no name or noun."""
    pronoun: str | None
    """he, she, they or I, from a pronoun, an article, a form of address or the verb."""


@dataclass(frozen=True, eq=False)
class SpeechWords:
    """Words of a language, folded; `speech_words.txt` says what each group is."""

    code: str
    traits: frozenset[str]
    verbs: frozenset[str]
    pronouns: Mapping[str, str | None]
    articles: Mapping[str, str | None]
    address: Mapping[str, str | None]
    nouns: Mapping[str, str | None]
    generic_nouns: frozenset[str]
    prepositions: frozenset[str]
    openers: frozenset[str]
    first_and_second_person: frozenset[str]
    third_person: frozenset[str]
    aside_openers: frozenset[str]
    tag_continuations: frozenset[str]
    verb_genders: Mapping[str, str | None]
    given_names: Mapping[str, str | None]
    name_genders: Mapping[str, str | None]
    """Pronouns by the ending of given names, in the order of their weight."""
    case_endings: tuple[str, ...]
    """The longest first."""
    not_names: frozenset[str]
    name_particles: frozenset[str]
    """Words within names, before another capitalised one: de, von."""
    subject_particles: frozenset[str]
    honorifics: Mapping[str, str | None]
    adverbs: frozenset[str]
    adjectives: frozenset[str]
    loud: frozenset[str]
    """Beginnings of words for a raised voice."""
    soft: frozenset[str]
    """Beginnings of words for a lowered voice."""

    @property
    def is_known(self) -> bool:
        """True if the language's tags can be read."""
        return bool(self.verbs and self.pronouns)

    @property
    def is_unspaced(self) -> bool:
        """True if no white space parts the language's words."""
        return "unspaced" in self.traits

    @functools.cached_property
    def never_names(self) -> frozenset[str]:
        """Words that are never names, however they are written."""
        return self.function_words | self.not_names

    @functools.cached_property
    def function_words(self) -> frozenset[str]:
        """Verbs of tags, and words of grammar."""
        return frozenset().union(
            self.verbs,
            self.pronouns,
            self.articles,
            self.prepositions,
            self.openers,
            self.first_and_second_person,
            self.third_person,
            self.aside_openers,
            self.tag_continuations,
        )

    def pronoun_of_given_name(self, name: str) -> str | None:
        """Returns the pronoun that a given name implies by itself or by its ending, or None."""
        if name in self.given_names:
            return self.given_names[name]
        endings = (ending for ending in self.name_genders if name.endswith(ending))
        return self.name_genders.get(next(endings, "-"))

    def stem(self, word: str) -> str:
        """Returns a name without its case ending: Анна and Анной have one stem."""
        for ending in self.case_endings:
            if word.endswith(ending) and len(word) - len(ending) >= _MIN_STEM:
                stem = word[: -len(ending)]
                # Stefcia and Stefci
                return stem.removesuffix("i") if "i" in self.case_endings else stem
        return word


_MIN_STEM = 3
"""Minimum number of letters of a stem."""

_LISTS = read_word_lists(Path(__file__).with_suffix(".txt"))
COMMON_ENGLISH_VERBS = frozenset(_LISTS.table("en")["verbs"].split())
"""Verbs of speech in English tags, without rare ones."""


@functools.cache
def speech_of(language: str) -> SpeechWords:
    """Returns the words of a language (a BCP 47 tag); those of an unknown one are empty."""
    code = {"nb": "no", "nn": "no"}.get(primary(language), primary(language))
    table = _LISTS.table(code) if code in _LISTS else {}

    def words(group: str) -> frozenset[str]:
        return frozenset(table.get(group, "").split())

    def pronouns(group: str) -> dict[str, str | None]:
        pairs = (pair.partition("=") for pair in table.get(group, "").split())
        return {word: pronoun or None for word, _, pronoun in pairs}

    stemmed_verbs = {stem + ending for stem in words("stems") for ending in words("endings")}
    return SpeechWords(
        code=code,
        traits=words("traits"),
        verbs=words("verbs") | words("rare verbs") | stemmed_verbs,
        pronouns=pronouns("pronouns"),
        articles=pronouns("articles"),
        address=pronouns("address"),
        nouns=pronouns("nouns"),
        generic_nouns=words("generic"),
        prepositions=words("prepositions"),
        openers=words("openers"),
        first_and_second_person=words("first and second person"),
        third_person=words("third person"),
        aside_openers=words("aside openers"),
        tag_continuations=words("tag goes on"),
        verb_genders=pronouns("verb genders"),
        given_names=dict.fromkeys(words("he names"), "he")
        | dict.fromkeys(words("she names"), "she"),
        name_genders=pronouns("name genders"),
        case_endings=tuple(
            sorted(words("case endings"), key=lambda ending: (-len(ending), ending))
        ),
        not_names=words("not names"),
        name_particles=words("name particles"),
        subject_particles=words("particles"),
        honorifics=pronouns("honorifics"),
        adverbs=words("adverbs"),
        adjectives=words("adjectives"),
        loud=words("loud"),
        soft=words("soft"),
    )
