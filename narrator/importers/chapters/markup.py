"""Rules for books whose markup says much: documents, a table of contents, sections, levels.

A piece begins where the contents point, where the markup says that a section begins, and where a
document begins with a heading; a document without any of these goes on with the chapter before it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise, takewhile

from narrator.importers import matter
from narrator.importers.blocks import Block
from narrator.importers.chapters.outline import (
    PART_WORDS,
    ContentsEntry,
    Outline,
    Start,
    announces_chapter,
)
from narrator.importers.headings import is_title
from narrator.importers.prose import is_ordinal

_HEADING_WORDS = 15
"""A line with more words is no heading."""


def take_titles(outline: Outline) -> None:
    """Make headings of titles that stand in the paragraph under a number, where most of them do."""
    shown = [block for block in outline.blocks if block.kind not in ("left", "gap")]
    counts = [pair for pair in pairwise(shown) if pair[0].is_headed and is_ordinal(pair[0].text)]
    titled = [(above, below) for above, below in counts if _may_title(below)]
    if len(titled) > 2 and 3 * len(titled) >= 2 * len(counts):
        for above, below in titled:
            below.become_heading(min(6, above.level + 1))


def _may_title(block: Block) -> bool:
    plain_line = block.kind == "text" and len(block.lines) == 1 and not block.containers
    return plain_line and block.words <= _HEADING_WORDS and is_title(block.text)


def leave_links(outline: Outline) -> None:
    """Set aside runs of lines that are nothing but links, with the heading above them."""
    documents = outline.documents()
    links: list[Block] = []
    above: Block | None = None
    for block in (*outline.blocks, Block("heading", "")):
        if block.kind == "text" and block.words and block.linked * 5 >= block.characters * 4:
            links.append(block)
        elif block.kind in ("heading", "text"):
            headed = above is not None and matter.kind_of_title(above.text) == "toc"
            if links and not headed:
                begin, end = documents[links[0].document]
                listed = links if _list_chapters(links, outline.blocks[begin:end]) else []
            else:
                listed = [above, *links] if links and above else []
            for entry in listed:
                entry.leave("table of contents")
            links, above = [], block


def _list_chapters(links: Sequence[Block], document: Sequence[Block]) -> bool:
    """Whether links are more than a list in a chapter: they name chapters, or fill a page."""
    if sum(len(block.lines) for block in links) < 4:
        return False
    chapters = sum(matter.is_chapter(block.text) for block in links)
    words = sum(block.words for block in links)
    return 2 * chapters >= len(links) or 2 * words >= sum(block.words for block in document)


def start_at_entries(outline: Outline) -> None:
    """Begin a piece at each entry of the table of contents that is not a chapter's section."""
    pointed: dict[int, list[Start]] = {}
    for place, start in _chosen(outline, outline.entries, ()):
        pointed.setdefault(place, []).append(start)
    for place, candidates in pointed.items():
        starts = [start for start in candidates if start.exact] or candidates
        named = next((s for s in starts if matter.is_chapter(s.title)), starts[-1])
        parts = [s.title for s in starts if s is not named and matter.is_part(s.title)]
        named.parents = named.parents or tuple(parts)
        outline.starts[outline.before_headings(place, pointed)] = named


def _chosen(
    outline: Outline, entries: Sequence[ContentsEntry], above: tuple[str, ...]
) -> Iterator[tuple[int, Start]]:
    """Places of entries that begin a piece; `above` is what holds them."""
    parts = _are_parts(outline, entries)
    for entry in entries:
        if entry.place is not None:
            yield entry.place, Start(entry.title, entry.exact, above)
        if entry.children:
            nameless = _is_matter(outline, entry) or not entry.title
            held = above if nameless else (*above, entry.title)
            yield from _chosen(outline, _chapters_under(outline, entry, parts), held)


def _are_parts(outline: Outline, entries: Sequence[ContentsEntry]) -> bool:
    """Whether entries that hold others are parts where no name tells: they have no text."""
    unnamed = [
        entry
        for entry in entries
        if entry.children and not (matter.is_part(entry.title) or _is_matter(outline, entry))
    ]
    return not any(matter.is_chapter(e.title) or _has_text(outline, e) for e in unnamed)


