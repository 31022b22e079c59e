"""Requests and results of every backend. Loads no MLX."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kokoro82m.config import HARMONICS
from speechbase.errors import RequestError

STYLE_SIZE = 256
"""Numbers of a style row: the first half is the decoder's, the second the predictor's."""
MIN_SPEED, MAX_SPEED = 0.25, 4.0
MAX_SEED = 2**64 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A text to speak.

    tokens  ids of the phonemes between two pads, as `tokenize` makes them
    style   (256,) float32: the row of a voice for a text of this length, as `style_row` picks it
    speed   durations are divided by it before they are rounded
    seed    of the noise: 0 to 2**64 - 1
    noise   (n, 9) standard normal numbers in place of the seed's, at least a row for each sample:
            as the official code draws them, for comparisons with it
    """

    tokens: Sequence[int]
    style: np.ndarray
    speed: float = 1.0
    seed: int = 0
    noise: np.ndarray | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Speech:
    """A request, spoken."""

    samples: np.ndarray  # (600 * frames,) float32 at 24 kHz; neither clipped nor trimmed
    durations: np.ndarray  # (tokens,) int32: frames of 25 ms of each token, both pads among them
    pitch: np.ndarray  # (2 * frames,) float32: F0 in Hz every 12.5 ms, voiced above 10


def check_request(request: Request, num_tokens: int, max_positions: int) -> None:
    """Raises RequestError for a request that cannot be spoken."""
    if not isinstance(request, Request):
        raise RequestError(f"a Request is spoken, not {type(request).__name__}")
    _check_tokens(request.tokens, num_tokens, max_positions)
    _check_numbers("style", request.style, (STYLE_SIZE,))
    if request.noise is not None:
        _check_numbers("noise", request.noise, (-1, HARMONICS))
    speed, seed = request.speed, request.seed
    if not _is_real(speed) or not MIN_SPEED <= speed <= MAX_SPEED:
        raise RequestError(f"speed is {speed!r}; it must be from {MIN_SPEED} to {MAX_SPEED:g}")
    if not _is_whole(seed) or not 0 <= seed <= MAX_SEED:
        raise RequestError(f"seed is {seed!r}; it must be a whole number from 0 to 2**64 - 1")


def _check_tokens(tokens: Sequence[int], num_tokens: int, max_positions: int) -> None:
    if not all(_is_whole(token) and 0 <= token < num_tokens for token in tokens):
        raise RequestError(f"tokens must be whole numbers from 0 to {num_tokens - 1}")
    if not 3 <= len(tokens) <= max_positions:
        raise RequestError(
            f"{len(tokens)} tokens; a request has 3 to {max_positions}, so split the text"
        )


def _check_numbers(name: str, array: Any, shape: tuple[int, ...]) -> None:
    """Raises RequestError for another type or shape; -1 in `shape` stands for any length."""
    if not isinstance(array, np.ndarray) or array.dtype.kind != "f":
        raise RequestError(f"{name} must be a NumPy array of floats")
    if array.ndim != len(shape) or any(
        size not in (-1, length) for size, length in zip(shape, array.shape, strict=True)
    ):
        raise RequestError(f"{name} has the shape {array.shape} in place of {shape}")
    if not np.isfinite(array).all():
        raise RequestError(f"{name} holds NaN or infinity")


def _is_whole(number: Any) -> bool:
    return isinstance(number, int | np.integer) and not isinstance(number, bool)


def _is_real(number: Any) -> bool:
    return (_is_whole(number) or isinstance(number, float | np.floating)) and math.isfinite(number)
