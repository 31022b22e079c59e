"""Reads the package of an EPUB 2 or 3: metadata, manifest, spine, navigation and guide.

Knows the documents of a book, their order and their metadata, not their content.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from lxml import etree

from manuscripts.readers.archive import Archive, resolve
from manuscripts.readers.elements import element_name, single_line_text, types_of
from manuscripts.readers.facts import (
    GuideReference,
    Metadata,
    TocEntry,
    genre_of,
    valid_language,
)

Refinements = dict[tuple[str, str], str]
"""Facts by the id of the element that they refine, "" for the book itself, and by their name."""

_OPF = "application/oebps-package+xml"
_XHTML = {"application/xhtml+xml", "text/html", "application/html+xml", "text/x-oeb1-document"}
_NCX = "application/x-dtbncx+xml"
_COVER_GUIDES = ("cover", "other.ms-coverimage-standard")
_OPF_NS = "{http://www.idpf.org/2007/opf}"


@dataclass(frozen=True, slots=True)
class ManifestItem:
    """A file of the publication."""

    id: str
    path: str
    media_type: str
    properties: frozenset[str]

    @property
    def is_document(self) -> bool:
        return self.media_type in _XHTML


@dataclass(frozen=True, slots=True)
class Package:
    """A publication, as described by its package document."""

    path: str
    metadata: Metadata
    items: tuple[ManifestItem, ...]
    spine: tuple[tuple[ManifestItem, bool], ...]
    """Documents in reading order, and whether each is part of the linear reading."""
    contents: tuple[TocEntry, ...]
    guide: tuple[GuideReference, ...]
    """Landmarks and guide references."""
    nav: str | None
    """Path of the EPUB 3 navigation document."""
    cover: str | None
    """Path of the declared cover: a picture, or a page that shows one."""
    remarks: tuple[str, ...]


def read_package(archive: Archive) -> Package:
    """Reads the package that an archive's container names. Raises ImportFailed."""
    path = _package_path(archive)
    root = archive.xml(path)
    if element_name(root) != "package":
        raise archive.failed(f"not a package document, but <{element_name(root)}>", path)
    manifest_items = {
        manifest_item.id: manifest_item for manifest_item in _read_manifest(root, path)
    }
    remarks: list[str] = []
    spine = tuple(_read_spine(archive, root, manifest_items, path))
    nav = next((i.path for i in manifest_items.values() if "nav" in i.properties), None)
    guide = list(_read_guide(root, path))
    contents: tuple[TocEntry, ...] = ()
    if nav is not None and (nav_path := archive.find(nav)):
        nav = nav_path
        contents, landmarks = _read_navigation(archive, nav)
        guide = landmarks + guide
    contents = contents or _read_ncx(archive, root, manifest_items)
    if not contents:
        remarks.append("The book has no table of contents; its headings part it into chapters.")
    return Package(
        path,
        metadata_of(root),
        tuple(manifest_items.values()),
        spine,
        contents,
        tuple(guide),
        nav,
        _find_cover(root, manifest_items, guide),
        tuple(remarks),
    )


def _package_path(archive: Archive) -> str:
    """Returns the path of the package document. Raises ImportFailed if there is none."""
    container = archive.find("META-INF/container.xml")
    if container is None:
        raise archive.failed("not an EPUB: it has no META-INF/container.xml")
    for file in archive.xml(container).iter("{*}rootfile"):
        if file.get("media-type", _OPF) == _OPF and file.get("full-path"):
            name = file.get("full-path", "")
            if package_path := archive.find(posixpath.normpath(name)):
                return package_path
            raise archive.failed(f"broken: it lacks its package document, {name}")
    raise archive.failed("broken: META-INF/container.xml names no package document")


def _read_manifest(root: etree._Element, path: str) -> Iterator[ManifestItem]:
    """Yields the files of the publication that the manifest lists."""
    for element in root.iterfind("{*}manifest/{*}item"):
        if href := element.get("href"):
            yield ManifestItem(
                element.get("id", href),
                resolve(path, href)[0],
                element.get("media-type", "").strip().lower(),
                frozenset(element.get("properties", "").split()),
            )


