"""Guesses the sounds of English words that no dictionary has, well enough to locate them.

Sounds are those of the CMU dictionary, without stress. Knows no aligner.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator

Lookup = Callable[[str], str | None]
"""Returns the sounds of a word in lower case, if the dictionary has it."""

_SOUNDS = {
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
_MAX_LETTERS = 5
_LONG_VOWELS = {"a": "EY", "e": "IY", "i": "AY", "o": "OW", "u": "UW", "y": "AY"}
"""Vowels before one consonant and a silent e."""
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


def spelled(word: str) -> list[str]:
    """Splits a written word into words to look up: in plain letters, digits by name.

    Empty where it has no English letters.
    """
    flat = unicodedata.normalize("NFKD", word.lower()).translate(_PLAIN_LETTERS)
    plain = "".join(
        letter for letter in flat if letter.isascii() and (letter.isalnum() or letter == "'")
    )
    words: list[str] = []
    letters = ""
    for letter in plain:
        if letter.isdigit():
            words += [letters] if letters else []
            words, letters = [*words, _DIGITS[int(letter)]], ""
        else:
            letters += letter
    return [word_part for word_part in (*words, letters) if word_part.strip("'")]


def sounds(word: str, look_up: Lookup) -> str:
    """Returns a word's sounds.

    From the dictionary, as a known word with an ending, as two known words, or by its letters.
    """
    known_sounds = look_up(word)
    if known_sounds is None and word.strip("'") != word:
        return sounds(word.strip("'"), look_up)
    return (
        known_sounds
        or _sounds_with_ending(word, look_up)
        or _compound_sounds(word, look_up)
        or " ".join(_letter_sounds(word))
    )


def _sounds_with_ending(word: str, look_up: Lookup) -> str | None:
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
    for split in sorted(range(3, len(word) - 2), key=lambda at: abs(2 * at - len(word))):
        first, second = look_up(word[:split]), look_up(word[split:])
        if first is not None and second is not None:
            return f"{first} {second}"
    return None


def _letter_sounds(word: str) -> Iterator[str]:
    word = word.replace("'", "")
    position = 0
    while position < len(word):
        if (
            word[position - 1 : position] == word[position] and word[position] not in _VOWELS
        ):  # doubled, said once
            position += 1
            continue
        remainder = word[position:]
        if remainder == "e" and position > 2:
            return
        vowel_sound = _FINAL_VOWELS.get(remainder) if position else None
        if word[position] in _VOWELS and _is_long_vowel(remainder):
            vowel_sound = _LONG_VOWELS[word[position]]
        if vowel_sound:
            yield vowel_sound
            position += 1
            continue
        length = next(n for n in range(_MAX_LETTERS, 0, -1) if remainder[:n] in _SOUNDS)
        yield from _SOUNDS[remainder[:length]].split("_")
        position += length


def _is_long_vowel(remainder: str) -> bool:
    return (
        len(remainder) == 3
        and remainder[2] == "e"
        and remainder[1] not in _VOWELS | {"r", "c", "g"}
    )
