"""Reads how chapters and parts are numbered and named, in the languages of the model.

`CHAPTER XI.`, `The First Act`, `Глава двадцать первая`, `Erstes Kapitel`, `第十二回`:
a word such as "chapter", and its number. The only module that knows these words; knows no
format and no blocks.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from textbase.word_lists import read_word_lists

ROMAN = r"(?:(?=[ivxlc])c{0,3}(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3}))"
"""Pattern of Roman numbers below 400 in lower case; larger ones are also words ("mix", "dim")."""

_LISTS = read_word_lists(Path(__file__).with_suffix(".txt"))
ALONE = "|".join(_LISTS.table("alone", joint="|").values())
"""Headings that need no number, such as a prologue's."""

_EAST_NUMBERING = re.compile(
    r"(?P<number>第\s?(?P<figure>[\d〇零○一二三四五六七八九十百千廿卅两兩]+)\s?"
    r"(?P<word>[章回部卷巻集節节話话幕場场篇編编冊册])|"
    r"제\s?(?P<korean>\d+|[일이삼사오육칠팔구십백]+)\s?(?P<counted>[장부막화회권편])|"
    r"(?P<scroll>卷之?)(?P<scrolled>[\d一二三四五六七八九十百]+)|"
    r"[上中下][卷部篇集](?!\w))"
)
_EAST_BARE_NUMBER = re.compile(
    r"[（(【]?(?P<number>[一二三四五六七八九十百]{1,4})[)）】]?(?:[、．.]\s*(?P<title>\S.*))?"
)
_BARE_NUMBER = re.compile(
    rf"(?P<number>\d{{1,3}}|{ROMAN.upper()}|[A-Z](?=[.:)]|$))(?P<mark>[.:)]?)(?:\s+(?P<title>\S.*))?"
)
_EAST_PARTS = "部卷巻集篇編编冊册부권편막幕"
_EAST_FIGURES = {"〇": 0, "零": 0, "○": 0, "两": 2, "兩": 2, "廿": 20, "卅": 30} | {
    figure: value
    for figures in ("一二三四五六七八九", "일이삼사오육칠팔구")
    for value, figure in enumerate(figures, 1)
}
_EAST_TENS = {"十": 10, "百": 100, "千": 1000, "십": 10, "백": 100}

_ARTICLES = frozenset("the das der die la le les el il lo het de το ο η den det o a as os".split())
_NUMBER_MARKERS = frozenset("the no nr n° nº num numero thu ya ke ki der das die".split())
"""Words that may stand between the counted word and its number."""
_SIGNS = (  # vowels and tones that are not letters: of Hindi, Thai, Lao, Burmese, Khmer
    r"\u0300-\u036f\u0900-\u0903\u093a-\u094f\u0e30-\u0e4e\u0eb0-\u0ecd\u1000-\u109f\u1780-\u17dd"
)
_TOKEN = re.compile(rf"[^\W_]+(?:[{_SIGNS}]*[^\W_]*)*['’ʹ΄´]?")
_TOKEN_SEPARATOR = re.compile(r"[\s.\-–°º]{0,3}")
_GREEK = re.compile(r"(?P<letters>[Α-ΩΣ]{1,3}|[α-ω]{1,3})['’ʹ΄´]")
_GREEK_VALUES = dict(zip("αβγδεϛζηθικλμνξοπϟρστυφχψω", (
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 200, 300, 400, 500, 600,
    700, 800), strict=True))  # fmt: skip
_ORDINAL_FIGURE = re.compile(
    r"(\d{1,3})(?:st|nd|rd|th|er|re|e|ème|eme|º|ª|o|a|-?я|-?й)?", re.IGNORECASE
)
_MARK_AFTER_NUMBER = re.compile(r"\s*[.:)\]—–-]+")
_MAX_TOKENS = 8


@dataclass(frozen=True, slots=True)
class Numbering:
    """A line that numbers a chapter or a part, in its components."""

    number: str
    """The word and its number, as written."""
    word: str
    """The counted word, folded; "" for a bare number."""
    is_part: bool
    """True if the word names something that holds chapters: a part, a book, an act."""
    value: int | None
    """None if the number is an unknown word or a letter."""
    mark: str
    title: str
    """Text after the number; "" if nothing follows."""


@lru_cache(maxsize=4096)
def parse_numbering(row: str) -> Numbering | None:
    """Returns the numbering of a line that begins with a counted word; None for any other line."""
    row = row.strip()
    if east_match := _EAST_NUMBERING.match(row):
        word = east_match["word"] or east_match["counted"] or "卷"
        figure = east_match["figure"] or east_match["korean"] or east_match["scrolled"]
        number = _east_number_value(figure) if figure else None
        return _make_numbering(row, east_match.end(), word, word in _EAST_PARTS, number)
    tokens = list(_first_tokens(row))
    folded_words = [fold(token.text) for token in tokens]
    if not folded_words:
        return None
    word_index = 1 if len(folded_words) > 1 and folded_words[0] in _ARTICLES else 0
    word = folded_words[word_index]
    if word in _COUNTED_WORDS:
        return _number_after_word(row, tokens, folded_words, word_index)
    return _number_before_word(row, tokens, folded_words, word_index)


