"""Places footnotes that are spoken: after the paragraph that refers to them, or after the chapter.

Works on pieces of a book of any format: a block lists the notes that it refers to and the note that
it belongs to. A note without a reference stays left out, in its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
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


def place_notes(pieces: Sequence[Division], notes: Notes, is_kept_by_piece: Sequence[bool]) -> None:
    """Moves notes that kept pieces refer to, to where they are spoken."""
    if notes == "omit":
        return
    position_by_id = {id(block): n for n, block in enumerate(b for p in pieces for b in p.blocks)}
    groups_by_key: dict[str, list[list[Block]]] = {}
    for piece in pieces:
        for block_above, block in zip((None, *piece.blocks), piece.blocks, strict=False):
            for key in block.note:
                groups = groups_by_key.setdefault(key, [])
                if block_above is not None and key in block_above.note:
                    groups[-1].append(block)
                else:
                    groups.append([block])
    moved_ids: set[int] = set()
    for piece, is_kept in zip(pieces, is_kept_by_piece, strict=True):
        if is_kept:
            piece.blocks = list(
                _insert_notes(piece.blocks, groups_by_key, moved_ids, position_by_id, notes)
            )
    for piece in pieces:
        piece.blocks = [block for block in piece.blocks if id(block) not in moved_ids]


def _insert_notes(
    blocks: Sequence[Block],
    groups_by_key: dict[str, list[list[Block]]],
    moved_ids: set[int],
    position_by_id: dict[int, int],
    notes: Notes,
) -> Iterator[Block]:
    end_notes: list[Block] = []
    for block in blocks:
        yield block
        for key in block.refs:
            group = _nearest_group(
                groups_by_key.get(key, ()), moved_ids, position_by_id[id(block)], position_by_id
            )
            moved_ids.update(map(id, group))
            note_blocks = [note_block for body in group for note_block in _note_blocks(body)]
            if notes == "in-place":
                yield from note_blocks
            else:
                end_notes += note_blocks
    yield from end_notes


def _nearest_group(
    groups: Sequence[list[Block]],
    moved_ids: set[int],
    position: int,
    position_by_id: dict[int, int],
) -> list[Block]:
    """Returns the next of the notes with the same mark, or else the last one before."""
    unused_groups = [group for group in groups if id(group[0]) not in moved_ids]
    later_groups = (group for group in unused_groups if position_by_id[id(group[0])] > position)
    return next(later_groups, unused_groups[-1] if unused_groups else [])


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
