"""Reads EPUB 2 and 3: the documents in reading order, and the metadata of the package."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from manuscripts.book import Book, Choices
from manuscripts.readers.archive import Archive
from manuscripts.readers.ebook.cover import read_cover
from manuscripts.readers.ebook.package import Package, read_package
from manuscripts.readers.pages import Pages, SourcePage, read_pages


def read_epub(path: Path, choices: Choices) -> Book:
    """Reads the book in an EPUB. Raises ImportFailed, SlowPattern."""
    with Archive(path) as archive:
        package = read_package(archive)
        remarks = list(package.remarks)
        pages = list(_read_documents(archive, package, remarks))
        cover, cover_remarks = read_cover(archive, package.cover) if package.cover else (None, [])
        remarks += [*cover_remarks, *archive.remarks]
    return read_pages(
        path,
        Pages(
            pages, package.metadata, package.contents, package.guide, cover=cover, remarks=remarks
        ),
        choices,
    )


def _read_documents(archive: Archive, package: Package, remarks: list[str]) -> Iterator[SourcePage]:
    """Yields all XHTML documents of the book, those of the reading order first."""
    reading_order = dict.fromkeys(
        manifest_item.path for manifest_item, linear in package.spine if linear
    )
    manifest_items = [manifest_item for manifest_item, _ in package.spine] + list(package.items)
    names = [
        member_name
        for manifest_item in manifest_items
        if manifest_item.is_document and (member_name := archive.find(manifest_item.path))
    ]
    ordered = [name for name in reading_order if name in names]
    for name in dict.fromkeys([*ordered, *names]):
        root, well_formed = archive.document(name)
        if not well_formed:
            remarks.append(f"{name} is not well-formed; it was read as browsers read it.")
        omission_reason = (
            "table of contents" if name == package.nav else "outside of the reading order"
        )
        yield SourcePage(name, root, None if name in reading_order else omission_reason)
