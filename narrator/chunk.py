"""Lines -> sentences -> chunks; lossless.

Sentences: this module finds where a sentence may end, a library with the language's abbreviations
says which full stops end one (pysbd, and sentencex for the languages it lacks), and rules for
dialogue have the last word. Both libraries alter or drop text in places, so they see a masked copy
of the same length, and only offsets are taken from them.

Chunks: a line is cut where its sentences end, into parts of even length near the target. Short
lines join a neighbour of the same speaker. What becomes of a line depends on its own text and on
the run of short lines it stands in, so that an edit changes no chunks further away.

Knows nothing of spoken forms, voices and engines.
"""

from __future__ import annotations

import functools
import math
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import sentencex

from narrator.script import Line, Say, Scene

SHORT = 3.0
"""Seconds: a line of less joins a neighbour. One- and two-word lines fail in the model, which was
trained on clips of about a second and more."""

RUN = 5.0
"""Seconds that a run of short lines is gathered to. Small, so that runs that differ in one line
soon have the same chunks again."""


@dataclass(frozen=True, slots=True)
class Piece:
    """`line.text[start:stop]`, the part of one line that a chunk speaks."""

    line: Line
    start: int
    stop: int

    @property
    def text(self) -> str:
        return self.line.text[self.start : self.stop]


@dataclass(frozen=True, slots=True)
class Chunk:
    """What the engine speaks in one go: whole sentences of one speaker in one scene.

    The pieces of all chunks of a line, joined, give `line.text` back, character by character.
    """

    speaker: str
    style: str | None
    pieces: tuple[Piece, ...]
    """One of each line."""
    boundary: str
    """What follows in the source: "clause", "sentence", "line", "heading", "scene" (scene's end).

    "heading" stands on both sides of a heading.
    """
    rest: float | None = None
    """Seconds of a pause set by hand after this chunk, instead of the boundary's own."""
    lead: float = 0.0
    """Seconds of a pause set by hand before the first chunk of a scene."""

    @property
    def text(self) -> str:
        """Source text, the pieces parted by a line break, which ends what has no full stop."""
        return "\n".join(piece.text for piece in self.pieces)

    @property
    def says(self) -> tuple[Say, ...]:
        """What of `text` is to be spoken otherwise."""
        found: list[Say] = []
        shift = 0
        for piece in self.pieces:
            shift -= piece.start
            for say in piece.line.says:
                if piece.start <= say.start and say.stop <= piece.stop:
                    found.append(Say(say.start + shift, say.stop + shift, say.spoken))
            shift += piece.stop + 1
        return tuple(found)


# -- sentences -------------------------------------------------------------------------------------

_QUOTES_CLOSING = "\"'”’»›」』“‘«‹"

# Where a sentence may end: at marks with white space after them, at a dash that breaks speech off,
# and at full-width marks. After those, “ ‘ « open the next sentence.
_ENDING = (
    r"(?P<mark>[.!?…‽؟۔।॥።፧։။།%s]+)"
    r"(?P<closers>[\"'”’»›)\]}」』】〉》“‘«‹\u2060]*(?:[\u00a0\u202f ]»(?!\w))?)(?:\s+|\Z)"
    r"|(?P<broken>(?:[—–]|--)\u2060*[\"'”’»])\s+"
    r"|(?P<wide>[。！？．｡][。！？．｡…!?]*)(?P<wide_closers>[”’」』】〉》）］｝〕〗)\]\u2060]*)\s*"
)
_ENDINGS = re.compile(_ENDING % "")
_GREEK_ENDINGS = re.compile(_ENDING % ";\u037e")
_LETTER = re.compile(r"[^\W\d_]")
_OPENING = re.compile(r"[\s\"'“‘’«‹„‚¿¡(\[—–\-\u2060]*")
_QUOTES_OPENING = re.compile(r"[\"'“‘«‹„‚]")


