"""The package of an EPUB 2 or 3: metadata, manifest, spine, navigation and guide.

Knows which documents a book has, in which order, and what the book says of them; not what is in
them.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree

from narrator.importers.readers.archive import Archive, resolve, types_of
from narrator.importers.readers.elements import row_of
from narrator.importers.readers.facts import LANGUAGE, Metadata, TocEntry, genre_of

_OPF = "application/oebps-package+xml"
_XHTML = {"application/xhtml+xml", "text/html", "application/html+xml", "text/x-oeb1-document"}
_OPF_NS = "{http://www.idpf.org/2007/opf}"


@dataclass(frozen=True, slots=True)
class Item:
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
    """A publication as its package document lists it."""

    path: str
    metadata: Metadata
    items: tuple[Item, ...]
    spine: tuple[tuple[Item, bool], ...]
    """Documents in reading order, and whether each is part of the linear reading."""
    contents: tuple[TocEntry, ...]
    guide: tuple[tuple[str, str, str], ...]
    """Type, path and fragment of landmarks and guide references."""
    nav: str | None
    """The EPUB 3 navigation document."""
    cover: str | None
    """Path of the file that is declared as the cover: a picture, or a page that shows one."""
    remarks: tuple[str, ...]


def read_package(archive: Archive) -> Package:
    """The package that an archive's container names. Raises ImportFailed."""
    path = _package_path(archive)
    root = archive.xml(path)
    if _name(root) != "package":
        raise archive.failed(f"not a package document, but <{_name(root)}>", path)
    items = {item.id: item for item in _items(root, path)}
    remarks: list[str] = []
    spine = tuple(_spine(archive, root, items, path))
    nav = next((i.path for i in items.values() if "nav" in i.properties), None)
    guide = list(_guide(root, path))
    contents: tuple[TocEntry, ...] = ()
    if nav is not None and (found := archive.find(nav)):
        nav = found
        contents, landmarks = _navigation(archive, nav)
        guide = landmarks + guide
    if not contents and (ncx := _ncx_path(archive, root, items)):
        contents = _ncx(archive, ncx)
    if not contents:
        remarks.append("The book has no table of contents; its headings part it into chapters.")
    return Package(
        path,
        metadata_of(root),
        tuple(items.values()),
        spine,
        contents,
        tuple(guide),
        nav,
        _cover(root, items, guide),
        tuple(remarks),
    )


def _package_path(archive: Archive) -> str:
    container = archive.find("META-INF/container.xml")
    if container is None:
        raise archive.failed("not an EPUB: it has no META-INF/container.xml")
    for file in archive.xml(container).iter("{*}rootfile"):
        if file.get("media-type", _OPF) == _OPF and file.get("full-path"):
            name = file.get("full-path", "")
            if there := archive.find(posixpath.normpath(name)):
                return there
            raise archive.failed(f"broken: it lacks its package document, {name}")
    raise archive.failed("broken: META-INF/container.xml names no package document")


def _items(root: etree._Element, path: str) -> Iterator[Item]:
    for item in root.iterfind("{*}manifest/{*}item"):
        if href := item.get("href"):
            yield Item(
                item.get("id", href),
                resolve(path, href)[0],
                item.get("media-type", "").strip().lower(),
                frozenset(item.get("properties", "").split()),
            )


def _spine(
    archive: Archive, root: etree._Element, items: dict[str, Item], path: str
) -> Iterator[tuple[Item, bool]]:
    for reference in root.iterfind("{*}spine/{*}itemref"):
        name = reference.get("idref", "")
        item = items.get(name)
        if item is None:
            raise archive.failed(
                f"broken: the reading order names {name!r}, which is no item", path
            )
        there = archive.find(item.path)
        if there is None:
            raise archive.failed(f"broken: it lacks {item.path}, which is in the reading order")
        yield (
            Item(item.id, there, item.media_type, item.properties),
            reference.get("linear", "yes").strip().lower() != "no",
        )


# -- navigation ------------------------------------------------------------------------------------


