"""Documents and their table of contents -> chapters, and the front and back matter between them.

A piece of a book begins where the table of contents points, where the markup says that a section
begins, and where a document begins with a heading; a document without any of these goes on with
the chapter before it. Every block ends in one chapter or in one thing left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, takewhile

from narrator.importers import matter
from narrator.importers.blocks import Block, write
from narrator.importers.book import ImportedChapter, Skipped, names
from narrator.importers.headings import is_title
from narrator.importers.package import TocEntry
from narrator.importers.prose import Span, is_ordinal, join_heading, plain, tidy
from narrator.importers.titles import Titled, distinct, is_bare
from narrator.importers.xhtml import Document

_PART_WORDS = 120
"""A part's page with no more words is read at the beginning of its first chapter."""

_HEADING_WORDS = 15
"""A line with more words is no heading."""

_SHORT = names(
    "cover titlepage halftitlepage seriespage imprint copyright-page colophon dedication "
    "toc loi advertisement"
)
"""Matter that does not go on in the next document."""

_RESTORABLE = names(
    "dedication acknowledgments contributors production imprint colophon copyright-page "
    "titlepage halftitlepage seriespage other-credits glossary questions advertisement"
)
"""Matter that somebody may want to have read after all."""


@dataclass(slots=True)
class _Start:
    """Where a piece of the book begins."""

    title: str = ""
    """From the table of contents."""
    exact: bool = True
    """Whether the contents point to this very place, not to one that is missing nearby."""
    parents: tuple[str, ...] = ()
    """Titles of what holds it, by the contents: parts, stories; the outermost first."""


@dataclass(slots=True)
class _Division:
    """A piece of the book from one start to the next."""

    start: _Start
    blocks: list[Block]
    kind: str | None = None
    begins_document: bool = False

    @property
    def words(self) -> int:
        return sum(block.words for block in self.blocks if block.kind != "left")

    @property
    def text(self) -> str:
        return " ".join(block.text for block in self.blocks if block.kind != "left")

    @property
    def title(self) -> str:
        heading = next((b for b in self.blocks if b.kind == "heading" and b.lines), None)
        return self.start.title or (plain(join_heading(heading.lines)) if heading else "")


@dataclass(slots=True)
class Divided:
    """A book in chapters."""

    chapters: list[ImportedChapter] = field(default_factory=list)
    left_out: list[Skipped] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def divide(
    documents: Sequence[Document],
    contents: Sequence[TocEntry],
    guide: Sequence[tuple[str, str, str]],
    facts: matter.BookContext,
) -> Divided:
    """The chapters of a book, from the documents of its linear reading order."""
    divider = _Divider(documents, guide, facts)
    divider.leave_tables_of_contents()
    divider.start_at_entries(contents)
    divider.start_at_sections()
    divider.start_at_documents()
    divider.start_at_headings()
    divider.start_at_parts()
    return _Assembly(facts, divider.pieces()).made()


