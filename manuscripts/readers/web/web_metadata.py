"""Reads the metadata of an HTML page, such as title, author and language.

Knows the `meta` names of browsers, libraries (Dublin Core, citations) and social networks (og:),
not JSON-LD.
"""

from __future__ import annotations

import re

from lxml import etree

from manuscripts import matter
from manuscripts.readers.elements import LANGUAGE_ATTRIBUTE, body_of, single_line_text
from manuscripts.readers.facts import Metadata, valid_language
from textbase.characters import strip_invisible

_GUTENBERG = re.compile(
    r"(?:The )?Project Gutenberg(?:['’]s| eBook of:?| Etext of)\s+(?P<title>.+?)"
    r"(?:,? by (?P<author>[^,]+?)\.?)?",
    re.IGNORECASE,
)


def page_metadata(root: etree._Element) -> Metadata:
    """Returns the metadata of a page."""
    meta_tags = _MetaTags(root)
    title = meta_tags.first_of("citation_title", "dc.title", "dcterms.title", "og:title")
    title = title or single_line_text(next(root.iter("{*}title"), None))
    authors = meta_tags.all_of("citation_author", "dc.creator", "dcterms.creator", "book:author")
    author_links = (link for link in root.iter("{*}a") if "author" in link.get("rel", "").split())
    authors = (
        authors
        or meta_tags.all_of("author", "article:author")
        or tuple(dict.fromkeys(filter(None, map(single_line_text, author_links))))
    )
    if gutenberg := _GUTENBERG.fullmatch(title):
        title, authors = gutenberg["title"], authors or tuple(filter(None, [gutenberg["author"]]))
    title = _clean_title(title, _first_heading(root)) or _find_title(root)
    isbn = meta_tags.first_of("citation_isbn", "book:isbn")
    return Metadata(
        title=title,
        authors=authors,
        language=_find_language(root, meta_tags),
        identifiers={"isbn": isbn} if isbn else {},
        publisher=meta_tags.first_of("citation_publisher", "dc.publisher", "dcterms.publisher"),
        date=meta_tags.first_of("citation_publication_date", "dc.date", "dcterms.date",
                                "dcterms.issued"),
        description=meta_tags.first_of("dc.description", "dcterms.description", "description",
                               "og:description"),
        copyright=meta_tags.first_of("dc.rights", "dcterms.rights", "copyright"),
    )  # fmt: skip


class _MetaTags:
    """The `meta` elements of a page."""

    def __init__(self, root: etree._Element) -> None:
        self.contents_by_name: dict[str, list[str]] = {}
        for meta in root.iter("{*}meta"):
            name = meta.get("name") or meta.get("property") or meta.get("http-equiv") or ""
            if content := " ".join(strip_invisible(meta.get("content", "")).split()):
                self.contents_by_name.setdefault(name.strip().lower(), []).append(content)

    def all_of(self, *names: str) -> tuple[str, ...]:
        """Returns the contents of the first of these names that has any, without addresses."""
        for name in names:
            contents = [text for text in self.contents_by_name.get(name, ()) if "://" not in text]
            if contents:
                return tuple(dict.fromkeys(contents))
        return ()

    def first_of(self, *names: str) -> str | None:
        return next(iter(self.all_of(*names)), None)


def _find_language(root: etree._Element, meta_tags: _MetaTags) -> str | None:
    """Returns the first valid language tag of a page; None for none."""
    body = body_of(root)
    tags = [e.get(attribute) for e in (root, body) for attribute in ("lang", LANGUAGE_ATTRIBUTE)]
    tags += [meta_tags.first_of("dc.language", "dcterms.language", "language", "content-language")]
    tags += [meta_tags.first_of("og:locale")]
    for tag in filter(None, tags):
        # Word writes `EN-GB`.
        language, *subtags = tag.strip().replace("_", "-").split("-")
        subtags = [subtag.upper() if len(subtag) == 2 else subtag for subtag in subtags]
        if normalized_tag := valid_language("-".join((language.lower(), *subtags))):
            return normalized_tag
    return None


def _clean_title(title: str, heading: str) -> str | None:
    """Returns a title without additions of the site, if the heading is the title alone."""
    position = title.casefold().find(heading.casefold())
    if not heading or position < 0 or matter.is_chapter(heading):
        return title or None
    title_part = title[position : position + len(heading)]
    return title_part if title_part.casefold() == heading.casefold() else heading


def _first_heading(root: etree._Element) -> str:
    """Returns the only heading of the first level, which may be the book's title; "" for none."""
    headings = list(root.iter("{*}h1"))
    return single_line_text(headings[0]) if len(headings) == 1 else ""


def _find_title(root: etree._Element) -> str | None:
    """Returns the paragraph styled as a title by Word or Google Docs, else the only `h1`."""
    classes = {"title", "MsoTitle"}
    for paragraph in root.iter("{*}p"):
        if classes.intersection(paragraph.get("class", "").split()) and single_line_text(paragraph):
            return single_line_text(paragraph)
    heading = _first_heading(root)
    return heading if heading and not matter.is_chapter(heading) else None
