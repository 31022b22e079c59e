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
    STATES_DOTTED,
    STREETS,
)
from narrator.text.normalize.english_match import EnglishMatch
from narrator.text.normalize.rules import alternatives

# Telephones --------------------------------------------------------------------------------------


def _phone_digits(group: str) -> str:
    """Speak digits one by one, but the 800 of a free call as a number."""
    return {"800": "eight hundred", "0800": "oh eight hundred"}.get(
        group, numbers.digits(group, "oh")
    )


def phone(match: EnglishMatch) -> str | None:
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


def _is_span(match: EnglishMatch, first: str, second: str) -> bool:
    """Return True for a span of years or a range: 1914-1918; 300-4000 people."""
    if all(re.fullmatch(YEAR, group) for group in (first, second)):
        return True
    if first[0] == "0" or int(first) >= int(second) or "-" not in match["number"]:
        return False
    if int(first) % 50 == int(second) % 50 == 0:
        return not _DIALLED.search(match.before[-12:])
    return bool(_SPAN_BEFORE.search(match.before[-12:]) or _SPAN_AFTER.match(match.after))


# Postcodes ---------------------------------------------------------------------------------------


_STATE_NAMES = STATES | STATES_DOTTED


def zip_code(match: EnglishMatch) -> str | None:
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


def postcode(match: EnglishMatch) -> str:
    """Speak a British postcode: SW1A 1AA."""
    return f"{_letters_and_figures(match[1])}, {_letters_and_figures(match[2])}"


def state(match: EnglishMatch) -> str | None:
    """Speak the state after a town: Springfield, IL; Boston, Mass."""
    town = re.search(r"\b[A-Z][\w'.-]*[a-z], $", match.before)
    return _STATE_NAMES[match[1].replace(".", "")] if town else None


# Streets -----------------------------------------------------------------------------------------

_NAME = r"(?:[A-Z][\w']{0,30}\.? |\d{1,3}(?:st|nd|rd|th) )"
_BEFORE_KIND = re.compile(rf"\d[A-Za-z]? (?:[A-Z][a-z]+ )?{_NAME}{{1,4}}$")
_COUNT_CUE = re.compile(r"\b(?:all|some|about|of|than|over|nearly|the)\s$", re.IGNORECASE)


def house_number(match: EnglishMatch) -> str | None:
    """Speak a house number by pairs of digits: 2788 San Tomas Expy."""
    preceding = match.before
    if _COUNT_CUE.search(preceding) or re.fullmatch("200[0-9]", match[1]):
        return None
    is_hundreds = re.fullmatch("[1-9][1-9]00", match[1])
    house_words = match.year(match[1]) if is_hundreds else numbers.label(match[1])
    return f"{house_words}-{match[2].upper()}" if match[2] else house_words


_AFTER_KIND = re.compile(rf" (?:{alternatives({*STREETS, *STREETS.values()})})\.? $")


def leading_compass_point(match: EnglishMatch) -> str | None:
    return _compass_point(match) if re.search(r"\d[A-Za-z]? $", match.before) else None


def following_compass_point(match: EnglishMatch) -> str | None:
    return _compass_point(match) if _AFTER_KIND.search(match.before[-20:]) else None


def _compass_point(match: EnglishMatch) -> str:
    return COMPASS["".join(re.findall("[NSEW]", match[0]))]


def street(match: EnglishMatch) -> str | None:
    return STREETS[match[1]] if _BEFORE_KIND.search(match.before) else None


def free_call(match: EnglishMatch) -> str:
    """Speak the figures of 1-800-FLOWERS."""
    return f"{', '.join(map(_phone_digits, match[0].split('-')[:-1]))}, "


def district(match: EnglishMatch) -> str:
    """Speak the letters of London, S.W.7."""
    return f"{'.'.join(re.findall('[A-Z]', match[0]))} "
