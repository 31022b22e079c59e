"""Reads series feeds (RSS, RDF, Atom, JSON Feed); each item is a chapter, the oldest first.

Reads the texts in the feed, and local files that it links to. Nothing on the network.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from lxml import etree
from markdown_it import MarkdownIt

from manuscripts.book import Book, Choices, file_name
from manuscripts.errors import ImportFailed
from manuscripts.plaintext import read_text
from manuscripts.readers import markup
from manuscripts.readers.elements import (
    HEADINGS,
    LANGUAGE_ATTRIBUTE,
    SOURCE_ATTRIBUTE,
    body_of,
    element_name,
    single_line_text,
)
from manuscripts.readers.facts import Metadata, TocEntry, valid_language
from manuscripts.readers.pages import Pages, SourcePage, read_pages
from manuscripts.readers.web.boilerplate import omit_boilerplate
from textbase.characters import strip_invisible
from textbase.errors import Problem

_CONTENT = "{http://purl.org/rss/1.0/modules/content/}encoded"
_MARKUP = re.compile(r"</?[A-Za-z][^<>]*>|&(?:#\d+|#x[0-9A-Fa-f]+|[A-Za-z]\w+);")
_EXCERPT_END = re.compile(
    r"(?:\[?(?:…|\.\.\.)\]?|(?:continue|keep) reading\W*|read more\W*)\s*$", re.I
)
_NUMBER = re.compile(r"\d{1,6}")
_MAX_LISTED_TITLES = 3
_LOCAL_FORMATS = {
    ".html": "html", ".htm": "html", ".xhtml": "html", ".md": "markdown", ".markdown": "markdown",
    ".txt": "text", ".text": "text",
}  # fmt: skip
_ADVICE = "save the pages beside the feed, name these files in its links, or import the pages alone"


@dataclass(slots=True)
class _FeedItem:
    """An episode or a chapter in a feed."""

    title: str = ""
    content_format: str = "text"
    """Format of `content`: "text", "html", "markdown" or "element"."""
    content: Any = None
    links: list[str] = field(default_factory=list)
    """Addresses where its text may be, the likeliest first."""
    summary: str = ""
    date: float | None = None
    number: float | None = None
    is_recording: bool = False
    is_summary: bool = False
    """True if `content` is only the summary."""

    def set_content(self, content_format: str, content: object) -> None:
        """Sets the content, unless it is empty or there is one already."""
        if self.content is None and isinstance(content, str) and content.strip():
            self.content, self.content_format = content, content_format

    def add_link(self, address: str | None, media_type: str = "") -> None:
        self.links.append(address or "")
        self.is_recording |= media_type.startswith(("audio/", "video/"))

    def set_order(self, *dates: str | None, number: str | None = None) -> None:
        """Sets the date of the first that is stated, and the number, as stated or in the title."""
        self.date = _parse_date(next(filter(None, dates), None))
        match = _NUMBER.search(number or "") or _NUMBER.search(self.title)
        self.number = float(match[0]) if match else None


def read_feed(path: Path, choices: Choices) -> Book:
    """Reads the series in a feed. Raises ImportFailed, SlowPattern."""
    text = read_text(path, choices.encoding).text
    try:
        is_json = text.lstrip()[:1] == "{"
        metadata, feed_items = _read_json_feed(text) if is_json else _read_xml_feed(text)
    except markup.BadMarkup as error:
        raise ImportFailed(Problem(path, None, str(error))) from None
    remarks: list[str] = []
    feed_items = _sort_items(feed_items, remarks)
    for feed_item in feed_items:
        if feed_item.content is None:
            _find_content(feed_item, path, choices)
    readable_items = [feed_item for feed_item in feed_items if feed_item.content is not None]
    remarks += _list_remarks(feed_items, readable_items)
    if not readable_items:
        problem = "holds no texts, only links" if feed_items else "a feed without items"
        raise ImportFailed(Problem(path, None, f"{problem}; {_ADVICE}"))
    pages, contents = [], []
    for number, feed_item in enumerate(readable_items, 1):
        try:
            root = _build_page(feed_item)
        except markup.BadMarkup as error:
            raise ImportFailed(Problem(path, None, f"“{feed_item.title}”: {error}")) from None
        body_of(root).set(SOURCE_ATTRIBUTE, f"{file_name(path)}, item {number}")
        pages.append(SourcePage(f"item-{number}", root))
        contents.append(TocEntry(feed_item.title, f"item-{number}", ""))
    return read_pages(path, Pages(pages, metadata, contents, remarks=remarks), choices)


# -- kinds of feeds --------------------------------------------------------------------------------


def _read_xml_feed(text: str) -> tuple[Metadata, list[_FeedItem]]:
    """Reads RSS, RDF or Atom. Raises BadMarkup."""
    try:
        root = markup.xml_of(text)
    except markup.BadMarkup:
        root = markup.recover_xml(markup.sanitize(text))
    markup.check_depth(root)
    is_atom = element_name(root) == "feed"
    channel = root if is_atom else next(root.iter("{*}channel"), None)
    if channel is None:
        raise markup.BadMarkup(f"not a feed, but <{element_name(root)}>")
    # Exports of blogs also contain pictures and menus.
    posts = [
        element
        for element in root.iter("{*}entry" if is_atom else "{*}item")
        if _child_text(element, "post_type") in (None, "post", "page")
    ]
    feed_items = [_read_entry(post) if is_atom else _read_rss_item(post) for post in posts]
    creators = {_child_text(post, "creator") for post in posts}
    common_creator = list(creators) if len(creators) == 1 else []
    return _read_metadata(channel, root, common_creator), feed_items


def _read_metadata(
    channel: etree._Element, root: etree._Element, common_creator: list[str | None]
) -> Metadata:
    """Returns a channel's facts of the series, whose items may have an author in common."""
    authors = (
        [*map(single_line_text, channel.iterfind("{*}author/{*}name"))],
        [_child_text(channel, "author")],
        [_child_text(channel, "creator")],
        common_creator,
    )
    description = _child_text(channel, "description") or _child_text(channel, "subtitle")
    return Metadata(
        title=_strip_tags(_child_text(channel, "title") or "") or None,
        authors=tuple(filter(None, next((names for names in authors if any(names)), []))),
        language=valid_language(_child_text(channel, "language") or root.get(LANGUAGE_ATTRIBUTE)),
        description=_strip_tags(description) if description else None,
        copyright=_child_text(channel, "copyright") or _child_text(channel, "rights"),
    )


