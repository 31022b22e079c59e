"""Encodes references as WAV and decodes answers to samples.

An answer is accepted only in the requested format. Knows no server.
"""

from __future__ import annotations

import io
import re
import struct
from dataclasses import dataclass

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from narrator.engines.server.settings import SoundFormat
from narrator.engines.server.wire import ServerAnswer, Setback, describe_text_answer

Samples = NDArray[np.float32]

UNKNOWN_LENGTH = 0x7FFFF000
"""A length of at least this, or 0, in a header was written before the length was known."""
MAX_PEAK = 8.0
"""A higher peak (18 dB over full scale) means that samples are no sound, or scaled as integers."""
MIN_PEAK = 1e-4
"""A lower peak (-80 dB) means that nothing was said."""

BLOCK_FRAMES = 1 << 16
"""Frames that are decoded at a time."""
MAX_SECONDS = 1800
"""Most seconds in an answer: silence compresses so well that a few bytes could fill the memory."""

_FORMAT_NAMES = {
    b"ID3": "MP3",
    b"OggS": "Ogg",
    b"RIFF": "WAV",
    b"fLaC": "FLAC",
    b"\x1aE\xdf\xa3": "WebM",
    b"\xff\xfb": "MP3",
    b"\xff\xf3": "MP3",
    b"\xff\xf1": "AAC",
}
_CERTAIN_SIGNATURES = tuple(signature for signature in _FORMAT_NAMES if len(signature) > 2)
"""Signatures that are too long to be samples by chance."""
_SIGNATURES = {"wav": b"RIFF", "flac": b"fLaC"}


@dataclass(frozen=True, slots=True)
class ServerSound:
    """Sound of an answer: mono, in [-1, 1], and its rate if the answer states it."""

    samples: Samples
    rate: int | None


def encode_wav(samples: Samples, rate: int) -> bytes:
    """Encodes mono samples as 16-bit WAV, which every server reads."""
    buffer = io.BytesIO()
    soundfile.write(buffer, np.clip(samples, -1, 1), rate, format="WAV", subtype="PCM_16")
    return buffer.getvalue()


def decode_answer(answer: ServerAnswer, expected_format: SoundFormat) -> ServerSound:
    """Decodes an answer in the expected format. Raises Setback for any other, and of the category
    "cut" if the sound is incomplete."""
    if not answer.body:
        raise Setback("bad", "an empty answer")
    if text := describe_text_answer(answer):
        raise Setback("bad", f"{text} instead of sound")
    actual_format = next(
        (name for signature, name in _FORMAT_NAMES.items() if answer.body.startswith(signature)), ""
    )
    if expected_format == "pcm":
        sound = _decode_pcm(answer, actual_format)
    elif not answer.body.startswith(_SIGNATURES[expected_format]):
        name = actual_format or answer.kind or "something"
        raise Setback(
            "bad",
            f"{name} instead of {expected_format.upper()}: set `engine.format` to what the server "
            "has",
        )
    else:
        sound = _decode_wav(answer.body) if expected_format == "wav" else _decode_flac(answer.body)
    if not len(sound.samples):
        raise Setback("bad", "an empty answer")
    peak = float(np.abs(sound.samples).max())
    if not peak <= MAX_PEAK:  # NaN is not
        raise Setback("bad", f"samples up to {peak:.3g} where 1 is full scale")
    if peak < MIN_PEAK:
        raise Setback("bad", "silence instead of speech")
    return sound


def resample(samples: Samples, source: int, target: int) -> Samples:
    if source == target:
        return samples
    resampled: Samples = soxr.resample(samples, source, target, quality="HQ")
    return resampled


def _decode_pcm(answer: ServerAnswer, actual_format: str) -> ServerSound:
    """Decodes raw 16-bit little-endian samples; rate and channels come from HTTP headers."""
    encoding = answer.headers.get("x-audio-encoding", "s16le").lower()
    if encoding != "s16le" or answer.body.startswith(_CERTAIN_SIGNATURES):
        raise Setback("bad", f"{actual_format or encoding} instead of PCM: set `engine.format`")
    if answer.kind in ("audio/mpeg", "audio/mp3", "audio/ogg", "audio/aac", "audio/opus"):
        raise Setback("bad", f"{answer.kind} instead of PCM: set `engine.format`")
    channels = _header_number(answer, "channels") or 1
    if len(answer.body) % (2 * channels):
        raise Setback("cut", "half an answer: it ends within a sample")
    samples = np.frombuffer(answer.body, "<i2").astype(np.float32) / np.float32(32768)
    return ServerSound(_to_mono(samples.reshape(-1, channels)), _header_number(answer, "rate"))


