"""The length of each chapter as it is delivered: with pauses, speeds and room for music.

The list of chapters, the player and exported files show this one figure. Knows no requests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from narrator import files
from narrator.delivery import layout, music
from narrator.delivery.layout import BookSound
from narrator.delivery.music import MusicUse
from narrator.errors import NarratorError
from narrator.pipeline.book_plan import BookPlan
from narrator.project.project import Project
from narrator.sound.mix import Tune
from narrator.speech.plan import Step
from narrator.studio.chunk_states import ChunkState
from narrator.text.memo import LastValues


class ChapterLengths:
    """Lengths of chapters, and the music that makes room for itself in them."""

    def __init__(self) -> None:
        self._tunes: LastValues[tuple[Tune, ...]] = LastValues()
        self._seconds: LastValues[float] = LastValues()

    def music(self, book: BookPlan, number: int) -> tuple[MusicUse, ...]:
        """Returns the music of a chapter; none where its files cannot be read, which an export
        reports."""
        tunes = self._measured_tunes(book.project)
        return layout.chapter_music(book, number, tunes) if tunes else ()

    def _measured_tunes(self, project: Project) -> tuple[Tune, ...]:
        entries = project.manifest.music
        if not entries:
            return ()

        def measure() -> tuple[Tune, ...]:
            try:
                return music.measure_tunes(project)
            except NarratorError:
                return ()

        facts = entries, [files.stamp(project.root / entry.file) for entry in entries]
        return self._tunes.get("", facts, measure)

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

        def lay_out() -> float:
            takes = {step.key: take for step in steps if (take := chunk_states[step.id].take)}
            return layout.delivered_seconds(book, steps, takes, shared, uses)

        facts = steps, chunk_states, shared.rate, shared.usual, book.project.manifest.pauses, uses
        return self._seconds.get(number, facts, lay_out)
