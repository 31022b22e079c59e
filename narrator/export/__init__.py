"""Chapters' sound -> the files that listeners get: encoded, joined, tagged, with chapter marks.

A chapter is encoded once for each codec and kept; the files are joined from what is kept, so
renaming a chapter or changing a tag costs a copy. This package is where files meet FFmpeg. It knows
nothing of text, takes and manifests.

    encode.py      one chapter -> one encoded file at its target loudness; many side by side
    m4b.py         the M4B writer
    containers.py  MP3, Opus, FLAC, WAV through FFmpeg
    tags.py        book facts, cover, language codes
    names.py       file names
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from narrator import keys
from narrator.assemble import Timeline
from narrator.audio import Samples
from narrator.errors import UserError
from narrator.export import containers, m4b
from narrator.export.encode import (
    Cancel,
    Cancelled,
    Encoded,
    Encoding,
    Job,
    encoding,
    export_chapters,
)
from narrator.export.names import file_name
from narrator.export.tags import Cover, Tags, Track, named, read_cover, three_letters
from narrator.files import replacing, storage, sweep
from narrator.loudness import Target

__all__ = [
    "Cancelled",
    "ChapterAudio",
    "Encoded",
    "Encoding",
    "Exported",
    "ListenerFile",
    "Settings",
    "Tags",
    "book_name",
    "encoding",
    "export",
    "export_chapters",
    "prune",
    "read_cover",
    "three_letters",
]


@dataclass(frozen=True, slots=True)
class ChapterAudio:
    """One chapter, ready to be heard."""

    number: int
    """From 1, in its book."""
    title: str
    key: str
    """Of everything that decides its samples: `assemble.sound_key`."""
    timeline: Timeline
    blocks: Callable[[], Iterator[Samples]]
    """Its samples at the timeline's rate, from the start at every call; called up to five times
    for each codec, from a thread."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What files a book is delivered as."""

    formats: tuple[str, ...]
    """m4b, mp3, opus, flac, wav."""
    target: Target
    files: str = "both"
    """book, chapters or both. M4B is always one book."""
    name: str = "{author} - {title}"
    """Of the book's file and folders: {title}, {author}, {series}, {part}, {language}."""
    bitrate: int | None = None
    """kbit/s of lossy codecs; by codec where it is None."""
    sample_rate: int | None = None
    """Hz; the sound's own where it is None and the codec takes it."""


