"""Rows side by side: nobody's result depends on the company, and nothing grows."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from speechbase.cache import KVCache
from tests.effort import quick
from voxcpm2 import Batch, Prompt, Request, RequestError, Row, Speech, VoxCPM2, rehearsal

from .conftest import latents

ALIKE = 1e-4  # absolute, on latents


@pytest.fixture
def base(models: Callable[[str], VoxCPM2]) -> VoxCPM2:
    return models("base")


def mixed(model: VoxCPM2) -> list[dict[str, Any]]:
    """Rows of different length, mode, voice, solver and cap; of two steps where they say none."""
    one, other = latents(model, 1, 5), latents(model, 2, 11)
    said = Prompt("The transcript of the prompt.", latents(model, 3, 4))
    calls: list[dict[str, Any]] = [
        {"text": "Hello world, this is a test.", "seed": 1, "max_len": 15},
        {"text": "Hello.", "reference": one, "seed": 2, "steps": 3, "max_len": 9},
        {"text": "Then the rain falls.", "prompt": said, "seed": 3, "cfg": 1.5},
        {"text": "The warm sun.", "reference": one, "prompt": said, "seed": 4, "max_len": 5},
        {"text": "the lazy dog", "reference": other, "seed": 5, "steps": 4, "temperature": 0.8},
        {"text": "Hello, welcome!", "voice": "A young woman", "seed": 6, "max_len": 1},
        {"text": "This is a cloned voice. " * 6, "reference": one, "seed": 7, "max_len": 12},
        {"text": "Hello again.", "seed": 8, "steps": 1, "min_len": 6},
        {"text": "the warm sun", "seed": 9, "steps": 6, "max_len": 3},
    ]
    return [{"steps": 2, **call} for call in calls]


def finish(batch: Batch) -> dict[Row, Speech]:
    result: dict[Row, Speech] = {}
    while len(batch):
        result.update(batch.advance())
    return result


def assert_alike(found: Speech, alone: Speech) -> None:
    assert found.latents.shape == alone.latents.shape
    assert np.abs(found.latents - alone.latents).max() < ALIKE
    assert np.abs(found.samples - alone.samples).max() < ALIKE * 10
    assert (found.stop_reason, found.seed) == (alone.stop_reason, alone.seed)


@pytest.fixture(scope="module")
def alone(models: Callable[[str], VoxCPM2]) -> Callable[[str], list[Speech]]:
    """`alone(variant)`: each of the `mixed` calls, spoken with nobody beside it."""
    return cache(lambda variant: [models(variant).generate(**c) for c in mixed(models(variant))])


@pytest.mark.parametrize(
    ("variant", "slots"),
    [
        ("base", 2),
        pytest.param("stress", 4, marks=pytest.mark.slow),
        pytest.param("base", 16, marks=pytest.mark.slow),
    ],
)
def test_each_row_of_a_mixed_batch_equals_its_run_alone(models, alone, variant, slots):
    model = models(variant)
    calls = mixed(model)
    batch = model.batch(slots=slots)
    rows = [batch.add(Request(**call)) for call in calls]
    assert len(batch) == len(calls)
    speeches = finish(batch)
    assert speeches.keys() == set(rows)
    for row, expected in zip(rows, alone(variant), strict=True):
        assert_alike(speeches[row], expected)


@pytest.mark.parametrize("variant", quick(["base", "stress"], "base"))
def test_admission_and_removal_in_mid_run_change_nothing_for_the_others(models, alone, variant):
    model = models(variant)
    calls = mixed(model)
    kept, gone, late = 6, 0, range(2, 5)
    cancel = threading.Event()
    batch = model.batch(slots=5)
    rows = {batch.add(Request(**calls[kept])): kept}
    removed = batch.add(Request(**{**calls[gone], "min_len": 50}, cancel=cancel))
    speeches = {}
    for _ in range(3):
        speeches.update(batch.advance())
    for number in late:
        rows[batch.add(Request(**calls[number]))] = number
        speeches.update(batch.advance())
    cancel.set()
    speeches |= finish(batch)
    assert speeches[removed].stop_reason == "cancelled"
    assert len(speeches[removed].latents) == 3 + len(late)
    for row, number in rows.items():
        assert_alike(speeches[row], alone(variant)[number])


@pytest.mark.slow
def test_a_row_may_be_long_where_another_starts_late(base):
    """The late row's left padding is longer than a bucket of the cache."""
    batch = base.batch(slots=2)
    long = {"text": "x " * 126, "seed": 1, "min_len": 14, "max_len": 16, "steps": 2}
    short = {"text": "Hello.", "seed": 2, "min_len": 8, "max_len": 12, "steps": 2}
    first = batch.add(Request(**long))
    columns = len(base.tokenize(long["text"])) + 1
    assert columns < KVCache.BUCKET
    for _ in range(11):
        assert not batch.advance()
    assert columns + 11 - len(base.tokenize(short["text"])) - 1 > KVCache.BUCKET
    second = batch.add(Request(**short))
    speeches = finish(batch)
    for row, call in ((first, long), (second, short)):
        assert_alike(speeches[row], base.generate(call.pop("text"), **call))


