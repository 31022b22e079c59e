"""From takes to files: chapters laid out, then export, then what lies beside the files.

What decides a file is hashed, so that anyone can tell whether it is of the book as it is now. Knows
the manifest and the takes; nothing of engines and encoders.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import chain, groupby, pairwise
from pathlib import Path
from threading import Event
from typing import Any, Protocol

from narrator import files, keys
from narrator.delivery import companions, export, inspection
from narrator.delivery.export import ChapterAudio, Encoded, Exported, ListenerFile, Way
from narrator.delivery.layout import (
    BookSound,
    RenderedBook,
    channels_of,
    laid_out,
    spoken_chapters,
)
from narrator.delivery.shelf import MadeFile, Shelf, content_facts
from narrator.errors import Problem, UserError
from narrator.project.facts import BookFacts
from narrator.project.profiles import Profile
from narrator.project.project import Project
from narrator.project.schema import Sample


class FinishObserver(Protocol):
    """Who is told of the files' progress."""

    def exporting(self, what: str, done: int, total: int) -> None: ...


@dataclass(frozen=True, slots=True)
class ProfileChecks:
    """How a delivered file fares with its profile."""

    key: str
    """Of the file's bytes and all that was demanded of it."""
    failed: tuple[str, ...]
    """Lines on checks that it failed."""

    def row(self) -> list[Any]:
        return [self.key, list(self.failed)]

    @classmethod
    def of_row(cls, row: Any) -> ProfileChecks | None:
        """What `row` gave; None for anything else."""
        try:
            key, failed = row
            return cls(str(key), tuple(map(str, failed)))
        except (TypeError, ValueError):
            return None


