"""Reads a manuscript in a separate process, which is killed if it exceeds its limits.

A malicious file can crash a library, fill the memory, or never end: that fails the import with a
message, and nothing else. The system limits processor time; memory is also watched here, since
macOS does not limit it. The answers are data (`messages.py`).
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from manuscripts.book import Book, Choices
from manuscripts.errors import ImportFailed, ImportStopped
from manuscripts.limits import MAX_OUTPUT_BYTES, limits_for
from manuscripts.messages import (
    FinishedBook,
    ImportAnswer,
    ImportRequest,
    MemoryExhausted,
    ReaderFault,
    ReadingFile,
    RefusedSource,
    parse_answer,
)
from textbase import processes
from textbase.errors import Problem

if TYPE_CHECKING:
    import psutil

READER_CODE = "from manuscripts.reader_process import main; main()"
_MEMORY_CHECK_INTERVAL_S = 0.02
"""Time between two checks of its memory: a gigabyte may be filled in one second."""
_CHILD_SEARCH_INTERVAL_S = 0.5
"""Time between two searches for its child processes, which scan all of the system's."""
_EXIT_TIMEOUT_S = 10.0
"""Time within which a process that has closed its output must end."""
_EXHAUSTED_MEMORY_SHARE = 0.75
"""Share of the memory limit from which a crash counts as lack of memory."""
_READ_SIZE_BYTES = 1 << 20
_ADVICE = "it may be damaged or made to do harm; split it, or convert it to another format"


def read_isolated(
    source: Path,
    choices: Choices = Choices(),  # noqa: B008  # frozen
    is_stopped: Callable[[], bool] = lambda: False,
    reader_code: str = "",
) -> Book:
    """Returns the book in a file or a folder as `read_book` does, in another process.

    `is_stopped` is asked several times a second. `reader_code` runs there in place of what only
    reads. Also raises ImportFailed if the process exceeds its limits or crashes, ImportStopped.
    """
    reader = _ReaderProcess(source, choices, is_stopped, reader_code or READER_CODE)
    try:
        return reader.read_book()
    finally:
        reader.stop()


