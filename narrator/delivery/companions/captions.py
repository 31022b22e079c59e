"""A chapter as it was spoken -> captions: short pieces of text, each with its lines and times.

A take lasts 5 to 15 seconds, which is too much for one caption, so its text is cut: where a
sentence ends, else at a clause mark, else at a space, else, in scripts that have none, between two
characters as readers see them. White space at a cut, and where a caption has a line break, is
dropped; nothing else is. A line break always stands for white space. So a take's text is the text
of its captions with what lies between `last` of one and `first` of the next. Knows no file format.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import accumulate

from narrator.delivery.companions.spoken import SpokenChapter, SpokenWord, moments, words_within
from narrator.text.pace import expected_seconds
from narrator.text.sentences import sentences

SHORTEST = 1.0
"""Seconds that a caption stays, where silence follows it."""
LONGEST = 7.0
"""Seconds; a caption that would stay longer is cut, where that can be done well."""
LINES = 2


@dataclass(frozen=True, slots=True)
class Caption:
    """What is shown at one time. Times are milliseconds in the chapter's sound."""

    start: int
    stop: int
    speaker: str
    """Of those in unison all."""
    lines: tuple[str, ...]
    label: str
    """The chunk's id or the speaker's name, to be written before the text; often empty."""
    alone: bool
    """Whether the label has a line of its own."""
    cue: int
    """Number of its take among those that are heard one after the other."""
    first: int
    """It shows `text[first:last]` of the take."""
    last: int
    chunk: str = ""
    """Id of its take's chunk."""
    part: int = 1
    """Which of the captions of its take it is."""
    words: tuple[tuple[int, int], ...] = ()
    """Of each timed word of the lines, joined: where it begins in them, and when it is heard."""
    timed_by: str = ""
    """Who timed its take's words; "" where nobody did."""

    def moved(self, by: int) -> Caption:
        """The same so many milliseconds later."""
        words = tuple((place, time + by) for place, time in self.words)
        return replace(self, start=self.start + by, stop=self.stop + by, words=words)


def captions(
    spoken: SpokenChapter, width: int, *, labels: bool = False, ids: bool = False
) -> list[Caption]:
    """All captions of a chapter in order: none empty, none before the end of the one before.

    `width` is in characters, of which wide ones (Chinese, emoji) count two; a line is longer only
    where one single letter with its marks is. With `labels`, whenever the speaker changes the name
    is given, with `ids` the id of every chunk, with room for them left.
    """
    rate = spoken.timeline.sample_rate
    found: list[Caption] = []
    previous = ""
    for number, (cue, chunk) in enumerate(zip(spoken.timeline.heard, spoken.chunks, strict=True)):
        label = f"[{cue.chunk}] " if ids else ""
        label += f"{_named(chunk.names)}: " if labels and chunk.names != previous else ""
        previous = chunk.names
        room = measure(label)
        timed = partial(moments, cue, rate, language=chunk.language)
        seconds = cue.stop / rate - cue.start / rate
        exact = timed if cue.words else None
        parts = cut(cue.text, chunk.language, width, seconds, room, exact)
        times = timed([(part.first, part.last) for part in parts])
        for n, part in enumerate(parts):
            # A millisecond is the least that every format can say.
            start = max(round(times[n] * 1000), found[-1].stop if found else 0)
            stop = max(round(times[n + 1] * 1000), start + 1)
            found.append(
                Caption(
                    start=start,
                    stop=stop,
                    speaker=chunk.names,
                    lines=part.lines,
                    label=label if n == 0 else "",
                    alone=part.alone,
                    cue=number,
                    first=part.first,
                    last=part.last,
                    chunk=cue.chunk,
                    part=n + 1,
                    words=_placed(cue.text, part, words_within(cue, rate, part.first, part.last)),
                    timed_by=cue.timed_by,
                )
            )
    return list(_stretched(found, round(spoken.timeline.seconds * 1000)))


