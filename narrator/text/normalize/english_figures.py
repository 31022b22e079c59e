"""Money, measures and all other numbers of English."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from narrator.text.normalize import numbers
from narrator.text.normalize.english_lists import (
    BEFORE_NUMBER,
    CURRENCIES,
    CURRENCY_COUNTRIES,
    DOTLESS,
    MONEY_SCALES,
    MONTH_SHORT,
    MONTHS,
    PAGED,
    STREETS,
    UNITS,
)
from narrator.text.normalize.english_match import EnglishMatch
from narrator.text.normalize.english_measures import SECONDS, VULGAR, quantity_words
from narrator.text.normalize.english_parts import describes
from narrator.text.normalize.rules import alternatives

# Money -------------------------------------------------------------------------------------------


class _Currency(NamedTuple):
    one: str
    many: str
    cent: str
    cents: str


_CURRENCIES = {sign: _Currency(*names) for sign, names in CURRENCIES.items()}


def money(match: EnglishMatch) -> str:
    """Speak an amount of money or a range, with country and scale: US$5 million."""
    sign = match.get("sign") or match["code"]
    currency = _CURRENCIES[sign]
    if letters := match.get("country"):
        country = CURRENCY_COUNTRIES.get(letters, ".".join(letters))
        names = (f"{country} {currency.one}", f"{country} {currency.many}")
        currency = currency._replace(one=names[0], many=names[1])
    amount, upper_amount = match["amount"].replace(",", ""), match.get("upto").replace(",", "")
    scale = match.get("scale") or MONEY_SCALES.get(match.get("short"))
    has_cents = len(amount.partition(".")[2]) in (0, 2)
    if upper_amount and not scale and float(upper_amount) <= float(amount):  # no range
        return ", ".join(_sum_words(text, match, currency) for text in (amount, upper_amount))
    if not (scale or upper_amount) and has_cents:
        return _sum_words(amount, match, currency)
    if upper_amount and not scale and "." in f"{amount}{upper_amount}":
        return " to ".join(_sum_words(text, match, currency) for text in (amount, upper_amount))
    words = match.figure(amount)
    if upper_amount:
        words += f" {match.get('joint') or 'to'} {match.figure(upper_amount)}"
    if scale:
        words += f" {scale}"
    return f"{words} {currency.one if describes(match) else currency.many}"


def _sum_words(text: str, match: EnglishMatch, currency: _Currency) -> str:
    """Speak a sum to the penny: "four pounds fifty", "one dollar and five cents", a "ten-dollar"
    bill."""
    integer, _, fraction = text.partition(".")
    if len(fraction) not in (0, 2):
        return f"{match.figure(text)} {currency.many}"
    main_amount, small_amount = int(integer or 0), int(fraction or 0)
    small_coins = match.amount(small_amount, currency.cent, currency.cents)
    if small_amount and not main_amount:
        return small_coins
    if describes(match):
        price = f"{match.cardinal(main_amount)}-{currency.one}"
        return f"{price} {match.cardinal(small_amount)}" if small_amount else price
    main_words = match.amount(main_amount, currency.one, currency.many)
    if not small_amount:
        return main_words
    is_short = match.british and currency.one == "pound" and small_amount > 9
    return f"{main_words} {match.cardinal(small_amount) if is_short else f'and {small_coins}'}"


def coins(match: EnglishMatch) -> str:
    if match[0] == "½p":
        return "a halfpenny"
    singular, plural = ("penny", "pence") if match[2] == "p" else ("cent", "cents")
    return f"{quantity_words(match[1], match)} {singular if match[1] in ('1', '½') else plural}"


def _old_pence(number: int, fraction: str, *, is_describing: bool = False) -> str:
    """Return sixpence, eightpence halfpenny, three farthings; a "halfpenny", "sixpenny" stamp."""
    fraction_words = {"": "", "½": "halfpenny", "¼": "farthing", "¾": "three farthings"}[fraction]
    if is_describing and (not number or not fraction):
        return fraction_words or _old_pence(number, "").replace("pence", "penny").removeprefix(
            "one "
        )
    if not number:
        return fraction_words if fraction == "¾" else f"a {fraction_words}"
    if number == 1:
        return {"": "one penny", "½": "three halfpence"}.get(fraction, f"a penny {fraction_words}")
    name = {2: "two", 3: "three"}.get(number) or numbers.cardinal(number, british=True)
    return f"{name}{'' if number < 12 else ' '}pence {fraction_words}".strip()


def old_money(match: EnglishMatch) -> str:
    """Speak pounds, shillings and pence."""
    units = [unit for unit in ("pound", "shilling") if match.get(f"{unit}s")]
    has_pence = bool(match.get("pence").strip("0") or match.get("part"))
    if not (units or has_pence):
        return "no pence"
    if len(units) + has_pence == 1 and describes(match):  # a 10/- note, a 6d. novel
        if has_pence:
            return _old_pence(int(match["pence"] or 0), match["part"] or "", is_describing=True)
        return f"{match.figure(match[f'{units[0]}s'])}-{units[0]}"
    amounts = [match.amount(int(match[f"{unit}s"].replace(",", "")), unit) for unit in units]
    if has_pence:
        amounts.append(_old_pence(int(match["pence"] or 0), match["part"] or ""))
    return amounts[0] if len(amounts) == 1 else f"{', '.join(amounts[:-1])} and {amounts[-1]}"


_CASH_CONTEXT = re.compile(
    r"£|\d\s?[dl]\.|\d/-|\b(?:shillings?|pence|pounds?|paid|pay|cost|price|sold)\b"
)


def shillings(match: EnglishMatch) -> str | None:
    """Speak 6s. as shillings, but not those in "He ran it in 10s.", which are seconds."""
    if SECONDS.search(match.before[-40:]) and not _CASH_CONTEXT.search(
        match.before[-80:] + match.after[:80]
    ):
        return match.amount(int(match["shillings"]), "second")
    return old_money(match)


def shillings_and_pence(match: EnglishMatch) -> str | None:
    """Speak 7/6 as a price; None for a fraction in its lowest terms, and for what is no price."""
    first, second = int(match["shillings"]), int(match["pence"])
    is_fraction = first < second and math.gcd(first, second) == 1
    is_price = bool(_PRICED.search(match.before[-20:]) or _A_PIECE.match(match.after))
    if re.search(r"\bat $", match.before):  # at 11/4: odds
        is_price = second in (3, 6, 9, 11)
    elif match.british and match[0] in ("2/6", "7/6", "10/6", "12/6", "17/6"):  # half a crown
        is_date = re.search(r"\b(?:[Oo]n|[Bb]y|[Dd]ated) $", match.before)
        is_price = is_price or not (is_date or re.match(r" (?:of|time|beat)\b", match.after))
    return old_money(match) if is_price and not is_fraction and second < 12 else None


_PRICED = re.compile(r"\b(?:costs?|paid|price|priced at|worth|sold for) $")
_A_PIECE = re.compile(r" (?:each|net|apiece|a (?:dozen|head|pound|yard|copy|bottle)|per)\b")


# Other numbers -----------------------------------------------------------------------------------


def before_number(match: EnglishMatch) -> str | None:
    """Speak abbreviations before numbers: No. 5, pp. 3, vol. ii."""
    word = match[1].lower()
    is_unknown = "." not in match[0] and word not in DOTLESS
    is_roman = not match.after[0].isdecimal()
    # "V. 5", "B. 1920": initials
    if is_unknown or (is_roman and word not in PAGED) or match[1].isupper():
        return None
    spoken = BEFORE_NUMBER[word]
    return f"{spoken.capitalize() if match[1][0].isupper() else spoken} "


def american_ordinal(match: EnglishMatch) -> str | None:
    """Speak the 103d Congress."""
    return None if match.british else match.ordinal(match[1])


def caption(match: EnglishMatch) -> str:
    """Speak Table 3-2 as "three dash two", since "three two" sounds like thirty-two; but "Tables
    3-5" is a range."""
    first, *other_numbers = re.findall(r"\d+", match["numbers"])
    if match["many"] and len(other_numbers) == 1 and int(other_numbers[0]) > int(first):
        last = match.cardinal(other_numbers[0])
        return f"{match['name']} {match.cardinal(first)} to {last}"
    spoken_numbers = re.sub(r"\d+", lambda part: match.cardinal(part[0]), match["numbers"])
    return f"{match['name']} {re.sub(r'(?<=[a-z])[-–](?=[a-z])', ' dash ', spoken_numbers)}"