class _Divider:
    """Finds where pieces begin. Indices are into the blocks of all documents."""

    def __init__(
        self,
        documents: Sequence[Document],
        guide: Sequence[tuple[str, str, str]],
        facts: matter.BookContext,
    ) -> None:
        self.facts = facts
        self.documents = documents
        self.blocks: list[Block] = []
        self.begins: dict[str, int] = {}
        self.ends: dict[str, int] = {}
        self.anchors: dict[tuple[str, str], int] = {}
        self.starts: dict[int, _Start] = {}
        for document in documents:
            self.begins[document.path] = len(self.blocks)
            for number, block in enumerate(document.blocks, len(self.blocks)):
                for anchor in block.anchors:
                    self.anchors.setdefault((document.path, anchor), number)
            self.blocks += document.blocks
            self.ends[document.path] = len(self.blocks)
            for anchor in document.trailing:
                self.anchors.setdefault((document.path, anchor), len(self.blocks))
        self.guide = {
            place: kind
            for types, path, fragment in guide
            if (kind := matter.kind_of_type(types))
            and (place := self._place(path, fragment)) is not None
        }

    def _place(self, path: str, fragment: str) -> int | None:
        """The block that a reference means; None where nothing of the reading order is there."""
        if path not in self.begins or self.begins[path] == self.ends[path]:
            return None
        place = self.anchors.get((path, fragment), self.begins[path])
        return place if place < len(self.blocks) else None

    def leave_tables_of_contents(self) -> None:
        """Set aside runs of lines that are nothing but links, with the heading above them."""
        run: list[Block] = []
        above: Block | None = None
        for block in (*self.blocks, Block("heading", "")):
            if block.kind == "text" and block.words and block.linked * 5 >= block.characters * 4:
                run.append(block)
            elif block.kind in ("heading", "text"):
                headed = above is not None and matter.kind_of_title(above.text) == "toc"
                if headed or self._is_table_of_contents(run):
                    for listed in [*([above] if headed and run and above else []), *run]:
                        listed.leave("table of contents")
                run, above = [], block

    def _is_table_of_contents(self, links: Sequence[Block]) -> bool:
        """Whether links are more than a list in a chapter: they name chapters, or fill a page."""
        if sum(len(block.lines) for block in links) < 4:
            return False
        begin, end = self.begins[links[0].source], self.ends[links[0].source]
        all_words = sum(block.words for block in self.blocks[begin:end])
        chapters = sum(matter.is_chapter(block.text) for block in links)
        return 2 * chapters >= len(links) or 2 * sum(b.words for b in links) >= all_words

    def start_at_entries(self, contents: Sequence[TocEntry]) -> None:
        """Begin a piece at each entry of the table of contents that is not a chapter's section."""
        chosen: dict[int, list[_Start]] = {}
        for place, start in self._chosen(contents, ()):
            chosen.setdefault(place, []).append(start)
        for place, candidates in chosen.items():
            starts = [start for start in candidates if start.exact] or candidates
            named = next((s for s in starts if matter.is_chapter(s.title)), starts[-1])
            parts = [s.title for s in starts if s is not named and matter.is_part(s.title)]
            named.parents = named.parents or tuple(parts)
            self.starts[self._before_headings(place, set(chosen))] = named

    def _chosen(
        self, entries: Sequence[TocEntry], above: tuple[str, ...]
    ) -> Iterator[tuple[int, _Start]]:
        parents = [entry for entry in entries if entry.children]
        unnamed = [e for e in parents if not (matter.is_part(e.title) or self._is_matter(e))]
        # Without a name to tell parts from chapters: parts have no text of their own.
        parts = not any(matter.is_chapter(e.title) or self._has_text(e) for e in unnamed)
        for entry in entries:
            place = self._place(entry.path, entry.fragment)
            if place is not None:
                exact = not entry.fragment or (entry.path, entry.fragment) in self.anchors
                yield place, _Start(entry.title, exact, above)
            if not entry.children:
                continue
            held = above if self._is_matter(entry) or not entry.title else (*above, entry.title)
            named_part = matter.is_part(entry.title) or self._kind_at(place) in ("part", "volume")
            if named_part or parts or self._is_matter(entry) or place is None:
                yield from self._chosen(entry.children, held)
            elif not matter.is_chapter(entry.title):
                chapters = [
                    child
                    for child in entry.children
                    if child.path != entry.path or matter.is_chapter(child.title)
                ]
                yield from self._chosen(chapters, held)

    def _kind_at(self, place: int | None) -> str | None:
        return None if place is None else self.blocks[place].matter

    def _is_matter(self, entry: TocEntry) -> bool:
        """Whether an entry is front or back matter, or the book itself."""
        kind = self._kind_at(self._place(entry.path, entry.fragment))
        kind = kind or matter.kind_of_title(entry.title)
        return bool(matter.reason(kind)) or entry.title.casefold() == self.facts.title.casefold()

    def _has_text(self, entry: TocEntry) -> bool:
        """Whether anything is said between an entry and the first of its children."""
        begin = self._place(entry.path, entry.fragment)
        first = self._place(entry.children[0].path, entry.children[0].fragment)
        if begin is None or first is None:
            return False
        return any(block.kind == "text" and block.words for block in self.blocks[begin:first])

    def _before_headings(self, place: int, others: set[int]) -> int:
        """`place`, or the first of the headings right above it, which belong to what follows."""
        document = self.blocks[place].source
        first = place
        for index in range(place - 1, self.begins[document] - 1, -1):
            if index in others or self.blocks[index].kind == "text":
                break
            if self.blocks[index].kind == "heading":
                first = index
        return first

    def start_at_sections(self) -> None:
        """Begin a piece where the markup says that a chapter, a preface, an index begins."""
        seen: set[tuple[str, int]] = set()
        previous: Block | None = None
        for index, block in enumerate(self.blocks):
            key = (block.source, block.section)
            left_matter = previous is not None and matter.reason(previous.matter)
            same = previous is not None and key == (previous.source, previous.section)
            begins = not same and bool((block.section and key not in seen) or left_matter)
            if begins and block.matter != "epigraph" and not self._begun(index):
                self.starts[index] = _Start()
            seen.add(key)
            previous = block

    def _begun(self, index: int) -> bool:
        """Whether a piece begins here already, or within headings before or after."""
        near = range(max(0, index - 5), min(index + 5, len(self.blocks)))
        return any(
            self._is_lead(min(i, index), max(i, index))
            and (i >= index or not self.blocks[i].section)
            and self.blocks[i].source == self.blocks[index].source
            for i in near
            if i in self.starts
        )

    def _is_lead(self, begin: int, end: int) -> bool:
        """Whether nothing is said from `begin` to `end`, but for an epigraph."""
        return all(
            block.kind != "text" or block.matter == "epigraph" for block in self.blocks[begin:end]
        )

    def start_at_documents(self) -> None:
        """Begin a piece where a document does, unless it goes on with the chapter before it."""
        first_entry = min(self.starts, default=None)
        level = self._chapter_level()
        headings = any(block.kind == "heading" for block in self.blocks)
        for document in self.documents:
            begin, end = self.begins[document.path], self.ends[document.path]
            if begin == end or begin in self.starts:
                continue
            first = next((b for b in document.blocks if b.kind in ("heading", "text")), None)
            heading = first if first is not None and first.kind == "heading" else None
            alone = not any(begin < place < end for place in self.starts)
            if (
                (first_entry is None and not headings)
                or (first_entry is not None and begin < first_entry)
                or (alone and self._kind(self._piece(begin, end, _Start())))
                or (
                    heading is not None
                    and (heading.level <= level or matter.is_chapter(heading.text))
                )
            ):
                self.starts[begin] = _Start()

    def _chapter_level(self) -> int:
        """The level of heading that chapters of the table of contents have, most of them."""
        levels: Counter[int] = Counter()
        for place in self.starts:
            for block in self.blocks[place : place + 4]:
                if block.kind == "heading":
                    levels[block.level] += 1
                    break
        return levels.most_common(1)[0][0] if levels else 6

    def start_at_headings(self) -> None:
        """Begin a piece at headings inside what would otherwise hold several chapters."""
        entries = sum(bool(start.title) for start in self.starts.values())
        level = self._repeated_level() if entries <= 1 else None
        for begin, end in self._stretches():
            start = self.starts.get(begin, _Start())
            held = start.parents
            if matter.is_part(start.title):
                held = (*held, start.title)
            headings = [i for i in range(begin, end) if self.blocks[i].kind == "heading"]
            said = next((i for i in range(begin, end) if not self._is_lead(i, i + 1)), end)
            lead = [self.blocks[i] for i in headings if i < said]
            if held != start.parents and _announces_chapter(lead):
                start.title, start.parents = "", held
            inside = [i for i in headings if i > said]
            found = [i for i in inside if _is_named_chapter(self.blocks[i].text)]
            if not found and held and matter.is_part(held[-1]):
                found = [i for i in inside if is_ordinal(self.blocks[i].text)]
            if not found and not start.title:
                found = self._numbered_like(lead, inside)
            if level and not found and not matter.reason(matter.kind_of_title(start.title)):
                found = [i for i in headings if i > begin and self.blocks[i].level == level]
            for index in found:
                place = self._before_headings(index, set(self.starts))
                self.starts.setdefault(place, _Start(parents=held))

    def _numbered_like(self, lead: Sequence[Block], inside: Sequence[int]) -> list[int]:
        """Of headings in a part without an entry, those that number on what its first one began."""
        if len(lead) < 2 or not matter.is_part(lead[-2].text) or not is_ordinal(lead[-1].text):
            return []
        same = [i for i in inside if self.blocks[i].level == lead[-1].level]
        return [i for i in same if is_ordinal(self.blocks[i].text)]

    def _repeated_level(self) -> int | None:
        """The highest level of headings that part the text, outside of front and back matter."""
        kept = [
            index
            for begin, end in self._stretches()
            if not matter.reason(self._kind(self._piece(begin, end, _Start())))
            for index in range(begin, end)
        ]
        for level in range(1, 7):
            found = [
                index
                for index in kept
                if self.blocks[index].kind == "heading" and self.blocks[index].level == level
            ]
            if any(not self._is_lead(above, below) for above, below in pairwise(found)):
                return level
        return None

    def start_at_parts(self) -> None:
        """Begin a piece where a part is announced, by a heading or a line of text: it belongs to
        the chapter that follows, whatever document it stands in."""
        level = max(1, self._chapter_level() - 1)
        for begin, end in self._stretches():
            start = self.starts.get(begin, _Start())
            if matter.reason(self._kind(self._piece(begin, end, start))):
                continue
            for index in range(begin, end):
                block = self.blocks[index]
                if self._announces_part(index, end) and not self._is_lead_of(begin, index):
                    if block.kind == "text":
                        block.kind, block.level, block.containers = "heading", level, ()
                    place = self._before_headings(index, set(self.starts))
                    self.starts.setdefault(place, _Start(parents=start.parents[:-1]))

    def _is_lead_of(self, begin: int, index: int) -> bool:
        """Whether a piece that begins before has said nothing yet."""
        return begin in self.starts and self._is_lead(begin, index + 1)

    def _announces_part(self, index: int, end: int) -> bool:
        """Whether a block names a part and does no more; a line of text only where little is said
        between it and the end of its piece or document, or its document begins with it."""
        block = self.blocks[index]
        if block.kind not in ("heading", "text") or block.words > _HEADING_WORDS:
            return False
        title = matter.title_of_part(block.text)
        if title is None or (title and not is_title(title)):
            return False
        if block.kind == "heading":
            return True
        ends = min(end, self.ends[block.source])
        after = sum(b.words for b in self.blocks[index + 1 : ends] if b.kind != "left")
        begins = all(b.kind == "left" for b in self.blocks[self.begins[block.source] : index])
        return len(block.lines) == 1 and not block.containers and (begins or after <= _PART_WORDS)

    def _stretches(self) -> list[tuple[int, int]]:
        """From each start to the next."""
        return list(pairwise(sorted({0, *self.starts, len(self.blocks)})))

    def _piece(self, begin: int, end: int, start: _Start) -> _Division:
        begins_document = self.begins[self.blocks[begin].source] == begin
        return _Division(start, self.blocks[begin:end], None, begins_document)

    # -- pieces ------------------------------------------------------------------------------------

    def pieces(self) -> list[_Division]:
        """All blocks, in pieces, each with its kind."""
        found: list[_Division] = []
        begins = set(self.begins.values())
        for begin, end in self._stretches():
            start = self.starts.get(begin, _Start())
            while begin < end:
                piece = self._piece(begin, end, start)
                piece.kind = self.guide.get(begin) or self._kind(piece)
                cut = end
                if piece.kind in _SHORT:
                    # A title page does not go on in the next document, which nothing else names.
                    cut = min((b for b in begins if begin < b < end), default=end)
                    piece.blocks = self.blocks[begin:cut]
                found.append(piece)
                begin, start = cut, _Start(parents=start.parents)
        return found

    def _kind(self, piece: _Division) -> str | None:
        """What a piece is: by its markup, its title, its words, its document's name."""
        said = (block for block in piece.blocks if block.kind in ("heading", "text"))
        first = next(said, piece.blocks[0])
        if first.matter is not None and first.matter != "chapter":
            return first.matter
        titled = matter.kind_of_title(piece.title)
        if titled or first.matter == "chapter":
            return titled or first.matter
        nameless = not piece.title or _letters(piece.title) == _letters(self.facts.title)
        if not nameless:
            return None
        if kind := matter.kind_of_words(piece.text, self.facts):
            return kind
        if piece.begins_document:
            return matter.kind_of_file(piece.blocks[0].source, piece.words)
        return None


