"""Money, measures and all other numbers of English."""

from __future__ import annotations

import re
from typing import NamedTuple

from narrator.text.normalize import numbers
from narrator.text.normalize.english_calendar import YEAR
from narrator.text.normalize.english_lists import BEFORE_NUMBER, DOTLESS, FUNCTION, PAGED, UNITS
from narrator.text.normalize.english_parts import DOT, DOT_OR_END, FREE, INT, NUM
from narrator.text.normalize.rules import (
    Match,
    Rule,
    Setting,
    after,
    always,
    before,
    behind,
    either,
)


def _count(number: int, how: Setting) -> str:
    return numbers.cardinal(number, british=how.british)


def _number(text: str, how: Setting) -> str:
    return numbers.decimal(text, british=how.british)


_ARTICLE = re.compile(
    r"\b(?:an?|another|every|each|one|that|this|the|his|her|my)\s$", re.IGNORECASE
)
_NOUN = re.compile(r"\s([a-z]{3,})")
_CASH = re.compile(r"\s(?:bill|note|coin|piece|stamp)s?\b")


def _describes(match: Match) -> bool:
    """Whether the amount describes a noun: "a $5 bill", "a 6 ft man"."""
    noun = _NOUN.match(after(match))
    if noun is None or noun[1] in FUNCTION:
        return False
    return bool(_CASH.match(after(match)) or _ARTICLE.search(before(match)))


# Telephones --------------------------------------------------------------------------------------


def _phone(match: Match, how: Setting) -> str | None:
    text = match[0]
    groups = re.findall(r"\d+", text)
    if sum(map(len, groups)) < 7 or ("-" not in text and text[0] not in "+0("):
        return None
    if len(groups) == 2 and all(re.fullmatch(YEAR, group) for group in groups):
        return None
    said = ", ".join(numbers.digits(group, "oh") for group in groups)
    return f"plus {said}" if text[0] == "+" else said


TELEPHONES = (
    Rule(
        "number",
        re.compile(rf"{FREE}[1-9]\d{{0,2}}(?: \d{{3}}){{2,}}(?![\w-]|[ .,]\d)"),
        lambda match, how: _number(match[0].replace(" ", ""), how),
    ),
    Rule("telephone", re.compile(r"(?<!\w)\+\d{1,3}(?:[ -]?\(?\d{1,5}\)?){2,5}(?!\w)"), _phone),
    Rule(
        "telephone",
        re.compile(
            r"(?<![\w.])(?:1-)?(?:\(\d{2,5}\)[ -]?|0\d{2,4}[ -])?"
            r"\d{3,4}(?:[ -]\d{3,4}){1,3}(?![\w-]|[.,]\d)"
        ),
        _phone,
    ),
    Rule(
        "telephone",
        re.compile(
            behind(r"\b[Cc]all ", r"\b[Dd]ial ", r"\b[Rr]ing ", r"\brang ", "alled ", "[Dd]ialed ")
            + r"\d{3}(?![\w,-]|\.\d)"
        ),
        lambda match, how: numbers.digits(match[0]),
    ),
)


# Money -------------------------------------------------------------------------------------------


class _Currency(NamedTuple):
    one: str
    many: str
    cent: str
    cents: str


_CURRENCIES = {
    "$": _Currency("dollar", "dollars", "cent", "cents"),
    "£": _Currency("pound", "pounds", "penny", "pence"),
    "€": _Currency("euro", "euros", "cent", "cents"),
    "¥": _Currency("yen", "yen", "sen", "sen"),
    "₹": _Currency("rupee", "rupees", "paisa", "paise"),
    "₽": _Currency("rouble", "roubles", "kopeck", "kopecks"),
    "₩": _Currency("won", "won", "jeon", "jeon"),
    "₪": _Currency("shekel", "shekels", "agora", "agorot"),
}
_SIGN = f"[{''.join(_CURRENCIES)}]"
_COUNTRIES = {
    "US": "US",
    "A": "Australian",
    "AU": "Australian",
    "C": "Canadian",
    "CA": "Canadian",
    "NZ": "New Zealand",
    "HK": "Hong Kong",
    "S": "Singapore",
}
_SCALES = {
    "k": "thousand",
    "K": "thousand",
    "m": "million",
    "M": "million",
    "mn": "million",
    "b": "billion",
    "B": "billion",
    "bn": "billion",
    "tn": "trillion",
}


