"""Spelling to sound by rules: one table a language, read from left to right.

Knows no language.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from narrator.pronunciation.tokens import Segment, Token, is_stop, plain_form
from textbase.word_lists import WordLists

_TILDES = str.maketrans({vowel: unicodedata.normalize("NFD", vowel) for vowel in "ãẽĩõũ"})
"""In Kokoro's alphabet the tilde of a nasal vowel is a symbol of its own."""


def expand_classes(pattern: str, lists: WordLists) -> str:
    """Returns a pattern with the lists' classes in place of their names, as {NAME}."""
    for name, letters in lists.table("classes").items():
        pattern = pattern.replace(f"{{{name}}}", letters)
    return pattern


class Rules:
    """The lists' section `sounds`: lines of `pattern sound`, of which the first that fits wins.

    A pattern is a regular expression without capturing groups, in which {NAME} is one of the lists'
    classes. A sound is phonemes, "-" for none; some are symbols of a language's own, which its
    module replaces.
    """

    def __init__(self, lists: WordLists) -> None:
        rows = [line.split() for line in lists.lines("sounds")]
        self._sounds = ["" if sound == "-" else sound for _, sound in rows]
        patterns = (f"({expand_classes(pattern, lists)})" for pattern, _ in rows)
        self._pattern = re.compile("|".join(patterns))

    def __call__(self, word: str) -> str:
        """Returns the sounds of `word`, without letters that no pattern fits."""
        return "".join(
            self._sounds[(match.lastindex or 1) - 1] for match in self._pattern.finditer(word)
        )


def make_word_reader(words: Mapping[str, str], read: Callable[[str], str]) -> Callable[[str], str]:
    """Returns a function, with a cache, from a plain word to its phonemes: those in `words`, else
    those of its parts at hyphens and apostrophes, else those that `read` returns."""

    @lru_cache(maxsize=20_000)
    def word(text: str) -> str:
        if text in words:
            return words[text]
        if "-" in text or "'" in text:
            return "".join(map(word, filter(None, re.split("[-']", text))))
        return read(text)

    return word


def transcribe(
    tokens: Sequence[Token],
    pronounce_word: Callable[[str], str],
    join_words: Callable[[str, str], tuple[str, str]] = lambda first, second: (first, second),
) -> list[Segment]:
    """Returns the segments of all word tokens.

    `pronounce_word` returns the phonemes of a plain, lower-case word. `join_words` changes those of
    two words without a stop between, also where they are the author's own; it is given "" for the
    silence before the first and after the last.
    """
    segments: list[Segment] = []
    is_joined = False
    for token in tokens:
        if token.kind == "word":
            phonemes = token.phonemes or pronounce_word(plain_form(token.text).lower())
            if is_joined:
                last = segments.pop()
                first, phonemes = join_words(last.phonemes, phonemes)
                segments.append(replace(last, phonemes=first))
            else:
                phonemes = join_words("", phonemes)[1]
            segments.append(Segment(token.start, token.stop, phonemes))
            is_joined = True
        elif token.kind == "mark" and is_stop(token.text):
            _close_phrase(segments, join_words)
            is_joined = False
    _close_phrase(segments, join_words)
    return [replace(segment, phonemes=segment.phonemes.translate(_TILDES)) for segment in segments]


def _close_phrase(
    segments: list[Segment], join_words: Callable[[str, str], tuple[str, str]]
) -> None:
    if segments:
        segments[-1] = replace(segments[-1], phonemes=join_words(segments[-1].phonemes, "")[0])


def add_stress(sounds: str, nucleus: re.Pattern[str], from_end: int) -> str:
    """Adds the main stress before the nucleus of a syllable, counted from the end, 1 the last; in a
    word with fewer, before the first."""
    starts = [match.start() for match in nucleus.finditer(sounds)]
    if not starts:
        return sounds
    start = starts[max(0, len(starts) - from_end)]
    return f"{sounds[:start]}ˈ{sounds[start:]}"
