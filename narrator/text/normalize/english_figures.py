"""Money, measures and all other numbers of English."""

from __future__ import annotations

import re
from typing import NamedTuple

from narrator.text.normalize import numbers
from narrator.text.normalize.english_lists import (
    BEFORE_NUMBER,
    DOTLESS,
    MONTH_SHORT,
    MONTHS,
    PAGED,
    STREETS,
    UNITS,
)
from narrator.text.normalize.english_measures import SECONDS, VULGAR
from narrator.text.normalize.english_parts import (
    DOT,
    DOT_OR_END,
    FREE,
    INT,
    NUM,
    TO,
    describes,
    figure,
    in_words,
)
from narrator.text.normalize.rules import (
    Match,
    Rule,
    Setting,
    alternatives,
    preceded_by,
    say_always,
    text_after,
    text_before,
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


def _money(match: Match, setting: Setting) -> str:
    """Speak an amount of money or a range, with country and scale: US$5 million."""
    groups = match.groupdict()
    currency = _CURRENCIES[groups["sign"]]
    if country := groups.get("country"):
        name = _COUNTRIES[country]
        currency = currency._replace(one=f"{name} {currency.one}", many=f"{name} {currency.many}")
    amount, upper_amount = groups["amount"].replace(",", ""), groups.get("upto")
    scale = groups.get("scale") or _SCALES.get(groups.get("short") or "")
    fraction = amount.partition(".")[2]
    if not (scale or upper_amount or len(fraction) not in (0, 2)):
        return _sum_words(amount, match, setting, currency)
    if upper_amount and not scale and "." in f"{amount}{upper_amount}":
        sums = [
            _sum_words(text, match, setting, currency)
            for text in (amount, upper_amount.replace(",", ""))
        ]
        return " to ".join(sums)
    words = [figure(amount, setting)]
    if upper_amount:
        words += ["to", figure(upper_amount, setting)]
    if scale:
        words.append(scale)
    return " ".join((*words, currency.one if describes(match) else currency.many))


def _sum_words(text: str, match: Match, setting: Setting, currency: _Currency) -> str:
    """Speak one end of a range: "five dollars and fifty cents"."""
    integer, _, fraction = text.partition(".")
    if len(fraction) not in (0, 2):
        return f"{figure(text, setting)} {currency.many}"
    in_pounds = setting.british and match["sign"] == "£"
    return _exact_sum(match, setting, currency, int(integer or 0), int(fraction or 0), in_pounds)


def _exact_sum(
    match: Match,
    setting: Setting,
    currency: _Currency,
    main_amount: int,
    small_amount: int,
    in_pounds: bool,
) -> str:
    """Speak a sum to the penny: "four pounds fifty", "one dollar and five cents", a "ten-dollar"
    bill."""
    small_words = in_words(small_amount, setting)
    small_coins = f"{small_words} {currency.cent if small_amount == 1 else currency.cents}"
    if small_amount and not main_amount:
        return small_coins
    if describes(match):
        price = f"{in_words(main_amount, setting)}-{currency.one}"
        return f"{price} {small_words}" if small_amount else price
    main_words = (
        f"{in_words(main_amount, setting)} {currency.one if main_amount == 1 else currency.many}"
    )
    if not small_amount:
        return main_words
    return (
        f"{main_words} {in_words(small_amount, setting)}"
        if in_pounds and small_amount > 9
        else f"{main_words} and {small_coins}"
    )


def _coins(match: Match, setting: Setting) -> str:
    number = int(match[1])
    singular, plural = ("penny", "pence") if match[2] == "p" else ("cent", "cents")
    return f"{in_words(number, setting)} {singular if number == 1 else plural}"


def _old_pence(number: int, fraction: str) -> str:
    """Return sixpence, eightpence halfpenny, three farthings."""
    fraction_words = {"": "", "½": "halfpenny", "¼": "farthing", "¾": "three farthings"}[fraction]
    if not number:
        return fraction_words if fraction == "¾" else f"a {fraction_words}"
    if number == 1:
        return {"": "one penny", "½": "three halfpence"}.get(fraction, f"a penny {fraction_words}")
    name = {2: "two", 3: "three"}.get(number) or numbers.cardinal(number, british=True)
    return f"{name}{'' if number < 12 else ' '}pence {fraction_words}".strip()


def _old_money(match: Match, setting: Setting) -> str:
    """Speak pounds, shillings and pence."""
    groups = match.groupdict()
    amounts = []
    for unit in ("pound", "shilling"):
        if groups.get(f"{unit}s"):
            number = int(groups[f"{unit}s"].replace(",", ""))
            amounts.append(f"{in_words(number, setting)} {unit}{'s' * (number != 1)}")
    if groups.get("pence") or groups.get("part"):
        amounts.append(_old_pence(int(groups["pence"] or 0), groups["part"] or ""))
    return amounts[0] if len(amounts) == 1 else f"{', '.join(amounts[:-1])} and {amounts[-1]}"


_POUNDS = rf"£\s?(?P<pounds>{INT})[.,]?\s?"
_SHILLINGS = r"\b(?P<shillings>\d{1,3})"
_PENCE = r"(?=[\d½¼¾])(?P<pence>\d{0,2})(?P<part>[½¼¾]?)d"

_CASH_CONTEXT = re.compile(
    r"£|\d\s?[dl]\.|\d/-|\b(?:shillings?|pence|pounds?|paid|pay|cost|price|sold)\b"
)


def _shillings(match: Match, setting: Setting) -> str | None:
    """Speak 6s. as shillings, but not those in "He ran it in 10s.", which are seconds."""
    if SECONDS.search(text_before(match)[-40:]) and not _CASH_CONTEXT.search(
        text_before(match)[-80:] + text_after(match)[:80]
    ):
        number = int(match["shillings"])
        return f"{in_words(number, setting)} second{'s' * (number != 1)}"
    return _old_money(match, setting)


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
            rf"(?:{TO}{_SIGN}?(?P<upto>{NUM}))?"
            r"(?:[\s-]?(?P<scale>hundred|thousand|million|billion|trillion)\b"
            rf"|(?P<short>{alternatives(_SCALES)})\b)?"
        ),
        _money,
    ),
    Rule("money", re.compile(rf"{FREE}(?P<amount>{NUM})\s?(?P<sign>{_SIGN})(?!\d)"), _money),
    Rule("money", re.compile(rf"{FREE}(\d{{1,2}})(\s?¢|[pc]\b(?!\.?m))"), _coins),
)
SHILLINGS = (
    Rule("old money", re.compile(rf"(?<![\w.,])(?<!\d ){_SHILLINGS}s{DOT_OR_END}"), _shillings),
)
"""Applied after decades, which are written alike."""


