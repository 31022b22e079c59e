"""The command `cast`: who says what in a book, shown, written, and asked about."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from narrator.cli.language_model import ChatServer, load_reader, print_proposals, proposals_json
from narrator.cli.progress import stage
from narrator.cli.shared import (
    AsJson,
    Book,
    app,
    display_path,
    err,
    out,
    print_problems,
    shorten,
    truncate,
)
from narrator.errors import UsageError
from narrator.quantities import pluralize

if TYPE_CHECKING:
    from narrator.pipeline.attribution import Proposal, Quote, Refine
    from narrator.project.project import Project
    from narrator.text.speakers import Character
    from narrator.text.speakers.proposing import Description, Style

MAX_LISTED_ROWS = 20
"""Rows that are printed of each list, unless `--all` asks for all."""
_MAX_SUSPICIONS = 10
"""Suspicions about names that are printed."""


@app.command("cast")
def find_cast(
    book: Book = Path("book.yaml"),
    write: Annotated[
        bool,
        typer.Option(
            "--write",
            help="Write the cast to book.yaml, and the speakers of each chapter to a "
            "file beside it.",
        ),
    ] = False,
    review: Annotated[
        bool,
        typer.Option("--review", help="Ask about doubtful exchanges, the most doubtful first."),
    ] = False,
    in_order: Annotated[
        bool, typer.Option("--in-order", help="With --review: ask in the order of the book.")
    ] = False,
    find: Annotated[
        bool, typer.Option("--find", help="Look for characters that book.yaml does not have yet.")
    ] = False,
    every: Annotated[
        bool,
        typer.Option(
            "--all", help="List everything that is doubtful, not only the twenty weakest."
        ),
    ] = False,
    model: Annotated[
        str | None,
        typer.Option(
            help="Ask this language model where the rules are unsure: auto, a folder, a hub id, or "
            "with --url the server's name for it."
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            help="With --model: the address of a server that has the model, with OpenAI's chat API."
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(help="With --url: the environment variable that holds the server's API key."),
    ] = None,
    price: Annotated[
        str | None,
        typer.Option(help="With --url: the price of a million tokens, such as '0.15 USD'."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="With --url: send the text without asking first.")
    ] = False,
    describe: Annotated[
        bool, typer.Option("--describe", help="With --model: propose voices, and styles for lines.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Find the characters of a book, and who says each quotation."""
    from narrator.cli import review as review_command
    from narrator.project.load import load

    if in_order and not review:
        raise UsageError("--in-order is about the questions of --review: add --review")
    if review:
        review_command.require_terminal()
        if as_json:
            raise UsageError("--review asks and --json answers: one at a time")
    if describe and (model is None or url is not None):
        raise UsageError(
            "--describe asks a language model on this machine, without --url: add --model auto, or "
            "name one"
        )
    server = _chat_server(model, url, key, price, is_agreed=yes)
    project = load(book)
    voices: list[Description] = []
    styles: list[Style] = []
    with load_reader(model, project, server) if model else contextlib.nullcontext() as reader:
        proposal = _propose_cast(project, find=find, write=write, lists_all=every, reader=reader)
        if describe and reader is not None:
            voices, styles = reader.proposals(project.manifest.language)
    print_problems("warning", proposal.warnings)
    if as_json:
        proposal_fields = proposals_json(voices, styles) if describe else {}
        out.print_json(data={**_cast_json(proposal), **proposal_fields})
        return
    if review:
        review_command.review(proposal, in_order=in_order)
        return
    max_rows = None if every else MAX_LISTED_ROWS
    _print_cast(proposal, max_rows)
    _print_suspicions(proposal)
    _print_doubtful(proposal, max_rows)
    if describe:
        print_proposals(proposal, voices, styles)
    _print_next(proposal, book, project, is_written=write)


def _chat_server(
    model: str | None, url: str | None, key: str | None, price: str | None, *, is_agreed: bool
) -> ChatServer | None:
    """Returns the server that options name, or None. Raises UsageError for a part of them."""
    if url is not None and model is None:
        raise UsageError("--url has a model by name: add --model NAME, as the server calls it")
    if url is None:
        options = {"--key": key is not None, "--price": price is not None, "--yes": is_agreed}
        if unused := [name for name, is_set in options.items() if is_set]:
            raise UsageError(f"{unused[0]} is about a server: add --url, its address")
        return None
    return ChatServer(url, key_name=key, price=price, is_agreed=is_agreed)


