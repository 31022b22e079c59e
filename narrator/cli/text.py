"""Commands about text: check, schema."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

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
    source_location,
)
from narrator.quantities import pluralize
from narrator.sound.clock import format_clock

if TYPE_CHECKING:
    from narrator.pipeline.manuscript import Manuscript
    from narrator.pipeline.unknown_words import UnknownWord
    from narrator.speech.plan import Utterance
    from narrator.text.lines import OmittedText
    from narrator.text.normalize import Change


def suggest_cast(manuscript: Manuscript, book: Path) -> None:
    """Say of a book in one voice, in which many are quoted, what finds who they are."""
    from narrator.pipeline.attribution import count_unattributed_quotations

    number = count_unattributed_quotations(manuscript)
    if number >= MANY_QUOTATIONS:
        out.print(f"{number:,} quotations: `narrator cast {display_path(book)}` finds who speaks")


MANY_QUOTATIONS = 20
"""Quotations of a book in one voice from which on a cast is suggested."""


@app.command()
def check(
    book: Book = Path("book.yaml"),
    spoken: Annotated[
        bool,
        typer.Option("--spoken", help="Show each change from written to spoken text, counted."),
    ] = False,
    names: Annotated[
        bool,
        typer.Option(
            "--names",
            help="List words that no list of words knows, counted: mostly "
            "names, which may be said wrong.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Validate the manifest and all chapter text; show what is spoken and what is left out."""
    from narrator.pipeline import book_engines, checking
    from narrator.pipeline.manuscript import read_manuscript

    with stage(err, "reading the manuscript"):
        manuscript = read_manuscript(book)
    warnings: list[str] = []
    try:
        manuscript = checking.check_manuscript(manuscript, warnings.append)
    finally:
        print_problems("warning", warnings)
    left_out = [
        left_out_line for chapter in manuscript.chapters for left_out_line in chapter.left_out
    ]
    if as_json:
        rows = {"names": _unknown_words_json(manuscript)} if names else {}
        out.print_json(data={**_check_json(manuscript, left_out), **rows})
        return
    if spoken:
        _print_changes(manuscript)
    if names:
        _print_unknown_words(manuscript)
    _print_left_out(left_out)
    _print_counts(manuscript)
    for note in book_engines.missing_models(manuscript.project):
        out.print(f"missing: {note}; `narrator render --draft` needs no model")
    suggest_cast(manuscript, book)


def _print_counts(manuscript: Manuscript) -> None:
    """Prints the length of the text, and speakers without lines."""
    from manuscripts.book import count_words
    from narrator.pipeline import book_engines
    from narrator.pipeline.manuscript import count_visible_characters, source_and_left_out

    counts = source_and_left_out(manuscript)
    once = [u for u in manuscript.spoken if not u.with_before]  # what several say is read once
    character_count = sum(count_visible_characters(u.chunk.text) for u in once)
    words = sum(count_words(u.chunk.text) for u in once)
    seconds = sum(u.expected for u in once)
    speakers = {u.chunk.speaker for u in manuscript.spoken}
    cast = manuscript.project.speakers  # who plays others needs no lines of its own
    silent = [name for name, speaker in cast.items() if name not in speakers and not speaker.plays]
    out.print(
        f"{manuscript.project.manifest.title}: "
        f"{pluralize(len(manuscript.chapters), 'chapter')}, {pluralize(len(speakers), 'speaker')}, "
        f"{pluralize(len(manuscript.spoken), 'chunk')}, about {format_clock(seconds)}"
    )
    out.print(f"{words} words; of {counts['source']} characters {character_count} are spoken, "
              f"{counts['left_out']} left out")  # fmt: skip
    if silent:
        out.print(f"speakers without lines: {', '.join(silent)}")
    kinds = book_engines.specs_of(manuscript.project)
    if len({kinds[name].name for name in speakers}) > 1:
        speaker_kinds = {name: kind for name, kind in kinds.items() if name in speakers}
        out.print(f"spoken by {book_engines.describe_engines(speaker_kinds)}")


def _print_left_out(left_out_lines: Sequence[OmittedText]) -> None:
    """A line for each reason: how many places, and the first; --json has them all."""
    reasons: dict[str, list[OmittedText]] = {}
    for left_out_line in dict.fromkeys(left_out_lines):  # a file may be two chapters
        reasons.setdefault(left_out_line.reason, []).append(left_out_line)
    for reason, alike in reasons.items():
        first, others = alike[0], len(alike) - 1
        hidden_note = (
            f" (and {pluralize(others, 'more place')}; --json lists all)" if others else ""
        )
        location = f"{display_path(first.path)}:{first.line}"
        out.print(f"{location}: left out, {reason}{hidden_note}: {shorten(first.text)}")


