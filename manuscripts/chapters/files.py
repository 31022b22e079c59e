"""Rules for a folder in which each file holds one or more chapters."""

from __future__ import annotations

from manuscripts.chapters.outline import Outline, Start
from manuscripts.counting import parse_numbering
from manuscripts.headings import is_title, solo_heading
from manuscripts.matter import kind_of_title

_TITLE_LENGTH = 80


def start_at_several(outline: Outline) -> None:
    """Begins a piece at the top of the file, and at each heading of the first level, or each
    heading that names a chapter, if there are several."""
    blocks = outline.blocks
    headings = outline.headings()
    top_headings = [place for place in headings if blocks[place].level == 1]
    counted_headings = [place for place in headings if parse_numbering(blocks[place].text)]
    chosen_headings = (
        counted_headings
        if len(counted_headings) > 1
        else top_headings
        if len(top_headings) > 1
        else headings[:1]
    )
    text_start = 1 if blocks[:1] and blocks[0].kind == "left" else 0
    outline.starts[0] = Start(outline.title, is_final=True, has_known_parents=True)
    for index, place in enumerate(chosen_headings):
        is_first_text = index == 0 and not any(block.words for block in blocks[text_start:place])
        title = blocks[place].text or outline.title
        start_index = (
            text_start if is_first_text else outline.before_headings(place, outline.starts)
        )
        kind = kind_of_title(title)
        outline.starts[start_index] = Start(title, kind=kind, is_final=True, has_known_parents=True)


def head_with_title(outline: Outline) -> None:
    """Turns a title above the text of a file into a heading."""
    worded_blocks = [block for block in outline.blocks if block.kind in ("heading", "text")]
    if len(worded_blocks) < 2 or worded_blocks[0].kind == "heading":
        return
    first = worded_blocks[0]
    if len(first.rows) == 1 and len(first.text) <= _TITLE_LENGTH and is_title(first.text):
        first.kind, first.heading = "heading", solo_heading(first.text)
