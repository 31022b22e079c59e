"""Fractions, lengths and angles by their marks, and units of English."""

from __future__ import annotations

import re
from typing import NamedTuple

from narrator.text.normalize import numbers
from narrator.text.normalize.english_lists import (
    COMPASS,
    FRACTIONS,
    FUNCTION,
    ONE_WORDS,
    UNITS,
)
from narrator.text.normalize.english_match import EnglishMatch
from narrator.text.normalize.english_parts import ARTICLE, NOUN, article, describes

# Fractions ---------------------------------------------------------------------------------------

_FRACTIONS = {
    char: (int(top), int(bottom))
    for char, (top, _, bottom) in ((c, f.partition("/")) for c, f in FRACTIONS.items())
}
VULGAR = "".join(_FRACTIONS)
"""Fraction characters."""

_SET_PAIRS = {"24/7": "twenty-four seven", "9/11": "nine eleven"}
_EYE_CHART = frozenset((15, 20, 25, 30, 40, 50, 60, 70, 80, 100, 200, 400))
"""Numbers that are read from an eye chart after "20/"."""


class _Fraction(NamedTuple):
    integer: str
    """The whole number before it, in words, or ""."""
    numerator: int
    name: str
    """Name of its parts: "quarter"."""

    @property
    def article(self) -> str:
        return "an" if self.name[0] == "e" else "a"

    def __str__(self) -> str:
        """Return a half, three and an eighth, three quarters, seven halves."""
        if self.numerator == 1:
            parts = f"{self.article} {self.name}"
        else:
            plural = "halves" if self.name == "half" else f"{self.name}s"
            parts = f"{numbers.cardinal(self.numerator, british=True)} {plural}"
        return f"{self.integer} and {parts}" if self.integer else parts

    @property
    def compound(self) -> str:
        """The form before a hyphen: half-inch, three-quarter-inch, two-and-a-half-inch."""
        if self.numerator > 1:
            parts = f"{numbers.cardinal(self.numerator, british=True)}-{self.name}"
        else:
            parts = f"{self.article}-{self.name}" if self.integer else self.name
        return f"{self.integer}-and-{parts}".replace(" ", "-") if self.integer else parts


def _read_fraction(text: str, match: EnglishMatch) -> _Fraction | None:
    """Read a written fraction, "3 1/4"; None if it is not one."""
    if text[-1] in _FRACTIONS:
        integer, (numerator, denominator) = text[:-1].strip(" -"), _FRACTIONS[text[-1]]
    else:
        *head, upper, lower = re.findall(r"\d+", text)
        integer, numerator, denominator = "".join(head), int(upper), int(lower)
        if numerator >= denominator:
            return None
    name = {2: "half", 4: "quarter"}.get(denominator) or numbers.ordinal(denominator, british=True)
    name = name.removeprefix("one ")  # a hundredth
    return _Fraction(match.cardinal(integer) if integer else "", numerator, name)


def _is_fraction(text: str) -> bool:
    return text[-1] in _FRACTIONS or "/" in text


def quantity_words(text: str, match: EnglishMatch) -> str | None:
    """Return a number or fraction in words; None for an improper fraction."""
    if not _is_fraction(text):
        return match.figure(text)
    fraction = _read_fraction(text, match)
    return None if fraction is None else str(fraction)


def _compound(text: str, match: EnglishMatch) -> str | None:
    fraction = _read_fraction(text, match)
    return None if fraction is None else fraction.compound


def _slash_pair(text: str) -> str | None:
    """Speak figures with a slash that are not a fraction: 24/7, 20/20."""
    if text in _SET_PAIRS:
        return _SET_PAIRS[text]
    first, _, second = text.partition("/")
    if first == "20" and second.isdecimal() and int(second) in _EYE_CHART:
        return f"twenty{'-' if second == '20' else ' '}{numbers.label(second)}"
    if first.isdecimal() and second.isdecimal() and int(first) + int(second) == 100:
        shares = [numbers.label(part) for part in (first, second) if len(part) == 2]
        return "-".join(shares) if len(shares) == 2 else None
    return None


_BEATS = re.compile(r"\s(?:time|metre|meter|rhythm|beat|signature|measure|bars?)\b")
_ODDS = re.compile(r"\b(?:odds\s(?:of|were|are|at|on)|priced\sat)\s$")
_ON = re.compile(r"\s(?:on|against|favourite|favorite|outsider|shot|chance)\b")


def _beats_or_odds(match: EnglishMatch) -> str | None:
    """Speak 6/8 time, odds of 7/2."""
    if not re.fullmatch(r"\d+/\d+", match[0]):
        return None
    upper, lower = (match.cardinal(part) for part in match[0].split("/"))
    if _BEATS.match(match.after):
        return f"{upper}-{lower}"
    top, bottom = map(int, match[0].split("/"))
    is_price = top > bottom and re.search(r"\bat $", match.before)
    if is_price or _ODDS.search(match.before) or _ON.match(match.after):
        return f"{upper} to {lower}"
    return None