def _read_spine(
    archive: Archive, root: etree._Element, manifest_items: dict[str, ManifestItem], path: str
) -> Iterator[tuple[ManifestItem, bool]]:
    """Yields the documents in reading order, and whether each is linear. Raises ImportFailed."""
    for reference in root.iterfind("{*}spine/{*}itemref"):
        name = reference.get("idref", "")
        document = manifest_items.get(name)
        if document is None:
            raise archive.failed(
                f"broken: the reading order names {name!r}, which is not an item", path
            )
        document_path = archive.find(document.path)
        if document_path is None:
            raise archive.failed(f"broken: it lacks {document.path}, which is in the reading order")
        yield (
            ManifestItem(document.id, document_path, document.media_type, document.properties),
            reference.get("linear", "yes").strip().lower() != "no",
        )


# -- navigation ------------------------------------------------------------------------------------


def _read_navigation(
    archive: Archive, path: str
) -> tuple[tuple[TocEntry, ...], list[GuideReference]]:
    """Reads contents and landmarks of an EPUB 3 navigation document."""
    contents: tuple[TocEntry, ...] = ()
    landmarks: list[GuideReference] = []
    for nav in archive.document(path)[0].iter("{*}nav"):
        types = types_of(nav).split()
        if "landmarks" in types:
            for link in nav.iter("{*}a"):
                place = resolve(path, link.get("href", ""))
                landmarks.append(GuideReference(types_of(link), *place))
        elif not contents and ("toc" in types or "doc-toc" in types):
            contents = tuple(_toc_entries(archive, nav, path))
    return contents, landmarks


def _toc_entries(archive: Archive, parent: etree._Element, path: str) -> Iterator[TocEntry]:
    """Yields the entries of a list in the navigation document, or below an element of the NCX."""
    for item in chain(parent.iterfind("{*}ol/{*}li"), parent.iterfind("{*}navPoint")):
        children = tuple(_toc_entries(archive, item, path))
        labels = (item.find(name) for name in ("{*}a", "{*}span", "{*}navLabel/{*}text"))
        title = single_line_text(next((label for label in labels if label is not None), None))
        links = (item.find("{*}a"), item.find("{*}content"))
        hrefs = [e.get("href") or e.get("src") for e in links if e is not None]
        if hrefs and hrefs[0]:
            target, fragment = resolve(path, hrefs[0])
            yield TocEntry(title, archive.find(target) or target, fragment, children)
        elif title and children:
            # A heading without a page of its own: it points to its first entry.
            yield TocEntry(title, children[0].path, children[0].fragment, children)
        else:
            yield from children


def _read_ncx(
    archive: Archive, root: etree._Element, manifest_items: dict[str, ManifestItem]
) -> tuple[TocEntry, ...]:
    """Reads the NCX, the table of contents of EPUB 2; () for none."""
    spine = root.find("{*}spine")
    names = ["" if spine is None else spine.get("toc", "")]
    names += [item.id for item in manifest_items.values() if item.media_type == _NCX]
    candidates = (manifest_items[name].path for name in names if name in manifest_items)
    path = next(filter(None, map(archive.find, candidates)), None)
    nav_map = archive.xml(path).find("{*}navMap") if path else None
    return () if path is None or nav_map is None else tuple(_toc_entries(archive, nav_map, path))


def _read_guide(root: etree._Element, path: str) -> Iterator[GuideReference]:
    for reference in root.iterfind("{*}guide/{*}reference"):
        if reference.get("href"):
            place = resolve(path, reference.get("href", ""))
            yield GuideReference(reference.get("type", ""), *place)


def _find_cover(
    root: etree._Element, manifest_items: dict[str, ManifestItem], guide: list[GuideReference]
) -> str | None:
    """Returns the path of the declared cover; None for none."""
    items = list(manifest_items.values())
    meta_tags = root.iterfind("{*}metadata//{*}meta[@name='cover']")
    names = [name for meta in meta_tags if (name := meta.get("content", ""))]
    candidates = (
        *(item.path for item in items if "cover-image" in item.properties),
        *(i.path for name in names for i in items if i.id == name or i.path.endswith(f"/{name}")),
        *(place.path for place in guide if place.types.lower() in _COVER_GUIDES),
        *(
            item.path
            for item in items
            if item.media_type.startswith("image/") and item.id.lower() in ("cover", "cover-image")
        ),
    )
    return next(iter(candidates), None)


# -- metadata --------------------------------------------------------------------------------------


