"""Lines -> sentences -> chunks; lossless.

Sentences: this module finds where a sentence may end, a library with the language's abbreviations
says which full stops end one (pysbd, and sentencex for the languages it lacks), and rules for
dialogue have the last word. Both libraries alter or drop text in places, so they see a masked copy
of the same length, and only offsets are taken from them.

Chunks: a line is cut where its sentences end, into parts of even length near the target. Short
lines join a neighbour of the same speaker and language. What becomes of a line depends on its own
text and on the run of short lines it stands in, so that an edit changes no chunks further away.
What is left out of a chapter later leaves its pauses and marks to its neighbours.

Lines in unison are cut as the first of them, and each of its chunks is followed at once by those of
the others: what lies together is heard together. All of it that is not a voice's own (the pauses
around it, marks) is with the first chunk.

Knows nothing of spoken forms, voices and engines.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, groupby
from typing import Protocol, TypeVar

from narrator.text.lines import Line, MusicMark, Say, Scene
from narrator.text.pace import expected_seconds
from narrator.text.sentences import is_lower, sentences, word_before

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

    Within a paragraph it is "clause" or "sentence", whoever speaks.

    "heading" stands on both sides of a heading.
    """
    rest: float | None = None
    """Seconds of a pause set by hand after this chunk, instead of the boundary's own."""
    lead: float = 0.0
    """Seconds of a pause set by hand before the first chunk of a scene."""
    taken: tuple[tuple[MusicMark, float], ...] = ()
    """`marks` of neighbours that are not spoken: before this chunk, or after it."""
    unison: tuple[str, ...] = ()
    """Names of all who say it at the same time, in the order of their chunks; none where one
    does."""

    @property
    def with_before(self) -> bool:
        """Whether it is said at the same time as the chunk before."""
        return bool(self.unison) and self.speaker != self.unison[0]

    @property
    def names(self) -> str:
        """Who says it, as it is shown."""
        return " & ".join(self.unison) or self.speaker

    @property
    def language(self) -> str:
        return self.pieces[0].line.language

    @property
    def text(self) -> str:
        """Source text, the pieces parted by a line break, which ends what has no full stop."""
        return "\n".join(piece.text for piece in self.pieces)

    @property
    def says(self) -> tuple[Say, ...]:
        """What of `text` is to be spoken otherwise."""
        inside: list[Say] = []
        shift = 0
        for piece in self.pieces:
            shift -= piece.start
            for say in piece.line.says:
                if piece.start <= say.start and say.stop <= piece.stop:
                    inside.append(Say(say.start + shift, say.stop + shift, say.spoken))
            shift += piece.stop + 1
        return tuple(inside)

    @property
    def marks(self) -> tuple[tuple[MusicMark, float], ...]:
        """The marks in it, in order, each with the share of its text that comes before."""
        found = list(self.taken)
        shift, size = 0, max(1, len(self.text))
        for piece in self.pieces:
            for mark in piece.line.marks:
                last = mark.at == piece.stop == len(piece.line.text)
                if piece.start <= mark.at < piece.stop or last:
                    found.append((mark, min(1.0, (shift + mark.at - piece.start) / size)))
            shift += piece.stop - piece.start + 1
        return tuple(sorted(found, key=lambda placed: placed[1]))


class _MayBeTogether(Protocol):
    @property
    def with_before(self) -> bool: ...


_One = TypeVar("_One", bound=_MayBeTogether)


def together(said: Iterable[_One]) -> Iterator[list[_One]]:
    """Lines, chunks or what is made of them: those that are said at the same time in one list."""
    group: list[_One] = []
    for one in said:
        if group and not one.with_before:
            yield group
            group = []
        group.append(one)
    if group:
        yield group


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
class _Lengths:
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
class _Stretch:
    """A line, or what of it lies between two pauses set by hand."""

    line: Line
    others: Sequence[Line]
    """What others say at the same time."""
    after: str
    """Boundary at the end of the line."""
    ends: frozenset[int]
    """Of the line's sentences."""
    units: list[_Sentence] = field(default_factory=list)
    rest: float | None = None
    """Seconds of a pause set by hand after it."""

    @property
    def seconds(self) -> float:
        return sum(unit.seconds for unit in self.units)

    def joins(self, other: _Stretch) -> bool:
        """May a chunk go on from the end of this block to `other`, the next one?"""
        lines = (self.line, other.line)
        return (
            self.rest is None
            and not (self.others or other.others)
            and self.line.speaker == other.line.speaker
            and self.line.language == other.line.language
            and not any(line.style is not None or line.heading for line in lines)
        )


