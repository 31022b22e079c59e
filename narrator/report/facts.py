"""Everything that a report says of a project, gathered from plan, store, timelines and files.

Reads records, tries and timelines; neither decodes nor measures sound, and knows nothing of pages
and pictures.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from narrator.delivery import layout, products
from narrator.delivery.shelf import MadeFile
from narrator.pipeline.accounting import Accounting, account
from narrator.pipeline.bookplan import BookPlan
from narrator.pipeline.places import Passage, passages, timeline_of, within
from narrator.project.profiles import Profile
from narrator.sound.assemble import Timeline
from narrator.sound.loudness import Target
from narrator.speech.checks import at_edge
from narrator.speech.plan import Step
from narrator.speech.store import Record
from narrator.text.chunks import together

MARK = '<meta name="generator" content="narrator">'
"""Stands in every page: only such a one is replaced by another."""

# -- what is said ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class File:
    """A file for listeners."""

    path: Path
    name: str
    """As it is found from the folder of finished files."""
    bytes: int
    chapters: tuple[int, ...]
    """Counted from 0; empty where that is not known, and for a retail sample."""
    note: str
    """What is wrong with it, if anything."""
    profile: Profile | None
    sound: bool
    """Whether it is one to listen to; else a companion: subtitles, a chapter list."""


@dataclass(frozen=True, slots=True)
class ChapterFacts:
    """One chapter, and how far it is."""

    number: int
    """From 1."""
    title: str
    chunks: int
    missing: int
    """Chunks without a good take."""
    given_up: int
    seconds: float | None
    """Of its timeline; None where it has not been assembled."""
    current: bool
    """Whether the timeline is made of the takes that belong there now."""
    file: File | None
    """Where it is heard."""
    target: Target
    """What its sound was to measure."""


@dataclass(frozen=True, slots=True)
class SpeakerFacts:
    """A voice's share and manner."""

    name: str
    chunks: int
    seconds: float
    """Of speech, at its own speed."""
    share: float
    """Of all speech, 0 to 1."""
    pace: float | None
    """Median length of its takes against what their texts should take; 1.1 is slower."""
    level: float | None
    """Median level of its takes, dB."""
    outliers: int


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast one chunk was spoken."""

    place: Passage
    seconds: float
    expected: float
    usual: float
    """The speaker's median of `ratio`."""
    outlier: bool

    @property
    def ratio(self) -> float:
        return self.seconds / self.expected

    @property
    def against(self) -> float:
        """Of what is usual for the speaker: 1.5 is half as long again."""
        return self.ratio / self.usual


@dataclass(frozen=True, slots=True)
class Trouble:
    """A chunk that was not good at once."""

    place: Passage
    outcome: str
    tries: int
    """How often it was spoken; what is on disk of them, for one that was given up."""
    faults: tuple[str, ...]
    given_up: bool = False
    doubtful: bool = False
    """Its take is the least bad of its tries."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Silence between two chunks, and the edges that meet there."""

    after: Passage
    kind: str
    """clause, sentence, line, heading, scene, speaker, or "set by hand"."""
    seconds: float
    """As it is planned."""
    heard: float | None = None
    """Seconds from the last sound before it to the first after it; None where a take is missing."""
    faults: tuple[str, ...] = ()
    """Of the edges of both takes, which are delivered in spite of them."""

    @property
    def bad(self) -> bool:
        """Whether another pause is heard than is planned, or an edge is at fault."""
        return (
            bool(self.faults) or abs((self.heard or self.seconds) - self.seconds) > PAUSE_TOLERANCE
        )


@dataclass(frozen=True, slots=True)
class Apart:
    """Takes in unison that do not end together."""

    place: Passage
    """Of the first."""
    seconds: float
    """Between the end of the first to end and that of the last."""
    names: str
    """Of all who say it."""
    last: str
    """Who ends last."""


