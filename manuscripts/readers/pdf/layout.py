"""Builds paragraphs, headings, scene breaks and notes from the lines of all pages.

Relies on where lines begin and end, the space between them, and their type. Knows no markup.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal

from manuscripts import matter
from manuscripts.counting import bare_value, parse_numbering
from manuscripts.headings import END_OF_TEXT, is_prose, is_title
from manuscripts.prose import is_ordinal, is_scene_break
from manuscripts.readers.pdf.lines import CELL_SEPARATOR, TextLine, remaining
from manuscripts.readers.pdf.typesetting import INDENT, Typesetting

_LARGE_RATIO = 1.12
"""Size relative to the body text from which a line is a heading."""
_MAX_HEADING_WORDS = 30
_MAX_BOLD_WORDS = 14
_PARAGRAPH_RATIO = 1.35
"""Distance of baselines, relative to the usual, above which paragraphs are separate."""
_SCENE_SPACE = 0.65
"""Extra space beyond that between paragraphs, in leadings, from which it is a scene break."""
_SIZE_TOLERANCE = 0.08
"""Difference of sizes, relative to the larger, from which lines are not of one paragraph."""
_BODY_SIZE_TOLERANCE = 0.06
"""Difference from the size of the body text, relative to it, of lines in that size."""
_CLEAR_SPACE_RATIO = 1.1
"""Distance of baselines, relative to the usual, from which there is space between blocks."""
_SMALL_RATIO, _SMALLEST_HEADING_RATIO = 0.95, 0.9
"""Size relative to the body text below which type is small, and below which it is no heading."""
_MAX_STYLED_CHARACTERS = 60
"""Maximum characters of a line whose bold type separates it from its neighbour."""
_MAX_SENTENCE_WORDS = 14
"""Maximum words of a heading in large type that is a sentence."""
_BLOCK_INDENT = 2.2
"""Indent in ems from which a paragraph is an indented block, with extra space around it."""
_MAX_SCENE_SPACE = 4
"""Extra space beyond that between paragraphs, in leadings, from which it is no scene break."""
_SHORT_SHARE = 0.3
"""Share of a column's width; a line that leaves as much free is the last of its paragraph."""
_MIN_FREE_WIDTH, _SPACE_WIDTH = 1.5, 0.5
"""Least width that the last line of a paragraph leaves free, and a word's space, in ems."""
_MAX_CHARACTERS = 120
"""Maximum characters of a heading that is known by its words."""
_MAX_NUMBER_CHARACTERS = 40
"""Maximum characters of a heading that is only a number."""
_SENTENCE_END = re.compile(r"[.!?…:;—–*\])][”’\"'»“)\]\d*]*\s*$|[”»\"]\s*$")
_LEADER = re.compile(r"(?:[.·…_]\s?){5,}\s*\S{0,6}$")
_FAR = 1000.0
"""Distance of blocks of different columns or pages, in points."""
_BOLD_RANK, _NAMED_RANK = 0.1, 0.3
"""Added to the rank of a heading, its size in points, if it is bold, or names a chapter."""
_MIN_LEVEL_STEP = 0.25
"""Difference of ranks from which headings are of different levels."""
_MAX_LEVEL = 4
_MIN_REPEATS = 3
"""Occurrences from which a repeated line in body size is no heading."""
_MIN_COUNTED = 3
"""Minimum of consecutive bare numbers that count chapters."""
_FILLED_SHARE = 0.7
"""Share of a page's height; after a page filled less, the next one begins something new."""


BlockKind = Literal["text", "heading", "scene", "omitted", "note"]


@dataclass(slots=True)
class LayoutBlock:
    """A paragraph, a heading, a scene break, a note, or left-out lines."""

    kind: BlockKind
    lines: list[TextLine] = field(default_factory=list)
    level: int = 0
    begins_page: bool = False
    """True if it begins a page after one that ended early."""

    @property
    def text(self) -> str:
        return " ".join(line.text.strip() for line in self.lines)


# -- blocks ----------------------------------------------------------------------------------------


def build_blocks(
    pages: Sequence[Sequence[TextLine]], typesetting: Typesetting
) -> list[LayoutBlock]:
    """Builds the blocks of a book in reading order."""
    blocks = list(_join_lines(pages, typesetting))
    _find_headings(blocks, typesetting)
    return list(_add_scene_breaks(blocks, typesetting))


