"""Commands for those who proof-listen: flag, pickups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from narrator.cli import completion
from narrator.cli.places import find_by_chunks, find_by_time, find_chapter
from narrator.cli.planning import load_plan
from narrator.cli.shared import (
    AsJson,
    Book,
    BookOption,
    app,
    check_replaceable,
    display_path,
    err,
    out,
    print_problems,
    shorten,
    split_arguments,
)
from narrator.errors import UsageError
from narrator.quantities import pluralize

if TYPE_CHECKING:
    from narrator.pipeline.book_plan import BookPlan
    from narrator.pipeline.pickups import Pickup
    from narrator.pipeline.places import Passage


@app.command()
def flag(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="CHUNK... | [CHAPTER] TIME [BOOK]",
            help="Chunks (3.12) or a time as for `where`, and their book, in any order.",
            show_default=False,
            autocompletion=completion.chunks,
        ),
    ],
    book: BookOption = None,
    note: Annotated[
        str, typer.Option("--note", "-n", help="What is wrong, and what it should be.")
    ] = "",
    done: Annotated[bool, typer.Option("--done", help="Mark its pickups as done.")] = False,
) -> None:
    """Put a place on the list of pickups. It is to be spoken again or mended."""
    from narrator.pipeline import pickups

    if not (note.strip() or done):
        raise UsageError(
            "what is wrong there? Say it with --note, as in: --note '“bow” as in arrow'"
        )
    planned, passages = _named_passages(words, book)
    chunks = [passage.chunk for passage in passages]
    if done:
        settled = pickups.mark_done(planned, chunks)
        out.print(f"{pluralize(settled, 'pickup')} done")
        return
    new_pickups = [pickups.new_pickup(passage, note) for passage in passages]
    pickups.add(planned, new_pickups)
    for pickup in new_pickups:
        _print_pickup(pickup)
    out.print(f"on the list: {display_path(pickups.path_of(planned.project))}")


def _named_passages(words: Sequence[str], option: Path | None) -> tuple[BookPlan, list[Passage]]:
    """Returns a book, and the passages of chunks or a time in it. Raises UsageError."""
    if heard := find_by_time(words, option):
        planned, _, places = heard
        return planned, [place.passage for place in places]
    chunks, place = split_arguments(words, option)
    if not chunks:
        raise UsageError("which place? A chunk, 3.12, or a chapter and a time, 3 12:34")
    return find_by_chunks(chunks, place)


@app.command("pickups")
def list_pickups(
    book: Book = Path("book.yaml"),
    bring: Annotated[
        Path | None,
        typer.Option("--from", help="Add a list: CSV, labels, or lines of “3 00:12:34 — note”."),
    ] = None,
    chapter: Annotated[
        str | None,
        typer.Option(
            "--chapter",
            "-c",
            help="With --from: the chapter of times without one.",
            autocompletion=completion.chapters,
        ),
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--page", help="Write an HTML page to print.")
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option("--labels", help="Write a file of labels for each chapter to this folder."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the pickups of a book, or export them. The list is a CSV file beside the manifest."""
    from narrator import web
    from narrator.pipeline import pickups

    planned = load_plan(book)
    if page is not None:
        web.require("the page", ("jinja2",))
        from narrator.report import pickups as pages

        check_replaceable(page, pages.MARK.encode(), "page of pickups")
    if bring is not None:
        chapter_index = find_chapter(planned, chapter) if chapter else None
        imported, faults = pickups.import_list(planned, bring, chapter_index)
        print_problems("warning", faults)
        added = pluralize(len(pickups.add(planned, imported)), "new pickup")
        err.print(f"{added} of {len(imported)} in {display_path(bring)}")
    rows, problems = pickups.read_pickups(planned)
    print_problems("warning", problems)
    if page is not None:
        pages.write(planned, rows, page)
        err.print(str(display_path(page)))
    if labels is not None:
        for path in pickups.write_labels(rows, labels):
            err.print(str(display_path(path)))
    if as_json:
        out.print_json(data=[asdict(row) for row in rows])
        return
    for row in rows:
        if not row.done:
            _print_pickup(row)
    open_count = sum(not row.done for row in rows)
    done = f", {len(rows) - open_count} done" if len(rows) > open_count else ""
    out.print(
        f"{pluralize(open_count, 'pickup')} to do{done}" if rows else "nothing is on the list"
    )


def _print_pickup(row: Pickup) -> None:
    time = row.time or "not heard yet"
    out.print(f"{row.chunk}  {time}  {row.source}  {row.speaker}: {shorten(row.text)}")
    out.print(f"  {row.note}{f' ({row.who})' if row.who else ''}")
    if row.is_lost:
        out.print("  the book has no such text any more")
