"""Requests become speech: in order, each as if alone, by its own seed."""

from __future__ import annotations

from dataclasses import replace

import mlx.core as mx
import numpy as np
import pytest

import kokoro82m
from kokoro82m import model as model_module
from kokoro82m.layers import Rows
from kokoro82m.model import Kokoro82M, max_batch_frames, plan_batches
from kokoro82m.network import find_durations
from speechbase.errors import RequestError
from tests.effort import quick
from tests.kokoro82m.conftest import KokoroGolden
from tests.kokoro82m.parity import log_mel, speak_together
from tests.parity import relative
from tests.voxcpm2.gpu import pretended


@pytest.fixture(scope="module")
def requests(golden: KokoroGolden) -> list[kokoro82m.Request]:
    """Of 12, 5 and 3 symbols, at three speeds."""
    short = golden.request("len5")
    long = replace(golden.request("len40"), tokens=[0, *range(43, 55), 0])
    tiny = replace(short, tokens=[0, 7, 61, 4, 0], speed=2.0)
    return [replace(each, noise=None) for each in (long, short, tiny)]


@pytest.fixture(scope="module")
def alone(model: Kokoro82M, requests: list[kokoro82m.Request]) -> list[kokoro82m.Speech]:
    return [model.speak([request])[0] for request in requests]


def assert_alike(speech: list[kokoro82m.Speech], expected: list[kokoro82m.Speech]) -> None:
    """But for last bits of F0, and phases that these turn in a random checkpoint."""
    for one, other in zip(speech, expected, strict=True):
        assert one.durations.tolist() == other.durations.tolist()
        assert relative(one.pitch, other.pitch) < 1e-5
        assert np.abs(log_mel(one.samples) - log_mel(other.samples)).max() < 0.05


def test_shapes_are_as_told(model, requests):
    [speech] = model.speak(requests[1:2])
    frames = speech.durations.sum()
    assert speech.durations.shape == (len(requests[1].tokens),)
    assert (speech.samples.shape, speech.samples.dtype) == ((600 * frames,), np.float32)
    assert (speech.pitch.shape, speech.pitch.dtype) == ((2 * frames,), np.float32)
    assert model.speak([]) == []


@pytest.mark.parametrize("kind", quick(["metal", "cuda"], "cuda"))
def test_rows_side_by_side_equal_each_alone(model, requests, alone, kind):
    """By the branches of either kind of GPU; on CUDA all are padded, too."""
    with pretended(kind):
        together = speak_together(model, requests)
    assert_alike(together, alone)


def test_noise_is_of_the_seed_alone(model, requests, alone):
    tiny = requests[2]
    again, other = model.speak([tiny, replace(tiny, seed=1)])
    assert_alike([again], alone[2:])  # to the last bit where each row is computed alone
    assert np.abs(log_mel(other.samples) - log_mel(again.samples)).max() > 0.05
    assert (other.durations == alone[2].durations).all()


def test_too_little_noise_is_refused(model, requests):
    noise = np.zeros((100, 9), np.float32)
    with pytest.raises(RequestError, match="noise has 100 rows"):
        model.speak([replace(requests[1], noise=noise)])


def test_a_bad_request_stops_all_before_any_is_computed(model, requests):
    with pytest.raises(RequestError, match="speed"):
        model.speak([requests[0], replace(requests[1], speed=5.0)])


@pytest.mark.parametrize("dtype", quick(["float16", "bfloat16"], "bfloat16"))
def test_half_precision_sounds_alike(golden, requests, alone, dtype):
    [speech] = kokoro82m.load(golden.checkpoint, dtype).speak(requests[1:2])
    assert (speech.durations == alone[1].durations).all()
    assert (speech.pitch == alone[1].pitch).all()
    assert np.abs(log_mel(speech.samples) - log_mel(alone[1].samples)).max() < 0.05


def test_durations_are_rounded_halves_to_even_and_one_at_least():
    logits = np.full((4, 50), -100, np.float32)
    for row, ones in enumerate((0, 1, 5, 7)):
        logits[row, :ones] = 100  # 0, .5, 2.5 and 3.5 frames at twice the speed
    assert find_durations(logits, 2.0).tolist() == [1, 1, 2, 4]


@pytest.mark.parametrize(
    ("lengths", "most", "batches"),
    [
        ([3, 9, 5], 0, [[1], [2], [0]]),
        ([3, 9, 5], 100, [[1, 2, 0]]),
        ([3, 9, 5, 4], 18, [[1, 2], [3, 0]]),
        ([], 10, []),
    ],
)
def test_batches_hold_rows_of_like_length(lengths, most, batches):
    assert plan_batches(lengths, most) == batches


@pytest.mark.parametrize(
    ("memory_gb", "frames"), [(None, 2048), (80, 2048), (24, 1024), (12, 512), (8, 256), (1, 256)]
)
def test_a_batch_takes_most_of_a_gpus_memory_at_most(model, monkeypatch, memory_gb, frames):
    """And so do more rows, of which a long one is tried whatever it takes."""
    free_bytes = memory_gb and int(memory_gb * 1e9)
    monkeypatch.setattr(model_module, "memory_left", lambda: free_bytes)
    with pretended("cuda"):
        assert max_batch_frames() == frames
        assert model.estimate_bytes(1) == min(frames, 1200) * 14e6
        assert model.estimate_bytes(64) == frames * 14e6
        assert plan_batches([1200, 90, 90], max_batch_frames())[0][0] == 0
    with pretended("cpu"):
        assert max_batch_frames() == 0
        assert model.estimate_bytes(64) == model.estimate_bytes(1) < 2e9


def test_a_gpu_computes_the_generators_blocks_one_by_one(model, requests, monkeypatch):
    """The workspaces of what is queued are all held at once."""
    blocks, evaluate = [], mx.eval

    def watched(*arrays: mx.array) -> None:
        blocks.append(arrays)
        evaluate(*arrays)

    generator = model.network.decoder.generator
    inputs = model._prepare(model._encode(requests[2:]))
    with pretended("cuda"):
        monkeypatch.setattr(mx, "eval", watched)
        model.network.decode(inputs)
    assert len(blocks) == len(generator.resblocks) + len(generator.noise_res)


def test_rows_grow_by_frames_and_one_more_step_takes_a_block():
    rows = Rows([2, 3], 4).scale(2).scale(60, extra=1)
    assert (rows.lengths, rows.size, rows.block) == ((241, 361), 600, 120)
