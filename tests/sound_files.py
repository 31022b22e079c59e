"""Sound files and pictures for tests, of any coding, tags and marks."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import soundfile
from numpy.typing import NDArray

from narrator.sound.audio import to_frame
from narrator.sound.mastering import with_room_tone
from tests.sounds import RATE, Samples, blocks, silence, voice

HZ = 44100


def speech(seconds: float = 5.0, level: float = -20.5) -> Samples:
    """A voice at an RMS that ACX takes, its peaks held."""
    sound = np.clip(voice(seconds, rate=HZ, level=level + 2), -0.6, 0.6)
    return sound * np.float32(10 ** (level / 20) / np.sqrt(np.mean(sound**2)))


def roomy(
    sound: Samples, head: float = 0.75, tail: float = 1.5, room: float | None = -68
) -> Samples:
    whole = np.concatenate([silence(head, HZ), sound, silence(tail, HZ)])
    if room is None:
        return whole
    return np.concatenate(list(with_room_tone(blocks(whole), HZ, room)))


def write(
    path: Path,
    sound: Samples,
    *,
    rate: int = HZ,
    bitrate: int = 192,
    codec: str = "libmp3lame",
    options: dict[str, str] | None = None,
    marks: Sequence[tuple[float, float, str]] = (),
    tags: dict[str, str] | None = None,
) -> Path:
    layout = "mono" if sound.ndim == 1 else "stereo"
    with av.open(str(path), "w") as container:
        facts = {"title": "T", "album": "A", "artist": "N"} if tags is None else tags
        container.metadata.update(facts)
        container.set_chapters(
            [
                {
                    "id": n,
                    "start": round(start * 1000),
                    "end": round(end * 1000),
                    "time_base": Fraction(1, 1000),
                    "metadata": {"title": title},
                }
                for n, (start, end, title) in enumerate(marks)
            ]
        )
        stream = container.add_stream(codec, rate=rate, layout=layout)
        stream.codec_context.options = options or {}
        if codec == "libmp3lame":
            stream.bit_rate = bitrate * 1000
        scale = np.float32(1 / 0.95 if codec == "libmp3lame" else 1)  # LAME's own factor
        at = 0
        for block in blocks(sound):
            container.mux(stream.encode(to_frame(block * scale, rate, at)))
            at += len(block)
        container.mux(stream.encode(None))
    return path


def wav(path: Path, samples: Samples, rate: int = RATE) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, samples, rate, subtype="FLOAT")
    return path


def png(width: int, height: int) -> bytes:
    def piece(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    rows = (b"\0" + b"\x20\x60\xa0" * width) * height
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + piece(b"IHDR", header)
        + piece(b"IDAT", zlib.compress(rows))
        + piece(b"IEND", b"")
    )


def jpeg(path: Path, pixels: NDArray[np.uint8] | None = None) -> bytes:
    """A real JPEG, from FFmpeg: grey, or of these pixels."""
    shown = np.full((32, 48, 3), 90, np.uint8) if pixels is None else pixels
    height, width, _ = shown.shape
    with av.open(str(path), "w", format="mjpeg") as container:
        picture = container.add_stream(
            "mjpeg", rate=1, width=width, height=height, pix_fmt="yuvj420p"
        )
        frame = av.VideoFrame.from_ndarray(shown, format="rgb24")
        container.mux(picture.encode(frame.reformat(format="yuvj420p")))
        container.mux(picture.encode(None))
    return path.read_bytes()


def photo(path: Path) -> bytes:
    """A JPEG of noise: cut, it still has a header and some rows."""
    return jpeg(path, np.random.default_rng(1).integers(0, 255, (200, 300, 3), np.uint8))
