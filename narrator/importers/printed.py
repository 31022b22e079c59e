"""Plays, interviews and transcripts: blocks whose speakers are printed -> blocks with labels.

Works on the blocks of a piece, whatever they were read from. No word is lost: a speech has its
speaker's label, a direction is the narrator's, a time is left out. Which pieces are dialogue is
decided in `dialogue.py`; everything else stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise

from narrator.importers.blocks import Block, left_out, made_of
from narrator.importers.book import PrintedSpeaker, Reading, Treatment
from narrator.importers.dialogue import (
    DoubtfulLabels,
    Look,
    PrintedDialogue,
    find_dialogue,
    find_script,
)
from narrator.importers.directions import (
    EXTENSION,
    PARENTHETICAL,
    Habits,
    SpeechPiece,
    is_extension,
    is_parenthetical,
    is_personal,
    is_scene_heading,
    is_verse,
    pieces,
    style_of,
    transition,
)
from narrator.importers.labels import (
    COLONS,
    Label,
    is_capitals,
    key_of,
    lowered_capitals,
    ordinary,
    several,
)
from narrator.importers.persons import cast_of
from narrator.importers.prose import CLOSES, OPENS, Line, StyledSpan, given, tidy, write_label


@dataclass(frozen=True, slots=True)
class Printed:
    """What became of a book's printed dialogue."""

    speakers: tuple[PrintedSpeaker, ...] = ()
    dialogue: str = ""
    """What it is, counted."""
    remarks: tuple[str, ...] = ()


def read_printed(
    kept: Sequence[list[Block]],
    everything: Iterable[Block],
    directions: Treatment,
    is_script: bool = False,
    reading: Reading | None = None,
) -> Printed:
    """Write the printed dialogue among the blocks of pieces, in place; `everything` may hold the
    list of persons. In a script, names and directions are what its markup says; else it is decided
    by what is printed, or by how a user says that it is to be read."""
    if reading == "prose":
        return Printed()
    dialogue = (
        find_script(kept) if is_script else find_dialogue(kept, everything, reading == "script")
    )
    if isinstance(dialogue, DoubtfulLabels):
        return Printed(remarks=(_remark_on(dialogue),))
    if dialogue is None:
        none = (
            "--as script: no names begin paragraphs, as speakers' names do, so it is read as prose."
        )
        return Printed(remarks=(none,) if reading == "script" else ())
    labeller = _Labeller(dialogue, directions)
    for blocks, looks, is_dialogue in zip(kept, dialogue.pieces, dialogue.found, strict=True):
        if is_dialogue and _is_script(looks):
            labeller.count(looks)
        elif is_dialogue:
            blocks[:] = labeller.written(looks)
        elif labeller.is_screenplay:
            _leave_transitions(looks)
    told = labeller.told
    cast = cast_of(told.printed, dialogue.personas)
    return Printed(cast, told.counted(dialogue), tuple(told.remarks()))


_SHOWN_NAMES = 3


def _remark_on(doubtful: DoubtfulLabels) -> str:
    """What looks like a script, and how to have it read as one."""
    shown = ", ".join(f"“{name}”" for name in doubtful.names[:_SHOWN_NAMES])
    more = len(doubtful.names) - _SHOWN_NAMES
    return (
        f"{shown}{f' and {more} more' if more > 0 else ''} begin {doubtful.paragraphs:,} "
        "paragraphs, as speakers' names do, but it does not read like dialogue, so the "
        "narrator reads it all; if they are speakers: --as script."
    )


def _leave_transitions(looks: Iterable[Look]) -> None:
    for look in looks:
        if transition(look.said.text):
            look.block.leave("transition")


_SCRIPT = re.compile(r"[^\s:：(（][^:：(（\n]{0,59}?\s?(?:\([^()\n]{0,200}\)\s?)?[:：]\s")


def _is_script(looks: Sequence[Look]) -> bool:
    """Whether a piece of Markdown is labelled as scripts are, in ordinary letters: then it stays
    its author's."""
    if any(look.block.written is None for look in looks):
        return False
    named = [(look, look.label) for look in looks if look.label]
    colons = [look for look, label in named if label.mark in COLONS]
    shouted = all(is_capitals(label.name) for _, label in named)
    shouted |= any(_extensions(look, label)[0] for look, label in named)
    return bool(colons) and not shouted and all(_SCRIPT.match(o.said.text) for o in colons)


_BRACKETED = re.compile(r"\([^()]*\)")


def _extensions(look: Look, label: Label) -> tuple[list[str], str]:
    """The extensions of a name, `(V.O.)`, and what else stands in brackets behind it."""
    text = look.said.text[slice(*label.aside)]
    found = [bracket for bracket in _BRACKETED.findall(text) if is_extension(bracket)]
    shouted = [bracket for bracket in found if bracket.upper() == bracket]
    for bracket in shouted:
        text = text.replace(bracket, "", 1)
    return shouted, text.strip()


