"""The vocoder's source signal: harmonics of the pitch, and noise, computed as the pitch arrives.

Phases are counted in turns, and summed in float64 on the CPU: over a minute they reach 1e5, where
float32 keeps two decimals. The official random start phase is left out: it is added to the first
sample alone, which the resampling after it never reads. Only the noise is random, and any stretch
of it can be drawn by itself.
"""

from __future__ import annotations

import math

import mlx.core as mx
import numpy as np

from cosyvoice2.hift import HiFT
from speechbase.device import elementwise
from speechbase.errors import RequestError
from speechbase.functions import normal

NOISE_BLOCK = 50
"""Frames of noise drawn at once; the key is the seed and the number of the block."""
MAX_FRAMES_AT_ONCE = 500
"""Frames of the source computed at once, to bound memory."""


class Noise:
    """Standard normal numbers (480 * frames, 9) of a row, drawn from its seed or given by a caller.

    A frame's noise depends neither on the row's length nor on how the row is cut.
    """

    def __init__(self, hift: HiFT, seed: int = 0, numbers: mx.array | np.ndarray | None = None):
        self._half, self._sines = hift.config.frame // 2, hift.config.harmonics + 1
        self._seed, self._numbers = seed, numbers

    def halves(self, start: int, stop: int) -> mx.array:
        """Returns the noise of half frames `start` to `stop`, (halves, samples, sines)."""
        if self._numbers is not None:
            if stop * self._half > len(self._numbers):
                raise RequestError("noise: ends before the mel does; give 480 rows for each frame")
            numbers = mx.array(self._numbers[start * self._half : stop * self._half])
            return numbers.reshape(-1, self._half, self._sines)
        first = start // (2 * NOISE_BLOCK)
        blocks = [self._draw_block(n) for n in range(first, -(-stop // (2 * NOISE_BLOCK)))]
        drawn = blocks[0] if len(blocks) == 1 else mx.concatenate(blocks)
        return drawn[start - first * 2 * NOISE_BLOCK : stop - first * 2 * NOISE_BLOCK]

    def _draw_block(self, number: int) -> mx.array:
        # Seed and block are the two words of the generator's key.
        key = mx.random.key(self._seed << 32 | number)
        drawn = normal((2 * NOISE_BLOCK * self._half, self._sines))(key)
        return drawn.reshape(2 * NOISE_BLOCK, self._half, self._sines)


class Source:
    """The source of one row; several pushes of pitch give the same samples as a single one.

    The phase is interpolated between the middles of frames, so the second half of a frame waits for
    the frame after it.
    """

    def __init__(self, hift: HiFT, noise: Noise) -> None:
        hift.ready()
        self._hift, self._noise = hift, noise
        self._turns = np.zeros((0, hift.config.harmonics + 1))  # at the last frame's middle
        self._voiced = np.zeros(0, bool)
        self._half_frames = 0  # computed so far

    def push(self, f0: np.ndarray, last: bool = False) -> mx.array:
        """The next pitch in Hz (frames,) -> the samples (n,) that it determines."""
        parts = []
        for start in range(0, max(len(f0), 1), MAX_FRAMES_AT_ONCE):
            stop = start + MAX_FRAMES_AT_ONCE
            parts.append(self._push_block(f0[start:stop], last and stop >= len(f0)))
            if len(f0) > MAX_FRAMES_AT_ONCE:
                mx.eval(parts[-1])
        return parts[0] if len(parts) == 1 else mx.concatenate(parts)

    def _push_block(self, f0: np.ndarray, last: bool) -> mx.array:
        c = self._hift.config
        harmonics = np.arange(1, c.harmonics + 2)
        steps = f0[:, None].astype(np.float64) * harmonics / c.sample_rate % 1 * c.frame
        begin_count = int(
            not len(self._turns)
        )  # 1 at the start of the row, as `last` is at its end
        turns = np.cumsum(np.concatenate([self._turns, steps]), axis=0)
        voiced = np.concatenate([self._voiced, f0 > c.voiced_threshold])
        if not len(turns):
            return mx.zeros((0,))
        # From middle to middle; the phase is constant before the first and after the last.
        no_steps = np.zeros_like(turns[:1])
        start_turns = np.concatenate([turns[:begin_count], turns[:-1], turns[len(turns) - last :]])
        steps = np.concatenate([no_steps[:begin_count], steps[begin_count:], no_steps[:last]])
        is_voiced = np.concatenate([voiced[:begin_count], voiced, voiced[len(voiced) - last :]])
        half_frame_turns = (
            np.stack([start_turns, start_turns + steps / 2], axis=1).reshape(-1, len(harmonics)) % 1
        )
        settled = slice(begin_count, len(half_frame_turns) - last)
        self._turns, self._voiced = turns[-1:], voiced[-1:]
        return self._synthesize(
            half_frame_turns[settled],
            steps.repeat(2, axis=0)[settled],
            np.stack([is_voiced[:-1], is_voiced[1:]], axis=1).reshape(-1)[settled],
        )

    def _synthesize(self, turns: np.ndarray, steps: np.ndarray, voiced: np.ndarray) -> mx.array:
        """Returns the samples (n,) of half frames, from their phases at the beginning."""
        c, start = self._hift.config, self._half_frames
        self._half_frames += len(turns)
        sample_shares = (np.arange(c.frame // 2) + 0.5) / c.frame
        sines = _sines(
            *(mx.array(phases[:, None].astype(np.float32)) for phases in (turns, steps)),
            mx.array(sample_shares[:, None].astype(np.float32)),
            mx.array(voiced[:, None, None].astype(np.float32)),
            self._noise.halves(start, self._half_frames),
            c.alpha,
            c.sigma,
        )
        return mx.tanh(self._hift.m_source.l_linear(sines)).reshape(-1)


@elementwise
def _sines(
    turns: mx.array,
    steps: mx.array,
    sample_shares: mx.array,
    voiced: mx.array,
    noise: mx.array,
    alpha: float,
    sigma: float,
) -> mx.array:
    phase = turns + steps * sample_shares
    sine = alpha * mx.sin((phase - mx.floor(phase)) * (2 * math.pi))
    return sine * voiced + noise * (voiced * sigma + (1 - voiced) * (alpha / 3))


def excite(hift: HiFT, f0: np.ndarray, noise: Noise) -> mx.array:
    """Computes the source (480 * frames,) of a complete row from its pitch in Hz (frames,)."""
    return Source(hift, noise).push(f0, last=True)
