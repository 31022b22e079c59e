"""Guesses the sounds of English words that no dictionary has, well enough to locate them.

Sounds are those of the CMU dictionary, without stress. Knows no aligner.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator

Lookup = Callable[[str], str | None]
"""Returns the sounds of a word in lower case, if the dictionary has it."""

_SPELLING_SOUNDS = {
    **dict(
        pair.split("=")
        for pair in """
        eigh=EY augh=AO ough=AO tion=SH_AH_N sion=ZH_AH_N ture=CH_ER cious=SH_AH_S tious=SH_AH_S
        sch=S_K tch=CH igh=AY eau=OW dge=JH oor=AO_R our=AO_R air=EH_R ear=IH_R eer=IH_R ier=IH_R
        que=K qu=K_W ch=CH sh=SH th=TH ph=F wh=W ck=K ng=NG gh=G kn=N wr=R rh=R sc=S_K
        ai=EY ay=EY au=AO aw=AO ea=IY ee=IY ei=EY eu=Y_UW ew=UW ey=IY ie=IY oa=OW oe=OW oi=OY oo=UW
        ou=AW ow=OW oy=OY ue=UW ui=UW ar=AA_R er=ER ir=ER or=AO_R ur=ER yr=ER ce=S ci=S_IH cy=S_IY
        ge=JH gi=JH_IH gy=JH_IY x=K_S a=AE b=B c=K d=D e=EH f=F g=G h=HH i=IH j=JH k=K l=L m=M n=N
        o=AA p=P q=K r=R s=S t=T u=AH v=V w=W y=IH z=Z
        """.split()
    )
}
"""Sounds of spellings; the longest spelling that fits counts."""
_MAX_SPELLING_LETTERS = max(map(len, _SPELLING_SOUNDS))
_LONG_VOWELS = {"a": "EY", "e": "IY", "i": "AY", "o": "OW", "u": "UW", "y": "AY"}
_LONG_VOWEL = re.compile("[aeiouy][^aeiouyrcg]e")
"""A word's last letters: a vowel before one consonant and a silent e."""
_FINAL_VOWELS = {"i": "IY", "o": "OW", "y": "IY", "u": "UW"}
_VOWELS = frozenset("aeiouy")
_ENDINGS = {
    "ings": "IH NG Z", "ing": "IH NG", "ness": "N AH S", "less": "L AH S", "ful": "F AH L",
    "ly": "L IY", "ers": "ER Z", "er": "ER", "est": "AH S T", "ed": "D", "es": "AH Z", "s": "Z",
    "'s": "Z", "'": "", "'d": "D", "'ll": "L", "'ve": "V", "'re": "R", "n't": "AH N T",
}  # fmt: skip
_DIGITS = "zero one two three four five six seven eight nine".split()
_PLAIN_LETTERS = str.maketrans(
    {"æ": "ae", "œ": "oe", "ø": "o", "ß": "ss", "ł": "l", "ð": "th", "þ": "th", "ı": "i", "’": "'"}
)


def split_spelling(word: str) -> list[str]:
    """Splits a written word into words to look up: in plain letters, digits by name.

    Empty where it has no English letters.
    """
    flat = unicodedata.normalize("NFKD", word.lower()).translate(_PLAIN_LETTERS)
    plain = "".join(
        letter for letter in flat if letter.isascii() and (letter.isalnum() or letter == "'")
    )
    parts = (part for part in re.findall(r"\d|[^\d]+", plain) if part.strip("'"))
    return [_DIGITS[int(part)] if part.isdigit() else part for part in parts]


def guess_sounds(word: str, look_up: Lookup) -> str:
    """Returns a word's sounds.

    From the dictionary, as a known word with an ending, as two known words, or by its letters.
    """
    dictionary_sounds = look_up(word)
    if dictionary_sounds is None and word.strip("'") != word:
        return guess_sounds(word.strip("'"), look_up)
    return (
        dictionary_sounds
        or _sounds_with_ending(word, look_up)
        or _compound_sounds(word, look_up)
        or " ".join(_letter_sounds(word))
    )


def _sounds_with_ending(word: str, look_up: Lookup) -> str | None:
    """Returns the sounds of a word that is a known word with an ending, or None."""
    for ending, ending_sounds in _ENDINGS.items():
        stem = word.removesuffix(ending)
        if stem == word or len(stem) < 3:
            continue
        for spelling in (stem, stem + "e", stem[:-1] if stem[-1] == stem[-2] else stem):
            stem_sounds = look_up(spelling)
            if stem_sounds is not None:
                return f"{stem_sounds} {ending_sounds}".strip()
    return None


def _compound_sounds(word: str, look_up: Lookup) -> str | None:
    """Returns the sounds of two known words that make up a word, split as near to its middle as
    possible."""
    for split in sorted(range(3, len(word) - 2), key=lambda index: abs(2 * index - len(word))):
        first, second = look_up(word[:split]), look_up(word[split:])
        if first is not None and second is not None:
            return f"{first} {second}"
    return None


def _letter_sounds(word: str) -> Iterator[str]:
    """Yields the sounds of a word by its spelling alone."""
    letters = word.replace("'", "")
    position = 0
    while position < len(letters):
        letter, remainder = letters[position], letters[position:]
        if letters[position - 1 : position] == letter and letter not in _VOWELS:
            position += 1  # a doubled consonant is spoken once
            continue
        if remainder == "e" and position > 2:
            return
        vowel_sound = _FINAL_VOWELS.get(remainder) if position else None
        if _LONG_VOWEL.fullmatch(remainder):
            vowel_sound = _LONG_VOWELS[letter]
        if vowel_sound:
            yield vowel_sound
            position += 1
            continue
        length = next(
            n for n in range(_MAX_SPELLING_LETTERS, 0, -1) if remainder[:n] in _SPELLING_SOUNDS
        )
        yield from _SPELLING_SOUNDS[remainder[:length]].split("_")
        position += length