@dataclass(slots=True)
class _Speeches:
    """What was counted while a book's dialogue was written."""

    printed: dict[str, str] = field(default_factory=dict)
    """Key of each label -> as it is printed first."""
    speeches: int = 0
    directions: int = 0
    times: int = 0
    unlabelled: list[str] = field(default_factory=list)
    """Where paragraphs stand that go on with the speech above."""

    def counted(self, dialogue: PrintedDialogue) -> str:
        """What was found."""
        few = len(self.printed) <= 3
        talk = "a transcript" if self.times else "an interview" if few else "a conversation"
        what = []
        if self.printed:
            what += [_number(len(self.printed), "speaker"), _number(self.speeches, "speech")]
        what += [_number(self.directions, "stage direction")] if self.directions else []
        what += [f"{_number(self.times, 'time')} left out"] if self.times else []
        where = "" if dialogue.is_most else f", {_number(sum(dialogue.found), 'chapter')} of it"
        talk = "a script" if dialogue.is_script else "a play" if dialogue.is_play else talk
        return f"{talk}{where}: {', '.join(what)}"

    def remarks(self) -> Iterator[str]:
        """What to look at."""
        if self.unlabelled:
            count = _number(len(self.unlabelled), "paragraph")
            first = self.unlabelled[0]
            yield f"{count} without a name: more of the speech above (first: {first})."


