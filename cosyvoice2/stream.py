"""Speech while its tokens come: chunk by chunk through flow and vocoder.

`spoken` computes nothing twice, and its chunks together equal the whole: the flow's masks let a
frame see its own second and those before it, and the vocoder's frames wait for what they depend on.

`official` does what the official code does, for comparison: the flow computes all again for each
chunk, the last one without its masks, so that it does not fit the ones before; the vocoder's joints
are faded by halves of a Hamming window, whose sum of 1.08 makes 160 ms of every joint 8 % too loud.
One fault is not among them: there, the length of chunks is never set back, so that every stream
after the first begins late.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import mlx.core as mx
import numpy as np

from cosyvoice2.config import FRAME, LOOK_AHEAD, MELS
from cosyvoice2.flow import TOKEN_FRAMES, FlowRow
from cosyvoice2.sounds import Sounds
from cosyvoice2.source import excite
from cosyvoice2.vocoder import VocoderStream, decode, noise_of, pitch_of
from speechbase.device import settle
from speechbase.errors import RequestError

LONGEST_HOP = 100
"""Tokens of a chunk; the first has 25, each next one twice as many."""
CARRIED = 8
"""Frames of mel that the official vocoder hears again before a chunk, and fades over."""


def spoken(
    sounds: Sounds, row: FlowRow, tokens: Iterable[int], *, seed: int = 0, noise: Any = None
) -> Iterator[np.ndarray]:
    """Samples as the tokens of `row`, which has none yet, come."""
    frames = sounds.flow.stream(row)
    samples = VocoderStream(sounds.vocoder, seed=seed, noise=noise)
    waiting: list[int] = []
    for token in tokens:
        waiting.append(token)
        if len(waiting) >= frames.lacking:
            yield from _some(samples.push(_given(frames.feed(waiting))))
            waiting.clear()
    yield from _some(samples.push(_given(frames.feed(waiting, finalize=True))))
    yield from _some(samples.finish())


def _given(mel: mx.array) -> np.ndarray:
    found = np.array(mel)
    settle()
    return found


def _some(samples: np.ndarray) -> Iterator[np.ndarray]:
    if len(samples):
        yield samples


def official(
    sounds: Sounds,
    row: FlowRow,
    tokens: Iterable[int],
    *,
    hop: int,
    seed: int = 0,
    noises: Iterator[Any] | None = None,
) -> Iterator[np.ndarray]:
    """The same as the official code speaks it; `noises` has one array for each chunk.

    Raises RequestError where they end before the chunks do.
    """
    prompt = len(row.prompt_tokens)
    lead = -prompt % hop
    there: list[int] = []
    done = 0
    vocoder = _OfficialVocoder(sounds, seed, noises)
    for token in tokens:
        there.append(token)
        size = hop + (lead if done == 0 else 0)
        if len(there) - done >= size + LOOK_AHEAD:
            known = np.array(there[: done + size + LOOK_AHEAD], np.int32)
            [made] = sounds.flow.mel([replace(row, tokens=known)], streaming=True, finalize=False)
            yield vocoder.speak(_given(made)[TOKEN_FRAMES * done :], last=False)
            done, hop = done + size, min(LONGEST_HOP, 2 * hop)
    [mel] = sounds.mels([replace(row, tokens=np.array(there, np.int32))])
    yield vocoder.speak(mel[TOKEN_FRAMES * done :], last=True)


class _OfficialVocoder:
    """A chunk at a time, with what it keeps of the one before."""

    def __init__(self, sounds: Sounds, seed: int, noises: Iterator[Any] | None) -> None:
        self._vocoder, self._noises = sounds.vocoder, noises
        self._seeds = itertools.count(seed)  # another one for each chunk
        self._mel = np.zeros((0, MELS), np.float32)
        self._source = self._samples = np.zeros(0, np.float32)

    def speak(self, mel: np.ndarray, *, last: bool) -> np.ndarray:
        mel = np.concatenate([self._mel, mel])
        given = None if self._noises is None else next(self._noises, None)
        if self._noises is not None and given is None:
            raise RequestError("the noise given has ended before the chunks; give more")
        noise = noise_of(self._vocoder, next(self._seeds) % 2**32, given, len(mel))
        [pitch] = pitch_of(self._vocoder, [mel])
        source = np.array(excite(self._vocoder, pitch, noise))
        source[: len(self._source)] = self._source
        [samples] = decode(self._vocoder, [mel], [source])
        held = CARRIED * FRAME
        if len(self._samples):
            rise, fall = np.split(np.hamming(2 * held), 2)
            samples[:held] = samples[:held] * rise + self._samples * fall
        if last:
            return samples
        self._mel = mel[-CARRIED:]
        self._source, self._samples = source[-held:], samples[-held:]
        return samples[:-held]
