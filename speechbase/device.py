"""What must be asked of a GPU: whether it has done its work, and what memory it has left.

It tells of a failure late, and a CPU at once. It knows no network.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import mlx.core as mx

CACHE_LIMIT = 1 << 30
"""Bytes of freed memory that MLX may keep for reuse: unbounded, it grows with every new shape."""
Arrays = TypeVar("Arrays", mx.array, tuple[mx.array, mx.array])


def on_gpu() -> bool:
    """Whether what is computed now is computed on a GPU, where each launch costs."""
    return mx.default_device().type == mx.DeviceType.gpu


def on_cuda() -> bool:
    """Whether that GPU is NVIDIA's, where MLX keeps what it made for each new shape."""
    return on_gpu() and mx.cuda.is_available()


def elementwise(function: Callable[..., Arrays]) -> Callable[..., Arrays]:
    """One kernel for shapes of all sizes on a GPU.

    On a CPU it is called as it is: compiling gains little there, runs a C++ compiler, and MLX
    aborts at the end of a process whose other threads ran what was compiled.
    """
    compiled = mx.compile(function, shapeless=True)

    @functools.wraps(function)
    def call(*arrays: mx.array | float) -> Arrays:
        return compiled(*arrays) if on_gpu() else function(*arrays)

    return call


def settle(stream: Any = None) -> None:
    """Wait for a GPU's stream, the default one unless said, and raise what it failed on.

    On Metal an array may look evaluated whose memory was never written: that its command failed is
    told by a later evaluation on the stream, or here. So before anything is given or kept.
    """
    if on_gpu():
        mx.synchronize(*([] if stream is None else [stream]))


class RunOnce:
    """Arrays that are kept for good, weights say, are made by one try.

    What a GPU failed on looks evaluated ever after: nothing may be computed with it.
    """

    def __init__(self) -> None:
        self._was_tried = self._is_done = False

    def __call__(self, make: Callable[[], Any]) -> None:
        """The first time, evaluate what `make` returns. RuntimeError where that fails or failed."""
        if self._is_done:
            return
        if self._was_tried:
            raise RuntimeError("the model's weights could not be made ready; load it again")
        self._was_tried = True
        mx.eval(make())
        settle()
        self._is_done = True


def memory_left() -> int | None:
    """Bytes that this process may still take on the GPU; None on a CPU, or where it is not said."""
    if not on_gpu():
        return None
    device_info = mx.device_info()
    for name in ("max_recommended_working_set_size", "total_memory", "memory_size"):
        if device_info.get(name):
            return int(device_info[name]) - int(mx.get_active_memory())
    return None
