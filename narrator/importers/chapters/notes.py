"""Footnotes that are spoken: after the paragraph that refers to them, or after the chapter.

Works on pieces of a book, whatever its format: a block says which notes it refers to and which one
it is. A note that nothing refers to stays where it was, left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from narrator.importers.blocks import Block, left_out
from narrator.importers.book import Notes, count_characters, count_words
from narrator.importers.chapters.outline import Division
from narrator.importers.prose import StyledSpan, tidy

_HEAD = re.compile(
    r"\[\^[^\]\s]+\]:\s*|[↑↩^][\ufe0e\ufe0f]?\s*(?:\d+\.\d+\s+)*|[⁰¹²³⁴-⁹]{1,3}\s*|\[?footnote\s*[^:\]]{0,8}[:\]]\s*|"
    r"(?:[\[({]?\s*(?:\d{1,3}|\d{4}(?=\s*[\])}.:])|[a-z](?=[\].)])|[*†‡§¶#]{1,4}))"
    r"\s*[\])}.:]*\s+",
    re.IGNORECASE,
)
_BACK = re.compile(
    r"(?:\s*(?:[\[(]?[↩↑⏎^][\ufe0e\ufe0f]?[\])]?|[\[(](?:back|return)[\])]"
    r"|(?<=[.!?…\"”’)\]]\s)(?:back|return)))+\s*$",
    re.IGNORECASE,
)
"""What leads back from a note. The bare words do where a sentence has ended before them."""


def place_notes(pieces: Sequence[Division], notes: Notes, kept: Sequence[bool]) -> None:
    """Move the notes that pieces which are kept refer to, to where they are spoken."""
    if notes == "omit":
        return
    order = {id(block): n for n, block in enumerate(b for p in pieces for b in p.blocks)}
    bodies: dict[str, list[list[Block]]] = {}
    for piece in pieces:
        for above, block in zip((None, *piece.blocks), piece.blocks, strict=False):
            for key in block.note:
                groups = bodies.setdefault(key, [])
                if above is not None and key in above.note:
                    groups[-1].append(block)
                else:
                    groups.append([block])
    moved: set[int] = set()
    for piece, is_kept in zip(pieces, kept, strict=True):
        if is_kept:
            piece.blocks = list(_with_notes(piece.blocks, bodies, moved, order, notes))
    for piece in pieces:
        piece.blocks = [block for block in piece.blocks if id(block) not in moved]


def _with_notes(
    blocks: Sequence[Block],
    bodies: dict[str, list[list[Block]]],
    moved: set[int],
    order: dict[int, int],
    notes: Notes,
) -> Iterator[Block]:
    late: list[Block] = []
    for block in blocks:
        yield block
        for key in block.refs:
            group = _nearest(bodies.get(key, ()), moved, order[id(block)], order)
            moved.update(map(id, group))
            spoken = [made for body in group for made in _spoken(body)]
            if notes == "in-place":
                yield from spoken
            else:
                late += spoken
    yield from late


def _nearest(
    groups: Sequence[list[Block]], moved: set[int], at: int, order: dict[int, int]
) -> list[Block]:
    """Of notes with one mark the one that follows next, or else the last before."""
    free = [group for group in groups if id(group[0]) not in moved]
    after = (group for group in free if order[id(group[0])] > at)
    return next(after, free[-1] if free else [])


def _spoken(body: Block) -> Iterator[Block]:
    """A note's text as a paragraph, and its mark, which is left out."""
    whole = body.written if body.written is not None else body.text
    head = _HEAD.match(whole)
    text = _BACK.sub("", whole[head.end() if head else 0 :]).strip()
    if re.match(r"\[footnote", whole, re.IGNORECASE) or text.count("]") > text.count("["):
        text = text.removesuffix("]").rstrip()
    if not count_words(text):
        yield replace(body)  # another one: what was moved is taken from where it stood
        return
    rows = [row.strip() for row in text.split("\n")]
    said = Block("text", body.source, [tidy([StyledSpan(text)])], text=" ".join(rows))
    said.document = body.document
    said.characters, said.words = count_characters(text), count_words(text)
    if body.written is not None:
        said.written, said.rows = "\n".join(["", *rows, ""]), rows
    yield said
    mark = left_out(body.source, (head[0] if head else ""), "mark of a note")
    mark.characters, mark.words = body.characters - said.characters, body.words - said.words
    mark.document = body.document
    if mark.characters:
        yield mark
