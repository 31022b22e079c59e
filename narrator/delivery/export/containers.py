"""Writes MP3, Opus, FLAC and WAV: joins encoded chapters, with tags, chapter marks and cover.

MP3 and Opus are copied packet by packet; FLAC and WAV are encoded anew from FLAC, without loss,
since FLAC numbers its frames.
"""

from __future__ import annotations

import base64
import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import Any

from av.audio.stream import AudioStream
from av.container import OutputContainer
from av.packet import Packet
from av.stream import Disposition

from narrator.delivery.export.encode import (
    Encoded,
    add_sound,
    create_file,
    open_encoded,
    regroup_blocks,
    write_block,
)
from narrator.delivery.export.tags import XMP, Cover
from narrator.sound.audio import Samples, decode_frames
from narrator.sound.clock import format_timecode
from narrator.sound.formats import Codec, OutputFormat


def write(
    path: Path,
    format: OutputFormat,
    chapters: Sequence[tuple[str, Encoded]],
    tags: dict[str, str],
    cover: Cover | None,
    *,
    has_marks: bool,
) -> tuple[int, ...]:
    """Joins encoded chapters (title, sound); returns the sample at which each begins.

    With `has_marks` each gets a chapter mark, in formats that hold them. Raises ExportError and
    OSError.
    """
    lengths = (encoded.samples for _, encoded in chapters[:-1])
    starts = tuple(accumulate(lengths, initial=0))
    if format.codec.is_lossy:
        starts = _packet_starts(chapters)
    picture = cover if format.cover == "picture" else None
    packet = tags.get(XMP, "")
    tags = {name: text for name, text in tags.items() if name != XMP}
    with create_file(path, format.codec) as container:
        container.metadata.update(tags)
        if has_marks and format.holds_marks:
            _write_marks(container, format, chapters, starts)
        if format.cover == "comment" and cover:
            container.metadata["METADATA_BLOCK_PICTURE"] = _picture_block(cover)
        if format.codec.is_lossy:
            _copy_packets(container, chapters, picture)
        else:
            _encode_lossless(container, format.codec, chapters, picture)
    if packet:
        _append_chunk(path, b"_PMX", packet.encode())
    return starts


def _append_chunk(path: Path, name: bytes, content: bytes) -> None:
    """Appends a chunk to a WAV, and counts it in the size of the file, which an RF64 has in its
    first chunk. A WAV that would get too long for its size stays as it is."""
    chunk = struct.pack("<4sI", name, len(content)) + content + bytes(len(content) % 2)
    with path.open("r+b") as file:
        place, size_format = (20, "<Q") if file.read(4) == b"RF64" else (4, "<I")
        # a file does not count the name and size that begin it
        size = file.seek(0, os.SEEK_END) + len(chunk) - 8
        if size_format == "<I" and size > 0xFFFF_FFFF:
            return
        file.write(chunk)
        file.seek(place)
        file.write(struct.pack(size_format, size))


def _packet_starts(chapters: Sequence[tuple[str, Encoded]]) -> tuple[int, ...]:
    """Returns the sample at which each chapter begins in copied packets.

    Every chapter brings its coder's delay and padding: packets count, not samples.
    """
    starts = [Fraction(0)]
    for _, encoded in chapters[:-1]:
        with open_encoded(encoded.path) as source:
            durations = [packet.duration or 0 for packet in source.demux(audio=0) if packet.size]
            time_base = source.streams.audio[0].time_base or Fraction(1)
            # the last packet states how much of it is sound, yet all of it plays within a book
            starts.append(starts[-1] + len(durations) * durations[0] * time_base)
    rate = chapters[0][1].encoding.sample_rate
    return tuple(round(start * rate) for start in starts)


