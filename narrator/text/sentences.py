"""Splits text into sentences by the rules of each language, without losing a character.

pysbd and sentencex judge full stops in the languages they know; own rules refine them, above all in
English.
"""

from __future__ import annotations

import functools
import re
import unicodedata
import warnings
from collections.abc import Iterator, Set
from typing import Any

import sentencex

from narrator.text import language_lists
from textbase.languages import primary

_CLOSING_QUOTES = "\"'”’»›」』“‘«‹"

# Where a sentence may end: at marks with white space after them, at a dash that breaks speech off,
# and at full-width marks. After those, “ ‘ « open the next sentence. A run of marks is looked at
# from its first one alone: from each of them, thousands of dots would take a minute.
_ENDING_PATTERN = (
    r"(?P<mark>(?<![.!?…‽؟۔।॥።፧։။།%s])[.!?…‽؟۔।॥።፧։။།%s]+)"
    r"(?P<closers>[\"'”’»›)\]}」』】〉》“‘«‹\u2060]*(?:[\u00a0\u202f ]»(?!\w))?)(?:\s+|\Z)"
    r"|(?P<broken>(?:[—–]|--)\u2060*[\"'”’»])\s+"
    r"|(?P<wide>[。！？．｡][。！？．｡…!?]*)(?P<wide_closers>[”’」』】〉》）］｝〕〗)\]\u2060]*)\s*"
)
_ENDINGS = re.compile(_ENDING_PATTERN % ("", ""))
_GREEK_ENDINGS = re.compile(_ENDING_PATTERN % (";\u037e", ";\u037e"))
_LETTER = re.compile(r"[^\W\d_]")
_OPENING = re.compile(r"[\s\"'“‘’«‹„‚¿¡(\[—–\-\u2060]*")
_OPENING_QUOTES = re.compile(r"[\"'“‘«‹„‚]")


def sentences(text: str, language: str) -> list[tuple[int, int]]:
    """Returns the spans of the sentences of `text`: in order, without gaps, trailing white space
    included.

    Every span contains a letter if the text has any. `language` is a BCP 47 tag.
    """
    code = primary(language)
    stops = _full_stops(text, code)
    endings = _GREEK_ENDINGS if code in ("el", "grc") else _ENDINGS
    ends = [
        ending.end() for ending in endings.finditer(text) if _ends_sentence(ending, code, stops)
    ]
    spans: list[tuple[int, int]] = []
    start = 0
    letter = _LETTER.search(text)
    for end in (*ends, len(text)):
        if letter and letter.start() < end:
            spans.append((start, end))
            start = end
            letter = _LETTER.search(text, start)
    if start < len(text):
        spans[-1:] = [(spans[-1][0] if spans else 0, len(text))]
    return spans


def _ends_sentence(match: re.Match[str], code: str, stops: Set[int]) -> bool:
    """Returns whether a possible ending ends a sentence."""
    text, end = match.string, match.end()
    opening_match = _OPENING.match(text, end)
    assert opening_match is not None  # it matches the empty string
    next_character = text[opening_match.end() : opening_match.end() + 1]
    if not next_character:
        return True
    if match["wide"]:
        return not (match["wide_closers"] and _WIDE_TAG.match(text, end))
    is_quoted = bool(match["broken"] or set(match["closers"]) & set(_CLOSING_QUOTES))
    opens_quote = bool(_OPENING_QUOTES.search(opening_match[0]))
    if next_character in ".…,;:!?" or (is_lower(next_character) and not opens_quote):
        return False
    mark = match["mark"] or ""
    if code == "en" and _continues_sentence(text, end, mark, is_quoted):
        return False
    return mark != "." or _is_full_stop(text, match.start(), opening_match.end(), code, stops)


def _continues_sentence(text: str, end: int, mark: str, is_quoted: bool) -> bool:
    """Returns whether an English sentence continues with its speech tag, or "I" after a pause."""
    if is_quoted:
        return bool(_TAG.match(text, end))
    return mark.endswith(("…", "..")) and bool(_PRONOUN_I.match(text, end))


def is_lower(character: str) -> bool:
    # Georgian letters count as lower case in Unicode, and have no capitals in running text.
    return character.islower() and not "\u10d0" <= character <= "\u10ff"


_PRONOUN_I = re.compile(r"I(?:['’](?:m|ve|d|ll))?\b(?!\.)")
_TAG = re.compile(
    r"(?:I|[A-Z][\w’'.-]*(?: [A-Z][\w’'-]*)?) (?:said|asked|cried|replied|answered|shouted|"
    r"whispered|murmured|muttered|called|repeated|exclaimed|inquired|enquired|demanded|began|added|"
    r"continued|went on|observed|remarked|agreed|admitted|suggested|returned|gasped|sighed|says)\b"
)
"""`“Really?” I said.` and `“Really?” Mr. Pym asked.`: quotation and speech tag are one sentence."""

