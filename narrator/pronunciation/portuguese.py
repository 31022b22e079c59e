"""Portuguese of Brazil, as eSpeak NG writes it and Kokoro's Brazilian voices learnt it: rules.

Knows where a word is stressed, which vowels weaken at its end, what nasals and r do. Whether a
stressed e or o is open is not spelled: it goes by the last vowel (novo, nova). The sounds of the
rules have symbols that `_read` replaces: E and O are e and o of either quality, M is an a before a
nasal, Z the s that -ens has.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from narrator.pronunciation.rules import Rules, add_stress, make_word_reader
from narrator.pronunciation.rules import transcribe as by_rules
from narrator.pronunciation.tokens import Segment, Token
from textbase.word_lists import read_word_lists

_LISTS = read_word_lists(Path(__file__).with_name("data") / "portuguese.txt")
_SOUNDS = Rules(_LISTS)
_NUCLEUS = re.compile("ɐ̃ʊ̃|ɐ̃y|õj|ɐ̃|[aeiouIAWYEOMyæ]ʊ|[ou]ɪ|[iu]ʊ|ow|uw|ũ|õ|[aeiouæyʊEOAIWYMɛɔ]")
_WORDS = _LISTS.table("words")


_UNCHANGED = frozenset(("ky", "dʊ", "nʊ", "kˌomʊ", "ˌely"))


def transcribe(tokens: Sequence[Token]) -> list[Segment]:
    return by_rules(tokens, _word, _join)


def _join(first: str, second: str) -> tuple[str, str]:
    """Changes the end of a word before a vowel, and before a voiced consonant."""
    start = second.lstrip("ˈˌ")[:1]
    is_vowel = start != "" and start in "aeiouæɐɛɔɪʊyAIWEO"
    if first.endswith("s") and (is_vowel or (start != "" and start in "bdɡvzʒʤmnlɾrɲ")):
        first = first[:-1] + "z"
    elif first.endswith("r") and is_vowel:
        first = first[:-1] + "ɾ"
    elif is_vowel and first == "ʊ":
        first = "u"
    elif is_vowel and first[-2:] == "ry":
        first = first[:-1] + "i"
    elif (
        is_vowel
        and first not in _UNCHANGED
        and len(first) > 1
        and first[-1] in "yʊ"
        and first[-2] not in "aeɛɔoɐæ\u0303"
    ):
        first = first[:-1] + ("j" if first[-1] == "y" else "w")
    return first, second


def _read(word: str) -> str:
    """Returns the phonemes of a word: its stress, then the vowels that depend on it."""
    sounds = _SOUNDS(word).replace("Z", "s" if word.endswith("s") else "")
    if "ˈ" not in sounds:
        sounds = add_stress(
            sounds, _NUCLEUS, 2 if re.search("(?:[aeo]s?|am|ens?|em)$", word) else 1
        )
    before, mark, after = sounds.partition("ˈ")
    is_last = len(_NUCLEUS.findall(after)) < 2
    starts = [match.start() for match in _NUCLEUS.finditer(before)]
    if len(starts) > 1 or (starts and not is_last):
        before = f"{before[: starts[0]]}ˌ{before[starts[0] :]}"
    if after.startswith("E"):
        is_open = bool(re.search("æs?$|^E[^znmʃʒɲs]*y", after)) or (
            is_last and after not in ("Er", "Es")
        )
        after = ("ɛ" if is_open and not re.match("E[mnɲzʒʃ]", after) else "e") + after[1:]
    elif after.startswith("O"):
        is_open = bool(re.search("^Ol$|[æy]s?$", after)) and not re.match("O(?:[mnɲ]|æ)", after)
        after = ("ɔ" if is_open else "o") + after[1:]
    after = re.sub("^M", "ɐ̃", after)
    after = re.sub("(?<=[^aeiouɛɔ])i(?=[æʊy]s?$)", "j", after[:1]) + re.sub(
        "i(?=[æʊy]s?$)", "j", after[1:]
    )
    if len(after) > 2 and not after.startswith("u"):
        after = re.sub("u(?=[æʊy]s?$)", "w", after)
    glide = "j" if after[:1] in "aeouAIWEOɐɛɔ" else "i"
    before = re.sub("(?<=[sɾlnmzvfpbkɡ])i(?=[aeouAIWEO]|$)", glide, before)
    return (before + mark + after).replace("E", "e").replace("O", "o").replace("M", "æ")


_word = make_word_reader(_WORDS, _read)