def _money(match: Match, how: Setting) -> str:
    part = match.groupdict()
    currency = _CURRENCIES[part["sign"]]
    if country := part.get("country"):
        name = _COUNTRIES[country]
        currency = currency._replace(one=f"{name} {currency.one}", many=f"{name} {currency.many}")
    amount, upto = part["amount"].replace(",", ""), part.get("upto")
    scale = part.get("scale") or _SCALES.get(part.get("short") or "")
    whole, _, fraction = amount.partition(".")
    if not (scale or upto or len(fraction) not in (0, 2)):
        in_pounds = how.british and part["sign"] == "£"
        return _exactly(match, how, currency, int(whole or 0), int(fraction or 0), in_pounds)
    words = [_number(amount, how)]
    if upto:
        words += ["to", _number(upto, how)]
    if scale:
        words.append(scale)
    return " ".join((*words, currency.one if _describes(match) else currency.many))


def _exactly(
    match: Match, how: Setting, currency: _Currency, main: int, small: int, in_pounds: bool
) -> str:
    """A sum to the penny: "four pounds fifty", "one dollar and five cents", "a ten-dollar"."""
    coins = f"{_count(small, how)} {currency.cent if small == 1 else currency.cents}"
    if small and not main:
        return coins
    if _describes(match):
        return f"{_count(main, how)}-{currency.one}{f' {_count(small, how)}' if small else ''}"
    said = f"{_count(main, how)} {currency.one if main == 1 else currency.many}"
    if not small:
        return said
    return f"{said} {_count(small, how)}" if in_pounds and small > 9 else f"{said} and {coins}"


def _coins(match: Match, how: Setting) -> str:
    number = int(match[1])
    one, many = ("penny", "pence") if match[2] == "p" else ("cent", "cents")
    return f"{_count(number, how)} {one if number == 1 else many}"


def _old_pence(number: int, fraction: str) -> str:
    """sixpence, eightpence halfpenny, three farthings"""
    small = {"": "", "½": "halfpenny", "¼": "farthing", "¾": "three farthings"}[fraction]
    if not number:
        return small if fraction == "¾" else f"a {small}"
    if number == 1:
        return {"": "one penny", "½": "three halfpence"}.get(fraction, f"a penny {small}")
    name = {2: "two", 3: "three"}.get(number) or numbers.cardinal(number, british=True)
    return f"{name}{'' if number < 12 else ' '}pence {small}".strip()


def _old_money(match: Match, how: Setting) -> str:
    """Pounds, shillings and pence."""
    part = match.groupdict()
    said = []
    for unit in ("pound", "shilling"):
        if part.get(f"{unit}s"):
            number = int(part[f"{unit}s"].replace(",", ""))
            said.append(f"{_count(number, how)} {unit}{'s' * (number != 1)}")
    if part.get("pence") or part.get("part"):
        said.append(_old_pence(int(part["pence"] or 0), part["part"] or ""))
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"


_POUNDS = rf"£\s?(?P<pounds>{INT})[.,]?\s?"
_SHILLINGS = r"\b(?P<shillings>\d{1,3})"
_PENCE = r"(?=[\d½¼¾])(?P<pence>\d{0,2})(?P<part>[½¼¾]?)d"

MONEY = (
    Rule(
        "old money",
        re.compile(rf"(?:{_POUNDS})?{_SHILLINGS}s\b\.?,?\s?(?:and )?{_PENCE}\b{DOT}"),
        _old_money,
    ),
    Rule("old money", re.compile(rf"{_POUNDS}{_SHILLINGS}s\b{DOT}"), _old_money),
    Rule(
        "old money",
        re.compile(r"£(?P<pounds>\d+)-(?P<shillings>\d{1,2})-(?P<pence>\d{1,2})(?P<part>[½¼¾]?)"),
        _old_money,
    ),
    Rule("old money", re.compile(rf"{FREE}(?P<pounds>{INT})l\.(?=,| [a-z\d])"), _old_money),
    Rule("old money", re.compile(rf"(?<![\w.,]){_SHILLINGS}/-(?!\w)"), _old_money),
    Rule("old money", re.compile(rf"(?<![\w.,]){_SHILLINGS}/{_PENCE}\b{DOT}"), _old_money),
    Rule("old money", re.compile(rf"(?<![\w.,]){_PENCE}{DOT_OR_END}"), _old_money),
    Rule(
        "money",
        re.compile(
            rf"(?:\b(?P<country>US|AU?|CA?|NZ|HK|S))?(?P<sign>{_SIGN})\s?(?P<amount>{NUM})"
            rf"(?:\s?[-–]\s?{_SIGN}?(?P<upto>{NUM}))?"
            r"(?:[\s-]?(?P<scale>hundred|thousand|million|billion|trillion)\b"
            rf"|(?P<short>{either(_SCALES)})\b)?"
        ),
        _money,
    ),
    Rule("money", re.compile(rf"{FREE}(?P<amount>{NUM})\s?(?P<sign>{_SIGN})(?!\d)"), _money),
    Rule("money", re.compile(rf"{FREE}(\d{{1,2}})(\s?¢|[pc]\b(?!\.?m))"), _coins),
)


