"""Decodes rows of mel to samples in windows, which serve batches, streams and bounded memory.

A frame's samples depend on `reach` frames on either side. So rows are cut into windows with
margins; windows of equal length are decoded as one batch, and only their middles are used. A window
at an end of a row has no margin there, but a longer middle, so all windows have the same length. A
row shorter than a window is decoded in one piece. The samples equal those of each row decoded alone
in one piece, but for the last bits.

As margins are computed twice, windows on a CPU are as long as memory allows. A GPU waits for
launches, so that it is better to cut rows of different lengths into windows of one length; the
cheapest length is chosen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import numpy as np

from cosyvoice2.arrays import float_array
from cosyvoice2.config import MELS
from cosyvoice2.hift import PITCH_LAYERS, HiFT, reach
from cosyvoice2.source import Noise, Source, excite
from speechbase.device import memory_left, on_gpu, settle
from speechbase.errors import RequestError

LENGTHS = (96, 128, 192, 256, 384)
"""Candidate lengths of a window in frames, besides the lengths of short rows."""
LAUNCH_FRAMES = 32
"""Frames that a GPU decodes in the time of launching a window: 7 on an M1, 100 on an H100."""
MAX_FRAMES_TOGETHER, MIN_FRAMES_TOGETHER = 1024, 128
"""Frames that a GPU decodes at once, at most and at least."""
LAYERS_AT_ONCE = 53
"""Outputs of the widest layer in memory at once: 50 to 52 by MLX's count on a CPU, eleven of them
the gathered inputs of the widest convolution. A frame of the shipped sizes takes 1.6 MB."""
MIN_SPEED, MAX_SPEED = 0.25, 4.0

Run = Callable[..., mx.array]
"""Arrays (windows, frames, ...) -> (windows, frames, ...)."""


@dataclass(frozen=True, slots=True, eq=False)
class MelRow:
    """A row to decode: its `mel` (frames, 80), and optional `pitch` and `noise`.

    `pitch` in Hz (frames,) and `noise` (480 * frames, 9) count the frames after `speed` is applied.
    By default the pitch is predicted from the mel, and the noise is drawn from `seed`.
    """

    mel: Any
    pitch: Any = None
    noise: Any = None
    seed: int = 0  # 0 to 2**32 - 1
    speed: float = 1.0


def vocode(hift: HiFT, rows: Sequence[MelRow]) -> list[np.ndarray]:
    """Decodes each row to float32 samples (480 * frames,), with frames = int(len(mel) / speed).

    A row without frames has no samples. Raises RequestError.
    """
    mels = [resize_mel(float_array("mel", row.mel, (-1, MELS)), row.speed) for row in rows]
    noises = [
        make_noise(hift, row.seed, row.noise, len(mel)) for row, mel in zip(rows, mels, strict=True)
    ]
    pitches: list[np.ndarray | None] = [
        None if row.pitch is None else float_array("pitch", row.pitch, (len(mel),))
        for row, mel in zip(rows, mels, strict=True)
    ]
    missing = [n for n, pitch in enumerate(pitches) if pitch is None]
    for n, pitch in zip(missing, predict_pitch(hift, [mels[n] for n in missing]), strict=True):
        pitches[n] = pitch
    sources = [
        excite(hift, pitch, noise)
        for pitch, noise in zip(pitches, noises, strict=True)
        if pitch is not None
    ]
    return decode(hift, mels, sources)


def predict_pitch(hift: HiFT, mels: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Predicts the fundamental frequency in Hz (frames,) of each mel (frames, 80)."""
    hift.ready()
    rows = [(mx.array(mel),) for mel in mels]
    return _run_in_windows(hift.pitch, rows, PITCH_LAYERS, (), MAX_FRAMES_TOGETHER)


def decode(
    hift: HiFT, mels: Sequence[np.ndarray], sources: Sequence[mx.array | np.ndarray]
) -> list[np.ndarray]:
    """Decodes each mel (frames, 80) and its source (480 * frames,) to samples (480 * frames,)."""
    hift.ready()
    frame = hift.config.frame
    rows = [
        (mx.array(mel), mx.array(source).reshape(len(mel), frame))
        for mel, source in zip(mels, sources, strict=True)
    ]

    def run(mel: mx.array, source: mx.array) -> mx.array:
        samples = hift.decode(mel, source.reshape(len(source), -1))
        return samples.reshape(source.shape)

    max_frames = frames_together(hift.widest)
    frames = _run_in_windows(run, rows, reach(hift.config), (frame,), max_frames)
    return [samples.reshape(-1) for samples in frames]


