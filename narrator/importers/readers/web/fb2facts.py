"""What a FictionBook file says of its book: the facts, and the cover that it holds."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable

from lxml import etree

from narrator.characters import seen
from narrator.importers.book import CoverImage
from narrator.importers.readers.ebook.cover import cover_of
from narrator.importers.readers.facts import LANGUAGE, Metadata, genre_of

_BINARY = re.compile(r"<binary\b([^<>]*)>([^<]*)</binary\s*>")
_COVER_LIMIT = 32_000_000
"""Characters of a cover as it is written."""


def facts_of_book(root: etree._Element) -> Metadata:
    """What the description of a file says of its book."""
    about = next(root.iter("{*}title-info"), None)
    printed = next(root.iter("{*}publish-info"), None)
    language = (_first(about, "lang") or "").replace("_", "-")
    dates = [] if about is None else list(about.iterchildren("{*}date"))
    said = next((date.get("value") or said_in(date) for date in dates), None)
    isbn = _first(printed, "isbn")
    series = _sequence(about) or _sequence(printed)
    genres = [] if about is None else map(said_in, about.iterchildren("{*}genre"))
    return Metadata(
        title=_first(about, "book-title") or _first(printed, "book-name"),
        authors=tuple(_authors(about)),
        language=language if LANGUAGE.fullmatch(language) else None,
        identifiers={"isbn": isbn} if isbn else {},
        publisher=_first(printed, "publisher"),
        date=(said or "").partition("T")[0] or _first(printed, "year"),
        description=_first(about, "annotation"),
        genre=genre_of(genres),
        series=series[0] if series else None,
        series_part=series[1] if series else None,
    )


def _first(around: etree._Element | None, name: str) -> str | None:
    found = [] if around is None else [said_in(e) for e in around.iterchildren(f"{{*}}{name}")]
    return next(filter(None, found), None)


def _authors(about: etree._Element | None) -> Iterable[str]:
    for author in [] if about is None else about.iterchildren("{*}author"):
        parts = (_first(author, name) for name in ("first-name", "middle-name", "last-name"))
        if named := " ".join(filter(None, parts)) or _first(author, "nickname"):
            yield named


def _sequence(around: etree._Element | None) -> tuple[str, str | None] | None:
    for one in [] if around is None else around.iterchildren("{*}sequence"):
        if name := " ".join(seen(one.get("name", "")).split()):
            return name, one.get("number") or None
    return None


def said_in(element: etree._Element) -> str:
    """The words of an element, on one line."""
    return " ".join(seen(" ".join(element.itertext())).split())


def without_pictures(text: str) -> str:
    """A file's text without the pictures that it holds."""
    return _BINARY.sub("", text)


def cover_in(text: str, root: etree._Element) -> tuple[CoverImage | None, list[str]]:
    """The cover that a file names and holds, and what is to be said about it."""
    page = next(root.iter("{*}coverpage"), None)
    shown = [] if page is None else [href_of(image) for image in page.iter("{*}image")]
    key = next((name.removeprefix("#") for name in shown if name.startswith("#")), None)
    if key is None:
        return None, []
    for found in _BINARY.finditer(text):
        if re.search(rf"\bid\s*=\s*[\"']{re.escape(key)}[\"']", found[1]):
            return _made_of(key, found[2])
    return None, [f"The book names a cover, {key}, that it does not hold."]


def href_of(element: etree._Element) -> str:
    """The `href` of a link, whatever its prefix."""
    hrefs = (str(value) for key, value in element.attrib.items() if str(key).endswith("href"))
    return next(hrefs, "").strip()


def _made_of(name: str, written: str) -> tuple[CoverImage | None, list[str]]:
    try:
        data = base64.b64decode("".join(written[:_COVER_LIMIT].split()), validate=False)
    except (binascii.Error, ValueError):
        return None, [f"The cover ({name}) is broken, so it is left out."]
    cover, told = cover_of(data, name)
    return cover, [told] if told else []
