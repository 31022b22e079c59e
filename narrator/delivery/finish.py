"""Turns takes into files: lays out chapters, exports them, and writes companions beside them.

Everything that decides a file is hashed, so that anyone can tell whether it is current. Knows the
manifest and the takes; nothing of engines and encoders.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from threading import Event
from typing import Any

from narrator import files, keys
from narrator.cast.rights import published_credits
from narrator.delivery import companions, export, postflight
from narrator.delivery.credentials import load_credentials
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
from narrator.delivery.provenance import MARK_FORM, combine
from narrator.errors import Problem, UserError
from narrator.project.facts import BookFacts
from narrator.project.profiles import CHECKED_ONLY, Profile
from narrator.project.project import Project
from narrator.project.schema import Sample
from narrator.sound.assemble import Timeline
from narrator.sound.formats import EREADER_FORMATS

ExportProgress = Callable[[str, int, int], None]
"""Receives a stage of making files, what is done of it, and the total."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The files of a run and their measurements."""

    exported: Exported
    made_files: Mapping[Path, MadeFile]
    """Records of all delivered files."""
    companions: tuple[Path, ...]
    """Subtitles, chapter lists and other files beside the sound."""
    remarks: tuple[str, ...]
    """Notes on the files for people."""
    folder: Path
    """Folder of the files."""

    @property
    def files(self) -> list[Path]:
        return [file.path for file in self.exported.delivered]

    @property
    def failures(self) -> list[Problem]:
        """A problem for each reason why files are missing, naming them, and one for each file that
        fails its profile."""
        missing = [
            f"{failure.why}; not delivered: " + ", ".join(map(self._name, failure.paths))
            for failure in self.exported.failed
        ]
        unfit = [
            f"{self._name(path)} fails its profile: {'; '.join(entry.failed_checks)}"
            for path, entry in self.made_files.items()
            if entry.failed_checks
        ]
        return [Problem(None, None, line) for line in (*missing, *unfit)]

    def _name(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix()

    def to_json(self) -> dict[str, Any]:
        """Returns a summary for programs."""
        return {
            "files": [str(path) for path in self.files],
            "starts": {str(file.path): file.starts for file in self.exported.files},
            "failed": [str(problem) for problem in self.failures],
            "companions": [str(path) for path in self.companions],
            "remarks": list(self.remarks),
            "chapters": [
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
                for chapter, sounds in self.exported.chapters
                for sound in sounds
            ],
        }


def finish(
    book: RenderedBook,
    chapters: Sequence[int],
    outputs: OutputManifest,
    on_progress: ExportProgress,
    cancel: Event,
) -> Finished | None:
    """Assembles and exports chapters (counted from 0) whose takes are all there.

    Book files are written if these are all chapters. `outputs` moves files out of the way that were
    altered by hand. Files that cannot be made are `Finished.failures`, beside those that were.
    Returns None when it was cancelled. Raises DamagedTake, ExportError, StorageError, UserError,
    ManifestError (credentials).
    """
    sounds = lay_out_chapters(book, chapters)
    for sound in sounds:
        _save_timeline(book, sound)
    if not sounds:
        return None
    book_audio = _book_audio(book, sounds)
    targets, sample_remarks = _output_targets(book.project, sounds)
    try:
        exported = export.export(
            book_audio,
            targets,
            output_folder=book.folders.finished,
            cache_folder=book.folders.work("encoded"),
            outputs=outputs,
            credentials=load_credentials(),
            on_progress=on_progress,
            cancel=cancel,
        )
        if book_audio.is_complete:
            export.prune(book.folders.work("encoded"), exported)
        with files.translating_errors(book.folders.finished):
            facts = {file.path: _sound_facts(file, sounds) for file in exported.delivered}
        checks = _check_profiles(book, exported.delivered, facts, outputs, on_progress, cancel)
    except export.Cancelled:
        return None
    is_complete = book_audio.is_complete and not exported.failed
    written_companions = _write_companions(
        book, sounds, exported, outputs, on_progress, is_complete=is_complete
    )
    shared_facts = _shared_facts(book, book_audio.channels)
    sounds_by_number = {sound.number: sound for sound in sounds}
    with files.translating_errors(book.folders.finished):
        made_files = {
            path: MadeFile(facts={"kind": kind, **content_facts(path)})
            for path, kind in written_companions.kinds.items()
        }
    for file in exported.delivered:
        state = _file_state(shared_facts, [sounds_by_number[number] for number in file.chapters])
        numbers = tuple(number - 1 for number in file.chapters)
        if file.path in checks:
            facts[file.path]["checks"] = checks[file.path]
        made_files[file.path] = MadeFile(numbers, state, facts[file.path])
    return Finished(
        exported,
        made_files,
        companions=written_companions.paths,
        remarks=(
            *exported.remarks,
            *(sample_remarks if is_complete else ()),
            *written_companions.remarks,
        ),
        folder=book.folders.finished,
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
    return chapter_sound, export.encoded_already(
        _book_audio(book, [chapter_sound]),
        chapter_sound,
        book.project.deliveries,
        book.folders.work("encoded"),
    )


def _book_audio(book: RenderedBook, sounds: Sequence[ChapterAudio]) -> export.BookAudio:
    """Returns the sound of a book, or of some of its chapters."""
    return export.BookAudio(
        sounds,
        book_facts(book),
        total=len(book.chapters),
        channels=book_channels(book.project, [step.chunk for step in book.steps]),
        silent=len(book.chapters) - len(spoken_chapters(book)),
        marks=book.project.manifest.output.mark,
    )


def _sound_facts(file: ListenerFile, sounds: Sequence[ChapterAudio]) -> dict[str, Any]:
    """Returns the `MadeFile.facts` of a delivered file. Raises OSError."""
    timelines = {sound.number: sound.timeline for sound in sounds}
    return content_facts(file.path) | {
        "kind": file.kind,
        "seconds": round(file.seconds, 3),
        "pause": _longest_pause([timelines[number] for number in file.chapters]),
        "starts": [round(start, 3) for start in file.starts],
        **({"mark": dict(file.mark)} if file.mark else {}),
        **({"signed": True} if file.is_signed else {}),
    }


def _longest_pause(timelines: Sequence[Timeline]) -> float:
    """Returns the seconds of the longest planned pause in a file of these chapters in order."""
    longest = previous_tail = 0.0
    for timeline in timelines:
        pause_starts = [0, *(cue.stop for cue in timeline.heard)]
        pause_stops = [*(cue.start for cue in timeline.heard), timeline.length]
        head, *gaps, tail = (
            (stop - start) / timeline.sample_rate
            for start, stop in zip(pause_starts, pause_stops, strict=True)
        )
        longest = max(longest, previous_tail + head, *gaps, tail)
        previous_tail = tail
    return round(longest, 3)


_CHECKS_VERSION = 2
"""Version of the checks: a new one has all files measured again."""


def _check_profiles(
    book: RenderedBook,
    delivered: Sequence[ListenerFile],
    facts: Mapping[Path, Mapping[str, Any]],
    outputs: OutputManifest,
    on_progress: ExportProgress,
    cancel: Event,
) -> dict[Path, list[Any]]:
    """Holds every file that is delivered for a platform to its profile, as `verify` does.

    Returns the `checks` of `MadeFile.facts`: a hash of the file's bytes and of all demands on it,
    and a line for each failed check. Files that were checked before, byte for byte, are not
    measured again. Raises Cancelled.
    """
    checks: dict[Path, list[Any]] = {}
    check_keys: dict[Path, str] = {}
    unchecked: list[tuple[Profile, list[ListenerFile]]] = []
    for profile in book.project.deliveries:
        if not profile.name:
            continue  # `output` without a profile demands nothing
        profile_files = [file for file in delivered if file.folder == profile.name]
        for file in profile_files:
            content, pause = facts[file.path]["sha256"], facts[file.path]["pause"]
            first_content = facts[profile_files[0].path]["sha256"]
            recipe = [_CHECKS_VERSION, asdict(profile), content, first_content, pause]
            check_keys[file.path] = keys.key({"checks": recipe})
            recorded = outputs.entry(file.path).facts.get("checks")
            if recorded and recorded[0] == check_keys[file.path]:
                checks[file.path] = recorded
        if any(file.path not in checks for file in profile_files):
            unchecked.append((profile, profile_files))
    # all files of a profile together, since they must match each other
    total_seconds = sum(file.seconds for _, profile_files in unchecked for file in profile_files)
    finished_seconds = 0.0

    def report(profile_seconds: float, share: float) -> None:
        if cancel.is_set():
            raise export.Cancelled
        done_seconds = finished_seconds + share * profile_seconds
        on_progress("check", round(done_seconds), round(total_seconds))

    for profile, profile_files in unchecked:
        profile_seconds = sum(file.seconds for file in profile_files)
        paths = [file.path for file in profile_files]
        inspected = postflight.inspect_files(
            paths, profile, facts, partial(report, profile_seconds)
        )
        for path, result in inspected.items():
            failed = [result] if isinstance(result, UserError) else result.failed
            checks[path] = [check_keys[path], [str(fault) for fault in failed]]
        finished_seconds += profile_seconds
    return checks


def _write_companions(
    book: RenderedBook,
    sounds: Sequence[ChapterAudio],
    exported: Exported,
    outputs: OutputManifest,
    on_progress: ExportProgress,
    *,
    is_complete: bool,
) -> companions.WrittenCompanions:
    """Writes the companions that the manifest asks for into each profile's folder.

    A read-along book is made only of the whole book.
    """
    output, tags = book.project.manifest.output, book_facts(book)
    if not output.companions:
        return companions.WrittenCompanions({}, ())
    source_name = book.project.manifest.source
    chunks = {
        number + 1: tuple(step.chunk for step in chapter_steps if not step.with_before)
        for number, chapter_steps in groupby(book.steps, key=lambda step: step.chapter)
    }
    chapters = [
        companions.SpokenChapter(
            sound.number, book.chapters[sound.number - 1], chunks[sound.number], sound.timeline
        )
        for sound in sounds
    ]
    companion_kinds: dict[Path, str] = {}
    remarks: dict[str, None] = {}
    for profile in book.project.deliveries:
        epub_name = f"{export.book_name(profile.book_name, tags)}.epub"
        epub = book.folders.finished / profile.name / epub_name
        delivered = [file for file in exported.files if file.folder == profile.name]
        kinds = list(output.companions)
        if "readalong" in kinds:
            is_played = any(file.format in EREADER_FORMATS for file in delivered)
            if is_played and not is_complete:
                remarks[f"{epub.name} is made when all chapters are there"] = None
            if not is_played or not is_complete:
                kinds.remove("readalong")
        profile_companions = companions.write(
            chapters,
            delivered,
            kinds,
            tags=tags,
            book=epub,
            source=book.project.root / source_name if source_name else None,
            outputs=outputs,
            on_progress=partial(on_progress, "companions"),
            ids=output.chunk_ids,
            words=output.highlight == "words",
        )
        companion_kinds |= profile_companions.kinds
        remarks |= dict.fromkeys(profile_companions.remarks)
    return companions.WrittenCompanions(companion_kinds, tuple(remarks))


# -- what decides a file ---------------------------------------------------------------------------


def states(
    book: RenderedBook, chapter_sets: Collection[tuple[int, ...]]
) -> dict[tuple[int, ...], str | None]:
    """Returns the state that a file of some chapters would have now, for each of the
    `chapter_sets`.

    Chapters are counted from 0; None where takes are missing. The book is laid out once for all of
    them. Raises ManifestError (music), StorageError.
    """
    if not chapter_sets:
        return {}
    requested = {number for chapters in chapter_sets for number in chapters}
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
        for chapters in chapter_sets
    }


def _shared_facts(book: RenderedBook, channels: int) -> dict[str, Any]:
    """Returns everything that decides all files of a book."""
    project = book.project
    cover = project.root / project.manifest.cover if project.manifest.cover else None
    return {
        "settings": [_profile_settings(profile) for profile in project.deliveries],
        "channels": channels,
        "sample": (project.manifest.output.sample or Sample()).model_dump(),
        "tags": book_facts(book).recipe(),
        "mark": project.manifest.output.mark,
        "cover": keys.file_content(cover) if cover else None,
    }


def _profile_settings(profile: Profile) -> dict[str, Any]:
    """Returns the settings of a profile that decide a file, by the names of the first version, so
    that files delivered since then stay as they are."""
    settings = {
        _RECORDED_NAMES.get(item.name, item.name): getattr(profile, item.name)
        for item in fields(profile)
        if item.name not in CHECKED_ONLY
    }
    is_constant = None if profile.bitrate_mode is None else profile.bitrate_mode == "constant"
    return settings | {
        "target": asdict(profile.target),
        "constant": is_constant,
        "longest": profile.longest and profile.longest * 60,
        "sample": None,
    }


_RECORDED_NAMES = {
    "name": "folder",
    "book_name": "name",
    "chapter_name": "chapter",
    "bitrate_mode": "constant",
}


def _file_state(shared: Mapping[str, Any], sounds: Sequence[ChapterAudio]) -> str:
    """Returns the state of a file with these chapters."""
    mark = shared["mark"] and combine(sound.provenance for sound in sounds).mark
    if mark:
        mark["form"] = str(MARK_FORM)
    recipe = {**shared, "chapters": [[sound.title, sound.key] for sound in sounds], "mark": mark}
    # files without a mark have the state of versions that wrote none
    return keys.key({name: fact for name, fact in recipe.items() if name != "mark" or mark})


def _save_timeline(book: RenderedBook, sound: ChapterAudio) -> None:
    """Saves the timeline that subtitles and read-along books are made from, with paths relative to
    the project."""
    timeline, root = sound.timeline, book.project.root
    relative_cues = tuple(
        replace(cue, path=cue.path.relative_to(root)) if cue.path.is_relative_to(root) else cue
        for cue in timeline.cues
    )
    path = book.folders.work("timeline") / f"{sound.number:03}.json"
    timeline_json = replace(timeline, cues=relative_cues).to_json().encode()
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


def book_facts(book: RenderedBook) -> BookFacts:
    """Returns the facts of a book, with the published rights in its voices in the description;
    drafts name the draft voice as narrator."""
    facts, manifest = book.project.facts, book.project.manifest
    credits = published_credits(
        book.project, dict.fromkeys(step.chunk.speaker for step in book.steps)
    )
    if credits:
        texts = (manifest.description, "\n".join(credits), manifest.disclosure)
        facts = replace(facts, description="\n\n".join(filter(None, texts)))
    if book.folders.draft and not facts.narrators:
        return replace(facts, narrators=("draft voice",))
    return facts
