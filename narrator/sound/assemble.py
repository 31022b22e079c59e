"""Takes and pauses -> a chapter's timeline and its sound, in bounded memory.

A timeline is laid out from figures alone, exact to the sample, before any sound is read; the sound
is then streamed to it. Clips in unison begin at one time and last as long as they last: none is
stretched to the others. Knows nothing of engines, stores and files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
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
class Region:
    """One take on its way into a chapter."""

    key: str
    """Names the take to whoever reads it."""
    start: int
    stop: int
    """Bounds of speech in the take, in samples."""
    gain: float
    """dB."""
    speed: float
    """1.1 is ten per cent faster, at the same pitch."""
    pause: float
    """Seconds without sound after it, and after all that is heard with it."""
    chunk: str
    speaker: str
    text: str
    path: Path
    line: int
    with_before: bool = False
    """Whether it is heard at the same time as the clip before."""
    times: WordTimes | None = None
    """Of the words of `text`, in seconds of the take; None where nobody timed them."""
    quiet: tuple[float, float] = (0.0, 0.0)
    """Seconds of the take within its bounds before its first and after its last sound."""

    @property
    def length(self) -> int:
        """Samples that it takes on the timeline."""
        return round((self.stop - self.start) / self.speed)


@dataclass(frozen=True, slots=True)
class Cue:
    """Where one clip lies in its chapter's sound, in samples, and what it says."""

    start: int
    stop: int
    key: str
    chunk: str
    speaker: str
    text: str
    path: Path
    line: int
    with_before: bool = False
    """Whether it begins with the one before; others begin after the end of all before."""
    words: tuple[tuple[int, int, int, int], ...] = ()
    """Of each timed word: `text[first:last]`, and the samples from and to which it is heard."""
    timed_by: str = ""
    """Who timed them; "" where nobody did."""

    def moved(self, by: int) -> Cue:
        """The same so many samples later."""
        words = tuple((first, last, a + by, b + by) for first, last, a, b in self.words)
        return replace(self, start=self.start + by, stop=self.stop + by, words=words)


