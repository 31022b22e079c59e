"""The steadiness of a book's voices: its takes compared with what is usual for their speakers."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from narrator.errors import DamagedTake
from narrator.pipeline.book_plan import BookPlan
from narrator.speech import checks
from narrator.speech.plan import Step
from narrator.speech.steadiness import (
    Deviation,
    UsualVoice,
    VoicedTake,
    usual_voices,
    voice_name,
    with_previous_takes,
)
from narrator.speech.store import Record

MIN_CHAPTER_TAKES = 8
"""Takes of a speaker that tell how the voice is in a chapter: the medians of fewer differ by what
is listed, by chance."""
_END_SHARE = 5
"""The first and the last fifth of a speaker's takes are the beginning and the end of the book."""
_MIN_LISTED_SHARE = 0.5
"""Noticeable deviations from which on a chapter, or a change over the book, is listed."""


def is_listed(shares: Mapping[str, float]) -> bool:
    """Returns whether a voice differs by enough to be listed."""
    return max(abs(share) for share in shares.values()) >= _MIN_LISTED_SHARE


@dataclass(frozen=True, slots=True)
class SpeakerVoice:
    """The usual voice of a speaker."""

    speaker: str
    style: str
    """Empty for takes without one."""
    usual: UsualVoice


@dataclass(frozen=True, slots=True)
class ChapterVoice:
    """The difference of a speaker's voice in a chapter from the usual one."""

    speaker: str
    style: str
    chapter: int
    """Counted from 1."""
    takes: int
    seconds: float
    shares: Mapping[str, float]
    """Median deviation from what is usual, in noticeable deviations, by measure."""

    @property
    def is_listed(self) -> bool:
        return is_listed(self.shares)


@dataclass(frozen=True, slots=True)
class VoiceTrend:
    """The difference of a speaker's voice at the end of the book from that at its beginning."""

    speaker: str
    style: str
    takes: int
    """In the beginning, and as many at the end."""
    shares: Mapping[str, float]
    """As of `ChapterVoice`."""

    @property
    def is_listed(self) -> bool:
        return is_listed(self.shares)


@dataclass(frozen=True, slots=True)
class ComparedTake:
    """A take beside what is usual for its speaker."""

    step: Step
    position: float
    """Seconds of speech in the book before its middle."""
    deviations: Sequence[Deviation]

    @property
    def height(self) -> float:
        """The height of its highest deviation: above 1, it sticks out."""
        return max(deviation.height for deviation in self.deviations)

    @property
    def reasons(self) -> Sequence[Deviation]:
        """The deviations by which it sticks out."""
        return [deviation for deviation in self.deviations if deviation.sticks_out]


@dataclass(frozen=True, slots=True)
class Steadiness:
    """The voices of a book, and what differs from them."""

    speakers: Sequence[SpeakerVoice]
    chapters: Sequence[ChapterVoice]
    trends: Sequence[VoiceTrend]
    """Of speakers with enough takes: a slow change is small from chapter to chapter."""
    takes: Sequence[ComparedTake]
    """Those that were compared, in the order of the book."""
    too_few: Sequence[str]
    """Speakers, with styles of theirs, with too few takes of two seconds to tell what is usual."""
    unmeasured: int
    """Takes of earlier versions, whose voices were not measured."""

    @property
    def outliers(self) -> Sequence[ComparedTake]:
        """Takes that stick out."""
        return [take for take in self.takes if take.reasons]

    @property
    def unsteadiness(self) -> float:
        """The figure of the book, by which renders can be compared: chapters and single takes.

        Root of the squared `drift` and the mean square of the takes that stick out, each by its
        largest deviation, in noticeable deviations; those that do not count as 0.
        """
        squares = [max((d.share**2 for d in take.reasons), default=0.0) for take in self.takes]
        mean_square = sum(squares) / max(1, len(squares))
        return math.hypot(self.drift or 0.0, math.sqrt(mean_square))

    @property
    def drift(self) -> float | None:
        """How far chapters lie from their speakers' usual voice.

        Root mean square over chapters, weighted by their seconds, and over their `shares`, in
        noticeable deviations: at 1, chapters differ as much as listeners notice. None where no
        speaker has two chapters to compare.
        """
        by_voice: dict[tuple[str, str], list[ChapterVoice]] = defaultdict(list)
        for chapter in self.chapters:
            by_voice[chapter.speaker, chapter.style].append(chapter)
        rows = [row for rows in by_voice.values() if len(rows) > 1 for row in rows]
        seconds = sum(row.seconds for row in rows)
        if not seconds:
            return None
        squares = sum(
            row.seconds * sum(share**2 for share in row.shares.values()) / len(row.shares)
            for row in rows
        )
        return float((squares / seconds) ** 0.5)


