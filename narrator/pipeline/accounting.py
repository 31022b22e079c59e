"""What became of every character of the source: no text is lost in silence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from narrator.pipeline.bookplan import BookPlan
from narrator.pipeline.manuscript import characters, source_and_left_out
from narrator.speech.plan import Step
from narrator.text.chunks import together


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
    """Of a book as it is, whose `missing` steps have nothing to deliver. Raises StorageError.

    What several say in unison counts once: as spoken where all of them have takes.
    """
    lacking = {step.key for step in missing}
    fates = Counter({"given_up": 0, "not_rendered": 0, "spoken": 0})
    for steps in together(book.steps):
        found = {_fate(book, step, lacking) for step in steps}
        fate = next(fate for fate in fates if fate in found)
        fates[fate] += characters(steps[0].chunk.text)
    return Accounting(**source_and_left_out(book.manuscript), **fates)


def _fate(book: BookPlan, step: Step, lacking: Collection[str]) -> str:
    if step.key not in lacking:
        return "spoken"
    return "given_up" if book.takes.is_given_up(step) else "not_rendered"
