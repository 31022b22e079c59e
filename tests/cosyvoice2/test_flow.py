"""Tokens to mel: official numbers, rows side by side, and streams that equal the whole."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest
from mlx.utils import tree_flatten

from benchmarks.cosyvoice import RELEASED
from cosyvoice2 import encoder as encoders
from cosyvoice2 import layers
from cosyvoice2.flow import Flow, FlowRow, noise, schedule
from cosyvoice2.layers import row_sight
from speechbase.errors import RequestError
from tests.cosyvoice2.conftest import SIZES, TINY, CosyGolden
from tests.effort import quick
from tests.voxcpm2.gpu import pretended

CLOSE = 5e-5


@pytest.fixture(scope="module")
def flow(golden: CosyGolden) -> Flow:
    filled = golden.filled(Flow(TINY.flow), "flow.pt")
    assert isinstance(filled, Flow)
    return filled


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


class TestNames:
    def test_every_tensor_of_the_released_file_has_its_place(self) -> None:
        listed = json.loads(SIZES.read_text())["flow.pt"]
        network = Flow(RELEASED.flow)
        convolutions = {
            name for name, layer in network.named_modules() if isinstance(layer, nn.Conv1d)
        }
        found = {}
        for name, array in tree_flatten(network.parameters()):
            shape = list(array.shape)
            if name.removesuffix(".weight") in convolutions:
                shape = [shape[0], shape[2], shape[1]]
            found[name] = shape
        assert found == listed
        assert len(found) == 1121


class TestNoise:
    def test_it_is_the_official_one(self, golden: CosyGolden) -> None:
        expected, made = golden.arrays("flow_noise"), np.array(noise()).T
        assert made.shape == (80, 15000)
        assert np.abs(made[:, :260] - expected["first"][0]).max() < 2e-6
        assert np.abs(made[:, -8:] - expected["last"][0]).max() < 2e-6
        assert np.abs(made.sum(1, dtype=np.float64) - expected["row_sums"]).max() < 1e-3


class TestSolver:
    def test_the_grid_is_the_official_one(self, golden: CosyGolden) -> None:
        expected = golden.arrays("flow_cfm")["t_span"]
        moments, widths = schedule(10)
        assert np.abs(moments - expected[:-1]).max() < 2e-7
        assert np.abs(widths - np.diff(expected)).max() < 2e-7

    @pytest.mark.parametrize(
        ("name", "steps", "streaming"),
        [
            # ten steps are those of `TestMel` too
            pytest.param("out_n10_s0", 10, False, marks=pytest.mark.slow),
            pytest.param("out_n10_s1", 10, True, marks=pytest.mark.slow),
            pytest.param("out_n4_s0", 4, False, marks=pytest.mark.slow),
            ("out_n1_s0", 1, False),
        ],
    )
    def test_its_steps_lead_where_the_official_ones_do(
        self, golden: CosyGolden, flow: Flow, name: str, steps: int, streaming: bool
    ) -> None:
        arrays = golden.arrays("flow_cfm")
        mu, cond = (mx.array(arrays[each]).transpose(0, 2, 1) for each in ("mu", "cond"))
        known = flow.decoder.estimator.condition_terms(
            mu, mx.array(arrays["spks"]), cond, guided=True
        )
        x = mx.array(arrays["noise"]).transpose(0, 2, 1)
        seen = row_sight(
            [x.shape[1]] * 2, x.shape[1], TINY.flow.estimator.chunk if streaming else None
        )
        made = flow.decoder(x, known, seen, steps)
        assert off(made[0], arrays[name][0].T) < CLOSE


class TestMel:
    @pytest.mark.parametrize(
        ("name", "prompt", "streaming", "finalize"),
        [
            ("prompt", True, False, True),
            ("prompt_stream", True, True, False),
            ("noprompt", False, False, True),
            ("noprompt_stream_final", False, True, True),
            ("unfinished", True, False, False),
        ],
    )
    @pytest.mark.slow  # whole calls and the chunks of streams go these ways too
    def test_it_is_the_official_one(
        self,
        golden: CosyGolden,
        flow: Flow,
        name: str,
        prompt: bool,
        streaming: bool,
        finalize: bool,
    ) -> None:
        arrays = golden.arrays("flow_inference")
        row = FlowRow(
            arrays["token"][0],
            arrays["prompt_token"][0] if prompt else np.zeros(0, np.int32),
            arrays["prompt_feat"][0] if prompt else np.zeros((0, 80), np.float32),
            arrays["embedding"][0],
        )
        [mel] = flow.mel([row], streaming=streaming, finalize=finalize)
        assert off(mel, arrays[name][0].T) < CLOSE

    @pytest.mark.slow
    @pytest.mark.parametrize("group", ["tts_given_tokens", "tts_given_tokens_stream_short"])
    def test_given_tokens_give_the_official_mel(
        self, golden: CosyGolden, flow: Flow, group: str
    ) -> None:
        last = len(golden.facts(group)["flow_calls"]) - 1
        [mel] = flow.mel([given(golden, group)])
        assert off(mel, golden.arrays(group)[f"mel_{last}"][0].T) < CLOSE

    @pytest.mark.parametrize(
        ("streaming", "finalize"),
        [
            (False, True),
            (True, False),
            pytest.param(True, True, marks=pytest.mark.slow),
            pytest.param(False, False, marks=pytest.mark.slow),
        ],
    )
    def test_a_row_does_not_depend_on_its_company(
        self, flow: Flow, streaming: bool, finalize: bool
    ) -> None:
        rows = [made_up(8, 7, 1), made_up(28, 0, 2), made_up(1, 12, 3), made_up(5, 26, 4)]
        together = flow.mel(rows, streaming=streaming, finalize=finalize, steps=1)
        for row, mel in zip(rows, together, strict=True):
            [alone] = flow.mel([row], streaming=streaming, finalize=finalize, steps=1)
            assert off(mel, np.array(alone)) < CLOSE
            assert len(mel) == 2 * max(0, len(row.tokens) - (0 if finalize else 3))

    def test_one_token_without_a_reference_is_two_frames(self, flow: Flow) -> None:
        [mel] = flow.mel([made_up(1, 0)], steps=1)
        assert mel.shape == (2, 80)
        assert np.isfinite(np.array(mel)).all()

    def test_no_token_is_no_frame(self, flow: Flow) -> None:
        assert [mel.shape for mel in flow.mel([made_up(0, 5), made_up(2, 0)], steps=1)] == [
            (0, 80),
            (4, 80),
        ]

    def test_a_negative_token_counts_as_the_first(self, flow: Flow) -> None:
        row = made_up(3, 0)
        first, negative = np.array([5, 0, 6]), np.array([5, -1, 6])
        mels = [flow.mel([replace(row, tokens=ids)], steps=1)[0] for ids in (first, negative)]
        assert off(mels[0], np.array(mels[1])) == 0

    def test_more_frames_than_there_is_noise_for_are_refused(self, flow: Flow) -> None:
        with pytest.raises(RequestError, match=r"15002 frames .* more than the flow's 15000"):
            flow.mel([made_up(1, 0), made_up(7401, 100)])

    def test_queries_in_parts_are_the_same(
        self, flow: Flow, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rows = [made_up(9, 7, 1), made_up(30, 0, 2)]
        expected = flow.mel(rows, streaming=True, steps=1)
        monkeypatch.setattr(layers, "MAX_SCORES", 16 * 60 * 7)
        parted = flow.mel(rows, streaming=True, steps=1)
        assert max(off(*pair) for pair in zip(parted, map(np.array, expected), strict=True)) < CLOSE

    def test_distances_beyond_what_is_kept_are_the_same(
        self, flow: Flow, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        row = made_up(20, 0)
        [expected] = flow.mel([row], steps=1)
        flow.encoder._tables.clear()
        monkeypatch.setattr(encoders, "MIN_POSITIONS", 1)
        monkeypatch.setattr(encoders, "MAX_KEPT_POSITIONS", 32)
        [mel] = flow.mel([row], steps=1)
        assert off(mel, np.array(expected)) < CLOSE
        assert [made[0].shape[1] for made in flow.encoder._tables.values()] == [63]

    def test_on_a_gpu_steps_are_traced_for_the_shapes_used_last(
        self, flow: Flow, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(flow.decoder, "MAX_CACHED", 2)
        rows = [made_up(length, 0) for length in (1, 2, 3)]
        expected = [flow.mel([row], steps=2)[0] for row in rows] + flow.mel(rows, steps=2)
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
    def test_it_equals_the_whole(self, flow: Flow, chunk: int, prompt: int) -> None:
        row, steps = made_up(55, prompt), 2 if chunk == 25 else 1
        [whole] = flow.mel([row], streaming=True, steps=steps)
        stream = flow.stream(replace(row, tokens=row.tokens[:0]), steps=steps)
        parts = [stream.feed(row.tokens[at : at + chunk]) for at in range(0, 55, chunk)]
        assert sum(map(len, parts)) == 2 * ((prompt + 55 - 3) // 25 * 25 - prompt)
        parts.append(stream.feed(finalize=True))
        assert off(mx.concatenate(parts), np.array(whole)) < CLOSE

    @pytest.mark.parametrize(
        "group",
        quick(
            ["tts_given_tokens_stream", "tts_given_tokens_stream_short"],
            "tts_given_tokens_stream_short",
        ),
    )
    def test_its_chunks_are_the_official_ones(
        self, golden: CosyGolden, flow: Flow, group: str
    ) -> None:
        row, arrays = given(golden, group), golden.arrays(group)
        stream, frames = flow.stream(replace(row, tokens=row.tokens[:0])), mx.zeros((0, 80))
        fed = 0
        # The last call is upstream's of the whole: `TestMel` has it.
        for call, (tokens, _, _) in enumerate(golden.facts(group)["flow_calls"][:-1]):
            frames = mx.concatenate([frames, stream.feed(row.tokens[fed:tokens])])
            assert off(frames, arrays[f"mel_{call}"][0].T) < CLOSE
            fed = tokens

    @pytest.mark.parametrize("prompt", quick([0, 1, 24, 25, 27, 28, 50], 0, 27, 28))
    def test_it_says_how_many_tokens_it_lacks(self, flow: Flow, prompt: int) -> None:
        stream = flow.stream(made_up(0, prompt), steps=1)
        lacking = stream.missing_tokens
        assert (prompt + lacking - 3) % 25 == 0
        assert stream.feed([1] * (lacking - 1)).shape == (0, 80)
        assert stream.missing_tokens == 1
        assert len(stream.feed([1])) == 2 * (lacking - 3)
        assert stream.missing_tokens == 25

    def test_one_token_can_be_all(self, flow: Flow) -> None:
        row = made_up(1, 6)
        [whole] = flow.mel([row], streaming=True, steps=1)
        stream = flow.stream(row, steps=1)
        assert off(stream.feed(finalize=True), np.array(whole)) < CLOSE

    def test_without_a_new_token_it_has_no_frame(self, flow: Flow) -> None:
        assert flow.stream(made_up(0, 30), steps=1).feed(finalize=True).shape == (0, 80)

    def test_after_the_end_it_takes_nothing(self, flow: Flow) -> None:
        stream = flow.stream(made_up(1, 0), steps=1)
        stream.feed(finalize=True)
        with pytest.raises(RequestError, match="has ended"):
            stream.feed([1])

    def test_too_much_is_refused_and_changes_nothing(self, flow: Flow) -> None:
        stream = flow.stream(made_up(0, 0), steps=1)
        with pytest.raises(RequestError, match="more than the flow's"):
            stream.feed([1] * 7501)
        assert stream.missing_tokens == 28

    def test_a_reference_is_computed_once_and_those_used_last_are_kept(
        self, golden: CosyGolden, monkeypatch: pytest.MonkeyPatch
    ) -> None:
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
    def test_two_streams_of_a_reference_do_not_disturb_each_other(self, flow: Flow) -> None:
        row, other = made_up(30, 30, 5), made_up(30, 30, 5)
        rows = [row, replace(other, tokens=other.tokens[::-1])]
        streams = [flow.stream(replace(each, tokens=each.tokens[:0]), steps=1) for each in rows]
        first = [stream.feed(each.tokens[:23]) for stream, each in zip(streams, rows, strict=True)]
        for stream, each, begun in zip(streams, rows, first, strict=True):
            [whole] = flow.mel([each], streaming=True, steps=1)
            rest = stream.feed(each.tokens[23:], finalize=True)
            assert off(mx.concatenate([begun, rest]), np.array(whole)) < CLOSE

    def test_what_it_keeps_grows_by_the_inputs_of_the_layers(self, flow: Flow) -> None:
        stream = flow.stream(made_up(0, 0), steps=2)
        stream.feed([1] * 28)
        before = stream.nbytes
        stream.feed([1] * 25)
        attention = 2 * 2 * 50 * 4 * TINY.flow.estimator.channels * 8  # steps, halves, layers
        encoder = 4 * 2 * TINY.flow.encoder.width * (25 * 2 + 50 * 4)
        assert stream.nbytes - before == attention + encoder


def given(golden: CosyGolden, group: str) -> FlowRow:
    """The row of a group whose tokens are recorded; without a prompt the voice is the same."""
    facts, prompt = golden.facts(group), golden.arrays(f"prompt_{golden.clips[0]}")
    tokens, mel = prompt["tokens_used"][0], prompt["mel_used"][0]
    if "prompt" not in facts:
        tokens, mel = tokens[:0], mel[:0]
    return FlowRow(np.array(facts["tokens"], np.int32), tokens, mel, prompt["embedding"][0])
