"""Pieces of a book -> chapters, front and back matter. Every block ends in one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, takewhile

from narrator.importers import matter
from narrator.importers.blocks import Block, write
from narrator.importers.book import ImportedChapter, PrintedSpeaker, Skipped, names
from narrator.importers.chapters.notes import place_notes
from narrator.importers.chapters.outline import (
    PART_WORDS,
    Division,
    Outline,
    announces_chapter,
    letters,
    words,
)
from narrator.importers.chapters.titles import Titled, distinct, is_bare
from narrator.importers.printed import read_printed
from narrator.importers.prose import StyledSpan, is_ordinal, join_heading, plain, tidy

_LISTS = names("toc landmarks page-list")
"""Matter that nobody wants to have read after all."""

_TITLE_LINES = 3
"""Paragraphs at the top of a chapter that may be its number and title."""

_TITLE_WORDS = 15


@dataclass(slots=True)
class Divided:
    """A book in chapters."""

    chapters: list[ImportedChapter] = field(default_factory=list)
    left_out: list[Skipped] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    speakers: tuple[PrintedSpeaker, ...] = ()
    dialogue: str = ""


def assemble(
    outline: Outline, written: Callable[[Block], Iterable[Block]] | None = None
) -> Divided:
    """The chapters of a book, from the pieces that rules have found.

    `written` gives what becomes of a block once it is known what it is.
    """
    pieces = list(outline.pieces(written))
    kept = [_why_left(piece) is None for piece in pieces]
    place_notes(pieces, outline.choices.notes, kept)
    pieces = [piece for piece in pieces if piece.blocks]
    printed = read_printed(
        [piece.blocks for piece in pieces if _why_left(piece) is None],
        [block for piece in pieces for block in piece.blocks],
        outline.choices.directions,
        outline.is_script,
        outline.choices.reading,
    )
    divided = _Assembly(outline, pieces).made()
    divided.speakers, divided.dialogue = printed.speakers, printed.dialogue
    divided.remarks += printed.remarks
    return divided


class _Assembly:
    """Pieces -> chapters, front and back matter."""

    def __init__(self, outline: Outline, pieces: Sequence[Division]) -> None:
        self.outline = outline
        self.pieces = pieces
        self.nested = any(piece.start.parents for piece in pieces)
        self.divided = Divided()
        self.titles: list[Titled] = []
        self.holders = _Holders(outline.context)
        self.pending: list[Block] = []
        """Headings and part's pages that belong to the chapter which follows."""
        self.added = 0

    def made(self) -> Divided:
        made = self.divided
        for position, piece in enumerate(self.pieces):
            if why := _why_left(piece):
                made.left_out += _skip(piece, why, len(made.chapters))
            elif not piece.words:
                made.left_out += _losses(piece.blocks, piece.title, len(made.chapters), "no words")
            elif _only_announces(piece, self._chapter_after(position)):
                self.pending += _headed(piece, self.outline)[1]
            else:
                self._keep(piece)
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

    def _chapter_after(self, position: int) -> Division | None:
        """The next piece that is not left out."""
        after = (self.pieces[place] for place in range(position + 1, len(self.pieces)))
        kept = (piece for piece in after if piece.words and not _why_left(piece))
        return next(kept, None)

    def _keep(self, piece: Division) -> None:
        """Make a chapter of a piece, with what announces it."""
        title, blocks, made_up = _headed(piece, self.outline)
        self.added += made_up
        blocks = self.pending + blocks
        self.pending = []
        made = self.divided
        made.left_out += _losses(blocks, title, len(made.chapters))
        kept = [block for block in blocks if block.kind != "left"]
        characters = sum(block.characters for block in kept)
        count = sum(block.words for block in kept)
        source = blocks[0].source
        made.chapters.append(ImportedChapter(title, write(blocks), source, characters, count))
        self.titles.append((title, self._parents(piece, blocks, title)))

    def _parents(self, piece: Division, blocks: Sequence[Block], title: str) -> tuple[str, ...]:
        """Titles of what holds a chapter: by its start, or by the headings above it."""
        above = self.holders.above(blocks, title)
        parents = piece.start.parents
        if piece.start.placed or parents or (self.nested and piece.start.title):
            above = parents
        return () if _is_part(piece) and not piece.start.as_it_stands else above


