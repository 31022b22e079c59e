"""Converts arrays from callers to numpy, and checks them."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from speechbase.errors import RequestError


def float_array(
    name: str, array_like: Any, shape: tuple[int, ...], description: str = ""
) -> np.ndarray:
    """Returns a finite float32 array of `shape`, in which -1 stands for any length.

    `description` is added to the message about a wrong shape. Raises RequestError.
    """
    array = _to_numpy(name, array_like)
    if array.dtype.kind not in "fiu":
        raise RequestError(f"{name}: expected numbers, found {array.dtype}")
    if len(array.shape) != len(shape) or any(
        expected_size not in (-1, size)
        for size, expected_size in zip(array.shape, shape, strict=True)
    ):
        sides = ["n" if expected_size == -1 else str(expected_size) for expected_size in shape]
        expected = f"({sides[0]},)" if len(sides) == 1 else f"({', '.join(sides)})"
        hint = f", {description}" if description else ""
        raise RequestError(f"{name}: expected shape {expected}{hint}; found {array.shape}")
    with np.errstate(over="ignore"):
        array = array.astype(np.float32)
    if not np.isfinite(array).all():
        raise RequestError(f"{name}: holds values that are not numbers (NaN or infinity)")
    return array


def id_array(name: str, array_like: Any, id_count: int = 2**31) -> np.ndarray:
    """Returns ids (n,) int32, from 0 to `id_count` - 1. Raises RequestError."""
    array = _to_numpy(name, array_like)
    if array.ndim != 1:
        raise RequestError(f"{name}: expected shape (n,); found {array.shape}")
    if array.size and array.dtype.kind not in "iu":
        raise RequestError(f"{name}: expected whole numbers, found {array.dtype}")
    if array.size and (array.min() < 0 or array.max() >= id_count):
        upper_end = "on" if id_count == 2**31 else f"to {id_count - 1}"
        raise RequestError(
            f"{name}: ids are from 0 {upper_end}, found {array.min()} to {array.max()}"
        )
    return array.astype(np.int32)


def _to_numpy(name: str, array_like: Any) -> np.ndarray:
    """Converts to numpy; bfloat16, which numpy lacks, becomes float32."""
    if isinstance(array_like, mx.array):
        is_float = mx.issubdtype(array_like.dtype, mx.floating)
        return np.array(array_like.astype(mx.float32) if is_float else array_like)
    try:
        return np.asarray(array_like)
    except ValueError:
        raise RequestError(f"{name}: expected an array, found rows of unequal length") from None
