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

TOKEN_SECONDS = 0.04
"""Of a token."""
MIN_REPEATED_TOKENS, MIN_PROMPT_TOKENS = 20, 12
"""Tokens in a row that come a second time, and that the prompt has, from which on it is a fault."""
MIN_DISTINCT_TOKENS = 6
"""Different ones among each so many, or they are a rest or a drone."""

Tokens = NDArray[np.int32]


def describe_repetition(spoken_tokens: Tokens, prompt: Tokens) -> str:
    """Describes a repetition in the tokens after a prompt, maybe an empty one; "" without any."""
    rows, seen_rows = _rows(spoken_tokens, MIN_REPEATED_TOKENS), set[bytes]()
    repeated_count = _longest_run([_is_known(row, seen_rows) for row in rows])
    if repeated_count:
        seconds = (repeated_count + MIN_REPEATED_TOKENS - 1) * TOKEN_SECONDS
        return f"{seconds:.1f} s are said a second time, token by token"
    prompt_rows = set(_rows(prompt, MIN_PROMPT_TOKENS))
    leaked_count = _longest_run(
        [row in prompt_rows and _is_speech(row) for row in _rows(spoken_tokens, MIN_PROMPT_TOKENS)]
    )
    if leaked_count:
        seconds = (leaked_count + MIN_PROMPT_TOKENS - 1) * TOKEN_SECONDS
        return f"{seconds:.1f} s of the prompt are said again, token by token"
    return ""


def _rows(tokens: Tokens, length: int) -> list[bytes]:
    """Returns every row of so many tokens, by its start: bytes are compared at once, which
    keeps half a minute of them under a few milliseconds."""
    plain = tokens.astype(np.int32)
    token_bytes, size = plain.tobytes(), plain.itemsize
    return [
        token_bytes[size * start : size * (start + length)]
        for start in range(len(plain) - length + 1)
    ]


def _is_known(row: bytes, seen_rows: set[bytes]) -> bool:
    """Whether a row of speech was there before; it is from now on."""
    is_known = row in seen_rows
    seen_rows.add(row)
    return is_known and _is_speech(row)


def _is_speech(row: bytes) -> bool:
    return len(set(memoryview(row).cast("i"))) >= MIN_DISTINCT_TOKENS


def _longest_run(flags: Sequence[bool]) -> int:
    """Returns the length of the longest run of true values."""
    return max((len(list(group)) for is_set, group in groupby(flags) if is_set), default=0)
