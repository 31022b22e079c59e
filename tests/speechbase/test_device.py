"""What runs on a GPU, told on a CPU that there is one."""

from __future__ import annotations

import mlx.core as mx

from speechbase import device
from tests.voxcpm2.gpu import pretended


def test_empty_arrays_are_not_given_to_compiled_kernels(monkeypatch):
    """MLX's CUDA backend divides by their size, which ends the process."""

    def compile_strictly(function, **_options):
        def call(*arrays):
            assert all(array.size for array in arrays)
            return function(*arrays)

        return call

    monkeypatch.setattr(mx, "compile", compile_strictly)
    double = device.elementwise(lambda x: 2 * x)
    with pretended("cuda"):
        assert double(mx.zeros((0, 3))).shape == (0, 3)
        assert double(mx.ones(2)).tolist() == [2, 2]