def _announces_chapter(blocks: Sequence[Block]) -> bool:
    """Whether there is the heading of a chapter, as a part's page has none."""
    headings = (block.text for block in blocks if block.kind == "heading")
    return any(is_ordinal(text) and not matter.is_part(text) for text in headings)


def _is_named_chapter(text: str) -> bool:
    """`Chapter 5`, not a bare number, which sections have as well."""
    return matter.is_chapter(text) and not re.match(r"\d|[IVXLC]+\b", text.strip())


# -- chapters --------------------------------------------------------------------------------------


class _Assembly:
    """Pieces -> chapters, front and back matter."""

    def __init__(self, facts: matter.BookContext, pieces: Sequence[_Division]) -> None:
        self.facts = facts
        self.pieces = pieces
        self.nested = any(piece.start.parents for piece in pieces)
        self.divided = Divided()
        self.titles: list[Titled] = []
        self.holders = _Holders(facts)
        self.pending: list[Block] = []
        """Headings and part's pages that belong to the chapter which follows."""
        self.added = 0

    def made(self) -> Divided:
        made = self.divided
        for position, piece in enumerate(self.pieces):
            if why := matter.reason(piece.kind):
                made.left_out += _skip(piece, why, len(made.chapters))
            elif not piece.words:
                made.left_out += _losses(piece.blocks, piece.title, len(made.chapters), "ornament")
            else:
                self._keep(piece, self._goes_on(position))
        made.chapters = [
            replace(chapter, title=title)
            for chapter, title in zip(made.chapters, distinct(self.titles), strict=True)
        ]
        if self.added:
            made.remarks.append(
                f"{self.added} of {len(made.chapters)} chapters have no heading in words; theirs "
                "is taken from the table of contents."
            )
        return made

    def _goes_on(self, position: int) -> bool:
        """Whether a chapter follows a piece."""
        after = self.pieces[position + 1 :]
        return any(piece.words and matter.reason(piece.kind) is None for piece in after)

    def _keep(self, piece: _Division, goes_on: bool) -> None:
        """Make a chapter of a piece; what only announces the next is read at its beginning."""
        is_part = piece.kind in ("part", "volume") or matter.is_part(piece.title)
        is_part = is_part and not _announces_chapter(piece.blocks)
        bare = not any(block.kind == "text" and block.words for block in piece.blocks)
        title, blocks, made_up = _headed(piece, self.facts)
        if goes_on and (bare or (is_part and piece.words <= _PART_WORDS)):
            self.pending += blocks
            return
        self.added += made_up
        blocks = self.pending + blocks
        self.pending = []
        above = self.holders.above(blocks, title)
        parents = piece.start.parents
        if not parents and not (self.nested and piece.start.title):
            parents = above
        kept = [block for block in blocks if block.kind != "left"]
        made = self.divided
        made.left_out += _losses(blocks, title, len(made.chapters))
        characters = sum(block.characters for block in kept)
        words = sum(block.words for block in kept)
        source = blocks[0].source
        made.chapters.append(ImportedChapter(title, write(blocks), source, characters, words))
        self.titles.append((title, () if is_part else parents))


