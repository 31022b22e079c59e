"""Fractions, lengths and angles by their marks, and units of English."""

from __future__ import annotations

import re

from narrator.text.normalize import numbers
from narrator.text.normalize.english_lists import (
    COUNT_WORDS,
    DOTTED_UNITS,
    FUNCTION,
    ONE_WORDS,
    UNITS,
)
from narrator.text.normalize.english_parts import (
    ARTICLE,
    FREE,
    NOUN,
    NUM,
    article,
    describes,
    figure,
    in_words,
)
from narrator.text.normalize.rules import (
    Group,
    Match,
    Rule,
    Setting,
    alternatives,
    preceded_by,
    say_always,
    text_after,
    text_before,
)

# Fractions ---------------------------------------------------------------------------------------

_FRACTIONS = {
    char: (int(top), int(bottom))
    for char, top, bottom in re.findall(
        r"(.)(\d)/(\d+)",
        "½1/2 ⅓1/3 ⅔2/3 ¼1/4 ¾3/4 ⅕1/5 ⅖2/5 ⅗3/5 ⅘4/5 ⅙1/6 ⅚5/6 ⅐1/7 ⅛1/8 ⅜3/8 ⅝5/8 ⅞7/8⅑1/9 ⅒1/10",
    )
}
VULGAR = "".join(_FRACTIONS)
"""Fraction characters."""

_SLASHED = r"(?:\d+[ -])?[1-9]\d{0,2}/[1-9]\d{0,2}(?:(?<=/1)000)?"
_FRACTION = rf"(?:\d+[ -]?)?[{VULGAR}]|{_SLASHED}(?![\d/])"
_SET_PAIRS = {"24/7": "twenty-four seven", "9/11": "nine eleven"}
_EYE_CHART = frozenset((15, 20, 25, 30, 40, 50, 60, 70, 80, 100, 200, 400))
"""Numbers that are read from an eye chart after "20/"."""


def _split_fraction(text: str, setting: Setting) -> tuple[str, int, str] | None:
    """Split a written fraction into its whole number ("" for none), numerator and name of its
    parts.

    "3 1/4" is three, one and "quarter"; None if it is not a fraction.
    """
    if text[-1] in _FRACTIONS:
        integer, (numerator, denominator) = text[:-1].strip(" -"), _FRACTIONS[text[-1]]
    else:
        *head, upper, lower = re.findall(r"\d+", text)
        integer, numerator, denominator = "".join(head), int(upper), int(lower)
        if numerator >= denominator:
            return None
    name = {2: "half", 4: "quarter"}.get(denominator) or numbers.ordinal(denominator, british=True)
    name = name.removeprefix("one ")  # a hundredth
    return in_words(int(integer), setting) if integer else "", numerator, name


def _fraction_parts(numerator: int, name: str) -> str:
    """Return a half, an eighth, three quarters, seven halves."""
    if numerator == 1:
        return f"{'an' if name[0] == 'e' else 'a'} {name}"
    return (
        f"{numbers.cardinal(numerator, british=True)} {'halves' if name == 'half' else f'{name}s'}"
    )


def _is_fraction(text: str) -> bool:
    return text[-1] in _FRACTIONS or "/" in text


def _quantity(text: str, setting: Setting) -> str | None:
    """Return a number or fraction in words; None for an improper fraction."""
    if not _is_fraction(text):
        return figure(text, setting)
    if (fraction := _split_fraction(text, setting)) is None:
        return None
    integer, numerator, name = fraction
    return (
        f"{integer} and {_fraction_parts(numerator, name)}"
        if integer
        else _fraction_parts(numerator, name)
    )


def _compound(text: str, setting: Setting) -> str | None:
    """Speak a fraction before a hyphen: half-inch, three-quarter-inch, two-and-a-half-inch."""
    if (fraction := _split_fraction(text, setting)) is None:
        return None
    integer, numerator, name = fraction
    parts = name if numerator == 1 else f"{numbers.cardinal(numerator, british=True)}-{name}"
    if not integer:
        return parts
    if numerator == 1:
        parts = f"{'an' if name[0] == 'e' else 'a'}-{parts}"
    return f"{integer}-and-{parts}".replace(" ", "-")


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


