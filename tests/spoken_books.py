"""Chapters as they were spoken, laid out from texts alone: what companions are made from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from narrator.delivery.companions import SpokenChapter
from narrator.delivery.export import ListenerFile
from narrator.sound.assemble import PlacedTake, TimelineItem, plan_timeline
from narrator.text import line_splitting
from narrator.text.chunks import Chunk, cut_scene
from narrator.text.labels import Roles
from narrator.text.lines import Chapter, Line, Scene
from narrator.text.pace import expected_seconds
from narrator.text.script import read_chapter
from narrator.text.words import words

RATE = 8000


def speak(
    chapter: Chapter,
    number: int = 1,
    *,
    rate: int = RATE,
    pace: float = 1.0,
    head: float = 0.5,
) -> SpokenChapter:
    """A chapter whose takes last as long as they are expected to, times `pace`; those of who joins
    in to a unison half as long again."""
    chunks = [c for scene in chapter.scenes for c in cut_scene(scene)]
    chunks = [c for c in chunks if any(map(str.isalnum, c.text))]
    clips = [
        PlacedTake(
            key=f"take {number}.{place}",
            start=0,
            stop=max(1, round(_seconds(c, chapter.language) * pace * rate)),
            gain=0.0,
            speed=1.0,
            pause=0.35,
            chunk=f"{number}.{place}",
            speaker=c.speaker,
            text=c.text,
            path=c.pieces[0].line.path,
            line=c.pieces[0].line.line,
            with_before=c.with_before,
        )
        for place, c in enumerate(chunks, 1)
    ]
    timeline = plan_timeline(clips, sample_rate=rate, head_seconds=head, tail_seconds=0.5)
    return SpokenChapter(number, chapter, tuple(c for c in chunks if not c.with_before), timeline)


def timed(
    one: SpokenChapter, by: str = "draft", only: Callable[[str], bool] = bool
) -> SpokenChapter:
    """A chapter whose words (`only` some of them) are timed: the first half of each cue's text
    takes a quarter of its time, and each word four fifths of its own."""

    def at(cue: TimelineItem, place: float) -> int:
        share = place / len(cue.text)
        warped = share / 2 if share < 0.5 else 1.5 * share - 0.5
        return cue.start + round(warped * (cue.stop - cue.start))

    cues = tuple(
        replace(
            cue,
            words=tuple(
                (a, b, at(cue, a), at(cue, a + 0.8 * (b - a)))
                for a, b in words(cue.text, one.language)
                if only(cue.text[a:b])
            ),
            timed_by=by,
        )
        for cue in one.timeline.cues
    )
    return replace(one, timeline=replace(one.timeline, cues=cues))


def _seconds(chunk: Chunk, language: str) -> float:
    return expected_seconds(chunk.text, language) * (1.5 if chunk.with_before else 1)


def spoken(
    text: str,
    number: int = 1,
    *,
    title: str = "One",
    language: str = "en",
    speakers: Iterable[str] = ("ann", "bob"),
    pace: float = 1.0,
    head: float = 0.5,
) -> SpokenChapter:
    """A chapter of these words. Without a label, the narrator speaks."""
    roles = Roles({name.casefold(): name for name in ("narrator", *speakers)}, "narrator")
    chapter = read_chapter(
        text, path=Path(f"{number}.md"), title=title, language=language, roles=roles, speaker=None
    )
    return speak(line_splitting.split_lines(chapter, {}, roles), number, pace=pace, head=head)


def of_lines(*said: tuple[str, str], language: str = "en", pace: float = 1.0) -> SpokenChapter:
    """A chapter of lines (speaker, text) that no reader of scripts has seen; "ann & bob" speak in
    unison."""
    lines = tuple(
        Line(speaker, text, Path("1.md"), n, language, with_before=turn > 0)
        for n, (speakers, text) in enumerate(said, 1)
        for turn, speaker in enumerate(speakers.split(" & "))
    )
    return speak(Chapter("One", language, (Scene(lines),), ()), pace=pace)


def delivered(
    folder: Path,
    chapters: Sequence[SpokenChapter],
    *formats: str,
    book: bool = True,
    each: bool = False,
    shift: float = 0.0,
) -> list[ListenerFile]:
    """Finished files that are none. A chapter begins `shift` after the end of the one before."""
    files = []
    starts = [0.0]
    for one in chapters:
        starts.append(starts[-1] + one.timeline.seconds + shift)
    for format in formats:
        if book:
            path = folder / f"Book.{format}"
            numbers = tuple(one.number for one in chapters)
            files.append(_file(path, format, numbers, tuple(starts[:-1]), starts[-1], whole=True))
        for one in chapters if each else ():
            path = folder / f"Book ({format})" / f"{one.number:02} - {one.title}.{format}"
            files.append(_file(path, format, (one.number,), (0.0,), one.timeline.seconds))
    return files


def _file(
    path: Path,
    format: str,
    chapters: tuple[int, ...],
    starts: tuple[float, ...],
    seconds: float,
    *,
    whole: bool = False,
) -> ListenerFile:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(f"sound of {path.name}".encode())
    return ListenerFile(
        path=path,
        format=format,
        chapter=None if whole else chapters[0],
        starts=starts,
        seconds=seconds,
        bytes=path.stat().st_size,
        fresh=True,
        chapters=chapters,
        kind="book" if whole else "chapter",
    )
