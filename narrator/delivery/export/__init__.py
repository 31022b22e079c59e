"""Exports chapters' sound to the files that listeners get: encoded, joined, tagged, with chapter
marks.

A chapter is encoded once for each codec and kept; the files are joined from these, so renaming a
chapter or changing a tag costs a copy. All encoding by FFmpeg happens in this package. It knows
nothing of text, takes and manifests.

    encode.py      a chapter -> an encoded file at its target loudness, many side by side; and
                   encoded streams
    m4b.py         the M4B writer
    containers.py  MP3, Opus, FLAC, WAV through FFmpeg
    tags.py        book facts, language codes
    cover.py       a cover, read completely and fitted to a platform
    excerpt.py     the retail sample: an excerpt of a chapter
    names.py       file names from templates
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import Literal

from narrator import keys
from narrator.delivery.credentials import SIGNED_FORMATS, Credentials
from narrator.delivery.export import containers, m4b
from narrator.delivery.export.cover import fit_cover, read_cover
from narrator.delivery.export.encode import (
    KEY_PATTERN,
    Cancelled,
    Encoded,
    EncodeJob,
    Encoding,
    altered_encodings,
    encoding,
    export_chapters,
    load_encoded_job,
)
from narrator.delivery.export.excerpt import ChapterAudio, excerpt, nearest_excerpt
from narrator.delivery.export.names import file_name, fold_path, path_of
from narrator.delivery.export.tags import Cover, Track, file_tags, three_letters
from narrator.delivery.output_manifest import OutputManifest
from narrator.delivery.provenance import MARK_FORM, combine
from narrator.errors import ExportError, UserError
from narrator.files import load_json, replacing, save_json, sweep, translating_errors
from narrator.project.facts import BookFacts
from narrator.project.profiles import Profile
from narrator.sound.formats import FORMATS

__all__ = [
    "BookAudio",
    "Cancelled",
    "ChapterAudio",
    "Encoded",
    "Encoding",
    "Exported",
    "Failure",
    "FileKind",
    "ListenerFile",
    "OutputTarget",
    "altered_encodings",
    "book_name",
    "check_names",
    "encoded_already",
    "encoding",
    "excerpt",
    "export",
    "export_chapters",
    "fit_cover",
    "nearest_excerpt",
    "prune",
    "read_cover",
    "three_letters",
]


FileKind = Literal["book", "part", "chapter", "sample"]
"""The whole book, a part of one that is too long for a file, a chapter, the retail sample."""


@dataclass(frozen=True, slots=True)
class OutputTarget:
    """A profile to deliver a book for, in a folder of its own."""

    profile: Profile
    """Its name is the name of the folder, within that of finished files."""
    sample: ChapterAudio | None = None
    """The retail sample, delivered beside the book."""


@dataclass(frozen=True, slots=True)
class BookAudio:
    """The sound of a book, or of some of its chapters."""

    chapters: Sequence[ChapterAudio]
    tags: BookFacts
    total: int = 0
    """Number of chapters of the whole book; 0 where these are all."""
    channels: int = 1
    """Channel count of the whole book, which absent chapters may raise."""
    silent: int = 0
    """Number of chapters without text among `total`."""
    marks: bool = True
    """True where files state their origin."""

    @property
    def count(self) -> int:
        """Number of chapters of the whole book."""
        return self.total or len(self.chapters)

    @property
    def is_complete(self) -> bool:
        """True where all chapters with text are here."""
        return self.count - self.silent == len(self.chapters)

    def encoding(self, format: str, profile: Profile) -> Encoding:
        """Returns the encoding of a format, the same for all chapters. Raises UserError for an
        impossible one."""
        rate = max(chapter.timeline.sample_rate for chapter in self.chapters)
        channels = max([self.channels, *(chapter.channels for chapter in self.chapters)])
        return encoding(format, rate, profile, channels)


@dataclass(frozen=True, slots=True)
class ListenerFile:
    """A finished file."""

    path: Path
    format: str
    chapter: int | None
    """Number of its one chapter; None for the whole book, or a part of it."""
    starts: tuple[float, ...]
    """Seconds at which each of its chapters begins, where that chapter's timeline has its zero."""
    seconds: float
    bytes: int
    fresh: bool
    """True for a file that was written by this export."""
    chapters: tuple[int, ...]
    """Numbers of its chapters, one for each of `starts`."""
    kind: FileKind
    folder: str = ""
    """Name of its profile's folder."""
    mark: Mapping[str, str] = field(default_factory=dict)
    """The tags that state its origin."""
    is_signed: bool = False
    """True where it has content credentials."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A reason why files could not be made."""

    why: str
    paths: tuple[Path, ...]
    """The files; older versions may still exist."""


