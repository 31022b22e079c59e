"""A script of its own: a picture on standard input, drawn as JPEG on standard output.

Run by `cover.py` in a process that may crash. Knows nothing of books and of the package around it.
"""

from __future__ import annotations

import io
import resource
import sys
from fractions import Fraction

import av
import resvg_py

_PIXELS = 40_000_000
_MEMORY = 512_000_000
"""Bytes that this process may have, where the system holds it to that."""
_ONLY = {
    "format_whitelist": "bmp_pipe,gif,jpeg_pipe,png_pipe,tiff_pipe,webp_pipe",
    "protocol_whitelist": "none",
    "max_pixels": str(_PIXELS),
}
_QUALITY = 3
"""FFmpeg's scale, 1 (best) to 31."""


def draw(data: bytes) -> bytes:
    """SVG, or a picture that FFmpeg reads, as JPEG."""
    if data.lstrip().startswith(b"<"):
        text = data.decode("utf-8")
        data = resvg_py.svg_to_bytes(
            svg_string=text, background="white", skip_system_fonts="<text" not in text
        )
    with av.open(io.BytesIO(data), "r", options=_ONLY) as source:
        stream = source.streams.video[0]
        if stream.codec_context.width * stream.codec_context.height > _PIXELS:
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
    most = resource.getrlimit(resource.RLIMIT_DATA)[1]
    memory = _MEMORY if most == resource.RLIM_INFINITY else min(_MEMORY, most)
    resource.setrlimit(resource.RLIMIT_DATA, (memory, most))
    sys.stdout.buffer.write(draw(sys.stdin.buffer.read()))