def fraction(match: EnglishMatch) -> str | None:
    """Speak a fraction, with an article as its context needs."""
    if pair := _slash_pair(match[0]) or _beats_or_odds(match):
        return pair
    fraction, following = _read_fraction(match[0], match), match.after
    if fraction is None or re.match(r"-[a-z]", following):
        return fraction and fraction.compound
    quantity = str(fraction)
    noun_match = NOUN.match(following)
    noun = noun_match[1] if noun_match and noun_match[1] not in FUNCTION else ""
    if fraction.integer or fraction.numerator > 1:
        # "two thirds of it", but "a two-thirds majority"
        is_describing = noun and quantity.count(" ") == 1 and _INDEFINITE.search(match.before)
        return quantity.replace(" ", "-") if is_describing else quantity
    if ARTICLE.search(match.before):
        return fraction.name  # "a ¼ past" has one already
    if quantity != "a half":
        return quantity
    if re.match(r"\s(?:an?|past)\b", following):
        return "half"
    return f"half {article(noun)}" if noun else quantity


_INDEFINITE = re.compile(r"\b[Aa]n?\s$")


def ordinal_fraction(match: EnglishMatch) -> str | None:
    """Speak 4/5th, 3/4ths, 1/100th."""
    fraction = _read_fraction(match[1], match)
    if fraction is None:
        return None
    is_single = not fraction.integer and fraction.numerator == 1 and ARTICLE.search(match.before)
    return fraction.name if is_single else str(fraction)


# Units -------------------------------------------------------------------------------------------


SECONDS = re.compile(
    r"(?:\b(?:it|metres|meters|yards) in|\d ?m in|\bwithin|\bafter|\bevery|\bit t(?:ook|akes)"
    r"|\blast(?:s|ed)?|\b(?:ran|run|wait(?:ed|s)?|paused?|held|hold|stopped|lasted) for)"
    r"(?: (?:about|just|only|under|over|exactly|the first|the last))? $"
)
"""Context before "10s" that means seconds, neither tens nor shillings."""


def _is_measure(match: EnglishMatch) -> bool:
    """Return True if a unit follows a number, and not a word, plural or ordinal."""
    text, gap, name = match["number"], match["gap"], match["unit"]
    if name == "s":
        return not gap
    if name == "st":  # stone and not an ordinal: 12 st, 11st 4lb
        has_pounds = re.match(r"\s?\d{1,2}\s?lbs?\b", match.after)
        is_ordinal = len(text) > 2 or (text[-1] == "1" and text != "11" and not has_pounds)
        is_stone = gap == " " or not (gap or is_ordinal)
        return match.british and text.isdecimal() and is_stone
    is_word = name in ("in", "h", "W", "V", "pt") and gap
    if name == "in" and _is_fraction(text) and match.after.startswith("."):  # 2½ in.
        return True
    return not is_word or match[0].endswith(".")


def unit_names(name: str, match: EnglishMatch) -> tuple[str, ...]:
    """Return singular and plural of a unit, in the spelling of the language."""
    names = UNITS[name]
    return names if match.british else tuple(re.sub(r"(lit|met)re", r"\1er", n) for n in names)


def _part_of_unit(singular: str, quantity: str, *, has_article: bool) -> str:
    """Speak less than one unit: half a mile, three quarters of an inch; a quarter mile."""
    if has_article:
        parts = quantity.partition(" ")[2] if quantity[0] == "a" else quantity.replace(" ", "-")
        return f"{parts} {singular}"
    if quantity == "a half":
        return f"half {article(singular)} {singular}"
    return f"{quantity} of {article(singular)} {singular}"


def _plural_number(match: EnglishMatch) -> str | None:
    """Speak plural numbers that are not seconds: fours, tens, Porsche 911s."""
    text = match["number"]
    if match["unit"] != "s" or not text.isdecimal() or SECONDS.search(match.before[-40:]):
        return None
    if len(text) == 1 or int(text) % 10 == 0:
        return numbers.plural(match.figure(text))
    return numbers.plural(numbers.label(text)) if len(text) == 3 else None


def unit(match: EnglishMatch) -> str | None:
    """Speak a number with its unit; None if no unit follows."""
    if not _is_measure(match):
        return None
    if plural_number := _plural_number(match):
        return plural_number
    text, gap, name = match["number"], match["gap"], match["unit"]
    singular, plural = unit_names(name, match)
    if gap == "-" and _is_fraction(text):
        compound = _compound(text, match)
        return compound and f"{compound}-{singular}"
    quantity = quantity_words(text, match)
    if quantity is None:
        return None
    if re.match(r"an? |\w+ (?:half|third|quarter|\w+th)s$", quantity):
        return _part_of_unit(singular, quantity, has_article=bool(ARTICLE.search(match.before)))
    is_singular = text == "1" or gap == "-" or describes(match)
    return f"{quantity}{'-' if gap == '-' else ' '}{singular if is_singular else plural}"


