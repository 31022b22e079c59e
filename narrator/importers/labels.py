"""Speakers' labels as plays, interviews and transcripts print them at a paragraph's beginning.

`ROPER.`, `Roper (softly):`, `DORINE, à part. —`, `[00:12:03] Anna:`, a name alone on its line. Says
what a text may be labelled with, not whether it is: a novel has such words here and there.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from narrator.importers.book import names
from narrator.importers.counting import ROMAN, counted
from narrator.importers.directions import transition
from narrator.text.normalize.english_lists import SPELLED, WORDS_TOO

Form = Literal["capitals", "apart", "mixed"]
"""How a name is told from what follows: by its capitals, by its style or markup, or not at all."""

Setting = tuple[Form, str, bool]
"""How a label is set, as those of one source are: form, mark, whether it stands alone."""

_DAY = r"(?:\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{4}-\d{2}-\d{2}),?[^\S\n]+"
_CLOCK = rf"(?:{_DAY})?(?:\d{{1,2}}:)?\d{{1,2}}:\d{{2}}(?:[.,]\d{{1,3}})?(?:\s?[AaPp][Mm]\b)?"
_TIME = rf"(?:\[{_CLOCK}(?:\s*(?:-->|[-–—])\s*{_CLOCK})?\]|\({_CLOCK}\)|<{_CLOCK}>|{_CLOCK})"
TIME = re.compile(_TIME)
"""A time of a transcript: `[00:12:03]`, `(00:12)`, `12:03`."""

_SHORT = (
    r"mrs?|ms|mme|mlle|messrs|drs?|ste?|prof|rev|hon|capt|col|gen|lt|sgt|maj|fr|hr|sra?|sig|jr|gov|"
    r"sen|ld|г|гг|м"
)
_WORD = rf"(?:(?i:{_SHORT}|[^\W\d_])\.(?=\s?\w)|[\w’'`&+/-]*[\w’'])"
_ASIDE = r"\([^()]{1,400}\)|\[[^\[\]]{1,400}\]|（[^（）]{1,400}）"
_NAMED = re.compile(
    rf"(?:(?P<before>{_TIME})[^\S\n]*[-–—:]?[^\S\n]+)?"
    rf"(?P<name>(?:\d{{1,2}}\.[^\S\n]+(?=[^\W\d_]))?{_WORD}(?:\.?[^\S\n]+(?:and|AND|&|et|ET|und|UND|y|Y|ed|og|och|и|И)[^\S\n]+{_WORD}|"
    rf"[^\S\n]+(?!{_CLOCK}){_WORD}){{0,7}})"
)
_AFTER = re.compile(
    r"(?P<tail>,[^\S\n][^.:()\[\]\n—–]{1,80}?(?=[^\S\n]?(?:[.:：(\[—–]|\n|$)))?"
    rf"[^\S\n]*(?P<after>{_TIME})?"
    rf"[^\S\n]*(?P<aside>(?:{_ASIDE})(?:[^\S\n]?\([^()\n]{{1,30}}\)(?=[^\S\n]*(?:[.:：]|\n|$)))?)?"
    r"[^\S\n]*(?P<mark>[.:：;](?:[^\S\n]?(?:[—–]|--?(?=\s)))?|[—–]|--|-(?=\s)|(?=[^\S\n]*(?:\n|$)))?"
    r"(?P<gap>\s*)"
)
_LETTER = re.compile(r"(?P<name>[^\W\d_])(?P<mark>(?<![IVX])\.|:)(?P<gap>[^\S\n]+|\n|$)")
"""`Q.`, `A:`."""

_COUNTS = re.compile(ROMAN.upper())
_LINKS = names("and & et und y e i ed o og och ja и и, і en")
_JOIN = re.compile(r"\s*,\s*(?:(?:and|et|und|y|ed|e|og|och|en|и|&)\s+)?|\s*&\s*|\s*/\s*|\s+\+\s+|"
                   r"\s+(?:and|et|und|y|ed|e|og|och|en|и)\s+", re.IGNORECASE)  # fmt: skip
_SLUG = re.compile(r"(?:INT|EXT|EST|I/E)(?:\.|/)\s?(?=\w)")
"""How the heading of a screenplay's scene begins."""
_SMALL = _LINKS | names(
    "of the a an in at to from with le la les l' du de des d' von der den dem zu zum zur van di "
    "del della da do dos das el los las с из за от до св на"
)
_NO_NAMES = names(
    "note notes nota anmerkung nb ps pps n.b p.s end finis fin fine ende конец act akt acte atto "
    "scene szene scène scena сцена действие явление time zeit temps время place ort lieu место "
    "fig figure table chapter part step example exercise problem theorem lemma proof definition "
    "corollary remark warning tip caution important hint ingredients method mode instructions "
    "serves serving yield contents summary abstract date to from subject cc re tel fax source see "
    "curtain vorhang rideau sipario занавес exit exeunt enter reenter re-enter yes no oh ah well "
    "да нет oui non ja nein prologue epilogue prolog epilog strophe antistrophe epode refrain "
    "monday tuesday wednesday thursday friday saturday sunday sufficient seasonable average"
)
"""Words that many texts set before a full stop or a colon, none of them a person."""
COLONS = (":", "：")
_LONGEST = 60
_OFTEN = 20
"""A way of setting labels that has one in so many of the most frequent way's is none."""


