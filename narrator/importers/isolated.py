"""A manuscript read in a process of its own, which is ended where it takes too much.

A file that was made to harm can crash a library, fill the memory, or never end: that costs the
import, in a sentence, and nothing else. Systems limit processor time; memory is watched here, too,
since macOS does not limit it. What comes back is data (`messages.py`).
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from narrator import processes
from narrator.errors import ImportFailed, Problem
from narrator.importers.book import Book, Choices
from narrator.importers.limits import OUTPUT, limits_for
from narrator.importers.messages import (
    FinishedBook,
    ImportAnswer,
    ImportRequest,
    MemoryExhausted,
    ReaderFault,
    ReadingFile,
    RefusedSource,
    answer_of,
)

if TYPE_CHECKING:
    import psutil

START = "from narrator.importers.reader_process import main; main()"
_INTERVAL = 0.02
"""Seconds between two looks at its memory: a gigabyte may be filled in one."""
_FAMILY_INTERVAL = 0.5
"""Seconds between two looks for processes that it has started: all of the system are searched."""
_PATIENCE = 10.0
"""Seconds in which a process that has closed its output must have ended."""
_MOST_OF_MEMORY = 0.75
"""Of its limit: one that crashes with as much has asked for more."""
_CHUNK = 1 << 20
_MEND = "it may be damaged or made to do harm; split it, or convert it to another format"


def import_isolated(source: Path, choices: Choices = Choices()) -> Book:  # noqa: B008  # frozen
    """As `import_book`, in another process.

    Raises also ImportFailed where it takes more than its limits, or crashes.
    """
    reader = _ReaderProcess(source, choices)
    try:
        return reader.book()
    finally:
        reader.end()


class _ReaderProcess:
    """The process, and what is known of it."""

    def __init__(self, source: Path, choices: Choices) -> None:
        request = ImportRequest(source=str(source), choices=choices).line()
        self.path = source
        """What is read now: of a folder, one of its files."""
        self.limits = limits_for(source)
        self.began = time.monotonic()
        self.peak = 0
        """The most bytes of memory that were seen."""
        self._process = subprocess.Popen(
            processes.python_command(START),
            stdin=subprocess.PIPE,  # stays open: it ends when we do
            stdout=subprocess.PIPE,
            stderr=None if os.environ.get("NARRATOR_TRACEBACK") else subprocess.DEVNULL,
            process_group=0,  # ctrl-C is for us, and all that it starts is ended with it
        )
        self._family: list[psutil.Process] = []
        self._looked = self._searched = 0.0
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # how it ended is told below
            self._process.stdin.write(request)
            self._process.stdin.flush()

    def book(self) -> Book:
        """What is read. Raises NarratorError."""
        assert self._process.stdout is not None
        output = self._process.stdout.fileno()
        line, size = bytearray(), 0
        with selectors.DefaultSelector() as selector:
            selector.register(output, selectors.EVENT_READ)
            while True:
                ready = selector.select(_INTERVAL)
                self._watch()
                if not ready:
                    continue
                chunk = os.read(output, _CHUNK)
                if not chunk:
                    raise self._died()
                size += len(chunk)
                if size > OUTPUT:
                    what = f"has more than {_megabytes(OUTPUT)} of text, which no book has"
                    raise self._failed(f"{what}; split it")
                *ended, last = chunk.split(b"\n")
                for piece in ended:
                    line += piece
                    if (book := self._answered(bytes(line))) is not None:
                        return book
                    line.clear()
                line += last

    def end(self) -> None:
        """End it at once, with all that it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._process.wait()

    def _answered(self, line: bytes) -> Book | None:
        """The book, if this answer is it. Raises NarratorError."""
        try:
            answer: ImportAnswer = answer_of(line)
        except ValueError:
            raise self._failed(f"was not read: what reads it gave no answer; {_MEND}") from None
        match answer:
            case ReadingFile():
                self.path = Path(answer.path)
                return None
            case FinishedBook():
                return answer.book
            case RefusedSource():
                raise answer.exception()
            case MemoryExhausted():
                raise self._too_large()
            case ReaderFault():
                fault = RuntimeError(f"what reads manuscripts failed: {answer.error}")
                fault.add_note(answer.traceback)
                raise fault

    # -- limits ------------------------------------------------------------------------------------

    def _watch(self) -> None:
        """Look whether it keeps to its limits. Raises ImportFailed."""
        now = time.monotonic()
        if now - self._looked < _INTERVAL:
            return
        self._looked = now
        self.peak = max(self.peak, used := self._memory(now))
        if used > self.limits.memory:
            raise self._too_large()
        if now - self.began > self.limits.clock_seconds:
            minutes = self.limits.clock_seconds / 60
            raise self._failed(f"was not read in {minutes:.0f} minutes; {_MEND}")

    def _memory(self, now: float) -> int:
        """Bytes of memory in use by it and by what it has started."""
        import psutil

        if now - self._searched > _FAMILY_INTERVAL:
            self._searched = now
            with contextlib.suppress(psutil.Error):
                process = psutil.Process(self._process.pid)
                self._family = [process, *process.children(recursive=True)]
        used = 0
        for process in self._family:
            with contextlib.suppress(psutil.Error):
                used += process.memory_info().rss
        return used

    # -- how it ended ------------------------------------------------------------------------------

    def _died(self) -> ImportFailed:
        """Why it has ended without an answer."""
        try:
            code = self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            return self._failed(f"was not read: what reads it has closed its output; {_MEND}")
        if code == -signal.SIGXCPU:
            seconds = f"{self.limits.seconds:.0f} s of computing"
            return self._failed(f"was not read in {seconds}; {_MEND}")
        if self.peak > _MOST_OF_MEMORY * self.limits.memory:
            return self._too_large()
        how = processes.ending(code)
        if code == -signal.SIGKILL:
            what = f"was not read: what reads it {how}, as where a machine's memory runs out"
            return self._failed(f"{what}; close other programs, or split the manuscript")
        return self._failed(f"was not read: what reads it {how}; {_MEND}")

    def _too_large(self) -> ImportFailed:
        return self._failed(f"takes more than {_megabytes(self.limits.memory)} of memory; {_MEND}")

    def _failed(self, what: str) -> ImportFailed:
        return ImportFailed(Problem(self.path, None, what))


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"
