"""Files for listeners: written beside their goal and renamed, and what they are called.

Knows nothing of sound.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from narrator.errors import StorageError

_PART = re.compile(r"\.[0-9a-f]{16}\.part")


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary name beside `path`; when the block ends well, its file becomes `path`.

    Synced before it is renamed, removed when the block fails: `path` is the old file or the whole
    new one. Raises StorageError for what the file system refuses.
    """
    temporary = path.with_name(f".{secrets.token_hex(8)}.part")
    with storage(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield temporary
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                temporary.unlink()


def sweep(folder: Path) -> None:
    """Remove what a killed export left half written. Raises StorageError."""
    with storage(folder):
        if folder.is_dir():
            for path in folder.iterdir():
                if _PART.fullmatch(path.name):
                    path.unlink(missing_ok=True)


@contextlib.contextmanager
def storage(path: Path) -> Iterator[None]:
    """Foreign errors of the file system become StorageError."""
    try:
        yield
    except OSError as error:
        reason = {
            errno.ENOSPC: "the disk is full",
            errno.EDQUOT: "the disk quota is used up",
            errno.EROFS: "the folder is read-only",
            errno.EACCES: "no right to write there",
            errno.EPERM: "no right to write there",
        }.get(error.errno or 0, error.strerror or str(error))
        raise StorageError(f"{path}: {reason}") from error


_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


def file_name(text: str, *, most: int = 180) -> str:
    """A name that every file system takes: letters of any script stay, path characters go.

    `most` is in bytes of UTF-8, to leave room for a number and an ending within 255.
    """
    text = unicodedata.normalize("NFC", text)
    text = re.sub(r"\s*:\s+|\s*[/\\|]\s*", " - ", text)
    text = re.sub(r'[<>"?*:]|[^\S ]', "", text)
    text = "".join(c for c in text if unicodedata.category(c) not in ("Cc", "Cs", "Co", "Cn"))
    text = re.sub(r" {2,}", " ", text).strip(" .")
    while len(text.encode()) > most:
        text = text[:-1].rstrip(" .")
    if not text or _RESERVED.match(text):
        text = f"_{text}"
    return text
