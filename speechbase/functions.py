"""Functions on arrays that several networks share, each in as few kernels as possible."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import mlx.core as mx
import numpy as np

from speechbase.device import elementwise, on_gpu

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

    On a GPU, MLX's sine has full precision and fuses to one kernel; the polynomial takes three.
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
    """x + sin(alpha x)^2 / alpha; to be called from `elementwise` functions."""
    return x + sin_squared(x * alpha) * (1 / (alpha + 1e-9))


@functools.cache
def normal(shape: tuple[int, int]) -> Callable[[mx.array], mx.array]:
    """Returns a function of a key that draws float32 normal numbers of `shape`.

    On a GPU it takes two kernels instead of nine.
    """
    plain = functools.partial(_normal_numbers, shape)
    compiled = mx.compile(plain)
    return lambda key: compiled(key) if on_gpu() else plain(key)


def _normal_numbers(shape: tuple[int, int], key: mx.array) -> mx.array:
    return mx.random.normal(shape, key=key)


def silu(x: mx.array) -> mx.array:
    """x * sigmoid(x), in x's dtype.

    On a CPU, where MLX's exp costs as much as the matrix products around it, it is h + h * tanh(h)
    with h = x / 2 and tanh as Eigen's ratio of polynomials: within 2e-7 of |x|.
    """
    if on_gpu():
        return _plain_silu(x)
    half = x.astype(mx.float32) * 0.5
    z = mx.clip(half, -7.90531110763549805, 7.90531110763549805)
    squared = z * z
    numerator, denominator = (
        functools.reduce(lambda sum, term: sum * squared + term, terms) for terms in _TANH
    )
    return (half * z * numerator / denominator + half).astype(x.dtype)


@elementwise
def _plain_silu(x: mx.array) -> mx.array:
    return x * mx.sigmoid(x)


_TANH = (
    (
        -2.76076847742355e-16,
        2.00018790482477e-13,
        -8.60467152213735e-11,
        5.12229709037114e-08,
        1.48572235717979e-05,
        6.37261928875436e-04,
        4.89352455891786e-03,
    ),
    (1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03),
)


@elementwise
def swiglu(gate: mx.array, up: mx.array) -> mx.array:
    """silu(gate) * up."""
    return silu(gate) * up


def time_embedding(t: np.ndarray, width: int, *, rounded: bool = False) -> mx.array:
    """Sines, then cosines, of 1000 t at `width` / 2 frequencies: (K,) -> (K, width) float32.

    `rounded` puts every intermediate result into bfloat16, as upstream does in training and on
    CUDA. The high frequencies then come out scrambled, 13 to 67 % from the float32 ones at width
    1024; upstream on MPS and the other ports use float32. Both are official.
    """

    def step(x: np.ndarray) -> np.ndarray:
        x = x.astype(np.float32)
        return np.array(mx.array(x).astype(mx.bfloat16).astype(mx.float32)) if rounded else x

    # Each result is the float32 nearest to the true one: at an angle of 1000 an ulp is 6e-5.
    half = width // 2
    exponent = step(step(np.arange(half)) * np.float32(-math.log(10000) / (half - 1)))
    frequency = step(np.exp(exponent.astype(np.float64)))
    angle = step(step(np.float32(1000) * step(t))[:, None] * frequency).astype(np.float64)
    return mx.array(step(np.concatenate([np.sin(angle), np.cos(angle)], axis=-1)))
