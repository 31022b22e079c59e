"""French, as eSpeak NG writes it and Kokoro's French voice learnt it: rules, liaison, short lists.

A word's last consonant is silent unless a vowel follows (les enfants): `_word` writes it after a
"+", and an aspirated h, before which it stays silent, as "*"; `_join` resolves both. The
sounds of the rules have symbols that the functions below replace: E, O and 8 are e, o and eu, whose
quality depends on their position; 5 is the ending -en, I the i of -ien, eñ the en of -ent.
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

_LISTS = read_word_lists(Path(__file__).with_name("data") / "french.txt")
_SOUNDS = Rules(_LISTS)
_SPOKEN_ENDS = frozenset(_LISTS.words("spoken ends"))
_WORDS = _LISTS.table("words")
_ASPIRATED = re.compile(
    "h(?:éros$|aut|ont|ollan|ongr|ors$|asard|ach|ain|alle|alt|ameau|anch|angar|ant|arcel"
    "|ard|arico|arp|ât|auss|avre|ériss"
    "|êtr|eurt|ibou|id|iérarch|och|omard|oquet|oul|ouss|uit|url|utt|argn|alo$|aie|aï"
    "|andicap|all$|arem|ockey|obby|arvard|iss)"
)
_VERB_END = re.compile(
    "(?:[^aeiouéè]{2}|[aeiou](?:nn|ss|ll|tt)|(?:iv|uv|ev|èv|av|is|us|os|ais|ois|èt|it|ut"
    "|ouv|oul|eul|ur|ir|èr|ar|or|èn|in|ion|ag|ig|id|iff|ach|ich|och|ouch|èch|iqu|oqu|aqu"
    "|u|i|oi|ç|iend?r))ent$"
)
_NOUN_END = re.compile(
    "(?:m|[^aeiou]?[ée]r|[iu]?d|[aeiou]g|rg|c|esc|s?cc|fluent|gr[ée]|qu[ée]|[aoui]l|pat"
    "|[ée]m|man|mi?n[ei]n|tin|s?ol|lu?c|ab?s|pr[ée]s|cl[i]|sci|p|conv?en|t[iy])ent$"
    "|^(?!soi|voi|croi).{1,3}ent$|^(?:souv|arg|cont|coll|récip|expér|ingréd|quot|orient"
    "|torr|par|appar|transpar|curr|concurr|diff[ée]r|exc?ell|équival)ent$"
)
_NUCLEUS = re.compile("[aeiouyɛœøɔɑ]\u0303?")


def transcribe(tokens: Sequence[Token]) -> list[Segment]:
    return by_rules(tokens, _word, _join)


def _join(first: str, second: str) -> tuple[str, str]:
    """Adds the first word's last consonant before a vowel, and drops it otherwise."""
    stem, _, consonant = first.partition("+")
    start = second.lstrip("ˈˌ")[:1]
    is_vowel = start != "" and start in "aeiouyɛœøɔɑjw" and not second.startswith(("w", "j"))
    return stem + (consonant if is_vowel else ""), second.removeprefix("*")


@lru_cache(maxsize=20_000)
def _word(word: str) -> str:
    """Returns the sounds of a word, with a "+" before its liaison and a "*" before an aspirated h;
    parts at an apostrophe or hyphen sound as one word."""
    if word in _WORDS:
        return _WORDS[word]
    head, _, tail = word.rpartition("'")
    if head and tail:
        clitic = (
            _SOUNDS(re.sub("qu$", "q", head)).replace("E", "e").replace("O", "o").replace("r", "ʁ")
        )
        if re.search("[58I]", clitic):  # not a clitic: vowels whose sound depends on their place
            clitic = _word(head).partition("+")[0].replace("ˈ", "")
        return clitic + _word(tail).removeprefix("*")
    if "-" in word.strip("-"):
        phonemes = ""
        for part in filter(None, word.split("-")):
            phonemes, following = _join(phonemes, _word(part))
            phonemes += following
        return phonemes
    return _read(word)


