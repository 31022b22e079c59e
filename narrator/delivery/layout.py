"""Lays out chapters: places takes with their pauses, gains and music.

The pauses are the manifest's, chosen by what follows each chunk; the gains even out the cast, and
the takes of a speaker that lie outside what is usual. A chapter's sound has a key of everything
that decides it, before any of it is read, so that unchanged chapters are not made again. Knows the
manifest, the takes and the names of engines; nothing of encoders and files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby, pairwise
from typing import Protocol

from narrator import keys
from narrator.delivery import music
from narrator.delivery.export import ChapterAudio
from narrator.delivery.folders import Folders
from narrator.delivery.provenance import provenance
from narrator.engines import Engine
from narrator.engines.voice import Cast
from narrator.errors import DamagedTake
from narrator.project.project import Project
from narrator.project.schema import Mastering, Pauses
from narrator.sound import assemble, mastering, mix
from narrator.sound.assemble import PlacedTake, Timeline
from narrator.sound.audio import SILENCE, Samples, resample
from narrator.sound.mastering import Polish
from narrator.sound.mix import Tune
from narrator.sound.timing import WordTimes
from narrator.speech.corrections import (
    Correction,
    TakeGroup,
    UsualSpeech,
    correction_of,
    group_of,
    usual_speech,
)
from narrator.speech.plan import Step
from narrator.speech.store import Record
from narrator.speech.takes import TakeResolver
from narrator.text.chunks import Chunk, group_unison
from narrator.text.lines import Chapter
from narrator.text.normalize.written import written_times


class RenderedBook(Protocol):
    """A book's plan, as far as files are made from it."""

    @property
    def project(self) -> Project: ...

    @property
    def chapters(self) -> Sequence[Chapter]: ...

    @property
    def cast(self) -> Cast: ...

    @property
    def steps(self) -> Sequence[Step]: ...

    @property
    def takes(self) -> TakeResolver: ...

    @property
    def folders(self) -> Folders: ...

    @property
    def engines(self) -> Mapping[str, Engine]:
        """The engine of each speaker."""
        ...

    @property
    def rates(self) -> Mapping[str, int]:
        """Sample rate of each speaker's engine in Hz."""
        ...


def lay_out_chapters(
    book: RenderedBook, chapters: Sequence[int], shared: BookSound | None = None
) -> list[ChapterAudio]:
    """Lays out chapters, counted from 0, before any of their sound is read.

    `shared` is the result of `book_sound`, where it is known. Raises DamagedTake where a take is
    missing, ManifestError (music), StorageError.
    """
    project, shared = book.project, shared or book_sound(book)
    tunes = music.measure_tunes(project)
    steps = {
        chapter: list(chapter_steps)
        for chapter, chapter_steps in groupby(book.steps, key=lambda step: step.chapter)
    }
    return [
        _lay_out_chapter(book, number, steps[number], shared, chapter_music(book, number, tunes))
        for number in chapters
    ]


def chapter_music(
    book: RenderedBook, number: int, tunes: Sequence[Tune]
) -> tuple[music.MusicUse, ...]:
    """Returns the music of a chapter, counted from 0; `tunes` are those of `measure_tunes`."""
    project = book.project
    if number not in project.numbered:
        return ()  # credits have neither music nor a number in the manifest
    titles = [book.chapters[numbered].title for numbered in project.numbered]
    return music.chapter_music(project, tunes, titles, project.numbered.index(number))


def spoken_chapters(book: RenderedBook) -> set[int]:
    """Returns the chapters, counted from 0, that have something to say: a whole one may be in a
    language that its engine does not speak."""
    return {step.chapter for step in book.steps}


@dataclass(frozen=True, slots=True)
class BookSound:
    """Figures that all chapters of a book share."""

    gains: Mapping[str, float]
    """dB by speaker."""
    speech: float
    """Level of the book's speech with these gains, in dB."""
    rate: int
    """Sample rate of the book in Hz: the highest of all its takes, also of other engines and of
    takes to come; 0 as long as there are none."""
    usual: Mapping[str, Mapping[TakeGroup, UsualSpeech]] = field(default_factory=dict)
    """By speaker: the usual figures of each group of takes, as far as the manifest has takes
    corrected by them."""

    def correction(self, step: Step, take: Record) -> Correction:
        """Returns the correction of a take of a step."""
        usual = self.usual.get(step.chunk.speaker, {}).get(group_of(step))
        return correction_of(step, take, usual) if usual else Correction()