class _Labeller:
    """Writes the pieces of a book that are dialogue, with their labels."""

    def __init__(self, dialogue: PrintedDialogue, directions: Treatment) -> None:
        self.dialogue = dialogue
        self.directions = directions
        self.is_screenplay = dialogue.is_play and dialogue.is_screenplay
        self.told = _Speeches()
        texts = [look.said.text for look in dialogue.looks]
        inside = (found for text in texts for found in _BRACKETS.findall(text))
        square = sum(any(map(str.isalpha, found)) for found in inside)
        rounded = sum(text.count("(") for text in texts)
        in_brackets = square > 2 and 2 * square >= rounded
        self.habits = Habits(dialogue.is_play, in_brackets, dialogue.is_script)
        self.spelt: dict[str, str] = {}
        """Letters of a name -> the key under which it came first."""
        self.at: _OpenSpeech | None = None
        self.held: Block | None = None
        """A name that stands alone, until something is said under it."""
        self.owed = (0, 0)
        """Its characters and words."""

    def count(self, looks: Sequence[Look]) -> None:
        """Take in what a script says that stays as it is."""
        for look in looks:
            if look.label:
                self._speaker(look.label)
                self.told.speeches += 1
        _leave_transitions(looks)

    def written(self, looks: Sequence[Look]) -> list[Block]:
        """The blocks of a dialogue with their labels."""
        made: list[Block] = []
        self.at = None
        for block, group in groupby(looks, key=lambda look: look.block):
            parts = list(group)
            if not parts[0].lines:
                if block.kind in ("heading", "scene"):
                    made += self._unsaid()
                    self.at = None
                made.append(block)
                continue
            if (parts[0].label or block.is_narrated) and self.held:
                made += self._unsaid()
            last = next((one for one in reversed(made) if one.kind != "left"), None)
            if last and last.kind == "text" and any(map(self._heads_scene, parts)):
                made.append(Block("scene", block.source, written=_break_of(block)))
            made += self._accounted(block, [one for look in parts for one in self._written(look)])
        return [*made, *self._unsaid()]

    def _accounted(self, block: Block, made: Sequence[Block]) -> Sequence[Block]:
        """What a block became, which counts what it counted, and the name that stood above it."""
        characters, words = block.characters + self.owed[0], block.words + self.owed[1]
        if not made:
            self.held, self.owed = block, (characters, words)
            return made
        self.held, self.owed = None, (0, 0)
        first = next((one for one in made if one.kind != "left"), made[0])
        others = [one for one in made if one is not first]
        first.characters = characters - sum(one.characters for one in others)
        first.words = words - sum(one.words for one in others)
        return made

    def _written(self, look: Look) -> Iterator[Block]:
        """What becomes of a look: its speaker's, the narrator's, or left out."""
        label, text, block = look.label, look.said.text, look.block
        if label is None:
            yield from self._unlabelled(look)
            return
        if self.held is None:
            yield from self._unsaid()
        self.told.speeches += 1
        self.told.times += len(label.times)
        for begin, end in label.times:
            yield _left(block, text[begin:end], "time of a transcript")
        style = None
        begin, end = label.aside
        extensions, aside = _extensions(look, label)
        for extension in extensions:
            yield _left(block, extension, EXTENSION)
        if aside:
            manner = lowered_capitals(aside, False) if self.is_screenplay else aside
            style = style_of(manner, before_colon=label.mark in COLONS)
        self.at = _OpenSpeech(block, self._speaker(label), style)
        if aside and style is None:
            begin += text[begin] == ","
            yield self._direction(look, SpeechPiece(begin, end, True), is_of_label=True)
        yield from self._spoken(look, label.said)

    def _unlabelled(self, look: Look) -> Iterator[Block]:
        text = look.said.text
        pending = self.at is not None and self.at.is_pending
        if look.block.is_narrated:
            self.at = None
            yield _made(look, 0, len(text))
        elif transition(text):
            self.at = None
            yield _left(look.block, text, "transition")
        elif self._heads_scene(look):
            self.at = None
            yield _block(look.block, _in_ordinary_letters(look.lines), "")
        elif look.is_direction:
            whole = SpeechPiece(0, len(text), True)
            if self.at:
                self.at.leads_on = is_parenthetical(text)
            if not self._takes_style(look, whole):
                yield self._direction(look, whole)
        elif self.at and (pending or self._goes_on(look)):
            if not pending and not self.dialogue.is_script:
                self.told.unlabelled.append(look.block.source)
            self.at.leads_on = False
            yield from self._spoken(look, 0)
        else:
            yield _made(look, 0, len(text))

    def _goes_on(self, look: Look) -> bool:
        """Whether a paragraph without a label is more of the speech above: in an interview it is;
        in a play verse is, and what is said by or to somebody, for directions are neither; in a
        screenplay only what a parenthetical leads to."""
        if self.dialogue.is_script:
            return True
        if self.is_screenplay:
            return self.at is not None and self.at.leads_on
        return not self.dialogue.is_play or is_verse(look.said.text) or is_personal(look.said.text)

    def _heads_scene(self, look: Look) -> bool:
        return self.is_screenplay and look.label is None and is_scene_heading(look.said.text)

    def _spoken(self, look: Look, start: int) -> Iterator[Block]:
        """A speech as a labelled paragraph, its directions before, in and after it."""
        if self.at is None:
            return
        found = pieces(look.said, start, self.habits)
        if found and found[0].is_direction and self._takes_style(look, found[0]):
            del found[0]
        text = look.said.text
        left = [
            piece.is_direction
            and (self.directions == "omit" or self._is_aside(text[piece.start : piece.stop]))
            for piece in found
        ]
        said = [number for number, piece in enumerate(found) if not piece.is_direction]
        first, last = (said[0], said[-1] + 1) if said else (len(found), len(found))
        for number, piece in enumerate(found):
            if left[number] or (piece.is_direction and not first <= number < last):
                yield self._direction(look, piece)
            elif number == first:
                yield self._speech(look, [found[n] for n in range(first, last) if not left[n]])

    def _is_aside(self, text: str) -> bool:
        """Whether a direction is a play's or a screenplay's parenthetical, which nobody speaks."""
        if text.isupper() and (self.is_screenplay or self.dialogue.is_script):
            text = text.lower()
        return self.dialogue.is_play and is_parenthetical(text)

    def _takes_style(self, look: Look, piece: SpeechPiece) -> bool:
        """Whether a direction at the beginning of a speech says how it is said."""
        at = self.at
        if at is None or (at.style if at.is_pending else not look.leads_on):
            return False
        style = style_of(look.said.text[piece.start : piece.stop])
        if style is not None:
            at.style, at.is_pending = style, True
        return style is not None

    def _speech(self, look: Look, found: Sequence[SpeechPiece]) -> Block:
        """A labelled paragraph of pieces; the directions among them are given to the narrator."""
        told = [piece for piece in found if piece.is_direction]
        self.told.directions += len(told)
        lines = _given(look.lines, told)
        between = (look.said.text[above.stop : below.start] for above, below in pairwise(found))
        if not "".join(between).strip():
            lines = _cut(lines, found[0].start, found[-1].stop)
        else:
            lines = [line for piece in found for line in _cut(lines, piece.start, piece.stop)]
            if len(found) > 1 and not is_verse(look.said.text):
                lines = [tidy(span for line in lines for span in (*line, StyledSpan(" ")))]
        label = self.at.label() if self.at else ""
        return _block(look.block, lines, label)

    def _direction(self, look: Look, piece: SpeechPiece, is_of_label: bool = False) -> Block:
        text = look.said.text[piece.start : piece.stop]
        if self.at and not is_of_label and self._is_aside(text):
            return _left(look.block, text, PARENTHETICAL)
        self.told.directions += 1
        if self.directions == "omit":
            return _left(look.block, text, "stage direction")
        return _made(look, piece.start, piece.stop)

    def _speaker(self, label: Label) -> str:
        """The name in the label that is written, noted as one of the cast."""
        parts = several(label.name)
        if len(parts) > 1 and all(key_of(part) in self.dialogue.known for part in parts):
            return " & ".join(map(self._named, parts))
        return self._named(label.name.strip(" .") if label.name.count(".") == 1 else label.name)

    def _named(self, name: str) -> str:
        """The name of one of the cast. In a script those are one that have the same letters."""
        key = key_of(name)
        if self.dialogue.is_script:
            key = self.spelt.setdefault("".join(filter(str.isalnum, key)) or key, key)
            name = self.told.printed.get(key, name)
        self.told.printed.setdefault(key, name)
        return ordinary(name)

    def _unsaid(self) -> Iterator[Block]:
        """A name that nothing was said under."""
        if self.at and self.at.is_pending:
            style = f" ({self.at.style})" if self.at.style else ""
            made = _block(self.at.block, [(StyledSpan(self.at.name + style),)], "")
            made.characters, made.words = self.owed
            yield made
        self.at, self.held, self.owed = None, None, (0, 0)


