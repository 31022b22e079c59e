"""Commands on single chunks: takes, retake, pin, unpin."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from narrator.cli.planning import plan_of
from narrator.cli.progress import LineProgress, stage
from narrator.cli.rendering import print_answer, stop_on_signals
from narrator.cli.shared import (
    AsJson,
    BookOption,
    Chunks,
    Draft,
    app,
    counted,
    err,
    near,
    one_chunk,
    out,
    parted,
    some_chunks,
    source,
)
from narrator.errors import UsageError

if TYPE_CHECKING:
    from narrator.pipeline.owning.jobs import Job
    from narrator.pipeline.owning.owner import Owner, Ticket
    from narrator.pipeline.retakes import Try
    from narrator.project.project import Project


@app.command("takes")
def list_takes(
    chunks: Chunks,
    book: BookOption = None,
    draft: Draft = False,
    sounds: Annotated[
        Path | None, typer.Option("--out", help="Write every try there as a WAV to listen to.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List what was spoken for chunks, good and bad, with what the checks measured. With --json: an
    object for one chunk, a list of them for several."""
    from narrator.pipeline import bookplan, retakes

    names, where = some_chunks(chunks, book)
    planned = plan_of(where, draft)
    steps = bookplan.find_steps(planned, names)
    tries = [(step, retakes.tries_of(planned, step)) for step in steps]
    if as_json:
        rows = [
            {"id": step.id, "text": step.text, "tries": [_row(one) for one in of_step]}
            for step, of_step in tries
        ]
        out.print_json(data=rows if len(names) > 1 else rows[0])
        return
    for step, of_step in tries:
        out.print(f"{step.id}  {source(step.chunk)}  {step.chunk.speaker}: {step.chunk.text}")
        out.print(_table(of_step) if of_step else "nothing was spoken yet")
        if sounds is not None:
            for path in retakes.write_sounds(planned, step, of_step, sounds):
                out.print(str(near(path)))


def _row(one: Try) -> dict[str, object]:
    record = one.record
    return {
        "number": one.number,
        "in_use": one.in_use,
        "pinned": one.pinned,
        "faults": list(record.faults),
        "seconds": round(record.seconds, 2),
        "level": record.level,
        "mode": record.mode,
        "seed": record.seed,
        "attempt": record.attempt,
        "whole": one.whole,
        "parameters": dict(record.parameters),
        "figures": dict(record.figures),
    }


def _table(tries: Sequence[Try]) -> Table:
    table = Table("try", "", "seconds", "of expected", "dB", "seed", "with", box=None)
    for one in tries:
        record = one.record
        state = "pinned" if one.pinned else "in use" if one.in_use else ""
        if record.faults:
            state = "; ".join(record.faults)
        if not one.whole:
            state = f"a part of it: {state or 'good'}"
        ratio = record.figures.get("ratio", 0.0)
        settings = ", ".join(f"{name} {value}" for name, value in record.parameters.items())
        table.add_row(
            str(one.number),
            state,
            f"{record.seconds:.1f}",
            f"{ratio:.2f}" if ratio else "",
            f"{record.level:.1f}",
            f"{record.seed}+{record.attempt}" if record.noise else "",
            " ".join(filter(None, (record.mode, settings))),
        )
    return table


