"""A chapter as input of the export, and an excerpt of one: the retail sample."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from narrator import keys
from narrator.delivery.provenance import Provenance
from narrator.errors import UserError
from narrator.sound.assemble import Timeline, TimelineItem
from narrator.sound.audio import Samples, make_silence, raised_cosine
from narrator.text.sentences import sentences


@dataclass(frozen=True, slots=True)
class ChapterAudio:
    """A chapter's sound, ready to be exported."""

    number: int
    """Counted from 1, in its book."""
    title: str
    key: str
    """Key of everything that decides its samples: `assemble.sound_key`."""
    timeline: Timeline
    blocks: Callable[[], Iterator[Samples]]
    """Streams its samples at the timeline's rate, (n,) or (n, 2), from the start at every call;
    called from a thread, once for all encodings."""
    channels: int = 1
    """Channel count of `blocks`: 2 where there is music in stereo."""
    speech: Callable[[], Iterator[Samples]] | None = None
    """Streams the words alone, in one channel and equally long, where `blocks` has music too. They
    decide the level, as far as the target accepts the mix, so that music does not make a chapter's
    words louder or quieter than the next."""
    provenance: Provenance = field(default_factory=Provenance)


SAMPLE_LEAD = 0.75
"""Seconds before a sample's first word and, twice, after its last: within ACX's demands."""
MIN_SENTENCE_GAP = 0.1
"""Least seconds between two sentences of a take for a sample to end there."""
FADE = 0.25
"""Most seconds in which sound around the words, such as music, fades in and out."""


def excerpt(
    sound: ChapterAudio,
    title: str,
    start: float,
    seconds: float,
    *,
    min_seconds: float = 0,
    language: str = "",
) -> ChapterAudio:
    """Cuts a chapter from the first words after `start` on, to `seconds` at most with its silent
    edges.

    It begins and ends in pauses, also within a take, after a sentence of this language, where its
    words are timed. Raises UserError where it is shorter than `min_seconds`.
    """
    timeline = sound.timeline
    rate = timeline.sample_rate
    lead, tail = round(SAMPLE_LEAD * rate), round(2 * SAMPLE_LEAD * rate)
    max_length = round(seconds * rate) - lead - tail
    chosen_cues, cut_cue = _choose_cues(timeline, round(start * rate), max_length, language)
    length = lead + chosen_cues[-1].stop - chosen_cues[0].start + tail if chosen_cues else 0
    if not chosen_cues or length < min_seconds * rate:
        raise UserError(
            f"output.sample: '{sound.title}' gives {length / rate:.0f} s from {start:g} s on, of "
            f"{min_seconds:g} s that are asked for; choose another chapter, start or length"
        )
    words_start, words_stop = chosen_cues[0].start, chosen_cues[-1].stop
    fades = _fade_lengths(timeline, words_start, words_stop, cut_cue)
    window = _Window(words_start - lead, length, words_start, words_stop, fades)
    # `chosen_cues` merges those in unison
    cues = [cue for cue in timeline.cues if words_start <= cue.start and cue.stop <= words_stop]
    recipe = {"excerpt": 1, "of": sound.key, "from": words_start, "to": words_stop}
    if cut_cue:
        cues.append(cut_cue.cue)
        recipe["before"] = cut_cue.next_start
    speech = sound.speech
    return ChapterAudio(
        number=sound.number,
        title=title,
        key=keys.key(recipe),
        timeline=Timeline(rate, length, tuple(cue.moved(lead - words_start) for cue in cues)),
        blocks=lambda: _cut_window(sound.blocks, window, sound.channels),
        channels=sound.channels,
        speech=None if speech is None else lambda: _cut_window(speech, window, 1),
        provenance=sound.provenance,
    )


def nearest_excerpt(
    sound: ChapterAudio, title: str, start: float, seconds: float,
    span_seconds: tuple[float, float], language: str,
) -> tuple[ChapterAudio, str]:  # fmt: skip
    """Cuts an `excerpt`, or the nearest that is long enough: longer, else from an earlier word on.

    `span_seconds` are its least and most seconds. Returns it with a remark on what differs from
    what was asked for, or "". Raises UserError where the chapter is too short.
    """
    timeline, (min_seconds, max_seconds) = sound.timeline, span_seconds
    try:
        return excerpt(sound, title, start, seconds, min_seconds=min_seconds, language=language), ""
    except UserError as error:
        refusal = error
    rate = timeline.sample_rate
    cue_starts = (cue.start / rate for cue in timeline.heard)
    earlier_starts = sorted((at_s for at_s in cue_starts if at_s < start), reverse=True)
    for candidate_start in (start, *earlier_starts):
        cues = [cue for cue in timeline.heard if cue.start >= round(candidate_start * rate)]
        for cue in cues:
            candidate_seconds = (cue.stop - cues[0].start) / rate + 3 * SAMPLE_LEAD
            if min_seconds <= candidate_seconds <= max_seconds:
                sample = excerpt(
                    sound, title, candidate_start, candidate_seconds + 0.01, language=language
                )
                start_note = f" from {candidate_start:.0f} s on" if candidate_start < start else ""
                return sample, (
                    f"the retail sample lasts {sample.timeline.seconds:.0f} s{start_note}: takes "
                    f"of '{sound.title}' allow none of {min_seconds:g} to {seconds:g} s "
                    f"from {start:g} s on"
                )
    raise refusal


