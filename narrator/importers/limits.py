"""How much a manuscript may take: memory, processor time, and text.

A file of a few bytes can ask for gigabytes or for hours, in any format. What it gets is bounded
here, with room: a text of 20 MB, the largest tried, takes two thirds of its memory. Knows no
format.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

BASE_MEMORY = 768_000_000
"""Bytes for a small file. A novel takes 100 MB, a PDF of 1,000 pages or a long Word file 200 MB."""
MEMORY_PER_BYTE = 32
"""More for each byte of the file; plain text takes 40 on top of the 90 MB of the program itself."""
MAX_MEMORY = 2_000_000_000
"""Bytes, whatever the file's size."""
BASE_SECONDS = 5.0
"""Of processor time for a small file."""
SECONDS_PER_BYTE = 90e-6
"""More for each byte of the file: an uncompressed PDF of 1,000 pages takes 7 s for each MB, and
most are compressed to a third or less."""
MAX_SECONDS = 900.0
"""Whatever the file's size."""
MAX_OUTPUT = 300_000_000
"""Bytes that come of it: its text, and its cover."""
CLOCK_SECONDS = 900.0
"""By the clock, where nothing is computed. Calibre alone has ten minutes."""
BUSY_FACTOR = 5
"""Times the processor time, by the clock: other programs may have the processor."""
_MAX_COUNTED_FILES = 10_000
"""Of a folder, whose sizes are added up."""


@dataclass(frozen=True, slots=True)
class ImportLimits:
    """What reading a manuscript may take."""

    memory: int
    """Bytes in use by the process that reads, and by those that it starts."""
    seconds: float
    """Of processor time."""

    @property
    def clock_seconds(self) -> float:
        """Seconds by the clock, after which it hangs."""
        return CLOCK_SECONDS + BUSY_FACTOR * self.seconds


def limits_for(source: Path) -> ImportLimits:
    """The limits for a file or a folder, by its size; those for a small one where it is not known.

    A folder is read file by file, and held as a whole.
    """
    size = sum(islice(_file_sizes(source), _MAX_COUNTED_FILES))
    return ImportLimits(
        min(BASE_MEMORY + MEMORY_PER_BYTE * size, MAX_MEMORY),
        min(BASE_SECONDS + SECONDS_PER_BYTE * size, MAX_SECONDS),
    )


def _file_sizes(source: Path) -> Iterator[int]:
    try:
        if not source.is_dir():
            yield source.stat().st_size
            return
    except OSError:
        return
    for folder, _, names in os.walk(source):
        for name in names:
            try:
                yield Path(folder, name).lstat().st_size
            except OSError:  # gone meanwhile
                continue
