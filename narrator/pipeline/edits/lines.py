"""Edits of what a chunk says, and who says it. (Signatures first.)"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from narrator.pipeline.bookplan import BookPlan
from narrator.pipeline.edits.edit import Edit
from narrator.project.project import Project
from narrator.speech.plan import Step


@dataclass(frozen=True, slots=True)
class Paragraph:
    """The source lines that a chunk stands in, as they are on disk now."""

    path: Path
    first: int
    last: int
    """Numbers of lines, from 1."""
    text: str
    """With its markup, lines parted by a line feed; of a line in book.yaml its value."""
    sha: str
    """Of `text`: what an edit was made for."""
    item: tuple[str | int, ...] = ()
    """Where in book.yaml, for text that stands there."""


def paragraph(book: BookPlan, step: Step) -> Paragraph:
    """Raises Changed where the file no longer says what the book says, UsageError for text that
    stands in no file (spoken credits)."""
    raise NotImplementedError


def text_edit(project: Project, paragraph: Paragraph, text: str, sha: str = "") -> Edit:
    """Other words. `sha` is that of the paragraph that a person was shown, if it may be older.

    Raises Changed, ScriptError, UsageError.
    """
    raise NotImplementedError


def speaker_edit(
    book: BookPlan, step: Step, speaker: str, style: str | None = None, quotation: str = ""
) -> Edit:
    """Another speaker, or several (`Ada & Ben`): of a quotation in narration its row, of what has a
    label or braces these, of other words braces around them.

    `quotation` is the words of the one that is meant, where a chunk has several. Raises Changed,
    ScriptError, UsageError.
    """
    raise NotImplementedError


def say_edit(project: Project, word: str, spoken: str, *, chunk: Step | None = None) -> Edit:
    """A word said otherwise: in a chunk alone, else everywhere, by the lexicon.

    Raises Changed, ManifestError, ScriptError, UsageError.
    """
    raise NotImplementedError