_RESULT = re.compile(
    r"\b(?:by|won|lost|beat|votes?|voted|passed|defeated|score|scored|result|poll|tally)"
    r"(?: (?:was|is|of|by|stood at|them|him|her))? $"
)


def shares(match: EnglishMatch) -> str | None:
    """Speak two shares of a hundred: 50-50, 60-40; 40-60 is a range, 52-48 a result."""
    first, second = int(match[1]), int(match[2])
    if (
        first + second != 100
        or first < second
        or first % 5
        or (first != 50 and _RESULT.search(match.before[-40:]))
        or re.match(r"\s?%|\s(?:votes?|victory|win|to|pages)\b", match.after)
    ):
        return None
    return f"{match.cardinal(first)}-{match.cardinal(second)}"


_MEASURE_BEFORE = re.compile(
    rf"(?:[\d%°'′\"″{VULGAR}]|\d(?:st|nd|rd|th)|\d0'?s|\d\s?(?:{alternatives(UNITS)})\.?"
    r"|\d\s?[ap]\.?m\.?|\d\s?[AP]\.?M\.?|\d\s?°\s?[CFK]|\b(?:BC|BCE|AD|CE|[Nn]oon|[Mm]idnight)"
    rf"|C\.|D\.|\d[kKmMbB]n?|\b(?:{'|'.join(MONTHS)}|{alternatives(MONTH_SHORT)})\.?)$"
)


