"""Telephone numbers, postcodes, houses and streets in English.

Their figures are names, not numbers: digits are spoken one by one, or in pairs for a house, and
nought is "oh". The letters of a postcode are separated, the form in which engines spell letters.
"""

from __future__ import annotations

import re

from narrator.text.normalize import numbers
from narrator.text.normalize.english_calendar import YEAR
from narrator.text.normalize.english_lists import (
    COMPASS,
    STATES,
    STATES_ALONE,
    STATES_DOTTED,
    STREETS,
)
from narrator.text.normalize.english_parts import DOT, DOT_OR_END, FREE
from narrator.text.normalize.rules import Group, Rule, RuleMatch, alternatives, preceded_by

# Telephones --------------------------------------------------------------------------------------


def _phone_digits(group: str) -> str:
    """Speak digits one by one, but the 800 of a free call as a number."""
    return {"800": "eight hundred", "0800": "oh eight hundred"}.get(
        group, numbers.digits(group, "oh")
    )


def _phone(match: RuleMatch) -> str | None:
    """Speak a telephone number; None if it looks like a plain number or a span."""
    text, extension = match["number"], match["extension"]
    groups = re.findall(r"\d+", text.replace("(0)", " ") if text[0] == "+" else text)
    is_marked = "-" in text or "." in text or text[0] in "+0(" or extension
    is_grouped = [len(group) for group in groups][-3:] == [3, 3, 4]
    if sum(map(len, groups)) < 7 or not (is_marked or is_grouped):
        return None
    if len(groups) == 2 and _is_span(match, *groups):
        return None
    spoken_digits = ", ".join(map(_phone_digits, groups))
    spoken_extension = f", extension {numbers.label(extension)}" if extension else ""
    return f"{'plus ' * (text[0] == '+')}{spoken_digits}{spoken_extension}"


_SPAN_BEFORE = re.compile(r"\b(?:years?|pages?|pp\.|lines?|from|between|about|AD) $")
_DIALLED = re.compile(r"\b(?:[Tt]el\.?:?|[Pp]hone:?|[Cc]all|[Dd]ial|[Rr]ing) $")
_SPAN_AFTER = re.compile(r" (?:people|men|women|children|years|feet|miles|pages|words|soldiers)\b")


def _is_span(match: RuleMatch, first: str, second: str) -> bool:
    """Return True for a span of years or a range: 1914-1918; 300-4000 people."""
    if all(re.fullmatch(YEAR, group) for group in (first, second)):
        return True
    if first[0] == "0" or int(first) >= int(second) or "-" not in match["number"]:
        return False
    if int(first) % 50 == int(second) % 50 == 0:
        return not _DIALLED.search(match.before[-12:])
    return bool(_SPAN_BEFORE.search(match.before[-12:]) or _SPAN_AFTER.match(match.after))


_EXTENSION = r"(?:,? ?(?:\b[xX]|[Ee]xt\b\.?|[Ee]xtension) ?(?P<extension>\d{1,6})(?!\w))?"

TELEPHONES = (
    Rule(
        "number",
        rf"{FREE}[1-9]\d{{0,2}}(?: \d{{3}}){{2,}}(?![\w-]|[ .,]\d)",
        lambda match: match.figure(match[0].replace(" ", "")),
    ),
    Rule(
        "telephone",
        rf"(?<!\w)(?P<number>\+\d{{1,3}}(?:[ .-]?\(?\d{{1,5}}\)?){{2,5}})(?!\w){_EXTENSION}",
        _phone,
    ),
    Rule(
        "telephone",
        r"(?<![\w.])(?P<number>(?:1-)?(?:\(\d{2,5}\)[ -]?|0\d{2,4}[ -])?"
        r"\d{3,4}(?:[ -]\d{3,4}){1,3}|(?:1[.-])?\d{3}\.\d{3}\.\d{4})(?![\w-]|[.,]\d)" + _EXTENSION,
        _phone,
    ),
    Rule(
        "telephone",
        r"(?<![\w.])(?P<number>\(?0\d{2,4}\)? \d{5,6})(?![\w-]|[.,]\d)" + _EXTENSION,
        _phone,
    ),
    Rule(
        "telephone",  # 1-800-FLOWERS
        r"(?<![\w.-])(?:1-)?8(?:00|88|77|66|55|44|33)-(?=[A-Z]{3})",
        lambda match: f"{', '.join(map(_phone_digits, match[0].split('-')[:-1]))}, ",
    ),
    Rule(
        "telephone",
        preceded_by(r"\b[Cc]all ", r"\b[Dd]ial ", r"\b[Rr]ing ", r"\brang ", "alled ", "[Dd]ialed ")
        + r"\d{3}(?![\w,-]|\.\d)",
        lambda match: numbers.digits(match[0], "oh"),
    ),
)


# Postcodes ---------------------------------------------------------------------------------------


_STATE_NAMES = STATES | STATES_DOTTED


def _zip(match: RuleMatch) -> str | None:
    """Speak a ZIP code: CA 90210-1234."""
    state = match["state"].replace(".", "")
    if state and state not in _STATE_NAMES:
        return None
    groups = [numbers.digits(digits, "oh") for digits in (match["zip"], match["plus"]) if digits]
    return f"{_STATE_NAMES[state]} {', '.join(groups)}" if state else ", ".join(groups)


def _letters_and_figures(text: str) -> str:
    return " ".join(
        numbers.label(part) if part.isdecimal() else ".".join(part)
        for part in re.findall(r"\d+|[A-Z]+", text)
    )


