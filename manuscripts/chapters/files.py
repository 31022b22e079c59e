"""Rules for a folder in which each file holds one or more chapters."""

from __future__ import annotations

from manuscripts.chapters.outline import Outline, Start
from manuscripts.counting import parse_numbering
from manuscripts.headings import is_title, solo_heading
from manuscripts.matter import kind_of_title

_MAX_TITLE_LENGTH = 80


def start_at_top_headings(outline: Outline) -> None:
    """Begins a piece at the top of the file, and at each heading of the first level, or each
    heading that names a chapter, if there are several."""
    blocks = outline.blocks
    headings = outline.headings()
    top_headings = [place for place in headings if blocks[place].level == 1]
    counted_headings = [place for place in headings if parse_numbering(blocks[place].text)]
    several = (places for places in (counted_headings, top_headings) if len(places) > 1)
    chapter_headings = next(several, headings[:1])
    text_start = 1 if blocks[:1] and blocks[0].kind == "omitted" else 0
    outline.starts[0] = Start(outline.title, is_final=True, has_known_parents=True)
    for index, place in enumerate(chapter_headings):
        is_first_text = index == 0 and not any(block.words for block in blocks[text_start:place])
        title = blocks[place].text or outline.title
        start_index = (
            text_start if is_first_text else outline.first_heading_above(place, outline.starts)
        )
        kind = kind_of_title(title)
        outline.starts[start_index] = Start(title, kind=kind, is_final=True, has_known_parents=True)


def promote_title_line(outline: Outline) -> None:
    """Turns a title above the text of a file into a heading."""
    worded_blocks = [block for block in outline.blocks if block.kind in ("heading", "text")]
    if len(worded_blocks) < 2 or worded_blocks[0].kind == "heading":
        return
    first_block = worded_blocks[0]
    is_short = len(first_block.rows) == 1 and len(first_block.text) <= _MAX_TITLE_LENGTH
    if is_short and is_title(first_block.text):
        first_block.kind, first_block.heading = "heading", solo_heading(first_block.text)
