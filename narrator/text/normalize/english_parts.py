"""Pieces of patterns that the English rules share."""

from __future__ import annotations

from narrator.text.normalize.english_lists import STARTERS

INT = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)"
NUM = rf"(?:{INT}(?:\.\d+)?|\.\d+)"
FREE = r"(?<![\w.])(?<!\d,)"
"""No number goes on from here to the left."""

_TAIL = r"[\"')\]]*"
CAPITAL_FOLLOWS = rf"{_TAIL}(?:\s*$|\s+[\"'(\[]*[A-Z\d])"
SENTENCE_FOLLOWS = rf"{_TAIL}(?:\s*$|\s+[\"'(\[]*(?:{STARTERS})\b)"
DOT = rf"(?:\.(?!{CAPITAL_FOLLOWS}))?"
"""The full stop of an abbreviation, if it has one; one that may end a sentence stays outside."""
DOT_OR_END = rf"(?:\.(?!{CAPITAL_FOLLOWS})|(?=\.))"
"""The same where the full stop must be there."""