def book_sound(book: RenderedBook) -> BookSound:
    """Computes the gains that even out the cast, and what is usual for each voice, from all
    existing takes.

    Takes that are to be spoken anew count too: a chapter that is made before the others should
    match them.
    """
    # some speakers share a voice
    voice_names = {speaker: voice.speaker for speaker, voice in book.cast.items()}
    author_gains = {voice.speaker: voice.gain for voice in book.cast.values()}
    measured: dict[str, list[tuple[float, float]]] = {voice_name: [] for voice_name in author_gains}
    take_rates: dict[int, int] = {}
    """Rate of an engine's takes, by the rate that it states, which may be wrong while its model is
    not installed; 0 where it has no takes."""
    rates = book.rates
    for step in book.steps:
        stated_rate = rates[step.chunk.speaker]
        take_rates.setdefault(stated_rate, 0)
        if record := book.takes.take(step.key):
            take_rates[stated_rate] = max(take_rates[stated_rate], record.sample_rate)
            seconds = (record.stop - record.start) / record.sample_rate
            measured[voice_names[step.chunk.speaker]].append((record.level, seconds))
    rate = 0
    if any(take_rates.values()):
        rate = max(take_rate or stated_rate for stated_rate, take_rate in take_rates.items())
    voice_gains = assemble.speaker_gains(measured, author_gains)
    gains = {speaker: voice_gains[voice_name] for speaker, voice_name in voice_names.items()}
    return BookSound(gains, assemble.speech_level(measured, voice_gains), rate, _usual_speech(book))


def _usual_speech(book: RenderedBook) -> dict[str, dict[TakeGroup, UsualSpeech]]:
    """Returns `BookSound.usual`, from the good takes, each counted once."""
    takes: dict[str, dict[TakeGroup, dict[str, Record]]] = defaultdict(lambda: defaultdict(dict))
    for step in book.steps:
        if (record := book.takes.take(step.key)) and not record.faults:
            takes[step.voice.speaker][group_of(step)][step.key] = record
    figures = {
        voice_name: {group: usual_speech(records.values()) for group, records in groups.items()}
        for voice_name, groups in takes.items()
    }
    # speakers that share a voice share its takes, but have settings of their own
    return {
        speaker: {
            group: _corrected_figures(_mastering(book.project, speaker), usual)
            for group, usual in figures.get(voice.speaker, {}).items()
        }
        for speaker, voice in book.cast.items()
    }


def _corrected_figures(settings: Mastering, usual: UsualSpeech) -> UsualSpeech:
    """Returns the figures by which the settings have takes corrected."""
    return UsualSpeech(
        usual.level if settings.levelling else None,
        usual.pace if settings.pace == "keep" else None,
    )


def corrections(book: RenderedBook, steps: Iterable[Step]) -> dict[str, Correction]:
    """Returns the corrections of the takes of steps, by the ids of the steps that have any."""
    shared = book_sound(book)
    takes = ((step, book.takes.current(step)) for step in steps)
    step_corrections = ((step.id, shared.correction(step, take)) for step, take in takes if take)
    return {step_id: correction for step_id, correction in step_corrections if correction}


def _lay_out_chapter(
    book: RenderedBook,
    number: int,
    steps: Sequence[Step],
    shared: BookSound,
    music_uses: Sequence[music.MusicUse],
) -> ChapterAudio:
    """Lays out a chapter with its music. Raises DamagedTake where a take is missing."""
    takes: dict[str, Record] = {}
    for step in steps:
        take = book.takes.deliverable(step)
        if take is None:
            raise DamagedTake(f"take {step.key} of chunk {step.id} has gone")
        takes[step.key] = take
    words = _lay_out_takes(book, steps, takes, shared, music_uses, has_word_times=True)
    utterances = [step.utterance for step in steps if not step.with_before]
    layers = music.place_music(music_uses, utterances, words.timeline, shared.speech)
    return ChapterAudio(
        number=number + 1,
        title=book.chapters[number].title,
        key=mix.sound_key(words.key, layers),
        timeline=words.timeline,
        blocks=lambda: mix.mix(words.blocks(), words.timeline, layers),
        channels=mix.channels(layers),
        speech=words.blocks if layers else None,
        provenance=provenance(
            (book.engines[step.chunk.speaker] for step in steps), has_music=bool(layers)
        ),
    )


