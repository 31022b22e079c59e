"""What backends share: symbols, noise, requests, and that none of it loads MLX."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kokoro82m
from kokoro82m.noise import draw_noise, merge_noise
from kokoro82m.speech import check_request
from speechbase.errors import RequestError
from tests.kokoro82m.conftest import official_noise

ROOT = Path(__file__).parents[2]
REQUEST = kokoro82m.Request([0, 5, 0], np.zeros(256, np.float32))


def test_the_vocabulary_is_that_of_the_checkpoint(golden):
    config = kokoro82m.read_config(golden.checkpoint)
    assert dict(kokoro82m.VOCABULARY) == dict(config.vocabulary)


def test_phonemes_become_ids_between_pads():
    assert kokoro82m.tokenize("hˈI.") == [0, 50, 156, 25, 4, 0]


def test_unknown_phonemes_are_named_once_each():
    assert kokoro82m.unknown_symbols("a#b#g") == ["#", "g"]
    with pytest.raises(RequestError, match="does not know: # g"):
        kokoro82m.tokenize("a#b#g")


@pytest.mark.parametrize("phonemes", ["", "a" * 511])
def test_a_text_of_no_or_too_many_phonemes_is_refused(phonemes):
    with pytest.raises(RequestError, match="split the text"):
        kokoro82m.tokenize(phonemes)


def test_noise_is_pinned():
    """Changing it changes everybody's takes."""
    first = [-0.13131623, 0.740004, 0.10687269, 0.91593415]
    np.testing.assert_allclose(draw_noise(2024, 4), first, rtol=1e-6)


def test_more_noise_begins_with_the_same():
    assert (draw_noise(7, 1001)[:333] == draw_noise(7, 333)).all()


def test_noise_is_normal_and_that_of_other_seeds_another():
    noise, other = draw_noise(1, 100_000), draw_noise(2, 100_000)
    assert noise.dtype == np.float32
    assert abs(noise.mean()) < 0.01
    assert abs(noise.std() - 1) < 0.01
    assert abs((noise[1:] * noise[:-1]).mean()) < 0.01
    assert abs((noise * other).mean()) < 0.01


def test_official_noise_is_merged_to_unit_variance():
    weight = np.array([3, -1, 2, 0.5, 0, 1, 1, -2, 4], np.float32)
    noise = official_noise(3, 50_000)
    merged = merge_noise(noise, weight)
    np.testing.assert_allclose(merged * np.linalg.norm(weight), noise @ weight, atol=1e-4)
    assert abs(merged.std() - 1) < 0.02


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tokens": [0, 0]}, "2 tokens"),
        ({"tokens": [0] * 513}, "513 tokens"),
        ({"tokens": [0, 178, 0]}, "from 0 to 177"),
        ({"tokens": [0, 1.5, 0]}, "whole numbers"),
        ({"style": np.zeros((1, 256), np.float32)}, "shape"),
        ({"style": np.full(256, np.nan, np.float32)}, "NaN"),
        ({"style": [0.0] * 256}, "NumPy array"),
        ({"style": np.zeros(256, np.int32)}, "of floats"),
        ({"noise": np.zeros((9, 100), np.float32)}, "noise"),
        ({"speed": 0}, "speed"),
        ({"speed": float("nan")}, "speed"),
        ({"speed": True}, "speed"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**64}, "seed"),
    ],
)
def test_impossible_requests_are_refused(change, message):
    check_request(REQUEST, 178, 512)
    with pytest.raises(RequestError, match=message):
        check_request(replace(REQUEST, **change), 178, 512)


def test_what_is_no_request_is_refused():
    text: Any = "hello"
    with pytest.raises(RequestError, match="not str"):
        check_request(text, 178, 512)