@dataclass(frozen=True, eq=False, slots=True)
class _Sentence:
    """The least that may stand in a chunk: a sentence, or a part of one that is too long."""

    block: _Stretch
    start: int
    stop: int
    seconds: float
    cost: float
    """Of a cut after it."""


def cut(
    scene: Scene, *, apart: bool = False, target: tuple[float, float] = (8.0, 14.0)
) -> tuple[Chunk, ...]:
    """The chunks of a scene, in reading order.

    With `apart` no two lines share one: there is a pause between them that is to be heard. `target`
    is in seconds of speech, and four seconds more are allowed for a sentence that would have to be
    cut.
    """
    limits = _Lengths(*target)
    blocks, lead = _blocks(scene, limits)
    chunks: list[Chunk] = []
    for units in _chunks(blocks, limits, apart):
        last = units[-1]
        block = last.block
        if last.stop == len(block.line.text):
            boundary = block.after
        else:
            boundary = "sentence" if last.stop in block.ends else "clause"
        chunk = Chunk(
            block.line.speaker,
            block.line.style,
            _pieces(units),
            boundary,
            rest=block.rest if last is block.units[-1] else None,
            lead=0.0 if chunks else lead,
        )
        chunks += _choir(chunk, block.others) if block.others else (chunk,)
    return tuple(chunks)


def _choir(first: Chunk, others: Sequence[Line]) -> Iterator[Chunk]:
    """A chunk of one line, and what others say at the same time."""
    first = replace(first, unison=(first.speaker, *(line.speaker for line in others)))
    yield first
    for line in others:
        pieces = tuple(replace(piece, line=line) for piece in first.pieces)
        yield replace(
            first, speaker=line.speaker, style=line.style, pieces=pieces, rest=None, lead=0.0
        )


_BOUNDARIES = ("clause", "sentence", "line", "heading", "scene")
"""The weaker ones first."""


def without(chunks: Sequence[Chunk], left: Collection[int]) -> list[Chunk]:
    """The chunks of a chapter but for those at these places: pauses that the author set around
    them, the end of their scene and their marks go to the chunk before or after; those of one who
    speaks with others, to these."""
    kept = _KeptChunks()
    places = iter(range(len(chunks)))
    for group in together(chunks):
        own = [chunk for chunk in group if next(places) not in left]
        if own:
            kept.add(group[0], own if len(own) == len(group) else _fewer(group[0], own))
        else:
            kept.leave(group[0])
    return kept.whole()


@dataclass(slots=True)
class _KeptChunks:
    """The chunks that stay, and what those that do not have left for the next one."""

    chunks: list[Chunk] = field(default_factory=list)
    last: int = 0
    """Place of the last one, of those in unison the first."""
    lead: float = 0.0
    marks: list[MusicMark] = field(default_factory=list)

    def leave(self, first: Chunk) -> None:
        self.lead += first.lead
        self.marks += [mark for mark, _ in first.marks]
        if self.chunks:
            self.chunks[self.last] = _before(self.chunks[self.last], first)
        else:
            self.lead += first.rest or 0.0

    def add(self, first: Chunk, own: Sequence[Chunk]) -> None:
        """Those who say it, of those who were to; `first` is the first of these."""
        taken = (*((mark, 0.0) for mark in self.marks), *own[0].taken)
        self.last = len(self.chunks)
        self.chunks += [replace(own[0], lead=first.lead + self.lead, taken=taken), *own[1:]]
        self.lead, self.marks = 0.0, []

    def whole(self) -> list[Chunk]:
        """All, with what was left after the last."""
        if self.chunks and (self.lead or self.marks):
            last = self.chunks[self.last]
            taken = (*last.taken, *((mark, 1.0) for mark in self.marks))
            rest = (last.rest or 0.0) + self.lead if self.lead else last.rest
            self.chunks[self.last] = replace(last, rest=rest, taken=taken)
        return self.chunks