def _chapters_under(outline: Outline, entry: ContentsEntry, parts: bool) -> Sequence[ContentsEntry]:
    """Of the entries under one those that are chapters, not sections of it."""
    if parts or entry.place is None or matter.is_part(entry.title) or _is_matter(outline, entry):
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
    """Whether an entry is front or back matter, or the book itself."""
    kind = None if entry.place is None else outline.blocks[entry.place].matter
    kind = kind or matter.kind_of_title(entry.title)
    return bool(matter.reason(kind)) or entry.title.casefold() == outline.context.title.casefold()


def _has_text(outline: Outline, entry: ContentsEntry) -> bool:
    """Whether anything is said between an entry and the first of its children."""
    begin, first = entry.place, entry.children[0].place
    if begin is None or first is None:
        return False
    return any(block.kind == "text" and block.words for block in outline.blocks[begin:first])


def start_at_sections(outline: Outline) -> None:
    """Begin a piece where the markup says that a chapter, a preface, an index begins."""
    seen: set[tuple[int, int]] = set()
    previous: Block | None = None
    for place, block in enumerate(outline.blocks):
        section = (block.document, block.section)
        if previous is None or section != (previous.document, previous.section):
            left_matter = previous is not None and matter.reason(previous.matter)
            begins = left_matter or (block.section and section not in seen)
            if begins and block.matter != "epigraph" and not _has_begun(outline, place):
                outline.starts[place] = Start()
        seen.add(section)
        previous = block


def _has_begun(outline: Outline, place: int) -> bool:
    """Whether a piece begins here already, or within headings before or after."""
    blocks = outline.blocks
    near = range(max(0, place - 5), min(place + 5, len(blocks)))
    return any(
        outline.is_lead(min(other, place), max(other, place))
        and (other >= place or not blocks[other].section)
        and blocks[other].document == blocks[place].document
        for other in near
        if other in outline.starts
    )


def start_at_documents(outline: Outline) -> None:
    """Begin a piece where a document does, unless it goes on with the chapter before it."""
    first_entry = min(outline.starts, default=None)
    level = _chapter_level(outline)
    bare = first_entry is None and not outline.headings()
    for begin, end in outline.documents().values():
        if begin in outline.starts:
            continue
        early = first_entry is not None and begin < first_entry
        if bare or early or _begins_chapter(outline, begin, end, level):
            outline.starts[begin] = Start()


def _begins_chapter(outline: Outline, begin: int, end: int, level: int) -> bool:
    """Whether a document is matter by itself, or begins with a chapter's heading."""
    alone = not any(begin < place < end for place in outline.starts)
    if alone and outline.kind(outline.piece(begin, end, Start())):
        return True
    blocks = outline.blocks[begin:end]
    first = next((block for block in blocks if block.kind in ("heading", "text")), None)
    if first is None or first.kind == "text":
        return False
    return first.level <= level or matter.is_chapter(first.text)


def _chapter_level(outline: Outline) -> int:
    """The level of heading that chapters of the table of contents have, most of them."""
    levels: Counter[int] = Counter()
    for place in outline.starts:
        near = (b.level for b in outline.blocks[place : place + 4] if b.kind == "heading")
        levels.update(islice(near, 1))
    return levels.most_common(1)[0][0] if levels else 6


def start_at_headings(outline: Outline) -> None:
    """Begin a piece at headings inside what would otherwise hold several chapters."""
    level = _repeated_level(outline)
    for begin, end in outline.stretches():
        start = outline.starts.get(begin, Start())
        said = next((i for i in range(begin, end) if not outline.is_lead(i, i + 1)), end)
        lead, inside = outline.headings(begin, said), outline.headings(said, end)
        held = (*start.parents, start.title) if matter.is_part(start.title) else start.parents
        if held != start.parents and announces_chapter([outline.blocks[i] for i in lead]):
            start.title, start.parents = "", held
        for place in (
            _counted_inside(outline, lead, inside, held)
            or (_numbered_like(outline, lead, inside) if not start.title else [])
            or (_of_level(outline, (*lead, *inside), level) if _is_kept(start) else [])
        ):
            if place > begin:
                first = outline.before_headings(place, outline.starts)
                outline.starts.setdefault(first, Start(parents=held))


