"""How much memory MLX has and may keep, and what running out of it looks like."""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import re

from narrator.engines import machine

WORK = 2_000_000_000
"""Bytes beside the weights: two windows of the codec (1.7 GB as they were counted), two rows (40 MB
each), and this program."""
RECOGNISER = 2_000_000_000
"""Bytes of what hears takes beside the model: 1.6 GB of weights, and its work."""

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
"""After these MLX's encoder is left half written, the system takes no more of this process, or it
holds weights that were never computed."""
_CUDA = re.compile(r"\bcuda[A-Z]\w*|\bCUDA error|\bcu[A-Z]\w*\(|illegal memory access")


def is_out_of_memory(error: Exception) -> bool:
    return isinstance(error, MemoryError) or bool(_OUT_OF_MEMORY.search(str(error)))


def is_beyond_repair(error: Exception) -> bool:
    """Whether nothing that MLX computes in this process can be trusted any more.

    What CUDA fails on stays with the process, but for memory that it did not get.
    """
    message = str(error)
    if _CORRUPTION.search(message):
        return True
    return bool(_CUDA.search(message)) and not is_out_of_memory(error)


def prepare() -> None:
    """Have MLX's environment set, for who loads MLX without the model. Raises ImportError."""
    import speechbase.environment  # noqa: F401


def free_memory() -> None:
    """What nobody here refers to any more goes back to the system, MLX's own store of it too."""
    import mlx.core as mx

    gc.collect()
    mx.clear_cache()


class MemoryLimits:
    """MLX's limits while a session runs: what it may keep for reuse, what stays resident."""

    def __init__(self) -> None:
        import mlx.core as mx

        from speechbase.device import CACHE_LIMIT

        self._cache: int | None = mx.set_cache_limit(CACHE_LIMIT)
        self._wired: int | None = None
        if mx.metal.is_available():
            # Where it is refused, the model may be paged out when others need memory, no more.
            with contextlib.suppress(RuntimeError, ValueError):
                self._wired = mx.set_wired_limit(device_memory())

    def restore(self) -> None:
        import mlx.core as mx

        if self._cache is not None:
            mx.set_cache_limit(self._cache)
        if self._wired is not None:
            mx.set_wired_limit(self._wired)
        self._cache = self._wired = None


def usable_memory() -> int:
    """Bytes of the device that a model may take: a fifth is left to others, and as much as a
    recogniser needs where there is one, which is loaded when a take is first doubted."""
    total = device_memory()
    has_recogniser = any(
        importlib.util.find_spec(name) for name in ("faster_whisper", "mlx_qwen3_asr")
    )
    return total - max(total // 5, RECOGNISER if has_recogniser else 0)


def device_memory() -> int:
    """Bytes that the device recommends to use, or has."""
    import mlx.core as mx

    info = mx.device_info()
    for name in ("max_recommended_working_set_size", "total_memory", "memory_size"):
        if info.get(name):
            return int(info[name])
    return machine.memory().total