@dataclass(frozen=True, slots=True)
class _CutCue:
    """The first sentences of a cue."""

    cue: TimelineItem
    next_start: int
    """Sample at which the next sentence begins."""


def _choose_cues(
    timeline: Timeline, start: int, max_length: int, language: str
) -> tuple[list[TimelineItem], _CutCue | None]:
    """Returns the cues from `start` on that fit into `max_length` samples.

    The second result is the last of them, where only its first sentences fit.
    """
    later_cues = [cue for cue in timeline.heard if cue.start >= start]
    cues = [cue for cue in later_cues if cue.stop - later_cues[0].start <= max_length]
    if not later_cues[len(cues) :]:
        return cues, None
    cut_cue = _cut_cue(timeline, later_cues[len(cues)], later_cues[0].start + max_length, language)
    return [*cues, *([cut_cue.cue] if cut_cue else [])], cut_cue


def _fade_lengths(
    timeline: Timeline, first: int, last: int, cut_cue: _CutCue | None
) -> tuple[int, int]:
    """Returns the samples before and after the excerpt in which no other words are heard."""
    previous_stop = max((cue.stop for cue in timeline.heard if cue.stop <= first), default=0)
    next_start = min(
        (cue.start for cue in timeline.heard if cue.start >= last), default=timeline.length
    )
    next_start = min(next_start, cut_cue.next_start) if cut_cue else next_start
    max_fade = round(FADE * timeline.sample_rate)
    return min(max_fade, first - previous_stop), min(max_fade, next_start - last)


def _cut_cue(timeline: Timeline, cue: TimelineItem, end: int, language: str) -> _CutCue | None:
    """Returns the first sentences of a cue that end before a sample.

    None where its words are not timed, no sentence has a pause after it, or it is in unison.
    """
    if any(unison.with_before and unison.start == cue.start for unison in timeline.cues):
        return None
    cut_cue: _CutCue | None = None
    for _, sentence_end in sentences(cue.text, language)[:-1]:
        word_count = bisect_left(cue.words, sentence_end, key=lambda word: word[0])
        if not 0 < word_count < len(cue.words):
            continue
        _, last_word_end, _, stop = cue.words[word_count - 1]
        next_word_offset, _, next_start, _ = cue.words[word_count]
        # else a word beside the cut is not timed
        are_adjacent = not any(map(str.isalnum, cue.text[last_word_end:next_word_offset]))
        has_pause = next_start - stop >= MIN_SENTENCE_GAP * timeline.sample_rate
        if are_adjacent and has_pause and stop <= end:
            text, words = cue.text[:sentence_end].rstrip(), cue.words[:word_count]
            cut_cue = _CutCue(replace(cue, stop=stop, text=text, words=words), next_start)
    return cut_cue


@dataclass(frozen=True, slots=True)
class _Window:
    """The part of a chapter's samples that an excerpt holds."""

    start: int
    """First sample; it may lie before the chapter's first, as the end may lie after its last."""
    length: int
    words_start: int
    words_stop: int
    """Samples between which everything is at full level."""
    fades: tuple[int, int]
    """Samples of the fades before and after that; beyond them is silence, so that the next words
    are not heard."""

    def gain(self, positions: NDArray[np.int64]) -> Samples:
        """Returns the gain at positions in the chapter."""
        fade_in = (positions - self.words_start + self.fades[0]) / max(1, self.fades[0])
        fade_out = (self.words_stop + self.fades[1] - positions) / max(1, self.fades[1])
        return raised_cosine(np.minimum(fade_in, fade_out)).astype(np.float32)


def _cut_window(
    blocks: Callable[[], Iterator[Samples]], window: _Window, channels: int
) -> Iterator[Samples]:
    """Streams the window's samples; silence where the chapter has none."""
    window_end = window.start + window.length
    next_position = window.start  # next sample to yield
    block_start = 0  # position of the block in the chapter
    if next_position < 0:
        yield make_silence(-next_position, channels)
        next_position = 0
    for block in blocks():
        start, stop = max(next_position - block_start, 0), min(window_end - block_start, len(block))
        block_start += len(block)
        if start < stop:
            positions = np.arange(next_position, next_position + stop - start)
            yield (block[start:stop].T * window.gain(positions)).T
            next_position += stop - start
        if next_position >= window_end:
            return
    if next_position < window_end:
        yield make_silence(window_end - next_position, channels)
