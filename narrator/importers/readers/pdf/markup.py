"""The parts of a book -> documents of XHTML, with what its bookmarks point to.

A document ends where a page does and something new begins on the next.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from lxml import etree

from narrator.importers import hyphens
from narrator.importers.chapters.outline import letters
from narrator.importers.prose import is_ordinal
from narrator.importers.readers import elements
from narrator.importers.readers.facts import TocEntry
from narrator.importers.readers.pages import SourcePage
from narrator.importers.readers.pdf.layout import Portion
from narrator.importers.readers.pdf.lines import CELL, Run, TextLine, is_cjk

_EPUB_TYPE = "{http://www.idpf.org/2007/ops}type"
MARK_LEFT = "reference to a note"
_TITLE_WORDS = 30


class Bookmark(NamedTuple):
    """An entry of a PDF's outline."""

    title: str
    level: int
    page: int
    height: float | None
    """From the foot of the page, where it says so."""


def documents_of(
    parts: Sequence[Portion], name: str, bookmarks: Sequence[Bookmark], is_hyphenated: bool
) -> tuple[list[SourcePage], list[TocEntry]]:
    """Documents, and the entries of a table of contents that point into them."""
    pointed = dict(_pointed(parts, bookmarks))
    pages: list[SourcePage] = []
    places: dict[int, str] = {}
    """Bookmark -> document."""
    for group in _documents(parts):
        path = f"{name}, page {_page(group) + 1}"
        path = path if all(path != page.path for page in pages[-1:]) else f"{path} (more)"
        root = etree.Element("html")
        body = etree.SubElement(root, "body")
        for above, part in zip((None, *group), group, strict=False):
            together = above is not None and _is_title_of(above, part)
            holder = body[-1] if together else body
            if part.kind == "heading" and not together:
                holder = etree.SubElement(body, "hgroup")
            element = _element(holder, part, is_hyphenated)
            element.set(
                elements.SOURCE, f"{name}, page {part.lines[0].page + 1}" if part.lines else path
            )
            for number in pointed.get(id(part), ()):
                etree.SubElement(element, "a", id=f"entry-{number}")
                element.insert(0, element[-1])
                _move_text(element)
                places[number] = path
        pages.append(SourcePage(path, root))
    numbered = [
        (mark.level, TocEntry(mark.title, places[number], f"entry-{number}"))
        for number, mark in enumerate(bookmarks)
        if number in places
    ]
    return pages, _nested(numbered)


def _is_title_of(above: Portion, part: Portion) -> bool:
    """Whether a heading says the title of the one above, which only counts: `Chapter 1`."""
    both = above.kind == part.kind == "heading" and above.lines[0].page == part.lines[0].page
    return both and is_ordinal(above.text) and not is_ordinal(part.text)


def _move_text(element: etree._Element) -> None:
    """The text that an anchor was put before stands behind it."""
    element[0].tail, element.text = element.text, None


def _nested(entries: Sequence[tuple[int, TocEntry]]) -> list[TocEntry]:
    top: list[TocEntry] = []
    place = 0
    while place < len(entries):
        level, entry = entries[place]
        end = place + 1
        while end < len(entries) and entries[end][0] > level:
            end += 1
        children = tuple(_nested(entries[place + 1 : end]))
        top.append(TocEntry(entry.title, entry.path, entry.fragment, children))
        place = end
    return top


def _page(parts: Sequence[Portion]) -> int:
    return next((part.lines[0].page for part in parts if part.lines), 0)


def _documents(parts: Sequence[Portion]) -> Iterator[list[Portion]]:
    group: list[Portion] = []
    for part in parts:
        if part.begins_page and group:
            yield group
            group = []
        group.append(part)
    if group:
        yield group


# -- bookmarks -------------------------------------------------------------------------------------


def _pointed(
    parts: Sequence[Portion], bookmarks: Sequence[Bookmark]
) -> Iterator[tuple[int, list[int]]]:
    """Parts, by id, and the numbers of the bookmarks that point to them."""
    shown = [part for part in parts if part.kind in ("text", "heading")]
    by_page = {
        page: list(group) for page, group in groupby(shown, key=lambda part: part.lines[0].page)
    }
    pages = [part.lines[0].page for part in shown]
    found: dict[int, list[int]] = {}
    for number, mark in enumerate(bookmarks):
        near = by_page.get(mark.page, [])
        after = bisect_right(pages, mark.page)
        following = shown[after] if after < len(shown) else None
        part = _titled(near, mark) or _below(near, mark) or following
        if part is not None:
            found.setdefault(id(part), []).append(number)
    yield from found.items()


@lru_cache(50_000)
def _letters(text: str) -> str:
    return letters(text)


