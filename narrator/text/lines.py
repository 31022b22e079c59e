"""Values that make up a chapter: scenes, lines, and the pauses, marks and spans of lines.

`script.py` reads them from text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from narrator.errors import Problem
from narrator.text.slips import Slip


@dataclass(frozen=True, slots=True)
class SpokenForm:
    """Speaks `text[start:stop]` of a line as `spoken`, in this place only: `{written|spoken}`."""

    start: int
    stop: int
    spoken: str


@dataclass(frozen=True, slots=True)
class PauseMark:
    """A pause set by hand, of `seconds` before `text[at]` of a line; after it at `len(text)`."""

    offset: int
    seconds: float


@dataclass(frozen=True, slots=True)
class MusicMark:
    """Begins or ends music before `text[at]` of a line; after the line at `len(text)`."""

    offset: int
    name: str | None
    """None ends the music."""
    number: int
    """Line number of the mark in the source."""
    before: float = 0.0
    """Seconds of pauses set by hand between the preceding words and the mark."""
    after: float = 0.0
    """Seconds of pauses set by hand between the mark and the words that follow."""


@dataclass(frozen=True, slots=True)
class AttributedSpan:
    """Gives `text[start:stop]` of a line to one speaker, or several in unison: `{Ada: …}`."""

    start: int
    stop: int
    speakers: tuple[str, ...]
    style: str | None = None
    is_quoted: bool = True
    """False for words of the line's own speaker, once it is split by such spans."""


@dataclass(frozen=True, slots=True)
class Line:
    """The words of one speaker without interruption and without markup.

    As read from a script a line is a whole paragraph or turn; `line_splitting.py` splits it.

    `text` is shown in subtitles. Whitespace runs are single spaces; none leads or trails.
    """

    speaker: str
    text: str
    path: Path
    line: int
    language: str
    """Language that the line is spoken in, a BCP 47 tag."""
    style: str | None = None
    heading: int = 0
    """Level of a heading, 0 for a paragraph."""
    spoken_forms: tuple[SpokenForm, ...] = ()
    pauses: tuple[PauseMark, ...] = ()
    marks: tuple[MusicMark, ...] = ()
    """Only a line with words has any."""
    with_before: bool = False
    """True if it is spoken in unison with the line before, by another speaker.

    Lines in unison have the same text and place; only the first of them has `pauses` and `marks`.
    """
    continues_previous: bool = False
    """True if it continues the paragraph of the line before."""
    is_adjacent: bool = False
    """True if no white space lies between it and the line that it continues."""
    attributed_spans: tuple[AttributedSpan, ...] = ()
    """Spans that the text gives to other speakers; an inner span comes after its outer one and
    takes precedence. Empty where the line is one speaker's."""
    is_narration: bool = False
    """True if it is the narrator's because nothing in the text names its speaker."""
    is_marked: bool = False
    """True if a language mark sets its language."""
    source_lines: tuple[tuple[int, int], ...] = ()
    """Offset and number of each source line that begins within it."""
    last_source_line: int = field(default=0, compare=False)
    """Number of the last source line of its paragraph, or of its turn within one."""
    paragraph_offset: int = 0
    """Offset of its text in that of its paragraph, or of its turn within one."""

    def source_line_at(self, offset: int) -> int:
        """Returns the number of the source line in which an offset lies."""
        return max(
            (number for row_offset, number in self.source_lines if row_offset <= offset),
            default=self.line,
        )


@dataclass(frozen=True, slots=True)
class Scene:
    """Lines between two scene breaks."""

    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class OmittedText:
    """Source text that is not spoken, with the reason."""

    path: Path
    line: int
    text: str
    reason: str
    is_in_line: bool = False
    """True if it is part of a `Line` too."""
    is_partial: bool = False
    """True if other speakers, who were to say it in unison, still say it."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """Lines with letters that the surrounding language is not written in."""

    alphabet: str
    surrounding_language: str
    """The surrounding language."""
    spoken_language: str | None
    """Language of whole lines, by their letters; None for words within lines."""
    path: Path
    line: int
    """Line number of the first occurrence."""
    count: int
    """Number of lines."""
    sample: str
    """Words of the first occurrence."""


@dataclass(frozen=True, slots=True)
class Chapter:
    """A chapter as it will be spoken."""

    title: str
    language: str
    scenes: tuple[Scene, ...]
    left_out: tuple[OmittedText, ...]
    unseen: tuple[tuple[str, Path, int, int], ...] = ()
    """Invisible characters of the source, which are not spoken: each with the file and line of its
    first occurrence, and the number of occurrences."""
    foreign: tuple[Foreign, ...] = ()
    warnings: tuple[Problem, ...] = ()
    """Oddities of its text that do not keep it from being spoken."""
    slips: tuple[Slip, ...] = ()
    """Text that was meant as markup, in the order of its lines."""


def last_source_lines(chapter: Chapter) -> tuple[int, ...]:
    """Returns what a comparison of chapters leaves out: where their paragraphs end."""
    return tuple(line.last_source_line for scene in chapter.scenes for line in scene.lines)