def _join_lines(
    pages: Sequence[Sequence[TextLine]], typesetting: Typesetting
) -> Iterator[LayoutBlock]:
    """Joins lines to paragraphs; notes and left-out lines follow the paragraph around them."""
    text_pages = [[line for line in remaining(lines) if line.note_id is None] for lines in pages]
    block = LayoutBlock("text")
    asides: list[LayoutBlock] = []
    """Notes and left-out lines within the current paragraph."""
    for line in chain.from_iterable(pages):
        if (key := _aside_key(line)) is not None:
            if asides and _aside_key(asides[-1].lines[0]) == key:
                asides[-1].lines.append(line)
            else:
                kind: BlockKind = "note" if line.omission_reason is None else "omitted"
                asides.append(LayoutBlock(kind, [line]))
            continue
        if block.lines and not _continues(block.lines[-1], line, typesetting):
            yield block
            yield from asides
            block, asides = LayoutBlock("text"), []
        if not block.lines:
            block.begins_page = _begins_page(line, text_pages, typesetting)
        block.lines.append(line)
    yield from [block] if block.lines else []
    yield from asides


def _aside_key(line: TextLine) -> tuple[str | None, str | None, int] | None:
    """Returns a key that is equal for lines of one note, or left out of one page for one reason.

    None for a line of the text.
    """
    if line.omission_reason is None and line.note_id is None:
        return None
    return line.note_id, line.omission_reason, 0 if line.omission_reason is None else line.page


def _begins_page(
    line: TextLine, text_pages: Sequence[Sequence[TextLine]], typesetting: Typesetting
) -> bool:
    """Returns whether a line is the first of its page, and the previous page ends early."""
    if text_pages[line.page][0] is not line:
        return False
    previous_lines = text_pages[line.page - 1] if line.page else []
    lowest = min((previous.baseline for previous in previous_lines), default=math.inf)
    return lowest > typesetting.foot + (typesetting.top - typesetting.foot) * (1 - _FILLED_SHARE)


def _continues(previous: TextLine, line: TextLine, typesetting: Typesetting) -> bool:
    """Returns whether a line continues the paragraph of the line above."""
    max_difference = max(previous.size, line.size) * _SIZE_TOLERANCE
    differs_in_size = abs(previous.size - line.size) > max_difference
    if differs_in_size or (previous.page != line.page and _is_chapter_number(line.text)):
        return False
    is_spanning_heading = (
        previous.size >= typesetting.size * _LARGE_RATIO and previous.baseline > line.baseline
    )
    is_right_above = previous.page == line.page and (
        previous.column == line.column or is_spanning_heading
    )
    leading = typesetting.leading * max(1.0, line.size / typesetting.size)
    has_space_above = previous.baseline - line.baseline > leading * _PARAGRAPH_RATIO
    if is_right_above and has_space_above:
        return False
    if line.initial:
        return line.initial == "beside"
    if previous.text.rstrip().endswith("-") and line.text.lstrip()[:1].islower():
        return True
    if any(is_scene_break(t) or CELL_SEPARATOR in t for t in (previous.text, line.text)):
        return False
    if _is_displayed(previous, line, typesetting):
        return is_right_above and not is_ordinal(previous.text)
    return not (
        _differs_in_style(previous, line, typesetting)
        or line.x0 - typesetting.frame(line).x0 > typesetting.size * INDENT
        or _ends_paragraph(previous, line, typesetting)
    )


def _is_displayed(previous: TextLine, line: TextLine, typesetting: Typesetting) -> bool:
    """Returns whether lines are set like headings: larger than the text, or smaller and centred."""
    if line.size >= typesetting.size * _LARGE_RATIO:
        return True
    is_small = line.size < typesetting.size * _SMALL_RATIO
    return is_small and _is_centred([previous, line], typesetting)


def _differs_in_style(previous: TextLine, line: TextLine, typesetting: Typesetting) -> bool:
    """Returns whether only one of two lines is bold, or only one is in an indented block."""
    shorter_length = min(len(previous.text), len(line.text))
    if previous.is_bold != line.is_bold and shorter_length < _MAX_STYLED_CHARACTERS:
        return True
    differs_in_indent = (id(previous) in typesetting.indented_frames) != (
        id(line) in typesetting.indented_frames
    )
    return differs_in_indent and previous.page == line.page


