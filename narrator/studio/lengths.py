"""The length of each chapter as it is delivered: with pauses, speeds and room for music.

The list of chapters, the player and exported files show this one figure. Knows no requests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from narrator.delivery import layout, music
from narrator.delivery.layout import BookSound
from narrator.delivery.music import MusicUse
from narrator.errors import NarratorError
from narrator.pipeline.book_plan import BookPlan
from narrator.project.project import Project
from narrator.sound.mix import Tune
from narrator.speech.plan import Step
from narrator.studio.chunk_states import ChunkState


class ChapterLengths:
    """Lengths of chapters, and the music that makes room for itself in them."""

    def __init__(self) -> None:
        self._tunes: tuple[object, tuple[Tune, ...]] = None, ()
        """The measured music, after the settings and stamps of its files."""
        self._lengths: dict[int, tuple[tuple[object, ...], float]] = {}
        """Seconds by chapter, counted from 0, after what decides them."""

    def music(self, book: BookPlan, number: int) -> tuple[MusicUse, ...]:
        """Returns the music of a chapter; none where its files cannot be read, which an export
        reports."""
        tunes = self._measured_tunes(book.project)
        return layout.chapter_music(book, number, tunes) if tunes else ()

    def _measured_tunes(self, project: Project) -> tuple[Tune, ...]:
        entries = project.manifest.music
        if not entries:
            return ()
        stamp = entries, [_stamp(project.root / entry.file) for entry in entries]
        if self._tunes[0] != stamp:
            try:
                self._tunes = stamp, music.measure_tunes(project)
            except NarratorError:
                self._tunes = stamp, ()
        return self._tunes[1]

    def seconds(
        self,
        book: BookPlan,
        number: int,
        steps: Sequence[Step],
        chunk_states: Mapping[str, ChunkState],
        shared: BookSound,
    ) -> float:
        """Returns the seconds of a chapter as it is delivered; the expected ones of what has no
        take."""
        uses = self.music(book, number)
        inputs = steps, chunk_states, shared.rate, book.project.manifest.pauses, uses
        cached_inputs, cached_seconds = self._lengths.get(number, ((), 0.0))
        if inputs == cached_inputs:
            return cached_seconds
        takes = {step.key: take for step in steps if (take := chunk_states[step.id].take)}
        seconds = layout.delivered_seconds(book, steps, takes, shared, uses)
        self._lengths[number] = inputs, seconds
        return seconds


def _stamp(path: Path) -> tuple[int, int] | None:
    """Returns time and size of a file, to detect changes; None for a missing one."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size
