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
from narrator.sound.audio import SILENCE, Samples, amplitude, fade, stretch
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
    speaker: str
    text: str
    path: Path
    line: int
    with_before: bool = False
    """True for a clip that sounds at the same time as the one before."""
    times: WordTimes | None = None
    """Times of the words of `text`, in seconds of the take; None where they were not timed."""
    quiet: tuple[float, float] = (0.0, 0.0)
    """Seconds of the take within its bounds before its first and after its last sound."""

    @property
    def length(self) -> int:
        """Samples that it takes on the timeline."""
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
        words = tuple((first, last, a + by, b + by) for first, last, a, b in self.words)
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

        Raises ValueError, KeyError or TypeError where the text is no timeline, or was altered.
        """
        record = json.loads(text)
        if record.pop("seal") != keys.seal(record):
            raise ValueError("altered since it was written")
        cues = tuple(
            TimelineItem(
                **{
                    **cue,
                    "path": Path(cue["path"]),
                    "words": tuple((a, b, c, d) for a, b, c, d in cue.get("words", ())),
                }
            )
            for cue in record["cues"]
        )
        return cls(record["sample_rate"], record["length"], cues)


def plan_timeline(
    clips: Sequence[PlacedTake], *, sample_rate: int, head: float, tail: float
) -> Timeline:
    """Places clips one after the other, each with its pause; head and tail are seconds of silence.

    A pause is measured as it is heard, from the last sound to the next: quiet within clips is part
    of it, and where that alone is longer, clips follow at once. Clips in unison begin together, and
    the pause of the first follows the end of the last. The last clip's pause counts only where it
    is longer than the tail. Raises ValueError for an impossible pause, speed or bounds.
    """
    cues: list[TimelineItem] = []
    position = sound_end = round(head * sample_rate)
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
                words=_place_words(clip, start, sample_rate),
                timed_by=clip.times.by if clip.times else "",
            )
        )
    length = position + max(pause_samples, round(tail * sample_rate))
    return Timeline(sample_rate, length, tuple(cues), tuple(clips))


def _place_words(clip: PlacedTake, start: int, rate: int) -> tuple[tuple[int, int, int, int], ...]:
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
    buffer = np.zeros(min(block_size, timeline.length), np.float32)
    buffer_start = 0  # position of `buffer` on the timeline
    for span in spans(timeline):
        start, sound = span.start, render_span(span, read, timeline.sample_rate)
        written_count = 0
        while written_count < len(sound):
            offset = start + written_count - buffer_start
            if offset >= len(buffer):
                yield buffer
                buffer_start += len(buffer)
                buffer = np.zeros(min(block_size, timeline.length - buffer_start), np.float32)
                continue
            size = min(len(sound) - written_count, len(buffer) - offset)
            buffer[offset : offset + size] = sound[written_count : written_count + size]
            written_count += size
    while len(buffer):
        yield buffer
        buffer_start += len(buffer)
        buffer = np.zeros(min(block_size, timeline.length - buffer_start), np.float32)


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
    first = next(sounds)
    mixed, energy, count = first, float(np.vdot(first, first)), 1
    for sound in sounds:
        if count == 1:
            mixed = np.zeros(length, np.float32)
            mixed[: len(first)] = first
        mixed[: len(sound)] += sound
        energy += float(np.vdot(sound, sound))
        count += 1
    if count > 1 and (mixed_energy := float(np.vdot(mixed, mixed))):
        mixed *= np.float32(np.sqrt(energy / count / mixed_energy))
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

BOUND = 12.0
"""Most dB by which a speaker is raised or lowered to match the cast."""
STEP = 0.5
"""Gains are rounded to this many dB, an inaudible difference, so that a changed take seldom changes
a gain and with it every chapter of the book."""


def speaker_gains(
    measured: Mapping[str, Sequence[tuple[float, float]]],
    gains: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """Returns the gain in dB that brings each speaker to one level, the median of all speakers.

    `measured` holds (level in dB, seconds) of every take of a speaker; the median, weighted by
    seconds, is the speaker's level. `gains` are set by the author and added on top.
    """
    speaker_levels = {name: _weighted_median(takes) for name, takes in measured.items()}
    audible_levels = [level for level in speaker_levels.values() if level is not None]
    cast_level = median(audible_levels) if audible_levels else 0.0
    gains_by_speaker = {}
    for name, level in speaker_levels.items():
        gain = 0.0 if level is None else round((cast_level - level) / STEP) * STEP
        gains_by_speaker[name] = min(max(gain, -BOUND), BOUND) + (gains or {}).get(name, 0.0)
    return gains_by_speaker


def speech_level(
    measured: Mapping[str, Sequence[tuple[float, float]]], gains: Mapping[str, float]
) -> float:
    """Returns the median level in dB of the book's speech with these gains, weighted by seconds.

    Rounded to `STEP`, so that a changed take seldom moves levels that depend on it.
    """
    takes = [
        (level + gains.get(name, 0.0), seconds)
        for name, measured_takes in measured.items()
        for level, seconds in measured_takes
        if level > SILENCE
    ]
    level = _weighted_median(takes)
    return SILENCE if level is None else round(level / STEP) * STEP


def _weighted_median(takes: Sequence[tuple[float, float]]) -> float | None:
    """Returns the median of levels weighted by seconds; None where nothing is audible."""
    audible = sorted((level, seconds) for level, seconds in takes if level > SILENCE)
    remaining_seconds = sum(seconds for _, seconds in audible) / 2
    for level, seconds in audible:
        remaining_seconds -= seconds
        if remaining_seconds <= 0:
            return level
    return None
