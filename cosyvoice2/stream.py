"""Streams speech chunk by chunk while tokens arrive, through flow and vocoder.

`stream_speech` computes nothing twice, and its chunks join without seams: the flow's masks let a
frame see its own second and the seconds before, and the vocoder waits for all inputs of a frame.

`stream_official` imitates the official code, for comparison. There the flow recomputes everything
for each chunk, and the last chunk without masks, so that it does not fit the chunks before. The
vocoder fades between chunks by halves of a Hamming window, whose sum of 1.08 makes 160 ms of every
seam 8 % too loud. One official fault is left out: the chunk length is never reset, so that every
stream after the first begins late.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import mlx.core as mx
import numpy as np

from cosyvoice2.config import FRAME_SAMPLES, LOOK_AHEAD, MELS
from cosyvoice2.flow import TOKEN_FRAMES, FlowRow
from cosyvoice2.sounds import SpeechDecoder
from cosyvoice2.source import excite
from cosyvoice2.vocoder import VocoderStream, decode, make_noise, predict_pitch
from speechbase.device import settle
from speechbase.errors import RequestError

MAX_HOP = 100
"""Most tokens of a chunk; the first chunk has 25, and each next one twice as many."""
OVERLAP_FRAMES = 8
"""Mel frames of the chunk before that the official vocoder decodes again, and fades over."""


def stream_speech(
    decoder: SpeechDecoder, row: FlowRow, tokens: Iterable[int], *, seed: int = 0, noise: Any = None
) -> Iterator[np.ndarray]:
    """Yields samples as tokens arrive; `row` must hold no tokens yet."""
    frames = decoder.flow.stream(row)
    samples = VocoderStream(decoder.vocoder, seed=seed, noise=noise)
    waiting: list[int] = []
    for token in tokens:
        waiting.append(token)
        if len(waiting) >= frames.missing_tokens:
            yield from _yield_nonempty(samples.push(_to_numpy(frames.feed(waiting))))
            waiting.clear()
    yield from _yield_nonempty(samples.push(_to_numpy(frames.feed(waiting, finalize=True))))
    yield from _yield_nonempty(samples.finish())


def _to_numpy(mel: mx.array) -> np.ndarray:
    array = np.array(mel)
    settle()
    return array


def _yield_nonempty(samples: np.ndarray) -> Iterator[np.ndarray]:
    if len(samples):
        yield samples


def stream_official(
    decoder: SpeechDecoder,
    row: FlowRow,
    tokens: Iterable[int],
    *,
    hop: int,
    seed: int = 0,
    noises: Iterator[Any] | None = None,
) -> Iterator[np.ndarray]:
    """Yields samples as the official code computes them; `noises` has one array for each chunk.

    Raises RequestError if `noises` ends before the chunks do.
    """
    prompt_length = len(row.prompt_tokens)
    first_extra = -prompt_length % hop
    received: list[int] = []
    spoken_count = 0
    vocoder = _OfficialVocoder(decoder, seed, noises)
    for token in tokens:
        received.append(token)
        size = hop + (first_extra if spoken_count == 0 else 0)
        if len(received) - spoken_count >= size + LOOK_AHEAD:
            available = np.array(received[: spoken_count + size + LOOK_AHEAD], np.int32)
            [chunk_mel] = decoder.flow.mel(
                [replace(row, tokens=available)], streaming=True, finalize=False
            )
            yield vocoder.speak(_to_numpy(chunk_mel)[TOKEN_FRAMES * spoken_count :], last=False)
            spoken_count, hop = spoken_count + size, min(MAX_HOP, 2 * hop)
    [mel] = decoder.mels([replace(row, tokens=np.array(received, np.int32))])
    yield vocoder.speak(mel[TOKEN_FRAMES * spoken_count :], last=True)


class _OfficialVocoder:
    """Decodes chunk by chunk, with the end of the chunk before."""

    def __init__(self, decoder: SpeechDecoder, seed: int, noises: Iterator[Any] | None) -> None:
        self._vocoder, self._noises = decoder.vocoder, noises
        self._seeds = itertools.count(seed)  # a new seed for each chunk
        self._mel = np.zeros((0, MELS), np.float32)
        self._source = self._samples = np.zeros(0, np.float32)

    def speak(self, mel: np.ndarray, *, last: bool) -> np.ndarray:
        mel = np.concatenate([self._mel, mel])
        noise_array = None if self._noises is None else next(self._noises, None)
        if self._noises is not None and noise_array is None:
            raise RequestError("the noise given has ended before the chunks; give more")
        noise = make_noise(self._vocoder, next(self._seeds) % 2**32, noise_array, len(mel))
        [pitch] = predict_pitch(self._vocoder, [mel])
        source = np.array(excite(self._vocoder, pitch, noise))
        source[: len(self._source)] = self._source
        [samples] = decode(self._vocoder, [mel], [source])
        overlap = OVERLAP_FRAMES * FRAME_SAMPLES
        if len(self._samples):
            rise, fall = np.split(np.hamming(2 * overlap), 2)
            samples[:overlap] = samples[:overlap] * rise + self._samples * fall
        if last:
            return samples
        self._mel = mel[-OVERLAP_FRAMES:]
        self._source, self._samples = source[-overlap:], samples[-overlap:]
        return samples[:-overlap]
