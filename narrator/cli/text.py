"""Commands about text: new, check, schema."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from narrator.cli.shared import AsJson, Book, app, counted, near, out, short, source, tell
from narrator.sound.clock import clock

if TYPE_CHECKING:
    from narrator.pipeline.manuscript import Manuscript
    from narrator.speech.plan import Utterance
    from narrator.text.lines import LeftOut
    from narrator.text.normalize import Change


@app.command()
def new(
    folder: Annotated[Path, typer.Argument(help="The project's folder; made, or empty.")],
    source: Annotated[
        Path | None, typer.Option("--from", help="A book to import: .epub, .txt or .md.")
    ] = None,
) -> None:
    """Start a project, from a book if there is one."""
    from narrator import importers

    book = importers.import_book(source) if source else importers.starter(folder)
    original = source if source and source.suffix.lower() == ".epub" else None
    written = importers.write_project(book, folder, original)
    out.print(f"{book.title}: {counted(len(book.chapters), 'chapter')} -> {written.manifest}")
    if book.left_out:
        table = Table("left out", "why", "words", title="Not spoken", title_justify="left")
        for item in book.left_out:
            table.add_row(item.title or item.source, item.reason, str(item.words))
        out.print(table)
        out.print(f"More of it in {written.report}")
    out.print(f"Next: narrator render {written.manifest} --draft")


@app.command()
def check(
    book: Book = Path("book.yaml"),
    spoken: Annotated[
        bool,
        typer.Option("--spoken", help="Show each change from written to spoken text, counted."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Validate the manifest and all chapter text; show what is spoken and what is left out."""
    from narrator.pipeline import bookplan
    from narrator.pipeline.manuscript import characters, read, source_and_left_out

    manuscript = read(book)
    warnings: list[str] = []
    try:
        manuscript = bookplan.check(manuscript, warnings.append)
    finally:
        tell("warning", warnings)
    left_out = [item for chapter in manuscript.chapters for item in chapter.left_out]
    if as_json:
        out.print_json(data=_check_json(manuscript, left_out))
        return
    if spoken:
        _print_changes(manuscript)
    for item in left_out:
        out.print(f"{near(item.path)}:{item.line}: left out, {item.reason}: {short(item.text)}")
    counts = source_and_left_out(manuscript)
    said = sum(characters(u.chunk.text) for u in manuscript.spoken)
    words = sum(len(u.chunk.text.split()) for u in manuscript.spoken)
    seconds = sum(u.expected for u in manuscript.spoken)
    speakers = {u.chunk.speaker for u in manuscript.spoken}
    silent = [name for name in manuscript.cast if name not in speakers]
    out.print(
        f"{manuscript.project.manifest.title}: "
        f"{counted(len(manuscript.chapters), 'chapter')}, {counted(len(speakers), 'speaker')}, "
        f"{counted(len(manuscript.spoken), 'chunk')}, about {clock(seconds)}"
    )
    out.print(f"{words} words; of {counts['source']} characters {said} are spoken, "
              f"{counts['left_out']} left out")  # fmt: skip
    if silent:
        out.print(f"without a line: {', '.join(silent)}")


def _print_changes(manuscript: Manuscript) -> None:
    """What is said otherwise than written, each once with its first place; then marks, counted."""
    words: dict[tuple[str, str, str], Utterance] = {}
    counts: Counter[tuple[str, str, str]] = Counter()
    marks: Counter[str] = Counter()
    for utterance in manuscript.spoken:
        for change in utterance.spoken.changes:
            if not _has_words(change):
                marks["".join(change.written.split()) or "_"] += 1
                continue
            replaced = (change.written.strip(), change.spoken.strip(), change.rule)
            words.setdefault(replaced, utterance)
            counts[replaced] += 1
    for (written, said, rule), first in words.items():
        often = counts[written, said, rule]
        times = f", {often:,} times" if often > 1 else ""
        out.print(f"{source(first.chunk)}: {first.id}  {written} -> {said} ({rule}){times}")
    if marks:
        shown = (f"{mark} ×{n:,}" if n > 1 else mark for mark, n in marks.most_common())
        out.print(f"marks: {' '.join(shown)}")


def _has_words(change: Change) -> bool:
    return any(map(str.isalnum, change.written + change.spoken))


def _check_json(manuscript: Manuscript, left_out: Sequence[LeftOut]) -> dict[str, object]:
    return {
        "title": manuscript.project.manifest.title,
        "chapters": [chapter.title for chapter in manuscript.chapters],
        "chunks": [
            {
                "id": u.id,
                "speaker": u.chunk.speaker,
                "text": u.chunk.text,
                "spoken": u.spoken.text,
                "seconds": round(u.expected, 1),
                "changes": [
                    {"written": c.written, "spoken": c.spoken, "rule": c.rule}
                    for c in u.spoken.changes
                ],
            }
            for u in manuscript.spoken
        ],
        "left_out": [
            {"file": str(o.path), "line": o.line, "text": o.text, "reason": o.reason}
            for o in left_out
        ],
    }


@app.command()
def schema() -> None:
    """Print the JSON Schema of book.yaml, for editors."""
    from narrator.project import schema as project_schema

    out.print_json(data=project_schema.schema())
