"""Sound as it travels: references to WAV, answers to samples.

An answer is taken only in the format that was asked for; what FFmpeg could make of others, nobody
asked for. Knows no server.
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
from narrator.engines.server.wire import Setback, WholeAnswer, sort_of

Samples = NDArray[np.float32]

UNSAID = 0x7FFFF000
"""A length in a header from here on, or none, was written before the sound was there."""
LOUDEST = 8.0
"""A peak (18 dB over full scale) beyond which samples are no sound, or scaled as integers."""
INAUDIBLE = 1e-4
"""A peak (-80 dB) under which nothing was said."""

BLOCK = 1 << 16
"""Frames that are unpacked at a time."""
LONGEST = 1800
"""Seconds in an answer at most: silence packs so well that few bytes fill the memory."""

_KINDS = {
    b"ID3": "MP3",
    b"OggS": "Ogg",
    b"RIFF": "WAV",
    b"fLaC": "FLAC",
    b"\x1aE\xdf\xa3": "WebM",
    b"\xff\xfb": "MP3",
    b"\xff\xf3": "MP3",
    b"\xff\xf1": "AAC",
}
_SURE = tuple(begin for begin in _KINDS if len(begin) > 2)
"""Two bytes may as well be a sample."""
_BEGINS = {"wav": b"RIFF", "flac": b"fLaC"}


@dataclass(frozen=True, slots=True)
class ServerSound:
    """What an answer holds: mono, in [-1, 1], and its rate where the answer says it."""

    samples: Samples
    rate: int | None


def as_wav(samples: Samples, rate: int) -> bytes:
    """Mono samples as WAV, 16 bits: what every server reads."""
    file = io.BytesIO()
    soundfile.write(file, np.clip(samples, -1, 1), rate, format="WAV", subtype="PCM_16")
    return file.getvalue()


def heard(answer: WholeAnswer, asked: SoundFormat) -> ServerSound:
    """The sound of an answer in the format that was asked for. Raises Setback for any other,
    "cut" where it is not all there."""
    if not answer.body:
        raise Setback("bad", "an empty answer")
    if text := sort_of(answer):
        raise Setback("bad", f"{text} instead of sound")
    found = next((kind for begin, kind in _KINDS.items() if answer.body.startswith(begin)), "")
    if asked == "pcm":
        sound = _pcm(answer, found)
    elif not answer.body.startswith(_BEGINS[asked]):
        raise Setback("bad", f"{found or answer.kind or 'something'} instead of {asked.upper()}: "
                      "set `engine.format` to what the server has")  # fmt: skip
    else:
        sound = _wav(answer.body) if asked == "wav" else _flac(answer.body)
    if not len(sound.samples):
        raise Setback("bad", "an empty answer")
    peak = float(np.abs(sound.samples).max())
    if not peak <= LOUDEST:  # NaN is not
        raise Setback("bad", f"samples up to {peak:.3g} where 1 is full scale")
    if peak < INAUDIBLE:
        raise Setback("bad", "silence instead of speech")
    return sound


def at_rate(samples: Samples, source: int, target: int) -> Samples:
    if source == target:
        return samples
    made: Samples = soxr.resample(samples, source, target, quality="HQ")
    return made


def _pcm(answer: WholeAnswer, found: str) -> ServerSound:
    """16 bits, little-endian. It has no header: those of HTTP say what they say."""
    encoding = answer.headers.get("x-audio-encoding", "s16le").lower()
    if encoding != "s16le" or answer.body.startswith(_SURE):
        raise Setback("bad", f"{found or encoding} instead of PCM: set `engine.format`")
    if answer.kind in ("audio/mpeg", "audio/mp3", "audio/ogg", "audio/aac", "audio/opus"):
        raise Setback("bad", f"{answer.kind} instead of PCM: set `engine.format`")
    channels = _number(answer, "channels") or 1
    if len(answer.body) % (2 * channels):
        raise Setback("cut", "half an answer: it ends within a sample")
    samples = np.frombuffer(answer.body, "<i2").astype(np.float32) / np.float32(32768)
    return ServerSound(_mono(samples.reshape(-1, channels)), _number(answer, "rate"))


def _number(answer: WholeAnswer, what: str) -> int | None:
    """The rate or the channels of raw samples, as headers say them, where they make sense."""
    name = {"rate": "x-audio-sample-rate", "channels": "x-audio-channels"}[what]
    said = answer.headers.get(name, "")
    if not said and (found := re.search(rf"{what}=(\d+)", answer.headers.get("content-type", ""))):
        said = found[1]
    if not re.fullmatch(r"\d{1,6}", said):
        return None
    low, high = (4000, 384_000) if what == "rate" else (1, 8)
    if not low <= int(said) <= high:
        raise Setback("bad", f"a {what} of {said}, which no speech has")
    return int(said)


def _mono(frames: Samples) -> Samples:
    return frames[:, 0] if frames.shape[1] == 1 else frames.mean(axis=1, dtype=np.float32)


_WIDTHS = {(1, 16): "<i2", (1, 32): "<i4", (3, 32): "<f4"}


def _wav(body: bytes) -> ServerSound:
    """Read by hand, since a header that promises more than there is shows half an answer."""
    shape: tuple[int, int, int, int] | None = None
    at = 12
    while at + 8 <= len(body):
        name, size = body[at : at + 4], int.from_bytes(body[at + 4 : at + 8], "little")
        at += 8
        if name == b"fmt " and at + 16 <= len(body):
            tag, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", body, at)
            if tag == 0xFFFE and at + 26 <= len(body):
                tag = int.from_bytes(body[at + 24 : at + 26], "little")
            shape = tag, channels, rate, bits
        elif name == b"data":
            return _wav_data(body, at, size, shape)
        at += size + size % 2
    raise Setback("cut", "half an answer: a WAV without its sound")


def _wav_data(
    body: bytes, at: int, size: int, shape: tuple[int, int, int, int] | None
) -> ServerSound:
    if shape is None:
        raise Setback("bad", "a WAV that does not say what it holds")
    tag, channels, rate, bits = shape
    kind = _WIDTHS.get((tag, bits))
    if kind is None or not 1 <= channels <= 8 or not 4000 <= rate <= 384_000:
        raise Setback("bad", f"a WAV of {channels} channels, {bits} bits, {rate} Hz: set "
                      "`engine.format` to another")  # fmt: skip
    there = len(body) - at
    frame = channels * bits // 8
    if size == 0 or size >= UNSAID:  # a stream: its header was sent before its length was known
        size = there - there % frame
    if size > there:
        raise Setback("cut", f"half an answer: {there:,} of {size:,} bytes of sound")
    raw = np.frombuffer(body, kind, size // frame * channels, at)
    scale = {"<i2": 2.0**15, "<i4": 2.0**31, "<f4": 1.0}[kind]
    samples = (raw / scale).astype(np.float32)
    return ServerSound(_mono(samples.reshape(-1, channels)), rate)


def _flac(body: bytes) -> ServerSound:
    try:
        with soundfile.SoundFile(io.BytesIO(body)) as file:
            if file.format != "FLAC":
                raise Setback("bad", f"{file.format} instead of FLAC")
            promised, rate = file.frames, file.samplerate
            if promised >= UNSAID:
                return ServerSound(_streamed(body), rate)
            if promised > LONGEST * rate:
                raise Setback("bad", f"more than {LONGEST // 60} minutes of sound")
            frames = file.read(dtype="float32", always_2d=True)
    except soundfile.LibsndfileError as error:
        raise Setback("cut", f"half an answer: FLAC that breaks off ({error})") from error
    if len(frames) < promised:
        raise Setback("cut", f"half an answer: {len(frames):,} of {promised:,} samples")
    return ServerSound(_mono(frames), rate)


class _Onward(soundfile.SoundFile):
    """Read from its beginning to its end: to an end that no header names nobody can jump, which
    soundfile does after each block of what can be sought."""

    def seekable(self) -> bool:
        return False


def _streamed(body: bytes) -> Samples:
    """FLAC whose header was sent before its length was known. Raises LibsndfileError."""
    blocks, size = list[Samples](), 0
    with _Onward(io.BytesIO(body)) as file:
        while len(block := file.read(BLOCK, dtype="float32", always_2d=True)):
            blocks.append(_mono(block))
            size += len(block)
            if size > LONGEST * file.samplerate:
                raise Setback("bad", f"more than {LONGEST // 60} minutes of sound")
    return np.concatenate(blocks) if blocks else np.empty(0, np.float32)
