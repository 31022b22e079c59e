"""The command that makes room: gc."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from narrator.cli.shared import Book, app, display_path, out
from narrator.quantities import format_bytes, pluralize


@app.command()
def gc(
    book: Book = Path("book.yaml"),
    delete: Annotated[bool, typer.Option("--delete", help="Delete them.")] = False,
) -> None:
    """List takes and files that are no longer used. These are takes that no manifest in the folder
    refers to, and superseded files; `--delete` removes them."""
    from narrator.delivery import output_manifest
    from narrator.pipeline import upkeep
    from narrator.project import load

    project = load.load(book)
    old = output_manifest.list_superseded(project.build)
    if delete:
        count, size, freed = upkeep.collect_garbage(project)
        out.print(f"deleted {pluralize(count, 'take')}, {format_bytes(size)}")
        if old:
            out.print(f"deleted {pluralize(len(old), 'superseded file')}, {format_bytes(freed)}")
        return
    unused = upkeep.find_unreferenced_takes(project)
    if unused:
        total = format_bytes(sum(size for _, size in unused))
        out.print(f"{pluralize(len(unused), 'take')}, {total}, not used; --delete removes them")
    else:
        out.print("every take is in use")
    for path, size in old:
        out.print(f"{display_path(path)}  {format_bytes(size)}")
    if old:
        total = format_bytes(sum(size for _, size in old))
        out.print(f"{pluralize(len(old), 'superseded file')}, {total}; --delete removes them")
