"""Gathers all facts of a report from plan, store, timelines and files.

Reads records, tries and timelines; neither decodes nor measures sound, and knows nothing of pages
and pictures.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from narrator.delivery import layout, products
from narrator.delivery.output_manifest import MadeFile
from narrator.importing.project import REPORT_FILE
from narrator.pipeline import retakes, steadiness
from narrator.pipeline.accounting import Accounting, account
from narrator.pipeline.book_plan import BookPlan
from narrator.pipeline.places import Passage, all_passages, relative_path, timeline_of
from narrator.pipeline.steadiness import ComparedTake, Steadiness
from narrator.project.profiles import Profile
from narrator.sound.assemble import Timeline
from narrator.sound.formats import OUTPUT_SUFFIXES
from narrator.sound.loudness import Target
from narrator.speech.checks import concern_of
from narrator.speech.corrections import Correction
from narrator.speech.plan import Step
from narrator.speech.steadiness import robust_spread
from narrator.speech.store import Record
from narrator.text.chunks import group_unison

# -- what is said ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class File:
    """A sound file for listeners."""

    path: Path
    name: str
    """Path relative to the folder of finished files."""
    bytes: int
    chapters: tuple[int, ...]
    """Counted from 0; empty where they are not known, and for a retail sample."""
    note: str
    """Its fault; empty where there is none."""
    profile: Profile | None


@dataclass(frozen=True, slots=True)
class ChapterFacts:
    """A chapter and its progress."""

    number: int
    """Counted from 1."""
    title: str
    chunks: int
    missing: int
    """Chunks without a good take."""
    given_up: int
    doubtful: int
    retries: int
    """Times that chunks with a take were spoken again, by a render or by hand."""
    speech_seconds: float
    """Seconds of its takes."""
    wall_seconds: float
    """Seconds from request to take, with tries that failed; those rendered together count each."""
    seconds: float | None
    """Length of its timeline; None where it has not been assembled."""
    current: bool
    """True where the timeline has the takes that belong there now."""
    file: File | None
    """The file to hear it in."""
    target: Target
    """Loudness target of its sound."""


@dataclass(frozen=True, slots=True)
class SpeakerFacts:
    """Statistics of a speaker."""

    name: str
    chunks: int
    seconds: float
    """Seconds of speech, at the speaker's speed; the expected ones of chunks without a take."""
    share: float
    """Share of all speech, 0 to 1."""
    pace: float | None
    """Median ratio of its takes' lengths to the expected ones; 1.1 is slower."""
    level: float | None
    """Median level of its takes, dB."""
    outliers: int
    corrected: int
    """Takes whose level or pace is corrected in the files."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The speech rate of one chunk."""

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
        """Ratio relative to the speaker's usual one: 1.5 is half as long again."""
        return self.ratio / self.usual


@dataclass(frozen=True, slots=True)
class Trouble:
    """A chunk that was not good at the first try."""

    place: Passage
    outcome: str
    tries: int
    """Number of times it was spoken; for a chunk that was given up, of tries on disk."""
    faults: tuple[str, ...]
    given_up: bool = False
    doubtful: bool = False
    """True where its take is the best of several bad tries."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Silence between two chunks, and faults of the edges that meet there."""

    after: Passage
    kind: str
    """clause, sentence, line, heading, scene, speaker, or "set by hand"."""
    seconds: float
    """Planned seconds."""
    heard: float | None = None
    """Seconds from the last sound before it to the first after it; None where a take is missing."""
    faults: tuple[str, ...] = ()
    """Faults of the edges of both takes, which are delivered in spite of them."""

    @property
    def bad(self) -> bool:
        """True where the heard pause differs from the planned one, or an edge is faulty."""
        return (
            bool(self.faults) or abs((self.heard or self.seconds) - self.seconds) > PAUSE_TOLERANCE
        )


@dataclass(frozen=True, slots=True)
class UnevenUnison:
    """Takes in unison that do not end together."""

    place: Passage
    """Passage of the first take."""
    seconds: float
    """Seconds between the first and the last to end."""
    names: str
    """Names of all speakers."""
    last: str
    """The speaker who ends last."""


