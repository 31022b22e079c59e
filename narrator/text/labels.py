"""Labels: `name (style):` at the start of a line of the source, before what somebody says.

Only the name of one of the cast is a label. What else looks like one is text, whoever is declared;
in a plain script it is a mistyped name, which would be read aloud by the wrong voice.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from narrator.characters import quoted, seen
from narrator.errors import GUESSES, Problem, nearest
from narrator.text.flat import Flat
from narrator.text.markup import squeeze, visible
from narrator.text.slips import Slip

# With an ordinary or a full-width colon.
LABEL = re.compile(
    r"[^\S\n]*(?P<name>[^\s:：(（][^:：(（\n]{0,59}?)[^\S\n]*"
    r"(?:[(（](?P<style>[^()（）\n]{0,200})[)）][^\S\n]*)?(?P<colon>[:：])"
)
_OPENING_QUOTES = tuple("“‘«„‹「『《〈\"'")
_QUOTES = '“«„‹「『"'
"""After a label in prose they are the narrator's words before a quotation: `Alice: “No!”`"""


def folded(label: str) -> str:
    """A speaker's label as labels are compared: without case, and without what cannot be seen."""
    return seen(label).casefold()


@dataclass(frozen=True, slots=True)
class Roles:
    """Who may speak, by the labels that scripts use."""

    speakers: Mapping[str, str]
    """Label as written in scripts, `folded` (names and aliases) -> name of the speaker."""
    narrator: str | None
    """Speaker of text without a label."""
    languages: Mapping[str, str] = field(default_factory=dict)
    """Name of a speaker -> language, for those who do not speak their chapter's."""
    declared: Sequence[str] = ()
    """All languages that the book names, its own first."""
    spelt: Mapping[str, str] = field(default_factory=dict)
    """Label, `folded` -> as the manifest has it."""
    _meant: dict[str, str | None] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def named(self, text: str) -> tuple[str, ...]:
        """Whom a text names and nothing else: one of the cast, or several in unison, parted by &.

        Names with an & of their own come first.
        """
        parts = text.split("&")
        found: list[str] = []
        while parts and len(parts) <= _MOST:
            for size in range(len(parts), 0, -1):
                speaker = self.speakers.get(folded(squeeze("&".join(parts[:size]))))
                if speaker is not None:
                    found.append(speaker)
                    del parts[:size]
                    break
            else:
                break
        return () if parts else tuple(dict.fromkeys(found))

    def meant(self, label: str) -> str | None:
        """The label that a mistyped one was most likely meant to be, as the manifest has it.

        Of some hundreds alone: it takes time, and nobody mistypes more.
        """
        if label not in self._meant and len(self._meant) < _NAMES:
            close = nearest(label, list(self.speakers))
            self._meant[label] = self.spelt.get(close, self.speakers[close]) if close else None
        return self._meant.get(label)


_NAMES = 300
"""That are held against the cast."""
_MOST = 20
"""Speakers that a text may name at once."""

Attribution = tuple[tuple[str, ...], str | None]
"""Speakers, several in unison, and style."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Where somebody begins to speak within a paragraph."""

    begin: int
    """Offset of the label."""
    content: int
    """Offset after it."""
    attribution: Attribution | None = None
    """Whom it names; None where nothing does."""


UNKNOWN, EMPTY, DOUBTFUL, BRACKETS = "unknown", "empty", "doubtful", "brackets"


@dataclass(frozen=True, slots=True)
class Stray:
    """What looks like a label and may be none, or the other way round."""

    kind: str
    """UNKNOWN: it names nobody of the cast; EMPTY: nothing is said after it; DOUBTFUL: it is a
    label, and what follows does not look like speech; BRACKETS: it defines a link."""
    name: str
    line: int


