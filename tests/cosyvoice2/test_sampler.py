"""Which token is drawn."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest

from cosyvoice2.sampler import Head, Heads, choose
from speechbase.errors import ModelError
from tests.cosyvoice2.conftest import TINY

LM = TINY.lm


def heads(logits: np.ndarray, closed: list[bool]) -> list[Head]:
    return Heads.from_logits(mx.array(logits, mx.float32), closed, LM).rows()


def test_from_all_logits_it_draws_the_same(golden):
    cases = golden.arrays("sampler")
    for head, u in zip(heads(cases["logp"], [False] * len(cases["u"])), cases["u"], strict=True):
        whole = Head.from_logits(head.all())
        assert choose(head, [], lambda u=u: u[0], LM) == choose(whole, [], lambda u=u: u[0], LM)


def of(**likely: float) -> Head:
    """A row where these ids are so likely, and the rest nearly nothing."""
    logits = np.full(LM.speech_tokens + 3, -50.0)
    for name, part in likely.items():
        logits[int(name[1:])] = np.log(part)
    return Head.from_logits(logits)


def drawn(head: Head, past: list[int], *uniforms: float) -> int:
    numbers = iter(uniforms)
    token = choose(head, past, lambda: next(numbers), LM)
    assert not list(numbers)
    return token


def test_the_one_that_crosses_top_p_is_among_them():
    head = of(t1=0.5, t2=0.4, t3=0.1)
    assert drawn(head, [], 0.999) == 2
    assert drawn(head, [], 0.5) == 1  # of .5 and .4
    assert drawn(head, [], 0.56) == 2


def test_at_least_one_is_kept():
    assert drawn(of(t7=0.99), [], 0.999999) == 7


def test_equal_ones_are_told_apart_by_their_ids_on_the_device_too():
    logits = np.zeros((2, LM.speech_tokens + 3), np.float32)
    logits[:, 100 : 100 + LM.top_k] = 1  # not enough of them: .8 is never reached
    for head in heads(logits, [False, True]):
        assert drawn(head, [], 0.0) == 100
        assert drawn(head, [], 0.999) == 99 + LM.top_k


def test_a_number_on_a_border_belongs_to_the_next():
    head = of(t1=0.5, t2=0.5)
    assert drawn(head, [], 0.5) == 2
    assert drawn(head, [], 0.49999) == 1


def test_what_was_said_just_now_is_drawn_again_from_all_others():
    head = of(t1=0.9, t2=0.05, t600=0.05)
    assert drawn(head, [1], 0.1, 0.9) == 600
    assert drawn(head, [1, *range(10, 19)], 0.1, 0.1) == 2
    assert drawn(head, [1, *range(10, 20)], 0.1) == 1  # ten ago is forgotten


def test_the_end_is_not_drawn_where_it_is_closed():
    logits = np.full((2, LM.speech_tokens + 3), -50.0)
    logits[:, LM.end], logits[:, 5] = 50, 0
    early, late = heads(logits, [True, False])
    assert drawn(early, [], 0.5) == 5
    assert drawn(late, [], 0.5) == LM.end
    assert drawn(early, [5], 0.5, 0.999999) == LM.end + 2  # nor when it is drawn again


def test_a_network_that_gives_no_numbers_is_an_error():
    with pytest.raises(ModelError, match="gives no numbers"):
        heads(np.full((1, LM.speech_tokens + 3), np.nan), [False])