_AFTER_FEET = re.compile(r"\b(?:ft\.|feet|foot|by),?\s(?:and\s)?$", re.IGNORECASE)


def dotted_unit(match: EnglishMatch) -> str | None:
    """Speak a unit with its full stop after a number in words: five ft. seven in."""
    name, following = match["unit"].lower(), match.after.removeprefix(".")
    continues_previous = _AFTER_FEET.search(match.before) or re.match(r",|\s[a-z]", following)
    if name == "in" and not continues_previous:
        return None
    singular, plural = unit_names(name, match)
    is_singular = match["count"].lower() in ONE_WORDS or match["gap"] == "-" or describes(match)
    return f"{match['count']}{match['gap']}{singular if is_singular else plural}"


# Marks of feet and inches, degrees, minutes and seconds ------------------------------------------


def _amounts(match: EnglishMatch, *amounts: tuple[str, str]) -> str:
    """Return the amounts, each with its unit, that are not empty."""
    return " ".join(match.amount(text, unit) for text, unit in amounts if text)


def height(match: EnglishMatch) -> str:
    """Speak 5'10", 5′ 10½″; 4′33″ is a time, since a foot has twelve inches."""
    first, second, fraction = match["feet"], match["inches"], match["part"]
    if int(second) > 12 and not fraction:
        return _amounts(match, (first, "minute"), (second, "second"))
    inches = quantity_words(f"{second} {fraction}" if fraction else second, match)
    return f"{match.cardinal(first)} foot {inches}"


def _length(
    text: str, mark: str, match: EnglishMatch, *, is_describing: bool = False
) -> str | None:
    """Speak feet or inches by their mark; singular if the length describes a noun."""
    singular, plural = ("foot", "feet") if mark in "'′" else ("inch", "inches")
    quantity = quantity_words(text, match)
    if quantity is None:
        return None
    if re.match(r"an? ", quantity):
        return (
            f"{quantity.partition(' ')[2]} {singular}"
            if is_describing
            else f"{quantity} of {article(singular)} {singular}"
        )
    return f"{quantity} {singular if text == '1' or is_describing else plural}"


def feet(match: EnglishMatch) -> str | None:
    is_describing = bool(match.get("sized")) or describes(match)
    return _length(match[1], match[2], match, is_describing=is_describing)


_WARMTH = re.compile(
    r"\b(?:temperatures?|warm\w*|heat\w*|cool\w*|cold\w*|hott?\w*|f[ae]ll\w*|r[io]ses?|dropped|drops"
    r"|reach\w*|hits?|below|above|under|over|minus|oven)\b[^.;!?]{0,24}$|[-−]$",
    re.IGNORECASE,
)
_OTHER_WARMTH = re.compile(r"(?:[-–/]|\s?\()\d+[CF]\b|/gas\b|\sfan\b")


def bare_degrees(match: EnglishMatch) -> str | None:
    """Speak 20C as a temperature after words or before signs that show it."""
    shows = _WARMTH.search(match.before[-40:]) or _OTHER_WARMTH.match(match.after)
    is_second = re.search(r"\d[CF]?(?:[-–/]|\s?\()$", match.before)
    return temperature(match) if shows or is_second else None


def hours(match: EnglishMatch) -> str:
    """Speak 2h 30m, 5m 20s, where "m" means minutes."""
    return _amounts(match, *((match[unit], unit) for unit in ("hour", "minute", "second")))


def scaled_number(match: EnglishMatch) -> str:
    """Speak 5m people."""
    scale = {"k": "thousand", "m": "million", "bn": "billion"}[match[2]]
    return f"{match.figure(match[1])} {scale}"


def slashes(match: EnglishMatch) -> str:
    """Speak 1/2/3."""
    if match[0] == "24/7/365":
        return "twenty-four seven three sixty-five"
    return ", ".join(map(match.cardinal, match[0].split("/")))


def area(match: EnglishMatch) -> str | None:
    """Speak 10' × 12'."""
    sides = (_length(match[1], match[2], match), _length(match[3], match[4], match))
    return " by ".join(side for side in sides if side) if all(sides) else None


def arc(match: EnglishMatch) -> str:
    """Speak degrees, minutes and seconds, with a compass point."""
    words = _amounts(match, (match[1], "degree"), (match[2], "minute"), (match[3], "second"))
    return f"{words} {COMPASS[match[4]].lower()}" if match[4] else words


def temperature(match: EnglishMatch) -> str:
    scale = {"C": "Celsius", "F": "Fahrenheit", "K": "kelvin"}[match[2]]
    return f"{match.amount(match[1], 'degree')} {scale}"


def describing_degrees(match: EnglishMatch) -> str | None:
    """Speak a 90° turn."""
    return f"{match.figure(match[1])} degree" if describes(match) else None