def _placed(
    text: str, part: CaptionText, words: Iterable[SpokenWord]
) -> tuple[tuple[int, int], ...]:
    """`Caption.words` of a part of a take's text."""
    dropped: list[tuple[int, int]] = []
    """From where on how much of the text is not in the lines."""
    at, shown = part.first, 0
    for line in part.lines:
        at = text.index(line, at)
        dropped.append((at, at - shown))
        at, shown = at + len(line), shown + len(line) + 1
    return tuple(
        (word.first - next(less for start, less in reversed(dropped) if start <= word.first),
         round(word.start * 1000))
        for word in words
    )  # fmt: skip


def _stretched(found: Sequence[Caption], end: int) -> Iterator[Caption]:
    """Captions that are too short to be read stay into the silence after them."""
    for caption, following in zip(found, [*found[1:], None], strict=True):
        limit = following.start if following else max(end, caption.stop)
        stop = max(caption.stop, min(caption.start + round(SHORTEST * 1000), limit))
        yield replace(caption, stop=stop)


def _named(speaker: str) -> str:
    return " ".join(speaker.split())


# -- characters ------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _measure(character: str) -> int:
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def measure(text: str) -> int:
    """Places that a text takes on a line; never less than its code points."""
    return sum(map(_measure, text))


_ZWJ, _ZWNJ = "\u200d", "\u200c"


def between_graphemes(text: str, at: int) -> bool:
    """Is `at` between two characters as readers see them? (UAX 29, extended grapheme clusters.)"""
    before, after = text[at - 1], text[at]
    if _extends(after) or before == _ZWJ or "\u0600" <= before <= "\u0605":
        return False
    if _is_flag(before) and _is_flag(after):
        flags = 0
        while flags < at and _is_flag(text[at - 1 - flags]):
            flags += 1
        return flags % 2 == 0
    return not _jamo(before, after) and (before, after) != ("\r", "\n")


@lru_cache(maxsize=4096)
def _extends(character: str) -> bool:
    """Marks, joiners, skin tones and the tags of flags belong to what stands before them."""
    return (
        unicodedata.category(character)[0] == "M"
        or character in (_ZWJ, _ZWNJ, "\uff9e", "\uff9f", "\u0e33", "\u0eb3")
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or "\U000e0020" <= character <= "\U000e007f"
    )


def _is_flag(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _jamo(before: str, after: str) -> bool:
    """Are these parts of one Korean syllable?"""
    left, right = _syllable(before), _syllable(after)
    return (
        (left == "L" and right in ("L", "V", "LV", "LVT"))
        or (left in ("LV", "V") and right in ("V", "T"))
        or (left in ("LVT", "T") and right == "T")
    )


def _syllable(character: str) -> str:
    code = ord(character)
    if 0xAC00 <= code <= 0xD7A3:
        return "LV" if (code - 0xAC00) % 28 == 0 else "LVT"
    if 0x1100 <= code <= 0x115F or 0xA960 <= code <= 0xA97C:
        return "L"
    if 0x1160 <= code <= 0x11A7 or 0xD7B0 <= code <= 0xD7C6:
        return "V"
    return "T" if 0x11A8 <= code <= 0x11FF or 0xD7CB <= code <= 0xD7FB else ""


# -- atoms: what no cut parts ----------------------------------------------------------------------

_SPACES = re.compile(r"[^\S\u00a0\u2007\u202f]+")
"""White space that a line may be broken at."""
_BREAKS = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_CLAUSE = re.compile(r"(?:[,;:،؛…—–]|--)[\"'”’»›)\]]*\Z")
_WIDE_CLAUSE = "，、；：。！？．｡…—"
_NOT_FIRST = (
    "，、；：。！？．｡…‥—’”」』】〉》）］｝〕〗)]}!?.,:;%\u2060"
    "々ーぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮ"
)
_NOT_LAST = "‘“「『【〈《（［｛〔〖([{$£¥￥\u2060"
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\uff00-\uffef\U0001f000-\U0001faff\U00020000-\U0003ffff]"
)
"""Scripts that are written without spaces, and emoji."""

