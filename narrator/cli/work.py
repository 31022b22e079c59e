"""Commands that plan and render: plan, status, why, render, export, gc."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from rich.table import Table

from narrator.cli.progress import JsonProgress, LineProgress, LiveProgress
from narrator.cli.shared import (
    AsJson,
    Book,
    Chapters,
    Draft,
    Force,
    Speakers,
    app,
    counted,
    err,
    near,
    out,
    short,
    sized,
    source,
)
from narrator.errors import ExportError
from narrator.sound.clock import clock

DOUBTFUL_LINES = 20
"""Doubtful chunks that are said one by one."""


@app.command()
def plan(
    book: Book = Path("book.yaml"),
    draft: Draft = False,
    chapter: Chapters = None,
    speaker: Speakers = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Show what a render would do, and why; nothing is rendered."""
    _print_plan(plan_of(book, draft, chapter, speaker, force), as_json)


def plan_of(
    book: Path,
    draft: bool,
    chapter: Sequence[str] | None = None,
    speaker: Sequence[str] | None = None,
    force: bool = False,
) -> Any:
    from narrator.pipeline import bookplan
    from narrator.pipeline.manuscript import read

    manuscript = read(book)
    selection = bookplan.select(manuscript, chapter or (), speaker or (), force)
    engine = bookplan.engine_for(manuscript.project, draft=draft)
    return bookplan.plan(manuscript, engine, selection)


def _print_plan(book: Any, as_json: bool) -> None:
    from narrator.pipeline import bookplan, estimate
    from narrator.speech.plan import EXPLAINED

    costs, reasons = estimate.estimate(book), bookplan.reasons(book)
    rows = _chapter_rows(book)
    voices = _speaker_rows(book)
    if as_json:
        out.print_json(
            data={
                "engine": book.engine.name,
                "chapters": rows,
                "speakers": voices,
                "reasons": {str(reason): count for reason, count in reasons.items()},
                "todo": [
                    {"id": s.id, "key": s.key, "why": str(book.why[s.key].reason)}
                    for s in book.todo
                ],
                "seconds_to_render": round(costs.seconds, 1),
                "expected_wall_seconds": None if costs.wall is None else round(costs.wall, 1),
                "disk_bytes": costs.disk,
                "finished_bytes": costs.files,
                "disk_free_bytes": costs.free,
            }
        )
        return
    table = Table("", "chapter", "chunks", "cached", "audio", box=None)
    for row in rows:
        table.add_row(str(row["number"]), row["title"], str(row["chunks"]),
                      str(row["cached"]), clock(row["seconds"]))  # fmt: skip
    out.print(table)
    cast = Table("speaker", "chunks", "audio", box=None)
    for row in voices:
        cast.add_row(row["speaker"], str(row["chunks"]), clock(row["seconds"]))
    out.print(cast)
    for reason, number in reasons.items():
        out.print(f"{number:6} {reason}: {EXPLAINED[reason]}")
    changed = [s for s in book.todo if book.why[s.key].changes]
    for step in changed[:20]:
        changes = "; ".join(book.why[step.key].changes)
        out.print(f"       {step.id} {source(step.chunk)}: {changes}")
    if len(changed) > 20:
        out.print(f"       and {len(changed) - 20} more; `narrator why CHUNK` shows each")
    _print_lost(book)
    wall = "not measured yet" if costs.wall is None else f"about {clock(costs.wall)}"
    out.print(f"to render: {clock(costs.seconds)} of speech; time: {wall}; "
              f"disk: {sized(costs.disk)} of {sized(costs.free)} free; "
              f"finished files: about {sized(costs.files)}")  # fmt: skip
    if cost := bookplan.stereo_cost(book.manuscript, book.engine.sample_rate):
        err.print(f"warning: {cost}")


def _chapter_rows(book: Any) -> list[dict[str, Any]]:
    rows = []
    chosen = [step for step in book.steps if step in book.selection]
    for number, group in groupby(chosen, key=lambda step: step.chapter):
        steps, chapter = list(group), book.manuscript.chapters[number]
        if steps:
            rows.append(
                {
                    "number": number + 1,
                    "title": chapter.title,
                    "chunks": len(steps),
                    "cached": sum(not book.why[s.key].render for s in steps),
                    "seconds": round(sum(s.expected for s in steps), 1),
                }
            )
    return rows


