"""Takes -> chapters laid out: which take lies where, with which pause, gain and music.

The pauses are the manifest's, chosen by what follows each chunk; the gains even out the cast. A
chapter's sound is named by all that decides it, before any of it is read, so what did not change is
not made again. Knows the manifest and the takes; nothing of engines, encoders and files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from typing import Protocol

from narrator import keys
from narrator.delivery import music
from narrator.delivery.export import ChapterAudio
from narrator.delivery.folders import Folders
from narrator.engines.voice import Cast
from narrator.errors import DamagedTake
from narrator.project.project import Project
from narrator.project.schema import Pauses
from narrator.sound import assemble, mastering, mix
from narrator.sound.assemble import Region, Timeline
from narrator.sound.audio import Samples, resample
from narrator.sound.mastering import Polish
from narrator.sound.timing import WordTimes
from narrator.speech.plan import Step
from narrator.speech.store import Record
from narrator.speech.takes import Takes
from narrator.text.chunks import Chunk, together
from narrator.text.lines import Chapter
from narrator.text.normalize.written import written


class RenderedBook(Protocol):
    """A book's plan, as far as files are made of it."""

    @property
    def project(self) -> Project: ...

    @property
    def chapters(self) -> Sequence[Chapter]: ...

    @property
    def cast(self) -> Cast: ...

    @property
    def steps(self) -> Sequence[Step]: ...

    @property
    def takes(self) -> Takes: ...

    @property
    def folders(self) -> Folders: ...

    @property
    def rates(self) -> Mapping[str, int]:
        """Hz that each speaker is spoken in."""
        ...


def laid_out(
    book: RenderedBook, chapters: Sequence[int], shared: BookSound | None = None
) -> list[ChapterAudio]:
    """Chapters, counted from 0, laid out and named, before any of their sound is read.

    `shared` is `book_sound`, where it is known. Raises DamagedTake where a take is missing,
    ManifestError (music), StorageError.
    """
    project, shared = book.project, shared or book_sound(book)
    tunes = music.tunes(project)
    played = project.numbered  # credits have no music, and no number in the manifest
    titles = [book.chapters[number].title for number in played]
    steps = {n: list(own) for n, own in groupby(book.steps, key=lambda step: step.chapter)}
    sounds = []
    for number in chapters:
        pieces: Sequence[music.MusicUse] = ()
        if number in played:
            pieces = music.pieces(project, tunes, titles, played.index(number))
        sounds.append(_sound(book, number, steps[number], shared, pieces))
    return sounds


def spoken_chapters(book: RenderedBook) -> set[int]:
    """Chapters, counted from 0, that have something to say: a whole one may be in a language that
    its engine does not speak."""
    return {step.chapter for step in book.steps}


@dataclass(frozen=True, slots=True)
class BookSound:
    """What all chapters of a book share."""

    gains: Mapping[str, float]
    """dB, by speaker."""
    speech: float
    """dB of the book's speech with these gains."""
    rate: int
    """Hz of the book: the highest of its takes', which are one engine's or several', those too that
    are to come; 0 as long as there are none."""


def book_sound(book: RenderedBook) -> BookSound:
    """What evens out the cast, from all takes that are there.

    Those too that are to be spoken anew: a chapter that is made before the others is to be like
    them.
    """
    voices = {name: voice.speaker for name, voice in book.cast.items()}  # some share one
    own = {voice.speaker: voice.gain for voice in book.cast.values()}
    measured: dict[str, list[tuple[float, float]]] = {name: [] for name in own}
    rates: dict[int, int] = {}
    """Of engines, and what their takes have: a model that is not here may be known wrong."""
    for step in book.steps:
        said = book.rates[step.chunk.speaker]
        rates.setdefault(said, 0)
        if record := book.takes.take(step.key):
            rates[said] = max(rates[said], record.sample_rate)
            seconds = (record.stop - record.start) / record.sample_rate
            measured[voices[step.chunk.speaker]].append((record.level, seconds))
    rate = max((found or said for said, found in rates.items()), default=0)
    rate = rate if any(rates.values()) else 0
    even = assemble.levels(measured, own)
    gains = {name: even[voice] for name, voice in voices.items()}
    return BookSound(gains, assemble.spoken(measured, even), rate)


def _sound(
    book: RenderedBook,
    number: int,
    steps: Sequence[Step],
    shared: BookSound,
    pieces: Sequence[music.MusicUse],
) -> ChapterAudio:
    """A chapter with its music."""
    project = book.project
    pauses = project.manifest.pauses
    takes = {step.key: _take(book.takes, step) for step in steps}
    firsts = [step for step in steps if not step.with_before]
    after = {
        step.id: pause_after(step, following, pauses)
        for step, following in zip(firsts, [*firsts[1:], None], strict=True)
    }
    regions = [
        replace(
            _region(step, takes[step.key], shared, after.get(step.id, 0.0), step.with_before),
            times=_times(book.takes, step, takes[step.key]),
        )
        for step in steps
    ]
    rate = shared.rate
    timeline = assemble.lay(
        regions,
        sample_rate=rate,
        head=music.head(pieces, rate, pauses.head) + steps[0].chunk.lead,
        tail=music.tail(pieces, rate, pauses.tail, after[firsts[-1].id]),
    )
    layers = music.lay(pieces, [step.utterance for step in firsts], timeline, shared.speech)
    heard = _Heard(book, rate)

    def words() -> Iterator[Samples]:
        return assemble.stream(timeline, regions, heard.read)

    def blocks() -> Iterator[Samples]:
        return mix.mix(words(), timeline, layers)

    return ChapterAudio(
        number=number + 1,
        title=book.chapters[number].title,
        key=mix.sound_key(
            assemble.sound_key(
                timeline, regions, lambda clip: heard.content(clip, takes[clip.key])
            ),
            layers,
        ),
        timeline=timeline,
        blocks=blocks,
        channels=mix.channels(layers),
        speech=words if layers else None,
    )


