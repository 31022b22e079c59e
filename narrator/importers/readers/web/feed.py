"""A series feed (RSS, RDF, Atom, JSON Feed) -> pages: each item is a chapter, the oldest first.

Reads what the feed holds, and texts that lie beside it and that it names. Nothing on the network.
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

from narrator.characters import seen
from narrator.errors import ImportFailed, Problem
from narrator.importers.book import Book, Choices, file_name
from narrator.importers.plaintext import read_text
from narrator.importers.readers import markup
from narrator.importers.readers.elements import LANG, SOURCE, row_of
from narrator.importers.readers.facts import LANGUAGE, Metadata, TocEntry
from narrator.importers.readers.pages import Pages, SourcePage, read_pages
from narrator.importers.readers.web.furniture import leave_furniture

_CONTENT = "{http://purl.org/rss/1.0/modules/content/}encoded"
_TAGGED = re.compile(r"</?[A-Za-z][^<>]*>|&(?:#\d+|#x[0-9A-Fa-f]+|[A-Za-z]\w+);")
_EXCERPT = re.compile(r"(?:\[?(?:…|\.\.\.)\]?|(?:continue|keep) reading\W*|read more\W*)\s*$", re.I)
_NUMBER = re.compile(r"\d{1,6}")
_SHOWN = 3
_LOCAL = {
    ".html": "html", ".htm": "html", ".xhtml": "html", ".md": "markdown", ".markdown": "markdown",
    ".txt": "text", ".text": "text",
}  # fmt: skip


@dataclass(slots=True)
class _FeedItem:
    """An episode or a chapter, as a feed has it."""

    title: str = ""
    shape: str = "text"
    """Of `content`: "text", "html", "markdown" or "element"."""
    content: Any = None
    links: list[str] = field(default_factory=list)
    """Addresses where its text may lie, the likeliest first."""
    summary: str = ""
    date: float | None = None
    number: float | None = None
    is_recording: bool = False
    is_summary: bool = False
    """Whether there was no more than a summary."""


@dataclass(slots=True)
class _SeriesFeed:
    facts: Metadata
    items: list[_FeedItem]


def read_feed(path: Path, choices: Choices) -> Book:
    """The series in a feed. Raises ImportFailed, Slow."""
    text = read_text(path, choices.encoding).text
    try:
        feed = _of_json(text) if text.lstrip()[:1] == "{" else _of_xml(text)
    except markup.BadMarkup as error:
        raise ImportFailed(Problem(path, None, str(error))) from None
    remarks: list[str] = []
    items = _ordered(feed.items, remarks)
    for item in items:
        _fill(item, path, choices)
    kept = [item for item in items if item.content is not None]
    remarks += _remarks(items, kept)
    if not kept:
        what = "holds no texts, only links" if items else "a feed without items"
        raise ImportFailed(Problem(path, None, f"{what}; {_SAVE}"))
    pages, contents = [], []
    for number, item in enumerate(kept, 1):
        try:
            root = _page(item)
        except markup.BadMarkup as error:
            raise ImportFailed(Problem(path, None, f"“{item.title}”: {error}")) from None
        next(root.iter("{*}body"), root).set(SOURCE, f"{file_name(path)}, item {number}")
        pages.append(SourcePage(f"item-{number}", root))
        contents.append(TocEntry(item.title, f"item-{number}", ""))
    return read_pages(path, Pages(pages, feed.facts, contents, remarks=remarks), choices)


# -- kinds of feeds --------------------------------------------------------------------------------


def _of_xml(text: str) -> _SeriesFeed:
    try:
        root = markup.xml_of(text)
    except markup.BadMarkup:
        root = markup.mended_xml(markup.safe(text))
    markup.check_depth(root)
    if _name(root) == "feed":
        return _SeriesFeed(
            _facts(root, root), [_of_entry(entry) for entry in root.iter("{*}entry")]
        )
    channel = next(root.iter("{*}channel"), None)
    if channel is None:
        raise markup.BadMarkup(f"no feed, but <{_name(root)}>")
    items = [_of_item(item) for item in root.iter("{*}item") if _is_post(item)]
    return _SeriesFeed(_facts(channel, root), items)


def _is_post(item: etree._Element) -> bool:
    """Whether an item is one: exports of blogs hold their pictures and menus as well."""
    return _first(item, "post_type") in (None, "post", "page")


def _of_item(element: etree._Element) -> _FeedItem:
    """An item of RSS."""
    title = _first(element, "title") or ""
    item = _FeedItem(_plain(title) if _TAGGED.search(title) else title)
    encoded = element.find(_CONTENT)
    if encoded is not None and (written := "".join(encoded.itertext()).strip()):
        item.content, item.shape = written, "html"
    item.summary = _first(element, "description", lines=True) or ""
    for enclosure in element.iterchildren("{*}enclosure"):
        item.links.append(enclosure.get("url", ""))
        item.is_recording |= enclosure.get("type", "").startswith(("audio/", "video/"))
    item.links.append(_first(element, "link") or "")
    item.date = _date(_first(element, "pubDate") or _first(element, "date"))
    item.number = _number(_first(element, "episode"), item.title)
    return item


def _of_entry(element: etree._Element) -> _FeedItem:
    """An entry of Atom."""
    title, content = element.find("{*}title"), element.find("{*}content")
    item = _FeedItem(_title_of_atom(title))
    if content is not None:
        if source := content.get("src"):
            item.links.append(source)
        elif content.get("type", "text") in ("xhtml", "application/xhtml+xml") and len(content):
            item.content, item.shape = content[0], "element"
        elif written := "".join(content.itertext()).strip():
            item.content = written
            item.shape = "html" if "html" in content.get("type", "text") else "text"
    item.summary = _first(element, "summary", lines=True) or ""
    for link in element.iterchildren("{*}link"):
        if link.get("rel", "alternate") in ("alternate", "enclosure"):
            item.links.append(link.get("href", ""))
            item.is_recording |= link.get("type", "").startswith(("audio/", "video/"))
    item.date = _date(_first(element, "published") or _first(element, "updated"))
    item.number = _number(None, item.title)
    return item


def _title_of_atom(title: etree._Element | None) -> str:
    said = row_of(title)
    return _plain(said) if title is not None and title.get("type") == "html" else said


def _of_json(text: str) -> _SeriesFeed:
    try:
        feed = json.loads(text.lstrip())
    except (ValueError, RecursionError) as error:
        raise markup.BadMarkup(f"broken JSON: {markup.short(error)}") from None
    listed = feed.get("items") if isinstance(feed, dict) else None
    items = [_of_object(one) for one in listed or () if isinstance(one, dict)]
    authors = [feed.get("author"), *_list(feed.get("authors"))]
    named = (_string(one.get("name")) for one in authors if isinstance(one, dict))
    language = _string(feed.get("language"))
    facts = Metadata(
        title=_string(feed.get("title")) or None,
        authors=tuple(dict.fromkeys(filter(None, named))),
        language=language if LANGUAGE.fullmatch(language) else None,
        description=_string(feed.get("description")) or None,
    )
    return _SeriesFeed(facts, items)


def _of_object(one: dict[str, Any]) -> _FeedItem:
    """An item of a JSON Feed."""
    item = _FeedItem(_string(one.get("title")))
    marked, plain = one.get("content_html"), one.get("content_text")
    if isinstance(marked, str) and marked.strip():
        item.content, item.shape = marked, "html"
    elif isinstance(plain, str) and plain.strip():
        item.content = plain
    item.summary = _string(one.get("summary"))
    for attached in _list(one.get("attachments")):
        if isinstance(attached, dict):
            item.links.append(_string(attached.get("url")))
            kind = _string(attached.get("mime_type"))
            item.is_recording |= kind.startswith(("audio/", "video/"))
    item.links.append(_string(one.get("url")))
    item.date = _date(_string(one.get("date_published")))
    item.number = _number(None, item.title)
    return item


def _facts(channel: etree._Element, root: etree._Element) -> Metadata:
    """What a channel says of the series."""
    names = [_first(channel, "author"), _first(channel, "creator")]
    authors = [row_of(name) for name in channel.iterfind("{*}author/{*}name")] or names[:1]
    authors = authors if any(authors) else names[1:]
    authors = authors if any(authors) else _same_of_all(channel)
    tag = _first(channel, "language") or root.get(LANG) or ""
    tag = tag.replace("_", "-")
    description = _first(channel, "description") or _first(channel, "subtitle")
    return Metadata(
        title=_plain(_first(channel, "title") or "") or None,
        authors=tuple(filter(None, authors)),
        language=tag if LANGUAGE.fullmatch(tag) else None,
        description=_plain(description) if description else None,
        copyright=_first(channel, "copyright") or _first(channel, "rights"),
    )


def _same_of_all(channel: etree._Element) -> list[str | None]:
    """Who wrote every item of a series, where the same name stands at each."""
    items = [item for item in channel.iter("{*}item") if _is_post(item)]
    names = {_first(item, "creator") for item in items}
    return list(names) if len(names) == 1 else []


# -- texts of items --------------------------------------------------------------------------------

_SAVE = "save the pages beside the feed, name these files in its links, or import the pages alone"


def _fill(item: _FeedItem, path: Path, choices: Choices) -> None:
    """Give an item its text: its own, that of a file beside the feed, or its summary."""
    if item.content is not None:
        return
    for link in item.links:
        if found := _beside(path, link):
            item.content = read_text(found, choices.encoding).text
            item.shape = _LOCAL[found.suffix.lower()]
            return
    if item.summary.strip():
        item.content, item.is_summary = item.summary, True
        item.shape = "html" if _TAGGED.search(item.summary) else "text"


def _beside(path: Path, link: str) -> Path | None:
    """The text in the feed's folder, or below, that a link names."""
    link = unquote(link.strip().partition("#")[0])
    if not link or ":" in link or link.startswith(("/", "\\")) or "\0" in link:
        return None
    folder = path.parent.resolve()
    try:
        found = (folder / link).resolve()
        inside = found.is_relative_to(folder) and found.is_file()
    except (OSError, RuntimeError, ValueError):
        return None
    return found if inside and found.suffix.lower() in _LOCAL else None


