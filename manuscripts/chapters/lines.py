"""Rules for plain text, whose headings are guessed from the form of lines.

A heading must count from one, may have its title below it or a story's title above it, and may be
only a line of a table of contents. Short text before the first one is a title page.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, takewhile

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
)
from manuscripts.labels import COLONS, find_labels
from manuscripts.plaintext import emphasized_spans
from manuscripts.prose import is_ordinal, join_heading, normalize_line, plain_text

_AUTHOR_LINE = re.compile(
    r"(?:(?:written )?by|von|par|por|di|door|av)[:\s]\s*(\S.{1,80})", re.IGNORECASE
)
_ENDING = re.compile(r"(?:the\s+)?end\b|finis\b|fin\b|ende\b", re.IGNORECASE)
_TITLE_LENGTH = 80
_MIN_RUNNING_HEADS = 3
"""Least number of pages that repeat a running head."""
_FACT = re.compile(r"(title|author):\s+(\S.*)", re.IGNORECASE)
_FRONT_WORDS = 200
"""Largest number of words before the first heading that make a title page."""


def _iter_headings(blocks: Sequence[Block]) -> Iterator[tuple[Block, Heading]]:
    """Yields the blocks that are headings, with their headings."""
    for block in blocks:
        if block.kind == "heading" and block.heading is not None:
            yield block, block.heading


def _is_chapter_heading(block: Block) -> bool:
    """Returns whether a block is the heading of a chapter or of a part."""
    return block.kind == "heading" and block.heading is not None and block.heading.level <= CHAPTER


def free_titles(outline: Outline) -> None:
    """Turns a line below a number back into text if its first word only looks like a number: `X`,
    and below it `I Enlist the Services of a Minion`."""
    for block_above, block_below in pairwise(outline.blocks):
        is_under_number = block_above.kind == "heading" and is_bare(block_above.text)
        parts = block_below.heading.parts if block_below.heading else ()
        if (
            is_under_number
            and len(parts) > 1
            and parts[0] == "I"
            and block_below.text.startswith("I ")
        ):
            block_below.kind, block_below.heading = "text", None


def keep_counted(outline: Outline) -> None:
    """Keeps numbers as headings if they count from one; as sections if chapters have names.

    If those with a title count separately from those without, as in stories, they hold the others.
    """
    has_named_chapters = any(heading.names_chapter for _, heading in _iter_headings(outline.blocks))
    numbers = [
        (b, heading) for b, heading in _iter_headings(outline.blocks) if heading.level == SECTION
    ]
    levels = _assign_levels(numbers, has_named_chapters)
    for block, heading in numbers:
        if level := levels.get(block):
            block.heading = replace(heading, level=level)
        else:
            block.kind, block.heading = "text", None


def _assign_levels(
    numbered_headings: Sequence[tuple[Block, Heading]], has_named_chapters: bool
) -> dict[Block, int]:
    """Returns the levels of numbers that count; they are sections if `has_named_chapters`."""
    titled_blocks = _find_counting(
        [(block, heading) for block, heading in numbered_headings if len(heading.parts) > 1]
    )
    untitled_blocks = _find_counting(
        [(block, heading) for block, heading in numbered_headings if len(heading.parts) == 1]
    )
    if len(titled_blocks) > 1 and len(untitled_blocks) > 1 and not has_named_chapters:
        return dict.fromkeys(untitled_blocks, CHAPTER) | dict.fromkeys(titled_blocks, PART)
    counting_blocks = _find_counting(numbered_headings)
    return (
        dict.fromkeys(counting_blocks, SECTION if has_named_chapters else CHAPTER)
        if len(counting_blocks) > 1
        else {}
    )


def _find_counting(numbered_headings: Sequence[tuple[Block, Heading]]) -> set[Block]:
    """Returns the blocks that count from one or from A, however often they restart."""
    counting_blocks: set[Block] = set()
    expected_number = expected_letter = 1
    for block, heading in numbered_headings:
        if heading.letter == expected_letter and (expected_letter > 1 or heading.value is None):
            counting_blocks.add(block)  # also the I after H
            expected_letter += 1
        elif heading.value is not None and heading.value in (expected_number, 1):
            counting_blocks.add(block)
            expected_number = heading.value + 1
        elif heading.letter == 1:
            counting_blocks.add(block)
            expected_letter = 2
        elif len(counting_blocks) > 1 and _skips_in_words(heading, expected_number):
            counting_blocks.add(block)
    return counting_blocks


def _skips_in_words(heading: Heading, expected: int) -> bool:
    """Returns whether a number in words skips some, as page numbers never do: `Twenty-One` after
    3."""
    number = heading.value or 0
    return number > expected and value_in_words(heading.parts[0]) == number


def take_titles(outline: Outline) -> None:
    """Adds the paragraph below a number to its heading, if it is a title."""
    title_blocks: set[Block] = set()
    for block_above, block_below in pairwise(outline.blocks):
        if (
            block_above.kind != "heading"
            or block_above.heading is None
            or block_below.kind != "text"
        ):
            continue
        parts = block_above.heading.parts
        is_short_title = len(block_below.rows) <= 2 and is_title(block_below.text)
        if (
            is_short_title
            and len(parts) == 1
            and is_ordinal(parts[0])
            and not block_below.lead_words
        ):
            block_above.heading = replace(block_above.heading, parts=(*parts, block_below.text))
            block_above.rows += block_below.rows
            block_above.text += f" {block_below.text}"
            title_blocks.add(block_below)
    outline.blocks = [block for block in outline.blocks if block not in title_blocks]


def find_holders(outline: Outline) -> None:
    """Turns titles right above restarting chapter numbers into headings of parts or stories."""
    shown_blocks = [block for block in outline.blocks if block.kind != "left"]
    restarts = [
        (block_above, block_below)
        for block_above, block_below in pairwise(shown_blocks)
        if _begins_to_count(block_below)
    ]
    holders = [block_above for block_above, _ in restarts if _is_holder(block_above)]
    if len(restarts) < 2 or holders in ([], shown_blocks[:1]):
        return
    for block in holders:
        key = f"solo {block.text.lower()}"
        block.kind, block.heading = "heading", Heading((block.text,), PART, key)


def _begins_to_count(block: Block) -> bool:
    heading = block.heading if block.kind == "heading" else None
    return heading is not None and heading.level == CHAPTER and heading.is_first


def _is_holder(block: Block) -> bool:
    """Returns whether a paragraph of text is set as the title of what follows."""
    text = block.text
    if block.kind != "text" or len(block.rows) > 2 or len(text) > _TITLE_LENGTH or block.lead_words:
        return False
    is_set_apart = text.isupper() or block.gap > 1
    return (
        is_set_apart
        and is_title(text)
        and not _ENDING.match(text)
        and not _AUTHOR_LINE.fullmatch(text)
    )


# -- front matter ----------------------------------------------------------------------------------


def leave_contents(outline: Outline) -> None:
    """Leaves out a list of headings that come again further down."""
    runs: list[list[Block]] = [[]]
    for block in outline.blocks:
        if _is_chapter_heading(block):
            runs[-1].append(block)
        elif block.kind == "text" and is_contents_list(block.rows):
            block.leave("table of contents")
        elif block.kind == "text":
            runs.append([])
    keys = Counter(block.heading.key for block in outline.blocks if block.heading)
    for run in runs:
        for block in _find_contents_rows(run, keys):
            block.leave("table of contents")


def _find_contents_rows(run: Sequence[Block], keys: Counter[str]) -> list[Block]:
    """Returns those of consecutive headings that only list what comes again further down.

    The last of them may begin the text: from there on the first heading is repeated.
    """
    candidates = [
        (block, heading) for block, heading in _iter_headings(run) if heading.matter is None
    ]
    if len(candidates) < 3:
        return []
    first_key = candidates[0][1].key
    repeated_indexes = [
        index for index, (_, heading) in enumerate(candidates) if heading.key == first_key
    ][1:]
    if repeated_indexes:
        return [block for block, _ in candidates[: repeated_indexes[-1]]]
    has_contents_heading = any(heading.matter == "toc" for _, heading in _iter_headings(run))
    return [block for block, _ in candidates] if has_contents_heading or keys[first_key] > 1 else []


def leave_running_heads(outline: Outline) -> None:
    """Leaves out the running heads of pages: a chapter's own heading again, or the book's title in
    capitals."""
    last_heading: Heading | None = None
    for block, heading in _iter_headings(outline.blocks):
        if heading.level > CHAPTER:
            continue
        is_repeated = last_heading is not None and (heading.key, heading.parts) == (
            last_heading.key,
            last_heading.parts,
        )
        if is_repeated and heading.value is not None:
            block.leave("running head")
        else:
            last_heading = heading
    for block in _find_running_heads(outline):
        block.leave("running head")


def _find_running_heads(outline: Outline) -> list[Block]:
    """Returns lines in capitals that repeat a title, as at the top of several pages."""
    front_blocks = _front_blocks(outline.blocks)
    capital_lines = [
        block for block in outline.blocks if _is_capital_line(block) and block not in front_blocks
    ]
    text_counts = Counter(map(_without_page_number, capital_lines))
    titles = {_without_page_number(block) for block, _ in _iter_headings(outline.blocks)}
    titles |= {_without_page_number(block) for block in front_blocks}
    repeated_texts = {text for text, count in text_counts.items() if count >= _MIN_RUNNING_HEADS}
    return [line for line in capital_lines if _without_page_number(line) in repeated_texts & titles]


def _is_capital_line(block: Block) -> bool:
    """Returns whether a block is one line in capitals, but not a speaker's name."""
    is_short = len(block.rows) == 1 and len(block.text) <= _TITLE_LENGTH
    return block.kind == "text" and is_short and block.text.isupper() and not block.lead_words


