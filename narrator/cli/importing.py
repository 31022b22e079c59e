"""Starting a project: new, from a manuscript or from nothing."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from manuscripts.kinds import IMPORTABLE
from narrator.cli import completion
from narrator.cli.progress import stage
from narrator.cli.shared import AsJson, app, display_path, err, out, shorten, truncate
from narrator.cli.text import MANY_QUOTATIONS
from narrator.errors import UsageError
from narrator.quantities import pluralize
from narrator.sound.clock import format_clock

if TYPE_CHECKING:
    from manuscripts import Book as ImportedBook
    from manuscripts import Choices, Notes, Reading, Treatment
    from narrator.importing import WrittenProject


@app.command()
def new(
    folder: Annotated[
        Path, typer.Argument(help="The project's folder: a new or empty one, or an earlier import.")
    ],
    sources: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            help=f"The manuscript: {IMPORTABLE}; or a folder of such files.",
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(help="The book's title.")] = None,
    author: Annotated[list[str] | None, typer.Option(help="The author; repeatable.")] = None,
    language: Annotated[
        str | None,
        typer.Option(help="The book's language, such as en-GB, de or zh; detected by default."),
    ] = None,
    encoding: Annotated[
        str | None,
        typer.Option(
            help="The encoding of a text file, such as cp1252 or gb18030; detected by default."
        ),
    ] = None,
    chapter_heading: Annotated[
        str | None,
        typer.Option(
            help="A regular expression that matches the start of lines that begin a chapter."
        ),
    ] = None,
    reading: Annotated[
        str | None,
        typer.Option(
            "--as",
            help="script: names at the start of paragraphs are speakers; prose: they are read "
            "aloud. Detected by default.",
            autocompletion=completion.choices("script", "prose"),
        ),
    ] = None,
    notes: Annotated[
        str,
        typer.Option(
            help="Footnotes: in-place (after their paragraph), end or omit.",
            autocompletion=completion.choices("in-place", "end", "omit"),
        ),
    ] = "omit",
    directions: Annotated[
        str,
        typer.Option(
            help="Stage directions, and the action of a screenplay: read (by the narrator) or "
            "omit.",
            autocompletion=completion.choices("read", "omit"),
        ),
    ] = "read",
    pictures: Annotated[
        str,
        typer.Option(
            help="Alternative texts and captions of pictures: read or omit.",
            autocompletion=completion.choices("read", "omit"),
        ),
    ] = "omit",
    tables: Annotated[
        str | None,
        typer.Option(
            help="Tables: read (row by row) or omit; by default Markdown's are read as written.",
            autocompletion=completion.choices("read", "omit"),
        ),
    ] = None,
    code: Annotated[
        str,
        typer.Option(
            help="Code: read (line by line) or omit.",
            autocompletion=completion.choices("read", "omit"),
        ),
    ] = "omit",
    as_json: AsJson = False,
) -> None:
    """Start a project, from a manuscript if there is one."""
    from narrator import importing

    if sources and len(sources) > 1:
        raise UsageError(
            f"--from: {len(sources)} manuscripts, but a project is made from one: put them into a "
            "folder, in whose order they are read, and give that"
        )
    source = sources[0] if sources else None
    choices = _make_choices(title, author, language, encoding, chapter_heading)
    choices = _add_treatments(choices, reading, notes, directions, pictures, tables, code)
    with stage(err, f"importing {source or folder}"):
        book = (importing.import_isolated(source, choices) if source
                else importing.starter_book(folder, choices))  # fmt: skip
        original = source if book.format == "EPUB" else None
        written_project = importing.write_project(book, folder, original)
    if as_json:
        out.print_json(data=_import_json(book, written_project))
        return
    _print_import(book, written_project)
    if source:
        _print_notes(book, choices.notes)
        _print_left_out(book)
        _print_oddities(book, written_project)
    _print_next(book, written_project)


_UNDECODED_BYTE = re.compile("[\ud800-\udfff]")
"""Python's stand-in for a byte of the command line that is not UTF-8."""