def _ends_paragraph(line: TextLine, next_line: TextLine, typesetting: Typesetting) -> bool:
    """Returns whether a line is short enough to end its paragraph.

    It is if the first word of the next line would have fit; without the end of a sentence, more
    space must be free.
    """
    frame = typesetting.frame(line)
    free_width = frame.x1 - line.x1
    word = next_line.text.strip().split(" ", 1)[0]
    word_width = (next_line.x1 - next_line.x0) * len(word) / max(1, len(next_line.text.strip()))
    space_width = typesetting.size * _SPACE_WIDTH
    min_free_width = max(typesetting.size * _MIN_FREE_WIDTH, word_width + space_width)
    if not _SENTENCE_END.search(line.text):
        min_free_width = max(min_free_width, (frame.x1 - frame.x0) * _SHORT_SHARE)
    return free_width > min_free_width


# -- headings --------------------------------------------------------------------------------------


def _find_headings(blocks: Sequence[LayoutBlock], typesetting: Typesetting) -> None:
    """Marks short blocks as headings that are in larger or bold type, or name chapters."""
    ranked_blocks: list[tuple[LayoutBlock, float]] = []
    text_blocks = [block for block in blocks if block.kind == "text"]
    counts = Counter(block.text for block in text_blocks if len(block.lines) == 1)
    for previous, block, following in zip(
        (None, *text_blocks), text_blocks, (*text_blocks[1:], None), strict=False
    ):
        rank = _heading_rank(block, previous, following, typesetting)
        is_repeated = counts[block.text] >= _MIN_REPEATS and rank < typesetting.size * _LARGE_RATIO
        is_speaker = is_repeated and not parse_numbering(block.text)  # at the top of a page
        if rank and not is_speaker:
            ranked_blocks.append((block, rank))
    named_rank = typesetting.size + _NAMED_RANK
    if max((rank for _, rank in ranked_blocks), default=math.inf) > named_rank:
        ranked_blocks += [
            (block, named_rank) for block in _counting_numbers(text_blocks, typesetting)
        ]
    levels = _levels_by_rank([rank for _, rank in ranked_blocks])
    for block, rank in ranked_blocks:
        block.kind, block.level = "heading", levels[rank]


def _heading_rank(
    block: LayoutBlock,
    previous: LayoutBlock | None,
    following: LayoutBlock | None,
    typesetting: Typesetting,
) -> float:
    """Ranks a heading by its size, with a little more for bold; 0 for no heading."""
    text = block.text
    word_count = len(text.split())
    if word_count > _MAX_HEADING_WORDS or _cannot_be_title(text):
        return 0.0
    size = max(line.size for line in block.lines)
    is_bold = all(line.is_bold for line in block.lines)
    is_long_sentence = is_prose(text) and word_count > _MAX_SENTENCE_WORDS
    if size >= typesetting.size * _LARGE_RATIO and not is_long_sentence:
        return size + _BOLD_RANK * is_bold
    opens_page = block.begins_page and is_bold and not is_prose(text)
    is_too_long = len(block.lines) > 3 or (word_count > _MAX_BOLD_WORDS and not opens_page)
    if size < typesetting.size * _SMALLEST_HEADING_RATIO or is_too_long:
        return 0.0
    has_space_above = _space_between(previous, block) > typesetting.leading * _CLEAR_SPACE_RATIO
    if _is_chapter_number(text) and has_space_above:
        return typesetting.size + _NAMED_RANK
    if not _is_isolated(block, previous, following, typesetting):
        return 0.0
    return _body_size_rank(block, is_bold, typesetting)


def _cannot_be_title(text: str) -> bool:
    """Returns whether a text has no letters, ends with a dot leader, or says that the book ends."""
    return bool(
        not any(map(str.isalnum, text))
        or _LEADER.search(text)
        or END_OF_TEXT.fullmatch(text.strip(". "))
    )


def _body_size_rank(block: LayoutBlock, is_bold: bool, typesetting: Typesetting) -> float:
    """Ranks a heading in body size by its words, capitals and bold; 0 for no heading."""
    text = block.text
    heading = parse_numbering(text) if len(text) <= _MAX_CHARACTERS else None
    is_named = matter.kind_of_title(text) is not None or (
        heading is not None and bool(not heading.title or heading.mark or is_title(heading.title))
    )
    is_capitals = text.isupper() and sum(map(str.isalpha, text)) > 3
    if is_capitals or (is_named and (is_bold or _is_centred(block.lines, typesetting))):
        return typesetting.size + _NAMED_RANK
    is_bold_heading = is_bold and not text.rstrip().endswith((",", ";"))
    return typesetting.size + _BOLD_RANK if is_bold_heading else 0.0


