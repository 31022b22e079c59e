"""The state of a book while it is divided: its blocks, and where pieces begin.

Rules read the blocks' hints, leave blocks out or turn them into headings, and set starts. Knows no
format.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from manuscripts import matter
from manuscripts.blocks import Block
from manuscripts.book import Choices, word_set
from manuscripts.prose import is_ordinal

MAX_PART_PAGE_WORDS = 120
"""A part's page with no more words is read with its first chapter."""

_SINGLE_DOCUMENT_KINDS = word_set(
    "cover titlepage halftitlepage seriespage imprint copyright-page colophon dedication "
    "toc loi advertisement"
)
"""Matter that never continues in the next document."""


@dataclass(slots=True)
class Start:
    """The beginning of a piece of the book."""

    title: str = ""
    """Title from the table of contents, or from the heading."""
    is_exact: bool = True
    """True if the contents point to this block itself, not to a missing one nearby."""
    parents: tuple[str, ...] = ()
    """Titles of the parts and stories that hold the piece; the outermost first."""
    kind: str | None = None
    """Kind of matter that its heading names."""
    is_final: bool = False
    """True if title and headings are used as they stand."""
    has_known_parents: bool = False
    """True if `parents` is complete, also for what the piece holds."""
    reason: str | None = None
    """Reason for leaving it out, whatever its kind."""


@dataclass(frozen=True, slots=True)
class ContentsEntry:
    """An entry of a book's own table of contents."""

    title: str
    place: int | None
    """Index of the block that it points to; None if it points outside of the reading order."""
    is_exact: bool
    children: tuple[ContentsEntry, ...]


@dataclass(slots=True)
class Division:
    """A piece of the book, from one start to the next."""

    start: Start
    blocks: list[Block]
    kind: str | None = None
    begins_document: bool = False

    @property
    def words(self) -> int:
        return sum(block.words for block in self.blocks if block.kind != "omitted")

    @property
    def omission_reason(self) -> str | None:
        """Reason why it is not read; None if it is."""
        return self.start.reason or matter.omission_reason(self.kind)

    @property
    def text(self) -> str:
        return " ".join(block.text for block in self.blocks if block.kind != "omitted")

    @property
    def title(self) -> str:
        """Title of its start, or its first heading; "" if it has neither."""
        headings = (block.title for block in self.blocks if block.is_worded_heading)
        return self.start.title or next(headings, "")


@dataclass(slots=True)
class Outline:
    """Blocks in reading order, and where pieces begin. Places are indices of blocks."""

    blocks: list[Block]
    context: matter.BookContext
    entries: Sequence[ContentsEntry] = ()
    landmarks: Mapping[int, str] = field(default_factory=dict)
    """Place -> kind of matter that the book declares there."""
    facts: dict[str, str] = field(default_factory=dict)
    """Title and author by the text of the book."""
    starts: dict[int, Start] = field(default_factory=dict)
    choices: Choices = field(default_factory=Choices)
    """The user's choices, such as the pattern of headings and the place of notes."""
    is_script: bool = False
    """True if the source marks speakers' names and directions."""

    @property
    def title(self) -> str:
        return self.facts.get("title", self.context.title)

    def documents(self) -> dict[int, tuple[int, int]]:
        """Returns the range of blocks of each document that has any, by its number."""
        ranges: dict[int, tuple[int, int]] = {}
        start = 0
        for document_number, blocks in groupby(self.blocks, key=lambda block: block.document):
            block_count = sum(1 for _ in blocks)
            ranges[document_number] = start, start + block_count
            start += block_count
        return ranges

    def headings(self, begin: int = 0, end: int | None = None) -> list[int]:
        """Returns the places of headings."""
        end = len(self.blocks) if end is None else end
        return [place for place in range(begin, end) if self.blocks[place].kind == "heading"]

    def start_ranges(self) -> list[tuple[int, int]]:
        """Returns the ranges of blocks from each start to the next."""
        return list(pairwise(sorted({0, *self.starts, len(self.blocks)})))

    def is_lead(self, begin: int, end: int) -> bool:
        """Returns whether the blocks from `begin` to `end` only lead to text: headings, breaks, an
        epigraph."""
        return all(self.blocks[place].is_introductory for place in range(begin, end))

    def first_heading_above(self, place: int, boundaries: Iterable[int]) -> int:
        """Returns the first of the headings right above `place`, or `place` itself.

        `boundaries` are places that end the search.
        """
        document = self.blocks[place].document
        first_heading = place
        for index in range(place - 1, -1, -1):
            block = self.blocks[index]
            if block.document != document or index in boundaries or block.kind == "text":
                break
            if block.kind == "heading":
                first_heading = index
        return first_heading

    def piece(self, begin: int, end: int, start: Start) -> Division:
        """Returns the blocks from `begin` to `end` as a piece of the book."""
        blocks = self.blocks
        begins_document = begin == 0 or blocks[begin - 1].document != blocks[begin].document
        return Division(start, blocks[begin:end], None, begins_document)

    def pieces(
        self, write_block: Callable[[Block], Iterable[Block]] | None = None
    ) -> Iterator[Division]:
        """Yields all blocks in pieces, each with its kind; `write_block` returns the final blocks
        for a block."""
        document_starts = {begin for begin, _ in self.documents().values()}
        for begin, end in self.start_ranges():
            start = self.starts.get(begin, Start())
            while begin < end:
                piece = self.piece(begin, end, start)
                piece.kind = self.landmarks.get(begin) or self.kind(piece)
                piece_end = end
                if piece.kind in _SINGLE_DOCUMENT_KINDS:
                    # A title page does not continue in the next document.
                    piece_end = min(
                        (place for place in document_starts if begin < place < end), default=end
                    )
                    piece.blocks = self.blocks[begin:piece_end]
                if write_block:
                    piece.blocks = [
                        replacement for block in piece.blocks for replacement in write_block(block)
                    ]
                yield piece
                begin, start = piece_end, Start(parents=start.parents)

    def kind(self, piece: Division) -> str | None:
        """Returns the kind of a piece by its markup, its title, its words, or its document's
        name."""
        if piece.start.is_final:
            return matter.kind_if_plausible(piece.start.kind, piece.text)
        worded_blocks = (block for block in piece.blocks if block.kind in ("heading", "text"))
        first_block = next(worded_blocks, piece.blocks[0])
        if first_block.matter is not None and first_block.matter != "chapter":
            return first_block.matter
        kind_by_title = matter.kind_if_plausible(
            matter.kind_of_title(piece.title or _single_line_text(first_block)), piece.text
        )
        if kind_by_title or first_block.matter == "chapter":
            return kind_by_title or first_block.matter
        if piece.title and letters(piece.title) != letters(self.context.title):
            return None
        if kind := matter.kind_of_words(piece.text, self.context):
            return kind
        if piece.begins_document:
            return matter.kind_of_file(piece.blocks[0].source, piece.words)
        return None


def _single_line_text(block: Block) -> str:
    """Returns the text of a paragraph of one line, which may be a title; "" for any other block."""
    return block.text if block.kind == "text" and len(block.lines) == 1 else ""


def letters(text: str) -> str:
    """Returns letters and digits of a title, for comparing titles."""
    return "".join(words_of_title(text))


def words_of_title(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())


def announces_chapter(blocks: Sequence[Block]) -> bool:
    """Returns whether one of the headings is a chapter's; a part's page has none."""
    headings = (block.text for block in blocks if block.kind == "heading")
    return any(is_ordinal(text) and not matter.is_part(text) for text in headings)