@dataclass(frozen=True, slots=True)
class ChapterWords:
    """Takes of a chapter, laid out with their planned pauses, without music."""

    key: str
    """Key of everything that decides its samples."""
    timeline: Timeline
    contents: Mapping[str, str]
    """Hash of each take, by its key: where one differs now, this is not its sound."""
    read: Callable[[PlacedTake], Samples]
    """Returns a take at the book's rate, filtered. Raises DamagedTake."""

    def blocks(self) -> Iterator[Samples]:
        """Streams the samples."""
        return assemble.stream(self.timeline, self.read)


def lay_out_words(
    book: RenderedBook,
    steps: Sequence[Step],
    shared: BookSound,
    music_uses: Sequence[music.MusicUse] = (),
) -> ChapterWords | None:
    """Lays out the existing takes of a chapter, even doubtful or outdated ones; `steps` are the
    chapter's.

    None where there are none. Missing takes are skipped, with their pauses. Music gets its room,
    so that times are those of the delivered chapter.
    """
    takes = {step.key: take for step in steps if (take := book.takes.take(step.key))}
    return _lay_out_takes(book, steps, takes, shared, music_uses) if takes and shared.rate else None


def delivered_seconds(
    book: RenderedBook,
    steps: Sequence[Step],
    takes: Mapping[str, Record],
    shared: BookSound,
    music_uses: Sequence[music.MusicUse],
) -> float:
    """Returns the seconds of a chapter as it is delivered, exact if all its takes exist.

    Missing takes count with their expected length. `steps` are the chapter's, `takes` theirs by
    key.
    """
    if not steps:
        return 0.0
    shared = shared if shared.rate else replace(shared, rate=max(book.rates.values()))
    all_takes = {
        step.key: takes.get(step.key) or _expected_take(step, shared.rate) for step in steps
    }
    return _plan_timeline(book, steps, all_takes, shared, music_uses, has_word_times=False).seconds


def _expected_take(step: Step, rate: int) -> Record:
    """Returns a take of the expected length, in place of one that does not exist."""
    length = round(step.expected * rate)
    return Record(step.key, "", length, rate, start=0, stop=length, level=SILENCE, peak=SILENCE)


def _lay_out_takes(
    book: RenderedBook,
    steps: Sequence[Step],
    takes: Mapping[str, Record],
    shared: BookSound,
    music_uses: Sequence[music.MusicUse] = (),
    *,
    has_word_times: bool = False,
) -> ChapterWords:
    """Lays out the takes of a chapter, with room for its music."""
    project, rate = book.project, shared.rate
    timeline = _plan_timeline(book, steps, takes, shared, music_uses, has_word_times=has_word_times)
    polish = {name: _speaker_polish(project, name) for name in project.speakers}

    def content(clip: PlacedTake) -> str:
        take_content, settings = takes[clip.key].content, polish[clip.speaker]
        return keys.key({"take": take_content, **asdict(settings)}) if settings else take_content

    def read(clip: PlacedTake) -> Samples:
        samples = resample(*book.takes.store.read(clip.key), rate)
        return mastering.apply_polish(samples, rate, polish[clip.speaker])

    contents = {key: take.content for key, take in takes.items()}
    return ChapterWords(assemble.sound_key(timeline, content), timeline, contents, read)