def turns(flat: Flat, roles: Roles) -> tuple[list[Turn], list[Stray]]:
    """The turns of a paragraph, the first at its start; and what only looks like a label.

    A label within a paragraph counts where it begins a line of the source, so that a script needs
    no blank lines; what only looks like one does so among labels alone.
    """
    found: list[Turn] = []
    strays: list[Stray] = []
    for offset, line in flat.starts:
        label = LABEL.match(flat.shadow, offset)
        if label is None or flat.is_given(label.start("name")):
            continue
        turn, kind = _read(label, flat, roles)
        name = squeeze(flat.text[label.start("name") : label.end("name")])
        if turn is not None:
            found.append(turn)
        if kind == DOUBTFUL or (kind == UNKNOWN and (found or offset == 0)):
            strays.append(Stray(kind, name, line))
    kept = []
    for turn, after in pairwise([*found, Turn(len(flat.text), 0)]):
        if visible(flat.text[turn.content : after.begin]):
            kept.append(turn)
        else:
            line = flat.line_at(turn.begin)
            strays.append(Stray(EMPTY, squeeze(flat.text[turn.begin : turn.content])[:-1], line))
    if not kept or kept[0].begin:
        kept.insert(0, Turn(0, 0))
    return kept, strays


def _read(label: re.Match[str], flat: Flat, roles: Roles) -> tuple[Turn | None, str]:
    """The turn that a label begins, if it is one, and what kind of stray it is, if any."""
    name = squeeze(flat.text[label.start("name") : label.end("name")])
    rest = flat.text[label.end() : label.end() + _AFTER]
    spaced = label["colon"] == "：" or not rest[:1].strip()
    speakers = roles.named(name)
    if not speakers or not (spaced or label.start() == 0):
        return None, UNKNOWN if spaced and _looks_like_label(name, rest, roles) else ""
    style = squeeze(label["style"] or "") or None
    first = rest.lstrip()[:1]
    like_prose = first.islower() or (first != "" and first in _QUOTES)
    turn = Turn(label.start(), label.end(), (speakers, style))
    return turn, DOUBTFUL if like_prose and not flat.given else ""


_AFTER = 200
"""Characters after a label that tell whether it is one."""


def _looks_like_label(name: str, rest: str, roles: Roles) -> bool:
    """Is `name`, which the cast does not have, meant as a label before `rest`?

    One to three words, each beginning with a capital or a letter of a script without capitals; or
    a near miss of a name. Before a quotation a name without capitals is prose: 他说：“……”, and so
    is whatever begins a quotation.
    """
    if not rest.strip() or name.startswith(_OPENING_QUOTES) or any(c in name for c in "{}[]"):
        return False
    if "&" in name:
        return any(map(roles.named, name.split("&")))
    words = name.split()
    if len(words) > 4:
        return False
    prose = unicodedata.category(name[0]) == "Lo" and (
        len(name) > 8 or rest.lstrip().startswith(_OPENING_QUOTES)
    )
    if not prose and len(words) <= 3 and all(_name_like(w, i == 0) for i, w in enumerate(words)):
        return True
    return roles.meant(name) is not None


def _name_like(word: str, first: bool) -> bool:
    kind = unicodedata.category(word[0])
    return (kind in {"Lu", "Lt", "Lo"} or (kind == "Nd" and not first)) and all(
        c.isalnum() or c in "’'.-·" or unicodedata.category(c).startswith("M") for c in word
    )


