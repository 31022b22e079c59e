"""Rules for sources whose headings are marked and have levels, and nothing else says what is what.

Chapters begin at headings of the highest level but the title's, and at those within parts and
stories, which are read at the beginning of their first chapter.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from narrator.importers import matter
from narrator.importers.blocks import Block
from narrator.importers.chapters.outline import PART_WORDS, Outline, Start
from narrator.importers.chapters.titles import is_bare
from narrator.importers.counting import counted
from narrator.importers.headings import is_prose, is_title
from narrator.importers.prose import join_heading, plain

_TITLE_WORDS = 15
_BY = re.compile(r"[*_]*by:?\s+(\S.{1,80}?)[*_]*", re.IGNORECASE)


def promote_named(outline: Outline) -> None:
    """Make headings of lines that name chapters, where no heading does: `**Chapter 1**`."""
    headings = [outline.blocks[place] for place in outline.headings()]
    if any(counted(block.text) for block in headings):
        return
    texts = [block for block in outline.blocks if block.kind == "text"]
    lines = [block for block in texts if sum(bool(row.strip()) for row in block.rows) == 1]
    named = [block for block in lines if _names_chapter(block.text)]
    if len(named) > 1:
        level = 1 + max((block.level for block in headings[:1]), default=0)
        for block in named:
            block.become_heading(level)
        _leave_title_lines(outline, outline.blocks.index(named[0]))


def _leave_title_lines(outline: Outline, end: int) -> None:
    """Set aside the lines of a title page above the first of such headings."""
    front = [block for block in outline.blocks[:end] if block.kind == "text"]
    short = [block for block in front[:4] if block.words <= _TITLE_WORDS]
    if front and len(short) == len(front) and not any(is_prose(block.text) for block in front):
        outline.said.setdefault("title", front[0].text)
        for block in front:
            if by := _BY.fullmatch(block.text):
                outline.said.setdefault("author", by[1])
            block.leave("title page")


def _names_chapter(text: str) -> bool:
    said = counted(text) if len(text) <= 120 else None
    return said is not None and (not said.title or bool(said.mark) or is_title(said.title))


def promote_parts(outline: Outline) -> None:
    """Make a heading of a paragraph right above one that names a part and does no more."""
    said = [block for block in outline.blocks if block.kind in ("heading", "text")]
    for above, below in pairwise(said):
        if above.kind == "text" and below.kind == "heading" and _names_part(above.text):
            above.become_heading(below.level)


def leave_title(outline: Outline) -> None:
    """Set aside the book's title, with the line under it that says who wrote it."""
    blocks = outline.blocks
    first = _first(outline)
    places = [place for place in outline.headings() if blocks[place].level == 1]
    if len(places) != 1 or not _is_book_title(outline, places[0]):
        return
    title = blocks[places[0]]
    outline.said.setdefault("title", title.text)
    for below in blocks[places[0] + 1 : places[0] + 2]:
        by = _BY.fullmatch(below.rows[0].strip() if below.rows else below.text)
        if by and below.kind == "text":
            outline.said.setdefault("author", by[1])
            if below.rows:
                title.take_row(below)
            else:
                below.leave("title page")
    title.leave("title page")
    outline.starts[first] = Start(title.text, as_it_stands=True, placed=True)
    outline.starts[places[0] + 1] = Start(as_it_stands=True, placed=True)


def start_at_each(outline: Outline) -> None:
    """Begin a piece at each heading, all of which are chapters'."""
    outline.starts[0] = Start(as_it_stands=True, placed=True)
    chapters = [(place, place) for place in outline.headings()]
    for place, _ in chapters:
        title = outline.blocks[place].text
        outline.starts[place] = Start(title, as_it_stands=True, placed=True)
    _leave_empty(outline, chapters)


def _first(outline: Outline) -> int:
    """Where the text begins, below front matter."""
    return 1 if outline.blocks[:1] and outline.blocks[0].kind == "left" else 0


def _is_book_title(outline: Outline, place: int) -> bool:
    """Whether the only heading of the first level is the title of the book."""
    title = outline.blocks[place].text
    if title == outline.said.get("title"):
        return True
    below = (outline.blocks[at] for at in outline.headings() if at > place)
    holds = any(block.level == 2 or counted(block.text) for block in below)
    return holds and not (matter.is_chapter(title) or _names_part(title))


def _names_part(title: str) -> bool:
    return matter.title_of_part(title) is not None


@dataclass(frozen=True, slots=True)
class _Holder:
    """A heading that holds others."""

    title: str
    level: int
    inside: int
    """Level of what it holds."""

    def ends_at(self, heading: Block) -> bool:
        same_kind = _names_part(heading.text) or heading.level < self.inside
        return heading.level <= self.level and same_kind


