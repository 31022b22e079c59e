"""Turns takes and pauses into a chapter's timeline and its sound, in bounded memory.

A timeline is computed from figures alone, exact to the sample, before any sound is read; the sound
is then streamed to it. Clips in unison begin together and keep their own lengths: none is stretched
to the others. Knows nothing of engines, stores and files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import accumulate, groupby
from pathlib import Path
from statistics import median

import numpy as np

from narrator import keys
from narrator.errors import DamagedTake
from narrator.sound.audio import (
    SILENCE,
    BlockReader,
    Samples,
    amplitude,
    fade,
    make_silence,
    stretch,
)
from narrator.sound.timing import WordTimes

# -- the timeline ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PlacedTake:
    """One take on its way into a chapter."""

    key: str
    """Identifies the take to the function that reads it."""
    start: int
    stop: int
    """Bounds of speech in the take, in samples."""
    gain: float
    """dB."""
    speed: float
    """1.1 is ten per cent faster, at the same pitch."""
    pause: float
    """Seconds without sound after it, and after all clips in unison with it."""
    chunk: str
    """Id of its chunk."""
    speaker: str
    text: str
    path: Path
    """The source of its text, with the number of the line there."""
    line: int
    with_before: bool = False
    """True for a clip that sounds at the same time as the one before."""
    times: WordTimes | None = None
    """Times of the words of `text`, in seconds of the take; None where they were not timed."""
    quiet: tuple[float, float] = (0.0, 0.0)
    """Seconds of the take within its bounds before its first and after its last sound."""

    @property
    def length(self) -> int:
        """Samples that it fills on the timeline."""
        return round((self.stop - self.start) / self.speed)


@dataclass(frozen=True, slots=True)
class TimelineItem:
    """The position of one clip in its chapter's sound, in samples, and its text."""

    start: int
    stop: int
    key: str
    chunk: str
    speaker: str
    text: str
    path: Path
    line: int
    with_before: bool = False
    """True for one that begins with the cue before; others begin after the end of all before."""
    words: tuple[tuple[int, int, int, int], ...] = ()
    """Each timed word as (first, last, start, stop): it is `text[first:last]`, and sounds from
    sample `start` to `stop`."""
    timed_by: str = ""
    """Source of the word times; "" where there are none."""

    def moved(self, by: int) -> TimelineItem:
        """Returns the same cue `by` samples later."""
        words = tuple(
            (first, last, start + by, stop + by) for first, last, start, stop in self.words
        )
        return replace(self, start=self.start + by, stop=self.stop + by, words=words)


