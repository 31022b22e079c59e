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
from manuscripts.readers.elements import LANGUAGE_ATTRIBUTE, SOURCE_ATTRIBUTE, single_line_text
from manuscripts.readers.facts import LANGUAGE_TAG, Metadata, TocEntry
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


@dataclass(slots=True)
class _SeriesFeed:
    metadata: Metadata
    feed_items: list[_FeedItem]


def read_feed(path: Path, choices: Choices) -> Book:
    """Reads the series in a feed. Raises ImportFailed, Slow."""
    text = read_text(path, choices.encoding).text
    try:
        feed = _read_json_feed(text) if text.lstrip()[:1] == "{" else _read_xml_feed(text)
    except markup.BadMarkup as error:
        raise ImportFailed(Problem(path, None, str(error))) from None
    remarks: list[str] = []
    feed_items = _sort_items(feed.feed_items, remarks)
    for feed_item in feed_items:
        _fill_content(feed_item, path, choices)
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
        next(root.iter("{*}body"), root).set(SOURCE_ATTRIBUTE, f"{file_name(path)}, item {number}")
        pages.append(SourcePage(f"item-{number}", root))
        contents.append(TocEntry(feed_item.title, f"item-{number}", ""))
    return read_pages(path, Pages(pages, feed.metadata, contents, remarks=remarks), choices)


# -- kinds of feeds --------------------------------------------------------------------------------


def _read_xml_feed(text: str) -> _SeriesFeed:
    """Reads RSS, RDF or Atom. Raises BadMarkup."""
    try:
        root = markup.xml_of(text)
    except markup.BadMarkup:
        root = markup.recover_xml(markup.sanitize(text))
    markup.check_depth(root)
    if _local_name(root) == "feed":
        return _SeriesFeed(
            _read_metadata(root, root), [_read_atom_entry(entry) for entry in root.iter("{*}entry")]
        )
    channel = next(root.iter("{*}channel"), None)
    if channel is None:
        raise markup.BadMarkup(f"no feed, but <{_local_name(root)}>")
    feed_items = [
        _read_rss_item(feed_item) for feed_item in root.iter("{*}item") if _is_post(feed_item)
    ]
    return _SeriesFeed(_read_metadata(channel, root), feed_items)


def _is_post(element: etree._Element) -> bool:
    """Returns whether an item is a post; exports of blogs also contain pictures and menus."""
    return _child_text(element, "post_type") in (None, "post", "page")


def _read_rss_item(element: etree._Element) -> _FeedItem:
    """Converts an item of RSS."""
    title = _child_text(element, "title") or ""
    feed_item = _FeedItem(_strip_tags(title) if _MARKUP.search(title) else title)
    encoded = element.find(_CONTENT)
    if encoded is not None and (content := "".join(encoded.itertext()).strip()):
        feed_item.content, feed_item.content_format = content, "html"
    feed_item.summary = _child_text(element, "description", keep_lines=True) or ""
    for enclosure in element.iterchildren("{*}enclosure"):
        feed_item.links.append(enclosure.get("url", ""))
        feed_item.is_recording |= enclosure.get("type", "").startswith(("audio/", "video/"))
    feed_item.links.append(_child_text(element, "link") or "")
    feed_item.date = _parse_date(_child_text(element, "pubDate") or _child_text(element, "date"))
    feed_item.number = _episode_number(_child_text(element, "episode"), feed_item.title)
    return feed_item


def _read_atom_entry(element: etree._Element) -> _FeedItem:
    """Converts an entry of Atom."""
    title, content = element.find("{*}title"), element.find("{*}content")
    feed_item = _FeedItem(_atom_title(title))
    if content is not None:
        if source := content.get("src"):
            feed_item.links.append(source)
        elif content.get("type", "text") in ("xhtml", "application/xhtml+xml") and len(content):
            feed_item.content, feed_item.content_format = content[0], "element"
        elif text := "".join(content.itertext()).strip():
            feed_item.content = text
            feed_item.content_format = "html" if "html" in content.get("type", "text") else "text"
    feed_item.summary = _child_text(element, "summary", keep_lines=True) or ""
    for link in element.iterchildren("{*}link"):
        if link.get("rel", "alternate") in ("alternate", "enclosure"):
            feed_item.links.append(link.get("href", ""))
            feed_item.is_recording |= link.get("type", "").startswith(("audio/", "video/"))
    feed_item.date = _parse_date(
        _child_text(element, "published") or _child_text(element, "updated")
    )
    feed_item.number = _episode_number(None, feed_item.title)
    return feed_item


