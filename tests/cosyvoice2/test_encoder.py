"""The flow's encoder against the official numbers, layer by layer."""

from __future__ import annotations

from collections.abc import Mapping

import mlx.core as mx
import numpy as np
import pytest

from cosyvoice2.encoder import distance_scores, distance_table
from cosyvoice2.flow import Flow, FlowRow
from cosyvoice2.layers import Sight
from tests.cosyvoice2.conftest import TINY, CosyGolden

CLOSE = 5e-5


@pytest.fixture(scope="module")
def flow(golden: CosyGolden) -> Flow:
    filled = golden.filled(Flow(TINY.flow), "flow.pt")
    assert isinstance(filled, Flow)
    return filled


@pytest.fixture(scope="module")
def arrays(golden: CosyGolden) -> Mapping[str, np.ndarray]:
    return golden.arrays("flow_encoder")


def close(made: mx.array, expected: np.ndarray) -> bool:
    return made.shape == expected.shape and bool(np.abs(np.array(made) - expected).max() < CLOSE)


def test_a_distance_is_said_as_officially(arrays: Mapping[str, np.ndarray]) -> None:
    assert close(distance_table(TINY.flow.encoder.width, 9), arrays["pos_emb"][0])


def test_each_query_finds_its_distances() -> None:
    reach, n, start, keys = 12, 3, 4, 9
    said = mx.arange(reach - 1, -reach, -1, dtype=mx.float32)  # a distance says itself
    made = distance_scores(mx.ones((2, 1, n, 1)), said[None, :, None], start, keys)
    expected = np.arange(start, start + n)[:, None] - np.arange(keys)
    assert np.array_equal(np.array(made), np.broadcast_to(expected, (2, 1, n, keys)))


def test_its_first_layers_give_the_official_numbers(
    flow: Flow, arrays: Mapping[str, np.ndarray]
) -> None:
    encoder, x = flow.encoder, flow.input_embedding(mx.array(arrays["tokens"]))
    x = encoder.embed(x)
    assert close(x, arrays["after_embed"])
    x = encoder.pre_lookahead_layer(mx.pad(x, [(0, 0), (0, 3), (0, 0)]))
    assert close(x, arrays["after_lookahead"])
    table = encoder._distance_tables("encoders", x.shape[1])[0]
    assert close(encoder.encoders[0](x, table, Sight(None)), arrays["after_layer0"])


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("finalize", [False, True])
def test_the_whole_gives_the_official_numbers(
    flow: Flow, arrays: Mapping[str, np.ndarray], streaming: bool, finalize: bool
) -> None:
    x = flow.input_embedding(mx.array(arrays["tokens"]))
    h = flow.encoder(x, [x.shape[1]], streaming=streaming, finalize=finalize)
    name = f"encoder_streaming{streaming:d}_{'final' if finalize else 'context'}"
    assert close(h, arrays[name])


def test_its_frames_and_the_speaker_become_mels(
    flow: Flow, arrays: Mapping[str, np.ndarray]
) -> None:
    assert close(flow.encoder_proj(mx.array(arrays["encoder_streaming0_final"])), arrays["mu"])
    row = FlowRow(arrays["tokens"][0], np.zeros(0), np.zeros((0, 80)), arrays["embedding"][0])
    assert close(flow.speaker([row]), arrays["spk"])
