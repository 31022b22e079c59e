"""A file of sealed rows that is only appended to, by one writer, and read on by many.

What a killed writer left of a row is no row; rows that were torn or altered later are counted.
Knows nothing of what the rows hold.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from narrator import files

_ROW_END = re.compile(rb',"seal":"[0-9a-f]{40}"\}')


@dataclass(slots=True)
class Journal:
    """The file, as far as it was read."""

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
            with self.path.open("rb") as file:
                stat = os.fstat(file.fileno())
                if stat.st_ino != self._inode or stat.st_size < self._length:
                    self._start_over(stat.st_ino)
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
            if files.is_sealed_row(line):
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
        line = files.sealed_row(row)
        if self._is_torn and not self._damaged_tail:  # cuts off a killed writer's half of a row
            files.append(self.path, line, size=self._length)
        else:
            files.append(self.path, b"\n" * self._is_torn + line)
        self._is_torn = False
        return line[:-1]

    def rewrite(self, lines: Iterable[bytes]) -> None:
        """Replaces the file by these rows. Raises OSError."""
        files.write(self.path, b"".join(line + b"\n" for line in lines))
        self._start_over(-1)

    def _start_over(self, inode: int) -> None:
        self._inode, self._length, self._is_torn = inode, 0, False
        self._damaged_rows = self._damaged_tail = 0


def _count_rows(damaged_bytes: bytes) -> int:
    """Counts the rows in damaged lines: a flipped bit may merge two rows or split one."""
    return max(1, len(_ROW_END.findall(damaged_bytes))) if damaged_bytes.strip() else 0
