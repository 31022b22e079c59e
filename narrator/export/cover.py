"""A cover: read whole or refused; as a platform wants it, brought down by FFmpeg's scaler."""

from __future__ import annotations

import io
from fractions import Fraction
from pathlib import Path

import av
import av.error
from av.video.reformatter import Interpolation

from narrator.errors import UserError
from narrator.export.tags import Cover


def read_cover(path: Path) -> Cover:
    """Raises UserError where the file cannot be read, is no JPEG or PNG, or ends too early."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: the cover cannot be read: {error.strerror}") from error
    size = _png_size(data) or _jpeg_size(data)
    if size is None:
        raise UserError(f"{path}: a cover must be a JPEG or PNG image; this is neither")
    kind = "png" if data.startswith(b"\x89PNG") else "jpeg"
    try:
        _frame(data, strict=kind == "jpeg" and b"\xff\xd9" not in data[-_TRAILER:])
    except (av.error.FFmpegError, StopIteration) as error:
        raise UserError(f"{path}: the cover is damaged, or not all of it is there") from error
    return Cover(data, kind, *size)


_TRAILER = 4096
"""Bytes within which a whole JPEG ends: some programs put a little after its last marker."""


def _frame(data: bytes, *, strict: bool = False) -> av.VideoFrame:
    """The picture. FFmpeg makes grey of what is missing of a JPEG, unless it is `strict`.

    Raises FFmpegError or StopIteration where there is none.
    """
    with av.open(io.BytesIO(data), "r") as source:
        if strict:
            source.streams.video[0].codec_context.options = {"err_detect": "explode"}
        return next(source.decode(video=0))


def _png_size(data: bytes) -> tuple[int, int] | None:
    if not data.startswith(b"\x89PNG\r\n\x1a\n") or data[12:16] != b"IHDR" or len(data) < 24:
        return None
    return int.from_bytes(data[16:20]), int.from_bytes(data[20:24])


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    """From the frame header (ITU-T T.81, B.2.2), past the segments before it."""
    if not data.startswith(b"\xff\xd8\xff"):
        return None
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # a fill byte
            at += 1
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = data[at + 5 : at + 7], data[at + 7 : at + 9]
            return int.from_bytes(width), int.from_bytes(height)
        else:
            at += 2 + int.from_bytes(data[at + 2 : at + 4])
    return None


_QUALITY = "2"
"""Of JPEG, on FFmpeg's scale from 1 (best) to 31."""


def fitted(cover: Cover, path: Path, *, square: bool, pixels: tuple[int, int] | None) -> Cover:
    """The cover itself where it fits, else a smaller JPEG of it.

    `pixels` are the least and most of its longer side. Raises UserError where it is too small or
    has another shape: neither can be mended without spoiling the picture.
    """
    size = f"{cover.width}x{cover.height}"
    if square and cover.width != cover.height:
        raise UserError(f"{path}: the cover must be square, not {size}")
    if pixels is None:
        return cover
    longest = max(cover.width, cover.height)
    if longest < pixels[0]:
        raise UserError(f"{path}: the cover must have at least {pixels[0]} pixels, not {size}")
    if longest <= pixels[1]:
        return cover
    width, height = (max(1, round(n * pixels[1] / longest)) for n in (cover.width, cover.height))
    try:
        return Cover(_scaled(cover.data, width, height), "jpeg", width, height)
    except (av.error.FFmpegError, StopIteration) as error:
        raise UserError(f"{path}: the cover cannot be read: {error}") from error


def _scaled(data: bytes, width: int, height: int) -> bytes:
    frame = _frame(data)
    encoder = av.CodecContext.create("mjpeg", "w")
    assert isinstance(encoder, av.VideoCodecContext)
    encoder.width, encoder.height, encoder.pix_fmt = width, height, "yuvj420p"
    encoder.options = {"qmin": _QUALITY, "qmax": _QUALITY, "flags": "+bitexact"}
    encoder.time_base = Fraction(1)
    small = frame.reformat(width, height, "yuvj420p", interpolation=Interpolation.LANCZOS)
    packets = [*encoder.encode(small), *encoder.encode(None)]
    return b"".join(bytes(packet) for packet in packets)