def sentences(text: str, language: str) -> list[tuple[int, int]]:
    """Spans of the sentences of `text`: in order, without gaps, white space at the end of each.

    A span holds a letter, where the text has any. `language` is a BCP 47 tag.
    """
    code = _primary(language)
    stops = _full_stops(text, code)
    endings = _GREEK_ENDINGS if code == "el" else _ENDINGS
    ends = [found.end() for found in endings.finditer(text) if _ends_sentence(found, code, stops)]
    spans: list[tuple[int, int]] = []
    start = 0
    letter = _LETTER.search(text)
    for end in (*ends, len(text)):
        if letter and letter.start() < end:
            spans.append((start, end))
            start = end
            letter = _LETTER.search(text, start)
    if start < len(text):
        spans[-1:] = [(spans[-1][0] if spans else 0, len(text))]
    return spans


def _primary(language: str) -> str:
    return re.split("[-_]", language.lower(), maxsplit=1)[0]


def _ends_sentence(found: re.Match[str], code: str, stops: Set[int]) -> bool:
    text, end = found.string, found.end()
    opening = _OPENING.match(text, end)
    assert opening is not None  # it matches the empty string
    follows = text[opening.end() : opening.end() + 1]
    if not follows:
        return True
    if found["wide"]:
        return not (found["wide_closers"] and _WIDE_TAG.match(text, end))
    quoted = bool(found["broken"] or set(found["closers"]) & set(_QUOTES_CLOSING))
    opens = bool(_QUOTES_OPENING.search(opening[0]))
    if follows in ".…,;:!?" or (_is_lower(follows) and not opens):
        return False
    mark = found["mark"] or ""
    if code == "en" and quoted and _TAG.match(text, end):
        return False
    if code == "en" and not quoted and mark.endswith(("…", "..")) and _I.match(text, end):
        return False
    return mark != "." or _is_full_stop(text, found.start(), opening.end(), code, stops)


def _is_lower(character: str) -> bool:
    # Georgian letters count as lower case in Unicode, and have no capitals in running text.
    return character.islower() and not "\u10d0" <= character <= "\u10ff"


_I = re.compile(r"I(?:['’](?:m|ve|d|ll))?\b(?!\.)")
_TAG = re.compile(
    r"(?:I|[A-Z][\w’'.-]*(?: [A-Z][\w’'-]*)?) (?:said|asked|cried|replied|answered|shouted|"
    r"whispered|murmured|muttered|called|repeated|exclaimed|inquired|enquired|demanded|began|added|"
    r"continued|went on|observed|remarked|agreed|admitted|suggested|returned|gasped|sighed|says)\b"
)
"""`“Really?” I said.` and `“Really?” Mr. Pym asked.`: what was said and who said it are one."""

_WIDE_TAG = re.compile(r"と|って|\w{0,10}?[说說道问問答喊叫嚷想](?![：:])")
"""“你是谁？”他说。 and 「そうか？」と彼は言った。"""

_NEVER_LAST = re.compile(
    r"(?:Mrs?|Ms|Messrs|Mlle|Mme|Msgr|Dr|Prof|Hon|Revd?|Fr|St|Mt|Capt|Col|Gen|Lt|Lieut|Sgt|Maj|Insp|"
    r"Wm|Geo|Chas|Thos|Jas|Robt|Edw|Chap)|[Vv]ols?|[Ii]\.e|[Ee]\.g|viz|cf|vs"
)
"""English abbreviations that no sentence ends with; pysbd knows some of them."""

