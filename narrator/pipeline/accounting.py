"""Accounts for every character of the source, so that no text is lost in silence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from narrator.pipeline.book_plan import BookPlan
from narrator.pipeline.manuscript import count_visible_characters, source_and_left_out
from narrator.speech.plan import Step
from narrator.text.chunks import group_unison


@dataclass(frozen=True, slots=True)
class Accounting:
    """Numbers of characters without white space: `source` in the lines, the others in takes and
    lists."""

    source: int = 0
    left_out: int = 0
    spoken: int = 0
    given_up: int = 0
    not_rendered: int = 0

    @property
    def balanced(self) -> bool:
        """True if every character of the source is accounted for."""
        return self.source == self.spoken + self.left_out + self.given_up + self.not_rendered


def account(book: BookPlan, missing: Iterable[Step]) -> Accounting:
    """Count the characters of a book by their fate.

    Steps in `missing` have nothing to deliver. Text that several speakers say in unison counts
    once, and as spoken only if all of them have takes. Raises StorageError.
    """
    missing_keys = {step.key for step in missing}
    fates = Counter({"given_up": 0, "not_rendered": 0, "spoken": 0})
    for steps in group_unison(book.steps):
        unison_fates = {_fate(book, step, missing_keys) for step in steps}
        fate = next(fate for fate in fates if fate in unison_fates)
        fates[fate] += count_visible_characters(steps[0].chunk.text)
    return Accounting(**source_and_left_out(book.manuscript), **fates)


def _fate(book: BookPlan, step: Step, missing_keys: Collection[str]) -> str:
    """The field of `Accounting` that a step's characters count in."""
    if step.key not in missing_keys:
        return "spoken"
    return "given_up" if book.takes.is_given_up(step) else "not_rendered"
