"""EPUB 2 and 3 -> a book, every word of every document in a chapter or in what is left out."""

from __future__ import annotations

import re
from pathlib import Path

from narrator.importers.archive import Archive, resolve
from narrator.importers.book import Book, Skipped, file_name, stem
from narrator.importers.chapters import divide
from narrator.importers.cover import read_cover
from narrator.importers.matter import BookContext
from narrator.importers.package import LANGUAGE, Package, read_package
from narrator.importers.xhtml import Document, note_targets, read_document

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def read_epub(path: Path) -> Book:
    """The book in an EPUB. Raises ImportFailed."""
    with Archive(path) as archive:
        package = read_package(archive)
        remarks = list(package.remarks)
        documents = _documents(archive, package, remarks)
        reading = [item.path for item, linear in package.spine if linear]
        facts = package.metadata
        title = facts.title or stem(path)
        if not facts.title:
            remarks.append("The book does not say its title; the file's name stands for it.")
        if not facts.authors:
            remarks.append("The book does not say its author.")
        others = (facts.subtitle or "", *facts.authors, facts.publisher or "")
        divided = divide(
            [documents[name] for name in dict.fromkeys(reading) if name in documents],
            package.contents,
            package.guide,
            BookContext(title, others),
        )
        outside = _outside(package, documents, set(reading), len(divided.chapters))
        language = facts.language or _language(documents)
        if language is None:
            remarks.append("The book does not say its language; English is assumed.")
        if not divided.chapters:
            what = ", ".join(dict.fromkeys(s.reason for s in (*divided.left_out, *outside)))
            raise archive.failed(f"has no text to read aloud{f' (only {what})' if what else ''}")
        cover = None
        if package.cover is not None:
            cover, told = read_cover(archive, package.cover)
            remarks += [told] if told else []
        book = Book(
            title=title,
            authors=facts.authors or ("Unknown",),
            language=language or "en",
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
            remarks=(*remarks, *archive.remarks, *divided.remarks),
        )
        lost = book.characters - book.characters_kept - book.characters_left_out
        if lost:
            raise archive.failed(f"{lost} characters would be lost; please report this book")
        return book


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
    return {
        name: read_document(root, name, frozenset(notes.get(name, ())), _is_internal)
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


def _language(documents: dict[str, Document]) -> str | None:
    tags = (document.language for document in documents.values())
    return next((tag for tag in tags if tag and LANGUAGE.fullmatch(tag)), None)
