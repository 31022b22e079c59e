"""The hiss after the last word of some voices."""

from __future__ import annotations

import numpy as np
import pytest

from narrator.engines.kokoro.hiss import FADE, KEPT, fade_hiss

RATE = 24_000


def speech(*parts: tuple[float, float]) -> np.ndarray:
    """A vowel of half a second, then noise of (seconds, dB relative to the vowel)."""
    noise = np.random.default_rng(0).standard_normal
    vowel = 0.2 * np.sqrt(2) * np.sin(2 * np.pi * 150 * np.arange(RATE // 2) / RATE)
    tails = (0.2 * 10 ** (level / 20) * noise(round(length * RATE)) for length, level in parts)
    return np.concatenate([vowel, *tails]).astype(np.float32)


def test_a_hiss_after_the_last_word_is_faded_out() -> None:
    samples = speech((0.6, -28), (0.3, -66))
    faded = fade_hiss(samples, RATE)
    kept, gone = round((0.5 + KEPT) * RATE), round((0.5 + KEPT + FADE) * RATE)
    np.testing.assert_array_equal(faded[:kept], samples[:kept])
    assert not faded[gone:].any()
    assert len(faded) == len(samples)


@pytest.mark.parametrize(
    "tail",
    [
        pytest.param([(0.25, -12), (0.3, -66)], id="a final s"),
        pytest.param([(0.25, -28), (0.3, -66)], id="a final f"),
        pytest.param([(0.6, -60)], id="silence"),
        pytest.param([], id="nothing"),
    ],
)
def test_other_endings_stay(tail: list[tuple[float, float]]) -> None:
    samples = speech(*tail)
    assert fade_hiss(samples, RATE) is samples


def test_silence_stays() -> None:
    samples = np.zeros(RATE, np.float32)
    assert fade_hiss(samples, RATE) is samples