def metadata_of(root: etree._Element) -> Metadata:
    """Returns the metadata of a package document."""
    metadata = root.find("{*}metadata")
    if metadata is None:
        return Metadata()
    refinements: Refinements = {}
    contents_by_name: dict[str, str] = {}
    for meta in metadata.iter("{*}meta"):
        if meta.get("property"):
            key = (meta.get("refines", "").removeprefix("#"), meta.get("property", ""))
            refinements.setdefault(key, single_line_text(meta))
        elif meta.get("name"):
            contents_by_name.setdefault(meta.get("name", ""), meta.get("content", "").strip())

    def elements_of(name: str) -> list[etree._Element]:
        return [element for element in metadata.iter(f"{{*}}{name}") if single_line_text(element)]

    def first_text(name: str) -> str | None:
        return next((single_line_text(element) for element in elements_of(name)), None)

    title, subtitle = _find_titles(elements_of("title"), refinements)
    series, series_part = _find_series(metadata, refinements, contents_by_name)
    dates = elements_of("date")
    published = [date for date in dates if date.get(f"{_OPF_NS}event") in ("publication", None)]
    languages = (valid_language(single_line_text(e)) for e in elements_of("language"))
    date = next(map(single_line_text, published or dates), "")
    description = first_text("description")
    return Metadata(
        title=title,
        subtitle=subtitle,
        authors=_find_authors(elements_of("creator"), refinements),
        language=next(filter(None, languages), None),
        identifiers=_read_identifiers(elements_of("identifier")),
        publisher=first_text("publisher"),
        date=re.sub(r"(?<=^\d{4}-\d\d-\d\d)T.*", "", date) or None,
        description=" ".join(re.sub(r"<[^<>]*>", " ", description or "").split()) or None,
        genre=refinements.get(("", "schema:genre"))
        or genre_of(map(single_line_text, elements_of("subject"))),
        copyright=first_text("rights"),
        series=series,
        series_part=series_part,
    )


def _find_titles(
    titles: list[etree._Element], refinements: Refinements
) -> tuple[str | None, str | None]:
    """Returns the main title and the subtitle."""
    titles_by_type = {
        refinements.get((title.get("id", "-"), "title-type"), ""): title
        for title in reversed(titles)
    }
    main_title = titles_by_type.get("main")
    if main_title is None and titles:
        main_title = titles[0]
    subtitle = titles_by_type.get("subtitle")
    return (
        None if main_title is None else single_line_text(main_title),
        None if subtitle is None or subtitle is main_title else single_line_text(subtitle),
    )


def _find_authors(creators: list[etree._Element], refinements: Refinements) -> tuple[str, ...]:
    """Returns the creators with the role of an author, or all if none has it."""
    roles = [
        c.get(f"{_OPF_NS}role") or refinements.get((c.get("id", "-"), "role"), "") for c in creators
    ]
    authors = [c for c, role in zip(creators, roles, strict=True) if role in ("aut", "")]
    return tuple(dict.fromkeys(single_line_text(creator) for creator in authors or creators))


def _read_identifiers(elements: list[etree._Element]) -> dict[str, str]:
    """Returns identifiers by scheme, such as `isbn`."""
    identifiers: dict[str, str] = {}
    for element in elements:
        identifier = single_line_text(element)
        scheme = (element.get(f"{_OPF_NS}scheme") or "").lower()
        if urn := re.fullmatch(r"urn:([a-z0-9-]+):(.+)", identifier, re.IGNORECASE):
            scheme, identifier = urn[1].lower(), urn[2]
        elif re.fullmatch(r"97[89][\d -]{10,14}", identifier):
            scheme = "isbn"
        elif re.match(r"https?://", identifier):
            scheme = "uri"
        identifiers.setdefault(re.sub(r"[^a-z0-9-]+", "-", scheme).strip("-") or "id", identifier)
    return identifiers


def _find_series(
    metadata: etree._Element,
    refinements: Refinements,
    contents_by_name: dict[str, str],
) -> tuple[str | None, str | None]:
    """Returns the name of the series, and the book's position in it."""
    for meta in metadata.iter("{*}meta"):
        if meta.get("property") == "belongs-to-collection" and single_line_text(meta):
            meta_id = meta.get("id", "-")
            if refinements.get((meta_id, "collection-type"), "series") == "series":
                return single_line_text(meta), refinements.get((meta_id, "group-position"))
    series = contents_by_name.get("calibre:series")
    series_part = contents_by_name.get("calibre:series_index", "").removesuffix(".0")
    return series or None, series_part if series and series_part else None
