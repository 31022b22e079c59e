"""Writes complete files or none: to a temporary file, synced, renamed; small ones sealed. Journals
of sealed rows are appended to.

The one place where errors of the file system become StorageError. Knows nothing of what files hold.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import logging
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from narrator import keys
from narrator.decoding import Value, decode_value
from narrator.errors import EnvironmentFailed, StorageError
from textbase.files import REFUSALS
from textbase.files import TooLarge as TooLarge
from textbase.files import describe_file_type as describe_file_type
from textbase.files import read_bounded as read_bounded
from textbase.files import reason as reason

log = logging.getLogger("narrator")
corruption_log = logging.getLogger("narrator.damage")
"""Logs damaged files of ours, and what is done about them; a run prints each."""

_PART = re.compile(r"\.[0-9a-f]{16}\.part")


def library() -> Path:
    """The user's own folder for what all projects share: voices, converted models, hashes.

    `$NARRATOR_HOME`, else where the system keeps a user's data. It need not exist. Raises
    EnvironmentFailed where the user, or one that the variable names, has no home.
    """
    home = os.environ.get("NARRATOR_HOME")
    try:
        # platformdirs raises RuntimeError itself, or leaves "~" as it is
        folder = Path(home) if home else platformdirs.user_data_path("narrator", False)
        return folder.expanduser()
    except RuntimeError as error:
        raise EnvironmentFailed(
            f"NARRATOR_HOME={home}: no such home folder; give the folder's whole path"
            if home
            else "this user has no home folder for narrator's library: set HOME or NARRATOR_HOME "
            "to a folder"
        ) from error


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yields a temporary file beside `path`, which replaces `path` when the block ends without an
    error.

    It is synced before it is renamed, and removed if the block fails, so that `path` is the old
    file or the complete new one. Files that killed processes left in the folder are removed. Raises
    StorageError.
    """
    if not path.name:  # "." or "/"
        raise StorageError(f"{path}: {os.strerror(errno.EISDIR)}")
    with translating_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        sweep(path.parent)
        temporary, lock = _temporary(path.parent)
        try:
            yield temporary
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            with contextlib.suppress(OSError):  # `path` does not exist yet, or belongs to another
                temporary.chmod(stat.S_IMODE(path.stat().st_mode))
            temporary.replace(path)
        finally:
            os.close(lock)
            with contextlib.suppress(FileNotFoundError):
                temporary.unlink()


def _temporary(folder: Path) -> tuple[Path, int]:
    """Creates an empty file; returns its path and its descriptor, which locks it until it is closed
    or this process dies. Raises OSError."""
    while True:
        path = folder / f".{secrets.token_hex(8)}.part"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        with contextlib.suppress(OSError):  # a disk without locks, on which nothing is swept
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return path, descriptor
        os.close(descriptor)  # swept before it was locked


def resolve_link(path: Path) -> Path:
    """Returns the file behind a link to a file in the same folder, so that writing keeps the link;
    else the path."""
    real = path.resolve()
    return real if real.parent == path.parent.resolve() else path


def write(path: Path, data: bytes) -> os.stat_result:
    """Replaces a file by `data`; returns its new status. Raises StorageError."""
    with replacing(path) as temporary:
        temporary.write_bytes(data)
        return temporary.stat()  # renaming changes neither size nor time


def visible_files(folder: Path) -> Iterator[Path]:
    """Yields the files under a folder in order, without hidden ones, such as the "._x.mp3" that
    Macs leave on foreign disks. Raises OSError."""
    for path in sorted(folder.rglob("*")):
        is_hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if not is_hidden and path.is_file():
            yield path


def sweep(folder: Path) -> None:
    """Remove the temporary files of killed processes from a folder; those of living ones stay.
    Raises StorageError."""
    with translating_errors(folder):
        if folder.is_dir():
            for path in folder.iterdir():
                if _PART.fullmatch(path.name):
                    _remove_abandoned(path)


