"""Recognises the language of texts without a language mark: by their letters, then by small words.

Sees the texts of lines only; `script.py` applies the author's language marks first.
"""

from __future__ import annotations

import functools
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from textbase.alphabets import DEFAULT_LANGUAGE, alphabet_of, alphabets_of, is_written_in
from textbase.languages import SMALL_WORDS, primary

MIN_FOREIGN_LETTERS = 6
"""Minimum number of letters for lines in a language of their own. Fewer are a name, a sign or a
cry, and sound better in the language around them; so do longer names, see `_is_name`."""
_MIN_LETTERS = {"CJK": 3, "HIRAGANA": 3, "KATAKANA": 3, "HANGUL": 3}
_KANA = ("HIRAGANA", "KATAKANA")
_EASTERN = frozenset(("CJK", *_KANA))
_ALPHABET_NAMES = {"CJK": "Chinese characters", **dict.fromkeys(_KANA, "Japanese letters")}

_ADDRESS = re.compile(
    r"(?<![A-Za-z0-9_.+-])(?:[a-z][a-z0-9+.-]*://[!-~]+|[@#][A-Za-z0-9_]+|"
    r"(?:[A-Za-z0-9_.+-]+@)?(?:[A-Za-z0-9_-]+\.)+[A-Za-z]{2,}(?:[:/?#][!-~]*)?)",
    re.IGNORECASE,
)
"""Web and mail addresses, file and account names, which are in no language. A match begins only at
the head of a run of such characters, so that a long run takes no time."""
_SENTENCE_END = re.compile(r"[.!?…。！？؟۔։।;][\W_]*$")
_MIN_PHRASE_WORDS = 4
"""Minimum number of words of a text in some language, even if no small word identifies it."""
_MAX_EASTERN_NAME_LENGTH = 4
"""Maximum length of a name in scripts without spaces between words, in characters."""
_CHINESE_PARTICLES = frozenset("的了是我你他她不在吗嗎呢吧这這那们們有就也都很")

_INITIALS = re.compile(r"[IVXLCDM]+|[A-Z]{2,4}")
"""Roman numerals and initialisms, which texts in all alphabets have."""


@dataclass(frozen=True, slots=True)
class ForeignLetters:
    """Letters of a text that its language is not written in."""

    alphabet: str
    """The most frequent foreign alphabet."""
    letters: int
    """Number of letters in that alphabet."""
    is_most: bool
    """True if they are most letters of the text."""
    is_all: bool
    """True if the text has no letter of its own language."""
    word: str
    """First foreign word."""

    def continues(self, previous: ForeignLetters) -> bool:
        """Returns whether this text, too, is mostly foreign, in letters of the same language."""
        is_same_script = (
            self.alphabet == previous.alphabet or {self.alphabet, previous.alphabet} <= _EASTERN
        )
        return self.is_most and previous.is_most and is_same_script


def passage_language(
    texts: Sequence[tuple[str, ForeignLetters]], declared: Sequence[str]
) -> str | None:
    """Returns the language of consecutive texts with foreign letters; None if they are too short
    to be in a language of their own. `declared` are the languages that the book names."""
    mostly_foreign = [letters for _, letters in texts if letters.is_most]
    if not mostly_foreign:
        return None
    kana = next((item.alphabet for item in mostly_foreign if item.alphabet in _KANA), None)
    alphabet = kana or mostly_foreign[0].alphabet
    lines = [_ADDRESS.sub(" ", text) for text, _ in texts]
    if not _has_enough_letters(alphabet, sum(item.letters for item in mostly_foreign)) or _is_name(
        alphabet, lines
    ):
        return None
    return _language_of(alphabet, lines, declared)


def _has_enough_letters(alphabet: str, letter_count: int) -> bool:
    return letter_count >= _MIN_LETTERS.get(alphabet, MIN_FOREIGN_LETTERS)


def _is_name(alphabet: str, lines: Sequence[str]) -> bool:
    """Returns whether lines in an alphabet may be just a name or a title, and are no sentence."""
    text = " ".join(lines)
    words = _words_in_alphabet(alphabet, text)
    is_sentence = any(map(_SENTENCE_END.search, lines))
    if alphabet == "LATIN":
        return _is_latin_name(words, is_sentence)
    if is_sentence:
        return False
    if alphabet in (*_EASTERN, "HANGUL"):
        return sum(map(len, words)) <= _MAX_EASTERN_NAME_LENGTH and _CHINESE_PARTICLES.isdisjoint(
            text
        )
    return len(words) == 1 or all(word[0].isupper() for word in words)