@app.command()
def retake(
    chunks: Chunks,
    book: BookOption = None,
    draft: Draft = False,
    count: Annotated[int, typer.Option("--count", "-n", min=1, max=32, help="Tries each.")] = 1,
    seed: Annotated[int | None, typer.Option(min=0, max=2**32 - 1, help="Of the noise.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="The engine's, for these tries: cfg=2.5."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Speak chunks anew; the first try that passes its checks is pinned."""
    from narrator.pipeline import bookengines
    from narrator.pipeline.owning import doing, inputs
    from narrator.pipeline.owning.jobs import Job

    names, where = some_chunks(chunks, book)
    cancel = threading.Event()
    stop_on_signals(cancel)
    reading = inputs.read(where)
    project = reading.manuscript.project
    parameters = bookengines.typed(reading.manuscript, names, settings or (), draft=draft)
    engines = bookengines.engines_for(project, draft=draft)
    job = Job(kind="retake", draft=draft, chunks=tuple(names), count=count, seed=seed,
              parameters=parameters)  # fmt: skip
    rows = _done(
        job, project, cancel,
        lambda owner, ticket, shown: doing.retake(owner, ticket, reading, engines, shown),
    ).get("retaken", [])  # fmt: skip
    if as_json:
        out.print_json(data=rows)
    else:
        for row in rows:
            _print_retaken(row)
        if any(row["pinned"] is not None for row in rows):
            out.print("`narrator render` makes the files anew, and what continues these chunks")
    if cancel.is_set():
        raise typer.Exit(130)
    if any(row["pinned"] is None for row in rows):
        raise typer.Exit(1)


def _done(
    job: Job,
    project: Project,
    cancel: threading.Event,
    do: Callable[[Owner, Ticket, LineProgress], None],
) -> Mapping[str, Any]:
    """What a job came to, done here or by who owns the project. Raises Exit where that failed."""
    from narrator.pipeline.owning import joining

    with (
        LineProgress(err) as progress,
        joining.engage(project, job, progress, cancel, threading.Event()) as own,
    ):
        if not isinstance(own, joining.Answer):
            ticket = own.own(job, cancel)
            with own.doing(ticket):
                do(own, ticket, progress)
            return ticket.summary
    if not own.summary:
        print_answer(own)
    return own.summary


def _print_retaken(row: Mapping[str, Any]) -> None:
    for one in row["tries"]:
        number = one["number"]
        state = "; ".join(one["faults"]) or ("pinned" if number == row["pinned"] else "good")
        out.print(f"{row['id']}  try {number}  {one['seconds']:.1f} s  seed {one['seed']}  {state}")
    for failure in row["failures"]:
        out.print(f"{row['id']}  no sound: {failure}")


@app.command()
def pin(
    chunk: Annotated[
        list[str],
        typer.Argument(
            metavar="CHUNK TRY [BOOK]",
            help="A chunk, 3.12, and a try of it, as `takes` numbers them: 2.",
        ),
    ],
    book: BookOption = None,
    draft: Draft = False,
) -> None:
    """Choose a try for a chunk; it stays until the chunk's text changes."""
    from narrator.pipeline.owning.jobs import Job

    numbers = [word for word in chunk if word.isdecimal() and len(word) < 6]
    name, where = one_chunk([word for word in chunk if word not in numbers], book)
    if len(numbers) != 1:
        raise UsageError(f"which try of {name}? Its number follows: narrator pin {name} 0")
    number = int(numbers[0])
    made = _marked(Job(kind="pin", draft=draft, chunks=(name,), number=number), where)
    out.print(f"{made['pinned']}: try {number} is pinned; `narrator render` makes the files anew")


def _marked(job: Job, where: Path) -> Mapping[str, Any]:
    from narrator.pipeline import bookengines
    from narrator.pipeline.owning import doing, inputs

    with stage(err, "reading the manuscript"):
        reading = inputs.read(where)
    project = reading.manuscript.project
    engines = bookengines.engines_for(project, draft=job.draft)
    cancel = threading.Event()
    stop_on_signals(cancel)
    return _done(
        job, project, cancel,
        lambda owner, ticket, shown: doing.mark(ticket, reading, engines),
    )  # fmt: skip


@app.command()
def unpin(
    chunks: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CHUNK...] [BOOK]", help="Chunks; none with --lost.", show_default=False
        ),
    ] = None,
    book: BookOption = None,
    draft: Draft = False,
    lost: Annotated[
        bool, typer.Option("--lost", help="Forget pins whose text is no longer in the book.")
    ] = False,
) -> None:
    """Let the manifest decide again how chunks sound."""
    from narrator.pipeline.owning.jobs import Job

    names, where = parted(chunks or (), book)
    if not (lost or names):
        raise UsageError("name the chunks to unpin, or --lost")
    named = () if lost else tuple(dict.fromkeys(names))
    made = _marked(Job(kind="unpin", draft=draft, chunks=named), where)
    if lost:
        out.print(f"{counted(made['forgotten'], 'pin')} forgotten")
        return
    for name, held in made["unpinned"].items():
        out.print(f"{name}: {'no longer pinned' if held else 'was not pinned'}")
