"""A chapter as it comes to export, and a cut from one: the retail sample."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from narrator import keys
from narrator.errors import UserError
from narrator.sound.assemble import Cue, Timeline
from narrator.sound.audio import Samples, silent
from narrator.text.sentences import sentences


@dataclass(frozen=True, slots=True)
class ChapterAudio:
    """One chapter, ready to be heard."""

    number: int
    """From 1, in its book."""
    title: str
    key: str
    """Of everything that decides its samples: `assemble.sound_key`."""
    timeline: Timeline
    blocks: Callable[[], Iterator[Samples]]
    """Its samples at the timeline's rate, (n,) or (n, 2), from the start at every call; from a
    thread, once for all encodings."""
    channels: int = 1
    """Of what `blocks` gives: 2 where there is music in stereo."""
    speech: Callable[[], Iterator[Samples]] | None = None
    """The words alone, in one channel, where `blocks` has music too; as long as that. They are what
    is levelled, as far as the target accepts the mix, lest music makes a chapter's words louder or
    quieter than the next."""


SAMPLE_LEAD = 0.75
"""Seconds before a sample's first word and, twice, after its last: within what ACX asks for."""
MIN_SENTENCE_GAP = 0.1
"""Seconds between two sentences of a take that a sample may end in."""
FADE = 0.25
"""Seconds in which what lies before and after the words, such as music, comes and goes at most."""


def excerpt(
    sound: ChapterAudio,
    title: str,
    start: float,
    seconds: float,
    *,
    least: float = 0,
    language: str = "",
) -> ChapterAudio:
    """The part of a chapter from the first words after `start` on, `seconds` at most with its
    silent edges; it begins and ends in pauses, within a take too where its words are timed, after a
    sentence of this language. Raises UserError where it gets no `least` seconds.
    """
    timeline = sound.timeline
    rate = timeline.sample_rate
    lead, tail = round(SAMPLE_LEAD * rate), round(2 * SAMPLE_LEAD * rate)
    chosen_cues, cut_cue = _choose_cues(
        timeline, round(start * rate), round(seconds * rate) - lead - tail, language
    )
    length = lead + chosen_cues[-1].stop - chosen_cues[0].start + tail if chosen_cues else 0
    if not chosen_cues or length < least * rate:
        raise UserError(
            f"output.sample: '{sound.title}' gives {length / rate:.0f} s from {start:g} s on, of "
            f"{least:g} s that are asked for; choose another chapter, start or length"
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
    """An `excerpt`, or where that gets too short the nearest that does not: longer, else from an
    earlier word on. `span` are the seconds that it may have, least and most; with it a remark on
    what is other than was asked for, or "". Raises UserError where the chapter is too short.
    """
    timeline, (min_seconds, max_seconds) = sound.timeline, span
    try:
        return excerpt(sound, title, start, seconds, least=min_seconds, language=language), ""
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
                    f"the retail sample lasts {sample.timeline.seconds:.0f} s{start_note}: takes of "
                    f"'{sound.title}' allow none of {min_seconds:g} to {seconds:g} s from {start:g} s on"
                )
    raise refusal


@dataclass(frozen=True, slots=True)
class _CutCue:
    """The first sentences of a cue."""

    cue: Cue
    resumed: int
    """Where the next is heard."""


def _choose_cues(
    timeline: Timeline, start: int, max_length: int, language: str
) -> tuple[list[Cue], _CutCue | None]:
    """What is heard from `start` on within so many samples; and the last of it, where that is not
    whole."""
    later_cues = [cue for cue in timeline.heard if cue.start >= start]
    cues = [cue for cue in later_cues if cue.stop - later_cues[0].start <= max_length]
    if not later_cues[len(cues) :]:
        return cues, None
    cut_cue = _cut_cue(timeline, later_cues[len(cues)], later_cues[0].start + max_length, language)
    return [*cues, *([cut_cue.cue] if cut_cue else [])], cut_cue


def _fade_lengths(
    timeline: Timeline, first: int, last: int, cut_cue: _CutCue | None
) -> tuple[int, int]:
    """Samples before and after what is held that no other words are heard in."""
    previous_stop = max((cue.stop for cue in timeline.heard if cue.stop <= first), default=0)
    next_start = min(
        (cue.start for cue in timeline.heard if cue.start >= last), default=timeline.length
    )
    next_start = min(next_start, cut_cue.resumed) if cut_cue else next_start
    max_fade = round(FADE * timeline.sample_rate)
    return min(max_fade, first - previous_stop), min(max_fade, next_start - last)


def _cut_cue(timeline: Timeline, cue: Cue, end: int, language: str) -> _CutCue | None:
    """The sentences of a cue that are heard before a sample is to end; None where its words are not
    timed, or no sentence has a pause after it. A unison stays whole."""
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
    """What of a chapter's samples is heard."""

    begin: int
    """Where the cut begins: it may lie before the chapter's first sample, or end after its last."""
    length: int
    first: int
    last: int
    """From where to where everything is heard."""
    fades: tuple[int, int]
    """Samples before and after that: beyond them is silence, lest the next words are heard."""

    def gain(self, positions: NDArray[np.int64]) -> Samples:
        """At places in the chapter."""
        fade_in = (positions - self.first + self.fades[0]) / max(1, self.fades[0])
        fade_out = (self.last + self.fades[1] - positions) / max(1, self.fades[1])
        ramp = np.clip(np.minimum(fade_in, fade_out), 0, 1)
        return (0.5 - 0.5 * np.cos(np.pi * ramp)).astype(np.float32)


def _cut_window(
    blocks: Callable[[], Iterator[Samples]], window: _Window, channels: int
) -> Iterator[Samples]:
    """The window's samples; silent where the chapter has none."""
    window_end = window.begin + window.length
    next_position = window.begin  # of the next sample to give
    block_start = 0  # of the block in the chapter
    if next_position < 0:
        yield silent(-next_position, channels)
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
        yield silent(window_end - next_position, channels)
