"""Places of a book's text in its sound, and the text at a time of the sound.

A chapter's timeline describes its sound as it was last made, so text that was edited since appears
as it was and is marked as outdated. Reads timelines and lists of files; decodes no sound.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

from narrator.delivery import products
from narrator.delivery.folders import Folders
from narrator.errors import UsageError
from narrator.pipeline.book_plan import BookPlan
from narrator.sound.assemble import Timeline, TimelineItem
from narrator.sound.clock import format_clock
from narrator.sound.formats import OUTPUT_SUFFIXES
from narrator.speech.plan import Step


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of text with its place in the source and in the sound."""

    chunk: str
    """Its id, "3.12"."""
    chapter: int
    """Counted from 0."""
    speaker: str
    source: str
    """file:line, with the path relative to the project's folder."""
    text: str
    start: float | None
    """Seconds from the start of its chapter's sound; None if that has not been made."""
    stop: float | None


@dataclass(frozen=True, slots=True)
class HeardAt:
    """The passage at a time of a chapter."""

    passage: Passage
    """The text as it was when the chapter was made, with the present id of its chunk."""
    is_current: bool
    """True if the book still has this text there."""
    is_pause: bool
    """True if the time lies in the pause after the passage, or before the chapter's first words."""
    word: str = ""
    """The word at that time, as it is written; "" if unknown."""
    timed_by: str = ""
    """The engine or aligner that timed the word."""


def timeline_of(book: BookPlan, chapter: int) -> Timeline | None:
    """The timeline of a chapter's present sound, or None. The chapter is counted from 0."""
    try:
        return Timeline.from_json(_timeline_file(book.folders, chapter).read_text("utf-8"))
    except (OSError, ValueError, KeyError, TypeError):
        return None  # not made yet, or torn: the next render writes it again


def _timeline_file(folders: Folders, chapter: int) -> Path:
    return folders.work("timeline") / f"{chapter + 1:03}.json"


def all_passages(book: BookPlan, timelines: Sequence[Timeline | None]) -> dict[str, Passage]:
    """The passages of all steps, by their ids; `timelines` are those of the chapters."""
    spans = _find_spans(timelines)
    names = _relative_paths(book, book.steps)
    return {step.id: _build_passage(step, spans, names) for step in book.steps}


def passages_of(book: BookPlan, steps: Sequence[Step]) -> list[Passage]:
    """The passages of some steps."""
    chapters = dict.fromkeys(step.chapter for step in steps)
    spans = _find_spans([timeline_of(book, chapter) for chapter in chapters])
    names = _relative_paths(book, steps)
    return [_build_passage(step, spans, names) for step in steps]


def _relative_paths(book: BookPlan, steps: Sequence[Step]) -> dict[Path, str]:
    """The paths of the texts of some steps, relative to the project's folder if they lie in it."""
    paths = {step.chunk.pieces[0].line.path for step in steps}
    return {path: relative_path(path, book) for path in paths}


def _find_spans(timelines: Sequence[Timeline | None]) -> dict[tuple[str, str], tuple[float, float]]:
    """The start and end, in seconds, of each chunk in the sound, by its id and its take's key."""
    return {
        (cue.chunk, cue.key): (cue.start / timeline.sample_rate, cue.stop / timeline.sample_rate)
        for timeline in timelines
        if timeline
        for cue in timeline.cues
    }


def _build_passage(
    step: Step, spans: Mapping[tuple[str, str], tuple[float, float]], names: Mapping[Path, str]
) -> Passage:
    """The passage of a step.

    `spans` holds start and end in seconds by chunk id and take, `names` relative paths of texts.
    """
    source_line = step.chunk.pieces[0].line
    start, stop = spans.get((step.id, step.key), (None, None))
    return Passage(
        chunk=step.id,
        chapter=step.chapter,
        speaker=step.chunk.speaker,
        source=f"{names[source_line.path]}:{source_line.line}",
        text=step.chunk.text,
        start=start,
        stop=stop,
    )


def relative_path(path: Path, book: BookPlan) -> str:
    """A path relative to the project's folder, if it lies in it."""
    root = book.project.root
    return (path.relative_to(root) if path.is_relative_to(root) else path).as_posix()


# -- text at a time --------------------------------------------------------------------------------


