"""The command `cast`: who says what in a book, shown, written, and asked about."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from narrator.cli.progress import stage
from narrator.cli.reading import print_proposals, proposals_json, reading
from narrator.cli.shared import AsJson, Book, app, counted, cut, err, near, out, short, tell
from narrator.errors import UsageError

if TYPE_CHECKING:
    from narrator.pipeline.attribution import Proposal, Quote, Refine
    from narrator.project.project import Project
    from narrator.text.speakers import Character
    from narrator.text.speakers.proposing import Description, Style

LISTED = 20
"""Quotations to look at that are said one by one."""


@app.command("cast")
def find_cast(
    book: Book = Path("book.yaml"),
    write: Annotated[
        bool,
        typer.Option("--write", help="Write the cast to book.yaml, and who says what to files."),
    ] = False,
    review: Annotated[
        bool, typer.Option("--review", help="Ask about the doubtful ones, the weakest first.")
    ] = False,
    in_order: Annotated[
        bool, typer.Option("--in-order", help="With --review: as they stand in the book.")
    ] = False,
    find: Annotated[
        bool, typer.Option("--find", help="Look for more characters than book.yaml has.")
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="List all that is doubtful, not the weakest twenty.")
    ] = False,
    model: Annotated[
        str | None,
        typer.Option(help="A language model to ask where rules are not sure: auto, DIR, a hub id."),
    ] = None,
    describe: Annotated[
        bool, typer.Option("--describe", help="With --model: propose voices, and styles of lines.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Find who says what in a book: its characters, and the speaker of each quotation."""
    from narrator.cli import review as asking
    from narrator.project.load import load

    if review:
        asking.require_terminal()
        if as_json:
            raise UsageError("--review asks and --json answers: one at a time")
    if describe and model is None:
        raise UsageError("--describe asks a language model: add --model auto, or name one")
    project = load(book)
    voices: list[Description] = []
    styles: list[Style] = []
    with reading(model, project) if model else contextlib.nullcontext() as reader:
        proposal = _proposed(project, find, write, reader)
        if describe and reader is not None:
            voices, styles = reader.proposals(project.manifest.language)
    tell("warning", proposal.warnings)
    if as_json:
        more = proposals_json(voices, styles) if describe else {}
        out.print_json(data={**_json(proposal), **more})
        return
    if review:
        asking.review(proposal, in_order=in_order)
        return
    most = None if every else LISTED
    _print_cast(proposal, most)
    _print_doubtful(proposal, most)
    if describe:
        print_proposals(proposal, voices, styles)
    _print_next(proposal, book, write, project)


def _proposed(project: Project, find: bool, write: bool, model: Refine | None) -> Proposal:
    """Who says what, written if that is wanted. A model is asked once the cast is what it will
    be."""
    from narrator.pipeline import attribution, newcomers
    from narrator.text.decided import names_in

    with stage(err, "finding who speaks"):
        proposal = attribution.propose(project, find=find)
    if write and (grown := newcomers.with_newcomers(proposal)) is not None:
        more = len(attribution.characters(grown)) - len(attribution.characters(project))
        err.print(f"{near(project.path)}: {counted(more, 'character')} more under speakers")
        with stage(err, "finding who speaks"):  # as every run after this one does
            proposal = attribution.propose(grown)
    if model is not None:
        proposal = attribution.refined(proposal, model)
    if not write:
        return proposal
    written = attribution.write(proposal)
    err.print(f"written: {counted(len(written), 'file')} of speakers" if written else "unchanged")
    changed = [one for one in proposal.quotes if one.was and not one.row.goes_on]
    for one in changed[:LISTED]:
        who = names_in(one.row.speaker)
        err.print(f"{near(one.path)}:{one.number}: {short(one.quoted.text)}  {one.was} -> {who}")
    if changed:
        hidden = f", {len(changed) - LISTED:,} of them not shown" * (len(changed) > LISTED)
        count = counted(len(changed), "decision")
        err.print(f"{count} of rules changed{hidden}; what you decide stays")
    return proposal


