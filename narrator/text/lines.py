"""What a chapter is made of: scenes, lines, and what stands in them beside words.

Values alone; `script.py` reads them from text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from narrator.errors import Problem
from narrator.text.slips import Slip


@dataclass(frozen=True, slots=True)
class Say:
    """`text[start:stop]` of a line is to be spoken as `spoken`, here only."""

    start: int
    stop: int
    spoken: str


@dataclass(frozen=True, slots=True)
class Rest:
    """A pause of `seconds` before `text[at]` of a line, set by hand; at `len(text)`: after it."""

    at: int
    seconds: float


@dataclass(frozen=True, slots=True)
class MusicMark:
    """Music begins or ends before `text[at]` of a line; at `len(text)`: after it."""

    at: int
    name: str | None
    """None: the music ends."""
    number: int
    """Of the mark's own line in the source."""
    before: float = 0.0
    """Seconds of pauses set by hand between the words before and the mark."""
    after: float = 0.0
    """The same between the mark and the words that follow."""


@dataclass(frozen=True, slots=True)
class Given:
    """The text gives `text[start:stop]` of a line to speakers, several in unison: `{Ada: …}`."""

    start: int
    stop: int
    speakers: tuple[str, ...]
    style: str | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """What one speaker says without interruption, without markup: a stretch of a paragraph.

    As it is read from a text it is all of a paragraph; `stretches.py` parts it.

    `text` is what subtitles show. Whitespace runs are single spaces, no leading or trailing ones.
    """

    speaker: str
    text: str
    path: Path
    line: int
    language: str
    """What it is said in, by BCP 47 tag."""
    style: str | None = None
    heading: int = 0
    """Level of a heading, 0 for a paragraph."""
    says: tuple[Say, ...] = ()
    rests: tuple[Rest, ...] = ()
    marks: tuple[MusicMark, ...] = ()
    """Only a line that has something to speak holds any."""
    with_before: bool = False
    """Whether it is said at the same time as the line before, in unison, by somebody else: of the
    same text and place, and with no `rests` and `marks`, which the first line of them holds."""
    goes_on: bool = False
    """Whether it goes on the paragraph of the line before."""
    is_close: bool = False
    """Whether it does so without white space between them."""
    given: tuple[Given, ...] = ()
    """What the text gives to others; an inner one comes after the one that it stands in, and before
    it. None where the line is one speaker's."""
    is_narration: bool = False
    """Whether it is the narrator's because nothing in the text says whose it is."""
    is_marked: bool = False
    """Whether a language mark says what it is said in."""
    rows: tuple[tuple[int, int], ...] = ()
    """Offset and number of each line of the source that begins within it."""
    last: int = field(default=0, compare=False)
    """Number of the last line of the source that its paragraph, or turn of one, stands in."""
    begin: int = 0
    """Offset of its text in that of its paragraph, or turn of one."""

    def number_at(self, at: int) -> int:
        """The line of the source in which an offset lies."""
        return max((number for start, number in self.rows if start <= at), default=self.line)


@dataclass(frozen=True, slots=True)
class Scene:
    """Lines between two scene breaks."""

    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Source text that is not spoken, and why."""

    path: Path
    line: int
    text: str
    reason: str
    of_line: bool = False
    """Whether it stands in a `Line` too."""
    in_part: bool = False
    """Whether others say it all the same, who were to say it in unison."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """Places in letters that the language around them is not written in."""

    alphabet: str
    around: str
    """The language around them."""
    said_in: str | None
    """What whole lines are said in, by their letters; None for words within lines."""
    path: Path
    line: int
    """Of the first place."""
    count: int
    """Of lines."""
    sample: str
    """Words of the first place."""


@dataclass(frozen=True, slots=True)
class Chapter:
    """A chapter as it will be spoken."""

    title: str
    language: str
    scenes: tuple[Scene, ...]
    left_out: tuple[LeftOut, ...]
    unseen: tuple[tuple[str, Path, int, int], ...] = ()
    """Characters of the source that cannot be seen and are not spoken: each with the file and line
    of its first place, and in how many it stands."""
    foreign: tuple[Foreign, ...] = ()
    warnings: tuple[Problem, ...] = ()
    """What is odd about its text, and keeps nobody from speaking it."""
    slips: tuple[Slip, ...] = ()
    """What was meant as markup, in the order of its lines."""