def _is_latin_name(words: Sequence[str], is_sentence: bool) -> bool:
    """Returns whether Latin words are a name, a title or an abbreviation.

    Either all but the small words have capitals, as in `The Catcher in the Rye`, or there are too
    few words for a sentence.
    """
    small_word_count = sum(word.casefold() in _languages_by_word() for word in words)
    other_words = [word for word in words[1:] if word.casefold() not in _languages_by_word()]
    if not any(word[0].islower() for word in other_words):
        return bool(other_words) or small_word_count < 2 or not is_sentence
    return len(words) < (3 if is_sentence or small_word_count > 1 else _MIN_PHRASE_WORDS)


def _words_in_alphabet(alphabet: str, text: str) -> list[str]:
    """Returns the words of a text in an alphabet, without `XVIII`, `BBC`, `J.` and other signs."""
    words = [word for word in re.findall(r"[^\W\d_]+", text) if alphabet_of(word[0]) == alphabet]
    if alphabet != "LATIN":
        return words
    return [w for w in words if w == "I" or (len(w) > 1 and not _is_sign(w, alphabet))]


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Evidence that a text is not in the language that a mark sets."""

    apparent_name: str
    """Name of the apparent language or alphabet, for messages."""
    language: str
    """Language that the text is spoken in nevertheless."""


def contradiction(
    text: str, marked_language: str, surrounding_language: str
) -> Contradiction | None:
    """Returns the evidence of a text's letters or small words against its marked language, or None.

    The text is spoken in the surrounding language if it has no letters of the marked one.
    """
    foreign = find_foreign_letters(text, marked_language)
    if foreign and foreign.is_most and _has_enough_letters(foreign.alphabet, foreign.letters):
        if not is_written_in(surrounding_language, foreign.alphabet):
            return Contradiction(alphabet_name(foreign.alphabet), marked_language)
        return Contradiction(
            f"“{surrounding_language}”", surrounding_language if foreign.is_all else marked_language
        )
    return (
        Contradiction(f"“{surrounding_language}”", marked_language)
        if _is_plainly(text, surrounding_language, marked_language)
        else None
    )


def _is_plainly(text: str, language: str, other_language: str) -> bool:
    """Returns whether a text's small words indicate one language, and hardly the other."""
    code, other_code = primary(language), primary(other_language)
    if code == other_code:
        return False
    scores = _score_languages(
        text, {code, other_code} if other_code in SMALL_WORDS else {*COMMON_LANGUAGES, code}
    )
    code_score = scores.pop(code, 0.0)
    return code_score >= MIN_SCORE and all(3 * score < code_score for score in scores.values())


def alphabet_name(alphabet: str) -> str:
    """Returns the name of an alphabet's letters, for messages."""
    return _ALPHABET_NAMES.get(alphabet) or f"{alphabet.capitalize()} letters"


def find_foreign_letters(text: str, language: str) -> ForeignLetters | None:
    """Returns the letters of a text that its language is not written in; None if it has none, or
    if the language is unknown."""
    expected = alphabets_of(language)
    if expected is None or (text.isascii() and "LATIN" in expected):
        return None
    text = _ADDRESS.sub(" ", text)
    alphabets = {
        character: alphabet_of(character) for character in set(text) if character.isalpha()
    }
    foreign_alphabets = {
        character: name for character, name in alphabets.items() if name and name not in expected
    }
    if not foreign_alphabets:
        return None
    foreign_counts, first_words = _count_foreign_letters(text, foreign_alphabets)
    if not foreign_counts:
        return None
    own_count = sum(
        text.count(character) for character, alphabet in alphabets.items() if alphabet in expected
    )
    own_count = _count_han_as_kana(text, foreign_counts, own_count)
    alphabet, letter_count = foreign_counts.most_common(1)[0]
    word = first_words.get(alphabet) or next(iter(first_words.values()))
    return ForeignLetters(
        alphabet, letter_count, foreign_counts.total() > own_count, own_count == 0, word
    )


