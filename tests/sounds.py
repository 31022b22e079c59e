"""Sounds for tests, made from numbers: the same on every machine."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

RATE = 22050

Samples = NDArray[np.float32]


def tone(seconds: float, *, hertz: float = 1000, peak: float = -20, rate: int = RATE) -> Samples:
    """A sine with its peak in dB full scale."""
    times = np.arange(round(seconds * rate)) / rate
    return (10 ** (peak / 20) * np.sin(2 * np.pi * hertz * times)).astype(np.float32)


def silence(seconds: float, rate: int = RATE) -> Samples:
    return np.zeros(round(seconds * rate), np.float32)


def noise(seconds: float, *, rms: float = -20, rate: int = RATE, seed: int = 1) -> Samples:
    """White noise with its RMS in dB full scale."""
    samples = np.random.default_rng(seed).standard_normal(round(seconds * rate))
    return (10 ** (rms / 20) * samples).astype(np.float32)


def voice(seconds: float, *, rate: int = RATE, seed: int = 0, level: float = -22) -> Samples:
    """Something like speech: a buzz of falling harmonics in syllables, and a hiss between some."""
    return _voice(seconds, rate, seed, level).copy()


@functools.lru_cache(maxsize=32)
def _voice(seconds: float, rate: int, seed: int, level: float) -> Samples:
    draw = np.random.default_rng(seed)
    count = round(seconds * rate)
    times = np.arange(count) / rate
    pitch = 110 + 40 * draw.random() + 15 * np.sin(2 * np.pi * 0.4 * times)
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    buzz = sum(np.sin(n * phase + n * n) / n for n in range(1, 25))
    syllables = np.clip(np.sin(2 * np.pi * 3.1 * times + draw.random()) + 0.4, 0, None)
    hiss = draw.standard_normal(count) * np.clip(np.sin(2 * np.pi * 1.7 * times) - 0.8, 0, None)
    samples = buzz * syllables + 2 * hiss
    samples *= 10 ** (level / 20) / np.sqrt(np.mean(samples**2))
    return np.clip(samples, -1, 1).astype(np.float32)


def buzz(seconds: float, hertz: float, *, seed: int, rate: int = RATE) -> Samples:
    """A voice of one pitch whose higher harmonics come and go; silence at both ends."""
    draw = np.random.default_rng(seed)
    times = np.arange(round(seconds * rate)) / rate
    moments = np.arange(0, times[-1] + 0.2, 0.12)
    first = np.exp(2j * np.pi * hertz * times)
    harmonic, sound = first.copy(), np.zeros(len(times))
    for number in range(1, 40):
        if number < 4:
            sound += harmonic.imag
        else:
            strengths = draw.uniform(0, 2, len(moments)) / number
            sound += harmonic.imag * np.interp(times, moments, strengths)
        harmonic *= first
    edge = np.zeros(round(rate / 10))
    return np.concatenate([edge, 0.03 * sound, edge]).astype(np.float32)


def blocks(samples: Samples, size: int = 65536) -> Iterator[Samples]:
    for start in range(0, len(samples), size):
        yield samples[start : start + size]


def onset(samples: Samples, threshold: float = 0.02) -> int:
    """The first sample that is louder than a threshold."""
    return int(np.argmax(np.abs(samples) > threshold))
