"""The vocoder's network: on GPUs, at the ends, and how far a frame reaches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from cosyvoice2.hift import HiFT, reach
from tests.cosyvoice2.conftest import TINY, CosyGolden
from tests.voxcpm2.gpu import pretended


@pytest.fixture(scope="module")
def numbers(golden: CosyGolden) -> dict[str, np.ndarray]:
    return golden.arrays("hift")


@pytest.fixture(scope="module")
def mel(numbers: dict[str, np.ndarray]) -> mx.array:
    return mx.array(numbers["mel"].transpose(0, 2, 1))


@pytest.mark.parametrize(
    ("kind", "compiled"),
    [
        ("metal", False),
        ("cuda", False),
        pytest.param("metal", True, marks=pytest.mark.slow),  # a C++ compiler takes half a minute
    ],
)
def test_a_gpu_takes_other_ways_to_the_same_samples(hift, mel, numbers, kind, compiled):
    with pretended(kind, compiled=compiled):
        made = np.array(hift.decode(mel, mx.array(numbers["source"][:, 0])))
        pitch = np.array(hift.pitch(mel))
    assert np.abs(made - numbers["wav"]).max() < 1e-5
    assert np.abs(pitch - numbers["f0"]).max() < 1e-3


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_few_frames_have_all_their_samples(hift, frames):
    made = hift.decode(mx.zeros((2, frames, 80)), mx.zeros((2, 480 * frames)))
    assert made.shape == (2, 480 * frames)
    assert mx.isfinite(made).all()


def test_no_sample_is_beyond_the_limit(hift, numbers):
    mel = 200 * mx.array(numbers["mel"].transpose(0, 2, 1))
    made = hift.decode(mel, mx.array(numbers["source"][:, 0]))
    assert float(mx.abs(made).max()) == pytest.approx(0.99)


class TestReach:
    """Beyond it nothing changes, not by a bit; just within it something does."""

    FRAMES, AT = 48, 24

    @pytest.fixture
    def given(self) -> tuple[np.ndarray, np.ndarray]:
        random = np.random.default_rng(1)
        mel = random.normal(-2, 2, (1, self.FRAMES, 80))
        source = random.uniform(-0.5, 0.5, (1, 480 * self.FRAMES))
        return mel.astype(np.float32), source.astype(np.float32)

    @pytest.mark.parametrize("what", ["mel", "source"])
    @pytest.mark.slow
    def test_a_frame_changes_none_beyond(self, hift, given, what):
        mel, source = (each.copy() for each in given)
        before = np.array(hift.decode(mx.array(mel), mx.array(source)))
        if what == "mel":
            mel[0, self.AT] += 2
        else:
            source[0, 480 * self.AT : 480 * (self.AT + 1)] *= -1
        after = np.array(hift.decode(mx.array(mel), mx.array(source)))
        changed = np.nonzero((after != before).reshape(self.FRAMES, 480).any(axis=1))[0]
        furthest = max(self.AT - changed[0], changed[-1] - self.AT)
        assert reach(TINY.vocoder) - 2 <= furthest <= reach(TINY.vocoder) == 15

    def test_a_frame_s_pitch_reaches_five(self, hift, given):
        mel = given[0].copy()
        before = np.array(hift.pitch(mx.array(mel)))[0]
        mel[0, self.AT] += 2
        changed = np.nonzero(np.array(hift.pitch(mx.array(mel)))[0] != before)[0]
        assert (changed[0], changed[-1]) == (self.AT - 5, self.AT + 5)


def test_weights_are_made_ready_once(golden, monkeypatch):
    made = golden.filled(HiFT(TINY.vocoder), "hift.pt")
    assert isinstance(made, HiFT)
    calls: list[int] = []
    plain: Callable[..., Any] = type(made.ups[0]).lay_out
    monkeypatch.setattr(type(made.ups[0]), "lay_out", lambda s: (calls.append(1), plain(s))[1])
    made.ready()
    made.ready()
    assert len(calls) == len(made.ups)
