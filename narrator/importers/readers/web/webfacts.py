"""What a page of HTML says of itself: its title, author, language, as pages have ways of saying it.

Knows `meta` of browsers, libraries (Dublin Core, citations) and networks (og:), not JSON-LD.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml import etree

from narrator.characters import seen
from narrator.importers import matter
from narrator.importers.readers.elements import LANG, row_of
from narrator.importers.readers.facts import LANGUAGE, Metadata

_GUTENBERG = re.compile(
    r"(?:The )?Project Gutenberg(?:['’]s| eBook of:?| Etext of)\s+(?P<title>.+?)"
    r"(?:,? by (?P<author>[^,]+?)\.?)?",
    re.IGNORECASE,
)


def facts_of(root: etree._Element) -> Metadata:
    """The facts of a page."""
    said = _MetaTags(root)
    title = said.first("citation_title", "dc.title", "dcterms.title", "og:title")
    title = title or row_of(next(root.iter("{*}title"), None))
    authors = said.every("citation_author", "dc.creator", "dcterms.creator", "book:author")
    authors = authors or said.every("author", "article:author") or _bylines(root)
    if found := _GUTENBERG.fullmatch(title):
        title, authors = found["title"], authors or tuple(filter(None, [found["author"]]))
    title = _title(title, _first_heading(root)) or _titled(root)
    isbn = said.first("citation_isbn", "book:isbn")
    return Metadata(
        title=title,
        authors=authors,
        language=_language(root, said),
        identifiers={"isbn": isbn} if isbn else {},
        publisher=said.first("citation_publisher", "dc.publisher", "dcterms.publisher"),
        date=said.first("citation_publication_date", "dc.date", "dcterms.date", "dcterms.issued"),
        description=said.first("dc.description", "dcterms.description", "description",
                               "og:description"),
        copyright=said.first("dc.rights", "dcterms.rights", "copyright"),
    )  # fmt: skip


class _MetaTags:
    """The `meta` elements of a page."""

    def __init__(self, root: etree._Element) -> None:
        self.named: dict[str, list[str]] = {}
        for meta in root.iter("{*}meta"):
            name = meta.get("name") or meta.get("property") or meta.get("http-equiv") or ""
            if content := " ".join(seen(meta.get("content", "")).split()):
                self.named.setdefault(name.strip().lower(), []).append(content)

    def every(self, *names: str) -> tuple[str, ...]:
        """Everything that the first of these says that is said; addresses are no names."""
        for name in names:
            said = [text for text in self.named.get(name, ()) if "://" not in text]
            if said:
                return tuple(dict.fromkeys(said))
        return ()

    def first(self, *names: str) -> str | None:
        return next(iter(self.every(*names)), None)


def _language(root: etree._Element, said: _MetaTags) -> str | None:
    body = next(root.iter("{*}body"), root)
    tags = [one.get(key) for one in (root, body) for key in ("lang", LANG)]
    tags += [said.first("dc.language", "dcterms.language", "language", "content-language")]
    tags += [said.first("og:locale")]
    known = (_tag(tag.strip().replace("_", "-")) for tag in tags if tag)
    return next((tag for tag in known if LANGUAGE.fullmatch(tag) and tag != "und"), None)


def _tag(said: str) -> str:
    """`EN-GB`, as Word writes it, as it is usual."""
    main, *rest = said.split("-")
    return "-".join((main.lower(), *(p.upper() if len(p) == 2 else p for p in rest)))


def _title(said: str, heading: str) -> str | None:
    """A title, without what sites write beside it where the first heading says it alone."""
    place = said.casefold().find(heading.casefold())
    if not heading or place < 0 or matter.is_chapter(heading):
        return said or None
    inside = said[place : place + len(heading)]
    return inside if inside.casefold() == heading.casefold() else heading


def _first_heading(root: etree._Element) -> str:
    """The only heading of the first level, which may be the book's title."""
    headings = list(root.iter("{*}h1"))
    return row_of(headings[0]) if len(headings) == 1 else ""


def _titled(root: etree._Element) -> str | None:
    """What Word or Google Docs set as a title, else the only heading of the first level."""
    classes = {"title", "MsoTitle"}
    for paragraph in root.iter("{*}p"):
        if classes.intersection(paragraph.get("class", "").split()) and row_of(paragraph):
            return row_of(paragraph)
    heading = _first_heading(root)
    return heading if heading and not matter.is_chapter(heading) else None


def _bylines(root: etree._Element) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, map(row_of, _author_links(root)))))


def _author_links(root: etree._Element) -> Iterator[etree._Element]:
    return (link for link in root.iter("{*}a") if "author" in link.get("rel", "").split())
