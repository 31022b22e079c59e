"""Rules for a folder in which each file is a chapter, or some."""

from __future__ import annotations

from narrator.importers.chapters.outline import Outline, Start
from narrator.importers.counting import counted
from narrator.importers.headings import CHAPTER, Heading, is_title
from narrator.importers.matter import kind_of_title

_TITLE_LENGTH = 80


def start_at_several(outline: Outline) -> None:
    """Begin a piece at the file's top, and at each of several headings of its first level, or of
    several that name chapters."""
    blocks = outline.blocks
    headings = outline.headings()
    top = [place for place in headings if blocks[place].level == 1]
    named = [place for place in headings if counted(blocks[place].text)]
    places = named if len(named) > 1 else top if len(top) > 1 else headings[:1]
    begin = 1 if blocks[:1] and blocks[0].kind == "left" else 0
    outline.starts[0] = Start(outline.title, as_it_stands=True, placed=True)
    for number, place in enumerate(places):
        lead = number == 0 and not any(block.words for block in blocks[begin:place])
        title = blocks[place].text or outline.title
        at = begin if lead else outline.before_headings(place, outline.starts)
        kind = kind_of_title(title)
        outline.starts[at] = Start(title, kind=kind, as_it_stands=True, placed=True)


def head_with_title(outline: Outline) -> None:
    """Make a heading of a title above the text of a file."""
    said = [block for block in outline.blocks if block.kind in ("heading", "text")]
    if len(said) < 2 or said[0].kind == "heading":
        return
    first = said[0]
    if len(first.rows) == 1 and len(first.text) <= _TITLE_LENGTH and is_title(first.text):
        first.kind = "heading"
        first.heading = Heading((first.text,), CHAPTER, f"solo {first.text.lower()}")
