"""Layers against plain formulas; rows of different length against each alone."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest

from kokoro82m.generator import DownConv, UpConv
from kokoro82m.layers import AdaIN1d, BiLSTM, Conv1d, Pool, Rows, convolve
from tests.voxcpm2.gpu import pretended

LENGTHS = (5, 12, 1)


def random(*shape: int, seed: int = 0) -> mx.array:
    return mx.array(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def assert_close(value: mx.array, expected: mx.array, tolerance: float = 1e-5) -> None:
    np.testing.assert_allclose(np.array(value), np.array(expected), atol=tolerance, rtol=tolerance)


@pytest.fixture
def lstm() -> BiLSTM:
    lstm = BiLSTM(6, 4)
    for n, (name, array) in enumerate(lstm.parameters().items()):
        lstm[name] = random(*array.shape, seed=n)
    return lstm


def run_plainly(lstm: BiLSTM, x: np.ndarray, end: str) -> np.ndarray:
    """(time, inputs) -> (time, hidden), by the definition; gates in the order i, f, g, o."""
    parameters = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    w, r, b, c = (np.array(lstm[name + end], np.float64) for name in parameters)
    h = cell = np.zeros(r.shape[1])
    outputs = []
    for step in x:
        i, f, g, o = np.split(w @ step + b + r @ h + c, 4)
        cell = cell / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
        h = np.tanh(cell) / (1 + np.exp(-o))
        outputs.append(h)
    return np.stack(outputs)


def test_an_lstm_runs_each_row_to_its_own_end_and_back(lstm):
    x = random(3, 12, 6)
    y = np.array(lstm(x, Rows(LENGTHS, 12)))
    for row, length in enumerate(LENGTHS):
        steps = np.array(x[row, :length], np.float64)
        forward = run_plainly(lstm, steps, "")
        backward = run_plainly(lstm, steps[::-1], "_reverse")[::-1]
        both = np.concatenate([forward, backward], axis=1)
        np.testing.assert_allclose(y[row, :length], both, atol=1e-5)
        assert (y[row, length:] == 0).all()


@pytest.mark.parametrize("block", [1, 24])
def test_moments_are_those_of_each_row(block):
    """Whether steps are summed by blocks or at once."""
    lengths, size = [block * length + 1 for length in (2, 4, 0)], 5 * block
    x = 3 + random(3, size, 7)
    moments = Rows(lengths, size, block).moments(x)
    for row, length in enumerate(lengths):
        steps = np.array(x[row, :length])
        np.testing.assert_allclose(np.array(moments.mean[row, 0]), steps.mean(axis=0), rtol=1e-5)
        variance = np.array(moments.variance[row, 0])
        np.testing.assert_allclose(variance, steps.var(axis=0), atol=1e-5)


def test_a_bias_before_an_instance_norm_changes_nothing():
    """Which is why those of such convolutions are not added."""
    norm, rows = AdaIN1d(8, 4), Rows([9, 12], 12)
    x, style = random(2, 12, 4), random(2, 1, 8, seed=1)
    scale, shift = norm(rows.moments(x), style)
    other_scale, other_shift = norm(rows.moments(x + 5), style)
    assert_close(x * scale + shift, (x + 5) * other_scale + other_shift, 1e-4)


@pytest.mark.parametrize(("kernel", "dilation"), [(1, 1), (3, 1), (7, 3), (11, 5)])
@pytest.mark.parametrize("gpu", [None, "metal", "cuda"])
def test_a_convolution_is_the_same_on_every_device(kernel, dilation, gpu):
    conv = Conv1d(3, 5, kernel, dilation=dilation)
    conv.bias = random(5)
    x = random(2, 60, 3)
    padding = dilation * (kernel // 2)
    expected = mx.conv1d(x, conv.weight, 1, padding, dilation) + conv.bias
    if gpu is None:
        conv.lay_out()
        assert_close(conv(x), expected)
        return
    with pretended("metal" if gpu == "metal" else "cuda"):
        assert_close(conv(x), expected)


def test_steps_are_multiplied_as_a_transposed_convolution_does():
    up = UpConv(6, 4, 10)
    up.bias = random(4)
    up.lay_out()
    x = random(2, 7, 6)
    assert_close(up(x), mx.conv_transpose1d(x, up.weight, 10, 5) + up.bias)


def test_steps_are_divided_as_a_strided_convolution_does():
    down = DownConv(4, 5, 6)
    x = random(2, 6 * 8 + 1, 4)
    expected = mx.conv1d(x, down.weight, 6, 3) + down.bias
    padded = mx.pad(x, [(0, 0), (0, 5), (0, 0)])
    assert_close(down(padded)[:, :8], expected)


def test_pooling_is_a_transposed_convolution_of_each_channel():
    """Kernel 3, stride 2, padding 1, an output more at the end."""
    pool = Pool(3)
    pool.weight, pool.bias = random(3, 1, 3), random(3, seed=1)
    x = np.array(random(1, 5, 3, seed=2))[0]
    expected = np.zeros((10, 3)) + np.array(pool.bias)
    for step in range(5):
        for k in range(3):
            if 0 <= (place := 2 * step + k - 1) < 10:
                expected[place] += x[step] * np.array(pool.weight[:, 0, k])
    np.testing.assert_allclose(np.array(pool(mx.array(x[None]))[0]), expected, atol=1e-6)


def test_a_convolution_needs_no_padding_of_its_own():
    x, weight = random(1, 9, 2), random(4, 3, 2, seed=1)
    assert_close(convolve(x, weight), mx.conv1d(x, weight))
