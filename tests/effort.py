"""What an action costs: for tests of how time grows with a text, never of how long it is."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable


def cpu_seconds(action: Callable[[], object], tries: int = 1) -> float:
    """CPU seconds of an action, the least of so many tries.

    Without the garbage collector: a round of it looks at all that thousands of tests have left.
    """
    least = float("inf")
    for _ in range(tries):
        gc.collect()
        gc.disable()
        try:
            begun = time.process_time()
            action()
            least = min(least, time.process_time() - begun)
        finally:
            gc.enable()
    return least