_WIDE_TAG = re.compile(r"と|って|\w{0,10}?[说說道问問答喊叫嚷想](?![：:])")
"""“你是谁？”他说。 and 「そうか？」と彼は言った。"""

_ABBREVIATION_NEVER_LAST = re.compile(
    r"(?:Mrs?|Ms|Messrs|Mlle|Mme|Msgr|Dr|Prof|Hon|Revd?|Fr|St|Mt|Capt|Col|Gen|Lt|Lieut|Sgt|Maj|Insp|"
    r"Wm|Geo|Chas|Thos|Jas|Robt|Edw|Chap)|[Vv]ols?|[Ii]\.e|[Ee]\.g|viz|cf|vs"
)
"""English abbreviations that no sentence ends with; pysbd knows some of them."""

_NUMBER = re.compile(r"\d|[IVXLCDM]+\b")
_CENTURY = re.compile(r"[IVX]+ [wв]\.")
_FIGURE_LAST = re.compile(r"\d\s?$")
_MEASURE = re.compile(r"\d\s?(?:[kc]?m|k?g|[cm]?l|ha|h|min)$")
_COUNT = re.compile(r"\d[\d.,]* (?!cent|zent|gram|m[eéè]tr|minut|se[cgk])[^\W\d_]{4}")
"""A count of things, which follows "31 km.", but not the "200 metres" that belong to these."""
_BARE_FIGURE = re.compile(r"\d+(?:[,;)]|\.\Z)")
"""One that counts nothing, as the number of a flat: 21 m. 5."""
_SMALLER_MEASURE = re.compile(r"\d+\s?(?:[cm]m|min|s|g)\b")
"""One that belongs to the measure before: "2 h. 30 min"."""

_NOT_WORD = re.compile(r"[\s\"'“”‘’«»„()\[\]—–]")
_WORD = re.compile(r"\w+")
_INITIAL = re.compile(r"[^\W\d_](?:\.-[^\W\d_])?")

_SENTENCE_STARTER = re.compile(
    r"(?:an?|and|as|at|but|for|he|her|his|how|i|if|in|it|my|no|not|on|or|our|perhaps|she|so|that|"
    r"the|their|then|there|these|they|this|those|was|we|what|when|where|which|who|why|yes|your?)\b",
    re.IGNORECASE,
)
"""English words that are no surname, and so begin a sentence after "plan B.", not a name."""


def _is_full_stop(text: str, stop: int, next_offset: int, code: str, stops: Set[int]) -> bool:
    """Returns whether the full stop at `text[stop]` ends a sentence before the word at
    `next_offset`."""
    word = word_before(text, stop)
    is_initial = bool(_INITIAL.fullmatch(word)) and word.isupper()
    if code != "en":
        name_follows = is_initial and text[next_offset].isupper()
        is_title = word.casefold() in language_lists.never_last(code)
        is_inside = any(
            text.startswith(part, next_offset)
            for part in language_lists.parts_of_abbreviations(code).get(f"{word}.", ())
        )
        does_end = _ends_listed_abbreviation(text, stop, next_offset, code)
        if does_end is not None:
            return does_end
        openings = language_lists.openings(code)
        is_dated = bool(openings) and bool(_DATED.search(text, max(0, stop - 20), stop))
        if is_dated and in_opening_phrase(text[max(0, stop - 200) : stop], openings):
            return False
        if _MEASURE.search(text, max(0, stop - 5), stop) and text[next_offset].isdigit():
            if _SMALLER_MEASURE.match(text, next_offset) or _BARE_FIGURE.match(text, next_offset):
                return False
            if _COUNT.match(text, next_offset):
                return True
        if name_follows or is_title or is_inside:
            return False
        return stop in stops and not _continues_with_number(text, stop, next_offset, code)
    if _MEASURE.search(text, max(0, stop - 5), stop) and _COUNT.match(text, next_offset):
        return True
    if _ABBREVIATION_NEVER_LAST.fullmatch(word) or (
        word.casefold() in language_lists.never_last_before_numbers("en")
        and _NUMBER.match(text, next_offset)
    ):
        return False
    if (is_initial or "." in word) and _SENTENCE_STARTER.match(text, next_offset):
        return True
    if word == "I":
        # "So do I. Perhaps", but "Robert I. Stuart"
        preceding_words = text[max(0, stop - 40) : stop - 1].split()
        return bool(preceding_words) and is_lower(preceding_words[-1][0])
    # pysbd takes "me.", "man.", "is." and other words for abbreviations where "I" follows.
    return stop in stops or bool(_PRONOUN_I.match(text, next_offset))