@dataclass(frozen=True, slots=True)
class Finished:
    """The files of a run and what they measure."""

    exported: Exported
    companions: tuple[Path, ...]
    """Subtitles, chapter lists and what else lies beside the files."""
    remarks: tuple[str, ...]
    """What people should know of the files."""
    states: Mapping[str, str]
    """Of everything that decides a file, by its path: `states` of its chapters when it was made."""
    pauses: Mapping[int, tuple[float, float, float]]
    """Seconds that are planned in each chapter: before its first chunk, anywhere at most, and
    after its last."""
    folder: Path
    """Where the files are."""
    profile_checks: Mapping[Path, ProfileChecks] = field(default_factory=dict)
    """How files fare with the profile that they are delivered for, where they have one."""

    @property
    def files(self) -> list[Path]:
        return [file.path for file in self._delivered]

    @property
    def _delivered(self) -> tuple[ListenerFile, ...]:
        return (*self.exported.files, *self.exported.samples)

    @property
    def failures(self) -> list[Problem]:
        """A line for each reason why files are missing, naming them, and one for each file that
        fails its profile."""
        missing = [
            f"{failure.why}; not delivered: " + ", ".join(map(self._name, failure.paths))
            for failure in self.exported.failed
        ]
        unfit = [
            f"{self._name(path)} fails its profile: {'; '.join(checks.failed)}"
            for path, checks in self.profile_checks.items()
            if checks.failed
        ]
        return [Problem(None, None, line) for line in (*missing, *unfit)]

    def _name(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix()

    def made(self) -> dict[Path, MadeFile]:
        """All that is delivered, with what is to be remembered of it. Raises OSError."""
        found = {path: MadeFile(facts=content_facts(path)) for path in self.companions}
        for file in self._delivered:
            facts = content_facts(file.path) | {
                "seconds": round(file.seconds, 3),
                "pause": self._longest_pause(file.chapters),
                "starts": [round(start, 3) for start in file.starts],
            }
            if checks := self.profile_checks.get(file.path):
                facts["checks"] = checks.row()
            chapters = tuple(number - 1 for number in file.chapters)
            found[file.path] = MadeFile(chapters, self.states[str(file.path)], facts)
        return found

    def _longest_pause(self, chapters: Sequence[int]) -> float:
        return _longest_pause(self.pauses, chapters)

    def to_json(self) -> dict[str, Any]:
        rows = []
        for chapter, sounds in self.exported.chapters:
            for sound in sounds:
                rows.append(
                    {
                        "number": chapter.number,
                        "title": chapter.title,
                        "codec": sound.encoding.codec,
                        "seconds": round(chapter.timeline.seconds, 3),
                        "integrated_lufs": round(sound.loudness.integrated, 2),
                        "rms_db": round(sound.loudness.rms, 2),
                        "true_peak_dbtp": round(sound.loudness.true_peak, 2),
                        "encoded": sound.fresh,
                    }
                )
        return {
            "files": [str(path) for path in self.files],
            "starts": {str(file.path): file.starts for file in self.exported.files},
            "failed": [str(problem) for problem in self.failures],
            "companions": [str(path) for path in self.companions],
            "remarks": list(self.remarks),
            "chapters": rows,
        }


def finish(
    book: RenderedBook,
    chapters: Sequence[int],
    shelf: Shelf,
    observer: FinishObserver,
    cancel: Event,
) -> Finished | None:
    """Assemble and export chapters (counted from 0) whose takes are all there.

    Book files are written where these are all chapters. `shelf` moves away what lies where a file
    goes and was altered by hand. Files that cannot be made are `Finished.failures`, beside those
    that were. Returns None when it was cancelled. Raises DamagedTake, ExportError, StorageError,
    UserError.
    """
    sounds = laid_out(book, chapters)
    for sound in sounds:
        _save_timeline(book, sound)
    if not sounds:
        return None
    silent = len(book.chapters) - len(spoken_chapters(book))
    whole = len(sounds) + silent == len(book.chapters)
    kept = book.folders.work("encoded")
    channels = channels_of(book.project, [step.chunk for step in book.steps])
    ways, unsampled = _ways(book.project, sounds)
    try:
        exported = export.export(
            export.BookAudio(sounds, _facts(book), len(book.chapters), channels, silent),
            ways,
            out=book.folders.finished,
            kept=kept,
            shelf=shelf,
            on_progress=observer.exporting,
            cancel=cancel,
        )
        if whole:
            export.prune(kept, exported)
    except export.Cancelled:
        return None
    whole = whole and not exported.failed
    pauses = {sound.number: _pauses_of(sound) for sound in sounds}
    try:
        profile_checks = _profile_checks(book, exported, pauses, shelf, observer, cancel)
    except export.Cancelled:
        return None
    made = _companions(book, sounds, exported, shelf, observer, whole=whole)
    numbered, shared = {sound.number: sound for sound in sounds}, _shared(book, channels)
    return Finished(
        exported,
        companions=made.paths,
        remarks=(*exported.remarks, *(unsampled if whole else ()), *made.remarks),
        states={
            str(file.path): _state(shared, [numbered[number] for number in file.chapters])
            for file in (*exported.files, *exported.samples)
        },
        pauses=pauses,
        folder=book.folders.finished,
        profile_checks=profile_checks,
    )


def encoded_already(
    book: RenderedBook, number: int, shared: BookSound
) -> tuple[ChapterAudio, list[Encoded]] | None:
    """A chapter, counted from 0, laid out, and its encoded files where an export has made them as
    it is now; None where takes of it are missing. Nothing is made.

    Raises ManifestError (music), StorageError, UserError.
    """
    own = [step for step in book.steps if step.chapter == number]
    if not own or any(book.takes.deliverable(step) is None for step in own):
        return None
    (sound,) = laid_out(book, [number], shared)
    channels = channels_of(book.project, [step.chunk for step in book.steps])
    audio = export.BookAudio([sound], _facts(book), len(book.chapters), channels)
    kept = book.folders.work("encoded")
    return sound, export.encoded_already(audio, sound, book.project.deliveries, kept)


def _pauses_of(sound: ChapterAudio) -> tuple[float, float, float]:
    """`Finished.pauses` of a chapter."""
    timeline = sound.timeline
    edges = [0, *(edge for cue in timeline.heard for edge in (cue.start, cue.stop))]
    edges.append(timeline.length)
    gaps = [
        (stop - start) / timeline.sample_rate
        for start, stop in zip(edges[::2], edges[1::2], strict=True)
    ]
    return gaps[0], max(gaps), gaps[-1]


def _longest_pause(
    pauses: Mapping[int, tuple[float, float, float]], chapters: Sequence[int]
) -> float:
    """Seconds that are planned in a file of these chapters, one after the other."""
    found = [pauses[number] for number in chapters if number in pauses]
    joins = [one[2] + other[0] for one, other in pairwise(found)]
    return round(max((*joins, *chain.from_iterable(found)), default=0.0), 3)


def _profile_checks(
    book: RenderedBook,
    exported: Exported,
    pauses: Mapping[int, tuple[float, float, float]],
    shelf: Shelf,
    observer: FinishObserver,
    cancel: Event,
) -> dict[Path, ProfileChecks]:
    """Every file that is delivered for a platform, held to its profile as `verify` does it. Those
    that were held to it before, byte for byte, are not measured again. Raises Cancelled."""
    checks: dict[Path, ProfileChecks] = {}
    unknown: list[tuple[Profile, list[ListenerFile]]] = []
    keyed: dict[Path, str] = {}
    for profile in book.project.deliveries:
        delivered = [
            file for file in (*exported.files, *exported.samples) if file.folder == profile.name
        ]
        if not profile.name or not delivered:
            continue  # `output` without a profile demands nothing
        with files.storage(book.folders.finished):
            contents = {file.path: keys.file_content(file.path) for file in delivered}
        first = contents[delivered[0].path]
        for file in delivered:
            pause = _longest_pause(pauses, file.chapters)
            recipe = [_CHECKED, asdict(profile), contents[file.path], first, pause]
            keyed[file.path] = keys.key({"checks": recipe})
            known = ProfileChecks.of_row(shelf.entry(file.path).facts.get("checks"))
            if known and known.key == keyed[file.path]:
                checks[file.path] = known
        if any(file.path not in checks for file in delivered):
            unknown.append((profile, delivered))
    # all files of a profile, since they have to be alike
    total = round(sum(file.seconds for _, delivered in unknown for file in delivered))
    before = 0.0
    for profile, delivered in unknown:
        seconds = sum(file.seconds for file in delivered)

        def report(share: float, before: float = before, seconds: float = seconds) -> None:
            if cancel.is_set():
                raise export.Cancelled
            observer.exporting("check", round(before + share * seconds), total)

        held = inspection.hold(
            [file.path for file in delivered],
            profile,
            {file.path: _longest_pause(pauses, file.chapters) for file in delivered},
            report,
        )
        for path, one in held.items():
            failed = [str(one)] if isinstance(one, UserError) else map(str, one.failed)
            checks[path] = ProfileChecks(keyed[path], tuple(failed))
        before += seconds
    return checks


_CHECKED = 1
"""Of the checks: with another number all files are measured again."""


def _companions(
    book: RenderedBook,
    sounds: Sequence[ChapterAudio],
    exported: Exported,
    shelf: Shelf,
    observer: FinishObserver,
    *,
    whole: bool,
) -> companions.Made:
    """What the manifest wants beside the files, in each profile's folder.

    A read-along is of the whole book or is not made.
    """
    wanted, tags = book.project.manifest.output.companions, _facts(book)
    if not wanted:
        return companions.Made((), ())
    source = book.project.manifest.source
    spoken = _spoken(book, sounds)
    made: list[Path] = []
    remarks: dict[str, None] = {}
    for profile in book.project.deliveries:
        name = f"{export.book_name(profile.book_name, tags)}.epub"
        epub = book.folders.finished / profile.name / name
        delivered = [file for file in exported.files if file.folder == profile.name]
        along = "readalong" in wanted and any(map(companions.plays, delivered))
        if along and not whole:
            remarks[f"{epub.name} is made when all chapters are there"] = None
        beside = companions.write(
            spoken,
            delivered,
            [kind for kind in wanted if kind != "readalong" or (along and whole)],
            tags=tags,
            book=epub,
            source=book.project.root / source if source else None,
            shelf=shelf,
            on_progress=partial(observer.exporting, "companions"),
            ids=book.project.manifest.output.chunk_ids,
            words=book.project.manifest.output.highlight == "words",
        )
        made += beside.paths
        remarks |= dict.fromkeys(beside.remarks)
    return companions.Made(tuple(made), tuple(remarks))


def _spoken(book: RenderedBook, sounds: Sequence[ChapterAudio]) -> list[companions.SpokenChapter]:
    chunks = {
        number + 1: tuple(step.chunk for step in own if not step.with_before)
        for number, own in groupby(book.steps, key=lambda step: step.chapter)
    }
    return [
        companions.SpokenChapter(
            sound.number, book.chapters[sound.number - 1], chunks[sound.number], sound.timeline
        )
        for sound in sounds
    ]


# -- what decides a file ---------------------------------------------------------------------------


def states(
    book: RenderedBook, files: Collection[tuple[int, ...]]
) -> dict[tuple[int, ...], str | None]:
    """The state that a file of some chapters would have now, for each of `files` by the chapters in
    it, counted from 0; None where takes are missing. The book is laid out once for all of them.

    Raises ManifestError (music), StorageError.
    """
    if not files:
        return {}
    held = {number for chapters in files for number in chapters}
    lacking = held - spoken_chapters(book)
    lacking |= {
        step.chapter
        for step in book.steps
        if step.chapter in held and book.takes.deliverable(step) is None
    }
    whole = sorted(held - lacking)
    sounds = dict(zip(whole, laid_out(book, whole), strict=True))
    shared = _shared(book, channels_of(book.project, [step.chunk for step in book.steps]))
    return {
        chapters: _state(shared, [sounds[n] for n in chapters])
        if lacking.isdisjoint(chapters)
        else None
        for chapters in files
    }


def _shared(book: RenderedBook, channels: int) -> dict[str, Any]:
    """What decides every file of a book alike."""
    project = book.project
    cover = project.root / project.manifest.cover if project.manifest.cover else None
    return {
        "settings": [_settings(profile) for profile in project.deliveries],
        "channels": channels,
        "sample": (project.manifest.output.sample or Sample()).model_dump(),
        "tags": asdict(replace(_facts(book), cover=None)),
        "cover": keys.file_content(cover) if cover else None,
    }


def _settings(profile: Profile) -> dict[str, Any]:
    """What of a profile decides a file, as it was noted from the first version on."""
    constant = None if profile.bitrate_mode is None else profile.bitrate_mode == "constant"
    return {
        "formats": profile.formats,
        "target": asdict(profile.target),
        "files": profile.files,
        "name": profile.book_name,
        "bitrate": profile.bitrate,
        "sample_rate": profile.sample_rate,
        "channels": profile.channels,
        "constant": constant,
        "room_tone": profile.room_tone,
        "longest": profile.longest and profile.longest * 60,
        "chapter": profile.chapter_name,
        "folder": profile.name,
        "genre": profile.genre,
        "cover_square": profile.cover_square,
        "cover_pixels": profile.cover_pixels,
        "sample": None,
    }


def _state(shared: Mapping[str, Any], sounds: Sequence[ChapterAudio]) -> str:
    return keys.key({**shared, "chapters": [[sound.title, sound.key] for sound in sounds]})


def _save_timeline(book: RenderedBook, sound: ChapterAudio) -> None:
    """What subtitles and read-along files are made from; paths are relative to the project."""
    timeline, root = sound.timeline, book.project.root
    cues = tuple(
        replace(cue, path=cue.path.relative_to(root)) if cue.path.is_relative_to(root) else cue
        for cue in timeline.cues
    )
    path = book.folders.work("timeline") / f"{sound.number:03}.json"
    data = replace(timeline, cues=cues).to_json().encode()
    with files.storage(path):
        if not path.exists() or path.read_bytes() != data:
            files.write(path, data)


def _ways(project: Project, sounds: Sequence[ChapterAudio]) -> tuple[list[Way], tuple[str, ...]]:
    """The book's profiles with the retail samples of those that ask for one, and remarks on those
    that are cut otherwise than was asked for, or cannot be: the book is delivered without."""
    ways: list[Way] = []
    remarks: list[str] = []
    for profile in project.deliveries:
        sample = None
        try:
            sample, remark = _sample(project, profile, sounds)
            remarks += [remark] if remark else []
        except UserError as error:
            remarks.append(f"no retail sample for {profile.name}: {error}")
        ways.append(Way(profile, sample))
    return ways, tuple(remarks)


def _sample(
    project: Project, profile: Profile, sounds: Sequence[ChapterAudio]
) -> tuple[ChapterAudio | None, str]:
    """The retail sample of a profile that asks for one, and a remark on it. Raises UserError where
    its chapter is too short."""
    if profile.sample is None:
        return None, ""
    wanted = project.manifest.output.sample or Sample()
    number = chapter_number(project, wanted.chapter)
    chosen = next((sound for sound in sounds if sound.number == number), None)
    if chosen is None:
        return None, ""  # the book is not whole yet
    return export.nearest_excerpt(
        chosen,
        "Retail sample",
        wanted.start,
        min(wanted.seconds, profile.sample[1]),
        profile.sample,
        project.chapters[number - 1].language or project.manifest.language,
    )


def chapter_number(project: Project, name: str) -> int:
    """A chapter of the manifest by number or title, as the book counts it: after its credits."""
    chapters = project.manifest.chapters
    titles = [chapter.title for chapter in chapters]
    index = titles.index(name) if name in titles else int(name) - 1
    return 1 + next(
        n for n in range(len(project.chapters)) if project.chapter_loc(n) == ("chapters", index)
    )


def _facts(book: RenderedBook) -> BookFacts:
    facts = book.project.facts
    if book.folders.draft and not facts.narrators:
        return replace(facts, narrators=("draft voice",))
    return facts
