"""Words in capitals for emphasis, which engines would spell, in languages other than English."""

from __future__ import annotations

import re

from narrator.text.normalize import numbers
from narrator.text.normalize.rules import Group, Rule, RuleMatch
from textbase.initialisms import SPELLED


def _unshout_capitals(match: RuleMatch) -> str | None:
    """Lower a word in capitals if it is emphasis: next to a longer such word, or long itself."""
    word = match[0]
    if not word.isupper() or word in SPELLED or numbers.roman(word):
        return None
    preceding = match.before
    context = f"{preceding[-16:]} {match.after[:16]}"
    is_beside_shouting = any(
        len(neighbour) > 3 and neighbour.isupper() and neighbour not in SPELLED
        for neighbour in re.findall(r"[^\W\d_]+", context)
    )
    if not (is_beside_shouting or len(word) > (3 if match.heading else 5)):
        return None
    opens_sentence = match.heading or not re.search(r"[\w,;:]\W*$", preceding)
    return word.capitalize() if opens_sentence else word.lower()


CAPITALS = Group(r"[^\W\d_a-z]{4}", Rule("capitals", r"[^\W\d_]{2,}", _unshout_capitals))