def _print_cast(proposal: Proposal, most: int | None) -> None:
    quotes, lines = proposal.quotes, proposal.lines
    speaking = sorted(
        (one for one in proposal.characters if lines[one.name]),
        key=lambda one: -lines[one.name],
    )
    title = proposal.project.manifest.title
    out.print(
        f"{title}: {counted(len(speaking), 'character')}, {counted(len(quotes), 'quotation')}"
    )
    if speaking:
        table = Table("character", "", "lines", "share", "voice of", "also called", box=None)
        for one in speaking[:most]:
            table.add_row(*_speaking(one, proposal))
        out.print(table)
    if rest := speaking[most:] if most else []:
        out.print(f"and {counted(len(rest), 'character')} more; --all lists them")
    given = proposal.given
    if given:
        shown = ", ".join(f"{name} {count:,}" for name, count in given.most_common())
        out.print(cut(f"by labels and in braces: {shown}", 300))
    quiet = [one.name for one in proposal.characters if not (lines[one.name] or given[one.name])]
    if quiet:
        out.print(cut(f"without a line: {', '.join(quiet)}", 300))
    out.print(_how_sure(quotes))


def _speaking(one: Character, proposal: Proposal) -> tuple[str, ...]:
    """A character's row: lines, their share, whose voice they are in, other names."""
    lines, voice = proposal.lines[one.name], proposal.project.voice_of(one.name)
    share = f"{lines / max(1, len(proposal.quotes)):.1%}"
    others = short(", ".join(name for name in one.aliases if name != one.name), 40)
    shared = "" if voice == one.name else voice
    return one.name, one.pronoun or "", f"{lines:,}", share, shared, others


def _how_sure(quotes: Sequence[Quote]) -> str:
    """One line: how many are decided, and by whom."""
    from narrator.pipeline.attribution import SURE
    from narrator.text.decided import NOBODY, UNKNOWN

    yours = sum(one.row.is_yours for one in quotes)
    printed = sum(one.row.by == "print" for one in quotes)
    rest = [one.row for one in quotes if one.row.by in ("rule", "model")]
    nobody = sum(row.speaker == NOBODY for row in rest)
    unknown = sum(row.speaker == UNKNOWN for row in rest)
    sure = sum(row.sure >= SURE for row in rest if row.speaker not in (NOBODY, UNKNOWN))
    doubtful = len(rest) - nobody - unknown - sure
    parts = [
        f"{number:,} {what}"
        for number, what in (
            (yours, "by you"),
            (printed, "by print"),
            (sure, "sure"),
            (doubtful, "doubtful"),
            (unknown, "unknown"),
            (nobody, "nobody's speech"),
        )
        if number or what in ("sure", "doubtful")
    ]
    return ", ".join(parts)


def _print_doubtful(proposal: Proposal, most: int | None) -> None:
    groups = proposal.doubtful
    for group in groups[:most]:
        out.print(_doubt(group[0]))
    if most is not None and len(groups) > most:
        out.print(f"and {len(groups) - most:,} more, surer ones; --all lists them")


def _doubt(one: Quote) -> str:
    """What a person should look at, in a line."""
    from narrator.text.decided import UNKNOWN, names_in

    who = "nobody known" if one.row.speaker == UNKNOWN else names_in(one.row.speaker)
    said = f"{who} {one.row.sure:.2f}" if one.row.speaker != UNKNOWN else who
    others = [name for name, _ in one.others[:1]]
    where = f"{near(one.path)}:{one.number}"
    return f"{where}: {short(one.quoted.text)}  {', or '.join([said, *others])}"


def _print_next(proposal: Proposal, book: Path, written: bool, project: Project) -> None:
    from narrator.pipeline.bookengines import absent_models

    named = "" if book == Path("book.yaml") else f" {book}"
    if not proposal.quotes:
        out.print("no quotation in its narration: nobody else speaks there")
    elif not written:
        what = "puts the cast into book.yaml and who says what into a file beside each text"
        out.print(f"Next: narrator cast{named} --write    {what}")
    else:
        if doubtful := len(proposal.doubtful):
            out.print(f"Next: narrator cast{named} --review    asks about {doubtful:,} of them")
        draft = " --draft" if absent_models(project, draft=False) else ""
        out.print(f"{'then' if doubtful else 'Next'}: narrator render{named}{draft}")


def _json(proposal: Proposal) -> dict[str, object]:
    return {
        "cast": [
            {
                "name": one.name,
                "aliases": list(one.aliases),
                "pronoun": one.pronoun,
                "lines": proposal.lines[one.name],
            }
            for one in proposal.characters
        ],
        "quotes": [
            {
                "text": one.quoted.text,
                "speaker": one.speaker,
                "sure": one.row.sure,
                "by": one.by,
                "chapter": one.chapter + 1,
                "line": one.number,
            }
            for one in proposal.quotes
        ],
    }