def _without_page_number(block: Block) -> str:
    """Returns a line in capitals without its page number."""
    return re.sub(r"^\d{1,4}\s+|\s+\d{1,4}$", "", " ".join(block.text.split())).upper()


def leave_listed(outline: Outline) -> None:
    """Leaves out the rows below CONTENTS, up to a heading or a sentence."""
    for index, block in enumerate(outline.blocks):
        heading = block.heading if block.kind == "heading" else None
        if heading is not None and heading.matter in ("toc", "loi", "lot"):
            block.leave("table of contents")
            for block_below in takewhile(_is_contents_entry, outline.blocks[index + 1 :]):
                block_below.leave("table of contents")


def _is_contents_entry(block: Block) -> bool:
    return block.kind != "heading" and not (block.kind == "text" and is_prose(block.text))


def leave_title_page(outline: Outline) -> None:
    """Leaves out the text before the first heading if it is a title page."""
    front_blocks = _leave_rights(_front_blocks(outline.blocks))
    title_page = [block for block in front_blocks if not is_prose(block.text)]
    if not matter.may_be_title_page(" ".join(block.text for block in title_page)):
        title_page = [block for block in _title_lines(outline.blocks) if block in title_page]
    _note_facts(
        [" ".join(row.split()) for block in title_page for row in block.rows], outline.facts
    )
    for block in title_page:
        block.leave("title page")


