"""From takes to files: which take lies where with which pause and gain, then export.

The pauses are the manifest's, chosen by what follows each chunk; the gains even out the cast. A
chapter's sound is named by all that decides it, so what did not change is not made again. Knows the
manifest and the store; nothing of engines and encoders.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from threading import Event
from typing import Any, Protocol

from narrator import files, keys
from narrator.delivery import companions, export, music
from narrator.delivery.export import ChapterAudio, Exported, ListenerFile, Tags, Way
from narrator.delivery.shelf import MadeFile, Shelf
from narrator.engines.voice import Cast
from narrator.errors import DamagedTake, Problem, UserError
from narrator.project.profiles import Profile
from narrator.project.project import Project
from narrator.project.schema import Pauses, Sample
from narrator.sound import assemble, mastering, mix
from narrator.sound.assemble import Region
from narrator.sound.audio import Samples
from narrator.sound.loudness import target
from narrator.sound.mastering import Polish
from narrator.speech.plan import Step
from narrator.speech.store import Record, Store
from narrator.text.chunks import Chunk
from narrator.text.lines import Chapter

SOUNDS = (".m4b", ".mp3", ".flac", ".opus", ".wav")
"""What finished sound ends in; companions lie beside it."""


class FinishObserver(Protocol):
    """Who is told of the files' progress."""

    def exporting(self, what: str, done: int, total: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Finished:
    """The files of a run and what they measure."""

    exported: Exported
    companions: tuple[Path, ...]
    """Subtitles, chapter lists and what else lies beside the files."""
    remarks: tuple[str, ...]
    """What people should know of the files."""
    states: Mapping[str, str]
    """Of everything that decides a file, by its path: `state_of` its chapters when it was made."""
    pauses: Mapping[int, tuple[float, float, float]]
    """Seconds that are planned in each chapter: before its first chunk, anywhere at most, and
    after its last."""
    folder: Path
    """Where the files are."""
    draft: bool

    @property
    def files(self) -> list[Path]:
        return [file.path for file in self._delivered]

    @property
    def _delivered(self) -> tuple[ListenerFile, ...]:
        return (*self.exported.files, *self.exported.samples)

    @property
    def failures(self) -> list[Problem]:
        """A line for each reason why files are missing, naming them."""
        return [
            Problem(
                None,
                None,
                f"{failure.why}; not delivered: "
                + ", ".join(path.relative_to(self.folder).as_posix() for path in failure.paths),
            )
            for failure in self.exported.failed
        ]

    def made(self) -> dict[Path, MadeFile]:
        """All that is delivered, with what is to be remembered of it. Raises OSError."""
        found = {
            path: MadeFile(facts={"sha256": keys.file_content(path)}) for path in self.companions
        }
        for file in self._delivered:
            facts = {
                "sha256": keys.file_content(file.path),
                "seconds": round(file.seconds, 3),
                "pause": self._longest_pause(file.chapters),
            }
            chapters = tuple(number - 1 for number in file.chapters)
            found[file.path] = MadeFile(chapters, self.states[str(file.path)], facts)
        return found

    def _longest_pause(self, chapters: Sequence[int]) -> float:
        """Seconds that are planned in a file of these chapters, one after the other."""
        found = [self.pauses[number] for number in chapters if number in self.pauses]
        joins = [one[2] + other[0] for one, other in pairwise(found)]
        return round(max((*joins, *chain.from_iterable(found)), default=0.0), 3)

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


def folder(project: Project, *, draft: bool) -> Path:
    """Where finished files go: `build/book`, or `build/draft` for a draft of a book that has a real
    engine; a manifest by another name than book.yaml has folders of its own.
    """
    kind, stem = "draft" if draft else "book", project.stem
    return project.build / (kind if stem == "book" else f"{kind}-{stem}")


def finish(
    project: Project,
    book: Sequence[Chapter],
    cast: Cast,
    steps: Sequence[Step],
    store: Store,
    *,
    chapters: Sequence[int],
    whole: bool,
    draft: bool,
    shelf: Shelf,
    observer: FinishObserver,
    cancel: Event,
) -> Finished | None:
    """Assemble and export chapters (counted from 0) whose takes are all there.

    `whole` says that all chapters of the book are complete, so that book files may be written.
    `shelf` moves away what lies where a file goes and was altered by hand. Files that cannot be
    made are `Finished.failures`, beside those that were. Returns None when it was cancelled. Raises
    DamagedTake, ExportError, StorageError, UserError.
    """
    sounds = _sounds(project, book, cast, steps, store, chapters)
    for sound in sounds:
        _save_timeline(project, draft, sound)
    if not sounds:
        return None
    whole = whole and len(sounds) == len(book)
    kept = work_folder(project, "encoded", draft)
    channels = channels_of(project, [step.chunk for step in steps])
    ways, unsampled = _with_samples(project, sounds)
    try:
        exported = export.export(
            sounds,
            tags_of(project, draft),
            ways,
            out=folder(project, draft=draft),
            kept=kept,
            total=len(book),
            whole=whole,
            channels=channels,
            shelf=shelf,
            on_progress=observer.exporting,
            cancel=cancel,
        )
        if whole:
            export.prune(kept, exported)
    except export.Cancelled:
        return None
    states = {
        str(file.path): _state(
            project, [s for s in sounds if s.number in file.chapters], channels, draft
        )
        for file in (*exported.files, *exported.samples)
    }
    whole = whole and not exported.failed
    made, remarks = _companions(
        project, book, steps, sounds, exported, whole, draft, shelf, observer
    )
    remarks = (*exported.remarks, *(unsampled if whole else ()), *remarks)
    pauses = {sound.number: _pauses_of(sound) for sound in sounds}
    where = folder(project, draft=draft)
    return Finished(exported, made, remarks, states, pauses, where, draft)


def _pauses_of(sound: ChapterAudio) -> tuple[float, float, float]:
    """`Finished.pauses` of a chapter."""
    timeline = sound.timeline
    edges = [0, *(edge for cue in timeline.cues for edge in (cue.start, cue.stop))]
    edges.append(timeline.length)
    gaps = [
        (stop - start) / timeline.sample_rate
        for start, stop in zip(edges[::2], edges[1::2], strict=True)
    ]
    return gaps[0], max(gaps), gaps[-1]


def _companions(
    project: Project,
    book: Sequence[Chapter],
    steps: Sequence[Step],
    sounds: Sequence[ChapterAudio],
    exported: Exported,
    whole: bool,
    draft: bool,
    shelf: Shelf,
    observer: FinishObserver,
) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """What the manifest wants beside the files, in each profile's folder, and remarks on it.

    A read-along is of the whole book or is not made.
    """
    wanted = project.manifest.output.companions
    if not wanted:
        return (), ()
    spoken = [
        companions.SpokenChapter(
            sound.number,
            book[sound.number - 1],
            tuple(step.chunk for step in steps if step.chapter == sound.number - 1),
            sound.timeline,
        )
        for sound in sounds
    ]
    tags, source = tags_of(project, draft), project.manifest.source
    made: list[Path] = []
    remarks: dict[str, None] = {}
    for way in ways(project):
        epub = (
            folder(project, draft=draft) / way.folder / f"{export.book_name(way.name, tags)}.epub"
        )
        delivered = [file for file in exported.files if file.folder == way.folder]
        along = "readalong" in wanted and any(map(companions.plays, delivered))
        if along and not whole:
            remarks[f"{epub.name} is made when all chapters are there"] = None
        found = companions.write(
            spoken,
            delivered,
            [kind for kind in wanted if kind != "readalong" or (along and whole)],
            tags=tags,
            book=epub,
            source=project.root / source if source else None,
            shelf=shelf,
            on_progress=partial(observer.exporting, "companions"),
        )
        made += found.paths
        remarks |= dict.fromkeys(found.remarks)
    return tuple(made), tuple(remarks)


def state_of(
    project: Project,
    book: Sequence[Chapter],
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
    sounds = _sounds(project, book, cast, steps, store, chapters)
    return _state(project, sounds, channels_of(project, [step.chunk for step in steps]), draft)


def _state(project: Project, sounds: Sequence[ChapterAudio], channels: int, draft: bool) -> str:
    tags = replace(tags_of(project, draft), cover=None)
    cover = project.root / project.manifest.cover if project.manifest.cover else None
    return keys.key(
        {
            "chapters": [[sound.title, sound.key] for sound in sounds],
            "settings": [asdict(way) for way in ways(project)],
            "channels": channels,
            "sample": (project.manifest.output.sample or Sample()).model_dump(),
            "tags": asdict(tags),
            "cover": keys.file_content(cover) if cover else None,
        }
    )


def _sounds(
    project: Project,
    book: Sequence[Chapter],
    cast: Cast,
    steps: Sequence[Step],
    store: Store,
    chapters: Sequence[int],
) -> list[ChapterAudio]:
    """Chapters laid out and named, before any of their sound is read.

    Raises DamagedTake, ManifestError (music), StorageError.
    """
    chosen = set(chapters)
    records = {step.key: _record(store, step) for step in steps if step.chapter in chosen}
    measured = _measured(steps, store, cast)
    gains = assemble.levels(measured, {name: voice.gain for name, voice in cast.items()})
    level = assemble.spoken(measured, gains)
    tunes = music.tunes(project)
    played = project.numbered  # credits have no music, and no number in the manifest
    titles = [book[number].title for number in played]
    sounds = []
    for number in chapters:
        own = [step for step in steps if step.chapter == number]
        clips = _clips(own, records, gains, project.manifest.pauses)
        pieces: Sequence[music.MusicUse] = ()
        if number in played:
            pieces = music.pieces(project, tunes, titles, played.index(number))
        sounds.append(
            _chapter(project, number, book[number].title, own, clips, pieces, level, records, store)
        )
    return sounds


def work_folder(project: Project, what: str, draft: bool) -> Path:
    """Of this manifest alone: a folder may hold several."""
    return project.build / what / f"{project.stem}-{'draft' if draft else 'book'}"


def _record(store: Store, step: Step) -> Record:
    record = store.find(step.key)
    if record is None:
        raise DamagedTake(f"take {step.key} of chunk {step.id} has gone")
    return record


def _measured(
    steps: Sequence[Step], store: Store, cast: Cast
) -> dict[str, list[tuple[float, float]]]:
    """Level and seconds of every take, by speaker."""
    measured: dict[str, list[tuple[float, float]]] = {name: [] for name in cast}
    for step in steps:
        if record := store.find(step.key):
            seconds = (record.stop - record.start) / record.sample_rate
            measured[step.chunk.speaker].append((record.level, seconds))
    return measured


def _clips(
    steps: Sequence[Step],
    records: dict[str, Record],
    gains: dict[str, float],
    pauses: Pauses,
) -> list[Region]:
    clips = []
    for step, after in zip(steps, [*steps[1:], None], strict=True):
        record, line = records[step.key], step.chunk.pieces[0].line
        clips.append(
            Region(
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
    if after is None:
        return step.chunk.rest or 0.0
    return pause_between(step.chunk, after.chunk, pauses)[0]


def pause_between(chunk: Chunk, after: Chunk, pauses: Pauses) -> tuple[float, str]:
    """Seconds between two chunks, and their name in `pauses`; "" where any were set by hand."""
    name = chunk.boundary
    if name in ("line", "sentence") and chunk.speaker != after.speaker:
        name = "speaker"
    pause = float(getattr(pauses, name)) if chunk.rest is None else chunk.rest
    return pause + after.lead, "" if chunk.rest is not None or after.lead else name


def _chapter(
    project: Project,
    number: int,
    title: str,
    steps: Sequence[Step],
    clips: Sequence[Region],
    pieces: Sequence[music.MusicUse],
    level: float,
    records: dict[str, Record],
    store: Store,
) -> ChapterAudio:
    pauses = project.manifest.pauses
    rate = records[clips[0].key].sample_rate
    timeline = assemble.lay(
        clips,
        sample_rate=rate,
        head=music.head(pieces, rate, pauses.head) + steps[0].chunk.lead,
        tail=music.tail(pieces, rate, pauses.tail, clips[-1].pause),
    )
    polish = {clip.key: _polish(project, clip.speaker) for clip in clips}
    layers = music.lay(pieces, [step.utterance for step in steps], timeline, level)

    def content(take: str) -> str:
        whole = records[take].content
        return keys.key({"take": whole, **asdict(polish[take])}) if polish[take] else whole

    def read(take: str) -> Samples:
        return mastering.polished(store.read(take)[0], rate, polish[take])

    speech = assemble.sound_key(timeline, clips, content)

    def words() -> Iterator[Samples]:
        return assemble.stream(timeline, clips, read)

    def blocks() -> Iterator[Samples]:
        return mix.mix(words(), timeline, layers)

    key, channels = mix.sound_key(speech, layers), mix.channels(layers)
    alone = words if layers else None
    return ChapterAudio(number + 1, title, key, timeline, blocks, channels, alone)


def _save_timeline(project: Project, draft: bool, sound: ChapterAudio) -> None:
    """What subtitles and read-along files are made from; paths are relative to the project."""
    timeline = sound.timeline
    cues = tuple(
        replace(cue, path=cue.path.relative_to(project.root))
        if cue.path.is_relative_to(project.root)
        else cue
        for cue in timeline.cues
    )
    path = work_folder(project, "timeline", draft) / f"{sound.number:03}.json"
    data = replace(timeline, cues=cues).to_json().encode()
    with files.storage(path):
        if not path.exists() or path.read_bytes() != data:
            files.write(path, data)


def _polish(project: Project, speaker: str) -> Polish:
    wanted = project.speakers[speaker].mastering or project.manifest.output.mastering
    return Polish(wanted.high_pass, wanted.de_ess or 0.0)


def channels_of(project: Project, chunks: Sequence[Chunk]) -> int:
    """Of the whole book's sound, so that a chapter that is made alone is like the others: 2 where
    any music that plays in it is in stereo. `chunks` are all of the book's.

    Raises ManifestError (music), StorageError.
    """
    if not project.manifest.music:
        return 1
    marked = {
        mark.name.casefold()
        for chunk in chunks
        for piece in chunk.pieces
        for mark in piece.line.marks
        if mark.name is not None
    }
    titles = [project.chapters[number].title for number in project.numbered]
    tunes = music.tunes(project)
    playing = {
        piece.tune
        for chapter in range(len(titles))
        for piece in music.pieces(project, tunes, titles, chapter)
        if piece.entry.name is None or piece.entry.name.casefold() in marked
    }
    return max((tune.channels for tune in playing), default=1)


def ways(project: Project) -> list[Way]:
    """How the book is delivered: to each profile in its own folder, or as `output` says."""
    output = project.manifest.output
    if not project.deliveries:
        return [
            Way(
                formats=output.formats,
                target=target(output.loudness, output.true_peak),
                files=output.files,
                name=output.name,
                bitrate=output.bitrate,
                sample_rate=output.sample_rate,
                channels=output.channels,
                room_tone=output.room_tone,
                genre="Podcast" if output.loudness == "podcast" else "Audiobook",
            )
        ]
    return [_way(profile) for profile in project.deliveries]


def _way(profile: Profile) -> Way:
    return Way(
        formats=profile.formats,
        target=profile.target,
        files=profile.files,
        name=profile.book_name,
        bitrate=profile.bitrate,
        sample_rate=profile.sample_rate,
        channels=profile.channels,
        constant=None if profile.bitrate_mode is None else profile.bitrate_mode == "constant",
        room_tone=profile.room_tone,
        longest=profile.longest and profile.longest * 60,
        chapter=profile.chapter_name,
        folder=profile.name,
        genre=profile.genre,
        cover_square=profile.cover_square,
        cover_pixels=profile.cover_pixels,
    )


def _with_samples(
    project: Project, sounds: Sequence[ChapterAudio]
) -> tuple[list[Way], tuple[str, ...]]:
    """`ways` with the retail samples of profiles that ask for one, and remarks on those that
    cannot be cut: the book is delivered without."""
    asking = {profile.name: profile for profile in project.deliveries if profile.sample}
    found: list[Way] = []
    remarks: list[str] = []
    for way in ways(project):
        if profile := asking.get(way.folder):
            try:
                way = replace(way, sample=_sample(project, profile, sounds))
            except UserError as error:
                remarks.append(f"no retail sample for {profile.name}: {error}")
        found.append(way)
    return found, tuple(remarks)


def _sample(
    project: Project, profile: Profile, sounds: Sequence[ChapterAudio]
) -> ChapterAudio | None:
    """The retail sample of a profile that asks for one. Raises UserError where it is too short."""
    if profile.sample is None:
        return None
    wanted = project.manifest.output.sample or Sample()
    number = chapter_number(project, wanted.chapter)
    chosen = next((sound for sound in sounds if sound.number == number), None)
    if chosen is None:
        return None  # the book is not whole yet
    least, most = profile.sample
    return export.excerpt(
        chosen, "Retail sample", wanted.start, min(wanted.seconds, most), least=least
    )


def chapter_number(project: Project, name: str) -> int:
    """A chapter of the manifest by number or title, as the book counts it: after its credits."""
    chapters = project.manifest.chapters
    titles = [chapter.title for chapter in chapters]
    index = titles.index(name) if name in titles else int(name) - 1
    return 1 + next(
        n for n in range(len(project.chapters)) if project.chapter_loc(n) == ("chapters", index)
    )


def tags_of(project: Project, draft: bool) -> Tags:
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


def products(project: Project, *, draft: bool) -> list[Path]:
    """Sound in the folder of finished files, current or not, in order."""
    found = folder(project, draft=draft).rglob("*")
    return sorted(path for path in found if path.suffix in SOUNDS and path.is_file())
