"""The table of English rules, in order, and the choice of British or American English.

A rule is a name, a pattern over the source (prepared by `typography.canonical`) and a function from
the match to its spoken form, or None to decline (`rules.py`). Text read by an earlier rule is
closed to later ones, so special rules come before general ones, and the last rules for figures
leave no digit. Rules never see each other's words, nor the lexicon, nor how a text ends.

American English has no "and" in numbers, months first in 3/4/2020, and meters. It is used for
en-US, plain "en", Canada and the Philippines; all others are British.
"""

from __future__ import annotations

from narrator.text.normalize.english_calendar import CALENDAR, SPANS
from narrator.text.normalize.english_figures import MONEY, NAVIGATION, NUMBERS, PLURALS, SHILLINGS
from narrator.text.normalize.english_measures import MEASURES, VULGAR, WORDED
from narrator.text.normalize.english_places import STATE_NAMES, STREET_NUMBERS, TELEPHONES
from narrator.text.normalize.english_words import (
    ABBREVIATIONS,
    ADDRESSES,
    CAPITALS,
    FORMULAS,
    GAMES,
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
        rf"[\d{VULGAR}]|\b(?:[Pp]p?|[Vv]ols?|[Cc]h|[Cc]hap|[Ff]ig|[Ss]c|[Bb]k|[Pp]t)\.\s[IVXLCivxlc]",
        *(GAMES + NAVIGATION + TELEPHONES + STREET_NUMBERS + MONEY + CALENDAR + SHILLINGS),
        *(PLURALS + MEASURES + NUMBERS),
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
    """Return the setting of the rules; `language` is a BCP 47 tag of English."""
    regions = [tag.upper() for tag in language.split("-")[1:] if len(tag) == 2]
    return Setting(british=(regions or [""])[0] not in _AMERICAN, heading=heading)
