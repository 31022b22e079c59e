"""Rules for plain text, whose headings are guessed from the form of lines.

A heading must count from one, may have its title below it or a story's title above it, and may be
only a line of a table of contents. Short text before the first one is a title page.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from manuscripts import matter
from manuscripts.blocks import Block
from manuscripts.book import count_words
from manuscripts.chapters.outline import Outline, Start
from manuscripts.chapters.titles import is_bare
from manuscripts.counting import value_in_words
from manuscripts.headings import (
    CHAPTER,
    PART,
    SECTION,
    Heading,
    is_contents_list,
    is_prose,
    is_title,
    solo_heading,
)
from manuscripts.labels import COLONS, find_labels
from manuscripts.plaintext import emphasized_spans
from manuscripts.prose import is_ordinal, join_heading, normalize_line, plain_text

_AUTHOR_LINE = re.compile(
    r"(?:(?:written )?by|von|par|por|di|door|av)[:\s]\s*(\S.{1,80})", re.IGNORECASE
)
_CLOSING_LINE = re.compile(r"(?:the\s+)?end\b|finis\b|fin\b|ende\b", re.IGNORECASE)
_MAX_TITLE_LENGTH = 80
_MIN_RUNNING_HEADS = 3
"""Least number of pages that repeat a running head."""
_FACT = re.compile(r"(title|author):\s+(\S.*)", re.IGNORECASE)
_MAX_FRONT_WORDS = 200
"""Largest number of words before the first heading that make a title page."""


def _headings(blocks: Iterable[Block]) -> list[tuple[Block, Heading]]:
    """Returns the blocks that are headings, with their headings."""
    pairs = ((block, block.line_heading) for block in blocks)
    return [(block, heading) for block, heading in pairs if heading is not None]


def demote_false_numbers(outline: Outline) -> None:
    """Turns headings back into text whose number is the word “I”: `I Enlist the Services of a
    Minion` below `X`."""
    for above, below in pairwise(outline.blocks):
        is_below_number = above.kind == "heading" and is_bare(above.text)
        if is_below_number and below.heading is not None and below.text.startswith("I "):
            below.become_text()


def keep_consecutive_numbers(outline: Outline) -> None:
    """Keeps numbers as headings if they count from one; as sections if chapters have names.

    If those with a title count separately from those without, as in stories, they hold the others.
    """
    headings = _headings(outline.blocks)
    numbers = [(block, heading) for block, heading in headings if heading.level == SECTION]
    consecutive = _consecutive_numbers(numbers)
    titled = _consecutive_numbers([pair for pair in numbers if len(pair[1].parts) > 1])
    untitled = _consecutive_numbers([pair for pair in numbers if len(pair[1].parts) == 1])
    if any(heading.names_chapter for _, heading in headings):
        levels = dict.fromkeys(consecutive, SECTION)
    elif titled and untitled:
        levels = dict.fromkeys(untitled, CHAPTER) | dict.fromkeys(titled, PART)
    else:
        levels = dict.fromkeys(consecutive, CHAPTER)
    for block, heading in numbers:
        if level := levels.get(block):
            block.heading = replace(heading, level=level)
        else:
            block.become_text()


def _consecutive_numbers(numbers: Sequence[tuple[Block, Heading]]) -> set[Block]:
    """Returns the blocks that count from one or from A, however often they restart; none if there
    is only one."""
    consecutive: set[Block] = set()
    next_number = next_letter = 1
    for block, heading in numbers:
        if heading.letter == next_letter and (next_letter > 1 or heading.value is None):
            next_letter += 1  # also the I after H
        elif heading.value is not None and heading.value in (next_number, 1):
            next_number = heading.value + 1
        elif heading.letter == 1:
            next_letter = 2
        elif len(consecutive) < 2 or not _skips_in_words(heading, next_number):
            continue
        consecutive.add(block)
    return consecutive if len(consecutive) > 1 else set()


def _skips_in_words(heading: Heading, expected: int) -> bool:
    """Returns whether a number in words skips some, as page numbers never do: `Twenty-One` after
    3."""
    number = heading.value or 0
    return number > expected and value_in_words(heading.parts[0]) == number


def join_titles_below_numbers(outline: Outline) -> None:
    """Adds the paragraph below a number to its heading, if it is a title."""
    title_blocks: set[Block] = set()
    for above, below in pairwise(outline.blocks):
        heading = above.line_heading
        if heading is None or below.kind != "text" or len(below.rows) > 2 or below.lead_words:
            continue
        if len(heading.parts) == 1 and is_ordinal(heading.parts[0]) and is_title(below.text):
            above.heading = replace(heading, parts=(*heading.parts, below.text))
            above.rows += below.rows
            above.text += f" {below.text}"
            title_blocks.add(below)
    outline.blocks = [block for block in outline.blocks if block not in title_blocks]


def promote_part_titles(outline: Outline) -> None:
    """Turns titles right above restarting chapter numbers into headings of parts or stories."""
    shown_blocks = [block for block in outline.blocks if block.kind != "omitted"]
    blocks_above_first_chapters = [
        above
        for above, below in pairwise(shown_blocks)
        if (heading := below.line_heading) and heading.level == CHAPTER and heading.is_first
    ]
    part_titles = [block for block in blocks_above_first_chapters if _is_set_as_title(block)]
    if len(blocks_above_first_chapters) < 2 or part_titles == shown_blocks[:1]:
        return
    for block in part_titles:
        block.kind, block.heading = "heading", solo_heading(block.text, PART)


def _is_set_as_title(block: Block) -> bool:
    """Returns whether a paragraph of text is set as the title of what follows."""
    text = block.text
    if (
        block.kind != "text"
        or len(block.rows) > 2
        or len(text) > _MAX_TITLE_LENGTH
        or block.lead_words
    ):
        return False
    is_set_apart = text.isupper() or block.blank_rows_above > 1
    is_other_line = _CLOSING_LINE.match(text) or _AUTHOR_LINE.fullmatch(text)
    return is_set_apart and is_title(text) and not is_other_line


# -- front matter ----------------------------------------------------------------------------------


def omit_contents_lists(outline: Outline) -> None:
    """Leaves out a list of headings that come again further down."""
    heading_runs: list[list[tuple[Block, Heading]]] = [[]]
    """Headings without text between them."""
    for block in outline.blocks:
        heading = block.line_heading
        if heading is not None and heading.level <= CHAPTER:
            heading_runs[-1].append((block, heading))
        elif block.kind == "text" and is_contents_list(block.rows):
            block.omit("table of contents")
        elif block.kind == "text":
            heading_runs.append([])
    key_counts = Counter(block.heading.key for block in outline.blocks if block.heading)
    for run in heading_runs:
        for block in _find_contents_rows(run, key_counts):
            block.omit("table of contents")


def _find_contents_rows(
    run: Sequence[tuple[Block, Heading]], key_counts: Counter[str]
) -> list[Block]:
    """Returns those of consecutive headings that only list what comes again further down.

    The last of them may begin the text: from there on the first heading is repeated.
    """
    entries = [(block, heading.key) for block, heading in run if heading.matter is None]
    if len(entries) < 3:
        return []
    rows, keys = zip(*entries, strict=True)
    repetitions = [index for index, key in enumerate(keys) if key == keys[0]][1:]
    if repetitions:
        return list(rows[: repetitions[-1]])
    has_contents_heading = any(heading.matter == "toc" for _, heading in run)
    return list(rows) if has_contents_heading or key_counts[keys[0]] > 1 else []


def omit_running_heads(outline: Outline) -> None:
    """Leaves out the running heads of pages: a chapter's own heading again, or the book's title in
    capitals."""
    last_heading: Heading | None = None
    for block, heading in _headings(outline.blocks):
        if heading.level > CHAPTER:
            continue
        is_repeated = last_heading is not None and (
            (heading.key, heading.parts) == (last_heading.key, last_heading.parts)
        )
        if is_repeated and heading.value is not None:
            block.omit("running head")
        else:
            last_heading = heading
    for block in _find_running_heads(outline):
        block.omit("running head")


def _find_running_heads(outline: Outline) -> list[Block]:
    """Returns lines in capitals, no speaker's name, that repeat a title on several pages."""
    front_blocks = _front_blocks(outline.blocks)
    lines = [
        block
        for block in outline.blocks
        if block.kind == "text"
        and len(block.rows) == 1
        and len(block.text) <= _MAX_TITLE_LENGTH
        and block.text.isupper()
        and not block.lead_words
        and block not in front_blocks
    ]
    text_counts = Counter(map(_without_page_number, lines))
    title_blocks = [*(block for block, _ in _headings(outline.blocks)), *front_blocks]
    titles = set(map(_without_page_number, title_blocks))
    repeated = {text for text, count in text_counts.items() if count >= _MIN_RUNNING_HEADS}
    return [line for line in lines if _without_page_number(line) in repeated & titles]