def _write_marks(
    container: OutputContainer,
    format: OutputFormat,
    chapters: Sequence[tuple[str, Encoded]],
    starts: Sequence[int],
) -> None:
    """Adds chapter marks in the form of the format."""
    rate = chapters[0][1].encoding.sample_rate
    titles = [title for title, _ in chapters]
    starts_ms = [round(start * 1000 / rate) for start in starts]
    end_ms = round((starts[-1] + chapters[-1][1].samples) * 1000 / rate)
    if format.tags == "vorbis":  # FFmpeg rounds seconds up in these comments: 4.6 becomes 5.6
        for number, (title, start_ms) in enumerate(zip(titles, starts_ms, strict=True)):
            container.metadata[f"CHAPTER{number:03}"] = format_timecode(start_ms)
            container.metadata[f"CHAPTER{number:03}NAME"] = title
        return
    container.set_chapters(
        [
            {
                "id": number,
                "start": start_ms,
                "end": stop_ms,
                "time_base": Fraction(1, 1000),
                "metadata": {"title": title},
            }
            for number, (title, start_ms, stop_ms) in enumerate(
                zip(titles, starts_ms, [*starts_ms[1:], end_ms], strict=True)
            )
        ]
    )


def _copy_packets(
    container: OutputContainer, chapters: Sequence[tuple[str, Encoded]], cover: Cover | None
) -> None:
    """Copies the packets of all chapters to one stream with continuous times."""
    stream: AudioStream | None = None
    time = 0
    for number, (_, encoded) in enumerate(chapters, 1):
        is_last_chapter = number == len(chapters)
        with open_encoded(encoded.path) as source:
            source_stream = source.streams.audio[0]
            packet_duration = 0
            for packet in source.demux(source_stream):
                if not packet.size:
                    continue
                if stream is None:
                    stream = container.add_stream_from_template(source_stream)
                    _add_cover(container, cover)
                    time = packet.pts or 0
                packet_duration = packet_duration or packet.duration or 0
                output_packet = (
                    packet if is_last_chapter else _clean_packet(packet, packet_duration)
                )
                output_packet.stream = stream
                output_packet.pts = output_packet.dts = time
                time += packet_duration
                container.mux_one(output_packet)


def _clean_packet(packet: Packet[AudioStream], duration: int) -> Packet[Any]:
    """Returns a packet without side data on being the first or last of its chapter."""
    clean_packet: Packet[Any] = Packet(bytes(packet))
    clean_packet.time_base = packet.time_base
    clean_packet.duration = duration
    clean_packet.is_keyframe = True
    return clean_packet


def _encode_lossless(
    container: OutputContainer,
    codec: Codec,
    chapters: Sequence[tuple[str, Encoded]],
    cover: Cover | None,
) -> None:
    """Encodes the decoded chapters in a lossless codec."""
    stream = add_sound(container, replace(chapters[0][1].encoding, codec=codec.name))
    _add_cover(container, cover)
    position = 0
    for block in regroup_blocks(_decoded_blocks(chapters)):
        write_block(container, stream, block, position)
        position += len(block)
    container.mux(stream.encode(None))


def _decoded_blocks(chapters: Sequence[tuple[str, Encoded]]) -> Iterator[Samples]:
    for _, encoded in chapters:
        with open_encoded(encoded.path) as source:
            yield from decode_frames(source, mono=False)


def _add_cover(container: OutputContainer, cover: Cover | None) -> None:
    """Writes the cover, if there is one, as an attached picture."""
    if cover is None:
        return
    codec = "png" if cover.kind == "png" else "mjpeg"
    stream = container.add_mux_stream(codec, width=cover.width, height=cover.height)
    stream.disposition = Disposition.attached_pic
    stream.metadata["comment"] = "Cover (front)"
    packet = Packet(cover.data)
    packet.stream = stream
    packet.pts = packet.dts = 0
    packet.is_keyframe = True
    container.mux_one(packet)


def _picture_block(cover: Cover) -> str:
    """Returns FLAC's picture block in base64, as Vorbis comments carry a cover (RFC 9639, 8.8)."""
    mime, front_cover, bits_per_pixel, palette_size = cover.mime.encode(), 3, 24, 0
    header = struct.pack(">II", front_cover, len(mime)) + mime
    header += struct.pack(
        ">IIIIII", 0, cover.width, cover.height, bits_per_pixel, palette_size, len(cover.data)
    )
    return base64.b64encode(header + cover.data).decode()
