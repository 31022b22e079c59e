"""Commands that render: render, export."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from narrator.cli.cluster import Insecure, OnCluster, Tls, make_cluster_options
from narrator.cli.planning import (
    load_plan,
    print_doubtful,
    print_lost_pins,
    print_plan,
    warn_about_unspoken_text,
    warn_about_unsupported,
)
from narrator.cli.progress import JsonProgress, LineProgress, LiveProgress, stage
from narrator.cli.shared import (
    AsJson,
    Book,
    Chapters,
    Force,
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
from narrator.errors import EngineUnavailable, ExportError
from narrator.quantities import format_bytes, pluralize
from narrator.sound.clock import format_clock

if TYPE_CHECKING:
    from narrator.delivery.finish import Finished
    from narrator.pipeline.jobs.client import Answer
    from narrator.pipeline.manuscript import Manuscript
    from narrator.pipeline.options import RenderOptions
    from narrator.pipeline.run import Report
    from narrator.speech.render import RenderResult
    from narrator.speech.store import Store

MAX_LISTED = 12
"""Chunks and files that are printed, of what may be thousands."""
EXIT_STOPPED = 130


@app.command()
def render(
    book: Book = Path("book.yaml"),
    chapter: Chapters = None,
    speaker: Speakers = None,
    force: Force = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the plan.")] = False,
    as_json: AsJson = False,
    cluster: OnCluster = None,
    tls: Tls = None,
    insecure: Insecure = False,
) -> None:
    """Render a book to finished files. Run it again to resume where it stopped."""
    from narrator.pipeline.options import RenderOptions

    options = RenderOptions(
        chapters=tuple(chapter or ()),
        speakers=tuple(speaker or ()),
        force=force,
        cluster=make_cluster_options(cluster, tls, insecure),
    )
    if dry_run:
        print_plan(load_plan(book, options), as_json)
        return
    _run("render", book, options, as_json)


@app.command()
def export(book: Book = Path("book.yaml"), chapter: Chapters = None,
           as_json: AsJson = False) -> None:  # fmt: skip
    """Assemble and encode what is already rendered. Nothing is spoken."""
    from narrator.pipeline.options import RenderOptions

    options = RenderOptions(chapters=tuple(chapter or ()), cluster=make_cluster_options("none"))
    _run("export", book, options, as_json)


def _run(
    kind: Literal["render", "export"], book: Path, options: RenderOptions, as_json: bool
) -> None:
    """Does a job, in this process or in the one that owns the project, and prints the outcome.

    Raises Exit with the exit code of an incomplete render, ExportError for files that failed.
    """
    from narrator.pipeline import book_engines, book_plan, book_reading, run
    from narrator.pipeline.jobs import client, execution
    from narrator.pipeline.jobs.protocol import Job

    cancel, joined = threading.Event(), threading.Event()
    stop_on_signals(cancel, joined)
    start_s = time.monotonic()
    with contextlib.nullcontext() if as_json else stage(err, "reading the manuscript"):
        reading = book_reading.read_book(book)
        project = reading.manuscript.project
        selection = book_plan.select(reading.manuscript, options)
        engines = book_engines.engines_for(project, options.cluster, on_message=err.print)
    if kind == "render" and not as_json:
        warn_about_unsupported(reading.manuscript)
    job = Job.of(kind, options)
    progress_class = JsonProgress if as_json else LiveProgress if err.is_terminal else LineProgress
    with (
        keep_awake(),
        progress_class(err) as progress,
        client.submit_or_run(project, job, progress, cancel, joined) as owner,
    ):
        if isinstance(owner, client.Answer):
            outcome: Report | client.Answer = owner
        else:
            handle = owner.new_handle(job, cancel)
            with owner.doing(handle), naming_alternatives(reading.manuscript):
                outcome = execution.render(owner, handle, reading, selection, engines, progress)
    if isinstance(outcome, client.Answer):
        print_answer(outcome, as_json)
        return
    if as_json:
        out.print_json(data=run.summary(outcome))
    else:
        _print_report(outcome, wall_s=time.monotonic() - start_s)
    if outcome.failures:
        raise ExportError(outcome.failures)
    if outcome.exit_code:
        raise typer.Exit(outcome.exit_code)


@contextlib.contextmanager
def naming_alternatives(manuscript: Manuscript) -> Iterator[None]:
    """Adds to the error of a missing model the engines that can speak the book instead."""
    from narrator.pipeline import book_engines
    from narrator.pipeline.alternatives import alternatives

    try:
        yield
    except EngineUnavailable as error:
        missing = book_engines.missing_models(manuscript.project)
        if not missing:
            raise
        lines = [
            "; ".join(missing),
            "what can speak this book here:",
            *alternatives(manuscript.spoken_by("")),
        ]
        raise EngineUnavailable("\n".join(lines)) from error


def stop_on_signals(cancel: threading.Event, joined: threading.Event | None = None) -> None:
    """Sets `cancel` at the first signal, so that finished takes are stored; the second stops at
    once.

    While `joined` is set, another process renders, and goes on. A window that closes sends SIGHUP
    twice, by its shell and by the system, which counts once; under `nohup` it is ignored.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        if cancel.is_set():
            if number != signal.SIGHUP:
                raise KeyboardInterrupt
            return
        cancel.set()
        if joined is not None and joined.is_set():
            return
        with contextlib.suppress(RuntimeError):  # the signal may have interrupted a print
            err.print("stopping: storing what is finished (again to stop at once)")

    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if name != signal.SIGHUP or signal.getsignal(name) != signal.SIG_IGN:
            signal.signal(name, stop)


