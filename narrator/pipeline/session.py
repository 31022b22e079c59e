"""The surroundings of a run: a lock for each project, and a log."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from narrator import files
from narrator.errors import (
    Locked,
    StorageError,
)
from narrator.project import buildfolder
from narrator.project.project import Project

log = logging.getLogger("narrator")


EDIT_LOCK_TIMEOUT_S = 10.0
"""Seconds to wait for another edit of the project."""


@contextlib.contextmanager
def locked(project: Project, timeout_s: float = 0.0) -> Iterator[None]:
    """Hold the project's lock, so that only one render at a time works on it.

    The lock ends with the process, however that ends. A thread that holds it may take it again.
    Waits up to `timeout_s` seconds for a lock of somebody else. Raises Locked, StorageError.
    """
    advice = "another narrator is at work on this project; wait for it, or stop it first"
    with lock_folder(project.build, timeout_s, advice):
        buildfolder.claim_folder(project.build, project.root)
        yield


@contextlib.contextmanager
def lock_folder(
    folder: Path,
    timeout_s: float = EDIT_LOCK_TIMEOUT_S,
    advice: str = "another narrator is writing there; try again",
) -> Iterator[None]:
    """Lock a folder of narrator's, waiting up to `timeout_s` seconds.

    Raises Locked with the advice, StorageError.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder.resolve() / ".lock", timeout=0, is_singleton=True)
        lock.acquire(timeout=timeout_s)
    except Timeout:
        raise Locked(f"{folder}: {advice}") from None
    except NotImplementedError:
        raise StorageError(f"{folder}: this disk knows no locks; use another one") from None
    except OSError as error:
        raise StorageError(f"{folder}: cannot be written: {files.reason(error)}") from None
    try:
        yield
    finally:
        lock.release()


class _Logbook(logging.Handler):
    """The log of a run on disk.

    Lines that cannot be written are dropped, since the work must not fail because of its log.
    """

    def __init__(self, path: Path) -> None:
        """Raises OSError."""
        super().__init__()
        self.path, self.fault = path, ""
        self.damage: dict[str, None] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab", buffering=0)  # no buffer that could fail to be written later
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        if record.name == files.corruption_log.name:
            self.damage[record.getMessage()] = None
        try:
            self._file.write(f"{self.format(record)}\n".encode(errors="backslashreplace"))
        except OSError as error:
            self.fault = files.reason(error)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()
        super().close()


@contextlib.contextmanager
def logging_to(project: Project) -> Iterator[_Logbook]:
    """Log the run to a new file in `build/logs`, where all are kept. Raises StorageError."""
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S")
    path = project.build / "logs" / f"{stamp}-{os.getpid()}.log"
    with files.translating_errors(path):
        handler = _Logbook(path)
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    start_time = time.monotonic()
    try:
        yield handler
    except BaseException as error:
        log.error("stopped: %s: %s", type(error).__name__, error)
        raise
    finally:
        log.info("%.1f s", time.monotonic() - start_time)
        log.removeHandler(handler)
        handler.close()
