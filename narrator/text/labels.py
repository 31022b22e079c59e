"""Labels: `name (style):` at the start of a line of the source, before a speaker's words.

Only a name of the cast makes a label. Anything else that looks like one is text; in a plain script
it is a mistyped name, which would be read aloud by the wrong voice.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from narrator.errors import MAX_SUGGESTIONS, Problem, nearest
from narrator.text.flat import Flat
from narrator.text.markup import squeeze, visible
from narrator.text.slips import Slip
from textbase.characters import excerpt, strip_invisible

# With an ordinary or a full-width colon.
LABEL = re.compile(
    r"[^\S\n]*(?P<name>[^\s:：(（][^:：(（\n]{0,59}?)[^\S\n]*"
    r"(?:[(（](?P<style>[^()（）\n]{0,200})[)）][^\S\n]*)?(?P<colon>[:：])"
)
_OPENING_QUOTES = tuple("“‘«„‹「『《〈\"'")
_QUOTES = '“«„‹「『"'
"""Quotes that, after a label in prose, show it to be narration: `Alice: “No!”`"""


def fold_label(label: str) -> str:
    """Normalises a label for comparison: without case, and without invisible characters."""
    return strip_invisible(label).casefold()


@dataclass(frozen=True, slots=True)
class Roles:
    """The speakers of a script, by the labels that scripts use."""

    speakers: Mapping[str, str] = field(hash=False)
    """Label as written in scripts, `fold_label` (names and aliases) -> name of the speaker."""
    narrator: str | None
    """Speaker of text without a label."""
    languages: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Name of a speaker -> language, for speakers with a language other than their chapter's."""
    declared: Sequence[str] = field(default=(), hash=False)
    """All languages that the book declares, its own first."""
    spellings: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Label, `fold_label` -> its spelling in the manifest."""
    _nearest_labels: dict[str, str | None] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def find_speakers(self, text: str) -> tuple[str, ...]:
        """Returns the speakers that a text names: one of the cast, or several joined by &.

        Empty if the text is anything else. Names that contain an & themselves come first.
        """
        parts = text.split("&")
        if len(parts) > _MAX_SPEAKERS:
            return ()
        speakers: list[str] = []
        while parts:
            for part_count in range(len(parts), 0, -1):
                speaker = self.speakers.get(fold_label(squeeze("&".join(parts[:part_count]))))
                if speaker is not None:
                    speakers.append(speaker)
                    del parts[:part_count]
                    break
            else:
                return ()
        return tuple(dict.fromkeys(speakers))

    def nearest_label(self, label: str) -> str | None:
        """Returns the manifest's spelling of the label that a mistyped one is nearest to, or None.

        Only the first few hundred labels are compared: it takes time, and nobody mistypes more.
        """
        if label not in self._nearest_labels and len(self._nearest_labels) < _MAX_GUESSES:
            nearest_label = nearest(label, list(self.speakers))
            self._nearest_labels[label] = (
                self.spellings.get(nearest_label, self.speakers[nearest_label])
                if nearest_label
                else None
            )
        return self._nearest_labels.get(label)


_MAX_GUESSES = 300
"""Labels that are compared with the cast."""
_MAX_SPEAKERS = 20
"""Speakers that a text may name in unison."""

Attribution = tuple[tuple[str, ...], str | None]
"""Speakers (several in unison) and style."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The start of one speaker's words within a paragraph."""

    label_start: int
    speech_start: int
    """Offset after the label."""
    attribution: Attribution | None = None
    """Speakers and style of the label; None without a label."""


UNKNOWN, EMPTY, DOUBTFUL, BRACKETS = "unknown", "empty", "doubtful", "brackets"


@dataclass(frozen=True, slots=True)
class Stray:
    """Text that looks like a label and may not be one, or the other way round."""

    kind: str
    """UNKNOWN: it names nobody in the cast; EMPTY: no words follow it; DOUBTFUL: it is a label, and
    the text after it does not look like speech; BRACKETS: it defines a link."""
    name: str
    line: int


