"""English: the table `languages/en.txt`, the functions that it names, and the choice of British or
American English.

Rules are in the order of the table; special rules come before general ones, and the last rules for
figures leave no digit. Rules never see each other's words, nor the lexicon, nor how a text ends.
Numbers are those of `numbers.py`, so that English needs no other package.

American English has no "and" in numbers, months first in 3/4/2020, and meters. It is used for
en-US, plain "en", Canada and the Philippines; all others are British.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType

from narrator.text.language_lists import read_lists
from narrator.text.normalize import (
    english_calendar,
    english_figures,
    english_measures,
    english_places,
    english_words,
    numbers,
)
from narrator.text.normalize.english_match import EnglishMatch
from narrator.text.normalize.exact_grammar import ExactGrammar
from narrator.text.normalize.rules import Group, Speak

MODULES: dict[str, ModuleType] = {
    "calendar": english_calendar,
    "figures": english_figures,
    "measures": english_measures,
    "places": english_places,
    "words": english_words,
}
_AMERICAN = frozenset(("", "US", "CA", "PH", "PR"))


class _Numbers:
    """English numbers as a grammar asks for them."""

    def __init__(self, *, british: bool) -> None:
        self._sets: dict[str, Callable[[int], str]] = {
            "numbering": functools.partial(numbers.cardinal, british=british),
            "ordinal": functools.partial(numbers.ordinal, british=british),
            "year": functools.partial(numbers.year, british=british),
            "label": lambda number: numbers.label(str(number)),
            "labels": lambda number: numbers.plural(numbers.label(str(number))),
            "pair": numbers.pair,
            "oh": lambda number: numbers.digits(str(number), "oh"),
        }

    def __contains__(self, rule_set: str) -> bool:
        return rule_set in self._sets

    def spell(self, number: int, rule_set: str) -> str:
        return self._sets[rule_set](number)

    def plural(self, number: str) -> str:
        return "one" if number == "1" else "other"


def rules(tag: str) -> tuple[Group, ...]:
    """Returns the rules of a BCP 47 tag of English, in order."""
    regions = [subtag.upper() for subtag in tag.split("-")[1:] if len(subtag) == 2]
    return _rules(british=(regions or [""])[0] not in _AMERICAN)


@functools.cache
def _rules(*, british: bool) -> tuple[Group, ...]:
    def function(name: str) -> Speak:
        """Returns a function that the table names: `calendar.era`."""
        module, _, attribute = name.partition(".")
        speak: Callable[[EnglishMatch], str | None] = getattr(MODULES[module], attribute)
        return lambda match: speak(EnglishMatch(match.match, match.heading, british))

    grammar = ExactGrammar(read_lists("en"), "en", (), _Numbers(british=british), function)
    return tuple(grammar.groups())
