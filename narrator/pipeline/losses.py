"""The losses of recognised text and word times of a book's takes.

Repairs nothing: `narrator hear` listens again. Prints nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from narrator.pipeline.book_plan import BookPlan


@dataclass(frozen=True, slots=True)
class Losses:
    """Damage in the file of recognised text, and takes without word times."""

    path: Path
    """The file of recognised text."""
    damaged_rows: int = 0
    unreadable: str = ""
    """The reason why the file could not be read."""
    untimed: int = 0
    """Number of takes without word times, of engines with word times for other takes."""
    takes: int = 0
    """Number of all takes of those engines."""
    option: str = ""
    """The option that commands need for this book: " --draft" or nothing."""

    def messages(self) -> Iterator[str]:
        """Yields a line for each kind of loss: what is lost, the consequence, the remedy."""
        if self.unreadable:
            yield f"{self.path}: {self.unreadable}; what was heard in takes is not used"
        if self.damaged_rows:
            rows = "1 row is" if self.damaged_rows == 1 else f"{self.damaged_rows} rows are"
            yield (
                f"{self.path}: {rows} damaged, so what was heard in takes, or when their words are "
                f"said, is lost: `narrator hear{self.option}` listens again, "
                "`narrator gc --delete` clears the file"
            )
        if self.untimed:
            yield (
                f"{self.untimed} of {self.takes} takes have no word times, so their captions are "
                f"estimates: `narrator hear --align{self.option}` finds them"
            )


def losses_of(book: BookPlan) -> Losses:
    """Finds the losses of a book in its present state. Raises StorageError."""
    store = book.store
    timed_counts, untimed_counts = Counter[str](), Counter[str]()
    for step in {step.key: step for step in book.steps}.values():
        take = book.takes.current(step)
        if take is not None:
            (timed_counts if store.is_timed(take, step.text) else untimed_counts)[take.engine] += 1
    partly_timed_engines = timed_counts.keys() & untimed_counts.keys()
    return Losses(
        store.transcripts.path,
        store.transcripts.damaged,
        store.transcripts.unreadable,
        sum(untimed_counts[engine] for engine in partly_timed_engines),
        sum(timed_counts[engine] + untimed_counts[engine] for engine in partly_timed_engines),
        book.folders.option,
    )
