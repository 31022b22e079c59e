"""A GPU that is not there: the package takes its GPU branches, and computes on the CPU."""

from __future__ import annotations

import contextlib
import io
import types
from collections.abc import Iterator
from typing import Any, Literal
from unittest import mock

import mlx.core as mx

from speechbase import device

Kind = Literal["metal", "cuda"]


class _Device:
    type = mx.DeviceType.gpu


class _Core(types.ModuleType):
    """`mlx.core`, but for what it says of the device."""

    def __init__(self, kind: str) -> None:
        super().__init__("mlx.core")
        self.cuda = types.SimpleNamespace(is_available=lambda: kind == "cuda")

    @staticmethod
    def default_device() -> Any:
        return _Device()

    def __getattr__(self, name: str) -> Any:
        return getattr(mx, name)


def fuses() -> bool:
    """Whether MLX fuses what is compiled: for a CPU it does where there is a C++ compiler."""
    graph = io.StringIO()
    mx.export_to_dot(graph, mx.compile(lambda x: mx.exp(x) + 1)(mx.zeros(2)))
    return "Compiled" in graph.getvalue()


@contextlib.contextmanager
def pretended(kind: Kind = "metal", *, compiled: bool = False) -> Iterator[None]:
    """The module that asks for the device is told that it is a GPU.

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
