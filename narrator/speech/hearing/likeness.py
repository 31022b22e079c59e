"""Measures how different two spoken words are, and which count as the same.

Spelling (colour, color), contractions (it's, it is; gonna), titles (Mrs, missis), words that sound
alike (their, there), and names by sound: "Ukridge" may be heard as "Oak Ridge". All of this is for
English; words of other languages are compared by their letters.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from narrator.text.alignment import similarity
from narrator.text.words import is_split_by_characters, words
from textbase.languages import primary
from textbase.word_lists import read_word_lists

SOUND_ALIKE_COST, SHORT_SOUND_ALIKE_COST = 0.15, 0.4
"""The most that a word costs that sounds alike, with three consonants or more, and with two:
"Beale" may be heard as "Bill"."""
_ENDING_S_COST = 0.3
"""Cost of a missing or added ending 's: it may be no more than a long s."""


@dataclass(frozen=True, slots=True)
class ComparedUnit:
    """A spoken word, a part of one, or a character."""

    form: str
    """The form for comparison."""
    first: int
    last: int
    """`text[first:last]`."""
    word: int
    """Index of its word in `text.words`."""


def split_units(text: str, language: str) -> list[ComparedUnit]:
    """Splits a text into units for comparison, without case, marks and accents."""
    spans = words(text, language)
    if is_split_by_characters(language):
        return [
            ComparedUnit(_fold(_strip_marks(text[a:b])), a, b, n) for n, (a, b) in enumerate(spans)
        ]
    is_english = _is_english(language)
    compared_units: list[ComparedUnit] = []
    word = 0
    for piece in _WORD_PIECE.finditer(text.translate(_LETTER_TABLE)):
        first, last = piece.span()
        while word + 1 < len(spans) and first >= spans[word][1]:
            word += 1
        forms = (
            _english_forms(_fold(piece[0]))
            if is_english
            else (_fold(piece[0], drop_apostrophes=True),)
        )
        compared_units += (ComparedUnit(form, first, last, word) for form in forms if form)
    return compared_units


def unit_cost(a: str, b: str, language: str) -> float:
    """Returns the cost of hearing one unit as another: 0 for equal ones, 1 for different ones, less
    for words that sound alike or share letters."""
    if a == b:
        return 0.0
    if is_split_by_characters(language):
        return 1.0
    return _word_cost(a, b, _is_english(language))


def joined_cost(a: str, b: str, language: str) -> float:
    """Returns the cost of hearing words, written together, as others: "some one" as "someone"."""
    if a == b:
        return 0.0
    if not _is_english(language):
        return 1.0
    if _CONTRACTED.get(a) == b or _CONTRACTED.get(b) == a:
        return 0.0
    sound = sound_key(a)
    return SOUND_ALIKE_COST if len(sound) > 2 and sound == sound_key(b) else 1.0


def unmatched_cost(form: str, language: str) -> float:
    """Returns the cost of a missing or added unit."""
    return _ENDING_S_COST if form == "s" and not is_split_by_characters(language) else 1.0


@functools.cache
def _is_english(language: str) -> bool:
    return primary(language) == "en"


@functools.lru_cache(maxsize=4096)
def _word_cost(a: str, b: str, is_english: bool) -> float:
    """Returns the cost of hearing a word as another, by their sound and letters: 0 to 1."""
    max_cost = 1.0
    if is_english:
        if a in _UNSTRESSED.get(b, ()) or b in _UNSTRESSED.get(a, ()):
            return 0.0
        sound = sound_key(a)
        if len(sound) > 1 and sound == sound_key(b):
            max_cost = SOUND_ALIKE_COST if len(sound) > 2 else SHORT_SOUND_ALIKE_COST
    letter_similarity = similarity(a, b)
    return min(max_cost, 1.0 if letter_similarity < 0.5 else 1.0 - letter_similarity)


# -- letters ---------------------------------------------------------------------------------------


class _WordLetters(dict[int, int]):
    """A translation table that keeps characters of words and maps all others to a space."""

    def __missing__(self, code: int) -> int:
        if chr(code) in "'’ʼ":
            mapped_code = ord("'")
        else:
            mapped_code = code if unicodedata.category(chr(code))[0] in "LMN" else ord(" ")
        self[code] = mapped_code
        return mapped_code


_LETTER_TABLE = _WordLetters()
_WORD_PIECE = re.compile(r"[^\s'](?:\S*[^\s'])?")


def _strip_marks(text: str) -> str:
    return text.translate(_LETTER_TABLE).replace(" ", "").replace("'", "")