def _without_page_number(block: Block) -> str:
    """Returns a line in capitals without its page number."""
    return re.sub(r"^\d{1,4}\s+|\s+\d{1,4}$", "", " ".join(block.text.split())).upper()


def omit_rows_below_contents(outline: Outline) -> None:
    """Leaves out the rows below CONTENTS, up to a heading or a sentence."""
    for index, block in enumerate(outline.blocks):
        heading = block.line_heading
        if heading is not None and heading.matter in ("toc", "loi", "lot"):
            block.omit("table of contents")
            for below in outline.blocks[index + 1 :]:
                if below.kind == "heading" or (below.kind == "text" and is_prose(below.text)):
                    break
                below.omit("table of contents")


def omit_title_page(outline: Outline) -> None:
    """Leaves out the text before the first heading if it is a title page."""
    front_blocks = _omit_copyright_page(_front_blocks(outline.blocks))
    title_page = [block for block in front_blocks if not is_prose(block.text)]
    if not matter.may_be_title_page(" ".join(block.text for block in title_page)):
        title_page = [block for block in _title_lines(outline.blocks) if block in title_page]
    _collect_facts(
        [" ".join(row.split()) for block in title_page for row in block.rows], outline.facts
    )
    for block in title_page:
        block.omit("title page")


def _omit_copyright_page(front_blocks: Sequence[Block]) -> list[Block]:
    """Leaves out a copyright page, from its first such line to its last; returns the other
    blocks."""
    signs_by_block = [matter.signs_of_rights(block.text) for block in front_blocks]
    indexes = [index for index, kinds in enumerate(signs_by_block) if kinds]
    if len(set().union(*signs_by_block)) < 2:
        return list(front_blocks)
    for index in range(indexes[0], indexes[-1] + 1):
        if signs_by_block[index] or not is_prose(front_blocks[index].text):
            front_blocks[index].omit(matter.omission_reason("copyright-page") or "")
    return [block for block in front_blocks if block.kind != "omitted"]


