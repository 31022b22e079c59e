"""Writes M4B: one file of encoded AAC chapters, with chapter marks, cover and tags.

Chapters are copied, not encoded again. FFmpeg's own muxer is not used: it keeps 70 bytes a packet
in memory (300 MB for 26 hours), and drops series, publisher and language from the tags that Apple's
software reads. The layout follows ISO/IEC 14496-12 and -14, Apple's QuickTime File Format
Specification (chapter lists), and the output of FFmpeg, which players are known to accept.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from narrator.delivery.export.encode import Encoded, Encoding, open_encoded
from narrator.delivery.export.tags import XMP, Cover, three_letters
from narrator.errors import ExportError

FRAME_SAMPLES = 1024
"""Samples of an AAC packet."""
PRIMING_SAMPLES = 1024
"""Samples that FFmpeg's encoder puts before the sound; an edit list skips the first ones."""
TICKS_PER_SECOND = 1000
"""Time scale of the movie and of the chapter track, as players expect."""
CHUNK_PACKETS = 32
"""Packets in a chunk, the unit in which players seek."""
_XMP_ID = bytes.fromhex("be7acfcb97a942e89c71999491e3afac")
"""Identifies an atom with an XMP packet."""
MAX_NERO_CHAPTERS = 255
"""Most chapters of a `chpl` list; a file with more has no list, rather than one that ends early.
The QuickTime track has no such limit."""


@dataclass(frozen=True, slots=True)
class _ChapterFile:
    """The position of an encoded chapter's packets in its own file."""

    path: Path
    start: int
    """Offset of the first packet; the others follow without gaps."""
    sizes: NDArray[np.uint32]
    """Bytes of each packet."""
    setup: bytes
    """AudioSpecificConfig."""


def write(
    path: Path,
    chapters: Sequence[tuple[str, Encoded]],
    tags: Mapping[str, str],
    cover: Cover | None,
) -> tuple[int, ...]:
    """Joins encoded chapters (title, sound); returns the sample at which each begins.

    A chapter begins where its timeline has its zero. `tags` are `file_tags`. Raises ExportError,
    OSError.
    """
    parts = [_read_index(encoded) for _, encoded in chapters]
    encoding = chapters[0][1].encoding
    rate = encoding.sample_rate
    if len({part.setup for part in parts}) > 1:
        raise ExportError("chapters of one M4B must be encoded alike")
    sizes = np.concatenate([part.sizes for part in parts])
    ends = np.cumsum([len(part.sizes) for part in parts]) * FRAME_SAMPLES
    starts = (0, *(int(end) for end in ends[:-1]))
    length = starts[-1] + chapters[-1][1].samples

    titles = [title for title, _ in chapters]
    text_samples = [_text_sample(title) for title in titles]
    text_length = sum(map(len, text_samples))
    data_length = text_length + int(sizes.sum(dtype=np.int64))
    is_wide = data_length > 0xF000_0000  # needs 64-bit offsets
    file_type = _atom(b"ftyp", b"M4B ", _u32(0x200), b"M4B M4A isomiso2mp42")
    user_data = _atom(b"udta", _metadata(tags, cover), _nero_chapters(titles, starts, rate))

    def build_movie(data_offset: int) -> bytes:
        """Builds the movie for titles and sound that begin at `data_offset` in the file."""
        text_sizes = list(map(len, text_samples))
        return _movie_atom(
            rate=rate,
            length=length,
            sound_table=_sound_table(
                sizes, parts[0].setup, encoding, data_offset + text_length, is_wide=is_wide
            ),
            text_table=_text_table(text_sizes, starts, length, rate, data_offset, is_wide=is_wide),
            packet_count=len(sizes),
            language=three_letters(tags.get("language", "")),
            user_data=user_data,
        )

    data_header = (
        struct.pack(">I4sQ", 1, b"mdat", data_length + 16)
        if is_wide
        else _u32(data_length + 8) + b"mdat"
    )
    # the length of the movie atom does not depend on its offsets
    data_offset = len(file_type) + len(build_movie(0)) + len(data_header)
    with path.open("wb") as file:
        file.write(file_type + build_movie(data_offset) + data_header + b"".join(text_samples))
        for part in parts:
            _copy_payload(part, file)
        if XMP in tags:
            file.write(_atom(b"uuid", _XMP_ID, tags[XMP].encode()))
    return starts