def _count_foreign_letters(
    text: str, foreign_alphabets: Mapping[str, str]
) -> tuple[Counter[str], dict[str, str]]:
    """Counts the letters in each foreign alphabet, and finds the first word in it."""
    letter_counts: Counter[str] = Counter()
    first_words: dict[str, str] = {}
    for word in text.split():
        for alphabet, count in Counter(
            foreign_alphabets[character] for character in word if character in foreign_alphabets
        ).items():
            if count > 1 and not _is_sign(word, alphabet):  # one is a symbol
                letter_counts[alphabet] += count
                first_words.setdefault(alphabet, word)
    return letter_counts, first_words


def _is_sign(word: str, alphabet: str) -> bool:
    return alphabet == "LATIN" and bool(_INITIALS.fullmatch("".join(filter(str.isalpha, word))))


def _count_han_as_kana(text: str, foreign_counts: Counter[str], own_count: int) -> int:
    """Counts Chinese characters next to kana as kana in `foreign_counts`: Japanese has both.

    Returns the text's own letters without them.
    """
    kana_count = sum(foreign_counts[alphabet] for alphabet in _KANA)
    cjk_count = sum(alphabet_of(character) == "CJK" for character in text)
    if kana_count and 4 * kana_count >= cjk_count:
        if not foreign_counts["CJK"]:
            own_count -= cjk_count
        foreign_counts["HIRAGANA"] = kana_count + cjk_count
        del foreign_counts["CJK"], foreign_counts["KATAKANA"]
    return max(0, own_count)


def _language_of(alphabet: str, texts: Iterable[str], declared: Sequence[str]) -> str:
    """Returns the language of texts in one alphabet, from those that the book declares.

    Small words decide between several languages in Latin letters; without any, the alphabet's
    default.
    """
    likely = [
        tag if alphabet in (alphabets_of(tag) or ()) else primary(tag)
        for tag in declared
        if is_written_in(tag, alphabet) and not _borrows(tag, alphabet)
    ]
    candidates = {primary(tag): tag for tag in reversed(likely)}
    if alphabet == "LATIN" and len(candidates) != 1:
        language = recognise_language(" ".join(texts), candidates or COMMON_LANGUAGES)
        if language is not None:
            return candidates.get(language, language)
    return likely[0] if likely else DEFAULT_LANGUAGE[alphabet]


def _borrows(tag: str, alphabet: str) -> bool:
    """Returns whether a language only borrows an alphabet: no Korean text is in Chinese characters
    alone."""
    return alphabet == "CJK" and primary(tag) == "ko"


MIN_SCORE = 2.0
"""Minimum score of small words of another language that contradicts a mark; a single word may be
part of a name."""

COMMON_LANGUAGES = frozenset("da de en es fi fr id it nl no pl pt sv sw tl tr vi".split())
"""Languages in Latin letters to choose from if the book declares none; others are rare in books,
and few voices speak them."""


@functools.cache
def _languages_by_word() -> Mapping[str, Sequence[str]]:
    """Returns a map of small words to the languages that have them."""
    languages_by_word: dict[str, list[str]] = defaultdict(list)
    for language, words in SMALL_WORDS.items():
        for word in words:
            languages_by_word[word].append(language)
    return languages_by_word


def recognise_language(text: str, candidates: Collection[str]) -> str | None:
    """Returns the language in Latin letters that a text's small words indicate; None in doubt."""
    scores = _score_languages(text, candidates)
    ranking = sorted(scores, key=scores.__getitem__, reverse=True)[:2]
    if not ranking or scores[ranking[0]] < 1:
        return None
    if len(ranking) > 1 and scores[ranking[1]] > 0.7 * scores[ranking[0]]:
        return None
    return ranking[0]


def _score_languages(text: str, candidates: Collection[str]) -> dict[str, float]:
    """Scores languages by a text's small words; each word counts one, shared by the languages that
    have it."""
    scores: dict[str, float] = defaultdict(float)
    for word in re.findall(r"[^\W\d_]{2,}", text.casefold()):
        languages = [code for code in _languages_by_word().get(word, ()) if code in candidates]
        for language in languages:
            scores[language] += 1 / len(languages)
    return scores
