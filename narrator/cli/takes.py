"""Commands on single chunks: takes, retake, pin, unpin."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from narrator.cli import completion
from narrator.cli.planning import describe_other_takes, load_plan
from narrator.cli.progress import LineProgress, stage
from narrator.cli.rendering import print_answer, stop_on_signals
from narrator.cli.shared import (
    AsJson,
    BookOption,
    Chunks,
    app,
    display_path,
    err,
    out,
    parse_chunks,
    parse_one_chunk,
    source_location,
    split_arguments,
)
from narrator.errors import UsageError
from narrator.quantities import pluralize

if TYPE_CHECKING:
    from narrator.pipeline.jobs.protocol import Job
    from narrator.pipeline.jobs.server import JobHandle, JobServer
    from narrator.pipeline.retakes import Try
    from narrator.project.project import Project


@app.command("takes")
def list_takes(
    chunks: Chunks,
    book: BookOption = None,
    sounds: Annotated[
        Path | None, typer.Option("--out", help="Write every try as a WAV file to this folder.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List all tries of chunks, good and bad. Shows what the checks measured. With --json: an
    object for one chunk, a list for several."""
    from narrator.pipeline import book_plan, retakes

    names, book_path = parse_chunks(chunks, book)
    planned = load_plan(book_path)
    steps = book_plan.find_steps(planned, names)
    steps_with_tries = [(step, retakes.tries_of(planned, step)) for step in steps]
    if as_json:
        rows = [
            {"id": step.id, "text": step.text, "tries": list(map(_try_json, tries))}
            for step, tries in steps_with_tries
        ]
        out.print_json(data=rows if len(names) > 1 else rows[0])
        return
    hints = describe_other_takes(planned, steps, "takes")
    for step, tries in steps_with_tries:
        out.print(
            f"{step.id}  {source_location(step.chunk)}  {step.chunk.speaker}: {step.chunk.text}"
        )
        out.print(_tries_table(tries) if tries else hints.get(step.id, "nothing was spoken yet"))
        _print_scores(tries)
        if sounds is not None:
            for path in retakes.write_sounds(planned, step, tries, sounds):
                out.print(str(display_path(path)))


def _try_json(chunk_try: Try) -> dict[str, object]:
    record = chunk_try.record
    return {
        "number": chunk_try.number,
        "in_use": chunk_try.in_use,
        "pinned": chunk_try.pinned,
        "faults": list(record.faults),
        "seconds": round(record.seconds, 2),
        "level": record.level,
        "mode": record.mode,
        "seed": record.seed,
        "attempt": record.attempt,
        "whole": chunk_try.whole,
        "parameters": dict(record.parameters),
        "figures": dict(record.figures),
        "score": dict(record.score),
    }


def _tries_table(tries: Sequence[Try]) -> Table:
    table = Table("try", "", "seconds", "of expected", "dB", "seed", "with", box=None)
    for chunk_try in tries:
        record = chunk_try.record
        state = "pinned" if chunk_try.pinned else "in use" if chunk_try.in_use else ""
        if record.faults:
            state = "; ".join(record.faults)
        if not chunk_try.whole:
            state = f"a part of it: {state or 'good'}"
        ratio = record.figures.get("ratio", 0.0)
        settings = ", ".join(f"{name} {value}" for name, value in record.parameters.items())
        table.add_row(
            str(chunk_try.number),
            state,
            f"{record.seconds:.1f}",
            f"{ratio:.2f}" if ratio else "",
            f"{record.level:.1f}",
            f"{record.seed}+{record.attempt}" if record.noise else "",
            " ".join(filter(None, (record.mode, settings))),
        )
    return table


def _print_scores(tries: Sequence[Try]) -> None:
    """Prints the scores by which tries were chosen, with their terms."""
    from narrator.speech import scores

    scored = [chunk_try for chunk_try in tries if chunk_try.record.score]
    if scored:
        out.print("scores, the lower the better:")
    for chunk_try in scored:
        out.print(f"  try {chunk_try.number}  {scores.describe(chunk_try.record.score)}")


@app.command()
def retake(
    chunks: Chunks,
    book: BookOption = None,
    count: Annotated[
        int,
        typer.Option("--count", "-n", min=1, max=32, help="The number of tries for each chunk."),
    ] = 1,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**32 - 1, help="The seed of the noise.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A setting of the engine for these tries, such as cfg=2.5; repeatable.",
        ),
    ] = None,
    style: Annotated[
        str | None,
        typer.Option(help='The style of these tries, such as "in a whisper"; "" for none.'),
    ] = None,
    speed: Annotated[
        float,
        typer.Option(
            min=0.5,
            max=2.0,
            help="The speed of these tries; 0.9 is ten per cent slower than usual.",
        ),
    ] = 1.0,
    as_json: AsJson = False,
) -> None:
    """Speak chunks again. Of the tries that pass their checks, the one with the best score is
    pinned."""
    from narrator.pipeline import book_engines, book_reading
    from narrator.pipeline.jobs import execution
    from narrator.pipeline.jobs.protocol import Job

    names, book_path = parse_chunks(chunks, book)
    cancel = threading.Event()
    stop_on_signals(cancel)
    reading = book_reading.read_book(book_path)
    project = reading.manuscript.project
    parameters = book_engines.parse_typed_settings(reading.manuscript, names, settings or ())
    engines = book_engines.engines_for(project)
    job = Job(kind="retake", chunks=tuple(names), count=count, seed=seed, parameters=parameters,
              style=style, speed=speed)  # fmt: skip
    rows = _run_job(
        job, project, cancel,
        lambda owner, handle, progress: execution.retake(
            owner, handle, reading, engines, progress
        ),
    ).get("retaken", [])  # fmt: skip
    if as_json:
        out.print_json(data=rows)
    else:
        for row in rows:
            _print_retaken(row)
        if any(row["pinned"] is not None for row in rows):
            out.print("`narrator render` makes the files again, and what continues these chunks")
    if cancel.is_set():
        raise typer.Exit(130)
    if any(row["pinned"] is None for row in rows):
        raise typer.Exit(1)


