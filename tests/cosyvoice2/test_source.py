"""The source signal: exact, and the same however it is cut."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest

from cosyvoice2.source import MAX_FRAMES_AT_ONCE, NOISE_BLOCK, Noise, Source, excite
from speechbase.errors import RequestError


def pitch(frames: int, seed: int = 0) -> np.ndarray:
    """Voiced and unvoiced stretches."""
    random = np.random.default_rng(seed)
    hertz = 150 + 40 * np.sin(np.arange(frames) / 7) + random.normal(0, 3, frames)
    return np.where(np.arange(frames) % 23 < 17, hertz, 2.0).astype(np.float32)


def test_after_a_minute_its_phase_is_exact(hift):
    """Against float64 throughout: in float32 the phase alone would be off by a hundredth."""
    frames = 2500
    f0 = np.full(frames, 199.9, np.float32)
    silent = np.zeros((480 * frames, 9), np.float32)
    tail = np.array(excite(hift, f0, Noise(hift, numbers=silent)))[-48_000:]
    places = np.arange(480 * frames)[-48_000:] + 0.5 - 240
    middle = np.minimum(places / 480, frames - 1)  # still after the last frame's middle
    steps = np.float64(f0[0]) * np.arange(1, 10) / 24_000 % 1 * 480
    sines = 0.1 * np.sin(2 * np.pi * ((1 + middle[:, None]) * steps % 1))
    layer = hift.m_source.l_linear
    exact = np.tanh(sines @ np.array(layer.weight)[0] + np.array(layer.bias))
    assert np.abs(tail - exact).max() < 1e-5


@pytest.mark.parametrize("cuts", [[1, 1, 1, 57], [60], [0, 30, 0, 30], [59, 1], [1, 0, 59]])
def test_pushes_give_what_one_push_gives(hift, cuts):
    f0 = pitch(60)
    whole = np.array(excite(hift, f0, Noise(hift, 7)))
    assert whole.shape == (480 * 60,)
    source, parts, at = Source(hift, Noise(hift, 7)), [], 0
    for count in cuts:
        parts.append(np.array(source.push(f0[at : at + count])))
        at += count
        assert sum(map(len, parts)) == max(0, 480 * at - 240)
    parts.append(np.array(source.push(f0[:0], last=True)))
    assert np.abs(np.concatenate(parts) - whole).max() < 1e-6


def test_what_is_made_in_several_goes_is_one(hift, monkeypatch):
    f0 = pitch(70)
    whole = np.array(excite(hift, f0, Noise(hift, 1)))
    monkeypatch.setattr("cosyvoice2.source.MAX_FRAMES_AT_ONCE", 16)
    assert MAX_FRAMES_AT_ONCE > 70
    assert np.abs(np.array(excite(hift, f0, Noise(hift, 1))) - whole).max() < 1e-6


class TestNoise:
    def test_a_frame_s_draw_depends_on_no_other(self, hift):
        noise = Noise(hift, 3)
        whole = noise.halves(0, 5 * NOISE_BLOCK)
        assert whole.shape == (5 * NOISE_BLOCK, 240, 9)
        for start, stop in (
            (0, 1),
            (2 * NOISE_BLOCK - 1, 2 * NOISE_BLOCK + 1),
            (10, 4 * NOISE_BLOCK + 3),
        ):
            assert mx.array_equal(noise.halves(start, stop), whole[start:stop])

    def test_seeds_and_blocks_have_draws_of_their_own(self, hift):
        one, two = (np.array(Noise(hift, seed).halves(0, 4 * NOISE_BLOCK)) for seed in (1, 2))
        assert not np.array_equal(one, two)
        assert not np.array_equal(one[: 2 * NOISE_BLOCK], one[2 * NOISE_BLOCK :])
        assert abs(one.mean()) < 0.01
        assert one.std() == pytest.approx(1, abs=0.01)

    def test_given_noise_that_ends_too_soon_is_refused(self, hift):
        noise = Noise(hift, numbers=np.zeros((480, 9), np.float32))
        assert noise.halves(0, 2).shape == (2, 240, 9)
        with pytest.raises(RequestError, match="ends before the mel does"):
            noise.halves(1, 3)
