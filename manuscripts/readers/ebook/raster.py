"""A standalone script that draws a picture from standard input as JPEG to standard output.

`cover.py` runs it in a process that may crash. Imports nothing of the package around it.
"""

from __future__ import annotations

import io
import resource
import sys
from fractions import Fraction

import av
import resvg_py

_MAX_PIXELS = 40_000_000
"""Limit on the size of a picture."""
_MAX_MEMORY = 512_000_000
"""Memory limit of this process in bytes, where the system enforces it."""
_SAFE_OPTIONS = {
    "format_whitelist": "bmp_pipe,gif,jpeg_pipe,png_pipe,tiff_pipe,webp_pipe",
    "protocol_whitelist": "none",
    "max_pixels": str(_MAX_PIXELS),
}
_QUALITY = 3
"""FFmpeg's scale, 1 (best) to 31."""


def draw(picture: bytes) -> bytes:
    """Draws an SVG, or a picture that FFmpeg reads, as JPEG."""
    if picture.lstrip().startswith(b"<"):
        text = picture.decode("utf-8")
        picture = resvg_py.svg_to_bytes(
            svg_string=text, background="white", skip_system_fonts="<text" not in text
        )
    with av.open(io.BytesIO(picture), "r", options=_SAFE_OPTIONS) as source:
        stream = source.streams.video[0]
        if stream.codec_context.width * stream.codec_context.height > _MAX_PIXELS:
            raise ValueError("too large")
        frame = next(source.decode(stream))
    encoder = av.CodecContext.create("mjpeg", "w")
    assert isinstance(encoder, av.VideoCodecContext)
    encoder.width, encoder.height = frame.width, frame.height
    encoder.pix_fmt = "yuvj420p"
    encoder.options = {"qmin": str(_QUALITY), "qmax": str(_QUALITY)}
    encoder.time_base = Fraction(1)
    packets = [*encoder.encode(frame.reformat(format="yuvj420p")), *encoder.encode(None)]
    return b"".join(bytes(packet) for packet in packets)


if __name__ == "__main__":
    hard_limit = resource.getrlimit(resource.RLIMIT_DATA)[1]
    memory = _MAX_MEMORY if hard_limit == resource.RLIM_INFINITY else min(_MAX_MEMORY, hard_limit)
    resource.setrlimit(resource.RLIMIT_DATA, (memory, hard_limit))
    sys.stdout.buffer.write(draw(sys.stdin.buffer.read()))
