"""Rules for plain text, whose headings are guessed from the shape of lines.

A heading must count from one, may have its title under it or a story's title above it, and may be
no more than a line of a table of contents. What stands before the first is a title page, if short.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, takewhile

from narrator.importers import matter
from narrator.importers.blocks import Block
from narrator.importers.book import count_words
from narrator.importers.chapters.outline import Outline, Start
from narrator.importers.chapters.titles import is_bare
from narrator.importers.counting import value_in_words
from narrator.importers.headings import (
    CHAPTER,
    PART,
    SECTION,
    Heading,
    is_list,
    is_prose,
    is_title,
)
from narrator.importers.labels import COLONS, labels
from narrator.importers.plaintext import spans
from narrator.importers.prose import is_ordinal, join_heading, plain, tidy

_BY = re.compile(r"(?:(?:written )?by|von|par|por|di|door|av)[:\s]\s*(\S.{1,80})", re.IGNORECASE)
_ENDING = re.compile(r"(?:the\s+)?end\b|finis\b|fin\b|ende\b", re.IGNORECASE)
_TITLE_LENGTH = 80
_HEADS = 3
"""Pages that have a title at their top, at least."""
_FACT = re.compile(r"(title|author):\s+(\S.*)", re.IGNORECASE)
_FRONT_WORDS = 200
"""Text before the first heading that is no longer is a title page."""


def _headed(blocks: Sequence[Block]) -> Iterator[tuple[Block, Heading]]:
    """Blocks that are headings, and what they say."""
    for block in blocks:
        if block.kind == "heading" and block.heading is not None:
            yield block, block.heading


def _divides(block: Block) -> bool:
    """Whether a block is the heading of a chapter or of what holds some."""
    return block.kind == "heading" and block.heading is not None and block.heading.level <= CHAPTER


def free_titles(outline: Outline) -> None:
    """A line under a number is its title, though its first word looks like a number: `X`, and below
    it `I Enlist the Services of a Minion`."""
    for above, below in pairwise(outline.blocks):
        numbered = above.kind == "heading" and is_bare(above.text)
        parts = below.heading.parts if below.heading else ()
        if numbered and len(parts) > 1 and parts[0] == "I" and below.text.startswith("I "):
            below.kind, below.heading = "text", None


def keep_counted(outline: Outline) -> None:
    """Numbers are headings if they count from one; of sections, if chapters are named. Where those
    with a title count apart from those without, as stories do, they hold them."""
    named = any(heading.names_chapter for _, heading in _headed(outline.blocks))
    numbers = [(b, heading) for b, heading in _headed(outline.blocks) if heading.level == SECTION]
    levels = _counted_levels(numbers, named)
    for block, heading in numbers:
        if level := levels.get(block):
            block.heading = replace(heading, level=level)
        else:
            block.kind, block.heading = "text", None


def _counted_levels(numbers: Sequence[tuple[Block, Heading]], named: bool) -> dict[Block, int]:
    """Levels of the numbers that count; `named`: chapters have names, so these are sections."""
    titled = _counting([(block, heading) for block, heading in numbers if len(heading.parts) > 1])
    bare = _counting([(block, heading) for block, heading in numbers if len(heading.parts) == 1])
    if len(titled) > 1 and len(bare) > 1 and not named:
        return dict.fromkeys(bare, CHAPTER) | dict.fromkeys(titled, PART)
    counted = _counting(numbers)
    return dict.fromkeys(counted, SECTION if named else CHAPTER) if len(counted) > 1 else {}


def _counting(numbers: Sequence[tuple[Block, Heading]]) -> set[Block]:
    """Those that count from one or from A, however often they begin anew."""
    counted: set[Block] = set()
    number = letter = 1
    """What is expected next."""
    for block, heading in numbers:
        if heading.letter == letter and (letter > 1 or heading.value is None):
            counted.add(block)  # also the I after H
            letter += 1
        elif heading.value is not None and heading.value in (number, 1):
            counted.add(block)
            number = heading.value + 1
        elif heading.letter == 1:
            counted.add(block)
            letter = 2
        elif len(counted) > 1 and _skips_in_words(heading, number):
            counted.add(block)
    return counted


def _skips_in_words(heading: Heading, expected: int) -> bool:
    """Whether a number in words leaves out some, as a page's never does: `Twenty-One` after 3."""
    value = heading.value or 0
    return value > expected and value_in_words(heading.parts[0]) == value


