"""From takes to files: which take lies where with which pause and gain, then export.

The pauses are the manifest's, chosen by what follows each chunk; the gains even out the cast. A
chapter's sound is named by all that decides it, so what did not change is not made again. Knows the
manifest and the store; nothing of engines and encoders.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from narrator import assemble, export, files, keys
from narrator.assemble import Clip
from narrator.audio import Samples
from narrator.errors import DamagedTake
from narrator.export import ChapterAudio, Exported, Settings, Tags
from narrator.loudness import target
from narrator.manifest import Output, Pauses, Project
from narrator.plan import Step
from narrator.render import Cancel
from narrator.store import Record, Store
from narrator.voices import Cast


class Observer(Protocol):
    """Who is told of the files' progress."""

    def exporting(self, what: str, done: int, total: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Finished:
    """The files of a run and what they measure."""

    exported: Exported
    states: Mapping[str, str]
    """Of everything that decides a file, by its path: `state_of` its chapters when it was made."""

    @property
    def files(self) -> list[Path]:
        return [file.path for file in self.exported.files]

    def made(self) -> dict[Path, tuple[list[int], str]]:
        """The chapters of each file, counted from 0, and their state."""
        numbers = [chapter.number for chapter, _ in self.exported.chapters]
        return {
            file.path: (
                [n - 1 for n in numbers if file.chapter in (None, n)],
                self.states[str(file.path)],
            )
            for file in self.exported.files
        }

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
            "stale_files": [str(path) for path in self.exported.stale],
            "chapters": rows,
        }


def folder(project: Project, *, draft: bool) -> Path:
    """Where finished files go: `build/book`, or `build/draft` for a draft of a book that has a real
    engine; a manifest by another name than book.yaml has folders of its own.
    """
    kind, stem = "draft" if draft else "book", project.path.stem
    return project.build / (kind if stem == "book" else f"{kind}-{stem}")


def finish(
    project: Project,
    titles: Sequence[str],
    cast: Cast,
    steps: Sequence[Step],
    store: Store,
    *,
    chapters: Sequence[int],
    whole: bool,
    draft: bool,
    observer: Observer,
    cancel: Cancel,
) -> Finished | None:
    """Assemble and export chapters (counted from 0) whose takes are all there.

    `whole` says that all chapters of the book are complete, so that book files may be written.
    Returns None when it was cancelled. Raises DamagedTake, ExportError, StorageError, UserError.
    """
    sounds = _sounds(project, titles, cast, steps, store, chapters)
    for sound in sounds:
        _save_timeline(project, draft, sound)
    if not sounds:
        return None
    try:
        exported = export.export(
            sounds,
            _tags(project, draft),
            _settings(project.manifest.output),
            out=folder(project, draft=draft),
            kept=_work_folder(project, "encoded", draft),
            total=len(titles),
            whole=whole and len(sounds) == len(titles),
            on_progress=observer.exporting,
            cancel=cancel,
        )
        if whole and len(sounds) == len(titles):
            export.prune(_work_folder(project, "encoded", draft), exported)
    except export.Cancelled:
        return None
    states = {
        str(file.path): _state(
            project, [s for s in sounds if file.chapter in (None, s.number)], draft
        )
        for file in exported.files
    }
    return Finished(exported, states)


def state_of(
    project: Project,
    titles: Sequence[str],
    cast: Cast,
    steps: Sequence[Step],
    store: Store,
    chapters: Sequence[int],
    *,
    draft: bool,
) -> str | None:
    """The state that a file of these chapters would have now; None where takes are missing."""
    chosen = set(chapters)
    if any(step.chapter in chosen and store.find(step.key) is None for step in steps):
        return None
    return _state(project, _sounds(project, titles, cast, steps, store, chapters), draft)


def _state(project: Project, sounds: Sequence[ChapterAudio], draft: bool) -> str:
    tags = replace(_tags(project, draft), cover=None)
    cover = project.root / project.manifest.cover if project.manifest.cover else None
    return keys.key(
        {
            "chapters": [[sound.title, sound.key] for sound in sounds],
            "settings": asdict(_settings(project.manifest.output)),
            "tags": asdict(tags),
            "cover": keys.file_content(cover) if cover else None,
        }
    )


def _sounds(
    project: Project,
    titles: Sequence[str],
    cast: Cast,
    steps: Sequence[Step],
    store: Store,
    chapters: Sequence[int],
) -> list[ChapterAudio]:
    """Chapters laid out and named, before any of their sound is read. Raises DamagedTake."""
    chosen = set(chapters)
    records = {step.key: _record(store, step) for step in steps if step.chapter in chosen}
    gains = _gains(steps, store, cast)
    sounds = []
    for number in chapters:
        own = [step for step in steps if step.chapter == number]
        clips = _clips(own, records, gains, project.manifest.pauses)
        lead = own[0].chunk.lead
        sounds.append(_chapter(project, number, titles[number], lead, clips, records, store))
    return sounds


def _work_folder(project: Project, what: str, draft: bool) -> Path:
    """Of this manifest alone: a folder may hold several."""
    return project.build / what / f"{project.path.stem}-{'draft' if draft else 'book'}"


