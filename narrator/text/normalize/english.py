"""English: the table of its rules, in order, and which English it is.

A rule is a name, a pattern over the source (made plain by `typography.canonical`) and a function
from the match to what is said, or None to decline (`rules.py`). What an earlier rule took is closed
to the later ones, so the special comes before the general, and the last rules for figures leave no
digit behind. Rules never see each other's words, nor the lexicon, nor how a text ends.

Where English is divided, en-US goes its way: no "and" in numbers, months first in 3/4/2020, meters.
So do plain "en", Canada and the Philippines; all others are British.
"""

from __future__ import annotations

import re

from narrator.text.normalize.english_calendar import CALENDAR, SPANS
from narrator.text.normalize.english_figures import MONEY, NUMBERS, PLURALS, SHILLINGS
from narrator.text.normalize.english_measures import MEASURES, VULGAR, WORDED
from narrator.text.normalize.english_places import STATE_NAMES, STREET_NUMBERS, TELEPHONES
from narrator.text.normalize.english_words import (
    ABBREVIATIONS,
    ADDRESSES,
    CAPITALS,
    FORMULAS,
    GREEK,
    LIGATURES,
    ROMANS,
    SIGNS,
)
from narrator.text.normalize.rules import Group, Setting

RULES = (
    ADDRESSES,
    FORMULAS,
    SPANS,
    Group(
        re.compile(rf"[\d{VULGAR}]|\b(?:[Pp]p?|[Vv]ols?|[Cc]h|[Cc]hap|[Ff]ig)\.\s[IVXLCivxlc]"),
        TELEPHONES + STREET_NUMBERS + MONEY + CALENDAR + SHILLINGS + PLURALS + MEASURES + NUMBERS,
    ),
    WORDED,
    STATE_NAMES,
    GREEK,
    SIGNS,
    ROMANS,
    ABBREVIATIONS,
    CAPITALS,
    LIGATURES,
)

_AMERICAN = frozenset(("", "US", "CA", "PH", "PR"))


def setting(language: str, *, heading: bool) -> Setting:
    """What the rules need to know; `language` is a BCP 47 tag of English."""
    regions = [tag.upper() for tag in language.split("-")[1:] if len(tag) == 2]
    return Setting(british=(regions or [""])[0] not in _AMERICAN, heading=heading)
