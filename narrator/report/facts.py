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
        return bool(self.faults) or abs((self.heard or self.seconds) - self.seconds) > HEARD_AS


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
    places = passages(book, timelines)
    records = {step.key: record for step in book.steps if (record := book.takes.deliverable(step))}
    paces = tuple(_paces(book.steps, records, places))
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
        delivered=_delivered(files),
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
        troubles=tuple(_troubles(book, records, places)),
        pauses=tuple(_pauses(book, records, places)),
        apart=tuple(sorted(_apart(book, records, places), key=lambda one: -one.seconds)),
        left_out=tuple(_left_out(book)),
        chains=_chains(book, records),
        files=files,
        folder=book.folders.finished,
    )


def _engines(book: BookPlan) -> Iterator[EngineFacts]:
    for engine in book.speaking:
        names = tuple(name for name, own in book.engines.items() if own is engine)
        yield EngineFacts(engine.name, tuple(_flat(engine.identity())), names)


def _delivered(files: Sequence[File]) -> datetime | None:
    """When the newest file with sound was written."""
    times = [file.path.stat().st_mtime for file in files if file.sound]
    return datetime.fromtimestamp(max(times), UTC) if times else None


def _flat(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        plain = isinstance(value, str | int | float)
        yield name, str(value) if plain else json.dumps(value, ensure_ascii=False, default=str)


# -- chapters --------------------------------------------------------------------------------------


def _chapter(
    book: BookPlan,
    number: int,
    timeline: Timeline | None,
    records: Mapping[str, Record],
    files: Sequence[File],
) -> ChapterFacts:
    steps = [step for step in book.steps if step.chapter == number]
    laid = [cue.key for cue in timeline.cues] if timeline else []
    ways = [profile.name for profile in book.project.deliveries]
    file = _heard_in(files, number, ways)
    return ChapterFacts(
        number=number + 1,
        title=book.chapters[number].title,
        chunks=len(steps),
        missing=sum(step.key not in records for step in steps),
        given_up=sum(step.key not in records and book.takes.is_given_up(step) for step in steps),
        seconds=timeline.seconds if timeline else None,
        current=laid == [step.key for step in steps],
        file=file,
        target=_target(book, file),
    )


# -- files -----------------------------------------------------------------------------------------

SOUND = (".mp3", ".m4a", ".m4b", ".opus", ".flac", ".wav")
"""Endings of files to listen to, those first that browsers play best."""


def _files(book: BookPlan) -> Iterator[File]:
    project = book.project
    profiles = {profile.name: profile for profile in project.deliveries}
    made = products.made_of(project)
    for path, note in products.listed(book):
        name = path.relative_to(book.folders.finished)
        sound = path.suffix.casefold() in SOUND
        held = made.get(products.in_build(project, path), MadeFile()).chapters
        yield File(
            path=path,
            name=name.as_posix(),
            bytes=path.stat().st_size,
            chapters=held,
            note=note if sound else "",
            profile=profiles.get(name.parts[0]),
            sound=sound,
        )


def _heard_in(files: Sequence[File], chapter: int, ways: Sequence[str]) -> File | None:
    """The file to hear a chapter in: a current one, of the first way of delivery, of few chapters,
    that browsers play."""
    having = [file for file in files if file.sound and chapter in file.chapters]

    def rank(file: File) -> tuple[bool, int, int, int]:
        way = ways.index(file.profile.name) if file.profile else 0
        return bool(file.note), way, len(file.chapters), SOUND.index(file.path.suffix.casefold())

    return min(having, key=rank, default=None)


def _target(book: BookPlan, file: File | None) -> Target:
    profile = file.profile if file and file.profile else book.project.deliveries[0]
    return profile.target


# -- pace ------------------------------------------------------------------------------------------

FEW = 5
"""Takes of a speaker from which on they make a median of their own."""
SIGMAS, LEAST, LEAST_SECONDS = 3.0, 0.2, 0.5
"""A take is an outlier where it lies three robust standard deviations, a fifth and half a second
from what is usual for its speaker: short chunks vary more than long ones, and harmlessly."""


def _paces(
    steps: Sequence[Step], records: Mapping[str, Record], places: Mapping[str, Passage]
) -> Iterator[Pace]:
    spoken = [(s, records[s.key].seconds) for s in steps if s.key in records and s.expected > 0]
    logs: dict[str, list[float]] = defaultdict(list)
    for step, seconds in spoken:
        logs[step.chunk.speaker].append(float(np.log(max(seconds, 0.01) / step.expected)))
    everyone = [value for values in logs.values() for value in values]
    usual: dict[str, tuple[float, float]] = {}
    for name, values in logs.items():
        enough = values if len(values) >= FEW else everyone
        middle = median(enough)
        usual[name] = middle, 1.4826 * median(abs(value - middle) for value in enough)
    for step, seconds in spoken:
        middle, spread = usual[step.chunk.speaker]
        typical = float(np.exp(middle))
        off = abs(float(np.log(max(seconds, 0.01) / step.expected)) - middle)
        outlier = (
            off > SIGMAS * spread
            and off > np.log(1 + LEAST)
            and abs(seconds - typical * step.expected) > LEAST_SECONDS
        )
        yield Pace(places[step.id], max(seconds, 0.01), step.expected, typical, bool(outlier))


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
    whole = sum(seconds.values()) or 1.0
    for name in sorted(chunks, key=lambda name: (-seconds[name], name)):
        own = [pace for pace in paces if pace.place.speaker == name]
        yield SpeakerFacts(
            name=name,
            chunks=chunks[name],
            seconds=seconds[name],
            share=seconds[name] / whole,
            pace=median(pace.ratio for pace in own) if own else None,
            level=median(levels[name]) if levels[name] else None,
            outliers=sum(pace.outlier for pace in own),
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
    return sorted(troubles.values(), key=lambda one: (not one.given_up, not one.doubtful))


def _trouble(
    book: BookPlan, step: Step, record: Record | None, tries: Sequence[Record], place: Passage
) -> Trouble | None:
    """What was wrong with a chunk. `record` is of the take to deliver, if there is one; `tries` are
    those on disk."""
    if book.takes.is_doubtful(step) and (take := book.takes.take(step.key)):
        outcome = "doubtful" if record else "doubtful, held back"
        return Trouble(place, outcome, take.tries, take.faults, doubtful=True)
    faults = tuple(fault for one in tries for fault in one.faults)
    unpinned = tries and not step.pinned
    if record:
        spoken_again = record.tries > 1 or unpinned
        return _good_in_the_end(place, record, faults) if spoken_again else None
    if flag := book.store.flag(step.key):
        return Trouble(place, "given up", len(tries), flag.faults or faults, given_up=True)
    return Trouble(place, "not rendered yet", len(tries), faults) if unpinned else None


def _good_in_the_end(place: Passage, record: Record, faults: tuple[str, ...]) -> Trouble:
    if record.halves > 1:
        return Trouble(place, "good in halves", record.tries, faults)
    if not faults:  # its bad tries have been cleared away
        faults = ("what was wrong is no longer on disk",)
    return Trouble(place, "good in the end", record.tries, faults)


HEARD_AS = 0.02
"""Seconds by which a pause may be heard longer than it was planned."""


def _pauses(
    book: BookPlan, records: Mapping[str, Record], places: Mapping[str, Passage]
) -> Iterator[Pause]:
    firsts = [step for step in book.steps if not step.with_before]
    for step, after in pairwise(firsts):
        if step.chapter == after.chapter:
            pauses = book.project.manifest.pauses
            seconds, kind = layout.pause_between(step.chunk, after.chunk, pauses)
            place, kind = places[step.id], kind or "set by hand"
            if (one := records.get(step.key)) is None or (two := records.get(after.key)) is None:
                yield Pause(place, kind, seconds)
                continue
            least = one.room[1] / step.stretch + two.room[0] / after.stretch
            faults = dict.fromkeys(
                fault for r in (one, two) for fault in r.faults if at_edge(fault)
            )
            yield Pause(place, kind, seconds, max(seconds, least), tuple(faults))


ENDS_APART = 0.5
"""Seconds from which on it is heard that voices in unison do not end together."""


def _apart(
    book: BookPlan, records: Mapping[str, Record], places: Mapping[str, Passage]
) -> Iterator[Apart]:
    """Of those in unison that are all spoken."""
    for steps in together(book.steps):
        if len(steps) > 1 and all(step.key in records for step in steps):
            lasting = {s.chunk.speaker: records[s.key].seconds / s.stretch for s in steps}
            apart = max(lasting.values()) - min(lasting.values())
            if apart > ENDS_APART:
                last = max(lasting, key=lasting.__getitem__)
                yield Apart(places[steps[0].id], apart, steps[0].chunk.names, last)


def _chains(book: BookPlan, records: Mapping[str, Record]) -> Chains:
    length: dict[str, int] = {}
    heads: dict[str, str] = {}
    for step in book.steps:
        head = heads.get(step.parent, step.key) if step.parent else step.key
        heads[step.key] = head
        length[head] = length.get(head, 0) + 1
    modes = Counter(
        (record.mode if (record := records.get(step.key)) else "") or step.mode
        for step in book.steps
    )
    return Chains(
        lengths=dict(sorted(Counter(length.values()).items())),
        modes=dict(modes.most_common()),
        pinned=sum(step.pinned for step in book.steps),
    )


def _left_out(book: BookPlan) -> Iterator[Unspoken]:
    for number, chapter in enumerate(book.chapters):
        for item in chapter.left_out:
            yield Unspoken(number, f"{within(item.path, book)}:{item.line}", item.text, item.reason)
