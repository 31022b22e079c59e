"""EPUB 2 and 3 -> pages: its documents in reading order, and what its package says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from narrator.importers.book import Book, Choices
from narrator.importers.readers.archive import Archive
from narrator.importers.readers.ebook.cover import read_cover
from narrator.importers.readers.ebook.package import Package, read_package
from narrator.importers.readers.pages import Pages, SourcePage, read_pages


def read_epub(path: Path, choices: Choices) -> Book:
    """The book in an EPUB. Raises ImportFailed, Slow."""
    with Archive(path) as archive:
        package = read_package(archive)
        remarks = list(package.remarks)
        pages = list(_pages(archive, package, remarks))
        cover, told = read_cover(archive, package.cover) if package.cover else (None, None)
        remarks += [*filter(None, [told]), *archive.remarks]
    return read_pages(
        path,
        Pages(
            pages,
            package.metadata,
            package.contents,
            package.guide,
            cover=cover,
            remarks=remarks,
        ),
        choices,
    )


def _pages(archive: Archive, package: Package, remarks: list[str]) -> Iterator[SourcePage]:
    """All XHTML documents of the book, those of the reading order first."""
    reading = dict.fromkeys(item.path for item, linear in package.spine if linear)
    items = [item for item, _ in package.spine] + list(package.items)
    names = [found for item in items if item.is_document and (found := archive.find(item.path))]
    ordered = [name for name in reading if name in names]
    for name in dict.fromkeys([*ordered, *names]):
        root, well_formed = archive.document(name)
        if not well_formed:
            remarks.append(f"{name} is not well-formed; it was read as browsers read it.")
        listed = "table of contents" if name == package.nav else "outside of the reading order"
        yield SourcePage(name, root, None if name in reading else listed)