@dataclass(frozen=True, slots=True)
class Exported:
    """The results of an export, with the files that were up to date already."""

    files: tuple[ListenerFile, ...]
    samples: tuple[ListenerFile, ...]
    """Retail samples."""
    chapters: tuple[tuple[ChapterAudio, tuple[Encoded, ...]], ...]
    """Each chapter with its measured encoded files, one for each encoding that succeeded."""
    encoded: tuple[Encoded, ...]
    """All encoded files, those of samples too."""
    remarks: tuple[str, ...]
    """Messages on what differs from what was asked for, such as a book in parts."""
    failed: tuple[Failure, ...] = ()

    @property
    def delivered(self) -> tuple[ListenerFile, ...]:
        """All files, samples too."""
        return (*self.files, *self.samples)


def export(
    book: BookAudio,
    targets: Sequence[OutputTarget],
    *,
    output_folder: Path,
    cache_folder: Path,
    outputs: OutputManifest | None = None,
    credentials: Credentials | None = None,
    on_progress: Callable[[str, int, int], None] = lambda stage, done_count, total: None,
    cancel: Event | None = None,
) -> Exported:
    """Encodes missing chapters, and writes every file to `output_folder` that is not up to date.

    `cache_folder` keeps encoded chapters between runs. For a part of the chapters only chapter
    files are written. `outputs` records files before they are written, and moves files aside that
    were altered by hand. Files with a mark are signed with `credentials`, where their format can
    be. `on_progress` receives ("encode", seconds done, seconds in all), then
    ("files", files done, files in all).

    A file with a chapter that cannot be encoded, brought to its target or kept within `longest` is
    not written but listed in `Exported.failed`; all others are written.

    Raises UserError (settings that do not fit, two files of one name, a cover that is no image),
    StorageError, Cancelled, and errors of `blocks`. Then files are complete or absent, and the next
    export continues from there.
    """
    plans = [
        plan
        for target in targets
        for plan in _plan_files(book, target, _FileNames(target.profile, book, output_folder))
    ]
    _check_paths((plan.path, plan.description) for plan in plans)
    covers = _fit_covers(book.tags, targets)
    for folder in {cache_folder, *(plan.path.parent for plan in plans)}:
        sweep(folder)
    results = _encode_jobs(plans, cache_folder, on_progress, cancel)
    if outputs is not None:
        outputs.expect_files(plan.path for plan in plans)
    writer = _Writer(
        book.tags, covers, _Ledger(cache_folder / "files.json"), outputs, book.marks, credentials
    )
    files: list[ListenerFile] = []
    samples: list[ListenerFile] = []
    paths_by_fault: dict[str, list[Path]] = {}
    for number, plan in enumerate(plans):
        if cancel is not None and cancel.is_set():
            raise Cancelled
        on_progress("files", number, len(plans))
        plan_results = [results[job] for job in plan.jobs]
        sounds = [result for result in plan_results if isinstance(result, Encoded)]
        faults = [str(result) for result in plan_results if isinstance(result, ExportError)]
        for fault in [plan.fault] if plan.fault else faults:
            paths_by_fault.setdefault(fault, []).append(plan.path)
        if not plan.fault and not faults:
            (samples if plan.kind == "sample" else files).append(writer.deliver(plan, sounds))
    on_progress("files", len(plans), len(plans))
    encoded_by_key: dict[str, list[Encoded]] = {chapter.key: [] for chapter in book.chapters}
    for job, result in results.items():
        if isinstance(result, Encoded):
            encoded_by_key.setdefault(job.key, []).append(result)
    return Exported(
        files=tuple(files),
        samples=tuple(samples),
        chapters=tuple((chapter, tuple(encoded_by_key[chapter.key])) for chapter in book.chapters),
        encoded=tuple(result for result in results.values() if isinstance(result, Encoded)),
        remarks=(
            *dict.fromkeys(plan.remark for plan in plans if plan.remark),
            *(
                f"{path.name} had been altered since it was made; it is made again"
                for path in writer.ledger.altered
            ),
        ),
        failed=tuple(Failure(fault, tuple(paths)) for fault, paths in paths_by_fault.items()),
    )