@dataclass(frozen=True, slots=True)
class Timeline:
    """The plan of a chapter's sound. Cues are in order, and overlap only in unison."""

    sample_rate: int
    length: int
    """Samples in all, head and tail too."""
    cues: tuple[TimelineItem, ...]
    takes: tuple[PlacedTake, ...] = field(default=(), compare=False, repr=False)
    """The takes that it was planned from, one for each cue; none of a timeline that was read."""

    @property
    def seconds(self) -> float:
        return self.length / self.sample_rate

    @property
    def heard(self) -> tuple[TimelineItem, ...]:
        """The cues one after the other; those in unison are merged into their first, which lasts
        until all have ended."""
        merged: list[TimelineItem] = []
        for cue in self.cues:
            if cue.with_before:
                merged[-1] = replace(merged[-1], stop=max(merged[-1].stop, cue.stop))
            else:
                merged.append(cue)
        return tuple(merged)

    def to_json(self) -> str:
        """Returns one sealed JSON object; equal timelines give equal text."""
        cues = [asdict(cue) | {"path": cue.path.as_posix()} for cue in self.cues]
        for cue in cues:
            for name in ("with_before", "words", "timed_by"):
                if not cue[name]:
                    del cue[name]
        record = {"sample_rate": self.sample_rate, "length": self.length, "cues": cues}
        return json.dumps({**record, "seal": keys.seal(record)}, ensure_ascii=False, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Timeline:
        """Reads the output of `to_json`.

        Raises ValueError, KeyError or TypeError where the text is not a timeline, or was altered.
        """
        record = json.loads(text)
        if record.pop("seal") != keys.seal(record):
            raise ValueError("altered since it was written")
        cues = tuple(
            TimelineItem(
                **{
                    **cue,
                    "path": Path(cue["path"]),
                    "words": tuple(map(tuple, cue.get("words", ()))),
                }
            )
            for cue in record["cues"]
        )
        return cls(record["sample_rate"], record["length"], cues)


def plan_timeline(
    clips: Sequence[PlacedTake], *, sample_rate: int, head_seconds: float, tail_seconds: float
) -> Timeline:
    """Places clips one after the other, each with its pause, between a silent head and tail.

    A pause is measured as it is heard, from the last sound to the next: quiet within clips is part
    of it, and where that alone is longer, clips follow at once. Clips in unison begin together, and
    the pause of the first follows the end of the last. The last clip's pause counts only where it
    is longer than the tail. Raises ValueError for an impossible pause, speed or bounds.
    """
    cues: list[TimelineItem] = []
    position = sound_end = round(head_seconds * sample_rate)
    pause_samples = 0
    for clip in clips:
        if clip.pause < 0 or clip.speed <= 0 or not 0 <= clip.start <= clip.stop:
            raise ValueError(f"clip {clip.chunk} cannot be laid: {clip}")
        is_unison = clip.with_before and bool(cues)
        if is_unison:
            start = cues[-1].start
        else:
            quiet_samples = round(clip.quiet[0] / clip.speed * sample_rate)
            start = max(position, sound_end + pause_samples - quiet_samples)
            pause_samples = round(clip.pause * sample_rate)
        stop = start + clip.length
        position = max(position, stop)
        sound_end = max(sound_end, stop - round(clip.quiet[1] / clip.speed * sample_rate))
        cues.append(
            TimelineItem(
                start=start,
                stop=stop,
                key=clip.key,
                chunk=clip.chunk,
                speaker=clip.speaker,
                text=clip.text,
                path=clip.path,
                line=clip.line,
                with_before=is_unison,
                words=place_words(clip, start, sample_rate),
                timed_by=clip.times.by if clip.times else "",
            )
        )
    length = position + max(pause_samples, round(tail_seconds * sample_rate))
    return Timeline(sample_rate, length, tuple(cues), tuple(clips))


def place_words(clip: PlacedTake, start: int, rate: int) -> tuple[tuple[int, int, int, int], ...]:
    """Converts a clip's word times to samples on the timeline, within the clip and in order.

    `start` is the sample at which the clip begins.
    """
    words: list[tuple[int, int, int, int]] = []
    word_stop, clip_stop = start, start + clip.length

    def to_position(seconds: float) -> int:
        return start + round((seconds * rate - clip.start) / clip.speed)

    for word in clip.times.words if clip.times else ():
        word_start = min(max(to_position(word.start), word_stop), clip_stop)
        word_stop = min(max(to_position(word.stop), word_start), clip_stop)
        words.append((word.first, word.last, word_start, word_stop))
    return tuple(words)


def sound_key(timeline: Timeline, content_hash: Callable[[PlacedTake], str]) -> str:
    """Returns a key of everything that decides the samples of `stream`, and of nothing else.

    `content_hash` returns the hash of a clip's samples. Texts, names and lines are left out.
    """
    clip_rows = [
        [cue.start, content_hash(clip), clip.start, clip.stop, clip.gain, clip.speed]
        + ["with before"] * cue.with_before
        for cue, clip in zip(timeline.cues, timeline.takes, strict=True)
    ]
    return keys.key(
        {
            "sound": 1,
            "sample_rate": timeline.sample_rate,
            "length": timeline.length,
            "clips": clip_rows,
        }
    )


# -- the sound -------------------------------------------------------------------------------------

BLOCK = 65536
"""Samples of a block."""


def stream(
    timeline: Timeline,
    read: Callable[[PlacedTake], Samples],
    block_size: int = BLOCK,
) -> Iterator[Samples]:
    """Streams a chapter's samples in blocks; holds one take (or those in unison) and one block.

    `read` returns the samples of a clip's take at the timeline's rate. Clips get their speed, gain
    and short fades; between them is digital silence. Raises DamagedTake where a take is shorter
    than its clip, and errors of `read`.
    """
    reader = BlockReader(_spans_and_silences(timeline, read))
    for start in range(0, timeline.length, block_size):
        yield reader.take(min(block_size, timeline.length - start))


def _spans_and_silences(
    timeline: Timeline, read: Callable[[PlacedTake], Samples]
) -> Iterator[Samples]:
    """Yields the sounds of all spans, and the silences before, between and after them."""
    position = 0
    for span in spans(timeline):
        yield make_silence(span.start - position)
        yield render_span(span, read, timeline.sample_rate)
        position = span.stop
    yield make_silence(timeline.length - position)


@dataclass(frozen=True, slots=True)
class Span:
    """Clips that sound together, and their position in samples."""

    start: int
    stop: int
    clips: tuple[PlacedTake, ...]
    """One, or several in unison."""


def spans(timeline: Timeline) -> Iterator[Span]:
    """Yields the spans of a timeline."""
    group_numbers = accumulate(not cue.with_before for cue in timeline.cues)
    groups = groupby(zip(group_numbers, timeline.takes, strict=True), key=lambda row: row[0])
    for cue, (_, group) in zip(timeline.heard, groups, strict=True):
        yield Span(cue.start, cue.stop, tuple(clip for _, clip in group))


def render_span(span: Span, read: Callable[[PlacedTake], Samples], rate: int) -> Samples:
    """Returns the samples of a span as `stream` would, without silence at its end.

    Raises the errors of `stream`.
    """
    sounds = (_clip_sound(clip, read(clip), rate) for clip in span.clips)
    return _mix_unison(sounds, span.stop - span.start)


def _mix_unison(sounds: Iterator[Samples], length: int) -> Samples:
    """Sums sounds that begin together, scaled to the mean energy of one of them.

    Voices add up by their powers, so two of one level are 3 dB louder than one and would stand out
    of their scene. The energy of the sum is measured, so that similar sounds, which add up to more,
    come out right too. Peaks above those of one voice are left to the limiter of the export.
    """
    mixed = np.zeros(length, np.float32)
    energies = []
    for sound in sounds:
        mixed[: len(sound)] += sound
        energies.append(float(np.vdot(sound, sound)))
    mixed_energy = float(np.vdot(mixed, mixed))
    if len(energies) > 1 and mixed_energy:
        mixed *= np.float32(np.sqrt(sum(energies) / len(energies) / mixed_energy))
    return mixed


def _clip_sound(clip: PlacedTake, take_samples: Samples, rate: int) -> Samples:
    """Cuts a clip out of its take, and applies its speed, fades and gain. Raises DamagedTake."""
    if len(take_samples) < clip.stop:
        raise DamagedTake(
            f"take {clip.key}: {len(take_samples)} samples, its speech ends at {clip.stop}"
        )
    sound = fade(stretch(take_samples[clip.start : clip.stop], rate, clip.speed), rate)
    if clip.gain:
        sound *= np.float32(amplitude(clip.gain))
    return sound


# -- levels ----------------------------------------------------------------------------------------

MAX_GAIN_DB = 12.0
"""Most dB by which a speaker is raised or lowered to match the cast."""
GAIN_STEP_DB = 0.5
"""Gains are rounded to this many dB, an inaudible difference, so that a changed take seldom changes
a gain and with it every chapter of the book."""


def speaker_gains(
    measured: Mapping[str, Sequence[tuple[float, float]]],
    author_gains: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """Returns the gain in dB that brings each speaker to one level, the median of all speakers.

    `measured` holds (level in dB, seconds) of every take of a speaker; the median, weighted by
    seconds, is the speaker's level. `author_gains` are added on top.
    """
    speaker_levels = {name: _median_level(takes) for name, takes in measured.items()}
    audible_levels = [level for level in speaker_levels.values() if level is not None]
    cast_level = median(audible_levels) if audible_levels else 0.0
    gains = {}
    for name, level in speaker_levels.items():
        missing_db = 0.0 if level is None else cast_level - level
        gain = round(missing_db / GAIN_STEP_DB) * GAIN_STEP_DB
        author_gain = (author_gains or {}).get(name, 0.0)
        gains[name] = min(max(gain, -MAX_GAIN_DB), MAX_GAIN_DB) + author_gain
    return gains


def speech_level(
    measured: Mapping[str, Sequence[tuple[float, float]]], gains: Mapping[str, float]
) -> float:
    """Returns the median level in dB of the book's speech with these gains, weighted by seconds.

    Rounded to `GAIN_STEP_DB`, so that a changed take seldom moves levels that depend on it.
    """
    amplified_takes = [
        (level + gains.get(name, 0.0), seconds)
        for name, takes in measured.items()
        for level, seconds in takes
        if level > SILENCE
    ]
    median_level = weighted_median(amplified_takes)
    return SILENCE if median_level is None else round(median_level / GAIN_STEP_DB) * GAIN_STEP_DB


def _median_level(takes: Sequence[tuple[float, float]]) -> float | None:
    """Returns the median of levels weighted by seconds; None where nothing is audible."""
    return weighted_median([(level, seconds) for level, seconds in takes if level > SILENCE])


def weighted_median(figures: Sequence[tuple[float, float]]) -> float | None:
    """Returns the median of figures, each with the seconds of sound that it counts for; None for
    none."""
    seconds_to_median = sum(seconds for _, seconds in figures) / 2
    for figure, seconds in sorted(figures):
        seconds_to_median -= seconds
        if seconds_to_median <= 0:
            return figure
    return None
