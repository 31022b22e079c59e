"""Rules for sources that mark headings, with levels, and nothing else.

Chapters begin at headings of the highest level below the title's, and at those within parts and
stories, which are read at the beginning of their first chapter.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from manuscripts import matter
from manuscripts.blocks import Block
from manuscripts.chapters.outline import MAX_PART_PAGE_WORDS, Outline, Start
from manuscripts.chapters.titles import is_bare
from manuscripts.counting import parse_numbering
from manuscripts.headings import is_prose, is_title

_MAX_TITLE_LINE_WORDS = 15
_AUTHOR_LINE = re.compile(r"[*_]*by:?\s+(\S.{1,80}?)[*_]*", re.IGNORECASE)


def promote_chapter_lines(outline: Outline) -> None:
    """Turns lines that name chapters into headings, if no heading does: `**Chapter 1**`."""
    headings = [outline.blocks[place] for place in outline.headings()]
    if any(parse_numbering(block.text) for block in headings):
        return
    chapter_lines = [block for block in outline.blocks if _is_chapter_line(block)]
    if len(chapter_lines) > 1:
        level = headings[0].level + 1 if headings else 1
        for block in chapter_lines:
            block.become_heading(level)
        _omit_title_lines(outline, outline.blocks.index(chapter_lines[0]))


def _is_chapter_line(block: Block) -> bool:
    """Returns whether a paragraph is one line that names a chapter."""
    if (
        block.kind != "text"
        or len(block.text) > 120
        or len(list(filter(str.strip, block.rows))) != 1
    ):
        return False
    numbering = parse_numbering(block.text)
    return numbering is not None and (
        not numbering.title or bool(numbering.mark) or is_title(numbering.title)
    )


def _omit_title_lines(outline: Outline, end: int) -> None:
    """Leaves out the title page: the short lines above `end`, the first chapter's heading."""
    title_lines = [block for block in outline.blocks[:end] if block.kind == "text"]
    if len(title_lines) > 4 or any(
        block.words > _MAX_TITLE_LINE_WORDS or is_prose(block.text) for block in title_lines
    ):
        return
    for block in title_lines:
        outline.facts.setdefault("title", block.text)
        if author_match := _AUTHOR_LINE.fullmatch(block.text):
            outline.facts.setdefault("author", author_match[1])
        block.omit("title page")


def promote_part_lines(outline: Outline) -> None:
    """Turns a paragraph right above a heading into a heading if it only names a part."""
    worded_blocks = [block for block in outline.blocks if block.kind in ("heading", "text")]
    for above, below in pairwise(worded_blocks):
        if (above.kind, below.kind) == ("text", "heading") and _names_part(above.text):
            above.become_heading(below.level)


def omit_book_title(outline: Outline) -> None:
    """Leaves out the book's title, with the author's line below it."""
    blocks = outline.blocks
    text_start = _text_start(outline)
    top_headings = [place for place in outline.headings() if blocks[place].level == 1]
    if len(top_headings) != 1 or not _is_book_title(outline, top_headings[0]):
        return
    title_index = top_headings[0]
    title = blocks[title_index]
    outline.facts.setdefault("title", title.text)
    if title_index + 1 < len(blocks):
        below = blocks[title_index + 1]
        author_match = _AUTHOR_LINE.fullmatch(below.rows[0].strip() if below.rows else below.text)
        if author_match and below.kind == "text":
            outline.facts.setdefault("author", author_match[1])
            if below.rows:
                title.merge_first_row(below)
            else:
                below.omit("title page")
    title.omit("title page")
    outline.starts[text_start] = Start(title.text, is_final=True, has_known_parents=True)
    outline.starts[title_index + 1] = Start(is_final=True, has_known_parents=True)


def start_at_every_heading(outline: Outline) -> None:
    """Begins a piece, which is a chapter, at each heading."""
    outline.starts[0] = Start(is_final=True, has_known_parents=True)
    heading_indexes = outline.headings()
    for index in heading_indexes:
        title = outline.blocks[index].text
        outline.starts[index] = Start(title, is_final=True, has_known_parents=True)
    _omit_empty_chapters(outline, [(index, index) for index in heading_indexes])


def _text_start(outline: Outline) -> int:
    """Returns the index of the first block after YAML front matter, which is left out."""
    return 1 if outline.blocks[:1] and outline.blocks[0].kind == "omitted" else 0


def _is_book_title(outline: Outline, heading_index: int) -> bool:
    """Returns whether the only heading of the first level is the title of the book."""
    title = outline.blocks[heading_index].text
    if title == outline.facts.get("title"):
        return True
    blocks_below = (
        outline.blocks[later_heading]
        for later_heading in outline.headings()
        if later_heading > heading_index
    )
    holds_chapters = any(block.level == 2 or parse_numbering(block.text) for block in blocks_below)
    return holds_chapters and not (matter.is_chapter(title) or _names_part(title))


def _names_part(title: str) -> bool:
    return matter.part_title(title) is not None


@dataclass(frozen=True, slots=True)
class _Holder:
    """A heading that holds other headings."""

    title: str
    level: int
    inner_level: int
    """Level of the headings that it holds."""

    def ends_at(self, heading: Block) -> bool:
        """Returns whether a later heading is not held: it names a part, or ranks above the held."""
        is_outer = _names_part(heading.text) or heading.level < self.inner_level
        return heading.level <= self.level and is_outer


