"""Repetitions in a take, found by its tokens; pure.

A token is 40 ms of sound, one of 6,561. Speech never has the same sequence of them twice, even when
it repeats its words; a model that loops, or speaks its prompt again, copies them. Pauses do repeat,
as sequences of few different tokens. Other faults show in the samples and are checked there.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

TOKEN_SECONDS = 0.04
MIN_REPEATED_TOKENS, MIN_PROMPT_TOKENS = 20, 12
"""Lengths from which a sequence that repeats the take, or the prompt, is a fault."""
MIN_DISTINCT_TOKENS = 6
"""Fewer different tokens in a sequence mean a pause or a drone, not speech."""

Tokens = NDArray[np.int32]


def describe_repetition(spoken_tokens: Tokens, prompt: Tokens) -> str:
    """Describes a repetition in the tokens after a prompt, maybe an empty one; "" without any."""
    sequences, seen = _sequences(spoken_tokens, MIN_REPEATED_TOKENS), set[bytes]()
    repeated_count = _longest_run([_is_repeated(sequence, seen) for sequence in sequences])
    if repeated_count:
        seconds = (repeated_count + MIN_REPEATED_TOKENS - 1) * TOKEN_SECONDS
        return f"{seconds:.1f} s are said a second time, token by token"
    of_prompt = set(_sequences(prompt, MIN_PROMPT_TOKENS))
    leaked_count = _longest_run(
        [
            sequence in of_prompt and _is_speech(sequence)
            for sequence in _sequences(spoken_tokens, MIN_PROMPT_TOKENS)
        ]
    )
    if leaked_count:
        seconds = (leaked_count + MIN_PROMPT_TOKENS - 1) * TOKEN_SECONDS
        return f"{seconds:.1f} s of the prompt are said again, token by token"
    return ""


def _sequences(tokens: Tokens, length: int) -> list[bytes]:
    """Returns the sequence of so many tokens from each place on, as bytes, which compare fast."""
    plain = tokens.astype(np.int32)
    token_bytes, size = plain.tobytes(), plain.itemsize
    return [
        token_bytes[size * start : size * (start + length)]
        for start in range(len(plain) - length + 1)
    ]


def _is_repeated(sequence: bytes, seen: set[bytes]) -> bool:
    """Returns whether a sequence of speech was seen before; records it."""
    was_seen = sequence in seen
    seen.add(sequence)
    return was_seen and _is_speech(sequence)


def _is_speech(sequence: bytes) -> bool:
    return len(set(memoryview(sequence).cast("i"))) >= MIN_DISTINCT_TOKENS


def _longest_run(flags: Sequence[bool]) -> int:
    """Returns the length of the longest run of true values."""
    return max((len(list(group)) for is_set, group in groupby(flags) if is_set), default=0)
