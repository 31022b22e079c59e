"""Another device than MLX's: the package takes its branches, and computes where it did."""

from __future__ import annotations

import contextlib
import io
import types
from collections.abc import Iterator
from typing import Any, Literal
from unittest import mock

import mlx.core as mx

from speechbase import device

Kind = Literal["cpu", "metal", "cuda"]


class _Core(types.ModuleType):
    """`mlx.core`, but for what it says of the device."""

    def __init__(self, kind: str) -> None:
        super().__init__("mlx.core")
        self.cuda = types.SimpleNamespace(is_available=lambda: kind == "cuda")
        device_type = mx.DeviceType.cpu if kind == "cpu" else mx.DeviceType.gpu
        self.default_device = lambda: types.SimpleNamespace(type=device_type)

    def __getattr__(self, name: str) -> Any:
        return getattr(mx, name)


def fuses() -> bool:
    """Whether MLX fuses what is compiled: for a CPU it does where there is a C++ compiler."""
    graph = io.StringIO()
    mx.export_to_dot(graph, mx.compile(lambda x: mx.exp(x) + 1)(mx.zeros(2)))
    return "Compiled" in graph.getvalue()


@contextlib.contextmanager
def pretended(kind: Kind = "metal", *, compiled: bool = False) -> Iterator[None]:
    """The module that asks for the device is told that it is one of this kind.

    What would be compiled is run as it is unless `compiled`: a C++ compiler takes a minute for it.
    """
    core = _Core(kind)
    if not compiled:
        mx.disable_compile()
    try:
        with mock.patch.object(device, "mx", core):
            yield
    finally:
        mx.enable_compile()
