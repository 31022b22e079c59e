"""The spine: book.yaml -> manifest -> script -> chunks -> plan -> render -> assemble -> export.

Every command is a prefix of it: `check` stops after the text, `plan` before the engine starts,
`render` goes to the end, `export` begins with a full store. It opens files and calls the rooms in
order; what each of them decides is theirs. Prints nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from pathlib import Path
from threading import Event
from types import MappingProxyType
from typing import Any

from narrator import files
from narrator.cast import references
from narrator.delivery import finish, layout, music, products
from narrator.engines import Engine, distinct, is_known, make_room
from narrator.errors import (
    DamagedTake,
    ExportError,
    Problem,
    UsageError,
)
from narrator.pipeline.accounting import Accounting, account
from narrator.pipeline.bookengines import engines_in_words, identity_path
from narrator.pipeline.bookplan import (
    BookPlan,
    Selection,
    ledger_path,
    plan,
)
from narrator.pipeline.estimate import kept_as, speed_path, speeds_of
from narrator.pipeline.losses import losses_of
from narrator.pipeline.manuscript import Manuscript
from narrator.pipeline.session import Logged, Observer, locked, log, logging_to
from narrator.project.project import Project
from narrator.speech import render, requests
from narrator.speech.hearing import choosing
from narrator.speech.plan import Step, ledger_of


@dataclass(slots=True)
class Report:
    """What a run did and what is there now."""

    plan: BookPlan
    result: render.Result
    finished: finish.Finished | None = None
    incomplete: tuple[int, ...] = ()
    """Chapters that have no files, because takes of them are missing."""
    lacking: int = 0
    """Steps that were asked for and have no take that may be delivered."""
    doubtful: tuple[Step, ...] = ()
    """Steps whose takes failed their checks and are delivered, or hold a chapter back where the
    manifest is strict."""
    log: Path | None = None
    log_fault: str = ""
    """Why lines of the log are missing."""
    damage: tuple[str, ...] = ()
    """Small files and encoded chapters that were altered on disk, and what was done."""
    superseded: tuple[tuple[Path, Path], ...] = ()
    """Files that were delivered and are no more, and where they lie now."""
    earlier: tuple[Path, ...] = ()
    """Files of an earlier run, where this one had nothing to deliver."""
    stages: dict[str, float] = field(default_factory=dict)
    """Wall time in seconds: plan, render, finish."""
    accounting: Accounting = field(default_factory=Accounting)
    losses: tuple[str, ...] = ()
    """What is lost of what was heard in takes and of their word times, and what to do."""

    @property
    def complete(self) -> bool:
        """Whether all that was asked for is there."""
        spoken = not self.lacking and not self.result.flags and self.accounting.balanced
        return not self.result.cancelled and spoken and not self.doubtful

    @property
    def failures(self) -> list[Problem]:
        """Why files are missing."""
        return self.finished.failures if self.finished else []

    @property
    def exit_code(self) -> int:
        if self.result.cancelled:
            return 130
        return ExportError.exit_code if self.failures else 0 if self.complete else 1


def run(
    manuscript: Manuscript,
    engine: Engine,
    selection: Selection,
    *,
    observer: Observer,
    cancel: Event,
    speak: bool = True,
    engines: Mapping[str, Engine] = MappingProxyType({}),
    aside: render.Aside | None = None,
) -> Report:
    """Plan, render (unless `speak` is off), assemble, export.

    `engines` are those of speakers that have their own; the others speak with `engine`. `aside` is
    spoken beside the render; where takes were pinned meanwhile, what continues them is rendered
    before files are made. Raises Locked, EngineUnavailable, StorageError, UsageError. Whatever
    happens, takes that passed their checks are kept, and no file for listeners is half written.
    """
    project = manuscript.project
    with locked(project), logging_to(project) as logbook:
        began = time.monotonic()
        book = plan(manuscript, engine, selection, engines=engines, writing=True)
        planned = time.monotonic()
        _prepare(project, observer)
        if speak:
            book = _cast(book, observer, cancel)
        observer.planned(book)
        if not speak:
            _refuse_unspoken(book)
        else:
            _remember(book)
        report = Report(book, render.Result(), log=logbook.path)
        report.result.cancelled = cancel.is_set()
        while True:
            store = report.plan.store
            damaged, misled = len(store.damaged), store.misled
            try:
                if speak and not report.result.cancelled:
                    _render(report.plan, report.result, observer, cancel, aside)
                    if _pinned_meanwhile(report):
                        report.plan = _planned_anew(report.plan, observer)
                        continue
                _finish(report, observer, cancel)
                break
            except DamagedTake as error:  # it was whole when the plan was made
                log.warning("%s", error)
                if store.misled == misled and (not speak or len(store.damaged) == damaged):
                    raise
                report.plan = plan(manuscript, engine, selection, engines=engines, store=store)
        result = report.result
        report.stages = {
            "plan": round(planned - began, 2),
            "render": round(result.wall, 2),
            "finish": round(time.monotonic() - planned - result.wall, 2),
        }
        report.damage = tuple(logbook.damage)
        report.losses = tuple(losses_of(report.plan).messages())
        for message in report.losses:
            log.warning("%s", message)
        _keep(report)
        report.log_fault = logbook.fault
        return report


def _prepare(project: Project, observer: Observer) -> None:
    """What killed runs left half written goes. Music is measured: a file that is no sound must not
    be found after hours of speech. Raises ManifestError, StorageError."""
    texts = {(project.root / one.file).parent for one in project.chapters if one.file}
    timelines = (project.build / "timeline").glob("*")
    for folder in (project.root, *texts, project.build, *timelines):
        files.sweep(folder)
    references.sweep(project)
    if project.manifest.music:
        observer.starting("measuring the music")
        music.tunes(project, partial(observer.exporting, "measure music"))


def _remember(book: BookPlan) -> None:
    """What the next plan is compared with. Raises StorageError."""
    if all(map(is_known, distinct(book.engines))):
        files.save_json(ledger_path(book.project, book.engines), ledger_of(book.steps))
        memories = [memory for one in distinct(book.engines) if (memory := one.identity_record())]
        if memories:
            whole = memories[0] if len(memories) == 1 else memories
            files.save_json(identity_path(book.project), whole)


def _keep(report: Report) -> None:
    """The run as report.json and in the log. Raises StorageError."""
    facts = summary(report)
    said = json.dumps(facts, ensure_ascii=False)
    files.write(products.own(report.plan.project, "report"), said.encode(errors="surrogatepass"))
    for row in facts["doubtful"]:
        log.warning("doubtful %s %s: %s", row["chunk"], row["source"], "; ".join(row["faults"]))
    log.info("end: %s", said)


def _cast(book: BookPlan, observer: Observer, cancel: Event) -> BookPlan:
    """The plan after every voice that is needed and has no reference yet was cast."""
    speakers = dict.fromkeys(step.chunk.speaker for step in book.todo)
    contents = book.voices.contents
    uncast = [name for name in speakers if name in contents and contents[name] is None]
    if not uncast or cancel.is_set():
        return book
    for engine in distinct({name: book.engines[name] for name in uncast}):
        own = [name for name in uncast if book.engines[name] is engine]
        make_room(engine, distinct(book.engines))
        references.cast_missing(book.voices, engine, own, tell=observer.starting, cancel=cancel)
    return plan(book.manuscript, book.engine, book.selection, engines=book.engines, writing=True)


def _finish(report: Report, observer: Observer, cancel: Event) -> None:
    """Files of every chosen chapter whose takes are all there; of the book, if all are."""
    book = report.plan
    chosen, missing, shelf = book.selection.chapters, book.missing, products.shelf_of(book)
    every, lacking = layout.spoken_chapters(book), {step.chapter for step in missing}
    wanted = {n for n in every if not chosen or n in chosen}
    report.accounting = account(book, missing)
    report.incomplete = tuple(sorted(wanted & lacking))
    report.lacking = sum(step in book.selection for step in missing)
    # what listeners have already is delivered with the rest, as it is now; a book that is complete
    # is delivered whole, whatever part of it was asked for
    had = products.delivered(book.project, shelf) & every if missing else every
    delivered = (wanted | had) - lacking
    asked = {step.id for step in missing if step in book.selection}
    report.doubtful = tuple(
        step for step in book.doubtful if step.chapter in delivered or step.id in asked
    )
    if report.result.cancelled:
        return
    report.finished = finish.finish(book, sorted(delivered), shelf, observer, cancel)
    if report.finished:
        products.settle(book, report.finished, shelf)
    elif not cancel.is_set():
        report.earlier = tuple(book.folders.sounds())
    report.superseded += tuple(shelf.moved)
    report.result.cancelled = cancel.is_set()


def _pinned_meanwhile(report: Report) -> bool:
    """Whether pins came or went while their book was rendered. Raises StorageError."""
    return not report.result.cancelled and report.plan.is_pinned_otherwise


def _planned_anew(book: BookPlan, observer: Observer) -> BookPlan:
    """With the pins that there are now. Raises StorageError."""
    made = plan(
        book.manuscript, book.engine, book.selection, engines=book.engines, store=book.store
    )
    _remember(made)
    observer.planned(made)
    return made


def _render(
    book: BookPlan,
    result: render.Result,
    observer: Observer,
    cancel: Event,
    aside: render.Aside | None,
) -> None:
    project, selection = book.project, book.selection
    steps = [step for step in book.steps if step in selection]
    checks = project.manifest.checks
    used = distinct(book.engines)
    identities = "; ".join(str(engine.identity()) for engine in used)
    log.info("engine %s; %d steps, %d to render", identities, len(steps), len(book.todo))
    if len(used) > 1:
        log.info("speakers by engine: %s", engines_in_words(book.engines))
    render.render(
        steps,
        book.engines,
        book.takes,
        result,
        # read when it is first wanted, and kept for the run
        reference=cache(partial(book.voices.reference, tell=observer.starting)),
        rules=requests.Rules(checks.tries, checks.loudness),
        forced=lambda step: selection.force and step.key not in result.renewed,
        observer=Logged(observer),
        cancel=cancel,
        ear=choosing.ear_of(checks, project.root),
        aside=aside,
    )
    speeds, kept = speeds_of(project), {one.name: kept_as(one) for one in used}
    for name, work in result.work.items():
        if work.rendered >= 5:  # fewer takes say nothing of the machine
            # against what was expected, so that estimates of the same measure come out right
            speeds[kept[name]] = round(work.expected / work.wall, 3)
            files.save_json(speed_path(project), speeds)


def _refuse_unspoken(book: BookPlan) -> None:
    """Raises UsageError where chosen chapters lack takes: an export does not make them, and what
    listeners have must not give way to less."""
    chosen = book.selection.chapters
    lacking = {
        step.chapter
        for step in book.steps
        if (not chosen or step.chapter in chosen) and book.takes.current(step) is None
    }
    if lacking:
        raise UsageError(
            f"{chapters_lack(lacking)} takes: `narrator render{book.folders.option}` makes them; "
            "`--chapter` exports others"
        )


def chapters_lack(chapters: Collection[int]) -> str:
    """ "chapter 2 lacks" or "chapters 2, 4 lack"; counted from 0."""
    names = ", ".join(str(number + 1) for number in sorted(chapters))
    return f"chapter {names} lacks" if len(chapters) == 1 else f"chapters {names} lack"


def summary(report: Report) -> dict[str, Any]:
    """A run as JSON: counts, measured loudness, files, and what is missing."""
    result, steps = report.result, {step.key: step for step in report.plan.steps}
    return {
        "title": report.plan.project.manifest.title,
        "engine": report.plan.engine.name,
        "engines": {name: one.name for name, one in report.plan.engines.items()},
        "chunks": len(steps),
        "rendered": result.rendered,
        "speech_seconds": round(result.seconds, 1),
        "wall_seconds": round(result.wall, 1),
        "real_time_factor": round(result.seconds / result.wall, 1) if result.rendered else None,
        "slots": result.slots,
        "engine_busy": round(result.busy, 3),
        "engine_note": result.note,
        "retries": result.retries,
        "lost_pins": [
            {"chunk": pin.chunk, "speaker": pin.speaker, "text": pin.text}
            for pin in report.plan.lost
        ],
        "given_up": [_fault_row(steps[key], faults) for key, faults in result.flags.items()],
        "doubtful": [
            _fault_row(step, record.faults)
            for step in report.doubtful
            if (record := report.plan.store.find(step.key))
        ],
        "incomplete_chapters": [n + 1 for n in report.incomplete],
        "cancelled": result.cancelled,
        "damaged_takes": list(report.plan.store.damaged),
        "damaged_rows": report.plan.store.misled,
        "losses": list(report.losses),
        "characters": asdict(report.accounting),
        "stages": report.stages,
        "earlier_files": [str(path) for path in report.earlier],
        "damage": list(report.damage),
        "superseded": [{"from": str(old), "to": str(new)} for old, new in report.superseded],
        **(report.finished.to_json() if report.finished else {"files": [], "chapters": []}),
    }


def _fault_row(step: Step, faults: Sequence[str]) -> dict[str, Any]:
    line = step.chunk.pieces[0].line
    return {
        "chunk": step.id,
        "source": f"{line.path.name}:{line.line}",
        "text": step.chunk.text,
        "faults": list(faults),
    }
