"""Italian, as eSpeak NG writes it and Kokoro's Italian voices learnt it: rules, and a list of words
whose stress no rule tells.

Spelling says neither where a word is stressed nor whether its e or o is open. The stress is on the
last syllable but one unless an accent, an ending or the list says otherwise; e and o are open or
close as in most words with these letters after them. The sounds of the rules have symbols that
`_resolve_sounds` replaces: E and O are e and o of either quality, N is an n before c and g, U the
u of au, and ":" marks a long consonant.
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

_LISTS = read_word_lists(Path(__file__).with_name("data") / "italian.txt")
_SOUNDS = Rules(_LISTS)
_NUCLEUS = re.compile("[aEOiu]")
_LATE = re.compile(
    "(?:log|graf|craz|sof|nom|[bcdfgiltv]er|pat|fon|metr|arch|agog|polit?z|mag|agn|ogn"
    "|alatt|lleg)ie?$|^(?:tutta|m|v|z|s|d|p|sp|scr?)ie$".replace("ie", "i[ae]")
)
"""The i of -ia is stressed: farmacia, compagnia, via."""
_EARLY = re.compile(
    "(?:[aeiou]bil[ei]|issim[oaie]|[tfglrsdbc]ic[oaie]|[tfnglrmdsbc]ic(?:o|a|he)|og[oi]"
    "|ogh[ei]|graf[oi]"
    "|metr[oi]|fer[oai]|evol[ei]|[aeou]gin[eia]|udin[ei]|esim[oaie]|onim[oaie]|ttim[oaie]"
    "|ssim[oaie]"
    "|(?:[aei]ss|[eo]bb|nn|[ei]s)ero|[aei]rono|[aei]vano|[cptbg]ol[oaei]|ane[oaie]|(?:sc"
    "|ng|lg|gg|v|ss|rr"
    "|[eio]nd|tt|cc|nc)ono|ordin[ei]|min[ei]|[gcv]in[ei]|[bcdgt]il[ei]|[bmr]it[oi]"
    "|otes[ie]|rc?it[oi]|eri?od[oi]"
    "|isol[ae]|(?:ss|tt|cc|nd|nc|sc|ng|gg|gl)er)(?:$|ne$|si$|mi$|ti$|lo$|la$|li$|vi$)"
)
_EARLY_VERBS = re.compile(
    "(?:[^ei]r|rt|rd|ll|nt|nn|ss|tt|cc|gg|rm|nd|nc|rc|st|zz|pp|gn|i[sz]|[ou][rlt]|i[mn]"
    "|u[sm]|fer[im])ano$|(?:gg|nd|rr|cc|tt|nc|ng|sc|lv|rd|mm|d|gl|rg)ere$"
)
_EARLY_WORDS = frozenset(_LISTS.words("early words"))
_UNSTRESSED = frozenset(_LISTS.words("unstressed"))
_HALF_STRESSED = frozenset(_LISTS.words("half stressed"))
_WORDS = _LISTS.table("words")
_CLOSE_E = re.compile(
    "e(?:z[eia]$|ʦ:[ae]$|t:[oae]$|v[oa]l|ɲ|Nɡ|vano|t[oaie]$|re$|ze|ll[oae]$|rm|nne|ʤ:"
    "|dere|ʃ|ttere|st[oiae]$|mbra|$)"
)
_CLOSE_O = re.compile(
    "o(?:n[eia]?|n[ct]|r[eia]$|z[oei]$|rn|ntr|rs|lo$|na$|v[eu]|me|lt|nd|po$|ʎ|st|Se|t:o$|gn|$)"
)


def transcribe(tokens: Sequence[Token]) -> list[Segment]:
    return by_rules(tokens, _word)


@lru_cache(maxsize=20_000)
def _word(word: str) -> str:
    """Returns the phonemes of a word; parts at an apostrophe or hyphen sound as one word."""
    head, mark, tail = re.sub("-", "'", word).strip("'").rpartition("'")
    if word in _WORDS:
        return _WORDS[word]
    if not mark:
        return _stress(tail)
    soft = {"c": "ʧ", "g": "ʤ"} if tail[:1] in "eièéì" else {}
    clitic = soft.get(head[-1:]) or _resolve_sounds(_SOUNDS(head[-1:]))
    return _resolve_sounds(_SOUNDS(head[:-1])) + clitic + _stress(tail)


def _stress(word: str) -> str:
    """Returns the phonemes of a word without apostrophes and hyphens, stressed by its ending."""
    sounds = _SOUNDS(word)
    if "ˈ" not in sounds and word not in _UNSTRESSED:
        if _LATE.search(word):
            sounds = re.sub("j(?=[aE]$)", "i", sounds)
            sounds = add_stress(sounds, _NUCLEUS, 2)
        else:
            is_early = word in _EARLY_WORDS or _EARLY.search(word) or _EARLY_VERBS.search(word)
            ends_open = re.search("[aeiou]$", word)
            sounds = add_stress(sounds, _NUCLEUS, 3 if is_early else 2 if ends_open else 1)
    return _resolve_sounds(sounds.replace("ˈ", "ˌ") if word in _HALF_STRESSED else sounds)


def _resolve_sounds(sounds: str) -> str:
    """Replaces what the letters left open by phonemes of Italian, once the stress is known.

    E and O are open or close by stress and ending (-mente is close), N is ŋ before ɡ, U is a short
    u, and ":" lengthens a consonant, though not at the start. The glides j and w become i and ʊ
    where a consonant cluster or the stress asks for a vowel.
    """
    before, mark, after = sounds.partition("ˈ" if "ˈ" in sounds else "ˌ")
    if not mark:
        before, after = "", before
    after = after[:1] + after[1:].replace("E", "e").replace("O", "o")
    if mark and after.startswith("E"):
        is_close = (before + after)[-len(after) - 1 :].startswith("mEnt") or (
            len(after) > 1 and _CLOSE_E.match("e" + after[1:])
        )
        after = ("e" if is_close and before[-1:] not in ("j", "b") else "ɛ") + after[1:]
    elif mark and after.startswith("O"):
        after = ("o" if _CLOSE_O.match("o" + after[1:]) and len(after) > 1 else "ɔ") + after[1:]
    if mark:
        after = re.sub("(?<=[^aeiouɛɔ])j(?=[aeou])", "i", after)
    sounds = re.sub("u(?![aɛɔeo])", "ʊ", before) + mark + after
    sounds = re.sub("(?<=[bcdfghklmnprstvzʃʒʧʤ])u?wˈɔ", "ʊˈɔ", sounds)
    sounds = re.sub("(?<=[ʦʣz])jˈ", "iˈ", sounds)
    sounds = re.sub("(?<=[^aeiouˈˌɛɔ])i$", "ɪ", sounds)
    if mark != "ˈ":
        sounds = sounds.replace("u", "ʊ")
    sounds = re.sub("N(?=ɡ)", "ŋ", sounds).replace("N", "n")
    sounds = re.sub("^([ptkbdɡʦʣʧʤ]):", r"\1", sounds)
    return sounds.replace("E", "e").replace("O", "o").replace(":", "ː").replace("U", "ʊ")
