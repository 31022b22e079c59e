"""Reads files that nobody vouches for, and says why a file is refused."""

from __future__ import annotations

import contextlib
import errno
import stat
from pathlib import Path


class Unfit(Exception):
    """Raised for a file that is not accepted; the message follows the file's name."""


def describe_file_type(path: Path) -> str:
    """Describes a path that is not a file: "a folder", "a named pipe"; "" for a file, or if
    nothing is there."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        if error.errno == errno.ELOOP:
            return "a link that leads back to itself"
        with contextlib.suppress(OSError):
            return f"a link to {path.readlink()}, which is not there"
        return ""
    return _FILE_TYPES.get(stat.S_IFMT(mode), "")


_FILE_TYPES = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class TooLarge(Exception):
    """Raised for a file with more bytes than allowed."""


def read_bounded(path: Path, max_bytes: int) -> bytes:
    """Reads a regular file of at most `max_bytes`; no pipes or devices, which may never end.

    Raises OSError, TooLarge.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        kind = describe_file_type(path)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, f"it is {kind}", str(path))
        raise OSError(errno.EINVAL, f"it is {kind}, not a file", str(path))
    if status.st_size > max_bytes:
        raise TooLarge
    with path.open("rb") as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise TooLarge
    return content


def reason(error: OSError) -> str:
    """Describes why the file system refused an operation: “the disk is full”."""
    return REFUSALS.get(error.errno or 0, error.strerror or str(error))


REFUSALS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file would be larger than this disk or user may have",
    errno.EROFS: "the folder is read-only",
    errno.EACCES: "no right to write there",
    errno.EPERM: "no right to write there",
    errno.EIO: "the disk fails to read or write (input/output error)",
    errno.ESTALE: "the disk has gone",
    errno.ENODEV: "the disk has gone",
    errno.EMFILE: "too many files are open",
    errno.ENFILE: "too many files are open",
}
"""Errors that the machine causes, whatever the operation."""
