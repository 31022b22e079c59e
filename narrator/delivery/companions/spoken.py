"""A spoken chapter, and the times of each part of a take.

The position of a take is exact. Within a take, times are those of its words, where they are known;
text between them is divided by the time that a narrator needs for it. Knows no file format.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, takewhile

from narrator.sound.assemble import Timeline, TimelineItem
from narrator.text.chunks import Chunk
from narrator.text.lines import Chapter
from narrator.text.pace import expected_seconds


@dataclass(frozen=True, slots=True)
class SpokenChapter:
    """One chapter and the timeline of its sound."""

    number: int
    """Counted from 1, in its book."""
    chapter: Chapter
    chunks: tuple[Chunk, ...]
    """Chunks that are heard one after the other: of those in unison the first. Their lines are the
    chapter's own objects."""
    timeline: Timeline

    def __post_init__(self) -> None:
        if [cue.text for cue in self.timeline.heard] != [chunk.text for chunk in self.chunks]:
            raise ValueError(f"chapter {self.number}: chunks and timeline are not of one render")
        line_ids = {id(line) for scene in self.chapter.scenes for line in scene.lines}
        if not all(id(piece.line) in line_ids for chunk in self.chunks for piece in chunk.pieces):
            raise ValueError(f"chapter {self.number}: chunks are not cut from this chapter's lines")

    @property
    def title(self) -> str:
        return self.chapter.title

    @property
    def language(self) -> str:
        return self.chapter.language


def moments(
    cue: TimelineItem, rate: int, spans: Sequence[tuple[int, int]], language: str
) -> list[float]:
    """Returns the start of each of the `spans` of a cue's text, and the end of the last, in
    seconds.

    The first begins with the cue, the last ends with it; times never run backwards. The start of a
    span without timed words is estimated.
    """
    start, stop = cue.start / rate, cue.stop / rate
    weights = [_weight(cue.text[first:last], language) for first, last in spans]
    if weights:  # a trimmed take has no pause after its last punctuation
        first, last = spans[-1]
        weights[-1] = _weight(cue.text[first:last].rstrip(_CLOSING), language)
    word_indices = [bisect_left(cue.words, first, key=_word_first) for first, _ in spans]
    known_times = {
        index: cue.words[word_index][2] / rate
        for index, (word_index, (_, last)) in enumerate(zip(word_indices, spans, strict=True))
        if word_index < len(cue.words) and cue.words[word_index][0] < last
    }
    known_times |= {0: start, len(spans): stop}
    span_starts: list[float] = []
    for first_known, next_known in pairwise(sorted(known_times)):
        section_start = min(max([known_times[first_known], *span_starts[-1:]]), stop)
        section_seconds = max(known_times[next_known], section_start) - section_start
        section_weights = weights[first_known:next_known]
        for word_index, weight_before in zip(
            word_indices[first_known:next_known],
            accumulate(section_weights, initial=0.0),
            strict=False,
        ):
            estimate = section_start + section_seconds * weight_before / sum(section_weights)
            previous_word_stop = cue.words[word_index - 1][3] / rate if word_index else start
            span_starts.append(min(max(estimate, previous_word_stop), stop))
    return [*span_starts, stop]


def _word_first(word: tuple[int, int, int, int]) -> int:
    """Returns the text offset at which a timed word begins."""
    return word[0]


@dataclass(frozen=True, slots=True)
class SpokenWord:
    """A timed word of a cue, or several that are spoken as one: `text[first:last]`."""

    first: int
    last: int
    start: float
    """Seconds in the chapter."""
    stop: float


def words_within(cue: TimelineItem, rate: int, first: int, last: int) -> tuple[SpokenWord, ...]:
    """Returns the timed words that lie in a part of a cue's text."""
    contained = takewhile(
        lambda word: word[1] <= last, cue.words[bisect_left(cue.words, first, key=_word_first) :]
    )
    return tuple(
        SpokenWord(word_first, word_last, start / rate, stop / rate)
        for word_first, word_last, start, stop in contained
    )


_CLOSING = ".,;:!?…。！？、，—–-\"'”’»›)] \n"


def _weight(text: str, language: str) -> float:
    """Returns the relative duration of a text."""
    return expected_seconds(text, language) + 0.05
