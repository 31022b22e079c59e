"""What a language model proposes for casting: a line on each character's voice, a style for lines
of which the narration says how they are said.

Proposals are for a person to take or leave: nothing is written by them. A description is one plain
line; a style is chosen from a list, as a speaker is.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from threading import Event

from narrator.characters import seen
from narrator.text.sentences import sentences
from narrator.text.speakers import Attribution, Said
from narrator.text.speakers.answers import Answers, Reader

LONGEST = 200
"""Characters of a description."""
_WRITTEN = 80
"""Tokens of a description."""
LINES = 10
"""Quotations that a character says at least, to be described."""
_ABOUT, _OWN = 4000, 1200
"""Characters of what the narration tells of somebody, and of what they say themselves."""
_STYLES = (
    "whispering", "softly", "shouting", "crying", "laughing", "angrily", "afraid", "sadly",
    "gently", "coldly", "excited", "out of breath", "tired", "mocking",
)  # fmt: skip
_PLAIN = "none of these"
_SURE = 0.6
"""How likely a style is, to be proposed."""

_MANNER = re.compile(
    r"\b(?:whisper|murmur|mutter|shout|cried|cry|scream|shriek|sob|we(?:pt|ep)|laugh|chuckl|giggl|"
    r"sigh|groan|moan|gasp|pant|hiss|growl|snarl|sneer|snap|roar|bellow|yell|stammer|falter|"
    r"trembl|drawl|lisp|voice|tone|accent|hoarse|husky|shrill|breathless|softly|loudly|quietly|"
    r"coldly|angrily|sadly|gently|bitterly|gravely|eagerly|timidly|sternly|gruffly|sharply)\w*",
    re.IGNORECASE,
)
_LOOKS = re.compile(
    r"\b(?:old|young|elderly|aged?|years|boy|girl|man|woman|lady|gentleman|child|tall|small|stout|"
    r"thin|big|little|pale|beautiful|handsome|proud|shy|merry|grave|kind|manner|temper)\b",
    re.IGNORECASE,
)
_DESCRIBE = """\
Below is what a book tells of {name}{also}, and some of what {name} says. Describe the voice of \
{name} for casting a reader, in one line of at most 25 words: age, pitch, pace, manner, accent. \
Nothing but the description, without the name.

The book:
{about}

{name} says:
{own}
"""
_STYLE = """\
How is the quotation in a paragraph of a book said? Answer with the code of one manner in the list.

Manners:
{manners}