def _page(item: _FeedItem) -> etree._Element:
    """An item as XHTML, its title above it. Raises BadMarkup."""
    root = etree.Element("html")
    body = etree.SubElement(root, "body")
    content = _body_of(item)
    first = next(content.iter(*(f"{{*}}h{level}" for level in range(1, 7))), None)
    if item.title and (first is None or row_of(first).casefold() != item.title.casefold()):
        etree.SubElement(body, "h1").text = item.title
    content.tag = "div"
    body.append(content)
    leave_furniture(root, "item")
    return root


def _body_of(item: _FeedItem) -> etree._Element:
    if item.shape == "element":
        content = deepcopy(item.content)
        content.tail = None
        return content
    text = str(item.content)
    if item.shape == "markdown":
        text = MarkdownIt("commonmark").enable("table").render(text)
    elif item.shape == "text":
        text = "".join(f"<p>{html.escape(part)}</p>" for part in _paragraphs(text))
    page, _ = markup.document_of(f"<html><body>{seen(text)}</body></html>" if
                                 "<body" not in text else seen(text))  # fmt: skip
    return next(page.iter("{*}body"), page)


def _paragraphs(text: str) -> Iterator[str]:
    """Those that blank lines part, or lines where there are none."""
    parts = re.split(r"\n[ \t]*\n", text.strip())
    return (part for part in (parts if len(parts) > 1 else text.split("\n")) if part.strip())


