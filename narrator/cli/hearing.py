"""The command that listens: hear."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from narrator import files
from narrator.cli.planning import mends
from narrator.cli.progress import StageLine, stage
from narrator.cli.rendering import STOPPED, stop_on_signals
from narrator.cli.shared import (
    AsJson,
    Chapters,
    Draft,
    Speakers,
    app,
    awake,
    counted,
    err,
    near,
    out,
    short,
    source,
    tell,
)
from narrator.errors import UsageError, UserError
from narrator.sound.clock import clock, fine_clock

if TYPE_CHECKING:
    from narrator.pipeline.bookplan import BookPlan
    from narrator.pipeline.hearing import BookHearing
    from narrator.pipeline.recordings import Recital, RecitalHeard
    from narrator.speech.hearing.listening import Ear

LISTED = 40
"""Takes that are said one by one."""
NAMED = 8
"""Takes that one command is said to speak anew."""
ANOTHER = 0.7
"""Words heard otherwise, for each of a text, over which a recording may be of another."""


@app.command()
def hear(
    book: Annotated[
        Path,
        typer.Argument(help="The manifest, or its folder; or recordings with their texts beside."),
    ] = Path("book.yaml"),
    draft: Draft = False,
    chapter: Chapters = None,
    speaker: Speakers = None,
    align: Annotated[
        bool, typer.Option("--align", help="Find when each word is said, and nothing else.")
    ] = False,
    text: Annotated[
        Path | None, typer.Option("--text", help="Of one recording: the file of what it says.")
    ] = None,
    language: Annotated[
        str | None, typer.Option("--language", help="Of recordings: en-GB, de. Else by their text.")
    ] = None,
    times: Annotated[
        Path | None, typer.Option("--out", help="A folder for the times of recordings' words.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", help="What hears: small.en, large-v3-turbo, a hub id, a folder."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Listen to what is rendered: whether it says its text, and when each word is said. Exit code
    1: some takes do not say theirs, and are doubtful from now on."""
    from narrator.pipeline import recordings

    cancel = threading.Event()
    stop_on_signals(cancel)
    if recordings.are_there(book):
        if draft or chapter or speaker:
            raise UsageError("--draft, --chapter and --speaker are for a book, not for recordings")
        asked = _OfRecordings(text, language, model, align, times)
        _hear_recordings(book, asked, cancel, as_json)
    elif text or language or times:
        raise UsageError("--text, --language and --out are for recordings, not for a book")
    else:
        _hear_book(book, draft, chapter or (), speaker or (), align, model, cancel, as_json)


def _hear_book(
    book: Path,
    draft: bool,
    chapters: Sequence[str],
    speakers: Sequence[str],
    align: bool,
    model: str | None,
    cancel: threading.Event,
    as_json: bool,
) -> None:
    from narrator.pipeline import bookengines, bookplan, hearing
    from narrator.pipeline.manuscript import read
    from narrator.speech.hearing import choosing

    with contextlib.nullcontext() if as_json else stage(err, "reading the manuscript"):
        manuscript = read(book)
        project = manuscript.project
        selection = bookplan.select(manuscript, chapters, speakers, False)
        engines = bookengines.engines_for(project, draft=draft)
    ear = choosing.ear_for(project.manifest.checks, project.root, model=model, align=align)
    what = "timing words" if align else "listening"
    with awake(), contextlib.nullcontext() if as_json else StageLine(err) as line:
        if line:
            line(f"loading {ear.recogniser.title if ear.recogniser else 'the aligner'}", 0.0)
        shown = partial(line, what) if line else _unsaid
        planned, found = hearing.hear(
            manuscript, engines, selection, ear, tell=shown, cancel=cancel
        )
    if as_json:
        out.print_json(data=_json(found))
    else:
        _print(planned, found, ear.recogniser.title if ear.recogniser else "")
    if found.cancelled:
        raise typer.Exit(STOPPED)
    if any(not one.is_accepted for one in found.misheard):
        raise typer.Exit(1)


def _unsaid(share: float) -> None:
    pass


def _print(book: BookPlan, found: BookHearing, by: str) -> None:
    _print_misheard(found)
    said = f"{counted(found.takes, 'take')}, {found.fresh} of them listened to now"
    said += f" ({clock(found.seconds)})" if found.fresh else ""
    out.print(said + (f", by {by}" if by else ""))
    if found.missing:
        _print_missing(book, found)
    if found.unknown:
        out.print(f"{counted(found.unknown, 'take')} unheard: {by} does not know their language")
    _print_times(found)
    if found.forgotten:
        rows = counted(found.forgotten, "damaged row")
        out.print(f"{rows} of what was heard before removed")
    if found.relieved:
        out.print(f"{counted(found.relieved, 'take')} no longer doubtful")
    doubtful = [one for one in found.misheard if not one.is_accepted]
    if found.cancelled:
        out.print("stopped; run the same command to go on")
    if doubtful:
        steps = [one.step for one in doubtful[:NAMED]]
        said = mends(book, steps, one="one", every="them")
        out.print(f"{counted(len(doubtful), 'take')} doubtful: {said}")
    elif found.takes > found.unknown and by and not found.misheard and not found.cancelled:
        out.print("every take that was heard says its text")


