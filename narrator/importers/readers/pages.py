"""Documents of XHTML, and what a source says of itself -> a book.

The one path of every format that has markup: its reader makes `Pages`, here they become blocks,
chapters, and what is left out. Knows no format.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lxml import etree

from narrator.errors import ImportFailed, Problem
from narrator.importers import hyphens
from narrator.importers.blocks import Block
from narrator.importers.book import Book, Choices, CoverImage, Skipped, file_name, stem
from narrator.importers.chapters import CHOSEN, MARKUP, ChapterRule, divide
from narrator.importers.chapters.outline import ContentsEntry, Outline
from narrator.importers.languages import keep_foreign
from narrator.importers.matter import BookContext, kind_of_type
from narrator.importers.readers.facts import LANGUAGE, Metadata, TocEntry
from narrator.importers.readers.references import note_targets
from narrator.importers.readers.xhtml import Document, read_document

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


@dataclass(frozen=True, slots=True)
class SourcePage:
    """One document of a source."""

    path: str
    """Its name, by which links and the table of contents mean it, and which is told."""
    root: etree._Element
    """XHTML, its elements in any namespace. What carries `elements.LEFT` is left out, for what the
    attribute says; `elements.SOURCE` says where an element and what follows it stands."""
    aside: str | None = None
    """Why it stands outside of the reading order, if it does."""


@dataclass(frozen=True, slots=True)
class Pages:
    """What a reader makes of a source: its documents, and what it says of itself."""

    pages: Sequence[SourcePage]
    """Those of the reading order first, in it."""
    facts: Metadata = Metadata()  # noqa: RUF009  # frozen
    contents: Sequence[TocEntry] = ()
    guide: Sequence[tuple[str, str, str]] = ()
    """Type, document and id of what the source says is there."""
    rules: tuple[ChapterRule, ...] = MARKUP
    is_script: bool = False
    """Whether the source itself says which paragraphs are speakers' names and directions."""
    characters: int | None = None
    """Visible characters of the source, where its reader counted them apart from the pages."""
    cover: CoverImage | None = None
    remarks: Sequence[str] = ()


def read_pages(path: Path, source: Pages, choices: Choices) -> Book:
    """The book in a source's documents. Raises ImportFailed, Slow."""
    documents = _documents(source.pages, choices)
    aside = {page.path: page.aside for page in source.pages if page.aside is not None}
    outline = _outline([d for name, d in documents.items() if name not in aside], source, path)
    outline.choices = choices
    language = source.facts.language or _language(documents)
    foreign = _foreign(documents, choices.language or language or "en")
    divided = divide(outline, CHOSEN if choices.heading else source.rules)
    left_out = (*divided.left_out, *_outside(documents, aside, len(divided.chapters)))
    if not divided.chapters:
        raise ImportFailed(Problem(path, None, _nothing_to_read(left_out)))
    facts = _with_said(source.facts, outline)
    book = Book(
        title=facts.title or stem(path),
        authors=facts.authors or ("Unknown",),
        language=language,
        chapters=tuple(divided.chapters),
        left_out=left_out,
        source=file_name(path),
        characters=sum(document.characters for document in documents.values()),
        identifiers=facts.identifiers,
        cover=source.cover,
        subtitle=facts.subtitle,
        series=facts.series,
        series_part=facts.series_part,
        publisher=facts.publisher,
        date=facts.date,
        description=facts.description,
        genre=facts.genre,
        copyright=facts.copyright,
        is_titled=facts.title is not None,
        speakers=divided.speakers,
        dialogue=divided.dialogue,
        remarks=(*source.remarks, *foreign, *_missing(facts), *divided.remarks),
    )
    if lost := book.characters - book.characters_kept - book.characters_left_out:
        what = f"{lost} characters would be lost; please report this book"
        raise ImportFailed(Problem(path, None, what))
    return _compared(book, source.characters)


def _with_said(facts: Metadata, outline: Outline) -> Metadata:
    """The facts, with what the text says of title and author where they do not."""
    title, author = facts.title or outline.said.get("title"), outline.said.get("author")
    return replace(facts, title=title, authors=facts.authors or ((author,) if author else ()))


def _compared(book: Book, characters: int | None) -> Book:
    """The book, with a remark if its pages do not hold what the source was counted to have."""
    lost = 0 if characters is None else characters - book.characters
    if not lost:
        return book
    what = f"{abs(lost):,} characters were {'lost' if lost > 0 else 'added'} on the way in"
    return replace(book, remarks=(*book.remarks, f"{what}: compare, and please report this book."))


