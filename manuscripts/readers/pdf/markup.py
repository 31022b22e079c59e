"""Writes the blocks of a book as XHTML documents, with anchors for its bookmarks.

A document ends where a page ends early and something new begins on the next.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from lxml import etree

from manuscripts import hyphens
from manuscripts.chapters.outline import letters
from manuscripts.prose import is_ordinal
from manuscripts.readers import elements
from manuscripts.readers.facts import TocEntry
from manuscripts.readers.markup import remove_forbidden
from manuscripts.readers.pages import SourcePage
from manuscripts.readers.pdf.layout import LayoutBlock
from manuscripts.readers.pdf.lines import CELL_SEPARATOR, Run, TextLine, is_cjk

OMITTED_REFERENCE = "reference to a note"
_MAX_TITLE_WORDS = 30


class Bookmark(NamedTuple):
    """An entry of a PDF's outline."""

    title: str
    level: int
    page: int
    height: float | None
    """Height above the foot of the page, in points; None if unknown."""


def write_documents(
    blocks: Sequence[LayoutBlock], name: str, bookmarks: Sequence[Bookmark], is_hyphenated: bool
) -> tuple[list[SourcePage], list[TocEntry]]:
    """Returns documents, and the entries of a table of contents that point into them."""
    bookmarks_by_block = _bookmark_targets(blocks, bookmarks)
    pages: list[SourcePage] = []
    paths_by_bookmark: dict[int, str] = {}
    """Path of a document by the number of a bookmark."""
    for group in _split_documents(blocks):
        first_page = next((block.lines[0].page for block in group if block.lines), 0)
        path = f"{name}, page {first_page + 1}"
        path += " (more)" * any(path == page.path for page in pages[-1:])
        root = etree.Element("html")
        body = etree.SubElement(root, "body")
        for previous, block in zip((None, *group), group, strict=False):
            parent = body
            if previous is not None and _is_title_of(previous, block):
                parent = body[-1]
            elif block.kind == "heading":
                parent = etree.SubElement(body, "hgroup")
            element = _append_element(parent, block, is_hyphenated)
            source = f"{name}, page {block.lines[0].page + 1}" if block.lines else path
            element.set(elements.SOURCE_ATTRIBUTE, source)
            for number in bookmarks_by_block.get(id(block), ()):
                anchor = etree.Element("a", id=f"entry-{number}")
                anchor.tail, element.text = element.text, None
                element.insert(0, anchor)
                paths_by_bookmark[number] = path
        pages.append(SourcePage(path, root))
    level_entries = [
        (bookmark.level, TocEntry(bookmark.title, paths_by_bookmark[number], f"entry-{number}"))
        for number, bookmark in enumerate(bookmarks)
        if number in paths_by_bookmark
    ]
    return pages, _nest_entries(level_entries)


def _is_title_of(previous: LayoutBlock, block: LayoutBlock) -> bool:
    """Returns whether a heading is the title of the heading above, which is just `Chapter 1`."""
    are_headings = (
        previous.kind == block.kind == "heading" and previous.lines[0].page == block.lines[0].page
    )
    return are_headings and is_ordinal(previous.text) and not is_ordinal(block.text)


def _nest_entries(entries: Sequence[tuple[int, TocEntry]]) -> list[TocEntry]:
    """Nests entries by their levels."""
    top_entries: list[TocEntry] = []
    position = 0
    while position < len(entries):
        level, entry = entries[position]
        end = position + 1
        while end < len(entries) and entries[end][0] > level:
            end += 1
        children = tuple(_nest_entries(entries[position + 1 : end]))
        top_entries.append(TocEntry(entry.title, entry.path, entry.fragment, children))
        position = end
    return top_entries


def _split_documents(blocks: Sequence[LayoutBlock]) -> Iterator[list[LayoutBlock]]:
    """Splits blocks into documents at pages that begin something new."""
    group: list[LayoutBlock] = []
    for block in blocks:
        if block.begins_page and group:
            yield group
            group = []
        group.append(block)
    if group:
        yield group


# -- bookmarks -------------------------------------------------------------------------------------


def _bookmark_targets(
    blocks: Sequence[LayoutBlock], bookmarks: Sequence[Bookmark]
) -> dict[int, list[int]]:
    """Returns the numbers of the bookmarks that point to blocks, by the `id()` of the block."""
    text_blocks = [block for block in blocks if block.kind in ("text", "heading")]
    blocks_by_page = {
        page: list(group)
        for page, group in groupby(text_blocks, key=lambda part: part.lines[0].page)
    }
    pages = [block.lines[0].page for block in text_blocks]
    bookmarks_by_block: dict[int, list[int]] = {}
    for number, bookmark in enumerate(bookmarks):
        page_blocks = blocks_by_page.get(bookmark.page, [])
        next_index = bisect_right(pages, bookmark.page)
        block = (
            _find_by_title(page_blocks, bookmark)
            or _find_by_height(page_blocks, bookmark)
            or next(iter(text_blocks[next_index : next_index + 1]), None)
        )
        if block is not None:
            bookmarks_by_block.setdefault(id(block), []).append(number)
    return bookmarks_by_block


@lru_cache(50_000)
def _cached_letters(text: str) -> str:
    return letters(text)