def _is_part(piece: Division) -> bool:
    named = piece.kind in ("part", "volume") or matter.is_part(piece.title)
    return named and not announces_chapter(piece.blocks)


def _why_left(piece: Division) -> str | None:
    return piece.start.reason or matter.reason(piece.kind)


def _only_announces(piece: Division, following: Division | None) -> bool:
    """Whether a piece is read at the beginning of the next: a heading, or a part's page, but for
    parts that hold no chapters."""
    if piece.start.placed or following is None:
        return False
    if not any(block.kind == "text" and block.words for block in piece.blocks):
        return True
    same = matter.counted_by(piece.title) == matter.counted_by(following.title)
    return _is_part(piece) and piece.words <= PART_WORDS and not (same and _is_part(following))


class _Holders:
    """What holds the chapter at hand, by its headings: parts, stories; the outermost first."""

    def __init__(self, context: matter.BookContext) -> None:
        self.context = context
        self.open: list[tuple[int, str]] = []

    def above(self, blocks: Sequence[Block], title: str) -> tuple[str, ...]:
        """Titles of the holders of a chapter with these blocks, whose first headings open them."""
        said = takewhile(lambda block: block.says_nothing, blocks)
        lead = [block for block in said if block.is_headed]
        texts = [_spoken(block) for block in lead]
        own = texts.index(title) if title in texts else len(texts) - 1
        for number, (block, text) in enumerate(zip(lead, texts, strict=True)):
            part = matter.is_part(text)
            if number == own and not part:
                self._close(block.level, is_bare(text))
            elif part or number < own:
                self._begin(block.level, text)
        return tuple(text for _, text in self.open if text != title)

    def _begin(self, level: int, text: str) -> None:
        if matter.is_title_page_line(text, self.context):
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


def _spoken(block: Block) -> str:
    """A heading as one line."""
    return plain(join_heading(block.lines))


def _skip(piece: Division, why: str, place: int) -> Iterator[Skipped]:
    characters = sum(block.characters for block in piece.blocks)
    if not characters:
        return
    count = sum(block.words for block in piece.blocks)
    restorable = piece.kind not in _LISTS and piece.start.reason is None and piece.words
    yield Skipped(
        piece.blocks[0].source,
        piece.title,
        why,
        characters,
        count,
        write(piece.blocks) if restorable else None,
        place,
    )


def _losses(
    blocks: Sequence[Block], title: str, place: int, rest: str | None = None
) -> Iterator[Skipped]:
    """What was left out of a chapter, one for each document and reason.

    `rest` is the reason for blocks that nothing else leaves out; without it they are kept.
    """
    sums: dict[tuple[int, str], list[Block]] = {}
    for block in blocks:
        why = block.reason if block.kind == "left" else rest
        if why is not None and block.characters:
            sums.setdefault((block.document, why), []).append(block)
    for (_, why), lost in sums.items():
        characters = sum(block.characters for block in lost)
        count = sum(block.words for block in lost)
        yield Skipped(lost[0].source, title, why, characters, count, None, place, len(lost))


# -- titles ----------------------------------------------------------------------------------------


def _headed(piece: Division, outline: Outline) -> tuple[str, list[Block], bool]:
    """A chapter's title and its blocks with its headings joined; whether one had to be made up."""
    if piece.start.as_it_stands:
        return piece.start.title or outline.title, piece.blocks, False
    for block in _title_lines(piece):
        block.become_heading(2)
    opening = list(takewhile(lambda block: block.kind != "text", piece.blocks))
    while opening and opening[-1].kind != "heading":
        opening.pop()
    rest = piece.blocks[len(opening) :]
    asides = [block for block in opening if block.kind != "heading"]
    groups = _grouped([block for block in opening if block.is_headed], piece.start.title)
    title = _title(piece, [_spoken(group) for group in groups], outline.context)
    made_up = _heading_of_contents(piece, opening, title)
    return title, [*(made_up or groups), *asides, *rest], bool(made_up)