def _speaker_rows(book: Any) -> list[dict[str, Any]]:
    rows = []
    for name in book.manuscript.cast:
        steps = [s for s in book.steps if s.chunk.speaker == name and s in book.selection]
        seconds = round(sum(s.expected for s in steps), 1)
        rows.append({"speaker": name, "chunks": len(steps), "seconds": seconds})
    return rows


@app.command()
def status(book: Book = Path("book.yaml"), draft: Draft = False, as_json: AsJson = False) -> None:
    """Show how far a project is: takes, chunks given up or doubtful, finished files."""
    from narrator.delivery import products

    planned = plan_of(book, draft)
    rows = _chapter_rows(planned)
    flags = [s for s in planned.steps if planned.why[s.key].render and planned.store.flag(s.key)]
    doubtful = planned.doubtful
    files = products.listed(planned)
    if as_json:
        out.print_json(
            data={
                "engine": planned.engine.name,
                "chapters": rows,
                "given_up": [s.id for s in flags],
                "doubtful": [s.id for s in doubtful],
                "files": [str(path) for path, note in files if not note],
                "other_files": [str(path) for path, note in files if note],
            }
        )
        return
    strict = planned.takes.strict
    held = {step.chapter + 1 for step in doubtful} if strict else set()
    for row in rows:
        state = "done" if row["cached"] == row["chunks"] else f"{row['cached']}/{row['chunks']}"
        state = "held back" if row["number"] in held else state
        out.print(f"{row['number']:4}  {state:>9}  {row['title']}")
    done, chunks = sum(r["cached"] for r in rows), sum(r["chunks"] for r in rows)
    out.print(f"{done} of {chunks} chunks ({planned.engine.name})")
    for step in flags:
        faults = "; ".join(planned.store.flag(step.key).faults)
        out.print(f"given up: {step.id} {source(step.chunk)}: {faults}")
    if flags:
        out.print(f"`narrator takes {flags[0].id}` shows what was tried; `pin` and `retake` choose")
    _print_doubtful(planned, doubtful, out.print)
    _print_lost(planned)
    for path, note in files:
        said = f"  {note}" if note else ""
        out.print(f"{near(path)}  {sized(path.stat().st_size)}{said}")


@app.command()
def why(
    chunk: Annotated[
        str, typer.Argument(help="A chunk, as messages and the report name it: 3.12.")
    ],
    book: Book = Path("book.yaml"),
    draft: Draft = False,
    as_json: AsJson = False,
) -> None:
    """Say why a chunk will or will not be rendered, and what went into it."""
    from narrator.pipeline import bookplan

    planned = plan_of(book, draft)
    step = bookplan.find_step(planned, chunk)
    reason, record = planned.why[step.key], planned.store.find(step.key)
    if as_json:
        out.print_json(
            data={
                "id": step.id,
                "key": step.key,
                "reason": str(reason.reason),
                "changes": list(reason.changes),
                "faults": list(record.faults) if record else [],
                "recipe": dict(step.recipe),
                "attempt": record.attempt if record else None,
            }
        )
        return
    out.print(f"{step.id}  {source(step.chunk)}  {step.chunk.speaker}")
    out.print(f"text:   {step.chunk.text}")
    out.print(f"spoken: {step.text}")
    out.print(str(reason))
    if record:
        out.print(f"take: {record.seconds:.1f} s, {record.level:.1f} dB, try {record.attempt + 1}")
    out.print(f"key: {step.key}" + (f", continues {step.parent[:12]}" if step.parent else ""))


# -- render ----------------------------------------------------------------------------------------


@app.command()
def render(
    book: Book = Path("book.yaml"),
    draft: Draft = False,
    chapter: Chapters = None,
    speaker: Speakers = None,
    force: Force = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Plan only.")] = False,
    as_json: AsJson = False,
) -> None:
    """Render a book to its finished files; run it again to go on where it stopped."""
    if dry_run:
        _print_plan(plan_of(book, draft, chapter, speaker, force), as_json)
        return
    _run(book, draft, chapter, speaker, force, as_json, speak=True)


@app.command()
def export(book: Book = Path("book.yaml"), draft: Draft = False, chapter: Chapters = None,
           as_json: AsJson = False) -> None:  # fmt: skip
    """Assemble and encode what is rendered already; nothing is spoken."""
    _run(book, draft, chapter, None, False, as_json, speak=False)


