"""MLX's memory limits, and detection of out-of-memory and unrecoverable errors."""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import re

from narrator.engines import machine

WORK_BYTES = 2_000_000_000
"""Bytes needed in addition to the weights: two windows of the codec (1.7 GB as counted), two rows
(40 MB each), and this program."""
RECOGNISER_BYTES = 2_000_000_000
"""Bytes of the recogniser that checks takes: 1.6 GB of weights, and its work."""

_OUT_OF_MEMORY = re.compile(
    r"out[ _]?of[ _]?memory|insufficient memory|not enough memory"
    r"|(?:unable|failed) to allocate|cannot allocate|ALLOC(?:ATION)?_FAILED"
    r"|\[metal::malloc\]|\[malloc|cudaErrorMemoryAllocation|bad_alloc",
    re.IGNORECASE,
)
_CORRUPTION = re.compile(
    r"cache thrashing|cudaGraph|SubmissionsIgnored|for causing prior|could not be made ready",
    re.IGNORECASE,
)
"""Errors after which MLX's encoder is left incomplete, the system accepts no more work of this
process, or weights were never computed."""
_CUDA = re.compile(r"\bcuda[A-Z]\w*|\bCUDA error|\bcu[A-Z]\w*\(|illegal memory access")


def is_out_of_memory(error: Exception) -> bool:
    return isinstance(error, MemoryError) or bool(_OUT_OF_MEMORY.search(str(error)))


def is_beyond_repair(error: Exception) -> bool:
    """Returns whether results of MLX in this process can no longer be trusted.

    CUDA errors persist in a process, except for running out of memory.
    """
    message = str(error)
    if _CORRUPTION.search(message):
        return True
    return bool(_CUDA.search(message)) and not is_out_of_memory(error)


def prepare() -> None:
    """Sets MLX's environment variables before it is loaded without a model. Raises ImportError."""
    import speechbase.environment  # noqa: F401


def free_memory() -> None:
    """Frees unreferenced memory, including MLX's cache."""
    import mlx.core as mx

    gc.collect()
    mx.clear_cache()


class MemoryLimits:
    """Sets MLX's limits of cached and of wired memory, until `restore` resets them."""

    def __init__(self) -> None:
        import mlx.core as mx

        from speechbase.device import CACHE_LIMIT

        self._previous_cache: int | None = mx.set_cache_limit(CACHE_LIMIT)
        self._previous_wired: int | None = None
        if mx.metal.is_available():
            # Without it the model may be paged out when other programs need memory.
            with contextlib.suppress(RuntimeError, ValueError):
                self._previous_wired = mx.set_wired_limit(device_memory())

    def restore(self) -> None:
        import mlx.core as mx

        if self._previous_cache is not None:
            mx.set_cache_limit(self._previous_cache)
        if self._previous_wired is not None:
            mx.set_wired_limit(self._previous_wired)
        self._previous_cache = self._previous_wired = None


def usable_memory() -> int:
    """Returns the bytes of the device that a model may use.

    A fifth is left to other programs, or as much as the recogniser needs if it is installed, since
    it is loaded at the first doubtful take.
    """
    total = device_memory()
    has_recogniser = importlib.util.find_spec("faster_whisper") is not None
    return total - max(total // 5, RECOGNISER_BYTES if has_recogniser else 0)


def device_memory() -> int:
    """Returns the bytes that the device recommends to use, or has."""
    import mlx.core as mx

    info = mx.device_info()
    for name in ("max_recommended_working_set_size", "total_memory", "memory_size"):
        if info.get(name):
            return int(info[name])
    return machine.memory().total


def reset_peak_memory() -> None:
    """Starts a measurement of `peak_memory`."""
    import mlx.core as mx

    mx.reset_peak_memory()


def peak_memory() -> int:
    """Returns the most bytes that MLX has held since `reset_peak_memory`."""
    import mlx.core as mx

    return mx.get_peak_memory()