def _make_choices(
    title: str | None,
    authors: list[str] | None,
    language: str | None,
    encoding: str | None,
    heading: str | None,
) -> Choices:
    """Returns the choices for an import, from options that are texts. Raises UsageError."""
    from manuscripts import Choices
    from textbase import languages

    texts: dict[str, Sequence[str | None]] = {
        "--title": [title],
        "--author": authors or [],
        "--language": [language],
        "--encoding": [encoding],
        "--chapter-heading": [heading],
    }
    for option, option_texts in texts.items():
        if _UNDECODED_BYTE.search(" ".join(filter(None, option_texts))):
            raise UsageError(f"{option}: has bytes that are not UTF-8: type it in UTF-8")
    if heading is not None and not heading.strip():
        raise UsageError("--chapter-heading is empty: give what headings begin with, as Kapitel")
    try:
        pattern = re.compile(heading) if heading else None
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(f"--chapter-heading: no regular expression: {error}") from None
    try:
        language = language and languages.validate_tag(language)
    except ValueError as error:
        raise UsageError(f"--language: {error}") from None
    return Choices(
        title=title or None,
        authors=tuple(filter(None, authors or ())),
        language=language,
        encoding=encoding,
        heading=pattern,
    )


def _add_treatments(
    choices: Choices,
    reading: str | None,
    notes: str,
    directions: str,
    pictures: str,
    tables: str | None,
    code: str,
) -> Choices:
    """Adds what else is read: notes, directions, pictures, tables, code. Raises UsageError."""
    if reading not in ("script", "prose", None):
        raise UsageError(f"--as {reading}: script or prose")
    if notes not in ("in-place", "end", "omit"):
        raise UsageError(f"--notes {notes}: in-place, end or omit")
    treatments = {"directions": directions, "pictures": pictures, "tables": tables, "code": code}
    for name, treatment in treatments.items():
        if treatment not in ("read", "omit", None):
            raise UsageError(f"--{name} {treatment}: read or omit")
    return replace(
        choices,
        reading=cast("Reading | None", reading),
        notes=cast("Notes", notes),
        directions=cast("Treatment", directions),
        pictures=cast("Treatment", pictures),
        tables=cast("Treatment | None", tables),
        code=cast("Treatment", code),
    )


# -- the summary of an import ----------------------------------------------------------------------


_MAX_TITLE_CHARS = 120
"""Characters of a title, or of authors, that are shown."""


def _print_import(book: ImportedBook, written_project: WrittenProject) -> None:
    """Prints the size of the book, and what became of files of an earlier import."""
    from narrator.importing import chapter_shapes

    manifest = written_project.root / written_project.new_versions.get("book.yaml", "book.yaml")
    if not book.source:
        out.print(
            f"{book.title}: {pluralize(len(book.chapters), 'chapter')} -> {display_path(manifest)}"
        )
        return
    shapes = chapter_shapes(book)
    parts = [pluralize(len(shapes), "chapter"), f"{book.words_kept:,} words"]
    parts += [f"about {format_clock(sum(shape.seconds for shape in shapes))}"]
    if len(shapes) > 1:
        shortest, *_, longest = sorted(shapes, key=lambda shape: shape.seconds)
        parts += [
            f"{label} “{shorten(shape.title, 40)}” {format_clock(shape.seconds)}"
            for label, shape in (("shortest", shortest), ("longest", longest))
        ]
    parts += [book.dialogue] if book.dialogue else []
    title, authors = (
        shorten(text, _MAX_TITLE_CHARS) for text in (book.title, ", ".join(book.authors))
    )
    out.print(f"{title}, by {authors}, {book.language}, from {book.format}: "
              f"{', '.join(parts)} -> {display_path(manifest)}")  # fmt: skip
    for line in _describe_reimport(written_project):
        out.print(line)


def _describe_reimport(written_project: WrittenProject) -> Iterator[str]:
    """Yields lines on what became of the files of an earlier import."""
    from narrator.importing.project import NEW_FILE_ADVICE, UNNAMED_CHAPTER_ADVICE

    if written_project.replaced_count:
        replaced = pluralize(written_project.replaced_count, "file")
        yield f"replaced: {replaced} of the import before, unchanged"
    for name, fresh in written_project.new_versions.items():
        yield f"kept: {name}, changed since it was imported; the new one is {fresh}"
    if written_project.new_versions:
        yield f"Files with .new in their names are not read: {NEW_FILE_ADVICE}."
    if written_project.unnamed_chapters:
        names = ", ".join(written_project.unnamed_chapters)
        yield f"{names}: not in the book.yaml that is kept; {UNNAMED_CHAPTER_ADVICE}."


_REFERENCE = re.compile(r"(?<!\\)\[\^[^\]\s]+\](?!:)")
"""A reference to a note that stays in the text: that of a manuscript in Markdown."""


