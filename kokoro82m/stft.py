"""Short-time Fourier transforms as products with fixed matrices: periodic Hann window, centred.

A window is four hops long. Rows are of different length: what is mirrored, and where fewer windows
overlap, is each row's own end.
"""

from __future__ import annotations

import functools

import mlx.core as mx
import numpy as np

from kokoro82m import windows
from kokoro82m.config import OVERLAPS
from kokoro82m.layers import Rows, pad_time
from speechbase.device import elementwise


@elementwise
def _polar(real: mx.array, imaginary: mx.array, edge: mx.array) -> tuple[mx.array, mx.array]:
    """Returns magnitude and phase.

    At DC and Nyquist the imaginary part is +0, never -0, so that the phase of a negative number is
    pi, never -pi: the generator's output depends on it.
    """
    flat = mx.where(real < 0, np.pi, 0.0)
    phase = mx.where(edge, flat, mx.arctan2(imaginary, real))
    return mx.sqrt(real * real + imaginary * imaginary), phase


@elementwise
def _rectangular(loudness: mx.array, angle: mx.array, mask: mx.array) -> tuple[mx.array, mx.array]:
    magnitude, phase = mx.exp(loudness) * mask, mx.sin(angle)
    return magnitude * mx.cos(phase), magnitude * mx.sin(phase)


def analyse(samples: mx.array, rows: Rows, n_fft: int) -> mx.array:
    """(B, n) -> magnitudes, then phases (B, time, n_fft + 2); zero beyond a row's end.

    `rows` are those of the spectrum, of n / hop + 1 windows.
    """
    half, hop = n_fft // 2, n_fft // OVERLAPS
    places = mx.abs(mx.arange(-half, hop * (rows.size - 1) + half))
    last = hop * (rows.ends - 1) - 1  # a row's last sample
    places = mx.where(places > last, mx.maximum(2 * last - places, 0), places)
    mirrored = mx.take_along_axis(samples, places, axis=1)
    frames = mx.as_strided(mirrored, (len(mirrored), rows.size, n_fft), (mirrored.shape[1], hop, 1))
    real, imaginary = mx.split(frames @ _analysis(n_fft), 2, axis=-1)
    edge = mx.array(np.isin(np.arange(half + 1), (0, half)))
    return mx.concatenate([*_polar(real, imaginary, edge)], axis=-1) * rows.mask


def synthesise(x: mx.array, rows: Rows, n_fft: int) -> mx.array:
    """The generator's last layer (B, frames, n_fft + 2) -> samples (B, (frames - 1) * hop).

    It holds logarithms of magnitudes, then numbers whose sines are phases. Samples beyond a row's
    end mean nothing.
    """
    loudness, angle = mx.split(x, 2, axis=-1)
    spectrum = mx.concatenate([*_rectangular(loudness, angle, rows.mask)], axis=-1)
    spectrum = pad_time(spectrum, 1, 1)  # two windows reach into the first hop from the left
    hops, weights = rows.size - 1, _synthesis(n_fft)
    samples = spectrum[:, :hops] @ weights[0]
    for k in range(1, OVERLAPS):
        samples = mx.addmm(samples, spectrum[:, k : k + hops], weights[k])
    place, (first, last) = mx.arange(hops)[:, None], _edge_gains(n_fft)
    gain = mx.where(place == 0, first, mx.where(place == rows.ends[..., None] - 2, last, 1.0))
    return (samples * gain).reshape(len(x), -1)


# ---- fixed matrices


def _overlap(n_fft: int) -> np.ndarray:
    """(4, hop): squares of the window; their sum over the windows that overlap is 1.5."""
    return (windows.hann(n_fft) ** 2).reshape(OVERLAPS, -1)


@functools.cache
def _analysis(n_fft: int) -> mx.array:
    """(n_fft, n_fft + 2)."""
    return mx.array(windows.analysis(n_fft).astype(np.float32))


@functools.cache
def _synthesis(n_fft: int) -> mx.array:
    """(4, n_fft + 2, hop): of each window that reaches into a hop, the oldest first."""
    parts = (
        windows.synthesis(n_fft).reshape(OVERLAPS, -1, n_fft + 2)[::-1]
        / _overlap(n_fft).sum(axis=0)[:, None]
    )
    return mx.array(parts.transpose(0, 2, 1).astype(np.float32))


@functools.cache
def _edge_gains(n_fft: int) -> tuple[mx.array, mx.array]:
    """(hop,): louder by these are the first and the last hop, where a window is missing."""
    squares = _overlap(n_fft)
    first, last = squares.sum(axis=0) / (squares.sum(axis=0) - squares[[-1, 0]])
    return mx.array(first.astype(np.float32)), mx.array(last.astype(np.float32))
