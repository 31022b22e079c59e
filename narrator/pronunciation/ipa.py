"""IPA, as authors and dictionaries write it, to Kokoro's phonemes.

    /ˈdʌmb(ə)l.dɔː/ -> dˈʌmbᵊldɔː (British), dˈʌmbᵊldɔ (American)

Slashes or brackets around it are left out; g is ɡ; affricates and diphthongs need no tie; dots,
hyphens and links between syllables say nothing; a sound in brackets is spoken, but for an r that
only Americans speak. Stress moves before its vowel, where Kokoro expects it, and a lone syllable is
stressed. Symbols of other languages become the nearest English sound in English text; in the other
languages they stay. Tones, clicks, and whatever is no IPA are errors that name the symbol.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from narrator.pronunciation.alphabet import STRESSES, SYMBOLS, VOWELS


class IpaError(ValueError):
    """A text that is not IPA, or has symbols that cannot be spoken; names them."""


_SPELLINGS = {
    "ɡ": "g", "ʧ": "tʃ", "ʤ": "dʒ", "ʦ": "ts", "ʣ": "dz", "ʨ": "tɕ", "ʥ": "dʑ",
    "'": "ˈ", "’": "ˈ", "′": "ˈ", "ʹ": "ˈ", "ˊ": "ˈ", ":": "ː", "ˑ": "ː", "∶": "ː",
    "ɚ": "ər", "ɝ": "ɜːr", "˞": "r", "ɫ": "l", "ᵊ": "(ə)", "ⁿ": "n", "ʳ": "r",
    "l̩": "(ə)l", "n̩": "(ə)n", "m̩": "(ə)m", "ɹ̩": "ər", "r̩": "ər",
    "ε": "ɛ", "ә": "ə", "ɩ": "ɪ", "ɷ": "ʊ", "ȷ": "j", "ß": "β", "∫": "ʃ", "ᴧ": "ʌ", "Λ": "ʌ",
    "ı": "ɪ",
}  # fmt: skip
"""Other ways to write the same: old symbols, ligatures, typewriter signs and look-alikes."""
_SILENT_SIGNS = re.compile("[.\u203f|‖_\u035c\u0361\u0362·\u200b-\u200d\u2060-]")
"""Removed: dots and hyphens between syllables, links, ties, invisible characters."""
_DIACRITICS = re.compile(
    "[\u0318-\u031a\u031c-\u0320\u0324\u0325\u0329-\u032c\u032f\u0330\u0339-\u033d\u0346-\u034a\u0353ʰʷʱ˺]"
)
"""Removed: shades of a sound that are not distinguished: dental, breathy, unreleased, raised …"""

# IPA=American, or IPA=American/British; the longest that fits is taken.
_ENGLISH = """
eɪ=A ei=A ɛɪ=A aɪ=I ɑɪ=I ai=I ɔɪ=Y oɪ=Y ɔi=Y aʊ=W ɑʊ=W æʊ=W au=W oʊ=O/Q əʊ=O/Q ou=O/Q ɛʊ=O/Q
ɪər=ɪɹ/ɪəɹ ɛər=ɛɹ/ɛːɹ eər=ɛɹ/ɛːɹ ʊər=ʊɹ/ʊəɹ ɜːr=ɜɹ/ɜːɹ ɜr=ɜɹ/ɜːɹ ɔːr=ɔɹ/ɔːɹ ɑːr=ɑɹ/ɑːɹ
iːr=ɪɹ/ɪəɹ ɪr=ɪɹ er=ɛɹ
ɪə=ɪə ɛə=ɛɹ/ɛː eə=ɛɹ/ɛː ʊə=ʊə ɛː=ɛɹ/ɛː eː=A ɜː=ɜɹ/ɜː ɜ=ɜɹ/ɜː əː=ɜɹ/ɜː
iː=i/iː uː=u/uː ɔː=ɔ/ɔː ɑː=ɑ/ɑː aː=ɑ/ɑː ɒː=ɔ/ɔː oː=O/ɔː æː=æ/a øː=ɜɹ/ɜː œː=ɜɹ/ɜː yː=u/uː
i=i ɪ=ɪ e=ɛ ɛ=ɛ æ=æ/a a=æ/a ɐ=ʌ ɑ=ɑ/ɑː ɒ=ɑ/ɒ ɔ=ɔ/ɒ o=O/Q ʊ=ʊ u=u/uː ʌ=ʌ ə=ə ɨ=ᵻ/ɪ ᵻ=ᵻ/ɪ
ʉ=u/uː ɵ=ə ɘ=ə ɤ=ʌ ɯ=u/uː
ø=ɜɹ/ɜː œ=ɜɹ/ɜː y=u/uː ʏ=ʊ ɞ=ɜɹ/ɜː ɶ=ɜɹ/ɜː
tʃ=ʧ dʒ=ʤ tɕ=ʧ dʑ=ʤ tʂ=ʧ ts=ts dz=dz hw=w
p=p b=b t=t d=d k=k g=ɡ q=k c=k ɟ=ɡ ʈ=t ɖ=d ʔ=t m=m n=n ŋ=ŋ ɲ=nj ɳ=n ɱ=m ɴ=ŋ f=f v=v θ=θ ð=ð
s=s z=z ʃ=ʃ ʒ=ʒ
h=h ɦ=h ħ=h x=k χ=k ç=ʃ ɸ=f β=v ɣ=ɡ ʂ=ʃ ʐ=ʒ ɕ=ʃ ʑ=ʒ ʝ=j ɬ=l ɮ=l ʍ=w w=w ʋ=v ɥ=w ɰ=w j=j l=l
ʎ=lj ɭ=l ʟ=l
r=ɹ ɹ=ɹ ɻ=ɹ ʁ=ɹ ʀ=ɹ ɽ=ɹ ɾ=T/t ʲ=j
"""
# IPA=phonemes of the other languages, as eSpeak NG writes them and Kokoro learnt them; all other
# sounds of Kokoro's alphabet stand for themselves.
_OTHERS = "tʃ=ʧ dʒ=ʤ tɕ=ʨ dʑ=ʥ ts=ʦ dz=ʣ g=ɡ"
_LENGTH_MARK = "ː"
_VOWEL = f"[{''.join(sorted(VOWELS - {'ᵊ'}))}]"
_TILDE = "\u0303"


def _is_sound(symbol: str) -> bool:
    """Returns True if a symbol is a sound in IPA too: no mark, and none of Kokoro's capitals."""
    return symbol.islower() or symbol == "ʔ"


