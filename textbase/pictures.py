"""Reads the size of a JPEG or PNG from its header, without decoding it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from textbase.files import Unfit

MAX_PIXELS = 40_000_000
"""Pixels of the largest picture that is decoded: a progressive JPEG takes 9 bytes for each."""


@dataclass(frozen=True, slots=True)
class PixelSize:
    """Format and size of a picture, read from its header."""

    kind: Literal["jpeg", "png"]
    width: int
    height: int


def image_size(image: bytes) -> PixelSize | None:
    """Reads the size of a JPEG or PNG from its header; None for anything else."""
    if image.startswith(b"\x89PNG\r\n\x1a\n") and image[12:16] == b"IHDR" and len(image) >= 24:
        return PixelSize("png", int.from_bytes(image[16:20]), int.from_bytes(image[20:24]))
    return _jpeg_size(image)


def _jpeg_size(jpeg: bytes) -> PixelSize | None:
    """Reads the frame header (ITU-T T.81, B.2.2), past the segments before it."""
    if not jpeg.startswith(b"\xff\xd8\xff"):
        return None
    offset = 2
    while offset + 9 <= len(jpeg) and jpeg[offset] == 0xFF:
        marker = jpeg[offset + 1]
        if marker == 0xFF:  # a fill byte
            offset += 1
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = jpeg[offset + 5 : offset + 7], jpeg[offset + 7 : offset + 9]
            return PixelSize("jpeg", int.from_bytes(width), int.from_bytes(height))
        else:
            offset += 2 + int.from_bytes(jpeg[offset + 2 : offset + 4])
    return None


def require_decodable_size(image: bytes) -> PixelSize:
    """Returns the size in the header. Raises Unfit for anything but a JPEG or PNG, and for one too
    large to decode."""
    size = image_size(image)
    if size is None:
        raise Unfit("neither a whole JPEG nor a whole PNG image")
    if size.width * size.height > MAX_PIXELS:
        raise Unfit(
            f"too large: {size.width}x{size.height} pixels, and at most {MAX_PIXELS // 10**6} "
            "million are opened; scale it down, 3000x3000 are enough"
        )
    return size
