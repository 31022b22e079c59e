"""Turns documents of XHTML, and the source's own facts, into a book.

The path of every format that has markup: its reader makes `Pages`; here they become blocks,
chapters, and what is left out. Knows no format.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lxml import etree

from manuscripts import hyphens
from manuscripts.blocks import Block
from manuscripts.book import Book, Choices, CoverImage, Skipped, title_from_file_name
from manuscripts.chapters import CHOSEN, MARKUP, ChapterRules, divide
from manuscripts.chapters.outline import ContentsEntry, Outline
from manuscripts.languages import keep_foreign_languages
from manuscripts.matter import BookContext, kind_of_type
from manuscripts.readers.binding import bind_book
from manuscripts.readers.facts import GuideReference, Metadata, TocEntry, valid_language
from manuscripts.readers.references import note_targets
from manuscripts.readers.xhtml import Document, read_document


@dataclass(frozen=True, slots=True)
class SourcePage:
    """One document of a source."""

    path: str
    """Name that links and the table of contents use, and messages show."""
    root: etree._Element
    """XHTML, its elements in any namespace. An `OMISSION_ATTRIBUTE` leaves its element out, for
    the reason that it states; a `SOURCE_ATTRIBUTE` names the place of its element and of what
    follows."""
    omission_reason: str | None = None
    """Reason why it is outside of the reading order, if it is."""


@dataclass(frozen=True, slots=True)
class Pages:
    """The documents of a source and its own facts, as its reader found them."""

    pages: Sequence[SourcePage]
    """Pages of the reading order first, in that order."""
    facts: Metadata = Metadata()  # noqa: RUF009  # frozen
    contents: Sequence[TocEntry] = ()
    guide: Sequence[GuideReference] = ()
    rules: ChapterRules = MARKUP
    is_script: bool = False
    """True if the source marks speakers' names and directions."""
    characters: int | None = None
    """Visible characters of the source, if its reader counted them independently of the pages."""
    cover: CoverImage | None = None
    remarks: Sequence[str] = ()


def read_pages(path: Path, source: Pages, choices: Choices) -> Book:
    """Returns the book in a source's documents. Raises ImportFailed, SlowPattern."""
    documents = _read_documents(source.pages, choices)
    pairs = list(zip(source.pages, documents, strict=True))
    read_documents = [document for page, document in pairs if page.omission_reason is None]
    outline = _build_outline(read_documents, source, path)
    outline.choices = choices
    tags = (source.facts.language, *(valid_language(d.language) for d in documents))
    language = next(filter(None, tags), "")
    language_remarks = _mark_foreign(documents, choices.language or language or "en")
    divided_book = divide(outline, CHOSEN if choices.heading else source.rules)
    book = bind_book(
        path,
        divided_book,
        replace(_add_text_facts(source.facts, outline), language=language),
        sum(document.characters for document in documents),
        left_out=[
            Skipped(
                document.path,
                document.title,
                page.omission_reason,
                document.characters,
                sum(block.words for block in document.blocks),
                place=len(divided_book.chapters),
            )
            for page, document in pairs
            if page.omission_reason is not None and document.characters
        ],
        cover=source.cover,
        remarks=(*source.remarks, *language_remarks),
    )
    return _check_characters(book, source.characters)


def _add_text_facts(facts: Metadata, outline: Outline) -> Metadata:
    """Returns the facts, with title and author from the text if they are missing."""
    title, author = facts.title or outline.facts.get("title"), outline.facts.get("author")
    return replace(facts, title=title, authors=facts.authors or ((author,) if author else ()))


def _check_characters(book: Book, characters: int | None) -> Book:
    """Returns the book, with a remark if characters were lost or added."""
    lost_characters = 0 if characters is None else characters - book.characters
    if not lost_characters:
        return book
    change = "lost" if lost_characters > 0 else "added"
    message = f"{abs(lost_characters):,} characters were {change} on the way in"
    return replace(
        book, remarks=(*book.remarks, f"{message}: compare, and please report this book.")
    )


def _mark_foreign(documents: Sequence[Document], book_language: str) -> list[str]:
    """Marks blocks in languages other than the book's; returns a remark on them, if any."""
    blocks = [block for document in documents for block in document.blocks]
    languages = keep_foreign_languages(blocks, book_language)
    if not languages:
        return []
    return [f"What is marked as {', '.join(languages)} stands between [language: …] marks."]


def _build_outline(documents: Sequence[Document], source: Pages, path: Path) -> Outline:
    """Returns the blocks of the reading order, with the targets of contents and guide."""
    facts = source.facts
    other_facts = (facts.subtitle or "", *facts.authors, facts.publisher or "")
    context = BookContext(facts.title or title_from_file_name(path), other_facts)
    blocks: list[Block] = []
    index_by_place: dict[tuple[str, str], int] = {}
    """Index of the block at each place, a document and an id in it, or "" for its beginning."""
    for document_number, document in enumerate(documents):
        if not document.blocks:
            continue
        index_by_place[document.path, ""] = len(blocks)
        for index, block in enumerate(document.blocks, len(blocks)):
            block.document = document_number
            for anchor in block.anchors:
                index_by_place.setdefault((document.path, anchor), index)
        blocks += document.blocks
        for anchor in document.trailing:
            index_by_place.setdefault((document.path, anchor), len(blocks))

    def index_of(path: str, fragment: str) -> int | None:
        index = index_by_place.get((path, fragment), index_by_place.get((path, ""), len(blocks)))
        return index if index < len(blocks) else None

    def entries(toc_entries: Sequence[TocEntry]) -> tuple[ContentsEntry, ...]:
        """Returns entries with the index of the block that each points to."""
        return tuple(
            ContentsEntry(
                entry.title,
                index_of(entry.path, entry.fragment),
                (entry.path, entry.fragment) in index_by_place,
                entries(entry.children),
            )
            for entry in toc_entries
        )

    landmarks = {
        block_index: kind
        for place in source.guide
        if (block_index := index_of(place.path, place.fragment)) is not None
        and (kind := kind_of_type(place.types))
    }
    return Outline(blocks, context, entries(source.contents), landmarks, is_script=source.is_script)


def _read_documents(pages: Sequence[SourcePage], choices: Choices) -> list[Document]:
    """Returns the blocks of all pages."""
    note_ids: dict[str, set[str]] = {}
    """Ids of notes by the path of their page, in lower case."""
    called_targets: set[tuple[str, str]] = set()
    for page in pages:
        for target, fragment in note_targets(page.root, page.path, called_targets):
            note_ids.setdefault(target.casefold(), set()).add(fragment)
    words = _known_words([page.root for page in pages])
    return [
        read_document(
            page.root,
            page.path,
            frozenset(note_ids.get(page.path.casefold(), ())),
            words,
            choices,
        )
        for page in pages
    ]


def _known_words(roots: Sequence[etree._Element]) -> Collection[str]:
    """Returns the words of a book, needed to join divided words; empty if there are none of
    these."""
    texts = ["".join(root.itertext()) for root in roots]
    has_broken_words = any(map(hyphens.DIVIDED_WORD.search, texts))
    return hyphens.words_of("\n".join(texts)) if has_broken_words else frozenset()
