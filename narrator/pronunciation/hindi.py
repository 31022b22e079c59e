"""Hindi, as eSpeak NG writes it and Kokoro's Hindi voices learnt it: rules.

Devanagari writes syllables. A consonant without a vowel sign carries the vowel ə, the schwa, which
is silent at the end of a word and between two syllables that can be spoken without it: लड़का is
lʌr.kaː. The last of the heaviest syllables is stressed, the end of the word only if it is heavier
than all. The flap ड़ is "r.", which is how eSpeak writes it and Kokoro learnt it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from narrator.pronunciation.rules import make_word_reader
from narrator.pronunciation.rules import transcribe as by_rules
from narrator.pronunciation.tokens import Segment, Token


def _table(pairs: str) -> dict[str, str]:
    return dict(pair.split("=") for pair in pairs.split())


_CONSONANTS = _table(
    "क=k ख=kʰ ग=ɡ घ=ɡʰ ङ=ŋ च=c छ=cʰ ज=ɟ झ=ɟʰ ञ=ɲ ट=ʈ ठ=ʈʰ ड=ɖ ढ=ɖʰ ण=ɳ त=t थ=tʰ द=d ध=dʰ न=n "
    "प=p फ=pʰ ब=b भ=bʰ म=m य=j र=ɾ ल=l ळ=l व=ʋ श=ʃ ष=ʂ स=s ह=h "
    "क़=q ख़=x ग़=ɣ ज़=z झ़=ʒ ड़=r. ढ़=r.h फ़=f ऩ=n ऱ=ɾ ऴ=l य़=j"
)
_VOWELS = _table(
    "अ=ə आ=aː इ=ɪ ई=iː उ=ʊ ऊ=uː ऋ=ɾɪ ॠ=ɾiː ऌ=lɪ ऍ=ɛ ऎ=e ए=eː ऐ=ɛː ऑ=ɔ ऒ=o ओ=oː औ=ɔː "
    "ा=aː ि=ɪ ी=iː ु=ʊ ू=uː ृ=ɾɪ ॄ=ɾiː ॅ=ɛ ॆ=e े=eː ै=ɛː ॉ=ɔ ॊ=o ो=oː ौ=ɔː"
)
_NASALS = _table("k=ŋ ɡ=ŋ c=ɲ ɟ=ɲ ʈ=ɳ ɖ=ɳ p=m b=m m=m")
"""The nasal that an anusvara stands for before a consonant; n before all others."""
_NASAL_VOWELS = _table("ə=ʌ̃ aː=ã ɪ=ĩ iː=ĩ ʊ=ũ uː=ũ eː=ẽː ɛː=ɛ̃ oː=õ ɔː=ɔ̃")
_AKSHARA = re.compile(
    "(?:(?P<consonants>(?:[क-ह]़?्\u200d?)*[क-ह]़?)(?P<sign>[ा-ौ]?)|(?P<vowel>[अ-औॠऌ]))"
    "(?P<mark>[ँंः]*)(?P<virama>्?)"
)
_WORDS = {
    "है": "hɛː", "हैं": "hɛ̃", "और": "ɔːɾ", "का": "kaː", "की": "ki", "के": "keː", "को": "koː",
    "से": "seː", "मैं": "mɛ̃", "हूँ": "hũ", "हूं": "hũ", "यह": "jˌəh", "वह": "ʋˌəh", "ये": "jeː",
    "वे": "ʋeː", "वो": "ʋoː", "था": "tʰaː", "थी": "tʰi", "थे": "tʰeː", "क्या": "kːjaː",
    "क्यों": "kːjˈõ", "पर": "pˈʌɾ", "में": "mẽː", "हो": "hoː", "तक": "tˌək", "रहा": "ɾˌəhaː",
    "रहे": "ɾˌəheː", "रही": "ɾˌəhi", "क्योंकि": "kːjˈõkɪ", "व": "ʋˈə", "न": "nˈʌ",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Syllable:
    """Sounds before the vowel, the vowel, and what its nasal sign or breath adds."""

    onset: str
    vowel: str
    mark: str

    @property
    def is_bare(self) -> bool:
        return self.vowel == "ə" and not self.mark


def transcribe(tokens: Sequence[Token]) -> list[Segment]:
    return by_rules(tokens, _word)


def _read(word: str) -> str:
    """Returns the phonemes of a word; empty without a letter of Devanagari."""
    syllables = list(map(_syllable, _AKSHARA.finditer(word)))
    if not syllables:
        return ""
    stressed_index = _main_stress([_weight(syllables, i) for i in range(len(syllables))])
    return _join_syllables(_without_schwas(syllables), stressed_index)


def _syllable(match: re.Match[str]) -> _Syllable:
    onset = _onset(re.findall("[क-ह]़?", match["consonants"] or ""))
    if match["virama"]:
        return _Syllable(onset, "", "")
    vowel = _VOWELS[match["vowel"] or match["sign"] or "अ"]
    if vowel[0] in "ɾl":
        onset, vowel = onset + vowel[0], vowel[1:]
    return _Syllable(onset, vowel, match["mark"][-1:])


def _onset(letters: Sequence[str]) -> str:
    """A cluster: double stops are long, r before a consonant is a trill."""
    sounds = "".join(_CONSONANTS.get(letter, _CONSONANTS[letter[0]]) for letter in letters)
    sounds = re.sub("ɾ(?=.)", "r", sounds).replace("ɟɲ", "ɡj").replace("kʂ", "kʃ")
    sounds = re.sub("([kɡʈɖtdpb])\\1(ʰ?)", r"\1\2ː", sounds)
    return sounds.replace("ccʰ", "cʰcʰ").replace("cc", "cː").replace("ɟɟ", "ɟː")


_TAIL = re.compile("[rnmŋɲɳslʃ]?[^ʰː.j]ʰ?|j|r[.]h?|(?:.)ʰ?ː|ʃʈ|ʂʈʰ?|[kp]t|ll|nn")
"""Consonants after which a word ends without a schwa."""


def _without_schwas(syllables: list[_Syllable]) -> list[_Syllable]:
    """Drops schwas, from the end: after a vowel and one consonant, before one and a vowel."""
    reduced = syllables[:]
    last = len(reduced) - 1
    if last and reduced[last].is_bare and _TAIL.fullmatch(reduced[last].onset):
        reduced[last] = replace(reduced[last], vowel="")
    for i in range(last - 1, 0, -1):
        before, syllable, after = reduced[i - 1 : i + 2]
        is_open = before.vowel and before.mark != "ः"
        if (
            syllable.is_bare
            and is_open
            and after.vowel
            and _is_single(syllable)
            and _is_single(after)
        ):
            reduced[i] = replace(syllable, vowel="")
    return reduced


def _is_single(syllable: _Syllable) -> bool:
    return re.fullmatch(r"[^ː]ʰ?|r\.h?", syllable.onset) is not None


def _join_syllables(syllables: Sequence[_Syllable], stressed_index: int) -> str:
    """Returns the phonemes of a word; every other syllable from the stressed one on, before and
    after it, is half stressed."""
    phonemes = ""
    for i, syllable in enumerate(syllables):
        phonemes += syllable.onset
        if syllable.vowel:
            is_stressed = i == stressed_index
            is_half_stressed = (i - stressed_index) % 2 == 0 and syllable.mark != "ः"
            next_onset = syllables[i + 1].onset if i + 1 < len(syllables) else ""
            is_open = is_stressed or (i == 0 and not syllable.onset)
            phonemes += "ˈ" if is_stressed else "ˌ" if is_half_stressed else ""
            phonemes += _vowel(syllable, next_onset, is_open=is_open)
    return phonemes


def _main_stress(weights: Sequence[int]) -> int:
    """Returns the index of the stressed syllable, by the weight of each: the last of the heaviest;
    the very last only if it is heavier than all others."""
    if len(weights) < 2:
        return 0
    heaviest = max(weights[:-1])
    if weights[-1] == 2 and heaviest < 2:
        return len(weights) - 1
    return max(i for i, weight in enumerate(weights[:-1]) if weight == heaviest) if heaviest else 0


def _weight(syllables: Sequence[_Syllable], index: int) -> int:
    """Returns 0 for a short open syllable, 1 for a long or a closed one, 2 for one that is both."""
    syllable, following = syllables[index], syllables[index + 1 :]
    is_closed = syllable.mark == "ं" and bool(following)
    if following:
        is_closed |= (
            not following[0].vowel or re.fullmatch(r".ʰ?|r\.h?", following[0].onset) is None
        )
    return ("ː" in syllable.vowel) + is_closed


def _vowel(syllable: _Syllable, next_onset: str, *, is_open: bool) -> str:
    """Returns the phonemes of a syllable's vowel with its mark.

    `next_onset`: the consonants that follow, empty at the end of the word; `is_open`: a schwa is an
    open vowel here.
    """
    vowel, mark = syllable.vowel, syllable.mark
    if mark in ("ं", "ँ") and (not next_onset or (mark == "ं" and vowel != "ə")):
        return _NASAL_VOWELS.get(vowel, vowel + "\u0303")
    if vowel == "ə" and is_open:
        vowel = "ʌ"
    elif (vowel == "iː" and not next_onset) or (vowel in ("iː", "uː") and mark):
        vowel = vowel[0]
    if mark == "ः":
        return vowel + "h"
    return vowel + (_NASALS.get(next_onset[0], "n") if mark else "")


_word = make_word_reader(_WORDS, _read)
