"""A cover: read whole or refused; brought to a platform's shape and size by FFmpeg's scaler."""

from __future__ import annotations

import io
from fractions import Fraction
from pathlib import Path

import av
import av.error
import numpy as np
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
    """The cover itself where it fits, else a JPEG of it: smaller, or set in the middle of a square.

    A square's sides are a blurred copy of the picture, as book shops do it. `pixels` are the least
    and most of the longer side. Raises UserError where it is too small.
    """
    longest = max(cover.width, cover.height)
    if pixels is not None and longest < pixels[0]:
        size = f"{cover.width}x{cover.height}"
        raise UserError(f"{path}: the cover must have at least {pixels[0]} pixels, not {size}")
    side = longest if pixels is None else min(longest, pixels[1])
    padded = square and cover.width != cover.height
    if not padded and side == longest:
        return cover
    width, height = (max(1, round(n * side / longest)) for n in (cover.width, cover.height))
    try:
        frame = _frame(cover.data)
        if padded:
            return Cover(_jpeg(_squared(frame, side, width, height)), "jpeg", side, side)
        return Cover(_jpeg(_scaled(frame, width, height)), "jpeg", width, height)
    except (av.error.FFmpegError, StopIteration) as error:
        raise UserError(f"{path}: the cover cannot be read: {error}") from error


def _scaled(frame: av.VideoFrame, width: int, height: int) -> av.VideoFrame:
    return frame.reformat(width, height, "yuvj420p", interpolation=Interpolation.LANCZOS)


_COARSE = 12
"""Pixels of the copy that becomes the background: few enough that nothing in it is read."""


def _squared(frame: av.VideoFrame, side: int, width: int, height: int) -> av.VideoFrame:
    """The picture over a blurred copy of itself, darker by half."""
    coarse = frame.reformat(_COARSE, _COARSE, "rgb24", interpolation=Interpolation.AREA)
    smooth = coarse.reformat(side, side, "rgb24", interpolation=Interpolation.BICUBIC)
    ground = (smooth.to_ndarray() * 0.5).astype(np.uint8)
    picture = frame.reformat(width, height, "rgb24", interpolation=Interpolation.LANCZOS)
    top, left = (side - height) // 2, (side - width) // 2
    ground[top : top + height, left : left + width] = picture.to_ndarray()
    return _scaled(av.VideoFrame.from_ndarray(ground, "rgb24"), side, side)


def _jpeg(frame: av.VideoFrame) -> bytes:
    encoder = av.CodecContext.create("mjpeg", "w")
    assert isinstance(encoder, av.VideoCodecContext)
    encoder.width, encoder.height, encoder.pix_fmt = frame.width, frame.height, "yuvj420p"
    encoder.options = {"qmin": _QUALITY, "qmax": _QUALITY, "flags": "+bitexact"}
    encoder.time_base = Fraction(1)
    packets = [*encoder.encode(frame), *encoder.encode(None)]
    return b"".join(bytes(packet) for packet in packets)