def in_opening_phrase(text: str, openings: Set[str]) -> bool:
    """Returns whether a text ends in the phrase of time or place that opens its last sentence, as
    "W 1492 r." does; `openings` are the words that such phrases begin with."""
    clause = _CLAUSE_START.split(text[-200:])[-1].lstrip(" \t\"'“„«»([—–-")
    words = _LONG_WORD.findall(clause)
    begins = clause[:1].isdigit() or bool(openings and clause.partition(" ")[0] in openings)
    return begins and len(words) <= _MAX_OPENING_WORDS


_CLAUSE_START = re.compile(
    r"(?<=[^\W\d]{3})\.[\"'”’»)\]]*\s+|\.[\"”»)]+\s+|[!?…:;][\"'”’»)\]]*\s+|\n"
)
_LONG_WORD = re.compile(r"[^\W\d_]{2,}")
_MAX_OPENING_WORDS = 7
_DATED = re.compile(
    r"(?<!\w)(?:\d\d+|[IVXLC]+)\s(?:[^\W\d_]{1,3}(?:\.[ -]?|[ -])){0,4}"
    r"(?![kc]?m$|k?g$|min$)[^\W\d_]{1,3}$"
)
"""A year or century with its abbreviations: 1492 r, 44 av. J.-C."""


def _continues_with_number(text: str, stop: int, next_offset: int, code: str) -> bool:
    """Returns whether the full stop at `text[stop]` is that of "vol. 3", but not of "8 vol. 3"."""
    if not _NUMBER.match(text, next_offset):
        return False
    word = word_before(text, stop)
    if word.casefold() in language_lists.never_last_before_numbers(code) or word.endswith("str"):
        return True  # Kerkstr. 5
    forms = {word, word[:1].lower() + word[1:]}
    if (
        not forms.isdisjoint(language_lists.month_abbreviations(code))
        and text[next_offset].isdigit()
    ):
        return True  # on 5 Oct. 1918
    if word.casefold() in language_lists.days_before_dates(code) and _is_date(
        text, next_offset, code
    ):
        return True
    if word.isdigit():
        return bool(_CENTURY.match(text, next_offset))  # lat 80. XIX w.
    is_listed = not forms.isdisjoint(language_lists.abbreviations_before_numbers(code))
    return is_listed and not _FIGURE_LAST.search(
        text, max(0, stop - len(word) - 2), stop - len(word)
    )


def _ends_listed_abbreviation(text: str, stop: int, next_offset: int, code: str) -> bool | None:
    """Returns whether a sentence ends at the full stop of a figure or a listed abbreviation, in a
    language whose nouns have capitals, and whose grammar lists the words that begin sentences; None
    for other full stops, and if both is possible."""
    starters = language_lists.starters(code)
    if not starters:
        return None
    word = word_before(text, stop)
    text_before = text[max(0, stop - 20) : stop + 1]
    abbreviations = language_lists.abbreviations_by_end(code).get(f"{word}.", ())
    is_abbreviation = any(
        re.search(rf"(?<!\w){re.escape(written)}$", text_before) for written in abbreviations
    )
    if not (is_abbreviation or word[-1:].isdigit() or re.fullmatch("[IVX]{2,}", word)):
        return None
    next_word = _WORD.match(text, next_offset)
    if next_word and next_word[0] in starters:
        return True
    return (
        False
        if is_abbreviation and language_lists.closing(code).isdisjoint(abbreviations)
        else None
    )


def _is_date(text: str, offset: int, code: str) -> bool:
    """Returns whether a day with its month is at an offset, in words or figures."""
    date = _DATE.match(text, offset)
    if date is None:
        return False
    return not date["month"] or date["month"].casefold() in language_lists.months(code)


_DATE = re.compile(r"\d\d?(?:\.|er)?(?:\s(?:de )?(?P<month>[^\W\d_]+)|[./]\d)")


# -- full stops, by the libraries

_MAX_SLICE = 2000
"""Characters of one call: pysbd's time is quadratic in bad cases."""

_STOP_BEFORE_CAPITAL = re.compile(r"\.[\"'”’»›)\]}“‘«‹\u2060]*\s+(?=[^a-z\s])")
_APOSTROPHE = re.compile(r"(?<![^\W_])['’]|['’](?![^\W_])")


