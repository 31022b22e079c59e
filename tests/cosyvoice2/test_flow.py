"""Tokens to mel: rows side by side, and streams that equal the whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from cosyvoice2 import encoder as encoders
from cosyvoice2 import layers
from cosyvoice2.encoder import distance_scores
from cosyvoice2.flow import Flow, FlowRow
from cosyvoice2.layers import Past, Sight
from speechbase.errors import RequestError
from tests.cosyvoice2.conftest import TINY, CosyGolden
from tests.effort import quick
from tests.voxcpm2.gpu import pretended

CLOSE = 5e-5


@pytest.fixture(scope="module")
def flow(golden: CosyGolden) -> Flow:
    filled = golden.filled(Flow(TINY.flow), "flow.pt")
    assert isinstance(filled, Flow)
    return filled


@pytest.fixture(scope="module")
def arrays(golden: CosyGolden) -> Mapping[str, np.ndarray]:
    return golden.arrays("flow_estimator")


def off(mel: mx.array, expected: np.ndarray) -> float:
    """How far a mel (T, 80) is from (T, 80)."""
    assert mel.shape == expected.shape
    return float(np.abs(np.array(mel) - expected).max(initial=0))


def made_up(tokens: int, prompt: int, seed: int = 0) -> FlowRow:
    draw = np.random.default_rng(seed)
    return FlowRow(
        draw.integers(0, TINY.flow.vocab_size, tokens).astype(np.int32),
        draw.integers(0, TINY.flow.vocab_size, prompt).astype(np.int32),
        draw.standard_normal((2 * prompt, 80)).astype(np.float32),
        draw.standard_normal(192).astype(np.float32),
    )


def test_each_query_finds_its_distances():
    reach, n, start, keys = 12, 3, 4, 9
    distances = mx.arange(reach - 1, -reach, -1, dtype=mx.float32)
    scores = distance_scores(mx.ones((2, 1, n, 1)), distances[None, :, None], start, keys)
    expected = np.arange(start, start + n)[:, None] - np.arange(keys)
    assert np.array_equal(np.array(scores), np.broadcast_to(expected, (2, 1, n, keys)))


def test_velocity_without_a_condition_is_that_of_zeros(flow, arrays):
    estimator = flow.decoder.estimator
    x, mu, cond = (mx.array(arrays[n]).transpose(0, 2, 1)[:1, :7] for n in ("x", "mu", "cond"))
    speaker, moment = mx.array(arrays["spks"][:1]), estimator.moments(arrays["t"][:1])[0]
    guided = estimator.condition_terms(mu, speaker, cond, guided=True)
    zeros = mx.zeros_like(mu)
    conditions = ((mu, speaker, cond), (zeros, 0 * speaker, zeros))
    for velocity, condition in zip(
        estimator.velocity(x, guided, moment, Sight(None)), conditions, strict=True
    ):
        [alone] = estimator.velocity(x, estimator.condition_terms(*condition), moment, Sight(None))
        assert off(velocity, np.array(alone)) < CLOSE


def test_attention_to_the_past_is_that_to_its_keys_and_values(flow, arrays):
    attention = flow.decoder.estimator.mid_blocks[0][1][0].attn1
    y = mx.array(arrays["down_transformer0"])
    whole, past = attention(y, Sight(None)), Past()
    attention(y[:, :60], Sight(None), past)
    assert off(attention(y[:, 60:], Sight(None), past), np.array(whole[:, 60:])) < CLOSE


class TestMel:
    @pytest.mark.parametrize(
        ("streaming", "finalize"),
        [
            (False, True),
            (True, False),
            pytest.param(True, True, marks=pytest.mark.slow),
            pytest.param(False, False, marks=pytest.mark.slow),
        ],
    )
    def test_a_row_does_not_depend_on_its_company(self, flow, streaming, finalize):
        rows = [made_up(8, 7, 1), made_up(28, 0, 2), made_up(1, 12, 3), made_up(5, 26, 4)]
        together = flow.mel(rows, streaming=streaming, finalize=finalize, steps=1)
        for row, mel in zip(rows, together, strict=True):
            [alone] = flow.mel([row], streaming=streaming, finalize=finalize, steps=1)
            assert off(mel, np.array(alone)) < CLOSE
            assert len(mel) == 2 * max(0, len(row.tokens) - (0 if finalize else 3))

    def test_one_token_without_a_reference_is_two_frames(self, flow):
        [mel] = flow.mel([made_up(1, 0)], steps=1)
        assert mel.shape == (2, 80)
        assert np.isfinite(np.array(mel)).all()

    def test_no_token_is_no_frame(self, flow):
        assert [mel.shape for mel in flow.mel([made_up(0, 5), made_up(2, 0)], steps=1)] == [
            (0, 80),
            (4, 80),
        ]

    def test_a_negative_token_counts_as_the_first(self, flow):
        row = made_up(3, 0)
        first, negative = np.array([5, 0, 6]), np.array([5, -1, 6])
        mels = [flow.mel([replace(row, tokens=ids)], steps=1)[0] for ids in (first, negative)]
        assert off(mels[0], np.array(mels[1])) == 0

    def test_more_frames_than_there_is_noise_for_are_refused(self, flow):
        with pytest.raises(RequestError, match=r"15002 frames .* more than the flow's 15000"):
            flow.mel([made_up(1, 0), made_up(7401, 100)])

    def test_queries_in_parts_are_the_same(self, flow, monkeypatch):
        rows = [made_up(9, 7, 1), made_up(30, 0, 2)]
        expected = flow.mel(rows, streaming=True, steps=1)
        monkeypatch.setattr(layers, "MAX_SCORES", 16 * 60 * 7)
        parted = flow.mel(rows, streaming=True, steps=1)
        assert max(off(*pair) for pair in zip(parted, map(np.array, expected), strict=True)) < CLOSE

    def test_distances_beyond_what_is_kept_are_the_same(self, flow, monkeypatch):
        row = made_up(20, 0)
        [expected] = flow.mel([row], steps=1)
        flow.encoder._tables.clear()
        monkeypatch.setattr(encoders, "MIN_POSITIONS", 1)
        monkeypatch.setattr(encoders, "MAX_KEPT_POSITIONS", 32)
        [mel] = flow.mel([row], steps=1)
        assert off(mel, np.array(expected)) < CLOSE
        assert [made[0].shape[1] for made in flow.encoder._tables.values()] == [63]

    def test_on_a_gpu_steps_are_traced_for_the_shapes_used_last(self, flow, monkeypatch):
        monkeypatch.setattr(flow.decoder, "MAX_CACHED", 2)
        rows = [made_up(length, 0) for length in (1, 2, 3)]
        expected = [flow.mel([row], steps=2)[0] for row in rows] + flow.mel(rows, steps=2)
        flow.clear_caches()
        with pretended():
            mels = [flow.mel([row], steps=2)[0] for row in rows] + flow.mel(rows, steps=2)
        assert max(off(*pair) for pair in zip(mels, map(np.array, expected), strict=True)) < CLOSE
        assert len(flow.decoder._compiled) == 2


class TestStream:
    @pytest.mark.parametrize(
        ("chunk", "prompt"),
        [
            (50, 0),
            (7, 25),
            pytest.param(25, 37, marks=pytest.mark.slow),
            pytest.param(55, 53, marks=pytest.mark.slow),
        ],
    )
    def test_it_equals_the_whole(self, flow, chunk, prompt):
        row, steps = made_up(55, prompt), 2 if chunk == 25 else 1
        [whole] = flow.mel([row], streaming=True, steps=steps)
        stream = flow.stream(replace(row, tokens=row.tokens[:0]), steps=steps)
        parts = [stream.feed(row.tokens[at : at + chunk]) for at in range(0, 55, chunk)]
        assert sum(map(len, parts)) == 2 * ((prompt + 55 - 3) // 25 * 25 - prompt)
        parts.append(stream.feed(finalize=True))
        assert off(mx.concatenate(parts), np.array(whole)) < CLOSE

    @pytest.mark.parametrize("prompt", quick([0, 1, 24, 25, 27, 28, 50], 0, 27, 28))
    def test_it_says_how_many_tokens_it_lacks(self, flow, prompt):
        stream = flow.stream(made_up(0, prompt), steps=1)
        lacking = stream.missing_tokens
        assert (prompt + lacking - 3) % 25 == 0
        assert stream.feed([1] * (lacking - 1)).shape == (0, 80)
        assert stream.missing_tokens == 1
        assert len(stream.feed([1])) == 2 * (lacking - 3)
        assert stream.missing_tokens == 25

    def test_one_token_can_be_all(self, flow):
        row = made_up(1, 6)
        [whole] = flow.mel([row], streaming=True, steps=1)
        stream = flow.stream(row, steps=1)
        assert off(stream.feed(finalize=True), np.array(whole)) < CLOSE

    def test_without_a_new_token_it_has_no_frame(self, flow):
        assert flow.stream(made_up(0, 30), steps=1).feed(finalize=True).shape == (0, 80)

    def test_after_the_end_it_takes_nothing(self, flow):
        stream = flow.stream(made_up(1, 0), steps=1)
        stream.feed(finalize=True)
        with pytest.raises(RequestError, match="has ended"):
            stream.feed([1])

    def test_too_much_is_refused_and_changes_nothing(self, flow):
        stream = flow.stream(made_up(0, 0), steps=1)
        with pytest.raises(RequestError, match="more than the flow's"):
            stream.feed([1] * 7501)
        assert stream.missing_tokens == 28

    def test_a_reference_is_computed_once_and_those_used_last_are_kept(self, golden, monkeypatch):
        flow = golden.filled(Flow(TINY.flow), "flow.pt")
        assert isinstance(flow, Flow)
        monkeypatch.setattr(Flow, "MAX_CACHED", 2)
        pushed: list[int] = []
        push = flow.push

        def counting(*args: Any, finalize: bool) -> mx.array:
            pushed.append(len(args[2]))
            return push(*args, finalize=finalize)

        monkeypatch.setattr(flow, "push", counting)
        first, second, third = (made_up(0, 28, seed) for seed in range(3))
        for row in (first, replace(first), second, first, third, first, second):
            flow.stream(row, steps=1)
        assert pushed == [28] * 4  # the second is forgotten as the third comes
        assert len(flow._beginnings) == 2
        flow.clear_caches()
        flow.stream(first, steps=1)
        assert pushed == [28] * 5

    @pytest.mark.slow
    def test_two_streams_of_a_reference_do_not_disturb_each_other(self, flow):
        row, other = made_up(30, 30, 5), made_up(30, 30, 5)
        rows = [row, replace(other, tokens=other.tokens[::-1])]
        streams = [flow.stream(replace(each, tokens=each.tokens[:0]), steps=1) for each in rows]
        first = [stream.feed(each.tokens[:23]) for stream, each in zip(streams, rows, strict=True)]
        for stream, each, begun in zip(streams, rows, first, strict=True):
            [whole] = flow.mel([each], streaming=True, steps=1)
            rest = stream.feed(each.tokens[23:], finalize=True)
            assert off(mx.concatenate([begun, rest]), np.array(whole)) < CLOSE

    def test_what_it_keeps_grows_by_the_inputs_of_the_layers(self, flow):
        stream = flow.stream(made_up(0, 0), steps=2)
        stream.feed([1] * 28)
        before = stream.nbytes
        stream.feed([1] * 25)
        attention = 2 * 2 * 50 * 4 * TINY.flow.estimator.channels * 8  # steps, halves, layers
        encoder = 4 * 2 * TINY.flow.encoder.width * (25 * 2 + 50 * 4)
        assert stream.nbytes - before == attention + encoder
