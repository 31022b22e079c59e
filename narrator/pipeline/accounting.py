"""What became of every character of the source: no text is lost in silence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from narrator.pipeline.bookplan import BookPlan
from narrator.pipeline.manuscript import characters, source_and_left_out
from narrator.speech.plan import Step


@dataclass(frozen=True, slots=True)
class Accounting:
    """Characters but white space: `source` on the lines, the others on takes and lists."""

    source: int = 0
    left_out: int = 0
    spoken: int = 0
    given_up: int = 0
    not_rendered: int = 0

    @property
    def balanced(self) -> bool:
        """Whether every character of the source is accounted for."""
        return self.source == self.spoken + self.left_out + self.given_up + self.not_rendered


def account(book: BookPlan, missing: Iterable[Step]) -> Accounting:
    """Of a book as it is, whose `missing` steps have nothing to deliver. Raises StorageError."""
    lacking = {step.key for step in missing}
    fates = Counter({"spoken": 0, "given_up": 0, "not_rendered": 0})
    for step in book.steps:
        if step.key not in lacking:
            fate = "spoken"
        else:
            fate = "given_up" if book.takes.is_given_up(step) else "not_rendered"
        fates[fate] += characters(step.chunk.text)
    return Accounting(**source_and_left_out(book.manuscript), **fates)