@dataclass(frozen=True, slots=True)
class ListenerFile:
    """A finished file."""

    path: Path
    format: str
    chapter: int | None
    """None for the whole book."""
    starts: tuple[float, ...]
    """Seconds at which each of its chapters begins: where that chapter's timeline has its zero."""
    seconds: float
    bytes: int
    fresh: bool
    """Whether it was written now."""


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export made, and what it found made."""

    files: tuple[ListenerFile, ...]
    chapters: tuple[tuple[ChapterAudio, tuple[Encoded, ...]], ...]
    """Each chapter with its encoded files, measured, one for each codec."""
    stale: tuple[Path, ...]
    """Files of earlier exports that this book no longer has: a chapter renamed, a format dropped.
    They are left where they are."""


def export(
    chapters: Sequence[ChapterAudio],
    tags: Tags,
    settings: Settings,
    *,
    out: Path,
    kept: Path,
    total: int | None = None,
    whole: bool = True,
    workers: int | None = None,
    on_progress: Callable[[str, int, int], None] | None = None,
    cancel: Cancel | None = None,
) -> Exported:
    """Encode what is not encoded yet, and write to `out` every file that is not there as it should.

    `kept` holds encoded chapters between runs. `total` is the number of chapters of the book and
    `whole` says that all of them are here; without it chapters are written and no book files.
    `on_progress` hears ("encode", seconds done, seconds in all), then ("files", files done, files
    in all).

    Raises UserError (settings that do not fit, a cover that is no image), ExportError (a chapter
    that cannot be brought to its target), StorageError, Cancelled, and what `blocks` raises. Files
    are whole or absent then, and the next export goes on from there.
    """
    progress = on_progress or (lambda what, done, total: None)
    plans = _plans(chapters, tags, settings, out, total or len(chapters), whole)
    cover = read_cover(tags.cover) if tags.cover else None
    for folder in {kept, *(plan.path.parent for plan in plans)}:
        sweep(folder)
    encoded = _encode(chapters, settings, kept, workers, progress, cancel)
    ledger = _Ledger(kept / "files.json")
    files = []
    for done, plan in enumerate(plans):
        if cancel is not None and cancel.is_set():
            raise Cancelled
        progress("files", done, len(plans))
        sounds = [encoded[c.number, plan.encoding] for c in plan.chapters]
        files.append(_deliver(plan, sounds, tags, cover, ledger))
    progress("files", len(plans), len(plans))
    each = [
        (c, tuple(e for (number, _), e in encoded.items() if number == c.number)) for c in chapters
    ]
    stale = ledger.others(out, {plan.path for plan in plans}) if whole else ()
    return Exported(tuple(files), tuple(each), stale)


# -- plans -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Plan:
    """One file to deliver."""

    path: Path
    format: str
    encoding: Encoding
    chapters: tuple[ChapterAudio, ...]
    track: Track | None
    """Set where the file is one chapter."""


def _plans(
    chapters: Sequence[ChapterAudio],
    tags: Tags,
    settings: Settings,
    out: Path,
    total: int,
    whole: bool,
) -> list[_Plan]:
    # Part of a book is delivered as chapters, whatever the book as a whole will be.
    parted = not whole and (settings.files == "book" or set(settings.formats) == {"m4b"})
    name = book_name(settings.name, tags)
    digits = max(2, len(str(total)))
    plans = []
    for format in settings.formats:
        code = _encoding(settings, format, chapters)
        if whole and (format == "m4b" or settings.files != "chapters"):
            if format == "mp3" and len(chapters) > containers.MOST_ID3:
                raise UserError(
                    f"one MP3 can mark {containers.MOST_ID3} chapters, not {len(chapters)}; "
                    "set output.files: chapters, or output.formats: m4b"
                )
            path = out / f"{name}.{format}"
            plans.append(_Plan(path, format, code, tuple(chapters), None))
        if not parted and (format == "m4b" or settings.files == "book"):
            continue
        for chapter in chapters:
            title = f"{chapter.number:0{digits}} - {file_name(chapter.title)}"
            path = out / f"{name} ({format})" / f"{title}.{format}"
            track = Track(chapter.title, chapter.number, total)
            plans.append(_Plan(path, format, code, (chapter,), track))
    return plans


def _encoding(settings: Settings, format: str, chapters: Sequence[ChapterAudio]) -> Encoding:
    rates = {chapter.timeline.sample_rate for chapter in chapters}
    return encoding(format, max(rates), sample_rate=settings.sample_rate, bitrate=settings.bitrate)


def book_name(template: str, tags: Tags) -> str:
    """A book's file name from its template; parts that are not known leave no dangling marks.

    Raises UserError for a field that does not exist.
    """
    facts = {
        "title": tags.title,
        "author": tags.author,
        "series": tags.series,
        "part": tags.part,
        "language": tags.language,
    }

    def value(match: re.Match[str]) -> str:
        if match[1] not in facts:
            known = ", ".join(f"{{{name}}}" for name in facts)
            raise UserError(f"output.name has no field {match[0]}, only {known}")
        return facts[match[1]]

    return file_name(re.sub(r"\{(\w*)\}", value, template).strip(" -_.,"))


# -- encoding --------------------------------------------------------------------------------------


def _encode(
    chapters: Sequence[ChapterAudio],
    settings: Settings,
    kept: Path,
    workers: int | None,
    progress: Callable[[str, int, int], None],
    cancel: Cancel | None,
) -> dict[tuple[int, Encoding], Encoded]:
    codes = dict.fromkeys(_encoding(settings, format, chapters) for format in settings.formats)
    wanted = [(chapter, code) for code in codes for chapter in chapters]
    jobs = [
        Job(
            title=chapter.title,
            key=chapter.key,
            rate=chapter.timeline.sample_rate,
            length=chapter.timeline.length,
            blocks=chapter.blocks,
            encoding=code,
            target=settings.target,
            folder=kept,
        )
        for chapter, code in wanted
    ]
    seconds = [chapter.timeline.seconds for chapter, _ in wanted]
    shares = [0.0] * len(jobs)

    def on_progress(job: int, share: float) -> None:
        shares[job] = share
        done = sum(share * length for share, length in zip(shares, seconds, strict=True))
        progress("encode", round(done), round(sum(seconds)))

    encoded = export_chapters(jobs, workers=workers, on_progress=on_progress, cancel=cancel)
    return {(c.number, code): e for (c, code), e in zip(wanted, encoded, strict=True)}


def prune(kept: Path, exported: Exported) -> int:
    """Delete encoded chapters that an export did not use; returns the bytes freed.

    Raises StorageError.
    """
    used = {e.path.stem for _, sounds in exported.chapters for e in sounds}
    freed = 0
    with storage(kept):
        for path in kept.iterdir():
            if re.fullmatch(r"[0-9a-f]{40}", path.stem) and path.stem not in used:
                freed += path.stat().st_size
                path.unlink()
    return freed


# -- delivering ------------------------------------------------------------------------------------


def _deliver(
    plan: _Plan, sounds: Sequence[Encoded], tags: Tags, cover: Cover | None, ledger: _Ledger
) -> ListenerFile:
    titles = [chapter.title for chapter in plan.chapters]
    recipe = {
        "file": 1,
        "format": plan.format,
        "sounds": [sound.sha256 for sound in sounds],
        "titles": titles,
        "tags": asdict(replace(tags, cover=None)),
        "cover": keys.content(cover.data) if cover else None,
        "track": asdict(plan.track) if plan.track else None,
    }
    key = keys.key(recipe)
    starts = ledger.find(plan.path, key)
    fresh = starts is None
    if starts is None:
        parts = list(zip(titles, sounds, strict=True))
        with replacing(plan.path) as temporary:
            starts = _write(temporary, plan, parts, tags, cover)
        ledger.note(plan.path, key, starts)
    rate = plan.encoding.sample_rate
    return ListenerFile(
        path=plan.path,
        format=plan.format,
        chapter=plan.chapters[0].number if plan.track else None,
        starts=tuple(start / rate for start in starts),
        seconds=(starts[-1] + sounds[-1].samples) / rate,
        bytes=plan.path.stat().st_size,
        fresh=fresh,
    )


def _write(
    path: Path,
    plan: _Plan,
    parts: Sequence[tuple[str, Encoded]],
    tags: Tags,
    cover: Cover | None,
) -> tuple[int, ...]:
    if plan.format == "m4b":
        own = replace(tags, title=plan.track.title) if plan.track else tags
        return m4b.write(path, parts, own, cover)
    facts = named(tags, plan.track, plan.format)
    return containers.write(path, plan.format, parts, facts, cover, marks=plan.track is None)


class _Ledger:
    """Which files were delivered from what, so that those are not written again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            rows = json.loads(path.read_bytes())
            self.rows = {n: r for n, r in rows.items() if {"key", "stat", "starts"} <= r.keys()}
        except (OSError, ValueError, AttributeError):
            self.rows = {}  # a ledger lost costs a copy of every file

    def find(self, path: Path, key: str) -> tuple[int, ...] | None:
        """Where a file's chapters start, if it is the one that was written."""
        row = self.rows.get(self._name(path))
        if row is None or row["key"] != key:
            return None
        try:
            stat = path.stat()
        except FileNotFoundError:
            return None
        if [stat.st_size, stat.st_mtime_ns] != row["stat"]:
            return None
        return tuple(row["starts"])

    def note(self, path: Path, key: str, starts: Sequence[int]) -> None:
        stat = path.stat()
        self.rows[self._name(path)] = {
            "key": key,
            "stat": [stat.st_size, stat.st_mtime_ns],
            "starts": list(starts),
        }
        with replacing(self.path) as temporary:
            temporary.write_text(json.dumps(self.rows, ensure_ascii=False), encoding="utf-8")

    def others(self, folder: Path, known: set[Path]) -> tuple[Path, ...]:
        """Delivered files under a folder that are not among the known and still there."""
        found = (Path(os.path.normpath(self.path.parent / name)) for name in self.rows)
        normal = {Path(os.path.normpath(path)) for path in known}
        root = Path(os.path.normpath(folder))
        return tuple(
            path for path in found
            if path not in normal and path.is_relative_to(root) and path.exists()
        )  # fmt: skip

    def _name(self, path: Path) -> str:
        return Path(os.path.relpath(path, self.path.parent)).as_posix()