def _heading_of_contents(piece: Division, opening: Sequence[Block], title: str) -> list[Block]:
    """The heading of a chapter that has none in words: its title in the table of contents, where a
    picture stands for it or it names a chapter."""
    if not piece.start.title or any(block.is_headed for block in piece.blocks):
        return []
    levels = [block.level for block in opening if block.kind == "heading"]
    if not (levels or matter.is_chapter(title)):
        return []
    line = tidy([StyledSpan(title)])
    return [Block("heading", piece.blocks[0].source, [line], levels[0] if levels else 1)]


def _title_lines(piece: Division) -> list[Block]:
    """The paragraphs at the top of a piece without headings that say its number and title."""
    said = (block for block in piece.blocks if block.is_headed or block.kind == "text")
    texts = list(islice(said, _TITLE_LINES))
    if any(block.is_headed for block in texts):
        return []
    for count in range(len(texts), 0, -1):
        if _say(texts[:count], letters(piece.start.title)):
            return texts[:count]
    return [block for block in texts[:1] if block.words <= 4 and is_ordinal(block.text)]


def _say(texts: Sequence[Block], wanted: str) -> bool:
    """Whether short paragraphs are the title that is `wanted`, or several the end of it."""
    said = "".join(letters(block.text) for block in texts)
    if not said or any(block.words > _TITLE_WORDS for block in texts):
        return False
    return said == wanted or (len(texts) > 1 and wanted.endswith(said))


def _grouped(headings: Sequence[Block], title: str) -> list[Block]:
    """Headings, an ordinal joined with the title under it: `Chapter I`, `The Beginning`.

    A part's number is not joined with the chapter's own `title`.
    """
    groups: list[Block] = []
    for heading in headings:
        text = _spoken(heading)
        above = _spoken(groups[-1]) if groups else ""
        own = matter.is_part(above) and letters(text) == letters(title)
        if is_ordinal(above) and not is_ordinal(text) and not own:
            groups[-1].take(heading)
        else:
            groups.append(heading)
    return groups


def _title(piece: Division, own: Sequence[str], context: matter.BookContext) -> str:
    """The title for marks and tags: the chapter's own heading, if the contents say the same."""
    if wanted := piece.start.title:
        same = [text for text in own if letters(text) == letters(wanted)]
        alike = same or [text for text in own if _holds(text, wanted)]
        shouted = (text for text in alike if wanted.isupper() or not text.isupper())
        return next(shouted, wanted)
    if not own:
        return _fallback(piece)
    first = own[0]
    chapter = next(filter(matter.is_chapter, own), first)
    named = not (matter.is_part(first) or matter.is_title_page_line(first, context))
    return first if named and is_bare(chapter) and _is_counted(piece) else chapter


def _holds(text: str, wanted: str) -> bool:
    """Whether a heading says what the contents say, and more: a number only as its own."""
    if is_bare(wanted):
        return matter.is_chapter(text) and words(wanted) == words(text)[: len(words(wanted))]
    return letters(wanted) in letters(text)


def _is_counted(piece: Division) -> bool:
    """Whether more than one of a piece's headings is a bare number: sections of a story."""
    headings = (block.text for block in piece.blocks if block.kind == "heading")
    return sum(map(is_bare, headings)) > 1


def _fallback(piece: Division) -> str:
    if piece.kind is not None and piece.kind != "chapter":
        return piece.kind.capitalize()
    first = next((block.text.split() for block in piece.blocks if block.kind == "text"), ["?"])
    return " ".join(first[:6]) + ("…" if len(first) > 6 else "")
