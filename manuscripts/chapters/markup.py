"""Rules for books with rich markup: documents, a table of contents, sections, levels.

A piece begins where the contents point, where the markup begins a section, and where a document
begins with a heading; a document without any of these continues the chapter before it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise, takewhile

from manuscripts import matter
from manuscripts.blocks import Block
from manuscripts.chapters.outline import (
    MAX_PART_PAGE_WORDS,
    ContentsEntry,
    Outline,
    Start,
    announces_chapter,
)
from manuscripts.headings import is_title
from manuscripts.prose import is_ordinal

_MAX_HEADING_WORDS = 15
"""A line with more words is not a heading."""


def promote_titles_below_numbers(outline: Outline) -> None:
    """Turns paragraphs below numbers into headings, if most of them are titles."""
    shown_blocks = [block for block in outline.blocks if block.kind not in ("omitted", "gap")]
    number_pairs = [
        (number_block, block_below)
        for number_block, block_below in pairwise(shown_blocks)
        if number_block.is_worded_heading and is_ordinal(number_block.text)
    ]
    titled_pairs = [
        (number_block, title_block)
        for number_block, title_block in number_pairs
        if _may_be_title(title_block)
    ]
    if len(titled_pairs) > 2 and 3 * len(titled_pairs) >= 2 * len(number_pairs):
        for number_block, title_block in titled_pairs:
            title_block.become_heading(min(6, number_block.level + 1))


def _may_be_title(block: Block) -> bool:
    is_plain_line = block.kind == "text" and len(block.lines) == 1 and not block.containers
    return is_plain_line and block.words <= _MAX_HEADING_WORDS and is_title(block.text)


def omit_link_lists(outline: Outline) -> None:
    """Leaves out tables of contents: runs of paragraphs that are only links, with their heading."""
    documents = outline.documents()
    links: list[Block] = []
    block_above: Block | None = None
    """The heading or text above the links."""
    end_of_book = Block("heading", "")
    for block in (*outline.blocks, end_of_book):
        is_mostly_linked = 5 * block.linked_characters >= 4 * block.characters
        if block.kind == "text" and block.words and is_mostly_linked:
            links.append(block)
        elif block.kind in ("heading", "text"):
            contents: list[Block] = []
            if links and block_above and matter.kind_of_title(block_above.text) == "toc":
                contents = [block_above, *links]
            elif links:
                begin, end = documents[links[0].document]
                contents = links if _list_chapters(links, outline.blocks[begin:end]) else []
            for contents_block in contents:
                contents_block.omit("table of contents")
            links, block_above = [], block


def _list_chapters(links: Sequence[Block], document: Sequence[Block]) -> bool:
    """Returns whether links are a table of contents rather than a list in a chapter: they name
    chapters, or fill a page."""
    if sum(len(block.lines) for block in links) < 4:
        return False
    chapters = sum(matter.is_chapter(block.text) for block in links)
    words = sum(block.words for block in links)
    return 2 * chapters >= len(links) or 2 * words >= sum(block.words for block in document)


def start_at_entries(outline: Outline) -> None:
    """Begins a piece at each entry of the table of contents that is not a section of a chapter."""
    starts_by_place: dict[int, list[Start]] = {}
    for index, start in _chapter_entries(outline, outline.entries, ()):
        starts_by_place.setdefault(index, []).append(start)
    for index, candidates in starts_by_place.items():
        starts = [start for start in candidates if start.is_exact] or candidates
        chapter_start = next((s for s in starts if matter.is_chapter(s.title)), starts[-1])
        parts = [s.title for s in starts if s is not chapter_start and matter.is_part(s.title)]
        chapter_start.parents = chapter_start.parents or tuple(parts)
        outline.starts[outline.first_heading_above(index, starts_by_place)] = chapter_start


def _chapter_entries(
    outline: Outline, entries: Sequence[ContentsEntry], parents: tuple[str, ...]
) -> Iterator[tuple[int, Start]]:
    """Yields the block index and start of each entry that begins a piece; `parents` hold the
    entries."""
    are_parts = _holders_are_parts(outline, entries)
    for entry in entries:
        if entry.place is not None:
            yield entry.place, Start(entry.title, entry.is_exact, parents)
        if entry.children:
            has_no_name = _is_matter(outline, entry) or not entry.title
            child_parents = parents if has_no_name else (*parents, entry.title)
            yield from _chapter_entries(
                outline, _chapters_under(outline, entry, are_parts), child_parents
            )


def _holders_are_parts(outline: Outline, entries: Sequence[ContentsEntry]) -> bool:
    """Returns whether entries with children are parts although unnamed, because they have no
    text."""
    unnamed_holders = [
        entry
        for entry in entries
        if entry.children and not (matter.is_part(entry.title) or _is_matter(outline, entry))
    ]
    return not any(matter.is_chapter(e.title) or _has_text(outline, e) for e in unnamed_holders)


def _chapters_under(
    outline: Outline, entry: ContentsEntry, are_parts: bool
) -> Sequence[ContentsEntry]:
    """Returns the children of an entry that are chapters, not sections of it."""
    if (
        are_parts
        or entry.place is None
        or matter.is_part(entry.title)
        or _is_matter(outline, entry)
    ):
        return entry.children
    if outline.blocks[entry.place].matter in ("part", "volume"):
        return entry.children
    if matter.is_chapter(entry.title):
        return ()
    document = outline.blocks[entry.place].document
    return [
        child
        for child in entry.children
        if matter.is_chapter(child.title)
        or child.place is None
        or outline.blocks[child.place].document != document
    ]


def _is_matter(outline: Outline, entry: ContentsEntry) -> bool:
    """Returns whether an entry is front or back matter, or the book itself."""
    kind = None if entry.place is None else outline.blocks[entry.place].matter
    kind = kind or matter.kind_of_title(entry.title)
    return (
        bool(matter.omission_reason(kind))
        or entry.title.casefold() == outline.context.title.casefold()
    )


def _has_text(outline: Outline, entry: ContentsEntry) -> bool:
    """Returns whether there is text between an entry and its first child."""
    begin, first_child = entry.place, entry.children[0].place
    if begin is None or first_child is None:
        return False
    return any(block.kind == "text" and block.words for block in outline.blocks[begin:first_child])


def start_at_sections(outline: Outline) -> None:
    """Begins a piece where the markup begins a chapter, a preface, an index."""
    seen_sections: set[tuple[int, int]] = set()
    block_above: Block | None = None
    for index, block in enumerate(outline.blocks):
        section = (block.document, block.section)
        if block_above is None or section != (block_above.document, block_above.section):
            has_left_matter = block_above is not None and matter.omission_reason(block_above.matter)
            begins_section = has_left_matter or (block.section and section not in seen_sections)
            if begins_section and block.matter != "epigraph" and not _has_begun(outline, index):
                outline.starts[index] = Start()
        seen_sections.add(section)
        block_above = block


def _has_begun(outline: Outline, place: int) -> bool:
    """Returns whether a piece already begins at this block or among headings next to it."""
    blocks = outline.blocks
    nearby_indexes = range(max(0, place - 5), min(place + 5, len(blocks)))
    return any(
        outline.is_lead(min(start_index, place), max(start_index, place))
        and (start_index >= place or not blocks[start_index].section)
        and blocks[start_index].document == blocks[place].document
        for start_index in nearby_indexes
        if start_index in outline.starts
    )


def start_at_documents(outline: Outline) -> None:
    """Begins a piece at each document, unless it continues the chapter before it."""
    first_start = min(outline.starts, default=None)
    level = _chapter_level(outline)
    has_no_structure = first_start is None and not outline.headings()
    for begin, end in outline.documents().values():
        if begin in outline.starts:
            continue
        is_before_starts = first_start is not None and begin < first_start
        if has_no_structure or is_before_starts or _begins_chapter(outline, begin, end, level):
            outline.starts[begin] = Start()


def _begins_chapter(outline: Outline, begin: int, end: int, level: int) -> bool:
    """Returns whether a document is matter by itself, or begins with a chapter's heading."""
    has_no_inner_start = not any(begin < place < end for place in outline.starts)
    if has_no_inner_start and outline.kind(outline.piece(begin, end, Start())):
        return True
    blocks = outline.blocks[begin:end]
    first_block = next((block for block in blocks if block.kind in ("heading", "text")), None)
    if first_block is None or first_block.kind == "text":
        return False
    return first_block.level <= level or matter.is_chapter(first_block.text)