def _read_index(encoded: Encoded) -> _ChapterFile:
    """Reads the packet index of an encoded chapter. Raises ExportError."""
    with open_encoded(encoded.path) as container:
        stream = container.streams.audio[0]
        entries = [(entry.pos, entry.size) for entry in stream.index_entries]
        decoder_config = stream.codec_context.extradata
    has_gaps = any(
        position + size != next_position
        for (position, size), (next_position, _) in pairwise(entries)
    )
    if not entries or not decoder_config or has_gaps:
        raise ExportError(f"{encoded.path} is not a chapter that was encoded here")
    return _ChapterFile(
        encoded.path,
        entries[0][0],
        np.array([size for _, size in entries], np.uint32),
        decoder_config,
    )


def _copy_payload(part: _ChapterFile, output_file: BinaryIO) -> None:
    """Copies the packets of a chapter to the output file."""
    remaining_bytes = int(part.sizes.sum(dtype=np.int64))
    with part.path.open("rb") as file:
        file.seek(part.start)
        while remaining_bytes:
            block = file.read(min(remaining_bytes, 1 << 20))
            if not block:
                raise ExportError(f"{part.path} ends too early")
            output_file.write(block)
            remaining_bytes -= len(block)


# -- atoms -----------------------------------------------------------------------------------------


def _u16(*numbers: int) -> bytes:
    """Packs numbers as big-endian 16-bit integers."""
    return struct.pack(f">{len(numbers)}H", *numbers)


def _u32(*numbers: int) -> bytes:
    """Packs numbers as big-endian 32-bit integers."""
    return struct.pack(f">{len(numbers)}I", *numbers)


def _atom(kind: bytes, *payload: bytes) -> bytes:
    """Returns an MP4 atom: size, kind, payload."""
    return _u32(8 + sum(map(len, payload))) + kind + b"".join(payload)


def _full_atom(kind: bytes, *payload: bytes, version: int = 0, flags: int = 0) -> bytes:
    """Returns an MP4 full atom, with version and flags."""
    return _atom(kind, _u32(version << 24 | flags), *payload)


_MATRIX = _u32(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)
_DATA_INFORMATION = _atom(
    b"dinf", _full_atom(b"dref", _u32(1), _full_atom(b"url ", flags=1))
)  # the data lies in this file


def _movie_atom(
    *,
    rate: int,
    length: int,
    sound_table: bytes,
    text_table: bytes,
    packet_count: int,
    language: str,
    user_data: bytes,
) -> bytes:
    """Returns the movie: a header, the sound track, the chapter track, and the user data.

    `length` is in samples, the tables are the sample tables of the tracks.
    """
    duration = _ticks(length, rate)
    return _atom(
        b"moov",
        _full_atom(
            b"mvhd",
            _u32(0, 0, TICKS_PER_SECOND, duration, 0x10000),
            _u16(0x100, 0),
            bytes(8),
            _MATRIX,
            bytes(24),
            _u32(3),
        ),
        _atom(
            b"trak",
            _track_head(1, duration, flags=3, group=1, volume=0x100),
            _edit_list(duration, PRIMING_SAMPLES),
            _atom(b"tref", _atom(b"chap", _u32(2))),
            _atom(
                b"mdia",
                _media_head(rate, packet_count * FRAME_SAMPLES, language),
                _handler(b"soun", b"SoundHandler"),
                _atom(b"minf", _full_atom(b"smhd", bytes(4)), _DATA_INFORMATION, sound_table),
            ),
        ),
        _atom(
            b"trak",
            _track_head(2, duration, flags=2, group=0, volume=0),
            _edit_list(duration, 0),
            _atom(
                b"mdia",
                _media_head(TICKS_PER_SECOND, duration, language),
                _handler(b"text", b"ChapterHandler"),
                _atom(b"minf", _TEXT_MEDIA, _DATA_INFORMATION, text_table),
            ),
        ),
        user_data,
    )


def _ticks(samples: int, rate: int) -> int:
    """Converts samples to ticks."""
    return round(samples * TICKS_PER_SECOND / rate)


def _track_head(number: int, duration: int, *, flags: int, group: int, volume: int) -> bytes:
    """Returns the header of a track: `flags` 1 for enabled plus 2 for part of the movie, its
    alternate group, and its volume as 8.8 fixed point."""
    return _full_atom(
        b"tkhd",
        _u32(0, 0, number, 0, duration, 0, 0),
        _u16(0, group, volume, 0),
        _MATRIX,
        bytes(8),
        flags=flags,
    )


def _edit_list(duration: int, start: int) -> bytes:
    """Returns an edit list: `duration` ticks are played, from `start` of the track on."""
    return _atom(b"edts", _full_atom(b"elst", _u32(1, duration, start, 0x10000)))


