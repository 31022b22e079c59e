"""The command that listens: hear."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from narrator import files
from narrator.cli.planning import describe_remedy
from narrator.cli.progress import StageLine, stage
from narrator.cli.rendering import STOPPED, stop_on_signals
from narrator.cli.shared import (
    AsJson,
    Chapters,
    Speakers,
    app,
    display_path,
    err,
    keep_awake,
    out,
    print_problems,
    shorten,
    source,
)
from narrator.errors import UsageError, UserError
from narrator.quantities import pluralize
from narrator.sound.clock import format_clock, format_fine_clock

if TYPE_CHECKING:
    from narrator.pipeline.book_plan import BookPlan
    from narrator.pipeline.hearing import BookHearing
    from narrator.pipeline.options import RenderOptions
    from narrator.pipeline.recordings import Recital, RecitalResult
    from narrator.speech.hearing.listening import TakeListener

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
    from narrator.pipeline.options import RenderOptions
    from narrator.project.other_engine import chosen_engine

    cancel = threading.Event()
    stop_on_signals(cancel)
    if recordings.are_recordings(book):
        if chosen_engine() == "draft" or chapter or speaker:
            raise UsageError("--draft, --chapter and --speaker are for a book, not for recordings")
        recording_options = _RecordingOptions(text, language, model, align, times)
        _hear_recordings(book, recording_options, cancel, as_json)
    elif text or language or times:
        raise UsageError("--text, --language and --out are for recordings, not for a book")
    else:
        options = RenderOptions(chapters=tuple(chapter or ()), speakers=tuple(speaker or ()))
        _hear_book(book, options, align, model, cancel, as_json)


def _hear_book(
    book: Path,
    options: RenderOptions,
    align: bool,
    model: str | None,
    cancel: threading.Event,
    as_json: bool,
) -> None:
    from narrator.pipeline import book_engines, book_plan, hearing
    from narrator.pipeline.manuscript import read_manuscript
    from narrator.speech.hearing import choosing

    with contextlib.nullcontext() if as_json else stage(err, "reading the manuscript"):
        manuscript = read_manuscript(book)
        project = manuscript.project
        selection = book_plan.select(manuscript, options)
        engines = book_engines.engines_for(project)
    ear = choosing.make_listener(
        project.manifest.checks, project.root, model=model, only_align=align
    )
    activity = "timing words" if align else "listening"
    with keep_awake(), contextlib.nullcontext() if as_json else StageLine(err) as line:
        if line:
            line(f"loading {ear.recogniser.title if ear.recogniser else 'the aligner'}", 0.0)
        on_progress = partial(line, activity) if line else _ignore_progress
        planned, hearing_report = hearing.hear_book(
            manuscript, engines, selection, ear, on_progress=on_progress, cancel=cancel
        )
    if as_json:
        out.print_json(data=_json(hearing_report))
    else:
        _print(planned, hearing_report, ear.recogniser.title if ear.recogniser else "")
    if hearing_report.cancelled:
        raise typer.Exit(STOPPED)
    if any(not misheard_take.is_accepted for misheard_take in hearing_report.misheard):
        raise typer.Exit(1)


def _ignore_progress(share: float) -> None:
    pass


def _print(book: BookPlan, hearing_report: BookHearing, recogniser: str) -> None:
    _print_misheard(hearing_report)
    takes = pluralize(hearing_report.take_count, "take")
    summary = f"{takes}, {hearing_report.heard_count} of them listened to now"
    if hearing_report.heard_count:
        summary += f" ({format_clock(hearing_report.heard_seconds)})"
    out.print(summary + (f", by {recogniser}" if recogniser else ""))
    if hearing_report.missing_count:
        _print_missing(book, hearing_report)
    if hearing_report.unheard_count:
        out.print(
            f"{pluralize(hearing_report.unheard_count, 'take')} unheard: "
            f"{recogniser} does not know their language"
        )
    _print_times(hearing_report)
    if hearing_report.removed_row_count:
        rows = pluralize(hearing_report.removed_row_count, "damaged row")
        out.print(f"{rows} of what was heard before removed")
    if hearing_report.relieved_count:
        out.print(f"{pluralize(hearing_report.relieved_count, 'take')} no longer doubtful")
    doubtful = [
        misheard_take for misheard_take in hearing_report.misheard if not misheard_take.is_accepted
    ]
    if hearing_report.cancelled:
        out.print("stopped; run the same command to go on")
    if doubtful:
        steps = [misheard_take.step for misheard_take in doubtful[:NAMED]]
        summary = describe_remedy(book, steps, pronoun="one", every="them")
        out.print(f"{pluralize(len(doubtful), 'take')} doubtful: {summary}")
    elif (
        hearing_report.take_count > hearing_report.unheard_count
        and recogniser
        and not hearing_report.misheard
        and not hearing_report.cancelled
    ):
        out.print("every take that was heard says its text")


def _print_missing(book: BookPlan, hearing_report: BookHearing) -> None:
    hint = f"`narrator render{book.folders.option}` does it"
    if not hearing_report.take_count and _has_draft(book):
        hint += "; the draft voice's are heard with `--draft`"
    out.print(f"{pluralize(hearing_report.missing_count, 'chunk')} not rendered yet: {hint}")


def _print_misheard(hearing_report: BookHearing) -> None:
    for misheard_take in hearing_report.misheard[:LISTED]:
        step = misheard_take.step
        mark = "otherwise, and accepted" if misheard_take.is_accepted else "doubtful"
        err.print(f"{mark}: {step.id} {source(step.chunk)}: {shorten(step.chunk.text)}")
        err.print(f"    {'; '.join(misheard_take.faults)}")
        err.print(f"    heard: {shorten(misheard_take.heard, 200) or 'nothing'}")
    if (hidden_count := len(hearing_report.misheard) - LISTED) > 0:
        err.print(f"doubtful: {hidden_count} more; `--json` and `narrator report` have all")


def _has_draft(book: BookPlan) -> bool:
    """True if the draft voice has spoken a book that another engine is to speak."""
    from narrator.delivery.folders import Folders

    draft = Folders(book.project.spoken_by("draft"))
    return draft.finished != book.folders.finished and bool(draft.sounds())


def _print_times(hearing_report: BookHearing) -> None:
    for listener, count in sorted(hearing_report.timed_counts.items()):
        if listener:
            out.print(f"words of {pluralize(count, 'take')} timed by {listener}")
        else:
            out.print(f"words of {pluralize(count, 'take')} not found; their times are estimated")


def _json(hearing_report: BookHearing) -> dict[str, object]:
    return {
        "takes": hearing_report.take_count,
        "missing": hearing_report.missing_count,
        "unknown_language": hearing_report.unheard_count,
        "heard_now": hearing_report.heard_count,
        "seconds_heard": round(hearing_report.heard_seconds, 1),
        "timed": dict(hearing_report.timed_counts),
        "relieved": hearing_report.relieved_count,
        "damaged_rows_removed": hearing_report.removed_row_count,
        "cancelled": hearing_report.cancelled,
        "misheard": [
            {
                "chunk": misheard_take.step.id,
                "source": source(misheard_take.step.chunk),
                "text": misheard_take.step.text,
                "heard": misheard_take.heard,
                "faults": list(misheard_take.faults),
                "accepted": misheard_take.is_accepted,
            }
            for misheard_take in hearing_report.misheard
        ],
    }


# -- recordings of others --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _RecordingOptions:
    """The options for recordings."""

    text: Path | None
    language: str | None
    model: str | None
    align: bool
    times: Path | None


def _hear_recordings(
    place: Path, options: _RecordingOptions, cancel: threading.Event, as_json: bool
) -> None:
    from narrator.pipeline import recordings
    from narrator.project.schema import Checks
    from narrator.speech.hearing import choosing

    recitals, unmatched_files = recordings.find_recitals(place, options.text)
    ear = choosing.make_listener(Checks(), Path.cwd(), model=options.model)
    if options.times is not None:
        with files.translating_errors(options.times):
            options.times.mkdir(parents=True, exist_ok=True)
    for path in () if as_json else unmatched_files:
        err.print(f"{display_path(path)}: left out: no text of its name beside it")
    heard_recitals: list[RecitalResult] = []
    unreadable: list[UserError] = []
    with keep_awake():
        for recital in recitals:
            try:
                heard_recital = _hear_one(recital, ear, options, cancel, as_json)
            except UserError as error:  # the others may be heard
                unreadable.append(error)
                continue
            if heard_recital is None:
                break
            heard_recitals.append(heard_recital)
    if as_json:
        out.print_json(
            data=[
                recordings.as_json(heard_recital, words=options.align)
                for heard_recital in heard_recitals
            ]
        )
    elif cancel.is_set():
        out.print(
            f"stopped: {len(heard_recitals)} of {pluralize(len(recitals), 'recording')} heard"
        )
    print_problems("error", unreadable)
    wrong = not options.align and any(heard_recital.wrong for heard_recital in heard_recitals)
    if code := STOPPED if cancel.is_set() else UserError.exit_code if unreadable else int(wrong):
        raise typer.Exit(code)


def _hear_one(
    recital: Recital,
    ear: TakeListener,
    options: _RecordingOptions,
    cancel: threading.Event,
    as_json: bool,
) -> RecitalResult | None:
    """Listen to one recording, and say what came of it; None where it was stopped."""
    from narrator.pipeline import recordings

    with contextlib.nullcontext() if as_json else StageLine(err) as line:
        on_progress = (
            partial(line, f"listening to {recital.sound.name}") if line else _ignore_progress
        )
        on_progress(0.0)
        heard_recital = recordings.hear_recital(
            recital, ear, language=options.language, tell=on_progress, cancel=cancel
        )
    if heard_recital is not None and options.times is not None:
        recordings.write_times(heard_recital, options.times)
    if heard_recital is not None and not as_json:
        _print_recording(heard_recital, options)
    return heard_recital


def _print_recording(heard_recital: RecitalResult, options: _RecordingOptions) -> None:
    from narrator.speech.hearing.judging import describe_difference

    name, timed = (
        display_path(heard_recital.recital.sound),
        f"{pluralize(len(heard_recital.words), 'word')} timed",
    )
    if options.align:
        out.print(f"{name}: {format_clock(heard_recital.seconds)}, {timed}")
        return
    for passage in heard_recital.wrong:
        err.print(
            f"{name} {format_fine_clock(passage.start)}: {describe_difference(passage.difference)}"
        )
    if heard_recital.error > ANOTHER:
        err.print(
            f"{name}: hardly says {display_path(heard_recital.recital.text)}; is this its text?"
        )
    wrong = pluralize(len(heard_recital.wrong), "passage")
    out.print(
        f"{name}: {format_clock(heard_recital.seconds)}, {heard_recital.error:.1%} heard "
        "otherwise, "
        f"{wrong} wrong, {timed}"
    )
