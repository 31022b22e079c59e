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


LEAD = 0.75
"""Seconds before a sample's first word and, twice, after its last: within what ACX asks for."""
ROOM = 0.1
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
    line = sound.timeline
    rate = line.sample_rate
    lead, tail = round(LEAD * rate), round(2 * LEAD * rate)
    held, cut = _chosen(line, round(start * rate), round(seconds * rate) - lead - tail, language)
    length = lead + held[-1].stop - held[0].start + tail if held else 0
    if not held or length < least * rate:
        raise UserError(
            f"output.sample: '{sound.title}' gives {length / rate:.0f} s from {start:g} s on, of "
            f"{least:g} s that are asked for; choose another chapter, start or length"
        )
    first, last = held[0].start, held[-1].stop
    window = _Window(first - lead, length, first, last, _fades(line, first, last, cut))
    words = sound.speech
    whole = [cue for cue in line.cues if first <= cue.start and cue.stop <= last]
    cues = tuple(cue.moved(lead - first) for cue in [*whole, *([cut.cue] if cut else [])])
    within = {"before": cut.resumed} if cut else {}
    return ChapterAudio(
        number=sound.number,
        title=title,
        key=keys.key({"excerpt": 1, "of": sound.key, "from": first, "to": last} | within),
        timeline=Timeline(rate, length, cues),
        blocks=lambda: _cut(sound.blocks, window, sound.channels),
        channels=sound.channels,
        speech=None if words is None else lambda: _cut(words, window, 1),
    )


def nearest_excerpt(
    sound: ChapterAudio, title: str, start: float, seconds: float, span: tuple[float, float],
    language: str,
) -> tuple[ChapterAudio, str]:  # fmt: skip
    """An `excerpt`, or where that gets too short the nearest that does not: longer, else from an
    earlier word on. `span` are the seconds that it may have, least and most; with it a remark on
    what is other than was asked for, or "". Raises UserError where the chapter is too short.
    """
    line, (least, most) = sound.timeline, span
    try:
        return excerpt(sound, title, start, seconds, least=least, language=language), ""
    except UserError as error:
        refusal = error
    begins = [cue.start / line.sample_rate for cue in line.heard]
    earlier = sorted((begin for begin in begins if begin < start), reverse=True)
    for begin in (start, *earlier):
        later = [cue for cue in line.heard if cue.start >= round(begin * line.sample_rate)]
        for cue in later:
            length = (cue.stop - later[0].start) / line.sample_rate + 3 * LEAD
            if least <= length <= most:
                cut = excerpt(sound, title, begin, length + 0.01, language=language)
                where = f" from {begin:.0f} s on" if begin < start else ""
                return cut, (
                    f"the retail sample lasts {cut.timeline.seconds:.0f} s{where}: takes of "
                    f"'{sound.title}' allow none of {least:g} to {seconds:g} s from {start:g} s on"
                )
    raise refusal


@dataclass(frozen=True, slots=True)
class _CutCue:
    """The first sentences of a cue."""

    cue: Cue
    resumed: int
    """Where the next is heard."""


def _chosen(
    line: Timeline, start: int, most: int, language: str
) -> tuple[list[Cue], _CutCue | None]:
    """What is heard from `start` on within so many samples; and the last of it, where that is not
    whole."""
    begins = [cue for cue in line.heard if cue.start >= start]
    held = [cue for cue in begins if cue.stop - begins[0].start <= most]
    if not begins[len(held) :]:
        return held, None
    cut = _parted(line, begins[len(held)], begins[0].start + most, language)
    return [*held, *([cut.cue] if cut else [])], cut


def _fades(line: Timeline, first: int, last: int, cut: _CutCue | None) -> tuple[int, int]:
    """Samples before and after what is held that no other words are heard in."""
    before = max((cue.stop for cue in line.heard if cue.stop <= first), default=0)
    after = min((cue.start for cue in line.heard if cue.start >= last), default=line.length)
    after = min(after, cut.resumed) if cut else after
    most = round(FADE * line.sample_rate)
    return min(most, first - before), min(most, after - last)


def _parted(line: Timeline, cue: Cue, end: int, language: str) -> _CutCue | None:
    """The sentences of a cue that are heard before a sample is to end; None where its words are not
    timed, or no sentence has a pause after it. A unison stays whole."""
    found: _CutCue | None = None
    if any(other.with_before and other.start == cue.start for other in line.cues):
        return found
    for _, stop in sentences(cue.text, language)[:-1]:
        number = bisect_left(cue.words, stop, key=lambda word: word[0])
        if not 0 < number < len(cue.words):
            continue
        (_, said, _, last), (meant, _, resumed, _) = cue.words[number - 1 : number + 1]
        timed = not any(map(str.isalnum, cue.text[said:stop] + cue.text[stop:meant]))
        if timed and last <= end and resumed - last >= ROOM * line.sample_rate:
            text = cue.text[:stop].rstrip()
            words = cue.words[:number]
            found = _CutCue(replace(cue, stop=last, text=text, words=words), resumed)
    return found


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

    def gain(self, places: NDArray[np.int64]) -> Samples:
        """At places in the chapter."""
        rising = (places - self.first + self.fades[0]) / max(1, self.fades[0])
        falling = (self.last + self.fades[1] - places) / max(1, self.fades[1])
        edge = np.clip(np.minimum(rising, falling), 0, 1)
        return (0.5 - 0.5 * np.cos(np.pi * edge)).astype(np.float32)


def _cut(
    blocks: Callable[[], Iterator[Samples]], window: _Window, channels: int
) -> Iterator[Samples]:
    """The window's samples; silent where the chapter has none."""
    end = window.begin + window.length
    at = window.begin  # of the next sample to give
    position = 0  # of the block in the chapter
    if at < 0:
        yield silent(-at, channels)
        at = 0
    for block in blocks():
        low, high = max(at - position, 0), min(end - position, len(block))
        position += len(block)
        if low < high:
            places = np.arange(at, at + high - low)
            yield (block[low:high].T * window.gain(places)).T
            at += high - low
        if at >= end:
            return
    if at < end:
        yield silent(end - at, channels)