def _media_head(time_scale: int, duration: int, language: str) -> bytes:
    """Returns the header of a track's media: ticks in a second, duration in ticks, language of
    three letters."""
    packed_language = 0
    for letter in language:  # five bits each, 1 for a
        packed_language = packed_language << 5 | ord(letter) - 0x60
    if duration < 2**31:
        return _full_atom(b"mdhd", _u32(0, 0, time_scale, duration), _u16(packed_language, 0))
    return _full_atom(
        b"mdhd",
        struct.pack(">QQIQ", 0, 0, time_scale, duration),
        _u16(packed_language, 0),
        version=1,
    )


def _handler(kind: bytes, name: bytes) -> bytes:
    return _full_atom(b"hdlr", bytes(4), kind, bytes(12), name + b"\0")


_TEXT_MEDIA = _atom(
    b"gmhd",
    _full_atom(b"gmin", _u16(0x40, 0x8000, 0x8000, 0x8000, 0, 0)),
    _atom(b"text", _MATRIX),
)


# -- sample tables ---------------------------------------------------------------------------------


def _sound_table(
    sizes: NDArray[np.uint32],
    decoder_config: bytes,
    encoding: Encoding,
    data_offset: int,
    *,
    is_wide: bool,
) -> bytes:
    """Returns the sample table of the sound track, whose packets begin at `data_offset` in the
    file.

    `sizes` are the bytes of each packet; with `is_wide` offsets have 64 bits.
    """
    count = len(sizes)
    chunk_sizes = np.add.reduceat(sizes, np.arange(0, count, CHUNK_PACKETS), dtype=np.int64)
    offsets = data_offset + np.concatenate([[0], np.cumsum(chunk_sizes[:-1])])
    full_chunks, last_packets = divmod(count, CHUNK_PACKETS)
    chunk_runs = [_u32(1, CHUNK_PACKETS, 1)] if full_chunks else []
    if last_packets:
        chunk_runs.append(_u32(full_chunks + 1, last_packets, 1))
    average_bitrate = int(
        sizes.sum(dtype=np.int64) * 8 * encoding.sample_rate // (count * FRAME_SAMPLES)
    )
    return _atom(
        b"stbl",
        _full_atom(b"stsd", _u32(1), _sound_entry(decoder_config, encoding, average_bitrate)),
        _full_atom(b"stts", _u32(1, count, FRAME_SAMPLES)),
        _full_atom(b"stsc", _u32(len(chunk_runs)), *chunk_runs),
        _full_atom(b"stsz", _u32(0, count), sizes.astype(">u4").tobytes()),
        _offset_table(offsets, is_wide=is_wide),
        # decoding begins one packet before the target of a seek
        _full_atom(b"sgpd", b"roll", _u32(2, 1), b"\xff\xff", version=1),
        _full_atom(b"sbgp", b"roll", _u32(1, count, 1)),
    )


def _offset_table(offsets: NDArray[np.int64], *, is_wide: bool) -> bytes:
    """Returns the table of the chunks' offsets in the file."""
    atom_name, number_format = (b"co64", ">u8") if is_wide else (b"stco", ">u4")
    return _full_atom(atom_name, _u32(len(offsets)), offsets.astype(number_format).tobytes())


def _sound_entry(decoder_config: bytes, encoding: Encoding, average_bitrate: int) -> bytes:
    """Returns the description of the sound: AAC with its decoder's configuration."""
    decoder = _descriptor(
        4,
        b"\x40\x15" + bytes(3),
        _u32(average_bitrate, average_bitrate),
        _descriptor(5, decoder_config),
    )  # 0x40: MPEG-4 audio
    stream = _descriptor(3, _u16(1), b"\0", decoder, _descriptor(6, b"\x02"))
    return _atom(
        b"mp4a",
        bytes(6),
        _u16(1),
        bytes(8),
        _u16(encoding.channels, 16, 0, 0),
        _u32(encoding.sample_rate << 16),
        _full_atom(b"esds", stream),
    )


def _descriptor(tag: int, *payload: bytes) -> bytes:
    """Returns an MPEG-4 descriptor: its tag, its size in four bytes of seven bits, its payload."""
    size = sum(map(len, payload))
    return bytes([tag, 0x80, 0x80, 0x80 | size >> 7, size & 0x7F]) + b"".join(payload)


