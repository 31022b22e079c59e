"""Where a book's text is heard, and what is heard at a place of it.

A chapter's timeline is as it was last made: what was edited since is named as it was, and said to
be. Reads timelines and lists of files; decodes no sound.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

from narrator.delivery import products
from narrator.delivery.folders import SOUNDS, Folders
from narrator.errors import UsageError
from narrator.pipeline.bookplan import BookPlan
from narrator.sound.assemble import Cue, Timeline
from narrator.sound.clock import clock
from narrator.speech.plan import Step


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of text: where it stands, and where it is heard."""

    chunk: str
    """Its id, "3.12"."""
    chapter: int
    """Counted from 0."""
    speaker: str
    source: str
    """file:line, the file as it is found from the project's folder."""
    text: str
    start: float | None
    """Seconds from the start of its chapter's sound; None where that has not been made."""
    stop: float | None


@dataclass(frozen=True, slots=True)
class HeardAt:
    """What is heard at a place of a chapter."""

    passage: Passage
    """As it was when the chapter was made; its chunk is named as it is now."""
    is_current: bool
    """Whether the book still has it there, word for word."""
    is_pause: bool
    """Whether the place lies in the pause after it, or before the chapter's first words."""
    word: str = ""
    """What is said there, as it is written; "" where that is not known."""
    timed_by: str = ""
    """Who says so."""


def timeline_of(book: BookPlan, chapter: int) -> Timeline | None:
    """A chapter's timeline as it was last made; the chapter is counted from 0."""
    try:
        return Timeline.from_json(_timeline_file(book.folders, chapter).read_text("utf-8"))
    except (OSError, ValueError, KeyError, TypeError):
        return None  # not made yet, or torn: the next render writes it again


def _timeline_file(folders: Folders, chapter: int) -> Path:
    return folders.work("timeline") / f"{chapter + 1:03}.json"


def passages(book: BookPlan, timelines: Sequence[Timeline | None]) -> dict[str, Passage]:
    """Of every step, by its id. `timelines` are the chapters'."""
    heard = _heard(timelines)
    return {step.id: _passage(book, step, heard) for step in book.steps}


def passages_of(book: BookPlan, steps: Sequence[Step]) -> list[Passage]:
    """Of some steps."""
    chapters = dict.fromkeys(step.chapter for step in steps)
    heard = _heard([timeline_of(book, chapter) for chapter in chapters])
    return [_passage(book, step, heard) for step in steps]


def _heard(timelines: Sequence[Timeline | None]) -> dict[tuple[str, str], tuple[float, float]]:
    """Chunks and their takes -> seconds from and to which they are heard."""
    return {
        (cue.chunk, cue.key): (cue.start / timeline.sample_rate, cue.stop / timeline.sample_rate)
        for timeline in timelines
        if timeline
        for cue in timeline.cues
    }


def _passage(
    book: BookPlan, step: Step, heard: Mapping[tuple[str, str], tuple[float, float]]
) -> Passage:
    line = step.chunk.pieces[0].line
    start, stop = heard.get((step.id, step.key), (None, None))
    return Passage(
        chunk=step.id,
        chapter=step.chapter,
        speaker=step.chunk.speaker,
        source=f"{within(line.path, book)}:{line.line}",
        text=step.chunk.text,
        start=start,
        stop=stop,
    )


def within(path: Path, book: BookPlan) -> str:
    """A file as it is found from the project's folder."""
    root = book.project.root
    return (path.relative_to(root) if path.is_relative_to(root) else path).as_posix()


# -- what is heard at a place ----------------------------------------------------------------------


