"""EPUB 2 and 3 -> a book, every word of every document in a chapter or in what is left out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from narrator.importers import hyphens
from narrator.importers.archive import Archive, resolve
from narrator.importers.blocks import Block
from narrator.importers.book import Book, Choices, Skipped, file_name, stem
from narrator.importers.chapters import CHOSEN, MARKUP, ChapterRule, divide
from narrator.importers.chapters.outline import ContentsEntry, Outline
from narrator.importers.cover import read_cover
from narrator.importers.languages import keep_foreign
from narrator.importers.matter import BookContext, kind_of_type
from narrator.importers.package import LANGUAGE, Metadata, Package, TocEntry, read_package
from narrator.importers.xhtml import Document, note_targets, read_document

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def read_epub(path: Path, choices: Choices) -> Book:
    """The book in an EPUB. Raises ImportFailed, Slow."""
    with Archive(path) as archive:
        package = read_package(archive)
        remarks = list(package.remarks)
        documents = _documents(archive, package, remarks)
        reading = list(dict.fromkeys(item.path for item, linear in package.spine if linear))
        facts = package.metadata
        context = BookContext(
            facts.title or stem(path), (facts.subtitle or "", *facts.authors, facts.publisher or "")
        )
        language = facts.language or _language(documents)
        remarks += _foreign(documents, choices.language or language or "en")
        outline = _outline([documents.get(path) for path in reading], package, context)
        outline.choices = choices
        divided = divide(outline, _rules(choices))
        outside = _outside(package, documents, set(reading), len(divided.chapters))
        if not divided.chapters:
            raise archive.failed(_nothing_to_read((*divided.left_out, *outside)))
        remarks += _missing(facts)
        cover, told = read_cover(archive, package.cover) if package.cover else (None, None)
        remarks += filter(None, [told])
        book = Book(
            title=context.title,
            authors=facts.authors or ("Unknown",),
            language=language,
            chapters=tuple(divided.chapters),
            left_out=(*divided.left_out, *outside),
            source=file_name(path),
            characters=sum(document.characters for document in documents.values()),
            identifiers=facts.identifiers,
            cover=cover,
            subtitle=facts.subtitle,
            series=facts.series,
            series_part=facts.series_part,
            publisher=facts.publisher,
            date=facts.date,
            description=facts.description,
            genre=facts.genre,
            copyright=facts.copyright,
            speakers=divided.speakers,
            remarks=(*remarks, *archive.remarks, *divided.remarks),
        )
        if lost := book.characters - book.characters_kept - book.characters_left_out:
            raise archive.failed(f"{lost} characters would be lost; please report this book")
        return book


def _foreign(documents: dict[str, Document], main: str) -> list[str]:
    """Mark what is in another language than the book's; a remark on which, if any."""
    blocks = [block for document in documents.values() for block in document.blocks]
    others = keep_foreign(blocks, main)
    if not others:
        return []
    return [f"What is marked as {', '.join(others)} stands between [language: …] marks."]


def _rules(choices: Choices) -> tuple[ChapterRule, ...]:
    return CHOSEN if choices.heading else MARKUP


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


def _outline(
    documents: Sequence[Document | None], package: Package, context: BookContext
) -> Outline:
    """The blocks of a book's linear reading order, with what its contents and guide point to."""
    blocks: list[Block] = []
    places: dict[tuple[str, str], int] = {}
    """Document and id of everything that can be pointed to; "" is the document itself."""
    for number, document in enumerate(documents):
        if document is None or not document.blocks:
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

    pointed_at = ((place_of(path, fragment), types) for types, path, fragment in package.guide)
    landmarks = {
        place: kind
        for place, types in pointed_at
        if place is not None and (kind := kind_of_type(types))
    }
    return Outline(blocks, context, entries(package.contents), landmarks)


def _documents(archive: Archive, package: Package, remarks: list[str]) -> dict[str, Document]:
    """All XHTML documents of the book by name, those of the reading order first."""
    items = [item for item, _ in package.spine] + list(package.items)
    names = [found for item in items if item.is_document and (found := archive.find(item.path))]
    roots = {}
    for name in dict.fromkeys(names):
        roots[name], well_formed = archive.document(name)
        if not well_formed:
            remarks.append(f"{name} is not well-formed; it was read as browsers read it.")
    notes: dict[str, set[str]] = {}
    for name, root in roots.items():
        for base, href in note_targets(root, name):
            target, fragment = resolve(base, href)
            notes.setdefault(archive.find(target) or target, set()).add(fragment)
    texts = ["".join(root.itertext()) for root in roots.values()]
    broken = any(map(hyphens.BROKEN.search, texts))
    known = hyphens.words_of("\n".join(texts)) if broken else frozenset()
    return {
        name: read_document(root, name, frozenset(notes.get(name, ())), _is_internal, known)
        for name, root in roots.items()
    }


def _is_internal(href: str) -> bool:
    return bool(href) and not _SCHEME.match(href)


def _outside(
    package: Package, documents: dict[str, Document], reading: set[str], place: int
) -> list[Skipped]:
    """What stands in no reading order: the navigation document, pop-ups, extras."""
    return [
        Skipped(
            name,
            document.title,
            "table of contents" if name == package.nav else "outside of the reading order",
            document.characters,
            sum(block.words for block in document.blocks),
            place=place,
        )
        for name, document in documents.items()
        if name not in reading and document.characters
    ]


def _language(documents: dict[str, Document]) -> str:
    tags = (document.language for document in documents.values())
    return next((tag for tag in tags if tag and LANGUAGE.fullmatch(tag)), "")
