"""The files that a book is read from, and whether they are as they were when it was.

Knows their places, nothing of what they say.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from narrator.pipeline import manuscript as manuscripts
from narrator.pipeline.manuscript import Manuscript, Readings
from narrator.text.decided import place_of

_TICK = 20_000_000
"""Nanoseconds that the times of files may be behind the clock."""

State = tuple[int, int, int, int] | None
"""Of a file: which one, its size, when it was written and changed; None where there is none."""


@dataclass(frozen=True, slots=True)
class BookReading:
    """A book as it was read, and the files that it was read from as they were."""

    manuscript: Manuscript
    states: Mapping[Path, State]
    settled: bool
    """Whether none of them was written while it was read."""
    before: Readings
    """For who reads it again."""

    def again(self) -> BookReading:
        """The book as it is now. Raises ManifestError, ScriptError."""
        return self if self.is_current() else read(self.manuscript.project.path, self.before)

    def is_current(self) -> bool:
        """Whether reading the files again would give the same."""
        return self.settled and all(_state(path) == state for path, state in self.states.items())


def read(path: Path, before: Readings | None = None) -> BookReading:
    """As `manuscript.read`. Raises ManifestError, ScriptError."""
    began = time.time_ns() - _TICK
    before = before or Readings()
    manuscript = manuscripts.read(path, before)
    states = {path: _state(path) for path in _files(manuscript)}
    settled = all(state is None or state[2] < began for state in states.values())
    return BookReading(manuscript, states, settled, before)


def _files(manuscript: Manuscript) -> Iterator[Path]:
    project = manuscript.project
    manifest, root = project.manifest, project.root
    yield project.path
    for chapter in manifest.chapters:
        if chapter.file is not None:
            yield root / chapter.file
            yield place_of(root / chapter.file)
    yield from (voice.reference for voice in manuscript.cast.values() if voice.reference)
    others = (manifest.cover, manifest.source, *(music.file for music in manifest.music))
    yield from (root / name for name in others if name is not None)


def _state(path: Path) -> State:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