def test_a_reference_is_read_once_for_all_its_rows(base, monkeypatch):
    lengths = []
    prefill = type(base.network).prefill

    def watched(self: Any, rows: Any, prefixes: Any) -> Any:
        lengths.append([len(row) for row in rows])
        return prefill(self, rows, prefixes)

    monkeypatch.setattr(rehearsal, "step", lambda *_: [])  # a GPU's traces prefill made-up rows
    monkeypatch.setattr(type(base.network), "prefill", watched)
    voice = latents(base, 99, 7)
    batch = base.batch(slots=2)
    texts = ["Hello.", "the lazy dog", "the warm sun"]
    for text in texts:
        batch.add(Request(text, reference=voice.copy(), max_len=3, steps=1))
    finish(batch)
    base.generate("Hello.", reference=voice, max_len=3, steps=1)
    counts = [len(base.tokenize(text)) + 1 for text in texts]
    assert lengths == [[9], counts[:2], counts[2:], counts[:1]]  # 103, seven patches, 104: once


def test_references_that_are_not_used_are_forgotten(base):
    from voxcpm2.generate import Prefixes

    prefixes = Prefixes(base.network)
    voices = [latents(base, seed, 2) for seed in range(Prefixes.MAX_CACHED + 3)]
    first = prefixes.get(voices[0])
    for voice in voices:
        prefixes.get(voice)
        assert prefixes.get(voices[0]) is first  # used all the time
    assert len(prefixes._cached) == Prefixes.MAX_CACHED


def test_noise_is_a_function_of_seed_and_step_alone(base):
    call = {"text": "the warm sun", "min_len": 4, "max_len": 6, "steps": 2}
    one, again = (base.generate(seed=2**32 - 1, **call) for _ in range(2))
    np.testing.assert_array_equal(one.latents, again.latents)
    other = base.generate(seed=0, **call)
    assert np.abs(one.latents[0] - other.latents[0]).max() > 0.1
    # Steps draw anew: with equal conditions, equal noise would give equal patches.
    row = base.batch(slots=1).add(Request("the warm sun", seed=3))
    first = row.draw((16, 4))
    row.patches.append(mx.zeros((4, 16)))
    assert float(mx.abs(first - row.draw((16, 4))).max()) > 0.1


def test_normal_noise_is_normal(base):
    row = base.batch(slots=1).add(Request("the warm sun", seed=1))
    draws = []
    for _ in range(400):
        draws.append(np.array(row.draw((16, 4))))
        row.patches.append(mx.zeros((4, 16)))
    values = np.stack(draws).reshape(400, -1)
    assert abs(values.mean()) < 0.02
    assert abs(values.std() - 1) < 0.02
    correlation = np.corrcoef(values[:-1].ravel(), values[1:].ravel())[0, 1]
    assert abs(correlation) < 0.03


def test_one_host_read_a_step(base, monkeypatch):
    reads = []
    stops = type(base.network).stops

    class Watched:
        def __init__(self, array: mx.array) -> None:
            self.array = array

        def tolist(self) -> Any:
            reads.append(1)
            return self.array.tolist()

    monkeypatch.setattr(mx, "async_eval", lambda *_: None)
    monkeypatch.setattr(mx, "eval", lambda *_: pytest.fail("a sync inside a step"))
    monkeypatch.setattr(type(base.network), "stops", lambda *args: Watched(stops(*args)))
    batch = base.batch(slots=3)
    for seed in range(3):
        batch.add(Request("the warm sun", seed=seed, min_len=20, steps=3))
    for _ in range(5):
        batch.step()
    assert len(reads) == 5


def test_no_slots_is_an_error(base):
    with pytest.raises(RequestError, match="slots is 0"):
        base.batch(slots=0)


@pytest.mark.slow
def test_nothing_grows_over_ten_thousand_steps(base):
    """Rows of all lengths come and go in two slots; memory is what it was after warming up."""
    batch = base.batch(slots=2)
    voices = [latents(base, seed, 2 + seed) for seed in range(12)]
    texts = ["Hello.", "the lazy dog", "This is a test. " * 5, "Then the rain falls. " * 12]
    made, rows, sizes, columns = 0, 0, [], []
    while made < 10_000:
        while len(batch) < 4:
            voice = voices[rows % 12] if rows % 3 else None
            cap = 10 + rows * 7 % 60
            batch.add(
                Request(
                    texts[rows % 4],
                    reference=voice,
                    seed=rows,
                    steps=1 + rows % 2,
                    min_len=cap,
                    max_len=cap,
                )
            )
            rows += 1
        for _ in batch.step():
            pass
        made += 1
        if made % 500 == 0:
            gc.collect()
            sizes.append(mx.get_active_memory() + mx.get_cache_memory())
            columns.append(batch._state.base.columns if batch._state else 0)
    assert rows > 400
    assert max(columns) <= 2 * KVCache.BUCKET
    # Which rows happen to run decides the megabytes in use; growth would show as a trend.
    early, late = sizes[2:10], sizes[-8:]
    assert max(late) <= 1.1 * max(early)