def _read_rss_item(element: etree._Element) -> _FeedItem:
    """Converts an item of RSS."""
    title = _child_text(element, "title") or ""
    feed_item = _FeedItem(_strip_tags(title) if _MARKUP.search(title) else title)
    encoded = element.find(_CONTENT)
    feed_item.set_content("html", None if encoded is None else "".join(encoded.itertext()).strip())
    feed_item.summary = _child_text(element, "description", keep_lines=True) or ""
    for enclosure in element.iterchildren("{*}enclosure"):
        feed_item.add_link(enclosure.get("url"), enclosure.get("type", ""))
    feed_item.add_link(_child_text(element, "link"))
    dates = (_child_text(element, name) for name in ("pubDate", "date"))
    feed_item.set_order(*dates, number=_child_text(element, "episode"))
    return feed_item


def _read_entry(element: etree._Element) -> _FeedItem:
    """Converts an entry of Atom."""
    title, content = element.find("{*}title"), element.find("{*}content")
    text = single_line_text(title)
    is_html = title is not None and title.get("type") == "html"
    feed_item = _FeedItem(_strip_tags(text) if is_html else text)
    if content is not None:
        kind = content.get("type", "text")
        if content.get("src"):
            feed_item.add_link(content.get("src"))
        elif kind in ("xhtml", "application/xhtml+xml") and len(content):
            feed_item.content, feed_item.content_format = content[0], "element"
        else:
            text = "".join(content.itertext()).strip()
            feed_item.set_content("html" if "html" in kind else "text", text)
    feed_item.summary = _child_text(element, "summary", keep_lines=True) or ""
    for link in element.iterchildren("{*}link"):
        if link.get("rel", "alternate") in ("alternate", "enclosure"):
            feed_item.add_link(link.get("href"), link.get("type", ""))
    feed_item.set_order(*(_child_text(element, name) for name in ("published", "updated")))
    return feed_item


