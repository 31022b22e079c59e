"""Finds blocks in a language other than the book's, by their markup.

Programs write language tags that nobody has set, so a tag that contradicts the words is ignored.
Knows blocks, not where they came from.
"""

from __future__ import annotations

from collections.abc import Sequence

from manuscripts.blocks import Block
from textbase.alphabets import is_language
from textbase.languages import SMALL_WORDS, primary
from textbase.tongues import MIN_FOREIGN_LETTERS, find_foreign_letters, recognise_language


def keep_foreign_languages(blocks: Sequence[Block], book_language: str) -> list[str]:
    """Clears `language` of all blocks except those in a language other than `book_language`;
    returns these languages.

    If they would be most of the book, markup and metadata contradict each other, and no block keeps
    its language.
    """
    worded_blocks = [block for block in blocks if block.kind in ("text", "heading")]
    for block in worded_blocks:
        tag = (block.language or "").replace("_", "-")
        block.language = tag if _is_foreign(tag, block.text, book_language) else None
    foreign_characters = sum(block.characters for block in worded_blocks if block.language)
    if 2 * foreign_characters > sum(block.characters for block in worded_blocks):
        for block in worded_blocks:
            block.language = None
    return sorted({block.language for block in worded_blocks if block.language})


def _is_foreign(tag: str, text: str, book_language: str) -> bool:
    """Returns whether a text may be in the tag's language and is not in the book's."""
    is_too_short = sum(map(str.isalpha, text)) < MIN_FOREIGN_LETTERS  # too short to recognise
    if is_too_short or not is_language(tag) or primary(tag) == primary(book_language):
        return False
    script_mismatch = find_foreign_letters(text, tag)
    return not (script_mismatch and script_mismatch.is_most) and recognise_language(
        text, SMALL_WORDS
    ) != primary(book_language)