def _fewer(first: Chunk, left: Sequence[Chunk]) -> list[Chunk]:
    """Those who still say what they and others were to say in unison, after `first`."""
    names = tuple(chunk.speaker for chunk in left) if len(left) > 1 else ()
    own = [replace(chunk, unison=names) for chunk in left]
    if left[0] is not first:
        own[0] = replace(own[0], rest=first.rest, taken=first.marks)
    return own


def _before(chunk: Chunk, left: Chunk) -> Chunk:
    """A chunk that what comes after one that is left out follows now."""
    rests = [one.rest for one in (chunk, left) if one.rest is not None]
    return replace(
        chunk,
        boundary=max(chunk.boundary, left.boundary, key=_BOUNDARIES.index),
        rest=sum(rests) if rests else None,
    )


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
        [gap.end() for gap in re.finditer(r"\s+", text)],
        [at for at in later if text[at] > "\u0e00" and _between_graphemes(text, at)][:1],
    ):
        lengths = {at: expected_seconds(text[:at], language) for at in places}
        fair = [at for at in places if 1 <= lengths[at] <= whole - 1]
        if fair:
            at = min(fair, key=lambda at: abs(lengths[at] - whole / 2))
            return text[:at].strip(), text[at:].strip()
    return None


def _pieces(units: Sequence[_Sentence]) -> tuple[Piece, ...]:
    """One piece of each line."""
    parts = [list(part) for _, part in groupby(units, key=lambda unit: unit.block)]
    return tuple(Piece(part[0].block.line, part[0].start, part[-1].stop) for part in parts)


# -- lines -> units


def _blocks(scene: Scene, limits: _Lengths) -> tuple[list[_Stretch], float]:
    """The blocks of a scene, and the seconds of a pause set by hand before all of them."""
    blocks: list[_Stretch] = []
    lead = 0.0
    choirs = list(together(scene.lines))
    inside = _inside([lines[0] for lines in choirs])
    for n, ((line, *others), following) in enumerate(
        zip(choirs, (*choirs[1:], None), strict=False)
    ):
        if following is None:
            after = "scene"
        elif following[0].goes_on:
            after = "sentence" if n in inside else "clause"
        else:
            after = "heading" if line.heading or following[0].heading else "line"
        ends = frozenset(stop for _, stop in sentences(line.text, line.language))
        start = 0
        for at, seconds in (*_rests(line), (len(line.text), None)):
            if at > start:
                block = _Stretch(line, others, after, ends)
                block.units = list(_units(block, start, at, line.language, limits))
                blocks.append(block)
                start = at
            if seconds is not None and blocks:
                blocks[-1].rest = (blocks[-1].rest or 0.0) + seconds
            elif seconds is not None:
                lead += seconds
    return blocks, lead


def _inside(lines: Sequence[Line]) -> frozenset[int]:
    """Places of the lines that end a sentence of a paragraph that the next one goes on.

    Whether they do depends on what follows: “Really?” said Ada.
    """
    found: set[int] = set()
    start = 0
    for stop in range(1, len(lines) + 1):
        if stop < len(lines) and lines[stop].goes_on:
            continue
        if stop - start > 1:
            texts = ["" if line.is_close else " " for line in lines[start + 1 : stop]] + [""]
            texts = [line.text + gap for line, gap in zip(lines[start:stop], texts, strict=True)]
            ends = {end for _, end in sentences("".join(texts), lines[start].language)}
            edges = accumulate(map(len, texts))
            found |= {start + n for n, edge in enumerate(edges) if edge in ends}
        start = stop
    return frozenset(found)


def _rests(line: Line) -> list[tuple[int, float]]:
    """The line's pauses by offset; none parts a mark from its word, or leaves nothing to speak."""
    places: list[tuple[int, float]] = []
    start = 0
    for rest in sorted(line.rests, key=lambda rest: rest.at):
        spent = _SPENT.match(line.text, rest.at)
        at = _outside(line, spent.end() if spent else rest.at)
        if not any(map(str.isalnum, line.text[start:at])):
            at = start
        elif not any(map(str.isalnum, line.text[at:])):
            at = len(line.text)
        places.append((at, rest.seconds))
        start = at
    return places


