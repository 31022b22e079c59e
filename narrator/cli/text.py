"""Commands about text: check, schema."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from narrator.cli import completion
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
    """Suggests `narrator cast` for a book in one voice with many quotations."""
    from narrator.pipeline.attribution import count_unattributed_quotations

    number = count_unattributed_quotations(manuscript)
    if number >= MANY_QUOTATIONS:
        out.print(f"{number:,} quotations: `narrator cast {display_path(book)}` finds who speaks")


MANY_QUOTATIONS = 20
"""Number of quotations in a book in one voice from which on a cast is suggested."""


@app.command()
def check(
    book: Book = Path("book.yaml"),
    spoken: Annotated[
        bool,
        typer.Option(
            "--spoken",
            help="Show every change from written to spoken text, with the number of its places.",
        ),
    ] = False,
    chapter: Annotated[
        list[str] | None,
        typer.Option(
            "--chapter",
            "-c",
            help="Show the spoken text of chapters, chunk by chunk: 3, 2-5 or a title; repeatable.",
            autocompletion=completion.chapters,
        ),
    ] = None,
    names: Annotated[
        bool,
        typer.Option(
            "--names",
            help="List words that no word list has, with counts: mostly names, which may be "
            "mispronounced.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check the manifest and all text of a book. Shows its length and what is left out."""
    from narrator.pipeline import book_engines, checking
    from narrator.pipeline.manuscript import read_manuscript

    with stage(err, "reading the manuscript"):
        manuscript = read_manuscript(book)
    warnings: list[str] = []
    try:
        manuscript = checking.check_manuscript(manuscript, warnings.append)
    finally:
        print_problems("warning", warnings)
    omitted_texts = [text for chapter in manuscript.chapters for text in chapter.left_out]
    if as_json:
        rows = {"names": _unknown_words_json(manuscript)} if names else {}
        out.print_json(data={**_check_json(manuscript, omitted_texts), **rows})
        return
    if chapter:
        _print_spoken(manuscript, chapter)
    if spoken:
        _print_changes(manuscript)
    if names:
        _print_unknown_words(manuscript)
    _print_left_out(omitted_texts)
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
    # chunks in unison are counted once
    utterances = [utterance for utterance in manuscript.spoken if not utterance.with_before]
    character_count = sum(count_visible_characters(u.chunk.text) for u in utterances)
    word_count = sum(count_words(u.chunk.text) for u in utterances)
    seconds = sum(u.expected for u in utterances)
    speakers = {utterance.chunk.speaker for utterance in manuscript.spoken}
    cast = manuscript.project.speakers  # who plays others needs no lines of its own
    silent = [name for name, speaker in cast.items() if name not in speakers and not speaker.plays]
    out.print(
        f"{manuscript.project.manifest.title}: "
        f"{pluralize(len(manuscript.chapters), 'chapter')}, {pluralize(len(speakers), 'speaker')}, "
        f"{pluralize(len(manuscript.spoken), 'chunk')}, about {format_clock(seconds)}"
    )
    out.print(f"{word_count} words; of {counts['source']} characters {character_count} are spoken, "
              f"{counts['left_out']} left out")  # fmt: skip
    if silent:
        out.print(f"speakers without lines: {', '.join(silent)}")
    specs = book_engines.specs_of(manuscript.project)
    if len({specs[name].name for name in speakers}) > 1:
        specs_in_use = {name: spec for name, spec in specs.items() if name in speakers}
        out.print(f"spoken by {book_engines.describe_engines(specs_in_use)}")


def _print_left_out(omitted_texts: Sequence[OmittedText]) -> None:
    """Prints a line for each reason to leave out text, with its first place."""
    texts_by_reason: dict[str, list[OmittedText]] = {}
    for text in dict.fromkeys(omitted_texts):  # a file may be two chapters
        texts_by_reason.setdefault(text.reason, []).append(text)
    for reason, (first, *others) in texts_by_reason.items():
        hidden_note = (
            f" (and {pluralize(len(others), 'more place')}; --json lists all)" if others else ""
        )
        location = f"{display_path(first.path)}:{first.line}"
        out.print(f"{location}: left out, {reason}{hidden_note}: {shorten(first.text)}")


def _print_spoken(manuscript: Manuscript, chapters: Sequence[str]) -> None:
    """Prints the spoken text of all chunks of some chapters, with the speaker where it changes."""
    from narrator.pipeline import book_plan
    from narrator.pipeline.options import RenderOptions

    numbers = book_plan.select(manuscript, RenderOptions(chapters=tuple(chapters))).chapters
    speaker = ""
    for utterance in manuscript.spoken:
        if utterance.chapter in numbers:
            name = "" if utterance.chunk.speaker == speaker else f"{utterance.chunk.speaker}: "
            speaker = utterance.chunk.speaker
            out.print(f"{utterance.id}  {name}{utterance.spoken.text}")


def _print_changes(manuscript: Manuscript) -> None:
    """Prints changes from written to spoken words, with first places, then counts of marks that
    are said as another mark, a pause or nothing."""
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
                mark = "".join(change.written.split())
                marks[mark or ("space" if change.written else "stop added")] += 1
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
        out.print(f"marks that are simplified, without words: {'  '.join(mark_counts)}")


def _print_unknown_words(manuscript: Manuscript) -> None:
    from narrator.pipeline.unknown_words import find_unknown_words

    unknown_words, languages_without_list = find_unknown_words(manuscript)
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
    elif len(languages_without_list) < len({u.language for u in manuscript.spoken}):
        out.print("no word that the lists do not know")
    if languages_without_list:
        out.print(f"no list of words for {', '.join(languages_without_list)}")


def _excerpt_around(unknown_word: UnknownWord) -> str:
    """Returns a word with 25 characters of its context on both sides."""
    text = unknown_word.first.chunk.text
    begin, end = max(0, unknown_word.offset - 25), unknown_word.offset + len(unknown_word.word) + 25
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

    specs = book_engines.specs_of(manuscript.project)
    return {
        "title": manuscript.project.manifest.title,
        "engines": {name: spec.name for name, spec in specs.items()},
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
