"""Blocks: the pieces that readers of sources make and that chapters are written from.

Knows how blocks become a Markdown file, not where they came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from narrator.importers.book import count_characters, count_words
from narrator.importers.prose import Line, join_heading, plain, write_heading, write_paragraph


@dataclass(frozen=True, slots=True, eq=False)
class Container:
    """A quotation or a list item around blocks: what Markdown writes before their lines."""

    first: str
    rest: str


@dataclass(slots=True)
class Block:
    """A piece of a source, in reading order."""

    kind: Literal["heading", "text", "scene", "gap", "left"]
    """A gap is an empty paragraph, which may be a scene break; what is left has a reason."""
    source: str
    lines: list[Line] = field(default_factory=list)
    """Of a heading: its parts, such as ordinal and title; none where it is a picture."""
    level: int = 0
    containers: tuple[Container, ...] = ()
    reason: str = ""
    anchors: tuple[str, ...] = ()
    """Ids that begin here."""
    matter: str | None = None
    """Kind of the innermost section around it that says what it is."""
    section: int = 0
    """Number of that section in its document; 0 outside of any."""
    text: str = ""
    characters: int = 0
    words: int = 0
    linked: int = 0
    """Characters that are links into the book."""
    speaker: str = ""
    """The label of a script that stands before the text, with its colon."""

    def take(self, other: Block) -> None:
        """Add the lines of a block that belongs to this heading."""
        self.lines += other.lines
        self.text = f"{self.text} {other.text}".strip()
        self.characters += other.characters
        self.words += other.words

    def leave(self, reason: str) -> None:
        """Set it aside."""
        self.kind = "left"
        self.reason = reason


def made_of(
    kind: Literal["heading", "text", "scene"], source: str, lines: Sequence[Line], level: int = 0
) -> Block:
    """A block of these lines, counted."""
    text = " ".join(map(plain, lines))
    words = sum(count_words(plain(line)) for line in lines)
    return Block(
        kind, source, lines=list(lines), level=level, text=text,
        characters=count_characters(text), words=words,
    )  # fmt: skip


def left_out(source: str, text: str, reason: str) -> Block:
    """A block of words that are set aside."""
    text = " ".join(text.split())
    return Block(
        "left", source, reason=reason, text=text, characters=count_characters(text),
        words=count_words(text),
    )  # fmt: skip


def write(blocks: Iterable[Block]) -> str:
    """Blocks as a Markdown file; what is left out is not in it.

    Scene breaks stand between paragraphs only. Empty paragraphs count as scene breaks where they
    are few; where they are many, they are how the source parts its paragraphs.
    """
    shown = [block for block in blocks if block.kind != "left"]
    top = min((block.level for block in shown if block.kind == "heading"), default=1)
    gaps = sum(block.kind == "gap" for block in shown)
    few_gaps = gaps * 5 <= sum(block.kind == "text" for block in shown)
    rows: list[str] = []
    around: tuple[Container, ...] = ()
    begun: set[Container] = set()
    scene, text = False, False
    for block in shown:
        if block.kind == "heading" and block.lines:
            rows += [write_heading(join_heading(block.lines), min(6, block.level - top + 1)), ""]
            scene, text, around = False, False, ()
        elif block.kind == "text":
            if scene and text:
                rows += ["***", ""]
            elif text:
                pairs = zip(block.containers, around, strict=False)
                rows[-1] = "".join(
                    inside.rest for inside, other in pairs if inside is other
                ).rstrip()
            speaker = f"{block.speaker} " if block.speaker else ""
            for row in f"{speaker}{write_paragraph(block.lines)}".split("\n"):
                rows.append(
                    "".join(c.rest if c in begun else c.first for c in block.containers) + row
                )
                begun.update(block.containers)
            rows.append("")
            scene, text, around = False, True, block.containers
        elif block.kind != "heading":
            scene |= block.kind == "scene" or few_gaps
    return "\n".join(rows)