@dataclass(frozen=True, slots=True)
class Timeline:
    """A chapter's sound before it is made. Cues are in order, and those alone overlap that are in
    unison."""

    sample_rate: int
    length: int
    """Samples in all, head and tail too."""
    cues: tuple[Cue, ...]

    @property
    def seconds(self) -> float:
        return self.length / self.sample_rate

    @property
    def heard(self) -> tuple[Cue, ...]:
        """What is heard one after the other: of cues in unison the first, until all have ended."""
        found: list[Cue] = []
        for cue in self.cues:
            if cue.with_before:
                found[-1] = replace(found[-1], stop=max(found[-1].stop, cue.stop))
            else:
                found.append(cue)
        return tuple(found)

    def to_json(self) -> str:
        """One JSON object, sealed; equal timelines give equal text."""
        cues = [asdict(cue) | {"path": cue.path.as_posix()} for cue in self.cues]
        for cue in cues:  # as they were written before there was unison, before words were timed
            for name in ("with_before", "words", "timed_by"):
                if not cue[name]:
                    del cue[name]
        whole = {"sample_rate": self.sample_rate, "length": self.length, "cues": cues}
        return json.dumps({**whole, "seal": keys.seal(whole)}, ensure_ascii=False, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Timeline:
        """Raises ValueError, KeyError or TypeError where the text is no timeline, or was altered.

        One from before there were seals is read.
        """
        whole = json.loads(text)
        if len(whole) != 3 and whole.pop("seal") != keys.seal(whole):
            raise ValueError("altered since it was written")
        cues = tuple(
            Cue(
                **{
                    **cue,
                    "path": Path(cue["path"]),
                    "words": tuple((a, b, c, d) for a, b, c, d in cue.get("words", ())),
                }
            )
            for cue in whole["cues"]
        )
        return cls(whole["sample_rate"], whole["length"], cues)


def lay(clips: Iterable[Region], *, sample_rate: int, head: float, tail: float) -> Timeline:
    """Clips one after the other, each with its pause; head and tail are seconds of silence.

    A pause is what is heard, from the last sound to the first: the quiet that lies within clips is
    part of it, and clips follow at once where it is longer. Those in unison begin together, and the
    pause of the first follows the end of the last. The last clip's pause counts only for what it is
    longer than the tail. Raises ValueError for a pause, a speed or bounds that cannot be.
    """
    cues: list[Cue] = []
    position = sounded = round(head * sample_rate)
    pause = 0
    for clip in clips:
        if clip.pause < 0 or clip.speed <= 0 or not 0 <= clip.start <= clip.stop:
            raise ValueError(f"clip {clip.chunk} cannot be laid: {clip}")
        together = clip.with_before and bool(cues)
        if together:
            start = cues[-1].start
        else:
            begins = round(clip.quiet[0] / clip.speed * sample_rate)
            start = max(position, sounded + pause - begins)
            pause = round(clip.pause * sample_rate)
        stop = start + clip.length
        position = max(position, stop)
        sounded = max(sounded, stop - round(clip.quiet[1] / clip.speed * sample_rate))
        cues.append(
            Cue(
                start=start,
                stop=stop,
                key=clip.key,
                chunk=clip.chunk,
                speaker=clip.speaker,
                text=clip.text,
                path=clip.path,
                line=clip.line,
                with_before=together,
                words=_laid(clip, start, sample_rate),
                timed_by=clip.times.by if clip.times else "",
            )
        )
    length = position + max(pause, round(tail * sample_rate))
    return Timeline(sample_rate, length, tuple(cues))


def _laid(clip: Region, start: int, rate: int) -> tuple[tuple[int, int, int, int], ...]:
    """The words of a clip that begins at a sample, within it and in order."""
    found: list[tuple[int, int, int, int]] = []
    at, end = start, start + clip.length

    def place(seconds: float) -> int:
        return start + round((seconds * rate - clip.start) / clip.speed)

    for word in clip.times.words if clip.times else ():
        begin = min(max(place(word.start), at), end)
        at = min(max(place(word.stop), begin), end)
        found.append((word.first, word.last, begin, at))
    return tuple(found)


def sound_key(timeline: Timeline, clips: Sequence[Region], content: Callable[[Region], str]) -> str:
    """A key of all that decides the samples of `stream`, and nothing else.

    `content` gives the hash of a clip's samples. Texts, names and lines are left out.
    """
    placed = [
        [cue.start, content(clip), clip.start, clip.stop, clip.gain, clip.speed]
        + ["with before"] * cue.with_before
        for cue, clip in zip(timeline.cues, clips, strict=True)
    ]
    return keys.key(
        {
            "sound": 1,
            "sample_rate": timeline.sample_rate,
            "length": timeline.length,
            "clips": placed,
        }
    )


# -- the sound -------------------------------------------------------------------------------------

BLOCK = 65536


def stream(
    timeline: Timeline,
    clips: Sequence[Region],
    read: Callable[[Region], Samples],
    block: int = BLOCK,
) -> Iterator[Samples]:
    """A chapter's samples in blocks; holds one take, what is heard with it and one block at a time.

    `clips` are those that the timeline was laid from; `read` gives the samples of a clip's take, at
    the timeline's rate. Clips get their speed, gain and short fades; between them is digital
    silence. Raises DamagedTake where a take is shorter than its clip, and what `read` raises.
    """
    out = np.zeros(min(block, timeline.length), np.float32)
    base = 0  # position of `out` on the timeline
    for start, sound in _sounds(timeline, clips, read):
        done = 0
        while done < len(sound):
            at = start + done - base
            if at >= len(out):
                yield out
                base += len(out)
                out = np.zeros(min(block, timeline.length - base), np.float32)
                continue
            size = min(len(sound) - done, len(out) - at)
            out[at : at + size] = sound[done : done + size]
            done += size
    while len(out):
        yield out
        base += len(out)
        out = np.zeros(min(block, timeline.length - base), np.float32)


def _sounds(
    timeline: Timeline, clips: Sequence[Region], read: Callable[[Region], Samples]
) -> Iterator[tuple[int, Samples]]:
    """What is heard one after the other, and where it begins."""
    for span in spans(timeline, clips):
        yield span.start, heard(span, read, timeline.sample_rate)


@dataclass(frozen=True, slots=True)
class Span:
    """What is heard at one time, and where it lies, in samples."""

    start: int
    stop: int
    clips: tuple[Region, ...]
    """Several where they are in unison."""


def spans(timeline: Timeline, clips: Sequence[Region]) -> Iterator[Span]:
    """What is heard one after the other; `clips` are those that the timeline was laid from."""
    turns = accumulate(not cue.with_before for cue in timeline.cues)
    groups = groupby(zip(turns, clips, strict=True), key=lambda placed: placed[0])
    for whole, (_, group) in zip(timeline.heard, groups, strict=True):
        yield Span(whole.start, whole.stop, tuple(clip for _, clip in group))


def heard(span: Span, read: Callable[[Region], Samples], rate: int) -> Samples:
    """The samples of a span, as `stream` has them there, but for silence at its end. Raises as
    `stream`."""
    sounds = (_clip_sound(clip, read(clip), rate) for clip in span.clips)
    return _mixed(sounds, span.stop - span.start)


def _mixed(sounds: Iterator[Samples], length: int) -> Samples:
    """Sounds that begin together: their sum, with the mean energy of one of them.

    Voices add up by their powers, so two of one level are 3 dB louder than one and would stand out
    of their scene. The energy is measured: sounds that are alike add up to more, and come out right
    too. Where the sum has higher peaks than one voice, the limiter of the export holds them.
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
    if count > 1 and (whole := float(np.vdot(mixed, mixed))):
        mixed *= np.float32(np.sqrt(energy / count / whole))
    return mixed


def _clip_sound(clip: Region, take: Samples, rate: int) -> Samples:
    if len(take) < clip.stop:
        raise DamagedTake(f"take {clip.key}: {len(take)} samples, its speech ends at {clip.stop}")
    sound = fade(stretch(take[clip.start : clip.stop], rate, clip.speed), rate)
    if clip.gain:
        sound *= np.float32(amplitude(clip.gain))
    return sound


# -- levels ----------------------------------------------------------------------------------------

BOUND = 12.0
"""dB by which a speaker is raised or lowered at most to meet the cast."""
STEP = 0.5
"""dB: gains are rounded to it, far below what is heard, so that a change of one take seldom moves
a gain and with it every chapter of the book."""


def levels(
    measured: Mapping[str, Sequence[tuple[float, float]]],
    gains: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """Gain in dB of each speaker that brings the cast to one level: the median of its speakers.

    `measured` gives (level in dB, seconds) of every take of a speaker; the middle of those seconds
    is the speaker's level. `gains` are the author's own, on top.
    """
    spoken = {name: _middle(takes) for name, takes in measured.items()}
    heard = [level for level in spoken.values() if level is not None]
    cast = median(heard) if heard else 0.0
    even = {}
    for name, level in spoken.items():
        gain = 0.0 if level is None else round((cast - level) / STEP) * STEP
        even[name] = min(max(gain, -BOUND), BOUND) + (gains or {}).get(name, 0.0)
    return even


def spoken(
    measured: Mapping[str, Sequence[tuple[float, float]]], gains: Mapping[str, float]
) -> float:
    """Level in dB of the book's speech with these gains: half of its seconds lie under it.

    Rounded to `STEP`, so that a change of one take seldom moves what is set against it.
    """
    takes = [
        (level + gains.get(name, 0.0), seconds)
        for name, rows in measured.items()
        for level, seconds in rows
        if level > SILENCE
    ]
    level = _middle(takes)
    return SILENCE if level is None else round(level / STEP) * STEP


def _middle(takes: Sequence[tuple[float, float]]) -> float | None:
    """The level that half of the seconds lie under; None where nothing is audible."""
    audible = sorted((level, seconds) for level, seconds in takes if level > SILENCE)
    left = sum(seconds for _, seconds in audible) / 2
    for level, seconds in audible:
        left -= seconds
        if left <= 0:
            return level
    return None
