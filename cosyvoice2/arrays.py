"""Arrays from outside -> numpy, checked in words."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from speechbase.errors import RequestError


def numbers(name: str, given: Any, shape: tuple[int, ...], what: str = "") -> np.ndarray:
    """float32 of that shape, -1 standing for any length; `what` says more of it.

    Raises RequestError.
    """
    array = _plain(name, given)
    if array.dtype.kind not in "fiu":
        raise RequestError(f"{name}: expected numbers, found {array.dtype}")
    if len(array.shape) != len(shape) or any(
        want not in (-1, got) for got, want in zip(array.shape, shape, strict=True)
    ):
        sides = ["n" if want == -1 else str(want) for want in shape]
        wanted = f"({sides[0]},)" if len(sides) == 1 else f"({', '.join(sides)})"
        more = f", {what}" if what else ""
        raise RequestError(f"{name}: expected shape {wanted}{more}; found {array.shape}")
    with np.errstate(over="ignore"):
        array = array.astype(np.float32)
    if not np.isfinite(array).all():
        raise RequestError(f"{name}: holds values that are not numbers (NaN or infinity)")
    return array


def ids(name: str, given: Any, known: int = 2**31) -> np.ndarray:
    """(n,) int32, from 0 on and below `known`. Raises RequestError."""
    array = _plain(name, given)
    if array.ndim != 1:
        raise RequestError(f"{name}: expected shape (n,); found {array.shape}")
    if array.size and array.dtype.kind not in "iu":
        raise RequestError(f"{name}: expected whole numbers, found {array.dtype}")
    if array.size and (array.min() < 0 or array.max() >= known):
        upto = "on" if known == 2**31 else f"to {known - 1}"
        raise RequestError(f"{name}: ids are from 0 {upto}, found {array.min()} to {array.max()}")
    return array.astype(np.int32)


def _plain(name: str, given: Any) -> np.ndarray:
    """As numpy, which has no bfloat16."""
    if isinstance(given, mx.array):
        real = mx.issubdtype(given.dtype, mx.floating)
        return np.array(given.astype(mx.float32) if real else given)
    try:
        return np.asarray(given)
    except ValueError:
        raise RequestError(f"{name}: expected an array, found rows of unequal length") from None
