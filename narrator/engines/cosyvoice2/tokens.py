"""What is wrong with a take as its tokens show it: pure.

A token is 40 ms of sound, one of 6,561. Speech does not meet the same row of them twice, even where
it says the same again; a model that runs in a circle, or says its prompt once more, copies them.
Rests do repeat, and are rows of few tokens. Lengths, silences and what was said otherwise show in
the sound, and are no concern of this.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

SECONDS = 0.04
"""Of a token."""
AGAIN, OF_PROMPT = 20, 12
"""Tokens in a row that come a second time, and that the prompt has, from which on it is a fault."""
LEAST = 6
"""Different ones among each so many, or they are a rest or a drone."""

Tokens = NDArray[np.int32]


def wrong(said: Tokens, prompt: Tokens) -> str:
    """In words, of what was said after a prompt, maybe none; "" where nothing is."""
    rows, before = _rows(said, AGAIN), set[bytes]()
    again = _longest([_is_known(row, before) for row in rows])
    if again:
        seconds = (again + AGAIN - 1) * SECONDS
        return f"{seconds:.1f} s are said a second time, token by token"
    known = set(_rows(prompt, OF_PROMPT))
    leaked = _longest([row in known and _is_speech(row) for row in _rows(said, OF_PROMPT)])
    if leaked:
        seconds = (leaked + OF_PROMPT - 1) * SECONDS
        return f"{seconds:.1f} s of the prompt are said again, token by token"
    return ""


def _rows(tokens: Tokens, length: int) -> list[bytes]:
    """Every row of so many, by the place that it begins at: bytes are compared at once, which
    keeps half a minute of them under a few milliseconds."""
    plain = tokens.astype(np.int32)
    data, size = plain.tobytes(), plain.itemsize
    return [data[size * at : size * (at + length)] for at in range(len(plain) - length + 1)]


def _is_known(row: bytes, before: set[bytes]) -> bool:
    """Whether a row of speech was there before; it is from now on."""
    known = row in before
    before.add(row)
    return known and _is_speech(row)


def _is_speech(row: bytes) -> bool:
    return len(set(memoryview(row).cast("i"))) >= LEAST


def _longest(places: Sequence[bool]) -> int:
    """The most of them in a row."""
    return max((len(list(group)) for there, group in groupby(places) if there), default=0)
