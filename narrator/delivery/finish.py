"""Turns takes into files: lays out chapters, exports them, and writes companions beside them.

Everything that decides a file is hashed, so that anyone can tell whether it is current. Knows the
manifest and the takes; nothing of engines and encoders.
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
from narrator.delivery import companions, export, postflight
from narrator.delivery.export import ChapterAudio, Encoded, Exported, ListenerFile, OutputTarget
from narrator.delivery.layout import (
    BookSound,
    RenderedBook,
    book_channels,
    chapter_number,
    lay_out_chapters,
    spoken_chapters,
)
from narrator.delivery.output_manifest import MadeFile, OutputManifest, content_facts
from narrator.errors import Problem, UserError
from narrator.project.facts import BookFacts
from narrator.project.profiles import Profile
from narrator.project.project import Project
from narrator.project.schema import Sample


class FinishObserver(Protocol):
    """Receives the progress of exporting."""

    def exporting(self, stage: str, done_count: int, total: int) -> None: ...


@dataclass(frozen=True, slots=True)
class ProfileChecks:
    """The results of a delivered file against its profile."""

    key: str
    """Hash of the file's bytes and of all demands on it."""
    failed: tuple[str, ...]
    """A line for each failed check."""

    def row(self) -> list[Any]:
        """Returns the JSON row."""
        return [self.key, list(self.failed)]

    @classmethod
    def of_row(cls, row: Any) -> ProfileChecks | None:
        """Reads the output of `row`; None for anything else."""
        try:
            key, failed = row
            return cls(str(key), tuple(map(str, failed)))
        except (TypeError, ValueError):
            return None