class _Heard:
    """How takes sound in a book, before they are laid out."""

    def __init__(self, book: RenderedBook, rate: int) -> None:
        self.store, self.rate = book.takes.store, rate
        self.polish = {name: _polish(book.project, name) for name in book.project.speakers}

    def content(self, clip: Region, take: Record) -> str:
        """The hash of a clip's samples."""
        own = self.polish[clip.speaker]
        return keys.key({"take": take.content, **asdict(own)}) if own else take.content

    def read(self, clip: Region) -> Samples:
        samples = resample(*self.store.read(clip.key), self.rate)
        return mastering.polished(samples, self.rate, self.polish[clip.speaker])


@dataclass(frozen=True, slots=True)
class Words:
    """The takes of a chapter that are there, laid out with their planned pauses, without music."""

    key: str
    """Of everything that decides its samples."""
    timeline: Timeline
    clips: tuple[Region, ...]
    contents: Mapping[str, str]
    """Of each take, by its key: where one is another now, this is not what is heard."""
    read: Callable[[Region], Samples]
    """Raises DamagedTake."""


def words_of(book: RenderedBook, steps: Sequence[Step], shared: BookSound) -> Words | None:
    """What is there of a chapter, whose steps these are, doubtful or not current any more; None
    where nothing is. What is missing is passed over, and so not heard as a pause either."""
    if not shared.rate:
        return None
    pauses, groups = book.project.manifest.pauses, list(together(steps))
    takes = {step.key: take for step in steps if (take := book.takes.take(step.key))}
    regions: list[Region] = []
    for group, after in zip(groups, [*groups[1:], None], strict=True):
        pause = pause_after(group[0], after[0] if after else None, pauses)
        there = [step for step in group if step.key in takes]
        regions += (
            _region(step, takes[step.key], shared, 0.0 if place else pause, bool(place))
            for place, step in enumerate(there)
        )
    if not regions:
        return None
    heard = _Heard(book, shared.rate)
    timeline = assemble.lay(
        regions,
        sample_rate=shared.rate,
        head=pauses.head + steps[0].chunk.lead,
        tail=pauses.tail,
    )
    key = assemble.sound_key(timeline, regions, lambda clip: heard.content(clip, takes[clip.key]))
    contents = {key: take.content for key, take in takes.items()}
    return Words(key, timeline, tuple(regions), contents, heard.read)


def _take(takes: Takes, step: Step) -> Record:
    take = takes.deliverable(step)
    if take is None:
        raise DamagedTake(f"take {step.key} of chunk {step.id} has gone")
    return take


def _region(step: Step, take: Record, shared: BookSound, pause: float, with_before: bool) -> Region:
    line = step.chunk.pieces[0].line
    return Region(
        key=step.key,
        start=take.start * shared.rate // take.sample_rate,
        stop=take.stop * shared.rate // take.sample_rate,
        gain=shared.gains[step.chunk.speaker],
        speed=step.stretch,
        pause=pause,
        chunk=step.id,
        speaker=step.chunk.speaker,
        text=step.chunk.text,
        path=line.path,
        line=line.line,
        with_before=with_before,
        quiet=take.room,
    )


def _times(takes: Takes, step: Step, take: Record) -> WordTimes | None:
    """When the words that are written are heard in a take, as well as is known."""
    said = takes.store.word_times(take, step.text)
    if said is None:
        return None
    words = written(step.chunk.text, step.utterance.spoken, said.words, step.language)
    return WordTimes(said.by, words)


def _polish(project: Project, speaker: str) -> Polish:
    wanted = project.speakers[speaker].mastering or project.manifest.output.mastering
    return Polish(wanted.high_pass, wanted.de_ess or 0.0)


def pause_after(step: Step, after: Step | None, pauses: Pauses) -> float:
    """Seconds between a chunk and the next that is not said with it: what the author set, else what
    the text asks for."""
    if after is None:
        return step.chunk.rest or 0.0
    return pause_between(step.chunk, after.chunk, pauses)[0]


def pause_between(chunk: Chunk, after: Chunk, pauses: Pauses) -> tuple[float, str]:
    """Seconds between two chunks, and their name in `pauses`; "" where any were set by hand."""
    name = chunk.boundary
    inside = name == "sentence" and after.pieces[0].line.goes_on
    if name in ("line", "sentence") and chunk.names != after.names and not inside:
        name = "speaker"
    pause = float(getattr(pauses, name)) if chunk.rest is None else chunk.rest
    return pause + after.lead, "" if chunk.rest is not None or after.lead else name


def channels_of(project: Project, chunks: Sequence[Chunk]) -> int:
    """Of the whole book's sound, so that a chapter that is made alone is like the others: 2 where
    any music that plays in it is in stereo. `chunks` are all of the book's.

    Raises ManifestError (music), StorageError.
    """
    if not project.manifest.music:
        return 1
    marked = {
        mark.name.casefold() for chunk in chunks for mark, _ in chunk.marks if mark.name is not None
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