def _read_json_feed(text: str) -> tuple[Metadata, list[_FeedItem]]:
    """Reads a JSON Feed. Raises BadMarkup."""
    try:
        feed = json.loads(text.lstrip())
    except (ValueError, RecursionError) as error:
        raise markup.BadMarkup(f"broken JSON: {markup.summarize_error(error)}") from None
    feed_items = [_read_json_item(entry) for entry in _mappings(feed.get("items"))]
    authors = (feed.get("author"), *_mappings(feed.get("authors")))
    author_names = [_text_of(author, "name") for author in _mappings(list(authors))]
    metadata = Metadata(
        title=_text_of(feed, "title") or None,
        authors=tuple(dict.fromkeys(filter(None, author_names))),
        language=valid_language(_text_of(feed, "language")),
        description=_text_of(feed, "description") or None,
    )
    return metadata, feed_items


def _read_json_item(entry: dict[str, Any]) -> _FeedItem:
    """Converts an item of a JSON Feed."""
    feed_item = _FeedItem(_text_of(entry, "title"), summary=_text_of(entry, "summary"))
    feed_item.set_content("html", entry.get("content_html"))
    feed_item.set_content("text", entry.get("content_text"))
    for attachment in _mappings(entry.get("attachments")):
        feed_item.add_link(_text_of(attachment, "url"), _text_of(attachment, "mime_type"))
    feed_item.add_link(_text_of(entry, "url"))
    feed_item.set_order(_text_of(entry, "date_published"))
    return feed_item


def _mappings(json_value: object) -> list[dict[str, Any]]:
    """Returns those entries of a list that are mappings; none for anything else."""
    entries = json_value if isinstance(json_value, list) else []
    return [entry for entry in entries if isinstance(entry, dict)]


def _text_of(entry: dict[str, Any], key: str) -> str:
    text = entry.get(key)
    return strip_invisible(text).strip() if isinstance(text, str) else ""


def _child_text(element: etree._Element, name: str, keep_lines: bool = False) -> str | None:
    """Returns the text of the first non-empty child of a name; `keep_lines` keeps its line ends."""
    for child in element.iterchildren(f"{{*}}{name}"):
        if text := strip_invisible("".join(child.itertext())).strip():
            return text if keep_lines else " ".join(text.split())
    return None


def _strip_tags(text: str) -> str:
    """Returns text without tags and entities, on one line."""
    return " ".join(strip_invisible(html.unescape(re.sub(r"<[^<>]*>", " ", text))).split())


def _parse_date(text: str | None) -> float | None:
    """Parses a date as seconds since 1970; None for no valid date."""
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            moment = parse((text or "").strip())
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
    return None


# -- texts of items --------------------------------------------------------------------------------


def _find_content(feed_item: _FeedItem, path: Path, choices: Choices) -> None:
    """Sets the content of an item that has none: from a linked local file, or the summary."""
    file = next((f for link in feed_item.links if (f := _find_local_file(path, link))), None)
    if file:
        feed_item.content = read_text(file, choices.encoding).text
        feed_item.content_format = _LOCAL_FORMATS[file.suffix.lower()]
    elif feed_item.summary.strip():
        feed_item.content, feed_item.is_summary = feed_item.summary, True
        feed_item.content_format = "html" if _MARKUP.search(feed_item.summary) else "text"


