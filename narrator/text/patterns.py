"""Regular expressions that users write: given up where they take too long.

`(a+)+b` can match a line of a's in more ways than there are atoms, and `re` tries them all. It
hears signals meanwhile, so a clock stops it; in the main thread alone, where all text is read.
Knows nothing of lexicons.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

PATIENCE = 5.0
"""Seconds of computing that a pattern may take on one chunk: a thousand times what any needs."""


class Slow(ValueError):
    """A pattern that was given up; the message says so, and what to do."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        super().__init__(
            f"the pattern {pattern!r} was given up after {PATIENCE:g} s on one text: it can match "
            "in too many ways; have no repetition within another, as in (a+)+"
        )


@contextlib.contextmanager
def limited(pattern: str) -> Iterator[None]:
    """Within the block a pattern is matched. Raises Slow."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def raise_slow(number: int, frame: FrameType | None) -> None:
        raise Slow(pattern)

    previous_handler = signal.signal(signal.SIGVTALRM, raise_slow)
    previous_timer = signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, *previous_timer)
        signal.signal(signal.SIGVTALRM, previous_handler)