@dataclass(frozen=True, slots=True)
class Label:
    """A text's beginning that may name who says the rest of it."""

    name: str
    """As it is printed, without the mark after it."""
    form: Form
    mark: str
    """Its first character; "" where nothing stands after the name."""
    said: int
    """Where the speech begins in the text."""
    is_alone: bool
    """Whether nothing follows on its line."""
    aside: tuple[int, int] = (0, 0)
    """Where the words stand that say how it is said, with their signs."""
    times: tuple[tuple[int, int], ...] = ()
    """Where a transcript's times stand in the text."""

    @property
    def key(self) -> str:
        return key_of(self.name)

    @property
    def setting(self) -> Setting:
        return self.form, self.mark, self.is_alone

    @property
    def stands_out(self) -> bool:
        """Whether it could be told from prose by itself."""
        return self.form != "mixed" or self.mark in COLONS or bool(self.times)


def key_of(name: str) -> str:
    """A name as names are compared."""
    return " ".join(name.split()).strip(" .").casefold()


def several(name: str) -> tuple[str, ...]:
    """The names in a label that joins some: `ROPER and MORE`, `Ros. & Guil.`"""
    return tuple(part.strip(" .") for part in _JOIN.split(name) if part and part.strip(" ."))


def labels(text: str, apart: str = "", is_name: bool = False) -> tuple[Label, ...]:
    """What a text may be labelled with, the likeliest first.

    `apart` are words at its beginning that style or markup sets apart, and `is_name` whether it
    says that they are a speaker's. Lines are parted by newlines.
    """
    found: list[Label] = []
    named = _NAMED.match(text)
    name = apart.strip(" .:;,—–-") if is_name else ""
    if name and text.startswith(name):
        found += _made((0, len(name)), (0, 0), text, apart, True)
    elif named:
        found += _made(named.span("name"), named.span("before"), text, apart)
    if letter := _LETTER.match(text):
        form: Form = "capitals" if letter["name"].isupper() else "mixed"
        alone = letter["gap"] in ("", "\n")
        found.append(Label(letter["name"], form, letter["mark"], letter.end(), alone))
    likely = (one for one in found if may_name(one.name))
    return tuple(one for one in likely if one.form != "mixed" or letter or _is_mixed(one, text))


def settings(found: Iterable[Label]) -> set[Setting]:
    """How labels are set: in the way of most that come again, and in other ways that are not rare.

    Where most are in capitals or apart, none is like a word of prose.
    """
    listed = list(found)
    counts = Counter(label.key for label in listed)
    ways = Counter(label.setting for label in listed if counts[label.key] > 1)
    if not ways:
        return set()
    (form, *_), most = ways.most_common(1)[0]
    same = ("mixed",) if form == "mixed" else ("capitals", "apart")
    return {way for way, count in ways.items() if way[0] in same and _OFTEN * count >= most}


def _made(
    at: tuple[int, int], before: tuple[int, int], text: str, apart: str, certain: bool = False
) -> Iterator[Label]:
    """The label of a name that stands at a place in a text, below a time or without one."""
    found = _AFTER.match(text, at[1])
    if found is None:
        return
    name, mark = text[slice(*at)], found["mark"]
    name, asides = _with_tail(name, found)
    form = _form(name, apart, text[: found.end()])
    bounded = certain or mark is not None or any(found.group("aside", "after"))
    cells = mark == ";" and form != "apart"  # of a row, parted by semicolons
    if form is None or cells or not bounded or len(asides) > 1:
        return
    alone = "\n" in found["gap"] or found.end() == len(text)
    times = _times(text, [before, found.span("after"), *asides])
    aside = (*(one for one in asides if one not in times), (0, 0))[0]
    yield Label(name, form, (mark or "")[:1], found.end(), alone, aside, times)