_SENTENCE, _CLAUSE_COST, _TIGHT, _WORD, _SHORTENED, _FORCED = 0.0, 3.0, 10.0, 14.0, 30.0, 60.0
"""Cost of a cut: after a sentence, a clause, a character of a script without spaces, a word, an
abbreviation ("Mrs."), and within a word that is longer than a line."""
_INSIDE = 3.0
"""Cost of a sentence that ends within a caption."""


@dataclass(frozen=True, slots=True)
class _Atom:
    """`text[first:last]`, and what lies between it and the next."""

    first: int
    last: int
    width: int
    cost: float
    """Of a cut after it."""
    spaces: int
    """Places of the white space after it; 0 where there is none."""
    breaks: bool
    """Whether a line must end after it."""


def _atoms(text: str, language: str, width: int) -> list[_Atom]:
    ends = {len(text[:stop].rstrip()) for _, stop in sentences(text, language)}
    atoms: list[_Atom] = []
    at = 0
    while at < len(text):
        gap = _SPACES.match(text, at)
        at = gap.end() if gap else at
        if at == len(text):
            break
        gap = _SPACES.search(text, at)
        stop = gap.start() if gap else len(text)
        space = gap[0] if gap else ""
        for first, last in _pieces(text, at, stop, width):
            inside = last < stop
            breaks = not inside and bool(_BREAKS.search(space))
            atoms.append(
                _Atom(
                    first, last, measure(text[first:last]),
                    _cost(text, first, last, inside, breaks, ends),
                    0 if inside else measure(space), breaks,
                )
            )  # fmt: skip
        at = stop
    return atoms


def _cost(text: str, first: int, last: int, inside: bool, breaks: bool, ends: set[int]) -> float:
    if breaks or last in ends:
        return _SENTENCE
    if inside:
        if text[last - 1] in _WIDE_CLAUSE:
            return _CLAUSE_COST
        return _TIGHT if _parts_unspaced(text, last) else _FORCED
    if _CLAUSE.search(text, first, last):
        return _CLAUSE_COST
    return _SHORTENED if text[last - 1] == "." else _WORD


def _pieces(text: str, start: int, stop: int, width: int) -> Iterator[tuple[int, int]]:
    """A word in one piece; parted where its script has no spaces, or where it fills a line."""
    long = measure(text[start:stop]) > width
    first = start
    for at in range(start + 1, stop):
        if between_graphemes(text, at) and (long or _parts_unspaced(text, at)):
            yield first, at
            first = at
    yield first, stop


def _parts_unspaced(text: str, at: int) -> bool:
    before, after = text[at - 1], text[at]
    if after in _NOT_FIRST or before in _NOT_LAST or "\u0e40" <= before <= "\u0e44":
        return False
    return bool(_UNSPACED.match(before) or _UNSPACED.match(after))


# -- atoms -> captions -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CaptionText:
    """The text of one caption: `text[first:last]` of its take, in lines."""

    first: int
    last: int
    lines: tuple[str, ...]
    alone: bool
    """Whether the label before it has a line of its own."""


def cut(
    text: str,
    language: str,
    width: int,
    seconds: float,
    label: int = 0,
    timed: Callable[[Sequence[tuple[int, int]]], Sequence[float]] | None = None,
) -> list[CaptionText]:
    """A take's text in captions of at most two lines; `seconds` is how long it lasts.

    `label` is the room that a speaker's name takes before the first one; `timed` says when parts of
    the text begin, and when the last one ends, where that is known. None for a text that is white
    space alone.
    """
    atoms = _atoms(text, language, width)
    if not atoms:
        return []
    spans = [(atom.first, atom.last) for atom in atoms]
    pace = 1.0 if timed else seconds / max(expected_seconds(text, language), 0.1)
    shares = (expected_seconds(text[first:last], language) for first, last in spans)
    lasting = timed(spans) if timed else list(accumulate(shares, initial=0.0))
    alone = label > width // 2 or (label > 0 and label + atoms[0].width > width)
    fits = [_reach(atoms, 0, width, label, alone)]
    fits += [_reach(atoms, start, width, 0, False) for start in range(1, len(atoms))]
    starts = _cheapest(atoms, fits, lasting, pace)
    parts: list[CaptionText] = []
    stop = len(atoms)
    while stop:
        start = starts[stop]
        beside = start == 0 and alone
        lines = _lines(text, atoms[start:stop], width, 0 if start or alone else label, beside)
        parts.append(CaptionText(atoms[start].first, atoms[stop - 1].last, lines, beside))
        stop = start
    return parts[::-1]