def bare_value(number: str) -> int | None:
    """Returns the value of a bare figure or Roman number."""
    if number.isdecimal():
        return int(number)
    return roman(number.lower()) if re.fullmatch(ROMAN, number.lower()) else None


def parse_bare_number(row: str) -> Numbering | None:
    """Returns the numbering of a line that begins with a number alone: `IV. The Gate`, `一、海`,
    `Twenty-One`."""
    if match := _BARE_NUMBER.fullmatch(row):
        number = match["number"]
        title = match["title"] or ""
        return Numbering(number, "", False, bare_value(number), match["mark"], title)
    if (match := _EAST_BARE_NUMBER.fullmatch(row)) and len(match["title"] or "") < 40:
        return Numbering(row, "", False, _east_number_value(match["number"]), "", "")
    value = value_in_words(row) if len(row) <= 20 and not row.endswith(("!", "?")) else None
    return Numbering(row, "", False, value, "", "") if value else None


def value_in_words(row: str) -> int | None:
    """Returns the value of a line that is only a number in words: `ONE`, `Twenty-Two`."""
    words = re.findall(r"[^\W\d_]+", row)
    if not 1 <= len(words) <= 3 or not row[:1].isupper():
        return None
    number, word_count = _number_in_words(list(map(fold, words)), _BARE_NUMBER_LANGUAGES)
    return number if word_count == len(words) else None


def roman(number: str) -> int:
    """Returns the value of a Roman number in lower case."""
    total = largest_value = 0
    for letter in reversed(number):
        letter_value = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}[letter]
        total += letter_value if letter_value >= largest_value else -letter_value
        largest_value = max(largest_value, letter_value)
    return total


def fold(word: str) -> str:
    """Returns a word without case and accents, as in these tables."""
    decomposed = unicodedata.normalize("NFD", word.casefold())
    without_accents = "".join(c for c in decomposed if not "\u0300" <= c <= "\u036f")
    return unicodedata.normalize("NFC", without_accents.translate(_LETTER_FOLDS))


_LETTER_FOLDS = str.maketrans(
    {"ı": "i", "ł": "l", "ø": "o", "đ": "d", "’": "'", "ʹ": "'", "΄": "'"}
)


def _languages_by_word() -> dict[str, tuple[bool, tuple[str, ...]]]:
    """Returns folded word -> whether it names a part, and the languages that use it."""
    languages_by_word: dict[str, tuple[bool, tuple[str, ...]]] = {}
    for is_part, section in ((False, "chapters"), (True, "parts")):
        for language, words in _LISTS.table(section).items():
            for word in map(fold, words.split()):
                is_part_word, languages = languages_by_word.get(word, (is_part, ()))
                languages_by_word[word] = is_part_word, (*languages, language)
    return languages_by_word


_COUNTED_WORDS = _languages_by_word()


class _Token(NamedTuple):
    """A word of a line, with its range."""

    text: str
    start: int
    end: int


def _first_tokens(row: str) -> Sequence[_Token]:
    """Returns the first words of a line, as long as only spaces, points and hyphens separate
    them."""
    tokens: list[_Token] = []
    for match in _TOKEN.finditer(row):
        token_end = tokens[-1].end if tokens else 0
        if len(tokens) == _MAX_TOKENS or not _TOKEN_SEPARATOR.fullmatch(
            row, token_end, match.start()
        ):
            break
        tokens.append(_Token(match[0], match.start(), match.end()))
    return tokens


def _make_numbering(
    row: str, end: int, word: str, is_part: bool, number: int | None
) -> Numbering | None:
    """Returns the numbering of a row whose number ends at `end`; None if a word runs on there."""
    mark_match = _MARK_AFTER_NUMBER.match(row, end)
    title = row[mark_match.end() if mark_match else end :]
    if title and not (title[0].isspace() or (mark_match and mark_match[0][-1] in "—–-")):
        return None
    mark_text, title = mark_match[0].rstrip() if mark_match else "", title.strip()
    if is_part and (inner_numbering := parse_numbering(title) if title else None):
        is_part = inner_numbering.is_part  # "ACT I. SCENE I." is a scene's
    return Numbering(row[:end], word, is_part, number, mark_text, title)


def _number_after_word(
    row: str, tokens: Sequence[_Token], folded_words: Sequence[str], word_index: int
) -> Numbering | None:
    """Reads a number after the word: `Chapter XI`, `Part the Second`, `Kapitel 1`."""
    word = folded_words[word_index]
    is_part, languages = _COUNTED_WORDS[word]
    number_index = word_index + 1
    while number_index < len(folded_words) - 1 and folded_words[number_index] in _NUMBER_MARKERS:
        number_index += 1
    if number_index >= len(folded_words):
        return None
    number_text, end = tokens[number_index].text, tokens[number_index].end
    if (number := _figure_value(number_text)) is not None:
        return _make_numbering(row, end, word, is_part, number)
    number, word_count = _number_in_words(folded_words[number_index:], languages)
    if word_count:
        return _make_numbering(
            row, tokens[number_index + word_count - 1].end, word, is_part, number
        )
    if len(number_text) == 1 and number_text.isupper():
        return _make_numbering(row, end, word, is_part, None)
    may_be_unknown_number = "en" not in languages and not number_text[0].islower()
    if (
        may_be_unknown_number
        and number_index == word_index + 1
        and re.fullmatch(r"[\s.:—–-]*", row[end:])
    ):
        return _make_numbering(row, end, word, is_part, None)  # a number missing from these tables
    return None


