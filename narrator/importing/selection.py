"""Chooses which parts of an imported book are read: its chapters, and those that were left out.

Takes no word away: a chapter that is not read is left out, with its text, and can be restored.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from manuscripts.book import Book, ImportedChapter, Skipped
from narrator.errors import UsageError
from narrator.importing.proof import proofread

_REASON = "not wanted"
"""Reason for chapters that the user has left out."""


def parts_of(book: Book) -> list[ImportedChapter | Skipped]:
    """Returns chapters, and left-out texts that can be restored, in reading order."""
    parts: list[ImportedChapter | Skipped] = []
    for position in range(len(book.chapters) + 1):
        parts += [
            skipped
            for skipped in book.left_out
            if skipped.place == position and skipped.markdown is not None
        ]
        parts += book.chapters[position : position + 1]
    return parts


def select_parts(book: Book, numbers: Collection[int]) -> Book:
    """Returns the book with these parts as chapters, by their places in `parts_of`.

    Raises UsageError if nothing of it is left.
    """
    chapters: list[ImportedChapter] = []
    left_out: list[Skipped] = []
    for number, part in enumerate(parts_of(book)):
        if number not in numbers:
            left_out.append(_left_out(part, len(chapters)))
        elif isinstance(part, ImportedChapter):
            chapters.append(part)
        else:
            restored_book = proofread(replace(book, chapters=(_restored(part),), left_out=()))
            chapters += restored_book.chapters
            left_out += [
                replace(skipped, place=len(chapters)) for skipped in restored_book.left_out
            ]
    if not chapters:
        raise UsageError("choose at least one chapter with text to read aloud")
    left_out += [
        replace(skipped, place=min(skipped.place, len(chapters)))
        for skipped in book.left_out
        if skipped.markdown is None
    ]
    return replace(book, chapters=tuple(chapters), left_out=tuple(left_out))


def _left_out(part: ImportedChapter | Skipped, place: int) -> Skipped:
    if isinstance(part, Skipped):
        return replace(part, place=place)
    return Skipped(
        part.source, part.title, _REASON, part.characters, part.words, part.markdown, place
    )


def _restored(part: Skipped) -> ImportedChapter:
    return ImportedChapter(
        part.title or part.reason.capitalize(),
        part.markdown or "",
        part.source,
        part.characters,
        part.words,
    )
