"""Makes a book of chapters and facts: where the paths of all formats end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

from manuscripts.book import Book, CoverImage, Skipped, file_name, title_from_file_name
from manuscripts.chapters.assembly import DividedBook
from manuscripts.errors import ImportFailed
from manuscripts.readers.facts import Metadata
from textbase.errors import Problem


def bind_book(
    path: Path,
    divided: DividedBook,
    facts: Metadata,
    characters: int,
    *,
    left_out: Iterable[Skipped] = (),
    cover: CoverImage | None = None,
    remarks: Iterable[str] = (),
) -> Book:
    """Returns the book of a file: its chapters, and what else was left out.

    `characters` is the number that the source has, counted before it was divided. Raises
    ImportFailed if any are missing.
    """
    known_facts = {fact.name: getattr(facts, fact.name) for fact in fields(facts)}
    book = Book(
        **known_facts
        | {"title": facts.title or title_from_file_name(path), "language": facts.language or ""},
        is_titled=facts.title is not None,
        chapters=tuple(divided.chapters),
        left_out=(*divided.left_out, *left_out),
        source=file_name(path),
        characters=characters,
        cover=cover,
        speakers=divided.speakers,
        dialogue=divided.dialogue,
        remarks=(*remarks, *divided.remarks),
    )
    if lost_characters := book.characters - book.characters_kept - book.characters_left_out:
        message = f"{lost_characters} characters would be lost; please report this book"
        raise ImportFailed(Problem(path, None, message))
    return book
