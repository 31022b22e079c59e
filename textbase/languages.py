"""Language tags (BCP 47): validates them, and guesses which one a text was meant to be.

Knows names of languages as people write them, not the languages of engines.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

from textbase.characters import excerpt
from textbase.errors import nearest
from textbase.word_lists import read_word_lists

TAG = r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*$"

_LISTS = read_word_lists(Path(__file__).with_suffix(".txt"))
_TWO_LETTER_CODES = _LISTS.meanings("three-letter codes")
"""Three-letter codes, each with the two-letter code that tags use instead."""
SMALL_WORDS = {tag: tuple(words.split()) for tag, words in _LISTS.table("small words").items()}
"""The commonest small words of languages in the Latin alphabet."""
MORE_SMALL_WORDS = {
    tag: tuple(words.split()) for tag, words in _LISTS.table("more small words").items()
}
"""Further small words, for short texts; `l'` is the beginning of a word."""
ALPHABETS = {name: tuple(tags.split()) for name, tags in _LISTS.table("alphabets").items()}
"""Scripts, by the word that begins the Unicode names of their letters -> languages written in them,
the one first that is assumed if nothing else indicates one."""


def primary(tag: str) -> str:
    """Returns the language of a tag, without region and script."""
    return re.split("[-_]", tag.lower(), maxsplit=1)[0]


_RIGHT_TO_LEFT = frozenset("ar arc ckb dv fa he iw ks ps sd syr ug ur yi".split())


def is_right_to_left(tag: str) -> bool:
    """Returns whether a language is written from right to left, unless its tag names Latin or
    Cyrillic letters."""
    first, *subtags = re.split("[-_]", tag.lower())
    return first in _RIGHT_TO_LEFT and not {"latn", "cyrl"} & set(subtags)


_SURROUNDING_MARKS = " \"'“”„‘’«».,"


def _normalize_name(name: str) -> str:
    decomposed = unicodedata.normalize("NFKD", name.casefold())
    unaccented = "".join(
        character
        for character in decomposed
        if not unicodedata.combining(character) or character > "\u0600"
    )
    return re.sub(r"[\s_-]+", "-", unaccented.strip(_SURROUNDING_MARKS))


_TAG_BY_NAME = {_normalize_name(name): tag for name, tag in _LISTS.meanings("names").items()}


def tag_of_language(name: str) -> str | None:
    """Returns the tag of the language with this name, or None."""
    return _TAG_BY_NAME.get(_normalize_name(name))


def guess_tag(text: str) -> str | None:
    """Returns the tag that was probably meant by an invalid one; None if it is valid, or no guess
    is possible."""
    if tag := tag_of_language(text):
        return tag
    folded_text = _normalize_name(text)
    plain_text = re.sub(r"[\s_]+", "-", text.strip(_SURROUNDING_MARKS))
    if re.fullmatch(TAG, plain_text):
        code, *subtags = plain_text.split("-")
        language_code = _TAG_BY_NAME.get(code.lower(), code).partition("-")[0]
        full_tag = "-".join([language_code, *map(_with_usual_case, subtags)])
        return None if full_tag.lower() == text.lower() else full_tag
    first_word, _, region = folded_text.partition("-")
    if first_word in _TAG_BY_NAME:  # "English (UK)"
        code, region = _TAG_BY_NAME[first_word].partition("-")[0], region.strip("()")
        region = {"uk": "GB", "usa": "US"}.get(region, region.upper())
        return f"{code}-{region}" if re.fullmatch(r"[A-Z]{2}", region) else code
    nearest_name = nearest(folded_text, list(_TAG_BY_NAME)) if len(folded_text) > 3 else None
    return _TAG_BY_NAME[nearest_name] if nearest_name else None


def mend_tag(text: str) -> str:
    """Returns the valid form of a book's own tag, as far as it can be guessed."""
    try:
        return validate_tag(text)
    except ValueError:
        return guess_tag(text) or text


def _with_usual_case(subtag: str) -> str:
    """Returns a subtag in its usual case: `GB` for regions, `Latn` for scripts."""
    if len(subtag) == 2:
        return subtag.upper()
    return subtag.title() if len(subtag) == 4 else subtag


def validate_tag(text: str) -> str:
    """Returns a valid tag, with a two-letter language code if there is one.

    Raises ValueError with a message for people.
    """
    if re.fullmatch(TAG, text):
        code, separator, suffix = text.partition("-")
        if code.lower() in _TWO_LETTER_CODES:
            return _TWO_LETTER_CODES[code.lower()] + separator + suffix
    intended_tag = guess_tag(text)
    if intended_tag is None and re.fullmatch(TAG, text):
        return text
    hint = f"did you mean '{intended_tag}'?" if intended_tag else "write en, en-GB or de"
    raise ValueError(f"'{excerpt(text)}' is not a language tag; {hint}")
