"""Commands on single chunks: takes, retake, pin, unpin."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from narrator.cli.planning import plan_of
from narrator.cli.progress import LineProgress
from narrator.cli.rendering import stop_on_signals
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
    source,
)
from narrator.errors import UsageError

if TYPE_CHECKING:
    from narrator.pipeline.retakes import Retaken, Try


@app.command("takes")
def list_takes(
    chunk: Chunks,
    book: BookOption = None,
    draft: Draft = False,
    sounds: Annotated[
        Path | None, typer.Option("--out", help="Write every try there as a WAV to listen to.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List what was spoken for a chunk, good and bad, with what the checks measured."""
    from narrator.pipeline import bookplan, retakes

    name, where = one_chunk(chunk, book)
    planned = plan_of(where, draft)
    step = bookplan.find_step(planned, name)
    tries = retakes.tries_of(planned, step)
    if as_json:
        out.print_json(data={"id": step.id, "text": step.text, "tries": [_row(t) for t in tries]})
        return
    out.print(f"{step.id}  {source(step.chunk)}  {step.chunk.speaker}: {step.chunk.text}")
    if not tries:
        out.print("nothing was spoken yet")
    else:
        out.print(_table(tries))
    if sounds is not None:
        for path in retakes.write_sounds(planned, step, tries, sounds):
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
    from narrator.pipeline import bookplan, retakes
    from narrator.pipeline.manuscript import read

    names, where = parted(chunks, book)
    if not names:
        raise UsageError(f"which chunks of {where}? Name them chapter.number, as 3.12")
    cancel = threading.Event()
    stop_on_signals(cancel)
    manuscript = read(where)
    kind = bookplan.kind_of(manuscript.project, draft=draft)
    parameters = kind.typed(settings or ())
    seed = parameters.pop("seed", seed)
    engine = bookplan.engine_for(manuscript.project, draft=draft)
    with LineProgress(err) as progress:
        retaken = retakes.retake(
            manuscript, engine, names, count=count, seed=seed,
            parameters=parameters, observer=progress, cancel=cancel,
        )  # fmt: skip
    if as_json:
        out.print_json(data=[_retaken(one) for one in retaken])
    else:
        for one in retaken:
            _print_retaken(one)
        if any(one.pinned for one in retaken):
            out.print("`narrator render` makes the files anew, and what continues these chunks")
    if cancel.is_set():
        raise typer.Exit(130)
    if any(one.pinned is None for one in retaken):
        raise typer.Exit(1)


def _retaken(one: Retaken) -> dict[str, object]:
    return {
        "id": one.step.id,
        "pinned": one.pinned,
        "tries": [{"number": n, "faults": list(r.faults), "seed": r.seed} for n, r in one.tries],
        "failures": list(one.failures),
    }


def _print_retaken(one: Retaken) -> None:
    for number, record in one.tries:
        state = "; ".join(record.faults) or ("pinned" if number == one.pinned else "good")
        out.print(
            f"{one.step.id}  try {number}  {record.seconds:.1f} s  seed {record.seed}  {state}"
        )
    for failure in one.failures:
        out.print(f"{one.step.id}  no sound: {failure}")


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
    from narrator.pipeline import bookplan, retakes

    numbers = [word for word in chunk if word.isdecimal() and len(word) < 6]
    name, where = one_chunk([word for word in chunk if word not in numbers], book)
    if len(numbers) != 1:
        raise UsageError(f"which try of {name}? Its number follows: narrator pin {name} 0")
    number = int(numbers[0])
    planned = plan_of(where, draft)
    step = bookplan.find_step(planned, name)
    retakes.pin(planned, step, number)
    out.print(f"{step.id}: try {number} is pinned; `narrator render` makes the files anew")


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
    from narrator.pipeline import bookplan, retakes

    names, where = parted(chunks or (), book)
    planned = plan_of(where, draft)
    if lost:
        retakes.forget(planned, planned.lost)
        out.print(f"{counted(len(planned.lost), 'pin')} forgotten")
        return
    if not names:
        raise UsageError("name the chunks to unpin, or --lost")
    steps = [bookplan.find_step(planned, name) for name in names]
    held = retakes.unpin(planned, steps)
    for step in steps:
        out.print(f"{step.id}: {'no longer pinned' if step in held else 'was not pinned'}")
