"""Limits on the memory, processor time and output of reading a manuscript.

A file of a few bytes can ask for gigabytes or for hours, in any format. The limits leave room: a
text of 20 MB, the largest tried, takes two thirds of its memory. Knows no format.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

BASE_MEMORY_BYTES = 768_000_000
"""Bytes for a small file. A novel takes 100 MB, a PDF of 1,000 pages or a long Word file 200 MB."""
MEMORY_PER_BYTE = 32
"""Additional bytes for each byte of the file; plain text takes 40 on top of the 90 MB of the
program itself."""
MAX_MEMORY_BYTES = 2_000_000_000
"""Bytes, for a file of any size."""
BASE_CPU_SECONDS = 5.0
"""Seconds of processor time for a small file."""
CPU_SECONDS_PER_BYTE = 90e-6
"""Additional seconds for each byte of the file: an uncompressed PDF of 1,000 pages takes 7 s for
each MB, and most are compressed to a third or less."""
MAX_CPU_SECONDS = 900.0
"""Seconds of processor time, for a file of any size."""
MAX_OUTPUT_BYTES = 300_000_000
"""Bytes of the imported book: its text and its cover."""
BASE_CLOCK_SECONDS = 900.0
"""Seconds of wall-clock time without computation. Calibre alone has ten minutes."""
CLOCK_SECONDS_PER_CPU_SECOND = 5
"""Wall-clock seconds allowed for each second of processor time, since other programs may be
running."""
_MAX_COUNTED_FILES = 10_000
"""Largest number of a folder's files whose sizes are added up."""


@dataclass(frozen=True, slots=True)
class ImportLimits:
    """Limits of the process that reads a manuscript."""

    memory_bytes: int
    """Memory of the process and its children."""
    cpu_seconds: float

    @property
    def clock_seconds(self) -> float:
        """Wall-clock seconds after which the process counts as hanging."""
        return BASE_CLOCK_SECONDS + CLOCK_SECONDS_PER_CPU_SECOND * self.cpu_seconds


def limits_for(source: Path) -> ImportLimits:
    """Returns the limits for a file or a folder, by its size; those for a small one if its size
    cannot be read.

    A folder is read file by file, but held in memory as a whole.
    """
    source_bytes = sum(islice(_file_sizes(source), _MAX_COUNTED_FILES))
    return ImportLimits(
        min(BASE_MEMORY_BYTES + MEMORY_PER_BYTE * source_bytes, MAX_MEMORY_BYTES),
        min(BASE_CPU_SECONDS + CPU_SECONDS_PER_BYTE * source_bytes, MAX_CPU_SECONDS),
    )


def _file_sizes(source: Path) -> Iterator[int]:
    """Yields the size in bytes of each file."""
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
            except OSError:  # deleted in the meantime
                continue
