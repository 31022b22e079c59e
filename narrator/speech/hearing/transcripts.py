"""Stores transcripts and word times of takes beside them, so that each is made once.

A row belongs to one sound (by its content), its text and its recogniser or aligner, so it outlives
renames and moves, and a new take has none. Rows are sealed and appended to one file; damaged rows
are counted, and those sounds are heard again. Knows nothing of plans.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from narrator import files, keys
from narrator.files import Journal
from narrator.sound.timing import TimedWord, WordTimes
from narrator.speech.hearing import Transcript

TRANSCRIPTS_FILE = "heard.jsonl"
_MS_PER_SECOND = 1000
_LISTENERS = ("pocketsphinx", "whisper")
"""Aligners, the most exact first; any other name is an engine, which knows its own times."""


@dataclass(slots=True)
class TranscriptStore:
    """The file of a store. One writer at a time (the project's lock); readers at any time."""

    path: Path
    unreadable: str = ""
    """The reason why the file could not be read; ""."""
    _journal: Journal = field(init=False)
    _rows: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """Rows as written, by key and listener: parsed they would be ten times as large, and a book
    has a hundred thousand words."""
    _mutex: threading.RLock = field(default_factory=threading.RLock)
    """Threads of a render write concurrently."""

    def __post_init__(self) -> None:
        self._journal = Journal(self.path)

    def find_transcript(self, content: str, text: str, recogniser: str) -> Transcript | None:
        """Returns a recogniser's transcript of a take, by identity and content, or None."""
        row = self._row("heard", content, text, recogniser)
        return None if row is None else Transcript(row["heard"], tuple(row["doubts"]))

    def find_newest_transcript(self, content: str, text: str) -> Transcript | None:
        """Returns the newest transcript of a take by any recogniser, or None."""
        self._catch_up()
        rows = self._rows.get(_key("heard", content, text), {})
        if not rows:
            return None
        row = json.loads(list(rows.values())[-1])
        return Transcript(row["heard"], tuple(row["doubts"]))

    def count_heard(self, takes: Iterable[tuple[str, str]]) -> int:
        """Counts the takes with a transcript, each given by content and text."""
        self._catch_up()
        return sum(_key("heard", content, text) in self._rows for content, text in takes)

    def find_times(self, content: str, text: str, aligner: str) -> WordTimes | None:
        """Returns an aligner's times of a take's words, by identity and content, or None.

        Times without words mean that the words could not be located.
        """
        row = self._row("times", content, text, aligner)
        return None if row is None else _parse_times(row)

    def engine_times(self, content: str, text: str) -> WordTimes | None:
        """Returns the times of a take's words that its own engine gave, or None."""
        best_times = self.find_best_times(content, text)
        return None if best_times is None or _rank(best_times) else best_times

    def find_best_times(self, content: str, text: str) -> WordTimes | None:
        """Returns the most exact times of a take's words, or None.

        Those of the engine come first, then those of the best aligner, the newest first.
        """
        self._catch_up()
        rows = reversed(self._rows.get(_key("times", content, text), {}).values())
        candidates = [times for times in map(_parse_times, map(json.loads, rows)) if times.words]
        return min(candidates, key=_rank, default=None)

    def is_timed(self, content: str, text: str) -> bool:
        """Returns whether the words of a take were timed, even if they could not be located."""
        self._catch_up()
        return _key("times", content, text) in self._rows

    @property
    def damaged(self) -> int:
        """Number of rows of the file that are torn or altered."""
        self._catch_up()
        return self._journal.damaged

    def store_transcript(
        self, content: str, text: str, recogniser: str, transcript: Transcript
    ) -> None:
        """Stores a transcript. Raises StorageError."""
        doubts = [round(doubt, 2) for doubt in transcript.doubts]
        self._add("heard", content, text, recogniser, {"heard": transcript.text, "doubts": doubts})

    def store_times(self, content: str, text: str, aligner: str, times: WordTimes) -> None:
        """Stores word times, to the millisecond. Raises StorageError."""
        rows = [
            [
                word.first,
                word.last,
                round(word.start * _MS_PER_SECOND),
                round(word.stop * _MS_PER_SECOND),
            ]
            for word in times.words
        ]
        self._add("times", content, text, aligner, {"name": times.by, "times": rows})

    def retain(self, contents: Collection[str]) -> None:
        """Removes the rows of all other takes. Raises StorageError."""
        self._catch_up()
        retained_rows = {
            key: rows
            for key, rows in self._rows.items()
            if json.loads(next(iter(rows.values())))["take"] in contents
        }
        if len(retained_rows) < len(self._rows) or self.damaged:
            self._rewrite(retained_rows)

    def forget_damaged(self) -> int:
        """Removes damaged rows from the file; returns their number. Raises StorageError."""
        count = self.damaged
        if count:
            self._rewrite(self._rows)
        return count

    def _rewrite(self, new_rows: dict[str, dict[str, bytes]]) -> None:
        self._journal.rewrite(line for rows in new_rows.values() for line in rows.values())
        self._rows = new_rows

    def _add(
        self, kind: str, content: str, text: str, listener: str, fields: Mapping[str, Any]
    ) -> None:
        row = {"key": _key(kind, content, text), "take": content, "by": listener, **fields}
        with self._mutex, files.translating_errors(self.path):
            self._catch_up()
            self._set_row(row, self._journal.append(row))

    def _set_row(self, row: Mapping[str, Any], line: bytes) -> None:
        rows = self._rows.setdefault(row["key"], {})
        rows.pop(row["by"], None)  # the newest is the last
        rows[row["by"]] = line

    def _row(self, kind: str, content: str, text: str, listener: str) -> Mapping[str, Any] | None:
        key = _key(kind, content, text)
        if listener not in self._rows.get(key, ()):
            self._catch_up()
        line = self._rows.get(key, {}).get(listener)
        row: Mapping[str, Any] | None = None if line is None else json.loads(line)
        return row

    def _catch_up(self) -> None:
        """Reads the rows that others have written since."""
        with self._mutex:
            try:
                lines, self.unreadable = self._journal.read(), ""
            except OSError as error:  # the takes are heard again, and the reason is shown
                lines, self.unreadable = [], files.reason(error)
            for line in lines:
                self._set_row(json.loads(line), line)


def _key(kind: str, content: str, text: str) -> str:
    return keys.key({"kind": kind, "take": content, "text": text})


def _parse_times(row: Mapping[str, Any]) -> WordTimes:
    words = (TimedWord(a, b, c / _MS_PER_SECOND, d / _MS_PER_SECOND) for a, b, c, d in row["times"])
    return WordTimes(row["name"], tuple(words))


def _rank(times: WordTimes) -> int:
    name = times.by.partition(" ")[0]
    return _LISTENERS.index(name) + 1 if name in _LISTENERS else 0