def encoded_already(
    book: BookAudio, chapter: ChapterAudio, profiles: Iterable[Profile], cache_folder: Path
) -> list[Encoded]:
    """Returns the encoded files of a chapter that exist for one of the profiles; makes nothing."""
    jobs = dict.fromkeys(
        EncodeJob(chapter, book.encoding(format, profile), profile.target, profile.room_tone)
        for profile in profiles
        for format in profile.formats
    )
    return [
        encoded_chapter for job in jobs if (encoded_chapter := load_encoded_job(job, cache_folder))
    ]


def _fit_covers(tags: BookFacts, targets: Sequence[OutputTarget]) -> dict[str, Cover | None]:
    """Fits the cover to each profile; by the profile's name."""
    profiles = [target.profile for target in targets]
    if tags.cover is None:
        return dict.fromkeys(profile.name for profile in profiles)
    cover = read_cover(tags.cover)
    return {
        profile.name: fit_cover(
            cover, tags.cover, square=profile.cover_square, pixels=profile.cover_pixels
        )
        for profile in profiles
    }


# -- plans -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Plan:
    """One file to deliver."""

    path: Path
    format: str
    profile: Profile
    encoding: Encoding
    chapters: tuple[ChapterAudio, ...]
    track: Track | None = None
    """Set where the file is one chapter, or a part of the book."""
    kind: FileKind = "book"
    remark: str = ""
    """A note for people, if any."""
    fault: str = ""
    """Reason why it cannot be made, where that is known before encoding."""

    @property
    def is_book(self) -> bool:
        """True for the whole book or a part of it, with chapter marks."""
        return self.kind in ("book", "part")

    @property
    def jobs(self) -> list[EncodeJob]:
        """The encoding jobs that it needs."""
        target, room_tone = self.profile.target, self.profile.room_tone
        chapters = () if self.fault else self.chapters
        return [EncodeJob(chapter, self.encoding, target, room_tone) for chapter in chapters]

    @property
    def description(self) -> str:
        """The file in words, for messages."""
        if self.is_book:
            return "the book"
        if self.kind == "sample":
            return "the retail sample"
        return _describe_chapter(self.chapters[0].number, self.chapters[0].title)


def _describe_chapter(number: int, title: str) -> str:
    return f"chapter {number} '{title}'"


def _plan_files(book: BookAudio, target: OutputTarget, names: _FileNames) -> list[_Plan]:
    """Plans all files of a target: books, chapters, retail sample."""
    profile = target.profile
    # An incomplete book is delivered as chapters, whatever the complete one will be.
    is_chapters_only = not book.is_complete and not profile.has_chapter_files
    plans = []
    for format in profile.formats:
        encoding, is_book = book.encoding(format, profile), FORMATS[format].is_book
        if book.is_complete and (is_book or profile.files != "chapters"):
            plans += _plan_book(book, profile, format, encoding, names)
        if not is_chapters_only and (is_book or profile.files == "book"):
            continue
        for chapter in book.chapters:
            path = names.chapter(format, chapter.number, chapter.title)
            track = Track(chapter.title, chapter.number, book.count)
            fault = _length_fault(chapter, profile)
            plans.append(
                _Plan(path, format, profile, encoding, (chapter,), track, "chapter", fault=fault)
            )
    if target.sample is not None and book.is_complete:
        format, sample = profile.formats[0], target.sample
        encoding, track = book.encoding(format, profile), Track(sample.title, 0, 0)
        path = names.sample(format, sample.title)
        plans.append(_Plan(path, format, profile, encoding, (sample,), track, "sample"))
    return plans


