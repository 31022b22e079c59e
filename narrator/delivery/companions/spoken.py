"""A chapter as it was spoken, and when each part of a take is heard.

Where a take lies is exact. Within a take, times are shared out by how long a narrator needs for
the words. Knows no file format.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from narrator.sound.assemble import Timeline
from narrator.text.chunks import Chunk
from narrator.text.lines import Chapter
from narrator.text.pace import expected_seconds


@dataclass(frozen=True, slots=True)
class SpokenChapter:
    """One chapter and the timeline of its sound."""

    number: int
    """From 1, in its book."""
    chapter: Chapter
    chunks: tuple[Chunk, ...]
    """What is heard one after the other: of those in unison the first. Their lines are the
    chapter's own objects."""
    timeline: Timeline

    def __post_init__(self) -> None:
        if [cue.text for cue in self.timeline.heard] != [chunk.text for chunk in self.chunks]:
            raise ValueError(f"chapter {self.number}: chunks and timeline are not of one render")
        own = {id(line) for scene in self.chapter.scenes for line in scene.lines}
        if not all(id(piece.line) in own for chunk in self.chunks for piece in chunk.pieces):
            raise ValueError(f"chapter {self.number}: chunks are not cut from this chapter's lines")

    @property
    def title(self) -> str:
        return self.chapter.title

    @property
    def language(self) -> str:
        return self.chapter.language


def moments(
    text: str, spans: Sequence[tuple[int, int]], start: float, stop: float, language: str
) -> list[float]:
    """When each of the `spans` of a take's text begins, and when the last one ends.

    `start` and `stop` are the take's bounds in seconds; the answers lie within them and never run
    backwards.
    """
    weights = [_weight(text[first:last], language) for first, last in spans]
    if weights:  # a take is trimmed: the pause after its last mark is not in it
        first, last = spans[-1]
        weights[-1] = _weight(text[first:last].rstrip(_CLOSING), language)
    whole = sum(weights)
    begins = [start]
    done = 0.0
    for weight in weights[:-1]:
        done += weight
        moment = start + (stop - start) * done / whole
        begins.append(min(max(moment, begins[-1]), stop))
    return [*begins, stop]


_CLOSING = ".,;:!?…。！？、，—–-\"'”’»›)] \n"


def _weight(text: str, language: str) -> float:
    return expected_seconds(text, language) + 0.05