def _is_story(outline: Outline, lead: Sequence[int], inside: Sequence[int]) -> bool:
    """Whether headings that only count are sections of a story within a part, and no chapters: the
    first of them stands below its title, as in `A Scandal in Bohemia`, `I` … `II`."""
    if len(lead) < 2:
        return False
    story, first = (outline.blocks[place] for place in lead[-2:])
    counts = is_ordinal(first.text) and not is_ordinal(story.text) and story.level < first.level
    same = (outline.blocks[place] for place in inside if outline.blocks[place].level == first.level)
    return counts and not matter.is_part(story.text) and any(is_ordinal(b.text) for b in same)


def _is_kept(start: Start) -> bool:
    return not matter.reason(matter.kind_of_title(start.title))


def _of_level(outline: Outline, headings: Sequence[int], level: int | None) -> list[int]:
    return [place for place in headings if outline.blocks[place].level == level]


def _counted_inside(
    outline: Outline, lead: Sequence[int], inside: Sequence[int], held: tuple[str, ...]
) -> list[int]:
    """Of headings those that name chapters, or within a part those that only count."""
    named = [place for place in inside if _is_named_chapter(outline.blocks[place].text)]
    in_part = bool(held) and matter.is_part(held[-1])
    if named or not in_part or _is_story(outline, lead, inside):
        return named
    return [place for place in inside if is_ordinal(outline.blocks[place].text)]


def _is_named_chapter(text: str) -> bool:
    """`Chapter 5`, not a bare number, which sections have as well."""
    return matter.is_chapter(text) and not re.match(r"\d|[IVXLC]+\b", text.strip())


def _numbered_like(outline: Outline, lead: Sequence[int], inside: Sequence[int]) -> list[int]:
    """Of headings in a part without an entry, those that number on what its first one began."""
    if len(lead) < 2:
        return []
    part, first = (outline.blocks[place] for place in lead[-2:])
    if not matter.is_part(part.text) or not is_ordinal(first.text):
        return []
    same = [place for place in inside if outline.blocks[place].level == first.level]
    return [place for place in same if is_ordinal(outline.blocks[place].text)]


def _repeated_level(outline: Outline) -> int | None:
    """The highest level of headings that part the text, outside of front and back matter; None
    where entries of the table of contents part it."""
    if sum(bool(start.title) for start in outline.starts.values()) > 1:
        return None
    stretches = outline.stretches()
    told = [
        (begin, end)
        for begin, end in stretches
        if not matter.reason(outline.kind(outline.piece(begin, end, Start())))
    ]
    # A document that begins with its contents is not all contents.
    kept = [place for begin, end in told or stretches for place in outline.headings(begin, end)]
    for level in range(1, 7):
        headings = [place for place in kept if outline.blocks[place].level == level]
        if any(not outline.is_lead(above, below) for above, below in pairwise(headings)):
            return level
    return None


def start_at_parts(outline: Outline) -> None:
    """Begin a piece where a part is announced, by a heading or a line of text: it belongs to the
    chapter that follows, whatever document it stands in."""
    level = max(1, _chapter_level(outline) - 1)
    for begin, end in outline.stretches():
        start = outline.starts.get(begin, Start())
        if matter.reason(outline.kind(outline.piece(begin, end, start))):
            continue
        leads = begin in outline.starts
        for place in range(begin, end):
            block = outline.blocks[place]
            led, leads = leads, leads and block.says_nothing
            if leads or not _names_part(block):
                continue
            if block.kind == "text":
                if not _stands_alone(outline, place, end):
                    continue
                block.become_heading(level)
                leads = led
            place = outline.before_headings(place, outline.starts)
            outline.starts.setdefault(place, Start(parents=start.parents[:-1]))


def _names_part(block: Block) -> bool:
    """Whether a heading or a line of text names a part and does no more."""
    if block.kind not in ("heading", "text") or block.words > _HEADING_WORDS:
        return False
    title = matter.title_of_part(block.text)
    return title is not None and (not title or is_title(title))


def _stands_alone(outline: Outline, place: int, end: int) -> bool:
    """Whether little is said between a line of text and the end of its piece or document, or its
    document begins with it."""
    block = outline.blocks[place]
    if len(block.lines) != 1 or block.containers:
        return False
    above = (outline.blocks[index] for index in range(place - 1, -1, -1))
    same = takewhile(lambda other: other.document == block.document, above)
    if all(other.kind == "left" for other in same):
        return True
    words = 0
    for index in range(place + 1, end):
        other = outline.blocks[index]
        if other.document != block.document:
            break
        words += other.words if other.kind != "left" else 0
        if words > PART_WORDS:
            return False
    return True
