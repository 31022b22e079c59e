"""Reads audio from files or arrays as mono float32 samples, checks, resamples and pads it.

Reads with soundfile, or with PyAV if soundfile cannot. VoxCPM2 needs librosa's result: the mean of
the channels, then soxr's HQ resampler, with the length rounded up. VoxCPM 1.x and CosyVoice2 need
torchaudio's: the same with a windowed sinc. Knows no model and no latents.
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Literal

import av
import mlx.core as mx
import numpy as np
import soundfile
import soxr

from speechbase.errors import AudioError, printable

Source = str | os.PathLike[str] | bytes | BinaryIO | np.ndarray | mx.array | Sequence[float]

MIN_SECONDS = 0.1  # less holds no voice
MIN_PEAK = 1e-4  # peak, -80 dB of full scale
MAX_PEAK = 1e4  # integers that were cast and never scaled reach 32768
MIN_RATE, MAX_RATE = 1000, 768_000  # Hz
MAX_SECONDS = 1800.0  # VoxCPM2 has room for 22 minutes
MAX_SAMPLES = 1 << 27  # of all channels: a small file of silence may unpack to any number
MAX_TAPS = 1 << 24  # in a resampling table; rates without a common divisor would need billions
_TAGS: Any = {"metadata_errors": "replace"} if int(av.__version__.partition(".")[0]) < 19 else {}
"""Options that accept tags which are not UTF-8; PyAV 19 accepts them without an option."""
FORMATS = (
    "aac,ac3,aiff,amr,ape,asf,au,caf,flac,matroska,webm,mov,mp4,m4a,3gp,3g2,mj2,mp3,ogg,tta,w64,"
    "wav,wv"
)
"""Formats that FFmpeg may detect: no playlists, which make it open other files."""


def load(
    source: Source, *, rate: int, sample_rate: int | None = None, sinc: bool = False
) -> np.ndarray:
    """Reads mono float32 samples (n,), resampled to `rate` Hz.

    `source` is as for `read_mono`; arrays without a `sample_rate` are taken to be at `rate`. `sinc`
    resamples as torchaudio does. Raises AudioError as `read_mono`.
    """
    samples, source_rate = read_mono(source, sample_rate=sample_rate, default=rate)
    return resample_audio(samples, source_rate, rate, sinc=sinc)


def resample_audio(
    samples: np.ndarray, source_rate: int, rate: int, *, sinc: bool = False
) -> np.ndarray:
    """Resamples (n,) samples from `source_rate` to `rate` Hz; `sinc` is as for `load`."""
    if source_rate == rate:
        return samples
    is_table_small = source_rate * rate // math.gcd(source_rate, rate) ** 2 <= MAX_TAPS
    return (resample_sinc if sinc and is_table_small else _resample)(samples, source_rate, rate)


def read_mono(
    source: Source, *, sample_rate: int | None = None, default: int | None = None
) -> tuple[np.ndarray, int]:
    """Reads mono float32 samples (n,), the mean of the channels, and their rate in Hz.

    `source` is a path, the bytes of a file, an open binary file, or float samples, (n,) or
    (n, channels), at `sample_rate` Hz (None: at `default`).
    Raises AudioError if it is unreadable, not finite, silent, or shorter than 0.1 s.
    """
    if isinstance(source, np.ndarray | mx.array | list | tuple):
        name = "samples"
        samples = _from_array(source)
        rate: Any = default if sample_rate is None else sample_rate
        if not isinstance(rate, int | np.integer):
            raise AudioError(f"sample_rate is {rate!r}; it must be a whole number of Hz")
    else:
        if sample_rate is not None:
            raise AudioError("sample_rate goes with samples; a file carries its own")
        name, samples, rate = _from_file(source)
    return _checked_mono(name, samples, rate), int(rate)


def _checked_mono(name: str, samples: np.ndarray, rate: int) -> np.ndarray:
    """Returns the mean of the channels. Raises AudioError for samples that hold no voice."""
    if samples.size == 0:
        raise AudioError(f"{name}: holds no audio")
    if not np.isfinite(samples).all():
        raise AudioError(f"{name}: holds values that are not numbers (NaN or infinity)")
    if not MIN_RATE <= rate <= MAX_RATE:
        raise AudioError(f"{name}: a sample rate of {rate} Hz is impossible")
    seconds = samples.shape[0] / rate
    if seconds > MAX_SECONDS:
        raise AudioError(
            f"{name}: {seconds / 60:.0f} minutes of audio; {MAX_SECONDS / 60:.0f} are the most, "
            "and 8 to 15 seconds are enough for a voice"
        )
    if seconds < MIN_SECONDS:
        raise AudioError(
            f"{name}: {1000 * seconds:.0f} ms of audio is too short; give {MIN_SECONDS} s or more"
        )
    mixed = samples if samples.ndim == 1 else samples.mean(axis=1)
    if np.abs(mixed - mixed.mean(dtype=np.float64)).max() < MIN_PEAK:
        raise AudioError(f"{name}: is silent; give a recording in which somebody speaks")
    if np.abs(mixed).max() > MAX_PEAK:
        raise AudioError(f"{name}: peaks at {np.abs(mixed).max():.3g}; full scale is 1")
    return mixed


def pad(samples: np.ndarray, multiple: int, side: Literal["left", "right"]) -> np.ndarray:
    """Pads `samples` (n,) with zeros to a multiple: left for a prompt, right for a reference."""
    missing = -samples.size % multiple
    return np.pad(samples, (missing, 0) if side == "left" else (0, missing))


def _from_array(source: np.ndarray | mx.array | Sequence[float]) -> np.ndarray:
    if isinstance(source, mx.array):
        samples = np.array(source.astype(mx.float32))
    else:
        try:
            samples = np.asarray(source)
        except ValueError:
            raise AudioError("samples: rows of unequal length") from None
    if samples.dtype.kind != "f":
        raise AudioError(f"samples: expected floats between -1 and 1, found {samples.dtype}")
    if samples.ndim not in (1, 2) or (
        samples.ndim == 2 and samples.shape[1] > samples.shape[0] > 0
    ):
        raise AudioError(f"samples: expected shape (n,) or (n, channels), found {samples.shape}")
    return samples.astype(np.float32)


def _from_file(source: Any) -> tuple[str, np.ndarray, int]:
    """Reads a path, the bytes of a file, or an open file; returns name, samples and rate."""
    file: str | BinaryIO
    if isinstance(source, bytes):
        name, file = "audio bytes", io.BytesIO(source)
    elif isinstance(source, str | os.PathLike):
        name = file = os.fspath(source)
        if not Path(file).is_file():
            raise AudioError(f"{name}: no such file")
    elif hasattr(source, "read") and hasattr(source, "seek"):
        name, file = str(getattr(source, "name", "audio file")), source
    else:  # soundfile would take a number for a file descriptor
        raise AudioError(f"audio is a file or samples, not {type(source).__name__}")
    try:
        with soundfile.SoundFile(file) as audio_file:
            _check_size(name, audio_file.frames * audio_file.channels)
            samples, rate = audio_file.read(dtype="float32"), audio_file.samplerate
    # TypeError: soundfile's for a name that ends in .raw
    except (soundfile.LibsndfileError, TypeError, ValueError, OSError):
        samples, rate = _read_with_av(file, name)
    return name, samples, rate


def _check_size(name: str, sample_count: int) -> None:
    if sample_count > MAX_SAMPLES:
        raise AudioError(
            f"{name}: holds {sample_count} samples, {MAX_SAMPLES} are the most; 8 to 15 seconds "
            "are enough for a voice"
        )


def _read_with_av(file: str | BinaryIO, name: str) -> tuple[np.ndarray, int]:
    """Reads a path or an open file with PyAV. Raises AudioError."""
    try:
        if isinstance(file, str):
            with Path(file).open("rb") as stream:
                return _decode_with_av(stream, name)
        file.seek(0)
        return _decode_with_av(file, name)
    except (av.FFmpegError, OSError, ValueError, OverflowError) as error:
        raise AudioError(f"{name}: cannot be read as audio: {printable(str(error))}") from error


def _decode_with_av(file: BinaryIO, name: str) -> tuple[np.ndarray, int]:
    """Decodes the first audio stream with PyAV to float32 (n, channels) and its rate in Hz."""
    open_options = {"protocol_whitelist": "none", "format_whitelist": FORMATS}
    with av.open(file, mode="r", options=open_options, **_TAGS) as container:
        if not container.streams.audio:
            raise AudioError(f"{name}: holds no audio")
        stream = container.streams.audio[0]
        layout, rate = stream.layout.name, stream.rate
        resampler = av.AudioResampler(format="fltp", layout=layout, rate=rate)
        frames, sample_count = [], 0
        for frame in chain(container.decode(stream), [None]):
            for part in resampler.resample(frame):
                frames.append(part.to_ndarray())
                sample_count += frames[-1].size
            _check_size(name, sample_count)
    if not frames:
        return np.zeros((0, 1), np.float32), rate
    return np.concatenate(frames, axis=1).T, rate


def _resample(samples: np.ndarray, orig: int, target: int) -> np.ndarray:
    """As librosa.resample: soxr HQ, cut or filled with zeros to ceil(n * target / orig)."""
    length = math.ceil(samples.size * (target / orig))
    resampled = soxr.resample(samples, orig, target, quality="HQ")[:length]
    return np.pad(resampled, (0, length - resampled.size))


def resample_sinc(samples: np.ndarray, orig: int, target: int) -> np.ndarray:
    """As torchaudio.functional.resample: Hann-windowed sinc, 6 zero crossings, rolloff 0.99."""
    crossings, rolloff = 6, 0.99
    divisor = math.gcd(orig, target)
    orig, target = orig // divisor, target // divisor
    cutoff = min(orig, target) * rolloff
    width = math.ceil(crossings * orig / cutoff)
    taps = np.arange(-width, width + orig) / orig
    phases = -np.arange(target)[:, None] / target
    t = np.clip((phases + taps) * cutoff, -crossings, crossings)
    kernels = np.sinc(t) * np.cos(t * np.pi / crossings / 2) ** 2 * (cutoff / orig)
    padded = np.pad(samples, (width, width + orig))
    windows = np.lib.stride_tricks.sliding_window_view(padded, taps.size)[::orig]
    resampled = windows @ kernels.astype(np.float32).T
    return resampled.reshape(-1)[: math.ceil(samples.size * target / orig)]
