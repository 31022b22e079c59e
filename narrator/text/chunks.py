"""Cuts lines into sentences and chunks, without losing text.

Sentences: this module finds where a sentence may end, a library with the language's abbreviations
decides which full stops end one (pysbd, and sentencex for the languages it lacks), and rules for
dialogue come last. Both libraries alter or drop text in places, so they see a masked copy
of the same length, and only offsets are taken from them.

Chunks: a line is cut where its sentences end, into parts of even length near the target. Short
lines join a neighbour of the same speaker and language. The chunks of a line depend only on its own
text and on the run of short lines around it, so that an edit changes no chunks further away. A
chunk that is omitted later leaves its pauses and marks to its neighbours.

Lines in unison are cut like the first of them, and each of its chunks is directly followed by those
of the others: neighbours in unison are spoken at the same time. Pauses around a unison, and its
marks, belong to its first chunk.

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

from narrator.text.lines import Line, MusicMark, Scene, SpokenForm
from narrator.text.pace import expected_seconds
from narrator.text.sentences import is_lower, sentences, word_before

SHORT_LINE_S = 3.0
"""Seconds; a shorter line joins a neighbour. One- and two-word lines fail in the model, which was
trained on clips of about a second and more."""

SHORT_RUN_S = 5.0
"""Seconds to which a run of short lines is gathered. It is small, so that runs that differ in one
line soon have the same chunks again."""


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
    """The text that the engine speaks in one go: whole sentences of one speaker in one scene.

    The pieces of all chunks of a line, joined, give `line.text` back, character by character.
    """

    speaker: str
    style: str | None
    pieces: tuple[Piece, ...]
    """One of each line."""
    boundary: str
    """Type of break that follows in the source: "clause", "sentence", "line", "heading", "scene"
    (scene's end).

    Within a paragraph it is "clause" or "sentence", even where the speaker changes. "heading" is
    the boundary before and after a heading.
    """
    pause_after_s: float | None = None
    """Seconds of a pause set by hand after this chunk, instead of the boundary's own."""
    pause_before_s: float = 0.0
    """Seconds of a pause set by hand before the first chunk of a scene."""
    inherited_marks: tuple[tuple[MusicMark, float], ...] = ()
    """Music marks of omitted neighbours, each with its position: 0.0 before this chunk, 1.0 after
    it."""
    unison_speakers: tuple[str, ...] = ()
    """Names of all speakers in unison, in the order of their chunks; empty for a single speaker."""

    @property
    def with_before(self) -> bool:
        """True if it is spoken in unison with the chunk before."""
        return bool(self.unison_speakers) and self.speaker != self.unison_speakers[0]

    @property
    def names(self) -> str:
        """Names of its speakers as shown to users: `Ada & Ben`."""
        return " & ".join(self.unison_speakers) or self.speaker

    @property
    def language(self) -> str:
        return self.pieces[0].line.language

    @property
    def text(self) -> str:
        """Source text; a line break, which also ends a piece without a full stop, separates the
        pieces."""
        return "\n".join(piece.text for piece in self.pieces)

    @property
    def spoken_forms(self) -> tuple[SpokenForm, ...]:
        """Spans of `text` with a spoken form of their own, in offsets of `text`."""
        spans: list[SpokenForm] = []
        offset = 0
        for piece in self.pieces:
            offset -= piece.start
            for say in piece.line.spoken_forms:
                if piece.start <= say.start and say.stop <= piece.stop:
                    spans.append(SpokenForm(say.start + offset, say.stop + offset, say.spoken))
            offset += piece.stop + 1
        return tuple(spans)

    @property
    def marks(self) -> tuple[tuple[MusicMark, float], ...]:
        """Music marks of the chunk in order, each with the share of its text before the mark."""
        marks = list(self.inherited_marks)
        offset, size = 0, max(1, len(self.text))
        for piece in self.pieces:
            for mark in piece.line.marks:
                is_at_end = mark.offset == piece.stop == len(piece.line.text)
                if piece.start <= mark.offset < piece.stop or is_at_end:
                    marks.append((mark, min(1.0, (offset + mark.offset - piece.start) / size)))
            offset += piece.stop - piece.start + 1
        return tuple(sorted(marks, key=lambda placed: placed[1]))


class _UnisonMember(Protocol):
    @property
    def with_before(self) -> bool: ...


_MemberT = TypeVar("_MemberT", bound=_UnisonMember)


def group_unison(speech: Iterable[_MemberT]) -> Iterator[list[_MemberT]]:
    """Groups lines, chunks or their results: those spoken in unison come in one list."""
    group: list[_MemberT] = []
    for entry in speech:
        if group and not entry.with_before:
            yield group
            group = []
        group.append(entry)
    if group:
        yield group


# Clause marks within a sentence. Strong ones separate clauses; weak ones perhaps only list items.
_CLAUSE_ENDS = re.compile(
    r"(?:(?P<strong>[;:؛…—–]|(?<![.!?])[.!?]+|--|(?<=\s)-)|[,،])[\"'”’»›)\]“‘\u2060]*\s+"
    r"|(?P<wide>[；：]|…+|——+|[。！？．｡]+)[”’」』）]*|[，、][”’」』）]*|—\u2060*(?=\w)"
)
_STRONG_CLAUSE_COST, _WEAK_CLAUSE_COST, _SPACE_COST, _ANYWHERE_COST = 4.0, 8.0, 30.0, 60.0
"""Costs of a cut, in squared seconds off the target; the end of a sentence costs nothing."""

_CLOSING_MARKS = re.compile(r"(?:[^\w\s]+(?=\s|\Z)|[，、；：。！？．｡”’」』）]+)?\s*")
"""Closing punctuation and white space that stay before a pause."""


_TARGET_S = 14.0
"""Seconds of speech that a chunk should have at most."""
_BEST_S = 11.0
"""Seconds of speech that a chunk should have."""
_SPARE_S = 4.0
"""Seconds over the target up to which a chunk grows to avoid cutting a sentence."""


@dataclass(frozen=True, slots=True)
class ChunkTargets:
    """Seconds of speech that chunks should have at most."""

    styled_s: float = _TARGET_S
    """Target of what is spoken in a style."""
    styled_speakers: frozenset[str] = frozenset()
    """Speakers whose lines have a style without naming one."""

    def of(self, line: Line) -> float:
        """Returns the target for chunks of a line."""
        is_styled = line.style is not None or line.speaker in self.styled_speakers
        return self.styled_s if is_styled else _TARGET_S


def _length_cost(seconds: float, target_s: float) -> float:
    """Returns the cost of a chunk's length, in squared seconds off the best one."""
    cost = (seconds - min(_BEST_S, target_s - 1)) ** 2
    if seconds > target_s:
        cost += 10 * (seconds - target_s) ** 2
    elif seconds < SHORT_LINE_S:
        cost += 50
    return cost


@dataclass(eq=False, slots=True)
class _Block:
    """A line, or the part of it between two pauses set by hand."""

    line: Line
    other_lines: Sequence[Line]
    """Lines spoken in unison with it."""
    end_boundary: str
    """Boundary at the end of the line."""
    sentence_ends: frozenset[int]
    """Offsets at which the line's sentences end."""
    target_s: float
    """Seconds of speech that its chunks should have at most."""
    units: list[_Unit] = field(default_factory=list)
    pause_after_s: float | None = None
    """Seconds of a pause set by hand after the block."""

    @property
    def seconds(self) -> float:
        return sum(unit.seconds for unit in self.units)

    @property
    def max_s(self) -> float:
        """Seconds up to which a chunk grows to avoid cutting a sentence."""
        return self.target_s + _SPARE_S

    def can_join(self, next_block: _Block) -> bool:
        """Returns whether a chunk may continue from the end of this block into the next one."""
        lines = (self.line, next_block.line)
        return (
            self.pause_after_s is None
            and not (self.other_lines or next_block.other_lines)
            and self.line.speaker == next_block.line.speaker
            and self.line.language == next_block.line.language
            and not any(line.style is not None or line.heading for line in lines)
        )


@dataclass(frozen=True, eq=False, slots=True)
class _Unit:
    """The smallest part of a chunk: a sentence, or a piece of one that is too long."""

    block: _Block
    start: int
    stop: int
    seconds: float
    cut_cost: float
    """Cost of a cut after it."""


def cut_scene(
    scene: Scene,
    *,
    separate_lines: bool = False,
    targets: ChunkTargets = ChunkTargets(),
) -> tuple[Chunk, ...]:
    """Cuts a scene into chunks, in reading order.

    With `separate_lines` no two lines share a chunk, because an audible pause separates them.
    """
    blocks, leading_pause_s = _split_blocks(scene, targets)
    chunks: list[Chunk] = []
    for units in _group_units(blocks, separate_lines):
        last_unit = units[-1]
        block = last_unit.block
        if last_unit.stop == len(block.line.text):
            boundary = block.end_boundary
        else:
            boundary = "sentence" if last_unit.stop in block.sentence_ends else "clause"
        chunk = Chunk(
            block.line.speaker,
            block.line.style,
            _merge_pieces(units),
            boundary,
            pause_after_s=block.pause_after_s if last_unit is block.units[-1] else None,
            pause_before_s=0.0 if chunks else leading_pause_s,
        )
        chunks += _unison_chunks(chunk, block.other_lines) if block.other_lines else (chunk,)
    return tuple(chunks)


def _unison_chunks(first: Chunk, other_lines: Sequence[Line]) -> Iterator[Chunk]:
    """Yields the chunk of one line, and the same chunk for each line in unison with it."""
    first = replace(first, unison_speakers=(first.speaker, *(line.speaker for line in other_lines)))
    yield first
    for line in other_lines:
        pieces = tuple(replace(piece, line=line) for piece in first.pieces)
        yield replace(
            first,
            speaker=line.speaker,
            style=line.style,
            pieces=pieces,
            pause_after_s=None,
            pause_before_s=0.0,
        )


_BOUNDARIES = ("clause", "sentence", "line", "heading", "scene")
"""Boundaries from weakest to strongest."""


def omit_chunks(chunks: Sequence[Chunk], omitted: Collection[int]) -> list[Chunk]:
    """Returns the chunks of a chapter without those at the `omitted` indices.

    Pauses set by hand around an omitted chunk, its scene break and its marks go to the chunk before
    or after it; those of one speaker of a unison go to the remaining ones.
    """
    kept_chunks = _KeptChunks()
    indices = iter(range(len(chunks)))
    for group in group_unison(chunks):
        remaining = [chunk for chunk in group if next(indices) not in omitted]
        if remaining:
            kept_chunks.add(
                group[0],
                remaining if len(remaining) == len(group) else _shrink_unison(group[0], remaining),
            )
        else:
            kept_chunks.omit(group[0])
    return kept_chunks.finish()


@dataclass(slots=True)
class _KeptChunks:
    """Collects the remaining chunks, with pauses and marks of omitted ones for the next chunk."""

    chunks: list[Chunk] = field(default_factory=list)
    last_index: int = 0
    """Index of the last chunk, in unison of its first one."""
    pause_before_s: float = 0.0
    marks: list[MusicMark] = field(default_factory=list)

    def omit(self, first: Chunk) -> None:
        """Omits the chunks of a unison, keeping its pauses and marks for their neighbours."""
        self.pause_before_s += first.pause_before_s
        self.marks += [mark for mark, _ in first.marks]
        if self.chunks:
            self.chunks[self.last_index] = _absorb_omitted(self.chunks[self.last_index], first)
        else:
            self.pause_before_s += first.pause_after_s or 0.0

    def add(self, first: Chunk, remaining: Sequence[Chunk]) -> None:
        """Adds the remaining chunks of a unison; `first` is its first chunk, remaining or not."""
        inherited_marks = (*((mark, 0.0) for mark in self.marks), *remaining[0].inherited_marks)
        self.last_index = len(self.chunks)
        self.chunks += [
            replace(
                remaining[0],
                pause_before_s=first.pause_before_s + self.pause_before_s,
                inherited_marks=inherited_marks,
            ),
            *remaining[1:],
        ]
        self.pause_before_s, self.marks = 0.0, []

    def finish(self) -> list[Chunk]:
        """Returns all chunks; pauses and marks after the last one are attached to it."""
        if self.chunks and (self.pause_before_s or self.marks):
            last_chunk = self.chunks[self.last_index]
            inherited_marks = (*last_chunk.inherited_marks, *((mark, 1.0) for mark in self.marks))
            pause = (
                (last_chunk.pause_after_s or 0.0) + self.pause_before_s
                if self.pause_before_s
                else last_chunk.pause_after_s
            )
            self.chunks[self.last_index] = replace(
                last_chunk, pause_after_s=pause, inherited_marks=inherited_marks
            )
        return self.chunks


def _shrink_unison(first: Chunk, remaining: Sequence[Chunk]) -> list[Chunk]:
    """Returns the remaining chunks of a unison that began with `first`."""
    names = tuple(chunk.speaker for chunk in remaining) if len(remaining) > 1 else ()
    new_chunks = [replace(chunk, unison_speakers=names) for chunk in remaining]
    if remaining[0] is not first:
        new_chunks[0] = replace(
            new_chunks[0], pause_after_s=first.pause_after_s, inherited_marks=first.marks
        )
    return new_chunks


def _absorb_omitted(chunk: Chunk, omitted: Chunk) -> Chunk:
    """Returns a chunk with the boundary and the pause of the omitted chunk after it."""
    pauses = [
        neighbour.pause_after_s
        for neighbour in (chunk, omitted)
        if neighbour.pause_after_s is not None
    ]
    return replace(
        chunk,
        boundary=max(chunk.boundary, omitted.boundary, key=_BOUNDARIES.index),
        pause_after_s=sum(pauses) if pauses else None,
    )


def split_in_half(text: str, language: str) -> tuple[str, str] | None:
    """Splits a chunk's spoken text in two for a retry; None if it is too short.

    It is cut where a sentence ends, as near to the middle as possible, else at a clause mark, else
    at a space, else anywhere in a script without spaces.
    """
    total_seconds = expected_seconds(text, language)
    second_half = range(len(text) // 2, len(text))
    for candidates in (
        [stop for _, stop in sentences(text, language)],
        [offset for offset, _ in _clause_ends(text, 0, len(text))],
        [gap.end() for gap in re.finditer(r"\s+", text)],
        [
            offset
            for offset in second_half
            if text[offset] > "\u0e00" and _is_between_graphemes(text, offset)
        ][:1],
    ):
        seconds_before = {
            offset: expected_seconds(text[:offset], language) for offset in candidates
        }
        balanced_cuts = [
            offset for offset in candidates if 1 <= seconds_before[offset] <= total_seconds - 1
        ]
        if balanced_cuts:
            middle = total_seconds / 2
            offset = min(balanced_cuts, key=lambda cut: abs(seconds_before[cut] - middle))
            return text[:offset].strip(), text[offset:].strip()
    return None


def _merge_pieces(units: Sequence[_Unit]) -> tuple[Piece, ...]:
    """Merges units into one piece for each line."""
    parts = [list(line_units) for _, line_units in groupby(units, key=lambda unit: unit.block)]
    return tuple(
        Piece(line_units[0].block.line, line_units[0].start, line_units[-1].stop)
        for line_units in parts
    )


# -- lines -> units


def _split_blocks(scene: Scene, targets: ChunkTargets) -> tuple[list[_Block], float]:
    """Splits the lines of a scene at pauses set by hand; return the blocks, and the seconds of such
    a pause before all of them."""
    blocks: list[_Block] = []
    leading_pause_s = 0.0
    unison_groups = list(group_unison(scene.lines))
    sentence_end_indices = _sentence_end_lines([lines[0] for lines in unison_groups])
    for index, ((line, *other_lines), next_group) in enumerate(
        zip(unison_groups, (*unison_groups[1:], None), strict=False)
    ):
        if next_group is None:
            boundary = "scene"
        elif next_group[0].continues_previous:
            boundary = "sentence" if index in sentence_end_indices else "clause"
        else:
            boundary = "heading" if line.heading or next_group[0].heading else "line"
        sentence_ends = frozenset(stop for _, stop in sentences(line.text, line.language))
        start = 0
        for offset, seconds in (*_pause_offsets(line), (len(line.text), None)):
            if offset > start:
                block = _Block(line, other_lines, boundary, sentence_ends, targets.of(line))
                block.units = list(_split_sentences(block, start, offset))
                blocks.append(block)
                start = offset
            if seconds is not None and blocks:
                blocks[-1].pause_after_s = (blocks[-1].pause_after_s or 0.0) + seconds
            elif seconds is not None:
                leading_pause_s += seconds
    return blocks, leading_pause_s


def _sentence_end_lines(lines: Sequence[Line]) -> frozenset[int]:
    """Returns the indices of lines that end a sentence inside a paragraph that the next line
    continues.

    The decision needs the text that follows: “Really?” said Ada.
    """
    indices: set[int] = set()
    start = 0
    for stop in range(1, len(lines) + 1):
        if stop < len(lines) and lines[stop].continues_previous:
            continue
        if stop - start > 1:
            separators = ["" if line.is_adjacent else " " for line in lines[start + 1 : stop]] + [
                ""
            ]
            texts = [
                line.text + separator
                for line, separator in zip(lines[start:stop], separators, strict=True)
            ]
            ends = {end for _, end in sentences("".join(texts), lines[start].language)}
            edges = accumulate(map(len, texts))
            indices |= {start + index for index, edge in enumerate(edges) if edge in ends}
        start = stop
    return frozenset(indices)


def _pause_offsets(line: Line) -> list[tuple[int, float]]:
    """Returns the line's pauses by offset, moved so that no pause separates a mark from its word or
    leaves a part without words."""
    pauses: list[tuple[int, float]] = []
    start = 0
    for pause in sorted(line.pauses, key=lambda rest: rest.offset):
        closing_marks = _CLOSING_MARKS.match(line.text, pause.offset)
        offset = _move_out_of_spoken_form(
            line, closing_marks.end() if closing_marks else pause.offset
        )
        if not any(map(str.isalnum, line.text[start:offset])):
            offset = start
        elif not any(map(str.isalnum, line.text[offset:])):
            offset = len(line.text)
        pauses.append((offset, pause.seconds))
        start = offset
    return pauses


def _move_out_of_spoken_form(line: Line, offset: int) -> int:
    """Returns `offset`, or the end of the spoken form that contains it."""
    return next((say.stop for say in line.spoken_forms if say.start < offset < say.stop), offset)


def _split_sentences(block: _Block, start: int, stop: int) -> Iterator[_Unit]:
    """Yields the units of `line.text[start:stop]`: its sentences, or parts of long ones."""
    line = block.line
    inner_ends = sorted(
        end
        for end in block.sentence_ends
        if start < end < stop and end == _move_out_of_spoken_form(line, end)
    )
    for end in (*inner_ends, stop):
        seconds = _speech_seconds(line, start, end)
        if seconds > block.max_s:
            yield from _split_clauses(block, start, end)
        else:
            yield _Unit(block, start, end, seconds, 0.0)
        start = end


def _speech_seconds(line: Line, start: int, stop: int) -> float:
    """Returns the expected seconds of `line.text[start:stop]` in its spoken form."""
    parts: list[str] = []
    for say in line.spoken_forms:
        if start <= say.start and say.stop <= stop:
            parts += [line.text[start : say.start], say.spoken]
            start = say.stop
    spoken_text = "".join(parts) + line.text[start:stop]
    seconds = expected_seconds(spoken_text, line.language)
    if len(spoken_text) < _LONG_TEXT_LENGTH:
        return seconds
    return max(seconds, len(spoken_text) / _MAX_CHARACTERS_PER_SECOND)


_LONG_TEXT_LENGTH = 500
"""Characters from which on any text is assumed to take some time: a run of 10,000 hyphens is not
read in one go."""
_MAX_CHARACTERS_PER_SECOND = 100.0
"""About six times as many as in any text that is read aloud."""


def _split_clauses(block: _Block, start: int, stop: int) -> Iterator[_Unit]:
    """Yields the units of a sentence that is too long: clauses of at least a second."""
    line = block.line
    for offset, cost in (*_clause_ends(line.text, start, stop), (stop, 0.0)):
        if offset < stop and (offset <= start or offset != _move_out_of_spoken_form(line, offset)):
            continue
        seconds = _speech_seconds(line, start, offset)
        if offset == stop or seconds >= 1:
            if offset > start:
                yield from _halve_unit(_Unit(block, start, offset, seconds, cost))
            start = offset


def _clause_ends(text: str, start: int, stop: int) -> Iterator[tuple[int, float]]:
    """Yields the ends of clauses in `text[start:stop]`, each with the cost of a cut there."""
    for match in _CLAUSE_ENDS.finditer(text, start, stop):
        is_strong = match["strong"] or match["wide"]
        if is_strong == ".":
            # Within a sentence it is that of an abbreviation, unless nobody writes capitals.
            is_lower_case = is_lower(text[match.end() : match.end() + 1])
            if not is_lower_case or len(word_before(text, match.start())) < 2:
                continue
        yield match.end(), _STRONG_CLAUSE_COST if is_strong else _WEAK_CLAUSE_COST


def _halve_unit(unit: _Unit) -> Iterator[_Unit]:
    """Halves a unit without clause marks, at spaces or else anywhere, until its parts are short."""
    line, start, stop = unit.block.line, unit.start, unit.stop
    middle, cost = _find_middle_cut(line, start, stop)
    if unit.seconds <= unit.block.max_s or not start < middle < stop:
        yield unit
        return
    for half_start, half_stop, cut_cost in ((start, middle, cost), (middle, stop, unit.cut_cost)):
        seconds = _speech_seconds(line, half_start, half_stop)
        yield from _halve_unit(_Unit(unit.block, half_start, half_stop, seconds, cut_cost))


def _find_middle_cut(line: Line, start: int, stop: int) -> tuple[int, float]:
    """Returns the best offset for a cut near the middle, and its cost."""
    text, middle, reach = line.text, (start + stop) // 2, (stop - start) // 4
    spaces = (
        text.rfind(" ", middle - reach, middle) + 1,
        text.find(" ", middle, middle + reach) + 1,
    )
    candidates = [
        offset for offset in spaces if offset and offset == _move_out_of_spoken_form(line, offset)
    ]
    if candidates:
        return min(candidates, key=lambda offset: abs(offset - middle)), _SPACE_COST
    while middle < stop and not _is_between_graphemes(text, middle):
        middle += 1
    return _move_out_of_spoken_form(line, middle), _ANYWHERE_COST


def _is_between_graphemes(text: str, offset: int) -> bool:
    """Returns whether an offset is between two visible characters (UAX 29, without conjoining
    jamo)."""
    previous_character, next_character = text[offset - 1], text[offset]
    is_flag = (
        "\U0001f1e6" <= previous_character <= "\U0001f1ff"
        and "\U0001f1e6" <= next_character <= "\U0001f1ff"
    )
    is_skin_tone = "\U0001f3fb" <= next_character <= "\U0001f3ff"
    is_joined = (
        "\u200d" in (previous_character, next_character)
        or unicodedata.category(next_character)[0] == "M"
    )
    return not (is_flag or is_skin_tone or is_joined)


# -- units -> chunks


def _group_units(blocks: Sequence[_Block], separate_lines: bool) -> Iterator[list[_Unit]]:
    """Yields the units of each chunk."""
    run_blocks: list[_Block] = []
    for block in blocks:
        starts_chunk = separate_lines and not block.line.continues_previous
        if run_blocks and (starts_chunk or not run_blocks[-1].can_join(block)):
            yield from _chunk_run(run_blocks)
            run_blocks = []
        run_blocks.append(block)
    yield from _chunk_run(run_blocks)


def _chunk_run(run_blocks: Sequence[_Block]) -> Iterator[list[_Unit]]:
    """Yields the chunks of consecutive blocks that may share chunks; only short blocks do.

    Several short blocks in a row make chunks of their own. If they are too short for that, they go
    to the neighbour with the shorter chunk, and are divided together with that block.
    """
    groups = [
        (is_short, list(group))
        for is_short, group in groupby(run_blocks, key=lambda b: b.seconds < SHORT_LINE_S)
    ]
    parts: list[list[_Unit]] = []
    carried_units: list[_Unit] = []
    for index, (is_short, blocks) in enumerate(groups):
        if not is_short:
            parts += [block.units for block in blocks]
            parts[-len(blocks)] = [*carried_units, *blocks[0].units]
            carried_units = []
        elif len(groups) == 1 or sum(block.seconds for block in blocks) >= SHORT_LINE_S:
            parts += _gather_short_blocks(blocks)
        else:
            units = [unit for block in blocks for unit in block.units]
            seconds_before = seconds_after = math.inf
            if index:
                block_before = groups[index - 1][1][-1]
                seconds_before = _total_seconds(_divide_evenly(block_before.units)[-1])
            if index + 1 < len(groups):
                block_after = groups[index + 1][1][0]
                seconds_after = _total_seconds(_divide_evenly(block_after.units)[0])
            if seconds_before <= seconds_after:
                parts[-1] = parts[-1] + units
            else:
                carried_units = units
    for units in parts:
        yield from _divide_evenly(units)


def _gather_short_blocks(blocks: Sequence[_Block]) -> list[list[_Unit]]:
    """Groups a run of short blocks into parts of RUN seconds and a little more."""
    groups: list[list[_Unit]] = [[]]
    for block in blocks:
        if _total_seconds(groups[-1]) >= SHORT_RUN_S:
            groups.append([])
        groups[-1] += block.units
    if len(groups) > 1 and _total_seconds(groups[-1]) < SHORT_LINE_S:
        groups[-2:] = [groups[-2] + groups[-1]]
    return groups


def _total_seconds(units: Iterable[_Unit]) -> float:
    return sum(unit.seconds for unit in units)


def _divide_evenly(units: Sequence[_Unit]) -> list[list[_Unit]]:
    """Divides units into chunks of even length: those with the least sum of costs."""
    target_s, max_s = units[0].block.target_s, units[0].block.max_s
    # by the number of units: the least cost of dividing them, and where its last chunk starts
    costs = [0.0]
    starts = [0]
    for stop in range(1, len(units) + 1):
        best_cost, best_start = math.inf, stop - 1
        seconds = 0.0
        for start in range(stop - 1, -1, -1):
            seconds += units[start].seconds
            if seconds > max_s and start < stop - 1:
                break
            cost = costs[start] + _length_cost(seconds, target_s)
            if cost < best_cost:
                best_cost, best_start = cost, start
        costs.append(best_cost + units[stop - 1].cut_cost)
        starts.append(best_start)
    chunks: list[list[_Unit]] = []
    stop = len(units)
    while stop:
        chunks.append(list(units[starts[stop] : stop]))
        stop = starts[stop]
    return chunks[::-1]
