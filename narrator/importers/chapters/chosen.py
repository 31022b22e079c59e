"""The rule for a user who says what headings look like: no others begin a chapter."""

from __future__ import annotations

from narrator.importers import matter
from narrator.importers.blocks import Block
from narrator.importers.chapters.outline import Outline, Start
from narrator.importers.headings import CHAPTER, Heading
from narrator.text.patterns import limited


def start_at_chosen(outline: Outline) -> None:
    """Begin a piece at each heading or line that begins as headings were said to, and at front and
    back matter that markup names. Raises Slow."""
    heading = outline.choices.heading
    if heading is None:
        return
    as_it_stands = not any(block.lines for block in outline.blocks)
    outline.starts[0] = Start(as_it_stands=as_it_stands, placed=True)
    left = False
    with limited(heading.pattern):
        for place, block in enumerate(outline.blocks):
            if bool(matter.reason(block.matter)) != left:
                left = not left
                outline.starts.setdefault(place, Start())
            if block.kind in ("heading", "text") and heading.match(block.text):
                text = block.rows[0] if block.written and block.kind == "text" else block.text
                title = text.strip("*_ ").rstrip(".:—–- ") or block.text
                start = Start(title, as_it_stands=as_it_stands, placed=True)
                outline.starts[place] = start
                _head(block)


def _head(block: Block) -> None:
    if block.rows and block.written is None:  # of plain text
        block.heading = Heading((block.text,), CHAPTER, f"chosen {block.text.lower()}")
        block.kind = "heading"
    elif block.kind == "text":
        block.become_heading(1)