def _times(text: str, spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Which stretches of a text are times, in brackets or bare."""
    found = []
    for begin, end in spans:
        if end > 0 and (
            TIME.fullmatch(text, begin, end) or TIME.fullmatch(text, begin + 1, end - 1)
        ):
            found.append((begin, end))
    return tuple(found)


def _with_tail(name: str, found: re.Match[str]) -> tuple[str, list[tuple[int, int]]]:
    """A name with those that a comma parts from it, and where it is said how it is spoken."""
    asides = [found.span("aside")] if found["aside"] else []
    whole = f"{name}{found['tail'] or ''}"
    if whole == name or all(map(_is_capital, several(whole))):
        return whole, asides
    return name, [found.span("tail"), *asides]


def _form(name: str, apart: str, until: str) -> Form | None:
    """How a name is set; None where it only counts, or what is set apart is another text."""
    if _COUNTS.fullmatch(name):
        return None
    if apart:
        bare, around = _letters(name), _letters(apart)
        if bare and around.startswith(bare) and _letters(until).startswith(around):
            return "apart"
    if is_capitals(name):
        return "capitals"
    return "mixed" if not apart or _letters(apart) not in _letters(name) else None


def _letters(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())


def may_name(name: str) -> bool:
    """Whether words may be a name: a capital at their head, and none that heads something else."""
    words = name.split()
    first = words[0].strip(".’'").casefold() if words else ""
    if not words or len(name) > _LONGEST or first in _NO_NAMES or not any(map(str.isalpha, name)):
        return False
    said = counted(name)
    if said is not None and (said.value is not None or not said.title) and said.word:
        return False
    if key_of(name) in ("the end", "the curtain", "le rideau"):
        return False
    if _SLUG.match(name) or transition(f"{name}:"):
        return False
    head = next((c for c in name if c.isalnum()), "")
    return head.isdigit() or head.isupper() or unicodedata.category(head) in ("Lo", "Lt")


def is_capitals(name: str) -> bool:
    """Whether a name is in capitals: `MRS. PEARCE`, `LADY of the LAKE`; `Ghost` is in none."""
    shouted = False
    for word in re.findall(r"[^\W_]+(?:[’'][^\W_]+)*", name):
        bare = re.sub(r"^(?:Mc|Mac|De|Di|D[’']|O[’'])(?=[^\W\d_]{2})|[’']s$", "", word)
        if len(bare) > 1 and bare.isupper():
            shouted = True
        elif not (
            word.isupper()
            or word.casefold() in _SMALL
            or word[0].isdigit()
            or re.fullmatch(_SHORT, word.casefold())
        ):
            return False
    return shouted


def _is_capital(name: str) -> bool:
    return name[:1].isupper() and (name.isupper() or len(name.split()) <= 3)


def _is_mixed(label: Label, text: str) -> bool:
    """Whether a name in ordinary letters may be a label by what stands around it."""
    words = label.name.split()
    if len(words) > (4 if label.mark in COLONS else 3):
        return False
    rest = text[label.said :].lstrip("“\"'‘«„([—–- ¿¡")
    if label.mark in COLONS or label.times:
        return all(w[0].isupper() or not w[0].isalpha() or not w[0].islower() for w in words) or (
            len(words) <= 2
        )
    if not label.mark:
        return label.is_alone or bool(label.aside[1])
    return not rest or not rest[0].islower()


def ordinary(name: str) -> str:
    """A name in ordinary capitals: `LADY BRACKNELL` is `Lady Bracknell`, `Q` stays."""
    name = " ".join(re.sub(r"[:()\[\]{}*]", " ", name).split())
    if not is_capitals(name):
        return name
    words = name.split()
    if len(words) == 1 and (len(name) <= 2 or not re.search(r"[AEIOUYÀ-ÝА-ЯΑ-Ω]", name)):
        return name
    return " ".join(_lowered(word, number) for number, word in enumerate(words))


def _lowered(word: str, number: int) -> str:
    bare = word.strip(".,")
    if number and (bare.casefold() in _SMALL and len(bare) > 1):
        return word.lower()
    if number and re.fullmatch(ROMAN, bare.casefold()) and len(bare) < 5:
        return word
    pieces = re.split(r"([-/&+]|(?<=\b[ODLodl])[’'])", word)
    return "".join(_capital(piece) for piece in pieces)


def _capital(piece: str) -> str:
    if piece[:2] in ("Mc", "MC") and len(piece) > 4:
        return f"Mc{piece[2:].capitalize()}"
    return piece.lower() if piece[:1].isdigit() else piece[:1] + piece[1:].lower()


def lowered_capitals(text: str, begins: bool = True) -> str:
    """Words of capitals in ordinary letters, all else as it is: `INT. HOUSE - DAY` is
    `Int. House - Day`, or where they begin nothing `(ON THE PHONE)` is `(on the phone)`.

    What is spelled out stays: `TV`, `BBC`, `FBI`.
    """
    if not begins and not text.isupper():
        return text

    def lowered(found: re.Match[str]) -> str:
        word = found[0]
        if re.fullmatch(r"\d+(?:ST|ND|RD|TH)", word):
            return word.lower()
        letters = re.search(r"[AEIOUYÀ-ÝА-ЯΑ-Ω]", word) and word not in SPELLED - WORDS_TOO
        if not letters or not word.isupper():
            return word
        made = _lowered(word, found.start()) if begins else word.lower()
        return made if len(made) == len(word) else word

    return re.sub(r"[^\W_](?:[\w&’'.-]*[^\W_])?", lowered, text)
