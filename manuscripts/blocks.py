"""Blocks: the pieces that readers produce and that chapters are written from.

Knows how blocks become a Markdown file, not where they came from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from manuscripts.book import count_characters, count_words
from manuscripts.headings import Heading
from manuscripts.prose import (
    Line,
    join_heading,
    plain_text,
    write_heading,
    write_label,
    write_paragraph,
)

BlockKind = Literal["heading", "text", "scene", "gap", "omitted"]


@dataclass(frozen=True, slots=True, eq=False)
class Container:
    """A quotation or a list item around blocks, as prefixes of their Markdown lines."""

    first_prefix: str
    next_prefix: str

    @property
    def is_item(self) -> bool:
        """True if this is an item of a list."""
        return not self.first_prefix.startswith(">")


@dataclass(slots=True, eq=False)
class Block:
    """A piece of a source, in reading order."""

    kind: BlockKind
    """A gap is an empty paragraph, which may be a scene break; an omitted block has a reason."""
    source: str
    lines: list[Line] = field(default_factory=list)
    """Of a heading: its parts, such as ordinal and title; empty if it is a picture."""
    level: int = 0
    containers: tuple[Container, ...] = ()
    reason: str = ""
    anchors: tuple[str, ...] = ()
    """Ids of elements that begin here."""
    matter: str | None = None
    """Kind of matter of the innermost enclosing section that states one."""
    section: int = 0
    """Number of that section in its document; 0 outside of any."""
    text: str = ""
    characters: int = 0
    words: int = 0
    linked_characters: int = 0
    """Characters in links into the book."""
    speaker: str = ""
    """Label of a script, with its colon, written before the text."""
    lead_words: str = ""
    """Words that markup sets apart at the beginning, as it does with speakers' names."""
    is_name: bool = False
    """True if markup calls the lead words a speaker's name."""
    is_tabular: bool = False
    """True if this is a row of a table or of a list of terms."""
    is_narrated: bool = False
    """True if markup says that this belongs to no speaker and is not a direction."""
    document: int = 0
    """Number of its document or page."""
    rows: list[str] = field(default_factory=list)
    """Source lines of a plain text or of Markdown, as written."""
    blank_rows_above: int = 0
    """Number of blank lines above it in a plain text."""
    heading: Heading | None = None
    """Number and name of a heading in a plain text."""
    language: str | None = None
    """Language by markup; later kept only if it differs from the book's."""
    source_markdown: str | None = None
    """The author's own Markdown, if the source is Markdown."""

    note_references: tuple[str, ...] = ()
    """Keys of the notes that the block refers to."""
    note_keys: tuple[str, ...] = ()
    """Keys of the note that the block belongs to."""

    @property
    def is_worded_heading(self) -> bool:
        """True if this is a heading with words."""
        return self.kind == "heading" and bool(self.lines)

    @property
    def line_heading(self) -> Heading | None:
        """Its number and name, if it is a heading of a plain text."""
        return self.heading if self.kind == "heading" else None

    @property
    def title(self) -> str:
        """A heading as one line."""
        return plain_text(join_heading(self.lines))

    @property
    def is_introductory(self) -> bool:
        """True if it only leads to the text that follows, as a heading or a motto does."""
        return self.kind != "text" or self.matter == "epigraph"

    def become_text(self) -> None:
        self.kind, self.heading = "text", None

    def become_heading(self, level: int) -> None:
        self.kind, self.level, self.containers = "heading", level, ()

    def merge(self, block: Block) -> None:
        """Appends the lines of another block of this heading."""
        if not self.lines or self.language != block.language:
            self.language = None if self.lines else block.language
        self.lines += block.lines
        self.text = f"{self.text} {block.text}".strip()
        self.characters += block.characters
        self.words += block.words

    def merge_first_row(self, next_block: Block) -> None:
        """Moves the first row of the next Markdown block to the end of this one."""
        row = next_block.rows.pop(0)
        first_source_row, _, next_block.source_markdown = (
            next_block.source_markdown or ""
        ).partition("\n")
        self.source_markdown = f"{self.source_markdown}\n{first_source_row}"
        for block, sign in ((self, 1), (next_block, -1)):
            block.characters += sign * count_characters(row)
            block.words += sign * count_words(row)

    def omit(self, reason: str) -> None:
        """Marks the block as left out."""
        self.kind = "omitted"
        self.reason = reason