def _print_missing(book: BookPlan, found: BookHearing) -> None:
    does = f"`narrator render{book.folders.option}` does it"
    if not found.takes and _has_draft(book):
        does += "; the draft voice's are heard with `--draft`"
    out.print(f"{counted(found.missing, 'chunk')} not rendered yet: {does}")


def _print_misheard(found: BookHearing) -> None:
    for one in found.misheard[:LISTED]:
        step = one.step
        mark = "otherwise, and accepted" if one.is_accepted else "doubtful"
        err.print(f"{mark}: {step.id} {source(step.chunk)}: {short(step.chunk.text)}")
        err.print(f"    {'; '.join(one.faults)}")
        err.print(f"    heard: {short(one.heard, 200) or 'nothing'}")
    if (more := len(found.misheard) - LISTED) > 0:
        err.print(f"doubtful: {more} more; `--json` and `narrator report` have all")


def _has_draft(book: BookPlan) -> bool:
    """Whether the draft voice has spoken a book that another engine is to speak."""
    draft = replace(book.folders, draft=book.project.has_draft)
    return draft != book.folders and bool(draft.sounds())


def _print_times(found: BookHearing) -> None:
    for by, count in sorted(found.timed.items()):
        if by:
            out.print(f"words of {counted(count, 'take')} timed by {by}")
        else:
            out.print(f"words of {counted(count, 'take')} not found; their times are estimated")


def _json(found: BookHearing) -> dict[str, object]:
    return {
        "takes": found.takes,
        "missing": found.missing,
        "unknown_language": found.unknown,
        "heard_now": found.fresh,
        "seconds_heard": round(found.seconds, 1),
        "timed": dict(found.timed),
        "relieved": found.relieved,
        "damaged_rows_removed": found.forgotten,
        "cancelled": found.cancelled,
        "misheard": [
            {
                "chunk": one.step.id,
                "source": source(one.step.chunk),
                "text": one.step.text,
                "heard": one.heard,
                "faults": list(one.faults),
                "accepted": one.is_accepted,
            }
            for one in found.misheard
        ],
    }


# -- recordings of others --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _OfRecordings:
    """What is asked of recordings."""

    text: Path | None
    language: str | None
    model: str | None
    align: bool
    times: Path | None


def _hear_recordings(
    place: Path, asked: _OfRecordings, cancel: threading.Event, as_json: bool
) -> None:
    from narrator.pipeline import recordings
    from narrator.project.schema import Checks
    from narrator.speech.hearing import choosing

    found, alone = recordings.recitals(place, asked.text)
    ear = choosing.ear_for(Checks(), Path.cwd(), model=asked.model)
    if asked.times is not None:
        with files.storage(asked.times):
            asked.times.mkdir(parents=True, exist_ok=True)
    for path in () if as_json else alone:
        err.print(f"{near(path)}: left out: no text of its name beside it")
    heard: list[RecitalHeard] = []
    unreadable: list[UserError] = []
    with awake():
        for recital in found:
            try:
                one = _hear_one(recital, ear, asked, cancel, as_json)
            except UserError as error:  # the others may be heard
                unreadable.append(error)
                continue
            if one is None:
                break
            heard.append(one)
    if as_json:
        out.print_json(data=[recordings.as_json(one, words=asked.align) for one in heard])
    elif cancel.is_set():
        out.print(f"stopped: {len(heard)} of {counted(len(found), 'recording')} heard")
    tell("error", unreadable)
    wrong = not asked.align and any(one.wrong for one in heard)
    if code := STOPPED if cancel.is_set() else UserError.exit_code if unreadable else int(wrong):
        raise typer.Exit(code)


def _hear_one(
    recital: Recital, ear: Ear, asked: _OfRecordings, cancel: threading.Event, as_json: bool
) -> RecitalHeard | None:
    """Listen to one recording, and say what came of it; None where it was stopped."""
    from narrator.pipeline import recordings

    with contextlib.nullcontext() if as_json else StageLine(err) as line:
        shown = partial(line, f"listening to {recital.sound.name}") if line else _unsaid
        shown(0.0)
        one = recordings.hear(recital, ear, language=asked.language, tell=shown, cancel=cancel)
    if one is not None and asked.times is not None:
        recordings.write_times(one, asked.times)
    if one is not None and not as_json:
        _print_recording(one, asked)
    return one


def _print_recording(one: RecitalHeard, asked: _OfRecordings) -> None:
    from narrator.speech.hearing.judging import told

    name, timed = near(one.recital.sound), f"{counted(len(one.words), 'word')} timed"
    if asked.align:
        out.print(f"{name}: {clock(one.seconds)}, {timed}")
        return
    for passage in one.wrong:
        err.print(f"{name} {fine_clock(passage.start)}: {told(passage.difference)}")
    if one.error > ANOTHER:
        err.print(f"{name}: hardly says {near(one.recital.text)}; is this its text?")
    wrong = counted(len(one.wrong), "passage")
    out.print(
        f"{name}: {clock(one.seconds)}, {one.error:.1%} heard otherwise, {wrong} wrong, {timed}"
    )
