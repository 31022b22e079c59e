"""Spelling to sound by rules: one table a language, read from left to right.

Knows no language.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from narrator.pronunciation.tokens import Segment, Token, is_stop, plain
from textbase.word_lists import WordLists

_TILDES = str.maketrans({vowel: unicodedata.normalize("NFD", vowel) for vowel in "ãẽĩõũ"})
"""In Kokoro's alphabet the tilde of a nasal vowel is a symbol of its own."""


def with_classes(pattern: str, lists: WordLists) -> str:
    """Return a pattern with the lists' classes in place of their names."""
    for name, letters in lists.table("classes").items():
        pattern = pattern.replace(f"{{{name}}}", letters)
    return pattern


class Rules:
    """Patterns of letters and their sounds, lines of `pattern sound`; the first that fits wins.

    A pattern is a regular expression, {NAME} in it one of the lists' classes. A sound of "-" is
    silence.
    """

    def __init__(self, lists: WordLists) -> None:
        rows = [line.split() for line in lists.lines("sounds")]
        self._sounds = ["" if sound == "-" else sound for _, sound in rows]
        patterns = (f"({with_classes(pattern, lists)})" for pattern, _ in rows)
        self._pattern = re.compile("|".join(patterns))

    def __call__(self, word: str) -> str:
        """The sounds of `word`; letters that no pattern takes are left out."""
        return "".join(
            self._sounds[(match.lastindex or 1) - 1] for match in self._pattern.finditer(word)
        )


def reader(words: Mapping[str, str], read: Callable[[str], str]) -> Callable[[str], str]:
    """The phonemes of a plain word: as `words` has it, else of its parts at hyphens and
    apostrophes, else as `read` says of it. What was read is remembered."""

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
    word: Callable[[str], str],
    join: Callable[[str, str], tuple[str, str]] = lambda first, second: (first, second),
) -> list[Segment]:
    """Segments of all word tokens. `word` gives the phonemes of a plain, lower-case word; `join`
    changes those of two words without a stop between, and is given "" for silence."""
    segments: list[Segment] = []
    is_open = False
    for token in tokens:
        if token.kind == "word":
            phonemes = token.phonemes or word(plain(token.text).lower())
            if is_open:
                last = segments.pop()
                first, phonemes = join(last.phonemes, phonemes)
                segments.append(replace(last, phonemes=first))
            else:
                phonemes = join("", phonemes)[1]
            segments.append(Segment(token.start, token.stop, phonemes))
            is_open = True
        elif token.kind == "mark" and is_stop(token.text):
            _close(segments, join)
            is_open = False
    _close(segments, join)
    return [replace(segment, phonemes=segment.phonemes.translate(_TILDES)) for segment in segments]


def _close(segments: list[Segment], join: Callable[[str, str], tuple[str, str]]) -> None:
    if segments:
        segments[-1] = replace(segments[-1], phonemes=join(segments[-1].phonemes, "")[0])


def stressed(sounds: str, nucleus: re.Pattern[str], from_end: int, mark: str = "ˈ") -> str:
    """With a stress before the nucleus of a syllable, counted from the end, 1 the last."""
    starts = [match.start() for match in nucleus.finditer(sounds)]
    if not starts:
        return sounds
    start = starts[max(0, len(starts) - from_end)]
    return sounds[:start] + mark + sounds[start:]