def start_at_levels(outline: Outline) -> None:
    """Begins a piece at each chapter's heading, or at that of its holder, which is read with its
    first chapter."""
    for front_index in (0, _text_start(outline)):
        outline.starts.setdefault(front_index, Start(is_final=True, has_known_parents=True))
    blocks, heading_indexes = outline.blocks, outline.headings()
    top_level = min((blocks[index].level for index in heading_indexes), default=1)
    chapter_level = _chapter_heading_level(outline)
    has_sections = _first_level_has_sections(outline)
    holders: list[_Holder] = []
    chapters: list[tuple[int, int]] = []
    """Index of each chapter's start, and of its own heading."""
    start_index: int | None = None
    """Index of the first holder's heading above the next chapter, or of its own."""
    for heading_index, next_index in pairwise([*heading_indexes, len(blocks)]):
        heading = blocks[heading_index]
        next_heading = blocks[next_index] if next_index < len(blocks) else None
        while holders and holders[-1].ends_at(heading):
            holders.pop()
        innermost_level = holders[-1].inner_level if holders else top_level
        if heading.level > innermost_level and heading.level != chapter_level:
            continue  # a section of a chapter
        parents = tuple(holder.title for holder in holders)
        start_index = heading_index if start_index is None else start_index
        title = heading.title or heading.text
        has_no_text = _has_no_text(outline, heading_index, next_index)
        if next_heading and _holds_next(
            heading, next_heading, has_no_text, 0 if has_sections else top_level, chapter_level
        ):
            holders.append(_Holder(title, heading.level, next_heading.level))
            if has_no_text:
                continue
        kind = matter.kind_of_title(heading.text)
        start = Start(title, parents=parents, kind=kind, is_final=True, has_known_parents=True)
        outline.starts[start_index] = start
        chapters.append((start_index, heading_index))
        start_index = None
    _omit_empty_chapters(outline, chapters)


def classify_front_matter(outline: Outline) -> None:
    """Classifies the first pieces by their words: a copyright page, a title page."""
    for begin, end in outline.start_ranges()[:3]:
        start = outline.starts.get(begin, Start())
        if start.kind is None and start.reason is None and end < len(outline.blocks):
            kind = matter.kind_of_words(outline.piece(begin, end, start).text, outline.context)
            start.kind = kind if not start.title or kind == "titlepage" else None


def _holds_next(
    heading: Block, heading_below: Block, has_no_text: bool, top_level: int, chapter_level: int
) -> bool:
    """Returns whether a heading holds the one below it, by its words or because that one names a
    chapter; `top_level` is the highest level of headings, 0 if those may not hold chapters."""
    if heading.level < chapter_level == heading_below.level:
        return True
    return (has_no_text or _names_part(heading.text)) and _holds_chapters(
        heading, heading_below, top_level
    )


def _first_level_has_sections(outline: Outline) -> bool:
    """Returns whether headings of the first level are chapters with sections: most of those with
    inner headings have text of their own or say that they are chapters."""
    blocks, places = outline.blocks, outline.headings()
    chapter_count = other_count = 0
    for heading_index, index_below in pairwise(places):
        heading = blocks[heading_index]
        if (heading.level, blocks[index_below].level) != (1, 2) or _names_part(heading.text):
            continue
        numbering = parse_numbering(heading.text)
        if parse_numbering(blocks[index_below].text) or is_bare(blocks[index_below].text):
            other_count += 1
        elif (numbering and not numbering.is_part) or not _has_no_text(
            outline, heading_index, index_below
        ):
            chapter_count += 1
        else:
            other_count += 1
    return chapter_count > 0 and chapter_count >= other_count


def _chapter_heading_level(outline: Outline) -> int:
    """Returns the highest level at which several headings name chapters; 0 for none."""
    levels = Counter(
        outline.blocks[place].level
        for place in outline.headings()
        if (numbering := parse_numbering(outline.blocks[place].text)) and not numbering.is_part
    )
    return min((level for level, count in levels.items() if count > 1), default=0)


def _omit_empty_chapters(outline: Outline, chapters: Sequence[tuple[int, int]]) -> None:
    """Leaves out chapters without text, given the index of each one's start and heading."""
    for (begin, heading), (end, _) in pairwise([*chapters, (len(outline.blocks), 0)]):
        start = outline.starts[begin]
        is_empty = not any(block.words for block in outline.blocks[heading + 1 : end])
        if is_empty and not matter.omission_reason(start.kind):
            start.reason = "a heading without text"


def _has_no_text(outline: Outline, heading_index: int, next_index: int) -> bool:
    """Returns whether a heading has no text below it; a part may have a little."""
    words = sum(block.words for block in outline.blocks[heading_index + 1 : next_index])
    return words <= (MAX_PART_PAGE_WORDS if _names_part(outline.blocks[heading_index].text) else 0)


def _holds_chapters(heading: Block, heading_below: Block, top_level: int) -> bool:
    """Returns whether a heading above another one holds chapters rather than sections."""
    names_part = _names_part(heading.text)
    if heading_below.level <= heading.level:
        return names_part and heading_below.level == heading.level
    has_numbers = is_bare(heading_below.text) and not matter.is_chapter(heading.text)
    return (
        (heading.level == top_level == 1 and heading_below.level == 2) or names_part or has_numbers
    )