class _Holders:
    """What holds the chapter at hand, by its headings: parts, stories; the outermost first."""

    def __init__(self, facts: matter.BookContext) -> None:
        self.facts = facts
        self.open: list[tuple[int, str]] = []

    def above(self, blocks: Sequence[Block], title: str) -> tuple[str, ...]:
        """Titles of the holders of a chapter with these blocks, whose first headings open them."""
        lead = [b for b in takewhile(_says_nothing, blocks) if b.kind == "heading" and b.lines]
        texts = [plain(join_heading(block.lines)) for block in lead]
        own = texts.index(title) if title in texts else len(texts) - 1
        for number, (block, text) in enumerate(zip(lead, texts, strict=True)):
            part = matter.is_part(text)
            if number == own and not part:
                self._close(block.level, is_bare(text))
            elif part or number < own:
                self._begin(block.level, text)
        return tuple(text for _, text in self.open if text != title)

    def _begin(self, level: int, text: str) -> None:
        if matter.is_title_page_line(text, self.facts):
            return
        if not matter.is_part(text):
            self._close(level, bare=False)
        else:
            kind = matter.counted_by(text)
            same = (n for n, held in enumerate(self.open) if matter.counted_by(held[1]) == kind)
            deep = (n for n, held in enumerate(self.open) if held[0] >= level)
            alike = next(same, len(self.open))
            del self.open[min(alike, next(deep, alike)) :]
        self.open.append((level, text))

    def _close(self, level: int, bare: bool) -> None:
        """A heading ends what is not above it: a bare number is below all that are none."""
        for number, (held, text) in enumerate(self.open):
            if not matter.is_part(text) and (held > level or (held == level and not bare)):
                del self.open[number:]
                break