def _propose_cast(
    project: Project, *, find: bool, write: bool, lists_all: bool, reader: Refine | None
) -> Proposal:
    """Finds who says what, with more characters if `find`, and writes it if `write`.

    The reader, a language model, is asked once the cast is final. `lists_all`: all changes are
    printed.
    """
    from narrator.pipeline import attribution, new_characters

    with stage(err, "finding who speaks"):
        proposal = new_characters.propose(project, discovers_characters=find)
    if reader is not None:
        proposal = attribution.refine_proposal(proposal, reader)
    if write:
        written_files = new_characters.write(proposal)
        if proposal.manifest_change:
            additions = pluralize(len(proposal.new_names), "character")
            err.print(
                f"{display_path(project.path)}: added "
                f"{additions if proposal.new_names else 'a narrator'} to speakers"
            )
        file_count = pluralize(len(written_files), "speaker file")
        err.print(f"wrote {file_count}" if written_files else "unchanged")
    _print_changes(proposal, None if lists_all else MAX_LISTED_ROWS, is_written=write)
    return proposal


def _print_changes(proposal: Proposal, max_rows: int | None, *, is_written: bool) -> None:
    """Prints the decisions that differ from those in the files."""
    from narrator.text.speaker_files import unescape_names

    changed = proposal.changed_quotes
    for quote in changed[:max_rows]:
        speaker_names = unescape_names(quote.row.speaker)
        err.print(
            f"{display_path(quote.path)}:{quote.line_number}: {shorten(quote.quotation.text)}  "
            f"{quote.previous_speaker} -> {speaker_names}"
        )
    if changed:
        hidden_count = len(changed[max_rows:]) if max_rows else 0
        hidden_note = f", {hidden_count:,} of them not shown without --all" if hidden_count else ""
        count = pluralize(len(changed), "decision")
        verb = "changed" if is_written else "would change with --write"
        err.print(f"{count} of rules {verb}{hidden_note}; what you decide stays")


def _print_cast(proposal: Proposal, max_rows: int | None) -> None:
    """Prints the characters with most lines first, then the sources of the decisions."""
    from narrator.pipeline.attribution import group_turns

    quotes, line_counts = proposal.quotes, proposal.line_counts
    speaking = [
        character for character in proposal.characters_by_lines if line_counts[character.name]
    ]
    title = proposal.project.manifest.title
    total_count = sum(1 for _ in group_turns(quotes))
    out.print(
        f"{title}: {pluralize(len(speaking), 'character')}, {pluralize(total_count, 'quotation')}"
    )
    if (story_count := proposal.attribution.story_count) > 1:
        out.print(f"taken for {story_count:,} stories, each with a cast of its own")
    if speaking:
        table = Table("character", "", "lines", "share", "voice of", "also called", box=None)
        for character in speaking[:max_rows]:
            table.add_row(*_character_row(character, proposal, total_count))
        out.print(table)
    if hidden_characters := speaking[max_rows:] if max_rows else []:
        out.print(f"and {pluralize(len(hidden_characters), 'character')} more; --all lists them")
    label_counts = proposal.labelled_counts
    if label_counts:
        label_list = ", ".join(f"{name} {count:,}" for name, count in label_counts.most_common())
        out.print(truncate(f"by labels and in braces: {label_list}", 300))
    silent_names = [
        character.name
        for character in proposal.characters
        if not (line_counts[character.name] or label_counts[character.name])
    ]
    if silent_names:
        out.print(truncate(f"speakers without lines: {', '.join(silent_names)}", 300))
    unsexed_names = [
        character.name
        for character in speaking
        if character.pronoun is None and proposal.project.voice_of(character.name) == character.name
    ]
    if unsexed_names:
        names = ", ".join(unsexed_names[:MAX_LISTED_ROWS])
        message = f"pronoun unknown, voice guessed; set `pronoun:` (he, she…) for {names}"
        out.print(truncate(message, 300))
    if quotes:
        out.print(_summarize_certainty(quotes))


def _print_suspicions(proposal: Proposal) -> None:
    """Prints names of a found cast that may be wrongly parted or joined, and what mends them."""
    from narrator.pipeline.attribution import suspicions

    speaking = [each for each in proposal.characters_by_lines if proposal.line_counts[each.name]]
    suspects = suspicions(proposal.project, speaking)[:_MAX_SUSPICIONS]
    for suspect in suspects:
        out.print(
            f"may be one person: {suspect.name}, {suspect.other}: to merge, move {suspect.other} "
            f"to the aliases of {suspect.name}"
            if suspect.is_one
            else f"may be two: {suspect.name}, {suspect.other}: to part, give {suspect.other} an "
            "entry instead of an alias"
        )
    if suspects:
        out.print(
            f"do that in {display_path(proposal.project.path)} after --write, or on the cast page "
            "of `narrator studio`"
        )


def _character_row(character: Character, proposal: Proposal, total_count: int) -> tuple[str, ...]:
    """Returns name, pronoun, lines, their share, the speaker whose voice it shares, aliases."""
    line_count, voice = (
        proposal.line_counts[character.name],
        proposal.project.voice_of(character.name),
    )
    share = f"{line_count / max(1, total_count):.1%}"
    aliases = shorten(", ".join(name for name in character.aliases if name != character.name), 40)
    shared_voice = "" if voice == character.name else voice
    return character.name, character.pronoun or "", f"{line_count:,}", share, shared_voice, aliases