def _plan_timeline(
    book: RenderedBook,
    steps: Sequence[Step],
    takes: Mapping[str, Record],
    shared: BookSound,
    music_uses: Sequence[music.MusicUse],
    *,
    has_word_times: bool,
) -> Timeline:
    """Places the takes of a chapter on its timeline, with room for its music."""
    rate, pauses = shared.rate, book.project.manifest.pauses
    groups = list(group_unison(steps))
    clips: list[PlacedTake] = []
    pauses_after = [
        pause_between(group[0].chunk, following[0].chunk, pauses)[0]
        for group, following in pairwise(groups)
    ]
    last_rest = groups[-1][0].chunk.pause_after_s or 0.0
    for group, pause_seconds in zip(groups, [*pauses_after, last_rest], strict=True):
        for index, step in enumerate(step for step in group if step.key in takes):
            take, line = takes[step.key], step.chunk.pieces[0].line
            correction = shared.correction(step, take)
            clips.append(
                PlacedTake(
                    key=step.key,
                    start=take.start * rate // take.sample_rate,
                    stop=take.stop * rate // take.sample_rate,
                    gain=shared.gains[step.chunk.speaker] + correction.gain,
                    speed=step.stretch * correction.speed,
                    pause=0.0 if index else pause_seconds,
                    chunk=step.id,
                    speaker=step.chunk.speaker,
                    text=step.chunk.text,
                    path=line.path,
                    line=line.line,
                    with_before=index > 0,
                    times=written_word_times(book.takes, step, take) if has_word_times else None,
                    quiet=take.edge_silence_seconds,
                )
            )
    return assemble.plan_timeline(
        clips,
        sample_rate=rate,
        head_seconds=music.head_seconds(music_uses, rate, pauses.head)
        + steps[0].chunk.pause_before_s,
        tail_seconds=music.tail_seconds(music_uses, rate, pauses.tail, last_rest),
    )


def written_word_times(takes: TakeResolver, step: Step, take: Record) -> WordTimes | None:
    """Returns the times of the written words in a take, as far as they are known."""
    word_times = takes.store.word_times(take, step.text)
    if word_times is None:
        return None
    words = written_times(step.chunk.text, step.utterance.spoken, word_times.words, step.language)
    return WordTimes(word_times.by, words)


def _speaker_polish(project: Project, speaker: str) -> Polish:
    settings = _mastering(project, speaker)
    return Polish(settings.high_pass, settings.de_ess or 0.0)


def _mastering(project: Project, speaker: str) -> Mastering:
    """Returns the settings of a speaker: the speaker's own, else the book's."""
    return project.speakers[speaker].mastering or project.manifest.output.mastering


def pause_between(chunk: Chunk, following: Chunk, pauses: Pauses) -> tuple[float, str]:
    """Returns the seconds between two chunks, and the name of that pause in `pauses`; "" where it
    was set by hand."""
    pause_name = chunk.boundary
    is_within_line = pause_name == "sentence" and following.pieces[0].line.continues_previous
    if pause_name in ("line", "sentence") and chunk.names != following.names and not is_within_line:
        pause_name = "speaker"
    pause = (
        float(getattr(pauses, pause_name)) if chunk.pause_after_s is None else chunk.pause_after_s
    )
    return (
        pause + following.pause_before_s,
        "" if chunk.pause_after_s is not None or following.pause_before_s else pause_name,
    )


def chapter_number(project: Project, name: str) -> int:
    """Returns the number in the book (credits count) of a chapter of the manifest by number or
    title."""
    chapters = project.manifest.chapters
    titles = [chapter.title for chapter in chapters]
    index = titles.index(name) if name in titles else int(name) - 1
    return 1 + next(
        number
        for number in range(len(project.chapters))
        if project.chapter_loc(number) == ("chapters", index)
    )


def book_channels(project: Project, chunks: Sequence[Chunk]) -> int:
    """Returns the channel count of the whole book, so that chapters made alone match the others.

    2 where any music that plays in it is in stereo. `chunks` are all of the book's. Raises
    ManifestError (music), StorageError.
    """
    if not project.manifest.music:
        return 1
    called_names = {
        mark.name.casefold() for chunk in chunks for mark, _ in chunk.marks if mark.name is not None
    }
    titles = [project.chapters[number].title for number in project.numbered]
    tunes = music.measure_tunes(project)
    playing_tunes = {
        use.tune
        for chapter in range(len(titles))
        for use in music.chapter_music(project, tunes, titles, chapter)
        if use.entry.name is None or use.entry.name.casefold() in called_names
    }
    return max((tune.channels for tune in playing_tunes), default=1)
