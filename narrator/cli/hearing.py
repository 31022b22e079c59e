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
from narrator.cli import completion
from narrator.cli.planning import describe_remedy
from narrator.cli.progress import StageLine, stage
from narrator.cli.rendering import EXIT_STOPPED, stop_on_signals
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
    source_location,
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

MAX_LISTED_TAKES = 40
"""Misheard takes that are printed, of what may be thousands."""
MAX_NAMED_CHUNKS = 8
"""Chunks that the suggested command to retake names."""
MAX_WORD_ERROR_RATE = 0.7
"""Share of words heard otherwise over which a recording may be of another text."""


@app.command()
def hear(
    book: Annotated[
        Path,
        typer.Argument(
            help="The book's folder, or its manifest; or recordings with their texts beside them."
        ),
    ] = Path("book.yaml"),
    chapter: Chapters = None,
    speaker: Speakers = None,
    align: Annotated[
        bool, typer.Option("--align", help="Only find when each word is said.")
    ] = False,
    text: Annotated[
        Path | None, typer.Option("--text", help="For one recording: the file with its text.")
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(
            "--language",
            help="For recordings: the language, such as en-GB or de; by default that of the text.",
        ),
    ] = None,
    times: Annotated[
        Path | None,
        typer.Option("--out", help="For recordings: the folder for the times of their words."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            help="The recogniser: small.en, large-v3-turbo, a hub id or a folder.",
            autocompletion=completion.recognisers,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check takes by speech recognition, and time their words. Exit code 1: some takes do not say
    their text, and are doubtful from now on."""
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
    listener = choosing.make_listener(
        project.manifest.checks, project.root, model=model, only_align=align
    )
    recogniser = listener.recogniser.title if listener.recogniser else ""
    activity = "timing words" if align else "listening"
    with keep_awake(), contextlib.nullcontext() if as_json else StageLine(err) as line:
        if line:
            line(f"loading {recogniser or 'the aligner'}", 0.0)
        on_progress = partial(line, activity) if line else _ignore_progress
        planned, hearing_report = hearing.hear_book(
            manuscript, engines, selection, listener, on_progress=on_progress, cancel=cancel
        )
    if as_json:
        out.print_json(data=_hearing_json(hearing_report))
    else:
        _print_hearing(planned, hearing_report, recogniser)
    if hearing_report.cancelled:
        raise typer.Exit(EXIT_STOPPED)
    if any(not misheard.is_accepted for misheard in hearing_report.misheard):
        raise typer.Exit(1)


def _ignore_progress(share: float) -> None:
    pass


def _print_hearing(book: BookPlan, hearing_report: BookHearing, recogniser: str) -> None:
    """Prints what was heard; `recogniser` is a title, empty if words were only timed."""
    _print_misheard(hearing_report)
    takes = pluralize(hearing_report.take_count, "take")
    length = (
        f" ({format_clock(hearing_report.heard_seconds)})" if hearing_report.heard_count else ""
    )
    by = f", by {recogniser}" if recogniser else ""
    out.print(f"{takes}, {hearing_report.heard_count} of them listened to now{length}{by}")
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
    doubtful = [misheard for misheard in hearing_report.misheard if not misheard.is_accepted]
    if hearing_report.cancelled:
        out.print("stopped; run the same command to go on")
    if doubtful:
        steps = [misheard.step for misheard in doubtful[:MAX_NAMED_CHUNKS]]
        remedy = describe_remedy(book, steps, first_pronoun="one", all_pronoun="them")
        out.print(f"{pluralize(len(doubtful), 'take')} doubtful: {remedy}")
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
    for misheard in hearing_report.misheard[:MAX_LISTED_TAKES]:
        step = misheard.step
        verdict = "otherwise, and accepted" if misheard.is_accepted else "doubtful"
        err.print(f"{verdict}: {step.id} {source_location(step.chunk)}: {shorten(step.chunk.text)}")
        err.print(f"    {'; '.join(misheard.faults)}")
        err.print(f"    heard: {shorten(misheard.heard, 200) or 'nothing'}")
    if (hidden_count := len(hearing_report.misheard) - MAX_LISTED_TAKES) > 0:
        err.print(f"doubtful: {hidden_count} more; `--json` and the studio have all")


def _has_draft(book: BookPlan) -> bool:
    """Returns true if a book of another engine has finished files of the draft voice."""
    from narrator.delivery.folders import Folders

    draft = Folders(book.project.spoken_by("draft"))
    return draft.finished != book.folders.finished and bool(draft.sounds())


def _print_times(hearing_report: BookHearing) -> None:
    for listener, count in sorted(hearing_report.timed_counts.items()):
        if listener:
            out.print(f"words of {pluralize(count, 'take')} timed by {listener}")
        else:
            out.print(f"words of {pluralize(count, 'take')} not found; their times are estimated")


def _hearing_json(hearing_report: BookHearing) -> dict[str, object]:
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
                "chunk": misheard.step.id,
                "source": source_location(misheard.step.chunk),
                "text": misheard.step.text,
                "heard": misheard.heard,
                "faults": list(misheard.faults),
                "accepted": misheard.is_accepted,
            }
            for misheard in hearing_report.misheard
        ],
    }


# -- recordings without a project ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _RecordingOptions:
    """The options of `hear` for recordings."""

    text: Path | None
    """The file of the text of a single recording."""
    language: str | None
    model: str | None
    align: bool
    """True if words are only timed, not judged."""
    times: Path | None
    """The folder for the times of words."""


def _hear_recordings(
    path: Path, options: _RecordingOptions, cancel: threading.Event, as_json: bool
) -> None:
    """Listens to one recording or a folder of them. Raises Exit if any does not say its text."""
    from narrator.pipeline import recordings
    from narrator.project.schema import Checks
    from narrator.speech.hearing import choosing

    recitals, files_without_text = recordings.find_recitals(path, options.text)
    listener = choosing.make_listener(Checks(), Path.cwd(), model=options.model)
    if options.times is not None:
        with files.translating_errors(options.times):
            options.times.mkdir(parents=True, exist_ok=True)
    for sound in () if as_json else files_without_text:
        err.print(f"{display_path(sound)}: left out: no text of its name beside it")
    results: list[RecitalResult] = []
    read_errors: list[UserError] = []
    with keep_awake():
        for recital in recitals:
            try:
                result = _hear_recital(recital, listener, options, cancel, as_json)
            except UserError as error:  # the others may be heard
                read_errors.append(error)
                continue
            if result is None:
                break
            results.append(result)
    if as_json:
        out.print_json(data=[recordings.as_json(result, words=options.align) for result in results])
    elif cancel.is_set():
        out.print(f"stopped: {len(results)} of {pluralize(len(recitals), 'recording')} heard")
    print_problems("error", read_errors)
    if cancel.is_set():
        raise typer.Exit(EXIT_STOPPED)
    if read_errors:
        raise typer.Exit(UserError.exit_code)
    if not options.align and any(result.wrong for result in results):
        raise typer.Exit(1)


def _hear_recital(
    recital: Recital,
    listener: TakeListener,
    options: _RecordingOptions,
    cancel: threading.Event,
    as_json: bool,
) -> RecitalResult | None:
    """Listens to one recording and prints the result; None if it was cancelled."""
    from narrator.pipeline import recordings

    with contextlib.nullcontext() if as_json else StageLine(err) as line:
        on_progress = (
            partial(line, f"listening to {recital.sound.name}") if line else _ignore_progress
        )
        on_progress(0.0)
        result = recordings.hear_recital(
            recital,
            listener,
            language=options.language,
            on_progress=on_progress,
            cancel=cancel,
        )
    if result is not None and options.times is not None:
        recordings.write_times(result, options.times)
    if result is not None and not as_json:
        _print_recital(result, is_only_timed=options.align)
    return result


def _print_recital(result: RecitalResult, is_only_timed: bool) -> None:
    from narrator.speech.hearing.judging import describe_difference

    sound, length = display_path(result.recital.sound), format_clock(result.seconds)
    timed = f"{pluralize(len(result.words), 'word')} timed"
    if is_only_timed:
        out.print(f"{sound}: {length}, {timed}")
        return
    for passage in result.wrong:
        difference = describe_difference(passage.difference)
        err.print(f"{sound} {format_fine_clock(passage.start)}: {difference}")
    if result.error > MAX_WORD_ERROR_RATE:
        err.print(f"{sound}: hardly says {display_path(result.recital.text)}; is this its text?")
    wrong = pluralize(len(result.wrong), "passage")
    out.print(f"{sound}: {length}, {result.error:.1%} heard otherwise, {wrong} wrong, {timed}")