class HeardChapter:
    """The text in a chapter's present sound; reads its timeline once.

    Raises UsageError if the chapter, counted from 0, has no sound.
    """

    def __init__(self, book: BookPlan, chapter: int) -> None:
        timeline = timeline_of(book, chapter)
        if timeline is None or not timeline.cues:
            hint = f"`narrator render{book.folders.option}` makes it"
            draft_folders = Folders(book.project.spoken_by("draft"))
            if (
                draft_folders.option != book.folders.option
                and _timeline_file(draft_folders, chapter).exists()
            ):
                hint += "; the draft voice's is asked for with `--draft`"
            raise UsageError(f"chapter {chapter + 1} has no sound yet: {hint}")
        self.chapter = chapter
        self.timeline = timeline
        self.starts = [cue.start for cue in timeline.cues]
        self.ids: dict[str, list[str]] = {}
        """Present chunk ids by key; when the chapter was made, they may have been different."""
        for step in book.steps:
            if step.chapter == chapter:
                self.ids.setdefault(step.key, []).append(step.id)

    def passages_at(self, seconds: float) -> list[HeardAt]:
        """The passages at a time of the chapter; several if they are spoken in unison.

        Raises UsageError if the chapter is shorter.
        """
        timeline = self.timeline
        if seconds > timeline.seconds:
            length = format_clock(timeline.seconds)
            raise UsageError(
                f"chapter {self.chapter + 1} lasts {length}, and has no {format_clock(seconds)}"
            )
        sample = seconds * timeline.sample_rate
        started_count = bisect_right(self.starts, sample)
        unison_cues = list(_find_unison_cues(timeline.cues, max(0, started_count - 1)))
        sounding_cues = [cue for cue in unison_cues if cue.start <= sample < cue.stop]
        if not sounding_cues:
            return [self._describe_cue(cue, is_pause=True) for cue in unison_cues]
        return [
            replace(
                self._describe_cue(cue, is_pause=False),
                word=word,
                timed_by=cue.timed_by * bool(word),
            )
            for cue in sounding_cues
            for word in [_find_word(cue, sample)]
        ]

    def _describe_cue(self, cue: TimelineItem, *, is_pause: bool) -> HeardAt:
        names = self.ids.get(cue.key, [])
        name = cue.chunk if cue.chunk in names or not names else names[0]
        passage = _passage_of_cue(self.chapter, cue, self.timeline.sample_rate, name)
        return HeardAt(passage, is_current=bool(names), is_pause=is_pause)


def _find_word(cue: TimelineItem, sample: float) -> str:
    """The word at a sample of a cue, or the last one before it; "" if no word was timed."""
    timed_count = bisect_right(cue.words, sample, key=lambda word: word[2])
    if not timed_count:
        return ""
    first, last, _, _ = cue.words[timed_count - 1]
    return cue.text[first:last].strip(".,;:!?…“”‘’\"'()[]—–- ") or cue.text[first:last]


def _find_unison_cues(cues: Sequence[TimelineItem], index: int) -> Iterator[TimelineItem]:
    """Yields a cue and those in unison with it."""
    while index and cues[index].with_before:
        index -= 1
    yield cues[index]
    yield from takewhile(lambda cue: cue.with_before, cues[index + 1 :])


def _passage_of_cue(chapter: int, cue: TimelineItem, rate: int, name: str) -> Passage:
    """The passage of a cue, under the present id of its chunk."""
    return Passage(
        chunk=name,
        chapter=chapter,
        speaker=cue.speaker,
        source=f"{cue.path.as_posix()}:{cue.line}",
        text=cue.text,
        start=cue.start / rate,
        stop=cue.stop / rate,
    )


def locate_in_book(book: BookPlan, seconds: float) -> tuple[Path, int, float]:
    """Locates a time in the delivered file with most chapters.

    Returns the file, the chapter, counted from 0, and the seconds from its beginning. Raises
    UsageError if there is no such file, or it is shorter.
    """
    for file in _find_joined_files(book):
        if seconds > file.seconds:
            raise UsageError(
                f"{file.path.name} lasts {format_clock(file.seconds)}, and has no "
                f"{format_clock(seconds)}"
            )
        index = max(0, bisect_right(file.starts, seconds) - 1)
        return file.path, file.chapters[index], max(0.0, seconds - file.starts[index])
    raise UsageError(
        "there is no file of several chapters: say which chapter, as in `narrator where 3 12:34`"
    )


@dataclass(frozen=True, slots=True)
class _JoinedFile:
    """A delivered file of several chapters."""

    path: Path
    chapters: Sequence[int]
    starts: Sequence[float]
    """Seconds at which the chapters begin."""
    seconds: float


def _find_joined_files(book: BookPlan) -> Iterator[_JoinedFile]:
    """Yields the delivered files of several chapters, those with most first."""
    records = sorted(
        products.load_records(book.project).items(),
        key=lambda record: (-len(record[1].chapters), record[0]),
    )
    for name, entry in records:
        path, starts = book.project.build / name, entry.facts.get("starts", ())
        is_sound = path.suffix.casefold() in OUTPUT_SUFFIXES and path.is_relative_to(
            book.folders.finished
        )
        if is_sound and path.is_file() and len(entry.chapters) == len(starts) > 1:
            yield _JoinedFile(path, entry.chapters, starts, entry.facts["seconds"])
