"""Places footnotes that are spoken: after the paragraph that refers to them, or after the chapter.

Works on pieces of a book of any format: a block lists the notes that it refers to and the note that
it belongs to. A note without a reference stays left out, in its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from manuscripts.blocks import Block, left_out_block
from manuscripts.book import Notes, count_characters, count_words
from manuscripts.chapters.outline import Division
from manuscripts.prose import StyledSpan, normalize_line

_NOTE_MARK = re.compile(
    r"\[\^[^\]\s]+\]:\s*|[↑↩^][\ufe0e\ufe0f]?\s*(?:\d+\.\d+\s+)*|[⁰¹²³⁴-⁹]{1,3}\s*|\[?footnote\s*[^:\]]{0,8}[:\]]\s*|"
    r"(?:[\[({]?\s*(?:\d{1,3}|\d{4}(?=\s*[\])}.:])|[a-z](?=[\].)])|[*†‡§¶#]{1,4}))"
    r"\s*[\])}.:]*\s+",
    re.IGNORECASE,
)
_BACK_LINK = re.compile(
    r"(?:\s*(?:[\[(]?[↩↑⏎^][\ufe0e\ufe0f]?[\])]?|[\[(](?:back|return)[\])]"
    r"|(?<=[.!?…\"”’)\]]\s)(?:back|return)))+\s*$",
    re.IGNORECASE,
)
"""A link back from a note. Bare words count only after the end of a sentence."""


def place_notes(pieces: Sequence[Division], notes: Notes) -> None:
    """Moves notes that pieces which are read refer to, to where they are spoken."""
    if notes == "omit":
        return
    position_by_id = {id(block): n for n, block in enumerate(b for p in pieces for b in p.blocks)}
    bodies_by_key: dict[str, list[list[Block]]] = {}
    """Key of a note -> the blocks of each note with that key."""
    for piece in pieces:
        keys_above: tuple[str, ...] = ()
        for block in piece.blocks:
            for key in block.note_keys:
                bodies = bodies_by_key.setdefault(key, [])
                if key in keys_above:
                    bodies[-1].append(block)
                else:
                    bodies.append([block])
            keys_above = block.note_keys
    moved_ids: set[int] = set()

    def take_body(key: str, position: int) -> list[Block]:
        """Returns the blocks of a note: of those with this mark, the next one after the reference,
        or else the last one before it."""
        unmoved = [body for body in bodies_by_key.get(key, ()) if id(body[0]) not in moved_ids]
        later_bodies = (body for body in unmoved if position_by_id[id(body[0])] > position)
        body = next(later_bodies, unmoved[-1] if unmoved else [])
        moved_ids.update(map(id, body))
        return body

    for piece in pieces:
        if piece.omission_reason is None:
            piece.blocks = list(_insert_notes(piece.blocks, take_body, notes, position_by_id))
    for piece in pieces:
        piece.blocks = [block for block in piece.blocks if id(block) not in moved_ids]


def _insert_notes(
    blocks: Sequence[Block],
    take_body: Callable[[str, int], list[Block]],
    notes: Notes,
    position_by_id: Mapping[int, int],
) -> Iterator[Block]:
    """Yields a chapter's blocks with the notes that they refer to."""
    end_notes: list[Block] = []
    for block in blocks:
        yield block
        for key in block.note_references:
            body = take_body(key, position_by_id[id(block)])
            note_blocks = [spoken for body_block in body for spoken in _note_blocks(body_block)]
            if notes == "in-place":
                yield from note_blocks
            else:
                end_notes += note_blocks
    yield from end_notes


def _note_blocks(body: Block) -> Iterator[Block]:
    """Yields a note's text as a paragraph, and its mark, which is left out."""
    full_text = body.source_markdown if body.source_markdown is not None else body.text
    mark_match = _NOTE_MARK.match(full_text)
    text = _BACK_LINK.sub("", full_text[mark_match.end() if mark_match else 0 :]).strip()
    if re.match(r"\[footnote", full_text, re.IGNORECASE) or text.count("]") > text.count("["):
        text = text.removesuffix("]").rstrip()
    if not count_words(text):
        yield replace(body)  # a copy, since the moved original is removed from its place
        return
    rows = [row.strip() for row in text.split("\n")]
    note = Block("text", body.source, [normalize_line([StyledSpan(text)])], text=" ".join(rows))
    note.document = body.document
    note.characters, note.words = count_characters(text), count_words(text)
    if body.source_markdown is not None:
        note.source_markdown, note.rows = "\n".join(["", *rows, ""]), rows
    yield note
    mark_block = left_out_block(
        body.source, (mark_match[0] if mark_match else ""), "mark of a note"
    )
    mark_block.characters, mark_block.words = (
        body.characters - note.characters,
        body.words - note.words,
    )
    mark_block.document = body.document
    if mark_block.characters:
        yield mark_block
