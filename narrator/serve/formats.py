"""Encoders of sound to the bytes of a format, complete or as a stream."""

from __future__ import annotations

from typing import Protocol

import soxr

from narrator.delivery.export.encode import Flow, codec_encoding
from narrator.sound.audio import Samples, to_pcm16, wav_header
from narrator.sound.formats import CODECS

MEDIA_TYPES = {name: codec.stream_type for name, codec in CODECS.items() if codec.stream_container}
MEDIA_TYPES |= {"wav": "audio/wav", "pcm": "audio/pcm"}
"""Media types by OpenAI's names of formats."""
FORMATS = tuple(MEDIA_TYPES)
PCM_RATE = 24_000
"""Hz of raw samples, which have no header."""


class SoundEncoder(Protocol):
    """Encodes samples to bytes."""

    def feed(self, samples: Samples, last: bool = False) -> bytes:
        """Encodes samples and returns the new bytes; with the `last` samples all that remain."""
        ...


def make_encoder(format: str, rate: int) -> SoundEncoder:
    """Returns an encoder of sound at a rate in Hz."""
    if format == "wav":
        return _WavEncoder(rate)
    if format == "pcm":
        return _PcmEncoder(rate, PCM_RATE)
    return Flow(codec_encoding(CODECS[format], rate, name=format), rate)


class _PcmEncoder:
    """Encodes raw 16-bit little-endian samples at a fixed rate."""

    def __init__(self, rate: int, target_rate: int) -> None:
        self._resample = soxr.ResampleStream(rate, target_rate, 1, dtype="float32", quality="HQ")

    def feed(self, samples: Samples, last: bool = False) -> bytes:
        return to_pcm16(self._resample.resample_chunk(samples, last=last))


class _WavEncoder:
    """Encodes WAV; its header has the length if all samples come at once."""

    def __init__(self, rate: int) -> None:
        self._rate, self._has_begun = rate, False

    def feed(self, samples: Samples, last: bool = False) -> bytes:
        samples_bytes = to_pcm16(samples)
        if self._has_begun:
            return samples_bytes
        self._has_begun = True
        return wav_header(len(samples) if last else None, self._rate) + samples_bytes
