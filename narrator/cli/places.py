"""Commands that go from sound to text and back: where, play."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from narrator.cli import completion
from narrator.cli.planning import load_plan
from narrator.cli.shared import (
    AsJson,
    BookOption,
    Chunks,
    app,
    display_path,
    err,
    out,
    shorten,
    split_arguments,
)
from narrator.errors import UsageError
from narrator.sound.clock import format_fine_clock

if TYPE_CHECKING:
    from narrator.pipeline.book_plan import BookPlan
    from narrator.pipeline.places import HeardAt, Passage


@app.command()
def where(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[CHAPTER] TIME | CHUNK... [BOOK]",
            help="A time in a chapter (3 12:34) or in the file of the whole book (5:12:34), or "
            "chunks (3.12); and their book, in any order.",
            show_default=False,
            autocompletion=completion.chunks,
        ),
    ],
    book: BookOption = None,
    as_json: AsJson = False,
) -> None:
    """Find what is spoken at a time, or when chunks are heard. Shows where it is written."""
    if heard := find_by_time(words, book):
        _print_heard(*heard, as_json)
        return
    chunks, place = split_arguments(words, book)
    if not chunks:
        raise UsageError("which place? A chapter and a time, 3 12:34, or a chunk, 3.12")
    _print_passages(*find_by_chunks(chunks, place), as_json)


def find_by_time(
    words: Sequence[str], option: Path | None
) -> tuple[BookPlan, str, list[HeardAt]] | None:
    """Finds what is heard at a time, as "3 12:34" or "5:12:34"; None if the words name no time.

    Returns the book, a line that names the chapter if the words do not, and the chunks. Raises
    UsageError.
    """
    from narrator.pipeline.proof_notes import TIME_PATTERN

    times = [word for word in words if TIME_PATTERN.fullmatch(word)]
    if not times:
        return None
    chapter, place = _chapter_and_book([word for word in words if word not in times], option)
    book = load_plan(place)
    return book, *_find_times(book, chapter, times)


def find_by_chunks(chunks: Sequence[str], place: Path) -> tuple[BookPlan, list[Passage]]:
    """Returns the book at a path, and the passages of its chunks. Raises UsageError."""
    from narrator.pipeline import book_plan, places

    book = load_plan(place)
    return book, places.passages_of(book, book_plan.find_steps(book, chunks))


def find_chapter(book: BookPlan, name: str) -> int:
    """Returns the index of a chapter from its number or title. Raises UsageError."""
    from narrator.pipeline import book_plan
    from narrator.pipeline.options import RenderOptions

    indices = book_plan.select(book.manuscript, RenderOptions(chapters=(name,))).chapters
    if len(indices) != 1:
        raise UsageError(f"“{name}” are several chapters: name one")
    return min(indices)


def _chapter_and_book(words: Sequence[str], option: Path | None) -> tuple[str | None, Path]:
    """Returns the chapter, if one is named, and the book from the words beside a time.

    `option` is the book of `--book`. Raises UsageError if several words may be the chapter.
    """
    chapters, book = list(words), option
    if book is None:
        paths = [word for word in chapters if Path(word).exists()]
        if len(paths) > 1:  # a folder may be called as a chapter's number
            paths = [path for path in paths if not path.isdecimal()]
        is_chapter = paths and paths[0].isdecimal() and Path("book.yaml").exists()
        if len(paths) == 1 and not is_chapter:
            chapters.remove(paths[0])
            book = Path(paths[0])
    if len(chapters) > 1:
        names = " or ".join(chapters)
        raise UsageError(f"which is the chapter, {names}? As in: narrator where my-book 3 12:34")
    return chapters[0] if chapters else None, book or Path("book.yaml")


def _find_times(
    book: BookPlan, chapter: str | None, times: Sequence[str]
) -> tuple[str, list[HeardAt]]:
    """Returns a line that names the chapter, if the user did not, and what is heard there."""
    from narrator.pipeline import places
    from narrator.pipeline.proof_notes import seconds_of

    if len(times) > 1:
        raise UsageError(f"which time, {' or '.join(times)}? Name one")
    seconds = seconds_of(times[0]) or 0.0
    if chapter is None:
        file, index, seconds = places.locate_in_book(book, seconds)
        location = f"{display_path(file)}: chapter {index + 1}, {format_fine_clock(seconds)}"
        return location, places.HeardChapter(book, index).passages_at(seconds)
    return "", places.HeardChapter(book, find_chapter(book, chapter)).passages_at(seconds)


def _print_heard(book: BookPlan, location: str, places: Sequence[HeardAt], as_json: bool) -> None:
    """Prints what is heard at a time; `location` is a line before it, if not empty."""
    if as_json:
        rows = [
            {
                **_passage_json(place.passage),
                "current": place.is_current,
                "pause": place.is_pause,
                "word": place.word,
                "timed_by": place.timed_by,
            }
            for place in places
        ]
        out.print_json(data=rows)
        return
    if location:
        out.print(location)
    for place in places:
        _print_passage(book, place.passage)
        if place.is_pause:
            out.print("  the time lies in the pause beside it")
        if place.word:
            out.print(f"  the word there is {place.word} (timed by {place.timed_by})")
    if any(not place.is_current for place in places):
        out.print("  as it was when the chapter was made: its text or voice has changed since, and "
                  f"`narrator render{book.folders.option}` makes it again")  # fmt: skip


def _print_passages(book: BookPlan, passages: Sequence[Passage], as_json: bool) -> None:
    if as_json:
        out.print_json(data=[_passage_json(passage) for passage in passages])
        return
    for passage in passages:
        _print_passage(book, passage)


def _passage_json(passage: Passage) -> dict[str, Any]:
    return {
        "chunk": passage.chunk,
        "chapter": passage.chapter + 1,
        "speaker": passage.speaker,
        "source": passage.source,
        "text": passage.text,
        "start": passage.start,
        "stop": passage.stop,
    }


def _print_passage(book: BookPlan, passage: Passage) -> None:
    time = "not heard yet"
    if passage.start is not None and passage.stop is not None:
        time = f"{format_fine_clock(passage.start)} to {format_fine_clock(passage.stop)}"
    title = book.chapters[passage.chapter].title
    out.print(f"{passage.chunk}  {time} of chapter {passage.chapter + 1}, {shorten(title, 40)}")
    out.print(f"  {passage.source}  {passage.speaker}: {passage.text}")


# -- playing ---------------------------------------------------------------------------------------

_PLAYERS = {
    "darwin": (("afplay",),),
    "linux": (
        ("pw-play",),
        ("paplay",),
        ("ffplay", "-nodisp", "-autoexit", "-loglevel", "error"),
        ("mpv", "--really-quiet", "--no-video"),
        ("aplay", "-q"),
    ),
}
"""Programs that play a WAV file and end, as systems have them; the first one there is taken."""


@app.command()
def play(
    chunks: Chunks,
    book: BookOption = None,
    number: Annotated[
        int | None,
        typer.Option(
            "--try", min=1, help="Play this try instead of the take in use; `takes` lists them."
        ),
    ] = None,
) -> None:
    """Play the takes of chunks one after another."""
    from narrator.pipeline import book_plan, retakes

    names, place = split_arguments(chunks, book)
    if not names:
        raise UsageError(f"which chunks of {place}? Name them chapter.number, as 3.12")
    player = _find_player()
    planned = load_plan(place)
    with tempfile.TemporaryDirectory(prefix="narrator-") as folder:
        for step in book_plan.find_steps(planned, names):
            tries = retakes.tries_of(planned, step)
            chosen_tries = [
                chunk_try
                for chunk_try in tries
                if (chunk_try.in_use if number is None else chunk_try.number == number)
            ]
            if not chosen_tries:
                numbers = ", ".join(str(chunk_try.number) for chunk_try in tries) or "none was kept"
                missing = "no take" if number is None else f"no try {number}"
                raise UsageError(f"chunk {step.id} has {missing}; tries: {numbers}")
            (path,) = retakes.write_sounds(planned, step, chosen_tries, Path(folder))
            err.print(f"{step.id}  {step.chunk.speaker}: {shorten(step.chunk.text)}")
            _play_file(player, path)


def _find_player() -> list[str]:
    """Returns the command of a program that plays WAV files. Raises UsageError for none."""
    commands = _PLAYERS.get(sys.platform, ())
    for name, *options in commands:
        if program := shutil.which(name):
            return [program, *options]
    names = ", ".join(command[0] for command in commands) or "none is known for this system"
    raise UsageError(
        f"no program to play sounds was found ({names}); `narrator takes CHUNK --out FOLDER` "
        "writes them as files"
    )


def _play_file(player: Sequence[str], path: Path) -> None:
    """Plays a file to its end. Raises UsageError if the player fails, as without a device."""
    process = subprocess.run([*player, str(path)], stdin=subprocess.DEVNULL, capture_output=True)
    if process.returncode:
        messages = process.stderr.decode(errors="replace").strip().splitlines()
        name = Path(player[0]).name
        raise UsageError(
            f"{name} could not play it: {messages[-1] if messages else 'it did not say why'}"
        )