def _beats_or_odds(match: Match, setting: Setting) -> str | None:
    """Speak 6/8 time, odds of 7/2."""
    if not re.fullmatch(r"\d+/\d+", match[0]):
        return None
    upper, lower = (in_words(int(part), setting) for part in match[0].split("/"))
    if _BEATS.match(text_after(match)):
        return f"{upper}-{lower}"
    if _ODDS.search(text_before(match)) or _ON.match(text_after(match)):
        return f"{upper} to {lower}"
    return None


def _fraction(match: Match, setting: Setting) -> str | None:
    """Speak a fraction, with an article as its context needs."""
    text = match[0]
    if pair := _slash_pair(text) or _beats_or_odds(match, setting):
        return pair
    following = text_after(match)
    if re.match(r"-[a-z]", following):
        return _compound(text, setting)
    quantity = _quantity(text, setting)
    if quantity is None or (quantity[:2] != "a " and quantity[:3] != "an "):
        return _shared_parts(match, setting, quantity)
    if ARTICLE.search(text_before(match)):
        return quantity.partition(" ")[2]  # "a ¼ past" has one already
    if quantity != "a half":
        return quantity
    if re.match(r"\s(?:an?|past)\b", following):
        return "half"
    noun = NOUN.match(following)
    return f"half {article(noun[1])}" if noun and noun[1] not in FUNCTION else quantity


def _shared_parts(match: Match, setting: Setting, quantity: str | None) -> str | None:
    """Hyphenate several parts where they describe a noun: "two thirds of it", but "a two-thirds
    majority"."""
    noun = NOUN.match(text_after(match))
    if quantity and quantity.count(" ") == 1 and re.search(r"\b[Aa]n?\s$", text_before(match)):
        return quantity.replace(" ", "-") if noun and noun[1] not in FUNCTION else quantity
    return quantity


def _ordinal_fraction(match: Match, setting: Setting) -> str | None:
    """Speak 4/5th, 3/4ths, 1/100th."""
    fraction = _split_fraction(match[1], setting)
    if fraction is None:
        return None
    quantity = _quantity(match[1], setting)
    assert quantity is not None
    is_single = not fraction[0] and fraction[1] == 1 and ARTICLE.search(text_before(match))
    return quantity.partition(" ")[2] if is_single else quantity


# Units -------------------------------------------------------------------------------------------


def _is_measure(match: Match, setting: Setting) -> bool:
    """Return True if a unit follows a number, and not a word, plural or ordinal."""
    text, gap, name = match["number"], match["gap"], match["unit"]
    if name == "s":
        return not gap
    if name in ("in", "h", "W", "V", "pt") and gap and not match[0].endswith("."):
        return False
    return name != "st" or (
        setting.british and text.isdecimal() and (gap == " " or _is_stone(match))
    )


SECONDS = re.compile(
    r"(?:\b(?:it|metres|meters|yards) in|\d ?m in|\bwithin|\bafter|\bevery|\bit t(?:ook|akes)"
    r"|\blast(?:s|ed)?|\b(?:ran|run|wait(?:ed|s)?|paused?|held|hold|stopped|lasted) for)"
    r"(?: (?:about|just|only|under|over|exactly|the first|the last))? $"
)
"""Context before "10s" that means seconds, neither tens nor shillings."""


def _is_stone(match: Match) -> bool:
    """Return True for stone and not an ordinal: 12st, 11st 4lb."""
    text = match["number"]
    if match["gap"] or len(text) not in (1, 2):
        return False
    has_pounds = re.match(r"\s?\d{1,2}\s?lbs?\b", text_after(match))
    return bool(has_pounds) or text[-1] != "1" or text == "11"