def _cheapest(
    atoms: Sequence[_Atom], fits: Sequence[int], lasting: Sequence[float], pace: float
) -> list[int]:
    """For each number of atoms where the last caption of them begins, in the cheapest division.

    `fits` is before which atom a caption that begins at each must end, `lasting` the expected
    seconds up to each, `pace` how much longer they are.
    """
    costs, starts = [0.0], [0]
    for stop in range(1, len(atoms) + 1):
        best, best_start = float("inf"), stop - 1
        ends = 0
        for start in range(stop - 1, -1, -1):
            if fits[start] < stop and start < stop - 1:
                break
            ends += start < stop - 1 and atoms[start].cost == _SENTENCE
            long = (lasting[stop] - lasting[start]) * pace
            cost = costs[start] + _shape(long) + _INSIDE * ends
            if cost < best:
                best, best_start = cost, start
        after = 0.0 if stop == len(atoms) else atoms[stop - 1].cost
        costs.append(best + after)
        starts.append(best_start)
    return starts


def _shape(seconds: float) -> float:
    """What a caption costs that stays for so long."""
    cost = 2.0
    if seconds < SHORTEST:
        cost += 25 * (SHORTEST - seconds) + 5
    elif seconds > LONGEST:
        cost += 8 * (seconds - LONGEST)
    return cost + 0.05 * (seconds - 4) ** 2


def _reach(atoms: Sequence[_Atom], start: int, width: int, label: int, alone: bool) -> int:
    """The number of the atom before which a caption that begins at `start` must end."""
    line, used = (LINES, 0) if alone else (1, label)
    filled = False
    for number in range(start, len(atoms)):
        atom = atoms[number]
        if used + atom.width > width and filled:
            # a line breaks at white space only, so all since the last one goes down
            back = number
            while back > start and not atoms[back - 1].spaces:
                back -= 1
            if back == start or line == LINES:
                return number
            line += 1
            used = sum(a.width for a in atoms[back:number])
            if used + atom.width > width:
                return number
        used += atom.width
        filled = True
        if atom.breaks:
            if line == LINES:
                return number + 1
            line, used, filled = line + 1, 0, False
        else:
            used += atom.spaces
    return len(atoms)


def _lines(
    text: str, atoms: Sequence[_Atom], width: int, taken: int, alone: bool
) -> tuple[str, ...]:
    """One line if it goes into one, else two of about equal length, parted in a good place."""
    whole = text[atoms[0].first : atoms[-1].last]
    musts = [n for n, atom in enumerate(atoms[:-1], 1) if atom.breaks]
    if not musts and (alone or taken + measure(whole) <= width):
        return (whole,)
    places = musts or [n for n, atom in enumerate(atoms[:-1], 1) if atom.spaces]
    best: tuple[tuple[int, float], tuple[str, ...]] | None = None
    for n in places:
        halves = (text[atoms[0].first : atoms[n - 1].last], text[atoms[n].first : atoms[-1].last])
        sizes = taken + measure(halves[0]), measure(halves[1])
        uneven = abs(sizes[0] - sizes[1]) / 2
        rank = max(0, max(sizes) - width), uneven + atoms[n - 1].cost
        if best is None or rank < best[0]:
            best = rank, halves
    return best[1] if best else (whole,)