def _run_job(
    job: Job,
    project: Project,
    cancel: threading.Event,
    do: Callable[[JobServer, JobHandle, LineProgress], None],
) -> Mapping[str, Any]:
    """Does a job here by `do`, or has it done by the process that owns the project.

    Returns its summary. Raises Exit if it failed.
    """
    from narrator.pipeline.jobs import client

    with (
        LineProgress(err) as progress,
        client.submit_or_run(project, job, progress, cancel, threading.Event()) as owner,
    ):
        if not isinstance(owner, client.Answer):
            handle = owner.new_handle(job, cancel)
            with owner.doing(handle):
                do(owner, handle, progress)
            return handle.summary
    if not owner.summary:
        print_answer(owner)
    return owner.summary


def _print_retaken(row: Mapping[str, Any]) -> None:
    """Prints the tries of one chunk's retake, and its failures."""
    from narrator.speech import scores

    for try_row in row["tries"]:
        number = try_row["number"]
        state = "; ".join(try_row["faults"]) or ("pinned" if number == row["pinned"] else "good")
        if try_row["score"]:
            state += f", score {scores.describe(try_row['score'])}"
        out.print(
            f"{row['id']}  try {number}  {try_row['seconds']:.1f} s  "
            f"seed {try_row['seed']}  {state}"
        )
    for failure in row["failures"]:
        out.print(f"{row['id']}  no sound: {failure}")


@app.command()
def pin(
    chunk: Annotated[
        list[str],
        typer.Argument(
            metavar="CHUNK TRY [BOOK]",
            help="A chunk (3.12), the number of a try as `takes` lists it (2), and their book.",
            autocompletion=completion.chunks,
        ),
    ],
    book: BookOption = None,
) -> None:
    """Choose a try for a chunk. It stays until the chunk's text changes."""
    from narrator.pipeline.jobs.protocol import Job

    numbers = [word for word in chunk if word.isdecimal() and len(word) < 6]
    name, book_path = parse_one_chunk([word for word in chunk if word not in numbers], book)
    if len(numbers) != 1:
        raise UsageError(f"which try of {name}? Its number follows: narrator pin {name} 1")
    number = int(numbers[0])
    outcome = _run_pin_job(Job(kind="pin", chunks=(name,), number=number), book_path)
    out.print(
        f"{outcome['pinned']}: try {number} is pinned; `narrator render` makes the files again"
    )


def _run_pin_job(job: Job, book_path: Path) -> Mapping[str, Any]:
    """Pins or unpins chunks. Returns the summary of the job."""
    from narrator.pipeline import book_engines, book_reading
    from narrator.pipeline.jobs import execution

    with stage(err, "reading the manuscript"):
        reading = book_reading.read_book(book_path)
    project = reading.manuscript.project
    engines = book_engines.engines_for(project)
    cancel = threading.Event()
    stop_on_signals(cancel)
    return _run_job(
        job, project, cancel,
        lambda owner, handle, progress: execution.pin_or_unpin(handle, reading, engines),
    )  # fmt: skip


@app.command()
def unpin(
    chunks: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CHUNK...] [BOOK]",
            help="Chunks to unpin, and their book; no chunks with --lost.",
            show_default=False,
            autocompletion=completion.chunks,
        ),
    ] = None,
    book: BookOption = None,
    lost: Annotated[
        bool, typer.Option("--lost", help="Remove pins whose text is no longer in the book.")
    ] = False,
) -> None:
    """Remove the pins of chunks. Their takes follow the manifest again."""
    from narrator.pipeline.jobs.protocol import Job

    names, book_path = split_arguments(chunks or (), book)
    if not (lost or names):
        raise UsageError("name the chunks to unpin, or --lost")
    chunk_names = () if lost else tuple(dict.fromkeys(names))
    outcome = _run_pin_job(Job(kind="unpin", chunks=chunk_names), book_path)
    if lost:
        out.print(f"{pluralize(outcome['forgotten'], 'pin')} forgotten")
        return
    for name, is_removed in outcome["unpinned"].items():
        out.print(f"{name}: {'no longer pinned' if is_removed else 'was not pinned'}")