def _find_local_file(path: Path, link: str) -> Path | None:
    """Returns the file in the feed's folder, or below, that a link points to."""
    link = unquote(link.strip().partition("#")[0])
    if not link or ":" in link or link.startswith(("/", "\\")) or "\0" in link:
        return None
    folder = path.parent.resolve()
    try:
        file = (folder / link).resolve()
        is_inside = file.is_relative_to(folder) and file.is_file()
    except (OSError, RuntimeError, ValueError):
        return None
    return file if is_inside and file.suffix.lower() in _LOCAL_FORMATS else None


def _build_page(feed_item: _FeedItem) -> etree._Element:
    """Converts an item to XHTML, with its title as a heading. Raises BadMarkup."""
    root = etree.Element("html")
    body = etree.SubElement(root, "body")
    content = _content_body(feed_item)
    heading = next(content.iter(*HEADINGS), None)
    if feed_item.title and single_line_text(heading).casefold() != feed_item.title.casefold():
        etree.SubElement(body, "h1").text = feed_item.title
    content.tag = "div"
    body.append(content)
    omit_boilerplate(root, "item")
    return root


def _content_body(feed_item: _FeedItem) -> etree._Element:
    """Returns the content of an item as a body element. Raises BadMarkup."""
    if feed_item.content_format == "element":
        content = deepcopy(feed_item.content)
        content.tail = None
        return content
    text = str(feed_item.content)
    if feed_item.content_format == "markdown":
        text = MarkdownIt("commonmark").enable("table").render(text)
    elif feed_item.content_format == "text":
        # Paragraphs end at blank lines, or with each line where there are none.
        parts = re.split(r"\n[ \t]*\n", text.strip())
        paragraphs = parts if len(parts) > 1 else text.split("\n")
        text = "".join(f"<p>{html.escape(part)}</p>" for part in paragraphs if part.strip())
    text = strip_invisible(text)
    page, _ = markup.document_of(text if "<body" in text else f"<html><body>{text}</body></html>")
    return body_of(page)


# -- order and remarks -----------------------------------------------------------------------------


def _sort_items(feed_items: Sequence[_FeedItem], remarks: list[str]) -> list[_FeedItem]:
    """Returns items in reading order: by date, or by their numbers."""
    if all(feed_item.date is not None for feed_item in feed_items):
        # The newest stands first, so of two with one date the later is the older.
        newest_last = list(reversed(feed_items))
        return sorted(newest_last, key=lambda item: (item.date or 0.0, item.number or 0.0))
    numbers = [feed_item.number for feed_item in feed_items if feed_item.number is not None]
    if 2 * len(numbers) > len(feed_items) > 1:
        falling = sum(previous > following for previous, following in pairwise(numbers))
        return list(feed_items) if 2 * falling < len(numbers) else list(reversed(feed_items))
    if len(feed_items) > 1:
        remarks.append("Not all items have dates, so they stand in the feed's order: look at it.")
    return list(feed_items)


def _list_remarks(
    feed_items: Sequence[_FeedItem], readable_items: Sequence[_FeedItem]
) -> Iterator[str]:
    """Yields remarks on items without text, excerpts, and recordings."""
    total = f"of {len(feed_items)} items"
    missing_titles = [item.title or "?" for item in feed_items if item.content is None]
    if missing_titles:
        title_list = ", ".join(f"“{title}”" for title in missing_titles[:_MAX_LISTED_TITLES])
        ellipsis = "…" if len(missing_titles) > _MAX_LISTED_TITLES else ""
        yield f"{len(missing_titles)} {total} hold no text ({title_list}{ellipsis}): {_ADVICE}."
    summaries = [_strip_tags(item.summary) for item in readable_items if item.is_summary]
    if excerpt_count := sum(map(bool, map(_EXCERPT_END.search, summaries))):
        yield f"{excerpt_count} {total} are excerpts that end in the middle: {_ADVICE}."
    recording_count = sum(feed_item.is_recording for feed_item in readable_items)
    if 2 * recording_count > len(readable_items):
        yield f"{recording_count} {total} are recordings; what is read are the notes to them."