class HeardChapter:
    """What is heard in a chapter, as it was last made: its timeline is read once.

    Raises UsageError where the chapter, counted from 0, has no sound.
    """

    def __init__(self, book: BookPlan, chapter: int) -> None:
        timeline = timeline_of(book, chapter)
        if timeline is None or not timeline.cues:
            again = f"`narrator render{book.folders.option}` makes it"
            draft = replace(book.folders, draft=book.project.has_draft)
            if draft.option != book.folders.option and _timeline_file(draft, chapter).exists():
                again += "; the draft voice's is asked for with `--draft`"
            raise UsageError(f"chapter {chapter + 1} has no sound yet: {again}")
        self.chapter = chapter
        self.timeline = timeline
        self.starts = [cue.start for cue in timeline.cues]
        self.ids: dict[str, list[str]] = {}
        """Keys -> what chunks are called now, which may have had other numbers then."""
        for step in book.steps:
            if step.chapter == chapter:
                self.ids.setdefault(step.key, []).append(step.id)

    def at(self, seconds: float) -> list[HeardAt]:
        """What is heard so many seconds after its beginning; several where they speak in unison.
        Raises UsageError where it is shorter."""
        timeline = self.timeline
        if seconds > timeline.seconds:
            lasts = clock(timeline.seconds)
            raise UsageError(
                f"chapter {self.chapter + 1} lasts {lasts}, and has no {clock(seconds)}"
            )
        at = seconds * timeline.sample_rate
        begun = bisect_right(self.starts, at)
        together = list(_together(timeline.cues, max(0, begun - 1)))
        spoken = [cue for cue in together if cue.start <= at < cue.stop]
        if not spoken:
            return [self._heard(cue, is_pause=True) for cue in together]
        return [
            replace(self._heard(cue, is_pause=False), word=word, timed_by=cue.timed_by * bool(word))
            for cue in spoken
            for word in [_word(cue, at)]
        ]

    def _heard(self, cue: Cue, *, is_pause: bool) -> HeardAt:
        names = self.ids.get(cue.key, [])
        name = cue.chunk if cue.chunk in names or not names else names[0]
        passage = _cued(self.chapter, cue, self.timeline.sample_rate, name)
        return HeardAt(passage, is_current=bool(names), is_pause=is_pause)


def _word(cue: Cue, at: float) -> str:
    """The word that is said at a sample of a cue, or was the last; "" where none was timed."""
    number = bisect_right(cue.words, at, key=lambda word: word[2])
    if not number:
        return ""
    first, last, _, _ = cue.words[number - 1]
    return cue.text[first:last].strip(".,;:!?…“”‘’\"'()[]—–- ") or cue.text[first:last]


def _together(cues: Sequence[Cue], place: int) -> Iterator[Cue]:
    """A cue and those in unison with it."""
    while place and cues[place].with_before:
        place -= 1
    yield cues[place]
    yield from takewhile(lambda cue: cue.with_before, cues[place + 1 :])


def _cued(chapter: int, cue: Cue, rate: int, name: str) -> Passage:
    return Passage(
        chunk=name,
        chapter=chapter,
        speaker=cue.speaker,
        source=f"{cue.path.as_posix()}:{cue.line}",
        text=cue.text,
        start=cue.start / rate,
        stop=cue.stop / rate,
    )


def in_book(book: BookPlan, seconds: float) -> tuple[Path, int, float]:
    """A place in the delivered file that has most chapters: the file, the chapter, counted from 0,
    and the seconds from its beginning. Raises UsageError where there is none, or it is shorter."""
    for path, chapters, starts, length in _files(book):
        if seconds > length:
            raise UsageError(f"{path.name} lasts {clock(length)}, and has no {clock(seconds)}")
        place = max(0, bisect_right(starts, seconds) - 1)
        return path, chapters[place], max(0.0, seconds - starts[place])
    raise UsageError(
        "there is no file of several chapters: say which chapter, as in `narrator where 3 12:34`"
    )


def _files(book: BookPlan) -> Iterator[tuple[Path, Sequence[int], Sequence[float], float]]:
    """Delivered files of several chapters, those with most first: where each chapter begins, and
    how long the file is."""
    made = products.made_of(book.project)
    for _, name in sorted((-len(entry.chapters), name) for name, entry in made.items()):
        entry, path = made[name], book.project.build / name
        starts, length = entry.facts.get("starts", ()), entry.facts.get("seconds")
        sound = path.suffix.casefold() in SOUNDS and path.is_relative_to(book.folders.finished)
        if not (sound and path.is_file() and isinstance(length, int | float)):
            continue
        if len(entry.chapters) == len(starts) > 1:
            yield path, entry.chapters, starts, float(length)
