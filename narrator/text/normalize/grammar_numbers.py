"""Numbers in the forms of a grammar: with its endings, its decimals, and its words in the plural.

`grammars.py` describes the sections; `cldr_numbers.py` has the numbers themselves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from narrator.text.normalize.grammar_lists import Entry, UnknownNameError


class Speller(Protocol):
    """Says numbers, as `cldr_numbers.Numbers` does."""

    def __contains__(self, rule_set: str, /) -> bool: ...

    def spell(self, number: int, rule_set: str, /) -> str | None: ...

    def plural(self, number: str, /) -> str: ...


@dataclass(frozen=True, slots=True)
class _Form:
    """A set of rules of the speller, and changes of the endings of its words."""

    rule_set: str
    endings: tuple[tuple[re.Pattern[str], str], ...] = ()

    def change_endings(self, words: str) -> str:
        for pattern, ending in self.endings:
            words = pattern.sub(ending, words)
        return words


class NumberWords:
    """Says written numbers in the forms of a grammar.

    `notation` and `decimal_places` are sections of the grammar; `decimal_signs` are the forms of
    the word for the decimal sign, without which numbers with decimals are not said.
    """

    def __init__(
        self,
        speller: Speller,
        notation: Mapping[str, str],
        decimal_signs: Sequence[str],
        decimal_places: Mapping[str, Entry],
    ) -> None:
        self._speller = speller
        self._decimal_signs, self._decimal_places = decimal_signs, decimal_places
        self._decimals_are_numbers = notation.get("fraction") == "number"
        self.point = notation.get("decimal", ",")
        self.gap = "" if notation.get("spaces") == "no" else " "
        self.plurals = notation.get("plurals", "one other").split()
        self._forms: dict[str, _Form] = {}
        self.add_form("cardinal", "numbering")

    def add_form(self, name: str, meaning: str) -> None:
        """Adds a form, "set of rules, endings". Raises UnknownNameError if there is no such set."""
        base, _, changes = meaning.partition(", ")
        form = self._forms.get(base, _Form(base))
        if form.rule_set not in self._speller:
            raise UnknownNameError(f"no set of rules '{form.rule_set}'")
        endings = []
        for change in changes.split():
            old, _, new = change.replace("_", " ").partition(">")
            endings.append((re.compile(rf"(?:{old})\b"), new))
        self._forms[name] = _Form(form.rule_set, (*form.endings, *endings))

    def __contains__(self, form: str) -> bool:
        return form in self._forms

    def first_form(self, *names: str) -> str:
        """Returns the first of several forms that the grammar has; `cardinal` if it has none."""
        return next((name for name in names if name in self._forms), "cardinal")

    def spell(self, number: int, form: str = "cardinal") -> str | None:
        """Returns a number in words; None if it is too large."""
        words = self._speller.spell(number, self._forms[form].rule_set)
        return None if words is None else self._forms[form].change_endings(words)

    def spell_figures(self, figures: str, form: str) -> str | None:
        """Returns a written number in words, with its decimals; None if it is too large."""
        integer, _, decimals = figures.partition(self.point)
        if not decimals:
            return self.spell(_value(integer), form)
        if not self._decimal_signs:
            return None
        form = self.first_form(f"{form}-decimals", "decimals")
        change_endings = self._forms[form].change_endings
        sign = change_endings(self.in_plural(self._decimal_signs, integer))
        if place := self._decimal_places.get(str(len(decimals))):
            parts, place_words = [decimals], change_endings(self.in_plural(place.forms, decimals))
        else:
            parts, place_words = self._decimal_parts(decimals), ""
        spoken_parts = [self.spell(int(part), form) for part in parts]
        return self.join([self.spell(_value(integer), form), sign, *spoken_parts, place_words])

    def _decimal_parts(self, decimals: str) -> list[str]:
        """Returns the figures that are said together: 05 is zero, five; 75 may be a number."""
        if not self._decimals_are_numbers or len(decimals) > 3:
            return list(decimals)
        number = decimals.lstrip("0")
        zeros = decimals.removesuffix(number)
        return [*zeros, number] if number else list(zeros)

    def spell_digits(self, figures: str, form: str) -> str | None:
        """Returns figures one by one in words."""
        return self.join([self.spell(int(figure), form) for figure in figures])

    def in_plural(self, forms: Sequence[str], figures: str) -> str:
        """Returns the form of a word that the plural of a written number takes."""
        return self.in_category(forms, self._speller.plural(self.plain_figures(figures)))

    def in_category(self, forms: Sequence[str], category: str) -> str:
        """Returns the form of a word in a category of plurals; the last one if it has no such."""
        index = self.plurals.index(category) if category in self.plurals else len(forms)
        return forms[min(index, len(forms) - 1)]

    def join(self, words: Sequence[str | None]) -> str | None:
        """Returns words as one text; None if one of them cannot be said."""
        return None if None in words else self.gap.join(filter(None, words))

    def plain_figures(self, figures: str) -> str:
        """Returns a written number as "1234.5"."""
        integer, _, decimals = figures.partition(self.point)
        return f"{_value(integer)}.{_value(decimals)}" if decimals else str(_value(integer))


def _value(figures: str) -> int:
    """Returns the number that figures write; of one that is too large to be said, the beginning."""
    return int(re.sub(r"\D", "", figures)[:20])
