"""Builds the pages of a word processor file from its main text, its properties and its remarks.

Knows no format. A file's properties are taken without values that programs write.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from lxml import etree

from manuscripts.chapters import OFFICE
from manuscripts.errors import ImportFailed
from manuscripts.readers import markup
from manuscripts.readers.facts import Metadata, chosen_author, chosen_title, valid_language
from manuscripts.readers.office.classify import classify_paragraphs
from manuscripts.readers.office.writer import TextWriter
from manuscripts.readers.pages import Pages, SourcePage
from textbase.errors import Problem


def properties_of(root: etree._Element) -> dict[str, str]:
    """Returns a file's properties by their names in Dublin Core, from XML."""
    names = ("title", "initial-creator", "creator", "language", "description", "subject")
    return {name: " ".join((root.findtext(f"{{*}}{name}") or "").split()) for name in names}


def metadata_of(properties: Mapping[str, str]) -> Metadata:
    """Returns a file's properties as metadata, without values that a program wrote."""
    description = properties.get("description")
    authors = properties.get("initial-creator") or properties.get("creator", "")
    return Metadata(
        title=chosen_title(properties.get("title", "")),
        authors=tuple(filter(None, map(chosen_author, authors.split(";")))),
        language=valid_language(properties.get("language")),
        description=description if description and "python-docx" not in description else None,
        genre=properties.get("subject") or None,
    )


def build_pages(
    path: Path,
    writer: TextWriter,
    metadata: Metadata,
    *,
    default_language: str | None,
    side_pages: Sequence[SourcePage],
    character_count: int | None,
    remarks: Sequence[str],
) -> Pages:
    """Returns the main text with its headings and title page marked, and the texts beside it.

    `default_language` is that of unmarked words, `character_count` the number in the source, if its
    reader counted them independently of what it wrote. Raises ImportFailed.
    """
    root = writer.finish(metadata.language, default_language)
    try:
        for page in (root, *(side_page.root for side_page in side_pages)):
            markup.check_depth(page)
    except markup.TooDeep as error:
        raise ImportFailed(Problem(path, None, f"broken: {error}")) from None
    first_page = classify_paragraphs(writer.body, writer.looks)
    likely_authors = (first_page.likely_author,) if first_page.likely_author else ()
    # An author sees the first page, unlike the properties.
    facts = replace(
        metadata,
        title=first_page.title or metadata.title or first_page.likely_title,
        subtitle=first_page.subtitle,
        authors=first_page.authors or metadata.authors or likely_authors,
    )
    count = first_page.guessed_headings
    subject = "1 heading has no style of headings; it was" if count == 1 else (
        f"{count} headings have no style of headings; they were"
    )  # fmt: skip
    guesses = [f"{subject} known by {'its' if count == 1 else 'their'} looks and words."]
    return Pages(
        [SourcePage("document", root), *side_pages],
        facts,
        rules=OFFICE,
        characters=writer.characters
        if character_count is None
        else character_count + writer.added_characters,
        remarks=[*(guesses if count else ()), *remarks],
    )


def side_page(name: str, text: str | etree._Element, reason: str) -> SourcePage:
    """Returns a text beside the main text, or the body with it, as a page that is left out."""
    root = etree.Element("html")
    if isinstance(text, str):
        etree.SubElement(etree.SubElement(root, "body"), "p").text = " ".join(text.split())
    else:
        root.append(text)
    return SourcePage(name, root, reason)