# Other numbers -----------------------------------------------------------------------------------


def _before_number(match: Match, setting: Setting) -> str | None:
    """Speak abbreviations before numbers: No. 5, pp. 3, vol. ii."""
    word = match[1].lower()
    has_dot = "." in match[0]
    if not has_dot and word not in DOTLESS:
        return None
    if not text_after(match)[0].isdecimal() and word not in PAGED:
        return None
    if match[1].isupper():
        return None  # "V. 5", "B. 1920": initials
    word_spoken = BEFORE_NUMBER[word]
    return f"{word_spoken.capitalize() if match[1][0].isupper() else word_spoken} "


def _caption(match: Match, setting: Setting) -> str:
    """Speak Table 3-2 as "three dash two", since "three two" sounds like thirty-two; but "Tables
    3-5" is a range."""
    first, *other_numbers = re.findall(r"\d+", match["numbers"])
    if match["many"] and len(other_numbers) == 1 and int(other_numbers[0]) > int(first):
        last = in_words(int(other_numbers[0]), setting)
        return f"{match['name']} {in_words(int(first), setting)} to {last}"
    spoken_numbers = re.sub(r"\d+", lambda part: in_words(int(part[0]), setting), match["numbers"])
    return f"{match['name']} {re.sub(r'(?<=[a-z])[-–](?=[a-z])', ' dash ', spoken_numbers)}"


_RESULT = re.compile(
    r"\b(?:by|won|lost|beat|votes?|voted|passed|defeated|score|scored|result|poll|tally)"
    r"(?: (?:was|is|of|by|stood at|them|him|her))? $"
)


def _shares(match: Match, setting: Setting) -> str | None:
    """Speak two shares of a hundred: 50-50, 60-40; 40-60 is a range, 52-48 a result."""
    first, second = int(match[1]), int(match[2])
    if first + second != 100 or first < second or first % 5:
        return None
    if first != 50 and _RESULT.search(text_before(match)[-40:]):
        return None
    if re.match(r"\s?%|\s(?:votes?|victory|win|to|pages)\b", text_after(match)):
        return None
    return f"{in_words(first, setting)}-{in_words(second, setting)}"


