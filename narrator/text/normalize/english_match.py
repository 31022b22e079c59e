"""A match of an English rule, which says numbers as British or American English does."""

from __future__ import annotations

from dataclasses import dataclass

from narrator.text.normalize import numbers
from narrator.text.normalize.rules import RuleMatch


@dataclass(frozen=True, slots=True)
class EnglishMatch(RuleMatch):
    """A match for the functions of `languages/en.txt`."""

    british: bool

    def get(self, group: str) -> str:
        """Return the text of a group; "" if it caught nothing, or the pattern has no such group."""
        return self.match.groupdict().get(group) or ""

    def cardinal(self, number: int | str) -> str:
        return numbers.cardinal(int(number), british=self.british)

    def ordinal(self, number: int | str) -> str:
        return numbers.ordinal(int(number), british=self.british)

    def year(self, number: int | str) -> str:
        return numbers.year(int(number), british=self.british)

    def figure(self, text: str) -> str:
        """Return the words of a written number with commas and a point."""
        return numbers.decimal(text, british=self.british)

    def amount(self, number: int | str, singular: str, plural: str = "") -> str:
        """Return a number with its noun: "one pound", "two pounds", "1.5 pounds" in words."""
        noun = singular if str(number) == "1" else plural or f"{singular}s"
        return f"{self.figure(str(number))} {noun}"
