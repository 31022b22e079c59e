"""Text in pieces: what is not inherited from the official code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from cosyvoice2.bistream import bistream
from cosyvoice2.lm import TASK, Qwen2LM
from speechbase.errors import ModelError, RequestError
from tests.cosyvoice2.conftest import TINY

LM = TINY.lm
END, UNUSED, FILL = LM.end, LM.end + 1, LM.end + 2


class Scripted:
    """A language model that wants one id after another, and records what it is fed."""

    def __init__(self, lm: Qwen2LM, *wanted: int) -> None:
        self._lm, self._wanted = lm, iter(wanted)
        self.config = LM
        self.inputs: list[np.ndarray] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lm, name)

    def hidden(self, x: mx.array, cache: Any) -> mx.array:
        self.inputs.append(np.array(x[0]))
        cache.open(x.shape[1])
        return mx.zeros((1, 1, LM.hidden_size))

    def decode(self, hidden: mx.array) -> mx.array:
        logits = np.zeros((1, LM.speech_tokens + 3), np.float32)
        logits[0, next(self._wanted)] = 30
        return mx.array(logits)


def spoken(lm: Any, ids: list[int], **more: Any) -> list[int]:
    return list(bistream(lm, ids, uniforms(), **more))


def uniforms() -> Iterator[float]:
    while True:
        yield 0.5


def test_tokens_come_before_the_text_has_ended(lm):
    said: list[int] = []

    def arriving() -> Iterator[int]:
        yield from range(5)
        said.extend(tokens)  # what has come while the text waited
        yield 5

    tokens: list[int] = []
    for token in bistream(lm, arriving(), uniforms()):
        tokens.append(token)
    assert 0 < len(said) < len(tokens)


def test_a_token_is_not_fed_again_when_the_text_ends(lm):
    script = Scripted(lm, 1, 2, FILL, 3, END)
    assert spoken(script, list(range(6))) == [1, 2, 3]
    last = np.concatenate([lm.text([5]), lm.marker(TASK)])
    assert np.array_equal(script.inputs[3], last)
    script = Scripted(lm, 1, 2, FILL, 3, END)
    assert spoken(script, list(range(6)), compatible=True) == [1, 2, 3]
    assert np.array_equal(script.inputs[3], np.concatenate([lm.speech([2]), last]))


def test_prompt_tokens_are_not_lost_for_want_of_text(lm):
    prefix = list(range(20))
    script = Scripted(lm, 1, END)
    assert spoken(script, [8], prompt_ids=[7], prefix_tokens=prefix) == [1]
    assert np.array_equal(script.inputs[0], lm.lead([7, 8], prefix))
    script = Scripted(lm, 1, END)
    spoken(script, [8], prompt_ids=[7], prefix_tokens=prefix, compatible=True)
    assert np.array_equal(script.inputs[0], lm.lead([7, 8], []))


@pytest.mark.parametrize("script", [(UNUSED, FILL, END), (FILL, UNUSED, END)])
def test_an_id_that_is_no_speech_is_drawn_again(lm, script):
    tokens = spoken(Scripted(lm, *script), list(range(5)))
    assert len(tokens) == 1
    assert 0 <= tokens[0] < END
    with pytest.raises(ModelError, match="ValueError"):
        spoken(Scripted(lm, *script), list(range(5)), compatible=True)


def test_without_an_end_it_ends(lm):
    wanted = (each % 40 for each in range(1000))
    assert len(spoken(Scripted(lm, *wanted), [1, 2, 3])) == 60


def test_a_text_without_ids_is_refused(lm):
    with pytest.raises(RequestError, match="the text has no ids"):
        spoken(lm, [])


def test_it_does_not_run_past_the_models_positions(lm):
    script = Scripted(lm, *range(99))
    script.config = replace(LM, max_positions=12)
    tokens = bistream(script, [1, 2, 3], uniforms())  # type: ignore[arg-type]
    assert [next(tokens) for _ in range(8)] == list(range(8))
    with pytest.raises(RequestError, match="more than the model's 12 positions"):
        next(tokens)


def test_numbers_that_end_are_said(lm):
    with pytest.raises(RequestError, match="ended"):
        list(bistream(lm, [1, 2, 3], [0.5]))
