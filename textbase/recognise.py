"""Recognises the language of a text by its letters and its small words, the same on every machine.

For whole books and long passages, where a hundred words decide; of a single paragraph it is only
told if it is surely in another language. A library would recognise shorter texts, but is a model of
megabytes, or draws random numbers (langdetect). Knows nothing of books.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Mapping

from textbase.alphabets import alphabet_of
from textbase.languages import MORE_SMALL_WORDS, SMALL_WORDS

_SAMPLE_LETTERS = 200_000
"""Maximum number of letters examined; more add no information."""
_MIN_LETTERS = 20
"""Minimum number of letters in a text."""
_MIN_SMALL_WORDS = 12
"""Minimum number of small words in a text in the Latin alphabet."""

_MIN_PARAGRAPH_WORDS = 8
_CLOSE_LANGUAGES = ({"da", "no"}, {"id", "ms"}, {"ca", "es"})
_LOW_GERMAN = frozenset("nich nix un hett heff ick ok".split())
"""Words of a dialect that looks Dutch."""
_NO_LIVING_LANGUAGES = frozenset(("eo", "la"))
_PARAGRAPH_WORD = re.compile(r"[^\W\d_]+(?:'(?=\w))?")

_NON_RUSSIAN_LETTERS = {
    "uk": "іїєґ",
    "be": "ў",
    "bg": "",
    "sr": "ђћџљњј",
    "mk": "ѓќѕ",
    "kk": "әқңұһ",
}
"""Language -> its letters that Russian lacks."""
_LANGUAGE_BY_SCRIPT = {
    "GREEK": "el", "ARABIC": "ar", "HEBREW": "he", "DEVANAGARI": "hi", "THAI": "th", "LAO": "lo",
    "KHMER": "km", "MYANMAR": "my", "HANGUL": "ko", "BENGALI": "bn", "TAMIL": "ta",
    "TELUGU": "te", "GUJARATI": "gu", "KANNADA": "kn", "MALAYALAM": "ml", "SINHALA": "si",
    "GEORGIAN": "ka", "ARMENIAN": "hy", "ETHIOPIC": "am", "TIBETAN": "bo", "MONGOLIAN": "mn",
    "GURMUKHI": "pa", "ORIYA": "or", "BOPOMOFO": "zh",
}  # fmt: skip


def language_of(text: str) -> str | None:
    """Returns the tag of a text's language; None without enough evidence."""
    sample = _sample(text)
    scripts = Counter(filter(None, map(alphabet_of, filter(str.isalpha, sample))))
    letter_count = scripts.total()
    if letter_count < _MIN_LETTERS:
        return None
    kana_count = scripts["HIRAGANA"] + scripts["KATAKANA"]
    east_asian_count = scripts["CJK"] + kana_count + scripts["HANGUL"]
    # one of their letters says what several of an alphabet do
    if 3 * east_asian_count > letter_count:
        if 3 * scripts["HANGUL"] > east_asian_count:
            return "ko"
        return "ja" if 20 * kana_count > east_asian_count else "zh"
    script, count = scripts.most_common(1)[0]
    if 2 * count <= letter_count:
        return None
    match script:
        case "LATIN":
            return _by_small_words(sample)
        case "CYRILLIC":
            return _cyrillic_language(sample)
        case "ARABIC":
            return "fa" if 50 * sum(sample.count(c) for c in "پچژگ") > count else "ar"
    return _LANGUAGE_BY_SCRIPT.get(script)


def _sample(text: str) -> str:
    """Returns a text, or pieces from all over it, since a book may begin with a notice in another
    language."""
    if len(text) <= _SAMPLE_LETTERS:
        return text
    step, size = len(text) // 10, _SAMPLE_LETTERS // 10
    return " ".join(text[offset : offset + size] for offset in range(0, 10 * step, step))


def _cyrillic_language(text: str) -> str:
    """Returns the language of a Cyrillic text, by its letters."""
    text = text.casefold()
    letter_count = sum(map(str.isalpha, text))
    for language, own_letters in _NON_RUSSIAN_LETTERS.items():
        if own_letters and 100 * sum(map(text.count, own_letters)) > letter_count:
            return language
    # the hard sign ends Russian words of before 1918; inside of words it is Bulgaria's vowel
    has_inner_hard_sign = len(re.findall(r"ъ(?![еёюя])\w", text)) * 100 > letter_count
    return "bg" if has_inner_hard_sign and not re.search("[ыэё]", text) else "ru"


def _by_small_words(text: str) -> str | None:
    """Returns the language with most small words, if it leads clearly."""
    words = Counter(re.findall(r"[^\W\d_]+", text.casefold()))
    ranking = sorted(
        (
            (sum(words[word] for word in small_words), language)
            for language, small_words in SMALL_WORDS.items()
        ),
        reverse=True,
    )
    (count, language), (runner_up_count, runner_up) = ranking[:2]
    if count < _MIN_SMALL_WORDS or 8 * count < words.total():
        return None
    are_close = {language, runner_up} in ({"da", "no"}, {"id", "ms"})
    is_ahead = count > runner_up_count if are_close else 10 * count >= 11 * runner_up_count
    return language if is_ahead else None


def foreign_language(paragraph: str, language: str) -> str | None:
    """Returns the language of a paragraph that is surely in another than `language`; else None.

    Both are primary subtags of languages in the Latin alphabet. A third of its words must be small
    words of the other language and next to none of its own, so that names, titles and dialects pass
    for its own.
    """
    small_words = _small_words()
    words = _PARAGRAPH_WORD.findall(paragraph.replace("’", "'"))
    folded_words = [word.casefold() for word in words]
    if len(words) < _MIN_PARAGRAPH_WORDS or language not in small_words:
        return None
    own_count = sum(word in small_words[language] for word in folded_words)
    if 8 * own_count > len(words):
        return None
    counts = {
        other: sum(word in words_of_other for word in folded_words)
        for other, words_of_other in small_words.items()
        if other != language
    }
    best, second, third = sorted(counts, key=counts.__getitem__, reverse=True)[:3]
    runner_up = third if {best, second} in _CLOSE_LANGUAGES else second
    hits = {
        word for word in folded_words if word in small_words[best] and not re.match("[a-z]$", word)
    }
    is_clear = 3 * counts[best] >= max(len(words), 12 * own_count, 4 * counts[runner_up])
    if not is_clear or len(hits) < 3 or (best == "nl" and not _LOW_GERMAN.isdisjoint(folded_words)):
        return None
    # names of people and places have small words of their own
    content = [word for word in words if word.islower() and word not in small_words[best]]
    return best if sum(len(word) > 2 for word in content) >= 2 else None


@functools.cache
def _small_words() -> Mapping[str, frozenset[str]]:
    """Returns all small words of each language that people speak."""
    return {
        language: frozenset((*words, *MORE_SMALL_WORDS.get(language, ())))
        for language, words in SMALL_WORDS.items()
        if language not in _NO_LIVING_LANGUAGES
    }