def _read(word: str) -> str:
    """Returns the sounds of a word without apostrophes and hyphens, as `_word`."""
    spelled, liaison = _without_silent_end(re.sub("emment$", "amment", word))
    sounds = _SOUNDS(spelled)
    is_nasal = len(sounds) < 3 or re.search("[iéey]ens?$", spelled)
    sounds = sounds.replace("5", "ɛ̃" if is_nasal else "ɛn").replace("I", "j").replace("r", "ʁ")
    sounds = add_stress(_vowels(sounds), _NUCLEUS, 1)
    if _ASPIRATED.match(word):
        sounds = "*" + sounds
    return f"{sounds}+{liaison}" if liaison else sounds


def _without_silent_end(word: str) -> tuple[str, str]:
    """Returns the spelling of a word without the letters at its end that are silent, and the
    consonant that wakes before a vowel."""
    if match := re.search("ai(?:ent|t|s)$", word):
        return _without_silent_consonant(word[: match.start()] + "ai")
    if word.endswith("ent") and not word.endswith("ment"):
        if _VERB_END.search(word) and not _NOUN_END.search(word):
            return word[:-2], ""
    elif match := re.search("er(s?)$", word):
        if word.rstrip("s") not in _SPOKEN_ENDS and len(word) > 4:
            return _with_accent(word, match, "é")
    elif word.endswith("ez"):
        return word[:-2] + "é", "z"
    elif (match := re.search("et(s?)$", word)) and word not in _SPOKEN_ENDS:
        return _with_accent(word, match, "ê")
    return _without_silent_consonant(word)


def _with_accent(word: str, end: re.Match[str], vowel: str) -> tuple[str, str]:
    spelled = word[: end.start()] + vowel
    return (spelled, "z") if end.group(1) else _without_silent_consonant(spelled)


_SILENT_CONSONANT = re.compile(
    "(?<=[aeiouyéèêàâîôûnrlcptmfk])([tdpgbc]?s|x|z|(?<![cs])t|d|p|(?<=[nra])g|(?<=n)c|(?<=m)b)$"
)


def _without_silent_consonant(word: str) -> tuple[str, str]:
    match = _SILENT_CONSONANT.search(word)
    is_spoken = word in _SPOKEN_ENDS or word.rstrip("s") in _SPOKEN_ENDS
    if is_spoken or match is None or len(word) < 3 or re.search("(?:[^e]c|p)t$|[^s]ss$", word):
        return word, ""
    stem = word[: match.start() + (match.group() == "cs")]
    return re.sub("(?<=[^iyé])en$|(?<=[ct]i)en$", "eñ", stem), "z" if word[-1] in "sxz" else ""


def _vowels(sounds: str) -> str:
    """Replaces E, O and 8 by e, o and eu of the quality that the position has."""
    sounds = re.sub("O(?=$|z$)", "o", _schwas(sounds))
    sounds = re.sub("O(?=[^aeiouyɛœøɔɑ\u0303]+$|ʁ[^aeiouyɛœøɔɑ]|[kpt][tsk])", "ɔ", sounds)
    sounds = re.sub("8(?=[ʁlfnvj]+$|[bpv][lʁ]$|ʁ)", "œ", sounds)
    return sounds.replace("O", "o").replace("8", "ø")


def _schwas(sounds: str) -> str:
    """Replaces E, an e without an accent: open before two consonants, weak or silent before one."""
    vowel = "aeiouyɛœøɔɑEO8"
    consonant = f"[^{vowel}\u0303]"
    sounds = re.sub(f"E(?=[^{vowel}]*$)", "ɛ", sounds)
    sounds = re.sub(f"E(?={consonant}(?![ʁlj]|[{vowel}]){consonant}|ks|ʁʁ)", "ɛ", sounds)
    sounds = re.sub(f"(?<=[{vowel}\u0303])({consonant})E(?={consonant}[{vowel}jw])", r"\1", sounds)
    return sounds.replace("E", "ə")