def _unit_names(name: str, setting: Setting) -> tuple[str, str]:
    """Return singular and plural of a unit, in the spelling of the language."""
    singular, plural = UNITS[name]
    if setting.british:
        return singular, plural
    singular, plural = (re.sub(r"(lit|met)re", r"\1er", word) for word in (singular, plural))
    return singular, plural


def _part_of_unit(singular: str, quantity: str, *, has_article: bool) -> str:
    """Speak less than one unit: half a mile, three quarters of an inch; a quarter mile."""
    if has_article:
        if quantity[0] == "a":
            return f"{quantity.partition(' ')[2]} {singular}"
        return f"{quantity.replace(' ', '-')} {singular}"
    if quantity == "a half":
        return f"half {article(singular)} {singular}"
    return f"{quantity} of {article(singular)} {singular}"


def _plural_number(match: Match, setting: Setting) -> str | None:
    """Speak plural numbers that are not seconds: fours, tens, Porsche 911s."""
    text = match["number"]
    if match["unit"] != "s" or not text.isdecimal() or SECONDS.search(text_before(match)[-40:]):
        return None
    if len(text) == 1 or int(text) % 10 == 0:
        return numbers.plural(figure(text, setting))
    return numbers.plural(numbers.label(text)) if len(text) == 3 else None


def _unit(match: Match, setting: Setting) -> str | None:
    """Speak a number with its unit; None if no unit follows."""
    if not _is_measure(match, setting):
        return None
    if plural_number := _plural_number(match, setting):
        return plural_number
    text, gap, name = match["number"], match["gap"], match["unit"]
    singular, plural = _unit_names(name, setting)
    if gap == "-" and _is_fraction(text):
        compound = _compound(text, setting)
        return compound and f"{compound}-{singular}"
    quantity = _quantity(text, setting)
    if quantity is None:
        return None
    if re.match(r"an? |\w+ (?:half|third|quarter|\w+th)s$", quantity):
        return _part_of_unit(
            singular, quantity, has_article=bool(ARTICLE.search(text_before(match)))
        )
    is_singular = text == "1" or gap == "-" or describes(match)
    return f"{quantity}{'-' if gap == '-' else ' '}{singular if is_singular else plural}"


_AFTER_FEET = re.compile(r"\b(?:ft\.|feet|foot|by),?\s(?:and\s)?$", re.IGNORECASE)


def _dotted_unit(match: Match, setting: Setting) -> str | None:
    """Speak a unit with its full stop after a number in words: five ft. seven in."""
    name, following = match["unit"].lower(), text_after(match).removeprefix(".")
    if (
        name == "in"
        and not _AFTER_FEET.search(text_before(match))
        and not _CLAUSE_GOES_ON.match(following)
    ):
        return None
    singular, plural = _unit_names(name, setting)
    is_singular = match["count"].lower() in ONE_WORDS or match["gap"] == "-" or describes(match)
    return f"{match['count']}{match['gap']}{singular if is_singular else plural}"


_CLAUSE_GOES_ON = re.compile(r",|\s[a-z]")


# Marks of feet and inches, degrees, minutes and seconds ------------------------------------------


def _sixtieths(first: str, second: str, setting: Setting, names: tuple[str, str]) -> str:
    amounts = []
    for text, name in zip((first, second), names, strict=True):
        amounts.append(f"{figure(text, setting)} {name}{'s' * (text != '1')}")
    return " ".join(amounts)


def _height(match: Match, setting: Setting) -> str:
    """Speak 5'10", 5′ 10½″; 4′33″ is a time, since a foot has twelve inches."""
    first, second, fraction = match["feet"], match["inches"], match["part"]
    if int(second) > 12 and not fraction:
        return _sixtieths(first, second, setting, ("minute", "second"))
    inches = _quantity(f"{second} {fraction}" if fraction else second, setting)
    return f"{in_words(int(first), setting)} foot {inches}"