# Measures ----------------------------------------------------------------------------------------

_FRACTIONS = {
    char: (int(top), int(bottom))
    for char, top, bottom in re.findall(
        r"(.)(\d)/(\d+)",
        "½1/2 ⅓1/3 ⅔2/3 ¼1/4 ¾3/4 ⅕1/5 ⅖2/5 ⅗3/5 ⅘4/5 ⅙1/6 ⅚5/6 ⅐1/7 ⅛1/8 ⅜3/8 ⅝5/8 ⅞7/8",
    )
}
VULGAR = "".join(_FRACTIONS)
"""Characters that are fractions."""

_FRACTION = rf"(?:\d+[ -]?)?[{VULGAR}]|(?:\d+[ -])?[1-9]\d?/[1-9]\d{{0,2}}(?![\d/])"
_NOT_FRACTIONS = {"24/7": "twenty-four seven", "9/11": "nine eleven", "50/50": "fifty-fifty"}


def _split(text: str, how: Setting) -> tuple[str, str] | None:
    """The whole number ("" for none) and the parts of a written fraction; None if it is none."""
    if text[-1] in _FRACTIONS:
        whole, (top, bottom) = text[:-1].strip(" -"), _FRACTIONS[text[-1]]
    else:
        *head, over, under = re.findall(r"\d+", text)
        whole, top, bottom = "".join(head), int(over), int(under)
        if top >= bottom:
            return None
    name = {2: "half", 4: "quarter"}.get(bottom) or numbers.ordinal(bottom, british=True)
    if top == 1:
        parts = f"{'an' if name[0] == 'e' else 'a'} {name}"
    else:
        parts = f"{numbers.cardinal(top, british=True)} {name}s"
    return _count(int(whole), how) if whole else "", parts


def _quantity(text: str, how: Setting) -> str | None:
    if text[-1] not in _FRACTIONS and "/" not in text:
        return _number(text, how)
    parts = _split(text, how)
    return parts and " and ".join(filter(None, parts))


def _fraction(match: Match, how: Setting) -> str | None:
    if match[0] in _NOT_FRACTIONS:
        return _NOT_FRACTIONS[match[0]]
    said = _quantity(match[0], how)
    if said != "a half":
        return said
    if re.match(r"\san?\b|-", after(match)) or re.search(r"\b(?:an?|the)\s$", before(match)):
        return "half"
    noun = _NOUN.match(after(match))
    return f"half {_article(noun[1])}" if noun and noun[1] not in FUNCTION else said


def _article(noun: str) -> str:
    return "an" if noun[0] in "aeio" or noun.startswith(("hour", "un", "up")) else "a"


def _is_measure(match: Match, how: Setting) -> bool:
    """Whether what follows a number is a unit, and no word, plural or ordinal."""
    text, gap, name = match["number"], match["gap"], match["unit"]
    if name == "s":
        return not gap
    if name in ("in", "h", "W", "V", "pt") and gap and not match[0].endswith("."):
        return False
    return name != "st" or (gap == " " and text.isdecimal() and how.british)


def _unit(match: Match, how: Setting) -> str | None:
    if not _is_measure(match, how):
        return None
    text, gap, name = match["number"], match["gap"], match["unit"]
    if name == "s" and text.isdecimal() and (len(text) == 1 or int(text) % 10 == 0):
        return numbers.plural(_number(text, how))  # "fours", "tens"
    said = _quantity(text, how)
    if said is None:
        return None
    one, many = UNITS[name]
    if not how.british:
        one, many = (re.sub(r"(lit|met)re", r"\1er", word) for word in (one, many))
    if said == "a half":
        return f"half {_article(one)} {one}"
    if re.match(r"an? |\w+ (?:half|third|quarter|\w+th)s$", said):
        return f"{said} of {_article(one)} {one}"
    single = text == "1" or gap == "-" or _describes(match)
    return f"{said}{'-' if gap == '-' else ' '}{one if single else many}"