def _header_number(answer: ServerAnswer, quantity: str) -> int | None:
    """Reads the "rate" or the "channels" of raw samples from HTTP headers, or None."""
    name = {"rate": "x-audio-sample-rate", "channels": "x-audio-channels"}[quantity]
    header = answer.headers.get(name, "")
    if not header and (
        match := re.search(rf"{quantity}=(\d+)", answer.headers.get("content-type", ""))
    ):
        header = match[1]
    if not re.fullmatch(r"\d{1,6}", header):
        return None
    low, high = (4000, 384_000) if quantity == "rate" else (1, 8)
    if not low <= int(header) <= high:
        raise Setback("bad", f"a {quantity} of {header}, which no speech has")
    return int(header)


def _to_mono(frames: Samples) -> Samples:
    return frames[:, 0] if frames.shape[1] == 1 else frames.mean(axis=1, dtype=np.float32)


_SAMPLE_TYPES = {(1, 16): "<i2", (1, 32): "<i4", (3, 32): "<f4"}


def _decode_wav(body: bytes) -> ServerSound:
    """Decodes WAV by hand, to notice a header that promises more samples than were sent."""
    format_fields: tuple[int, int, int, int] | None = None
    offset = 12
    while offset + 8 <= len(body):
        name, size = struct.unpack_from("<4sI", body, offset)
        offset += 8
        if name == b"fmt " and offset + 16 <= len(body):
            tag, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", body, offset)
            if tag == 0xFFFE and offset + 26 <= len(body):
                tag = int.from_bytes(body[offset + 24 : offset + 26], "little")
            format_fields = tag, channels, rate, bits
        elif name == b"data":
            return _wav_data(body, offset, size, format_fields)
        offset += size + size % 2
    raise Setback("cut", "half an answer: a WAV without its sound")


def _wav_data(
    body: bytes, offset: int, size: int, format_fields: tuple[int, int, int, int] | None
) -> ServerSound:
    if format_fields is None:
        raise Setback("bad", "a WAV that does not say what it holds")
    tag, channels, rate, bits = format_fields
    dtype = _SAMPLE_TYPES.get((tag, bits))
    if dtype is None or not 1 <= channels <= 8 or not 4000 <= rate <= 384_000:
        raise Setback("bad", f"a WAV of {channels} channels, {bits} bits, {rate} Hz: set "
                      "`engine.format` to another")  # fmt: skip
    available_bytes = len(body) - offset
    frame_bytes = channels * bits // 8
    if size == 0 or size >= UNKNOWN_LENGTH:  # a stream
        size = available_bytes - available_bytes % frame_bytes
    if size > available_bytes:
        raise Setback("cut", f"half an answer: {available_bytes:,} of {size:,} bytes of sound")
    raw = np.frombuffer(body, dtype, size // frame_bytes * channels, offset)
    scale = {"<i2": 2.0**15, "<i4": 2.0**31, "<f4": 1.0}[dtype]
    samples = (raw / scale).astype(np.float32)
    return ServerSound(_to_mono(samples.reshape(-1, channels)), rate)


def _decode_flac(body: bytes) -> ServerSound:
    try:
        with soundfile.SoundFile(io.BytesIO(body)) as file:
            if file.format != "FLAC":
                raise Setback("bad", f"{file.format} instead of FLAC")
            frame_count, rate = file.frames, file.samplerate
            if frame_count >= UNKNOWN_LENGTH:
                return ServerSound(_decode_streamed_flac(body), rate)
            if frame_count > MAX_SECONDS * rate:
                raise Setback("bad", f"more than {MAX_SECONDS // 60} minutes of sound")
            frames = file.read(dtype="float32", always_2d=True)
    except soundfile.LibsndfileError as error:
        raise Setback("cut", f"half an answer: FLAC that breaks off ({error})") from error
    if len(frames) < frame_count:
        raise Setback("cut", f"half an answer: {len(frames):,} of {frame_count:,} samples")
    return ServerSound(_to_mono(frames), rate)


class _UnseekableFile(soundfile.SoundFile):
    """A sound file that is only read forwards; soundfile would seek after each block, which fails
    when the header has no length."""

    def seekable(self) -> bool:
        return False


def _decode_streamed_flac(body: bytes) -> Samples:
    """Decodes FLAC whose header was sent before its length was known. Raises LibsndfileError."""
    blocks, size = list[Samples](), 0
    with _UnseekableFile(io.BytesIO(body)) as file:
        while len(block := file.read(BLOCK_FRAMES, dtype="float32", always_2d=True)):
            blocks.append(_to_mono(block))
            size += len(block)
            if size > MAX_SECONDS * file.samplerate:
                raise Setback("bad", f"more than {MAX_SECONDS // 60} minutes of sound")
    return np.concatenate(blocks) if blocks else np.empty(0, np.float32)