_TITLES = {
    code: frozenset(words.split())
    for code, words in {
        "cs": "p dr prof ing mudr judr sv č ul",
        "da": "hr fr dr prof kl nr ca st",
        "de": "hr fr dr prof st nr str bd kap hl vgl bzw ca geb z.b",
        "el": "κ κα κος δρ αγ αρ σελ",
        "es": "sr sra srta dr dra d dª ud uds prof av avda núm pág sto sta",
        "fr": "m mm mme mlle mgr dr pr st ste av bd art vol chap cf p n",
        "hu": "dr ifj id prof szt",
        "it": "sig sig.ra sigra dott dott.ssa dr prof ing avv on s n pag",
        "nb": "hr fr dr prof kl nr ca st",
        "nl": "dhr mevr mw dr prof drs ir mr nr blz st",
        "no": "hr fr dr prof kl nr ca st",
        "pl": "prof dr ul al pl św im nr ks inż mgr np",
        "pt": "sr sra srta dr dra d prof av n núm pág sto sta",
        "ru": "проф акад св ул им стр гл т.е т.к",
        "sk": "p dr prof ing mudr judr sv č ul",
        "sv": "hr fr dr prof kl nr ca st t.ex",
        "tr": "dr prof av sn no",
        "uk": "проф акад св вул ім стор гл т.е",
    }.items()
}
"""The same for other languages, folded: what stands before a name or a number."""

_NOT_WORD = re.compile(r"[\s\"'“”‘’«»„()\[\]—–]")
_INITIAL = re.compile(r"[^\W\d_](?:\.-[^\W\d_])?")

_STARTER = re.compile(
    r"(?:an?|and|as|at|but|for|he|her|his|how|i|if|in|it|my|no|not|on|or|our|perhaps|she|so|that|"
    r"the|their|then|there|these|they|this|those|was|we|what|when|where|which|who|why|yes|your?)\b",
    re.IGNORECASE,
)
"""English words that are no surname: after "plan B." they begin a sentence."""


def _is_full_stop(text: str, stop: int, following: int, code: str, stops: Set[int]) -> bool:
    """Does the full stop at `text[stop]` end a sentence, with the next word at `following`?"""
    word = _word_before(text, stop)
    initial = bool(_INITIAL.fullmatch(word)) and word.isupper()
    if code != "en":
        name_follows = initial and text[following].isupper()
        known = word.casefold() in _TITLES.get(code, ())
        return stop in stops and not (name_follows or known)
    if _NEVER_LAST.fullmatch(word):
        return False
    if (initial or "." in word) and _STARTER.match(text, following):
        return True
    if word == "I":
        # "So do I. Perhaps", but "Robert I. Stuart"
        before = text[max(0, stop - 40) : stop - 1].split()
        return bool(before) and _is_lower(before[-1][0])
    # pysbd takes "me.", "man.", "is." and other words for abbreviations where "I" follows.
    return stop in stops or bool(_I.match(text, following))


# -- full stops, by the libraries

_SLICE = 2000
"""Characters in one call: pysbd takes time by the square of it in bad cases."""

_UNSURE = re.compile(r"\.[\"'”’»›)\]}“‘«‹\u2060]*\s+(?=[^a-z\s])")
_APOSTROPHE = re.compile(r"(?<![^\W_])['’]|['’](?![^\W_])")


class _Mask(dict[int, str]):
    """Character -> what the libraries see: letters, digits, ASCII marks and spaces alone.

    Quotes and brackets become spaces: between them pysbd sees no sentences, and after them no
    abbreviations. Marks it uses itself would lose it the text around them, and sentencex fails on
    white space that is not ASCII.
    """

    RESERVED = "ȸȹƪᓰᓱᓳᓴᓷᓸ&\\"

    def __missing__(self, code: int) -> str:
        c = chr(code)
        kind = unicodedata.category(c)
        if c.isspace() or kind in {"Ps", "Pe", "Pi", "Pf"} or c in '"<>':
            seen = " "
        elif kind == "Nd":
            seen = "7"  # no 1. 2. 3., which pysbd takes for lists
        elif c not in self.RESERVED and (c.isascii() or kind[0] in "LMN"):
            seen = c
        else:
            seen = "~"
        self[code] = seen
        return seen


_MASK = _Mask({ord("’"): "'"})


