"""The rule for a user's pattern of headings: no other headings begin a chapter."""

from __future__ import annotations

from manuscripts import matter
from manuscripts.blocks import Block
from manuscripts.chapters.outline import Outline, Start
from manuscripts.headings import solo_heading
from textbase.patterns import time_limit


def start_at_chosen_headings(outline: Outline) -> None:
    """Begins a piece at each heading or line that matches the user's pattern, and at front and back
    matter by markup. Raises SlowPattern."""
    heading = outline.choices.heading
    if heading is None:
        return
    is_final = not any(block.lines for block in outline.blocks)
    outline.starts[0] = Start(is_final=is_final, has_known_parents=True)
    is_in_matter = False
    with time_limit(heading.pattern):
        for index, block in enumerate(outline.blocks):
            if bool(matter.omission_reason(block.matter)) != is_in_matter:
                is_in_matter = not is_in_matter
                outline.starts.setdefault(index, Start())
            if block.kind in ("heading", "text") and heading.match(block.text):
                text = (
                    block.rows[0] if block.source_markdown and block.kind == "text" else block.text
                )
                title = text.strip("*_ ").rstrip(".:—–- ") or block.text
                start = Start(title, is_final=is_final, has_known_parents=True)
                outline.starts[index] = start
                _make_heading(block)


def _make_heading(block: Block) -> None:
    if block.rows and block.source_markdown is None:  # of plain text
        block.heading = solo_heading(block.text, kind="chosen")
        block.kind = "heading"
    elif block.kind == "text":
        block.become_heading(1)