def _find_by_title(blocks: Sequence[LayoutBlock], bookmark: Bookmark) -> LayoutBlock | None:
    """Finds the block with a bookmark's title, alone or with the next ones; makes them headings."""
    title_letters = letters(bookmark.title)
    for index, block in enumerate(blocks):
        block_letters = ""
        for count, title_block in enumerate(blocks[index : index + 3], 1):
            if len(title_block.text.split()) > _MAX_TITLE_WORDS:
                break
            block_letters += _cached_letters(title_block.text)
            if title_letters and block_letters == title_letters:
                title_blocks = blocks[index : index + count]
                levels = [block.level for block in title_blocks if block.kind == "heading"]
                for title_block in title_blocks:
                    title_block.kind = "heading"
                    title_block.level = levels[0] if levels else min(6, bookmark.level + 1)
                return block
    return next(
        (
            heading
            for heading in blocks
            if heading.kind == "heading"
            and (block_letters := _cached_letters(heading.text))
            and block_letters in title_letters
        ),
        None,
    )


def _find_by_height(blocks: Sequence[LayoutBlock], bookmark: Bookmark) -> LayoutBlock | None:
    """Returns the first block at or below the height that a bookmark points to."""
    if bookmark.height is None:
        return blocks[0] if blocks else None
    lower_blocks = (block for block in blocks if block.lines[0].baseline <= bookmark.height)
    return next(lower_blocks, None)


# -- elements --------------------------------------------------------------------------------------


def _append_element(
    body: etree._Element, block: LayoutBlock, is_hyphenated: bool
) -> etree._Element:
    """Appends the element of a block to the body."""
    if block.kind == "scene":
        return etree.SubElement(body, "hr")
    is_row = len(block.lines) == 1 and CELL_SEPARATOR in block.text.strip()
    if block.kind == "text" and is_row:
        return _append_row(body, block)
    element = etree.SubElement(body, f"h{block.level}" if block.kind == "heading" else "p")
    runs = join_runs(block.lines, is_hyphenated)
    if block.kind == "heading":
        runs = (replace(run, is_italic=False, is_bold=False) for run in runs)
    elif block.kind == "omitted":
        element.set(elements.OMISSION_ATTRIBUTE, block.lines[0].omission_reason or "")
    elif block.kind == "note":
        aside = etree.SubElement(body, "aside", {elements.EPUB_TYPE: "footnote"})
        aside.set("id", block.lines[0].note_id or "")
        aside.append(element)
    _write_runs(element, runs)
    return body[-1]


def _append_row(body: etree._Element, block: LayoutBlock) -> etree._Element:
    """Appends a table row, to the table at the end of the body or a new one."""
    table = body[-1] if len(body) and body[-1].tag == "table" else etree.SubElement(body, "table")
    row = etree.SubElement(table, "tr")
    cell = etree.SubElement(row, "td")
    for run in block.lines[0].runs:
        for index, text in enumerate(run.text.split(CELL_SEPARATOR)):
            cell = etree.SubElement(row, "td") if index else cell
            _write_runs(cell, [replace(run, text=text)])
    return row


def join_runs(lines: Sequence[TextLine], is_hyphenated: bool) -> Iterator[Run]:
    """Yields the runs of lines, with line ends between them to join hyphenated words later.

    In a text without hyphenation, words broken at their own hyphens are joined here.
    """
    last_text = ""
    for line in lines:
        for run_index, run in enumerate(line.runs):
            text = run.text
            if not run_index:
                text = text.lstrip()
                text = _line_separator(last_text, text, is_hyphenated) + text
            yield replace(run, text=text)
        last_text = line.text.rstrip()


def _line_separator(previous: str, following: str, is_hyphenated: bool) -> str:
    """Returns the separator between two lines: a line end, a space or nothing."""
    if not previous or not following:
        return ""
    if is_cjk(previous[-1]) and is_cjk(following[0]):
        return ""
    if not is_hyphenated and (match := hyphens.DIVIDED_WORD.search(f"{previous}\n{following}")):
        return " " if " " in hyphens.join_halves(match[1], match[2], ()) else ""
    ends_with_dash = previous.endswith("—") and previous[-2:-1].strip() and following[0].isalnum()
    return "" if ends_with_dash or (following.startswith("—") and following[1:2].strip()) else "\n"


def _write_runs(element: etree._Element, runs: Iterable[Run]) -> None:
    """Writes runs into an element; adjacent runs of one style are merged."""
    styled_runs = groupby(
        runs, key=lambda run: (run.is_italic, run.is_bold, run.is_raised, run.note_id)
    )
    for (is_italic, is_bold, is_raised, note_id), group in styled_runs:
        text = "".join(run.text for run in group)
        if note_id is not None:
            _write_reference(element, text, note_id)
            continue
        inner = element
        for name in ("strong" * is_bold, "em" * is_italic, "sup" * is_raised):
            inner = etree.SubElement(inner, name) if name else inner
        elements.append_text(inner, remove_forbidden(text))


def _write_reference(element: etree._Element, text: str, note_id: str) -> None:
    """Writes a reference to a note; one without a known note is left out."""
    link = etree.SubElement(element, "a")
    if note_id:
        link.set("href", f"#{note_id}")
    else:
        link.set(elements.OMISSION_ATTRIBUTE, OMITTED_REFERENCE)
    etree.SubElement(link, "sup").text = text
