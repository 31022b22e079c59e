"""What networks of both packages pass numbers through; one kernel on a GPU."""

from __future__ import annotations

import functools

import mlx.core as mx
import mlx.nn as nn

from speechbase.device import elementwise, on_gpu


def silu(x: mx.array) -> mx.array:
    """x * sigmoid(x), in x's dtype.

    On a CPU, where MLX's exp costs as much as the matrix products around it, it is h + h * tanh(h)
    with h = x / 2 and tanh as Eigen's ratio of polynomials: within 2e-7 of |x|.
    """
    if on_gpu():
        return nn.silu(x)
    half = x.astype(mx.float32) * 0.5
    z = mx.clip(half, -7.90531110763549805, 7.90531110763549805)
    square = z * z
    above, below = (
        functools.reduce(lambda sum, term: sum * square + term, terms) for terms in _TANH
    )
    return (half * z * above / below + half).astype(x.dtype)


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
