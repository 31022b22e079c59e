"""What was heard in takes, and when their words are said, kept beside them: made once.

A row is of one sound (by its content), its text and who heard it, so it outlives renames and moves,
and is none of a take that is spoken anew. Sealed rows in one file that only grows; damaged ones are
counted, and what they are of is heard again. Knows nothing of plans.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from narrator import files, keys
from narrator.sound.timing import TimedWord, WordTimes
from narrator.speech.hearing import Transcript

HEARD = "heard.jsonl"
_MS = 1000
_ROW_END = re.compile(rb',"seal":"[0-9a-f]{40}"\}')
_BEST = ("pocketsphinx", "qwen3", "whisper")
"""Who listens for words, the most exact first; whoever else times them said them, and knows."""


@dataclass(slots=True)
class Hearings:
    """The file of a store. One writer at a time (the project's lock); readers at any time."""

    path: Path
    _rows: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """As they are written, by what they are of and who heard it: parsed they would be ten times as
    large, and a book has a hundred thousand words."""
    _read: tuple[int, int] = (-1, 0)
    """The file that was read, and how far."""
    unreadable: str = ""
    """Why the file could not be read."""
    _damaged: int = 0
    """Damaged rows in what was read of the file."""
    _damaged_tail: int = 0
    """Damaged rows after its last line."""
    _is_torn: bool = False
    """Whether it ended within a row."""
    _mutex: threading.RLock = field(default_factory=threading.RLock)
    """The judges of a render write side by side; what the disk has no room for is cut off again."""

    def heard(self, content: str, text: str, by: str) -> Transcript | None:
        """What a recogniser (by its identity) heard in a take (by its content) of a text."""
        row = self._row("heard", content, text, by)
        return None if row is None else Transcript(row["heard"], tuple(row["doubts"]))

    def times(self, content: str, text: str, by: str) -> WordTimes | None:
        """When the words of a take are said, as who timed them (by their identity) has it; one
        without words: they could not be found."""
        row = self._row("times", content, text, by)
        return None if row is None else _timed(row)

    def told(self, content: str, text: str) -> WordTimes | None:
        """When the words of a take are said, as who said them knows."""
        found = self.best(content, text)
        return None if found is None or _rank(found) else found

    def best(self, content: str, text: str) -> WordTimes | None:
        """The most exact times that there are of a take's words: of an engine that knows them, of
        the best aligner, of those the newest; None where nobody found any."""
        self._catch_up()
        rows = reversed(self._rows.get(_key("times", content, text), {}).values())
        found = [times for times in map(_timed, map(json.loads, rows)) if times.words]
        return min(found, key=_rank, default=None)

    def is_timed(self, content: str, text: str) -> bool:
        """Whether somebody timed the words of a take, even if they could not be found."""
        self._catch_up()
        return _key("times", content, text) in self._rows

    @property
    def damaged(self) -> int:
        """Rows of the file that were torn or altered."""
        self._catch_up()
        return self._damaged + self._damaged_tail

    def keep(self, content: str, text: str, by: str, heard: Transcript) -> None:
        """Raises StorageError."""
        doubts = [round(one, 2) for one in heard.doubts]
        self._add("heard", content, text, by, {"heard": heard.text, "doubts": doubts})

    def keep_times(self, content: str, text: str, by: str, times: WordTimes) -> None:
        """To the millisecond. Raises StorageError."""
        rows = [[w.first, w.last, round(w.start * _MS), round(w.stop * _MS)] for w in times.words]
        self._add("times", content, text, by, {"name": times.by, "times": rows})

    def retain(self, contents: Collection[str]) -> None:
        """Forget all of other takes. Raises StorageError."""
        self._catch_up()
        kept = {
            key: rows
            for key, rows in self._rows.items()
            if json.loads(next(iter(rows.values())))["take"] in contents
        }
        if len(kept) < len(self._rows) or self.damaged:
            self._rewrite(kept)

    def forget_damaged(self) -> int:
        """Remove damaged rows from the file; returns their number. Raises StorageError."""
        count = self.damaged
        if count:
            self._rewrite(self._rows)
        return count

    def _rewrite(self, kept: dict[str, dict[str, bytes]]) -> None:
        lines = (line + b"\n" for rows in kept.values() for line in rows.values())
        files.write(self.path, b"".join(lines))
        self._rows, self._read, self._damaged = kept, (-1, 0), 0
        self._damaged_tail = 0

    def _add(self, kind: str, content: str, text: str, by: str, found: Mapping[str, Any]) -> None:
        row = {"key": _key(kind, content, text), "take": content, "by": by, **found}
        line = files.sealed_row(row)
        with self._mutex, files.storage(self.path):
            self._catch_up()
            if self._is_torn and not self._damaged_tail:  # a killed writer's half of a row
                files.append(self.path, line, size=self._read[1])
            else:
                files.append(self.path, b"\n" * self._is_torn + line)
            self._is_torn = False
            self._put(row, line[:-1])

    def _put(self, row: Mapping[str, Any], line: bytes) -> None:
        rows = self._rows.setdefault(row["key"], {})
        rows.pop(row["by"], None)  # the newest is the last
        rows[row["by"]] = line

    def _row(self, kind: str, content: str, text: str, by: str) -> Mapping[str, Any] | None:
        key = _key(kind, content, text)
        if by not in self._rows.get(key, ()):
            self._catch_up()
        line = self._rows.get(key, {}).get(by)
        row: Mapping[str, Any] | None = None if line is None else json.loads(line)
        return row

    def _catch_up(self) -> None:
        """Read what others wrote since."""
        with self._mutex:
            self._read_new_rows()

    def _read_new_rows(self) -> None:
        try:
            with self.path.open("rb") as file:
                stat = os.fstat(file.fileno())
                begin = self._read[1] if self._read[0] == stat.st_ino else 0
                file.seek(begin if begin <= stat.st_size else 0)
                begin = file.tell()
                data = file.read()
        except FileNotFoundError:  # nobody listened yet
            self._is_torn = False
            self._damaged = self._damaged_tail = 0
            return
        except OSError as error:  # it is heard again, and who asks is told why
            self.unreadable, self._is_torn = files.reason(error), False
            return
        self.unreadable = ""
        whole = data.rfind(b"\n") + 1
        self._read, self._is_torn = (stat.st_ino, begin + whole), whole < len(data)
        if not begin:
            self._damaged = 0
        # a killed writer's torn tail is nothing to speak of, and ends before its seal
        self._damaged_tail = len(_ROW_END.findall(data[whole:]))
        damaged = b""
        for line in data[:whole].split(b"\n")[:-1]:
            row = _sound_row(line)
            if row is not None:
                self._put(row, line)
                self._damaged += _rows_in(damaged)
                damaged = b""
            else:
                damaged += line
        self._damaged += _rows_in(damaged)


def _key(kind: str, content: str, text: str) -> str:
    return keys.key({"kind": kind, "take": content, "text": text})


def _rows_in(damaged: bytes) -> int:
    """How many rows there were in lines that are damaged: a flipped bit makes one row of two, or
    two of one."""
    return max(1, len(_ROW_END.findall(damaged))) if damaged.strip() else 0


def _timed(row: Mapping[str, Any]) -> WordTimes:
    words = (TimedWord(a, b, c / _MS, d / _MS) for a, b, c, d in row["times"])
    return WordTimes(row["name"], tuple(words))


def _rank(times: WordTimes) -> int:
    name = times.by.partition(" ")[0]
    return _BEST.index(name) + 1 if name in _BEST else 0


def _sound_row(line: bytes) -> Mapping[str, Any] | None:
    """A whole and sealed row; None for another."""
    try:
        row = json.loads(line)
        whole = files.is_sealed_row(line.rstrip()) and (_is_heard(row) or _is_timed(row))
        named = all(type(row[name]) is str for name in ("key", "take", "by"))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return row if whole and named else None


def _is_heard(row: Mapping[str, Any]) -> bool:
    return "heard" in row and type(row["heard"]) is str and all(map(_is_number, row["doubts"]))


def _is_timed(row: Mapping[str, Any]) -> bool:
    fit = (len(word) == 4 and all(map(_is_number, word)) for word in row["times"])
    return type(row["name"]) is str and all(fit)


def _is_number(value: object) -> bool:
    return type(value) in (int, float)