def _chapter_level(outline: Outline) -> int:
    """Returns the commonest heading level of chapters in the table of contents."""
    levels: Counter[int] = Counter()
    for index in outline.starts:
        nearby_levels = (b.level for b in outline.blocks[index : index + 4] if b.kind == "heading")
        levels.update(islice(nearby_levels, 1))
    return levels.most_common(1)[0][0] if levels else 6


def start_at_headings(outline: Outline) -> None:
    """Begins a piece at inner headings of pieces that would otherwise hold several chapters."""
    blocks, level = outline.blocks, _dividing_level(outline)
    for begin, end in outline.start_ranges():
        start = outline.starts.get(begin, Start())
        text_start = next((i for i in range(begin, end) if not outline.is_lead(i, i + 1)), end)
        lead_headings = outline.headings(begin, text_start)
        inner_headings = outline.headings(text_start, end)
        parents = start.parents
        if matter.is_part(start.title):
            parents = (*parents, start.title)
            if announces_chapter([blocks[place] for place in lead_headings]):
                start.title, start.parents = "", parents
        chapter_headings = _inner_chapters(outline, lead_headings, inner_headings, parents)
        if not chapter_headings and not start.title:
            chapter_headings = _continue_numbering(outline, lead_headings, inner_headings)
        if not chapter_headings and not matter.omission_reason(matter.kind_of_title(start.title)):
            all_headings = (*lead_headings, *inner_headings)
            chapter_headings = [place for place in all_headings if blocks[place].level == level]
        for heading_index in chapter_headings:
            if heading_index > begin:
                start_index = outline.first_heading_above(heading_index, outline.starts)
                outline.starts.setdefault(start_index, Start(parents=parents))


