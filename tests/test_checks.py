from __future__ import annotations

import numpy as np
import pytest

from narrator.checks import check

RATE = 16000


def noise(seconds: float, level: float = 0.1) -> np.ndarray:
    return np.random.default_rng(1).normal(0, level, round(seconds * RATE)).astype(np.float32)


def silence(seconds: float) -> np.ndarray:
    return np.zeros(round(seconds * RATE), np.float32)


def take(*parts: np.ndarray) -> np.ndarray:
    return np.concatenate([silence(0.1), *parts, silence(0.2)])


def kinds(samples: np.ndarray, expected: float, **more: bool) -> list[str]:
    return [fault.kind for fault in check(samples, RATE, expected, **more)]


def test_a_good_take_has_no_faults():
    assert kinds(take(noise(4), silence(0.5), noise(4)), 8) == []


def test_nothing_is_silent():
    assert kinds(np.zeros(0, np.float32), 1) == ["silent"]


def test_silence_is_silent():
    assert kinds(take(noise(4, 1e-5)), 4) == ["silent"]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_samples_that_are_no_numbers_are_found(bad):
    samples = take(noise(4))
    samples[5000] = bad
    assert kinds(samples, 4) == ["finite"]


def test_a_run_at_full_scale_is_clipped():
    samples = take(noise(4))
    samples[8000:8020] = 1.0
    assert kinds(samples, 4) == ["clipped"]


def test_single_full_scale_samples_are_not():
    samples = take(noise(4))
    samples[8000:12000:50] = 1.0
    assert kinds(samples, 4) == []


def test_a_sample_beyond_full_scale_is_clipped():
    samples = take(noise(4))
    samples[8000] = 1.01
    assert kinds(samples, 4) == ["clipped"]


def test_far_too_long_is_found():
    assert kinds(take(noise(30)), 8) == ["long"]


def test_far_too_short_is_found():
    assert kinds(take(noise(2)), 8) == ["short"]


def test_short_words_may_be_short():
    assert kinds(take(noise(0.15)), 0.6) == []


def test_speech_after_long_silence_is_a_runaway():
    assert kinds(take(noise(4), silence(2.5), noise(1)), 8) == ["gap"]


def test_silence_at_the_edges_is_not():
    assert kinds(take(silence(3), noise(8), silence(3)), 8) == []


def test_an_end_in_the_middle_of_a_sound_is_cut():
    assert kinds(np.concatenate([silence(0.1), noise(8)]), 8) == ["cut"]


def test_an_engine_that_stopped_at_its_limit_is_cut():
    assert kinds(take(noise(8)), 8, capped=True) == ["cut"]
