"""What is wrong with a take as its tokens show it: pure.

A token is 40 ms of sound, one of 6,561. Speech does not meet the same row of them twice, even where
it says the same again; a model that runs in a circle, or says its prompt once more, copies them.
Rests do repeat, and are rows of few tokens. Lengths, silences and what was said otherwise show in
the sound, and are no concern of this.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SECONDS = 0.04
"""Of a token."""
AGAIN, OF_PROMPT = 20, 12
"""Tokens in a row that come a second time, and that the prompt has, from which on it is a fault."""
LEAST = 6
"""Different ones among them, or they are a rest or a drone."""

Tokens = NDArray[np.int32]


def wrong(said: Tokens, prompt: Tokens) -> str:
    """In words, of what was said after a prompt, maybe none; "" where nothing is."""
    again = _shared(said, said, itself=True)
    if again >= AGAIN:
        return f"{again * SECONDS:.1f} s are said a second time, token by token"
    leaked = _shared(said, prompt)
    if leaked >= OF_PROMPT:
        return f"{leaked * SECONDS:.1f} s of the prompt are said again, token by token"
    return ""


def _shared(one: Tokens, other: Tokens, *, itself: bool = False) -> int:
    """The longest row of both that is no rest; of one and itself, at two places."""
    best = 0
    runs = np.zeros(len(other) + 1, np.int64)
    for at, token in enumerate(one):
        alike = other == token
        if itself:
            alike[: at + 1] = False
        runs = np.concatenate(([0], np.where(alike, runs[:-1] + 1, 0)))
        longest = int(runs.max())
        if longest > best and len(np.unique(one[at + 1 - longest : at + 1])) >= LEAST:
            best = longest
    return best