def _titled(parts: Sequence[Portion], mark: Bookmark) -> Portion | None:
    """The part that says a bookmark's title, alone or with those below it; they are headings."""
    wanted = letters(mark.title)
    for place, part in enumerate(parts):
        said = ""
        for number, below in enumerate(parts[place : place + 3], 1):
            if len(below.text.split()) > _TITLE_WORDS:
                break
            said += _letters(below.text)
            if wanted and said == wanted:
                _head(parts[place : place + number], mark)
                return part
    return next(
        (p for p in parts if p.kind == "heading" and (said := _letters(p.text)) and said in wanted),
        None,
    )


def _head(parts: Sequence[Portion], mark: Bookmark) -> None:
    level = next((part.level for part in parts if part.kind == "heading"), min(6, mark.level + 1))
    for part in parts:
        part.kind, part.level = "heading", level


def _below(parts: Sequence[Portion], mark: Bookmark) -> Portion | None:
    """The first part at or below the height that a bookmark points to."""
    if mark.height is None:
        return parts[0] if parts else None
    lower = (p for p in parts if p.lines[0].base <= mark.height)
    return next(lower, None)


# -- elements --------------------------------------------------------------------------------------


def _element(body: etree._Element, part: Portion, is_hyphenated: bool) -> etree._Element:
    """An element of a part, at the end of the body."""
    if part.kind == "scene":
        return etree.SubElement(body, "hr")
    if part.kind == "heading":
        element = etree.SubElement(body, f"h{part.level}")
        _write(
            element,
            (replace(run, em=False, strong=False) for run in joined(part.lines, is_hyphenated)),
        )
        return element
    if part.kind == "note":
        aside = etree.SubElement(body, "aside", {_EPUB_TYPE: "footnote"})
        aside.set("id", part.lines[0].note or "")
        _write(etree.SubElement(aside, "p"), joined(part.lines, is_hyphenated))
        return aside
    if _is_row(part):
        return _row(body, part)
    element = etree.SubElement(body, "p")
    if part.kind == "left":
        element.set(elements.LEFT, part.lines[0].left or "")
    _write(element, joined(part.lines, is_hyphenated))
    return element


def _is_row(part: Portion) -> bool:
    return part.kind == "text" and len(part.lines) == 1 and CELL in part.text.strip()


def _row(body: etree._Element, part: Portion) -> etree._Element:
    """A row of a table, in one that the body ends with, or in a new one."""
    table = body[-1] if len(body) and body[-1].tag == "table" else etree.SubElement(body, "table")
    row = etree.SubElement(table, "tr")
    cell = etree.SubElement(row, "td")
    for run in part.lines[0].runs:
        first, *others = run.text.split(CELL)
        _write(cell, [replace(run, text=first)])
        for text in others:
            cell = etree.SubElement(row, "td")
            _write(cell, [replace(run, text=text)])
    return row


def joined(lines: Sequence[TextLine], is_hyphenated: bool) -> Iterator[Run]:
    """The runs of lines, one after the other; a line's end is one of the text, so that words which
    it parts are known. Where no words are parted, a hyphen at a line's end is one of its word."""
    last = ""
    for line in lines:
        for number, run in enumerate(line.runs):
            text = run.text
            if not number:
                text = text.lstrip()
                text = _between(last, text, is_hyphenated) + text
            yield replace(run, text=text)
        last = line.text.rstrip()


def _between(above: str, below: str, is_hyphenated: bool) -> str:
    """What stands between two lines."""
    if not above or not below:
        return ""
    if is_cjk(above[-1]) and is_cjk(below[0]):
        return ""
    if not is_hyphenated and (parted := hyphens.BROKEN.search(f"{above}\n{below}")):
        return " " if " " in hyphens.joined(parted[1], parted[2], ()) else ""
    dash = above.endswith("—") and above[-2:-1].strip() and below[0].isalnum()
    return "" if dash or (below.startswith("—") and below[1:2].strip()) else "\n"


def _write(element: etree._Element, runs: Iterable[Run]) -> None:
    """Write runs into an element, those of one look as one."""
    alike = groupby(runs, key=lambda run: (run.em, run.strong, run.raised, run.note))
    for (em, strong, raised, note), group in alike:
        text = "".join(run.text for run in group)
        if note is not None:
            _write_mark(element, text, note)
            continue
        inner = element
        for name in ("strong" * strong, "em" * em, "sup" * raised):
            inner = etree.SubElement(inner, name) if name else inner
        _append(inner, text)


def _write_mark(element: etree._Element, text: str, note: str) -> None:
    """The mark of a note; without a note to lead to it is left out."""
    link = etree.SubElement(element, "a")
    if note:
        link.set("href", f"#{note}")
    else:
        link.set(elements.LEFT, MARK_LEFT)
    etree.SubElement(link, "sup").text = text


def _append(element: etree._Element, text: str) -> None:
    text = "".join(
        one for one in text if one in "\n\t" or (one >= " " and one not in "\ufffe\uffff")
    )
    elements.say(element, text)