def _height(match: Match, how: Setting) -> str:
    return f"{_count(int(match[1]), how)} foot {_count(int(match[2]), how)}"


def _feet(match: Match, how: Setting) -> str:
    one, many = ("foot", "feet") if match[2] in "'′" else ("inch", "inches")
    return f"{_number(match[1], how)} {one if match[1] == '1' or _describes(match) else many}"


def _arc(match: Match, how: Setting) -> str:
    words = [_number(match[1], how), "degrees", _number(match[2], how), "minutes"]
    if match[3]:
        words += [_number(match[3], how), "seconds"]
    if match[4]:
        words.append({"N": "north", "S": "south", "E": "east", "W": "west"}[match[4]])
    return " ".join(words)


def _temperature(match: Match, how: Setting) -> str:
    scale = {"C": "Celsius", "F": "Fahrenheit", "K": "kelvin"}[match[2]]
    return f"{_number(match[1], how)} degree{'s' * (match[1] != '1')} {scale}"


_UNIT = rf"(?P<gap>\s|-|)(?P<unit>{either(UNITS)})(?![\w²³]|[/.]\w)"

_UNIT_DOT = r"(?:\.(?![\"')\]]*(?:\s*$|\s+[\"'(\[]*[A-Z])))?"  # "6 ft. 2 in."

MEASURES = (
    Rule(
        "arc",
        re.compile(rf"{FREE}(\d+)°\s?(\d+)['′](?:\s?(\d+)[\"″])?(?:\s?([NSEW])\b)?"),
        _arc,
    ),
    Rule("height", re.compile(rf"{FREE}(\d{{1,2}})['′]\s?(\d{{1,2}})(?:\"|″|''|′′)?"), _height),
    Rule(
        "height",
        re.compile(
            rf"{FREE}(\d{{1,2}}) ?(?:ft|feet|foot)\b\.?,? ?(\d{{1,2}}) ?(?:ins?|inches)\b"
            + _UNIT_DOT
        ),
        _height,
    ),
    Rule("feet", re.compile(rf"{FREE}({NUM})(['′″])(?![\w'])"), _feet),
    Rule("temperature", re.compile(rf"{FREE}({NUM})\s?°\s?([CFK])\b"), _temperature),
    Rule("degrees", re.compile(r"(?<![\w.])1°(?!\w)"), always("one degree")),
    Rule("old money", re.compile(rf"(?<![\w.,])(?<!\d ){_SHILLINGS}s{DOT_OR_END}"), _old_money),
    Rule("unit", re.compile(rf"{FREE}(?P<number>{_FRACTION}|{NUM}){_UNIT}{_UNIT_DOT}"), _unit),
    Rule("fraction", re.compile(rf"{FREE}(?:{_FRACTION})"), _fraction),
    Rule("fraction", re.compile(rf"[{VULGAR}]"), _fraction),
)


# Other numbers -----------------------------------------------------------------------------------


def _before_number(match: Match, how: Setting) -> str | None:
    """No. 5, pp. 3, vol. ii"""
    word = match[1].lower()
    dotted = "." in match[0]
    if not dotted and word not in DOTLESS:
        return None
    if not after(match)[0].isdecimal() and word not in PAGED:
        return None
    if match[1].isupper():
        return None  # "V. 5", "B. 1920": initials
    said = BEFORE_NUMBER[word]
    return f"{said.capitalize() if match[1][0].isupper() else said} "


def _groups(match: Match, how: Setting) -> str | None:
    """1-2-3, 978-0-14-103614-4"""
    parts = match[0].split("-")
    if max(map(len, parts)) > 2:
        return ", ".join(numbers.digits(part, "oh") for part in parts)
    return " ".join(numbers.label(part) for part in parts)


def _version(match: Match, how: Setting) -> str:
    parts = match[0].split(".")
    return (" dot " if len(parts) == 4 else " point ").join(
        _count(int(part), how) for part in parts
    )