def take_titles(outline: Outline) -> None:
    """A number's title may stand in the paragraph under it."""
    taken: set[Block] = set()
    for above, below in pairwise(outline.blocks):
        if above.kind != "heading" or above.heading is None or below.kind != "text":
            continue
        parts = above.heading.parts
        short = len(below.rows) <= 2 and is_title(below.text)
        if short and len(parts) == 1 and is_ordinal(parts[0]) and not below.apart:
            above.heading = replace(above.heading, parts=(*parts, below.text))
            above.rows += below.rows
            above.text += f" {below.text}"
            taken.add(below)
    outline.blocks = [block for block in outline.blocks if block not in taken]


def find_holders(outline: Outline) -> None:
    """A title right above where chapters begin to count anew holds them: a story, a part."""
    shown = [block for block in outline.blocks if block.kind != "left"]
    begun = [(above, below) for above, below in pairwise(shown) if _begins_to_count(below)]
    holders = [above for above, _ in begun if _is_holder(above)]
    if len(begun) < 2 or holders in ([], shown[:1]):
        return
    for block in holders:
        key = f"solo {block.text.lower()}"
        block.kind, block.heading = "heading", Heading((block.text,), PART, key)


def _begins_to_count(block: Block) -> bool:
    heading = block.heading if block.kind == "heading" else None
    return heading is not None and heading.level == CHAPTER and heading.is_first


def _is_holder(block: Block) -> bool:
    """Whether a paragraph of text is set as the title of what follows."""
    text = block.text
    if block.kind != "text" or len(block.rows) > 2 or len(text) > _TITLE_LENGTH or block.apart:
        return False
    set_apart = text.isupper() or block.gap > 1
    return set_apart and is_title(text) and not _ENDING.match(text) and not _BY.fullmatch(text)


# -- front matter ----------------------------------------------------------------------------------


def leave_contents(outline: Outline) -> None:
    """Set aside a list of headings that come again further down."""
    runs: list[list[Block]] = [[]]
    for block in outline.blocks:
        if _divides(block):
            runs[-1].append(block)
        elif block.kind == "text" and is_list(block.rows):
            block.leave("table of contents")
        elif block.kind == "text":
            runs.append([])
    keys = Counter(block.heading.key for block in outline.blocks if block.heading)
    for run in runs:
        for block in _repeated(run, keys):
            block.leave("table of contents")


def _repeated(run: Sequence[Block], keys: Counter[str]) -> list[Block]:
    """Of headings without text between, those that only list what comes again further down.

    The last of them may be where the text begins: from there on the first heading stands again.
    """
    listed = [(block, heading) for block, heading in _headed(run) if heading.matter is None]
    if len(listed) < 3:
        return []
    first = listed[0][1].key
    again = [place for place, (_, heading) in enumerate(listed) if heading.key == first][1:]
    if again:
        return [block for block, _ in listed[: again[-1]]]
    headed = any(heading.matter == "toc" for _, heading in _headed(run))
    return [block for block, _ in listed] if headed or keys[first] > 1 else []


def leave_running_heads(outline: Outline) -> None:
    """Set aside what stands at the top of each page: a chapter's own heading again, or the book's
    title in capitals; a chapter begins once."""
    last: Heading | None = None
    for block, heading in _headed(outline.blocks):
        if heading.level > CHAPTER:
            continue
        same = last is not None and (heading.key, heading.parts) == (last.key, last.parts)
        if same and heading.value is not None:
            block.leave("running head")
        else:
            last = heading
    for block in _shouted_again(outline):
        block.leave("running head")


def _shouted_again(outline: Outline) -> list[Block]:
    """Lines in capitals that say a title, as at the top of several pages."""
    front = _front(outline.blocks)
    shouted = [block for block in outline.blocks if _is_shouted(block) and block not in front]
    counts = Counter(map(_unpaged, shouted))
    titles = {_unpaged(block) for block, _ in _headed(outline.blocks)}
    titles |= {_unpaged(block) for block in front}
    again = {text for text, count in counts.items() if count >= _HEADS}
    return [line for line in shouted if _unpaged(line) in again & titles]


def _is_shouted(block: Block) -> bool:
    """Whether a block is a line in capitals that is nobody's name above a speech."""
    short = len(block.rows) == 1 and len(block.text) <= _TITLE_LENGTH
    return block.kind == "text" and short and block.text.isupper() and not block.apart