def block_of_lines(
    kind: Literal["heading", "text", "scene"], source: str, lines: Sequence[Line], level: int = 0
) -> Block:
    """Returns a block of lines, with its characters and words counted."""
    text = " ".join(map(plain_text, lines))
    words = sum(count_words(plain_text(line)) for line in lines)
    return Block(
        kind, source, lines=list(lines), level=level, text=text,
        characters=count_characters(text), words=words,
    )  # fmt: skip


def left_out_block(source: str, text: str, reason: str) -> Block:
    """Returns a block of words that are left out."""
    text = " ".join(text.split())
    return Block(
        "omitted", source, reason=reason, text=text, characters=count_characters(text),
        words=count_words(text),
    )  # fmt: skip


def write_markdown(blocks: Iterable[Block]) -> str:
    """Returns blocks as a Markdown file, without those that are left out.

    Scene breaks are written between paragraphs only. Empty paragraphs count as scene breaks if they
    are few; if they are many, the source uses them to separate its paragraphs.
    """
    shown_blocks = [block for block in blocks if block.kind != "omitted"]
    if any(block.source_markdown is not None for block in shown_blocks):
        return "\n".join(block.source_markdown or "" for block in shown_blocks).strip("\n") + "\n"
    return "\n".join(_write_rows(shown_blocks))


def _write_rows(shown_blocks: Sequence[Block]) -> list[str]:
    top_level = min((block.level for block in shown_blocks if block.kind == "heading"), default=1)
    kinds = Counter(block.kind for block in shown_blocks)
    are_gaps_breaks = kinds["gap"] * 5 <= kinds["text"]
    rows: list[str] = []
    started_containers: set[Container] = set()
    paragraph_above: Block | None = None
    """The paragraph above in the same scene."""
    has_break = False
    language: str | None = None
    for block in shown_blocks:
        language_mark = (
            [f"[language: {block.language or 'off'}]", ""] if block.language != language else []
        )
        if block.is_worded_heading:
            rows += [
                *language_mark,
                write_heading(join_heading(block.lines), min(6, block.level - top_level + 1)),
                "",
            ]
            has_break, paragraph_above, language = False, None, block.language
        elif block.kind == "text":
            if has_break and paragraph_above:
                rows += ["***", ""]
            elif paragraph_above and not language_mark:
                rows[-1] = _blank_row_between(paragraph_above, block)
            rows += [*language_mark, *_write_paragraph_rows(block, started_containers), ""]
            has_break, paragraph_above, language = False, block, block.language
        elif block.kind != "heading":
            has_break |= block.kind == "scene" or are_gaps_breaks
    return rows


def _write_paragraph_rows(block: Block, started_containers: set[Container]) -> Iterator[str]:
    """Yields the rows of a paragraph in its containers; `started_containers` already have a first
    row."""
    speaker = f"{write_label(block.speaker)} " if block.speaker else ""
    for row in f"{speaker}{write_paragraph(block.lines)}".split("\n"):
        yield (
            "".join(
                c.next_prefix if c in started_containers else c.first_prefix
                for c in block.containers
            )
            + row
        )
        started_containers.update(block.containers)


def _blank_row_between(block_above: Block, block_below: Block) -> str:
    """Returns the blank row between two paragraphs, with the prefixes of containers that hold
    both."""
    pairs = zip(block_below.containers, block_above.containers, strict=False)
    return "".join(
        inner_container.next_prefix
        for inner_container, outer_container in pairs
        if inner_container is outer_container
    ).rstrip()