def _code(match: Match, how: Setting) -> str:
    """Letters and digits in one word: A1, M25, 3D, H2O, 221B."""
    parts = re.findall(r"\d+|[A-Za-z]+", match[0])
    return "-".join(
        numbers.label(part) if part.isdecimal() else part.upper() if len(part) == 1 else part
        for part in parts
    )


def _plain_number(match: Match, how: Setting) -> str:
    text = match[0]
    if text == "007":
        return "double oh seven"
    if text.isdecimal() and len(text) > 1 and text[0] == "0":
        return numbers.digits(text, "oh")
    if text.isdecimal() and len(text) > 6 and not text.endswith("000"):
        return numbers.digits(text)
    return _number(text, how)


_PAGE_ROMAN = r"(?:[ivxlc]+\b|[VX]\b|[IVXLC]{2,}\b|I(?=[.,;:)\]]|\s*$))"
_NUMBERED = either([*BEFORE_NUMBER, *(word.capitalize() for word in BEFORE_NUMBER)])

NUMBERS = (
    Rule(
        "before number",
        re.compile(rf"(?<![\w.])({_NUMBERED})(?:(?:\.\s?|\s)(?=\d)|\.\s(?={_PAGE_ROMAN}))"),
        _before_number,
    ),
    Rule("number sign", re.compile(r"(?<!\w)[#№]\s?(?=\d)"), always("number ")),
    Rule("section sign", re.compile(r"§§\s?(?=\d)"), always("sections ")),
    Rule("version", re.compile(r"\b[vV]\.?(?=\d)"), always("version ")),
    Rule("number", re.compile(r"(?<=\b[a-z]{2} )No (?=\d)"), always("number ")),
    Rule("note mark", re.compile(r"\[\d{1,3}\]"), always("")),
    Rule("groups", re.compile(rf"{FREE}\d+(?:-\d+){{2,}}(?!\w)"), _groups),
    Rule("version", re.compile(rf"{FREE}\d+(?:\.\d+){{2,}}(?!\w)"), _version),
    Rule(
        "version",
        re.compile(behind("[Vv]ersion ", "Python ", r"\b[vV]") + r"\d+\.\d+(?!\w)"),
        _version,
    ),
    Rule("century", re.compile(r"(?<=\d(?:st|nd|rd|th) )[cC]\.?(?= )"), always("century")),
    Rule(
        "ordinal",
        re.compile(rf"{FREE}({INT})(?:st|nd|rd|th|ST|ND|RD|TH)\b"),
        lambda match, how: numbers.ordinal(int(match[1].replace(",", "")), british=how.british),
    ),
    Rule(
        "label",
        re.compile(
            behind(r"\b[Rr]oom ", "[Ff]light ", "Boeing ", r"\bRoute ", "Highway ")
            + r"\d{3}(?!\w|[,.]\d)"
        ),
        lambda match, how: numbers.label(match[0]),
    ),
    Rule("times", re.compile(rf"(?<=[\d{VULGAR}])\s?[x×]\s?(?=\d)"), always(" by ")),
    Rule(
        "times",
        re.compile(rf"{FREE}({NUM})[x×](?!\w)"),
        lambda match, how: f"{_number(match[1], how)} times",
    ),
    Rule("code", re.compile(r"(?<!\w)(?=\d*[A-Za-z])(?=[A-Za-z]*\d)[A-Za-z\d]+(?!\w)"), _code),
    Rule("minus", re.compile(rf"(?<![\w)\].,%])[-−](?={_SIGN}?{NUM})"), always("minus ")),
    Rule("minus", re.compile(r"(?<=\d) [-–] (?=\d+ ?=)"), always(" minus ")),
    Rule("number", re.compile(rf"{FREE}{NUM}"), _plain_number),
    Rule("number", re.compile(r"\d+"), _plain_number),
    # What is left between numbers:
    Rule(
        "range",
        re.compile(
            rf"(?<=[\d%])\s?[-–]\s?(?=[$£€']?\d)|(?<=\d):(?=\d)"
            rf"|{behind('BC', 'AD', 'CE', 'C[.]', 'D[.]')}\s?[-–]\s?(?=AD|\d)"
        ),
        always(" to "),
    ),
    Rule("over", re.compile(r"(?<=\d)/(?=\d)"), always(" over ")),
    Rule("point", re.compile(r"(?<=\d)\.(?=\d)"), always(" point ")),
    Rule("list", re.compile(r"(?<=\d),(?=\d)"), always(", ")),
)