def _navigation(
    archive: Archive, path: str
) -> tuple[tuple[TocEntry, ...], list[tuple[str, str, str]]]:
    contents: tuple[TocEntry, ...] = ()
    landmarks: list[tuple[str, str, str]] = []
    for nav in archive.document(path)[0].iter("{*}nav"):
        kinds = types_of(nav).split()
        if "landmarks" in kinds:
            for link in nav.iter("{*}a"):
                landmarks.append((types_of(link), *resolve(path, link.get("href", ""))))
        elif not contents and ("toc" in kinds or "doc-toc" in kinds):
            contents = tuple(_nav_entries(archive, nav, path))
    return contents, landmarks


def _nav_entries(archive: Archive, parent: etree._Element, path: str) -> Iterator[TocEntry]:
    for item in parent.iterfind("{*}ol/{*}li"):
        children = tuple(_nav_entries(archive, item, path))
        link = item.find("{*}a")
        if link is None:
            # A heading without a page of its own: its place is that of what it holds.
            label = item.find("{*}span")
            if label is not None and children:
                first = children[0]
                yield TocEntry(row_of(label), first.path, first.fragment, children)
            else:
                yield from children
        else:
            target, fragment = resolve(path, link.get("href", ""))
            yield TocEntry(row_of(link), archive.find(target) or target, fragment, children)


def _ncx_path(archive: Archive, root: etree._Element, items: dict[str, Item]) -> str | None:
    spine = root.find("{*}spine")
    named = items.get("" if spine is None else spine.get("toc", ""))
    ncx = "application/x-dtbncx+xml"
    choices = [named, *(item for item in items.values() if item.media_type == ncx)]
    return next((name for item in choices if item and (name := archive.find(item.path))), None)


def _ncx(archive: Archive, path: str) -> tuple[TocEntry, ...]:
    nav_map = archive.xml(path).find("{*}navMap")
    return () if nav_map is None else tuple(_ncx_entries(archive, nav_map, path))


def _ncx_entries(archive: Archive, parent: etree._Element, path: str) -> Iterator[TocEntry]:
    for point in parent.iterfind("{*}navPoint"):
        children = tuple(_ncx_entries(archive, point, path))
        label = point.find("{*}navLabel/{*}text")
        content = point.find("{*}content")
        title = "" if label is None else row_of(label)
        if content is None or not content.get("src"):
            # As a heading without a page of its own in the navigation of EPUB 3.
            if children:
                first = children[0]
                yield TocEntry(title, first.path, first.fragment, children)
            continue
        target, fragment = resolve(path, content.get("src", ""))
        yield TocEntry(title, archive.find(target) or target, fragment, children)


def _guide(root: etree._Element, path: str) -> Iterator[tuple[str, str, str]]:
    for reference in root.iterfind("{*}guide/{*}reference"):
        if reference.get("href"):
            yield (reference.get("type", ""), *resolve(path, reference.get("href", "")))


def _cover(
    root: etree._Element, items: dict[str, Item], guide: list[tuple[str, str, str]]
) -> str | None:
    for item in items.values():
        if "cover-image" in item.properties:
            return item.path
    for meta in root.iterfind("{*}metadata//{*}meta[@name='cover']"):
        content = meta.get("content", "")
        by_path = (i for i in items.values() if content and i.path.endswith("/" + content))
        if named := items.get(content) or next(by_path, None):
            return named.path
    for kind, path, _ in guide:
        if kind.lower() in ("cover", "other.ms-coverimage-standard"):
            return path
    for item in items.values():
        if item.media_type.startswith("image/") and item.id.lower() in ("cover", "cover-image"):
            return item.path
    return None


# -- metadata --------------------------------------------------------------------------------------


