"""Reads the metadata and the embedded cover of a FictionBook file."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable

from lxml import etree

from manuscripts.book import CoverImage
from manuscripts.readers.ebook.cover import cover_of
from manuscripts.readers.facts import LANGUAGE_TAG, Metadata, genre_of
from textbase.characters import strip_invisible

_BINARY = re.compile(r"<binary\b([^<>]*)>([^<]*)</binary\s*>")
_COVER_LIMIT = 32_000_000
"""Limit on the encoded characters of a cover."""


def metadata_of_book(root: etree._Element) -> Metadata:
    """Returns the metadata in the description of a file."""
    title_info = next(root.iter("{*}title-info"), None)
    publish_info = next(root.iter("{*}publish-info"), None)
    language = (_first_text(title_info, "lang") or "").replace("_", "-")
    dates = [] if title_info is None else list(title_info.iterchildren("{*}date"))
    first_date = next((date.get("value") or text_in(date) for date in dates), None)
    isbn = _first_text(publish_info, "isbn")
    series = _series(title_info) or _series(publish_info)
    genres = [] if title_info is None else map(text_in, title_info.iterchildren("{*}genre"))
    return Metadata(
        title=_first_text(title_info, "book-title") or _first_text(publish_info, "book-name"),
        authors=tuple(_author_names(title_info)),
        language=language if LANGUAGE_TAG.fullmatch(language) else None,
        identifiers={"isbn": isbn} if isbn else {},
        publisher=_first_text(publish_info, "publisher"),
        date=(first_date or "").partition("T")[0] or _first_text(publish_info, "year"),
        description=_first_text(title_info, "annotation"),
        genre=genre_of(genres),
        series=series[0] if series else None,
        series_part=series[1] if series else None,
    )


def _first_text(parent: etree._Element | None, name: str) -> str | None:
    texts = (
        [] if parent is None else [text_in(child) for child in parent.iterchildren(f"{{*}}{name}")]
    )
    return next(filter(None, texts), None)


def _author_names(title_info: etree._Element | None) -> Iterable[str]:
    for author in [] if title_info is None else title_info.iterchildren("{*}author"):
        parts = (_first_text(author, name) for name in ("first-name", "middle-name", "last-name"))
        if author_name := " ".join(filter(None, parts)) or _first_text(author, "nickname"):
            yield author_name


def _series(parent: etree._Element | None) -> tuple[str, str | None] | None:
    for sequence in [] if parent is None else parent.iterchildren("{*}sequence"):
        if name := " ".join(strip_invisible(sequence.get("name", "")).split()):
            return name, sequence.get("number") or None
    return None


def text_in(element: etree._Element) -> str:
    """Returns the text of an element on one line."""
    return " ".join(strip_invisible(" ".join(element.itertext())).split())


def remove_pictures(text: str) -> str:
    """Removes embedded pictures from a file's text."""
    return _BINARY.sub("", text)


def find_cover(text: str, root: etree._Element) -> tuple[CoverImage | None, list[str]]:
    """Returns the embedded cover that a file declares, and remarks on it."""
    cover_page = next(root.iter("{*}coverpage"), None)
    hrefs = [] if cover_page is None else [href_of(image) for image in cover_page.iter("{*}image")]
    cover_id = next((name.removeprefix("#") for name in hrefs if name.startswith("#")), None)
    if cover_id is None:
        return None, []
    for binary in _BINARY.finditer(text):
        if re.search(rf"\bid\s*=\s*[\"']{re.escape(cover_id)}[\"']", binary[1]):
            return _decode_cover(cover_id, binary[2])
    return None, [f"The book names a cover, {cover_id}, that it does not hold."]


def href_of(element: etree._Element) -> str:
    """Returns the `href` of a link, whatever its prefix; "" for none."""
    hrefs = (
        str(attribute) for name, attribute in element.attrib.items() if str(name).endswith("href")
    )
    return next(hrefs, "").strip()


def _decode_cover(name: str, encoded: str) -> tuple[CoverImage | None, list[str]]:
    """Decodes a Base64 cover; returns it with remarks."""
    try:
        content = base64.b64decode("".join(encoded[:_COVER_LIMIT].split()), validate=False)
    except (binascii.Error, ValueError):
        return None, [f"The cover ({name}) is broken, so it is left out."]
    cover, remark = cover_of(content, name)
    return cover, [remark] if remark else []
