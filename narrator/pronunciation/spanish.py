"""Spanish of Castile, as eSpeak NG writes it and Kokoro's Spanish voices learnt it. Rules alone.

Knows where Spanish is stressed, and that b, d and g are hard only after a pause or a nasal (d also
after l), and soft elsewhere: β ð ɣ.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from narrator.pronunciation.rules import Rules, add_stress
from narrator.pronunciation.rules import transcribe as by_rules
from narrator.pronunciation.tokens import Segment, Token
from textbase.word_lists import read_word_lists

_LISTS = read_word_lists(Path(__file__).with_name("data") / "spanish.txt")
_SOUNDS = Rules(_LISTS)

_HARD = {"β": "b", "ð": "d", "ɣ": "ɡ"}
_NUCLEUS = re.compile("[aeiouIAWO]")
_UNSTRESSED = frozenset(_LISTS.words("unstressed"))
_HALF_STRESSED = frozenset(_LISTS.words("half stressed"))


def transcribe(tokens: Sequence[Token]) -> list[Segment]:
    return by_rules(tokens, _word, _join)


@lru_cache(maxsize=20_000)
def _word(word: str) -> str:
    """Returns the phonemes of a word with its stresses; parts at a hyphen sound as one word."""
    if "-" in word:
        return "".join(map(_word, word.split("-")))
    if word.endswith("mente") and len(word) > 8:
        return _word(word[:-5]) + "mˈente"
    sounds = re.sub("(?<=[nmŋ])[βɣð]|(?<=l)ð", lambda match: _HARD[match.group()], _SOUNDS(word))
    if word in _UNSTRESSED:
        return sounds
    if "ˈ" not in sounds:
        sounds = add_stress(sounds, _NUCLEUS, 2 if re.search("[aeiouns]$", word) else 1)
    if word in _HALF_STRESSED:
        return sounds.replace("ˈ", "ˌ")
    sounds = re.sub("(?<=ˈ)e(?=n[tdθs]|ŋ[ɡɣkx])", "ɛ", sounds)
    before, mark, after = sounds.partition("ˈ")
    return _add_secondary_stress(before) + mark + after


def _add_secondary_stress(sounds: str) -> str:
    """Adds a secondary stress to every other syllable before the stressed one, not next to it."""
    starts = [match.start() for match in _NUCLEUS.finditer(sounds)]
    for start in reversed(starts[:-1][::2]):
        sounds = f"{sounds[:start]}ˌ{sounds[start:]}"
    return sounds


def _join(first: str, second: str) -> tuple[str, str]:
    """Hardens the second word's first consonant, and adapts a nasal to the consonant after it."""
    last = first[-1:]
    if second[:1] in _HARD and (last in ("", "n", "m", "ŋ") or (last == "l" and second[0] == "ð")):
        second = _HARD[second[0]] + second[1:]
    if last == "n" and second:
        first = first[:-1] + ("m" if second[0] in "bm" else "ŋ" if second[0] in "ɡx" else "n")
    return first, second