def range_word(match: EnglishMatch) -> str | None:
    """Speak a dash between two figures as "to", if a measure precedes it."""
    return " to " if _MEASURE_BEFORE.search(match.before[-30:]) else None


def groups(match: EnglishMatch) -> str | None:
    """Speak groups of digits: 1-2-3, 978-0-14-103614-4."""
    parts = match[0].split("-")
    if max(map(len, parts)) > 2:
        return ", ".join(numbers.digits(part, "oh") for part in parts)
    return " ".join(numbers.label(part) for part in parts)


def version(match: EnglishMatch) -> str:
    parts = match[0].split(".")
    return (" dot " if len(parts) == 4 else " point ").join(match.cardinal(part) for part in parts)


def code(match: EnglishMatch) -> str:
    """Speak letters and digits in one word: A1, M25, 3D, H2O, 221B."""
    if plural := _PLURAL_CODE.fullmatch(match[0]):  # A380s
        return f"{'-'.join(plural[1])}-{numbers.plural(numbers.label(plural[2]))}"
    parts = re.findall(r"\d+|[A-Za-z]+", match[0])
    return "-".join(
        numbers.label(part) if part.isdecimal() else part.upper() if len(part) == 1 else part
        for part in parts
    )


_PLURAL_CODE = re.compile(r"([A-Z]+)(\d+)s")
_SUITE = re.compile(
    r"(?:^|[,;:(\n]\s?|\b(?:in|into|to|at|of|from|outside"
    rf"|{alternatives({*STREETS, *STREETS.values()})})\.?\s)"
    r"(?:[Ss]uite|Ste\.?) $"
)


def label(match: EnglishMatch) -> str | None:
    """Speak a number as a label: Room 101; Suite 210 in an address, but not a Cello Suite."""
    preceding = match.before
    if re.search(r"\b(?:[Ss]uite|Ste\.?) $", preceding[-8:]) and not _SUITE.search(preceding[-40:]):
        return None
    return numbers.label(match[0])


def millions(match: EnglishMatch) -> str:
    return f"{match.figure(match[1])} {'million' if match[2] == 'M' else 'billion'}"


def jet(match: EnglishMatch) -> str:
    """Speak aircraft types: 747-400, 747s."""
    number_words = " ".join(numbers.label(part) for part in re.findall(r"\d+", match[0]))
    return numbers.plural(number_words) if match[0].endswith("s") else number_words


def plain_number(match: EnglishMatch) -> str:
    """Speak a number; digit by digit if it begins with 0 or is long and not round."""
    text = match[0]
    if text == "007":
        return "double oh seven"
    if text.isdecimal() and len(text) > 1 and text[0] == "0":
        return numbers.digits(text, "oh")
    if text.isdecimal() and len(text) > 6 and not text.endswith("000"):
        return numbers.digits(text)
    return match.figure(text)


def navigation(match: EnglishMatch) -> str:
    """Speak runway 27L, heading 090."""
    return f"{numbers.digits(match[1])} {_RUNWAYS[match[2]]}".rstrip()


_RUNWAYS = {"": "", "L": "left", "R": "right", "C": "centre"}


def times(match: EnglishMatch) -> str:
    return f"{match.figure(match[1])} times"