@cache
def _table(kind: str) -> tuple[dict[str, str], re.Pattern[str]]:
    """Returns the sounds of IPA symbols for a kind of language, and a pattern of all symbols."""
    pairs = (pair.split("=") for pair in (_OTHERS if kind == "others" else _ENGLISH).split())
    table = {
        symbols: sounds.split("/")[-1 if kind == "british" else 0] for symbols, sounds in pairs
    }
    if kind == "others":
        table |= {symbol: symbol for symbol in SYMBOLS if _is_sound(symbol) and symbol not in table}
    longest = sorted(table, key=len, reverse=True)
    return table, re.compile("|".join(map(re.escape, longest)))


def to_phonemes(ipa: str, language: str) -> str:
    """Returns `ipa` in Kokoro's alphabet, as it is spoken in `language`, a BCP 47 tag. Raises
    IpaError."""
    from narrator.pronunciation import is_british

    tag = language.lower()
    kind = "others" if not tag.startswith("en") else "british" if is_british(tag) else "american"
    text = _normalize_ipa(ipa, kind)
    table, pattern = _table(kind)
    sounds = re.sub(
        f"({pattern.pattern}){_LENGTH_MARK}?({_TILDE})?|(?P<other>.)",
        lambda match: _sound_of_match(match, table, kind, ipa),
        text,
    )
    if kind == "british":  # r is silent but before a vowel
        sounds = re.sub(f"ɹ(?![{STRESSES}]?{_VOWEL})", "", sounds)
    # Of several stresses the last one counts; then it moves to its vowel.
    sounds = re.sub(f"[{STRESSES}]+([{STRESSES}])", r"\1", sounds)
    sounds = re.sub(rf"([{STRESSES}])([^\s{STRESSES}{_VOWEL[1:-1]}]*)(?={_VOWEL})", r"\2\1", sounds)
    sounds = re.sub(f"[{STRESSES}](?!{_VOWEL})", "", sounds)  # no vowel follows to be stressed
    if not set(STRESSES) & set(sounds) and len(re.findall(f"{_VOWEL}+", sounds)) == 1:
        sounds = re.sub(f"({_VOWEL})", r"ˈ\1", sounds, count=1)
    if not sounds.strip(STRESSES + " "):
        raise IpaError(f"{ipa!r} has no sound in it")
    return sounds


def _normalize_ipa(ipa: str, kind: str) -> str:
    """Returns IPA in one spelling, without slashes, brackets and silent signs.

    `kind` is "american", "british" or "others", which are all languages but English.
    """
    text = unicodedata.normalize(
        "NFD", unicodedata.normalize("NFC", ipa.strip()).replace("ç", "\ue000")
    )
    text = text.replace("\ue000", "ç")
    if len(text) > 1 and (text[0], text[-1]) in (("/", "/"), ("[", "]"), ("\\", "\\")):
        text = text[1:-1]
    for other, symbol in sorted(_SPELLINGS.items(), key=lambda pair: -len(pair[0])):
        text = text.replace(unicodedata.normalize("NFD", other), symbol)
    text = _DIACRITICS.sub("", _SILENT_SIGNS.sub("", text))
    text = re.sub(r"\(([rɹ])\)", r"\1" if kind == "american" else "", text)
    text = re.sub(r"\(ə\)(?=[lnm])", "ᵊ" if kind != "others" else "ə", text)
    return " ".join(re.sub(r"\(([^()]*)\)", r"\1", text).split())


def _sound_of_match(match: re.Match[str], table: dict[str, str], kind: str, ipa: str) -> str:
    """Returns the phonemes of a symbol that was matched in `ipa`. Raises IpaError."""
    text = match.group()
    if other := match.group("other"):
        if other in " ˈˌᵊ":
            return other
        name = unicodedata.name(other, "unnamed")
        raise IpaError(
            f"{ipa!r}: {other!r} (U+{ord(other):04X}, {name.lower()}) is not a sound "
            f"of IPA that can be spoken"
        )
    symbols = match.group(1)
    if kind == "others":
        return text.replace(symbols, table[symbols], 1)
    nasal = "n" if match.group(2) else ""
    return table[symbols] + nasal
