"""Maps languages to the alphabets that they are written in, and letters to alphabets."""

from __future__ import annotations

import functools
import re
import unicodedata

from textbase.languages import ALPHABETS

_SCRIPT_SUBTAGS = {"latn": "LATIN", "cyrl": "CYRILLIC", "arab": "ARABIC", "deva": "DEVANAGARI"}
"""Script subtag of a language tag (ISO 15924) -> alphabet, for languages with several alphabets."""

DEFAULT_LANGUAGE = {alphabet: languages[0] for alphabet, languages in ALPHABETS.items()}
"""Alphabet -> language that is assumed if nothing else indicates one."""


@functools.cache
def alphabets_of(language: str) -> frozenset[str] | None:
    """Returns the alphabets that a language is written in; None for an unknown language."""
    first, *subtags = re.split("[-_]", language.lower())
    tagged_alphabets = {_SCRIPT_SUBTAGS[part] for part in subtags if part in _SCRIPT_SUBTAGS}
    usual_alphabets = {name for name, languages in ALPHABETS.items() if first in languages}
    return frozenset(tagged_alphabets or usual_alphabets) or None


_TAG = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_KNOWN_LANGUAGES = frozenset(language for languages in ALPHABETS.values() for language in languages)


def is_language(tag: str) -> bool:
    """Returns whether a tag is well-formed BCP 47 of a known language."""
    return bool(_TAG.fullmatch(tag)) and tag.lower().partition("-")[0] in _KNOWN_LANGUAGES


def is_written_in(language: str, alphabet: str) -> bool:
    """Returns whether a language can be written in an alphabet, whatever script its tag names."""
    return language.lower().partition("-")[0] in ALPHABETS.get(alphabet, ())


@functools.lru_cache(maxsize=1 << 14)
def alphabet_of(character: str) -> str:
    """Returns the alphabet of a letter; "" if the table does not have it."""
    name = unicodedata.name(character, "").removeprefix("FULLWIDTH ").removeprefix("HALFWIDTH ")
    script = name.partition(" ")[0]
    return script if script in ALPHABETS else ""