def _number(count: int, what: str) -> str:
    ending = ("es" if what.endswith("ch") else "s") if count != 1 else ""
    return f"{count:,} {what}{ending}"


@dataclass(slots=True)
class _OpenSpeech:
    """Whose speech it is at a place in a dialogue."""

    block: Block
    """Where its name stands."""
    name: str
    style: str | None
    is_pending: bool = True
    """Whether nothing of it was written yet."""
    leads_on: bool = False
    """Whether a parenthetical stands right above, below which it goes on."""

    def label(self) -> str:
        """What stands before a paragraph of it: its style stands before the first."""
        style = f" ({self.style})" if self.style and self.is_pending else ""
        self.is_pending = False
        return f"{self.name}{style}:"


def _break_of(block: Block) -> str | None:
    """A scene break, as it is written where a block is."""
    return None if block.written is None else "***\n"


def _in_ordinary_letters(lines: Sequence[Line]) -> list[Line]:
    """The heading of a scene, without its capitals."""
    return [
        tuple(
            replace(span, text=lowered_capitals(span.text, number == place == 0))
            for place, span in enumerate(line)
        )
        for number, line in enumerate(lines)
    ]


_BRACKETS = re.compile(r"\[[^\[\]]*\]")


def _cut(lines: Sequence[Line], start: int, stop: int) -> list[Line]:
    """A stretch of lines, by its place in their text."""
    made = []
    at = 0
    for line in lines:
        spans = []
        for span in line:
            begin, end = max(start - at, 0), min(stop - at, len(span.text))
            if begin < end:
                spans.append(replace(span, text=span.text[begin:end]))
            at += len(span.text)
        at += 1
        if tidied := tidy(spans):
            made.append(tidied)
    return made


def _given(lines: Sequence[Line], told: Sequence[SpeechPiece]) -> list[Line]:
    """Lines in which the directions of a speech are marked."""
    made = []
    at = 0
    for line in lines:
        spans = []
        for span in line:
            end = at + len(span.text)
            borders = {border for piece in told for border in (piece.start, piece.stop)}
            cuts = [at, *sorted(border for border in borders if at < border < end), end]
            for begin, stop in pairwise(cuts):
                inside = any(piece.start <= begin < piece.stop for piece in told)
                text = span.text[begin - at : stop - at]
                spans.append(replace(span, text=text, given=inside))
            at = end
        at += 1
        made.append(tuple(spans))
    return made


def _made(look: Look, start: int, stop: int) -> Block:
    """A stretch of a look without a label; all of a block is that block."""
    whole = start == 0 and stop == len(look.said.text) and not look.goes_on
    if whole and look.lines == (look.block.lines or look.lines):
        return look.block
    return _block(look.block, _cut(look.lines, start, stop), "")


def _block(block: Block, lines: Sequence[Line], speaker: str) -> Block:
    """A paragraph in the place of a block."""
    made = made_of("text", block.source, lines)
    made.speaker = speaker
    made.document, made.matter, made.section = block.document, block.matter, block.section
    made.language, made.containers = block.language, block.containers
    if block.written is not None:
        label = f"{write_label(speaker)} " if speaker else ""
        made.written = label + "\\\n".join(map(_as_written, lines)) + "\n"
    return made


def _as_written(line: Line) -> str:
    """A line of Markdown with its own marks."""
    rows = []
    for is_given, group in groupby(zip(given(line), line, strict=True), key=lambda one: one[0]):
        text = "".join(f"{span.mark}{span.text}{span.mark}" for _, span in group)
        rows.append(f"{OPENS}{text}{CLOSES}" if is_given else text)
    return "".join(rows)


def _left(block: Block, text: str, why: str) -> Block:
    made = left_out(block.source, text, why)
    made.document = block.document
    return made