@functools.lru_cache(maxsize=16384)
def _fold(piece: str, *, drop_apostrophes: bool = False) -> str:
    """Removes case and accents, and apostrophes if asked."""
    plain = unicodedata.normalize("NFKD", piece.casefold()).replace("ß", "ss")
    without_accents = "".join(c for c in plain if not "\u0300" <= c <= "\u036f")
    return unicodedata.normalize(
        "NFC", without_accents.replace("'", "") if drop_apostrophes else without_accents
    )


# -- English ---------------------------------------------------------------------------------------

_WORDS = read_word_lists(Path(__file__).with_name("likeness_words.txt"))
_EXPANSIONS = {word: expansion.split() for word, expansion in _WORDS.meanings("expansions").items()}
_ENDINGS = _WORDS.table("endings")
_UNSTRESSED = {word: others.split() for word, others in _WORDS.table("unstressed").items()}
_CONTRACTED = _WORDS.table("joined")
_HOMOPHONES = _WORDS.meanings("homophones")
_ENDING = re.compile(r"(.+?)(n't|'(?:ll|ve|re|m|s|d))")
_UNMARKED = re.compile(
    r"(do|does|did|is|was|are|were|have|has|had|could|would|should|must|might|need)nt"
)
_SPELLING_RULES = tuple(
    (re.compile(pattern), to)
    for pattern, to in (
        (r"(?<=[a-z]{2})our(?=$|s$|ed$|ing$|er|able|ite|ful|less|hood|ly)", "or"),
        (r"(?<=[a-z]{3})is(?=e$|es$|ed$|ing$|er$|ers$|ation)", "iz"),
        (r"(?<=[a-z]{2})ys(?=e$|es$|ed$|ing$)", "yz"),
        (r"(?<=[a-z][bcdt])re(?=$|s$)", "er"),
        (r"(?<=[a-z]{2}[aeiou])ll(?=ed$|ing$|er$|ers$|or$)", "l"),
        (r"(?<=[a-z]{3})ence(?=$|s$)", "ense"),
        (r"(?<=[a-z]{2})ogue(?=$|s$)", "og"),
        (r"ae|oe(?=[dlms])", "e"),
        (r"(?<=[a-z]{3})ing$", "in"),
        (r"(?<=[a-z]{3})ement$", "ment"),
        (r"xion$", "ction"),
    )
)


@functools.lru_cache(maxsize=16384)
def _english_forms(word: str) -> tuple[str, ...]:
    """Returns the words that a word stands for, in one spelling."""
    if word in _EXPANSIONS:
        return tuple(form for expansion in _EXPANSIONS[word] for form in _english_forms(expansion))
    if ending := _ENDING.fullmatch(word):
        return (*_english_forms(ending[1]), _ENDINGS[ending[2]])
    if unmarked := _UNMARKED.fullmatch(word):
        return unmarked[1], "not"
    plain = word.replace("'", "")
    if plain in _HOMOPHONES:
        return (_HOMOPHONES[plain],)
    for pattern, to in _SPELLING_RULES:
        plain = pattern.sub(to, plain)
    return (plain,)


_SOUND_RULES = tuple(
    (re.compile(pattern), to)
    for pattern, to in (
        (r"^(kn|gn|pn)", "n"),
        (r"^wr", "r"),
        (r"^ps", "s"),
        (r"^x", "s"),
        (r"tch|(?<=[st])ch|ch", "j"),
        (r"sch", "sk"),
        (r"dge?(?=[^aeou]|$)|g(?=[eiy])", "j"),
        (r"t(?=ion|ure|ial)|s(?=ion|ure|ial)|sh|c(?=ia|ea[nu])", "j"),
        (r"ph", "f"),
        (r"gh(?=[aeiou])", "g"),
        (r"(?<=[aeiou])gh", ""),
        (r"c(?=[eiy])|z", "s"),
        (r"ck|[cqg]", "k"),
        (r"x", "ks"),
        (r"v", "f"),
        (r"b", "p"),
        (r"d|th", "t"),
        (r"h", ""),
        (r"^[aeiou]+", "a"),
        (r"(?<=.)[aeiouwy]+", ""),
        (r"(.)\1+", r"\1"),
    )
)


@functools.lru_cache(maxsize=16384)
def sound_key(word: str) -> str:
    """Returns a key shared by English words that sound alike.

    It holds the consonants, voiced or not, and whether the word begins with a vowel.
    """
    for pattern, to in _SOUND_RULES:
        word = pattern.sub(to, word)
    return word
