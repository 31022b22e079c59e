"""How much a test tries, and what an action costs: never how long it takes."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

from hypothesis import settings


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


def examples(count: int) -> int:
    """So many generated examples in `make test-all`, a fifth of them in `make test`.

    Each run draws others. Tests that name no number follow the profile by themselves.
    """
    return count * settings.default.max_examples // 100