def _print_notes(book: ImportedBook, notes: Notes) -> None:
    """Prints the number of references to notes, and whether the notes are spoken."""
    count = sum(
        left_out.count for left_out in book.left_out if left_out.reason == "reference to a note"
    )
    count += sum(len(_REFERENCE.findall(chapter.markdown)) for chapter in book.chapters)
    places = {"in-place": "after their paragraph", "end": "after the chapter"}
    if not count:
        out.print("notes: none")
    elif notes == "omit":
        mend = "--notes in-place speaks them after their paragraph, --notes end after the chapter"
        out.print(f"notes: {pluralize(count, 'reference')}, left out; {mend}")
    else:
        out.print(f"notes: {pluralize(count, 'reference')}, spoken {places[notes]}")


_MAX_REASONS = 6
"""Reasons for what was left out that are shown, those of most words first."""


def _print_left_out(book: ImportedBook) -> None:
    """Prints the reasons for what was left out, with their numbers of places and words."""
    word_counts: Counter[str] = Counter()
    place_counts: Counter[str] = Counter()
    for left_out in book.left_out:
        reason = left_out.reason.partition(": “")[0]
        word_counts[reason] += left_out.words
        place_counts[reason] += left_out.count
    reasons = []
    for reason, word_count in word_counts.most_common(_MAX_REASONS):
        places = f"{place_counts[reason]:,} places, " if place_counts[reason] > 1 else ""
        reasons.append(f"{reason} ({places}{pluralize(word_count, 'word')})")
    if (hidden_count := len(word_counts) - _MAX_REASONS) > 0:
        reasons.append(pluralize(hidden_count, "more kind"))
    out.print(f"left out: {'; '.join(reasons) or 'nothing'}")


_MAX_ODDITIES = 3


def _print_oddities(book: ImportedBook, written_project: WrittenProject) -> None:
    """Prints the gravest oddities, and the file that lists all."""
    from narrator.importing import book_oddities
    from narrator.importing.doubts import HEADING_ADVICE

    oddities = [oddity.removesuffix(f" {HEADING_ADVICE}") for oddity in book_oddities(book)]
    if oddities:
        oddities[-1] += f" {HEADING_ADVICE}"  # once, though it fits each
    oddities += book.remarks
    sentences = [
        sentence if sentence[-1] in ".?" else f"{sentence}."
        for sentence in map(truncate, oddities[:_MAX_ODDITIES])
    ]
    if (hidden_count := len(oddities) - len(sentences)) > 0:
        sentences.append(f"{hidden_count} more.")
    report = display_path(written_project.report) if written_project.report else ""
    out.print(f"to know: {' '.join(sentences) or 'nothing odd.'} All of it: {report}")


def _print_next(book: ImportedBook, written_project: WrittenProject) -> None:
    """Prints the commands that come next."""
    from narrator.importing import count_quotations

    manifest = shlex.quote(str(display_path(written_project.manifest)))
    steps = [f"narrator check {manifest}"]
    quotation_count = count_quotations(book) if book.source and not book.speakers else 0
    if quotation_count >= MANY_QUOTATIONS:
        steps.append(f"narrator cast {manifest} ({quotation_count:,} quotations: who speaks)")
    steps.append(f"narrator render {manifest} --draft")
    out.print(f"next: {', then '.join(steps)}")


def _import_json(book: ImportedBook, written_project: WrittenProject) -> dict[str, object]:
    from narrator.importing import book_oddities

    return {
        "manifest": str(written_project.manifest),
        "format": book.format,
        "title": book.title,
        "authors": list(book.authors),
        "language": book.language,
        "dialogue": book.dialogue or None,
        "speakers": [speaker.name for speaker in book.speakers],
        "chapters": [
            {"title": chapter.title, "from": chapter.source, "words": chapter.words}
            for chapter in book.chapters
        ],
        "left_out": [
            {
                "from": left_out.source,
                "title": left_out.title,
                "why": left_out.reason,
                "places": left_out.count,
                "words": left_out.words,
            }
            for left_out in book.left_out
        ],
        "kept": dict(written_project.new_versions),
        "replaced": written_project.replaced_count,
        "unnamed": list(written_project.unnamed_chapters),
        "remarks": list(book.remarks),
        "warnings": book_oddities(book) if book.source else [],
        "lost": book.characters - book.characters_kept - book.characters_left_out,
    }
