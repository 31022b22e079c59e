"""What a book lost of what was heard in its takes, and of when their words are said.

Nothing is repaired here: `narrator hear` listens again. Prints nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from narrator.pipeline.bookplan import BookPlan


@dataclass(frozen=True, slots=True)
class Losses:
    """Rows of the file of what was heard, and takes whose words nobody timed."""

    path: Path
    """The file of what was heard."""
    damaged_rows: int = 0
    unreadable: str = ""
    """Why the file could not be read."""
    untimed: int = 0
    """Takes without word times, of engines of which other takes of the book have them."""
    takes: int = 0
    """Of those engines."""
    option: str = ""
    """What commands are given for this book: " --draft", or nothing."""

    def messages(self) -> Iterator[str]:
        """A line for each kind of loss: what is lost, what follows, what to do."""
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
    """What is lost of a book as it is. Raises StorageError."""
    store = book.store
    timed, untimed = Counter[str](), Counter[str]()
    for step in {step.key: step for step in book.steps}.values():
        take = book.takes.current(step)
        if take is not None:
            (timed if store.is_timed(take, step.text) else untimed)[take.engine] += 1
    partly = timed.keys() & untimed.keys()
    return Losses(
        store.heard.path,
        store.heard.damaged,
        store.heard.unreadable,
        sum(untimed[engine] for engine in partly),
        sum(timed[engine] + untimed[engine] for engine in partly),
        book.folders.option,
    )
