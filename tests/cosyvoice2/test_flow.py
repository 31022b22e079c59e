"""Tokens to mel: official numbers, rows side by side, and streams that equal the whole."""

from __future__ import annotations

import json
import re
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from mlx.utils import tree_flatten

from cosyvoice2 import flow as flows
from cosyvoice2.config import EncoderConfig, EstimatorConfig, FlowConfig
from cosyvoice2.estimator import Known
from cosyvoice2.flow import Flow, FlowRow, noise, schedule
from cosyvoice2.layers import sight
from speechbase.errors import RequestError
from tests.cosyvoice2.conftest import ROOT, TINY, CosyGolden
from tests.voxcpm2.gpu import pretended

CLOSE = 5e-5
SHIPPED = FlowConfig(
    vocab_size=6561, speaker_dim=192, guidance=0.7,
    encoder=EncoderConfig(width=512, heads=8, feed_forward=2048, layers=6, chunk=25),
    estimator=EstimatorConfig(
        in_channels=320, channels=256, heads=8, head_dim=64, blocks=4, mid_blocks=12, chunk=50
    ),
)  # fmt: skip


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
        listed = json.loads((ROOT / "sizes.json").read_text())["flow.pt"]
        network = Flow(SHIPPED)
        convolutions = {
            name for name, layer in network.named_modules() if isinstance(layer, mx_conv())
        }
        found = {}
        for name, array in tree_flatten(network.parameters()):
            shape = list(array.shape)
            if name.removesuffix(".weight") in convolutions:
                shape = [shape[0], shape[2], shape[1]]
            found[name] = shape
        assert found == listed
        assert len(found) == 1121


def mx_conv() -> type:
    import mlx.nn as nn

    return nn.Conv1d


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
            ("out_n10_s0", 10, False),
            ("out_n10_s1", 10, True),
            ("out_n4_s0", 4, False),
            ("out_n1_s0", 1, False),
        ],
    )
    def test_its_steps_lead_where_the_official_ones_do(
        self, golden: CosyGolden, flow: Flow, name: str, steps: int, streaming: bool
    ) -> None:
        arrays = golden.arrays("flow_cfm")
        mu, cond = (mx.array(arrays[each]).transpose(0, 2, 1) for each in ("mu", "cond"))
        known = flow.decoder.estimator.known(mu, mx.array(arrays["spks"]), cond, guided=True)
        x = mx.array(arrays["noise"]).transpose(0, 2, 1)
        seen = sight([x.shape[1]] * 2, x.shape[1], TINY.flow.estimator.chunk if streaming else None)
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
