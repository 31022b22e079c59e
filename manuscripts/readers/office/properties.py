"""Metadata from the properties of word processor files, without values that programs write.

Knows no format.
"""

from __future__ import annotations

from dataclasses import replace

from manuscripts.readers.facts import LANGUAGE_TAG, Metadata, author_of, title_of
from manuscripts.readers.office.looks import FirstPage


def metadata_of(
    title: str, authors: str, language: str, description: str, subject: str
) -> Metadata:
    """Returns a file's properties as metadata, without values that a program wrote."""
    return Metadata(
        title=title_of(title),
        authors=tuple(filter(None, map(author_of, authors.split(";")))),
        language=language if LANGUAGE_TAG.fullmatch(language) else None,
        description=description if description and "python-docx" not in description else None,
        genre=subject or None,
    )


def add_first_page(metadata: Metadata, first_page: FirstPage) -> Metadata:
    """Adds what the first page says, which is preferred: an author sees it, unlike properties."""
    likely_authors = (first_page.likely_author,) if first_page.likely_author else ()
    return replace(
        metadata,
        title=first_page.title or metadata.title or first_page.likely_title,
        subtitle=first_page.subtitle,
        authors=first_page.authors or metadata.authors or likely_authors,
    )


def guessed_heading_remarks(first_page: FirstPage) -> list[str]:
    """Returns a remark on the number of headings known by their look alone, if there are any."""
    if first_page.guessed_headings == 1:
        return ["1 heading has no style of headings; it was known by its looks and words."]
    explanation = "headings have no style of headings; they were known by their looks and words."
    return [f"{first_page.guessed_headings} {explanation}"] if first_page.guessed_headings else []