def _length(text: str, mark: str, setting: Setting, *, is_describing: bool = False) -> str | None:
    """Speak feet or inches by their mark; singular if the length describes a noun."""
    singular, plural = ("foot", "feet") if mark in "'′" else ("inch", "inches")
    quantity = _quantity(text, setting)
    if quantity is None:
        return None
    if re.match(r"an? ", quantity):
        return (
            f"{quantity.partition(' ')[2]} {singular}"
            if is_describing
            else f"{quantity} of {article(singular)} {singular}"
        )
    return f"{quantity} {singular if text == '1' or is_describing else plural}"


_SIZED_IN_INCHES = re.compile(
    r" (?:guns?|shells?|mortars?|howitzers?|rifles?|barrels?|pipes?|tubes?|hoses?|nails?|screws?"
    r"|bolts?|boards?|planks?|blades?|knife|knives|discs?|disks?|records?|screens?|monitors?|tyres?|tires?"
    r"|heels?|lenses|telescopes?)\b"
)
"""Things sized in inches; elsewhere the mark ends a quotation."""


def _feet(match: Match, setting: Setting) -> str | None:
    noun = match[2] in '"″' and _SIZED_IN_INCHES.match(text_after(match))
    return _length(match[1], match[2], setting, is_describing=bool(noun) or describes(match))


def _hours(match: Match, setting: Setting) -> str:
    """Speak 2h 30m, 5m 20s, where "m" means minutes."""
    amounts = []
    for name in ("hour", "minute", "second"):
        if number := match[name]:
            amounts.append(f"{in_words(int(number), setting)} {name}{'s' * (number != '1')}")
    return " ".join(amounts)


_COUNTED_IN_MILLIONS = (
    "people|men|women|children|inhabitants|residents|citizens|users|readers|viewers|listeners|voters|votes"
    "|workers|soldiers|refugees|customers|members|followers|subscribers|households|homes|jobs|copies"
    "|dollars|pounds|euros|francs|marks|roubles|rubles|rupees|years|tons|tonnes"
)


def _scaled_number(match: Match, setting: Setting) -> str:
    """Speak 5m people."""
    scale = {"k": "thousand", "m": "million", "bn": "billion"}[match[2]]
    return f"{figure(match[1], setting)} {scale}"


def _slashes(match: Match, setting: Setting) -> str:
    """Speak 1/2/3."""
    parts = match[0].split("/")
    if match[0] == "24/7/365":
        return "twenty-four seven three sixty-five"
    return ", ".join(in_words(int(part), setting) for part in parts)


def _area(match: Match, setting: Setting) -> str | None:
    """Speak 10' × 12'."""
    sides = (_length(match[1], match[2], setting), _length(match[3], match[4], setting))
    return " by ".join(side for side in sides if side) if all(sides) else None


_POINTS = {"N": "north", "S": "south", "E": "east", "W": "west"}


def _arc(match: Match, setting: Setting) -> str:
    """Speak degrees, minutes and seconds, with a compass point."""
    words = []
    for text, name in ((match[1], "degree"), (match[2], "minute"), (match[3], "second")):
        if text:
            words.append(f"{figure(text, setting)} {name}{'s' * (text != '1')}")
    if match[4]:
        words.append(_POINTS[match[4]])
    return " ".join(words)


def _temperature(match: Match, setting: Setting) -> str:
    scale = {"C": "Celsius", "F": "Fahrenheit", "K": "kelvin"}[match[2]]
    return f"{figure(match[1], setting)} degree{'s' * (match[1] != '1')} {scale}"


_UNIT = rf"(?P<gap>\s|-|)(?P<unit>{alternatives(UNITS)})(?![\w²³]|[/.]\w)"

_UNIT_DOT = r"(?:\.(?![\"')\]]*(?:\s*$|\s+[\"'(\[]*[A-Z])))?"  # "6 ft. 2 in."
_LENGTH = rf"(?:{_FRACTION}|{NUM})"
_INCHES = rf"(?P<inches>\d{{1,2}})(?:[\s-]?(?P<part>[{VULGAR}]|[1-9]/[1-9]\d?(?!\d)))?"

