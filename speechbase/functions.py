"""Functions of arrays that more than one network needs, each in the fewest kernels."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import mlx.core as mx

from speechbase.device import on_gpu

# sin(z)^2 = u P(u) with u = z^2 and |z| <= pi/2: least squares at Chebyshev nodes, error 6e-9.
_SIN_SQUARED = (
    9.99999844e-01,
    -3.33332115e-01,
    4.44412512e-02,
    -3.17073402e-03,
    1.38705891e-04,
    -3.53943322e-06,
)
_PI_HIGH = 3.140625  # exact in 9 bits, so that its multiples are exact in float32
_PI_LOW = math.pi - _PI_HIGH


def sin_squared(z: mx.array) -> mx.array:
    """sin(z)**2 to 1e-7. MLX calls libm for each sine on a CPU; this takes a fifth of the time.

    On a GPU the sine is its own, which MLX asks for in full precision: with the polynomial, what
    is one kernel would be three.
    """
    if on_gpu():
        return mx.square(mx.sin(z))
    turns = mx.round(z * (1 / math.pi))
    z = (z - turns * _PI_HIGH) - turns * _PI_LOW
    u = z * z
    p = u * _SIN_SQUARED[-1] + _SIN_SQUARED[-2]
    for coefficient in _SIN_SQUARED[-3::-1]:
        p = p * u + coefficient
    return p * u


def snake(x: mx.array, alpha: mx.array) -> mx.array:
    """x + sin(alpha x)^2 / alpha; to be called by what is `elementwise`."""
    return x + sin_squared(x * alpha) * (1 / (alpha + 1e-9))


@functools.cache
def normal(shape: tuple[int, int]) -> Callable[[mx.array], mx.array]:
    """A key -> normal numbers of that shape, float32; on a GPU two kernels in place of nine."""
    plain = functools.partial(_normal_numbers, shape)
    compiled = mx.compile(plain)
    return lambda key: compiled(key) if on_gpu() else plain(key)


def _normal_numbers(shape: tuple[int, int], key: mx.array) -> mx.array:
    return mx.random.normal(shape, key=key)
