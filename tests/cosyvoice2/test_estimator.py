"""The flow's estimator against the official numbers."""

from __future__ import annotations

from collections.abc import Mapping

import mlx.core as mx
import numpy as np
import pytest

from cosyvoice2.estimator import Estimator
from cosyvoice2.flow import Flow
from cosyvoice2.layers import Past, Sight, row_sight
from speechbase.functions import time_embedding
from tests.cosyvoice2.conftest import TINY, CosyGolden

CLOSE = 5e-5


@pytest.fixture(scope="module")
def estimator(golden: CosyGolden) -> Estimator:
    filled = golden.filled(Flow(TINY.flow), "flow.pt")
    assert isinstance(filled, Flow)
    return filled.decoder.estimator


@pytest.fixture(scope="module")
def arrays(golden: CosyGolden) -> Mapping[str, np.ndarray]:
    return golden.arrays("flow_estimator")


def given(arrays: Mapping[str, np.ndarray]) -> list[mx.array]:
    """x, mu, cond (2, T, 80)."""
    return [mx.array(arrays[name]).transpose(0, 2, 1) for name in ("x", "mu", "cond")]


def close(made: mx.array, expected: np.ndarray) -> bool:
    return made.shape == expected.shape and bool(np.abs(np.array(made) - expected).max() < CLOSE)


def test_a_moment_is_embedded_as_officially(
    estimator: Estimator, arrays: Mapping[str, np.ndarray]
) -> None:
    sines = time_embedding(arrays["t"], TINY.flow.estimator.in_channels)
    assert close(sines, arrays["time_sin"])
    assert close(estimator.time_mlp(sines), arrays["time_emb"])


@pytest.mark.parametrize("streaming", [False, True])
def test_a_velocity_is_the_official_one(
    estimator: Estimator, arrays: Mapping[str, np.ndarray], streaming: bool
) -> None:
    x, mu, cond = given(arrays)
    seen = row_sight([x.shape[1]] * 2, x.shape[1], TINY.flow.estimator.chunk if streaming else None)
    made = estimator(x, mu, arrays["t"][:1], mx.array(arrays["spks"]), cond, seen)
    assert close(made, arrays[f"out_streaming{streaming:d}"].transpose(0, 2, 1))


def test_its_first_blocks_give_the_official_numbers(
    estimator: Estimator, arrays: Mapping[str, np.ndarray]
) -> None:
    x, mu, cond = given(arrays)
    known = estimator.condition_terms(mu, mx.array(arrays["spks"]), cond)
    moment = estimator.moments(arrays["t"][:1])[0]
    resnet, transformers, _ = estimator.down_blocks[0]
    made = estimator._first_block(x, known, moment[0], None)
    assert close(made, arrays["down_resnet"].transpose(0, 2, 1))
    everywhere = mx.broadcast_to(mx.array(arrays["spks"])[:, None], mu.shape)
    unsplit = mx.concatenate([x, mu, everywhere, cond], axis=-1)
    assert close(resnet(unsplit, moment[0]), np.array(made))
    assert close(transformers[0](made, Sight(None)), arrays["down_transformer0"])


def test_what_nothing_gives_is_what_zeros_give(
    estimator: Estimator, arrays: Mapping[str, np.ndarray]
) -> None:
    x, mu, cond = (array[:1, :7] for array in given(arrays))
    speaker, moment = mx.array(arrays["spks"][:1]), estimator.moments(arrays["t"][:1])[0]
    known = estimator.condition_terms(mu, speaker, cond, guided=True)
    both = estimator.velocity(x, known, moment, Sight(None))
    zeros = mx.zeros_like(mu)
    for made, condition in zip(
        both, ((mu, speaker, cond), (zeros, 0 * speaker, zeros)), strict=True
    ):
        alone = estimator.velocity(x, estimator.condition_terms(*condition), moment, Sight(None))
        assert close(made, np.array(alone[0]))


def test_attention_to_what_was_before_is_that_to_keys_and_values(
    estimator: Estimator, arrays: Mapping[str, np.ndarray]
) -> None:
    attention = estimator.mid_blocks[0][1][0].attn1
    y = mx.array(arrays["down_transformer0"])
    whole, past = attention(y, Sight(None)), Past()
    attention(y[:, :60], Sight(None), past)
    assert close(attention(y[:, 60:], Sight(None), past), np.array(whole[:, 60:]))
