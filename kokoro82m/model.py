"""Speaks requests in batches.

Durations determine the memory of a row, so requests take two passes: tokens to durations, then
frames to samples, each in batches of rows of similar length. Which rows share a batch changes no
more than the last bits. A CPU gains nothing from batches, and takes each row alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np

from kokoro82m.checkpoint import Checkpoint, load_checkpoint
from kokoro82m.config import FRAME_SAMPLES, PITCH_STEPS, SAMPLE_RATE, Config
from kokoro82m.layers import Rows
from kokoro82m.network import DecoderInput, Network, find_durations
from kokoro82m.noise import draw_noise, merge_noise
from kokoro82m.speech import Request, Speech, check_request
from speechbase.device import CACHE_LIMIT, memory_left, on_cuda, on_gpu, settle
from speechbase.errors import RequestError

MAX_BATCH_TOKENS, MAX_BATCH_FRAMES, MIN_BATCH_FRAMES = 4096, 2048, 256
"""Steps of a batch on a GPU, padding included; a longer row gets a batch of its own. Frames are
halved while they do not fit the memory, down to the last number."""
GPU_FRAME_BYTES, CPU_FRAME_BYTES = 14_000_000, 1_600_000
"""Bytes that decoding takes per frame of a batch, at most: as MLX counted on an H100, before the
generator evaluated its blocks one by one, and on a CPU. Metal is assumed to take what CUDA takes;
it has not been measured."""
GPU_MEMORY_SHARE = 0.8
"""Share of a GPU's free memory that a batch may take."""
HALF_MINUTE_FRAMES = 1200
"""Frames of 30 s, the rows that `estimate_bytes` assumes."""
LENGTH_MULTIPLE = 16
"""Rows are padded to a multiple of this on CUDA, where each new shape costs time."""


@dataclass(frozen=True, slots=True, eq=False)
class TimedText:
    """A request with its predicted durations."""

    request: Request
    durations: np.ndarray  # (T,) frames
    prosody: mx.array  # (T or more, hidden + style): padding is not cut off
    text: mx.array  # (T or more, hidden)

    @property
    def frames(self) -> int:
        return int(self.durations.sum())


