"""Rows and batches: what a request may be, and nobody's company matters."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import cache
from types import SimpleNamespace
from typing import Any

import mlx.nn as nn
import numpy as np
import pytest

from cosyvoice2.generate import Request, Row, TokenBatch
from cosyvoice2.lm import Qwen2LM
from speechbase.errors import RequestError
from tests.cosyvoice2.conftest import TINY, CosyGolden, filled_lm
from tests.cosyvoice2.test_lm import fits

LM = TINY.lm
Tokenize = Callable[[str], list[int]]
TEXT = "Hello world. 你好，世界。"
PROMPT = "希望你以后能够做的比我还好呦。"


def finish(batch: TokenBatch) -> list[Row]:
    ended = []
    while len(batch):
        ended += batch.step()
    return ended


def alone(lm: Qwen2LM, tokenize: Tokenize, request: Request) -> Row:
    batch = TokenBatch(lm, tokenize, 1)
    row = batch.add(request)
    assert finish(batch) == [row]
    return row


def asked(golden: CosyGolden, mode: str, **more: Any) -> Request:
    """What was asked officially."""
    arrays, facts = golden.arrays(f"llm_{mode}"), golden.facts(f"llm_{mode}")
    prefix, said = arrays["prompt_speech_token"][0], facts["prompt_text"]
    given: dict[str, Any] = {"max_len": facts["max_len"] if mode == "max_len" else None}
    if len(prefix):
        given |= {"prompt_text": said, "reference": SimpleNamespace(tokens=prefix)}
    elif said:
        given["instruction"] = said.removesuffix("<|endofprompt|>")
    return Request(facts["text"], **{**given, **more})


def longer(numbers: np.ndarray) -> Iterator[float]:
    yield from numbers
    yield from np.random.RandomState(1).random(1000)


def test_an_id_that_is_no_end_does_not_end_speech_early(golden, lm, tokenize):
    arrays, least = golden.arrays("llm_early_stop"), golden.facts("llm_early_stop")["min_len"]
    row = alone(lm, tokenize, asked(golden, "early_stop", uniforms=longer(arrays["u"])))
    before = arrays["tokens"].tolist()
    assert row.tokens[: len(before)].tolist() == before  # what is drawn is official until then
    assert len(row.tokens) >= least > len(before)


def test_rolling_continuation_takes_the_tokens_of_the_take_before(lm, tokenize):
    voice = SimpleNamespace(tokens=np.arange(9))
    row = Row(Request("hello", reference=voice, prompt_text="so", prefix_tokens=[4, 5]), lm.config,
              tokenize)  # fmt: skip
    assert row.prefix == [4, 5]
    assert row.text_ids == [*tokenize("so"), *tokenize("hello")]
    assert row.token_count == len(tokenize("hello"))


def test_a_reference_alone_is_not_heard_by_the_language_model(lm, tokenize):
    voice = SimpleNamespace(tokens=np.arange(9))
    row = Row(Request("hello", reference=voice, speaker="Ada"), lm.config, tokenize)
    assert (row.prefix, row.text_ids) == ([], tokenize("hello"))


def test_an_instruction_is_ended_once(lm, tokenize):
    for said in ("softly", "softly<|endofprompt|>"):
        row = Row(Request("hello", instruction=said), lm.config, tokenize)
        assert row.text_ids == [*tokenize("softly<|endofprompt|>"), *tokenize("hello")]


def test_given_tokens_are_said_as_they_are(lm, tokenize):
    row = alone(lm, tokenize, Request(tokens=np.array([3, 1, 2])))
    assert row.tokens.tolist() == [3, 1, 2]
    assert (row.stop_reason, row.token_count) == ("stop", 0)


def mixed() -> list[dict[str, Any]]:
    """Of every mode, and of different length."""
    voice = SimpleNamespace(tokens=np.arange(37) * 7 % LM.speech_tokens)
    return [
        {"text": TEXT, "seed": 1, "max_len": 35},
        {"text": "Hello.", "seed": 2, "max_len": 9},
        {"text": TEXT, "prompt_text": PROMPT, "reference": voice, "seed": 3, "max_len": 25},
        {"text": "Hello world", "instruction": "softly", "seed": 4, "max_len": 30},
        {"tokens": [1, 2, 3]},
        {"text": "a", "prompt_text": "b", "prefix_tokens": [5] * 150, "seed": 5, "max_len": 30},
        {"text": TEXT, "seed": 6, "min_len": 40, "max_len": 41},
        {"text": "b", "seed": 7, "max_len": 1},
        {"text": "今天天气[laughter]很好。" * 3, "seed": 8, "max_len": 35},
    ]


@pytest.fixture(scope="module")
def apart(lm: Qwen2LM, tokenize: Tokenize) -> Callable[[], list[list[int]]]:
    """The tokens of each of `mixed`, with nobody beside it."""
    return cache(lambda: [alone(lm, tokenize, Request(**call)).tokens.tolist() for call in mixed()])


@pytest.mark.parametrize("slots", [2, pytest.param(5, marks=pytest.mark.slow)])
def test_each_row_of_a_mixed_batch_equals_its_run_alone(lm, tokenize, apart, slots):
    batch = TokenBatch(lm, tokenize, slots)
    rows = [batch.add(Request(**call)) for call in mixed()]
    assert len(batch) == len(rows)
    ended = finish(batch)
    assert len(ended) == len(rows)
    assert set(ended) == set(rows)
    assert [row.tokens.tolist() for row in rows] == apart()
    assert batch.running == 0


def test_admission_and_removal_in_mid_run_change_nothing_for_the_others(lm, tokenize, apart):
    calls, cancel, never = mixed(), threading.Event(), threading.Event()
    batch = TokenBatch(lm, tokenize, 1)
    rows = {batch.add(Request(**calls[0])): 0}
    gone = batch.add(Request(TEXT, seed=9, min_len=200, max_len=240, cancel=cancel))
    waits = batch.add(Request(TEXT, seed=9, cancel=never))
    for _ in range(3):
        assert not batch.step()
    assert batch.running == 1
    batch.slots = 2
    for _ in range(4):
        batch.step()
    assert batch.running == 2
    never.set()
    batch.slots = 5
    for number in (5, 2, 3):
        rows[batch.add(Request(**calls[number]))] = number
    assert waits in batch.step()
    assert batch.running == 5
    cancel.set()
    ended = batch.step()
    assert ended == [gone]
    assert (gone.stop_reason, len(gone.tokens)) == ("cancelled", 5)
    assert (waits.stop_reason, len(waits.tokens)) == ("cancelled", 0)
    finish(batch)
    for row, number in rows.items():
        assert row.tokens.tolist() == apart()[number]


def test_fewer_slots_let_those_that_run_go_on(lm, tokenize):
    batch = TokenBatch(lm, tokenize, 2)
    for seed in range(3):
        batch.add(Request("hello", seed=seed, min_len=4, max_len=4))
    batch.step()
    batch.slots = 1
    assert batch.running == 2
    assert len(finish(batch)) == 3


def test_a_seed_says_the_same_again_and_another_does_not(lm, tokenize):
    first, again, other = (
        alone(lm, tokenize, Request(TEXT, seed=seed, max_len=30)).tokens.tolist()
        for seed in (5, 5, 6)
    )
    assert first == again != other


def test_a_seed_that_was_drawn_is_told(lm, tokenize):
    row = alone(lm, tokenize, Request("hello", max_len=5))
    again = alone(lm, tokenize, Request("hello", max_len=5, seed=row.seed))
    assert row.tokens.tolist() == again.tokens.tolist()


def test_the_numbers_of_a_seed_are_pinned(lm, tokenize):
    row = Row(Request("hello", seed=7), lm.config, tokenize)
    assert [row._draw() for _ in range(2)] == [0.8720734548204873, 0.29536538151378355]


def test_a_quantised_backbone_speaks(golden, tokenize):
    lm = filled_lm(golden)
    nn.quantize(lm.llm, 32, 8, class_predicate=lambda _, layer: fits(layer))
    batch = TokenBatch(lm, tokenize, 2)
    rows = [batch.add(Request(**call, min_len=9)) for call in mixed()[:2]]
    finish(batch)
    assert [len(row.tokens) for row in rows][1] == 9


@pytest.mark.parametrize(
    "uniforms", [[0.5, 0.5], [0.5, 1.0] * 99, [0.5, -0.1] * 99, [0.5, np.nan] * 99, [0.5, "a"] * 99]
)
def test_numbers_that_are_none_cost_their_row_alone(lm, tokenize, uniforms, apart):
    batch = TokenBatch(lm, tokenize, 3)
    first = batch.add(Request(**mixed()[1]))
    batch.add(Request(TEXT, uniforms=uniforms))
    last = batch.add(Request(**mixed()[5]))
    with pytest.raises(RequestError, match="uniforms"):
        finish(batch)
    assert batch.running == 2
    finish(batch)
    assert first.tokens.tolist() == apart()[1]
    assert last.tokens.tolist() == apart()[5]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ({"text": ""}, "text is empty"),
        ({"text": " \n"}, "text is empty"),
        ({"text": None}, "text is empty"),
        ({"text": "a\ud800"}, "surrogate"),
        ({"text": "a", "prompt_text": "b"}, "needs tokens"),
        ({"text": "a", "prompt_text": "", "prefix_tokens": [1]}, "prompt_text is empty"),
        ({"text": "a", "prefix_tokens": [1]}, "need prompt_text"),
        ({"text": "a", "prompt_text": "b", "prefix_tokens": []}, "one or more"),
        ({"text": "a", "prompt_text": "b", "prefix_tokens": [[1]]}, "expected shape"),
        ({"text": "a", "prompt_text": "b", "prefix_tokens": [[1], 2]}, "unequal length"),
        ({"text": "a", "prompt_text": "b", "prefix_tokens": [0.5]}, "whole numbers"),
        ({"text": "a", "prompt_text": "b", "prefix_tokens": [LM.end]}, f"from 0 to {LM.end - 1}"),
        ({"text": "a", "prompt_text": "b", "prefix_tokens": [-1]}, "from 0 on"),
        ({"text": "a", "prompt_text": "b", "reference": SimpleNamespace(tokens=[])}, "reference"),
        ({"text": "a", "instruction": ""}, "instruction is empty"),
        ({"text": "a", "instruction": "b", "prompt_text": "c"}, "exclude each other"),
        ({"text": "a", "tokens": [1]}, "take no text"),
        ({"tokens": [1], "instruction": "b"}, "take no text"),
        ({"tokens": [LM.end]}, f"from 0 to {LM.end - 1}"),
        ({"text": "a", "seed": -1}, "seed"),
        ({"text": "a", "seed": 2**32}, "seed"),
        ({"text": "a", "seed": 0.5}, "seed"),
        ({"text": "a", "min_len": 0}, "min_len"),
        ({"text": "a", "max_len": True}, "max_len"),
        ({"text": "a", "uniforms": 0.5}, "iterator of numbers"),
        ({"text": "a", "cancel": 1}, "is_set"),
        ({"text": "a b c d" * 600}, f"the model has {LM.max_positions}"),
        ({"text": "a", "max_len": LM.max_positions - 2}, "lower max_len"),
    ],
)
def test_what_cannot_be_said_is_refused_beforehand(lm, tokenize, call, said):
    with pytest.raises(RequestError, match=said):
        TokenBatch(lm, tokenize, 1).add(Request(**call))


def test_a_marker_without_a_row_is_refused(lm):
    with pytest.raises(RequestError, match="no row"):
        TokenBatch(lm, lambda _: [1, LM.vocab_size], 1).add(Request("a"))
    with pytest.raises(RequestError, match="no tokens"):
        TokenBatch(lm, lambda _: [], 1).add(Request("a"))


@pytest.mark.parametrize("slots", [0, 1.5, None])
def test_slots_are_whole(lm, tokenize, slots):
    with pytest.raises(RequestError, match="slots"):
        TokenBatch(lm, tokenize, slots)


def test_a_batch_takes_requests(lm, tokenize):
    with pytest.raises(RequestError, match="takes a Request"):
        TokenBatch(lm, tokenize, 1).add("hello")  # type: ignore[arg-type]