def start_at_levels(outline: Outline) -> None:
    """Begin a piece at each chapter's heading, or at that of what holds it, read at its first."""
    for front in (0, _first(outline)):
        outline.starts.setdefault(front, Start(as_it_stands=True, placed=True))
    places = outline.headings()
    top = min((outline.blocks[place].level for place in places), default=1)
    named = _level_of_named(outline)
    sectioned = _have_sections(outline)
    holders: list[_Holder] = []
    chapters: list[tuple[int, int]] = []
    """Where each begins, and its own heading."""
    begin: int | None = None
    for place, following in pairwise([*places, len(outline.blocks)]):
        heading, below = outline.blocks[place], outline.blocks[following : following + 1]
        while holders and holders[-1].ends_at(heading):
            holders.pop()
        deepest = holders[-1].inside if holders else top
        if heading.level > deepest and heading.level != named:
            continue  # a section of its chapter
        parents = tuple(holder.title for holder in holders)
        begin = place if begin is None else begin
        alone = _is_alone(outline, place, following)
        if below and _is_holder(heading, below[0], alone, 0 if sectioned else top, named):
            holders.append(_Holder(_spoken(heading), heading.level, below[0].level))
            if alone:
                continue
        kind = matter.kind_of_title(heading.text)
        title = _spoken(heading)
        start = Start(title, parents=parents, kind=kind, as_it_stands=True, placed=True)
        outline.starts[begin] = start
        chapters.append((begin, place))
        begin = None
    _leave_empty(outline, chapters)


def judge_front(outline: Outline) -> None:
    """Say what stands above the first heading, and below it, where the words tell: rights, a title
    page."""
    for begin, end in outline.stretches()[:3]:
        start = outline.starts.get(begin, Start())
        if start.kind is None and start.reason is None and end < len(outline.blocks):
            kind = matter.kind_of_words(outline.piece(begin, end, start).text, outline.context)
            start.kind = kind if not start.title or kind == "titlepage" else None


def _spoken(heading: Block) -> str:
    """A heading as one line; of Markdown, as its words are."""
    return plain(join_heading(heading.lines)) or heading.text


def _is_holder(heading: Block, below: Block, alone: bool, top: int, named: int) -> bool:
    """Whether a heading holds the one below it: by its words, or since that names a chapter."""
    if heading.level < named == below.level:
        return True
    return (alone or _names_part(heading.text)) and _holds(heading, below, top)


def _have_sections(outline: Outline) -> bool:
    """Whether headings of the first level are those of chapters that have sections: most that hold
    some have text above them, or say that they are chapters."""
    blocks, places = outline.blocks, outline.headings()
    chapters = others = 0
    for place, below in pairwise(places):
        heading = blocks[place]
        if (heading.level, blocks[below].level) != (1, 2) or _names_part(heading.text):
            continue
        said = counted(heading.text)
        if counted(blocks[below].text) or is_bare(blocks[below].text):
            others += 1
        elif (said and not said.is_part) or not _is_alone(outline, place, below):
            chapters += 1
        else:
            others += 1
    return chapters > 0 and chapters >= others


def _level_of_named(outline: Outline) -> int:
    """The highest level at which several headings name chapters, however deep; 0 for none."""
    levels = Counter(
        outline.blocks[place].level
        for place in outline.headings()
        if (said := counted(outline.blocks[place].text)) and not said.is_part
    )
    return min((level for level, count in levels.items() if count > 1), default=0)


def _leave_empty(outline: Outline, chapters: Sequence[tuple[int, int]]) -> None:
    """Set aside chapters, each with where it begins and its heading, that say nothing under it."""
    for (begin, heading), (end, _) in pairwise([*chapters, (len(outline.blocks), 0)]):
        start = outline.starts[begin]
        empty = not any(block.words for block in outline.blocks[heading + 1 : end])
        if empty and not matter.reason(start.kind):
            start.reason = "a heading without text"


def _is_alone(outline: Outline, place: int, following: int) -> bool:
    """Whether a heading has no text under it, or that of a part little."""
    words = sum(block.words for block in outline.blocks[place + 1 : following])
    return words <= (PART_WORDS if _names_part(outline.blocks[place].text) else 0)


def _holds(heading: Block, below: Block, top: int) -> bool:
    """Whether a heading above another one holds chapters, not sections."""
    part = _names_part(heading.text)
    if below.level <= heading.level:
        return part and below.level == heading.level
    numbers = is_bare(below.text) and not matter.is_chapter(heading.text)
    return (heading.level == top == 1 and below.level == 2) or part or numbers
