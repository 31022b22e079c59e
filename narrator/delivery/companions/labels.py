"""Takes as labels of Audacity: a line each with start, stop, and who says what."""

from __future__ import annotations

from collections.abc import Iterable

from narrator.delivery.companions.spoken import SpokenChapter


def text(chapters: Iterable[tuple[SpokenChapter, float]]) -> str:
    """Labels of chapters, each given with the second at which it begins in the file."""
    rows = []
    for spoken, offset in chapters:
        rate = spoken.timeline.sample_rate
        for cue, chunk in zip(spoken.timeline.heard, spoken.chunks, strict=True):
            label = " ".join(f"{cue.chunk} {chunk.names}: {cue.text}".split())
            rows.append(f"{offset + cue.start / rate:.6f}\t{offset + cue.stop / rate:.6f}\t{label}")
    return "".join(f"{row}\n" for row in rows)