def _full_stops(text: str, code: str) -> frozenset[int]:
    """Offsets of the full stops that end a sentence, as far as white space follows them.

    The libraries are slow, so they see only sentences with a stop after an abbreviation, a number
    or an initial.
    """
    abbreviations = _abbreviations(code)
    stops: set[int] = set()
    doubtful = False
    start = 0
    for found in _UNSURE.finditer(text):
        word = _word_before(text, found.start())
        if code == "en" and _NEVER_LAST.fullmatch(word):
            continue
        plain = len(word) > 1 and word.isalpha()
        if abbreviations is None or not plain or word.casefold() in abbreviations:
            doubtful = True
            continue
        if doubtful:
            stops.update(_judged(text, start, found.end(), code))
        stops.add(found.start())
        start = found.end()
        doubtful = False
    if doubtful:
        stops.update(_judged(text, start, len(text), code))
    return frozenset(stops)


def _word_before(text: str, stop: int) -> str:
    return _NOT_WORD.split(text[max(0, stop - 40) : stop])[-1]


def _judged(text: str, start: int, stop: int, code: str) -> Iterator[int]:
    """Offsets in `text` of the last characters of the sentences in `text[start:stop]`."""
    while start < stop:
        end = _slice_end(text, start, stop)
        masked = _APOSTROPHE.sub(" ", text[start:end]).translate(_MASK).replace("--", "~~")
        yield from (start + offset for offset in _library_ends(masked, code))
        start = end