def _text_table(
    sizes: Sequence[int],
    starts: Sequence[int],
    length: int,
    rate: int,
    data_offset: int,
    *,
    is_wide: bool,
) -> bytes:
    """Returns the sample table of the chapter track, whose titles begin at `data_offset` in the
    file.

    `sizes` are the bytes of each title, `starts` the sound's samples at which chapters begin,
    `length` those of the book; with `is_wide` offsets have 64 bits.
    """
    ticks = [_ticks(sample, rate) for sample in (*starts, length)]
    times = b"".join(_u32(1, next_tick - tick) for tick, next_tick in pairwise(ticks))
    entry = _atom(
        b"text",
        bytes(6),
        _u16(1),
        _u32(1),
        bytes(18),
        _u16(1, 0),  # font 1, plain
        bytes(4),
        _atom(b"ftab", _u16(1, 1), b"\0"),
    )
    return _atom(
        b"stbl",
        _full_atom(b"stsd", _u32(1), entry),
        _full_atom(b"stts", _u32(len(sizes)), times),
        _full_atom(b"stsc", _u32(1), _u32(1, len(sizes), 1)),
        _full_atom(b"stsz", _u32(0, len(sizes)), _u32(*sizes)),
        _offset_table(np.array([data_offset]), is_wide=is_wide),
    )


def _text_sample(title: str) -> bytes:
    text = _truncate_utf8(title, 0xFFFF)
    return _u16(len(text)) + text + _atom(b"encd", _u32(0x100))  # UTF-8


def _truncate_utf8(text: str, max_bytes: int) -> bytes:
    """Encodes text as UTF-8 of at most `max_bytes`, without splitting a character."""
    return text.encode()[:max_bytes].decode(errors="ignore").encode()


# -- user data -------------------------------------------------------------------------------------


def _nero_chapters(titles: Sequence[str], starts: Sequence[int], rate: int) -> bytes:
    """Returns Nero's chapter list; empty for more chapters than it can hold."""
    if len(titles) > MAX_NERO_CHAPTERS:
        return b""
    rows = []
    for title, start in zip(titles, starts, strict=True):
        text = _truncate_utf8(title, 255)
        rows.append(struct.pack(">QB", round(start * 10_000_000 / rate), len(text)) + text)
    return _full_atom(b"chpl", bytes(4), bytes([len(rows)]), *rows, version=1)


_TEXT_ATOMS = (
    ("title", b"\xa9nam"), ("artist", b"\xa9ART"), ("album_artist", b"aART"), ("album", b"\xa9alb"),
    ("composer", b"\xa9wrt"), ("genre", b"\xa9gen"), ("date", b"\xa9day"), ("copyright", b"cprt"),
    ("description", b"desc"), ("description", b"ldes"), ("keywords", b"keyw"),
)  # fmt: skip
"""Tags with an atom of their own."""
_FREE_TAGS = (
    "subtitle", "series", "series-part", "publisher", "releasedate", "language", "isbn", "asin",
    "digitalSourceType", "speechEngine",
)  # fmt: skip


def _metadata(tags: Mapping[str, str], cover: Cover | None) -> bytes:
    """Returns iTunes' list of metadata with the tags and the cover."""
    atoms = [_text_item(atom_name, tags[name]) for name, atom_name in _TEXT_ATOMS if name in tags]
    atoms += [_free_item(name.upper(), tags[name]) for name in _FREE_TAGS if name in tags]
    if "track" in tags:
        number, total = map(int, tags["track"].split("/"))
        atoms.append(_atom(b"trkn", _data_atom(0, _u16(0, number, total, 0))))
    atoms.append(_atom(b"stik", _data_atom(21, b"\x02")))  # audiobook
    atoms.append(_atom(b"pgap", _data_atom(21, b"\x01")))  # no gap
    if cover:
        atoms.append(_atom(b"covr", _data_atom(14 if cover.kind == "png" else 13, cover.data)))
    handler = _full_atom(b"hdlr", bytes(4), b"mdirappl", bytes(9))
    return _full_atom(b"meta", handler, _atom(b"ilst", *atoms))


def _data_atom(data_type: int, payload: bytes) -> bytes:
    return _atom(b"data", _u32(data_type, 0), payload)


def _text_item(atom_name: bytes, text: str) -> bytes:
    return _atom(atom_name, _data_atom(1, text.encode()))


def _free_item(name: str, text: str) -> bytes:
    """Returns an item of iTunes' free form, which FFmpeg and so Audiobookshelf read by its name."""
    return _atom(
        b"----",
        _full_atom(b"mean", b"com.apple.iTunes"),
        _full_atom(b"name", name.encode()),
        _data_atom(1, text.encode()),
    )