# -- the outcome of a job of another process -------------------------------------------------------


def print_answer(answer: Answer, as_json: bool = False) -> None:
    """Prints the outcome of a job that the project's owner did. Raises Exit with its exit code."""
    if answer.goes_on:
        err.print(f"left; the render of process {answer.pid} goes on")
    elif answer.error:
        print_problems("error", answer.error.splitlines())
    elif as_json and answer.summary:
        out.print_json(data=answer.summary)
    elif answer.exit_code == EXIT_STOPPED and answer.pid and not answer.summary:
        out.print(f"withdrawn before it began; what process {answer.pid} does goes on")
    elif answer.exit_code == EXIT_STOPPED:
        out.print("stopped; run the same command to go on")
    else:
        _print_summary(answer.pid, answer.summary)
    if answer.exit_code:
        raise typer.Exit(answer.exit_code)


def _print_summary(pid: int, summary: Mapping[str, Any]) -> None:
    """Prints the summary of a render by another process."""
    if rendered := summary.get("rendered", 0):
        out.print(f"process {pid} rendered {pluralize(rendered, 'chunk')}, "
                  f"{format_clock(summary.get('speech_seconds', 0))} of speech")  # fmt: skip
    for label, key in (("given up", "given_up"), ("doubtful", "doubtful")):
        for row in summary.get(key, [])[:MAX_LISTED]:
            faults = "; ".join(row["faults"])
            err.print(f"{label}: {row['chunk']} {row['source']}: {shorten(row['text'])} ({faults})")
    for name in summary.get("files", []):
        out.print(str(display_path(Path(name))))
    for message in summary.get("losses", []):
        out.print(message)
    if chapter_numbers := summary.get("incomplete_chapters"):
        err.print(f"not assembled: chapters {', '.join(map(str, chapter_numbers))} lack takes")


# -- the outcome of a job of this process ----------------------------------------------------------


def _print_report(report: Report, wall_s: float) -> None:
    _print_speech(report.result)
    if report.finished:
        _print_chapters(report.finished)
    _print_damage(report.plan.store)
    print_lost_pins(report.plan)
    warn_about_unspoken_text(report.plan)
    steps = {step.key: step for step in report.plan.steps}
    for key, faults in report.result.flags.items():
        err.print(f"given up: {steps[key].id} {source_location(steps[key].chunk)}: "
                  f"{shorten(steps[key].chunk.text)} ({faults[-1]})")  # fmt: skip
    print_doubtful(report.plan, report.doubtful, err.print)
    if report.finished:
        _print_files(report.finished)
    for message in (*report.damage[:MAX_LISTED], *report.losses):
        out.print(message)
    _print_superseded_files(report)
    characters = report.accounting
    out.print(
        f"characters: {characters.source} in the source = {characters.spoken} spoken + "
        f"{characters.left_out} left out + {characters.given_up} given up + "
        f"{characters.not_rendered} not rendered"
    )
    _print_outcome(report, wall_s)