# ---- windows


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of a row from frame `start`, of which frames `begin` to `end` are used."""

    start: int
    begin: int
    end: int


def windows(frames: int, length: int, margin: int) -> Iterator[Window]:
    """Yields windows of `length` frames, or a single one for a row with fewer frames."""
    begin = 0
    if 0 < frames <= length:
        yield Window(0, 0, frames)
        return
    while begin < frames:
        start = min(max(begin - margin, 0), frames - length)
        end = frames if start + length == frames else start + length - margin
        yield Window(start, begin, end)
        begin = end


def window_length(rows: Sequence[int], margin: int) -> int:
    """Returns the cheapest length of windows for rows of these lengths in frames."""
    launch_cost = LAUNCH_FRAMES if on_gpu() else 0

    def cost(length: int) -> int:
        decoded_frames = sum(
            min(frames, length) * len(list(windows(frames, length, margin))) for frames in rows
        )
        return decoded_frames + launch_cost * len({min(frames, length) for frames in rows})

    row_lengths = {frames for frames in rows if 2 * margin < frames <= LENGTHS[-1]}
    return min(sorted(row_lengths.union(LENGTHS)), key=cost)


def frames_together(frame_numbers: int) -> int:
    """Returns the frames to decode at once on a GPU, for the memory that is free.

    `frame_numbers` is the size of the widest layer's output for a frame.
    """
    frames, free_bytes = MAX_FRAMES_TOGETHER, memory_left()
    while (
        free_bytes is not None
        and frames > MIN_FRAMES_TOGETHER
        and 4 * LAYERS_AT_ONCE * frame_numbers * frames > free_bytes
    ):
        frames //= 2
    return frames


def estimate_bytes(hift: HiFT) -> int:
    """Estimates the bytes, besides the weights, that decoding takes."""
    frames = frames_together(hift.widest) if on_gpu() else LENGTHS[-1]
    return 4 * LAYERS_AT_ONCE * hift.widest * frames


def _run_in_windows(
    run: Run,
    rows: Sequence[tuple[mx.array, ...]],
    margin: int,
    shape: tuple[int, ...],
    max_frames: int,
) -> list[np.ndarray]:
    """Runs rows of arrays (frames, ...) through `run` in windows.

    Returns an array (frames, *shape) float32 for each row.
    """
    lengths = [len(row[0]) for row in rows]
    outputs = [np.empty((frames, *shape), np.float32) for frames in lengths]
    length = window_length(lengths, margin)
    windows_by_size: dict[int, list[tuple[int, Window]]] = defaultdict(list)
    for n, frames in enumerate(lengths):
        for window in windows(frames, length, margin):
            windows_by_size[min(frames, length)].append((n, window))
    for size, size_windows in windows_by_size.items():
        batch_size = max(1, max_frames // size) if on_gpu() else 1
        for batch in (
            size_windows[start : start + batch_size]
            for start in range(0, len(size_windows), batch_size)
        ):
            stretches = [[array[w.start : w.start + size] for array in rows[n]] for n, w in batch]
            decoded = run(*(mx.stack(list(arrays)) for arrays in zip(*stretches, strict=True)))
            mx.eval(decoded)
            settle()
            for (n, w), frames_out in zip(batch, np.array(decoded), strict=True):
                outputs[n][w.begin : w.end] = frames_out[w.begin - w.start : w.end - w.start]
    return outputs


# ---- streams


class VocoderStream:
    """Decodes mel that arrives in pieces, and returns samples as soon as they are final.

    The joined samples equal `vocode` of the complete mel with the same seed or noise. The output
    lags by `reach` frames, one frame for the source and, if the pitch is predicted here, the frames
    that the pitch looks ahead: 22 frames, 0.44 s. The stream stores the phase, the position in the
    noise, and the last frames of mel and source that a window needs.
    """

    def __init__(self, hift: HiFT, *, seed: int = 0, noise: Any = None) -> None:
        self._hift, self._margin = hift, reach(hift.config)
        self._source = Source(hift, make_noise(hift, seed, noise))
        self._mel = np.zeros((0, MELS), np.float32)  # from frame `_begin`
        self._kept_source = np.zeros(0, np.float32)  # the source from there
        self._begin = self._sent = self._pitched = self._frames = 0
        """Frame numbers: the first kept, and how many are decoded, have a pitch, have arrived."""
        self._has_pitch: bool | None = None  # None before the first push

    def push(self, mel: Any, pitch: Any = None) -> np.ndarray:
        """Takes the next frames (n, 80) and optionally their pitch (n,) in Hz; returns samples.

        Raises RequestError, also if only some pushes have a pitch.
        """
        mel = float_array("mel", mel, (-1, MELS))
        f0 = None if pitch is None else float_array("pitch", pitch, (len(mel),))
        if self._has_pitch not in (None, f0 is not None):
            raise RequestError("pitch is given with every push of a stream, or with none")
        self._has_pitch = f0 is not None
        self._mel = np.concatenate([self._mel, mel])
        self._frames += len(mel)
        return self._advance(f0, last=False)

    def finish(self) -> np.ndarray:
        """Ends the stream, and returns the remaining samples."""
        return self._advance(np.zeros(0, np.float32) if self._has_pitch else None, last=True)

    def _advance(self, f0: np.ndarray | None, last: bool) -> np.ndarray:
        f0 = self._predict_settled_pitch(last) if f0 is None else f0
        self._pitched += len(f0)
        source = self._source.push(f0, last)
        mx.eval(source)
        settle()
        self._kept_source = np.concatenate([self._kept_source, np.array(source)])
        frame = self._hift.config.frame
        usable = self._begin + len(self._kept_source) // frame
        end = usable if last else max(self._sent, usable - self._margin)
        if end <= self._sent:
            return np.zeros(0, np.float32)
        count = usable - self._begin
        [samples] = decode(self._hift, [self._mel[:count]], [self._kept_source[: count * frame]])
        settled = samples[(self._sent - self._begin) * frame : (end - self._begin) * frame]
        keep = max(0, end - self._margin) - self._begin
        self._mel, self._kept_source = self._mel[keep:], self._kept_source[keep * frame :]
        self._begin, self._sent = self._begin + keep, end
        return settled

    def _predict_settled_pitch(self, last: bool) -> np.ndarray:
        """Predicts the pitch of the next frames whose neighbours have all arrived."""
        end = self._frames if last else max(self._pitched, self._frames - PITCH_LAYERS)
        if end == self._pitched:
            return np.zeros(0, np.float32)
        start = max(self._begin, self._pitched - PITCH_LAYERS)
        [f0] = predict_pitch(self._hift, [self._mel[start - self._begin :]])
        return f0[self._pitched - start : end - start]


# ---- arguments


def frames_at(speed: float, frames: int) -> int:
    """Returns the number of frames after a mel is resized. Raises RequestError as `resize_mel`."""
    is_number = isinstance(speed, int | float | np.number) and not isinstance(speed, bool)
    if not is_number or not MIN_SPEED <= speed <= MAX_SPEED:
        raise RequestError(f"speed is {speed!r}; it must be from {MIN_SPEED} to {MAX_SPEED:g}")
    return int(frames / float(speed))


def resize_mel(mel: np.ndarray, speed: float) -> np.ndarray:
    """Resizes a mel (frames, 80) to int(frames / speed) frames by linear interpolation.

    Raises RequestError for a speed that is no number from 0.25 to 4.
    """
    frames = frames_at(speed, len(mel))
    if frames in (0, len(mel)):
        return mel[:frames]
    positions = np.maximum((np.arange(frames) + 0.5) * (len(mel) / frames) - 0.5, 0)
    lower = positions.astype(int)
    share = (positions - lower)[:, None].astype(np.float32)
    upper = np.minimum(lower + 1, len(mel) - 1)
    return mel[lower] * (1 - share) + mel[upper] * share


def make_noise(hift: HiFT, seed: int, array_like: Any = None, frames: int = -1) -> Noise:
    """Returns a caller's noise (480 * frames, 9), or the noise of a seed. Raises RequestError."""
    c = hift.config
    if array_like is not None:
        length = -1 if frames == -1 else frames * c.frame
        return Noise(hift, numbers=float_array("noise", array_like, (length, c.harmonics + 1)))
    is_whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if not is_whole or not 0 <= seed < 2**32:
        raise RequestError(f"seed is {seed!r}; it must be a whole number from 0 to 2**32 - 1")
    return Noise(hift, int(seed))