@dataclass(frozen=True, slots=True)
class Unspoken:
    """Text that is left out, and the reason."""

    chapter: int
    source: str
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Chains:
    """Statistics of chains of takes."""

    lengths: Mapping[int, int]
    """Number of chains by their number of chunks."""
    modes: Mapping[str, int]
    """Number of takes by the mode of their context."""
    pinned: int
    """Number of takes that were chosen by hand."""


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """An engine of a project."""

    name: str
    identity: tuple[tuple[str, str], ...]
    """Everything that decides its sound, by name."""
    speakers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProjectFacts:
    """A project as it is now."""

    title: str
    author: str
    language: str
    manifest: str
    engines: tuple[EngineFacts, ...]
    """Engines that have something to say."""
    draft: bool
    written: datetime
    delivered: datetime | None
    """Time of the newest file."""
    chunks: int
    missing: int
    given_up: int
    doubtful: int
    retries: int
    seconds: float
    """Seconds of all assembled chapters."""
    characters: Accounting
    chapters: tuple[ChapterFacts, ...]
    speakers: tuple[SpeakerFacts, ...]
    paces: tuple[Pace, ...]
    """Speech rate of every take, in reading order."""
    steadiness: Steadiness
    outlying: tuple[tuple[Passage, ComparedTake], ...]
    """Takes that stick out, with their passages."""
    troubles: tuple[Trouble, ...]
    pauses: tuple[Pause, ...]
    apart: tuple[UnevenUnison, ...]
    """Unisons of more than `ENDS_APART`, the worst first."""
    left_out: tuple[Unspoken, ...]
    """Text of its chapters; what an import left out has never been in one."""
    import_report: str
    """Name of the file that lists what the import left out; empty where there is none."""
    chains: Chains
    files: tuple[File, ...]
    folder: Path
    """Folder of the finished files."""

    @property
    def complete(self) -> bool:
        return not self.missing and self.characters.balanced

    @property
    def outliers(self) -> list[Pace]:
        """Outliers, the furthest from the usual pace first."""
        outliers = [pace for pace in self.paces if pace.outlier]
        return sorted(outliers, key=lambda pace: -abs(math.log(pace.against)))


def file_name(book: BookPlan, prefix: str) -> str:
    """Returns a file name of this manifest and rendition."""
    stem = "" if book.project.stem == "book" else f"-{book.project.stem}"
    return f"{prefix}{stem}{'' if book.folders.kind == 'book' else f'-{book.folders.kind}'}"


# -- gathering -------------------------------------------------------------------------------------


