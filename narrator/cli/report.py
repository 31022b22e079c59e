"""The command that proves: report."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from narrator.cli.planning import load_plan
from narrator.cli.progress import StageLine
from narrator.cli.shared import Book, Chapters, app, check_replaceable, display_path, err, out
from narrator.quantities import format_bytes, pluralize


@app.command()
def report(
    book: Book = Path("book.yaml"),
    spectrograms: Annotated[
        bool, typer.Option("--spectrograms", help="Of every chapter; the page grows by far.")
    ] = False,
    chapter: Chapters = None,
    to: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where to; else build/report.html.")
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """Write one HTML page about a project: pictures of its sound, pace, retries, what is left out.

    `--chapter` adds the spectrogram of that chapter.
    """
    from narrator import report as reports
    from narrator.pipeline import book_plan
    from narrator.pipeline.options import RenderOptions

    if to is not None:
        check_replaceable(to, reports.MARK.encode(), "report")
    planned = load_plan(book)
    manuscript = planned.manuscript
    chosen = book_plan.select(manuscript, RenderOptions(chapters=tuple(chapter or ()))).chapters
    if spectrograms:
        chosen = frozenset(range(len(manuscript.chapters)))
    path = to or reports.page_path(planned)
    with StageLine(err) as on_progress:
        facts = reports.write(planned, path, spectrograms=chosen, on_progress=on_progress)
    out.print(f"{display_path(path)}  {format_bytes(path.stat().st_size)}")
    if facts.missing:
        err.print(f"{pluralize(facts.missing, 'chunk')} missing; the page says which chapters")
    if show:
        webbrowser.open(path.resolve().as_uri())