def _length_fault(chapter: ChapterAudio, profile: Profile) -> str:
    """Describes a chapter that is longer than a file may be; empty where it is not."""
    if profile.longest is None or chapter.timeline.seconds <= profile.longest * 60:
        return ""
    return (
        f"chapter '{chapter.title}' lasts {chapter.timeline.seconds / 60:.0f} min, and "
        f"{profile.name or 'output'} takes {profile.longest:g} min a file: "
        "make two chapters of it"
    )


def _plan_book(
    book: BookAudio, profile: Profile, format: str, encoding: Encoding, names: _FileNames
) -> list[_Plan]:
    """Plans the file of the whole book; several where one cannot mark all chapters or gets too
    long."""
    max_marks = FORMATS[format].max_marks
    max_seconds = float("inf") if profile.longest is None else profile.longest * 60
    path, chapters = names.book_file(format), tuple(book.chapters)
    for fault in (_length_fault(chapter, profile) for chapter in chapters):
        if fault:
            return [_Plan(path, format, profile, encoding, chapters, fault=fault)]
    parts: list[list[ChapterAudio]] = [[]]
    seconds = 0.0  # length of the current part, with padding between chapters
    for chapter in chapters:
        is_too_long = seconds + chapter.timeline.seconds > max_seconds
        if parts[-1] and (is_too_long or len(parts[-1]) == max_marks):
            parts.append([])
            seconds = 0.0
        parts[-1].append(chapter)
        seconds += chapter.timeline.seconds + encoding.max_join_seconds
    if len(parts) == 1:
        remark = ""
        if format == "m4b" and len(chapters) > m4b.MAX_NERO_CHAPTERS:
            remark = (
                f"{path.name} marks its {len(chapters)} chapters in its chapter track alone: "
                f"Nero's list, which some players read, ends at {m4b.MAX_NERO_CHAPTERS}"
            )
        return [_Plan(path, format, profile, encoding, chapters, remark=remark)]
    reason = (
        f"{format.upper()} marks at most {max_marks} chapters"
        if max_marks is not None and len(chapters) > max_marks
        else f"a file may last {profile.longest or 0:g} min"
    )
    remark = f"{path.name} is delivered in {len(parts)} parts: {reason}"
    return [
        _Plan(
            names.part(format, number),
            format,
            profile,
            encoding,
            tuple(part),
            Track(f"{book.tags.title}, part {number}", number, len(parts)),
            "part",
            remark=remark,
        )
        for number, part in enumerate(parts, 1)
    ]


# -- names -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _FileNames:
    """Paths of the files of one profile."""

    profile: Profile
    book: BookAudio
    folder: Path

    @property
    def stem(self) -> Path:
        """Path of the book without its ending."""
        name = _expand_template(self.profile.book_name, self.book.tags.in_names())
        return self.folder / self.profile.name / name

    def book_file(self, format: str) -> Path:
        """Returns the path of the whole book."""
        return self._beside_book(self.stem.name, format)

    def part(self, format: str, number: int) -> Path:
        """Returns the path of a part of the book."""
        return self._beside_book(f"{self.stem.name} - part {number}", format)

    def sample(self, format: str, title: str) -> Path:
        """Returns the path of the retail sample."""
        return self._beside_book(f"{self.stem.name} - {file_name(title)}", format)

    def chapter(self, format: str, number: int, title: str) -> Path:
        """Returns the path of a chapter."""
        digits = max(2, len(str(self.book.count)))
        chapter_facts = {"number": f"{number:0{digits}}", "chapter": title, "format": format}
        facts = self.book.tags.in_names() | chapter_facts | {"name": self.stem.name}
        return self._beside_book(_expand_template(self.profile.chapter_name, facts), format)

    def _beside_book(self, name: str | Path, format: str) -> Path:
        path = self.stem.parent / name
        return path.with_name(f"{path.name}.{format}")