def _print_changes(manuscript: Manuscript) -> None:
    """Prints changes from written to spoken words, with first places, then counts of marks."""
    from narrator.text.chunks import group_unison

    words: dict[tuple[str, str, str], Utterance] = {}
    counts: Counter[tuple[str, str, str]] = Counter()
    marks: Counter[str] = Counter()
    for group in group_unison(manuscript.spoken):
        # what several say in unison counts once, and each of them may say a word in their own way
        changes = {
            change: chunk_utterance
            for chunk_utterance in reversed(group)
            for change in chunk_utterance.spoken.changes
        }
        for change, utterance in changes.items():
            if not _has_words(change):
                marks["".join(change.written.split()) or "_"] += 1
                continue
            replacement = (change.written.strip(), change.spoken.strip(), change.rule)
            words.setdefault(replacement, utterance)
            counts[replacement] += 1
    for replacement, first in words.items():
        written, spoken, rule = replacement
        count = counts[replacement]
        times = f", {count:,} times" if count > 1 else ""
        location = source_location(first.chunk)
        out.print(f"{location}: {first.id}  {written} -> {spoken} ({rule}){times}")
    if marks:
        mark_counts = (f"{mark} ×{n:,}" if n > 1 else mark for mark, n in marks.most_common())
        out.print(f"marks: {' '.join(mark_counts)}")


def _print_unknown_words(manuscript: Manuscript) -> None:
    from narrator.pipeline.unknown_words import find_unknown_words

    unknown_words, without = find_unknown_words(manuscript)
    book_language = manuscript.project.manifest.language
    for unknown_word in unknown_words:
        word_language = unknown_word.language
        language_note = "" if word_language == book_language else f" ({word_language})"
        times = f"{unknown_word.count:,} times" if unknown_word.count > 1 else "once"
        first = unknown_word.first
        place = f"{first.id} {source_location(first.chunk)}"
        out.print(
            f"{unknown_word.word}{language_note}, {times}, {place}: {_excerpt_around(unknown_word)}"
        )
    if unknown_words:
        manifest, word = manuscript.project.path.name, unknown_words[0].word
        out.print(f"{pluralize(len(unknown_words), 'word')} that no list knows; in {manifest} "
                  f"`lexicon: [{{word: {word}, say: …}}]` says how one is spoken")  # fmt: skip
    elif len(without) < len({utterance.language for utterance in manuscript.spoken}):
        out.print("no word that the lists do not know")
    if without:
        out.print(f"no list of words for {', '.join(without)}")


def _excerpt_around(unknown_word: UnknownWord) -> str:
    """A word with what stands beside it."""
    text = unknown_word.first.chunk.text
    begin, end = max(0, unknown_word.at - 25), unknown_word.at + len(unknown_word.word) + 25
    return " ".join(f"{'…' * (begin > 0)}{text[begin:end]}{'…' * (end < len(text))}".split())


def _unknown_words_json(manuscript: Manuscript) -> list[dict[str, object]]:
    from narrator.pipeline.unknown_words import find_unknown_words

    return [
        {
            "word": unknown_word.word,
            "language": unknown_word.language,
            "count": unknown_word.count,
            "chunk": unknown_word.first.id,
            "source": source_location(unknown_word.first.chunk),
        }
        for unknown_word in find_unknown_words(manuscript)[0]
    ]


def _has_words(change: Change) -> bool:
    return any(map(str.isalnum, change.written + change.spoken))


def _check_json(manuscript: Manuscript, left_out: Sequence[OmittedText]) -> dict[str, object]:
    from narrator.pipeline import book_engines

    kinds = book_engines.specs_of(manuscript.project)
    return {
        "title": manuscript.project.manifest.title,
        "engines": {name: kind.name for name, kind in kinds.items()},
        "chapters": [chapter.title for chapter in manuscript.chapters],
        "chunks": [
            {
                "id": u.id,
                "speaker": u.chunk.speaker,
                "with_before": u.with_before,
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
        "missing_models": book_engines.missing_models(manuscript.project),
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