def _slice_end(text: str, start: int, stop: int) -> int:
    """Where a slice ends: at a space within a sentence, which changes nothing for the library."""
    end = start + _SLICE
    if end >= stop:
        return stop
    while (space := text.rfind(" ", start + _SLICE // 2, end)) > 0:
        if text[space - 1].isalnum() or text[space - 1] in ",;:":
            return space + 1
        end = space
    return start + _SLICE


def _library_ends(masked: str, code: str) -> Iterator[int]:
    """Offsets of the last characters of sentences, white space aside."""
    if (segmenter := _pysbd(code)) is not None:
        # Not `segment`, which looks each sentence up from the start of the text, and drops what it
        # does not find.
        parts = segmenter.processor(masked).process()
    else:
        parts = [found["text"] for found in sentencex.get_sentence_boundaries(code, masked)]
    places = [i for i, c in enumerate(masked) if c != " "]
    parts = ["".join(part.split()) for part in parts]
    if "".join(parts) != masked.replace(" ", ""):
        # The library altered the text after all: every full stop after two letters ends one.
        yield from (found.end() - 1 for found in re.finditer(r"\w\w\.", masked))
        return
    seen = 0
    for part in parts:
        seen += len(part)
        if part:
            yield places[seen - 1]


@functools.cache
def _pysbd(code: str) -> Any:
    """The language's segmenter, or None."""
    with warnings.catch_warnings():
        # Its sources have invalid escapes, which Python 3.12 and later remark on when compiling.
        warnings.simplefilter("ignore")
        import pysbd
        from pysbd.languages import LANGUAGE_CODES
    return pysbd.Segmenter(language=code) if code in LANGUAGE_CODES else None


@functools.cache
def _abbreviations(code: str) -> frozenset[str] | None:
    """Words whose full stop the library has to judge, folded; None: any word."""
    if (segmenter := _pysbd(code)) is None:
        return None
    listed = segmenter.language_module.Abbreviation.ABBREVIATIONS
    return frozenset(word.casefold() for entry in listed for word in entry.split())


# -- length of speech ------------------------------------------------------------------------------

_READ_ALOUD = {
    "ar": 612, "de": 920, "en": 987, "es": 1025, "fi": 1078, "fr": 998, "he": 833, "it": 950,
    "ja": 357, "nl": 978, "pl": 916, "pt": 913, "ru": 986, "sl": 885, "sv": 917, "tr": 1054,
    "zh": 255, "yue": 255, "ko": 400,
}  # fmt: skip
"""Letters a minute by language, read aloud by natives: Trauzettel-Klosinski and Dietz, 2012,
"Standardized assessment of reading performance: the new International Reading Speed Texts IReST"
(doi 10.1167/iovs.11-8284). Korean, in syllables, is a guess."""

_ALPHABETS = 882
"""The same for other alphabets: 68 ms a character, the study's mean of 14 languages."""

_NARRATION = 0.745
"""Pace of an audiobook against reading aloud. With the pauses below, English comes to the 155 words
a minute (9,300 an hour) that ACX gives for planning."""

_STOP_PAUSE, _CLAUSE_PAUSE = 0.35, 0.15
_STOP_MARKS = re.compile(r"[.!?…؟۔।॥։።။]+(?!\w)|[。！？]+")
_CLAUSE_MARKS = re.compile(r"[,;:—–،؛]+(?!\d)|[，、；：]+")


class _Seconds(dict[str, float]):
    """Character -> seconds that it takes in a language."""

    def __init__(self, code: str) -> None:
        self.code = code

    def __missing__(self, c: str) -> float:
        kind = unicodedata.category(c)
        seconds = 0.0
        if kind[0] == "L" or kind == "Mc":
            seconds = 60 / (_NARRATION * self._letters_a_minute(c))
        elif kind[0] == "N":
            seconds = 0.3
        elif kind in {"Sc", "Sm"} or c in "%&@#°§":
            seconds = 0.4
        self[c] = seconds
        return seconds

    def _letters_a_minute(self, c: str) -> int:
        name = unicodedata.name(c, "")
        if name.startswith(("HIRAGANA", "KATAKANA")):
            return _READ_ALOUD["ja"]
        if name.startswith("CJK"):
            return _READ_ALOUD["ja" if self.code == "ja" else "zh"]
        if name.startswith("HANGUL"):
            return _READ_ALOUD["ko"]
        if self.code in {"ja", "zh", "yue", "ko"}:
            return _READ_ALOUD["en"]
        return _READ_ALOUD.get(self.code, _ALPHABETS)


_seconds_of = functools.cache(_Seconds)


def expected_seconds(text: str, language: str) -> float:
    """How long `text` takes a narrator, pauses included, by the language's letters a minute."""
    stops = sum(1 for _ in _STOP_MARKS.finditer(text))
    clauses = sum(1 for _ in _CLAUSE_MARKS.finditer(text))
    letters = sum(map(_seconds_of(_primary(language)).__getitem__, text))
    return letters + _STOP_PAUSE * stops + _CLAUSE_PAUSE * clauses


# -- chunks ----------------------------------------------------------------------------------------

# Clause marks within a sentence. Strong ones part clauses; weak ones may part no more than a list.
_CLAUSE_ENDS = re.compile(
    r"(?:(?P<strong>[;:؛…—–]|(?<![.!?])[.!?]+|--|(?<=\s)-)|[,،])[\"'”’»›)\]“‘\u2060]*\s+"
    r"|(?P<wide>[；：]|…+|——+|[。！？．｡]+)[”’」』）]*|[，、][”’」』）]*|—\u2060*(?=\w)"
)
_STRONG, _WEAK, _SPACE, _ANYWHERE = 4.0, 8.0, 30.0, 60.0
"""Cost of a cut, in squared seconds off the target; the end of a sentence costs nothing."""

_SPENT = re.compile(r"(?:[^\w\s]+(?=\s|\Z)|[，、；：。！？．｡”’」』）]+)?\s*")
"""Marks that close what was said before a pause."""


@dataclass(frozen=True, slots=True)
class _Limits:
    """Seconds of a chunk: `low` to `high` by choice, `longest` where a sentence asks for it."""

    low: float
    high: float

    @property
    def longest(self) -> float:
        return self.high + 4

    def cost(self, seconds: float) -> float:
        """Of a chunk of this length, in squared seconds off the middle."""
        cost = (seconds - (self.low + self.high) / 2) ** 2
        if seconds > self.high:
            cost += 10 * (seconds - self.high) ** 2
        elif seconds < SHORT:
            cost += 50
        return cost


@dataclass(eq=False, slots=True)
class _Block:
    """A line, or what of it lies between two pauses set by hand."""

    line: Line
    after: str
    """Boundary at the end of the line."""
    ends: frozenset[int]
    """Of the line's sentences."""
    units: list[_Unit] = field(default_factory=list)
    rest: float | None = None
    """Seconds of a pause set by hand after it."""

    @property
    def seconds(self) -> float:
        return sum(unit.seconds for unit in self.units)

    def joins(self, other: _Block) -> bool:
        """May a chunk go on from the end of this block to `other`, the next one?"""
        lines = (self.line, other.line)
        return (
            self.rest is None
            and self.line.speaker == other.line.speaker
            and not any(line.style is not None or line.heading for line in lines)
        )


@dataclass(frozen=True, eq=False, slots=True)
class _Unit:
    """The least that may stand in a chunk: a sentence, or a part of one that is too long."""

    block: _Block
    start: int
    stop: int
    seconds: float
    cost: float
    """Of a cut after it."""


def cut(
    scene: Scene,
    language: Callable[[str], str] | str,
    *,
    target: tuple[float, float] = (8.0, 14.0),
) -> tuple[Chunk, ...]:
    """The chunks of a scene, in reading order.

    `language` is that of all speakers, or tells it of each; `target` is in seconds of speech, and
    four seconds more are allowed for a sentence that would have to be cut.
    """
    limits = _Limits(*target)
    blocks, lead = _blocks(scene, language, limits)
    chunks: list[Chunk] = []
    for units in _chunks(blocks, limits):
        last = units[-1]
        block = last.block
        if last.stop == len(block.line.text):
            boundary = block.after
        else:
            boundary = "sentence" if last.stop in block.ends else "clause"
        chunks.append(
            Chunk(
                block.line.speaker,
                block.line.style,
                _pieces(units),
                boundary,
                rest=block.rest if last is block.units[-1] else None,
                lead=0.0 if chunks else lead,
            )
        )
    return tuple(chunks)


def halve(text: str, language: str) -> tuple[str, str] | None:
    """A chunk's spoken text in two parts, or None where it is too short: for a second chance.

    Cut where a sentence ends, as near to the middle as may be, else at a clause mark, else at a
    space, else in a script without spaces.
    """
    whole = expected_seconds(text, language)
    later = range(len(text) // 2, len(text))
    for places in (
        [stop for _, stop in sentences(text, language)],
        [at for at, _ in _clause_ends(text, 0, len(text))],
        [found.end() for found in re.finditer(r"\s+", text)],
        [at for at in later if text[at] > "\u0e00" and _between_graphemes(text, at)][:1],
    ):
        lengths = {at: expected_seconds(text[:at], language) for at in places}
        fair = [at for at in places if 1 <= lengths[at] <= whole - 1]
        if fair:
            at = min(fair, key=lambda at: abs(lengths[at] - whole / 2))
            return text[:at].strip(), text[at:].strip()
    return None


def _pieces(units: Sequence[_Unit]) -> tuple[Piece, ...]:
    """One piece of each line."""
    parts = [list(part) for _, part in groupby(units, key=lambda unit: unit.block)]
    return tuple(Piece(part[0].block.line, part[0].start, part[-1].stop) for part in parts)


# -- lines -> units


def _blocks(
    scene: Scene, language: Callable[[str], str] | str, limits: _Limits
) -> tuple[list[_Block], float]:
    """The blocks of a scene, and the seconds of a pause set by hand before all of them."""
    blocks: list[_Block] = []
    lead = 0.0
    for line, following in zip(scene.lines, (*scene.lines[1:], None), strict=False):
        tongue = language if isinstance(language, str) else language(line.speaker)
        if following is None:
            after = "scene"
        else:
            after = "heading" if line.heading or following.heading else "line"
        ends = frozenset(stop for _, stop in sentences(line.text, tongue))
        start = 0
        for at, seconds in (*_rests(line), (len(line.text), None)):
            if at > start:
                block = _Block(line, after, ends)
                block.units = list(_units(block, start, at, tongue, limits))
                blocks.append(block)
                start = at
            if seconds is not None and blocks:
                blocks[-1].rest = (blocks[-1].rest or 0.0) + seconds
            elif seconds is not None:
                lead += seconds
    return blocks, lead


def _rests(line: Line) -> list[tuple[int, float]]:
    """The line's pauses by offset; none parts a mark from its word, or leaves nothing to speak."""
    found: list[tuple[int, float]] = []
    start = 0
    for rest in sorted(line.rests, key=lambda rest: rest.at):
        spent = _SPENT.match(line.text, rest.at)
        at = _outside(line, spent.end() if spent else rest.at)
        if not any(map(str.isalnum, line.text[start:at])):
            at = start
        elif not any(map(str.isalnum, line.text[at:])):
            at = len(line.text)
        found.append((at, rest.seconds))
        start = at
    return found


def _outside(line: Line, at: int) -> int:
    """`at`, or the end of the Say span that it would part."""
    return next((say.stop for say in line.says if say.start < at < say.stop), at)


def _units(block: _Block, start: int, stop: int, language: str, limits: _Limits) -> Iterator[_Unit]:
    line = block.line
    inner = sorted(end for end in block.ends if start < end < stop and end == _outside(line, end))
    for end in (*inner, stop):
        seconds = _speech(line, start, end, language)
        if seconds > limits.longest:
            yield from _clauses(block, start, end, language, limits)
        else:
            yield _Unit(block, start, end, seconds, 0.0)
        start = end


def _speech(line: Line, start: int, stop: int, language: str) -> float:
    """Expected seconds of `line.text[start:stop]`, as it is to be spoken."""
    parts: list[str] = []
    for say in line.says:
        if start <= say.start and say.stop <= stop:
            parts += [line.text[start : say.start], say.spoken]
            start = say.stop
    spoken = "".join(parts) + line.text[start:stop]
    seconds = expected_seconds(spoken, language)
    return seconds if len(spoken) < _LONG else max(seconds, len(spoken) / _DENSEST)


_LONG = 500
"""Characters from which on a text counts as having some speech in it, whatever it is of: a run of
10,000 hyphens is not read in one go."""
_DENSEST = 100.0
"""Characters a second, some six times as many as in any text that is read aloud."""


def _clauses(
    block: _Block, start: int, stop: int, language: str, limits: _Limits
) -> Iterator[_Unit]:
    """The units of a sentence that is too long: clauses of a second and more."""
    line = block.line
    for at, cost in (*_clause_ends(line.text, start, stop), (stop, 0.0)):
        if at < stop and (at <= start or at != _outside(line, at)):
            continue
        seconds = _speech(line, start, at, language)
        if at == stop or seconds >= 1:
            if at > start:
                yield from _divided(_Unit(block, start, at, seconds, cost), language, limits)
            start = at


def _clause_ends(text: str, start: int, stop: int) -> Iterator[tuple[int, float]]:
    """Where clauses end in `text[start:stop]`, and what a cut there costs."""
    for found in _CLAUSE_ENDS.finditer(text, start, stop):
        strong = found["strong"] or found["wide"]
        if strong == ".":
            # Within a sentence it is that of an abbreviation, unless nobody writes capitals.
            small = _is_lower(text[found.end() : found.end() + 1])
            if not small or len(_word_before(text, found.start())) < 2:
                continue
        yield found.end(), _STRONG if strong else _WEAK


def _divided(unit: _Unit, language: str, limits: _Limits) -> Iterator[_Unit]:
    """A unit without clause marks: halved at spaces, or anywhere, until it is short enough."""
    line, start, stop = unit.block.line, unit.start, unit.stop
    at, cost = _middle(line, start, stop)
    if unit.seconds <= limits.longest or not start < at < stop:
        yield unit
        return
    for first, last, after in ((start, at, cost), (at, stop, unit.cost)):
        seconds = _speech(line, first, last, language)
        yield from _divided(_Unit(unit.block, first, last, seconds, after), language, limits)


def _middle(line: Line, start: int, stop: int) -> tuple[int, float]:
    """The best place to cut near the middle, and what it costs."""
    text, middle, reach = line.text, (start + stop) // 2, (stop - start) // 4
    spaces = (
        text.rfind(" ", middle - reach, middle) + 1,
        text.find(" ", middle, middle + reach) + 1,
    )
    places = [at for at in spaces if at and at == _outside(line, at)]
    if places:
        return min(places, key=lambda at: abs(at - middle)), _SPACE
    while middle < stop and not _between_graphemes(text, middle):
        middle += 1
    return _outside(line, middle), _ANYWHERE


def _between_graphemes(text: str, at: int) -> bool:
    """Is `at` between two characters as readers see them? (UAX 29, without conjoining jamo.)"""
    before, after = text[at - 1], text[at]
    flags = "\U0001f1e6" <= before <= "\U0001f1ff" and "\U0001f1e6" <= after <= "\U0001f1ff"
    tone = "\U0001f3fb" <= after <= "\U0001f3ff"
    joined = "\u200d" in (before, after) or unicodedata.category(after)[0] == "M"
    return not (flags or tone or joined)


# -- units -> chunks


def _chunks(blocks: Sequence[_Block], limits: _Limits) -> Iterator[list[_Unit]]:
    """The units of each chunk."""
    run: list[_Block] = []
    for block in blocks:
        if run and not run[-1].joins(block):
            yield from _run_chunks(run, limits)
            run = []
        run.append(block)
    yield from _run_chunks(run, limits)


def _run_chunks(run: Sequence[_Block], limits: _Limits) -> Iterator[list[_Unit]]:
    """Chunks of blocks that may share them, which only short ones do.

    Several short blocks in a row make chunks of their own. What is too little for that goes to the
    neighbour whose chunk is the lesser, and is divided together with that block.
    """
    groups = [(short, list(g)) for short, g in groupby(run, key=lambda b: b.seconds < SHORT)]
    parts: list[list[_Unit]] = []
    ahead: list[_Unit] = []
    for k, (short, blocks) in enumerate(groups):
        if not short:
            parts += [block.units for block in blocks]
            parts[-len(blocks)] = [*ahead, *blocks[0].units]
            ahead = []
        elif len(groups) == 1 or sum(block.seconds for block in blocks) >= SHORT:
            parts += _gathered(blocks)
        else:
            units = [unit for block in blocks for unit in block.units]
            before = _length(_divide(groups[k - 1][1][-1].units, limits)[-1]) if k else math.inf
            is_last = k == len(groups) - 1
            after = math.inf if is_last else _length(_divide(groups[k + 1][1][0].units, limits)[0])
            if before <= after:
                parts[-1] = parts[-1] + units
            else:
                ahead = units
    for units in parts:
        yield from _divide(units, limits)


def _gathered(blocks: Sequence[_Block]) -> list[list[_Unit]]:
    """A run of short blocks in groups of RUN seconds and a little more."""
    groups: list[list[_Unit]] = [[]]
    for block in blocks:
        if _length(groups[-1]) >= RUN:
            groups.append([])
        groups[-1] += block.units
    if len(groups) > 1 and _length(groups[-1]) < SHORT:
        groups[-2:] = [groups[-2] + groups[-1]]
    return groups


def _length(units: Iterable[_Unit]) -> float:
    return sum(unit.seconds for unit in units)


def _divide(units: Sequence[_Unit], limits: _Limits) -> list[list[_Unit]]:
    """Units in chunks of even length: those with the least sum of costs."""
    costs = [0.0]
    starts = [0]
    for stop in range(1, len(units) + 1):
        best, best_start = math.inf, stop - 1
        seconds = 0.0
        for start in range(stop - 1, -1, -1):
            seconds += units[start].seconds
            if seconds > limits.longest and start < stop - 1:
                break
            cost = costs[start] + limits.cost(seconds)
            if cost < best:
                best, best_start = cost, start
        costs.append(best + units[stop - 1].cost)
        starts.append(best_start)
    chunks: list[list[_Unit]] = []
    stop = len(units)
    while stop:
        chunks.append(list(units[starts[stop] : stop]))
        stop = starts[stop]
    return chunks[::-1]
