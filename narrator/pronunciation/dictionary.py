"""A pronunciation dictionary, searched in its unpacked bytes.

A dictionary is a gzip file in `data/` of UTF-8 lines, sorted as bytes:

    word TAB phonemes [TAB TAG=phonemes]...

Tags are parts of speech (NOUN, VERB, ADJ, VBN …), and None for a word before a stop.

It is kept as the bytes it unpacks to and searched by bisection: 5 MB and a fiftieth of a second,
where a dict of its lines would take 40 MB and a fifth. Knows no language.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources

DEFAULT = ""
"""The key of the pronunciation that a word has where none of its tags fits."""


class Dictionary:
    """The entries of a file in `data/`; `find(word)` is `_find` with a cache."""

    def __init__(self, file: str) -> None:
        packed = (resources.files(__package__) / "data" / file).read_bytes()
        self._lines = gzip.decompress(packed)
        self.find = lru_cache(maxsize=20_000)(self._find)

    def __contains__(self, word: str) -> bool:
        return self.find(word) is not None

    def _find(self, word: str) -> Mapping[str, str] | None:
        """Returns the phonemes of `word` by tag, in exactly this spelling; None if it has none.

        Searches the sorted lines by bisection.
        """
        key = word.encode() + b"\t"
        low, high = 0, len(self._lines)
        while low < high:
            middle = (low + high) // 2
            start = self._lines.rfind(b"\n", 0, middle) + 1
            stop = self._lines.find(b"\n", middle)
            line = self._lines[start:stop]
            if line.startswith(key):
                default, *variants = line[len(key) :].decode().split("\t")
                return {DEFAULT: default, **dict(variant.split("=") for variant in variants)}
            if line < key:
                low = stop + 1
            else:
                high = start
        return None