class _Mask(dict[int, str]):
    """Maps characters to those that the libraries see: letters, digits, ASCII marks and spaces.

    Quotes and brackets become spaces: pysbd finds no sentences between them, and no abbreviations
    after them. Marks that pysbd uses itself would lose the text around them, and sentencex fails on
    white space that is not ASCII.
    """

    RESERVED = "ȸȹƪᓰᓱᓳᓴᓷᓸ&\\"

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        if character.isspace() or category in {"Ps", "Pe", "Pi", "Pf"} or character in '"<>':
            masked = " "
        elif category == "Nd":
            masked = "7"  # no 1. 2. 3., which pysbd takes for lists
        elif character not in self.RESERVED and (character.isascii() or category[0] in "LMN"):
            masked = character
        else:
            masked = "~"
        self[code] = masked
        return masked


_MASK = _Mask({ord("’"): "'"})


@functools.lru_cache(maxsize=4096)  # a chapter that is edited is cut again
def _full_stops(text: str, code: str) -> frozenset[int]:
    """Returns the offsets of full stops that end a sentence, where white space follows.

    The libraries are slow, so they see only sentences with a stop after an abbreviation, a number
    or an initial.
    """
    abbreviations = _abbreviations(code)
    stops: set[int] = set()
    is_doubtful = False
    start = 0
    for match in _STOP_BEFORE_CAPITAL.finditer(text):
        word = word_before(text, match.start())
        if code == "en" and _ABBREVIATION_NEVER_LAST.fullmatch(word):
            continue
        is_plain = len(word) > 1 and word.isalpha()
        if abbreviations is None or not is_plain or word.casefold() in abbreviations:
            is_doubtful = True
            continue
        if is_doubtful:
            stops.update(_judge_stops(text, start, match.end(), code))
        stops.add(match.start())
        start = match.end()
        is_doubtful = False
    if is_doubtful:
        stops.update(_judge_stops(text, start, len(text), code))
    return frozenset(stops)


def word_before(text: str, stop: int) -> str:
    return _NOT_WORD.split(text[max(0, stop - 40) : stop])[-1]


def _judge_stops(text: str, start: int, stop: int, code: str) -> Iterator[int]:
    """Yields the offsets of the last characters of the sentences in `text[start:stop]`."""
    while start < stop:
        end = _slice_end(text, start, stop)
        masked = _APOSTROPHE.sub(" ", text[start:end]).translate(_MASK).replace("--", "~~")
        yield from (start + offset for offset in _library_ends(masked, code))
        start = end


def _slice_end(text: str, start: int, stop: int) -> int:
    """Returns the end of a slice of at most `_MAX_SLICE` characters.

    It ends at a space inside a sentence, since pysbd decides about the end of a sentence by the
    text on both sides of it.
    """
    end = start + _MAX_SLICE
    if end >= stop:
        return stop
    while (space := text.rfind(" ", start + _MAX_SLICE // 2, end)) > 0:
        if text[space - 1].isalnum() or text[space - 1] in ",;:":
            return space + 1
        end = space
    return start + _MAX_SLICE


def _library_ends(masked: str, code: str) -> Iterator[int]:
    """Yields the offsets of the last characters of sentences, as a library finds them."""
    if (segmenter := _pysbd(code)) is not None:
        # Not `segment`, which looks each sentence up from the start of the text, and drops what it
        # does not find.
        parts = segmenter.processor(masked).process()
    else:
        parts = [match["text"] for match in sentencex.get_sentence_boundaries(code, masked)]
    offsets = [i for i, c in enumerate(masked) if c != " "]
    parts = ["".join(part.split()) for part in parts]
    if "".join(parts) != masked.replace(" ", ""):
        # The library altered the text after all: every full stop after two letters ends one.
        yield from (match.end() - 1 for match in re.finditer(r"\w\w\.", masked))
        return
    character_count = 0
    for part in parts:
        character_count += len(part)
        if part:
            yield offsets[character_count - 1]


@functools.cache
def _pysbd(code: str) -> Any:
    """Returns pysbd's segmenter for a language, or None."""
    with warnings.catch_warnings():
        # Its sources have invalid escapes, which Python 3.12 and later remark on when compiling.
        warnings.simplefilter("ignore")
        import pysbd
        from pysbd.languages import LANGUAGE_CODES
    return pysbd.Segmenter(language=code) if code in LANGUAGE_CODES else None


@functools.cache
def _abbreviations(code: str) -> frozenset[str] | None:
    """Returns the folded words whose full stop the library must judge; None for all words."""
    if (segmenter := _pysbd(code)) is None:
        return None
    entries = segmenter.language_module.Abbreviation.ABBREVIATIONS
    return frozenset(word.casefold() for entry in entries for word in entry.split())
