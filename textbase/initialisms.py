"""Initialisms, from `initialisms.txt`, which says what each list is."""

from __future__ import annotations

from pathlib import Path

from textbase.word_lists import read_word_lists

_LISTS = read_word_lists(Path(__file__).with_suffix(".txt"))

SPELLED = frozenset(_LISTS.words("spelled"))
AMBIGUOUS_CAPITALS = frozenset(_LISTS.words("ambiguous capitals"))