_MEASURE_BEFORE = re.compile(
    rf"(?:[\d%°'′\"″{VULGAR}]|\d(?:st|nd|rd|th)|\d0'?s|\d\s?(?:{alternatives(UNITS)})\.?"
    r"|\d\s?[ap]\.?m\.?|\d\s?[AP]\.?M\.?|\d\s?°\s?[CFK]|\b(?:BC|BCE|AD|CE|[Nn]oon|[Mm]idnight)"
    rf"|C\.|D\.|\d[kKmMbB]n?|\b(?:{'|'.join(MONTHS)}|{alternatives(MONTH_SHORT)})\.?)$"
)


def _range_word(match: Match, setting: Setting) -> str | None:
    """Speak a dash between two figures as "to", if a measure precedes it."""
    return " to " if _MEASURE_BEFORE.search(text_before(match)[-30:]) else None


def _groups(match: Match, setting: Setting) -> str | None:
    """Speak groups of digits: 1-2-3, 978-0-14-103614-4."""
    parts = match[0].split("-")
    if max(map(len, parts)) > 2:
        return ", ".join(numbers.digits(part, "oh") for part in parts)
    return " ".join(numbers.label(part) for part in parts)


def _version(match: Match, setting: Setting) -> str:
    parts = match[0].split(".")
    return (" dot " if len(parts) == 4 else " point ").join(
        in_words(int(part), setting) for part in parts
    )


def _code(match: Match, setting: Setting) -> str:
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


def _label(match: Match, setting: Setting) -> str | None:
    """Speak a number as a label: Room 101; Suite 210 in an address, but not a Cello Suite."""
    preceding = text_before(match)
    if re.search(r"\b(?:[Ss]uite|Ste\.?) $", preceding[-8:]) and not _SUITE.search(preceding[-40:]):
        return None
    return numbers.label(match[0])


def _jet(match: Match, setting: Setting) -> str:
    """Speak aircraft types: 747-400, 747s."""
    number_words = " ".join(numbers.label(part) for part in re.findall(r"\d+", match[0]))
    return numbers.plural(number_words) if match[0].endswith("s") else number_words


def _plain_number(match: Match, setting: Setting) -> str:
    """Speak a number; digit by digit if it begins with 0 or is long and not round."""
    text = match[0]
    if text == "007":
        return "double oh seven"
    if text.isdecimal() and len(text) > 1 and text[0] == "0":
        return numbers.digits(text, "oh")
    if text.isdecimal() and len(text) > 6 and not text.endswith("000"):
        return numbers.digits(text)
    return figure(text, setting)


_PAGE_ROMAN = r"(?:[ivxlc]+\b|[VX]\b|[IVXLC]{2,}\b|I(?=[.,;:)\]]|\s*$))"
_NUMBERED = alternatives([*BEFORE_NUMBER, *(word.capitalize() for word in BEFORE_NUMBER)])

_CAPTIONED = "|".join(
    f"[{word[0].upper()}{word[0]}]{word[1:]}"
    for word in "table figure listing section chapter example equation exercise appendix plate "
    "chart box map diagram problem theorem lemma algorithm program exhibit illustration".split()
)