def _stay_awake() -> None:
    """A Mac that is left alone must not fall asleep over a render; its lid may still be closed."""
    if sys.platform == "darwin":
        with contextlib.suppress(OSError):
            subprocess.Popen(["/usr/bin/caffeinate", "-i", "-w", str(os.getpid())])


def _run(
    book: Path,
    draft: bool,
    chapter: Sequence[str] | None,
    speaker: Sequence[str] | None,
    force: bool,
    as_json: bool,
    *,
    speak: bool,
) -> None:
    from narrator.pipeline import bookplan, run
    from narrator.pipeline.manuscript import read

    cancel = threading.Event()
    stop_on_signals(cancel)
    _stay_awake()
    began = time.monotonic()
    with (
        err.status("reading the manuscript")
        if err.is_terminal and not as_json
        else contextlib.nullcontext()
    ):
        manuscript = read(book)
        selection = bookplan.select(manuscript, chapter or (), speaker or (), force)
        engine = bookplan.engine_for(manuscript.project, draft=draft, tell=err.print)
    kind = JsonProgress if as_json else LiveProgress if err.is_terminal else LineProgress
    with kind(err) as progress:
        report = run.run(
            manuscript, engine, selection,
            observer=progress, cancel=cancel, speak=speak,
        )  # fmt: skip
    if as_json:
        out.print_json(data=run.summary(report))
    else:
        _print_report(report, time.monotonic() - began)
    if report.result.cancelled:
        raise typer.Exit(130)
    if report.finished and report.finished.failures:
        raise ExportError(report.finished.failures)
    if not report.complete:
        raise typer.Exit(1)