def check_names(titles: Sequence[str], tags: BookFacts, profile: Profile) -> None:
    """Raises UserError where two files of a book with these chapters would have one name.

    Names count as equal that differ only in what some file systems ignore: case, composed letters.
    Chapter files count even if only the book is delivered, since a book that is not complete yet is
    delivered as chapters.
    """
    names = _FileNames(profile, BookAudio((), tags, len(titles)), Path())
    named_paths = [(names.book_file(format), "the book") for format in profile.formats]
    if len(titles) > 1 or profile.files != "book":
        named_paths += [
            (names.chapter(format, number, title), _describe_chapter(number, title))
            for format in profile.formats
            for number, title in enumerate(titles, 1)
        ]
    _check_paths(named_paths)


def _check_paths(named_paths: Iterable[tuple[Path, str]]) -> None:
    """Raises UserError for two files at one path; each path comes with a description."""
    descriptions: dict[str, str] = {}
    for path, description in named_paths:
        name = fold_path(path)
        if name in descriptions:
            raise UserError(
                f"{descriptions[name]} and {description} would both be the file '{path.name}': put "
                "{number} into chapter_name, at its beginning, or give them other names"
            )
        descriptions[name] = description


def _expand_template(template: str, facts: dict[str, str]) -> Path:
    """Expands a name template to a path. Raises UserError for an unknown field."""
    try:
        return path_of(template, facts)
    except KeyError as error:
        known_fields = ", ".join(f"{{{name}}}" for name in facts)
        raise UserError(
            f"output.name has no field {{{error.args[0]}}}, only {known_fields}"
        ) from None


def book_name(template: str, tags: BookFacts) -> str:
    """Expands a book's name template; unknown parts leave no dangling punctuation.

    Raises UserError for a field that does not exist.
    """
    return _expand_template(template, tags.in_names()).as_posix()


# -- encoding --------------------------------------------------------------------------------------


def _encode_jobs(
    plans: Sequence[_Plan],
    cache_folder: Path,
    on_progress: Callable[[str, int, int], None],
    cancel: Event | None,
) -> dict[EncodeJob, Encoded | ExportError]:
    """Encodes the chapters of all plans; returns results by job."""
    jobs = list(dict.fromkeys(job for plan in plans for job in plan.jobs))
    seconds = [job.chapter.timeline.seconds for job in jobs]
    shares = [0.0] * len(jobs)

    def report(job: int, share: float) -> None:
        shares[job] = share
        done_seconds = sum(share * length for share, length in zip(shares, seconds, strict=True))
        on_progress("encode", round(done_seconds), round(sum(seconds)))

    encoded = export_chapters(jobs, cache_folder, on_progress=report, cancel=cancel)
    return dict(zip(jobs, encoded, strict=True))


def prune(cache_folder: Path, exported: Exported) -> int:
    """Deletes encoded chapters that an export did not use; returns the bytes freed.

    Raises StorageError.
    """
    used_names = {sound.path.stem for sound in exported.encoded}
    freed_bytes = 0
    with translating_errors(cache_folder):
        for path in cache_folder.iterdir():
            if KEY_PATTERN.fullmatch(path.stem) and path.stem not in used_names:
                freed_bytes += path.stat().st_size
                path.unlink()
    return freed_bytes