def gather(book: BookPlan, now: datetime | None = None) -> ProjectFacts:
    """Gathers the facts of a project. Raises StorageError."""
    book, project = replace(book, takes=book.takes.at_one_moment()), book.project
    files = tuple(_files(book))
    file_times = [file.path.stat().st_mtime for file in files]
    timelines = [timeline_of(book, number) for number in range(len(book.chapters))]
    passages_by_step = all_passages(book, timelines)
    records = {step.key: record for step in book.steps if (record := book.takes.deliverable(step))}
    tried = book.store.tried()
    tries = {
        step.key: tuple(one.record for one in retakes.tries_of(book, step) if not one.in_use)
        for step in book.steps
        if (book.pins[step.key].step if step.key in book.pins else step.key) in tried
    }
    paces = tuple(_paces(book.steps, records, passages_by_step))
    corrections = layout.corrections(book, book.steps)
    compared = steadiness.measure(book, reads_sound=False)
    doubtful = frozenset(step.id for step in book.doubtful)
    steps_by_chapter: dict[int, list[Step]] = defaultdict(list)
    for step in book.steps:
        steps_by_chapter[step.chapter].append(step)
    chapters = tuple(
        _chapter(book, number, steps_by_chapter[number], timeline, records, tries, doubtful, files)
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
        delivered=datetime.fromtimestamp(max(file_times), UTC) if file_times else None,
        chunks=len(book.steps),
        missing=sum(chapter.missing for chapter in chapters),
        given_up=sum(chapter.given_up for chapter in chapters),
        doubtful=len(doubtful),
        retries=sum(chapter.retries for chapter in chapters),
        seconds=sum(chapter.seconds or 0.0 for chapter in chapters),
        characters=account(book, [step for step in book.steps if step.key not in records]),
        chapters=chapters,
        speakers=tuple(_speakers(book, records, paces, corrections)),
        paces=paces,
        steadiness=compared,
        outlying=tuple((passages_by_step[take.step.id], take) for take in compared.outliers),
        troubles=tuple(_troubles(book, records, tries, passages_by_step)),
        pauses=tuple(_pauses(book, records, passages_by_step, corrections)),
        apart=tuple(
            sorted(
                _uneven_unisons(book, records, passages_by_step, corrections),
                key=lambda unison: -unison.seconds,
            )
        ),
        left_out=tuple(_left_out(book)),
        import_report=REPORT_FILE if (project.root / REPORT_FILE).is_file() else "",
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


def _flatten(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields settings as (name, text) pairs."""
    for name, setting in settings.items():
        is_plain = isinstance(setting, str | int | float)
        text = setting if is_plain else json.dumps(setting, ensure_ascii=False, default=str)
        yield name, str(text)


# -- chapters --------------------------------------------------------------------------------------


def _chapter(
    book: BookPlan,
    number: int,
    steps: Sequence[Step],
    timeline: Timeline | None,
    records: Mapping[str, Record],
    tries: Mapping[str, Sequence[Record]],
    doubtful: Collection[str],
    files: Sequence[File],
) -> ChapterFacts:
    """Gathers the facts of a chapter, counted from 0; `tries` are those on disk that are not used,
    `doubtful` the ids of doubtful chunks."""
    takes = {step.key: records[step.key] for step in steps if step.key in records}
    timeline_keys = [cue.key for cue in timeline.cues] if timeline else []
    deliveries = book.project.deliveries
    file = _find_chapter_file(files, number, [profile.name for profile in deliveries])
    return ChapterFacts(
        number=number + 1,
        title=book.chapters[number].title,
        chunks=len(steps),
        missing=sum(step.key not in records for step in steps),
        given_up=sum(step.key not in records and book.takes.is_given_up(step) for step in steps),
        doubtful=sum(step.id in doubtful for step in steps),
        retries=sum(
            max(record.tries - record.halves, len(tries.get(key, ())))
            - len(_rivals(record, tries.get(key, ())))
            for key, record in takes.items()
        ),
        speech_seconds=sum(records[step.key].seconds for step in steps if step.key in records),
        wall_seconds=sum(record.wall for record in takes.values()),
        seconds=timeline.seconds if timeline else None,
        current=timeline_keys == [step.key for step in steps],
        file=file,
        target=((file and file.profile) or deliveries[0]).target,
    )


# -- files -----------------------------------------------------------------------------------------


def _files(book: BookPlan) -> Iterator[File]:
    """Yields the finished sound files."""
    project = book.project
    profiles = {profile.name: profile for profile in project.deliveries}
    made_files = products.load_records(project)
    for path, note in products.list_sound_files(book):
        name = path.relative_to(book.folders.finished)
        chapters = made_files.get(products.in_build(project, path), MadeFile()).chapters
        yield File(
            path=path,
            name=name.as_posix(),
            bytes=path.stat().st_size,
            chapters=chapters,
            note=note,
            profile=profiles.get(name.parts[0]),
        )


def _find_chapter_file(
    files: Sequence[File], chapter: int, profile_names: Sequence[str]
) -> File | None:
    """Chooses the file to hear a chapter in.

    Prefers current files, the first profile, few chapters, and formats that browsers play.
    """
    candidates = [file for file in files if chapter in file.chapters]

    def rank(file: File) -> tuple[bool, int, int, int]:
        profile_rank = profile_names.index(file.profile.name) if file.profile else 0
        format_rank = OUTPUT_SUFFIXES.index(file.path.suffix)
        return bool(file.note), profile_rank, len(file.chapters), format_rank

    return min(candidates, key=rank, default=None)


# -- pace ------------------------------------------------------------------------------------------

MIN_TAKES = 5
"""Takes of a speaker from which on they have a median of their own."""
OUTLIER_SIGMAS, OUTLIER_SHARE, OUTLIER_SECONDS = 3.0, 0.2, 0.5
"""A take is an outlier where it lies three robust standard deviations, a fifth and half a second
from its speaker's usual pace: short chunks vary more than long ones, and harmlessly."""


def _paces(
    steps: Sequence[Step], records: Mapping[str, Record], places: Mapping[str, Passage]
) -> Iterator[Pace]:
    """Yields the speech rate of every take."""
    ratios = [
        (step, max(records[step.key].seconds, 0.01) / step.expected)
        for step in steps
        if step.key in records and step.expected > 0
    ]
    logs_by_speaker: dict[str, list[float]] = defaultdict(list)
    for step, ratio in ratios:
        logs_by_speaker[step.chunk.speaker].append(math.log(ratio))
    all_logs = [log for logs in logs_by_speaker.values() for log in logs]
    usual_by_speaker: dict[str, tuple[float, float]] = {}
    for name, logs in logs_by_speaker.items():
        sample = logs if len(logs) >= MIN_TAKES else all_logs
        usual_by_speaker[name] = median(sample), robust_spread(sample)
    for step, ratio in ratios:
        center, spread = usual_by_speaker[step.chunk.speaker]
        usual, deviation = math.exp(center), abs(math.log(ratio) - center)
        is_outlier = (
            deviation > max(OUTLIER_SIGMAS * spread, math.log(1 + OUTLIER_SHARE))
            and abs(ratio - usual) * step.expected > OUTLIER_SECONDS
        )
        yield Pace(places[step.id], ratio * step.expected, step.expected, usual, is_outlier)


def _speakers(
    book: BookPlan,
    records: Mapping[str, Record],
    paces: Sequence[Pace],
    corrections: Collection[str],
) -> Iterator[SpeakerFacts]:
    """Yields the speakers with text, by share; `corrections` are ids of corrected chunks."""
    seconds: dict[str, float] = defaultdict(float)
    levels: dict[str, list[float]] = defaultdict(list)
    chunks = Counter(step.chunk.speaker for step in book.steps)
    corrected = Counter(step.chunk.speaker for step in book.steps if step.id in corrections)
    for step in book.steps:
        name, record = step.chunk.speaker, records.get(step.key)
        seconds[name] += step.played_seconds(record)
        if record:
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
            corrected=corrected[name],
        )


# -- retries, pauses, chains -----------------------------------------------------------------------


def _troubles(
    book: BookPlan,
    records: Mapping[str, Record],
    tries: Mapping[str, Sequence[Record]],
    places: Mapping[str, Passage],
) -> list[Trouble]:
    """Returns chunks that were given up, then doubtful ones, then those that were spoken more than
    once; each take once."""
    troubles: dict[str, Trouble] = {}
    for step in book.steps:
        if step.key not in troubles:
            step_tries = tries.get(step.key, ())
            trouble = _trouble(book, step, records.get(step.key), step_tries, places[step.id])
            if trouble:
                troubles[step.key] = trouble
    return sorted(
        troubles.values(), key=lambda trouble: (not trouble.given_up, not trouble.doubtful)
    )


def _rivals(record: Record, tries: Sequence[Record]) -> list[Record]:
    """Returns the good tries among which a render chose a take; those by hand have other seeds."""
    return [attempt for attempt in tries if not attempt.faults and attempt.seed == record.seed]


def _trouble(
    book: BookPlan, step: Step, record: Record | None, tries: Sequence[Record], place: Passage
) -> Trouble | None:
    """Returns the trouble of a chunk, if any.

    `record` is that of the take to deliver, if there is one; `tries` are others on disk.
    """
    if book.takes.is_doubtful(step) and (take := book.takes.take(step.key)):
        outcome = "doubtful" if record else "doubtful, held back"
        return Trouble(place, outcome, take.tries, take.faults, doubtful=True)
    faults = tuple(fault for attempt in tries for fault in attempt.faults)
    requests = 0
    if record:
        rivals = _rivals(record, tries)
        tries = [attempt for attempt in tries if attempt not in rivals]
        bad_tries = [other for other in tries if other.faults and other.seed == record.seed]
        # tries may lie there that the take's own render did not ask for
        requests = max(record.tries - len(rivals), record.halves + len(bad_tries))
    if requests == 1 and tries and not faults:
        return Trouble(place, "spoken again by hand", 1 + len(tries), ())
    unpinned = tries and not step.pinned
    if record and (requests > 1 or unpinned):
        if record.halves > 1:
            return Trouble(place, "good in halves", requests, faults)
        faults = faults or ("what was wrong is no longer on disk",)  # bad tries were deleted
        return Trouble(place, "good in the end", requests, faults)
    if record:
        return None
    if flag := book.store.flag(step.key):
        return Trouble(place, "given up", len(tries), flag.faults or faults, given_up=True)
    return Trouble(place, "not rendered yet", len(tries), faults) if unpinned else None


PAUSE_TOLERANCE = 0.02
"""Seconds by which a pause may be heard longer than planned."""


def _playback_speed(step: Step, corrections: Mapping[str, Correction]) -> float:
    """Returns the factor by which a take is sped up in the files."""
    return step.stretch * corrections.get(step.id, Correction()).speed


def _pauses(
    book: BookPlan,
    records: Mapping[str, Record],
    places: Mapping[str, Passage],
    corrections: Mapping[str, Correction],
) -> Iterator[Pause]:
    """Yields the pauses within chapters."""
    first_steps = [step for step in book.steps if not step.with_before]
    for step, following in pairwise(first_steps):
        if step.chapter == following.chapter:
            pauses = book.project.manifest.pauses
            seconds, kind = layout.pause_between(step.chunk, following.chunk, pauses)
            place, kind = places[step.id], kind or "set by hand"
            record, next_record = records.get(step.key), records.get(following.key)
            if record is None or next_record is None:
                yield Pause(place, kind, seconds)
                continue
            shortest_heard = record.edge_silence_seconds[1] / _playback_speed(
                step, corrections
            ) + next_record.edge_silence_seconds[0] / _playback_speed(following, corrections)
            faults = dict.fromkeys(
                fault
                for take_record in (record, next_record)
                for fault in take_record.faults
                if concern_of(fault) == "edge"
            )
            yield Pause(place, kind, seconds, max(seconds, shortest_heard), tuple(faults))


ENDS_APART = 0.5
"""Seconds from which on it is audible that voices in unison do not end together."""


def _uneven_unisons(
    book: BookPlan,
    records: Mapping[str, Record],
    places: Mapping[str, Passage],
    corrections: Mapping[str, Correction],
) -> Iterator[UnevenUnison]:
    """Yields complete unisons that do not end together."""
    for steps in group_unison(book.steps):
        if len(steps) > 1 and all(step.key in records for step in steps):
            seconds_by_speaker = {
                unison_step.chunk.speaker: records[unison_step.key].seconds
                / _playback_speed(unison_step, corrections)
                for unison_step in steps
            }
            difference = max(seconds_by_speaker.values()) - min(seconds_by_speaker.values())
            if difference > ENDS_APART:
                last = max(seconds_by_speaker, key=seconds_by_speaker.__getitem__)
                yield UnevenUnison(places[steps[0].id], difference, steps[0].chunk.names, last)


def _chains(book: BookPlan, records: Mapping[str, Record]) -> Chains:
    """Returns the statistics of chains."""
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
    """Yields all text that is not spoken."""
    for number, chapter in enumerate(book.chapters):
        for passage in chapter.left_out:
            yield Unspoken(
                number,
                f"{relative_path(passage.path, book)}:{passage.line}",
                passage.text,
                passage.reason,
            )
