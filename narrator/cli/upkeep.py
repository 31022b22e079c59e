"""The command that makes room: gc."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from narrator.cli.shared import Book, app, display_path, out, pluralize, sized


@app.command()
def gc(
    book: Book = Path("book.yaml"),
    delete: Annotated[bool, typer.Option("--delete", help="Delete them.")] = False,
) -> None:
    """Show takes that no manifest in the folder refers to, and superseded files; `--delete` removes
    them."""
    from narrator.delivery import output_manifest
    from narrator.pipeline import upkeep
    from narrator.project import load

    project = load.load(book)
    old = output_manifest.list_superseded(project.build)
    if delete:
        count, size, freed = upkeep.collect_garbage(project)
        out.print(f"deleted {pluralize(count, 'take')}, {sized(size)}")
        if old:
            out.print(f"deleted {pluralize(len(old), 'superseded file')}, {sized(freed)}")
        return
    unused = upkeep.find_unreferenced_takes(project)
    if unused:
        total = sized(sum(size for _, size in unused))
        out.print(f"{pluralize(len(unused), 'take')}, {total}, not used; --delete removes them")
    else:
        out.print("every take is in use")
    for path, size in old:
        out.print(f"{display_path(path)}  {sized(size)}")
    if old:
        total = sized(sum(size for _, size in old))
        out.print(f"{pluralize(len(old), 'superseded file')}, {total}; --delete removes them")