def measure(
    book: BookPlan,
    *,
    reads_sound: bool = True,
    on_progress: Callable[[int, int], None] | None = None,
) -> Steadiness:
    """Compares the current takes of a book.

    Takes of earlier versions, which measured no voices, are read and measured now, or left out
    without `reads_sound`. `on_progress` receives how many takes were looked at, of how many. Raises
    StorageError.
    """
    step_takes: list[tuple[Step, VoicedTake | None]] = []
    middles: dict[str, float] = {}
    seconds, unmeasured = 0.0, 0
    for number, step in enumerate(book.steps, 1):
        record = book.takes.current(step)
        if record is not None:
            middles[step.id] = seconds + record.seconds / 2
            seconds += record.seconds
            if not record.voice and reads_sound:
                record = _with_voice(book, step, record)
            unmeasured += not record.voice
        step_takes.append((step, VoicedTake.of(record) if record else None))
        if on_progress:
            on_progress(number, len(book.steps))
    takes: dict[tuple[str, str], list[tuple[Step, VoicedTake]]] = defaultdict(list)
    for step, take in with_previous_takes(step_takes):
        takes[voice_name(step)].append((step, take))
    # a take may be spoken in many places, and counts once
    voices = usual_voices(
        {
            name: list({step.key: take for step, take in rows}.values())
            for name, rows in takes.items()
        }
    )
    chapters: list[ChapterVoice] = []
    trends: list[VoiceTrend] = []
    compared: list[ComparedTake] = []
    for name, usual in voices.items():
        compared += [
            ComparedTake(step, middles[step.id], usual.unexplained_deviations(take))
            for step, take in takes[name]
        ]
        chapters += _chapter_voices(*name, usual, takes[name])
        if trend := _trend(*name, [take for _, take in takes[name]]):
            trends.append(trend)
    compared.sort(key=lambda take: take.position)
    chapters.sort(key=lambda chapter: (chapter.speaker, chapter.style, chapter.chapter))
    speakers = [SpeakerVoice(*name, usual) for name, usual in voices.items()]
    too_few = [
        f"{speaker} ({style})" if style else speaker
        for speaker, style in takes
        if (speaker, style) not in voices
    ]
    return Steadiness(speakers, chapters, trends, compared, too_few, unmeasured)


def _with_voice(book: BookPlan, step: Step, record: Record) -> Record:
    """Returns the record of an earlier version with the measures of its voice."""
    try:
        samples, rate = book.store.read(step.key)
    except DamagedTake:
        return record
    times = book.store.word_times(record, step.text)
    words = times.words if times else ()
    verdict = checks.examine(samples, rate, step.expected, text=step.text, words=words)
    return replace(record, voice=asdict(verdict.voice))


def _chapter_voices(
    speaker: str, style: str, usual: UsualVoice, rows: Sequence[tuple[Step, VoicedTake]]
) -> Iterator[ChapterVoice]:
    """Yields the voice of a speaker in each chapter with enough takes."""
    takes_by_chapter: dict[int, list[VoicedTake]] = defaultdict(list)
    for step, take in rows:
        takes_by_chapter[step.chapter].append(take)
    for chapter, takes in takes_by_chapter.items():
        if len(takes) >= MIN_CHAPTER_TAKES:
            seconds, shares = sum(take.seconds for take in takes), usual.chapter_shares(takes)
            yield ChapterVoice(speaker, style, chapter + 1, len(takes), seconds, shares)


def _trend(speaker: str, style: str, takes: Sequence[VoicedTake]) -> VoiceTrend | None:
    """Returns the trend of a speaker's takes; None where there are too few."""
    count = len(takes) // _END_SHARE
    beginning = UsualVoice.of(takes[:count])
    if beginning is None:
        return None
    return VoiceTrend(speaker, style, count, beginning.chapter_shares(takes[-count:]))