def _summarize_certainty(quotes: Sequence[Quote]) -> str:
    """Returns a line with the number of quotations that each source decided, pieces not counted."""
    from narrator.pipeline.attribution import group_turns
    from narrator.text.speaker_files import NOBODY, UNKNOWN

    decided = [turn[0] for turn in group_turns(quotes)]
    guesses = [quote for quote in decided if quote.row.by in ("rule", "model")]
    nobody_rows = [quote.row for quote in guesses if quote.row.speaker == NOBODY]
    doubtful = [quote for quote in guesses if quote.is_doubtful]
    unknown_count = sum(quote.row.speaker == UNKNOWN for quote in doubtful)
    counts = {
        "by you": sum(quote.row.is_manual for quote in decided),
        "by print": sum(quote.row.by == "print" for quote in decided),
        "sure": len(guesses) - len(nobody_rows) - len(doubtful),
        "doubtful": len(doubtful) - unknown_count,
        "unknown": unknown_count,
        "nobody's speech": sum(not row.is_nested for row in nobody_rows),
        "left to the tellers of tales": sum(row.is_nested for row in nobody_rows),
    }
    return ", ".join(
        f"{count:,} {label}"
        for label, count in counts.items()
        if count or label in ("sure", "doubtful")
    )


def _print_doubtful(proposal: Proposal, max_rows: int | None) -> None:
    """Prints the doubtful quotations, the least certain first; none in languages of which the rules
    know nothing."""
    from narrator.text.speakers import knows_tags

    turns = [
        turn
        for turn in proposal.doubtful_turns
        if knows_tags(proposal.chapters[turn[0].chapter].language)
    ]
    for turn in turns[:max_rows]:
        out.print(_describe_doubt(turn[0]))
    if max_rows is not None and len(turns) > max_rows:
        out.print(f"and {len(turns) - max_rows:,} more, surer ones; --all lists them")


def _describe_doubt(quote: Quote) -> str:
    """Returns a line on a quotation that a person should check, with the likeliest speakers."""
    from narrator.text.speaker_files import UNKNOWN, unescape_names

    guess = "nobody known"
    if quote.row.speaker != UNKNOWN:
        guess = f"{unescape_names(quote.row.speaker)} {quote.row.certainty:.2f}"
    guesses = [guess, *(name for name, _ in quote.alternatives[:1])]
    location = f"{display_path(quote.path)}:{quote.line_number}"
    return f"{location}: {shorten(quote.quotation.text)}  {', or '.join(guesses)}"


def _print_next(proposal: Proposal, book: Path, project: Project, *, is_written: bool) -> None:
    """Prints the command that comes next."""
    from narrator.pipeline.attribution import is_current
    from narrator.pipeline.book_engines import missing_models
    from narrator.text.speakers import knows_tags

    book_argument = "" if book == Path("book.yaml") else f" {book}"
    languages = {proposal.chapters[quote.chapter].language for quote in proposal.quotes}
    if not proposal.quotes and proposal.labelled_counts:
        out.print("no quotation in its narration: nobody else speaks there")
    elif not proposal.quotes:
        out.print("no quotation in its narration: the narrator speaks all of it")
    elif not any(map(knows_tags, languages)):
        cast_note = (
            "" if project.manifest.speakers else "name those who speak under `speakers`, and "
        )
        out.print(f"Next: {cast_note}label lines, or narrator cast{book_argument} --review")
    elif not is_written and not is_current(proposal):
        explanation = "puts the cast into book.yaml and who says what into a file beside each text"
        out.print(f"Next: narrator cast{book_argument} --write    {explanation}")
    else:
        steps = []
        if proposal.project.manifest.dialogue.cast == "found":
            steps.append(
                "look at the names: merge, part, set pronouns; once they are right, remove "
                f"`cast: found` from {project.path.name}, and --write again"
            )
        if doubtful := len(proposal.doubtful_turns):
            steps.append(
                f"narrator cast{book_argument} --review    asks about {doubtful:,} of them"
            )
        draft = " --draft" if missing_models(project) else ""
        steps.append(f"narrator render{book_argument}{draft}")
        for number, step in enumerate(steps):
            out.print(f"{'then' if number else 'Next'}: {step}")


def _cast_json(proposal: Proposal) -> dict[str, object]:
    return {
        "cast": [
            {
                "name": character.name,
                "aliases": list(character.aliases),
                "pronoun": character.pronoun,
                "lines": proposal.line_counts[character.name],
            }
            for character in proposal.characters
        ],
        "quotes": [
            {
                "text": quote.quotation.text,
                "speaker": quote.speaker,
                "sure": quote.row.certainty,
                "by": quote.by,
                "chapter": quote.chapter + 1,
                "line": quote.line_number,
            }
            for quote in proposal.quotes
        ],
    }