@dataclass(frozen=True, slots=True)
class Unspoken:
    """Text that is left out, and why."""

    chapter: int
    source: str
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Chains:
    """How takes carry over to the next."""

    lengths: Mapping[int, int]
    """How many chains there are of each number of chunks."""
    modes: Mapping[str, int]
    """How many takes were given what."""
    pinned: int
    """Takes that were chosen by hand."""


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """An engine of a project."""

    name: str
    identity: tuple[tuple[str, str], ...]
    """What decides its sound, by name."""
    speakers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProjectFacts:
    """A project as it is now."""

    title: str
    author: str
    language: str
    manifest: str
    engines: tuple[EngineFacts, ...]
    """Those that have anything to say."""
    draft: bool
    written: datetime
    delivered: datetime | None
    """When the newest file was made."""
    chunks: int
    missing: int
    given_up: int
    doubtful: int
    retries: int
    seconds: float
    """Of all chapters that are assembled."""
    characters: Accounting
    chapters: tuple[ChapterFacts, ...]
    speakers: tuple[SpeakerFacts, ...]
    paces: tuple[Pace, ...]
    """Of every take, in reading order."""
    troubles: tuple[Trouble, ...]
    pauses: tuple[Pause, ...]
    apart: tuple[Apart, ...]
    """Those of more than `ENDS_APART`, the worst first."""
    left_out: tuple[Unspoken, ...]
    chains: Chains
    files: tuple[File, ...]
    folder: Path
    """Of the finished files."""

    @property
    def complete(self) -> bool:
        return not self.missing and self.characters.balanced

    @property
    def outliers(self) -> list[Pace]:
        """Those furthest from what is usual first."""
        outliers = [pace for pace in self.paces if pace.outlier]
        return sorted(outliers, key=lambda pace: -abs(np.log(pace.against)))


# -- gathering -------------------------------------------------------------------------------------


def gather(book: BookPlan, now: datetime | None = None) -> ProjectFacts:
    """The facts of a project. Raises StorageError."""
    project = book.project
    files = tuple(_files(book))
    timelines = [timeline_of(book, number) for number in range(len(book.chapters))]
    passages_by_step = passages(book, timelines)
    records = {step.key: record for step in book.steps if (record := book.takes.deliverable(step))}
    paces = tuple(_paces(book.steps, records, passages_by_step))
    chapters = tuple(
        _chapter(book, number, timeline, records, files)
        for number, timeline in enumerate(timelines)
    )
    return ProjectFacts(
        title=project.manifest.title,
        author=", ".join(project.manifest.author),
        language=project.manifest.language,
        manifest=project.path.name,
        engines=tuple(_engines(book)),
        draft=book.folders.draft,
        written=now or datetime.now(UTC),
        delivered=_newest_file_time(files),
        chunks=len(book.steps),
        missing=sum(chapter.missing for chapter in chapters),
        given_up=sum(chapter.given_up for chapter in chapters),
        doubtful=len(book.doubtful),
        retries=sum(record.tries - record.halves for record in records.values()),
        seconds=sum(chapter.seconds or 0.0 for chapter in chapters),
        characters=account(book, [step for step in book.steps if step.key not in records]),
        chapters=chapters,
        speakers=tuple(_speakers(book, records, paces)),
        paces=paces,
        troubles=tuple(_troubles(book, records, passages_by_step)),
        pauses=tuple(_pauses(book, records, passages_by_step)),
        apart=tuple(
            sorted(
                _uneven_unisons(book, records, passages_by_step), key=lambda unison: -unison.seconds
            )
        ),
        left_out=tuple(_left_out(book)),
        chains=_chains(book, records),
        files=files,
        folder=book.folders.finished,
    )


def _engines(book: BookPlan) -> Iterator[EngineFacts]:
    for engine in book.speaking:
        names = tuple(
            name for name, speaker_engine in book.engines.items() if speaker_engine is engine
        )
        yield EngineFacts(engine.name, tuple(_flatten(engine.identity())), names)


def _newest_file_time(files: Sequence[File]) -> datetime | None:
    """When the newest file with sound was written."""
    times = [file.path.stat().st_mtime for file in files if file.sound]
    return datetime.fromtimestamp(max(times), UTC) if times else None