def _says_nothing(block: Block) -> bool:
    return block.kind != "text" or block.matter == "epigraph"


def _skip(piece: _Division, why: str, place: int) -> Iterator[Skipped]:
    characters = sum(block.characters for block in piece.blocks)
    if not characters:
        return
    words = sum(block.words for block in piece.blocks)
    yield Skipped(
        piece.blocks[0].source,
        piece.title,
        why,
        characters,
        words,
        write(piece.blocks) if piece.kind in _RESTORABLE and piece.words else None,
        place,
    )


def _losses(
    blocks: Sequence[Block], title: str, place: int, rest: str | None = None
) -> Iterator[Skipped]:
    """What was left out of a chapter, one for each document and reason.

    `rest` is the reason for blocks that nothing else leaves out; without it they are kept.
    """
    sums: dict[tuple[str, str], list[Block]] = {}
    for block in blocks:
        why = block.reason if block.kind == "left" else rest
        if why is not None and block.characters:
            sums.setdefault((block.source, why), []).append(block)
    for (source, why), found in sums.items():
        several = f"{why} ({len(found)} of them)" if len(found) > 1 else why
        characters = sum(block.characters for block in found)
        words = sum(block.words for block in found)
        yield Skipped(source, title, several, characters, words, None, place)


def _headed(piece: _Division, facts: matter.BookContext) -> tuple[str, list[Block], bool]:
    """A chapter's title and its blocks with its headings joined; whether one had to be made up."""
    blocks = _promoted(piece)
    lead: list[Block] = []
    rest = 0
    pictured = False
    for index, block in enumerate(blocks):
        if block.kind == "text":
            break
        if block.kind == "heading":
            lead.append(block)
            pictured |= not block.lines
            rest = index + 1
    groups = _grouped([block for block in lead if block.lines], piece.start.title)
    own = [plain(join_heading(group.lines)) for group in groups]
    title = _title(piece, own, facts)
    asides = [block for block in blocks[:rest] if block.kind != "heading"]
    headless = not any(block.kind == "heading" and block.lines for block in blocks)
    made_up = headless and bool(piece.start.title) and (pictured or matter.is_chapter(title))
    if made_up:
        level = lead[0].level if lead else 1
        groups = [Block("heading", piece.blocks[0].source, [tidy([Span(title)])], level)]
    return title, [*groups, *asides, *blocks[rest:]], made_up


