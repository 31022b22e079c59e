"""The process that reads a manuscript, started and watched by `isolated.py`.

Limits itself as far as the system allows, and ends with all its children when its parent is gone.
Knows no format.
"""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import NoReturn

from manuscripts.book import Book
from manuscripts.errors import ImportFailed
from manuscripts.limits import limits_for
from manuscripts.messages import (
    FinishedBook,
    ImportAnswer,
    ImportRequest,
    MemoryExhausted,
    ReaderFault,
    ReadingFile,
    RefusedSource,
)
from manuscripts.reading import read_book
from textbase.errors import Problem, ReportedError, StorageError
from textbase.files import reason


def main(finish_book: Callable[[Book, Path], Book] | None = None) -> NoReturn:
    """Answers the request on standard input with the book that is read from the source.

    `finish_book` changes that book, within the same limits; its errors are answers as well.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # no core dump of a bomb's memory
    answer_descriptor = os.dup(1)
    os.dup2(2, 1)  # keep other output apart from answers
    request = ImportRequest.model_validate_json(sys.stdin.buffer.readline())
    _end_with_parent()
    source = Path(request.source)

    def report_fault(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        lines = traceback.format_exception(kind, error, trace)
        _send(answer_descriptor, ReaderFault(error=lines[-1].strip(), traceback="".join(lines)))
        os._exit(1)

    sys.excepthook = report_fault

    _limit_resources(source)

    def report_file(path: Path) -> None:
        _send(answer_descriptor, ReadingFile(path=str(path)))

    answer: ImportAnswer
    try:
        book = read_book(source, request.choices, report_file)
        answer = FinishedBook(book=finish_book(book, source) if finish_book else book)
    except ReportedError as error:
        answer = RefusedSource.from_error(error)
    except OSError as error:
        answer = RefusedSource.from_error(StorageError(f"{source}: {reason(error)}"))
    except MemoryError:
        answer = MemoryExhausted()
    except RecursionError:
        message = "holds parts within parts, too deep to be read; save it anew, or convert it"
        answer = RefusedSource.from_error(ImportFailed(Problem(source, None, message)))
    try:
        answer_line = answer.to_line()
    except MemoryError:  # the book and its message do not fit side by side
        del answer
        answer_line = MemoryExhausted().to_line()
    _write_all(answer_descriptor, answer_line)
    os._exit(0)


def _limit_resources(source: Path) -> None:
    """Limits the memory and processor time of this process from now on."""
    limits = limits_for(source)
    # Libraries reserve address space freely; this limit counts writable memory.
    _lower_limit(resource.RLIMIT_DATA, limits.memory_bytes)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    _lower_limit(resource.RLIMIT_CPU, int(usage.ru_utime + usage.ru_stime + limits.cpu_seconds) + 1)


def _lower_limit(resource_kind: int, limit: int) -> None:
    """Lowers a soft resource limit, within the system's hard limit; a child process can lift it
    again."""
    _, hard_limit = resource.getrlimit(resource_kind)
    limit = limit if hard_limit == resource.RLIM_INFINITY else min(limit, hard_limit)
    with contextlib.suppress(ValueError, OSError):  # the system has no such limit
        resource.setrlimit(resource_kind, (limit, hard_limit))


def _send(descriptor: int, message: ImportAnswer) -> None:
    _write_all(descriptor, message.to_line())


def _write_all(descriptor: int, message: bytes) -> None:
    remaining_bytes = memoryview(message)
    while remaining_bytes:
        remaining_bytes = remaining_bytes[os.write(descriptor, remaining_bytes) :]


def _end_with_parent() -> None:
    """Ends this process and its children when the other end of standard input closes.

    A separate process watches, since a thread waits while a regular expression works.
    """
    subprocess.Popen(
        ["/bin/sh", "-c", f"read line; kill -s KILL -- -{os.getpid()}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
