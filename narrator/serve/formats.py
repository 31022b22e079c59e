"""Sound as the bytes of a format, whole or as it comes."""

from __future__ import annotations

import struct
from typing import Protocol

import numpy as np
import soxr

from narrator.delivery.export.encode import Flow, encoding
from narrator.sound.audio import Samples

FORMATS = ("mp3", "opus", "aac", "flac", "wav", "pcm")
"""As OpenAI has them."""
TYPES = {
    "mp3": "audio/mpeg",
    "opus": "audio/ogg",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": "audio/pcm",
}
PCM_RATE = 24_000
"""Hz of what has no header to say so."""
_CODED = {"aac": "m4b", "mp3": "mp3", "opus": "opus", "flac": "flac"}
"""What books call them."""
_UNKNOWN = 0xFFFFFFFF
"""Bytes of a WAV file that is still being made, as OpenAI and FFmpeg say it."""


class Coder(Protocol):
    """What makes bytes of sound."""

    def feed(self, samples: Samples, last: bool = False) -> bytes:
        """What there is of them now, and was not before; all of it with the last ones."""
        ...


def coder(format: str, rate: int) -> Coder:
    """Of sound at a rate, in Hz."""
    if format in _CODED:
        return Flow(encoding(_CODED[format], rate), rate)
    return _Plain(rate, PCM_RATE) if format == "pcm" else _Wav(rate)


class _Plain:
    """Samples of 16 bits, the lower byte first."""

    def __init__(self, rate: int, wanted: int) -> None:
        self._resample = soxr.ResampleStream(rate, wanted, 1, dtype="float32", quality="HQ")

    def feed(self, samples: Samples, last: bool = False) -> bytes:
        return _sixteen(self._resample.resample_chunk(samples, last=last))


class _Wav:
    """The same behind a header, which knows the length where all comes at once."""

    def __init__(self, rate: int) -> None:
        self._rate, self._begun = rate, False

    def feed(self, samples: Samples, last: bool = False) -> bytes:
        data = _sixteen(samples)
        if self._begun:
            return data
        self._begun = True
        return _header(self._rate, len(data) if last else None) + data


def _sixteen(samples: Samples) -> bytes:
    steps = np.rint(samples * np.float32(32767)).clip(-32768, 32767)
    return steps.astype("<i2").tobytes()


def _header(rate: int, size: int | None) -> bytes:
    """Of one channel; `size` of its samples in bytes, where it is known."""
    whole, part = (_UNKNOWN, _UNKNOWN) if size is None else (size + 36, size)
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, rate, 2 * rate, 2, 16)
    return (
        struct.pack("<4sI4s", b"RIFF", whole, b"WAVE") + form + struct.pack("<4sI", b"data", part)
    )