def turns(flat: Flat, roles: Roles) -> tuple[list[Turn], list[Stray]]:
    """Returns the turns of a paragraph, the first at its start, and its stray labels.

    A label within a paragraph counts where it begins a line of the source, so that a script needs
    no blank lines; an apparent label there counts only if the paragraph has real ones.
    """
    labelled_turns: list[Turn] = []
    strays: list[Stray] = []
    for offset, line in flat.line_starts:
        label = LABEL.match(flat.masked_text, offset)
        if label is None or flat.is_given(label.start("name")):
            continue
        turn, stray_kind = _read_turn(label, flat, roles)
        name = squeeze(flat.text[label.start("name") : label.end("name")])
        if turn is not None:
            labelled_turns.append(turn)
        if stray_kind == DOUBTFUL or (stray_kind == UNKNOWN and (labelled_turns or offset == 0)):
            strays.append(Stray(stray_kind, name, line))
    spoken_turns = []
    for turn, next_turn in pairwise([*labelled_turns, Turn(len(flat.text), 0)]):
        if visible(flat.text[turn.speech_start : next_turn.label_start]):
            spoken_turns.append(turn)
        else:
            line = flat.line_at(turn.label_start)
            strays.append(
                Stray(EMPTY, squeeze(flat.text[turn.label_start : turn.speech_start])[:-1], line)
            )
    if not spoken_turns or spoken_turns[0].label_start:
        spoken_turns.insert(0, Turn(0, 0))
    return spoken_turns, strays


def _read_turn(label: re.Match[str], flat: Flat, roles: Roles) -> tuple[Turn | None, str]:
    """Returns the turn that a label begins, if it is one, and its kind of stray, if any."""
    name = squeeze(flat.text[label.start("name") : label.end("name")])
    following_text = flat.text[label.end() : label.end() + _CONTEXT_LENGTH]
    has_space = label["colon"] == "：" or not following_text[:1].strip()
    speakers = roles.find_speakers(name)
    if not speakers or not (has_space or label.start() == 0):
        return None, UNKNOWN if has_space and _looks_like_label(name, following_text, roles) else ""
    style = squeeze(label["style"] or "") or None
    first_character = following_text.lstrip()[:1]
    is_like_prose = first_character.islower() or (
        first_character != "" and first_character in _QUOTES
    )
    turn = Turn(label.start(), label.end(), (speakers, style))
    return turn, DOUBTFUL if is_like_prose and not flat.attributed_spans else ""


_CONTEXT_LENGTH = 200
"""Characters after a label that decide if it is one."""


def _looks_like_label(name: str, following_text: str, roles: Roles) -> bool:
    """Returns whether `name`, which is not in the cast, is meant as a label.

    That is one to three words, each beginning with a capital or a letter of a script without
    capitals; or a near miss of a name. Before a quotation a name without capitals is prose:
    他说：“……”, and so is any text that begins with a quotation mark.
    """
    if (
        not following_text.strip()
        or name.startswith(_OPENING_QUOTES)
        or any(c in name for c in "{}[]")
    ):
        return False
    if "&" in name:
        return any(map(roles.find_speakers, name.split("&")))
    words = name.split()
    if len(words) > 4:
        return False
    is_prose = unicodedata.category(name[0]) == "Lo" and (
        len(name) > 8 or following_text.lstrip().startswith(_OPENING_QUOTES)
    )
    if (
        not is_prose
        and len(words) <= 3
        and all(_is_name_like(word, index == 0) for index, word in enumerate(words))
    ):
        return True
    return roles.nearest_label(name) is not None


def _is_name_like(word: str, is_first: bool) -> bool:
    """Returns whether a word looks like part of a name; a number may not come first."""
    category = unicodedata.category(word[0])
    return (category in {"Lu", "Lt", "Lo"} or (category == "Nd" and not is_first)) and all(
        character.isalnum()
        or character in "’'.-·"
        or unicodedata.category(character).startswith("M")
        for character in word
    )