def stop_on_signals(cancel: threading.Event) -> None:
    """The first signal ends the run after what is in flight is stored, the second at once.

    A window that closes hangs up twice, by its shell and by the system, and means it once; under
    `nohup` it means nothing.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        if cancel.is_set():
            if number != signal.SIGHUP:
                raise KeyboardInterrupt
            return
        cancel.set()
        with contextlib.suppress(RuntimeError):  # it may have come in the middle of a line
            err.print("stopping: storing what is finished (again to stop at once)")

    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if name != signal.SIGHUP or signal.getsignal(name) != signal.SIG_IGN:
            signal.signal(name, stop)


def _print_lost(book: Any) -> None:
    for pin in book.lost:
        out.print(f"pinned, but its text has changed: {pin.chunk} {pin.speaker}: {short(pin.text)}")
    if book.lost:
        out.print(
            "`narrator unpin --lost` forgets these pins; `narrator takes CHUNK` shows new takes"
        )


def _print_doubtful(book: Any, steps: Sequence[Any], say: Callable[[str], None]) -> None:
    """What nobody should have to find by listening, and how it is mended or accepted."""
    if not steps:
        return
    for step in steps[:DOUBTFUL_LINES]:
        faults = book.store.find(step.key).faults
        say(f"doubtful: {step.id} {source(step.chunk)}: "
            f"{short(step.chunk.text)} ({'; '.join(faults)})")  # fmt: skip
    if len(steps) > DOUBTFUL_LINES:
        say(
            f"doubtful: {len(steps) - DOUBTFUL_LINES} more; `--json` and `narrator report` have all"
        )
    one, draft = steps[0].id, book.folders.option
    fate = "its chapter is held back" if book.takes.strict else "the least bad is used"
    mends = [f"`narrator takes {one}{draft} --out listen` to hear it"]
    if "seed" in book.engine.uses:
        mends.append(f"`narrator retake {one}{draft}` to speak it anew")
    mends.append(f"`narrator pin {one} 0{draft}` to accept it")
    say(f"{counted(len(steps), 'chunk')} of which no try passed its checks, so {fate}: "
        + ", ".join(mends))  # fmt: skip


def _print_superseded(moved: Sequence[tuple[Path, Path]], delivered: set[str]) -> None:
    """What a run moved out of the folder of finished files, once."""
    for old, new in moved[:_LISTED]:
        if str(old) in delivered:
            out.print(f"{near(old)}  is made anew: what lay there was moved to {near(new)}")
        else:
            out.print(f"{near(old)}  is delivered no more: moved to {near(new)}")
    if len(moved) > _LISTED:
        out.print(f"and {len(moved) - _LISTED} more files that are delivered no more: moved to "
                  "`superseded` as well")  # fmt: skip


_LISTED = 12


def _print_report(report: Any, wall: float) -> None:
    from narrator.pipeline import run

    facts = run.summary(report)
    result = report.result
    if result.rendered:
        retries = f", retries: {result.retries}" if result.retries else ""
        done = counted(result.rendered, "chunk")
        out.print(f"rendered {done}, {clock(result.seconds)} of speech "
                  f"in {clock(result.wall)}: {facts['real_time_factor']} x real time"
                  f"{retries}")  # fmt: skip
        if result.note:
            out.print(f"engine: {result.note}, busy {result.busy:.0%} of its time")
    for row in facts["chapters"]:
        state = "" if row["encoded"] else "  unchanged"
        out.print(f"{row['number']:4}  {clock(row['seconds']):>8}  {row['codec']:4}  "
                  f"{row['integrated_lufs']:6.1f} LUFS {row['true_peak_dbtp']:6.1f} dBTP  "
                  f"{row['title']}{state}")  # fmt: skip
    if facts["damaged_takes"]:
        out.print(f"{counted(len(facts['damaged_takes']), 'take')} damaged on disk, rendered again")
    if facts["damaged_rows"]:
        rows = counted(facts["damaged_rows"], "row")
        out.print(f"{rows} of the journal damaged, read from the takes again")
    _print_lost(report.plan)
    for item in facts["given_up"]:
        err.print(f"given up: {item['chunk']} {item['source']}: "
                  f"{short(item['text'])} ({item['faults'][-1]})")  # fmt: skip
    _print_doubtful(report.plan, report.doubtful, err.print)
    for path in facts["files"]:
        out.print(f"{near(Path(path))}  {sized(Path(path).stat().st_size)}")
    if found := facts.get("companions"):
        kinds = ", ".join(sorted({Path(path).suffix[1:] for path in found}))
        out.print(f"{counted(len(found), 'companion')} beside them: {kinds}")
    for remark in facts.get("remarks", ()):
        out.print(remark)
    for message in report.damage[:_LISTED]:
        out.print(message)
    _print_superseded(report.superseded, set(facts["files"]))
    text = facts["characters"]
    out.print(
        f"characters: {text['source']} in the source = {text['spoken']} spoken + "
        f"{text['left_out']} left out + {text['given_up']} given up + "
        f"{text['not_rendered']} not rendered"
    )
    if result.cancelled:
        out.print("stopped; run the same command to go on")
    elif report.incomplete:
        held = report.plan.takes.strict and report.doubtful
        why = ", or `checks: {strict: true}` holds takes back" if held else ""
        if not report.lacking:
            why = " of other speakers"
        err.print(f"not assembled: {run.chapters_lack(report.incomplete)} takes{why}")
        if report.earlier:
            earlier = counted(len(report.earlier), "finished file")
            err.print(f"{earlier} of an earlier run stay: `narrator status` names them")
    else:
        out.print(f"done in {clock(wall)}; log: {near(report.log)}")
    if report.log_fault:
        err.print(f"the log lacks lines: {report.log_fault}")


@app.command()
def gc(
    book: Book = Path("book.yaml"),
    delete: Annotated[bool, typer.Option("--delete", help="Delete them.")] = False,
) -> None:
    """Show takes that no manifest in the folder refers to, and superseded files; `--delete` removes
    them."""
    from narrator.delivery import shelf
    from narrator.pipeline import upkeep
    from narrator.project import load

    project = load.load(book)
    old = shelf.superseded(project.build)
    if delete:
        count, size, freed = upkeep.collect(project)
        out.print(f"deleted {counted(count, 'take')}, {sized(size)}")
        if old:
            out.print(f"deleted {counted(len(old), 'superseded file')}, {sized(freed)}")
        return
    unused = upkeep.unreferenced(project)
    if unused:
        total = sized(sum(size for _, size in unused))
        out.print(f"{counted(len(unused), 'take')}, {total}, not used; --delete removes them")
    else:
        out.print("every take is in use")
    for path, size in old:
        out.print(f"{near(path)}  {sized(size)}")
    if old:
        total = sized(sum(size for _, size in old))
        out.print(f"{counted(len(old), 'superseded file')}, {total}; --delete removes them")
