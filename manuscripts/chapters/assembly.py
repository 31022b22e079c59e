"""Assembles pieces of a book into chapters, front and back matter; every block ends in one of
them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise, takewhile

from manuscripts import matter
from manuscripts.blocks import Block, write_markdown
from manuscripts.book import ImportedChapter, PrintedSpeaker, Skipped, word_set
from manuscripts.chapters.notes import place_notes
from manuscripts.chapters.outline import (
    MAX_PART_PAGE_WORDS,
    Division,
    Outline,
    announces_chapter,
    letters,
    words_of_title,
)
from manuscripts.chapters.titles import TitleWithParents, distinguish_titles, is_bare
from manuscripts.printed import label_dialogue
from manuscripts.prose import StyledSpan, is_ordinal, normalize_line

_LIST_KINDS = word_set("toc landmarks page-list")
"""Matter that nobody restores to the book."""

_MAX_TITLE_LINES = 3
"""Largest number of paragraphs at the top of a chapter that make up its number and title."""

_MAX_TITLE_WORDS = 15


@dataclass(slots=True)
class DividedBook:
    """A book in chapters."""

    chapters: list[ImportedChapter] = field(default_factory=list)
    left_out: list[Skipped] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    speakers: tuple[PrintedSpeaker, ...] = ()
    dialogue: str = ""


def assemble(
    outline: Outline, write_block: Callable[[Block], Iterable[Block]] | None = None
) -> DividedBook:
    """Returns the chapters of a book, from the pieces that rules have found.

    `write_block` returns the final blocks for a block, once its role is known.
    """
    pieces = list(outline.pieces(write_block))
    place_notes(pieces, outline.choices.notes)
    pieces = [piece for piece in pieces if piece.blocks]
    dialogue_summary = label_dialogue(
        [piece.blocks for piece in pieces if piece.omission_reason is None],
        [block for piece in pieces for block in piece.blocks],
        outline.choices.directions,
        outline.is_script,
        outline.choices.reading,
    )
    book = _Assembly(outline, pieces).build()
    book.speakers, book.dialogue = dialogue_summary.speakers, dialogue_summary.dialogue
    book.remarks += dialogue_summary.remarks
    return book


class _Assembly:
    """Builds a divided book from pieces."""

    def __init__(self, outline: Outline, pieces: Sequence[Division]) -> None:
        self.outline = outline
        self.pieces = pieces
        self.has_parents = any(piece.start.parents for piece in pieces)
        self.book = DividedBook()
        self.titles: list[TitleWithParents] = []
        self.holders = _Holders(outline.context)
        self.pending_blocks: list[Block] = []
        """Headings and pages of parts that belong to the next chapter."""
        self.added_heading_count = 0

    def build(self) -> DividedBook:
        book = self.book
        kept_pieces = [piece for piece in self.pieces if piece.words and not piece.omission_reason]
        next_kept_pieces = {id(piece): next_piece for piece, next_piece in pairwise(kept_pieces)}
        for piece in self.pieces:
            if reason := piece.omission_reason:
                book.left_out += _skip_piece(piece, reason, len(book.chapters))
            elif not piece.words:
                book.left_out += _collect_omissions(
                    piece.blocks, piece.title, len(book.chapters), "no words"
                )
            elif _only_announces(piece, next_kept_pieces.get(id(piece))):
                self.pending_blocks += _title_and_blocks(piece, self.outline)[1]
            else:
                self._add_chapter(piece)
        book.chapters = [
            replace(chapter, title=title)
            for chapter, title in zip(book.chapters, distinguish_titles(self.titles), strict=True)
        ]
        if self.added_heading_count:
            book.remarks.append(
                f"{self.added_heading_count} of {len(book.chapters)} chapters have no heading in "
                "words; theirs is taken from the table of contents."
            )
        return book

    def _add_chapter(self, piece: Division) -> None:
        """Adds a piece as a chapter, with the headings that announce it."""
        title, blocks, has_added_heading = _title_and_blocks(piece, self.outline)
        self.added_heading_count += has_added_heading
        blocks = self.pending_blocks + blocks
        self.pending_blocks = []
        book = self.book
        book.left_out += _collect_omissions(blocks, title, len(book.chapters))
        kept_blocks = [block for block in blocks if block.kind != "omitted"]
        characters = sum(block.characters for block in kept_blocks)
        words = sum(block.words for block in kept_blocks)
        markdown, source = write_markdown(blocks), blocks[0].source
        book.chapters.append(ImportedChapter(title, markdown, source, characters, words))
        self.titles.append((title, self._parents(piece, blocks, title)))

    def _parents(self, piece: Division, blocks: Sequence[Block], title: str) -> tuple[str, ...]:
        """Returns the titles of a chapter's holders, from its start or from the headings above
        it."""
        titles_above = self.holders.titles_above(blocks, title)
        parents = piece.start.parents
        if piece.start.has_known_parents or parents or (self.has_parents and piece.start.title):
            titles_above = parents
        return () if _is_part_piece(piece) and not piece.start.is_final else titles_above


def _is_part_piece(piece: Division) -> bool:
    names_part = piece.kind in ("part", "volume") or matter.is_part(piece.title)
    return names_part and not announces_chapter(piece.blocks)


def _only_announces(piece: Division, next_piece: Division | None) -> bool:
    """Returns whether a piece is read at the beginning of the next one: a heading, or a part's
    page, except for parts without chapters."""
    if piece.start.has_known_parents or next_piece is None:
        return False
    if not any(block.kind == "text" and block.words for block in piece.blocks):
        return True
    are_same_kind = matter.part_word(piece.title) == matter.part_word(next_piece.title)
    return (
        _is_part_piece(piece)
        and piece.words <= MAX_PART_PAGE_WORDS
        and not (are_same_kind and _is_part_piece(next_piece))
    )


class _Holders:
    """The parts and stories that hold the current chapter, by its headings; the outermost first."""

    def __init__(self, context: matter.BookContext) -> None:
        self.context = context
        self.open_holders: list[tuple[int, str]] = []
        """Level and title of each."""

    def titles_above(self, blocks: Sequence[Block], title: str) -> tuple[str, ...]:
        """Returns the titles of the holders of a chapter with these blocks, whose first headings
        open them."""
        introductory_blocks = takewhile(lambda block: block.is_introductory, blocks)
        lead_headings = [block for block in introductory_blocks if block.is_worded_heading]
        texts = [block.title for block in lead_headings]
        own_index = texts.index(title) if title in texts else len(texts) - 1
        for index, (block, text) in enumerate(zip(lead_headings, texts, strict=True)):
            is_part = matter.is_part(text)
            if index == own_index and not is_part:
                self._close(block.level, is_bare(text))
            elif is_part or index < own_index:
                self._open(block.level, text)
        return tuple(text for _, text in self.open_holders if text != title)

    def _open(self, level: int, text: str) -> None:
        """Opens a holder, and closes those that its heading ends."""
        if matter.is_title_page_line(text, self.context):
            return
        if not matter.is_part(text):
            self._close(level, is_bare_number=False)
        else:
            counted_word = matter.part_word(text)
            same_kind_indexes = (
                n
                for n, (_, title) in enumerate(self.open_holders)
                if matter.part_word(title) == counted_word
            )
            deeper_indexes = (
                n for n, (holder_level, _) in enumerate(self.open_holders) if holder_level >= level
            )
            first_index = next(same_kind_indexes, len(self.open_holders))
            del self.open_holders[min(first_index, next(deeper_indexes, first_index)) :]
        self.open_holders.append((level, text))

    def _close(self, level: int, is_bare_number: bool) -> None:
        """Closes the holders that a heading ends; a bare number ranks below every other heading."""
        for index, (holder_level, text) in enumerate(self.open_holders):
            if not matter.is_part(text) and (
                holder_level > level or (holder_level == level and not is_bare_number)
            ):
                del self.open_holders[index:]
                break


def _skip_piece(piece: Division, reason: str, place: int) -> Iterator[Skipped]:
    """Yields the entry for a piece that is left out after `place` chapters, if it has any text."""
    is_restorable = piece.kind not in _LIST_KINDS and piece.start.reason is None and piece.words
    skipped = _skipped(piece.blocks, piece.title, reason, place)
    if skipped.characters:
        markdown = write_markdown(piece.blocks) if is_restorable else None
        yield replace(skipped, markdown=markdown, count=1)


def _collect_omissions(
    blocks: Sequence[Block], title: str, place: int, default_reason: str = ""
) -> Iterator[Skipped]:
    """Yields what was left out of a chapter, once for each document and reason.

    `default_reason` applies to blocks that are not left out by themselves; without it they are
    kept.
    """
    blocks_by_reason: dict[tuple[int, str], list[Block]] = {}
    for block in blocks:
        reason = block.reason if block.kind == "omitted" else default_reason
        if reason and block.characters:
            blocks_by_reason.setdefault((block.document, reason), []).append(block)
    for (_, reason), omitted_blocks in blocks_by_reason.items():
        yield _skipped(omitted_blocks, title, reason, place)


def _skipped(blocks: Sequence[Block], title: str, reason: str, place: int) -> Skipped:
    """Returns the entry for blocks that are left out, after `place` chapters."""
    characters = sum(block.characters for block in blocks)
    words = sum(block.words for block in blocks)
    source, count = blocks[0].source, len(blocks)
    return Skipped(source, title, reason, characters, words, None, place, count)


# -- titles ----------------------------------------------------------------------------------------


def _title_and_blocks(piece: Division, outline: Outline) -> tuple[str, list[Block], bool]:
    """Returns a chapter's title, its blocks with joined headings, and whether a heading was
    added."""
    if piece.start.is_final:
        return piece.start.title or outline.title, piece.blocks, False
    for block in _title_lines(piece):
        block.become_heading(2)
    opening = list(takewhile(lambda block: block.kind != "text", piece.blocks))
    while opening and opening[-1].kind != "heading":
        opening.pop()
    remaining_blocks = piece.blocks[len(opening) :]
    scene_blocks = [block for block in opening if block.kind != "heading"]
    headings = _join_ordinals(
        [block for block in opening if block.is_worded_heading], piece.start.title
    )
    title = _choose_title(piece, [heading.title for heading in headings], outline.context)
    added_headings = _heading_of_contents(piece, opening, title)
    return (
        title,
        [*(added_headings or headings), *scene_blocks, *remaining_blocks],
        bool(added_headings),
    )


def _heading_of_contents(piece: Division, opening: Sequence[Block], title: str) -> list[Block]:
    """Returns a heading from the table of contents, for a chapter without a heading in words.

    It is needed if a picture takes the heading's place or the title names a chapter.
    """
    if not piece.start.title or any(block.is_worded_heading for block in piece.blocks):
        return []
    levels = [block.level for block in opening if block.kind == "heading"]
    if not (levels or matter.is_chapter(title)):
        return []
    line = normalize_line([StyledSpan(title)])
    return [Block("heading", piece.blocks[0].source, [line], levels[0] if levels else 1)]


def _title_lines(piece: Division) -> list[Block]:
    """Returns the paragraphs with number and title at the top of a piece that has no headings."""
    worded_blocks = (
        block for block in piece.blocks if block.is_worded_heading or block.kind == "text"
    )
    first_blocks = list(islice(worded_blocks, _MAX_TITLE_LINES))
    if any(block.is_worded_heading for block in first_blocks):
        return []
    for count in range(len(first_blocks), 0, -1):
        if _match_title(first_blocks[:count], letters(piece.start.title)):
            return first_blocks[:count]
    return [block for block in first_blocks[:1] if block.words <= 4 and is_ordinal(block.text)]


def _match_title(paragraphs: Sequence[Block], title_letters: str) -> bool:
    """Returns whether short paragraphs are the title, or several of them the end of it."""
    joined_letters = "".join(letters(block.text) for block in paragraphs)
    if not joined_letters or any(block.words > _MAX_TITLE_WORDS for block in paragraphs):
        return False
    return joined_letters == title_letters or (
        len(paragraphs) > 1 and title_letters.endswith(joined_letters)
    )


def _join_ordinals(headings: Sequence[Block], title: str) -> list[Block]:
    """Returns headings with each ordinal joined to the title below it: `Chapter I`, `The
    Beginning`.

    A part's number is not joined with the chapter's own `title`.
    """
    joined: list[Block] = []
    for heading in headings:
        text = heading.title
        text_above = joined[-1].title if joined else ""
        is_chapter_title = matter.is_part(text_above) and letters(text) == letters(title)
        if is_ordinal(text_above) and not is_ordinal(text) and not is_chapter_title:
            joined[-1].merge(heading)
        else:
            joined.append(heading)
    return joined


def _choose_title(
    piece: Division, heading_texts: Sequence[str], context: matter.BookContext
) -> str:
    """Returns the title for marks and tags: the chapter's own heading if the contents agree with
    it."""
    if contents_title := piece.start.title:
        equal_titles = [text for text in heading_texts if letters(text) == letters(contents_title)]
        matching_titles = equal_titles or [
            text for text in heading_texts if _contains_title(text, contents_title)
        ]
        cased_titles = (
            text for text in matching_titles if contents_title.isupper() or not text.isupper()
        )
        return next(cased_titles, contents_title)
    if not heading_texts:
        return _fallback_title(piece)
    first_text = heading_texts[0]
    chapter = next(filter(matter.is_chapter, heading_texts), first_text)
    is_story_title = not (
        matter.is_part(first_text) or matter.is_title_page_line(first_text, context)
    )
    has_only_sections = is_story_title and is_bare(chapter) and _has_numbered_sections(piece)
    return first_text if has_only_sections else chapter


def _contains_title(text: str, contents_title: str) -> bool:
    """Returns whether a heading contains the title of the contents; a number only at its
    beginning."""
    if is_bare(contents_title):
        number_words = words_of_title(contents_title)
        return matter.is_chapter(text) and words_of_title(text)[: len(number_words)] == number_words
    return letters(contents_title) in letters(text)


def _has_numbered_sections(piece: Division) -> bool:
    """Returns whether more than one heading of a piece is a bare number: sections of a story."""
    headings = (block.text for block in piece.blocks if block.kind == "heading")
    return sum(map(is_bare, headings)) > 1


def _fallback_title(piece: Division) -> str:
    if piece.kind is not None and piece.kind != "chapter":
        return piece.kind.capitalize()
    first_words = next(
        (block.text.split() for block in piece.blocks if block.kind == "text"), ["?"]
    )
    return " ".join(first_words[:6]) + ("…" if len(first_words) > 6 else "")