def _front_blocks(blocks: Sequence[Block]) -> list[Block]:
    """Returns the text before the first heading if it is short, or the title lines of a text
    without one."""
    headings = (index for index, block in enumerate(blocks) if block.kind == "heading")
    front = [block for block in blocks[: next(headings, 0)] if block.kind == "text"]
    is_short = sum(count_words(block.text) for block in front) <= _MAX_FRONT_WORDS
    return front if front and is_short else _title_lines(blocks)


def _collect_facts(rows: Sequence[str], facts: dict[str, str]) -> None:
    """Adds title and author to `facts`, from the lines of a title page."""
    for fact in filter(None, map(_FACT.fullmatch, rows)):
        facts.setdefault(fact[1].lower(), fact[2])
    if rows:
        facts.setdefault("title", rows[0])
    for row, row_below in pairwise([*rows, ""]):
        if author_match := _AUTHOR_LINE.fullmatch(row):
            facts.setdefault("author", author_match[1].rstrip("."))
        elif row.lower().rstrip(":") == "by" and row_below:
            facts.setdefault("author", row_below)


def _title_lines(blocks: Sequence[Block]) -> list[Block]:
    """Returns the title and the author's line, if text follows them without a heading."""
    title_page: list[Block] = []
    shown_blocks = [block for block in blocks if block.kind != "omitted"]
    for block in shown_blocks[:3]:
        is_short = len(block.rows) <= 2 and len(block.text) <= 100
        author_match = block.rows and _AUTHOR_LINE.fullmatch(" ".join(block.rows[-1].split()))
        is_title_line = not title_page and is_title(block.text) and not _is_labelled(block)
        if block.kind != "text" or not is_short or not (is_title_line or author_match):
            break
        title_page.append(block)
    return (
        title_page if any(block.kind == "text" for block in shown_blocks[len(title_page) :]) else []
    )


def _is_labelled(block: Block) -> bool:
    return bool(block.lead_words) or any(label.mark in COLONS for label in find_labels(block.text))


# -- chapters --------------------------------------------------------------------------------------


def start_at_headings(outline: Outline) -> None:
    """Begins a piece at each heading except those of sections, and at the beginning of the text."""
    outline.starts[0] = Start(is_final=True)
    for index, block in enumerate(outline.blocks):
        heading = block.line_heading
        if heading is not None and heading.level <= CHAPTER:
            title = _spoken_title(heading)
            outline.starts[index] = Start(title, kind=heading.matter, is_final=True)


def _spoken_title(heading: Heading) -> str:
    text = plain_text(
        join_heading([normalize_line(emphasized_spans(part)) for part in heading.parts])
    )
    return text.rstrip(".:—–- ") if is_ordinal(text) else text