def _outside(line: Line, at: int) -> int:
    """`at`, or the end of the Say span that it would part."""
    return next((say.stop for say in line.says if say.start < at < say.stop), at)


def _units(
    block: _Stretch, start: int, stop: int, language: str, limits: _Lengths
) -> Iterator[_Sentence]:
    line = block.line
    inner = sorted(end for end in block.ends if start < end < stop and end == _outside(line, end))
    for end in (*inner, stop):
        seconds = _speech(line, start, end, language)
        if seconds > limits.longest:
            yield from _clauses(block, start, end, language, limits)
        else:
            yield _Sentence(block, start, end, seconds, 0.0)
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
    block: _Stretch, start: int, stop: int, language: str, limits: _Lengths
) -> Iterator[_Sentence]:
    """The units of a sentence that is too long: clauses of a second and more."""
    line = block.line
    for at, cost in (*_clause_ends(line.text, start, stop), (stop, 0.0)):
        if at < stop and (at <= start or at != _outside(line, at)):
            continue
        seconds = _speech(line, start, at, language)
        if at == stop or seconds >= 1:
            if at > start:
                yield from _divided(_Sentence(block, start, at, seconds, cost), language, limits)
            start = at


def _clause_ends(text: str, start: int, stop: int) -> Iterator[tuple[int, float]]:
    """Where clauses end in `text[start:stop]`, and what a cut there costs."""
    for ending in _CLAUSE_ENDS.finditer(text, start, stop):
        strong = ending["strong"] or ending["wide"]
        if strong == ".":
            # Within a sentence it is that of an abbreviation, unless nobody writes capitals.
            small = is_lower(text[ending.end() : ending.end() + 1])
            if not small or len(word_before(text, ending.start())) < 2:
                continue
        yield ending.end(), _STRONG if strong else _WEAK


def _divided(unit: _Sentence, language: str, limits: _Lengths) -> Iterator[_Sentence]:
    """A unit without clause marks: halved at spaces, or anywhere, until it is short enough."""
    line, start, stop = unit.block.line, unit.start, unit.stop
    at, cost = _middle(line, start, stop)
    if unit.seconds <= limits.longest or not start < at < stop:
        yield unit
        return
    for first, last, after in ((start, at, cost), (at, stop, unit.cost)):
        seconds = _speech(line, first, last, language)
        yield from _divided(_Sentence(unit.block, first, last, seconds, after), language, limits)


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


def _chunks(blocks: Sequence[_Stretch], limits: _Lengths, apart: bool) -> Iterator[list[_Sentence]]:
    """The units of each chunk."""
    run: list[_Stretch] = []
    for block in blocks:
        alone = apart and not block.line.goes_on
        if run and (alone or not run[-1].joins(block)):
            yield from _run_chunks(run, limits)
            run = []
        run.append(block)
    yield from _run_chunks(run, limits)


def _run_chunks(run: Sequence[_Stretch], limits: _Lengths) -> Iterator[list[_Sentence]]:
    """Chunks of blocks that may share them, which only short ones do.

    Several short blocks in a row make chunks of their own. What is too little for that goes to the
    neighbour whose chunk is the lesser, and is divided together with that block.
    """
    groups = [(short, list(g)) for short, g in groupby(run, key=lambda b: b.seconds < SHORT)]
    parts: list[list[_Sentence]] = []
    ahead: list[_Sentence] = []
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


def _gathered(blocks: Sequence[_Stretch]) -> list[list[_Sentence]]:
    """A run of short blocks in groups of RUN seconds and a little more."""
    groups: list[list[_Sentence]] = [[]]
    for block in blocks:
        if _length(groups[-1]) >= RUN:
            groups.append([])
        groups[-1] += block.units
    if len(groups) > 1 and _length(groups[-1]) < SHORT:
        groups[-2:] = [groups[-2] + groups[-1]]
    return groups


def _length(units: Iterable[_Sentence]) -> float:
    return sum(unit.seconds for unit in units)


def _divide(units: Sequence[_Sentence], limits: _Lengths) -> list[list[_Sentence]]:
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
    chunks: list[list[_Sentence]] = []
    stop = len(units)
    while stop:
        chunks.append(list(units[starts[stop] : stop]))
        stop = starts[stop]
    return chunks[::-1]