# -- order and remarks -----------------------------------------------------------------------------


def _ordered(items: Sequence[_FeedItem], remarks: list[str]) -> list[_FeedItem]:
    """Items as they are read: by date, or by their numbers."""
    placed = list(enumerate(items))
    if all(item.date is not None for item in items):
        placed.sort(key=lambda one: (one[1].date or 0.0, one[1].number or 0.0, -one[0]))
        return [item for _, item in placed]
    numbers = [item.number for item in items if item.number is not None]
    if 2 * len(numbers) > len(items) > 1:
        falling = sum(a > b for a, b in pairwise(numbers))
        return list(items) if 2 * falling < len(numbers) else list(reversed(items))
    if len(items) > 1:
        remarks.append("Not all items have dates, so they stand in the feed's order: look at it.")
    return list(items)


def _remarks(items: Sequence[_FeedItem], kept: Sequence[_FeedItem]) -> Iterator[str]:
    lost = [item.title or "?" for item in items if item.content is None]
    if lost:
        named = ", ".join(f"“{title}”" for title in lost[:_SHOWN])
        more = "…" if len(lost) > _SHOWN else ""
        yield f"{len(lost)} of {len(items)} items hold no text ({named}{more}): {_SAVE}."
    cut = sum(item.is_summary and bool(_EXCERPT.search(_plain(item.summary))) for item in kept)
    if cut:
        yield f"{cut} of {len(items)} items are excerpts that end in the middle: {_SAVE}."
    spoken = sum(item.is_recording for item in kept)
    if 2 * spoken > len(kept):
        yield f"{spoken} of {len(items)} items are recordings; what is read are the notes to them."


# -- small things ----------------------------------------------------------------------------------


def _name(element: etree._Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _first(element: etree._Element, name: str, lines: bool = False) -> str | None:
    """The text of the first child of this name that has one."""
    for child in element.iterchildren(f"{{*}}{name}"):
        if said := seen("".join(child.itertext())).strip():
            return said if lines else " ".join(said.split())
    return None


def _plain(text: str) -> str:
    """A text without tags and entities."""
    return " ".join(seen(html.unescape(re.sub(r"<[^<>]*>", " ", text))).split())


def _string(value: object) -> str:
    return seen(value).strip() if isinstance(value, str) else ""


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(said: str | None, title: str) -> float | None:
    """The number of an episode, as it is said or as its title has it."""
    found = _NUMBER.search(said or "") or _NUMBER.search(title)
    return float(found[0]) if found else None


def _date(said: str | None) -> float | None:
    """A moment in seconds; None where none is told."""
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            found = parse((said or "").strip())
            return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
    return None
