"""Reads the package of an EPUB 2 or 3: metadata, manifest, spine, navigation and guide.

Knows the documents of a book, their order and their metadata, not their content.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree

from manuscripts.readers.archive import Archive, resolve, types_of
from manuscripts.readers.elements import single_line_text
from manuscripts.readers.facts import LANGUAGE_TAG, Metadata, TocEntry, genre_of

_OPF = "application/oebps-package+xml"
_XHTML = {"application/xhtml+xml", "text/html", "application/html+xml", "text/x-oeb1-document"}
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
    guide: tuple[tuple[str, str, str], ...]
    """Type, path and fragment of landmarks and guide references."""
    nav: str | None
    """Path of the EPUB 3 navigation document."""
    cover: str | None
    """Path of the declared cover: a picture, or a page that shows one."""
    remarks: tuple[str, ...]


def read_package(archive: Archive) -> Package:
    """Reads the package that an archive's container names. Raises ImportFailed."""
    path = _package_path(archive)
    root = archive.xml(path)
    if _local_name(root) != "package":
        raise archive.failed(f"not a package document, but <{_local_name(root)}>", path)
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
    if not contents and (ncx := _find_ncx(archive, root, manifest_items)):
        contents = _read_ncx(archive, ncx)
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
                f"broken: the reading order names {name!r}, which is no item", path
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
) -> tuple[tuple[TocEntry, ...], list[tuple[str, str, str]]]:
    """Reads contents and landmarks of an EPUB 3 navigation document."""
    contents: tuple[TocEntry, ...] = ()
    landmarks: list[tuple[str, str, str]] = []
    for nav in archive.document(path)[0].iter("{*}nav"):
        types = types_of(nav).split()
        if "landmarks" in types:
            for link in nav.iter("{*}a"):
                landmarks.append((types_of(link), *resolve(path, link.get("href", ""))))
        elif not contents and ("toc" in types or "doc-toc" in types):
            contents = tuple(_nav_entries(archive, nav, path))
    return contents, landmarks


def _nav_entries(archive: Archive, parent: etree._Element, path: str) -> Iterator[TocEntry]:
    """Yields the entries of a list in the navigation document."""
    for list_item in parent.iterfind("{*}ol/{*}li"):
        children = tuple(_nav_entries(archive, list_item, path))
        link = list_item.find("{*}a")
        if link is None:
            # A heading without a page of its own: it points to its first entry.
            label = list_item.find("{*}span")
            if label is not None and children:
                first = children[0]
                yield TocEntry(single_line_text(label), first.path, first.fragment, children)
            else:
                yield from children
        else:
            target, fragment = resolve(path, link.get("href", ""))
            yield TocEntry(
                single_line_text(link), archive.find(target) or target, fragment, children
            )


def _find_ncx(
    archive: Archive, root: etree._Element, manifest_items: dict[str, ManifestItem]
) -> str | None:
    """Returns the path of the NCX, the table of contents of EPUB 2; None for none."""
    spine = root.find("{*}spine")
    spine_ncx = manifest_items.get("" if spine is None else spine.get("toc", ""))
    ncx = "application/x-dtbncx+xml"
    candidates = [
        spine_ncx,
        *(candidate for candidate in manifest_items.values() if candidate.media_type == ncx),
    ]
    return next(
        (name for candidate in candidates if candidate and (name := archive.find(candidate.path))),
        None,
    )


def _read_ncx(archive: Archive, path: str) -> tuple[TocEntry, ...]:
    nav_map = archive.xml(path).find("{*}navMap")
    return () if nav_map is None else tuple(_ncx_entries(archive, nav_map, path))


def _ncx_entries(archive: Archive, parent: etree._Element, path: str) -> Iterator[TocEntry]:
    """Yields the entries below an element of the NCX."""
    for point in parent.iterfind("{*}navPoint"):
        children = tuple(_ncx_entries(archive, point, path))
        label = point.find("{*}navLabel/{*}text")
        content = point.find("{*}content")
        title = "" if label is None else single_line_text(label)
        if content is None or not content.get("src"):
            # Likewise, a heading without a page of its own.
            if children:
                first = children[0]
                yield TocEntry(title, first.path, first.fragment, children)
            continue
        target, fragment = resolve(path, content.get("src", ""))
        yield TocEntry(title, archive.find(target) or target, fragment, children)


def _read_guide(root: etree._Element, path: str) -> Iterator[tuple[str, str, str]]:
    for reference in root.iterfind("{*}guide/{*}reference"):
        if reference.get("href"):
            yield (reference.get("type", ""), *resolve(path, reference.get("href", "")))


def _find_cover(
    root: etree._Element, manifest_items: dict[str, ManifestItem], guide: list[tuple[str, str, str]]
) -> str | None:
    """Returns the path of the declared cover; None for none."""
    for manifest_item in manifest_items.values():
        if "cover-image" in manifest_item.properties:
            return manifest_item.path
    for meta in root.iterfind("{*}metadata//{*}meta[@name='cover']"):
        content = meta.get("content", "")
        path_matches = (
            i for i in manifest_items.values() if content and i.path.endswith("/" + content)
        )
        if cover_item := manifest_items.get(content) or next(path_matches, None):
            return cover_item.path
    for reference_type, path, _ in guide:
        if reference_type.lower() in ("cover", "other.ms-coverimage-standard"):
            return path
    for manifest_item in manifest_items.values():
        if manifest_item.media_type.startswith("image/") and manifest_item.id.lower() in (
            "cover",
            "cover-image",
        ):
            return manifest_item.path
    return None


# -- metadata --------------------------------------------------------------------------------------


def metadata_of(root: etree._Element) -> Metadata:
    """Returns the metadata of a package document."""
    metadata = root.find("{*}metadata")
    if metadata is None:
        return Metadata()
    refinements: dict[tuple[str, str], str] = {}
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
    languages = [single_line_text(e).replace("_", "-") for e in elements_of("language")]
    description = elements_of("description")
    return Metadata(
        title=title,
        subtitle=subtitle,
        authors=_find_authors(elements_of("creator"), refinements),
        language=next(
            (tag for tag in languages if LANGUAGE_TAG.fullmatch(tag) and tag != "und"), None
        ),
        identifiers=_read_identifiers(elements_of("identifier")),
        publisher=first_text("publisher"),
        date=_find_date(published or dates),
        description=_without_tags(single_line_text(description[0])) if description else None,
        genre=refinements.get(("", "schema:genre"))
        or genre_of(map(single_line_text, elements_of("subject"))),
        copyright=first_text("rights"),
        series=series,
        series_part=series_part,
    )


def _find_titles(
    titles: list[etree._Element], refinements: dict[tuple[str, str], str]
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


def _find_authors(
    creators: list[etree._Element], refinements: dict[tuple[str, str], str]
) -> tuple[str, ...]:
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
    refinements: dict[tuple[str, str], str],
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


def _find_date(dates: list[etree._Element]) -> str | None:
    if not dates:
        return None
    text = single_line_text(dates[0])
    return text.partition("T")[0] if re.match(r"\d{4}-\d\d-\d\dT", text) else text


def _without_tags(text: str) -> str:
    return " ".join(re.sub(r"<[^<>]*>", " ", text).split())


def _local_name(element: etree._Element) -> str:
    return etree.QName(element).localname.lower()
