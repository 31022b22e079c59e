"""English words for attribution, from `words.txt`, which says what each list is."""

from __future__ import annotations

from pathlib import Path

from narrator.text.speech_words import COMMON_ENGLISH_VERBS, speech_of
from textbase.languages import primary
from textbase.word_lists import read_word_lists

_LISTS = read_word_lists(Path(__file__).with_suffix(".txt"))


def _pronouns(section: str) -> dict[str, str]:
    """Returns the pronoun of each word of a section, "" if it is not clear."""
    words = _LISTS.meanings(section).items()
    return {word: "" if pronoun == "any" else pronoun for word, pronoun in words}


PRONOUNS = _pronouns("pronouns")
SUBJECTS = frozenset(_LISTS.words("subjects"))
SAID = COMMON_ENGLISH_VERBS.union(_LISTS.words("said"))
SURE_SAID = frozenset(_LISTS.words("sure said"))
TITLES = _pronouns("titles")
SHORT = _LISTS.table("short")
ARTICLES = frozenset(_LISTS.words("articles"))
PERSONS = _pronouns("persons")
ADDRESSED = _pronouns("addressed")
SAYING = frozenset(_LISTS.words("saying"))
HE_NAMES = frozenset(_LISTS.words("he names"))
SHE_NAMES = frozenset(_LISTS.words("she names"))
NOT_NAMES = frozenset(_LISTS.words("not names"))
PLACE_WORDS = frozenset(_LISTS.words("places"))
RECORDS = frozenset(_LISTS.words("records"))
LETTERS = frozenset(_LISTS.words("letters"))
TALES = frozenset(_LISTS.words("tales"))
TOLD = frozenset(_LISTS.words("told"))
_DESCRIPTIONS = frozenset(_LISTS.words("descriptions"))
NICKNAMES = _LISTS.meanings("nicknames")


def describes_anybody(noun: str, language: str) -> bool:
    """Returns whether a noun of a language may mean any person of the cast, unlike one that says
    what only some are (“the lamplighter”): any noun, in languages whose lists are too short."""
    if primary(language) == "en":
        return noun in _DESCRIPTIONS
    if primary(language) != "de":
        return True
    speech = speech_of(language)
    return noun in speech.address or noun in speech.generic_nouns or not noun