MEASURES = (
    Rule(
        "arc",
        re.compile(
            rf"{FREE}(\d+)°\s?(\d+(?:\.\d+)?)['′](?:\s?(\d+(?:\.\d+)?)(?:[\"″]|''|′′))?"
            r"(?:\s?([NSEW])\b)?"
        ),
        _arc,
    ),
    Rule("arc", re.compile(rf"{FREE}({NUM})°()()\s?([NSEW])\b(?!\.?\w)"), _arc),
    Rule(
        "height",
        re.compile(rf"{FREE}(?P<feet>\d{{1,2}})['′][\s-]?{_INCHES}(?:\"|″|''|′′|(?![\w'′]))"),
        _height,
    ),
    Rule(
        "height",
        re.compile(
            rf"{FREE}(?P<feet>\d{{1,2}}) ?(?:ft|feet|foot)\b\.?,? ?{_INCHES} ?(?:ins?|inches)\b"
            + _UNIT_DOT
        ),
        _height,
    ),
    Rule(
        "feet",
        re.compile(rf"{FREE}({_LENGTH})(['′\"″])\s?[x×]\s?({_LENGTH})(['′\"″])(?!\w)"),
        _area,
    ),
    Rule("feet", re.compile(rf"{FREE}({_LENGTH})(['′″])(?![\w'])"), _feet),
    Rule("feet", re.compile(rf"{FREE}({_LENGTH})(\")(?={_SIZED_IN_INCHES.pattern})"), _feet),
    # elsewhere this mark ends a quotation
    Rule("feet", re.compile(rf"(?<=\b[Aa] )({_LENGTH})(\")(?= [a-z])"), _feet),
    Rule("temperature", re.compile(rf"{FREE}({NUM})\s?°\s?([CFK])\b"), _temperature),
    Rule("degrees", re.compile(r"(?<![\w.])1°(?!\w)"), say_always("one degree")),
    Rule(
        "unit",
        re.compile(
            rf"{FREE}(?P<hour>\d{{1,3}}) ?(?:h|hrs?) ?(?P<minute>\d{{1,2}}) ?m(?:ins?)?"
            r"(?: ?(?P<second>\d{1,2}) ?s(?:ecs?)?)?\b"
        ),
        _hours,
    ),
    Rule(
        "unit",
        re.compile(
            rf"{FREE}(?P<hour>)(?P<minute>\d{{1,2}}) ?m(?:ins?)? ?"
            r"(?P<second>[0-5]?\d) ?s(?:ecs?)?\b"
        ),
        _hours,
    ),
    Rule(
        "number",
        re.compile(
            rf"{FREE}({NUM})(k|m|bn)(?=(?:[-–]{NUM}(?:k|m|bn))? (?:{_COUNTED_IN_MILLIONS})\b(?!'))"
        ),
        _scaled_number,
    ),
    Rule("unit", re.compile(rf"{FREE}(?P<number>{_FRACTION}|{NUM}){_UNIT}{_UNIT_DOT}"), _unit),
    Rule("list", re.compile(rf"{FREE}(?<!/)\d+(?:/\d+){{2,}}(?!\w)"), _slashes),
    Rule(
        "fraction",
        re.compile(rf"{FREE}({_SLASHED})(?:st|nd|rd|th)s?(?!\w)"),
        _ordinal_fraction,
    ),
    Rule("fraction", re.compile(rf"{FREE}(?:{_FRACTION})"), _fraction),
    Rule("fraction", re.compile(rf"[{VULGAR}]"), _fraction),
)
WORDED = Group(
    re.compile(
        r"\." + preceded_by(*(rf"[ -]{re.escape(unit)}\." for unit in DOTTED_UNITS)), re.IGNORECASE
    ),
    (
        Rule(
            "unit",
            re.compile(
                rf"\b(?P<count>(?i:{alternatives(COUNT_WORDS)}))(?P<gap>[ -])"
                rf"(?P<unit>(?i:{alternatives(DOTTED_UNITS)}))(?=\.){_UNIT_DOT}"
            ),
            _dotted_unit,
        ),
    ),
)
"""Units whose number is written in words."""