@dataclass(slots=True)
class Labels:
    """The labels of a chapter, as they are met."""

    path: Path
    roles: Roles
    strays: list[Stray] = field(default_factory=list)
    refused: dict[str, list[int]] = field(default_factory=dict)
    """Labels by themselves that name nobody -> lines."""
    places: int = 0
    """Paragraphs, and lines of the source within them that have or seem to have labels."""
    labelled: int = 0
    """Of these, those with labels."""

    def turns(self, flat: Flat) -> list[Turn]:
        """The turns of a paragraph, which is counted."""
        found, strays = turns(flat, self.roles)
        labels = sum(turn.attribution is not None for turn in found)
        labels += sum(stray.kind == EMPTY for stray in strays)
        unknown = sum(stray.kind == UNKNOWN for stray in strays)
        self.places += max(1, labels + unknown)
        self.labelled += labels
        self.strays += strays
        return found

    def alone(self, label: str, line: int) -> Attribution:
        """Speakers and style of a label that stands by itself."""
        written = LABEL.fullmatch(f"{label}:")
        name = squeeze(written["name"]) if written else squeeze(label)
        style = squeeze(written["style"] or "") or None if written else None
        speakers = self.roles.named(name)
        if not speakers:
            self.refused.setdefault(name, []).append(line)
        self.places += 1
        self.labelled += bool(speakers)
        return speakers, style

    def link(self, label: str, line: int) -> None:
        """A label in brackets, which defines a link."""
        if self.roles.named(label):
            self.strays.append(Stray(BRACKETS, label, line))

    @property
    def is_script(self) -> bool:
        """Whether the chapter is plainly one: at least half of its paragraphs have labels."""
        return self.labelled >= 2 and 2 * self.labelled >= self.places

    def problems(self) -> list[Problem]:
        """What is refused, once for all lines with the same label."""
        refused = {name: list(lines) for name, lines in self.refused.items()}
        found: list[Problem] = []
        for stray in self.strays if self.is_script else ():
            if stray.kind == UNKNOWN:
                refused.setdefault(stray.name, []).append(stray.line)
            elif stray.kind == EMPTY:
                found.append(self._problem(stray.line, f"nothing is said after “{stray.name}:”"))
            elif stray.kind == BRACKETS:
                what = f"“[{stray.name}]:” defines a link; a speaker's label has no brackets"
                found.append(self._problem(stray.line, what))
        for count, (label, lines) in enumerate(refused.items()):
            meant = self.roles.meant(label) if count < GUESSES else None
            guess = f"; did you mean “{meant}”?" if meant else "."
            name = quoted(label)
            what = (
                f"“{name}” is not in the cast{more(lines)}{guess} Declare it under `speakers`, or "
                f"write “{name}\\:” where it is no speaker's label"
            )
            found.append(self._problem(lines[0], what))
        return found

    def slips(self) -> list[Slip]:
        """What is text here, or a label, and was perhaps meant otherwise."""
        strays = () if self.is_script else self.strays
        names = dict.fromkeys(stray.name for stray in strays if stray.kind == UNKNOWN)
        near = {name: self.roles.meant(name) for name in list(names)[:GUESSES]}
        found: list[Slip] = []
        for stray in strays:
            meant = near.get(stray.name) if stray.kind == UNKNOWN else None
            written = f"[{stray.name}]:" if stray.kind == BRACKETS else f"{stray.name}:"
            matter = _NEAR if meant else _MATTERS[stray.kind]
            hint = f"; did you mean “{meant}:”?" if meant else ""
            found.append(Slip(written, matter, self.path, stray.line, hint))
        return found

    def _problem(self, line: int, message: str) -> Problem:
        return Problem(self.path, line, message)


_AS_TEXT = "write “\\:” for a colon that is text"
_NEAR = f"is read as text, for nobody of the cast has exactly this name ({_AS_TEXT})"
_MATTERS = {
    UNKNOWN: "is read as text, for it names nobody of the cast: declare who speaks under "
    f"`speakers`, or {_AS_TEXT}",
    EMPTY: f"is read as text, for nothing is said after it in its paragraph ({_AS_TEXT})",
    DOUBTFUL: f"is a label, and what follows it reads like prose: {_AS_TEXT}",
    BRACKETS: "defines a link, and is left out: a speaker's label has no brackets",
}


def more(lines: Sequence[int]) -> str:
    """That there are others than the first of these lines."""
    others = len(lines) - 1
    return f" (and in {others} more line{'s' * (others > 1)})" if others else ""
