"""What a word processor's file says of itself: title, author, language, without what programs say.

Knows no format.
"""

from __future__ import annotations

import re
from dataclasses import replace

from narrator.importers.readers.ebook.package import LANGUAGE, Metadata
from narrator.importers.readers.office.looks import FirstPage

_RUBBISH = re.compile(
    r"(document|dokument|untitled|unbenannt|sans titre|normal|template|word|new|title)[\s\d]*"
    r"(document)?\d*|microsoft word\b.*|.*\.(docx?|dotx?|rtf|odt|txt|pages)|powerpoint.*",
    re.IGNORECASE,
)
_PROGRAMS = re.compile(
    r"python-docx|docx4j|apache poi|microsoft office user|windows user|user|admin\w*|owner|"
    r"un-named|unknown|author|openoffice.*|libreoffice.*|microsoft.*",
    re.IGNORECASE,
)


def facts_of(title: str, authors: str, language: str, description: str, subject: str) -> Metadata:
    """What a file's properties say, where no program wrote it."""
    return Metadata(
        title=title if title and not _RUBBISH.fullmatch(title) else None,
        authors=tuple(
            one for a in authors.split(";") if (one := a.strip()) and not _PROGRAMS.fullmatch(one)
        ),
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
