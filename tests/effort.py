"""How much a test tries, and what an action costs: never how long it takes."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import settings


def cpu_seconds(action: Callable[[], object], tries: int = 1) -> float:
    """CPU seconds of an action, the least of so many tries.

    Without the garbage collector, nor a round of it before: one looks at all that thousands of
    tests have left, and takes longer than the action.
    """
    least = float("inf")
    for _ in range(tries):
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


def quick(cases: Iterable[Any], *chosen: Any) -> list[Any]:
    """Cases for `parametrize` that are much alike: all but the chosen ones are slow tests."""
    slow = pytest.mark.slow
    return [case if case in chosen else pytest.param(case, marks=slow) for case in cases]