def _remove_abandoned(path: Path) -> None:
    """Remove a temporary file whose writer has died: a living one has locked it."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:  # gone, or not ours
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        pass
    else:
        path.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def translating_errors(path: Path) -> Iterator[None]:
    """Turns OSError within the block into StorageError."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"{path}: {reason(error)}") from error


def is_refusal(error: OSError) -> bool:
    """True if the machine is the cause, whatever the operation."""
    return error.errno in REFUSALS


# -- small files of our own ------------------------------------------------------------------------


class AlteredFile(ValueError):
    """A file of ours is torn or was altered."""


def stamp(path: Path) -> tuple[int, int] | None:
    """The time and size of a file, to detect changes; None for a missing one."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size


def _open_at_once(path: str, flags: int) -> int:
    """Opens a file, or a folder; no pipe or device, which may come with a stranger's project and
    never ends. Raises OSError."""
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, f"it is {describe_file_type(Path(path))}, not a file")
    return descriptor


def load_json(path: Path, value_type: type[Value], default: Value) -> Value:
    """Loads a file of `save_json` that can be made anew, or returns the default.

    Logs damage: a file that is torn, altered or of another form.
    """
    try:
        return decode_value(value_type, read_json(path))
    except ValueError as error:
        corruption_log.warning("%s: %s; it is made anew", path, error)
    except OSError:
        pass  # there is none
    return default


def load_work(
    path: Path, value_type: type[Value], default: Value, *, title: str, remedy: str
) -> Value:
    """Loads a file of `save_json` that holds the work of a person, or returns the default if there
    is none.

    Raises StorageError, which names the content by its title and the remedy, for a file that is
    damaged, so that nobody replaces it.
    """
    try:
        return decode_value(value_type, read_json(path))
    except FileNotFoundError:
        return default
    except OSError as error:
        raise StorageError(f"{path}: {reason(error)}") from None
    except ValueError as error:
        raise StorageError(f"{path}: not {title} ({error}); {remedy}") from None


def read_json(path: Path, *, checks_seal: bool = True) -> Any:
    """Reads a file of `save_json`, or one without a seal. Raises AlteredFile, OSError.

    Checking the seal takes twice as long as reading.
    """
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            document = json.loads(file.read())
        if not isinstance(document, dict) or not document.keys() & _SEALED:
            return document
        if document.keys() == _SEALED and (
            not checks_seal or document["seal"] == keys.seal(document["value"])
        ):
            return document["value"]
    except (ValueError, RecursionError):
        raise AlteredFile("it is torn") from None
    raise AlteredFile("it was altered since it was written")


_SEALED = frozenset(("seal", "value"))


def save_json(path: Path, value: Any) -> None:
    """Save a value with a seal, a hash by which `read_json` recognises alterations.

    Raises StorageError.
    """
    write(path, sealed(value))


def sealed(value: Any) -> bytes:
    """The bytes of a file of `save_json`."""
    text = json.dumps(value, ensure_ascii=False)
    seal = keys.seal(json.loads(text))  # as it will be read: names are strings then
    return f'{{"seal": "{seal}", "value": {text}}}\n'.encode(errors="surrogatepass")


# -- journals --------------------------------------------------------------------------------------

_SEAL = re.compile(rb',"seal":"([0-9a-f]{40})"\}\Z')


def sealed_row(row: Mapping[str, Any]) -> bytes:
    """A line of a journal: JSON that ends in a hash of what stands before. Raises ValueError on
    NaN and infinities."""
    row_bytes = keys.canonical(row)
    seal = keys.content_of(row_bytes)[:40].encode()
    return row_bytes[:-1] + b',"seal":"' + seal + b'"}\n'


def is_sealed_row(line: bytes) -> bool:
    """True if a line was made by `sealed_row`; compares bytes, since there may be thousands."""
    match = _SEAL.search(line)
    if match is None:
        return False
    return keys.content_of(line[: match.start()] + b"}")[:40].encode() == match[1]


def _open_no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def append(path: Path, data: bytes, kept_bytes: int | None = None) -> None:
    """Add data to a journal, all of it or none: half a row would spoil the next one.

    With `kept_bytes`, the file is cut to that length first. A link is not followed, since it may
    lead to somebody else's file. Raises OSError.
    """
    with open(path, "ab", buffering=0, opener=_open_no_link) as file:
        if kept_bytes is not None:
            file.truncate(kept_bytes)
        previous_bytes = file.seek(0, os.SEEK_END)
        try:
            if file.write(data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            with contextlib.suppress(OSError):
                file.truncate(previous_bytes)
            raise


_ROW_END = re.compile(rb',"seal":"[0-9a-f]{40}"\}')


@dataclass(slots=True)
class Journal:
    """A file of sealed rows, with the position up to which it was read.

    One process appends to it, many read it. A row that a killed writer left incomplete is ignored;
    rows that were torn or altered later are counted.
    """

    path: Path
    _inode: int = -1
    """Of the file that was read."""
    _length: int = 0
    """Bytes of the complete lines that were read."""
    _damaged_rows: int = 0
    """Damaged rows among these lines."""
    _damaged_tail: int = 0
    """Damaged rows after the last complete line."""
    _is_torn: bool = False
    """True if the file ended within a row."""

    @property
    def damaged(self) -> int:
        """Number of rows that are torn or altered."""
        return self._damaged_rows + self._damaged_tail

    def read(self) -> list[bytes]:
        """Returns the rows written since the last call, as lines without their ends; all rows of a
        file that was replaced. Raises OSError."""
        try:
            with open(self.path, "rb", opener=_open_at_once) as file:
                status = os.fstat(file.fileno())
                if status.st_ino != self._inode or status.st_size < self._length:
                    self._start_over(status.st_ino)
                file.seek(self._length)
                new_bytes = file.read()
        except FileNotFoundError:
            self._start_over(-1)
            return []
        complete_length = new_bytes.rfind(b"\n") + 1
        self._length += complete_length
        self._is_torn = complete_length < len(new_bytes)
        # a killed writer's half of a row ends before its seal
        self._damaged_tail = len(_ROW_END.findall(new_bytes[complete_length:]))
        rows, damaged_bytes = list[bytes](), b""
        for line in new_bytes[:complete_length].split(b"\n")[:-1]:
            if is_sealed_row(line):
                rows.append(line)
                self._damaged_rows += _count_rows(damaged_bytes)
                damaged_bytes = b""
            else:
                damaged_bytes += line
        self._damaged_rows += _count_rows(damaged_bytes)
        return rows

    def append(self, row: Mapping[str, Any]) -> bytes:
        """Seals and adds a row; returns its line as `read` does. All rows must have been read, and
        the next `read` returns this one too. Raises OSError."""
        line = sealed_row(row)
        if self._is_torn and not self._damaged_tail:  # cuts off a killed writer's half of a row
            append(self.path, line, kept_bytes=self._length)
        else:
            append(self.path, b"\n" * self._is_torn + line)
        self._is_torn = False
        return line[:-1]

    def rewrite(self, lines: Iterable[bytes]) -> None:
        """Replaces the file by these rows. Raises OSError."""
        write(self.path, b"".join(line + b"\n" for line in lines))
        self._start_over(-1)

    def _start_over(self, inode: int) -> None:
        self._inode, self._length, self._is_torn = inode, 0, False
        self._damaged_rows = self._damaged_tail = 0


def _count_rows(damaged_bytes: bytes) -> int:
    """Counts the rows in damaged lines: a flipped bit may merge two rows or split one."""
    return max(1, len(_ROW_END.findall(damaged_bytes))) if damaged_bytes.strip() else 0