@dataclass(frozen=True, slots=True)
class Finished:
    """The files of a run and their measurements."""

    exported: Exported
    companions: tuple[Path, ...]
    """Subtitles, chapter lists and other files beside the sound."""
    remarks: tuple[str, ...]
    """Notes on the files for people."""
    states: Mapping[str, str]
    """Hash of everything that decides a file, by its path: `states` of its chapters when it was
    made."""
    pauses: Mapping[int, tuple[float, float, float]]
    """Planned pauses of each chapter in seconds: before its first chunk, the longest, and after its
    last."""
    folder: Path
    """Folder of the files."""
    profile_checks: Mapping[Path, ProfileChecks] = field(default_factory=dict)
    """Results of files against the profile that they are delivered for."""

    @property
    def files(self) -> list[Path]:
        return [file.path for file in self._delivered]

    @property
    def _delivered(self) -> tuple[ListenerFile, ...]:
        return (*self.exported.files, *self.exported.samples)

    @property
    def failures(self) -> list[Problem]:
        """A problem for each reason why files are missing, naming them, and one for each file that
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

    def made_files(self) -> dict[Path, MadeFile]:
        """Returns the records of all delivered files. Raises OSError."""
        made_files = {path: MadeFile(facts=content_facts(path)) for path in self.companions}
        for file in self._delivered:
            facts = content_facts(file.path) | {
                "seconds": round(file.seconds, 3),
                "pause": self._longest_pause(file.chapters),
                "starts": [round(start, 3) for start in file.starts],
            }
            if checks := self.profile_checks.get(file.path):
                facts["checks"] = checks.row()
            chapters = tuple(number - 1 for number in file.chapters)
            made_files[file.path] = MadeFile(chapters, self.states[str(file.path)], facts)
        return made_files

    def _longest_pause(self, chapters: Sequence[int]) -> float:
        """Returns the longest planned pause in a file of these chapters."""
        return _longest_pause(self.pauses, chapters)

    def to_json(self) -> dict[str, Any]:
        """Returns a summary for programs."""
        chapter_rows = []
        for chapter, sounds in self.exported.chapters:
            for sound in sounds:
                chapter_rows.append(
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
            "chapters": chapter_rows,
        }


def finish(
    book: RenderedBook,
    chapters: Sequence[int],
    outputs: OutputManifest,
    observer: FinishObserver,
    cancel: Event,
) -> Finished | None:
    """Assembles and exports chapters (counted from 0) whose takes are all there.

    Book files are written if these are all chapters. `outputs` moves files out of the way that were
    altered by hand. Files that cannot be made are `Finished.failures`, beside those that were.
    Returns None when it was cancelled. Raises DamagedTake, ExportError, StorageError, UserError.
    """
    chapter_sounds = lay_out_chapters(book, chapters)
    for sound in chapter_sounds:
        _save_timeline(book, sound)
    if not chapter_sounds:
        return None
    silent = len(book.chapters) - len(spoken_chapters(book))
    is_complete = len(chapter_sounds) + silent == len(book.chapters)
    cache_folder = book.folders.work("encoded")
    channels = book_channels(book.project, [step.chunk for step in book.steps])
    targets, sample_remarks = _output_targets(book.project, chapter_sounds)
    try:
        exported = export.export(
            export.BookAudio(
                chapter_sounds, _book_facts(book), len(book.chapters), channels, silent
            ),
            targets,
            output_folder=book.folders.finished,
            cache_folder=cache_folder,
            outputs=outputs,
            on_progress=observer.exporting,
            cancel=cancel,
        )
        if is_complete:
            export.prune(cache_folder, exported)
    except export.Cancelled:
        return None
    is_complete = is_complete and not exported.failed
    pauses = {sound.number: _pauses_of(sound) for sound in chapter_sounds}
    try:
        profile_checks = _check_profiles(book, exported, pauses, outputs, observer, cancel)
    except export.Cancelled:
        return None
    written_companions = _write_companions(
        book, chapter_sounds, exported, outputs, observer, is_complete=is_complete
    )
    sounds_by_number, shared_facts = (
        {sound.number: sound for sound in chapter_sounds},
        _shared_facts(book, channels),
    )
    return Finished(
        exported,
        companions=written_companions.paths,
        remarks=(
            *exported.remarks,
            *(sample_remarks if is_complete else ()),
            *written_companions.remarks,
        ),
        states={
            str(file.path): _file_state(
                shared_facts, [sounds_by_number[number] for number in file.chapters]
            )
            for file in (*exported.files, *exported.samples)
        },
        pauses=pauses,
        folder=book.folders.finished,
        profile_checks=profile_checks,
    )


def load_encoded_chapter(
    book: RenderedBook, number: int, book_sound: BookSound
) -> tuple[ChapterAudio, list[Encoded]] | None:
    """Returns a laid-out chapter, counted from 0, with its current encoded files; makes nothing.

    None where takes of it are missing. Raises ManifestError (music), StorageError, UserError.
    """
    chapter_steps = [step for step in book.steps if step.chapter == number]
    if not chapter_steps or any(book.takes.deliverable(step) is None for step in chapter_steps):
        return None
    (chapter_sound,) = lay_out_chapters(book, [number], book_sound)
    channels = book_channels(book.project, [step.chunk for step in book.steps])
    book_audio = export.BookAudio([chapter_sound], _book_facts(book), len(book.chapters), channels)
    cache_folder = book.folders.work("encoded")
    return chapter_sound, export.encoded_already(
        book_audio, chapter_sound, book.project.deliveries, cache_folder
    )


def _pauses_of(sound: ChapterAudio) -> tuple[float, float, float]:
    """Returns `Finished.pauses` of a chapter."""
    timeline = sound.timeline
    boundaries = [0, *(edge for cue in timeline.heard for edge in (cue.start, cue.stop))]
    boundaries.append(timeline.length)
    gaps = [
        (stop - start) / timeline.sample_rate
        for start, stop in zip(boundaries[::2], boundaries[1::2], strict=True)
    ]
    return gaps[0], max(gaps), gaps[-1]


def _longest_pause(
    pauses: Mapping[int, tuple[float, float, float]], chapters: Sequence[int]
) -> float:
    """Returns the longest planned pause, in seconds, in a file of these chapters in order."""
    chapter_pauses = [pauses[number] for number in chapters if number in pauses]
    join_pauses = [earlier[2] + later[0] for earlier, later in pairwise(chapter_pauses)]
    return round(max((*join_pauses, *chain.from_iterable(chapter_pauses)), default=0.0), 3)


def _check_profiles(
    book: RenderedBook,
    exported: Exported,
    pauses: Mapping[int, tuple[float, float, float]],
    outputs: OutputManifest,
    observer: FinishObserver,
    cancel: Event,
) -> dict[Path, ProfileChecks]:
    """Holds every file that is delivered for a platform to its profile, as `verify` does.

    Files that were checked before, byte for byte, are not measured again. Raises Cancelled.
    """
    checks: dict[Path, ProfileChecks] = {}
    unchecked: list[tuple[Profile, list[ListenerFile]]] = []
    check_keys: dict[Path, str] = {}
    for profile in book.project.deliveries:
        profile_files = [
            file for file in (*exported.files, *exported.samples) if file.folder == profile.name
        ]
        if not profile.name or not profile_files:
            continue  # `output` without a profile demands nothing
        with files.translating_errors(book.folders.finished):
            contents = {file.path: keys.file_content(file.path) for file in profile_files}
        first_content = contents[profile_files[0].path]
        for file in profile_files:
            pause = _longest_pause(pauses, file.chapters)
            recipe = [_CHECKS_VERSION, asdict(profile), contents[file.path], first_content, pause]
            check_keys[file.path] = keys.key({"checks": recipe})
            recorded_checks = ProfileChecks.of_row(outputs.entry(file.path).facts.get("checks"))
            if recorded_checks and recorded_checks.key == check_keys[file.path]:
                checks[file.path] = recorded_checks
        if any(file.path not in checks for file in profile_files):
            unchecked.append((profile, profile_files))
    # all files of a profile together, since they must match each other
    total_seconds = round(
        sum(file.seconds for _, profile_files in unchecked for file in profile_files)
    )
    finished_seconds = 0.0
    for profile, profile_files in unchecked:
        seconds = sum(file.seconds for file in profile_files)

        def report(
            share: float, before: float = finished_seconds, seconds: float = seconds
        ) -> None:
            if cancel.is_set():
                raise export.Cancelled
            observer.exporting("check", round(before + share * seconds), total_seconds)

        inspected = postflight.inspect_files(
            [file.path for file in profile_files],
            profile,
            {file.path: _longest_pause(pauses, file.chapters) for file in profile_files},
            report,
        )
        for path, inspected_file in inspected.items():
            failed = (
                [str(inspected_file)]
                if isinstance(inspected_file, UserError)
                else map(str, inspected_file.failed)
            )
            checks[path] = ProfileChecks(check_keys[path], tuple(failed))
        finished_seconds += seconds
    return checks


_CHECKS_VERSION = 1
"""Version of the checks: a new one has all files measured again."""


def _write_companions(
    book: RenderedBook,
    sounds: Sequence[ChapterAudio],
    exported: Exported,
    outputs: OutputManifest,
    observer: FinishObserver,
    *,
    is_complete: bool,
) -> companions.WrittenCompanions:
    """Writes the companions that the manifest asks for into each profile's folder.

    A read-along book is made only of the whole book.
    """
    companion_kinds, tags = book.project.manifest.output.companions, _book_facts(book)
    if not companion_kinds:
        return companions.WrittenCompanions((), ())
    source_name = book.project.manifest.source
    spoken_chapters = _spoken_chapters(book, sounds)
    paths: list[Path] = []
    remarks: dict[str, None] = {}
    for profile in book.project.deliveries:
        epub_name = f"{export.book_name(profile.book_name, tags)}.epub"
        epub = book.folders.finished / profile.name / epub_name
        delivered = [file for file in exported.files if file.folder == profile.name]
        has_readalong = "readalong" in companion_kinds and any(map(companions.plays, delivered))
        if has_readalong and not is_complete:
            remarks[f"{epub.name} is made when all chapters are there"] = None
        profile_companions = companions.write(
            spoken_chapters,
            delivered,
            [
                kind
                for kind in companion_kinds
                if kind != "readalong" or (has_readalong and is_complete)
            ],
            tags=tags,
            book=epub,
            source=book.project.root / source_name if source_name else None,
            outputs=outputs,
            on_progress=partial(observer.exporting, "companions"),
            ids=book.project.manifest.output.chunk_ids,
            words=book.project.manifest.output.highlight == "words",
        )
        paths += profile_companions.paths
        remarks |= dict.fromkeys(profile_companions.remarks)
    return companions.WrittenCompanions(tuple(paths), tuple(remarks))


def _spoken_chapters(
    book: RenderedBook, sounds: Sequence[ChapterAudio]
) -> list[companions.SpokenChapter]:
    """Combines chapters, their chunks and timelines for companions."""
    chunks = {
        number + 1: tuple(step.chunk for step in chapter_steps if not step.with_before)
        for number, chapter_steps in groupby(book.steps, key=lambda step: step.chapter)
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
    """Returns the state that a file of some chapters would have now, for each tuple of chapters in
    `files`.

    Chapters are counted from 0; None where takes are missing. The book is laid out once for all of
    them. Raises ManifestError (music), StorageError.
    """
    if not files:
        return {}
    requested = {number for chapters in files for number in chapters}
    incomplete = requested - spoken_chapters(book)
    incomplete |= {
        step.chapter
        for step in book.steps
        if step.chapter in requested and book.takes.deliverable(step) is None
    }
    complete = sorted(requested - incomplete)
    sounds = dict(zip(complete, lay_out_chapters(book, complete), strict=True))
    shared_facts = _shared_facts(
        book, book_channels(book.project, [step.chunk for step in book.steps])
    )
    return {
        chapters: _file_state(shared_facts, [sounds[chapter] for chapter in chapters])
        if incomplete.isdisjoint(chapters)
        else None
        for chapters in files
    }


def _shared_facts(book: RenderedBook, channels: int) -> dict[str, Any]:
    """Returns everything that decides all files of a book."""
    project = book.project
    cover = project.root / project.manifest.cover if project.manifest.cover else None
    return {
        "settings": [_profile_settings(profile) for profile in project.deliveries],
        "channels": channels,
        "sample": (project.manifest.output.sample or Sample()).model_dump(),
        "tags": asdict(replace(_book_facts(book), cover=None)),
        "cover": keys.file_content(cover) if cover else None,
    }


def _profile_settings(profile: Profile) -> dict[str, Any]:
    """Returns the settings of a profile that decide a file, in the form recorded since the first
    version."""
    is_constant = None if profile.bitrate_mode is None else profile.bitrate_mode == "constant"
    return {
        "formats": profile.formats,
        "target": asdict(profile.target),
        "files": profile.files,
        "name": profile.book_name,
        "bitrate": profile.bitrate,
        "sample_rate": profile.sample_rate,
        "channels": profile.channels,
        "constant": is_constant,
        "room_tone": profile.room_tone,
        "longest": profile.longest and profile.longest * 60,
        "chapter": profile.chapter_name,
        "folder": profile.name,
        "genre": profile.genre,
        "cover_square": profile.cover_square,
        "cover_pixels": profile.cover_pixels,
        "sample": None,
    }


def _file_state(shared: Mapping[str, Any], sounds: Sequence[ChapterAudio]) -> str:
    """Returns the state of a file with these chapters."""
    return keys.key({**shared, "chapters": [[sound.title, sound.key] for sound in sounds]})


def _save_timeline(book: RenderedBook, sound: ChapterAudio) -> None:
    """Saves the timeline that subtitles and read-along books are made from, with paths relative to
    the project."""
    timeline, root = sound.timeline, book.project.root
    cues = tuple(
        replace(cue, path=cue.path.relative_to(root)) if cue.path.is_relative_to(root) else cue
        for cue in timeline.cues
    )
    path = book.folders.work("timeline") / f"{sound.number:03}.json"
    timeline_json = replace(timeline, cues=cues).to_json().encode()
    with files.translating_errors(path):
        if not path.exists() or path.read_bytes() != timeline_json:
            files.write(path, timeline_json)


def _output_targets(
    project: Project, sounds: Sequence[ChapterAudio]
) -> tuple[list[OutputTarget], tuple[str, ...]]:
    """Returns the book's profiles with their retail samples, and remarks on samples.

    Samples that are cut otherwise than asked for, or cannot be cut, get a remark; the book is
    delivered without the latter.
    """
    targets: list[OutputTarget] = []
    remarks: list[str] = []
    for profile in project.deliveries:
        sample = None
        try:
            sample, remark = _cut_sample(project, profile, sounds)
            remarks += [remark] if remark else []
        except UserError as error:
            remarks.append(f"no retail sample for {profile.name}: {error}")
        targets.append(OutputTarget(profile, sample))
    return targets, tuple(remarks)


def _cut_sample(
    project: Project, profile: Profile, sounds: Sequence[ChapterAudio]
) -> tuple[ChapterAudio | None, str]:
    """Cuts the retail sample of a profile that asks for one; returns it with a remark.

    Raises UserError where its chapter is too short.
    """
    if profile.sample is None:
        return None, ""
    sample_settings = project.manifest.output.sample or Sample()
    number = chapter_number(project, sample_settings.chapter)
    sample_chapter = next((sound for sound in sounds if sound.number == number), None)
    if sample_chapter is None:
        return None, ""  # the chapter has not been spoken yet
    return export.nearest_excerpt(
        sample_chapter,
        "Retail sample",
        sample_settings.start,
        min(sample_settings.seconds, profile.sample[1]),
        profile.sample,
        project.chapters[number - 1].language or project.manifest.language,
    )


def _book_facts(book: RenderedBook) -> BookFacts:
    """Returns the facts of a book; drafts name the draft voice as narrator."""
    facts = book.project.facts
    if book.folders.draft and not facts.narrators:
        return replace(facts, narrators=("draft voice",))
    return facts