def _is_story(
    outline: Outline, lead_headings: Sequence[int], inner_headings: Sequence[int]
) -> bool:
    """Returns whether bare numbers are sections of a story within a part rather than chapters.

    The first of them follows the story's title, as in `A Scandal in Bohemia`, `I` … `II`.
    """
    if len(lead_headings) < 2:
        return False
    story_heading, first_heading = (outline.blocks[place] for place in lead_headings[-2:])
    counts_sections = (
        is_ordinal(first_heading.text)
        and not is_ordinal(story_heading.text)
        and story_heading.level < first_heading.level
    )
    same_level_blocks = (
        outline.blocks[place]
        for place in inner_headings
        if outline.blocks[place].level == first_heading.level
    )
    return (
        counts_sections
        and not matter.is_part(story_heading.text)
        and any(is_ordinal(b.text) for b in same_level_blocks)
    )


def _inner_chapters(
    outline: Outline,
    lead_headings: Sequence[int],
    inner_headings: Sequence[int],
    parents: tuple[str, ...],
) -> list[int]:
    """Returns the headings that name chapters; within a part those that only count."""
    named_chapters = [
        place for place in inner_headings if _is_named_chapter(outline.blocks[place].text)
    ]
    is_in_part = bool(parents) and matter.is_part(parents[-1])
    if named_chapters or not is_in_part or _is_story(outline, lead_headings, inner_headings):
        return named_chapters
    return [place for place in inner_headings if is_ordinal(outline.blocks[place].text)]


def _is_named_chapter(text: str) -> bool:
    """Returns whether a text names a chapter, like `Chapter 5`; sections may have bare numbers,
    too."""
    return matter.is_chapter(text) and not re.match(r"\d|[IVXLC]+\b", text.strip())


def _continue_numbering(
    outline: Outline, lead_headings: Sequence[int], inner_headings: Sequence[int]
) -> list[int]:
    """Returns the headings of a part without an entry that continue the numbering of its first
    one."""
    if len(lead_headings) < 2:
        return []
    part_heading, first_heading = (outline.blocks[place] for place in lead_headings[-2:])
    if not matter.is_part(part_heading.text) or not is_ordinal(first_heading.text):
        return []
    same_level_headings = [
        place for place in inner_headings if outline.blocks[place].level == first_heading.level
    ]
    return [place for place in same_level_headings if is_ordinal(outline.blocks[place].text)]


def _dividing_level(outline: Outline) -> int | None:
    """Returns the highest level of headings that divide the text outside of matter.

    Returns None if the table of contents divides it.
    """
    if sum(bool(start.title) for start in outline.starts.values()) > 1:
        return None
    stretches = outline.start_ranges()
    text_stretches = [
        (begin, end)
        for begin, end in stretches
        if not matter.omission_reason(outline.kind(outline.piece(begin, end, Start())))
    ]
    # A document that begins with a table of contents may hold more.
    heading_indexes = [
        place
        for begin, end in text_stretches or stretches
        for place in outline.headings(begin, end)
    ]
    for level in range(1, 7):
        headings = [place for place in heading_indexes if outline.blocks[place].level == level]
        if any(
            not outline.is_lead(heading_above, heading_below)
            for heading_above, heading_below in pairwise(headings)
        ):
            return level
    return None


def start_at_parts(outline: Outline) -> None:
    """Begins a piece where a heading or a line announces a part, which belongs to the following
    chapter, whatever document it is in."""
    level = max(1, _chapter_level(outline) - 1)
    for begin, end in outline.start_ranges():
        start = outline.starts.get(begin, Start())
        if matter.omission_reason(outline.kind(outline.piece(begin, end, start))):
            continue
        is_lead = begin in outline.starts
        """True up to the first text of a piece that has a start of its own."""
        for index in range(begin, end):
            block = outline.blocks[index]
            was_lead, is_lead = is_lead, is_lead and block.is_introductory
            if is_lead or not _names_part(block):
                continue
            if block.kind == "text":
                if not _stands_alone(outline, index, end):
                    continue
                block.become_heading(level)
                is_lead = was_lead
            part_start = outline.first_heading_above(index, outline.starts)
            outline.starts.setdefault(part_start, Start(parents=start.parents[:-1]))


def _names_part(block: Block) -> bool:
    """Returns whether a heading or a line of text only names a part."""
    if block.kind not in ("heading", "text") or block.words > _MAX_HEADING_WORDS:
        return False
    title = matter.part_title(block.text)
    return title is not None and (not title or is_title(title))


def _stands_alone(outline: Outline, place: int, end: int) -> bool:
    """Returns whether a line has little text between it and the end of its piece or document, or
    begins its document."""
    block = outline.blocks[place]
    if len(block.lines) != 1 or block.containers:
        return False
    blocks_above = takewhile(
        lambda above: above.document == block.document, reversed(outline.blocks[:place])
    )
    if all(above.kind == "omitted" for above in blocks_above):
        return True
    blocks_below = takewhile(
        lambda below: below.document == block.document, outline.blocks[place + 1 : end]
    )
    words = sum(below.words for below in blocks_below if below.kind != "omitted")
    return words <= MAX_PART_PAGE_WORDS
