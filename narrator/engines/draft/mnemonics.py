"""IPA of English words to eSpeak NG's names of sounds: ʃɪˈvɔːn -> S|I|v|'O:|n.

By way of the phonemes of `narrator.pronunciation`, so that the draft voice takes what Kokoro takes.
Tried out on eSpeak NG 1.52: a word's own IPA gives the samples that the word gives.
"""

from __future__ import annotations

import re

from narrator.engines.preparation import primary_language
from narrator.pronunciation.alphabet import VOWELS
from narrator.pronunciation.ipa import IpaError, to_phonemes

_MNEMONICS = dict(
    pair.split("=")
    for pair in """
    A=eI I=aI O=oU Q=oU W=aU Y=OI a=a æ=a ɑ=A: ɒ=0 ɔ=O: ə=@ ᵊ=@ ɛ=E ɜ=3: i=i u=u: ɪ=I ʊ=U ʌ=V ᵻ=I
    ɔː=O: ɑː=A: ɜː=3: iː=i: uː=u: ɛː=e@ ɪə=i@3 ʊə=U@
    ɔɹ=O@ ɑɹ=A@ ɜɹ=3: ɛɹ=e@ ɪɹ=i@3 ʊɹ=U@ əɹ=3
    b=b d=d f=f h=h j=j k=k l=l m=m n=n p=p s=s t=t v=v w=w z=z ɡ=g ŋ=N ɹ=r ʃ=S ʒ=Z ð=D θ=T ʤ=dZ
    ʧ=tS T=t# ˈ=' ˌ=,
    """.split()
)
_RHOTIC = re.compile(rf"([ɔɑɜɛɪʊə]ɹ)(?=[ˈˌ]?[{''.join(sorted(VOWELS))}])")
_SYMBOL = re.compile(
    "([ˈˌ]?)(" + "|".join(sorted(map(re.escape, _MNEMONICS), key=len, reverse=True)) + ")"
)


def to_mnemonics(ipa: str, language: str) -> str:
    """Returns names of sounds, separated by bars, with a space between words; "" for languages
    other than English, and for IPA without a sound."""
    if primary_language(language) != "en":
        return ""
    try:
        phonemes = to_phonemes(ipa, language)
    except IpaError:
        return ""
    phonemes = _RHOTIC.sub(r"\1ɹ", phonemes)  # an r after these vowels is doubled before a vowel
    return " ".join("|".join(map(_mnemonic, _SYMBOL.finditer(word))) for word in phonemes.split())


def _mnemonic(match: re.Match[str]) -> str:
    stress, symbol = match.groups()
    mnemonic = "i:" if symbol == "i" and stress else _MNEMONICS[symbol]
    return (_MNEMONICS[stress] if stress else "") + mnemonic