def _flatten(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, setting in settings.items():
        is_plain = isinstance(setting, str | int | float)
        yield (
            name,
            str(setting) if is_plain else json.dumps(setting, ensure_ascii=False, default=str),
        )


# -- chapters --------------------------------------------------------------------------------------


def _chapter(
    book: BookPlan,
    number: int,
    timeline: Timeline | None,
    records: Mapping[str, Record],
    files: Sequence[File],
) -> ChapterFacts:
    steps = [step for step in book.steps if step.chapter == number]
    timeline_keys = [cue.key for cue in timeline.cues] if timeline else []
    profile_names = [profile.name for profile in book.project.deliveries]
    file = _find_chapter_file(files, number, profile_names)
    return ChapterFacts(
        number=number + 1,
        title=book.chapters[number].title,
        chunks=len(steps),
        missing=sum(step.key not in records for step in steps),
        given_up=sum(step.key not in records and book.takes.is_given_up(step) for step in steps),
        seconds=timeline.seconds if timeline else None,
        current=timeline_keys == [step.key for step in steps],
        file=file,
        target=_target(book, file),
    )


# -- files -----------------------------------------------------------------------------------------

SOUND_ENDINGS = (".mp3", ".m4a", ".m4b", ".opus", ".flac", ".wav")
"""Endings of files to listen to, those first that browsers play best."""


def _files(book: BookPlan) -> Iterator[File]:
    project = book.project
    profiles = {profile.name: profile for profile in project.deliveries}
    made_files = products.made_of(project)
    for path, note in products.listed(book):
        name = path.relative_to(book.folders.finished)
        is_sound = path.suffix.casefold() in SOUND_ENDINGS
        chapters = made_files.get(products.in_build(project, path), MadeFile()).chapters
        yield File(
            path=path,
            name=name.as_posix(),
            bytes=path.stat().st_size,
            chapters=chapters,
            note=note if is_sound else "",
            profile=profiles.get(name.parts[0]),
            sound=is_sound,
        )


def _find_chapter_file(
    files: Sequence[File], chapter: int, profile_names: Sequence[str]
) -> File | None:
    """The file to hear a chapter in: a current one, of the first way of delivery, of few chapters,
    that browsers play."""
    candidates = [file for file in files if file.sound and chapter in file.chapters]

    def rank(file: File) -> tuple[bool, int, int, int]:
        way = profile_names.index(file.profile.name) if file.profile else 0
        return (
            bool(file.note),
            way,
            len(file.chapters),
            SOUND_ENDINGS.index(file.path.suffix.casefold()),
        )

    return min(candidates, key=rank, default=None)


def _target(book: BookPlan, file: File | None) -> Target:
    profile = file.profile if file and file.profile else book.project.deliveries[0]
    return profile.target


# -- pace ------------------------------------------------------------------------------------------

MIN_TAKES = 5
"""Takes of a speaker from which on they make a median of their own."""
OUTLIER_SIGMAS, OUTLIER_SHARE, OUTLIER_SECONDS = 3.0, 0.2, 0.5
"""A take is an outlier where it lies three robust standard deviations, a fifth and half a second
from what is usual for its speaker: short chunks vary more than long ones, and harmlessly."""


def _paces(
    steps: Sequence[Step], records: Mapping[str, Record], places: Mapping[str, Passage]
) -> Iterator[Pace]:
    spoken_steps = [
        (s, records[s.key].seconds) for s in steps if s.key in records and s.expected > 0
    ]
    logs_by_speaker: dict[str, list[float]] = defaultdict(list)
    for step, seconds in spoken_steps:
        logs_by_speaker[step.chunk.speaker].append(
            float(np.log(max(seconds, 0.01) / step.expected))
        )
    all_logs = [log_ratio for log_ratios in logs_by_speaker.values() for log_ratio in log_ratios]
    usual_by_speaker: dict[str, tuple[float, float]] = {}
    for name, log_ratios in logs_by_speaker.items():
        sample = log_ratios if len(log_ratios) >= MIN_TAKES else all_logs
        center = median(sample)
        usual_by_speaker[name] = (
            center,
            1.4826 * median(abs(log_ratio - center) for log_ratio in sample),
        )
    for step, seconds in spoken_steps:
        center, spread = usual_by_speaker[step.chunk.speaker]
        typical = float(np.exp(center))
        deviation = abs(float(np.log(max(seconds, 0.01) / step.expected)) - center)
        is_outlier = (
            deviation > OUTLIER_SIGMAS * spread
            and deviation > np.log(1 + OUTLIER_SHARE)
            and abs(seconds - typical * step.expected) > OUTLIER_SECONDS
        )
        yield Pace(places[step.id], max(seconds, 0.01), step.expected, typical, bool(is_outlier))


def _speakers(
    book: BookPlan, records: Mapping[str, Record], paces: Sequence[Pace]
) -> Iterator[SpeakerFacts]:
    """The cast, by share; who has no text is not in it."""
    seconds: dict[str, float] = defaultdict(float)
    levels: dict[str, list[float]] = defaultdict(list)
    chunks = Counter(step.chunk.speaker for step in book.steps)
    for step in book.steps:
        if record := records.get(step.key):
            name = step.chunk.speaker
            seconds[name] += record.seconds / step.stretch
            levels[name].append(record.level)
    total_seconds = sum(seconds.values()) or 1.0
    for name in sorted(chunks, key=lambda name: (-seconds[name], name)):
        speaker_paces = [pace for pace in paces if pace.place.speaker == name]
        yield SpeakerFacts(
            name=name,
            chunks=chunks[name],
            seconds=seconds[name],
            share=seconds[name] / total_seconds,
            pace=median(pace.ratio for pace in speaker_paces) if speaker_paces else None,
            level=median(levels[name]) if levels[name] else None,
            outliers=sum(pace.outlier for pace in speaker_paces),
        )


# -- retries, pauses, chains -----------------------------------------------------------------------


def _troubles(
    book: BookPlan, records: Mapping[str, Record], places: Mapping[str, Passage]
) -> list[Trouble]:
    """Chunks that were given up, then doubtful ones, then those that took more than one try; each
    take once."""
    tried = book.store.tried()
    troubles: dict[str, Trouble] = {}
    for step in book.steps:
        if step.key not in troubles:
            tries = book.store.tries(step.key).values() if step.key in tried else ()
            trouble = _trouble(book, step, records.get(step.key), list(tries), places[step.id])
            if trouble:
                troubles[step.key] = trouble
    return sorted(
        troubles.values(), key=lambda trouble: (not trouble.given_up, not trouble.doubtful)
    )


def _trouble(
    book: BookPlan, step: Step, record: Record | None, tries: Sequence[Record], place: Passage
) -> Trouble | None:
    """What was wrong with a chunk. `record` is of the take to deliver, if there is one; `tries` are
    those on disk."""
    if book.takes.is_doubtful(step) and (take := book.takes.take(step.key)):
        outcome = "doubtful" if record else "doubtful, held back"
        return Trouble(place, outcome, take.tries, take.faults, doubtful=True)
    faults = tuple(fault for attempt in tries for fault in attempt.faults)
    unpinned = tries and not step.pinned
    if record:
        spoken_again = record.tries > 1 or unpinned
        return _recovered_trouble(place, record, faults) if spoken_again else None
    if flag := book.store.flag(step.key):
        return Trouble(place, "given up", len(tries), flag.faults or faults, given_up=True)
    return Trouble(place, "not rendered yet", len(tries), faults) if unpinned else None


def _recovered_trouble(place: Passage, record: Record, faults: tuple[str, ...]) -> Trouble:
    if record.halves > 1:
        return Trouble(place, "good in halves", record.tries, faults)
    if not faults:  # its bad tries have been cleared away
        faults = ("what was wrong is no longer on disk",)
    return Trouble(place, "good in the end", record.tries, faults)


PAUSE_TOLERANCE = 0.02
"""Seconds by which a pause may be heard longer than it was planned."""


def _pauses(
    book: BookPlan, records: Mapping[str, Record], places: Mapping[str, Passage]
) -> Iterator[Pause]:
    first_steps = [step for step in book.steps if not step.with_before]
    for step, following in pairwise(first_steps):
        if step.chapter == following.chapter:
            pauses = book.project.manifest.pauses
            seconds, kind = layout.pause_between(step.chunk, following.chunk, pauses)
            place, kind = places[step.id], kind or "set by hand"
            if (record := records.get(step.key)) is None or (
                next_record := records.get(following.key)
            ) is None:
                yield Pause(place, kind, seconds)
                continue
            shortest_heard = record.room[1] / step.stretch + next_record.room[0] / following.stretch
            faults = dict.fromkeys(
                fault
                for take_record in (record, next_record)
                for fault in take_record.faults
                if at_edge(fault)
            )
            yield Pause(place, kind, seconds, max(seconds, shortest_heard), tuple(faults))


ENDS_APART = 0.5
"""Seconds from which on it is heard that voices in unison do not end together."""


def _uneven_unisons(
    book: BookPlan, records: Mapping[str, Record], places: Mapping[str, Passage]
) -> Iterator[Apart]:
    """Of those in unison that are all spoken."""
    for steps in together(book.steps):
        if len(steps) > 1 and all(step.key in records for step in steps):
            seconds_by_speaker = {
                unison_step.chunk.speaker: records[unison_step.key].seconds / unison_step.stretch
                for unison_step in steps
            }
            difference = max(seconds_by_speaker.values()) - min(seconds_by_speaker.values())
            if difference > ENDS_APART:
                last = max(seconds_by_speaker, key=seconds_by_speaker.__getitem__)
                yield Apart(places[steps[0].id], difference, steps[0].chunk.names, last)


def _chains(book: BookPlan, records: Mapping[str, Record]) -> Chains:
    chain_lengths: dict[str, int] = {}
    heads: dict[str, str] = {}
    for step in book.steps:
        chain_head = heads.get(step.parent, step.key) if step.parent else step.key
        heads[step.key] = chain_head
        chain_lengths[chain_head] = chain_lengths.get(chain_head, 0) + 1
    modes = Counter(
        (record.mode if (record := records.get(step.key)) else "") or step.mode
        for step in book.steps
    )
    return Chains(
        lengths=dict(sorted(Counter(chain_lengths.values()).items())),
        modes=dict(modes.most_common()),
        pinned=sum(step.pinned for step in book.steps),
    )


def _left_out(book: BookPlan) -> Iterator[Unspoken]:
    for number, chapter in enumerate(book.chapters):
        for passage in chapter.left_out:
            yield Unspoken(
                number, f"{within(passage.path, book)}:{passage.line}", passage.text, passage.reason
            )