def _print_speech(result: RenderResult) -> None:
    if not result.rendered:
        return
    retries = f", retries: {result.retries}" if result.retries else ""
    out.print(f"rendered {pluralize(result.rendered, 'chunk')}, "
              f"{format_clock(result.seconds)} of speech in "
              f"{format_clock(result.wall)}: {result.seconds / result.wall:.1f} x real time"
              f"{retries}")  # fmt: skip
    if result.note:
        out.print(f"engine: {result.note}, busy {result.busy:.0%} of its time")


def _print_chapters(finished: Finished) -> None:
    """Prints length and loudness of each encoded chapter."""
    for chapter, sounds in finished.exported.chapters:
        for sound in sounds:
            state = "" if sound.fresh else "  unchanged"
            loudness = sound.loudness
            out.print(f"{chapter.number:4}  {format_clock(chapter.timeline.seconds):>8}  "
                      f"{sound.encoding.codec:4}  {loudness.integrated:6.1f} LUFS "
                      f"{loudness.true_peak:6.1f} dBTP  {chapter.title}{state}")  # fmt: skip


def _print_damage(store: Store) -> None:
    if store.damaged:
        out.print(f"{pluralize(len(store.damaged), 'take')} damaged on disk, rendered again")
    if store.index_mismatches:
        rows = pluralize(store.index_mismatches, "row")
        out.print(f"{rows} of the journal damaged, read from the takes again")


def _print_files(finished: Finished) -> None:
    for path in finished.files:
        out.print(f"{display_path(path)}  {format_bytes(path.stat().st_size)}")
    if finished.companions:
        kinds = ", ".join(sorted({path.suffix[1:] for path in finished.companions}))
        out.print(f"{pluralize(len(finished.companions), 'companion')} beside them: {kinds}")
    for remark in finished.remarks:
        out.print(remark)


def _print_superseded_files(report: Report) -> None:
    """Prints the files that a run moved out of the folder of finished files."""
    moved, finished = report.superseded, report.finished
    delivered = {*finished.files, *finished.companions} if finished else set()
    for old, new in moved[:MAX_LISTED]:
        if old in delivered:
            kind = "link" if new.is_symlink() else "altered file"
            out.print(
                f"{display_path(old)}  is made again: the {kind} was moved to {display_path(new)}"
            )
        else:
            out.print(f"{display_path(old)}  is delivered no more: moved to {display_path(new)}")
    if len(moved) > MAX_LISTED:
        out.print(f"and {len(moved) - MAX_LISTED} more files that are delivered no more: moved to "
                  "`superseded` as well")  # fmt: skip


def _print_outcome(report: Report, wall_s: float) -> None:
    """Prints the last lines: done, stopped, or not assembled and why."""
    if report.result.cancelled:
        out.print("stopped; run the same command to go on")
    elif report.incomplete:
        err.print(f"not assembled: {_why_incomplete(report)}")
        if report.earlier:
            earlier = pluralize(len(report.earlier), "finished file")
            err.print(f"{earlier} of an earlier run stay: `narrator status` names them")
    else:
        log = f"; log: {display_path(report.log)}" if report.log else ""
        out.print(f"done in {format_clock(wall_s)}{log}")
    if report.log_fault:
        err.print(f"the log lacks lines: {report.log_fault}")


def _why_incomplete(report: Report) -> str:
    from narrator.pipeline import run

    reason = f"{run.describe_chapters_lacking(report.incomplete)} takes"
    if not report.missing_count:
        return f"{reason} of other speakers"
    if report.plan.takes.strict and report.doubtful:
        return f"{reason}, or `checks: {{strict: true}}` holds takes back"
    return reason