NUMBERS = (
    Rule(
        "before number",
        re.compile(rf"(?<![\w.])({_NUMBERED})(?:(?:\.\s?|\s)(?=\d)|\.\s(?={_PAGE_ROMAN}))"),
        _before_number,
    ),
    Rule("number sign", re.compile(r"(?<!\w)[#№]\s?(?=\d)"), say_always("number ")),
    Rule("section sign", re.compile(r"§§\s?(?=\d)"), say_always("sections ")),
    Rule("version", re.compile(r"\b[vV]\.?(?=\d)"), say_always("version ")),
    Rule("number", re.compile(r"(?<=\b[a-z]{2} )No (?=\d)"), say_always("number ")),
    # right after a word it may be an index: "array[0]"; those of an import's notes are left out
    Rule(
        "note mark",
        re.compile(r"(?<=[.,;:!?…\"”’)])(?<!\(\))(?:\[[1-9]\d{0,2}\])+"),
        say_always(""),
    ),
    Rule(
        "caption",
        re.compile(
            rf"\b(?P<name>(?:{_CAPTIONED})(?P<many>s?)) "
            r"(?P<numbers>\d{1,4}[-–]\d{1,4}(?![-–]?\w)"
            r"(?:(?:, and|,| and| or| to| through)? \d{1,4}[-–]\d{1,4}(?![-–]?\w))*)"
        ),
        _caption,
    ),
    Rule("shares", re.compile(rf"{FREE}(\d\d)[-–](\d\d)(?![\w/–-]|[.,]\d|\s?=)"), _shares),
    Rule("groups", re.compile(rf"{FREE}\d+(?:-\d+){{2,}}(?!\w)"), _groups),
    Rule("version", re.compile(rf"{FREE}\d+(?:\.\d+){{2,}}(?!\w)"), _version),
    Rule(
        "version",
        re.compile(preceded_by("[Vv]ersion ", "Python ", r"\b[vV]") + r"\d+\.\d+(?!\w)"),
        _version,
    ),
    Rule("century", re.compile(r"(?<=\d(?:st|nd|rd|th) )[cC]\.?(?= )"), say_always("century")),
    Rule(
        "ordinal",
        re.compile(rf"{FREE}({INT})(?:st|nd|rd|th|ST|ND|RD|TH)\b"),
        lambda match, setting: numbers.ordinal(
            int(match[1].replace(",", "")), british=setting.british
        ),
    ),
    Rule(
        "label",
        re.compile(
            preceded_by(
                *(r"\b[Rr]oom ", "[Ff]light ", "Boeing ", r"\bRoute ", "Highway "),
                *(
                    r"\b[Aa]partment ",
                    r"\bApt ",
                    r"\bApt\. ",
                    r"\b[Ss]uite ",
                    r"\bSte ",
                    r"\bSte\. ",
                ),
            )
            + r"\d{3}(?!\w|[,.]\d)"
        ),
        _label,
    ),
    Rule(
        "times",
        re.compile(
            rf"(?<=[\d{VULGAR}])\s?[x×*]\s?(?=\d[\d.,]{{0,15}}(?:\s?[x×*]\s?\d[\d.,]{{0,15}}){{0,4}}\s?"
            r"(?:=|(?:is|are|makes?|equals?)\b))"
        ),
        say_always(" times "),
    ),
    Rule("times", re.compile(r"(?<=\d)\*(?=\d)"), say_always(" times ")),
    Rule("times", re.compile(rf"(?<=[\d{VULGAR}])\s?[x×]\s?(?=[\d{VULGAR}])"), say_always(" by ")),
    Rule(
        "times",
        re.compile(rf"{FREE}({NUM})[x×](?!\w)"),
        lambda match, setting: f"{figure(match[1], setting)} times",
    ),
    Rule("code", re.compile(r"(?<!\w)(?=\d*[A-Za-z])(?=[A-Za-z]*\d)[A-Za-z\d]+(?!\w)"), _code),
    Rule("minus", re.compile(rf"(?<![\w)\].,%°′″])[-−](?={_SIGN}?{NUM})"), say_always("minus ")),
    Rule("minus", re.compile(r"(?<=\d)(?: [-–] |[-–])(?=\d{1,15} ?=)"), say_always(" minus ")),
    Rule("number", re.compile(rf"{FREE}{NUM}"), _plain_number),
    Rule("number", re.compile(r"\d+"), _plain_number),
    # What is left between numbers:
    Rule("range", re.compile(rf"{TO}(?=(?:AD |[$£€'])?\.?[\d{VULGAR}])"), _range_word),
    Rule("range", re.compile(r"(?<=\d):(?=\d)"), say_always(" to ")),
    Rule(
        "range",
        re.compile(r"(?<=[\dm.])\s?–\s?(?=(?:present|date|noon|midnight|now)\b)"),
        say_always(" to "),
    ),
    Rule("over", re.compile(r"(?<=\d)/(?=\d)"), say_always(" over ")),
    Rule("point", re.compile(r"(?<=\d)\.(?=\d)"), say_always(" point ")),
    Rule("list", re.compile(r"(?<=\d),(?=\d)"), say_always(", ")),
)
PLURALS = (
    Rule("label", re.compile(rf"{FREE}(?<!-)7\d7(?:-[1-9]00s?|s)(?![\w-]|[.,]\d)"), _jet),
    Rule(
        "code",
        re.compile(rf"{preceded_by('[A-Z]-', '[A-Z][A-Za-z]-')}\d{{1,3}}s\b"),
        lambda match, setting: numbers.plural(numbers.label(match[0][:-1])),
    ),
)
"""Applied before units, since their "s" does not mean seconds."""
