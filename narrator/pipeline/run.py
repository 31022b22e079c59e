"""The spine: book.yaml -> manifest -> script -> chunks -> plan -> render -> assemble -> export.

Every command runs a prefix of it: `check` stops after the text, `plan` before the engine starts,
`render` runs to the end, and `export` starts from a full store. This module opens files and calls
the rooms in order; each room makes its own decisions. Prints nothing.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from pathlib import Path
from threading import Event
from types import MappingProxyType
from typing import Any, Protocol

from narrator import files
from narrator.cast import references
from narrator.delivery import finish, layout, music, products
from narrator.engines import Engine, has_known_identity, make_room, unique_engines
from narrator.errors import (
    DamagedTake,
    ExportError,
    Problem,
    UsageError,
)
from narrator.pipeline.accounting import Accounting, account
from narrator.pipeline.book_engines import describe_engines, identity_path
from narrator.pipeline.book_plan import (
    BookPlan,
    Selection,
    ledger_path,
    plan,
)
from narrator.pipeline.estimate import (
    speed_name,
    speed_path,
    speeds_of,
    tries_per_chunk,
)
from narrator.pipeline.losses import losses_of
from narrator.pipeline.manuscript import Manuscript
from narrator.pipeline.session import locked, log, logging_to
from narrator.progress import Exporting, Planned, ProgressSink, Starting, message_callback
from narrator.project.project import Project
from narrator.speech import render, requests
from narrator.speech.hearing import choosing
from narrator.speech.plan import Step
from narrator.speech.reasons import make_ledger


@dataclass(slots=True)
class Report:
    """The outcome of a run and the state of the book after it."""

    plan: BookPlan
    result: render.RenderResult
    finished: finish.Finished | None = None
    incomplete: tuple[int, ...] = ()
    """Chapters without files, because some of their takes are missing."""
    missing_count: int = 0
    """Number of requested steps without a take that may be delivered."""
    doubtful: tuple[Step, ...] = ()
    """Steps whose takes failed their checks. They are delivered anyway, or hold back their chapter
    if the manifest is strict."""
    log: Path | None = None
    log_fault: str = ""
    """The reason why lines of the log are missing."""
    damage: tuple[str, ...] = ()
    """A message for each small file or encoded chapter altered on disk, with the remedy."""
    superseded: tuple[tuple[Path, Path], ...] = ()
    """Old and new path of each file that was delivered before and has been moved aside."""
    earlier: tuple[Path, ...] = ()
    """Files of an earlier run, if this one had nothing to deliver."""
    stages: dict[str, float] = field(default_factory=dict)
    """Wall time in seconds: plan, render, finish."""
    accounting: Accounting = field(default_factory=Accounting)
    losses: tuple[str, ...] = ()
    """A message for each loss of recognised text or word times of takes, with the remedy."""

    @property
    def complete(self) -> bool:
        """True if everything that was requested has been delivered."""
        has_losses = self.missing_count or self.result.flags or self.doubtful
        return not (self.result.cancelled or has_losses) and self.accounting.balanced

    @property
    def failures(self) -> list[Problem]:
        """The reasons why files are missing."""
        return self.finished.failures if self.finished else []

    @property
    def exit_code(self) -> int:
        if self.result.cancelled:
            return 130
        return ExportError.exit_code if self.failures else 0 if self.complete else 1


_MIN_MEASURED_TAKES = 5
"""Number of takes from which their speed is a measure of the machine."""


class ConcurrentSource(render.RequestSource, Protocol):
    """A source of foreign requests that knows the plan of the render."""

    def planned(self, book: BookPlan) -> None: ...


def run(
    manuscript: Manuscript,
    engine: Engine,
    selection: Selection,
    *,
    sink: ProgressSink,
    cancel: Event,
    speak: bool = True,
    engines: Mapping[str, Engine] = MappingProxyType({}),
    request_source: ConcurrentSource | None = None,
) -> Report:
    """Plan a book, render it (unless `speak` is false), assemble and export it.

    `engines` holds the engines of speakers that have their own; all others speak with `engine`.
    `request_source` supplies requests that are spoken between those of the render. If takes are
    pinned meanwhile, the chunks that continue them are rendered before any files are made. Raises
    Locked, EngineUnavailable, StorageError, UsageError. Whatever happens, takes that passed their
    checks are kept, and no file for listeners is left half written.
    """
    project = manuscript.project
    with locked(project), logging_to(project) as logbook:
        start_time = time.monotonic()
        book = plan(manuscript, engine, selection, engines=engines, writing=True)
        plan_time = time.monotonic()
        _prepare(project, sink)
        if speak:
            book = _cast_missing_voices(book, sink, cancel)
        sink(_planned_event(book))
        if request_source:
            request_source.planned(book)
        if not speak:
            _require_takes(book)
        else:
            _save_plan_record(book)
        report = Report(book, render.RenderResult(), log=logbook.path)
        report.result.cancelled = cancel.is_set()
        while not _render_and_deliver(report, sink, cancel, request_source, speak=speak):
            pass  # once more, with the report's new plan
        render_result = report.result
        report.stages = {
            "plan": round(plan_time - start_time, 2),
            "render": round(render_result.wall, 2),
            "finish": round(time.monotonic() - plan_time - render_result.wall, 2),
        }
        report.damage = tuple(logbook.damage)
        report.losses = tuple(losses_of(report.plan).messages())
        for message in report.losses:
            log.warning("%s", message)
        _save_report(report)
        report.log_fault = logbook.fault
        return report


def _prepare(project: Project, sink: ProgressSink) -> None:
    """Remove the partial files of killed runs and measure the music.

    Music is measured first, so that a file without sound is not discovered after hours of speech.
    Raises ManifestError, StorageError.
    """
    text_folders = {
        (project.root / chapter.file).parent for chapter in project.chapters if chapter.file
    }
    timeline_folders = (project.build / "timeline").glob("*")
    for folder in (project.root, *text_folders, project.build, *timeline_folders):
        files.sweep(folder)
    references.remove_temporary_files(project)
    if project.manifest.music:
        sink(Starting("measuring the music"))
        music.measure_tunes(
            project, lambda done, total: sink(Exporting("measure music", done, total))
        )


def _render_and_deliver(
    report: Report,
    sink: ProgressSink,
    cancel: Event,
    request_source: ConcurrentSource | None,
    *,
    speak: bool,
) -> bool:
    """Render the report's plan (unless `speak` is false) and deliver its files.

    Returns false, with a new plan in the report, if pins were changed meanwhile or a take turned
    out to be damaged. Raises DamagedTake if a new plan would not render that take.
    """
    store = report.plan.store
    damaged_before, mismatches_before = len(store.damaged), store.index_mismatches
    try:
        if speak and not report.result.cancelled:
            _render(report.plan, report.result, sink, cancel, request_source)
            if not report.result.cancelled and report.plan.is_pinned_otherwise:
                report.plan = _plan_again(report.plan)
                _save_plan_record(report.plan)
                sink(_planned_event(report.plan))
                if request_source:
                    request_source.planned(report.plan)
                return False
        _deliver(report, sink, cancel)
        return True
    except DamagedTake as error:  # it was intact when the plan was made
        log.warning("%s", error)
        is_dropped = speak and len(store.damaged) > damaged_before
        if not is_dropped and store.index_mismatches == mismatches_before:
            raise
        report.plan = _plan_again(report.plan)
        return False


def _save_plan_record(book: BookPlan) -> None:
    """Save the steps and engine identities that the next plan is compared with. Raises
    StorageError."""
    if all(map(has_known_identity, unique_engines(book.engines))):
        entries = [asdict(entry) for entry in make_ledger(book.steps)]
        files.save_json(ledger_path(book.project, book.engines), entries)
        identity_records = [
            identity_record
            for engine in unique_engines(book.engines)
            if (identity_record := engine.identity_record())
        ]
        if identity_records:
            saved_identity = identity_records[0] if len(identity_records) == 1 else identity_records
            files.save_json(identity_path(book.project), saved_identity)


def _save_report(report: Report) -> None:
    """Write the report of the run to report.json and the log. Raises StorageError."""
    report_summary = summary(report)
    report_json = json.dumps(report_summary, ensure_ascii=False)
    files.write(
        products.state_file(report.plan.project, "report"),
        report_json.encode(errors="surrogatepass"),
    )
    for row in report_summary["doubtful"]:
        log.warning("doubtful %s %s: %s", row["chunk"], row["source"], "; ".join(row["faults"]))
    log.info("end: %s", report_json)


def _planned_event(book: BookPlan) -> Planned:
    """The progress of a render that is about to begin."""
    total = dict(Counter(step.chapter for step in book.todo))
    remaining_seconds = sum(step.expected for step in book.todo)
    return Planned(tuple(chapter.title for chapter in book.chapters), total, remaining_seconds)


def _cast_missing_voices(book: BookPlan, sink: ProgressSink, cancel: Event) -> BookPlan:
    """Cast every required voice without a reference, and return the new plan."""
    speakers = dict.fromkeys(step.chunk.speaker for step in book.todo)
    reference_contents = book.voices.contents
    uncast = [
        name for name in speakers if name in reference_contents and reference_contents[name] is None
    ]
    if not uncast or cancel.is_set():
        return book
    for engine in unique_engines({name: book.engines[name] for name in uncast}):
        engine_speakers = [name for name in uncast if book.engines[name] is engine]
        make_room(engine, unique_engines(book.engines))
        references.cast_missing(
            book.voices,
            engine,
            engine_speakers,
            tell=message_callback(sink),
            cancel=cancel,
        )
    return plan(book.manuscript, book.engine, book.selection, engines=book.engines, writing=True)


def _deliver(report: Report, sink: ProgressSink, cancel: Event) -> None:
    """Deliver the files of every chosen chapter that has all its takes, and of the book if no takes
    are missing."""
    book = report.plan
    output_manifest = products.open_output_manifest(book.folders)
    missing_steps = book.missing
    spoken_chapters = layout.spoken_chapters(book)
    incomplete_chapters = {step.chapter for step in missing_steps}
    requested_chapters = spoken_chapters & (book.selection.chapters or spoken_chapters)
    report.accounting = account(book, missing_steps)
    report.incomplete = tuple(sorted(requested_chapters & incomplete_chapters))
    report.missing_count = sum(step in book.selection for step in missing_steps)
    # chapters that listeners already have are delivered again with their current takes; a complete
    # book is delivered in full, whichever part of it was requested
    delivered_before = (
        products.delivered_chapters(book.project, output_manifest) & spoken_chapters
        if missing_steps
        else spoken_chapters
    )
    deliverable_chapters = (requested_chapters | delivered_before) - incomplete_chapters
    requested_missing_ids = {step.id for step in missing_steps if step in book.selection}
    report.doubtful = tuple(
        step
        for step in book.doubtful
        if step.chapter in deliverable_chapters or step.id in requested_missing_ids
    )
    if report.result.cancelled:
        return
    report.finished = finish.finish(
        book,
        sorted(deliverable_chapters),
        output_manifest,
        lambda *progress: sink(Exporting(*progress)),
        cancel,
    )
    if report.finished:
        products.settle(book, report.finished, output_manifest)
    elif not cancel.is_set():
        report.earlier = tuple(book.folders.sounds())
    report.superseded += tuple(output_manifest.moved)
    report.result.cancelled = cancel.is_set()


def _plan_again(book: BookPlan) -> BookPlan:
    """The plan with the present takes and pins. Raises StorageError."""
    return plan(
        book.manuscript, book.engine, book.selection, engines=book.engines, store=book.store
    )


def _render(
    book: BookPlan,
    render_result: render.RenderResult,
    sink: ProgressSink,
    cancel: Event,
    request_source: render.RequestSource | None,
) -> None:
    """Render the selected steps of a plan into its store, and save the speed of the engines."""
    project, selection = book.project, book.selection
    steps = [step for step in book.steps if step in selection]
    checks = project.manifest.checks
    engines_in_use = unique_engines(book.engines)
    identities = "; ".join(str(engine.identity()) for engine in engines_in_use)
    log.info("engine %s; %d steps, %d to render", identities, len(steps), len(book.todo))
    if len(engines_in_use) > 1:
        log.info("speakers by engine: %s", describe_engines(book.engines))
    settings = render.RenderSettings(
        # read on first use and cached for the run
        reference=cache(partial(book.voices.reference, tell=message_callback(sink))),
        rules=requests.TakeRules(checks.tries, checks.loudness, checks.best_of),
        is_forced=lambda step: selection.options.force and step.key not in render_result.renewed,
        sink=sink,
        cancel=cancel,
        listener=choosing.make_render_listener(checks, project.root),
        request_source=request_source,
    )
    render.render(steps, book.engines, book.takes, render_result, settings)
    speeds = speeds_of(project)
    speed_names = {engine.name: speed_name(engine) for engine in engines_in_use}
    for name, work in render_result.work.items():
        if work.rendered >= _MIN_MEASURED_TAKES:
            # expected rather than actual seconds, since estimates are in expected seconds too
            asked_seconds = work.expected * tries_per_chunk(book, name)
            speeds[speed_names[name]] = round(asked_seconds / work.wall, 3)
            files.save_json(speed_path(project), speeds)


def _require_takes(book: BookPlan) -> None:
    """Raises UsageError if chosen chapters lack takes.

    An export does not render, and files that listeners already have must not be replaced by fewer.
    """
    selected_chapters = book.selection.chapters
    incomplete_chapters = {
        step.chapter
        for step in book.steps
        if (not selected_chapters or step.chapter in selected_chapters)
        and book.takes.current(step) is None
    }
    if incomplete_chapters:
        raise UsageError(
            f"{describe_chapters_lacking(incomplete_chapters)} takes: "
            f"`narrator render{book.folders.option}` makes them; `--chapter` exports others"
            f"{book.folders.hint_at_others()}"
        )


def describe_chapters_lacking(chapters: Collection[int]) -> str:
    """Says which chapters lack something: "chapter 2 lacks" or "chapters 2, 4 lack".

    The numbers in `chapters` are counted from 0.
    """
    names = ", ".join(str(number + 1) for number in sorted(chapters))
    return f"chapter {names} lacks" if len(chapters) == 1 else f"chapters {names} lack"


def summary(report: Report) -> dict[str, Any]:
    """The report of a run as JSON: counts, measured loudness, files and missing parts."""
    render_result, steps = report.result, {step.key: step for step in report.plan.steps}
    return {
        "title": report.plan.project.manifest.title,
        "engine": report.plan.engine.name,
        "engines": {name: engine.name for name, engine in report.plan.engines.items()},
        "chunks": len(steps),
        "rendered": render_result.rendered,
        "rendered_chunks": sum(step.key in render_result.renewed for step in report.plan.steps),
        "speech_seconds": round(render_result.seconds, 1),
        "wall_seconds": round(render_result.wall, 1),
        "real_time_factor": round(render_result.seconds / render_result.wall, 1)
        if render_result.rendered
        else None,
        "slots": render_result.slots,
        "engine_busy": round(render_result.busy, 3),
        "engine_note": render_result.note,
        "retries": render_result.retries,
        "lost_pins": [
            {"chunk": pin.chunk, "speaker": pin.speaker, "text": pin.text}
            for pin in report.plan.lost
        ],
        "given_up": [_fault_row(steps[key], faults) for key, faults in render_result.flags.items()],
        "doubtful": [
            _fault_row(step, record.faults)
            for step in report.doubtful
            if (record := report.plan.store.find(step.key))
        ],
        "incomplete_chapters": [n + 1 for n in report.incomplete],
        "cancelled": render_result.cancelled,
        "damaged_takes": list(report.plan.store.damaged),
        "damaged_rows": report.plan.store.index_mismatches,
        "losses": list(report.losses),
        "characters": asdict(report.accounting),
        "stages": report.stages,
        "earlier_files": [str(path) for path in report.earlier],
        "damage": list(report.damage),
        "superseded": [{"from": str(old), "to": str(new)} for old, new in report.superseded],
        **(report.finished.to_json() if report.finished else {"files": [], "chapters": []}),
    }


def _fault_row(step: Step, faults: Sequence[str]) -> dict[str, Any]:
    source_line = step.chunk.pieces[0].line
    return {
        "chunk": step.id,
        "source": f"{source_line.path.name}:{source_line.line}",
        "text": step.chunk.text,
        "faults": list(faults),
    }
