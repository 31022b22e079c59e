"""Finds how old the people of an English text are, where it says so beside their names.

Only plain statements count ("Tom, a boy of nine", "Mrs Ukridge was an old woman", "Granny Lee"),
and only where all of them agree: people of whom nothing is said have no age. Knows no voices.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from narrator.text.speakers.names import Character


class Age(StrEnum):
    """An age that is heard in a voice."""

    CHILD = "child"
    YOUNG = "young"
    OLD = "old"


_FIRST_YOUNG, _FIRST_GROWN, _FIRST_OLD = 14, 25, 60
"""Years from which somebody is no child, is not young, is old."""
_SMALL_NUMBERS = (
    "three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_NUMBERS = {word: number for number, word in enumerate(_SMALL_NUMBERS, 3)}
_NUMBERS |= {word: 10 * number for number, word in enumerate(_TENS, 2)}
_NOUNS = {
    "boy": (Age.CHILD, "he"),
    "girl": (Age.CHILD, "she"),
    "child": (Age.CHILD, ""),
    "young man": (Age.YOUNG, "he"),
    "young gentleman": (Age.YOUNG, "he"),
    "young woman": (Age.YOUNG, "she"),
    "young lady": (Age.YOUNG, "she"),
    "old man": (Age.OLD, "he"),
    "old gentleman": (Age.OLD, "he"),
    "old woman": (Age.OLD, "she"),
    "old lady": (Age.OLD, "she"),
}
"""Nouns -> the age they state, and the pronoun of those who can be called so; "" for any."""
_OLD_TITLES = frozenset("grandmother grandma granny grandfather grandpa grandad old".split())
"""Words of names that state that somebody is old."""

_CUE = re.compile(rf"\b(?:boy|girl|child|young|old|aged|{'|'.join(_NUMBERS)}|\d\d?)\b")
"""What every statement of an age contains."""
_YEARS = rf"(?P<years>(?:{'|'.join(_TENS)})(?:[- ](?:{'|'.join(_SMALL_NUMBERS[:7])}|one|two))?"
_YEARS += rf"|{'|'.join(_SMALL_NUMBERS)}|\d\d?)"
_NOUN = rf"(?:(?!old\b|young\b|not\b|no\b)[a-z-]+,? ){{0,3}}(?P<noun>{'|'.join(_NOUNS)})\b"
_END = r"(?!['’-])(?! (?:again|when|once|then|in comparison|to|at heart)\b)"
_NUMBER_END = r"(?: years old| years of age|(?= ?[,.;:—]))"
_WHO = rf"(?:then |only |still |just |but )?an? {_NOUN}(?: of {_YEARS}\b)?{_END}"
_STATEMENTS = (
    rf"{{name}}, (?:who (?:was|is) )?{_WHO}",
    rf"{{name}} (?:was|is) {_WHO}",
    rf"\ban? {_NOUN}(?: of {_YEARS})?,? (?:called|named|whose name was) {{name}}",
    rf"{{name}}(?:,|,? (?:who )?(?:was|is)|,? aged)(?: only| just| about| nearly| aged)? {_YEARS}"
    rf"{_NUMBER_END}",
)
_ASIDE = re.compile(
    r"\b(?:when|since|while|as|if|before|until|though|and|or|than|of|to|for|from|with|by|near|beside"
    r"|behind|after|at|like|past|towards?|against|about)\s+$",
    re.IGNORECASE,
)
"""What makes a statement one about another time, or about somebody else."""


def find_ages(cast: Sequence[Character], texts: Iterable[Iterable[str]]) -> Mapping[str, Age]:
    """Returns the ages of those of a cast of whom the paragraphs of the chapters state one."""
    owners: dict[str, Character] = {}
    for character in cast:
        for name in character.names:
            owners[name] = character
    stated: dict[str, set[Age]] = defaultdict(set)
    for character in cast:
        words = {word for name in character.names for word in name.lower().split()}
        if words & _OLD_TITLES:
            stated[character.name].add(Age.OLD)
    if owners:
        names = "|".join(map(re.escape, sorted(owners, key=len, reverse=True)))
        name = rf"(?<!\w)(?P<name>{names})"
        patterns = [re.compile(pattern.replace("{name}", name)) for pattern in _STATEMENTS]
        for text in (text for chapter in texts for text in chapter if _CUE.search(text)):
            for pattern in patterns:
                for match in pattern.finditer(text):
                    if _ASIDE.search(text, max(0, match.start() - 12), match.start()):
                        continue
                    character = owners[match["name"]]
                    if age := _stated_age(match.groupdict(), character):
                        stated[character.name].add(age)
    return {name: ages.pop() for name, ages in stated.items() if len(ages) == 1}


def _stated_age(fields: Mapping[str, str | None], character: Character) -> Age | None:
    """The age that a statement gives; None for one between, or a noun for another pronoun."""
    age, pronoun = _NOUNS.get(fields.get("noun") or "", (None, ""))
    if pronoun and character.pronoun not in (pronoun, None):
        return None
    years = fields.get("years")
    if not years:
        return age
    tens, _, ones = years.replace("-", " ").partition(" ")
    number = int(tens) if tens.isdecimal() else _NUMBERS[tens] + _NUMBERS.get(ones, 0)
    if number < _FIRST_YOUNG:
        return Age.CHILD
    if number < _FIRST_GROWN:
        return Age.YOUNG
    return Age.OLD if number >= _FIRST_OLD else None
