"""How an English word that no dictionary has may sound: near enough to find it, not to say it.

Sounds are those of the CMU dictionary, without stress. Knows no aligner.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator

Lookup = Callable[[str], str | None]
"""The sounds of a word in lower case, where the dictionary has it."""

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
_LONGEST = 5
_LONG = {"a": "EY", "e": "IY", "i": "AY", "o": "OW", "u": "UW", "y": "AY"}
"""Before one consonant and an e that is not heard."""
_LAST = {"i": "IY", "o": "OW", "y": "IY", "u": "UW"}
_VOWELS = frozenset("aeiouy")
_ENDINGS = {
    "ings": "IH NG Z", "ing": "IH NG", "ness": "N AH S", "less": "L AH S", "ful": "F AH L",
    "ly": "L IY", "ers": "ER Z", "er": "ER", "est": "AH S T", "ed": "D", "es": "AH Z", "s": "Z",
    "'s": "Z", "'": "", "'d": "D", "'ll": "L", "'ve": "V", "'re": "R", "n't": "AH N T",
}  # fmt: skip
_DIGITS = "zero one two three four five six seven eight nine".split()
_PLAIN = str.maketrans(
    {"æ": "ae", "œ": "oe", "ø": "o", "ß": "ss", "ł": "l", "ð": "th", "þ": "th", "ı": "i", "’": "'"}
)


def spelled(word: str) -> list[str]:
    """A written word as those that are looked up: in plain letters, digits by name. Empty where it
    has no letters that English has."""
    flat = unicodedata.normalize("NFKD", word.lower()).translate(_PLAIN)
    plain = "".join(
        letter for letter in flat if letter.isascii() and (letter.isalnum() or letter == "'")
    )
    found: list[str] = []
    rest = ""
    for letter in plain:
        if letter.isdigit():
            found += [rest] if rest else []
            found, rest = [*found, _DIGITS[int(letter)]], ""
        else:
            rest += letter
    return [one for one in (*found, rest) if one.strip("'")]


def sounds(word: str, known: Lookup) -> str:
    """A word's sounds: as the dictionary has it, as a known word and an ending, as two known words,
    or by its letters."""
    found = known(word)
    if found is None and word.strip("'") != word:
        return sounds(word.strip("'"), known)
    return found or _derived(word, known) or _two(word, known) or " ".join(_by_letters(word))


def _derived(word: str, known: Lookup) -> str | None:
    for ending, more in _ENDINGS.items():
        stem = word.removesuffix(ending)
        if stem == word or len(stem) < 3:
            continue
        for one in (stem, stem + "e", stem[:-1] if stem[-1] == stem[-2] else stem):
            found = known(one)
            if found is not None:
                return f"{found} {more}".strip()
    return None


def _two(word: str, known: Lookup) -> str | None:
    for at in sorted(range(3, len(word) - 2), key=lambda at: abs(2 * at - len(word))):
        first, second = known(word[:at]), known(word[at:])
        if first is not None and second is not None:
            return f"{first} {second}"
    return None


def _by_letters(word: str) -> Iterator[str]:
    word = word.replace("'", "")
    at = 0
    while at < len(word):
        if word[at - 1 : at] == word[at] and word[at] not in _VOWELS:  # doubled, said once
            at += 1
            continue
        rest = word[at:]
        if rest == "e" and at > 2:
            return
        own = _LAST.get(rest) if at else None
        if word[at] in _VOWELS and _is_long(rest):
            own = _LONG[word[at]]
        if own:
            yield own
            at += 1
            continue
        length = next(n for n in range(_LONGEST, 0, -1) if rest[:n] in _SOUNDS)
        yield from _SOUNDS[rest[:length]].split("_")
        at += length


def _is_long(rest: str) -> bool:
    return len(rest) == 3 and rest[2] == "e" and rest[1] not in _VOWELS | {"r", "c", "g"}
