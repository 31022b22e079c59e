"""Quotations that a person should look at, each with who may say it, and an answer as an edit.
(Signatures first.)
"""

from __future__ import annotations

from dataclasses import dataclass

from narrator.pipeline.attribution import Proposal, Quote
from narrator.pipeline.edits.edit import Edit


@dataclass(frozen=True, slots=True)
class Question:
    """A quotation with all of its pieces."""

    id: str
    """Names its place and words: an older one names nothing once the text was edited."""
    chapter: int
    """Counted from 0, as in `project.chapters`."""
    group: tuple[Quote, ...]
    before: str
    """The end of the paragraph before, and whoever speaks in it."""
    after: str
    paragraph: str
    """The paragraph of its first piece."""
    spans: tuple[tuple[int, int], ...]
    """Where the pieces stand in it."""
    choices: tuple[tuple[str, float | None], ...]
    """Who may say it, nine at most, the likeliest first; how sure that is, where it is known."""

    @property
    def words(self) -> str:
        return " … ".join(one.quoted.text for one in self.group)


def questions(proposal: Proposal, *, in_order: bool = False) -> list[Question]:
    """What is doubtful in a book, the weakest first, or in the order of the book."""
    raise NotImplementedError


def answer(proposal: Proposal, question: str, speaker: str) -> tuple[Proposal, Edit]:
    """The edit that writes an answer into the file of its chapter, and the proposal after it.

    `question` is an id, `speaker` a name of the cast, NOBODY or UNKNOWN. Raises UsageError.
    """
    raise NotImplementedError
