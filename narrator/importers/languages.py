"""Which blocks of a book are in another language than the book, by what its markup says.

Programs that make books write languages where nobody has set any, so what the words themselves
deny is not believed. Knows blocks, not where they came from.
"""

from __future__ import annotations

from collections.abc import Sequence

from narrator.importers.blocks import Block
from narrator.text.alphabets import is_language
from narrator.text.recognise import SMALL_WORDS
from narrator.text.sentences import primary
from narrator.text.tongues import LEAST, recognised, strange


def keep_foreign(blocks: Sequence[Block], main: str) -> list[str]:
    """Leave `language` to those blocks alone that are in another than `main`; returns which.

    Where that would be most of the book, markup and metadata speak of two books, and no block keeps
    it.
    """
    said = [block for block in blocks if block.kind in ("text", "heading")]
    for block in said:
        tag = (block.language or "").replace("_", "-")
        block.language = tag if _is_foreign(tag, block.text, main) else None
    foreign = sum(block.characters for block in said if block.language)
    if 2 * foreign > sum(block.characters for block in said):
        for block in said:
            block.language = None
    return sorted({block.language for block in said if block.language})


def _is_foreign(tag: str, text: str, main: str) -> bool:
    """Whether a text may be in the language of a tag, and is not in the book's."""
    few = sum(map(str.isalpha, text)) < LEAST  # said better within what is around it
    if few or not is_language(tag) or primary(tag) == primary(main):
        return False
    odd = strange(text, tag)
    return not (odd and odd.mostly) and recognised(text, SMALL_WORDS) != primary(main)