def _record(store: Store, step: Step) -> Record:
    record = store.find(step.key)
    if record is None:
        raise DamagedTake(f"take {step.key} of chunk {step.id} has gone")
    return record


def _gains(steps: Sequence[Step], store: Store, cast: Cast) -> dict[str, float]:
    measured: dict[str, list[tuple[float, float]]] = {name: [] for name in cast}
    for step in steps:
        if record := store.find(step.key):
            seconds = (record.stop - record.start) / record.sample_rate
            measured[step.chunk.speaker].append((record.level, seconds))
    return assemble.levels(measured, {name: voice.gain for name, voice in cast.items()})


def _clips(
    steps: Sequence[Step],
    records: dict[str, Record],
    gains: dict[str, float],
    pauses: Pauses,
) -> list[Clip]:
    clips = []
    for step, after in zip(steps, [*steps[1:], None], strict=True):
        record, line = records[step.key], step.chunk.pieces[0].line
        clips.append(
            Clip(
                key=step.key,
                start=record.start,
                stop=record.stop,
                gain=gains[step.chunk.speaker],
                speed=step.voice.speed,
                pause=pause_after(step, after, pauses),
                chunk=step.id,
                speaker=step.chunk.speaker,
                text=step.chunk.text,
                path=line.path,
                line=line.line,
            )
        )
    return clips


def pause_after(step: Step, after: Step | None, pauses: Pauses) -> float:
    """Seconds between a chunk and the next: what the author set, else what the text asks for."""
    chunk = step.chunk
    if after is None:
        return chunk.rest or 0.0
    if chunk.rest is not None:
        pause = chunk.rest
    elif chunk.boundary in ("line", "sentence") and chunk.speaker != after.chunk.speaker:
        pause = pauses.speaker
    else:
        pause = float(getattr(pauses, chunk.boundary))
    return pause + after.chunk.lead


def _chapter(
    project: Project,
    number: int,
    title: str,
    lead: float,
    clips: Sequence[Clip],
    records: dict[str, Record],
    store: Store,
) -> ChapterAudio:
    pauses = project.manifest.pauses
    rate = records[clips[0].key].sample_rate
    timeline = assemble.lay(clips, sample_rate=rate, head=pauses.head + lead, tail=pauses.tail)
    key = assemble.sound_key(timeline, clips, lambda take: records[take].content)

    def read(take: str) -> Samples:
        return store.read(take)[0]

    blocks: partial[Iterator[Samples]] = partial(assemble.stream, timeline, clips, read)
    return ChapterAudio(number + 1, title, key, timeline, blocks)


def _save_timeline(project: Project, draft: bool, sound: ChapterAudio) -> None:
    """What subtitles and read-along files are made from; paths are relative to the project."""
    timeline = sound.timeline
    cues = tuple(
        replace(cue, path=cue.path.relative_to(project.root))
        if cue.path.is_relative_to(project.root)
        else cue
        for cue in timeline.cues
    )
    path = _work_folder(project, "timeline", draft) / f"{sound.number:03}.json"
    data = replace(timeline, cues=cues).to_json().encode()
    with files.storage(path):
        if not path.exists() or path.read_bytes() != data:
            files.write(path, data)


def _settings(output: Output) -> Settings:
    return Settings(
        formats=output.formats,
        target=target(output.loudness, output.true_peak),
        files=output.files,
        name=output.name,
        bitrate=output.bitrate,
        sample_rate=output.sample_rate,
    )


def _tags(project: Project, draft: bool) -> Tags:
    book, series = project.manifest, project.series
    numbers = {scheme.casefold(): value for scheme, value in book.identifiers.items()}
    narrated = (book.narrated_by,) if book.narrated_by else ()
    return Tags(
        title=book.title,
        authors=book.author,
        narrators=("draft voice",) if draft else narrated,
        subtitle=book.subtitle or "",
        series=series.name if series else "",
        part=(series.part or "") if series else "",
        publisher=book.publisher or "",
        date=book.date or "",
        description=book.description or "",
        genre=book.genre or "",
        copyright=book.copyright or "",
        language=book.language,
        isbn=numbers.get("isbn", ""),
        asin=numbers.get("asin", ""),
        cover=project.root / book.cover if book.cover else None,
    )


def check_output(project: Project, rate: int) -> None:
    """Raises UserError where formats, rates and bitrates of the manifest do not go together."""
    bytes_per_second(project.manifest.output, rate)


def bytes_per_second(output: Output, rate: int) -> float:
    """About what a second of the book takes on disk in all its formats. Raises UserError."""
    codes = [
        export.encoding(name, rate, sample_rate=output.sample_rate, bitrate=output.bitrate)
        for name in output.formats
    ]
    # encoded chapters are kept beside the files that are joined from them
    return sum(2 * code.bytes_per_second for code in codes)


def products(project: Project, *, draft: bool) -> list[Path]:
    """Files in the folder of finished ones, current or not, in order."""
    found = folder(project, draft=draft).rglob("*")
    return sorted(path for path in found if path.suffix != ".part" and path.is_file())