def _atom_title(title: etree._Element | None) -> str:
    text = single_line_text(title)
    return _strip_tags(text) if title is not None and title.get("type") == "html" else text


def _read_json_feed(text: str) -> _SeriesFeed:
    """Reads a JSON Feed. Raises BadMarkup."""
    try:
        feed = json.loads(text.lstrip())
    except (ValueError, RecursionError) as error:
        raise markup.BadMarkup(f"broken JSON: {markup.summarize_error(error)}") from None
    entries = feed.get("items") if isinstance(feed, dict) else None
    feed_items = [_read_json_item(entry) for entry in entries or () if isinstance(entry, dict)]
    authors = [feed.get("author"), *_as_list(feed.get("authors"))]
    author_names = (_as_text(entry.get("name")) for entry in authors if isinstance(entry, dict))
    language = _as_text(feed.get("language"))
    metadata = Metadata(
        title=_as_text(feed.get("title")) or None,
        authors=tuple(dict.fromkeys(filter(None, author_names))),
        language=language if LANGUAGE_TAG.fullmatch(language) else None,
        description=_as_text(feed.get("description")) or None,
    )
    return _SeriesFeed(metadata, feed_items)


def _read_json_item(entry: dict[str, Any]) -> _FeedItem:
    """Converts an item of a JSON Feed."""
    feed_item = _FeedItem(_as_text(entry.get("title")))
    html_content, text_content = entry.get("content_html"), entry.get("content_text")
    if isinstance(html_content, str) and html_content.strip():
        feed_item.content, feed_item.content_format = html_content, "html"
    elif isinstance(text_content, str) and text_content.strip():
        feed_item.content = text_content
    feed_item.summary = _as_text(entry.get("summary"))
    for attachment in _as_list(entry.get("attachments")):
        if isinstance(attachment, dict):
            feed_item.links.append(_as_text(attachment.get("url")))
            media_type = _as_text(attachment.get("mime_type"))
            feed_item.is_recording |= media_type.startswith(("audio/", "video/"))
    feed_item.links.append(_as_text(entry.get("url")))
    feed_item.date = _parse_date(_as_text(entry.get("date_published")))
    feed_item.number = _episode_number(None, feed_item.title)
    return feed_item


def _read_metadata(channel: etree._Element, root: etree._Element) -> Metadata:
    """Returns a channel's metadata of the series."""
    names = [_child_text(channel, "author"), _child_text(channel, "creator")]
    authors = [single_line_text(name) for name in channel.iterfind("{*}author/{*}name")] or names[
        :1
    ]
    authors = authors if any(authors) else names[1:]
    authors = authors if any(authors) else _common_creator(channel)
    tag = _child_text(channel, "language") or root.get(LANGUAGE_ATTRIBUTE) or ""
    tag = tag.replace("_", "-")
    description = _child_text(channel, "description") or _child_text(channel, "subtitle")
    return Metadata(
        title=_strip_tags(_child_text(channel, "title") or "") or None,
        authors=tuple(filter(None, authors)),
        language=tag if LANGUAGE_TAG.fullmatch(tag) else None,
        description=_strip_tags(description) if description else None,
        copyright=_child_text(channel, "copyright") or _child_text(channel, "rights"),
    )


def _common_creator(channel: etree._Element) -> list[str | None]:
    """Returns the author of all items, if all have the same."""
    item_elements = [
        item_element for item_element in channel.iter("{*}item") if _is_post(item_element)
    ]
    names = {_child_text(item_element, "creator") for item_element in item_elements}
    return list(names) if len(names) == 1 else []


# -- texts of items --------------------------------------------------------------------------------

_ADVICE = "save the pages beside the feed, name these files in its links, or import the pages alone"


