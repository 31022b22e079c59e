"""What is wrong with a take as its tokens show it, on made cases."""

from __future__ import annotations

import numpy as np
import pytest

from narrator.engines.cosyvoice2.tokens import (
    MIN_PROMPT_TOKENS,
    MIN_REPEATED_TOKENS,
    describe_repetition,
)

NOTHING = np.zeros(0, np.int32)


def speech(count: int, seed: int = 0) -> np.ndarray:
    """Tokens as of speech: any of them, none for long."""
    return np.random.default_rng(seed).integers(0, 6561, count).astype(np.int32)


def joined(*parts: np.ndarray) -> np.ndarray:
    return np.concatenate(parts).astype(np.int32)


REST = np.full(60, 4299, np.int32)


@pytest.mark.parametrize(
    "said",
    [
        NOTHING,
        speech(1),
        speech(700),
        joined(speech(50), REST, speech(50, 1), REST),
        joined(speech(30), np.tile([4299, 4218], 40), speech(30, 1), np.tile([4299, 4218], 40)),
        joined(speech(MIN_REPEATED_TOKENS - 1), speech(30, 1), speech(MIN_REPEATED_TOKENS - 1)),
        joined(speech(3, 2), REST, speech(3, 3), speech(40), speech(3, 2), REST, speech(3, 3)),
    ],
    ids=["nothing", "one", "long", "rests", "rests of two tokens", "a short copy", "rest in words"],
)
def test_speech_and_its_rests_are_as_they_should_be(said):
    assert describe_repetition(said, speech(200, 9)) == ""


@pytest.mark.parametrize(
    "said",
    [
        joined(speech(MIN_REPEATED_TOKENS), speech(30, 1), speech(MIN_REPEATED_TOKENS)),
        joined(speech(30, 1), speech(25), speech(25)),
        joined(speech(40, 1), np.tile(speech(12), 20)),
    ],
    ids=["a sentence twice", "at once", "a circle to the cap"],
)
def test_what_is_copied_from_before_is_a_repeat(said):
    assert "said a second time" in describe_repetition(said, NOTHING)


def test_a_prompt_that_is_said_again_is_found_with_its_tail_and_whole():
    prompt = speech(120, 5)
    assert "of the prompt" in describe_repetition(
        joined(prompt[-MIN_PROMPT_TOKENS:], speech(80)), prompt
    )
    assert "4.8 s of the prompt" in describe_repetition(joined(prompt, speech(80)), prompt)
    assert describe_repetition(joined(prompt[1 - MIN_PROMPT_TOKENS :], speech(80)), prompt) == ""
    assert describe_repetition(joined(REST, speech(80)), joined(prompt, REST)) == ""
