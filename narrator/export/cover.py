"""A cover as a platform wants it: its shape checked, its size brought down by FFmpeg's scaler."""

from __future__ import annotations

import io
from fractions import Fraction
from pathlib import Path

import av
import av.error
from av.video.reformatter import Interpolation

from narrator.errors import UserError
from narrator.export.tags import Cover

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
    with av.open(io.BytesIO(data), "r") as source:
        frame = next(source.decode(video=0))
    encoder = av.CodecContext.create("mjpeg", "w")
    assert isinstance(encoder, av.VideoCodecContext)
    encoder.width, encoder.height, encoder.pix_fmt = width, height, "yuvj420p"
    encoder.options = {"qmin": _QUALITY, "qmax": _QUALITY, "flags": "+bitexact"}
    encoder.time_base = Fraction(1)
    small = frame.reformat(width, height, "yuvj420p", interpolation=Interpolation.LANCZOS)
    packets = [*encoder.encode(small), *encoder.encode(None)]
    return b"".join(bytes(packet) for packet in packets)
