"""Pieces of patterns and of speech that the English rules share."""

from __future__ import annotations

import re

from narrator.text.normalize.english_lists import FUNCTION
from narrator.text.normalize.english_match import EnglishMatch

OPENS = re.compile(r"(?:^|[.!?…][\"')\]]*\s|\n)[\"'(\[]*$")
"""Matches the text before the beginning of a sentence."""


ARTICLE = re.compile(r"\b(?:an?|another|every|each|one|that|this|the|his|her|my)\s$", re.IGNORECASE)
NOUN = re.compile(r"\s([a-z]{3,})")
_CASH = re.compile(r"\s(?:bill|note|coin|piece|stamp)s?\b")


def describes(match: EnglishMatch) -> bool:
    """Return True if the amount describes a noun: "a $5 bill", "a 6 ft man"."""
    if re.match(r"-an?-[a-z]", match.after):  # $5-a-day
        return True
    noun = NOUN.match(match.after)
    if noun is None or noun[1] in FUNCTION:
        return False
    return bool(_CASH.match(match.after) or ARTICLE.search(match.before))


def article(noun: str) -> str:
    """Return "a" or "an" for a noun."""
    return "an" if noun[0] in "aeio" or noun.startswith(("hour", "un", "up")) else "a"