"""


@dataclass(frozen=True, slots=True)
class Description:
    """How a character may sound."""

    name: str
    line: str
    """For `voice: {description: …}`: one line of at most LONGEST characters."""


@dataclass(frozen=True, slots=True)
class Style:
    """How a quotation may be said."""

    said: Said
    style: str
    sure: float
    """0 to 1."""


Tell = Callable[[int, int], None]
"""Told how many are done, and how many there are."""


def descriptions(
    chapters: Sequence[Sequence[str]],
    attribution: Attribution,
    reader: Reader,
    answers: Answers,
    *,
    language: str,
    tell: Tell = lambda done, total: None,
    cancel: Event | None = None,
) -> list[Description]:
    """A line on the voice of everybody who says LINES quotations, who says most first.

    Who gets no usable line is left out. Raises what `reader` and `answers` raise.
    """
    spoken: dict[str, list[Said]] = {}
    for said in attribution.said:
        if said.speaker is not None:
            spoken.setdefault(said.speaker, []).append(said)
    names = {member.name: (member.name, *member.aliases) for member in attribution.cast}
    chosen = [name for name in names if len(spoken.get(name, ())) >= LINES]
    chosen.sort(key=lambda name: -len(spoken[name]))
    told = _told(chapters, attribution, language)
    found = []
    for done, name in enumerate(chosen, 1):
        if cancel and cancel.is_set():
            break
        about = _fitting(_about(names[name], told, {id(one) for one in spoken[name]}), _ABOUT)
        own = _fitting(_evenly([_words(chapters, said) for said in spoken[name]], 12), _OWN)
        others = ", ".join(names[name][1:5])
        prompt = _DESCRIBE.format(
            name=name, also=f" ({others})" if others else "", about=about, own=own
        )
        if line := plain(answers.line(reader, prompt, _WRITTEN), name):
            found.append(Description(name, line))
        tell(done, len(chosen))
    return found


def plain(written: str, name: str = "") -> str:
    """What a model wrote as one line without markup, cut at a sentence's or a word's end; "" where
    nothing of use is left."""
    rows = [row for row in seen(written).strip().splitlines() if row.strip()]
    line = re.sub(r"<[^>]*>|[*_`#<>{}\[\]|\\]", "", rows[0] if rows else "")
    label = rf"(?:{re.escape(name)}(?:['’]s voice)?|voice|description|answer)\s*:"
    line = re.sub(rf"^\s*(?:[-•]\s*)?{label}", "", line, flags=re.IGNORECASE)
    line = " ".join(line.split()).strip("\"“”'‘’ -–—:")
    if len(line) > LONGEST:
        cut = line[: LONGEST + 1]
        end = max(cut.rfind(mark) for mark in (". ", "; "))
        line = cut[:end] if end > LONGEST // 3 else cut[: cut.rfind(" ")] if " " in cut else ""
    line = line.rstrip(" ,;:-–—.")
    return line if sum(c.isalpha() for c in line) > len(line) / 2 else ""


def styles(
    chapters: Sequence[Sequence[str]],
    attribution: Attribution,
    reader: Reader,
    answers: Answers,
    *,
    tell: Tell = lambda done, total: None,
    cancel: Event | None = None,
) -> list[Style]:
    """Styles for lines whose own paragraph tells how they are said, in the order of the book.

    Raises what `reader` and `answers` raise.
    """
    marked = [said for said in attribution.said if said.speaker and _is_marked(chapters, said)]
    codes = string.ascii_uppercase[: len(_STYLES) + 1]
    rows = zip(codes, (*_STYLES, _PLAIN), strict=True)
    shared = _STYLE.format(manners="\n".join(f"{code} = {style}" for code, style in rows))
    found = []
    for start in range(0, len(marked), _BESIDE):
        if cancel and cancel.is_set():
            break
        some = marked[start : start + _BESIDE]
        questions = [_paragraph(chapters, said) for said in some]
        for said, odds in zip(
            some, answers.likelihoods(reader, shared, questions, codes), strict=True
        ):
            best = max(range(len(odds)), key=odds.__getitem__)
            if best < len(_STYLES) and odds[best] >= _SURE:
                found.append(Style(said, _STYLES[best], odds[best]))
        tell(start + len(some), len(marked))
    return found


_BESIDE = 32
"""Lines that are asked for at once."""


# -- what is read ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Narration:
    """A sentence of narration."""

    text: str
    beside: frozenset[int]
    """Which `Said` its paragraph has, by identity."""
    weight: int
    """How much it may tell of a voice."""


def _told(
    chapters: Sequence[Sequence[str]], attribution: Attribution, language: str
) -> list[_Narration]:
    """The narration, sentence by sentence, without what is quoted."""
    pieces: dict[tuple[int, int], list[Said]] = {}
    for said in attribution.said:
        pieces.setdefault((said.chapter, said.quotation.paragraph), []).append(said)
    found = []
    for number, paragraphs in enumerate(chapters):
        for place, text in enumerate(paragraphs):
            own = pieces.get((number, place), [])
            beside = frozenset(map(id, own))
            bare = _bare(text, own)
            for start, stop in sentences(bare, language):
                sentence = " ".join(bare[start:stop].split())
                weight = 2 * len(_MANNER.findall(sentence)) + len(_LOOKS.findall(sentence))
                if len(sentence) > 8:
                    found.append(_Narration(sentence, beside, weight))
    return found


def _bare(text: str, own: Sequence[Said]) -> str:
    """A paragraph without its quotations."""
    parts, at = [], 0
    for said in own:
        parts.append(text[at : said.quotation.start])
        at = said.quotation.stop
    return "… ".join((*parts, text[at:]))


def _about(names: Sequence[str], told: Sequence[_Narration], own: set[int]) -> list[str]:
    """Sentences on somebody, those that tell most of a voice, in the text's order."""
    called = re.compile(rf"(?<!\w)(?:{'|'.join(re.escape(name) for name in names)})(?!\w)")
    found = []
    for place, one in enumerate(told):
        weight = one.weight * (2 if one.beside and one.beside <= own else 1)
        if (weight and one.beside & own) or called.search(one.text):
            found.append((weight, place))
    best = sorted(found, key=lambda item: (-item[0], item[1]))[:60]
    return [told[place].text for place in sorted(place for _, place in best)]


def _fitting(texts: Sequence[str], most: int) -> str:
    """As many as fit into so many characters, a line each."""
    return "\n".join(_while_they_fit(texts, most)) or "(nothing)"


def _while_they_fit(texts: Sequence[str], most: int) -> Iterator[str]:
    for text in texts:
        most -= len(text) + 1
        if most < 0:
            return
        yield text


def _evenly(texts: Sequence[str], count: int) -> list[str]:
    """So many of all, from beginning to end."""
    step = max(1.0, len(texts) / count)
    return [texts[int(n * step)] for n in range(min(count, len(texts)))]


def _words(chapters: Sequence[Sequence[str]], said: Said) -> str:
    quotation = said.quotation
    text = chapters[said.chapter][quotation.paragraph][quotation.start : quotation.stop]
    return " ".join(text.split())[:300]


def _is_marked(chapters: Sequence[Sequence[str]], said: Said) -> bool:
    """Whether the narration around a piece, in its own paragraph, tells how it is said."""
    text = chapters[said.chapter][said.quotation.paragraph]
    before = text[max(0, said.quotation.start - 80) : said.quotation.start]
    after = text[said.quotation.stop : said.quotation.stop + 120]
    return bool(_MANNER.search(before) or _MANNER.search(after))


def _paragraph(chapters: Sequence[Sequence[str]], said: Said) -> str:
    """What is asked about a piece: its surroundings and its words."""
    text = chapters[said.chapter][said.quotation.paragraph]
    start, stop = said.quotation.start, said.quotation.stop
    around = " ".join(text[max(0, start - 200) : min(len(text), stop + 200)].split())
    return f"Paragraph: {around[:1200]}\nQuotation: {_words(chapters, said)}\nAnswer with one code."