@dataclass(slots=True)
class Labels:
    """Collects the labels and stray labels of a chapter while it is read."""

    path: Path
    roles: Roles
    strays: list[Stray] = field(default_factory=list)
    unknown_labels: dict[str, list[int]] = field(default_factory=dict)
    """Labels of the manifest's `lines` that name nobody -> line numbers."""
    place_count: int = 0
    """Number of places for a label: paragraphs, and lines within them that seem to have one."""
    labelled_count: int = 0
    """Number of such places that have a label."""

    def turns(self, flat: Flat) -> list[Turn]:
        """Returns the turns of a paragraph, and counts it."""
        paragraph_turns, strays = turns(flat, self.roles)
        label_count = sum(turn.attribution is not None for turn in paragraph_turns)
        label_count += sum(stray.kind == EMPTY for stray in strays)
        unknown_count = sum(stray.kind == UNKNOWN for stray in strays)
        self.place_count += max(1, label_count + unknown_count)
        self.labelled_count += label_count
        self.strays += strays
        return paragraph_turns

    def parse_label(self, label: str, line: int) -> Attribution:
        """Returns speakers and style of a label of the manifest's `lines`, and counts it."""
        match = LABEL.fullmatch(f"{label}:")
        name = squeeze(match["name"]) if match else squeeze(label)
        style = squeeze(match["style"] or "") or None if match else None
        speakers = self.roles.find_speakers(name)
        if not speakers:
            self.unknown_labels.setdefault(name, []).append(line)
        self.place_count += 1
        self.labelled_count += bool(speakers)
        return speakers, style

    def check_link_label(self, label: str, line: int) -> None:
        """Records the label of a link definition if it is a name of the cast."""
        if self.roles.find_speakers(label):
            self.strays.append(Stray(BRACKETS, label, line))

    @property
    def is_script(self) -> bool:
        """True if the chapter is plainly a script: at least half of its paragraphs have labels."""
        return self.labelled_count >= 2 and 2 * self.labelled_count >= self.place_count

    def problems(self) -> list[Problem]:
        """Returns the problems of the labels, one for all lines with the same label."""
        lines_by_label = {name: list(lines) for name, lines in self.unknown_labels.items()}
        problems: list[Problem] = []
        for stray in self.strays if self.is_script else ():
            if stray.kind == UNKNOWN:
                lines_by_label.setdefault(stray.name, []).append(stray.line)
            elif stray.kind == EMPTY:
                problems.append(self._problem(stray.line, f"nothing is said after “{stray.name}:”"))
            elif stray.kind == BRACKETS:
                message = f"“[{stray.name}]:” defines a link; a speaker's label has no brackets"
                problems.append(self._problem(stray.line, message))
        for count, (label, lines) in enumerate(lines_by_label.items()):
            suggestion = self.roles.nearest_label(label) if count < MAX_SUGGESTIONS else None
            guess = f"; did you mean “{suggestion}”?" if suggestion else "."
            name = excerpt(label)
            message = (
                f"“{name}” is not in the cast{other_lines_note(lines)}{guess} Declare it under "
                f"`speakers`, or write “{name}\\:” where it is no speaker's label"
            )
            problems.append(self._problem(lines[0], message))
        return problems

    def slips(self) -> list[Slip]:
        """Returns apparent labels that may be meant otherwise than they are read."""
        strays = () if self.is_script else self.strays
        names = dict.fromkeys(stray.name for stray in strays if stray.kind == UNKNOWN)
        suggestions = {
            name: self.roles.nearest_label(name) for name in list(names)[:MAX_SUGGESTIONS]
        }
        slips: list[Slip] = []
        for stray in strays:
            suggestion = suggestions.get(stray.name) if stray.kind == UNKNOWN else None
            written = f"[{stray.name}]:" if stray.kind == BRACKETS else f"{stray.name}:"
            problem = _NEAR_MISS if suggestion else _PROBLEMS[stray.kind]
            hint = f"; did you mean “{suggestion}:”?" if suggestion else ""
            slips.append(Slip(written, problem, self.path, stray.line, hint))
        return slips

    def _problem(self, line: int, message: str) -> Problem:
        return Problem(self.path, line, message)


_AS_TEXT = "write “\\:” for a colon that is text"
_NEAR_MISS = f"is read as text, for nobody of the cast has exactly this name ({_AS_TEXT})"
_PROBLEMS = {
    UNKNOWN: "is read as text, for it names nobody of the cast: declare who speaks under "
    f"`speakers`, or {_AS_TEXT}",
    EMPTY: f"is read as text, for nothing is said after it in its paragraph ({_AS_TEXT})",
    DOUBTFUL: f"is a label, and what follows it reads like prose: {_AS_TEXT}",
    BRACKETS: "defines a link, and is left out: a speaker's label has no brackets",
}


def other_lines_note(lines: Sequence[int]) -> str:
    """Returns ` (and in 2 more lines)` for line numbers beyond the first, or nothing."""
    other_count = len(lines) - 1
    return f" (and in {other_count} more line{'s' * (other_count > 1)})" if other_count else ""
