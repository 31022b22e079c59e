"""A source's own facts, in any format: title, authors, contents.

Programs write titles and authors that nobody has chosen; these are filtered here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from manuscripts.book import word_set

_LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")


def valid_language(tag: str | None) -> str | None:
    """Returns a language tag with hyphens; None for what is not one, or for an undetermined
    language."""
    tag = (tag or "").replace("_", "-")
    return tag if _LANGUAGE_TAG.fullmatch(tag) and tag != "und" else None


@dataclass(frozen=True, slots=True)
class TocEntry:
    """An entry of the table of contents."""

    title: str
    path: str
    fragment: str
    children: tuple[TocEntry, ...] = ()


class GuideReference(NamedTuple):
    """A place in the source, and what kind of matter begins there."""

    types: str
    """Words such as `toc` or `dedication`."""
    path: str
    fragment: str


@dataclass(frozen=True, slots=True)
class Metadata:
    """Facts of the book by its source; texts are on one line."""

    title: str | None = None
    subtitle: str | None = None
    authors: tuple[str, ...] = ()
    language: str | None = None
    identifiers: dict[str, str] = field(default_factory=dict)
    publisher: str | None = None
    date: str | None = None
    description: str | None = None
    genre: str | None = None
    copyright: str | None = None
    series: str | None = None
    series_part: str | None = None


GUTENBERG_START, GUTENBERG_END = (
    re.compile(rf"\*\*\* ?{edge} OF (?:THE|THIS) PROJECT GUTENBERG EBOOK", re.IGNORECASE)
    for edge in ("START", "END")
)
"""Lines around the text of a book of Project Gutenberg."""
GUTENBERG_NOTICE = "notice of Project Gutenberg"


# -- what programs write ---------------------------------------------------------------------------

_GENERATED_TITLE = re.compile(
    r"(document|dokument|untitled|unbenannt|sans titre|normal|template|word|new|title)[\s\d]*"
    r"(document)?\d*|microsoft word\b.*|powerpoint.*|[\W_]*|"
    r".*\.(docx?|dotx?|rtf|odt|txt|pages|indd|qxd|tex|pdf|wpd|dvi|html?)",
    re.IGNORECASE,
)
_GENERATED_AUTHOR = re.compile(
    r"python-docx|docx4j|apache poi|windows user|user|admin\w*|owner|un-named|unknown|author|"
    r"default|anonymous|[\W\d_]*|"
    r"(openoffice|libreoffice|microsoft|latex|tex|pdftex|calibre|adobe|acrobat)\b.*",
    re.IGNORECASE,
)


def chosen_title(text: str) -> str | None:
    """Returns the title in a file's properties; None for a generated one, such as `Document1`."""
    text = " ".join(text.split())[:_MAX_LENGTH]
    return text if text and not _GENERATED_TITLE.fullmatch(text) else None


def chosen_author(text: str) -> str | None:
    """Returns a name in a file's properties; None for that of a program or of a generic user."""
    text = " ".join(text.split())[:_MAX_LENGTH]
    return text if text and not _GENERATED_AUTHOR.fullmatch(text) else None


_MAX_LENGTH = 300
"""Characters of a title or a name."""


# -- genres ----------------------------------------------------------------------------------------

_GENRES = word_set(
    "fiction fantasy mystery thriller suspense horror romance comedy humor humour drama poetry "
    "biography autobiography memoir memoirs history philosophy religion travel essays satire "
    "adventure crime western westerns nonfiction non-fiction mythology folklore politics "
    "psychology science business economics cooking self-help novel novella detective"
)
_GENRE_PHRASE = re.compile(
    r"(?:[^\W\d_’'-]+[ ’'-]){1,3}(?:fiction|stories|novels?|tales|poetry|poems|drama|plays|essays|"
    r"literature|fantasy|mysteries)",
    re.IGNORECASE,
)

_SUBJECT_SEPARATOR = re.compile(r"\s*(?:--|—|[;/>|])\s*")


def genre_of(subjects: Iterable[str]) -> str | None:
    """Returns the genre among a library's subjects, in the form that players use: `Sea stories`, or
    `Fiction` of `Chickens -- Fiction`; None if they only name topics."""
    texts = [" ".join(subject.split()) for subject in subjects]
    parts = (part for text in texts for part in _SUBJECT_SEPARATOR.split(text))
    for text in (*texts, *parts):
        if text.casefold() in _GENRES or _GENRE_PHRASE.fullmatch(text):
            return text.capitalize() if text.isupper() else text
    return None