def _leave_rights(front_blocks: Sequence[Block]) -> list[Block]:
    """Leaves out a copyright page, from its first such line to its last; returns the other
    blocks."""
    signs_by_block = [matter.signs_of_rights(block.text) for block in front_blocks]
    indexes = [index for index, kinds in enumerate(signs_by_block) if kinds]
    if len(set().union(*signs_by_block)) < 2:
        return list(front_blocks)
    for index in range(indexes[0], indexes[-1] + 1):
        if signs_by_block[index] or not is_prose(front_blocks[index].text):
            front_blocks[index].leave(matter.omission_reason("copyright-page") or "")
    return [block for block in front_blocks if block.kind != "left"]


def _front_blocks(blocks: Sequence[Block]) -> list[Block]:
    """Returns the text before the first heading if it is short, or the title lines of a text
    without one."""
    headings = (index for index, block in enumerate(blocks) if block.kind == "heading")
    front = [block for block in blocks[: next(headings, 0)] if block.kind == "text"]
    is_short = sum(count_words(block.text) for block in front) <= _FRONT_WORDS
    return front if front and is_short else _title_lines(blocks)


def _note_facts(rows: Sequence[str], facts: dict[str, str]) -> None:
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
    shown_blocks = [block for block in blocks if block.kind != "left"]
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
        if block.heading is not None and _is_chapter_heading(block):
            title = _spoken_title(block.heading)
            outline.starts[index] = Start(title, kind=block.heading.matter, is_final=True)


def _spoken_title(heading: Heading) -> str:
    text = plain_text(
        join_heading([normalize_line(emphasized_spans(part)) for part in heading.parts])
    )
    return text.rstrip(".:—–- ") if is_ordinal(text) else text