def metadata_of(root: etree._Element) -> Metadata:
    """What a package document says of its book."""
    metadata = root.find("{*}metadata")
    if metadata is None:
        return Metadata()
    refined: dict[tuple[str, str], str] = {}
    names: dict[str, str] = {}
    for meta in metadata.iter("{*}meta"):
        if meta.get("property"):
            key = (meta.get("refines", "").removeprefix("#"), meta.get("property", ""))
            refined.setdefault(key, row_of(meta))
        elif meta.get("name"):
            names.setdefault(meta.get("name", ""), meta.get("content", "").strip())

    def every(name: str) -> list[etree._Element]:
        return [element for element in metadata.iter(f"{{*}}{name}") if row_of(element)]

    def first(name: str) -> str | None:
        return next((row_of(element) for element in every(name)), None)

    title, subtitle = _titles(every("title"), refined)
    series, part = _series(metadata, refined, names)
    dates = every("date")
    published = [d for d in dates if d.get(f"{_OPF_NS}event") in ("publication", None)]
    languages = [row_of(e).replace("_", "-") for e in every("language")]
    description = every("description")
    return Metadata(
        title=title,
        subtitle=subtitle,
        authors=_authors(every("creator"), refined),
        language=next((x for x in languages if LANGUAGE.fullmatch(x) and x != "und"), None),
        identifiers=_identifiers(every("identifier")),
        publisher=first("publisher"),
        date=_date(published or dates),
        description=_without_tags(row_of(description[0])) if description else None,
        genre=refined.get(("", "schema:genre")) or genre_of(map(row_of, every("subject"))),
        copyright=first("rights"),
        series=series,
        series_part=part,
    )


def _titles(
    titles: list[etree._Element], refined: dict[tuple[str, str], str]
) -> tuple[str | None, str | None]:
    kinds = {refined.get((t.get("id", "-"), "title-type"), ""): t for t in reversed(titles)}
    main = kinds.get("main") if "main" in kinds else (titles[0] if titles else None)
    subtitle = kinds.get("subtitle")
    return (
        None if main is None else row_of(main),
        None if subtitle is None or subtitle is main else row_of(subtitle),
    )


def _authors(
    creators: list[etree._Element], refined: dict[tuple[str, str], str]
) -> tuple[str, ...]:
    roles = [
        c.get(f"{_OPF_NS}role") or refined.get((c.get("id", "-"), "role"), "") for c in creators
    ]
    chosen = [c for c, role in zip(creators, roles, strict=True) if role in ("aut", "")]
    return tuple(dict.fromkeys(row_of(creator) for creator in chosen or creators))


def _identifiers(elements: list[etree._Element]) -> dict[str, str]:
    identifiers: dict[str, str] = {}
    for element in elements:
        value = row_of(element)
        scheme = (element.get(f"{_OPF_NS}scheme") or "").lower()
        if urn := re.fullmatch(r"urn:([a-z0-9-]+):(.+)", value, re.IGNORECASE):
            scheme, value = urn[1].lower(), urn[2]
        elif re.fullmatch(r"97[89][\d -]{10,14}", value):
            scheme = "isbn"
        elif re.match(r"https?://", value):
            scheme = "uri"
        identifiers.setdefault(re.sub(r"[^a-z0-9-]+", "-", scheme).strip("-") or "id", value)
    return identifiers


def _series(
    metadata: etree._Element, refined: dict[tuple[str, str], str], names: dict[str, str]
) -> tuple[str | None, str | None]:
    for meta in metadata.iter("{*}meta"):
        if meta.get("property") == "belongs-to-collection" and row_of(meta):
            key = meta.get("id", "-")
            if refined.get((key, "collection-type"), "series") == "series":
                return row_of(meta), refined.get((key, "group-position"))
    series = names.get("calibre:series")
    part = names.get("calibre:series_index", "").removesuffix(".0")
    return series or None, part if series and part else None


def _date(dates: list[etree._Element]) -> str | None:
    if not dates:
        return None
    text = row_of(dates[0])
    return text.partition("T")[0] if re.match(r"\d{4}-\d\d-\d\dT", text) else text


def _without_tags(text: str) -> str:
    return " ".join(re.sub(r"<[^<>]*>", " ", text).split())


def _name(element: etree._Element) -> str:
    return etree.QName(element).localname.lower()