def _is_chapter_number(text: str) -> bool:
    """Returns whether a text is a numbered heading without a title: `Chapter One`, `第一章`."""
    text = text.strip()
    if len(text) > _MAX_NUMBER_CHARACTERS or text[:1].islower():
        return False
    numbering = parse_numbering(text)
    return numbering is not None and not numbering.title and text[-1] not in ".,;"


def _counting_numbers(
    text_blocks: Sequence[LayoutBlock], typesetting: Typesetting
) -> list[LayoutBlock]:
    """Returns the centred lines that are bare numbers and count chapters from 1; [] for none."""
    bare_numbers: list[tuple[LayoutBlock, int]] = []
    for block in text_blocks:
        number = bare_value(block.text.strip().rstrip(".").lower())
        if number is not None and _is_centred(block.lines, typesetting):
            bare_numbers.append((block, number))
    is_count = len(bare_numbers) >= _MIN_COUNTED and all(
        number == expected for expected, (_, number) in enumerate(bare_numbers, 1)
    )
    return [block for block, _ in bare_numbers] if is_count else []


def _is_isolated(
    block: LayoutBlock,
    previous: LayoutBlock | None,
    following: LayoutBlock | None,
    typesetting: Typesetting,
) -> bool:
    """Returns whether there is space above a block, and below it unless it begins a page."""
    space_above, space_below = _space_between(previous, block), _space_between(block, following)
    has_space_below = space_below > typesetting.leading * _CLEAR_SPACE_RATIO
    has_space_above = space_above > typesetting.paragraph_step * _CLEAR_SPACE_RATIO
    return has_space_above and (has_space_below or block.begins_page)


def _space_between(previous: LayoutBlock | None, following: LayoutBlock | None) -> float:
    """Returns the distance of baselines between two blocks, large across columns or pages."""
    if previous is None or following is None:
        return _FAR
    last_line, first_line = previous.lines[-1], following.lines[0]
    if (last_line.page, last_line.column) != (first_line.page, first_line.column):
        return _FAR
    return last_line.baseline - first_line.baseline


def _is_centred(lines: Sequence[TextLine], typesetting: Typesetting) -> bool:
    """Returns whether all lines are centred in their column."""
    for line in lines:
        frame = typesetting.frame(line)
        left_space, right_space = line.x0 - frame.x0, frame.x1 - line.x1
        tolerance = max(typesetting.size * 2, left_space * 0.2)
        if left_space < typesetting.size or abs(left_space - right_space) > tolerance:
            return False
    return True


def _levels_by_rank(ranks: Sequence[float]) -> dict[float, int]:
    """Maps ranks to heading levels; the largest rank is level 1."""
    levels: dict[float, int] = {}
    level, last_rank = 0, 0.0
    for rank in sorted(set(ranks), reverse=True):
        if not level or last_rank - rank > _MIN_LEVEL_STEP:
            level = min(level + 1, _MAX_LEVEL)
        levels[rank], last_rank = level, rank
    return levels


# -- scenes ----------------------------------------------------------------------------------------


def _add_scene_breaks(
    blocks: Sequence[LayoutBlock], typesetting: Typesetting
) -> Iterator[LayoutBlock]:
    """Yields blocks, with scene breaks where two paragraphs of a page are far apart."""
    previous: LayoutBlock | None = None
    for block in blocks:
        if block.kind == "text":
            if previous is not None and _is_scene(previous, block, typesetting):
                yield LayoutBlock("scene")
            previous = block
        elif block.kind == "heading":
            previous = None
        yield block


def _is_scene(previous: LayoutBlock, following: LayoutBlock, typesetting: Typesetting) -> bool:
    """Returns whether the space between two paragraphs is a scene break."""
    last_line, first_line = previous.lines[-1], following.lines[0]
    are_of_body = all(
        abs(line.size - typesetting.size) <= typesetting.size * _BODY_SIZE_TOLERANCE
        and id(line) not in typesetting.indented_frames
        for line in (last_line, first_line)
    )
    # Indented blocks have extra space around them anyway.
    are_indented = any(
        block.lines[0].x0 - typesetting.frame(block.lines[0]).x0 > typesetting.size * _BLOCK_INDENT
        for block in (previous, following)
    )
    if not are_of_body or are_indented or any(map(is_scene_break, (previous.text, following.text))):
        return False
    extra_space = _space_between(previous, following) - typesetting.paragraph_step
    min_space, max_space = (typesetting.leading * n for n in (_SCENE_SPACE, _MAX_SCENE_SPACE))
    return min_space < extra_space < max_space
