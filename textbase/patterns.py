"""Limits the time that users' regular expressions may take.

`(a+)+b` can match a line of a's in more ways than there are atoms, and `re` tries them all. Since
`re` handles signals meanwhile, a timer stops it; only in the main thread, where all text is read.
Knows nothing of lexicons.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

TIME_LIMIT_S = 5.0
"""Seconds of CPU time that a pattern may take on one chunk: a thousand times what any needs."""


class SlowPattern(ValueError):
    """A pattern was stopped because it took too long; the message says what to do."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        super().__init__(
            f"the pattern {pattern!r} was given up after {TIME_LIMIT_S:g} s on one text: it can "
            "match in too many ways; have no repetition within another, as in (a+)+"
        )


@contextlib.contextmanager
def time_limit(pattern: str) -> Iterator[None]:
    """Limits the time of matching a pattern within the block. Raises SlowPattern."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def raise_slow(number: int, frame: FrameType | None) -> None:
        raise SlowPattern(pattern)

    previous_handler = signal.signal(signal.SIGVTALRM, raise_slow)
    previous_timer = signal.setitimer(signal.ITIMER_VIRTUAL, TIME_LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, *previous_timer)
        signal.signal(signal.SIGVTALRM, previous_handler)