def _fill_content(feed_item: _FeedItem, path: Path, choices: Choices) -> None:
    """Sets an item's content if it has none: from a linked local file, or the summary."""
    if feed_item.content is not None:
        return
    for link in feed_item.links:
        if file := _find_local_file(path, link):
            feed_item.content = read_text(file, choices.encoding).text
            feed_item.content_format = _LOCAL_FORMATS[file.suffix.lower()]
            return
    if feed_item.summary.strip():
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
    heading = next(content.iter(*(f"{{*}}h{level}" for level in range(1, 7))), None)
    if feed_item.title and (
        heading is None or single_line_text(heading).casefold() != feed_item.title.casefold()
    ):
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
        text = "".join(f"<p>{html.escape(paragraph)}</p>" for paragraph in _paragraphs(text))
    page, _ = markup.document_of(f"<html><body>{strip_invisible(text)}</body></html>" if
                                 "<body" not in text else strip_invisible(text))  # fmt: skip
    return next(page.iter("{*}body"), page)


def _paragraphs(text: str) -> Iterator[str]:
    """Splits text into paragraphs at blank lines, or into lines where there are none."""
    parts = re.split(r"\n[ \t]*\n", text.strip())
    return (part for part in (parts if len(parts) > 1 else text.split("\n")) if part.strip())


# -- order and remarks -----------------------------------------------------------------------------


def _sort_items(feed_items: Sequence[_FeedItem], remarks: list[str]) -> list[_FeedItem]:
    """Returns items in reading order: by date, or by their numbers."""
    numbered_items = list(enumerate(feed_items))
    if all(feed_item.date is not None for feed_item in feed_items):
        numbered_items.sort(key=lambda pair: (pair[1].date or 0.0, pair[1].number or 0.0, -pair[0]))
        return [feed_item for _, feed_item in numbered_items]
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
    missing_titles = [
        feed_item.title or "?" for feed_item in feed_items if feed_item.content is None
    ]
    if missing_titles:
        title_list = ", ".join(f"“{title}”" for title in missing_titles[:_MAX_LISTED_TITLES])
        ellipsis = "…" if len(missing_titles) > _MAX_LISTED_TITLES else ""
        count = f"{len(missing_titles)} of {len(feed_items)} items"
        yield f"{count} hold no text ({title_list}{ellipsis}): {_ADVICE}."
    excerpt_count = sum(
        feed_item.is_summary and bool(_EXCERPT_END.search(_strip_tags(feed_item.summary)))
        for feed_item in readable_items
    )
    if excerpt_count:
        count = f"{excerpt_count} of {len(feed_items)} items"
        yield f"{count} are excerpts that end in the middle: {_ADVICE}."
    recording_count = sum(feed_item.is_recording for feed_item in readable_items)
    if 2 * recording_count > len(readable_items):
        yield (
            f"{recording_count} of {len(feed_items)} items are recordings; "
            "what is read are the notes to them."
        )


# -- helpers ---------------------------------------------------------------------------------------


def _local_name(element: etree._Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _child_text(element: etree._Element, name: str, keep_lines: bool = False) -> str | None:
    """Returns the text of the first non-empty child of a name; `keep_lines` keeps its line ends."""
    for child in element.iterchildren(f"{{*}}{name}"):
        if text := strip_invisible("".join(child.itertext())).strip():
            return text if keep_lines else " ".join(text.split())
    return None


def _strip_tags(text: str) -> str:
    """Returns text without tags and entities, on one line."""
    return " ".join(strip_invisible(html.unescape(re.sub(r"<[^<>]*>", " ", text))).split())


def _as_text(json_value: object) -> str:
    return strip_invisible(json_value).strip() if isinstance(json_value, str) else ""


def _as_list(json_value: object) -> list[Any]:
    return json_value if isinstance(json_value, list) else []


def _episode_number(stated: str | None, title: str) -> float | None:
    """Returns the number of an episode, as stated or in its title."""
    match = _NUMBER.search(stated or "") or _NUMBER.search(title)
    return float(match[0]) if match else None


def _parse_date(text: str | None) -> float | None:
    """Parses a date as seconds since 1970; None for no valid date."""
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            moment = parse((text or "").strip())
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
    return None