def _unpaged(block: Block) -> str:
    """A line without the number of its page."""
    return re.sub(r"^\d{1,4}\s+|\s+\d{1,4}$", "", " ".join(block.text.split())).upper()


def leave_listed(outline: Outline) -> None:
    """Set aside what stands under CONTENTS, up to a heading or a sentence."""
    for place, block in enumerate(outline.blocks):
        heading = block.heading if block.kind == "heading" else None
        if heading is not None and heading.matter in ("toc", "loi", "lot"):
            block.leave("table of contents")
            for below in takewhile(_is_no_text, outline.blocks[place + 1 :]):
                below.leave("table of contents")


def _is_no_text(block: Block) -> bool:
    return block.kind != "heading" and not (block.kind == "text" and is_prose(block.text))


def leave_title_page(outline: Outline) -> None:
    """Set aside what stands before the first heading, if it is a title page."""
    front = _leave_rights(_front(outline.blocks))
    page = [block for block in front if not is_prose(block.text)]
    if not matter.may_be_title_page(" ".join(block.text for block in page)):
        page = [block for block in _title_lines(outline.blocks) if block in page]
    _note_facts([" ".join(row.split()) for block in page for row in block.rows], outline.said)
    for block in page:
        block.leave("title page")


def _leave_rights(front: Sequence[Block]) -> list[Block]:
    """Set aside a page of rights: its first line that says so, its last, and short ones between;
    the other blocks."""
    signs = [matter.signs_of_rights(block.text) for block in front]
    places = [place for place, kinds in enumerate(signs) if kinds]
    if len(set().union(*signs)) < 2:
        return list(front)
    for place in range(places[0], places[-1] + 1):
        if signs[place] or not is_prose(front[place].text):
            front[place].leave(matter.reason("copyright-page") or "")
    return [block for block in front if block.kind != "left"]


def _front(blocks: Sequence[Block]) -> list[Block]:
    """Text before the first heading, if it is short, or title lines of a text without one."""
    headings = (place for place, block in enumerate(blocks) if block.kind == "heading")
    front = [block for block in blocks[: next(headings, 0)] if block.kind == "text"]
    short = sum(count_words(block.text) for block in front) <= _FRONT_WORDS
    return front if front and short else _title_lines(blocks)


def _note_facts(rows: Sequence[str], said: dict[str, str]) -> None:
    """Title and author, as the lines of a title page say them."""
    for fact in filter(None, map(_FACT.fullmatch, rows)):
        said.setdefault(fact[1].lower(), fact[2])
    if rows:
        said.setdefault("title", rows[0])
    for row, below in pairwise([*rows, ""]):
        if by := _BY.fullmatch(row):
            said.setdefault("author", by[1].rstrip("."))
        elif row.lower().rstrip(":") == "by" and below:
            said.setdefault("author", below)


def _title_lines(blocks: Sequence[Block]) -> list[Block]:
    """The title and the line with the author, where the text goes on without a heading."""
    page: list[Block] = []
    said = [block for block in blocks if block.kind != "left"]
    for block in said[:3]:
        short = len(block.rows) <= 2 and len(block.text) <= 100
        by = block.rows and _BY.fullmatch(" ".join(block.rows[-1].split()))
        title = not page and is_title(block.text) and not _is_labelled(block)
        if block.kind != "text" or not short or not (title or by):
            break
        page.append(block)
    return page if any(block.kind == "text" for block in said[len(page) :]) else []


def _is_labelled(block: Block) -> bool:
    return bool(block.apart) or any(label.mark in COLONS for label in labels(block.text))


# -- chapters --------------------------------------------------------------------------------------


def start_at_headings(outline: Outline) -> None:
    """Begin a piece at each heading but those of sections, and where the text begins."""
    outline.starts[0] = Start(as_it_stands=True)
    for place, block in enumerate(outline.blocks):
        if block.heading is not None and _divides(block):
            title = _spoken_title(block.heading)
            outline.starts[place] = Start(title, kind=block.heading.matter, as_it_stands=True)


def _spoken_title(heading: Heading) -> str:
    text = plain(join_heading([tidy(spans(part)) for part in heading.parts]))
    return text.rstrip(".:—–- ") if is_ordinal(text) else text
