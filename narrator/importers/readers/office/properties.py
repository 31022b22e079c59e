"""What a word processor's file says of itself: title, author, language, without what programs say.

Knows no format.
"""

from __future__ import annotations

from dataclasses import replace

from narrator.importers.readers.facts import LANGUAGE, Metadata, author_of, title_of
from narrator.importers.readers.office.looks import FirstPage


def facts_of(title: str, authors: str, language: str, description: str, subject: str) -> Metadata:
    """What a file's properties say, where no program wrote it."""
    return Metadata(
        title=title_of(title),
        authors=tuple(filter(None, map(author_of, authors.split(";")))),
        language=language if LANGUAGE.fullmatch(language) else None,
        description=description if description and "python-docx" not in description else None,
        genre=subject or None,
    )


def taken(facts: Metadata, said: FirstPage) -> Metadata:
    """The facts, with what the first page says, which an author sees and properties do not."""
    likely = (said.likely_author,) if said.likely_author else ()
    return replace(
        facts,
        title=said.title or facts.title or said.likely_title,
        subtitle=said.subtitle,
        authors=said.authors or facts.authors or likely,
    )


def guessed(said: FirstPage) -> list[str]:
    """A remark on headings that only look so, if there are any."""
    if said.guessed == 1:
        return ["1 heading has no style of headings; it was known by its looks and words."]
    what = "headings have no style of headings; they were known by their looks and words."
    return [f"{said.guessed} {what}"] if said.guessed else []