class _ReaderProcess:
    """The reader process, with its limits and answers."""

    def __init__(
        self, source: Path, choices: Choices, is_stopped: Callable[[], bool], reader_code: str
    ) -> None:
        request = ImportRequest(source=str(source), choices=choices).to_line()
        self.current_path = source
        """File that is being read; in a folder, one of its files."""
        self.is_stopped = is_stopped
        self.limits = limits_for(source)
        self.start_time = time.monotonic()
        self.peak_memory_bytes = 0
        self._process = subprocess.Popen(
            processes.python_command(reader_code),
            stdin=subprocess.PIPE,  # stays open, so that the reader ends with this process
            stdout=subprocess.PIPE,
            stderr=None if os.environ.get("NARRATOR_TRACEBACK") else subprocess.DEVNULL,
            process_group=0,  # spared by ctrl-C, and killed with its children
        )
        self._watched_processes: list[psutil.Process] = []
        """The process and its children."""
        self._last_check_time = self._last_search_time = 0.0
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # `_exit_error` reports why
            self._process.stdin.write(request)
            self._process.stdin.flush()

    def read_book(self) -> Book:
        """Returns the book. Raises ReportedError."""
        assert self._process.stdout is not None
        output_descriptor = self._process.stdout.fileno()
        answer_line, output_bytes = bytearray(), 0
        with selectors.DefaultSelector() as selector:
            selector.register(output_descriptor, selectors.EVENT_READ)
            while True:
                is_readable = selector.select(_MEMORY_CHECK_INTERVAL_S)
                self._check_limits()
                if not is_readable:
                    continue
                chunk = os.read(output_descriptor, _READ_SIZE_BYTES)
                if not chunk:
                    raise self._exit_error()
                output_bytes += len(chunk)
                if output_bytes > MAX_OUTPUT_BYTES:
                    message = (
                        f"has more than {_megabytes(MAX_OUTPUT_BYTES)} of text, which no book has"
                    )
                    raise self._import_error(f"{message}; split it")
                *line_ends, next_line_start = chunk.split(b"\n")
                for line_end in line_ends:
                    answer_line += line_end
                    if (book := self._handle_answer(bytes(answer_line))) is not None:
                        return book
                    answer_line.clear()
                answer_line += next_line_start

    def stop(self) -> None:
        """Kills the process and everything that it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._process.wait()

    def _handle_answer(self, line: bytes) -> Book | None:
        """Returns the book if this answer holds it. Raises ReportedError."""
        try:
            answer: ImportAnswer = parse_answer(line)
        except ValueError:
            raise self._import_error(
                f"was not read: what reads it gave no answer; {_ADVICE}"
            ) from None
        match answer:
            case ReadingFile():
                self.current_path = Path(answer.path)
                return None
            case FinishedBook():
                return answer.book
            case RefusedSource():
                raise answer.to_exception()
            case MemoryExhausted():
                raise self._memory_error()
            case ReaderFault():
                fault = RuntimeError(f"what reads manuscripts failed: {answer.error}")
                fault.add_note(answer.traceback)
                raise fault

    # -- limits ------------------------------------------------------------------------------------

    def _check_limits(self) -> None:
        """Checks memory, time, and the user's wish. Raises ImportFailed, ImportStopped."""
        current_time = time.monotonic()
        if current_time - self._last_check_time < _MEMORY_CHECK_INTERVAL_S:
            return
        self._last_check_time = current_time
        if self.is_stopped():
            raise ImportStopped(Problem(self.current_path, None, "was not read: stopped"))
        used_bytes = self._used_memory_bytes(current_time)
        self.peak_memory_bytes = max(self.peak_memory_bytes, used_bytes)
        if used_bytes > self.limits.memory_bytes:
            raise self._memory_error()
        if current_time - self.start_time > self.limits.clock_seconds:
            minutes = self.limits.clock_seconds / 60
            raise self._import_error(f"was not read in {minutes:.0f} minutes; {_ADVICE}")

    def _used_memory_bytes(self, current_time: float) -> int:
        """Returns the memory used by the process and its children."""
        import psutil

        if current_time - self._last_search_time > _CHILD_SEARCH_INTERVAL_S:
            self._last_search_time = current_time
            with contextlib.suppress(psutil.Error):
                process = psutil.Process(self._process.pid)
                self._watched_processes = [process, *process.children(recursive=True)]
        used_bytes = 0
        for process in self._watched_processes:
            with contextlib.suppress(psutil.Error):
                used_bytes += process.memory_info().rss
        return used_bytes

    # -- how it ended ------------------------------------------------------------------------------

    def _exit_error(self) -> ImportFailed:
        """Returns the error for a process that ended without an answer."""
        try:
            code = self._process.wait(_EXIT_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return self._import_error(
                f"was not read: what reads it has closed its output; {_ADVICE}"
            )
        if code == -signal.SIGXCPU:
            seconds = f"{self.limits.cpu_seconds:.0f} s of computing"
            return self._import_error(f"was not read in {seconds}; {_ADVICE}")
        if self.peak_memory_bytes > _EXHAUSTED_MEMORY_SHARE * self.limits.memory_bytes:
            return self._memory_error()
        ending = processes.ending(code)
        if code == -signal.SIGKILL:
            message = f"was not read: what reads it {ending}, as where a machine's memory runs out"
            return self._import_error(f"{message}; close other programs, or split the manuscript")
        return self._import_error(f"was not read: what reads it {ending}; {_ADVICE}")

    def _memory_error(self) -> ImportFailed:
        return self._import_error(
            f"takes more than {_megabytes(self.limits.memory_bytes)} of memory; {_ADVICE}"
        )

    def _import_error(self, message: str) -> ImportFailed:
        return ImportFailed(Problem(self.current_path, None, message))


def _megabytes(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:,.0f} MB"