# -- delivering ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes files from encoded chapters, where they are not up to date."""

    facts: BookFacts
    covers: Mapping[str, Cover | None]
    """Covers by names of profiles."""
    ledger: _Ledger
    outputs: OutputManifest | None
    marks: bool
    """True where files state their origin."""
    credentials: Credentials | None

    def deliver(self, plan: _Plan, sounds: Sequence[Encoded]) -> ListenerFile:
        """Writes the file of a plan, unless it is up to date. Raises ExportError, StorageError."""
        facts = replace(self.facts, genre=self.facts.genre or plan.profile.genre)
        cover, format = self.covers[plan.profile.name], FORMATS[plan.format]
        titles = [chapter.title for chapter in plan.chapters]
        recipe = {
            "file": 4,
            "format": plan.format,
            "sounds": [sound.sha256 for sound in sounds],
            "titles": titles,
            "tags": facts.recipe(),
            "cover": keys.content(cover.data) if cover else None,
            "track": asdict(plan.track) if plan.track else None,
        }
        mark = combine(chapter.provenance for chapter in plan.chapters).mark if self.marks else {}
        if mark:  # files without one have the keys of versions that wrote none
            recipe |= {"mark": mark, "mark_form": MARK_FORM}
        credentials = self.credentials if mark and plan.format in SIGNED_FORMATS else None
        if credentials:
            recipe["credentials"] = credentials.fingerprint
        key = keys.key(recipe)
        starts = self.ledger.starts_of(plan.path, key)
        is_fresh = starts is None
        if starts is None:
            titled_sounds = list(zip(titles, sounds, strict=True))
            tags = file_tags(facts, plan.track, format, mark)
            if self.outputs is not None:
                self.outputs.clear_path(plan.path, self.ledger.written_sha256(plan.path))
            with replacing(plan.path) as temporary:
                if format.tags == "mp4":
                    starts = m4b.write(temporary, titled_sounds, tags, cover)
                else:
                    starts = containers.write(
                        temporary, format, titled_sounds, tags, cover, has_marks=plan.is_book
                    )
                if credentials:
                    credentials.sign(temporary, plan.format, tags["title"], mark)
            self.ledger.record(plan.path, key, starts)
        rate = plan.encoding.sample_rate
        return ListenerFile(
            path=plan.path,
            format=plan.format,
            chapter=None if plan.is_book else plan.chapters[0].number,
            starts=tuple(start / rate for start in starts),
            seconds=(starts[-1] + sounds[-1].samples) / rate,
            bytes=plan.path.stat().st_size,
            fresh=is_fresh,
            chapters=tuple(chapter.number for chapter in plan.chapters),
            kind=plan.kind,
            folder=plan.profile.name,
            mark=mark,
            is_signed=credentials is not None,
        )


@dataclass(frozen=True, slots=True)
class _WrittenFile:
    """The recipe of a delivered file, and the bytes that were written."""

    key: str
    sha256: str
    starts: tuple[int, ...]
    """Samples at which its chapters begin."""


class _Ledger:
    """Records the recipe of each delivered file, so that unchanged files are not written again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.altered: list[Path] = []
        """Files with the right recipe but other bytes than were written."""
        rows = load_json(path, dict[str, _WrittenFile], {})  # a lost ledger costs copies of files
        self.rows = {name: row for name, row in rows.items() if os.path.lexists(path.parent / name)}

    def starts_of(self, path: Path, key: str) -> tuple[int, ...] | None:
        """Returns the samples at which a file's chapters begin; None where it must be written.

        That is where its recipe has another key, and where its bytes are not those that were
        written; then it is added to `altered`. Raises StorageError where it cannot be read.
        """
        row = self.rows.get(self._name(path))
        if row is None or row.key != key or not path.exists():
            return None
        with translating_errors(path):
            if keys.file_content(path) == row.sha256:
                return row.starts
        self.altered.append(path)
        return None

    def written_sha256(self, path: Path) -> str | None:
        """Returns the hash of what was written at a path last."""
        row = self.rows.get(self._name(path))
        return row.sha256 if row else None

    def record(self, path: Path, key: str, starts: Sequence[int]) -> None:
        """Records a file that was written. Raises StorageError."""
        with translating_errors(path):
            sha256 = keys.file_content(path)
        self.rows[self._name(path)] = _WrittenFile(key, sha256, tuple(starts))
        save_json(self.path, {name: asdict(row) for name, row in self.rows.items()})

    def _name(self, path: Path) -> str:
        return Path(os.path.relpath(path, self.path.parent)).as_posix()
