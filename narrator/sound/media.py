"""Opens files for FFmpeg: one given file, of the formats on a list, and nothing else.

Half of FFmpeg's formats are no sound but refer to sound: playlists, lists of files, addresses,
devices. None of them is on the list; and files are opened as descriptors, so that no name is ever
interpreted as an address, a pattern or a pipe. FFmpeg reads files nowhere else.
"""

from __future__ import annotations

import contextlib
import io
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import av
import av.error
from av.container import InputContainer

from narrator.errors import UserError
from textbase.files import Unfit
from textbase.pictures import MAX_PIXELS, require_decodable_size

SOUNDS = (
    "aac,ac3,aiff,amr,amrnb,amrwb,ape,asf,au,avi,caf,dsf,dts,dtshd,eac3,flac,flv,loas,"
    "matroska,webm,mov,mp4,m4a,3gp,3g2,mj2,mp3,mpc,mpc8,mpeg,mpegts,ogg,oma,rm,tak,tta,voc,w64,"
    "wav,wv,xwma"
)
"""FFmpeg's names of the formats in which people have sound, including films with sound."""

PATIENCE = 60.0
"""Seconds after which FFmpeg gives up opening a file, or waiting for its next data."""

_TAGS: Any = {"metadata_errors": "replace"} if int(av.__version__.partition(".")[0]) < 19 else {}
"""Tags of old players are not UTF-8, which is no reason to refuse a file. PyAV 19, for Python 3.12
and newer, accepts them, and has no such argument."""
_EXPORT_HINT = "export it as WAV, FLAC, MP3 or M4A"
_OTHER_FILE_STARTS = {
    b"#EXTM3U": "a playlist",
    b"[playlist]": "a playlist",
    b"ffconcat version": "a list of files",
    b"v=0": "a description of a broadcast (SDP)",
    b"<": "a web page or the like",
}
"""First bytes of files that are no sound but often lie where sound should."""

_FILE_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def open_regular_file(path: Path) -> BinaryIO:
    """Opens a regular file for reading.

    Raises OSError; Unfit for anything but a regular file, without waiting for it.
    """
    _require_regular_file(path.stat())  # checked first: opening a device may have effects
    descriptor = os.open(
        path, os.O_RDONLY | os.O_NONBLOCK
    )  # does not block on a pipe created since
    try:
        _require_regular_file(os.fstat(descriptor))
        return os.fdopen(descriptor, "rb")  # nameless, so that no reader guesses by an ending
    except BaseException:
        os.close(descriptor)
        raise


def _require_regular_file(status: os.stat_result) -> None:
    """Raises Unfit for anything but a regular file."""
    kind = stat.S_IFMT(status.st_mode)
    if kind != stat.S_IFREG:
        file_kind = _FILE_KINDS.get(kind, "something else")
        raise Unfit(f"{file_kind}, not a file: name a file that holds the sound itself")


@contextlib.contextmanager
def open_sound(path: Path, options: Mapping[str, str] | None = None) -> Iterator[InputContainer]:
    """Opens a file with at least one audio stream for decoding; `options` are FFmpeg's.

    Raises OSError where it cannot be read, and Unfit where it is no sound, on opening or within the
    block.
    """
    with open_regular_file(path) as file:
        _reject_other_files(file)
        os.lseek(file.fileno(), 0, os.SEEK_SET)
        restrictions = {
            "fd": str(file.fileno()),
            "protocol_whitelist": "fd",
            "format_whitelist": SOUNDS,
        }
        with (
            _translate_errors(),
            av.open(
                "fd:",
                "r",
                options={**(options or {}), **restrictions},
                timeout=PATIENCE,
                **_TAGS,
            ) as container,
        ):
            if not container.streams.audio:
                raise Unfit("there is no sound in this file")
            if container.streams.audio[0].codec_context is None:
                raise Unfit(f"there is no decoder for its sound: {_EXPORT_HINT}")
            yield container


def tags(*metadata: Mapping[str, str]) -> dict[str, str]:
    """Merges the tags of a container and its streams; later ones win. Bytes that are not UTF-8
    become U+FFFD."""
    merged = {name: text for stream_tags in metadata for name, text in stream_tags.items()}
    return {
        name: text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        for name, text in merged.items()
    }


@contextlib.contextmanager
def as_user_errors(path: Path) -> Iterator[None]:
    """Raises UserError in place of OSError and Unfit, with the path of a file that a user named."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    except Unfit as error:
        raise UserError(f"{path}: {error}") from error


def _reject_other_files(file: BinaryIO) -> None:
    """Raises Unfit for an empty file, and for files that begin like none with sound."""
    first_bytes = file.read(64)
    if not first_bytes:
        raise Unfit("not a sound file: it is empty")
    text = first_bytes.removeprefix(b"\xef\xbb\xbf").lstrip()
    for file_start, file_kind in _OTHER_FILE_STARTS.items():
        if text.startswith(file_start):
            raise Unfit(
                f"not a sound file but {file_kind}: name a file that holds the sound itself"
            )


@contextlib.contextmanager
def _translate_errors() -> Iterator[None]:
    """Raises OSError or Unfit in place of FFmpeg's errors."""
    try:
        yield
    except av.error.FFmpegError as error:
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror) from error
        if isinstance(error, av.error.ArgumentError):  # the format is not on the list
            raise Unfit(
                "there is no sound in this file, or of a kind that is not read here: "
                f"{_EXPORT_HINT}"
            ) from error
        if isinstance(error, av.error.ExitError):
            raise Unfit(f"not a sound file: nothing was found in {PATIENCE:.0f} s") from error
        raise Unfit(f"not a sound file ({error.strerror})") from error


# -- pictures --------------------------------------------------------------------------------------

_MAX_SCANS = 100
"""Most passes of a progressive JPEG over the picture; real ones have some ten."""


def picture(image: bytes, *, strict: bool = False) -> av.VideoFrame:
    """Decodes a JPEG or PNG. Missing parts of a JPEG become grey, unless `strict`.

    Raises Unfit for other formats, and for an image that is too large or damaged.
    """
    size = require_decodable_size(image)
    if size.kind == "png":
        image = _strip_metadata(image)
    elif image.count(b"\xff\xda") > _MAX_SCANS:
        raise Unfit(f"a JPEG of more than {_MAX_SCANS} passes: save it anew")
    format_name = "png_pipe" if size.kind == "png" else "jpeg_pipe"
    restrictions = {"protocol_whitelist": "none", "format_whitelist": format_name}
    try:
        with av.open(io.BytesIO(image), "r", format=format_name, options=restrictions) as source:
            decoder = source.streams.video[0].codec_context
            decoder.options = {
                "max_pixels": str(MAX_PIXELS),  # in case a second header differs
                **({"err_detect": "explode"} if strict else {}),
            }
            return next(source.decode(video=0))
    except (av.error.FFmpegError, StopIteration) as error:
        raise Unfit("damaged, or not all of it is there") from error


def _strip_metadata(png: bytes) -> bytes:
    """Reduces a PNG to its picture: a profile or text of 1 MB can grow to 1 GB when it is read."""
    parts, offset = [png[:8]], 8
    while offset + 8 <= len(png):
        chunk_end = offset + 12 + int.from_bytes(png[offset : offset + 4])
        if png[offset + 4 : offset + 8] in (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"):
            parts.append(png[offset:chunk_end])
        offset = chunk_end
    return b"".join(parts)