class Kokoro82M:
    """A loaded model."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        mx.set_cache_limit(CACHE_LIMIT)
        self.config: Config = checkpoint.config
        self.path = checkpoint.path
        self.revision = checkpoint.revision  # the hub's commit; None for a directory
        self.network: Network = checkpoint.network

    @classmethod
    def load(cls, path: str | Path, dtype: Any = None) -> Kokoro82M:
        """As `kokoro82m.load`."""
        return cls(load_checkpoint(path, dtype))

    @property
    def sample_rate(self) -> int:
        """Sample rate of the speech, Hz."""
        return SAMPLE_RATE

    def speak(self, requests: Iterable[Request]) -> list[Speech]:
        """Speaks each request, in order.

        Raises RequestError before anything is computed, but for noise that is too short, which is
        found once durations are known.
        """
        rows = list(requests)
        for request in rows:
            check_request(request, self.config.num_tokens, self.config.albert.max_positions)
        texts: dict[int, TimedText] = {}
        for batch in plan_batches(
            [len(row.tokens) for row in rows], MAX_BATCH_TOKENS if on_gpu() else 0
        ):
            texts |= zip(batch, self._encode([rows[n] for n in batch]), strict=True)
        speech: dict[int, Speech] = {}
        for batch in plan_batches([texts[n].frames for n in range(len(rows))], max_batch_frames()):
            speech |= zip(batch, self._decode([texts[n] for n in batch]), strict=True)
        return [speech[n] for n in range(len(rows))]

    def estimate_bytes(self, rows: int) -> int:
        """Estimates the bytes, besides the weights, of `rows` rows of half a minute.

        On a GPU, of what they take together, which is bounded: a row that is longer than a batch is
        spoken alone, and tried with any number of rows, whatever it takes.
        """
        if not on_gpu():
            return HALF_MINUTE_FRAMES * CPU_FRAME_BYTES
        return min(max_batch_frames(), rows * HALF_MINUTE_FRAMES) * GPU_FRAME_BYTES

    def clear_caches(self) -> None:
        """Frees the memory that MLX keeps for reuse."""
        mx.clear_cache()

    def _encode(self, requests: Sequence[Request]) -> list[TimedText]:
        rows = padded_rows([len(request.tokens) for request in requests])
        ids = np.zeros((len(requests), rows.size), np.int32)
        for row, request in zip(ids, requests, strict=True):
            row[: len(request.tokens)] = request.tokens
        encoded = self.network.encode(mx.array(ids), _styles(requests), rows)
        mx.eval(encoded.prosody, encoded.text, encoded.duration_logits)
        settle()
        logits = np.array(encoded.duration_logits)
        return [
            TimedText(
                request,
                find_durations(logits[n, :length], request.speed),
                encoded.prosody[n],
                encoded.text[n],
            )
            for n, (request, length) in enumerate(zip(requests, rows.lengths, strict=True))
        ]

    def _decode(self, texts: Sequence[TimedText]) -> list[Speech]:
        inputs = self._prepare(texts)
        samples = self.network.decode(inputs)
        mx.eval(samples)
        settle()
        waves, pitch = np.array(samples), np.array(inputs.f0[..., 0])
        return [
            Speech(
                waves[n, : FRAME_SAMPLES * text.frames].copy(),
                text.durations,
                pitch[n, : PITCH_STEPS * text.frames].copy(),
            )
            for n, text in enumerate(texts)
        ]

    def _prepare(self, texts: Sequence[TimedText]) -> DecoderInput:
        rows = padded_rows([text.frames for text in texts])
        style = _styles([text.request for text in texts])
        frame_tokens = [mx.array(_frame_tokens(text.durations, rows.size)) for text in texts]
        frames = list(zip(texts, frame_tokens, strict=True))
        prosody = mx.stack([text.prosody[tokens] for text, tokens in frames])
        f0, energy = self.network.curves(prosody, style, rows)
        mx.eval(f0, energy)
        settle()
        spectrum = self.network.source(np.array(f0[..., 0]), self._noise(texts, rows), rows)
        encoded = mx.stack([text.text[tokens] for text, tokens in frames])
        return DecoderInput(encoded, f0, energy, spectrum, style, rows)

    def _noise(self, texts: Sequence[TimedText], rows: Rows) -> mx.array:
        """Returns the noise of each row (B, 600F). Raises RequestError."""
        noise = np.zeros((len(texts), FRAME_SAMPLES * rows.size), np.float32)
        weight = np.array(self.network.decoder.generator.m_source.l_linear.weight[0])
        for row, text in zip(noise, texts, strict=True):
            count, request_noise = FRAME_SAMPLES * text.frames, text.request.noise
            if request_noise is None:
                row[:count] = draw_noise(text.request.seed, count)
            elif len(request_noise) >= count:
                row[:count] = merge_noise(request_noise[:count], weight)
            else:
                raise RequestError(
                    f"noise has {len(request_noise)} rows; the speech has {count} samples"
                )
        return mx.array(noise)


def plan_batches(lengths: Sequence[int], max_steps: int) -> list[list[int]]:
    """Groups the indices of rows of these lengths into batches, the longest rows first.

    A batch has at most `max_steps` steps, with its rows padded to the longest; a row that is longer
    than that gets a batch of its own.
    """
    batches: list[list[int]] = []
    for row in sorted(range(len(lengths)), key=lambda place: -lengths[place]):
        if batches and lengths[batches[-1][0]] * (len(batches[-1]) + 1) <= max_steps:
            batches[-1].append(row)
        else:
            batches.append([row])
    return batches


def max_batch_frames() -> int:
    """Returns the frames of a batch, padding included, that fit the memory; 0 on a CPU."""
    if not on_gpu():
        return 0
    frames, free_bytes = MAX_BATCH_FRAMES, memory_left()
    if free_bytes is not None:
        batch_bytes = GPU_MEMORY_SHARE * free_bytes
        while frames > MIN_BATCH_FRAMES and frames * GPU_FRAME_BYTES > batch_bytes:
            frames //= 2
    return frames


def padded_rows(lengths: Sequence[int]) -> Rows:
    """Pads rows to the longest, on CUDA to a multiple of steps."""
    longest = max(lengths)
    return Rows(lengths, -(-longest // LENGTH_MULTIPLE) * LENGTH_MULTIPLE if on_cuda() else longest)


def _styles(requests: Sequence[Request]) -> mx.array:
    """Returns the styles (B, 1, 256)."""
    return mx.array(np.stack([request.style for request in requests]).astype(np.float32))[:, None]


def _frame_tokens(durations: np.ndarray, size: int) -> np.ndarray:
    """Returns the token index of each frame (size,), 0 beyond the end."""
    tokens = np.zeros(size, np.int32)
    tokens[: durations.sum()] = np.repeat(np.arange(len(durations)), durations)
    return tokens
