"""The files that a book is read from, and whether they have changed since.

Knows their paths, nothing of their contents.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from narrator.pipeline import manuscript as manuscripts
from narrator.pipeline.manuscript import Manuscript, Readings
from narrator.text.speaker_files import speaker_file_path

_CLOCK_TOLERANCE_NS = 20_000_000
"""Nanoseconds that file times may lag behind the clock."""

State = tuple[int, int, int, int] | None
"""Inode, size, and times of modification and change of a file; None if it does not exist."""


@dataclass(frozen=True, slots=True)
class BookReading:
    """A book as it was read, with the states of its files at that time."""

    manuscript: Manuscript
    states: Mapping[Path, State]
    settled: bool
    """True if no file was written while the book was read."""
    caches: Readings
    """Caches for reading the book again."""

    def again(self) -> BookReading:
        """The book in its present state. Raises ManifestError, ScriptError."""
        return self if self.is_current() else read_book(self.manuscript.project.path, self.caches)

    def spoken_by(self, engine: str) -> BookReading:
        """As `Project.spoken_by`."""
        return replace(self, manuscript=self.manuscript.spoken_by(engine))

    def is_current(self) -> bool:
        """True if reading the files again would give the same book."""
        return self.settled and all(
            _file_state(path) == state for path, state in self.states.items()
        )


def read_book(path: Path, caches: Readings | None = None) -> BookReading:
    """Read a book like `manuscript.read`. Raises ManifestError, ScriptError."""
    latest_settled_time = time.time_ns() - _CLOCK_TOLERANCE_NS
    caches = caches or Readings()
    manuscript = manuscripts.read_manuscript(path, caches)
    states = {path: _file_state(path) for path in _input_paths(manuscript)}
    is_settled = all(state is None or state[2] < latest_settled_time for state in states.values())
    return BookReading(manuscript, states, is_settled, caches)


def _input_paths(manuscript: Manuscript) -> Iterator[Path]:
    """Yields the paths of all files that a book is read from."""
    project = manuscript.project
    manifest, root = project.manifest, project.root
    yield project.path
    for chapter in manifest.chapters:
        if chapter.file is not None:
            yield root / chapter.file
            yield speaker_file_path(root / chapter.file)
    yield from (voice.reference for voice in manuscript.cast.values() if voice.reference)
    other_names = (manifest.cover, manifest.source, *(music.file for music in manifest.music))
    yield from (root / name for name in other_names if name is not None)


def _file_state(path: Path) -> State:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
