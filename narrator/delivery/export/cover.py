"""Reads a cover completely or refuses it; fits it to a platform's shape and size by FFmpeg's
scaler."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.video.reformatter import Interpolation

from narrator.delivery.export.tags import Cover
from narrator.errors import UserError
from narrator.sound import media
from textbase.files import Unfit
from textbase.pictures import image_size

MAX_COVER_BYTES = 64 << 20
"""Most bytes of a cover file: it goes into every file that is delivered."""
_TRAILER_BYTES = 4096
"""Bytes at the end within which a complete JPEG has its last marker: some programs append a
little."""


def read_cover(path: Path) -> Cover:
    """Reads a cover. Raises UserError where it cannot be read, is no JPEG or PNG, is too large, or
    ends too early."""
    try:
        with media.open_regular_file(path) as file:
            image = file.read(MAX_COVER_BYTES + 1)
    except OSError as error:
        raise UserError(f"{path}: the cover cannot be read: {error.strerror}") from error
    except Unfit as error:
        raise UserError(f"{path}: the cover cannot be read: {error}") from error
    return check_cover(image, f"{path}: ")


def check_cover(image: bytes, where: str = "") -> Cover:
    """Returns the cover of these bytes; `where` begins errors. Raises UserError as `read_cover`."""
    if len(image) > MAX_COVER_BYTES:
        raise UserError(
            f"{where}a cover of more than {MAX_COVER_BYTES >> 20} MB: save it as a JPEG"
        )
    size = image_size(image)
    if size is None:
        raise UserError(f"{where}a cover must be a JPEG or PNG image; this is neither")
    strict = size.kind == "jpeg" and b"\xff\xd9" not in image[-_TRAILER_BYTES:]
    try:
        media.picture(image, strict=strict)
    except Unfit as error:
        raise UserError(f"{where}the cover is {error}") from error
    return Cover(image, size.kind, size.width, size.height)


_JPEG_QUALITY = "2"
"""On FFmpeg's scale from 1 (best) to 31."""


def fit_cover(cover: Cover, path: Path, *, square: bool, pixels: tuple[int, int] | None) -> Cover:
    """Returns the cover itself where it fits, else a JPEG of it: smaller, or in the middle of a
    square.

    The sides of the square are a blurred copy of the picture, as book shops do it. `pixels` are the
    least and most of the longer side. Raises UserError where it is too small.
    """
    longest = max(cover.width, cover.height)
    if pixels is not None and longest < pixels[0]:
        size = f"{cover.width}x{cover.height}"
        raise UserError(f"{path}: the cover must have at least {pixels[0]} pixels, not {size}")
    longer_side = longest if pixels is None else min(longest, pixels[1])
    needs_padding = square and cover.width != cover.height
    if not needs_padding and longer_side == longest:
        return cover
    width, height = (
        max(1, round(dimension * longer_side / longest))
        for dimension in (cover.width, cover.height)
    )
    try:
        frame = media.picture(cover.data)
        if needs_padding:
            return Cover(
                _encode_jpeg(_pad_to_square(frame, longer_side, width, height)),
                "jpeg",
                longer_side,
                longer_side,
            )
        return Cover(_encode_jpeg(_scale(frame, width, height)), "jpeg", width, height)
    except (av.FFmpegError, Unfit) as error:
        raise UserError(f"{path}: the cover cannot be read: {error}") from error


def _scale(frame: av.VideoFrame, width: int, height: int) -> av.VideoFrame:
    return frame.reformat(width, height, "yuvj420p", interpolation=Interpolation.LANCZOS)


_BACKGROUND_PIXELS = 12
"""Pixels of the copy that becomes the background: few enough that nothing in it is legible."""


def _pad_to_square(frame: av.VideoFrame, side: int, width: int, height: int) -> av.VideoFrame:
    """Puts the picture over a blurred copy of itself, darkened by half."""
    tiny_copy = frame.reformat(
        _BACKGROUND_PIXELS, _BACKGROUND_PIXELS, "rgb24", interpolation=Interpolation.AREA
    )
    blurred_copy = tiny_copy.reformat(side, side, "rgb24", interpolation=Interpolation.BICUBIC)
    background = (blurred_copy.to_ndarray() * 0.5).astype(np.uint8)
    picture = frame.reformat(width, height, "rgb24", interpolation=Interpolation.LANCZOS)
    top_edge, left_edge = (side - height) // 2, (side - width) // 2
    background[top_edge : top_edge + height, left_edge : left_edge + width] = picture.to_ndarray()
    return _scale(av.VideoFrame.from_ndarray(background, "rgb24"), side, side)


def _encode_jpeg(frame: av.VideoFrame) -> bytes:
    encoder = av.CodecContext.create("mjpeg", "w")
    assert isinstance(encoder, av.VideoCodecContext)
    encoder.width, encoder.height, encoder.pix_fmt = frame.width, frame.height, "yuvj420p"
    encoder.options = {"qmin": _JPEG_QUALITY, "qmax": _JPEG_QUALITY, "flags": "+bitexact"}
    encoder.time_base = Fraction(1)
    packets = [*encoder.encode(frame), *encoder.encode(None)]
    return b"".join(bytes(packet) for packet in packets)
