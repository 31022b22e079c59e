"""The device: whether it is a GPU, whether its work succeeded, and its free memory.

A GPU reports failures late, a CPU at once. Knows no network.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import mlx.core as mx

CACHE_LIMIT = 1 << 30
"""Bytes of freed memory that MLX may keep for reuse; without a limit, every new shape adds some."""
Arrays = TypeVar("Arrays", mx.array, tuple[mx.array, mx.array])


def on_gpu() -> bool:
    """Returns True if MLX computes on a GPU, where each launch costs time."""
    return mx.default_device().type == mx.DeviceType.gpu


def on_cuda() -> bool:
    """Returns True on an NVIDIA GPU, where MLX keeps plans for each new shape."""
    return on_gpu() and mx.cuda.is_available()


def elementwise(function: Callable[..., Arrays]) -> Callable[..., Arrays]:
    """Compiles a function to one kernel for all shapes, on a GPU only.

    On a CPU the function is called directly: compiling gains little there, runs a C++ compiler, and
    MLX aborts when a process ends whose other threads ran compiled functions. So are empty arrays:
    MLX's CUDA backend divides by their size (SIGFPE, MLX 0.32.4 on an H100).
    """
    compiled = mx.compile(function, shapeless=True)

    @functools.wraps(function)
    def call(*arrays: mx.array | float) -> Arrays:
        has_empty = any(isinstance(array, mx.array) and array.size == 0 for array in arrays)
        return compiled(*arrays) if on_gpu() and not has_empty else function(*arrays)

    return call


def compute_now(array: mx.array) -> mx.array:
    """Evaluates an array on a GPU before more is queued, and returns it.

    MLX keeps temporary arrays, such as a convolution's workspace, until the GPU is done with them.
    It queues a large graph faster than that, so they add up unless parts of it are evaluated (by
    MLX's source: an H100 took 14 MB a frame of Kokoro without this, and was not asked again).
    """
    if on_gpu():
        mx.eval(array)
    return array


def settle(stream: Any = None) -> None:
    """Waits for a GPU's stream, by default the default one, and raises its failures.

    On Metal an array may look evaluated although its memory was never written: a failed command is
    reported by a later evaluation on the stream, or here. Call this before results are returned or
    stored.
    """
    if on_gpu():
        mx.synchronize(*([] if stream is None else [stream]))


class RunOnce:
    """Evaluates arrays that are kept for good, such as weights, in a single attempt.

    Arrays on which a GPU failed look evaluated afterwards, so a second attempt is refused.
    """

    def __init__(self) -> None:
        self._was_tried = self._is_done = False

    def __call__(self, make: Callable[[], Any]) -> None:
        """Evaluates the arrays that `make` returns, on the first call only.

        Raises RuntimeError if that fails, or failed before.
        """
        if self._is_done:
            return
        if self._was_tried:
            raise RuntimeError("the model's weights could not be made ready; load it again")
        self._was_tried = True
        mx.eval(make())
        settle()
        self._is_done = True


def memory_left() -> int | None:
    """Returns the bytes that this process may still use on the GPU; None on a CPU or if unknown."""
    if not on_gpu():
        return None
    device_info = mx.device_info()
    for name in ("max_recommended_working_set_size", "total_memory", "memory_size"):
        if device_info.get(name):
            return int(device_info[name]) - int(mx.get_active_memory())
    return None