def _foreign(documents: dict[str, Document], main: str) -> list[str]:
    """Mark what is in another language than the book's; a remark on which, if any."""
    blocks = [block for document in documents.values() for block in document.blocks]
    others = keep_foreign(blocks, main)
    if not others:
        return []
    return [f"What is marked as {', '.join(others)} stands between [language: …] marks."]


def _nothing_to_read(left_out: Sequence[Skipped]) -> str:
    what = ", ".join(dict.fromkeys(item.reason for item in left_out))
    return f"has no text to read aloud{f' (only {what})' if what else ''}"


def _missing(facts: Metadata) -> list[str]:
    """Remarks on what a book does not say of itself."""
    said = {
        "title; the file's name stands for it": facts.title,
        "author": facts.authors,
    }
    return [f"The book does not say its {fact}." for fact in said if not said[fact]]


def _outline(documents: Sequence[Document], source: Pages, path: Path) -> Outline:
    """The blocks of a book's reading order, with what its contents and guide point to."""
    facts = source.facts
    others = (facts.subtitle or "", *facts.authors, facts.publisher or "")
    context = BookContext(facts.title or stem(path), others)
    blocks: list[Block] = []
    places: dict[tuple[str, str], int] = {}
    """Document and id of everything that can be pointed to; "" is the document itself."""
    for number, document in enumerate(documents):
        if not document.blocks:
            continue
        places[document.path, ""] = len(blocks)
        for place, block in enumerate(document.blocks, len(blocks)):
            block.document = number
            for anchor in block.anchors:
                places.setdefault((document.path, anchor), place)
        blocks += document.blocks
        for anchor in document.trailing:
            places.setdefault((document.path, anchor), len(blocks))

    def place_of(path: str, fragment: str) -> int | None:
        pointed = places.get((path, fragment), places.get((path, ""), len(blocks)))
        return pointed if pointed < len(blocks) else None

    def entries(listed: Sequence[TocEntry]) -> tuple[ContentsEntry, ...]:
        return tuple(
            ContentsEntry(
                entry.title,
                place_of(entry.path, entry.fragment),
                (entry.path, entry.fragment) in places,
                entries(entry.children),
            )
            for entry in listed
        )

    pointed_at = ((place_of(path, fragment), types) for types, path, fragment in source.guide)
    landmarks = {
        place: kind
        for place, types in pointed_at
        if place is not None and (kind := kind_of_type(types))
    }
    return Outline(blocks, context, entries(source.contents), landmarks, is_script=source.is_script)


def _documents(pages: Sequence[SourcePage], choices: Choices) -> dict[str, Document]:
    """The blocks of all pages, by name."""
    known = {page.path.casefold(): page.path for page in pages}
    notes: dict[str, set[str]] = {}
    called: set[tuple[str, str]] = set()
    for page in pages:
        for target, fragment in note_targets(page.root, page.path, called):
            notes.setdefault(known.get(target.casefold(), target), set()).add(fragment)
    words = _known_words([page.root for page in pages])
    return {
        page.path: read_document(
            page.root, page.path, frozenset(notes.get(page.path, ())), _is_internal, words, choices
        )
        for page in pages
    }


def _known_words(roots: Sequence[etree._Element]) -> Collection[str]:
    """The words of a book, by which those are joined that a line's end parts, if any are."""
    texts = ["".join(root.itertext()) for root in roots]
    broken = any(map(hyphens.BROKEN.search, texts))
    return hyphens.words_of("\n".join(texts)) if broken else frozenset()


def _is_internal(href: str) -> bool:
    return bool(href) and not _SCHEME.match(href)


def _outside(
    documents: dict[str, Document], aside: dict[str, str], place: int
) -> tuple[Skipped, ...]:
    """What stands in no reading order: the navigation document, pop-ups, extras."""
    return tuple(
        Skipped(
            name,
            documents[name].title,
            reason,
            documents[name].characters,
            sum(block.words for block in documents[name].blocks),
            place=place,
        )
        for name, reason in aside.items()
        if documents[name].characters
    )


def _language(documents: dict[str, Document]) -> str:
    tags = (document.language for document in documents.values())
    return next((tag for tag in tags if tag and LANGUAGE.fullmatch(tag)), "")