def _number_before_word(
    row: str, tokens: Sequence[_Token], folded_words: Sequence[str], first_index: int
) -> Numbering | None:
    """Reads a number before the word: `The First Act`, `Erstes Kapitel`, `1. Kapitel`, `II.
    fejezet`."""
    possible_indexes = range(first_index + 1, min(first_index + 5, len(folded_words)))
    word_index = next((n for n in possible_indexes if folded_words[n] in _COUNTED_WORDS), None)
    if word_index is None:
        return None
    word = folded_words[word_index]
    is_part, languages = _COUNTED_WORDS[word]
    number_text, end = tokens[first_index].text, tokens[first_index].end
    figure_match = _ORDINAL_FIGURE.fullmatch(number_text)
    number: int | None
    if word_index == first_index + 1 and (figure_match or re.fullmatch(ROMAN.upper(), number_text)):
        # A point or an ending marks an ordinal; `1 part of it` has neither.
        is_ordinal = "." in row[end : tokens[word_index].start] or number_text != (
            figure_match[1] if figure_match else ""
        )
        if not is_ordinal:
            return None
        number = int(figure_match[1]) if figure_match else roman(number_text.lower())
    else:
        number, word_count = _number_in_words(
            folded_words[first_index:word_index], languages, ordinal=True
        )
        if word_count != word_index - first_index:
            return None
    return _make_numbering(row, tokens[word_index].end, word, is_part, number)


def _figure_value(figure: str) -> int | None:
    """Returns the value of a number in digits, Roman or Greek figures, or an ordinal: `12`, `XII`,
    `ιβ΄`, `12th`."""
    if figure.isdecimal():
        return int(figure) if len(figure) <= 4 else None
    if re.fullmatch(ROMAN, figure.lower()) and (figure.isupper() or figure.islower()):
        return roman(figure.lower())
    if greek_match := _GREEK.fullmatch(figure):
        return sum(_GREEK_VALUES.get(letter, 0) for letter in fold(greek_match["letters"]))
    if ordinal_match := _ORDINAL_FIGURE.fullmatch(figure):
        return int(ordinal_match[1])
    return None


def _east_number_value(figures: str) -> int:
    """Returns the value of a number in digits or in Chinese or Korean figures: `二十一`."""
    if figures.isdecimal():
        return int(figures)
    total = units = 0
    for figure in figures:
        if multiplier := _EAST_TENS.get(figure):
            total += (units or 1) * multiplier
            units = 0
        else:
            digit_value = int(figure) if figure.isdecimal() else _EAST_FIGURES[figure]
            units = units * 10 + digit_value
    return total + units


# -- numbers in words ------------------------------------------------------------------------------

_ENDING = re.compile(r"(?:er|es|en|em|[aeiouyаяоеёыийьюуаοςηα])+$")
_BARE_NUMBER_LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "ru")
"""Languages in which a number in words may be a heading by itself."""


@cache
def _number_words(language: str, ordinal: bool) -> dict[str, int | None]:
    """Returns numbers in words, without accents and endings -> their values; `ordinal` numbers
    alone, if the language is English."""
    numbers = read_word_lists(Path(__file__).with_name("numbers.txt"))
    # "One Act" counts acts, it does not name the first
    sections = ("ordinals",) if language == "en" and ordinal else ("cardinals", "ordinals")
    word_lists = [numbers.table(section).get(language, "").split(", ") for section in sections]
    values_by_stem: dict[str, int | None] = {}
    for value, forms in enumerate(zip_longest(*word_lists, fillvalue=""), start=1):
        for words in filter(None, forms):
            values_by_stem.setdefault(_stems(words.split()), value)
    for stem_and_value in _LISTS.table("number stems").get(language, "").split():
        stem, _, number = stem_and_value.partition("=")
        values_by_stem[stem] = None if number == "?" else int(number)
    return values_by_stem


def _stems(words: Sequence[str]) -> str:
    """Returns words without their endings, which agree with gender and case."""
    return " ".join(_ENDING.sub("", word) or word for word in words)


def _number_in_words(
    folded_words: Sequence[str], languages: Sequence[str], ordinal: bool = False
) -> tuple[int | None, int]:
    """Returns the value of the number in words that a text begins with, and its number of words."""
    for word_count in range(min(4, len(folded_words)), 0, -1):
        stems = _stems(folded_words[:word_count])
        for language in languages:
            values_by_stem = _number_words(language, ordinal)
            if stems in values_by_stem:
                return values_by_stem[stems], word_count
    return None, 0