def _postcode(match: RuleMatch) -> str:
    """Speak a British postcode: SW1A 1AA."""
    return f"{_letters_and_figures(match[1])}, {_letters_and_figures(match[2])}"


def _state(match: RuleMatch) -> str | None:
    """Speak the state after a town: Springfield, IL; Boston, Mass."""
    town = re.search(r"\b[A-Z][\w'.-]*[a-z], $", match.before)
    return _STATE_NAMES[match[1].replace(".", "")] if town else None


# Streets -----------------------------------------------------------------------------------------

_SIDE = r"(?:[NS]\.?\s?[EW]\.?|[NSEW]\.?)"
_NAME = r"(?:[A-Z][\w']{0,30}\.? |\d{1,3}(?:st|nd|rd|th) )"
_STREET_KINDS = {*STREETS, *STREETS.values()}
_STREET_KIND = rf"(?:{alternatives(_STREET_KINDS)})\b"
_ROAD = rf"(?:{_SIDE} )?{_NAME}{{1,4}}?{_STREET_KIND}"
_BEFORE_KIND = re.compile(rf"\d[A-Za-z]? (?:[A-Z][a-z]+ )?{_NAME}{{1,4}}$")
_COUNT_CUE = re.compile(r"\b(?:all|some|about|of|than|over|nearly|the)\s$", re.IGNORECASE)


def _house_number(match: RuleMatch) -> str | None:
    """Speak a house number by pairs of digits: 2788 San Tomas Expy."""
    preceding = match.before
    if _COUNT_CUE.search(preceding) or re.fullmatch("200[0-9]", match[1]):
        return None
    is_hundreds = re.fullmatch("[1-9][1-9]00", match[1])
    house_words = match.year(match[1]) if is_hundreds else numbers.label(match[1])
    return f"{house_words}-{match[2].upper()}" if match[2] else house_words


def _compass_point(match: RuleMatch) -> str:
    return COMPASS["".join(re.findall("[NSEW]", match[0]))]


def _leading_compass_point(match: RuleMatch) -> str | None:
    return _compass_point(match) if re.search(r"\d[A-Za-z]? $", match.before) else None


def _street(match: RuleMatch) -> str | None:
    return STREETS[match[1]] if _BEFORE_KIND.search(match.before) else None


def _box(match: RuleMatch) -> str:
    return f"P.O Box {numbers.label(match[1])}"


_NUMBERED = {"Apt": "Apartment", "Ste": "Suite", "Rm": "Room", "Bldg": "Building"}
_NUMBERED |= {"Rte": "Route", "Hwy": "Highway"}

STREET_NUMBERS = (
    Rule("postcode", r"\b([A-Z]{1,2}\d[A-Z\d]?) ?(\d[ABD-HJLNP-UW-Z]{2})\b", _postcode),
    Rule(
        "postcode",  # of London, as it was
        r"\b(?:(?:[NS]\.\s?[EW]|[EW]\.\s?C)\.\s?|[NSEW]\.)(?=\d{1,2}\b)",
        lambda match: f"{'.'.join(re.findall('[A-Z]', match[0]))} ",
    ),
    Rule(
        "postcode",
        rf"\b(?P<state>{alternatives([*STATES, *STATES_DOTTED])}|[A-Z]\.[A-Z])"
        r"\.?\s{1,2}(?P<zip>\d{5})(?:-(?P<plus>\d{4}))?(?![\w-])",
        _zip,
    ),
    Rule(
        "postcode",
        preceded_by("[Zz][Ii][Pp] ", "[Zz][Ii][Pp] [Cc]ode ", "[Pp]ostcode ")
        + r"(?P<state>)(?P<zip>\d{5})(?:-(?P<plus>\d{4}))?(?![\w-])",
        _zip,
    ),
    Rule("postcode", r"\bP\.?\s?O\.? Box (\d+)(?!\w)", _box),
    Rule("address", rf"\b({alternatives(_NUMBERED)})\.?(?= #?\d)", _NUMBERED),
    Rule("address", rf"{FREE}(\d{{3,5}})([A-Za-z]?)(?= {_ROAD})", _house_number),
    Rule(
        "address",
        rf"(?<=[\dA-Za-z] ){_SIDE}(?= {_NAME}{{1,4}}?{_STREET_KIND})",
        _leading_compass_point,
    ),
    Rule("address", rf"\b({alternatives(STREETS)})\b\.?(?= {_SIDE}(?:,|$| #| \d))", _street),
    Rule("address", rf"\b({alternatives(STREETS.keys() - {'St', 'Dr'})})\b{DOT}", _street),
    Rule("address", r"\b(Dr)\b\.?(?=[,;]|$)", _street),
    Rule(
        "address",
        preceded_by(*(rf" {kind}{dot} " for kind in _STREET_KINDS for dot in ("", r"\.")))
        + rf"{_SIDE}(?=,|$| #)",
        _compass_point,
    ),
)
STATE_NAMES = Group(
    r"[a-z], (?:[A-Z]{2}\b|[A-Z][a-z]{1,4}\.)",
    Rule("state", rf"(?<=[a-z], )({alternatives(STATES_ALONE)})\b(?!\.?\w|')", _state),
    Rule("state", rf"(?<=[a-z], )({alternatives(STATES_DOTTED)}){DOT_OR_END}", _state),
)
"""Rules that apply without a figure."""
