"""A chapter as input of the export, and an excerpt of one: the retail sample."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from narrator import keys
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
    chosen_cues, cut_cue = _choose_cues(
        timeline, round(start * rate), round(seconds * rate) - lead - tail, language
    )
    length = lead + chosen_cues[-1].stop - chosen_cues[0].start + tail if chosen_cues else 0
    if not chosen_cues or length < min_seconds * rate:
        raise UserError(
            f"output.sample: '{sound.title}' gives {length / rate:.0f} s from {start:g} s on, of "
            f"{min_seconds:g} s that are asked for; choose another chapter, start or length"
        )
    first_sample, last_sample = chosen_cues[0].start, chosen_cues[-1].stop
    window = _Window(
        first_sample - lead,
        length,
        first_sample,
        last_sample,
        _fade_lengths(timeline, first_sample, last_sample, cut_cue),
    )
    speech = sound.speech
    whole_cues = [
        cue for cue in timeline.cues if first_sample <= cue.start and cue.stop <= last_sample
    ]
    cues = tuple(
        cue.moved(lead - first_sample) for cue in [*whole_cues, *([cut_cue.cue] if cut_cue else [])]
    )
    cut_facts = {"before": cut_cue.resumed} if cut_cue else {}
    return ChapterAudio(
        number=sound.number,
        title=title,
        key=keys.key(
            {"excerpt": 1, "of": sound.key, "from": first_sample, "to": last_sample} | cut_facts
        ),
        timeline=Timeline(rate, length, cues),
        blocks=lambda: _cut_window(sound.blocks, window, sound.channels),
        channels=sound.channels,
        speech=None if speech is None else lambda: _cut_window(speech, window, 1),
    )


def nearest_excerpt(
    sound: ChapterAudio, title: str, start: float, seconds: float, span: tuple[float, float],
    language: str,
) -> tuple[ChapterAudio, str]:  # fmt: skip
    """Cuts an `excerpt`, or the nearest that is long enough: longer, else from an earlier word on.

    `span` are its least and most seconds. Returns it with a remark on what differs from what was
    asked for, or "". Raises UserError where the chapter is too short.
    """
    timeline, (min_seconds, max_seconds) = sound.timeline, span
    try:
        return excerpt(sound, title, start, seconds, min_seconds=min_seconds, language=language), ""
    except UserError as error:
        refusal = error
    cue_starts = [cue.start / timeline.sample_rate for cue in timeline.heard]
    earlier = sorted(
        (candidate_start for candidate_start in cue_starts if candidate_start < start), reverse=True
    )
    for candidate_start in (start, *earlier):
        later_cues = [
            cue
            for cue in timeline.heard
            if cue.start >= round(candidate_start * timeline.sample_rate)
        ]
        for cue in later_cues:
            length = (cue.stop - later_cues[0].start) / timeline.sample_rate + 3 * SAMPLE_LEAD
            if min_seconds <= length <= max_seconds:
                sample = excerpt(sound, title, candidate_start, length + 0.01, language=language)
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
    resumed: int
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
    next_start = min(next_start, cut_cue.resumed) if cut_cue else next_start
    max_fade = round(FADE * timeline.sample_rate)
    return min(max_fade, first - previous_stop), min(max_fade, next_start - last)


def _cut_cue(timeline: Timeline, cue: TimelineItem, end: int, language: str) -> _CutCue | None:
    """Returns the first sentences of a cue that end before a sample.

    None where its words are not timed, no sentence has a pause after it, or it is in unison.
    """
    cut_cue: _CutCue | None = None
    if any(candidate.with_before and candidate.start == cue.start for candidate in timeline.cues):
        return cut_cue
    for _, stop in sentences(cue.text, language)[:-1]:
        number = bisect_left(cue.words, stop, key=lambda word: word[0])
        if not 0 < number < len(cue.words):
            continue
        (_, last_word_end, _, word_stop), (next_word_start, _, next_word_time, _) = cue.words[
            number - 1 : number + 1
        ]
        is_timed = not any(
            map(str.isalnum, cue.text[last_word_end:stop] + cue.text[stop:next_word_start])
        )
        if (
            is_timed
            and word_stop <= end
            and next_word_time - word_stop >= MIN_SENTENCE_GAP * timeline.sample_rate
        ):
            text = cue.text[:stop].rstrip()
            words = cue.words[:number]
            cut_cue = _CutCue(replace(cue, stop=word_stop, text=text, words=words), next_word_time)
    return cut_cue


@dataclass(frozen=True, slots=True)
class _Window:
    """The part of a chapter's samples that an excerpt holds."""

    begin: int
    """First sample; it may lie before the chapter's first, as the end may lie after its last."""
    length: int
    first: int
    last: int
    """Samples between which everything is at full level."""
    fades: tuple[int, int]
    """Samples of the fades before and after that; beyond them is silence, so that the next words
    are not heard."""

    def gain(self, positions: NDArray[np.int64]) -> Samples:
        """Returns the gain at positions in the chapter."""
        fade_in = (positions - self.first + self.fades[0]) / max(1, self.fades[0])
        fade_out = (self.last + self.fades[1] - positions) / max(1, self.fades[1])
        return raised_cosine(np.minimum(fade_in, fade_out)).astype(np.float32)


def _cut_window(
    blocks: Callable[[], Iterator[Samples]], window: _Window, channels: int
) -> Iterator[Samples]:
    """Streams the window's samples; silence where the chapter has none."""
    window_end = window.begin + window.length
    next_position = window.begin  # next sample to yield
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
