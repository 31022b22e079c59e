"""The source: phases, noise where there is no voice, and the spectrum that the generator hears."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest

from kokoro82m.layers import Rows
from kokoro82m.phases import find_phases
from kokoro82m.source import Source
from kokoro82m.stft import analyse, synthesise

N_FFT = 20


def plain_phases(f0: np.ndarray) -> np.ndarray:
    """Turns (samples, 9) of F0 (steps,), as the official code interpolates them, in float64."""
    turns = np.cumsum(f0[:, None] * np.arange(1, 10) / 24000 % 1, axis=0) * 300
    places = (np.arange(300 * len(f0)) + 0.5) / 300 - 0.5
    steps = np.arange(len(f0))
    return np.stack([np.interp(places, steps, harmonic) for harmonic in turns.T], axis=1)


@pytest.fixture
def source() -> Source:
    source = Source()
    source.l_linear.weight = mx.array([[0.5, -0.2, 0.1, 0.3, 0.2, -0.4, 0.1, 0.2, 0.3]])
    source.l_linear.bias = mx.array([0.01])
    return source


def test_sines_follow_the_pitch_of_each_row(source):
    rng = np.random.default_rng(0)
    f0 = rng.uniform(80, 400, (2, 400)).astype(np.float32)
    signal = source(find_phases(f0, [400, 30]), mx.zeros((2, 400 * 300)))
    weight = np.array(source.l_linear.weight[0])
    for row, steps in enumerate((400, 30)):
        sines = 0.1 * np.sin(2 * np.pi * plain_phases(f0[row, :steps].astype(np.float64)))
        expected = np.tanh(sines @ weight + 0.01)
        # Officially rounded to float32 once a step: after 400 steps some 1e-5 turns.
        np.testing.assert_allclose(np.array(signal[row, : 300 * steps]), expected, atol=1e-4)


def test_noise_is_loud_without_a_voice_and_faint_with_one(source):
    f0 = np.array([[10.0, 10.5]], np.float32)  # 10 Hz is not above the threshold
    noise = mx.ones((1, 600))
    plain = source(find_phases(f0, [2]), 0 * noise)
    change = np.arctanh(np.array(source(find_phases(f0, [2]), noise))) - np.arctanh(np.array(plain))
    length = float(mx.linalg.norm(source.l_linear.weight))
    np.testing.assert_allclose(change[0, :300], 0.1 / 3 * length, rtol=1e-3)
    np.testing.assert_allclose(change[0, 300:], 0.003 * length, rtol=1e-2)


@pytest.mark.parametrize("level", [1.0, -1.0, 0.0])
def test_the_phase_at_dc_and_nyquist_is_never_minus_pi(level):
    """A negative constant has a negative sum and, at Nyquist, sums of either sign."""
    rng = np.random.default_rng(1)
    samples = level - 0.3 * np.abs(rng.standard_normal((1, 600))).astype(np.float32)
    spectrum = np.array(analyse(mx.array(samples), Rows([121], 240, 120), N_FFT))
    edges = spectrum[0, :121, [11, 21]]
    assert set(np.unique(edges)) <= {np.float32(0), np.float32(np.pi)}
    assert (edges[0] == (np.float32(np.pi) if level < 0 else edges[0])).all()


def test_a_spectrum_mirrors_each_row_at_its_own_end():
    samples = np.random.default_rng(2).standard_normal((2, 1200)).astype(np.float32)
    spectrum = np.array(analyse(mx.array(samples), Rows([241, 121], 360, 120), N_FFT))
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(N_FFT) / N_FFT)
    for row, count in enumerate((1200, 600)):
        mirrored = np.pad(samples[row, :count], 10, mode="reflect")
        frames = np.lib.stride_tricks.sliding_window_view(mirrored, N_FFT)[::5]
        expected = np.fft.rfft(frames * window)
        ours = spectrum[row, : count // 5 + 1]
        values = ours[:, :11] * np.exp(1j * ours[:, 11:])
        np.testing.assert_allclose(values, expected, atol=1e-5)
        assert (spectrum[row, count // 5 + 1 :] == 0).all()


def test_samples_are_divided_by_the_windows_that_overlap_at_each_rows_end():
    lengths, size = [241, 121], 360
    x = np.random.default_rng(3).standard_normal((2, size, 22)).astype(np.float32)
    samples = np.array(synthesise(mx.array(x), Rows(lengths, size, 120), N_FFT))
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(N_FFT) / N_FFT)
    for row, count in enumerate(lengths):
        loudness, angle = np.split(x[row, :count].astype(np.float64), 2, axis=1)
        frames = np.fft.irfft(np.exp(loudness) * np.exp(1j * np.sin(angle)), N_FFT) * window
        total, squares = np.zeros((2, 5 * (count - 1) + N_FFT))
        for n, frame in enumerate(frames):
            total[5 * n : 5 * n + N_FFT] += frame
            squares[5 * n : 5 * n + N_FFT] += window**2
        expected = (total / np.maximum(squares, 1e-9))[10:-10]
        np.testing.assert_allclose(samples[row, : len(expected)], expected, atol=1e-4)
