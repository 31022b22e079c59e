"""A command in this process, and a disk that refuses: every call that changes a file is counted,
and some of them fail.

Only beneath one folder. What FFmpeg writes goes through Python here, so that its calls count too.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import av

from narrator import cli
from narrator.engines import Engine
from narrator.pipeline import book_engines

ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT)
_CHANGING = ("replace", "rename", "mkdir", "unlink", "remove", "rmdir", "truncate", "link")


@dataclass
class Disk:
    """Fails at call `first` (from 1), and at all that follow where it `stays` that way."""

    root: Path
    first: int = 0
    """0 never fails."""
    error: int = errno.ENOSPC
    stays: bool = True
    dies: bool = False
    """kill -9 of this process, in place of a failure."""
    calls: list[str] = field(default_factory=list)
    """What was asked for: "write", "fsync" …, with the file's name."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def refuses(self, what: str, path: Any) -> bool:
        """Count a call; whether it is one that fails."""
        if isinstance(path, int) or not str(path).startswith(str(self.root)):
            return False
        with self.lock:
            self.calls.append(f"{what} {Path(path).name}")
            number = len(self.calls)
        return bool(self.first) and (number == self.first or (self.stays and number > self.first))

    def fail(self, what: str, path: Any) -> None:
        if self.refuses(what, path):
            raise self.end(str(path))

    def end(self, *path: str) -> OSError:
        if self.dies:
            os.kill(os.getpid(), signal.SIGKILL)
        return OSError(self.error, os.strerror(self.error), *path)


class _Raw(io.FileIO):
    """A file of that disk; a write that fails has written a half."""

    disk: Disk
    place: str

    def write(self, data: Any) -> int:
        if self.disk.refuses("write", self.place):
            half = memoryview(data).cast("B")
            super().write(half[: len(half) // 2])
            raise self.disk.end()
        return super().write(data)

    def truncate(self, size: int | None = None) -> int:
        self.disk.fail("truncate", self.place)
        return super().truncate(size)


@contextmanager
def failing(disk: Disk) -> Iterator[Disk]:
    """The disk in the place of the real one."""
    plain, open_container = io.open, av.open
    held: list[_Raw] = []

    def raw(path: Any, mode: str, opener: Any = None) -> _Raw:
        disk.fail("open", path)
        file = _Raw(os.fspath(path), mode.replace("b", "").replace("t", ""), opener=opener)
        file.disk, file.place = disk, os.fspath(path)
        return file

    def opened(
        path: Any, mode: str = "r", buffering: int = -1, encoding: Any = None, *more: Any, **kw: Any
    ) -> Any:
        ours = not isinstance(path, int) and str(path).startswith(str(disk.root))
        if not ours or not set(mode) & set("wax+"):
            return plain(path, mode, buffering, encoding, *more, **kw)
        file = raw(path, mode, kw.pop("opener", None))
        if buffering == 0:
            return file
        buffered = io.BufferedRandom(file) if "+" in mode else io.BufferedWriter(file)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding, *more, **kw)

    def container(path: Any, mode: str = "r", *more: Any, **kw: Any) -> Any:
        name = str(path).removeprefix("file:")
        if mode != "w" or not name.startswith(str(disk.root)):
            return open_container(path, mode, *more, **kw)
        file = raw(name, "w+")
        held.append(file)  # FFmpeg's wrapper does not close what it was given
        return written(open_container(file, mode, *more, **kw), name)

    @contextmanager
    def written(file: Any, name: str) -> Iterator[Any]:
        """As if FFmpeg had written it, which knows the number of what went wrong."""
        try:
            with file:
                yield file
        except av.error.FFmpegError as error:
            if "callback" not in str(error):
                raise
            raise OSError(disk.error, os.strerror(disk.error), name) from None

    def refusing(name: str) -> Callable[..., Any]:
        act = getattr(os, name)

        def call(path: Any, *more: Any, **kw: Any) -> Any:
            disk.fail(name, path)
            return act(path, *more, **kw)

        return call

    def descriptor(name: str) -> Callable[..., Any]:
        act = getattr(os, name)

        def call(number: int, *more: Any) -> Any:
            disk.fail(name, disk.root / name)
            return act(number, *more)

        return call

    open_number = os.open

    def numbered(path: Any, flags: int, *more: Any, **kw: Any) -> int:
        if flags & (os.O_CREAT | os.O_WRONLY | os.O_RDWR):
            disk.fail("open", path)
        return open_number(path, flags, *more, **kw)

    patches = {name: refusing(name) for name in _CHANGING} | {"open": numbered}
    patches["fsync"] = descriptor("fsync")
    with (
        mock.patch.multiple(os, **patches),
        mock.patch.object(io, "open", opened),
        mock.patch.object(builtins, "open", opened),
        mock.patch.object(av, "open", container),
    ):
        yield disk
    for file in held:
        file.close()


def command(engine: Engine | None, *arguments: str | Path) -> tuple[int, str]:
    """What `narrator` with these arguments ends with and says, maybe with another engine in the
    place of its own."""
    said = io.StringIO()
    other = mock.patch.object(book_engines, "make_main_engine", return_value=engine)
    with (
        mock.patch.object(sys, "argv", ["narrator", *map(str, arguments)]),
        other if engine else nullcontext(),
        mock.patch("narrator.cli.rendering.stop_on_signals"),
        redirect_stderr(said),
        redirect_stdout(said),
    ):
        try:
            cli.main()
        except SystemExit as end:
            return int(end.code or 0), said.getvalue()
    return 0, said.getvalue()