def _promoted(piece: _Division) -> list[Block]:
    """The blocks; paragraphs that say the chapter's number and title become headings."""
    texts: list[Block] = []
    for block in piece.blocks:
        if block.kind == "heading" and block.lines:
            return piece.blocks
        if block.kind == "text":
            texts.append(block)
        if len(texts) == 3:
            break
    wanted = _letters(piece.start.title)
    for count in range(len(texts), 0, -1):
        said = "".join(_letters(block.text) for block in texts[:count])
        short = all(block.words <= 15 for block in texts[:count])
        if said and short and (said == wanted or (count > 1 and wanted.endswith(said))):
            break
    else:
        count = 1 if texts and texts[0].words <= 4 and is_ordinal(texts[0].text) else 0
    for block in texts[:count]:
        block.kind, block.level, block.containers = "heading", 2, ()
    return piece.blocks


def _grouped(headings: Sequence[Block], title: str) -> list[Block]:
    """Headings, an ordinal joined with the title under it: `Chapter I`, `The Beginning`.

    A part's number is not joined with the chapter's own `title`.
    """
    groups: list[Block] = []
    for heading in headings:
        text = plain(join_heading(heading.lines))
        above = plain(join_heading(groups[-1].lines)) if groups else ""
        own = matter.is_part(above) and _letters(text) == _letters(title)
        if is_ordinal(above) and not is_ordinal(text) and not own:
            groups[-1].take(heading)
        else:
            groups.append(heading)
    return groups


