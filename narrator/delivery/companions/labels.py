"""Takes as labels of Audacity: one line each with start, stop, speaker and text."""

from __future__ import annotations

from collections.abc import Iterable

from narrator.delivery.companions.spoken import SpokenChapter


def text(chapters: Iterable[tuple[SpokenChapter, float]]) -> str:
    """Returns the labels of chapters; each comes with the second at which it begins in the file."""
    rows = []
    for chapter, offset in chapters:
        rate = chapter.timeline.sample_rate
        for cue, chunk in zip(chapter.timeline.heard, chapter.chunks, strict=True):
            label = " ".join(f"{cue.chunk} {chunk.names}: {cue.text}".split())
            rows.append(f"{offset + cue.start / rate:.6f}\t{offset + cue.stop / rate:.6f}\t{label}")
    return "".join(f"{row}\n" for row in rows)
