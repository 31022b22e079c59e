"""Estimates the time a text takes to speak, by language and punctuation; measured on speech."""

from __future__ import annotations

import functools
import re
import unicodedata

from textbase.languages import primary

_LETTERS_PER_MINUTE = {
    "de": 1060, "en": 987, "es": 1025, "fi": 1078, "fr": 998, "he": 833, "it": 1021, "ja": 357,
    "nl": 978, "pl": 916, "pt": 913, "ru": 986, "sl": 885, "sv": 917, "tr": 1054, "ko": 400,
    "ar": 731, "zh": 304, "yue": 304, "hi": 820, "id": 998, "th": 813,
}  # fmt: skip
"""Letters a minute by language, read aloud by natives: Trauzettel-Klosinski and Dietz, 2012,
"Standardized assessment of reading performance: the new International Reading Speed Texts IReST"
(doi 10.1167/iovs.11-8284). Korean, in syllables, is a guess.

The same text takes about as long in every language (Coupé and others, 2019, doi
10.1126/sciadv.aaw2594), but by these rates the parallel sentences of PUD (Universal Dependencies)
took 0.88 to 1.30 of English. Arabic, Chinese, German, Hindi, Indonesian, Italian and Thai are
corrected to 0.95 or 1.10 (`benchmarks/pace.py`)."""

_DEFAULT_LETTERS_PER_MINUTE = 882
"""Letters a minute in other alphabets: 68 ms a character, the study's mean of 14 languages."""

_NARRATION_PACE = 0.745
"""Pace of an audiobook relative to reading aloud. With the pauses below, English reaches the 155
words a minute (9,300 an hour) that ACX gives for planning."""

_STOP_PAUSE_S, _CLAUSE_PAUSE_S = 0.35, 0.15
_STOP_MARKS = re.compile(r"[.!?…؟۔।॥։።။]+(?!\w)|[。！？]+")
_CLAUSE_MARKS = re.compile(r"[,;:—–،؛]+(?!\d)|[，、；：]+")


class _SecondsByCharacter(dict[str, float]):
    """Maps characters to the seconds they take in a language."""

    def __init__(self, code: str) -> None:
        self.code = code

    def __missing__(self, character: str) -> float:
        category = unicodedata.category(character)
        seconds = 0.0
        if category[0] == "L" or category == "Mc":
            seconds = 60 / (_NARRATION_PACE * self._letters_per_minute(character))
        elif category[0] == "N":
            seconds = 0.3
        elif category in {"Sc", "Sm"} or character in "%&@#°§":
            seconds = 0.4
        self[character] = seconds
        return seconds

    def _letters_per_minute(self, character: str) -> int:
        """Returns the reading rate of a character's script."""
        name = unicodedata.name(character, "")
        if name.startswith(("HIRAGANA", "KATAKANA")):
            return _LETTERS_PER_MINUTE["ja"]
        if name.startswith("CJK"):
            return _LETTERS_PER_MINUTE["ja" if self.code == "ja" else "zh"]
        if name.startswith("HANGUL"):
            return _LETTERS_PER_MINUTE["ko"]
        if self.code in {"ja", "zh", "yue", "ko"}:
            return _LETTERS_PER_MINUTE["en"]
        return _LETTERS_PER_MINUTE.get(self.code, _DEFAULT_LETTERS_PER_MINUTE)


_seconds_of = functools.cache(_SecondsByCharacter)


def expected_seconds(text: str, language: str) -> float:
    """Returns the seconds a narrator needs for `text`, pauses included."""
    stop_count = sum(1 for _ in _STOP_MARKS.finditer(text))
    clause_count = sum(1 for _ in _CLAUSE_MARKS.finditer(text))
    letter_seconds = sum(map(_seconds_of(primary(language)).__getitem__, text))
    return letter_seconds + _STOP_PAUSE_S * stop_count + _CLAUSE_PAUSE_S * clause_count