def _title(piece: _Division, own: Sequence[str], facts: matter.BookContext) -> str:
    """The title for marks and tags: the chapter's own heading, if the contents say the same."""
    wanted = piece.start.title
    chapters = [text for text in own if matter.is_chapter(text)] or list(own[:1])
    if wanted:
        same = [text for text in own if _letters(text) == _letters(wanted)]
        alike = same or [text for text in own if _holds(text, wanted)]
        shouted = (text for text in alike if wanted.isupper() or not text.isupper())
        return next(shouted, wanted)
    if not chapters:
        return _fallback(piece)
    first = own[0]
    named = not (matter.is_part(first) or matter.is_title_page_line(first, facts))
    return first if named and is_bare(chapters[0]) and _is_counted(piece) else chapters[0]


def _holds(text: str, wanted: str) -> bool:
    """Whether a heading says what the contents say, and more: a number only as its own."""
    if is_bare(wanted):
        return matter.is_chapter(text) and _words(wanted) == _words(text)[: len(_words(wanted))]
    return _letters(wanted) in _letters(text)


def _is_counted(piece: _Division) -> bool:
    """Whether more than one of a piece's headings is a bare number: sections of a story."""
    headings = (block.text for block in piece.blocks if block.kind == "heading")
    return sum(map(is_bare, headings)) > 1


def _fallback(piece: _Division) -> str:
    if piece.kind is not None and piece.kind != "chapter":
        return piece.kind.capitalize()
    words = next((block.text.split() for block in piece.blocks if block.kind == "text"), ["?"])
    return " ".join(words[:6]) + ("…" if len(words) > 6 else "")


def _letters(text: str) -> str:
    return "".join(_words(text))


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())
